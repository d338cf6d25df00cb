/* gpu_fold.c: reductions in grid kernels (gpu_writer.h), over the fixed tree of lazy/loop/tree.h.
 *
 * A group of threads takes some rows, or a block of each, in waves of so many leaves as shared memory has slots for:
 *
 *      fold       each thread takes lanes of leaves, every 16th element
 *      lanes      l and l + 8 of each leaf, then l + 4, l + 2, l + 1; what a leaf gives is in a slot. Where neighbours
 *                 have the lanes of a leaf, they give each other what they have; else lanes have slots, too
 *      pairs      leaves i and i + 1 of each row, then i + 2, i + 4, …: neighbours, the last one waits
 *      keep       what the wave gave, for the tree over the waves, which is made in the same way
 *
 * Waves are powers of two of leaves where there are several, and so are blocks: whole subtrees. Levels follow one
 * another: what the reductions of one gave is a result for each row, which the next one loads.
 */
#include <stdlib.h>
#include <string.h>

#include "lazy/dtype/dtype.h"
#include "lazy/native/plugin/gpu_writer.h"

static bool of_level(const gpu_writer *w, const lazy_sink *sink, int level) {
    return gpu_is_reduce(sink) && w->kernel->levels[sink->value] == level;
}

static int levels_of(const gpu_writer *w) {
    int levels = 0;
    for (int k = 0; k < w->loop->nsinks; k++)
        if (gpu_is_reduce(&w->loop->sinks[k]) && w->kernel->levels[w->loop->sinks[k].value] >= levels)
            levels = w->kernel->levels[w->loop->sinks[k].value] + 1;
    return levels;
}

/* ---- Shared memory ----------------------------------------------------------------------------------------------- */
LLVMValueRef gpu_shared_memory(gpu_writer *w, int64_t bytes) {
    LLVMTypeRef type = LLVMArrayType2(w->i8, (uint64_t)bytes);
    if (w->host)
        return gpu_place(w, type);
    LLVMValueRef memory = LLVMAddGlobalInAddressSpace(w->module, type, "shared", 3);
    LLVMSetInitializer(memory, LLVMGetUndef(type));
    LLVMSetLinkage(memory, LLVMInternalLinkage);
    LLVMSetAlignment(memory, 16);
    return LLVMConstAddrSpaceCast(memory, w->pointer);
}

static gpu_shared shared_of(gpu_writer *w, const lazy_sink *sink, int count) {
    gpu_shared s = {.values = gpu_shared_memory(w, (int64_t)count * gpu_bytes(w->dtype[sink->value]))};
    if (gpu_chooses(w, sink))
        s.places = gpu_shared_memory(w, (int64_t)count * gpu_bytes(NEAP_DTYPE_I32));
    return s;
}

static void make_shared(gpu_writer *w) {
    for (int k = 0; k < w->loop->nsinks; k++) {
        const lazy_sink *sink = &w->loop->sinks[k];
        if (!gpu_is_reduce(sink))
            continue;
        w->slots[k] = shared_of(w, sink, w->kernel->slots / (w->kernel->across ? 1 : LAZY_LANES));
        w->waves[k] = shared_of(w, sink, gpu_waves_max(w->kernel));
        w->results[k] = gpu_shared_memory(w, (int64_t)gpu_rows_max(w->kernel) * gpu_bytes(sink->dtype));
    }
}

/* The slot of a lane of a leaf of a row of the group; of the leaf, if lanes have none. */
static LLVMValueRef slot_of(gpu_writer *w, LLVMValueRef row, LLVMValueRef leaf, LLVMValueRef lane) {
    LLVMValueRef lanes = gpu_number(w, LAZY_LANES);
    if (w->kernel->across)
        return gpu_add(w, gpu_multiply(w, gpu_add(w, gpu_multiply(w, leaf, lanes), lane), w->rows), row);
    return gpu_add(w, gpu_multiply(w, row, w->words[GPU_LEAVES]), leaf);
}

