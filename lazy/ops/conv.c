/* conv.c: convolutions over one to three spatial axes, by a library (engine/libs/conv.h), and windows of arrays.
 *
 * Three rows are bilinear in their two inputs and each other's derivatives:
 *
 * y = conv(x, w) x (batch, in…, channels), w (kernel…, channels / groups, features), y (batch, out…, features) x =
 * conv_input(y, w) what conv does to the cotangent of its result, for that of x: a transposed convolution w =
 * conv_kernel(x, y) … and for that of w
 *
 * Attributes: groups; for each spatial axis stride, low, high (padding with zeros), dilation (of the kernel), and, but
 * for conv, the extent that the result has there, which its inputs do not tell. */
#include <string.h>

#include "engine/libs/conv.h"
#include "lazy/derive/build.h"
#include "lazy/derive/derive.h"
#include "lazy/graph/graph.h"

enum { LIMIT = 1 << 30 }; /* of attributes and extents: sums and products of two stay in 64 bits */

/* ---- Attributes and shapes --------------------------------------------------------------------------------------- */
/* The places of x, w and y among the inputs of each row; the third is the result. */
typedef struct roles {
    const char *name;
    neap_convolution_kind kind;
    int per_axis; /* attributes */
} roles;

static const roles forward = {"conv", NEAP_CONVOLUTION_FORWARD, 4},
                   of_input = {"conv_input", NEAP_CONVOLUTION_INPUT, 5},
                   of_kernel = {"conv_kernel", NEAP_CONVOLUTION_KERNEL, 5};

static int64_t out_extent(int64_t in, int64_t kernel, int64_t stride, int64_t low, int64_t high, int64_t dilation) {
    int64_t span = in + low + high - ((kernel - 1) * dilation + 1);
    return kernel > 0 && span >= 0 ? span / stride + 1 : 0;
}

/* Reads the attributes; checks what they alone and the ranks tell. */
static int read_attrs(const roles *r, const lazy_call_desc *call, neap_convolution *a) {
    int rank = call->in[0].ndim, axes = rank - 2;
    char left[256], right[256];
    if (axes < 1 || axes > NEAP_CONVOLUTION_AXES || call->in[1].ndim != rank)
        return neap_error(NEAP_E_SHAPE, "%s: expected two arrays of 3 to %d axes, got shapes %s and %s", r->name,
                          NEAP_CONVOLUTION_AXES + 2, graph_shape_text(rank, call->in[0].shape, left, sizeof left),
                          graph_shape_text(call->in[1].ndim, call->in[1].shape, right, sizeof right));
    if (call->nattrs != 1 + r->per_axis * axes)
        return neap_error(NEAP_E_ARGUMENT, "%s: expected %d attributes for %d axes, got %d", r->name,
                          1 + r->per_axis * axes, axes, call->nattrs);
    memset(a, 0, sizeof *a);
    a->ndim = axes;
    a->groups = call->attrs[0];
    for (int k = 0; k < axes; k++) {
        const int64_t *at = call->attrs + 1 + r->per_axis * k;
        for (int j = 0; j < r->per_axis; j++) {
            int64_t least = j == 0 || j == 3;
            if (at[j] < least || at[j] >= LIMIT)
                return neap_error(NEAP_E_ARGUMENT,
                                  "%s: attribute %d of axis %d: expected an integer in %d..2^30, got %lld", r->name, j,
                                  k, (int)least, (long long)at[j]);
        }
        a->stride[k] = at[0];
        a->low[k] = at[1];
        a->high[k] = at[2];
        a->dilation[k] = at[3];
    }
    for (int k = 0; k < rank; k++)
        if (call->in[0].shape[k] >= LIMIT || call->in[1].shape[k] >= LIMIT)
            return neap_error(NEAP_E_SHAPE, "%s: expected extents below 2^30", r->name);
    if (a->groups < 1 || a->groups >= LIMIT)
        return neap_error(NEAP_E_ARGUMENT, "%s: expected at least one group, got %lld", r->name, (long long)a->groups);
    return NEAP_OK;
}

