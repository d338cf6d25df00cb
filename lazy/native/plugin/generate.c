/* generate.c: from a body to an object file, by LLVM's C API.
 *
 * Arithmetic is not written here: each instruction is a call of its row's function (rows.c), whose bitcode is linked
 * into the kernel's module and inlined. What is written here is loops, loads and stores:
 *
 *      a block:         load the inputs of LANES elements, call the rows, store the outputs, fold (folds.c)
 *      kernel(at, n):   steps of some blocks by the fast rows; what is left, and steps with arguments that are rare to
 *                       one of them, block by block under a mask, by the rows that take all arguments
 *
 * A step is stored once it is known that nothing in it was rare, with one branch for all its blocks and rows. So the
 * steps have neither calls nor other branches, and constants stay in registers from step to step. What comes from
 * memory is asked for some way ahead of the step, a line at a time, since hardware does so no further than a page; what
 * nobody reads soon is stored past the caches.
 *
 * A value is a vector of LANES elements, whatever its dtype, in a place of its own on the stack until LLVM has made a
 * register of it. Rows are in one module for each dtype and instruction set, of which only what is called is read.
 *
 * A body that is a turn of a loop has another function around its blocks (turns.c, stages.c).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>

#include "engine/device.h"
#include "lazy/dtype/dtype.h"
#include "lazy/native/plugin/generator.h"
#include "lazy/native/plugin/gpu.h"
#include "lazy/native/plugin/link.h"
#include "lazy/native/plugin/memory.h"
#include "ops_gen.h"

#include "native_gen.h"

static const neap_plugin_host *host;

LLVMTypeRef ir_element(generator *g, int dtype) {
    static const struct {
        char kind;
        uint8_t bits;
    } info[] = {
#define INFO(NAME, name, kind, ctype, bits, ...) [NEAP_DTYPE_##NAME] = {kind, bits},
        NEAP_DTYPE_ROWS(INFO)};
    if (info[dtype].kind == 'f' && info[dtype].bits >= 32)
        return info[dtype].bits == 32 ? LLVMFloatTypeInContext(g->context) : LLVMDoubleTypeInContext(g->context);
    return LLVMIntTypeInContext(g->context, info[dtype].bits);
}
LLVMTypeRef ir_vector(generator *g, int dtype) {
    return LLVMVectorType(ir_element(g, dtype), (unsigned)g->lanes);
}
unsigned ir_bytes(int dtype) {
    static const uint8_t bits[] = {
#define BITS(NAME, name, kind, ctype, bits, ...) [NEAP_DTYPE_##NAME] = bits,
        NEAP_DTYPE_ROWS(BITS)};
    return bits[dtype] / 8u;
}

/* The name of an instruction's function; `kind` is "row" or "fast". */
static const char *row_name(const lazy_ins *ins) {
    const char *row = map_names[ins->op][ins->dtype];
    return row ? row : cast_names[ins->dtype][ins->result];
}

static void row_function(const char *kind, const lazy_ins *ins, char *out, size_t bytes) {
    snprintf(out, bytes, "%s_%s", kind, row_name(ins));
}

const char *ir_fold_name(const native_fold *fold) {
    return fold_names[fold->op][fold->dtype];
}

/* Bytes of an element's vector, and how many of them are one register. */
static int vector_bytes(const generator *g, int dtype) {
    return (int)ir_bytes(dtype) * g->lanes;
}
static int register_bytes(const generator *g, int dtype) {
    int most = (int)sizeof(float) * g->lanes;
    return vector_bytes(g, dtype) < most ? vector_bytes(g, dtype) : most;
}

static bool is_far_input(const generator *g, int k) {
    return g->body->far && g->body->far[k];
}
/* Pieces of vectors would be written line by line in pieces, too. */
static bool is_far_output(const generator *g, int k) {
    enum { LEAST = 16 };
    return g->body->far && g->body->far[g->body->ninputs + k] && !g->single[g->body->outputs[k]] &&
           register_bytes(g, g->dtype[g->body->outputs[k]]) >= LEAST;
}

