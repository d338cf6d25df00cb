/* vectors.c: what all code of bodies is put together from besides calls of rows: elements and vectors in memory, lanes,
 * and the rule for an index. */
#include <string.h>

#include "lazy/native/plugin/generator.h"

LLVMValueRef ir_number(generator *g, int64_t value) {
    return LLVMConstInt(g->word, (unsigned long long)value, 0);
}

LLVMValueRef ir_intrinsic(generator *g, const char *name, LLVMTypeRef *types, size_t n, LLVMTypeRef *type) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    *type = LLVMIntrinsicGetType(g->context, id, types, n);
    return LLVMGetIntrinsicDeclaration(g->module, id, types, n);
}

LLVMBasicBlockRef ir_append(generator *g, const char *name) {
    return LLVMAppendBasicBlockInContext(g->context, g->function, name);
}

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */
LLVMValueRef ir_splat(generator *g, LLVMValueRef scalar, LLVMTypeRef type) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(g->context);
    LLVMValueRef one = LLVMBuildInsertElement(g->builder, LLVMGetUndef(type), scalar, LLVMConstInt(i32, 0, 0), "");
    LLVMTypeRef mask = LLVMVectorType(i32, (unsigned)g->lanes);
    return LLVMBuildShuffleVector(g->builder, one, LLVMGetUndef(type), LLVMConstNull(mask), "");
}

LLVMValueRef ir_lanes_left(generator *g, LLVMValueRef i, LLVMValueRef end) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(g->context);
    LLVMValueRef left = LLVMBuildTrunc(g->builder, LLVMBuildSub(g->builder, end, i, ""), i32, ""), lane[64];
    for (int l = 0; l < g->lanes; l++)
        lane[l] = LLVMConstInt(i32, (unsigned)l, 0);
    LLVMTypeRef type = LLVMVectorType(i32, (unsigned)g->lanes);
    return LLVMBuildICmp(g->builder, LLVMIntULT, LLVMConstVector(lane, (unsigned)g->lanes), ir_splat(g, left, type),
                         "");
}

LLVMValueRef ir_value(generator *g, int v) {
    return LLVMBuildLoad2(g->builder, ir_vector(g, g->own.dtype[v]), g->value[v], "");
}

LLVMValueRef ir_first_lane(generator *g, int v) {
    LLVMValueRef zero = LLVMConstInt(LLVMInt32TypeInContext(g->context), 0, 0);
    return LLVMBuildExtractElement(g->builder, ir_value(g, v), zero, "");
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */
LLVMValueRef ir_beyond(generator *g, LLVMValueRef base, int dtype, LLVMValueRef elements) {
    return LLVMBuildGEP2(g->builder, ir_element(g, dtype), base, &elements, 1, "");
}

LLVMValueRef ir_load_single(generator *g, LLVMValueRef at, int dtype) {
    LLVMValueRef v = LLVMBuildLoad2(g->builder, ir_element(g, dtype), at, "");
    LLVMSetAlignment(v, ir_bytes(dtype));
    return v;
}

void ir_store_single(generator *g, LLVMValueRef single, LLVMValueRef at, int dtype) {
    LLVMSetAlignment(LLVMBuildStore(g->builder, single, at), ir_bytes(dtype));
}

LLVMValueRef ir_load_vector(generator *g, LLVMValueRef at, int dtype, LLVMValueRef mask, LLVMValueRef outside) {
    LLVMTypeRef type = ir_vector(g, dtype), types[] = {type, g->pointer}, ft;
    if (!mask) {
        LLVMValueRef v = LLVMBuildLoad2(g->builder, type, at, "");
        LLVMSetAlignment(v, ir_bytes(dtype));
        return v;
    }
    LLVMValueRef f = ir_intrinsic(g, "llvm.masked.load", types, 2, &ft);
    LLVMValueRef args[] = {at, LLVMConstInt(LLVMInt32TypeInContext(g->context), ir_bytes(dtype), 0), mask,
                           outside ? ir_splat(g, ir_load_single(g, outside, dtype), type) : LLVMConstNull(type)};
    return LLVMBuildCall2(g->builder, ft, f, args, 4, "");
}

void ir_store_vector(generator *g, LLVMValueRef value, LLVMValueRef at, int dtype, LLVMValueRef mask) {
    LLVMTypeRef types[] = {ir_vector(g, dtype), g->pointer}, ft;
    if (!mask) {
        LLVMSetAlignment(LLVMBuildStore(g->builder, value, at), ir_bytes(dtype));
        return;
    }
    LLVMValueRef f = ir_intrinsic(g, "llvm.masked.store", types, 2, &ft);
    LLVMValueRef args[] = {value, at, LLVMConstInt(LLVMInt32TypeInContext(g->context), ir_bytes(dtype), 0), mask};
    LLVMBuildCall2(g->builder, ft, f, args, 4, "");
}

/* ---- Rare arguments ---------------------------------------------------------------------------------------------- */
LLVMBasicBlockRef ir_if_rare(generator *g, LLVMValueRef rare) {
    if (!rare)
        return NULL;
    LLVMBasicBlockRef again = ir_append(g, "again"), keep = ir_append(g, "keep");
    LLVMValueRef none = LLVMBuildICmp(g->builder, LLVMIntEQ, rare, LLVMConstNull(LLVMTypeOf(rare)), "");
    LLVMBuildCondBr(g->builder, none, keep, again);
    LLVMPositionBuilderAtEnd(g->builder, again);
    return keep;
}

void ir_go_on(generator *g, LLVMBasicBlockRef at) {
    LLVMBuildBr(g->builder, at);
    LLVMPositionBuilderAtEnd(g->builder, at);
}
