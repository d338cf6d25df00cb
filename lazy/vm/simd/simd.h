/* simd.h: the loops of one instruction set, the contract between lazy/vm/simd (compiled once per set) and the chunked
 * VM.
 *
 * tools/gen/kernels.lua writes the loops from the kernel texts of the op rows; simd/kernels.c and chains.c compile them
 * with NEAP_ISA=baseline|avx2|avx512 and export the tables lazy_simd_<NEAP_ISA> and lazy_chains_<NEAP_ISA>, and
 * simd/draws.c lazy_draws_<NEAP_ISA>. All sets give the same bits.
 *
 * Loops never touch memory outside of their n elements. A result may lie exactly over an operand of the same width, but
 * must not overlap one in another way.
 */
#ifndef LAZY_SIMD_SIMD_H
#define LAZY_SIMD_SIMD_H

#include <stdbool.h>

#include "lazy/dtype/scalar.h"
#include "lazy/vm/simd/draws.h"

/* out[i] = op(a[i], b[i], c[i]); operands that the op does not have are ignored. */
typedef void (*lazy_loop)(void *out, const void *a, const void *b, const void *c, int64_t n);

/* The loops of one map and dtype by the set of operands that are scalars: bit k of the index means that operand k is
 * one element, used for all. With all operands scalar, loop 0 and n = 1 do. */
typedef struct lazy_loops {
    lazy_loop by_scalars[8];
} lazy_loops;

/* ---- Chains: cheap maps of one dtype in a row, each on what the one before gave -------------------------------------
 * A block of elements is loaded once, taken through the codes of all maps in vector registers, rounding after each, and
 * stored once. A chain is an array of links:
 *
 *      begin      left or right of a map      …      end
 *      ▲ loads    ▲ the other operand                ▼ stores
 *
 * Between begin and end any of them may be an ask, which asks memory for what its operand will be some blocks later. */
typedef void (*lazy_code)(void); /* its real type is its instruction set's own */

typedef struct lazy_link {
    lazy_code code;
    const void *operand; /* end: where the result goes */
    bool vector;         /* begin, and codes that take a vector: the operand is read as far as the chain runs */
} lazy_link;

/* The codes of a map of one dtype by what its other operand is, [0] a vector, [1] one element: the chain gives the left
 * operand or the right one. A map of one operand has left[0], which has no operand. */
typedef struct lazy_codes {
    lazy_code left[2], right[2];
} lazy_codes;

/* Maps of the longest chain; links that these need with an ask for each vector, begin and end. */
enum { LAZY_CHAIN_MAX = 12, LAZY_LINKS_MAX = 2 * LAZY_CHAIN_MAX + 3 };

typedef struct lazy_chains {
    const lazy_codes *const *codes; /* [op][dtype]; NULL, and codes without left[0], for what joins no chain */
    lazy_code begin, ask, end;
    lazy_code end_far; /* stores past the caches, where vectors of the result are aligned */
    void (*run)(lazy_link *links, int count, int64_t bytes); /* over so many bytes of elements */
} lazy_chains;

enum { LAZY_LANES = 16, LAZY_LEAF = 256 };

/* Leaves of the tree: `count` of them, `length` <= LAZY_LEAF elements each, one after another; one result each
 * (kernel.h tells the order inside a leaf). b is read by the sums of lazy_summed alone. */
typedef void (*lazy_leaves)(void *out, const void *a, const void *b, int64_t count, int64_t length);

typedef struct lazy_fold { /* a reduction of one dtype */
    lazy_scalar identity;
    lazy_loop pairs; /* out[i] = combine(a[i], b[i]) */
    lazy_leaves leaves;
} lazy_fold;

typedef struct lazy_summed {          /* a reduction of what a map, or two in a row, make of vectors a and b */
    int16_t reduction, first, second; /* second: -1 without */
    lazy_leaves leaves[NEAP_DTYPE_COUNT];
} lazy_summed;

typedef struct lazy_choice { /* an argmax or argmin of one dtype; index -1 stands for "none yet" */
    /* Goes on from *best, *index through in[0, n), whose first element has the index `base`. */
    void (*first)(void *best, int32_t *index, const void *in, int64_t n, int32_t base);
    /* best[i], index[i] against in[i], whose index is `at`, for n columns. */
    void (*columns)(void *best, int32_t *index, const void *in, int64_t n, int32_t at);
} lazy_choice;

typedef struct lazy_simd {
    const char *name;
    const lazy_loops *const *map;     /* [op][dtype of the operands]; NULL for an op that is no map */
    const lazy_fold *const *fold;     /* [op][dtype]; NULL for an op that is no reduction */
    const lazy_choice *const *choice; /* [op][dtype]; NULL for an op without LAZY_OP_ARG */
    const lazy_chains *chains;
    const vm_draws *draws;
    const lazy_summed *summed;
    int nsummed;
    lazy_loop cast[NEAP_DTYPE_COUNT][NEAP_DTYPE_COUNT]; /* [from][to] */
    /* Copies past the caches: dst is aligned as its elements are. */
    void (*stream)(void *dst, const void *src, int64_t bytes);
} lazy_simd;

extern const lazy_simd lazy_simd_baseline;
extern const lazy_chains lazy_chains_baseline;
#if defined(__x86_64__)
extern const lazy_simd lazy_simd_avx2, lazy_simd_avx512;
extern const lazy_chains lazy_chains_avx2, lazy_chains_avx512;
#endif

#endif
