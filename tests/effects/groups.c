/* groups.c: random programs of effects against what a single-threaded program would show.
 *
 * A program pushes effects of all kinds, ordered and unordered, on two devices, over inputs that are slow or fail; it
 * moves kinds between order groups, and requests callbacks, which do the same, wait, fail, or are skipped. Each effect
 * writes lines to a file. Afterwards the file must hold every effect that had to happen, whole and once; in each frame
 * the effects of one group, and those of one kind, must come one after the other, each callback with all that it
 * pushed; and a program that left everything in the common order must have written the very text of its serial run.
 */
#include "effects/effects.h"
#include "engine/engine_internal.h"
#include "tests/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#if NEAP_SANITIZED
enum { ITEMS = 400, ROUNDS = 2, ALLOCATIONS = 400 };
#else
enum { ITEMS = 4000, ROUNDS = 4, ALLOCATIONS = 2000 };
#endif
enum { THREADS = 4, DEEPEST = 4, NOBODY = -1, KINDS = NEAP_EFFECT_KINDS + 2 /* two of the program's own */ };

typedef struct program program;

typedef struct item { /* an effect */
    program *in;
    int id, parent; /* the callback that pushed it, or NOBODY */
    int kind, group, limit;
    bool ordered, callback, has_result, fails, skipped;
    _Atomic int released;
    int first, last, lines; /* in the file */
} item;

typedef struct input { /* a variable that is written once */
    neap_var *var;
    bool failed;
} input;

struct program {
    neap_effects *effects;
    neap_waker *waker;
    uint64_t random;
    bool plain;   /* all in one order */
    bool refused; /* an allocation was refused */
    bool own[KINDS];
    item *items;
    input *inputs;
    int count, most, input_count, parent, level;
    int stream;
    char path[64];
};

static int pick(program *p, int n) {
    p->random = p->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((p->random >> 33) % (uint64_t)n);
}

/* ---- Effects ----------------------------------------------------------------------------------------------------- */

static int write_line(item *it) {
    char line[128];
    int length = snprintf(line, sizeof line, "item %d %0*d end\n", it->id, 1 + it->id % 70, 0);
    return neap_out_write(it->in->stream, line, (size_t)length);
}

static int happen(void *arg, const neap_run *run) {
    (void)run;
    item *it = arg;
    int status = write_line(it);
    return it->fails ? neap_error(NEAP_E_FAILED, "told %d", it->id) : status;
}

static void release_item(void *arg) {
    ((item *)arg)->released++;
}

static int compute(void *arg, const neap_run *run) {
    (void)run;
    int what = (int)(intptr_t)arg;
    if (what / 2 > 0)
        nanosleep(&(struct timespec){0, what / 2 * 1000L}, NULL);
    return what % 2 ? neap_error(NEAP_E_SHAPE, "an op that fails") : 0;
}

/* NEAP_OK, or an allocation was refused: the push must then have left no trace. */
static bool accepted(program *p, int status) {
    if (status == NEAP_OK)
        return true;
    p->refused = true;
    CHECK(status == NEAP_E_MEMORY || status == NEAP_E_STATE);
    return false;
}

/* Up to two different inputs among the first `limit`. Returns whether one failed. */
static bool pick_inputs(program *p, int limit, neap_var **reads, int *count) {
    bool failed = false;
    int last = NOBODY;
    *count = 0;
    for (int i = pick(p, 3); i > 0 && limit > 0; i--) {
        int at = pick(p, 4) && limit > 8 ? limit - 1 - pick(p, 8) : pick(p, limit);
        if (at == last)
            continue;
        last = at;
        reads[(*count)++] = p->inputs[at].var;
        failed |= p->inputs[at].failed;
    }
    return failed;
}

static void push_op(program *p, int limit) {
    neap_var *reads[2], *made;
    int nreads, fails = pick(p, 10) == 0, slow = pick(p, 20) == 0 ? pick(p, 300) : 0;
    bool failed = pick_inputs(p, limit, reads, &nreads);
    if (!accepted(p, neap_var_new(&made)))
        return;
    neap_push push = {.name = "op",
                      .device = pick(p, 2),
                      .flags = pick(p, 2) ? NEAP_PUSH_SMALL : 0,
                      .nreads = nreads,
                      .reads = reads,
                      .nwrites = 1,
                      .writes = &made};
    if (accepted(p, neap_push_sync(compute, (void *)(intptr_t)(slow * 2 + fails), &push))) {
        p->inputs[p->input_count++] = (input){made, failed || fails};
    } else {
        neap_var_delete(made);
    }
}

static item *new_item(program *p, int limit) {
    item *it = &p->items[p->count];
    *it = (item){.in = p,
                 .id = p->count,
                 .parent = p->parent,
                 .kind = pick(p, KINDS),
                 .limit = limit,
                 .ordered = p->plain || pick(p, 5) > 0,
                 .fails = pick(p, 25) == 0,
                 .first = NOBODY};
    it->group = p->own[it->kind] ? 1 + it->kind : 0;
    return it;
}

