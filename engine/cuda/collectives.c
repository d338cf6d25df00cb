/* collectives.c: collectives by NCCL, which moves bytes between several GPUs at once. It adds nothing: the order of
 * sums is ours (docs/gpu.md).
 *
 *      the op's stream      ── event ─────────────────────────────── waits for all ──▶
 *                                │                                      ▲
 *      each device's own    ── waits ── group of NCCL on all of them ── event ──▶
 *
 * The devices that take part are a *set*, whose communicators are made when it is first asked for, and kept. A device
 * has one stream for the collectives of all sets, and groups are enqueued one at a time, so that they are in the same
 * order on every device: else two of them could wait for each other.
 *
 * What follows on one of the devices waits for the op's stream, as the engine tells it to, and for its own device's
 * part: behind a device that is lost nothing waits, so the op's stream may let it pass while that part is under way.
 *
 * A device that is lost, or a failure that NCCL meets while it works, leaves the others waiting for ever. So the thread
 * that waits for an op with collectives looks after their sets meanwhile; it aborts one that has failed, by which the
 * work of its devices ends, and whoever was part of it gets the failure. From then on the set has no collectives.
 */
#include "engine/cuda/cuda.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SETS_MOST = 32 };
static const size_t LEAST = 1 << 16; /* bytes of a source: smaller ones are copied; a guess */

typedef struct cuda_set {
    uint64_t members; /* a bit for each ordinal; 0: there is none here */
    int n;
    int ordinals[CUDA_DEVICES_MOST];             /* ascending, by rank */
    ncclComm_t communicators[CUDA_DEVICES_MOST]; /* by rank */
    bool there;                                  /* the communicators are */
    _Atomic bool failed;
    char text[CUDA_TEXT_BYTES]; /* of the failure; stays, as long as the process */
} cuda_set;

static cuda_set sets[SETS_MOST];
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER; /* for the sets, and while a group is enqueued */

/* ---- Sets: the caller holds `order` ------------------------------------------------------------------------------ */

static uint64_t members_of(const neap_collective *what) {
    uint64_t members = 0;
    for (int k = 0; k < what->nsources; k++)
        members |= UINT64_C(1) << ((cuda_device *)what->source_devices[k])->ordinal;
    for (int k = 0; k < what->ntargets; k++)
        members |= UINT64_C(1) << ((cuda_device *)what->target_devices[k])->ordinal;
    return members;
}

static cuda_set *find_set(uint64_t members) {
    int k = 0;
    while (k < SETS_MOST && sets[k].members != members)
        k++;
    return k < SETS_MOST ? &sets[k] : NULL;
}

static int rank_of(const cuda_set *set, const neap_device *device) {
    int rank = 0;
    while (set->ordinals[rank] != ((const cuda_device *)device)->ordinal)
        rank++;
    return rank;
}

static void fail_set(cuda_set *set, const char *function, const char *text) {
    if (set->failed)
        return;
    snprintf(set->text, sizeof set->text, "NCCL does not work: %s: %.180s", function, text);
    atomic_store(&set->failed, true);
}

static int make_stream(cuda_device *device) {
    neap_stream *stream = NULL;
    if (device->collectives)
        return NEAP_OK;
    int status = cuda_stream_new((neap_device *)device, NEAP_PUSH_COPY, &stream);
    device->collectives = (cuda_stream *)stream;
    return status;
}

static int make_streams(const cuda_set *set) {
    int status = NEAP_OK;
    for (int rank = 0; rank < set->n && !status; rank++)
        status = make_stream(cuda_device_at(set->ordinals[rank]));
    return status;
}

/* NCCL comes back to the device that was current, and that is device 0 where none was, with a context made for it. */
static void enter_set(const cuda_set *set) {
    cuda.cuCtxPushCurrent_v2(cuda_device_at(set->ordinals[0])->context); /* also of a lost device */
}

