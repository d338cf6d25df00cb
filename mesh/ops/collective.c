/* collective.c: ops between the examples of a batch that has a name (np.vmap with axis_name).
 *
 * Input 0 is an array, input 1 the *token* of the axis: the index (i32, 0-d) of the example in it, an input of the
 * trace that vmap made for it. So an op over a name belongs to that trace, and cannot leave it. Batching by the axis
 * itself is told by the token, which is batched by no other: then the op becomes ordinary ops over axis 0, which is the
 * named one. Batching by any other axis moves past it. The first attributes are the number of the name (neap_axis_name)
 * and the axis's size.
 *
 * Gradients are those between the examples: each gets the cotangents of all results that it went into.
 *
 * The same rows are the collectives of a shard_map over a mesh (np.shard_map): there the token is the coordinate along
 * the axis, which lies on the mesh, and the op is spread over the blocks (mesh/local.c). A name may be several axes,
 * "i,j", which count as one, the last fastest. What a psum gives does not vary over its axis, so its gradient is the
 * cotangent itself, as one that varies; unless nothing is checked: then each device has a cotangent of its own, and
 * these are summed.
 */
#include <string.h>

#include "lazy/derive/build.h"
#include "mesh/internal.h"

static int check_token(const char *op, const lazy_call_desc *call) {
    const lazy_aval *token = &call->in[1];
    if (token->dtype != NEAP_DTYPE_I32 || token->ndim != 0)
        return neap_error(NEAP_E_ARGUMENT, "%s: expected the index of an axis as input 2", op);
    if (call->nattrs < 2 || call->attrs[1] < 0)
        return neap_error(NEAP_E_ARGUMENT, "%s: expected the name and the size of an axis", op);
    return 0;
}

/* Attribute k: an axis of an array with ndim axes. */
static int check_position(const char *op, const lazy_call_desc *call, int k, int ndim) {
    if (call->nattrs <= k || call->attrs[k] < 0 || call->attrs[k] >= ndim)
        return neap_error(NEAP_E_ARGUMENT, "%s: expected an axis in 0..%d, got %lld", op, ndim - 1,
                          (long long)(call->nattrs > k ? call->attrs[k] : -1));
    return 0;
}

/* Nothing computes it: it is replaced before it runs. */
static int unbatched(const lazy_call *call, const neap_run *run) {
    (void)run;
    return neap_error(NEAP_E_STATE,
                      "%s: its axis is not open any more: a program that uses the name of an axis runs only "
                      "inside the function that np.vmap has given the name to",
                      call->op->name);
}

/* ---- Building ---------------------------------------------------------------------------------------------------- */
static int64_t size_of(const neap_node *node) {
    return graph_node_attrs(node)[1];
}

/* The same op by another axis of examples: its `nplaces` attributes from the third on, axes of the array, move by
 * one. */
static int other_axis(lazy_batching *g, int nplaces) {
    int64_t attrs[4];
    memcpy(attrs, g->node->attrs, (size_t)(2 + nplaces) * sizeof *attrs);
    for (int k = 0; k < nplaces; k++)
        attrs[2 + k]++;
    g->out = graph_build(g->ctx, g->node->op, 2, g->in, 2 + nplaces, attrs);
    return derive_batch_done(g);
}

/* Batching by the op's own axis: it must have as many examples as the op was recorded for. */
static int check_examples(const lazy_batching *g) {
    if (size_of(g->node) == g->size)
        return 0;
    return neap_error(NEAP_E_SHAPE, "%s: its axis has %lld examples, and had %lld", lazy_ops[g->node->op]->name,
                      (long long)g->size, (long long)size_of(g->node));
}

static neap_node *reduce_examples(lazy_batching *g, int op) {
    return graph_build(g->ctx, op, 1, g->in, 2, (int64_t[]){1, 0});
}

/* ---- Division over a mesh ------------------------------------------------------------------------------------------
 * Axes of the array may be divided over axes of a mesh that are not the one of the op; but for those it deals with. */

/* Input axis k is result axis k, counted without axis `out` of the input and axis `in` of the result; -1: there is
 * none. */
static int others_shard(lazy_shard_rule *g, int out, int in) {
    lazy_factors f = {0};
    for (int k = 0, to = 0; k < g->in[0].ndim; k++) {
        if (k == out)
            continue;
        to += to == in;
        shard_factor_keep(&f, g, 0, k, to++);
    }
    return shard_solve(g, &f, -1);
}

static int gather_shard(lazy_shard_rule *g) {
    return others_shard(g, -1, (int)g->attrs[2]);
}

