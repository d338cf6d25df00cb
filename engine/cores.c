/* cores.c: the cores that the process may run on, and how many workers a pool has where nobody says. */
#include "engine/engine_internal.h"
#include "engine/quota.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const WORKERS = "NEAP_WORKERS";

static uint16_t core_ranks[CPU_SETSIZE]; /* by number: among the cores that the process may run on */
static int cores_allowed = 1;            /* how many these are */
static engine_quota quota;               /* as it was at the start */

int engine_cores_count(void) {
    cpu_set_t set;
    engine_quota_read("", &quota);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int count = 0;
    for (int k = 0; k < CPU_SETSIZE; k++) {
        core_ranks[k] = (uint16_t)count;
        count += CPU_ISSET(k, &set) != 0;
    }
    cores_allowed = count < 1 ? 1 : count < ENGINE_WORKERS_MOST ? count : ENGINE_WORKERS_MOST;
    return quota.cpus && quota.cpus < cores_allowed ? quota.cpus : cores_allowed;
}

int engine_core_part(int parts) {
    int core = sched_getcpu();
    int rank = core >= 0 && core < CPU_SETSIZE ? core_ranks[core] : 0;
    return rank < cores_allowed ? rank * parts / cores_allowed : 0;
}

int engine_workers_wanted(int *out) {
    const char *text = getenv(WORKERS);
    char *end = NULL;
    *out = 0;
    if (!text || !*text)
        return NEAP_OK;
    long value = strtol(text, &end, 10);
    if (*end || value < 1 || value > ENGINE_WORKERS_MOST)
        return neap_error(NEAP_E_ARGUMENT, "the environment's %s wants a number from 1 to %d, not '%s'", WORKERS,
                          ENGINE_WORKERS_MOST, text);
    *out = (int)value;
    return NEAP_OK;
}

const char *engine_cores_explain(char *text, size_t capacity) {
    int wanted;
    if (engine_workers_wanted(&wanted) < 0 || wanted > 0)
        snprintf(text, capacity, "%s", wanted ? "the environment's NEAP_WORKERS says so" : neap_error_text());
    else if (quota.cpus == 0)
        snprintf(text, capacity, "one for each core that this process may use; there is no CPU quota");
    else if (quota.cpus < cores_allowed)
        snprintf(text, capacity, "the CPU quota says so: %.4g CPUs (%s); this process may use %d cores",
                 (double)quota.quota / (double)quota.period, quota.file, cores_allowed);
    else
        snprintf(text, capacity, "one for each core that this process may use; the CPU quota is %.4g CPUs (%s)",
                 (double)quota.quota / (double)quota.period, quota.file);
    return text;
}
