/* dtype.h: the dtypes, one row each. It includes nothing of neap, so that the loops of lazy/vm/simd, which are slow to
 * compile, depend on little else.
 *
 * All that differs between dtypes stands here or follows from it: C code repeats itself for each row with the lists
 * below, and tools/gen (lib/dtypes.lua) writes from the rows the kernel loops, the library's table of dtypes and the
 * lists that the tests go through. A new integer dtype is one row. The rows of real dtypes are not all: what else knows
 * them asserts that there are NEAP_DTYPE_REALS of them. Halves are real dtypes that are stored as their bits and
 * computed with as f32 (half.h): maps have loops for them, other ops get their inputs as f32 (graph/record.c).
 *
 * X(NUMBER, name, kind, C type, bits, digits, lowest, highest, sum, real)
 *
 *      kind             b bool, u unsigned, i signed, f real, c complex: a real part and an imaginary one
 *      digits           binary digits of a number, without its sign; of a part
 *      lowest, highest  the ends of the range, constants of the C type; of a part
 *      sum              the dtype that sums and products of many elements have
 *      real             the dtype that functions of real and complex numbers are computed in
 *
 * Promotion follows from kind and bits (dtype.c). So do the names elsewhere: uint16_t, and u2 in npy files.
 */
#ifndef LAZY_DTYPE_H
#define LAZY_DTYPE_H

#include <stdint.h>

typedef float _Complex neap_c64;
typedef double _Complex neap_c128;

/* clang-format off */
#define NEAP_DTYPE_BOOL_ROWS(X)                                                                                        \
    X(BOOL, bool, 'b', uint8_t, 8, 1, 0, 1, I32, F32)
#define NEAP_DTYPE_UNSIGNED_ROWS(X)                                                                                    \
    X(U8, u8, 'u', uint8_t, 8, 8, 0, UINT8_MAX, U32, F32)                                                              \
    X(U16, u16, 'u', uint16_t, 16, 16, 0, UINT16_MAX, U32, F32)                                                        \
    X(U32, u32, 'u', uint32_t, 32, 32, 0, UINT32_MAX, U32, F32)                                                        \
    X(U64, u64, 'u', uint64_t, 64, 64, 0, UINT64_MAX, U64, F64)
#define NEAP_DTYPE_SIGNED_ROWS(X)                                                                                      \
    X(I8, i8, 'i', int8_t, 8, 7, INT8_MIN, INT8_MAX, I32, F32)                                                         \
    X(I16, i16, 'i', int16_t, 16, 15, INT16_MIN, INT16_MAX, I32, F32)                                                  \
    X(I32, i32, 'i', int32_t, 32, 31, INT32_MIN, INT32_MAX, I32, F32)                                                  \
    X(I64, i64, 'i', int64_t, 64, 63, INT64_MIN, INT64_MAX, I64, F64)
#define NEAP_DTYPE_REAL_ROWS(X)                                                                                        \
    X(F32, f32, 'f', float, 32, 24, -INFINITY, INFINITY, F32, F32)                                                     \
    X(F64, f64, 'f', double, 64, 53, -INFINITY, INFINITY, F64, F64)
#define NEAP_DTYPE_HALF_ROWS(X)                                                                                        \
    X(F16, f16, 'f', uint16_t, 16, 11, -INFINITY, INFINITY, F16, F16)                                                  \
    X(BF16, bf16, 'f', uint16_t, 16, 8, -INFINITY, INFINITY, BF16, BF16)
#define NEAP_DTYPE_COMPLEX_ROWS(X)                                                                                     \
    X(C64, c64, 'c', neap_c64, 64, 24, -INFINITY, INFINITY, C64, C64)                                                  \
    X(C128, c128, 'c', neap_c128, 128, 53, -INFINITY, INFINITY, C128, C128)
/* clang-format on */

#define NEAP_DTYPE_INTEGER_ROWS(X) NEAP_DTYPE_UNSIGNED_ROWS(X) NEAP_DTYPE_SIGNED_ROWS(X)
/* The real ones whose C type has their numbers; the ordered ones; and all, which begin with the ordered ones. */
#define NEAP_DTYPE_PLAIN_ROWS(X) NEAP_DTYPE_BOOL_ROWS(X) NEAP_DTYPE_INTEGER_ROWS(X) NEAP_DTYPE_REAL_ROWS(X)
#define NEAP_DTYPE_ORDERED_ROWS(X) NEAP_DTYPE_PLAIN_ROWS(X) NEAP_DTYPE_HALF_ROWS(X)
#define NEAP_DTYPE_ROWS(X) NEAP_DTYPE_ORDERED_ROWS(X) NEAP_DTYPE_COMPLEX_ROWS(X)

enum {
#define NEAP_DTYPE_ENUM(NAME, ...) NEAP_DTYPE_##NAME,
    NEAP_DTYPE_ROWS(NEAP_DTYPE_ENUM)
#undef NEAP_DTYPE_ENUM
        NEAP_DTYPE_COUNT
};

#define NEAP_DTYPE_ONE(...) +1
enum { NEAP_DTYPE_REALS = 0 NEAP_DTYPE_REAL_ROWS(NEAP_DTYPE_ONE) };
#undef NEAP_DTYPE_ONE

#endif
