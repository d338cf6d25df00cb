/* vm.c: running a prepared kernel (vm.h has the picture). Chunks are independent, so any thread may run any of them;
 * each thread keeps its scratch for the next kernel. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lazy/vm.h"

enum { TASKS_A_WORKER = 4, LINE = 64 };

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

/* ---- Frames ------------------------------------------------------------------------------------------------------ */
static void run_single(vm_frame *f, int from, int to) {
    for (int i = from; i < to; i++) {
        const vm_ins *ins = &f->program->ins[i];
        ins->loop(f->at[ins->out], f->at[ins->arg[0]], f->at[ins->arg[1]], f->at[ins->arg[2]], 1);
    }
}

/* Loads of one rate below EACH: the single element that they are in this cell. */
static void point_loads(vm_frame *f, uint8_t rate) {
    const vm_program *p = f->program;
    for (int k = 0; k < p->nloads; k++) {
        const vm_load *load = &p->loads[k];
        if (load->rate != rate)
            continue;
        if (load->kind == LAZY_LOAD_SCALAR)
            f->at[k] = (char *)&f->scalars[load->slot];
        else if (load->kind == LAZY_LOAD_BUFFER)
            f->at[k] = (char *)f->bufs[load->slot] + f->base[k] * load->width;
        else
            vm_iota(load->dtype, f->at[k], f->base[k], 1, &(int64_t){1}, &(int64_t){0}, 0, 1);
    }
}

int vm_frame_begin(vm_frame *f, const vm_program *p, void *const *bufs, const lazy_scalar *scalars) {
    size_t pointers = (size_t)p->nvalues * sizeof(char *);
    size_t bases = (size_t)(p->nloads + p->nsinks) * sizeof(int64_t);
    size_t tables = (pointers + bases + 4095) / 4096 * 4096;
    char *block = scratch_get(tables + p->scratch);
    if (!block) {
        neap_error(NEAP_E_MEMORY, "out of memory for a kernel's scratch");
        return NEAP_E_MEMORY;
    }
    f->program = p, f->bufs = bufs, f->scalars = scalars, f->cell = -1;
    f->at = (char **)block;
    f->base = (int64_t *)(block + pointers);
    f->scratch = block + tables;
    for (int v = 0; v < p->nvalues; v++)
        f->at[v] = p->place[v] >= 0 ? f->scratch + p->place[v] : NULL;
    for (int k = 0; k < p->nloads; k++)
        f->base[k] = p->loads[k].map.offset;
    for (int k = 0; k < p->nsinks; k++)
        f->base[p->nloads + k] = p->sinks[k].map.offset;
    memcpy(f->walk, p->walk, (size_t)p->nwalk * sizeof *f->walk);
    point_loads(f, VM_ONCE);
    run_single(f, 0, p->once);
    return NEAP_OK;
}

void vm_frame_move(vm_frame *f, int64_t cell) {
    const vm_program *p = f->program;
    int64_t index[LAZY_MAX_DOMAIN], left = cell;
    f->cell = cell;
    if (p->ngrid == 0)
        return;
    for (int k = p->ngrid - 1; k >= 0; k--) {
        index[k] = k > 0 ? left % p->grid[k] : left;
        left /= p->grid[k];
    }
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
    point_loads(f, VM_CELL);
    run_single(f, p->once, p->cell);
}

static void gather(vm_frame *f, int k, int64_t start, int64_t n) {
    const vm_program *p = f->program;
    const vm_load *load = &p->loads[k];
    if (load->kind == LAZY_LOAD_IOTA)
        vm_iota(load->dtype, f->at[k], f->base[k], p->nwalk, f->walk, load->map.walk, start, n);
    else
        vm_gather(load->width, f->at[k], (const char *)f->bufs[load->slot] + f->base[k] * load->width, p->nwalk,
                  f->walk, load->map.walk, start, n);
}

static char *sink_at(const vm_frame *f, int k, int64_t start) {
    const vm_sink *sink = &f->program->sinks[k];
    return (char *)f->bufs[sink->slot] + (f->base[f->program->nloads + k] + start) * sink->width;
}

/* Asks for part `part` of `parts` of what the operands in place are in the next chunk: memory works while instructions
 * run. Hardware prefetch ends at each page, which is as much as a chunk. */
static void prefetch(const vm_frame *f, int64_t n, int part, int parts) {
    const vm_program *p = f->program;
    for (int k = 0; k < p->nloads; k++) {
        if (!p->loads[k].in_place)
            continue;
        int64_t bytes = n * p->loads[k].width, end = bytes * (part + 1) / parts;
        const char *next = f->at[k] + bytes;
        for (int64_t at = bytes * part / parts / LINE * LINE; at < end; at += LINE)
            __builtin_prefetch(next + at);
    }
}

void vm_frame_chunk(vm_frame *f, int64_t start, int64_t n) {
    const vm_program *p = f->program;
    int gathered = 0;
    for (int k = 0; k < p->nloads; k++)
        if (p->loads[k].in_place)
            f->at[k] = (char *)f->bufs[p->loads[k].slot] + (f->base[k] + start) * p->loads[k].width;
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].direct)
            f->at[p->sinks[k].value] = sink_at(f, k, start);
    for (int i = p->cell; i < p->nins; i++) {
        const vm_ins *ins = &p->ins[i];
        for (; gathered < p->gathers && p->loads[p->order[gathered]].before <= i; gathered++)
            gather(f, p->order[gathered], start, n);
        if (p->far)
            prefetch(f, n, i - p->cell, p->nins - p->cell);
        ins->loop(f->at[ins->out], f->at[ins->arg[0]], f->at[ins->arg[1]], f->at[ins->arg[2]], n);
    }
    for (; gathered < p->gathers; gathered++)
        gather(f, p->order[gathered], start, n);
    if (p->far && p->cell == p->nins)
        prefetch(f, n, 0, 1);
}

