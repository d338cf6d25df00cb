/* factor_loops.h: triangular systems and factorizations of few rows or columns, the leaves of engine/libs/factor.c's
 * recursion. For product_loops.h alone, which includes this file at its end, once for each dtype.
 *
 * Place and matrix size fix the order of each element's terms, and FUSED alone fuses: all instruction sets give the
 * same bits, as with products. */

#if defined(__AVX512F__) || defined(__aarch64__)
#define SOLVE_VECTORS 2
#else /* half as many registers */
#define SOLVE_VECTORS 1
#endif
#define SOLVE_COLUMNS (SOLVE_VECTORS * WIDTH)
#define STEP ENGINE_FACTOR_STEP

#if BITS == 32
#define LEAST_NORMAL FLT_MIN
#define MOST FLT_MAX
#define ROOT(x) sqrtf(x)
#define MAGNITUDE(x) fabsf(x)
#else
#define LEAST_NORMAL DBL_MIN
#define MOST DBL_MAX
#define ROOT(x) sqrt(x)
#define MAGNITUDE(x) fabs(x)
#endif

/* 1 / d; 0 if that is no normal number: then divide by d. */
ALWAYS T NAME(reciprocal)(T d) {
    const T over = 1 / d, size = MAGNITUDE(over);
    return size >= LEAST_NORMAL && size <= MOST ? over : 0;
}

/* ---- Triangular systems ------------------------------------------------------------------------------------------ */
typedef struct NAME(rows) { /* some rows of a triangular system; the rows above are solved */
    const T *l;             /* the triangle, from the first row on */
    int64_t l_row, l_column;
    T *x; /* the right side, from the top */
    int64_t x_row, above, part;
    const T *over; /* reciprocals of the rows' diagonal */
} NAME(rows);

/* rows × `vectors` vectors, as in compute_block: adds up the terms of the rows above, subtracts the sums, then
 * subtracts the terms of row 0, row 1, … in turn. */
ALWAYS void NAME(solve_block)(const NAME(rows) * s, int rows, int vectors, bool partial) {
    V x[STEP][SOLVE_VECTORS];
    const T *l = s->l, *from = s->x;
    const int64_t l_row = s->l_row, l_column = s->l_column, x_row = s->x_row, part = s->part;
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int j = 0; j < vectors; j++) x[i][j] = (V){0};
    }
    for (int64_t k = s->above; k > 0; k--, l += l_column, from += x_row) {
        V right[SOLVE_VECTORS];
        UNROLL for (int j = 0; j < vectors; j++) {
            if (partial && j == vectors - 1)
                right[j] = LOAD_PART(from + j * WIDTH, part);
            else
                right[j] = *(const LOOSE *)(from + j * WIDTH);
        }
        UNROLL for (int i = 0; i < rows; i++) {
            const V left = l[i * l_row] - (V){0};
            UNROLL for (int j = 0; j < vectors; j++) x[i][j] = FUSED(left, right[j], x[i][j]);
        }
    }
    T *to = s->x + s->above * x_row;
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int j = 0; j < vectors; j++) {
            if (partial && j == vectors - 1)
                x[i][j] = LOAD_PART(to + i * x_row + j * WIDTH, part) - x[i][j];
            else
                x[i][j] = *(const LOOSE *)(to + i * x_row + j * WIDTH) - x[i][j];
        }
    }
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int k = 0; k < i; k++) {
            const V left = -l[i * l_row + k * l_column] - (V){0};
            UNROLL for (int j = 0; j < vectors; j++) x[i][j] = FUSED(left, x[k][j], x[i][j]);
        }
        const T over = s->over[i];
        UNROLL for (int j = 0; j < vectors; j++) x[i][j] =
            over ? x[i][j] * over : x[i][j] / l[i * l_row + i * l_column];
        UNROLL for (int j = 0; j < vectors; j++) {
            if (partial && j == vectors - 1)
                STORE_PART(to + i * x_row + j * WIDTH, part, x[i][j]);
            else
                *(LOOSE *)(to + i * x_row + j * WIDTH) = x[i][j];
        }
    }
}

static void NAME(solve_step)(const NAME(rows) * s, int64_t n) {
    if (n == SOLVE_COLUMNS)
        NAME(solve_block)(s, STEP, SOLVE_VECTORS, false);
    else if (n > WIDTH)
        NAME(solve_block)(s, STEP, SOLVE_VECTORS, true);
    else
        NAME(solve_block)(s, STEP, 1, true);
}

static void NAME(solve_single)(const NAME(rows) * s, int64_t n) {
    if (n > WIDTH)
        NAME(solve_block)(s, 1, SOLVE_VECTORS, true);
    else
        NAME(solve_block)(s, 1, 1, true);
}

