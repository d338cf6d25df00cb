/* kernels.c: the forms of the loops of maps. kernels_gen.h applies them to the kernel texts of the op rows; the file is
 * compiled once per instruction set (-DNEAP_ISA), and the compiler vectorizes.
 */
#include <string.h>

#include "lazy/dtype/half.h"
#include "lazy/vm/simd/drawn.h"
#include "lazy/vm/simd/loops.h"
#include "lazy/vm/simd/simd.h"
#include "lazy/vm/simd/vmath.h"
#include "lazy/vm/simd/vmath_bessel.h"
#include "lazy/vm/simd/vmath_incomplete.h"
#include "ops_gen.h"

#define MAP1(id, A, O, text)                                                                                           \
    LOOP_HEAD(id##_v) {                                                                                                \
        O *o = out;                                                                                                    \
        const A *x = pa;                                                                                               \
        EACH {                                                                                                         \
            const A a = x[i];                                                                                          \
            o[i] = text;                                                                                               \
        }                                                                                                              \
    }

/* Elements that are looked at before they are computed, while they are in a cache: one rare argument among them makes
 * all of them slow. */
enum { RARE_BLOCK = 2048 };
#define EACH_OF_BLOCK for (int64_t i = from; i < to; i++)
#define EACH_BLOCK(each)                                                                                               \
    for (int64_t from = 0, to; from < n; from = to) {                                                                  \
        to = n - from < RARE_BLOCK ? n : from + RARE_BLOCK;                                                            \
        each                                                                                                           \
    }

/* A block without rare arguments takes the fast function, another one the slow function; they agree where no argument
 * is rare. IN and OUT lead from elements to what the function takes, and back; nothing where these are the same. */
