/* factor.c: triangular systems, Cholesky and LU factorizations, by products.
 *
 * Each is cut in two again and again, down to the few rows or columns of simd/factor_loops.h. So nearly all of the work
 * is that of products.
 *
 *      ┌─────┬─────┐  a triangular system  x1 from a11;  x2 -= a21 x1;  x2 from a22
 *      │ a11 │ a12 │  Cholesky, uᵀ u = a   u11 of a11;  u12 from u11ᵀ;  a22 -= u12ᵀ u12;  u22 of a22
 *      ├─────┼─────┤  LU with pivots       the left half's factors;  its exchanges of rows on the right;
 *      │ a21 │ a22 │                       u12 from l11;  a22 -= l21 u12;  those of a22;  exchanges on the left
 *      └─────┴─────┘
 *
 * The cuts follow from the size alone, products add up in an order of their own (simd/product.h), and columns of a
 * right side know nothing of each other. So the bits depend neither on how many workers there are, nor on how work is
 * shared out: products by tiles, right sides by columns.
 *
 * Factors are made in a copy whose rows lie so far apart that they meet in few places of the caches. It is transposed,
 * for what LAPACK's functions get of a row-major matrix is so, too.
 *
 * Source of LU: S. Toledo, "Locality of reference in LU decomposition with partial pivoting", 1997; of the recursive
 * Cholesky factorization and of triangular systems: F. Gustavson, "Recursion leads to automatic variable blocking for
 * dense linear-algebra algorithms", 1997. */
#include "engine/libs/factor.h"

#include <stdatomic.h>
#include <string.h>

#include "engine/device.h"
#include "engine/libs/product.h"

enum {
    PANEL = 16,            /* columns of LU's panels */
    GROUP = 64,            /* columns of a right side that are solved together */
    STRIP = 64,            /* rows that are copied together */
    SWAPPED = 256,         /* columns whose rows are exchanged together */
    SHARED_WORK = 1 << 20, /* multiplications, */
    SHARED_MOVES = 1 << 17 /* and copied elements, from which other workers are asked */
};

typedef struct work {
    const neap_run *run;
    const engine_products *loops;
    bool f64;
    size_t size; /* bytes of an element */
} work;

static work work_of(const neap_run *run, bool f64) {
    return (work){run, engine_gemm_loops(), f64, f64 ? 8 : 4};
}

bool engine_factor_pays(int64_t n) {
    return engine_gemm_loops()->fused || n <= ENGINE_PRODUCT_EMULATED;
}

/* Where n rows are cut: at the largest power of two times `least` below n. */
static int64_t half_of(int64_t n, int64_t least) {
    int64_t half = least;
    while (2 * half < n)
        half *= 2;
    return half;
}

static void *at(const work *w, const void *matrix, int64_t element) {
    return (char *)matrix + element * (int64_t)w->size;
}

static void share(const work *w, bool all, int64_t tasks, void (*task)(void *arg, int64_t i, const neap_run *run),
                  void *arg) {
    if (all) {
        neap_parallel_for(w->run, tasks, task, arg);
    } else {
        for (int64_t k = 0; k < tasks; k++)
            task(arg, k, w->run);
    }
}

/* ---- Room for work ----------------------------------------------------------------------------------------------- */
typedef struct room {
    void *more;
    size_t bytes;
    double few[1024];
} room;

/* NULL: there is none. */
static void *room_take(room *r, const neap_run *run, size_t bytes) {
    r->more = NULL;
    r->bytes = bytes;
    if (bytes <= sizeof r->few)
        return r->few;
    return neap_run_alloc(run, bytes, &r->more) == NEAP_OK ? r->more : NULL;
}

static void room_give(room *r, const neap_run *run) {
    if (r->more)
        neap_run_free(run, r->more, r->bytes);
}

/* ---- Triangular systems ------------------------------------------------------------------------------------------ */
static engine_triangle part_from(const work *w, const engine_triangle *t, int64_t first) {
    engine_triangle part = *t;
    part.a = at(w, t->a, first * (t->row + t->column));
    part.n = t->n - first;
    return part;
}

