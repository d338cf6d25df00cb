/* generate.c: from a body to an object file, by LLVM's C API.
 *
 * Arithmetic is not written here: each instruction is a call of its row's function (rows.c), whose bitcode is linked
 * into the kernel's module and inlined. What is written here is loops, loads and stores:
 *
 *      a block:         load LANES elements, call the rows, store, fold (folds.c)
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
 * A sequence has another function around its blocks (sequence_registers.c, sequence.c).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/ErrorHandling.h>
#include <llvm/Config/llvm-config.h>

#include "engine/device.h"
#include "lazy/arena.h"
#include "lazy/dtype/dtype.h"
#include "lazy/native/plugin/generator.h"
#include "lazy/native/plugin/gpu.h"
#include "lazy/native/plugin/memory.h"
#include "lazy/native/plugin/target.h"
#include "ops_gen.h"

#include "native_build.h"
#include "native_gen.h"

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

const char *ir_fold_name(const lazy_kernel *loop, const lazy_sink *sink) {
    return fold_names[sink->op][loop_dtype_of(loop, sink->value)];
}

/* Bytes of an element's vector, and how many of them are one register. */
static int vector_bytes(const generator *g, int dtype) {
    return (int)ir_bytes(dtype) * g->lanes;
}
static int register_bytes(const generator *g, int dtype) {
    int most = (int)sizeof(float) * g->lanes;
    return vector_bytes(g, dtype) < most ? vector_bytes(g, dtype) : most;
}

static bool is_far_load(const generator *g, int k) {
    return g->body->far && g->body->far[k];
}
/* Pieces of vectors would be written line by line in pieces, too. */
static bool is_far_sink(const generator *g, int k) {
    enum { LEAST = 16 };
    const int value = g->loop->sinks[k].value;
    return g->body->far && g->body->far[g->loop->nloads + k] && !g->own.single[value] &&
           register_bytes(g, g->own.dtype[value]) >= LEAST;
}

/* Asks for what the far loads are in block `block` of a later step; lines that begin in it. */
static void ask_ahead(generator *g, LLVMValueRef i, int block) {
    enum { AHEAD = 6144, LINE = 64 };
    LLVMTypeRef i32 = LLVMInt32TypeInContext(g->context), ft;
    for (int k = 0; k < g->loop->nloads; k++) {
        if (!is_far_load(g, k))
            continue;
        int bytes = vector_bytes(g, g->own.dtype[k]);
        LLVMValueRef f = ir_intrinsic(g, "llvm.prefetch", &g->pointer, 1, &ft);
        for (int at = (LINE - block * bytes % LINE) % LINE; at < bytes; at += LINE) {
            LLVMValueRef ahead = ir_number(g, AHEAD + at), address = ir_beyond(g, g->own.base[k], g->own.dtype[k], i);
            LLVMValueRef args[] = {LLVMBuildGEP2(g->builder, LLVMInt8TypeInContext(g->context), address, &ahead, 1, ""),
                                   LLVMConstInt(i32, 0, 0), LLVMConstInt(i32, 3, 0), LLVMConstInt(i32, 1, 0)};
            LLVMBuildCall2(g->builder, ft, f, args, 4, "");
        }
    }
}

static void load_elements(generator *g, LLVMValueRef i, LLVMValueRef mask) {
    for (int k = 0; k < g->loop->nloads; k++) {
        if (g->own.single[k])
            continue;
        LLVMValueRef at = ir_beyond(g, g->own.base[k], g->own.dtype[k], i);
        LLVMBuildStore(g->builder, ir_load_vector(g, at, g->own.dtype[k], mask, NULL), g->value[k]);
    }
}

static LLVMValueRef fast_row(const generator *g, const lazy_ins *ins) {
    char name[96];
    row_function("fast", ins, name, sizeof name);
    return LLVMGetNamedFunction(g->module, name);
}

bool ir_has_fast(const generator *g, int j) {
    return fast_row(g, &g->loop->ins[j]) != NULL;
}

