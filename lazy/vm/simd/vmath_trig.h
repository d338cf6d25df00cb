/* vmath_trig.h: trigonometric functions and their inverses.
 *
 * sin and cos subtract the nearest multiple n of pi/2 in three parts, with fused multiply-adds. The first difference is
 * exact, since x (at least 3/4 where n is not 0) and n times the first part lie on the same grid. What rounding takes
 * from n times the second part, and from its sum with the first difference, goes into `low`: next to a multiple of pi/2
 * the two cancel, and the rest is what counts. It is exact also where the second is the larger one, as the first is a
 * multiple of the last place of that. n's last two bits choose between the polynomials of sine and cosine and their
 * signs. That is sound up to 2^17 (f32) and 2^30 (f64); beyond, an argument is *rare* and goes through the slow
 * function, which multiplies its bits with those of 2/pi (Payne and Hanek, 1983). The loops (tools/gen/kernels.lua)
 * test a chunk for rare arguments before they take the fast function.
 */
#ifndef LAZY_SIMD_VMATH_TRIG_H
#define LAZY_SIMD_VMATH_TRIG_H

#include "lazy/vm/simd/vmath_base.h"

#define VM_TRIG(D, C, T, U, ROUND, NTERMS)                                                                             \
    /* x = n pi/2 + r + *low; gives r and n's last bits. */                                                            \
    VM_INLINE T vm_reduce_##D(T x, T *low, U *quadrant) {                                                              \
        const T shifted = vm_fma_##D(x, (T)0.63661977236758134308, ROUND), n = shifted - ROUND;                        \
        const T first = vm_fma_##D(-n, VM_PIO2_1_##C, x), second = -n * VM_PIO2_2_##C, r = first + second;             \
        const T rest = vm_fma_##D(-n, VM_PIO2_2_##C, -second);                                                         \
        *low = (second - (r - first)) + vm_fma_##D(-n, VM_PIO2_3_##C, rest);                                           \
        *quadrant = vm_bits_##D(shifted);                                                                              \
        return r;                                                                                                      \
    }                                                                                                                  \
    /* The sine and the cosine of r + low for |r| up to pi/4. */                                                       \
    VM_INLINE T vm_sin_near_##D(T r, T low) {                                                                          \
        const T w = r * r;                                                                                             \
        return r + vm_fma_##D(r * w, vm_poly_##D(vm_sin_##D##_terms, NTERMS, w), low);                                 \
    }                                                                                                                  \
    VM_INLINE T vm_cos_near_##D(T r, T low) {                                                                          \
        const T w = r * r, half = (T)0.5 * w, main = 1 - half;                                                         \
        const T rest = vm_fma_##D(w * w, vm_poly_##D(vm_cos_##D##_terms, NTERMS, w), -r * low);                        \
        return main + (((1 - main) - half) + rest);                                                                    \
    }                                                                                                                  \
    /* sin(r + low + quadrant pi/2) */                                                                                 \
    VM_INLINE T vm_sin_quadrant_##D(T r, T low, U quadrant) {                                                          \
        const T value = quadrant & 1 ? vm_cos_near_##D(r, low) : vm_sin_near_##D(r, low);                              \
        return vm_float_##D(vm_bits_##D(value) ^ (quadrant & 2) << (8 * sizeof(U) - 2));                               \
    }                                                                                                                  \
    VM_INLINE T vm_tan_quadrant_##D(T r, T low, U quadrant) {                                                          \
        const T s = vm_sin_near_##D(r, low), c = vm_cos_near_##D(r, low);                                              \
        return quadrant & 1 ? -c / s : s / c;                                                                          \
    }                                                                                                                  \
    VM_INLINE T vm_sin_##D(T x) {                                                                                      \
        T low;                                                                                                         \
        U quadrant;                                                                                                    \
        const T r = vm_reduce_##D(x, &low, &quadrant), value = vm_sin_quadrant_##D(r, low, quadrant);                  \
        return x == 0 ? x : value;                                                                                     \
    }                                                                                                                  \
    VM_INLINE T vm_cos_##D(T x) {                                                                                      \
        T low;                                                                                                         \
        U quadrant;                                                                                                    \
        const T r = vm_reduce_##D(x, &low, &quadrant);                                                                 \
        return vm_sin_quadrant_##D(r, low, quadrant + 1);                                                              \
    }

VM_TRIG(f32, F32, float, uint32_t, 0x1.8p23f, 4)
VM_TRIG(f64, F64, double, uint64_t, 0x1.8p52, 6)

VM_INLINE double vm_tan_f64(double x) {
    double low;
    uint64_t quadrant;
    const double r = vm_reduce_f64(x, &low, &quadrant), value = vm_tan_quadrant_f64(r, low, quadrant);
    return x == 0 ? x : value;
}