static int scatter_shard(lazy_shard_rule *g) {
    return others_shard(g, (int)g->attrs[2], -1);
}

static int exchange_shard(lazy_shard_rule *g) {
    return others_shard(g, (int)g->attrs[2], (int)g->attrs[3]);
}

/* ---- psum, pmax, pmin -------------------------------------------------------------------------------------------- */
static int reduce_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = check_token("psum, pmax or pmin", call);
    return status ? status : graph_shape_same(call, out);
}

/* The sum over the examples, whether they differ or not. */
static neap_node *summed(lazy_batching *g) {
    return g->batched[0] ? reduce_examples(g, LAZY_OP_sum) : BUILD2(multiply, g->in[0], NUMBER((double)g->size));
}

static int psum_batch(lazy_batching *g) {
    if (!g->batched[1])
        return other_axis(g, 0);
    if (check_examples(g))
        return NEAP_E_SHAPE;
    g->shared = true;
    g->out = summed(g);
    return derive_batch_done(g);
}

static int extremum_batch(lazy_batching *g, int op) {
    if (!g->batched[1])
        return other_axis(g, 0);
    if (check_examples(g))
        return NEAP_E_SHAPE;
    g->shared = true;
    g->out = g->batched[0] ? reduce_examples(g, op) : g->in[0];
    return derive_batch_done(g);
}

static int pmax_batch(lazy_batching *g) {
    return extremum_batch(g, LAZY_OP_max);
}

static int pmin_batch(lazy_batching *g) {
    return extremum_batch(g, LAZY_OP_min);
}

/* ---- On a mesh --------------------------------------------------------------------------------------------------- */
/* What a rule of expansion works on. */
typedef struct collective_spreading {
    int status;
    mesh_axes axes;
    mesh_value in;
    const lazy_sharding *to;
    neap_node **blocks;
} collective_spreading;

/* What the result is along the axes: of each device another, for each device the same, or one for all of them. */
typedef enum expand_collective { EACH_ITS_OWN, EACH_THE_SAME, ONE_FOR_ALL } expand_collective;

/* Finds the axes of the op, all of them manual, and gives the node its payload. Returns whether its blocks remain to be
 * made; else s->status is what there is to say. */
static bool expansion_begin(lazy_expansion *g, expand_collective kind, collective_spreading *s) {
    char text[256];
    s->status = mesh_axes_named(g->ctx, g->sharding.mesh, graph_node_attrs(g->node)[0], &s->axes);
    uint32_t mask = s->axes.mask, closed = mask & ~g->sharding.manual;
    if (s->status == 0 && closed)
        s->status =
            neap_error(NEAP_E_ARGUMENT, "%s: axis %s of the mesh is not one of the shard_map's",
                       lazy_ops[g->node->op]->name, mesh_axes_text(g->sharding.mesh, closed, text, sizeof text));
    if (s->status == 0 && s->axes.size != graph_node_attrs(g->node)[1])
        s->status = neap_error(NEAP_E_ARGUMENT, "%s: the axes of the mesh have the size %d, not %lld",
                               lazy_ops[g->node->op]->name, s->axes.size, (long long)graph_node_attrs(g->node)[1]);
    g->sharding.varies |= mask;
    if (kind == ONE_FOR_ALL)
        g->sharding.varies &= ~mask | g->sharding.unchecked;
    g->sharding.differs = kind == EACH_ITS_OWN ? g->sharding.differs | mask : g->sharding.differs & ~mask;
    if (s->status == 0)
        s->status = shard_expansion_begin(g);
    if (s->status || !g->blocks)
        return false;
    s->in = mesh_value_of(g->node->in[0]);
    s->to = graph_sharding_of(g->node);
    s->blocks = g->node->shards->blocks;
    return true;
}

static int reduce_expand(lazy_expansion *g, int op) {
    collective_spreading s;
    if (!expansion_begin(g, ONE_FOR_ALL, &s))
        return s.status;
    return mesh_reduce(g->ctx, op, &s.in, &s.axes, s.to, s.blocks);
}

static int psum_expand(lazy_expansion *g) {
    return reduce_expand(g, LAZY_OP_add);
}

static int pmax_expand(lazy_expansion *g) {
    return reduce_expand(g, LAZY_OP_maximum);
}

static int pmin_expand(lazy_expansion *g) {
    return reduce_expand(g, LAZY_OP_minimum);
}

static int gather_expand(lazy_expansion *g) {
    collective_spreading s;
    if (!expansion_begin(g, EACH_THE_SAME, &s))
        return s.status;
    return mesh_gather(g->ctx, &s.in, &s.axes, (int)graph_node_attrs(g->node)[2], s.to, s.blocks);
}

