/* loop.c: a loop with collapsed axes reads and writes, for each element, what the loop does, and has no axis to spare;
 * levels count reductions.
 *
 *     loop [SEED]
 */
#include "lazy/loop/loop.h"
#include "tests/lazy/vm_random.h"

enum { AXES = 6, MAPS = 4, VALUES = 24 };

static lazy_load loads[MAPS];
static lazy_sink sinks[MAPS];
static lazy_ins ins[VALUES];

/* Maps that often run on from one axis to the next, as those of arrays do, or stay where they are. */
static lazy_wide_map draw_map(int naxes, const int64_t *shape) {
    lazy_wide_map map;
    random_map(naxes, shape, false, &map);
    if (below(3) == 0)
        memset(map.stride, 0, sizeof map.stride);
    return map;
}

static void draw_loop(lazy_kernel *loop) {
    *loop = (lazy_kernel){.ndim = (int)below(AXES + 1), .nloads = 1 + (int)below(MAPS), .nsinks = 1 + (int)below(MAPS)};
    loop->loads = loads, loop->sinks = sinks, loop->ins = ins;
    bool reduces = below(2);
    loop->nkept = reduces ? (int)below(loop->ndim + 1) : loop->ndim;
    for (int k = 0; k < loop->ndim; k++)
        loop->shape[k] = below(4) ? 1 + below(3) : below(2);
    for (int k = 0; k < loop->nloads; k++)
        loads[k] = (lazy_load){.kind = LAZY_LOAD_BUFFER, .read = draw_map(loop->ndim, loop->shape)};
    for (int k = 0; k < loop->nsinks; k++) {
        bool each = !reduces || below(2);
        sinks[k] = (lazy_sink){.kind = each ? LAZY_SINK_STORE : LAZY_SINK_REDUCE, .slot = (int16_t)(below(4) - 1)};
        sinks[k].write = draw_map(each ? loop->ndim : loop->nkept, loop->shape);
    }
}

/* ---- Collapsing -------------------------------------------------------------------------------------------------- */
/* Where a map leads to from element e of the first axes. */
static int64_t place_of(const lazy_kernel *loop, int naxes, const lazy_wide_map *map, int64_t e) {
    int64_t place = map->offset;
    for (int k = naxes - 1; k >= 0; e /= loop->shape[k--])
        place += e % loop->shape[k] * map->stride[k];
    return place;
}

static bool leads_alike(const lazy_kernel *a, const lazy_kernel *b, bool kept, const lazy_wide_map *x,
                        const lazy_wide_map *y) {
    int from = kept ? a->nkept : a->ndim, to = kept ? b->nkept : b->ndim;
    for (int64_t e = 0; e < loop_elements(a->shape, 0, from); e++)
        if (place_of(a, from, x, e) != place_of(b, to, y, e))
            return false;
    return true;
}

/* Is there an axis that all maps could do without? */
static bool has_spare_axis(const lazy_kernel *loop) {
    for (int k = 0; k < loop->ndim; k++) {
        bool one = k + 1 < loop->ndim && k + 1 != loop->nkept;
        for (int j = 0; j < loop->nloads; j++)
            one = one && loads[j].kind == LAZY_LOAD_BUFFER &&
                  loop->loads[j].read.stride[k] == loop->loads[j].read.stride[k + 1] * loop->shape[k + 1];
        for (int j = 0; j < loop->nsinks; j++)
            one = one && loop->sinks[j].write.stride[k] == loop->sinks[j].write.stride[k + 1] * loop->shape[k + 1];
        if (one || loop->shape[k] == 1)
            return true;
    }
    return false;
}

static void check_collapse(void) {
    lazy_kernel loop;
    draw_loop(&loop);
    lazy_kernel *made = loop_collapse(&loop);
    if (!CHECK(made))
        return;
    bool reduces = false, same = true;
    for (int k = 0; k < loop.nsinks; k++)
        reduces |= sinks[k].kind != LAZY_SINK_STORE;
    loop.nkept = reduces ? loop.nkept : loop.ndim;
    CHECK_EQ(loop_elements(loop.shape, 0, loop.nkept), loop_elements(made->shape, 0, made->nkept));
    CHECK_EQ(loop_elements(loop.shape, loop.nkept, loop.ndim), loop_elements(made->shape, made->nkept, made->ndim));
    for (int k = 0; k < loop.nloads; k++)
        same &= leads_alike(&loop, made, false, &loads[k].read, &made->loads[k].read);
    for (int k = 0; k < loop.nsinks; k++)
        if (sinks[k].slot >= 0)
            same &= leads_alike(&loop, made, sinks[k].kind != LAZY_SINK_STORE, &sinks[k].write, &made->sinks[k].write);
    CHECK(same);
    CHECK(!has_spare_axis(made));
    CHECK(made->ins == loop.ins && made->ndim <= loop.ndim && made->nkept <= made->ndim);
    free(made);
}

/* ---- Levels ------------------------------------------------------------------------------------------------------ */
static int level_of(const lazy_kernel *loop, int value) {
    int level = 0;
    if (value < loop->nloads)
        return loads[value].kind == LAZY_LOAD_RESULT ? level_of(loop, sinks[loads[value].slot].value) + 1 : 0;
    const lazy_ins *at = &ins[value - loop->nloads];
    for (int a = 0; a < at->narg; a++)
        level = level_of(loop, at->arg[a]) > level ? level_of(loop, at->arg[a]) : level;
    return level;
}

/* Load k > 0 is the result of sink k - 1, whose value is an instruction that reads loads up to k - 1 alone. */
static void check_levels(void) {
    lazy_kernel loop = {.nloads = 1 + (int)below(MAPS), .nins = VALUES / 2, .loads = loads, .ins = ins, .sinks = sinks};
    int levels[MAPS + VALUES], found[MAPS + VALUES];
    loop.nsinks = loop.nloads - 1;
    for (int k = 0; k < loop.nins; k++) {
        int last = k * loop.nloads / loop.nins; /* of the loads that it may read */
        ins[k] = (lazy_ins){.narg = 2};
        for (int a = 0; a < 2; a++)
            ins[k].arg[a] = k > 0 && below(2) ? loop.nloads + (int)below(k) : (int)below(last + 1);
    }
    loads[0].kind = LAZY_LOAD_BUFFER;
    for (int k = 1; k < loop.nloads; k++) {
        loads[k] = (lazy_load){.kind = LAZY_LOAD_RESULT, .slot = (int16_t)(k - 1)};
        sinks[k - 1] = (lazy_sink){.kind = LAZY_SINK_REDUCE, .value = loop.nloads + k * loop.nins / loop.nloads - 1};
    }
    for (int v = 0; v < loop.nloads + loop.nins; v++)
        levels[v] = level_of(&loop, v);
    loop_levels(&loop, found);
    CHECK(memcmp(levels, found, (size_t)(loop.nloads + loop.nins) * sizeof *levels) == 0);
}

int main(int argc, char **argv) {
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) * 2 + 1 : seed;
    for (int k = 0; k < 3000; k++) {
        check_collapse();
        check_levels();
    }
    return check_end();
}