/* An item as one of so many rows, leaves and lanes: neighbours are lanes, or rows if the kernel runs across them. */
static void split(gpu_writer *w, LLVMValueRef item, LLVMValueRef leaves, int lanes, LLVMValueRef *row,
                  LLVMValueRef *leaf, LLVMValueRef *lane) {
    LLVMValueRef rest = item, count = gpu_number(w, lanes);
    if (w->kernel->across)
        rest = gpu_divide(w, rest, w->rows, row);
    rest = gpu_divide(w, rest, count, lane);
    if (w->kernel->across)
        *leaf = rest;
    else
        *row = gpu_divide(w, rest, leaves, leaf);
}

/* ---- Combining --------------------------------------------------------------------------------------------------- */
/* What is at `a` becomes what the reduction makes of that and of what is at `b`. */
static void combine_at(gpu_writer *w, const lazy_sink *sink, const gpu_shared *a, const gpu_shared *b) {
    const char *row = gpu_reduction_of(sink->op, w->dtype[sink->value]);
    if (gpu_chooses(w, sink))
        gpu_call(w, "row", row, (LLVMValueRef[]){a->values, a->places, a->values, a->places, b->values, b->places}, 6);
    else
        gpu_call(w, "row", row, (LLVMValueRef[]){a->values, a->values, b->values}, 3);
}

static gpu_shared shared_at(gpu_writer *w, const lazy_sink *sink, const gpu_shared *s, LLVMValueRef i) {
    gpu_shared at = {.values = gpu_at(w, s->values, w->dtype[sink->value], i)};
    if (gpu_chooses(w, sink))
        at.places = gpu_at(w, s->places, NEAP_DTYPE_I32, i);
    return at;
}

/* Element `left` of shared memory becomes what the reduction makes of it and element `right`. */
static void combine(gpu_writer *w, const lazy_sink *sink, const gpu_shared *s, LLVMValueRef left, LLVMValueRef right) {
    gpu_shared a = shared_at(w, sink, s, left), b = shared_at(w, sink, s, right);
    combine_at(w, sink, &a, &b);
}

static void copy(gpu_writer *w, const lazy_sink *sink, const gpu_shared *to, LLVMValueRef i, const gpu_shared *from,
                 LLVMValueRef j) {
    int dtype = w->dtype[sink->value];
    gpu_set(w, gpu_at(w, to->values, dtype, i), dtype, gpu_get(w, gpu_at(w, from->values, dtype, j), dtype));
    if (gpu_chooses(w, sink))
        gpu_set(w, gpu_at(w, to->places, NEAP_DTYPE_I32, i), NEAP_DTYPE_I32,
                gpu_get(w, gpu_at(w, from->places, NEAP_DTYPE_I32, j), NEAP_DTYPE_I32));
}

static void combine_lanes(gpu_writer *w, int level, int half) {
    gpu_loop share;
    LLVMValueRef row, leaf, lane, leaves = w->words[GPU_LEAVES];
    gpu_threads(w);
    gpu_for_share(w, &share, gpu_multiply(w, gpu_multiply(w, w->rows, leaves), gpu_number(w, half)));
    split(w, share.i, leaves, half, &row, &leaf, &lane);
    LLVMValueRef other = gpu_add(w, lane, gpu_number(w, half));
    LLVMValueRef first = gpu_multiply(w, gpu_add(w, w->leaf, leaf), gpu_number(w, LAZY_LEAF));
    LLVMBasicBlockRef no_row = gpu_if_row(w, row);
    LLVMBasicBlockRef no_lane = gpu_if(w, gpu_less(w, gpu_add(w, first, other), w->words[GPU_REDUCED]));
    for (int k = 0; k < w->loop->nsinks; k++)
        if (of_level(w, &w->loop->sinks[k], level))
            combine(w, &w->loop->sinks[k], &w->slots[k], slot_of(w, row, leaf, lane), slot_of(w, row, leaf, other));
    gpu_end_if(w, no_lane);
    gpu_end_if(w, no_row);
    gpu_end_for(w, &share);
    gpu_barrier(w);
}

