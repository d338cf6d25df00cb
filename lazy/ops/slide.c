/* slide.c: sums of products of one line with each of its places beside another: what np.convolve and np.correlate are.
 * Its derivatives are such sums, too. lazy/vm/simd/lines.h tells the order of additions.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/device.h"
#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"
#include "lazy/program/program.h"
#include "lazy/vm/simd/simd.h"

enum { BLOCK = 4096 /* results of a task */ };
#define LONGEST (INT64_C(1) << 40)

typedef struct slide_work {
    lazy_slide slide;
    const char *in, *taps;
    char *out;
    size_t bytes;
    int64_t n, m, before, size, blocks; /* of a line */
} slide_work;

static void slide_task(void *arg, int64_t task, const neap_run *run) {
    const slide_work *j = arg;
    int64_t line = task / j->blocks, first = task % j->blocks * BLOCK;
    int64_t end = j->size - first < BLOCK ? j->size : first + BLOCK;
    (void)run;
    j->slide(j->out + (size_t)(line * j->size + first) * j->bytes, j->in + (size_t)(line * j->n) * j->bytes, j->n,
             j->taps + (size_t)(line * j->m) * j->bytes, j->m, j->before, first, end);
}

static int slide_call(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *in = &call->in[0], *taps = &call->in[1], *out = call->out;
    int last = in->ndim - 1;
    slide_work j = {.slide = vm_simd()->lines->slide[in->dtype],
                    .in = in->data,
                    .taps = taps->data,
                    .out = out->data,
                    .bytes = (size_t)neap_dtype_bytes(in->dtype),
                    .n = in->shape[last],
                    .m = taps->shape[last],
                    .before = call->attrs[0],
                    .size = call->attrs[1]};
    if (out->size == 0)
        return NEAP_OK;
    j.blocks = (j.size + BLOCK - 1) / BLOCK;
    neap_parallel_for(run, out->size / j.size * j.blocks, slide_task, &j);
    return NEAP_OK;
}

static int slide_dtype(const lazy_call_desc *call, lazy_result *out) {
    int status = graph_dtype_promote(call, out);
    bool half = out->dtype == NEAP_DTYPE_F16 || out->dtype == NEAP_DTYPE_BF16; /* computed with as f32 */
    if (status == NEAP_OK && !half && !vm_simd()->lines->slide[out->dtype])
        return neap_error(NEAP_E_DTYPE, "slide: expected elements of 4 or 8 bytes, got dtype %s",
                          neap_dtype_name(out->dtype));
    return status;
}

static int slide_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = &call->in[0], *taps = &call->in[1];
    bool fits = call->nattrs == 2 && llabs(call->attrs[0]) <= LONGEST && call->attrs[1] >= 0 &&
                call->attrs[1] <= LONGEST && in->ndim > 0 && in->ndim == taps->ndim;
    for (int k = 0; fits && k < in->ndim - 1; k++)
        fits = in->shape[k] == taps->shape[k];
    char left[256], right[256];
    if (!fits)
        return neap_error(NEAP_E_SHAPE, "slide: shapes %s and %s do not fit",
                          graph_shape_text(in->ndim, in->shape, left, sizeof left),
                          graph_shape_text(taps->ndim, taps->shape, right, sizeof right));
    out->ndim = in->ndim;
    memcpy(out->shape, in->shape, in->ndim * sizeof *in->shape);
    out->shape[in->ndim - 1] = call->attrs[1];
    return NEAP_OK;
}

/* How many products of two elements there are, about. */
static double slide_products(const lazy_call_desc *call) {
    const lazy_aval *in = &call->in[0], *taps = &call->in[1];
    double n = (double)in->shape[in->ndim - 1], m = (double)taps->shape[taps->ndim - 1], size = (double)call->attrs[1];
    double shorter = m < n ? m : n, lines = n > 0 ? (double)in->size / n : 0;
    return lines * size * shorter;
}

static int64_t slide_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    double cost = 300 + slide_products(call) / 16;
    return cost < 1e15 ? (int64_t)cost : (int64_t)1e15;
}

static double slide_flops(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return 2 * slide_products(call);
}

/* ---- Derivatives ------------------------------------------------------------------------------------------------- */
static neap_node *slide_of(neap_ctx *ctx, neap_node *in, neap_node *taps, int64_t before, int64_t size) {
    neap_node *both[2] = {in, taps};
    int64_t attrs[2] = {before, size};
    return in && taps ? graph_build(ctx, LAZY_OP_slide, 2, both, 2, attrs) : NULL;
}

/* The last axis the other way round. */
static neap_node *turned(neap_ctx *ctx, neap_node *node) {
    lazy_aval aval = graph_node_aval(node);
    int64_t attrs[3 * NEAP_MAX_DIMS];
    for (int k = 0; k < aval.ndim; k++) {
        bool last = k == aval.ndim - 1;
        attrs[3 * k] = last ? aval.shape[k] - 1 : 0;
        attrs[3 * k + 1] = last ? -1 : 1;
        attrs[3 * k + 2] = aval.shape[k];
    }
    return graph_build(ctx, LAZY_OP_slice, 1, &node, 3 * aval.ndim, attrs);
}

/* Result i has in[i - before + j] * taps[j]: so element p has taps[j] of the result p + before - j, and tap j the
 * element j - before + i of the result i. */
static int slide_grad(lazy_grad *g) {
    neap_node *in = INPUT(0), *taps = INPUT(1);
    lazy_aval x = graph_node_aval(in), v = graph_node_aval(taps);
    int64_t before = graph_node_attrs(g->node)[0], m = v.shape[v.ndim - 1];
    if (g->wants[0])
        g->out[0] = slide_of(g->ctx, g->ct, turned(g->ctx, taps), m - 1 - before, x.shape[x.ndim - 1]);
    if (g->wants[1])
        g->out[1] = slide_of(g->ctx, in, g->ct, before, m);
    return grad_done(g, 2);
}

static int slide_jvp(lazy_tangent *g) {
    const int64_t *attrs = graph_node_attrs(g->node);
    neap_node *left = g->in[0] ? slide_of(g->ctx, g->in[0], INPUT(1), attrs[0], attrs[1]) : NULL;
    neap_node *right = g->in[1] ? slide_of(g->ctx, INPUT(0), g->in[1], attrs[0], attrs[1]) : NULL;
    if ((g->in[0] && !left) || (g->in[1] && !right))
        return NEAP_E_MEMORY;
    g->out = left && right ? BUILD2(add, left, right) : left ? left : right;
    return jvp_done(g);
}

/* Lines stay divided. */
static int slide_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    for (int k = 0; k < g->in[0].ndim - 1; k++) {
        shard_factor_keep(&f, g, 0, k, k);
        shard_factor_axis(&f, 1, k, f.n - 1);
    }
    return shard_solve(g, &f, -1);
}

NEAP_OP(
    slide,
    .doc = "Element i of a line is the sum over j of in[i - before + j] times taps[j], of those that are there: `size` "
           "of them. Lines are the last axes; the others are equal. Of dtypes of 4 and 8 bytes; integers wrap around.",
    .attrs = "before size", .kind = LAZY_CALL, .arity = 2, .types = LAZY_NUMERIC,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1,
    .dtype = slide_dtype, .shape = slide_shape, .call = slide_call, .cost = slide_cost, .flops = slide_flops,
    .grad = slide_grad, .jvp = slide_jvp, .batch = derive_batch_leading, .shard = slide_shard)