#define MAP1_RARE(id, A, O, function, IN, OUT)                                                                         \
    static __attribute__((noinline)) void id##_slow(O *o, const A *x, int64_t from, int64_t to) {                      \
        _Pragma("GCC ivdep") EACH_OF_BLOCK o[i] = OUT(vm_slow_##function(IN(x[i])));                                   \
    }                                                                                                                  \
    LOOP_HEAD(id##_v) {                                                                                                \
        O *o = out;                                                                                                    \
        const A *x = pa;                                                                                               \
        EACH_BLOCK({                                                                                                   \
            int rare = 0;                                                                                              \
            EACH_OF_BLOCK rare |= vm_rare_##function(IN(x[i]));                                                        \
            if (rare)                                                                                                  \
                id##_slow(o, x, from, to);                                                                             \
            else                                                                                                       \
                _Pragma("GCC ivdep") EACH_OF_BLOCK o[i] = OUT(vm_##function(IN(x[i])));                                \
        })                                                                                                             \
    }

#define MAP2(id, A, B, O, text)                                                                                        \
    MAP2_LOOP(id##_vv, A, B, O, x[i], y[i], text)                                                                      \
    MAP2_LOOP(id##_sv, A, B, O, x0, y[i], text)                                                                        \
    MAP2_LOOP(id##_vs, A, B, O, x[i], y0, text)

/* The same for rare pairs. */
#define MAP2_RARE_LOOP(name, A, B, O, X, Y, function, IN, OUT)                                                         \
    static __attribute__((noinline)) void name##_slow(O *o, const A *x, const B *y, int64_t from, int64_t to) {        \
        const A x0 = *x;                                                                                               \
        const B y0 = *y;                                                                                               \
        _Pragma("GCC ivdep") EACH_OF_BLOCK o[i] = OUT(vm_slow_##function(IN(X), IN(Y)));                               \
    }                                                                                                                  \
    LOOP_HEAD(name) {                                                                                                  \
        O *o = out;                                                                                                    \
        const A *x = pa, x0 = *x;                                                                                      \
        const B *y = pb, y0 = *y;                                                                                      \
        EACH_BLOCK({                                                                                                   \
            int rare = 0;                                                                                              \
            EACH_OF_BLOCK rare |= vm_rare_##function(IN(X), IN(Y));                                                    \
            if (rare)                                                                                                  \
                name##_slow(o, x, y, from, to);                                                                        \
            else                                                                                                       \
                _Pragma("GCC ivdep") EACH_OF_BLOCK o[i] = OUT(vm_##function(IN(X), IN(Y)));                            \
        })                                                                                                             \
    }
#define MAP2_RARE(id, A, B, O, function, IN, OUT)                                                                      \
    MAP2_RARE_LOOP(id##_vv, A, B, O, x[i], y[i], function, IN, OUT)                                                    \
    MAP2_RARE_LOOP(id##_sv, A, B, O, x0, y[i], function, IN, OUT)                                                      \
    MAP2_RARE_LOOP(id##_vs, A, B, O, x[i], y0, function, IN, OUT)

#define MAP3_LOOP(name, A, B, C, O, X, Y, Z, text)                                                                     \
    LOOP_HEAD(name) {                                                                                                  \
        O *o = out;                                                                                                    \
        const A *x = pa, x0 = *x;                                                                                      \
        const B *y = pb, y0 = *y;                                                                                      \
        const C *z = pc, z0 = *z;                                                                                      \
        EACH {                                                                                                         \
            const A a = X;                                                                                             \
            const B b = Y;                                                                                             \
            const C c = Z;                                                                                             \
            o[i] = text;                                                                                               \
        }                                                                                                              \
    }
#define MAP3(id, A, B, C, O, text)                                                                                     \
    MAP3_LOOP(id##_vvv, A, B, C, O, x[i], y[i], z[i], text)                                                            \
    MAP3_LOOP(id##_svv, A, B, C, O, x0, y[i], z[i], text)                                                              \
    MAP3_LOOP(id##_vsv, A, B, C, O, x[i], y0, z[i], text)                                                              \
    MAP3_LOOP(id##_ssv, A, B, C, O, x0, y0, z[i], text)                                                                \
    MAP3_LOOP(id##_vvs, A, B, C, O, x[i], y[i], z0, text)                                                              \
    MAP3_LOOP(id##_svs, A, B, C, O, x0, y[i], z0, text)                                                                \
    MAP3_LOOP(id##_vss, A, B, C, O, x[i], y0, z0, text)

/* The loops of halves are those of f32, for which blocks of numbers become f32 and back. `scalars` has a bit for each
 * operand that is one number. */
enum { HALF_BLOCK = 512 };
#define HALF_BLOCKS(half)                                                                                              \
    static void half##_by_f32(lazy_loop loop, uint16_t *out, const uint16_t *const *in, int arity, int scalars,        \
                              int64_t n) {                                                                             \
        float x[3][HALF_BLOCK], o[HALF_BLOCK];                                                                         \
        for (int k = 0; k < arity; k++)                                                                                \
            x[k][0] = half_wide_##half(in[k][0]);                                                                      \
        for (int64_t from = 0; from < n; from += HALF_BLOCK) {                                                         \
            const int count = n - from < HALF_BLOCK ? (int)(n - from) : HALF_BLOCK;                                    \
            for (int k = 0; k < arity; k++)                                                                            \
                if (!(scalars >> k & 1))                                                                               \
                    for (int i = 0; i < count; i++)                                                                    \
                        x[k][i] = half_wide_##half(in[k][from + i]);                                                   \
            loop(o, x[0], x[1], x[2], count);                                                                          \
            for (int i = 0; i < count; i++)                                                                            \
                out[from + i] = half_of_f32_##half(o[i]);                                                              \
        }                                                                                                              \
    }
HALF_BLOCKS(f16)
HALF_BLOCKS(bf16)
#define HALF_LOOP(id, variant, half, wide, arity, scalars)                                                             \
    LOOP_HEAD(id##_##variant) {                                                                                        \
        half##_by_f32(wide##_##variant, out, (const uint16_t *const[]){pa, pb, pc}, arity, scalars, n);                \
    }
#define HALF1(id, half, wide) HALF_LOOP(id, v, half, wide, 1, 0)
#define HALF2(id, half, wide)                                                                                          \
    HALF_LOOP(id, vv, half, wide, 2, 0)                                                                                \
    HALF_LOOP(id, sv, half, wide, 2, 1)                                                                                \
    HALF_LOOP(id, vs, half, wide, 2, 2)
#define HALF3(id, half, wide)                                                                                          \
    HALF_LOOP(id, vvv, half, wide, 3, 0)                                                                               \
    HALF_LOOP(id, svv, half, wide, 3, 1)                                                                               \
    HALF_LOOP(id, vsv, half, wide, 3, 2)                                                                               \
    HALF_LOOP(id, ssv, half, wide, 3, 3)                                                                               \
    HALF_LOOP(id, vvs, half, wide, 3, 4)                                                                               \
    HALF_LOOP(id, svs, half, wide, 3, 5)                                                                               \
    HALF_LOOP(id, vss, half, wide, 3, 6)

#include "kernels_gen.h"

/* The widest non-temporal store of the instruction set. */
#if defined(__AVX512F__)
typedef long long stream_part __attribute__((vector_size(64)));
#define STREAM_PART __builtin_ia32_movntdq512
#elif defined(__AVX__)
typedef long long stream_part __attribute__((vector_size(32)));
#define STREAM_PART __builtin_ia32_movntdq256
#elif defined(__SSE2__)
typedef long long stream_part __attribute__((vector_size(16)));
#define STREAM_PART __builtin_ia32_movntdq
#endif

/* Non-temporal stores where whole parts fit; the ends are copied. */
static void stream(void *dst, const void *src, int64_t bytes) {
#if defined(STREAM_PART)
    typedef stream_part loose_part __attribute__((aligned(1)));
    enum { PART = sizeof(stream_part) };
    char *to = dst;
    const char *from = src;
    int64_t at = (int64_t)(-(uintptr_t)to & (PART - 1));
    if (at > bytes)
        at = bytes;
    memcpy(to, from, (size_t)at);
    for (; at + PART <= bytes; at += PART)
        STREAM_PART((stream_part *)(to + at), *(const loose_part *)(from + at));
    memcpy(to + at, from + at, (size_t)(bytes - at));
#else
    memcpy(dst, src, (size_t)bytes);
#endif
}

#define TABLE_NAME(isa) TABLE_NAME_OF(isa)
#define TABLE_NAME_OF(isa) lazy_simd_##isa
#define NAME_OF(table, isa) NAME_OF_ISA(table, isa)
#define NAME_OF_ISA(table, isa) lazy_##table##_##isa
#define TEXT_OF(isa) TEXT(isa)
#define TEXT(isa) #isa

const lazy_simd TABLE_NAME(NEAP_ISA) = {
    .name = TEXT_OF(NEAP_ISA),
    .map = map_table,
    .chains = &NAME_OF(chains, NEAP_ISA),
    .moves = &NAME_OF(moves, NEAP_ISA),
    .scatter = &NAME_OF(scatter, NEAP_ISA),
    .marks = &NAME_OF(marks, NEAP_ISA),
    .keys = NAME_OF(keys, NEAP_ISA),
    .sorts = &NAME_OF(sorts, NEAP_ISA),
    .lines = &NAME_OF(lines, NEAP_ISA),
    .scans = &NAME_OF(scans, NEAP_ISA),
    .draws = &NAME_OF(draws, NEAP_ISA),
    .folds = &NAME_OF(folds, NEAP_ISA),
    .cast = CAST_TABLE,
    .stream = stream,
};