/* Asks for what the far inputs are in block `block` of a later step; lines that begin in it. */
static void ask_ahead(generator *g, LLVMValueRef i, int block) {
    enum { AHEAD = 6144, LINE = 64 };
    LLVMTypeRef i32 = LLVMInt32TypeInContext(g->context), ft;
    for (int k = 0; k < g->body->ninputs; k++) {
        if (!is_far_input(g, k))
            continue;
        int bytes = vector_bytes(g, g->dtype[k]);
        LLVMValueRef f = ir_intrinsic(g, "llvm.prefetch", &g->pointer, 1, &ft);
        for (int at = (LINE - block * bytes % LINE) % LINE; at < bytes; at += LINE) {
            LLVMValueRef ahead = ir_number(g, AHEAD + at), address = ir_beyond(g, g->base[k], g->dtype[k], i);
            LLVMValueRef args[] = {LLVMBuildGEP2(g->builder, LLVMInt8TypeInContext(g->context), address, &ahead, 1, ""),
                                   LLVMConstInt(i32, 0, 0), LLVMConstInt(i32, 3, 0), LLVMConstInt(i32, 1, 0)};
            LLVMBuildCall2(g->builder, ft, f, args, 4, "");
        }
    }
}

static void load_inputs(generator *g, LLVMValueRef i, LLVMValueRef mask) {
    for (int k = 0; k < g->body->ninputs; k++) {
        if (!g->body->inputs[k].vector)
            continue;
        LLVMValueRef at = ir_beyond(g, g->base[k], g->dtype[k], i);
        LLVMBuildStore(g->builder, ir_load_vector(g, at, g->dtype[k], mask, NULL), g->value[k]);
    }
}

static LLVMValueRef fast_row(const generator *g, const lazy_ins *ins) {
    char name[96];
    row_function("fast", ins, name, sizeof name);
    return LLVMGetNamedFunction(g->module, name);
}

bool ir_has_fast(const generator *g, int j) {
    return fast_row(g, &g->body->ins[j]) != NULL;
}

LLVMValueRef ir_call_row(generator *g, int j, bool fast) {
    const lazy_ins *ins = &g->body->ins[j];
    char name[96];
    LLVMValueRef args[4] = {g->value[g->body->ninputs + j]}, function = fast ? fast_row(g, ins) : NULL;
    LLVMTypeRef types[4] = {g->pointer, g->pointer, g->pointer, g->pointer};
    for (int a = 0; a < ins->narg; a++)
        args[1 + a] = g->value[ins->arg[a]];
    bool says = function != NULL;
    row_function("row", ins, name, sizeof name);
    LLVMTypeRef result = says ? LLVMInt32TypeInContext(g->context) : LLVMVoidTypeInContext(g->context);
    LLVMValueRef said =
        LLVMBuildCall2(g->builder, LLVMFunctionType(result, types, 1u + ins->narg, 0),
                       says ? function : LLVMGetNamedFunction(g->module, name), args, 1u + ins->narg, "");
    /* Of arguments that mean nothing anything may be said. */
    return says ? LLVMBuildFreeze(g->builder, said, "") : NULL;
}

/* Calls the rows; those that have a fast function by that, if `fast`. Returns what these say: not 0 if anything was
 * rare. */
static LLVMValueRef call_rows(generator *g, bool fast) {
    LLVMValueRef rare = LLVMConstInt(LLVMInt32TypeInContext(g->context), 0, 0);
    for (int j = 0; j < g->body->nins; j++) {
        LLVMValueRef said = g->single[g->body->ninputs + j] ? NULL : ir_call_row(g, j, fast);
        if (said)
            rare = LLVMBuildOr(g->builder, rare, said, "");
    }
    return rare;
}

static void store_past(generator *g, LLVMValueRef v, LLVMValueRef at, int dtype) {
    LLVMValueRef one = LLVMConstInt(LLVMInt32TypeInContext(g->context), 1, 0),
                 store = LLVMBuildStore(g->builder, v, at);
    LLVMSetAlignment(store, (unsigned)register_bytes(g, dtype));
    LLVMSetMetadata(store, LLVMGetMDKindIDInContext(g->context, "nontemporal", strlen("nontemporal")),
                    LLVMMDNodeInContext(g->context, &one, 1));
}

