/* launches.c: whole-array ops as launches on GPUs: how lines, blocks and tiles are dealt out to groups of threads. The
 * words are those of lazy/native/gpu_call.h, which tells what the entries do with them.
 */
#include "lazy/ops/launches.h"

#include "lazy/vm/gpu_calls.h"
#include "lazy/vm/simd/simd.h"

/* An array as lines along an axis. */
typedef struct lines {
    int64_t count, n, inner; /* lines; elements of each, and from one to the next */
} lines;

static lines lines_of(const lazy_tensor *in, int64_t axis) {
    lines l = {.count = 1, .n = 1, .inner = 1};
    axis += axis < 0 ? in->ndim : 0;
    for (int k = 0; k < in->ndim; k++) {
        if (k == axis)
            l.n = in->shape[k];
        else
            l.count *= in->shape[k];
        if (k > axis)
            l.inner *= in->shape[k];
    }
    return l;
}

static int64_t parts(int64_t n, int64_t size) {
    return (n + size - 1) / size;
}

/* ---- Scans ------------------------------------------------------------------------------------------------------- */
enum { SIDE_BY_SIDE = 32 }; /* lines that a group takes where elements of a line are apart */

typedef struct scan_entries {
    const char *totals, *starts, *scan;
} scan_entries;

static void put_lines(vm_gpu_call *plan, const lazy_call *call, const lines *l) {
    plan->words[GPU_SCAN_LENGTH] = (uint64_t)l->n;
    plan->words[GPU_SCAN_LINES] = (uint64_t)l->count;
    plan->words[GPU_SCAN_INNER] = (uint64_t)l->inner;
    plan->words[GPU_SCAN_REVERSE] = call->attrs[1] != 0;
}

static const char *scan_launches(const lazy_call *call, vm_gpu_call *plan, const scan_entries *entries) {
    const lazy_tensor *in = &call->in[0];
    const lines l = lines_of(in, call->attrs[0]);
    const int64_t of_line = parts(l.n < LAZY_SCAN_BLOCK ? l.n : LAZY_SCAN_BLOCK, LAZY_SCAN_GROUP);
    const int64_t blocks = parts(l.n, LAZY_SCAN_BLOCK);
    int64_t together = 1, groups = of_line;
    vm_gpu_call_begin(plan, in->dtype, GPU_SCAN_SHARED * neap_dtype_bytes(in->dtype));
    if (in->size == 0)
        return NULL;
    if (l.inner > 1)
        together = SIDE_BY_SIDE, groups = of_line < GPU_THREADS / together ? of_line : GPU_THREADS / together;
    else
        together = GPU_THREADS / groups;
    put_lines(plan, call, &l);
    plan->words[GPU_SCAN_TOGETHER] = (uint64_t)together;
    plan->words[GPU_SCAN_GROUPS] = (uint64_t)groups;
    plan->words[GPU_SCAN_BLOCKS] = (uint64_t)blocks;
    const uint64_t turns = (uint64_t)parts(of_line, groups), all = (uint64_t)(parts(l.count, together) * blocks);
    if (blocks > 1) {
        plan->scratch_bytes = l.count * blocks * neap_dtype_bytes(in->dtype);
        vm_gpu_call_add(plan, entries->totals, all, turns, 0);
        vm_gpu_call_add(plan, entries->starts, (uint64_t)l.count, (uint64_t)parts(blocks, GPU_SCAN_AT_ONCE), 0);
    }
    vm_gpu_call_add(plan, entries->scan, all, turns, 0);
    return NULL;
}

#define SCAN_LAUNCHES(name)                                                                                            \
    const char *launches_##name(const lazy_call *call, vm_gpu_call *plan) {                                            \
        static const scan_entries entries = {#name "_totals", #name "_starts", #name "_scan"};                         \
        return scan_launches(call, plan, &entries);                                                                    \
    }
SCAN_LAUNCHES(cumsum)
SCAN_LAUNCHES(cumprod)
SCAN_LAUNCHES(cummax)
SCAN_LAUNCHES(cummin)

const char *launches_recurrence(const lazy_call *call, vm_gpu_call *plan) {
    const lines l = lines_of(&call->in[0], call->attrs[0]);
    vm_gpu_call_begin(plan, call->in[0].dtype, 0);
    put_lines(plan, call, &l);
    vm_gpu_call_add(plan, "recurrence", l.n ? vm_gpu_call_groups(l.count) : 0, 1, 0);
    return NULL;
}

