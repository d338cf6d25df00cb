/* plugin/turns.c: the function around a body that is a turn of a loop.
 *
 * Element e of a turn depends on nothing but element e of the turn before, and on single elements. So the loops change
 * places: a group of blocks goes through all turns before the next group, and what it carries stays in registers:
 *
 *      for each group of blocks:
 *          load the carries, and what stays
 *          turn:   out of turns, or the condition is false ─▶ out
 *                  load what moves, call the fast rows ── rare ─▶ call all of them again, by those that take anything
 *                  store the outputs; the next carries are the carries ─▶ turn
 *          store the carries
 *
 * No bit depends on it: each element sees the same maps in the same order. A value that is one element fills a vector,
 * and is computed once for all blocks of a group. All groups run equally many turns, since the condition is of such
 * values. As many blocks as a group has run side by side: what a turn waits for is the chain of its own maps.
 *
 * Lanes behind the last element do what the first one of their group does, so nothing is rare in them alone.
 */
#include "lazy/native/plugin/generator.h"

#include <stdlib.h>

enum { BLOCKS = 4, FEW_INS = 4, MANY_INS = 64 };

typedef struct writer {
    generator *g;
    const native_turns *turns;
    LLVMValueRef *values; /* by block and value: allocas; of a single element those of the first block */
    bool *single;         /* by value: it is one element */
    LLVMValueRef *first;  /* by input that is one element and does not move: what it is at first */
    LLVMValueRef *after;  /* by block and input: what a carry is in the next turn */
    LLVMValueRef *moves;  /* by input, then by output: bytes in a turn */
    LLVMValueRef n, most; /* elements, turns */
    int blocks;           /* of the group that is written */
    LLVMValueRef at[BLOCKS], mask[BLOCKS]; /* by block: its first element; its lanes, NULL: all of them */
} writer;

int ir_turns_blocks(const generator *g) {
    const native_turns *turns = g->body->turns;
    int most = g->body->nins <= FEW_INS ? BLOCKS : g->body->nins <= MANY_INS ? BLOCKS / 2 : 1;
    int needed = turns->extent ? (turns->extent + g->lanes - 1) / g->lanes : most;
    return needed < most ? needed : most;
}

static LLVMValueRef parameter(writer *w, int k, int index, LLVMTypeRef type) {
    LLVMValueRef i = ir_number(w->g, index), base = LLVMGetParam(w->g->function, (unsigned)k);
    LLVMValueRef at = LLVMBuildGEP2(w->g->builder, type, base, &i, 1, "");
    return LLVMBuildLoad2(w->g->builder, type, at, "");
}

/* Makes the blocks' values that are to be used now those of `block`. */
static void choose(writer *w, int block) {
    w->g->value = w->values + block * (w->g->body->ninputs + w->g->body->nins);
}

static bool is_carry(const writer *w, int k) {
    return w->turns->next[k] >= 0;
}
static bool is_moved(const writer *w, int k) {
    return w->turns->next[k] == NATIVE_MOVES;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */
/* Where input or output k is in a turn (NULL: it does not move). */
static LLVMValueRef base_at(writer *w, int k, LLVMValueRef turn) {
    LLVMBuilderRef B = w->g->builder;
    if (!turn)
        return w->g->base[k];
    LLVMValueRef distance = LLVMBuildMul(B, turn, w->moves[k], "");
    return LLVMBuildGEP2(B, LLVMInt8TypeInContext(w->g->context), w->g->base[k], &distance, 1, "");
}

/* Lanes outside of the mask have the first element of the group. */
static LLVMValueRef load_vector(writer *w, LLVMValueRef base, int dtype, int block) {
    LLVMValueRef first = w->mask[block] ? ir_beyond(w->g, base, dtype, w->at[0]) : NULL;
    return ir_load_vector(w->g, ir_beyond(w->g, base, dtype, w->at[block]), dtype, w->mask[block], first);
}

static void load_input(writer *w, int k, int block, LLVMValueRef turn) {
    generator *g = w->g;
    int dtype = g->dtype[k];
    LLVMValueRef v;
    choose(w, block);
    if (!w->single[k])
        v = load_vector(w, base_at(w, k, turn), dtype, block);
    else if (block > 0)
        return;
    else
        v = ir_splat(g, turn ? ir_load_single(w->g, base_at(w, k, turn), dtype) : w->first[k], ir_vector(g, dtype));
    LLVMBuildStore(g->builder, v, g->value[k]);
}

/* Stores value v of a block: all its elements, or the first one. */
static void store_value(writer *w, int v, bool wide, LLVMValueRef base, int block) {
    generator *g = w->g;
    const int dtype = g->dtype[v];
    choose(w, block);
    if (wide)
        ir_store_vector(g, ir_value(g, v), ir_beyond(g, base, dtype, w->at[block]), dtype, w->mask[block]);
    else if (block == 0)
        ir_store_single(g, ir_first_lane(g, v), base, dtype);
}

/* ---- A turn ------------------------------------------------------------------------------------------------------ */
/* Calls the rows of instructions [from, to) for all blocks. Returns what the fast ones say, or NULL. */
static LLVMValueRef call_rows(writer *w, int from, int to, bool fast) {
    LLVMValueRef rare = NULL;
    for (int block = 0; block < w->blocks; block++) {
        choose(w, block);
        for (int j = from; j < to; j++) {
            LLVMValueRef said = block > 0 && w->single[w->g->body->ninputs + j] ? NULL : ir_call_row(w->g, j, fast);
            if (said)
                rare = rare ? LLVMBuildOr(w->g->builder, rare, said, "") : said;
        }
    }
    return rare;
}

/* Goes to `body` if there is another turn, else to `end`. */
static void test(writer *w, LLVMValueRef turn, LLVMBasicBlockRef body, LLVMBasicBlockRef end) {
    LLVMBuilderRef B = w->g->builder;
    bool asks = w->turns->condition >= 0;
    LLVMBasicBlockRef head = asks ? ir_append(w->g, "head") : body;
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, turn, w->most, ""), head, end);
    if (!asks)
        return;
    LLVMPositionBuilderAtEnd(B, head);
    call_rows(w, 0, w->turns->head, false);
    choose(w, 0);
    LLVMValueRef said = ir_first_lane(w->g, w->turns->condition);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntNE, said, LLVMConstNull(LLVMTypeOf(said)), ""), body, end);
}

