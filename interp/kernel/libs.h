/* libs.h: libzmq and libsodium, loaded when a kernel starts.
 *
 * A kernel speaks ZeroMQ (libzmq), and signs its messages with HMAC-SHA256 (libsodium, which Debian's libzmq is linked
 * with, so that it is there wherever libzmq is). neap is built without their headers: what is used of them is declared
 * here, and is part of their stable binary interfaces (libzmq.so.5, libsodium.so.23).
 */
#ifndef INTERP_KERNEL_LIBS_H
#define INTERP_KERNEL_LIBS_H

#include <stdbool.h>
#include <stddef.h>

enum { /* from zmq.h */
       ZMQ_ROUTER = 6,
       ZMQ_XPUB = 9,
       ZMQ_LINGER = 17,
       ZMQ_SNDHWM = 23,
       ZMQ_LAST_ENDPOINT = 32,
       ZMQ_XPUB_VERBOSE = 40,
       ZMQ_ROUTER_HANDOVER = 56,
       ZMQ_XPUB_NODROP = 69,
       ZMQ_DONTWAIT = 1,
       ZMQ_SNDMORE = 2,
       ZMQ_POLLIN = 1
};

typedef struct zmq_frame { /* zmq_msg_t */
    _Alignas(void *) unsigned char bytes[64];
} zmq_frame;

typedef struct zmq_item { /* zmq_pollitem_t */
    void *socket;
    int fd;
    short events, revents;
} zmq_item;

typedef struct kernel_libs {
    void *(*zmq_ctx_new)(void);
    int (*zmq_ctx_term)(void *context);
    void *(*zmq_socket)(void *context, int type);
    int (*zmq_close)(void *socket);
    int (*zmq_setsockopt)(void *socket, int option, const void *value, size_t bytes);
    int (*zmq_bind)(void *socket, const char *endpoint);
    int (*zmq_msg_init)(zmq_frame *frame);
    int (*zmq_msg_close)(zmq_frame *frame);
    int (*zmq_msg_recv)(zmq_frame *frame, void *socket, int flags);
    int (*zmq_msg_send)(zmq_frame *frame, void *socket, int flags);
    int (*zmq_msg_more)(const zmq_frame *frame);
    void *(*zmq_msg_data)(zmq_frame *frame);
    size_t (*zmq_msg_size)(const zmq_frame *frame);
    int (*zmq_send)(void *socket, const void *bytes, size_t count, int flags);
    int (*zmq_poll)(zmq_item *items, int count, long timeout_ms);
    int (*zmq_errno)(void);
    const char *(*zmq_strerror)(int error);
    int (*sodium_init)(void);
    size_t (*crypto_auth_hmacsha256_statebytes)(void);
    int (*crypto_auth_hmacsha256_init)(void *state, const unsigned char *key, size_t bytes);
    int (*crypto_auth_hmacsha256_update)(void *state, const unsigned char *text, unsigned long long bytes);
    int (*crypto_auth_hmacsha256_final)(void *state, unsigned char *out);
    int (*sodium_memcmp)(const void *a, const void *b, size_t bytes);
} kernel_libs;

extern kernel_libs kernel_lib; /* filled by kernel_libs_load */

/* Loads both. NULL, or a line that says what is missing and which package has it. */
const char *kernel_libs_load(void);

#endif
