/* launch.c: code from PTX, and launches: of code, or, on a driver that computes on the host, of host functions. */
#include "engine/cuda/cuda.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 32, LOG_BYTES = 4096, SHARED_BYTES = 48 << 10 /* that any kernel may ask for */ };

struct neap_code {
    CUmodule module;
    CUfunction function;
    _Atomic uint32_t shared_bytes; /* that it may ask for */
};

/* ---- Code -------------------------------------------------------------------------------------------------------- */

static int fail_to_load(cuda_device *device, const char *name, CUresult result, const char *log) {
    if (!*log || cuda_loses_context(result))
        return cuda_check(device, result, "cuModuleLoadDataEx");
    return neap->error(cuda_code(result), "the code of '%s' cannot be loaded: %s: %.*s", name, cuda_error_name(result),
                       (int)strcspn(log, "\n"), log);
}

/* `text`: PTX with a terminating zero. The caller has entered. */
static int load_code(cuda_device *device, const char *name, const char *text, struct neap_code *code) {
    char log[LOG_BYTES] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUresult result = cuda.cuModuleLoadDataEx(&code->module, text, 2, options, values);
    if (result)
        return fail_to_load(device, name, result, log);
    result = cuda.cuModuleGetFunction(&code->function, code->module, name);
    int status = result == CUDA_ERROR_NOT_FOUND
                     ? neap->error(NEAP_E_LIBRARY, "the code of '%s' has no such entry", name)
                     : cuda_check(device, result, "cuModuleGetFunction");
    if (status)
        cuda.cuModuleUnload(code->module);
    return status;
}

int cuda_code_new(neap_device *handle, const char *name, const void *image, size_t bytes, neap_code **out) {
    cuda_device *device = (cuda_device *)handle;
    struct neap_code *code = calloc(1, sizeof *code);
    char *text = malloc(bytes + 1);
    int status = code && text ? cuda_enter(device) : neap->error(NEAP_E_MEMORY, "no memory for code");
    if (!status) {
        memcpy(text, image, bytes);
        text[bytes] = '\0';
        code->shared_bytes = SHARED_BYTES;
        status = load_code(device, name, text, code);
        cuda_leave();
    }
    free(text);
    if (status) {
        free(code);
        return status;
    }
    *out = code;
    return NEAP_OK;
}

void cuda_code_free(neap_device *handle, neap_code *code) {
    cuda_device *device = (cuda_device *)handle;
    if (cuda_enter(device) == NEAP_OK) {
        cuda_check(device, cuda.cuModuleUnload(code->module), "cuModuleUnload");
        cuda_leave();
    }
    free(code);
}

static int allow_shared(cuda_device *device, struct neap_code *code, uint32_t bytes) {
    if (bytes <= atomic_load(&code->shared_bytes))
        return NEAP_OK;
    int status = cuda_check(
        device, cuda.cuFuncSetAttribute(code->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes),
        "cuFuncSetAttribute");
    if (!status)
        atomic_store(&code->shared_bytes, bytes);
    return status;
}

/* The driver copies what `parameters` point to. */
static int launch_code(cuda_stream *stream, const neap_launch *launch, void **parameters) {
    struct neap_code *code = launch->code;
    const uint32_t *groups = launch->groups, *threads = launch->threads;
    int n = 0, status = allow_shared(stream->device, code, launch->shared_bytes);
    if (status)
        return status;
    for (int k = 0; k < launch->nbuffers; k++)
        parameters[n++] = (void *)&launch->buffers[k];
    for (int k = 0; k < launch->nscalars; k++)
        parameters[n++] = (void *)&launch->scalars[k];
    return cuda_check(stream->device,
                      cuda.cuLaunchKernel(code->function, groups[0], groups[1], groups[2], threads[0], threads[1],
                                          threads[2], launch->shared_bytes, stream->stream, parameters, NULL),
                      "cuLaunchKernel");
}

/* ---- Host functions ---------------------------------------------------------------------------------------------- */

typedef struct host_launch { /* a work */
    cuda_work work;
    cuda_op *op;
    neap_launch launch;
    uint64_t words[]; /* scalars, then addresses of buffers */
} host_launch;

static void run_host(cuda_work *work) {
    host_launch *given = (host_launch *)work;
    void **buffers = (void **)given->launch.buffers; /* its own copy */
    cuda_failure *failure = &given->op->failure;
    if (failure->status)
        return;
    for (int k = 0; k < given->launch.nbuffers; k++)
        buffers[k] = cuda.neap_host_address((CUdeviceptr)(uintptr_t)buffers[k]);
    int status = given->launch.host(&given->launch);
    if (status >= 0)
        return;
    snprintf(failure->text, sizeof failure->text, "%s", neap->error_text());
    failure->status = status;
}

static int launch_host(cuda_stream *stream, const neap_launch *launch) {
    size_t nbuffers = (size_t)launch->nbuffers, nscalars = (size_t)launch->nscalars;
    host_launch *made = malloc(sizeof *made + (nbuffers + nscalars) * sizeof *made->words);
    cuda_op *op = cuda_op_find(stream);
    if (!made || !op) {
        free(made);
        return neap->error(NEAP_E_MEMORY, "no memory for a launch");
    }
    made->op = op;
    made->launch = *launch;
    made->launch.scalars = nscalars ? memcpy(made->words, launch->scalars, nscalars * sizeof(uint64_t)) : NULL;
    made->launch.buffers = nbuffers ? memcpy(made->words + nscalars, launch->buffers, nbuffers * sizeof(void *)) : NULL;
    made->launch.name = NULL;
    return cuda_work_enqueue(stream, &made->work, run_host);
}

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

/* The caller has entered. */
static int launch_on(cuda_stream *stream, const neap_launch *launch) {
    size_t n = (size_t)launch->nbuffers + (size_t)launch->nscalars;
    void *few[FEW], **parameters = few;
    if (!launch->code && launch->host && cuda.neap_host_address) {
        pthread_mutex_lock(&stream->mutex);
        int status = launch_host(stream, launch);
        pthread_mutex_unlock(&stream->mutex);
        return status;
    }
    if (!launch->code)
        return neap->error(NEAP_E_LIBRARY, "cuda:%d has no code for '%s'", stream->device->ordinal,
                           launch->name ? launch->name : "a launch");
    if (n > FEW && !(parameters = malloc(n * sizeof *parameters)))
        return neap->error(NEAP_E_MEMORY, "no memory for a launch");
    int status = launch_code(stream, launch, parameters);
    if (parameters != few)
        free(parameters);
    return status;
}

int cuda_launch(neap_device *handle, neap_stream *stream, const neap_launch *launch) {
    int status = cuda_enter((cuda_device *)handle);
    if (status)
        return status;
    status = launch_on((cuda_stream *)stream, launch);
    cuda_leave();
    return status;
}
