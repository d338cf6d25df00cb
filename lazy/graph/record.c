/* record.c: recording an op: checks, casts, inference, and what follows from having recorded it.
 *
 * Numbers are weak (rules in docs/numbers.md): a weak input takes the dtype of what it meets. A constant is converted
 * at once, after a check that an integer dtype can hold it; a number argument of a trace is converted by a recorded
 * cast and remembered as "must be integral". Ops on numbers alone stay weak and are computed in f64, as Lua would.
 *
 * Calls and reductions of f16 and bf16 are recorded as such of f32, between casts: there is no other code for them, and
 * a derivative or a batch is that of these ops.
 *
 * Devices: computation follows data. A node is *committed* to a device if one of its inputs is, or by device_put;
 * inputs committed to different devices are an error. Everything else, constructors and new arrays too, is uncommitted:
 * it meets arrays of any device, and is computed where it is read. device_put is a view between devices that share
 * memory; what it reads of another device is materialized there. Kernels of such devices that read the same become one
 * (plan/merge.c). From one memory to another it is a transfer, a call that copies.
 *
 * Whether recorded work starts is decided in plan/start.c, which is asked by a hook (context.h).
 */
#include <stdio.h>
#include <string.h>

#include "lazy/dtype/scalar.h"
#include "lazy/graph/graph.h"
#include "lazy/graph/sharding.h"
#include "ops_gen.h"

_Atomic(const graph_mesh_hooks *) graph_mesh_installed;

lazy_aval graph_node_aval(const neap_node *node) {
    lazy_aval aval = {.dtype = node->dtype,
                      .ndim = node->ndim,
                      .weak = (node->flags & LAZY_WEAK) != 0,
                      .size = node->size,
                      .shape = node->shape};
    if (aval.weak) {
        aval.fraction = graph_number_looks_fraction((neap_node *)node);
        aval.unknown = !graph_is_constant(node);
        aval.value = aval.unknown ? 0 : node->value;
    }
    return aval;
}

neap_node *graph_node_in(const neap_node *node, int k) {
    return node->in[k];
}
const int64_t *graph_node_attrs(const neap_node *node) {
    return node->attrs;
}
int graph_node_nattrs(const neap_node *node) {
    return node->nattrs;
}
int graph_node_device(const neap_node *node) {
    return node->device;
}

const char *graph_shape_text(int ndim, const int64_t *shape, char *text, size_t capacity) {
    size_t at = 0;
    at += (size_t)snprintf(text, capacity, "(");
    for (int k = 0; k < ndim && at < capacity; k++)
        at += (size_t)snprintf(text + at, capacity - at, "%s%lld", k ? ", " : "", (long long)shape[k]);
    if (at < capacity)
        snprintf(text + at, capacity - at, ndim == 1 ? ",)" : ")");
    return text;
}

/* ---- Constants and casts ----------------------------------------------------------------------------------------- */
neap_node *graph_constant(neap_ctx *ctx, int dtype, bool weak, double value) {
    lazy_result scalar = {.dtype = (uint8_t)dtype};
    neap_node *node = graph_node_new(ctx, LAZY_OP_constant, &scalar, 0, NULL, 0, NULL);
    if (!node)
        return NULL;
    node->value = value;
    node->flags |= weak ? LAZY_WEAK : 0;
    return node;
}

neap_node *graph_data(neap_ctx *ctx, const lazy_result *aval) {
    return graph_node_new(ctx, LAZY_OP_array, aval, 0, NULL, 0, NULL);
}

neap_node *graph_cast(neap_ctx *ctx, neap_node *node, int dtype) {
    return graph_record(ctx, LAZY_OP_astype, 1, &node, 1, (int64_t[]){dtype});
}

neap_node *graph_alias(neap_ctx *ctx, neap_node *node) {
    return graph_record(ctx, LAZY_OP_alias, 1, &node, 0, NULL);
}

neap_node *graph_as_dtype(neap_ctx *ctx, const char *op, neap_node *node, int dtype) {
    bool weak = node->flags & LAZY_WEAK;
    if (node->dtype == dtype && !weak)
        return graph_retain(node);
    if (weak && !dtype_is_inexact(dtype) && !graph_number_meets(node, dtype)) {
        if (graph_is_constant(node))
            neap_error(NEAP_E_DTYPE,
                       "%s: the number %.17g is not a value of the array's dtype %s, which whole numbers take "
                       "that meet it; cast the array first, as in x:astype(\"f32\")",
                       op, node->value, neap_dtype_name(dtype));
        else
            neap_error(NEAP_E_DTYPE,
                       "%s: a number computed from a number argument meets an array of dtype %s; cast one "
                       "of them first",
                       op, neap_dtype_name(dtype));
        return NULL;
    }
    if (weak && graph_is_constant(node)) {
        neap_node *constant = graph_constant(ctx, dtype, false, node->value);
        if (constant)
            constant->counts = node->counts;
        return constant;
    }
    int64_t attr = dtype;
    if (!weak)
        return graph_cast(ctx, node, dtype);
    /* The cast of a weak node is strong even if the dtype is f64: recorded without the recorder's own weak rule. */
    lazy_result result = {.dtype = (uint8_t)dtype};
    neap_node *cast = graph_node_new(ctx, LAZY_OP_astype, &result, 1, &node, 1, &attr);
    if (cast && graph_enroll(ctx, cast) != 0) {
        graph_release(ctx, cast);
        return NULL;
    }
    return cast;
}

