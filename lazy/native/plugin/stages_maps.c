/* stages_maps.c: stages of rows.
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
#include "lazy/dtype/dtype.h"
#include "lazy/native/plugin/index.h"
#include "lazy/native/plugin/stages.h"

/* ---- One for a row ----------------------------------------------------------------------------------------------- */
static bool is_signed(int dtype) {
    static const char kind[] = {
#define KIND(NAME, name, kind, ...) [NEAP_DTYPE_##NAME] = kind,
        NEAP_DTYPE_ROWS(KIND)};
    return kind[dtype] == 'i';
}

static LLVMValueRef row_at(stage_writer *w, int k, int dtype, LLVMValueRef index) {
    LLVMValueRef distance = LLVMBuildMul(w->g->builder, index, ir_number(w->g, stage_operand(w, k)->step), "");
    return ir_beyond(w->g, w->g->base[k], dtype, distance);
}

/* Where a take reads. */
static LLVMValueRef taken_from(stage_writer *w, int j) {
    generator *g = w->g;
    const lazy_ins *ins = &g->body->ins[j];
    const int table = ins->arg[0];
    LLVMValueRef extent = ir_number(g, stage_operand(w, table)->extent), index = ir_first_lane(g, ins->arg[1]);
    return row_at(w, table, ins->dtype, ir_clamped(g->builder, index, is_signed(g->dtype[ins->arg[1]]), extent));
}

/* Lets outputs that are tables be their rows, and goes on where these are in range. Returns the block for where they
 * are not; NULL: there are none. */
static LLVMBasicBlockRef find_rows(stage_writer *w) {
    generator *g = w->g;
    LLVMBuilderRef B = g->builder;
    LLVMValueRef inside = NULL;
    stage_choose(w, 0);
    for (int k = w->at.output; k < w->to.output; k++) {
        const int out = g->body->ninputs + k, extent = stage_operand(w, out)->extent, v = stage_operand(w, out)->index;
        if (extent <= 0)
            continue;
        if (v < g->body->ninputs && v >= w->at.input)
            stage_set_input(w, v);
        LLVMValueRef most = ir_number(g, extent), index = ir_first_lane(g, v);
        index = ir_counted(B, index, is_signed(g->dtype[v]), most);
        LLVMValueRef fits = LLVMBuildICmp(B, LLVMIntULT, index, most, "");
        inside = inside ? LLVMBuildAnd(B, inside, fits, "") : fits;
        g->base[out] = row_at(w, out, g->dtype[g->body->outputs[k]], index);
    }
    if (!inside)
        return NULL;
    LLVMBasicBlockRef row = ir_append(w->g, "row"), behind = ir_append(w->g, "behind");
    LLVMBuildCondBr(B, inside, row, behind);
    LLVMPositionBuilderAtEnd(B, row);
    return behind;
}

/* What phase p has before its elements. */
static void write_singles(stage_writer *w, int p) {
    generator *g = w->g;
    const native_body *b = g->body;
    stage_choose(w, 0);
    for (int k = w->at.input; k < w->to.input; k++)
        if (!w->each[k] && !stage_is_table(w, k) && w->phase[k] == p)
            stage_set_input(w, k);
    for (int j = w->at.ins; j < w->to.ins; j++) {
        int v = stage_value_of(w, j);
        if (w->phase[v] != p)
            continue;
        if (ir_is_take(g, j))
            w->table[j] = taken_from(w, j);
        if (!w->each[v] && ir_is_take(g, j))
            stage_set_single(w, v, ir_load_single(w->g, w->table[j], b->ins[j].dtype));
        else if (!w->each[v])
            ir_call_row(g, j, false);
    }
}

/* ---- Elements ---------------------------------------------------------------------------------------------------- */
static LLVMValueRef kept_at(stage_writer *w, int v, LLVMValueRef i) {
    return ir_beyond(w->g, w->kept[v], w->g->dtype[v], i);
}

