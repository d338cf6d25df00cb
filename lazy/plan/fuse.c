/* fuse.c: from an expression of nodes to the program of one kernel.
 *
 * Starting at the root, every node is read through an affine map from the kernel's box to the node's row-major index.
 * Views and broadcasting only compose maps; a map op becomes an instruction whose operands are its inputs under the
 * composed maps; a gather becomes one too, which takes its table as it lies and its indices under a map; what has a
 * buffer, and what is materialized elsewhere, becomes a load. So a whole chain of ops, with the transposes, slices and
 * reshapes in it, is one pass over memory.
 *
 * A map cannot always be composed (view.c). Then the box is refined where that helps and fusing starts again; otherwise
 * the node that cannot be read through is reported as a cut: it gets a buffer, which can always be read.
 *
 * Depth is bounded by LAZY_KERNEL_MAX_INS (longer chains are cut), so the explicit stack is an array.
 */
#include <string.h>

#include "lazy/plan/draft.h"

typedef struct frame { /* a map op whose operands are being fused */
    neap_node *node;
    lazy_wide_map map;
    int32_t arg[3];
    int next;
} frame;

typedef struct fuser {
    neap_ctx *ctx;
    const uint8_t *made;
    lazy_fusion *fusion;
    lazy_fused *out;
    LAZY_VECTOR(lazy_wide_map) maps; /* of loads, then of instructions, for reuse: */
    LAZY_VECTOR(neap_node *) nodes;  /* which node each value is, in the order of `order` */
    LAZY_VECTOR(int32_t) order;      /* values as found: loads are -1-k, instructions k */
    LAZY_VECTOR(frame) stack;
    lazy_split split;
} fuser;

/* Reuse looks back over the last values only: a node read twice is nearly always read by one op (x * x). */
static bool known_value(const fuser *f, const neap_node *node, const lazy_wide_map *map, int32_t *value) {
    for (int64_t k = f->order.n - 1, looked = 0; k >= 0 && looked < 64; k--, looked++)
        if (f->nodes.at[k] == node && loop_maps_equal(f->fusion->ndim, &f->maps.at[k], map)) {
            *value = f->order.at[k];
            return true;
        }
    return false;
}

static int remember_value(fuser *f, neap_node *node, const lazy_wide_map *map, int32_t value) {
    return lazy_push(&f->nodes, node) || lazy_push(&f->maps, *map) || lazy_push(&f->order, value) ? NEAP_E_MEMORY : 0;
}

static int report_cut(fuser *f, const neap_node *node, lazy_why why) {
    f->out->cut = (int32_t)node->index;
    f->out->why = why;
    f->out->window.axis = -1;
    return NEAP_PENDING;
}

/* `map` leads to the row-major index of `shape`; go on through the inner strides. Sets the cut on failure. */
static int compose(fuser *f, lazy_wide_map *map, const neap_node *node, int64_t offset, const int64_t *stride) {
    lazy_box_map outer = {f->fusion->ndim, f->fusion->box, map->offset, map->stride};
    lazy_box_map inner = {node->ndim, node->shape, offset, stride};
    lazy_wide_map out = {0};
    if (graph_map_compose(&outer, &inner, &out.offset, out.stride, &f->split)) {
        *map = out;
        return 0;
    }
    return report_cut(f, node, LAZY_WHY_VIEW);
}

static int add_load(fuser *f, neap_node *node, const lazy_wide_map *map, int32_t *value) {
    lazy_load load = {.dtype = node->dtype, .read = *map};
    if (graph_is_number(node) && !f->made[node->index]) {
        load.kind = LAZY_LOAD_SCALAR;
        memset(&load.read, 0, sizeof load.read);
    } else if (graph_node_op(node)->origin == LAZY_ORIGIN_INDEX && !node->buffer && !f->made[node->index]) {
        load.kind = LAZY_LOAD_IOTA;
    } else {
        load.kind = LAZY_LOAD_BUFFER;
    }
    lazy_draft_load drafted = {.load = load, .node = load.kind == LAZY_LOAD_IOTA ? -1 : (int32_t)node->index};
    *value = -1 - (int32_t)f->out->loads.n;
    return lazy_push(&f->out->loads, drafted) || remember_value(f, node, map, *value) ? NEAP_E_MEMORY : 0;
}

/* Input 0 of a gather: its elements at index 0 of the axis, from which the index leads on. It lies in a buffer, perhaps
 * under a view. */