/* `rows` rows of n columns, STEP at a time, and the rest one by one. */
static void NAME(solve_rows)(NAME(rows) s, int64_t rows, int64_t n) {
    s.part = n > WIDTH ? n - WIDTH : n;
    for (; rows >= STEP; rows -= STEP, s.above += STEP, s.l += STEP * s.l_row, s.over += STEP)
        NAME(solve_step)(&s, n);
    for (; rows > 0; rows--, s.above++, s.l += s.l_row, s.over++)
        NAME(solve_single)(&s, n);
}

/* x := t⁻¹ x, for t of ENGINE_FACTOR_LEAF rows at most. */
static void NAME(solve)(const engine_triangle *t, void *right, int64_t x_row, int64_t columns) {
    T over[ENGINE_FACTOR_LEAF], *x = right;
    for (int64_t i = 0; i < t->n; i++)
        over[i] = t->unit ? 1 : NAME(reciprocal)(((const T *)t->a)[i * (t->row + t->column)]);
    for (int64_t j = 0; j < columns; j += SOLVE_COLUMNS) {
        const NAME(rows)
            s = {.l = t->a, .l_row = t->row, .l_column = t->column, .x = x + j, .x_row = x_row, .over = over};
        NAME(solve_rows)(s, t->n, columns - j < SOLVE_COLUMNS ? columns - j : SOLVE_COLUMNS);
    }
}

/* ---- Cholesky ---------------------------------------------------------------------------------------------------- */
/* The upper triangle of c's first `rows` rows becomes u with uᵀ u = c, and `over` the reciprocals of u's diagonal.
 * Below the diagonal anything is left. false: c is not positive definite. */
ALWAYS bool NAME(cholesky_rows)(T c[STEP][STEP], int64_t rows, T *over) {
    for (int64_t i = 0; i < rows; i++) {
        if (!(c[i][i] > 0))
            return false;
        const T root = ROOT(c[i][i]);
        over[i] = NAME(reciprocal)(root);
        for (int64_t j = 0; j < STEP; j++)
            c[i][j] = over[i] ? c[i][j] * over[i] : c[i][j] / root;
        for (int64_t k = i + 1; k < rows; k++) {
            const T factor = c[i][k];
            for (int64_t j = 0; j < STEP; j++)
                c[k][j] -= factor * c[i][j];
        }
        c[i][i] = root;
    }
    return true;
}

/* The same of a corner of a. */
static bool NAME(cholesky_corner)(T *a, int64_t row, int64_t rows, T *over) {
    T c[STEP][STEP] = {{0}};
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = i; j < rows; j++)
            c[i][j] = a[i * row + j];
    }
    if (!NAME(cholesky_rows)(c, rows, over))
        return false;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = i; j < rows; j++)
            a[i * row + j] = c[i][j];
    }
    return true;
}

ALWAYS bool NAME(cholesky_of)(const T *a, T *to, int64_t n) {
    T c[STEP][STEP] = {{0}}, over[STEP];
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++)
            c[j][i] = a[i * n + j];
    }
    if (!NAME(cholesky_rows)(c, n, over))
        return false;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            to[i * n + j] = j <= i ? c[j][i] : 0;
    }
    return true;
}

/* out: the lower triangle l with l · lᵀ = a, zeros above; n is at most STEP. false: not positive definite. */
static bool NAME(cholesky_few)(const void *a, void *out, int64_t n) {
    switch (n) { /* a number that the compiler knows */
    case 3:
        return NAME(cholesky_of)(a, out, 3);
    case 4:
        return NAME(cholesky_of)(a, out, 4);
    case 8:
        return NAME(cholesky_of)(a, out, 8);
    default:
        return NAME(cholesky_of)(a, out, n);
    }
}

/* The upper triangle of a becomes u with uᵀ u = a; n is at most ENGINE_FACTOR_LEAF. false: not positive definite. */
static bool NAME(cholesky)(void *matrix, int64_t row, int64_t n) {
    T *a = matrix, over[STEP];
    for (int64_t at = 0; at < n; at += STEP) {
        const int64_t rows = n - at < STEP ? n - at : STEP;
        T *corner = a + at * row + at;
        const engine_product above = {.m = rows,
                                      .n = rows,
                                      .k = at,
                                      .a = a + at,
                                      .b = a + at,
                                      .c = corner,
                                      .a_row = 1,
                                      .a_column = row,
                                      .b_row = row,
                                      .b_column = 1,
                                      .c_row = row,
                                      .subtract = true};
        NAME(multiply)(&above);
        if (!NAME(cholesky_corner)(corner, row, rows, over))
            return false;
        for (int64_t j = at + rows; j < n; j += SOLVE_COLUMNS) {
            const NAME(rows)
                s = {.l = a + at, .l_row = 1, .l_column = row, .x = a + j, .x_row = row, .above = at, .over = over};
            NAME(solve_rows)(s, rows, n - j < SOLVE_COLUMNS ? n - j : SOLVE_COLUMNS);
        }
    }
    return true;
}

