/* vmath_incomplete.h: the incomplete gamma and beta functions, regularized.
 *
 * Scalar code with loops, called once per element, in f64; functions of f32 round what these give. Every result is a
 * factor, which holds the powers and exponentials, times a sum near 1. The factor is computed from terms that do not
 * cancel, so that the relative error of a result grows with the size of its logarithm alone.
 */
#ifndef LAZY_SIMD_VMATH_INCOMPLETE_H
#define LAZY_SIMD_VMATH_INCOMPLETE_H

#include "lazy/vm/simd/vmath_erfc.h"

enum { VM_TURNS_MAX = 200000 }; /* of a sum or a fraction: enough for parameters up to VM_LARGE */
#define VM_LARGE 1e8

/* ---- gamma ------------------------------------------------------------------------------------------------------- */
/* x^a exp(-x) / gamma(1 + a). */
VM_INLINE double vm_gamma_factor(double a, double x) {
    if (a < 20) {
        const vm_two power = vm_two_add(vm_two_times(vm_two_of(a), vm_two_log(x)), vm_two_of(-x));
        return vm_two_exp(power, 0) / vm_gamma_near(1 + a);
    }
    const double distance = (x - a) / a, infinite = vm_highest_f64;
    vm_two power;
    if (distance < -0.5 || distance > 0.5) {
        const vm_two logs = vm_two_add(vm_two_log(x), vm_two_minus(vm_two_log(a)));
        power = vm_two_add(vm_two_times(vm_two_of(a), logs), vm_two_sum(a, -x));
    } else {
        power = vm_two_of(-a * vm_less_log1p(distance));
    }
    if (!(vm_abs_f64(power.high) < infinite))
        return 0;
    return vm_two_exp(vm_two_add(power, vm_two_of(-vm_stirling_rest(a))), 0) / (VM_SQRT_2PI_1 * vm_sqrt_f64(a));
}

/* The sum of x^k / ((a + 1) … (a + k)), k from 0 (DLMF 8.7.1); *slope its derivative by a. */
VM_INLINE double vm_gamma_series(double a, double x, double *slope) {
    double term = 1, sum = 1, inverses = 0;
    *slope = 0;
    for (int k = 1; k < VM_TURNS_MAX; k++) {
        term *= x / (a + k);
        inverses += 1 / (a + k);
        sum += term;
        *slope -= term * inverses;
        if (term < sum * 0x1p-55 && term * inverses <= -*slope * 0x1p-55)
            break;
    }
    return sum;
}

/* x times the continued fraction 1 / (x + 1 - a - (1 - a) / (x + 3 - a - …)) by the method of Lentz (DLMF 8.9.2). */
VM_INLINE double vm_gamma_fraction(double a, double x) {
    double b = x + 1 - a, c = 1e300, d = 1 / b, value = d;
    for (int k = 1; k < VM_TURNS_MAX; k++) {
        const double top = -k * (k - a);
        b += 2;
        d = vm_fma_f64(top, d, b), d = 1 / (d == 0 ? 1e-300 : d);
        c = b + top / c, c = c == 0 ? 1e-300 : c;
        value *= c * d;
        if (vm_abs_f64(c * d - 1) < 0x1p-53)
            break;
    }
    return value * x;
}

/* Temme's uniform expansion, for large a and x near a (DLMF 8.12.3): P below its middle, else Q. */
VM_INLINE double vm_gamma_uniform(double a, double x, bool *upper) {
    const double distance = (x - a) / a, half = vm_less_log1p(distance);
    const double eta = vm_copysign_f64(vm_sqrt_f64(2 * half), distance), inverse = 1 / a;
    double sum = 0;
    for (int k = VM_TEMME_ROWS - 1; k >= 0; k--)
        sum = vm_fma_f64(sum, inverse, vm_poly_f64(vm_temme[k], VM_TEMME_COLUMNS, eta));
    const double e = vm_two_exp(vm_two_of(-a * half), 0), rest = e * sum / (VM_SQRT_2PI_1 * vm_sqrt_f64(a));
    const double tail = 0.5 * e * vm_erfcx_f64(vm_sqrt_f64(a * half));
    *upper = distance >= 0;
    return *upper ? tail + rest : tail - rest;
}

/* Q for x up to 1.1 where it is the smaller part, or a is small: 1 - x^a / gamma(1 + a), less x^a / gamma(1 + a) times
 * a sum of (-x)^k a / ((a + k) k!) (DLMF 8.7.3). */
VM_INLINE double vm_gamma_small_upper(double a, double x) {
    const double rest = a < 0.25 ? a * VM_TERMS(vm_lgamma_1_terms, a) : vm_lgamma_f64(1 + a);
    const double power = a * vm_slow_log_f64(x) - rest;
    double term = 1, sum = 0;
    for (int k = 1; k < 40; k++) {
        term *= -x / k;
        sum += term / (a + k);
    }
    return -vm_slow_expm1_f64(power) - a * vm_slow_exp_f64(power) * sum;
}

