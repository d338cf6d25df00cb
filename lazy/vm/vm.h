/* vm.h: the chunked VM's own structures: what vm_kernel_prepare makes and vm_kernel_run walks through.
 *
 * The domain of a kernel, its axes collapsed, is seen as a *grid* of cells with the same *walk* inside each cell. A
 * cell is walked in row-major order, in chunks; each instruction runs over a whole chunk before the next one, on
 * scratch that stays in a cache.
 *
 *      nest      grid                          walk                        taken when
 *      ROWS      outer axes                    inner axis (reductions:     the inner axis is long
 *                (reductions: kept axes)       all reduced axes)
 *      PACKED    one cell                      all axes; a chunk is        the inner axis is short
 *                                              several whole rows
 *      TILES     other axes, blocks of two     two axes, 32 × 32           something runs across the inner axis
 *                                              (copies: 64 × 64)
 *      STRIPS    the same                      two axes, 16 × at most      the same, if that axis is long and
 *                                              half a chunk; a chunk is    all results run along it
 *                                              one row
 *      COLUMNS   outer kept axes, blocks of    reduced axes, then the      reductions: memory runs along the last
 *                the last kept axis            columns of one block        kept axis
 *
 * A value is computed once a run, once a cell, once for each row, or for each element (its rate). Values of the first
 * two rates are single elements, which instructions take through their scalar loops. Those of rate ROW are packed
 * vectors, one element for each row of a chunk (COLUMNS: for each column of the block, each of which is a row in the
 * sense of loop.h; without reductions a row is the inner axis); what an instruction over whole rows reads of them is
 * spread over a register first. In the nest ROWS there is one row, and they are single elements.
 *
 * A chunk is run by one sequence of instructions, in which reductions have a place: the FOLD of a reduction stands
 * where its operand has been made. Where a chunk holds whole rows, its result is there behind the FOLD, and late
 * instructions follow in the same sequence; so a softmax is FOLD max, subtract, exp, FOLD sum, divide over a row that
 * stays in the cache. Rows are whole if they are short, or if late instructions run over whole rows. Else reductions
 * are *carried* from chunk to chunk (vm/reduce.c), and what is late, one element for each row, is run behind the last
 * chunk:
 *
 *      [0, once)      for each run
 *      [once, cell)   for each cell
 *      [cell, late)   for each chunk
 *      [late, nins)   for each row that was carried
 *
 * A kernel without instructions that stores one load *copies*: where neither lies in one piece, elements go from one to
 * the other without a register between, turned in squares of vectors where memory runs across (simd/moves.c).
 *
 * The rows of a strip are turned once for all: what does not run along the inner axis is gathered into a *panel*, with
 * the cell, and chunks read their rows there. So an operand that crosses costs one pass more, and the others and the
 * results none.
 *
 * What a chunk needs of a buffer is read in place where the walk runs through it contiguously, else gathered; results
 * go straight to their destination where that is contiguous, else they are scattered.
 */
#ifndef LAZY_VM_H
#define LAZY_VM_H

#include <stdatomic.h>

#include "lazy/native/native.h"
#include "lazy/vm/kernel.h"
#include "lazy/vm/simd/simd.h"

/* VM_LONG: chunks of a program without registers are so many times as long. */
enum { VM_CHUNK = 1024, VM_LONG = 4, VM_FAR_CHUNK = 256, VM_TILE = 32, VM_STRIP_ROWS = 16, VM_COLUMNS_WIDE = 256 };

typedef enum vm_nest { VM_NEST_ROWS, VM_NEST_PACKED, VM_NEST_TILES, VM_NEST_STRIPS, VM_NEST_COLUMNS } vm_nest;
typedef enum vm_rate { VM_ONCE, VM_CELL, VM_ROW, VM_EACH } vm_rate;

typedef struct vm_map { /* a lazy_wide_map: strides over the collapsed domain, and by grid and walk */
    int64_t offset;
    int64_t axis[LAZY_MAX_DOMAIN], grid[LAZY_MAX_DOMAIN], walk[LAZY_MAX_DOMAIN];
} vm_map;

typedef struct vm_axes { /* the collapsed domain: kept axes first */
    int n, kept;
    int64_t shape[LAZY_MAX_DOMAIN];
} vm_axes;

/* How the index of a table runs along the elements taken: one for all, one that stays the same along the last axis, one
 * for each. */
typedef enum vm_index { VM_INDEX_ONE, VM_INDEX_RUN, VM_INDEX_EACH } vm_index;