/* x := t⁻¹ x, on this thread. */
static void solve_part(const work *w, const engine_triangle *t, void *x, int64_t x_row, int64_t columns) {
    if (t->n <= ENGINE_FACTOR_LEAF) {
        w->loops->solve[w->f64](t, x, x_row, columns);
        return;
    }
    const int64_t half = half_of(t->n, ENGINE_FACTOR_LEAF);
    engine_triangle first = *t, second = part_from(w, t, half);
    first.n = half;
    solve_part(w, &first, x, x_row, columns);
    void *below = at(w, x, half * x_row);
    const engine_product p = {.m = second.n,
                              .n = columns,
                              .k = half,
                              .a = at(w, t->a, half * t->row),
                              .a_row = t->row,
                              .a_column = t->column,
                              .b = x,
                              .b_row = x_row,
                              .b_column = 1,
                              .c = below,
                              .c_row = x_row,
                              .subtract = true};
    w->loops->matrices[w->f64](&p);
    solve_part(w, &second, below, x_row, columns);
}

/* An upper triangle is a lower one from its end: its strides are negative. */
static engine_triangle triangle_of(const work *w, const void *a, int64_t n, int64_t row, int64_t column, bool upper,
                                   bool unit) {
    if (upper)
        return (engine_triangle){n, at(w, a, (n - 1) * (row + column)), -row, -column, unit};
    return (engine_triangle){n, a, row, column, unit};
}

typedef struct solution { /* out = (t2⁻¹) t1⁻¹ b, with rows exchanged on the way */
    work w;
    engine_triangle steps[2];
    int count;
    int64_t n, k;
    const void *b; /* NULL: the unit matrix */
    void *out;
    const int32_t *from, *to; /* row i is taken from row from[i] of b, and put into row to[i]; NULL: i */
    _Atomic int status;
} solution;

static void read_group(const solution *s, void *x, int64_t apart, int64_t column, int64_t columns) {
    const work *w = &s->w;
    for (int64_t i = 0; i < s->n; i++) {
        void *to = at(w, x, i * apart);
        if (s->b)
            memcpy(to, at(w, s->b, (s->from ? s->from[i] : i) * s->k + column), (size_t)columns * w->size);
        else
            memset(to, 0, (size_t)columns * w->size);
    }
    for (int64_t j = 0; !s->b && j < columns; j++) {
        if (w->f64)
            ((double *)x)[(column + j) * apart + j] = 1;
        else
            ((float *)x)[(column + j) * apart + j] = 1;
    }
}

/* x := t⁻¹ x for each step in turn. What a lower triangle makes of columns of the unit matrix is zero above `first`. */
static void solve_steps(const solution *s, void *x, int64_t apart, int64_t columns, int64_t first) {
    const work *w = &s->w;
    for (int step = 0; step < s->count; step++, first = 0) {
        const engine_triangle t = part_from(w, &s->steps[step], first);
        if (t.row + t.column < 0)
            solve_part(w, &t, at(w, x, (s->n - 1) * apart), -apart, columns);
        else
            solve_part(w, &t, at(w, x, first * apart), apart, columns);
    }
}

/* Some columns: in a copy whose rows are as close as may be, or in the result, if that is all of it. */
static void solve_group(void *arg, int64_t group, const neap_run *run) {
    solution *s = arg;
    const work *w = &s->w;
    const int64_t column = group * GROUP, columns = s->k - column < GROUP ? s->k - column : GROUP;
    const bool inside = columns == s->k && !s->to;
    const int64_t apart = inside || columns < PANEL ? columns : engine_product_apart(columns);
    room r;
    r.more = NULL;
    void *x = inside ? s->out : room_take(&r, run, (size_t)(s->n * apart) * w->size);
    if (!x) {
        atomic_store(&s->status, NEAP_E_MEMORY);
        return;
    }
    read_group(s, x, apart, column, columns);
    solve_steps(s, x, apart, columns, s->b ? 0 : column);
    for (int64_t i = 0; i < s->n && !inside; i++)
        memcpy(at(w, s->out, (s->to ? s->to[i] : i) * s->k + column), at(w, x, i * apart), (size_t)columns * w->size);
    room_give(&r, run);
}

static int solve(solution *s) {
    const double all = (double)s->n * (double)s->n * (double)s->k;
    share(&s->w, all >= SHARED_WORK, (s->k + GROUP - 1) / GROUP, solve_group, s);
    return atomic_load(&s->status);
}

