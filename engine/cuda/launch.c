/* launch.c: code from PTX, and launches: of code, or, on a driver that computes on the host, of host functions.
 *
 * The driver compiles a text as a whole, so code of several entries of one text has one module, if it is made in a row:
 * a device knows the module that was loaded last, while it is there.
 */
#include "engine/cuda/cuda.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_BYTES = 4096, SHARED_BYTES = 48 << 10 /* that any kernel may ask for */ };

typedef struct cuda_module {
    CUmodule module;
    int users; /* codes; under the device's lock */
    size_t bytes;
    char text[]; /* PTX with a terminating zero */
} cuda_module;

struct neap_code {
    cuda_module *module;
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

/* The module of the text that was loaded last, if it is this one; NULL: it is not. */
static cuda_module *take_recent(cuda_device *device, const void *image, size_t bytes) {
    pthread_mutex_lock(&device->mutex);
    cuda_module *recent = device->recent;
    if (recent && recent->bytes == bytes && memcmp(recent->text, image, bytes) == 0)
        recent->users++;
    else
        recent = NULL;
    pthread_mutex_unlock(&device->mutex);
    return recent;
}

/* Loads a text. The caller has entered. */
static int load_module(cuda_device *device, const char *name, const void *image, size_t bytes, cuda_module **out) {
    char log[LOG_BYTES] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    cuda_module *made = malloc(sizeof *made + bytes + 1);
    if (!made)
        return neap->error(NEAP_E_MEMORY, "no memory for code");
    *made = (cuda_module){.users = 1, .bytes = bytes};
    memcpy(made->text, image, bytes);
    made->text[bytes] = '\0';
    CUresult result = cuda.cuModuleLoadDataEx(&made->module, made->text, 2, options, values);
    if (result) {
        free(made);
        return fail_to_load(device, name, result, log);
    }
    pthread_mutex_lock(&device->mutex);
    device->recent = made;
    pthread_mutex_unlock(&device->mutex);
    *out = made;
    return NEAP_OK;
}

/* `entered`: the device is not lost. */
static void drop_module(cuda_device *device, cuda_module *module, bool entered) {
    pthread_mutex_lock(&device->mutex);
    const bool last = --module->users == 0;
    if (last && device->recent == module)
        device->recent = NULL;
    pthread_mutex_unlock(&device->mutex);
    if (!last)
        return;
    if (entered)
        cuda_check(device, cuda.cuModuleUnload(module->module), "cuModuleUnload");
    free(module);
}

/* The caller has entered. */
static int load_code(cuda_device *device, const char *name, const void *image, size_t bytes, struct neap_code *code) {
    code->module = take_recent(device, image, bytes);
    int status = code->module ? NEAP_OK : load_module(device, name, image, bytes, &code->module);
    if (status)
        return status;
    CUresult result = cuda.cuModuleGetFunction(&code->function, code->module->module, name);
    status = result == CUDA_ERROR_NOT_FOUND ? neap->error(NEAP_E_LIBRARY, "the code of '%s' has no such entry", name)
                                            : cuda_check(device, result, "cuModuleGetFunction");
    if (status)
        drop_module(device, code->module, true);
    return status;
}

int cuda_code_new(neap_device *handle, const char *name, const void *image, size_t bytes, neap_code **out) {
    cuda_device *device = (cuda_device *)handle;
    struct neap_code *code = calloc(1, sizeof *code);
    int status = code ? cuda_enter(device) : neap->error(NEAP_E_MEMORY, "no memory for code");
    if (!status) {
        code->shared_bytes = SHARED_BYTES;
        status = load_code(device, name, image, bytes, code);
        cuda_leave();
    }
    if (status) {
        free(code);
        return status;
    }
    *out = code;
    return NEAP_OK;
}

void cuda_code_free(neap_device *handle, neap_code *code) {
    cuda_device *device = (cuda_device *)handle;
    const bool entered = cuda_enter(device) == NEAP_OK;
    drop_module(device, code->module, entered);
    if (entered)
        cuda_leave();
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

int cuda_launch_parameters(cuda_device *device, const neap_launch *launch, void **parameters, CUfunction *function) {
    int n = 0, status = allow_shared(device, launch->code, launch->shared_bytes);
    if (status)
        return status;
    for (int k = 0; k < launch->nbuffers; k++)
        parameters[n++] = (void *)&launch->buffers[k];
    for (int k = 0; k < launch->nscalars; k++)
        parameters[n++] = (void *)&launch->scalars[k];
    *function = launch->code->function;
    return NEAP_OK;
}

static int launch_code(cuda_stream *stream, const neap_launch *launch, void **parameters) {
    const uint32_t *groups = launch->groups, *threads = launch->threads;
    CUfunction function;
    int status = cuda_launch_parameters(stream->device, launch, parameters, &function);
    if (status)
        return status;
    return cuda_check(stream->device,
                      cuda.cuLaunchKernel(function, groups[0], groups[1], groups[2], threads[0], threads[1], threads[2],
                                          launch->shared_bytes, stream->stream, parameters, NULL),
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
    return cuda_work_enqueue(stream, stream->stream, &made->work, run_host);
}

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

/* The caller has entered. */
static int launch_on(cuda_stream *stream, const neap_launch *launch) {
    size_t n = (size_t)launch->nbuffers + (size_t)launch->nscalars;
    void *few[CUDA_FEW_PARAMETERS], **parameters = few;
    if (!launch->code && launch->host && cuda.neap_host_address) {
        pthread_mutex_lock(&stream->mutex);
        int status = launch_host(stream, launch);
        pthread_mutex_unlock(&stream->mutex);
        return status;
    }
    if (!launch->code)
        return neap->error(NEAP_E_LIBRARY, "cuda:%d has no code for '%s'", stream->device->ordinal,
                           launch->name ? launch->name : "a launch");
    if (n > CUDA_FEW_PARAMETERS && !(parameters = malloc(n * sizeof *parameters)))
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