typedef struct vm_table {
    uint8_t index, dtype, width; /* how the index runs, its dtype; bytes of an element */
    bool in_place;               /* one index for a chunk that runs through the table contiguously */
    int64_t extent, step;
    int64_t run; /* elements to one index, if that is not one for all */
} vm_table;

typedef struct vm_load {
    uint8_t kind, dtype, width, rate;
    bool in_place;
    bool panel;  /* of STRIPS: gathered with the cell */
    bool asked;  /* chains or folds ask for it early */
    bool copied; /* a single element that must not be read from memory once sinks are written */
    int16_t slot;
    vm_map map;
    vm_table table;
    lazy_scalar constant; /* RESULT of a reduction of nothing */
} vm_load;

/* LOOP: a loop over its operands. CHAIN: arg[1] links from links[arg[0]] on. GATHER: load `out`. FILL: with the single
 * element arg[0]. SPREAD: arg[0], one element for each row, over the rows. TAKE: from the table load arg[0] at arg[1].
 * FOLD: the values arg[0] (and arg[1], of a sum as computed) into sink `out`. FOLD_LOAD: load arg[0], row by row where
 * it is. FOLD_LEAVES: the leaves of a carried row for sink `out`, which a segment has folded. NATIVE: the code of
 * segment arg[0], from all its operands to all its results. */
typedef enum vm_what {
    VM_LOOP,
    VM_CHAIN,
    VM_GATHER,
    VM_FILL,
    VM_BROADCAST,
    VM_TAKE,
    VM_FOLD,
    VM_FOLD_LOAD,
    VM_FOLD_LEAVES,
    VM_NATIVE
} vm_what;

/* Values that a segment reads and makes, at most: an instruction reads three. */
enum { VM_SEGMENT_MAX = 4 * LAZY_KERNEL_MAX_INS + NATIVE_FOLDS_MAX };

typedef struct vm_segment { /* instructions that are one piece of machine code (vm/segments.c) */
    native_unit *unit;
    int32_t first, nin, nout, nfold; /* in p->operands: values read, then values made, then sinks that are folded */
} vm_segment;

typedef struct vm_ins {
    lazy_loop loop; /* of a LOOP; else NULL */
    int32_t out, arg[3];
    uint8_t what;
    uint8_t by_row; /* 1: runs over the rows of a chunk, one element each */
    uint8_t width;  /* of FILL and SPREAD; of CHAIN that of the elements in its registers */
} vm_ins;

typedef struct vm_link { /* of a chain: a lazy_link whose operand is a value, -1: none */
    lazy_code code;
    int32_t value;
    bool vector;
    uint8_t narrower;
} vm_link;

typedef struct vm_sink {
    uint8_t kind, dtype, width, value_width; /* value_width differs for LAZY_OP_ARG */
    bool in_place, direct;                   /* direct: the value is computed in its destination */
    bool moved;                              /* the value is a load that goes from its buffer to its destination */
    int16_t op, slot;
    int32_t value;
    /* REDUCE: offsets into the scratch, of its accumulators, of the results of a chunk or cell, and of the leaves that
     * a segment folds. */
    int32_t scratch, result, leaves;
    bool native;               /* one does */
    const lazy_fold *fold;     /* of a REDUCE by any other op than those of LAZY_OP_ARG */
    const lazy_choice *choice; /* of a REDUCE by an op of LAZY_OP_ARG */
    bool any_length;           /* the order changes no bit of the fold, so a leaf may be longer */
    lazy_leaves summed;        /* a sum of a product or square that is not stored: leaves over the FOLD's two values */
    vm_map map;
} vm_sink;

typedef struct vm_edge { /* a blocked axis: cell g of grid axis `grid` walks min(tile, extent - g * tile) elements */
    int grid, walk;
    int64_t tile, extent;
} vm_edge;

/* Where a value is in a run of a *whole* program: `offset` bytes into the scratch, the numbers, the program's loads
 * (their constants), or buffer `slot`. */
typedef enum vm_from { VM_FROM_SCRATCH, VM_FROM_SCALARS, VM_FROM_LOADS, VM_FROM_BUFFER, VM_FROMS } vm_from;

typedef struct vm_point {
    int32_t value, slot;
    int64_t offset;
} vm_point;

typedef struct vm_hop { /* a value that lies so many bytes on in the next cell */
    int32_t value;
    int64_t bytes;
} vm_hop;

