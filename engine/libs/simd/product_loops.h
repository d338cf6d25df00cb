/* product_loops.h: products of one dtype, T of BITS bits, whose names end as NAME makes them. For product.c alone,
 * which includes it once for each dtype. */

typedef T NAME(lanes) __attribute__((vector_size(VECTOR)));
typedef T NAME(loose) __attribute__((vector_size(VECTOR), aligned(BITS / 8), may_alias));
typedef PLACE NAME(places) __attribute__((vector_size(VECTOR)));
#define V NAME(lanes)
#define LOOSE NAME(loose)
#define WIDTH (VECTOR / (BITS / 8))
#define COLUMNS (2 * WIDTH)

/* ---- Vectors ----------------------------------------------------------------------------------------------------- */
#if defined(__AVX512F__) && BITS == 32
#define PART_MASK(n) ((__mmask16)((1u << (n)) - 1))
#define LOAD_PART(p, n) ((V)_mm512_maskz_loadu_ps(PART_MASK(n), p))
#define STORE_PART(p, n, v) _mm512_mask_storeu_ps(p, PART_MASK(n), (__m512)(v))
#define FUSED(a, b, c) ((V)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#elif defined(__AVX512F__)
#define PART_MASK(n) ((__mmask8)((1u << (n)) - 1))
#define LOAD_PART(p, n) ((V)_mm512_maskz_loadu_pd(PART_MASK(n), p))
#define STORE_PART(p, n, v) _mm512_mask_storeu_pd(p, PART_MASK(n), (__m512d)(v))
#define FUSED(a, b, c) ((V)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#elif defined(__AVX2__) && BITS == 32
#define PART_MASK(n) _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define LOAD_PART(p, n) ((V)_mm256_maskload_ps(p, PART_MASK(n)))
#define STORE_PART(p, n, v) _mm256_maskstore_ps(p, PART_MASK(n), (__m256)(v))
#define FUSED(a, b, c) ((V)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#elif defined(__AVX2__)
#define PART_MASK(n) _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3))
#define LOAD_PART(p, n) ((V)_mm256_maskload_pd(p, PART_MASK(n)))
#define STORE_PART(p, n, v) _mm256_maskstore_pd(p, PART_MASK(n), (__m256d)(v))
#define FUSED(a, b, c) ((V)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#else
/* The first n elements, 0 behind them. */
ALWAYS V NAME(load_part)(const T *p, int64_t n) {
    V v = {0};
    for (int64_t k = 0; k < n; k++)
        v[k] = p[k];
    return v;
}
ALWAYS void NAME(store_part)(T *p, int64_t n, V v) {
    for (int64_t k = 0; k < n; k++)
        p[k] = v[k];
}
#define LOAD_PART(p, n) NAME(load_part)(p, n)
#define STORE_PART(p, n, v) NAME(store_part)(p, n, v)
#if defined(__aarch64__) && BITS == 32
#define FUSED(a, b, c) ((V)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#elif defined(__aarch64__)
#define FUSED(a, b, c) ((V)vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b)))
#elif defined(__x86_64__) && BITS == 32
#define FUSED(a, b, c) ((V)fma_four((__m128)(a), (__m128)(b), (__m128)(c)))
#else
ALWAYS V NAME(fused)(V a, V b, V c) {
    for (int k = 0; k < WIDTH; k++)
        c[k] = NAME(engine_fma)(a[k], b[k], c[k]);
    return c;
}
#define FUSED(a, b, c) NAME(fused)(a, b, c)
#endif
#endif

/* ---- A block of c in registers ----------------------------------------------------------------------------------- */
typedef struct NAME(block) {
    int64_t k, a_row, a_column, b_row, c_row;
    const T *a, *b;
    T *c;
    int64_t part;    /* columns of the last vector, if it is not full */
    bool more, less; /* adds to c; subtracts from it */
    const T *next;   /* what is read soon: a vector for each of k is fetched; NULL: nothing is known */
} NAME(block);

