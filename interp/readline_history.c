/* readline_history.c: commands of earlier sessions.
 *
 * The file is readline's own form with times: a line "#SECONDS" before each command, which may have several lines.
 * Files without times are read too: each line is a command then. readline's reader drops empty lines of a command, so
 * reading is done here.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <readline/history.h>

#include "interp/line_readline.h"

enum { HISTORY_COMMANDS = 10000 };

static const char *history_path;
static bool last_kept; /* the last command is in the file */

static bool is_time(const char *line) {
    if (*line++ != '#' || !isdigit((unsigned char)*line))
        return false;
    while (isdigit((unsigned char)*line))
        line++;
    return *line == '\0';
}

/* Takes the next line off a text, which ends at '\0'; NULL: none is left. */
static char *next_line(char **rest) {
    char *line = *rest, *end = strchr(line, '\n');
    if (*line == '\0')
        return NULL;
    *rest = end ? end + 1 : line + strlen(line);
    if (end)
        *end = '\0';
    return line;
}

/* Adds the commands of a file's text, which is changed: lines are joined where they stand. */
static void add_commands(char *text) {
    char *rest = text, *line, *command = NULL,
         *end = NULL; /* of the command that may go on: its text, and that's end */
    bool timed = false;
    while ((line = next_line(&rest))) {
        if (is_time(line)) {
            if (command)
                add_history(command);
            command = NULL;
            timed = true;
        } else if (command) {
            *end = '\n';
            end = line + strlen(line);
        } else if (timed) {
            command = line;
            end = line + strlen(line);
        } else if (*line != '\0') {
            add_history(line);
        }
    }
    if (command)
        add_history(command);
}

/* The text of a file. OWNED; NULL: there is none. */
static char *read_text(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0;
    if (!file)
        return NULL;
    if (getdelim(&text, &room, '\0', file) < 0) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

void readline_history_open(const char *path) {
    history_path = path;
    history_write_timestamps = 1;
    history_comment_char = '#';
    history_multiline_entries = 1;
    using_history();
    stifle_history(HISTORY_COMMANDS);
    char *text = path ? read_text(path) : NULL;
    if (text)
        add_commands(text);
    free(text);
    last_kept = true;
}

void readline_history_add(const char *command, bool kept) {
    HIST_ENTRY *last = history_length > 0 ? history_get(history_base + history_length - 1) : NULL;
    if (command[strspn(command, " \t\n")] == '\0')
        return;
    bool known = last && strcmp(last->line, command) == 0;
    if (known && (last_kept || !kept))
        return;
    if (!known)
        add_history(command);
    last_kept = kept;
    if (kept && history_path && append_history(1, history_path) != 0)
        write_history(history_path); /* the file does not exist yet; without a folder there is no history */
}