/* `past`: the far ones past the caches. */
static void store_outputs(generator *g, LLVMValueRef i, LLVMValueRef mask, bool past) {
    const native_body *b = g->body;
    for (int k = 0; k < b->noutputs; k++) {
        int value = b->outputs[k], dtype = g->dtype[value];
        if (g->single[value])
            continue;
        LLVMValueRef v = ir_value(g, value), at = ir_beyond(g, g->base[b->ninputs + k], dtype, i);
        if (past && !mask && is_far_output(g, k))
            store_past(g, v, at, dtype);
        else
            ir_store_vector(g, v, at, dtype, mask);
    }
}

/* Which values depend on inputs that are one for all alone. */
static void find_single(generator *g) {
    for (int k = 0; k < g->body->ninputs; k++)
        g->single[k] = !g->body->inputs[k].vector;
    for (int j = 0; j < g->body->nins; j++) {
        const lazy_ins *ins = &g->body->ins[j];
        bool *single = &g->single[g->body->ninputs + j];
        *single = true;
        for (int a = 0; a < ins->narg; a++)
            *single &= g->single[ins->arg[a]];
    }
}

/* These are computed once, before the first block. */
static void single_values(generator *g, LLVMValueRef *values) {
    const native_body *b = g->body;
    g->value = values;
    for (int j = 0; j < b->nins; j++)
        if (g->single[b->ninputs + j])
            ir_call_row(g, j, false);
    for (int k = 0; k < b->noutputs; k++) {
        int value = b->outputs[k], dtype = g->dtype[value];
        if (!g->single[value])
            continue;
        ir_store_single(g, ir_first_lane(g, value), g->base[b->ninputs + k], dtype);
    }
}

/* Whether all far outputs lie where their vectors may begin; NULL: there are none. */
static LLVMValueRef lies_well(generator *g) {
    LLVMValueRef off = NULL;
    for (int k = 0; k < g->body->noutputs; k++) {
        if (!is_far_output(g, k))
            continue;
        LLVMValueRef at = LLVMBuildPtrToInt(g->builder, g->base[g->body->ninputs + k], g->word, "");
        at = LLVMBuildAnd(g->builder, at, ir_number(g, register_bytes(g, g->dtype[g->body->outputs[k]]) - 1), "");
        off = off ? LLVMBuildOr(g->builder, off, at, "") : at;
    }
    return off ? LLVMBuildICmp(g->builder, LLVMIntEQ, off, ir_number(g, 0), "") : NULL;
}

/* Where inputs and outputs are, and places for the values of `blocks` blocks, one after another; inputs that are one
 * for all are there once. */
static void prologue(generator *g, LLVMValueRef *values, int blocks) {
    const native_body *b = g->body;
    int n = b->ninputs + b->nins;
    for (int k = 0; k < b->ninputs + b->noutputs + b->nfolds; k++) {
        LLVMValueRef index = ir_number(g, k);
        LLVMValueRef at = LLVMBuildGEP2(g->builder, g->pointer, LLVMGetParam(g->function, 0), &index, 1, "");
        g->base[k] = LLVMBuildLoad2(g->builder, g->pointer, at, "");
    }
    for (int v = 0; v < blocks * n; v++) {
        int value = v % n;
        bool shared = v >= n && g->single[value];
        values[v] = shared ? values[value] : LLVMBuildAlloca(g->builder, ir_vector(g, g->dtype[value]), "");
    }
    for (int k = 0; k < b->ninputs; k++)
        if (!b->inputs[k].vector) {
            LLVMValueRef v = LLVMBuildLoad2(g->builder, ir_element(g, g->dtype[k]), g->base[k], "");
            LLVMBuildStore(g->builder, ir_splat(g, v, ir_vector(g, g->dtype[k])), values[k]);
        }
    single_values(g, values);
    ir_folds_places(g);
    g->past = lies_well(g);
}

/* Blocks from r on, as many as there are lanes of a leaf, by the rows that take all arguments; but nothing from `end`
 * on. */