static ncclResult_t make_communicators(cuda_set *set) {
    sigset_t before = cuda_signals_block();
    enter_set(set);
    ncclResult_t result = nccl.ncclCommInitAll(set->communicators, set->n, set->ordinals);
    cuda_leave();
    cuda_signals_restore(&before);
    return result;
}

/* A set for these members, which may have failed; NULL: there are too many. */
static cuda_set *make_set(uint64_t members) {
    cuda_set *set = find_set(0);
    if (!set)
        return NULL;
    *set = (cuda_set){.members = members};
    for (int ordinal = 0; ordinal < CUDA_DEVICES_MOST; ordinal++)
        if (members >> ordinal & 1)
            set->ordinals[set->n++] = ordinal;
    if (make_streams(set)) {
        fail_set(set, "a device", neap->error_text());
        return set;
    }
    ncclResult_t result = make_communicators(set);
    if (result)
        fail_set(set, "ncclCommInitAll", nccl.ncclGetErrorString(result));
    set->there = result == ncclSuccess;
    return set;
}

/* NULL, or a clause that is kept for ever. */
static const char *set_lacks(uint64_t members) {
    pthread_mutex_lock(&order);
    cuda_set *set = find_set(members);
    if (!set)
        set = make_set(members);
    const char *lacks = !set          ? "NCCL is used by too many sets of devices"
                        : set->failed ? cuda_keep_text(set->text)
                                      : NULL;
    pthread_mutex_unlock(&order);
    return lacks;
}

const char *cuda_collective_lacks(const neap_collective *what) {
    cuda_failure failure;
    size_t bytes = 0;
    if (what->ntargets < 2)
        return "one device gets it";
    for (int k = 0; k < what->nsources; k++)
        bytes = what->bytes[k] > bytes ? what->bytes[k] : bytes;
    if (bytes < LEAST)
        return "it is little";
    const char *lacks = cuda_nccl_lacks();
    uint64_t members = members_of(what);
    for (int ordinal = 0; ordinal < CUDA_DEVICES_MOST && !lacks; ordinal++)
        if (members >> ordinal & 1 && cuda_lost(cuda_device_at(ordinal), &failure))
            lacks = "a device is lost";
    return lacks ? lacks : set_lacks(members);
}

/* ---- Ending what has failed: the caller holds `order` ------------------------------------------------------------ */

/* Has a device of the set been lost, or NCCL met a failure? */
static bool is_broken(cuda_set *set) {
    for (int rank = 0; rank < set->n; rank++) {
        ncclResult_t failure = ncclSuccess;
        if (cuda_is_lost(cuda_device_at(set->ordinals[rank]))) {
            fail_set(set, "a collective", "a device was lost");
            return true;
        }
        enter_set(set);
        ncclResult_t asked = nccl.ncclCommGetAsyncError(set->communicators[rank], &failure);
        cuda_leave();
        if (asked)
            failure = asked;
        if (failure == ncclSuccess || failure == ncclInProgress)
            continue;
        fail_set(set, "a collective", nccl.ncclGetErrorString(failure));
        return true;
    }
    return false;
}

/* Aborts the sets that have failed. Returns their devices, a bit for each ordinal. */
static uint64_t abort_sets(void) {
    uint64_t devices = 0;
    for (int k = 0; k < SETS_MOST; k++) {
        cuda_set *set = &sets[k];
        if (!set->there || (!set->failed && !is_broken(set)))
            continue;
        enter_set(set);
        for (int rank = 0; rank < set->n; rank++)
            nccl.ncclCommAbort(set->communicators[rank]);
        cuda_leave();
        set->there = false;
        devices |= set->members;
    }
    return devices;
}

/* Have those of the devices that are not lost collectives under way? */
static bool are_busy(uint64_t devices) {
    bool busy = false;
    for (int ordinal = 0; devices >> ordinal && ordinal < CUDA_DEVICES_MOST && !busy; ordinal++) {
        cuda_device *device = devices >> ordinal & 1 ? cuda_device_at(ordinal) : NULL;
        if (!device || cuda_enter(device) != NEAP_OK)
            continue;
        CUresult result = cuda.cuStreamQuery(device->collectives->stream);
        cuda_leave();
        busy = result == CUDA_ERROR_NOT_READY;
        if (result && !busy)
            cuda_lose(device, result, "cuStreamQuery");
    }
    return busy;
}

