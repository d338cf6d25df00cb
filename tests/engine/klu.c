/* klu.c: factors of sparse matrices by KLU, which several threads use at once, of more matrices than are kept, real and
 * complex ones; each solution has the bits of the first one. Whole factors, whose product is the matrix. Singular
 * matrices and their pivots. Without the library
 * there is one error, which names its package, and nothing else to look at. */
#include "engine/libs/klu.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"

enum { THREADS = 4, MATRICES = 20, MOST = 60, COLUMNS = 3 };

typedef struct trial {
    engine_klu_matrix a;
    int32_t starts[MOST + 1], rows[3 * MOST];
    double elements[6 * MOST];
    double x[2 * MOST * COLUMNS], b[2 * MOST * COLUMNS];
    double first[2][2 * MOST * COLUMNS]; /* solutions that the first call gave, of both systems */
} trial;

static trial trials[MATRICES];

/* Column j has elements in rows j, j + 1 and j + 5, all turned by one row, so that none on the diagonal is large. */
static void make(trial *t, int number) {
    const int n = 1 + number * 3, parts = 1 + number % 2;
    int count = 0;
    for (int j = 0; j < n; j++) {
        static const int apart[3] = {0, 1, 5};
        t->starts[j] = count;
        for (int k = 0; k < (n < 7 ? 1 : 3); k++, count++) {
            t->rows[count] = (j + 1 + apart[k]) % n;
            for (int p = 0; p < parts; p++)
                t->elements[count * parts + p] = k == 0 ? 4 + j % 3 - p : 1.0 / (1 + k + number + p);
        }
    }
    t->starts[n] = count;
    t->a = (engine_klu_matrix){
        .n = n, .complex = parts == 2, .starts = t->starts, .rows = t->rows, .elements = t->elements};
    for (int k = 0; k < n * parts * COLUMNS; k++)
        t->x[k] = (double)(k * 7919 % 101) / 64 - 0.75;
}

/* A x, or Aᵀ x. */
static void multiply(trial *t, bool transposed) {
    const int parts = t->a.complex ? 2 : 1, n = t->a.n;
    memset(t->b, 0, sizeof t->b);
    for (int c = 0; c < COLUMNS; c++)
        for (int j = 0; j < n; j++)
            for (int e = t->starts[j]; e < t->starts[j + 1]; e++) {
                const int from = c * n + (transposed ? t->rows[e] : j), to = c * n + (transposed ? j : t->rows[e]);
                const double *a = &t->elements[e * parts], *x = &t->x[from * parts];
                double *b = &t->b[to * parts];
                b[0] += parts == 2 ? a[0] * x[0] - a[1] * x[1] : a[0] * x[0];
                if (parts == 2)
                    b[1] += a[0] * x[1] + a[1] * x[0];
            }
}

/* Solves both systems with right sides of `side`; the results go to `to`. */
static void solve(const trial *t, double side[2][2 * MOST * COLUMNS], double to[2][2 * MOST * COLUMNS]) {
    engine_klu *factors;
    engine_klu_pivot pivot;
    if (!CHECK_EQ(engine_klu_factor(&t->a, false, &factors, &pivot), NEAP_OK))
        return;
    void *scratch = malloc(engine_klu_scratch(factors));
    for (int transposed = 0; transposed < 2; transposed++) {
        memcpy(to[transposed], side[transposed], sizeof t->b);
        engine_klu_solve(factors, transposed != 0, COLUMNS, to[transposed], scratch);
    }
    free(scratch);
    engine_klu_release(factors);
}

