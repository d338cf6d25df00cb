/* factor.h: triangular systems, Cholesky and LU factorizations of one matrix of f32 or f64. For lazy/; not part of the
 * public interface.
 *
 * Matrices lie by rows, tightly. All are called from inside an op, and split over the workers; the bits depend on the
 * sizes and the values alone. NEAP_E_MEMORY: there is no room for the work, and the results are not set. */
#ifndef NEAP_ENGINE_LIBS_FACTOR_H
#define NEAP_ENGINE_LIBS_FACTOR_H

#include <stdbool.h>

#include "engine/engine.h"
#include "engine/libs/simd/product.h"

/* Whether a matrix of n rows is for these functions: always, but where the processor does not multiply and add at once,
 * so that it takes many steps to compute that. */
bool engine_factor_pays(int64_t n);
/* out with t · out = b, or tᵀ · out = b, both n × k, for the lower or upper triangle of a, n × n; `unit`: its diagonal
 * counts as ones. The other triangle is not used. */
int engine_solve_triangular(const neap_run *run, bool f64, int64_t n, int64_t k, const void *a, bool lower,
                            bool transposed, bool unit, const void *b, void *out);
/* The lower triangle l with l · lᵀ = a, and zeros above; *found is false, and out anything, where a is not positive
 * definite. The lower triangle of a is used. */
int engine_cholesky(const neap_run *run, bool f64, int64_t n, const void *a, void *out, bool *found);
/* What LAPACK's getrf makes of the transposed matrix, aᵀ = pᵀ l u, transposed: a lower triangle uᵀ, and lᵀ above, whose
 * ones are not stored. Row i was exchanged with row pivots[i] - 1, in order. */
int engine_lu(const neap_run *run, bool f64, int64_t n, const void *a, void *out, int32_t *pivots);
/* out with a · out = b, or aᵀ · out = b, both n × k, from what engine_lu made of a. */
int engine_lu_solve(const neap_run *run, bool f64, int64_t n, int64_t k, bool transposed, const void *factors,
                    const int32_t *pivots, const void *b, void *out);
/* The inverse of a. */
int engine_invert(const neap_run *run, bool f64, int64_t n, const void *a, void *out);

#endif
