/* native/gpu.c: asking the generator for code of grid kernels (gpu.h), or finding the text that an earlier process had
 * made, and loading what it makes for the host. */
#include "lazy/native/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device.h"
#include "lazy/loop/key.h"
#include "lazy/native/cache.h"
#include "lazy/native/object.h"
#include "lazy/op.h"

enum { OLDEST = 75 }; /* that the assembler of CUDA 13 takes; the code needs nothing newer */

struct gpu_code {
    int n;
    const char *names[GPU_CALL_ENTRIES];
    native_object objects[GPU_CALL_ENTRIES];
};

/* ---- Which are equal --------------------------------------------------------------------------------------------- */
static void put_map(loop_key *key, const gpu_map *map) {
    const uint32_t words[5] = {map->flat, map->along, map->turned, map->axes, (uint32_t)map->word};
    loop_key_put(key, words, sizeof words);
}

static void put_loop(loop_key *key, const gpu_kernel *kernel) {
    loop_key_code(key, kernel->loop);
    for (int k = 0; k < kernel->loop->nloads + kernel->loop->nsinks; k++)
        put_map(key, &kernel->maps[k]);
}

static void put_call(loop_key *key, const gpu_entries *call) {
    const int32_t head[3] = {call->dtype, call->n, call->shared_bytes};
    loop_key_put(key, head, sizeof head);
    for (int k = 0; k < call->n; k++)
        loop_key_text(key, call->names[k]);
}

size_t gpu_key(const gpu_kernel *kernel, const char *target, char *to) {
    loop_key key = {.to = to};
    const int32_t head[] = {kernel->nbuffers, kernel->nwords, kernel->numbers, kernel->each,  kernel->slots,
                            kernel->near,     kernel->wide,   kernel->across,  kernel->tiled, kernel->tile_axis};
    loop_key_text(&key, "gpu"); /* no instruction set of the CPU */
    loop_key_text(&key, target);
    loop_key_put(&key, head, sizeof head);
    if (kernel->call)
        put_call(&key, kernel->call);
    else
        put_loop(&key, kernel);
    return key.bytes;
}

