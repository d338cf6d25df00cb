/* scans.c: cumulative operations on one block (scans.h has the order); compiled once per instruction set (-DNEAP_ISA).
 *
 * Rows keep a group of 16 elements in as many vectors as it takes: within a vector runs are joined by shuffles, between
 * vectors by spreading the last element of one. Columns keep the 16 elements of a line in 16 vectors of lines.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "lazy/vm/simd/scan_step.h"
#include "lazy/vm/simd/scans.h"
#include "lazy/vm/simd/vmath_complex.h"

#define TWO(X, l, d, n) X(l, d, n), X(l + 1, d, n)
#define FOUR(X, l, d, n) TWO(X, l, d, n), TWO(X, l + 2, d, n)
#define EIGHT(X, l, d, n) FOUR(X, l, d, n), FOUR(X, l + 4, d, n)
#if defined(__AVX512F__)
enum { VECTOR = 64 };
#define PLACES4(X, d) EIGHT(X, 0, d, 16), EIGHT(X, 8, d, 16)
#define PLACES8(X, d) EIGHT(X, 0, d, 8)
#elif defined(__AVX__)
enum { VECTOR = 32 };
#define PLACES4(X, d) EIGHT(X, 0, d, 8)
#define PLACES8(X, d) FOUR(X, 0, d, 4)
#else
enum { VECTOR = 16 };
#define PLACES4(X, d) FOUR(X, 0, d, 4)
#define PLACES8(X, d) TWO(X, 0, d, 2)
#endif

enum { GROUP = LAZY_SCAN_GROUP, WIDTH = LAZY_SCAN_WIDTH };

/* What lane l of n gets in the step that joins runs of d: the last of the run before, or a neutral element, which
 * stand behind. */
#define JOINED(l, d, n) ((l) & (d) ? ((l) & ~(2 * (d)-1)) + (d)-1 : (n) + (l))
#define LAST(l, d, n) (n) - 1
#define EACH(lines) _Pragma("omp simd") for (int64_t c = 0; c < (lines); c++)
#define STRAIGHT _Pragma("GCC unroll 16")
#define INLINE static inline __attribute__((always_inline))

#define JOIN(a, b) JOIN_OF(a, b)
#define JOIN_OF(a, b) a##b
#define NAME_OF(kind, dtype, x) NAME_OF_THESE(kind, dtype, x)
#define NAME_OF_THESE(kind, dtype, x) kind##_##dtype##_##x

/* ---- Operations on vectors of type V (those on elements: scan_step.h) -------------------------------------------- */
#define ADD_V(V, a, b) ((a) + (b))
#define TIMES_V(V, a, b) ((a) * (b))
#define CHOSEN_V(V, which, a, b) (((a) & (V)(which)) | ((b) & ~(V)(which)))
#define GREATER_V(V, a, b) CHOSEN_V(V, (a) > (b), a, b)
#define LESSER_V(V, a, b) CHOSEN_V(V, (a) < (b), a, b)

#define SAME_V(x) (x)
#define MARKED_V(x, nan, end, order) (((nan) & (end)) | (~(nan) & (order)))
#define HIGH32_V(x) MARKED_V(x, IS_NAN32(x), INT32_MAX, ORDERED32(x))
#define LOW32_V(x) MARKED_V(x, IS_NAN32(x), INT32_MIN, ORDERED32(x))
#define HIGH64_V(x) MARKED_V(x, IS_NAN64(x), INT64_MAX, ORDERED64(x))
#define LOW64_V(x) MARKED_V(x, IS_NAN64(x), INT64_MIN, ORDERED64(x))
/* Infinities, which lose, as bits. */
enum { LOWEST32 = (int32_t)0xff800000, HIGHEST32 = 0x7f800000 };
#define LOWEST64 ((int64_t)UINT64_C(0xfff0000000000000))
#define HIGHEST64 INT64_C(0x7ff0000000000000)

/* ---- Types: extrema of real numbers are those of integers -------------------------------------------------------- */
#define PLACES_u32 PLACES4
#define PLACES_i32 PLACES4
#define PLACES_f32 PLACES4
#define PLACES_u64 PLACES8
#define PLACES_i64 PLACES8
#define PLACES_f64 PLACES8
typedef uint8_t T_u8;
typedef uint16_t T_u16;
typedef uint32_t T_u32;
typedef uint64_t T_u64;
typedef int8_t T_i8;
typedef int16_t T_i16;
typedef int32_t T_i32, I_u32, I_i32, I_f32;
typedef int64_t T_i64, I_u64, I_i64, I_f64;

/* ---- The operations ---------------------------------------------------------------------------------------------- */
#define KIND sum
#define OP ADD
#define DTYPE u32
#define NEUTRAL 0
#include "lazy/vm/simd/scan_of.h"
#define DTYPE u64
#define NEUTRAL 0
#include "lazy/vm/simd/scan_of.h"
typedef float T_f32;
#define DTYPE f32
#define NEUTRAL -0.0f
#include "lazy/vm/simd/scan_of.h"
typedef double T_f64;
#define DTYPE f64
#define NEUTRAL -0.0
#include "lazy/vm/simd/scan_of.h"
#undef KIND
#undef OP