/* rows × `vectors` vectors, of which the last has x->part columns if `partial`; x->next is fetched if `fetches`. The
 * four are constants. */
ALWAYS void NAME(compute_block)(const NAME(block) * x, int rows, int vectors, bool partial, bool fetches) {
    V sum[ROWS][2];
    const T *a = x->a, *b = x->b, *next = x->next;
    const int64_t a_row = x->a_row, a_column = x->a_column, b_row = x->b_row, part = x->part;
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int j = 0; j < vectors; j++) sum[i][j] = (V){0};
    }
    for (int64_t k = x->k; k > 0; k--, a += a_column, b += b_row) {
        V right[2];
        if (fetches) {
            __builtin_prefetch(next, 0, 2);
            next += WIDTH;
        }
        UNROLL for (int j = 0; j < vectors; j++) {
            if (partial && j == vectors - 1)
                right[j] = LOAD_PART(b + j * WIDTH, part);
            else
                right[j] = *(const LOOSE *)(b + j * WIDTH);
        }
        UNROLL for (int i = 0; i < rows; i++) {
            const V left = a[i * a_row] - (V){0};
            UNROLL for (int j = 0; j < vectors; j++) sum[i][j] = FUSED(left, right[j], sum[i][j]);
        }
    }
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int j = 0; j < vectors; j++) {
            T *to = x->c + i * x->c_row + j * WIDTH;
            if (partial && j == vectors - 1) {
                if (x->less)
                    sum[i][j] = LOAD_PART(to, part) - sum[i][j];
                else if (x->more)
                    sum[i][j] = LOAD_PART(to, part) + sum[i][j];
                STORE_PART(to, part, sum[i][j]);
            } else {
                if (x->less)
                    sum[i][j] = *(const LOOSE *)to - sum[i][j];
                else if (x->more)
                    sum[i][j] = *(const LOOSE *)to + sum[i][j];
                *(LOOSE *)to = sum[i][j];
            }
        }
    }
}

typedef void (*NAME(block_loop))(const NAME(block) * x);

#define BLOCK_LOOPS(rows)                                                                                              \
    static void NAME(block_##rows##_full)(const NAME(block) * x) {                                                     \
        NAME(compute_block)(x, rows, 2, false, false);                                                                 \
    }                                                                                                                  \
    static void NAME(block_##rows##_wide)(const NAME(block) * x) {                                                     \
        NAME(compute_block)(x, rows, 2, true, false);                                                                  \
    }                                                                                                                  \
    static void NAME(block_##rows##_narrow)(const NAME(block) * x) {                                                   \
        NAME(compute_block)(x, rows, 1, true, false);                                                                  \
    }                                                                                                                  \
    static void NAME(block_##rows##_fetching)(const NAME(block) * x) {                                                 \
        NAME(compute_block)(x, rows, 2, false, true);                                                                  \
    }
