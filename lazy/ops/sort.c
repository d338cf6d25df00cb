/* sort.c: the order of elements along an axis. Values are mapped to unsigned keys of the same order (NaN last), and
 * pairs (key, index) are sorted by a radix sort from the lowest byte up, which is stable and takes time linear in the
 * axis; short lines are sorted by insertion. Sorted values are gathered by the order found here (stdlib), so sorting
 * has a gradient.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device.h"
#include "lazy/derive/derive.h"
#include "lazy/shard/shard.h"

enum { SHORT_LINE = 48, RADIX = 256 };

typedef struct sort_pair {
    uint64_t key;
    int32_t index;
} sort_pair;

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

/* Bits of an IEEE number as an unsigned key of its order: zeros are equal, every NaN is above infinity. */
static uint64_t key_f32(const void *data, int64_t i) {
    float value = ((const float *)data)[i];
    uint32_t bits;
    if (value != value)
        return UINT32_MAX;
    value = value == 0 ? 0 : value;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 ? (uint32_t)~bits : bits | UINT32_C(1) << 31;
}

static uint64_t key_f64(const void *data, int64_t i) {
    double value = ((const double *)data)[i];
    uint64_t bits;
    if (value != value)
        return UINT64_MAX;
    value = value == 0 ? 0 : value;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

/* Bits of an integer, in which a sign is turned around. */
#define KEY_OF_INTEGER(NAME, name, kind, ctype, bits, ...)                                                             \
    static uint64_t key_##name(const void *data, int64_t i) {                                                          \
        const uint##bits##_t element = (uint##bits##_t)((const ctype *)data)[i];                                       \
        return (uint##bits##_t)(element ^ (uint##bits##_t)((uint64_t)(kind == 'i') << (bits - 1)));                    \
    }
NEAP_DTYPE_BOOL_ROWS(KEY_OF_INTEGER)
NEAP_DTYPE_INTEGER_ROWS(KEY_OF_INTEGER)

static uint64_t (*const key_of[NEAP_DTYPE_COUNT])(const void *data, int64_t i) = {
#define KEY_OF(NAME, name, ...) [NEAP_DTYPE_##NAME] = key_##name,
    NEAP_DTYPE_ROWS(KEY_OF)
#undef KEY_OF
};

/* ---- Sorting pairs ----------------------------------------------------------------------------------------------- */
static void sort_short(sort_pair *pairs, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        sort_pair moving = pairs[i];
        int64_t at = i;
        for (; at > 0 && pairs[at - 1].key > moving.key; at--)
            pairs[at] = pairs[at - 1];
        pairs[at] = moving;
    }
}

/* Sorts by the lowest `bytes` bytes of the key; `spare` has n pairs too. Returns where the result is. */
static sort_pair *sort_radix(sort_pair *pairs, sort_pair *spare, int64_t n, int bytes) {
    for (int byte = 0; byte < bytes; byte++) {
        int64_t place[RADIX] = {0}, at = 0;
        for (int64_t i = 0; i < n; i++)
            place[pairs[i].key >> 8 * byte & 255]++;
        if (place[pairs[0].key >> 8 * byte & 255] == n)
            continue;
        for (int k = 0; k < RADIX; k++) {
            int64_t count = place[k];
            place[k] = at;
            at += count;
        }
        for (int64_t i = 0; i < n; i++)
            spare[place[pairs[i].key >> 8 * byte & 255]++] = pairs[i];
        sort_pair *swap = pairs;
        pairs = spare;
        spare = swap;
    }
    return pairs;
}

/* ---- argsort ----------------------------------------------------------------------------------------------------- */
typedef struct sort_job {
    const lazy_call *call;
    int64_t n, inner; /* elements of a line and the distance between them; lines are outer × inner */
    int failed;       /* set by any task; read when all are done */
} sort_job;

static void sort_line(void *arg, int64_t line, const neap_run *run) {
    sort_job *j = arg;
    const lazy_call *call = j->call;
    const lazy_tensor *in = &call->in[0];
    int64_t n = j->n, first = line / j->inner * n * j->inner + line % j->inner;
    int bytes = neap_dtype_bytes(in->dtype);
    bool descending = call->attrs[1] != 0, is_float = neap_dtype_kind(in->dtype) == 'f';
    uint64_t last = bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;
    sort_pair few[SHORT_LINE];
    bool is_short = n <= SHORT_LINE;
    void *room = few;
    if (!is_short && neap_run_alloc(run, (size_t)n * 2 * sizeof(sort_pair), &room) != 0) {
        __atomic_store_n(&j->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    sort_pair *pairs = room;
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = key_of[in->dtype](in->data, first + i * j->inner);
        if (descending && !(is_float && key == last)) /* NaN stays last; no other float has its key */
            key = last - key - is_float;
        pairs[i] = (sort_pair){key, (int32_t)i};
    }
    sort_pair *sorted = pairs;
    if (is_short)
        sort_short(pairs, n);
    else
        sorted = sort_radix(pairs, pairs + n, n, bytes);
    int32_t *out = call->out->data;
    for (int64_t i = 0; i < n; i++)
        out[first + i * j->inner] = sorted[i].index;
    if (!is_short)
        neap_run_free(run, room, (size_t)n * 2 * sizeof(sort_pair));
}

static int argsort_call(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *in = &call->in[0];
    int axis;
    int status = graph_axis("argsort", call->attrs[0], in->ndim, &axis);
    if (status || in->size == 0)
        return status;
    sort_job j = {.call = call, .n = in->shape[axis], .inner = 1};
    for (int k = axis + 1; k < in->ndim; k++)
        j.inner *= in->shape[k];
    neap_parallel_for(run, in->size / j.n, sort_line, &j);
    if (j.failed)
        return neap_error(NEAP_E_MEMORY, "argsort: no memory to sort lines of %" PRId64 " elements", j.n);
    return NEAP_OK;
}

static int argsort_dtype(const lazy_call_desc *call, lazy_result *out) {
    out->compute = call->in[0].dtype;
    out->dtype = NEAP_DTYPE_I32;
    return NEAP_OK;
}

static int argsort_shape(const lazy_call_desc *call, lazy_result *out) {
    int axis;
    if (call->nattrs != 2)
        return neap_error(NEAP_E_ARGUMENT, "argsort: expected an axis and whether to descend");
    int status = graph_axis("argsort", call->attrs[0], call->in[0].ndim, &axis);
    if (status)
        return status;
    if (call->in[0].shape[axis] > INT32_MAX)
        return neap_error(NEAP_E_SHAPE, "argsort: expected at most 2^31 - 1 elements along an axis");
    return graph_shape_same(call, out);
}

static int64_t argsort_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return call->in[0].size * 30;
}

NEAP_OP(
    argsort,
    .doc = "The indices (i32) that sort an array along an axis, stably: equal elements keep their order. Zeros of both "
           "signs are equal; NaN comes last, also in descending order.",
    .attrs = "axis descending", .kind = LAZY_CALL, .arity = 1, .types = LAZY_ALL,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE, .dtype = argsort_dtype, .shape = argsort_shape,
    .call = argsort_call, .cost = argsort_cost, .batch = derive_batch_axis, .shard = shard_axis)
