/* kernel.h: a fused kernel, the contract between the planner (plan.c) and the chunked VM (vm.c, simd/).
 *
 * A kernel runs a straight-line program of elementwise instructions over a domain, an n-dimensional box in row-major
 * order, and ends in sinks: stores and reductions, any mix of them.
 *
 *      values:  0 … nloads-1 are loads, nloads … nloads+nins-1 are the results of instructions, in order (SSA)
 *      domain:  [kept axes …][reduced axes …]; without reductions nkept == ndim. All reductions of a kernel reduce the
 *               same axes. A *row* is the box of the reduced axes for one index of the kept ones.
 *
 * What a reduction gives may be used in the same kernel: a RESULT load is one element for each row. So a softmax is one
 * kernel of two reductions and a store, and memory is passed over once:
 *
 *      load 0  buffer x            load 1  result of sink 0         load 2  result of sink 1
 *      value 3 = subtract(0, 1)    value 4 = exp(3)                 value 5 = divide(4, 2)
 *      sink 0  reduce max of 0     sink 1  reduce sum of 4          sink 2  store 5
 *
 * Instructions stand in an order in which they can run, each reduction as soon as its value is made. A RESULT is a
 * *late* operand; an instruction over whole rows (one whose value differs inside a row) with a late operand, directly
 * or not, reads its row again, so rows of such a kernel must not exceed LAZY_ROW_MAX elements; the same holds for a
 * STORE or a REDUCE of a late value. Instructions on late operands that are one element for each row themselves (the
 * division of a mean), and what STORE_ROW makes of them, have no such limit.
 *
 * The planner writes the descriptive part; vm_kernel_prepare compiles it once (collapses axes, assigns scratch
 * registers, picks loops for the instruction set); vm_kernel_run runs it any number of times, from any thread.
 * The result of a kernel depends on its description and data alone: not on chunk size, thread count, strides, the
 * instruction set, or on what else was fused with it.
 *
 * The tree of a float reduction over n elements (index order: row-major over the reduced axes): leaves of 256
 * consecutive elements; in a leaf, lane l of 16 takes elements l, l+16, … in order, each lane starting at the
 * identity; the lanes are combined as (l, l+8), then (l, l+4), (l, l+2), (l, l+1); leaves are combined
 * pairwise by index: tree(lo, hi) splits at lo + the largest power of two below hi - lo. The last leaf may be short.
 */
#ifndef LAZY_KERNEL_H
#define LAZY_KERNEL_H

#include <string.h>

#include "lazy/dtype/scalar.h"
#include "lazy/op.h"
#include "lazy/vm/simd/simd.h"

enum { LAZY_LOAD_BUFFER, LAZY_LOAD_SCALAR, LAZY_LOAD_IOTA, LAZY_LOAD_RESULT, LAZY_LOAD_TABLE };

enum { LAZY_MAX_DOMAIN = 2 * NEAP_MAX_DIMS };
/* Elements of a row of which a thread keeps values between the stages of a kernel: they stay in its cache. */
enum { LAZY_ROW_MAX = 8192 };

typedef struct lazy_wide_map { /* lazy_map over the axes of a domain */
    int64_t offset;
    int64_t stride[LAZY_MAX_DOMAIN];
} lazy_wide_map;

static inline bool vm_maps_equal(int n, const lazy_wide_map *a, const lazy_wide_map *b) {
    return a->offset == b->offset && memcmp(a->stride, b->stride, (size_t)n * sizeof *a->stride) == 0;
}

typedef struct lazy_load {
    uint8_t kind;
    uint8_t dtype;
    int16_t slot; /* BUFFER, TABLE: index into bufs; SCALAR: index into scalars; RESULT: a REDUCE sink; IOTA: unused */
    /* BUFFER: element offset + Σ i[k]·stride[k]; IOTA: that number itself, cast to dtype (any but bool). Strides may be
     * 0 or negative. TABLE: the element of row 0 of the table, see lazy_ins. */
    lazy_wide_map read;
    int64_t extent, step; /* TABLE: rows of the table, and elements from one to the next */
} lazy_load;

/* The op `take`, the one instruction that is no map: arg[0] is a TABLE load, which nothing else reads, arg[1] an index
 * of any integer dtype; narg is 2. Gives the table's element at read + index·step; a negative index counts from
 * the end, and what is still out of range is clamped. `dtype` and `result` are the table's. */
typedef struct lazy_ins {
    int16_t op;     /* LAZY_OP_…, a map; casts are LAZY_OP_astype */
    uint8_t dtype;  /* of the operands (after `where`: of operands 1 and 2; operand 0 is bool) */
    uint8_t result; /* dtype of the result */
    uint8_t narg;
    int32_t arg[3]; /* values */
} lazy_ins;

/* Estimated ns for an element of an instruction, without what memory takes; and for a byte that goes to memory or comes
 * from it. */
static const double LAZY_BYTE_COST = 0.1;
static inline double vm_ins_cost(int op, int dtype) {
    double ns = lazy_ops[op]->ns > 0 ? lazy_ops[op]->ns : 0.06;
    return ns * neap_dtype_bytes(dtype) / 4;
}

enum { LAZY_SINK_STORE, LAZY_SINK_STORE_ROW, LAZY_SINK_REDUCE };

