/* quick.c: the calls of Lua's fast paths (lazy.h): recording and reading with as few arguments and boxes as can be,
 * since LuaJIT's interpreter takes longer to pass those than the core takes for a small op.
 */
#include <math.h>
#include <string.h>

#include "lazy/graph/graph.h"
#include "ops_gen.h"

/* Ends a quick call that recorded `node` (TAKES it; NULL: an error was set). */
static int32_t finish_quick_call(neap_ctx *ctx, neap_node *node) {
    ctx->quick.id = 0;
    int status = node ? graph_publish(ctx, node, &ctx->quick.id) : neap_error_code();
    ctx->quick.status = status ? status : graph_safepoint(ctx);
    return ctx->quick.status == NEAP_OK ? ctx->quick.id : 0;
}

/* The result of a quick call that has ended, for an open transcript. */
static int32_t note_quick_call(neap_ctx *ctx, graph_note *note) {
    note->level = -1;
    note->nout = 1;
    note->out = &ctx->quick.id;
    ctx->quick.status = graph_noted(ctx, ctx->quick.status, note);
    return ctx->quick.status == NEAP_OK ? ctx->quick.id : 0;
}

int neap_quick_outcome(neap_ctx *ctx, int32_t *out) {
    *out = ctx->quick.id;
    return ctx->quick.status;
}

static bool is_op(int op) {
    if (op >= 0 && op < lazy_op_count)
        return true;
    neap_error(NEAP_E_ARGUMENT, "no such op");
    return false;
}

int32_t neap_quick_op1(neap_ctx *ctx, int op, const neap_handle *a) {
    neap_node *in = graph_lookup(ctx, a->_id);
    int32_t id = finish_quick_call(ctx, in && is_op(op) ? graph_record(ctx, op, 1, &in, 0, NULL) : NULL);
    if (ctx->transcript)
        id = note_quick_call(ctx, &(graph_note){.kind = &graph_note_op, .op = op, .nin = 1, .in = &a->_id});
    return id;
}

int32_t neap_quick_op2(neap_ctx *ctx, int op, const neap_handle *a, const neap_handle *b) {
    neap_node *in[2] = {graph_lookup(ctx, a->_id), NULL};
    bool sound = in[0] && (in[1] = graph_lookup(ctx, b->_id)) != NULL && is_op(op);
    int32_t id = finish_quick_call(ctx, sound ? graph_record(ctx, op, 2, in, 0, NULL) : NULL);
    if (ctx->transcript)
        id = note_quick_call(
            ctx, &(graph_note){.kind = &graph_note_op, .op = op, .nin = 2, .in = (int32_t[]){a->_id, b->_id}});
    return id;
}

static neap_node *record_with_number(neap_ctx *ctx, int op, int32_t id, double number, int how) {
    neap_node *array = graph_lookup(ctx, id);
    /* Recording converts the number into a constant of the array's dtype, so the weak one is nearly always free
     * again. */
    if (ctx->quick.number && ctx->quick.number->refs > 1) {
        graph_release(ctx, ctx->quick.number);
        ctx->quick.number = NULL;
    }
    if (!array || !is_op(op) ||
        (!ctx->quick.number && !(ctx->quick.number = graph_constant(ctx, NEAP_DTYPE_F64, true, number))))
        return NULL;
    ctx->quick.number->value = number;
    ctx->quick.number->counts = how & NEAP_NUMBER_COUNTS;
    bool first = how & NEAP_NUMBER_FIRST;
    neap_node *in[2] = {first ? ctx->quick.number : array, first ? array : ctx->quick.number};
    return graph_record(ctx, op, 2, in, 0, NULL);
}

static int play_with_number(neap_ctx *ctx, graph_note *note) {
    neap_node *node = record_with_number(ctx, note->op, note->in[0], note->number, (int)note->ints[0]);
    return node ? graph_publish(ctx, node, note->out) : neap_error_code();
}
const graph_note_kind quick_note_number = {.name = "op_number",
                                           .play = play_with_number,
                                           .shapes = GRAPH_NOTE_LAST,
                                           .form = {.ints = "n", .nin = 1, .nout = 1, .op = true}};

