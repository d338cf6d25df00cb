/* vmath_complex.h: functions of complex numbers. Products, sums and quotients of c64 are computed in their own dtype,
 * as NumPy and JAX do; the functions of c64 are those of c128, rounded once. Branch cuts and values at infinities are
 * those of C's Annex G, but for products and quotients, whose parts are the plain formulas' (NaN where these have one).
 *
 * W. Kahan, Branch Cuts for Complex Elementary Functions, 1987: inverse functions, tanh, sqrt.
 * R. L. Smith, Algorithm 116: Complex division, 1962, as in NumPy.
 */
#ifndef LAZY_SIMD_VMATH_COMPLEX_H
#define LAZY_SIMD_VMATH_COMPLEX_H

#include "lazy/dtype/dtype.h"
#include "lazy/vm/simd/vmath_exp.h"
#include "lazy/vm/simd/vmath_log.h"
#include "lazy/vm/simd/vmath_special.h"
#include "lazy/vm/simd/vmath_trig.h"

#define VM_COMPLEX static __attribute__((noinline, unused)) neap_c128
#define VM_PI 3.14159265358979323846

/* ---- Of each dtype: T, the type P of its parts ------------------------------------------------------------------- */
/* A product is written with vectors of two: the compiler makes fused multiply-adds of what it recognizes as a complex
 * product, whatever it is told of contraction.
 *
 * The neutral elements change no bit of what they are combined with: a product by exactly 1 is the other factor, where
 * the formula would make -0.0 of some zeros and NaN of infinities. */
#define VM_COMPLEX_OF(D, T, P, R)                                                                                      \
    VM_INLINE P vm_real_##D(T a) {                                                                                     \
        return __real__ a;                                                                                             \
    }                                                                                                                  \
    VM_INLINE P vm_imag_##D(T a) {                                                                                     \
        return __imag__ a;                                                                                             \
    }                                                                                                                  \
    VM_INLINE T vm_complex_##R(P a, P b) {                                                                             \
        return __builtin_complex(a, b);                                                                                \
    }                                                                                                                  \
    VM_INLINE T vm_conj_##D(T a) {                                                                                     \
        return __builtin_complex(__real__ a, -__imag__ a);                                                             \
    }                                                                                                                  \
    typedef P vm_pair_##D __attribute__((vector_size(2 * sizeof(P))));                                                 \
    typedef __typeof__(((vm_pair_##D){0}) < ((vm_pair_##D){0})) vm_bits_##D##_pair;                                    \
    VM_INLINE T vm_multiply_##D(T a, T b) {                                                                            \
        const vm_bits_##D##_pair sign = (vm_bits_##D##_pair)(vm_pair_##D){(P)-0.0, 0};                                 \
        const vm_pair_##D x = {__real__ a, __real__ a}, y = {__imag__ a, __imag__ a};                                  \
        const vm_pair_##D u = {__real__ b, __imag__ b}, v = {__imag__ b, __real__ b};                                  \
        const vm_pair_##D product = x * u + (vm_pair_##D)((vm_bits_##D##_pair)(y * v) ^ sign);                         \
        return __builtin_complex(product[0], product[1]);                                                              \
    }                                                                                                                  \
    VM_INLINE T vm_join_product_##D(T a, T b) {                                                                        \
        const T product = vm_multiply_##D(a, b), other = a == 1 ? b : product;                                         \
        const bool kept = (b == 1) & !((a == 1) & vm_signbit_##R(__imag__ b)); /* 1-0i times 1 is itself */            \
        return kept ? a : other;                                                                                       \
    }                                                                                                                  \
    VM_INLINE T vm_divide_##D(T a, T b) {                                                                              \
        const P x = __real__ b, y = __imag__ b;                                                                        \
        const bool steep = vm_abs_##R(x) < vm_abs_##R(y), zero = (x == 0) & (y == 0);                                  \
        const P large = steep ? y : x, small = steep ? x : y, ratio = small / large;                                   \
        const P scale = 1 / (large + small * ratio);                                                                   \
        const P p = steep ? __imag__ a : __real__ a, q = steep ? -__real__ a : __imag__ a;                             \
        const P real = (p + (steep ? -q : q) * ratio) * scale, imag = (steep ? q + p * ratio : q - p * ratio) * scale; \
        return zero ? __builtin_complex(__real__ a / vm_abs_##R(x), __imag__ a / vm_abs_##R(x))                        \
                    : __builtin_complex(real, imag);                                                                   \
    }                                                                                                                  \
    VM_INLINE P vm_abs_##D(T a) {                                                                                      \
        return vm_hypot_##R(__real__ a, __imag__ a);                                                                   \
    }                                                                                                                  \
    VM_INLINE uint8_t vm_isnan_##D(T a) {                                                                              \
        return (__real__ a != __real__ a) | (__imag__ a != __imag__ a);                                                \
    }                                                                                                                  \
    VM_INLINE uint8_t vm_isinf_##D(T a) {                                                                              \
        return (vm_abs_##R(__real__ a) > vm_max_finite_##R) | (vm_abs_##R(__imag__ a) > vm_max_finite_##R);            \
    }                                                                                                                  \
    VM_INLINE uint8_t vm_isfinite_##D(T a) {                                                                           \
        return (vm_abs_##R(__real__ a) <= vm_max_finite_##R) & (vm_abs_##R(__imag__ a) <= vm_max_finite_##R);          \
    }
