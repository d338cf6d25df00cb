/* vm/walk.c: moving elements between a strided box and packed memory. A walk is cut into two-dimensional runs, each of
 * which is copied by a loop that fits its strides. */
#include <string.h>

#include "lazy/vm/vm.h"

typedef struct box_walk {
    int naxes;
    const int64_t *shape, *stride;
    int64_t index[LAZY_MAX_DOMAIN];
    int64_t offset, left;
} box_walk;

typedef struct run { /* rows × length elements */
    int64_t offset, rows, row_stride, length, stride;
} run;

static void begin_box_walk(box_walk *w, int naxes, const int64_t *shape, const int64_t *stride, int64_t start,
                           int64_t n) {
    w->naxes = naxes, w->shape = shape, w->stride = stride, w->left = n, w->offset = 0;
    for (int k = naxes - 1; k >= 0; k--) {
        w->index[k] = k > 0 ? start % shape[k] : start;
        start /= shape[k];
        w->offset += w->index[k] * stride[k];
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
    *r = (run){w->offset, rows, q > 0 ? w->stride[q - 1] : 0, length, w->stride[q]};
    w->left -= rows * length;
    w->index[q] += length;
    w->offset += length * w->stride[q];
    if (q == 0 || w->index[q] < w->shape[q])
        return true;
    w->offset += (rows - 1) * w->stride[q - 1];
    w->index[q - 1] += rows - 1;
    for (int k = q; k > 0 && w->index[k] == w->shape[k]; k--) {
        w->offset += w->stride[k - 1] - w->index[k] * w->stride[k];
        w->index[k] = 0;
        w->index[k - 1]++;
    }
    return true;
}

static int64_t stride_magnitude(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

/* to[a * to_stride + b] = from[b * from_stride + a] for a < na, b < nb: square blocks are transposed in registers. */
#define TRANSPOSE(T, BITS, SIDE, BLOCK)                                                                                \
    static void transpose_##BITS(T *to, int64_t to_stride, const T *from, int64_t from_stride, int64_t na,             \
                                 int64_t nb) {                                                                         \
        int64_t a = 0;                                                                                                 \
        for (; a + SIDE <= na; a += SIDE) {                                                                            \
            int64_t b = 0;                                                                                             \
            for (; b + SIDE <= nb; b += SIDE)                                                                          \
                BLOCK(to + a * to_stride + b, to_stride, from + b * from_stride + a, from_stride);                     \
            for (; b < nb; b++)                                                                                        \
                for (int64_t k = a; k < a + SIDE; k++)                                                                 \
                    to[k * to_stride + b] = from[b * from_stride + k];                                                 \
        }                                                                                                              \
        for (; a < na; a++)                                                                                            \
            for (int64_t b = 0; b < nb; b++)                                                                           \
                to[a * to_stride + b] = from[b * from_stride + a];                                                     \
    }

typedef uint8_t sixteen __attribute__((vector_size(16)));
typedef uint16_t eight __attribute__((vector_size(16)));
typedef uint32_t four __attribute__((vector_size(16)));
typedef uint64_t two __attribute__((vector_size(16)));

static void block_8(uint8_t *to, int64_t to_stride, const uint8_t *from, int64_t from_stride) {
    (void)to_stride, (void)from_stride;
    *to = *from;
}

static void block_16(uint16_t *to, int64_t to_stride, const uint16_t *from, int64_t from_stride) {
    (void)to_stride, (void)from_stride;
    *to = *from;
}

static void block_32(uint32_t *to, int64_t to_stride, const uint32_t *from, int64_t from_stride) {
    four in[4], low[2], high[2];
    for (int k = 0; k < 4; k++)
        memcpy(&in[k], from + k * from_stride, sizeof in[k]);
    for (int k = 0; k < 2; k++) {
        low[k] = __builtin_shufflevector(in[k], in[k + 2], 0, 4, 1, 5);
        high[k] = __builtin_shufflevector(in[k], in[k + 2], 2, 6, 3, 7);
    }
    const four out[4] = {
        __builtin_shufflevector(low[0], low[1], 0, 4, 1, 5), __builtin_shufflevector(low[0], low[1], 2, 6, 3, 7),
        __builtin_shufflevector(high[0], high[1], 0, 4, 1, 5), __builtin_shufflevector(high[0], high[1], 2, 6, 3, 7)};
    for (int k = 0; k < 4; k++)
        memcpy(to + k * to_stride, &out[k], sizeof out[k]);
}

static void block_64(uint64_t *to, int64_t to_stride, const uint64_t *from, int64_t from_stride) {
    two a, b;
    memcpy(&a, from, sizeof a), memcpy(&b, from + from_stride, sizeof b);
    const two first = __builtin_shufflevector(a, b, 0, 2), second = __builtin_shufflevector(a, b, 1, 3);
    memcpy(to, &first, sizeof first), memcpy(to + to_stride, &second, sizeof second);
}

TRANSPOSE(uint8_t, 8, 1, block_8)
TRANSPOSE(uint16_t, 16, 1, block_16)
TRANSPOSE(uint32_t, 32, 4, block_32)
TRANSPOSE(uint64_t, 64, 2, block_64)

/* Copies of one width. The shorter stride makes the inner loop, so that whole lines of the box are used at once. Short
 * rows of one element are written as whole vectors as long as more follows, which covers what was too much. */
#define COPIES(T, BITS, V)                                                                                             \
    static void fill_##BITS(T *dst, T element, int64_t n) {                                                            \
        for (int64_t i = 0; i < n; i++)                                                                                \
            dst[i] = element;                                                                                          \
    }                                                                                                                  \
    static void broadcast_##BITS(T *dst, const T *src, int64_t stride, int64_t rows, int64_t length) {                 \
        const int64_t lanes = sizeof(V) / sizeof(T);                                                                   \
        T *end = dst + rows * length;                                                                                  \
        for (int64_t i = 0; i < rows; i++, dst += length) {                                                            \
            const V all = src[i * stride] - (V){0};                                                                    \
            if (dst + length + lanes > end)                                                                            \
                fill_##BITS(dst, src[i * stride], length);                                                             \
            else                                                                                                       \
                for (int64_t j = 0; j < length; j += lanes)                                                            \
                    memcpy(dst + j, &all, sizeof all);                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    /* One row again and again: what is there is copied behind itself. */                                              \
    static void repeat_##BITS(T *dst, const T *src, const run *r) {                                                    \
        int64_t done = r->length, total = r->rows * r->length;                                                         \
        memcpy(dst, src, (size_t)done * sizeof(T));                                                                    \
        for (; done < total; done *= 2)                                                                                \
            memcpy(dst + done, dst, (size_t)(done < total - done ? done : total - done) * sizeof(T));                  \
    }                                                                                                                  \
    static void gather_##BITS(T *dst, const T *src, const run *r) {                                                    \
        if (r->row_stride == 0 && r->stride == 1) {                                                                    \
            repeat_##BITS(dst, src, r);                                                                                \
            return;                                                                                                    \
        }                                                                                                              \
        if (r->stride == 0) {                                                                                          \
            broadcast_##BITS(dst, src, r->row_stride, r->rows, r->length);                                             \
            return;                                                                                                    \
        }                                                                                                              \
        if (r->row_stride == 1 && r->stride != 1) {                                                                    \
            transpose_##BITS(dst, r->length, src, r->stride, r->rows, r->length);                                      \
            return;                                                                                                    \
        }                                                                                                              \
        if (stride_magnitude(r->row_stride) < stride_magnitude(r->stride) && r->rows > 1) {                            \
            for (int64_t j = 0; j < r->length; j++)                                                                    \
                for (int64_t i = 0; i < r->rows; i++)                                                                  \
                    dst[i * r->length + j] = src[i * r->row_stride + j * r->stride];                                   \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t i = 0; i < r->rows; i++, dst += r->length, src += r->row_stride) {                                \
            if (r->stride == 1)                                                                                        \
                memcpy(dst, src, (size_t)r->length * sizeof(T));                                                       \
            else                                                                                                       \
                for (int64_t j = 0; j < r->length; j++)                                                                \
                    dst[j] = src[j * r->stride];                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void scatter_##BITS(T *dst, const T *src, const run *r) {                                                   \
        if (r->row_stride == 1 && r->stride != 1) {                                                                    \
            transpose_##BITS(dst, r->stride, src, r->length, r->length, r->rows);                                      \
            return;                                                                                                    \
        }                                                                                                              \
        if (stride_magnitude(r->row_stride) < stride_magnitude(r->stride) && r->rows > 1) {                            \
            for (int64_t j = 0; j < r->length; j++)                                                                    \
                for (int64_t i = 0; i < r->rows; i++)                                                                  \
                    dst[i * r->row_stride + j * r->stride] = src[i * r->length + j];                                   \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t i = 0; i < r->rows; i++, src += r->length, dst += r->row_stride) {                                \
            if (r->stride == 1)                                                                                        \
                memcpy(dst, src, (size_t)r->length * sizeof(T));                                                       \
            else                                                                                                       \
                for (int64_t j = 0; j < r->length; j++)                                                                \
                    dst[j * r->stride] = src[j];                                                                       \
        }                                                                                                              \
    }