/* ---- Sorts ------------------------------------------------------------------------------------------------------- */
/* Turns in which a group finds the ends of its part in runs of so many pairs (gpu_sorts.h). */
static uint64_t search_turns(int64_t width) {
    uint64_t turns = 0;
    for (int64_t step; width > 0; turns++) {
        step = parts(width, GPU_SORT_SAMPLES);
        width = step > 1 ? 4 * step - 1 : 0;
    }
    return turns;
}

static int log_of(int64_t n) {
    int log = 0;
    while ((int64_t)1 << log < n)
        log++;
    return log;
}

/* The tile of lines of n pairs of so many bytes, and the memory that a group needs. */
static int tile_log(int64_t n, int bytes) {
    return n <= 1 << GPU_SORT_SHORT_LOG ? GPU_SORT_SHORT_LOG : log_of(GPU_SORT_BYTES / bytes);
}

static int sort_memory(int64_t n, int bytes) {
    return (bytes << tile_log(n, bytes)) + (n > (int64_t)1 << tile_log(n, bytes) ? GPU_SORT_SHARED : 0);
}

/* Words and launches of sorting pairs of so many bytes. Returns the bytes of the pairs that are kept in scratch. */
static int64_t sort_pairs(vm_gpu_call *plan, const lines *l, int bytes, const char *tiles, const char *merge) {
    const int tile = tile_log(l->n, bytes), levels = log_of(parts(l->n, (int64_t)1 << tile));
    const uint64_t run = (uint64_t)(levels ? tile : log_of(l->n)), part = GPU_SORT_BYTES / 2 / (uint64_t)bytes;
    const uint64_t merges = (uint64_t)parts(levels, GPU_SORT_WAYS_LOG);
    plan->words[GPU_SORT_LENGTH] = (uint64_t)l->n;
    plan->words[GPU_SORT_LINES] = (uint64_t)l->count;
    plan->words[GPU_SORT_INNER] = (uint64_t)l->inner;
    plan->words[GPU_SORT_TILE] = (uint64_t)tile;
    plan->words[GPU_SORT_RUN] = run;
    plan->words[GPU_SORT_MERGES] = merges;
    const int64_t groups =
        levels ? l->count * parts(l->n, (int64_t)1 << tile) : parts(l->count, ((int64_t)1 << tile) >> run);
    vm_gpu_call_add(plan, tiles, (uint64_t)groups, run * (run + 1) / 2, 0);
    for (uint64_t step = 0; step < merges; step++)
        vm_gpu_call_add(plan, merge, (uint64_t)(l->count * parts(l->n, (int64_t)part)),
                        search_turns((int64_t)1 << (tile + GPU_SORT_WAYS_LOG * (int)step)), step);
    return l->count * l->n * bytes;
}

static const char *sort_launches(const lazy_call *call, vm_gpu_call *plan, bool descending, bool places, int64_t kept) {
    const lazy_tensor *in = &call->in[0];
    const lines l = lines_of(in, call->attrs[0]);
    const int bytes = neap_dtype_bytes(in->dtype) > 4 ? 16 : 8;
    vm_gpu_call_begin(plan, in->dtype, sort_memory(l.n, bytes));
    if (in->size == 0)
        return NULL;
    plan->words[GPU_SORT_DESCENDING] = descending;
    plan->words[GPU_SORT_PLACES] = places;
    plan->words[GPU_SORT_KEPT] = (uint64_t)(kept < 0 ? l.n : kept);
    const int64_t pairs = sort_pairs(plan, &l, bytes, "sort_tiles", "sort_merge");
    plan->scratch_bytes = plan->words[GPU_SORT_MERGES] ? 2 * pairs : 0;
    return NULL;
}

const char *launches_sort(const lazy_call *call, vm_gpu_call *plan) {
    return sort_launches(call, plan, call->attrs[1] != 0, false, -1);
}
const char *launches_argsort(const lazy_call *call, vm_gpu_call *plan) {
    return sort_launches(call, plan, call->attrs[1] != 0, true, -1);
}
const char *launches_argtop(const lazy_call *call, vm_gpu_call *plan) {
    return sort_launches(call, plan, true, true, call->attrs[1]);
}

