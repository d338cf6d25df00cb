/* native.c: units of code: who asked for which, and the thread that makes them.
 *
 * Units stand in a table by the bytes of their body and instruction set. What nobody uses any more stays as long as the
 * budget for code has room; then the one that was dropped first goes.
 *
 *      want ──▶ queue ──▶ the thread: a file of the cache, else the generator ──▶ object.c ──▶ ready
 *
 * An exit waits for nothing: the plugin has no destructors, so what is being made is made until the process is gone. A
 * child of a fork has no such thread and gets no code; the engine does not survive there either.
 */
#include "lazy/native/native.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/device.h"
#include "engine/timeline.h"
#include "lazy/native/cache.h"
#include "lazy/native/object.h"
#include "lazy/op.h"
#include "native_gen.h"
#include "ops_gen.h"

enum { SLOTS = 1024, BUDGET = 64 << 20, NICE = 10, PLUGIN_ROOM = 96 << 20 };

struct native_unit {
    native_unit *next_in_slot, *next; /* of the queue, or of those that nobody uses, oldest first */
    int users;
    uint64_t hash;
    size_t key_bytes, bytes; /* of the key; of all that the unit takes */
    const char *isa;
    _Atomic int state; /* native_state */
    native_object object;
    char *failure;    /* OWNED: why there is no code, if it has failed and there was memory to say so */
    native_body body; /* its arrays, and the key, stand behind */
    native_turns turns;
    char *key;
};

typedef struct unit_list {
    native_unit *first, *last;
} unit_list;

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t asked, made;
    native_unit *slots[SLOTS];
    unit_list queue, unused;
    size_t bytes;      /* of all units */
    bool runs, forked; /* the thread; this is a child, which has none */
} service = {.mutex = PTHREAD_MUTEX_INITIALIZER, .asked = PTHREAD_COND_INITIALIZER, .made = PTHREAD_COND_INITIALIZER};

static struct {
    pthread_mutex_t mutex;
    bool sought;
    char missing[256]; /* why there is no generator */
} plugin = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static _Atomic bool hurried;

void native_hurry(bool hurry) {
    atomic_store(&hurried, hurry);
}

static const char *row_name(int op, int dtype, int result) {
    return lazy_ops[op]->flags & LAZY_OP_CASTS ? cast_names[dtype][result] : map_names[op][dtype];
}

bool native_has(int op, int dtype, int result) {
    return row_name(op, dtype, result) != NULL;
}

bool native_has_fold(int op, int dtype) {
    return fold_names[op][dtype] != NULL;
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */
static void append(unit_list *list, native_unit *unit) {
    unit->next = NULL;
    if (list->last)
        list->last->next = unit;
    else
        list->first = unit;
    list->last = unit;
}

static native_unit *take_first(unit_list *list) {
    native_unit *unit = list->first;
    list->first = unit ? unit->next : NULL;
    list->last = list->first ? list->last : NULL;
    return unit;
}

static void take_out(unit_list *list, native_unit *unit) {
    native_unit *before = NULL;
    for (native_unit *u = list->first; u && u != unit; u = u->next)
        before = u;
    if (before)
        before->next = unit->next;
    else
        list->first = unit->next;
    list->last = list->last == unit ? before : list->last;
}

/* ---- Units ------------------------------------------------------------------------------------------------------- */
/* The body as bytes, in which nothing is left undefined: what tells units apart, here and in files. */
static size_t write_key(char *to, const native_body *b, const char *isa) {
    size_t n = 0;
#define PUT(pointer, bytes)                                                                                            \
    do {                                                                                                               \
        if (to)                                                                                                        \
            memcpy(to + n, pointer, bytes);                                                                            \
        n += (bytes);                                                                                                  \
    } while (0)
    const int32_t head[5] = {b->ninputs, b->nins, b->noutputs, b->nfolds, b->whole_rows};
    PUT(isa, strlen(isa) + 1);
    PUT(head, sizeof head);
    for (int k = 0; k < b->ninputs; k++) {
        const uint8_t input[2] = {b->inputs[k].dtype, b->inputs[k].vector};
        PUT(input, sizeof input);
    }
    for (int k = 0; k < b->nins; k++) {
        const native_ins *ins = &b->ins[k];
        const uint8_t what[3] = {ins->dtype, ins->result, ins->narg};
        const char *row = row_name(ins->op, ins->dtype, ins->result);
        PUT(row, strlen(row) + 1);
        PUT(what, sizeof what);
        PUT(ins->arg, (size_t)ins->narg * sizeof *ins->arg);
    }
    PUT(b->outputs, (size_t)b->noutputs * sizeof *b->outputs);
    for (int k = 0; k < b->nfolds; k++) {
        const char *fold = fold_names[b->folds[k].op][b->folds[k].dtype];
        PUT(fold, strlen(fold) + 1);
        PUT(&b->folds[k].value, sizeof b->folds[k].value);
    }
    if (b->turns) {
        const int32_t turns[3] = {b->turns->condition, b->turns->head, b->turns->extent};
        PUT(turns, sizeof turns);
        PUT(b->turns->next, (size_t)b->ninputs * sizeof *b->turns->next);
        PUT(b->turns->wide, (size_t)b->noutputs * sizeof *b->turns->wide);
    }
#undef PUT
    return n;
}

static uint64_t hash_of(const char *key, size_t bytes) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t k = 0; k < bytes; k++)
        hash = (hash ^ (uint8_t)key[k]) * 0x100000001b3u;
    return hash;
}

