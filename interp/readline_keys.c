/* readline_keys.c: keys in a command of several lines, all of them in readline's one buffer.
 *
 * Where a key has readline's own meaning, or the user has given that to another key, it gets the one here, which is
 * readline's own on a command of one line.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>

#include "interp/indent.h"
#include "interp/line_readline.h"
#include "interp/screen_lines.h"

static const line_setup *setup;

/* ---- Places in the buffer ---------------------------------------------------------------------------------------- */

static int line_begin_of(int at) {
    return (int)indent_line_begin(rl_line_buffer, (size_t)at);
}

static int line_end_of(int at) {
    while (at < rl_end && rl_line_buffer[at] != '\n')
        at++;
    return at;
}

static bool is_blank(int from, int to) {
    return from + (int)strspn(rl_line_buffer + from, " \t") >= to;
}

static bool in_vi_commands(void) {
    return rl_editing_mode == VI_MODE && rl_get_keymap() == vi_movement_keymap;
}

/* Characters from a byte to another, in UTF-8. */
static int characters(int from, int to) {
    int count = 0;
    for (; from < to; from++)
        count += (rl_line_buffer[from] & 0xC0) != 0x80;
    return count;
}

/* ---- New lines --------------------------------------------------------------------------------------------------- */

/* Replaces the blanks at the beginning of a line by `columns` of them. */
static void indent_line(int line, size_t columns) {
    int blanks = line + (int)strspn(rl_line_buffer + line, " \t"), point = rl_point;
    rl_delete_text(line, blanks);
    rl_point = line;
    for (size_t k = 0; k < columns; k++)
        rl_insert_text(" ");
    if (point > blanks)
        rl_point = point + (int)columns - (blanks - line);
}

static bool in_name(size_t at) {
    return isalnum((unsigned char)rl_line_buffer[at]) || rl_line_buffer[at] == '_';
}

/* The line that went out for its closing word, and its indentation before. */
static struct {
    int line, end;
    size_t columns;
} closed = {.line = -1};

/* The line of the cursor, at its end, goes out if it is a closing word or bracket; it goes in again if that was the
 * beginning of a longer name. Returns whether it has changed. */
static bool follow_closing(void) {
    size_t columns, point = (size_t)rl_point;
    int line = line_begin_of(rl_point);
    if (line == 0 || rl_point != line_end_of(rl_point))
        return false;
    size_t now = indent_columns(rl_line_buffer, point, (size_t)line);
    if (indent_of_closing(rl_line_buffer, point, &columns)) {
        if (columns >= now)
            return false;
        indent_line(line, columns);
        closed.line = line;
        closed.end = rl_point;
        closed.columns = now;
        return true;
    }
    bool longer = closed.line == line && closed.end + 1 == rl_point && in_name(point - 1) && in_name(point - 2);
    if (longer)
        indent_line(line, closed.columns);
    closed.line = -1;
    return longer;
}

void readline_keys_follow(void) {
    if (rl_last_func == rl_insert && !readline_keys_wait() && follow_closing())
        rl_redisplay_function();
}

/* Breaks the line at the cursor. While keys wait they are a paste, which brings its own indentation. */
static int break_line(int count, int key) {
    (void)count;
    (void)key;
    size_t columns = readline_keys_wait() ? 0 : indent_of_next(rl_line_buffer, (size_t)rl_point);
    int line = line_begin_of(rl_point);
    rl_begin_undo_group();
    if (is_blank(line, rl_point)) {
        rl_delete_text(line, rl_point);
        rl_point = line;
    }
    rl_insert_text("\n");
    if (columns > 0)
        indent_line(rl_point, columns);
    rl_end_undo_group();
    return 0;
}

/* Whether the command ends with two blank lines, at the second of which the cursor is. */
static bool ends_blank(void) {
    int line = line_begin_of(rl_end), before = line > 0 ? line_begin_of(line - 1) : 0;
    return rl_point >= line && before > 0 && is_blank(line, rl_end) && is_blank(before, line - 1);
}

