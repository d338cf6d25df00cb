/* repl.h: the prompt. */
#ifndef INTERP_REPL_H
#define INTERP_REPL_H

#include <lua.h>

/* Reads and runs commands until the end of input. Returns the exit status of the session. */
int repl_run(lua_State *L);
/* For Lua: read_command(prompt), a whole command, edited and kept in the history as at the prompt; nil at the end of
 * input, false after Ctrl-C. */
int repl_read_command(lua_State *L);

#endif
