/* line_plain.c: lines from standard input without editing or history. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "effects/effects.h"
#include "interp/line.h"

/* Bytes that were read but belong to later lines. */
static char *buffered;
static size_t buffered_bytes, buffered_capacity;

static void plain_open(const line_setup *setup) {
    (void)setup;
}

/* Takes the first `bytes` bytes of the buffer as a line, and drops them and `skip` more. NULL when out of memory. */
static char *take_line(size_t bytes, size_t skip) {
    char *line = malloc(bytes + 1);
    if (line != NULL) {
        memcpy(line, buffered, bytes);
        line[bytes] = '\0';
        buffered_bytes -= bytes + skip;
        memmove(buffered, buffered + bytes + skip, buffered_bytes);
    }
    return line;
}

/* Reads more input. Returns the bytes read, 0 at the end of input, -1 after Ctrl-C. */
static ssize_t read_more(void) {
    if (buffered_capacity - buffered_bytes < 4096) {
        size_t capacity = 2 * buffered_capacity + 8192;
        char *grown = realloc(buffered, capacity);
        if (grown == NULL) {
            return 0;
        }
        buffered = grown;
        buffered_capacity = capacity;
    }
    int what;
    do {
        what = line_wait(NULL);
    } while (what == 0);
    if (what & LINE_SIGNAL) {
        return -1;
    }
    ssize_t bytes = read(STDIN_FILENO, buffered + buffered_bytes, buffered_capacity - buffered_bytes);
    if (bytes > 0) {
        buffered_bytes += (size_t)bytes;
    }
    return bytes < 0 ? 0 : bytes;
}

static line_status plain_read(const char *prompt, char **text) {
    neap_out_write(NEAP_STDOUT, prompt, strlen(prompt));
    neap_out_drain();
    size_t searched = 0;
    for (;;) {
        char *newline = buffered_bytes > searched ? memchr(buffered + searched, '\n', buffered_bytes - searched) : NULL;
        if (newline != NULL) {
            *text = take_line((size_t)(newline - buffered), 1);
            return *text != NULL ? LINE_OK : LINE_END;
        }
        searched = buffered_bytes;
        ssize_t bytes = read_more();
        if (bytes < 0) {
            buffered_bytes = 0;
            neap_out_write(NEAP_STDOUT, "\n", 1); /* after the terminal's own ^C */
            return LINE_INTERRUPTED;
        }
        if (bytes == 0) {
            *text = buffered_bytes > 0 ? take_line(buffered_bytes, 0) : NULL;
            return *text != NULL ? LINE_OK : LINE_END;
        }
    }
}

static void plain_remember(const char *command) {
    (void)command;
}

const line_editor line_plain = {plain_open, plain_read, plain_remember};
