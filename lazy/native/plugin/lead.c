/* lead.c: where the steps of a body begin. A vector that begins inside a line of the cache is two accesses, and rows of
 * a slice, or of an odd number of elements, begin anywhere. So some elements may be done before the first step, under a
 * mask: as many as bring most operands to where vectors begin.
 *
 *      operands modulo a vector      3  3  0  3  2      16 lanes: after a lead of 13 three lie well instead of one
 *
 * A step under a mask takes about as long as one operand's second accesses to a row, so at least two more operands must
 * gain, and by many elements. What is of other widths than a lane does not count.
 */
#include "lazy/native/plugin/generator.h"

enum { LANE_BYTES = 4, COUNT_BITS = 4, COUNT_MOST = (1 << COUNT_BITS) - 1, GAIN = 2, ROW_LEAST = 256 };

/* The operands that count: of own.base. At most COUNT_MOST, since counts are fields of one word. */
static int counted(const generator *g, int *places) {
    const lazy_kernel *loop = g->loop;
    int n = 0;
    for (int k = 0; k < loop->nloads + loop->nsinks && n < COUNT_MOST; k++) {
        int value = k < loop->nloads ? k : loop->sinks[k - loop->nloads].value;
        if (!g->own.single[value] && ir_bytes(g->own.dtype[value]) == LANE_BYTES)
            places[n++] = k;
    }
    return n;
}

/* Functions take too long for a step more, folds begin where leaves do, and what goes past the caches lies as it is. */
static bool may_lead(generator *g) {
    for (int j = 0; j < g->loop->nins; j++)
        if (!g->own.single[g->loop->nloads + j] && ir_has_fast(g, j))
            return false;
    return !g->reduces && !g->body->far;
}

LLVMValueRef ir_lead(generator *g, LLVMValueRef n) {
    LLVMBuilderRef B = g->builder;
    int places[COUNT_MOST], count = may_lead(g) ? counted(g, places) : 0;
    LLVMValueRef lane[COUNT_MOST], field[COUNT_MOST], one = ir_number(g, 1), all = ir_number(g, 0);
    if (count < 1 + GAIN)
        return NULL;
    for (int k = 0; k < count; k++) {
        LLVMValueRef at = LLVMBuildPtrToInt(B, g->own.base[places[k]], g->word, "");
        at = LLVMBuildUDiv(B, at, ir_number(g, LANE_BYTES), "");
        lane[k] = LLVMBuildAnd(B, at, ir_number(g, g->lanes - 1), "");
        field[k] = LLVMBuildMul(B, lane[k], ir_number(g, COUNT_BITS), "");
        all = LLVMBuildAdd(B, all, LLVMBuildShl(B, one, field[k], ""), "");
    }
    LLVMValueRef lead = ir_number(g, 0), most = LLVMBuildAnd(B, all, ir_number(g, COUNT_MOST), "");
    most = LLVMBuildAdd(B, most, ir_number(g, GAIN - 1), "");
    for (int k = 0; k < count; k++) {
        LLVMValueRef found = LLVMBuildAnd(B, LLVMBuildLShr(B, all, field[k], ""), ir_number(g, COUNT_MOST), "");
        LLVMValueRef better = LLVMBuildICmp(B, LLVMIntUGT, found, most, "");
        most = LLVMBuildSelect(B, better, found, most, "");
        lead = LLVMBuildSelect(B, better, LLVMBuildSub(B, ir_number(g, g->lanes), lane[k], ""), lead, "");
    }
    LLVMValueRef is_long = LLVMBuildICmp(B, LLVMIntSGE, n, ir_number(g, ROW_LEAST), "");
    return LLVMBuildSelect(B, is_long, lead, ir_number(g, 0), "");
}
