/* plugin/stages.c: the function around a body whose turns go through memory, stage by stage (native.h has them):
 *
 *      turn:   out of turns, or the first stages leave false ─▶ end
 *              stage, stage, …  ── a call fails ─▶ out
 *              the other set of places ─▶ turn
 *
 * Rows of elements are gone through in *phases*: what depends on a reduction of the row is of a later one than what is
 * reduced. In each phase single elements come first, then the elements of the row, block by block:
 *
 *      for each row:
 *          for each phase:
 *              what is one for the row: loads, reductions of the phases before, maps
 *              for each leaf, for each group of blocks:
 *                  load, call the fast rows ── rare ─▶ call all of them again, by those that take anything
 *                  store, fold
 *
 * Elements that a later phase reads are kept on the stack. What is loaded is kept so too where a store might change it:
 * a result may lie over what is read.
 */
#include <stdlib.h>

#include "lazy/dtype/dtype.h"
#include "lazy/native/plugin/generator.h"

enum { LEAF = 256, NO_PHASE = 1 << 20 };

typedef struct ends { /* how many inputs, instructions, outputs and folds there are before a stage, or behind it */
    int input, ins, output, fold;
} ends;

typedef struct writer {
    generator *g;
    const native_stages *stages;
    LLVMValueRef *values;         /* by block and value: allocas; of what is one for a row those of the first block */
    LLVMValueRef *kept;           /* by value: its elements on the stack, NULL */
    LLVMValueRef *table;          /* by instruction: where a take reads */
    LLVMValueRef *carry;          /* by input: what it is in this turn, on the stack, NULL */
    LLVMValueRef room;            /* of the pointers that a call gets */
    int *phase;                   /* by value; of elements that are loaded the first one that needs them */
    bool *each;                   /* by value: it differs along a row */
    int *stored;                  /* by output: the phase */
    int folded[NATIVE_FOLDS_MAX]; /* by fold: the phase */
    LLVMValueRef lanes[NATIVE_FOLDS_MAX][LANES_MOST]; /* by fold down columns */
    LLVMValueRef turn, places;                        /* the turn's */
    const native_stage *stage;                        /* that is written, what is before it, and what it has */
    ends at, to;
    LLVMValueRef row;
    int blocks;
} writer;

static int value_of(const writer *w, int j) {
    return w->g->body->ninputs + j;
}

/* The values of the stage: its inputs, then those of its instructions. */
static int first_value(const writer *w) {
    return w->at.input < w->to.input ? w->at.input : value_of(w, w->at.ins);
}
static int value_behind(const writer *w, int v) {
    return v + 1 == w->to.input ? value_of(w, w->at.ins) : v + 1;
}
#define EACH_VALUE(v) for (int v = first_value(w); v < value_of(w, w->to.ins); v = value_behind(w, v))

static const native_operand *operand(const writer *w, int k) { /* of inputs, then of outputs */
    return &w->stages->operands[k];
}

static bool is_result(const writer *w, int k) {
    return operand(w, k)->place < 0;
}

bool ir_is_take(const generator *g, int j) {
    const native_stages *stages = g->body->turns ? g->body->turns->stages : NULL;
    int table = g->body->ins[j].arg[0];
    return stages && table < g->body->ninputs && stages->operands[table].extent > 0;
}

static bool is_table(const writer *w, int k) {
    return operand(w, k)->extent > 0;
}

/* ---- Phases ------------------------------------------------------------------------------------------------------ */
/* What an earlier stage has made is there from the beginning. */
static int phase_of(const writer *w, int v) {
    const int ninputs = w->g->body->ninputs;
    return v < (v < ninputs ? w->at.input : ninputs + w->at.ins) ? 0 : w->phase[v];
}

/* What a value's phase is by what it depends on. */
static int phase_after(const writer *w, int v) {
    const native_body *b = w->g->body;
    int phase = 0;
    if (v < b->ninputs)
        return is_result(w, v) ? w->folded[~operand(w, v)->place] + 1 : 0;
    const native_ins *ins = &b->ins[v - b->ninputs];
    for (int a = 0; a < ins->narg; a++)
        phase = phase_of(w, ins->arg[a]) > phase ? phase_of(w, ins->arg[a]) : phase;
    return phase;
}

/* The first phase from `from` on in which elements of a value are read. */
static int next_use(const writer *w, int v, int from) {
    const native_body *b = w->g->body;
    int next = NO_PHASE;
#define USE(uses, when)                                                                                                \
    if ((uses) && (when) >= from && (when) < next)                                                                     \
        next = (when);
    for (int j = w->at.ins; j < w->to.ins; j++)
        for (int a = 0; a < b->ins[j].narg; a++)
            USE(b->ins[j].arg[a] == v && w->each[value_of(w, j)], w->phase[value_of(w, j)])
    for (int k = w->at.output; k < w->to.output; k++)
        USE(b->outputs[k] == v, w->stored[k])
    for (int k = w->at.fold; k < w->to.fold; k++)
        USE(b->folds[k].value == v, w->folded[k])
#undef USE
    return next;
}

