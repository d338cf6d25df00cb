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
#include "lazy/vm/simd/lines.h"
#include "lazy/vm/simd/scans.h"

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
 *      begin      a map                    …      end
 *      ▲ loads    ▲ its other operands            ▼ stores
 *
 * A map with two other operands takes two links, the second of which has no code. Between these, any link may be an
 * ask, which asks memory for what its operand will be some blocks later. A bool that a chain makes, by comparing, is 1
 * or 0 of the chain's dtype until it is stored; those in memory are bytes, as they are outside. */
typedef void (*lazy_code)(void); /* its real type is its instruction set's own */

typedef struct lazy_link {
    lazy_code code;
    const void *operand; /* end: where the result goes */
    bool vector;         /* begin, and links whose operand is read as far as the chain runs */
    uint8_t narrower;    /* vectors, and the end: an element has 2^-narrower as many bytes as one of the chain */
} lazy_link;

/* The codes of a map of one dtype: [which operand the chain gives][is the first of the others one element][is the
 * second]. NULL: there is none; none at all for a map that joins no chain. */
typedef struct lazy_codes {
    lazy_code by[3][2][2];
} lazy_codes;

/* Maps of the longest chain; links of a map, with an ask for each vector; links of a chain, with those, begin, its ask
 * and end. */
enum { LAZY_CHAIN_MAX = 12, LAZY_LINKS_OF_MAP = 4, LAZY_LINKS_MAX = LAZY_LINKS_OF_MAP * LAZY_CHAIN_MAX + 3 };

typedef struct lazy_chains {
    const lazy_codes *const *codes;                /* [op][dtype]; NULL for what joins no chain */
    const lazy_code (*begin_as)[NEAP_DTYPE_COUNT]; /* [dtype in memory][dtype of the chain]: with a cast; NULL: none */
    lazy_code begin, ask, end;
    lazy_code end_far;     /* stores past the caches, where vectors of the result are aligned */
    lazy_code end_bool[9]; /* by bytes of the chain's elements: stores bools */
    void (*run)(lazy_link *links, int count, int64_t bytes); /* over so many bytes of elements */
} lazy_chains;

enum { LAZY_LANES = 16, LAZY_LEAF = 256 };

/* Widths that elements have, 1 << k bytes: 1, 2, 4, 8, 16. */
enum { LAZY_WIDTHS = 5 };

/* Leaves of the tree: `count` of them, `length` elements each (at most LAZY_LEAF, where the order counts), one after
 * another; one result each (loop/tree.h has the order). b is for the sums of lazy_summed; for others it is a. */
typedef void (*lazy_leaves)(void *out, const void *a, const void *b, int64_t count, int64_t length);

/* Columns that lie side by side, each combined in order over `rows` >= 1 rows, `step` bytes from one to the next. */
typedef void (*lazy_down)(void *out, const void *in, int64_t step, int64_t rows, int64_t columns);

typedef struct lazy_fold { /* a reduction of one dtype */
    lazy_scalar identity;
    lazy_loop pairs; /* out[i] = combine(a[i], b[i]) */
    lazy_leaves leaves;
    lazy_down down;
} lazy_fold;

typedef struct lazy_summed {          /* a reduction of what a map, or two in a row, make of vectors a and b */
    int16_t reduction, first, second; /* second: -1 without */
    lazy_leaves leaves[NEAP_DTYPE_COUNT];
} lazy_summed;

typedef struct lazy_choice { /* an argmax or argmin of one dtype; index -1 stands for "none yet" */
    /* Goes on from *best, *index through in[0, n), whose first element has the index `base`. */
    void (*first)(void *best, int32_t *index, const void *in, int64_t n, int32_t base);
    /* best[i], index[i] of n columns, all "none yet" or none, against rows that are `step` bytes apart, of which
     * the first has the index `at`. */
    void (*columns)(void *best, int32_t *index, const void *in, int64_t step, int64_t n, int64_t rows, int32_t at);
} lazy_choice;

typedef struct lazy_folds {
    const lazy_fold *const *fold;     /* [op][dtype]; NULL for an op that is no reduction */
    const lazy_choice *const *choice; /* [op][dtype]; NULL for an op without LAZY_OP_ARG */
    const lazy_summed *summed;
    int nsummed;
} lazy_folds;