LLVMValueRef ir_call_row(generator *g, int j, bool fast) {
    const lazy_ins *ins = &g->loop->ins[j];
    char name[96];
    LLVMValueRef args[4] = {g->value[g->loop->nloads + j]}, function = fast ? fast_row(g, ins) : NULL;
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
    for (int j = 0; j < g->loop->nins; j++) {
        LLVMValueRef said = g->own.single[g->loop->nloads + j] ? NULL : ir_call_row(g, j, fast);
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
static void store_elements(generator *g, LLVMValueRef i, LLVMValueRef mask, bool past) {
    for (int k = 0; k < g->loop->nsinks; k++) {
        int value = g->loop->sinks[k].value, dtype = g->own.dtype[value];
        if (ir_is_reduction(g, k) || g->own.single[value])
            continue;
        LLVMValueRef v = ir_value(g, value), at = ir_beyond(g, g->own.base[g->loop->nloads + k], dtype, i);
        if (past && !mask && is_far_sink(g, k))
            store_past(g, v, at, dtype);
        else
            ir_store_vector(g, v, at, dtype, mask);
    }
}

/* Computes once, before the first block, what is one for all elements. */
static void single_values(generator *g) {
    ir_choose(g, 0);
    for (int j = 0; j < g->loop->nins; j++)
        if (g->own.single[g->loop->nloads + j])
            ir_call_row(g, j, false);
    for (int k = 0; k < g->loop->nsinks; k++) {
        int value = g->loop->sinks[k].value;
        if (!ir_is_reduction(g, k) && g->own.single[value])
            ir_store_single(g, ir_first_lane(g, value), g->own.base[g->loop->nloads + k], g->own.dtype[value]);
    }
}

/* Whether all far sinks lie where their vectors may begin; NULL: there are none. */
static LLVMValueRef lies_well(generator *g) {
    LLVMValueRef off = NULL;
    for (int k = 0; k < g->loop->nsinks; k++) {
        if (!is_far_sink(g, k))
            continue;
        LLVMValueRef at = LLVMBuildPtrToInt(g->builder, g->own.base[g->loop->nloads + k], g->word, "");
        at = LLVMBuildAnd(g->builder, at, ir_number(g, register_bytes(g, g->own.dtype[g->loop->sinks[k].value]) - 1),
                          "");
        off = off ? LLVMBuildOr(g->builder, off, at, "") : at;
    }
    return off ? LLVMBuildICmp(g->builder, LLVMIntEQ, off, ir_number(g, 0), "") : NULL;
}

/* Where loads and sinks are, and places for values; what is one for all elements is there once. */
static void prologue(generator *g) {
    for (int k = 0; k < g->loop->nloads + g->loop->nsinks; k++) {
        LLVMValueRef index = ir_number(g, k);
        LLVMValueRef at = LLVMBuildGEP2(g->builder, g->pointer, LLVMGetParam(g->function, 0), &index, 1, "");
        g->own.base[k] = LLVMBuildLoad2(g->builder, g->pointer, at, "");
    }
    for (int k = 0; k < g->loop->nsinks; k++)
        g->own.leaves[k] = g->own.base[g->loop->nloads + k];
    ir_value_places(g);
    ir_choose(g, 0);
    for (int k = 0; k < g->loop->nloads; k++)
        if (g->own.single[k]) {
            LLVMValueRef v = LLVMBuildLoad2(g->builder, ir_element(g, g->own.dtype[k]), g->own.base[k], "");
            LLVMBuildStore(g->builder, ir_splat(g, v, ir_vector(g, g->own.dtype[k])), g->value[k]);
        }
    single_values(g);
    ir_folds_places(g);
    g->past = lies_well(g);
}

/* Blocks from r on, as many as there are lanes of a leaf, by the rows that take all arguments; but nothing from `end`
 * on. */
static void masked_blocks(generator *g, LLVMValueRef r, LLVMValueRef end) {
    for (int k = 0; k < ir_fold_blocks(g); k++) {
        LLVMValueRef at = LLVMBuildAdd(g->builder, r, ir_number(g, k * g->lanes), "");
        LLVMValueRef left = LLVMBuildICmp(g->builder, LLVMIntSGT, end, at, "");
        LLVMValueRef mask = ir_lanes_left(g, at, LLVMBuildSelect(g->builder, left, end, at, ""));
        ir_choose(g, k);
        load_elements(g, at, mask);
        call_rows(g, false);
        store_elements(g, at, mask, false);
        ir_fold_block(g, k, mask);
    }
}

/* The blocks of a step by the fast rows. Returns whether nothing was rare. */
static LLVMValueRef fast_blocks(generator *g, LLVMValueRef i) {
    LLVMValueRef rare = LLVMConstInt(LLVMInt32TypeInContext(g->context), 0, 0);
    for (int k = 0; k < g->blocks; k++) {
        ir_choose(g, k);
        LLVMValueRef at = LLVMBuildAdd(g->builder, i, ir_number(g, k * g->lanes), "");
        ask_ahead(g, at, k);
        load_elements(g, at, NULL);
        rare = LLVMBuildOr(g->builder, rare, call_rows(g, true), "");
    }
    return LLVMBuildICmp(g->builder, LLVMIntEQ, rare, LLVMConstNull(LLVMTypeOf(rare)), "");
}

/* Stores and folds the blocks of a step, of which nothing was rare. */
static void keep_blocks(generator *g, LLVMValueRef i) {
    LLVMBasicBlockRef past = NULL, stored = NULL;
    if (g->past) {
        LLVMBasicBlockRef near = ir_append(g, "near");
        past = ir_append(g, "past");
        stored = ir_append(g, "stored");
        LLVMBuildCondBr(g->builder, g->past, past, near);
        LLVMPositionBuilderAtEnd(g->builder, near);
    }
    for (int way = 0; way < (past ? 2 : 1); way++) {
        for (int k = 0; k < g->blocks; k++) {
            ir_choose(g, k);
            store_elements(g, LLVMBuildAdd(g->builder, i, ir_number(g, k * g->lanes), ""), NULL, way == 1);
        }
        if (past) {
            LLVMBuildBr(g->builder, stored);
            LLVMPositionBuilderAtEnd(g->builder, way == 0 ? past : stored);
        }
    }
    for (int k = 0; k < g->blocks; k++) {
        ir_choose(g, k);
        ir_fold_block(g, k, NULL);
    }
}

/*      entry ─▶ leaf ─▶ whole: is there a step at i? ──▶ step ──▶ keep ─▶ whole, folded
 *                 │              └──▶ masked ◀── rare ───┘
 *                 └─ lead (lead.c) ─────▶┘
 *                                        └─▶ masked, whole, folded ─▶ leaf, join ─▶ out
 *
 * Without folds all elements are one leaf. */
static void build(generator *g) {
    enum { ENTRY, LEAF, WHOLE, STEP, KEEP, MASKED, BEHIND, FOLDED, JOIN, OUT, PARTS };
    static const char *const names[] = {"entry",  "leaf",   "whole",  "step", "keep",
                                        "masked", "behind", "folded", "join", "out"};
    LLVMBuilderRef B = g->builder;
    LLVMTypeRef args[] = {g->pointer, g->word};
    LLVMBasicBlockRef part[PARTS];
    g->function = LLVMAddFunction(g->module, "kernel", LLVMFunctionType(LLVMVoidTypeInContext(g->context), args, 2, 0));
    LLVMValueRef n = LLVMGetParam(g->function, 1), step = ir_number(g, g->lanes * g->blocks);
    for (int k = 0; k < PARTS; k++)
        part[k] = ir_append(g, names[k]);
    LLVMPositionBuilderAtEnd(B, part[ENTRY]);
    prologue(g);
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
    LLVMBuildCondBr(B, fast_blocks(g, i), part[KEEP], part[MASKED]);

    LLVMPositionBuilderAtEnd(B, part[KEEP]);
    keep_blocks(g, i);
    LLVMBasicBlockRef kept = LLVMGetInsertBlock(B);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, behind, last, ""), part[WHOLE], part[FOLDED]);

    LLVMPositionBuilderAtEnd(B, part[MASKED]);
    LLVMValueRef r = LLVMBuildPhi(B, g->word, "r"), end = LLVMBuildPhi(B, g->word, "end");
    masked_blocks(g, r, end);
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
    const native_body *body = ((const generator *)generator_of)->body;
    for (const lazy_kernel *loop = body->loops; loop < body->loops + body->nloops; loop++) {
        for (int j = 0; j < loop->nins; j++)
            if (!loop_is_take(loop, &loop->ins[j]) && ir_is_of(function, row_name(&loop->ins[j])))
                return true;
        for (int k = 0; k < loop->nsinks; k++)
            if (loop->sinks[k].kind == LAZY_SINK_REDUCE && ir_is_of(function, ir_fold_name(loop, &loop->sinks[k])))
                return true;
    }
    return false;
}

