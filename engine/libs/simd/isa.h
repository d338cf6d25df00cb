/* isa.h: whether this CPU has the instruction sets for which loops may be compiled. cmake/simd.cmake says which were:
 * it asks this file, too, and writes their list, ENGINE_ISAS, into generated/isa_gen.h. */
#ifndef ENGINE_LIBS_SIMD_ISA_H
#define ENGINE_LIBS_SIMD_ISA_H

#include <stdbool.h>

static inline bool engine_isa_baseline(void) {
    return true;
}

#if defined(__x86_64__)
static inline bool engine_isa_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static inline bool engine_isa_avx512(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}
#endif

#endif
