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
 */
#ifndef LAZY_SIMD_VMATH_H
#define LAZY_SIMD_VMATH_H

#include "lazy/simd/vmath_base.h"
#include "lazy/simd/vmath_exp.h"
#include "lazy/simd/vmath_integer.h"
#include "lazy/simd/vmath_log.h"
#include "lazy/simd/vmath_special.h"
#include "lazy/simd/vmath_trig.h"

#endif
