/* repl.h: the prompt. */
#ifndef INTERP_REPL_H
#define INTERP_REPL_H

#include <lua.h>

/* Reads and runs commands until the end of input. Returns the exit status of the session. */
int repl_run(lua_State *L);

#endif
