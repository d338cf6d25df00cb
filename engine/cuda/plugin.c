/* plugin.c: the kind of device "cuda", as the plugin neap_cuda.so: devices and their contexts.
 *
 * The driver is loaded when devices are first counted, so the plugin can be loaded anywhere. A device computes in its
 * primary context, which it shares with whoever else of the process uses the device.
 */
#include "engine/cuda/cuda.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

const neap_plugin_host *neap;

/* The pool keeps so much of what nobody uses: all, since what it gives back at a wait has to be mapped anew, which
 * scratch memory of ops would be again and again. What lives longer than an op the engine pools. */
static const uint64_t POOL_KEEPS = UINT64_MAX;

static cuda_device *_Atomic opened[CUDA_DEVICES_MOST];

cuda_device *cuda_device_at(int ordinal) {
    return opened[ordinal];
}

/* ---- Contexts ---------------------------------------------------------------------------------------------------- */

int cuda_lost(cuda_device *device, cuda_failure *out) {
    out->status = NEAP_OK;
    if (!atomic_load(&device->lost))
        return NEAP_OK;
    pthread_mutex_lock(&device->mutex);
    *out = device->failure;
    pthread_mutex_unlock(&device->mutex);
    return out->status;
}

bool cuda_is_lost(cuda_device *device) {
    cuda_failure failure;
    if (cuda_enter(device) == NEAP_OK) {
        CUresult result = cuda.cuStreamQuery(device->allocations);
        cuda_leave();
        if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
            cuda_lose(device, result, "cuStreamQuery");
    }
    return cuda_lost(device, &failure) != NEAP_OK;
}

void cuda_lose(cuda_device *device, CUresult result, const char *function) {
    pthread_mutex_lock(&device->mutex);
    if (!device->failure.status) {
        device->failure.status = NEAP_E_LIBRARY;
        snprintf(device->failure.text, sizeof device->failure.text, "cuda:%d is lost: %s (%s, met in %s)",
                 device->ordinal, cuda_error_text(result), cuda_error_name(result), function);
    }
    pthread_mutex_unlock(&device->mutex);
    atomic_store(&device->lost, true);
}

int cuda_check(cuda_device *device, CUresult result, const char *function) {
    cuda_failure failure;
    if (result == CUDA_SUCCESS)
        return NEAP_OK;
    if (cuda_loses_context(result))
        cuda_lose(device, result, function);
    int status = cuda_lost(device, &failure);
    return status ? neap->error(status, "%s", failure.text) : cuda_error(result, function);
}

int cuda_enter(cuda_device *device) {
    cuda_failure failure;
    int status = cuda_lost(device, &failure);
    if (status)
        return neap->error(status, "%s", failure.text);
    return cuda_check(device, cuda.cuCtxPushCurrent_v2(device->context), "cuCtxPushCurrent");
}

