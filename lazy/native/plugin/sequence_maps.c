/* sequence_maps.c: loops of rows.
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
#include "lazy/native/plugin/sequence.h"

/* ---- One for a row ----------------------------------------------------------------------------------------------- */
static bool is_signed(int dtype) {
    static const char kind[] = {
#define KIND(NAME, name, kind, ...) [NEAP_DTYPE_##NAME] = kind,
        NEAP_DTYPE_ROWS(KIND)};
    return kind[dtype] == 'i';
}

static LLVMValueRef row_at(sequence_writer *w, LLVMValueRef base, int dtype, LLVMValueRef index, int64_t step) {
    return ir_beyond(w->g, base, dtype, LLVMBuildMul(w->g->builder, index, ir_number(w->g, step), ""));
}

/* Where a take reads. */
static LLVMValueRef taken_from(sequence_writer *w, const lazy_ins *ins) {
    generator *g = w->g;
    const lazy_load *table = &g->loop->loads[ins->arg[0]];
    LLVMValueRef extent = ir_number(g, table->extent), index = ir_first_lane(g, ins->arg[1]);
    index = ir_clamped(g->builder, index, is_signed(g->own.dtype[ins->arg[1]]), extent);
    return row_at(w, g->own.base[ins->arg[0]], ins->dtype, index, table->step);
}

/* Lets PUTs be of their rows, and goes on where these are in range. Returns the block for where they are not; NULL:
 * there are none. */
static LLVMBasicBlockRef find_rows(sequence_writer *w) {
    generator *g = w->g;
    LLVMBuilderRef B = g->builder;
    LLVMValueRef inside = NULL;
    ir_choose(g, 0);
    for (int k = 0; k < g->loop->nsinks; k++) {
        const lazy_sink *sink = &g->loop->sinks[k];
        LLVMValueRef *base = &g->own.base[g->loop->nloads + k];
        if (sink->kind != LAZY_SINK_PUT)
            continue;
        if (sink->index < g->loop->nloads)
            sequence_set_load(w, sink->index);
        LLVMValueRef extent = ir_number(g, sink->extent), index = ir_first_lane(g, sink->index);
        index = ir_counted(B, index, is_signed(g->own.dtype[sink->index]), extent);
        LLVMValueRef fits = LLVMBuildICmp(B, LLVMIntULT, index, extent, "");
        inside = inside ? LLVMBuildAnd(B, inside, fits, "") : fits;
        *base = row_at(w, *base, sink->dtype, index, sink->step);
    }
    if (!inside)
        return NULL;
    LLVMBasicBlockRef row = ir_append(w->g, "row"), behind = ir_append(w->g, "behind");
    LLVMBuildCondBr(B, inside, row, behind);
    LLVMPositionBuilderAtEnd(B, row);
    return behind;
}

/* What phase p has before its elements. */
static void write_singles(sequence_writer *w, int p) {
    generator *g = w->g;
    ir_choose(g, 0);
    for (int v = 0; v < sequence_values(w); v++) {
        const lazy_ins *ins = sequence_ins(w, v);
        if (w->own.phase[v] != p || (!ins && g->loop->loads[v].kind == LAZY_LOAD_TABLE))
            continue;
        if (sequence_is_take(w, v))
            w->own.table[v] = taken_from(w, ins);
        if (!g->own.single[v])
            continue;
        if (!ins)
            sequence_set_load(w, v);
        else if (sequence_is_take(w, v))
            sequence_set_single(w, v, ir_load_single(g, w->own.table[v], ins->dtype));
        else
            ir_call_row(g, v - g->loop->nloads, false);
    }
}

/* ---- Elements ---------------------------------------------------------------------------------------------------- */
static LLVMValueRef kept_at(sequence_writer *w, int v, LLVMValueRef i) {
    return ir_beyond(w->g, w->own.kept[v], w->g->own.dtype[v], i);
}

/* Lanes outside of the mask have the element of the first one, so nothing is rare in them alone. */
static LLVMValueRef load_row(sequence_writer *w, LLVMValueRef base, int dtype, LLVMValueRef i, LLVMValueRef mask) {
    LLVMValueRef at = ir_beyond(w->g, base, dtype, i);
    return ir_load_vector(w->g, at, dtype, mask, at);
}

