/* index.h: the rule for an index of a table (lazy_ins in lazy/loop/loop.h), as code: of CPUs and of GPUs. */
#ifndef LAZY_NATIVE_PLUGIN_INDEX_H
#define LAZY_NATIVE_PLUGIN_INDEX_H

#include <stdbool.h>

#include <llvm-c/Core.h>

/* An index of a dtype that has a sign, or none, widened to a word: a negative one counts from the end, so one in range
 * is below the extent, both taken without a sign. */
static inline LLVMValueRef ir_counted(LLVMBuilderRef B, LLVMValueRef index, bool is_signed, LLVMValueRef extent) {
    LLVMTypeRef word = LLVMTypeOf(extent);
    if (!is_signed)
        return LLVMBuildZExt(B, index, word, "");
    index = LLVMBuildSExt(B, index, word, "");
    LLVMValueRef negative = LLVMBuildICmp(B, LLVMIntSLT, index, LLVMConstNull(word), "");
    return LLVMBuildSelect(B, negative, LLVMBuildAdd(B, index, extent, ""), index, "");
}

/* The same, and what is still out of range is clamped. */
static inline LLVMValueRef ir_clamped(LLVMBuilderRef B, LLVMValueRef index, bool is_signed, LLVMValueRef extent) {
    LLVMTypeRef word = LLVMTypeOf(extent);
    LLVMValueRef most = LLVMBuildSub(B, extent, LLVMConstInt(word, 1, 0), ""), zero = LLVMConstNull(word);
    index = ir_counted(B, index, is_signed, extent);
    if (is_signed)
        index = LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntSLT, index, zero, ""), zero, index, "");
    LLVMValueRef below = LLVMBuildICmp(B, is_signed ? LLVMIntSLT : LLVMIntULT, index, most, "");
    return LLVMBuildSelect(B, below, index, most, "");
}

#endif
