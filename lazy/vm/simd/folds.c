/* folds.c: the forms of reductions: leaves of the tree, columns, pairs, and the first of the best elements.
 * folds_gen.h applies them to the kernel texts of the op rows; this file is compiled once per instruction set
 * (-DNEAP_ISA), and the compiler vectorizes. Lanes stay in registers where their loops are unrolled as a whole, so this
 * file is compiled with more of that than kernels.c (cmake/simd.cmake).
 */
#include "lazy/vm/simd/loops.h"
#include "lazy/vm/simd/simd.h"
#include "lazy/vm/simd/vmath.h"
#include "ops_gen.h"

/* Leaves over an expression ELEMENT of x = v[…] and y = u[…], combined by TEXT of a and b. Lanes start at the identity,
 * which changes no bit of what it is combined with; so a leaf with fewer elements than lanes does without.
 *
 * One leaf alone would wait for each of its sums; GROUP leaves go side by side, as many as half of the registers hold.
 * `omp simd` keeps the compiler from unrolling a loop over lanes before it has become one vector. */
#if defined(__AVX512F__)
enum { VECTOR_BYTES = 64, VECTORS_BYTES = 16 * VECTOR_BYTES };
#elif defined(__AVX2__)
enum { VECTOR_BYTES = 32, VECTORS_BYTES = 8 * VECTOR_BYTES };
#elif defined(__aarch64__)
enum { VECTOR_BYTES = 16, VECTORS_BYTES = 16 * VECTOR_BYTES };
#else
enum { VECTOR_BYTES = 16, VECTORS_BYTES = 8 * VECTOR_BYTES };
#endif
enum { GROUP_MAX = 4 }; /* leaves of f32 in a chunk */
#define GROUP_FIT(T) (VECTORS_BYTES / (LAZY_LANES * (int)sizeof(T)))
#define GROUP(T) (GROUP_FIT(T) < 1 ? 1 : GROUP_FIT(T) < GROUP_MAX ? GROUP_FIT(T) : GROUP_MAX)
#define EACH_LEAF _Pragma("GCC unroll 4") for (int g = 0; g < count; g++)
#define EACH_LANE(n) _Pragma("omp simd") for (int l = 0; l < (n); l++)

