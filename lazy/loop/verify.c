/* loop/verify.c: the rules of every loop, whoever writes the loop. A broken rule is a mistake of neap's own.
 *
 *   1. The domain is a box of at most LAZY_MAX_DOMAIN axes whose elements can be counted. Axes are reduced only where a
 *      sink works on rows; a collapsed loop may have lost them. There are LAZY_KERNEL_MAX_INS instructions at most.
 *   2. A load has a kind and a dtype. An iota is never of bools; a table has rows.
 *   3. An instruction is a map, or takes from a table, and reads as many earlier values as its row says. A single
 *      instruction reads a table, as operand 0.
 *   4. Operands and result of an instruction have the dtypes of its row.
 *   5. A sink takes a value of its dtype. A REDUCE names a reduction; a reduction to an index gives i32.
 *   6. A sink of rows does not move along reduced axes.
 *   7. A RESULT is the result of a REDUCE, in its dtype; the REDUCE's operand stands before all readers of the result.
 *   8. STORE_ROW stores a value that is constant along a row. Rows that are read again after a reduction fit into
 *      LAZY_ROW_MAX.
 *  Sequences:
 *   9. Items are existing loops, calls and tests, at existing places; a test guards existing items.
 *  10. Loads and sinks are at places of the sequence. A VALUE is a value of an earlier loop, in its dtype.
 *  11. A carried value is a load, at a place of its own, and has the dtype of the next value.
 *  12. The condition of another iteration is a place, or in registers a bool of the first instructions.
 */
#include "lazy/loop/verify.h"

#include <stdarg.h>
#include <stdio.h>

#include "engine/engine.h"

bool loop_breaks(loop_fault *fault, int rule, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fault->rule = rule;
    vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    return false;
}

