/* gpu_call_rows.c: the phases of whole-array ops on GPUs (lazy/native/gpu_call.h), compiled to bitcode, a module for
 * each dtype. Arithmetic is the text of the CPU's loops; each operation rounds by itself, as in gpu_rows.c.
 *
 *      OWN_T, OWN_BITS                      the elements of the module's dtype
 *      OWN_ORDERED, OWN_SIGNED, OWN_REAL    it has sorts, and what its keys are made of
 *      OWN_ADDED, OWN_SUM                   elements that are added at places, and how; not of halves
 */
#include "lazy/dtype/dtype.h"

#define PLUS(a, b) ((a) + (b))
#define EITHER(a, b) ((a) | (b))

#if defined(NATIVE_BOOL)
#define OWN_T uint8_t
#define OWN_BITS 8
#define OWN_ORDERED
#define OWN_ADDED uint8_t
#define OWN_SUM EITHER
#elif defined(NATIVE_U8)
#define OWN_T uint8_t
#define OWN_BITS 8
#define OWN_ORDERED
#define OWN_ADDED uint8_t
#elif defined(NATIVE_U16)
#define OWN_T uint16_t
#define OWN_BITS 16
#define OWN_ORDERED
#define OWN_ADDED uint16_t
#elif defined(NATIVE_U32)
#define OWN_T uint32_t
#define OWN_BITS 32
#define OWN_ORDERED
#define OWN_ADDED uint32_t
#elif defined(NATIVE_U64)
#define OWN_T uint64_t
#define OWN_BITS 64
#define OWN_ORDERED
#define OWN_ADDED uint64_t
#elif defined(NATIVE_I8)
#define OWN_T int8_t
#define OWN_BITS 8
#define OWN_ORDERED
#define OWN_SIGNED
#define OWN_ADDED uint8_t
#elif defined(NATIVE_I16)
#define OWN_T int16_t
#define OWN_BITS 16
#define OWN_ORDERED
#define OWN_SIGNED
#define OWN_ADDED uint16_t
#elif defined(NATIVE_I32)
#define OWN_T int32_t
#define OWN_BITS 32
#define OWN_ORDERED
#define OWN_SIGNED
#define OWN_ADDED uint32_t
#elif defined(NATIVE_I64)
#define OWN_T int64_t
#define OWN_BITS 64
#define OWN_ORDERED
#define OWN_SIGNED
#define OWN_ADDED uint64_t
#elif defined(NATIVE_F32)
#define OWN_T float
#define OWN_BITS 32
#define OWN_ORDERED
#define OWN_REAL
#define OWN_ADDED float
#elif defined(NATIVE_F64)
#define OWN_T double
#define OWN_BITS 64
#define OWN_ORDERED
#define OWN_REAL
#define OWN_ADDED double
#elif defined(NATIVE_F16) || defined(NATIVE_BF16)
#define OWN_T uint16_t
#define OWN_BITS 16
#elif defined(NATIVE_C64)
#define OWN_T neap_c64
#define OWN_BITS 64
#define OWN_ADDED neap_c64
#elif defined(NATIVE_C128)
#define OWN_T neap_c128
#define OWN_BITS 128
#define OWN_ADDED neap_c128
#endif
#ifndef OWN_SUM
#define OWN_SUM PLUS
#endif

#include "lazy/native/plugin/gpu_draws.h"
#include "lazy/native/plugin/gpu_moves.h"
#include "lazy/native/plugin/gpu_puts.h"
#include "lazy/native/plugin/gpu_scans.h"
#include "lazy/native/plugin/gpu_sorts.h"