/* Ends all sets that have failed, and waits until nothing of them is under way, which might still use memory of those
 * devices that are not lost. Groups of several sets stand behind each other, so all are aborted first; another one may
 * fail while this waits. */
static void abort_failed(void) {
    static const struct timespec pause = {0, 100000};
    uint64_t devices = abort_sets();
    while (are_busy(devices)) {
        nanosleep(&pause, NULL);
        devices |= abort_sets();
    }
}

/* ---- Groups: the caller holds `order` ---------------------------------------------------------------------------- */

/* Does each device give as much and get all, in the order of their ranks? */
static bool is_all_gather(const cuda_set *set, const neap_collective *what) {
    bool all = what->nsources == set->n && what->ntargets == set->n;
    for (int k = 0; k < what->nsources && all; k++)
        all = what->bytes[k] == what->bytes[0] && rank_of(set, what->source_devices[k]) == k;
    return all;
}

static CUstream stream_of(const cuda_set *set, int rank) {
    return cuda_device_at(set->ordinals[rank])->collectives->stream;
}

static ncclResult_t gather_all(const cuda_set *set, const neap_collective *what) {
    ncclResult_t result = ncclSuccess;
    for (int k = 0; k < what->ntargets && !result; k++) {
        int rank = rank_of(set, what->target_devices[k]);
        result = nccl.ncclAllGather(what->sources[rank], what->targets[k], what->bytes[0], ncclUint8,
                                    set->communicators[rank], stream_of(set, rank));
    }
    return result;
}

/* The source's device may be a target, too; else it takes part in place. */
static ncclResult_t broadcast(const cuda_set *set, const neap_collective *what) {
    int root = rank_of(set, what->source_devices[0]);
    ncclResult_t result = ncclSuccess;
    for (int rank = 0; rank < set->n && !result; rank++) {
        void *to = (void *)what->sources[0];
        for (int k = 0; k < what->ntargets; k++)
            if (rank_of(set, what->target_devices[k]) == rank)
                to = what->targets[k];
        result = nccl.ncclBroadcast(rank == root ? what->sources[0] : to, to, what->bytes[0], ncclUint8, root,
                                    set->communicators[rank], stream_of(set, rank));
    }
    return result;
}

static ncclResult_t send_each(const cuda_set *set, const neap_collective *what) {
    ncclResult_t result = ncclSuccess;
    for (int t = 0; t < what->ntargets; t++) {
        int receiver = rank_of(set, what->target_devices[t]);
        char *to = what->targets[t];
        for (int k = 0; k < what->nsources && !result; to += what->bytes[k++]) {
            int sender = rank_of(set, what->source_devices[k]);
            if (what->bytes[k] == 0)
                continue;
            result = nccl.ncclSend(what->sources[k], what->bytes[k], ncclUint8, receiver, set->communicators[sender],
                                   stream_of(set, sender));
            if (!result)
                result = nccl.ncclRecv(to, what->bytes[k], ncclUint8, sender, set->communicators[receiver],
                                       stream_of(set, receiver));
        }
    }
    return result;
}

static int enqueue_group(cuda_set *set, const neap_collective *what) {
    const char *function = "ncclGroupStart";
    enter_set(set);
    ncclResult_t result = nccl.ncclGroupStart();
    if (!result) {
        bool all = is_all_gather(set, what), one = what->nsources == 1;
        function = all ? "ncclAllGather" : one ? "ncclBroadcast" : "ncclSend";
        result = all ? gather_all(set, what) : one ? broadcast(set, what) : send_each(set, what);
        ncclResult_t end = nccl.ncclGroupEnd();
        if (!result && (result = end) != ncclSuccess)
            function = "ncclGroupEnd";
    }
    cuda_leave();
    if (!result)
        return NEAP_OK;
    fail_set(set, function, nccl.ncclGetErrorString(result));
    return neap->error(NEAP_E_LIBRARY, "%s", set->text);
}

