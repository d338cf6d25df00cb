/* stream.c: streams with their threads, and events.
 *
 *      then:    cuEventRecord ──▶ item ──▶ [head … tail] ──▶ the thread: cuEventSynchronize ──▶ callback
 *
 * The items of a stream stand in the order of their events, as both are done under the stream's mutex.
 */
#include "engine/cuda/cuda.h"

#include <stdlib.h>
#include <time.h>

/* ---- Events ------------------------------------------------------------------------------------------------------ */

/* A spare event, or a new one. The caller has entered. */
static int take_event(cuda_device *device, cuda_event **out) {
    pthread_mutex_lock(&device->mutex);
    cuda_event *event = device->spare;
    if (event)
        device->spare = event->next;
    pthread_mutex_unlock(&device->mutex);
    if (!event) {
        event = calloc(1, sizeof *event);
        if (!event)
            return neap->error(NEAP_E_MEMORY, "no memory for an event");
        event->device = device;
        int status =
            cuda_check(device, cuda.cuEventCreate(&event->event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC),
                       "cuEventCreate");
        if (status) {
            free(event);
            return status;
        }
    }
    event->next = NULL;
    *out = event;
    return NEAP_OK;
}

/* An event may be used anew while streams still wait for what it was before: they wait for the point that it marked
 * when they were told to. */
static void put_event(cuda_event *event) {
    cuda_device *device = event->device;
    pthread_mutex_lock(&device->mutex);
    event->next = device->spare;
    device->spare = event;
    pthread_mutex_unlock(&device->mutex);
}

void cuda_events_free(cuda_device *device) {
    while (device->spare) {
        cuda_event *next = device->spare->next;
        cuda.cuEventDestroy_v2(device->spare->event);
        free(device->spare);
        device->spare = next;
    }
}

/* An event that marks the point that the stream has come to; NULL on failure. The caller has entered, and holds the
 * stream's mutex. */
static int mark(cuda_stream *stream, cuda_event **out) {
    int status = take_event(stream->device, out);
    if (!status)
        status = cuda_check(stream->device, cuda.cuEventRecord((*out)->event, stream->stream), "cuEventRecord");
    if (status && *out) {
        put_event(*out);
        *out = NULL;
    }
    if (!status)
        (*out)->behind = stream->behind;
    return status;
}

int cuda_event_new(neap_device *handle, neap_stream *handle_of_stream, neap_event **out) {
    cuda_device *device = (cuda_device *)handle;
    cuda_stream *stream = (cuda_stream *)handle_of_stream;
    cuda_event *event = NULL;
    int status = cuda_enter(device);
    if (status)
        return status;
    pthread_mutex_lock(&stream->mutex);
    status = mark(stream, &event);
    pthread_mutex_unlock(&stream->mutex);
    cuda_leave();
    *out = (neap_event *)event;
    return status;
}

void cuda_event_free(neap_device *device, neap_event *event) {
    (void)device;
    put_event((cuda_event *)event);
}

int cuda_stream_wait(neap_device *handle, neap_stream *handle_of_stream, neap_event *handle_of_event) {
    cuda_device *device = (cuda_device *)handle;
    cuda_stream *stream = (cuda_stream *)handle_of_stream;
    cuda_event *event = (cuda_event *)handle_of_event;
    int status = cuda_enter(device);
    if (status)
        return status;
    pthread_mutex_lock(&stream->mutex);
    if (event->device != device)
        stream->passage.waited |= UINT64_C(1) << event->device->ordinal;
    status = cuda_check(device, cuda.cuStreamWaitEvent(stream->stream, event->event, CU_EVENT_WAIT_DEFAULT),
                        "cuStreamWaitEvent");
    pthread_mutex_unlock(&stream->mutex);
    cuda_leave();
    bool shared = event->device != device && event->behind >> device->ordinal & 1;
    return status || !shared ? status : cuda_collectives_await(stream);
}

/* ---- What a stream has passed ------------------------------------------------------------------------------------ */

/* A wait for a device that is lost ends without a word from the driver of the one that waits: so the stream asks those
 * that it has waited for, once it is past the wait. The caller has not entered. */