/* How a program changes to native code (vm/tier.c). */
typedef struct vm_tiers {
    _Atomic int64_t spent;             /* estimated ns that it has run, until its code is there */
    _Atomic(struct vm_program *) next; /* the same kernel with segments, whose code may not be there yet */
    _Atomic int state;                 /* vm_tier_state */
    _Atomic bool insists;              /* code was asked for even if it must be made */
} vm_tiers;

typedef struct vm_program {
    const lazy_simd *simd;
    vm_nest form;
    bool reduces; /* rows and kept axes are told apart */
    bool copies;  /* no instructions, one result: elements that lie otherwise */
    bool staged;  /* something late runs over whole rows */
    bool carried; /* rows are longer than a chunk */
    /* One cell without a grid, which is one chunk: what a run has to set up is known but for addresses, the points. */
    bool whole;
    bool fetches; /* there are single elements that are computed or copied before the first instruction */
    bool flows;   /* one instruction, from operands in place to its destinations: nothing is done between chunks */
    int ngrid, nwalk, nedges;
    int64_t grid[LAZY_MAX_DOMAIN], walk[LAZY_MAX_DOMAIN];
    vm_edge edge[2];
    int64_t size, cells, walk_size; /* elements: of the domain, of a full walk */
    int64_t chunk;                  /* elements of a chunk */
    vm_axes axes;
    /* Elements of a row (that one result combines), columns of a full block, rows of a chunk (PACKED). */
    int64_t reduced, columns, packed_rows;
    int row_axis, row_axes; /* the axes of the walk that number the rows */
    int nloads, nins, nsinks, nvalues;
    int once, cell, late; /* ends of the parts of the sequence, see above */
    double cost;          /* estimated ns for an element */
    int64_t traffic;      /* bytes that a run reads and writes */
    bool far;             /* traffic is more than the caches hold: the next chunk's operands are asked for early */
    bool folds_ask;       /* leaves do so where they are read, so chunks do not */
    bool stream;          /* results go past the caches */
    bool computes;        /* functions, which take longer than memory does */
    size_t scratch;
    int32_t *place;   /* of each value in the scratch; -1: elsewhere */
    int64_t *first;   /* of each load and then each sink, the offset of the first cell */
    vm_point *points; /* by where they are from */
    int point_ends[VM_FROMS];
    /* Cells that are one chunk each and lie side by side along the last axis of the grid: from one to the next places
     * move by what is known (vm/assign.c). `next`: of each load and then each sink, by how many elements. */
    bool hops;
    vm_hop *hop;
    int nhops;
    int64_t *next;
    size_t tables; /* bytes in front of the scratch, of what a run keeps there */
    vm_load *loads;
    vm_ins *ins;
    vm_link *links;
    int nlinks;
    vm_sink *sinks;
    bool native; /* maps over chunks are segments */
    vm_segment *segments;
    int nsegments;
    int32_t *operands;
    int noperands;
    vm_tiers tiers;
} vm_program;

typedef struct vm_run_state { /* one thread's state while it runs chunks */
    const vm_program *program;
    void *const *bufs;
    const lazy_scalar *scalars;
    char *scratch;
    char **at;     /* where each value is now */
    int64_t *base; /* of each load and then each sink, the offset of the current cell; without a grid the program's */
    int64_t *walk; /* the shape that the current cell walks; without a grid the program's */
    int64_t cell, left;     /* left: cells to hop to from there */
    int64_t start[2], n[2]; /* what is run now: [0] elements of the walk, [1] rows */
} vm_run_state;

/* Is the load a single element that is computed, or copied before anything is written? */
static inline bool vm_is_fetched(const vm_load *load) {
    return load->rate <= VM_CELL && (load->kind == LAZY_LOAD_IOTA || load->copied);
}
static inline vm_map *vm_map_at(vm_program *p, int k) { /* of the loads, then of the sinks */
    return k < p->nloads ? &p->loads[k].map : &p->sinks[k - p->nloads].map;
}

/* ---- vm/nest.c --------------------------------------------------------------------------------------------------- */
/* Chooses the nest, and fills in grid, walk and the maps' strides over them. */
void vm_choose_nest(vm_program *program);

/* ---- vm/walk.c: moving between strided boxes and rows of elements ------------------------------------------------ */
/* Elements start … start+n-1, in row-major order, of the box `shape`, from where they lie under the strides `from` to
 * where they lie under `to`. */
void vm_move(const lazy_moves *moves, int width, void *dst, const int64_t *to, const void *src, const int64_t *from,
             int naxes, const int64_t *shape, int64_t start, int64_t n);
