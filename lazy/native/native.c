/* native.c: units of code: who asked for which, and the thread that makes them.
 *
 * Units stand in a table by the bytes of their body and instruction set. What nobody uses any more stays as long as the
 * budget for code has room; then the one that was dropped first goes.
 *
 *      want, seek ──▶ queue ──▶ the thread: a file of the cache, else the generator ──▶ object.c ──▶ ready
 *
 * Of what is only sought, no file was found: it is in no list until somebody insists.
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
#include "lazy/loop/key.h"
#include "lazy/native/cache.h"
#include "lazy/native/object.h"
#include "lazy/op.h"
#include "native_build.h"
#include "native_gen.h"
#include "ops_gen.h"

enum { SLOTS = 1024, BUDGET = 64 << 20, NICE = 10, PLUGIN_ROOM = 96 << 20, ALIGN = 8 };

struct native_unit {
    native_unit *next_in_slot, *next; /* of the queue, or of those that nobody uses, oldest first */
    int users;
    bool insists, missed; /* not only a file will do; none was found, and it is not in the queue */
    uint64_t hash;
    size_t key_bytes, bytes; /* of the key; of all that the unit takes */
    const char *isa;
    _Atomic int state; /* native_state */
    native_object object;
    char *failure;    /* OWNED: why there is no code, if it has failed and there was memory to say so */
    native_body body; /* its arrays, and the key, stand behind */
    loop_sequence sequence;
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

bool native_has(int op, int dtype, int result) {
    const char *row = lazy_ops[op]->flags & LAZY_OP_CASTS ? cast_names[dtype][result] : map_names[op][dtype];
    return lazy_ops[op]->kind == LAZY_MAP && row != NULL;
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
static void put_sequence(loop_key *key, const loop_sequence *s) {
    const int32_t head[] = {s->in_registers, s->nitems, s->nplaces, s->npointers, s->ncarries, s->head, s->truth};
    loop_key_put(key, head, sizeof head);
    loop_key_put(key, s->items, (size_t)s->nitems * sizeof *s->items);
    loop_key_put(key, s->pointers, (size_t)s->npointers * sizeof *s->pointers);
    loop_key_put(key, s->moves, (size_t)s->nplaces * sizeof *s->moves);
    loop_key_put(key, s->carries, (size_t)s->ncarries * sizeof *s->carries);
}

/* What tells units apart, here and in files. */
static size_t write_key(char *to, const native_body *b, const char *isa) {
    loop_key key = {.to = to};
    const int32_t head[] = {b->nloops, b->whole_rows, b->far != NULL, b->sequence != NULL};
    loop_key_text(&key, isa);
    loop_key_put(&key, head, sizeof head);
    for (int k = 0; k < b->nloops; k++) {
        loop_key_code(&key, &b->loops[k]);
        loop_key_maps(&key, &b->loops[k]);
    }
    if (b->far)
        loop_key_put(&key, b->far, (size_t)(b->loops->nloads + b->loops->nsinks) * sizeof *b->far);
    if (b->sequence)
        put_sequence(&key, b->sequence);
    return key.bytes;
}

static uint64_t hash_of(const char *key, size_t bytes) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t k = 0; k < bytes; k++)
        hash = (hash ^ (uint8_t)key[k]) * 0x100000001b3u;
    return hash;
}

/* Arrays that are copied one behind the other; without room they are only measured. */
typedef struct keeper {
    char *room; /* NULL */
    size_t bytes;
} keeper;

/* A copy of an array. */
static const void *keep(keeper *k, const void *from, int n, size_t width) {
    void *to = k->room ? k->room + k->bytes : NULL;
    if (n && from && to)
        memcpy(to, from, (size_t)n * width);
    k->bytes += ((size_t)n * width + ALIGN - 1) / ALIGN * ALIGN;
    return to;
}

static void keep_loops(keeper *k, native_body *b) {
    const lazy_kernel *from = b->loops;
    lazy_kernel *loops = (lazy_kernel *)keep(k, from, b->nloops, sizeof *from);
    for (int i = 0; i < b->nloops; i++) {
        const void *loads = keep(k, from[i].loads, from[i].nloads, sizeof *from->loads),
                   *ins = keep(k, from[i].ins, from[i].nins, sizeof *from->ins),
                   *sinks = keep(k, from[i].sinks, from[i].nsinks, sizeof *from->sinks);
        if (loops)
            loops[i].loads = (lazy_load *)loads, loops[i].ins = (lazy_ins *)ins, loops[i].sinks = (lazy_sink *)sinks;
    }
    b->loops = loops;
}

/* Makes copies of the arrays of a body, and of its sequence, into `own`. */
static void keep_body(keeper *k, native_body *b, loop_sequence *own) {
    const int far = b->far ? b->loops->nloads + b->loops->nsinks : 0;
    b->far = far ? keep(k, b->far, far, sizeof *b->far) : NULL;
    keep_loops(k, b);
    if (!b->sequence)
        return;
    *own = *b->sequence;
    b->sequence = own;
    own->items = keep(k, own->items, own->nitems, sizeof *own->items);
    own->pointers = keep(k, own->pointers, own->npointers, sizeof *own->pointers);
    own->moves = keep(k, own->moves, own->nplaces, sizeof *own->moves);
    own->carries = keep(k, own->carries, own->ncarries, sizeof *own->carries);
}

