/* restart.h: `neap --restart N COMMAND…`: starts a command such as mpirun anew when it has failed. */
#ifndef INTERP_RESTART_H
#define INTERP_RESTART_H

#include <lua.h>

#include "interp/options.h"

/* Runs the command that stands in argv[options->script] and behind. Returns the exit status. */
int restart_main(lua_State *L, int argc, char **argv, const options *options);
/* Loader of the module neap.interp.children. */
int restart_open_children(lua_State *L);

#endif
