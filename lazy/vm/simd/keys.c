/* keys.c: elements as unsigned keys of the same order, and back (simd.h has the contract); compiled once per
 * instruction set (-DNEAP_ISA), and the compiler vectorizes.
 */
#include <string.h>

#include "lazy/vm/simd/simd.h"

#define NAME(x) bool_##x
#define T uint8_t
#define K uint32_t
#define HIGH 31
#include "lazy/vm/simd/keys_of.h"

#define NAME(x) u8_##x
#define T uint8_t
#define K uint32_t
#define HIGH 31
#include "lazy/vm/simd/keys_of.h"

#define NAME(x) u16_##x
#define T uint16_t
#define K uint32_t
#define HIGH 31
#include "lazy/vm/simd/keys_of.h"

#define NAME(x) u32_##x
#define T uint32_t
#define K uint32_t
#define HIGH 31
#include "lazy/vm/simd/keys_of.h"

#define NAME(x) u64_##x
#define T uint64_t
#define K uint64_t
#define HIGH 63
#include "lazy/vm/simd/keys_of.h"

#define NAME(x) i8_##x
#define T int8_t
#define K uint32_t
#define HIGH 31
#define SIGNED
#include "lazy/vm/simd/keys_of.h"

#define NAME(x) i16_##x
#define T int16_t
#define K uint32_t
#define HIGH 31
#define SIGNED
#include "lazy/vm/simd/keys_of.h"

#define NAME(x) i32_##x
#define T int32_t
#define K uint32_t
#define HIGH 31
#define SIGNED
#include "lazy/vm/simd/keys_of.h"

#define NAME(x) i64_##x
#define T int64_t
#define K uint64_t
#define HIGH 63
#define SIGNED
#include "lazy/vm/simd/keys_of.h"

#define NAME(x) f32_##x
#define T float
#define K uint32_t
#define HIGH 31
#define REAL
#include "lazy/vm/simd/keys_of.h"

#define NAME(x) f64_##x
#define T double
#define K uint64_t
#define HIGH 63
#define REAL
#include "lazy/vm/simd/keys_of.h"

#define TABLE_NAME(isa) TABLE_NAME_OF(isa)
#define TABLE_NAME_OF(isa) lazy_keys_##isa
#define FUNCTIONS(NAME, name, ...) [NEAP_DTYPE_##NAME] = {name##_keys, name##_pairs, name##_values, NULL},
#define REAL_FUNCTIONS(NAME, name, ...) [NEAP_DTYPE_##NAME] = {name##_keys, name##_pairs, name##_values, name##_zeros},

const lazy_keys TABLE_NAME(NEAP_ISA)[NEAP_DTYPE_COUNT] = {
    NEAP_DTYPE_BOOL_ROWS(FUNCTIONS) NEAP_DTYPE_INTEGER_ROWS(FUNCTIONS) NEAP_DTYPE_REAL_ROWS(REAL_FUNCTIONS)};