/* `behind` waits for what stands in `first` by now. */
static int follow(cuda_stream *behind, cuda_stream *first) {
    neap_event *event = NULL;
    int status = cuda_event_new((neap_device *)first->device, (neap_stream *)first, &event);
    if (status)
        return status;
    status = cuda_stream_wait((neap_device *)behind->device, (neap_stream *)behind, event);
    cuda_event_free((neap_device *)first->device, event);
    return status;
}

static int enqueue_collective(cuda_stream *stream, cuda_set *set, const neap_collective *what) {
    int status = NEAP_OK;
    for (int rank = 0; rank < set->n && !status; rank++)
        status = follow(cuda_device_at(set->ordinals[rank])->collectives, stream);
    if (status)
        return status;
    pthread_mutex_lock(&stream->mutex);
    stream->passage.collectives |= UINT32_C(1) << (set - sets);
    stream->behind |= set->members;
    pthread_mutex_unlock(&stream->mutex);
    status = enqueue_group(set, what);
    for (int rank = 0; rank < set->n && !status; rank++)
        status = follow(stream, cuda_device_at(set->ordinals[rank])->collectives);
    if (status) { /* something may be under way that the stream does not wait for: it must end before the op does */
        char text[CUDA_TEXT_BYTES];
        snprintf(text, sizeof text, "%s", neap->error_text());
        fail_set(set, "a collective", text);
        abort_failed();
        neap->error(status, "%s", text);
    }
    return status;
}

int cuda_collectives_await(cuda_stream *stream) {
    cuda_stream *own = stream->device->collectives;
    return stream == own ? NEAP_OK : follow(stream, own);
}

int cuda_collective_run(neap_device *device, neap_stream *stream, const neap_collective *what) {
    (void)device;
    pthread_mutex_lock(&order);
    cuda_set *set = find_set(members_of(what));
    int status = !set          ? neap->error(NEAP_E_STATE, "a collective of devices that nobody asked about")
                 : set->failed ? neap->error(NEAP_E_LIBRARY, "%s", set->text)
                               : enqueue_collective((cuda_stream *)stream, set, what);
    pthread_mutex_unlock(&order);
    return status;
}

/* ---- What goes wrong later --------------------------------------------------------------------------------------- */

void cuda_collectives_watch(uint32_t which) {
    pthread_mutex_lock(&order);
    bool broken = false;
    for (int k = 0; k < SETS_MOST && which >> k; k++)
        broken = broken || (which >> k & 1 && sets[k].there && is_broken(&sets[k]));
    if (broken)
        abort_failed();
    pthread_mutex_unlock(&order);
}

void cuda_collectives_settle(uint32_t which, cuda_failure *out) {
    cuda_collectives_watch(which);
    pthread_mutex_lock(&order);
    for (int k = 0; k < SETS_MOST && which >> k && !out->status; k++)
        if (which >> k & 1 && sets[k].failed) {
            out->status = NEAP_E_LIBRARY;
            memcpy(out->text, sets[k].text, sizeof out->text);
        }
    pthread_mutex_unlock(&order);
}

/* Nothing is under way any more. */
static void free_set(cuda_set *set) {
    if (set->there && is_broken(set))
        abort_failed();
    enter_set(set);
    for (int rank = 0; rank < set->n && set->there; rank++)
        nccl.ncclCommDestroy(set->communicators[rank]);
    cuda_leave();
    set->there = false;
    set->members = 0;
}

void cuda_collectives_free(cuda_device *device) {
    pthread_mutex_lock(&order);
    for (int k = 0; k < SETS_MOST; k++)
        if (sets[k].members >> device->ordinal & 1)
            free_set(&sets[k]);
    pthread_mutex_unlock(&order);
    if (device->collectives)
        cuda_stream_free((neap_device *)device, (neap_stream *)device->collectives);
}
