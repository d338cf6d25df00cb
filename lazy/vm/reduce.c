/* vm/reduce.c: reductions over the fixed tree of loop/tree.h.
 *
 * Where a chunk holds whole rows of the domain, one after another, the leaves of all rows are combined level by level,
 * neighbours in pairs; the last one of an odd number waits. That is the tree: a split at the largest power of two
 * leaves full blocks on the left.
 *
 *      leaves   0 1 2 3 4 5 6        01 23 45 6        0123 456        0123456
 *
 * Where rows are carried from chunk to chunk, and for columns, there are accumulators of `columns` elements side by
 * side, 1 for ROWS. Leaves come in order and are pushed on a stack of partial results like the carries of a binary
 * counter: after leaf number n, as many pairs are combined as n has trailing zero bits. What is left at the end is
 * combined from the top, which gives the same tree:
 *
 *      leaves   0 1 2 3 4 5 6        stack after 7: [0..3] [4..5] [6]   result: [0..3] ∘ ([4..5] ∘ [6])
 *
 * Carried rows are cut, when there are few of them, into blocks of leaves: aligned blocks of a power of two leaves are
 * whole subtrees, so their results, combined by the same counter, give the same bits for every size of blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "lazy/vm/vm.h"

enum {
    BLOCK_MIN = 16, /* leaves of the smallest block that is worth a task */
    SHORT_ROWS = 8  /* short rows from which turning them pays */
};

typedef struct reduction { /* of carried rows */
    const vm_program *p;
    void *const *bufs;
    const lazy_scalar *scalars;
    int64_t leaves, block, blocks; /* of a cell; leaves of a block; blocks of a cell */
    int64_t tasks;
    char **partial; /* of each sink, [cell][block] accumulators; NULL with one block */
    _Atomic int status;
} reduction;

/* Bytes of one element of the accumulators: an ARG's value (its dtype may be wider than the result) or a number. */
enum { WORD = sizeof(lazy_scalar) };

/* Leaves of a chunk of a carried row. */
enum { LEAVES_MOST = VM_LONG * VM_CHUNK / LAZY_LEAF };

static int64_t leaves_of(const vm_program *p) {
    return loop_leaves(p->reduced);
}

static int64_t columns_of(const vm_program *p) {
    return p->form == VM_NEST_COLUMNS ? p->columns : 1;
}

/* Depth of the stack: as many as the count of leaves has bits, and one to push on. */
static int64_t depth_of(int64_t leaves) {
    int64_t depth = 2;
    for (; leaves > 0; leaves >>= 1)
        depth++;
    return depth;
}

/* Are rows whole in a chunk, one after another? */
static bool whole_rows(const vm_program *p) {
    return !p->carried && p->form != VM_NEST_COLUMNS;
}

/* Are rows shorter than a leaf has lanes? */
static bool is_short(const vm_program *p) {
    return p->reduced < LAZY_LANES;
}

/* ---- Scratch ------------------------------------------------------------------------------------------------------
 * Of a sink:              [accumulator] [lanes: 16 × columns, of the running leaf (COLUMNS)] [stack: depth × columns]
 * and, if native:         [leaves of a chunk]
 * of an ARG:              [accumulator] [best: columns] [index: columns, as int32_t]
 * and for whole rows:     [results] [leaves of a row, and of half of them twice; short rows: the lanes of all rows]
 */
typedef struct accumulator {
    const vm_sink *sink;
    char *lanes, *stack;
    int32_t *index;
    int64_t columns, width; /* columns; bytes of an element */
    int64_t depth;
    int64_t used;   /* lanes of the running leaf */
    uint64_t count; /* leaves pushed */
} accumulator;

enum { HEAD = (sizeof(accumulator) + 63) / 64 * 64 };