static int read_table(fuser *f, const neap_node *node, lazy_wide_map map, int32_t *value) {
    neap_node *x = plan_same(f->ctx, node->in[0]), *indices = node->in[1], *target = x;
    lazy_map view = {0};
    graph_row_major(x->ndim, x->shape, view.stride);
    if (graph_is_view(x) && !plan_is_leaf(x) && !f->made[x->index]) {
        target = plan_same(f->ctx, x->base);
        view.offset = plan_view_offset(f->ctx, x); /* a node's map has no more strides than axes */
        memcpy(view.stride, x->map->stride, x->ndim * sizeof *view.stride);
    }
    if (!plan_is_leaf(target) && !f->made[target->index]) {
        f->split.axis = -1;
        return report_cut(f, target, LAZY_WHY_OPERAND);
    }
    int axis = (int)(node->attrs[0] < 0 ? node->attrs[0] + x->ndim : node->attrs[0]);
    int64_t inner[NEAP_MAX_DIMS] = {0};
    memcpy(inner, view.stride, (size_t)axis * sizeof *inner);
    memcpy(inner + axis + indices->ndim, view.stride + axis + 1, (size_t)(x->ndim - axis - 1) * sizeof *inner);
    int status = compose(f, &map, node, view.offset, inner);
    lazy_draft_load table = {.node = (int32_t)target->index,
                             .load = {.kind = LAZY_LOAD_TABLE,
                                      .dtype = x->dtype,
                                      .read = map,
                                      .extent = x->shape[axis],
                                      .step = view.stride[axis]}};
    *value = -1 - (int32_t)f->out->loads.n;
    return status ? status : lazy_push(&f->out->loads, table);
}

/* The map of a gather's indices. */
static int index_map(fuser *f, const neap_node *node, lazy_wide_map *map) {
    const neap_node *x = node->in[0], *indices = node->in[1];
    int axis = (int)(node->attrs[0] < 0 ? node->attrs[0] + x->ndim : node->attrs[0]);
    int64_t inner[NEAP_MAX_DIMS] = {0};
    graph_row_major(indices->ndim, indices->shape, inner + axis);
    return compose(f, map, node, 0, inner);
}

/* The map of a map op's input: broadcasting is a view with strides 0. */
static int input_map(fuser *f, const neap_node *node, const neap_node *in, lazy_wide_map *map) {
    if (graph_same_shape(node->ndim, node->shape, in->ndim, in->shape))
        return 0;
    if (in->ndim == 0) {
        memset(map, 0, sizeof *map);
        return 0;
    }
    int64_t row[NEAP_MAX_DIMS], inner[NEAP_MAX_DIMS] = {0};
    graph_row_major(in->ndim, in->shape, row);
    for (int a = 0; a < in->ndim; a++)
        inner[node->ndim - in->ndim + a] = in->shape[a] == 1 ? 0 : row[a];
    return compose(f, map, node, 0, inner);
}

/* Goes on from an assembled node to the piece of it that is read. */
static int read_assembled_piece(fuser *f, neap_node **node, lazy_wide_map *map) {
    lazy_cut window;
    neap_node *whole = *node;
    int64_t row[NEAP_MAX_DIMS];
    graph_row_major(whole->ndim, whole->shape, row);
    int status = compose(f, map, whole, 0, row); /* changes nothing, but wants a box that runs along single axes */
    if (status)
        return status;
    f->split.axis = -1;
    status = plan_window_read(f->fusion, node, map, &window);
    if (status == NEAP_PENDING) {
        report_cut(f, whole, LAZY_WHY_ASSEMBLED);
        f->out->window = window;
    }
    return status;
}

/* What is to be cut where `node` finds no scratch: the node itself, which makes the longest kernels of a chain. If that
 * was not enough, the operands beside the chain need scratch too, as in a sum of many terms: then half of the chain. */
static const neap_node *too_long(const fuser *f, const neap_node *node) {
    return f->fusion->again && f->stack.n > 2 ? f->stack.at[f->stack.n / 2].node : node;
}

/* Reads `node` through `map`: gives its value, or stacks a frame when it must be computed from its inputs first
 * (NEAP_SAFEPOINT). */
static int read_node(fuser *f, neap_node *node, lazy_wide_map map, bool own, int32_t *value) {
    for (;;) {
        neap_node *same = plan_same(f->ctx, node);
        own &= same == node;
        node = same;
        if (plan_is_leaf(node) || (f->made[node->index] && !own))
            break;
        int status = 0;
        if (graph_is_view(node)) {
            status = compose(f, &map, node, plan_view_offset(f->ctx, node), node->map->stride);
            node = node->base;
        } else if (graph_node_op(node)->kind == LAZY_ASSEMBLE) {
            status = read_assembled_piece(f, &node, &map);
        } else {
            break;
        }
        if (status)
            return status;
        own = false;
    }
    if (known_value(f, node, &map, value))
        return 0;
    if (plan_is_leaf(node) || (f->made[node->index] && !own))
        return add_load(f, node, &map, value);
    if (graph_node_op(node)->kind == LAZY_SOURCE) {
        uint8_t *made = (uint8_t *)f->made; /* the root itself may be a number or an iota: read it as one */
        uint8_t was = made[node->index];
        made[node->index] = 0;
        int status = add_load(f, node, &map, value);
        made[node->index] = was;
        return status;
    }
    if (f->stack.n + f->out->ins.n >= LAZY_KERNEL_MAX_INS) {
        f->split.axis = -1;
        return report_cut(f, too_long(f, node), LAZY_WHY_CHAIN);
    }
    frame next = {.node = node, .map = map};
    return lazy_push(&f->stack, next) ? NEAP_E_MEMORY : NEAP_SAFEPOINT;
}

