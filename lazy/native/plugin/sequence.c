/* plugin/sequence.c: the function of a sequence through memory, item by item (lazy/loop/sequence.h has them):
 *
 *      turn:   out of turns, or the first items leave false ─▶ end
 *              item, item, …  ── a call fails ─▶ out
 *              the other set of places ─▶ turn
 *
 * What a turn hands on in registers is read before the first turn: constants, and carries of one element.
 */
#include <stdlib.h>

#include "lazy/arena.h"
#include "lazy/dtype/dtype.h"
#include "lazy/native/plugin/sequence.h"

void sequence_enter(sequence_writer *w, int k) {
    ir_enter(w->g, k);
    const ptrdiff_t value = w->g->own.dtype - w->g->all.dtype, sink = w->g->own.idle - w->g->all.idle;
    w->own = (sequence_parts){.kept = w->all.kept + value,
                              .table = w->all.table + value,
                              .carry = w->all.carry + value,
                              .phase = w->all.phase + value,
                              .stored = w->all.stored + sink};
}

/* ---- Items ------------------------------------------------------------------------------------------------------- */
static void write_call(sequence_writer *w, const loop_item *item) {
    generator *g = w->g;
    LLVMBuilderRef B = g->builder;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(g->context), types[] = {g->pointer, g->word, g->pointer};
    LLVMValueRef at = LLVMGetParam(g->function, 0);
    for (int k = 0; k < item->n; k++) {
        LLVMValueRef index = ir_number(g, k), to = LLVMBuildGEP2(B, g->pointer, w->given, &index, 1, "");
        LLVMBuildStore(B, sequence_place_now(w, w->sequence->pointers[item->first + k]), to);
    }
    LLVMValueRef function = sequence_item(w, g->pointer, at, ir_number(g, 2 * w->sequence->nplaces));
    LLVMValueRef args[] = {sequence_item(w, g->pointer, at, ir_number(g, 2 * w->sequence->nplaces + 1)),
                           ir_number(g, item->which), w->given};
    LLVMValueRef status = LLVMBuildCall2(B, LLVMFunctionType(i32, types, 3, 0), function, args, 3, "");
    LLVMBasicBlockRef failed = ir_append(w->g, "failed"), done = ir_append(w->g, "done");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntEQ, status, LLVMConstNull(i32), ""), done, failed);
    LLVMPositionBuilderAtEnd(B, failed);
    LLVMBuildRet(B, LLVMBuildNot(B, w->turn, ""));
    LLVMPositionBuilderAtEnd(B, done);
}

/* Is the index of a case its own? */
static LLVMValueRef is_case(sequence_writer *w, const loop_item *item) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(w->g->context);
    LLVMValueRef own = LLVMConstInt(i32, (unsigned)item->which, 0);
    LLVMValueRef index = LLVMBuildLoad2(w->g->builder, i32, sequence_place_now(w, item->first), "");
    LLVMIntPredicate how = item->which == 0 ? LLVMIntSLE : item->which == item->n - 1 ? LLVMIntSGE : LLVMIntEQ;
    return LLVMBuildICmp(w->g->builder, how, index, own, "");
}

static void write_items(sequence_writer *w, int from, int to) {
    for (int k = from; k < to; k++) {
        const loop_item *item = &w->sequence->items[k];
        if (item->what == LOOP_CALL) {
            write_call(w, item);
        } else if (item->what == LOOP_CASE) {
            LLVMBasicBlockRef own = ir_append(w->g, "case"), behind = ir_append(w->g, "behind");
            LLVMBuildCondBr(w->g->builder, is_case(w, item), own, behind);
            LLVMPositionBuilderAtEnd(w->g->builder, own);
            write_items(w, k + 1, k + 1 + item->items);
            LLVMBuildBr(w->g->builder, behind);
            LLVMPositionBuilderAtEnd(w->g->builder, behind);
            k += item->items;
        } else {
            sequence_enter(w, item->which);
            (sequence_runs_down(w) ? sequence_write_columns : sequence_write_maps)(w);
        }
    }
}

/* ---- Carries ----------------------------------------------------------------------------------------------------- */
/* The load that is value v of all. */
static const lazy_load *load_at(const sequence_writer *w, int v) {
    const lazy_kernel *loop = w->g->body->loops;
    for (; v >= loop->nloads + loop->nins; loop++)
        v -= loop->nloads + loop->nins;
    return &loop->loads[v];
}

/* What is carried is read in front of the first turn, from the first set of places. */
static void begin_carries(sequence_writer *w) {
    generator *g = w->g;
    for (int k = 0; k < w->sequence->ncarries; k++) {
        const int v = w->sequence->carries[k].load;
        const lazy_load *load = load_at(w, v);
        LLVMTypeRef type = ir_vector(g, load->dtype);
        LLVMValueRef at = sequence_item(w, g->pointer, LLVMGetParam(g->function, 0), ir_number(g, load->slot));
        w->all.carry[v] = LLVMBuildAlloca(g->builder, type, "");
        LLVMBuildStore(g->builder, ir_splat(g, ir_load_single(g, at, load->dtype), type), w->all.carry[v]);
    }
}

