/* quota.h: how much CPU time the control groups (cgroups) of this process allow. Containers limit programs in this way,
 * and show them all cores of the machine. */
#ifndef ENGINE_QUOTA_H
#define ENGINE_QUOTA_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

typedef struct engine_quota {
    int cpus;              /* the quota in CPUs, rounded up, so at least 1; 0: there is none */
    int64_t quota, period; /* microseconds of CPU time in each so many microseconds */
    char file[PATH_MAX];   /* sets the quota */
} engine_quota;

/* Reads the least quota of the groups that the process is in, and of those around them. `root` stands in front of all
 * paths: "", or a folder of a test's. What cannot be read, or is no quota, limits nothing. */
void engine_quota_read(const char *root, engine_quota *out);
/* cores.c: why a pool has so many workers: the environment's NEAP_WORKERS, the quota, or the cores. For people, after
 * the engine's start. Returns `text`. */
const char *engine_cores_explain(char *text, size_t capacity);

#endif
