/* fuse.c: from an expression of nodes to the program of one kernel.
 *
 * Starting at the root, every node is read through an affine map from the kernel's box to the node's row-major index.
 * Views and broadcasting only compose maps; a map op becomes an instruction whose operands are its inputs under the
 * composed maps; a gather becomes one too, which takes its table as it lies and its indices under a map; what has a
 * buffer, and what is materialized elsewhere, becomes a load; of a draw that is not, its elements are made of their
 * counters (drawing.h). So a whole chain of ops, with the transposes, slices and reshapes in it, is one pass over
 * memory.
 *
 * What a gather takes of draws that are not materialized, or of what maps make of them, it makes itself: these are read
 * through the map of the other axes and a *place*, a value, which the index is once it is in range.
 *
 * A map cannot always be composed (view.c). Then the box is refined where that helps and fusing starts again; otherwise
 * the node that cannot be read through is reported as a cut: it gets a buffer, which can always be read.
 *
 * Depth is bounded by LAZY_KERNEL_MAX_INS (longer chains are cut), so the explicit stack is an array.
 */
#include <string.h>

#include "lazy/plan/drawing.h"
#include "ops_gen.h"

enum { OPERANDS = 4 }; /* of a map, or of an element of a draw */

typedef struct way { /* to an element: map + place · step, where the place is a value, u64, below `extent` */
    lazy_wide_map map;
    bool placed; /* else there is no place */
    int32_t place;
    int64_t extent, step;
} way;

