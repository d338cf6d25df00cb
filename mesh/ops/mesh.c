/* mesh.c: rows for the ways onto a mesh, into the body of a shard_map, and out of it. They say of blocks what they are
 * seen as; only reshard moves anything.
 *
 *      reshard      ordinary or global ─▶ global      other blocks
 *      enter        ordinary or global ─▶ manual      the same blocks, of the shape that a device sees
 *      leave        manual ─▶ global                  the same blocks, of the shape of the whole
 *      pvary, pick  manual ─▶ manual                  the same blocks; another type for derivatives
 *      pcast        manual ─▶ manual                  the same, to and from unreduced and reduced types
 *
 * Attributes name shardings and meshes by their numbers (lazy/graph/sharding.h). Gradients are the way back: that of
 * pvary is a psum; that of `pick`, which promises that all devices along some axes have the same, is an equal share for
 * each of them.
 */
#include <string.h>

#include "lazy/derive/build.h"
#include "lazy/program/program.h"
#include "lazy/shard/shard.h"
#include "mesh/internal.h"

static const lazy_sharding *sharding_at(const neap_node *node, int k) {
    return shard_sharding_get(graph_node_attrs(node)[k]);
}

/* Gives the node the sharding in g, and the blocks of `to` from those of its input. */
static int same_blocks(lazy_expansion *g) {
    int status = shard_expansion_begin(g);
    if (status || !g->blocks)
        return status;
    neap_node *bare = graph_untaped(g->ctx, g->node->in[0]);
    if (!bare)
        return neap_error_code();
    mesh_value in = mesh_value_of(bare);
    return mesh_regroup(g->ctx, &in, graph_sharding_of(g->node), g->node->shards->blocks);
}

/* The sharding of examples that lie as `one` each; what divides their axis now and none of theirs goes on to. */
static const lazy_sharding *stacked_beside(const lazy_sharding *one, const lazy_sharding *now) {
    const lazy_sharding *stacked = shard_sharding_stacked(one);
    if (!stacked || !now || now->mesh != stacked->mesh)
        return stacked;
    lazy_sharding like = *stacked;
    for (int k = 0, kept = 0; k < NEAP_MESH_AXES && now->split[0][k]; k++)
        if (!(stacked->splits >> (now->split[0][k] - 1) & 1))
            like.split[0][kept++] = now->split[0][k];
    return shard_sharding_intern(&like);
}

/* The op on examples, whose attributes are how one example lies outside of a body and inside. What divides the axis of
 * examples goes on to on both sides, unless the body has it. */
static int batch_beside(lazy_batching *g, neap_node *in) {
    const lazy_op *row = lazy_ops[g->node->op];
    int64_t attrs[2];
    for (int k = 0; k < 2; k++) {
        const lazy_sharding *stacked = stacked_beside(sharding_at(g->node, k), graph_sharding_of(in));
        if (!stacked)
            return NEAP_E_MEMORY;
        attrs[k] = stacked->number;
    }
    if (g->node->ndim == NEAP_MAX_DIMS)
        return neap_error(NEAP_E_SHAPE, "%s: more than %d axes", row->name, NEAP_MAX_DIMS);
    g->out = graph_build(g->ctx, g->node->op, 1, &in, 2, attrs);
    return derive_batch_done(g);
}

static int leave_batch(lazy_batching *g) {
    return batch_beside(g, g->in[0]);
}

/* ---- reshard ----------------------------------------------------------------------------------------------------- */
static int check_divides(const char *op, const lazy_aval *in, const lazy_sharding *s) {
    char shape[256];
    if (s->ndim > in->ndim)
        return neap_error(NEAP_E_SHAPE, "%s: a spec of %d axes for an array of shape %s", op, s->ndim,
                          graph_shape_text(in->ndim, in->shape, shape, sizeof shape));
    for (int a = 0; a < s->ndim; a++)
        if (in->shape[a] % shard_sharding_parts(s, a) != 0)
            return neap_error(NEAP_E_SHAPE, "%s: axis %d of an array of shape %s cannot be divided into %lld parts", op,
                              a, graph_shape_text(in->ndim, in->shape, shape, sizeof shape),
                              (long long)shard_sharding_parts(s, a));
    return 0;
}