static void carry_over(sequence_writer *w) {
    generator *g = w->g;
    for (int k = 0; k < w->sequence->ncarries; k++) {
        const loop_carry *carry = &w->sequence->carries[k];
        LLVMTypeRef type = ir_vector(g, g->all.dtype[carry->load]);
        if (carry->next != carry->load)
            LLVMBuildStore(g->builder, LLVMBuildLoad2(g->builder, type, g->all.values[carry->next], ""),
                           w->all.carry[carry->load]);
    }
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */
/* Places on the stack for the elements of a loop, and for what is reduced. */
static void make_places(sequence_writer *w) {
    generator *g = w->g;
    LLVMBuilderRef B = g->builder;
    const unsigned leaves = (unsigned)loop_leaves(sequence_length(w)), room = leaves * LAZY_LEAF;
    for (int v = 0; v < sequence_values(w); v++)
        if (!sequence_runs_down(w) && sequence_is_used_later(w, v, w->own.phase[v]))
            w->own.kept[v] = LLVMBuildAlloca(B, LLVMArrayType(ir_element(g, g->own.dtype[v]), room), "");
    ir_value_places(g);
    ir_folds_places(g);
    for (int k = 0; k < g->loop->nsinks; k++) {
        const int dtype = g->own.dtype[g->loop->sinks[k].value];
        if (!ir_is_reduction(g, k))
            continue;
        g->own.leaves[k] = LLVMBuildAlloca(B, LLVMArrayType(ir_element(g, dtype), leaves), "");
        for (int l = ir_fold_blocks(g); l < LAZY_LANES && sequence_runs_down(w); l++)
            g->own.lane[k][l] = LLVMBuildAlloca(B, ir_vector(g, dtype), "");
    }
}

static void prologue(sequence_writer *w) {
    int pointers = 1;
    for (int k = 0; k < w->sequence->nitems; k++)
        if (w->sequence->items[k].what == LOOP_CALL && w->sequence->items[k].n > pointers)
            pointers = w->sequence->items[k].n;
    for (int k = 0; k < w->g->body->nloops; k++) {
        sequence_enter(w, k);
        sequence_find_phases(w);
        make_places(w);
    }
    begin_carries(w);
    w->given = LLVMBuildAlloca(w->g->builder, LLVMArrayType(w->g->pointer, (unsigned)pointers), "");
}

static void build(sequence_writer *w) {
    generator *g = w->g;
    LLVMBuilderRef B = g->builder;
    LLVMTypeRef args[] = {g->pointer, g->pointer, g->word, g->word};
    g->function = LLVMAddFunction(g->module, "kernel", LLVMFunctionType(g->word, args, 4, 0));
    LLVMBasicBlockRef entry = ir_append(w->g, "entry"), head = ir_append(w->g, "turn"),
                      begin = ir_append(w->g, "begin"), end = ir_append(w->g, "end");
    LLVMPositionBuilderAtEnd(B, entry);
    prologue(w);
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, head);
    w->turn = LLVMBuildPhi(B, g->word, "turn");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, w->turn, LLVMGetParam(g->function, 3), ""), begin, end);
    LLVMPositionBuilderAtEnd(B, begin);
    LLVMValueRef odd = LLVMBuildAnd(B, w->turn, ir_number(g, 1), "");
    LLVMValueRef set = LLVMBuildMul(B, odd, ir_number(g, w->sequence->nplaces), "");
    w->places = LLVMBuildGEP2(B, g->pointer, LLVMGetParam(g->function, 0), &set, 1, "");
    write_items(w, 0, w->sequence->head);
    if (w->sequence->truth >= 0) {
        LLVMBasicBlockRef body = ir_append(w->g, "body");
        LLVMValueRef truth = ir_load_single(w->g, sequence_place_now(w, w->sequence->truth), NEAP_DTYPE_U8);
        LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntNE, truth, LLVMConstNull(LLVMTypeOf(truth)), ""), body, end);
        LLVMPositionBuilderAtEnd(B, body);
    }
    write_items(w, w->sequence->head, w->sequence->nitems);
    carry_over(w);
    LLVMValueRef next = LLVMBuildAdd(B, w->turn, ir_number(g, 1), "");
    LLVMAddIncoming(w->turn, (LLVMValueRef[]){ir_number(g, 0), next},
                    (LLVMBasicBlockRef[]){entry, LLVMGetInsertBlock(B)}, 2);
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, end);
    LLVMBuildRet(B, w->turn);
}

bool ir_write_sequence(generator *g) {
    const size_t values = (size_t)g->nvalues;
    size_t sinks = 0;
    sequence_writer w = {.g = g, .sequence = g->body->sequence};
    for (int k = 0; k < g->body->nloops; k++)
        sinks += (size_t)g->body->loops[k].nsinks;
    if (!LAZY_ARENA(LAZY_PART(w.all.kept, values + 1), LAZY_PART(w.all.table, values), LAZY_PART(w.all.carry, values),
                    LAZY_PART(w.all.phase, values), LAZY_PART(w.all.stored, sinks)))
        return false;
    build(&w);
    free(w.all.kept);
    return true;
}
