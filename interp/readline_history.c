/* readline_history.c: commands of earlier sessions.
 *
 * The file is readline's own form with times: a line "#SECONDS" before each command, which may have several lines. One
 * of these that looks like a time gets a blank more in the file. Files without times are read too: each line is a
 * command then. readline's reader drops empty lines of a command, so reading is done here, and so is writing.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <readline/history.h>

#include "interp/line_readline.h"

enum { HISTORY_COMMANDS = 10000 };

static const char *history_path;
static bool last_kept; /* the last command is in the file */

/* What stands behind "#" and digits at the beginning of a line; NULL: it does not begin so. */
static char *behind_time(char *line) {
    if (*line++ != '#' || !isdigit((unsigned char)*line))
        return NULL;
    return line + strspn(line, "0123456789");
}

static bool is_time(char *line) {
    char *behind = behind_time(line);
    return behind && *behind == '\0';
}

/* Whether a line is like a time with blanks behind it, or like a time. */
static bool is_like_time(char *line) {
    char *behind = behind_time(line);
    return behind && behind[strspn(behind, " ")] == '\0';
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

/* The length of a line of a command, without the blank that the file has more. */
static size_t own_length(char *line) {
    size_t length = strlen(line);
    return is_like_time(line) && !is_time(line) ? length - 1 : length;
}

/* Adds the commands of a file's text, which is changed: lines are joined where the first one stands. */
static void add_commands(char *text) {
    char *rest = text, *line, *command = NULL, *end = NULL; /* of the command that may go on, and its end */
    bool timed = false;
    while ((line = next_line(&rest))) {
        if (is_time(line)) {
            if (command)
                add_history(command);
            command = NULL;
            timed = true;
        } else if (timed) {
            size_t length = own_length(line);
            if (command)
                *end++ = '\n';
            else
                command = end = line;
            memmove(end, line, length);
            end += length;
            *end = '\0';
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
    using_history();
    stifle_history(HISTORY_COMMANDS);
    char *text = path ? read_text(path) : NULL;
    if (text)
        add_commands(text);
    free(text);
    last_kept = true;
}

/* The text of the file for a command. OWNED; NULL: no memory. */
static char *entry_of(const char *command, size_t *bytes) {
    char *text = NULL, *lines = strdup(command), *rest = lines, *line;
    FILE *out = lines ? open_memstream(&text, bytes) : NULL;
    if (out) {
        fprintf(out, "#%ld\n", (long)time(NULL));
        while ((line = next_line(&rest)))
            fprintf(out, "%s%s\n", line, is_like_time(line) ? " " : "");
        fclose(out);
    }
    free(lines);
    return text;
}

/* Ends a line that was cut short, by a full disk perhaps. */
static bool end_last_line(int fd) {
    off_t size = lseek(fd, 0, SEEK_END);
    char last;
    return size <= 0 || pread(fd, &last, 1, size - 1) != 1 || last == '\n' || write(fd, "\n", 1) == 1;
}

/* Appends a command to the file, at once, since other sessions may do so too. Without a folder there is no history. */
static void keep_command(const char *command) {
    size_t bytes = 0;
    char *text = entry_of(command, &bytes);
    int fd = text ? open(history_path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) {
        if (!end_last_line(fd) || write(fd, text, bytes) != (ssize_t)bytes)
            last_kept = false;
        close(fd);
    }
    free(text);
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
    if (kept && history_path)
        keep_command(command);
}