/* The tree over the leaves of a wave. */
static void combine_leaves(gpu_writer *w, int level) {
    gpu_loop steps, share;
    LLVMValueRef row, pair, lane, zero = gpu_number(w, 0);
    gpu_for_doubled(w, &steps, w->leaves);
    LLVMValueRef twice = gpu_add(w, steps.i, steps.i), rest;
    LLVMValueRef pairs = gpu_divide(w, gpu_add(w, w->leaves, gpu_subtract(w, twice, gpu_number(w, 1))), twice, &rest);
    gpu_threads(w);
    gpu_for_share(w, &share, gpu_multiply(w, w->rows, pairs));
    split(w, share.i, pairs, 1, &row, &pair, &lane);
    LLVMValueRef left = gpu_multiply(w, pair, twice), right = gpu_add(w, left, steps.i);
    LLVMBasicBlockRef no_row = gpu_if_row(w, row), alone = gpu_if(w, gpu_less(w, right, w->leaves));
    for (int k = 0; k < w->loop->nsinks; k++)
        if (of_level(w, &w->loop->sinks[k], level))
            combine(w, &w->loop->sinks[k], &w->slots[k], slot_of(w, row, left, zero), slot_of(w, row, right, zero));
    gpu_end_if(w, alone);
    gpu_end_if(w, no_row);
    gpu_end_for(w, &share);
    gpu_barrier(w);
    gpu_end_for(w, &steps);
}

/* Where what wave `wave`, or block, gave of a row of the group is. */
static LLVMValueRef wave_of(gpu_writer *w, LLVMValueRef wave, LLVMValueRef row) {
    return gpu_add(w, gpu_multiply(w, wave, w->rows), row);
}

/* The tree over so many waves, or blocks. */
static void combine_waves(gpu_writer *w, int level, LLVMValueRef count) {
    gpu_loop steps, share;
    gpu_for_doubled(w, &steps, count);
    LLVMValueRef twice = gpu_add(w, steps.i, steps.i), rest, row;
    LLVMValueRef pairs = gpu_divide(w, gpu_add(w, count, gpu_subtract(w, steps.i, gpu_number(w, 1))), twice, &rest);
    gpu_threads(w);
    gpu_for_share(w, &share, gpu_multiply(w, w->rows, pairs));
    LLVMValueRef left = gpu_multiply(w, gpu_divide(w, share.i, w->rows, &row), twice);
    for (int k = 0; k < w->loop->nsinks; k++)
        if (of_level(w, &w->loop->sinks[k], level))
            combine(w, &w->loop->sinks[k], &w->waves[k], wave_of(w, left, row),
                    wave_of(w, gpu_add(w, left, steps.i), row));
    gpu_end_for(w, &share);
    gpu_barrier(w);
    gpu_end_for(w, &steps);
}

/* ---- Folding ----------------------------------------------------------------------------------------------------- */
/* Takes the element of a spot into what a thread has of sink k so far. */
static void take_element(gpu_writer *w, int k, const gpu_shared *sum, const gpu_shared *next, const gpu_spot *spot,
                         LLVMValueRef is_first) {
    const lazy_sink *sink = &w->loop->sinks[k];
    int dtype = w->dtype[sink->value];
    const char *row = gpu_reduction_of(sink->op, dtype);
    LLVMValueRef value = w->value[sink->value], given = gpu_get(w, value, dtype), place = NULL;
    if (gpu_chooses(w, sink)) {
        LLVMValueRef here = gpu_place(w, w->i32);
        place = LLVMBuildTrunc(w->builder, spot->at, w->i32, "");
        gpu_set(w, here, NEAP_DTYPE_I32, place);
        gpu_call(w, "row", row, (LLVMValueRef[]){next->values, next->places, sum->values, sum->places, value, here}, 6);
        LLVMValueRef then = gpu_get(w, next->places, NEAP_DTYPE_I32);
        gpu_set(w, sum->places, NEAP_DTYPE_I32, LLVMBuildSelect(w->builder, is_first, place, then, ""));
    } else {
        gpu_call(w, "row", row, (LLVMValueRef[]){next->values, sum->values, value}, 3);
    }
    LLVMValueRef then = gpu_get(w, next->values, dtype);
    gpu_set(w, sum->values, dtype, LLVMBuildSelect(w->builder, is_first, given, then, ""));
}

