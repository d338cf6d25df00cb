/* vm/gpu_units.c: code of GPUs, shared by all kernels and calls that have the same (gpu_units.h).
 *
 * Units stand in a table by device and by the bytes of their key. One that could not be made leaves it with the last
 * who waited for it, so a later kernel tries again: what was missing may be there then.
 *
 *      ask ──▶ QUEUED ──▶ MAKING: a thread, or whoever waits first and finds it queued ──▶ MADE, or failed
 *
 * What a queued unit is made of belongs to who asked for it, and stays until the unit is made or dropped.
 */
#include "lazy/vm/gpu_units.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/timeline.h"

enum { SLOTS = 256, THREADS_MOST = 8 };

enum unit_state { QUEUED, MAKING, MADE };

struct vm_gpu_unit {
    vm_gpu_unit *next, *next_queued; /* in its slot; of those that nobody makes yet */
    int users, device, n;
    enum unit_state state;
    const gpu_kernel *code; /* until it is made, as the two that follow; BORROWED from who asked */
    const char *entries[GPU_CALL_ENTRIES];
    const char *target;
    int status;                          /* 0, or why there is none */
    char *failure;                       /* OWNED; NULL: there was no memory to say so */
    neap_code *loaded[GPU_CALL_ENTRIES]; /* n of them */
    uint64_t hash;
    size_t key_bytes;
    char key[];
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t made;
    vm_gpu_unit *slots[SLOTS];
    vm_gpu_unit *queue;
    int threads; /* that run */
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER, .made = PTHREAD_COND_INITIALIZER};

/* ---- The table: its mutex is held -------------------------------------------------------------------------------- */
static bool is_same(const vm_gpu_unit *a, const vm_gpu_unit *b) {
    return a->hash == b->hash && a->device == b->device && a->n == b->n && a->key_bytes == b->key_bytes &&
           memcmp(a->key, b->key, a->key_bytes) == 0;
}

static vm_gpu_unit *find_unit(const vm_gpu_unit *like) {
    vm_gpu_unit *unit = table.slots[like->hash % SLOTS];
    while (unit && !is_same(unit, like))
        unit = unit->next;
    return unit;
}

static void add_unit(vm_gpu_unit *unit) {
    unit->next = table.slots[unit->hash % SLOTS];
    table.slots[unit->hash % SLOTS] = unit;
}

static void remove_unit(vm_gpu_unit *unit) {
    vm_gpu_unit **link = &table.slots[unit->hash % SLOTS];
    while (*link != unit)
        link = &(*link)->next;
    *link = unit->next;
}

static void enqueue(vm_gpu_unit *unit) {
    vm_gpu_unit **last = &table.queue;
    while (*last)
        last = &(*last)->next_queued;
    *last = unit;
}

static void dequeue(vm_gpu_unit *unit) {
    vm_gpu_unit **link = &table.queue;
    while (*link != unit)
        link = &(*link)->next_queued;
    *link = unit->next_queued;
    unit->next_queued = NULL;
}

/* ---- Units ------------------------------------------------------------------------------------------------------- */
static vm_gpu_unit *unit_new(const gpu_kernel *code, int n, const char *const *entries, int device,
                             const char *target) {
    const size_t bytes = gpu_key(code, target, NULL);
    vm_gpu_unit *unit = calloc(1, sizeof *unit + bytes);
    if (!unit)
        return NULL;
    gpu_key(code, target, unit->key);
    unit->hash = gpu_key_hash(unit->key, bytes);
    unit->key_bytes = bytes;
    unit->device = device;
    unit->n = n;
    unit->users = 1;
    unit->code = code;
    unit->target = target;
    memcpy(unit->entries, entries, (size_t)n * sizeof *entries);
    return unit;
}

static void unit_free(vm_gpu_unit *unit) {
    for (int k = 0; k < unit->n; k++)
        neap_code_free(unit->device, unit->loaded[k]);
    free(unit->failure);
    free(unit);
}

static int load_text(vm_gpu_unit *unit) {
    char *text = NULL;
    size_t bytes = 0;
    int status = gpu_text_of_key(unit->code, unit->target, unit->key, unit->key_bytes, &text, &bytes);
    for (int k = 0; k < unit->n && !status; k++)
        status = neap_code_new(unit->device, unit->entries[k], text, bytes, &unit->loaded[k]);
    free(text);
    return status;
}

/* Makes a queued unit. The mutex is held, but not while that takes time. */
static void make(vm_gpu_unit *unit) {
    dequeue(unit);
    unit->state = MAKING;
    pthread_mutex_unlock(&table.mutex);
    int status = load_text(unit);
    char *failure = status ? strdup(neap_error_text()) : NULL;
    pthread_mutex_lock(&table.mutex);
    unit->status = status;
    unit->failure = failure;
    unit->state = MADE;
    pthread_cond_broadcast(&table.made);
}

/* Waits until a unit is made, by this thread if no other has begun. The mutex is held. */
static void await(vm_gpu_unit *unit) {
    if (unit->state == QUEUED)
        make(unit);
    while (unit->state != MADE)
        pthread_cond_wait(&table.made, &table.mutex);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */
/* Makes what is queued, and ends. */
static void *run(void *arg) {
    (void)arg;
    pthread_mutex_lock(&table.mutex);
    while (table.queue)
        make(table.queue);
    table.threads--;
    pthread_mutex_unlock(&table.mutex);
    return NULL;
}

/* One more thread, if there is a core for it beside that of who asks. Without, who waits for a unit makes it. The mutex
 * is held. */
static void start_thread(void) {
    pthread_t thread;
    if (table.threads >= THREADS_MOST || table.threads + 1 >= engine_cores_count() ||
        engine_thread_spawn(run, NULL, "neap-gpu-code", &thread) != NEAP_OK)
        return;
    pthread_detach(thread);
    table.threads++;
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */
int vm_gpu_unit_ask(const gpu_kernel *code, int n, const char *const *entries, int device, const char *target,
                    vm_gpu_unit **out) {
    vm_gpu_unit *own = unit_new(code, n, entries, device, target);
    *out = own;
    if (!own)
        return neap_error(NEAP_E_MEMORY, "out of memory for code of a GPU");
    pthread_mutex_lock(&table.mutex);
    vm_gpu_unit *found = find_unit(own);
    if (found) {
        found->users++;
        *out = found;
    } else {
        add_unit(own);
        enqueue(own);
        start_thread();
    }
    pthread_mutex_unlock(&table.mutex);
    if (found)
        unit_free(own);
    return NEAP_OK;
}

int vm_gpu_unit_wait(vm_gpu_unit *unit) {
    pthread_mutex_lock(&table.mutex);
    await(unit);
    pthread_mutex_unlock(&table.mutex);
    return unit->status ? neap_error(unit->status, "%s", unit->failure ? unit->failure : "out of memory") : NEAP_OK;
}

neap_code *vm_gpu_unit_code(const vm_gpu_unit *unit, int entry) {
    return unit->loaded[entry];
}

void vm_gpu_unit_drop(vm_gpu_unit *unit) {
    pthread_mutex_lock(&table.mutex);
    if (unit->state == QUEUED && unit->users == 1)
        dequeue(unit);
    else
        await(unit); /* for another user, or by a thread that has begun: of what the caller may be about to free */
    const bool last = --unit->users == 0;
    if (last)
        remove_unit(unit);
    pthread_mutex_unlock(&table.mutex);
    if (last)
        unit_free(unit);
}
