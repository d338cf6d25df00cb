/* unreduced.c: sums over axes of a mesh that are not done: which ops take such arrays, and making arrays and sums.
 *
 * Along each axis of the mesh an array is one of these (lazy/graph/sharding.h):
 *
 *                    what devices have        its cotangent
 *      divided       parts, or their own      divided: each device's own
 *      the same      the same                 the same
 *      reduced       the same                 unreduced
 *      unreduced     terms of a sum           reduced
 *
 * Ops. Linear ops take unreduced arrays: a sum of sums, a view, a cast. Products take an unreduced array and a reduced
 * one; an array that is the same on all devices becomes reduced first where a derivative looks at the array, and the
 * gradient of that adds up. All other ops need the finished value, and are errors: nothing is added up unasked. The row
 * of an op says so (.undone).
 *
 * Where a reduced array meets one that is divided along the same axis, the cotangent is made of the parts of devices.
 * So the op is recorded as in the body of a shard_map over the axis:
 *
 *      x P("j", nil) ── enter ───────────────▶ ┐
 *      w P({reduced={"j"}}) ── enter, pcast ─▶ matmul ── leave ─▶ P("j", nil)     gradient of w: leave(pcast(…))
 *
 * An op that is to leave a sum undone (neap_mesh_leave_undone) is the same: the parts of the result leave as an
 * unreduced array.
 */
#include <stdio.h>
#include <string.h>

#include "lazy/dtype/scalar.h"
#include "lazy/shard/shard.h"
#include "mesh/auto.h"
#include "mesh/internal.h"
#include "ops_gen.h"

static uint32_t unreduced_of(const lazy_sharding *s) {
    return s ? s->unreduced : 0;
}

static uint32_t reduced_of(const lazy_sharding *s) {
    return s ? s->reduced : 0;
}