VM_COMPLEX_OF(c64, neap_c64, float, f32)
VM_COMPLEX_OF(c128, neap_c128, double, f64)
#define vm_no_sum_c64 __builtin_complex(-0.0f, -0.0f)
#define vm_no_sum_c128 __builtin_complex(-0.0, -0.0)

/* ---- Real functions that are called, not part of each function --------------------------------------------------- */
#define VM_C_CALLS(name, of)                                                                                           \
    static __attribute__((noinline, unused)) double vm_called_##name(double x) {                                       \
        return of(x);                                                                                                  \
    }
VM_C_CALLS(exp, vm_slow_exp_f64)
VM_C_CALLS(exp2, vm_slow_exp2_f64)
VM_C_CALLS(expm1, vm_slow_expm1_f64)
VM_C_CALLS(sin, vm_slow_sin_f64)
VM_C_CALLS(cos, vm_slow_cos_f64)
VM_C_CALLS(tan, vm_slow_tan_f64)
VM_C_CALLS(sinh, vm_slow_sinh_f64)
VM_C_CALLS(cosh, vm_slow_cosh_f64)
VM_C_CALLS(log, vm_slow_log_f64)
VM_C_CALLS(log1p, vm_slow_log1p_f64)
VM_C_CALLS(asinh, vm_slow_asinh_f64)
static __attribute__((noinline, unused)) double vm_called_hypot(double x, double y) {
    return vm_hypot_f64(x, y);
}
static __attribute__((noinline, unused)) double vm_called_atan2(double y, double x) {
    return vm_atan2_f64(y, x);
}

/* A value with the sign of another: of a NaN, whose own sign is any, that of a plus. So no zero and no infinity has a
 * sign that one processor or another gives to NaNs. */
VM_INLINE double vm_signed(double size, double like) {
    return vm_copysign_f64(size, like == like ? like : 1);
}

/* i z, and z / i. */
VM_INLINE neap_c128 vm_turned(neap_c128 z) {
    return __builtin_complex(-__imag__ z, __real__ z);
}
VM_INLINE neap_c128 vm_turned_back(neap_c128 z) {
    return __builtin_complex(__imag__ z, -__real__ z);
}
VM_INLINE bool vm_is_finite(double x) {
    return vm_abs_f64(x) <= vm_max_finite_f64;
}

