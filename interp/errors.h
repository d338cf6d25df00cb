/* errors.h: what the user sees of an uncaught error: its message, the source line, the callers in the user's own code.
 *
 * The library's frames (chunks "@neap/…") and C functions are left out: they would hide the line that matters.
 */
#ifndef INTERP_ERRORS_H
#define INTERP_ERRORS_H

#include <lua.h>

/* An error handler for lua_pcall: keeps the text of the error for errors_text, and leaves the error as it is. It needs
 * no room on Lua's stack and no memory of Lua's, unless the error is an object, so it describes their shortage too. */
int errors_handle(lua_State *L);
/* The text of the error at the top of the stack: the one that errors_handle has kept, which is thereby forgotten, or
 * the error's own, if no handler has seen it; with its source line, if there is memory for that. Runs Lua code; raises
 * nothing. BORROWED until the next error. */
const char *errors_text(lua_State *L);
/* What errors_text gave last, as a line behind `before`. BORROWED until the next call. */
const char *errors_line(const char *before);
/* Takes the function at the top of the stack, and calls it at each error that errors_handle sees, with its text. It may
 * look at the stack; what it raises is no news. Not when the stack has overflowed. */
void errors_watch(lua_State *L);

#endif