/* Where the blanks and blank lines at the end begin. */
static int text_end(void) {
    int end = rl_end;
    while (end > 0 && strchr(" \t\n", rl_line_buffer[end - 1]))
        end--;
    return end;
}

/* Takes a command that is complete; breaks the line of another, unless that ends with blank lines: its error tells
 * then what is missing. */
static int enter(int count, int key) {
    if (!readline_keys_wait())
        follow_closing();
    if (!readline_keys_wait() && ends_blank()) {
        rl_delete_text(text_end(), rl_end);
        rl_point = rl_end;
        return rl_newline(count, key);
    }
    if (!setup->incomplete(rl_line_buffer))
        return rl_newline(count, key);
    if (in_vi_commands()) {
        rl_point = line_end_of(rl_point);
        rl_vi_insertion_mode(1, key);
    }
    return break_line(count, key);
}

bool readline_wait_for_key(void) {
    int what = 0;
    while (!readline_keys_wait() && what == 0)
        what = line_wait(NULL);
    return neap_interrupt_pending() == 0;
}

/* Inserts what a terminal says is pasted, up to the mark of its end. Ends of lines become newlines, those of two bytes
 * one each: readline's own function makes two of them. NUL ends texts, and is left out. */
static int insert_paste(int count, int key) {
    static const char end[] = "\033[201~";
    size_t used = 0, room = 0, length = sizeof end - 1;
    char *text = NULL;
    bool after_return = false, ended = false;
    (void)count;
    while (!ended && readline_wait_for_key() && (key = rl_read_key()) >= 0) {
        if (key == 0)
            continue;
        if (used + 2 > room) {
            char *grown = realloc(text, room = 2 * room + 256);
            if (!grown)
                break;
            text = grown;
        }
        if (key != '\n' || !after_return)
            text[used++] = key == '\r' ? '\n' : (char)key;
        after_return = key == '\r';
        ended = used >= length && memcmp(text + used - length, end, length) == 0;
    }
    if (text) {
        text[used - (ended ? length : 0)] = '\0';
        rl_insert_text(text);
    }
    free(text);
    return 0;
}

/* ---- Moving ------------------------------------------------------------------------------------------------------ */

static int goal = -1; /* the column of the cursor when it began to go up and down in a block */

/* Goes into the line that begins at `line`. */
static void go_to_line(int line) {
    int end = line_end_of(line);
    rl_point = line;
    for (int left = goal; left > 0 && rl_point < end; left--)
        do
            rl_point++;
        while (rl_point < end && (rl_line_buffer[rl_point] & 0xC0) == 0x80);
    if (in_vi_commands() && rl_point == end && end > line)
        rl_point--; /* there is no place behind the last character */
}

static int up(int count, int key);
static int down(int count, int key);

static void keep_goal(void) {
    if (goal < 0 || (rl_last_func != up && rl_last_func != down))
        goal = characters(line_begin_of(rl_point), rl_point);
}

static int up(int count, int key) {
    if (count < 0)
        return down(-count, key);
    keep_goal();
    for (; count > 0; count--) {
        int line = line_begin_of(rl_point);
        if (line == 0) {
            goal = -1;
            return rl_get_previous_history(count, key);
        }
        go_to_line(line_begin_of(line - 1));
    }
    return 0;
}

static int down(int count, int key) {
    if (count < 0)
        return up(-count, key);
    keep_goal();
    for (; count > 0; count--) {
        int end = line_end_of(rl_point);
        if (end == rl_end) {
            goal = -1;
            return rl_get_next_history(count, key);
        }
        go_to_line(end + 1);
    }
    return 0;
}

/* To the beginning of the line; pressed again, to that of the command. */
static int go_to_begin(int count, int key) {
    (void)count;
    (void)key;
    int line = line_begin_of(rl_point);
    rl_point = rl_last_func == go_to_begin && rl_point == line ? 0 : line;
    return 0;
}