#define LEAVES(id, T, element, text, identity)                                                                         \
    static inline T id##_short(const T *v, const T *u, int64_t n) {                                                    \
        T lane[LAZY_LANES];                                                                                            \
        for (int l = 0; l < (int)n; l++) {                                                                             \
            const T x = v[l], y = u[l];                                                                                \
            lane[l] = element;                                                                                         \
        }                                                                                                              \
        for (int half = LAZY_LANES / 2, left = (int)n; half > 0; left = left < half ? left : half, half /= 2)          \
            for (int l = 0; l + half < left; l++) {                                                                    \
                const T a = lane[l], b = lane[l + half];                                                               \
                lane[l] = text;                                                                                        \
            }                                                                                                          \
        return lane[0];                                                                                                \
    }                                                                                                                  \
    VM_INLINE void id##_half(T lane[][LAZY_LANES], int count, int half) {                                              \
        EACH_LEAF EACH_LANE(half) {                                                                                    \
            const T a = lane[g][l], b = lane[g][l + half];                                                             \
            lane[g][l] = text;                                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    VM_INLINE void id##_group(T *o, const T *v, const T *u, int64_t n, int count) {                                    \
        T lane[GROUP(T)][LAZY_LANES];                                                                                  \
        int64_t i = 0;                                                                                                 \
        EACH_LEAF EACH_LANE(LAZY_LANES) lane[g][l] = identity;                                                         \
        for (; i + LAZY_LANES <= n; i += LAZY_LANES)                                                                   \
            EACH_LEAF EACH_LANE(LAZY_LANES) {                                                                          \
                const T x = v[g * n + i + l], y = u[g * n + i + l], a = lane[g][l], b = element;                       \
                lane[g][l] = text;                                                                                     \
            }                                                                                                          \
        for (int64_t g = 0; i < n && g < count; g++)                                                                   \
            for (int l = 0; l < (int)(n - i); l++) {                                                                   \
                const T x = v[g * n + i + l], y = u[g * n + i + l], a = lane[g][l], b = element;                       \
                lane[g][l] = text;                                                                                     \
            }                                                                                                          \
        id##_half(lane, count, 8);                                                                                     \
        id##_half(lane, count, 4);                                                                                     \
        id##_half(lane, count, 2);                                                                                     \
        EACH_LEAF {                                                                                                    \
            const T a = lane[g][0], b = lane[g][1];                                                                    \
            o[g] = text;                                                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    static void id##_leaves(void *out, const void *a, const void *b, int64_t count, int64_t length) {                  \
        T *o = out;                                                                                                    \
        const T *v = a, *u = b;                                                                                        \
        int64_t k = 0;                                                                                                 \
        for (; length == LAZY_LEAF && k + GROUP(T) <= count; k += GROUP(T))                                            \
            id##_group(o + k, v + k * LAZY_LEAF, u + k * LAZY_LEAF, LAZY_LEAF, GROUP(T));                              \
        for (; length >= LAZY_LANES && k + GROUP(T) <= count; k += GROUP(T))                                           \
            id##_group(o + k, v + k * length, u + k * length, length, GROUP(T));                                       \
        for (; length >= LAZY_LANES && k < count; k++)                                                                 \
            id##_group(o + k, v + k * length, u + k * length, length, 1);                                              \
        for (; k < count; k++)                                                                                         \
            o[k] = id##_short(v + k * length, u + k * length, length);                                                 \
    }

/* Columns side by side, each folded from its first row on, `step` bytes apart: a strip of STRIP vectors stays in
 * registers from the first row to the last. */
enum { STRIP = 8 };
#define VECTOR_ELEMENTS(T) (VECTOR_BYTES / (int)sizeof(T))
#define EACH_VECTOR(V) _Pragma("GCC unroll 8") for (int g = 0; g < (V); g++)
#define DOWN_STRIP(T, V, at, text)                                                                                     \
    {                                                                                                                  \
        T acc[V][VECTOR_ELEMENTS(T)];                                                                                  \
        const char *row = (const char *)((const T *)in + (at));                                                        \
        EACH_VECTOR(V) EACH_LANE(VECTOR_ELEMENTS(T)) acc[g][l] = ((const T *)row)[g * VECTOR_ELEMENTS(T) + l];         \
        for (int64_t r = 1; r < rows; r++) {                                                                           \
            row += step;                                                                                               \
            EACH_VECTOR(V) EACH_LANE(VECTOR_ELEMENTS(T)) {                                                             \
                const T a = acc[g][l], b = ((const T *)row)[g * VECTOR_ELEMENTS(T) + l];                               \
                acc[g][l] = text;                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        EACH_VECTOR(V) EACH_LANE(VECTOR_ELEMENTS(T)) o[(at) + g * VECTOR_ELEMENTS(T) + l] = acc[g][l];                 \
    }
#define DOWN_BY(id, T, text, strip)                                                                                    \
    static void id##_down(void *out, const void *in, int64_t step, int64_t rows, int64_t columns) {                    \
        T *o = out;                                                                                                    \
        int64_t c = 0;                                                                                                 \
        for (; c + STRIP * VECTOR_ELEMENTS(T) <= columns; c += STRIP * VECTOR_ELEMENTS(T))                             \
            strip;                                                                                                     \
        for (; c + VECTOR_ELEMENTS(T) <= columns; c += VECTOR_ELEMENTS(T))                                             \
            DOWN_STRIP(T, 1, c, text)                                                                                  \
        for (int64_t k = c; k < columns; k++)                                                                          \
            o[k] = ((const T *)in)[k];                                                                                 \
        for (int64_t r = 1; r < rows && c < columns; r++)                                                              \
            for (int64_t k = c; k < columns; k++) {                                                                    \
                const T a = o[k], b = ((const T *)((const char *)in + r * step))[k];                                   \
                o[k] = text;                                                                                           \
            }                                                                                                          \
    }
#define DOWN(id, T, text) DOWN_BY(id, T, text, DOWN_STRIP(T, STRIP, c, text))

#define FOLD(id, T, text, identity)                                                                                    \
    MAP2_LOOP(id##_pairs, T, T, T, x[i], y[i], text)                                                                   \
    LEAVES(id, T, x, text, identity)                                                                                   \
    DOWN(id, T, text)

/* The greatest or the smallest number, where BEATS tells of numbers which of a and b wins. That is one instruction, but
 * not what `text` is of NaNs and of zeros of different signs: where a quick look does not tell, the leaf is taken again
 * by the text. */
enum { ORDERED_VECTORS = 4 /* that are looked at together */ };
#define EACH_ORDERED(T) EACH_LANE(ORDERED_VECTORS *VECTOR_ELEMENTS(T))
#define EACH_HALF_OF(n) _Pragma("GCC unroll 8") for (int half = (n) / 2; half > 0; half /= 2) EACH_LANE(half)
#define FOLD_WINNER(id, T, text, BEATS, identity)                                                                      \
    MAP2_LOOP(id##_pairs, T, T, T, x[i], y[i], text)                                                                   \
    LEAVES(id##_all, T, x, text, identity)                                                                             \
    VM_INLINE T id##_winner(T a, T b) {                                                                                \
        return BEATS;                                                                                                  \
    }
#define QUICK_LEAVES(id, T)                                                                                            \
    static void id##_leaves(void *out, const void *a, const void *b, int64_t count, int64_t length) {                  \
        const T *v = a;                                                                                                \
        T *o = out;                                                                                                    \
        if (length < 2 * ORDERED_VECTORS * VECTOR_ELEMENTS(T)) {                                                       \
            id##_all_leaves(out, a, b, count, length);                                                                 \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t k = 0; k < count; k++, v += length)                                                               \
            if (!id##_quick(o + k, v, length))                                                                         \
                id##_all_leaves(o + k, v, v, 1, length);                                                               \
    }

/* NaN is the result where one is there. Flags are as wide as elements. */
#define FLAG(T) __typeof__(_Generic((T)0, float : (int32_t)0, double : (int64_t)0, default : (T)0))
#define QUICK_ORDERED(id, T, identity)                                                                                 \
    /* Of at least as many elements as are looked at together; the last ones may be looked at twice. */                \
    VM_INLINE bool id##_quick(T *out, const T *v, int64_t n) {                                                         \
        enum { LANES = ORDERED_VECTORS * VECTOR_ELEMENTS(T), HALF = LANES / 2 };                                       \
        const T *last = v + n - LANES;                                                                                 \
        T lane[LANES];                                                                                                 \
        FLAG(T) nan[HALF];                                                                                             \
        EACH_ORDERED(T) lane[l] = identity;                                                                            \
        EACH_LANE(HALF) nan[l] = 0;                                                                                    \
        for (;; v = last - v < LANES ? last : v + LANES) {                                                             \
            EACH_ORDERED(T) lane[l] = id##_winner(v[l], lane[l]);                                                      \
            EACH_LANE(HALF) nan[l] |= __builtin_isunordered(v[l], v[l + HALF]) ? -1 : 0;                               \
            if (v == last)                                                                                             \
                break;                                                                                                 \
        }                                                                                                              \
        EACH_HALF_OF(LANES) lane[l] = id##_winner(lane[l + half], lane[l]);                                            \
        EACH_HALF_OF(HALF) nan[l] |= nan[l + half];                                                                    \
        *out = lane[0];                                                                                                \
        return nan[0] == 0 && lane[0] != 0;                                                                            \
    }
/* A strip of columns without NaN of which none has a zero as its result. */
#define QUICK_STRIP(id, T)                                                                                             \
    VM_INLINE bool id##_strip(T *o, const char *row, int64_t step, int64_t rows) {                                     \
        enum { HALF = STRIP / 2, N = VECTOR_ELEMENTS(T) };                                                             \
        T acc[STRIP][N];                                                                                               \
        FLAG(T) rare[HALF][N];                                                                                         \
        const T *v = (const T *)row;                                                                                   \
        EACH_VECTOR(STRIP) EACH_LANE(N) acc[g][l] = v[g * N + l];                                                      \
        EACH_VECTOR(HALF)                                                                                              \
        EACH_LANE(N) rare[g][l] = __builtin_isunordered(v[g * N + l], v[(g + HALF) * N + l]) ? -1 : 0;                 \
        for (int64_t r = 1; r < rows; r++) {                                                                           \
            v = (const T *)(row += step);                                                                              \
            EACH_VECTOR(STRIP) EACH_LANE(N) acc[g][l] = id##_winner(v[g * N + l], acc[g][l]);                          \
            EACH_VECTOR(HALF)                                                                                          \
            EACH_LANE(N) rare[g][l] |= __builtin_isunordered(v[g * N + l], v[(g + HALF) * N + l]) ? -1 : 0;            \
        }                                                                                                              \
        EACH_VECTOR(STRIP) EACH_LANE(N) rare[g % HALF][l] |= acc[g][l] == 0 ? -1 : 0;                                  \
        EACH_VECTOR(STRIP) EACH_LANE(N) o[g * N + l] = acc[g][l];                                                      \
        for (int g = 1; g < HALF; g++)                                                                                 \
            EACH_LANE(N) rare[0][l] |= rare[g][l];                                                                     \
        EACH_HALF_OF(N) rare[0][l] |= rare[0][l + half];                                                               \
        return rare[0][0] == 0;                                                                                        \
    }
#define FOLD_ORDERED(id, T, text, BEATS, identity)                                                                     \
    FOLD_WINNER(id, T, text, BEATS, identity)                                                                          \
    QUICK_ORDERED(id, T, identity)                                                                                     \
    QUICK_LEAVES(id, T)                                                                                                \
    QUICK_STRIP(id, T)                                                                                                 \
    DOWN_BY(id, T, text,                                                                                               \
            if (!id##_strip(o + c, (const char *)((const T *)in + c), step, rows)) DOWN_STRIP(T, STRIP, c, text))

/* NaN is left out, since it never wins as a. What begins as START, the worst number, stays so if nothing else is there
 * but NaN. */
#define QUICK_NUMBERS(id, T, START)                                                                                    \
    VM_INLINE bool id##_quick(T *out, const T *v, int64_t n) {                                                         \
        enum { LANES = ORDERED_VECTORS * VECTOR_ELEMENTS(T) };                                                         \
        const T *last = v + n - LANES;                                                                                 \
        T lane[LANES];                                                                                                 \
        EACH_ORDERED(T) lane[l] = START;                                                                               \
        for (;; v = last - v < LANES ? last : v + LANES) {                                                             \
            EACH_ORDERED(T) lane[l] = id##_winner(v[l], lane[l]);                                                      \
            if (v == last)                                                                                             \
                break;                                                                                                 \
        }                                                                                                              \
        EACH_HALF_OF(LANES) lane[l] = id##_winner(lane[l + half], lane[l]);                                            \
        *out = lane[0];                                                                                                \
        return lane[0] != START && lane[0] != 0;                                                                       \
    }
#define FOLD_NUMBERS(id, T, text, BEATS, identity, START)                                                              \
    FOLD_WINNER(id, T, text, BEATS, identity)                                                                          \
    DOWN(id, T, text)                                                                                                  \
    QUICK_NUMBERS(id, T, START)                                                                                        \
    QUICK_LEAVES(id, T)

/* The first of the best elements. Most blocks of CHOICE_VECTORS vectors have none that wins against the best so far;
 * from the first other one on, lanes find the best value of what is left, and its place is the first that it does not
 * win against. `BEATS` tells of numbers, `WINS` of NaNs, too: these win against numbers, and nothing wins against
 * them. Flags are set by choice, which compilers turn into vectors of masks. */
enum { CHOICE_VECTORS = 16, CHOICE_LANES = 4 /* vectors that are looked at together */ };
#define EACH_CHOICE(T) EACH_LANE(CHOICE_LANES *VECTOR_ELEMENTS(T))
#define EACH_HALF(T)                                                                                                   \
    _Pragma("GCC unroll 8") for (int half = CHOICE_LANES / 2 * VECTOR_ELEMENTS(T); half > 0;                           \
                                 half /= 2) for (int l = 0; l < half; l++)
#define CHOICE(id, T, BEATS, WINS)                                                                                     \
    static inline bool id##_beats(T a, T b) {                                                                          \
        return BEATS;                                                                                                  \
    }                                                                                                                  \
    static inline int id##_wins(T a, T b) {                                                                            \
        return WINS;                                                                                                   \
    }                                                                                                                  \
    VM_INLINE bool id##_set(FLAG(T) * flag) {                                                                          \
        EACH_HALF(T) flag[l] |= flag[l + half];                                                                        \
        return flag[0] != 0;                                                                                           \
    }                                                                                                                  \
    VM_INLINE bool id##_any(const T *v, T best) {                                                                      \
        FLAG(T) any[CHOICE_LANES * VECTOR_ELEMENTS(T)] = {0};                                                          \
        for (int i = 0; i < CHOICE_VECTORS / CHOICE_LANES; i++, v += CHOICE_LANES * VECTOR_ELEMENTS(T))                \
            EACH_CHOICE(T) any[l] = id##_wins(v[l], best) ? 1 : any[l];                                                \
        return id##_set(any);                                                                                          \
    }                                                                                                                  \
    /* Of at least so many elements as there are lanes; the last ones may be looked at twice. */                       \
    VM_INLINE T id##_best(const T *v, int64_t n) {                                                                     \
        T lane[CHOICE_LANES * VECTOR_ELEMENTS(T)];                                                                     \
        FLAG(T) nan[CHOICE_LANES * VECTOR_ELEMENTS(T)];                                                                \
        const T *last = v + n - CHOICE_LANES * VECTOR_ELEMENTS(T);                                                     \
        EACH_CHOICE(T) lane[l] = v[l], nan[l] = v[l] != v[l];                                                          \
        while (v < last) {                                                                                             \
            v = last - v < CHOICE_LANES * VECTOR_ELEMENTS(T) ? last : v + CHOICE_LANES * VECTOR_ELEMENTS(T);           \
            EACH_CHOICE(T) {                                                                                           \
                lane[l] = id##_beats(v[l], lane[l]) ? v[l] : lane[l];                                                  \
                nan[l] = v[l] != v[l] ? 1 : nan[l];                                                                    \
            }                                                                                                          \
        }                                                                                                              \
        EACH_HALF(T) lane[l] = id##_beats(lane[l + half], lane[l]) ? lane[l + half] : lane[l];                         \
        return id##_set(nan) ? (T)NAN : lane[0];                                                                       \
    }                                                                                                                  \
    VM_INLINE bool id##_meets(const T *v, int n, T best) {                                                             \
        FLAG(T) met = 0;                                                                                               \
        for (int l = 0; l < n; l++)                                                                                    \
            met = id##_wins(best, v[l]) ? met : 1;                                                                     \
        return met != 0;                                                                                               \
    }                                                                                                                  \
    VM_INLINE int64_t id##_place(const T *v, int64_t n, T best) {                                                      \
        int64_t i = 0;                                                                                                 \
        while (i + CHOICE_LANES * VECTOR_ELEMENTS(T) <= n &&                                                           \
               !id##_meets(v + i, CHOICE_LANES * VECTOR_ELEMENTS(T), best))                                            \
            i += CHOICE_LANES * VECTOR_ELEMENTS(T);                                                                    \
        while (i + VECTOR_ELEMENTS(T) <= n && !id##_meets(v + i, VECTOR_ELEMENTS(T), best))                            \
            i += VECTOR_ELEMENTS(T);                                                                                   \
        while (id##_wins(best, v[i]))                                                                                  \
            i++;                                                                                                       \
        return i;                                                                                                      \
    }                                                                                                                  \
    static void id##_first(void *out, int32_t *index, const void *in, int64_t n, int32_t base) {                       \
        T *best = out;                                                                                                 \
        const T *v = in;                                                                                               \
        const bool none = *index < 0 && n > 0;                                                                         \
        int64_t i = 0;                                                                                                 \
        if (none)                                                                                                      \
            *best = v[0], *index = base;                                                                               \
        if (*best != *best)                                                                                            \
            return;                                                                                                    \
        while (!none && n - i >= CHOICE_VECTORS * VECTOR_ELEMENTS(T) && !id##_any(v + i, *best))                       \
            i += CHOICE_VECTORS * VECTOR_ELEMENTS(T);                                                                  \
        if (n - i >= CHOICE_LANES * VECTOR_ELEMENTS(T)) {                                                              \
            const T most = id##_best(v + i, n - i);                                                                    \
            if (id##_wins(most, *best))                                                                                \
                *best = most, *index = base + (int32_t)(i + id##_place(v + i, n - i, most));                           \
            return;                                                                                                    \
        }                                                                                                              \
        for (; i < n; i++)                                                                                             \
            if (id##_wins(v[i], *best))                                                                                \
                *best = v[i], *index = base + (int32_t)i;                                                              \
    }                                                                                                                  \
    VM_INLINE void id##_strip(T *best, int32_t *index, const T *in, int64_t step, int64_t rows, int32_t row,           \
                              int count) {                                                                             \
        T lane[GROUP_MAX][LAZY_LANES];                                                                                 \
        int32_t at[GROUP_MAX][LAZY_LANES];                                                                             \
        EACH_LEAF EACH_LANE(LAZY_LANES) lane[g][l] = best[g * LAZY_LANES + l];                                         \
        EACH_LEAF EACH_LANE(LAZY_LANES) at[g][l] = index[g * LAZY_LANES + l];                                          \
        for (int64_t r = 0; r < rows; r++) {                                                                           \
            const T *v = (const T *)((const char *)in + r * step);                                                     \
            EACH_LEAF EACH_LANE(LAZY_LANES) {                                                                          \
                const T next = v[g * LAZY_LANES + l];                                                                  \
                const int wins = id##_wins(next, lane[g][l]);                                                          \
                lane[g][l] = wins ? next : lane[g][l];                                                                 \
                at[g][l] = wins ? row + (int32_t)r : at[g][l];                                                         \
            }                                                                                                          \
        }                                                                                                              \
        EACH_LEAF EACH_LANE(LAZY_LANES) best[g * LAZY_LANES + l] = lane[g][l];                                         \
        EACH_LEAF EACH_LANE(LAZY_LANES) index[g * LAZY_LANES + l] = at[g][l];                                          \
    }                                                                                                                  \
    static void id##_columns(void *out, int32_t *index, const void *in, int64_t step, int64_t n, int64_t rows,         \
                             int32_t row) {                                                                            \
        T *best = out;                                                                                                 \
        const T *from = in;                                                                                            \
        int64_t c = 0;                                                                                                 \
        for (int64_t i = 0; i < n && index[n - 1] < 0; i++)                                                            \
            best[i] = from[i], index[i] = row;                                                                         \
        for (; c + GROUP(T) * LAZY_LANES <= n; c += GROUP(T) * LAZY_LANES)                                             \
            id##_strip(best + c, index + c, from + c, step, rows, row, GROUP(T));                                      \
        for (; c + LAZY_LANES <= n; c += LAZY_LANES)                                                                   \
            id##_strip(best + c, index + c, from + c, step, rows, row, 1);                                             \
        if (c < n && n >= LAZY_LANES) { /* what is looked at again does not win again */                               \
            id##_strip(best + n - LAZY_LANES, index + n - LAZY_LANES, from + n - LAZY_LANES, step, rows, row, 1);      \
            c = n;                                                                                                     \
        }                                                                                                              \
        for (int64_t r = 0; r < rows && c < n; r++) {                                                                  \
            const T *v = (const T *)((const char *)in + r * step);                                                     \
            for (int64_t i = c; i < n; i++)                                                                            \
                if (id##_wins(v[i], best[i]))                                                                          \
                    best[i] = v[i], index[i] = row + (int32_t)r;                                                       \
        }                                                                                                              \
    }

#include "folds_gen.h"

#define TABLE_NAME(isa) TABLE_NAME_OF(isa)
#define TABLE_NAME_OF(isa) lazy_folds_##isa

const lazy_folds TABLE_NAME(NEAP_ISA) = {
    .fold = fold_table,
    .choice = choice_table,
    .summed = summed_table,
    .nsummed = sizeof summed_table / sizeof *summed_table,
};
