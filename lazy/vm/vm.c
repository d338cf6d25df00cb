/* vm.c: running a prepared kernel (vm.h has the picture). Chunks are independent, so any thread may run any of them;
 * each thread keeps its scratch for the next kernel. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lazy/vm/vm.h"

enum { TASKS_A_WORKER = 8, LINE = 64 };

/* ---- Scratch of a thread ----------------------------------------------------------------------------------------- */
static pthread_key_t scratch_key;
static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;
static __thread struct {
    char *block;
    size_t bytes;
} scratch;

static void scratch_make_key(void) {
    pthread_key_create(&scratch_key, free);
}

static char *scratch_get(size_t bytes) {
    if (scratch.bytes >= bytes)
        return scratch.block;
    pthread_once(&scratch_once, scratch_make_key);
    size_t size = (bytes + bytes / 2 + 4095) / 4096 * 4096;
    char *block = aligned_alloc(4096, size);
    if (!block)
        return NULL;
    free(scratch.block);
    scratch.block = block;
    scratch.bytes = size;
    pthread_setspecific(scratch_key, block); /* frees it when the thread ends */
    return block;
}

/* How far the chunk that is run now lies from the begin of the cell, for what is read or written in place. */
static inline int64_t chunk_offset(const vm_run_state *f, const vm_map *map) {
    return f->program->form == VM_NEST_STRIPS ? f->start[0] / f->walk[1] * map->walk[0] : f->start[0];
}

/* ---- Instructions ------------------------------------------------------------------------------------------------ */
static void gather_load(vm_run_state *f, int k, int by_row) {
    const vm_program *p = f->program;
    const vm_load *load = &p->loads[k];
    int first = by_row ? p->row_axis : 0, naxes = by_row ? p->row_axes : p->nwalk;
    const int64_t *shape = f->walk + first, *stride = load->map.walk + first;
    int64_t start = load->panel ? 0 : f->start[by_row], n = load->panel ? f->walk[0] * f->walk[1] : f->n[by_row];
    char *to = load->panel ? f->scratch + p->place[k] : f->at[k];
    if (load->kind == LAZY_LOAD_IOTA)
        vm_iota(load->dtype, to, f->base[k], naxes, shape, stride, start, n);
    else if (load->copied)
        memcpy(to, (const char *)f->bufs[load->slot] + f->base[k] * load->width, load->width);
    else
        vm_gather(p->simd->moves, load->width, to, (const char *)f->bufs[load->slot] + f->base[k] * load->width, naxes,
                  shape, stride, start, n);
}

static void run_take(vm_run_state *f, const vm_ins *ins) {
    const vm_program *p = f->program;
    const vm_load *load = &p->loads[ins->arg[0]];
    int first = ins->by_row ? p->row_axis : 0, naxes = ins->by_row ? p->row_axes : p->nwalk;
    char *from = (char *)f->bufs[load->slot] + f->base[ins->arg[0]] * load->width;
    const void *index = f->at[ins->arg[1]];
    if (load->table.in_place)
        f->at[ins->out] =
            from + (vm_take_distance(p->simd->moves, &load->table, index) + chunk_offset(f, &load->map)) * load->width;
    else
        vm_take(p->simd->moves, &load->table, f->at[ins->out], from, index, naxes, f->walk + first,
                load->map.walk + first, f->start[ins->by_row], f->n[ins->by_row]);
}

static void spread_rows(vm_run_state *f, const vm_ins *ins) {
    const vm_program *p = f->program;
    int64_t n = f->n[0], rows = f->n[1];
    if (p->form == VM_NEST_PACKED)
        vm_repeat(p->simd->moves, ins->width, f->at[ins->out], f->at[ins->arg[0]], rows, p->reduced);
    else
        vm_gather(p->simd->moves, ins->width, f->at[ins->out], f->at[ins->arg[0]], 2, (int64_t[]){n / rows, rows},
                  (int64_t[]){0, 1}, 0, n);
}

static void run_chain(vm_run_state *f, const vm_ins *ins) {
    const lazy_chains *chains = f->program->simd->chains;
    const vm_link *from = &f->program->links[ins->arg[0]];
    lazy_link links[LAZY_LINKS_MAX];
    for (int k = 0; k < ins->arg[1]; k++)
        links[k] = (lazy_link){from[k].code, from[k].value < 0 ? NULL : f->at[from[k].value], from[k].vector,
                               from[k].narrower};
    chains->run(links, ins->arg[1], f->n[0] * ins->width);
}

