/* folds.c: reductions of values while they are in registers, over the leaves of the tree of lazy/loop/tree.h, each lane
 * from the identity on. Leaves of whole rows are combined behind the last one, in pairs that are 1, 2, 4, … leaves
 * apart; others are left to the VM.
 *
 *      lanes      0 … LANES-1   LANES … 2*LANES-1   …       a vector each; block k of a step goes to k modulo them
 *
 * Arithmetic is that of the reductions' rows: fold_ID combines vectors, none_ID is the identity (rows.c).
 */
#include <stdio.h>

#include "lazy/native/plugin/generator.h"

int ir_fold_blocks(const generator *g) {
    return g->reduces ? LAZY_LANES / g->lanes : 1;
}

static bool is_folded(const generator *g, int sink) {
    return ir_is_reduction(g, sink) && !g->own.idle[sink];
}

static int dtype_of(const generator *g, int sink) {
    return g->own.dtype[g->loop->sinks[sink].value];
}

static void call(generator *g, const char *kind, int k, LLVMValueRef *args, unsigned n) {
    char name[96];
    LLVMTypeRef types[] = {g->pointer, g->pointer, g->pointer};
    snprintf(name, sizeof name, "%s_%s", kind, ir_fold_name(g->loop, &g->loop->sinks[k]));
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(g->context), types, n, 0);
    LLVMBuildCall2(g->builder, type, LLVMGetNamedFunction(g->module, name), args, n, "");
}

void ir_fold_none(generator *g, int k, LLVMValueRef to) {
    call(g, "none", k, &to, 1);
}

void ir_fold_combine(generator *g, int k, LLVMValueRef to, LLVMValueRef a, LLVMValueRef b) {
    call(g, "fold", k, (LLVMValueRef[]){to, a, b}, 3);
}

void ir_folds_places(generator *g) {
    for (int k = 0; k < g->loop->nsinks; k++) {
        if (!ir_is_reduction(g, k))
            continue;
        LLVMTypeRef type = ir_vector(g, dtype_of(g, k));
        g->own.spare[k] = LLVMBuildAlloca(g->builder, type, "");
        for (int v = 0; v < ir_fold_blocks(g); v++)
            g->own.lane[k][v] = LLVMBuildAlloca(g->builder, type, "");
    }
}

LLVMValueRef ir_folds_begin(generator *g, LLVMValueRef first, LLVMValueRef n) {
    for (int k = 0; k < g->loop->nsinks; k++)
        for (int v = 0; v < ir_fold_blocks(g) && is_folded(g, k); v++)
            ir_fold_none(g, k, g->own.lane[k][v]);
    if (!g->reduces)
        return n;
    LLVMValueRef end = LLVMBuildAdd(g->builder, first, ir_number(g, LAZY_LEAF), "");
    return LLVMBuildSelect(g->builder, LLVMBuildICmp(g->builder, LLVMIntSLT, end, n, ""), end, n, "");
}

void ir_fold_block(generator *g, int k, LLVMValueRef mask) {
    for (int f = 0; f < g->loop->nsinks; f++) {
        if (!is_folded(g, f))
            continue;
        LLVMValueRef lane = g->own.lane[f][k % ir_fold_blocks(g)];
        ir_fold_combine(g, f, mask ? g->own.spare[f] : lane, lane, g->value[g->loop->sinks[f].value]);
        if (!mask)
            continue;
        LLVMTypeRef type = ir_vector(g, dtype_of(g, f));
        LLVMValueRef folded = LLVMBuildLoad2(g->builder, type, g->own.spare[f], "");
        LLVMValueRef before = LLVMBuildLoad2(g->builder, type, lane, "");
        LLVMBuildStore(g->builder, LLVMBuildSelect(g->builder, mask, folded, before, ""), lane);
    }
}

/* spare = the lanes of a vector from `from` on; what is behind them means nothing. */
static void upper_lanes(generator *g, int k, int from) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(g->context), type = ir_vector(g, dtype_of(g, k));
    LLVMValueRef vector = LLVMBuildLoad2(g->builder, type, g->own.lane[k][0], ""), lane[LAZY_LANES];
    for (int l = 0; l < g->lanes; l++)
        lane[l] = l + from < g->lanes ? LLVMConstInt(i32, (unsigned)(l + from), 0) : LLVMGetUndef(i32);
    LLVMValueRef order = LLVMConstVector(lane, (unsigned)g->lanes);
    LLVMBuildStore(g->builder, LLVMBuildShuffleVector(g->builder, vector, vector, order, ""), g->own.spare[k]);
}

/* Where result `leaf` of fold k goes. */
static LLVMValueRef leaf_at(generator *g, int k, LLVMValueRef leaf) {
    return LLVMBuildGEP2(g->builder, ir_element(g, dtype_of(g, k)), g->own.leaves[k], &leaf, 1, "");
}