static void find_phases(writer *w) {
    const native_body *b = w->g->body;
    bool changed = true;
    for (int k = w->at.input; k < w->to.input; k++)
        w->each[k] = operand(w, k)->along && !is_table(w, k);
    for (int j = w->at.ins; j < w->to.ins; j++) {
        bool take = ir_is_take(w->g, j), each = take && operand(w, b->ins[j].arg[0])->along;
        for (int a = 0; a < b->ins[j].narg && !take; a++)
            each |= w->each[b->ins[j].arg[a]];
        w->each[value_of(w, j)] = each;
    }
    while (changed) { /* results are inputs, which come before what they are made of */
        changed = false;
        EACH_VALUE(v) {
            changed |= w->phase[v] != phase_after(w, v);
            w->phase[v] = phase_after(w, v);
        }
        for (int k = w->at.fold; k < w->to.fold; k++)
            w->folded[k] = phase_of(w, b->folds[k].value);
    }
    int first = NO_PHASE;
    for (int k = w->at.output; k < w->to.output; k++) {
        w->stored[k] = b->outputs[k] < 0 ? w->folded[~b->outputs[k]] : phase_of(w, b->outputs[k]);
        if (operand(w, b->ninputs + k)->along && w->stored[k] < first)
            first = w->stored[k];
    }
    for (int k = w->at.input; k < w->to.input; k++)
        if (w->each[k]) {
            int use = next_use(w, k, 0);
            w->phase[k] = use < first ? use : first < NO_PHASE ? first : 0;
        }
}

static bool is_used_later(const writer *w, int v, int phase) {
    return w->each[v] && next_use(w, v, phase + 1) < NO_PHASE;
}

/* ---- Blocks of IR ------------------------------------------------------------------------------------------------ */
static LLVMBasicBlockRef append(writer *w, const char *name) {
    return LLVMAppendBasicBlockInContext(w->g->context, w->g->function, name);
}

/* A loop that is under way: `from`, `from` + step, … below `end`, at least once. */
typedef struct ir_loop {
    LLVMBasicBlockRef body;
    LLVMValueRef i, end;
    int64_t step;
} ir_loop;

static LLVMValueRef loop_begin(writer *w, ir_loop *loop, LLVMValueRef from, LLVMValueRef end, int64_t step) {
    LLVMBuilderRef B = w->g->builder;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B);
    *loop = (ir_loop){.body = append(w, "loop"), .end = end, .step = step};
    LLVMBuildBr(B, loop->body);
    LLVMPositionBuilderAtEnd(B, loop->body);
    loop->i = LLVMBuildPhi(B, w->g->word, "");
    LLVMAddIncoming(loop->i, &from, &before, 1);
    return loop->i;
}

static void loop_end(writer *w, ir_loop *loop) {
    LLVMBuilderRef B = w->g->builder;
    LLVMBasicBlockRef last = LLVMGetInsertBlock(B), behind = append(w, "behind");
    LLVMValueRef next = LLVMBuildAdd(B, loop->i, ir_number(w->g, loop->step), "");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, next, loop->end, ""), loop->body, behind);
    LLVMAddIncoming(loop->i, &next, &last, 1);
    LLVMPositionBuilderAtEnd(B, behind);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */
static LLVMValueRef item(writer *w, LLVMTypeRef type, LLVMValueRef base, LLVMValueRef index) {
    return LLVMBuildLoad2(w->g->builder, type, LLVMBuildGEP2(w->g->builder, type, base, &index, 1, ""), "");
}

static LLVMValueRef beyond(writer *w, LLVMValueRef base, int dtype, LLVMValueRef elements) {
    return LLVMBuildGEP2(w->g->builder, ir_element(w->g, dtype), base, &elements, 1, "");
}

/* Where a place is in this turn. */
static LLVMValueRef place_now(writer *w, int place) {
    LLVMBuilderRef B = w->g->builder;
    LLVMValueRef at = item(w, w->g->pointer, w->places, ir_number(w->g, place));
    if (!w->stages->moves[place])
        return at;
    LLVMValueRef bytes = item(w, w->g->word, LLVMGetParam(w->g->function, 1), ir_number(w->g, place));
    bytes = LLVMBuildMul(B, bytes, w->turn, "");
    return LLVMBuildGEP2(B, LLVMInt8TypeInContext(w->g->context), at, &bytes, 1, "");
}

static LLVMValueRef row_of(writer *w, int k, int dtype) {
    const native_operand *o = operand(w, k);
    LLVMValueRef base = place_now(w, o->place);
    if (!w->row || !o->across)
        return base;
    return beyond(w, base, dtype, LLVMBuildMul(w->g->builder, w->row, ir_number(w->g, o->across), ""));
}

