/* device_internal.h: open devices and the pools of their memories, for the files of the engine.
 *
 *      number    0 … cpus-1          cpus … devices-1
 *                all: engine_cpu     each its own engine_device: kind, handle, two streams, memory
 */
#ifndef NEAP_ENGINE_DEVICE_INTERNAL_H
#define NEAP_ENGINE_DEVICE_INTERNAL_H

#include "engine/device.h"
#include "engine/op_internal.h"

enum { ENGINE_MEMORY_CLASSES = 160 };
enum { ENGINE_MEMORY_LARGE = 1 << 16 }; /* bytes: smaller blocks come and go without a look at the others */

typedef struct engine_memory { /* the buffers of one memory: of a device, or of all CPU devices */
    struct engine_memory_class {
        engine_lock lock;
        neap_buffer *first;              /* free blocks */
        uint64_t kept;                   /* how many free blocks there are */
        uint64_t least;                  /* the fewest free blocks since the window began */
        uint64_t taken;                  /* from the pool or made, ever */
        neap_buffer *dying, *last_dying; /* large blocks of work in flight alone, the longest first */
    } classes[ENGINE_MEMORY_CLASSES];
    _Atomic uint64_t live, peak, limit;
    _Atomic uint64_t recent, before; /* the highest live bytes of this window, and of the last */
    _Atomic uint64_t reserved;       /* of all blocks, live and free */
    _Atomic uint64_t made, returned; /* blocks got from the device and given back */
    _Atomic uint64_t made_bytes;     /* of blocks got */
    _Atomic uint64_t total;          /* bytes of the device, once asked for; 0: not known */
    _Atomic int64_t window;          /* when it began */
    bool host;                       /* good for the CPU */
} engine_memory;

struct neap_buffer { /* with its block, also a free one */
    neap_var var;
    _Atomic uint64_t refs; /* references, in the upper half the lent ones (buffer.c) */
    bool dying;            /* in the list of dying blocks, under the lock of the class */
    _Atomic bool slow;     /* an async op, or a copy, has come to the queue of the variable */
    _Atomic uint32_t used; /* the number of the last op there, less engine_far_behind() for a wide op */
    union {
        _Atomic uint64_t mark; /* of what it holds; 0: nobody has asked */
        neap_buffer *before;   /* among the dying */
    };
    int device;                 /* its number then */
    int class;                  /* of its size; ENGINE_BORROWED: memory of others */
    struct engine_device *home; /* owner of the memory; a living buffer holds a reference */
    size_t bytes;               /* asked for */
    void *data;
    neap_buffer *next; /* in the pool, or among the dying */
};

enum { ENGINE_BORROWED = -1 };
typedef struct engine_borrowed { /* a buffer of the class ENGINE_BORROWED; never in the pool */
    neap_buffer buffer;
    void (*release)(void *arg);
    void *arg;
} engine_borrowed;

/* A device is closed when its last reference has gone: the table of open devices holds a reference until the engine
 * stops, and so does each living buffer, so memory outlives the engine. */
enum { ENGINE_OPENED_MOST = ENGINE_LIMIT(64, 8) /* without CPU devices */ };

typedef struct engine_device {
    const neap_device_kind *kind;
    neap_device *handle;
    neap_stream *work, *copies; /* NULL if the kind has no streams */
    int index;                  /* among its kind */
    _Atomic uint32_t refs;
    engine_memory memory;
    char name[48];
} engine_device;

extern engine_device engine_cpu; /* stands for all CPU devices */
extern const neap_device_kind engine_cpu_kind;

/* An open device; NULL: there is none of this number. BORROWED until the engine stops. */
engine_device *engine_device_at(int number);
const char *engine_device_name(int number); /* of an open device. BORROWED until the engine stops */
/* The same with a further reference. CPU devices are not counted. */
engine_device *engine_device_retain_at(int number);
void engine_device_release(engine_device *device);
/* The last reference to the buffer is gone, and the variable idle: the block goes back to pool or owner. */
void engine_device_recycle(neap_buffer *buffer);
void engine_devices_open(int cpus); /* at start */
/* Gives a device (TAKES) the next number; gives all of the table back. One thread at a time: device_open.c. */
int engine_devices_add(engine_device *device);
void engine_devices_release(void);
/* Calls fn for the CPU's memory and each open device's. Does nothing in a fork's child. */
void engine_devices_each(void (*fn)(engine_device *device, void *arg), void *arg);