neap_node *graph_number_as_array(neap_ctx *ctx, neap_node *number) {
    return graph_as_dtype(ctx, "number", number, NEAP_DTYPE_F64);
}

/* ---- Inference --------------------------------------------------------------------------------------------------- */
static int check_size(const lazy_op *row, const lazy_result *result) {
    int64_t size = 1;
    for (int a = 0; a < result->ndim; a++)
        if (__builtin_mul_overflow(size, result->shape[a] ? result->shape[a] : 1, &size) || size > INT64_MAX / 16)
            return neap_error(NEAP_E_SHAPE, "%s: the result would have more than 2^59 elements", row->name);
    return 0;
}

int graph_kind_bit(int dtype) {
    int kind = neap_dtype_kind(dtype);
    return kind == 'b' ? LAZY_BOOL : kind == 'f' ? LAZY_REAL : kind == 'c' ? LAZY_COMPLEX : LAZY_INT;
}

static int check_types(const lazy_op *row, int dtype) {
    static const char *const wanted[] = {
        [LAZY_BOOL] = "bools",
        [LAZY_INT] = "integers",
        [LAZY_REAL] = "floats",
        [LAZY_COMPLEX] = "complex numbers",
        [LAZY_BITS] = "bools or integers",
        [LAZY_ORDERED] = "bools, integers or floats",
        [LAZY_ALL] = "any dtype",
        [LAZY_NUMERIC] = "integers or floats",
        [LAZY_NUMERIC | LAZY_COMPLEX] = "integers, floats or complex numbers",
        [LAZY_INEXACT] = "floats or complex numbers",
        [LAZY_BOOL | LAZY_REAL] = "bools or floats",
    };
    int bit = graph_kind_bit(dtype);
    if (row->types == 0 || row->types & bit)
        return 0;
    return neap_error(NEAP_E_DTYPE, "%s: expected %s, got dtype %s%s", row->name, wanted[row->types & LAZY_ALL],
                      neap_dtype_name(dtype),
                      bit == LAZY_BOOL      ? "; cast it first, as in x:astype(\"i32\")"
                      : bit == LAZY_COMPLEX ? "; x.real, x.imag and x:abs() are real"
                                            : "");
}

static int infer_result(const lazy_op *row, const lazy_call_desc *call, lazy_result *result) {
    int status = row->dtype ? row->dtype(call, result) : 0;
    if (status == 0)
        status = check_types(row, result->compute);
    if (status == 0)
        status = row->shape ? row->shape(call, result) : graph_broadcast(row->name, call, result);
    return status ? status : check_size(row, result);
}

/* ---- Views ------------------------------------------------------------------------------------------------------- */
static void read_view(neap_ctx *ctx, const neap_node *view) {
    if (view->base->state != LAZY_PENDING)
        return;
    graph_ask(view->base, view->size);
    graph_count_pending(ctx, view->base);
}

