/* plugin/sequence_registers.c: the function of a sequence in registers (lazy/loop/sequence.h).
 *
 * Element e of a turn depends on nothing but element e of the turn before, and on single elements. So the loops change
 * places: a group of blocks goes through all turns before the next group, and what it carries stays in registers:
 *
 *      for each group of blocks:
 *          load the carries, and what stays
 *          turn:   out of turns, or the condition is false ─▶ out
 *                  load what moves, call the fast rows ── rare ─▶ call all of them again, by those that take anything
 *                  store; the next carries are the carries ─▶ turn
 *          store the carries
 *
 * No bit depends on it: each element sees the same maps in the same order. A value that is one element fills a vector,
 * and is computed once for all blocks of a group. All groups run equally many turns, since the condition is of such
 * values. As many blocks as a group has run side by side: what a turn waits for is the chain of its own maps.
 *
 * Lanes behind the last element do what the first one of their group does, so nothing is rare in them alone.
 */
#include <stdlib.h>

#include "lazy/arena.h"
#include "lazy/native/plugin/generator.h"

enum { BLOCKS = 4, FEW_INS = 4, MANY_INS = 64 };

typedef struct writer {
    generator *g;
    const loop_sequence *sequence;
    int32_t *next;                         /* by load: what is carried is in the next turn, -1: it is not carried */
    LLVMValueRef *first;                   /* by load that is one element and does not move: what it is at first */
    LLVMValueRef *after;                   /* by block and load: what is carried is in the next turn */
    LLVMValueRef *moves;                   /* by place: bytes in a turn */
    LLVMValueRef n, most;                  /* elements, turns */
    int blocks;                            /* of the group that is written */
    LLVMValueRef at[BLOCKS], mask[BLOCKS]; /* by block: its first element; its lanes, NULL: all of them */
} writer;

static int64_t extent_of(const generator *g) {
    return g->body->loops->shape[0];
}

int ir_registers_blocks(const generator *g) {
    const int nins = g->body->loops->nins, most = nins <= FEW_INS ? BLOCKS : nins <= MANY_INS ? BLOCKS / 2 : 1;
    const int64_t needed = extent_of(g) ? (extent_of(g) + g->lanes - 1) / g->lanes : most;
    return needed < most ? (int)needed : most;
}

static LLVMValueRef parameter(writer *w, int k, int index, LLVMTypeRef type) {
    LLVMValueRef i = ir_number(w->g, index), base = LLVMGetParam(w->g->function, (unsigned)k);
    LLVMValueRef at = LLVMBuildGEP2(w->g->builder, type, base, &i, 1, "");
    return LLVMBuildLoad2(w->g->builder, type, at, "");
}

static bool is_carry(const writer *w, int k) {
    return w->next[k] >= 0;
}
static bool is_moved(const writer *w, int k) {
    return w->sequence->moves[k];
}
static bool is_single(const writer *w, int v) {
    return w->g->own.single[v];
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */
/* Where load or sink k is in a turn (NULL: it does not move). */
static LLVMValueRef base_at(writer *w, int k, LLVMValueRef turn) {
    LLVMBuilderRef B = w->g->builder;
    if (!turn)
        return w->g->own.base[k];
    LLVMValueRef distance = LLVMBuildMul(B, turn, w->moves[k], "");
    return LLVMBuildGEP2(B, LLVMInt8TypeInContext(w->g->context), w->g->own.base[k], &distance, 1, "");
}

/* Lanes outside of the mask have the first element of the group. */
static LLVMValueRef load_vector(writer *w, LLVMValueRef base, int dtype, int block) {
    LLVMValueRef first = w->mask[block] ? ir_beyond(w->g, base, dtype, w->at[0]) : NULL;
    return ir_load_vector(w->g, ir_beyond(w->g, base, dtype, w->at[block]), dtype, w->mask[block], first);
}

static void write_load(writer *w, int k, int block, LLVMValueRef turn) {
    generator *g = w->g;
    int dtype = g->own.dtype[k];
    LLVMValueRef v;
    ir_choose(g, block);
    if (!is_single(w, k))
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
    const int dtype = g->own.dtype[v];
    ir_choose(g, block);
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
        ir_choose(w->g, block);
        for (int j = from; j < to; j++) {
            LLVMValueRef said = block > 0 && is_single(w, w->g->loop->nloads + j) ? NULL : ir_call_row(w->g, j, fast);
            if (said)
                rare = rare ? LLVMBuildOr(w->g->builder, rare, said, "") : said;
        }
    }
    return rare;
}

/* Goes to `body` if there is another turn, else to `end`. */
static void test(writer *w, LLVMValueRef turn, LLVMBasicBlockRef body, LLVMBasicBlockRef end) {
    LLVMBuilderRef B = w->g->builder;
    bool asks = w->sequence->truth >= 0;
    LLVMBasicBlockRef head = asks ? ir_append(w->g, "head") : body;
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, turn, w->most, ""), head, end);
    if (!asks)
        return;
    LLVMPositionBuilderAtEnd(B, head);
    call_rows(w, 0, w->sequence->head, false);
    ir_choose(w->g, 0);
    LLVMValueRef said = ir_first_lane(w->g, w->sequence->truth);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntNE, said, LLVMConstNull(LLVMTypeOf(said)), ""), body, end);
}