static int scatter_expand(lazy_expansion *g) {
    collective_spreading s;
    if (!expansion_begin(g, EACH_ITS_OWN, &s))
        return s.status;
    return mesh_scatter(g->ctx, &s.in, &s.axes, (int)graph_node_attrs(g->node)[2], s.to, s.blocks);
}

static int exchange_expand(lazy_expansion *g) {
    const int64_t *attrs = graph_node_attrs(g->node);
    collective_spreading s;
    if (!expansion_begin(g, EACH_ITS_OWN, &s))
        return s.status;
    return mesh_exchange(g->ctx, &s.in, &s.axes, (int)attrs[2], (int)attrs[3], s.to, s.blocks);
}

static int permute_expand(lazy_expansion *g) {
    collective_spreading s;
    if (!expansion_begin(g, EACH_ITS_OWN, &s))
        return s.status;
    return mesh_permute(g->ctx, &s.in, &s.axes, graph_node_attrs(g->node) + 2, s.to, s.blocks);
}

/* An op over the same axis, of the cotangent. */
static neap_node *over_axis(lazy_grad *g, int op, int nattrs, const int64_t *attrs) {
    return graph_build(g->ctx, op, 2, (neap_node *[]){g->ct, INPUT(1)}, nattrs, attrs);
}

/* On a mesh: what is checked has one cotangent for all devices, which each of them takes. */
static neap_node *psum_back(lazy_grad *g, const lazy_sharding *s) {
    mesh_axes axes;
    neap_node *ct = mesh_vary(g->ctx, g->ct, s);
    if (!ct || mesh_axes_named(g->ctx, s->mesh, graph_node_attrs(g->node)[0], &axes))
        return NULL;
    if (axes.mask & s->unchecked)
        ct = mesh_build_psum(g->ctx, ct, s, axes.mask & s->unchecked);
    return mesh_vary(g->ctx, ct, graph_sharding_of(INPUT(0)));
}

static int psum_grad(lazy_grad *g) {
    const lazy_sharding *s = graph_sharding_of(g->node);
    if (s) {
        g->out[0] = psum_back(g, s);
        return grad_done(g, 1);
    }
    g->out[0] = over_axis(g, LAZY_OP_psum, 2, graph_node_attrs(g->node));
    return grad_done(g, 1);
}

NEAP_OP(psum, .doc = "The sum over the examples of a named axis.", .attrs = "axis size", .kind = LAZY_CALL, .arity = 2,
        .types = LAZY_NUMERIC | LAZY_COMPLEX, .flags = LAZY_OP_HIDDEN | LAZY_OP_AXIS, .dtype = graph_dtype_same,
        .shape = reduce_shape, .call = unbatched, .grad = psum_grad, .jvp = derive_jvp_linear, .batch = psum_batch,
        .shard = shard_same, .expand = psum_expand)

NEAP_OP(pmax, .doc = "The greatest over the examples of a named axis.", .attrs = "axis size", .kind = LAZY_CALL,
        .arity = 2, .types = LAZY_ORDERED, .flags = LAZY_OP_HIDDEN | LAZY_OP_AXIS, .dtype = graph_dtype_same,
        .shape = reduce_shape, .call = unbatched, .batch = pmax_batch, .shard = shard_same, .expand = pmax_expand)

NEAP_OP(pmin, .doc = "The smallest over the examples of a named axis.", .attrs = "axis size", .kind = LAZY_CALL,
        .arity = 2, .types = LAZY_ORDERED, .flags = LAZY_OP_HIDDEN | LAZY_OP_AXIS, .dtype = graph_dtype_same,
        .shape = reduce_shape, .call = unbatched, .batch = pmin_batch, .shard = shard_same, .expand = pmin_expand)

/* ---- all_gather, psum_scatter: each is the gradient of the other ------------------------------------------------- */
static int gather_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = &call->in[0];
    int status = check_token("all_gather", call);
    if (status == 0)
        status = check_position("all_gather", call, 2, in->ndim + 1);
    if (status)
        return status;
    if (in->ndim == NEAP_MAX_DIMS)
        return neap_error(NEAP_E_SHAPE, "all_gather: the result would have more than %d axes", NEAP_MAX_DIMS);
    out->ndim = (uint8_t)(in->ndim + 1);
    for (int k = 0, from = 0; k < out->ndim; k++)
        out->shape[k] = k == call->attrs[2] ? call->attrs[1] : in->shape[from++];
    return 0;
}

