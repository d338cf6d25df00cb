/* sequence_values.c: what the values of a loop depend on, and how they come from memory and go there (sequence.h). */
#include "lazy/native/plugin/sequence.h"

/* ---- Phases ------------------------------------------------------------------------------------------------------ */
/* The first phase from `from` on in which elements of a value are read. */
int sequence_next_use(const sequence_writer *w, int v, int from) {
    const lazy_kernel *loop = w->g->loop;
    int next = SEQUENCE_NO_PHASE;
#define USE(uses, when)                                                                                                \
    if ((uses) && (when) >= from && (when) < next)                                                                     \
        next = (when);
    for (int j = 0; j < loop->nins; j++)
        for (int a = 0; a < loop->ins[j].narg; a++)
            USE(loop->ins[j].arg[a] == v && !w->g->own.single[loop->nloads + j], w->own.phase[loop->nloads + j])
    for (int k = 0; k < loop->nsinks; k++)
        USE(loop->sinks[k].value == v, w->own.stored[k])
#undef USE
    return next;
}

void sequence_find_phases(sequence_writer *w) {
    const lazy_kernel *loop = w->g->loop;
    int first = SEQUENCE_NO_PHASE;
    loop_levels(loop, w->own.phase);
    for (int k = 0; k < loop->nsinks; k++) {
        w->own.stored[k] = w->own.phase[loop->sinks[k].value];
        if (sequence_stores_elements(w, k) && w->own.stored[k] < first)
            first = w->own.stored[k];
    }
    for (int k = 0; k < loop->nloads; k++)
        if (!w->g->own.single[k] && !sequence_is_result(w, k)) {
            int use = sequence_next_use(w, k, 0);
            w->own.phase[k] = use < first ? use : first < SEQUENCE_NO_PHASE ? first : 0;
        }
}

bool sequence_is_used_later(const sequence_writer *w, int v, int phase) {
    return !w->g->own.single[v] && sequence_next_use(w, v, phase + 1) < SEQUENCE_NO_PHASE;
}

/* ---- Blocks of IR ------------------------------------------------------------------------------------------------ */
LLVMValueRef sequence_loop_begin(sequence_writer *w, ir_loop *loop, LLVMValueRef from, LLVMValueRef end, int64_t step) {
    LLVMBuilderRef B = w->g->builder;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B);
    *loop = (ir_loop){.body = ir_append(w->g, "loop"), .end = end, .step = step};
    LLVMBuildBr(B, loop->body);
    LLVMPositionBuilderAtEnd(B, loop->body);
    loop->i = LLVMBuildPhi(B, w->g->word, "");
    LLVMAddIncoming(loop->i, &from, &before, 1);
    return loop->i;
}

void sequence_loop_end(sequence_writer *w, ir_loop *loop) {
    LLVMBuilderRef B = w->g->builder;
    LLVMBasicBlockRef last = LLVMGetInsertBlock(B), behind = ir_append(w->g, "behind");
    LLVMValueRef next = LLVMBuildAdd(B, loop->i, ir_number(w->g, loop->step), "");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, next, loop->end, ""), loop->body, behind);
    LLVMAddIncoming(loop->i, &next, &last, 1);
    LLVMPositionBuilderAtEnd(B, behind);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */
LLVMValueRef sequence_item(sequence_writer *w, LLVMTypeRef type, LLVMValueRef base, LLVMValueRef index) {
    return LLVMBuildLoad2(w->g->builder, type, LLVMBuildGEP2(w->g->builder, type, base, &index, 1, ""), "");
}

LLVMValueRef sequence_place_now(sequence_writer *w, int place) {
    LLVMBuilderRef B = w->g->builder;
    LLVMValueRef at = sequence_item(w, w->g->pointer, w->places, ir_number(w->g, place));
    if (!w->sequence->moves[place])
        return at;
    LLVMValueRef bytes = sequence_item(w, w->g->word, LLVMGetParam(w->g->function, 1), ir_number(w->g, place));
    bytes = LLVMBuildMul(B, bytes, w->turn, "");
    return LLVMBuildGEP2(B, LLVMInt8TypeInContext(w->g->context), at, &bytes, 1, "");
}

LLVMValueRef sequence_row_of(sequence_writer *w, int place, const lazy_wide_map *map, int dtype) {
    const int64_t across = map->stride[1 - w->g->axis];
    LLVMValueRef base = sequence_place_now(w, place);
    if (!w->row || !across)
        return base;
    return ir_beyond(w->g, base, dtype, LLVMBuildMul(w->g->builder, w->row, ir_number(w->g, across), ""));
}

LLVMValueRef sequence_lanes_below(sequence_writer *w, int64_t count) {
    return count >= w->g->lanes ? NULL : ir_lanes_left(w->g, ir_number(w->g, 0), ir_number(w->g, count));
}

void sequence_set_single(sequence_writer *w, int v, LLVMValueRef single) {
    LLVMBuildStore(w->g->builder, ir_splat(w->g, single, ir_vector(w->g, w->g->own.dtype[v])), w->g->value[v]);
}

/* What an earlier loop has made stands in that one's place. */
void sequence_set_load(sequence_writer *w, int k) {
    generator *g = w->g;
    const lazy_load *load = &g->loop->loads[k];
    LLVMTypeRef type = ir_vector(g, g->own.dtype[k]);
    LLVMValueRef from = load->kind == LAZY_LOAD_VALUE ? g->all.values[load->slot] : w->own.carry[k];
    if (from)
        LLVMBuildStore(g->builder, LLVMBuildLoad2(g->builder, type, from, ""), g->value[k]);
    else
        sequence_set_single(w, k, ir_load_single(g, g->own.base[k], g->own.dtype[k]));
}