/* ---- Rows at places that are data (scatter.c) ------------------------------------------------------------------- */
enum { LAZY_PLACES = 512, LAZY_PLACES_SLACK = 16 }; /* indices of a block; what a vector may write behind them */

typedef struct lazy_places { /* rows of a range, counted from its first one, and the updates that go there, in order */
    uint32_t row[LAZY_PLACES + LAZY_PLACES_SLACK];
    uint32_t from[LAZY_PLACES + LAZY_PLACES_SLACK]; /* or, if none was left out, one after another, undefined */
    bool none_out;
} lazy_places;

/* Of n <= LAZY_PLACES indices into an axis of `extent`, negative ones counted from its end, those that lie in low …
 * high-1, less than 2^31 rows. Returns how many. */
typedef int64_t (*lazy_find)(lazy_places *places, const void *indices, int64_t n, int64_t extent, int64_t low,
                             int64_t high);
/* How what comes meets what is there: it takes its place, or is combined with it. */
typedef enum lazy_meeting {
    LAZY_PUT_SET,
    LAZY_PUT_ADD,
    LAZY_PUT_MULTIPLY,
    LAZY_PUT_MAXIMUM,
    LAZY_PUT_MINIMUM,
    LAZY_PUTS
} lazy_meeting;
/* Rows of `length` elements of `in` meet rows of `out`: one after another. */
typedef void (*lazy_put)(void *out, const void *in, const lazy_places *places, int64_t count, int64_t length);

typedef struct lazy_scatter {
    lazy_find find[NEAP_DTYPE_COUNT]; /* by dtype of the indices */
    /* Halves are only set, and complex numbers are not compared. */
    lazy_put put[LAZY_PUTS][NEAP_DTYPE_COUNT];
} lazy_scatter;

/* ---- Elements marked by bits (marks.c) --------------------------------------------------------------------------- */
/* Bit k % 64 of words[k / 64] is set where element k is marked; bits behind the last one are not. */
typedef void (*lazy_mark)(uint64_t *words, const void *in, int64_t n);

typedef struct lazy_marks {
    lazy_mark nonzero[NEAP_DTYPE_COUNT];
    lazy_mark
        changes[NEAP_DTYPE_COUNT]; /* differs from the one before, also of the first: it is read; NaN equals NaN */
    /* The first of the elements from `from` up to n that may be greater than *bound: which of the 64 from it on are,
     * so far as there are so many; n: none is. */
    int64_t (*above[NEAP_DTYPE_COUNT])(uint64_t *word, const void *in, int64_t from, int64_t n, const void *bound);
    int64_t (*count)(const uint64_t *words, int64_t n);
    /* The places of the bits that are set, `count` in all, added to `base`: i32, and i64. */
    void (*places[2])(void *out, const uint64_t *words, int64_t count, int64_t base);
} lazy_marks;

/* ---- Elements as keys (keys.c) ----------------------------------------------------------------------------------- */
/* Keys of the same order, NaN last: uint32_t for elements of up to 4 bytes, uint64_t for wider ones; turned around if
 * the order descends, but for NaN. A line of elements that are `stride` apart; keys lie one after another. */
typedef struct lazy_pair { /* a key of 8 bytes and a place; one of 4 bytes is in a uint64_t, above its place */
    uint64_t key, place;
} lazy_pair;

typedef struct lazy_keys {
    void (*keys)(void *to, const void *from, int64_t n, int64_t stride, bool descending);
    /* With places from `place` on; zeros of both signs have one key. */
    void (*pairs)(void *to, const void *from, int64_t n, int64_t stride, bool descending, int64_t place);
    void (*values)(void *to, const void *keys, int64_t n, int64_t stride, bool descending);
    /* Sorted keys of zeros get the order that these have in the line. NULL: there is one zero. */
    void (*zeros)(void *sorted, const void *from, int64_t n, int64_t stride, bool descending);
} lazy_keys;

/* ---- Keys in order (sorts.c) ------------------------------------------------------------------------------------- */
typedef struct lazy_sorts {
    /* By width of the keys, uint32_t and uint64_t: sorts n of them, of which `spare` has room for as many, or has them
     * if they are `away`. NULL: this set has no fast way. false: these keys need too many steps; they are still all
     * there, in some order. */
    bool (*keys[2])(void *keys, void *spare, int64_t n, bool away);
    /* Parts them: `low` ones, those below `middle`, are left at the front of `keys`, the others behind as many in
     * `spare`. Returns how many are low. */
    int64_t (*part[2])(void *keys, void *spare, int64_t n, uint64_t middle, bool away);
} lazy_sorts;