static int gather_batch(lazy_batching *g) {
    int at = (int)graph_node_attrs(g->node)[2];
    if (!g->batched[1])
        return other_axis(g, 1);
    if (check_examples(g))
        return NEAP_E_SHAPE;
    g->shared = true;
    g->out = derive_batch_move(g, derive_batch_all(g, 0), 0, at);
    return derive_batch_done(g);
}

static int gather_grad(lazy_grad *g) {
    g->out[0] = over_axis(g, LAZY_OP_psum_scatter, 3, graph_node_attrs(g->node));
    return grad_done(g, 1);
}

static int scatter_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = &call->in[0];
    int status = check_token("psum_scatter", call);
    if (status == 0)
        status = check_position("psum_scatter", call, 2, in->ndim);
    if (status)
        return status;
    if (in->shape[call->attrs[2]] != call->attrs[1])
        return neap_error(NEAP_E_SHAPE, "psum_scatter: expected size %lld of axis %lld, which has size %lld",
                          (long long)call->attrs[1], (long long)call->attrs[2], (long long)in->shape[call->attrs[2]]);
    for (int k = 0; k < in->ndim; k++)
        if (k != call->attrs[2])
            out->shape[out->ndim++] = in->shape[k];
    return 0;
}

static int scatter_batch(lazy_batching *g) {
    int at = (int)graph_node_attrs(g->node)[2];
    if (!g->batched[1])
        return other_axis(g, 1);
    if (check_examples(g))
        return NEAP_E_SHAPE;
    g->out = derive_batch_move(g, summed(g), at, 0);
    return derive_batch_done(g);
}

static int scatter_grad(lazy_grad *g) {
    g->out[0] = over_axis(g, LAZY_OP_all_gather, 3, graph_node_attrs(g->node));
    return grad_done(g, 1);
}

NEAP_OP(all_gather, .doc = "The arrays of all examples of a named axis, along a new axis at place `at`.",
        .attrs = "axis size at", .kind = LAZY_CALL, .arity = 2, .types = LAZY_ANY,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_AXIS, .dtype = graph_dtype_same, .shape = gather_shape, .call = unbatched,
        .grad = gather_grad, .jvp = derive_jvp_linear, .batch = gather_batch, .shard = gather_shard,
        .expand = gather_expand)

NEAP_OP(psum_scatter,
        .doc =
            "The sum over the examples of a named axis, of which each keeps one part along axis `at`, which is dropped "
            "and has the axis's size.",
        .attrs = "axis size at", .kind = LAZY_CALL, .arity = 2, .types = LAZY_NUMERIC | LAZY_COMPLEX,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_AXIS, .dtype = graph_dtype_same, .shape = scatter_shape, .call = unbatched,
        .grad = scatter_grad, .jvp = derive_jvp_linear, .batch = scatter_batch, .shard = scatter_shard,
        .expand = scatter_expand)

/* ---- all_to_all -------------------------------------------------------------------------------------------------- */
static int all_to_all_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = &call->in[0];
    int status = check_token("all_to_all", call);
    for (int k = 2; k < 4 && status == 0; k++)
        status = check_position("all_to_all", call, k, in->ndim);
    if (status)
        return status;
    int split = (int)call->attrs[2];
    if (in->shape[split] != call->attrs[1])
        return neap_error(NEAP_E_SHAPE, "all_to_all: expected size %lld of axis %d, which has size %lld",
                          (long long)call->attrs[1], split, (long long)in->shape[split]);
    out->ndim = in->ndim;
    for (int k = 0, from = 0; k < out->ndim; k++) {
        if (k == call->attrs[3]) {
            out->shape[k] = call->attrs[1];
            continue;
        }
        from += from == split;
        out->shape[k] = in->shape[from++];
    }
    return 0;
}

/* What was the axis of examples becomes an axis of the array, and the other way round. */
static int exchange_batch(lazy_batching *g) {
    const int64_t *attrs = graph_node_attrs(g->node);
    if (!g->batched[1])
        return other_axis(g, 2);
    if (check_examples(g))
        return NEAP_E_SHAPE;
    neap_node *split = derive_batch_move(g, derive_batch_all(g, 0), (int)attrs[2] + 1, 0);
    g->out = derive_batch_move(g, split, 1, (int)attrs[3] + 1);
    return derive_batch_done(g);
}

static int exchange_grad(lazy_grad *g) {
    const int64_t *attrs = graph_node_attrs(g->node);
    g->out[0] = over_axis(g, LAZY_OP_all_to_all, 4, (int64_t[]){attrs[0], attrs[1], attrs[3], attrs[2]});
    return grad_done(g, 1);
}

