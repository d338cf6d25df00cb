/* driver.c: loading libcuda.so.1, and what its results mean. */
#include "engine/cuda/cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

cuda_driver cuda;

/* ---- Threads of others ------------------------------------------------------------------------------------------- */

sigset_t cuda_signals_block(void) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    return before;
}

void cuda_signals_restore(const sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* ---- The driver -------------------------------------------------------------------------------------------------- */

static pthread_mutex_t load_mutex = PTHREAD_MUTEX_INITIALIZER;
static const char DRIVER[] = "libcuda.so.1";

/* Finds the functions. NULL, or the name of the first that is missing. */
static const char *find_functions(void *library) {
    static const struct {
        const char *name;
        void *to;
    } wanted[] = {
#define WANTED(name, parameters) {#name, &cuda.name},
        CUDA_DRIVER_FUNCTIONS(WANTED)
#undef WANTED
    };
    for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
        void *address = dlsym(library, wanted[k].name);
        if (!address)
            return wanted[k].name;
        memcpy(wanted[k].to, &address, sizeof address);
    }
    return NULL;
}

/* What dlopen says of a file that is not there names it twice, so that is told in words of our own. */
static int fail_to_open(void) {
    const char *text = dlerror();
    if (!text || strstr(text, "No such file"))
        return neap->error(NEAP_E_LIBRARY, "%s is not installed: it belongs to the NVIDIA driver", DRIVER);
    return neap->error(NEAP_E_LIBRARY, "%s cannot be loaded: %s", DRIVER, text);
}

static int load_driver(void) {
    void *library = dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return fail_to_open();
    const char *missing = find_functions(library);
    if (missing)
        return neap->error(NEAP_E_LIBRARY, "the NVIDIA driver is too old: %s has no %s", DRIVER, missing);
    cuda_choose_cache();
    sigset_t before = cuda_signals_block();
    CUresult result = cuda.cuInit(0);
    cuda_signals_restore(&before);
    if (result == CUDA_ERROR_NO_DEVICE)
        return neap->error(NEAP_E_LIBRARY, "the NVIDIA driver finds no GPU");
    if (result)
        return cuda_error(result, "cuInit");
    void *(**host_address)(CUdeviceptr) = dlsym(library, "neap_host_address");
    cuda.neap_host_address = host_address ? *host_address : NULL;
    const char **code_target = dlsym(library, "neap_code_target");
    cuda.neap_code_target = code_target ? *code_target : NULL;
    cuda.neap_stands_in = code_target != NULL;
    return NEAP_OK;
}

int cuda_driver_load(void) {
    static bool loaded;
    pthread_mutex_lock(&load_mutex);
    int status = loaded ? NEAP_OK : load_driver();
    loaded = status == NEAP_OK;
    pthread_mutex_unlock(&load_mutex);
    return status;
}

const char *cuda_error_name(CUresult result) {
    const char *name = NULL;
    return cuda.cuGetErrorName(result, &name) == CUDA_SUCCESS && name ? name : "an unknown error";
}

const char *cuda_error_text(CUresult result) {
    const char *text = NULL;
    return cuda.cuGetErrorString(result, &text) == CUDA_SUCCESS && text ? text : "it has no text";
}

int cuda_code(CUresult result) {
    return result == CUDA_ERROR_OUT_OF_MEMORY ? NEAP_E_MEMORY : NEAP_E_LIBRARY;
}

int cuda_error(CUresult result, const char *function) {
    return neap->error(cuda_code(result), "%s: %s (%s)", function, cuda_error_text(result), cuda_error_name(result));
}

bool cuda_loses_context(CUresult result) {
    switch (result) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_UNKNOWN:
        return true;
    default:
        return false;
    }
}
