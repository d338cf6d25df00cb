/* scatter.c: rows written, or combined with what is there, at places that are data (simd.h has the contract). Places
 * are found for a block of indices at a time, those outside of a range left out; then rows go there in the order of the
 * indices. This file is compiled once per instruction set (-DNEAP_ISA).
 */
#if defined(__AVX512F__)
#include <immintrin.h>
#endif
#include <string.h>

#include "lazy/vm/simd/simd.h"
#include "lazy/vm/simd/vmath.h"

enum { LINE = 64, AHEAD_ROWS = 8 };

/* ---- Places ------------------------------------------------------------------------------------------------------ */
/* The rows that indices name, counted from `low`; what lies outside of the range is `count` or more. W is a type that
 * has all indices and the extent, U the same without a sign. */
#define ROWS_LOOP(kind, I, W, U, most)                                                                                 \
    for (int64_t k = 0; k < n; k++) {                                                                                  \
        const I given = ((const I *)indices)[k];                                                                       \
        const W at = (W)((W)given + ((kind) == 'i' && given < 0 ? (W)extent : 0));                                     \
        const U row = (U)at - (U)low;                                                                                  \
        places->row[k] = (uint32_t)(row < (U)count ? row : (U)(most));                                                 \
        inside += row < (U)count;                                                                                      \
    }
#define ROWS(NAME, name, kind, I, bits, ...)                                                                           \
    static int64_t rows_##name(lazy_places *places, const void *indices, int64_t n, int64_t extent, int64_t low,       \
                               int64_t count) {                                                                        \
        uint32_t inside = 0;                                                                                           \
        if ((bits) < 64 && extent <= INT32_MAX)                                                                        \
            ROWS_LOOP(kind, I, int32_t, uint32_t, UINT32_MAX)                                                          \
        else                                                                                                           \
            ROWS_LOOP(kind, I, int64_t, uint64_t, UINT32_MAX)                                                          \
        return inside;                                                                                                 \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
NEAP_DTYPE_INTEGER_ROWS(ROWS)
#pragma GCC diagnostic pop

/* Drops the rows that lie outside. No branch depends on an index: whether it is inside cannot be foretold. */
static void keep_inside(lazy_places *places, int64_t n, int64_t count) {
#if defined(__AVX512F__)
    const __m512i most = _mm512_set1_epi32((int)count), step = _mm512_set1_epi32(16);
    __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int64_t k = 0, found = 0; k < n; k += 16, number = _mm512_add_epi32(number, step)) {
        const __mmask16 there = n - k < 16 ? (__mmask16)((1u << (n - k)) - 1) : 0xffff;
        const __m512i row = _mm512_loadu_si512(places->row + k);
        const __mmask16 inside = _mm512_mask_cmplt_epu32_mask(there, row, most);
        _mm512_storeu_si512(places->row + found, _mm512_maskz_compress_epi32(inside, row));
        _mm512_storeu_si512(places->from + found, _mm512_maskz_compress_epi32(inside, number));
        found += __builtin_popcount(inside);
    }
#else
    for (int64_t k = 0, found = 0; k < n; k++) {
        const uint32_t row = places->row[k];
        places->row[found] = row;
        places->from[found] = (uint32_t)k;
        found += row < (uint32_t)count;
    }
#endif
}

#define FIND(NAME, name, ...)                                                                                          \
    static int64_t find_##name(lazy_places *places, const void *indices, int64_t n, int64_t extent, int64_t low,       \
                               int64_t high) {                                                                         \
        const int64_t inside = rows_##name(places, indices, n, extent, low, high - low);                               \
        places->none_out = inside == n;                                                                                \
        if (inside < n)                                                                                                \
            keep_inside(places, n, high - low);                                                                        \
        return inside;                                                                                                 \
    }
NEAP_DTYPE_INTEGER_ROWS(FIND)

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
static void ask_row(const void *row, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch((const char *)row + at, 1);
}