#define KIND prod
#define OP TIMES
#define DTYPE u32
#define NEUTRAL 1
#include "lazy/vm/simd/scan_of.h"
#define DTYPE u64
#define NEUTRAL 1
#include "lazy/vm/simd/scan_of.h"
#define DTYPE f32
#define NEUTRAL 1
#include "lazy/vm/simd/scan_of.h"
#define DTYPE f64
#define NEUTRAL 1
#include "lazy/vm/simd/scan_of.h"
#undef KIND
#undef OP

#define T_f32 int32_t
#define T_f64 int64_t
#define KIND max
#define OP GREATER
#define DTYPE u32
#define NEUTRAL 0
#include "lazy/vm/simd/scan_of.h"
#define DTYPE u64
#define NEUTRAL 0
#include "lazy/vm/simd/scan_of.h"
#define DTYPE i32
#define NEUTRAL INT32_MIN
#include "lazy/vm/simd/scan_of.h"
#define DTYPE i64
#define NEUTRAL INT64_MIN
#include "lazy/vm/simd/scan_of.h"
#define DTYPE f32
#define NEUTRAL INT32_MIN
#define LOAD HIGH32
#define STORE ORDERED32
#define PAD LOWEST32
#include "lazy/vm/simd/scan_of.h"
#define DTYPE f64
#define NEUTRAL INT64_MIN
#define LOAD HIGH64
#define STORE ORDERED64
#define PAD LOWEST64
#include "lazy/vm/simd/scan_of.h"
#define ONE_AT_A_TIME
#define DTYPE u8
#define NEUTRAL 0
#include "lazy/vm/simd/scan_of.h"
#define DTYPE u16
#define NEUTRAL 0
#include "lazy/vm/simd/scan_of.h"
#define DTYPE i8
#define NEUTRAL INT8_MIN
#include "lazy/vm/simd/scan_of.h"
#define DTYPE i16
#define NEUTRAL INT16_MIN
#include "lazy/vm/simd/scan_of.h"
#undef ONE_AT_A_TIME
#undef KIND
#undef OP

#define KIND min
#define OP LESSER
#define DTYPE u32
#define NEUTRAL UINT32_MAX
#include "lazy/vm/simd/scan_of.h"
#define DTYPE u64
#define NEUTRAL UINT64_MAX
#include "lazy/vm/simd/scan_of.h"
#define DTYPE i32
#define NEUTRAL INT32_MAX
#include "lazy/vm/simd/scan_of.h"
#define DTYPE i64
#define NEUTRAL INT64_MAX
#include "lazy/vm/simd/scan_of.h"
#define DTYPE f32
#define NEUTRAL INT32_MAX
#define LOAD LOW32
#define STORE ORDERED32
#define PAD HIGHEST32
#include "lazy/vm/simd/scan_of.h"
#define DTYPE f64
#define NEUTRAL INT64_MAX
#define LOAD LOW64
#define STORE ORDERED64
#define PAD HIGHEST64
#include "lazy/vm/simd/scan_of.h"
#define ONE_AT_A_TIME
#define DTYPE u8
#define NEUTRAL UINT8_MAX
#include "lazy/vm/simd/scan_of.h"
#define DTYPE u16
#define NEUTRAL UINT16_MAX
#include "lazy/vm/simd/scan_of.h"
#define DTYPE i8
#define NEUTRAL INT8_MAX
#include "lazy/vm/simd/scan_of.h"
#define DTYPE i16
#define NEUTRAL INT16_MAX
#include "lazy/vm/simd/scan_of.h"
#undef ONE_AT_A_TIME
#undef KIND
#undef OP

/* ---- Recurrences ------------------------------------------------------------------------------------------------- */
enum { TOGETHER = 8 }; /* rows whose steps wait for each other take turns */