static void store_leaf(generator *g, int k, LLVMValueRef leaf) {
    int dtype = dtype_of(g, k);
    LLVMValueRef result = LLVMBuildLoad2(g->builder, ir_vector(g, dtype), g->own.lane[k][0], "");
    result = LLVMBuildExtractElement(g->builder, result, ir_number(g, 0), "");
    LLVMSetAlignment(LLVMBuildStore(g->builder, result, leaf_at(g, k, leaf)), ir_bytes(dtype));
}

/* place = a vector whose first lane is the leaf. */
static void load_leaf(generator *g, int k, LLVMValueRef leaf, LLVMValueRef place) {
    int dtype = dtype_of(g, k);
    LLVMValueRef element = LLVMBuildLoad2(g->builder, ir_element(g, dtype), leaf_at(g, k, leaf), "");
    LLVMSetAlignment(element, ir_bytes(dtype));
    LLVMValueRef none = LLVMConstNull(ir_vector(g, dtype));
    LLVMBuildStore(g->builder, LLVMBuildInsertElement(g->builder, none, element, ir_number(g, 0), ""), place);
}

void ir_folds_end(generator *g, LLVMValueRef first) {
    LLVMValueRef leaf = LLVMBuildUDiv(g->builder, first, ir_number(g, LAZY_LEAF), "");
    for (int k = 0; k < g->loop->nsinks; k++) {
        if (!is_folded(g, k))
            continue;
        LOOP_EACH_HALF(half) {
            for (int v = 0; v < half / g->lanes; v++)
                ir_fold_combine(g, k, g->own.lane[k][v], g->own.lane[k][v], g->own.lane[k][v + half / g->lanes]);
            if (half < g->lanes) {
                upper_lanes(g, k, half);
                ir_fold_combine(g, k, g->own.lane[k][0], g->own.lane[k][0], g->own.spare[k]);
            }
        }
        store_leaf(g, k, leaf);
    }
}

/*      for (apart = 1; apart < leaves; apart *= 2)
 *          for (leaf = 0; leaf + apart < leaves; leaf += 2 * apart)
 *              leaf = leaf combined with leaf + apart */
void ir_folds_join(generator *g, LLVMValueRef n) {
    enum { LEVEL, PAIR, NEXT, BEHIND, PARTS };
    static const char *const names[] = {"level", "pair", "next", "behind"};
    LLVMBuilderRef B = g->builder;
    LLVMBasicBlockRef part[PARTS], before = LLVMGetInsertBlock(B);
    if (!g->reduces || !(g->body->whole_rows || g->body->sequence))
        return;
    for (int k = 0; k < PARTS; k++)
        part[k] = ir_append(g, names[k]);
    LLVMValueRef one = ir_number(g, 1), leaves = LLVMBuildAdd(B, n, ir_number(g, LAZY_LEAF - 1), "");
    leaves = LLVMBuildUDiv(B, leaves, ir_number(g, LAZY_LEAF), "");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSGT, leaves, one, ""), part[LEVEL], part[BEHIND]);

    LLVMPositionBuilderAtEnd(B, part[LEVEL]);
    LLVMValueRef apart = LLVMBuildPhi(B, g->word, "apart"), twice = LLVMBuildShl(B, apart, one, "");
    LLVMBuildBr(B, part[PAIR]);

    LLVMPositionBuilderAtEnd(B, part[PAIR]);
    LLVMValueRef leaf = LLVMBuildPhi(B, g->word, "leaf"), other = LLVMBuildAdd(B, leaf, apart, "");
    for (int k = 0; k < g->loop->nsinks; k++) {
        if (!is_folded(g, k))
            continue;
        load_leaf(g, k, leaf, g->own.lane[k][0]);
        load_leaf(g, k, other, g->own.spare[k]);
        ir_fold_combine(g, k, g->own.lane[k][0], g->own.lane[k][0], g->own.spare[k]);
        store_leaf(g, k, leaf);
    }
    LLVMValueRef next = LLVMBuildAdd(B, leaf, twice, ""), last = LLVMBuildAdd(B, next, apart, "");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, last, leaves, ""), part[PAIR], part[NEXT]);

    LLVMPositionBuilderAtEnd(B, part[NEXT]);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, twice, leaves, ""), part[LEVEL], part[BEHIND]);
    LLVMAddIncoming(apart, (LLVMValueRef[]){one, twice}, (LLVMBasicBlockRef[]){before, part[NEXT]}, 2);
    LLVMAddIncoming(leaf, (LLVMValueRef[]){ir_number(g, 0), next}, (LLVMBasicBlockRef[]){part[LEVEL], part[PAIR]}, 2);
    LLVMPositionBuilderAtEnd(B, part[BEHIND]);
}
