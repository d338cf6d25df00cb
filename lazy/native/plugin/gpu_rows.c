/* gpu_rows.c: the maps, casts and reductions of the op rows as functions of one element, compiled to bitcode for GPUs,
 * a module for each dtype. Operands and results are behind pointers, so that elements of all dtypes, complex ones too,
 * are passed in one way; nothing is left of that when they have been inlined.
 *
 * Arithmetic of a GPU is that of the CPU as long as each operation rounds by itself: nothing is contracted, subnormal
 * numbers stay, quotients and roots are rounded. */
#include "lazy/native/plugin/gpu_half.h"
#include "lazy/vm/simd/drawn.h"
#include "lazy/vm/simd/vmath.h"
#include "lazy/vm/simd/vmath_bessel.h"
#include "lazy/vm/simd/vmath_incomplete.h"

#define NATIVE_ROWS

#define MAP1(id, A, O, text)                                                                                           \
    void row_##id(O *to, const A *pa) {                                                                                \
        const A a = *pa;                                                                                               \
        *to = text;                                                                                                    \
    }
#define MAP2(id, A, B, O, text)                                                                                        \
    void row_##id(O *to, const A *pa, const B *pb) {                                                                   \
        const A a = *pa;                                                                                               \
        const B b = *pb;                                                                                               \
        *to = text;                                                                                                    \
    }
#define MAP3(id, A, B, C, O, text)                                                                                     \
    void row_##id(O *to, const A *pa, const B *pb, const C *pc) {                                                      \
        const A a = *pa;                                                                                               \
        const B b = *pb;                                                                                               \
        const C c = *pc;                                                                                               \
        *to = text;                                                                                                    \
    }
/* IN and OUT lead from elements to what the function takes, and back, as in vm/simd/kernels.c. */
#define MAP1_RARE(id, A, O, function, IN, OUT)                                                                         \
    void row_##id(O *to, const A *pa) {                                                                                \
        if (vm_rare_##function(IN(*pa)))                                                                               \
            *to = OUT(vm_slow_##function(IN(*pa)));                                                                    \
        else                                                                                                           \
            *to = OUT(vm_##function(IN(*pa)));                                                                         \
    }
#define MAP2_RARE(id, A, B, O, function, IN, OUT)                                                                      \
    void row_##id(O *to, const A *pa, const B *pb) {                                                                   \
        if (vm_rare_##function(IN(*pa), IN(*pb)))                                                                      \
            *to = OUT(vm_slow_##function(IN(*pa), IN(*pb)));                                                           \
        else                                                                                                           \
            *to = OUT(vm_##function(IN(*pa), IN(*pb)));                                                                \
    }
/* none_: what a reduction of nothing gives, the neutral element, but 0.0 where that is -0.0. */
#define FOLD(id, T, text, identity)                                                                                    \
    MAP2(id, T, T, T, text)                                                                                            \
    void none_##id(T *to) {                                                                                            \
        const T none = identity;                                                                                       \
        *to = none == 0 ? 0 : none;                                                                                    \
    }
#define FOLD_ORDERED(id, T, text, BEATS, identity) FOLD(id, T, text, identity)
#define FOLD_NUMBERS(id, T, text, BEATS, identity, START) FOLD(id, T, text, identity)
/* Which of two elements, each with its place in its row, comes first: the one that wins, or else the one before. `to`
 * and `at` may be those of a. */
#define CHOICE(id, T, beats, wins)                                                                                     \
    static inline int id##_wins(T a, T b) {                                                                            \
        return wins;                                                                                                   \
    }                                                                                                                  \
    void row_##id(T *to, int32_t *at, const T *pa, const int32_t *ia, const T *pb, const int32_t *ib) {                \
        const T a = *pa, b = *pb;                                                                                      \
        const int32_t i = *ia, j = *ib;                                                                                \
        const int second = id##_wins(b, a) || (!id##_wins(a, b) && j < i);                                             \
        *to = second ? b : a;                                                                                          \
        *at = second ? j : i;                                                                                          \
    }

#include "gpu_gen.h"