static void ask_devices(cuda_stream *stream, uint64_t waited) {
    for (int ordinal = 0; waited >> ordinal && ordinal < CUDA_DEVICES_MOST; ordinal++) {
        cuda_device *other = waited >> ordinal & 1 ? cuda_device_at(ordinal) : NULL;
        cuda_failure failure;
        if (!other || !cuda_is_lost(other))
            continue;
        cuda_lost(other, &failure);
        pthread_mutex_lock(&stream->mutex);
        if (!stream->failure.status)
            stream->failure = failure;
        pthread_mutex_unlock(&stream->mutex);
    }
}

/* The passage is over: gives back what it held. 0, or the failure of its op in `out`. */
static int settle(cuda_stream *stream, cuda_passage *passage, cuda_failure *out) {
    bool lost = cuda_lost(stream->device, out) != NEAP_OK;
    ask_devices(stream, passage->waited);
    cuda_works_free(passage->works, lost);
    if (!lost) {
        pthread_mutex_lock(&stream->mutex);
        *out = stream->failure;
        pthread_mutex_unlock(&stream->mutex);
    }
    if (passage->collectives)
        cuda_collectives_settle(passage->collectives, out);
    if (!out->status && passage->op)
        *out = passage->op->failure;
    free(passage->op);
    return out->status;
}

/* Until the event has passed, or all that stands in the stream (NULL): collectives may wait for a device that is lost,
 * so somebody has to look. The caller has not entered. */
static void look_after_collectives(cuda_stream *stream, const cuda_event *event, uint32_t collectives) {
    static const struct timespec pause = {0, 100000};
    while (collectives && cuda_enter(stream->device) == NEAP_OK) {
        CUresult result = event ? cuda.cuEventQuery(event->event) : cuda.cuStreamQuery(stream->stream);
        cuda_leave();
        if (result != CUDA_ERROR_NOT_READY)
            return;
        cuda_collectives_watch(collectives);
        nanosleep(&pause, NULL);
    }
}

/* Waits for an item's event. False: the process is about to end, and its statics may be gone. */
static bool await_item(cuda_stream *stream, const cuda_item *item) {
    cuda_device *device = stream->device;
    if (item->event)
        look_after_collectives(stream, item->event, item->passage.collectives);
    if (!item->event || cuda_enter(device) != NEAP_OK)
        return true;
    CUresult result = cuda.cuEventSynchronize(item->event->event);
    cuda_leave();
    if (result == CUDA_ERROR_DEINITIALIZED)
        return false;
    if (result)
        cuda_lose(device, result, "cuEventSynchronize");
    return true;
}

static cuda_item *next_item(cuda_stream *stream) {
    pthread_mutex_lock(&stream->mutex);
    while (!stream->head && !stream->ended)
        pthread_cond_wait(&stream->changed, &stream->mutex);
    cuda_item *item = stream->head;
    pthread_mutex_unlock(&stream->mutex);
    return item;
}

