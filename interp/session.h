/* session.h: one Lua state with neap's library in it: running code, errors, the end of the process.
 *
 * Invariant: Lua code runs only between session_run's entry and return, under its error handler; an interrupt is
 * cleared only here, so code that catches errors cannot swallow it.
 */
#ifndef INTERP_SESSION_H
#define INTERP_SESSION_H

#include <lua.h>
#include <stdbool.h>

#include "lazy/lazy.h"

enum { /* also exit statuses */
       SESSION_OK = 0,
       SESSION_FAILED = 1,
       SESSION_USAGE = 2,
       SESSION_INTERRUPTED = 130,
       SESSION_TERMINATED = 143
};

/* Makes the state with the standard libraries, the embedded modules, `arg` = argv with the script (argv[script]; 0: no
 * script) at index 0, and os.exit that ends the process as session_exit does. NULL when out of memory. */
lua_State *session_new(int argc, char **argv, int script);
/* Requires neap's library and makes it the global `np`. Reports a failure. */
int session_load_library(lua_State *L);
/* The context of the library, which must be loaded. BORROWED for ever. */
neap_ctx *session_context(lua_State *L);
/* Calls the function below its `nargs` arguments at the top of the stack, which it replaces by all results. On an
 * error, reports it on stderr, leaves nothing and returns SESSION_FAILED or SESSION_INTERRUPTED. */
int session_run(lua_State *L, int nargs);
/* As session_run, but leaves the text of the error at the place of the function instead of reporting it. What was
 * printed before is out then. */
int session_try(lua_State *L, int nargs);
/* Loads code: its function, or a message, is left at the top of the stack. Return the status, as luaL_loadfile does. A
 * path that is NULL is the standard input; `name` is what messages call a text. */
int session_load_file(lua_State *L, const char *path);
int session_load_text(lua_State *L, const char *name, const char *text, size_t bytes);
/* Like session_run for the user's chunk `name`, just loaded with the status `loaded`; drops its results. */
int session_run_chunk(lua_State *L, const char *name, int loaded, int nargs);
/* Calls function `name` of the embedded module `module`, as session_run does. */
int session_call(lua_State *L, const char *module, const char *name, int nargs);
/* Pushes that function. If it cannot, pushes an error and returns false. */
bool session_push_function(lua_State *L, const char *module, const char *name);

/* Ends the process: waits for effects and their text (neap.interp.drain says how long), calls Lua's finalizers if it is
 * to `close` the state, closes the timeline, and leaves with _exit, since other threads may still run. A status of
 * SESSION_OK becomes SESSION_INTERRUPTED if Ctrl-C was pressed, SESSION_FAILED if stdout or the timeline could not be
 * written, or if effects of a script have failed and it has not said with which status it ends. */
_Noreturn void session_exit(lua_State *L, int status, bool close);

#endif
