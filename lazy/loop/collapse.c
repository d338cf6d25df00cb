/* loop/collapse.c: a loop over fewer axes (loop.h). */
#include "lazy/arena.h"
#include "lazy/loop/loop.h"

static int nmaps(const lazy_kernel *loop) {
    return loop->nloads + loop->nsinks;
}

/* Of the loads, then of the sinks. */
static int64_t *stride_of(lazy_kernel *loop, int map) {
    return map < loop->nloads ? loop->loads[map].read.stride : loop->sinks[map - loop->nloads].write.stride;
}

/* Do all maps lead through axes k and k + 1 as through a single axis? */
static bool is_one(lazy_kernel *loop, int k) {
    if (k + 1 == loop->nkept)
        return false;
    for (int m = 0; m < nmaps(loop); m++)
        if (stride_of(loop, m)[k] != stride_of(loop, m)[k + 1] * loop->shape[k + 1])
            return false;
    return true;
}

static void drop(lazy_kernel *loop, int k) {
    const size_t bytes = (size_t)(loop->ndim - k - 1) * sizeof *loop->shape;
    for (int m = 0; m < nmaps(loop); m++) {
        memmove(stride_of(loop, m) + k, stride_of(loop, m) + k + 1, bytes);
        stride_of(loop, m)[loop->ndim - 1] = 0;
    }
    memmove(loop->shape + k, loop->shape + k + 1, bytes);
    loop->ndim--;
    loop->nkept -= k < loop->nkept;
}

/* Sets strides to 0 along axes that a load or sink does not have. */
static void complete(lazy_kernel *loop) {
    for (int k = 0; k < loop->nloads; k++)
        if (!loop_has_map(&loop->loads[k]))
            loop->loads[k].read = (lazy_wide_map){0};
    for (int k = 0; k < loop->nsinks; k++) {
        lazy_wide_map *map = &loop->sinks[k].write;
        if (loop->sinks[k].slot < 0)
            *map = (lazy_wide_map){0};
        for (int axis = loop->sinks[k].kind == LAZY_SINK_STORE ? loop->ndim : loop->nkept; axis < LAZY_MAX_DOMAIN;
             axis++)
            map->stride[axis] = 0;
    }
}

lazy_kernel *loop_collapse(const lazy_kernel *loop) {
    lazy_kernel *made, own = *loop;
    bool reduces = false;
    if (!LAZY_ARENA(LAZY_PART(made, 1), LAZY_PART(own.loads, loop->nloads), LAZY_PART(own.sinks, loop->nsinks)))
        return NULL;
    if (loop->nloads)
        memcpy(own.loads, loop->loads, (size_t)loop->nloads * sizeof *own.loads);
    for (int k = 0; k < loop->nsinks; k++) {
        own.sinks[k] = loop->sinks[k];
        reduces |= loop->sinks[k].kind != LAZY_SINK_STORE;
    }
    own.nkept = reduces ? loop->nkept : loop->ndim;
    own.prepared = NULL;
    complete(&own);
    for (int k = own.ndim - 1; k >= 0; k--)
        if (own.shape[k] == 1)
            drop(&own, k);
    for (int k = own.ndim - 2; k >= 0; k--)
        if (is_one(&own, k)) {
            own.shape[k + 1] *= own.shape[k];
            drop(&own, k);
        }
    *made = own;
    return made;
}