static void *run_stream(void *arg) {
    cuda_stream *stream = arg;
    cuda_item *item;
    while ((item = next_item(stream)) != NULL) {
        cuda_failure failure;
        if (!await_item(stream, item))
            return NULL;
        int status = settle(stream, &item->passage, &failure);
        pthread_mutex_lock(&stream->mutex);
        stream->head = item->next;
        if (!stream->head)
            stream->tail = &stream->head;
        pthread_mutex_unlock(&stream->mutex);
        if (item->event)
            put_event(item->event);
        item->fn(item->arg, status ? neap->error(status, "%s", failure.text) : NEAP_OK);
        free(item);
    }
    return NULL;
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

static int start_thread(cuda_stream *stream) {
    sigset_t before = cuda_signals_block();
    int failed = pthread_create(&stream->thread, NULL, run_stream, stream);
    cuda_signals_restore(&before);
    return failed ? neap->error(NEAP_E_STATE, "the system gives no thread for a stream of CUDA") : NEAP_OK;
}

static void free_stream(cuda_stream *stream) {
    pthread_mutex_destroy(&stream->mutex);
    pthread_cond_destroy(&stream->changed);
    free(stream);
}

int cuda_stream_new(neap_device *handle, uint32_t flags, neap_stream **out) {
    (void)flags;
    cuda_device *device = (cuda_device *)handle;
    cuda_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return neap->error(NEAP_E_MEMORY, "no memory for a stream");
    stream->device = device;
    stream->tail = &stream->head;
    pthread_mutex_init(&stream->mutex, NULL);
    pthread_cond_init(&stream->changed, NULL);
    int status = cuda_enter(device);
    if (!status) {
        status = cuda_check(device, cuda.cuStreamCreate(&stream->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        if (!status && (status = start_thread(stream)) != NEAP_OK)
            cuda.cuStreamDestroy_v2(stream->stream);
        cuda_leave();
    }
    if (status) {
        free_stream(stream);
        return status;
    }
    *out = (neap_stream *)stream;
    return NEAP_OK;
}

void cuda_stream_free(neap_device *handle, neap_stream *handle_of_stream) {
    cuda_device *device = (cuda_device *)handle;
    cuda_stream *stream = (cuda_stream *)handle_of_stream;
    cuda_failure failure;
    pthread_mutex_lock(&stream->mutex);
    stream->ended = true;
    pthread_cond_signal(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
    pthread_join(stream->thread, NULL);
    settle(stream, &stream->passage, &failure);
    while (stream->ops) {
        cuda_op *next = stream->ops->next;
        free(stream->ops);
        stream->ops = next;
    }
    cuda.cuCtxPushCurrent_v2(device->context); /* also that of a lost device: what can be given back is */
    cuda.cuStreamSynchronize(stream->stream);  /* an event may be left that no stream was told to wait for */
    cuda_staging_free(stream);
    cuda.cuStreamDestroy_v2(stream->stream);
    cuda_leave();
    free_stream(stream);
}

/* Appends an item whose event is recorded now. The caller has entered, unless the device is lost. */
static int append_item(cuda_stream *stream, cuda_item *item, bool lost) {
    pthread_mutex_lock(&stream->mutex);
    int status = lost ? NEAP_OK : mark(stream, &item->event);
    cuda_failure failure;
    if (status && cuda_lost(stream->device, &failure))
        status = NEAP_OK; /* the callback tells it */
    if (!status) {
        item->passage = stream->passage;
        item->passage.op = cuda_op_take(stream);
        stream->passage = (cuda_passage){0};
        *stream->tail = item;
        stream->tail = &item->next;
        pthread_cond_signal(&stream->changed);
    }
    pthread_mutex_unlock(&stream->mutex);
    return status;
}

int cuda_stream_then(neap_device *handle, neap_stream *stream, neap_stream_fn fn, void *arg) {
    cuda_device *device = (cuda_device *)handle;
    cuda_item *item = calloc(1, sizeof *item);
    if (!item)
        return neap->error(NEAP_E_MEMORY, "no memory for a callback of a stream");
    item->fn = fn;
    item->arg = arg;
    bool lost = cuda_enter(device) != NEAP_OK;
    int status = append_item((cuda_stream *)stream, item, lost);
    if (!lost)
        cuda_leave();
    if (status)
        free(item);
    return status;
}

int cuda_stream_sync(neap_device *handle, neap_stream *handle_of_stream) {
    cuda_device *device = (cuda_device *)handle;
    cuda_stream *stream = (cuda_stream *)handle_of_stream;
    cuda_failure failure;
    pthread_mutex_lock(&stream->mutex);
    cuda_passage passage = stream->passage;
    passage.op = cuda_op_take(stream);
    stream->passage = (cuda_passage){0};
    pthread_mutex_unlock(&stream->mutex);
    look_after_collectives(stream, NULL, passage.collectives);
    if (cuda_enter(device) == NEAP_OK) {
        CUresult result = cuda.cuStreamSynchronize(stream->stream);
        cuda_leave();
        if (result)
            cuda_lose(device, result, "cuStreamSynchronize");
    }
    int status = settle(stream, &passage, &failure);
    return status ? neap->error(status, "%s", failure.text) : NEAP_OK;
}