static void take_images(const lazy_aval *x, int64_t *batch, int64_t *extents, int64_t *channels) {
    *batch = x->shape[0];
    *channels = x->shape[x->ndim - 1];
    memcpy(extents, x->shape + 1, (size_t)(x->ndim - 2) * sizeof *extents);
}

/* All extents, from the inputs and the attributes; an error where they do not fit. */
static int read_call(const roles *r, const lazy_call_desc *call, neap_convolution *a) {
    int status = read_attrs(r, call, a);
    if (status)
        return status;
    const lazy_aval *first = &call->in[0], *second = &call->in[1];
    int64_t batch, other, depth = -1, given[NEAP_CONVOLUTION_AXES];
    if (r->kind == NEAP_CONVOLUTION_INPUT)
        take_images(first, &batch, a->out, &a->features);
    else
        take_images(first, &batch, a->in, &a->channels);
    a->batch = batch;
    if (r->kind == NEAP_CONVOLUTION_KERNEL) {
        take_images(second, &other, a->out, &a->features);
        if (other != batch)
            return neap_error(NEAP_E_SHAPE, "%s: expected as many images in both, got %lld and %lld", r->name,
                              (long long)batch, (long long)other);
    } else {
        memcpy(a->kernel, second->shape, (size_t)a->ndim * sizeof *a->kernel);
        depth = second->shape[a->ndim];
        other = second->shape[a->ndim + 1];
        if (r->kind == NEAP_CONVOLUTION_INPUT && other != a->features)
            return neap_error(NEAP_E_SHAPE, "%s: expected a kernel of %lld features, got %lld", r->name,
                              (long long)a->features, (long long)other);
        a->features = other;
        if (r->kind == NEAP_CONVOLUTION_INPUT && __builtin_mul_overflow(depth, a->groups, &a->channels))
            return neap_error(NEAP_E_SHAPE, "%s: too many channels", r->name);
    }
    if (a->channels % a->groups || a->features % a->groups || (depth >= 0 && depth * a->groups != a->channels))
        return neap_error(
            NEAP_E_SHAPE,
            "%s: expected channels in %lld groups: got %lld channels, a kernel for %lld, and %lld features", r->name,
            (long long)a->groups, (long long)a->channels, (long long)(depth >= 0 ? depth : a->channels / a->groups),
            (long long)a->features);
    memcpy(given, a->out, sizeof given);
    for (int k = 0; k < a->ndim; k++) {
        if (r->kind == NEAP_CONVOLUTION_INPUT)
            a->in[k] = call->attrs[5 * k + 5];
        if (r->kind == NEAP_CONVOLUTION_KERNEL)
            a->kernel[k] = call->attrs[5 * k + 5];
        a->out[k] = out_extent(a->in[k], a->kernel[k], a->stride[k], a->low[k], a->high[k], a->dilation[k]);
        if (r->kind != NEAP_CONVOLUTION_FORWARD && a->out[k] != given[k])
            return neap_error(NEAP_E_SHAPE, "%s: axis %d: expected %lld places, got %lld", r->name, k,
                              (long long)a->out[k], (long long)given[k]);
    }
    return NEAP_OK;
}

static int infer_conv(const roles *r, const lazy_call_desc *call, lazy_result *out) {
    neap_convolution a;
    int status = read_call(r, call, &a), n = call->in[0].ndim;
    if (status)
        return status;
    bool kernel = r->kind == NEAP_CONVOLUTION_KERNEL;
    const int64_t *extents = kernel ? a.kernel : r->kind == NEAP_CONVOLUTION_INPUT ? a.in : a.out;
    out->ndim = (uint8_t)n;
    memcpy(out->shape + !kernel, extents, (size_t)a.ndim * sizeof *extents);
    if (kernel)
        out->shape[n - 2] = a.channels / a.groups;
    else
        out->shape[0] = a.batch;
    out->shape[n - 1] = r->kind == NEAP_CONVOLUTION_INPUT ? a.channels : a.features;
    return NEAP_OK;
}