static native_unit *unit_new(const native_body *b, const char *isa, const char *key, size_t key_bytes, uint64_t hash) {
    size_t inputs = (size_t)b->ninputs * sizeof *b->inputs, ins = (size_t)b->nins * sizeof *b->ins;
    size_t outputs = (size_t)b->noutputs * sizeof *b->outputs, folds = (size_t)b->nfolds * sizeof *b->folds;
    size_t next = b->turns ? (size_t)b->ninputs * sizeof(int32_t) : 0;
    size_t wide = b->turns ? (size_t)b->noutputs * sizeof(bool) : 0;
    size_t bytes = sizeof(native_unit) + ins + outputs + folds + next + inputs + wide + key_bytes;
    native_unit *unit = malloc(bytes);
    if (!unit)
        return NULL;
    char *at = (char *)(unit + 1);
    *unit = (native_unit){.hash = hash, .key_bytes = key_bytes, .bytes = bytes, .isa = isa, .body = *b};
    unit->body.ins = memcpy(at, b->ins, ins);
    unit->body.outputs = memcpy(at + ins, b->outputs, outputs);
    unit->body.folds = folds ? memcpy(at + ins + outputs, b->folds, folds) : NULL;
    at += ins + outputs + folds;
    unit->body.inputs = memcpy(at + next, b->inputs, inputs);
    unit->key = memcpy(at + next + inputs + wide, key, key_bytes);
    if (b->turns) {
        unit->turns = *b->turns;
        unit->turns.next = memcpy(at, b->turns->next, next);
        unit->turns.wide = memcpy(at + next + inputs, b->turns->wide, wide);
        unit->body.turns = &unit->turns;
    }
    return unit;
}

static void unit_free(native_unit *unit) {
    native_unit **link = &service.slots[unit->hash % SLOTS];
    while (*link != unit)
        link = &(*link)->next_in_slot;
    *link = unit->next_in_slot;
    service.bytes -= unit->bytes;
    native_object_unload(&unit->object);
    free(unit->failure);
    free(unit);
}

