/* lapack.c: finds LAPACK's functions in the library that blas.c has loaded, on first use. */
#include "engine/libs/lapack.h"

#include <pthread.h>
#include <stdio.h>

#include "engine/libs/blas.h"

static struct {
    pthread_once_t once;
    engine_lapack real[2], complex[2]; /* of f32, of f64 */
    const char *missing;               /* the first function that is not there, NULL: all are */
} lapack = {.once = PTHREAD_ONCE_INIT};

static void find_routine(const char *name, const char *f32_symbol, const char *f64_symbol, void *f32, void *f64) {
    *(void **)f32 = engine_blas_symbol(f32_symbol);
    *(void **)f64 = engine_blas_symbol(f64_symbol);
    if (!lapack.missing && (!*(void **)f32 || !*(void **)f64))
        lapack.missing = name;
}

static void load_lapack(void) {
#define FIND_REAL(name, parameters)                                                                                    \
    find_routine(#name, "s" #name "_", "d" #name "_", &lapack.real[0].name, &lapack.real[1].name);
#define FIND_COMPLEX(name, parameters)                                                                                 \
    find_routine(#name, "c" #name "_", "z" #name "_", &lapack.complex[0].name, &lapack.complex[1].name);
    ENGINE_LAPACK_SHARED_ROWS(FIND_REAL)
    ENGINE_LAPACK_REAL_ROWS(FIND_REAL)
    ENGINE_LAPACK_SHARED_ROWS(FIND_COMPLEX)
    ENGINE_LAPACK_COMPLEX_ROWS(FIND_COMPLEX)
#undef FIND_REAL
#undef FIND_COMPLEX
}

int engine_lapack_get(bool f64, bool complex, const engine_lapack **out) {
    int status = engine_blas_load();
    if (status)
        return status;
    pthread_once(&lapack.once, load_lapack);
    if (lapack.missing)
        return neap_error(NEAP_E_LIBRARY, "linear algebra needs LAPACK: libopenblas.so.0 was built without %s",
                          lapack.missing);
    *out = complex ? &lapack.complex[f64] : &lapack.real[f64];
    return NEAP_OK;
}
