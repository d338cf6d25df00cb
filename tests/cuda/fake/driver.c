/* driver.c: the functions of the driver that the backend uses, without hardware. fake.h tells what it is for. */
#include "lazy/native/object.h"
#include "tests/cuda/fake/library.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC visibility push(default) /* the driver's functions are found by name */

enum { DEPTH = 8, SMALL = 1 << 16, SHARED = 48 << 10, SHARED_MOST = 227 << 10 };

struct CUevent_st {
    CUcontext context;
    fake_record *last;
};

typedef struct entry_of_module {
    struct entry_of_module *next;
    native_object object; /* loaded for this entry alone */
    struct CUfunc_st function;
} entry_of_module;

struct CUmod_st {
    struct CUmod_st *next; /* in its context */
    CUcontext context;
    char *image; /* PTX, or a gpu_host_image */
    entry_of_module *entries;
};

fake_counts fake_now;
int fake_delay;

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t happened;
    bool initialized;
    pid_t pid;
    int devices;
    size_t memory;
    int64_t fail_in;
    CUresult fail_code;
    uint64_t groups;          /* of the last launch of an entry "kernel" */
    uint64_t compiled;        /* texts, ever */
    char kept[PATH_MAX - 64]; /* the folder for what is compiled; empty: none */
    struct CUctx_st contexts[FAKE_DEVICES];
} fake = {.mutex = PTHREAD_MUTEX_INITIALIZER,
          .happened = PTHREAD_COND_INITIALIZER,
          .devices = FAKE_DEVICES,
          .memory = (size_t)1 << 30};

static _Thread_local CUcontext current[DEPTH];
static _Thread_local int depth;

void fake_complain(const char *format, ...) {
    va_list list;
    va_start(list, format);
    fputs("the fake driver: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    abort();
}

void fake_lock(void) {
    pthread_mutex_lock(&fake.mutex);
}

void fake_unlock(void) {
    pthread_mutex_unlock(&fake.mutex);
}

void fake_wait(void *changed) {
    pthread_cond_wait(changed ? changed : &fake.happened, &fake.mutex);
}

void fake_happened(void) {
    pthread_cond_broadcast(&fake.happened);
}

/* ---- What every call begins with --------------------------------------------------------------------------------- */

CUcontext fake_context_now(void) {
    return depth > 0 ? current[depth - 1] : NULL;
}

/* Takes the lock. Does what every call does; `context`: it needs a current one. */
void fake_enter(const char *name, bool context) {
    if (fake_in_host)
        fake_complain("%s is called by a host function", name);
    if (fake.pid && fake.pid != getpid())
        fake_complain("%s is called in a fork's child", name);
    fake_lock();
    if (!fake.initialized)
        fake_complain("%s is called before cuInit", name);
    if (context && !fake_context_now())
        fake_complain("%s is called without a context", name);
    if (context && fake_context_now()->retained == 0)
        fake_complain("%s is called in a context that was released", name);
}

/* Of calls that may fail: whether this one does. */
CUresult fake_meet(bool context) {
    fake_now.calls++;
    if (fake.fail_in > 0 && --fake.fail_in == 0)
        return fake.fail_code;
    return context ? fake_context_now()->lost : CUDA_SUCCESS;
}

/* A failure that means that the context is lost does lose it. */
CUresult fake_leave(CUresult result) {
    const bool loses = result >= CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_ECC_UNCORRECTABLE ||
                       result == CUDA_ERROR_NVLINK_UNCORRECTABLE || result == CUDA_ERROR_CONTAINED;
    if (loses && depth > 0 && !fake_context_now()->lost)
        fake_lose(fake_context_now(), result);
    fake_unlock();
    return result;
}

/* Of calls that tell how work went: a failure is that of the device. */
#define BEGIN_TO_ASK()                                                                                                 \
    fake_enter(__func__, true);                                                                                        \
    CUresult result = fake_meet(true);                                                                                 \
    if (result) {                                                                                                      \
        fake_lose(fake_context_now(), result);                                                                         \
        return fake_leave(result);                                                                                     \
    }

void fake_check_stream(const char *name, CUstream stream) {
    if (!stream)
        fake_complain("%s: no stream", name);
    if (fake_stream_context(stream) != fake_context_now())
        fake_complain("%s: the stream is of another context", name);
}

/* A block of a device that work is about to use. */
fake_block *fake_check_block(const char *name, CUcontext context, CUdeviceptr memory, size_t bytes) {
    fake_block *block = fake_block_at(context->blocks, (const void *)(uintptr_t)memory, bytes);
    if (!block || fake_host_memory((void *)(uintptr_t)memory) == (void *)(uintptr_t)memory)
        fake_complain("%s: no memory of device %d", name, context->ordinal);
    if (block->freed)
        fake_complain("%s: the block was freed", name);
    return block;
}

void fake_enqueue_item(CUstream stream, fake_item item) {
    fake_item *made = malloc(sizeof *made);
    *made = item;
    fake_enqueue(stream, made);
}

static void *host_address(CUdeviceptr memory);
void *(*neap_host_address)(CUdeviceptr memory) = host_address; /* not of CUDA, as the next */
const char *neap_code_target = "host";

/* ---- The driver and its devices ---------------------------------------------------------------------------------- */

static int64_t number(const char *name, int64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

/* Reads N[:CODE]. */
static int64_t number_and_code(const char *name, CUresult *code) {
    const char *text = getenv(name), *colon = text ? strchr(text, ':') : NULL;
    if (colon)
        *code = (CUresult)strtol(colon + 1, NULL, 10);
    return number(name, 0);
}

/* Of calls that may start threads: these would take signals that their user's own are for. */
void fake_check_signals(const char *name) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    if (!sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGTERM))
        fake_complain("%s may start threads, and signals are not blocked", name);
}

