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

typedef struct engine_memory { /* the buffers of one memory: a device's, or that which the CPU devices share */
    struct engine_memory_class {
        engine_lock lock;
        neap_buffer *first; /* free blocks */
        uint64_t kept;      /* in the pool */
        uint64_t taken;     /* from the pool or made, ever */
    } classes[ENGINE_MEMORY_CLASSES];
    _Atomic uint64_t live, peak, limit;
    bool host; /* the CPU can touch it */
} engine_memory;

/* A device is closed when its last reference has gone: the table of open devices holds one until the engine stops, and
 * each living buffer holds one, so that memory outlives the engine. */
enum { ENGINE_OPENED_MOST = ENGINE_LIMIT(64, 8) /* devices beside the CPU ones */ };

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
extern const neap_device_kind engine_cpu_kind, engine_null_kind;

/* An open device; NULL for a number that is none. BORROWED until the engine stops. */
engine_device *engine_device_at(int number);
const char *engine_device_name(int number); /* of an open device. BORROWED until the engine stops */
/* The same with a reference of its own. CPU devices are not counted. */
engine_device *engine_device_retain_at(int number);
void engine_device_release(engine_device *device);
void engine_devices_open(int cpus); /* at start */
void engine_devices_settle(void);   /* at stop, once the phase forbids it: nobody opens one any more */
void engine_devices_close(void);    /* at stop, when nothing runs any more */
void engine_devices_trim(void);     /* gives back what all pools keep */

/* The stream of an op with these flags; NULL on the CPU. */
static inline neap_stream *engine_device_stream(int device, uint32_t flags) {
    return device < engine.cpus ? NULL : neap_device_stream(device, flags);
}
/* Calls a sync op's function on a device with a stream, and completes the op when the stream has done its work: the
 * naive scheduler waits for it here. */
void engine_stream_run(engine_op *op, const neap_run *run);

/* buffer.c */
void engine_memory_evict(engine_device *device, uint64_t bytes); /* gives so many pooled bytes back, if there are */
engine_device *engine_buffer_home(const neap_buffer *buffer);    /* BORROWED with the buffer */

#endif
