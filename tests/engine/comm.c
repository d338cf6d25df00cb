/* comm.c: collectives between communicators of one process: random groups, kinds, sizes and dtypes, bit for bit against
 * plain loops; texts; work on the communication thread. What goes wrong is in comm_failure.c.
 */
#include "comm_net.h"
#include "common.h"

enum { MEMBERS = 9 };

/* ---- Combining ------------------------------------------------------------------------------------------------------ */
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

/* ---- A case --------------------------------------------------------------------------------------------------------- */
typedef struct trial {
    engine_collective what;
    engine_comm_group group;
    int32_t ranks[NET_RANKS], owner[MEMBERS], source[MEMBERS];
    uint8_t wanted[NET_RANKS * MEMBERS];
    char *blocks[MEMBERS];
    neap_buffer *in[MEMBERS], *out[NET_RANKS];
} trial;

static void fill(trial *t, uint64_t *seed) {
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

static void choose(trial *t, int size, uint64_t *seed, int64_t most) {
    *t = (trial){0};
    choose_group(t, size, seed);
    int op = pick(seed, COUNT(ops)), scale = pick(seed, 3);
    int64_t limit = scale == 0 ? 20 : scale == 1 ? 1000 : most;
    t->what = (engine_collective){.kind = (engine_comm_kind)pick(seed, ENGINE_COMM_BARRIER + 1),
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
    if (t->what.kind == ENGINE_COMM_BARRIER)
        t->what.elements = 0;
    for (int m = 0; m < t->group.nmembers; m++) {
        CHECK_EQ(neap_buffer_new(0, (size_t)t->what.elements * t->what.item + 64, &t->in[m]), 0);
        t->blocks[m] = (char *)neap_buffer_data(t->in[m]) + 64 - t->what.item;
    }
    fill(t, seed);
}

static void push(trial *t, engine_comm **comms) {
    for (int k = 0; k < t->group.nranks; k++) {
        engine_comm_block in[MEMBERS];
        int rank = t->ranks[k], n = 0;
        for (int m = 0; m < t->group.nmembers; m++)
            if (t->owner[m] == rank)
                in[n++] = (engine_comm_block){t->in[m], 64 - t->what.item};
        if (t->what.kind != ENGINE_COMM_BARRIER)
            CHECK_EQ(engine_comm_nin(&t->what, rank), n);
        int64_t elements = engine_comm_nout(&t->what, rank);
        CHECK_EQ(neap_buffer_new(0, (size_t)elements * t->what.item, &t->out[k]), 0);
        memset(neap_buffer_data(t->out[k]), 0xAB, neap_buffer_bytes(t->out[k]));
        CHECK_EQ(engine_comm_push(comms[rank], &t->what, in, t->out[k], NULL), 0);
    }
}

/* ---- The same in plain loops ---------------------------------------------------------------------------------------- */
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
    if (t->what.kind == ENGINE_COMM_BARRIER)
        return out;
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

static void verify(trial *t) {
    for (int k = 0; k < t->group.nranks; k++) {
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
    for (int m = 0; m < t->group.nmembers; m++)
        neap_buffer_release(t->in[m]);
}

/* Several are pushed before the first is looked at. */
static void test_random(engine_comm **comms, int size, uint64_t seed) {
    enum { AHEAD = 8 };
    static trial trials[AHEAD];
    int rounds = SIZE(60, 12);
    for (int round = 0; round < rounds; round++) {
        for (int k = 0; k < AHEAD; k++) {
            choose(&trials[k], size, &seed, SIZE(40000, 6000));
            push(&trials[k], comms);
        }
        for (int k = 0; k < AHEAD; k++)
            verify(&trials[k]);
    }
}

/* Of many segments. */
static void test_large(engine_comm **comms) {
    static const engine_comm_kind kinds[] = {ENGINE_COMM_REDUCE, ENGINE_COMM_SCATTER};
    uint64_t seed = 77;
    for (int k = 0; k < COUNT(kinds); k++) {
        static trial t;
        do {
            choose(&t, 4, &seed, SIZE(1500000, 20000));
            if (t.what.kind != kinds[k] || t.what.elements < SIZE(900000, 12000) || t.group.nranks < 2) {
                for (int m = 0; m < t.group.nmembers; m++)
                    neap_buffer_release(t.in[m]);
                t.group.nranks = 0;
            }
        } while (t.group.nranks == 0);
        push(&t, comms);
        verify(&t);
    }
}

/* ---- Texts, work ---------------------------------------------------------------------------------------------------- */
typedef struct heard {
    _Atomic int count;
    int rank[3 * NET_RANKS];
    size_t bytes[3 * NET_RANKS];
    char first[3 * NET_RANKS], end[3 * NET_RANKS];
} heard;

static void hear(void *arg, int rank, const char *text, size_t bytes) {
    heard *h = arg;
    h->rank[h->count] = rank;
    h->bytes[h->count] = bytes;
    h->first[h->count] = bytes ? text[0] : 0;
    h->end[h->count] = bytes ? text[bytes - 1] : 0;
    h->count++;
}

static void test_texts(engine_comm **comms, int size) {
    static const size_t lengths[] = {10, 0, 20000};
    heard h = {0};
    neap_var *token;
    CHECK_EQ(neap_var_new(&token), 0);
    for (int turn = 0; turn < 3; turn++) {
        for (int rank = 0; rank < size; rank++) {
            size_t bytes = lengths[(turn + rank) % 3];
            char *text = malloc(bytes + 1);
            memset(text, 'a' + rank, bytes + 1);
            CHECK_EQ(engine_comm_push_text(comms[rank], text, bytes, hear, &h, rank == 0 ? token : NULL, NULL), 0);
            free(text);
        }
    }
    CHECK_EQ(neap_var_wait_to_read(token), 0);
    CHECK_EQ(h.count, 3 * size);
    for (int k = 0; k < h.count; k++) {
        size_t bytes = lengths[(k / size + k % size) % 3];
        CHECK_EQ(h.rank[k], k % size);
        CHECK_EQ(h.bytes[k], bytes);
        CHECK_EQ(h.first[k], bytes ? 'a' + k % size : 0);
        CHECK_EQ(h.end[k], h.first[k]);
    }
    neap_var_delete(token);
}

typedef struct loop { /* ten reductions in a row, each of what the one before gave */
    engine_comm *comm;
    const engine_collective *what;
    float *state;
} loop;

static int run_loop(void *arg, const neap_run *run) {
    loop *l = arg;
    int status = 0;
    (void)run;
    for (int turn = 0; turn < 10 && status == 0; turn++) {
        float sum;
        status = engine_comm_run(l->comm, l->what, (const void *[]){l->state}, &sum);
        *l->state = sum;
    }
    return status;
}

static void test_work(engine_comm **comms) {
    engine_comm_group group = {.nmembers = 2,
                               .nranks = 2,
                               .ranks = (const int32_t[]){0, 1},
                               .owner = (const int32_t[]){0, 1},
                               .wanted = (const uint8_t[]){1, 1, 1, 1}};
    engine_collective what = {.kind = ENGINE_COMM_REDUCE,
                              .group = &group,
                              .combine = add_f32,
                              .item = 4,
                              .elements = 1,
                              .what = "add of f32"};
    float state[2] = {1, 2};
    neap_var *vars[2];
    loop loops[2];
    for (int k = 0; k < 2; k++) {
        CHECK_EQ(neap_var_new(&vars[k]), 0);
        loops[k] = (loop){comms[k], &what, &state[k]};
        neap_push push = {.name = "loop", .nwrites = 1, .writes = &vars[k]};
        CHECK_EQ(engine_comm_push_work(comms[k], run_loop, &loops[k], &push), 0);
    }
    for (int k = 0; k < 2; k++) {
        CHECK_EQ(neap_var_wait_to_read(vars[k]), 0);
        CHECK_EQ((int)state[k], 3 << 9);
        neap_var_delete(vars[k]);
    }
}

static int break_down(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return neap_error(NEAP_E_SHAPE, "a mistake");
}

/* A failed input fails this collective in all ranks, and no other. */
static void test_failed_input(engine_comm **comms) {
    uint64_t seed = 5;
    for (int turn = 0; turn < 2; turn++) {
        static trial t;
        do {
            if (t.group.nranks) {
                for (int m = 0; m < t.group.nmembers; m++)
                    neap_buffer_release(t.in[m]);
            }
            choose(&t, 4, &seed, 3000);
        } while (t.group.nranks < 3 || t.what.kind != ENGINE_COMM_REDUCE);
        if (turn == 0) {
            neap_var *var = neap_buffer_var(t.in[0]);
            neap_push_sync(break_down, NULL, &(neap_push){.name = "broken", .nwrites = 1, .writes = &var});
            neap_var_wait_to_write(var);
        }
        push(&t, comms);
        if (turn == 1) {
            verify(&t);
            t.group.nranks = 0;
            continue;
        }
        for (int k = 0; k < t.group.nranks; k++) {
            CHECK(neap_var_wait_to_read(neap_buffer_var(t.out[k])) < 0);
            CHECK_TEXT(neap_error_text(), "a mistake");
            neap_buffer_release(t.out[k]);
        }
    }
    neap_wait_all(); /* reports what failed, once */
}

int main(void) {
    enum { RANKS = 6 };
    net n;
    engine_comm *comms[NET_RANKS];
    const neap_engine_config *configs[] = {&POOL, &SHUFFLED};
    for (int k = 0; k < COUNT(configs); k++) {
        CHECK_EQ(neap_engine_start(configs[k]), 0);
        net_start(&n, RANKS, comms, 60, 60);
        for (int rank = 0; rank < RANKS; rank++)
            CHECK_EQ(net_met(comms[rank]), 0);
        CHECK_EQ(engine_comm_devices(comms[1], 4), 5);
        test_random(comms, RANKS, 11 + (uint64_t)k);
        test_large(comms);
        test_texts(comms, RANKS);
        test_work(comms);
        test_failed_input(comms);
        net_stop(&n, comms, NULL, NULL);
        neap_engine_stop();
    }
    return check_end();
}
