/* product.h: the loops of matrix products of an instruction set, compiled once for each (cmake/simd.cmake).
 *
 *      matrices   each element of c is a sum over k in blocks of ENGINE_PRODUCT_INNER: in a block each term is added by
 *                 a fused multiply-add, in the order of k, from 0; the blocks' sums are added in order. So the bits
 *                 depend on nothing but k and the values: not on layouts, tiles, or the width of vectors.
 *      vectors    c[i] = Σ a[i, k] x[k]: products, rounded, added in the order of every other sum (docs: numbers):
 *                 leaves of 256 in 16 lanes, joined in pairs.
 *
 * Strides are in elements; of floats, one of a matrix's two is 1 (or the extent along it is 1). */
#ifndef NEAP_ENGINE_PRODUCT_H
#define NEAP_ENGINE_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ENGINE_PRODUCT_INNER = 256, /* of k at a time */
    ENGINE_PRODUCT_LEAF = 256,
    ENGINE_PRODUCT_LANES = 16,
    ENGINE_FACTOR_STEP = 8, /* rows of a triangular system, or of a Cholesky factor, that are computed together */
    ENGINE_FACTOR_LEAF = 64 /* rows of those that products take no part in, at most */
};

typedef struct engine_product { /* c = a · b, or c - a · b; c's rows are contiguous */
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t a_row, a_column, b_row, b_column, c_row;
    bool subtract; /* each block's sum, in order, from c; then a and the rows of b and c may lie backwards */
    int64_t count, a_next, b_next, c_next; /* products, one if 0; from one's operands and result to the next one's */
    /* b as `pack` copies a matrix, of which b is the columns from `packed_first` on; NULL: there is no such copy. */
    const void *packed;
    int64_t packed_first, packed_columns; /* the latter: engine_product_packed_columns of the whole matrix */
    void *scratch; /* for engine_product_scratch elements: a copied, 256 columns at a time; NULL: it is not */
} engine_product;

typedef struct engine_matrix_vector { /* c[i · c_step] = Σ a[i, k] x[k] */
    int64_t m, k;
    const void *a, *x;
    void *c;
    int64_t a_row, a_column, c_step;
} engine_matrix_vector;

typedef struct engine_triangle { /* lower, n × n; strides may be negative, so that an upper one is read as such */
    int64_t n;
    const void *a;
    int64_t row, column;
    bool unit; /* the diagonal counts as ones */
} engine_triangle;

typedef struct engine_products {
    const char *isa;
    bool fused;        /* the hardware multiplies and adds at once; else that is computed, in many steps */
    int rows;          /* of c that are computed at once: */
    int columns[2];    /* by so many columns ([0] f32, [1] f64) */
    int64_t tile_rows; /* most rows of a product that has room */
    void (*matrices[2])(const engine_product *p);
    void (*pack[2])(const engine_product *p, void *to); /* b, for any number of products: k · packed_columns elements */
    void (*vectors[2])(const engine_matrix_vector *p);
    void (*integers[5])(const engine_product *p); /* bool, integers of 8, 16, 32, 64 bits; any strides */
    /* What factor.c is made of, as factor_loops.h says. */
    void (*solve[2])(const engine_triangle *t, void *x, int64_t x_row, int64_t columns);
    bool (*cholesky[2])(void *a, int64_t row, int64_t n);
    bool (*cholesky_few[2])(const void *a, void *out, int64_t n);
    void (*panel[2])(void *a, int64_t apart, int64_t m, int64_t n, int32_t *pivots);
    void (*transpose[2])(void *to, int64_t to_row, const void *from, int64_t from_row, int64_t rows, int64_t columns);
} engine_products;

/* How far lines of n elements lie apart in a copy: an odd number of lines of the cache, so that they meet in few. */
static inline int64_t engine_product_apart(int64_t n) {
    return ((n + 15) / 16 | 1) * 16;
}

/* The elements of a copy of a block of a's columns, in the order that a has. */
static inline int64_t engine_product_scratch(const engine_product *p) {
    int64_t k = p->k < ENGINE_PRODUCT_INNER ? p->k : ENGINE_PRODUCT_INNER;
    return p->a_column == 1 ? p->m * engine_product_apart(k) : k * engine_product_apart(p->m);
}

/* The columns of a packed matrix, with room for whole panels. */
static inline int64_t engine_product_packed_columns(const engine_products *loops, bool f64, int64_t n) {
    const int64_t panel = loops->columns[f64];
    return (n + panel - 1) / panel * panel;
}

extern const engine_products engine_products_baseline, engine_products_avx2, engine_products_avx512;

#endif
