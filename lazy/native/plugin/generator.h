/* generator.h: what the files of the generator share: a body that is being written, and the few instructions besides
 * calls of rows. */
#ifndef LAZY_NATIVE_PLUGIN_GENERATOR_H
#define LAZY_NATIVE_PLUGIN_GENERATOR_H

#include <llvm-c/Core.h>

#include "lazy/native/native.h"

/* What there is of a loop while it is written. Places are allocas; those of a value in a block stand `nvalues` behind
 * those in the block before. */
typedef struct ir_parts {
    LLVMValueRef *base;               /* by load, then by sink: where it is */
    LLVMValueRef *values;             /* by value: places */
    int *dtype;                       /* the same */
    bool *single;                     /* the same: depends on what is one for all elements alone */
    LLVMValueRef (*lane)[LAZY_LANES]; /* by sink: places for the lanes of a leaf */
    LLVMValueRef *spare, *leaves;     /* the same: another such place; where the results of leaves go */
    bool *idle;                       /* the same: it is no reduction of the elements that are written */
} ir_parts;

typedef struct generator {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMTypeRef pointer, word;
    const native_body *body;
    int lanes, blocks; /* of a vector; blocks that places are made for */
    int nvalues;       /* of all loops */
    bool reduces;      /* one of them does */
    ir_parts all;
    const lazy_kernel *loop; /* that is written: what it has, and along which axis its elements are neighbours */
    ir_parts own;
    int axis;
    LLVMValueRef *value; /* own.values of the block that is written */
    LLVMValueRef past;   /* whether the sinks that go past the caches lie where vectors may begin */
} generator;

/* Begins to write loop k; to write block `block`. */
void ir_enter(generator *g, int k);
static inline void ir_choose(generator *g, int block) {
    g->value = g->own.values + block * g->nvalues;
}
static inline bool ir_is_reduction(const generator *g, int sink) {
    return g->loop->sinks[sink].kind == LAZY_SINK_REDUCE;
}
static inline bool ir_is_wide(const generator *g, const lazy_wide_map *map) {
    return map->stride[g->axis] != 0;
}

LLVMTypeRef ir_element(generator *g, int dtype);
LLVMTypeRef ir_vector(generator *g, int dtype); /* of LANES elements */
unsigned ir_bytes(int dtype);                   /* of an element */
/* Calls the row of instruction j; by its fast function, if `fast` and it has one. Returns what that says: not 0 if
 * anything was rare, and the result means nothing; NULL: it says nothing. */
LLVMValueRef ir_call_row(generator *g, int j, bool fast);

/* Makes places for the values of the loop; what is one for all elements has one. */
void ir_value_places(generator *g);

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

/* The end of the name of a reduction's functions. */
const char *ir_fold_name(const lazy_kernel *loop, const lazy_sink *sink);

/* ---- folds.c: what the values of a loop give, leaf by leaf. All of it is nothing in a body without reductions. */
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
/* to = what a lane of sink k begins with; = a combined with b. Places of vectors. */
void ir_fold_none(generator *g, int k, LLVMValueRef to);
void ir_fold_combine(generator *g, int k, LLVMValueRef to, LLVMValueRef a, LLVMValueRef b);
/* Combines the leaves of n elements, in blocks of their own behind the current one; goes on behind them. */
void ir_folds_join(generator *g, LLVMValueRef n);

/* sequence_registers.c: how many blocks of a sequence in registers run side by side; writes its function. */
int ir_registers_blocks(const generator *g);
bool ir_write_registers(generator *g);

/* sequence.c: the same of a sequence through memory. false: there is no memory. */
bool ir_write_sequence(generator *g);

#endif
