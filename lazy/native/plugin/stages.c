/* plugin/stages.c: the function around a body whose turns go through memory, stage by stage (native.h has them):
 *
 *      turn:   out of turns, or the first stages leave false ─▶ end
 *              stage, stage, …  ── a call fails ─▶ out
 *              the other set of places ─▶ turn
 *
 * What a turn hands on in registers is read before the first turn: constants, and carries of one element.
 */
#include <stdlib.h>

#include "lazy/dtype/dtype.h"
#include "lazy/native/plugin/stages.h"

/* ---- Stages ------------------------------------------------------------------------------------------------------ */
static void write_call(stage_writer *w) {
    generator *g = w->g;
    LLVMBuilderRef B = g->builder;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(g->context), types[] = {g->pointer, g->word, g->pointer};
    LLVMValueRef given = LLVMGetParam(g->function, 0);
    for (int k = 0; k < w->stage->n; k++) {
        LLVMValueRef index = ir_number(g, k), to = LLVMBuildGEP2(B, g->pointer, w->scratch, &index, 1, "");
        LLVMBuildStore(B, stage_place_now(w, w->stages->pointers[w->stage->first + k]), to);
    }
    LLVMValueRef function = stage_item(w, g->pointer, given, ir_number(g, 2 * w->stages->places));
    LLVMValueRef args[] = {stage_item(w, g->pointer, given, ir_number(g, 2 * w->stages->places + 1)),
                           ir_number(g, w->stage->which), w->scratch};
    LLVMValueRef status = LLVMBuildCall2(B, LLVMFunctionType(i32, types, 3, 0), function, args, 3, "");
    LLVMBasicBlockRef failed = ir_append(w->g, "failed"), done = ir_append(w->g, "done");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntEQ, status, LLVMConstNull(i32), ""), done, failed);
    LLVMPositionBuilderAtEnd(B, failed);
    LLVMBuildRet(B, LLVMBuildNot(B, w->turn, ""));
    LLVMPositionBuilderAtEnd(B, done);
}

/* Is the index of a case its own? */
static LLVMValueRef is_case(stage_writer *w, const native_stage *stage) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(w->g->context);
    LLVMValueRef own = LLVMConstInt(i32, (unsigned)stage->which, 0);
    LLVMValueRef index = LLVMBuildLoad2(w->g->builder, i32, stage_place_now(w, stage->first), "");
    LLVMIntPredicate how = stage->which == 0 ? LLVMIntSLE : stage->which == stage->n - 1 ? LLVMIntSGE : LLVMIntEQ;
    return LLVMBuildICmp(w->g->builder, how, index, own, "");
}

static void write_stages(stage_writer *w, int from, int to) {
    for (int s = from; s < to; s++) {
        const native_stage *stage = w->stage = &w->stages->stages[s];
        if (stage->what == NATIVE_CALL) {
            write_call(w);
        } else if (stage->what == NATIVE_CASE) {
            LLVMBasicBlockRef own = ir_append(w->g, "case"), behind = ir_append(w->g, "behind");
            LLVMBuildCondBr(w->g->builder, is_case(w, stage), own, behind);
            LLVMPositionBuilderAtEnd(w->g->builder, own);
            write_stages(w, s + 1, s + 1 + stage->stages);
            LLVMBuildBr(w->g->builder, behind);
            LLVMPositionBuilderAtEnd(w->g->builder, behind);
            s += stage->stages;
        } else {
            w->to = (ends){w->at.input + stage->inputs, w->at.ins + stage->ins, w->at.output + stage->outputs,
                           w->at.fold + stage->folds};
            if (stage->what == NATIVE_COLUMNS)
                stage_write_columns(w);
            else
                stage_write_maps(w);
            w->at = w->to;
        }
    }
}

/* ---- Carries ----------------------------------------------------------------------------------------------------- */
/* What is carried is read in front of the first turn, from the first set of places. */
static void begin_carries(stage_writer *w) {
    generator *g = w->g;
    for (int k = 0; k < g->body->ninputs; k++) {
        if (!stage_operand(w, k)->carried)
            continue;
        LLVMTypeRef type = ir_vector(g, g->dtype[k]);
        LLVMValueRef at =
            stage_item(w, g->pointer, LLVMGetParam(g->function, 0), ir_number(g, stage_operand(w, k)->place));
        w->carry[k] = LLVMBuildAlloca(g->builder, type, "");
        LLVMBuildStore(g->builder, ir_splat(g, ir_load_single(w->g, at, g->dtype[k]), type), w->carry[k]);
    }
}