static gpu_shared places_for(gpu_writer *w, const lazy_sink *sink) {
    gpu_shared s = {.values = gpu_place(w, gpu_element(w, w->dtype[sink->value]))};
    if (gpu_chooses(w, sink))
        s.places = gpu_place(w, w->i32);
    return s;
}

/* Every 16th element from the first on, `each` in a turn: their loads are under way together, and they are taken in
 * their order. */
static void fold_elements(gpu_writer *w, int level, const bool *needed, LLVMValueRef row, LLVMValueRef first,
                          LLVMValueRef end, int each, const gpu_shared *sum, const gpu_shared *next) {
    LLVMValueRef *own = w->value, never = LLVMConstNull(LLVMInt1TypeInContext(w->context));
    gpu_spot spots[GPU_FOLDED];
    gpu_loop turns;
    gpu_for(w, &turns, first, end, gpu_number(w, (int64_t)each * LAZY_LANES));
    LLVMValueRef is_first = LLVMBuildICmp(w->builder, LLVMIntEQ, turns.i, first, "");
    for (int j = 0; j < each; j++)
        spots[j] = gpu_spot_of(w, row, gpu_add(w, turns.i, gpu_number(w, (int64_t)j * LAZY_LANES)));
    gpu_together(w, needed, spots, each, own);
    for (int j = 0; j < each; j++) {
        gpu_use_set(w, own, j);
        for (int k = 0; k < w->loop->nsinks; k++)
            if (of_level(w, &w->loop->sinks[k], level))
                take_element(w, k, &sum[k], &next[k], &spots[j], j == 0 ? is_first : never);
    }
    w->value = own;
    gpu_end_for(w, &turns);
}

/* A lane of a leaf; several of its elements in a turn where all of them are there. */
static void fold_lane(gpu_writer *w, int level, const bool *needed, LLVMValueRef row, LLVMValueRef leaf,
                      LLVMValueRef lane, const gpu_shared *sum, const gpu_shared *next) {
    LLVMValueRef size = gpu_number(w, LAZY_LEAF), reduced = w->words[GPU_REDUCED];
    LLVMValueRef start = gpu_multiply(w, gpu_add(w, w->leaf, leaf), size), first = gpu_add(w, start, lane);
    LLVMValueRef end = gpu_add(w, start, size), is_part = gpu_less(w, reduced, end);
    if (w->kernel->each == 1) {
        fold_elements(w, level, needed, row, first, gpu_least(w, end, reduced), 1, sum, next);
        return;
    }
    LLVMBasicBlockRef behind = gpu_if(w, LLVMBuildNot(w->builder, is_part, ""));
    fold_elements(w, level, needed, row, first, end, w->kernel->each, sum, next);
    gpu_end_if(w, behind);
    behind = gpu_if(w, is_part);
    fold_elements(w, level, needed, row, first, reduced, 1, sum, next);
    gpu_end_if(w, behind);
}

/* Makes places for what a thread has so far. */
static void begin_sums(gpu_writer *w, int level, gpu_shared *sum, gpu_shared *next) {
    for (int k = 0; k < w->loop->nsinks; k++) {
        const lazy_sink *sink = &w->loop->sinks[k];
        if (!of_level(w, sink, level))
            continue;
        int dtype = w->dtype[sink->value];
        sum[k] = places_for(w, sink), next[k] = places_for(w, sink);
        gpu_set(w, sum[k].values, dtype, LLVMConstNull(gpu_element(w, dtype)));
        if (gpu_chooses(w, sink))
            gpu_set(w, sum[k].places, NEAP_DTYPE_I32, LLVMConstNull(w->i32));
    }
}