/* L U, element by element, is the matrix in the orders of its rows and columns. */
static void check_triangles(const trial *t) {
    static int32_t numbers[2][MOST + 1], rows[2][MOST * MOST], orders[2][MOST];
    static double elements[2][2][MOST * MOST], product[MOST][MOST][2];
    const int n = t->a.n, parts = t->a.complex ? 2 : 1;
    engine_klu *factors;
    engine_klu_pivot pivot;
    engine_klu_triangles f = {
        .lower = {.starts = numbers[0], .rows = rows[0], .elements = {elements[0][0], elements[0][1]}},
        .upper = {.starts = numbers[1], .rows = rows[1], .elements = {elements[1][0], elements[1][1]}},
        .rows = orders[0],
        .columns = orders[1]};
    if (!CHECK_EQ(engine_klu_factor(&t->a, true, &factors, &pivot), NEAP_OK))
        return;
    engine_klu_counts(factors, &f);
    CHECK_EQ(engine_klu_extract(factors, &f), NEAP_OK);
    engine_klu_release(factors);
    CHECK_EQ(f.lower.starts[n], f.lower.count);
    CHECK_EQ(f.upper.starts[n], f.upper.count);
    memset(product, 0, sizeof product);
    for (int j = 0; j < n; j++)
        for (int e = f.upper.starts[j]; e < f.upper.starts[j + 1]; e++)
            for (int k = f.upper.rows[e], i = f.lower.starts[k]; i < f.lower.starts[k + 1]; i++) {
                const double a = f.lower.elements[0][i], b = f.upper.elements[0][e];
                const double c = parts == 2 ? f.lower.elements[1][i] : 0, d = parts == 2 ? f.upper.elements[1][e] : 0;
                product[f.lower.rows[i]][j][0] += a * b - c * d;
                product[f.lower.rows[i]][j][1] += a * d + b * c;
            }
    for (int j = 0; j < n; j++)
        for (int e = t->starts[f.columns[j]]; e < t->starts[f.columns[j] + 1]; e++)
            for (int i = 0; i < n; i++)
                for (int p = 0; p < parts && f.rows[i] == t->rows[e]; p++)
                    product[i][j][p] -= t->elements[e * parts + p];
    for (int k = 0; k < MOST * MOST * 2; k++)
        CHECK(fabs(((const double *)product)[k]) < 1e-13);
}

static double sides[MATRICES][2][2 * MOST * COLUMNS];

static void *run_thread(void *number) {
    static const int steps[THREADS] = {1, 3, 7, 9}; /* none has a factor of MATRICES */
    double got[2][2 * MOST * COLUMNS];
    for (int k = 0; k < 3 * MATRICES; k++) {
        const int which = k * steps[(intptr_t)number] % MATRICES;
        solve(&trials[which], sides[which], got);
        CHECK(memcmp(got, trials[which].first, sizeof got) == 0);
    }
    return NULL;
}

static void check_singular(void) {
    static const int32_t starts[] = {0, 2, 4}, rows[] = {0, 1, 0, 1}, few_starts[] = {0, 1, 2}, few_rows[] = {1, 1};
    static const double elements[] = {1, 2, 2, 4};
    engine_klu_matrix a = {.n = 2, .starts = starts, .rows = rows, .elements = elements};
    engine_klu *factors;
    engine_klu_pivot pivot = {0};
    CHECK_EQ(engine_klu_factor(&a, false, &factors, &pivot), NEAP_E_FAILED);
    CHECK(pivot.column == 0 || pivot.column == 1);
    CHECK_EQ(pivot.rank, 2);
    a.starts = few_starts, a.rows = few_rows;
    CHECK_EQ(engine_klu_factor(&a, false, &factors, &pivot), NEAP_E_FAILED);
    CHECK_EQ(pivot.rank, 1);
}

int main(void) {
    if (engine_klu_load()) {
        CHECK_TEXT(neap_error_text(), "package libklu1");
        CHECK_TEXT(engine_klu_library(), "install libklu1");
        return check_end();
    }
    CHECK_TEXT(engine_klu_library(), "libklu.so");
    for (int k = 0; k < MATRICES; k++) {
        trial *t = &trials[k];
        make(t, k);
        for (int transposed = 0; transposed < 2; transposed++) {
            multiply(t, transposed != 0);
            memcpy(sides[k][transposed], t->b, sizeof t->b);
        }
        solve(t, sides[k], t->first);
        check_triangles(t);
        for (int i = 0; i < 2 * t->a.n * COLUMNS * (t->a.complex ? 2 : 1); i++) {
            const int half = t->a.n * COLUMNS * (t->a.complex ? 2 : 1);
            CHECK(fabs(t->first[i / half][i % half] - t->x[i % half]) < 1e-13);
        }
    }
    pthread_t threads[THREADS];
    for (intptr_t k = 0; k < THREADS; k++)
        CHECK_EQ(pthread_create(&threads[k], NULL, run_thread, (void *)k), 0);
    for (int k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    check_singular();
    return check_end();
}
