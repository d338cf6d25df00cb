/* spmd.c: recording ops on meshed arrays: one node for all devices, and its op on the blocks.
 *
 * Before the node is made, its inputs are brought to one form:
 *
 *      ordinary, on a tape or in a trace   ─▶ enter as P()     so that its cotangent is collected
 *      manual over fewer axes              ─▶ gathered over the others, and enter as P()
 *      varies over fewer axes              ─▶ pvary            so that the gradient is a psum
 *      split over global axes              ─▶ reshard          as the op's rule wants it (auto.c)
 *
 * Numbers and ordinary arrays that no derivative looks at stay as they are: they are the same for every block. The node
 * is then made by the recorder as any other: shapes, dtypes and casts are those of the meshed inputs. If all of these
 * have blocks, the op is recorded on the blocks too, with recording held, so that calls on all devices start together.
 */
#include <stdio.h>
#include <string.h>

#include "lazy/dtype/scalar.h"
#include "lazy/program/program.h"
#include "mesh/auto.h"
#include "mesh/internal.h"
#include "ops_gen.h"

/* ---- Values by block --------------------------------------------------------------------------------------------- */
mesh_value mesh_value_of(neap_node *node) {
    if (!graph_is_meshed(node))
        return (mesh_value){.same = node};
    return (mesh_value){.sharding = node->shards->sharding, .blocks = node->shards->blocks};
}

neap_node *mesh_block_at(const mesh_value *value, int position) {
    if (!value->sharding)
        return value->same;
    int b = shard_sharding_block(value->sharding, position);
    return b < 0 ? NULL : value->blocks[b];
}

neap_node *mesh_at_home(neap_ctx *ctx, neap_node *node, int home) {
    return graph_build_place(ctx, node, graph_home(ctx, home));
}

/* What several devices shared and now each of them has for itself is computed once, and is the buffer of all. */
static void keep_shared(neap_ctx *ctx, neap_node *block, int home) {
    neap_node *target = graph_read_target(block);
    if (block->device >= 0 || home < 0 || graph_is_number(target) || graph_is_formula(target))
        return;
    target->flags |= LAZY_KEPT;
    graph_count_pending(ctx, target);
}

int mesh_regroup(neap_ctx *ctx, const mesh_value *value, const lazy_sharding *to, neap_node **blocks) {
    for (int b = 0; b < to->nblocks; b++) {
        neap_node *block = mesh_block_at(value, to->position[b]);
        if (!block)
            return neap_error(NEAP_E_INTERNAL, "a block of another process is needed where nothing moves");
        keep_shared(ctx, block, to->home[b]);
        if (!(block = mesh_at_home(ctx, block, to->home[b])))
            return neap_error_code();
        blocks[b] = graph_retain(block);
    }
    return 0;
}

lazy_sharding mesh_plain(const lazy_mesh *mesh) {
    return (lazy_sharding){.mesh = mesh};
}

const char *mesh_axes_text(const lazy_mesh *mesh, uint32_t mask, char *text, size_t capacity) {
    size_t at = 0;
    text[0] = 0;
    for (int k = 0; k < mesh->naxes; k++)
        if (mask >> k & 1 && at < capacity)
            at += (size_t)snprintf(text + at, capacity - at, "%s'%s'", at ? ", " : "", mesh->names[k]);
    return text;
}

/* ---- Ways between forms ------------------------------------------------------------------------------------------ */
neap_node *mesh_build_enter(neap_ctx *ctx, neap_node *node, const lazy_sharding *from, const lazy_sharding *to) {
    return graph_build(ctx, LAZY_OP_enter, 1, &node, 2, (int64_t[]){from->number, to->number});
}

neap_node *mesh_build_leave(neap_ctx *ctx, neap_node *node, const lazy_sharding *from, const lazy_sharding *to) {
    return graph_build(ctx, LAZY_OP_leave, 1, &node, 2, (int64_t[]){from->number, to->number});
}