static void compute(writer *w) {
    LLVMBasicBlockRef keep = ir_if_rare(w->g, call_rows(w, w->turns->head, w->g->body->nins, true));
    if (!keep)
        return;
    call_rows(w, w->turns->head, w->g->body->nins, false);
    ir_go_on(w->g, keep);
}

/* The next carries become the carries, all of all blocks at once. */
static void carry_over(writer *w) {
    generator *g = w->g;
    int n = g->body->ninputs;
    for (int k = 0; k < w->blocks * n; k++)
        if (is_carry(w, k % n)) {
            int v = w->turns->next[k % n];
            choose(w, k / n);
            w->after[k] = ir_value(g, v);
        }
    for (int k = 0; k < w->blocks * n; k++)
        if (is_carry(w, k % n) && (k < n || !w->single[k % n])) {
            choose(w, k / n);
            LLVMBuildStore(g->builder, w->after[k], g->value[k % n]);
        }
}

/* All turns of a group. Returns how many they were. */
static LLVMValueRef write_group(writer *w) {
    generator *g = w->g;
    const native_body *b = g->body;
    LLVMBuilderRef B = g->builder;
    for (int block = 0; block < w->blocks; block++)
        for (int k = 0; k < b->ninputs; k++)
            if (!is_moved(w, k))
                load_input(w, k, block, NULL);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B), head = ir_append(w->g, "turn"), body = ir_append(w->g, "body"),
                      end = ir_append(w->g, "end");
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, head);
    LLVMValueRef turn = LLVMBuildPhi(B, g->word, "turn");
    test(w, turn, body, end);
    LLVMPositionBuilderAtEnd(B, body);
    for (int block = 0; block < w->blocks; block++)
        for (int k = 0; k < b->ninputs; k++)
            if (is_moved(w, k))
                load_input(w, k, block, turn);
    compute(w);
    for (int block = 0; block < w->blocks; block++)
        for (int k = 0; k < b->noutputs; k++)
            store_value(w, b->outputs[k], w->turns->wide[k], base_at(w, b->ninputs + k, turn), block);
    carry_over(w);
    LLVMValueRef next = LLVMBuildAdd(B, turn, ir_number(g, 1), "");
    LLVMAddIncoming(turn, (LLVMValueRef[]){ir_number(g, 0), next}, (LLVMBasicBlockRef[]){before, LLVMGetInsertBlock(B)},
                    2);
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, end);
    for (int block = 0; block < w->blocks; block++)
        for (int k = 0; k < b->ninputs; k++)
            if (is_carry(w, k))
                store_value(w, k, !w->single[k], g->base[k], block);
    return turn;
}

/* ---- Groups ------------------------------------------------------------------------------------------------------ */
/* Blocks from element i on; if `masked`, the last ones need not be there. */
static void place_blocks(writer *w, LLVMValueRef i, int blocks, bool masked) {
    LLVMBuilderRef B = w->g->builder;
    w->blocks = blocks;
    for (int k = 0; k < blocks; k++) {
        LLVMValueRef at = w->at[k] = LLVMBuildAdd(B, i, ir_number(w->g, k * w->g->lanes), "");
        LLVMValueRef begin = LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntSLT, at, w->n, ""), at, w->n, "");
        bool there = LLVMIsAConstantInt(at) && (k + 1) * w->g->lanes <= w->turns->extent;
        w->mask[k] = masked && !there ? ir_lanes_left(w->g, begin, w->n) : NULL;
    }
}

