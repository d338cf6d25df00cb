/* marks.c: elements marked by bits, and the places of those that are (simd.h has the contract). 64 elements are
 * compared into bytes, which is a loop for vectors, and the bytes made a word; a few bits of a word then give their
 * places at once. No branch depends on an element. This file is compiled once per instruction set (-DNEAP_ISA).
 */
#if defined(__SSE2__)
#include <immintrin.h>
#endif
#include <string.h>

#include "lazy/vm/simd/simd.h"

enum { WORD = 64 };

/* Bit k of the result is set where byte k, 0 or 1, is. */
static inline uint64_t word_of(const uint8_t *bytes) {
#if defined(__AVX512BW__)
    const __m512i all = _mm512_loadu_si512(bytes);
    return _mm512_test_epi8_mask(all, all);
#elif defined(__AVX2__)
    const __m256i low = _mm256_loadu_si256((const __m256i *)bytes),
                  high = _mm256_loadu_si256((const __m256i *)bytes + 1);
    return (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(low, 7)) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(high, 7)) << 32;
#elif defined(__SSE2__)
    uint64_t word = 0;
    for (int k = 0; k < 4; k++) {
        const __m128i part = _mm_slli_epi16(_mm_loadu_si128((const __m128i *)bytes + k), 7);
        word |= (uint64_t)(uint32_t)_mm_movemask_epi8(part) << 16 * k;
    }
    return word;
#else
    uint64_t word = 0;
    for (int k = 0; k < WORD; k++)
        word |= (uint64_t)bytes[k] << k;
    return word;
#endif
}

/* ---- Marking ----------------------------------------------------------------------------------------------------- */
/* `text` tells of element i whether it is marked. */
#define MARK_WORDS(text)                                                                                               \
    for (int64_t first = 0; first < n; first += WORD) {                                                                \
        uint8_t bytes[WORD] = {0};                                                                                     \
        if (n - first >= WORD) {                                                                                       \
            for (int64_t k = 0; k < WORD; k++) {                                                                       \
                const int64_t i = first + k;                                                                           \
                bytes[k] = (text);                                                                                     \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int64_t i = first; i < n; i++)                                                                        \
                bytes[i - first] = (text);                                                                             \
        }                                                                                                              \
        words[first / WORD] = word_of(bytes);                                                                          \
    }
#define MARKS(nonzero, changes, above, T, differs)                                                                     \
    static void nonzero(uint64_t *restrict words, const void *in, int64_t n) {                                         \
        const T *x = in;                                                                                               \
        MARK_WORDS(x[i] != 0)                                                                                          \
    }                                                                                                                  \
    static void changes(uint64_t *restrict words, const void *in, int64_t n) {                                         \
        const T *x = in;                                                                                               \
        MARK_WORDS(differs(x[i - 1], x[i]))                                                                            \
    }                                                                                                                  \
    static int64_t above(uint64_t *word, const void *in, int64_t from, int64_t n, const void *than) {                  \
        const T *x = in, bound = *(const T *)than;                                                                     \
        for (; from + WORD <= n; from += WORD) {                                                                       \
            uint8_t bytes[WORD];                                                                                       \
            for (int64_t k = 0; k < WORD; k++)                                                                         \
                bytes[k] = x[from + k] > bound;                                                                        \
            if ((*word = word_of(bytes)) != 0)                                                                         \
                return from;                                                                                           \
        }                                                                                                              \
        *word = 0;                                                                                                     \
        for (int64_t i = from; i < n; i++)                                                                             \
            *word |= (uint64_t)(x[i] > bound) << (i - from);                                                           \
        return *word ? from : n;                                                                                       \
    }
#define INTEGER_DIFFERS(a, b) ((a) != (b))
#define REAL_DIFFERS(a, b) (((a) != (b)) & (((a) == (a)) | ((b) == (b))))
#define INTEGER_MARKS(NAME, name, kind, T, ...) MARKS(nonzero_##name, changes_##name, above_##name, T, INTEGER_DIFFERS)
#define REAL_MARKS(NAME, name, kind, T, ...) MARKS(nonzero_##name, changes_##name, above_##name, T, REAL_DIFFERS)
NEAP_DTYPE_BOOL_ROWS(INTEGER_MARKS)
NEAP_DTYPE_INTEGER_ROWS(INTEGER_MARKS)
NEAP_DTYPE_REAL_ROWS(REAL_MARKS)
#define COMPLEX_MARKS(NAME, name, kind, T, ...)                                                                        \
    static void nonzero_##name(uint64_t *restrict words, const void *in, int64_t n) {                                  \
        const T *x = in;                                                                                               \
        MARK_WORDS(x[i] != 0)                                                                                          \
    }
