/* driver.h: what the backend uses of CUDA's driver API, as a table of functions that is filled at run time.
 *
 * Nothing of CUDA is needed to build: types, numbers and functions are declared here under the driver's own names. With
 * NEAP_CUDA_HEADER they come from cuda.h instead, by which a test holds these declarations against the real ones.
 * libcuda.so.1 belongs to the driver of the hardware, so it is there or not on the machine that runs neap.
 */
#ifndef NEAP_CUDA_DRIVER_H
#define NEAP_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#if NEAP_CUDA_HEADER
#include <cuda.h>
#else

typedef int CUresult, CUdevice, CUdevice_attribute, CUmemPool_attribute, CUjit_option, CUfunction_attribute;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUkern_st *CUkernel;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUarray_st *CUarray;
typedef int CUmemorytype;
typedef void (*CUhostFn)(void *arg);
typedef struct CUDA_MEMCPY2D_st {
    size_t srcXInBytes, srcY;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;
typedef struct CUDA_MEMCPY3D_st {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void *reserved0;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void *reserved1;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;
typedef struct CUDA_KERNEL_NODE_PARAMS_v2_st {
    CUfunction func;
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    void **kernelParams;
    void **extra;
    CUkernel kern;
    CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;
typedef struct CUmemAccessDesc_st {
    struct {
        int type, id;
    } location;
    int flags;
} CUmemAccessDesc;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_CONTAINED = 226,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
    CUDA_ERROR_MISALIGNED_ADDRESS = 716,
    CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
    CUDA_ERROR_INVALID_PC = 718,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_TENSOR_MEMORY_LEAK = 721,
    CUDA_ERROR_MPS_CLIENT_TERMINATED = 810,
    CUDA_ERROR_EXTERNAL_DEVICE = 911,
    CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
    CUDA_ERROR_UNKNOWN = 999
};
enum {
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_BLOCKING_SYNC = 1,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_EVENT_WAIT_DEFAULT = 0,
    CU_MEMHOSTALLOC_PORTABLE = 1,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
    CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
    CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
    CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
    CU_MEMORYTYPE_DEVICE = 2,
    CU_MEM_LOCATION_TYPE_DEVICE = 1,
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
    CU_JIT_ERROR_LOG_BUFFER = 5,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
};
#endif

/* Names and parameters of the functions. Versions are those that cuda.h's macros choose. */
#define CUDA_DRIVER_FUNCTIONS(X)                                                                                       \
    X(cuInit, (unsigned int flags))                                                                                    \
    X(cuDriverGetVersion, (int *version))                                                                              \
    X(cuGetErrorName, (CUresult error, const char **text))                                                             \
    X(cuGetErrorString, (CUresult error, const char **text))                                                           \
    X(cuDeviceGetCount, (int *count))                                                                                  \
    X(cuDeviceGet, (CUdevice * device, int ordinal))                                                                   \
    X(cuDeviceGetName, (char *name, int bytes, CUdevice device))                                                       \
    X(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                                                          \
    X(cuMemGetInfo_v2, (size_t * free, size_t * total))                                                                \
    X(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device))                               \
    X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                                                \
    X(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                                                 \
    X(cuCtxPushCurrent_v2, (CUcontext context))                                                                        \
    X(cuCtxPopCurrent_v2, (CUcontext * context))                                                                       \
    X(cuStreamCreate, (CUstream * stream, unsigned int flags))                                                         \
    X(cuStreamDestroy_v2, (CUstream stream))                                                                           \
    X(cuStreamSynchronize, (CUstream stream))                                                                          \
    X(cuStreamQuery, (CUstream stream))                                                                                \
    X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags))                                         \
    X(cuEventCreate, (CUevent * event, unsigned int flags))                                                            \
    X(cuEventDestroy_v2, (CUevent event))                                                                              \
    X(cuEventRecord, (CUevent event, CUstream stream))                                                                 \
    X(cuEventQuery, (CUevent event))                                                                                   \
    X(cuEventSynchronize, (CUevent event))                                                                             \
    X(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice device))                                               \
    X(cuMemPoolSetAttribute, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value))                          \
    X(cuMemPoolGetAttribute, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value))                          \
    X(cuMemPoolTrimTo, (CUmemoryPool pool, size_t keeps))                                                              \
    X(cuMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc *accesses, size_t n))                              \
    X(cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer))                                               \
    X(cuMemAllocAsync, (CUdeviceptr * memory, size_t bytes, CUstream stream))                                          \
    X(cuMemFreeAsync, (CUdeviceptr memory, CUstream stream))                                                           \
    X(cuMemHostAlloc, (void **memory, size_t bytes, unsigned int flags))                                               \
    X(cuMemFreeHost, (void *memory))                                                                                   \
    X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                         \
    X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                               \
    X(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                         \
    X(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream))                                                \
    X(cuMemcpyPeerAsync,                                                                                               \
      (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes, CUstream stream)) \
    X(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream))                           \
    X(cuMemsetD2D32Async,                                                                                              \
      (CUdeviceptr to, size_t row_bytes, unsigned int value, size_t width, size_t height, CUstream stream))            \
    X(cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *arg))                                                     \
    X(cuModuleLoadDataEx,                                                                                              \
      (CUmodule * module, const void *image, unsigned int noptions, CUjit_option *options, void **values))             \
    X(cuModuleUnload, (CUmodule module))                                                                               \
    X(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))                                 \
    X(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value))                            \
    X(cuGraphCreate, (CUgraph * graph, unsigned int flags))                                                            \
    X(cuGraphDestroy, (CUgraph graph))                                                                                 \
    X(cuGraphAddKernelNode_v2, (CUgraphNode * node, CUgraph graph, const CUgraphNode *behind, size_t n,                \
                                const CUDA_KERNEL_NODE_PARAMS *parameters))                                            \
    X(cuGraphAddMemcpyNode, (CUgraphNode * node, CUgraph graph, const CUgraphNode *behind, size_t n,                   \
                             const CUDA_MEMCPY3D *copy, CUcontext context))                                            \
    X(cuGraphInstantiateWithFlags, (CUgraphExec * made, CUgraph graph, unsigned long long flags))                      \
    X(cuGraphExecDestroy, (CUgraphExec graph))                                                                         \
    X(cuGraphExecKernelNodeSetParams_v2,                                                                               \
      (CUgraphExec graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *parameters))                                \
    X(cuGraphExecMemcpyNodeSetParams,                                                                                  \
      (CUgraphExec graph, CUgraphNode node, const CUDA_MEMCPY3D *copy, CUcontext context))                             \
    X(cuGraphLaunch, (CUgraphExec graph, CUstream stream))                                                             \
    X(cuLaunchKernel, (CUfunction function, unsigned int groups_x, unsigned int groups_y, unsigned int groups_z,       \
                       unsigned int threads_x, unsigned int threads_y, unsigned int threads_z,                         \
                       unsigned int shared_bytes, CUstream stream, void **parameters, void **extra))

