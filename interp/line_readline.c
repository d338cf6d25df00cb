/* line_readline.c: lines through GNU readline's callback interface.
 *
 * All calls of readline happen on this thread. While a line is edited, text of effects is diverted to a queue whose
 * waker wakes the poll below: the visible line is cleared, the text written, and the line drawn again under it. So late
 * output goes above the prompt and never through it. What readline has written is flushed before.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "effects/effects.h"
#include "interp/line.h"

enum { HISTORY_LINES = 10000 };

static line_setup setup;
static char *finished_text; /* what on_line got */
static bool finished, at_end;

static void leave_terminal(void) {
    rl_callback_handler_remove();
    line_give_terminal();
}

static void on_line(char *text) {
    finished_text = text;
    finished = true;
    at_end = !text;
    leave_terminal(); /* before anything else is written */
}

/* For readline the word is the whole text before the cursor: nothing breaks words. */
static char **complete_line(const char *before, int start, int end) {
    (void)before;
    (void)start;
    rl_attempted_completion_over = 1;      /* never file names */
    rl_completion_append_character = '\0'; /* which readline sets anew each time */
    const char *fold = rl_variable_value("completion-ignore-case");
    return setup.complete(rl_line_buffer, end, fold && strcmp(fold, "on") == 0);
}

/* Writes the list of completions under the text, and the text again under that. */
static void show_completions(char **matches, int count, int longest) {
    (void)matches;
    (void)count;
    (void)longest;
    char *list = setup.completions();
    int point = rl_point;
    rl_point = rl_end;
    (*rl_redisplay_function)();
    rl_crlf();
    if (list && *list)
        fprintf(rl_outstream, "%s\n", list);
    free(list);
    rl_point = point;
    rl_forced_update_display();
}

/* Ctrl-C would throw away what is on its way to the terminal, such as moves of the cursor, and the next line would be
 * drawn where the cursor is not. */
static void keep_output(void) {
    struct termios modes;
    if (tcgetattr(STDIN_FILENO, &modes) != 0)
        return;
    modes.c_lflag |= NOFLSH;
    tcsetattr(STDIN_FILENO, TCSANOW, &modes);
}

static void prepare_terminal(int meta) {
    rl_prep_terminal(meta);
    keep_output();
}

static void readline_open(const line_setup *given) {
    setup = *given;
    rl_readline_name = "neap";
    rl_catch_signals = 0;
    rl_change_environment = 0;
    rl_completer_word_break_characters = "";
    rl_completer_quote_characters = "";
    rl_attempted_completion_function = complete_line;
    rl_completion_display_matches_hook = show_completions;
    rl_variable_bind("show-all-if-ambiguous", "on"); /* unless inputrc says otherwise */
    rl_prep_term_function = prepare_terminal;
    rl_initialize();
    using_history();
    stifle_history(HISTORY_LINES);
    if (setup.history)
        read_history(setup.history);
}

static void hide_line(void) {
    rl_clear_visible_line();
    fflush(rl_outstream);
}

static void show_line(void) {
    rl_on_new_line();
    rl_forced_update_display();
}

/* Tells readline when the window has another size than last time: no line is drawn for the old one. */
static void follow_window(void) {
    static struct winsize known;
    struct winsize now;
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &now) == 0 && (now.ws_col != known.ws_col || now.ws_row != known.ws_row)) {
        known = now;
        rl_resize_terminal();
    }
}

/* Drops the line that is being edited, which stays to be seen with "^C" behind it, and puts the terminal back. */
static void cancel_line(void) {
    tcflush(STDIN_FILENO, TCIFLUSH); /* keys from before Ctrl-C belong to this line */
    rl_point = rl_end;
    rl_redisplay();
    fputs("^C\n", rl_outstream);
    rl_free_line_state();
    rl_callback_sigcleanup();
    rl_replace_line("", 0);
    leave_terminal();
}

/* After the process was stopped: somebody else has used the terminal. */
static void resume_line(void) {
    rl_deprep_terminal();
    prepare_terminal(1);
    show_line();
}

static void take_terminal(void) {
    const char *brackets = rl_variable_value("enable-bracketed-paste");
    line_take_terminal(brackets && strcmp(brackets, "on") == 0 ? "\033[?2004l\r" : "");
}

static line_status readline_read(const char *prompt, char **text) {
    finished = false;
    line_begin(setup.waker);
    take_terminal();
    rl_callback_handler_install(prompt, on_line);
    line_status status = LINE_OK;
    while (!finished) {
        int what = line_wait(setup.waker);
        if (what & LINE_SIGNAL) {
            cancel_line();
            status = LINE_INTERRUPTED;
            break;
        }
        if (line_resumed())
            resume_line();
        follow_window();
        if (what & LINE_WOKEN)
            line_attend(&setup, hide_line, show_line);
        if (what & LINE_INPUT)
            rl_callback_read_char();
    }
    neap_out_divert(NULL);
    if (status == LINE_OK && at_end) {
        fputc('\n', rl_outstream);
        fflush(rl_outstream);
        return LINE_END;
    }
    *text = finished_text;
    return status;
}

static void readline_remember(const char *command) {
    HIST_ENTRY *last = history_length > 0 ? history_get(history_base + history_length - 1) : NULL;
    if (*command == '\0' || (last && strcmp(last->line, command) == 0))
        return;
    add_history(command);
    if (setup.history && append_history(1, setup.history) != 0)
        write_history(setup.history); /* the file does not exist yet; without a folder there is no history */
}

/* ---- A prompt in a callback, while a line is edited -------------------------------------------------------------- */

typedef struct kept_line {
    char *prompt, *text; /* OWNED */
    int point;
} kept_line;

/* Takes the line that is being edited away from readline. */
static kept_line keep_line(void) {
    kept_line line = {.prompt = strdup(rl_prompt ? rl_prompt : ""), .text = rl_copy_text(0, rl_end), .point = rl_point};
    rl_callback_sigcleanup();
    rl_free_undo_list();
    rl_replace_line("", 0);
    rl_on_new_line();
    leave_terminal();
    return line;
}

/* Gives it back. It is not drawn: who called the callback draws it. */
static void restore_line(kept_line *line) {
    finished = at_end = false;
    finished_text = NULL;
    take_terminal();
    rl_already_prompted = 1;
    rl_callback_handler_install(line->prompt ? line->prompt : "> ", on_line);
    rl_already_prompted = 0;
    rl_insert_text(line->text);
    rl_point = line->point;
    free(line->prompt);
    free(line->text);
}

static line_status readline_read_within(const char *prompt, char **text) {
    static bool reading;
    if (reading) {
        kept_line outer = keep_line();
        line_status status = readline_read(prompt, text);
        restore_line(&outer);
        return status;
    }
    reading = true;
    line_status status = readline_read(prompt, text);
    reading = false;
    return status;
}

const line_editor line_readline = {readline_open, readline_read_within, readline_remember};