/* a is what is there, b what comes. */
#define PUT(id, T, text)                                                                                               \
    static void id(void *out, const void *in, const lazy_places *places, int64_t count, int64_t length) {              \
        T *o = out;                                                                                                    \
        const T *v = in;                                                                                               \
        if (length == 1 && places->none_out) {                                                                         \
            for (int64_t k = 0; k < count; k++) {                                                                      \
                const T a = o[places->row[k]], b = v[k];                                                               \
                (void)a;                                                                                               \
                o[places->row[k]] = text;                                                                              \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        if (length == 1) {                                                                                             \
            for (int64_t k = 0; k < count; k++) {                                                                      \
                const T a = o[places->row[k]], b = v[places->from[k]];                                                 \
                (void)a;                                                                                               \
                o[places->row[k]] = text;                                                                              \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t k = 0; k < count; k++) {                                                                          \
            T *to = o + places->row[k] * length;                                                                       \
            const T *from = v + (places->none_out ? k : places->from[k]) * length;                                     \
            if (k + AHEAD_ROWS < count)                                                                                \
                ask_row(o + places->row[k + AHEAD_ROWS] * length, length * (int64_t)sizeof(T));                        \
            _Pragma("GCC ivdep") for (int64_t i = 0; i < length; i++) {                                                \
                const T a = to[i], b = from[i];                                                                        \
                (void)a;                                                                                               \
                to[i] = text;                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
    }
PUT(set_8, uint8_t, b)
PUT(set_16, uint16_t, b)
PUT(set_32, uint32_t, b)
PUT(set_64, uint64_t, b)
PUT(set_128, neap_c128, b)
/* As the rows of maps have it. Signed integers are added and multiplied as unsigned ones, so that they wrap around. */
PUT(add_bool, uint8_t, a | b)
PUT(multiply_bool, uint8_t, a &b)
PUT(maximum_bool, uint8_t, a | b)
PUT(minimum_bool, uint8_t, a &b)
PUT(add_8, uint8_t, (uint8_t)(a + b))
PUT(add_16, uint16_t, (uint16_t)(a + b))
PUT(add_32, uint32_t, a + b)
PUT(add_64, uint64_t, a + b)
PUT(multiply_8, uint8_t, (uint8_t)(a *b))
PUT(multiply_16, uint16_t, (uint16_t)((uint32_t)a *b))
PUT(multiply_32, uint32_t, a *b)
PUT(multiply_64, uint64_t, a *b)
#define PUT_INTEGER(NAME, name, kind, T, ...)                                                                          \
    PUT(maximum_##name, T, a > b ? a : b)                                                                              \
    PUT(minimum_##name, T, a < b ? a : b)
#define PUT_REAL(NAME, name, kind, T, ...)                                                                             \
    PUT(add_##name, T, a + b)                                                                                          \
    PUT(multiply_##name, T, a *b)                                                                                      \
    PUT(maximum_##name, T, vm_max_##name(a, b))                                                                        \
    PUT(minimum_##name, T, vm_min_##name(a, b))
#define PUT_COMPLEX(NAME, name, kind, T, ...)                                                                          \
    PUT(add_##name, T, a + b)                                                                                          \
    PUT(multiply_##name, T, vm_multiply_##name(a, b))
NEAP_DTYPE_INTEGER_ROWS(PUT_INTEGER)
NEAP_DTYPE_REAL_ROWS(PUT_REAL)
NEAP_DTYPE_COMPLEX_ROWS(PUT_COMPLEX)

#define TABLE_NAME(isa) TABLE_NAME_OF(isa)
#define TABLE_NAME_OF(isa) lazy_scatter_##isa
#define OF_WIDTH(id, bits) OF_WIDTH_(id, bits)
#define OF_WIDTH_(id, bits) id##_##bits
#define FIND_OF(NAME, name, ...) [NEAP_DTYPE_##NAME] = find_##name,
#define SET_OF(NAME, name, kind, T, bits, ...) [NEAP_DTYPE_##NAME] = OF_WIDTH(set, bits),
#define ADD_INTEGER(NAME, name, kind, T, bits, ...) [NEAP_DTYPE_##NAME] = OF_WIDTH(add, bits),
#define ADD(NAME, name, ...) [NEAP_DTYPE_##NAME] = add_##name,
#define MULTIPLY_INTEGER(NAME, name, kind, T, bits, ...) [NEAP_DTYPE_##NAME] = OF_WIDTH(multiply, bits),
#define MULTIPLY(NAME, name, ...) [NEAP_DTYPE_##NAME] = multiply_##name,
#define MAXIMUM(NAME, name, ...) [NEAP_DTYPE_##NAME] = maximum_##name,
#define MINIMUM(NAME, name, ...) [NEAP_DTYPE_##NAME] = minimum_##name,

const lazy_scatter TABLE_NAME(NEAP_ISA) = {
    .find = {NEAP_DTYPE_INTEGER_ROWS(FIND_OF)},
    .put = {[LAZY_PUT_SET] = {NEAP_DTYPE_ROWS(SET_OF)},
            [LAZY_PUT_ADD] = {NEAP_DTYPE_BOOL_ROWS(ADD) NEAP_DTYPE_INTEGER_ROWS(ADD_INTEGER) NEAP_DTYPE_REAL_ROWS(ADD)
                                  NEAP_DTYPE_COMPLEX_ROWS(ADD)},
            [LAZY_PUT_MULTIPLY] = {NEAP_DTYPE_BOOL_ROWS(MULTIPLY) NEAP_DTYPE_INTEGER_ROWS(MULTIPLY_INTEGER)
                                       NEAP_DTYPE_REAL_ROWS(MULTIPLY) NEAP_DTYPE_COMPLEX_ROWS(MULTIPLY)},
            [LAZY_PUT_MAXIMUM] = {NEAP_DTYPE_PLAIN_ROWS(MAXIMUM)},
            [LAZY_PUT_MINIMUM] = {NEAP_DTYPE_PLAIN_ROWS(MINIMUM)}},
};
