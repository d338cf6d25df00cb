/* loop.h: a fused loop, the form that the planner writes, and that programs of the VM (lazy/vm), code for CPUs
 * (lazy/native) and code for GPUs (lazy/native/gpu.h) are made of.
 *
 * A loop goes over a *domain*, an n-dimensional box in row-major order, and runs a straight-line program of elementwise
 * instructions for each element of the box. A loop ends in sinks: stores and reductions, in any mix.
 *
 *      axes:    [kept axes …][reduced axes …]; without reductions nkept == ndim. All reductions of a loop reduce the
 *               same axes. A *row* is the box of the reduced axes for one index of the kept ones.
 *      places:  buffers, by affine maps; numbers; counting (IOTA); results of the loop's own reductions;
 *               tables, by an index that is data
 *      values:  0 … nloads-1 are loads, nloads … nloads+nins-1 are the results of instructions, in order (SSA)
 *      sinks:   STORE, of each element; STORE_ROW and REDUCE, of each row
 *
 * The same loop may use the results of its reductions: a RESULT load is one element for each row. So a softmax is one
 * loop of two reductions and a store, and memory is passed over once. Of x, shape (2, 3, 4), along its last axis:
 *
 *      shape {2, 3, 4}, nkept 2        row (0, 0) of x: 1 2 3 4
 *      load 0   BUFFER x, offset 0, strides 12 4 1            1       2       3       4
 *      load 1   RESULT of sink 0                              4       4       4       4
 *      load 2   RESULT of sink 1                              1.5530  1.5530  1.5530  1.5530
 *      value 3  subtract 0, 1                                -3      -2      -1       0
 *      value 4  exp 3                                         0.0498  0.1353  0.3679  1
 *      value 5  divide 4, 2                                   0.0321  0.0871  0.2369  0.6439
 *      sink 0   REDUCE max of 0, slot -1: nobody else reads it
 *      sink 1   REDUCE sum of 4, slot -1
 *      sink 2   STORE 5, offset 0, strides 12 4 1
 *      levels   0: load 0; 1: load 1, values 3, 4; 2: load 2, value 5            (loop_levels)
 *      axes     collapsed: shape {6, 4}, nkept 1, strides 4 1 in load 0 and sink 2         (loop_collapse)
 *
 * Instructions stand in an order in which they can run, each reduction as soon as its value is made. A RESULT is a
 * *late* operand; an instruction over whole rows (its value differs inside a row) with a late operand, directly or not,
 * reads the row again, so rows of such a loop must not exceed LAZY_ROW_MAX elements; the same holds for a STORE or a
 * REDUCE of a late value. Instructions on late operands with one element for each row (the division of a mean), and
 * their STORE_ROWs, have no such limit.
 *
 * The result depends on this description and data alone: not on chunk size, thread count, strides, the instruction set
 * or the company in which a loop was fused. Reductions have the shape of tree.h.
 */
#ifndef LAZY_LOOP_LOOP_H
#define LAZY_LOOP_LOOP_H

#include <stdlib.h>
#include <string.h>

#include "lazy/dtype/scalar.h"
#include "lazy/loop/tree.h"
#include "lazy/op.h"

enum { LAZY_LOAD_BUFFER, LAZY_LOAD_SCALAR, LAZY_LOAD_IOTA, LAZY_LOAD_RESULT, LAZY_LOAD_TABLE, LAZY_LOAD_VALUE };

enum { LAZY_MAX_DOMAIN = 2 * NEAP_MAX_DIMS };
/* Most elements of a row whose values a thread keeps between two phases of a loop: they stay in the cache. */
enum { LAZY_ROW_MAX = 8192 };

typedef struct lazy_wide_map { /* lazy_map over the axes of a domain */
    int64_t offset;
    int64_t stride[LAZY_MAX_DOMAIN];
} lazy_wide_map;

static inline bool loop_maps_equal(int n, const lazy_wide_map *a, const lazy_wide_map *b) {
    return a->offset == b->offset && memcmp(a->stride, b->stride, (size_t)n * sizeof *a->stride) == 0;
}

typedef struct lazy_load {
    uint8_t kind;
    uint8_t dtype;
    /* BUFFER, TABLE: index into bufs; SCALAR: index into scalars; RESULT: a REDUCE sink; IOTA: unused; VALUE: a
     * value of an earlier loop of the same sequence (sequence.h). */
    int16_t slot;
    /* BUFFER: element offset + Σ i[k]·stride[k]; IOTA: the same number, cast to dtype (any but bool). Strides may be
     * 0 or negative. TABLE: the element of row 0 of the table, see lazy_ins. */
    lazy_wide_map read;
    int64_t extent, step; /* TABLE: rows of the table, and elements from one to the next */
} lazy_load;

/* The op `take`, the only instruction that is no map: arg[0] is a TABLE load without another reader, arg[1] an index
 * of any integer dtype; narg is 2. Gives the table's element at read + index·step; a negative index counts from
 * the end, and an index still out of range is clamped: of 5 rows, -1 means 4, -7 means 0, 9 means 4. `dtype` and
 * `result` are the table's. */