/* Lanes of a wave into slots, where neighbouring threads have different rows. */
static void fold_across(gpu_writer *w, int level, const bool *needed, gpu_shared *sum, gpu_shared *next) {
    gpu_loop share;
    LLVMValueRef row, leaf, lane, leaves = w->words[GPU_LEAVES];
    gpu_threads(w);
    gpu_for_share(w, &share, gpu_multiply(w, gpu_multiply(w, w->rows, leaves), gpu_number(w, LAZY_LANES)));
    split(w, share.i, leaves, LAZY_LANES, &row, &leaf, &lane);
    LLVMBasicBlockRef no_row = gpu_if_row(w, row);
    begin_sums(w, level, sum, next);
    fold_lane(w, level, needed, row, leaf, lane, sum, next);
    for (int k = 0; k < w->loop->nsinks; k++)
        if (of_level(w, &w->loop->sinks[k], level))
            copy(w, &w->loop->sinks[k], &w->slots[k], slot_of(w, row, leaf, lane), &sum[k], gpu_number(w, 0));
    gpu_end_if(w, no_row);
    gpu_end_for(w, &share);
    gpu_barrier(w);
    LOOP_EACH_HALF(half) {
        combine_lanes(w, level, half);
    }
}

/* ---- Lanes of neighbouring threads ------------------------------------------------------------------------------- */
typedef struct lane_item { /* the lane that a thread has in a turn; all threads of a leaf have one, or none */
    LLVMValueRef first, count, number, row, leaf, lane;
    LLVMBasicBlockRef none, no_row;
} lane_item;

static void begin_item(gpu_writer *w, lane_item *item) {
    gpu_threads(w);
    item->number = gpu_add(w, item->first, w->thread);
    split(w, item->number, w->words[GPU_LEAVES], LAZY_LANES, &item->row, &item->leaf, &item->lane);
}

/* What follows is for threads that have a lane. */
static void if_item(gpu_writer *w, lane_item *item) {
    item->none = gpu_if(w, gpu_less(w, item->number, item->count));
    item->no_row = gpu_if_row(w, item->row);
}

static void end_if_item(gpu_writer *w, const lane_item *item) {
    gpu_end_if(w, item->no_row);
    gpu_end_if(w, item->none);
}

/* The next phase of the same item: a GPU's threads go on. */
static void next_phase(gpu_writer *w, lane_item *item) {
    if (w->host) {
        gpu_rejoin(w);
        begin_item(w, item);
    }
}

static gpu_shared kept_for(gpu_writer *w, const lazy_sink *sink) {
    gpu_shared kept = {.values = gpu_kept(w, w->dtype[sink->value])};
    if (gpu_chooses(w, sink))
        kept.places = gpu_kept(w, NEAP_DTYPE_I32);
    return kept;
}

static gpu_shared of_thread(gpu_writer *w, const lazy_sink *sink, const gpu_shared *kept) {
    gpu_shared own = {.values = gpu_of_thread(w, kept->values, w->dtype[sink->value])};
    if (gpu_chooses(w, sink))
        own.places = gpu_of_thread(w, kept->places, NEAP_DTYPE_I32);
    return own;
}

/* What this thread and the one `half` behind it have, if that one has something. Threads without a lane do it too, of
 * what nobody reads: so all of a warp are together, and the shuffle is one instruction. */