int64_t loop_count_elements(int n, const int64_t *shape) {
    int64_t count = 1;
    for (int k = 0; k < n; k++)
        if (shape[k] < 0 || __builtin_mul_overflow(count, shape[k], &count))
            return -1;
    return count;
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */
static bool works_on_rows(const lazy_kernel *loop) {
    for (int k = 0; k < loop->nsinks; k++)
        if (loop->sinks[k].kind == LAZY_SINK_STORE_ROW || loop->sinks[k].kind == LAZY_SINK_REDUCE)
            return true;
    return false;
}

bool loop_check_domain(const lazy_kernel *loop, loop_fault *f) {
    if (loop->nkept < 0 || loop->nkept > loop->ndim || loop->ndim > LAZY_MAX_DOMAIN)
        return loop_breaks(f, 1, "the domain has %d axes, of which %d are kept", loop->ndim, loop->nkept);
    for (int k = 0; k < loop->ndim; k++)
        if (loop->shape[k] < 0)
            return loop_breaks(f, 1, "axis %d has %lld elements", k, (long long)loop->shape[k]);
    if (loop_count_elements(loop->ndim, loop->shape) < 0)
        return loop_breaks(f, 1, "the domain has more elements than 64 bits count");
    if (loop->nkept < loop->ndim && !works_on_rows(loop))
        return loop_breaks(f, 1, "%d of %d axes are reduced, but no sink works on rows", loop->ndim - loop->nkept,
                           loop->ndim);
    if (loop->nins > LAZY_KERNEL_MAX_INS)
        return loop_breaks(f, 1, "there are %d instructions", loop->nins);
    return loop->nsinks > 0 || loop_breaks(f, 1, "there are no sinks");
}

bool loop_check_load(const lazy_kernel *loop, int k, loop_fault *f) {
    const lazy_load *load = &loop->loads[k];
    if (load->kind > LAZY_LOAD_VALUE || load->dtype >= NEAP_DTYPE_COUNT)
        return loop_breaks(f, 2, "load %d is of kind %d and dtype %d", k, load->kind, load->dtype);
    if (load->kind == LAZY_LOAD_IOTA && neap_dtype_kind(load->dtype) == 'b')
        return loop_breaks(f, 2, "load %d is an iota of bools", k);
    if (load->kind == LAZY_LOAD_TABLE && load->extent <= 0 && loop_count_elements(loop->ndim, loop->shape) > 0)
        return loop_breaks(f, 2, "load %d is a table of %lld rows", k, (long long)load->extent);
    if (load->kind != LAZY_LOAD_RESULT)
        return true;
    if (load->slot < 0 || load->slot >= loop->nsinks || loop->sinks[load->slot].kind != LAZY_SINK_REDUCE)
        return loop_breaks(f, 7, "load %d is the result of sink %d, which is no reduction", k, load->slot);
    if (loop->sinks[load->slot].dtype != load->dtype)
        return loop_breaks(f, 7, "load %d is the result of sink %d, but in %s", k, load->slot,
                           neap_dtype_name(load->dtype));
    return true;
}

static bool is_table(const lazy_kernel *loop, int32_t value) {
    return value < loop->nloads && loop->loads[value].kind == LAZY_LOAD_TABLE;
}

static bool check_operand(const lazy_kernel *loop, int i, int k, const lazy_op *row, loop_fault *f) {
    const int32_t value = loop->ins[i].arg[k];
    if (value < 0 || value >= loop->nloads + i)
        return loop_breaks(f, 3, "instruction %d (%s) reads value %d, which is not there yet", i, row->name, value);
    if (is_table(loop, value) != (row->kind == LAZY_GATHER && k == 0))
        return loop_breaks(f, 3, "instruction %d (%s) reads value %d, which is %s table", i, row->name, value,
                           is_table(loop, value) ? "a" : "no");
    for (int j = 0; j < i && is_table(loop, value); j++)
        if (loop->ins[j].arg[0] == value)
            return loop_breaks(f, 3, "instructions %d and %d read one table", j, i);
    return true;
}

static bool check_instruction(const lazy_kernel *loop, int i, loop_dtype_rule dtypes, loop_fault *f) {
    const lazy_ins *ins = &loop->ins[i];
    const lazy_op *row = ins->op >= 0 && ins->op < lazy_op_count ? lazy_ops[ins->op] : NULL;
    if (!row || (row->kind != LAZY_MAP && row->kind != LAZY_GATHER))
        return loop_breaks(f, 3, "instruction %d (%s) is no map", i, row ? row->name : "?");
    if (ins->narg != row->arity || ins->narg > 3)
        return loop_breaks(f, 3, "instruction %d (%s) has %d operands", i, row->name, ins->narg);
    if (ins->dtype >= NEAP_DTYPE_COUNT || ins->result >= NEAP_DTYPE_COUNT)
        return loop_breaks(f, 4, "instruction %d (%s) is of dtypes %d, %d", i, row->name, ins->dtype, ins->result);
    for (int k = 0; k < ins->narg; k++)
        if (!check_operand(loop, i, k, row, f))
            return false;
    return !dtypes || dtypes(loop, i, f);
}

static bool check_sink(const lazy_kernel *loop, int k, loop_fault *f) {
    const lazy_sink *sink = &loop->sinks[k];
    if (sink->kind > LAZY_SINK_PUT || sink->value < 0 || sink->value >= loop->nloads + loop->nins)
        return loop_breaks(f, 5, "sink %d is of kind %d and takes value %d", k, sink->kind, sink->value);
    if (is_table(loop, sink->value))
        return loop_breaks(f, 3, "sink %d takes value %d, which is a table", k, sink->value);
    int dtype = loop_dtype_of(loop, sink->value), want = dtype;
    if (sink->kind == LAZY_SINK_REDUCE) {
        const lazy_op *row = sink->op >= 0 && sink->op < lazy_op_count ? lazy_ops[sink->op] : NULL;
        if (!row || row->kind != LAZY_REDUCE)
            return loop_breaks(f, 5, "sink %d (%s) is no reduction", k, row ? row->name : "?");
        want = row->flags & LAZY_OP_ARG ? NEAP_DTYPE_I32 : dtype;
    } else if (sink->slot < 0) {
        return loop_breaks(f, 5, "sink %d stores nothing", k);
    }
    if (sink->dtype != want)
        return loop_breaks(f, 5, "sink %d is of dtype %d, but its value of dtype %s", k, sink->dtype,
                           neap_dtype_name(dtype));
    for (int a = loop_sink_axes(loop, sink); a < loop->ndim && sink->slot >= 0; a++)
        if (sink->write.stride[a])
            return loop_breaks(f, 6, "sink %d moves along axis %d, which is reduced", k, a);
    return true;
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
enum { VALUE_VARIES = 1, VALUE_LATE = 2 }; /* inside a row; depends on a reduction of the loop */

static uint8_t load_state(const lazy_kernel *loop, const lazy_load *load) {
    if (load->kind == LAZY_LOAD_RESULT)
        return VALUE_LATE;
    for (int a = loop->nkept; a < loop->ndim; a++)
        if (loop->shape[a] > 1 && load->read.stride[a])
            return VALUE_VARIES;
    return 0;
}

static bool check_row(const lazy_kernel *loop, const char *what, int k, loop_fault *f) {
    int64_t row = loop_count_elements(loop->ndim - loop->nkept, loop->shape + loop->nkept);
    return row <= LAZY_ROW_MAX ||
           loop_breaks(f, 8, "%s %d reads rows of %lld elements a second time", what, k, (long long)row);
}

/* The operand of a reduction stands before the readers of the result. */
static bool check_late_operand(const lazy_kernel *loop, const char *what, int k, int32_t value, int32_t limit,
                               loop_fault *f) {
    if (value >= loop->nloads || loop->loads[value].kind != LAZY_LOAD_RESULT)
        return true;
    int sink = loop->loads[value].slot;
    return loop->sinks[sink].value < limit ||
           loop_breaks(f, 7, "%s %d reads the result of sink %d before its operand is there", what, k, sink);
}

static bool check_sink_rows(const lazy_kernel *loop, const uint8_t *state, int k, loop_fault *f) {
    const lazy_sink *sink = &loop->sinks[k];
    int32_t value = sink->value;
    if (sink->kind == LAZY_SINK_STORE_ROW)
        return !(state[value] & VALUE_VARIES) || loop_breaks(f, 8, "sink %d stores a value that varies inside rows", k);
    if (sink->kind == LAZY_SINK_REDUCE && value < loop->nloads && loop->loads[value].kind == LAZY_LOAD_RESULT &&
        loop->loads[value].slot >= k)
        return loop_breaks(f, 7, "sink %d reduces the result of sink %d", k, loop->loads[value].slot);
    return !(state[value] & VALUE_LATE) || check_row(loop, "sink", k, f);
}

static bool check_rows(const lazy_kernel *loop, uint8_t *state, loop_fault *f) {
    bool fine = true;
    for (int k = 0; k < loop->nloads; k++)
        state[k] = load_state(loop, &loop->loads[k]);
    for (int i = 0; i < loop->nins && fine; i++) {
        int32_t value = loop->nloads + i;
        for (int k = 0; k < loop->ins[i].narg && fine; k++) {
            state[value] |= state[loop->ins[i].arg[k]];
            fine = check_late_operand(loop, "instruction", i, loop->ins[i].arg[k], value, f);
        }
        if (fine && state[value] == (VALUE_LATE | VALUE_VARIES))
            fine = check_row(loop, "instruction", i, f);
    }
    for (int k = 0; k < loop->nsinks && fine; k++)
        fine = check_sink_rows(loop, state, k, f);
    return fine;
}

int loop_check(const lazy_kernel *loop, loop_dtype_rule dtypes, loop_fault *f) {
    bool fine = loop_check_domain(loop, f);
    for (int k = 0; k < loop->nloads && fine; k++)
        fine = loop_check_load(loop, k, f);
    for (int i = 0; i < loop->nins && fine; i++)
        fine = check_instruction(loop, i, dtypes, f);
    for (int k = 0; k < loop->nsinks && fine; k++)
        fine = check_sink(loop, k, f);
    uint8_t *state = calloc((size_t)(loop->nloads + loop->nins) + 1, 1);
    if (!state)
        return NEAP_E_MEMORY;
    fine = fine && check_rows(loop, state, f);
    free(state);
    return fine ? 0 : NEAP_E_INTERNAL;
}

static int say(const loop_fault *f, const char *pass, int loop) {
    return neap_error(NEAP_E_INTERNAL, "verify after %s: loop %d: rule %d: %s", pass, loop, f->rule, f->text);
}

int loop_verify(const lazy_kernel *loop, const char *pass) {
    loop_fault f;
    int status = loop_check(loop, NULL, &f);
    if (status == NEAP_E_MEMORY)
        return neap_error(status, "out of memory for the verifier");
    return status ? say(&f, pass, 0) : 0;
}

/* ---- Sequences --------------------------------------------------------------------------------------------------- */
typedef struct numbered { /* a value of all */
    int loop;
    int32_t value; /* in the loop, -1: none */
} numbered;

static numbered find(int nloops, const lazy_kernel *loops, int32_t value) {
    int k = 0;
    for (; value >= 0 && k < nloops && value >= loops[k].nloads + loops[k].nins; k++)
        value -= loops[k].nloads + loops[k].nins;
    return (numbered){k, k < nloops ? value : -1};
}

static bool is_place(const loop_sequence *s, int64_t place) {
    return place >= 0 && place < s->nplaces;
}

static bool check_item(const loop_sequence *s, int nloops, int k, loop_fault *f) {
    const loop_item *item = &s->items[k];
    bool fine = item->what == LOOP_FUSED  ? item->which >= 0 && item->which < nloops
                : item->what == LOOP_CALL ? item->first >= 0 && item->n >= 0 && item->first <= s->npointers - item->n
                                          : item->what == LOOP_CASE && is_place(s, item->first) && item->items >= 0 &&
                                                item->items < s->nitems - k && item->which < item->n;
    for (int p = 0; fine && item->what == LOOP_CALL && p < item->n; p++)
        fine = is_place(s, s->pointers[item->first + p]);
    return fine || loop_breaks(f, 9, "item %d is of kind %d, %d, at %d", k, item->what, item->which, item->first);
}

static bool check_places(const loop_sequence *s, int nloops, const lazy_kernel *loops, int at, loop_fault *f) {
    const lazy_kernel *loop = &loops[at];
    for (int k = 0; k < loop->nloads; k++) {
        const lazy_load *load = &loop->loads[k];
        if (loop_has_buffer(load) && !is_place(s, load->slot))
            return loop_breaks(f, 10, "load %d is at place %d of %d", k, load->slot, s->nplaces);
        numbered from = find(nloops, loops, load->slot);
        if (load->kind == LAZY_LOAD_VALUE &&
            (from.value < 0 || from.loop >= at || loop_dtype_of(&loops[from.loop], from.value) != load->dtype))
            return loop_breaks(f, 10, "load %d is value %d", k, load->slot);
    }
    for (int k = 0; k < loop->nsinks; k++) {
        const lazy_sink *sink = &loop->sinks[k];
        if (sink->slot >= 0 && !is_place(s, sink->slot))
            return loop_breaks(f, 10, "sink %d is at place %d of %d", k, sink->slot, s->nplaces);
        if (sink->kind == LAZY_SINK_PUT &&
            (sink->extent <= 0 || sink->index < 0 || sink->index >= loop->nloads + loop->nins))
            return loop_breaks(f, 10, "sink %d puts row %d of %lld", k, sink->index, (long long)sink->extent);
    }
    return true;
}

static bool check_carry(const loop_sequence *s, int nloops, const lazy_kernel *loops, int k, loop_fault *f) {
    numbered load = find(nloops, loops, s->carries[k].load), next = find(nloops, loops, s->carries[k].next);
    bool fine = load.value >= 0 && next.value >= 0 && load.value < loops[load.loop].nloads &&
                loops[load.loop].loads[load.value].kind == LAZY_LOAD_BUFFER &&
                loop_dtype_of(&loops[load.loop], load.value) == loop_dtype_of(&loops[next.loop], next.value);
    return fine || loop_breaks(f, 11, "value %d is to be value %d", s->carries[k].load, s->carries[k].next);
}

static bool check_truth(const loop_sequence *s, const lazy_kernel *loops, loop_fault *f) {
    const int32_t most = s->in_registers ? loops->nloads + s->head : s->nplaces;
    bool fine = s->truth >= -1 && s->truth < most && s->head <= (s->in_registers ? loops->nins : s->nitems);
    if (fine && s->in_registers && s->truth >= 0)
        fine = loop_dtype_of(loops, s->truth) == NEAP_DTYPE_BOOL;
    return fine ||
           loop_breaks(f, 12, "%d says whether there is another iteration, of %d first ones", s->truth, s->head);
}

int loop_verify_sequence(const loop_sequence *s, int nloops, const lazy_kernel *loops, const char *pass) {
    loop_fault f;
    int k = 0;
    for (; k < nloops; k++) {
        int status = s->in_registers && loops[k].nsinks == 0 ? 0 : loop_check(&loops[k], NULL, &f);
        if (status == NEAP_E_MEMORY)
            return neap_error(status, "out of memory for the verifier");
        if (status || !check_places(s, nloops, loops, k, &f))
            return say(&f, pass, k);
    }
    bool fine = check_truth(s, loops, &f);
    for (int i = 0; i < s->nitems && fine; i++)
        fine = check_item(s, nloops, i, &f);
    for (int c = 0; c < s->ncarries && fine; c++)
        fine = check_carry(s, nloops, loops, c, &f);
    return fine ? 0 : say(&f, pass, -1);
}
