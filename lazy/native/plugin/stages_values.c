/* stages_values.c: what the values of a stage depend on, and how they come from memory and go there (stages.h). */
#include "lazy/dtype/dtype.h"
#include "lazy/native/plugin/stages.h"

bool ir_is_take(const generator *g, int j) {
    const native_stages *stages = g->body->turns ? g->body->turns->stages : NULL;
    int table = g->body->ins[j].arg[0];
    return stages && table < g->body->ninputs && stages->operands[table].extent > 0;
}

/* ---- Phases ------------------------------------------------------------------------------------------------------ */
/* What an earlier stage has made is there from the beginning. */
static int phase_of(const stage_writer *w, int v) {
    const int ninputs = w->g->body->ninputs;
    return v < (v < ninputs ? w->at.input : ninputs + w->at.ins) ? 0 : w->phase[v];
}

/* What a value's phase is by what it depends on. */
static int phase_after(const stage_writer *w, int v) {
    const native_body *b = w->g->body;
    int phase = 0;
    if (v < b->ninputs)
        return stage_is_result(w, v) ? w->folded[~stage_operand(w, v)->place] + 1 : 0;
    const lazy_ins *ins = &b->ins[v - b->ninputs];
    for (int a = 0; a < ins->narg; a++)
        phase = phase_of(w, ins->arg[a]) > phase ? phase_of(w, ins->arg[a]) : phase;
    return phase;
}

/* The first phase from `from` on in which elements of a value are read. */
int stage_next_use(const stage_writer *w, int v, int from) {
    const native_body *b = w->g->body;
    int next = STAGE_NO_PHASE;
#define USE(uses, when)                                                                                                \
    if ((uses) && (when) >= from && (when) < next)                                                                     \
        next = (when);
    for (int j = w->at.ins; j < w->to.ins; j++)
        for (int a = 0; a < b->ins[j].narg; a++)
            USE(b->ins[j].arg[a] == v && w->each[stage_value_of(w, j)], w->phase[stage_value_of(w, j)])
    for (int k = w->at.output; k < w->to.output; k++)
        USE(b->outputs[k] == v, w->stored[k])
    for (int k = w->at.fold; k < w->to.fold; k++)
        USE(b->folds[k].value == v, w->folded[k])
#undef USE
    return next;
}

void stage_find_phases(stage_writer *w) {
    const native_body *b = w->g->body;
    bool changed = true;
    for (int k = w->at.input; k < w->to.input; k++)
        w->each[k] = stage_operand(w, k)->along && !stage_is_table(w, k);
    for (int j = w->at.ins; j < w->to.ins; j++) {
        bool take = ir_is_take(w->g, j), each = take && stage_operand(w, b->ins[j].arg[0])->along;
        for (int a = 0; a < b->ins[j].narg && !take; a++)
            each |= w->each[b->ins[j].arg[a]];
        w->each[stage_value_of(w, j)] = each;
    }
    while (changed) { /* results are inputs, which come before what they are made of */
        changed = false;
        EACH_VALUE(v) {
            changed |= w->phase[v] != phase_after(w, v);
            w->phase[v] = phase_after(w, v);
        }
        for (int k = w->at.fold; k < w->to.fold; k++)
            w->folded[k] = phase_of(w, b->folds[k].value);
    }
    int first = STAGE_NO_PHASE;
    for (int k = w->at.output; k < w->to.output; k++) {
        w->stored[k] = b->outputs[k] < 0 ? w->folded[~b->outputs[k]] : phase_of(w, b->outputs[k]);
        if (stage_operand(w, b->ninputs + k)->along && w->stored[k] < first)
            first = w->stored[k];
    }
    for (int k = w->at.input; k < w->to.input; k++)
        if (w->each[k]) {
            int use = stage_next_use(w, k, 0);
            w->phase[k] = use < first ? use : first < STAGE_NO_PHASE ? first : 0;
        }
}

