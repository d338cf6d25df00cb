/* random.c: counter-based random numbers by the threefry-2x32 hash (lazy/vm/simd/draws.c). A key is u32 of shape (2,).
 * Draw i hashes the 64-bit counter i under the key, so elements are independent of each other, of the number of threads
 * and of the machine; the layout of counters and the use of the hash's two words are those of JAX (its "partitionable"
 * mode), so the bits are the same for the same key. Four distributions over floats without parameters are drawn here,
 * part by part in the cache; others are made from these in Lua (stdlib/neap/arrays/random.lua).
 *
 * Batches: keys of shape (…, 2) make as many draws, each with the bits that its key gives alone: their axes come first
 * in the result.
 */
#include <inttypes.h>
#include <string.h>

#include "lazy/derive/derive.h"
#include "lazy/ops/drawn.h"
#include "lazy/ops/launches.h"
#include "lazy/shard/shard.h"
#include "ops_gen.h"

enum { CHUNK = 1 << 14 }; /* draws of one parallel task */

static int check_key(const char *op, const lazy_aval *key) {
    if (key->dtype != NEAP_DTYPE_U32)
        return neap_error(NEAP_E_DTYPE, "%s: expected a key of dtype u32, got %s", op, neap_dtype_name(key->dtype));
    if (key->ndim < 1 || key->shape[key->ndim - 1] != 2)
        return neap_error(NEAP_E_SHAPE, "%s: expected a key of shape (2,), got %d axes and %" PRId64 " elements", op,
                          key->ndim, key->size);
    return NEAP_OK;
}

/* The result's shape: the axes of the keys, then the attributes from `first` on. */
static int shape_of_draws(const char *op, const lazy_call_desc *call, int first, const lazy_aval *key,
                          lazy_result *out) {
    int ndim = call->nattrs - first, lead = key->ndim - 1;
    if (ndim < 0 || lead + ndim > NEAP_MAX_DIMS - 1)
        return neap_error(NEAP_E_SHAPE, "%s: expected at most %d axes, got %d", op, NEAP_MAX_DIMS - 1, lead + ndim);
    out->ndim = (uint8_t)(lead + ndim);
    for (int k = 0; k < lead; k++)
        out->shape[k] = key->shape[k];
    for (int k = 0; k < ndim; k++) {
        out->shape[lead + k] = call->attrs[first + k];
        if (out->shape[lead + k] < 0)
            return neap_error(NEAP_E_SHAPE, "%s: expected sizes of at least 0, got %" PRId64, op, out->shape[lead + k]);
    }
    return NEAP_OK;
}

static int64_t cost_of_size(const lazy_result *out, int64_t ns) {
    int64_t size = 1;
    for (int k = 0; k < out->ndim; k++)
        size *= out->shape[k];
    return size * ns;
}

/* Draws under all keys, one after the other, split into tasks of CHUNK elements. */
typedef struct draw {
    const lazy_call *call;
    int64_t size, each; /* elements of all draws, and of one */
    const vm_key *keys;
    vm_draw loop; /* for loop_task, and the bytes of an element that it makes */
    int64_t bytes;
} draw;

static draw draw_of(const lazy_call *call, int64_t size, const lazy_tensor *keys) {
    int64_t n = keys->size / 2;
    return (draw){.call = call, .size = size, .each = n ? size / n : 0, .keys = keys->data};
}

static void draw_parallel(draw *d, const neap_run *run, void (*task)(void *draw, int64_t i, const neap_run *run)) {
    neap_parallel_for(run, (d->size + CHUNK - 1) / CHUNK, task, d);
}

static inline int64_t task_end(const draw *d, int64_t task) {
    int64_t end = (task + 1) * CHUNK;
    return end < d->size ? end : d->size;
}

/* Elements of a task that one key draws, and where its draw begins. */
typedef struct draw_span {
    int64_t from, end, first, key;
    vm_key words;
} draw_span;