static LLVMValueRef load_single(writer *w, LLVMValueRef at, int dtype) {
    LLVMValueRef v = LLVMBuildLoad2(w->g->builder, ir_element(w->g, dtype), at, "");
    LLVMSetAlignment(v, ir_bytes(dtype));
    return v;
}

static LLVMValueRef load_vector(writer *w, LLVMValueRef at, int dtype, LLVMValueRef mask) {
    generator *g = w->g;
    LLVMTypeRef type = ir_vector(g, dtype), ft;
    if (!mask) {
        LLVMValueRef v = LLVMBuildLoad2(g->builder, type, at, "");
        LLVMSetAlignment(v, ir_bytes(dtype));
        return v;
    }
    LLVMTypeRef types[] = {type, g->pointer};
    LLVMValueRef f = ir_intrinsic(g, "llvm.masked.load", types, 2, &ft);
    LLVMValueRef args[] = {at, LLVMConstInt(LLVMInt32TypeInContext(g->context), ir_bytes(dtype), 0), mask,
                           ir_splat(g, load_single(w, at, dtype), type)};
    return LLVMBuildCall2(g->builder, ft, f, args, 4, "");
}

static void store_vector(writer *w, LLVMValueRef value, LLVMValueRef at, int dtype, LLVMValueRef mask) {
    generator *g = w->g;
    LLVMTypeRef ft;
    if (!mask) {
        LLVMSetAlignment(LLVMBuildStore(g->builder, value, at), ir_bytes(dtype));
        return;
    }
    LLVMTypeRef types[] = {ir_vector(g, dtype), g->pointer};
    LLVMValueRef f = ir_intrinsic(g, "llvm.masked.store", types, 2, &ft);
    LLVMValueRef args[] = {value, at, LLVMConstInt(LLVMInt32TypeInContext(g->context), ir_bytes(dtype), 0), mask};
    LLVMBuildCall2(g->builder, ft, f, args, 4, "");
}

static LLVMValueRef lanes_below(writer *w, int64_t count) {
    return count >= w->g->lanes ? NULL : ir_lanes_left(w->g, ir_number(w->g, 0), ir_number(w->g, count));
}

/* Makes the values that are to be used now those of a block. */
static void choose(writer *w, int block) {
    w->g->value = w->values + block * (w->g->body->ninputs + w->g->body->nins);
}

static LLVMValueRef value_now(writer *w, int v) {
    return LLVMBuildLoad2(w->g->builder, ir_vector(w->g, w->g->dtype[v]), w->g->value[v], "");
}

static LLVMValueRef first_lane(writer *w, int v) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(w->g->context);
    return LLVMBuildExtractElement(w->g->builder, value_now(w, v), LLVMConstInt(i32, 0, 0), "");
}

static void set_single(writer *w, int v, LLVMValueRef single) {
    LLVMBuildStore(w->g->builder, ir_splat(w->g, single, ir_vector(w->g, w->g->dtype[v])), w->g->value[v]);
}

/* Makes an input that is one for the row the value of block 0. */
static void set_input(writer *w, int k) {
    LLVMTypeRef type = ir_vector(w->g, w->g->dtype[k]);
    if (w->carry[k])
        LLVMBuildStore(w->g->builder, LLVMBuildLoad2(w->g->builder, type, w->carry[k], ""), w->g->value[k]);
    else
        set_single(w, k, load_single(w, w->g->base[k], w->g->dtype[k]));
}

/* ---- One for a row ----------------------------------------------------------------------------------------------- */
static bool is_signed(int dtype) {
    static const char kind[] = {
#define KIND(NAME, name, kind, ...) [NEAP_DTYPE_##NAME] = kind,
        NEAP_DTYPE_ROWS(KIND)};
    return kind[dtype] == 'i';
}

/* An index in range where it is below the extent, without a sign: a negative one counts from the end. */
static LLVMValueRef counted(writer *w, LLVMValueRef index, int dtype, int64_t extent) {
    LLVMBuilderRef B = w->g->builder;
    if (!is_signed(dtype))
        return LLVMBuildZExt(B, index, w->g->word, "");
    index = LLVMBuildSExt(B, index, w->g->word, "");
    LLVMValueRef behind = LLVMBuildAdd(B, index, ir_number(w->g, extent), "");
    return LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntSLT, index, ir_number(w->g, 0), ""), behind, index, "");
}

static LLVMValueRef row_at(writer *w, int k, int dtype, LLVMValueRef index) {
    LLVMValueRef distance = LLVMBuildMul(w->g->builder, index, ir_number(w->g, operand(w, k)->step), "");
    return beyond(w, w->g->base[k], dtype, distance);
}

