/* vmath_gamma.h: the gamma function and its kin: gamma, lgamma, digamma, zeta, betaln.
 *
 * These are scalar code with branches, called once per element, in f64; functions of f32 round what these give. Where
 * terms cancel or are exponents, numbers are sums of two (vm_two), with some 100 bits. Polynomials and constants are in
 * vmath_special_tables.h.
 */
#ifndef LAZY_SIMD_VMATH_GAMMA_H
#define LAZY_SIMD_VMATH_GAMMA_H

#include "lazy/vm/simd/vmath_exp.h"
#include "lazy/vm/simd/vmath_log.h"
#include "lazy/vm/simd/vmath_special_tables.h"
#include "lazy/vm/simd/vmath_trig.h"

/* Functions that loops call, so that the code of each is there once; not every file with this header has all loops. */
#define VM_CALLED static __attribute__((noinline, unused))
#define VM_PI_F64 (2 * VM_PIO2_1_F64)

#define VM_ROUNDED1(name)                                                                                              \
    VM_INLINE float vm_##name##_f32(float x) {                                                                         \
        return (float)vm_##name##_f64((double)x);                                                                      \
    }
#define VM_ROUNDED2(name)                                                                                              \
    VM_INLINE float vm_##name##_f32(float x, float y) {                                                                \
        return (float)vm_##name##_f64((double)x, (double)y);                                                           \
    }
#define VM_TERMS(table, x) vm_poly_f64(table, (int)(sizeof(table) / sizeof *(table)), x)

/* ---- Sums of two numbers (Dekker, 1971; Knuth, TAOCP 2, 4.2.2) --------------------------------------------------- */
typedef struct vm_two {
    double high, low;
} vm_two;

VM_INLINE vm_two vm_two_sum(double a, double b) {
    const double sum = a + b, part = sum - a;
    return (vm_two){sum, (a - (sum - part)) + (b - part)};
}
VM_INLINE vm_two vm_two_add(vm_two a, vm_two b) {
    const vm_two s = vm_two_sum(a.high, b.high);
    const double low = s.low + (a.low + b.low), high = s.high + low;
    return (vm_two){high, (s.high - high) + low};
}
VM_INLINE vm_two vm_two_times(vm_two a, vm_two b) {
    const double high = a.high * b.high;
    const double low = vm_fma_f64(a.high, b.high, -high) + vm_fma_f64(a.high, b.low, a.low * b.high), sum = high + low;
    return (vm_two){sum, (high - sum) + low};
}
VM_INLINE vm_two vm_two_minus(vm_two a) {
    return (vm_two){-a.high, -a.low};
}
VM_INLINE vm_two vm_two_of(double a) {
    return (vm_two){a, 0};
}
/* log(x) for finite x > 0 */
VM_INLINE vm_two vm_two_log(double x) {
    vm_two log;
    log.high = vm_log_double_f64(x, &log.low);
    return log;
}
/* 2^k exp(x), rounded once but for the last place */
VM_INLINE double vm_two_exp(vm_two x, double k) {
    double shifted;
    const bool inside = (x.high > -1200) & (x.high < 1200);
    const double p = vm_exp_parts_f64(vm_clamp_f64(x.high, -1200, 1200), &shifted);
    return vm_scale_f64(1 + vm_fma_f64(inside ? x.low : 0, 1 + p, p), shifted - 0x1.8p52 + k);
}

/* ---- gamma, lgamma ----------------------------------------------------------------------------------------------- */
/* What Stirling's formula lacks: lgamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2), for x from 8 (DLMF 5.11.1). */
VM_INLINE double vm_stirling_rest(double x) {
    const double inverse = 1 / x;
    return VM_TERMS(vm_stirling_terms, inverse * inverse) * inverse;
}
/* lgamma(x) for x from 8, while it is finite. */
VM_INLINE vm_two vm_lgamma_far(double x) {
    const vm_two power = vm_two_add(vm_two_times(vm_two_sum(x, -0.5), vm_two_log(x)), vm_two_of(-x));
    const vm_two constant = {VM_HALF_LOG_2PI_1, VM_HALF_LOG_2PI_2};
    return vm_two_add(vm_two_add(power, constant), vm_two_of(vm_stirling_rest(x)));
}

/* lgamma(x) for 0 < x < 8: polynomials around 1, 1.5, 2 and 2.625, whose zeros at 1 and 2 are factors. Below 3/4 it is
 * lgamma(1 + x) - log(x), where no rounded 1 + x goes in; above 3 factors are taken off. */