static int finish_visit(fuser *f, int32_t *value) {
    frame *top = &f->stack.at[f->stack.n - 1];
    neap_node *node = top->node;
    bool gathers = graph_node_op(node)->kind == LAZY_GATHER;
    lazy_ins ins = {.op = node->op,
                    .dtype = node->in[gathers ? 0 : node->nin - 1]->dtype,
                    .result = node->dtype,
                    .narg = node->nin};
    memcpy(ins.arg, top->arg, sizeof ins.arg);
    *value = (int32_t)f->out->ins.n;
    f->stack.n--;
    return lazy_push(&f->out->ins, ins) || remember_value(f, node, &top->map, *value) ? NEAP_E_MEMORY : 0;
}

/* Reads the next input of the frame's node. */
static int fuse_next_input(fuser *f, const frame *top, int32_t *value) {
    neap_node *node = top->node, *in = node->in[top->next];
    lazy_wide_map map = top->map;
    bool gathers = graph_node_op(node)->kind == LAZY_GATHER;
    if (gathers && top->next == 0)
        return read_table(f, node, map, value);
    int status = gathers ? index_map(f, node, &map) : input_map(f, node, in, &map);
    return status ? status : read_node(f, in, map, false, value);
}

static int fuse_once(fuser *f) {
    int32_t value = 0;
    int status = read_node(f, f->fusion->root, f->fusion->read, f->fusion->own, &value);
    if (status != NEAP_SAFEPOINT) {
        f->out->value = value;
        return status;
    }
    while (f->stack.n > 0) {
        frame *top = &f->stack.at[f->stack.n - 1];
        if (top->next == top->node->nin) {
            if ((status = finish_visit(f, &value)) != 0)
                return status;
            if (f->stack.n > 0) {
                top = &f->stack.at[f->stack.n - 1];
                top->arg[top->next++] = value;
            }
            continue;
        }
        status = fuse_next_input(f, top, &value);
        if (status == NEAP_SAFEPOINT)
            continue;
        if (status != 0)
            return status;
        top->arg[top->next++] = value;
    }
    f->out->value = value;
    return 0;
}

/* Splits axis k of the box into (extent / inner, inner). */
static void split_map(lazy_wide_map *map, int ndim, int k, int64_t inner) {
    memmove(map->stride + k + 1, map->stride + k, (size_t)(ndim - k) * sizeof *map->stride);
    map->stride[k] = map->stride[k + 1] * inner;
}

static void refine(lazy_fusion *fusion, lazy_split split) {
    int k = split.axis;
    int64_t inner = split.inner;
    split_map(&fusion->read, fusion->ndim, k, inner);
    if (k < fusion->nkept)
        split_map(&fusion->write, fusion->nkept, k, inner);
    memmove(fusion->box + k + 1, fusion->box + k, (size_t)(fusion->ndim - k) * sizeof *fusion->box);
    fusion->box[k] /= inner;
    fusion->box[k + 1] = inner;
    fusion->ndim++;
    if (k < fusion->nkept)
        fusion->nkept++;
}

static void forget_values(fuser *f) {
    f->out->loads.n = f->out->ins.n = 0;
    f->maps.n = f->nodes.n = f->order.n = f->stack.n = 0;
    f->split.axis = -1;
}

int plan_fuse(neap_ctx *ctx, const uint8_t *made, lazy_fusion *fusion, lazy_fused *out) {
    fuser f = {.ctx = ctx, .made = made, .fusion = fusion, .out = out};
    int status;
    for (;;) {
        forget_values(&f);
        status = fuse_once(&f);
        if (status != NEAP_PENDING || f.split.axis < 0 || fusion->ndim >= LAZY_MAX_DOMAIN)
            break;
        refine(fusion, f.split);
    }
    lazy_vector_free(&f.maps);
    lazy_vector_free(&f.nodes);
    lazy_vector_free(&f.order);
    lazy_vector_free(&f.stack);
    return status;
}

void plan_fused_free(lazy_fused *fused) {
    lazy_vector_free(&fused->loads);
    lazy_vector_free(&fused->ins);
}
