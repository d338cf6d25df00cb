/* ordered.c: buffers that are taken over from work in flight: only from what is far enough behind, and with no change
 * to what the ops before and behind see.
 *
 * Random programs of ops over buffers are run, whose values and failures were worked out at the push, one op after the
 * other. Buffers are dropped while ops still use them, so that later ones get their memory.
 *
 *      ordered            the usual rounds                 NEAP_TEST_LONG=2 ordered   fresh seeds, for two hours
 */
#include "engine/device_internal.h"
#include "tests/engine/common.h"

#include <string.h>

enum { BYTES = ENGINE_MEMORY_LARGE, LAST = BYTES / sizeof(uint64_t) - 1 };
enum { READS = 3, LIVE = 12, OPS = SIZE(2000, 400), ROUNDS = SIZE(40, 8) };

typedef struct array {
    neap_buffer *buffer;
    uint64_t value; /* once all has run, */
    bool failed;    /* unless it failed */
} array;

typedef struct work {
    neap_buffer *reads[READS], *out;
    int nreads, delay;
    uint64_t salt;
    bool over, fails;       /* over: what it writes depends on what was there */
    _Atomic uint64_t *seen; /* NULL, or where to put the result, too */
} work;

static _Atomic int torn; /* values that two ops wrote at once */

static uint64_t read_value(neap_buffer *buffer) {
    const uint64_t *data = neap_buffer_data(buffer);
    if (data[0] != data[LAST])
        atomic_fetch_add(&torn, 1);
    return data[0];
}

static int do_work(void *arg, const neap_run *run) {
    const work *w = arg;
    (void)run;
    uint64_t value = w->salt;
    for (int k = 0; k < w->nreads; k++)
        value = mix(value ^ read_value(w->reads[k]));
    if (w->over)
        value = mix(value ^ read_value(w->out));
    if (w->delay)
        sleep_us(w->delay);
    if (w->seen)
        atomic_store(w->seen, value);
    if (w->fails)
        return neap_error(NEAP_E_SHAPE, "three is not four");
    if (w->out) {
        uint64_t *data = neap_buffer_data(w->out);
        data[0] = data[LAST] = value;
    }
    return 0;
}

static void do_work_async(void *arg, const neap_run *run, neap_completion *done) {
    neap_complete(done, do_work(arg, run));
}

static void free_work(void *arg) {
    work *w = arg;
    for (int k = 0; k < w->nreads; k++)
        neap_buffer_return(w->reads[k]);
    if (w->out)
        neap_buffer_return(w->out);
    free(w);
}

/* Pushes the work, which lends its buffers from now on. */
static void push_work(const work *what, uint32_t flags, bool fresh, bool async) {
    work *w = malloc(sizeof *w);
    *w = *what;
    neap_var *reads[READS], *write = w->out ? neap_buffer_var(w->out) : NULL;
    for (int k = 0; k < w->nreads; k++)
        reads[k] = neap_buffer_var(neap_buffer_lend(w->reads[k]));
    if (w->out)
        neap_buffer_lend(w->out);
    neap_push push = {.name = "work", .flags = flags, .release = free_work, .reads = reads, .writes = &write};
    push.nreads = w->nreads, push.nwrites = write != NULL, push.nfresh = fresh;
    CHECK_EQ(async ? neap_push_async(do_work_async, w, &push) : neap_push_sync(do_work, w, &push), NEAP_OK);
}

/* ---- Which are taken over ---------------------------------------------------------------------------------------- */

static neap_buffer *new_ordered(size_t bytes) {
    neap_buffer *buffer;
    CHECK_EQ(neap_buffer_new_ordered(0, bytes, 0, &buffer), NEAP_OK);
    return buffer;
}

/* Drops the buffer `b`, into which 5 was written, and of which an op behind the gate will see the value. */
typedef struct scene {
    neap_var *gated, *others;
    gate gate;
    neap_buffer *b;
    void *data;
    _Atomic uint64_t seen;
} scene;

static int read_behind_gate(void *arg, const neap_run *run) {
    scene *s = arg;
    (void)run;
    atomic_store(&s->seen, read_value(s->b));
    return 0;
}

static void read_async(void *arg, const neap_run *run, neap_completion *done) {
    neap_complete(done, read_behind_gate(arg, run));
}

static void return_b(void *arg) {
    neap_buffer_return(((scene *)arg)->b);
}