/* Where a take reads: what is out of range is clamped. */
static LLVMValueRef taken_from(writer *w, int j) {
    generator *g = w->g;
    LLVMBuilderRef B = g->builder;
    const native_ins *ins = &g->body->ins[j];
    const int table = ins->arg[0], dtype = g->dtype[ins->arg[1]];
    LLVMValueRef zero = ir_number(g, 0), most = ir_number(g, operand(w, table)->extent - 1);
    LLVMValueRef index = counted(w, first_lane(w, ins->arg[1]), dtype, operand(w, table)->extent);
    if (is_signed(dtype))
        index = LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntSLT, index, zero, ""), zero, index, "");
    LLVMIntPredicate below = is_signed(dtype) ? LLVMIntSLT : LLVMIntULT;
    index = LLVMBuildSelect(B, LLVMBuildICmp(B, below, index, most, ""), index, most, "");
    return row_at(w, table, ins->dtype, index);
}

/* Lets outputs that are tables be their rows, and goes on where these are in range. Returns the block for where they
 * are not; NULL: there are none. */
static LLVMBasicBlockRef find_rows(writer *w) {
    generator *g = w->g;
    LLVMBuilderRef B = g->builder;
    LLVMValueRef inside = NULL;
    choose(w, 0);
    for (int k = w->at.output; k < w->to.output; k++) {
        const int out = g->body->ninputs + k, extent = operand(w, out)->extent, v = operand(w, out)->index;
        if (extent <= 0)
            continue;
        if (v < g->body->ninputs && v >= w->at.input)
            set_input(w, v);
        LLVMValueRef index = counted(w, first_lane(w, v), g->dtype[v], extent);
        LLVMValueRef fits = LLVMBuildICmp(B, LLVMIntULT, index, ir_number(g, extent), "");
        inside = inside ? LLVMBuildAnd(B, inside, fits, "") : fits;
        g->base[out] = row_at(w, out, g->dtype[g->body->outputs[k]], index);
    }
    if (!inside)
        return NULL;
    LLVMBasicBlockRef row = append(w, "row"), behind = append(w, "behind");
    LLVMBuildCondBr(B, inside, row, behind);
    LLVMPositionBuilderAtEnd(B, row);
    return behind;
}

/* What phase p has before its elements. */
static void write_singles(writer *w, int p) {
    generator *g = w->g;
    const native_body *b = g->body;
    choose(w, 0);
    for (int k = w->at.input; k < w->to.input; k++)
        if (!w->each[k] && !is_table(w, k) && w->phase[k] == p)
            set_input(w, k);
    for (int j = w->at.ins; j < w->to.ins; j++) {
        int v = value_of(w, j);
        if (w->phase[v] != p)
            continue;
        if (ir_is_take(g, j))
            w->table[j] = taken_from(w, j);
        if (!w->each[v] && ir_is_take(g, j))
            set_single(w, v, load_single(w, w->table[j], b->ins[j].dtype));
        else if (!w->each[v])
            ir_call_row(g, j, false);
    }
}

/* ---- Elements ---------------------------------------------------------------------------------------------------- */
static LLVMValueRef kept_at(writer *w, int v, LLVMValueRef i) {
    return beyond(w, w->kept[v], w->g->dtype[v], i);
}

static void load_block(writer *w, int p, LLVMValueRef i, LLVMValueRef mask) {
    generator *g = w->g;
    EACH_VALUE(v) {
        if (!w->each[v])
            continue;
        int j = v - g->body->ninputs;
        LLVMValueRef loaded = NULL;
        if (w->phase[v] < p && next_use(w, v, p) == p)
            loaded = load_vector(w, kept_at(w, v, i), g->dtype[v], NULL);
        else if (w->phase[v] == p && v < g->body->ninputs)
            loaded = load_vector(w, beyond(w, g->base[v], g->dtype[v], i), g->dtype[v], mask);
        else if (w->phase[v] == p && ir_is_take(g, j))
            loaded = load_vector(w, beyond(w, w->table[j], g->dtype[v], i), g->dtype[v], mask);
        if (loaded)
            LLVMBuildStore(g->builder, loaded, g->value[v]);
    }
}

/* Calls the rows of phase p for all blocks. Returns what the fast ones say, or NULL. */
static LLVMValueRef call_rows(writer *w, int p, int blocks, bool fast) {
    generator *g = w->g;
    LLVMValueRef rare = NULL;
    for (int block = 0; block < blocks; block++) {
        choose(w, block);
        for (int j = w->at.ins; j < w->to.ins; j++) {
            if (!w->each[value_of(w, j)] || w->phase[value_of(w, j)] != p || ir_is_take(g, j))
                continue;
            LLVMValueRef said = ir_call_row(g, j, fast);
            if (said)
                rare = rare ? LLVMBuildOr(g->builder, rare, said, "") : said;
        }
    }
    return rare;
}

