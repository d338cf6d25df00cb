/* fft_chirp.h: what a plan of fft.c is, and rows whose length has a large prime factor, by transforms of a power of
 * two. For fft.c. */
#ifndef NEAP_ENGINE_FFT_CHIRP_H
#define NEAP_ENGINE_FFT_CHIRP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/libs/fft.h"
#include "engine/libs/fft_split.h"

typedef struct engine_fft_chirp engine_fft_chirp;

struct engine_fft {
    engine_fft_kind kind;
    bool f64, inverse;
    int64_t n;
    int rows;                /* at once */
    void *plan, *back;       /* of rows; those of a chirp, forward and back; of the two passes of what is split */
    engine_fft_chirp *chirp; /* one of the two, or NULL: the plan alone does it */
    engine_fft_split *split;
    int refs; /* calls that use it */
    struct engine_fft *next;
};

/* Are rows of n elements faster in this way? */
bool engine_fft_chirp_wanted(int64_t n);
/* How many elements the transforms have that it needs. */
int64_t engine_fft_chirp_length(int64_t n);
/* For rows as `of` says, by plans of that length, from one place to another one, which execute runs: BORROWED until
 * engine_fft_chirp_free. NULL: no memory. OWNED. */
engine_fft_chirp *engine_fft_chirp_new(const engine_fft *of, void *forward, void *back,
                                       void (*execute)(void *plan, void *in, void *out));
void engine_fft_chirp_free(engine_fft_chirp *chirp);
/* Bytes that a row needs besides, which begin where rows of the plans may. */
size_t engine_fft_chirp_scratch(const engine_fft_chirp *chirp);
void engine_fft_chirp_run(const engine_fft_chirp *chirp, const char *in, char *out, char *scratch);

#endif
