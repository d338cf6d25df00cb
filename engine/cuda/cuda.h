/* cuda.h: what the files of the CUDA backend share.
 *
 *      plugin.c    the kind "cuda": devices, facts            driver.c    libcuda.so.1, found at run time
 *      stream.c    streams, their threads, events             host_functions.c   host functions in a stream's order
 *      memory.c    blocks, copies over pinned memory          launch.c, graph.c   code, launches, graphs of them
 *      libraries.c cuBLAS and its kin, found by need          products.c, systems.c, factors.c, fourier.c,
 *      collectives.c   what NCCL moves between devices        convolutions.c   routines
 *      compiled.c  where the driver keeps machine code
 *
 * Each stream has a thread that waits for the events behind its callbacks and calls them, since a host function of
 * CUDA may call neither the driver nor, therefore, the engine. Contexts are the devices' primary ones, made current for
 * the time of a call (cuda_enter, cuda_leave).
 *
 * A failure of the kind that CUDA calls sticky *loses* the device: every later call on it fails, in every stream, and
 * every callback gets the failure. A stream that has waited for an event of a lost device is broken with it.
 *
 * Locks: a stream's mutex is held while its work is enqueued, so that what belongs together stays together; a device's
 * for its spare events, its last module and its failure, and inside the former. A device's lock for routines of a
 * library is held while one is enqueued, and taken before both. No lock is held in a callback.
 */
#ifndef NEAP_CUDA_H
#define NEAP_CUDA_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#include "engine/cuda/collectives.h"
#include "engine/cuda/driver.h"
#include "engine/cuda/libraries.h"
#include "engine/device.h"

enum { CUDA_TEXT_BYTES = 256 };

enum { CUDA_DEVICES_MOST = 64 };

extern const neap_plugin_host *neap; /* the engine */

typedef struct cuda_failure {
    int status; /* negative, or 0: there is none */
    char text[CUDA_TEXT_BYTES];
} cuda_failure;

typedef struct cuda_event {
    struct cuda_event *next; /* among the spare ones */
    struct cuda_device *device;
    CUevent event;
    uint64_t behind; /* devices in whose collectives the marked stream took part, a bit for each ordinal */
} cuda_event;

struct cuda_module;      /* launch.c */
struct cuda_plan;        /* of a transform, fourier.c */
struct cuda_convolution; /* convolutions.c */

typedef struct cuda_blas {
    _Atomic(cublasHandle_t) handle; /* NULL before the first need, as those below; made under the lock */
    CUstream stream;                /* that it enqueues on */
} cuda_blas;

enum cuda_lock { CUDA_LOCK_BLAS, CUDA_LOCK_SOLVER, CUDA_LOCK_FFT, CUDA_LOCK_DNN, CUDA_LOCKS };

/* What a device holds of the libraries, each under a lock of its own: cuSOLVER waits for the stream in the middle of
 * some routines, and a product should not wait behind. So cuSOLVER's routines have their own handle of cuBLAS. */
typedef struct cuda_libraries {
    pthread_mutex_t locks[CUDA_LOCKS];
    cuda_blas blas, solver_blas;
    _Atomic(cusolverDnHandle_t) solver;
    syevjInfo_t jacobi; /* with the former */
    _Atomic(cudnnHandle_t) dnn;
    CUstream solver_stream, dnn_stream;
    struct cuda_plan *plans;
    struct cuda_convolution *convolutions;
} cuda_libraries;

typedef struct cuda_device {
    int ordinal;
    CUdevice device;
    CUcontext context;
    char target[16]; /* of code: "sm_90" */
    int capability;  /* 90 */
    CUmemoryPool pool;
    CUstream allocations; /* has no work; orders blocks that are for any stream */
    pthread_mutex_t mutex;
    cuda_event *spare;
    struct cuda_module *recent; /* that was loaded last, if it is there; BORROWED */
    _Atomic bool lost;
    cuda_failure failure; /* once lost */
    cuda_libraries libraries;
    struct cuda_stream *collectives; /* NULL before the first one */
} cuda_device;

/* Work on the host that stands in a stream. `state` tells whether the driver has called it: it does not once the device
 * is lost, or does so late. */
typedef struct cuda_work {
    struct cuda_work *next;
    _Atomic int state; /* WAITS, RUNS, DONE, or CANCELLED, host_functions.c */
    void (*run)(struct cuda_work *work);
} cuda_work;

/* How the host functions of an op went: of one thread, from its first launch on the stream to its callback. */
typedef struct cuda_op {
    struct cuda_op *next;
    const void *owner; /* of the thread */
    cuda_failure failure;
} cuda_op;

/* What was enqueued since the last callback, and is looked at when the stream has passed it. */
typedef struct cuda_passage {
    cuda_work *works;
    uint64_t waited;      /* other devices whose work it needed, a bit for each ordinal */
    cuda_op *op;          /* of the thread that ends the passage */
    uint32_t collectives; /* the sets of devices that it was part of, by their numbers (collectives.c) */
} cuda_passage;

