/* engine.h: public interface of the engine room.
 *
 * The engine runs functions asynchronously, ordered by their reads and writes. A *variable* stands for anything with
 * readers and writers: a buffer, a token, the state of a generator, a communicator. The engine never looks at the data
 * behind a variable. Each variable has a queue:
 *
 *      var ──▶ [write #1 running] ─ [read] [read] [read] ─ [write #2] ─ [read] …
 *                                   └ run together, after #1, before #2 ┘
 *
 * An op is ready at the front of all its queues. Ready ops go to a device, a queue over a pool of worker threads. A
 * process has a single engine; several threads may push.
 *
 * This file is plain C for LuaJIT's ffi.cdef (with NEAP_CDEF defined, after the preprocessor).
 */
#ifndef NEAP_ENGINE_H
#define NEAP_ENGINE_H

#ifndef NEAP_CDEF
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef NEAP_CDEF
#define NEAP_API
#else
#define NEAP_API __attribute__((visibility("default")))
#endif

/* ---- Status ----------------------------------------------------------------------------------------------------
 * Every fallible function returns 0 or a negative code and leaves the detail in the calling thread's error text.
 * The two positive codes ask the caller to do something and call again. */
#define NEAP_STATUS_ROWS(X)                                                                                            \
    X(E_ARGUMENT, -1, "bad argument")                                                                                  \
    X(E_SHAPE, -2, "shapes do not fit")                                                                                \
    X(E_DTYPE, -3, "dtype does not fit")                                                                               \
    X(E_INDEX, -4, "index out of range")                                                                               \
    X(E_HANDLE, -5, "stale or foreign handle")                                                                         \
    X(E_STATE, -6, "not possible in this state")                                                                       \
    X(E_MEMORY, -7, "out of memory")                                                                                   \
    X(E_IO, -8, "input or output failed")                                                                              \
    X(E_FAILED, -9, "an earlier operation failed")                                                                     \
    X(E_INTERRUPT, -10, "interrupted")                                                                                 \
    X(E_TRACE, -11, "value not known while tracing")                                                                   \
    X(E_LIBRARY, -12, "a library is missing or failed")                                                                \
    X(E_INTERNAL, -13, "internal error")

enum {
#define NEAP_STATUS_ENUM(name, code, text) NEAP_##name = code,
    NEAP_STATUS_ROWS(NEAP_STATUS_ENUM)
#undef NEAP_STATUS_ENUM
        NEAP_OK = 0,
    NEAP_PENDING = 1,  /* would wait: nothing was changed, pump and call again */
    NEAP_SAFEPOINT = 2 /* done, and the caller has something to do first (neap_safepoint in lazy.h) */
};

/* Sets the calling thread's error text (printf format) and returns `code`, so `return neap_error(NEAP_E_SHAPE, …)`. */
NEAP_API int neap_error(int code, const char *format, ...);
/* The calling thread's last error text. BORROWED until the thread's next failing call. */
NEAP_API const char *neap_error_text(void);
/* The code of that error. */
NEAP_API int neap_error_code(void);
/* The fixed text of a status code, "unknown status" for others. BORROWED forever. */
NEAP_API const char *neap_status_text(int code);

/* ---- Engine ---------------------------------------------------------------------------------------------------- */
enum {
    NEAP_SCHEDULER_POOL = 0,  /* a single pool of threads; devices are queues */
    NEAP_SCHEDULER_NAIVE = 1, /* no threads: every op runs at its push, on the pushing thread (the oracle) */
    NEAP_SCHEDULER_DEVICE = 2 /* a pool for each device, whose ops run on no other threads */
};

typedef struct neap_engine_config {
    int workers;      /* threads of a pool; 0: NEAP_WORKERS of the environment, else as many as cores for this process,
                       * within its CPU quota (by device: 1) */
    int devices;      /* CPU devices; 0: 1 */
    int scheduler;    /* NEAP_SCHEDULER_… */
    uint64_t shuffle; /* not 0: seeds a pseudo-random order of ready ops, to find hidden orders */
} neap_engine_config;

/* Starts the engine; config may be NULL. A second start returns NEAP_E_STATE. Threads are started on first need. */
NEAP_API int neap_engine_start(const neap_engine_config *config);
/* Waits for all ops, but for ops that other threads run at the push; then joins the workers and trims the pools.
 * Harmless when not started, or inside an op. In a fork's child the engine is dead: every call returns NEAP_E_STATE
 * with a text about the fork. */
NEAP_API void neap_engine_stop(void);
NEAP_API int neap_engine_workers(void);
/* The number of CPU devices, which are 0, 1, … */
NEAP_API int neap_engine_devices(void);