int32_t neap_quick_number(neap_ctx *ctx, int op, const neap_handle *a, double number, int how) {
    int32_t id = finish_quick_call(ctx, record_with_number(ctx, op, a->_id, number, how));
    if (ctx->transcript)
        id = note_quick_call(ctx, &(graph_note){.kind = &quick_note_number,
                                                .op = op,
                                                .number = number,
                                                .nin = 1,
                                                .in = &a->_id,
                                                .nints = 1,
                                                .ints = (int64_t[]){how}});
    return id;
}

int32_t neap_quick_reduce(neap_ctx *ctx, int op, const neap_handle *a) {
    neap_node *in = graph_lookup(ctx, a->_id);
    int64_t attrs[2] = {in ? ((int64_t)1 << in->ndim) - 1 : 0, 0};
    int32_t id = finish_quick_call(ctx, in && is_op(op) ? graph_record(ctx, op, 1, &in, 2, attrs) : NULL);
    if (ctx->transcript)
        id = note_quick_call(
            ctx, &(graph_note){.kind = &graph_note_op, .op = op, .nin = 1, .in = &a->_id, .nints = 2, .ints = attrs});
    return id;
}

/* Part `index` of the first axis; OWNED. */
static neap_node *record_part(neap_ctx *ctx, int32_t id, double index) {
    neap_node *in = graph_lookup(ctx, id);
    if (!in)
        return NULL;
    int64_t n = in->ndim ? in->shape[0] : 0, attrs[3 * NEAP_MAX_DIMS];
    if (!(index >= (double)-n && index < (double)n && index == floor(index))) {
        neap_error(NEAP_E_INDEX, "index %.17g is out of range for an axis of extent %lld", index, (long long)n);
        return NULL;
    }
    for (int k = 0; k < in->ndim; k++) {
        attrs[3 * k] = k ? 0 : (int64_t)index + (index < 0 ? n : 0);
        attrs[3 * k + 1] = 1;
        attrs[3 * k + 2] = k ? in->shape[k] : 1;
    }
    if (graph_is_meshed(in) && graph_sharding_of(in)->split[0][0]) {
        neap_error(NEAP_E_STATE, "the axis is divided over a mesh");
        return NULL;
    }
    neap_node *slice = graph_record(ctx, LAZY_OP_slice, 1, &in, 3 * in->ndim, attrs), *part = NULL;
    if (slice)
        part = graph_record(ctx, LAZY_OP_reshape, 1, &slice, in->ndim - 1, in->shape + 1);
    graph_release(ctx, slice);
    return part;
}

static int play_part(neap_ctx *ctx, graph_note *note) {
    neap_node *node = record_part(ctx, note->in[0], note->number);
    return node ? graph_publish(ctx, node, note->out) : neap_error_code();
}
const graph_note_kind quick_note_part = {
    .name = "part", .play = play_part, .shapes = GRAPH_NOTE_INNER, .form = {.ints = "", .nin = 1, .nout = 1}};

int32_t neap_quick_part(neap_ctx *ctx, const neap_handle *a, double index) {
    int32_t id = finish_quick_call(ctx, record_part(ctx, a->_id, index));
    if (ctx->transcript)
        id = note_quick_call(ctx, &(graph_note){.kind = &quick_note_part, .number = index, .nin = 1, .in = &a->_id});
    return id;
}

/* ---- Small parts written over ------------------------------------------------------------------------------------ */
typedef struct quick_box { /* a part of an array */
    int64_t start[NEAP_MAX_DIMS], count[NEAP_MAX_DIMS], size;
} quick_box;