static native_unit *unit_new(const native_body *b, const char *isa, const char *key, size_t key_bytes, uint64_t hash) {
    keeper arrays = {0};
    native_body measured = *b;
    loop_sequence sequence;
    keep_body(&arrays, &measured, &sequence);
    const size_t bytes = sizeof(native_unit) + arrays.bytes + key_bytes;
    native_unit *unit = malloc(bytes);
    if (!unit)
        return NULL;
    *unit = (native_unit){.hash = hash, .key_bytes = key_bytes, .bytes = bytes, .isa = isa, .body = *b};
    arrays = (keeper){.room = (char *)(unit + 1)};
    keep_body(&arrays, &unit->body, &unit->sequence);
    unit->key = memcpy(arrays.room + arrays.bytes, key, key_bytes);
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
        else if (neap_generator_in_use()->build != NATIVE_BUILD)
            snprintf(plugin.missing, sizeof plugin.missing, "neap_native.so is of another build of neap");
    }
    plugin.sought = true;
    pthread_mutex_unlock(&plugin.mutex);
    return plugin.missing[0] ? NULL : neap_generator_in_use();
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
    int at = snprintf(text, sizeof text, "%s%s", what, unit->body.sequence ? " loop" : "");
    for (int i = 0; i < unit->body.nloops; i++) {
        const lazy_kernel *loop = &unit->body.loops[i];
        for (int k = 0; k < loop->nins && at < (int)sizeof text; k++)
            at += snprintf(text + at, sizeof text - (size_t)at, " %s", lazy_ops[loop->ins[k].op]->name);
        for (int k = 0; k < loop->nsinks && at < (int)sizeof text; k++)
            if (loop->sinks[k].kind == LAZY_SINK_REDUCE)
                at += snprintf(text + at, sizeof text - (size_t)at, " %s", lazy_ops[loop->sinks[k].op]->name);
    }
    engine_timeline_step(text, NULL, began, 0, unit->object.bytes);
}

static void make(native_unit *unit, bool insists) {
    int64_t began = engine_timeline_now();
    bool found = find_in_cache(unit);
    if (!found && !insists)
        return;
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

/* Files a unit that the thread is done with, or queues it again, if somebody has begun to insist. The mutex is held. */
static void put_back(native_unit *unit) {
    bool waits = native_state_of(unit) == NATIVE_WAITS;
    unit->users--;
    if (waits && unit->users == 0)
        unit_free(unit);
    else if (waits && unit->insists)
        append(&service.queue, unit);
    else if (unit->users == 0)
        append(&service.unused, unit);
    else
        unit->missed = waits;
}

static void *run(void *unused) {
    (void)unused;
    pthread_mutex_lock(&service.mutex);
    for (;;) {
        while (!service.queue.first)
            pthread_cond_wait(&service.asked, &service.mutex);
        native_unit *unit = take_first(&service.queue);
        unit->users++;
        bool insists = unit->insists;
        pthread_mutex_unlock(&service.mutex);
        if (!atomic_load_explicit(&hurried, memory_order_relaxed)) /* what users wait for goes first */
            setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
        make(unit, insists);
        pthread_mutex_lock(&service.mutex);
        unit->bytes += unit->object.bytes;
        service.bytes += unit->object.bytes;
        put_back(unit);
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
    service.runs = hooked && engine_thread_spawn(run, NULL, "neap-native", &thread) == NEAP_OK;
    if (service.runs)
        pthread_detach(thread);
    return service.runs;
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */
/* The mutex is held. */
static void queue_up(native_unit *unit) {
    append(&service.queue, unit);
    pthread_cond_signal(&service.asked);
}

/* The mutex is held. */
static void insist(native_unit *unit) {
    unit->insists = true;
    if (unit->missed)
        queue_up(unit);
    unit->missed = false;
}

static native_unit *unit_of(const native_body *body, const char *isa, bool insists) {
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
        if (insists)
            insist(unit);
    } else if ((unit = unit_new(body, isa, key, bytes, hash))) {
        unit->users = 1;
        unit->insists = insists;
        unit->next_in_slot = service.slots[hash % SLOTS];
        service.slots[hash % SLOTS] = unit;
        service.bytes += unit->bytes;
        if (start()) {
            queue_up(unit);
        } else {
            unit->failure = strdup("no thread for it could be started");
            atomic_store(&unit->state, NATIVE_FAILED);
        }
    }
    pthread_mutex_unlock(&service.mutex);
    free(key);
    return unit;
}

native_unit *native_want(const native_body *body, const char *isa) {
    return unit_of(body, isa, true);
}

native_unit *native_seek(const native_body *body, const char *isa) {
    return unit_of(body, isa, false);
}

void native_insist(native_unit *unit) {
    if (service.forked)
        return;
    pthread_mutex_lock(&service.mutex);
    insist(unit);
    pthread_mutex_unlock(&service.mutex);
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
        if (atomic_load(&unit->state) == NATIVE_WAITS) { /* not the thread's, which uses what it makes */
            if (!unit->missed)
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