/* ---- Variables ------------------------------------------------------------------------------------------------- */
typedef struct neap_var neap_var;
typedef struct neap_waker neap_waker; /* to be woken from any thread: an eventfd */

NEAP_API int neap_var_new(neap_var **out); /* OWNED */
/* Gives the variable up. The engine destroys it once every op pushed before this call has finished. */
NEAP_API void neap_var_delete(neap_var *var);
/* The number of completed writes. */
NEAP_API uint64_t neap_var_version(const neap_var *var);
/* Does not wait. NEAP_OK: all pushed writes have completed. NEAP_PENDING: not yet; `waker` (may be NULL) is woken then.
 * Negative: the variable's failure, with its text; a failure is *not* consumed. */
NEAP_API int neap_var_poll(neap_var *var, neap_waker *waker);
/* The variable's failure, for an op that reads the variable and has begun, whatever writes were pushed behind the op.
 * NEAP_OK: no failure. */
NEAP_API int neap_var_failure(neap_var *var);
/* The caller has told of the variable's failure, if there is any: neap_wait_all will not return the failure. */
NEAP_API void neap_var_told(neap_var *var);
/* 1: a read of the variable, by an op pushed now to this device, waits for nothing but streams that the device's stream
 * can follow, and for ops that wait for nothing else; none has failed. So other work of the same op waits for no more
 * either. 0: otherwise. */
NEAP_API int neap_var_is_sure(neap_var *var, int device);
/* Waits for all pushed writes (wait_to_read), or for all pushed reads and writes (wait_to_write), and works meanwhile:
 * runs small and brief ops, parts of loops, and the awaited ops. For C programs; Lua polls. Return the variable's
 * failure, unless an earlier wait has reported the failure: each is reported once. */
NEAP_API int neap_var_wait_to_read(neap_var *var);
NEAP_API int neap_var_wait_to_write(neap_var *var);

/* ---- Ops ------------------------------------------------------------------------------------------------------- */
typedef struct neap_stream neap_stream; /* of a device (device.h); work on it is done in order */

typedef struct neap_run { /* where an op runs: the run-context */
    int device;
    int worker;          /* 0 … workers-1; -1: a thread outside the pool, at the op's push or during a wait */
    uint32_t epoch;      /* for neap_run_cancelled */
    neap_stream *stream; /* where the op enqueues its work; NULL on a CPU device, where the op does the work */
    struct neap_launch_graph *graph; /* records the work instead (device.h); NULL: does not */
} neap_run;

typedef struct neap_completion neap_completion;
/* Work of a sync op. Returns 0, or a negative status after neap_error() on its own thread. On a device with streams the
 * function may return NEAP_PENDING: there is more to enqueue, and the engine calls again, on any thread, when the
 * stream has done the work so far; so an op of any length limits its work under way. */
typedef int (*neap_sync_fn)(void *arg, const neap_run *run);
/* Work of an async op: returns at once; somebody calls neap_complete exactly once, from any thread. */
typedef void (*neap_async_fn)(void *arg, const neap_run *run, neap_completion *done);
/* status: 0, or a negative code right after neap_error() on this thread. */
NEAP_API void neap_complete(neap_completion *done, int status);

enum {
    NEAP_PUSH_SMALL = 1,  /* a few microseconds at most: may run at its push, or on any waiting thread */
    NEAP_PUSH_ALWAYS = 2, /* runs even if an input failed, and does not pass the failure on (tokens, frees) */
    NEAP_PUSH_COPY = 4,   /* moves data between devices: has a stream of its own where the device has streams */
    NEAP_PUSH_WIDE = 8    /* has enough work for all workers, and splits the work: little else runs meanwhile */
};

typedef struct neap_push {      /* everything about a push but its work; zero is a default for each field */
    const char *name;           /* for traces and errors. BORROWED until the op has finished */
    const char *site;           /* "script.lua:12", may be NULL. BORROWED until the op has finished */
    void (*release)(void *arg); /* called once when the op has finished or was skipped */
    int device, priority;
    uint32_t flags;
    int nreads, nwrites;
    int nfresh; /* how many of the writes, from the first, begin anew: an earlier failure is forgotten. Writes after
                 * a failure that a wait had reported before this push begin anew, too. */
    /* The arrays are copied. A variable twice in a push is NEAP_E_ARGUMENT: a write may read as well, so a written
     * variable stands in `writes` alone. */
    neap_var *const *reads;
    neap_var *const *writes;
    int64_t bytes, cost; /* bytes of its outputs, and estimated ns of work: run-ahead until the op has finished */
} neap_push;