size_t vm_reduce_scratch(const vm_program *p, vm_sink *sink) {
    int64_t columns = columns_of(p);
    sink->result = 0;
    sink->leaves = (int32_t)(p->packed_rows * WORD);
    if (whole_rows(p) && sink->native)
        sink->result = sink->leaves;
    if (whole_rows(p))
        return (size_t)((p->packed_rows + (is_short(p) ? p->chunk + p->packed_rows : 2 * leaves_of(p))) * WORD);
    sink->result = (int32_t)(HEAD + (sink->choice ? columns : LAZY_LANES * columns) * WORD);
    if (sink->choice)
        return (size_t)(HEAD + columns * 2 * WORD);
    sink->leaves = (int32_t)(HEAD + (LAZY_LANES + depth_of(leaves_of(p))) * columns * WORD);
    return (size_t)(sink->leaves + (sink->native ? LEAVES_MOST * WORD : 0));
}

/* ---- Accumulators ------------------------------------------------------------------------------------------------ */
/* A fresh accumulator of sink k for the columns of the frame's cell. */
static accumulator *accumulator_begin(const vm_run_state *f, int k) {
    const vm_sink *sink = &f->program->sinks[k];
    char *scratch = f->scratch + sink->scratch;
    accumulator *a = (accumulator *)scratch;
    *a = (accumulator){.sink = sink, .columns = f->n[1], .width = sink->value_width};
    a->lanes = scratch + HEAD;
    a->stack = a->lanes + LAZY_LANES * columns_of(f->program) * WORD;
    a->index = (int32_t *)(a->lanes + columns_of(f->program) * WORD);
    if (sink->choice)
        for (int64_t i = 0; i < a->columns; i++)
            a->index[i] = -1;
    return a;
}

static accumulator *accumulator_of(const vm_run_state *f, int k) {
    return (accumulator *)(f->scratch + f->program->sinks[k].scratch);
}

static char *stack_at(const accumulator *a, int64_t level) {
    return a->stack + level * a->columns * a->width;
}

static void combine_top(accumulator *a) {
    char *left = stack_at(a, a->depth - 2);
    a->sink->fold->pairs(left, left, stack_at(a, a->depth - 1), NULL, a->columns);
    a->depth--;
}

/* Counts what stands on top of the stack: the tree of so many leaves, a power of two that divides the count. */
static void combine_carried(accumulator *a, uint64_t leaves) {
    a->count += leaves;
    for (uint64_t n = a->count / leaves; (n & 1) == 0; n >>= 1)
        combine_top(a);
}

/* memcpy, quick for one element. */
static void copy_elements(void *to, const void *from, int64_t bytes) {
    if (bytes == 4)
        memcpy(to, from, 4);
    else if (bytes == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, (size_t)bytes);
}

static void push(accumulator *a, const void *tree, uint64_t leaves) {
    copy_elements(stack_at(a, a->depth++), tree, a->columns * a->width);
    combine_carried(a, leaves);
}

static void accumulator_end(accumulator *a) {
    while (!a->sink->choice && a->depth > 1)
        combine_top(a);
}

/* ---- Leaves of rows ---------------------------------------------------------------------------------------------- */
/* Asks memory for what comes so far behind `from`. As many requests are under way as the CPU can have, so they are made
 * one by one between the leaves: many at once would hold it up. */
