/* product.h: products of matrices, batched. For lazy/ and conv.c; not part of the public interface. */
#ifndef NEAP_ENGINE_LIBS_PRODUCT_H
#define NEAP_ENGINE_LIBS_PRODUCT_H

#include <stdbool.h>

#include "engine/engine.h"
#include "engine/libs/simd/product.h"

enum { ENGINE_PRODUCT_EMULATED = 32 }; /* rows of the largest cube whose multiply-adds are worth many steps each */

/* A right side in the order in which loops read it, for many products with it: their bits are the same, and b is
 * neither copied nor read from far places in each of them. */
typedef struct engine_gemm_packed {
    const engine_products *loops; /* whose order that is: others read b itself */
    size_t bytes;
    void *panels; /* of so many bytes */
} engine_gemm_packed;

/* c[b] = op(a[b]) · op(b[b]) for every b of a batch. Matrices are row-major; op(a) is m × k, op(b) k × n, c m × n.
 * Leading dimensions (elements from row to row as stored) may be any that keep c's elements apart. The batch has any
 * number of axes, each with its distance between matrices of a and of b (0 shares one); in c it lies row-major,
 * stride_c apart. c must not overlap a or b. */
typedef struct engine_gemm_args {
    bool f64;                      /* else f32 */
    bool transpose_a, transpose_b; /* a is stored k × m; b is stored n × k */
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
    int batch_axes;
    const int64_t *batch, *strides_a, *strides_b; /* extents and distances of the batch's axes */
    int64_t stride_c;
    bool subtract; /* c[b] -= op(a[b]) · op(b[b]), in blocks of k (simd/product.h) */
    bool upper;    /* of c, which is square, what is below the diagonal may be anything */
    /* Of a product without a batch: b as engine_gemm_pack has copied it. NULL: there is no copy. */
    const engine_gemm_packed *packed;
} engine_gemm_args;

/* From inside an op: splits over the workers. The bits depend on the shape and the values: not on layouts, threads,
 * nor, on processors with fused multiply-add, on the processor (engine/libs/simd/product.h). k == 0 gives zeros.
 * NEAP_E_LIBRARY when a BLAS is needed and there is none. */
int engine_gemm(const neap_run *run, const engine_gemm_args *args);

/* A copy of op(b) for the loops in use, which has no panels yet. Its bytes are 0 where products with these extents have
 * no use for one. */
engine_gemm_packed engine_gemm_plan_packed(const engine_gemm_args *args);
/* Copies op(b) to the panels. */
void engine_gemm_pack(const engine_gemm_args *args, const engine_gemm_packed *packed);

/* The loops in use. */
const engine_products *engine_gemm_loops(void);
/* Takes those of an instruction set, by name; NULL: the best. NEAP_E_ARGUMENT: there are none, or the CPU lacks it. */
int engine_gemm_isa(const char *name);

#endif
