/* state.c: the state that all of the engine looks at, and the cores that the process may run on. */
#include "engine/engine_internal.h"

#include <sched.h>

engine_state engine;

/* ---- Cores ------------------------------------------------------------------------------------------------------- */

static uint16_t core_ranks[CPU_SETSIZE]; /* by number: among the cores that the process may run on */

int engine_cores_count(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int count = 0;
    for (int k = 0; k < CPU_SETSIZE; k++) {
        core_ranks[k] = (uint16_t)count;
        count += CPU_ISSET(k, &set) != 0;
    }
    return count < 1 ? 1 : count < ENGINE_WORKERS_MOST ? count : ENGINE_WORKERS_MOST;
}

int engine_core_part(int parts) {
    int core = sched_getcpu();
    int rank = core >= 0 && core < CPU_SETSIZE ? core_ranks[core] : 0;
    return rank < engine.cores ? rank * parts / engine.cores : 0;
}
