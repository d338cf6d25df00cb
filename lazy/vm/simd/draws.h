/* draws.h: random numbers of one instruction set, drawn from counters (draws.c). All sets give the same bits. */
#ifndef LAZY_SIMD_DRAWS_H
#define LAZY_SIMD_DRAWS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vm_key { /* a key of the threefry hash, a counter, or what it makes of one */
    uint32_t hi, lo;
} vm_key;

/* Draws of the counters first … first + n - 1 under a key. */
typedef void (*vm_draw)(void *out, vm_key key, uint64_t first, int64_t n);

enum { VM_DRAW_UNIFORM, VM_DRAW_NORMAL, VM_DRAW_EXPONENTIAL, VM_DRAW_GUMBEL, VM_DRAW_COUNT };

typedef struct vm_draws {
    vm_draw words;                    /* u32: both words of the hash, exclusive or */
    vm_draw pairs;                    /* vm_key */
    vm_draw floats[VM_DRAW_COUNT][2]; /* by distribution, f32 and f64 */
    /* By width, u32 and u64: out[i] = low + (more[i] · 2^bits + rest[i]) mod span, where 2^bits mod span is the square
     * of 2^(bits/2) mod span, in arithmetic modulo 2^bits; a span of 0 is 2^bits. What is drawn are words, or pairs. */
    void (*within[2])(void *out, const void *more, const void *rest, int64_t n, uint64_t low, uint64_t span);
    /* By rejection (samplers.h), f32 and f64: elements first … first + n - 1 of a draw, with parameters of their own;
     * gamma numbers, or their logarithms. */
    void (*gamma[2])(void *out, const void *alpha, vm_key key, uint64_t first, int64_t n, bool logarithm);
    void (*poisson)(float *out, const float *means, vm_key key, uint64_t first, int64_t n);
    void (*binomial[2])(void *out, const void *counts, const void *probs, vm_key key, uint64_t first, int64_t n);
    void (*hash)(vm_key *out, vm_key key, const vm_key *counts, int64_t n);
} vm_draws;

extern const vm_draws lazy_draws_baseline;
#if defined(__x86_64__)
extern const vm_draws lazy_draws_avx2, lazy_draws_avx512;
#endif

#endif