neap_node *mesh_moved(neap_ctx *ctx, neap_node *node, const lazy_sharding *to) {
    if (!node || graph_sharding_of(node) == to)
        return node;
    return graph_build(ctx, LAZY_OP_reshard, 1, &node, 1, (int64_t[]){to->number});
}

/* A node that is manual over fewer axes than `manual`, or ordinary, as the same on all devices along the others. */
static neap_node *enter_whole(neap_ctx *ctx, neap_node *node, const lazy_mesh *mesh, uint32_t manual,
                              uint32_t unchecked) {
    const lazy_sharding *is = graph_sharding_of(node);
    lazy_sharding plain = is ? *is : mesh_plain(mesh), inside;
    uint32_t added = manual & ~plain.manual;
    for (int a = 0; a < NEAP_MAX_DIMS; a++) { /* what the new axes divide is gathered */
        int kept = 0;
        for (int k = 0; k < NEAP_MESH_AXES && plain.split[a][k]; k++)
            if (!(added >> (plain.split[a][k] - 1) & 1))
                plain.split[a][kept++] = plain.split[a][k];
        memset(plain.split[a] + kept, 0, (size_t)(NEAP_MESH_AXES - kept));
    }
    inside = plain;
    inside.manual = manual;
    inside.unchecked = unchecked;
    const lazy_sharding *from = shard_sharding_intern(&plain), *to = shard_sharding_intern(&inside);
    if (!from || !to || (is && mesh_check_move("shard_map", 0, node, from)) ||
        (is && !(node = mesh_moved(ctx, node, from))))
        return NULL;
    return mesh_build_enter(ctx, node, from, to);
}

/* A meshed node that varies over `varies` too, but for axes over which it is unreduced. */
static neap_node *widen_varying(neap_ctx *ctx, neap_node *node, uint32_t varies) {
    const lazy_sharding *s = graph_sharding_of(node);
    uint32_t more = varies & ~(s->varies | s->unreduced), reduced = more & s->reduced;
    node = mesh_build_pcast(ctx, node, reduced, MESH_VARYING);
    more &= ~reduced;
    return node && more ? graph_build(ctx, LAZY_OP_pvary, 1, &node, 1, (int64_t[]){more}) : node;
}

neap_node *mesh_vary(neap_ctx *ctx, neap_node *node, const lazy_sharding *like) {
    if (node && (!graph_is_meshed(node) || graph_sharding_of(node)->manual != like->manual))
        node = enter_whole(ctx, node, like->mesh, like->manual, like->unchecked);
    return node ? widen_varying(ctx, node, like->varies) : NULL;
}

/* ---- Bringing inputs to one form --------------------------------------------------------------------------------- */
/* The mesh, and what is manual: that of the innermost body that an input belongs to. */
static int common_sharding(const lazy_op *row, int nin, neap_node *const *in, lazy_sharding *form) {
    char left[128], right[128];
    for (int k = 0; k < nin; k++) {
        const lazy_sharding *s = graph_sharding_of(in[k]);
        if (!s)
            continue;
        if (!form->mesh)
            *form = mesh_plain(s->mesh);
        if (form->mesh != s->mesh)
            return neap_error(NEAP_E_ARGUMENT,
                              "%s: the arrays lie on different meshes; move one of them with np.device_put", row->name);
        if ((form->manual | s->manual) != form->manual && (form->manual | s->manual) != s->manual)
            return neap_error(NEAP_E_ARGUMENT, "%s: one array belongs to a shard_map over %s, another to one over %s",
                              row->name, mesh_axes_text(s->mesh, form->manual, left, sizeof left),
                              mesh_axes_text(s->mesh, s->manual, right, sizeof right));
        form->manual |= s->manual;
        form->unchecked |= s->unchecked;
    }
    return 0;
}

/* Does a derivative, now or of the trace, look at it? */
static bool is_watched(const neap_node *node) {
    return node->levels && !(node->flags & LAZY_WEAK) && dtype_is_inexact(node->dtype);
}

