/* comm_trial.h: random collectives, each rank's part of which is pushed and compared, bit for bit, with plain loops.
 * What a trial is follows from the seed alone, so processes that have one seed do the same.
 */
#ifndef TESTS_COMM_TRIAL_H
#define TESTS_COMM_TRIAL_H

#include "common.h"
#include "engine/comm/comm.h"

enum { TRIAL_RANKS = 8, MEMBERS = 9 };

/* ---- Combining --------------------------------------------------------------------------------------------------- */
static void add_f32(void *out, const void *a, const void *b, const void *c, int64_t n) {
    (void)c;
    for (int64_t k = 0; k < n; k++)
        ((float *)out)[k] = ((const float *)a)[k] + ((const float *)b)[k];
}

/* Neither commutative nor associative: tells the order of the operands too. */
static void lean_f64(void *out, const void *a, const void *b, const void *c, int64_t n) {
    (void)c;
    for (int64_t k = 0; k < n; k++)
        ((double *)out)[k] = 0.75 * ((const double *)a)[k] - ((const double *)b)[k];
}

static void mix_u8(void *out, const void *a, const void *b, const void *c, int64_t n) {
    (void)c;
    for (int64_t k = 0; k < n; k++)
        ((uint8_t *)out)[k] = (uint8_t)(3 * ((const uint8_t *)a)[k] + ((const uint8_t *)b)[k]);
}

static const struct {
    engine_comm_combine combine;
    size_t item;
    const char *what;
} ops[] = {{add_f32, 4, "add of f32"}, {lean_f64, 8, "lean of f64"}, {mix_u8, 1, "mix of u8"}};

/* ---- A trial ----------------------------------------------------------------------------------------------------- */
typedef struct trial {
    engine_collective what;
    engine_comm_group group;
    int32_t ranks[TRIAL_RANKS], owner[MEMBERS], source[MEMBERS];
    uint8_t wanted[TRIAL_RANKS * MEMBERS];
    char *blocks[MEMBERS];
    neap_buffer *in[MEMBERS], *out[TRIAL_RANKS];
} trial;

static inline void fill(trial *t, uint64_t *seed) {
    for (int64_t k = 0; k < t->what.elements * t->group.nmembers; k++) {
        char *at = t->blocks[k % t->group.nmembers] + (size_t)(k / t->group.nmembers) * t->what.item;
        double value = (double)pick(seed, 2000001) / 7.0 - 100000;
        if (t->what.item == 4)
            *(float *)at = (float)value;
        else if (t->what.item == 8)
            *(double *)at = value;
        else
            *(uint8_t *)at = (uint8_t)pick(seed, 256);
    }
}

static void choose_group(trial *t, int size, uint64_t *seed) {
    engine_comm_group *g = &t->group;
    g->nmembers = 1 + pick(seed, MEMBERS);
    g->ranks = t->ranks, g->owner = t->owner, g->wanted = t->wanted;
    while (g->nranks == 0)
        for (int rank = 0; rank < size; rank++)
            if (pick(seed, 3) > 0)
                t->ranks[g->nranks++] = rank;
    bool in_order = pick(seed, 2);
    for (int m = 0; m < g->nmembers; m++) {
        t->owner[m] = t->ranks[in_order ? m * g->nranks / g->nmembers : pick(seed, g->nranks)];
        t->source[m] = pick(seed, g->nmembers + 1) - 1;
    }
    for (int k = 0; k < g->nranks * g->nmembers; k++)
        t->wanted[k] = pick(seed, 3) == 0;
}

static inline void choose(trial *t, int size, uint64_t *seed, int64_t most) {
    *t = (trial){0};
    choose_group(t, size, seed);
    int op = pick(seed, COUNT(ops)), scale = pick(seed, 3);
    int64_t limit = scale == 0 ? 20 : scale == 1 ? 1000 : most;
    t->what = (engine_collective){.kind = (engine_comm_kind)pick(seed, ENGINE_COMM_PERMUTE + 1),
                                  .group = &t->group,
                                  .combine = ops[op].combine,
                                  .item = ops[op].item,
                                  .elements = pick(seed, (int)limit),
                                  .source = t->source,
                                  .what = ops[op].what,
                                  .site = "comm.lua:1"};
    if (t->what.kind != ENGINE_COMM_PERMUTE)
        t->what.source = NULL;
    t->what.elements -= t->what.elements % t->group.nmembers;
    for (int m = 0; m < t->group.nmembers; m++) {
        CHECK_EQ(neap_buffer_new(0, (size_t)t->what.elements * t->what.item + 64, &t->in[m]), 0);
        t->blocks[m] = (char *)neap_buffer_data(t->in[m]) + 64 - t->what.item;
    }
    fill(t, seed);
}