static int reshard_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_sharding *s = call->nattrs == 1 ? shard_sharding_get(call->attrs[0]) : NULL;
    int status = s ? check_divides("reshard", &call->in[0], s) : NEAP_E_ARGUMENT;
    return status ? status : graph_shape_same(call, out);
}

static int reshard_expand(lazy_expansion *g) {
    const lazy_sharding *to = sharding_at(g->node, 0);
    if (g->sharding.manual && (g->sharding.mesh != to->mesh || to->splits & g->sharding.manual))
        return neap_error(NEAP_E_ARGUMENT, "reshard: a block in the body of a shard_map stays on its device");
    if (!g->sharding.mesh || g->sharding.mesh != to->mesh)
        g->sharding = mesh_plain(to->mesh);
    memcpy(g->sharding.split, to->split, sizeof to->split);
    uint32_t manual = g->sharding.manual;
    g->sharding.unreduced = (g->sharding.unreduced & manual) | (to->unreduced & ~manual);
    g->sharding.reduced = (g->sharding.reduced & manual) | (to->reduced & ~manual);
    int status = shard_expansion_begin(g);
    neap_node *in = status == 0 ? graph_untaped(g->ctx, g->node->in[0]) : NULL;
    if (in && mesh_is_asked(g->ctx)) /* else it is a part of another op, which tells it */
        g->node->shards->note = mesh_note_move(g->ctx, in, graph_sharding_of(g->node));
    if (!in)
        return status ? status : neap_error_code();
    if (!g->blocks)
        return 0;
    return mesh_retyped_blocks(g->ctx, in, graph_sharding_of(g->node), g->node->shards->blocks);
}

static uint32_t axes_dividing(const lazy_sharding *s, int axis) {
    uint32_t mask = 0;
    for (int k = 0; s && k < NEAP_MESH_AXES && s->split[axis][k]; k++)
        mask |= 1u << (s->split[axis][k] - 1);
    return mask;
}

/* Who moves an example knows nothing of the axis of examples: the examples do not move with it over explicit axes. */
static int check_examples(const char *op, const neap_node *in, const lazy_sharding *to) {
    uint32_t left = axes_dividing(graph_sharding_of(in), 0) & ~axes_dividing(to, 0);
    return left & to->mesh->explicit ? mesh_check_move(op, 0, in, to) : 0;
}

static int reshard_batch(lazy_batching *g) {
    neap_node *in = g->in[0];
    const lazy_sharding *to = stacked_beside(sharding_at(g->node, 0), graph_sharding_of(in));
    if (!to)
        return NEAP_E_MEMORY;
    if (g->node->ndim == NEAP_MAX_DIMS)
        return neap_error(NEAP_E_SHAPE, "reshard: more than %d axes", NEAP_MAX_DIMS);
    int status = check_examples("reshard", in, to);
    if (status)
        return status;
    g->out = mesh_moved(g->ctx, in, to);
    return derive_batch_done(g);
}

/* Back to where the input lies. That of an ordinary array is the same on all devices, as the array is. */
static int reshard_grad(lazy_grad *g) {
    const lazy_sharding plain = mesh_plain(graph_sharding_of(g->node)->mesh);
    const lazy_sharding *in = graph_sharding_of(INPUT(0));
    const lazy_sharding *to = in ? shard_sharding_dual(in) : shard_sharding_intern(&plain);
    g->out[0] = to ? mesh_moved(g->ctx, g->ct, to) : NULL;
    return grad_done(g, 1);
}

NEAP_OP(reshard, .doc = "The same array, laid out over a mesh as a sharding says.", .attrs = "sharding",
        .kind = LAZY_CALL, .arity = 1, .types = LAZY_ANY, .flags = LAZY_OP_HIDDEN | LAZY_OP_MESH,
        .dtype = graph_dtype_same, .shape = reshard_shape, .grad = reshard_grad, .jvp = derive_jvp_linear,
        .batch = reshard_batch, .expand = reshard_expand)

