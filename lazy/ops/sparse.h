/* sparse.h: what the ops of sparse matrices share (sparse.c draws how these are stored).
 *
 * Indices and starts are data: what they say beyond matrices is left out, whatever it is.
 */
#ifndef LAZY_OPS_SPARSE_H
#define LAZY_OPS_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "lazy/op.h"

typedef struct sparse_places { /* of one matrix */
    const int32_t *indices, *starts;
    int64_t rows, stored;
} sparse_places;

/* Is it one of the n numbers from 0 up? */
static inline bool sparse_inside(int32_t index, int64_t n) {
    return (uint32_t)index < (uint64_t)n;
}

/* The elements of a row, of `stored` ones. */
static inline void sparse_range(const int32_t *starts, int64_t stored, int64_t row, int64_t *start, int64_t *end) {
    int64_t a = starts[row], b = starts[row + 1];
    *start = a < 0 ? 0 : a < stored ? a : stored;
    *end = b < *start ? *start : b < stored ? b : stored;
}

static inline void sparse_row(const sparse_places *x, int64_t row, int64_t *start, int64_t *end) {
    sparse_range(x->starts, x->stored, row, start, end);
}

static inline int64_t sparse_extent(const lazy_tensor *t) {
    return t->shape[t->ndim - 1];
}

/* Which loops a dtype takes: integers of 1, 2, 4 and 8 bytes, f32, f64, c64, c128. */
enum { SPARSE_KINDS = 8 };
int ops_sparse_kind(int dtype);

/* Do rows never begin before those above them? If not, rows may share elements of a result. */
bool ops_sparse_rise(const lazy_tensor *starts);

/* ---- Systems (sparse.c) ------------------------------------------------------------------------------------------
 * Rows whose inputs are elements (…, s), right sides (…, n, k), columns (…, s) and starts of rows (…, n + 1), and whose
 * second attribute says whether the system is the transposed one. */
int ops_sparse_system_shape(const char *op, const lazy_call_desc *call, lazy_result *out);
int ops_sparse_system_grad(lazy_grad *g);
int ops_sparse_system_jvp(lazy_tangent *g);
/* Rules of rows with one sparse matrix and a dense one, whose columns are independent. */
int ops_sparse_columns_batch(lazy_batching *g);
int ops_sparse_columns_shard(lazy_shard_rule *g);

/* ---- Pairs of matrices (sparse_places.c) ------------------------------------------------------------------------- */
/* Matrices A and B, and C or its places, whose rows workers share. */
typedef struct sparse_pair {
    sparse_places a, b, c;
    const void *data[2];
    void *out;
    int64_t n;      /* columns */
    bool product;   /* of a and b, else their sum */
    size_t scratch; /* bytes that a part needs */
    /* Rows first … last - 1. Scratch is zero before the first rows of a part. */
    void (*rows)(const struct sparse_pair *p, int64_t first, int64_t last, void *scratch);
    int64_t m, step; /* rows that are shared; rows of a part */
    bool alone;      /* they are not shared: they may have elements of C in common */
    int failed;
} sparse_pair;

/* How many matrices there are, by the axes in front of the last one. */
int64_t ops_sparse_matrices(const lazy_tensor *starts);
/* What inputs k and k + 1, indices and starts, say of one of them. */
sparse_places ops_sparse_places(const lazy_call *call, int k, int64_t matrix);
/* Multiplications of a product, about. */
double ops_sparse_terms(const sparse_places *a, const sparse_places *b);
/* All rows, of about `work` elements, by all workers; alone: by one. */
int ops_sparse_run(const lazy_call *call, const neap_run *run, sparse_pair *p, double work, bool alone);

/* Checks the first attribute, columns, and `count` pairs of indices and starts, from input `first` on. */
int ops_sparse_check_places(const char *op, const lazy_call_desc *call, int first, int count);
/* Checks that an operand has the shape of another one, and a dtype. */
int ops_sparse_check_data(const char *op, const lazy_aval *data, const lazy_aval *like, int dtype);
int ops_sparse_check_rows(const char *op, const lazy_aval *starts, const lazy_aval *others);
/* The result has the axes of an input, the last one with another extent. */
int ops_sparse_last_axis(lazy_result *out, const lazy_aval *like, int64_t last);
/* Multiplications of the products of matrices, from columns of both and starts of the second ones, about. */
double ops_sparse_flops(const lazy_aval *a, const lazy_aval *b, const lazy_aval *starts);

#endif
