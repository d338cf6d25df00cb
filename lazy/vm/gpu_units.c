/* vm/gpu_units.c: code of GPUs, shared by all kernels and calls that have the same (gpu_units.h).
 *
 * Units stand in a table by device and by the bytes of their key. One that could not be made leaves it with the last
 * who waited for it, so a later kernel tries again: what was missing may be there then.
 */
#include "lazy/vm/gpu_units.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 256 };

struct vm_gpu_unit {
    vm_gpu_unit *next; /* in its slot */
    int users, device, n;
    bool made;                         /* or failed: */
    int status;                        /* 0, or why there is none */
    char *failure;                     /* OWNED; NULL: there was no memory to say so */
    neap_code *code[GPU_CALL_ENTRIES]; /* n of them */
    uint64_t hash;
    size_t key_bytes;
    char key[];
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t made;
    vm_gpu_unit *slots[SLOTS];
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

/* ---- Units ------------------------------------------------------------------------------------------------------- */
static vm_gpu_unit *unit_new(const gpu_kernel *code, int n, int device, const char *target) {
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
    return unit;
}

static void unit_free(vm_gpu_unit *unit) {
    for (int k = 0; k < unit->n; k++)
        neap_code_free(unit->device, unit->code[k]);
    free(unit->failure);
    free(unit);
}

static int make_code(vm_gpu_unit *unit, const gpu_kernel *code, const char *const *entries, const char *target) {
    char *text = NULL;
    size_t bytes = 0;
    int status = gpu_text_of_key(code, target, unit->key, unit->key_bytes, &text, &bytes);
    for (int k = 0; k < unit->n && !status; k++)
        status = neap_code_new(unit->device, entries[k], text, bytes, &unit->code[k]);
    free(text);
    return status;
}

int vm_gpu_unit_want(const gpu_kernel *code, int n, const char *const *entries, int device, const char *target,
                     vm_gpu_unit **out) {
    vm_gpu_unit *own = unit_new(code, n, device, target), *unit;
    *out = NULL;
    if (!own)
        return neap_error(NEAP_E_MEMORY, "out of memory for code of a GPU");
    pthread_mutex_lock(&table.mutex);
    if ((unit = find_unit(own)) != NULL) {
        unit->users++;
        while (!unit->made)
            pthread_cond_wait(&table.made, &table.mutex);
    } else {
        add_unit(own);
    }
    pthread_mutex_unlock(&table.mutex);
    if (unit) {
        unit_free(own);
    } else {
        unit = own;
        int status = make_code(unit, code, entries, target);
        pthread_mutex_lock(&table.mutex);
        unit->status = status;
        unit->failure = status ? strdup(neap_error_text()) : NULL;
        unit->made = true;
        pthread_cond_broadcast(&table.made);
        pthread_mutex_unlock(&table.mutex);
    }
    if (unit->status) {
        int status = neap_error(unit->status, "%s", unit->failure ? unit->failure : "out of memory");
        vm_gpu_unit_drop(unit);
        return status;
    }
    *out = unit;
    return NEAP_OK;
}

neap_code *vm_gpu_unit_code(const vm_gpu_unit *unit, int entry) {
    return unit->code[entry];
}

void vm_gpu_unit_drop(vm_gpu_unit *unit) {
    pthread_mutex_lock(&table.mutex);
    const bool last = --unit->users == 0;
    if (last)
        remove_unit(unit);
    pthread_mutex_unlock(&table.mutex);
    if (last)
        unit_free(unit);
}