/* ---- LU ---------------------------------------------------------------------------------------------------------- */
/* The index of the largest magnitude in a[from…m), the first of equal ones, passing over NaN; `from` if all are NaN. */
static int64_t NAME(largest)(const T *a, int64_t from, int64_t m) {
    int64_t at = from, i = from;
    T most = -1;
    if (m - from >= 2 * WIDTH) {
        V best = (V){0} - 1;
        NAME(places) where = {0}, place;
        UNROLL for (int k = 0; k < WIDTH; k++) place[k] = (PLACE)(from + k);
        for (; i + WIDTH <= m; i += WIDTH, place += WIDTH) {
            const NAME(places) bits = (NAME(places))(*(const LOOSE *)(a + i)) & (PLACE) ~((uint64_t)1 << (BITS - 1));
            const NAME(places) more = (V)bits > best;
            best = (V)((bits & more) | ((NAME(places))best & ~more));
            where = (place & more) | (where & ~more);
        }
        for (int k = 0; k < WIDTH; k++) {
            if (best[k] > most || (best[k] == most && best[k] >= 0 && where[k] < at)) {
                most = best[k];
                at = where[k];
            }
        }
    }
    for (; i < m; i++) {
        const T size = MAGNITUDE(a[i]);
        if (size > most) {
            most = size;
            at = i;
        }
    }
    return at;
}

/* Subtracts, below row k, column k times the element in row k from each later column. */
static void NAME(eliminate)(T *a, int64_t apart, int64_t m, int64_t n, int64_t k) {
    const T *restrict l = a + k * apart;
    int64_t j = k + 1;
    for (; j + 4 <= n; j += 4) {
        T *restrict p = a + j * apart, *restrict q = p + apart, *restrict r = q + apart, *restrict s = r + apart;
        const T f = p[k], g = q[k], h = r[k], u = s[k];
        for (int64_t i = k + 1; i < m; i++) {
            p[i] -= l[i] * f;
            q[i] -= l[i] * g;
            r[i] -= l[i] * h;
            s[i] -= l[i] * u;
        }
    }
    for (; j < n; j++) {
        T *restrict p = a + j * apart;
        const T f = p[k];
        for (int64_t i = k + 1; i < m; i++)
            p[i] -= l[i] * f;
    }
}

/* LU of m × n, n at most m, with contiguous columns `apart` elements apart. Row k was exchanged with row pivots[k], for
 * k = 0, 1, …. */
static void NAME(factor_panel)(void *panel, int64_t apart, int64_t m, int64_t n, int32_t *pivots) {
    T *a = panel;
    for (int64_t k = 0; k < n; k++) {
        T *column = a + k * apart;
        const int64_t pivot = NAME(largest)(column, k, m);
        pivots[k] = (int32_t)pivot;
        for (int64_t j = 0; j < n && pivot != k; j++) {
            const T other = a[j * apart + k];
            a[j * apart + k] = a[j * apart + pivot];
            a[j * apart + pivot] = other;
        }
        const T d = column[k], over = NAME(reciprocal)(d);
        if (over) {
            for (int64_t i = k + 1; i < m; i++)
                column[i] *= over;
        } else if (d != 0) {
            for (int64_t i = k + 1; i < m; i++)
                column[i] /= d;
        }
        NAME(eliminate)(a, apart, m, n, k);
    }
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */
/* to[j][i] = from[i][j] for i < LINES_TURNED, j < columns. */
ALWAYS void NAME(transpose_lines)(T *to, int64_t to_row, const T *from, int64_t from_row, int64_t columns) {
    int64_t j = 0;
    for (; j + 4 <= columns; j += 4)
        TURN(to + j * to_row, to_row, from + j, from_row);
    for (; j < columns; j++) {
        for (int64_t i = 0; i < LINES_TURNED; i++)
            to[j * to_row + i] = from[i * from_row + j];
    }
}

/* to[j][i] = from[i][j] for i < rows, j < columns. */
static void NAME(transpose)(void *to_matrix, int64_t to_row, const void *from_matrix, int64_t from_row, int64_t rows,
                            int64_t columns) {
    enum { BLOCK = 512 }; /* columns, whose lines stay in the caches between writes */
    T *to = to_matrix;
    const T *from = from_matrix;
    for (int64_t j = 0; j < columns; j += BLOCK) {
        const int64_t n = columns - j < BLOCK ? columns - j : BLOCK;
        int64_t i = 0;
        for (; i + LINES_TURNED <= rows; i += LINES_TURNED)
            NAME(transpose_lines)(to + j * to_row + i, to_row, from + i * from_row + j, from_row, n);
        for (; i < rows; i++) {
            for (int64_t k = j; k < j + n; k++)
                to[k * to_row + i] = from[i * from_row + k];
        }
    }
}

#undef SOLVE_VECTORS
#undef SOLVE_COLUMNS
#undef STEP
#undef LEAST_NORMAL
#undef MOST
#undef ROOT
#undef MAGNITUDE
