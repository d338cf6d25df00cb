/* collectives.h: what the backend uses of NCCL, as a table of functions that is filled at run time, as libraries.h
 * tells.
 */
#ifndef NEAP_CUDA_COLLECTIVES_H
#define NEAP_CUDA_COLLECTIVES_H

#include <stddef.h>

#include "engine/cuda/driver.h"

#if NEAP_CUDA_HEADER
#include <nccl.h>
#else
typedef int ncclResult_t, ncclDataType_t;
typedef struct ncclComm *ncclComm_t;

enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7,
    ncclUint8 = 1
};
#endif

/* And ncclGetErrorString, which gives a text. */
#define NCCL_FUNCTIONS(X)                                                                                              \
    X(ncclGetVersion, (int *version))                                                                                  \
    X(ncclCommInitAll, (ncclComm_t * communicators, int n, const int *ordinals))                                       \
    X(ncclCommDestroy, (ncclComm_t communicator))                                                                      \
    X(ncclCommAbort, (ncclComm_t communicator))                                                                        \
    X(ncclCommGetAsyncError, (ncclComm_t communicator, ncclResult_t * failure))                                        \
    X(ncclGroupStart, (void))                                                                                          \
    X(ncclGroupEnd, (void))                                                                                            \
    X(ncclAllGather,                                                                                                   \
      (const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t communicator, CUstream stream))       \
    X(ncclBroadcast, (const void *from, void *to, size_t count, ncclDataType_t type, int root,                         \
                      ncclComm_t communicator, CUstream stream))                                                       \
    X(ncclSend,                                                                                                        \
      (const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator, CUstream stream))       \
    X(ncclRecv, (void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator, CUstream stream))

#if !NEAP_CUDA_HEADER
typedef struct nccl_functions {
    const char *(*ncclGetErrorString)(ncclResult_t result);
#define NCCL_MEMBER(name, parameters) ncclResult_t(*name) parameters;
    NCCL_FUNCTIONS(NCCL_MEMBER)
#undef NCCL_MEMBER
} nccl_functions;

extern nccl_functions nccl; /* once cuda_nccl_lacks has returned NULL */
#endif

#endif
