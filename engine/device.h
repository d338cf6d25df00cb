/* device.h: kinds of devices, for writers of a backend and for ops on devices.
 *
 * The engine decides when an op may run; a *kind of device* ("cpu", "cuda") says how its work is done there. A
 * kind is one table of functions, neap_device_kind. docs/devices.md leads through it, with the null device as example.
 *
 *      engine:  op ready ──▶ its function enqueues copies and launches ──▶ then() ──────────────▶ op has finished
 *                                       │                                   │                         ▲
 *      stream:            … earlier ──▶ copy ──▶ launch ──▶ launch ──▶ [this point] ──▶ callback ─────┘
 *
 * An example: x and y have 1000 elements of 4 bytes, at 0x7000 and 0x9000 of a device with the streams `copies` and
 * `work`. One op brings x from the host, the next one puts x + y to 0xb000. The engine and the ops call, in this order:
 *
 *      copy(device, copies, NEAP_COPY_TO_DEVICE, 0x7000, x on the host, 4000)
 *      stream_then(device, copies, the first op is over)
 *      event_new(device, copies) → e     stream_wait(device, work, e)     event_free(device, e)
 *      launch(device, work, "add": buffers 0x7000 0x9000 0xb000, scalars 1000, groups 4, threads 256)
 *      stream_then(device, work, the second op is over)
 *
 * Rules for every function of a kind:
 * 1. Any thread may call the function, several at once, for the same stream too; a kind locks for itself.
 *    Threads come and go: a driver's context is bound to the thread at each call.
 * 2. It does not wait for work of the device, but for stream_sync, close, and where the slot says so.
 * 3. It returns 0, or a negative NEAP_E_… after neap_error(). Nothing aborts, exits or prints.
 * 4. Work enqueued on a stream is done in the order of the calls. Pointers to arrays and texts are BORROWED for the
 *    call; the caller cares for used device memory until the work is done.
 * 5. A failure at once is returned. A later failure, while the device works, *breaks* the stream: the work behind is
 *    not done, and every callback of the stream from there on gets the failure. A stream with a wait for an event of a
 *    broken stream breaks, too. So no op without its work is ever taken for finished.
 * 6. Handles are opaque to the engine: a kind casts them to its own structures. The engine frees handles.
 */
#ifndef NEAP_DEVICE_H
#define NEAP_DEVICE_H

#include "engine/engine.h"
#include "engine/generator.h"
#include "engine/routine.h"
#include "engine/transport.h"

enum { NEAP_DEVICE_ABI = 8 }; /* raised when anything below changes */

typedef struct neap_device neap_device; /* an open device */
typedef struct neap_event neap_event;   /* a point in a stream */
typedef struct neap_code neap_code;     /* for a device to launch */
typedef struct neap_graph neap_graph;   /* launches and copies, enqueued by one call */

/* ---- What is enqueued -------------------------------------------------------------------------------------------- */
enum { NEAP_COPY_TO_DEVICE, NEAP_COPY_FROM_DEVICE, NEAP_COPY_WITHIN /* one device */ };

/* A launch of a kernel. Its parameters are the buffers, then the scalars. */
typedef struct neap_launch {
    const char *name; /* for failures and records */
    neap_code *code;  /* from code_new of the same kind; NULL if only `host` is there */
    int nbuffers, nscalars;
    void *const *buffers;    /* addresses in the device's memory */
    const uint64_t *scalars; /* each in the low bytes of its word */
    uint32_t groups[3];      /* extent of the grid, in groups of threads */
    uint32_t threads[3];     /* extent of a group */
    uint32_t shared_bytes;   /* memory of a group, beyond what the code declares */
    /* Computes the same on the CPU, for devices that cannot compute, with memory that the CPU sees; may be NULL. Runs
     * in the stream's order, on any thread; the arrays are copies then. Returns 0 or a negative status. */
    int (*host)(const struct neap_launch *launch);
} neap_launch;

/* A step of a graph: a launch of code, or a copy within the device. */
typedef struct neap_graph_step {
    neap_launch launch; /* without code: a copy */
    void *to;
    const void *from;
    size_t bytes;
} neap_graph_step;