void mesh_remove_axes(lazy_sharding *s, uint32_t axes) {
    for (int a = 0; a < NEAP_MAX_DIMS; a++) {
        uint8_t kept[NEAP_MESH_AXES] = {0};
        for (int k = 0, n = 0; k < NEAP_MESH_AXES && s->split[a][k]; k++)
            if (!(axes >> (s->split[a][k] - 1) & 1))
                kept[n++] = s->split[a][k];
        memcpy(s->split[a], kept, sizeof kept);
    }
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */
typedef struct undone_step { /* an array on the way from one sharding to another */
    neap_ctx *ctx;
    const lazy_aval *aval;
    neap_node *node;  /* OWNED */
    mesh_axes pieces; /* for make_pieces: axes of the mesh that come to divide an axis of the array */
    int pieces_at;
} undone_step;

/* The array of these blocks, which the array retains. OWNED. */
static neap_node *array_of(const undone_step *w, const lazy_sharding *s, neap_node **blocks) {
    lazy_result like = {.dtype = w->aval->dtype, .ndim = w->aval->ndim};
    memcpy(like.shape, w->aval->shape, (size_t)like.ndim * sizeof *like.shape);
    neap_node *node = graph_data(w->ctx, &like);
    if (!node || graph_node_mesh(node, s)) {
        graph_release(w->ctx, node);
        return NULL;
    }
    for (int b = 0; b < s->nblocks; b++)
        node->shards->blocks[b] = graph_retain(blocks[b]);
    return node;
}

static void release_blocks(neap_ctx *ctx, int n, neap_node **blocks) {
    for (int b = 0; b < n && blocks; b++)
        graph_release(ctx, blocks[b]);
    free(blocks);
}

/* Replaces the array by one with the sharding s and the blocks of `make`. */
static int take_undone_step(undone_step *w, const lazy_sharding *s,
                            int (*make)(undone_step *w, const lazy_sharding *s, neap_node **blocks)) {
    neap_node **blocks = s ? calloc((size_t)s->nblocks + 1, sizeof *blocks) : NULL;
    if (!blocks)
        return neap_error(NEAP_E_MEMORY, "out of memory for the blocks of an array");
    int status = make(w, s, blocks);
    neap_node *made = status == 0 ? array_of(w, s, blocks) : NULL;
    if (status == 0 && !made)
        status = NEAP_E_MEMORY;
    release_blocks(w->ctx, s->nblocks, blocks);
    if (status == 0) {
        graph_release(w->ctx, w->node);
        w->node = made;
    }
    return status;
}

static int make_sums(undone_step *w, const lazy_sharding *s, neap_node **blocks) {
    mesh_value in = mesh_value_of(w->node);
    mesh_axes axes = mesh_axes_masked(s->mesh, in.sharding->unreduced & ~s->unreduced);
    return mesh_reduce(w->ctx, LAZY_OP_add, &in, &axes, s, blocks);
}

/* Sums of which each device gets its piece along an axis of the array; nothing else is sent. */
static int make_pieces(undone_step *w, const lazy_sharding *s, neap_node **blocks) {
    mesh_value in = mesh_value_of(w->node);
    int n = in.sharding->nblocks, at = w->pieces_at, status = 0;
    neap_node **dealt = calloc((size_t)n + 1, sizeof *dealt);
    if (!dealt)
        return neap_error(NEAP_E_MEMORY, "out of memory for the blocks of an array");
    for (int b = 0; b < n && status == 0; b++) {
        const neap_node *block = in.blocks[b];
        int64_t shape[NEAP_MAX_DIMS];
        memcpy(shape, block->shape, (size_t)at * sizeof *shape);
        shape[at] = w->pieces.size;
        memcpy(shape + at + 1, block->shape + at, (size_t)(block->ndim - at) * sizeof *shape);
        shape[at + 1] /= w->pieces.size;
        status = (dealt[b] = graph_build_reshape(w->ctx, in.blocks[b], block->ndim + 1, shape)) ? 0 : neap_error_code();
    }
    if (status == 0)
        status =
            mesh_scatter(w->ctx, &(mesh_value){.sharding = in.sharding, .blocks = dealt}, &w->pieces, at, s, blocks);
    free(dealt);
    return status;
}

static int make_moved(undone_step *w, const lazy_sharding *s, neap_node **blocks) {
    return mesh_reshard_blocks(w->ctx, w->node, s, blocks);
}

/* A block that counts for nothing in a sum: x + -0.0 is x. */
static neap_node *build_nothing(neap_ctx *ctx, int dtype, int ndim, const int64_t *shape) {
    neap_node *zero = graph_arena(ctx, graph_constant(ctx, dtype, false, dtype_is_inexact(dtype) ? -0.0 : 0));
    return zero ? graph_build_broadcast(ctx, zero, ndim, shape) : NULL;
}

/* A block with nothing around it along an axis, `extent` elements long; it begins at `from`. */
static neap_node *surround(neap_ctx *ctx, neap_node *block, int axis, int64_t from, int64_t extent) {
    int64_t shape[NEAP_MAX_DIMS], behind = extent - from - block->shape[axis];
    neap_node *parts[3];
    int n = 0;
    memcpy(shape, block->shape, block->ndim * sizeof *shape);
    shape[axis] = from;
    if (from && !(parts[n++] = build_nothing(ctx, block->dtype, block->ndim, shape)))
        return NULL;
    parts[n++] = block;
    shape[axis] = behind;
    if (behind && !(parts[n++] = build_nothing(ctx, block->dtype, block->ndim, shape)))
        return NULL;
    return n == 1 ? block : graph_build_concatenate(ctx, n, parts, axis);
}

/* The term of a position: of an array that the axes divided, the part with nothing around; else all at the first place
 * along the axes, and nothing at the others. */
static neap_node *build_term(undone_step *w, const lazy_sharding *s, int position) {
    const lazy_sharding *is = graph_sharding_of(w->node);
    mesh_value in = mesh_value_of(w->node);
    neap_node *block = mesh_block_at(&in, position);
    uint32_t whole = s->unreduced & ~(unreduced_of(is) | (is ? is->splits : 0));
    int64_t shape[NEAP_MAX_DIMS];
    for (int a = 0; a < w->node->ndim; a++)
        shape[a] = w->node->shape[a] / shard_sharding_parts(s, a);
    for (int k = 0; k < s->mesh->naxes; k++)
        if (whole >> k & 1 && shard_mesh_coordinate(s->mesh, position, k))
            return build_nothing(w->ctx, w->node->dtype, w->node->ndim, shape);
    for (int a = 0; a < w->node->ndim && block; a++) {
        int64_t at = 0;
        for (int k = shard_split_length(s->split[a]); is && k < NEAP_MESH_AXES && is->split[a][k]; k++) {
            int axis = is->split[a][k] - 1;
            at = at * s->mesh->sizes[axis] + shard_mesh_coordinate(s->mesh, position, axis);
        }
        block = surround(w->ctx, block, a, at * block->shape[a], shape[a]);
    }
    return block;
}

static int make_terms(undone_step *w, const lazy_sharding *s, neap_node **blocks) {
    for (int b = 0; b < s->nblocks; b++) {
        neap_node *term = build_term(w, s, s->position[b]);
        if (!term || !(term = mesh_at_home(w->ctx, term, s->home[b])))
            return neap_error_code();
        blocks[b] = graph_retain(term);
    }
    return 0;
}

/* `to` before these axes are unreduced: axes go on to divide the array if they are the last ones of an array axis. */
static lazy_sharding before_terms(const lazy_sharding *is, const lazy_sharding *to, uint32_t gained) {
    lazy_sharding like = *to;
    like.unreduced &= ~gained;
    for (int a = 0; is && is->mesh == to->mesh && a < NEAP_MAX_DIMS; a++) {
        int n = shard_split_length(to->split[a]), all = shard_split_length(is->split[a]);
        bool tail = n < all && memcmp(is->split[a], to->split[a], (size_t)n) == 0;
        for (int k = n; k < all; k++)
            tail &= gained >> (is->split[a][k] - 1) & 1;
        if (tail)
            memcpy(like.split[a], is->split[a], sizeof like.split[a]);
    }
    return like;
}

/* The axes of the mesh, all of them lost, that come to divide axis a of the array, behind those that divide it already
 * and in the order of the mesh; n 0: others do, or none. */
static mesh_axes axes_of_pieces(const lazy_sharding *is, const lazy_sharding *to, int a, uint32_t lost) {
    int n = shard_split_length(is->split[a]), all = shard_split_length(to->split[a]);
    uint32_t mask = 0;
    bool fits = n < all && memcmp(is->split[a], to->split[a], (size_t)n) == 0;
    for (int k = n; k < all && fits; k++) {
        int axis = to->split[a][k] - 1;
        fits = lost >> axis & 1 && !(mask >> axis);
        mask |= UINT32_C(1) << axis;
    }
    return fits ? mesh_axes_masked(to->mesh, mask) : (mesh_axes){.n = 0};
}

/* Does the sums over lost axes that come to divide the array, and takes these off `lost`. */
static int scatter_sums(undone_step *w, const lazy_sharding *to, uint32_t *lost) {
    int status = 0;
    for (int a = w->aval->ndim - 1; a >= 0 && status == 0 && w->aval->ndim < NEAP_MAX_DIMS; a--) {
        lazy_sharding like = *graph_sharding_of(w->node);
        w->pieces = axes_of_pieces(&like, to, a, *lost);
        w->pieces_at = a;
        if (w->pieces.n == 0)
            continue;
        *lost &= ~w->pieces.mask;
        like.unreduced &= ~w->pieces.mask;
        memcpy(like.split[a], to->split[a], sizeof like.split[a]);
        status = take_undone_step(w, shard_sharding_intern(&like), make_pieces);
    }
    return status;
}

int mesh_retyped_blocks(neap_ctx *ctx, neap_node *in, const lazy_sharding *to, neap_node **blocks) {
    const lazy_sharding *is = graph_sharding_of(in);
    if (!(unreduced_of(is) | to->unreduced))
        return mesh_reshard_blocks(ctx, in, to, blocks);
    lazy_aval aval = graph_node_aval(in);
    undone_step w = {.ctx = ctx, .aval = &aval, .node = graph_retain(in)};
    uint32_t lost = unreduced_of(is) & ~(is && is->mesh == to->mesh ? to->unreduced : 0);
    uint32_t gained = to->unreduced & ~(unreduced_of(is) & ~lost);
    int status = lost && is->mesh == to->mesh ? scatter_sums(&w, to, &lost) : 0;
    if (status == 0 && lost) {
        lazy_sharding like = *graph_sharding_of(w.node);
        like.unreduced &= ~lost;
        status = take_undone_step(&w, shard_sharding_intern(&like), make_sums);
    }
    lazy_sharding like = before_terms(graph_sharding_of(w.node), to, gained);
    like.reduced = 0;
    if (status == 0)
        status = take_undone_step(&w, shard_sharding_intern(&like), make_moved);
    if (status == 0 && gained)
        status = take_undone_step(&w, to, make_terms);
    for (int b = 0; b < to->nblocks && status == 0; b++)
        blocks[b] = graph_retain(w.node->shards->blocks[b]);
    graph_release(ctx, w.node);
    return status;
}

/* ---- Types of a body --------------------------------------------------------------------------------------------- */
static int kind_along(const lazy_sharding *s, int axis) {
    return s->unreduced >> axis & 1 ? MESH_UNREDUCED
           : s->reduced >> axis & 1 ? MESH_REDUCED
           : s->varies >> axis & 1  ? MESH_VARYING
                                    : MESH_SAME;
}

neap_node *mesh_build_pcast(neap_ctx *ctx, neap_node *node, uint32_t axes, int kind) {
    return node && axes ? graph_build(ctx, LAZY_OP_pcast, 1, &node, 2, (int64_t[]){axes, kind}) : node;
}

/* The axes, of some, along which a manual node is of a kind. */
static uint32_t axes_of_kind(const neap_node *node, uint32_t axes, int kind) {
    const lazy_sharding *s = graph_sharding_of(node);
    uint32_t mask = 0;
    for (int k = 0; k < s->mesh->naxes; k++)
        mask |= axes >> k & 1 && kind_along(s, k) == kind ? 1u << k : 0;
    return mask;
}

neap_node *mesh_as_kind(neap_ctx *ctx, neap_node *node, uint32_t axes, int kind) {
    axes &= ~axes_of_kind(node, axes, kind);
    bool adds = kind == MESH_SAME || kind == MESH_REDUCED;
    uint32_t sums = adds ? axes_of_kind(node, axes, MESH_UNREDUCED) : 0;
    if (sums) {
        node = mesh_build_pcast(ctx, node, sums, MESH_VARYING);
        node = node ? mesh_build_psum(ctx, node, graph_sharding_of(node), sums) : NULL;
    }
    axes &= node ? ~axes_of_kind(node, axes, kind) : 0;
    return mesh_build_pcast(ctx, node, axes, kind);
}

/* ---- Cotangents -------------------------------------------------------------------------------------------------- */
/* The same outside of bodies, or along the axes that bodies leave. */
static neap_node *cotangent_moved(neap_ctx *ctx, neap_node *ct, const lazy_sharding *want, uint32_t global) {
    const lazy_sharding *is = graph_sharding_of(ct);
    lazy_sharding like = is ? *is : mesh_plain(want->mesh);
    like.unreduced = (like.unreduced & ~global) | (want->unreduced & global);
    like.reduced = (like.reduced & ~global) | (want->reduced & global);
    mesh_remove_axes(&like, (like.unreduced | like.reduced) & global);
    const lazy_sharding *to = shard_sharding_intern(&like);
    return to ? mesh_moved(ctx, ct, to) : NULL;
}

neap_node *mesh_cotangent(neap_ctx *ctx, neap_node *ct, const neap_node *node) {
    const lazy_sharding *of = graph_sharding_of(node), *is = ct ? graph_sharding_of(ct) : NULL;
    if (!ct || (reduced_of(of) == unreduced_of(is) && unreduced_of(of) == reduced_of(is)))
        return ct;
    lazy_sharding plain = mesh_plain((of ? of : is)->mesh);
    const lazy_sharding *want = shard_sharding_dual(of ? of : &plain);
    if (!want)
        return NULL;
    uint32_t manual = want->manual | (is ? is->manual : 0), all = (1u << want->mesh->naxes) - 1;
    if (manual && (!is || is->manual != manual)) {
        plain.manual = manual;
        plain.unchecked = want->unchecked;
        if (!(ct = mesh_vary(ctx, ct, &plain)))
            return NULL;
    }
    static const int kinds[] = {MESH_UNREDUCED, MESH_REDUCED, MESH_SAME};
    uint32_t same = manual & ~(want->unreduced | want->reduced);
    uint32_t axes[] = {manual & want->unreduced, manual & want->reduced, 0};
    if (manual)
        axes[2] = same & (graph_sharding_of(ct)->unreduced | graph_sharding_of(ct)->reduced);
    for (int k = 0; k < 3 && ct; k++)
        ct = axes[k] ? mesh_as_kind(ctx, ct, axes[k], kinds[k]) : ct;
    return ct ? cotangent_moved(ctx, ct, want, all & ~manual) : NULL;
}

/* ---- Which ops take them ----------------------------------------------------------------------------------------- */
static int undone_of(const lazy_op *row) {
    bool linear = row->kind == LAZY_VIEW || row->kind == LAZY_ASSEMBLE || row->kind == LAZY_GATHER ||
                  row->jvp == derive_jvp_linear;
    return row->undone ? row->undone : linear ? LAZY_UNDONE_LINEAR : LAZY_UNDONE_NONE;
}

/* Is the result linear in input k, alone or with others? */
static bool is_term(const lazy_op *row, int undone, const graph_call *of, int k) {
    if (undone == LAZY_UNDONE_LINEAR)
        return k == 0 || row->kind != LAZY_GATHER || dtype_is_inexact(of->in[k]->dtype);
    return undone == LAZY_UNDONE_FACTORS || k == (undone == LAZY_UNDONE_FIRST ? 0 : 1) ||
           (undone == LAZY_UNDONE_CHOICES && k == 2);
}

/* A constant 0, which is a term of any sum. */
static bool is_nothing(neap_node *node) {
    const neap_node *target = graph_is_meshed(node) ? NULL : graph_read_target(node);
    return target && graph_is_constant(target) && target->value == 0;
}

/* Input k, and an input beside input k (or -1). */
static int refuse_undone(const lazy_op *row, const graph_call *of, int k, int other) {
    const neap_node *in = of->in[k];
    const lazy_sharding *is = graph_sharding_of(in);
    lazy_sharding done = *is;
    char lies[256], beside[512] = "", axes[128], wanted[256], text[256];
    done.unreduced = 0;
    if (other >= 0) {
        const lazy_sharding *s = graph_sharding_of(of->in[other]);
        snprintf(beside, sizeof beside, ", beside input %d, %s%s", other + 1, s ? "which lies as " : "on no mesh",
                 s ? shard_spec_text(s, of->in[other]->ndim, text, sizeof text) : "");
    }
    mesh_axes_text(is->mesh, is->unreduced, axes, sizeof axes);
    shard_spec_text(is, in->ndim, lies, sizeof lies);
    shard_spec_text(&done, in->ndim, wanted, sizeof wanted);
    if (is->unreduced & is->manual)
        return neap_error(NEAP_E_ARGUMENT,
                          "%s: input %d is unreduced over %s%s: its value is a sum over devices that is not done, and "
                          "%s needs the value; np.psum does the sum",
                          row->name, k + 1, axes, beside, row->name);
    return neap_error(NEAP_E_ARGUMENT,
                      "%s: input %d lies as %s%s: its value is a sum over %s that is not done, and %s needs the value; "
                      "np.reshard(x, np.%s) does the sum",
                      row->name, k + 1, lies, beside, axes, row->name, wanted);
}

/* The axes along which an input has parts, or its own. */
static uint32_t parts_of(const neap_node *node) {
    const lazy_sharding *s = graph_sharding_of(node);
    return s ? s->splits | s->varies : 0;
}

/* Of inputs of which one is unreduced: `over`, the axes. */
static int check_undone(const lazy_op *row, const graph_call *of, uint32_t over) {
    int undone = undone_of(row), first = -1, terms = 0;
    for (int k = of->nin - 1; k >= 0; k--)
        first = unreduced_of(graph_sharding_of(of->in[k])) ? k : first;
    bool breaks = row->flags & LAZY_OP_CASTS && !dtype_is_inexact((int)of->attrs[0]) &&
                  (of->attrs[0] == NEAP_DTYPE_BOOL || dtype_is_inexact(of->in[0]->dtype));
    if (undone == LAZY_UNDONE_NONE || breaks)
        return refuse_undone(row, of, first, -1);
    for (int k = 0; k < of->nin; k++) {
        uint32_t here = unreduced_of(graph_sharding_of(of->in[k]));
        bool term = is_term(row, undone, of, k), alone = undone == LAZY_UNDONE_FACTORS && here && terms++;
        bool lacks = term && undone != LAZY_UNDONE_FACTORS && here != over && !is_nothing(of->in[k]);
        if ((here && (!term || here != over)) || alone || lacks || parts_of(of->in[k]) & over)
            return k == first ? refuse_undone(row, of, k, -1) : refuse_undone(row, of, first, k);
    }
    return 0;
}

/* Does a derivative, now or of the trace, look at it? */
static bool is_looked_at(const neap_node *node) {
    return node->levels && !(node->flags & LAZY_WEAK) && dtype_is_inexact(node->dtype);
}

/* An input that is the same on all devices, as one that is reduced over axes where it is neither reduced nor unreduced.
 * BORROWED from the arena; NULL: an error. */
static neap_node *as_reduced(neap_ctx *ctx, neap_node *node, const lazy_mesh *mesh, uint32_t axes) {
    const lazy_sharding *is = graph_sharding_of(node);
    lazy_sharding like = is ? *is : mesh_plain(mesh);
    axes &= ~(like.reduced | like.unreduced | parts_of(node));
    if (!axes || !is_looked_at(node))
        return node;
    if (axes & like.manual)
        node = mesh_build_pcast(ctx, node, axes & like.manual, MESH_REDUCED);
    like.reduced |= axes;
    if (node && axes & ~like.manual) {
        const lazy_sharding *to = shard_sharding_intern(&like);
        node = to ? mesh_moved(ctx, node, to) : NULL;
    }
    return node;
}

int mesh_type_inputs(neap_ctx *ctx, const graph_call *of, neap_node **in, lazy_sharding *result, uint32_t *meets) {
    const lazy_op *row = lazy_ops[of->op];
    uint32_t undone = 0, reduced = 0, parts = result->varies;
    graph_call call = *of;
    call.in = in;
    *meets = 0;
    for (int k = 0; k < of->nin; k++) {
        undone |= unreduced_of(graph_sharding_of(in[k]));
        reduced |= reduced_of(graph_sharding_of(in[k]));
        parts |= parts_of(in[k]);
    }
    if (!(undone | reduced) || row->control || row->flags & LAZY_OP_PART)
        return 0;
    int status = undone ? check_undone(row, &call, undone) : 0;
    if (status == 0 && undone & parts)
        status = refuse_undone(row, &call, 0, -1);
    if (status)
        return status;
    for (int k = 0; k < of->nin; k++) {
        uint32_t varying = reduced_of(graph_sharding_of(in[k])) & result->varies;
        in[k] = as_reduced(ctx, in[k], result->mesh, (undone | reduced) & ~parts);
        in[k] = in[k] ? mesh_build_pcast(ctx, in[k], varying, MESH_VARYING) : NULL;
        if (!in[k])
            return neap_error_code();
    }
    *meets = reduced & parts & ~result->manual;
    result->unreduced = undone;
    result->reduced = reduced & ~undone & ~parts;
    return 0;
}

/* ---- Ops by block ------------------------------------------------------------------------------------------------ */
typedef struct by_block { /* an op as in the body of a shard_map over some axes */
    neap_ctx *ctx;
    const graph_call *of;
    uint32_t axes;
    lazy_shard_rule rule; /* of what these axes divide alone */
    lazy_aval avals[NEAP_MAX_INPUTS];
    lazy_sharding want[NEAP_MAX_INPUTS];
    lazy_result out;
    int64_t *attrs; /* OWNED */
} by_block;

static int plan_by_block(by_block *w, const lazy_sharding *form) {
    const graph_call *of = w->of;
    bool weak;
    for (int k = 0; k < of->nin; k++) {
        const lazy_sharding *s = graph_sharding_of(of->in[k]);
        w->avals[k] = graph_node_aval(of->in[k]);
        w->want[k] = s ? *s : mesh_plain(form->mesh);
        mesh_remove_axes(&w->want[k], ~w->axes);
    }
    if (graph_infer(of, &w->out, &weak))
        return neap_error_code();
    if (!(w->attrs = malloc((size_t)of->nattrs * sizeof *w->attrs + 1)))
        return neap_error(NEAP_E_MEMORY, "out of memory for an op on a mesh");
    w->rule = (lazy_shard_rule){.ctx = w->ctx,
                                .row = lazy_ops[of->op],
                                .mesh = form->mesh,
                                .nin = of->nin,
                                .in = w->avals,
                                .out = &w->out,
                                .nattrs = of->nattrs,
                                .attrs = of->attrs,
                                .want = w->want,
                                .result = mesh_plain(form->mesh),
                                .block_attrs = w->attrs,
                                .combine = -1};
    int status = mesh_shard_plan(&w->rule);
    return status < 0 ? status : 0;
}

/* Does what `want` divides each axis by, and what it is divided by else, divide it evenly? */
static bool divides(const neap_node *node, const lazy_sharding *s) {
    bool even = true;
    for (int a = 0; a < node->ndim && even; a++)
        even = node->shape[a] % shard_sharding_parts(s, a) == 0;
    return even;
}

/* How an input has to lie to be taken into the body. */
static const lazy_sharding *outside_of(const by_block *w, const neap_node *node, const lazy_sharding *want) {
    const lazy_sharding *is = graph_sharding_of(node);
    lazy_sharding like = is ? *is : mesh_plain(w->rule.mesh), rest = like, now = like;
    mesh_remove_axes(&now, ~w->axes);
    if (memcmp(now.split, want->split, sizeof now.split) == 0)
        return is ? is : shard_sharding_intern(&like);
    mesh_remove_axes(&rest, w->axes);
    memcpy(like.split, want->split, sizeof like.split);
    for (int a = 0; a < node->ndim; a++)
        memcpy(like.split[a] + shard_split_length(want->split[a]), rest.split[a],
               (size_t)shard_split_length(rest.split[a]));
    if (!divides(node, &like))
        memcpy(like.split, want->split, sizeof like.split);
    uint32_t used = 0;
    for (int a = 0; a < node->ndim; a++)
        used |= shard_split_axes(want->split[a]);
    like.reduced &= ~used;
    return shard_sharding_intern(&like);
}

/* An input as blocks. BORROWED from the arena. */
static neap_node *enter_by_block(by_block *w, int k, neap_node *node) {
    const lazy_sharding *from = outside_of(w, node, &w->want[k]);
    if (!from || (graph_is_meshed(node) && mesh_check_move(w->rule.row->name, k, node, from)))
        return NULL;
    if (!graph_is_meshed(node) && !from->splits)
        return node;
    lazy_sharding inside = *from;
    inside.manual |= w->axes;
    inside.varies |= from->splits & w->axes;
    mesh_remove_axes(&inside, w->axes);
    const lazy_sharding *to = shard_sharding_intern(&inside);
    if (!to || !(node = mesh_moved(w->ctx, node, from)) || !(node = mesh_build_enter(w->ctx, node, from, to)))
        return NULL;
    return mesh_build_pcast(w->ctx, node, from->reduced & w->axes, MESH_VARYING);
}

/* The result outside. `undone`: parts that remain to be added stay so. */
static neap_node *leave_by_block(by_block *w, neap_node *node, bool undone) {
    uint32_t over = w->rule.combine >= 0 ? w->rule.over & w->axes : 0;
    if (over && undone)
        node = mesh_as_kind(w->ctx, node, over, MESH_UNREDUCED);
    else if (over)
        node = mesh_build_psum(w->ctx, node, graph_sharding_of(node), over);
    if (!node)
        return NULL;
    lazy_sharding outside = *graph_sharding_of(node);
    outside.manual &= ~w->axes;
    outside.varies &= outside.manual;
    outside.differs &= outside.manual;
    for (int a = 0; a < node->ndim; a++) {
        uint8_t split[2 * NEAP_MESH_AXES] = {0};
        int n = shard_split_length(w->rule.result.split[a]);
        memcpy(split, w->rule.result.split[a], (size_t)n);
        memcpy(split + n, outside.split[a], (size_t)shard_split_length(outside.split[a]));
        memcpy(outside.split[a], split, sizeof outside.split[a]);
    }
    const lazy_sharding *to = shard_sharding_intern(&outside);
    return to ? mesh_left(w->ctx, node, to, graph_sharding_of(node)->manual, false) : NULL;
}

/* Are partial results combined by a sum? */
static bool adds_up(int combine) {
    return lazy_ops[combine]->undone == LAZY_UNDONE_LINEAR;
}

static neap_node *run_by_block(by_block *w, const lazy_sharding *form, bool undone) {
    neap_node *in[NEAP_MAX_INPUTS];
    bool added = w->rule.combine < 0 || adds_up(w->rule.combine);
    if (!added) {
        neap_error(NEAP_E_ARGUMENT,
                   "%s: an array that is reduced over an axis of the mesh meets one that the axis "
                   "divides, and parts of the result are not added; np.reshard one of them",
                   w->rule.row->name);
        return NULL;
    }
    for (int k = 0; k < w->of->nin; k++)
        if (!(in[k] = enter_by_block(w, k, w->of->in[k])))
            return NULL;
    lazy_sharding body = mesh_plain(form->mesh);
    body.manual = form->manual | w->axes;
    neap_node *node = graph_build(w->ctx, w->of->op, w->of->nin, in, w->of->nattrs, w->attrs);
    node = node && !graph_is_meshed(node) ? mesh_vary(w->ctx, node, &body) : node;
    return node ? leave_by_block(w, node, undone) : NULL;
}

neap_node *mesh_record_by_block(neap_ctx *ctx, const graph_call *of, const lazy_sharding *form, uint32_t axes,
                                bool undone) {
    by_block w = {.ctx = ctx, .of = of, .axes = axes};
    uint32_t keep = ctx->mesh.undone;
    int status = plan_by_block(&w, form);
    ctx->mesh.undone = 0;
    neap_node *node = status == 0 ? run_by_block(&w, form, undone) : NULL;
    ctx->mesh.undone = keep;
    free(w.attrs);
    return node ? graph_retain(node) : NULL;
}

uint32_t mesh_left_undone(neap_ctx *ctx, const graph_call *of, const lazy_sharding *form) {
    by_block w = {.ctx = ctx, .of = of, .axes = ctx->mesh.undone & ~form->manual};
    int status = w.axes ? plan_by_block(&w, form) : NEAP_E_STATE;
    free(w.attrs);
    return status == 0 && w.rule.combine >= 0 && adds_up(w.rule.combine) ? w.rule.over & w.axes : 0;
}
