/* debug.c: ops for tests and demonstrations of asynchronous work: they take their time, wait to be let go, fail, or
 * tell where they ran. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"

static int pass_on(const lazy_call *call) {
    if (call->out->size)
        memcpy(call->out->data, call->in[0].data, (size_t)call->out->size * (size_t)neap_dtype_bytes(call->out->dtype));
    return 0;
}

enum { NAP_MS = 20 }; /* how late it may notice that it was cancelled */

/* It sleeps until a moment, not for a time, so that many naps are together as long as one sleep. */
static int sleep_call(const lazy_call *call, const neap_run *run) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    for (int64_t left = call->attrs[0]; left > 0 && !neap_run_cancelled(run); left -= NAP_MS) {
        until.tv_nsec += (left < NAP_MS ? left : NAP_MS) * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            continue;
    }
    return pass_on(call);
}

static int64_t sleep_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)call;
    (void)out;
    return 1000000; /* never small: it must not run where it was pushed. Sleeping is no work */
}

static int sleep_shape(const lazy_call_desc *call, lazy_result *out) {
    if (call->nattrs != 1 || call->attrs[0] < 0 || call->attrs[0] > 3600000)
        return neap_error(NEAP_E_ARGUMENT, "debug_sleep: expected 0 to 3600000 milliseconds");
    return graph_shape_same(call, out);
}

/* Looks from time to time: whoever lets go is a script that stores to memory, and cannot wake anybody. */
static int hold_call(const lazy_call *call, const neap_run *run) {
    const _Atomic int32_t *gates = call->in[1].data;
    if (run->worker < 0)
        return neap_error(NEAP_E_STATE, "debug_hold: needs a worker: this thread is the one that would let it go");
    for (int64_t k = 0; k < call->in[1].size; k++)
        while (atomic_load_explicit(&gates[k], memory_order_acquire) == 0 && !neap_run_cancelled(run))
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    return pass_on(call);
}

static int hold_shape(const lazy_call_desc *call, lazy_result *out) {
    if (call->in[1].dtype != NEAP_DTYPE_I32)
        return neap_error(NEAP_E_DTYPE, "debug_hold: expected gates of dtype i32, got %s",
                          neap_dtype_name(call->in[1].dtype));
    return graph_shape_same(call, out);
}

static int device_call(const lazy_call *call, const neap_run *run) {
    int32_t *out = call->out->data;
    for (int64_t i = 0; i < call->out->size; i++)
        out[i] = run->device;
    return 0;
}

static int device_dtype(const lazy_call_desc *call, lazy_result *out) {
    out->compute = call->in[0].dtype;
    out->dtype = NEAP_DTYPE_I32;
    return 0;
}

static int fail_call(const lazy_call *call, const neap_run *run) {
    (void)run;
    (void)call;
    return neap_error(NEAP_E_FAILED, "failed on purpose");
}

static int pass_grad(lazy_grad *g) {
    g->out[0] = g->ct;
    return 0;
}

static int pass_jvp(lazy_tangent *g) {
    g->out = g->in[0];
    return 0;
}

NEAP_OP(debug_sleep, .doc = "The input, after a number of milliseconds in which a worker sleeps.",
        .attrs = "milliseconds", .kind = LAZY_CALL, .arity = 1, .types = LAZY_ANY,
        .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN, .dtype = graph_dtype_same, .shape = sleep_shape, .call = sleep_call,
        .cost = sleep_cost, .grad = pass_grad, .jvp = pass_jvp, .batch = derive_batch_leading, .shard = shard_same)

NEAP_OP(debug_hold,
        .doc = "The first input, once no i32 of the second is 0: a script may store to them while the op runs.",
        .kind = LAZY_CALL, .arity = 2, .types = LAZY_ANY, .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN,
        .dtype = graph_dtype_same, .shape = hold_shape, .call = hold_call, .cost = sleep_cost, .grad = pass_grad,
        .jvp = pass_jvp, .batch = derive_batch_leading, .shard = shard_same)

NEAP_OP(debug_device, .doc = "For each element of the input, the number of the device on which this op ran, as i32.",
        .kind = LAZY_CALL, .arity = 1, .types = LAZY_ANY, .flags = LAZY_OP_ZERO_GRAD | LAZY_OP_HIDDEN,
        .dtype = device_dtype, .shape = graph_shape_same, .call = device_call, .batch = derive_batch_leading,
        .shard = shard_same)

NEAP_OP(debug_fail, .doc = "An array like the input whose computation fails.", .kind = LAZY_CALL, .arity = 1,
        .types = LAZY_ANY, .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN | LAZY_OP_FAILS, .dtype = graph_dtype_same,
        .shape = graph_shape_same, .call = fail_call, .grad = pass_grad, .jvp = pass_jvp, .batch = derive_batch_leading,
        .shard = shard_same)