static void masked_blocks(generator *g, LLVMValueRef *values, LLVMValueRef r, LLVMValueRef end) {
    int nvalues = g->body->ninputs + g->body->nins;
    for (int k = 0; k < ir_fold_blocks(g); k++) {
        LLVMValueRef at = LLVMBuildAdd(g->builder, r, ir_number(g, k * g->lanes), "");
        LLVMValueRef left = LLVMBuildICmp(g->builder, LLVMIntSGT, end, at, "");
        LLVMValueRef mask = ir_lanes_left(g, at, LLVMBuildSelect(g->builder, left, end, at, ""));
        g->value = values + k * nvalues;
        load_inputs(g, at, mask);
        call_rows(g, false);
        store_outputs(g, at, mask, false);
        ir_fold_block(g, k, mask);
    }
}

/* The blocks of a step by the fast rows. Returns whether nothing was rare. */
static LLVMValueRef fast_blocks(generator *g, LLVMValueRef *values, LLVMValueRef i, int blocks) {
    int nvalues = g->body->ninputs + g->body->nins;
    LLVMValueRef rare = LLVMConstInt(LLVMInt32TypeInContext(g->context), 0, 0);
    for (int k = 0; k < blocks; k++) {
        g->value = values + k * nvalues;
        LLVMValueRef at = LLVMBuildAdd(g->builder, i, ir_number(g, k * g->lanes), "");
        ask_ahead(g, at, k);
        load_inputs(g, at, NULL);
        rare = LLVMBuildOr(g->builder, rare, call_rows(g, true), "");
    }
    return LLVMBuildICmp(g->builder, LLVMIntEQ, rare, LLVMConstNull(LLVMTypeOf(rare)), "");
}

/* Stores and folds the blocks of a step, of which nothing was rare. */
static void keep_blocks(generator *g, LLVMValueRef *values, LLVMValueRef i, int blocks) {
    int nvalues = g->body->ninputs + g->body->nins;
    LLVMBasicBlockRef past = NULL, stored = NULL;
    if (g->past) {
        LLVMBasicBlockRef near = ir_append(g, "near");
        past = ir_append(g, "past");
        stored = ir_append(g, "stored");
        LLVMBuildCondBr(g->builder, g->past, past, near);
        LLVMPositionBuilderAtEnd(g->builder, near);
    }
    for (int way = 0; way < (past ? 2 : 1); way++) {
        for (int k = 0; k < blocks; k++) {
            g->value = values + k * nvalues;
            store_outputs(g, LLVMBuildAdd(g->builder, i, ir_number(g, k * g->lanes), ""), NULL, way == 1);
        }
        if (past) {
            LLVMBuildBr(g->builder, stored);
            LLVMPositionBuilderAtEnd(g->builder, way == 0 ? past : stored);
        }
    }
    for (int k = 0; k < blocks; k++) {
        g->value = values + k * nvalues;
        ir_fold_block(g, k, NULL);
    }
}

/*      entry ─▶ leaf ─▶ whole: is there a step at i? ──▶ step ──▶ keep ─▶ whole, folded
 *                 │              └──▶ masked ◀── rare ───┘
 *                 └─ lead (lead.c) ─────▶┘
 *                                        └─▶ masked, whole, folded ─▶ leaf, join ─▶ out
 *
 * Without folds all elements are one leaf. */