/* ---- enter, leave ------------------------------------------------------------------------------------------------ */
/* Attributes: how the array lies outside, and inside. Its axes are divided by what becomes manual. */
static int64_t count_parts_outside(const lazy_sharding *outside, const lazy_sharding *inside, int axis) {
    int64_t parts = 1;
    for (int k = 0; k < NEAP_MESH_AXES && outside->split[axis][k]; k++) {
        int at = outside->split[axis][k] - 1;
        parts *= inside->manual >> at & 1 ? outside->mesh->sizes[at] : 1;
    }
    return parts;
}

/* Do both say the same of an array, one outside of a body and one inside? What is manual inside does not divide it
 * there; the rest divides it as it does outside. */
static int check_seen(const char *op, const lazy_sharding *outside, const lazy_sharding *inside) {
    bool same = outside->mesh == inside->mesh && !(outside->manual & ~inside->manual);
    for (int a = 0; a < NEAP_MAX_DIMS && same; a++) {
        int at = 0;
        for (int k = 0; k < NEAP_MESH_AXES && outside->split[a][k]; k++)
            if (!(inside->manual >> (outside->split[a][k] - 1) & 1))
                same &= inside->split[a][at++] == outside->split[a][k];
        same &= at == NEAP_MESH_AXES || !inside->split[a][at];
    }
    return same ? 0 : neap_error(NEAP_E_ARGUMENT, "%s: the shardings outside and inside of a body do not fit", op);
}

static int enter_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_sharding *outside = call->nattrs == 2 ? shard_sharding_get(call->attrs[0]) : NULL;
    const lazy_sharding *inside = outside ? shard_sharding_get(call->attrs[1]) : NULL;
    int status = inside ? check_seen("enter", outside, inside) : NEAP_E_ARGUMENT;
    if (status == 0)
        status = check_divides("enter", &call->in[0], outside);
    if (status == 0)
        status = graph_shape_same(call, out);
    for (int a = 0; status == 0 && a < out->ndim; a++)
        out->shape[a] /= count_parts_outside(outside, inside, a);
    return status;
}

/* It differs, and varies, at least where it did, and where it is divided by what is manual now. */
static int enter_expand(lazy_expansion *g) {
    const lazy_sharding *outside = sharding_at(g->node, 0), *inside = sharding_at(g->node, 1);
    uint32_t varies = g->sharding.varies, differs = g->sharding.differs | (outside->splits & inside->manual);
    g->sharding = *inside;
    g->sharding.differs |= differs;
    g->sharding.varies |= varies | differs;
    return same_blocks(g);
}

static int enter_grad(lazy_grad *g) {
    const lazy_sharding *outside = shard_sharding_dual(sharding_at(g->node, 0));
    const lazy_sharding *inside = shard_sharding_dual(graph_sharding_of(g->node));
    neap_node *ct = inside && outside ? mesh_vary(g->ctx, mesh_cotangent(g->ctx, g->ct, g->node), inside) : NULL;
    g->out[0] = ct ? mesh_build_leave(g->ctx, ct, inside, outside) : NULL;
    return grad_done(g, 1);
}

/* A tangent may lie otherwise than the array. */
static int enter_jvp(lazy_tangent *g) {
    const lazy_sharding *outside = sharding_at(g->node, 0), *inside = graph_sharding_of(g->node);
    neap_node *tangent = mesh_moved(g->ctx, g->in[0], outside);
    g->out = tangent ? mesh_build_enter(g->ctx, tangent, outside, inside) : NULL;
    return jvp_done(g);
}

static int leave_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_sharding *inside = call->nattrs == 2 ? shard_sharding_get(call->attrs[0]) : NULL;
    const lazy_sharding *outside = inside ? shard_sharding_get(call->attrs[1]) : NULL;
    int status = outside ? check_seen("leave", outside, inside) : NEAP_E_ARGUMENT;
    if (status == 0)
        status = graph_shape_same(call, out);
    if (status == 0 && outside->ndim > out->ndim)
        return neap_error(NEAP_E_SHAPE, "leave: a spec of %d axes for an array of %d", outside->ndim, out->ndim);
    for (int a = 0; status == 0 && a < out->ndim; a++)
        out->shape[a] *= count_parts_outside(outside, inside, a);
    return status;
}