typedef enum vm_gamma_way { VM_GAMMA_SERIES, VM_GAMMA_FRACTION, VM_GAMMA_UNIFORM, VM_GAMMA_SMALL } vm_gamma_way;

VM_INLINE vm_gamma_way vm_gamma_way_of(double a, double x) {
    if (x <= 1.1) {
        const bool small = x < 0.5 ? a * -vm_slow_log_f64(x) < 0.4 : a < 0.75 * x;
        return small ? VM_GAMMA_SMALL : VM_GAMMA_SERIES;
    }
    const double distance = vm_abs_f64(x - a) / a;
    if (a > 20 && (distance < 0.4 && (a < 200 || distance < 0.3)))
        return VM_GAMMA_UNIFORM;
    return x < a + 0.5 ? VM_GAMMA_SERIES : VM_GAMMA_FRACTION;
}

/* P(a, x), or Q where `upper`; what is not computed is 1 less the other. */
VM_CALLED double vm_gamma_part(double a, double x, bool upper) {
    const double infinite = vm_highest_f64;
    bool is_upper = false;
    double value;
    if (!(a >= 0 && x >= 0) || (a == infinite && x == infinite) || (a == 0 && x == 0))
        return infinite - infinite;
    if (a == 0 || x == infinite)
        value = 1;
    else if (x == 0 || a == infinite)
        value = 0;
    else {
        const vm_gamma_way way = vm_gamma_way_of(a, x);
        double slope;
        if (way == VM_GAMMA_UNIFORM) {
            value = vm_gamma_uniform(a, x, &is_upper);
        } else if (way == VM_GAMMA_SMALL) {
            is_upper = true, value = vm_gamma_small_upper(a, x);
        } else {
            is_upper = way == VM_GAMMA_FRACTION;
            const double factor = vm_gamma_factor(a, x);
            value = factor == 0 ? 0
                    : is_upper  ? factor * a / x * vm_gamma_fraction(a, x)
                                : factor * vm_gamma_series(a, x, &slope);
        }
    }
    return is_upper == upper ? value : 1 - value;
}
VM_INLINE double vm_gammainc_f64(double a, double x) {
    return vm_gamma_part(a, x, false);
}
VM_INLINE double vm_gammaincc_f64(double a, double x) {
    return vm_gamma_part(a, x, true);
}

/* The derivative of P by a: of the series, factor included; elsewhere by differences of P, or Q, at four points, whose
 * error is near 1e-11 of the larger of derivative and P / sqrt(a), Q / sqrt(a). */
VM_CALLED double vm_gammainc_da_f64(double a, double x) {
    const double infinite = vm_highest_f64;
    if (!(a > 0 && x >= 0) || a == infinite)
        return infinite - infinite;
    if (x == 0 || x == infinite)
        return 0;
    const vm_gamma_way way = vm_gamma_way_of(a, x);
    if (way == VM_GAMMA_SERIES || way == VM_GAMMA_SMALL || x < 3) {
        double slope;
        const double factor = vm_gamma_factor(a, x), sum = factor == 0 ? 0 : vm_gamma_series(a, x, &slope);
        return factor == 0 ? 0 : factor * vm_fma_f64(sum, vm_slow_log_f64(x) - vm_digamma_f64(1 + a), slope);
    }
    const double step = 0.002 * (a > 1 ? vm_sqrt_f64(a) : a);
    const bool upper = x > a;
    const double near = vm_gamma_part(a + step, x, upper) - vm_gamma_part(a - step, x, upper);
    const double far = vm_gamma_part(a + 2 * step, x, upper) - vm_gamma_part(a - 2 * step, x, upper);
    const double slope = (8 * near - far) / (12 * step);
    return upper ? -slope : slope;
}

/* ---- beta -------------------------------------------------------------------------------------------------------- */
/* x^a y^b / (a beta(a, b)) for y = 1 - x, of which one is rounded. */
VM_INLINE double vm_beta_factor(double a, double b, double x, double y) {
    if (a >= 8 && b >= 8) { /* around the largest value, at a / (a + b) */
        const double gap = a < b ? a - (a + b) * x : (a + b) * y - b;
        const double left = -gap / a, right = gap / b, share = a / (a + b);
        if (vm_abs_f64(left) < 0.5 && vm_abs_f64(right) < 0.5) {
            const double power = a * vm_less_log1p(left) + b * vm_less_log1p(right);
            const double rest = vm_stirling_rest(a) + (vm_stirling_rest(b) - vm_stirling_rest(a + b));
            return vm_two_exp(vm_two_of(-power - rest), 0) * vm_sqrt_f64(b * share) / (VM_SQRT_2PI_1 * a);
        }
    }
    vm_two log_x = vm_two_log(x), log_y = vm_two_log(y);
    if (x < y)
        log_y = vm_two_add(log_y, vm_two_of(((1 - y) - x) / y));
    else
        log_x = vm_two_add(log_x, vm_two_of(((1 - x) - y) / x));
    const vm_two power = vm_two_add(vm_two_times(vm_two_of(a), log_x), vm_two_times(vm_two_of(b), log_y));
    if (a + b < 20)
        return vm_two_exp(power, 0) * (vm_gamma_near(a + b) / (vm_gamma_near(1 + a) * vm_gamma_near(b)));
    return vm_two_exp(vm_two_add(power, vm_two_of(-vm_betaln_f64(a, b))), 0) / a;
}