static native_unit *find_unit(const char *key, size_t bytes, uint64_t hash) {
    native_unit *unit = service.slots[hash % SLOTS];
    while (unit && (unit->hash != hash || unit->key_bytes != bytes || memcmp(unit->key, key, bytes) != 0))
        unit = unit->next_in_slot;
    return unit;
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */
/* The generator, which is loaded the first time; NULL: there is none, and why is in plugin.missing. */
static const neap_generator *generator(void) {
    pthread_mutex_lock(&plugin.mutex);
    if (!plugin.sought) {
        void *room = malloc(PLUGIN_ROOM); /* what runs while it is loaded has no way to tell that memory is short */
        free(room);
        if (!room)
            snprintf(plugin.missing, sizeof plugin.missing, "there was no memory for the generator");
        else if (neap_plugin_load("native") != NEAP_OK)
            snprintf(plugin.missing, sizeof plugin.missing, "%s", neap_error_text());
        else if (!neap_generator_in_use())
            snprintf(plugin.missing, sizeof plugin.missing, "neap_native.so offers no generator");
    }
    plugin.sought = true;
    pthread_mutex_unlock(&plugin.mutex);
    return neap_generator_in_use();
}

static bool load(native_unit *unit, const void *file, size_t bytes) {
    return native_object_load(&unit->object, file, bytes, "kernel");
}

/* NULL, or why there is no code. */
static const char *generate(native_unit *unit) {
    void *file = NULL;
    size_t bytes = 0;
    const neap_generator *g = generator();
    if (!g)
        return plugin.missing;
    if (g->generate(&unit->body, unit->isa, &file, &bytes) != NEAP_OK)
        return neap_error_text();
    bool loaded = load(unit, file, bytes);
    if (loaded)
        native_cache_write(unit->hash, unit->key, unit->key_bytes, file, bytes);
    free(file);
    return loaded ? NULL : "the object file cannot be loaded";
}

static bool find_in_cache(native_unit *unit) {
    void *file;
    size_t bytes;
    if (!native_cache_read(unit->hash, unit->key, unit->key_bytes, &file, &bytes))
        return false;
    bool loaded = load(unit, file, bytes);
    free(file);
    return loaded;
}

/* What the timeline tells: "compile exp multiply add". */
static void report(const native_unit *unit, const char *what, int64_t began) {
    char text[64];
    int at = snprintf(text, sizeof text, "%s%s", what, unit->body.turns ? " loop" : "");
    for (int k = 0; k < unit->body.nins && at < (int)sizeof text; k++)
        at += snprintf(text + at, sizeof text - (size_t)at, " %s", lazy_ops[unit->body.ins[k].op]->name);
    for (int k = 0; k < unit->body.nfolds && at < (int)sizeof text; k++)
        at += snprintf(text + at, sizeof text - (size_t)at, " %s", lazy_ops[unit->body.folds[k].op]->name);
    engine_timeline_step(text, began, 0, unit->object.bytes);
}

static void make(native_unit *unit) {
    int64_t began = engine_timeline_now();
    bool found = find_in_cache(unit);
    const char *failure = found ? NULL : generate(unit);
    if (began)
        report(unit, found ? "load" : "compile", began);
    if (failure)
        unit->failure = strdup(failure);
    atomic_store_explicit(&unit->state, failure ? NATIVE_FAILED : NATIVE_READY, memory_order_release);
}

/* Over the budget, what was dropped first goes. The mutex is held. */
static void drop_unused(void) {
    while (service.bytes > BUDGET && service.unused.first)
        unit_free(take_first(&service.unused));
}

static void *run(void *unused) {
    (void)unused;
    pthread_mutex_lock(&service.mutex);
    for (;;) {
        while (!service.queue.first)
            pthread_cond_wait(&service.asked, &service.mutex);
        native_unit *unit = take_first(&service.queue);
        unit->users++;
        pthread_mutex_unlock(&service.mutex);
        if (!atomic_load_explicit(&hurried, memory_order_relaxed)) /* what users wait for goes first */
            setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
        make(unit);
        pthread_mutex_lock(&service.mutex);
        unit->bytes += unit->object.bytes;
        service.bytes += unit->object.bytes;
        if (--unit->users == 0)
            append(&service.unused, unit);
        drop_unused();
        pthread_cond_broadcast(&service.made);
    }
    return NULL;
}

static void after_fork(void) {
    pthread_mutex_init(&plugin.mutex, NULL);
    pthread_mutex_init(&service.mutex, NULL);
    pthread_cond_init(&service.asked, NULL);
    pthread_cond_init(&service.made, NULL);
    service.runs = false;
    service.forked = true;
}

/* Starts the thread, if it does not run. The mutex is held. */
static bool start(void) {
    static bool hooked;
    pthread_t thread;
    if (service.runs)
        return true;
    if (!hooked)
        hooked = pthread_atfork(NULL, NULL, after_fork) == 0;
    service.runs = hooked && engine_thread_spawn(run, NULL, "neap-native", &thread);
    if (service.runs)
        pthread_detach(thread);
    return service.runs;
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */
native_unit *native_want(const native_body *body, const char *isa) {
    size_t bytes = write_key(NULL, body, isa);
    char *key = service.forked ? NULL : malloc(bytes); /* of a child's units, any may be half made */
    if (!key)
        return NULL;
    write_key(key, body, isa);
    uint64_t hash = hash_of(key, bytes);
    pthread_mutex_lock(&service.mutex);
    native_unit *unit = find_unit(key, bytes, hash);
    if (unit) {
        if (unit->users++ == 0 && atomic_load(&unit->state) != NATIVE_WAITS)
            take_out(&service.unused, unit);
    } else if ((unit = unit_new(body, isa, key, bytes, hash))) {
        unit->users = 1;
        unit->next_in_slot = service.slots[hash % SLOTS];
        service.slots[hash % SLOTS] = unit;
        service.bytes += unit->bytes;
        if (start()) {
            append(&service.queue, unit);
            pthread_cond_signal(&service.asked);
        } else {
            unit->failure = strdup("no thread for it could be started");
            atomic_store(&unit->state, NATIVE_FAILED);
        }
    }
    pthread_mutex_unlock(&service.mutex);
    free(key);
    return unit;
}

native_state native_state_of(const native_unit *unit) {
    return (native_state)atomic_load_explicit(&unit->state, memory_order_acquire);
}

const char *native_failure(const native_unit *unit) {
    return unit->failure ? unit->failure : "out of memory";
}

native_code native_code_of(const native_unit *unit) {
    native_code code;
    memcpy(&code, &unit->object.function, sizeof code);
    return code;
}

native_loop native_loop_of(const native_unit *unit) {
    native_loop code;
    memcpy(&code, &unit->object.function, sizeof code);
    return code;
}

void native_drop(native_unit *unit) {
    if (!unit || service.forked)
        return;
    pthread_mutex_lock(&service.mutex);
    if (--unit->users == 0) {
        if (atomic_load(&unit->state) == NATIVE_WAITS) { /* still in the queue: the thread uses what it makes */
            take_out(&service.queue, unit);
            unit_free(unit);
        } else {
            append(&service.unused, unit);
        }
    }
    drop_unused();
    pthread_mutex_unlock(&service.mutex);
}

void native_await(const native_unit *unit) {
    pthread_mutex_lock(&service.mutex);
    while (native_state_of(unit) == NATIVE_WAITS && !service.forked)
        pthread_cond_wait(&service.made, &service.mutex);
    pthread_mutex_unlock(&service.mutex);
}

bool native_available(char *text, size_t bytes) {
    const neap_generator *g = generator();
    snprintf(text, bytes, "%s", g ? g->name : plugin.missing);
    return g != NULL;
}
