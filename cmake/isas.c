/* isas.c: prints the instruction sets of this CPU that loops may be compiled for, best first (cmake/simd.cmake). */
#include <stdio.h>

#include "engine/libs/simd/isa.h"

int main(void) {
#if defined(__x86_64__)
    if (engine_isa_avx512())
        printf("avx512;");
    if (engine_isa_avx2())
        printf("avx2;");
#endif
    printf("baseline");
    return 0;
}
