/* signals.h: what signals do: Ctrl-C stops Lua code, SIGTERM ends a script within its second, and a prompt that ends
 * leaves the terminal in order. Handlers set flags and stop the code of one Lua state; session.c deals with the rest.
 */
#ifndef INTERP_SIGNALS_H
#define INTERP_SIGNALS_H

#include <lua.h>
#include <stdbool.h>

/* Writing to a child that has ended, or beyond the limit for files (ulimit -f), fails, and does not end the process
 * without a word. By handlers, and not SIG_IGN, which children would inherit; a process that was started with SIG_IGN
 * keeps that. */
void signals_survive_writes(void);
/* Installs the handlers for this state. SIGINT raises neap's interrupt and stops Lua code at its next instruction
 * outside the library. When a script (not a prompt) was interrupted twice in vain, a third SIGINT ends the process. */
void signals_catch(lua_State *L, bool prompt);
/* Has the terminal's modes put back where a signal ends the process: for a script that takes the terminal over. */
void signals_guard_terminal(void);
/* Whether they are those of a prompt, whose errors need no "neap:" in front either. */
bool signals_prompt(void);
/* The interrupt is being dealt with: Lua code may run again. Presses stay counted. */
void signals_clear(lua_State *L);
/* As if Ctrl-C had not been pressed: before the next command. Not after SIGTERM. */
void signals_forget(lua_State *L);
/* Of Ctrl-C, since then; SIGTERM counts, too. */
int signals_presses(void);
/* Whether SIGTERM came. */
bool signals_terminated(void);
/* Nothing need be told of SIGTERM where its limit ends the process. */
void signals_termination_told(void);
/* Finalizers run, for the end of the process (`on`), or what they have shown is waited for. No code is stopped from the
 * first of these calls on; while finalizers run SIGINT ends the process. */
void signals_finalize(bool on);

#endif
