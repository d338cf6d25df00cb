/* fault.c: what a GPU does with a kernel that writes where nothing is: the op that ran it fails with the driver's
 * words, later ops of the device fail at once, the CPU works on, and all of it can be closed. The fake driver has no
 * such kernels; so this is skipped but with NEAP_TEST_ON=cuda in the environment. */
#include <limits.h>
#include <unistd.h>

#include "engine/device.h"
#include "tests/check.h"

static int gpu;

static const char text[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry stray(.param .u64 at)\n{\n"
                           "    .reg .b64 %a;\n"
                           "    ld.param.u64 %a, [at];\n"
                           "    st.global.u64 [%a], %a;\n"
                           "    ret;\n}\n";

typedef struct stray_op {
    neap_code *code;
    void *at;
} stray_op;

static int stray(void *arg, const neap_run *run) {
    stray_op *op = arg;
    neap_launch launch = {.name = "stray",
                          .code = op->code,
                          .nbuffers = 1,
                          .buffers = &op->at,
                          .groups = {1, 1, 1},
                          .threads = {1, 1, 1}};
    return neap_run_launch(run, &launch);
}

/* Runs it on a buffer's variable; what waiting for that gives. */
static int run_on(neap_buffer *buffer, stray_op *op) {
    neap_var *var = neap_buffer_var(buffer);
    neap_push push = {.name = "stray", .site = "here:1", .device = gpu, .nwrites = 1, .writes = &var};
    CHECK_EQ(neap_push_sync(stray, op, &push), NEAP_OK);
    return neap_var_wait_to_read(var);
}

/* The plugin is BUILD/neap_cuda.so, of BUILD/tests/cuda/fault. */
static void find_plugin(void) {
    char path[PATH_MAX + 1];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    path[length < 0 ? 0 : length] = '\0';
    for (int k = 0; k < 3 && strrchr(path, '/'); k++)
        *strrchr(path, '/') = '\0';
    setenv("NEAP_PLUGIN_PATH", path, 1);
}

int main(void) {
    const char *on = getenv("NEAP_TEST_ON");
    if (!on) {
        fprintf(stderr, "0 passed, 0 failed, 1 skipped: there is no GPU to run it on\n");
        return 0;
    }
    alarm(60); /* a device that is lost may hang */
    neap_buffer *there = NULL, *other = NULL, *host = NULL, *more = NULL;
    neap_code *code = NULL;
    find_plugin();
    CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 2}), NEAP_OK);
    if (!CHECK_EQ(neap_device_open(on, 0, &gpu), NEAP_OK)) {
        fprintf(stderr, "%s\n", neap_error_text());
        return check_end();
    }
    CHECK_EQ(neap_buffer_new(gpu, 4096, &there), NEAP_OK);
    CHECK_EQ(neap_buffer_new(gpu, 4096, &other), NEAP_OK);
    CHECK_EQ(neap_buffer_new(0, 4096, &host), NEAP_OK);
    memset(neap_buffer_data(host), 0, 4096);
    CHECK_EQ(neap_buffer_copy(other, host, NULL), NEAP_OK);
    CHECK_EQ(neap_code_new(gpu, "stray", text, sizeof text - 1, &code), NEAP_OK);
    stray_op right = {code, neap_buffer_data(there)}, wrong = {code, (void *)0x1000};
    CHECK_EQ(run_on(there, &right), NEAP_OK);
    CHECK_EQ(run_on(there, &wrong), NEAP_E_LIBRARY);
    fprintf(stderr, "it says: %s\n", neap_error_text());
    CHECK_TEXT(neap_error_text(), "here:1: stray: cuda:0 is lost: an illegal memory access was encountered");
    CHECK_EQ(neap_buffer_copy(host, other, NULL), NEAP_OK); /* that nobody has failed to write */
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(host)), NEAP_E_LIBRARY);
    CHECK(neap_buffer_new(gpu, 1 << 24, &more) < 0);
    fprintf(stderr, "then: %s\n", neap_error_text());
    neap_buffer_release(host);
    CHECK_EQ(neap_buffer_new(0, 4096, &host), NEAP_OK);
    neap_buffer_release(host);
    neap_buffer_release(there);
    neap_buffer_release(other);
    neap_code_free(gpu, code);
    neap_engine_stop();
    return check_end();
}
