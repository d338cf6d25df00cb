/* blas.h: a BLAS and LAPACK library, loaded at run time. For lazy/ and product.c; not part of the public interface. */
#ifndef NEAP_ENGINE_BLAS_H
#define NEAP_ENGINE_BLAS_H

#include <stdbool.h>

#include "engine/engine.h"
#include "engine/libs/simd/product.h"

/* Loads the library now: NEAP_OK or NEAP_E_LIBRARY. */
int engine_blas_load(void);
/* A function of the library, NULL: it has none of this name, or there is no library. */
void *engine_blas_symbol(const char *name);
/* What was loaded, such as "OpenBLAS 0.3.21 …"; NULL if nothing was. BORROWED forever. */
const char *engine_blas_name(void);
/* Around calls of the library on this thread, for which it may need memory of its own: NEAP_OK, or NEAP_E_MEMORY, then
 * nothing is to be called and left. The library is loaded. */
int engine_blas_enter(bool *alone);
void engine_blas_leave(bool alone);
/* The product by one call, on this thread. The bits do not depend on the strides, but on the library and the CPU. */
int engine_blas_multiply(const neap_run *run, bool f64, const engine_product *product);

#endif