/* The next span of a task; the first begins at .end. */
static inline bool next_span(const draw *d, int64_t task, draw_span *s) {
    int64_t end = task_end(d, task);
    if (s->end >= end)
        return false;
    s->key = s->end / d->each;
    s->from = s->end;
    s->first = s->key * d->each;
    s->end = s->first + d->each < end ? s->first + d->each : end;
    s->words = d->keys[s->key];
    return true;
}

/* Draws by d->loop. */
static void loop_task(void *arg, int64_t task, const neap_run *run) {
    (void)run;
    const draw *d = arg;
    for (draw_span s = {.end = task * CHUNK}; next_span(d, task, &s);)
        d->loop((char *)d->call->out->data + s.from * d->bytes, s.words, (uint64_t)(s.from - s.first), s.end - s.from);
}

/* ---- threefry ---------------------------------------------------------------------------------------------------- */
static int threefry_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = check_key("threefry", &call->in[0]);
    const lazy_aval *counts = &call->in[1];
    if (status)
        return status;
    if (counts->dtype != NEAP_DTYPE_U32 || counts->ndim == 0 || counts->shape[counts->ndim - 1] != 2)
        return neap_error(NEAP_E_SHAPE, "threefry: expected counts of dtype u32 with a last axis of 2");
    bool fits = call->in[0].ndim <= counts->ndim;
    for (int k = 0; k < call->in[0].ndim - 1 && fits; k++)
        fits = counts->shape[k] == call->in[0].shape[k];
    if (!fits)
        return neap_error(NEAP_E_SHAPE, "threefry: expected counts whose first axes are those of the keys");
    out->ndim = counts->ndim;
    for (int k = 0; k < counts->ndim; k++)
        out->shape[k] = counts->shape[k];
    return NEAP_OK;
}

static void threefry_task(void *arg, int64_t task, const neap_run *run) {
    (void)run;
    const draw *d = arg;
    const vm_key *counts = d->call->in[1].data;
    vm_key *out = d->call->out->data;
    for (draw_span s = {.end = task * CHUNK}; next_span(d, task, &s);)
        vm_draws_in_use()->hash(out + s.from, s.words, counts + s.from, s.end - s.from);
}

static int threefry_call(const lazy_call *call, const neap_run *run) {
    draw d = draw_of(call, call->out->size / 2, &call->in[0]);
    draw_parallel(&d, run, threefry_task);
    return NEAP_OK;
}

/* Counts need no keys of their own; keys need counts. */
static int threefry_batch(lazy_batching *g) {
    bool one_key = graph_node_aval(graph_node_in(g->node, 0)).ndim == 1;
    neap_node *in[2] = {one_key ? g->in[0] : derive_batch_all(g, 0), derive_batch_all(g, 1)};
    g->out = graph_build(g->ctx, LAZY_OP_threefry, 2, in, 0, NULL);
    return derive_batch_done(g);
}

/* Counters are hashed one by one; the first axes of the keys are theirs. */
static int threefry_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    for (int k = 0; k < g->out->ndim - 1; k++) {
        shard_factor_keep(&f, g, 1, k, k);
        if (k < g->in[0].ndim - 1)
            shard_factor_axis(&f, 0, k, f.n - 1);
    }
    return shard_solve(g, &f, -1);
}

NEAP_OP(
    threefry,
    .doc = "The threefry-2x32 hash (20 rounds) of pairs of u32 counters, shape (…, 2), under a key, u32 of shape (2,). "
           "With keys of shape (…, 2) the counters have the same first axes.",
    .kind = LAZY_CALL, .arity = 2, .types = LAZY_INT, .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE,
    .dtype = graph_dtype_same, .shape = threefry_shape, .call = threefry_call, .gpu = launches_threefry,
    .batch = threefry_batch, .shard = threefry_shard)