static double count_conv_flops(const roles *r, const lazy_call_desc *call) {
    neap_convolution a;
    if (read_call(r, call, &a))
        return 0;
    double flops = 2.0 * (double)a.batch * (double)a.features * (double)a.channels / (double)a.groups;
    for (int k = 0; k < a.ndim; k++)
        flops *= (double)a.out[k] * (double)a.kernel[k];
    return flops;
}

/* ns: 30 operations in one, behind what oneDNN prepares, or a product. */
static int64_t estimate_conv(const roles *r, const lazy_call_desc *call) {
    neap_convolution a;
    bool light = read_call(r, call, &a) == 0 && engine_conv_by_products(r->kind, &a);
    return (light ? 1000 : 20000) + (int64_t)(count_conv_flops(r, call) / 30);
}

static int bind_conv_call(const roles *r, const lazy_call *call, neap_convolution *a) {
    lazy_aval in[2];
    for (int k = 0; k < 2; k++)
        in[k] = (lazy_aval){.ndim = call->in[k].ndim, .shape = call->in[k].shape, .size = call->in[k].size};
    int status = read_call(r, &(lazy_call_desc){2, in, call->nattrs, call->attrs}, a);
    if (status)
        return status;
    _Static_assert(NEAP_DTYPE_REALS == 2, "convolutions have f32 and f64");
    a->f64 = call->out->dtype == NEAP_DTYPE_F64;
    void *first = call->in[0].data, *second = call->in[1].data, *out = call->out->data;
    a->x = r->kind == NEAP_CONVOLUTION_INPUT ? out : first;
    a->w = r->kind == NEAP_CONVOLUTION_KERNEL ? out : second;
    a->y = r->kind == NEAP_CONVOLUTION_FORWARD ? out : r->kind == NEAP_CONVOLUTION_INPUT ? first : second;
    return NEAP_OK;
}

static int run_conv_call(const roles *r, const lazy_call *call, const neap_run *run) {
    neap_convolution a;
    int status = bind_conv_call(r, call, &a);
    return status ? status : engine_conv(run, r->kind, &a, call->kept);
}

static void *keep_kernel(const roles *r, const lazy_call *call, size_t *bytes) {
    neap_convolution a;
    engine_conv_kept *kept = bind_conv_call(r, call, &a) == 0 ? engine_conv_keep(r->kind, &a) : NULL;
    *bytes = kept ? engine_conv_kept_bytes(kept) : 0;
    return kept;
}

static void forget_kernel(void *kept) {
    engine_conv_kept_free(kept);
}

static const char *fill_conv_routine(const roles *r, const lazy_call *call, neap_routine *out) {
    *out = (neap_routine){.what = NEAP_ROUTINE_CONVOLUTION, .convolution = {.kind = r->kind}};
    if (bind_conv_call(r, call, &out->convolution.of))
        return "its extents do not fit";
    out->f64 = out->convolution.of.f64;
    out->half = dtype_half(call->in[0].dtype);
    out->rounds = dtype_is_half(call->out->dtype);
    return call->in[0].size && call->in[1].size ? NULL : "arrays without elements are not for libraries";
}

#define ROLE_FUNCTIONS(name, role)                                                                                     \
    static int name##_shape(const lazy_call_desc *call, lazy_result *out) {                                            \
        return infer_conv(&role, call, out);                                                                           \
    }                                                                                                                  \
    static int name##_call(const lazy_call *call, const neap_run *run) {                                               \
        return run_conv_call(&role, call, run);                                                                        \
    }                                                                                                                  \
    static const char *name##_routine(const lazy_call *call, neap_routine *out) {                                      \
        return fill_conv_routine(&role, call, out);                                                                    \
    }                                                                                                                  \
    static int64_t name##_cost(const lazy_call_desc *call, const lazy_result *out) {                                   \
        (void)out;                                                                                                     \
        return estimate_conv(&role, call);                                                                             \
    }                                                                                                                  \
    static double name##_flops(const lazy_call_desc *call, const lazy_result *out) {                                   \
        (void)out;                                                                                                     \
        return count_conv_flops(&role, call);                                                                          \
    }
