/* screen_lines.h: a text of several lines on the terminal while it is edited.
 *
 * The text is laid out in screen lines of the terminal's width, behind a prompt; further lines of the text stand behind
 * a prompt of their own. Drawing writes only what differs from what is shown, from the first screen line that changed
 * on. A text taller than the terminal shows the part around the cursor. The terminal must know the sequences of ECMA-48
 * and wrap a line when the character behind its last column is written. Nobody else may write to it in between, except
 * after screen_hide, screen_leave or screen_finish, and up to the beginning of a line.
 */
#ifndef INTERP_SCREEN_LINES_H
#define INTERP_SCREEN_LINES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct screen_text {
    const char *prompt; /* what stands between \001 and \002 takes no room */
    const char *more;   /* the prompt of further lines */
    const char *text;
    size_t length, point;        /* the cursor stands before text[point] */
    const unsigned char *styles; /* a highlight_style for each byte; NULL: plain, and nothing is sent to set any */
    int columns, rows;           /* of the terminal */
} screen_text;

/* Draws the text, with the cursor at its place. Out of memory it draws nothing. */
void screen_draw(const screen_text *text);
/* Draws all of the text, and leaves the cursor at the beginning of the line below it. */
void screen_finish(const screen_text *text);
/* Takes away what is shown; the cursor is where it began. */
void screen_hide(void);
/* Leaves what is shown: the cursor goes to its last line, and the next text is drawn below, by somebody's newline. */
void screen_leave(void);
/* What was shown is no more: the cursor is at the beginning of an empty line. */
void screen_forget(void);
/* Clears the terminal; the next text is drawn at its top. */
void screen_clear(void);

#endif
