/* vmath_real.h: transcendental functions of f32 and f64. */
#ifndef LAZY_SIMD_VMATH_REAL_H
#define LAZY_SIMD_VMATH_REAL_H

#include "lazy/simd/vmath_base.h"

#define VM_LIBM(name, f) \
    static inline float vm_##name##_f32(float a) { return (float)f((double)a); } \
    static inline double vm_##name##_f64(double a) { return f(a); }
VM_LIBM(cbrt, cbrt)
VM_LIBM(exp, exp)
VM_LIBM(exp2, exp2)
VM_LIBM(expm1, expm1)
VM_LIBM(log, log)
VM_LIBM(log1p, log1p)
VM_LIBM(log2, log2)
VM_LIBM(log10, log10)
VM_LIBM(sin, sin)
VM_LIBM(cos, cos)
VM_LIBM(tan, tan)
VM_LIBM(asin, asin)
VM_LIBM(acos, acos)
VM_LIBM(atan, atan)
VM_LIBM(sinh, sinh)
VM_LIBM(cosh, cosh)
VM_LIBM(tanh, tanh)
VM_LIBM(asinh, asinh)
VM_LIBM(acosh, acosh)
VM_LIBM(atanh, atanh)
VM_LIBM(erf, erf)
static inline double vm_rsqrt_f64(double a) { return 1 / sqrt(a); }
static inline float vm_rsqrt_f32(float a) { return (float)(1 / sqrt((double)a)); }
static inline double vm_sigmoid_f64(double a) { return 1 / (1 + exp(-a)); }
static inline float vm_sigmoid_f32(float a) { return (float)(1 / (1 + exp((double)-a))); }
static inline double vm_erf_inv_f64(double a) { return a; }
static inline float vm_erf_inv_f32(float a) { return a; }
static inline double vm_atan2_f64(double a, double b) { return atan2(a, b); }
static inline float vm_atan2_f32(float a, float b) { return (float)atan2((double)a, (double)b); }
static inline double vm_hypot_f64(double a, double b) { return hypot(a, b); }
static inline float vm_hypot_f32(float a, float b) { return (float)hypot((double)a, (double)b); }
static inline double vm_pow_f64(double a, double b) { return pow(a, b); }
static inline float vm_pow_f32(float a, float b) { return (float)pow((double)a, (double)b); }
static inline double vm_logaddexp_f64(double a, double b) { double m = a > b ? a : b; return a == b ? a + log(2) : m + log1p(exp(-fabs(a - b))); }
static inline float vm_logaddexp_f32(float a, float b) { return (float)vm_logaddexp_f64(a, b); }

#endif