/* The tangent of r is a polynomial; in odd quadrants, -1 over it. */
VM_INLINE float vm_tan_f32(float x) {
    float low;
    uint32_t quadrant;
    const float r = vm_reduce_f32(x, &low, &quadrant), w = r * r;
    const float t = r + vm_fma_f32(r * w, vm_poly_f32(vm_tan_f32_terms, 7, w), low);
    const float value = quadrant & 1 ? -1 / t : t;
    return x == 0 ? x : value;
}

/* ---- Arguments of any size --------------------------------------------------------------------------------------- */
/* 64 bits of 2/pi from bit `start` behind the point; bits before the point are 0. */
VM_INLINE uint64_t vm_two_over_pi_at(int start) {
    const int word = start >> 6, shift = start & 63;
    const uint64_t high = word >= 0 ? vm_two_over_pi[word] : 0, next = word >= -1 ? vm_two_over_pi[word + 1] : 0;
    return shift ? high << shift | next >> (64 - shift) : high;
}

/* Integers of 128 bits as f64, rounded once, and back, exactly: not every target has these conversions. */
VM_INLINE double vm_wide_f64(unsigned __int128 x) {
    const uint64_t top = (uint64_t)(x >> 64);
    const int shift = top == 0 ? 0 : __builtin_clzll(top);
    const unsigned __int128 m = x << shift;
    const uint64_t kept = (uint64_t)(m >> 64) | ((uint64_t)m != 0);
    return top == 0 ? (double)(uint64_t)x : (double)kept * vm_power_of_two_f64(64 - shift);
}
VM_INLINE unsigned __int128 vm_integer_of_f64(double x) {
    const uint64_t top = (uint64_t)(x * 0x1p-64), low = (uint64_t)(x - (double)top * 0x1p64);
    return (unsigned __int128)top << 64 | low;
}

/* As vm_reduce_f64, for |x| >= 2^30; infinity gives NaN. x = m 2^e with an integer m, so of 2/pi's bits those whose
 * product with x is a multiple of 4 do not matter: the 192 bits after them give the quadrant and 190 bits of
 * fraction. */
static __attribute__((noinline, unused)) double vm_reduce_slow_f64(double x, double *low, uint64_t *quadrant) {
    const uint64_t bits = vm_bits_f64(x), mantissa = (bits & 0xfffffffffffffull) | 1ull << 52;
    const int exponent = (int)(bits >> 52 & 2047) - 1075;
    *low = 0, *quadrant = 0;
    if (exponent > 971)
        return x - x;
    const int start = exponent - 2;
    const uint64_t p0 = vm_two_over_pi_at(start), p1 = vm_two_over_pi_at(start + 64),
                   p2 = vm_two_over_pi_at(start + 128);
    const unsigned __int128 low_product = (unsigned __int128)mantissa * p2;
    const unsigned __int128 middle = (unsigned __int128)mantissa * p1 + (uint64_t)(low_product >> 64);
    const uint64_t top = mantissa * p0 + (uint64_t)(middle >> 64);
    /* top:middle:… is the product modulo 4 with 62 bits of fraction in `top`. Round to the nearest quadrant. */
    const uint64_t whole = (top + (1ull << 61)) >> 62;
    const __int128 fraction = (__int128)((unsigned __int128)(top << 2 | (uint64_t)middle >> 62) << 64 |
                                         (uint64_t)((uint64_t)middle << 2 | (uint64_t)low_product >> 62));
    const unsigned __int128 size = fraction < 0 ? -(unsigned __int128)fraction : (unsigned __int128)fraction;
    const double high = vm_wide_f64(size);
    const __int128 left = (__int128)(size - vm_integer_of_f64(high));
    const double rest = left < 0 ? -vm_wide_f64(-(unsigned __int128)left) : vm_wide_f64((unsigned __int128)left);
    const double sign = (fraction < 0) != (x < 0) ? -0x1p-128 : 0x1p-128;
    const double product = high * VM_PIO2_1_F64;
    const double tail = vm_fma_f64(high, VM_PIO2_1_F64, -product) + (high * VM_PIO2_2_F64 + rest * VM_PIO2_1_F64);
    const double sum = product + tail;
    *low = ((product - sum) + tail) * sign;
    *quadrant = x < 0 ? -whole : whole;
    return sum * sign;
}

VM_RARE(sin, f64, double, vm_abs_f64(x) > 0x1p30)
VM_RARE(cos, f64, double, vm_abs_f64(x) > 0x1p30)
VM_RARE(tan, f64, double, vm_abs_f64(x) > 0x1p30)
VM_RARE(sin, f32, float, vm_abs_f32(x) > 0x1p17f)
VM_RARE(cos, f32, float, vm_abs_f32(x) > 0x1p17f)
VM_RARE(tan, f32, float, vm_abs_f32(x) > 0x1p17f)

