/* sampling.c: random numbers that are drawn by rejection: gamma, Poisson and binomial numbers, with parameters for each
 * element (lazy/vm/simd/samplers.h tells of the algorithms, which are JAX's, key by key). Keys of shape (…, 2) make one
 * draw each; the first axes of the parameters are then theirs.
 */
#include <inttypes.h>

#include "lazy/derive/build.h"
#include "lazy/ops/launches.h"

enum { SAMPLE_CHUNK = 1 << 10 }; /* elements of one parallel task */

/* A key of u32 pairs, the last input, and parameters of one shape, which the result has. */
static int sample_shape(const char *op, const lazy_call_desc *call, int nparameters, lazy_result *out) {
    const lazy_aval *key = &call->in[nparameters], *first = &call->in[0];
    if (first->dtype != NEAP_DTYPE_F32 && first->dtype != NEAP_DTYPE_F64)
        return neap_error(NEAP_E_DTYPE, "%s: expected parameters of f32 or f64, got %s", op,
                          neap_dtype_name(first->dtype));
    if (key->dtype != NEAP_DTYPE_U32 || key->ndim < 1 || key->shape[key->ndim - 1] != 2)
        return neap_error(NEAP_E_SHAPE, "%s: expected a key, u32 of shape (2,)", op);
    bool fits = key->ndim - 1 <= first->ndim;
    for (int k = 0; k < key->ndim - 1 && fits; k++)
        fits = key->shape[k] == first->shape[k];
    for (int p = 1; p < nparameters; p++) {
        fits &= call->in[p].ndim == first->ndim && call->in[p].dtype == first->dtype;
        for (int k = 0; k < first->ndim && fits; k++)
            fits = call->in[p].shape[k] == first->shape[k];
    }
    if (!fits)
        return neap_error(NEAP_E_SHAPE, "%s: expected parameters of one dtype and shape, which the keys begin", op);
    out->ndim = first->ndim;
    for (int k = 0; k < first->ndim; k++)
        out->shape[k] = first->shape[k];
    return NEAP_OK;
}

/* Elements of a task that belong to one key: sample(out, from, count, key, counter of the first). */
typedef struct sample_work {
    const lazy_call *call;
    const vm_key *keys;
    int64_t size, each;
    void (*part)(const lazy_call *call, int64_t from, int64_t n, vm_key key, uint64_t first);
} sample_work;

static void sample_task(void *arg, int64_t task, const neap_run *run) {
    (void)run;
    const sample_work *w = arg;
    int64_t end = (task + 1) * SAMPLE_CHUNK < w->size ? (task + 1) * SAMPLE_CHUNK : w->size;
    for (int64_t from = task * SAMPLE_CHUNK, to; from < end; from = to) {
        int64_t key = from / w->each, first = key * w->each;
        to = first + w->each < end ? first + w->each : end;
        w->part(w->call, from, to - from, w->keys[key], (uint64_t)(from - first));
    }
}

static int sample_all(const lazy_call *call, int nparameters, const neap_run *run,
                      void (*part)(const lazy_call *call, int64_t from, int64_t n, vm_key key, uint64_t first)) {
    const lazy_tensor *keys = &call->in[nparameters];
    int64_t size = call->out->size, n = keys->size / 2;
    sample_work w = {call, keys->data, size, n ? size / n : 0, part};
    neap_parallel_for(run, (size + SAMPLE_CHUNK - 1) / SAMPLE_CHUNK, sample_task, &w);
    return NEAP_OK;
}

static int64_t sample_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)call;
    int64_t size = 1;
    for (int k = 0; k < out->ndim; k++)
        size *= out->shape[k];
    return size * 150;
}

/* ---- gamma ------------------------------------------------------------------------------------------------------- */
static int gamma_shape(const lazy_call_desc *call, lazy_result *out) {
    return sample_shape("random_gamma", call, 1, out);
}

static void gamma_part(const lazy_call *call, int64_t from, int64_t n, vm_key key, uint64_t first) {
    int64_t at = from * neap_dtype_bytes(call->out->dtype);
    vm_draws_in_use()->gamma[call->out->dtype == NEAP_DTYPE_F64](
        (char *)call->out->data + at, (const char *)call->in[0].data + at, key, first, n, call->attrs[0] != 0);
}

static int gamma_call(const lazy_call *call, const neap_run *run) {
    return sample_all(call, 1, run, gamma_part);
}

/* Where P(alpha, x) stays the same: dx/dalpha = -P_alpha / P_x, P_x = x^(alpha - 1) exp(-x) / gamma(alpha). Of a
 * logarithm it is divided by x, which is taken to be a normal number. */
