/* vm.h: the chunked VM's own structures: what lazy_kernel_prepare makes and lazy_kernel_run walks through.
 *
 * The domain of a kernel, its axes collapsed, is seen as a *grid* of cells with the same *walk* inside each cell. A cell
 * is walked in row-major order, in chunks; each instruction runs over a whole chunk before the next one, on scratch that
 * stays in the first-level cache.
 *
 *      form      grid                          walk                        taken when
 *      ROWS      outer axes                    inner axis (reductions:     the inner axis is long
 *                (reductions: kept axes)       all reduced axes)
 *      BATCH     one cell                      all axes; a chunk is        the inner axis is short
 *                                              several whole rows
 *      TILES     other axes, blocks of two     two axes, 32 × 32           something runs across the inner axis
 *      COLUMNS   outer kept axes, blocks of    reduced axes, then the      reductions: memory runs along the last
 *                the last kept axis            columns of one block        kept axis
 *
 * A value is computed once a run, once a cell or for each chunk (its rate). Values of the first two rates are single
 * elements, which instructions take through their scalar loops. What a chunk needs of a buffer is read in place where
 * the walk runs through it contiguously, else gathered; results go straight to their destination where that is
 * contiguous, else they are scattered.
 */
#ifndef LAZY_VM_H
#define LAZY_VM_H

#include "lazy/kernel.h"
#include "lazy/simd/simd.h"

enum { VM_CHUNK = 1024, VM_FAR_CHUNK = 256, VM_TILE = 32, VM_COLUMNS_WIDE = 256 };

typedef enum vm_form { VM_FORM_ROWS, VM_FORM_BATCH, VM_FORM_TILES, VM_FORM_COLUMNS } vm_form;
typedef enum vm_rate { VM_ONCE, VM_CELL, VM_EACH } vm_rate;

typedef struct vm_map { /* a lazy_wide_map: strides over the collapsed domain, and by grid and walk */
    int64_t offset;
    int64_t axis[LAZY_MAX_DOMAIN], grid[LAZY_MAX_DOMAIN], walk[LAZY_MAX_DOMAIN];
} vm_map;

typedef struct vm_axes { /* the collapsed domain: kept axes first */
    int n, kept;
    int64_t shape[LAZY_MAX_DOMAIN];
} vm_axes;

typedef struct vm_load {
    uint8_t kind, dtype, width, rate;
    bool in_place;
    int16_t slot;
    int32_t before; /* gathered: just before this instruction */
    vm_map map;
} vm_load;

typedef struct vm_ins {
    lazy_loop loop;
    int32_t out, arg[3]; /* values */
} vm_ins;

typedef struct vm_sink {
    uint8_t dtype, width, value_width; /* value_width differs for LAZY_OP_ARG */
    bool in_place, direct;             /* direct: the value is computed in its destination */
    bool splat;                        /* the value is a single element, repeated into `room` */
    bool of_load;
    int16_t slot;
    int32_t value;
    int32_t splat_at;          /* offsets into the scratch: of the splat … */
    int32_t room;              /* … and of a reduction's accumulators */
    const lazy_fold *fold;     /* REDUCE … */
    const lazy_choice *choice; /* … or this, of LAZY_OP_ARG */
    /* A sum of a product or square that is not stored: leaves over these values. */
    lazy_leaves summed;
    int32_t operand[2];
    vm_map map;
} vm_sink;

typedef struct vm_edge { /* a blocked axis: cell g of grid axis `grid` walks min(tile, extent - g * tile) elements */
    int grid, walk;
    int64_t tile, extent;
} vm_edge;

