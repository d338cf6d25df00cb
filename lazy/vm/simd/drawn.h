/* drawn.h: one random number of a counter: the hash, and what becomes of its bits. draws.c makes loops of it
 * (draw_of.h), once for each instruction set; the generator of code for GPUs takes the same text, and so do the maps of
 * which kernels make a few elements of a draw (lazy/ops/drawn.c).
 *
 * threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011).
 * Integer arithmetic alone, so the bits are the same everywhere. Floats are made with the operations that the op rows
 * of the same names have, each rounded by itself.
 */
#ifndef LAZY_SIMD_DRAWN_H
#define LAZY_SIMD_DRAWN_H

#include "lazy/vm/simd/draws.h"
#include "lazy/vm/simd/vmath.h"

#define ROUND(by) x += y, y = (y << by | y >> (32 - by)) ^ x;
#define ROUNDS_EVEN ROUND(13) ROUND(15) ROUND(26) ROUND(6)
#define ROUNDS_ODD ROUND(17) ROUND(29) ROUND(16) ROUND(24)
#define INJECT(first, second, count) x += first, y += second + count##u;

typedef struct schedule {
    uint32_t a, b, c;
} schedule;

VM_INLINE schedule schedule_of(vm_key key) {
    return (schedule){key.hi, key.lo, key.hi ^ key.lo ^ 0x1BD11BDAu};
}

VM_INLINE void threefry(schedule k, uint32_t *hi, uint32_t *lo) {
    uint32_t x = *hi + k.a, y = *lo + k.b;
    ROUNDS_EVEN INJECT(k.b, k.c, 1) ROUNDS_ODD INJECT(k.c, k.a, 2) ROUNDS_EVEN INJECT(k.a, k.b, 3)
        ROUNDS_ODD INJECT(k.b, k.c, 4) ROUNDS_EVEN
        INJECT(k.c, k.a, 5) *hi = x,
                            *lo = y;
}

/* The highest bits of a draw as a fraction: 23 of 32, 52 of 64. */
VM_INLINE float unit_f32(uint32_t word) {
    return (float)(int32_t)(word >> 9) * 0x1p-23f;
}
VM_INLINE double unit_f64(vm_key pair) {
    const uint64_t bits = (uint64_t)pair.hi << 20 | pair.lo >> 12;
    return vm_float_f64(bits | 0x3ff0000000000000ull) - 1;
}

/* Between `low` and `high` as np.random.uniform does it. No function gets a rare argument from there. */
#define SHAPES(D, T, BELOW_ONE, TINY)                                                                                  \
    VM_INLINE T between_##D(T u, T low, T high) {                                                                      \
        const T value = u * (high - low) + low;                                                                        \
        return value > low ? value : low;                                                                              \
    }                                                                                                                  \
    VM_INLINE T uniform_##D(T u) {                                                                                     \
        return u;                                                                                                      \
    }                                                                                                                  \
    VM_INLINE T normal_##D(T u) {                                                                                      \
        return vm_erf_inv_##D(between_##D(u, -(BELOW_ONE), 1)) * (T)1.41421356237309504880;                            \
    }                                                                                                                  \
    VM_INLINE T exponential_##D(T u) {                                                                                 \
        return -vm_log1p_##D(-u);                                                                                      \
    }                                                                                                                  \
    VM_INLINE T gumbel_##D(T u) {                                                                                      \
        return -vm_log_##D(-vm_log_##D(between_##D(u, TINY, 1)));                                                      \
    }
SHAPES(f32, float, 0x1.fffffep-1f, 0x1p-126f)
SHAPES(f64, double, 0x1.fffffffffffffp-1, 0x1p-1022)

/* Integers. The quotient by a product with the inverse, 2^bits / span rounded down, is at most one too small: what is
 * missing of x / span is less than x / 2^bits. `multiplier` is 2^bits mod span, as the square of 2^(bits/2). */
#define MODULO(name, U, WIDE, bits)                                                                                    \
    VM_INLINE U modulo_##name(U x, U span, U inverse) {                                                                \
        const U rest = x - (U)((WIDE)x * inverse >> bits) * span, less = rest - span;                                  \
        return rest < less ? rest : less;                                                                              \
    }                                                                                                                  \
    VM_INLINE U multiplier_##name(U span) {                                                                            \
        const U half = ((U)1 << bits / 2) % span;                                                                      \
        return (U)(half * half) % span;                                                                                \
    }                                                                                                                  \
    VM_INLINE U below_##name(U more, U rest, U span, U inverse, U multiplier) {                                        \
        const U sum = modulo_##name(more, span, inverse) * multiplier + modulo_##name(rest, span, inverse);            \
        return modulo_##name(sum, span, inverse);                                                                      \
    }
MODULO(u32, uint32_t, uint64_t, 32)
MODULO(u64, uint64_t, unsigned __int128, 64)

/* ---- Of a single counter. Keys, and what the hash makes, are pairs in one number: the first word above the second. */
VM_INLINE vm_key drawn_pair(uint64_t pair) {
    return (vm_key){(uint32_t)(pair >> 32), (uint32_t)pair};
}
VM_INLINE uint64_t drawn_hash(uint64_t key, uint64_t counter) {
    uint32_t hi = (uint32_t)(counter >> 32), lo = (uint32_t)counter;
    threefry(schedule_of(drawn_pair(key)), &hi, &lo);
    return (uint64_t)hi << 32 | lo;
}
VM_INLINE uint32_t drawn_word(uint64_t pair) {
    return (uint32_t)(pair >> 32) ^ (uint32_t)pair;
}
#define DRAWN(name)                                                                                                    \
    VM_INLINE float drawn_##name##_f32(uint64_t pair) {                                                                \
        return name##_f32(unit_f32(drawn_word(pair)));                                                                 \
    }                                                                                                                  \
    VM_INLINE double drawn_##name##_f64(uint64_t pair) {                                                               \
        return name##_f64(unit_f64(drawn_pair(pair)));                                                                 \
    }
DRAWN(uniform)
DRAWN(normal)
DRAWN(exponential)
DRAWN(gumbel)
/* A number below the span, made of two draws; a span of 0 is all numbers of so many bits. */
#define DRAWN_BELOW(name, U, NUMBER)                                                                                   \
    VM_INLINE uint64_t drawn_below_##name(uint64_t more, uint64_t rest, uint64_t wide_span) {                          \
        const U span = (U)wide_span, some = span ? span : 1;                                                           \
        const U below = below_##name(NUMBER(more), NUMBER(rest), some, (U)-1 / some, multiplier_##name(some));         \
        return span ? below : NUMBER(rest);                                                                            \
    }
#define ALL_BITS(pair) (pair)
DRAWN_BELOW(u32, uint32_t, drawn_word)
DRAWN_BELOW(u64, uint64_t, ALL_BITS)

/* As `take` reads an index, here the bits of an i64. */
VM_INLINE uint64_t drawn_place(uint64_t index, uint64_t rows) {
    const int64_t from_end = (int64_t)(index + rows), place = (int64_t)index < 0 ? from_end : (int64_t)index;
    return place < 0 ? 0 : (uint64_t)place < rows ? (uint64_t)place : rows - 1;
}

#undef ROUND
#undef ROUNDS_EVEN
#undef ROUNDS_ODD
#undef INJECT
#undef SHAPES
#undef MODULO
#undef DRAWN
#undef DRAWN_BELOW
#undef ALL_BITS

#endif