/* attrs: those of the op; the inputs of a collective vary over all its axes, of which its token may tell one alone. */
static int align_inputs(neap_ctx *ctx, const lazy_op *row, int nin, neap_node *const *in, const int64_t *attrs,
                        lazy_sharding *form, neap_node **to) {
    mesh_axes axes = {0};
    int status = common_sharding(row, nin, in, form);
    if (status == 0 && row->flags & LAZY_OP_AXIS && graph_is_meshed(in[1]))
        status = mesh_axes_named(ctx, form->mesh, attrs[0], &axes);
    form->varies = form->unchecked | (axes.mask & form->manual);
    for (int k = 0; k < nin && status == 0; k++) {
        const lazy_sharding *s = graph_sharding_of(in[k]);
        bool enters = s ? s->manual != form->manual : form->manual && is_watched(in[k]);
        to[k] = enters ? enter_whole(ctx, in[k], form->mesh, form->manual, form->unchecked) : in[k];
        if (!to[k])
            return neap_error_code();
        if ((s = graph_sharding_of(to[k])) != NULL) {
            form->varies |= s->varies;
            form->differs |= s->differs;
        }
    }
    for (int k = 0; k < nin && status == 0; k++)
        if (graph_is_meshed(to[k]) && is_watched(to[k]) && !(to[k] = widen_varying(ctx, to[k], form->varies)))
            return neap_error_code();
    return status;
}

/* ---- Automatic ops: inputs that are split ------------------------------------------------------------------------ */
static bool any_split(int nin, neap_node *const *in) {
    bool any = false;
    for (int k = 0; k < nin; k++)
        any |= graph_is_meshed(in[k]) && graph_sharding_of(in[k])->splits;
    return any;
}

static int reshard_inputs(neap_ctx *ctx, lazy_shard_rule *g, neap_node **in) {
    for (int k = 0; k < g->nin; k++) {
        const lazy_sharding *to = shard_sharding_intern(&g->want[k]);
        if (to && !graph_is_meshed(in[k]) && !to->splits)
            continue;
        if (!to || !(in[k] = mesh_moved(ctx, in[k], to)))
            return neap_error_code();
    }
    return 0;
}

static int check_moves(const lazy_shard_rule *g, neap_node *const *in) {
    int status = 0;
    for (int k = 0; k < g->nin && status == 0 && g->mesh->explicit; k++)
        status = mesh_check_move(g->row->name, k, in[k], &g->want[k]);
    return status;
}

/* Chooses the rule, moves the inputs (`in`, those of `of`) to where it wants them, and notes in *call what remains to
 * be done. *block_attrs is OWNED. */
