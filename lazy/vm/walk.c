/* vm/walk.c: moving elements between boxes, strided or packed. A walk is cut into rectangles, each of which is moved by
 * a loop that fits its strides (simd/moves.c). */
#include <string.h>

#include "lazy/dtype/half.h"
#include "lazy/vm/vm.h"

typedef struct box_walk { /* over a box that lies in two ways */
    int naxes;
    const int64_t *shape, *stride[2];
    int64_t index[LAZY_MAX_DOMAIN];
    int64_t offset[2], left;
} box_walk;

typedef struct run { /* rows × length elements, as they lie in the first way and in the second */
    int64_t rows, length;
    int64_t offset[2], row_stride[2], stride[2];
} run;

enum { FROM, TO };

#define NO_DTYPE_HAS_OTHER_WIDTHS(NAME, name, kind, ctype, bits, ...)                                                  \
    _Static_assert((bits) == 8 || (bits) == 16 || (bits) == 32 || (bits) == 64 || (bits) == 128,                       \
                   #name ": no moves of its width");
NEAP_DTYPE_ROWS(NO_DTYPE_HAS_OTHER_WIDTHS)

static int width_class(int width) {
    return __builtin_ctz((unsigned)width);
}

static void begin_box_walk(box_walk *w, int naxes, const int64_t *shape, const int64_t *from, const int64_t *to,
                           int64_t start, int64_t n) {
    *w = (box_walk){.naxes = naxes, .shape = shape, .stride = {from, to}, .left = n};
    for (int k = naxes - 1; k >= 0; k--) {
        w->index[k] = k > 0 ? start % shape[k] : start;
        start /= shape[k];
        for (int way = 0; way < 2; way++)
            w->offset[way] += w->index[k] * w->stride[way][k];
    }
}

/* The next run, or false at the end. */
static bool walk_next(box_walk *w, run *r) {
    if (w->left <= 0)
        return false;
    int q = w->naxes - 1;
    int64_t length = w->shape[q] - w->index[q], rows = 1;
    if (length > w->left)
        length = w->left;
    if (q > 0 && length == w->shape[q]) {
        rows = w->left / length;
        if (rows > w->shape[q - 1] - w->index[q - 1])
            rows = w->shape[q - 1] - w->index[q - 1];
    }
    r->rows = rows, r->length = length;
    w->left -= rows * length;
    const bool ends = q > 0 && w->index[q] + length == w->shape[q];
    for (int way = 0; way < 2; way++) {
        const int64_t *stride = w->stride[way];
        r->offset[way] = w->offset[way], r->stride[way] = stride[q], r->row_stride[way] = q > 0 ? stride[q - 1] : 0;
        w->offset[way] += length * stride[q] + (ends ? (rows - 1) * stride[q - 1] : 0);
    }
    w->index[q] += length;
    if (!ends)
        return true;
    w->index[q - 1] += rows - 1;
    for (int k = q; k > 0 && w->index[k] == w->shape[k]; k--) {
        for (int way = 0; way < 2; way++)
            w->offset[way] += w->stride[way][k - 1] - w->index[k] * w->stride[way][k];
        w->index[k] = 0;
        w->index[k - 1]++;
    }
    return true;
}

/* The strides of a box that is packed, row-major. */
static void packed_strides(int naxes, const int64_t *shape, int64_t *stride) {
    int64_t step = 1;
    for (int k = naxes - 1; k >= 0; k--) {
        stride[k] = step;
        step *= shape[k];
    }
}

void vm_fill(const lazy_moves *moves, int width, void *dst, const void *element, int64_t n) {
    moves->fill[width_class(width)](dst, element, n);
}

void vm_repeat(const lazy_moves *moves, int width, void *dst, const void *src, int64_t rows, int64_t length) {
    moves->repeat[width_class(width)](dst, src, 1, rows, length);
}

static void move_walk(const lazy_moves *moves, int width, char *dst, const char *src, box_walk *w) {
    for (run r; walk_next(w, &r);) {
        const lazy_rectangle part = {.rows = r.rows,
                                     .length = r.length,
                                     .to_row = r.row_stride[TO],
                                     .to = r.stride[TO],
                                     .from_row = r.row_stride[FROM],
                                     .from = r.stride[FROM]};
        moves->move[width_class(width)](dst + r.offset[TO] * width, src + r.offset[FROM] * width, &part);
    }
}

void vm_move(const lazy_moves *moves, int width, void *dst, const int64_t *to, const void *src, const int64_t *from,
             int naxes, const int64_t *shape, int64_t start, int64_t n) {
    box_walk w;
    begin_box_walk(&w, naxes, shape, from, to, start, n);
    move_walk(moves, width, dst, src, &w);
}

void vm_gather(const lazy_moves *moves, int width, void *dst, const void *src, int naxes, const int64_t *shape,
               const int64_t *stride, int64_t start, int64_t n) {
    int64_t packed[LAZY_MAX_DOMAIN];
    box_walk w;
    packed_strides(naxes, shape, packed);
    begin_box_walk(&w, naxes, shape, stride, packed, start, n);
    w.offset[TO] -= start;
    move_walk(moves, width, dst, src, &w);
}

void vm_scatter(const lazy_moves *moves, int width, void *dst, const void *src, int naxes, const int64_t *shape,
                const int64_t *stride, int64_t start, int64_t n) {
    int64_t packed[LAZY_MAX_DOMAIN];
    box_walk w;
    packed_strides(naxes, shape, packed);
    begin_box_walk(&w, naxes, shape, packed, stride, start, n);
    w.offset[FROM] -= start;
    move_walk(moves, width, dst, src, &w);
}

/* Of every dtype, though an iota is of a numeric one. */
#define IOTA_AT(i, j) first + r.offset[FROM] + (i)*r.row_stride[FROM] + (j)*r.stride[FROM]
#define IOTA(NAME, name, kind, T, ...)                                                                                 \
    case NEAP_DTYPE_##NAME:                                                                                            \
        for (int64_t i = 0; i < r.rows; i++)                                                                           \
            for (int64_t j = 0; j < r.length; j++)                                                                     \
                ((T *)to)[i * r.length + j] = (T)(IOTA_AT(i, j));                                                      \
        break;
#define IOTA_HALF(NAME, name, kind, T, ...)                                                                            \
    case NEAP_DTYPE_##NAME:                                                                                            \
        for (int64_t i = 0; i < r.rows; i++)                                                                           \
            for (int64_t j = 0; j < r.length; j++)                                                                     \
                ((T *)to)[i * r.length + j] = half_of_f32_##name(half_odd_i64(IOTA_AT(i, j)));                         \
        break;

void vm_iota(int dtype, void *dst, int64_t first, int naxes, const int64_t *shape, const int64_t *stride, int64_t start,
             int64_t n) {
    box_walk w;
    run r;
    int width = neap_dtype_bytes(dtype);
    begin_box_walk(&w, naxes, shape, stride, stride, start, n);
    for (char *to = dst; walk_next(&w, &r); to += r.rows * r.length * width) {
        switch (dtype) { NEAP_DTYPE_PLAIN_ROWS(IOTA) NEAP_DTYPE_HALF_ROWS(IOTA_HALF) }
    }
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */
enum { DISTANCES = 256 }; /* that are found at once */

int64_t vm_take_distance(const lazy_moves *moves, const vm_table *table, const void *index) {
    int64_t distance;
    moves->distances[table->dtype](&distance, index, 1, 1, table->extent, table->step);
    return distance;
}

static const char *index_at(const vm_table *table, const void *index, int64_t at) {
    return (const char *)index + at * neap_dtype_bytes(table->dtype);
}

/* A run whose elements have an index each, the first with number `at`. The indices may lie under `to`. */
static void take_each(const lazy_moves *moves, const vm_table *table, char *to, const char *from, const void *index,
                      int64_t at, const run *r) {
    int64_t width = table->width;
    for (int64_t row = 0; row < r->rows; row++, at += r->length, to += r->length * width)
        moves->take[table->dtype][width_class(table->width)](to, from + row * r->row_stride[FROM] * width,
                                                             index_at(table, index, at), r->length, table->extent,
                                                             table->step, r->stride[FROM]);
}

/* A run whose rows have an index each, which stands `every` further for the next row. */
static void take_rows(const lazy_moves *moves, const vm_table *table, char *to, const char *from, const void *index,
                      int64_t every, const run *r) {
    int64_t distance[DISTANCES], width = table->width, row_bytes = r->length * width;
    int64_t index_bytes = every * neap_dtype_bytes(table->dtype);
    const lazy_rectangle row = {.rows = 1, .length = r->length, .to = 1, .from = r->stride[FROM]};
    for (int64_t k = 0, n; k < r->rows; k += n, to += n * row_bytes, from += n * r->row_stride[FROM] * width) {
        n = r->rows - k < DISTANCES ? r->rows - k : DISTANCES;
        moves->distances[table->dtype](distance, (const char *)index + k * index_bytes, every, n, table->extent,
                                       table->step * width);
        if (r->stride[FROM] == 1)
            moves->take_rows(to, from, distance, n, r->row_stride[FROM] * width, row_bytes);
        else
            for (int64_t i = 0; i < n; i++)
                moves->move[width_class(table->width)](to + i * row_bytes,
                                                       from + distance[i] + i * r->row_stride[FROM] * width, &row);
    }
}

void vm_take(const lazy_moves *moves, const vm_table *table, void *dst, const void *src, const void *index, int naxes,
             const int64_t *shape, const int64_t *stride, int64_t start, int64_t n) {
    int width = table->width;
    if (table->index == VM_INDEX_ONE) {
        const char *from = (const char *)src + vm_take_distance(moves, table, index) * width;
        vm_gather(moves, width, dst, from, naxes, shape, stride, start, n);
        return;
    }
    box_walk w;
    run r;
    begin_box_walk(&w, naxes, shape, stride, stride, start, n);
    for (int64_t at = 0; walk_next(&w, &r); at += r.rows * r.length) {
        char *to = (char *)dst + at * width;
        const char *from = (const char *)src + r.offset[FROM] * width;
        if (table->index == VM_INDEX_EACH)
            take_each(moves, table, to, from, index, at, &r);
        else if (r.length % table->run == 0)
            take_rows(moves, table, to, from, index_at(table, index, at / table->run), r.length / table->run, &r);
        else /* several rows of a run, or part of one: one index for each row */
            for (int64_t row = 0; row < r.rows; row++) {
                const int64_t first = at + row * r.length;
                run one = r;
                one.rows = 1;
                take_rows(moves, table, (char *)dst + first * width, from + row * r.row_stride[FROM] * width,
                          index_at(table, index, first / table->run), 0, &one);
            }
    }
}

/* ---- Memory as it is --------------------------------------------------------------------------------------------- */
/* The C library copies long pieces past the caches, where what was copied is soon missed. */
enum { PIECE = 1 << 14 };

typedef struct copy_work {
    char *to;
    const char *from;
    int64_t bytes, tasks;
} copy_work;

static void copy_task(void *arg, int64_t task, const neap_run *run) {
    const copy_work *work = arg;
    int64_t pieces = (work->bytes + PIECE - 1) / PIECE, end = pieces * (task + 1) / work->tasks * PIECE;
    (void)run;
    end = end < work->bytes ? end : work->bytes;
    for (int64_t at = pieces * task / work->tasks * PIECE; at < end; at += PIECE)
        memcpy(work->to + at, work->from + at, (size_t)(end - at < PIECE ? end - at : PIECE));
}

void vm_copy(void *to, const void *from, int64_t bytes, const neap_run *run) {
    if (bytes <= PIECE) {
        memcpy(to, from, (size_t)bytes);
        return;
    }
    copy_work work = {.to = to, .from = from, .bytes = bytes, .tasks = 1};
    int64_t ns = (int64_t)(2 * LAZY_BYTE_COST * (double)bytes);
    if (ns >= vm_limit.parallel_min && run && neap_engine_workers() > 1)
        work.tasks = ns / vm_limit.task_min + 1;
    if (work.tasks > 1 && work.tasks > neap_engine_workers())
        work.tasks = neap_engine_workers();
    if (work.tasks > 1)
        neap_parallel_for(run, work.tasks, copy_task, &work);
    else
        copy_task(&work, 0, run);
}