#define BLOCK_ROW(rows)                                                                                                \
    { NAME(block_##rows##_full), NAME(block_##rows##_wide), NAME(block_##rows##_narrow), NAME(block_##rows##_fetching) }

BLOCK_LOOPS(1)
BLOCK_LOOPS(2)
BLOCK_LOOPS(3)
BLOCK_LOOPS(4)
#if ROWS > 4
BLOCK_LOOPS(5)
BLOCK_LOOPS(6)
#endif
#if ROWS > 6
BLOCK_LOOPS(7)
BLOCK_LOOPS(8)
BLOCK_LOOPS(9)
BLOCK_LOOPS(10)
BLOCK_LOOPS(11)
BLOCK_LOOPS(12)
#endif

static const NAME(block_loop) NAME(block_loops)[ROWS][4] = {
    BLOCK_ROW(1), BLOCK_ROW(2), BLOCK_ROW(3), BLOCK_ROW(4),
#if ROWS > 4
    BLOCK_ROW(5), BLOCK_ROW(6),
#endif
#if ROWS > 6
    BLOCK_ROW(7), BLOCK_ROW(8), BLOCK_ROW(9), BLOCK_ROW(10), BLOCK_ROW(11), BLOCK_ROW(12),
#endif
};
#undef BLOCK_LOOPS
#undef BLOCK_ROW

/* ---- Copies ------------------------------------------------------------------------------------------------------ */
typedef T NAME(four) __attribute__((vector_size(4 * BITS / 8)));
typedef T NAME(four_loose) __attribute__((vector_size(4 * BITS / 8), aligned(BITS / 8), may_alias));
#if BITS == 32
typedef int32_t NAME(picks) __attribute__((vector_size(16)));
#else
typedef int64_t NAME(picks) __attribute__((vector_size(32)));
#endif

/* to[j][i] = from[i][j] for four of each; of the rows of `from` behind the first `rows`, anything is set. */
ALWAYS void NAME(transpose_four)(T *to, int64_t to_row, const T *from, int64_t from_row, int64_t rows) {
    const NAME(picks) low = {0, 4, 1, 5}, high = {2, 6, 3, 7}, first = {0, 1, 4, 5}, second = {2, 3, 6, 7};
    NAME(four) r[4];
    UNROLL for (int i = 0; i < 4; i++) r[i] = *(const NAME(four_loose) *)(from + (i < rows ? i : 0) * from_row);
    const NAME(four) a = __builtin_shuffle(r[0], r[1], low), b = __builtin_shuffle(r[2], r[3], low);
    const NAME(four) c = __builtin_shuffle(r[0], r[1], high), d = __builtin_shuffle(r[2], r[3], high);
    *(NAME(four_loose) *)to = __builtin_shuffle(a, b, first);
    *(NAME(four_loose) *)(to + to_row) = __builtin_shuffle(a, b, second);
    *(NAME(four_loose) *)(to + 2 * to_row) = __builtin_shuffle(c, d, first);
    *(NAME(four_loose) *)(to + 3 * to_row) = __builtin_shuffle(c, d, second);
}

/* Panels of k rows of COLUMNS elements each, one after the other, with n columns in all; element (i, j) is
 * from[i * row + j]. Rows are read in long runs, since they may lie far apart. */
static void NAME(copy_panels)(T *to, const T *from, int64_t row, int64_t k, int64_t n) {
    for (int64_t i = 0; i < k; i++) {
        const T *line = from + i * row;
        T *at = to + i * COLUMNS;
        int64_t j = 0;
        for (; j + COLUMNS <= n; j += COLUMNS, at += k * COLUMNS) {
            UNROLL for (int v = 0; v < 2; v++) * (LOOSE *)(at + v * WIDTH) = *(const LOOSE *)(line + j + v * WIDTH);
        }
        if (j < n)
            memcpy(at, line + j, (size_t)(n - j) * sizeof *at);
    }
}

#if defined(__AVX512F__) && BITS == 32
#define LINES_TURNED 16
/* Four elements of each of 16 lines as four rows: quarter q of a vector has those of line 4q + i. */
ALWAYS void turn_sixteen(float *to, int64_t to_row, const float *from, int64_t apart) {
    __m512 r[4];
    UNROLL for (int i = 0; i < 4; i++) {
        const float *line = from + i * apart;
        r[i] = _mm512_castps128_ps512(_mm_loadu_ps(line));
        r[i] = _mm512_mask_broadcast_f32x4(r[i], 0x00f0, _mm_loadu_ps(line + 4 * apart));
        r[i] = _mm512_mask_broadcast_f32x4(r[i], 0x0f00, _mm_loadu_ps(line + 8 * apart));
        r[i] = _mm512_mask_broadcast_f32x4(r[i], 0xf000, _mm_loadu_ps(line + 12 * apart));
    }
    const __m512d a = (__m512d)_mm512_unpacklo_ps(r[0], r[1]), b = (__m512d)_mm512_unpacklo_ps(r[2], r[3]);
    const __m512d c = (__m512d)_mm512_unpackhi_ps(r[0], r[1]), d = (__m512d)_mm512_unpackhi_ps(r[2], r[3]);
    _mm512_storeu_ps(to, (__m512)_mm512_unpacklo_pd(a, b));
    _mm512_storeu_ps(to + to_row, (__m512)_mm512_unpackhi_pd(a, b));
    _mm512_storeu_ps(to + 2 * to_row, (__m512)_mm512_unpacklo_pd(c, d));
    _mm512_storeu_ps(to + 3 * to_row, (__m512)_mm512_unpackhi_pd(c, d));
}
#define TURN(to, to_row, from, apart) turn_sixteen(to, to_row, from, apart)
#else
#define LINES_TURNED 4
#define TURN(to, to_row, from, apart) NAME(transpose_four)(to, to_row, from, apart, 4)
#endif

/* Of a panel, one column of each of `lines` lines, from line j on, which `turn` turns four elements of. */
#define COPY_LINES(lines, turn)                                                                                        \
    do {                                                                                                               \
        int64_t i = 0;                                                                                                 \
        for (; i + 4 <= k; i += 4)                                                                                     \
            turn;                                                                                                      \
        for (; i < k; i++) {                                                                                           \
            for (int64_t l = j; l < j + (lines); l++)                                                                  \
                to[i * COLUMNS + l] = from[i + l * apart];                                                             \
        }                                                                                                              \
    } while (0)

/* One panel, of which n columns are set; element (i, j) is from[i + j * apart]. */
static void NAME(copy_transposed)(T *to, const T *from, int64_t apart, int64_t k, int64_t n) {
    int64_t j = 0;
    for (; j + LINES_TURNED <= n; j += LINES_TURNED)
        COPY_LINES(LINES_TURNED, TURN(to + i * COLUMNS + j, COLUMNS, from + i + j * apart, apart));
    for (; j + 4 <= n; j += 4)
        COPY_LINES(4, NAME(transpose_four)(to + i * COLUMNS + j, COLUMNS, from + i + j * apart, apart, 4));
    if (j < n)
        COPY_LINES(n - j, NAME(transpose_four)(to + i * COLUMNS + j, COLUMNS, from + i + j * apart, apart, n - j));
}
#undef COPY_LINES

static void NAME(copy_rows)(T *to, int64_t to_row, const T *from, int64_t from_row, int64_t rows, int64_t n) {
    for (int64_t i = 0; i < rows; i++)
        memcpy(to + i * to_row, from + i * from_row, (size_t)n * sizeof *to);
}

/* Copies k columns of a into the scratch, in the order that they have, and says so in x. */
static void NAME(copy_left)(NAME(block) * x, const engine_product *p, int64_t k) {
    T *scratch = p->scratch;
    if (p->a_column == 1) {
        x->a_row = engine_product_apart(k);
        NAME(copy_rows)(scratch, x->a_row, x->a, p->a_row, p->m, k);
        x->a_column = 1;
    } else {
        x->a_column = engine_product_apart(p->m);
        NAME(copy_rows)(scratch, x->a_column, x->a, p->a_column, k, p->m);
        x->a_row = 1;
    }
    x->a = scratch;
}

/* ---- Matrices ---------------------------------------------------------------------------------------------------- */
/* All rows of some columns of c, in strips of nearly equal heights. Each strip fetches half of the next panel. */
static void NAME(compute_columns)(NAME(block) x, int64_t m, int64_t n) {
    const int64_t strips = (m + ROWS - 1) / ROWS, height = m / strips, higher = m % strips;
    const int form = n == COLUMNS ? (x.next ? 3 : 0) : n > WIDTH ? 1 : 2;
    const T *next = x.next;
    x.part = n > WIDTH ? n - WIDTH : n;
    for (int64_t strip = 0; strip < strips; strip++) {
        const int64_t rows = height + (strip < higher);
        if (next)
            x.next = next + strip % 2 * x.k * WIDTH;
        NAME(block_loops)[rows - 1][form](&x);
        x.a += rows * x.a_row;
        x.c += rows * x.c_row;
    }
}

/* Copies `panels` of the right side, of n columns in all, from b. */
static void NAME(copy_right)(T *to, const engine_product *p, const T *b, int64_t k, int64_t n) {
    if (p->b_column == 1 || n == 1) {
        NAME(copy_panels)(to, b, p->b_row, k, n);
        return;
    }
    for (int64_t j = 0; j < n; j += COLUMNS)
        NAME(copy_transposed)(to + j * k, b + j * p->b_column, p->b_column, k, n - j < COLUMNS ? n - j : COLUMNS);
}

/* All of b in panels, block by block of k: what a product reads of a block lies in one piece. */
static void NAME(pack_right)(const engine_product *p, void *to) {
    T *at = to;
    for (int64_t first = 0; first < p->k; first += ENGINE_PRODUCT_INNER) {
        const int64_t k = p->k - first < ENGINE_PRODUCT_INNER ? p->k - first : ENGINE_PRODUCT_INNER;
        NAME(copy_right)(at, p, (const T *)p->b + first * p->b_row, k, p->n);
        at += k * p->packed_columns;
    }
}

static void NAME(multiply_one)(const engine_product *p) {
    T panels[PANELS * ENGINE_PRODUCT_INNER * COLUMNS] __attribute__((aligned(64)));
    const int64_t size = sizeof(T), group = PANELS * COLUMNS;
    const bool transposed = p->b_column != 1 && p->n > 1;
    const int64_t apart = p->b_row * size, strips = apart * p->k >= LARGE ? 1 : STRIPS_COPIED;
    const bool right = !p->packed && (transposed || (p->m > strips * ROWS && apart >= FAR));
    for (int64_t at = 0; at < p->k; at += ENGINE_PRODUCT_INNER) {
        const int64_t k = p->k - at < ENGINE_PRODUCT_INNER ? p->k - at : ENGINE_PRODUCT_INNER;
        NAME(block)
        x = {
            .k = k, .a_row = p->a_row, .a_column = p->a_column, .c_row = p->c_row, .more = at > 0, .less = p->subtract};
        x.a = (const T *)p->a + at * p->a_column;
        x.b_row = right || p->packed ? COLUMNS : p->b_row;
        const T *packed = p->packed ? (const T *)p->packed + at * p->packed_columns + p->packed_first * k : NULL;
        if (p->scratch)
            NAME(copy_left)(&x, p, k);
        for (int64_t j = 0; j < p->n; j += COLUMNS) {
            const T *b = (const T *)p->b + at * p->b_row + j * p->b_column;
            if (right && j % group == 0)
                NAME(copy_right)(panels, p, b, k, p->n - j < group ? p->n - j : group);
            x.b = packed ? packed + j * k : right ? panels + j % group * k : b;
            x.c = (T *)p->c + j;
            x.next = packed && (j + COLUMNS < p->n || at + k < p->k) ? x.b + k * COLUMNS : NULL;
            NAME(compute_columns)(x, p->m, p->n - j < COLUMNS ? p->n - j : COLUMNS);
        }
    }
}

/* Each product is a single block of c. */
static void NAME(multiply_blocks)(const engine_product *p) {
    const int form = p->n == COLUMNS ? 0 : p->n > WIDTH ? 1 : 2;
    const NAME(block_loop) loop = NAME(block_loops)[p->m - 1][form];
    NAME(block)
    x = {.k = p->k,
         .a_row = p->a_row,
         .a_column = p->a_column,
         .b_row = p->b_row,
         .c_row = p->c_row,
         .a = p->a,
         .b = p->b,
         .c = p->c,
         .part = p->n > WIDTH ? p->n - WIDTH : p->n,
         .less = p->subtract};
    for (int64_t matrix = 0; matrix < p->count; matrix++) {
        loop(&x);
        x.a += p->a_next;
        x.b += p->b_next;
        x.c += p->c_next;
    }
}

static void NAME(multiply)(const engine_product *p) {
    if (p->count <= 1) {
        NAME(multiply_one)(p);
        return;
    }
    const bool right = p->b_column == 1 || p->n == 1;
    if (p->m <= ROWS && p->n <= COLUMNS && p->k <= ENGINE_PRODUCT_INNER && right && !p->scratch) {
        NAME(multiply_blocks)(p);
        return;
    }
    engine_product one = *p;
    for (int64_t matrix = 0; matrix < p->count; matrix++) {
        one.a = (const T *)p->a + matrix * p->a_next;
        one.b = (const T *)p->b + matrix * p->b_next;
        one.c = (T *)p->c + matrix * p->c_next;
        NAME(multiply_one)(&one);
    }
}

/* ---- A matrix by a vector ---------------------------------------------------------------------------------------- */
enum { NAME(LANE_VECTORS) = ENGINE_PRODUCT_LANES / WIDTH > 0 ? ENGINE_PRODUCT_LANES / WIDTH : 1 };
#define GROUP (WIDTH < 4 ? WIDTH : 4) /* rows at once */

/* Sums of leaves, `width` at once, that wait for their partners: level l holds the sum of 2^l leaves if bit l of the
 * number of leaves is set. */
typedef struct NAME(tree) {
    int64_t leaves;
    T *levels; /* [TREE_LEVELS][width] */
} NAME(tree);

/* Adds the leaf that stands in `leaf`, which is overwritten. */
ALWAYS void NAME(add_leaf)(NAME(tree) * t, T *leaf, int64_t width) {
    int level = 0;
    for (; t->leaves >> level & 1; level++) {
        const T *left = t->levels + level * width;
        for (int64_t i = 0; i < width; i++)
            leaf[i] = left[i] + leaf[i];
    }
    memcpy(t->levels + level * width, leaf, (size_t)width * sizeof *leaf);
    t->leaves++;
}

/* The sum of all leaves, of which there is one at least. */
static const T *NAME(sum_of_tree)(NAME(tree) * t, int64_t width) {
    T *sum = NULL;
    for (int level = 0; t->leaves >> level; level++) {
        T *left = t->levels + level * width;
        if (!(t->leaves >> level & 1))
            continue;
        for (int64_t i = 0; sum && i < width; i++)
            left[i] += sum[i];
        sum = left;
    }
    return sum;
}

/* The first n elements, 0 behind them: a sum takes no harm of that, as it is no -0 in the end. */
ALWAYS V NAME(load_some)(const T *p, int64_t n) {
    if (n >= WIDTH)
        return *(const LOOSE *)p;
    return LOAD_PART(p, n);
}

/* The lanes of a leaf of `rows` (a constant) rows of contiguous elements, each row's as one vector of sums of its first
 * lanes with those that stand half the lanes behind them, and so on. */
ALWAYS void NAME(lanes_of_rows)(V *sums, int rows, const T *a, int64_t a_row, const T *x, int64_t k) {
    V lanes[GROUP][NAME(LANE_VECTORS)];
    int64_t at = 0;
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int v = 0; v < NAME(LANE_VECTORS); v++) lanes[i][v] = -(V){0};
    }
    for (; at + ENGINE_PRODUCT_LANES <= k; at += ENGINE_PRODUCT_LANES) {
        UNROLL for (int v = 0; v < NAME(LANE_VECTORS); v++) {
            const V factor = *(const LOOSE *)(x + at + v * WIDTH);
            UNROLL for (int i = 0; i < rows; i++) lanes[i][v] +=
                *(const LOOSE *)(a + i * a_row + at + v * WIDTH) * factor;
        }
        UNROLL for (int i = 0; i < rows; i++) __builtin_prefetch(a + (i + rows) * a_row + at);
    }
    UNROLL for (int v = 0; v < NAME(LANE_VECTORS); v++) {
        const int64_t left = k - at - v * WIDTH;
        if (left <= 0)
            break;
        const V factor = NAME(load_some)(x + at + v * WIDTH, left);
        UNROLL for (int i = 0; i < rows; i++) lanes[i][v] +=
            NAME(load_some)(a + i * a_row + at + v * WIDTH, left) * factor;
    }
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int half = NAME(LANE_VECTORS) / 2; half > 0; half /= 2) {
            UNROLL for (int v = 0; v < half; v++) lanes[i][v] += lanes[i][v + half];
        }
        sums[i] = lanes[i][0];
    }
}