typedef struct lazy_ins {
    int16_t op;     /* LAZY_OP_…, a map; casts are LAZY_OP_astype */
    uint8_t dtype;  /* of the operands (after `where`: of operands 1 and 2; operand 0 is bool) */
    uint8_t result; /* dtype of the result */
    uint8_t narg;
    int32_t arg[3]; /* values */
} lazy_ins;

enum { LAZY_SINK_STORE, LAZY_SINK_STORE_ROW, LAZY_SINK_REDUCE, LAZY_SINK_PUT };

typedef struct lazy_sink {
    uint8_t kind;
    uint8_t dtype;       /* of the buffer; a REDUCE of a `LAZY_OP_ARG` op writes i32, others the value's dtype */
    int16_t op;          /* REDUCE: LAZY_OP_sum, … */
    int16_t slot;        /* index into bufs; a REDUCE that is only used inside the kernel: -1 */
    int32_t value;       /* its dtype is the sink's, but for LAZY_OP_ARG. STORE_ROW: one element for each row */
    lazy_wide_map write; /* over the domain's axes (STORE) or its kept axes (REDUCE, STORE_ROW) */
    /* PUT, of sequences: a STORE of one row, to row `index` of a table. The index is a value of any integer dtype, with
     * the meaning that `take` gives to one; but where the row is out of range, the loop stores nothing. */
    int32_t index;
    int64_t extent, step;
} lazy_sink;

typedef struct lazy_kernel {
    int ndim, nkept;
    int64_t shape[LAZY_MAX_DOMAIN]; /* of the domain; may contain 0 (then REDUCE sinks write the identity) */
    int nloads, nins, nsinks;
    lazy_load *loads;
    lazy_ins *ins;
    lazy_sink *sinks;
    int64_t around; /* bytes that other kernels move before the results of this one are read; 0: they are read soon */
    void *prepared; /* by the backend that runs it */
} lazy_kernel;

/* Do both maps lead to the same element from each index of the domain? */
static inline bool loop_maps_agree(const lazy_kernel *kernel, const lazy_wide_map *a, const lazy_wide_map *b) {
    bool same = a->offset == b->offset;
    for (int k = 0; k < kernel->ndim && same; k++)
        same = kernel->shape[k] == 1 || a->stride[k] == b->stride[k];
    return same;
}

enum { LAZY_KERNEL_MAX_INS = 512 }; /* the planner cuts longer chains */

/* Elements of axes first … end-1 of a shape. */
static inline int64_t loop_elements(const int64_t *shape, int first, int end) {
    int64_t elements = 1;
    for (int k = first; k < end; k++)
        elements *= shape[k];
    return elements;
}
/* Is the load a place in memory? */
static inline bool loop_has_buffer(const lazy_load *load) {
    return load->kind == LAZY_LOAD_BUFFER || load->kind == LAZY_LOAD_TABLE;
}
/* Has the load a map: is it a place in memory, or counting? */
static inline bool loop_has_map(const lazy_load *load) {
    return loop_has_buffer(load) || load->kind == LAZY_LOAD_IOTA;
}

/* A sink's map is over the domain's first axes, so many. */
static inline int loop_sink_axes(const lazy_kernel *loop, const lazy_sink *sink) {
    return sink->kind == LAZY_SINK_STORE || sink->kind == LAZY_SINK_PUT ? loop->ndim : loop->nkept;
}
static inline int loop_dtype_of(const lazy_kernel *loop, int value) {
    return value < loop->nloads ? loop->loads[value].dtype : loop->ins[value - loop->nloads].result;
}
/* Is it `take`? */
static inline bool loop_is_take(const lazy_kernel *loop, const lazy_ins *ins) {
    return ins->arg[0] < loop->nloads && loop->loads[ins->arg[0]].kind == LAZY_LOAD_TABLE;
}

/* Does memory run along the last kept axis rather than along the last reduced one? */
static inline bool loop_runs_across(const lazy_kernel *loop) {
    int across = 0;
    for (int k = 0; k < loop->nloads && loop->nkept > 0 && loop->nkept < loop->ndim; k++) {
        const int64_t *stride = loop->loads[k].read.stride;
        const int64_t kept = llabs(stride[loop->nkept - 1]), inner = llabs(stride[loop->ndim - 1]);
        if (loop->loads[k].kind == LAZY_LOAD_BUFFER)
            across += (kept != 0 && inner > kept) - (inner != 0 && kept > inner);
    }
    return across > 0;
}

/* collapse.c: the same loop over as few axes as all its maps allow: without axes of a single element, and neighbours
 * merged where every map leads through both as through one, kept and reduced axes apart. Without reductions all axes
 * are kept. A map has stride 0 along axes that its load or sink does not have; maps of numbers, of results and of sinks
 * without a buffer have no other strides. The result shares the instructions of `loop`, and is not prepared. OWNED
 * (free); NULL: no memory. */
lazy_kernel *loop_collapse(const lazy_kernel *loop);
/* levels.c: the most reductions on a way to each value. */
void loop_levels(const lazy_kernel *loop, int *levels);

#endif