static void push_effect(program *p, int limit) {
    neap_var *reads[2];
    item *it = new_item(p, limit);
    neap_push push = {.name = "effect", .release = release_item, .device = pick(p, 2), .reads = reads};
    pick_inputs(p, limit, reads, &push.nreads);
    p->count++;
    if (!accepted(p, neap_effects_push(p->effects, it->kind, it->ordered, happen, it, &push)))
        p->count--;
}

static void push_callback(program *p, int limit) {
    neap_var *reads[2], *result = NULL;
    item *it = new_item(p, limit);
    neap_push push = {.name = "effect", .release = release_item, .device = pick(p, 2), .reads = reads};
    bool failed = pick_inputs(p, limit, reads, &push.nreads);
    push.flags = pick(p, 3) == 0 ? NEAP_PUSH_ALWAYS : 0;
    it->callback = true;
    it->skipped = failed && !push.flags;
    if (pick(p, 2) && accepted(p, neap_var_new(&result))) {
        push.nwrites = 1;
        push.writes = &result;
    }
    it->has_result = result != NULL;
    p->count++;
    if (!accepted(p, neap_effects_request(p->effects, it->ordered ? 1 << it->kind : 0, it, &push))) {
        p->count--;
        neap_var_delete(result);
    } else if (result) {
        p->inputs[p->input_count++] = (input){result, it->skipped || it->fails};
    }
}

static void change_order(program *p) {
    int kind = pick(p, KINDS);
    if (!p->plain && accepted(p, neap_effects_order(p->effects, kind, !p->own[kind])))
        p->own[kind] = !p->own[kind];
}

/* ---- The user thread --------------------------------------------------------------------------------------------- */

static void run_callbacks(program *p);

typedef int poll_fn(program *p, int what, neap_waker *waker);

/* Waits as a user thread does. Where the waker is refused for want of memory, it looks again and again. */
static int wait_until(program *p, poll_fn *poll, int what) {
    for (;;) {
        neap_waker_clear(p->waker);
        run_callbacks(p);
        int patience = 20000, status = poll(p, what, p->waker);
        if (status == NEAP_E_MEMORY) {
            p->refused = true;
            patience = 1;
            status = poll(p, what, NULL);
        }
        if (status != NEAP_PENDING)
            return status;
        neap_waker_sleep(p->waker, patience);
    }
}

static int poll_effects(program *p, int unused, neap_waker *waker) {
    (void)unused;
    return neap_effects_poll(p->effects, waker);
}

static int poll_input(program *p, int at, neap_waker *waker) {
    return neap_var_poll(p->inputs[at].var, waker);
}

/* What a frame does next; `limit`: the inputs that were there when it was recorded, so that nothing waits for
 * itself. */
static void step(program *p, int limit) {
    int what = pick(p, 100);
    if (what < 25) {
        push_op(p, limit);
    } else if (what < 65) {
        push_effect(p, limit);
    } else if (what < 80) {
        if (p->level < DEEPEST)
            push_callback(p, limit);
    } else if (what < 84) {
        change_order(p);
    } else if (what < 86) {
        wait_until(p, poll_effects, 0);
    } else if (what < 90 && limit > 0) {
        int at = pick(p, limit), status = wait_until(p, poll_input, at);
        CHECK(p->inputs[at].failed ? status < 0 : status == NEAP_OK);
    } else {
        run_callbacks(p);
    }
}

static void run_callback(program *p, neap_request *request) {
    item *it = neap_request_arg(request);
    int outer = p->parent;
    bool own[KINDS];
    CHECK(!it->skipped && it->released == 0);
    write_line(it);
    memcpy(own, p->own, sizeof own);
    for (int kind = 0; kind < KINDS; kind++)
        p->own[kind] = neap_effects_order(p->effects, kind, 0) < 0; /* refused: it stays as it was */
    p->parent = it->id;
    p->level++;
    for (int i = pick(p, 8); i > 0 && p->count < p->most; i--)
        step(p, it->limit);
    p->level--;
    p->parent = outer;
    memcpy(p->own, own, sizeof own);
    int status = it->fails ? neap_error(NEAP_E_FAILED, "told %d", it->id) : NEAP_OK;
    CHECK_EQ(neap_request_end(p->effects, request, status), NEAP_OK);
}

static void run_callbacks(program *p) {
    neap_request *request;
    while ((request = neap_request_take(p->effects)))
        run_callback(p, request);
}

/* ---- The check --------------------------------------------------------------------------------------------------- */

static bool is_in(const item *it, int parent) {
    return it->parent == parent && !it->skipped;
}