/* Of both vectors, in groups of 2 · half elements, each group's first half plus its second one: p's, then q's. */
ALWAYS V NAME(add_halves)(V p, V q, int half) {
    NAME(places) first, second;
    UNROLL for (int i = 0; i < WIDTH; i++) {
        const int groups = WIDTH / (2 * half), group = i / half;
        first[i] = group % groups * 2 * half + i % half + (group < groups ? 0 : WIDTH);
        second[i] = first[i] + half;
    }
    return __builtin_shuffle(p, q, first) + __builtin_shuffle(p, q, second);
}

/* The sum of each of WIDTH vectors, which are overwritten. */
ALWAYS V NAME(sums_of_vectors)(V *of) {
    UNROLL for (int half = WIDTH / 2; half > 0; half /= 2) {
        UNROLL for (int i = 0; i < half; i++) of[i] = NAME(add_halves)(of[2 * i], of[2 * i + 1], half);
    }
    return of[0];
}

/* Adds the next leaves of `rows` rows, GROUP at most, and WIDTH / GROUP of each at most, which start at a; k terms are
 * left. The tree is GROUP wide. */
static void NAME(add_leaves_of_rows)(NAME(tree) * t, const engine_matrix_vector *p, int64_t rows, const T *a,
                                     const T *x, int64_t k) {
    V sums[WIDTH];
    T leaves[WIDTH];
    int64_t n = 0;
    UNROLL for (int r = 0; r < WIDTH; r++) sums[r] = (V){0};
    for (int64_t at = 0; n < WIDTH && at < k; n += GROUP, at += ENGINE_PRODUCT_LEAF) {
        const int64_t terms = k - at < ENGINE_PRODUCT_LEAF ? k - at : ENGINE_PRODUCT_LEAF;
        if (rows == GROUP)
            NAME(lanes_of_rows)(sums + n, GROUP, a + at, p->a_row, x + at, terms);
        for (int64_t r = 0; r < rows && rows < GROUP; r++)
            NAME(lanes_of_rows)(sums + n + r, 1, a + r * p->a_row + at, p->a_row, x + at, terms);
    }
    const V each = NAME(sums_of_vectors)(sums);
    memcpy(leaves, &each, sizeof leaves);
    for (int64_t r = 0; r < n; r += GROUP)
        NAME(add_leaf)(t, leaves + r, GROUP);
}

