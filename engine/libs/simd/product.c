/* product.c: the table of one instruction set; the loops are in product_loops.h and factor_loops.h, for each dtype
 * once. */
#include "engine/libs/simd/product.h"

#include <float.h>
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "engine/libs/simd/fma.h"

/* Vectors of the hardware's width; a block of c is ROWS rows by two of them, and stays in registers. */
#if defined(__AVX512F__)
#define VECTOR 64
#define ROWS 12
#elif defined(__AVX2__)
#define VECTOR 32
#define ROWS 6
#elif defined(__aarch64__)
#define VECTOR 16
#define ROWS 12
#else
#define VECTOR 16
#define ROWS 4
#endif

enum {
    STRIPS_COPIED = 3,     /* b is copied for more strips of rows than these if its rows lie far apart, */
    FAR = 2048,            /* bytes: they would meet in few places of the caches; for two strips and more, if b has */
    LARGE = 1 << 22,       /* so many bytes that each strip would wait for memory */
    PANELS = 4,            /* of b are copied at a time */
    TILE_ROWS = 192,       /* of a product whose left side is copied */
    VECTOR_COLUMNS = 2048, /* bytes of contiguous columns that are multiplied by a vector at a time */
    INTEGER_ROWS = 16,     /* of integers are computed together */
    TREE_LEVELS = 40       /* of leaves, more than there can be */
};

#define ALWAYS static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

#if defined(__x86_64__) && !ENGINE_FMA_HARDWARE
/* engine_fma_f32 of two, step by step: with the product and the addend as doubles, the result as one. */
ALWAYS __m128d fma_two(__m128d product, __m128d addend) {
    const __m128d zero = _mm_setzero_pd(), sum = _mm_add_pd(product, addend), part = _mm_sub_pd(sum, product);
    const __m128d error = _mm_add_pd(_mm_sub_pd(product, _mm_sub_pd(sum, part)), _mm_sub_pd(addend, part));
    const __m128d above = _mm_cmpgt_pd(error, zero), inexact = _mm_or_pd(above, _mm_cmplt_pd(error, zero));
    const __m128i inwards = _mm_castpd_si128(_mm_xor_pd(above, _mm_cmpgt_pd(sum, zero)));
    const __m128i bits = _mm_castpd_si128(sum), one = _mm_set1_epi64x(1);
    const __m128i even = _mm_sub_epi64(_mm_and_si128(bits, one), one), step = _mm_or_si128(inwards, one);
    return _mm_castsi128_pd(_mm_add_epi64(bits, _mm_and_si128(_mm_and_si128(_mm_castpd_si128(inexact), even), step)));
}
ALWAYS __m128 fma_four(__m128 a, __m128 b, __m128 c) {
    const __m128d low = _mm_mul_pd(_mm_cvtps_pd(a), _mm_cvtps_pd(b));
    const __m128d high = _mm_mul_pd(_mm_cvtps_pd(_mm_movehl_ps(a, a)), _mm_cvtps_pd(_mm_movehl_ps(b, b)));
    return _mm_movelh_ps(_mm_cvtpd_ps(fma_two(low, _mm_cvtps_pd(c))),
                         _mm_cvtpd_ps(fma_two(high, _mm_cvtps_pd(_mm_movehl_ps(c, c)))));
}
#endif

#define T float
#define BITS 32
#define PLACE int32_t
#define NAME(name) name##_f32
#include "engine/libs/simd/product_loops.h"
#undef T
#undef BITS
#undef PLACE
#undef NAME
#define T double
#define BITS 64
#define PLACE int64_t
#define NAME(name) name##_f64
#include "engine/libs/simd/product_loops.h"

#include "engine/libs/simd/integers.h"

#define TABLE_OF(isa) engine_products_##isa
#define TABLE(isa) TABLE_OF(isa)
#define TEXT_OF(isa) #isa
#define TEXT(isa) TEXT_OF(isa)

const engine_products TABLE(NEAP_ISA) = {
    .isa = TEXT(NEAP_ISA),
    .fused = ENGINE_FMA_HARDWARE,
    .rows = ROWS,
    .columns = {2 * VECTOR / 4, 2 * VECTOR / 8},
    .tile_rows = TILE_ROWS,
    .matrices = {multiply_f32, multiply_f64},
    .pack = {pack_right_f32, pack_right_f64},
    .vectors = {multiply_vector_f32, multiply_vector_f64},
    .integers = {multiply_bool, multiply_8, multiply_16, multiply_32, multiply_64},
    .solve = {solve_f32, solve_f64},
    .cholesky = {cholesky_f32, cholesky_f64},
    .cholesky_few = {cholesky_few_f32, cholesky_few_f64},
    .panel = {factor_panel_f32, factor_panel_f64},
    .transpose = {transpose_f32, transpose_f64},
};