static void join_lanes(gpu_writer *w, int level, lane_item *item, int half, const gpu_shared *kept,
                       const gpu_shared *others) {
    next_phase(w, item);
    for (int k = 0; k < w->loop->nsinks; k++) {
        const lazy_sink *sink = &w->loop->sinks[k];
        if (!of_level(w, sink, level))
            continue;
        gpu_shared other = of_thread(w, sink, &others[k]);
        gpu_shuffle(w, other.values, kept[k].values, w->dtype[sink->value], half);
        if (gpu_chooses(w, sink))
            gpu_shuffle(w, other.places, kept[k].places, NEAP_DTYPE_I32, half);
    }
    next_phase(w, item);
    LLVMValueRef first = gpu_multiply(w, gpu_add(w, w->leaf, item->leaf), gpu_number(w, LAZY_LEAF));
    LLVMValueRef lane = gpu_add(w, item->lane, gpu_number(w, half));
    LLVMBasicBlockRef no_lane = gpu_if(w, gpu_less(w, gpu_add(w, first, lane), w->words[GPU_REDUCED]));
    for (int k = 0; k < w->loop->nsinks; k++) {
        const lazy_sink *sink = &w->loop->sinks[k];
        if (!of_level(w, sink, level))
            continue;
        gpu_shared own = of_thread(w, sink, &kept[k]), other = of_thread(w, sink, &others[k]);
        combine_at(w, sink, &own, &other);
    }
    gpu_end_if(w, no_lane);
}

/* Lanes of a wave to leaves in slots. */
static void fold_along(gpu_writer *w, int level, const bool *needed, gpu_shared *sum, gpu_shared *next,
                       gpu_shared *kept, gpu_shared *others) {
    const lazy_kernel *loop = w->loop;
    gpu_loop turns;
    LLVMValueRef zero = gpu_number(w, 0), leaves = gpu_multiply(w, w->rows, w->words[GPU_LEAVES]);
    lane_item item = {.count = gpu_multiply(w, leaves, gpu_number(w, LAZY_LANES))};
    gpu_for(w, &turns, zero, item.count, gpu_number(w, GPU_THREADS));
    item.first = turns.i;
    begin_item(w, &item);
    for (int k = 0; k < loop->nsinks; k++)
        if (of_level(w, &loop->sinks[k], level))
            kept[k] = kept_for(w, &loop->sinks[k]), others[k] = kept_for(w, &loop->sinks[k]);
    if_item(w, &item);
    begin_sums(w, level, sum, next);
    fold_lane(w, level, needed, item.row, item.leaf, item.lane, sum, next);
    for (int k = 0; k < loop->nsinks; k++)
        if (of_level(w, &loop->sinks[k], level)) {
            gpu_shared own = of_thread(w, &loop->sinks[k], &kept[k]);
            copy(w, &loop->sinks[k], &own, zero, &sum[k], zero);
        }
    end_if_item(w, &item);
    LOOP_EACH_HALF(half) {
        join_lanes(w, level, &item, half, kept, others);
    }
    if_item(w, &item);
    LLVMBasicBlockRef others_end = gpu_if(w, gpu_less(w, item.lane, gpu_number(w, 1)));
    for (int k = 0; k < loop->nsinks; k++)
        if (of_level(w, &loop->sinks[k], level)) {
            gpu_shared own = of_thread(w, &loop->sinks[k], &kept[k]);
            copy(w, &loop->sinks[k], &w->slots[k], slot_of(w, item.row, item.leaf, zero), &own, zero);
        }
    gpu_end_if(w, others_end);
    end_if_item(w, &item);
    gpu_rejoin(w);
    gpu_end_for(w, &turns);
    if (!w->host)
        gpu_barrier(w);
}

/* Keeps what a wave gave of each row. */
static void keep_wave(gpu_writer *w, int level, LLVMValueRef wave) {
    gpu_loop share;
    LLVMValueRef zero = gpu_number(w, 0);
    gpu_threads(w);
    gpu_for_share(w, &share, w->rows);
    LLVMBasicBlockRef no_row = gpu_if_row(w, share.i);
    for (int k = 0; k < w->loop->nsinks; k++)
        if (of_level(w, &w->loop->sinks[k], level))
            copy(w, &w->loop->sinks[k], &w->waves[k], wave_of(w, wave, share.i), &w->slots[k],
                 slot_of(w, share.i, zero, zero));
    gpu_end_if(w, no_row);
    gpu_end_for(w, &share);
    gpu_barrier(w);
}