/* Where the operands and results of a segment are now. */
static inline void native_places(const vm_run_state *f, const vm_segment *s, char **at) {
    const vm_program *p = f->program;
    const int32_t *operands = p->operands + s->first;
    int values = s->nin + s->nout;
    for (int k = 0; k < values; k++)
        at[k] = f->at[operands[k]];
    for (int k = values; k < values + s->nfold; k++)
        at[k] = f->scratch + p->sinks[operands[k]].leaves;
}

static void run_native(vm_run_state *f, const vm_ins *ins) {
    const vm_segment *s = &f->program->segments[ins->arg[0]];
    char *at[VM_SEGMENT_MAX];
    native_places(f, s, at);
    native_code_of(s->unit)(at, f->n[0]);
}

static void other(vm_run_state *f, const vm_ins *ins) {
    if (ins->what == VM_NATIVE)
        run_native(f, ins);
    else if (ins->what == VM_CHAIN)
        run_chain(f, ins);
    else if (ins->what == VM_GATHER)
        gather_load(f, ins->out, ins->by_row);
    else if (ins->what == VM_FILL)
        vm_fill(f->program->simd->moves, ins->width, f->at[ins->out], f->at[ins->arg[0]], f->n[ins->by_row]);
    else if (ins->what == VM_BROADCAST)
        spread_rows(f, ins);
    else if (ins->what == VM_TAKE)
        run_take(f, ins);
    else
        vm_fold(f, ins);
}

static inline void run_instruction(vm_run_state *f, const vm_ins *ins) {
    if (ins->loop)
        ins->loop(f->at[ins->out], f->at[ins->arg[0]], f->at[ins->arg[1]], f->at[ins->arg[2]], f->n[ins->by_row]);
    else
        other(f, ins);
}

/* Asks for part `part` of `parts` of what the operands in place are in the next chunk: memory works while instructions
 * run. Hardware prefetch ends at each page, which is as much as a chunk. */
static void prefetch(const vm_run_state *f, int part, int parts) {
    const vm_program *p = f->program;
    for (int k = 0; k < p->nloads; k++) {
        if (!p->loads[k].in_place || p->loads[k].asked)
            continue;
        int64_t bytes = f->n[0] * p->loads[k].width, end = bytes * (part + 1) / parts;
        const char *next = f->at[k] + bytes;
        for (int64_t at = bytes * part / parts / LINE * LINE; at < end; at += LINE)
            __builtin_prefetch(next + at);
    }
}

/* ---- Frames ------------------------------------------------------------------------------------------------------ */
/* Loads of one rate below ROW: the single element that they are in this cell. */
static void point_loads(vm_run_state *f, uint8_t rate) {
    const vm_program *p = f->program;
    for (int k = 0; k < p->nloads; k++) {
        const vm_load *load = &p->loads[k];
        if (load->rate != rate)
            continue;
        if (load->kind == LAZY_LOAD_SCALAR)
            f->at[k] = (char *)&f->scalars[load->slot];
        else if (load->kind == LAZY_LOAD_RESULT)
            f->at[k] = (char *)&load->constant;
        else if (vm_is_fetched(load))
            gather_load(f, k, 0);
        else
            f->at[k] = (char *)f->bufs[load->slot] + f->base[k] * load->width;
    }
}

/* The thread's scratch, and all that does not depend on where values are. */
static inline int begin_state(vm_run_state *f, const vm_program *p, void *const *bufs, const lazy_scalar *scalars) {
    char *block = scratch_get(p->tables + p->scratch);
    if (!block)
        return neap_error(NEAP_E_MEMORY, "out of memory for a kernel's scratch");
    f->program = p, f->bufs = bufs, f->scalars = scalars, f->cell = -1, f->left = 0;
    f->at = (char **)block;
    f->scratch = block + p->tables;
    f->base = p->first, f->walk = (int64_t *)p->walk;
    f->start[0] = f->start[1] = 0, f->n[0] = f->n[1] = 1;
    if (p->ngrid > 0) {
        int maps = p->nloads + p->nsinks;
        f->base = memcpy(block + (size_t)p->nvalues * sizeof(char *), p->first, (size_t)maps * sizeof *f->base);
        f->walk = memcpy(f->base + maps, p->walk, (size_t)p->nwalk * sizeof *p->walk);
    }
    return NEAP_OK;
}

int vm_run_begin(vm_run_state *f, const vm_program *p, void *const *bufs, const lazy_scalar *scalars) {
    int status = begin_state(f, p, bufs, scalars);
    if (status)
        return status;
    for (int v = 0; v < p->nvalues; v++)
        f->at[v] = p->place[v] >= 0 ? f->scratch + p->place[v] : NULL;
    point_loads(f, VM_ONCE);
    for (int i = 0; i < p->once; i++)
        run_instruction(f, &p->ins[i]);
    return NEAP_OK;
}