typedef struct lazy_sink {
    uint8_t kind;
    uint8_t dtype;       /* of the buffer; a REDUCE of a `LAZY_OP_ARG` op writes i32, others the value's dtype */
    int16_t op;          /* REDUCE: LAZY_OP_sum, … */
    int16_t slot;        /* index into bufs; a REDUCE that is only used inside the kernel: -1 */
    int32_t value;       /* its dtype is the sink's, but for LAZY_OP_ARG. STORE_ROW: one element for each row */
    lazy_wide_map write; /* over the domain's axes (STORE) or its kept axes (REDUCE, STORE_ROW) */
} lazy_sink;

typedef struct lazy_kernel {
    int ndim, nkept;
    int64_t shape[LAZY_MAX_DOMAIN]; /* of the domain; may contain 0 (then REDUCE sinks write the identity) */
    int nloads, nins, nsinks;
    lazy_load *loads;
    lazy_ins *ins;
    lazy_sink *sinks;
    int64_t around; /* bytes that other kernels move before the results of this one are read; 0: they are read soon */
    void *prepared; /* vm_kernel_prepare's */
} lazy_kernel;

/* Do they lead to the same element from each index of the domain? */
static inline bool vm_maps_agree(const lazy_kernel *kernel, const lazy_wide_map *a, const lazy_wide_map *b) {
    bool same = a->offset == b->offset;
    for (int k = 0; k < kernel->ndim && same; k++)
        same = kernel->shape[k] == 1 || a->stride[k] == b->stride[k];
    return same;
}

enum { LAZY_KERNEL_MAX_INS = 512 }; /* the planner cuts longer chains */

/* Compiles the kernel. NEAP_E_MEMORY. The arrays stay the caller's and must outlive it. */
int vm_kernel_prepare(lazy_kernel *kernel);
void vm_kernel_unprepare(lazy_kernel *kernel);
/* Runs it; wide work is split over the workers (run may be NULL: on this thread alone). A STORE's buffer may be the
 * very buffer of BUFFER loads if all of these have the STORE's map; else no sink's buffer is that of a load or another
 * sink. */
int vm_kernel_run(const lazy_kernel *kernel, void *const *bufs, const lazy_scalar *scalars, const neap_run *run);
/* Copies memory, from one place to another that does not overlap it; on several workers where that pays. */
void vm_copy(void *to, const void *from, int64_t bytes, const neap_run *run);
/* Estimated ns on one core. */
int64_t vm_kernel_cost(const lazy_kernel *kernel);
typedef struct lazy_traffic {
    int64_t read, written; /* bytes */
} lazy_traffic;
/* What a run touches of its buffers (traffic.c). */
lazy_traffic vm_kernel_traffic(const lazy_kernel *kernel);
/* The same of a call, whose operand k is read of slot slots[k] from element offsets[k] on. */
lazy_traffic vm_call_traffic(const lazy_call *call, const int32_t *slots, const int64_t *offsets);
/* "avx512, rows": the instruction set and the form (vm.h) for which it was prepared, into `text`, which is returned. */
const char *vm_kernel_tier(const lazy_kernel *kernel, char *text, size_t capacity);
/* Why it has no native code, as far as somebody may wonder; else empty. */
const char *vm_kernel_why(const lazy_kernel *kernel, char *text, size_t capacity);
/* Would it be split over the workers? */
bool vm_kernel_splits(const lazy_kernel *kernel);
/* ---- When there is native code (tier.c), also of more than a kernel ---- */
/* With the tier NATIVE all code is made at once, and waited for. */
bool vm_tier_is_code(void);
/* Is code to be made of what has run for so many ns, as estimated? */
bool vm_tier_asks(int64_t spent);
/* Why none has been asked for, as vm_kernel_why. */
const char *vm_tier_why(int64_t spent, char *text, size_t capacity);
/* An error where the loops were compiled for no instruction set that this CPU has (cmake/simd.cmake). */
int vm_isa_check(void);

/* Sets the instruction set for tests: "baseline", "avx2", "avx512"; NULL: the best that the CPU has. Returns
 * NEAP_E_ARGUMENT if unknown or unsupported. Kernels prepared earlier keep theirs. */
int vm_isa_set(const char *name);
const char *vm_isa_name(void);
/* The loop of a map of two arrays, out[i] = op(a[i], b[i]) for n elements of a dtype; c is unused. */
typedef void (*vm_map_loop)(void *out, const void *a, const void *b, const void *c, int64_t n);
vm_map_loop vm_map_loop_of(int op, int dtype);

/* The numbers first + Σ i[k]·stride[k] as dtype: elements start … start+n-1 of an IOTA. */
void vm_iota(int dtype, void *dst, int64_t first, int naxes, const int64_t *shape, const int64_t *stride, int64_t start,
             int64_t n);
/* The random numbers of the instruction set in use. */
const vm_draws *vm_draws_in_use(void);

/* ---- Rows at places that are data (put.c) ------------------------------------------------------------------------ */
/* For each index k in order and all outer o: row (o, index[k]) of `out`, (outer, size, inner), becomes row (o, k) of
 * `updates`, (outer, n, inner), or what `how` makes of both. Negative indices count from the end; those that are out
 * of range are left out. */
typedef struct vm_put {
    void *out;
    const void *indices, *updates;
    uint8_t dtype, index_dtype; /* of an integer dtype the indices */
    lazy_meeting how;
    int64_t outer, size, inner, n;
} vm_put;

/* Splits the rows of the result over the workers. Each row takes its updates in order, so the result does not depend on
 * how many there are. */
void vm_put_rows(const vm_put *put, const neap_run *run);

#endif