/* The part at integers along the first axes; false: there is none. */
static bool find_box(const neap_node *x, int n, const double *at, quick_box *box) {
    bool inside = n <= x->ndim;
    box->size = 1;
    for (int k = 0; k < x->ndim && inside; k++) {
        double extent = (double)x->shape[k];
        inside = k >= n || (at[k] >= -extent && at[k] < extent && at[k] == floor(at[k]));
        box->start[k] = k < n && inside ? (int64_t)at[k] : 0;
        box->count[k] = k < n ? 1 : x->shape[k];
        box->size *= box->count[k];
    }
    return inside;
}

/* Is it an array that is recorded as it is? */
static bool is_plain(const neap_ctx *ctx, const neap_node *node) {
    return !(node->flags & (LAZY_ABSTRACT | LAZY_WEAK)) && !graph_is_meshed(node) && ctx->levels.n == 0 &&
           !ctx->start.deferring;
}

/* What is to be written over the box, in its shape; OWNED. NULL: the library has to see to it. */
static neap_node *find_written(neap_ctx *ctx, const neap_node *x, int n, const quick_box *box, neap_node *value,
                               double number) {
    if (!value && (neap_dtype_kind(x->dtype) == 'b' || !dtype_holds(x->dtype, number)))
        return NULL;
    if (value && (!is_plain(ctx, value) || value->dtype != x->dtype || value->ndim != x->ndim - n ||
                  memcmp(value->shape, x->shape + n, value->ndim * sizeof *value->shape) != 0))
        return NULL;
    neap_node *given = value ? graph_retain(value) : graph_constant(ctx, x->dtype, false, number);
    if (!given)
        return NULL;
    neap_node *written =
        graph_record(ctx, value ? LAZY_OP_reshape : LAZY_OP_broadcast_to, 1, &given, x->ndim, box->count);
    graph_release(ctx, given);
    return written;
}

/* A vector of i64, which is there; OWNED. */
static neap_node *vector_of(neap_ctx *ctx, int n, const int64_t *elements) {
    lazy_result aval = {.dtype = NEAP_DTYPE_I64, .ndim = 1, .shape = {n}};
    neap_buffer *buffer;
    if (neap_buffer_new(graph_host_device(graph_home_device()), (size_t)n * sizeof *elements, &buffer))
        return NULL;
    memcpy(neap_buffer_data(buffer), elements, (size_t)n * sizeof *elements);
    graph_count_bytes(ctx, n * (int64_t)sizeof *elements);
    return graph_node_of_buffer(ctx, &aval, buffer);
}

int32_t neap_quick_set(neap_ctx *ctx, const neap_handle *a, int n, const double *at, const neap_handle *value,
                       double number) {
    neap_node *x = graph_lookup(ctx, a->_id), *given = x && value ? graph_lookup(ctx, value->_id) : NULL;
    quick_box box;
    bool sound = x && (given || !value) && is_plain(ctx, x) && find_box(x, n, at, &box) && box.size > 0 &&
                 graph_is_small_part(box.size, x->size);
    neap_node *written = sound ? find_written(ctx, x, n, &box, given, number) : NULL;
    neap_node *starts = written ? vector_of(ctx, x->ndim, box.start) : NULL;
    neap_node *updated =
        starts ? graph_record(ctx, LAZY_OP_dynamic_update_slice, 3, (neap_node *[]){x, written, starts}, 0, NULL)
               : NULL;
    graph_release(ctx, written);
    graph_release(ctx, starts);
    if (!updated && !starts)
        neap_error(NEAP_E_STATE, "the library has to write the part");
    int32_t id = finish_quick_call(ctx, updated);
    return ctx->transcript ? note_quick_call(ctx, &(graph_note){0}) : id;
}

int neap_quick_poll(neap_ctx *ctx, const neap_handle *a) {
    return neap_array_poll(ctx, a->_id);
}

double neap_quick_item(neap_ctx *ctx, const neap_handle *a) {
    double value[2];
    int32_t dtype;
    int status = neap_array_item(ctx, a->_id, value, &dtype);
    bool number = status == NEAP_OK && dtype != NEAP_DTYPE_BOOL && neap_dtype_kind(dtype) != 'c';
    return number ? value[0] : (double)NAN;
}
