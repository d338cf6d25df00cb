/* cuda.h: what the tests of the CUDA backend share: the fake driver, an engine with two of its devices, an op that
 * adds.
 *
 * The fake driver is loaded before the backend, which asks for "libcuda.so.1" and gets it by that name.
 */
#ifndef NEAP_TESTS_CUDA_H
#define NEAP_TESTS_CUDA_H

#include <dlfcn.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#include "engine/device.h"
#include "tests/check.h"
#include "tests/cuda/fake/fake.h"

static const fake_controls *fake;
static int gpus[2]; /* the engine's numbers of cuda:0 and cuda:1 */

static inline void nap(void) {
    nanosleep(&(struct timespec){0, 50000}, NULL);
}

/* The folder of the test's program. */
static inline const char *test_folder(void) {
    static char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = 0;
    *strrchr(folder, '/') = 0;
    return folder;
}

/* The libraries that stand in for CUDA's are found. Before load_cuda. */
static inline void use_libraries(void) {
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/fake/libraries", test_folder());
    setenv("NEAP_CUDA_LIBRARIES", path, 1);
}

/* Loads the fake driver and the backend, which stand in the build's folder. */
static inline void load_cuda(void) {
    const char *folder = test_folder();
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/fake/libcuda.so.1", folder);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    fake = library ? dlsym(library, "fake_driver") : NULL;
    if (!fake)
        exit(check_end());
    snprintf(path, sizeof path, "%s/../../neap_cuda.so", folder);
    CHECK_EQ(neap_plugin_load(path), NEAP_OK);
}

static inline int start_engine(int scheduler) {
    return neap_engine_start(&(neap_engine_config){.workers = 2, .scheduler = scheduler});
}

static inline void start(int scheduler) {
    CHECK_EQ(start_engine(scheduler), NEAP_OK);
    for (int k = 0; k < 2; k++)
        CHECK_EQ(neap_device_open("cuda", k, &gpus[k]), NEAP_OK);
}

static inline fake_counts counts(void) {
    fake_counts now;
    fake->count(&now);
    return now;
}

/* Stops the engine: nothing of the driver is left. */
static inline void stop(void) {
    neap_engine_stop();
    fake_counts now = counts();
    CHECK_EQ(now.contexts + now.streams + now.events + now.modules + now.blocks + now.pins + now.bytes + now.graphs, 0);
}

/* ---- Buffers of numbers ------------------------------------------------------------------------------------------ */

static inline neap_buffer *new_buffer(int device, size_t count) {
    neap_buffer *buffer = NULL;
    CHECK_EQ(neap_buffer_new(device, count * sizeof(int64_t), &buffer), NEAP_OK);
    return buffer;
}

/* Of a buffer of the CPU that is idle. */
static inline void fill(neap_buffer *buffer, int64_t value) {
    int64_t *numbers = neap_buffer_data(buffer);
    for (size_t k = 0; k < neap_buffer_bytes(buffer) / sizeof *numbers; k++)
        numbers[k] = value + (int64_t)k;
}

static inline size_t count_wrong(const neap_buffer *buffer, int64_t value) {
    const int64_t *numbers = neap_buffer_data(buffer);
    size_t wrong = 0;
    for (size_t k = 0; k < neap_buffer_bytes(buffer) / sizeof *numbers; k++)
        wrong += numbers[k] != value + (int64_t)k;
    return wrong;
}

/* Copies a buffer of a device to one of the CPU and looks there. */
static inline void check_filled(neap_buffer *buffer, int64_t value) {
    neap_buffer *host = new_buffer(0, neap_buffer_bytes(buffer) / sizeof(int64_t));
    CHECK_EQ(neap_buffer_copy(host, buffer, NULL), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(host)), NEAP_OK);
    CHECK_EQ(count_wrong(host, value), 0);
    neap_buffer_release(host);
}

/* ---- Ops --------------------------------------------------------------------------------------------------------- */

typedef struct add_op {
    neap_buffer *buffer;
    uint64_t term;
    neap_code *code; /* "add_words", or NULL: the host function */
} add_op;

static const char add_text[] = ".version 8.0\n.entry add_words(.param .u64 to, .param .u64 term, .param .u64 n)\n{}\n";

static inline int add_on_host(const neap_launch *launch) {
    int64_t *data = launch->buffers[0];
    for (uint64_t k = 0; k < launch->scalars[1]; k++)
        data[k] += (int64_t)launch->scalars[0];
    return NEAP_OK;
}

static inline int launch_add(void *data, size_t count, uint64_t term, neap_code *code, const neap_run *run) {
    uint64_t scalars[2] = {term, count};
    neap_launch launch = {.name = "add",
                          .code = code,
                          .nbuffers = 1,
                          .nscalars = 2,
                          .buffers = &data,
                          .scalars = scalars,
                          .groups = {4, 1, 1},
                          .threads = {32, 1, 1},
                          .host = add_on_host};
    return neap_run_launch(run, &launch);
}

static inline int add(void *arg, const neap_run *run) {
    const add_op *op = arg;
    return launch_add(neap_buffer_data(op->buffer), neap_buffer_bytes(op->buffer) / sizeof(int64_t), op->term, op->code,
                      run);
}

static inline int push_add(const add_op *op) {
    neap_var *var = neap_buffer_var(op->buffer);
    neap_push push = {
        .name = "add", .site = "here:1", .device = neap_buffer_device(op->buffer), .nwrites = 1, .writes = &var};
    return neap_push_sync(add, (void *)op, &push);
}

#endif