void vm_run_move_cell(vm_run_state *f, int64_t cell) {
    const vm_program *p = f->program;
    int64_t index[LAZY_MAX_DOMAIN], left = cell;
    f->cell = cell;
    if (p->ngrid == 0)
        return;
    for (int k = p->ngrid - 1; k > 0; k--) {
        index[k] = left % p->grid[k];
        left /= p->grid[k];
    }
    index[0] = left;
    f->left = p->hops ? p->grid[p->ngrid - 1] - 1 - index[p->ngrid - 1] : 0;
    for (int m = 0; m < p->nloads + p->nsinks; m++) {
        const vm_map *map = m < p->nloads ? &p->loads[m].map : &p->sinks[m - p->nloads].map;
        int64_t offset = map->offset;
        for (int k = 0; k < p->ngrid; k++)
            offset += index[k] * map->grid[k];
        f->base[m] = offset;
    }
    for (int k = 0; k < p->nedges; k++) {
        const vm_edge *edge = &p->edge[k];
        int64_t left_over = edge->extent - index[edge->grid] * edge->tile;
        f->walk[edge->walk] = left_over < edge->tile ? left_over : edge->tile;
    }
    f->start[0] = f->start[1] = 0, f->n[0] = 1;
    f->n[1] = p->form == VM_NEST_COLUMNS ? f->walk[p->row_axis] : 1;
    point_loads(f, VM_CELL);
    for (int i = p->once; i < p->cell; i++)
        run_instruction(f, &p->ins[i]);
}

/* ---- Stores ------------------------------------------------------------------------------------------------------ */
/* Where a chunk goes of a sink that is written in place. */
static char *chunk_sink(const vm_run_state *f, int k) {
    const vm_sink *sink = &f->program->sinks[k];
    return (char *)f->bufs[sink->slot] + (f->base[f->program->nloads + k] + chunk_offset(f, &sink->map)) * sink->width;
}

static char *sink_at(const vm_run_state *f, int k) {
    const vm_sink *sink = &f->program->sinks[k];
    return (char *)f->bufs[sink->slot] + f->base[f->program->nloads + k] * sink->width;
}

static void store(vm_run_state *f, int k) {
    const vm_program *p = f->program;
    const vm_sink *sink = &p->sinks[k];
    const char *from = f->at[sink->value];
    char *to;
    if (sink->direct)
        return;
    if (sink->moved) {
        const vm_load *load = &p->loads[sink->value];
        from = (const char *)f->bufs[load->slot] + f->base[sink->value] * load->width;
        vm_move(p->simd->moves, sink->width, sink_at(f, k), sink->map.walk, from, load->map.walk, p->nwalk, f->walk,
                f->start[0], f->n[0]);
    } else if (!sink->in_place)
        vm_scatter(p->simd->moves, sink->width, sink_at(f, k), from, p->nwalk, f->walk, sink->map.walk, f->start[0],
                   f->n[0]);
    else if ((to = chunk_sink(f, k)) != from && p->stream)
        p->simd->stream(to, from, f->n[0] * sink->width);
    else if (to != from)
        memcpy(to, from, (size_t)(f->n[0] * sink->width));
}

/* What is one element for each row. */
static void store_rows(vm_run_state *f) {
    const vm_program *p = f->program;
    for (int k = 0; k < p->nsinks; k++) {
        const vm_sink *sink = &p->sinks[k];
        if (sink->kind == LAZY_SINK_STORE || sink->slot < 0)
            continue;
        const char *from = sink->kind == LAZY_SINK_REDUCE ? f->scratch + sink->result : f->at[sink->value];
        if (p->form == VM_NEST_ROWS)
            memcpy(sink_at(f, k), from, sink->width);
        else
            vm_scatter(p->simd->moves, sink->width, sink_at(f, k), from, p->row_axes, f->walk + p->row_axis,
                       sink->map.walk + p->row_axis, f->start[1], f->n[1]);
    }
}

/* Runs the sequence over the chunk, whose places are known, and stores what is stored for each element. */
static void run_sequence(vm_run_state *f) {
    const vm_program *p = f->program;
    for (int i = p->cell; i < p->late; i++) {
        if (p->far)
            prefetch(f, i - p->cell, p->late - p->cell);
        run_instruction(f, &p->ins[i]);
    }
    if (p->far && p->cell == p->late)
        prefetch(f, 0, 1);
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].kind == LAZY_SINK_STORE)
            store(f, k);
}

