/* line_readline.c: lines through GNU readline's callback interface.
 *
 * All calls of readline happen on this thread. While a command is edited, text of effects is diverted to a queue whose
 * waker wakes the poll below: what is shown of the command is cleared, the text written, and the command drawn again
 * under it. So late output goes above the prompt and never through it.
 *
 * A command may have several lines, all in readline's one buffer; readline_keys.c has their keys, and they are drawn by
 * screen_lines.c in place of readline's own redisplay (`own_screen`). What readline itself writes, such as a list of
 * completions, comes through a stream of ours and goes below the command. Terminals on which that cannot be drawn have
 * readline's redisplay, and commands line by line.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <readline/readline.h>

#include "effects/effects.h"
#include "interp/highlight.h"
#include "interp/line_readline.h"
#include "interp/screen_lines.h"

static line_setup setup;
static char *finished_text; /* what on_line got */
static bool editing;        /* a command, which is shown; else nothing is drawn */
static bool finished, at_end;
static bool own_screen, colours;
static bool outdated; /* the screen: it is drawn when no more keys wait */

bool readline_keys_wait(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) > 0;
}

/* ---- Drawing ----------------------------------------------------------------------------------------------------- */

/* The prompt, behind the sign of the editing mode if that is wanted. */
static const char *shown_prompt(void) {
    static char *with_mode;
    const char *wanted = rl_variable_value("show-mode-in-prompt"), *sign = "emacs-mode-string";
    if (rl_display_prompt != rl_prompt || !wanted || strcmp(wanted, "on") != 0)
        return rl_display_prompt ? rl_display_prompt : "";
    if (rl_editing_mode == VI_MODE)
        sign = rl_get_keymap() == vi_movement_keymap ? "vi-cmd-mode-string" : "vi-ins-mode-string";
    sign = rl_variable_value(sign);
    free(with_mode);
    if (asprintf(&with_mode, "%s%s", sign ? sign : "", rl_prompt) < 0)
        with_mode = NULL;
    return with_mode ? with_mode : rl_prompt;
}

/* The styles of a text of which `typed` bytes are typed and the rest is offered. NULL: no memory. */
static const unsigned char *current_styles(const screen_text *text, size_t typed) {
    static unsigned char *styles;
    static size_t room;
    if (room <= text->length) {
        free(styles);
        room = 2 * text->length + 256;
        styles = malloc(room);
        room = styles ? room : 0;
    }
    if (styles) {
        highlight_text(text->text, typed, text->point, styles);
        memset(styles + typed, STYLE_SUGGESTED, text->length - typed);
    }
    return styles;
}

/* What is to be seen now, with a suggestion if `offers`. The text and its styles hold until the next call. `point`:
 * where the cursor is. */
static screen_text current_text(size_t point, bool offers) {
    size_t typed = strlen(rl_line_buffer); /* rl_end is not kept when a command is given back */
    screen_text text = {.prompt = shown_prompt(), .more = LINE_MORE, .point = point};
    readline_forget_suggestion();
    if (colours) {
        text.text = offers ? readline_suggest(&text.length) : rl_line_buffer;
        text.length = offers ? text.length : typed;
        text.styles = current_styles(&text, typed);
    }
    if (!text.styles) { /* a suggestion would look as if it were typed */
        readline_forget_suggestion();
        text.text = rl_line_buffer;
        text.length = typed;
    }
    rl_get_screen_size(&text.rows, &text.columns);
    return text;
}

static void draw_text(bool offers) {
    screen_text text = current_text((size_t)rl_point, offers);
    screen_draw(&text);
    outdated = false;
}

static void draw(bool offers) {
    fflush(rl_outstream);
    draw_text(offers);
}

/* readline's redisplay function. What is shown is drawn once for all keys that wait, and when the last one has had all
 * its effects. */
static void redisplay(void) {
    outdated = editing;
}

/* Leaves the whole command to be seen, with the cursor below it. */
static void finish_screen(void) {
    screen_text text = current_text(strlen(rl_line_buffer) + 1, false); /* no cursor: no bracket is marked */
    screen_finish(&text);
    outdated = false;
}

/* The stream to which readline writes. */
static ssize_t write_for_readline(void *cookie, const char *bytes, size_t count) {
    (void)cookie;
    if (editing && memchr(bytes, '\n', count)) {
        draw_text(false);
        screen_leave();
    }
    line_send(STDOUT_FILENO, bytes, count);
    return (ssize_t)count;
}

static void hide_line(void) {
    if (own_screen)
        screen_hide();
    else
        rl_clear_visible_line();
    fflush(rl_outstream);
}