typedef struct cuda_item {
    struct cuda_item *next;
    cuda_event *event; /* NULL: the device was lost already */
    cuda_passage passage;
    neap_stream_fn fn;
    void *arg;
} cuda_item;

enum {
    CUDA_STAGING_BLOCKS = 4,
    CUDA_STAGING_BLOCK = 1 << 20, /* bytes */
    CUDA_STAGING_BYTES = CUDA_STAGING_BLOCKS * CUDA_STAGING_BLOCK,
    CUDA_STAGING_EVENTS = 2 * CUDA_STAGING_BLOCKS
};

typedef struct cuda_stream {
    cuda_device *device;
    CUstream stream;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    cuda_item *head, **tail;
    bool ended;
    void *staging;   /* pinned; NULL before the first copy */
    CUstream filler; /* of copies of several chunks (memory.c); NULL before the first, as the events */
    CUevent steps[CUDA_STAGING_EVENTS];
    cuda_passage passage; /* since the last item; without an op */
    cuda_op *ops;         /* that are being enqueued */
    cuda_failure failure; /* broken by another device */
    uint64_t behind;      /* as of an event */
} cuda_stream;

/* ---- driver.c ---------------------------------------------------------------------------------------------------- */
/* Threads that the driver and NCCL start inherit the signals that are blocked. Ctrl-C belongs to the main thread, so
 * calls that may start threads stand between these two. */
sigset_t cuda_signals_block(void);
void cuda_signals_restore(const sigset_t *before);

/* ---- compiled.c -------------------------------------------------------------------------------------------------- */
/* Before the driver starts: names the folder for what it compiles, unless the user has. */
void cuda_choose_cache(void);

/* ---- plugin.c ---------------------------------------------------------------------------------------------------- */
/* Makes the device's context current. 0, or the failure of a lost device, with the error set. */
int cuda_enter(cuda_device *device);
void cuda_leave(void); /* after an enter that succeeded */
/* 0, or the error of a driver's function that was called within the context; loses the device if it must. */
int cuda_check(cuda_device *device, CUresult result, const char *function);
void cuda_lose(cuda_device *device, CUresult result, const char *function);
int cuda_lost(cuda_device *device, cuda_failure *out); /* 0, or the status of its failure, copied */
bool cuda_is_lost(cuda_device *device);                /* asks the driver, too; the caller has not entered */
cuda_device *cuda_device_at(int ordinal);              /* an open one, or NULL */

/* ---- host_functions.c -------------------------------------------------------------------------------------------- */
/* Enqueues work (TAKES) in a stream of CUDA, for which ours waits; the caller holds the mutex of ours and has
 * entered. */
int cuda_work_enqueue(cuda_stream *stream, CUstream in, cuda_work *work, void (*run)(cuda_work *work));
/* Frees what the stream has passed, or, if its device is lost, what it will not do any more. */
void cuda_works_free(cuda_work *works, bool lost);
/* The calling thread's op on the stream, made by need; NULL: no memory. The caller holds the stream's mutex. */
cuda_op *cuda_op_find(cuda_stream *stream);
cuda_op *cuda_op_take(cuda_stream *stream); /* takes it off; NULL: it has launched nothing on the host */

/* ---- stream.c ---------------------------------------------------------------------------------------------------- */
int cuda_stream_new(neap_device *device, uint32_t flags, neap_stream **out);
void cuda_stream_free(neap_device *device, neap_stream *stream);
int cuda_stream_then(neap_device *device, neap_stream *stream, neap_stream_fn fn, void *arg);
int cuda_stream_sync(neap_device *device, neap_stream *stream);
int cuda_event_new(neap_device *device, neap_stream *stream, neap_event **out);
void cuda_event_free(neap_device *device, neap_event *event);
int cuda_stream_wait(neap_device *device, neap_stream *stream, neap_event *event);
void cuda_events_free(cuda_device *device); /* the spare ones; the caller has entered */

/* ---- memory.c ---------------------------------------------------------------------------------------------------- */
int cuda_alloc(neap_device *device, neap_stream *stream, size_t bytes, void **out);
void cuda_free(neap_device *device, neap_stream *stream, void *memory, size_t bytes);
/* Of `bytes` from the device's pool, in the order of a stream. The caller has entered. */
int cuda_pool_alloc(cuda_device *device, CUstream stream, size_t bytes, CUdeviceptr *out);
int cuda_copy(neap_device *device, neap_stream *stream, int direction, void *to, const void *from, size_t bytes);
int cuda_copy_peer(neap_device *device, neap_stream *stream, void *to, neap_device *source, const void *from,
                   size_t bytes);
/* Makes the stream's pinned memory, if there is none. Users hold the stream's mutex until all is enqueued, and keep to
 * the order of the stream. */
int cuda_staging_make(cuda_stream *stream);
void cuda_staging_free(cuda_stream *stream); /* the caller has entered */