void vm_run_chunk(vm_run_state *f, int64_t start, int64_t n) {
    const vm_program *p = f->program;
    f->start[0] = start, f->n[0] = n;
    if (p->form == VM_NEST_PACKED)
        f->start[1] = start / p->reduced, f->n[1] = n / p->reduced;
    for (int k = 0; k < p->nloads; k++) {
        const vm_load *load = &p->loads[k];
        if (load->in_place)
            f->at[k] = (char *)f->bufs[load->slot] + (f->base[k] + chunk_offset(f, &load->map)) * load->width;
        else if (load->panel)
            f->at[k] = f->scratch + p->place[k] + start * load->width;
    }
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].direct)
            f->at[p->sinks[k].value] = chunk_sink(f, k);
    run_sequence(f);
}

/* Goes to the next cell and runs its chunk, if the program hops there: a row may take no longer than all that tells
 * where its operands are. */
static bool hop(vm_run_state *f, int64_t cell) {
    const vm_program *p = f->program;
    if (f->left == 0 || cell != f->cell + 1)
        return false;
    f->cell = cell, f->left--;
    for (int k = 0; k < p->nhops; k++)
        f->at[p->hop[k].value] += p->hop[k].bytes;
    for (int m = 0; m < p->nloads + p->nsinks; m++)
        f->base[m] += p->next[m];
    f->n[0] = 1;
    for (int i = p->once; i < p->cell; i++)
        run_instruction(f, &p->ins[i]);
    f->n[0] = p->walk_size;
    run_sequence(f);
    return true;
}

void vm_run_rows(vm_run_state *f) {
    const vm_program *p = f->program;
    for (int i = p->late; i < p->nins; i++)
        run_instruction(f, &p->ins[i]);
    store_rows(f);
}

/* Runs the segment of a program that flows in `cells` cells that lie side by side behind the current one. */
static void flow_on(vm_run_state *f, int64_t cells) {
    const vm_program *p = f->program;
    const vm_segment *s = &p->segments[p->ins[p->cell].arg[0]];
    const int32_t *operands = p->operands + s->first;
    int values = s->nin + s->nout;
    char *at[VM_SEGMENT_MAX];
    int64_t bytes[VM_SEGMENT_MAX];
    native_code code = native_code_of(s->unit);
    native_places(f, s, at);
    for (int k = 0; k < values; k++) {
        bytes[k] = 0;
        for (int h = 0; h < p->nhops; h++)
            bytes[k] += p->hop[h].value == operands[k] ? p->hop[h].bytes : 0;
    }
    for (int64_t c = 0; c < cells; c++) {
        for (int k = 0; k < values; k++)
            at[k] += bytes[k];
        code(at, p->walk_size);
    }
}

/* Chunks [from, to) of a program that flows: those of its one cell at once, or cells that are a chunk each. */
static void run_flow(vm_run_state *f, int64_t from, int64_t to) {
    const vm_program *p = f->program;
    if (p->ngrid == 0) {
        int64_t end = to * p->chunk < p->walk_size ? to * p->chunk : p->walk_size;
        vm_run_move_cell(f, 0);
        vm_run_chunk(f, from * p->chunk, end - from * p->chunk);
        return;
    }
    for (int64_t cell = from, more; cell < to; cell += 1 + more) {
        vm_run_move_cell(f, cell);
        vm_run_chunk(f, 0, p->walk_size);
        more = f->left < to - cell - 1 ? f->left : to - cell - 1;
        flow_on(f, more);
    }
}

/* Chunks [from, to) of all cells: chunk c is piece c % pieces of cell c / pieces. */
static void run_chunks(vm_run_state *f, int64_t from, int64_t to) {
    const vm_program *p = f->program;
    if (p->flows) {
        run_flow(f, from, to);
        return;
    }
    int64_t pieces = (p->walk_size + p->chunk - 1) / p->chunk, cell = from / pieces, start = from % pieces * p->chunk;
    for (int64_t c = from, end = 1; c < to; c++, end = 1) {
        bool hopped = hop(f, cell);
        if (!hopped && cell != f->cell)
            vm_run_move_cell(f, cell);
        for (int k = 0; k < p->nwalk && !hopped; k++)
            end *= f->walk[k];
        int64_t n = p->form == VM_NEST_STRIPS ? f->walk[1] : p->chunk, first = start / p->chunk * n;
        if (!hopped && first < end)
            vm_run_chunk(f, first, end - first < n ? end - first : n);
        if (p->reduces)
            vm_run_rows(f);
        start += p->chunk;
        if (start >= p->walk_size)
            start = 0, cell++;
    }
    if (p->stream)
        atomic_thread_fence(memory_order_seq_cst); /* stores past the caches are ordered by nothing less */
}