/* Lanes outside of the mask have the element of the first one, so nothing is rare in them alone. */
static LLVMValueRef load_row(stage_writer *w, LLVMValueRef base, int dtype, LLVMValueRef i, LLVMValueRef mask) {
    LLVMValueRef at = ir_beyond(w->g, base, dtype, i);
    return ir_load_vector(w->g, at, dtype, mask, at);
}

static void load_block(stage_writer *w, int p, LLVMValueRef i, LLVMValueRef mask) {
    generator *g = w->g;
    EACH_VALUE(v) {
        if (!w->each[v])
            continue;
        int j = v - g->body->ninputs;
        LLVMValueRef loaded = NULL;
        if (w->phase[v] < p && stage_next_use(w, v, p) == p)
            loaded = ir_load_vector(g, kept_at(w, v, i), g->dtype[v], NULL, NULL);
        else if (w->phase[v] == p && v < g->body->ninputs)
            loaded = load_row(w, g->base[v], g->dtype[v], i, mask);
        else if (w->phase[v] == p && ir_is_take(g, j))
            loaded = load_row(w, w->table[j], g->dtype[v], i, mask);
        if (loaded)
            LLVMBuildStore(g->builder, loaded, g->value[v]);
    }
}

/* Calls the rows of phase p for all blocks. Returns what the fast ones say, or NULL. */
static LLVMValueRef call_rows(stage_writer *w, int p, int blocks, bool fast) {
    generator *g = w->g;
    LLVMValueRef rare = NULL;
    for (int block = 0; block < blocks; block++) {
        stage_choose(w, block);
        for (int j = w->at.ins; j < w->to.ins; j++) {
            if (!w->each[stage_value_of(w, j)] || w->phase[stage_value_of(w, j)] != p || ir_is_take(g, j))
                continue;
            LLVMValueRef said = ir_call_row(g, j, fast);
            if (said)
                rare = rare ? LLVMBuildOr(g->builder, rare, said, "") : said;
        }
    }
    return rare;
}

static void compute(stage_writer *w, int p, int blocks) {
    LLVMBasicBlockRef keep = ir_if_rare(w->g, call_rows(w, p, blocks, true));
    if (!keep)
        return;
    call_rows(w, p, blocks, false);
    ir_go_on(w->g, keep);
}

void stage_store_block(stage_writer *w, int p, LLVMValueRef i, LLVMValueRef mask) {
    generator *g = w->g;
    const native_body *b = g->body;
    for (int k = w->at.output; k < w->to.output; k++) {
        int v = b->outputs[k];
        if (stage_operand(w, b->ninputs + k)->along && w->stored[k] == p)
            ir_store_vector(w->g, ir_value(w->g, v), ir_beyond(w->g, g->base[b->ninputs + k], g->dtype[v], i),
                            g->dtype[v], mask);
    }
    EACH_VALUE(v)
    if (w->phase[v] == p && w->kept[v])
        ir_store_vector(w->g, ir_value(w->g, v), kept_at(w, v, i), g->dtype[v], NULL);
}

/* Elements i … i + count - 1, of at most a group of blocks. */
static void write_group(stage_writer *w, int p, LLVMValueRef i, int64_t count) {
    generator *g = w->g;
    int blocks = (int)((count + g->lanes - 1) / g->lanes);
    LLVMValueRef at[LAZY_LANES], mask[LAZY_LANES];
    for (int block = 0; block < blocks; block++) {
        at[block] = LLVMBuildAdd(g->builder, i, ir_number(g, block * g->lanes), "");
        mask[block] = stage_lanes_below(w, count - block * g->lanes);
        stage_choose(w, block);
        load_block(w, p, at[block], mask[block]);
    }
    compute(w, p, blocks);
    for (int block = 0; block < blocks; block++) {
        stage_choose(w, block);
        stage_store_block(w, p, at[block], mask[block]);
        ir_fold_block(g, block, mask[block]);
    }
}