static void begin(scene *s, uint32_t flags, bool async) {
    *s = (scene){.gated = new_var(), .others = new_var(), .b = new_ordered(BYTES)};
    s->data = neap_buffer_data(s->b);
    push_work(&(work){.out = s->b, .salt = 5}, 0, false, false);
    push_gate(&s->gate, 1, &s->gated);
    neap_var *reads[] = {s->gated, neap_buffer_var(neap_buffer_lend(s->b))};
    neap_push push = {.name = "read", .flags = flags, .release = return_b, .nreads = 2, .reads = reads};
    CHECK_EQ(async ? neap_push_async(read_async, s, &push) : neap_push_sync(read_behind_gate, s, &push), NEAP_OK);
    neap_buffer_release(s->b);
}

/* Ops that come to queues meanwhile. */
static void let_pass(scene *s, int ops) {
    static _Atomic int ran;
    for (int k = 0; k < ops; k++)
        CHECK_EQ(push_on(add_one, &ran, 0, s->gated, s->others), NEAP_OK);
}

/* Whether a new buffer of so many bytes has the memory of the dropped one. What is written there comes behind what the
 * op behind the gate has read. */
static bool is_taken_over(scene *s, size_t bytes) {
    neap_buffer *next = new_ordered(bytes);
    bool taken = neap_buffer_data(next) == s->data;
    CHECK_EQ(neap_buffer_owned(next), 1);
    CHECK_EQ(neap_buffer_sole(next), !taken);
    push_work(&(work){.out = next, .salt = 7}, 0, false, false);
    open_gate(&s->gate, 0);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(next)), NEAP_OK);
    CHECK_EQ(read_value(next), 7);
    CHECK_EQ(neap_var_wait_to_write(s->others), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_write(s->gated), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(atomic_load(&s->seen), 5);
    neap_buffer_release(next);
    neap_var_delete(s->gated);
    neap_var_delete(s->others);
    neap_memory_trim();
    return taken;
}

static void candidates(void) {
    CHECK_EQ(neap_engine_start(&POOL), NEAP_OK);
    scene s;
    const int far = neap_engine_workers() + 2;
    begin(&s, 0, false);
    let_pass(&s, far);
    CHECK(is_taken_over(&s, BYTES));
    begin(&s, 0, false);
    let_pass(&s, far - 2); /* the worker that takes the next op may be the first to come by */
    CHECK(!is_taken_over(&s, BYTES));
    begin(&s, NEAP_PUSH_WIDE, false);
    CHECK(is_taken_over(&s, BYTES));
    begin(&s, 0, true); /* who knows how long an async op takes */
    let_pass(&s, 10 * far);
    CHECK(!is_taken_over(&s, BYTES));
    begin(&s, NEAP_PUSH_COPY, false); /* or a copy, which is to run beside other work */
    let_pass(&s, 10 * far);
    CHECK(!is_taken_over(&s, BYTES));
    begin(&s, 0, false);
    let_pass(&s, far);
    CHECK(!is_taken_over(&s, BYTES - 64)); /* ops in flight may ask for its size */
    begin(&s, 0, false);
    neap_buffer_retain(s.b); /* somebody else's, too */
    let_pass(&s, far);
    CHECK(!is_taken_over(&s, BYTES));
    neap_buffer_release(s.b);
    neap_memory_stats now;
    neap_memory_get(&now);
    CHECK_EQ(now.live_bytes, 0);
    neap_engine_stop();
}

/* What failed before is no failure of the new owner's, and what the new owner's ops do is none of the old ones'. */
static void failures(void) {
    CHECK_EQ(neap_engine_start(&POOL), NEAP_OK);
    for (int round = 0; round < 2; round++) {
        neap_var *gated = new_var();
        gate g;
        neap_buffer *b = new_ordered(BYTES), *out = new_ordered(BYTES);
        void *data = neap_buffer_data(b);
        push_gate(&g, 1, &gated);
        CHECK_EQ(push_on(round ? fail : do_work, &(work){.salt = 1, .out = b}, 0, gated, neap_buffer_var(b)), NEAP_OK);
        push_work(&(work){.reads = {b}, .nreads = 1, .out = out}, NEAP_PUSH_WIDE, false, false);
        neap_buffer_release(b);
        neap_buffer *next = new_ordered(BYTES);
        CHECK(neap_buffer_data(next) == data);
        push_work(&(work){.out = next, .salt = 3, .fails = !round}, 0, false, false);
        open_gate(&g, 0);
        CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(next)), round ? NEAP_OK : NEAP_E_SHAPE);
        CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(out)), round ? NEAP_E_SHAPE : NEAP_OK);
        neap_buffer_release(next);
        neap_buffer_release(out);
        neap_var_delete(gated);
    }
    neap_wait_all();
    neap_engine_stop();
}