VM_INLINE double vm_lgamma_near(double x) {
    if (x < 0.25)
        return x * VM_TERMS(vm_lgamma_1_terms, x) - vm_slow_log_f64(x);
    if (x < 0.75)
        return VM_TERMS(vm_lgamma_mid_terms, x - 0.5) - vm_log_f64(x);
    if (x < 1.25)
        return (x - 1) * VM_TERMS(vm_lgamma_1_terms, x - 1);
    if (x < 1.75)
        return VM_TERMS(vm_lgamma_mid_terms, x - 1.5);
    double product = 1;
    while (x >= 3)
        x -= 1, product *= x;
    const double value =
        x < 2.25 ? (x - 2) * VM_TERMS(vm_lgamma_2_terms, x - 2) : VM_TERMS(vm_lgamma_3_terms, x - 2.625);
    return product == 1 ? value : vm_log_f64(product) + value;
}

/* |sin(pi x)|, exactly 0 at integers. */
VM_INLINE double vm_sin_of_turns(double x) {
    const double rest = x - vm_round_f64(x);
    return vm_abs_f64(vm_sin_f64(VM_PI_F64 * rest));
}

/* Left of 0 by reflection (DLMF 5.5.3): log(pi / (a sin(pi a))) - lgamma(a) with a = -x. */
VM_CALLED double vm_lgamma_f64(double x) {
    const double a = vm_abs_f64(x), infinite = vm_highest_f64;
    if (x != x)
        return x;
    if (!(a < 2.5563481638716905e305))
        return infinite;
    const vm_two far = a >= 8 ? vm_lgamma_far(a) : vm_two_of(a == 0 ? infinite : vm_lgamma_near(a));
    if (x > 0)
        return far.high + far.low;
    const double sine = vm_sin_of_turns(a);
    if (a == 0 || sine == 0)
        return infinite;
    if (a < 0x1p-60)
        return -vm_slow_log_f64(a);
    return vm_log_f64(VM_PI_F64 / (a * sine)) - (far.high + far.low);
}

/* gamma(2 + z) times or divided by x's distances from the integers between, z = x - round(x); those are exact, but for
 * 1 + x near 0. For |x| up to 25. */
VM_INLINE double vm_gamma_near(double x) {
    const double whole = vm_round_f64(x), z = x - whole;
    const int n = (int)whole - 2;
    vm_two product = vm_two_of(1);
    for (int j = 1; j <= n; j++)
        product = vm_two_times(product, vm_two_of(x - j));
    for (int j = 0; j < -n; j++)
        product = vm_two_times(product, vm_two_sum(x, j));
    const double core = vm_fma_f64(z, VM_TERMS(vm_gamma_terms, z), 1);
    if (n >= 0)
        return core * product.high + core * product.low;
    const double quotient = core / product.high;
    return quotient - quotient * (product.low / product.high);
}

/* Infinite at ±0, with its sign; NaN at the other poles and at -infinity. Left of -20 by reflection. */
VM_CALLED double vm_gamma_f64(double x) {
    const double a = vm_abs_f64(x), infinite = vm_highest_f64;
    if (x != x || x == infinite)
        return x;
    if (a < 0x1p-60)
        return 1 / x;
    if (x < 0 && vm_floor_f64(x) == x)
        return (x - x) / (x - x);
    if (a < 20)
        return vm_gamma_near(x);
    if (x > 172)
        return infinite;
    const vm_two log = vm_lgamma_far(a < 1000 ? a : 1000);
    if (x > 0)
        return vm_two_exp(log, 0);
    const bool odd = vm_floor_f64(x) != 2 * vm_floor_f64(x * 0.5);
    const double value = vm_two_exp(vm_two_minus(log), 200) * (VM_PI_F64 / (a * vm_sin_of_turns(a))) * 0x1p-200;
    return odd ? -value : value;
}

/* ---- digamma ----------------------------------------------------------------------------------------------------- */
/* Asymptotic from 8 on (DLMF 5.11.2), by recurrence to [1, 2) below, where the zero is a factor; left of 0 psi(a) + 1/a
 * + pi cot(pi a) with a = -x (DLMF 5.5.4). */
VM_INLINE double vm_digamma_right(double x) {
    if (x >= 8) {
        const double inverse = 1 / x, w = inverse * inverse;
        return vm_log_f64(x) - (0.5 * inverse + w * VM_TERMS(vm_psi_far_terms, w));
    }
    if (x < 1) {
        const double t = ((x - VM_PSI_ROOT_LESS_1_1) - VM_PSI_ROOT_LESS_1_2) - VM_PSI_ROOT_LESS_1_3;
        return t * VM_TERMS(vm_psi_terms, t) - 1 / x;
    }
    double sum = 0;
    while (x >= 2)
        x -= 1, sum += 1 / x;
    const double t = ((x - VM_PSI_ROOT_1) - VM_PSI_ROOT_2) - VM_PSI_ROOT_3;
    return vm_fma_f64(t, VM_TERMS(vm_psi_terms, t), sum);
}
VM_CALLED double vm_digamma_f64(double x) {
    const double a = vm_abs_f64(x), infinite = vm_highest_f64;
    if (x != x || x == infinite)
        return x;
    if (x == 0)
        return -vm_copysign_f64(infinite, x);
    if (x > 0)
        return x < infinite ? vm_digamma_right(x) : x;
    const double rest = a - vm_round_f64(a);
    if (rest == 0 || a == infinite)
        return infinite - infinite;
    if (a < 0.5) /* psi(1 + x) - 1/x */
        return vm_digamma_right(1 + x) - 1 / x;
    return vm_digamma_right(a) + (1 / a + VM_PI_F64 / vm_tan_f64(VM_PI_F64 * rest));
}

