/* matrices.h: what systems.c and factors.c share: stacks of matrices in the memory of a device, copied, cleared and
 * transposed in the order of a stream, and the handle of cuSOLVER. Who calls has entered, and holds the lock for
 * routines. */
#ifndef NEAP_CUDA_MATRICES_H
#define NEAP_CUDA_MATRICES_H

#include "engine/cuda/cuda.h"

enum { CUDA_TOLD = 2048 /* matrices of which the addresses are told at once: the driver takes a copy of so few */ };

/* Matrices, or parts of them, at equal distances in bytes. */
typedef struct cuda_row {
    CUdeviceptr at;
    int64_t step;
} cuda_row;

static inline void *cuda_pointer(CUdeviceptr memory) {
    return (void *)(uintptr_t)memory;
}

static inline CUdeviceptr cuda_matrix(cuda_row m, int64_t k) {
    return m.at + (CUdeviceptr)(k * m.step);
}

/* Those from number k on. */
static inline cuda_row cuda_row_from(cuda_row m, int64_t k) {
    return (cuda_row){cuda_matrix(m, k), m.step};
}

/* Bytes of a part of scratch memory, so that the next part is well placed. */
static inline size_t cuda_whole(int64_t bytes) {
    return ((size_t)bytes + 255) / 256 * 256;
}

/* The handle of cuSOLVER, which enqueues on the stream. */
int cuda_solver_take(cuda_stream *stream, cusolverDnHandle_t *out);
int cuda_solver_check(cuda_stream *stream, cusolverStatus_t status, const char *function);

/* Copies `bytes` of each of `count` things. */
int cuda_copy_each(cuda_stream *stream, cuda_row to, cuda_row from, int64_t bytes, int64_t count);
/* Sets `words` 32-bit words of each of `count` things. */
int cuda_set_words(cuda_stream *stream, CUdeviceptr at, int64_t step, uint32_t value, int64_t words, int64_t count);
/* Clears `bytes`, a multiple of 4, of each of `count` things. */
int cuda_clear_each(cuda_stream *stream, cuda_row to, int64_t bytes, int64_t count);
/* Tells the addresses of `count` matrices of two sorts, in memory for twice so many. */
int cuda_tell(cuda_stream *stream, CUdeviceptr told, cuda_row a, cuda_row b, int64_t count);

typedef struct cuda_transposition {
    cuda_row to, from;
    int64_t rows, columns; /* of `to`, by rows */
    int64_t ld;            /* from one row of `from` to the next, in elements */
    bool conjugate;
} cuda_transposition;

/* Each of `count` matrices becomes the transposed of another one. */
int cuda_transpose_each(cuda_stream *stream, const neap_routine *routine, const cuda_transposition *t, int64_t count);

#endif
