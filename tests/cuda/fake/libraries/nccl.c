/* nccl.c: stands in for NCCL in tests, as libnccl.so.2: what is moved in a group is moved by the threads of the
 * streams, which wait for each other, as kernels of NCCL do: where one of them never comes, since its device is lost,
 * the others wait until their communicators are aborted. It has no functions that add.
 *
 * It aborts at groups that hang with the real one: ranks that are missing or do something else, sends that nobody
 * receives; two groups at a time; streams and memory of other devices than the communicator's; what is left.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cuda/collectives.h"
#include "tests/cuda/fake/library.h"

#define DECLARED(name, parameters) CUresult name parameters; /* the fake driver has them */
CUDA_DRIVER_FUNCTIONS(DECLARED)

#pragma GCC visibility push(default)

enum { CALLS_MOST = 256 };

typedef struct clique {
    struct clique *next; /* of those that were aborted, which stay: meetings know them */
    int n, left;         /* communicators that are there */
    bool aborted;
} clique;

struct ncclComm {
    clique *of;
    int rank;
    CUcontext context;
};

typedef enum call_kind { ALL_GATHER, BROADCAST, SEND, RECEIVE } call_kind;

typedef struct call {
    call_kind kind;
    const char *name;
    ncclComm_t comm;
    int rank; /* of the communicator, which may go before the call is done */
    const void *from;
    void *to;
    size_t bytes;
    int peer; /* or root */
    CUstream stream;
} call;

typedef struct meeting { /* a group that was enqueued; those that were aborted stay */
    struct meeting *next;
    clique *of;
    int ranks, arrived, gone;
    int busy; /* ranks that move something just now */
    bool hangs;
    int ncalls;
    call calls[];
} meeting;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static meeting *meetings;
static clique *aborted_cliques;
static bool next_hangs; /* and NCCL tells a failure then */
static bool failure_is_met;
static bool grouped; /* somebody has a group open */
static _Thread_local bool own_group;
static call open_calls[CALLS_MOST];
static size_t nopen;
static ncclResult_t open_failure; /* of a call in the group, which then does nothing */

/* ---- For tests --------------------------------------------------------------------------------------------------- */

/* The next group never ends by itself: NCCL meets a failure in it. */
void fake_nccl_hang(void) {
    pthread_mutex_lock(&mutex);
    next_hangs = true;
    pthread_mutex_unlock(&mutex);
}

/* ---- Communicators ----------------------------------------------------------------------------------------------- */

static ncclResult_t status_of(CUresult result) {
    return result == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}

/* NCCL comes back to the current device, which is device 0 where there is none: that makes a context for it. */
static void check_current(const char *name) {
    if (!fake_library_context())
        fake_complain("%s is called without a current context, so it makes one on device 0", name);
}

/* A call that may fail, on a communicator's device. */
static ncclResult_t call_on(const char *name, CUcontext context) {
    CUcontext before;
    cuCtxPushCurrent_v2(context);
    CUresult result = fake_library_call(name);
    cuCtxPopCurrent_v2(&before);
    return status_of(result);
}

static void hold(CUcontext context, int change) {
    CUcontext before;
    cuCtxPushCurrent_v2(context);
    fake_library_holds(change);
    cuCtxPopCurrent_v2(&before);
}

const char *ncclGetErrorString(ncclResult_t result) {
    return result == ncclUnhandledCudaError ? "unhandled cuda error"
           : result == ncclRemoteError      ? "remote process exited or there was a network error"
                                            : "another failure";
}

ncclResult_t ncclGetVersion(int *version) {
    *version = 22803;
    return ncclSuccess;
}

static void free_communicator(ncclComm_t comm) {
    hold(comm->context, -1);
    pthread_mutex_lock(&mutex);
    clique *of = comm->of;
    bool last = --of->left == 0 && !of->aborted;
    pthread_mutex_unlock(&mutex);
    if (last)
        free(of);
    free(comm);
}

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *ordinals) {
    check_current(__func__);
    fake_check_signals(__func__);
    clique *of = calloc(1, sizeof *of);
    of->n = n;
    ncclResult_t result = ncclSuccess;
    for (int rank = 0; rank < n && !result; rank++) {
        CUcontext context;
        for (int k = 0; k < rank; k++)
            if (ordinals[k] == ordinals[rank])
                fake_complain("%s: a device stands twice", __func__);
        if (n < 2)
            fake_complain("%s: what the backend never asks for", __func__);
        if ((result = status_of(cuDevicePrimaryCtxRetain(&context, ordinals[rank]))) != ncclSuccess)
            break;
        cuDevicePrimaryCtxRelease_v2(ordinals[rank]);
        comms[rank] = calloc(1, sizeof *comms[rank]);
        *comms[rank] = (struct ncclComm){of, rank, context};
        of->left++;
        hold(context, 1);
        result = call_on(__func__, context);
    }
    const int made = of->left;
    for (int rank = 0; rank < made && result; rank++)
        free_communicator(comms[rank]);
    if (made == 0)
        free(of);
    return result;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    check_current(__func__);
    pthread_mutex_lock(&mutex);
    for (const meeting *m = meetings; m; m = m->next)
        if (m->of == comm->of && !m->of->aborted)
            fake_complain("%s: a group is under way", __func__);
    pthread_mutex_unlock(&mutex);
    free_communicator(comm);
    return ncclSuccess;
}