static void compute(writer *w, int p, int blocks) {
    LLVMBuilderRef B = w->g->builder;
    LLVMValueRef rare = call_rows(w, p, blocks, true);
    if (!rare)
        return;
    LLVMBasicBlockRef again = append(w, "again"), keep = append(w, "keep");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntEQ, rare, LLVMConstNull(LLVMTypeOf(rare)), ""), keep, again);
    LLVMPositionBuilderAtEnd(B, again);
    call_rows(w, p, blocks, false);
    LLVMBuildBr(B, keep);
    LLVMPositionBuilderAtEnd(B, keep);
}

static void store_block(writer *w, int p, LLVMValueRef i, LLVMValueRef mask) {
    generator *g = w->g;
    const native_body *b = g->body;
    for (int k = w->at.output; k < w->to.output; k++) {
        int v = b->outputs[k];
        if (operand(w, b->ninputs + k)->along && w->stored[k] == p)
            store_vector(w, value_now(w, v), beyond(w, g->base[b->ninputs + k], g->dtype[v], i), g->dtype[v], mask);
    }
    EACH_VALUE(v)
    if (w->phase[v] == p && w->kept[v])
        store_vector(w, value_now(w, v), kept_at(w, v, i), g->dtype[v], NULL);
}

/* Elements i … i + count - 1, of at most a group of blocks. */
static void write_group(writer *w, int p, LLVMValueRef i, int64_t count) {
    generator *g = w->g;
    int blocks = (int)((count + g->lanes - 1) / g->lanes);
    LLVMValueRef at[LANES_MOST], mask[LANES_MOST];
    for (int block = 0; block < blocks; block++) {
        at[block] = LLVMBuildAdd(g->builder, i, ir_number(g, block * g->lanes), "");
        mask[block] = lanes_below(w, count - block * g->lanes);
        choose(w, block);
        load_block(w, p, at[block], mask[block]);
    }
    compute(w, p, blocks);
    for (int block = 0; block < blocks; block++) {
        choose(w, block);
        store_block(w, p, at[block], mask[block]);
        ir_fold_block(g, block, mask[block]);
    }
}

static void write_span(writer *w, int p, LLVMValueRef from, int64_t count) {
    generator *g = w->g;
    int64_t group = w->blocks * g->lanes, whole = count / group * group;
    if (whole == group)
        write_group(w, p, from, group);
    else if (whole > 0) {
        ir_loop loop;
        LLVMValueRef end = LLVMBuildAdd(g->builder, from, ir_number(g, whole), "");
        write_group(w, p, loop_begin(w, &loop, from, end, group), group);
        loop_end(w, &loop);
    }
    if (count > whole)
        write_group(w, p, LLVMBuildAdd(g->builder, from, ir_number(g, whole), ""), count - whole);
}

static void write_leaf(writer *w, int p, LLVMValueRef first, int64_t count) {
    (void)ir_folds_begin(w->g, first, ir_number(w->g, w->stage->length));
    write_span(w, p, first, count);
    ir_folds_end(w->g, first);
}

/* The elements of phase p whose values are folded. */
static void write_leaves(writer *w, int p) {
    generator *g = w->g;
    int64_t length = w->stage->length, whole = length / LEAF * LEAF;
    if (whole == LEAF)
        write_leaf(w, p, ir_number(g, 0), LEAF);
    else if (whole > 0) {
        ir_loop loop;
        write_leaf(w, p, loop_begin(w, &loop, ir_number(g, 0), ir_number(g, whole), LEAF), LEAF);
        loop_end(w, &loop);
    }
    if (length > whole)
        write_leaf(w, p, ir_number(g, whole), length - whole);
    if (length > LEAF)
        ir_folds_join(g, ir_number(g, length));
}

static bool has_elements(const writer *w, int p) {
    bool has = false;
    for (int j = w->at.ins; j < w->to.ins; j++)
        has |= w->each[value_of(w, j)] && w->phase[value_of(w, j)] == p;
    for (int k = w->at.output; k < w->to.output; k++)
        has |= operand(w, w->g->body->ninputs + k)->along && w->stored[k] == p;
    return has;
}

static void write_phase(writer *w, int p) {
    bool folds = false;
    for (int k = 0; k < w->g->body->nfolds; k++) {
        w->g->idle[k] = k < w->at.fold || k >= w->to.fold || w->folded[k] != p;
        folds |= !w->g->idle[k];
    }
    write_singles(w, p);
    if (folds)
        write_leaves(w, p);
    else if (has_elements(w, p))
        write_span(w, p, ir_number(w->g, 0), w->stage->length);
}

/* ---- Stages ------------------------------------------------------------------------------------------------------ */
/* What is one element for each row, when all of it is there. */
static void store_singles(writer *w) {
    generator *g = w->g;
    const native_body *b = g->body;
    choose(w, 0);
    for (int k = w->at.output; k < w->to.output; k++) {
        int v = b->outputs[k], out = b->ninputs + k;
        if (operand(w, out)->along)
            continue;
        int dtype = v < 0 ? b->folds[~v].dtype : g->dtype[v];
        LLVMValueRef single = v < 0 ? load_single(w, g->base[b->ninputs + b->noutputs + ~v], dtype) : first_lane(w, v);
        LLVMSetAlignment(LLVMBuildStore(g->builder, single, g->base[out]), ir_bytes(dtype));
    }
}

