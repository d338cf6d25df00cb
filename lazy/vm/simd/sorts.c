/* sorts.c: unsigned keys in ascending order (simd.h has the contract), by quicksort: a range is parted by a pivot, a
 * vector at a time, until what is left fits into a few vectors, which a bitonic network sorts. There is only one order
 * of keys, so how it is found changes no bit. This file is compiled once per instruction set (-DNEAP_ISA); those that
 * cannot permute vectors by data have no sorts.
 */
#include <string.h>

#include "lazy/vm/simd/simd.h"

#if defined(__AVX2__)
#include <immintrin.h>

#if defined(__AVX512F__)
enum { VECTORS = 16 /* that a network sorts, half of the registers */ };
#else
enum { VECTORS = 8 };
#endif
enum { SAMPLES = 4 /* vectors of them */, MANY = 4096 };

#define INLINE static inline __attribute__((always_inline))

/* By mask: the lanes that are set, in order, and behind them the others; a byte for each of eight lanes. */
#define SET_BEFORE(mask, lane) __builtin_popcount((mask) & ((1u << (lane)) - 1))
#define PLACE(mask, lane)                                                                                              \
    ((mask) >> (lane)&1 ? SET_BEFORE(mask, lane) : __builtin_popcount(mask) + (lane)-SET_BEFORE(mask, lane))
#define AT(mask, lane) UINT64_C(lane) << 8 * PLACE(mask, lane)
#define ROW(mask) (AT(mask, 1) | AT(mask, 2) | AT(mask, 3) | AT(mask, 4) | AT(mask, 5) | AT(mask, 6) | AT(mask, 7))
#define ROWS_4(mask) ROW(mask), ROW(mask + 1), ROW(mask + 2), ROW(mask + 3)
#define ROWS_16(mask) ROWS_4(mask), ROWS_4(mask + 4), ROWS_4(mask + 8), ROWS_4(mask + 12)
#define ROWS_64(mask) ROWS_16(mask), ROWS_16(mask + 16), ROWS_16(mask + 32), ROWS_16(mask + 48)
static const uint64_t parted[256] = {ROWS_64(0u), ROWS_64(64u), ROWS_64(128u), ROWS_64(192u)};

INLINE __m128i parted_row(unsigned mask) {
    return _mm_loadl_epi64((const __m128i *)(parted + mask));
}

/* A vector of a range: `some`, those below `middle` before the others, and how many are below. */
#if defined(__AVX512F__)
INLINE __m512i part_32(__m512i some, __m512i middle, int64_t *low) {
    const __mmask16 below = _mm512_cmplt_epu32_mask(some, middle);
    const unsigned count = (unsigned)__builtin_popcount(below);
    *low = count;
    return _mm512_mask_expand_epi32(_mm512_maskz_compress_epi32(below, some), (__mmask16)(0xffffu << count),
                                    _mm512_maskz_compress_epi32((__mmask16)~below, some));
}
#else
INLINE __m256i part_32(__m256i some, __m256i middle, int64_t *low) {
    const __m256i sign = _mm256_set1_epi32(INT32_MIN);
    const __m256i below = _mm256_cmpgt_epi32(_mm256_xor_si256(middle, sign), _mm256_xor_si256(some, sign));
    const unsigned mask = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(below));
    *low = __builtin_popcount(mask);
    return _mm256_permutevar8x32_epi32(some, _mm256_cvtepu8_epi32(parted_row(mask)));
}
#endif

#define NAME(x) x##_32
#define K uint32_t
#define SIGNED int
#if defined(__AVX512F__)
#define VECTOR __m512i
#define LANES 16
#define NUMBERS _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define SET _mm512_set1_epi32
#define XOR _mm512_xor_si512
#define TURN(vector, places) _mm512_permutexvar_epi32(places, vector)
#define MIN _mm512_min_epu32
#define MAX _mm512_max_epu32
#define CHOICE __mmask16
#define WITH_BIT(bit) _mm512_test_epi32_mask(NUMBERS, SET(bit))
#define STEP(a, b, greater) _mm512_mask_max_epu32(MIN(a, b), greater, a, b)
#define BELOW(n) (__mmask16)((n) >= 16 ? -1 : (n) > 0 ? (1 << (n)) - 1 : 0)
#define LOAD_SOME(from, there) _mm512_mask_loadu_epi32(SET(-1), there, from)
#define STORE_SOME _mm512_mask_storeu_epi32
#define ZIP_LOW(a, b)                                                                                                  \
    _mm512_permutex2var_epi32(a, _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), b)