/* Copies between several devices of one kind, made together: each target gets the bytes of all sources, source behind
 * source. The sources are of different devices, and so are the targets; there may be a single source or target. So no
 * target has a source inside. */
typedef struct neap_collective {
    int nsources, ntargets;
    neap_device *const *source_devices, *const *target_devices;
    const size_t *bytes; /* of each source; some may be 0 */
    const void *const *sources;
    void *const *targets;
} neap_collective;

/* Called once, when all work enqueued before has finished; from any thread that may call functions of the kind (so not
 * from a CUDA host function), and without a lock of the kind held: the callback frees memory, pushes and runs ops.
 * status: 0, or the failure of the broken stream, with its text set on this thread. */
typedef void (*neap_stream_fn)(void *arg, int status);

/* ---- A kind ------------------------------------------------------------------------------------------------------
 * Slots marked "optional" may be NULL, where a group is named all of it. `stream` is NULL in every call if the kind has
 * no streams: then the work is done when the call returns. */
typedef struct neap_device_kind {
    uint32_t abi;     /* NEAP_DEVICE_ABI */
    const char *name; /* lower-case letters and digits */

    /* Devices. count: how many there are; negative: the driver is missing or fails, with the error set. open is called
     * with index < count, and not again for the same index before close. close is called when the engine stops and the
     * last buffer of the device has gone: nothing is enqueued any more; close joins the kind's threads. */
    int (*count)(void);
    int (*open)(int index, neap_device **out);
    void (*close)(neap_device *device);
    int (*facts)(neap_device *device, neap_device_facts *out);

    /* Streams; optional, together. flags: 0 or NEAP_PUSH_COPY, for a hint. free: the work is done and the callbacks
     * were called; free waits for the return of the last. then: see neap_stream_fn; fn may be called before then
     * returns; on failure fn is never called. sync waits until all enqueued work has finished, needs no memory, and
     * returns the status for a callback. */
    int (*stream_new)(neap_device *device, uint32_t flags, neap_stream **out);
    void (*stream_free)(neap_device *device, neap_stream *stream);
    int (*stream_then)(neap_device *device, neap_stream *stream, neap_stream_fn fn, void *arg);
    int (*stream_sync)(neap_device *device, neap_stream *stream);

    /* Events; optional, together, for kinds with streams. event_new marks the stream's present end. stream_wait
     * holds up later work on `stream` until the event's point has been passed, without holding up the caller; the event
     * may be freed at once. */
    int (*event_new)(neap_device *device, neap_stream *stream, neap_event **out);
    void (*event_free)(neap_device *device, neap_event *event);
    int (*stream_wait)(neap_device *device, neap_stream *stream, neap_event *event);

    /* Memory, at least 64-byte aligned; bytes > 0. With a stream, in the stream's order: for work enqueued there later,
     * and a freed block goes to nobody else before the stream has passed the free. Without a stream: for any stream at
     * once, and all uses have finished at the free. free gets the bytes of alloc. NEAP_E_MEMORY: the engine gives
     * pooled blocks back and tries once more. */
    int (*alloc)(neap_device *device, neap_stream *stream, size_t bytes, void **out);
    void (*free)(neap_device *device, neap_stream *stream, void *memory, size_t bytes);

    /* direction: NEAP_COPY_…; the other side is host memory of any sort, unchanged and alive until the copy is done.
     * copy_peer: from another device of the kind; optional, else the engine copies over the host. */
    int (*copy)(neap_device *device, neap_stream *stream, int direction, void *to, const void *from, size_t bytes);
    int (*copy_peer)(neap_device *device, neap_stream *stream, void *to, neap_device *source, const void *from,
                     size_t bytes);

    /* Launches. code_new makes a kernel from an image in the kind's form (CUDA: PTX text for code_target;
     * `name` is its entry); optional, together. code_target: "sm_90", BORROWED with the device; optional. */
    int (*code_new)(neap_device *device, const char *name, const void *image, size_t bytes, neap_code **out);
    void (*code_free)(neap_device *device, neap_code *code);
    const char *(*code_target)(neap_device *device);
    int (*launch)(neap_device *device, neap_stream *stream, const neap_launch *launch);
    /* Whether a launch without code runs its host function (1), with addresses for the host, or fails (0). A kind with
     * 1 and without a backend of its own gets vm_backend_host. Optional: 0. */
    int (*runs_host)(neap_device *device);

    /* Routines of libraries; optional, together. lacks: why the device cannot do a routine, a clause such as
     * "libcublas.so.13 is not installed", BORROWED for ever; NULL: possible. Addresses are not looked at; loads the
     * library by need. run enqueues a possible routine; after a failure for want of memory nothing is enqueued, and the
     * engine may try again. libraries: names and versions, or why there are none, into `text`. */
    const char *(*routine_lacks)(neap_device *device, const neap_routine *routine);
    int (*routine_run)(neap_device *device, neap_stream *stream, const neap_routine *routine);
    void (*libraries)(neap_device *device, char *text, size_t bytes);

    /* Collectives; optional, together. lacks: why copies are better, a clause, as of routines; addresses are not looked
     * at. run enqueues a possible collective on a stream of the first target's device: for the engine all is work of
     * the stream, whatever others the kind uses. */
    const char *(*collective_lacks)(const neap_collective *collective);
    int (*collective_run)(neap_device *device, neap_stream *stream, const neap_collective *collective);

    /* Graphs; optional, together. Steps are done in order, each after the last. change: from the next run on, step k is
     * the new step, of the same code, or a copy as before; enqueued runs stay the same. free: all runs have been done.
     * A graph is used by a single thread at a time. A kind may refuse to make a graph, with NEAP_E_LIBRARY. */
    int (*graph_new)(neap_device *device, int n, const neap_graph_step *steps, neap_graph **out);
    int (*graph_change)(neap_device *device, neap_graph *graph, int k, const neap_graph_step *step);
    int (*graph_run)(neap_device *device, neap_stream *stream, neap_graph *graph);
    void (*graph_free)(neap_device *device, neap_graph *graph);
} neap_device_kind;

