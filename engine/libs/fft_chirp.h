/* fft_chirp.h: rows whose length has a large prime factor, by transforms of a power of two. For fft.c. */
#ifndef NEAP_ENGINE_FFT_CHIRP_H
#define NEAP_ENGINE_FFT_CHIRP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct engine_fft_chirp engine_fft_chirp;

/* Are rows of n complex numbers faster in this way? */
bool engine_fft_chirp_wanted(int64_t n);
/* How many elements the transforms have that it needs. */
int64_t engine_fft_chirp_length(int64_t n);
/* By plans of that length, from one place to another one, which execute runs: BORROWED until engine_fft_chirp_free.
 * NULL: no memory. OWNED. */
engine_fft_chirp *engine_fft_chirp_new(bool f64, bool inverse, int64_t n, void *forward, void *back,
                                       void (*execute)(void *plan, void *in, void *out));
void engine_fft_chirp_free(engine_fft_chirp *chirp);
/* Bytes that a row needs besides, which begin where rows of the plans may. */
size_t engine_fft_chirp_scratch(const engine_fft_chirp *chirp);
void engine_fft_chirp_run(const engine_fft_chirp *chirp, const char *in, char *out, char *scratch);

#endif