static int plan_split(neap_ctx *ctx, const graph_call *of, neap_node **in, int64_t **block_attrs, mesh_call *call) {
    lazy_aval avals[NEAP_MAX_INPUTS];
    lazy_sharding want[NEAP_MAX_INPUTS];
    lazy_result out = {0};
    bool weak;
    for (int k = 0; k < of->nin; k++) {
        const lazy_sharding *s = graph_sharding_of(in[k]);
        avals[k] = graph_node_aval(in[k]);
        want[k] = s ? *s : mesh_plain(call->result.mesh);
    }
    int status = graph_infer(of, &out, &weak);
    if (status == 0 && !(*block_attrs = malloc((size_t)of->nattrs * sizeof *of->attrs + 1)))
        status = neap_error(NEAP_E_MEMORY, "out of memory for an op on a mesh");
    if (status)
        return status;
    lazy_shard_rule g = {.ctx = ctx,
                         .row = lazy_ops[of->op],
                         .mesh = call->result.mesh,
                         .nin = of->nin,
                         .in = avals,
                         .out = &out,
                         .nattrs = of->nattrs,
                         .attrs = of->attrs,
                         .want = want,
                         .result = call->result,
                         .block_attrs = *block_attrs,
                         .combine = -1};
    if ((status = mesh_shard_plan(&g)) < 0)
        return status;
    memcpy(call->result.split, g.result.split, sizeof g.result.split);
    call->block_attrs = *block_attrs;
    call->combine = g.combine;
    call->over = g.combine < 0 ? 0 : g.over;
    call->note = mesh_note_op(&g, in, status == 0);
    status = check_moves(&g, in);
    return status ? status : reshard_inputs(ctx, &g, in);
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */
static neap_node *record_aligned(neap_ctx *ctx, const graph_call *of, mesh_call *call) {
    call->outer = ctx->mesh.call;
    ctx->mesh.call = call;
    neap_node *node = graph_record_inferred(ctx, of);
    ctx->mesh.call = call->outer;
    return node;
}

/* The whole of an array on one device is an ordinary array again. What a derivative or a trace looks at stays on the
 * mesh, the same on all its devices. BORROWED from the arena or from `node`. */
static neap_node *gather_whole(neap_ctx *ctx, const lazy_op *row, neap_node *node) {
    const lazy_sharding *s = graph_sharding_of(node);
    const lazy_sharding plain = mesh_plain(s->mesh), *to = shard_sharding_intern(&plain);
    neap_node *all = NULL;
    if (s->manual) {
        neap_error(NEAP_E_ARGUMENT,
                   "%s: inside np.shard_map an array is seen by block, and each block stays where it is", row->name);
        return NULL;
    }
    if (s->unreduced && (!to || !(node = mesh_moved(ctx, node, to))))
        return NULL;
    if (node->levels)
        return to ? mesh_moved(ctx, node, to) : NULL;
    return mesh_hooks.whole(ctx, node, &all) == 0 ? all : NULL;
}

static neap_node *record_placed(neap_ctx *ctx, const graph_call *of) {
    neap_node *all = gather_whole(ctx, lazy_ops[of->op], of->in[0]);
    if (!all || graph_is_meshed(all))
        return all ? graph_retain(all) : NULL;
    return graph_record(ctx, of->op, 1, &all, of->nattrs, of->attrs);
}

/* An array as an op with such a sharding takes it. It lies so already, but in a program that gets other inputs than
 * those it was recorded with, or that comes from a file. BORROWED. */
static neap_node *laid_out(neap_ctx *ctx, const lazy_op *row, neap_node *in, const lazy_sharding *to) {
    const lazy_sharding *is = graph_sharding_of(in);
    if (!to || (!is && !to->splits && !to->manual))
        return to ? in : NULL;
    if (!to->manual && (!is || !is->manual))
        return mesh_moved(ctx, in, to);
    if (!is || (is->mesh == to->mesh && !(is->manual & ~to->manual)))
        return mesh_hooks.fitted(ctx, in, to);
    neap_error(NEAP_E_ARGUMENT, "%s: the array lies on another mesh, or belongs to another body", row->name);
    return NULL;
}

static neap_node *record_way(neap_ctx *ctx, const graph_call *of) {
    int64_t rest;
    const lazy_op *row = lazy_ops[of->op];
    neap_node *in = of->in[0];
    graph_call left = *of;
    if (row->left && !(left.attrs = row->left(in, of->attrs, &rest)))
        return graph_retain(in);
    if (row->lies && !(in = laid_out(ctx, row, in, of->nattrs ? shard_sharding_get(of->attrs[0]) : NULL)))
        return NULL;
    left.in = &in;
    mesh_call call = {.nattrs = of->nattrs, .block_attrs = left.attrs, .combine = -1};
    if (graph_is_meshed(in))
        call.result = *graph_sharding_of(in);
    return record_aligned(ctx, &left, &call);
}

static neap_node *record_meshed_op(neap_ctx *ctx, const graph_call *of) {
    const lazy_op *row = lazy_ops[of->op];
    mesh_call call = {.nattrs = of->nattrs, .block_attrs = of->attrs, .combine = -1};
    if (row->flags & LAZY_OP_MESH)
        return record_way(ctx, of);
    if (row->flags & LAZY_OP_PLACES)
        return record_placed(ctx, of);
    neap_node *aligned[NEAP_MAX_INPUTS], *node = NULL;
    int64_t *block_attrs = NULL;
    graph_call moved = *of;
    moved.in = aligned;
    uint32_t meets = 0;
    int status = align_inputs(ctx, row, of->nin, of->in, of->attrs, &call.result, aligned);
    if (status == 0)
        status = mesh_type_inputs(ctx, of, aligned, &call.result, &meets);
    if (status == 0 && meets)
        return mesh_record_by_block(ctx, &moved, &call.result, meets, false);
    if (status == 0 && ctx->mesh.undone && (meets = mesh_left_undone(ctx, &moved, &call.result)) != 0)
        return mesh_record_by_block(ctx, &moved, &call.result, meets, true);
    if (status == 0 && any_split(of->nin, aligned))
        status = plan_split(ctx, &moved, aligned, &block_attrs, &call);
    if (status == 0)
        node = record_aligned(ctx, &moved, &call);
    free(block_attrs);
    return node;
}

/* What reads nothing is a token, of which there is one. OWNED. */
static neap_node *record_token(neap_ctx *ctx, const graph_call *of) {
    const lazy_sharding *s = of->nattrs == 2 ? shard_sharding_get(of->attrs[0]) : NULL;
    int64_t axis = s ? of->attrs[1] : -1;
    if (!s || axis < 0 || axis >= s->mesh->naxes || !(s->manual >> axis & 1)) {
        neap_error(NEAP_E_ARGUMENT, "%s: no such axis of a mesh is manual", lazy_ops[of->op]->name);
        return NULL;
    }
    neap_node *token = mesh_token(ctx, s->mesh, s->manual, s->unchecked, (int)axis);
    return token ? graph_retain(token) : NULL;
}

static neap_node *mesh_record(neap_ctx *ctx, const graph_call *of) {
    if (of->nin == 0)
        return record_token(ctx, of);
    plan_hold_blocks(ctx);
    neap_node *node = record_meshed_op(ctx, of);
    if (plan_unhold_blocks(ctx, node) && node) {
        graph_release(ctx, node);
        node = NULL;
    }
    return node;
}

/* ---- Expansion --------------------------------------------------------------------------------------------------- */
static neap_node *record_block(neap_ctx *ctx, const neap_node *node, const mesh_call *call, const lazy_sharding *to,
                               int b) {
    neap_node *in[NEAP_MAX_INPUTS];
    bool placed = to->home[b] < 0, without_device = graph_home(ctx, 0) < 0;
    for (int k = 0; k < node->nin; k++) {
        mesh_value value = mesh_value_of(node->in[k]);
        in[k] = mesh_block_at(&value, to->position[b]);
        bool elsewhere = in[k]->device >= 0 && (!value.sharding || without_device);
        if (elsewhere && !(in[k] = mesh_at_home(ctx, in[k], to->home[b])))
            return NULL;
        placed |= in[k]->device >= 0;
    }
    if (!placed && node->nin && !(in[0] = mesh_at_home(ctx, in[0], to->home[b])))
        return NULL;
    return graph_record(ctx, node->op, node->nin, in, call->nattrs, call->block_attrs);
}

static int record_on_blocks(neap_ctx *ctx, const neap_node *node, const mesh_call *call, const lazy_sharding *to,
                            neap_node **blocks) {
    lazy_site_sampling *asks = ctx->sites.asks; /* the lines of blocks are that of the node */
    ctx->sites.asks = NULL;
    int status = 0;
    for (int b = 0; b < to->nblocks && status == 0; b++)
        if (!(blocks[b] = record_block(ctx, node, call, to, b)))
            status = neap_error_code();
    ctx->sites.asks = asks;
    return status;
}

/* Partial results, then what they give together. */
static int record_partial(neap_ctx *ctx, neap_node *node, const mesh_call *call) {
    lazy_sharding partial = *graph_sharding_of(node);
    partial.differs |= call->over; /* only to say which blocks there are */
    const lazy_sharding *part = shard_sharding_intern(&partial), *to = graph_sharding_of(node);
    neap_node **blocks = part ? calloc((size_t)part->nblocks + 1, sizeof *blocks) : NULL;
    if (!blocks)
        return neap_error(NEAP_E_MEMORY, "out of memory for an op on a mesh");
    mesh_axes axes = mesh_axes_masked(to->mesh, call->over);
    int status = record_on_blocks(ctx, node, call, part, blocks);
    if (status == 0)
        status = mesh_reduce(ctx, call->combine, &(mesh_value){.sharding = part, .blocks = blocks}, &axes, to,
                             node->shards->blocks);
    for (int b = 0; b < part->nblocks; b++)
        graph_release(ctx, blocks[b]);
    free(blocks);
    return status;
}

/* May blocks be recorded: do all meshed inputs have some, and have the others a value? */
static bool inputs_expanded(const neap_ctx *ctx, const neap_node *node) {
    bool all = true;
    for (int k = 0; k < node->nin; k++)
        all &= program_expands(ctx, node->in[k]);
    return all;
}

static int spread_node(neap_ctx *ctx, neap_node *node, const mesh_call *call) {
    const lazy_op *row = graph_node_op(node);
    lazy_expansion g = {.ctx = ctx, .node = node, .sharding = call->result, .blocks = inputs_expanded(ctx, node)};
    bool of_examples = row->flags & LAZY_OP_AXIS && !graph_is_meshed(node->in[1]); /* np.vmap replaces it */
    if (row->expand && !of_examples)
        return row->expand(&g);
    int status = shard_expansion_begin(&g);
    if (status || !g.blocks)
        return status;
    return call->combine >= 0 ? record_partial(ctx, node, call)
                              : record_on_blocks(ctx, node, call, graph_sharding_of(node), node->shards->blocks);
}

/* Kernels rely on it: the blocks of an array have the dtype that it has, and the shape of its parts. */
static int check_blocks(const neap_node *node) {
    const lazy_sharding *s = graph_sharding_of(node);
    bool fits = true;
    for (int b = 0; b < s->nblocks && graph_has_blocks(node); b++) {
        const neap_node *block = node->shards->blocks[b];
        fits &= block->dtype == node->dtype && block->ndim == node->ndim;
        for (int a = 0; a < node->ndim && fits; a++)
            fits = block->shape[a] * shard_sharding_parts(s, a) == node->shape[a];
    }
    return fits ? 0
                : neap_error(NEAP_E_INTERNAL, "%s: the blocks are no parts of the array", graph_node_op(node)->name);
}

static int finish_meshed_node(neap_ctx *ctx, neap_node *node) {
    int status = spread_node(ctx, node, ctx->mesh.call);
    if (status == 0)
        status = check_blocks(node);
    if (status == 0) {
        mesh_note_inherit(ctx, node, ctx->mesh.call->note);
        shard_inherit_causes(node);
    }
    return status;
}

/* ---- Tokens ------------------------------------------------------------------------------------------------------ */
static neap_node *new_token(neap_ctx *ctx, const lazy_sharding *s, int axis) {
    lazy_result aval = {.dtype = NEAP_DTYPE_I32};
    neap_node *node = graph_node_new(ctx, LAZY_OP_axis_index, &aval, 0, NULL, 2, (int64_t[]){s->number, axis});
    int status = node ? graph_node_mesh(node, s) : NEAP_E_MEMORY;
    for (int b = 0; b < s->nblocks && status == 0; b++) {
        int place = shard_mesh_coordinate(s->mesh, s->position[b], axis);
        if (!(node->shards->blocks[b] = graph_constant(ctx, NEAP_DTYPE_I32, false, place)))
            status = NEAP_E_MEMORY;
    }
    if (status) {
        graph_release(ctx, node);
        return NULL;
    }
    /* Each program that reads the node contains it, and makes it once. */
    node->flags |= LAZY_CONSTRUCTED;
    node->work = LAZY_WORK_MOST;
    return node;
}

neap_node *mesh_token(neap_ctx *ctx, const lazy_mesh *mesh, uint32_t manual, uint32_t unchecked, int axis) {
    lazy_sharding like = mesh_plain(mesh);
    like.manual = manual;
    like.unchecked = unchecked;
    like.varies = unchecked | 1u << axis;
    like.differs = 1u << axis;
    const lazy_sharding *s = shard_sharding_intern(&like);
    for (int64_t k = 0; s && k < ctx->mesh.tokens.n; k++)
        if (graph_sharding_of(ctx->mesh.tokens.at[k]) == s && ctx->mesh.tokens.at[k]->attrs[1] == axis)
            return ctx->mesh.tokens.at[k];
    neap_node *token = s ? new_token(ctx, s, axis) : NULL;
    if (token && lazy_push(&ctx->mesh.tokens, token)) {
        graph_release(ctx, token);
        return NULL;
    }
    return token;
}

neap_node *mesh_build_psum(neap_ctx *ctx, neap_node *node, const lazy_sharding *is, uint32_t mask) {
    mesh_axes axes = mesh_axes_masked(is->mesh, mask);
    neap_node *token = mesh_token(ctx, is->mesh, is->manual, is->unchecked, axes.at[0]);
    int32_t name = mesh_axes_name(ctx, is->mesh, &axes);
    if (!token || !name || !(node = mesh_vary(ctx, node, is)))
        return NULL;
    return graph_build(ctx, LAZY_OP_psum, 2, (neap_node *[]){node, token}, 2, (int64_t[]){name, axes.size});
}

/* ---- For readers on the host ------------------------------------------------------------------------------------- */
/* Where nothing is checked nothing is proved: the copies of this process are compared, bit by bit. Polls. */
static int compare_copies(neap_ctx *ctx, neap_node *node) {
    const lazy_shards *shards = node->shards;
    int status = plan_flush_roots(ctx, 1, &node);
    bool equal = true;
    neap_buffer *data;
    for (int b = 0; b < shards->sharding->nblocks && status == 0; b++)
        status = graph_host_poll(ctx, shards->blocks[b], &data);
    for (int b = 1; b < shards->sharding->nblocks && status == 0; b++)
        equal &=
            memcmp(graph_host_data(shards->blocks[0]), graph_host_data(shards->blocks[b]), graph_node_bytes(node)) == 0;
    return status || equal
               ? status
               : neap_error(NEAP_E_STATE, "the array has different values on different devices, so it has no one value "
                                          "here; combine it first, as in np.psum, or print it");
}

static int check_whole(neap_ctx *ctx, neap_node *node) {
    const lazy_sharding *s = graph_sharding_of(node);
    char text[256], cause[256];
    if (s->nblocks == 0)
        return neap_error(NEAP_E_STATE, "the array lies on devices of other processes, so this one cannot read it");
    if (s->unreduced)
        return neap_error(NEAP_E_STATE,
                          "the array is a sum over %s of the mesh that is not done, so it has no value here; %s does "
                          "the sum",
                          mesh_axes_text(s->mesh, s->unreduced, text, sizeof text),
                          s->unreduced & s->manual ? "np.psum"
                                                   : "np.reshard(x, spec) with a spec that does not say so");
    if (s->differs && !(s->differs & ~s->unchecked) && !(node->flags & LAZY_ABSTRACT))
        return compare_copies(ctx, node);
    if (s->differs)
        return neap_error(
            NEAP_E_STATE,
            "the array differs between devices along %s of the mesh, so it has no one value here; combine "
            "it first, as in np.psum, or print it%s",
            mesh_axes_text(s->mesh, s->differs, text, sizeof text),
            shard_cause_text(ctx, node, s->differs, cause, sizeof cause));
    if (!s->addressable)
        return neap_error(NEAP_E_STATE,
                          "the array is split along %s of the mesh over several processes, so this one cannot read it "
                          "whole; gather it on all of them first, as in np.device_put(x, mesh, np.P())",
                          mesh_axes_text(s->mesh, s->splits, text, sizeof text));
    return 0;
}

static int whole(neap_ctx *ctx, neap_node *node, neap_node **out) {
    lazy_shards *shards = node->shards;
    if (!graph_has_blocks(node))
        return neap_error(NEAP_E_TRACE,
                          "the value of a traced array is not known while tracing; use np.cond or np.where, or make "
                          "the argument static");
    int status = check_whole(ctx, node);
    if (status == 0 && !shards->whole && shards->sharding->differs) {
        shards->whole = graph_retain(shards->blocks[0]);
    } else if (status == 0 && !shards->whole) {
        lazy_sharding plain = *shards->sharding;
        memset(plain.split, 0, sizeof plain.split);
        const lazy_sharding *to = shard_sharding_intern(&plain);
        plan_hold_blocks(ctx);
        status = to ? mesh_reshard_here(ctx, node, to, &shards->whole) : NEAP_E_MEMORY;
        int held = plan_unhold_blocks(ctx, NULL);
        status = status ? status : held;
    }
    *out = shards->whole;
    return status;
}

/* Inside a body a cotangent may stay as it is: its type is that of its derivation. */
static neap_node *moved(neap_ctx *ctx, neap_node *node, const lazy_sharding *like) {
    const lazy_sharding *to = node && !like->manual ? shard_sharding_dual(like) : NULL;
    return to ? mesh_moved(ctx, node, to) : node;
}

/* What `like` says of sums that are not done. Types of a body first. */
static neap_node *typed_like(neap_ctx *ctx, neap_node *node, const lazy_sharding *like) {
    const lazy_sharding *is = graph_sharding_of(node);
    if (!is || !((like->unreduced | like->reduced | is->unreduced | is->reduced) & like->manual))
        return node;
    uint32_t same = like->manual & ~(like->unreduced | like->reduced | like->varies);
    uint32_t terms = like->varies & is->unreduced & like->manual;
    node = mesh_build_pcast(ctx, node, terms, MESH_VARYING);
    if (!node)
        return NULL;
    node = mesh_as_kind(ctx, node, like->unreduced & like->manual, MESH_UNREDUCED);
    node = node ? mesh_as_kind(ctx, node, like->reduced & like->manual, MESH_REDUCED) : NULL;
    uint32_t typed = node ? graph_sharding_of(node)->unreduced | graph_sharding_of(node)->reduced : 0;
    return node ? mesh_as_kind(ctx, node, same & typed, MESH_SAME) : NULL;
}

static neap_node *fitted(neap_ctx *ctx, neap_node *node, const lazy_sharding *like) {
    if (like->manual)
        node = mesh_vary(ctx, node, like);
    node = node ? typed_like(ctx, node, like) : NULL;
    if (!node)
        return NULL;
    const lazy_sharding *is = graph_sharding_of(node);
    lazy_sharding to = is ? *is : mesh_plain(like->mesh);
    bool typed = is && is->unreduced == like->unreduced && is->reduced == like->reduced;
    if (typed && memcmp(is->split, like->split, sizeof is->split) == 0)
        return node;
    memcpy(to.split, like->split, sizeof to.split);
    to.unreduced = like->unreduced;
    to.reduced = like->reduced;
    const lazy_sharding *divided = shard_sharding_intern(&to);
    return divided ? mesh_moved(ctx, node, divided) : NULL;
}

static const graph_note_kind *const kinds[] = {
    &mesh_note_reshard, &mesh_note_fit, &mesh_note_enter, &mesh_note_leave, &mesh_note_open, &mesh_note_undone, NULL};

const graph_mesh_hooks mesh_hooks = {.record = mesh_record,
                                     .finish = finish_meshed_node,
                                     .whole = whole,
                                     .moved = moved,
                                     .cotangent = mesh_cotangent,
                                     .fitted = fitted,
                                     .kinds = kinds};