static int gamma_grad(lazy_grad *g) {
    neap_node *alpha = INPUT(0), *x = g->node, *log = g->node;
    bool logarithm = graph_node_attrs(g->node)[0] != 0, wide = graph_node_aval(g->node).dtype == NEAP_DTYPE_F64;
    if (!g->wants[0])
        return NEAP_OK;
    if (logarithm)
        x = BUILD2(maximum, BUILD1(exp, x), NUMBER(wide ? 0x1p-1022 : 0x1p-126));
    else
        log = BUILD1(log, x);
    neap_node *power = BUILD2(multiply, BUILD2(subtract, alpha, NUMBER(1)), log);
    neap_node *density = BUILD1(exp, BUILD2(subtract, power, BUILD2(add, x, BUILD1(lgamma, alpha))));
    neap_node *slope = BUILD1(negative, BUILD2(divide, BUILD2(gammainc_da, alpha, x), density));
    g->out[0] = BUILD2(multiply, g->ct, logarithm ? BUILD2(divide, slope, x) : slope);
    return grad_done(g, 1);
}

static int gamma_jvp(lazy_tangent *g) {
    neap_node *out = NULL;
    bool wants[2] = {true, false};
    lazy_grad rule = {.ctx = g->ctx, .node = g->node, .ct = g->in[0], .wants = wants, .out = &out};
    if (!g->in[0])
        return NEAP_OK;
    int status = gamma_grad(&rule);
    g->out = out;
    return status;
}

NEAP_OP(
    random_gamma,
    .doc = "Gamma numbers, f32 or f64, of the shapes and rates that input 0 gives for each element (rate 1), or their "
           "logarithms, under the key input 1. Keys of shape (…, 2) make one draw each, for the first axes of input 0.",
    .attrs = "logarithm", .kind = LAZY_CALL, .arity = 2, .types = LAZY_REAL,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_same, .shape = gamma_shape,
    .call = gamma_call, .gpu = launches_random_gamma, .cost = sample_cost, .batch = derive_batch_leading,
    .grad = gamma_grad, .jvp = gamma_jvp, .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT)

/* ---- Poisson ----------------------------------------------------------------------------------------------------- */
static int poisson_shape(const lazy_call_desc *call, lazy_result *out) {
    if (call->in[0].dtype != NEAP_DTYPE_F32)
        return neap_error(NEAP_E_DTYPE, "random_poisson: expected means of f32, got %s",
                          neap_dtype_name(call->in[0].dtype));
    return sample_shape("random_poisson", call, 1, out);
}

static void poisson_part(const lazy_call *call, int64_t from, int64_t n, vm_key key, uint64_t first) {
    vm_draws_in_use()->poisson((float *)call->out->data + from, (const float *)call->in[0].data + from, key, first, n);
}

static int poisson_call(const lazy_call *call, const neap_run *run) {
    return sample_all(call, 1, run, poisson_part);
}

NEAP_OP(
    random_poisson,
    .doc =
        "Poisson numbers, as floats, of the means (f32) that input 0 gives for each element, under the key input 1; -1 "
        "for a mean that is negative, infinite or NaN. Keys of shape (…, 2) make one draw each, for the first "
        "axes of input 0.",
    .kind = LAZY_CALL, .arity = 2, .types = LAZY_REAL,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_same,
    .shape = poisson_shape, .call = poisson_call, .gpu = launches_random_poisson, .cost = sample_cost,
    .batch = derive_batch_leading)

/* ---- binomial ---------------------------------------------------------------------------------------------------- */
static int binomial_shape(const lazy_call_desc *call, lazy_result *out) {
    return sample_shape("random_binomial", call, 2, out);
}

static void binomial_part(const lazy_call *call, int64_t from, int64_t n, vm_key key, uint64_t first) {
    int64_t at = from * neap_dtype_bytes(call->out->dtype);
    vm_draws_in_use()->binomial[call->out->dtype == NEAP_DTYPE_F64]((char *)call->out->data + at,
                                                                    (const char *)call->in[0].data + at,
                                                                    (const char *)call->in[1].data + at, key, first, n);
}

static int binomial_call(const lazy_call *call, const neap_run *run) {
    return sample_all(call, 2, run, binomial_part);
}

NEAP_OP(random_binomial,
        .doc =
            "Binomial numbers, as floats, of the counts of trials input 0 and the probabilities input 1, both f32 or "
            "f64, for each element, under the key input 2; NaN where these are none. Keys of shape (…, 2) make one "
            "draw each, for the first axes of the other inputs.",
        .kind = LAZY_CALL, .arity = 3, .types = LAZY_REAL,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_same,
        .shape = binomial_shape, .call = binomial_call, .gpu = launches_random_binomial, .cost = sample_cost,
        .batch = derive_batch_leading)
