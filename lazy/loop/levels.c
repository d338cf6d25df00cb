/* loop/levels.c: how many reductions a value waits for. */
#include "lazy/loop/loop.h"

static bool raise(int *level, int to) {
    if (*level >= to)
        return false;
    *level = to;
    return true;
}

/* A reduction may stand behind the load of its result, so passes go on until no level rises. */
void loop_levels(const lazy_kernel *loop, int *levels) {
    memset(levels, 0, (size_t)(loop->nloads + loop->nins) * sizeof *levels);
    for (bool rises = true; rises;) {
        rises = false;
        for (int k = 0; k < loop->nloads; k++)
            if (loop->loads[k].kind == LAZY_LOAD_RESULT)
                rises |= raise(&levels[k], levels[loop->sinks[loop->loads[k].slot].value] + 1);
        for (int k = 0; k < loop->nins; k++)
            for (int a = 0; a < loop->ins[k].narg; a++)
                rises |= raise(&levels[loop->nloads + k], levels[loop->ins[k].arg[a]]);
    }
}