bool stage_is_used_later(const stage_writer *w, int v, int phase) {
    return w->each[v] && stage_next_use(w, v, phase + 1) < STAGE_NO_PHASE;
}

/* ---- Blocks of IR ------------------------------------------------------------------------------------------------ */
LLVMValueRef stage_loop_begin(stage_writer *w, ir_loop *loop, LLVMValueRef from, LLVMValueRef end, int64_t step) {
    LLVMBuilderRef B = w->g->builder;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B);
    *loop = (ir_loop){.body = ir_append(w->g, "loop"), .end = end, .step = step};
    LLVMBuildBr(B, loop->body);
    LLVMPositionBuilderAtEnd(B, loop->body);
    loop->i = LLVMBuildPhi(B, w->g->word, "");
    LLVMAddIncoming(loop->i, &from, &before, 1);
    return loop->i;
}

void stage_loop_end(stage_writer *w, ir_loop *loop) {
    LLVMBuilderRef B = w->g->builder;
    LLVMBasicBlockRef last = LLVMGetInsertBlock(B), behind = ir_append(w->g, "behind");
    LLVMValueRef next = LLVMBuildAdd(B, loop->i, ir_number(w->g, loop->step), "");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, next, loop->end, ""), loop->body, behind);
    LLVMAddIncoming(loop->i, &next, &last, 1);
    LLVMPositionBuilderAtEnd(B, behind);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */
LLVMValueRef stage_item(stage_writer *w, LLVMTypeRef type, LLVMValueRef base, LLVMValueRef index) {
    return LLVMBuildLoad2(w->g->builder, type, LLVMBuildGEP2(w->g->builder, type, base, &index, 1, ""), "");
}

/* Where a place is in this turn. */
LLVMValueRef stage_place_now(stage_writer *w, int place) {
    LLVMBuilderRef B = w->g->builder;
    LLVMValueRef at = stage_item(w, w->g->pointer, w->places, ir_number(w->g, place));
    if (!w->stages->moves[place])
        return at;
    LLVMValueRef bytes = stage_item(w, w->g->word, LLVMGetParam(w->g->function, 1), ir_number(w->g, place));
    bytes = LLVMBuildMul(B, bytes, w->turn, "");
    return LLVMBuildGEP2(B, LLVMInt8TypeInContext(w->g->context), at, &bytes, 1, "");
}

LLVMValueRef stage_row_of(stage_writer *w, int k, int dtype) {
    const native_operand *o = stage_operand(w, k);
    LLVMValueRef base = stage_place_now(w, o->place);
    if (!w->row || !o->across)
        return base;
    return ir_beyond(w->g, base, dtype, LLVMBuildMul(w->g->builder, w->row, ir_number(w->g, o->across), ""));
}

LLVMValueRef stage_lanes_below(stage_writer *w, int64_t count) {
    return count >= w->g->lanes ? NULL : ir_lanes_left(w->g, ir_number(w->g, 0), ir_number(w->g, count));
}

/* Makes the values that are to be used now those of a block. */
void stage_choose(stage_writer *w, int block) {
    w->g->value = w->values + block * (w->g->body->ninputs + w->g->body->nins);
}

void stage_set_single(stage_writer *w, int v, LLVMValueRef single) {
    LLVMBuildStore(w->g->builder, ir_splat(w->g, single, ir_vector(w->g, w->g->dtype[v])), w->g->value[v]);
}

/* Makes an input that is one for the row the value of block 0. */
void stage_set_input(stage_writer *w, int k) {
    LLVMTypeRef type = ir_vector(w->g, w->g->dtype[k]);
    if (w->carry[k])
        LLVMBuildStore(w->g->builder, LLVMBuildLoad2(w->g->builder, type, w->carry[k], ""), w->g->value[k]);
    else
        stage_set_single(w, k, ir_load_single(w->g, w->g->base[k], w->g->dtype[k]));
}
