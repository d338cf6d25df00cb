/* gpu_flow.c: control flow of grid kernels (gpu_writer.h), and what threads give each other. */
#include "lazy/native/plugin/gpu_writer.h"

LLVMValueRef gpu_number(const gpu_writer *w, int64_t value) {
    return LLVMConstInt(w->word, (unsigned long long)value, 0);
}
LLVMValueRef gpu_add(gpu_writer *w, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildAdd(w->builder, a, b, "");
}
LLVMValueRef gpu_subtract(gpu_writer *w, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSub(w->builder, a, b, "");
}
LLVMValueRef gpu_multiply(gpu_writer *w, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildMul(w->builder, a, b, "");
}
LLVMValueRef gpu_less(gpu_writer *w, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildICmp(w->builder, LLVMIntULT, a, b, "");
}
LLVMValueRef gpu_least(gpu_writer *w, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(w->builder, gpu_less(w, a, b), a, b, "");
}

LLVMValueRef gpu_divide(gpu_writer *w, LLVMValueRef a, LLVMValueRef b, LLVMValueRef *rest) {
    LLVMTypeRef type = w->kernel->wide ? w->word : w->i32; /* GPUs have no division of 64 bits */
    LLVMValueRef x = LLVMBuildTrunc(w->builder, a, type, ""), y = LLVMBuildTrunc(w->builder, b, type, "");
    LLVMValueRef quotient = LLVMBuildUDiv(w->builder, x, y, "");
    LLVMValueRef left = LLVMBuildSub(w->builder, x, LLVMBuildMul(w->builder, quotient, y, ""), "");
    *rest = LLVMBuildZExt(w->builder, left, w->word, "");
    return LLVMBuildZExt(w->builder, quotient, w->word, "");
}

static LLVMBasicBlockRef new_block(gpu_writer *w, const char *name) {
    return LLVMAppendBasicBlockInContext(w->context, w->function, name);
}

void gpu_for(gpu_writer *w, gpu_loop *loop, LLVMValueRef from, LLVMValueRef bound, LLVMValueRef step) {
    LLVMBasicBlockRef before = LLVMGetInsertBlock(w->builder), body = new_block(w, "body");
    loop->head = new_block(w, "head");
    loop->after = new_block(w, "after");
    LLVMBuildBr(w->builder, loop->head);
    LLVMPositionBuilderAtEnd(w->builder, loop->head);
    loop->i = LLVMBuildPhi(w->builder, LLVMTypeOf(from), "i");
    loop->step = step;
    LLVMAddIncoming(loop->i, &from, &before, 1);
    LLVMBuildCondBr(w->builder, gpu_less(w, loop->i, bound), body, loop->after);
    LLVMPositionBuilderAtEnd(w->builder, body);
}

void gpu_for_doubled(gpu_writer *w, gpu_loop *loop, LLVMValueRef bound) {
    gpu_for(w, loop, gpu_number(w, 1), bound, NULL);
    loop->step = loop->i;
}

void gpu_end_for(gpu_writer *w, gpu_loop *loop) {
    LLVMValueRef next = gpu_add(w, loop->i, loop->step);
    LLVMBasicBlockRef end = LLVMGetInsertBlock(w->builder);
    LLVMAddIncoming(loop->i, &next, &end, 1);
    LLVMBuildBr(w->builder, loop->head);
    LLVMPositionBuilderAtEnd(w->builder, loop->after);
}

LLVMBasicBlockRef gpu_if(gpu_writer *w, LLVMValueRef condition) {
    LLVMBasicBlockRef then = new_block(w, "then"), after = new_block(w, "behind");
    LLVMBuildCondBr(w->builder, condition, then, after);
    LLVMPositionBuilderAtEnd(w->builder, then);
    return after;
}

