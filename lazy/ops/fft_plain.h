/* fft_plain.h: discrete Fourier transforms of rows of complex numbers by our own code (fft_plain.c), for where FFTW is
 * not there (engine/libs/fft.h). */
#ifndef LAZY_OPS_FFT_PLAIN_H
#define LAZY_OPS_FFT_PLAIN_H

#include <stdint.h>

typedef struct ops_fft_number {
    double re, im;
} ops_fft_number;

typedef struct ops_fft_plan ops_fft_plan; /* what a length needs */

/* The plan of rows of n elements, which is kept for further calls; NULL: out of memory. OWNED: ops_fft_close gives it
 * back. */
ops_fft_plan *ops_fft_open(int64_t n);
void ops_fft_close(ops_fft_plan *plan);
/* How many elements each of the two buffers of a row has. */
int64_t ops_fft_scratch(const ops_fft_plan *plan);
/* Transforms a row, with exp(-2πi j k / n) and without a factor. The result is in the buffer that is returned. */
ops_fft_number *ops_fft_row(const ops_fft_plan *plan, ops_fft_number *row, ops_fft_number *other);

#endif