/* ---- Exponentials ------------------------------------------------------------------------------------------------ */
/* e^x (cos y + i sin y); e^x in two factors, of which one may be infinite only where both are. */
VM_COMPLEX vm_exp_c128(neap_c128 z) {
    const double x = __real__ z, y = __imag__ z;
    if (y == 0)
        return __builtin_complex(vm_called_exp(x), y);
    if (!vm_is_finite(y) && vm_abs_f64(x) == vm_highest_f64)
        return x < 0 ? __builtin_complex(0.0, vm_signed(0, y)) : __builtin_complex(x, y - y);
    const double half = x > 700 ? vm_called_exp(x / 2) : 1, size = x > 700 ? half : vm_called_exp(x);
    return __builtin_complex(size * vm_called_cos(y) * half, size * vm_called_sin(y) * half);
}
VM_COMPLEX vm_exp2_c128(neap_c128 z) {
    const double x = __real__ z, y = __imag__ z * 0.693147180559945309417;
    if (vm_is_finite(x) && vm_is_finite(y)) { /* the real part loses no digit by a factor */
        const double half = x > 1000 ? vm_called_exp2(x / 2) : 1, size = x > 1000 ? half : vm_called_exp2(x);
        return __builtin_complex(size * vm_called_cos(y) * half, y == 0 ? y : size * vm_called_sin(y) * half);
    }
    return vm_exp_c128(__builtin_complex(__real__ z * 0.693147180559945309417, __imag__ z * 0.693147180559945309417));
}
VM_COMPLEX vm_expm1_c128(neap_c128 z) {
    const double x = __real__ z, y = __imag__ z, half = vm_called_sin(y / 2);
    if (y == 0)
        return __builtin_complex(vm_called_expm1(x), y);
    if (vm_abs_f64(x) > 1)
        return vm_exp_c128(z) - 1;
    return __builtin_complex(vm_called_expm1(x) * vm_called_cos(y) - 2 * half * half,
                             vm_called_exp(x) * vm_called_sin(y));
}
VM_COMPLEX vm_sinh_c128(neap_c128 z) {
    const double x = __real__ z, y = __imag__ z;
    if (y == 0)
        return __builtin_complex(vm_called_sinh(x), y);
    if (x == 0)
        return __builtin_complex(vm_is_finite(y) ? x * vm_signed(1, vm_called_cos(y)) : x, vm_called_sin(y));
    if (vm_abs_f64(x) > 700) {
        const neap_c128 half = vm_exp_c128(__builtin_complex(vm_abs_f64(x), y)) * 0.5;
        return __builtin_complex(vm_signed(1, x) * __real__ half, __imag__ half);
    }
    return __builtin_complex(vm_called_sinh(x) * vm_called_cos(y), vm_called_cosh(x) * vm_called_sin(y));
}
VM_COMPLEX vm_cosh_c128(neap_c128 z) {
    const double x = __real__ z, y = __imag__ z;
    if (y == 0)
        return __builtin_complex(vm_called_cosh(x), vm_signed(1, x) * y);
    if (x == 0)
        return __builtin_complex(vm_called_cos(y), vm_is_finite(y) ? x * vm_signed(1, vm_called_sin(y)) : 0);
    if (vm_abs_f64(x) > 700) {
        const neap_c128 half = vm_exp_c128(__builtin_complex(vm_abs_f64(x), y)) * 0.5;
        return __builtin_complex(__real__ half, vm_signed(1, x) * __imag__ half);
    }
    return __builtin_complex(vm_called_cosh(x) * vm_called_cos(y), vm_called_sinh(x) * vm_called_sin(y));
}
VM_COMPLEX vm_tanh_c128(neap_c128 z) {
    const double x = __real__ z, y = __imag__ z;
    if (vm_abs_f64(x) > 22) {
        const double sign = vm_signed(1, x);
        if (!vm_is_finite(y))
            return vm_is_finite(x) ? __builtin_complex(y - y, y - y) : __builtin_complex(sign, 0.0);
        const double small = vm_called_exp(-vm_abs_f64(x)), twice = 4 * vm_called_sin(y) * vm_called_cos(y);
        return __builtin_complex(sign, twice * small * small);
    }
    if (y == 0)
        return __builtin_complex(vm_tanh_f64(x), y);
    const double t = vm_called_tan(y), beta = 1 + t * t, s = vm_called_sinh(x), rho = vm_sqrt_f64(1 + s * s);
    const double below = 1 + beta * s * s;
    return x == 0 ? __builtin_complex(x, t) : __builtin_complex(beta * rho * s / below, t / below);
}
VM_COMPLEX vm_sin_c128(neap_c128 z) {
    return vm_turned_back(vm_sinh_c128(vm_turned(z)));
}
VM_COMPLEX vm_cos_c128(neap_c128 z) {
    return vm_cosh_c128(vm_turned(z));
}
VM_COMPLEX vm_tan_c128(neap_c128 z) {
    return vm_turned_back(vm_tanh_c128(vm_turned(z)));
}

