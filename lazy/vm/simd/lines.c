/* lines.c: sliding products, and the places of values in a line that is in order (lines.h has the contract). This file
 * is compiled once per instruction set (-DNEAP_ISA).
 */
#include <math.h>
#include <string.h>

#include "lazy/vm/simd/simd.h"

static inline int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* ---- Sliding products -------------------------------------------------------------------------------------------- */
/* A block of results is added up together: SIDE vectors, which stay in registers while taps go by that all of the block
 * has products of. At an end of the line a tap has products for a part of the block alone. A is the type of arithmetic,
 * in which nothing overflows: of integers the unsigned one. */
#if defined(__AVX512F__)
enum { VECTOR_BYTES = 64, SIDE = 4 };
#elif defined(__AVX2__)
enum { VECTOR_BYTES = 32, SIDE = 8 };
#else
enum { VECTOR_BYTES = 16, SIDE = 8 };
#endif

#define SLIDE(name, T, A, NOTHING)                                                                                     \
    typedef A vector_##name __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(A)), may_alias));                 \
    enum { WIDE_##name = SIDE * VECTOR_BYTES / sizeof(A) };                                                            \
                                                                                                                       \
    static void whole_##name(A *acc, const A *in, const A *taps, int64_t count) {                                      \
        vector_##name sums[SIDE];                                                                                      \
        memcpy(sums, acc, sizeof sums);                                                                                \
        for (int64_t j = 0; j < count; j++) {                                                                          \
            const vector_##name *x = (const vector_##name *)(in + j);                                                  \
            _Pragma("GCC unroll 8") for (int k = 0; k < SIDE; k++) sums[k] += x[k] * taps[j];                          \
        }                                                                                                              \
        memcpy(acc, sums, sizeof sums);                                                                                \
    }                                                                                                                  \
    /* The products of taps from..to-1 in the block whose first result is i; `all`: every result has them. */          \
    static void part_##name(A *acc, const A *in, int64_t n, const A *taps, int64_t at, int64_t from, int64_t to) {     \
        for (int64_t j = from; j < to; j++) {                                                                          \
            const int64_t low = most(0, -(at + j)), high = least(WIDE_##name, n - (at + j));                           \
            for (int64_t l = low; l < high; l++)                                                                       \
                acc[l] += in[at + j + l] * taps[j];                                                                    \
        }                                                                                                              \
    }                                                                                                                  \
    static void block_##name(A *sums, const A *in, int64_t n, const A *taps, int64_t m, int64_t at) {                  \
        const int64_t low = most(0, 1 - WIDE_##name - at), high = least(m, n - at);                                    \
        const int64_t from = most(0, -at), to = least(m, n - at - WIDE_##name + 1);                                    \
        for (int k = 0; k < WIDE_##name; k++)                                                                          \
            sums[k] = NOTHING;                                                                                         \
        for (int64_t run = low - low % LAZY_SLIDE_RUN; run < high; run += LAZY_SLIDE_RUN) {                            \
            const int64_t first = most(run, low), end = least(run + LAZY_SLIDE_RUN, high);                             \
            const int64_t whole = least(most(first, from), end), behind = least(most(whole, to), end);                 \
            A acc[WIDE_##name];                                                                                        \
            for (int k = 0; k < WIDE_##name; k++)                                                                      \
                acc[k] = NOTHING;                                                                                      \
            part_##name(acc, in, n, taps, at, first, whole);                                                           \
            if (behind > whole)                                                                                        \
                whole_##name(acc, in + at + whole, taps + whole, behind - whole);                                      \
            part_##name(acc, in, n, taps, at, behind, end);                                                            \
            for (int k = 0; k < WIDE_##name; k++)                                                                      \
                sums[k] += acc[k];                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    static void slide_##name(void *to, const void *from, int64_t n, const void *with, int64_t m, int64_t before,       \
                             int64_t first, int64_t end) {                                                             \
        A *out = to;                                                                                                   \
        for (int64_t i = first; i < end; i += WIDE_##name) {                                                           \
            if (end - i < WIDE_##name) /* the last ones once more, if there are enough */                              \
                i = most(first, end - WIDE_##name);                                                                    \
            A sums[WIDE_##name];                                                                                       \
            block_##name(sums, from, n, with, m, i - before);                                                          \
            memcpy(out + (i - first), sums, sizeof(A) * (size_t)least(WIDE_##name, end - i));                          \
        }                                                                                                              \
    }
SLIDE(f32, float, float, -0.0F) /* what changes no number that it is added to */
SLIDE(f64, double, double, -0.0)
SLIDE(i32, int32_t, uint32_t, 0)
SLIDE(i64, int64_t, uint64_t, 0)

/* ---- Places ------------------------------------------------------------------------------------------------------ */
/* Some values at a time, without a branch: each reads where its bucket begins, and halves what it may be in, so that
 * many reads are under way together. B: the type of the arithmetic of buckets. A probe behind the last element reads
 * that one: it is before a value if all are. */
enum { TOGETHER = 64 };

#define FIND_SIDE(name, T, B, before)                                                                                  \
    static void find_##name(int32_t *restrict out, const lazy_lookup *lookup, const T *restrict v) {                   \
        const T *restrict a = lookup->sorted;                                                                          \
        const int32_t *restrict starts = lookup->starts;                                                               \
        const B low = (B)lookup->low, high = (B)lookup->high, scale = (B)lookup->scale;                                \
        const int32_t last = lookup->buckets - 1, n = lookup->numbers;                                                 \
        int32_t at[TOGETHER];                                                                                          \
        for (int k = 0; k < TOGETHER; k++)                                                                             \
            at[k] = starts[BUCKET(B, v[k])];                                                                           \
        for (int32_t half = lookup->half; half > 0; half /= 2) {                                                       \
            for (int k = 0; k < TOGETHER; k++) {                                                                       \
                const int32_t behind = at[k] < n - half ? at[k] + half : n;                                            \
                at[k] = a[behind - 1] before v[k] ? behind : at[k];                                                    \
            }                                                                                                          \
        }                                                                                                              \
        memcpy(out, at, sizeof at);                                                                                    \
    }

/* Of NaN bucket 0. */
#define BUCKET(B, value) bucket_of_##B((B)(value), low, high, scale, last)
#define BUCKET_OF(B)                                                                                                   \
    static inline int32_t bucket_of_##B(B v, B low, B high, B scale, int32_t last) {                                   \
        v = v > low ? v : low;                                                                                         \
        v = v < high ? v : high;                                                                                       \
        const int32_t bucket = (int32_t)((v - low) * scale);                                                           \
        return bucket < last ? bucket : last;                                                                          \
    }
BUCKET_OF(float)
BUCKET_OF(double)

#define FIND(name, T, B)                                                                                               \
    FIND_SIDE(left_##name, T, B, <)                                                                                    \
    FIND_SIDE(right_##name, T, B, <=)                                                                                  \
    static void find_##name(int32_t *out, const lazy_lookup *lookup, const void *values, int64_t m, bool right) {      \
        const T *v = values;                                                                                           \
        const int32_t nan = right ? lookup->n : lookup->numbers;                                                       \
        for (int64_t i = 0; i < m; i += TOGETHER) {                                                                    \
            const int64_t count = least(TOGETHER, m - i);                                                              \
            T some[TOGETHER] = {0};                                                                                    \
            int32_t found[TOGETHER] = {0};                                                                             \
            memcpy(some, v + i, (size_t)count * sizeof *v);                                                            \
            if (lookup->numbers > 0 && right)                                                                          \
                find_right_##name(found, lookup, some);                                                                \
            else if (lookup->numbers > 0)                                                                              \
                find_left_##name(found, lookup, some);                                                                 \
            for (int k = 0; k < TOGETHER; k++)                                                                         \
                found[k] = some[k] == some[k] ? found[k] : nan;                                                        \
            memcpy(out + i, found, (size_t)count * sizeof *out);                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    /* Where the NaNs of a line begin. */                                                                              \
    static int32_t numbers_##name(const T *a, int32_t n) {                                                             \
        int32_t at = 0;                                                                                                \
        for (int32_t end = n; at < end;) {                                                                             \
            const int32_t middle = at + (end - at) / 2;                                                                \
            const bool number = a[middle] == a[middle];                                                                \
            at = number ? middle + 1 : at;                                                                             \
            end = number ? end : middle;                                                                               \
        }                                                                                                              \
        return at;                                                                                                     \
    }                                                                                                                  \
    static void cut_##name(lazy_lookup *lookup, const void *sorted, int32_t n, int32_t *starts, int32_t buckets) {     \
        const T *a = sorted;                                                                                           \
        const int32_t numbers = numbers_##name(a, n);                                                                  \
        int32_t first = 0, end = numbers;                                                                              \
        while (first < end && !(fabs((double)(B)a[first]) <= FINITE_##B))                                              \
            first++;                                                                                                   \
        while (first < end && !(fabs((double)(B)a[end - 1]) <= FINITE_##B))                                            \
            end--;                                                                                                     \
        B low = first < end ? (B)a[first] : 0, high = first < end ? (B)a[end - 1] : 0;                                 \
        B scale = high > low ? (B)buckets / (high - low) : 0;                                                          \
        if (buckets < 2 || !(scale > 0 && scale <= (B)FINITE_##B)) {                                                   \
            buckets = 1;                                                                                               \
            low = high = scale = 0;                                                                                    \
        }                                                                                                              \
        const int32_t last = buckets - 1;                                                                              \
        int32_t widest = 0;                                                                                            \
        starts[0] = 0;                                                                                                 \
        for (int32_t b = 0, at = 0; b < buckets; b++) {                                                                \
            starts[b] = at;                                                                                            \
            if (b == last)                                                                                             \
                at = numbers;                                                                                          \
            while (at < numbers && BUCKET(B, a[at]) <= b)                                                              \
                at++;                                                                                                  \
            widest = at - starts[b] > widest ? at - starts[b] : widest;                                                \
        }                                                                                                              \
        int32_t half = widest > 0;                                                                                     \
        while (half <= widest / 2 && half > 0)                                                                         \
            half *= 2;                                                                                                 \
        *lookup = (lazy_lookup){sorted, n, numbers, starts, (double)low, (double)high, (double)scale, buckets, half};  \
    }
/* No distance of two such numbers is infinite. */
#define FINITE_float 1e38
#define FINITE_double 8e307

FIND(bool, uint8_t, float)
FIND(i8, int8_t, float)
FIND(u8, uint8_t, float)
FIND(i16, int16_t, float)
FIND(u16, uint16_t, float)
FIND(i32, int32_t, float)
FIND(u32, uint32_t, float)
FIND(i64, int64_t, double)
FIND(u64, uint64_t, double)
FIND(f32, float, float)
FIND(f64, double, double)

#define TABLE_NAME(isa) TABLE_NAME_OF(isa)
#define TABLE_NAME_OF(isa) lazy_lines_##isa
#define CUT(NAME, name, ...) [NEAP_DTYPE_##NAME] = cut_##name,
#define FIND_ENTRY(NAME, name, ...) [NEAP_DTYPE_##NAME] = find_##name,

const lazy_lines TABLE_NAME(NEAP_ISA) = {
    .slide = {[NEAP_DTYPE_F32] = slide_f32,
              [NEAP_DTYPE_F64] = slide_f64,
              [NEAP_DTYPE_I32] = slide_i32,
              [NEAP_DTYPE_U32] = slide_i32,
              [NEAP_DTYPE_I64] = slide_i64,
              [NEAP_DTYPE_U64] = slide_i64},
    .cut = {NEAP_DTYPE_PLAIN_ROWS(CUT)},
    .find = {NEAP_DTYPE_PLAIN_ROWS(FIND_ENTRY)},
};
