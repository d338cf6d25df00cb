/* device.c: kinds of devices, open devices, and ops that run on streams.
 *
 *      number    0 … cpus-1          cpus … devices-1
 *                all: engine_cpu     opened[number - cpus] ──▶ engine_device: kind, handle, two streams, memory
 *
 * A device gets its number when it is opened and keeps it until the engine stops. `devices` is raised after the table
 * was filled, so whoever sees a number below it may look without a lock; only those who want a reference, which can
 * race with the stop, take it.
 *
 * Each device with streams has two: one for work, one for copies between devices, so that data moves while kernels run.
 * Ops that depend on each other are ordered by the engine: by one stream's order or by events (stream_order.c), else it
 * waits for the first one's stream before it starts the second.
 */
#include "engine/device_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS_MOST = 32, CPU_NAME_BYTES = 16 };

static char cpu_handle;
static char cpu_names[ENGINE_DEVICES_MOST][CPU_NAME_BYTES];

engine_device engine_cpu = {.kind = &engine_cpu_kind, .handle = (neap_device *)&cpu_handle, .memory = {.host = true}};

static struct {
    engine_lock lock; /* for references */
    _Atomic(engine_device *) opened[ENGINE_OPENED_MOST];
    _Atomic(const neap_device_kind *) kinds[KINDS_MOST]; /* the built-in ones are not among them */
} table;

static pthread_mutex_t open_mutex = PTHREAD_MUTEX_INITIALIZER; /* one device is opened, one kind registered at a time */

/* ---- Kinds ------------------------------------------------------------------------------------------------------- */

static const neap_device_kind *find_kind(const char *name) {
    static const neap_device_kind *const built_in[] = {&engine_cpu_kind, &engine_null_kind};
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++) {
        if (strcmp(built_in[i]->name, name) == 0)
            return built_in[i];
    }
    for (int i = 0; i < KINDS_MOST; i++) {
        const neap_device_kind *kind = atomic_load(&table.kinds[i]);
        if (!kind || strcmp(kind->name, name) == 0)
            return kind;
    }
    return NULL;
}

static bool is_kind_name(const char *name) {
    size_t letters = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789") : 0;
    return letters > 0 && letters <= 30 && !name[letters];
}