/* Links what the body needs of all modules that have a row of it. */
static int link_rows(generator *g, const native_bitcode *set) {
    bool dtypes[NEAP_DTYPE_COUNT + 1] = {false};
    for (const lazy_kernel *loop = g->body->loops; loop < g->body->loops + g->body->nloops; loop++) {
        for (int j = 0; j < loop->nins; j++)
            if (!loop_is_take(loop, &loop->ins[j]))
                dtypes[ir_dtype_of(row_name(&loop->ins[j]))] = true;
        for (int k = 0; k < loop->nsinks; k++)
            if (loop->sinks[k].kind == LAZY_SINK_REDUCE)
                dtypes[ir_dtype_of(ir_fold_name(loop, &loop->sinks[k]))] = true;
    }
    if (dtypes[NEAP_DTYPE_COUNT])
        return ir_host->error(NEAP_E_INTERNAL, "no module for a row");
    return ir_link_rows(g->module, set, dtypes, is_needed, g);
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
                ir_set_attribute(f, "alwaysinline");
        LLVMAttributeRef features = LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                                                  "target-features", strlen("target-features"));
        if (features && f != g->function)
            LLVMAddAttributeAtIndex(g->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, features);
    }
    set_text(g, g->function, "min-legal-vector-width", set->vector_bits);
    set_text(g, g->function, "prefer-vector-width", set->vector_bits);
    ir_set_attribute(g->function, "nounwind");
}

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */
void ir_enter(generator *g, int k) {
    const native_body *b = g->body;
    int values = 0, sinks = 0, places = 0;
    for (int i = 0; i < k; i++) {
        values += b->loops[i].nloads + b->loops[i].nins;
        sinks += b->loops[i].nsinks;
        places += b->loops[i].nloads + b->loops[i].nsinks;
    }
    g->loop = &b->loops[k];
    g->axis = loop_runs_across(g->loop) ? g->loop->nkept - 1 : g->loop->ndim - 1;
    g->own = (ir_parts){.base = g->all.base + places,
                        .values = g->all.values + values,
                        .dtype = g->all.dtype + values,
                        .single = g->all.single + values,
                        .lane = g->all.lane + sinks,
                        .spare = g->all.spare + sinks,
                        .leaves = g->all.leaves + sinks,
                        .idle = g->all.idle + sinks};
}