CUresult cuInit(unsigned int flags) {
    fake_lock();
    if (!fake.initialized) {
        fake_check_signals(__func__);
        fake.devices = (int)number("NEAP_FAKE_DEVICES", FAKE_DEVICES);
        fake.memory = (size_t)number("NEAP_FAKE_MEMORY", (int64_t)fake.memory);
        fake_delay = (int)number("NEAP_FAKE_DELAY", 0);
        if (number("NEAP_FAKE_HOST", 1) == 0)
            neap_host_address = NULL;
        if (number("NEAP_FAKE_PTX", 0))
            neap_code_target = NULL;
        if (number("NEAP_FAKE_KEEPS", 0) && getenv("CUDA_CACHE_PATH"))
            snprintf(fake.kept, sizeof fake.kept, "%s", getenv("CUDA_CACHE_PATH"));
        fake.fail_code = CUDA_ERROR_OUT_OF_MEMORY;
        fake.fail_in = number_and_code("NEAP_FAKE_FAIL", &fake.fail_code);
        for (int k = 0; k < FAKE_DEVICES; k++)
            fake.contexts[k].ordinal = k;
        fake.contexts[0].break_code = CUDA_ERROR_ILLEGAL_ADDRESS;
        fake.contexts[0].break_in = number_and_code("NEAP_FAKE_BREAK", &fake.contexts[0].break_code);
    }
    fake.initialized = true;
    fake.pid = getpid();
    fake_unlock();
    return flags ? CUDA_ERROR_INVALID_VALUE : fake.devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version) {
    *version = (int)number("NEAP_FAKE_VERSION", 13000);
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
    *text = error == CUDA_ERROR_OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == CUDA_ERROR_INVALID_VALUE   ? "CUDA_ERROR_INVALID_VALUE"
            : error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == CUDA_ERROR_INVALID_PTX     ? "CUDA_ERROR_INVALID_PTX"
                                                  : NULL;
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
    *text = error == CUDA_ERROR_OUT_OF_MEMORY     ? "out of memory"
            : error == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
                                                  : "a failure that a test made";
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
    BEGIN(false);
    *count = fake.devices;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    BEGIN(false);
    *device = ordinal;
    return fake_leave(ordinal < fake.devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device) {
    BEGIN(false);
    snprintf(name, (size_t)bytes, "Fake GPU %d", device);
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    BEGIN(false);
    (void)device;
    *bytes = fake.memory;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    BEGIN(false);
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED     ? 1
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? (int)number("NEAP_FAKE_CAPABILITY", 90) / 10
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? (int)number("NEAP_FAKE_CAPABILITY", 90) % 10
                                                                         : 7;
    return fake_leave(CUDA_SUCCESS);
}

/* ---- Contexts ---------------------------------------------------------------------------------------------------- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    BEGIN(false);
    *context = &fake.contexts[device];
    if ((*context)->retained == 0)
        fake_check_signals(__func__);
    fake_now.contexts += (*context)->retained++ == 0;
    return fake_leave(CUDA_SUCCESS);
}

/* A module that is on its context's list. */
static void free_module(CUmodule module) {
    CUmodule *link = &module->context->modules;
    while (*link != module)
        link = &(*link)->next;
    *link = module->next;
    fake_now.modules--;
    while (module->entries) {
        entry_of_module *next = module->entries->next;
        native_object_unload(&module->entries->object);
        free(module->entries);
        module->entries = next;
    }
    free(module->image);
    free(module);
}

/* What a lost context still holds goes with it; another one must hold nothing. */
static void end_context(CUcontext context) {
    if (context->streams || context->events || context->pins || context->held_by_libraries)
        fake_complain("device %d is released with %d streams, %d events, %d handles of libraries%s", context->ordinal,
                      (int)context->streams, (int)context->events, context->held_by_libraries,
                      context->pins ? ", pinned memory" : "");
    if ((context->blocks || context->modules || context->graphs) && !context->lost)
        fake_complain("device %d is released with %d bytes of memory%s%s", context->ordinal, (int)context->bytes,
                      context->modules ? ", modules" : "", context->graphs ? ", graphs" : "");
    fake_free_graphs(context);
    while (context->modules)
        free_module(context->modules);
    while (context->blocks) {
        while (context->blocks->users) /* a copy to another device that was lost may be in the hands of its stream */
            fake_wait(NULL);
        fake_block *next = context->blocks->next;
        fake_now.blocks--;
        fake_now.bytes -= context->blocks->bytes;
        free(context->blocks->data);
        free(context->blocks);
        context->blocks = next;
    }
    *context = (struct CUctx_st){.ordinal = context->ordinal};
    fake_now.contexts--;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    fake_enter(__func__, false);
    CUcontext context = &fake.contexts[device];
    if (context->retained == 0)
        fake_complain("device %d is released more often than retained", device);
    if (--context->retained == 0)
        end_context(context);
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    fake_enter(__func__, false);
    if (!context || context->retained == 0)
        fake_complain("a context that was released becomes current");
    if (depth == DEPTH)
        fake_complain("too many contexts are current: one was not popped");
    current[depth++] = context;
    fake_unlock();
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    fake_enter(__func__, false);
    if (depth == 0)
        fake_complain("no context is current");
    *context = current[--depth];
    fake_unlock();
    return CUDA_SUCCESS;
}

/* ---- Streams and events ------------------------------------------------------------------------------------------ */

CUresult cuStreamCreate(CUstream *stream, unsigned int flags) {
    BEGIN(true);
    if (flags != CU_STREAM_NON_BLOCKING)
        fake_complain("a stream that waits for the default stream");
    *stream = fake_stream_make(fake_context_now());
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuStreamDestroy_v2(CUstream stream) {
    fake_enter(__func__, true);
    fake_check_stream(__func__, stream);
    if (!fake_idle(stream) && !fake_context_now()->lost)
        fake_complain("a stream is destroyed while it has work");
    fake_stream_end(stream);
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuStreamSynchronize(CUstream stream) {
    BEGIN_TO_ASK();
    fake_check_stream(__func__, stream);
    fake_now.synchronized++;
    while (!fake_idle(stream) && !fake_context_now()->lost)
        fake_wait(NULL);
    return fake_leave(fake_context_now()->lost);
}

CUresult cuStreamQuery(CUstream stream) {
    BEGIN_TO_ASK();
    fake_check_stream(__func__, stream);
    return fake_leave(fake_idle(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

CUresult cuEventCreate(CUevent *event, unsigned int flags) {
    BEGIN(true);
    if (!(flags & CU_EVENT_DISABLE_TIMING))
        fake_complain("an event that takes times");
    *event = calloc(1, sizeof **event);
    (*event)->context = fake_context_now();
    fake_context_now()->events++;
    fake_now.events++;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent event) {
    fake_enter(__func__, true);
    if (event->last && !event->last->passed && !fake_context_now()->lost)
        fake_complain("an event is destroyed before it has passed");
    event->context->events--;
    fake_now.events--;
    fake_record_drop(event->last);
    free(event);
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    BEGIN(true);
    fake_check_stream(__func__, stream);
    if (event->context != fake_context_now())
        fake_complain("an event of another context is recorded");
    fake_record_drop(event->last);
    event->last = calloc(1, sizeof *event->last);
    event->last->refs = 2;
    fake_enqueue_item(stream, (fake_item){.what = FAKE_RECORD, .record = event->last});
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
    BEGIN(true);
    (void)flags;
    fake_check_stream(__func__, stream);
    if (!event->last)
        fake_complain("a wait for an event that was never recorded");
    event->last->refs++;
    fake_enqueue_item(stream, (fake_item){.what = FAKE_WAIT, .record = event->last});
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuEventQuery(CUevent event) {
    BEGIN_TO_ASK();
    if (!event->last)
        fake_complain("an event that was never recorded is asked for");
    return fake_leave(event->last->passed ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

CUresult cuEventSynchronize(CUevent event) {
    BEGIN_TO_ASK();
    fake_record *record = event->last;
    if (!record)
        fake_complain("an event that was never recorded is waited for");
    record->refs++;
    fake_now.synchronized++;
    while (!record->passed && !fake_context_now()->lost)
        fake_wait(NULL);
    fake_record_drop(record);
    return fake_leave(fake_context_now()->lost);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
    BEGIN(false);
    *pool = (CUmemoryPool)&fake.contexts[device];
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *accesses, size_t n) {
    BEGIN(false);
    CUcontext context = (CUcontext)pool;
    if (n != 1 || accesses->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        accesses->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE || accesses->location.id == context->ordinal)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    context->peers |= 1u << accesses->location.id;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    BEGIN(false);
    *can = device != peer;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
    BEGIN(false);
    if (!pool || attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD || *(const uint64_t *)value != UINT64_MAX)
        fake_complain("a pool that gives memory back at each wait, to map it anew");
    return fake_leave(CUDA_SUCCESS);
}

static fake_block *make_block(size_t bytes) {
    fake_block *block = calloc(1, sizeof *block);
    block->data = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!block->data)
        fake_complain("the host has no memory");
    block->bytes = bytes;
    memset(block->data, 0xcc, bytes);
    return block;
}

/* What an allocation in the stream may have. */
static size_t free_memory(CUcontext context, CUstream stream) {
    size_t taken = 0;
    for (const fake_block *block = context->blocks; block; block = block->next)
        taken += block->freed && block->freed_in == stream ? 0 : block->bytes;
    return taken < fake.memory ? fake.memory - taken : 0;
}

CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
    BEGIN(true);
    const size_t reserved = fake_context_now()->reserved;
    *total = fake.memory;
    *available = reserved < fake.memory ? fake.memory - reserved : 0;
    return fake_leave(CUDA_SUCCESS);
}

static size_t used_memory(CUcontext context) {
    return fake.memory - free_memory(context, NULL);
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
    BEGIN(false);
    CUcontext context = (CUcontext)pool;
    *(uint64_t *)value =
        attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ? (uint64_t)context->reserved : used_memory(context);
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keeps) {
    BEGIN(false);
    CUcontext context = (CUcontext)pool;
    const size_t used = used_memory(context), least = used > keeps ? used : keeps;
    context->reserved = context->reserved < least ? context->reserved : least;
    context->piece = 0;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemAllocAsync(CUdeviceptr *memory, size_t bytes, CUstream stream) {
    BEGIN(true);
    CUcontext context = fake_context_now();
    fake_check_stream(__func__, stream);
    if (bytes == 0)
        fake_complain("an allocation of no bytes");
    const size_t unused = free_memory(context, stream);
    if (bytes > unused)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    if (bytes > context->piece && bytes > fake.memory - context->reserved)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY); /* the pool keeps so much, but in smaller pieces */
    if (context->reserved < fake.memory - unused + bytes)
        context->reserved = fake.memory - unused + bytes;
    fake_block *block = make_block(bytes);
    block->context = context;
    block->next = context->blocks;
    context->blocks = block;
    context->bytes += bytes;
    fake_now.bytes += bytes;
    fake_now.blocks++;
    fake_enqueue_item(stream, (fake_item){.what = FAKE_ALLOC, .blocks = {block}});
    *memory = (CUdeviceptr)(uintptr_t)fake_foreign(block->data);
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemFreeAsync(CUdeviceptr memory, CUstream stream) {
    fake_enter(__func__, true);
    fake_check_stream(__func__, stream);
    fake_block *block = fake_check_block(__func__, fake_context_now(), memory, 1);
    if (block->data != fake_host_memory((void *)(uintptr_t)memory))
        fake_complain("an address inside a block is freed");
    block->freed = true;
    block->freed_in = stream;
    fake_context_now()->piece = block->bytes > fake_context_now()->piece ? block->bytes : fake_context_now()->piece;
    fake_enqueue_item(stream, (fake_item){.what = FAKE_FREE, .blocks = {block}});
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned int flags) {
    BEGIN(true);
    (void)flags;
    fake_block *block = make_block(bytes);
    block->ready = true;
    block->next = fake_context_now()->pins;
    fake_context_now()->pins = block;
    fake_now.pins++;
    *memory = block->data;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemFreeHost(void *memory) {
    fake_enter(__func__, true);
    fake_block **link = &fake_context_now()->pins;
    while (*link && (*link)->data != memory)
        link = &(*link)->next;
    fake_block *block = *link;
    if (!block)
        fake_complain("memory is freed that was not pinned");
    if (block->users && !fake_context_now()->lost)
        fake_complain("pinned memory is freed while copies use it");
    while (block->users) /* of a lost device: what is left is thrown away, but a stream may have one in its hands */
        fake_wait(NULL);
    for (link = &fake_context_now()->pins; *link != block; link = &(*link)->next)
        ;
    *link = block->next;
    fake_now.pins--;
    free(block->data);
    free(block);
    return fake_leave(CUDA_SUCCESS);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static fake_block *check_pinned(const char *name, const void *memory, size_t bytes) {
    fake_block *block = fake_block_at(fake_context_now()->pins, memory, bytes);
    if (!block && bytes > SMALL)
        fake_complain("%s of %zu bytes of pageable memory holds its caller up", name, bytes);
    return block;
}

/* What is small and pageable is taken at once. */
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    BEGIN(true);
    fake_check_stream(__func__, stream);
    fake_block *block = fake_check_block(__func__, fake_context_now(), to, bytes);
    fake_block *pinned = check_pinned(__func__, from, bytes);
    fake_item item = {.what = FAKE_COPY, .blocks = {block, pinned}, .to = (void *)(uintptr_t)to, .bytes = bytes};
    if (!pinned)
        item.taken = memcpy(malloc(bytes), from, bytes);
    item.from = pinned ? from : item.taken;
    fake_enqueue_item(stream, item);
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    BEGIN(true);
    fake_check_stream(__func__, stream);
    fake_block *block = fake_check_block(__func__, fake_context_now(), from, bytes);
    fake_block *pinned = fake_block_at(fake_context_now()->pins, to, bytes);
    if (!pinned)
        fake_complain("a copy to pageable memory holds its caller up");
    fake_enqueue_item(stream, (fake_item){.what = FAKE_COPY,
                                          .blocks = {block, pinned},
                                          .to = to,
                                          .from = (const void *)(uintptr_t)from,
                                          .bytes = bytes});
    return fake_leave(CUDA_SUCCESS);
}

static void enqueue_copy(CUstream stream, fake_block *target, CUdeviceptr to, fake_block *source, CUdeviceptr from,
                         size_t bytes) {
    fake_enqueue_item(stream, (fake_item){.what = FAKE_COPY,
                                          .blocks = {target, source},
                                          .to = (void *)(uintptr_t)to,
                                          .from = (const void *)(uintptr_t)from,
                                          .bytes = bytes});
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    BEGIN(true);
    fake_check_stream(__func__, stream);
    enqueue_copy(stream, fake_check_block(__func__, fake_context_now(), to, bytes), to,
                 fake_check_block(__func__, fake_context_now(), from, bytes), from, bytes);
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream) {
    BEGIN(true);
    fake_check_stream(__func__, stream);
    if (from_context->lost)
        return fake_leave(from_context->lost);
    if (!(from_context->peers >> to_context->ordinal & 1) || !(to_context->peers >> from_context->ordinal & 1))
        fake_complain("%s goes over the host: a pool is closed to the other device", __func__);
    enqueue_copy(stream, fake_check_block(__func__, to_context, to, bytes), to,
                 fake_check_block(__func__, from_context, from, bytes), from, bytes);
    fake_now.peers++;
    return fake_leave(CUDA_SUCCESS);
}

/* ---- Code -------------------------------------------------------------------------------------------------------- */

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *arg) {
    BEGIN(true);
    fake_check_stream(__func__, stream);
    fake_enqueue_item(stream, (fake_item){.what = FAKE_HOST, .fn = fn, .arg = arg});
    return fake_leave(CUDA_SUCCESS);
}

/* A text is compiled, unless it was before: for such a device, by such a driver. The caller holds the lock. */
static void compile(const char *text) {
    char path[PATH_MAX];
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *at = text; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    snprintf(path, sizeof path, "%s/%016llx.%d.%d", fake.kept, (unsigned long long)hash,
             (int)number("NEAP_FAKE_VERSION", 13000), (int)number("NEAP_FAKE_CAPABILITY", 90));
    if (*fake.kept && access(path, R_OK) == 0)
        return;
    fake.compiled++;
    const int fd = *fake.kept ? open(path, O_WRONLY | O_CREAT, 0600) : -1;
    if (fd >= 0)
        close(fd);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int noptions, CUjit_option *options,
                            void **values) {
    BEGIN(true);
    const gpu_host_image *head = image; /* of text the first bytes are looked at alone */
    const bool is_object = strncmp(image, GPU_HOST_MAGIC, sizeof head->magic) == 0;
    if (!is_object && !strstr(image, ".version")) {
        if (noptions == 2 && options[0] == CU_JIT_ERROR_LOG_BUFFER)
            snprintf(values[0], (size_t)(uintptr_t)values[1], "ptxas: line 1: no version\nmore");
        return fake_leave(CUDA_ERROR_INVALID_PTX);
    }
    if (!is_object)
        compile(image);
    *module = calloc(1, sizeof **module);
    (*module)->context = fake_context_now();
    (*module)->image =
        is_object ? memcpy(malloc(sizeof *head + head->bytes), image, sizeof *head + head->bytes) : strdup(image);
    (*module)->next = fake_context_now()->modules;
    fake_context_now()->modules = *module;
    fake_now.modules++;
    fake_now.loaded++;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuModuleUnload(CUmodule module) {
    fake_enter(__func__, true);
    if (module->context != fake_context_now())
        fake_complain("a module of another context is unloaded");
    for (const entry_of_module *each = module->entries; each; each = each->next) {
        if (each->function.nodes > 0 && !module->context->lost)
            fake_complain("a module is unloaded while %d nodes of graphs launch it", each->function.nodes);
        if (each->function.users > 0 && !module->context->lost)
            fake_complain("a module is unloaded while %d launches of it are not done", each->function.users);
        while (each->function.users > 0) /* as pinned memory of a lost device */
            fake_wait(NULL);
    }
    free_module(module);
    return fake_leave(CUDA_SUCCESS);
}

static bool find_entry_of_text(const char *text, CUfunction function) {
    char entry[96];
    snprintf(entry, sizeof entry, ".entry %s(", function->name);
    const char *at = strstr(text, entry), *end = at ? strchr(at, ')') : NULL;
    while (end && (at = strstr(at, ".param")) != NULL && at < end && function->nparameters < FAKE_MAX_PARAMETERS) {
        function->nparameters++;
        at++;
    }
    return end != NULL;
}

static bool find_entry_of_object(const char *image, entry_of_module *made) {
    const gpu_host_image *head = (const gpu_host_image *)image;
    CUfunction function = &made->function;
    if (!native_object_load(&made->object, head + 1, head->bytes, function->name))
        return false;
    memcpy(&function->entry, &made->object.function, sizeof function->entry);
    function->nbuffers = head->nbuffers;
    function->nparameters = head->nbuffers + head->nwords;
    return function->nbuffers <= FAKE_MAX_BLOCKS && function->nparameters <= FAKE_MAX_PARAMETERS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    BEGIN(true);
    const bool is_object = strncmp(module->image, GPU_HOST_MAGIC, sizeof GPU_HOST_MAGIC) == 0;
    entry_of_module *made = calloc(1, sizeof *made);
    made->function.shared = SHARED;
    snprintf(made->function.name, sizeof made->function.name, "%s", name);
    if (!(is_object ? find_entry_of_object(module->image, made) : find_entry_of_text(module->image, &made->function))) {
        free(made);
        return fake_leave(CUDA_ERROR_NOT_FOUND);
    }
    made->next = module->entries;
    module->entries = made;
    *function = &made->function;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    BEGIN(true);
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value > SHARED_MOST)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    function->shared = (unsigned)value;
    return fake_leave(CUDA_SUCCESS);
}

/* What parameters point to must be there: of an object file the buffers, of PTX whatever is an address of a device. */
static void take_parameters(fake_launch *launch, void **parameters) {
    const CUfunction function = launch->function;
    for (int k = 0; k < function->nparameters; k++) {
        memcpy(&launch->parameters[k], parameters[k], sizeof launch->parameters[k]);
        if (k < (int)(sizeof fake_now.last / sizeof *fake_now.last))
            fake_now.last[k] = launch->parameters[k];
        const void *address = (const void *)(uintptr_t)launch->parameters[k];
        if (!address || (function->entry ? k >= function->nbuffers : address == fake_host_memory(address)))
            continue;
        if (launch->nblocks == FAKE_MAX_BLOCKS)
            fake_complain("a launch of more than %d buffers", FAKE_MAX_BLOCKS);
        launch->blocks[launch->nblocks++] =
            fake_check_block("cuLaunchKernel", fake_context_now(), launch->parameters[k], 1);
    }
}

/* Objects are written for groups of one size, on one axis. */
static bool fits_object(CUfunction function, uint64_t threads, uint64_t groups_yz) {
    return !function->entry || (threads == GPU_THREADS && groups_yz == 1);
}

bool fake_can_launch(const CUDA_KERNEL_NODE_PARAMS *how) {
    uint64_t threads = (uint64_t)how->blockDimX * how->blockDimY * how->blockDimZ;
    return how->gridDimX && how->gridDimY && how->gridDimZ && threads && threads <= 1024 &&
           how->sharedMemBytes <= how->func->shared && !how->extra && how->gridDimX <= INT32_MAX &&
           fits_object(how->func, threads, (uint64_t)how->gridDimY * how->gridDimZ);
}

void fake_launch_now(CUstream stream, CUfunction function, unsigned groups, void **parameters, CUgraphExec last_of) {
    fake_launch *launch = calloc(1, sizeof *launch);
    launch->function = function;
    launch->groups = groups;
    if (strcmp(function->name, "kernel") == 0)
        fake.groups = groups;
    take_parameters(launch, parameters);
    fake_enqueue_item(stream, (fake_item){.what = FAKE_KERNEL, .launch = launch, .last_of = last_of});
}

CUresult cuLaunchKernel(CUfunction function, unsigned int groups_x, unsigned int groups_y, unsigned int groups_z,
                        unsigned int threads_x, unsigned int threads_y, unsigned int threads_z,
                        unsigned int shared_bytes, CUstream stream, void **parameters, void **extra) {
    BEGIN(true);
    fake_check_stream(__func__, stream);
    const CUDA_KERNEL_NODE_PARAMS how = {function,  groups_x,     groups_y,   groups_z, threads_x, threads_y,
                                         threads_z, shared_bytes, parameters, extra,    NULL,      NULL};
    if (!fake_can_launch(&how))
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    fake_launch_now(stream, function, groups_x, parameters, NULL);
    return fake_leave(CUDA_SUCCESS);
}

/* ---- For libraries ----------------------------------------------------------------------------------------------- */

CUresult fake_library_call(const char *name) {
    fake_enter(name, true);
    return fake_leave(fake_meet(true));
}

bool fake_library_reaches(CUcontext from, CUcontext to) {
    fake_lock();
    const bool reaches = from == to || to->peers >> from->ordinal & 1;
    fake_unlock();
    return reaches;
}

CUcontext fake_library_context(void) {
    return fake_context_now();
}

void *fake_library_address(const void *memory) {
    return host_address((CUdeviceptr)(uintptr_t)memory);
}

void fake_work_launch(const char *name, CUstream stream, CUfunction function, const fake_use *uses, int nwords,
                      const uint64_t *words) {
    fake_enter(name, true);
    fake_check_stream(name, stream);
    fake_launch *launch = calloc(1, sizeof *launch);
    launch->function = function;
    launch->groups = 1;
    for (int k = 0; k < function->nbuffers; k++) {
        launch->parameters[k] = (uintptr_t)uses[k].memory;
        if (uses[k].memory)
            launch->blocks[launch->nblocks++] =
                fake_check_block(name, fake_context_now(), (CUdeviceptr)(uintptr_t)uses[k].memory, uses[k].bytes);
    }
    memcpy(launch->parameters + function->nbuffers, words, (size_t)nwords * sizeof *words);
    fake_enqueue_item(stream, (fake_item){.what = FAKE_KERNEL, .launch = launch});
    fake_unlock();
}

uint64_t fake_kernel_groups(void) {
    fake_lock();
    const uint64_t groups = fake.groups;
    fake_unlock();
    return groups;
}

uint64_t fake_compiled(void) {
    fake_lock();
    const uint64_t compiled = fake.compiled;
    fake_unlock();
    return compiled;
}

/* ---- Not of CUDA ------------------------------------------------------------------------------------------------- */

/* For launches on the host: the block must be alive, on any device. */
static void *host_address(CUdeviceptr memory) {
    const void *address = (const void *)(uintptr_t)memory;
    bool found = false;
    fake_lock();
    fake_now.addresses++;
    for (int k = 0; k < FAKE_DEVICES && !found; k++) {
        const fake_block *block = fake_block_at(fake.contexts[k].blocks, address, 1);
        found = block && block->ready;
    }
    fake_unlock();
    if (!found)
        fake_complain("a launch uses memory that is not there, or not any more");
    return fake_host_memory(address);
}

static void count(fake_counts *out) {
    fake_lock();
    *out = fake_now;
    fake_unlock();
}

static int64_t fail(int64_t n, CUresult code) {
    fake_lock();
    int64_t left = fake.fail_in;
    fake.fail_in = n;
    fake.fail_code = code;
    fake_unlock();
    return left;
}

static void break_item(int device, int64_t n, CUresult code) {
    fake_lock();
    fake.contexts[device].break_in = n;
    fake.contexts[device].break_code = code;
    fake_unlock();
}

static void hold(int device, bool held) {
    fake_lock();
    fake.contexts[device].held = held;
    fake_wake_streams();
    fake_unlock();
}

static void set_memory(size_t bytes) {
    fake_lock();
    fake.memory = bytes;
    fake_unlock();
}

const fake_controls fake_driver = {count, fail, break_item, hold, set_memory};