static void write_row(writer *w) {
    generator *g = w->g;
    const native_body *b = g->body;
    int phases = 1;
    for (int k = w->at.input; k < w->to.input; k++)
        g->base[k] =
            is_result(w, k) ? g->base[b->ninputs + b->noutputs + ~operand(w, k)->place] : row_of(w, k, g->dtype[k]);
    for (int k = w->at.output; k < w->to.output; k++) {
        int v = b->outputs[k];
        g->base[b->ninputs + k] = row_of(w, b->ninputs + k, v < 0 ? b->folds[~v].dtype : g->dtype[v]);
    }
    for (int k = w->at.input; k < w->to.input; k++)
        phases = w->phase[k] >= phases ? w->phase[k] + 1 : phases;
    LLVMBasicBlockRef behind = find_rows(w);
    for (int p = 0; p < phases; p++)
        write_phase(w, p);
    store_singles(w);
    if (!behind)
        return;
    LLVMBuildBr(g->builder, behind);
    LLVMPositionBuilderAtEnd(g->builder, behind);
}

static void write_maps(writer *w) {
    ir_loop loop;
    if (w->stage->rows == 1) {
        w->row = NULL;
        write_row(w);
        return;
    }
    w->row = loop_begin(w, &loop, ir_number(w->g, 0), ir_number(w->g, w->stage->rows), 1);
    write_row(w);
    loop_end(w, &loop);
}

/* ---- Columns ----------------------------------------------------------------------------------------------------- */
/* Does an input differ from row to row? */
static bool is_of_row(const writer *w, int k) {
    return !is_result(w, k) && (w->each[k] || operand(w, k)->across);
}

/* Calls the rows of what comes before the fold, or behind it. */
static void call_columns(writer *w, bool behind) {
    for (int j = w->at.ins; j < w->to.ins; j++)
        if ((w->phase[value_of(w, j)] > 0) == behind)
            ir_call_row(w->g, j, false);
}

/* Folds a row's elements, of a block of columns, into a lane. */
static void fold_row(writer *w, LLVMValueRef row, LLVMValueRef column, LLVMValueRef mask, int lane) {
    generator *g = w->g;
    LLVMValueRef *to = &w->lanes[w->at.fold][lane];
    w->row = row;
    for (int k = w->at.input; k < w->to.input; k++) {
        if (!is_of_row(w, k))
            continue;
        LLVMValueRef base = row_of(w, k, g->dtype[k]);
        if (w->each[k])
            LLVMBuildStore(g->builder, load_vector(w, beyond(w, base, g->dtype[k], column), g->dtype[k], mask),
                           g->value[k]);
        else
            set_single(w, k, load_single(w, base, g->dtype[k]));
    }
    call_columns(w, false);
    ir_fold_combine(g, w->at.fold, *to, *to, g->value[g->body->folds[w->at.fold].value]);
}

