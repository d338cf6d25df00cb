/* kernel.h: running a fused loop (loop/loop.h) on the chunked VM (vm.c, simd/), the contract with the planner (plan.c).
 *
 * The planner writes the loop; vm_kernel_prepare compiles it once (collapses axes, assigns scratch registers, picks
 * loops for the instruction set); vm_kernel_run runs it any number of times, from any thread.
 */
#ifndef LAZY_KERNEL_H
#define LAZY_KERNEL_H

#include "lazy/loop/loop.h"
#include "lazy/vm/simd/simd.h"

/* Estimated ns for an element of an instruction, without what memory takes; and for a byte that goes to memory or comes
 * from it. */
static const double LAZY_BYTE_COST = 0.1;
static inline double vm_ins_cost(int op, int dtype) {
    double ns = lazy_ops[op]->ns > 0 ? lazy_ops[op]->ns : 0.06;
    return ns * neap_dtype_bytes(dtype) / 4;
}

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
/* Asks for its native code, wherever code is made. Is some of it still being made? */
bool vm_kernel_compile(const lazy_kernel *kernel);
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
