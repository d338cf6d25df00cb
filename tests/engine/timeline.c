/* timeline.c: recordings of ops are read back and checked against the Trace Event Format, and against what was done:
 * every op once, with its name, line, bytes and state, on the thread where it ran; under every scheduler, with several
 * pushers; and the file is whole after a full disk, a kill, a fork, and when memory runs out. */
#include "engine/engine_internal.h"
#include "tests/check.h"
#include "tests/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const neap_engine_config POOL = {.workers = 2};
static char path[PATH_MAX]; /* of the file that the tests write */

static void sleep_ms(int ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

/* ---- Reading a timeline ------------------------------------------------------------------------------------------ */

static char *read_file(const char *name, size_t *bytes) {
    FILE *file = fopen(name, "rb");
    char *text = NULL;
    *bytes = 0;
    for (size_t room = 1 << 16; file; room *= 2) {
        text = realloc(text, room);
        *bytes += fread(text + *bytes, 1, room - *bytes, file);
        if (*bytes < room)
            break;
    }
    if (file)
        fclose(file);
    return text;
}

typedef struct slice {
    int tid;
    long long start, end; /* ns */
} slice;

static long long ns_of(const json *event, const char *key) {
    return (long long)(json_count(event, key) * 1000 + 0.5);
}

static int compare_slices(const void *a, const void *b) {
    const slice *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid - y->tid;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->end < y->end) - (x->end > y->end);
}

/* On each thread, of two slices one contains the other or they have nothing in common. */
static void check_nesting(slice *slices, size_t count) {
    qsort(slices, count, sizeof *slices, compare_slices);
    slice *open = malloc((count + 1) * sizeof *open);
    size_t depth = 0, wrong = 0;
    for (size_t k = 0; k < count; k++) {
        while (depth > 0 && (open[depth - 1].tid != slices[k].tid || open[depth - 1].end <= slices[k].start))
            depth--;
        wrong += depth > 0 && slices[k].end > open[depth - 1].end;
        open[depth++] = slices[k];
    }
    CHECK_EQ(wrong, 0);
    free(open);
}