#define ZIP_HIGH(a, b)                                                                                                 \
    _mm512_permutex2var_epi32(a, _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), b)
#define GATHER(from, places) _mm512_i32gather_epi32(places, from, 4)
#define TIMES _mm512_mullo_epi32
#define FIRST(vector) _mm_cvtsi128_si32(_mm512_castsi512_si128(vector))
#define PARTED __m512i
#define PART_LANES 16
#define PART_SET _mm512_set1_epi32
#define PART_LOAD _mm512_loadu_si512
#define PART_STORE _mm512_storeu_si512
#else
#define VECTOR __m256i
#define LANES 8
#define NUMBERS _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)
#define SET _mm256_set1_epi32
#define XOR _mm256_xor_si256
#define TURN _mm256_permutevar8x32_epi32
#define MIN _mm256_min_epu32
#define MAX _mm256_max_epu32
#define CHOICE __m256i
#define WITH_BIT(bit) _mm256_cmpgt_epi32(_mm256_and_si256(NUMBERS, SET(bit)), _mm256_setzero_si256())
#define STEP(a, b, greater) _mm256_blendv_epi8(MIN(a, b), MAX(a, b), greater)
#define BELOW(n) _mm256_cmpgt_epi32(SET((int)(n)), NUMBERS)
#define LOAD_SOME(from, there) _mm256_or_si256(_mm256_maskload_epi32((const int *)(from), there), XOR(there, SET(-1)))
#define STORE_SOME(to, there, vector) _mm256_maskstore_epi32((int *)(to), there, vector)
#define ZIP_LOW(a, b) _mm256_permute2x128_si256(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b), 0x20)
#define ZIP_HIGH(a, b) _mm256_permute2x128_si256(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b), 0x31)
#define GATHER(from, places) _mm256_i32gather_epi32((const int *)(from), places, 4)
#define TIMES _mm256_mullo_epi32
#define FIRST(vector) _mm_cvtsi128_si32(_mm256_castsi256_si128(vector))
#define PARTED __m256i
#define PART_LANES 8
#define PART_SET _mm256_set1_epi32
#define PART_LOAD(from) _mm256_loadu_si256((const __m256i *)(from))
#define PART_STORE(to, vector) _mm256_storeu_si256((__m256i *)(to), vector)
#endif
#include "lazy/vm/simd/sorts_of.h"

#if defined(__AVX512F__)
INLINE __m512i part_64(__m512i some, __m512i middle, int64_t *low) {
    const unsigned mask = _mm512_cmplt_epu64_mask(some, middle);
    *low = __builtin_popcount(mask);
    return _mm512_permutexvar_epi64(_mm512_cvtepu8_epi64(parted_row(mask)), some);
}
#else
/* Each is two lanes of 4 bytes. */
INLINE __m256i part_64(__m256i some, __m256i middle, int64_t *low) {
    const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
    const __m256i below = _mm256_cmpgt_epi64(_mm256_xor_si256(middle, sign), _mm256_xor_si256(some, sign));
    const unsigned mask = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(below));
    *low = __builtin_popcount(mask) / 2;
    return _mm256_permutevar8x32_epi32(some, _mm256_cvtepu8_epi32(parted_row(mask)));
}
#endif

