/* turns_calls.c: calls that need not be called: their rows say what else does their work (lazy_op.turn), which is a
 * loop of maps, with a reduction, or of one row that is written at a place that is data.
 */
#include "lazy/control/turns_stages.h"

#include "lazy/vm/kernel.h"
#include "ops_gen.h"

enum { FEW_PUTS = 4 };

typedef struct calling { /* a call that becomes loops */
    turns_stager *s;
    const turns_scope *in;
    const body_item *item;
} calling;

/* Where pointer `slot` of the item leads to, some elements of a dtype on. */
static int16_t place_at(const calling *c, int slot, int64_t element, int dtype) {
    const int64_t offset = element * neap_dtype_bytes(dtype);
    return (int16_t)stager_place(c->s, turns_scope_pointer(c->s->parts.runner, c->in, c->item, slot, offset));
}

static int32_t read_place(const calling *c, int dtype, int place, int64_t first, int64_t second) {
    const lazy_load load = {
        .kind = LAZY_LOAD_BUFFER, .dtype = (uint8_t)dtype, .slot = (int16_t)place, .read.stride = {first, second}};
    return place < 0 ? TURNS_NO_VALUE : stager_read(c->s, load);
}

/* Input k of the call, from an element on, by these strides. */
static int32_t read_input(const calling *c, int k, int64_t element, int64_t first, int64_t second) {
    const int dtype = c->item->step->call.in[k].dtype;
    return read_place(c, dtype, place_at(c, k, c->item->step->offsets[k] + element, dtype), first, second);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */
static bool copy(const calling *c, int dtype, int64_t size, int from, int to) {
    const turns_loop before = stager_begin(c->s);
    const bool along = size > 1;
    if (size < 1 || size > STAGER_LONG || dtype >= NEAP_DTYPE_C64)
        return false;
    const lazy_sink sink = {.kind = LAZY_SINK_STORE,
                            .dtype = (uint8_t)dtype,
                            .slot = (int16_t)to,
                            .value = read_place(c, dtype, from, 0, along),
                            .write.stride = {0, along}};
    return stager_end(c->s, &before, 2, 1, size, sink.value != TURNS_NO_VALUE && to >= 0 && stager_write(c->s, sink));
}

bool stager_copy(turns_stager *s, const turns_scope *in, const body_item *item) {
    const calling c = {s, in, item};
    const body_address *to = &in->body->pointers.at[item->first + 1];
    const lazy_runner *runner = in->outer ? in->node->inner : s->parts.runner;
    bool truth = runner->kind->condition && !in->outer && in->which == 0;
    int dtype = truth ? NEAP_DTYPE_BOOL : runner->out_dtypes[to->index];
    int64_t size = (int64_t)item->bytes / neap_dtype_bytes(dtype);
    return copy(&c, dtype, size, place_at(&c, 0, 0, dtype), place_at(&c, 1, 0, dtype));
}

static bool add_copy(const calling *c, const lazy_turn *turn) {
    const lazy_tensor *out = c->item->step->call.out;
    turns_place from =
        turns_scope_pointer(c->s->parts.runner, c->in, c->item, 0, c->item->step->offsets[0] + turn->first);
    return copy(c, out->dtype, out->size, stager_place(c->s, from), place_at(c, 1, 0, out->dtype));
}

/* ---- Rows at places that are data -------------------------------------------------------------------------------- */
/* What the row of a PUT was, with what is joined to it. */
static int32_t join(const calling *c, const lazy_turn *turn, const lazy_sink *put) {
    turns_stager *s = c->s;
    const uint8_t dtype = put->dtype;
    const lazy_load table = {.kind = LAZY_LOAD_TABLE,
                             .dtype = dtype,
                             .slot = put->slot,
                             .read = put->write,
                             .extent = put->extent,
                             .step = put->step};
    lazy_ins take = {.op = LAZY_OP_take, .dtype = dtype, .result = dtype, .narg = 2};
    lazy_ins joins = {.op = (int16_t)turn->joins, .dtype = dtype, .result = dtype, .narg = 2};
    take.arg[0] = stager_read(s, table), take.arg[1] = put->index;
    joins.arg[0] = take.arg[0] != TURNS_NO_VALUE ? stager_map(s, take) : TURNS_NO_VALUE, joins.arg[1] = put->value;
    return joins.arg[0] != TURNS_NO_VALUE ? stager_map(s, joins) : TURNS_NO_VALUE;
}

static bool add_put(const calling *c, const lazy_turn *turn, int64_t k) {
    turns_stager *s = c->s;
    const int dtype = c->item->step->call.out->dtype;
    const bool along = turn->inner > 1;
    const turns_loop before = stager_begin(s);
    lazy_sink put = {.kind = LAZY_SINK_PUT,
                     .dtype = (uint8_t)dtype,
                     .slot = place_at(c, 3, 0, dtype),
                     .write.stride = {0, along},
                     .extent = turn->size,
                     .step = turn->inner};
    put.index = read_input(c, 1, k, 0, 0);
    put.value = read_input(c, 2, k * turn->inner, 0, along);
    const bool done = put.slot >= 0 && put.index != TURNS_NO_VALUE && put.value != TURNS_NO_VALUE;
    if (done && turn->joins >= 0)
        put.value = join(c, turn, &put);
    return stager_end(s, &before, 2, 1, turn->inner, done && put.value != TURNS_NO_VALUE && stager_write(s, put));
}

static bool add_puts(const calling *c, const lazy_turn *turn) {
    turns_parts *p = &c->s->parts;
    const int64_t items = p->items.n, loops = p->loops.n;
    const turns_loop before = stager_begin(c->s);
    if (turn->n > FEW_PUTS || turn->size < 1 || turn->inner < 1 || turn->inner > STAGER_LONG ||
        turn->size > INT32_MAX / turn->inner || c->item->step->call.out->dtype >= NEAP_DTYPE_C64)
        return false;
    bool done = true;
    for (int64_t k = 0; k < turn->n && done; k++)
        done = add_put(c, turn, k);
    if (!done) {
        p->items.n = items, p->loops.n = loops;
        p->loads.n = before.loads, p->ins.n = before.ins, p->sinks.n = before.sinks;
    }
    return done;
}

/* ---- Products by a vector ---------------------------------------------------------------------------------------- */
/* Each element is the reduction of products, whose terms lie side by side, or from row to row. */
static bool add_dot(const calling *c, const lazy_turn *turn) {
    turns_stager *s = c->s;
    const uint8_t dtype = c->item->step->call.out->dtype;
    const bool down = turn->apart != 1;
    const turns_loop before = stager_begin(s);
    turns_place zero;
    if (turn->inner < 2 || turn->inner > (down ? LAZY_LEAF : STAGER_LONG_ROW) ||
        turn->size > STAGER_LONG / turn->inner || turn->step > INT32_MAX || turn->apart > INT32_MAX ||
        s->folds >= NATIVE_FOLDS_MAX || !native_has_fold(LAZY_OP_sum, dtype) ||
        !turns_add_constant(&s->parts, (int64_t)sizeof(lazy_scalar), &zero))
        return false;
    const lazy_load result = {.kind = LAZY_LOAD_RESULT, .dtype = dtype};
    lazy_ins product = {.op = LAZY_OP_multiply, .dtype = dtype, .result = dtype, .narg = 2};
    lazy_ins whole = {.op = LAZY_OP_add, .dtype = dtype, .result = dtype, .narg = 2};
    product.arg[0] = read_input(c, turn->matrix, 0, turn->step, turn->apart);
    product.arg[1] = read_input(c, 1 - turn->matrix, 0, 0, 1);
    whole.arg[0] = stager_read(s, result), whole.arg[1] = stager_read_single(s, dtype, zero);
    bool done = true;
    for (int a = 0; a < 2; a++)
        done &= product.arg[a] != TURNS_NO_VALUE && whole.arg[a] != TURNS_NO_VALUE;
    lazy_sink sum = {.kind = LAZY_SINK_REDUCE, .dtype = dtype, .op = LAZY_OP_sum, .slot = -1};
    lazy_sink store = {.kind = LAZY_SINK_STORE_ROW, .dtype = dtype, .write.stride = {1, 0}};
    sum.value = done ? stager_map(s, product) : TURNS_NO_VALUE;
    store.value = done ? stager_map(s, whole) : TURNS_NO_VALUE;
    store.slot = place_at(c, 2, 0, dtype);
    done = done && sum.value != TURNS_NO_VALUE && store.value != TURNS_NO_VALUE && store.slot >= 0 &&
           stager_write(s, sum) && stager_write(s, store);
    return stager_end(s, &before, 1, turn->size, turn->inner, done);
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
bool stager_turn(turns_stager *s, const turns_scope *in, const body_item *item) {
    const calling c = {s, in, item};
    const lazy_call *call = &item->step->call;
    lazy_turn turn = {.joins = -1};
    bool done = call->op->turn && call->op->turn(call, &turn);
    if (done)
        done = turn.what == LAZY_TURN_COPY  ? add_copy(&c, &turn)
               : turn.what == LAZY_TURN_PUT ? add_puts(&c, &turn)
                                            : add_dot(&c, &turn);
    s->maps += done && turn.what != LAZY_TURN_COPY;
    return done;
}