/* That it is the same along what does not divide it was proved, or promised by `pick`. */
static int leave_expand(lazy_expansion *g) {
    const lazy_sharding *outside = sharding_at(g->node, 1);
    uint32_t varies = g->sharding.varies & outside->manual, differs = g->sharding.differs;
    if (differs & ~outside->manual & ~outside->splits)
        return neap_error(NEAP_E_ARGUMENT, "leave: the array differs between devices");
    if (g->sharding.unreduced != outside->unreduced)
        return neap_error(NEAP_E_ARGUMENT, "leave: a sum that is not done inside of the body is one outside");
    g->sharding = *outside;
    g->sharding.differs |= differs & outside->manual;
    g->sharding.varies |= varies | g->sharding.differs;
    return same_blocks(g);
}

/* What all devices had the same of gets a cotangent of its own on each of those that the result is divided over. */
static int leave_grad(lazy_grad *g) {
    const lazy_sharding *outside = shard_sharding_dual(graph_sharding_of(g->node));
    const lazy_sharding *dual = shard_sharding_dual(graph_sharding_of(INPUT(0)));
    if (!outside || !dual)
        return NEAP_E_MEMORY;
    lazy_sharding typed = *dual;
    typed.differs |= outside->splits & typed.varies;
    const lazy_sharding *inside = shard_sharding_intern(&typed);
    neap_node *ct = inside ? mesh_moved(g->ctx, g->ct, outside) : NULL;
    g->out[0] = ct ? mesh_build_enter(g->ctx, ct, outside, inside) : NULL;
    return grad_done(g, 1);
}

/* Examples that are divided by an axis which becomes manual are joined over it first. */
static int enter_batch(lazy_batching *g) {
    const lazy_sharding *inside = sharding_at(g->node, 1), *is = graph_sharding_of(g->in[0]);
    lazy_sharding like = is ? *is : mesh_plain(inside->mesh);
    for (int k = 0, kept = 0, n = shard_split_length(like.split[0]); k < n; k++) {
        uint8_t axis = like.split[0][k];
        like.split[0][k] = 0;
        if (!(inside->manual >> (axis - 1) & 1))
            like.split[0][kept++] = axis;
    }
    const lazy_sharding *now = shard_sharding_intern(&like);
    const lazy_sharding *outside = now ? stacked_beside(sharding_at(g->node, 0), now) : NULL;
    int status = outside ? check_examples("shard_map", g->in[0], outside) : NEAP_E_MEMORY;
    return status ? status : batch_beside(g, mesh_moved(g->ctx, g->in[0], outside));
}

/* What is inside of a body already enters no other one of the same axes. */
static const int64_t *enter_left(const neap_node *in, const int64_t *attrs, int64_t *rest) {
    (void)rest;
    const lazy_sharding *s = graph_sharding_of(in), *inside = shard_sharding_get(attrs[1]);
    return s && inside && inside->manual && s->manual == inside->manual ? NULL : attrs;
}

NEAP_OP(enter, .doc = "An array that lies as the first sharding says, seen as the blocks of a body in the second.",
        .attrs = "outside inside", .kind = LAZY_CALL, .arity = 1, .types = LAZY_ANY,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_MESH, .dtype = graph_dtype_same, .shape = enter_shape, .grad = enter_grad,
        .jvp = enter_jvp, .batch = enter_batch, .expand = enter_expand, .left = enter_left, .lies = true)

NEAP_OP(leave, .doc = "The blocks of a body, as in the first sharding, seen as one array that lies as the second says.",
        .attrs = "inside outside", .kind = LAZY_CALL, .arity = 1, .types = LAZY_ANY,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_MESH, .dtype = graph_dtype_same, .shape = leave_shape, .grad = leave_grad,
        .jvp = derive_jvp_linear, .batch = leave_batch, .expand = leave_expand, .lies = true)