void cuda_leave(void) {
    CUcontext before;
    cuda.cuCtxPopCurrent_v2(&before);
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

static int count(void) {
    int n = 0, status = cuda_driver_load();
    CUresult result = status ? CUDA_SUCCESS : cuda.cuDeviceGetCount(&n);
    if (result)
        status = cuda_error(result, "cuDeviceGetCount");
    return status ? status : n < CUDA_DEVICES_MOST ? n : CUDA_DEVICES_MOST;
}

/* The caller has entered. */
static int prepare_memory(cuda_device *device) {
    uint64_t keeps = POOL_KEEPS;
    CUresult result = cuda.cuDeviceGetDefaultMemPool(&device->pool, device->device);
    if (!result)
        result = cuda.cuMemPoolSetAttribute(device->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keeps);
    if (result)
        return cuda_check(device, result, "cuMemPoolSetAttribute");
    return cuda_check(device, cuda.cuStreamCreate(&device->allocations, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

static int check_pools(cuda_device *device) {
    int has_pools = 0;
    CUresult result = cuda.cuDeviceGetAttribute(&has_pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device->device);
    if (result)
        return cuda_error(result, "cuDeviceGetAttribute");
    return has_pools ? NEAP_OK
                     : neap->error(NEAP_E_LIBRARY, "cuda:%d has no memory pools, which neap needs", device->ordinal);
}

/* The compute capability, and "sm_90" by that. */
static int find_target(cuda_device *device) {
    int major = 0, minor = 0;
    CUresult result = cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device->device);
    if (!result)
        result = cuda.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device->device);
    device->capability = 10 * major + minor;
    if (cuda.neap_code_target)
        snprintf(device->target, sizeof device->target, "%s", cuda.neap_code_target);
    else
        snprintf(device->target, sizeof device->target, "sm_%d", device->capability);
    return result ? cuda_error(result, "cuDeviceGetAttribute") : NEAP_OK;
}

/* Kernels and copies of one device use memory of others, where they can; memory of a pool has to be opened for that. */
static int open_pool(cuda_device *device, const cuda_device *peer) {
    int can = 0;
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = peer->device},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUresult result = cuda.cuDeviceCanAccessPeer(&can, peer->device, device->device);
    if (result || !can)
        return cuda_check(device, result, "cuDeviceCanAccessPeer");
    return cuda_check(device, cuda.cuMemPoolSetAccess(device->pool, &access, 1), "cuMemPoolSetAccess");
}

static int open_pools(cuda_device *device) {
    int status = NEAP_OK;
    for (int ordinal = 0; ordinal < CUDA_DEVICES_MOST && !status; ordinal++) {
        cuda_device *peer = opened[ordinal];
        if (peer && !(status = open_pool(device, peer)))
            status = open_pool(peer, device);
    }
    return status;
}

static int open_context(cuda_device *device) {
    CUresult result = cuda.cuDeviceGet(&device->device, device->ordinal);
    if (result)
        return cuda_error(result, "cuDeviceGet");
    int status = check_pools(device);
    if (!status)
        status = find_target(device);
    if (status)
        return status;
    sigset_t before = cuda_signals_block();
    result = cuda.cuDevicePrimaryCtxRetain(&device->context, device->device);
    cuda_signals_restore(&before);
    if (result)
        return cuda_error(result, "cuDevicePrimaryCtxRetain");
    status = cuda_enter(device);
    if (!status) {
        status = prepare_memory(device);
        if (!status && (status = open_pools(device)) != NEAP_OK)
            cuda.cuStreamDestroy_v2(device->allocations);
        cuda_leave();
    }
    if (status)
        cuda.cuDevicePrimaryCtxRelease_v2(device->device);
    return status;
}

static int open_device(int ordinal, neap_device **out) {
    cuda_device *device = calloc(1, sizeof *device);
    if (!device)
        return neap->error(NEAP_E_MEMORY, "no memory for a device");
    device->ordinal = ordinal;
    pthread_mutex_init(&device->mutex, NULL);
    cuda_libraries_make(device);
    int status = open_context(device);
    if (status) {
        cuda_libraries_free(device);
        pthread_mutex_destroy(&device->mutex);
        free(device);
        return status;
    }
    opened[ordinal] = device;
    *out = (neap_device *)device;
    return NEAP_OK;
}

static void close_device(neap_device *handle) {
    cuda_device *device = (cuda_device *)handle;
    cuda_collectives_free(device);
    opened[device->ordinal] = NULL;
    cuda.cuCtxPushCurrent_v2(device->context); /* also that of a lost device */
    cuda.cuStreamSynchronize(device->allocations);
    cuda.cuStreamDestroy_v2(device->allocations);
    cuda_events_free(device);
    cuda_libraries_free(device);
    cuda_leave();
    cuda.cuDevicePrimaryCtxRelease_v2(device->device);
    pthread_mutex_destroy(&device->mutex);
    free(device);
}

/* What the pool keeps and nobody uses. The caller has entered. */
static uint64_t find_kept(cuda_device *device) {
    uint64_t reserved = 0, used = 0;
    CUresult result = cuda.cuMemPoolGetAttribute(device->pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved);
    if (!result)
        result = cuda.cuMemPoolGetAttribute(device->pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
    return result || used > reserved ? 0 : reserved - used;
}

/* What other processes take counts, too. Of a lost device: 0; where all is taken: 1, as 0 is what nobody knows. */
static uint64_t find_free_memory(cuda_device *device) {
    size_t available = 0, total = 0;
    if (cuda_enter(device) != NEAP_OK)
        return 0;
    if (cuda_check(device, cuda.cuMemGetInfo_v2(&available, &total), "cuMemGetInfo") != NEAP_OK)
        available = 0;
    else if ((available += find_kept(device)) == 0)
        available = 1;
    cuda_leave();
    return available;
}

static int facts(neap_device *handle, neap_device_facts *out) {
    cuda_device *device = (cuda_device *)handle;
    size_t bytes = 0;
    int version = 0;
    char name[40] = "";
    *out = (neap_device_facts){0};
    CUresult result = cuda.cuDeviceGetName(name, sizeof name, device->device);
    if (!result)
        result = cuda.cuDeviceTotalMem_v2(&bytes, device->device);
    if (!result)
        result = cuda.cuDeviceGetAttribute(&out->units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device->device);
    if (!result)
        result = cuda.cuDriverGetVersion(&version);
    if (result)
        return cuda_error(result, "cuDeviceGetName");
    out->memory_bytes = bytes;
    out->memory_free = find_free_memory(device);
    snprintf(out->name, sizeof out->name, "%s, CUDA %d.%d", name, version / 1000, version % 1000 / 10);
    return NEAP_OK;
}

static const char *code_target(neap_device *device) {
    return ((const cuda_device *)device)->target;
}

static int runs_host(neap_device *device) {
    (void)device;
    return cuda.neap_host_address != NULL;
}

static const neap_device_kind kind = {
    .abi = NEAP_DEVICE_ABI,
    .name = "cuda",
    .count = count,
    .open = open_device,
    .close = close_device,
    .facts = facts,
    .stream_new = cuda_stream_new,
    .stream_free = cuda_stream_free,
    .stream_then = cuda_stream_then,
    .stream_sync = cuda_stream_sync,
    .event_new = cuda_event_new,
    .event_free = cuda_event_free,
    .stream_wait = cuda_stream_wait,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .copy = cuda_copy,
    .copy_peer = cuda_copy_peer,
    .code_new = cuda_code_new,
    .code_free = cuda_code_free,
    .code_target = code_target,
    .launch = cuda_launch,
    .runs_host = runs_host,
    .routine_lacks = cuda_routine_lacks,
    .routine_run = cuda_routine_run,
    .libraries = cuda_device_libraries,
    .collective_lacks = cuda_collective_lacks,
    .collective_run = cuda_collective_run,
    .graph_new = cuda_graph_new,
    .graph_change = cuda_graph_change,
    .graph_run = cuda_graph_run,
    .graph_free = cuda_graph_free,
};

int neap_plugin_open(const neap_plugin_host *host) {
    if (host->abi != NEAP_DEVICE_ABI)
        return host->error(NEAP_E_LIBRARY, "made for interface %d of neap, not %u", NEAP_DEVICE_ABI,
                           (unsigned)host->abi);
    neap = host;
    return host->device_register(&kind);
}