/* Which values of the loop are one for all its elements. What a reduction gives is one for a row, but if rows lie side
 * by side it is one of its elements. */
static void find_single(generator *g) {
    const lazy_kernel *loop = g->loop;
    for (int k = 0; k < loop->nloads; k++)
        g->own.single[k] = loop->loads[k].kind == LAZY_LOAD_BUFFER   ? !ir_is_wide(g, &loop->loads[k].read)
                           : loop->loads[k].kind == LAZY_LOAD_RESULT ? g->axis == loop->ndim - 1
                                                                     : true;
    for (int j = 0; j < loop->nins; j++) {
        const lazy_ins *ins = &loop->ins[j];
        bool single = true;
        for (int a = 0; a < ins->narg; a++)
            single &= g->own.single[ins->arg[a]];
        if (loop_is_take(loop, ins))
            single = !ir_is_wide(g, &loop->loads[ins->arg[0]].read);
        g->own.single[loop->nloads + j] = single;
    }
}

void ir_value_places(generator *g) {
    const int n = g->loop->nloads + g->loop->nins;
    for (int block = 0; block < g->blocks; block++)
        for (int v = 0; v < n; v++)
            g->own.values[block * g->nvalues + v] =
                block > 0 && g->own.single[v] ? g->own.values[v]
                                              : LLVMBuildAlloca(g->builder, ir_vector(g, g->own.dtype[v]), "");
}