/* Reads the file; every line must be whole. Returns the ids in their order. */
static int *read_file(program *p, int *count) {
    int *ids = malloc((size_t)p->most * 2 * sizeof *ids), bad = 0;
    char line[256];
    FILE *file = fopen(p->path, "r");
    for (*count = 0; file && fgets(line, sizeof line, file);) {
        int id = NOBODY, used = 0, zeros = 0;
        sscanf(line, "item %d %n%*d%n", &id, &zeros, &used);
        if (id < 0 || id >= p->count || used - zeros != 1 + id % 70 || strcmp(line + used, " end\n") != 0) {
            bad++;
            continue;
        }
        item *it = &p->items[id];
        it->first = it->lines++ == 0 ? *count : it->first;
        it->last = *count;
        ids[(*count)++] = id;
    }
    if (file)
        fclose(file);
    CHECK_EQ(bad, 0);
    return ids;
}

/* In each frame the ordered effects of one group, or of one kind, follow each other with all that belongs to them. */
static void check_order(program *p) {
    int wrong = 0;
    int(*group_end)[1 + KINDS] = malloc(((size_t)p->count + 1) * sizeof *group_end);
    int(*kind_end)[KINDS] = malloc(((size_t)p->count + 1) * sizeof *kind_end);
    memset(group_end, -1, ((size_t)p->count + 1) * sizeof *group_end);
    memset(kind_end, -1, ((size_t)p->count + 1) * sizeof *kind_end);
    for (int i = p->count - 1; i >= 0; i--) { /* children have higher ids than their callback */
        item *it = &p->items[i];
        if (it->parent == NOBODY || it->skipped)
            continue;
        item *parent = &p->items[it->parent];
        wrong += it->first < parent->first;
        if (it->last > parent->last)
            parent->last = it->last;
    }
    for (int i = 0; i < p->count; i++) { /* in each frame ids rise in program order */
        item *it = &p->items[i];
        if (it->skipped || !it->ordered)
            continue;
        int *group = &group_end[it->parent + 1][it->group], *kind = &kind_end[it->parent + 1][it->kind];
        wrong += it->first <= *group || it->first <= *kind;
        *group = *kind = it->last;
    }
    CHECK_EQ(wrong, 0);
    free(group_end);
    free(kind_end);
}

/* Appends what the serial program writes in a frame. */
static void run_serially(program *p, int parent, int *ids, int *count) {
    for (int i = parent + 1; i < p->count; i++) {
        if (!is_in(&p->items[i], parent))
            continue;
        ids[(*count)++] = i;
        if (p->items[i].callback)
            run_serially(p, i, ids, count);
    }
}

static void check_program(program *p) {
    int count, bad = 0, *ids = read_file(p, &count), expected_count = 0;
    for (int i = 0; i < p->count; i++) {
        item *it = &p->items[i];
        bad += it->lines != !it->skipped || it->released != 1;
    }
    CHECK_EQ(bad, 0);
    check_order(p);
    if (p->plain) {
        int *expected = malloc((size_t)p->most * 2 * sizeof *expected);
        run_serially(p, NOBODY, expected, &expected_count);
        CHECK_EQ(count, expected_count);
        CHECK(memcmp(ids, expected, (size_t)count * sizeof *ids) == 0);
        free(expected);
    }
    free(ids);
}

static void check_inputs(program *p) {
    int bad = 0;
    for (int i = 0; i < p->input_count; i++)
        bad += (neap_var_poll(p->inputs[i].var, NULL) < 0) != p->inputs[i].failed;
    CHECK_EQ(bad, 0);
}

/* ---- One program ------------------------------------------------------------------------------------------------- */

/* Whether the nth allocation of the engine has not come; it then comes here. */
static bool was_left(int nth) {
    for (int i = 0; i < nth; i++) {
        if (engine_alloc_refuse())
            return true;
    }
    return false;
}

/* Runs until `most` effects were pushed. The nth allocation of the engine is refused, if nth is not 0; returns whether
 * that many did not come. */
static bool run_program(program *p, int most, int nth) {
    p->most = most;
    p->parent = NOBODY;
    p->items = calloc((size_t)most, sizeof *p->items);
    p->inputs = calloc((size_t)most * 20, sizeof *p->inputs);
    snprintf(p->path, sizeof p->path, "%s/neap-groups-XXXXXX", P_tmpdir);
    close(mkstemp(p->path));
    CHECK_EQ(neap_waker_new(&p->waker), NEAP_OK);
    CHECK_EQ(neap_out_open(p->path, 0, &p->stream), NEAP_OK);
    CHECK_EQ(neap_effects_new(p->waker, &p->effects), NEAP_OK);
    engine_alloc_fail(nth);
    for (int i = 0; p->count < most && i < most * 10; i++)
        step(p, p->input_count);
    wait_until(p, poll_effects, 0);
    bool left = was_left(nth);
    engine_alloc_fail(0);
    CHECK_EQ(wait_until(p, poll_effects, 0), NEAP_OK);
    neap_effects_counts counts;
    neap_effects_count(p->effects, &counts);
    CHECK_EQ(counts.outstanding, 0);
    CHECK_EQ(counts.ordered + counts.unordered, p->count);
    CHECK(p->refused || (counts.carried > 0 && counts.callbacks > 0));
    neap_out_close(p->stream);
    return left;
}

