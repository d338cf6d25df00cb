/* host_functions.c: what runs on the host in a stream's order: host functions of CUDA.
 *
 *      WAITS ──driver──▶ RUNS ──▶ DONE          freed when the stream has passed it
 *        └──the device is lost──▶ CANCELLED     kept for ever: the driver may call it still
 *
 * A host function must not call the driver. Ours copy bytes to or from pinned memory, or compute a launch where the
 * driver is one that computes on the host.
 */
#include "engine/cuda/cuda.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { WAITS, RUNS, DONE, CANCELLED };

static void run_work(void *arg) {
    cuda_work *work = arg;
    int waits = WAITS;
    if (!atomic_compare_exchange_strong(&work->state, &waits, RUNS))
        return;
    work->run(work);
    atomic_store(&work->state, DONE);
}

int cuda_work_enqueue(cuda_stream *stream, CUstream in, cuda_work *work, void (*run)(cuda_work *work)) {
    atomic_init(&work->state, WAITS);
    work->run = run;
    int status = cuda_check(stream->device, cuda.cuLaunchHostFunc(in, run_work, work), "cuLaunchHostFunc");
    if (status) {
        free(work);
        return status;
    }
    work->next = stream->passage.works;
    stream->passage.works = work;
    return NEAP_OK;
}

static void keep(cuda_work *work) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static cuda_work *kept;
    pthread_mutex_lock(&mutex);
    work->next = kept;
    kept = work;
    pthread_mutex_unlock(&mutex);
}

void cuda_works_free(cuda_work *works, bool lost) {
    while (works) {
        cuda_work *next = works->next;
        int waits = WAITS;
        if (lost && atomic_compare_exchange_strong(&works->state, &waits, CANCELLED)) {
            keep(works);
        } else {
            while (atomic_load(&works->state) != DONE)
                sched_yield();
            free(works);
        }
        works = next;
    }
}

/* ---- Ops --------------------------------------------------------------------------------------------------------- */

static _Thread_local char owner; /* its address tells threads apart */

static cuda_op **find_link(cuda_stream *stream) {
    cuda_op **link = &stream->ops;
    while (*link && (*link)->owner != &owner)
        link = &(*link)->next;
    return link;
}

cuda_op *cuda_op_find(cuda_stream *stream) {
    cuda_op **link = find_link(stream);
    if (!*link) {
        *link = calloc(1, sizeof **link);
        if (*link)
            (*link)->owner = &owner;
    }
    return *link;
}

cuda_op *cuda_op_take(cuda_stream *stream) {
    cuda_op **link = find_link(stream), *taken = *link;
    if (taken)
        *link = taken->next;
    return taken;
}
