/* vm/nest.c: how a kernel's domain, of collapsed axes, is walked: the form is chosen (vm.h has the table), and every
 * map gets its strides over grid and walk. */
#include <string.h>

#include "lazy/vm/vm.h"

enum {
    ROW_MIN = 128,    /* shorter rows are batched: a chunk is several of them */
    LEAVES_MIN = 513, /* the same for rows that are reduced, where no operand is one element of a row */
    ROWS_ALIGN = 16,  /* elements: chunks of rows start at multiples of a cache line if that costs few rows */
    COLUMN_ROWS = 4,  /* least rows in a chunk of columns */
    COLUMNS_MIN = 16,
    WHOLE_COLUMNS = LAZY_ROW_MAX, /* elements of a block of whole columns, about */
    TILED_MIN = 4096,             /* smaller domains stay in the cache whatever the order */
    TILED_SIDE = 8                /* axes shorter than this are not worth blocks */
};

static int nmaps(const vm_program *p) {
    return p->nloads + p->nsinks;
}

/* ---- Filling grid and walk --------------------------------------------------------------------------------------- */
static void to_grid(vm_program *p, int axis, int64_t tile) {
    int g = p->ngrid++;
    p->grid[g] = (p->axes.shape[axis] + tile - 1) / tile;
    for (int m = 0; m < nmaps(p); m++)
        vm_map_at(p, m)->grid[g] = vm_map_at(p, m)->axis[axis] * tile;
}

static void to_walk(vm_program *p, int axis, int64_t length) {
    int w = p->nwalk++;
    p->walk[w] = length;
    for (int m = 0; m < nmaps(p); m++)
        vm_map_at(p, m)->walk[w] = vm_map_at(p, m)->axis[axis];
}

static void to_blocks(vm_program *p, int axis, int64_t tile) {
    int64_t extent = p->axes.shape[axis];
    p->edge[p->nedges++] = (vm_edge){.grid = p->ngrid, .walk = p->nwalk, .tile = tile, .extent = extent};
    to_grid(p, axis, tile);
    to_walk(p, axis, tile < extent ? tile : extent);
}

/* ---- Forms ------------------------------------------------------------------------------------------------------- */
static int64_t size_of_stride(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

/* The axis along which memory runs for a map that crosses the inner axis, or -1. */
static int crossing(const vm_program *p, const vm_map *map) {
    const vm_axes *a = &p->axes;
    int q = a->n - 1;
    if (size_of_stride(map->axis[q]) < TILED_SIDE || a->shape[q] < TILED_SIDE)
        return -1;
    for (int k = q - 1; k >= 0; k--)
        if (map->axis[k] != 0 && size_of_stride(map->axis[k]) * 4 <= size_of_stride(map->axis[q]) &&
            a->shape[k] >= TILED_SIDE)
            return k;
    return -1;
}

/* The axis that is tiled together with the inner one, or -1. */
static int tiled_axis(vm_program *p) {
    if (p->reduces || p->size < TILED_MIN)
        return -1;
    int across = -1;
    for (int m = 0; across < 0 && m < nmaps(p); m++)
        if (m >= p->nloads || p->loads[m].kind == LAZY_LOAD_BUFFER)
            across = crossing(p, vm_map_at(p, m));
    return across;
}

/* Does memory run along the last kept axis for more loads and stores than along the last reduced axis? What is the same
 * for all of that axis is small and does not count. */
static bool column_wise(vm_program *p) {
    const vm_axes *a = &p->axes;
    int columns = 0, rows = 0;
    if (!p->reduces || a->kept == 0)
        return false;
    for (int m = 0; m < nmaps(p); m++) {
        const vm_map *map = vm_map_at(p, m);
        int64_t kept = size_of_stride(map->axis[a->kept - 1]), inner = size_of_stride(map->axis[a->n - 1]);
        if (m < p->nloads ? p->loads[m].kind != LAZY_LOAD_BUFFER : p->sinks[m - p->nloads].kind != LAZY_SINK_STORE)
            continue;
        columns += kept != 0 && inner > kept;
        rows += inner != 0 && kept > inner;
    }
    return columns > rows;
}

/* Whole rows are a chunk where late instructions need them or where they are few; then a block is narrower, but of at
 * least as many columns as lie in a cache line. */
static void nest_columns(vm_program *p, int64_t chunk) {
    const vm_axes *a = &p->axes;
    int64_t widest = chunk / COLUMN_ROWS < VM_COLUMNS_WIDE ? chunk / COLUMN_ROWS : VM_COLUMNS_WIDE;
    int64_t extent = a->shape[a->kept - 1], rows = COLUMN_ROWS;
    if (p->staged && widest > WHOLE_COLUMNS / p->reduced)
        widest = WHOLE_COLUMNS / p->reduced > COLUMNS_MIN ? WHOLE_COLUMNS / p->reduced : COLUMNS_MIN;
    p->form = VM_NEST_COLUMNS;
    p->columns = extent < widest ? extent : widest;
    for (int k = 0; k < a->kept - 1; k++)
        to_grid(p, k, 1);
    for (int k = a->kept; k < a->n; k++)
        to_walk(p, k, a->shape[k]);
    p->row_axis = p->nwalk, p->row_axes = 1;
    to_blocks(p, a->kept - 1, p->columns);
    while (rows < LAZY_LEAF && rows * 2 * p->columns <= chunk)
        rows *= 2;
    p->carried = !p->staged && p->reduced > rows;
    p->chunk = (p->carried ? rows : p->reduced) * p->columns;
}

static void nest_tiles(vm_program *p, int across, int64_t chunk) {
    int64_t tile = (chunk < VM_TILE * VM_TILE ? VM_TILE / 2 : VM_TILE) * (p->copies ? 2 : 1);
    p->form = VM_NEST_TILES;
    for (int k = 0; k < p->axes.n - 1; k++)
        if (k != across)
            to_grid(p, k, 1);
    to_blocks(p, across, tile);
    to_blocks(p, p->axes.n - 1, tile);
    p->chunk = tile * tile;
}

/* Do all results run along the inner axis, in rows that are worth a chunk? */
static bool stores_along(const vm_program *p) {
    if (p->axes.shape[p->axes.n - 1] < ROW_MIN)
        return false;
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].map.axis[p->axes.n - 1] != 1)
            return false;
    return true;
}

