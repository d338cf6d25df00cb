/* scalar.h: one element of any dtype. */
#ifndef LAZY_SCALAR_H
#define LAZY_SCALAR_H

#include "lazy/dtype/dtype.h"

typedef union lazy_scalar { /* a 0-d operand, as the load's dtype */
    uint8_t b;
    uint8_t u8;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    float f32;
    double f64;
} lazy_scalar;

#endif