static void compute(writer *w) {
    const int head = w->sequence->head, nins = w->g->loop->nins;
    LLVMBasicBlockRef keep = ir_if_rare(w->g, call_rows(w, head, nins, true));
    if (!keep)
        return;
    call_rows(w, head, nins, false);
    ir_go_on(w->g, keep);
}

/* The next carries become the carries, all of all blocks at once. */
static void carry_over(writer *w) {
    generator *g = w->g;
    const int n = g->loop->nloads;
    for (int k = 0; k < w->blocks * n; k++)
        if (is_carry(w, k % n)) {
            ir_choose(g, k / n);
            w->after[k] = ir_value(g, w->next[k % n]);
        }
    for (int k = 0; k < w->blocks * n; k++)
        if (is_carry(w, k % n) && (k < n || !is_single(w, k % n))) {
            ir_choose(g, k / n);
            LLVMBuildStore(g->builder, w->after[k], g->value[k % n]);
        }
}

/* Loads of all blocks that move, or that do not. */
static void write_loads(writer *w, LLVMValueRef turn) {
    for (int block = 0; block < w->blocks; block++)
        for (int k = 0; k < w->g->loop->nloads; k++)
            if (is_moved(w, k) == (turn != NULL))
                write_load(w, k, block, turn);
}

/* All turns of a group. Returns how many they were. */
static LLVMValueRef write_group(writer *w) {
    generator *g = w->g;
    const lazy_kernel *loop = g->loop;
    LLVMBuilderRef B = g->builder;
    write_loads(w, NULL);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B), head = ir_append(w->g, "turn"), body = ir_append(w->g, "body"),
                      end = ir_append(w->g, "end");
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, head);
    LLVMValueRef turn = LLVMBuildPhi(B, g->word, "turn");
    test(w, turn, body, end);
    LLVMPositionBuilderAtEnd(B, body);
    write_loads(w, turn);
    compute(w);
    for (int block = 0; block < w->blocks; block++)
        for (int k = 0; k < loop->nsinks; k++)
            store_value(w, loop->sinks[k].value, ir_is_wide(g, &loop->sinks[k].write),
                        base_at(w, loop->nloads + k, turn), block);
    carry_over(w);
    LLVMValueRef next = LLVMBuildAdd(B, turn, ir_number(g, 1), "");
    LLVMAddIncoming(turn, (LLVMValueRef[]){ir_number(g, 0), next}, (LLVMBasicBlockRef[]){before, LLVMGetInsertBlock(B)},
                    2);
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, end);
    for (int block = 0; block < w->blocks; block++)
        for (int k = 0; k < loop->nloads; k++)
            if (is_carry(w, k))
                store_value(w, k, !is_single(w, k), g->own.base[k], block);
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
        bool there = LLVMIsAConstantInt(at) && (k + 1) * w->g->lanes <= extent_of(w->g);
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
static void prologue(writer *w) {
    generator *g = w->g;
    for (int k = 0; k < g->loop->nloads + g->loop->nsinks; k++) {
        g->own.base[k] = parameter(w, 0, k, g->pointer);
        w->moves[k] = parameter(w, 1, k, g->word);
    }
    ir_value_places(g);
    for (int k = 0; k < g->loop->nloads; k++)
        if (is_single(w, k) && !is_moved(w, k))
            w->first[k] = ir_load_single(w->g, g->own.base[k], g->own.dtype[k]);
}

static void build(writer *w) {
    generator *g = w->g;
    LLVMBuilderRef B = g->builder;
    LLVMTypeRef args[] = {g->pointer, g->pointer, g->word, g->word};
    const int blocks = g->blocks;
    const int64_t extent = extent_of(g);
    g->function = LLVMAddFunction(g->module, "kernel", LLVMFunctionType(g->word, args, 4, 0));
    LLVMPositionBuilderAtEnd(B, ir_append(w->g, "entry"));
    w->n = extent ? ir_number(g, extent) : LLVMGetParam(g->function, 2);
    w->most = LLVMGetParam(g->function, 3);
    prologue(w);
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

bool ir_write_registers(generator *g) {
    const int loads = g->loop->nloads;
    writer w = {.g = g, .sequence = g->body->sequence};
    if (!LAZY_ARENA(LAZY_PART(w.next, loads + 1), LAZY_PART(w.first, loads), LAZY_PART(w.after, loads * g->blocks),
                    LAZY_PART(w.moves, loads + g->loop->nsinks)))
        return false;
    for (int k = 0; k < loads; k++)
        w.next[k] = -1;
    for (int k = 0; k < w.sequence->ncarries; k++)
        w.next[w.sequence->carries[k].load] = w.sequence->carries[k].next;
    build(&w);
    free(w.next);
    return true;
}