/* Adds the terms of four rows, `apart` elements apart, to the sums of their lane; x holds a factor at every LANES-th
 * place. Four rows that lie `next` elements from these are read next. */
ALWAYS void NAME(add_four_rows)(T *sums, const T *a, int64_t apart, const T *x, int64_t next, int64_t m) {
    int64_t i = 0;
    for (; i + WIDTH <= m; i += WIDTH) {
        V sum = *(LOOSE *)(sums + i);
        UNROLL for (int r = 0; r < 4; r++) {
            const T *at = a + r * apart + i;
            __builtin_prefetch(at + next);
            sum += *(const LOOSE *)at * x[r * ENGINE_PRODUCT_LANES];
        }
        *(LOOSE *)(sums + i) = sum;
    }
    for (; i < m; i++) {
        for (int r = 0; r < 4; r++)
            sums[i] += a[r * apart + i] * x[r * ENGINE_PRODUCT_LANES];
    }
}

/* The leaf that starts at a for m columns of at most VECTOR_COLUMNS bytes, in out: lanes lie in memory, and take rows
 * that are theirs four at a time. */
static void NAME(leaves_of_columns)(T *out, const engine_matrix_vector *p, const T *a, int64_t m, const T *x,
                                    int64_t k) {
    T lanes[ENGINE_PRODUCT_LANES][VECTOR_COLUMNS / sizeof(T)] __attribute__((aligned(64)));
    const int64_t row = p->a_column, step = ENGINE_PRODUCT_LANES;
    for (int64_t lane = 0; lane < ENGINE_PRODUCT_LANES; lane++) {
        T *to = lanes[lane];
        int64_t at = lane;
        for (int64_t i = 0; i < m; i++)
            to[i] = -(T)0;
        for (; at + 3 * step < k; at += 4 * step) {
            const int64_t next = at + 7 * step < k ? at + 4 * step : lane + 1;
            NAME(add_four_rows)(to, a + at * row, step * row, x + at, (next - at) * row, m);
        }
        for (; at < k; at += step) {
            const T *r = a + at * row, f = x[at];
            for (int64_t i = 0; i < m; i++)
                to[i] += r[i] * f;
        }
    }
    for (int half = ENGINE_PRODUCT_LANES / 2; half > 0; half /= 2) {
        for (int lane = 0; lane < half; lane++) {
            for (int64_t i = 0; i < m; i++)
                lanes[lane][i] += lanes[lane + half][i];
        }
    }
    memcpy(out, lanes[0], (size_t)m * sizeof *out);
}