/* The same from or to packed memory, which has these elements alone. */
void vm_gather(const lazy_moves *moves, int width, void *dst, const void *src, int naxes, const int64_t *shape,
               const int64_t *stride, int64_t start, int64_t n);
void vm_scatter(const lazy_moves *moves, int width, void *dst, const void *src, int naxes, const int64_t *shape,
                const int64_t *stride, int64_t start, int64_t n);
void vm_fill(const lazy_moves *moves, int width, void *dst, const void *element, int64_t n);
/* Each of `rows` elements `length` times. */
void vm_repeat(const lazy_moves *moves, int width, void *dst, const void *src, int64_t rows, int64_t length);
/* Like vm_gather, each element moved by its index · step; index[0] goes with element `start`. */
void vm_take(const lazy_moves *moves, const vm_table *table, void *dst, const void *src, const void *index, int naxes,
             const int64_t *shape, const int64_t *stride, int64_t start, int64_t n);
/* The distance that an index means: index · step, counted from the end if negative, clamped. */
int64_t vm_take_distance(const lazy_moves *moves, const vm_table *table, const void *index);

/* ---- vm/prepare.c ------------------------------------------------------------------------------------------------ */
/* The program of a kernel, in which maps are segments if `native` and it is worth it (*out is NULL if it is not). */
int vm_program_new(const lazy_kernel *kernel, bool native, vm_program **out);
void vm_program_free(vm_program *program);

/* ---- vm/tier.c --------------------------------------------------------------------------------------------------- */
typedef enum vm_tier_state { VM_TIER_COLD, VM_TIER_ASKED, VM_TIER_NATIVE, VM_TIER_FAILED, VM_TIER_NEVER } vm_tier_state;
/* The program to run now: native code once it is there, which is asked for when the program has run long enough. */
const vm_program *vm_program_now(const lazy_kernel *kernel);
/* The same, without asking for anything. */
const vm_program *vm_program_in_use(const lazy_kernel *kernel);
/* Where a program is now: looks whether its code has come. */
vm_tier_state vm_tier_of(vm_program *program);
/* With the tier NATIVE: waits for the code. */
void vm_tier_begin(const lazy_kernel *kernel);

/* ---- vm.c -------------------------------------------------------------------------------------------------------- */
/* Makes the thread's frame ready and computes values of rate ONCE. NEAP_E_MEMORY. */
int vm_run_begin(vm_run_state *frame, const vm_program *program, void *const *bufs, const lazy_scalar *scalars);
/* Moves to a cell of the grid and computes what is known of it before its chunks. */
void vm_run_move_cell(vm_run_state *frame, int64_t cell);
/* Runs the sequence over elements start … start+n-1 of the cell's walk, and stores what is stored for each element. */
void vm_run_chunk(vm_run_state *frame, int64_t start, int64_t n);
/* Behind the last chunk of carried rows: runs what is late and stores what is one element for each row. */
void vm_run_rows(vm_run_state *frame);
/* How many tasks pay for work of this many elements: 1 without workers. */
int64_t vm_tasks(const vm_program *program, const neap_run *run, int64_t elements);

/* ---- vm/reduce.c ------------------------------------------------------------------------------------------------- */
/* Bytes of accumulators that a REDUCE sink needs in each thread's scratch; says where among them its results will be,
 * and the leaves that a segment folds. */
size_t vm_reduce_scratch(const vm_program *program, vm_sink *sink);
/* Runs a FOLD, FOLD_LOAD or FOLD_LEAVES. */
void vm_fold(vm_run_state *frame, const vm_ins *ins);
/* Runs a kernel whose rows are carried. */
int vm_reduce(const vm_program *program, void *const *bufs, const lazy_scalar *scalars, const neap_run *run);

/* ---- vm/isa.c; simd/simd.h has vm_simd --------------------------------------------------------------------------- */
typedef struct vm_limits {        /* tests change them while kernels run */
    _Atomic int64_t chunk;        /* elements of a chunk in kernels prepared from now on: 256, 512 or 1024 */
    _Atomic int64_t parallel_min; /* ns of work below which no worker is woken */
    _Atomic int64_t task_min;     /* ns of the shortest task */
    _Atomic int64_t hot;          /* estimated ns that a kernel has run when native code is asked for */
    _Atomic int64_t stream_min; /* bytes of traffic from which results go past the caches; 0: the last-level cache's */
} vm_limits;
extern vm_limits vm_limit;

#endif