/* All leaves of the group's rows, or of its block, to one value for each row in `waves`. `next` has as many entries for
 * what threads keep behind it, twice. */
static void reduce_level(gpu_writer *w, int level, bool *needed, gpu_shared *sum, gpu_shared *next) {
    gpu_loop waves;
    LLVMValueRef rest, most = w->words[GPU_LEAVES], one = gpu_number(w, 1), size = gpu_number(w, LAZY_LEAF);
    LLVMValueRef all = gpu_add(w, w->words[GPU_REDUCED], gpu_subtract(w, size, one));
    LLVMValueRef total = gpu_divide(w, all, size, &rest), block = gpu_multiply(w, w->words[GPU_WAVES], most);
    LLVMValueRef first = gpu_multiply(w, w->block, block), mine = gpu_least(w, gpu_subtract(w, total, first), block);
    LLVMValueRef count = gpu_divide(w, gpu_add(w, mine, gpu_subtract(w, most, one)), most, &rest);
    memset(needed, 0, (size_t)(w->loop->nloads + w->loop->nins) * sizeof *needed);
    for (int k = 0; k < w->loop->nsinks; k++)
        if (of_level(w, &w->loop->sinks[k], level))
            gpu_need(w, needed, w->loop->sinks[k].value);
    gpu_for(w, &waves, gpu_number(w, 0), count, one);
    w->leaf = gpu_add(w, first, gpu_multiply(w, waves.i, most));
    w->leaves = gpu_least(w, gpu_subtract(w, total, w->leaf), most);
    if (w->kernel->across)
        fold_across(w, level, needed, sum, next);
    else
        fold_along(w, level, needed, sum, next, next + w->loop->nsinks, next + 2 * w->loop->nsinks);
    combine_leaves(w, level);
    keep_wave(w, level, waves.i);
    gpu_end_for(w, &waves);
    combine_waves(w, level, count);
}

/* ---- What comes of it -------------------------------------------------------------------------------------------- */
/* Results of each row. */
static void make_results(gpu_writer *w, int level) {
    gpu_loop share;
    gpu_threads(w);
    gpu_for_share(w, &share, w->rows);
    LLVMBasicBlockRef no_row = gpu_if_row(w, share.i);
    LLVMValueRef empty = LLVMBuildICmp(w->builder, LLVMIntEQ, w->words[GPU_REDUCED], gpu_number(w, 0), "");
    for (int k = 0; k < w->loop->nsinks; k++) {
        const lazy_sink *sink = &w->loop->sinks[k];
        if (!of_level(w, sink, level))
            continue;
        LLVMValueRef values = gpu_chooses(w, sink) ? w->waves[k].places : w->waves[k].values;
        LLVMValueRef result = gpu_get(w, gpu_at(w, values, sink->dtype, share.i), sink->dtype);
        LLVMValueRef none = LLVMConstNull(gpu_element(w, sink->dtype));
        if (!gpu_chooses(w, sink)) {
            LLVMValueRef place = gpu_place(w, gpu_element(w, sink->dtype));
            gpu_call(w, "none", gpu_reduction_of(sink->op, sink->dtype), &place, 1);
            none = gpu_get(w, place, sink->dtype);
        }
        result = LLVMBuildSelect(w->builder, empty, none, result, "");
        gpu_set(w, gpu_at(w, w->results[k], sink->dtype, share.i), sink->dtype, result);
    }
    gpu_end_if(w, no_row);
    gpu_end_for(w, &share);
    gpu_barrier(w);
}

/* Where blocks of the group's rows are in the scratch between launches, and the number of the first. */
static gpu_shared partials_of(gpu_writer *w, int k, LLVMValueRef *first) {
    LLVMValueRef count = gpu_multiply(w, w->words[GPU_ROWS], w->words[GPU_BLOCKS]), base[2];
    int area = gpu_areas_before(w->kernel, k);
    for (int j = 0; j < 2; j++) {
        LLVMValueRef bytes = gpu_multiply(w, count, gpu_number(w, (int64_t)(area + j) * GPU_PARTIAL));
        base[j] = LLVMBuildGEP2(w->builder, w->i8, w->buffer[w->kernel->nbuffers], &bytes, 1, "");
    }
    *first = gpu_multiply(w, w->first_row, w->words[GPU_BLOCKS]);
    return (gpu_shared){base[0], base[1]};
}

