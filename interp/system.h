/* system.h: what the interpreter's Lua files need of the operating system. */
#ifndef INTERP_SYSTEM_H
#define INTERP_SYSTEM_H

#include <lua.h>
#include <stdbool.h>

/* A package loader's function: leaves the table of neap.interp.system on the stack. */
int system_open(lua_State *L);
/* Whether os.execute waits for a child: then Ctrl-C is the child's. Passes an interrupt on that the terminal has not
 * sent to the child by itself. Async-signal-safe. */
bool system_pass_interrupt(bool from_terminal);
/* Sends SIGTERM to that child, if there is one. Async-signal-safe. */
void system_terminate_child(void);

#endif