typedef struct vm_program {
    const lazy_simd *simd;
    vm_form form;
    bool reduces;
    int ngrid, nwalk, nedges;
    int64_t grid[LAZY_MAX_DOMAIN], walk[LAZY_MAX_DOMAIN];
    vm_edge edge[2];
    int64_t size, cells, walk_size; /* elements: of the domain, of a full walk */
    int64_t chunk;                  /* elements of a chunk */
    vm_axes axes;
    /* Elements that one result combines, columns of a full block, rows of a chunk (BATCH). */
    int64_t reduced, columns, batch_rows;
    int nloads, nins, nsinks, nvalues;
    int once, cell;  /* instructions [0, once) run once, [once, cell) for each cell, the others for each chunk */
    int gathers;     /* loads that are gathered, in order[0, gathers) by .before */
    double cost;     /* estimated ns for an element */
    int64_t traffic; /* bytes that a run reads and writes */
    bool far;        /* that is more than the caches hold: the next chunk's operands are asked for early, … */
    bool stream;     /* … and results go past the caches */
    size_t scratch;
    int32_t *place; /* of each value in the scratch; -1: elsewhere */
    int32_t *order;
    vm_load *loads;
    vm_ins *ins;
    vm_sink *sinks;
} vm_program;

typedef struct vm_frame { /* one thread's state while it runs chunks */
    const vm_program *program;
    void *const *bufs;
    const lazy_scalar *scalars;
    char *scratch;
    char **at;     /* where each value is now */
    int64_t *base; /* of each load and then each sink, the offset of the current cell */
    int64_t cell;
    int64_t walk[LAZY_MAX_DOMAIN]; /* the shape that the current cell walks */
} vm_frame;

static inline vm_map *vm_map_at(vm_program *p, int k) { /* of the loads, then of the sinks */
    return k < p->nloads ? &p->loads[k].map : &p->sinks[k - p->nloads].map;
}

/* ---- vm_form.c ------------------------------------------------------------------------------------------------------ */
/* Collapses the axes (p->axes, map.axis), chooses the form, and fills in grid, walk and the maps' strides over them. */
void vm_choose_form(vm_program *program);

/* ---- vm_walk.c: moving between a strided box and a row of elements ---------------------------------------------- */
/* Elements start … start+n-1, in row-major order, of the box `shape` under `stride`, from or to packed memory. */
void vm_gather(int width, void *dst, const void *src, int naxes, const int64_t *shape, const int64_t *stride,
               int64_t start, int64_t n);
void vm_scatter(int width, void *dst, const void *src, int naxes, const int64_t *shape, const int64_t *stride,
                int64_t start, int64_t n);
/* The numbers first + Σ i[k]·stride[k] as dtype. */
void vm_iota(int dtype, void *dst, int64_t first, int naxes, const int64_t *shape, const int64_t *stride, int64_t start,
             int64_t n);
void vm_fill(int width, void *dst, const void *element, int64_t n);

/* ---- vm.c ---------------------------------------------------------------------------------------------------------- */
/* Makes the thread's frame ready and computes values of rate ONCE. NEAP_E_MEMORY. */
int vm_frame_begin(vm_frame *frame, const vm_program *program, void *const *bufs, const lazy_scalar *scalars);
/* Moves to a cell of the grid and computes values of rate CELL. */
void vm_frame_move(vm_frame *frame, int64_t cell);
/* Computes the instructions over elements start … start+n-1 of the cell's walk; at[] of the sinks' values is then
 * valid. Splats are repeated. */
void vm_frame_chunk(vm_frame *frame, int64_t start, int64_t n);
/* How many tasks pay for work of this many elements: 1 without workers. */
int64_t vm_tasks(const vm_program *program, const neap_run *run, int64_t elements);

/* ---- vm_reduce.c ----------------------------------------------------------------------------------------------------- */
/* Bytes of accumulators that a sink needs in each thread's scratch. */
size_t vm_reduce_room(const vm_program *program, const vm_sink *sink);
int vm_reduce(const vm_program *program, void *const *bufs, const lazy_scalar *scalars, const neap_run *run);

/* ---- vm_isa.c -------------------------------------------------------------------------------------------------------- */
const lazy_simd *vm_simd(void);

typedef struct vm_limits { /* tests change them while no kernel runs */
    int64_t chunk;         /* elements of a chunk in kernels prepared from now on: 256, 512 or 1024 */
    int64_t parallel_min;  /* ns of work below which no worker is woken */
    int64_t task_min;      /* ns of the shortest task */
    int64_t stream_min; /* bytes of traffic from which results go past the caches; 0: those of the last-level cache */
} vm_limits;
extern vm_limits vm_limit;

#endif