/* Does any rank of it move something? */
static bool is_busy(const clique *of) {
    bool busy = false;
    for (const meeting *m = meetings; m; m = m->next)
        busy = busy || (m->of == of && m->busy > 0);
    return busy;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
    check_current(__func__);
    pthread_mutex_lock(&mutex);
    if (!comm->of->aborted) {
        comm->of->next = aborted_cliques;
        aborted_cliques = comm->of;
    }
    comm->of->aborted = true;
    failure_is_met = false;
    pthread_cond_broadcast(&changed);
    while (is_busy(comm->of))
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    free_communicator(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *failure) {
    check_current(__func__);
    pthread_mutex_lock(&mutex);
    *failure = comm->of->aborted ? ncclInvalidUsage : failure_is_met ? ncclRemoteError : ncclSuccess;
    pthread_mutex_unlock(&mutex);
    return ncclSuccess;
}

/* ---- What the threads of streams do ------------------------------------------------------------------------------ */

/* What is in its place already is not touched, which others may read meanwhile. */
static void copy(void *to, size_t at, const void *from, size_t bytes) {
    if ((char *)to + at != (const char *)from)
        memmove((char *)fake_library_address((char *)to + at), fake_library_address(from), bytes);
}

/* What a rank receives. */
static void receive(const meeting *m, int rank) {
    for (int k = 0; k < m->ncalls; k++) {
        const call *own = &m->calls[k];
        if (own->rank != rank || own->kind == SEND)
            continue;
        for (int j = 0; j < m->ncalls; j++) {
            const call *other = &m->calls[j];
            if (own->kind == ALL_GATHER)
                copy(own->to, (size_t)other->rank * own->bytes, other->from, own->bytes);
            else if (own->kind == BROADCAST && other->rank == own->peer)
                copy(own->to, 0, other->from, own->bytes);
            else if (own->kind == RECEIVE && other->kind == SEND && other->rank == own->peer && other->peer == rank)
                copy(own->to, 0, other->from, own->bytes);
        }
    }
}

static void end_meeting(meeting *m) {
    meeting **link = &meetings;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    free(m);
}

/* A kernel of one rank: nobody moves anything before all are there, nor leaves before all have what they wanted. */
static void meet_others(void *const *buffers, const uint64_t *words, uint64_t group) {
    meeting *m = (meeting *)(uintptr_t)words[0];
    (void)buffers, (void)group;
    pthread_mutex_lock(&mutex);
    m->arrived++;
    pthread_cond_broadcast(&changed);
    while ((m->arrived < m->ranks || m->hangs) && !m->of->aborted)
        pthread_cond_wait(&changed, &mutex);
    if (m->of->aborted) {
        pthread_mutex_unlock(&mutex);
        return;
    }
    m->busy++;
    pthread_mutex_unlock(&mutex);
    receive(m, (int)words[1]);
    pthread_mutex_lock(&mutex);
    m->busy--;
    m->gone++;
    pthread_cond_broadcast(&changed);
    while (m->gone < m->ranks && !m->of->aborted)
        pthread_cond_wait(&changed, &mutex);
    if (!m->of->aborted && ++m->gone == 2 * m->ranks)
        end_meeting(m);
    pthread_mutex_unlock(&mutex);
}

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

ncclResult_t ncclGroupStart(void) {
    check_current(__func__);
    pthread_mutex_lock(&mutex);
    if (grouped)
        fake_complain("%s: two groups at a time", __func__);
    grouped = own_group = true;
    nopen = 0;
    open_failure = ncclSuccess;
    pthread_mutex_unlock(&mutex);
    return ncclSuccess;
}

static ncclResult_t add_call(call added) {
    if (!own_group)
        fake_complain("%s: without a group it waits for the other ranks for ever", added.name);
    if (added.comm->of->aborted)
        fake_complain("%s: the communicator was aborted", added.name);
    ncclResult_t result = call_on(added.name, added.comm->context);
    if (result)
        return open_failure = result;
    if (nopen == CALLS_MOST)
        fake_complain("%s: too many calls", added.name);
    added.rank = added.comm->rank;
    open_calls[nopen++] = added;
    return ncclSuccess;
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           CUstream stream) {
    if (type != ncclUint8)
        fake_complain("%s: what the backend never asks for", __func__);
    return add_call((call){ALL_GATHER, __func__, comm, 0, from, to, count, 0, stream});
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           CUstream stream) {
    if (type != ncclUint8)
        fake_complain("%s: what the backend never asks for", __func__);
    return add_call((call){BROADCAST, __func__, comm, 0, from, to, count, root, stream});
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream) {
    if (type != ncclUint8)
        fake_complain("%s: what the backend never asks for", __func__);
    return add_call((call){SEND, __func__, comm, 0, from, NULL, count, peer, stream});
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream) {
    if (type != ncclUint8)
        fake_complain("%s: what the backend never asks for", __func__);
    return add_call((call){RECEIVE, __func__, comm, 0, NULL, to, count, peer, stream});
}

static bool is_pairwise(const call *c) {
    return c->kind == SEND || c->kind == RECEIVE;
}

/* How many calls do what this one needs of others. */
static int count_partners(const call *a) {
    int partners = 0;
    for (size_t k = 0; k < nopen; k++) {
        const call *b = &open_calls[k];
        if (is_pairwise(a))
            partners += is_pairwise(b) && b->kind != a->kind && b->rank == a->peer && b->peer == a->rank &&
                        b->bytes == a->bytes;
        else
            partners += b->kind == a->kind && b->bytes == a->bytes && b->peer == a->peer;
    }
    return partners;
}

static void check_group(void) {
    for (size_t k = 0; k < nopen; k++) {
        const call *a = &open_calls[k];
        bool pair = is_pairwise(a);
        if (a->comm->of != open_calls[0].comm->of)
            fake_complain("%s: several sets of devices in a group", a->name);
        for (size_t j = 0; j < k && !pair; j++)
            if (open_calls[j].comm == a->comm)
                fake_complain("%s: a rank takes part twice", a->name);
        for (size_t j = 0; j < nopen; j++)
            if (!fake_library_reaches(open_calls[j].comm->context, a->comm->context))
                fake_complain("%s: memory of a pool that is closed to other devices", a->name);
        if (count_partners(a) != (pair ? 1 : a->comm->of->n))
            fake_complain("%s: rank %d waits for ever", a->name, a->rank);
    }
}

/* The kernel of one rank, with the memory that it uses. */
static void launch_rank(const meeting *m, int rank) {
    static struct CUfunc_st functions[FAKE_MAX_BLOCKS];
    fake_use uses[FAKE_MAX_BLOCKS];
    int nuses = 0;
    CUstream stream = NULL;
    CUcontext context = NULL, before;
    for (int k = 0; k < m->ncalls; k++) {
        const call *c = &m->calls[k];
        if (c->rank != rank)
            continue;
        if (stream && c->stream != stream)
            fake_complain("%s: a rank uses two streams in a group", c->name);
        stream = c->stream;
        context = c->comm->context;
        if (c->from && (c->kind != BROADCAST || c->peer == rank))
            uses[nuses++] = (fake_use){c->from, c->bytes};
        if (c->to)
            uses[nuses++] = (fake_use){c->to, c->bytes * (size_t)(c->kind == ALL_GATHER ? m->of->n : 1)};
    }
    if (!stream)
        return;
    pthread_mutex_lock(&mutex);
    if (!functions[nuses].entry)
        functions[nuses] = (struct CUfunc_st){.name = "nccl", .nbuffers = nuses, .entry = meet_others};
    pthread_mutex_unlock(&mutex);
    cuCtxPushCurrent_v2(context);
    fake_library_launch("ncclGroupEnd", stream, &functions[nuses], uses, 2, (uint64_t[]){(uintptr_t)m, (uint64_t)rank});
    cuCtxPopCurrent_v2(&before);
}

static void enqueue_meeting(void) {
    meeting *m = calloc(1, sizeof *m + nopen * sizeof *m->calls);
    uint64_t ranks = 0;
    m->of = open_calls[0].comm->of;
    m->ncalls = (int)nopen;
    memcpy(m->calls, open_calls, nopen * sizeof *m->calls);
    for (size_t k = 0; k < nopen; k++)
        ranks |= UINT64_C(1) << open_calls[k].rank;
    m->ranks = __builtin_popcountll(ranks);
    pthread_mutex_lock(&mutex);
    m->hangs = next_hangs;
    failure_is_met = failure_is_met || next_hangs;
    next_hangs = false;
    m->next = meetings;
    meetings = m;
    pthread_mutex_unlock(&mutex);
    const int n = m->of->n; /* it may be over soon */
    for (int rank = 0; rank < n; rank++)
        if (ranks >> rank & 1)
            launch_rank(m, rank);
}

ncclResult_t ncclGroupEnd(void) {
    check_current(__func__);
    if (!own_group)
        fake_complain("%s: there is no group", __func__);
    ncclResult_t result = open_failure;
    if (!result && nopen)
        result = call_on(__func__, open_calls[0].comm->context);
    if (!result && nopen) {
        check_group();
        enqueue_meeting();
    }
    pthread_mutex_lock(&mutex);
    grouped = own_group = false;
    pthread_mutex_unlock(&mutex);
    return result;
}
