/* vm_reduce.c: reductions over the fixed tree of kernel.h.
 *
 * One accumulator serves all forms: `width` columns side by side, 1 for ROWS and BATCH. Leaves come in order and are
 * pushed on a stack of partial results like the carries of a binary counter: after leaf number n, as many pairs are
 * combined as n has trailing zero bits. What is left at the end is combined from the top. That is the tree: a split at
 * the largest power of two leaves full blocks on the left.
 *
 *      leaves   0 1 2 3 4 5 6        stack after 7: [0..3] [4..5] [6]   result: [0..3] ∘ ([4..5] ∘ [6])
 *
 * Work is cut into units (a cell, or a chunk of rows) and, when there are few of them, into blocks of leaves: aligned
 * blocks of a power of two leaves are whole subtrees, so their results, combined by the same counter, give the same
 * bits for every size of blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "lazy/vm.h"

/* Leaves of the smallest block that is worth a task. */
enum { BLOCK_MIN = 16 };

typedef struct reduction {
    const vm_program *p;
    void *const *bufs;
    const lazy_scalar *scalars;
    int64_t leaves, block, blocks; /* of a unit; leaves of a block; blocks of a unit */
    int64_t units, tasks;
    char **partial; /* of each sink, [unit][block] accumulators; NULL with one block */
    _Atomic int status;
} reduction;

/* Bytes of one element of the accumulators: an ARG's value (its dtype may be wider than the result) or a number. */
enum { WORD = 8 };

static int64_t leaves_of(const vm_program *p) {
    return (p->reduced + LAZY_LEAF - 1) / LAZY_LEAF;
}

static int64_t columns_of(const vm_program *p) {
    return p->form == VM_FORM_COLUMNS ? p->columns : 1;
}

/* Depth of the stack: as many as the count of leaves has bits, and one to push on. */
static int64_t depth_of(int64_t leaves) {
    int64_t depth = 2;
    for (; leaves > 0; leaves >>= 1)
        depth++;
    return depth;
}

/* ---- Accumulators -------------------------------------------------------------------------------------------------
 * In the room of a sink:  [accumulator] [lanes: 16 × columns, of the running leaf (COLUMNS)] [stack: depth × columns]
 * of an ARG:              [accumulator] [best: columns] [index: columns, as int32_t]
 * and for BATCH:          [results of the rows of a chunk]
 */
typedef struct accumulator {
    const vm_sink *sink;
    char *lanes, *stack;
    int32_t *index;
    int64_t columns, width; /* columns; bytes of an element */
    int64_t depth;
    uint64_t count; /* leaves pushed */
} accumulator;

enum { HEAD = (sizeof(accumulator) + 63) / 64 * 64 };

size_t vm_reduce_room(const vm_program *p, const vm_sink *sink) {
    int64_t columns = columns_of(p);
    if (p->form == VM_FORM_BATCH)
        return (size_t)(p->batch_rows * WORD);
    if (sink->choice)
        return (size_t)(HEAD + columns * 2 * WORD);
    return (size_t)(HEAD + (LAZY_LANES + depth_of(leaves_of(p))) * columns * WORD);
}

static void lanes_clear(accumulator *a) {
    vm_fill((int)a->width, a->lanes, &a->sink->fold->identity, LAZY_LANES * a->columns);
}

/* A fresh accumulator of sink k for so many columns. */
static accumulator *accumulator_begin(const vm_frame *f, int k, int64_t columns) {
    const vm_sink *sink = &f->program->sinks[k];
    char *room = f->scratch + sink->room;
    accumulator *a = (accumulator *)room;
    *a = (accumulator){.sink = sink, .columns = columns, .width = sink->value_width};
    a->lanes = room + HEAD;
    a->stack = a->lanes + LAZY_LANES * columns_of(f->program) * WORD;
    a->index = (int32_t *)(a->lanes + columns_of(f->program) * WORD);
    if (sink->choice)
        for (int64_t i = 0; i < columns; i++)
            a->index[i] = -1;
    else if (f->program->form == VM_FORM_COLUMNS)
        lanes_clear(a);
    return a;
}

static accumulator *accumulator_of(const vm_frame *f, int k) {
    return (accumulator *)(f->scratch + f->program->sinks[k].room);
}