int engine_solve_triangular(const neap_run *run, bool f64, int64_t n, int64_t k, const void *a, bool lower,
                            bool transposed, bool unit, const void *b, void *out) {
    solution s = {.w = work_of(run, f64), .count = 1, .n = n, .k = k, .b = b, .out = out};
    s.steps[0] = triangle_of(&s.w, a, n, transposed ? 1 : n, transposed ? n : 1, lower == transposed, unit);
    return n && k ? solve(&s) : NEAP_OK;
}

/* ---- Right sides inside of a matrix ------------------------------------------------------------------------------ */
typedef struct inside {
    const work *w;
    const engine_triangle *t;
    void *x;
    int64_t x_row, columns;
} inside;

static void solve_inside_group(void *arg, int64_t group, const neap_run *run) {
    const inside *s = arg;
    const int64_t column = group * GROUP, left = s->columns - column;
    (void)run;
    solve_part(s->w, s->t, at(s->w, s->x, column), s->x_row, left < GROUP ? left : GROUP);
}

/* x := t⁻¹ x, where it is. */
static void solve_inside(const work *w, const engine_triangle *t, void *x, int64_t x_row, int64_t columns) {
    inside s = {w, t, x, x_row, columns};
    const double all = (double)t->n * (double)t->n * (double)columns;
    if (all >= SHARED_WORK)
        neap_parallel_for(w->run, (columns + GROUP - 1) / GROUP, solve_inside_group, &s);
    else
        solve_part(w, t, x, x_row, columns);
}

/* c -= a · b, all inside of the matrix that is factored; `upper`: what is above the diagonal of c will do. */
static int subtract_product(const work *w, bool upper, bool transposed, int64_t m, int64_t n, int64_t k, const void *a,
                            const void *b, void *c, int64_t row) {
    const engine_gemm_args args = {.f64 = w->f64,
                                   .transpose_a = transposed,
                                   .m = m,
                                   .n = n,
                                   .k = k,
                                   .a = a,
                                   .b = b,
                                   .c = c,
                                   .lda = row,
                                   .ldb = row,
                                   .ldc = row,
                                   .subtract = true,
                                   .upper = upper};
    return engine_gemm(w->run, &args);
}

/* ---- Transposed copies ------------------------------------------------------------------------------------------- */
typedef struct moves {
    work w;
    const void *from;
    void *to;
    int64_t n, from_row, to_row;
    bool lower, clear; /* the lower triangle of `from` only; of `to`, and zeros above */
} moves;

/* Some rows of `from`; with `clear`, of `to`. */
static void move_strip(void *arg, int64_t strip, const neap_run *run) {
    const moves *m = arg;
    const work *w = &m->w;
    const int64_t row = strip * STRIP, rows = m->n - row < STRIP ? m->n - row : STRIP;
    (void)run;
    if (!m->clear) {
        w->loops->transpose[w->f64](at(w, m->to, row), m->to_row, at(w, m->from, row * m->from_row), m->from_row, rows,
                                    m->lower ? row + rows : m->n);
        return;
    }
    for (int64_t k = 0; k < row + rows; k += STRIP)
        w->loops->transpose[w->f64](at(w, m->to, row * m->to_row + k), m->to_row, at(w, m->from, k * m->from_row + row),
                                    m->from_row, row + rows - k < STRIP ? row + rows - k : STRIP, rows);
    for (int64_t i = row; i < row + rows; i++)
        memset(at(w, m->to, i * m->to_row + i + 1), 0, (size_t)(m->n - i - 1) * w->size);
}

static void move(moves m) {
    const double all = (double)m.n * (double)m.n;
    share(&m.w, all >= SHARED_MOVES, (m.n + STRIP - 1) / STRIP, move_strip, &m);
}

/* ---- Cholesky ---------------------------------------------------------------------------------------------------- */
static int cholesky_part(const work *w, void *a, int64_t row, int64_t n, bool *found) {
    if (n <= ENGINE_FACTOR_LEAF) {
        *found = w->loops->cholesky[w->f64](a, row, n);
        return NEAP_OK;
    }
    const int64_t half = half_of(n, ENGINE_FACTOR_LEAF), rest = n - half;
    void *right = at(w, a, half), *corner = at(w, a, half * row + half);
    int status = cholesky_part(w, a, row, half, found);
    if (status || !*found)
        return status;
    const engine_triangle t = triangle_of(w, a, half, 1, row, false, false);
    solve_inside(w, &t, right, row, rest);
    status = subtract_product(w, true, true, rest, rest, half, right, right, corner, row);
    return status ? status : cholesky_part(w, corner, row, rest, found);
}