/* ---- launch.c ---------------------------------------------------------------------------------------------------- */
int cuda_code_new(neap_device *device, const char *name, const void *image, size_t bytes, neap_code **out);
void cuda_code_free(neap_device *device, neap_code *code);
int cuda_launch(neap_device *device, neap_stream *stream, const neap_launch *launch);
enum { CUDA_FEW_PARAMETERS = 32 }; /* for which there is room on the stack */
/* Points at the parameters of a launch of code, whose function is told. The caller has entered. */
int cuda_launch_parameters(cuda_device *device, const neap_launch *launch, void **parameters, CUfunction *function);

/* ---- graph.c ----------------------------------------------------------------------------------------------------- */
int cuda_graph_new(neap_device *device, int n, const neap_graph_step *steps, neap_graph **out);
int cuda_graph_change(neap_device *device, neap_graph *graph, int k, const neap_graph_step *step);
int cuda_graph_run(neap_device *device, neap_stream *stream, neap_graph *graph);
void cuda_graph_free(neap_device *device, neap_graph *graph);

/* ---- libraries.c ------------------------------------------------------------------------------------------------- */
const char *cuda_routine_lacks(neap_device *device, const neap_routine *routine);
int cuda_routine_run(neap_device *device, neap_stream *stream, const neap_routine *routine);
const char *cuda_nccl_lacks(void);            /* NULL, or why there is no NCCL, for ever */
const char *cuda_keep_text(const char *text); /* a copy that is kept for ever: of few texts */
void cuda_device_libraries(neap_device *device, char *text, size_t bytes);
void cuda_libraries_make(cuda_device *device); /* what the device holds of them: nothing */
void cuda_libraries_free(cuda_device *device); /* the caller has entered, or the device was never open */
/* 0, or the error of a library's function, whose status has a name, if we know one; `memory`: it says that memory is
 * short. */
int cuda_library_error(cuda_stream *stream, const char *function, const char *status, bool memory);
/* Scratch memory of a routine, in the order of the stream; the caller has entered. */
int cuda_scratch_alloc(cuda_stream *stream, size_t bytes, CUdeviceptr *out);
void cuda_scratch_free(cuda_stream *stream, CUdeviceptr memory); /* 0: nothing */
static inline CUdeviceptr cuda_address(const void *memory, int64_t bytes) {
    return (CUdeviceptr)(uintptr_t)memory + (CUdeviceptr)bytes;
}

/* ---- collectives.c ----------------------------------------------------------------------------------------------- */
const char *cuda_collective_lacks(const neap_collective *collective);
int cuda_collective_run(neap_device *device, neap_stream *stream, const neap_collective *collective);
/* Lets a stream wait for all collectives that its device takes part in by now. The caller has not entered. */
int cuda_collectives_await(cuda_stream *stream);
/* Aborts those of the sets that have failed. The caller has not entered. */
void cuda_collectives_watch(uint32_t sets);
/* The same, once a stream is past its part in them; the failure, if there is one. */
void cuda_collectives_settle(uint32_t sets, cuda_failure *out);
/* Frees the sets that the device belongs to, and its stream. The caller has not entered. */
void cuda_collectives_free(cuda_device *device);

/* ---- products.c, systems.c and their kin: the caller has entered, and holds the lock of the library -------------- */
enum { CUDA_ROWS_MOST = 30000 /* of matrices that are factored: their bytes count in 64 bits, their elements in 32 */ };
/* Makes the device's handles, if there are none. NULL, or the name of the library's status. */
const char *cuda_blas_start(cuda_device *device);
const char *cuda_solver_start(cuda_device *device);
const char *cuda_dnn_start(cuda_device *device);
cublasStatus_t cuda_blas_open(cuda_blas *blas);
/* The handle, made by need, which enqueues on the stream. */
int cuda_blas_take(cuda_stream *stream, cuda_blas *blas, cublasHandle_t *out);
int cuda_blas_check(cuda_stream *stream, cublasStatus_t status, const char *function);
int cuda_blas_type(const neap_routine *routine);                      /* CUBLAS_S, … */
int64_t cuda_blas_bytes(const neap_routine *routine);                 /* of an element */
const void *cuda_blas_number(const neap_routine *routine, int value); /* a factor, 0 or 1, on the host */
int cuda_product_run(cuda_stream *stream, const neap_routine *routine);
int cuda_triangular_run(cuda_stream *stream, const neap_routine *routine);
int cuda_system_run(cuda_stream *stream, const neap_routine *routine);
int cuda_factor_run(cuda_stream *stream, const neap_routine *routine);
int cuda_fourier_run(cuda_stream *stream, const neap_routine *routine);
void cuda_plans_free(cuda_device *device);
int cuda_convolution_run(cuda_stream *stream, const neap_routine *routine);
bool cuda_convolution_is_too_large(const neap_routine *routine);
/* Of one of halves: NULL, or why cuDNN does not do it. */
const char *cuda_convolution_lacks(cuda_device *device, const neap_routine *routine);
/* What the device holds of cuDNN. */
void cuda_convolutions_free(cuda_device *device);

#endif
