/* scalar.h: one element of any dtype, and numbers as elements. */
#ifndef LAZY_SCALAR_H
#define LAZY_SCALAR_H

#include <stdbool.h>

#include "engine/routine.h"
#include "lazy/dtype/dtype.h"

typedef union lazy_scalar { /* a 0-d operand, as the load's dtype */
    uint8_t b;
#define SCALAR_MEMBER(NAME, name, kind, ctype, ...) ctype name;
    NEAP_DTYPE_INTEGER_ROWS(SCALAR_MEMBER)
    NEAP_DTYPE_REAL_ROWS(SCALAR_MEMBER)
    NEAP_DTYPE_HALF_ROWS(SCALAR_MEMBER)
    NEAP_DTYPE_COMPLEX_ROWS(SCALAR_MEMBER)
#undef SCALAR_MEMBER
} lazy_scalar;

/* An element of an integer dtype of this kind as an index: one beyond any extent stays beyond it. */
static inline int64_t dtype_index(char kind, uint64_t bits) {
    return kind == 'u' && bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
}
/* Is it f16 or bf16? */
bool dtype_is_half(int dtype);
neap_half dtype_half(int dtype);
/* An element of any dtype as a number, of 64-bit integers the nearest one, of a complex one its real part. */
double dtype_number(int dtype, const void *element);
/* An element of a bool or integer dtype as 64 bits, extended by its sign; of others 0. */
uint64_t dtype_bits(int dtype, const void *element);
/* Binary digits of a number of this dtype, or of its parts. */
int dtype_digits(int dtype);
/* Can `value` be an element of this dtype? Any number can of a real or complex one. */
bool dtype_holds(int dtype, double value);
/* The value as an element of a real dtype is: rounded to it. Others leave it as it is. */
double dtype_round(int dtype, double value);
/* The element of this value, which the dtype holds. */
lazy_scalar dtype_scalar(int dtype, double value);
/* The columns `sum` and `real` of the dtype's row. */
int dtype_of_sum(int dtype);
int dtype_of_real(int dtype);
/* The dtype of the parts of a complex one; others are their own. */
int dtype_of_part(int dtype);
/* The least complex dtype whose parts hold what the column `real` says; a complex one is its own. */
int dtype_of_complex(int dtype);
/* Is it real or complex: has it derivatives? */
bool dtype_is_inexact(int dtype);

#endif