#define VM_TRIG_SLOW(name, expression)                                                                                 \
    static inline double vm_far_##name##_f64(double x) {                                                               \
        double low;                                                                                                    \
        uint64_t quadrant;                                                                                             \
        const double r =                                                                                               \
            vm_abs_f64(x) > 0x1p30 ? vm_reduce_slow_f64(x, &low, &quadrant) : vm_reduce_f64(x, &low, &quadrant);       \
        return expression;                                                                                             \
    }                                                                                                                  \
    VM_INLINE double vm_slow_##name##_f64(double x) {                                                                  \
        return vm_rare_##name##_f64(x) ? vm_far_##name##_f64(x) : vm_##name##_f64(x);                                  \
    }                                                                                                                  \
    VM_INLINE float vm_slow_##name##_f32(float x) {                                                                    \
        return vm_rare_##name##_f32(x) ? (float)vm_far_##name##_f64((double)x) : vm_##name##_f32(x);                   \
    }

VM_TRIG_SLOW(sin, vm_sin_quadrant_f64(r, low, quadrant))
VM_TRIG_SLOW(cos, vm_sin_quadrant_f64(r, low, quadrant + 1))
VM_TRIG_SLOW(tan, vm_tan_quadrant_f64(r, low, quadrant))

/* ---- Inverses ---------------------------------------------------------------------------------------------------- */
/* asin(a) for a = |x| up to 1/2 is a + a z P(z) with z = a²; beyond, pi/2 - 2 asin(s) with s = sqrt(z), z = (1 - a) /
 * 2, and s is corrected by what its rounding left of z. */
typedef struct vm_arcsine {
    double s, rest; /* the angle is s + rest, or belongs to s */
    bool small;
} vm_arcsine;

VM_INLINE vm_arcsine vm_arcsine_of(double x) {
    const double a = vm_abs_f64(x);
    const bool small = a <= 0.5;
    const double z = small ? a * a : (1 - a) * 0.5, s = small ? a : vm_sqrt_f64(z);
    const double left = small | (s == 0) ? 0 : vm_fma_f64(-s, s, z) / (2 * s);
    return (vm_arcsine){s, vm_fma_f64(s * z, vm_poly_f64(vm_asin_f64_terms, 14, z), left), small};
}

VM_INLINE double vm_asin_f64(double x) {
    const vm_arcsine of = vm_arcsine_of(x);
    const double value = of.small ? of.s + of.rest : VM_PIO2_1_F64 - (2 * of.s + (2 * of.rest - VM_PIO2_2_F64));
    return vm_copysign_f64(value, x);
}

VM_INLINE double vm_acos_f64(double x) {
    const vm_arcsine of = vm_arcsine_of(x);
    const double near = vm_copysign_f64(of.s, x), rest = vm_copysign_f64(of.rest, x);
    const double right = 2 * (of.s + of.rest), left = 2 * (VM_PIO2_1_F64 - (of.s + (of.rest - VM_PIO2_2_F64)));
    return of.small ? VM_PIO2_1_F64 - (near + (rest - VM_PIO2_2_F64)) : x < 0 ? left : right;
}

/* atan(n / d) for 0 <= n <= d is t + t w P(w) with t = n / d, w = t²; from tan(pi/8) on, pi/4 + atan((n - d) / (n +
 * d)). `flip` takes it from pi/2, `turn` that from pi. */
VM_INLINE double vm_arctangent(double n, double d, bool flip, bool turn) {
    const bool large = n > 0.41421356237309503 * d;
    const double ratio = (large ? n - d : n) / (large ? n + d : d), w = ratio * ratio;
    double base = large ? 0.5 * VM_PIO2_1_F64 : 0, base_low = large ? 0.5 * VM_PIO2_2_F64 : 0;
    base = flip ? VM_PIO2_1_F64 - base : base, base_low = flip ? VM_PIO2_2_F64 - base_low : base_low;
    base = turn ? 2 * VM_PIO2_1_F64 - base : base, base_low = turn ? 2 * VM_PIO2_2_F64 - base_low : base_low;
    const double t = flip != turn ? -ratio : ratio;
    return base + (t + vm_fma_f64(t * w, vm_poly_f64(vm_atan_f64_terms, 13, w), base_low));
}

VM_INLINE double vm_atan_f64(double x) {
    const double a = vm_abs_f64(x);
    const bool flip = a > 1;
    return vm_copysign_f64(vm_arctangent(flip ? 1 : a, flip ? a : 1, flip, false), x);
}

