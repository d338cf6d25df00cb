/* lower_calls.c: calls that need not be called: by their rows (lazy_op.intrinsic) a loop does the work: maps, maps with
 * a reduction, or one row that is written at a place that is data.
 */
#include "lazy/control/lower_memory.h"

#include "lazy/vm/kernel.h"
#include "ops_gen.h"

enum { FEW_PUTS = 4 };

typedef struct calling { /* a call that becomes loops */
    lower_memory *s;
    const lower_scope *in;
    const body_item *item;
} calling;

/* Where pointer `slot` of the item leads to, some elements of a dtype on. */
static int16_t place_at(const calling *c, int slot, int64_t element, int dtype) {
    const int64_t offset = element * neap_dtype_bytes(dtype);
    return (int16_t)memory_place(c->s, lower_scope_pointer(c->s->parts.runner, c->in, c->item, slot, offset));
}

static int32_t read_place(const calling *c, int dtype, int place, int64_t first, int64_t second) {
    const lazy_load load = {
        .kind = LAZY_LOAD_BUFFER, .dtype = (uint8_t)dtype, .slot = (int16_t)place, .read.stride = {first, second}};
    return place < 0 ? LOWER_NO_VALUE : memory_read(c->s, load);
}

/* Input k of the call, from an element on, by these strides. */
static int32_t read_input(const calling *c, int k, int64_t element, int64_t first, int64_t second) {
    const int dtype = c->item->step->call.in[k].dtype;
    return read_place(c, dtype, place_at(c, k, c->item->step->offsets[k] + element, dtype), first, second);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */
static bool copy(const calling *c, int dtype, int64_t size, int from, int to) {
    const lower_loop before = memory_begin(c->s);
    const bool along = size > 1;
    if (size < 1 || size > MEMORY_LONG || dtype >= NEAP_DTYPE_C64)
        return false;
    const lazy_sink sink = {.kind = LAZY_SINK_STORE,
                            .dtype = (uint8_t)dtype,
                            .slot = (int16_t)to,
                            .value = read_place(c, dtype, from, 0, along),
                            .write.stride = {0, along}};
    return memory_end(c->s, &before, 2, 1, size, sink.value != LOWER_NO_VALUE && to >= 0 && memory_write(c->s, sink));
}

bool memory_copy(lower_memory *s, const lower_scope *in, const body_item *item) {
    const calling c = {s, in, item};
    const body_address *to = &in->body->pointers.at[item->first + 1];
    const lazy_runner *runner = in->outer ? in->node->inner : s->parts.runner;
    bool truth = runner->kind->condition && !in->outer && in->which == 0;
    int dtype = truth ? NEAP_DTYPE_BOOL : runner->out_dtypes[to->index];
    int64_t size = (int64_t)item->bytes / neap_dtype_bytes(dtype);
    return copy(&c, dtype, size, place_at(&c, 0, 0, dtype), place_at(&c, 1, 0, dtype));
}

static bool add_copy(const calling *c, const lazy_intrinsic *intrinsic) {
    const lazy_tensor *out = c->item->step->call.out;
    lower_place from =
        lower_scope_pointer(c->s->parts.runner, c->in, c->item, 0, c->item->step->offsets[0] + intrinsic->first);
    return copy(c, out->dtype, out->size, memory_place(c->s, from), place_at(c, 1, 0, out->dtype));
}

/* ---- Rows at places that are data -------------------------------------------------------------------------------- */
/* What the row of a PUT was, with what is joined to it. */
static int32_t join(const calling *c, const lazy_intrinsic *intrinsic, const lazy_sink *put) {
    lower_memory *s = c->s;
    const uint8_t dtype = put->dtype;
    const lazy_load table = {.kind = LAZY_LOAD_TABLE,
                             .dtype = dtype,
                             .slot = put->slot,
                             .read = put->write,
                             .extent = put->extent,
                             .step = put->step};
    lazy_ins take = {.op = LAZY_OP_take, .dtype = dtype, .result = dtype, .narg = 2};
    lazy_ins joins = {.op = (int16_t)intrinsic->joins, .dtype = dtype, .result = dtype, .narg = 2};
    take.arg[0] = memory_read(s, table), take.arg[1] = put->index;
    joins.arg[0] = take.arg[0] != LOWER_NO_VALUE ? memory_map(s, take) : LOWER_NO_VALUE, joins.arg[1] = put->value;
    return joins.arg[0] != LOWER_NO_VALUE ? memory_map(s, joins) : LOWER_NO_VALUE;
}

static bool add_put(const calling *c, const lazy_intrinsic *intrinsic, int64_t k) {
    lower_memory *s = c->s;
    const int dtype = c->item->step->call.out->dtype;
    const bool along = intrinsic->inner > 1;
    const lower_loop before = memory_begin(s);
    lazy_sink put = {.kind = LAZY_SINK_PUT,
                     .dtype = (uint8_t)dtype,
                     .slot = place_at(c, 3, 0, dtype),
                     .write.stride = {0, along},
                     .extent = intrinsic->size,
                     .step = intrinsic->inner};
    put.index = read_input(c, 1, k, 0, 0);
    put.value = read_input(c, 2, k * intrinsic->inner, 0, along);
    const bool done = put.slot >= 0 && put.index != LOWER_NO_VALUE && put.value != LOWER_NO_VALUE;
    if (done && intrinsic->joins >= 0)
        put.value = join(c, intrinsic, &put);
    return memory_end(s, &before, 2, 1, intrinsic->inner, done && put.value != LOWER_NO_VALUE && memory_write(s, put));
}

static bool add_puts(const calling *c, const lazy_intrinsic *intrinsic) {
    lower_parts *p = &c->s->parts;
    const int64_t items = p->items.n, loops = p->loops.n;
    const lower_loop before = memory_begin(c->s);
    if (intrinsic->n < 1 || intrinsic->n > FEW_PUTS || intrinsic->size < 1 || intrinsic->inner < 1 ||
        intrinsic->inner > MEMORY_LONG || intrinsic->size > INT32_MAX / intrinsic->inner ||
        c->item->step->call.out->dtype >= NEAP_DTYPE_C64)
        return false;
    bool done = true;
    for (int64_t k = 0; k < intrinsic->n && done; k++)
        done = add_put(c, intrinsic, k);
    if (!done) {
        p->items.n = items, p->loops.n = loops;
        p->loads.n = before.loads, p->ins.n = before.ins, p->sinks.n = before.sinks;
    }
    return done;
}

/* ---- Products by a vector ---------------------------------------------------------------------------------------- */
/* Each element is the reduction of products, whose terms lie side by side, or from row to row. */
static bool add_dot(const calling *c, const lazy_intrinsic *intrinsic) {
    lower_memory *s = c->s;
    const uint8_t dtype = c->item->step->call.out->dtype;
    const bool down = intrinsic->apart != 1;
    const lower_loop before = memory_begin(s);
    lower_place zero;
    if (intrinsic->inner < 2 || intrinsic->inner > (down ? LAZY_LEAF : MEMORY_LONG_ROW) ||
        intrinsic->size > MEMORY_LONG / intrinsic->inner || intrinsic->step > INT32_MAX ||
        intrinsic->apart > INT32_MAX || s->folds >= NATIVE_FOLDS_MAX || !native_has_fold(LAZY_OP_sum, dtype) ||
        !lower_add_constant(&s->parts, (int64_t)sizeof(lazy_scalar), &zero))
        return false;
    const lazy_load result = {.kind = LAZY_LOAD_RESULT, .dtype = dtype};
    lazy_ins product = {.op = LAZY_OP_multiply, .dtype = dtype, .result = dtype, .narg = 2};
    lazy_ins whole = {.op = LAZY_OP_add, .dtype = dtype, .result = dtype, .narg = 2};
    product.arg[0] = read_input(c, intrinsic->matrix, 0, intrinsic->step, intrinsic->apart);
    product.arg[1] = read_input(c, 1 - intrinsic->matrix, 0, 0, 1);
    whole.arg[0] = memory_read(s, result), whole.arg[1] = memory_read_single(s, dtype, zero);
    bool done = true;
    for (int a = 0; a < 2; a++)
        done &= product.arg[a] != LOWER_NO_VALUE && whole.arg[a] != LOWER_NO_VALUE;
    lazy_sink sum = {.kind = LAZY_SINK_REDUCE, .dtype = dtype, .op = LAZY_OP_sum, .slot = -1};
    lazy_sink store = {.kind = LAZY_SINK_STORE_ROW, .dtype = dtype, .write.stride = {1, 0}};
    sum.value = done ? memory_map(s, product) : LOWER_NO_VALUE;
    store.value = done ? memory_map(s, whole) : LOWER_NO_VALUE;
    store.slot = place_at(c, 2, 0, dtype);
    done = done && sum.value != LOWER_NO_VALUE && store.value != LOWER_NO_VALUE && store.slot >= 0 &&
           memory_write(s, sum) && memory_write(s, store);
    return memory_end(s, &before, 1, intrinsic->size, intrinsic->inner, done);
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
bool memory_turn(lower_memory *s, const lower_scope *in, const body_item *item) {
    const calling c = {s, in, item};
    const lazy_call *call = &item->step->call;
    lazy_intrinsic intrinsic = {.joins = -1};
    bool done = call->op->intrinsic && call->op->intrinsic(call, &intrinsic);
    if (done)
        done = intrinsic.what == LAZY_INTRINSIC_COPY  ? add_copy(&c, &intrinsic)
               : intrinsic.what == LAZY_INTRINSIC_PUT ? add_puts(&c, &intrinsic)
                                                      : add_dot(&c, &intrinsic);
    s->maps += done && intrinsic.what != LAZY_INTRINSIC_COPY;
    return done;
}