static void load_block(sequence_writer *w, int p, LLVMValueRef i, LLVMValueRef mask) {
    generator *g = w->g;
    for (int v = 0; v < sequence_values(w); v++) {
        if (g->own.single[v])
            continue;
        LLVMValueRef loaded = NULL;
        if (w->own.phase[v] < p && sequence_next_use(w, v, p) == p)
            loaded = ir_load_vector(g, kept_at(w, v, i), g->own.dtype[v], NULL, NULL);
        else if (w->own.phase[v] == p && !sequence_ins(w, v))
            loaded = load_row(w, g->own.base[v], g->own.dtype[v], i, mask);
        else if (w->own.phase[v] == p && sequence_is_take(w, v))
            loaded = load_row(w, w->own.table[v], g->own.dtype[v], i, mask);
        if (loaded)
            LLVMBuildStore(g->builder, loaded, g->value[v]);
    }
}

/* Is value v what a row makes of elements, in phase p? */
static bool is_made(const sequence_writer *w, int v, int p) {
    return sequence_ins(w, v) && !w->g->own.single[v] && w->own.phase[v] == p && !sequence_is_take(w, v);
}

/* Calls the rows of phase p for all blocks. Returns what the fast ones say, or NULL. */
static LLVMValueRef call_rows(sequence_writer *w, int p, int blocks, bool fast) {
    generator *g = w->g;
    LLVMValueRef rare = NULL;
    for (int block = 0; block < blocks; block++) {
        ir_choose(g, block);
        for (int j = 0; j < g->loop->nins; j++) {
            if (!is_made(w, g->loop->nloads + j, p))
                continue;
            LLVMValueRef said = ir_call_row(g, j, fast);
            if (said)
                rare = rare ? LLVMBuildOr(g->builder, rare, said, "") : said;
        }
    }
    return rare;
}

static void compute(sequence_writer *w, int p, int blocks) {
    LLVMBasicBlockRef keep = ir_if_rare(w->g, call_rows(w, p, blocks, true));
    if (!keep)
        return;
    call_rows(w, p, blocks, false);
    ir_go_on(w->g, keep);
}

void sequence_store_block(sequence_writer *w, int p, LLVMValueRef i, LLVMValueRef mask) {
    generator *g = w->g;
    for (int k = 0; k < g->loop->nsinks; k++) {
        const int v = g->loop->sinks[k].value, dtype = g->own.dtype[v];
        if (sequence_stores_elements(w, k) && w->own.stored[k] == p)
            ir_store_vector(g, ir_value(g, v), ir_beyond(g, g->own.base[g->loop->nloads + k], dtype, i), dtype, mask);
    }
    for (int v = 0; v < sequence_values(w); v++)
        if (w->own.phase[v] == p && w->own.kept[v])
            ir_store_vector(g, ir_value(g, v), kept_at(w, v, i), g->own.dtype[v], NULL);
}

/* Elements i … i + count - 1, of at most a group of blocks. */
static void write_group(sequence_writer *w, int p, LLVMValueRef i, int64_t count) {
    generator *g = w->g;
    int blocks = (int)((count + g->lanes - 1) / g->lanes);
    LLVMValueRef at[LAZY_LANES], mask[LAZY_LANES];
    for (int block = 0; block < blocks; block++) {
        at[block] = LLVMBuildAdd(g->builder, i, ir_number(g, block * g->lanes), "");
        mask[block] = sequence_lanes_below(w, count - block * g->lanes);
        ir_choose(g, block);
        load_block(w, p, at[block], mask[block]);
    }
    compute(w, p, blocks);
    for (int block = 0; block < blocks; block++) {
        ir_choose(g, block);
        sequence_store_block(w, p, at[block], mask[block]);
        ir_fold_block(g, block, mask[block]);
    }
}

static void write_span(sequence_writer *w, int p, LLVMValueRef from, int64_t count) {
    generator *g = w->g;
    int64_t group = g->blocks * g->lanes, whole = count / group * group;
    if (whole == group)
        write_group(w, p, from, group);
    else if (whole > 0) {
        ir_loop loop;
        LLVMValueRef end = LLVMBuildAdd(g->builder, from, ir_number(g, whole), "");
        write_group(w, p, sequence_loop_begin(w, &loop, from, end, group), group);
        sequence_loop_end(w, &loop);
    }
    if (count > whole)
        write_group(w, p, LLVMBuildAdd(g->builder, from, ir_number(g, whole), ""), count - whole);
}

