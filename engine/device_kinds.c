/* device_kinds.c: all kinds of devices: the CPU, and the kinds of plugins. */
#include "engine/device_internal.h"

#include <pthread.h>
#include <string.h>

enum { KINDS_MOST = 32 };

static _Atomic(const neap_device_kind *) kinds[KINDS_MOST]; /* without the CPU */

static pthread_mutex_t register_mutex = PTHREAD_MUTEX_INITIALIZER; /* one kind is registered at a time */

const neap_device_kind *engine_device_kind_find(const char *name) {
    if (strcmp(engine_cpu_kind.name, name) == 0)
        return &engine_cpu_kind;
    for (int i = 0; i < KINDS_MOST; i++) {
        const neap_device_kind *kind = atomic_load(&kinds[i]);
        if (!kind || strcmp(kind->name, name) == 0)
            return kind;
    }
    return NULL;
}

bool engine_device_kind_is_name(const char *name) {
    size_t letters = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789") : 0;
    return letters > 0 && letters <= 30 && !name[letters];
}

static int check_device_kind(const neap_device_kind *kind) {
    if (kind->abi != NEAP_DEVICE_ABI) {
        return neap_error(NEAP_E_ARGUMENT, "a kind of device made for interface %u: this neap has %d",
                          (unsigned)kind->abi, NEAP_DEVICE_ABI);
    }
    if (!engine_device_kind_is_name(kind->name))
        return neap_error(NEAP_E_ARGUMENT, "a kind of device without a proper name");
    bool some_streams = kind->stream_new || kind->stream_free || kind->stream_then || kind->stream_sync;
    bool streams = kind->stream_new && kind->stream_free && kind->stream_then && kind->stream_sync;
    bool some_events = kind->event_new || kind->event_free || kind->stream_wait;
    bool events = kind->event_new && kind->event_free && kind->stream_wait;
    bool complete = kind->count && kind->open && kind->close && kind->facts && kind->alloc && kind->free &&
                    kind->copy && kind->launch && some_streams == streams && some_events == events &&
                    (streams || !events) && !kind->code_new == !kind->code_free &&
                    !kind->routine_lacks == !kind->routine_run && !kind->routine_lacks == !kind->libraries &&
                    !kind->collective_lacks == !kind->collective_run && !kind->graph_new == !kind->graph_change &&
                    !kind->graph_new == !kind->graph_run && !kind->graph_new == !kind->graph_free;
    if (!complete)
        return neap_error(NEAP_E_ARGUMENT, "the kind of device '%s' misses a function", kind->name);
    return NEAP_OK;
}

static int add_kind(const neap_device_kind *kind) {
    const neap_device_kind *same = engine_device_kind_find(kind->name);
    if (same == kind)
        return NEAP_OK;
    if (same)
        return neap_error(NEAP_E_STATE, "there is another kind of device '%s'", kind->name);
    for (int i = 0; i < KINDS_MOST; i++) {
        if (!atomic_load(&kinds[i])) {
            atomic_store(&kinds[i], kind);
            return NEAP_OK;
        }
    }
    return neap_error(NEAP_E_STATE, "too many kinds of devices");
}

int neap_device_register(const neap_device_kind *kind) {
    int status = engine_check_alive();
    if (!status && !kind)
        status = neap_error(NEAP_E_ARGUMENT, "no kind of device");
    if (!status)
        status = check_device_kind(kind);
    if (status)
        return status;
    pthread_mutex_lock(&register_mutex);
    status = add_kind(kind);
    pthread_mutex_unlock(&register_mutex);
    return status;
}