typedef struct frame { /* a map op whose operands are being fused, or an element of a draw */
    neap_node *node;
    way way;
    int32_t arg[OPERANDS];
    int next, n;
    bool draws, gathers; /* gathers: from what has no buffer */
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
    int64_t draws; /* frames of draws */
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

/* Input 0 of a gather: its elements at index 0 of the axis, from which the index leads on. */
typedef struct table {
    neap_node *target; /* that has them, perhaps under a view */
    lazy_map view;
    int axis;
    int64_t extent;
} table;

static table table_of(const fuser *f, const neap_node *node) {
    neap_node *x = plan_same(f->ctx, node->in[0]);
    int axis = (int)(node->attrs[0] < 0 ? node->attrs[0] + x->ndim : node->attrs[0]);
    table t = {.target = x, .axis = axis, .extent = x->shape[axis]};
    graph_row_major(x->ndim, x->shape, t.view.stride);
    if (graph_is_view(x) && !plan_is_leaf(x) && !f->made[x->index]) {
        t.target = plan_same(f->ctx, x->base);
        t.view.offset = plan_view_offset(f->ctx, x); /* a node's map has no more strides than axes */
        memcpy(t.view.stride, x->map->stride, x->ndim * sizeof *t.view.stride);
    }
    return t;
}

static bool has_buffer(const fuser *f, const neap_node *node) {
    return plan_is_leaf(node) || f->made[node->index];
}

/* Goes on from a gather to its table, along the axes that it does not take. */
static int table_map(fuser *f, const neap_node *node, const table *t, lazy_wide_map *map) {
    const neap_node *x = node->in[0], *indices = node->in[1];
    int64_t inner[NEAP_MAX_DIMS] = {0};
    memcpy(inner, t->view.stride, (size_t)t->axis * sizeof *inner);
    memcpy(inner + t->axis + indices->ndim, t->view.stride + t->axis + 1,
           (size_t)(x->ndim - t->axis - 1) * sizeof *inner);
    return compose(f, map, node, t->view.offset, inner);
}

static int add_table(fuser *f, const neap_node *target, const way *to, int32_t *value) {
    lazy_draft_load load = {
        .node = (int32_t)target->index,
        .load = {
            .kind = LAZY_LOAD_TABLE, .dtype = target->dtype, .read = to->map, .extent = to->extent, .step = to->step}};
    *value = -1 - (int32_t)f->out->loads.n;
    return lazy_push(&f->out->loads, load);
}

static int read_table(fuser *f, const neap_node *node, lazy_wide_map map, int32_t *value) {
    table t = table_of(f, node);
    if (!has_buffer(f, t.target)) {
        f->split.axis = -1;
        return report_cut(f, t.target, LAZY_WHY_OPERAND);
    }
    int status = table_map(f, node, &t, &map);
    way to = {.map = map, .extent = t.extent, .step = t.view.stride[t.axis]};
    return status ? status : add_table(f, t.target, &to, value);
}

/* Its table has no buffer, and is made of draws: does it take them in place? */
static bool gathers_in_place(const fuser *f, const neap_node *node) {
    const neap_node *target = graph_node_op(node)->kind == LAZY_GATHER ? table_of(f, node).target : NULL;
    return target && target->drawn && !has_buffer(f, target);
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

/* An element at a place, of what has a buffer. */
static int take_placed(fuser *f, const neap_node *node, const way *to, int32_t *value) {
    int32_t from;
    int status = add_table(f, node, to, &from);
    lazy_ins ins = {
        .op = LAZY_OP_take, .dtype = node->dtype, .result = node->dtype, .narg = 2, .arg = {from, to->place}};
    *value = (int32_t)f->out->ins.n;
    return status || lazy_push(&f->out->ins, ins) ? NEAP_E_MEMORY : 0;
}

/* Stacks the frame of a node that is computed from its inputs. */
static int stack_frame(fuser *f, neap_node *node, const way *to) {
    const lazy_drawn *drawn = graph_node_op(node)->drawn;
    frame next = {.node = node, .way = *to, .n = drawn ? drawn->keys + 2 : node->nin, .draws = drawn != NULL};
    int64_t longest = f->stack.n + f->out->ins.n + (f->draws + next.draws) * LAZY_DRAWING_INS;
    next.gathers = gathers_in_place(f, node);
    if (longest + next.gathers * LAZY_DRAWING_INS >= LAZY_KERNEL_MAX_INS) {
        f->split.axis = -1;
        return report_cut(f, too_long(f, node), LAZY_WHY_CHAIN);
    }
    f->draws += next.draws;
    return lazy_push(&f->stack, next) ? NEAP_E_MEMORY : NEAP_SAFEPOINT;
}

/* The element at a place, of what has a buffer or is made of draws, element by element. */
static int read_placed(fuser *f, neap_node *node, const way *to, int32_t *value) {
    if (has_buffer(f, node))
        return take_placed(f, node, to, value);
    if (graph_is_view(node) || !node->drawn) {
        f->split.axis = -1;
        return report_cut(f, node, LAZY_WHY_OPERAND);
    }
    return stack_frame(f, node, to);
}

/* Reads `node` on a way: gives its value, or stacks a frame when it must be computed from its inputs first
 * (NEAP_SAFEPOINT). */
static int read_node(fuser *f, neap_node *node, way to, bool own, int32_t *value) {
    for (;;) {
        neap_node *same = plan_same(f->ctx, node);
        own &= same == node;
        node = same;
        if (plan_is_leaf(node) || (f->made[node->index] && !own))
            break;
        int status = 0;
        if (graph_is_view(node) && to.placed && graph_map_contiguous(node->ndim, node->shape, node->map)) {
            node = node->base; /* all of it, in order: see `drawn` */
        } else if (graph_is_view(node) && !to.placed) {
            status = compose(f, &to.map, node, plan_view_offset(f->ctx, node), node->map->stride);
            node = node->base;
        } else if (graph_node_op(node)->kind == LAZY_ASSEMBLE && !to.placed) {
            status = read_assembled_piece(f, &node, &to.map);
        } else {
            break;
        }
        if (status)
            return status;
        own = false;
    }
    if (to.placed)
        return read_placed(f, node, &to, value);
    if (known_value(f, node, &to.map, value))
        return 0;
    if (plan_is_leaf(node) || (f->made[node->index] && !own))
        return add_load(f, node, &to.map, value);
    if (graph_node_op(node)->kind == LAZY_SOURCE) {
        uint8_t *made = (uint8_t *)f->made; /* the root itself may be a number or an iota: read it as one */
        uint8_t was = made[node->index];
        made[node->index] = 0;
        int status = add_load(f, node, &to.map, value);
        made[node->index] = was;
        return status;
    }
    return stack_frame(f, node, &to);
}

/* ---- Elements of draws ------------------------------------------------------------------------------------------- */
/* The axes of a draw: in front those of the keys, then those of what one key draws, then the one along a pair of words,
 * where there is one. */
typedef enum draw_axes { OF_KEYS, OF_EACH, OF_PARTS } draw_axes;

/* Goes on from an element to its number along some of these axes, times `step`, and `offset`. */
static int draw_map(fuser *f, const neap_node *node, draw_axes which, int64_t step, int64_t offset,
                    lazy_wide_map *map) {
    const lazy_drawn *drawn = graph_node_op(node)->drawn;
    const int lead = node->in[drawn->keys]->ndim - 1, each = node->nattrs - drawn->first;
    const int first = which == OF_KEYS ? 0 : which == OF_EACH ? lead : lead + each;
    const int end = which == OF_KEYS ? lead : which == OF_EACH ? lead + each : node->ndim;
    int64_t inner[NEAP_MAX_DIMS] = {0};
    if (which == OF_EACH && lead == 0 && end == node->ndim)
        return 0;
    if (first == end) {
        *map = (lazy_wide_map){.offset = offset};
        return 0;
    }
    graph_row_major(end - first, node->shape + first, inner + first);
    for (int k = first; k < end; k++)
        inner[k] *= step;
    return compose(f, map, node, offset, inner);
}

/* Operand k of an element: both words of its key, then bounds, of one element, of as many as there are keys, or of all
 * (random.c). */
static int read_draw_operand(fuser *f, const frame *top, int32_t *value) {
    const neap_node *node = top->node;
    const int keys = graph_node_op(node)->drawn->keys, bound = top->next - 2;
    way to = {.map = top->way.map};
    int status = 0;
    if (bound < 0) {
        status = draw_map(f, node, OF_KEYS, 2, top->next, &to.map);
        return status ? status : read_node(f, node->in[keys], to, false, value);
    }
    neap_node *in = node->in[bound];
    if (in->size == 1)
        memset(&to.map, 0, sizeof to.map);
    else if (in->size != node->size)
        status = draw_map(f, node, OF_KEYS, 1, 0, &to.map);
    return status ? status : read_node(f, in, to, false, value);
}

/* The counter of an element of which the way is known. */
static int find_counter(fuser *f, const frame *top, lazy_drawing *d) {
    lazy_wide_map counter = top->way.map, part = top->way.map;
    const lazy_drawn *drawn = graph_node_op(top->node)->drawn;
    const bool pairs = top->node->ndim > top->node->in[drawn->keys]->ndim - 1 + top->node->nattrs - drawn->first;
    int status = draw_map(f, top->node, OF_EACH, 1, 0, &counter);
    if (status == 0 && pairs)
        status = draw_map(f, top->node, OF_PARTS, 1, 0, &part);
    if (status)
        return status;
    d->counter = plan_drawing_count(d, &counter);
    if (pairs)
        d->part = plan_drawing_count(d, &part);
    if (top->way.placed)
        d->counter = plan_drawing_step(d, d->counter, top->way.place, top->way.step);
    return d->status;
}

static int finish_draw(fuser *f, const frame *top, int32_t *value) {
    lazy_drawing d = {.node = top->node, .to = f->out, .bounds = {top->arg[2], top->arg[3]}};
    int status = find_counter(f, top, &d);
    if (status)
        return status;
    d.key = plan_drawing_key(&d, top->arg[0], top->arg[1]);
    *value = graph_node_op(top->node)->drawn->element(&d);
    f->draws--;
    return d.status;
}

/* ---- Frames ------------------------------------------------------------------------------------------------------ */
static int finish_map(fuser *f, const frame *top, int32_t *value) {
    neap_node *node = top->node;
    bool gathers = graph_node_op(node)->kind == LAZY_GATHER;
    lazy_ins ins = {.op = node->op,
                    .dtype = node->in[gathers ? 0 : node->nin - 1]->dtype,
                    .result = node->dtype,
                    .narg = node->nin};
    memcpy(ins.arg, top->arg, sizeof ins.arg);
    *value = (int32_t)f->out->ins.n;
    return lazy_push(&f->out->ins, ins);
}

static int finish_visit(fuser *f, int32_t *value) {
    frame top = f->stack.at[f->stack.n - 1];
    int status = 0;
    if (top.draws)
        status = finish_draw(f, &top, value);
    else if (top.gathers)
        *value = top.arg[1]; /* the element itself */
    else
        status = finish_map(f, &top, value);
    f->stack.n--;
    if (status || top.way.placed)
        return status;
    return remember_value(f, top.node, &top.way.map, *value) ? NEAP_E_MEMORY : 0;
}

/* What a gather in place reads: its indices, then the element that they lead to. */
static int gather_in_place(fuser *f, const frame *top, int32_t *value) {
    neap_node *node = top->node;
    way to = {.map = top->way.map};
    if (top->next == 0) {
        int status = index_map(f, node, &to.map);
        return status ? status : read_node(f, node->in[1], to, false, value);
    }
    table t = table_of(f, node);
    lazy_drawing d = {.node = node, .to = f->out};
    int status = table_map(f, node, &t, &to.map);
    if (status)
        return status;
    to.placed = true;
    to.extent = t.extent;
    to.step = t.view.stride[t.axis];
    to.place = plan_drawing_place(&d, top->arg[0], node->in[1]->dtype, t.extent);
    return d.status ? d.status : read_node(f, t.target, to, false, value);
}

/* Reads the next input of the frame's node. */
static int fuse_next_input(fuser *f, const frame *top, int32_t *value) {
    if (top->draws)
        return read_draw_operand(f, top, value);
    if (top->gathers)
        return gather_in_place(f, top, value);
    neap_node *node = top->node, *in = node->in[top->next];
    way to = top->way;
    bool gathers = graph_node_op(node)->kind == LAZY_GATHER;
    if (gathers && top->next == 0)
        return read_table(f, node, to.map, value);
    if (to.placed && in->size == 1)
        to = (way){0}; /* a number, beside what is drawn */
    int status = to.placed ? 0 : gathers ? index_map(f, node, &to.map) : input_map(f, node, in, &to.map);
    return status ? status : read_node(f, in, to, false, value);
}

static int fuse_once(fuser *f) {
    int32_t value = 0;
    int status = read_node(f, f->fusion->root, (way){.map = f->fusion->read}, f->fusion->own, &value);
    if (status != NEAP_SAFEPOINT) {
        f->out->value = value;
        return status;
    }
    while (f->stack.n > 0) {
        frame *top = &f->stack.at[f->stack.n - 1];
        if (top->next == top->n) {
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
    f->maps.n = f->nodes.n = f->order.n = f->stack.n = f->draws = 0;
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