/* ---- Logarithms and roots ---------------------------------------------------------------------------------------- */
/* log |x + i y|. Near the unit circle it is half of log1p(|z|^2 - 1), with the squares' rounding errors. */
static __attribute__((noinline, unused)) double vm_log_size(double x, double y) {
    const double a = vm_max_f64(vm_abs_f64(x), vm_abs_f64(y)), b = vm_min_f64(vm_abs_f64(x), vm_abs_f64(y));
    if (a > 0.5 && a < 2) {
        const double p = a * a, q = b * b, rest = vm_fma_f64(a, a, -p) + vm_fma_f64(b, b, -q);
        const double over = ((p - 1) + q) + rest;
        if (vm_abs_f64(over) < 0.5)
            return 0.5 * vm_called_log1p(over);
    }
    if (a > 0x1p1000)
        return vm_called_log(vm_called_hypot(x * 0x1p-4, y * 0x1p-4)) + 4 * 0.693147180559945309417;
    if (a < 0x1p-1000)
        return vm_called_log(vm_called_hypot(x * 0x1p64, y * 0x1p64)) - 64 * 0.693147180559945309417;
    return vm_called_log(vm_called_hypot(x, y));
}
VM_COMPLEX vm_log_c128(neap_c128 z) {
    const double x = __real__ z, y = __imag__ z;
    return __builtin_complex(vm_log_size(x, y), vm_called_atan2(y, x));
}
VM_COMPLEX vm_log2_c128(neap_c128 z) {
    const neap_c128 log = vm_log_c128(z);
    return __builtin_complex(__real__ log * 1.44269504088896340736, __imag__ log * 1.44269504088896340736);
}
VM_COMPLEX vm_log10_c128(neap_c128 z) {
    const neap_c128 log = vm_log_c128(z);
    return __builtin_complex(__real__ log * 0.434294481903251827651, __imag__ log * 0.434294481903251827651);
}
VM_COMPLEX vm_log1p_c128(neap_c128 z) {
    const double x = __real__ z, y = __imag__ z;
    if (vm_abs_f64(x) > 0.5 || vm_abs_f64(y) > 0.5 || z != z)
        return vm_log_c128(__builtin_complex(1 + x, y));
    const double p = x * x, q = y * y, over = (2 * x + q) + p;
    return __builtin_complex(0.5 * vm_called_log1p(over), vm_called_atan2(y, 1 + x));
}
VM_COMPLEX vm_sqrt_c128(neap_c128 z) {
    double x = __real__ z, y = __imag__ z, scale = 1;
    if (x == 0 && y == 0)
        return __builtin_complex(0.0, y);
    if (vm_abs_f64(y) == vm_highest_f64)
        return __builtin_complex(vm_highest_f64, y);
    if (vm_abs_f64(x) == vm_highest_f64)
        return x > 0 ? __builtin_complex(x, y != y ? y : vm_signed(0, y))
                     : __builtin_complex(y != y ? y : 0, vm_signed(-x, y));
    if (vm_abs_f64(x) > 0x1p1020 || vm_abs_f64(y) > 0x1p1020)
        x *= 0x1p-4, y *= 0x1p-4, scale = 4;
    else if (vm_abs_f64(x) < 0x1p-960 && vm_abs_f64(y) < 0x1p-960)
        x *= 0x1p60, y *= 0x1p60, scale = 0x1p-30;
    const double t = vm_sqrt_f64(0.5 * (vm_abs_f64(x) + vm_called_hypot(x, y)));
    if (x >= 0)
        return __builtin_complex(t * scale, y / (2 * t) * scale);
    return __builtin_complex(vm_abs_f64(y) / (2 * t) * scale, vm_signed(t, y) * scale);
}
VM_COMPLEX vm_rsqrt_c128(neap_c128 z) {
    return vm_divide_c128(1, vm_sqrt_c128(z));
}
VM_COMPLEX vm_sign_c128(neap_c128 z) {
    const double x = __real__ z, y = __imag__ z, size = vm_called_hypot(x, y);
    if (size == 0)
        return 0;
    if (size == vm_highest_f64 && x == x && y == y && vm_is_finite(x) != vm_is_finite(y))
        return __builtin_complex(vm_copysign_f64(!vm_is_finite(x), x), vm_copysign_f64(!vm_is_finite(y), y));
    if (size > vm_max_finite_f64 && vm_is_finite(__real__ z) && vm_is_finite(__imag__ z))
        return vm_sign_c128(__builtin_complex(__real__ z * 0.25, __imag__ z * 0.25));
    return __builtin_complex(__real__ z / size, __imag__ z / size);
}