/* A block of columns, all its rows: lane l takes rows l, l + 16, … */
static void write_block(writer *w, LLVMValueRef column, LLVMValueRef mask) {
    generator *g = w->g;
    const int fold = w->at.fold, rows = w->stage->rows, whole = rows / LANES_MOST * LANES_MOST;
    LLVMValueRef *lane = w->lanes[fold];
    for (int l = 0; l < LANES_MOST; l++)
        ir_fold_none(g, fold, lane[l]);
    if (whole > 0) {
        ir_loop loop;
        LLVMValueRef i = loop_begin(w, &loop, ir_number(g, 0), ir_number(g, whole), LANES_MOST);
        for (int l = 0; l < LANES_MOST; l++)
            fold_row(w, LLVMBuildAdd(g->builder, i, ir_number(g, l), ""), column, mask, l);
        loop_end(w, &loop);
    }
    for (int l = 0; l < rows - whole; l++)
        fold_row(w, ir_number(g, whole + l), column, mask, l);
    for (int half = LANES_MOST / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            ir_fold_combine(g, fold, lane[l], lane[l], lane[l + half]);
    for (int k = w->at.input; k < w->to.input; k++)
        if (is_result(w, k))
            LLVMBuildStore(g->builder, LLVMBuildLoad2(g->builder, ir_vector(g, g->dtype[k]), lane[0], ""), g->value[k]);
    call_columns(w, true);
    store_block(w, 1, column, mask);
}

static void write_columns(writer *w) {
    generator *g = w->g;
    const int64_t length = w->stage->length, whole = length / g->lanes * g->lanes;
    w->row = NULL;
    choose(w, 0);
    for (int k = w->at.input; k < w->to.input; k++)
        if (!is_result(w, k) && !is_of_row(w, k)) {
            g->base[k] = row_of(w, k, g->dtype[k]);
            set_input(w, k);
        }
    for (int k = w->at.output; k < w->to.output; k++)
        g->base[g->body->ninputs + k] = row_of(w, g->body->ninputs + k, g->dtype[g->body->outputs[k]]);
    if (whole > 0) {
        ir_loop loop;
        write_block(w, loop_begin(w, &loop, ir_number(g, 0), ir_number(g, whole), g->lanes), NULL);
        loop_end(w, &loop);
    }
    if (length > whole)
        write_block(w, ir_number(g, whole), lanes_below(w, length - whole));
}

static void write_call(writer *w) {
    generator *g = w->g;
    LLVMBuilderRef B = g->builder;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(g->context), types[] = {g->pointer, g->word, g->pointer};
    LLVMValueRef given = LLVMGetParam(g->function, 0);
    for (int k = 0; k < w->stage->n; k++) {
        LLVMValueRef index = ir_number(g, k), to = LLVMBuildGEP2(B, g->pointer, w->room, &index, 1, "");
        LLVMBuildStore(B, place_now(w, w->stages->pointers[w->stage->first + k]), to);
    }
    LLVMValueRef function = item(w, g->pointer, given, ir_number(g, 2 * w->stages->places));
    LLVMValueRef args[] = {item(w, g->pointer, given, ir_number(g, 2 * w->stages->places + 1)),
                           ir_number(g, w->stage->which), w->room};
    LLVMValueRef status = LLVMBuildCall2(B, LLVMFunctionType(i32, types, 3, 0), function, args, 3, "");
    LLVMBasicBlockRef failed = append(w, "failed"), done = append(w, "done");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntEQ, status, LLVMConstNull(i32), ""), done, failed);
    LLVMPositionBuilderAtEnd(B, failed);
    LLVMBuildRet(B, LLVMBuildNot(B, w->turn, ""));
    LLVMPositionBuilderAtEnd(B, done);
}

/* Is the index of a case its own? */
static LLVMValueRef is_case(writer *w, const native_stage *stage) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(w->g->context);
    LLVMValueRef own = LLVMConstInt(i32, (unsigned)stage->which, 0);
    LLVMValueRef index = LLVMBuildLoad2(w->g->builder, i32, place_now(w, stage->first), "");
    LLVMIntPredicate how = stage->which == 0 ? LLVMIntSLE : stage->which == stage->n - 1 ? LLVMIntSGE : LLVMIntEQ;
    return LLVMBuildICmp(w->g->builder, how, index, own, "");
}

static void write_stages(writer *w, int from, int to) {
    for (int s = from; s < to; s++) {
        const native_stage *stage = w->stage = &w->stages->stages[s];
        if (stage->what == NATIVE_CALL) {
            write_call(w);
        } else if (stage->what == NATIVE_CASE) {
            LLVMBasicBlockRef own = append(w, "case"), behind = append(w, "behind");
            LLVMBuildCondBr(w->g->builder, is_case(w, stage), own, behind);
            LLVMPositionBuilderAtEnd(w->g->builder, own);
            write_stages(w, s + 1, s + 1 + stage->stages);
            LLVMBuildBr(w->g->builder, behind);
            LLVMPositionBuilderAtEnd(w->g->builder, behind);
            s += stage->stages;
        } else {
            w->to = (ends){w->at.input + stage->inputs, w->at.ins + stage->ins, w->at.output + stage->outputs,
                           w->at.fold + stage->folds};
            if (stage->what == NATIVE_COLUMNS)
                write_columns(w);
            else
                write_maps(w);
            w->at = w->to;
        }
    }
}

/* ---- Carries ----------------------------------------------------------------------------------------------------- */
/* What is carried is read in front of the first turn, from the first set of places. */
static void begin_carries(writer *w) {
    generator *g = w->g;
    for (int k = 0; k < g->body->ninputs; k++) {
        if (!operand(w, k)->carried)
            continue;
        LLVMTypeRef type = ir_vector(g, g->dtype[k]);
        LLVMValueRef at = item(w, g->pointer, LLVMGetParam(g->function, 0), ir_number(g, operand(w, k)->place));
        w->carry[k] = LLVMBuildAlloca(g->builder, type, "");
        LLVMBuildStore(g->builder, ir_splat(g, load_single(w, at, g->dtype[k]), type), w->carry[k]);
    }
}

