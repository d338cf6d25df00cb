/* fft_move.h: neighbouring columns of memory copied into rows, and back. For what transforms rows. */
#ifndef NEAP_ENGINE_FFT_MOVE_H
#define NEAP_ENGINE_FFT_MOVE_H

#include <stddef.h>
#include <stdint.h>

/* `count` neighbouring columns of n elements of `item` bytes (4, 8 or 16), which begin at `at`, with `apart` bytes from
 * one element of a column to the next; rows have their elements adjacent, and lie `step` bytes apart. */
void engine_fft_take(size_t item, const char *at, size_t apart, char *rows, size_t step, int64_t n, int64_t count);
void engine_fft_give(size_t item, char *at, size_t apart, const char *rows, size_t step, int64_t n, int64_t count);
/* Asks for memory that will be read or written soon, so many bytes behind a place; it need not be there. */
void engine_fft_ask_for(const char *from, size_t behind, size_t bytes);

#endif
