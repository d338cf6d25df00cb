/* fft_split.h: long rows as two passes of short ones. For fft.c. */
#ifndef NEAP_ENGINE_FFT_SPLIT_H
#define NEAP_ENGINE_FFT_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct engine_fft_split engine_fft_split;

/* The number of rows a that n elements are split into, of n / a each, both of small factors alone; 0: rows of n are not
 * split. */
int64_t engine_fft_split_rows(int64_t n);
/* For rows of n complex elements, by plans of `rows` and of n / rows, which execute runs from one place to another:
 * BORROWED until engine_fft_split_free. NULL: no memory. OWNED. */
engine_fft_split *engine_fft_split_new(bool f64, bool inverse, int64_t n, void *columns, void *lines,
                                       void (*execute)(void *plan, void *in, void *out));
void engine_fft_split_free(engine_fft_split *split);
/* Bytes that a row needs besides, which begin where rows of the plans may. */
size_t engine_fft_split_scratch(const engine_fft_split *split);
/* From one place to another, which may begin at any element. */
void engine_fft_split_run(const engine_fft_split *split, const char *in, char *out, char *scratch);

#endif