enum { VM_POWER_STEPS = 100 }; /* integers up to which a power is made of products, as in NumPy */

/* a^n, n >= 0. */
VM_INLINE neap_c128 vm_whole_power(neap_c128 a, int n) {
    neap_c128 power = 1;
    for (; n > 0; n >>= 1, a = vm_multiply_c128(a, a))
        power = n & 1 ? vm_join_product_c128(power, a) : power;
    return power;
}
VM_COMPLEX vm_pow_c128(neap_c128 a, neap_c128 b) {
    const double n = __real__ b;
    if (b == 0)
        return 1;
    if (a == 0)
        return n > 0 && __imag__ b == 0 ? (neap_c128)0 : __builtin_complex((double)NAN, (double)NAN);
    if (__imag__ b == 0 && n == vm_trunc_f64(n) && vm_abs_f64(n) < VM_POWER_STEPS)
        return n > 0 ? vm_whole_power(a, (int)n) : vm_divide_c128(1, vm_whole_power(a, (int)-n));
    return vm_exp_c128(vm_multiply_c128(b, vm_log_c128(a)));
}

/* ---- Inverse functions ------------------------------------------------------------------------------------------- */
#define VM_C_LARGE 0x1p500 /* from here on 1 is nothing beside z, and z squared would be infinite */