static int check_device_kind(const neap_device_kind *kind) {
    if (kind->abi != NEAP_DEVICE_ABI) {
        return neap_error(NEAP_E_ARGUMENT, "a kind of device made for interface %u: this neap has %d",
                          (unsigned)kind->abi, NEAP_DEVICE_ABI);
    }
    if (!is_kind_name(kind->name))
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
    const neap_device_kind *same = find_kind(kind->name);
    if (same == kind)
        return NEAP_OK;
    if (same)
        return neap_error(NEAP_E_STATE, "there is another kind of device '%s'", kind->name);
    for (int i = 0; i < KINDS_MOST; i++) {
        if (!atomic_load(&table.kinds[i])) {
            atomic_store(&table.kinds[i], kind);
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
    pthread_mutex_lock(&open_mutex);
    status = add_kind(kind);
    pthread_mutex_unlock(&open_mutex);
    return status;
}

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

/* Gives back whatever of the device was made. */
static void destroy_device(engine_device *device) {
    engine_memory_evict(device, UINT64_MAX);
    if (device->copies)
        device->kind->stream_free(device->handle, device->copies);
    if (device->work)
        device->kind->stream_free(device->handle, device->work);
    if (device->handle)
        device->kind->close(device->handle);
    free(device);
}

void engine_device_release(engine_device *device) {
    if (device != &engine_cpu && atomic_fetch_sub_explicit(&device->refs, 1, memory_order_acq_rel) == 1)
        destroy_device(device);
}

static int make_device(const neap_device_kind *kind, int index, engine_device **out) {
    engine_device *device = engine_alloc(sizeof *device);
    if (!device)
        return neap_error(NEAP_E_MEMORY, "no memory for a device");
    memset(device, 0, sizeof *device);
    device->kind = kind;
    device->index = index;
    device->refs = 1;
    snprintf(device->name, sizeof device->name, "%s:%d", kind->name, index);
    neap_device_facts facts;
    int status = kind->open(index, &device->handle);
    if (status) {
        device->handle = NULL;
    } else {
        status = kind->facts(device->handle, &facts);
    }
    if (!status && kind->stream_new)
        status = kind->stream_new(device->handle, 0, &device->work);
    if (!status && kind->stream_new)
        status = kind->stream_new(device->handle, NEAP_PUSH_COPY, &device->copies);
    if (status) {
        destroy_device(device);
        return status;
    }
    device->memory.host = facts.host_memory != 0;
    *out = device;
    return NEAP_OK;
}

/* The caller holds open_mutex, so the engine does not stop meanwhile. */
static int open_of_kind(const neap_device_kind *kind, int index, int *number) {
    int cpus = engine.cpus, opened = engine.devices - cpus;
    if (kind == &engine_cpu_kind && index >= 0 && index < cpus) {
        *number = index;
        return NEAP_OK;
    }
    for (int i = 0; i < opened; i++) {
        engine_device *device = table.opened[i];
        if (device->kind == kind && device->index == index) {
            *number = cpus + i;
            return NEAP_OK;
        }
    }
    int count = kind->count();
    if (count < 0)
        return count;
    if (index < 0 || index >= count)
        return neap_error(NEAP_E_ARGUMENT, "there is no device %s:%d: there are %d", kind->name, index, count);
    if (opened == ENGINE_OPENED_MOST || cpus + opened == ENGINE_DEVICES_MOST)
        return neap_error(NEAP_E_STATE, "too many open devices: %d", cpus + opened);
    engine_device *device = NULL;
    int status = make_device(kind, index, &device);
    if (status)
        return status;
    status = engine_pool_add_device(cpus + opened);
    if (status) {
        destroy_device(device);
        return status;
    }
    *number = cpus + opened;
    table.opened[opened] = device;
    atomic_store_explicit(&engine.devices, cpus + opened + 1, memory_order_release);
    return NEAP_OK;
}

/* The kind of a name, brought by the plugin of the same name if there is none yet; NULL with the error set. */
static const neap_device_kind *need_kind(const char *name) {
    const neap_device_kind *kind = name ? find_kind(name) : NULL;
    if (kind)
        return kind;
    if (!is_kind_name(name)) {
        neap_error(NEAP_E_ARGUMENT, "there is no kind of device '%s'", name ? name : "");
        return NULL;
    }
    if (neap_plugin_load(name) == NEAP_OK && (kind = find_kind(name)) != NULL)
        return kind;
    char text[512];
    snprintf(text, sizeof text, "%s", neap_error_code() ? neap_error_text() : "its plugin brings none");
    neap_error(NEAP_E_ARGUMENT, "%s", text);
    return NULL;
}

int neap_device_open(const char *kind_name, int index, int *number) {
    int status = engine_check_running();
    if (status)
        return status;
    const neap_device_kind *kind = need_kind(kind_name);
    if (!kind)
        return neap_error_code();
    pthread_mutex_lock(&open_mutex);
    status = engine_check_running();
    if (!status)
        status = open_of_kind(kind, index, number);
    pthread_mutex_unlock(&open_mutex);
    return status;
}

void engine_devices_open(int cpus) {
    for (int i = 0; i < cpus; i++)
        snprintf(cpu_names[i], CPU_NAME_BYTES, "cpu:%d", i);
    engine.cpus = engine.devices = cpus;
}

void engine_devices_settle(void) {
    pthread_mutex_lock(&open_mutex); /* who had it before us has finished; who gets it after us sees the phase */
    pthread_mutex_unlock(&open_mutex);
}

void engine_devices_close(void) {
    engine_device *closing[ENGINE_OPENED_MOST];
    pthread_mutex_lock(&open_mutex);
    int count = engine.devices - engine.cpus;
    engine_lock_take(&table.lock);
    for (int i = 0; i < count; i++)
        closing[i] = atomic_exchange(&table.opened[i], NULL);
    engine.devices = engine.cpus;
    engine_lock_drop(&table.lock);
    for (int i = count - 1; i >= 0; i--)
        engine_device_release(closing[i]);
    pthread_mutex_unlock(&open_mutex);
}

void engine_devices_each(void (*fn)(engine_device *device, void *arg), void *arg) {
    if (engine_phase() == ENGINE_DEAD)
        return; /* the table may have been locked when the process forked */
    fn(&engine_cpu, arg);
    for (int number = engine.cpus; number < engine.devices; number++) {
        engine_device *device = engine_device_retain_at(number);
        if (!device)
            return;
        fn(device, arg);
        engine_device_release(device);
    }
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

engine_device *engine_device_at(int number) {
    int cpus = engine.cpus;
    if (number < 0 || number >= atomic_load_explicit(&engine.devices, memory_order_acquire))
        return NULL;
    return number < cpus ? &engine_cpu : table.opened[number - cpus];
}

engine_device *engine_device_retain_at(int number) {
    if (engine_phase() == ENGINE_OFF)
        return number == 0 ? &engine_cpu : NULL;
    if ((unsigned)number < (unsigned)engine.cpus)
        return &engine_cpu;
    engine_lock_take(&table.lock);
    engine_device *device = engine_device_at(number);
    if (device)
        atomic_fetch_add_explicit(&device->refs, 1, memory_order_relaxed);
    engine_lock_drop(&table.lock);
    return device;
}

/* The device, or NULL with the error set. */
static engine_device *running_device(int number) {
    if (engine_check_running())
        return NULL;
    engine_device *device = engine_device_at(number);
    if (!device)
        neap_error(NEAP_E_ARGUMENT, "device %d of %d", number, neap_device_count());
    return device;
}

int neap_device_count(void) {
    return engine_phase() == ENGINE_RUNNING ? engine.devices : 0;
}

const char *engine_device_name(int number) {
    const engine_device *device = engine_device_at(number);
    return device == &engine_cpu ? cpu_names[number] : device->name;
}

const char *neap_device_name(int number) {
    return running_device(number) ? engine_device_name(number) : NULL;
}

int neap_device_find(const char *name, int *number) {
    int status = engine_check_running();
    for (int i = 0; !status && i < engine.devices; i++) {
        const char *has = neap_device_name(i);
        if (has && name && strcmp(has, name) == 0) {
            *number = i;
            return NEAP_OK;
        }
    }
    return status ? status : neap_error(NEAP_E_ARGUMENT, "there is no open device '%s'", name ? name : "");
}

int neap_device_memory_space(int number) {
    return number < engine.cpus ? 0 : number;
}

int neap_device_get(int number, neap_device_facts *out) {
    engine_device *device = running_device(number);
    return device ? device->kind->facts(device->handle, out) : neap_error_code();
}

const neap_device_kind *neap_device_kind_of(int number) {
    engine_device *device = running_device(number);
    return device ? device->kind : NULL;
}

neap_device *neap_device_handle(int number) {
    engine_device *device = running_device(number);
    return device ? device->handle : NULL;
}

neap_stream *neap_device_stream(int number, uint32_t flags) {
    engine_device *device = engine_device_at(number);
    if (!device)
        return NULL;
    return flags & NEAP_PUSH_COPY ? device->copies : device->work;
}

int neap_code_new(int number, const char *name, const void *image, size_t bytes, neap_code **out) {
    engine_device *device = running_device(number);
    if (!device)
        return neap_error_code();
    if (!device->kind->code_new)
        return neap_error(NEAP_E_LIBRARY, "devices of the kind '%s' take no code", device->kind->name);
    return device->kind->code_new(device->handle, name, image, bytes, out);
}

const char *neap_routine_lacks(int number, const neap_routine *routine) {
    engine_device *device = running_device(number);
    if (!device || !device->kind->routine_lacks)
        return "no library computes on devices of its kind";
    return device->kind->routine_lacks(device->handle, routine);
}

void neap_device_libraries(int number, char *text, size_t bytes) {
    engine_device *device = running_device(number);
    *text = '\0';
    if (device && device->kind->libraries)
        device->kind->libraries(device->handle, text, bytes);
}

void neap_code_free(int number, neap_code *code) {
    engine_device *device = code ? running_device(number) : NULL;
    if (device && device->kind->code_free)
        device->kind->code_free(device->handle, code);
}

/* ---- From inside an op ------------------------------------------------------------------------------------------- */

int neap_run_launch(const neap_run *run, const neap_launch *launch) {
    if (run->row)
        return engine_row_launch(run->row, launch);
    engine_device *device = engine_device_at(run->device);
    return device->kind->launch(device->handle, run->stream, launch);
}

int neap_run_routine(const neap_run *run, const neap_routine *routine) {
    if (run->row)
        return neap_error(NEAP_E_STATE, "a routine cannot be part of a row");
    engine_device *device = engine_device_at(run->device);
    int status = device->kind->routine_run(device->handle, run->stream, routine);
    if (status == NEAP_E_MEMORY) {
        engine_memory_evict(device, UINT64_MAX);
        status = device->kind->routine_run(device->handle, run->stream, routine);
    }
    return status;
}

int neap_run_copy(const neap_run *run, int direction, void *to, const void *from, size_t bytes) {
    engine_device *device = engine_device_at(run->device);
    if (bytes == 0)
        return NEAP_OK;
    if (run->row && direction != NEAP_COPY_WITHIN)
        return neap_error(NEAP_E_STATE, "a copy between the host and a device cannot be part of a row");
    if (run->row)
        return engine_row_copy(run->row, to, from, bytes);
    return device->kind->copy(device->handle, run->stream, direction, to, from, bytes);
}

/* Without a stream, scratch of the host's memory is a buffer, whose address stands in front of what the op gets. */
enum { SCRATCH_HEAD = 64 };

static int alloc_pooled(const neap_run *run, size_t bytes, void **out) {
    neap_buffer *buffer = NULL;
    int status = bytes > SIZE_MAX - SCRATCH_HEAD ? neap_error(NEAP_E_MEMORY, "out of memory: %zu bytes wanted", bytes)
                                                 : neap_buffer_new(run->device, bytes + SCRATCH_HEAD, &buffer);
    if (status)
        return status;
    *(neap_buffer **)buffer->data = buffer;
    *out = (char *)buffer->data + SCRATCH_HEAD;
    return NEAP_OK;
}

int engine_device_alloc(engine_device *device, neap_stream *stream, size_t bytes, void **out) {
    int status = device->kind->alloc(device->handle, stream, bytes, out);
    if (status == NEAP_E_MEMORY) {
        engine_memory_evict(device, UINT64_MAX);
        status = device->kind->alloc(device->handle, stream, bytes, out);
    }
    return status;
}

int neap_run_alloc(const neap_run *run, size_t bytes, void **out) {
    engine_device *device = engine_device_at(run->device);
    size_t some = bytes ? bytes : 1;
    if (run->row)
        return engine_row_alloc(run->row, some, out);
    if (!run->stream && device->memory.host)
        return alloc_pooled(run, bytes, out);
    return engine_device_alloc(device, run->stream, some, out);
}

void neap_run_free(const neap_run *run, void *memory, size_t bytes) {
    engine_device *device = engine_device_at(run->device);
    if (run->row)
        engine_row_free(run->row, memory);
    else if (memory && !run->stream && device->memory.host)
        neap_buffer_release(*(neap_buffer **)((char *)memory - SCRATCH_HEAD));
    else if (memory)
        device->kind->free(device->handle, run->stream, memory, bytes ? bytes : 1);
}

/* ---- Ops on streams ---------------------------------------------------------------------------------------------- */

static void complete_op(void *done, int status) {
    neap_complete(done, status);
}

/* An op whose function failed after it may have enqueued work: it ends with that failure, but not before the work. */
typedef struct failed_op {
    neap_completion *done;
    int status;
    char text[];
} failed_op;

static void complete_failed(void *arg, int status) {
    failed_op *op = arg;
    neap_completion *done = op->done;
    status = neap_error(op->status, "%s", op->text);
    free(op);
    neap_complete(done, status);
}

/* The stream has come to what the op had enqueued when it had more to do (neap_sync_fn). */
static void go_on(void *arg, int status) {
    engine_op *op = arg;
    engine_thread *self = engine_self();
    if (status < 0) {
        neap_complete(arg, status);
        return;
    }
    neap_run run = {.device = op->device,
                    .worker = self->worker,
                    .epoch = op->epoch,
                    .stream = engine_device_stream(op->device, op->flags)};
    self->depth++; /* the op may be gone when this returns */
    engine_stream_run(op, &run, NEAP_OK);
    self->depth--;
}

/* False: there is no memory for it, or the device cannot tell. */
static bool complete_when_done(engine_device *device, neap_stream *stream, neap_completion *done, int status) {
    if (status >= 0) {
        neap_stream_fn then = status == NEAP_PENDING ? go_on : complete_op;
        return device->kind->stream_then(device->handle, stream, then, done) == NEAP_OK;
    }
    const char *text = neap_error_text();
    failed_op *op = engine_alloc(sizeof *op + strlen(text) + 1);
    if (!op)
        return false;
    op->done = done;
    op->status = status;
    strcpy(op->text, text);
    if (device->kind->stream_then(device->handle, stream, complete_failed, op) == NEAP_OK)
        return true;
    neap_error(status, "%s", op->text);
    free(op);
    return false;
}

static bool is_given_up(const engine_op *op, const neap_run *run) {
    return neap_run_cancelled(run) && !(op->flags & NEAP_PUSH_ALWAYS);
}

/* Calls the op's function, unless it has failed already, or was given up. */
static int call_on_stream(engine_op *op, const neap_run *run, int status) {
    engine_thread *self = engine_self();
    uint64_t errors = self->errors;
    bool called = status == NEAP_OK && !is_given_up(op, run);
    if (called)
        status = op->fn.sync(op->arg, run);
    if (is_given_up(op, run))
        return neap_error(NEAP_E_INTERRUPT, "%s", neap_status_text(NEAP_E_INTERRUPT));
    if (status < 0 && called && self->errors == errors)
        neap_error(status, "%s", neap_status_text(status));
    return status;
}

bool engine_stream_run(engine_op *op, const neap_run *run, int status) {
    engine_device *device = engine_device_at(run->device);
    engine_thread *self = engine_self();
    neap_completion *done = (neap_completion *)op;
    for (;;) {
        status = call_on_stream(op, run, status);
        if (!engine_is_naive() && complete_when_done(device, run->stream, done, status))
            return status == NEAP_OK;
        char text[sizeof self->text];
        strcpy(text, self->text);
        int late = device->kind->stream_sync(device->handle, run->stream);
        if (status != NEAP_PENDING || late < 0) {
            neap_complete(done, status < 0 ? neap_error(status, "%s", text) : late);
            return false;
        }
        status = NEAP_OK;
    }
}
