/* plugins.c: loading plugins, by path and by name; those that are missing, foreign, of another version or fail; a kind
 * of device from a plugin; a plugin's thread that runs to the end of the process. */
#include "engine/device.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "tests/check.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static char folder[PATH_MAX]; /* where the plugins are: beside this program */

static void find_folder(void) {
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 10);
    CHECK(length > 0);
    folder[length > 0 ? length : 0] = 0;
    strcpy(strrchr(folder, '/'), "/plugin");
}

static int load(const char *name) {
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return neap_plugin_load(path);
}

/* Of generators, as of devices and transports, another interface and missing functions are refused. */
static void generators(void) {
    const neap_generator *before = neap_generator_in_use();
    neap_generator strange = {.abi = NEAP_DEVICE_ABI + 1, .name = "strange"};
    CHECK_EQ(neap_generator_register(&strange), NEAP_E_ARGUMENT);
    strange.abi = NEAP_DEVICE_ABI;
    CHECK_EQ(neap_generator_register(&strange), NEAP_E_ARGUMENT);
    CHECK_TEXT(neap_error_text(), "a generator without");
    CHECK(neap_generator_in_use() == before);
}

static void refusals(void) {
    CHECK_EQ(neap_plugin_load(NULL), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_plugin_load(""), NEAP_E_ARGUMENT);
    CHECK_EQ(load("neap_missing.so"), NEAP_E_LIBRARY);
    CHECK_TEXT(neap_error_text(), "neap_missing.so");
    CHECK_EQ(neap_plugin_load("/proc/self/status"), NEAP_E_LIBRARY); /* a file, but no shared object */
    CHECK_EQ(load("neap_stranger.so"), NEAP_E_LIBRARY);
    CHECK_TEXT(neap_error_text(), "is not a plugin");
    CHECK_EQ(load("neap_old.so"), NEAP_E_LIBRARY);
    char versions[64];
    snprintf(versions, sizeof versions, "made for interface %d of neap, not %d", NEAP_DEVICE_ABI + 1, NEAP_DEVICE_ABI);
    CHECK_TEXT(neap_error_text(), versions);
    CHECK_EQ(load("neap_old.so"), NEAP_E_LIBRARY);
    CHECK_EQ(load("neap_reluctant.so"), NEAP_E_LIBRARY);
    CHECK_TEXT(neap_error_text(), "neap_reluctant.so: there is no driver");
    CHECK_EQ(load("neap_reluctant.so"), NEAP_E_LIBRARY);
    CHECK_TEXT(neap_error_text(), neap_status_text(NEAP_E_IO));
    CHECK_EQ(load("neap_reluctant.so"), NEAP_OK);
    CHECK_EQ(load("neap_reluctant.so"), NEAP_OK); /* it is not opened again: that would fail */
}

static void names(void) {
    char path[2 * PATH_MAX];
    unsetenv("NEAP_PLUGIN_PATH");
    CHECK_EQ(neap_plugin_load("sample"), NEAP_E_LIBRARY); /* not in the program's own folder */
    CHECK_TEXT(neap_error_text(), "neap_sample.so");
    setenv("NEAP_PLUGIN_PATH", "", 1);
    CHECK_EQ(neap_plugin_load("sample"), NEAP_E_LIBRARY);
    CHECK_TEXT(neap_error_text(), "any folder");
    snprintf(path, sizeof path, ":/nowhere:%s:", folder);
    setenv("NEAP_PLUGIN_PATH", path, 1);
    CHECK_EQ(neap_plugin_load("missing"), NEAP_E_LIBRARY);
    engine_alloc_fail(1);
    CHECK_EQ(neap_plugin_load("sample"), NEAP_E_MEMORY);
    engine_alloc_fail(0);
    CHECK_EQ(neap_plugin_load("sample"), NEAP_OK);
    CHECK_EQ(neap_plugin_load("sample"), NEAP_OK);
    CHECK_EQ(load("neap_sample.so"), NEAP_OK); /* the same by its path */
}

static void *load_sample(void *arg) {
    *(int *)arg = load("neap_sample.so");
    return NULL;
}

static void several_threads(void) {
    pthread_t threads[4];
    int statuses[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, load_sample, &statuses[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQ(statuses[i], NEAP_OK);
    }
}

static int triple(const neap_launch *launch) {
    *(int *)launch->buffers[0] *= 3;
    return NEAP_OK;
}

static int run_triple(void *arg, const neap_run *run) {
    void *data = neap_buffer_data(arg);
    neap_launch launch = {.name = "triple", .nbuffers = 1, .buffers = &data, .host = triple};
    CHECK(run->stream == NULL);
    return neap_run_launch(run, &launch);
}

/* A device of a plugin's kind, without streams: its ops are done when their functions return. */
static void devices(int scheduler) {
    int device = -1, five = 5, beats;
    neap_device_facts facts;
    neap_buffer *host, *there;
    CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 2, .scheduler = scheduler}), NEAP_OK);
    CHECK_EQ(neap_device_open("sample", 1, &device), NEAP_E_LIBRARY);
    CHECK_TEXT(neap_error_text(), "sample:1 is out of order");
    CHECK_EQ(neap_device_open("sample", 2, &device), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_device_open("sample", 0, &device), NEAP_OK);
    CHECK_EQ(device, 1);
    CHECK_EQ(neap_buffer_new(0, sizeof five, &host), NEAP_OK);
    CHECK_EQ(neap_buffer_new(device, sizeof five, &there), NEAP_OK);
    memcpy(neap_buffer_data(host), &five, sizeof five);
    neap_var *var = neap_buffer_var(there);
    neap_push push = {.flags = NEAP_PUSH_SMALL, .device = device, .nwrites = 1, .writes = &var};
    CHECK_EQ(neap_buffer_copy(there, host, NULL), NEAP_OK);
    CHECK_EQ(neap_push_sync(run_triple, there, &push), NEAP_OK);
    CHECK_EQ(neap_buffer_copy(host, there, NULL), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(*(int *)neap_buffer_data(host), 15);
    CHECK_EQ(neap_device_get(device, &facts), NEAP_OK);
    for (beats = facts.units; facts.units == beats; CHECK_EQ(neap_device_get(device, &facts), NEAP_OK))
        nanosleep(&(struct timespec){0, 100000}, NULL); /* its thread is alive */
    neap_buffer_release(host);
    neap_buffer_release(there);
    neap_engine_stop();
}

int main(void) {
    find_folder();
    generators();
    refusals();
    names();
    several_threads();
    devices(NEAP_SCHEDULER_POOL);
    devices(NEAP_SCHEDULER_DEVICE);
    devices(NEAP_SCHEDULER_NAIVE);
    return check_end(); /* the sample's thread runs on, and its destructor looks at the devices */
}
