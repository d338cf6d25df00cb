/* mesh.c: the public functions of the mesh room (mesh.h has their contracts). */
#include <string.h>

#include "lazy/program/program.h"
#include "mesh/internal.h"
#include "ops_gen.h"

/* ---- Meshes and shardings ---------------------------------------------------------------------------------------- */
static int check_mesh(int naxes, const int64_t *sizes, int n) {
    int64_t size = 1;
    if (naxes < 1 || naxes > NEAP_MESH_AXES)
        return neap_error(NEAP_E_ARGUMENT, "mesh: expected 1 to %d axes, got %d", NEAP_MESH_AXES, naxes);
    for (int k = 0; k < naxes; k++) {
        if (sizes[k] < 1 || sizes[k] > INT32_MAX / size)
            return neap_error(NEAP_E_ARGUMENT, "mesh: bad size %lld of axis %d", (long long)sizes[k], k);
        size *= sizes[k];
    }
    return size == n ? 0 : neap_error(NEAP_E_ARGUMENT, "mesh: %lld places for %d devices", (long long)size, n);
}

int neap_mesh_new(int naxes, const char *const *names, const int64_t *sizes, int n, const int32_t *devices,
                  int32_t *out) {
    int status = check_mesh(naxes, sizes, n);
    int32_t known = neap_mesh_devices(0, NULL, NULL);
    int32_t *all = status == 0 ? malloc((2 * (size_t)known + 2 * (size_t)n) * sizeof *all) : NULL;
    if (!all)
        return status ? status : neap_error(NEAP_E_MEMORY, "out of memory for a mesh");
    lazy_mesh like = {.naxes = naxes, .size = n, .process = all + 2 * known, .device = all + 2 * known + n};
    neap_mesh_devices(known, all, all + known);
    for (int k = 0; k < naxes; k++) {
        like.names[k] = names[k];
        like.sizes[k] = (int32_t)sizes[k];
    }
    for (int k = 0; k < n && status == 0; k++) {
        if (devices[k] < 0 || devices[k] >= known)
            status = neap_error(NEAP_E_ARGUMENT, "mesh: no device %d", devices[k]);
        else
            like.process[k] = all[devices[k]], like.device[k] = all[known + devices[k]];
    }
    graph_mesh_install(&mesh_hooks);
    const lazy_mesh *mesh = status == 0 ? shard_mesh_intern(&like, neap_process_index()) : NULL;
    free(all);
    *out = mesh ? mesh->number : 0;
    return mesh ? 0 : neap_error_code();
}

int neap_mesh_mark(int32_t mesh, uint32_t axes, int32_t *out) {
    const lazy_mesh *of = shard_mesh_get(mesh);
    if (!of || axes >> of->naxes)
        return neap_error(NEAP_E_ARGUMENT, "mesh: no such axes");
    lazy_mesh like = *of;
    like.explicit = axes;
    const lazy_mesh *marked = shard_mesh_intern(&like, neap_process_index());
    *out = marked ? marked->number : 0;
    return marked ? 0 : neap_error_code();
}

static int fill_split(const neap_sharding *what, lazy_sharding *like) {
    uint32_t used = like->manual;
    for (int k = 0; k < what->nsplit; k++) {
        int axis = what->split[2 * k], of = what->split[2 * k + 1], at = 0;
        if (axis < 0 || axis >= NEAP_MAX_DIMS || of < 0 || of >= like->mesh->naxes || used >> of & 1)
            return neap_error(NEAP_E_ARGUMENT, "sharding: axis %d of an array divided by axis %d of a mesh", axis, of);
        used |= 1u << of;
        while (like->split[axis][at])
            at++;
        like->split[axis][at] = (uint8_t)(1 + of);
    }
    return 0;
}