static char *stack_at(const accumulator *a, int64_t level) {
    return a->stack + level * a->columns * a->width;
}

static void combine_top(accumulator *a) {
    char *left = stack_at(a, a->depth - 2);
    a->sink->fold->pairs(left, left, stack_at(a, a->depth - 1), NULL, a->columns);
    a->depth--;
}

/* Counts the leaf (or block) that stands on top of the stack. */
static void carry(accumulator *a) {
    a->count++;
    for (uint64_t n = a->count; (n & 1) == 0; n >>= 1)
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

static void push(accumulator *a, const void *leaf) {
    copy_elements(stack_at(a, a->depth++), leaf, a->columns * a->width);
    carry(a);
}

static void accumulator_end(accumulator *a) {
    while (!a->sink->choice && a->depth > 1)
        combine_top(a);
}

static const char *value_of(const accumulator *a) {
    return a->sink->choice ? (const char *)a->index : a->stack;
}

/* ---- Feeding ----------------------------------------------------------------------------------------------------- */
/* Results of the leaves of n elements from `start` of the values of a chunk. */
static void leaves(const vm_frame *f, const vm_sink *sink, void *out, const char *values, int64_t start, int64_t n) {
    const char *a = sink->summed ? f->at[sink->operand[0]] : values,
               *b = sink->summed ? f->at[sink->operand[1]] : values;
    lazy_leaves loop = sink->summed ? sink->summed : sink->fold->leaves;
    int64_t whole = n / LAZY_LEAF, at = start * sink->value_width, skip = whole * LAZY_LEAF * sink->value_width;
    if (whole > 0)
        loop(out, a + at, b + at, whole, LAZY_LEAF);
    if (n % LAZY_LEAF != 0)
        loop((char *)out + whole * sink->value_width, a + at + skip, b + at + skip, 1, n % LAZY_LEAF);
}

/* Elements first … of one row, a whole number of leaves or the end of the row. */
static void feed_row(const vm_frame *f, accumulator *a, const char *values, int64_t first, int64_t n) {
    if (a->sink->choice) {
        a->sink->choice->first(a->lanes, a->index, values, n, (int32_t)first);
        return;
    }
    double results[VM_CHUNK / LAZY_LEAF];
    leaves(f, a->sink, results, values, 0, n);
    for (int64_t k = 0; k * LAZY_LEAF < n; k++)
        push(a, (const char *)results + k * a->width);
}

static void leaf_end(accumulator *a) {
    for (int64_t half = LAZY_LANES / 2; half > 0; half /= 2)
        a->sink->fold->pairs(a->lanes, a->lanes, a->lanes + half * a->columns * a->width, NULL, half * a->columns);
    push(a, a->lanes);
    lanes_clear(a);
}

/* Rows first … of the columns of a block, which lie row after row; a leaf ends after each 256 rows and at `end`. */
static void feed_columns(accumulator *a, const char *values, int64_t first, int64_t rows, int64_t end) {
    int64_t row_bytes = a->columns * a->width;
    if (a->sink->choice) {
        for (int64_t r = 0; r < rows; r++, values += row_bytes)
            a->sink->choice->columns(a->lanes, a->index, values, a->columns, (int32_t)(first + r));
        return;
    }
    for (int64_t r = 0, n; r < rows; r += n) {
        int64_t lane = (first + r) % LAZY_LANES;
        char *lanes = a->lanes + lane * row_bytes;
        n = rows - r < LAZY_LANES - lane ? rows - r : LAZY_LANES - lane;
        a->sink->fold->pairs(lanes, lanes, values + r * row_bytes, NULL, n * a->columns);
    }
    if ((first + rows) % LAZY_LEAF == 0 || first + rows == end)
        leaf_end(a);
}

/* ---- Units ------------------------------------------------------------------------------------------------------- */
/* Where the sink's values of a chunk are; splats are repeated. */
static const char *values_of(vm_frame *f, const vm_sink *sink, int64_t n) {
    if (!sink->splat)
        return f->at[sink->value];
    vm_fill(sink->value_width, f->scratch + sink->splat_at, f->at[sink->value], n);
    return f->scratch + sink->splat_at;
}

/* Columns of the frame's cell. */
static int64_t cell_columns(const vm_frame *f) {
    return f->program->form == VM_FORM_COLUMNS ? f->walk[f->program->nwalk - 1] : 1;
}

static void write_result(const vm_frame *f, int k, const void *values, int64_t columns) {
    const vm_program *p = f->program;
    const vm_sink *sink = &p->sinks[k];
    char *to = (char *)f->bufs[sink->slot] + f->base[p->nloads + k] * sink->width;
    if (p->form == VM_FORM_COLUMNS)
        vm_scatter(sink->width, to, values, 1, &columns, &sink->map.walk[p->nwalk - 1], 0, columns);
    else
        copy_elements(to, values, sink->width);
}

/* The place of a sink's partial result: the value, and an ARG's index behind it. */
static char *partial_at(const reduction *job, int k, int64_t unit, int64_t block) {
    return job->partial[k] + (unit * job->blocks + block) * columns_of(job->p) * 2 * WORD;
}

static void keep_partial(const reduction *job, const accumulator *a, int k, int64_t unit, int64_t block) {
    char *to = partial_at(job, k, unit, block);
    memcpy(to, a->sink->choice ? a->lanes : a->stack, (size_t)(a->columns * a->width));
    if (a->sink->choice)
        memcpy(to + a->columns * WORD, a->index, (size_t)a->columns * sizeof *a->index);
}

/* Leaves block·b … of cell `unit`. */
static void reduce_cell(const reduction *job, vm_frame *f, int64_t unit, int64_t block) {
    const vm_program *p = job->p;
    if (f->cell != unit)
        vm_frame_move(f, unit);
    int64_t columns = cell_columns(f), rows = p->chunk / columns_of(p);
    int64_t first = block * job->block * LAZY_LEAF, end = first + job->block * LAZY_LEAF;
    if (end > p->reduced)
        end = p->reduced;
    for (int k = 0; k < p->nsinks; k++)
        accumulator_begin(f, k, columns);
    for (int64_t row = first; row < end; row += rows) {
        int64_t n = end - row < rows ? end - row : rows;
        vm_frame_chunk(f, row * columns, n * columns);
        for (int k = 0; k < p->nsinks; k++) {
            const char *values = values_of(f, &p->sinks[k], n * columns);
            if (p->form == VM_FORM_COLUMNS)
                feed_columns(accumulator_of(f, k), values, row, n, p->reduced);
            else
                feed_row(f, accumulator_of(f, k), values, row, n);
        }
    }
    for (int k = 0; k < p->nsinks; k++) {
        accumulator *a = accumulator_of(f, k);
        accumulator_end(a);
        if (job->blocks > 1)
            keep_partial(job, a, k, unit, block);
        else
            write_result(f, k, value_of(a), columns);
    }
}

/* The results of `rows` rows of one chunk, packed. Rows of up to four leaves; longer ones have cells of their own. */
static void rows_of_batch(const vm_frame *f, const vm_sink *sink, const char *values, int64_t rows, char *results) {
    int64_t length = f->program->reduced, width = sink->width, count = (length + LAZY_LEAF - 1) / LAZY_LEAF;
    if (sink->choice)
        for (int64_t row = 0; row < rows; row++) {
            double best;
            int32_t *index = (int32_t *)results + row;
            *index = -1;
            sink->choice->first(&best, index, values + row * length * sink->value_width, length, 0);
        }
    else if (count == 1 && sink->summed)
        sink->summed(results, f->at[sink->operand[0]], f->at[sink->operand[1]], rows, length);
    else if (count == 1)
        sink->fold->leaves(results, values, values, rows, length);
    else
        for (int64_t row = 0; row < rows; row++) {
            double leaf[VM_CHUNK / LAZY_LEAF];
            char *at = (char *)leaf;
            leaves(f, sink, leaf, values, row * length, length);
            sink->fold->pairs(at, at, at + width, NULL, 1);
            if (count == 4)
                sink->fold->pairs(at + 2 * width, at + 2 * width, at + 3 * width, NULL, 1);
            if (count > 2)
                sink->fold->pairs(at, at, at + 2 * width, NULL, 1);
            copy_elements(results + row * width, at, width);
        }
}

static void reduce_batch(vm_frame *f, int64_t unit) {
    const vm_program *p = f->program;
    int64_t start = unit * p->chunk, n = p->walk_size - start < p->chunk ? p->walk_size - start : p->chunk;
    vm_frame_chunk(f, start, n);
    for (int k = 0; k < p->nsinks; k++) {
        const vm_sink *sink = &p->sinks[k];
        char *results = f->scratch + sink->room, *to = (char *)f->bufs[sink->slot] + sink->map.offset * sink->width;
        rows_of_batch(f, sink, values_of(f, sink, n), n / p->reduced, results);
        vm_scatter(sink->width, to, results, p->axes.kept, p->axes.shape, sink->map.axis, start / p->reduced,
                   n / p->reduced);
    }
}

/* Combines the blocks of a unit. */
static void join_blocks(const reduction *job, vm_frame *f, int64_t unit) {
    const vm_program *p = job->p;
    vm_frame_move(f, unit);
    int64_t columns = cell_columns(f);
    for (int k = 0; k < p->nsinks; k++) {
        accumulator *a = accumulator_begin(f, k, columns);
        for (int64_t b = 0; b < job->blocks; b++) {
            const char *from = partial_at(job, k, unit, b);
            const int32_t *index = (const int32_t *)(from + columns * WORD);
            if (!a->sink->choice)
                push(a, from);
            else
                for (int64_t i = 0; i < columns; i++)
                    a->sink->choice->first(a->lanes + i * a->width, a->index + i, from + i * a->width, 1, index[i]);
        }
        accumulator_end(a);
        write_result(f, k, value_of(a), columns);
    }
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */
static void reduce_task(void *arg, int64_t task, const neap_run *run) {
    reduction *job = arg;
    const vm_program *p = job->p;
    int64_t items = job->units * job->blocks;
    vm_frame frame;
    (void)run;
    int status = vm_frame_begin(&frame, p, job->bufs, job->scalars);
    if (status) {
        job->status = status;
        return;
    }
    for (int64_t i = items * task / job->tasks; i < items * (task + 1) / job->tasks; i++)
        if (p->form == VM_FORM_BATCH)
            reduce_batch(&frame, i);
        else
            reduce_cell(job, &frame, i / job->blocks, i % job->blocks);
}

/* Cuts units into blocks of leaves when there are fewer units than tasks. */
static void cut_blocks(reduction *job) {
    int64_t wanted = job->tasks / job->units;
    job->block = job->leaves;
    job->blocks = 1;
    if (job->p->form == VM_FORM_BATCH || wanted < 2 || job->leaves < 2 * BLOCK_MIN)
        return;
    job->block = BLOCK_MIN;
    while (job->block * wanted < job->leaves)
        job->block *= 2;
    job->blocks = (job->leaves + job->block - 1) / job->block;
}

static int partials_new(reduction *job) {
    size_t sinks = (size_t)job->p->nsinks;
    size_t bytes = (size_t)(job->units * job->blocks * columns_of(job->p)) * 2 * WORD;
    job->partial = malloc(sinks * (sizeof *job->partial + bytes));
    if (!job->partial)
        return neap_error(NEAP_E_MEMORY, "out of memory for partial results");
    for (size_t k = 0; k < sinks; k++)
        job->partial[k] = (char *)(job->partial + sinks) + k * bytes;
    return NEAP_OK;
}

int vm_reduce(const vm_program *p, void *const *bufs, const lazy_scalar *scalars, const neap_run *run) {
    reduction job = {.p = p, .bufs = bufs, .scalars = scalars, .leaves = leaves_of(p)};
    job.units = p->form == VM_FORM_BATCH ? (p->walk_size + p->chunk - 1) / p->chunk : p->cells;
    job.tasks = vm_tasks(p, run, p->size);
    cut_blocks(&job);
    if (job.tasks > job.units * job.blocks)
        job.tasks = job.units * job.blocks;
    int status = job.blocks > 1 ? partials_new(&job) : NEAP_OK;
    if (status)
        return status;
    if (job.tasks > 1)
        neap_parallel_for(run, job.tasks, reduce_task, &job);
    else
        reduce_task(&job, 0, run);
    if (job.status)
        status = neap_error(job.status, "out of memory for a kernel's scratch");
    if (!status && job.blocks > 1) {
        vm_frame frame;
        status = vm_frame_begin(&frame, p, bufs, scalars);
        for (int64_t unit = 0; !status && unit < job.units; unit++)
            join_blocks(&job, &frame, unit);
    }
    free(job.partial);
    return status;
}