/* The stream of an op with these flags; NULL on the CPU. */
static inline neap_stream *engine_device_stream(int device, uint32_t flags) {
    return device < engine.cpus ? NULL : neap_device_stream(device, flags);
}

/* device_kinds.c. BORROWED for ever; NULL: there is none of this name */
const neap_device_kind *engine_device_kind_find(const char *name);
bool engine_device_kind_is_name(const char *name);

/* device_open.c */
void engine_devices_settle(void); /* at stop, once the phase forbids to open: waits for openers */
void engine_devices_close(void);  /* at stop, when nothing runs any more */

/* memory.c */
/* A block, counted as live; the caller sets the rest of the header. NEAP_E_MEMORY with the error set. */
int engine_memory_take(engine_device *home, size_t bytes, neap_buffer **out);
void engine_memory_keep(neap_buffer *buffer); /* TAKES an unused block */
/* Under the lock of the class: a large buffer is of work in flight alone, or is so no more. */
void engine_memory_begin_dying(neap_buffer *buffer);
void engine_memory_end_dying(neap_buffer *buffer);
/* Of blocks of so many bytes; NULL: there are none. */
struct engine_memory_class *engine_memory_class_of(engine_device *home, size_t bytes);
void engine_memory_evict(engine_device *device, uint64_t bytes); /* gives back so many pooled bytes, or all */
/* Ends a window that has lasted long enough at `now`, and gives back the blocks unused in it. */
void engine_memory_tidy(engine_device *device, int64_t now);
/* In how many ns to come again, since blocks may be unused for too long by then. Negative: no need. */
int64_t engine_memory_due(engine_device *device);
/* Bytes left of a device's memory, with pooled ones; very many of the CPU's, and where nobody knows. */
int64_t engine_memory_left(engine_device *device);
/* Memory from the kind; if refused, once more after pooled blocks were given back. */
int engine_memory_alloc(engine_device *device, neap_stream *stream, size_t bytes, void **out);
/* A device with memory of its own has given a large block since the last look of backpressure.c. */
extern _Atomic bool engine_memory_was_taken;
static inline uint64_t engine_memory_count(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}
static inline uint64_t engine_memory_pooled(const engine_memory *memory) {
    uint64_t reserved = engine_memory_count(&memory->reserved), live = engine_memory_count(&memory->live);
    return reserved > live ? reserved - live : 0;
}
void engine_memory_window(int64_t ns);    /* how long windows last; for tests */
void engine_memory_slack(uint64_t bytes); /* free bytes that always stay; 0: by the device; for tests */

/* buffer.c */
/* How many ops further on an op hardly waits by following one: each worker has taken another since. */
static inline uint32_t engine_far_behind(void) {
    return (uint32_t)engine.workers + 2;
}
/* The op of this number has come to the queue of the buffer's variable, which is locked. */
static inline void engine_buffer_used(neap_buffer *buffer, const engine_op *op, uint32_t number) {
    if (op->flags & NEAP_PUSH_WIDE)
        number -= engine_far_behind();
    atomic_store_explicit(&buffer->used, number, memory_order_relaxed);
    if (op->flags & (ENGINE_OP_ASYNC | NEAP_PUSH_COPY))
        atomic_store_explicit(&buffer->slow, true, memory_order_relaxed);
}
engine_device *engine_buffer_home(const neap_buffer *buffer); /* BORROWED with the buffer */
/* Is its device open still, under its number? */
static inline bool engine_buffer_is_open(const neap_buffer *buffer) {
    return engine_device_at(neap_buffer_device(buffer)) == engine_buffer_home(buffer);
}

/* launch_graph.c: what a run records */
int engine_launch_graph_launch(neap_launch_graph *graph, const neap_launch *launch);
int engine_launch_graph_copy(neap_launch_graph *graph, void *to, const void *from, size_t bytes);
int engine_launch_graph_alloc(neap_launch_graph *graph, size_t bytes, void **out);
void engine_launch_graph_free(neap_launch_graph *graph, const void *memory);

/* copy.c */
/* Copies the part to byte `at` of `to`. fresh: the earlier contents are forgotten. alone: no other part comes. */
int engine_copy_part(neap_buffer *to, size_t at, const neap_part *part, bool fresh, bool alone, const neap_push *push);

#endif
