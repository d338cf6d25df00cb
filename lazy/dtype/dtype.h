/* dtype.h: the dtypes, one row each. A part of lazy.h that includes nothing, so that the loops of lazy/vm/simd, which are slow
 * to compile, depend on little else. */
#ifndef LAZY_DTYPE_H
#define LAZY_DTYPE_H

#include <stdint.h>

/* X(NUMBER, name, kind, C type, bytes). Kinds: b bool, u unsigned, i signed, f float. */
#define NEAP_DTYPE_ROWS(X)                                                                                             \
    X(BOOL, bool, 'b', uint8_t, 1)                                                                                     \
    X(U8, u8, 'u', uint8_t, 1)                                                                                         \
    X(I32, i32, 'i', int32_t, 4)                                                                                       \
    X(U32, u32, 'u', uint32_t, 4)                                                                                      \
    X(I64, i64, 'i', int64_t, 8)                                                                                       \
    X(F32, f32, 'f', float, 4)                                                                                         \
    X(F64, f64, 'f', double, 8)

enum {
#define NEAP_DTYPE_ENUM(NAME, name, kind, ctype, bytes) NEAP_DTYPE_##NAME,
    NEAP_DTYPE_ROWS(NEAP_DTYPE_ENUM)
#undef NEAP_DTYPE_ENUM
        NEAP_DTYPE_COUNT
};

#endif