int neap_sharding_new(const neap_sharding *what, int32_t *out) {
    const lazy_mesh *mesh = shard_mesh_get(what->mesh);
    if (!mesh || what->nsplit < 0 || what->nsplit > NEAP_MESH_AXES)
        return neap_error(NEAP_E_ARGUMENT, "sharding: no such mesh");
    lazy_sharding like = mesh_plain(mesh);
    uint32_t all = (1u << mesh->naxes) - 1;
    like.manual = what->manual;
    like.varies = what->varies;
    like.differs = what->differs;
    like.unchecked = what->unchecked;
    if (like.manual & ~all || like.unchecked & ~like.manual || like.varies & ~like.manual ||
        like.differs & ~like.varies)
        return neap_error(NEAP_E_ARGUMENT, "sharding: axes that are not manual cannot vary");
    int status = fill_split(what, &like);
    like.unreduced = what->unreduced;
    like.reduced = what->reduced;
    uint32_t taken = like.varies;
    for (int k = 0; k < what->nsplit && status == 0; k++)
        taken |= 1u << what->split[2 * k + 1];
    if (status == 0 && ((like.unreduced | like.reduced) & (taken | ~all) || like.unreduced & like.reduced))
        status = neap_error(NEAP_E_ARGUMENT,
                            "sharding: an axis of the mesh is unreduced or reduced, and something else besides");
    const lazy_sharding *s = status == 0 ? shard_sharding_intern(&like) : NULL;
    *out = s ? s->number : 0;
    return s ? 0 : neap_error_code();
}

int neap_sharding_get(int32_t number, neap_sharding *out) {
    const lazy_sharding *s = shard_sharding_get(number);
    if (!s)
        return neap_error_code();
    *out = (neap_sharding){.mesh = s->mesh->number,
                           .manual = s->manual,
                           .varies = s->varies,
                           .differs = s->differs,
                           .unchecked = s->unchecked,
                           .unreduced = s->unreduced,
                           .reduced = s->reduced};
    for (int a = 0; a < s->ndim; a++)
        for (int k = 0; k < NEAP_MESH_AXES && s->split[a][k]; k++) {
            out->split[2 * out->nsplit] = a;
            out->split[2 * out->nsplit++ + 1] = s->split[a][k] - 1;
        }
    return 0;
}

int neap_sharding_carry(int32_t from, int32_t to, int32_t *out) {
    const lazy_sharding *a = from ? shard_sharding_get(from) : NULL, *b = to ? shard_sharding_get(to) : NULL, *both;
    *out = from;
    if ((from && !a) || (to && !b))
        return neap_error_code();
    if (!b || !b->manual)
        return 0;
    int status = shard_sharding_cover("carry", a, b, &both);
    if (status == 0 && (both->varies != (a ? a->varies : 0) || both->unreduced != (a ? a->unreduced : 0) ||
                        both->reduced != (a ? a->reduced : 0)))
        *out = both->number;
    return status;
}