/* Sets map and base of a new view node. What cannot be read in place is copied first. */
static int view_resolve(neap_ctx *ctx, neap_node *node, const lazy_call_desc *call, const lazy_result *result) {
    lazy_map own;
    int status = graph_node_op(node)->view(call, result, &own);
    if (status)
        return status;
    neap_node *in = node->in[0];
    if (graph_is_view(in) && !in->buffer && graph_map_contiguous(in->ndim, in->shape, in->map)) {
        in = in->base; /* the same elements in the same order, so of any shape */
    } else if (graph_is_view(in) && !in->buffer) {
        lazy_box_map outer = {node->ndim, node->shape, own.offset, own.stride};
        lazy_box_map inner = {in->ndim, in->shape, in->map->offset, in->map->stride};
        lazy_split split;
        if (graph_map_compose(&outer, &inner, &node->map->offset, node->map->stride, &split)) {
            node->base = graph_retain(in->base);
            read_view(ctx, node);
            return 0;
        }
        neap_node *copy = graph_record(ctx, LAZY_OP_copy, 1, &in, 0, NULL);
        if (!copy)
            return NEAP_E_MEMORY;
        graph_release(ctx, node->in[0]);
        node->in[0] = in = copy;
    }
    node->map->offset = own.offset;
    memcpy(node->map->stride, own.stride, sizeof(int64_t) * node->ndim);
    node->base = graph_retain(in);
    read_view(ctx, node);
    return 0;
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */
static void count_read(neap_ctx *ctx, neap_node *node, int k, const lazy_op *row) {
    bool again = false;
    for (int j = 0; j < k; j++)
        again |= node->in[j] == node->in[k];
    neap_node *target = graph_read_target(node->in[k]);
    target->consumers += !again;
    bool operand = row->kind == LAZY_CALL && !(row->updates && k == 0);
    if (operand || (row->kind == LAZY_GATHER && k == 0 && !graph_takes_little(node)))
        target->flags |= LAZY_KEPT;
    if (!target->buffer)
        graph_count_pending(ctx, target);
}

static void count_consumer(neap_ctx *ctx, neap_node *node, const lazy_op *row) {
    for (int k = 0; k < node->nin; k++)
        count_read(ctx, node, k, row);
    if (row->kind == LAZY_CALL && !graph_is_waiting_draw(node))
        node->flags |= LAZY_KEPT;
}

void graph_reread(neap_ctx *ctx, neap_node *node, int k, neap_node *by) {
    neap_node *before = node->in[k];
    node->in[k] = graph_retain(by);
    graph_release(ctx, before);
    if (!graph_is_meshed(node))
        count_read(ctx, node, k, graph_node_op(node));
}

/* The blocks of a meshed node are on no tape: they are kept. */
static void mark_residual(neap_node *node) {
    if (!graph_is_meshed(node)) {
        graph_read_target(node)->flags |= LAZY_RESIDUAL;
        return;
    }
    for (int32_t b = 0; b < node->shards->sharding->nblocks && graph_has_blocks(node); b++)
        graph_read_target(node->shards->blocks[b])->flags |= LAZY_KEPT;
}

/* What the gradient of this node will read again is materialized. Nodes that a gradient builds (recording is held then)
 * have no such future of their own, but for an outer gradient, which may compute it a second time. */
static void mark_residuals(const neap_ctx *ctx, neap_node *node, const lazy_op *row) {
    if (ctx->start.hold > ctx->start.expanding)
        return;
    if (row->residual & LAZY_RESIDUAL_OUT)
        mark_residual(node);
    for (int k = 0; k < node->nin && k < 3; k++) {
        bool others = node->nin == 1; /* an input is read for the sake of the cotangents of others (or its own) */
        for (int j = 0; j < node->nin; j++)
            others |= j != k && node->in[j]->levels;
        if (others && row->residual & (LAZY_RESIDUAL_IN0 << k))
            mark_residual(node->in[k]);
    }
}

/* Levels whose bit survives an op without a gradient: traces. */
uint32_t graph_trace_levels(const neap_ctx *ctx) {
    uint32_t mask = 0;
    for (int k = 0; k < ctx->levels.n; k++)
        if (ctx->levels.at[k].trace)
            mask |= 1u << k;
    return mask;
}

/* Is a node of no open trace part of what the innermost one records? Not if it belongs to a gradient around that. */
static lazy_level *trace_of_constant(neap_ctx *ctx, const neap_node *node) {
    lazy_level *trace = ctx->levels.n ? graph_open_trace(ctx) : NULL;
    uint32_t around = trace ? (1u << (trace - ctx->levels.at)) - 1 : 0;
    return node->levels & around ? NULL : trace;
}

static void stage(neap_ctx *ctx, neap_node *node, const lazy_level *trace) {
    node->state = LAZY_STAGED;
    node->trace = trace->serial;
    ctx->levels.staged++;
}

/* Adds a node that is work to its trace, or to what is pending. What lies on a mesh is none: its blocks are. */
static int enroll_work(neap_ctx *ctx, neap_node *node) {
    bool exchange = graph_is_exchange(node);
    const lazy_level *trace = exchange ? NULL : trace_of_constant(ctx, node);
    if (trace)
        stage(ctx, node, trace);
    else if (node->lasting) {
        node->state = LAZY_DEFERRED;
        ctx->start.any_deferred = true;
    }
    bool aside = ctx->start.aside && !exchange;
    if (aside && !trace && !node->lasting)
        node->state = LAZY_RECIPE;
    if (trace || node->lasting || aside || graph_is_meshed(node) || graph_node_op(node)->flags & LAZY_OP_PROMPT ||
        (graph_is_effect(node) && !exchange))
        return 0;
    if (lazy_push(&ctx->pending.nodes, node))
        return NEAP_E_MEMORY;
    graph_retain(node);
    node->state = LAZY_PENDING;
    ctx->pending.n++;
    ctx->pending.exchanges += exchange;
    graph_count_pending(ctx, node);
    return 0;
}

/* Is element k made of the counter k, or of such elements? Readers in place of draws under many keys, of pairs of words
 * and with bounds that are no numbers are views and maps, no gathers. */
static bool is_drawn(const lazy_op *row, const neap_node *node) {
    bool any = row->drawn;
    if (node->size < LAZY_LARGE_SIZE || graph_is_meshed(node))
        return false;
    if (row->kind == LAZY_VIEW)
        return node->base->drawn && !node->base->buffer && node->size == node->base->size &&
               graph_map_contiguous(node->ndim, node->shape, node->map);
    for (int k = 0; row->drawn && k < row->drawn->keys; k++)
        any &= node->in[k]->size == 1;
    if (row->drawn)
        return any && node->in[row->drawn->keys]->ndim == 1 && node->ndim == node->nattrs - row->drawn->first;
    for (int k = 0; k < node->nin && row->kind == LAZY_MAP; k++) {
        const neap_node *in = node->in[k];
        bool same = in->drawn && !in->buffer && graph_same_shape(node->ndim, node->shape, in->ndim, in->shape);
        if (!same && in->size != 1)
            return false;
        any |= same;
    }
    return any;
}

bool graph_is_flat(const neap_node *node) {
    const lazy_op *row = graph_node_op(node);
    const bool flat = row->flags & LAZY_OP_ZERO_GRAD && !(row->grad && neap_dtype_kind(node->dtype) == 'c');
    return flat || (!dtype_is_inexact(node->dtype) && !row->results);
}

int graph_enroll(neap_ctx *ctx, neap_node *node) {
    const lazy_op *row = graph_node_op(node);
    bool meshed = graph_is_meshed(node);
    node->drawn = is_drawn(row, node);
    int work = row->kind == LAZY_VIEW ? 0 : row->flags & LAZY_OP_CHEAP ? 1 : LAZY_WORK_MOST;
    uint8_t some = 0, all = node->nin && (row->kind == LAZY_VIEW || row->kind == LAZY_MAP) ? LAZY_CONSTRUCTED : 0;
    for (int k = 0; k < node->nin; k++) {
        work += node->in[k]->work;
        node->levels |= node->in[k]->levels;
        some |= node->in[k]->flags;
        all &= node->in[k]->buffer ? 0 : node->in[k]->flags; /* what was forced is data */
    }
    node->work = (work < LAZY_WORK_MOST ? work : LAZY_WORK_MOST) & LAZY_WORK_MOST;
    node->flags |= (some & LAZY_ABSTRACT) | all;
    node->lasting = ctx->start.deferring > 0 && !(node->flags & LAZY_ABSTRACT);
    if (node->levels && graph_is_flat(node))
        node->levels &= graph_trace_levels(ctx);
    if (row->kind != LAZY_VIEW && !meshed)
        count_consumer(ctx, node, row);
    if (node->levels) {
        mark_residuals(ctx, node, row);
        node->tape = (int32_t)ctx->levels.tape.n;
        if (lazy_push(&ctx->levels.tape, node))
            return NEAP_E_MEMORY;
        graph_retain(node);
    }
    ctx->counters.nodes++;
    graph_site_want(ctx, node);
    bool free = (row->kind == LAZY_VIEW && !meshed) || graph_is_formula(node);
    return free || node->flags & LAZY_ABSTRACT ? 0 : enroll_work(ctx, node);
}

/* Commits the result of an op that says where it goes. What it reads and was committed elsewhere is computed there; but
 * what is made of constructors is wherever it is read. */
static void place(neap_ctx *ctx, neap_node *node) {
    neap_node *target = graph_read_target(node->in[0]);
    node->device = (int16_t)node->attrs[0];
    if (target->device >= 0 && target->device != node->device && !(target->flags & LAZY_CONSTRUCTED)) {
        target->flags |= LAZY_KEPT;
        graph_count_pending(ctx, target);
    }
}

/* A node that lies on a mesh is no work by itself: its blocks are. Once they are recorded it needs its inputs only for
 * derivatives and programs. */
static int make_meshed(neap_ctx *ctx, neap_node *node) {
    node->map = NULL;
    int status = graph_mesh()->finish(ctx, node);
    if (status == 0)
        status = graph_enroll(ctx, node);
    if (status == 0 && !(node->flags & LAZY_ABSTRACT) && node->state != LAZY_STAGED)
        graph_node_drop(ctx, node);
    return status;
}

/* May recording this node start something? Nearly always not: so the question is answered here, without a call. */
static bool graph_starts(const neap_ctx *ctx, const neap_node *node) {
    return node->state != LAZY_STAGED && (graph_starts_at_once(node) || ctx->start.has_calls || graph_past_limits(ctx));
}

/* desc: what the rules were told of the inputs; views need it. */
static neap_node *make_recorded(neap_ctx *ctx, const lazy_op *row, const graph_call *call, const lazy_call_desc *desc,
                                const lazy_result *result, bool weak) {
    neap_node *node = graph_node_new(ctx, call->op, result, call->nin, call->in, call->nattrs, call->attrs);
    if (!node)
        return NULL;
    if (weak)
        node->flags |= LAZY_WEAK;
    if (graph_is_meshed(node) || row->flags & LAZY_OP_MESH) {
        if (make_meshed(ctx, node) == 0)
            return node;
        graph_release(ctx, node);
        return NULL;
    }
    if (row->flags & LAZY_OP_PLACES)
        place(ctx, node);
    if ((row->kind == LAZY_VIEW && view_resolve(ctx, node, desc, result) != 0) ||
        (row->kind != LAZY_SOURCE && graph_enroll(ctx, node) != 0)) {
        graph_release(ctx, node);
        return NULL;
    }
    if (!(node->flags & LAZY_ABSTRACT) && graph_starts(ctx, node))
        ctx->hooks->recorded(ctx, node);
    return node;
}

/* *device is where the inputs before this one are committed to, -1: nowhere. NULL: it does not matter. */
static int check_recordable(const char *op, const neap_node *node, int *device) {
    if (device && node->device >= 0 && *device >= 0 && node->device != *device)
        return neap_error(NEAP_E_ARGUMENT,
                          "%s: the arrays are on different devices, %s and %s; move one of them, as in "
                          "np.device_put(x, \"%s\")",
                          op, neap_device_name(*device), neap_device_name(node->device), neap_device_name(*device));
    if (device && node->device >= 0)
        *device = node->device;
    if (node->flags & LAZY_ABSTRACT && !node->levels)
        return neap_error(NEAP_E_TRACE,
                          "%s: an argument belongs to a trace that has ended: a jitted function must return "
                          "what it computes, not keep it",
                          op);
    return 0;
}

/* What rules see of the inputs: numbers that do not stay numbers as what they will be. Returns whether all are
 * numbers. */
static bool describe_inputs(const lazy_op *row, int nin, neap_node *const *in, lazy_aval *avals) {
    bool weak = row->kind == LAZY_MAP && nin > 0 && !(row->flags & LAZY_OP_CASTS) && row->dtype != graph_dtype_where;
    bool typed = graph_meets_dtypes(row, nin, in);
    for (int k = 0; k < nin; k++) {
        avals[k] = graph_node_aval(in[k]);
        weak &= avals[k].weak;
        if (row->flags & LAZY_OP_CASTS)
            avals[k].weak = false; /* what a cast sees of a number is all of its digits */
        else if (avals[k].weak && row->kind != LAZY_MAP)
            avals[k] = (lazy_aval){.dtype = neap_dtype_kind(avals[k].dtype) == 'c' ? NEAP_DTYPE_C64 : NEAP_DTYPE_F32,
                                   .size = 1,
                                   .shape = in[k]->shape};
        if (in[k]->yields && typed) {
            avals[k].weak = avals[k].unknown = true;
            avals[k].fraction = in[k]->fraction;
        }
    }
    return weak;
}

/* Whether elements are not 0, as bools; also of a number, whatever it is. OWNED. */
static neap_node *truth_of(neap_ctx *ctx, neap_node *condition) {
    bool number = condition->flags & LAZY_WEAK;
    neap_node *from = number ? graph_number_as_array(ctx, condition) : graph_retain(condition);
    neap_node *truth = from ? graph_cast(ctx, from, NEAP_DTYPE_BOOL) : NULL;
    graph_release(ctx, from);
    return truth;
}

/* Casts inputs to what the op computes in. to[k] is the input, or OWNED where *owned has bit k. */
static int cast_inputs(neap_ctx *ctx, const lazy_op *row, const lazy_result *result, const graph_call *call,
                       lazy_aval *avals, neap_node **to, uint64_t *owned) {
    bool keeps = row->dtype == graph_dtype_same || row->flags & LAZY_OP_CASTS;
    for (int k = 0; k < call->nin; k++) {
        bool condition = k == 0 && row->dtype == graph_dtype_where;
        int want = condition ? NEAP_DTYPE_BOOL : keeps ? call->in[k]->dtype : result->compute;
        if (call->in[k]->flags & LAZY_WEAK && keeps)
            want = avals[k].dtype; /* as the rules saw it */
        to[k] = call->in[k];
        if (row->flags & LAZY_OP_CASTS || (call->in[k]->dtype == want && !(call->in[k]->flags & LAZY_WEAK)))
            continue;
        if (call->in[k]->flags & LAZY_WEAK && avals[k].fraction && row->dtype != graph_dtype_real &&
            neap_dtype_kind(want) == 'f')
            graph_note_wholeness(call->in[k]);
        if (condition)
            to[k] = truth_of(ctx, call->in[k]);
        else
            to[k] = row->dtype == graph_dtype_compare && want == NEAP_DTYPE_F64 && avals[k].weak && !avals[k].unknown
                        ? graph_compared_number(ctx, avals[k].value, call)
                        : graph_as_dtype(ctx, row->name, call->in[k], want);
        if (!to[k])
            return neap_error_code();
        *owned |= (uint64_t)1 << k;
        avals[k] = graph_node_aval(to[k]);
    }
    return 0;
}

/* Does a number become an element of the dtype, whatever the op is? One that is complex makes complex what it meets. */
static bool is_plain_number(const neap_node *number, int dtype) {
    int kind = neap_dtype_kind(dtype);
    if (number->dtype != NEAP_DTYPE_F64)
        return false;
    return dtype_is_inexact(dtype) || (kind != 'b' && graph_is_constant(number) && dtype_holds(dtype, number->value));
}

/* Most ops by far are maps of arrays of one dtype and shape, or of such an array and a number, that compute in this
 * dtype. What inference says of them depends on op and dtype alone and is kept in ctx->quick.plain: 1 + the result's
 * dtype. Returns an input of the result's shape if this is such a call and the answer is known; else NULL. */
static const neap_node *plain_like(const neap_ctx *ctx, const lazy_op *row, const graph_call *call) {
    if (row->kind != LAZY_MAP || call->nin > 2 || call->nattrs)
        return NULL;
    const neap_node *a = call->in[0], *b = call->in[call->nin - 1];
    if ((a->flags | b->flags) & LAZY_ABSTRACT) /* also a number: a closed trace must capture what it meets */
        return NULL;
    if (a->yields | b->yields)
        return NULL;
    const neap_node *number = b->flags & LAZY_WEAK ? b : a;
    if (b->flags & LAZY_WEAK)
        b = a;
    else if (a->flags & LAZY_WEAK)
        a = b;
    if (number->flags & LAZY_WEAK && !is_plain_number(number, a->dtype))
        return NULL;
    if (!ctx->quick.plain[call->op * NEAP_DTYPE_COUNT + a->dtype] || a->dtype != b->dtype || a->ndim != b->ndim ||
        (a->flags | b->flags) & LAZY_WEAK || a->device != b->device || graph_is_meshed(a))
        return NULL;
    for (int k = 0; k < a->ndim; k++)
        if (a->shape[k] != b->shape[k])
            return NULL;
    return a;
}

static void learn_plain(neap_ctx *ctx, const lazy_op *row, const graph_call *call, const lazy_result *result) {
    if (row->kind != LAZY_MAP || call->nin < 1 || call->nin > 2 || call->nattrs)
        return;
    const neap_node *a = call->in[0], *b = call->in[call->nin - 1];
    if (a->flags & LAZY_WEAK)
        a = b;
    if (!(a->flags & LAZY_WEAK) && (b->flags & LAZY_WEAK || a->dtype == b->dtype) && result->compute == a->dtype)
        ctx->quick.plain[call->op * NEAP_DTYPE_COUNT + a->dtype] = (uint8_t)(1 + result->dtype);
}

static neap_node *record_plain(neap_ctx *ctx, const lazy_op *row, const graph_call *call, const neap_node *like) {
    neap_node *const *in = call->in;
    lazy_result result;
    result.compute = like->dtype;
    result.dtype = (uint8_t)(ctx->quick.plain[call->op * NEAP_DTYPE_COUNT + like->dtype] - 1);
    result.ndim = like->ndim;
    for (int k = 0; k < like->ndim; k++)
        result.shape[k] = like->shape[k];
    if (!((in[0]->flags | in[call->nin - 1]->flags) & LAZY_WEAK))
        return make_recorded(ctx, row, call, NULL, &result, false);
    int number = in[0]->flags & LAZY_WEAK ? 0 : 1;
    neap_node *cast[2] = {in[0], in[call->nin - 1]}, *node = NULL;
    if ((cast[number] = graph_as_dtype(ctx, row->name, in[number], like->dtype)) != NULL) {
        node =
            make_recorded(ctx, row, &(graph_call){.op = call->op, .nin = call->nin, .in = cast}, NULL, &result, false);
        graph_release(ctx, cast[number]);
    }
    return node;
}

/* A number without a dtype of its own is computed in one of these. */
static bool is_number_dtype(int dtype) {
    return dtype == NEAP_DTYPE_F64 || dtype == NEAP_DTYPE_C128;
}

int graph_infer(const graph_call *call, lazy_result *result, bool *weak) {
    lazy_aval avals[NEAP_MAX_INPUTS];
    lazy_call_desc desc = {.nin = call->nin, .in = avals, .nattrs = call->nattrs, .attrs = call->attrs};
    bool numbers = describe_inputs(lazy_ops[call->op], call->nin, call->in, avals);
    int status = infer_result(lazy_ops[call->op], &desc, result);
    *weak = numbers && is_number_dtype(result->dtype);
    return status;
}

int graph_infer_at(const graph_call *call, const int64_t *const *shapes, lazy_result *result) {
    lazy_aval avals[NEAP_MAX_INPUTS];
    lazy_call_desc desc = {.nin = call->nin, .in = avals, .nattrs = call->nattrs, .attrs = call->attrs};
    describe_inputs(lazy_ops[call->op], call->nin, call->in, avals);
    for (int k = 0; k < call->nin; k++) {
        avals[k].shape = shapes[k];
        avals[k].size = 1;
        for (int a = 0; a < avals[k].ndim; a++)
            avals[k].size *= shapes[k][a];
    }
    return infer_result(lazy_ops[call->op], &desc, result);
}

neap_node *graph_record_inferred(neap_ctx *ctx, const graph_call *call) {
    const lazy_op *row = lazy_ops[call->op];
    lazy_aval avals[NEAP_MAX_INPUTS];
    neap_node *cast[NEAP_MAX_INPUTS], *node = NULL;
    lazy_call_desc desc = {.nin = call->nin, .in = avals, .nattrs = call->nattrs, .attrs = call->attrs};
    lazy_result result = {0};
    uint64_t owned = 0;
    bool weak = describe_inputs(row, call->nin, call->in, avals);
    if (infer_result(row, &desc, &result) != 0)
        return NULL;
    weak = weak && is_number_dtype(result.dtype);
    learn_plain(ctx, row, call, &result);
    if (weak)
        return make_recorded(ctx, row, call, &desc, &result, true);
    graph_call same = *call;
    same.in = cast;
    if (cast_inputs(ctx, row, &result, call, avals, cast, &owned) == 0)
        node = make_recorded(ctx, row, &same, &desc, &result, false);
    for (; owned; owned &= owned - 1)
        graph_release(ctx, cast[__builtin_ctzll(owned)]);
    return node;
}

bool graph_leaves_memory(neap_node *node, int64_t device) {
    const neap_node *target = graph_read_target(node);
    if (graph_is_number(target) || graph_is_formula(target))
        return false;
    return graph_node_space(target) != neap_device_memory_space(device < 0 ? graph_home_device() : (int)device);
}

/* The way of most calls: with the inputs that traces capture, on a mesh, or on one device. */
static neap_node *record_call(neap_ctx *ctx, const lazy_op *row, const graph_call *call) {
    int device = -1;
    bool meshed = row->flags & LAZY_OP_MESH, moves = row->flags & LAZY_OP_PLACES;
    for (int k = 0; k < call->nin && !meshed; k++)
        meshed = graph_is_meshed(call->in[k]);
    if (meshed && !graph_mesh()) {
        neap_error(NEAP_E_STATE, "%s: no mesh was made yet", row->name);
        return NULL;
    }
    for (int k = 0; k < call->nin; k++)
        if ((call->in[k]->flags & LAZY_ABSTRACT || call->in[k]->device >= 0) &&
            check_recordable(row->name, call->in[k], meshed || moves ? NULL : &device) != 0)
            return NULL;
    graph_call moved = *call;
    if (moves && row->arity == 1 && !meshed && call->nattrs == 1 && graph_leaves_memory(call->in[0], call->attrs[0]))
        moved.op = LAZY_OP_transfer;
    return meshed ? graph_mesh()->record(ctx, call) : graph_record_inferred(ctx, &moved);
}

/* ---- Halves ------------------------------------------------------------------------------------------------------ */
static bool gets_halves_as_f32(const lazy_op *row, const graph_call *call) {
    bool any = false;
    if ((row->kind != LAZY_CALL && row->kind != LAZY_REDUCE) || row->types & LAZY_HALF)
        return false;
    for (int k = 0; k < call->nin; k++)
        any |= dtype_is_half(call->in[k]->dtype);
    return any;
}

/* An operand, in the half that the op would have computed in (-1: in no half), as f32; OWNED. */
static neap_node *half_operand(neap_ctx *ctx, const char *op, neap_node *node, int half) {
    neap_node *rounded = half < 0 ? graph_retain(node) : graph_as_dtype(ctx, op, node, half);
    if (!rounded || !dtype_is_half(rounded->dtype))
        return rounded;
    neap_node *wide = graph_as_dtype(ctx, op, rounded, NEAP_DTYPE_F32);
    graph_release(ctx, rounded);
    return wide;
}

/* The op on f32, and then one rounding: of its result, if that is a half by the row's rules. */
static neap_node *record_halves(neap_ctx *ctx, const lazy_op *row, const graph_call *call) {
    neap_node *in[NEAP_MAX_INPUTS], *node = NULL;
    lazy_result result = {0};
    bool weak, keeps = row->dtype == graph_dtype_same;
    int n = 0;
    if (graph_infer(call, &result, &weak) != 0)
        return NULL;
    for (; n < call->nin; n++)
        if (!(in[n] = half_operand(ctx, row->name, call->in[n],
                                   !keeps && dtype_is_half(result.compute) ? result.compute : -1)))
            break;
    if (n == call->nin)
        node = graph_record(ctx, call->op, n, in, call->nattrs, call->attrs);
    for (int k = 0; k < n; k++)
        graph_release(ctx, in[k]);
    if (!node || !dtype_is_half(result.dtype))
        return node;
    neap_node *rounded = graph_as_dtype(ctx, row->name, node, result.dtype);
    graph_release(ctx, node);
    return rounded;
}

neap_node *graph_record(neap_ctx *ctx, int op, int nin, neap_node *const *in, int nattrs, const int64_t *attrs) {
    const lazy_op *row = lazy_ops[op];
    graph_call call = {.op = op, .nin = nin, .nattrs = nattrs, .in = in, .attrs = attrs};
    if (nin > NEAP_MAX_INPUTS || (row->arity != 255 ? nin != row->arity : nin < 1)) {
        neap_error(NEAP_E_ARGUMENT, "%s: expected %d arrays (at most %d), got %d", row->name,
                   row->arity == 255 ? 1 : row->arity, NEAP_MAX_INPUTS, nin);
        return NULL;
    }
    const neap_node *like = plain_like(ctx, row, &call);
    if (like)
        return record_plain(ctx, row, &call, like);
    if (gets_halves_as_f32(row, &call))
        return record_halves(ctx, row, &call);
    neap_node *captured[NEAP_MAX_INPUTS];
    if (ctx->levels.closed) {
        if (graph_capture_inputs(ctx, nin, in, captured) != 0)
            return NULL;
        call.in = captured;
    }
    neap_node *node = record_call(ctx, row, &call);
    if (node)
        graph_mark_weak(row, nin, call.in, node);
    return node;
}

/* ---- Public recording -------------------------------------------------------------------------------------------- */
static int publish(neap_ctx *ctx, neap_node *node, int32_t *out) {
    if (!node)
        return neap_error_code();
    int status = graph_publish(ctx, node, out);
    return status ? status : graph_safepoint(ctx);
}

static int check_op(int op) {
    return op >= 0 && op < lazy_op_count ? 0 : neap_error(NEAP_E_ARGUMENT, "no such op");
}

static int record_op(neap_ctx *ctx, int op, int nin, const int32_t *in, int nattrs, const int64_t *attrs,
                     int32_t *out) {
    neap_node *nodes[NEAP_MAX_INPUTS];
    if (check_op(op) != 0)
        return NEAP_E_ARGUMENT;
    if (nin < 0 || nin > NEAP_MAX_INPUTS || nattrs < 0 || nattrs > INT16_MAX)
        return neap_error(NEAP_E_ARGUMENT, "more than %d inputs, or more than %d attributes", NEAP_MAX_INPUTS,
                          INT16_MAX);
    for (int k = 0; k < nin; k++)
        if (!(nodes[k] = graph_lookup(ctx, in[k])))
            return neap_error_code();
    return publish(ctx, graph_record(ctx, op, nin, nodes, nattrs, attrs), out);
}

static int play_op(neap_ctx *ctx, graph_note *note) {
    return record_op(ctx, note->op, note->nin, note->in, note->nints, note->ints, note->out);
}
const graph_note_kind graph_note_op = {.name = "op",
                                       .play = play_op,
                                       .shapes = GRAPH_NOTE_INFERRED,
                                       .form = {.ints = "a*", .nin = GRAPH_NOTE_ANY, .nout = 1, .op = true}};

int neap_op(neap_ctx *ctx, int op, int nin, const int32_t *in, int nattrs, const int64_t *attrs, int32_t *out) {
    int status = record_op(ctx, op, nin, in, nattrs, attrs, out);
    return graph_noted(ctx, status,
                       &(graph_note){.kind = &graph_note_op,
                                     .op = op,
                                     .level = -1,
                                     .nin = nin,
                                     .in = in,
                                     .nout = 1,
                                     .out = out,
                                     .nints = nattrs,
                                     .ints = attrs});
}

static int record_number(neap_ctx *ctx, int dtype, double value, int32_t *out) {
    if (dtype >= NEAP_DTYPE_COUNT)
        return neap_error(NEAP_E_DTYPE, "number: no such dtype");
    if (dtype >= 0 && !dtype_holds(dtype, value))
        return neap_error(NEAP_E_DTYPE, "%.17g is not a value of dtype %s", value, neap_dtype_name(dtype));
    return publish(ctx, graph_constant(ctx, dtype < 0 ? NEAP_DTYPE_F64 : dtype, dtype < 0, value), out);
}

static int play_number(neap_ctx *ctx, graph_note *note) {
    return record_number(ctx, (int)note->ints[0], note->number, note->out);
}
const graph_note_kind graph_note_number = {
    .name = "number", .play = play_number, .shapes = GRAPH_NOTE_UNKNOWN, .form = {.ints = "t", .nout = 1}};

int neap_array_number(neap_ctx *ctx, int dtype, double value, int32_t *out) {
    int status = record_number(ctx, dtype, value, out);
    int64_t ints[] = {dtype};
    return graph_noted(
        ctx, status,
        &(graph_note){
            .kind = &graph_note_number, .level = -1, .number = value, .nout = 1, .out = out, .nints = 1, .ints = ints});
}
