/* indent.h: how far the lines of a block that is being typed are indented. */
#ifndef INTERP_INDENT_H
#define INTERP_INDENT_H

#include <stdbool.h>
#include <stddef.h>

enum { INDENT_STEP = 4 };

/* Columns for a new line behind the byte `at`: those of the line before it, or of the line where what that closes
 * began, and a step more if it opens something. 0 inside of a string or a comment. */
size_t indent_of_next(const char *text, size_t at);

/* Whether the line up to `at` is nothing but a word or bracket that closes what began on another line; *columns is then
 * the indentation of that line. */
bool indent_of_closing(const char *text, size_t at, size_t *columns);

/* The first byte of the line of `at`; columns of blanks from there on. */
size_t indent_line_begin(const char *text, size_t at);
size_t indent_columns(const char *text, size_t length, size_t line);

#endif