int neap_sharding_text(int32_t number, int ndim, char *text, size_t capacity) {
    const lazy_sharding *sharding = shard_sharding_get(number);
    if (!sharding || capacity == 0)
        return NEAP_E_ARGUMENT;
    shard_sharding_text(sharding, ndim, text, capacity);
    return 0;
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */
int neap_array_sharding(neap_ctx *ctx, int32_t id, int32_t *out) {
    neap_node *node = graph_lookup(ctx, id);
    if (!node)
        return neap_error_code();
    *out = graph_is_meshed(node) ? graph_sharding_of(node)->number : 0;
    return 0;
}

int neap_mesh_cause(neap_ctx *ctx, int32_t id, uint32_t axes, char *text, size_t capacity) {
    const neap_node *node = graph_lookup(ctx, id);
    const lazy_sharding *is = node ? graph_sharding_of(node) : NULL;
    if (!node || capacity == 0)
        return node ? NEAP_E_ARGUMENT : neap_error_code();
    text[0] = 0;
    if (is && is->differs & axes)
        shard_cause_text(ctx, node, is->differs & axes, text, capacity);
    return 0;
}

static neap_node *lookup_meshed(neap_ctx *ctx, int32_t id) {
    neap_node *node = graph_lookup(ctx, id);
    if (node && (!graph_is_meshed(node) || !graph_has_blocks(node))) {
        neap_error(NEAP_E_ARGUMENT, "the array does not lie on a mesh, or is traced");
        return NULL;
    }
    return node;
}

int neap_array_blocks(neap_ctx *ctx, int32_t id) {
    neap_node *node = lookup_meshed(ctx, id);
    return node ? graph_sharding_of(node)->nblocks : neap_error_code();
}

int neap_array_block(neap_ctx *ctx, int32_t id, int k, int32_t *out, int32_t *position) {
    neap_node *node = lookup_meshed(ctx, id);
    if (!node)
        return neap_error_code();
    if (k < 0 || k >= graph_sharding_of(node)->nblocks)
        return neap_error(NEAP_E_ARGUMENT, "no block %d", k);
    *position = graph_sharding_of(node)->position[k];
    return graph_publish(ctx, graph_retain(node->shards->blocks[k]), out);
}

/* ---- Ways in and out --------------------------------------------------------------------------------------------- */
/* Publishes a node of the arena, whose holding ends. */
static int publish_and_unhold(neap_ctx *ctx, neap_node *node, int32_t *out) {
    int status = node ? 0 : neap_error_code();
    if (node)
        graph_retain(node);
    int held = plan_unhold_blocks(ctx, NULL);
    if (status == 0 && held) {
        graph_release(ctx, node);
        return held;
    }
    if (status == 0)
        status = graph_publish(ctx, node, out);
    return status ? status : graph_safepoint(ctx);
}

/* A block as it is to stand in an array that lies as s says. */
static int take_block(neap_ctx *ctx, const neap_node *node, const lazy_sharding *s, int b, int32_t id) {
    neap_node *block = graph_lookup(ctx, id);
    if (!block)
        return neap_error_code();
    bool fits = !graph_is_meshed(block) && block->dtype == node->dtype && block->ndim == node->ndim;
    for (int k = 0; k < node->ndim && fits; k++)
        fits = block->shape[k] * shard_sharding_parts(s, k) == node->shape[k];
    if (!fits)
        return neap_error(NEAP_E_SHAPE, "assemble: block %d is none of such an array", b);
    if (!(block = mesh_at_home(ctx, block, s->home[b])))
        return neap_error_code();
    node->shards->blocks[b] = graph_retain(block);
    return 0;
}

static int assemble(neap_ctx *ctx, int32_t sharding, int dtype, int ndim, const int64_t *shape, int n,
                    const int32_t *blocks, int32_t *out) {
    const lazy_sharding *s = shard_sharding_get(sharding);
    if (!s)
        return neap_error_code();
    if (s->manual || n != s->nblocks || ndim < s->ndim || ndim > NEAP_MAX_DIMS || dtype < 0 ||
        dtype >= NEAP_DTYPE_COUNT)
        return neap_error(NEAP_E_ARGUMENT, "assemble: %d blocks for a sharding of %d", n, s->nblocks);
    lazy_result aval = {.dtype = dtype, .ndim = ndim};
    memcpy(aval.shape, shape, (size_t)ndim * sizeof *shape);
    plan_hold_blocks(ctx);
    neap_node *node = graph_data(ctx, &aval);
    int status = node ? graph_node_mesh(node, s) : NEAP_E_MEMORY;
    for (int b = 0; b < n && status == 0; b++)
        status = take_block(ctx, node, s, b, blocks[b]);
    status = publish_and_unhold(ctx, status ? NULL : node, out);
    if (node)
        graph_release(ctx, node);
    return status;
}

static int mesh_do_reshard(neap_ctx *ctx, int32_t id, int32_t sharding, int32_t *out) {
    neap_node *node = graph_lookup(ctx, id);
    const lazy_sharding *to = node ? shard_sharding_get(sharding) : NULL;
    if (!to)
        return neap_error_code();
    mesh_call script = {.outer = ctx->mesh.call, .asks = true};
    plan_hold_blocks(ctx);
    ctx->mesh.call = &script;
    neap_node *moved = mesh_moved(ctx, node, to);
    ctx->mesh.call = script.outer;
    return publish_and_unhold(ctx, moved, out);
}

static int mesh_do_fit(neap_ctx *ctx, int32_t id, int32_t sharding, int32_t *out) {
    neap_node *node = graph_lookup(ctx, id);
    const lazy_sharding *like = node ? shard_sharding_get(sharding) : NULL, *is = node ? graph_sharding_of(node) : NULL;
    if (!like)
        return neap_error_code();
    if (is && (is->mesh != like->mesh || (like->manual && is->manual & ~like->manual)))
        return neap_error(NEAP_E_ARGUMENT, "fit: the array lies on another mesh, or belongs to another body");
    plan_hold_blocks(ctx);
    return publish_and_unhold(ctx, mesh_hooks.fitted(ctx, node, like), out);
}

/* How an array has to lie to be entered so: what becomes manual divides the axes as it does now, or none. */
static int mesh_do_enter(neap_ctx *ctx, int32_t id, int32_t sharding, int32_t *out) {
    neap_node *node = graph_lookup(ctx, id);
    const lazy_sharding *to = node ? shard_sharding_get(sharding) : NULL;
    if (!to)
        return neap_error_code();
    lazy_sharding plain = mesh_plain(to->mesh);
    const lazy_sharding *from = graph_is_meshed(node) ? graph_sharding_of(node) : shard_sharding_intern(&plain);
    if (!from)
        return neap_error_code();
    if (from->mesh != to->mesh || from->manual & ~to->manual)
        return neap_error(NEAP_E_ARGUMENT, "enter: the array lies on another mesh, or belongs to another body");
    lazy_sharding typed = *to; /* what it varies over besides is a pvary, whose gradient is a sum */
    typed.varies = from->varies | (from->splits & to->manual);
    const lazy_sharding *inside = shard_sharding_intern(&typed);
    if (!inside)
        return neap_error_code();
    plan_hold_blocks(ctx);
    return publish_and_unhold(ctx, mesh_vary(ctx, mesh_build_enter(ctx, node, from, inside), to), out);
}

neap_node *mesh_left(neap_ctx *ctx, neap_node *node, const lazy_sharding *to, uint32_t manual, bool promised) {
    lazy_sharding inside = mesh_plain(to->mesh);
    char text[256], cause[256];
    inside.manual = manual;
    const lazy_sharding *is = graph_is_meshed(node) ? graph_sharding_of(node) : shard_sharding_intern(&inside);
    if (!is || !(node = mesh_vary(ctx, node, is)))
        return NULL;
    uint32_t leaving = is->manual & ~to->manual;
    if (is->differs & leaving & ~to->splits && !promised) {
        neap_error(NEAP_E_ARGUMENT,
                   "the result differs over %s of the mesh, which its spec does not mention; combine it, as in "
                   "np.psum, mention the axis, or give {check_rep=false}%s",
                   mesh_axes_text(is->mesh, is->differs & leaving & ~to->splits, text, sizeof text),
                   shard_cause_text(ctx, node, is->differs & leaving & ~to->splits, cause, sizeof cause));
        return NULL;
    }
    uint32_t equal = is->varies & leaving & ~to->splits;
    if (equal && !(node = graph_build(ctx, LAZY_OP_pick, 1, &node, 1, (int64_t[]){equal})))
        return NULL;
    inside = *graph_sharding_of(node);
    inside.varies |= leaving & to->splits;
    const lazy_sharding *wide = shard_sharding_intern(&inside);
    if (!wide || !(node = mesh_vary(ctx, node, wide)))
        return NULL;
    return mesh_build_leave(ctx, node, graph_sharding_of(node), to);
}

static int mesh_do_leave(neap_ctx *ctx, int32_t id, int32_t sharding, uint32_t manual, int promised, int32_t *out) {
    neap_node *node = graph_lookup(ctx, id);
    const lazy_sharding *to = node ? shard_sharding_get(sharding) : NULL;
    if (!to)
        return neap_error_code();
    if (manual >> to->mesh->naxes)
        return neap_error(NEAP_E_ARGUMENT, "leave: the mesh has no such axes");
    plan_hold_blocks(ctx);
    return publish_and_unhold(ctx, mesh_left(ctx, node, to, manual, promised), out);
}

static void open_body(neap_ctx *ctx, int32_t mesh, uint32_t manual) {
    ctx->mesh.open = mesh;
    ctx->mesh.manual = manual;
}

static int index_along(neap_ctx *ctx, int32_t mesh, uint32_t manual, uint32_t unchecked, int axis, int32_t *out) {
    const lazy_mesh *m = shard_mesh_get(mesh);
    if (!m || axis < 0 || axis >= m->naxes || !(manual >> axis & 1))
        return neap_error(NEAP_E_ARGUMENT, "mesh: no such axis is manual");
    neap_node *token = mesh_token(ctx, m, manual, unchecked, axis);
    return token ? graph_publish(ctx, graph_retain(token), out) : NEAP_E_MEMORY;
}

/* ---- Public: each notes what it did ------------------------------------------------------------------------------ */
static int play_assemble(neap_ctx *ctx, graph_note *note) {
    return assemble(ctx, (int32_t)note->ints[0], (int)note->ints[1], note->nints - GRAPH_NOTE_SHAPE,
                    note->ints + GRAPH_NOTE_SHAPE, note->nin, note->in, note->out);
}
static const graph_note_kind assembled = {.name = "assemble", .play = play_assemble, .shapes = GRAPH_NOTE_INPUT};

int neap_mesh_assemble(neap_ctx *ctx, int32_t sharding, int dtype, int ndim, const int64_t *shape, int n,
                       const int32_t *blocks, int32_t *out) {
    int64_t ints[GRAPH_NOTE_SHAPE + NEAP_MAX_DIMS] = {sharding, dtype};
    int status = assemble(ctx, sharding, dtype, ndim, shape, n, blocks, out), axes = status < 0 ? 0 : ndim;
    for (int k = 0; k < axes; k++)
        ints[GRAPH_NOTE_SHAPE + k] = shape[k];
    return graph_noted(ctx, status,
                       &(graph_note){.kind = &assembled,
                                     .level = -1,
                                     .nin = n,
                                     .in = blocks,
                                     .nout = 1,
                                     .out = out,
                                     .nints = GRAPH_NOTE_SHAPE + axes,
                                     .ints = ints});
}

/* Integers of these notes: the sharding, then what else there is. */
static int note_move(neap_ctx *ctx, int status, const graph_note_kind *kind, int32_t id, int nints, const int64_t *ints,
                     int32_t *out) {
    return graph_noted(
        ctx, status,
        &(graph_note){
            .kind = kind, .level = -1, .nin = 1, .in = &id, .nout = 1, .out = out, .nints = nints, .ints = ints});
}

static int play_reshard(neap_ctx *ctx, graph_note *note) {
    return mesh_do_reshard(ctx, note->in[0], (int32_t)note->ints[0], note->out);
}
const graph_note_kind mesh_note_reshard = {
    .name = "reshard", .play = play_reshard, .shapes = GRAPH_NOTE_LAST, .form = {.ints = "s", .nin = 1, .nout = 1}};

int neap_mesh_reshard(neap_ctx *ctx, int32_t id, int32_t sharding, int32_t *out) {
    int status = mesh_do_reshard(ctx, id, sharding, out);
    return note_move(ctx, status, &mesh_note_reshard, id, 1, (int64_t[]){sharding}, out);
}

static int play_fit(neap_ctx *ctx, graph_note *note) {
    return mesh_do_fit(ctx, note->in[0], (int32_t)note->ints[0], note->out);
}
const graph_note_kind mesh_note_fit = {
    .name = "fit", .play = play_fit, .shapes = GRAPH_NOTE_LAST, .form = {.ints = "s", .nin = 1, .nout = 1}};

int neap_mesh_fit(neap_ctx *ctx, int32_t id, int32_t sharding, int32_t *out) {
    int status = mesh_do_fit(ctx, id, sharding, out);
    return note_move(ctx, status, &mesh_note_fit, id, 1, (int64_t[]){sharding}, out);
}

/* The same, with the extents of the result behind, which the caller has told (neap_size_next). */
static int note_block(neap_ctx *ctx, int status, const graph_note_kind *kind, int32_t id, const int64_t *first,
                      int32_t *out) {
    int64_t ints[GRAPH_NOTE_SHAPE + NEAP_MAX_DIMS];
    const neap_node *node = status < 0 ? NULL : graph_lookup_any(ctx, *out);
    int axes = node ? node->ndim : 0;
    memcpy(ints, first, GRAPH_NOTE_SHAPE * sizeof *ints);
    for (int k = 0; k < axes; k++)
        ints[GRAPH_NOTE_SHAPE + k] = node->shape[k];
    return note_move(ctx, status, kind, id, GRAPH_NOTE_SHAPE + axes, ints, out);
}

/* It must have the extents that the note says: whoever notes this play believes them. */
static int check_block(neap_ctx *ctx, const graph_note *note) {
    const neap_node *node = graph_lookup_any(ctx, note->out[0]);
    bool same = node && node->ndim == note->nints - GRAPH_NOTE_SHAPE;
    for (int k = 0; same && k < node->ndim; k++)
        same = node->shape[k] == note->ints[GRAPH_NOTE_SHAPE + k];
    return same ? 0 : neap_error(NEAP_E_SHAPE, "%s: it gives an array of another shape now", note->kind->name);
}

static int play_enter(neap_ctx *ctx, graph_note *note) {
    int status = mesh_do_enter(ctx, note->in[0], (int32_t)note->ints[0], note->out);
    return status < 0 ? status : check_block(ctx, note);
}
const graph_note_kind mesh_note_enter = {
    .name = "enter", .play = play_enter, .shapes = GRAPH_NOTE_INPUT, .form = {.ints = "snnnx*", .nin = 1, .nout = 1}};

int neap_mesh_enter(neap_ctx *ctx, int32_t id, int32_t sharding, int32_t *out) {
    int status = mesh_do_enter(ctx, id, sharding, out);
    return note_block(ctx, status, &mesh_note_enter, id, (int64_t[GRAPH_NOTE_SHAPE]){sharding}, out);
}

static int play_leave(neap_ctx *ctx, graph_note *note) {
    int status =
        mesh_do_leave(ctx, note->in[0], (int32_t)note->ints[0], (uint32_t)note->ints[1], note->ints[2] != 0, note->out);
    return status < 0 ? status : check_block(ctx, note);
}
const graph_note_kind mesh_note_leave = {
    .name = "leave", .play = play_leave, .shapes = GRAPH_NOTE_INPUT, .form = {.ints = "snnnx*", .nin = 1, .nout = 1}};

int neap_mesh_leave(neap_ctx *ctx, int32_t id, int32_t sharding, uint32_t manual, int promised, int32_t *out) {
    int status = mesh_do_leave(ctx, id, sharding, manual, promised, out);
    return note_block(ctx, status, &mesh_note_leave, id, (int64_t[GRAPH_NOTE_SHAPE]){sharding, manual, promised}, out);
}

static int play_open(neap_ctx *ctx, graph_note *note) {
    open_body(ctx, (int32_t)(note->ints[0] >> 32), (uint32_t)note->ints[0]);
    return 0;
}
const graph_note_kind mesh_note_open = {
    .name = "mesh_open", .play = play_open, .shapes = GRAPH_NOTE_UNKNOWN, .form = {.ints = "b"}};

void neap_mesh_open(neap_ctx *ctx, int32_t mesh, uint32_t manual) {
    open_body(ctx, mesh, manual);
    (void)graph_noted(
        ctx, 0,
        &(graph_note){
            .kind = &mesh_note_open, .level = -1, .nints = 1, .ints = (int64_t[]){graph_note_body(mesh, manual)}});
}

static int play_undone(neap_ctx *ctx, graph_note *note) {
    ctx->mesh.undone = (uint32_t)note->ints[0];
    return 0;
}
const graph_note_kind mesh_note_undone = {
    .name = "mesh_leave_undone", .play = play_undone, .shapes = GRAPH_NOTE_UNKNOWN, .form = {.ints = "n"}};

void neap_mesh_leave_undone(neap_ctx *ctx, uint32_t axes) {
    ctx->mesh.undone = axes;
    (void)graph_noted(ctx, 0,
                      &(graph_note){.kind = &mesh_note_undone, .level = -1, .nints = 1, .ints = (int64_t[]){axes}});
}

/* Its note is that of the op which the token is. */
int neap_mesh_index(neap_ctx *ctx, int32_t mesh, uint32_t manual, uint32_t unchecked, int axis, int32_t *out) {
    int status = index_along(ctx, mesh, manual, unchecked, axis, out);
    const neap_node *token = status < 0 ? NULL : graph_lookup_any(ctx, *out);
    return graph_noted(ctx, status,
                       &(graph_note){.kind = &graph_note_op,
                                     .op = LAZY_OP_axis_index,
                                     .level = -1,
                                     .nout = 1,
                                     .out = out,
                                     .nints = token ? token->nattrs : 0,
                                     .ints = token ? graph_node_attrs(token) : (int64_t[]){0}});
}
