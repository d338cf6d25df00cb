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
    ENGINE_PRODUCT_LANES = 16
};

typedef struct engine_product { /* c = a · b; c's rows are contiguous */
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t a_row, a_column, b_row, b_column, c_row;
    void *scratch; /* for engine_product_scratch elements: a copied, 256 columns at a time; NULL: it is not */
} engine_product;

typedef struct engine_matrix_vector { /* c[i · c_step] = Σ a[i, k] x[k] */
    int64_t m, k;
    const void *a, *x;
    void *c;
    int64_t a_row, a_column, c_step;
} engine_matrix_vector;

typedef struct engine_products {
    const char *isa;
    bool fused;        /* the hardware multiplies and adds at once; else that is computed, in many steps */
    int rows;          /* of c that are computed at once: */
    int columns[2];    /* by so many columns ([0] f32, [1] f64) */
    int64_t tile_rows; /* most rows of a product that has room */
    void (*matrices[2])(const engine_product *p);
    void (*vectors[2])(const engine_matrix_vector *p);
    void (*integers[5])(const engine_product *p); /* bool, integers of 8, 16, 32, 64 bits; any strides */
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

extern const engine_products engine_products_baseline, engine_products_avx2, engine_products_avx512;

#endif