/* ---- Moves (moves.c) -------------------------------------------------------------------------------------------- */
typedef struct lazy_rectangle { /* rows × length elements, and how far apart they lie, in elements */
    int64_t rows, length;
    int64_t to_row, to, from_row, from;
} lazy_rectangle;

/* Arrays of LAZY_WIDTHS are by width of an element. */
typedef struct lazy_moves {
    void (*move[LAZY_WIDTHS])(void *to, const void *from, const lazy_rectangle *r);
    void (*fill[LAZY_WIDTHS])(void *to, const void *element, int64_t n);
    /* Of `rows` elements at `stride`, each `length` times, one after another. */
    void (*repeat[LAZY_WIDTHS])(void *to, const void *from, int64_t stride, int64_t rows, int64_t length);
    /* to[i] = from[d + i * stride], where d is the distance that indices[i] means, by dtype of the indices: index *
     * step, where a negative index is counted from the end of the extent, and what is still outside is clamped. The
     * indices may lie under the result, exactly if they are as wide. */
    void (*take[NEAP_DTYPE_COUNT][LAZY_WIDTHS])(void *to, const void *from, const void *indices, int64_t n,
                                                int64_t extent, int64_t step, int64_t stride);
    /* Rows of so many bytes, one after another, of places distance[i] + i * row_step, in bytes. */
    void (*take_rows)(void *to, const void *from, const int64_t *distance, int64_t rows, int64_t row_step,
                      int64_t bytes);
    /* to[i] is the distance that indices[i * every] means. */
    void (*distances[NEAP_DTYPE_COUNT])(int64_t *to, const void *indices, int64_t every, int64_t n, int64_t extent,
                                        int64_t step);
} lazy_moves;

typedef struct lazy_simd {
    const char *name;
    const lazy_loops *const *map; /* [op][dtype of the operands]; NULL for an op that is no map */
    const lazy_folds *folds;
    const lazy_chains *chains;
    const lazy_scans *scans;
    const lazy_moves *moves;
    const lazy_scatter *scatter;
    const lazy_marks *marks;
    const lazy_keys *keys; /* [dtype] */
    const lazy_sorts *sorts;
    const lazy_lines *lines;
    const vm_draws *draws;
    lazy_loop cast[NEAP_DTYPE_COUNT][NEAP_DTYPE_COUNT]; /* [from][to] */
    /* Copies past the caches: dst is aligned as its elements are. */
    void (*stream)(void *dst, const void *src, int64_t bytes);
} lazy_simd;

/* The set in use (vm/isa.c). Tests change it while ops run: what two sets do differently, not only faster, an op asks
 * of one. */
const lazy_simd *vm_simd(void);

extern const lazy_simd lazy_simd_baseline;
extern const lazy_folds lazy_folds_baseline;
extern const lazy_chains lazy_chains_baseline;
extern const lazy_moves lazy_moves_baseline;
extern const lazy_scatter lazy_scatter_baseline;
extern const lazy_marks lazy_marks_baseline;
extern const lazy_keys lazy_keys_baseline[NEAP_DTYPE_COUNT];
extern const lazy_sorts lazy_sorts_baseline;
extern const lazy_lines lazy_lines_baseline;
#if defined(__x86_64__)
extern const lazy_simd lazy_simd_avx2, lazy_simd_avx512;
extern const lazy_folds lazy_folds_avx2, lazy_folds_avx512;
extern const lazy_chains lazy_chains_avx2, lazy_chains_avx512;
extern const lazy_moves lazy_moves_avx2, lazy_moves_avx512;
extern const lazy_scatter lazy_scatter_avx2, lazy_scatter_avx512;
extern const lazy_marks lazy_marks_avx2, lazy_marks_avx512;
extern const lazy_keys lazy_keys_avx2[NEAP_DTYPE_COUNT], lazy_keys_avx512[NEAP_DTYPE_COUNT];
extern const lazy_sorts lazy_sorts_avx2, lazy_sorts_avx512;
extern const lazy_lines lazy_lines_avx2, lazy_lines_avx512;
#endif

#endif
