/* bitcode.h: the rows' functions (rows.c), compiled for each instruction set; cmake/native.cmake puts them together. */
#ifndef LAZY_NATIVE_PLUGIN_BITCODE_H
#define LAZY_NATIVE_PLUGIN_BITCODE_H

#include "lazy/dtype/dtype.h"

typedef struct native_module {
    const char *begin, *end;
} native_module;

typedef struct native_bitcode {
    const char *isa; /* NULL behind the last one */
    int lanes;
    const char *vector_bits;
    native_module modules[NEAP_DTYPE_COUNT]; /* functions whose name ends with the dtype */
} native_bitcode;

extern const native_bitcode native_bitcodes[];

#endif