NEAP_DTYPE_COMPLEX_ROWS(COMPLEX_MARKS)

static int64_t count_marks(const uint64_t *words, int64_t n) {
    int64_t count = 0;
    for (int64_t k = 0; k < (n + WORD - 1) / WORD; k++)
        count += __builtin_popcountll(words[k]);
    return count;
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */
/* A group's places are stored as one vector, which has more of them than are marked; what is too much is written over
 * by those that come next. Near the end of the result, where there is no room for that, they go one by one. */
#define PLACES(name, P, GROUP, STORE)                                                                                  \
    static void places_##name(void *to, const uint64_t *words, int64_t count, int64_t base) {                          \
        P *out = to;                                                                                                   \
        for (int64_t at = 0; at < count; words++, base += WORD) {                                                      \
            uint64_t word = *words;                                                                                    \
            if (word == 0)                                                                                             \
                continue;                                                                                              \
            if (at + WORD > count)                                                                                     \
                for (; word != 0; word &= word - 1)                                                                    \
                    out[at++] = (P)(base + __builtin_ctzll(word));                                                     \
            else                                                                                                       \
                for (int part = 0; part < WORD; part += GROUP)                                                         \
                    at += STORE(P, out + at, word >> part, (P)(base + part));                                          \
        }                                                                                                              \
    }

static const uint8_t bits_of[16][4] = {{0}, {0},    {1},    {0, 1},    {2},    {0, 2},    {1, 2},    {0, 1, 2},
                                       {3}, {0, 3}, {1, 3}, {0, 1, 3}, {2, 3}, {0, 2, 3}, {1, 2, 3}, {0, 1, 2, 3}};
static const uint8_t count_of[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
#define STORE_FOUR(P, out, bits, base) store_four_##P(out, (bits)&15, base)
#define STORE_FOUR_OF(P)                                                                                               \
    static inline int store_four_##P(P *out, uint64_t bits, P base) {                                                  \
        for (int k = 0; k < 4; k++)                                                                                    \
            out[k] = base + bits_of[bits][k];                                                                          \
        return count_of[bits];                                                                                         \
    }
STORE_FOUR_OF(int64_t)
PLACES(i64, int64_t, 4, STORE_FOUR)

#if defined(__AVX512F__)
static inline int store_sixteen(int32_t *out, uint64_t bits, int32_t base) {
    const __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i all = _mm512_add_epi32(numbers, _mm512_set1_epi32(base));
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32((__mmask16)bits, all));
    return __builtin_popcount((__mmask16)bits);
}
#define STORE_SIXTEEN(P, out, bits, base) store_sixteen(out, bits, base)
PLACES(i32, int32_t, 16, STORE_SIXTEEN)
#else
STORE_FOUR_OF(int32_t)
PLACES(i32, int32_t, 4, STORE_FOUR)
#endif

#define TABLE_NAME(isa) TABLE_NAME_OF(isa)
#define TABLE_NAME_OF(isa) lazy_marks_##isa
#define NONZERO(NAME, name, ...) [NEAP_DTYPE_##NAME] = nonzero_##name,
#define CHANGES(NAME, name, ...) [NEAP_DTYPE_##NAME] = changes_##name,
#define ABOVE(NAME, name, ...) [NEAP_DTYPE_##NAME] = above_##name,

const lazy_marks TABLE_NAME(NEAP_ISA) = {
    .nonzero = {NEAP_DTYPE_PLAIN_ROWS(NONZERO) NEAP_DTYPE_COMPLEX_ROWS(NONZERO)},
    .changes = {NEAP_DTYPE_PLAIN_ROWS(CHANGES)},
    .above = {NEAP_DTYPE_PLAIN_ROWS(ABOVE)},
    .count = count_marks,
    .places = {places_i32, places_i64},
};