/* A loop of groups over elements from *i on, while there are as many as they take (masked: any). */
static void write_groups(writer *w, LLVMValueRef i, LLVMValueRef count, int blocks, bool masked) {
    generator *g = w->g;
    LLVMBuilderRef B = g->builder;
    LLVMBasicBlockRef more = ir_append(w->g, "more"), group = ir_append(w->g, "group"),
                      behind = ir_append(w->g, "behind");
    LLVMBuildBr(B, more);
    LLVMPositionBuilderAtEnd(B, more);
    LLVMValueRef at = LLVMBuildLoad2(B, g->word, i, "");
    LLVMValueRef end = LLVMBuildAdd(B, at, ir_number(g, masked ? 1 : blocks * g->lanes), "");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLE, end, w->n, ""), group, behind);
    LLVMPositionBuilderAtEnd(B, group);
    place_blocks(w, at, blocks, masked);
    LLVMBuildStore(B, write_group(w), count);
    LLVMBuildStore(B, LLVMBuildAdd(B, at, ir_number(g, blocks * g->lanes), ""), i);
    LLVMBuildBr(B, more);
    LLVMPositionBuilderAtEnd(B, behind);
}

/* Places for values, and what is known before the first group: single carries are read once, since the first group
 * writes over them. */
static void prologue(writer *w, int blocks) {
    generator *g = w->g;
    const native_body *b = g->body;
    int n = b->ninputs + b->nins;
    for (int k = 0; k < b->ninputs + b->noutputs; k++) {
        g->base[k] = parameter(w, 0, k, g->pointer);
        w->moves[k] = parameter(w, 1, k, g->word);
    }
    for (int v = 0; v < n; v++) {
        w->single[v] = v >= b->ninputs || !b->inputs[v].vector;
        for (int a = 0; v >= b->ninputs && a < b->ins[v - b->ninputs].narg; a++)
            w->single[v] &= w->single[b->ins[v - b->ninputs].arg[a]];
    }
    for (int v = 0; v < blocks * n; v++)
        w->values[v] = v >= n && w->single[v % n] ? w->values[v % n]
                                                  : LLVMBuildAlloca(g->builder, ir_vector(g, g->dtype[v % n]), "");
    for (int k = 0; k < b->ninputs; k++)
        if (w->single[k] && !is_moved(w, k))
            w->first[k] = ir_load_single(w->g, g->base[k], g->dtype[k]);
}

static void build(writer *w, int blocks) {
    generator *g = w->g;
    LLVMBuilderRef B = g->builder;
    LLVMTypeRef args[] = {g->pointer, g->pointer, g->word, g->word};
    int extent = w->turns->extent;
    g->function = LLVMAddFunction(g->module, "kernel", LLVMFunctionType(g->word, args, 4, 0));
    LLVMPositionBuilderAtEnd(B, ir_append(w->g, "entry"));
    w->n = extent ? ir_number(g, extent) : LLVMGetParam(g->function, 2);
    w->most = LLVMGetParam(g->function, 3);
    prologue(w, blocks);
    if (extent && extent <= blocks * g->lanes) { /* one element is a whole block: nothing of it is a vector in memory */
        place_blocks(w, ir_number(g, 0), blocks, extent > 1 && extent < blocks * g->lanes);
        LLVMBuildRet(B, write_group(w));
        return;
    }
    LLVMValueRef i = LLVMBuildAlloca(B, g->word, ""), count = LLVMBuildAlloca(B, g->word, "");
    LLVMBuildStore(B, ir_number(g, 0), i);
    LLVMBuildStore(B, ir_number(g, 0), count);
    write_groups(w, i, count, blocks, false);
    write_groups(w, i, count, blocks, true);
    LLVMBuildRet(B, LLVMBuildLoad2(B, g->word, count, ""));
}

bool ir_build_turns(generator *g, LLVMValueRef *values, int blocks) {
    const native_body *b = g->body;
    writer w = {.g = g, .turns = b->turns, .values = values};
    w.single = calloc((size_t)(b->ninputs + b->nins) + 1, sizeof *w.single);
    w.first = calloc((size_t)b->ninputs * (1 + BLOCKS) + 1, sizeof *w.first);
    w.after = w.first + b->ninputs;
    w.moves = calloc((size_t)(b->ninputs + b->noutputs) + 1, sizeof *w.moves);
    bool there = w.single && w.first && w.moves;
    if (there)
        build(&w, blocks);
    free(w.single), free(w.first), free(w.moves);
    return there;
}