/* ---- Rows at places that are data -------------------------------------------------------------------------------- */
static lines put_words(const lazy_call *call, vm_gpu_call *plan) {
    const lazy_tensor *x = call->out, *indices = &call->in[1];
    const lines l = lines_of(x, call->attrs[0]);
    plan->words[GPU_PUT_OUTER] = (uint64_t)(l.inner ? l.count / l.inner : 0);
    plan->words[GPU_PUT_SIZE] = (uint64_t)l.n;
    plan->words[GPU_PUT_INNER] = (uint64_t)l.inner;
    plan->words[GPU_PUT_COUNT] = (uint64_t)indices->size;
    plan->words[GPU_PUT_INDEX] = (uint64_t)put_index_dtype(call);
    return l;
}

const char *launches_put_set(const lazy_call *call, vm_gpu_call *plan) {
    const lines l = put_words(call, plan);
    const int64_t n = call->in[1].size;
    vm_gpu_call_begin(plan, call->out->dtype, 0);
    if (call->out->size == 0 || n == 0)
        return NULL;
    plan->scratch_bytes = l.n * (int64_t)sizeof(uint64_t);
    vm_gpu_call_add(plan, "put_clear", vm_gpu_call_groups(l.n), 1, 0);
    vm_gpu_call_add(plan, "put_mark", vm_gpu_call_groups(n), 1, 0);
    vm_gpu_call_add(plan, "put_set", vm_gpu_call_groups(l.count * n), 1, 0);
    return NULL;
}

const char *launches_put_add(const lazy_call *call, vm_gpu_call *plan) {
    const lines l = put_words(call, plan);
    const lines places = {.count = 1, .n = call->in[1].size, .inner = 1};
    vm_gpu_call_begin(plan, call->out->dtype, sort_memory(places.n, sizeof(uint64_t)));
    if (call->out->size == 0 || places.n == 0)
        return NULL;
    if (l.n >= UINT32_MAX || places.n >= UINT32_MAX)
        return "it has 2^32 rows or indices";
    plan->scratch_bytes = 2 * sort_pairs(plan, &places, sizeof(uint64_t), "put_tiles", "put_merge");
    vm_gpu_call_add(plan, "put_add", vm_gpu_call_groups(l.count * places.n), 1, 0);
    return NULL;
}

/* ---- Moves and searches ------------------------------------------------------------------------------------------ */
/* Elements as they are in the input: what it is taken for may ask for more of an address. */
const char *launches_bitcast(const lazy_call *call, vm_gpu_call *plan) {
    vm_gpu_call_begin(plan, call->in[0].dtype, 0);
    plan->words[GPU_MOVE_SIZE] = (uint64_t)call->in[0].size;
    vm_gpu_call_add(plan, "copy", vm_gpu_call_groups(call->in[0].size), 1, 0);
    return NULL;
}

static const char *box_launches(vm_gpu_call *plan, const char *entry, const lazy_tensor *array, const lazy_tensor *box,
                                const lazy_tensor *starts) {
    if (box->ndim > GPU_BOX_AXES)
        return "it has more than 6 axes";
    vm_gpu_call_begin(plan, array->dtype, 0);
    plan->words[GPU_MOVE_SIZE] = (uint64_t)box->size;
    plan->words[GPU_BOX_STARTS] = (uint64_t)(box->ndim ? starts->stride[0] : 0);
    for (int k = 0; k < box->ndim; k++) {
        uint64_t *axis = plan->words + GPU_BOX_FIRST + k * GPU_BOX_WORDS;
        axis[GPU_BOX_SIZE] = (uint64_t)box->shape[k];
        axis[GPU_BOX_EXTENT] = (uint64_t)array->shape[k];
        axis[GPU_BOX_STRIDE] = (uint64_t)array->stride[k];
        axis[GPU_BOX_OWN_STRIDE] = (uint64_t)box->stride[k];
    }
    vm_gpu_call_add(plan, entry, vm_gpu_call_groups(box->size), 1, 0);
    return NULL;
}