static void build(generator *g, LLVMValueRef *values, int blocks) {
    enum { ENTRY, LEAF, WHOLE, STEP, KEEP, MASKED, BEHIND, FOLDED, JOIN, OUT, PARTS };
    static const char *const names[] = {"entry",  "leaf",   "whole",  "step", "keep",
                                        "masked", "behind", "folded", "join", "out"};
    LLVMBuilderRef B = g->builder;
    LLVMTypeRef args[] = {g->pointer, g->word};
    LLVMBasicBlockRef part[PARTS];
    g->function = LLVMAddFunction(g->module, "kernel", LLVMFunctionType(LLVMVoidTypeInContext(g->context), args, 2, 0));
    LLVMValueRef n = LLVMGetParam(g->function, 1), step = ir_number(g, g->lanes * blocks);
    for (int k = 0; k < PARTS; k++)
        part[k] = ir_append(g, names[k]);
    LLVMPositionBuilderAtEnd(B, part[ENTRY]);
    prologue(g, values, blocks);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSGT, n, ir_number(g, 0), ""), part[LEAF], part[OUT]);

    LLVMPositionBuilderAtEnd(B, part[LEAF]);
    LLVMValueRef first = LLVMBuildPhi(B, g->word, "first"), last = ir_folds_begin(g, first, n);
    LLVMValueRef lead = ir_lead(g, last);
    if (lead)
        LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntNE, lead, ir_number(g, 0), ""), part[MASKED], part[WHOLE]);
    else
        LLVMBuildBr(B, part[WHOLE]);

    LLVMPositionBuilderAtEnd(B, part[WHOLE]);
    LLVMValueRef i = LLVMBuildPhi(B, g->word, "i"), behind = LLVMBuildAdd(B, i, step, "");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLE, behind, last, ""), part[STEP], part[MASKED]);

    LLVMPositionBuilderAtEnd(B, part[STEP]);
    LLVMBuildCondBr(B, fast_blocks(g, values, i, blocks), part[KEEP], part[MASKED]);

    LLVMPositionBuilderAtEnd(B, part[KEEP]);
    keep_blocks(g, values, i, blocks);
    LLVMBasicBlockRef kept = LLVMGetInsertBlock(B);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, behind, last, ""), part[WHOLE], part[FOLDED]);

    LLVMPositionBuilderAtEnd(B, part[MASKED]);
    LLVMValueRef r = LLVMBuildPhi(B, g->word, "r"), end = LLVMBuildPhi(B, g->word, "end");
    masked_blocks(g, values, r, end);
    LLVMValueRef next = LLVMBuildAdd(B, r, ir_number(g, ir_fold_blocks(g) * g->lanes), "");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, next, end, ""), part[MASKED], part[BEHIND]);

    LLVMPositionBuilderAtEnd(B, part[BEHIND]);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, end, last, ""), part[WHOLE], part[FOLDED]);

    LLVMPositionBuilderAtEnd(B, part[FOLDED]);
    ir_folds_end(g, first);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, last, n, ""), part[LEAF], part[JOIN]);
    LLVMPositionBuilderAtEnd(B, part[JOIN]);
    ir_folds_join(g, n);
    LLVMBuildBr(B, part[OUT]);
    LLVMPositionBuilderAtEnd(B, part[OUT]);
    LLVMBuildRetVoid(B);
    LLVMAddIncoming(first, (LLVMValueRef[]){ir_number(g, 0), last}, (LLVMBasicBlockRef[]){part[ENTRY], part[FOLDED]},
                    2);
    LLVMAddIncoming(i, (LLVMValueRef[]){first, behind, end}, (LLVMBasicBlockRef[]){part[LEAF], kept, part[BEHIND]}, 3);
    LLVMBasicBlockRef into[] = {part[WHOLE], part[STEP], part[MASKED], part[LEAF]};
    unsigned ways = lead ? 4 : 3;
    LLVMAddIncoming(r, (LLVMValueRef[]){i, i, next, first}, into, ways);
    LLVMAddIncoming(end, (LLVMValueRef[]){last, behind, end, lead}, into, ways);
}

/* ---- Modules ----------------------------------------------------------------------------------------------------- */
/* Is it a function of a row or a fold of the body? */
static bool is_needed(const void *generator_of, const char *function) {
    const generator *g = generator_of;
    for (int j = 0; j < g->body->nins; j++)
        if (!ir_is_take(g, j) && ir_is_of(function, row_name(&g->body->ins[j])))
            return true;
    for (int k = 0; k < g->body->nfolds; k++)
        if (ir_is_of(function, ir_fold_name(&g->body->folds[k])))
            return true;
    return false;
}

/* Links what the body needs of all modules that have a row of it. */
static int link_rows(generator *g, const native_bitcode *set) {
    bool dtypes[NEAP_DTYPE_COUNT + 1] = {false};
    for (int j = 0; j < g->body->nins; j++)
        if (!ir_is_take(g, j))
            dtypes[ir_dtype_of(row_name(&g->body->ins[j]))] = true;
    for (int k = 0; k < g->body->nfolds; k++)
        dtypes[ir_dtype_of(ir_fold_name(&g->body->folds[k]))] = true;
    if (dtypes[NEAP_DTYPE_COUNT])
        return host->error(NEAP_E_INTERNAL, "no module for a row");
    for (int dtype = 0; dtype < NEAP_DTYPE_COUNT; dtype++)
        if (dtypes[dtype] && !ir_link(g->module, &set->modules[dtype], is_needed, g))
            return host->error(NEAP_E_INTERNAL, "damaged bitcode");
    return NEAP_OK;
}