/* The sum of (a + b) … (a + b + k - 1) x^k / ((a + 1) … (a + k)), k from 0, where b x is at most 1 (DLMF 8.17.8). */
VM_INLINE double vm_beta_series(double a, double b, double x) {
    double term = 1, sum = 1;
    for (int k = 1; k < 2000 && term > sum * 0x1p-56; k++) {
        term *= (a + b + (k - 1)) / (a + k) * x;
        sum += term;
    }
    return sum;
}

/* 1 / a times the even part of the continued fraction of DLMF 8.17.22, whose terms are positive up to k = b, by the
 * method of Lentz (DiDonato and Morris, ACM TOMS 708, 1992). */
VM_INLINE double vm_beta_fraction(double a, double b, double x, double y) {
    const double gap = a < b ? a - (a + b) * x : (a + b) * y - b;
    double value = a * (gap + 1) / (a + 1), c = value == 0 ? 1e-300 : value, d = 0;
    value = c;
    for (int k = 1; k < VM_TURNS_MAX; k++) {
        const double at = a + 2 * k - 1, over = k * (b - k) * x / at;
        const double top = (a + k - 1) * (a + b + k - 1) * x / at * over;
        const double bottom = k + over + (a + k) / (at + 2) * (gap + 1 + k * (1 + y));
        d = vm_fma_f64(top, d, bottom), d = 1 / (d == 0 ? 1e-300 : d);
        c = bottom + top / c, c = c == 0 ? 1e-300 : c;
        value *= c * d;
        if (vm_abs_f64(c * d - 1) < 0x1p-53)
            break;
    }
    return a / value;
}

/* The first terms of the uniform expansion for large a and b (DLMF 8.18.9); the relative error is near 1 / (a + b). */
VM_INLINE double vm_beta_uniform(double a, double b, double x) {
    const double share = a / (a + b), other = b / (a + b), left = (x - share) / share, right = (share - x) / other;
    double half = share * vm_less_log1p(left > -0.5 ? left : -0.5) + other * vm_less_log1p(right > -0.5 ? right : -0.5);
    half = left < -0.5 || right < -0.5 ? 1 : half;
    const double eta = vm_copysign_f64(vm_sqrt_f64(2 * half), x - share), root = vm_sqrt_f64(share * other);
    const double turn = vm_abs_f64(eta) < 1e-4 ? (1 - 2 * share) / (3 * root) : 1 / eta - root / (x - share);
    const double e = vm_exp_f64(-(a + b) * half < -700 ? -700 : -(a + b) * half);
    const double tail = 0.5 * vm_erfc_f64(-eta * vm_sqrt_f64((a + b) / 2));
    return tail + e * turn / (VM_SQRT_2PI_1 * vm_sqrt_f64(a + b));
}

VM_CALLED double vm_betainc_f64(double a, double b, double x) {
    const double infinite = vm_highest_f64;
    if (!(a >= 0 && b >= 0 && x >= 0 && x <= 1) || (a == 0 && b == 0) || (a == infinite && b == infinite))
        return infinite - infinite;
    if (x == 0 || x == 1)
        return x;
    if (a == 0 || b == infinite)
        return 1;
    if (b == 0 || a == infinite)
        return 0;
    const double y = 1 - x;
    if (a > VM_LARGE && b > VM_LARGE)
        return vm_beta_uniform(a, b, x);
    if (b * x <= 1 && x <= 0.7)
        return vm_beta_factor(a, b, x, y) * vm_beta_series(a, b, x);
    if (a * y <= 1 && y <= 0.7) {
        const double value = 1 - vm_beta_factor(b, a, y, x) * vm_beta_series(b, a, y);
        if (value > 0.1 || y < 1e-6) /* else b is small */
            return value;
        return vm_beta_factor(a, b, x, y) * vm_beta_fraction(a, b, x, y);
    }
    if (x > (a + 1) / (a + b + 2))
        return 1 - vm_beta_factor(b, a, y, x) * vm_beta_fraction(b, a, y, x);
    return vm_beta_factor(a, b, x, y) * vm_beta_fraction(a, b, x, y);
}

VM_ROUNDED2(gammainc)
VM_ROUNDED2(gammaincc)
VM_ROUNDED2(gammainc_da)
VM_INLINE float vm_betainc_f32(float a, float b, float x) {
    return (float)vm_betainc_f64((double)a, (double)b, (double)x);
}

#endif