static bool one_of(const char *word, const char *const *words) {
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

static bool counter_is_sound(const json *event) {
    static const char *const names[] = {"memory", "ops", NULL};
    const json *args = json_get(event, "args");
    bool sound = one_of(json_text(event, "name"), names) && args && args->first;
    for (const json *value = args ? args->first : NULL; value; value = value->next)
        sound = sound && value->kind == JSON_NUMBER && value->number >= 0;
    return sound;
}

/* The fields that each phase must have. */
static bool event_is_sound(const json *event) {
    static const char *const metadata[] = {"process_name", "thread_name", "thread_sort_index", NULL};
    static const char *const categories[] = {"op", "start", "step", "share", "wait", NULL};
    const char *phase = json_text(event, "ph");
    const json *args = json_get(event, "args");
    if (event->kind != JSON_OBJECT || json_count(event, "pid") != getpid() || !args || args->kind != JSON_OBJECT)
        return false;
    if (strcmp(phase, "M") == 0)
        return one_of(json_text(event, "name"), metadata);
    if (json_count(event, "ts") < 0 || json_count(event, "tid") < 0 || !json_text(event, "name")[0])
        return false;
    if (strcmp(phase, "C") == 0)
        return counter_is_sound(event);
    if (!one_of(json_text(event, "cat"), categories))
        return false;
    if (strcmp(phase, "X") == 0)
        return json_count(event, "dur") >= 0;
    return (strcmp(phase, "b") == 0 || strcmp(phase, "e") == 0) && json_text(event, "id")[0];
}

typedef struct recording {
    json *root;
    const json *events;
    int ops, done, failed, skipped; /* async ops are in `ops` alone */
    int began, ended;               /* async ops */
    double dropped;
    bool complete;
} recording;

static void count_event(recording *r, const json *event) {
    const char *phase = json_text(event, "ph"), *state = json_text(json_get(event, "args"), "state");
    bool op = strcmp(json_text(event, "cat"), "op") == 0;
    r->began += *phase == 'b';
    r->ended += *phase == 'e';
    r->ops += op && (*phase == 'X' || *phase == 'b');
    if (op && *phase == 'X') {
        r->done += strcmp(state, "done") == 0;
        r->failed += strcmp(state, "failed") == 0;
        r->skipped += strcmp(state, "skipped") == 0;
    }
}

/* Every thread of an event has a name. */
static bool has_name(const json *events, double tid) {
    for (const json *event = events->first; event; event = event->next) {
        if (strcmp(json_text(event, "name"), "thread_name") == 0 && json_count(event, "tid") == tid)
            return json_text(json_get(event, "args"), "name")[0] != 0;
    }
    return false;
}

/* Parses and checks a timeline. */
static recording parse(const char *text, size_t bytes) {
    recording r = {.root = json_read(text, bytes)};
    if (!CHECK(r.root))
        return r;
    r.events = json_get(r.root, "traceEvents");
    CHECK(r.events && r.events->kind == JSON_ARRAY);
    const json *other = json_get(r.root, "otherData"), *complete = json_get(other, "complete");
    r.dropped = json_count(other, "dropped");
    r.complete = complete && complete->kind == JSON_TRUE;
    size_t count = 0, unsound = 0, room = 1;
    for (const json *event = r.events->first; event; event = event->next)
        room++;
    slice *slices = malloc(room * sizeof *slices);
    double last_tid = 0;
    for (const json *event = r.events->first; event; event = event->next) {
        double tid = json_count(event, "tid");
        unsound += !event_is_sound(event);
        count_event(&r, event);
        if (*json_text(event, "ph") == 'X') {
            unsound += tid != last_tid && !has_name(r.events, tid);
            last_tid = tid;
            long long start = ns_of(event, "ts");
            slices[count++] = (slice){(int)tid, start, start + ns_of(event, "dur")};
        }
    }
    CHECK_EQ(unsound, 0);
    check_nesting(slices, count);
    free(slices);
    return r;
}

static recording read_timeline(void) {
    size_t bytes;
    char *text = read_file(path, &bytes);
    recording r = parse(text, bytes);
    free(text);
    return r;
}

/* The n-th event (from 0) of a name and phase, or NULL. */
static const json *find(const recording *r, const char *phase, const char *category, const char *name, int n) {
    for (const json *event = r->events ? r->events->first : NULL; event; event = event->next) {
        if (strcmp(json_text(event, "ph"), phase) == 0 && strcmp(json_text(event, "cat"), category) == 0 &&
            (!name || strcmp(json_text(event, "name"), name) == 0) && n-- == 0)
            return event;
    }
    return NULL;
}

static const json *args_of(const json *event) {
    return json_get(event, "args");
}

static const char *thread_of(const recording *r, const json *event) {
    for (const json *at = r->events->first; at; at = at->next) {
        if (strcmp(json_text(at, "name"), "thread_name") == 0 && json_count(at, "tid") == json_count(event, "tid"))
            return json_text(args_of(at), "name");
    }
    return "";
}

/* ---- Ops --------------------------------------------------------------------------------------------------------- */

static int nothing(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return 0;
}

static int fail(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return neap_error(NEAP_E_SHAPE, "three is not \"four\"");
}

static neap_var *new_var(void) {
    neap_var *var = NULL;
    CHECK_EQ(neap_var_new(&var), NEAP_OK);
    return var;
}

static uint64_t completed(void) {
    neap_engine_counts counts;
    neap_engine_count(&counts);
    return counts.completed;
}

static void facts_of_ops(void) {
    neap_engine_start(&POOL);
    neap_buffer *a, *b;
    neap_buffer_new(0, 1000, &a);
    neap_buffer_new(0, 24, &b);
    neap_var *reads[] = {neap_buffer_var(a)}, *writes[] = {neap_buffer_var(b)}, *other = new_var();
    CHECK_EQ(neap_timeline_start(path), NEAP_OK);
    neap_push push = {.name = "inline", .site = "a.lua:3", .flags = NEAP_PUSH_SMALL};
    push.nreads = push.nwrites = 1;
    push.reads = reads;
    push.writes = writes;
    CHECK_EQ(neap_push_sync(nothing, NULL, &push), NEAP_OK);
    push.name = "worker";
    push.site = NULL;
    push.flags = 0;
    CHECK_EQ(neap_push_sync(nothing, NULL, &push), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    char words[] = "gone"; /* borrowed only until the op has finished */
    push = (neap_push){.name = words, .site = words, .nwrites = 1, .writes = &other};
    CHECK_EQ(neap_push_sync(fail, NULL, &push), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_E_SHAPE);
    memset(words, 'x', strlen(words));
    push = (neap_push){.name = "heir", .site = "heir", .nreads = 1, .reads = &other};
    CHECK_EQ(neap_push_sync(nothing, NULL, &push), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(neap_timeline_stop(), NEAP_OK);
    recording r = read_timeline();
    CHECK(r.complete && r.dropped == 0);
    CHECK_EQ(json_count(json_get(r.root, "otherData"), "workers"), 2);
    CHECK_EQ(r.ops, 4);
    const json *inlined = find(&r, "X", "op", "inline", 0), *worker = find(&r, "X", "op", "worker", 0);
    CHECK(strcmp(json_text(args_of(inlined), "line"), "a.lua:3") == 0);
    CHECK_EQ(json_count(args_of(inlined), "read"), 1000);
    CHECK_EQ(json_count(args_of(inlined), "written"), 24);
    CHECK(strcmp(json_text(args_of(inlined), "device"), "cpu:0") == 0);
    CHECK(json_get(args_of(inlined), "at_push")->kind == JSON_TRUE);
    CHECK(strcmp(json_text(args_of(inlined), "state"), "done") == 0);
    CHECK(strcmp(thread_of(&r, inlined), "main") == 0);
    CHECK(json_get(args_of(worker), "at_push")->kind == JSON_FALSE);
    CHECK(json_get(args_of(worker), "line") == NULL);
    CHECK(json_count(args_of(worker), "queued_us") >= 0);
    CHECK_TEXT(thread_of(&r, worker), "worker ");
    const json *failed = find(&r, "X", "op", "gone", 0), *heir = find(&r, "X", "op", "heir", 0);
    CHECK(strcmp(json_text(args_of(failed), "state"), "failed") == 0);
    CHECK_TEXT(json_text(args_of(failed), "error"), "three is not \"four\"");
    CHECK(strcmp(json_text(args_of(failed), "line"), "gone") == 0);
    CHECK(strcmp(json_text(args_of(heir), "state"), "skipped") == 0);
    json_free(r.root);
    neap_buffer_release(a);
    neap_buffer_release(b);
    neap_var_delete(other);
    neap_engine_stop();
}

/* What comes in, and what a reader of the file finds. */
static void texts(void) {
    char long_name[600];
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    const char *const cases[][2] = {
        {"a\"b\\c", "a\"b\\c"},
        {"tab\tline\nbell\a\x7f", "tab\tline\nbell\a\x7f"},
        {"grün ∂ 𝄞", "grün ∂ 𝄞"},
        {"\xff\xc3(", "\xef\xbf\xbd\xef\xbf\xbd("},                               /* no UTF-8 at all */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                 /* a surrogate */
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                                 /* overlong */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* beyond Unicode */
        {"cut \xe2\x88", "cut \xef\xbf\xbd\xef\xbf\xbd"},
        {"", "op"},
        {long_name, NULL},
    };
    enum { CASES = sizeof cases / sizeof cases[0] };
    neap_engine_start(&POOL);
    neap_var *var = new_var();
    CHECK_EQ(neap_timeline_start(path), NEAP_OK);
    for (int k = 0; k < CASES; k++) {
        neap_push push = {
            .name = cases[k][0], .site = cases[k][0], .flags = NEAP_PUSH_SMALL, .nwrites = 1, .writes = &var};
        CHECK_EQ(neap_push_sync(nothing, NULL, &push), NEAP_OK);
    }
    CHECK_EQ(neap_timeline_stop(), NEAP_OK);
    recording r = read_timeline();
    for (int k = 0; k < CASES; k++) {
        const json *event = find(&r, "X", "op", NULL, k);
        const char *name = json_text(event, "name"), *line = json_text(args_of(event), "line");
        if (cases[k][1]) {
            CHECK(strcmp(name, cases[k][1]) == 0);
            CHECK(strcmp(line, *cases[k][0] ? cases[k][1] : "") == 0);
        } else {
            CHECK(strlen(name) > 200 && strncmp(name, cases[k][0], strlen(name)) == 0);
        }
    }
    json_free(r.root);
    neap_var_delete(var);
    neap_engine_stop();
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* Returns once both have come, and a while later: so that whoever pushed them has to wait, also on a busy machine. */
static int meet(void *arg, const neap_run *run) {
    (void)run;
    _Atomic int *come = arg;
    atomic_fetch_add(come, 1);
    while (atomic_load(come) < 2)
        sleep_ms(1);
    sleep_ms(100);
    return 0;
}

static void overlap(void) {
    neap_engine_start(&POOL);
    CHECK_EQ(neap_timeline_start(path), NEAP_OK);
    _Atomic int come = 0;
    neap_push push = {.name = "meet"};
    CHECK_EQ(neap_push_sync(meet, &come, &push), NEAP_OK);
    CHECK_EQ(neap_push_sync(meet, &come, &push), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(neap_timeline_stop(), NEAP_OK);
    recording r = read_timeline();
    const json *one = find(&r, "X", "op", "meet", 0), *two = find(&r, "X", "op", "meet", 1);
    CHECK(json_count(one, "tid") != json_count(two, "tid"));
    CHECK(strcmp(thread_of(&r, one), thread_of(&r, two)) != 0);
    CHECK(ns_of(one, "ts") < ns_of(two, "ts") + ns_of(two, "dur"));
    CHECK(ns_of(two, "ts") < ns_of(one, "ts") + ns_of(one, "dur"));
    CHECK(find(&r, "X", "wait", "wait", 0) != NULL);
    json_free(r.root);
    neap_engine_stop();
}

static void count_index(void *arg, int64_t i, const neap_run *run) {
    (void)i;
    _Atomic int *come = arg;
    atomic_fetch_add(come, 1);
    while (run->worker >= 0 && atomic_load(come) < 2) /* the first two indices are on two threads */
        sleep_ms(1);
}

static int loop_over(void *arg, const neap_run *run) {
    neap_parallel_for(run, 100, count_index, arg);
    return 0;
}

static void shares(void) {
    neap_engine_start(&POOL);
    CHECK_EQ(neap_timeline_start(path), NEAP_OK);
    _Atomic int come = 0;
    neap_push push = {.name = "wide"};
    CHECK_EQ(neap_push_sync(loop_over, &come, &push), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(neap_timeline_stop(), NEAP_OK);
    recording r = read_timeline();
    const json *one = find(&r, "X", "share", "wide", 0), *two = find(&r, "X", "share", "wide", 1);
    CHECK_EQ(json_count(args_of(one), "indices") + json_count(args_of(two), "indices"), 100);
    CHECK(json_count(one, "tid") != json_count(two, "tid"));
    CHECK(find(&r, "X", "share", NULL, 2) == NULL);
    CHECK_EQ(r.ops, 1);
    json_free(r.root);
    neap_engine_stop();
}

static neap_completion *_Atomic held;

static void hold(void *arg, const neap_run *run, neap_completion *done) {
    (void)arg, (void)run;
    atomic_store(&held, done);
}

static void async_ops(void) {
    neap_engine_start(&POOL);
    neap_var *var = new_var();
    CHECK_EQ(neap_timeline_start(path), NEAP_OK);
    for (int k = 0; k < 3; k++) {
        neap_push push = {.name = "later", .site = "b.lua:9", .nwrites = 1, .writes = &var};
        CHECK_EQ(neap_push_async(hold, NULL, &push), NEAP_OK);
        if (k == 2)
            break; /* skipped: the second one fails */
        while (!atomic_load(&held))
            sleep_ms(1);
        neap_complete(atomic_exchange(&held, NULL), k == 1 ? NEAP_E_IO : NEAP_OK);
    }
    CHECK_EQ(neap_wait_all(), NEAP_E_IO);
    CHECK_EQ(neap_timeline_stop(), NEAP_OK);
    recording r = read_timeline();
    CHECK_EQ(r.ops, 3);
    CHECK_EQ(r.began, 2);
    CHECK_EQ(r.ended, 2);
    CHECK_EQ(r.skipped, 1);
    /* The file has them by thread: which of the two was first, their times tell. */
    int first = ns_of(find(&r, "b", "op", "later", 1), "ts") < ns_of(find(&r, "b", "op", "later", 0), "ts");
    for (int k = 0; k < 2; k++) {
        const json *begin = find(&r, "b", "op", "later", k ^ first), *end = NULL;
        for (int j = 0; j < 2 && !end; j++) {
            const json *other = find(&r, "e", "op", "later", j);
            if (strcmp(json_text(other, "id"), json_text(begin, "id")) == 0)
                end = other;
        }
        CHECK(end && ns_of(end, "ts") >= ns_of(begin, "ts"));
        CHECK(strcmp(json_text(args_of(begin), "line"), "b.lua:9") == 0);
        CHECK(strcmp(json_text(args_of(end), "state"), k == 1 ? "failed" : "done") == 0);
        CHECK_TEXT(thread_of(&r, find(&r, "X", "start", "later", k)), "worker ");
    }
    json_free(r.root);
    neap_var_delete(var);
    neap_engine_stop();
}

/* An op on a device with streams is shown as an async one: from its start until its stream has come to its end. */
static void stream_ops(void) {
    int number = -1;
    neap_engine_start(&POOL);
    CHECK_EQ(neap_device_open("null", 0, &number), NEAP_OK);
    neap_var *var = new_var();
    CHECK_EQ(neap_timeline_start(path), NEAP_OK);
    neap_push push = {.name = "launched", .site = "c.lua:1", .device = number, .nwrites = 1, .writes = &var};
    CHECK_EQ(neap_push_sync(nothing, NULL, &push), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(neap_timeline_stop(), NEAP_OK);
    recording r = read_timeline();
    const json *begin = find(&r, "b", "op", "launched", 0), *end = find(&r, "e", "op", "launched", 0);
    CHECK_EQ(r.ops, 1);
    CHECK(strcmp(json_text(args_of(begin), "device"), "null:0") == 0);
    CHECK(strcmp(json_text(args_of(end), "state"), "done") == 0);
    CHECK(ns_of(end, "ts") >= ns_of(begin, "ts"));
    CHECK(find(&r, "X", "start", "launched", 0) != NULL);
    json_free(r.root);
    neap_var_delete(var);
    neap_engine_stop();
}

/* ---- Many ops ---------------------------------------------------------------------------------------------------- */

enum { PUSHERS = 3, PUSHES = 2000, VARS = 5 };

typedef struct pusher {
    pthread_t thread;
    neap_var *vars[VARS];
    int bulk, index;
} pusher;

static void *push_many(void *arg) {
    pusher *p = arg;
    unsigned seed = (unsigned)p->index;
    neap_bulk(p->bulk);
    for (int k = 0; k < PUSHES; k++) {
        int read = rand_r(&seed) % VARS, write = (read + 1 + rand_r(&seed) % (VARS - 1)) % VARS;
        neap_push push = {.name = "many",
                          .site = "many.lua:1",
                          .device = rand_r(&seed) % 2,
                          .flags = rand_r(&seed) % 2 ? NEAP_PUSH_SMALL : 0,
                          .nreads = 1,
                          .reads = &p->vars[read],
                          .nwrites = 1,
                          .writes = &p->vars[write]};
        CHECK_EQ(neap_push_sync(k % 1000 == 999 ? fail : nothing, NULL, &push), NEAP_OK);
    }
    neap_bulk(0);
    return NULL;
}

static void many(int scheduler, int bulk) {
    neap_engine_config config = {.workers = 2, .devices = 2, .scheduler = scheduler};
    neap_engine_start(&config);
    pusher pushers[PUSHERS];
    uint64_t before = completed();
    CHECK_EQ(neap_timeline_start(path), NEAP_OK);
    for (int k = 0; k < PUSHERS; k++) {
        pushers[k] = (pusher){.bulk = bulk, .index = k};
        for (int v = 0; v < VARS; v++)
            pushers[k].vars[v] = new_var();
        pthread_create(&pushers[k].thread, NULL, push_many, &pushers[k]);
    }
    for (int k = 0; k < PUSHERS; k++)
        pthread_join(pushers[k].thread, NULL);
    neap_wait_all();
    CHECK_EQ(neap_timeline_stop(), NEAP_OK);
    recording r = read_timeline();
    CHECK_EQ(r.dropped, 0);
    CHECK_EQ(r.ops, PUSHERS * PUSHES);
    CHECK_EQ(r.ops, completed() - before);
    CHECK_EQ(r.done + r.failed + r.skipped, r.ops);
    CHECK(r.failed > 0 && r.skipped > 0);
    json_free(r.root);
    for (int k = 0; k < PUSHERS * VARS; k++)
        neap_var_delete(pushers[k / VARS].vars[k % VARS]);
    neap_engine_stop();
}

/* ---- Starting, stopping, and what may go wrong ------------------------------------------------------------------- */

static void push_some(int count) {
    for (int k = 0; k < count; k++) {
        neap_push push = {.name = "some", .site = "some.lua:1", .flags = k % 2 ? NEAP_PUSH_SMALL : 0};
        neap_push_sync(nothing, NULL, &push);
    }
    neap_wait_all();
}

static void bad_calls(void) {
    CHECK_EQ(neap_timeline_stop(), NEAP_OK);
    CHECK_EQ(neap_timeline_start(NULL), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_timeline_start("/nowhere/at/all.json"), NEAP_E_IO);
    CHECK_TEXT(neap_error_text(), "cannot write the timeline '/nowhere/at/all.json': No such file");
    CHECK_EQ(neap_timeline_start("/dev/full"), NEAP_E_IO);
    CHECK_TEXT(neap_error_text(), "No space left");
    CHECK_EQ(neap_timeline_start(path), NEAP_OK);
    CHECK_EQ(neap_timeline_start(path), NEAP_E_STATE);
    CHECK_EQ(neap_timeline_stop(), NEAP_OK);
    recording r = read_timeline();
    CHECK(r.complete && r.ops == 0);
    json_free(r.root);
}

/* Before the engine starts, after it has stopped, and again: each file holds its own ops. */
static void again(void) {
    for (int k = 1; k <= 3; k++) {
        CHECK_EQ(neap_timeline_start(path), NEAP_OK);
        neap_engine_start(&POOL);
        push_some(10 * k);
        neap_engine_stop();
        CHECK_EQ(neap_timeline_stop(), NEAP_OK);
        neap_engine_start(&POOL);
        push_some(7);
        neap_engine_stop();
        recording r = read_timeline();
        CHECK_EQ(r.ops, 10 * k);
        json_free(r.root);
    }
}

/* The disk is full after 20 KiB. */
static void full_disk(void) {
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 20 * 1024;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    neap_engine_start(&POOL);
    CHECK_EQ(neap_timeline_start(path), NEAP_OK);
    for (int k = 0; k < 10; k++)
        push_some(200);
    CHECK_EQ(neap_timeline_stop(), NEAP_E_IO);
    CHECK_TEXT(neap_error_text(), "File too large");
    neap_engine_stop();
    setrlimit(RLIMIT_FSIZE, &old);
    recording r = read_timeline();
    CHECK(r.root && !r.complete && r.ops < 2000);
    json_free(r.root);
}

static void *read_pipe(void *arg) {
    size_t *bytes = arg;
    return read_file(path, bytes);
}

/* What cannot be rewritten gets its end once. */
static void into_a_pipe(void) {
    unlink(path);
    CHECK_EQ(mkfifo(path, 0600), 0);
    pthread_t reader;
    size_t bytes = 0;
    void *text;
    pthread_create(&reader, NULL, read_pipe, &bytes);
    CHECK_EQ(neap_timeline_start(path), NEAP_OK);
    neap_engine_start(&POOL);
    push_some(1000);
    neap_engine_stop();
    CHECK_EQ(neap_timeline_stop(), NEAP_OK);
    pthread_join(reader, &text);
    recording r = parse(text, bytes);
    CHECK(r.complete);
    CHECK_EQ(r.ops, 1000);
    json_free(r.root);
    free(text);
    unlink(path);
}

/* A child of a fork leaves its parent's recording alone. */
static void fork_meanwhile(void) {
    CHECK_EQ(neap_timeline_start(path), NEAP_OK);
    neap_engine_start(&POOL);
    push_some(10);
    pid_t child = fork();
    if (child == 0) {
        int stopped = neap_timeline_stop(), started = neap_timeline_start(path);
        int wrong = stopped != NEAP_E_STATE || started != NEAP_E_STATE;
#if NEAP_SANITIZED
        _exit(wrong); /* a sanitizer's own handler looks for threads that a fork does not copy */
#else
        exit(wrong); /* runs the handlers of atexit */
#endif
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
    push_some(10);
    neap_engine_stop();
    CHECK_EQ(neap_timeline_stop(), NEAP_OK);
    recording r = read_timeline();
    CHECK(r.complete);
    CHECK_EQ(r.ops, 20);
    json_free(r.root);
}

/* Whether the file is a document with all ops of `live`. Says nothing: it may be looked at too early. */
static bool all_there(void) {
    size_t bytes, count = 0;
    char *text = read_file(path, &bytes);
    json *root = json_read(text ? text : "", bytes);
    const json *events = json_get(root, "traceEvents");
    for (const json *event = events ? events->first : NULL; event; event = event->next)
        count += strcmp(json_text(event, "cat"), "op") == 0;
    json_free(root);
    free(text);
    return count == 500;
}

static void live(void) {
    if (neap_timeline_start(path) == NEAP_OK && neap_engine_start(&POOL) == NEAP_OK)
        push_some(500);
    for (;;)
        pause();
}

/* A killed process leaves a document with everything that was done a moment before. */
static void kill_meanwhile(const char *program) {
    unlink(path);
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, "live", path, (char *)NULL);
        _exit(127);
    }
    for (int tries = 0; tries < 4000 && !all_there(); tries++)
        sleep_ms(5);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK(all_there());
}

/* Each allocation fails in turn: what cannot be recorded is dropped and counted. */
static void without_memory(void) {
    int64_t nth = 1;
    bool dropped = false;
    for (int calm = 0; calm < 3; nth++) { /* until no allocation is left to fail */
        engine_alloc_fail(nth);
        int status = neap_timeline_start(path);
        CHECK(status == NEAP_OK || status == NEAP_E_MEMORY || status == NEAP_E_STATE);
        uint64_t before = completed();
        if (neap_engine_start(&POOL) == NEAP_OK) {
            push_some(60);
            neap_engine_stop();
        }
        engine_alloc_fail(0);
        CHECK_EQ(neap_timeline_stop(), NEAP_OK);
        if (status)
            continue;
        recording r = read_timeline();
        CHECK(r.complete && r.ops + r.dropped >= (double)(completed() - before));
        dropped |= r.dropped > 0;
        calm = r.dropped == 0 && r.ops == 60 ? calm + 1 : 0;
        json_free(r.root);
    }
    CHECK(nth > 6 && dropped);
}

int main(int argc, char **argv) {
    if (argc == 3) {
        snprintf(path, sizeof path, "%s", argv[2]);
        live();
    }
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/neap-timeline-%d.json", folder ? folder : "/tmp", (int)getpid());
    bad_calls();
    facts_of_ops();
    texts();
    overlap();
    shares();
    async_ops();
    stream_ops();
    for (int scheduler = NEAP_SCHEDULER_POOL; scheduler <= NEAP_SCHEDULER_DEVICE; scheduler++) {
        many(scheduler, 0);
        many(scheduler, 16);
    }
    again();
    full_disk();
    into_a_pipe();
    fork_meanwhile();
    kill_meanwhile(argv[0]);
    without_memory();
    unlink(path);
    return check_end();
}