static void set_attribute(generator *g, LLVMValueRef function, const char *name) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(g->context, kind, 0));
}

static void set_text(generator *g, LLVMValueRef function, const char *name, const char *value) {
    LLVMAddAttributeAtIndex(
        function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(g->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

/* Rows are inlined, slow functions are not, and nothing but the kernel is left to be seen. The kernel is compiled for
 * the instruction set that its rows were made for. */
static void prepare_functions(generator *g, const native_bitcode *set) {
    static const char *const inlined[] = {"row_", "fast_", "fold_", "none_"};
    for (LLVMValueRef f = LLVMGetFirstFunction(g->module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        if (f != g->function)
            LLVMSetLinkage(f, LLVMInternalLinkage);
        for (int k = 0; k < (int)(sizeof inlined / sizeof *inlined); k++)
            if (strncmp(LLVMGetValueName(f), inlined[k], strlen(inlined[k])) == 0)
                set_attribute(g, f, "alwaysinline");
        LLVMAttributeRef features = LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                                                  "target-features", strlen("target-features"));
        if (features && f != g->function)
            LLVMAddAttributeAtIndex(g->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, features);
    }
    set_text(g, g->function, "min-legal-vector-width", set->vector_bits);
    set_text(g, g->function, "prefer-vector-width", set->vector_bits);
    set_attribute(g, g->function, "nounwind");
}

/* ---- Code -------------------------------------------------------------------------------------------------------- */
static int emit(generator *g, LLVMTargetMachineRef machine, void **object, size_t *bytes) {
    char *error = NULL;
    LLVMMemoryBufferRef out;
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    /* What is written is a vector already, so little is left to do: the passes that look for more take longer than all
     * the rest. */
    LLVMErrorRef failed =
        LLVMRunPasses(g->module, "globaldce,always-inline,globaldce,function(sroa,early-cse,instsimplify,simplifycfg)",
                      machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (failed) {
        char *text = LLVMGetErrorMessage(failed);
        int status = host->error(NEAP_E_INTERNAL, "LLVM: %s", text);
        LLVMDisposeErrorMessage(text);
        return status;
    }
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, g->module, LLVMObjectFile, &error, &out)) {
        int status = host->error(NEAP_E_INTERNAL, "LLVM: %s", error);
        LLVMDisposeMessage(error);
        return status;
    }
    *bytes = LLVMGetBufferSize(out);
    *object = malloc(*bytes);
    if (*object)
        memcpy(*object, LLVMGetBufferStart(out), *bytes);
    LLVMDisposeMemoryBuffer(out);
    return *object ? NEAP_OK : host->error(NEAP_E_MEMORY, "no memory for machine code");
}

static LLVMTargetMachineRef machine;

static int begin(void) {
    char *error = NULL, *triple = LLVMGetDefaultTargetTriple();
    LLVMTargetRef target;
    LLVM_NATIVE_TARGETINFO();
    LLVM_NATIVE_TARGET();
    LLVM_NATIVE_TARGETMC();
    LLVM_NATIVE_ASMPRINTER();
    int status = NEAP_OK;
    if (LLVMGetTargetFromTriple(triple, &target, &error)) {
        status = host->error(NEAP_E_LIBRARY, "LLVM: %s", error);
        LLVMDisposeMessage(error);
    } else {
        machine =
            LLVMCreateTargetMachine(target, triple, "", "", LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelSmall);
    }
    LLVMDisposeMessage(triple);
    return status;
}

static int generate_body(const void *given, const char *isa, void **object, size_t *bytes) {
    const native_body *body = given;
    const native_bitcode *set = native_bitcodes;
    size_t values = (size_t)(body->ninputs + body->nins);
    int status = machine ? NEAP_OK : begin();
    while (set->isa && strcmp(set->isa, isa) != 0)
        set++;
    if (status || !set->isa)
        return status ? status : host->error(NEAP_E_ARGUMENT, "no bitcode for %s", isa);
    generator g = {.body = body, .lanes = set->lanes, .context = LLVMContextCreate()};
    g.module = LLVMModuleCreateWithNameInContext("kernel", g.context);
    g.builder = LLVMCreateBuilderInContext(g.context);
    g.pointer = LLVMPointerTypeInContext(g.context, 0);
    g.word = LLVMInt64TypeInContext(g.context);
    g.base = calloc((size_t)(body->ninputs + body->noutputs + body->nfolds), sizeof *g.base);
    bool turns = body->turns && !body->turns->stages, stages = body->turns && body->turns->stages;
    int blocks = turns ? ir_turns_blocks(&g) : body->nins <= 2 ? 4 : body->nins <= 16 ? 2 : 1;
    blocks = blocks < ir_fold_blocks(&g) ? ir_fold_blocks(&g) : blocks;
    LLVMValueRef *places = calloc((size_t)blocks * values, sizeof *places);
    g.dtype = calloc(values, sizeof *g.dtype);
    g.single = calloc(values, sizeof *g.single);
    status =
        g.base && places && g.dtype && g.single ? NEAP_OK : host->error(NEAP_E_MEMORY, "no memory for a kernel's code");
    for (size_t v = 0; v < values && !status; v++)
        g.dtype[v] = (int)v < body->ninputs ? body->inputs[v].dtype : body->ins[(int)v - body->ninputs].result;
    if (!status) {
        find_single(&g);
        status = link_rows(&g, set);
    }
    if (!status && (turns || stages)) {
        bool built = turns ? ir_build_turns(&g, places, blocks) : ir_build_stages(&g, places, blocks);
        status = built ? NEAP_OK : host->error(NEAP_E_MEMORY, "no memory for a loop's code");
    } else if (!status)
        build(&g, places, blocks);
    if (!status) {
        prepare_functions(&g, set);
        status = emit(&g, machine, object, bytes);
    }
    free(g.base), free(places), free(g.dtype), free(g.single);
    LLVMDisposeBuilder(g.builder);
    LLVMDisposeModule(g.module);
    LLVMContextDispose(g.context);
    return status;
}

/* LLVM cannot go on without memory, and has no way back: what it was doing is left as it is, and it is not called
 * again. */
static void on_fatal(const char *reason) {
    memory_give_up(reason);
}

static int guarded(int (*work)(const void *what, const char *target, void **out, size_t *bytes), const void *what,
                   const char *target, void **out, size_t *bytes) {
    static bool broken;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    jmp_buf back;
    volatile int status;
    pthread_mutex_lock(&mutex);
    if (broken) {
        status = host->error(NEAP_E_LIBRARY, "LLVM has failed before: %s", memory_failure());
    } else if (memory_is_short()) {
        status = host->error(NEAP_E_MEMORY, "there was no memory for the generator");
    } else if (setjmp(back)) {
        broken = true;
        status = host->error(NEAP_E_LIBRARY, "LLVM: %s", memory_failure());
    } else {
        memory_begin(&back);
        LLVMInstallFatalErrorHandler(on_fatal);
        status = work(what, target, out, bytes);
        LLVMResetFatalErrorHandler();
        memory_end();
    }
    pthread_mutex_unlock(&mutex);
    return status;
}

static int generate(const void *body, const char *isa, void **object, size_t *bytes) {
    return guarded(generate_body, body, isa, object, bytes);
}

#if defined(NATIVE_GPU) /* an LLVM with the target NVPTX */
static int for_gpu(const void *kernel, const char *target, void **out, size_t *bytes) {
    return guarded(gpu_generate, kernel, target, out, bytes);
}
#else
#define for_gpu NULL
#endif

static const neap_generator offered = {
    .abi = NEAP_DEVICE_ABI, .name = "LLVM " LLVM_VERSION_STRING, .generate = generate, .generate_gpu = for_gpu};

int neap_plugin_open(const neap_plugin_host *given) {
    if (given->abi != NEAP_DEVICE_ABI)
        return given->error(NEAP_E_LIBRARY, "made for interface %d, not %u", NEAP_DEVICE_ABI, (unsigned)given->abi);
    host = given;
#if defined(NATIVE_GPU)
    gpu_host = given;
#endif
    return host->generator_register(&offered);
}
