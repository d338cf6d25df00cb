/* fft.h: discrete Fourier transforms of rows through FFTW, loaded at run time. For lazy/; not part of the public
 * interface.
 *
 * FFTW has a library for each precision; what is not there, the caller does without. A plan is for one row whose
 * elements are adjacent, or for a fixed number of short ones behind each other, whatever stands around them: so the
 * bits of a row depend on its length, the library and the processor alone, not on other rows, strides, or what was
 * planned before. */
#ifndef NEAP_ENGINE_FFT_H
#define NEAP_ENGINE_FFT_H

#include <stdbool.h>

#include "engine/engine.h"

typedef enum engine_fft_kind {
    ENGINE_FFT_COMPLEX, /* n complex numbers to n */
    ENGINE_FFT_OF_REAL, /* n real numbers to the first n / 2 + 1 of their transform; never inverse */
    ENGINE_FFT_TO_REAL  /* n / 2 + 1 complex numbers, the first one of them real, and the last one of an even n, to n
                         * real ones; always inverse. Overwrites its input */
} engine_fft_kind;

typedef struct engine_fft engine_fft; /* a plan */

/* The plan of rows, without a factor; the inverse has exp(2πi j k / n). *out is NULL where the library cannot do it, or
 * is not there. NEAP_E_MEMORY: what it takes is not to be had. OWNED: engine_fft_close gives it back. */
int engine_fft_open(engine_fft_kind kind, bool f64, bool inverse, int64_t n, engine_fft **out);
void engine_fft_close(engine_fft *plan);
/* May a row begin here? */
bool engine_fft_fits(const engine_fft *plan, const void *row);
/* How many rows, behind each other, it transforms at once; fewer are made up to as many. */
int engine_fft_rows(const engine_fft *plan);
/* Bytes that it needs besides, at a multiple of 64. */
size_t engine_fft_scratch(const engine_fft *plan);
/* Its rows, into another place, on this thread; any number of threads may do so at once. Both places fit. */
void engine_fft_run(const engine_fft *plan, void *in, void *out, void *scratch);

/* "fftw-3.3.10-sse2-avx", or why transforms do not go there. BORROWED forever. */
const char *engine_fft_library(void);

#endif
