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
    LLVMValueRef *base;  /* of inputs, then outputs, then what the leaves of folds give */
    LLVMValueRef *value; /* allocas, of the block that is written */
    int *dtype;
    bool *single;      /* by value: depends on inputs that are one for all alone */
    LLVMValueRef past; /* whether the outputs that go past the caches lie where vectors may begin */
    LLVMValueRef lane[NATIVE_FOLDS_MAX][LAZY_LANES], spare[NATIVE_FOLDS_MAX]; /* allocas, of folds */
    bool idle[NATIVE_FOLDS_MAX]; /* folds that are not those of the elements that are written */
} generator;

LLVMTypeRef ir_element(generator *g, int dtype);
LLVMTypeRef ir_vector(generator *g, int dtype); /* of LANES elements */
unsigned ir_bytes(int dtype);                   /* of an element */
/* Calls the row of instruction j; by its fast function, if `fast` and it has one. Returns what that says: not 0 if
 * anything was rare, and the result means nothing; NULL: it says nothing. */
LLVMValueRef ir_call_row(generator *g, int j, bool fast);

/* Has instruction j a fast function? */
bool ir_has_fast(const generator *g, int j);

/* ---- vectors.c --------------------------------------------------------------------------------------------------- */
LLVMValueRef ir_number(generator *g, int64_t value);
LLVMValueRef ir_intrinsic(generator *g, const char *name, LLVMTypeRef *types, size_t n, LLVMTypeRef *type);
LLVMBasicBlockRef ir_append(generator *g, const char *name);
LLVMValueRef ir_splat(generator *g, LLVMValueRef scalar, LLVMTypeRef type);
/* The mask of the lanes below end - i. */
LLVMValueRef ir_lanes_left(generator *g, LLVMValueRef i, LLVMValueRef end);
/* Value v of the block that is written; its first lane. */
LLVMValueRef ir_value(generator *g, int v);
LLVMValueRef ir_first_lane(generator *g, int v);
/* Where the element is that lies so many behind the one at `base`. */
LLVMValueRef ir_beyond(generator *g, LLVMValueRef base, int dtype, LLVMValueRef elements);
LLVMValueRef ir_load_single(generator *g, LLVMValueRef at, int dtype);
void ir_store_single(generator *g, LLVMValueRef single, LLVMValueRef at, int dtype);
/* Vectors at `at`, of which nothing is touched outside of the mask; NULL: all. What is loaded has the element at
 * `outside` there; NULL: zeros. */
LLVMValueRef ir_load_vector(generator *g, LLVMValueRef at, int dtype, LLVMValueRef mask, LLVMValueRef outside);
void ir_store_vector(generator *g, LLVMValueRef value, LLVMValueRef at, int dtype, LLVMValueRef mask);
/* Goes on where the rows have to be called again, by those that take anything, since the fast ones said that something
 * was rare; returns the block behind that. NULL: nothing is ever rare. */
LLVMBasicBlockRef ir_if_rare(generator *g, LLVMValueRef rare);
/* Ends a block, and goes on at another one. */
void ir_go_on(generator *g, LLVMBasicBlockRef at);

/* lead.c: how many of n elements come before the first step, so that most operands lie well from there on; less than n
 * and than there are lanes. NULL: none ever. */
LLVMValueRef ir_lead(generator *g, LLVMValueRef n);

/* The end of the name of a fold's functions. */
const char *ir_fold_name(const native_fold *fold);

/* ---- folds.c: what the values of a body give, leaf by leaf. All of it is nothing in a body without folds. */
/* Blocks that have the lanes of a leaf: a step has a multiple of that. */
int ir_fold_blocks(const generator *g);
/* Places for the lanes. */
void ir_folds_places(generator *g);
/* Begins the leaf at `first`; returns where it ends, or n. */
LLVMValueRef ir_folds_begin(generator *g, LLVMValueRef first, LLVMValueRef n);
/* Takes block k of a step, or of so many blocks as have the lanes; of these those in the mask. */
void ir_fold_block(generator *g, int k, LLVMValueRef mask);
/* Stores what the leaf at `first` gives. */
void ir_folds_end(generator *g, LLVMValueRef first);
/* to = what a lane of fold k begins with; = a combined with b. Places of vectors. */
void ir_fold_none(generator *g, int k, LLVMValueRef to);
void ir_fold_combine(generator *g, int k, LLVMValueRef to, LLVMValueRef a, LLVMValueRef b);
/* Combines the leaves of n elements, in blocks of their own behind the current one; goes on behind them. */
void ir_folds_join(generator *g, LLVMValueRef n);

/* turns.c: how many blocks of a body that is a turn of a loop run side by side; writes its function. `values` has room
 * for as many blocks of values. false: there is no memory. */
int ir_turns_blocks(const generator *g);
bool ir_build_turns(generator *g, LLVMValueRef *values, int blocks);

/* stages.c: the same of a body whose turns go through memory. */
bool ir_is_take(const generator *g, int j); /* instruction j, which has no row */
bool ir_build_stages(generator *g, LLVMValueRef *values, int blocks);

#endif