/* Push never waits for other work. On failure nothing was pushed and `release` was not called. */
NEAP_API int neap_push_sync(neap_sync_fn fn, void *arg, const neap_push *push);
/* Runs the op on this thread at once if a push would do so: NEAP_OK. Else returns NEAP_PENDING, nothing has happened,
 * and the op has to be pushed. A caller may try this first, and allocate for a waiting op only afterwards. */
NEAP_API int neap_push_now(neap_sync_fn fn, void *arg, const neap_push *push);
NEAP_API int neap_push_async(neap_async_fn fn, void *arg, const neap_push *push);

/* An op to be pushed again and again: its variables are checked and put in order once. `push` as above, but in use
 * until the operator's end: name, site and variables are BORROWED until then, and release(arg) is called once, after
 * the end of the last push. */
typedef struct neap_operator neap_operator;
NEAP_API int neap_operator_new(neap_sync_fn fn, void *arg, const neap_push *push, neap_operator **out); /* OWNED */
NEAP_API int neap_operator_new_async(neap_async_fn fn, void *arg, const neap_push *push, neap_operator **out);
NEAP_API int neap_operator_push(neap_operator *op, int device, int priority);
/* Its pushes up to here still run. */
NEAP_API void neap_operator_delete(neap_operator *op);

/* Bulking: from now on up to `most` small sync ops in a row, which this thread pushes to one device and which cannot
 * run at once, are joined and run as one; order, versions and failures are as if each had been pushed alone. Other
 * threads see joined ops at the latest when the bulk is full, when this thread pushes an op that cannot join, deletes a
 * variable, polls, waits or calls this again. Since they run as one, each waits for what any of them waits for: whoever
 * completes an async op only after a result of ops that were joined must not let ops that wait for it join them. 0
 * turns it off. Returns the number before. */
NEAP_API int neap_bulk(int most);

/* Running ahead of the workers: NEAP_OK while the bytes and costs of unfinished ops are within the budget; else
 * NEAP_PENDING, and `waker` (may be NULL) is woken when half of it is free. This refuses no push: it is for callers
 * that can pause. An op of a cost or of bytes above the budget is admitted as any other. */
NEAP_API int neap_ahead_poll(neap_waker *waker);
/* The bytes of unfinished ops: memory that comes back by waiting. */
NEAP_API int64_t neap_ahead_bytes(void);
/* The budget; 0 keeps a default: 64 MiB, and 25 ms for each worker. */
NEAP_API void neap_ahead_limit(int64_t bytes, int64_t ns);

/* Gives up all work pushed so far: ops that have not started do not run and fail with NEAP_E_INTERRUPT (those pushed
 * with NEAP_PUSH_ALWAYS run); running ones are asked to stop. Async-signal-safe. */
NEAP_API void neap_engine_cancel(void);
/* Not 0: the op was asked to stop; under the naive scheduler by an interrupt, too. It may return at any time, with any
 * status; it fails with NEAP_E_INTERRUPT. neap_parallel_for looks itself, between its indices. */
NEAP_API int neap_run_cancelled(const neap_run *run);

/* Waits for everything whose push has returned, by any thread; returns the first failure that no wait has reported
 * and forgets the others. */
NEAP_API int neap_wait_all(void);
/* Same without waiting: NEAP_PENDING registers the waker. */
NEAP_API int neap_poll_all(neap_waker *waker);
/* Runs ready work that is small, or whose estimated cost is short, on the calling thread: at most about budget_ns, one
 * op at least if there is any. Returns how many ops it ran. */
NEAP_API int neap_engine_help(int64_t budget_ns);

/* Splits [0, n) over the workers, and over threads that wait, from inside an op: fn(arg, i, run) for every i, each
 * exactly once; returns when all are done. The calling thread takes part. The assignment of i to threads must not
 * influence results. */
NEAP_API void neap_parallel_for(const neap_run *run, int64_t n, void (*fn)(void *arg, int64_t i, const neap_run *run),
                                void *arg);

/* ---- The timeline ------------------------------------------------------------------------------------------------
 * A record of every op: where and when it ran, its name, script line and bytes, written as a Chrome trace (JSON object
 * format of the "Trace Event Format"), which Perfetto and chrome://tracing open. */
/* Starts recording into the file `path`. NEAP_E_IO: cannot be written; NEAP_E_STATE: one is being recorded. */
NEAP_API int neap_timeline_start(const char *path);
/* Ends the recording and closes the file, complete; harmless without one. NEAP_E_IO: not everything was written. */
NEAP_API int neap_timeline_stop(void);