int engine_cholesky(const neap_run *run, bool f64, int64_t n, const void *a, void *out, bool *found) {
    const work w = work_of(run, f64);
    const int64_t row = engine_product_apart(n);
    if (n <= ENGINE_FACTOR_STEP) {
        *found = w.loops->cholesky_few[f64](a, out, n);
        return NEAP_OK;
    }
    room r;
    void *u = room_take(&r, run, (size_t)(n * row) * w.size);
    if (!u)
        return NEAP_E_MEMORY;
    move((moves){.w = w, .from = a, .to = u, .n = n, .from_row = n, .to_row = row, .lower = true});
    const int status = cholesky_part(&w, u, row, n, found);
    if (!status && *found)
        move((moves){.w = w, .from = u, .to = out, .n = n, .from_row = row, .to_row = n, .clear = true});
    room_give(&r, run);
    return status;
}

/* ---- LU ---------------------------------------------------------------------------------------------------------- */
typedef struct lu {
    work w;
    void *a;
    int64_t row;
    void *panel; /* room for one */
} lu;

typedef struct swaps {
    work w;
    void *a;
    int64_t row, columns, count;
    const int32_t *pivots;
} swaps;

#define DEFINE_SWAP(name, type)                                                                                        \
    static void name(type *restrict a, type *restrict b, int64_t n) {                                                  \
        for (int64_t j = 0; j < n; j++) {                                                                              \
            const type other = a[j];                                                                                   \
            a[j] = b[j];                                                                                               \
            b[j] = other;                                                                                              \
        }                                                                                                              \
    }
DEFINE_SWAP(swap_f32, float)
DEFINE_SWAP(swap_f64, double)

static void swap_group(void *arg, int64_t group, const neap_run *run) {
    const swaps *s = arg;
    const work *w = &s->w;
    const int64_t column = group * SWAPPED, n = s->columns - column < SWAPPED ? s->columns - column : SWAPPED;
    (void)run;
    for (int64_t k = 0; k < s->count; k++) {
        void *a = at(w, s->a, k * s->row + column), *b = at(w, s->a, s->pivots[k] * s->row + column);
        if (a == b)
            continue;
        if (w->f64)
            swap_f64(a, b, n);
        else
            swap_f32(a, b, n);
    }
}

/* Exchanges row k of a and row pivots[k], in order. */
static void swap_rows(const lu *f, void *a, int64_t columns, const int32_t *pivots, int64_t count) {
    swaps s = {f->w, a, f->row, columns, count, pivots};
    share(&f->w, (double)count * (double)columns >= SHARED_MOVES, (columns + SWAPPED - 1) / SWAPPED, swap_group, &s);
}

/* m × n, n at most m: the factors of the first n rows of `a`'s columns; pivots count from its first row. */
static int lu_part(const lu *f, void *a, int64_t m, int64_t n, int32_t *pivots) {
    const work *w = &f->w;
    if (n <= PANEL) {
        const int64_t apart = engine_product_apart(m);
        w->loops->transpose[w->f64](f->panel, apart, a, f->row, m, n);
        w->loops->panel[w->f64](f->panel, apart, m, n, pivots);
        w->loops->transpose[w->f64](a, f->row, f->panel, apart, n, m);
        return NEAP_OK;
    }
    const int64_t half = half_of(n, PANEL), rest = n - half;
    void *right = at(w, a, half), *below = at(w, a, half * f->row), *corner = at(w, below, half);
    int status = lu_part(f, a, m, half, pivots);
    if (status)
        return status;
    swap_rows(f, right, rest, pivots, half);
    const engine_triangle t = triangle_of(w, a, half, f->row, 1, false, true);
    solve_inside(w, &t, right, f->row, rest);
    status = subtract_product(w, false, false, m - half, rest, half, below, right, corner, f->row);
    status = status ? status : lu_part(f, corner, m - half, rest, pivots + half);
    if (status)
        return status;
    swap_rows(f, below, half, pivots + half, rest);
    for (int64_t k = half; k < n; k++)
        pivots[k] += (int32_t)half;
    return NEAP_OK;
}