COPIES(uint8_t, 8, sixteen)
COPIES(uint16_t, 16, eight)
COPIES(uint32_t, 32, four)
COPIES(uint64_t, 64, two)

/* X(bits, unsigned type) for each width of an element, which is a number of bytes. */
#define WIDTHS(X) X(8, uint8_t) X(16, uint16_t) X(32, uint32_t) X(64, uint64_t)
#define DTYPE_HAS_WIDTH(NAME, name, kind, ctype, bits, ...)                                                            \
    _Static_assert((bits) == 8 || (bits) == 16 || (bits) == 32 || (bits) == 64, #name ": no copies of its width");
NEAP_DTYPE_ROWS(DTYPE_HAS_WIDTH)

void vm_fill(int width, void *dst, const void *element, int64_t n) {
    switch (8 * width) {
#define FILL(BITS, T)                                                                                                  \
    case BITS:                                                                                                         \
        fill_##BITS(dst, *(const T *)element, n);                                                                      \
        break;
        WIDTHS(FILL)
#undef FILL
    }
}

void vm_repeat(int width, void *dst, const void *src, int64_t rows, int64_t length) {
    switch (8 * width) {
#define REPEAT(BITS, T)                                                                                                \
    case BITS:                                                                                                         \
        broadcast_##BITS(dst, src, 1, rows, length);                                                                   \
        break;
        WIDTHS(REPEAT)
#undef REPEAT
    }
}

static void gather_run(int width, void *dst, const void *src, const run *r) {
    switch (8 * width) {
#define GATHER(BITS, T)                                                                                                \
    case BITS:                                                                                                         \
        gather_##BITS(dst, src, r);                                                                                    \
        break;
        WIDTHS(GATHER)
#undef GATHER
    }
}

static void scatter_run(int width, void *dst, const void *src, const run *r) {
    switch (8 * width) {
#define SCATTER(BITS, T)                                                                                               \
    case BITS:                                                                                                         \
        scatter_##BITS(dst, src, r);                                                                                   \
        break;
        WIDTHS(SCATTER)
#undef SCATTER
    }
}

void vm_gather(int width, void *dst, const void *src, int naxes, const int64_t *shape, const int64_t *stride,
               int64_t start, int64_t n) {
    box_walk w;
    run r;
    begin_box_walk(&w, naxes, shape, stride, start, n);
    for (char *to = dst; walk_next(&w, &r); to += r.rows * r.length * width)
        gather_run(width, to, (const char *)src + r.offset * width, &r);
}

void vm_scatter(int width, void *dst, const void *src, int naxes, const int64_t *shape, const int64_t *stride,
                int64_t start, int64_t n) {
    box_walk w;
    run r;
    begin_box_walk(&w, naxes, shape, stride, start, n);
    for (const char *from = src; walk_next(&w, &r); from += r.rows * r.length * width)
        scatter_run(width, (char *)dst + r.offset * width, from, &r);
}

/* Of every dtype, though an iota is of a numeric one. */
#define IOTA(NAME, name, kind, T, ...)                                                                                 \
    case NEAP_DTYPE_##NAME:                                                                                            \
        for (int64_t i = 0; i < r.rows; i++)                                                                           \
            for (int64_t j = 0; j < r.length; j++)                                                                     \
                ((T *)to)[i * r.length + j] = (T)(first + r.offset + i * r.row_stride + j * r.stride);                 \
        break;

void vm_iota(int dtype, void *dst, int64_t first, int naxes, const int64_t *shape, const int64_t *stride, int64_t start,
             int64_t n) {
    box_walk w;
    run r;
    int width = neap_dtype_bytes(dtype);
    begin_box_walk(&w, naxes, shape, stride, start, n);
    for (char *to = dst; walk_next(&w, &r); to += r.rows * r.length * width) {
        switch (dtype) { NEAP_DTYPE_ROWS(IOTA) }
    }
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */
/* The distance that index k means. */
static inline int64_t distance(const vm_table *table, int64_t k) {
    int64_t most = table->extent - 1;
    k = k < 0 ? k + table->extent : k;
    return (k < 0 ? 0 : k > most ? most : k) * table->step;
}

static int64_t distance_at(const vm_table *table, const void *index, int64_t i) {
    switch (table->dtype) {
#define DISTANCE(NAME, name, kind, ctype, ...)                                                                         \
    case NEAP_DTYPE_##NAME:                                                                                            \
        return distance(table, dtype_index(kind, (uint64_t)((const ctype *)index)[i]));
        NEAP_DTYPE_INTEGER_ROWS(DISTANCE)
#undef DISTANCE
    }
    return 0;
}

int64_t vm_take_distance(const vm_table *table, const void *index) {
    return distance_at(table, index, 0);
}

/* n elements at `stride`, each with an index of its own, the first with number `at`. The indices may lie under dst. */
#define TAKE(NAME, name, kind, I, ...)                                                                                 \
    case NEAP_DTYPE_##NAME:                                                                                            \
        for (int64_t i = 0; i < n; i++)                                                                                \
            to[i] = from[distance(table, dtype_index(kind, (uint64_t)((const I *)index)[at + i])) + i * stride];       \
        break;
#define TAKE_EACH(BITS, T)                                                                                             \
    static void take_each_##BITS(const vm_table *table, T *to, const T *from, const void *index, int64_t at,           \
                                 int64_t stride, int64_t n) {                                                          \
        switch (table->dtype) { NEAP_DTYPE_INTEGER_ROWS(TAKE) }                                                        \
    }
WIDTHS(TAKE_EACH)

static void take_each(const vm_table *table, void *dst, const void *src, const void *index, int64_t at, int64_t stride,
                      int64_t n) {
    switch (8 * table->width) {
#define TAKE_OF(BITS, T)                                                                                               \
    case BITS:                                                                                                         \
        take_each_##BITS(table, dst, src, index, at, stride, n);                                                       \
        break;
        WIDTHS(TAKE_OF)
#undef TAKE_OF
    }
}

void vm_take(const vm_table *table, void *dst, const void *src, const void *index, int naxes, const int64_t *shape,
             const int64_t *stride, int64_t start, int64_t n) {
    int width = table->width;
    if (table->index == VM_INDEX_ONE) {
        vm_gather(width, dst, (const char *)src + distance_at(table, index, 0) * width, naxes, shape, stride, start, n);
        return;
    }
    box_walk w;
    run r;
    begin_box_walk(&w, naxes, shape, stride, start, n);
    for (int64_t at = 0; walk_next(&w, &r);)
        for (int64_t row = 0; row < r.rows; row++, at += r.length) {
            char *to = (char *)dst + at * width;
            const char *from = (const char *)src + (r.offset + row * r.row_stride) * width;
            if (table->index == VM_INDEX_EACH)
                take_each(table, to, from, index, at, r.stride, r.length);
            else
                gather_run(width, to, from + distance_at(table, index, at / table->run) * width,
                           &(run){.rows = 1, .length = r.length, .stride = r.stride});
        }
}
