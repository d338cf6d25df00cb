/* lapack.h: factorizations through a LAPACK library, the one inside OpenBLAS. For lazy/; not part of the public
 * interface.
 *
 * What is here are the library's own functions as they are: column-major matrices, arguments by reference, the lengths
 * of texts at the end, as Fortran compilers pass them; their documentation is LAPACK's. The library is set to one
 * thread (blas.c), so a call stays on its thread and its bits depend on its arguments alone; several threads may call
 * at once. */
#ifndef NEAP_ENGINE_LAPACK_H
#define NEAP_ENGINE_LAPACK_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/engine.h"

/* X(name, (parameters)): the functions, without the letter of the dtype. `void *` is a matrix or vector of it. First
 * those that have the same parameters for real and complex dtypes. */
#define ENGINE_LAPACK_SHARED_ROWS(X)                                                                                   \
    X(potrf, (const char *uplo, const int *n, void *a, const int *lda, int *info, size_t))                             \
    X(getrf, (const int *m, const int *n, void *a, const int *lda, int *pivots, int *info))                            \
    X(getrs, (const char *trans, const int *n, const int *nrhs, const void *a, const int *lda, const int *pivots,      \
              void *b, const int *ldb, int *info, size_t))                                                             \
    X(trsm,                                                                                                            \
      (const char *side, const char *uplo, const char *trans, const char *diag, const int *m, const int *n,            \
       const void *alpha, const void *a, const int *lda, void *b, const int *ldb, size_t, size_t, size_t, size_t))     \
    X(geqrf, (const int *m, const int *n, void *a, const int *lda, void *tau, void *work, const int *lwork, int *info))
#define ENGINE_LAPACK_REAL_ROWS(X)                                                                                     \
    X(gels, (const char *trans, const int *m, const int *n, const int *nrhs, void *a, const int *lda, void *b,         \
             const int *ldb, void *work, const int *lwork, int *info, size_t))                                         \
    X(trcon, (const char *norm, const char *uplo, const char *diag, const int *n, const void *a, const int *lda,       \
              void *rcond, void *work, int *iwork, int *info, size_t, size_t, size_t))                                 \
    X(gelsy, (const int *m, const int *n, const int *nrhs, void *a, const int *lda, void *b, const int *ldb,           \
              int *jpvt, const void *rcond, int *rank, void *work, const int *lwork, int *info))                       \
    X(gelsd, (const int *m, const int *n, const int *nrhs, void *a, const int *lda, void *b, const int *ldb, void *s,  \
              const void *rcond, int *rank, void *work, const int *lwork, int *iwork, int *info))                      \
    X(orgqr, (const int *m, const int *n, const int *k, void *a, const int *lda, const void *tau, void *work,          \
              const int *lwork, int *info))                                                                            \
    X(gesdd, (const char *job, const int *m, const int *n, void *a, const int *lda, void *s, void *u, const int *ldu,  \
              void *vt, const int *ldvt, void *work, const int *lwork, int *iwork, int *info, size_t))                 \
    X(syevd, (const char *job, const char *uplo, const int *n, void *a, const int *lda, void *w, void *work,           \
              const int *lwork, int *iwork, const int *liwork, int *info, size_t, size_t))                             \
    X(geevx, (const char *balanc, const char *jobvl, const char *jobvr, const char *sense, const int *n, void *a,      \
              const int *lda, void *wr, void *wi, void *vl, const int *ldvl, void *vr, const int *ldvr, int *ilo,      \
              int *ihi, void *scale, void *abnrm, void *rconde, void *rcondv, void *work, const int *lwork,            \
              int *iwork, int *info, size_t, size_t, size_t, size_t))

#define ENGINE_LAPACK_COMPLEX_ROWS(X)                                                                                  \
    X(ungqr, (const int *m, const int *n, const int *k, void *a, const int *lda, const void *tau, void *work,          \
              const int *lwork, int *info))                                                                            \
    X(gesvd, (const char *jobu, const char *jobvt, const int *m, const int *n, void *a, const int *lda, void *s,       \
              void *u, const int *ldu, void *vt, const int *ldvt, void *work, const int *lwork, void *rwork,           \
              int *info, size_t, size_t))                                                                              \
    X(heev, (const char *job, const char *uplo, const int *n, void *a, const int *lda, void *w, void *work,            \
             const int *lwork, void *rwork, int *info, size_t, size_t))                                                \
    X(geev, (const char *jobvl, const char *jobvr, const int *n, void *a, const int *lda, void *w, void *vl,           \
             const int *ldvl, void *vr, const int *ldvr, void *work, const int *lwork, void *rwork, int *info, size_t, \
             size_t))                                                                                                  \
    X(gees, (const char *jobvs, const char *sort, const void *select, const int *n, void *a, const int *lda,           \
             int *sdim, void *w, void *vs, const int *ldvs, void *work, const int *lwork, void *rwork, int *bwork,     \
             int *info, size_t, size_t))

typedef struct engine_lapack { /* NULL: not of this dtype */
#define ENGINE_LAPACK_FIELD(name, parameters) void(*name) parameters;
    ENGINE_LAPACK_SHARED_ROWS(ENGINE_LAPACK_FIELD)
    ENGINE_LAPACK_REAL_ROWS(ENGINE_LAPACK_FIELD)
    ENGINE_LAPACK_COMPLEX_ROWS(ENGINE_LAPACK_FIELD)
#undef ENGINE_LAPACK_FIELD
} engine_lapack;

/* The functions for f64 or f32, or for complex numbers of them, loaded at the first call. NEAP_E_LIBRARY when there are
 * none. BORROWED forever. */
int engine_lapack_get(bool f64, bool complex, const engine_lapack **out);

#endif