/* ---- Stores ------------------------------------------------------------------------------------------------------ */
static void store(vm_frame *f, int k, int64_t start, int64_t n) {
    const vm_program *p = f->program;
    const vm_sink *sink = &p->sinks[k];
    const char *from = f->at[sink->value];
    if (sink->direct)
        return;
    if (sink->in_place) {
        char *to = sink_at(f, k, start);
        if (sink->splat)
            vm_fill(sink->width, to, from, n);
        else if (to != from && p->stream)
            p->simd->stream(to, from, n * sink->width);
        else if (to != from)
            memcpy(to, from, (size_t)(n * sink->width));
        return;
    }
    if (sink->splat) {
        vm_fill(sink->width, f->scratch + sink->splat_at, from, n);
        from = f->scratch + sink->splat_at;
    }
    vm_scatter(sink->width, sink_at(f, k, 0), from, p->nwalk, f->walk, sink->map.walk, start, n);
}

/* Chunks [from, to) of all cells: chunk c is piece c % pieces of cell c / pieces. */
static void store_chunks(vm_frame *f, int64_t from, int64_t to) {
    const vm_program *p = f->program;
    int64_t pieces = (p->walk_size + p->chunk - 1) / p->chunk;
    for (int64_t c = from; c < to; c++) {
        int64_t cell = c / pieces, start = c % pieces * p->chunk, end = 1;
        if (cell != f->cell)
            vm_frame_move(f, cell);
        for (int k = 0; k < p->nwalk; k++)
            end *= f->walk[k];
        int64_t n = end - start < p->chunk ? end - start : p->chunk;
        vm_frame_chunk(f, start, n);
        for (int k = 0; k < p->nsinks; k++)
            store(f, k, start, n);
    }
}

typedef struct store_job {
    const vm_program *program;
    void *const *bufs;
    const lazy_scalar *scalars;
    int64_t chunks, tasks;
    _Atomic int status;
} store_job;

static void store_task(void *arg, int64_t task, const neap_run *run) {
    store_job *job = arg;
    vm_frame frame;
    (void)run;
    int status = vm_frame_begin(&frame, job->program, job->bufs, job->scalars);
    if (status)
        job->status = status;
    else
        store_chunks(&frame, job->chunks * task / job->tasks, job->chunks * (task + 1) / job->tasks);
}

int64_t vm_tasks(const vm_program *p, const neap_run *run, int64_t elements) {
    int64_t work = (int64_t)(p->cost * (double)elements);
    int workers = run ? neap_engine_workers() : 1;
    if (workers <= 1 || work < vm_limit.parallel_min)
        return 1;
    int64_t most = work / vm_limit.task_min + 1;
    return most < workers * TASKS_A_WORKER ? most : workers * TASKS_A_WORKER;
}

/* The result of nothing: the identity, but 0.0 where that is -0.0. */
static lazy_scalar empty_result(const vm_sink *sink) {
    lazy_scalar value = {0};
    if (sink->fold)
        value = sink->fold->identity;
    if (sink->dtype == NEAP_DTYPE_F32 && value.f32 == 0)
        value.f32 = 0;
    if (sink->dtype == NEAP_DTYPE_F64 && value.f64 == 0)
        value.f64 = 0;
    return value;
}

static int store_identities(const vm_program *p, void *const *bufs) {
    const vm_axes *a = &p->axes;
    int64_t kept = 1, one = 1;
    for (int k = 0; k < a->kept; k++)
        kept *= a->shape[k];
    for (int k = 0; k < p->nsinks; k++) {
        const vm_sink *sink = &p->sinks[k];
        char *to = (char *)bufs[sink->slot] + sink->map.offset * sink->width;
        const lazy_scalar value = empty_result(sink);
        for (int64_t i = 0; i < kept; i++)
            vm_scatter(sink->width, to, &value, a->kept ? a->kept : 1, a->kept ? a->shape : &one, sink->map.axis, i, 1);
    }
    return NEAP_OK;
}

int lazy_kernel_run(const lazy_kernel *kernel, void *const *bufs, const lazy_scalar *scalars, const neap_run *run) {
    const vm_program *p = kernel->prepared;
    if (p->size == 0)
        return p->reduces ? store_identities(p, bufs) : NEAP_OK;
    if (p->reduces)
        return vm_reduce(p, bufs, scalars, run);
    store_job job = {.program = p, .bufs = bufs, .scalars = scalars};
    job.chunks = p->cells * ((p->walk_size + p->chunk - 1) / p->chunk);
    job.tasks = vm_tasks(p, run, p->size);
    if (job.tasks > job.chunks)
        job.tasks = job.chunks;
    if (job.tasks > 1) {
        neap_parallel_for(run, job.tasks, store_task, &job);
        return job.status ? neap_error(job.status, "out of memory for a kernel's scratch") : NEAP_OK;
    }
    vm_frame frame;
    int status = vm_frame_begin(&frame, p, bufs, scalars);
    if (!status)
        store_chunks(&frame, 0, job.chunks);
    return status;
}