#define RECURRENCE(name, T, TIMES_OF)                                                                                  \
    INLINE void recur_##name##_some(T *h, const T *a, const T *b, int64_t n, int lines, int step) {                    \
        T last[TOGETHER] = {0};                                                                                        \
        for (int64_t k = 0, i = step > 0 ? 0 : n - 1; k < n; k++, i += step)                                           \
            for (int l = 0; l < lines; l++) {                                                                          \
                const T factor = a[l * n + i], own = b[l * n + i], next = TIMES_OF(factor, last[l]) + own;             \
                h[l * n + i] = last[l] = factor == 0 ? own : next;                                                     \
            }                                                                                                          \
    }                                                                                                                  \
    static void recur_##name##_rows(void *h, const void *a, const void *b, int64_t n, int64_t lines, int step) {       \
        int64_t l = 0;                                                                                                 \
        for (; l + TOGETHER <= lines; l += TOGETHER)                                                                   \
            recur_##name##_some((T *)h + l * n, (const T *)a + l * n, (const T *)b + l * n, n, TOGETHER, step);        \
        for (; l < lines; l++)                                                                                         \
            recur_##name##_some((T *)h + l * n, (const T *)a + l * n, (const T *)b + l * n, n, 1, step);               \
    }                                                                                                                  \
    static void recur_##name##_columns(void *to, const void *x, const void *y, int64_t n, int64_t step,                \
                                       int64_t width) {                                                                \
        T *h = to, last[WIDTH] = {0};                                                                                  \
        const T *a = x, *b = y;                                                                                        \
        for (int64_t i = 0; i < n; i++, h += step, a += step, b += step)                                               \
            EACH(width) {                                                                                              \
                const T next = TIMES_OF(a[c], last[c]) + b[c];                                                         \
                h[c] = last[c] = a[c] == 0 ? b[c] : next;                                                              \
            }                                                                                                          \
    }
RECURRENCE(f32, float, TIMES)
RECURRENCE(f64, double, TIMES)
RECURRENCE(c64, neap_c64, vm_multiply_c64)
RECURRENCE(c128, neap_c128, vm_multiply_c128)

#define TURN(T)                                                                                                        \
    for (int64_t k = 0; k < n; k++)                                                                                    \
        ((T *)to)[k] = ((const T *)from)[n - 1 - k];

static void turn(void *restrict to, const void *restrict from, int64_t n, int bytes) {
    if (bytes == 1) {
        TURN(uint8_t)
    } else if (bytes == 2) {
        TURN(uint16_t)
    } else if (bytes == 4) {
        TURN(uint32_t)
    } else {
        TURN(uint64_t)
    }
}

/* ---- The table --------------------------------------------------------------------------------------------------- */
#define TABLE_NAME(isa) TABLE_NAME_OF(isa)
#define TABLE_NAME_OF(isa) lazy_scans_##isa
#define ENTRY(kind, own, member, neutral)                                                                              \
    {                                                                                                                  \
        .identity = {.member = neutral}, .row = kind##_##own##_row, .columns = kind##_##own##_columns,                 \
        .combine = kind##_##own##_combine                                                                              \
    }
/* Sums and products of signed integers are those of unsigned ones, which wrap around. */
#define WRAPPED(kind, zero32, zero64, zero)                                                                            \
    {                                                                                                                  \
        [NEAP_DTYPE_U32] = ENTRY(kind, u32, u32, zero), [NEAP_DTYPE_I32] = ENTRY(kind, u32, u32, zero),                \
        [NEAP_DTYPE_U64] = ENTRY(kind, u64, u64, zero), [NEAP_DTYPE_I64] = ENTRY(kind, u64, u64, zero),                \
        [NEAP_DTYPE_F32] = ENTRY(kind, f32, f32, zero32), [NEAP_DTYPE_F64] = ENTRY(kind, f64, f64, zero64)             \
    }
#define LOWEST_OF(NAME, name, kind, ctype, bits, digits, lowest, highest, ...)                                         \
    [NEAP_DTYPE_##NAME] = ENTRY(max, name, name, lowest),
#define HIGHEST_OF(NAME, name, kind, ctype, bits, digits, lowest, highest, ...)                                        \
    [NEAP_DTYPE_##NAME] = ENTRY(min, name, name, highest),

const lazy_scans TABLE_NAME(NEAP_ISA) = {
    .of =
        {[LAZY_SCAN_SUM] = WRAPPED(sum, -0.0f, -0.0, 0),
         [LAZY_SCAN_PROD] = WRAPPED(prod, 1, 1, 1),
         [LAZY_SCAN_MAX] =
             {NEAP_DTYPE_INTEGER_ROWS(LOWEST_OF)[NEAP_DTYPE_BOOL] = ENTRY(max, u8, u8, 0),
              [NEAP_DTYPE_F32] = ENTRY(max, f32, i32, INT32_MIN), [NEAP_DTYPE_F64] = ENTRY(max, f64, i64, INT64_MIN)},
         [LAZY_SCAN_MIN] =
             {NEAP_DTYPE_INTEGER_ROWS(HIGHEST_OF)[NEAP_DTYPE_BOOL] = ENTRY(min, u8, u8, UINT8_MAX),
              [NEAP_DTYPE_F32] = ENTRY(min, f32, i32, INT32_MAX), [NEAP_DTYPE_F64] = ENTRY(min, f64, i64, INT64_MAX)}},
    .recurrence = {[NEAP_DTYPE_F32] = {recur_f32_rows, recur_f32_columns},
                   [NEAP_DTYPE_F64] = {recur_f64_rows, recur_f64_columns},
                   [NEAP_DTYPE_C64] = {recur_c64_rows, recur_c64_columns},
                   [NEAP_DTYPE_C128] = {recur_c128_rows, recur_c128_columns}},
    .turn = turn,
};