static int go_to_end(int count, int key) {
    (void)count;
    (void)key;
    int end = line_end_of(rl_point);
    if (!readline_take_suggestion(0))
        rl_point = rl_last_func == go_to_end && rl_point == end ? rl_end : end;
    return 0;
}

/* Behind the last character it takes the suggestion. */
static int forward_char(int count, int key) {
    return count > 0 && readline_take_suggestion(0) ? 0 : rl_forward_char(count, key);
}

static int forward_word(int count, int key) {
    return count > 0 && readline_take_suggestion(count) ? 0 : rl_forward_word(count, key);
}

/* ---- The rest ---------------------------------------------------------------------------------------------------- */

/* Kills up to the end of the line, or the newline there. */
static int kill_line(int count, int key) {
    if (count < 0)
        return rl_kill_line(count, key);
    int end = line_end_of(rl_point);
    return rl_kill_text(rl_point, end == rl_point && end < rl_end ? end + 1 : end);
}

/* Kills from the beginning of the line, or the newline before. */
static int discard_line(int count, int key) {
    (void)count;
    (void)key;
    int line = line_begin_of(rl_point), from = line == rl_point && line > 0 ? line - 1 : line;
    rl_kill_text(rl_point, from);
    rl_point = from;
    return 0;
}

/* At the beginning of a line, behind others or not, to the next step of indentation; else readline's. */
static int complete_or_indent(int count, int key) {
    int line = line_begin_of(rl_point);
    rl_begin_undo_group();
    if (is_blank(line, rl_point)) {
        size_t columns = indent_columns(rl_line_buffer, (size_t)rl_point, (size_t)line);
        for (size_t k = columns % INDENT_STEP; k < INDENT_STEP; k++)
            rl_insert_text(" ");
        return 0;
    }
    if (rl_last_func == complete_or_indent)
        rl_last_func = rl_complete; /* which looks whether it is called again */
    return rl_complete(count, key);
}

static int clear_screen(int count, int key) {
    (void)count;
    (void)key;
    screen_clear();
    rl_redisplay_function();
    return 0;
}

/* Gives the keys of a keymap that mean `own` the meaning `ours`. */
static void replace(Keymap keymap, rl_command_func_t *own, rl_command_func_t *ours) {
    char **keys = rl_invoking_keyseqs_in_map(own, keymap);
    for (size_t k = 0; keys && keys[k]; k++) {
        if (strcmp(keys[k], "\\C-p") != 0 && strcmp(keys[k], "\\C-n") != 0) /* the history, from anywhere */
            rl_bind_keyseq_in_map(keys[k], ours, keymap);
        free(keys[k]);
    }
    free(keys);
}

void readline_keys_open(const line_setup *given) {
    setup = given;
}

void readline_keys_bind(void) {
    static const struct {
        rl_command_func_t *own, *ours;
    } meanings[] = {{rl_newline, enter},
                    {rl_get_previous_history, up},
                    {rl_get_next_history, down},
                    {rl_beg_of_line, go_to_begin},
                    {rl_end_of_line, go_to_end},
                    {rl_forward_char, forward_char},
                    {rl_forward_word, forward_word},
                    {rl_kill_line, kill_line},
                    {rl_unix_line_discard, discard_line},
                    {rl_complete, complete_or_indent},
                    {rl_clear_screen, clear_screen},
                    {rl_refresh_line, clear_screen},
                    {rl_bracketed_paste_begin, insert_paste}};
    Keymap keymaps[] = {emacs_standard_keymap, vi_insertion_keymap, vi_movement_keymap};
    for (size_t k = 0; k < sizeof keymaps / sizeof *keymaps; k++)
        for (size_t m = 0; m < sizeof meanings / sizeof *meanings; m++)
            replace(keymaps[k], meanings[m].own, meanings[m].ours);
    for (size_t k = 0; k < 2; k++) {
        rl_bind_keyseq_in_map("\\e\\C-m", break_line, keymaps[k]);
        rl_bind_keyseq_in_map("\\e\\C-j", break_line, keymaps[k]);
    }
}