#define NAME(x) x##_64
#define K uint64_t
#define SIGNED long long
#if defined(__AVX512F__)
#define VECTOR __m512i
#define LANES 8
#define NUMBERS _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)
#define SET _mm512_set1_epi64
#define XOR _mm512_xor_si512
#define TURN(vector, places) _mm512_permutexvar_epi64(places, vector)
#define MIN _mm512_min_epu64
#define MAX _mm512_max_epu64
#define CHOICE __mmask8
#define WITH_BIT(bit) _mm512_test_epi64_mask(NUMBERS, SET(bit))
#define STEP(a, b, greater) _mm512_mask_max_epu64(MIN(a, b), greater, a, b)
#define BELOW(n) (__mmask8)((n) >= 8 ? -1 : (n) > 0 ? (1 << (n)) - 1 : 0)
#define LOAD_SOME(from, there) _mm512_mask_loadu_epi64(SET(-1), there, from)
#define STORE_SOME _mm512_mask_storeu_epi64
#define ZIP_LOW(a, b) _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b)
#define ZIP_HIGH(a, b) _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b)
#define GATHER(from, places) _mm512_i64gather_epi64(places, from, 8)
#define TIMES _mm512_mullo_epi64
#define FIRST(vector) _mm_cvtsi128_si64(_mm512_castsi512_si128(vector))
#define PARTED __m512i
#define PART_LANES 8
#define PART_SET _mm512_set1_epi64
#define PART_LOAD _mm512_loadu_si512
#define PART_STORE _mm512_storeu_si512
#else
/* In vectors the highest bit of keys is turned around, as only signed numbers are compared. */
#define VECTOR __m256i
#define LANES 4
#define NUMBERS _mm256_setr_epi64x(0, 1, 2, 3)
#define SET _mm256_set1_epi64x
#define XOR _mm256_xor_si256
#define TURN(vector, places)                                                                                           \
    _mm256_permutevar8x32_epi32(                                                                                       \
        vector, _mm256_or_si256(_mm256_or_si256(_mm256_slli_epi64(places, 1), _mm256_slli_epi64(places, 33)),          \
                                SET(INT64_C(1) << 32)))
#define MIN(a, b) _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b))
#define MAX(a, b) _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b))
#define CHOICE __m256i
#define WITH_BIT(bit) _mm256_cmpgt_epi64(_mm256_and_si256(NUMBERS, SET(bit)), _mm256_setzero_si256())
#define STEP(a, b, greater) _mm256_blendv_epi8(a, b, XOR(_mm256_cmpgt_epi64(a, b), greater))
#define BELOW(n) _mm256_cmpgt_epi64(SET(n), NUMBERS)
#define LOAD_SOME(from, there)                                                                                         \
    XOR(_mm256_or_si256(_mm256_maskload_epi64((const SIGNED *)(from), there), XOR(there, SET(-1))), SET(INT64_MIN))
#define STORE_SOME(to, there, vector) _mm256_maskstore_epi64((SIGNED *)(to), there, XOR(vector, SET(INT64_MIN)))
#define ZIP_LOW(a, b) _mm256_permute2x128_si256(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b), 0x20)
#define ZIP_HIGH(a, b) _mm256_permute2x128_si256(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b), 0x31)
#define GATHER(from, places) XOR(_mm256_i64gather_epi64((const SIGNED *)(from), places, 8), SET(INT64_MIN))
#define TIMES _mm256_mul_epu32
#define FIRST(vector) (_mm256_extract_epi64(vector, 0) ^ INT64_MIN)
#define PARTED __m256i
#define PART_LANES 4
#define PART_SET _mm256_set1_epi64x
#define PART_LOAD(from) _mm256_loadu_si256((const __m256i *)(from))
#define PART_STORE(to, vector) _mm256_storeu_si256((__m256i *)(to), vector)
#endif
#include "lazy/vm/simd/sorts_of.h"

#define SORTS                                                                                                          \
    {                                                                                                                  \
        .keys = {sort_32, sort_64}, .part = { cut_32, cut_64 }                                                         \
    }
#else
#define SORTS                                                                                                          \
    {                                                                                                                  \
        .keys = { NULL, NULL }                                                                                         \
    }
#endif

#define TABLE_NAME(isa) TABLE_NAME_OF(isa)
#define TABLE_NAME_OF(isa) lazy_sorts_##isa

const lazy_sorts TABLE_NAME(NEAP_ISA) = SORTS;