const char *launches_dynamic_slice(const lazy_call *call, vm_gpu_call *plan) {
    return box_launches(plan, "box_read", &call->in[0], call->out, &call->in[1]);
}
const char *launches_dynamic_update_slice(const lazy_call *call, vm_gpu_call *plan) {
    return box_launches(plan, "box_write", call->out, &call->in[1], &call->in[2]);
}

const char *launches_searchsorted(const lazy_call *call, vm_gpu_call *plan) {
    const lazy_tensor *sorted = &call->in[0], *values = &call->in[1];
    int64_t lines = 1;
    for (int k = 0; k + 1 < sorted->ndim; k++)
        lines *= sorted->shape[k];
    vm_gpu_call_begin(plan, sorted->dtype, 0);
    plan->words[GPU_MOVE_SIZE] = (uint64_t)values->size;
    plan->words[GPU_SEARCH_LENGTH] = (uint64_t)sorted->shape[sorted->ndim - 1];
    plan->words[GPU_SEARCH_EACH] = (uint64_t)(values->size ? values->size / lines : 1);
    plan->words[GPU_SEARCH_RIGHT] = call->attrs[0] != 0;
    vm_gpu_call_add(plan, "search", vm_gpu_call_groups(values->size), 1, 0);
    return NULL;
}

/* ---- Draws ------------------------------------------------------------------------------------------------------- */
/* `size` elements by an entry of a dtype, of which each key makes as many as the others. */
static const char *draw_launches(vm_gpu_call *plan, const char *entry, int dtype, int64_t size,
                                 const lazy_tensor *keys) {
    vm_gpu_call_begin(plan, dtype, 0);
    plan->words[GPU_DRAW_SIZE] = (uint64_t)size;
    plan->words[GPU_DRAW_EACH] = (uint64_t)(size > 0 ? size / (keys->size / 2) : 1);
    vm_gpu_call_add(plan, entry, vm_gpu_call_groups(size), 1, 0);
    return NULL;
}

const char *launches_threefry(const lazy_call *call, vm_gpu_call *plan) {
    return draw_launches(plan, "threefry", NEAP_DTYPE_U32, call->out->size / 2, &call->in[0]);
}

const char *launches_random_bits(const lazy_call *call, vm_gpu_call *plan) {
    const bool wide = call->attrs[0] == 64;
    return draw_launches(plan, wide ? "pairs" : "words", NEAP_DTYPE_U32, call->out->size / (1 + wide), &call->in[0]);
}

const char *launches_random_floats(const lazy_call *call, vm_gpu_call *plan) {
    static const char *const entries[VM_DRAW_COUNT] = {[VM_DRAW_UNIFORM] = "uniform",
                                                       [VM_DRAW_NORMAL] = "normal",
                                                       [VM_DRAW_EXPONENTIAL] = "exponential",
                                                       [VM_DRAW_GUMBEL] = "gumbel"};
    return draw_launches(plan, entries[call->attrs[0]], call->out->dtype, call->out->size, &call->in[0]);
}

/* As random_integers takes its bounds: of one for each element, for each key, or for all. */
static uint64_t bound_of(const lazy_call *call, int k) {
    return call->in[k].size == 1                 ? GPU_BOUND_ONE
           : call->in[k].size == call->out->size ? GPU_BOUND_ELEMENT
                                                 : GPU_BOUND_KEY;
}

const char *launches_random_integers(const lazy_call *call, vm_gpu_call *plan) {
    plan->words[GPU_DRAW_LOW] = bound_of(call, 0);
    plan->words[GPU_DRAW_HIGH] = bound_of(call, 1);
    plan->words[GPU_DRAW_FLAG] = call->attrs[0] != 0;
    return draw_launches(plan, "integers", call->out->dtype, call->out->size, &call->in[2]);
}

const char *launches_random_gamma(const lazy_call *call, vm_gpu_call *plan) {
    plan->words[GPU_DRAW_FLAG] = call->attrs[0] != 0;
    return draw_launches(plan, "gamma", call->out->dtype, call->out->size, &call->in[1]);
}
const char *launches_random_poisson(const lazy_call *call, vm_gpu_call *plan) {
    return draw_launches(plan, "poisson", call->out->dtype, call->out->size, &call->in[1]);
}
const char *launches_random_binomial(const lazy_call *call, vm_gpu_call *plan) {
    return draw_launches(plan, "binomial", call->out->dtype, call->out->size, &call->in[2]);
}