/* ---- random_bits ------------------------------------------------------------------------------------------------- */
static int bits_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = check_key("random_bits", &call->in[0]);
    if (status == NEAP_OK)
        status = shape_of_draws("random_bits", call, 1, &call->in[0], out);
    if (status)
        return status;
    if (call->attrs[0] != 32 && call->attrs[0] != 64)
        return neap_error(NEAP_E_ARGUMENT, "random_bits: expected a width of 32 or 64, got %" PRId64, call->attrs[0]);
    if (call->attrs[0] == 64)
        out->shape[out->ndim++] = 2;
    return NEAP_OK;
}

static int bits_call(const lazy_call *call, const neap_run *run) {
    bool wide = call->attrs[0] == 64;
    const vm_draws *draws = vm_draws_in_use();
    draw d = draw_of(call, wide ? call->out->size / 2 : call->out->size, &call->in[0]);
    d.loop = wide ? draws->pairs : draws->words, d.bytes = wide ? sizeof(vm_key) : sizeof(uint32_t);
    draw_parallel(&d, run, loop_task);
    return NEAP_OK;
}

static int64_t bits_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)call;
    return cost_of_size(out, 1);
}

/* Draws under many keys are divided as the keys are. */
static int draws_shard(lazy_shard_rule *g, int keys) {
    lazy_factors f = {0};
    for (int k = 0; k < g->in[keys].ndim - 1; k++)
        shard_factor_keep(&f, g, keys, k, k);
    return shard_solve(g, &f, -1);
}

static int bits_shard(lazy_shard_rule *g) {
    return draws_shard(g, 0);
}

NEAP_OP(
    random_bits,
    .doc =
        "Random bits of a shape under a key, u32 of shape (2,): words of 32 bits, or pairs of words (high, low) of 64 "
        "along a new last axis. Keys of shape (…, 2) make one such array each.",
    .attrs = "width shape…", .kind = LAZY_CALL, .arity = 1, .types = LAZY_INT,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_same,
    .shape = bits_shape, .call = bits_call, .drawn = &drawn_bits, .gpu = launches_random_bits, .cost = bits_cost,
    .batch = derive_batch_leading, .shard = bits_shard)

/* ---- random_floats ----------------------------------------------------------------------------------------------- */
static int floats_dtype(const lazy_call_desc *call, lazy_result *out) {
    if (call->nattrs < 2 || (call->attrs[1] != NEAP_DTYPE_F32 && call->attrs[1] != NEAP_DTYPE_F64))
        return neap_error(NEAP_E_DTYPE, "random_floats: expected f32 or f64 as second attribute");
    out->compute = call->in[0].dtype;
    out->dtype = (uint8_t)call->attrs[1];
    return NEAP_OK;
}

static int floats_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = check_key("random_floats", &call->in[0]);
    if (status == NEAP_OK && (call->attrs[0] < 0 || call->attrs[0] >= VM_DRAW_COUNT))
        return neap_error(NEAP_E_ARGUMENT, "random_floats: expected a distribution below %d, got %" PRId64,
                          VM_DRAW_COUNT, call->attrs[0]);
    return status ? status : shape_of_draws("random_floats", call, 2, &call->in[0], out);
}

static int floats_call(const lazy_call *call, const neap_run *run) {
    draw d = draw_of(call, call->out->size, &call->in[0]);
    d.loop = vm_draws_in_use()->floats[call->attrs[0]][call->out->dtype == NEAP_DTYPE_F64];
    d.bytes = neap_dtype_bytes(call->out->dtype);
    draw_parallel(&d, run, loop_task);
    return NEAP_OK;
}

static int64_t floats_cost(const lazy_call_desc *call, const lazy_result *out) {
    return cost_of_size(out, call->attrs[0] == VM_DRAW_UNIFORM ? 1 : 3) * (out->dtype == NEAP_DTYPE_F64 ? 3 : 1);
}

