/* native/gpu.c: asking the generator for code of grid kernels (gpu.h), and loading what it makes for the host. */
#include "lazy/native/gpu.h"

#include <stdlib.h>
#include <string.h>

#include "engine/device.h"
#include "lazy/native/object.h"

struct gpu_code {
    native_object kernel, finish;
};

static int generate(const gpu_kernel *kernel, const char *target, void **out, size_t *bytes) {
    char text[256];
    if (!native_available(text, sizeof text))
        return neap_error(NEAP_E_LIBRARY, "no code for GPUs can be made: %s", text);
    const neap_generator *g = neap_generator_in_use();
    if (!g->generate_gpu)
        return neap_error(NEAP_E_LIBRARY, "no code for GPUs can be made by %s", g->name);
    return g->generate_gpu(kernel, target, out, bytes);
}

int gpu_text(const gpu_kernel *kernel, const char *target, char **text, size_t *bytes) {
    void *out = NULL;
    int status = strncmp(target, "sm_", 3) == 0 ? generate(kernel, target, &out, bytes)
                                                : neap_error(NEAP_E_ARGUMENT, "'%s' is no target of PTX", target);
    *text = out;
    return status;
}

int gpu_code_new(const gpu_kernel *kernel, gpu_code **out) {
    void *file = NULL;
    size_t bytes = 0;
    int status = generate(kernel, "host", &file, &bytes);
    gpu_code *code = status ? NULL : calloc(1, sizeof *code);
    *out = NULL;
    if (!status && !code)
        status = neap_error(NEAP_E_MEMORY, "no memory for code");
    if (!status && (!native_object_load(&code->kernel, file, bytes, "kernel") ||
                    (kernel->reduces && !native_object_load(&code->finish, file, bytes, "finish"))))
        status = neap_error(NEAP_E_INTERNAL, "the object file cannot be loaded");
    free(file);
    if (status)
        gpu_code_free(code);
    else
        *out = code;
    return status;
}

gpu_entry gpu_code_entry(const gpu_code *code, const char *name) {
    gpu_entry entry;
    memcpy(&entry, strcmp(name, "finish") == 0 ? &code->finish.function : &code->kernel.function, sizeof entry);
    return entry;
}

void gpu_code_free(gpu_code *code) {
    if (!code)
        return;
    native_object_unload(&code->kernel);
    native_object_unload(&code->finish);
    free(code);
}