/* Room for the parts of all loops, in one piece, which *room is. */
static int make_parts(generator *g, void **room) {
    const native_body *b = g->body;
    size_t sinks = 0, places = 0;
    int nins = 0;
    for (const lazy_kernel *loop = b->loops; loop < b->loops + b->nloops; loop++) {
        nins += loop->nins;
        g->nvalues += loop->nloads + loop->nins;
        sinks += (size_t)loop->nsinks, places += (size_t)(loop->nloads + loop->nsinks);
        for (int k = 0; k < loop->nsinks; k++)
            g->reduces |= loop->sinks[k].kind == LAZY_SINK_REDUCE;
    }
    g->blocks = b->sequence && b->sequence->in_registers ? ir_registers_blocks(g) : nins <= 2 ? 4 : nins <= 16 ? 2 : 1;
    if (g->blocks < ir_fold_blocks(g))
        g->blocks = ir_fold_blocks(g);
    if (!LAZY_ARENA(
            LAZY_PART(g->all.base, places + 1), LAZY_PART(g->all.values, (size_t)g->blocks * (size_t)g->nvalues),
            LAZY_PART(g->all.dtype, g->nvalues), LAZY_PART(g->all.single, g->nvalues), LAZY_PART(g->all.lane, sinks),
            LAZY_PART(g->all.spare, sinks), LAZY_PART(g->all.leaves, sinks), LAZY_PART(g->all.idle, sinks)))
        return ir_host->error(NEAP_E_MEMORY, "no memory for a kernel's code");
    *room = g->all.base;
    for (int k = 0; k < b->nloops; k++) {
        ir_enter(g, k);
        for (int v = 0; v < g->loop->nloads + g->loop->nins; v++)
            g->own.dtype[v] = loop_dtype_of(g->loop, v);
        find_single(g);
    }
    return NEAP_OK;
}

static LLVMTargetMachineRef machine;

static int write_body(generator *g, const native_bitcode *set, void **object, size_t *bytes) {
    const loop_sequence *sequence = g->body->sequence;
    int status = link_rows(g, set);
    if (status)
        return status;
    ir_enter(g, 0);
    if (!sequence)
        build(g);
    else if (!(sequence->in_registers ? ir_write_registers(g) : ir_write_sequence(g)))
        return ir_host->error(NEAP_E_MEMORY, "no memory for a loop's code");
    prepare_functions(g, set);
    return ir_emit(IR_CPU, g->module, machine, object, bytes);
}

static int generate_body(const void *given, const char *isa, void **object, size_t *bytes) {
    const native_bitcode *set = native_bitcodes;
    void *room = NULL;
    int status = machine ? NEAP_OK : ir_machine_new(IR_CPU, NULL, &machine);
    while (set->isa && strcmp(set->isa, isa) != 0)
        set++;
    if (status || !set->isa)
        return status ? status : ir_host->error(NEAP_E_ARGUMENT, "no bitcode for %s", isa);
    generator g = {.body = given, .lanes = set->lanes, .context = LLVMContextCreate()};
    g.module = LLVMModuleCreateWithNameInContext("kernel", g.context);
    g.builder = LLVMCreateBuilderInContext(g.context);
    g.pointer = LLVMPointerTypeInContext(g.context, 0);
    g.word = LLVMInt64TypeInContext(g.context);
    status = make_parts(&g, &room);
    if (!status)
        status = write_body(&g, set, object, bytes);
    free(room);
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
        status = ir_host->error(NEAP_E_LIBRARY, "LLVM has failed before: %s", memory_failure());
    } else if (memory_is_short()) {
        status = ir_host->error(NEAP_E_MEMORY, "there was no memory for the generator");
    } else if (setjmp(back)) {
        broken = true;
        status = ir_host->error(NEAP_E_LIBRARY, "LLVM: %s", memory_failure());
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

static const neap_generator offered = {.abi = NEAP_DEVICE_ABI,
                                       .build = NATIVE_BUILD,
                                       .name = "LLVM " LLVM_VERSION_STRING,
                                       .generate = generate,
                                       .generate_gpu = for_gpu};

int neap_plugin_open(const neap_plugin_host *given) {
    if (given->abi != NEAP_DEVICE_ABI)
        return given->error(NEAP_E_LIBRARY, "made for interface %d, not %u", NEAP_DEVICE_ABI, (unsigned)given->abi);
    ir_host = given;
    return ir_host->generator_register(&offered);
}