/* ---- Whole programs ---------------------------------------------------------------------------------------------- */
static inline void point_from(vm_run_state *f, vm_from from, const void *base) {
    const vm_program *p = f->program;
    for (int k = from > 0 ? p->point_ends[from - 1] : 0; k < p->point_ends[from]; k++)
        f->at[p->points[k].value] = (char *)base + p->points[k].offset;
}

static inline void point_values(vm_run_state *f) {
    const vm_program *p = f->program;
    point_from(f, VM_FROM_SCRATCH, f->scratch);
    point_from(f, VM_FROM_SCALARS, f->scalars);
    point_from(f, VM_FROM_LOADS, p->loads);
    for (int k = p->point_ends[VM_FROM_LOADS]; k < p->point_ends[VM_FROM_BUFFER]; k++)
        f->at[p->points[k].value] = (char *)f->bufs[p->points[k].slot] + p->points[k].offset;
}

static int run_whole(const vm_program *p, void *const *bufs, const lazy_scalar *scalars) {
    vm_run_state f;
    int status = begin_state(&f, p, bufs, scalars);
    if (status)
        return status;
    point_values(&f);
    for (int k = 0; k < p->nloads && p->fetches; k++)
        if (vm_is_fetched(&p->loads[k]))
            gather_load(&f, k, 0);
    for (int i = 0; i < p->once; i++)
        run_instruction(&f, &p->ins[i]);
    f.n[0] = p->walk_size;
    if (p->form == VM_NEST_PACKED)
        f.n[1] = p->walk_size / p->reduced;
    for (int i = p->once; i < p->late; i++)
        run_instruction(&f, &p->ins[i]);
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].kind == LAZY_SINK_STORE && !p->sinks[k].direct)
            store(&f, k);
    if (p->reduces)
        vm_run_rows(&f);
    return NEAP_OK;
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */
typedef struct chunk_run {
    const vm_program *program;
    void *const *bufs;
    const lazy_scalar *scalars;
    int64_t chunks, tasks;
    _Atomic int status;
} chunk_run;

/* A strip's panel is gathered by one thread. */
static int64_t first_chunk(const chunk_run *work, int64_t task) {
    const vm_program *p = work->program;
    int64_t first = work->chunks * task / work->tasks;
    return p->form == VM_NEST_STRIPS ? first - first % p->walk[0] : first;
}

static void chunk_task(void *arg, int64_t task, const neap_run *run) {
    chunk_run *work = arg;
    vm_run_state frame;
    (void)run;
    int status = vm_run_begin(&frame, work->program, work->bufs, work->scalars);
    if (status)
        work->status = status;
    else
        run_chunks(&frame, first_chunk(work, task), first_chunk(work, task + 1));
}

int64_t vm_tasks(const vm_program *p, const neap_run *run, int64_t elements) {
    int64_t work = (int64_t)(p->cost * (double)elements);
    int workers = run ? neap_engine_workers() : 1;
    if (workers <= 1 || work < vm_limit.parallel_min)
        return 1;
    int64_t most = work / vm_limit.task_min + 1;
    return most < workers * TASKS_A_WORKER ? most : workers * TASKS_A_WORKER;
}

bool vm_kernel_splits(const lazy_kernel *kernel) {
    const vm_program *p = kernel->prepared;
    return vm_tasks(p, &(neap_run){0}, p->size) > 1;
}

int vm_kernel_run(const lazy_kernel *kernel, void *const *bufs, const lazy_scalar *scalars, const neap_run *run) {
    const vm_program *p = vm_program_now(kernel);
    if (p->size == 0)
        return NEAP_OK;
    if (p->whole)
        return run_whole(p, bufs, scalars);
    if (p->carried)
        return vm_reduce(p, bufs, scalars, run);
    chunk_run work = {.program = p, .bufs = bufs, .scalars = scalars};
    work.chunks = p->cells * ((p->walk_size + p->chunk - 1) / p->chunk);
    work.tasks = vm_tasks(p, run, p->size);
    if (work.tasks > work.chunks)
        work.tasks = work.chunks;
    if (work.tasks > 1) {
        neap_parallel_for(run, work.tasks, chunk_task, &work);
        return work.status ? neap_error(work.status, "out of memory for a kernel's scratch") : NEAP_OK;
    }
    vm_run_state frame;
    int status = vm_run_begin(&frame, p, bufs, scalars);
    if (!status)
        run_chunks(&frame, 0, work.chunks);
    return status;
}