static void show_line(void) {
    if (own_screen) {
        screen_forget();
        draw(true);
    } else {
        rl_on_new_line();
        rl_forced_update_display();
    }
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

/* ---- The terminal ------------------------------------------------------------------------------------------------ */

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
    if (own_screen)
        readline_keys_bind();
    keep_output();
}

static void leave_terminal(void) {
    rl_callback_handler_remove();
    line_give_terminal();
}

/* Before readline gives a command back. */
static void deprep_terminal(void) {
    if (editing)
        finish_screen();
    editing = false;
    rl_eof_found = 0; /* at the end of input readline would write a newline more */
    rl_deprep_terminal();
}

/* Whether the terminal can do what screen_lines.c asks for, and the user wants it. */
static bool has_own_screen(void) {
    const char *up = rl_get_termcap("up"), *clear = rl_get_termcap("ce"), *name = getenv("TERM");
    const char *scrolls = rl_variable_value("horizontal-scroll-mode");
    return name && strcmp(name, "dumb") != 0 && up && up[0] == '\033' && clear && strncmp(clear, "\033[K", 3) == 0 &&
           !(scrolls && strcmp(scrolls, "on") == 0);
}

static void open_screen(void) {
    const char *refused = getenv("NO_COLOR");
    own_screen = has_own_screen();
    colours = own_screen && !(refused && *refused);
    if (!own_screen)
        return;
    rl_redisplay_function = redisplay;
    rl_deprep_term_function = deprep_terminal;
    readline_keys_open(&setup);
}

/* ---- The editor -------------------------------------------------------------------------------------------------- */

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

static void readline_open(const line_setup *given) {
    cookie_io_functions_t functions = {.write = write_for_readline};
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
    rl_outstream = fopencookie(NULL, "w", functions);
    rl_initialize();
    /* readline 8.2 reads through a null pointer when the character to search for is Escape: it waits for a key
     * sequence that was not begun. */
    rl_unbind_function_in_map(rl_char_search, emacs_standard_keymap);
    rl_unbind_function_in_map(rl_backward_char_search, emacs_meta_keymap);
    readline_history_open(setup.history);
    readline_suggestions_open();
    readline_search_open();
    open_screen();
}

/* Drops the command that is being edited, which stays to be seen with "^C" behind it and can be recalled, and puts the
 * terminal back. */
static void cancel_line(void) {
    tcflush(STDIN_FILENO, TCIFLUSH); /* keys from before Ctrl-C belong to this line */
    char *dropped = strdup(rl_line_buffer);
    rl_point = rl_end;
    if (editing)
        draw(false);
    else
        rl_redisplay();
    fputs("^C\n", rl_outstream);
    fflush(rl_outstream);
    editing = false;
    rl_free_line_state();
    rl_callback_sigcleanup();
    RL_UNSETSTATE(RL_STATE_MULTIKEY); /* of a search, which it forgets */
    readline_search_forget();
    rl_replace_line("", 0);
    leave_terminal();
    if (dropped) /* only now: readline may still be in the history */
        readline_history_add(dropped, false);
    free(dropped);
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

/* Reads what readline takes for a line: a command, or a line of it without a screen of our own. */
static line_status read_readline(const char *prompt, char **text) {
    finished = false;
    line_begin(setup.waker);
    take_terminal();
    editing = own_screen;
    rl_callback_handler_install(prompt, on_line);
    line_status status = LINE_OK;
    while (!finished) {
        if (outdated && !readline_keys_wait())
            draw(true);
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
        if (what & LINE_INPUT) {
            do {
                rl_callback_read_char();
                if (editing)
                    readline_keys_follow();
            } while (readline_search_holds() && !finished);
        }
    }
    neap_out_divert(NULL, 0);
    if (status == LINE_OK && at_end) {
        if (!own_screen)
            fputc('\n', rl_outstream);
        fflush(rl_outstream);
        return LINE_END;
    }
    *text = finished_text;
    return status;
}

static line_status readline_read(const char *prompt, char **text) {
    if (own_screen)
        return read_readline(prompt, text);
    return line_read_block(&setup, read_readline, prompt, text);
}

static void readline_remember(const char *command) {
    readline_history_add(command, true);
}

/* ---- A prompt in a callback, while a line is edited -------------------------------------------------------------- */

typedef struct kept_line {
    char *prompt, *text; /* OWNED */
    int point;
} kept_line;

/* Takes the line that is being edited away from readline. */
static kept_line keep_line(void) {
    kept_line line = {.prompt = strdup(rl_prompt ? rl_prompt : ""), .text = rl_copy_text(0, rl_end), .point = rl_point};
    editing = false; /* the callback's text goes above it */
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
    editing = own_screen;
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