/* Both coordinates are scaled where their sum might overflow, or a part of one would not be exact; equal infinities
 * count as equal numbers. */
VM_INLINE double vm_atan2_f64(double y, double x) {
    const double a = vm_abs_f64(x), b = vm_abs_f64(y), top = a > b ? a : b;
    const bool flip = b > a, infinite = (a == b) & (a == vm_highest_f64);
    const double scale = top > 0x1p1000 ? 0x1p-10 : top < 0x1p-900 ? 0x1p100 : 1;
    const double n = infinite ? 1 : (flip ? a : b) * scale, d = infinite | (top == 0) ? 1 : (flip ? b : a) * scale;
    const double value = vm_copysign_f64(vm_arctangent(n, d, flip, vm_copysign_f64(1, x) < 0), y);
    return (x != x) | (y != y) ? x + y : value;
}

/* In f32, without the correction of s, and with atan(t) = t + t w P(w) up to t = 1. pi/2 - 2s
 * is a sum of two numbers. */
VM_INLINE float vm_arcsine_f32(float a, bool small, float *rest) {
    const float z = small ? a * a : (1 - a) * 0.5f, s = small ? a : vm_sqrt_f32(z);
    *rest = s * z * vm_poly_f32(vm_asin_f32_terms, 5, z);
    return s;
}
VM_INLINE float vm_asin_f32(float x) {
    float rest;
    const float a = vm_abs_f32(x), s = vm_arcsine_f32(a, a <= 0.5f, &rest);
    const float main = vm_fma_f32(-2, s, VM_PIO2_1_F32), lost = vm_fma_f32(-2, s, VM_PIO2_1_F32 - main);
    const float large = main - (vm_fma_f32(2, rest, -VM_PIO2_2_F32) - lost);
    return vm_copysign_f32(a <= 0.5f ? s + rest : large, x);
}
VM_INLINE float vm_acos_f32(float x) {
    float rest;
    const float a = vm_abs_f32(x), angle = vm_arcsine_f32(a, a <= 0.5f, &rest) + rest, near = vm_copysign_f32(angle, x);
    const float left = 2 * (VM_PIO2_1_F32 - (angle - VM_PIO2_2_F32));
    return a <= 0.5f ? VM_PIO2_1_F32 - (near - VM_PIO2_2_F32) : x < 0 ? left : 2 * angle;
}

VM_INLINE float vm_arctangent_f32(float t) {
    const float w = t * t;
    return vm_fma_f32(t * w, vm_poly_f32(vm_atan_f32_terms, 9, w), t);
}
VM_INLINE float vm_atan_f32(float x) {
    const float a = vm_abs_f32(x), angle = vm_arctangent_f32(a > 1 ? 1 / a : a);
    return vm_copysign_f32(a > 1 ? VM_PIO2_1_F32 - (angle - VM_PIO2_2_F32) : angle, x);
}

/* n / d is the tangent of the angle from the nearest axis. */
VM_INLINE float vm_atan2_of_f32(float y, float x, float n, float d) {
    const bool flip = vm_abs_f32(y) > vm_abs_f32(x), turn = vm_copysign_f32(1, x) < 0;
    const float angle = vm_arctangent_f32(n / d), turned = flip != turn ? -angle : angle;
    const float base = flip ? VM_PIO2_1_F32 : turn ? 2 * VM_PIO2_1_F32 : 0;
    const float base_low = flip ? VM_PIO2_2_F32 : turn ? 2 * VM_PIO2_2_F32 : 0;
    return vm_copysign_f32(base + (turned + base_low), y);
}
VM_INLINE float vm_atan2_f32(float y, float x) {
    const float a = vm_abs_f32(x), b = vm_abs_f32(y);
    return vm_atan2_of_f32(y, x, a > b ? b : a, a > b ? a : b);
}
/* Neither number is infinite or NaN, nor are both 0. */
VM_RARE2(atan2, f32, float,
         (vm_size_f32(x) >= VM_INFINITE_F32) | (vm_size_f32(y) >= VM_INFINITE_F32) |
             ((vm_size_f32(x) | vm_size_f32(y)) == 0))
VM_INLINE float vm_slow_atan2_f32(float y, float x) {
    const float a = vm_abs_f32(x), b = vm_abs_f32(y), infinite = vm_highest_f32;
    const bool both = (a == b) & (a == infinite), none = (a == 0) & (b == 0);
    const float value = vm_atan2_of_f32(y, x, both ? 1 : a > b ? b : a, both | none ? 1 : a > b ? a : b);
    return (x != x) | (y != y) ? x + y : value;
}

#endif
