/* vmath.h: the functions that kernel texts name with F(…), as inline scalar C that the compiler vectorizes. A function
 * NAME of dtype D is vm_NAME_D.
 *
 * Rules that keep every instruction set at the same bits:
 *  - each operation rounds by itself (-ffp-contract=off); a fused multiply-add is asked for with vm_fma_f32/f64, which
 *    is exact everywhere, with hardware or without;
 *  - no libm function whose result is not exact by definition (fmod and fma are exact, exp is not);
 *  - a function whose fast form is not sound for all arguments names the others by VM_RARE(NAME, D, …), and comes
 *    with vm_slow_NAME_D, which takes all; kernels.lua makes loops with both. A chunk with a rare argument is left to
 *    the slow one, so both give the same bits where the argument is not rare;
 *  - no branches on data that would change the arithmetic of an element with its neighbours.
 *
 * Errors: the largest that tests/lazy/vm_math.c met in 400 batches, and f32 functions of one operand at every 61st
 * number against the f64 ones, in units of the last place, f32 and f64:
 *
 *      exp 0.90 0.90    log   0.81 0.79    sin 0.85 0.89     asin 1.16 1.10    sinh 1.30 1.32    erf       1.23 1.10
 *      exp2 0.83 0.87   log1p 0.86 0.86    cos 0.83 0.92     acos 1.10 0.76    cosh 1.15 1.08    erf_inv   1.92 3.67
 *      expm1 1.70 1.65  log2  0.94 0.75    tan 2.05 2.08     atan 1.39 1.62    tanh 1.82 2.24    sigmoid   2.31 2.20
 *      pow 1.47 1.16    log10 0.92 0.70    cbrt 0.76 0.59    atan2 1.46 1.49   asinh 1.71 1.60   acosh     1.88 1.75
 *      rsqrt 0.5 0.5    hypot 0.5  0.5     sqrt 0.5 0.5      atanh 1.92 1.80   logaddexp 0.90 (of 1, for small results)
 */
#ifndef LAZY_SIMD_VMATH_H
#define LAZY_SIMD_VMATH_H

#include "lazy/vm/simd/vmath_base.h"
#include "lazy/vm/simd/vmath_complex.h"
#include "lazy/vm/simd/vmath_exp.h"
#include "lazy/vm/simd/vmath_integer.h"
#include "lazy/vm/simd/vmath_log.h"
#include "lazy/vm/simd/vmath_special.h"
#include "lazy/vm/simd/vmath_trig.h"

#endif