static void *conv_keep(const lazy_call *call, size_t *bytes) {
    return keep_kernel(&forward, call, bytes);
}

static void *conv_input_keep(const lazy_call *call, size_t *bytes) {
    return keep_kernel(&of_input, call, bytes);
}

static const lazy_kept conv_keeps = {.operand = 1, .open = conv_keep, .close = forget_kernel},
                       conv_input_keeps = {.operand = 1, .open = conv_input_keep, .close = forget_kernel};

ROLE_FUNCTIONS(conv, forward)
ROLE_FUNCTIONS(conv_input, of_input)
ROLE_FUNCTIONS(conv_kernel, of_kernel)

/* ---- Derivatives ------------------------------------------------------------------------------------------------- */
/* Builds the row that makes x, w or y of the two others, with the attributes of `node`. `extents` are the result's. */
static neap_node *build_role(neap_ctx *ctx, const neap_node *node, int op, neap_node *a, neap_node *b,
                             const int64_t *extents) {
    int axes = graph_node_aval(node).ndim - 2, from = node->op == LAZY_OP_conv ? 4 : 5, to = extents ? 5 : 4;
    const int64_t *attrs = graph_node_attrs(node);
    int64_t own[1 + 5 * NEAP_CONVOLUTION_AXES] = {attrs[0]};
    for (int k = 0; k < axes; k++) {
        memcpy(own + 1 + to * k, attrs + 1 + from * k, 4 * sizeof *own);
        if (extents)
            own[to * k + 5] = extents[k];
    }
    return graph_build(ctx, op, 2, (neap_node *[]){a, b}, 1 + to * axes, own);
}

static neap_node *build_y(neap_ctx *ctx, const neap_node *node, neap_node *x, neap_node *w) {
    return build_role(ctx, node, LAZY_OP_conv, x, w, NULL);
}

static neap_node *build_x(neap_ctx *ctx, const neap_node *node, neap_node *y, neap_node *w, const neap_node *x) {
    return build_role(ctx, node, LAZY_OP_conv_input, y, w, graph_node_aval(x).shape + 1);
}

static neap_node *build_w(neap_ctx *ctx, const neap_node *node, neap_node *x, neap_node *y, const neap_node *w) {
    return build_role(ctx, node, LAZY_OP_conv_kernel, x, y, graph_node_aval(w).shape);
}

static int conv_grad(lazy_grad *g) {
    if (g->wants[0])
        g->out[0] = build_x(g->ctx, g->node, g->ct, INPUT(1), INPUT(0));
    if (g->wants[1])
        g->out[1] = build_w(g->ctx, g->node, INPUT(0), g->ct, INPUT(1));
    return grad_done(g, 2);
}

static int conv_input_grad(lazy_grad *g) {
    if (g->wants[0])
        g->out[0] = build_y(g->ctx, g->node, g->ct, INPUT(1));
    if (g->wants[1])
        g->out[1] = build_w(g->ctx, g->node, g->ct, INPUT(0), INPUT(1));
    return grad_done(g, 2);
}

static int conv_kernel_grad(lazy_grad *g) {
    if (g->wants[0])
        g->out[0] = build_x(g->ctx, g->node, INPUT(1), g->ct, INPUT(0));
    if (g->wants[1])
        g->out[1] = build_y(g->ctx, g->node, INPUT(0), g->ct);
    return grad_done(g, 2);
}