NEAP_OP(
    random_floats,
    .doc = "Random floats, f32 or f64, of a shape under a key, u32 of shape (2,). Distributions: 0, uniform in [0, 1); "
           "1, the standard normal one; 2, the exponential one of rate 1; 3, the standard Gumbel one. Keys of shape "
           "(…, 2) make one such array each.",
    .attrs = "distribution dtype shape…", .kind = LAZY_CALL, .arity = 1, .types = LAZY_INT,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = floats_dtype,
    .shape = floats_shape, .call = floats_call, .drawn = &drawn_floats, .gpu = launches_random_floats,
    .cost = floats_cost, .batch = derive_batch_leading, .shard = bits_shard)

/* ---- random_integers --------------------------------------------------------------------------------------------- */
static int integers_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = check_key("random_integers", &call->in[2]);
    if (status == NEAP_OK)
        status = shape_of_draws("random_integers", call, 1, &call->in[2], out);
    if (status)
        return status;
    int64_t size = 1, keys = call->in[2].size / 2;
    for (int k = 0; k < out->ndim; k++)
        size *= out->shape[k];
    for (int k = 0; k < 2; k++) {
        const lazy_aval *bound = &call->in[k];
        if (bound->dtype != call->in[0].dtype || neap_dtype_bytes(bound->dtype) < 4)
            return neap_error(NEAP_E_DTYPE, "random_integers: expected bounds of one dtype of 32 or 64 bits, got %s",
                              neap_dtype_name(bound->dtype));
        if (bound->size != 1 && bound->size != size && bound->size != keys)
            return neap_error(NEAP_E_SHAPE,
                              "random_integers: expected bounds of 1, %" PRId64 " (the keys) or %" PRId64 " elements",
                              keys, size);
    }
    return NEAP_OK;
}

/* From which element of the bounds an element of a span takes its own: bound `at` + i·`step` for element i. */
typedef struct bound {
    int64_t at, step;
} bound;

static bound bound_of(const draw *d, const lazy_tensor *bounds, const draw_span *s) {
    if (bounds->size == 1)
        return (bound){0, 0};
    return bounds->size == d->size ? (bound){0, 1} : (bound){s->key, 0};
}

/* Two draws make an offset below the span of the bounds, with a bias below span / 2^bits. Where elements have bounds of
 * their own, each is drawn by itself. */
#define INTEGERS(NAME, T, U, WIDE, W, LOOP)                                                                            \
    static void NAME##_part(const draw *d, const draw_span *s, int64_t from, int64_t end) {                            \
        const T *lows = d->call->in[0].data, *highs = d->call->in[1].data;                                             \
        const bound low_at = bound_of(d, &d->call->in[0], s), high_at = bound_of(d, &d->call->in[1], s);               \
        const int64_t count = low_at.step || high_at.step ? 1 : end - from;                                            \
        const U extra = d->call->attrs[0] != 0;                                                                        \
        const vm_draws *draws = vm_draws_in_use();                                                                     \
        vm_key keys[2];                                                                                                \
        W higher[INTEGERS_PART], lower[INTEGERS_PART];                                                                 \
        draws->pairs(keys, s->words, 0, 2);                                                                            \
        draws->LOOP(higher, keys[0], (uint64_t)(from - s->first), end - from);                                         \
        draws->LOOP(lower, keys[1], (uint64_t)(from - s->first), end - from);                                          \
        for (int64_t i = from; i < end; i += count) {                                                                  \
            const T low = lows[low_at.at + i * low_at.step], high = highs[high_at.at + i * high_at.step];              \
            const U span = high <= low ? 1 : (U)high - (U)low + extra;                                                 \
            draws->within[WIDE]((T *)d->call->out->data + i, higher + (i - from), lower + (i - from), count, (U)low,   \
                                span);                                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    static void NAME(void *arg, int64_t task, const neap_run *run) {                                                   \
        (void)run;                                                                                                     \
        for (draw_span s = {.end = task * CHUNK}; next_span(arg, task, &s);)                                           \
            for (int64_t from = s.from; from < s.end; from += INTEGERS_PART)                                           \
                NAME##_part(arg, &s, from, from + INTEGERS_PART < s.end ? from + INTEGERS_PART : s.end);               \
    }
enum { INTEGERS_PART = 512 };
#define INTEGERS_32(name, T) INTEGERS(integers_##name, T, uint32_t, 0, uint32_t, words)
#define INTEGERS_64(name, T) INTEGERS(integers_##name, T, uint64_t, 1, vm_key, pairs)
/* Narrow ones are drawn as i32 (np.random.randint) and refused here. */
#define INTEGERS_16(name, T) enum { integers_##name = 0 };
#define INTEGERS_8 INTEGERS_16
#define INTEGERS_OF(NAME, name, kind, ctype, bits, ...) INTEGERS_##bits(name, ctype)
NEAP_DTYPE_INTEGER_ROWS(INTEGERS_OF)

static int integers_call(const lazy_call *call, const neap_run *run) {
    draw d = draw_of(call, call->out->size, &call->in[2]);
    static void (*const integers[NEAP_DTYPE_COUNT])(void *arg, int64_t task, const neap_run *run) = {
#define INTEGERS_AT(NAME, name, ...) [NEAP_DTYPE_##NAME] = integers_##name,
        NEAP_DTYPE_INTEGER_ROWS(INTEGERS_AT)
#undef INTEGERS_AT
    };
    draw_parallel(&d, run, integers[call->out->dtype]);
    return NEAP_OK;
}

static int64_t integers_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)call;
    return cost_of_size(out, 25);
}