/* log(2 z) for large z with a real part of at least 0. */
VM_INLINE neap_c128 vm_log_double(double x, double y) {
    return __builtin_complex(vm_log_size(x, y) + 0.693147180559945309417, vm_called_atan2(y, x));
}
VM_INLINE bool vm_is_large(neap_c128 z) {
    return vm_abs_f64(__real__ z) > VM_C_LARGE || vm_abs_f64(__imag__ z) > VM_C_LARGE;
}
VM_COMPLEX vm_asin_c128(neap_c128 z) {
    const double x = __real__ z, y = __imag__ z;
    if (x == 0 && y != y)
        return z;
    if (vm_is_large(z)) {
        const neap_c128 log = vm_log_double(vm_abs_f64(y), vm_abs_f64(x));
        return __builtin_complex(vm_signed(__imag__ log, x), vm_signed(__real__ log, y));
    }
    const neap_c128 below = vm_sqrt_c128(__builtin_complex(1 - x, -y)),
                    above = vm_sqrt_c128(__builtin_complex(1 + x, y));
    return __builtin_complex(
        vm_called_atan2(x, __real__ below * __real__ above - __imag__ below * __imag__ above),
        vm_signed(vm_called_asinh(__real__ below * __imag__ above - __imag__ below * __real__ above), y));
}
VM_COMPLEX vm_acos_c128(neap_c128 z) {
    const double x = __real__ z, y = __imag__ z;
    if (x == 0 && y != y)
        return __builtin_complex(VM_PI / 2, y);
    if (vm_is_large(z))
        return __builtin_complex(vm_called_atan2(vm_abs_f64(y), x),
                                 vm_signed(__real__ vm_log_double(vm_abs_f64(x), y), -y));
    const neap_c128 below = vm_sqrt_c128(__builtin_complex(1 - x, -y)),
                    above = vm_sqrt_c128(__builtin_complex(1 + x, y));
    return __builtin_complex(
        2 * vm_called_atan2(__real__ below, __real__ above),
        vm_signed(vm_called_asinh(__real__ above * __imag__ below - __imag__ above * __real__ below), -y));
}
VM_COMPLEX vm_acosh_c128(neap_c128 z) {
    const double x = __real__ z, y = __imag__ z;
    if (x == 0 && y != y)
        return __builtin_complex(y, VM_PI / 2);
    if (vm_is_large(z))
        return __builtin_complex(__real__ vm_log_double(vm_abs_f64(x), y), vm_called_atan2(y, x));
    const neap_c128 below = vm_sqrt_c128(__builtin_complex(x - 1, y)),
                    above = vm_sqrt_c128(__builtin_complex(x + 1, y));
    return __builtin_complex(vm_called_asinh(__real__ below * __real__ above + __imag__ below * __imag__ above),
                             2 * vm_called_atan2(__imag__ below, __real__ above));
}
VM_COMPLEX vm_atanh_c128(neap_c128 z) {
    const double x = __real__ z, y = __imag__ z, size = vm_abs_f64(x), above = 1 - size;
    if (z != z) /* the real part is 0 where either part says so */
        return __builtin_complex(vm_abs_f64(y) == vm_highest_f64 || x == 0 || size == vm_highest_f64 ? vm_signed(0, x)
                                                                                                     : (double)NAN,
                                 vm_abs_f64(y) == vm_highest_f64 ? vm_signed(VM_PI / 2, y) : (double)NAN);
    if (size > 0x1p60 || vm_abs_f64(y) > 0x1p60) {
        const double down = __real__ vm_divide_c128(1, z);
        return __builtin_complex(vm_signed(down == down ? vm_abs_f64(down) : 0, x), vm_signed(VM_PI / 2, y));
    }
    if (size == 1 && y == 0)
        return __builtin_complex(vm_signed(vm_highest_f64, x), y);
    const double square = above * above + y * y; /* beside 1 and -1 it underflows */
    const double real = square < 0x1p-900 ? 0.5 * (0.693147180559945309417 - vm_called_log(vm_called_hypot(above, y)))
                                          : 0.25 * vm_called_log1p(4 * size / square);
    const double imag = 0.5 * vm_called_atan2(2 * y, above * (1 + size) - y * y);
    return __builtin_complex(vm_signed(real, x), imag);
}
VM_COMPLEX vm_asinh_c128(neap_c128 z) {
    return vm_turned_back(vm_asin_c128(vm_turned(z)));
}
VM_COMPLEX vm_atan_c128(neap_c128 z) {
    return vm_turned_back(vm_atanh_c128(vm_turned(z)));
}

/* ---- Of c64 ------------------------------------------------------------------------------------------------------ */
#define VM_ROUNDED(name)                                                                                               \
    VM_INLINE neap_c64 vm_##name##_c64(neap_c64 z) {                                                                   \
        return (neap_c64)vm_##name##_c128((neap_c128)z);                                                               \
    }
VM_ROUNDED(exp)
VM_ROUNDED(exp2)
VM_ROUNDED(expm1)
VM_ROUNDED(sinh)
VM_ROUNDED(cosh)
VM_ROUNDED(tanh)
VM_ROUNDED(sin)
VM_ROUNDED(cos)
VM_ROUNDED(tan)
VM_ROUNDED(log)
VM_ROUNDED(log2)
VM_ROUNDED(log10)
VM_ROUNDED(log1p)
VM_ROUNDED(sqrt)
VM_ROUNDED(rsqrt)
VM_ROUNDED(sign)
VM_ROUNDED(asin)
VM_ROUNDED(acos)
VM_ROUNDED(acosh)
VM_ROUNDED(atanh)
VM_ROUNDED(asinh)
VM_ROUNDED(atan)
VM_INLINE neap_c64 vm_pow_c64(neap_c64 a, neap_c64 b) {
    return (neap_c64)vm_pow_c128((neap_c128)a, (neap_c128)b);
}

#endif
