/* sorts.c: unsigned keys in ascending order (simd.h has the contract), by quicksort: a range is parted by a pivot, a
 * vector at a time, until what is left fits into a few vectors, which a bitonic network sorts. There is only one order
 * of keys, so how it is found changes no bit. This file is compiled once per instruction set (-DNEAP_ISA); those that
 * cannot compress vectors have no sorts.
 */
#include <string.h>

#include "lazy/vm/simd/simd.h"

#if defined(__AVX512F__)
#include <immintrin.h>

enum { VECTORS = 8 /* that a network sorts */, SAMPLES = 4 /* vectors of them */, MANY = 4096 };

#define INLINE static inline __attribute__((always_inline))

#define NAME(x) x##_32
#define K uint32_t
#define LANES 16
#define MASK __mmask16
#define V(x) _mm512_##x##_epi32
#define U(x) _mm512_##x##_epu32
#define M(x) _mm512_##x##_epi32
#define V_MASK(x) _mm512_##x##_epi32_mask
#define U_MASK(x) _mm512_##x##_epu32_mask
#define LANE int
#define NUMBERS _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#include "lazy/vm/simd/sorts_of.h"

#define NAME(x) x##_64
#define K uint64_t
#define LANES 8
#define MASK __mmask8
#define V(x) _mm512_##x##_epi64
#define U(x) _mm512_##x##_epu64
#define M(x) _mm512_##x##_epi64
#define V_MASK(x) _mm512_##x##_epi64_mask
#define U_MASK(x) _mm512_##x##_epu64_mask
#define LANE long long
#define NUMBERS _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)
#include "lazy/vm/simd/sorts_of.h"

#define SORTS                                                                                                          \
    { sort_32, sort_64 }
#else
#define SORTS                                                                                                          \
    { NULL, NULL }
#endif

#define TABLE_NAME(isa) TABLE_NAME_OF(isa)
#define TABLE_NAME_OF(isa) lazy_sorts_##isa

const lazy_sorts TABLE_NAME(NEAP_ISA) = {.keys = SORTS};