NEAP_OP(all_to_all,
        .doc =
            "Axis `split`, of the size of a named axis, is dealt out to its examples; what each gets from all of them "
            "lies along a new axis at place `concat`.",
        .attrs = "axis size split concat", .kind = LAZY_CALL, .arity = 2, .types = LAZY_ANY,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_AXIS, .dtype = graph_dtype_same, .shape = all_to_all_shape, .call = unbatched,
        .grad = exchange_grad, .jvp = derive_jvp_linear, .batch = exchange_batch, .shard = exchange_shard,
        .expand = exchange_expand)

/* ---- ppermute ---------------------------------------------------------------------------------------------------- */
static int permute_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = check_token("ppermute", call);
    if (status)
        return status;
    if (call->nattrs != 2 + call->attrs[1])
        return neap_error(NEAP_E_ARGUMENT, "ppermute: expected a source for each of %lld examples",
                          (long long)call->attrs[1]);
    for (int k = 2; k < call->nattrs; k++)
        if (call->attrs[k] < -1 || call->attrs[k] >= call->attrs[1])
            return neap_error(NEAP_E_ARGUMENT, "ppermute: expected sources in 0..%lld, or -1 for none, got %lld",
                              (long long)call->attrs[1] - 1, (long long)call->attrs[k]);
    return graph_shape_same(call, out);
}

/* The sources as data. */
static neap_node *source_array(lazy_batching *g) {
    lazy_result aval = {.dtype = NEAP_DTYPE_I32, .ndim = 1, .shape = {g->size}};
    neap_buffer *buffer;
    if (neap_buffer_new(0, (size_t)g->size * sizeof(int32_t), &buffer))
        return NULL;
    int32_t *data = neap_buffer_data(buffer);
    for (int64_t k = 0; k < g->size; k++)
        data[k] = (int32_t)graph_node_attrs(g->node)[2 + k];
    return graph_arena(g->ctx, graph_node_of_buffer(g->ctx, &aval, buffer));
}

static int permute_batch(lazy_batching *g) {
    lazy_aval one = graph_node_aval(g->node);
    int64_t shape[NEAP_MAX_DIMS + 1] = {g->size};
    bool all = true;
    if (!g->batched[1]) {
        g->out = graph_build(g->ctx, LAZY_OP_ppermute, 2, g->in, graph_node_nattrs(g->node), graph_node_attrs(g->node));
        return derive_batch_done(g);
    }
    if (check_examples(g))
        return NEAP_E_SHAPE;
    for (int64_t k = 0; k < g->size; k++)
        all &= graph_node_attrs(g->node)[2 + k] >= 0;
    if (all && !g->batched[0]) {
        g->shared = true;
        g->out = g->in[0];
        return 0;
    }
    neap_node *from = source_array(g), *x = g->in[0], *zero = NUMBER(0);
    if (g->batched[0])
        x = graph_build(g->ctx, LAZY_OP_take, 2, (neap_node *[]){x, from}, 1, (int64_t[]){0});
    for (int k = 0; k < one.ndim; k++)
        shape[1 + k] = 1;
    neap_node *sent =
        from && !all ? graph_build_reshape(g->ctx, BUILD2(greater_equal, from, zero), one.ndim + 1, shape) : NULL;
    g->out = all ? x : BUILD3(where, sent, x, zero);
    return derive_batch_done(g);
}

/* Back the way it came. */
static int permute_grad(lazy_grad *g) {
    const int64_t *attrs = graph_node_attrs(g->node);
    int64_t size = size_of(g->node), *back = malloc((size_t)(2 + size) * sizeof *back);
    if (!back)
        return neap_error(NEAP_E_MEMORY, "out of memory for a gradient");
    memcpy(back, attrs, 2 * sizeof *back);
    for (int64_t k = 0; k < size; k++)
        back[2 + k] = -1;
    for (int64_t k = 0; k < size; k++)
        if (attrs[2 + k] >= 0)
            back[2 + attrs[2 + k]] = k;
    g->out[0] = over_axis(g, LAZY_OP_ppermute, (int)size + 2, back);
    free(back);
    return grad_done(g, 1);
}

NEAP_OP(ppermute,
        .doc = "For each example of a named axis the array of another one, its source, each of which is that of one "
               "example at most; zeros where the source is -1.",
        .attrs = "axis size sources…", .kind = LAZY_CALL, .arity = 2, .types = LAZY_ANY,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_AXIS, .dtype = graph_dtype_same, .shape = permute_shape, .call = unbatched,
        .grad = permute_grad, .jvp = derive_jvp_linear, .batch = permute_batch, .shard = shard_same,
        .expand = permute_expand)