static void keep_partials(gpu_writer *w) {
    gpu_loop share;
    gpu_threads(w);
    gpu_for_share(w, &share, w->rows);
    LLVMBasicBlockRef no_row = gpu_if_row(w, share.i);
    for (int k = 0; k < w->loop->nsinks; k++) {
        LLVMValueRef first;
        if (!gpu_is_reduce(&w->loop->sinks[k]))
            continue;
        gpu_shared to = partials_of(w, k, &first);
        LLVMValueRef before = gpu_multiply(w, share.i, w->words[GPU_BLOCKS]);
        copy(w, &w->loop->sinks[k], &to, gpu_add(w, gpu_add(w, first, before), w->block), &w->waves[k], share.i);
    }
    gpu_end_if(w, no_row);
    gpu_end_for(w, &share);
    gpu_barrier(w);
}

static void load_partials(gpu_writer *w) {
    gpu_loop share;
    gpu_threads(w);
    gpu_for_share(w, &share, w->words[GPU_BLOCKS]);
    for (int k = 0; k < w->loop->nsinks; k++) {
        LLVMValueRef first;
        if (!gpu_is_reduce(&w->loop->sinks[k]))
            continue;
        gpu_shared from = partials_of(w, k, &first);
        copy(w, &w->loop->sinks[k], &w->waves[k], share.i, &from, gpu_add(w, first, share.i));
    }
    gpu_end_for(w, &share);
    gpu_barrier(w);
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */
static void write_kernel(gpu_writer *w, bool *needed, gpu_shared *sum, gpu_shared *next) {
    const int levels = levels_of(w);
    const bool staged = w->kernel->staged;
    w->rows = w->words[GPU_GROUP_ROWS];
    w->first_row = gpu_multiply(w, gpu_divide(w, w->group, w->words[GPU_BLOCKS], &w->block), w->rows);
    for (int level = 0; level < levels; level++) {
        reduce_level(w, level, needed, sum, next);
        if (!staged)
            gpu_store_elements(w, needed);
        if (!staged) {
            LLVMValueRef several = gpu_less(w, gpu_number(w, 1), w->words[GPU_BLOCKS]);
            LLVMBasicBlockRef whole = gpu_if(w, several);
            keep_partials(w);
            LLVMBuildRetVoid(w->builder);
            LLVMPositionBuilderAtEnd(w->builder, whole);
        }
        make_results(w, level);
    }
    if (staged || levels == 0)
        gpu_store_elements(w, needed);
    gpu_store_rows(w, needed);
}

void gpu_write_reduction(gpu_writer *w, bool finish) {
    const size_t sinks = (size_t)w->loop->nsinks;
    const size_t values = (size_t)(w->loop->nloads + w->loop->nins);
    gpu_shared *places = calloc(6 * sinks, sizeof *places);
    bool *needed = calloc(values + 1, sizeof *needed);
    w->results = calloc(sinks, sizeof *w->results);
    w->slots = places, w->waves = places + sinks;
    if (places && needed && w->results) {
        make_shared(w);
        if (finish) {
            w->rows = gpu_number(w, 1), w->block = gpu_number(w, 0), w->first_row = w->group;
            load_partials(w);
            combine_waves(w, 0, w->words[GPU_BLOCKS]);
            make_results(w, 0);
            gpu_store_rows(w, needed);
        } else {
            write_kernel(w, needed, places + 2 * sinks, places + 3 * sinks);
        }
        LLVMBuildRetVoid(w->builder);
    } else {
        ir_host->error(NEAP_E_MEMORY, "no memory for a kernel's code");
        w->failed = true;
    }
    free(places), free(needed), free(w->results);
}
