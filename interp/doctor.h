/* doctor.h: `neap doctor`, a report on what neap found on this machine. */
#ifndef INTERP_DOCTOR_H
#define INTERP_DOCTOR_H

#include <lua.h>

/* Prints the report. Returns an exit status. */
int doctor_run(lua_State *L);

#endif