/* The op on a tangent and the other input, for each input that has one. */
static int bilinear_jvp(lazy_tangent *g) {
    const int64_t *attrs = graph_node_attrs(g->node);
    int nattrs = graph_node_nattrs(g->node), op = g->node->op;
    for (int k = 0; k < 2; k++) {
        if (!g->in[k])
            continue;
        neap_node *in[2] = {INPUT(0), INPUT(1)};
        in[k] = g->in[k];
        neap_node *part = graph_build(g->ctx, op, 2, in, nattrs, attrs);
        if (!part)
            return NEAP_E_MEMORY;
        g->out = g->out ? BUILD2(add, g->out, part) : part;
    }
    return g->in[0] || g->in[1] ? jvp_done(g) : NEAP_OK;
}

/* ---- Batching ------------------------------------------------------------------------------------------------------
 * Examples become more images where the kernel is the same for all of them; else more groups. */

/* Axis 0 of a node moved behind axis `to`, which it is merged into: (n, …, a, …) becomes (…, n · a, …). */
static neap_node *merge_axis_behind(lazy_batching *g, neap_node *x, int to) {
    x = derive_batch_move(g, x, 0, to);
    if (!x)
        return NULL;
    lazy_aval of = graph_node_aval(x);
    int64_t shape[NEAP_MAX_DIMS + 1];
    int n = 0;
    for (int k = 0; k < of.ndim - 1; k++)
        shape[n++] = k == to ? of.shape[k] * of.shape[k + 1] : of.shape[k + (k > to)];
    return graph_build_reshape(g->ctx, x, of.ndim - 1, shape);
}

/* The inverse: axis `at`, of n · a elements, becomes an axis 0 of n and an axis of a. */
static neap_node *separate(lazy_batching *g, neap_node *x, int at) {
    if (!x)
        return NULL;
    lazy_aval of = graph_node_aval(x);
    int64_t shape[NEAP_MAX_DIMS + 1];
    for (int k = 0; k < of.ndim; k++)
        shape[k + (k > at)] = of.shape[k];
    shape[at] = g->size;
    shape[at + 1] = g->size ? of.shape[at] / g->size : graph_node_aval(g->node).shape[at];
    x = graph_build_reshape(g->ctx, x, of.ndim + 1, shape);
    return x ? derive_batch_move(g, x, at, 0) : NULL;
}

static int conv_batch(lazy_batching *g) {
    lazy_aval of = graph_node_aval(g->node);
    int64_t attrs[1 + 5 * NEAP_CONVOLUTION_AXES];
    int nattrs = graph_node_nattrs(g->node), last = of.ndim - 1;
    memcpy(attrs, graph_node_attrs(g->node), (size_t)nattrs * sizeof *attrs);
    bool same_kernel = !g->batched[1] && g->node->op != LAZY_OP_conv_kernel;
    neap_node *in[2] = {g->in[0], g->in[1]};
    if (same_kernel) {
        in[0] = merge_axis_behind(g, in[0], 0);
    } else {
        for (int k = 0; k < 2; k++)
            in[k] = merge_axis_behind(g, derive_batch_all(g, k), last);
        attrs[0] *= g->size;
    }
    neap_node *out = graph_build(g->ctx, g->node->op, 2, in, nattrs, attrs);
    g->out = separate(g, out, same_kernel ? 0 : last);
    return derive_batch_done(g);
}

/* ---- Division over a mesh ------------------------------------------------------------------------------------------
 * Images, channels and features are divided, the latter two where there is one group; spatial axes are needed whole.
 * What the result does not have is summed over, so parts are added. */
static int conv_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    int last = g->in[0].ndim - 1;
    shard_factor_keep(&f, g, 0, 0, 0);
    if (g->attrs[0] == 1) {
        shard_factor_keep(&f, g, 1, last, last);
        shard_factor_axis(&f, 0, last, shard_factor_new(&f, g->in[0].shape[last]));
        shard_factor_axis(&f, 1, last - 1, f.n - 1);
    }
    return shard_solve(g, &f, LAZY_OP_add);
}

