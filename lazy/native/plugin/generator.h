/* generator.h: what the files of the generator share: a body that is being written, and the few instructions besides
 * calls of rows. */
#ifndef LAZY_NATIVE_PLUGIN_GENERATOR_H
#define LAZY_NATIVE_PLUGIN_GENERATOR_H

#include <llvm-c/Core.h>

#include "lazy/native/native.h"

typedef struct generator {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMTypeRef pointer, word;
    const native_body *body;
    int lanes;
    LLVMValueRef *base;  /* of inputs, then outputs */
    LLVMValueRef *value; /* allocas, of the block that is written */
    int *dtype;
} generator;

LLVMTypeRef ir_element(generator *g, int dtype);
LLVMTypeRef ir_vector(generator *g, int dtype); /* of LANES elements */
unsigned ir_bytes(int dtype);                   /* of an element */
LLVMValueRef ir_number(generator *g, int64_t value);
LLVMValueRef ir_splat(generator *g, LLVMValueRef scalar, LLVMTypeRef type);
/* The mask of the lanes below end - i. */
LLVMValueRef ir_lanes_left(generator *g, LLVMValueRef i, LLVMValueRef end);
LLVMValueRef ir_intrinsic(generator *g, const char *name, LLVMTypeRef *types, size_t n, LLVMTypeRef *type);
/* Calls the row of instruction j; by its fast function, if `fast` and it has one. Returns what that says: not 0 if
 * anything was rare, and the result means nothing; NULL: it says nothing. */
LLVMValueRef ir_call_row(generator *g, int j, bool fast);

/* turns.c: how many blocks of a body that is a turn of a loop run side by side; writes its function. `values` has room
 * for as many blocks of values. false: there is no memory. */
int ir_turns_blocks(const generator *g);
bool ir_build_turns(generator *g, LLVMValueRef *values, int blocks);

#endif