/* Makes a kind known, for ever: the table is BORROWED. The same table again is harmless; NEAP_E_STATE: the name is
 * taken; NEAP_E_ARGUMENT: wrong abi, or a slot is missing. */
NEAP_API int neap_device_register(const neap_device_kind *kind);

/* ---- From inside an op ------------------------------------------------------------------------------------------
 * The same calls on every device: in stream order where `run` has a stream, at once on the CPU. An op on a device with
 * streams may return as soon as its work is enqueued; the op has finished when the stream has done the work. */
NEAP_API int neap_run_launch(const neap_run *run, const neap_launch *launch);
/* A routine without a reason of neap_routine_lacks. */
NEAP_API int neap_run_routine(const neap_run *run, const neap_routine *routine);
NEAP_API int neap_run_copy(const neap_run *run, int direction, void *to, const void *from, size_t bytes);
/* Memory for this op alone, freed in stream order; on the CPU it is counted and pooled as a buffer's. What lives longer
 * is a buffer. */
NEAP_API int neap_run_alloc(const neap_run *run, size_t bytes, void **out);
NEAP_API void neap_run_free(const neap_run *run, void *memory, size_t bytes);

/* ---- Launch graphs ------------------------------------------------------------------------------------------------
 * A *launch graph* is what some part of an op enqueues again and again: launches of code and copies within a device.
 * The part is recorded each time, which is to compare each step with that of the last time, and then enqueued by one
 * call of the driver, which is told of the steps that have changed. Where a kind has no graphs, or steps come or go,
 * the steps are enqueued one by one.
 *
 *      neap_launch_graph_record ─▶ neap_run_launch, neap_run_copy, … with `recording` ─▶ neap_launch_graph_run
 *
 * With a run that records, nothing is done; what neap_run_alloc gives belongs to the graph, and has, up to
 * NEAP_LAUNCH_GRAPH_KEPT bytes, the same address the next time. Routines and copies from or to the host fail with
 * NEAP_E_STATE. A launch graph is used by one thread at a time, on one stream, as its memory is. */
