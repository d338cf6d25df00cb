/* draw_of.h: random numbers of counters in a row (drawn.h has one): what draws.c and the generator of code for GPUs
 * share of them.
 */
#ifndef LAZY_SIMD_DRAW_OF_H
#define LAZY_SIMD_DRAW_OF_H

#include "lazy/vm/simd/drawn.h"

#define EACH _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++)

#define WITHIN(name, U, W, NUMBER)                                                                                     \
    static void within_##name(void *out, const void *more, const void *rest, int64_t count, uint64_t low,              \
                              uint64_t wide_span) {                                                                    \
        U *o = out;                                                                                                    \
        const W *high_words = more, *low_words = rest;                                                                 \
        const U first = (U)low, span = (U)wide_span;                                                                   \
        if (span == 0) {                                                                                               \
            EACH o[i] = first + NUMBER(low_words[i]);                                                                  \
            return;                                                                                                    \
        }                                                                                                              \
        const U inverse = (U)-1 / span, multiplier = multiplier_##name(span);                                          \
        EACH o[i] = first + below_##name(NUMBER(high_words[i]), NUMBER(low_words[i]), span, inverse, multiplier);      \
    }
#define WORD_NUMBER(word) (word)
#define PAIR_NUMBER(pair) ((uint64_t)(pair).hi << 32 | (pair).lo)
WITHIN(u32, uint32_t, uint32_t, WORD_NUMBER)
WITHIN(u64, uint64_t, vm_key, PAIR_NUMBER)

#endif
