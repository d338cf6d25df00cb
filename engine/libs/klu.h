/* klu.h: LU factorizations of sparse matrices by KLU of SuiteSparse, loaded at run time. For lazy/; not part of the
 * public interface.
 *
 * A matrix is stored by columns. KLU calls no BLAS and has no threads, so the bits of factors and solutions depend on
 * the arguments alone. The factors of the latest matrices are kept, and found again by the elements of the
 * matrix: transposed systems of derivatives, and further right sides, take the kept factors.
 *
 * There are two kinds of factors. Those that solve systems are made of blocks, of a matrix with scaled rows; whole ones
 * are two triangles L and U of the matrix itself: L U is the matrix with its rows and columns in another order. */
#ifndef NEAP_ENGINE_KLU_H
#define NEAP_ENGINE_KLU_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

typedef struct engine_klu engine_klu; /* the factors of a matrix */

typedef struct engine_klu_matrix { /* of n rows and columns, n > 0; no place twice; finite elements */
    int32_t n;
    bool complex; /* elements are pairs of numbers */
    const int32_t *starts, *rows;
    const double *elements;
} engine_klu_matrix;

typedef struct engine_klu_pivot { /* why a matrix is singular */
    int column;                   /* the first one for which no pivot is left */
    int rank;                     /* the greatest rank that any elements at these places have */
} engine_klu_pivot;

/* Loads the library now: NEAP_OK or NEAP_E_LIBRARY. */
int engine_klu_load(void);
/* What was loaded, or what to install, for people. BORROWED forever. */
const char *engine_klu_library(void);
/* The factors, SHARED, one reference. NEAP_E_FAILED: the matrix is singular, and *pivot says where; NEAP_E_MEMORY,
 * NEAP_E_LIBRARY. */
int engine_klu_factor(const engine_klu_matrix *a, bool whole, engine_klu **out, engine_klu_pivot *pivot);
void engine_klu_release(engine_klu *factors);
/* Bytes of memory that a solution needs besides. */
size_t engine_klu_scratch(const engine_klu *factors);
/* Replaces columns of n numbers, one behind the other, by solutions of A x = b, or of Aᵀ x = b. Several threads may use
 * the same factors, each with scratch of its own. */
void engine_klu_solve(const engine_klu *factors, bool transposed, int columns, double *b, void *scratch);

typedef struct engine_klu_triangle { /* by columns, rows in order; the diagonal is stored */
    int32_t count;                   /* elements */
    int32_t *starts, *rows;          /* n + 1, count */
    double *elements[2];             /* real and, of a complex matrix, imaginary parts */
} engine_klu_triangle;

typedef struct engine_klu_triangles {
    engine_klu_triangle lower, upper;
    int32_t *rows, *columns; /* n each: row rows[k] and column columns[k] of the matrix are those with the number k */
} engine_klu_triangles;

/* Sets both counts, of whole factors. */
void engine_klu_counts(const engine_klu *factors, engine_klu_triangles *out);
/* Writes whole factors to memory of the caller's: NEAP_OK or NEAP_E_LIBRARY. */
int engine_klu_extract(const engine_klu *factors, const engine_klu_triangles *out);

#endif