static int conv_input_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    int last = g->in[0].ndim - 1;
    shard_factor_keep(&f, g, 0, 0, 0);
    if (g->attrs[0] == 1) {
        shard_factor_keep(&f, g, 1, last - 1, last);
        shard_factor_axis(&f, 0, last, shard_factor_new(&f, g->in[0].shape[last]));
        shard_factor_axis(&f, 1, last, f.n - 1);
    }
    return shard_solve(g, &f, LAZY_OP_add);
}

static int conv_kernel_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    int last = g->in[0].ndim - 1;
    shard_factor_axis(&f, 0, 0, shard_factor_new(&f, g->in[0].shape[0]));
    shard_factor_axis(&f, 1, 0, f.n - 1);
    if (g->attrs[0] == 1) {
        shard_factor_keep(&f, g, 0, last, last - 1);
        shard_factor_keep(&f, g, 1, last, last);
    }
    return shard_solve(g, &f, LAZY_OP_add);
}

static const char *conv_library(const lazy_call *call) {
    return call->out->dtype == NEAP_DTYPE_F32 && strncmp(engine_conv_library(), "oneDNN", 6) == 0 ? "oneDNN" : NULL;
}

NEAP_OP(
    conv,
    .doc =
        "The convolution (in mathematics: cross-correlation) of images (batch, in…, channels) with a kernel "
        "(kernel…, channels / groups, features): y[n, o…, f] is the sum of x[n, o · stride - low + k · dilation…, c] · "
        "w[k…, c, f], x counting as 0 outside. 1 to 3 spatial axes. f32 by oneDNN where it is there, else by the BLAS.",
    .attrs = "groups stride low high dilation…", .kind = LAZY_CALL, .arity = 2, .types = LAZY_REAL,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS | LAZY_OP_HALVES,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1, .dtype = graph_dtype_real, .shape = conv_shape,
    .call = conv_call, .library = conv_library, .routine = conv_routine, .keeps = &conv_keeps, .cost = conv_cost,
    .flops = conv_flops, .undone = LAZY_UNDONE_FACTORS, .grad = conv_grad, .jvp = bilinear_jvp, .batch = conv_batch,
    .shard = conv_shard)

NEAP_OP(
    conv_input,
    .doc =
        "What `conv` with a kernel, the second input, does to the cotangent of its result, the first, for that of its "
        "images: a transposed convolution. `extent`: of the images.",
    .attrs = "groups stride low high dilation extent…", .kind = LAZY_CALL, .arity = 2, .types = LAZY_REAL,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS | LAZY_OP_HALVES,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1, .dtype = graph_dtype_real, .shape = conv_input_shape,
    .call = conv_input_call, .library = conv_library, .routine = conv_input_routine, .keeps = &conv_input_keeps,
    .cost = conv_input_cost, .flops = conv_input_flops, .undone = LAZY_UNDONE_FACTORS, .grad = conv_input_grad,
    .jvp = bilinear_jvp, .batch = conv_batch, .shard = conv_input_shard)

NEAP_OP(conv_kernel,
        .doc =
            "What `conv` of images, the first input, does to the cotangent of its result, the second, for that of its "
            "kernel. `extent`: of the kernel.",
        .attrs = "groups stride low high dilation extent…", .kind = LAZY_CALL, .arity = 2, .types = LAZY_REAL,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS | LAZY_OP_HALVES,
        .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1, .dtype = graph_dtype_real, .shape = conv_kernel_shape,
        .call = conv_kernel_call, .library = conv_library, .routine = conv_kernel_routine, .cost = conv_kernel_cost,
        .flops = conv_kernel_flops, .undone = LAZY_UNDONE_FACTORS, .grad = conv_kernel_grad, .jvp = bilinear_jvp,
        .batch = conv_batch, .shard = conv_kernel_shard)