/* ---- zeta -------------------------------------------------------------------------------------------------------- */
/* The sum of (q + k)^-s over k from 0, q > 0 or s integral, s > 1: ten terms and the formula of Euler and Maclaurin
 * (DLMF 25.11.28 with the terms of 2.10.1). */
VM_INLINE double vm_zeta_sum(double s, double q) {
    double sum = 0, at = q;
    for (int k = 0; k < 10 || at < 9; k++, at += 1) {
        const double term = vm_pow_f64(at, -s);
        sum += term;
        if (at > 0 && (term == 0 || term < sum * 0x1p-54 * (s - 1) / at))
            return sum;
    }
    const double power = vm_pow_f64(at, -s), inverse = 1 / (at * at);
    double factor = s / at, rest = 0;
    for (int k = 0; k < 14; k++) {
        rest = vm_fma_f64(factor, vm_zeta_terms[k], rest);
        factor *= (s + 2 * k + 1) * (s + 2 * k + 2) * inverse;
    }
    return sum + power * (at / (s - 1) + (0.5 + rest));
}
/* Left of q = 0 for integral s alone: with q = f - m, the sum over the m terms there is one of zeta(s, 1 - f). */
VM_CALLED double vm_zeta_f64(double s, double q) {
    const double infinite = vm_highest_f64, nan = infinite - infinite;
    if (s != s || q != q || s < 1)
        return nan;
    if (s == 1)
        return infinite;
    if (q <= 0 && vm_floor_f64(q) == q)
        return q == -infinite ? nan : infinite;
    if (q <= 0 && vm_floor_f64(s) != s)
        return nan;
    if (q == infinite)
        return 0;
    if (s == infinite)
        return q == 1 ? 1 : vm_abs_f64(q) > 1 ? 0 : infinite;
    if (q > -10)
        return vm_zeta_sum(s, q);
    const double m = -vm_floor_f64(q), f = q + m;
    const double left = vm_zeta_sum(s, 1 - f) - vm_zeta_sum(s, m + (1 - f));
    const bool odd = vm_floor_f64(s * 0.5) * 2 != s;
    return vm_zeta_sum(s, f) + (odd ? -left : left);
}

/* ---- beta -------------------------------------------------------------------------------------------------------- */
/* x - log1p(x), from -1/2 to 1: with r = x / (2 + x), x r - 2 r³ (1/3 + r²/5 + …), since log1p(x) = 2 atanh(r). */
VM_INLINE double vm_less_log1p(double x) {
    if (vm_abs_f64(x) > 0.5)
        return x - vm_log1p_f64(x);
    const double r = x / (2 + x), w = r * r;
    return r * (x - 2 * w * VM_TERMS(vm_odd_terms, w));
}

/* log of gamma(b) / gamma(a + b), b from 8, 0 < a <= b: no large terms cancel (DiDonato and Morris, ACM TOMS 708,
 * 1992). */
VM_INLINE double vm_lgamma_quotient(double a, double b) {
    const double ratio = a / b, rest = vm_stirling_rest(b) - vm_stirling_rest(a + b);
    return (rest - (a + b - 0.5) * vm_log1p_f64(ratio)) - a * (vm_log_f64(b) - 1);
}
/* log |beta(a, b)| */
VM_CALLED double vm_betaln_f64(double x, double y) {
    const double a = x < y ? x : y, b = x < y ? y : x, infinite = vm_highest_f64;
    if (x != x || y != y)
        return x + y;
    if (a <= 0)
        return vm_lgamma_f64(a) + (vm_lgamma_f64(b) - vm_lgamma_f64(a + b));
    if (b == infinite)
        return -infinite;
    if (b < 8)
        return vm_lgamma_f64(a) + (vm_lgamma_f64(b) - vm_lgamma_f64(a + b));
    if (a < 8)
        return vm_lgamma_f64(a) + vm_lgamma_quotient(a, b);
    const double rest = vm_stirling_rest(a) + (vm_stirling_rest(b) - vm_stirling_rest(a + b)), ratio = a / b;
    const double share = vm_log_f64(ratio) - vm_log1p_f64(ratio); /* log(a / (a + b)) */
    return ((a - 0.5) * share - b * vm_log1p_f64(ratio)) + (VM_HALF_LOG_2PI_1 - 0.5 * vm_log_f64(b) + rest);
}

VM_ROUNDED1(lgamma)
VM_ROUNDED1(gamma)
VM_ROUNDED1(digamma)
VM_ROUNDED2(zeta)
VM_ROUNDED2(betaln)

#endif
