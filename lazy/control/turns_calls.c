/* turns_calls.c: calls that need not be called: their rows say what else does their work (lazy_op.turn), which is a
 * stage of maps, with a reduction, or of one row that is written at a place that is data.
 */
#include "lazy/control/turns_stages.h"

#include "lazy/vm/kernel.h"
#include "ops_gen.h"

enum { FEW_PUTS = 4 };

typedef struct calling { /* a call that becomes stages */
    turns_stager *s;
    const turns_scope *in;
    const body_item *item;
} calling;

/* An operand of the item, some elements of a dtype behind where pointer `slot` leads to. */
static native_operand operand_at(const calling *c, int slot, int64_t element, int dtype, bool along, int64_t across) {
    turns_place place = turns_scope_pointer(c->s->runner, c->in, c->item, slot, element * neap_dtype_bytes(dtype));
    return (native_operand){.place = stager_place(c->s, place), .along = along, .across = (int32_t)across};
}

/* Input k of the call, from an element on. */
static native_operand input_at(const calling *c, int k, int64_t element, bool along, int64_t across) {
    return operand_at(c, k, c->item->step->offsets[k] + element, c->item->step->call.in[k].dtype, along, across);
}

static int32_t read(const calling *c, int dtype, native_operand operand) {
    return operand.place < 0 ? STAGER_NONE : stager_read(c->s, dtype, operand);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */
static bool copy(const calling *c, int dtype, int64_t size, native_operand from, native_operand to) {
    stager_mark before = stager_begin(c->s);
    if (size < 1 || size > STAGER_LONG || dtype >= NEAP_DTYPE_C64)
        return false;
    int32_t value = read(c, dtype, from);
    return stager_end(c->s, &before, 1, size, value != STAGER_NONE && to.place >= 0 && stager_write(c->s, value, to));
}

bool stager_copy(turns_stager *s, const turns_scope *in, const body_item *item) {
    const calling c = {s, in, item};
    const body_address *to = &in->body->pointers.at[item->first + 1];
    const lazy_runner *runner = in->outer ? in->node->inner : s->runner;
    bool truth = runner->kind->condition && !in->outer && in->which == 0;
    int dtype = truth ? NEAP_DTYPE_BOOL : runner->out_dtypes[to->index];
    int64_t size = (int64_t)item->bytes / neap_dtype_bytes(dtype);
    return copy(&c, dtype, size, operand_at(&c, 0, 0, dtype, size > 1, 0), operand_at(&c, 1, 0, dtype, size > 1, 0));
}

static bool add_copy(const calling *c, const lazy_turn *turn) {
    const lazy_tensor *out = c->item->step->call.out;
    bool along = out->size > 1;
    turns_place from = turns_scope_pointer(c->s->runner, c->in, c->item, 0, c->item->step->offsets[0] + turn->first);
    native_operand operand = {.place = stager_place(c->s, from), .along = along};
    return copy(c, out->dtype, out->size, operand, operand_at(c, 1, 0, out->dtype, along, 0));
}

/* ---- Rows at places that are data -------------------------------------------------------------------------------- */
static bool add_put(const calling *c, const lazy_turn *turn, int64_t k) {
    turns_stager *s = c->s;
    int dtype = c->item->step->call.out->dtype;
    bool along = turn->inner > 1;
    stager_mark before = stager_begin(s);
    native_operand to = operand_at(c, 3, 0, dtype, along, 0);
    to.extent = (int32_t)turn->size, to.step = (int32_t)turn->inner;
    to.index = read(c, c->item->step->call.in[1].dtype, input_at(c, 1, k, false, 0));
    int32_t value = read(c, dtype, input_at(c, 2, k * turn->inner, along, 0));
    bool done = to.place >= 0 && to.index != STAGER_NONE && value != STAGER_NONE;
    if (done && turn->joins >= 0) {
        native_operand from = to;
        from.index = 0;
        lazy_ins take = {.op = LAZY_OP_take, .dtype = (uint8_t)dtype, .result = (uint8_t)dtype, .narg = 2};
        lazy_ins join = {.op = (int16_t)turn->joins, .dtype = (uint8_t)dtype, .result = (uint8_t)dtype, .narg = 2};
        take.arg[0] = read(c, dtype, from), take.arg[1] = to.index;
        join.arg[0] = take.arg[0] != STAGER_NONE ? stager_map(s, take) : STAGER_NONE, join.arg[1] = value;
        value = join.arg[0] != STAGER_NONE ? stager_map(s, join) : STAGER_NONE;
    }
    return stager_end(s, &before, 1, turn->inner, done && value != STAGER_NONE && stager_write(s, value, to));
}

static bool add_puts(const calling *c, const lazy_turn *turn) {
    int dtype = c->item->step->call.out->dtype;
    int64_t maps = c->s->list.n;
    if (turn->n > FEW_PUTS || turn->size < 1 || turn->inner < 1 || turn->inner > STAGER_LONG ||
        turn->size > INT32_MAX / turn->inner || dtype >= NEAP_DTYPE_C64)
        return false;
    bool done = true;
    for (int64_t k = 0; k < turn->n && done; k++)
        done = add_put(c, turn, k);
    c->s->list.n = done ? c->s->list.n : maps;
    return done;
}

/* ---- Products by a vector ---------------------------------------------------------------------------------------- */
/* Where the terms lie side by side an element is the reduction of a row of products; else rows have a product for each
 * element, which are reduced down the columns. */
static bool add_dot(const calling *c, const lazy_turn *turn) {
    turns_stager *s = c->s;
    const uint8_t dtype = c->item->step->call.out->dtype;
    const bool down = turn->apart != 1;
    stager_mark before = stager_begin(s);
    lazy_scalar *zero;
    if (turn->inner < 2 || turn->inner > (down ? LAZY_LEAF : STAGER_LONG_ROW) ||
        turn->size > STAGER_LONG / turn->inner || turn->step > INT32_MAX || turn->apart > INT32_MAX ||
        s->folds.n >= NATIVE_FOLDS_MAX || !native_has_fold(LAZY_OP_sum, dtype))
        return false;
    native_operand none = {.place = stager_constants(s, (int64_t)sizeof *zero, &zero)},
                   sum = {.place = ~(int32_t)s->folds.n, .along = down};
    lazy_ins product = {.op = LAZY_OP_multiply, .dtype = dtype, .result = dtype, .narg = 2};
    lazy_ins whole = {.op = LAZY_OP_add, .dtype = dtype, .result = dtype, .narg = 2};
    product.arg[0] = read(c, dtype, input_at(c, turn->matrix, 0, true, down ? turn->apart : turn->step));
    product.arg[1] = read(c, dtype, input_at(c, 1 - turn->matrix, 0, !down, down));
    whole.arg[0] = stager_read(s, dtype, sum), whole.arg[1] = read(c, dtype, none);
    bool done = true;
    for (int a = 0; a < 2; a++)
        done &= product.arg[a] != STAGER_NONE && whole.arg[a] != STAGER_NONE;
    native_fold fold = {.op = LAZY_OP_sum, .dtype = dtype, .value = done ? stager_map(s, product) : 0};
    int32_t value = done ? stager_map(s, whole) : STAGER_NONE;
    native_operand to = operand_at(c, 2, 0, dtype, down, !down);
    done = done && fold.value != STAGER_NONE && value != STAGER_NONE && to.place >= 0 &&
           turns_pushed(&s->parts, lazy_push(&s->folds, fold)) && stager_write(s, value, to);
    done = stager_end(s, &before, down ? turn->inner : turn->size, down ? turn->size : turn->inner, done);
    if (done && down)
        s->list.at[s->list.n - 1].what = NATIVE_COLUMNS;
    return done;
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
