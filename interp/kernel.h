/* kernel.h: `neap kernel`: a Jupyter kernel, and installing one. */
#ifndef INTERP_KERNEL_H
#define INTERP_KERNEL_H

#include <lua.h>

/* Does what the `argc` words behind "neap kernel" say. Returns the exit status of the session. */
int kernel_main(lua_State *L, int argc, char **argv);
/* Loader of the module neap.interp.channels. */
int kernel_open_module(lua_State *L);

#endif