/* ---- pvary, pick ------------------------------------------------------------------------------------------------- */
/* Attribute: axes of the mesh, which are manual where the input is. */
static int check_manual(const char *op, const lazy_expansion *g) {
    bool manual = g->sharding.mesh && !(graph_node_attrs(g->node)[0] & ~(int64_t)g->sharding.manual);
    return manual ? 0 : neap_error(NEAP_E_ARGUMENT, "%s: these axes of the mesh are not manual", op);
}

static int pvary_expand(lazy_expansion *g) {
    int status = check_manual("pvary", g);
    if (status)
        return status;
    g->sharding.varies |= (uint32_t)graph_node_attrs(g->node)[0];
    return same_blocks(g);
}

/* In a program that is replayed on other inputs, what this varies over may vary already: then it adds nothing. Where
 * nothing is checked the sum still varies as a type: that all devices have it is then said by `pick`. */
static int pvary_grad(lazy_grad *g) {
    uint32_t mask = (uint32_t)graph_node_attrs(g->node)[0] & ~graph_sharding_of(INPUT(0))->varies;
    neap_node *sum = mask ? mesh_build_psum(g->ctx, g->ct, graph_sharding_of(g->node), mask) : g->ct;
    uint32_t still = sum ? graph_sharding_of(sum)->varies & mask : 0;
    g->out[0] = still ? graph_build(g->ctx, LAZY_OP_pick, 1, &sum, 1, (int64_t[]){still}) : sum;
    return grad_done(g, 1);
}

static int pick_expand(lazy_expansion *g) {
    int status = check_manual("pick", g);
    if (status)
        return status;
    g->sharding.varies &= ~(uint32_t)graph_node_attrs(g->node)[0];
    g->sharding.differs &= ~(uint32_t)graph_node_attrs(g->node)[0];
    return same_blocks(g);
}

static int pick_grad(lazy_grad *g) {
    const lazy_sharding *in = graph_sharding_of(INPUT(0));
    mesh_axes axes = mesh_axes_masked(in->mesh, (uint32_t)graph_node_attrs(g->node)[0]);
    neap_node *size = NUMBER((double)axes.size), *ct = mesh_vary(g->ctx, g->ct, in);
    g->out[0] = size && ct ? BUILD2(divide, ct, size) : NULL;
    return grad_done(g, 1);
}

/* The value may vary over more axes than when this was recorded. */
static const int64_t *pvary_left(const neap_node *in, const int64_t *attrs, int64_t *rest) {
    const lazy_sharding *s = graph_sharding_of(in);
    *rest = s ? attrs[0] & ~(int64_t)s->varies : 0;
    return !s ? attrs : *rest ? rest : NULL;
}

NEAP_OP(pvary, .doc = "The same blocks, as a value that may vary over some axes of the mesh (a bit for each).",
        .attrs = "axes", .kind = LAZY_CALL, .arity = 1, .types = LAZY_ANY, .flags = LAZY_OP_HIDDEN | LAZY_OP_MESH,
        .dtype = graph_dtype_same, .shape = graph_shape_same, .grad = pvary_grad, .jvp = derive_jvp_linear,
        .batch = derive_batch_leading, .expand = pvary_expand, .left = pvary_left)

NEAP_OP(pick, .doc = "The same blocks, of which it is promised that they are equal over some axes (a bit for each).",
        .attrs = "axes", .kind = LAZY_CALL, .arity = 1, .types = LAZY_ANY, .flags = LAZY_OP_HIDDEN | LAZY_OP_MESH,
        .dtype = graph_dtype_same, .shape = graph_shape_same, .grad = pick_grad, .jvp = derive_jvp_linear,
        .batch = derive_batch_leading, .expand = pick_expand)

/* ---- pcast ------------------------------------------------------------------------------------------------------- */
/* Attributes: manual axes of the mesh, and what the array is along these from now on (MESH_…). What was the same
 * everywhere, and is unreduced now, counts at the first place along the axes. */
