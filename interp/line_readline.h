/* line_readline.h: the parts of the editor that is GNU readline. line_readline.c reads and draws; readline_keys.c has
 * the keys of blocks, readline_history.c what was typed before, readline_suggestions.c what of it is offered.
 */
#ifndef INTERP_LINE_READLINE_H
#define INTERP_LINE_READLINE_H

#include "interp/line.h"

enum { VI_MODE = 0 }; /* of rl_editing_mode */

/* Whether keys wait that are already typed or pasted. */
bool readline_keys_wait(void);
/* Waits for the next key; false: Ctrl-C came, which who called the editor takes. */
bool readline_wait_for_key(void);

/* Gives keys their meaning in blocks, where they have readline's own: Enter, the arrows, Home and End, Ctrl-K, Ctrl-U,
 * Tab, Ctrl-L. Whenever readline has made bindings: those of the user, and those of the terminal's own keys. */
void readline_keys_bind(void);
/* Before. `setup` is BORROWED for ever. */
void readline_keys_open(const line_setup *setup);
/* After a key: a line that has become a closing word or bracket goes out by a step. */
void readline_keys_follow(void);

/* Keys that readline reads come through here from now on. */
void readline_search_open(void);
/* Whether there are keys that were read, and that readline has not had. */
bool readline_search_holds(void);
void readline_search_forget(void);

/* Asks the environment whether suggestions are wanted. */
void readline_suggestions_open(void);
/* What is typed, with the rest of an earlier command behind it if the cursor is at the end and there is one: to be
 * drawn at once. `length`: bytes. BORROWED until the next call here, or a key. */
const char *readline_suggest(size_t *length);
/* No suggestion is drawn any more. */
void readline_forget_suggestion(void);
/* Inserts the suggestion that is shown behind the cursor, or its first words (0: all). False: none is shown. */
bool readline_take_suggestion(int words);

/* Reads the file of the history (NULL: none. BORROWED for ever). */
void readline_history_open(const char *path);
/* Adds a command; `kept`: to the file too. */
void readline_history_add(const char *command, bool kept);

#endif