/* ---- windows ----------------------------------------------------------------------------------------------------- */
static int windows_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *x = &call->in[0];
    int axis;
    if (call->nattrs != 4)
        return neap_error(NEAP_E_ARGUMENT, "windows: expected an axis, a size, a stride and a dilation");
    int status = graph_axis("windows", call->attrs[0], x->ndim, &axis);
    if (status)
        return status;
    if (x->ndim == NEAP_MAX_DIMS)
        return neap_error(NEAP_E_SHAPE, "windows: the result would have more than %d axes", NEAP_MAX_DIMS);
    for (int k = 1; k < 4; k++)
        if (call->attrs[k] < 1 || call->attrs[k] >= LIMIT)
            return neap_error(NEAP_E_ARGUMENT, "windows: expected sizes, strides and dilations in 1..2^30, got %lld",
                              (long long)call->attrs[k]);
    graph_shape_same(call, out);
    int64_t span = x->shape[axis] - ((call->attrs[1] - 1) * call->attrs[3] + 1);
    out->shape[axis] = span >= 0 ? span / call->attrs[2] + 1 : 0;
    out->shape[out->ndim++] = call->attrs[1];
    return NEAP_OK;
}

static int windows_axis(const lazy_call_desc *call) {
    return (int)(call->attrs[0] < 0 ? call->attrs[0] + call->in[0].ndim : call->attrs[0]);
}

static int windows_view(const lazy_call_desc *call, const lazy_result *out, lazy_map *map) {
    int axis = windows_axis(call);
    (void)out;
    map->offset = 0;
    graph_row_major(call->in[0].ndim, call->in[0].shape, map->stride);
    map->stride[call->in[0].ndim] = map->stride[axis] * call->attrs[3];
    map->stride[axis] *= call->attrs[2];
    return NEAP_OK;
}

/* Places may be read several times, so the cotangent is not a view: the sum over j of the j-th elements of all windows,
 * each put back where it was read. */
static int windows_grad(lazy_grad *g) {
    lazy_aval x = graph_node_aval(INPUT(0)), out = graph_node_aval(g->node);
    const int64_t *attrs = graph_node_attrs(g->node);
    int axis = (int)(attrs[0] < 0 ? attrs[0] + x.ndim : attrs[0]);
    int64_t count = out.shape[axis];
    if (count == 0)
        return NEAP_OK; /* zero */
    neap_node *zero = NUMBER(0);
    for (int64_t j = 0; j < attrs[1]; j++) {
        int64_t slice[3 * NEAP_MAX_DIMS], pad[3 * NEAP_MAX_DIMS] = {0};
        for (int k = 0; k < out.ndim; k++) {
            slice[3 * k] = k == x.ndim ? j : 0;
            slice[3 * k + 1] = 1;
            slice[3 * k + 2] = k == x.ndim ? 1 : out.shape[k];
        }
        pad[3 * axis] = j * attrs[3];
        pad[3 * axis + 2] = attrs[2] - 1;
        pad[3 * axis + 1] = x.shape[axis] - pad[3 * axis] - ((count - 1) * attrs[2] + 1);
        neap_node *part = graph_build(g->ctx, LAZY_OP_slice, 1, &g->ct, 3 * out.ndim, slice);
        part = part ? graph_build_reshape(g->ctx, part, x.ndim, out.shape) : NULL;
        part = graph_build(g->ctx, LAZY_OP_pad, 2, (neap_node *[]){part, zero}, 3 * x.ndim, pad);
        g->out[0] = j == 0 ? part : BUILD2(add, g->out[0], part);
        if (!g->out[0])
            return NEAP_E_MEMORY;
    }
    return NEAP_OK;
}

NEAP_OP(
    windows,
    .doc =
        "All windows of an axis, as a view: the axis counts windows, one for every `stride` elements, and a new last "
        "axis "
        "the `size` elements of a window, `dilation` apart.",
    .attrs = "axis size stride dilation", .kind = LAZY_VIEW, .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_HIDDEN,
    .dtype = graph_dtype_same, .shape = windows_shape, .view = windows_view, .grad = windows_grad,
    .batch = derive_batch_axis, .shard = shard_axis)