/* ---- Wakers and interrupts ------------------------------------------------------------------------------------- */
NEAP_API int neap_waker_new(neap_waker **out); /* OWNED */
NEAP_API void neap_waker_free(neap_waker *waker);
NEAP_API int neap_waker_fd(const neap_waker *waker); /* readable when woken */
NEAP_API void neap_waker_wake(neap_waker *waker);    /* async-signal-safe */
NEAP_API void neap_waker_clear(neap_waker *waker);   /* clear before draining what it announces */
/* Sleeps until the waker is woken or timeout_ms passed (the one place where the Lua thread sleeps), also when a signal
 * arrives. Returns 1 if woken, else 0. */
NEAP_API int neap_waker_sleep(neap_waker *waker, int timeout_ms);

/* The process-wide interrupt count: raise is async-signal-safe (SIGINT's handler calls it); 0 after clear. */
NEAP_API void neap_interrupt_raise(void);
NEAP_API int neap_interrupt_pending(void);
NEAP_API void neap_interrupt_clear(void);

/* ---- Devices ---------------------------------------------------------------------------------------------------
 * The CPU devices are there from the start. Devices of other kinds (device.h), which plugins bring, are opened by need
 * and get the numbers behind them; they stay open until the engine stops. */
typedef struct neap_device_facts {
    char name[64];         /* of the hardware */
    uint64_t memory_bytes; /* in all; 0: not known */
    uint64_t memory_free;  /* now, for whoever asks the system for it, of any process; 0: not known */
    int host_memory;       /* not 0: the CPU can touch its memory */
    int units;             /* that compute side by side: cores, multiprocessors; 0: not known */
} neap_device_facts;

/* Opens device `index` of a kind ("cuda", 0), or finds it open, and gives its number. For a kind that is not known yet
 * the plugin of its name is loaded (neap_plugin_load), and that loads the driver: "cuda" needs nothing but its name.
 * NEAP_E_ARGUMENT: no such kind or device, or the plugin is missing. */
NEAP_API int neap_device_open(const char *kind, int index, int *device);
/* The number of a device that is open, by its name: "cpu:1", "cuda:0". */
NEAP_API int neap_device_find(const char *name, int *device);
/* "cpu:1"; NULL for a number that is none. BORROWED until the engine stops. */
NEAP_API const char *neap_device_name(int device);
NEAP_API int neap_device_count(void); /* devices of all kinds that are open */
/* The number of the memory that the device computes on: 0 is that of the CPU devices, which share it; any other device
 * has its own, whose number is the device's. An address is good on devices of its memory alone. */
NEAP_API int neap_device_memory_space(int device);
NEAP_API int neap_device_get(int device, neap_device_facts *out);
/* Loads a plugin, for ever: a path, if it holds a slash; else a name, "cuda" for neap_cuda.so, which is looked for in
 * the folders of the environment's NEAP_PLUGIN_PATH, or without it in the folder of neap or libneap, neap/ in it, and
 * beside it ../lib/neap and ../lib/lua/5.1/neap, LuaRocks' place. A plugin that was loaded before is left as it is.
 * NEAP_E_LIBRARY: not found, not a plugin, of another version, or it says that it cannot work here. */
NEAP_API int neap_plugin_load(const char *path_or_name);

/* ---- Buffers ---------------------------------------------------------------------------------------------------
 * Memory with a variable. Blocks are 64-byte aligned, pooled by size class, and backed by huge pages when large.
 * Reference-counted from any thread: an op that uses a buffer holds a reference until it has finished, so memory
 * returns to the pool only after its last use. */
typedef struct neap_buffer neap_buffer;

/* SHARED, one reference. NEAP_E_MEMORY when the allocation or the limit of neap_memory_limit fails; contents are
 * undefined. bytes may be 0. */
NEAP_API int neap_buffer_new(int device, size_t bytes, neap_buffer **out);
/* The same in the order of ops, for a caller who touches the buffer by ops alone, of which the first writes it and
 * comes behind so many others (ahead). A large buffer may be one that only ops in flight still use (lent references),
 * and the write waits for these. Such ops were pushed long enough before, or are so wide, that hardly anything could
 * have run in between; none of them is async, or moves data between devices. */
NEAP_API int neap_buffer_new_ordered(int device, size_t bytes, int ahead, neap_buffer **out);
/* From how many bytes on that may be; 0: as at the start. For tests. */
NEAP_API void neap_buffer_ordered_from(int64_t bytes);
/* SHARED, one reference: a buffer over memory of somebody else, in the memory of the CPU devices, that nobody writes
 * while it lives: neap does not, and it counts as nobody's own (neap_buffer_sole, neap_buffer_owned). `release` (may be
 * NULL) gets `arg`, on any thread, after its last use. An error calls nothing. It counts in no statistics. */
