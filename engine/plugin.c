/* plugin.c: shared objects that are loaded by need, and stay.
 *
 * What a plugin has started (threads, exit handlers, callbacks of a driver) may run until the process ends, so it is
 * never closed, also if it failed to open. A plugin is known by its handle, which the system's loader gives again for
 * the same file, so loading one under two names opens it once.
 */
#include "engine/device_internal.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const neap_transport *_Atomic transport;

int neap_transport_register(const neap_transport *offered) {
    if (offered->abi != NEAP_DEVICE_ABI)
        return neap_error(NEAP_E_ARGUMENT, "a transport made for interface %u, not %d", (unsigned)offered->abi,
                          NEAP_DEVICE_ABI);
    if (!offered->name || offered->tags < NEAP_TRANSPORT_TAGS || !offered->open || !offered->close || !offered->send ||
        !offered->receive || !offered->test || !offered->cancel)
        return neap_error(NEAP_E_ARGUMENT, "a transport without one of its functions, or with too few tags");
    transport = offered;
    return NEAP_OK;
}

const neap_transport *engine_transport(void) {
    return transport;
}

static const neap_generator *_Atomic generator;

int neap_generator_register(const neap_generator *offered) {
    if (offered->abi != NEAP_DEVICE_ABI)
        return neap_error(NEAP_E_ARGUMENT, "a generator made for interface %u, not %d", (unsigned)offered->abi,
                          NEAP_DEVICE_ABI);
    if (!offered->name || !offered->generate)
        return neap_error(NEAP_E_ARGUMENT, "a generator without a name or its function");
    generator = offered;
    return NEAP_OK;
}

const neap_generator *neap_generator_in_use(void) {
    return generator;
}

typedef struct plugin {
    struct plugin *next;
    void *handle;
} plugin;

static plugin *opened;
static pthread_mutex_t load_mutex = PTHREAD_MUTEX_INITIALIZER; /* one plugin is loaded at a time */

static const neap_plugin_host host = {.abi = NEAP_DEVICE_ABI,
                                      .error = neap_error,
                                      .error_text = neap_error_text,
                                      .device_register = neap_device_register,
                                      .transport_register = neap_transport_register,
                                      .generator_register = neap_generator_register};

/* ---- Where plugins are ------------------------------------------------------------------------------------------- */

/* The folder of the object that holds this code. Of an executable that was started by a bare name, through PATH, the
 * loader knows no more than this name. */
static bool own_folder(char *out, size_t bytes) {
    Dl_info info;
    char self[PATH_MAX];
    if (!dladdr(&host, &info) || !info.dli_fname)
        return false;
    const char *path = info.dli_fname;
    if (!strchr(path, '/')) {
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
        self[length < 0 ? 0 : length] = '\0';
        path = self;
    }
    const char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    snprintf(out, bytes, "%.*s", (int)(slash - path), path);
    return true;
}

/* Looks for neap_NAME.so in the folders of a list with colons. */
static bool find_in(const char *folders, const char *name, char *out, size_t bytes) {
    while (*folders) {
        size_t length = strcspn(folders, ":");
        int written = snprintf(out, bytes, "%.*s/neap_%s.so", (int)length, folders, name);
        if (length > 0 && written > 0 && (size_t)written < bytes && access(out, R_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

static int find_plugin(const char *name, char *out, size_t bytes) {
    char own[PATH_MAX], standard[4 * PATH_MAX + 64];
    const char *folders = getenv("NEAP_PLUGIN_PATH");
    if (!folders) {
        folders = "";
        if (own_folder(own, sizeof own)) {
            snprintf(standard, sizeof standard, "%s:%s/neap:%s/../lib/neap:%s/../lib/lua/5.1/neap", own, own, own, own);
            folders = standard;
        }
    }
    if (find_in(folders, name, out, bytes))
        return NEAP_OK;
    return neap_error(NEAP_E_LIBRARY, "no plugin '%s': there is no neap_%s.so in %s", name, name,
                      *folders ? folders : "any folder");
}

/* ---- Loading ----------------------------------------------------------------------------------------------------- */

static bool is_opened(const void *handle) {
    for (plugin *each = opened; each; each = each->next) {
        if (each->handle == handle)
            return true;
    }
    return false;
}

static int open_plugin(const char *path, void *handle) {
    int (*open)(const neap_plugin_host *);
    *(void **)&open = dlsym(handle, "neap_plugin_open");
    if (!open)
        return neap_error(NEAP_E_LIBRARY, "%s is not a plugin of neap: it has no neap_plugin_open", path);
    plugin *added = engine_alloc(sizeof *added);
    if (!added)
        return neap_error(NEAP_E_MEMORY, "no memory for a plugin");
    uint64_t errors = engine_self()->errors;
    int status = open(&host);
    if (status < 0) {
        free(added);
        bool told = engine_self()->errors != errors;
        return neap_error(NEAP_E_LIBRARY, "%s: %s", path, told ? neap_error_text() : neap_status_text(status));
    }
    *added = (plugin){.next = opened, .handle = handle};
    opened = added;
    return NEAP_OK;
}

int neap_plugin_load(const char *path_or_name) {
    char path[PATH_MAX];
    int status = engine_check_alive();
    if (status)
        return status;
    if (!path_or_name || !*path_or_name || strlen(path_or_name) >= sizeof path)
        return neap_error(NEAP_E_ARGUMENT, "a plugin without a proper name");
    if (strchr(path_or_name, '/')) {
        strcpy(path, path_or_name);
    } else {
        status = find_plugin(path_or_name, path, sizeof path);
        if (status)
            return status;
    }
    pthread_mutex_lock(&load_mutex);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        status = neap_error(NEAP_E_LIBRARY, "cannot load the plugin: %s", dlerror());
    } else if (!is_opened(handle)) {
        status = open_plugin(path, handle);
    }
    pthread_mutex_unlock(&load_mutex);
    return status;
}