static void carry_over(stage_writer *w) {
    stage_choose(w, 0);
    for (int k = 0; k < w->g->body->ninputs; k++)
        if (w->carry[k] && stage_operand(w, k)->index != k)
            LLVMBuildStore(w->g->builder, ir_value(w->g, stage_operand(w, k)->index), w->carry[k]);
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */
/* Places on the stack, for all stages. */
static void prologue(stage_writer *w) {
    generator *g = w->g;
    const native_body *b = g->body;
    LLVMBuilderRef B = g->builder;
    int n = b->ninputs + b->nins, pointers = 1;
    for (int s = 0; s < w->stages->n; s++) {
        const native_stage *stage = w->stage = &w->stages->stages[s];
        if (stage->what == NATIVE_CALL && stage->n > pointers)
            pointers = stage->n;
        if (stage->what != NATIVE_MAPS && stage->what != NATIVE_COLUMNS)
            continue;
        w->to = (ends){w->at.input + stage->inputs, w->at.ins + stage->ins, w->at.output + stage->outputs,
                       w->at.fold + stage->folds};
        stage_find_phases(w);
        unsigned padded = (unsigned)((stage->length + LAZY_LEAF - 1) / LAZY_LEAF * LAZY_LEAF),
                 leaves = padded / LAZY_LEAF;
        EACH_VALUE(v)
        if (stage_is_used_later(w, v, w->phase[v]))
            w->kept[v] = LLVMBuildAlloca(B, LLVMArrayType(ir_element(g, g->dtype[v]), padded), "");
        for (int k = w->at.fold; k < w->to.fold; k++)
            g->base[b->ninputs + b->noutputs + k] =
                LLVMBuildAlloca(B, LLVMArrayType(ir_element(g, b->folds[k].dtype), leaves), "");
        for (int l = 0; l < LAZY_LANES && stage->what == NATIVE_COLUMNS; l++)
            w->lanes[w->at.fold][l] = LLVMBuildAlloca(B, ir_vector(g, b->folds[w->at.fold].dtype), "");
        w->at = w->to;
    }
    w->at = (ends){0, 0, 0, 0};
    for (int v = 0; v < w->blocks * n; v++)
        w->values[v] =
            v >= n && !w->each[v % n] ? w->values[v % n] : LLVMBuildAlloca(B, ir_vector(g, g->dtype[v % n]), "");
    ir_folds_places(g);
    begin_carries(w);
    w->scratch = LLVMBuildAlloca(B, LLVMArrayType(g->pointer, (unsigned)pointers), "");
}

static void build(stage_writer *w) {
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
    LLVMValueRef set = LLVMBuildMul(B, odd, ir_number(g, w->stages->places), "");
    w->places = LLVMBuildGEP2(B, g->pointer, LLVMGetParam(g->function, 0), &set, 1, "");
    write_stages(w, 0, w->stages->head);
    if (w->stages->truth >= 0) {
        LLVMBasicBlockRef body = ir_append(w->g, "body");
        LLVMValueRef truth = ir_load_single(w->g, stage_place_now(w, w->stages->truth), NEAP_DTYPE_U8);
        LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntNE, truth, LLVMConstNull(LLVMTypeOf(truth)), ""), body, end);
        LLVMPositionBuilderAtEnd(B, body);
    }
    write_stages(w, w->stages->head, w->stages->n);
    carry_over(w);
    LLVMValueRef next = LLVMBuildAdd(B, w->turn, ir_number(g, 1), "");
    LLVMAddIncoming(w->turn, (LLVMValueRef[]){ir_number(g, 0), next},
                    (LLVMBasicBlockRef[]){entry, LLVMGetInsertBlock(B)}, 2);
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, end);
    LLVMBuildRet(B, w->turn);
}

bool ir_build_stages(generator *g, LLVMValueRef *values, int blocks) {
    const native_body *b = g->body;
    size_t n = (size_t)(b->ninputs + b->nins) + 1;
    stage_writer w = {.g = g, .stages = b->turns->stages, .values = values, .blocks = blocks};
    w.kept = calloc(n, sizeof *w.kept);
    w.table = calloc((size_t)b->nins + 1, sizeof *w.table);
    w.carry = calloc(n, sizeof *w.carry);
    w.phase = calloc(n, sizeof *w.phase);
    w.each = calloc(n, sizeof *w.each);
    w.stored = calloc((size_t)b->noutputs + 1, sizeof *w.stored);
    bool there = w.kept && w.table && w.carry && w.phase && w.each && w.stored;
    if (there)
        build(&w);
    free(w.kept), free(w.table), free(w.carry), free(w.phase), free(w.each), free(w.stored);
    return there;
}