NEAP_API int neap_buffer_borrow(const void *data, size_t bytes, void (*release)(void *arg), void *arg,
                                neap_buffer **out);
/* The same over a whole file, read when it is touched. If the file shrinks while it is mapped, touching what it had is
 * SIGBUS, which ends the process. NEAP_E_IO. */
NEAP_API int neap_buffer_map(const char *path, neap_buffer **out);
NEAP_API neap_buffer *neap_buffer_retain(neap_buffer *buffer);
NEAP_API void neap_buffer_release(neap_buffer *buffer);
/* BORROWED; valid to touch as the variable allows. An address in the memory of the buffer's device. */
NEAP_API void *neap_buffer_data(const neap_buffer *buffer);
NEAP_API size_t neap_buffer_bytes(const neap_buffer *buffer);
NEAP_API int neap_buffer_device(const neap_buffer *buffer);
NEAP_API neap_var *neap_buffer_var(const neap_buffer *buffer); /* BORROWED with the buffer */
/* A number that stands for what the buffer holds, once all pushed writes have completed: no other content of any buffer
 * has ever had it. So two contents can be compared, and nothing is kept alive by that. Who pushes a write over content
 * that was complete before takes the mark away: neap_buffer_unmark. */
NEAP_API uint64_t neap_buffer_mark(neap_buffer *buffer);
NEAP_API void neap_buffer_unmark(neap_buffer *buffer);
/* Pushes a copy of all bytes of `from` to the beginning of `to`, which may be on other devices: the op reads `from`,
 * writes `to`, and holds both until it has finished. Name, site and priority come from `push` (may be NULL), whose
 * other fields are ignored. NEAP_E_SHAPE: `to` is too small. */
NEAP_API int neap_buffer_copy(neap_buffer *to, neap_buffer *from, const neap_push *push);
/* The same for `bytes` bytes of `from`, from its byte `offset` on. What `to` held before is forgotten, even a failure.
 * NEAP_E_SHAPE: `from` has fewer bytes. */
NEAP_API int neap_buffer_copy_part(neap_buffer *to, neap_buffer *from, size_t offset, size_t bytes,
                                   const neap_push *push);

/* Not 0: the caller's reference is the only one, so nobody else uses the buffer, and no op in flight does. */
NEAP_API int neap_buffer_sole(const neap_buffer *buffer);
/* Take and give back a reference for an op in flight, which uses the buffer only in the order of its variable. */
NEAP_API neap_buffer *neap_buffer_lend(neap_buffer *buffer);
NEAP_API void neap_buffer_return(neap_buffer *buffer);
/* Not 0: the caller's reference is the only one that is not lent. Then an op that the caller pushes may write over it.
 * The caller must be the only thread that makes others owners. */
NEAP_API int neap_buffer_owned(const neap_buffer *buffer);

typedef struct neap_memory_stats { /* of one memory; a buffer counts with the whole of its block */
    uint64_t live_bytes;           /* in buffers that somebody holds, or that work in flight uses */
    uint64_t peak_bytes;           /* the highest live_bytes so far, or since neap_memory_reset_peak */
    uint64_t pooled_bytes;         /* free blocks kept for reuse */
    uint64_t reserved_bytes;       /* both: what was taken from the system or the device */
    uint64_t limit_bytes;          /* 0: none */
    uint64_t allocations;          /* buffers made so far */
    uint64_t made, returned;       /* blocks got from the system or device, and blocks given back */
} neap_memory_stats;
NEAP_API void neap_memory_get(neap_memory_stats *out);               /* of the CPU devices, which share their memory */
NEAP_API int neap_device_memory(int device, neap_memory_stats *out); /* of any device's memory */
NEAP_API uint64_t neap_memory_live(void);                            /* live bytes of all devices */
NEAP_API uint64_t neap_memory_made(void);                            /* bytes of all blocks that were got so far */
NEAP_API void neap_memory_reset_peak(void);      /* on all devices: from now on, the peak is what comes */
NEAP_API void neap_memory_limit(uint64_t bytes); /* of the CPU devices' memory; 0: none */
/* Gives pooled blocks back to the system, on all devices. Blocks that were unused for some seconds are given back
 * without this call. */
NEAP_API void neap_memory_trim(void);

typedef struct neap_engine_counts { /* counters that tests assert on */
    uint64_t pushed, completed, inlined, skipped;
} neap_engine_counts;
NEAP_API void neap_engine_count(neap_engine_counts *out);

#endif
