/* rows.c: the maps and reductions of the op rows as functions over LANES elements, compiled to bitcode once per
 * instruction set. The generator calls them and has them inlined; so no arithmetic is written twice. */
#include <string.h>

#include "lazy/dtype/half.h"
#include "lazy/vm/simd/drawn.h"
#include "lazy/vm/simd/vmath.h"
#include "lazy/vm/simd/vmath_bessel.h"
#include "lazy/vm/simd/vmath_incomplete.h"

#define NATIVE_ROWS
/* One vector of all lanes, whatever the dtype: left to itself, clang unrolls a loop of so few turns before it looks for
 * vectors, and then finds some of them in pieces. */
#define ALL_LANES _Pragma("clang loop vectorize(enable) vectorize_width(LANES) interleave(disable) unroll(disable)")
#define EACH ALL_LANES for (int l = 0; l < LANES; l++)
#define LOAD(T, x, from)                                                                                               \
    T x[LANES];                                                                                                        \
    memcpy(x, from, sizeof x);
#define STORE(to, o) memcpy(to, o, sizeof o);

#define MAP1(id, A, O, text)                                                                                           \
    void row_##id(O *to, const A *pa) {                                                                                \
        LOAD(A, x, pa) O o[LANES];                                                                                     \
        EACH {                                                                                                         \
            const A a = x[l];                                                                                          \
            o[l] = text;                                                                                               \
        }                                                                                                              \
        STORE(to, o)                                                                                                   \
    }
#define MAP2(id, A, B, O, text)                                                                                        \
    void row_##id(O *to, const A *pa, const B *pb) {                                                                   \
        LOAD(A, x, pa) LOAD(B, y, pb) O o[LANES];                                                                      \
        EACH {                                                                                                         \
            const A a = x[l];                                                                                          \
            const B b = y[l];                                                                                          \
            o[l] = text;                                                                                               \
        }                                                                                                              \
        STORE(to, o)                                                                                                   \
    }
#define MAP3(id, A, B, C, O, text)                                                                                     \
    void row_##id(O *to, const A *pa, const B *pb, const C *pc) {                                                      \
        LOAD(A, x, pa) LOAD(B, y, pb) LOAD(C, z, pc) O o[LANES];                                                       \
        EACH {                                                                                                         \
            const A a = x[l];                                                                                          \
            const B b = y[l];                                                                                          \
            const C c = z[l];                                                                                          \
            o[l] = text;                                                                                               \
        }                                                                                                              \
        STORE(to, o)                                                                                                   \
    }
/* Functions with rare arguments come twice. row_ takes all arguments; its slow function gets copies, so that operands
 * and result stay in registers where it is not called. fast_ says whether there were rare ones, for which what it gives
 * means nothing. IN and OUT lead from elements to what the function takes, and back, as in vm/simd/kernels.c. */
#define MAP1_RARE(id, A, O, function, IN, OUT)                                                                         \
    int fast_##id(O *to, const A *pa) {                                                                                \
        LOAD(A, x, pa) O o[LANES];                                                                                     \
        int rare = 0;                                                                                                  \
        EACH rare |= vm_rare_##function(IN(x[l]));                                                                     \
        EACH o[l] = OUT(vm_##function(IN(x[l])));                                                                      \
        STORE(to, o)                                                                                                   \
        return rare;                                                                                                   \
    }                                                                                                                  \
    static __attribute__((noinline, cold)) void slow_##id(O *to, const A *pa) {                                        \
        LOAD(A, x, pa) O o[LANES];                                                                                     \
        EACH o[l] = OUT(vm_slow_##function(IN(x[l])));                                                                 \
        STORE(to, o)                                                                                                   \
    }                                                                                                                  \
    void row_##id(O *to, const A *pa) {                                                                                \
        LOAD(A, x, pa) O o[LANES];                                                                                     \
        int rare = 0;                                                                                                  \
        EACH rare |= vm_rare_##function(IN(x[l]));                                                                     \
        if (__builtin_expect(rare != 0, 0)) {                                                                          \
            A copy[LANES];                                                                                             \
            O slow[LANES];                                                                                             \
            memcpy(copy, x, sizeof copy);                                                                              \
            slow_##id(slow, copy);                                                                                     \
            STORE(to, slow)                                                                                            \
            return;                                                                                                    \
        }                                                                                                              \
        EACH o[l] = OUT(vm_##function(IN(x[l])));                                                                      \
        STORE(to, o)                                                                                                   \
    }
#define MAP2_RARE(id, A, B, O, function, IN, OUT)                                                                      \
    int fast_##id(O *to, const A *pa, const B *pb) {                                                                   \
        LOAD(A, x, pa) LOAD(B, y, pb) O o[LANES];                                                                      \
        int rare = 0;                                                                                                  \
        EACH rare |= vm_rare_##function(IN(x[l]), IN(y[l]));                                                           \
        EACH o[l] = OUT(vm_##function(IN(x[l]), IN(y[l])));                                                            \
        STORE(to, o)                                                                                                   \
        return rare;                                                                                                   \
    }                                                                                                                  \
    static __attribute__((noinline, cold)) void slow_##id(O *to, const A *pa, const B *pb) {                           \
        LOAD(A, x, pa) LOAD(B, y, pb) O o[LANES];                                                                      \
        EACH o[l] = OUT(vm_slow_##function(IN(x[l]), IN(y[l])));                                                       \
        STORE(to, o)                                                                                                   \
    }                                                                                                                  \
    void row_##id(O *to, const A *pa, const B *pb) {                                                                   \
        LOAD(A, x, pa) LOAD(B, y, pb) O o[LANES];                                                                      \
        int rare = 0;                                                                                                  \
        EACH rare |= vm_rare_##function(IN(x[l]), IN(y[l]));                                                           \
        if (__builtin_expect(rare != 0, 0)) {                                                                          \
            A copy[LANES];                                                                                             \
            B other[LANES];                                                                                            \
            O slow[LANES];                                                                                             \
            memcpy(copy, x, sizeof copy);                                                                              \
            memcpy(other, y, sizeof other);                                                                            \
            slow_##id(slow, copy, other);                                                                              \
            STORE(to, slow)                                                                                            \
            return;                                                                                                    \
        }                                                                                                              \
        EACH o[l] = OUT(vm_##function(IN(x[l]), IN(y[l])));                                                            \
        STORE(to, o)                                                                                                   \
    }

/* Reductions: two vectors combined lane by lane, and what a lane begins with. */
#define FOLD(id, T, text, identity)                                                                                    \
    void fold_##id(T *to, const T *pa, const T *pb) {                                                                  \
        LOAD(T, x, pa) LOAD(T, y, pb) T o[LANES];                                                                      \
        EACH {                                                                                                         \
            const T a = x[l], b = y[l];                                                                                \
            o[l] = text;                                                                                               \
        }                                                                                                              \
        STORE(to, o)                                                                                                   \
    }                                                                                                                  \
    void none_##id(T *to) {                                                                                            \
        T o[LANES];                                                                                                    \
        EACH o[l] = identity;                                                                                          \
        STORE(to, o)                                                                                                   \
    }
#define FOLD_ORDERED(id, T, text, BEATS, identity) FOLD(id, T, text, identity)
#define FOLD_NUMBERS(id, T, text, BEATS, identity, START) FOLD(id, T, text, identity)

#include "native_gen.h"