static void write_leaf(sequence_writer *w, int p, LLVMValueRef first, int64_t count) {
    (void)ir_folds_begin(w->g, first, ir_number(w->g, sequence_length(w)));
    write_span(w, p, first, count);
    ir_folds_end(w->g, first);
}

/* The elements of phase p whose values are folded. */
static void write_leaves(sequence_writer *w, int p) {
    generator *g = w->g;
    int64_t length = sequence_length(w), whole = length / LAZY_LEAF * LAZY_LEAF;
    if (whole == LAZY_LEAF)
        write_leaf(w, p, ir_number(g, 0), LAZY_LEAF);
    else if (whole > 0) {
        ir_loop loop;
        write_leaf(w, p, sequence_loop_begin(w, &loop, ir_number(g, 0), ir_number(g, whole), LAZY_LEAF), LAZY_LEAF);
        sequence_loop_end(w, &loop);
    }
    if (length > whole)
        write_leaf(w, p, ir_number(g, whole), length - whole);
    if (length > LAZY_LEAF)
        ir_folds_join(g, ir_number(g, length));
}

static bool has_elements(const sequence_writer *w, int p) {
    const lazy_kernel *loop = w->g->loop;
    bool has = false;
    for (int v = loop->nloads; v < sequence_values(w); v++)
        has |= !w->g->own.single[v] && w->own.phase[v] == p;
    for (int k = 0; k < loop->nsinks; k++)
        has |= sequence_stores_elements(w, k) && w->own.stored[k] == p;
    return has;
}

static void write_phase(sequence_writer *w, int p) {
    bool folds = false;
    for (int k = 0; k < w->g->loop->nsinks; k++) {
        w->g->own.idle[k] = w->own.stored[k] != p;
        folds |= ir_is_reduction(w->g, k) && !w->g->own.idle[k];
    }
    write_singles(w, p);
    if (folds)
        write_leaves(w, p);
    else if (has_elements(w, p))
        write_span(w, p, ir_number(w->g, 0), sequence_length(w));
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
/* What is one element for each row, when all of it is there. */
static void store_singles(sequence_writer *w) {
    generator *g = w->g;
    ir_choose(g, 0);
    for (int k = 0; k < g->loop->nsinks; k++) {
        const lazy_sink *sink = &g->loop->sinks[k];
        if (sink->slot < 0 || sequence_stores_elements(w, k))
            continue;
        LLVMValueRef single =
            ir_is_reduction(g, k) ? ir_load_single(g, g->own.leaves[k], sink->dtype) : ir_first_lane(g, sink->value);
        ir_store_single(g, single, g->own.base[g->loop->nloads + k], sink->dtype);
    }
}

static void write_row(sequence_writer *w) {
    generator *g = w->g;
    int phases = 1;
    for (int k = 0; k < g->loop->nloads; k++) {
        const lazy_load *load = &g->loop->loads[k];
        if (loop_has_buffer(load))
            g->own.base[k] = sequence_row_of(w, load->slot, &load->read, load->dtype);
        else if (sequence_is_result(w, k))
            g->own.base[k] = g->own.leaves[load->slot];
        phases = w->own.phase[k] >= phases ? w->own.phase[k] + 1 : phases;
    }
    for (int k = 0; k < g->loop->nsinks; k++) {
        const lazy_sink *sink = &g->loop->sinks[k];
        if (sink->slot >= 0)
            g->own.base[g->loop->nloads + k] = sequence_row_of(w, sink->slot, &sink->write, sink->dtype);
    }
    LLVMBasicBlockRef behind = find_rows(w);
    for (int p = 0; p < phases; p++)
        write_phase(w, p);
    store_singles(w);
    if (behind)
        ir_go_on(g, behind);
}

void sequence_write_maps(sequence_writer *w) {
    ir_loop loop;
    if (sequence_rows(w) == 1) {
        w->row = NULL;
        write_row(w);
        return;
    }
    w->row = sequence_loop_begin(w, &loop, ir_number(w->g, 0), ir_number(w->g, sequence_rows(w)), 1);
    write_row(w);
    sequence_loop_end(w, &loop);
}
