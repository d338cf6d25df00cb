/* libs.c: see libs.h. */
#include "interp/kernel/libs.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

kernel_libs kernel_lib;

#define ZMQ_FUNCTIONS(X)                                                                                               \
    X(zmq_ctx_new)                                                                                                     \
    X(zmq_ctx_term)                                                                                                    \
    X(zmq_socket)                                                                                                      \
    X(zmq_close)                                                                                                       \
    X(zmq_setsockopt)                                                                                                  \
    X(zmq_bind)                                                                                                        \
    X(zmq_msg_init)                                                                                                    \
    X(zmq_msg_close)                                                                                                   \
    X(zmq_msg_recv)                                                                                                    \
    X(zmq_msg_send)                                                                                                    \
    X(zmq_msg_more)                                                                                                    \
    X(zmq_msg_data)                                                                                                    \
    X(zmq_msg_size)                                                                                                    \
    X(zmq_send)                                                                                                        \
    X(zmq_poll)                                                                                                        \
    X(zmq_errno)                                                                                                       \
    X(zmq_strerror)

#define SODIUM_FUNCTIONS(X)                                                                                            \
    X(sodium_init)                                                                                                     \
    X(crypto_auth_hmacsha256_statebytes)                                                                               \
    X(crypto_auth_hmacsha256_init)                                                                                     \
    X(crypto_auth_hmacsha256_update)                                                                                   \
    X(crypto_auth_hmacsha256_final)                                                                                    \
    X(sodium_memcmp)

typedef struct wanted {
    const char *name;
    void **to;
} wanted;

#define WANTED(name) {#name, (void **)&kernel_lib.name},
static const wanted of_zmq[] = {ZMQ_FUNCTIONS(WANTED){NULL, NULL}};
static const wanted of_sodium[] = {SODIUM_FUNCTIONS(WANTED){NULL, NULL}};

static const char *load_functions(const char *file, const char *package, const wanted *list) {
    static char problem[200];
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(problem, sizeof problem, "a kernel needs %s: install %s (Debian's package)", file, package);
        return problem;
    }
    for (; list->name; list++) {
        *list->to = dlsym(library, list->name);
        if (!*list->to) {
            snprintf(problem, sizeof problem, "%s has no %s: it is too old for a kernel", file, list->name);
            return problem;
        }
    }
    return NULL;
}

const char *kernel_libs_load(void) {
    const char *problem = load_functions("libzmq.so.5", "libzmq5", of_zmq);
    if (!problem)
        problem = load_functions("libsodium.so.23", "libsodium23", of_sodium);
    if (!problem && kernel_lib.sodium_init() < 0)
        problem = "libsodium cannot be initialized";
    return problem;
}
