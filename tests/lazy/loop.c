/* loop.c: a loop with collapsed axes reads and writes, for each element, what the loop does, and has no axis to spare;
 * levels count reductions; each rule of a sequence is noticed when it is broken.
 *
 *     loop [SEED]
 */
#include "lazy/loop/verify.h"
#include "ops_gen.h"
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

/* ---- Sequences --------------------------------------------------------------------------------------------------- */
/* A carry that is halved, and put into a row of a table, whose index an earlier loop has made; a test and a call. */
typedef struct halving {
    lazy_load loads[4];
    lazy_ins ins[2];
    lazy_sink sinks[2];
    lazy_kernel loops[2];
    loop_item items[4];
    int32_t pointers[1], moves[4];
    loop_carry carries[1];
    loop_sequence sequence;
} halving;

static void halving_init(halving *h) {
    enum { F = NEAP_DTYPE_F32, I = NEAP_DTYPE_I32 };
    *h = (halving){
        .loads = {{.kind = LAZY_LOAD_BUFFER, .dtype = I, .slot = 0}, /* loop 0 */
                  {.kind = LAZY_LOAD_VALUE, .dtype = I, .slot = 1},
                  {.kind = LAZY_LOAD_BUFFER, .dtype = F, .slot = 1},
                  {.kind = LAZY_LOAD_BUFFER, .dtype = F, .slot = 2}},
        .ins = {{LAZY_OP_add, I, I, 2, {0, 0}}, {LAZY_OP_multiply, F, F, 2, {1, 2}}},
        .sinks = {{.kind = LAZY_SINK_STORE, .dtype = I, .slot = 0, .value = 1},
                  {.kind = LAZY_SINK_PUT, .dtype = F, .slot = 3, .value = 3, .index = 0, .extent = 5, .step = 1}},
        .items = {{LOOP_FUSED, 0, 0, 0, 0}, {LOOP_CASE, 1, 0, 2, 1}, {LOOP_FUSED, 1, 0, 0, 0}, {LOOP_CALL, 0, 0, 1, 0}},
        .pointers = {3},
        .carries = {{3, 5}}};
    for (int k = 0; k < 2; k++)
        h->loops[k] = (lazy_kernel){.ndim = 2, .nkept = 2, .shape = {1, 1}, .nins = 1, .nsinks = 1};
    h->loops[0].loads = h->loads, h->loops[0].nloads = 1, h->loops[0].ins = h->ins, h->loops[0].sinks = h->sinks;
    h->loops[1].loads = h->loads + 1, h->loops[1].nloads = 3, h->loops[1].ins = h->ins + 1;
    h->loops[1].sinks = h->sinks + 1;
    h->sequence = (loop_sequence){.nitems = 4, .nplaces = 4, .npointers = 1, .ncarries = 1, .head = 1, .truth = 0};
    h->sequence.items = h->items, h->sequence.pointers = h->pointers, h->sequence.moves = h->moves;
    h->sequence.carries = h->carries;
}

static void check_rule(const halving *h, int rule) {
    char text[32];
    snprintf(text, sizeof text, ": rule %d: ", rule);
    if (!CHECK(loop_verify_sequence(&h->sequence, 2, h->loops, "a test") == NEAP_E_INTERNAL) ||
        !CHECK(strstr(neap_error_text(), text)))
        fprintf(stderr, "rule %d: %s\n", rule, neap_error_text());
}

static void check_sequences(void) {
    halving h;
    halving_init(&h);
    CHECK_EQ(loop_verify_sequence(&h.sequence, 2, h.loops, "a test"), 0);
#define BREAK(rule, place, value)                                                                                      \
    do {                                                                                                               \
        halving_init(&h);                                                                                              \
        h.place = (value);                                                                                             \
        check_rule(&h, rule);                                                                                          \
    } while (0)
    BREAK(1, loops[0].nsinks, 0);
    BREAK(3, ins[1].arg[0], 3);
    BREAK(5, sinks[0].dtype, NEAP_DTYPE_F32);
    BREAK(9, items[0].what, 7);
    BREAK(9, items[2].which, 2);
    BREAK(9, items[1].first, 4);
    BREAK(9, items[1].items, 3);
    BREAK(9, items[1].which, 2);
    BREAK(9, items[3].n, 2);
    BREAK(9, pointers[0], -1);
    BREAK(10, loads[0].slot, 4);
    BREAK(10, loads[1].slot, 5); /* of its own loop */
    BREAK(10, loads[1].slot, 6);
    BREAK(10, loads[1].dtype, NEAP_DTYPE_I64);
    BREAK(10, sinks[1].slot, 4);
    BREAK(10, sinks[1].index, 4);
    BREAK(10, sinks[1].extent, 0);
    BREAK(11, carries[0].load, 2);
    BREAK(11, carries[0].load, 5);
    BREAK(11, carries[0].next, 6);
    BREAK(11, carries[0].next, 1);
    BREAK(12, sequence.truth, 4);
    BREAK(12, sequence.head, 5);
#undef BREAK
}

int main(int argc, char **argv) {
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) * 2 + 1 : seed;
    for (int k = 0; k < 3000; k++) {
        check_collapse();
        check_levels();
    }
    check_sequences();
    return check_end();
}