typedef struct cuda_driver {
#define CUDA_DRIVER_MEMBER(name, parameters) CUresult(*name) parameters;
    CUDA_DRIVER_FUNCTIONS(CUDA_DRIVER_MEMBER)
#undef CUDA_DRIVER_MEMBER
    /* No functions of CUDA: a driver that stands in for it in tests, and computes on the host, has pointers of these
     * names. The first tells where the CPU finds what has this address on a device; NULL: no launch without code is
     * done. The second is the target of the code that it takes; NULL: that of the devices' compute capability. */
    void *(*neap_host_address)(CUdeviceptr memory);
    const char *neap_code_target;
    bool neap_stands_in; /* there is such a driver: libraries that do not go with it are not looked for */
} cuda_driver;

/* The driver, once cuda_driver_load has returned 0. */
extern cuda_driver cuda;

/* Loads the driver and initializes it; later calls return what the first one did. It is never unloaded. 0, or
 * NEAP_E_LIBRARY with a text that says what is missing. */
int cuda_driver_load(void);

/* Sets the error for a result of the driver: "cuMemAllocAsync: out of memory (CUDA_ERROR_OUT_OF_MEMORY)". Returns
 * the code of neap. */
int cuda_error(CUresult result, const char *function);
int cuda_code(CUresult result); /* NEAP_E_… */
const char *cuda_error_name(CUresult result);
const char *cuda_error_text(CUresult result);
/* Does it mean that the context is lost, so that all further calls fail? */
bool cuda_loses_context(CUresult result);

#endif