static void write_span(stage_writer *w, int p, LLVMValueRef from, int64_t count) {
    generator *g = w->g;
    int64_t group = w->blocks * g->lanes, whole = count / group * group;
    if (whole == group)
        write_group(w, p, from, group);
    else if (whole > 0) {
        ir_loop loop;
        LLVMValueRef end = LLVMBuildAdd(g->builder, from, ir_number(g, whole), "");
        write_group(w, p, stage_loop_begin(w, &loop, from, end, group), group);
        stage_loop_end(w, &loop);
    }
    if (count > whole)
        write_group(w, p, LLVMBuildAdd(g->builder, from, ir_number(g, whole), ""), count - whole);
}

static void write_leaf(stage_writer *w, int p, LLVMValueRef first, int64_t count) {
    (void)ir_folds_begin(w->g, first, ir_number(w->g, w->stage->length));
    write_span(w, p, first, count);
    ir_folds_end(w->g, first);
}

/* The elements of phase p whose values are folded. */
static void write_leaves(stage_writer *w, int p) {
    generator *g = w->g;
    int64_t length = w->stage->length, whole = length / LAZY_LEAF * LAZY_LEAF;
    if (whole == LAZY_LEAF)
        write_leaf(w, p, ir_number(g, 0), LAZY_LEAF);
    else if (whole > 0) {
        ir_loop loop;
        write_leaf(w, p, stage_loop_begin(w, &loop, ir_number(g, 0), ir_number(g, whole), LAZY_LEAF), LAZY_LEAF);
        stage_loop_end(w, &loop);
    }
    if (length > whole)
        write_leaf(w, p, ir_number(g, whole), length - whole);
    if (length > LAZY_LEAF)
        ir_folds_join(g, ir_number(g, length));
}

static bool has_elements(const stage_writer *w, int p) {
    bool has = false;
    for (int j = w->at.ins; j < w->to.ins; j++)
        has |= w->each[stage_value_of(w, j)] && w->phase[stage_value_of(w, j)] == p;
    for (int k = w->at.output; k < w->to.output; k++)
        has |= stage_operand(w, w->g->body->ninputs + k)->along && w->stored[k] == p;
    return has;
}

static void write_phase(stage_writer *w, int p) {
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
static void store_singles(stage_writer *w) {
    generator *g = w->g;
    const native_body *b = g->body;
    stage_choose(w, 0);
    for (int k = w->at.output; k < w->to.output; k++) {
        int v = b->outputs[k], out = b->ninputs + k;
        if (stage_operand(w, out)->along)
            continue;
        int dtype = v < 0 ? b->folds[~v].dtype : g->dtype[v];
        LLVMValueRef single =
            v < 0 ? ir_load_single(w->g, g->base[b->ninputs + b->noutputs + ~v], dtype) : ir_first_lane(w->g, v);
        ir_store_single(g, single, g->base[out], dtype);
    }
}

static void write_row(stage_writer *w) {
    generator *g = w->g;
    const native_body *b = g->body;
    int phases = 1;
    for (int k = w->at.input; k < w->to.input; k++)
        g->base[k] = stage_is_result(w, k) ? g->base[b->ninputs + b->noutputs + ~stage_operand(w, k)->place]
                                           : stage_row_of(w, k, g->dtype[k]);
    for (int k = w->at.output; k < w->to.output; k++) {
        int v = b->outputs[k];
        g->base[b->ninputs + k] = stage_row_of(w, b->ninputs + k, v < 0 ? b->folds[~v].dtype : g->dtype[v]);
    }
    for (int k = w->at.input; k < w->to.input; k++)
        phases = w->phase[k] >= phases ? w->phase[k] + 1 : phases;
    LLVMBasicBlockRef behind = find_rows(w);
    for (int p = 0; p < phases; p++)
        write_phase(w, p);
    store_singles(w);
    if (behind)
        ir_go_on(g, behind);
}

void stage_write_maps(stage_writer *w) {
    ir_loop loop;
    if (w->stage->rows == 1) {
        w->row = NULL;
        write_row(w);
        return;
    }
    w->row = stage_loop_begin(w, &loop, ir_number(w->g, 0), ir_number(w->g, w->stage->rows), 1);
    write_row(w);
    stage_loop_end(w, &loop);
}