/* ---- Random programs --------------------------------------------------------------------------------------------- */

/* A new array, or (over) one that is there, made of others. */
static void push_random(uint64_t *state, array *live, array *out, bool over, bool fresh) {
    work w = {.salt = draw(state), .out = out->buffer, .over = over && !fresh, .fails = pick(state, 40) == 0};
    w.delay = pick(state, 20) ? 0 : pick(state, 300);
    uint64_t value = w.salt;
    bool failed = w.fails || (over && !fresh && out->failed);
    for (int k = pick(state, READS + 1); k > 0; k--) {
        const array *in = &live[pick(state, LIVE)];
        bool seen = in == out || !in->buffer || (in->failed && pick(state, 4));
        for (int i = 0; i < w.nreads; i++)
            seen |= w.reads[i] == in->buffer;
        if (seen)
            continue;
        w.reads[w.nreads++] = in->buffer;
        value = mix(value ^ in->value);
        failed |= in->failed;
    }
    out->value = w.over ? mix(value ^ out->value) : value;
    out->failed = failed;
    bool wide = pick(state, 3) == 0, async = pick(state, 20) == 0;
    push_work(&w, async ? 0 : wide ? NEAP_PUSH_WIDE : pick(state, 2) ? NEAP_PUSH_SMALL : 0, fresh, async);
}

static void check_array(const array *a) {
    int status = neap_var_poll(neap_buffer_var(a->buffer), NULL); /* a wait tells of each failure once */
    CHECK_EQ(status, a->failed ? NEAP_E_SHAPE : NEAP_OK);
    if (status == NEAP_OK)
        CHECK_EQ(read_value(a->buffer), a->value);
    neap_buffer_release(a->buffer);
}

/* Returns how many arrays took over memory. */
static int run_random(const neap_engine_config *config, uint64_t seed) {
    static const size_t SIZES[] = {BYTES, BYTES, BYTES + 64, 64 + LAST * sizeof(uint64_t)};
    array live[LIVE] = {0};
    uint64_t state = mix(seed);
    int taken = 0;
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    for (int k = 0; k < OPS; k++) {
        array *out = &live[pick(&state, LIVE)];
        bool over = out->buffer && pick(&state, 3) == 0, fresh = over && pick(&state, 3) == 0;
        if (!over) {
            neap_buffer_release(out->buffer);
            *out = (array){.buffer = new_ordered(SIZES[pick(&state, COUNT(SIZES))])};
            taken += !neap_buffer_sole(out->buffer);
        }
        push_random(&state, live, out, over, fresh);
    }
    neap_wait_all(); /* some have failed */
    for (int k = 0; k < LIVE; k++)
        if (live[k].buffer)
            check_array(&live[k]);
    neap_memory_stats now;
    neap_memory_get(&now);
    CHECK_EQ(now.live_bytes, 0);
    neap_engine_stop();
    return taken;
}

static void random_programs(void) {
    const neap_engine_config four = {.workers = 4}, shuffled = {.workers = 3, .shuffle = 11};
    const neap_engine_config *const configs[] = {&POOL, &ONE, &DEVICE, &SHUFFLED, &four, &shuffled};
    const char *hours = getenv("NEAP_TEST_LONG");
    const time_t end = time(NULL) + (time_t)(3600 * (hours ? atof(hours) : 0));
    int taken = 0;
    uint64_t seed = hours ? (uint64_t)time(NULL) : 1;
    for (int round = 0; round < ROUNDS || time(NULL) < end; round++, seed++)
        taken += run_random(configs[round % COUNT(configs)], seed);
    CHECK(taken > ROUNDS * OPS / 100);
    CHECK_EQ(run_random(&NAIVE, seed), 0);
    CHECK_EQ(atomic_load(&torn), 0);
}

int main(void) {
    candidates();
    failures();
    random_programs();
    return check_end();
}