/* Strips of about the same width, each a multiple of a line. */
static void nest_strips(vm_program *p, int across, int64_t chunk) {
    int64_t extent = p->axes.shape[p->axes.n - 1], strips = (2 * extent + chunk - 1) / chunk;
    int64_t width = (extent + strips - 1) / strips;
    p->form = VM_NEST_STRIPS;
    for (int k = 0; k < p->axes.n - 1; k++)
        if (k != across)
            to_grid(p, k, 1);
    to_blocks(p, across, VM_STRIP_ROWS);
    to_blocks(p, p->axes.n - 1, (width + ROWS_ALIGN - 1) / ROWS_ALIGN * ROWS_ALIGN);
    p->chunk = p->walk[1];
}

/* Is some load one element for each row, which is best taken by a scalar loop? */
static bool row_operands(const vm_program *p, int split) {
    for (int m = 0; m < p->nloads; m++) {
        bool inside = false, outside = false;
        for (int k = 0; k < p->axes.n; k++)
            *(k < split ? &outside : &inside) |= p->loads[m].map.axis[k] != 0;
        if (outside && !inside)
            return true;
    }
    return false;
}

static bool tables(const vm_program *p) {
    for (int k = 0; k < p->nloads; k++)
        if (p->loads[k].kind == LAZY_LOAD_TABLE)
            return true;
    return false;
}

/* Whole rows in a chunk. */
static int64_t rows_in(int64_t chunk, int64_t row) {
    int64_t most = chunk / row;
    for (int64_t rows = most; rows > most / 2; rows--)
        if (rows * row % ROWS_ALIGN == 0)
            return rows;
    return most;
}

/* ROWS or PACKED: a row is what lies inside of the first `split` axes. */
static void nest_rows(vm_program *p, int64_t chunk) {
    const vm_axes *a = &p->axes;
    int split = p->reduces ? a->kept : a->n - 1;
    int64_t row = loop_elements(a->shape, split, a->n);
    bool leaves = p->reduces && !p->staged && row < LEAVES_MIN && row * 2 <= chunk && !row_operands(p, split);
    bool leaf = (p->staged || tables(p)) && row <= LAZY_LEAF && row * 2 <= chunk;
    bool copied = p->copies && row * 2 <= chunk;
    bool batch = split > 0 && (row < ROW_MIN || leaves || leaf || copied);
    p->form = batch ? VM_NEST_PACKED : VM_NEST_ROWS;
    for (int k = 0; k < a->n; k++)
        if (k < split && !batch)
            to_grid(p, k, 1);
        else
            to_walk(p, k, a->shape[k]);
    p->row_axes = batch ? split : 1;
    p->reduced = batch ? row : p->reduced;
    p->packed_rows = batch ? rows_in(chunk, row) : 1;
    p->carried = p->reduces && !batch && !p->staged && row > chunk;
    p->chunk = batch ? p->packed_rows * row : p->reduces && !p->carried ? row : chunk;
}

/* Operands that come from memory are taken in small chunks, so that the CPU reads and streams several chunks at a time;
 * but kernels with stages pass over each chunk several times, and functions leave memory the time that it needs: both
 * are better off with few chunks. */
void vm_choose_nest(vm_program *p) {
    int across = tiled_axis(p);
    int64_t small = vm_limit.chunk, chunk = p->copies ? VM_LONG * small : small; /* copies have no registers */
    p->reduced = p->reduces ? loop_elements(p->axes.shape, p->axes.kept, p->axes.n) : 1;
    if (column_wise(p))
        nest_columns(p, chunk);
    else if (across >= 0 && !p->copies && stores_along(p))
        nest_strips(p, across, small);
    else if (across >= 0)
        nest_tiles(p, across, small);
    else
        nest_rows(p, p->far && !p->staged && !p->computes && !p->copies && chunk > VM_FAR_CHUNK ? VM_FAR_CHUNK : chunk);
    p->cells = loop_elements(p->grid, 0, p->ngrid);
    p->walk_size = loop_elements(p->walk, 0, p->nwalk);
}