bool gpu_same(const gpu_kernel *a, const gpu_kernel *b) {
    const size_t bytes = gpu_key(a, "", NULL);
    char *keys = gpu_key(b, "", NULL) == bytes ? malloc(2 * bytes) : NULL;
    if (!keys)
        return false;
    gpu_key(a, "", keys);
    gpu_key(b, "", keys + bytes);
    const bool same = memcmp(keys, keys + bytes, bytes) == 0;
    free(keys);
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

static bool is_known(const char *target) {
    return strcmp(target, "host") == 0 || (strncmp(target, "sm_", 3) == 0 && atoi(target + 3) >= OLDEST);
}

static int refuse_target(const char *target) {
    return neap_error(NEAP_E_ARGUMENT, "no code is made for '%s': GPUs from sm_%d on", target, OLDEST);
}

const char *neap_tier_lacks(int device, char *text, size_t bytes) {
    const neap_device_kind *kind = neap_device_kind_of(device);
    if (neap_device_memory_space(device) == 0 || !kind || !kind->code_target)
        return NULL;
    const char *target = kind->code_target(neap_device_handle(device));
    char why[256];
    if (!is_known(target)) {
        refuse_target(target);
        snprintf(text, bytes, "%s", neap_error_text());
    } else if (!gpu_available(why, sizeof why)) {
        snprintf(text, bytes, "code is there from earlier runs alone: %s", why);
    } else {
        return NULL;
    }
    return text;
}

static int generate(const gpu_kernel *kernel, const char *target, void **out, size_t *bytes) {
    char text[256];
    if (!gpu_available(text, sizeof text))
        return neap_error(NEAP_E_LIBRARY, "no code for GPUs can be made: %s", text);
    return neap_generator_in_use()->generate_gpu(kernel, target, out, bytes);
}

/* The object file for the host with its head, in place of PTX. */
static int make_image(const gpu_kernel *kernel, void **out, size_t *bytes) {
    void *file = NULL;
    gpu_host_image head = {.magic = GPU_HOST_MAGIC, .nbuffers = kernel->nbuffers + kernel->reduces};
    int status = generate(kernel, "host", &file, bytes);
    char *image = status ? NULL : malloc(sizeof head + *bytes + 1);
    if (!status && !image)
        status = neap_error(NEAP_E_MEMORY, "no memory for code");
    if (!status) {
        head.nwords = kernel->nwords, head.bytes = *bytes;
        memcpy(image, &head, sizeof head);
        memcpy(image + sizeof head, file, *bytes);
        *bytes += sizeof head;
        image[*bytes] = '\0';
    }
    free(file);
    *out = image;
    return status;
}

int gpu_text(const gpu_kernel *kernel, const char *target, char **text, size_t *bytes) {
    void *out = NULL;
    int status = !is_known(target)             ? refuse_target(target)
                 : strcmp(target, "host") == 0 ? make_image(kernel, &out, bytes)
                                               : generate(kernel, target, &out, bytes);
    *text = out;
    return status;
}

int gpu_text_of_key(const gpu_kernel *kernel, const char *target, const char *key, size_t key_bytes, char **text,
                    size_t *bytes) {
    void *file = NULL;
    const bool kept = strcmp(target, "host") != 0; /* that is of this very CPU */
    const uint64_t hash = gpu_key_hash(key, key_bytes);
    *text = NULL;
    if (kept && native_cache_read(hash, key, key_bytes, &file, bytes)) {
        char *found = *bytes > 0 ? file : NULL;
        if (found && found[*bytes - 1] == '\0') { /* as it was written below */
            *text = found;
            *bytes -= 1;
            return NEAP_OK;
        }
        free(file);
    }
    int status = gpu_text(kernel, target, text, bytes);
    if (!status && kept)
        native_cache_write(hash, key, key_bytes, *text, *bytes + 1);
    return status;
}

uint64_t gpu_key_hash(const char *key, size_t bytes) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t k = 0; k < bytes; k++)
        hash = (hash ^ (uint8_t)key[k]) * 0x100000001b3u;
    return hash;
}

static int entries_of(const gpu_kernel *kernel, const char **names) {
    const gpu_entries *call = kernel->call;
    names[0] = "kernel", names[1] = "finish";
    for (int k = 0; call && k < call->n; k++)
        names[k] = call->names[k];
    return call ? call->n : 1 + (kernel->reduces && !kernel->staged);
}

int gpu_code_new(const gpu_kernel *kernel, gpu_code **out) {
    void *file = NULL;
    size_t bytes = 0;
    int status = generate(kernel, "host", &file, &bytes);
    gpu_code *code = status ? NULL : calloc(1, sizeof *code);
    *out = NULL;
    if (!status && !code)
        status = neap_error(NEAP_E_MEMORY, "no memory for code");
    if (!status)
        code->n = entries_of(kernel, code->names);
    for (int k = 0; !status && k < code->n; k++)
        if (!native_object_load(&code->objects[k], file, bytes, code->names[k]))
            status = neap_error(NEAP_E_INTERNAL, "the object file cannot be loaded");
    free(file);
    if (status)
        gpu_code_free(code);
    else
        *out = code;
    return status;
}

gpu_entry gpu_code_entry(const gpu_code *code, const char *name) {
    gpu_entry entry = NULL;
    for (int k = 0; k < code->n; k++)
        if (strcmp(name, code->names[k]) == 0)
            memcpy(&entry, &code->objects[k].function, sizeof entry);
    return entry;
}

void gpu_code_free(gpu_code *code) {
    for (int k = 0; code && k < code->n; k++)
        native_object_unload(&code->objects[k]);
    free(code);
}