/* The factors of aᵀ, in room that is `row` wide, with room for a panel behind it; pivots count from 0. */
static int factor_transposed(const work *w, int64_t n, const void *a, void *to, int64_t row, int32_t *pivots) {
    const lu f = {*w, to, row, at(w, to, n * row)};
    move((moves){.w = *w, .from = a, .to = to, .n = n, .from_row = n, .to_row = row});
    return lu_part(&f, to, n, n, pivots);
}

static size_t factor_bytes(const work *w, int64_t n) {
    const int64_t row = engine_product_apart(n);
    return (size_t)(n * row + PANEL * row) * w->size;
}

int engine_lu(const neap_run *run, bool f64, int64_t n, const void *a, void *out, int32_t *pivots) {
    const work w = work_of(run, f64);
    const int64_t row = engine_product_apart(n);
    int status = NEAP_OK;
    if (n <= PANEL) { /* columns of the transposed matrix are rows of this one */
        memcpy(out, a, (size_t)(n * n) * w.size);
        w.loops->panel[f64](out, n, n, n, pivots);
    } else {
        room r;
        void *factors = room_take(&r, run, factor_bytes(&w, n));
        if (!factors)
            return NEAP_E_MEMORY;
        status = factor_transposed(&w, n, a, factors, row, pivots);
        move((moves){.w = w, .from = factors, .to = out, .n = n, .from_row = row, .to_row = n});
        room_give(&r, run);
    }
    for (int64_t k = 0; k < n; k++)
        pivots[k]++;
    return status;
}

/* Where exchanges leave rows: row i comes from row order[i]. `first`: what the first pivot counts from. */
static void order_of(int32_t *order, const int32_t *pivots, int64_t n, int32_t first) {
    for (int64_t i = 0; i < n; i++)
        order[i] = (int32_t)i;
    for (int64_t k = 0; k < n; k++) {
        const int32_t other = order[k], pivot = pivots[k] - first;
        order[k] = order[pivot];
        order[pivot] = other;
    }
}

/* a = uᵀ lᵀ p, and aᵀ = pᵀ l u; `row` and `column` are distances in l and u. */
static solution solution_of(const work *w, const void *factors, int64_t n, int64_t row, int64_t column, bool transposed,
                            const int32_t *order) {
    solution s = {.w = *w, .count = 2, .n = n};
    if (transposed) {
        s.steps[0] = triangle_of(w, factors, n, row, column, false, true);
        s.steps[1] = triangle_of(w, factors, n, row, column, true, false);
        s.from = order;
    } else {
        s.steps[0] = triangle_of(w, factors, n, column, row, false, false);
        s.steps[1] = triangle_of(w, factors, n, column, row, true, true);
        s.to = order;
    }
    return s;
}

int engine_lu_solve(const neap_run *run, bool f64, int64_t n, int64_t k, bool transposed, const void *factors,
                    const int32_t *pivots, const void *b, void *out) {
    const work w = work_of(run, f64);
    room r;
    int32_t *order = room_take(&r, run, (size_t)n * sizeof *order);
    if (!order)
        return NEAP_E_MEMORY;
    order_of(order, pivots, n, 1);
    solution s = solution_of(&w, factors, n, 1, n, transposed, order);
    s.k = k;
    s.b = b;
    s.out = out;
    const int status = n && k ? solve(&s) : NEAP_OK;
    room_give(&r, run);
    return status;
}

int engine_invert(const neap_run *run, bool f64, int64_t n, const void *a, void *out) {
    const work w = work_of(run, f64);
    const int64_t row = engine_product_apart(n);
    const size_t factors = factor_bytes(&w, n);
    room r;
    char *memory = room_take(&r, run, factors + 2 * (size_t)n * sizeof(int32_t));
    if (!memory)
        return NEAP_E_MEMORY;
    int32_t *pivots = (int32_t *)(memory + factors), *order = pivots + n;
    int status = factor_transposed(&w, n, a, memory, row, pivots);
    order_of(order, pivots, n, 0);
    solution s = solution_of(&w, memory, n, row, 1, false, order);
    s.k = n;
    s.out = out;
    if (!status && n)
        status = solve(&s);
    room_give(&r, run);
    return status;
}