static void ask_ahead(const char *from, int64_t bytes) {
    enum { AHEAD = 16 * 1024, LINE = 64 };
    for (int64_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch(from + AHEAD + at);
}

/* Results of the leaves of n elements; `ask`: they come from memory, and what follows them, too. */
static void leaves(const vm_sink *sink, char *out, const char *a, const char *b, int64_t n, bool ask) {
    enum { ASKED = 4 }; /* leaves between requests */
    lazy_leaves loop = sink->summed ? sink->summed : sink->fold->leaves;
    int64_t whole = n / LAZY_LEAF, bytes = LAZY_LEAF * sink->value_width, skip = whole * bytes;
    for (int64_t k = 0, count; k < whole; k += count) {
        count = ask && whole - k > ASKED ? ASKED : whole - k;
        if (ask)
            ask_ahead(a + k * bytes, count * bytes);
        if (ask && sink->summed && a != b)
            ask_ahead(b + k * bytes, count * bytes);
        loop(out + k * sink->value_width, a + k * bytes, b + k * bytes, count, LAZY_LEAF);
    }
    if (n % LAZY_LEAF != 0)
        loop(out + whole * sink->value_width, a + skip, b + skip, 1, n % LAZY_LEAF);
}

/* to[i] = from[2 · i], and the odd ones behind them. */
static void part_pairs(int64_t width, char *even, char *odd, const char *from, int64_t pairs) {
    if (width == 4)
        for (int64_t i = 0; i < pairs; i++)
            memcpy(even + 4 * i, from + 8 * i, 4), memcpy(odd + 4 * i, from + 8 * i + 4, 4);
    else
        for (int64_t i = 0; i < pairs; i++) {
            memcpy(even + width * i, from + 2 * width * i, (size_t)width);
            memcpy(odd + width * i, from + width * (2 * i + 1), (size_t)width);
        }
}

/* Combines the leaves of one row, two or more, in place; `half` has room for as many. */
static void combine_leaves(const vm_sink *sink, char *leaf, char *half, int64_t count) {
    int64_t width = sink->value_width;
    for (int64_t pairs; count > 2; count = pairs + count % 2) {
        pairs = count / 2;
        part_pairs(width, half, half + pairs * width, leaf, pairs);
        sink->fold->pairs(leaf, half, half + pairs * width, NULL, pairs);
        if (count % 2 != 0)
            memmove(leaf + pairs * width, leaf + (count - 1) * width, (size_t)width);
    }
    sink->fold->pairs(leaf, leaf, leaf + width, NULL, 1);
}

/* Rows shorter than the lanes of a leaf, all at once: turned, so that each lane is a vector over the rows. */
static void fold_short_rows(const lazy_moves *moves, const vm_sink *sink, char *results, char *lanes,
                            const char *values, int64_t rows, int64_t length) {
    int64_t width = sink->value_width, row_bytes = rows * width;
    vm_gather(moves, (int)width, lanes, values, 2, (int64_t[]){length, rows}, (int64_t[]){1, length}, 0, length * rows);
    LOOP_EACH_HALF(half) {
        if (length <= half)
            continue;
        sink->fold->pairs(lanes, lanes, lanes + half * row_bytes, NULL, (length - half) * rows);
        length = half;
    }
    memcpy(results, lanes, (size_t)row_bytes);
}

/* The same for places: each row is a column. */
static void choose_short_rows(const lazy_moves *moves, const vm_sink *sink, char *results, char *lanes,
                              const char *values, int64_t rows, int64_t length) {
    int64_t width = sink->value_width, row_bytes = rows * width;
    int32_t *index = (int32_t *)results;
    vm_gather(moves, (int)width, lanes, values, 2, (int64_t[]){length, rows}, (int64_t[]){1, length}, 0, length * rows);
    for (int64_t row = 0; row < rows; row++)
        index[row] = -1;
    sink->choice->columns(lanes + length * row_bytes, index, lanes, row_bytes, rows, length, 0);
}

/* The results of whole rows. */
static void fold_rows(const vm_run_state *f, const vm_sink *sink, const char *a, const char *b, int64_t rows) {
    const vm_program *p = f->program;
    char *results = f->scratch + sink->scratch, *leaf = results + p->packed_rows * WORD;
    int64_t length = p->reduced, row_bytes = length * sink->value_width, count = leaves_of(p);
    if (sink->choice && is_short(p) && rows >= SHORT_ROWS)
        choose_short_rows(p->simd->moves, sink, results, leaf, a, rows, length);
    else if (sink->choice)
        for (int64_t row = 0; row < rows; row++) {
            double best;
            int32_t *index = (int32_t *)results + row;
            *index = -1;
            sink->choice->first(&best, index, a + row * row_bytes, length, 0);
        }
    else if (is_short(p) && rows >= SHORT_ROWS && !sink->summed)
        fold_short_rows(p->simd->moves, sink, results, leaf, a, rows, length);
    else if (count == 1 || sink->any_length)
        (sink->summed ? sink->summed : sink->fold->leaves)(results, a, b, rows, length);
    else
        for (int64_t row = 0; row < rows; row++) {
            leaves(sink, leaf, a + row * row_bytes, b + row * row_bytes, length, false);
            combine_leaves(sink, leaf, leaf + count * WORD, count);
            copy_elements(results + row * sink->width, leaf, sink->width);
        }
}

/* ---- Feeding accumulators ---------------------------------------------------------------------------------------- */
/* The next leaves of one row. */
static void feed_leaves(accumulator *acc, char *leaf, int64_t count) {
    lazy_scalar half[LEAVES_MOST];
    if (count > 1 && (count & (count - 1)) == 0 && acc->count % (uint64_t)count == 0) { /* a whole subtree */
        combine_leaves(acc->sink, leaf, (char *)half, count);
        push(acc, leaf, (uint64_t)count);
        return;
    }
    for (int64_t k = 0; k < count; k++)
        push(acc, leaf + k * acc->width, 1);
}

/* Elements first … of one row, a whole number of leaves or the end of the row. */
static void feed_row(accumulator *acc, const char *a, const char *b, int64_t first, int64_t n, bool ask) {
    if (acc->sink->choice) {
        acc->sink->choice->first(acc->lanes, acc->index, a, n, (int32_t)first);
        return;
    }
    lazy_scalar results[LEAVES_MOST];
    if (acc->sink->any_length && !ask) {
        acc->sink->fold->leaves(results, a, b, 1, n);
        push(acc, results, 1);
        return;
    }
    leaves(acc->sink, (char *)results, a, b, n, ask);
    feed_leaves(acc, (char *)results, loop_leaves(n));
}

/* A lane starts with its first element: the identity before it would change no bit. */
static void leaf_end(accumulator *a) {
    LOOP_EACH_HALF(half) {
        if (a->used <= half)
            continue;
        a->sink->fold->pairs(a->lanes, a->lanes, a->lanes + half * a->columns * a->width, NULL,
                             (a->used - half) * a->columns);
        a->used = half;
    }
    push(a, a->lanes, 1);
    a->used = 0;
}

/* Asks for rows of a block some rows ahead: they lie on pages of their own, where hardware asks too late. */
static void ask_rows(const char *values, int64_t step, int64_t row_bytes, int64_t rows) {
    enum { LINE = 64 };
    for (int64_t r = 0; r < rows; r++)
        for (int64_t at = 0; at < row_bytes; at += LINE)
            __builtin_prefetch(values + r * step + at);
}

/* A whole leaf: each lane is taken down its rows in registers. What is chosen does not depend on an order: there all
 * rows are one lane, and memory is read in its order. */
static void feed_leaf(accumulator *a, const char *values, int64_t step, int64_t rows, bool far) {
    int64_t row_bytes = a->columns * a->width, groups = rows / LAZY_LANES, rest = rows % LAZY_LANES;
    lazy_down down = a->sink->fold->down;
    if (a->sink->any_length && !far) {
        down(a->lanes, values, step, rows, a->columns);
        rows = 1;
    } else if (step == row_bytes && groups > 0) { /* lanes lie side by side, too */
        down(a->lanes, values, LAZY_LANES * step, groups, LAZY_LANES * a->columns);
        if (rest > 0)
            a->sink->fold->pairs(a->lanes, a->lanes, values + groups * LAZY_LANES * step, NULL, rest * a->columns);
    } else
        for (int64_t l = 0; l < LAZY_LANES && l < rows; l++) {
            if (far)
                ask_rows(values + (l + 1) * step, LAZY_LANES * step, row_bytes, groups);
            down(a->lanes + l * row_bytes, values + l * step, LAZY_LANES * step, groups + (l < rest), a->columns);
        }
    a->used = loop_lanes(rows);
    leaf_end(a);
}

/* Rows first … of the columns of a block, `step` bytes from one to the next; a leaf ends after each 256 rows and at
 * `end`. */
static void feed_columns(accumulator *a, const char *values, int64_t step, int64_t first, int64_t rows, int64_t end,
                         bool far) {
    int64_t row_bytes = a->columns * a->width, most = step == row_bytes ? LAZY_LANES : 1;
    if (a->sink->choice) {
        a->sink->choice->columns(a->lanes, a->index, values, step, a->columns, rows, (int32_t)first);
        return;
    }
    for (int64_t r = 0, n; r < rows; r += n) {
        int64_t lane = (first + r) % LAZY_LANES, left = end - first - r;
        n = left < LAZY_LEAF ? left : LAZY_LEAF;
        if ((first + r) % LAZY_LEAF == 0 && n <= rows - r) {
            feed_leaf(a, values + r * step, step, n, far);
            continue;
        }
        char *lanes = a->lanes + lane * row_bytes;
        n = rows - r < LAZY_LANES - lane ? rows - r : LAZY_LANES - lane;
        n = n < most ? n : most;
        if (lane < a->used) {
            a->sink->fold->pairs(lanes, lanes, values + r * step, NULL, n * a->columns);
        } else {
            memcpy(lanes, values + r * step, (size_t)(n * row_bytes));
            a->used += n;
        }
        if ((first + r + n) % LAZY_LEAF == 0 || first + r + n == end)
            leaf_end(a);
    }
}

static void fold_columns(const vm_run_state *f, int sink, const char *values, int64_t step) {
    const vm_program *p = f->program;
    accumulator *acc = p->carried ? accumulator_of(f, sink) : accumulator_begin(f, sink);
    feed_columns(acc, values, step, f->start[0] / acc->columns, f->n[0] / acc->columns, p->reduced, p->far);
    if (!p->carried)
        accumulator_end(acc);
}

void vm_fold(vm_run_state *f, const vm_ins *ins) {
    const vm_program *p = f->program;
    const char *a = f->at[ins->arg[0]], *b = f->at[ins->arg[1]];
    if (ins->what == VM_FOLD_LOAD) {
        const vm_load *load = &p->loads[ins->arg[0]];
        int64_t columns = f->n[1], step = load->map.walk[0] * load->width;
        a = (const char *)f->bufs[load->slot] + f->base[ins->arg[0]] * load->width + f->start[0] / columns * step;
        fold_columns(f, ins->out, a, step);
    } else if (ins->what == VM_FOLD_LEAVES) {
        const int64_t count = loop_leaves(f->n[0]);
        feed_leaves(accumulator_of(f, ins->out), f->scratch + p->sinks[ins->out].leaves, count);
    } else if (whole_rows(p)) {
        fold_rows(f, &p->sinks[ins->out], a, b, f->n[1]);
    } else if (p->form == VM_NEST_COLUMNS) {
        fold_columns(f, ins->out, a, f->n[1] * p->sinks[ins->out].value_width);
    } else {
        feed_row(accumulator_of(f, ins->out), a, b, f->start[0], f->n[0], p->folds_ask);
    }
}

/* ---- Carried rows ------------------------------------------------------------------------------------------------ */
/* The place of a sink's partial result: the value, and an ARG's index behind it. */
static char *partial_at(const reduction *work, int k, int64_t cell, int64_t block) {
    return work->partial[k] + (cell * work->blocks + block) * columns_of(work->p) * 2 * WORD;
}

static void keep_partial(const reduction *work, const accumulator *a, int k, int64_t cell, int64_t block) {
    char *to = partial_at(work, k, cell, block);
    memcpy(to, a->sink->choice ? a->lanes : a->stack, (size_t)(a->columns * a->width));
    if (a->sink->choice)
        memcpy(to + a->columns * WORD, a->index, (size_t)a->columns * sizeof *a->index);
}

static bool is_reduce(const vm_program *p, int k) {
    return p->sinks[k].kind == LAZY_SINK_REDUCE;
}

/* Leaves block·b … of a cell. */
static void reduce_block(const reduction *work, vm_run_state *f, int64_t cell, int64_t block) {
    const vm_program *p = work->p;
    if (f->cell != cell)
        vm_run_move_cell(f, cell);
    int64_t columns = f->n[1], rows = p->chunk / columns_of(p);
    int64_t first = block * work->block * LAZY_LEAF, end = first + work->block * LAZY_LEAF;
    if (end > p->reduced)
        end = p->reduced;
    for (int k = 0; k < p->nsinks; k++)
        if (is_reduce(p, k))
            accumulator_begin(f, k);
    for (int64_t row = first; row < end; row += rows)
        vm_run_chunk(f, row * columns, (end - row < rows ? end - row : rows) * columns);
    for (int k = 0; k < p->nsinks; k++)
        if (is_reduce(p, k)) {
            accumulator_end(accumulator_of(f, k));
            if (work->blocks > 1)
                keep_partial(work, accumulator_of(f, k), k, cell, block);
        }
    if (work->blocks == 1)
        vm_run_rows(f);
}

static void join_sink(const reduction *work, const vm_run_state *f, int k, int64_t cell) {
    accumulator *a = accumulator_begin(f, k);
    for (int64_t b = 0; b < work->blocks; b++) {
        const char *from = partial_at(work, k, cell, b);
        const int32_t *index = (const int32_t *)(from + a->columns * WORD);
        if (!a->sink->choice)
            push(a, from, 1);
        else
            for (int64_t i = 0; i < a->columns; i++)
                a->sink->choice->first(a->lanes + i * a->width, a->index + i, from + i * a->width, 1, index[i]);
    }
    accumulator_end(a);
}

/* Combines the blocks of a cell. */
static void join_blocks(const reduction *work, vm_run_state *f, int64_t cell) {
    vm_run_move_cell(f, cell);
    for (int k = 0; k < work->p->nsinks; k++)
        if (is_reduce(work->p, k))
            join_sink(work, f, k, cell);
    vm_run_rows(f);
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */
static void reduce_task(void *arg, int64_t task, const neap_run *run) {
    reduction *work = arg;
    int64_t items = work->p->cells * work->blocks;
    vm_run_state frame;
    (void)run;
    int status = vm_run_begin(&frame, work->p, work->bufs, work->scalars);
    if (status) {
        work->status = status;
        return;
    }
    for (int64_t i = items * task / work->tasks; i < items * (task + 1) / work->tasks; i++)
        reduce_block(work, &frame, i / work->blocks, i % work->blocks);
    if (work->p->stream)
        atomic_thread_fence(memory_order_seq_cst); /* as in run_chunks */
}

/* Cuts cells into blocks of leaves when there are fewer cells than tasks. */
static void cut_blocks(reduction *work) {
    int64_t wanted = work->tasks / work->p->cells;
    work->block = work->leaves;
    work->blocks = 1;
    if (wanted < 2 || work->leaves < 2 * BLOCK_MIN)
        return;
    work->block = BLOCK_MIN;
    while (work->block * wanted < work->leaves)
        work->block *= 2;
    work->blocks = (work->leaves + work->block - 1) / work->block;
}

static int partials_new(reduction *work) {
    size_t sinks = (size_t)work->p->nsinks;
    size_t bytes = (size_t)(work->p->cells * work->blocks * columns_of(work->p)) * 2 * WORD;
    work->partial = malloc(sinks * (sizeof *work->partial + bytes));
    if (!work->partial)
        return neap_error(NEAP_E_MEMORY, "out of memory for partial results");
    for (size_t k = 0; k < sinks; k++)
        work->partial[k] = (char *)(work->partial + sinks) + k * bytes;
    return NEAP_OK;
}

int vm_reduce(const vm_program *p, void *const *bufs, const lazy_scalar *scalars, const neap_run *run) {
    reduction work = {.p = p, .bufs = bufs, .scalars = scalars, .leaves = leaves_of(p)};
    work.tasks = vm_tasks(p, run, p->size);
    cut_blocks(&work);
    if (work.tasks > p->cells * work.blocks)
        work.tasks = p->cells * work.blocks;
    int status = work.blocks > 1 ? partials_new(&work) : NEAP_OK;
    if (status)
        return status;
    if (work.tasks > 1)
        neap_parallel_for(run, work.tasks, reduce_task, &work);
    else
        reduce_task(&work, 0, run);
    if (work.status)
        status = neap_error(work.status, "out of memory for a kernel's scratch");
    if (!status && work.blocks > 1) {
        vm_run_state frame;
        status = vm_run_begin(&frame, p, bufs, scalars);
        for (int64_t cell = 0; !status && cell < p->cells; cell++)
            join_blocks(&work, &frame, cell);
    }
    free(work.partial);
    return status;
}
