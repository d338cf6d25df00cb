/* line.h: where the prompt's lines come from: an editor behind one small interface.
 *
 * line_plain reads any input without editing. line_readline is GNU readline; it is compiled only with NEAP_READLINE and
 * used only on a terminal. Both return within a signal, so that Ctrl-C cancels a line. While they wait they show late
 * text above the prompt and run callbacks.
 */
#ifndef INTERP_LINE_H
#define INTERP_LINE_H

#include <stdbool.h>

#include "engine/engine.h"

typedef enum line_status { LINE_OK, LINE_END, LINE_INTERRUPTED } line_status;

typedef struct line_setup {
    neap_waker *waker;   /* woken when text of effects or a callback waits while a line is edited. BORROWED */
    const char *history; /* file of earlier lines; NULL: none. BORROWED */
    /* What the first `point` bytes of a text can become, a NULL-terminated array allocated with malloc, texts included;
     * if there are several, the first is their common beginning. NULL: nothing. `fold`: letters of the other case will
     * do. */
    char **(*complete)(const char *text, int point, bool fold);
    /* Those as lines for the terminal, allocated with malloc; NULL: no memory. */
    char *(*completions)(void);
    /* Whether more lines can complete a command. */
    bool (*incomplete)(const char *text);
    bool (*callbacks_wait)(void);
    void (*run_callbacks)(void);
} line_setup;

typedef struct line_editor {
    void (*open)(const line_setup *setup);
    /* Reads a command: lines until it is complete, without the last newline. Further lines stand behind LINE_MORE.
     * *text is OWNED (free), set with LINE_OK only. */
    line_status (*read)(const char *prompt, char **text);
    /* Adds a command to the history. */
    void (*remember)(const char *command);
} line_editor;

#define LINE_MORE ">> " /* the prompt of further lines */

/* Whether reading from the stream stdin would not wait. */
bool line_ready(void);

enum { LINE_INPUT = 1, LINE_WOKEN = 2, LINE_SIGNAL = 4 };
/* Waits for input on standard input, for the waker (may be NULL) or for Ctrl-C, none of which can be missed; returns
 * which as bits, LINE_SIGNAL alone; 0 after other signals. */
int line_wait(const neap_waker *waker);

/* An editor takes the terminal over, whose modes are now those to go back to; `leave` is what it has to be sent besides
 * (BORROWED). Between this and line_give_terminal the process stops, and ends, with the terminal in order. */
void line_take_terminal(const char *leave);
void line_give_terminal(void);
/* Puts the modes back if an editor has the terminal; for all ways out, signal handlers too. */
void line_restore_terminal(void);
/* Whether the process was stopped since the last call, so that the editor must set its modes anew and draw its line. */
bool line_resumed(void);

/* Takes the terminal over for single keys: a key comes at once, and is not shown; Ctrl-C and Ctrl-Z are what they are.
 * `leave`: as above. False: standard input and output are no terminal of this process, or an editor has it. */
bool line_keys_begin(const char *leave);
void line_keys_end(void);
/* The keys that wait, at most `room` bytes: their number, 0: none, -1: there will be none any more. Never waits. Sets
 * *again: the process was stopped, and the screen has to be drawn again. */
int line_read_keys(char *out, size_t room, bool *again);

/* Deals with a wake while a line is edited: writes the text that waits, runs callbacks. `hide` is called before
 * anything is written, and then `show` behind it, at the beginning of a line. */
void line_attend(const line_setup *setup, void (*hide)(void), void (*show)(void));
/* Writes text to a file past the streams, which must be diverted and drained. Ctrl-C ends it. */
void line_write(int fd, const char *text, size_t bytes);
/* The same whole, whatever is pressed: what an editor draws. */
void line_send(int fd, const char *text, size_t bytes);
/* Reads a command by `read`, which reads one line: for editors without blocks. As line_editor's `read`. */
line_status line_read_block(const line_setup *setup, line_status (*read)(const char *prompt, char **text),
                            const char *prompt, char **block);
/* Tells that there is no memory for what was typed. Returns LINE_INTERRUPTED. */
line_status line_lost(void);
/* Waits until text is out, and takes the streams over for `waker`; at the beginning of a line. */
void line_begin(neap_waker *waker);

extern const line_editor line_plain;
extern const line_editor line_readline;

#endif
