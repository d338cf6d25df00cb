/* blas.h: matrix products through a BLAS library. For lazy/; not part of the public interface. */
#ifndef NEAP_ENGINE_BLAS_H
#define NEAP_ENGINE_BLAS_H

#include <stdbool.h>

#include "engine/engine.h"

/* c[b] = op(a[b]) · op(b[b]) for every b in [0, batch). Matrices are row-major; op(a) is m × k, op(b) k × n, c m × n.
 * Leading dimensions (elements from row to row as stored) and strides (elements from one matrix of the batch to the
 * next; 0 shares one) may be any that keep c's elements apart. c must not overlap a or b. */
typedef struct engine_gemm_args {
    bool f64;                      /* else f32 */
    bool transpose_a, transpose_b; /* a is stored k × m; b is stored n × k */
    int64_t m, n, k, batch;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
    int64_t stride_a, stride_b, stride_c;
} engine_gemm_args;

/* From inside an op: splits over the workers. The bits depend on m, n, k and the values, not on layouts nor threads.
 * k == 0 gives zeros. NEAP_E_LIBRARY when there is no BLAS. */
int engine_gemm(const neap_run *run, const engine_gemm_args *args);
/* Loads the library now: NEAP_OK or NEAP_E_LIBRARY. */
int engine_blas_load(void);
/* Another function of the library, NULL: it has none of this name, or there is no library. */
void *engine_blas_symbol(const char *name);
/* What was loaded, such as "OpenBLAS 0.3.21 …"; NULL if nothing was. BORROWED forever. */
const char *engine_blas_name(void);

#endif
