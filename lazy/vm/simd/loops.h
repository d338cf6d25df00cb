/* loops.h: what the forms of kernels.c and folds.c begin with: the head of a loop of lazy_loop's type, and the loop of
 * two operands.
 *
 * `#pragma GCC ivdep` promises that iterations are independent, which holds when a result lies exactly over an operand.
 */
#ifndef LAZY_VM_SIMD_LOOPS_H
#define LAZY_VM_SIMD_LOOPS_H

#include <stdint.h>

/* Texts that are general enough for all dtypes compare unsigned with 0. */
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"

#define LOOP_HEAD(name) static void name(void *out, const void *pa, const void *pb, const void *pc, int64_t n)
#define EACH _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)

/* The body of a two-operand loop: X and Y are x[i] or *x, y[i] or *y. */
#define MAP2_LOOP(name, A, B, O, X, Y, text)                                                                           \
    LOOP_HEAD(name) {                                                                                                  \
        O *o = out;                                                                                                    \
        const A *x = pa, x0 = *x;                                                                                      \
        const B *y = pb, y0 = *y;                                                                                      \
        EACH {                                                                                                         \
            const A a = X;                                                                                             \
            const B b = Y;                                                                                             \
            o[i] = text;                                                                                               \
        }                                                                                                              \
    }

#endif