static void carry_over(writer *w) {
    choose(w, 0);
    for (int k = 0; k < w->g->body->ninputs; k++)
        if (w->carry[k] && operand(w, k)->index != k)
            LLVMBuildStore(w->g->builder, value_now(w, operand(w, k)->index), w->carry[k]);
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */
/* Places on the stack, for all stages. */
static void prologue(writer *w) {
    generator *g = w->g;
    const native_body *b = g->body;
    LLVMBuilderRef B = g->builder;
    int n = b->ninputs + b->nins, pointers = 1;
    for (int s = 0; s < w->stages->n; s++) {
        const native_stage *stage = w->stage = &w->stages->stages[s];
        if (stage->what == NATIVE_CALL && stage->n > pointers)
            pointers = stage->n;
        if (stage->what != NATIVE_MAPS && stage->what != NATIVE_COLUMNS)
            continue;
        w->to = (ends){w->at.input + stage->inputs, w->at.ins + stage->ins, w->at.output + stage->outputs,
                       w->at.fold + stage->folds};
        find_phases(w);
        unsigned room = (unsigned)((stage->length + LEAF - 1) / LEAF * LEAF), leaves = room / LEAF;
        EACH_VALUE(v)
        if (is_used_later(w, v, w->phase[v]))
            w->kept[v] = LLVMBuildAlloca(B, LLVMArrayType(ir_element(g, g->dtype[v]), room), "");
        for (int k = w->at.fold; k < w->to.fold; k++)
            g->base[b->ninputs + b->noutputs + k] =
                LLVMBuildAlloca(B, LLVMArrayType(ir_element(g, b->folds[k].dtype), leaves), "");
        for (int l = 0; l < LANES_MOST && stage->what == NATIVE_COLUMNS; l++)
            w->lanes[w->at.fold][l] = LLVMBuildAlloca(B, ir_vector(g, b->folds[w->at.fold].dtype), "");
        w->at = w->to;
    }
    w->at = (ends){0, 0, 0, 0};
    for (int v = 0; v < w->blocks * n; v++)
        w->values[v] =
            v >= n && !w->each[v % n] ? w->values[v % n] : LLVMBuildAlloca(B, ir_vector(g, g->dtype[v % n]), "");
    ir_folds_places(g);
    begin_carries(w);
    w->room = LLVMBuildAlloca(B, LLVMArrayType(g->pointer, (unsigned)pointers), "");
}

static void build(writer *w) {
    generator *g = w->g;
    LLVMBuilderRef B = g->builder;
    LLVMTypeRef args[] = {g->pointer, g->pointer, g->word, g->word};
    g->function = LLVMAddFunction(g->module, "kernel", LLVMFunctionType(g->word, args, 4, 0));
    LLVMBasicBlockRef entry = append(w, "entry"), head = append(w, "turn"), begin = append(w, "begin"),
                      end = append(w, "end");
    LLVMPositionBuilderAtEnd(B, entry);
    prologue(w);
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, head);
    w->turn = LLVMBuildPhi(B, g->word, "turn");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, w->turn, LLVMGetParam(g->function, 3), ""), begin, end);
    LLVMPositionBuilderAtEnd(B, begin);
    LLVMValueRef odd = LLVMBuildAnd(B, w->turn, ir_number(g, 1), "");
    LLVMValueRef set = LLVMBuildMul(B, odd, ir_number(g, w->stages->places), "");
    w->places = LLVMBuildGEP2(B, g->pointer, LLVMGetParam(g->function, 0), &set, 1, "");
    write_stages(w, 0, w->stages->head);
    if (w->stages->truth >= 0) {
        LLVMBasicBlockRef body = append(w, "body");
        LLVMValueRef truth = load_single(w, place_now(w, w->stages->truth), NEAP_DTYPE_U8);
        LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntNE, truth, LLVMConstNull(LLVMTypeOf(truth)), ""), body, end);
        LLVMPositionBuilderAtEnd(B, body);
    }
    write_stages(w, w->stages->head, w->stages->n);
    carry_over(w);
    LLVMValueRef next = LLVMBuildAdd(B, w->turn, ir_number(g, 1), "");
    LLVMAddIncoming(w->turn, (LLVMValueRef[]){ir_number(g, 0), next},
                    (LLVMBasicBlockRef[]){entry, LLVMGetInsertBlock(B)}, 2);
    LLVMBuildBr(B, head);
    LLVMPositionBuilderAtEnd(B, end);
    LLVMBuildRet(B, w->turn);
}

bool ir_build_stages(generator *g, LLVMValueRef *values, int blocks) {
    const native_body *b = g->body;
    size_t n = (size_t)(b->ninputs + b->nins) + 1;
    writer w = {.g = g, .stages = b->turns->stages, .values = values, .blocks = blocks};
    w.kept = calloc(n, sizeof *w.kept);
    w.table = calloc((size_t)b->nins + 1, sizeof *w.table);
    w.carry = calloc(n, sizeof *w.carry);
    w.phase = calloc(n, sizeof *w.phase);
    w.each = calloc(n, sizeof *w.each);
    w.stored = calloc((size_t)b->noutputs + 1, sizeof *w.stored);
    bool there = w.kept && w.table && w.carry && w.phase && w.each && w.stored;
    if (there)
        build(&w);
    free(w.kept), free(w.table), free(w.carry), free(w.phase), free(w.each), free(w.stored);
    return there;
}