/* A bound of one element for each key, or all of them; of one element for all it may stay. */
static neap_node *bound_batch(lazy_batching *g, int k) {
    lazy_aval bound = graph_node_aval(graph_node_in(g->node, k)), keys = graph_node_aval(graph_node_in(g->node, 2));
    int64_t shape[NEAP_MAX_DIMS + 1] = {g->size};
    if (bound.size != 1)
        return derive_batch_all(g, k);
    if (!g->batched[k])
        return g->in[k];
    for (int a = 1; a < keys.ndim; a++)
        shape[a] = 1;
    neap_node *aligned = graph_build_reshape(g->ctx, g->in[k], keys.ndim, shape);
    memcpy(shape + 1, keys.shape, (size_t)(keys.ndim - 1) * sizeof *shape);
    return aligned ? graph_build_broadcast(g->ctx, aligned, keys.ndim, shape) : NULL;
}

static int integers_batch(lazy_batching *g) {
    neap_node *in[3] = {bound_batch(g, 0), bound_batch(g, 1), derive_batch_all(g, 2)};
    g->out = graph_build(g->ctx, LAZY_OP_random_integers, 3, in, graph_node_nattrs(g->node), graph_node_attrs(g->node));
    return derive_batch_done(g);
}

/* Bounds of one element are those of all draws; others are counted over all of them, so that nothing is divided. */
static int integers_shard(lazy_shard_rule *g) {
    if (g->in[0].size != 1 || g->in[1].size != 1)
        return shard_solve(g, &(lazy_factors){0}, -1);
    return draws_shard(g, 2);
}

NEAP_OP(random_integers,
        .doc =
            "Random integers of a shape, from input 0 up to, not including, input 1 (including it where `inclusive` is "
            "1), under the key input 2. The bounds have the result's dtype, of 32 or 64 bits, and one element or the "
            "result's number. Where input 1 is not above input 0: input 0. Keys of shape (…, 2) make one such array "
            "each; then the bounds may also have one element for each key.",
        .attrs = "inclusive shape…", .kind = LAZY_CALL, .arity = 3, .types = LAZY_INT,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE, .dtype = graph_dtype_same, .shape = integers_shape,
        .call = integers_call, .drawn = &drawn_integers, .gpu = launches_random_integers, .cost = integers_cost,
        .batch = integers_batch, .shard = integers_shard)
