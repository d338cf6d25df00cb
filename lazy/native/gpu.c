/* native/gpu.c: asking the generator for code of grid kernels (gpu.h), and loading what it makes for the host. */
#include "lazy/native/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device.h"
#include "lazy/native/object.h"

enum { OLDEST = 80 };

struct gpu_code {
    native_object kernel, finish;
};

/* ---- Which are equal --------------------------------------------------------------------------------------------- */
static bool same_map(const gpu_map *a, const gpu_map *b) {
    return a->flat == b->flat && a->axes == b->axes && a->word == b->word;
}

static bool same_load(const gpu_load *a, const gpu_load *b) {
    return a->kind == b->kind && a->dtype == b->dtype && a->slot == b->slot && same_map(&a->map, &b->map);
}

static bool same_ins(const native_ins *a, const native_ins *b) {
    bool same = a->op == b->op && a->dtype == b->dtype && a->result == b->result && a->narg == b->narg;
    for (int k = 0; k < a->narg && same; k++)
        same = a->arg[k] == b->arg[k];
    return same;
}

static bool same_sink(const gpu_sink *a, const gpu_sink *b) {
    return a->kind == b->kind && a->dtype == b->dtype && a->op == b->op && a->slot == b->slot && a->value == b->value &&
           same_map(&a->map, &b->map);
}

bool gpu_same(const gpu_kernel *a, const gpu_kernel *b) {
    bool same = a->ndim == b->ndim && a->nkept == b->nkept && a->nloads == b->nloads && a->nins == b->nins &&
                a->nsinks == b->nsinks && a->nbuffers == b->nbuffers && a->nwords == b->nwords &&
                a->numbers == b->numbers && a->each == b->each && a->slots == b->slots && a->wide == b->wide &&
                a->across == b->across;
    for (int k = 0; k < a->nloads && same; k++)
        same = same_load(&a->loads[k], &b->loads[k]);
    for (int k = 0; k < a->nins && same; k++)
        same = same_ins(&a->ins[k], &b->ins[k]);
    for (int k = 0; k < a->nsinks && same; k++)
        same = same_sink(&a->sinks[k], &b->sinks[k]);
    return same;
}

/* ---- Code -------------------------------------------------------------------------------------------------------- */
bool gpu_available(char *text, size_t bytes) {
    if (!native_available(text, bytes))
        return false;
    const neap_generator *g = neap_generator_in_use();
    if (!g->generate_gpu)
        snprintf(text, bytes, "%s has no target NVPTX", g->name);
    return g->generate_gpu != NULL;
}

static int generate(const gpu_kernel *kernel, const char *target, void **out, size_t *bytes) {
    char text[256];
    if (!gpu_available(text, sizeof text))
        return neap_error(NEAP_E_LIBRARY, "no code for GPUs can be made: %s", text);
    return neap_generator_in_use()->generate_gpu(kernel, target, out, bytes);
}

int gpu_text(const gpu_kernel *kernel, const char *target, char **text, size_t *bytes) {
    void *out = NULL;
    const bool known = strncmp(target, "sm_", 3) == 0 && atoi(target + 3) >= OLDEST;
    int status = known ? generate(kernel, target, &out, bytes)
                       : neap_error(NEAP_E_ARGUMENT, "no code is made for '%s': GPUs from sm_%d on", target, OLDEST);
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
                    (kernel->reduces && !kernel->staged && !native_object_load(&code->finish, file, bytes, "finish"))))
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