static int pcast_blocks(lazy_expansion *g, bool terms) {
    const lazy_sharding *s;
    int status = shard_expansion_begin(g);
    if (status || !g->blocks)
        return status;
    neap_node *bare = graph_untaped(g->ctx, g->node->in[0]);
    s = graph_sharding_of(g->node);
    if (!bare)
        return neap_error_code();
    mesh_value in = mesh_value_of(bare);
    return terms ? mesh_retyped_blocks(g->ctx, bare, s, g->node->shards->blocks)
                 : mesh_regroup(g->ctx, &in, s, g->node->shards->blocks);
}

static int pcast_expand(lazy_expansion *g) {
    uint32_t axes = (uint32_t)graph_node_attrs(g->node)[0];
    int64_t kind = graph_node_attrs(g->node)[1];
    const lazy_sharding *is = graph_sharding_of(g->node->in[0]);
    int status = check_manual("pcast", g);
    if (status == 0 && (kind < MESH_SAME || kind > MESH_REDUCED || !is || axes & is->unchecked))
        status = neap_error(NEAP_E_ARGUMENT, "pcast: there is no such type, or types are not checked in this body");
    if (status == 0 && kind != MESH_VARYING && kind != MESH_UNREDUCED && axes & (is->differs | is->unreduced))
        status = neap_error(NEAP_E_ARGUMENT, "pcast: the array differs between devices");
    if (status)
        return status;
    lazy_sharding *s = &g->sharding;
    s->differs = kind == MESH_VARYING ? s->differs | (is->unreduced & axes) : s->differs & ~axes;
    s->varies = kind == MESH_VARYING ? s->varies | axes : s->varies & ~axes;
    s->unreduced = kind == MESH_UNREDUCED ? s->unreduced | axes : s->unreduced & ~axes;
    s->reduced = kind == MESH_REDUCED ? s->reduced | axes : s->reduced & ~axes;
    return pcast_blocks(g, kind == MESH_UNREDUCED && axes & ~is->varies);
}

static int pcast_grad(lazy_grad *g) {
    neap_node *ct = mesh_cotangent(g->ctx, g->ct, g->node);
    const lazy_sharding *in = graph_sharding_of(INPUT(0));
    uint32_t axes = (uint32_t)graph_node_attrs(g->node)[0], varies = axes & in->varies;
    ct = ct ? mesh_vary(g->ctx, ct, graph_sharding_of(g->node)) : NULL;
    ct = ct ? mesh_as_kind(g->ctx, ct, varies, MESH_VARYING) : NULL;
    ct = ct ? mesh_as_kind(g->ctx, ct, axes & in->unreduced, MESH_REDUCED) : NULL;
    ct = ct ? mesh_as_kind(g->ctx, ct, axes & in->reduced, MESH_UNREDUCED) : NULL;
    g->out[0] = ct ? mesh_as_kind(g->ctx, ct, axes & ~(varies | in->unreduced | in->reduced), MESH_SAME) : NULL;
    return grad_done(g, 1);
}

NEAP_OP(pcast,
        .doc = "The same blocks, as a value that is of another kind along some axes of the mesh (a bit for each).",
        .attrs = "axes kind", .kind = LAZY_CALL, .arity = 1, .types = LAZY_ANY, .flags = LAZY_OP_HIDDEN | LAZY_OP_MESH,
        .dtype = graph_dtype_same, .shape = graph_shape_same, .grad = pcast_grad, .jvp = derive_jvp_linear,
        .batch = derive_batch_leading, .expand = pcast_expand)

/* ---- axis_index -------------------------------------------------------------------------------------------------- */
static int index_shape(const lazy_call_desc *call, lazy_result *out) {
    (void)call;
    out->dtype = out->compute = NEAP_DTYPE_I32;
    return 0;
}

NEAP_OP(axis_index, .doc = "The coordinate of each device along an axis of a mesh: the token of ops over that axis.",
        .attrs = "sharding axis", .kind = LAZY_SOURCE, .arity = 0, .types = LAZY_ALL,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_MESH, .shape = index_shape)