/* Stores sums; of zeros, which may be -0, 0, as of matrices. */
static void NAME(store_sums)(const engine_matrix_vector *p, int64_t i, int64_t m, const T *sums) {
    for (int64_t l = 0; l < m; l++)
        ((T *)p->c)[(i + l) * p->c_step] = sums[l] + (T)0;
}

static void NAME(multiply_rows)(const engine_matrix_vector *p) {
    enum { STEP = ENGINE_PRODUCT_LEAF * WIDTH / GROUP };
    T levels[TREE_LEVELS * GROUP];
    for (int64_t i = 0; i < p->m; i += GROUP) {
        const int64_t rows = p->m - i < GROUP ? p->m - i : GROUP;
        const T *a = (const T *)p->a + i * p->a_row;
        NAME(tree) tree = {.levels = levels};
        for (int64_t at = 0; at < p->k; at += STEP)
            NAME(add_leaves_of_rows)(&tree, p, rows, a + at, (const T *)p->x + at, p->k - at);
        NAME(store_sums)(p, i, rows, NAME(sum_of_tree)(&tree, GROUP));
    }
}

static void NAME(multiply_columns)(const engine_matrix_vector *p) {
    enum { MOST = VECTOR_COLUMNS / sizeof(T) };
    T levels[TREE_LEVELS * MOST], leaf[MOST];
    for (int64_t i = 0; i < p->m; i += MOST) {
        const int64_t columns = p->m - i < MOST ? p->m - i : MOST;
        NAME(tree) tree = {.levels = levels};
        for (int64_t at = 0; at < p->k; at += ENGINE_PRODUCT_LEAF) {
            const int64_t k = p->k - at < ENGINE_PRODUCT_LEAF ? p->k - at : ENGINE_PRODUCT_LEAF;
            const T *a = (const T *)p->a + i * p->a_row + at * p->a_column;
            NAME(leaves_of_columns)(leaf, p, a, columns, (const T *)p->x + at, k);
            NAME(add_leaf)(&tree, leaf, columns);
        }
        NAME(store_sums)(p, i, columns, NAME(sum_of_tree)(&tree, columns));
    }
}

static void NAME(multiply_vector)(const engine_matrix_vector *p) {
    (p->a_column == 1 ? NAME(multiply_rows) : NAME(multiply_columns))(p);
}

#include "engine/libs/simd/factor_loops.h"

#undef V
#undef LOOSE
#undef WIDTH
#undef GROUP
#undef COLUMNS
#undef LINES_TURNED
#undef TURN
#undef PART_MASK
#undef LOAD_PART
#undef STORE_PART
#undef FUSED
