/* draw_of.h: one random number of a counter: the hash, and what becomes of its bits. draws.c makes loops of it, once
 * for each instruction set; the generator of code for GPUs takes the same text.
 *
 * threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011).
 * Integer arithmetic alone, so the bits are the same everywhere. Floats are made with the operations that the op rows
 * of the same names have, each rounded by itself.
 */
#ifndef LAZY_SIMD_DRAW_OF_H
#define LAZY_SIMD_DRAW_OF_H

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

#define EACH _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++)

/* Integers. The quotient by a product with the inverse, 2^bits / span rounded down, is at most one too small: what is
 * missing of x / span is less than x / 2^bits. */
#define WITHIN(name, U, WIDE, bits, W, NUMBER)                                                                         \
    VM_INLINE U modulo_##name(U x, U span, U inverse) {                                                                \
        const U rest = x - (U)((WIDE)x * inverse >> bits) * span, less = rest - span;                                  \
        return rest < less ? rest : less;                                                                              \
    }                                                                                                                  \
    static void within_##name(void *out, const void *more, const void *rest, int64_t count, uint64_t low,              \
                              uint64_t wide_span) {                                                                    \
        U *o = out;                                                                                                    \
        const W *high_words = more, *low_words = rest;                                                                 \
        const U first = (U)low, span = (U)wide_span;                                                                   \
        if (span == 0) {                                                                                               \
            EACH o[i] = first + NUMBER(low_words[i]);                                                                  \
            return;                                                                                                    \
        }                                                                                                              \
        const U inverse = (U)-1 / span, half = ((U)1 << bits / 2) % span, multiplier = (U)(half * half) % span;        \
        EACH {                                                                                                         \
            const U high = modulo_##name(NUMBER(high_words[i]), span, inverse);                                        \
            const U sum = high * multiplier + modulo_##name(NUMBER(low_words[i]), span, inverse);                      \
            o[i] = first + modulo_##name(sum, span, inverse);                                                          \
        }                                                                                                              \
    }
#define WORD_NUMBER(word) (word)
#define PAIR_NUMBER(pair) ((uint64_t)(pair).hi << 32 | (pair).lo)
WITHIN(u32, uint32_t, uint64_t, 32, uint32_t, WORD_NUMBER)
WITHIN(u64, uint64_t, unsigned __int128, 64, vm_key, PAIR_NUMBER)

#endif