enum { NEAP_LAUNCH_GRAPH_KEPT = 1 << 20 };
typedef struct neap_launch_graph neap_launch_graph;
NEAP_API int neap_launch_graph_new(int device, neap_launch_graph **out);
/* What was enqueued of it has been done. */
NEAP_API void neap_launch_graph_free(neap_launch_graph *graph);
/* Begins anew. `recording` is `run`, but for what it is called with. */
NEAP_API void neap_launch_graph_record(neap_launch_graph *graph, const neap_run *run, neap_run *recording);
/* Enqueues what was recorded. */
NEAP_API int neap_launch_graph_run(neap_launch_graph *graph, const neap_run *run);
/* 1: it does not pay. More than half of the steps of its last run had changed, or it is enqueued step by step. */
NEAP_API int neap_launch_graph_is_idle(const neap_launch_graph *graph);

/* ---- What is open ----------------------------------------------------------------------------------------------- */
/* An engine device's kind and its handle; NULL for a number that is none. BORROWED until neap_engine_stop. */
NEAP_API const neap_device_kind *neap_device_kind_of(int device);
NEAP_API neap_device *neap_device_handle(int device);
/* The stream of ops pushed with these flags: that for copies with NEAP_PUSH_COPY, else that for work. NULL without. */
NEAP_API neap_stream *neap_device_stream(int device, uint32_t flags);
/* Why a device cannot do a routine, as the kind's routine_lacks; NULL: it can. */
NEAP_API const char *neap_routine_lacks(int device, const neap_routine *routine);
/* Which libraries a device has for routines, into `text`; empty: its kind gives none to any. */
NEAP_API void neap_device_libraries(int device, char *text, size_t bytes);
/* Code for a device, by its kind's code_new. OWNED, freed before the engine stops. NEAP_E_LIBRARY: the kind has
 * none. */
NEAP_API int neap_code_new(int device, const char *name, const void *image, size_t bytes, neap_code **out);
NEAP_API void neap_code_free(int device, neap_code *code);

/* ---- Joins ------------------------------------------------------------------------------------------------------ */
typedef struct neap_part {
    neap_buffer *from;
    size_t offset, bytes;
} neap_part;
/* Puts parts of buffers one behind the other into each of the targets, which differ from them and from each other. What
 * these held before is forgotten. Between devices that have a collective for it this is one op, which writes all
 * targets: they fail together. Else it is made of copies, some of which may have been pushed when it fails. */
NEAP_API int neap_buffer_join(int ntargets, neap_buffer *const *targets, int nparts, const neap_part *parts,
                              const neap_push *push);
/* Why a join of parts of so many bytes each, between these devices, is made of copies, a clause, BORROWED for ever;
 * NULL: it is a collective. */
NEAP_API const char *neap_collective_lacks(int nsources, const int *sources, size_t bytes, int ntargets,
                                           const int *targets);

/* ---- Plugins ----------------------------------------------------------------------------------------------------- A
 * plugin is a shared object with one symbol that the engine looks for, neap_plugin_open. It is called once, by
 * neap_plugin_load, usually to register a kind of device or a transport, through the table that it is given: a plugin
 * needs no symbol of neap. It is never unloaded: its threads and exit handlers may run to the end of the process. */
typedef struct neap_plugin_host {
    uint32_t abi; /* NEAP_DEVICE_ABI of the engine. Compare it first: only these two members never change */
    int (*error)(int code, const char *format, ...); /* neap_error */
    const char *(*error_text)(void);                 /* neap_error_text */
    int (*device_register)(const neap_device_kind *kind);
    int (*transport_register)(const neap_transport *transport);
    int (*generator_register)(const neap_generator *generator);
} neap_plugin_host;

/* Defined by the plugin. 0, or a negative status after host->error: it cannot work here, and a later load may try
 * again. BORROWED for ever: host. */
NEAP_API int neap_plugin_open(const neap_plugin_host *host);

#endif
