/* vmath.h: the functions that kernel texts name with F(…), as inline scalar C that the compiler vectorizes. A function
 * NAME of dtype D is vm_NAME_D.
 *
 * Rules that keep every instruction set at the same bits:
 *  - each operation rounds by itself (-ffp-contract=off); a fused multiply-add is asked for with vm_fma_f32/f64, which
 *    is exact everywhere, with hardware or without;
 *  - no libm function whose result is not exact by definition (fmod and fma are exact, exp is not);
 *  - a function whose fast form is not sound for all arguments comes with vm_rare_NAME_D, which tells the others, and
 *    vm_slow_NAME_D, which takes all; kernels.lua makes loops with both;
 *  - no branches on data that would change the arithmetic of an element with its neighbours.
 *
 * Errors: the largest that tests/lazy/vm_math.c met, in units of the last place, f32 and f64 (functions of f32 that are
 * computed in f64 and rounded have 0.5):
 *
 *      exp 0.89 0.90    log   0.77 0.78    sin 0.83 0.87     asin 0.5 1.11    sinh 0.5 2.06     erf       1.22 1.04
 *      exp2 0.81 0.87   log1p 0.79 0.76    cos 1.01 0.93     acos 0.5 0.77    cosh 0.5 1.31     erf_inv   0.5  3.86
 *      expm1 1.57 1.64  log2  0.76 0.74    tan 0.5  2.19     atan 0.5 1.50    tanh 1.31 2.28    sigmoid   2.12 2.16
 *      pow 0.5 1.12     log10 0.65 0.69    cbrt 0.5 0.58     atan2 0.5 1.45   asinh 0.5 1.51    acosh     0.5  1.87
 *      rsqrt 0.5 0.5    hypot 0.5  0.5     sqrt 0.5 0.5      atanh 0.5 1.73   logaddexp 0.9 (of 1, for small results)
 */
#ifndef LAZY_SIMD_VMATH_H
#define LAZY_SIMD_VMATH_H

#include "lazy/vm/simd/vmath_base.h"
#include "lazy/vm/simd/vmath_exp.h"
#include "lazy/vm/simd/vmath_integer.h"
#include "lazy/vm/simd/vmath_log.h"
#include "lazy/vm/simd/vmath_special.h"
#include "lazy/vm/simd/vmath_trig.h"

#endif
