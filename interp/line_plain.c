/* line_plain.c: lines from standard input without editing or history.
 *
 * Reads through the stream stdin, as Lua's io.read does, so that the two share what was read ahead. Late text goes
 * below the prompt, which is then written anew under it; what a terminal has echoed of the line stays above.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "effects/effects.h"
#include "interp/line.h"

static const line_setup *setup;
static const char *prompt;

typedef struct line_text { /* a growing line */
    char *bytes;
    size_t used, capacity;
} line_text;

static void plain_open(const line_setup *given) {
    setup = given;
}

static void end_line(void) {
    line_write(STDOUT_FILENO, "\n", 1);
}

static void show_prompt(void) {
    line_write(STDOUT_FILENO, prompt, strlen(prompt));
}

/* Appends a character; false: no memory. */
static bool append_character(line_text *line, char character) {
    if (line->used == line->capacity) {
        size_t capacity = 2 * line->capacity + 128;
        char *grown = realloc(line->bytes, capacity);
        if (!grown)
            return false;
        line->bytes = grown;
        line->capacity = capacity;
    }
    line->bytes[line->used++] = character;
    return true;
}

static void tell_failure(int error) {
    char text[128];
    int n = snprintf(text, sizeof text, "neap: cannot read stdin: %s\n", strerror(error));
    line_write(STDERR_FILENO, text, (size_t)n);
}

/* Reads up to the end of the line, which is dropped; so is a line for which there is no memory. */
static line_status read_line(line_text *line) {
    bool good = true;
    for (;;) {
        int what = line_wait(setup->waker);
        if (what & LINE_SIGNAL)
            return LINE_INTERRUPTED;
        if (what & LINE_WOKEN)
            line_attend(setup, end_line, show_prompt);
        if (!(what & LINE_INPUT))
            continue;
        int character = getc(stdin);
        bool failed = character == EOF && ferror(stdin);
        if (failed && errno != EINTR)
            tell_failure(errno);
        if (failed && errno == EINTR)
            clearerr(stdin);
        else if (character == EOF && line->used == 0 && good)
            return LINE_END;
        else if (character == EOF || character == '\n')
            return good && append_character(line, '\0') ? LINE_OK : line_lost();
        else
            good = good && append_character(line, (char)character);
    }
}

static line_status read_plain_line(const char *given_prompt, char **out) {
    line_text line = {0};
    const char *outer = prompt; /* while a callback reads lines of its own */
    prompt = given_prompt;
    line_begin(setup->waker);
    show_prompt();
    line_status status = read_line(&line);
    if (status == LINE_INTERRUPTED)
        end_line(); /* after the terminal's own ^C */
    neap_out_divert(NULL, 0);
    prompt = outer;
    if (status != LINE_OK) {
        free(line.bytes);
        return status;
    }
    *out = line.bytes;
    return LINE_OK;
}

static line_status plain_read(const char *given_prompt, char **command) {
    return line_read_block(setup, read_plain_line, given_prompt, command);
}

static void plain_remember(const char *command) {
    (void)command;
}

const line_editor line_plain = {plain_open, plain_read, plain_remember};