/* comms[rank] is NULL for the ranks that are not here. */
static inline void push(trial *t, engine_comm **comms) {
    for (int k = 0; k < t->group.nranks; k++) {
        engine_comm_block in[MEMBERS];
        int rank = t->ranks[k], n = 0;
        if (!comms[rank])
            continue;
        for (int m = 0; m < t->group.nmembers; m++)
            if (t->owner[m] == rank)
                in[n++] = (engine_comm_block){t->in[m], 64 - t->what.item};
        CHECK_EQ(engine_comm_nin(&t->what, rank), n);
        int64_t elements = engine_comm_nout(&t->what, rank);
        CHECK_EQ(neap_buffer_new(0, (size_t)elements * t->what.item, &t->out[k]), 0);
        memset(neap_buffer_data(t->out[k]), 0xAB, neap_buffer_bytes(t->out[k]));
        CHECK_EQ(engine_comm_push(comms[rank], &t->what, in, t->out[k], NULL), 0);
    }
}

/* ---- The same in plain loops ------------------------------------------------------------------------------------- */
static void combined(const trial *t, int first, int n, int64_t at, char *out) {
    size_t item = t->what.item;
    if (n == 1) {
        memcpy(out, t->blocks[first] + (size_t)at * item, item);
        return;
    }
    int half = 1;
    while (2 * half < n)
        half *= 2;
    double left, right;
    combined(t, first, half, at, (char *)&left);
    combined(t, first + half, n - half, at, (char *)&right);
    t->what.combine(out, &left, &right, NULL, 1);
}

static char *append(char *out, const char *from, int64_t at, int64_t n, size_t item) {
    memcpy(out, from + (size_t)at * item, (size_t)n * item);
    return out + (size_t)n * item;
}

static char *append_combined(const trial *t, char *out, int64_t at, int64_t n) {
    for (int64_t k = 0; k < n; k++, out += t->what.item)
        combined(t, 0, t->group.nmembers, at + k, out);
    return out;
}

static char *expect_member(const trial *t, int w, char *out) {
    int64_t n = t->what.elements, piece = n / t->group.nmembers;
    size_t item = t->what.item;
    if (t->what.kind == ENGINE_COMM_SCATTER)
        return append_combined(t, out, w * piece, piece);
    if (t->what.kind == ENGINE_COMM_PERMUTE && t->source[w] >= 0)
        return append(out, t->blocks[t->source[w]], 0, n, item);
    if (t->what.kind == ENGINE_COMM_PERMUTE)
        return (char *)memset(out, 0, (size_t)n * item) + (size_t)n * item;
    for (int m = 0; m < t->group.nmembers; m++)
        out = append(out, t->blocks[m], w * piece, piece, item);
    return out;
}

/* What rank number k gets, into `out`; returns its end. */
static char *expect(const trial *t, int k, char *out) {
    if (t->what.kind == ENGINE_COMM_REDUCE)
        return append_combined(t, out, 0, t->what.elements);
    for (int m = 0; m < t->group.nmembers; m++) {
        if (t->what.kind == ENGINE_COMM_GATHER)
            out = append(out, t->blocks[m], 0, t->what.elements, t->what.item);
        else if (t->wanted[k * t->group.nmembers + m])
            out = expect_member(t, m, out);
    }
    return out;
}

static inline void forget(trial *t) {
    for (int m = 0; m < t->group.nmembers; m++)
        neap_buffer_release(t->in[m]);
    *t = (trial){0};
}

static inline void verify(trial *t) {
    for (int k = 0; k < t->group.nranks; k++) {
        if (!t->out[k])
            continue;
        size_t bytes = neap_buffer_bytes(t->out[k]);
        char *expected = malloc(bytes + 8);
        CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(t->out[k])), 0);
        CHECK_EQ(expect(t, k, expected) - expected, bytes);
        if (!CHECK(memcmp(expected, neap_buffer_data(t->out[k]), bytes) == 0))
            fprintf(stderr, "kind %d, %s, %lld elements, %d members, %d ranks\n", t->what.kind, t->what.what,
                    (long long)t->what.elements, t->group.nmembers, t->group.nranks);
        free(expected);
        neap_buffer_release(t->out[k]);
    }
    forget(t);
}

/* Several are pushed before the first is looked at. */
static inline void run_trials(engine_comm **comms, int size, int rounds, uint64_t seed) {
    enum { AHEAD = 8 };
    static trial trials[AHEAD];
    for (int round = 0; round < rounds; round++) {
        for (int k = 0; k < AHEAD; k++) {
            choose(&trials[k], size, &seed, SIZE(20000, 6000));
            push(&trials[k], comms);
        }
        for (int k = 0; k < AHEAD; k++)
            verify(&trials[k]);
    }
}

/* Of many segments. */
static inline void run_large(engine_comm **comms, int size, uint64_t seed) {
    static const engine_comm_kind kinds[] = {ENGINE_COMM_REDUCE, ENGINE_COMM_SCATTER};
    for (int k = 0; k < COUNT(kinds); k++) {
        static trial t;
        choose(&t, size, &seed, SIZE(900000, 20000));
        while (t.what.kind != kinds[k] || t.what.elements < SIZE(400000, 12000) || t.group.nranks < 2) {
            forget(&t);
            choose(&t, size, &seed, SIZE(900000, 20000));
        }
        push(&t, comms);
        verify(&t);
    }
}

#endif