void gpu_end_if(gpu_writer *w, LLVMBasicBlockRef after) {
    LLVMBuildBr(w->builder, after);
    LLVMPositionBuilderAtEnd(w->builder, after);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */
void gpu_threads(gpu_writer *w) {
    if (!w->host)
        return;
    gpu_for(w, &w->threads, gpu_number(w, 0), gpu_number(w, GPU_THREADS), gpu_number(w, 1));
    w->thread = LLVMBuildXor(w->builder, w->threads.i, w->turned, "");
}

void gpu_barrier(gpu_writer *w) {
    if (w->host) {
        gpu_end_for(w, &w->threads);
        return;
    }
    static const char name[] = "llvm.nvvm.barrier0";
    unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
    LLVMTypeRef type = LLVMIntrinsicGetType(w->context, id, NULL, 0);
    LLVMBuildCall2(w->builder, type, LLVMGetIntrinsicDeclaration(w->module, id, NULL, 0), NULL, 0, "");
}

void gpu_rejoin(gpu_writer *w) {
    if (w->host)
        gpu_end_for(w, &w->threads);
}

LLVMValueRef gpu_kept(gpu_writer *w, int dtype) {
    LLVMTypeRef type = gpu_element(w, dtype);
    return gpu_place(w, w->host ? LLVMArrayType2(type, GPU_THREADS) : type);
}

LLVMValueRef gpu_of_thread(gpu_writer *w, LLVMValueRef kept, int dtype) {
    return w->host ? gpu_at(w, kept, dtype, w->thread) : kept;
}

/* A word of 32 bits from the thread `by` behind, in half a warp. */
static LLVMValueRef shuffle_word(gpu_writer *w, LLVMValueRef word, int by) {
    static const char name[] = "llvm.nvvm.shfl.sync.down.i32";
    enum { WARP = 32, CLAMP = (WARP - LAZY_LANES) << 8 | (WARP - 1) };
    unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
    LLVMTypeRef type = LLVMIntrinsicGetType(w->context, id, NULL, 0);
    LLVMValueRef args[] = {LLVMConstInt(w->i32, UINT32_MAX, 0), word, LLVMConstInt(w->i32, (unsigned)by, 0),
                           LLVMConstInt(w->i32, CLAMP, 0)};
    return LLVMBuildCall2(w->builder, type, LLVMGetIntrinsicDeclaration(w->module, id, NULL, 0), args, 4, "");
}

void gpu_shuffle(gpu_writer *w, LLVMValueRef to, LLVMValueRef kept, int dtype, int by) {
    LLVMBuilderRef b = w->builder;
    const int bytes = gpu_bytes(dtype), count = bytes / 4;
    if (w->host) {
        LLVMValueRef other = gpu_add(w, w->thread, gpu_number(w, by)), last = gpu_number(w, GPU_THREADS - 1);
        gpu_set(w, to, dtype, gpu_get(w, gpu_at(w, kept, dtype, LLVMBuildAnd(b, other, last, "")), dtype));
        return;
    }
    if (count == 0) {
        LLVMTypeRef type = LLVMIntTypeInContext(w->context, 8 * (unsigned)bytes);
        LLVMValueRef word = LLVMBuildZExt(b, LLVMBuildLoad2(b, type, kept, ""), w->i32, "");
        LLVMBuildStore(b, LLVMBuildTrunc(b, shuffle_word(w, word, by), type, ""), to);
        return;
    }
    LLVMTypeRef type = LLVMVectorType(w->i32, (unsigned)count);
    LLVMValueRef from = LLVMBuildBitCast(b, gpu_get(w, kept, dtype), type, ""), got = LLVMGetUndef(type);
    for (int k = 0; k < count; k++) {
        LLVMValueRef index = LLVMConstInt(w->i32, (unsigned)k, 0);
        LLVMValueRef word = shuffle_word(w, LLVMBuildExtractElement(b, from, index, ""), by);
        got = LLVMBuildInsertElement(b, got, word, index, "");
    }
    gpu_set(w, to, dtype, LLVMBuildBitCast(b, got, gpu_element(w, dtype), ""));
}

void gpu_for_share(gpu_writer *w, gpu_loop *loop, LLVMValueRef n) {
    gpu_for(w, loop, w->thread, n, gpu_number(w, GPU_THREADS));
}