static void free_program(program *p) {
    neap_effects_free(p->effects);
    neap_waker_free(p->waker);
    for (int i = 0; i < p->input_count; i++)
        neap_var_delete(p->inputs[i].var);
    unlink(p->path);
    free(p->items);
    free(p->inputs);
}

/* ---- What is told on stderr -------------------------------------------------------------------------------------- */

static char told_path[64];
static int told_saved;

static void catch_stderr(void) {
    snprintf(told_path, sizeof told_path, "%s/neap-told-XXXXXX", P_tmpdir);
    int file = mkstemp(told_path);
    neap_out_drain();
    fflush(stderr);
    told_saved = dup(2);
    dup2(file, 2);
    close(file);
}

/* Returns how many failures of effects were told meanwhile; checks that failed go to stderr as usual. */
static int release_stderr(void) {
    char line[256];
    int told = 0;
    neap_out_drain();
    dup2(told_saved, 2);
    close(told_saved);
    FILE *file = fopen(told_path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "effect: told ", 13) == 0) {
            told++;
        } else if (strncmp(line, "effect: ", 8) != 0) {
            fputs(line, stderr);
        }
    }
    if (file)
        fclose(file);
    unlink(told_path);
    return told;
}

/* Failures without results are told, once each. */
static int must_be_told(const program *p) {
    int count = 0;
    for (int i = 0; i < p->count; i++) {
        const item *it = &p->items[i];
        count += it->fails && !it->skipped && !it->has_result;
    }
    return count;
}

/* ---- Many programs ----------------------------------------------------------------------------------------------- */

static void *thread_main(void *arg) {
    run_program(arg, ITEMS / THREADS, 0);
    return NULL;
}

/* One program on each of `threads` threads, all at a time. */
static void run_programs(int threads, uint64_t seed, bool plain) {
    program programs[THREADS] = {{0}};
    pthread_t ids[THREADS];
    int expected = 0;
    catch_stderr();
    for (int i = 0; i < threads; i++) {
        programs[i].random = seed * 100 + (uint64_t)i;
        programs[i].plain = plain;
        if (threads == 1) {
            run_program(&programs[i], ITEMS, 0);
        } else {
            CHECK_EQ(pthread_create(&ids[i], NULL, thread_main, &programs[i]), 0);
        }
    }
    for (int i = 0; i < threads && threads > 1; i++)
        pthread_join(ids[i], NULL);
    neap_wait_all(); /* the ops that fail, whose failures nobody else asks for */
    int told = release_stderr();
    for (int i = 0; i < threads; i++) {
        check_program(&programs[i]);
        check_inputs(&programs[i]);
        expected += must_be_told(&programs[i]);
        free_program(&programs[i]);
    }
    CHECK_EQ(told, expected);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
}

/* Every allocation of a short program is refused in turn. What was accepted happens, and nothing else. */
static void refuse_allocations(uint64_t seed) {
    int nth = 0, bad = 0;
    bool left = false;
    catch_stderr();
    while (!left && ++nth < ALLOCATIONS) {
        program p = {.random = seed};
        left = run_program(&p, 60, nth);
        neap_out_drain();
        neap_wait_all();
        for (int i = 0; i < p.count; i++)
            bad += p.items[i].released != 1;
        free_program(&p);
    }
    release_stderr();
    CHECK_EQ(bad, 0);
    CHECK(left && nth > 20);
}

int main(void) {
    for (int k = NEAP_EFFECT_KINDS; k < KINDS; k++)
        CHECK_EQ(neap_effect_declare(k % 2 ? "even" : "odd"), k);
    for (int scheduler = NEAP_SCHEDULER_POOL; scheduler <= NEAP_SCHEDULER_DEVICE; scheduler++) {
        for (int round = 0; round < ROUNDS; round++) {
            neap_engine_config config = {.workers = 3, .devices = 2, .scheduler = scheduler, .shuffle = round % 2};
            CHECK_EQ(neap_engine_start(&config), NEAP_OK);
            uint64_t seed = (uint64_t)(scheduler * 10 + round);
            run_programs(1, seed, round % 2);
            run_programs(THREADS, seed, round / 2 % 2);
            if (round == 0)
                refuse_allocations(seed);
            neap_engine_stop();
        }
    }
    return check_end();
}
