/* vm/gpu.c: kernels as launches on a GPU (gpu.h): axes are collapsed, maps become words, and rows are dealt out to
 * groups of threads.
 *
 * Rows are cut into blocks where there are few of them, so that all of a GPU has work: a block is a power of two of
 * leaves, and so a whole subtree.
 */
#include "lazy/vm/gpu.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)GPU_LOAD_BUFFER == (int)LAZY_LOAD_BUFFER && (int)GPU_LOAD_NUMBER == (int)LAZY_LOAD_SCALAR &&
                   (int)GPU_LOAD_IOTA == (int)LAZY_LOAD_IOTA && (int)GPU_LOAD_RESULT == (int)LAZY_LOAD_RESULT &&
                   (int)GPU_LOAD_TABLE == (int)LAZY_LOAD_TABLE,
               "kinds of loads");
_Static_assert((int)GPU_SINK_STORE == (int)LAZY_SINK_STORE && (int)GPU_SINK_STORE_ROW == (int)LAZY_SINK_STORE_ROW &&
                   (int)GPU_SINK_REDUCE == (int)LAZY_SINK_REDUCE,
               "kinds of sinks");
_Static_assert((int)GPU_LEAF == (int)LAZY_LEAF && (int)GPU_LANES == (int)LAZY_LANES, "the tree of kernel.h");

enum {
    SLOTS_MIN = 256,         /* a row of several stages has 32 leaves at most, in two waves */
    SHARED_BYTES = 48 << 10, /* what every GPU gives a group that asks for no more */
    WORDS_MAX = 480,         /* of a launch, with its buffers: 4 KiB */
    VECTOR_BYTES = 16,       /* of one load of a thread */
    CHEAP_INS = 8            /* programs up to so long are written for several elements of a thread */
};

vm_gpu_limits vm_gpu_limit = {.slots = 2048, .groups = 1024};

typedef struct grid { /* a kernel with collapsed axes */
    int ndim, nkept, nmaps;
    int64_t shape[LAZY_MAX_DOMAIN];
    lazy_wide_map *maps; /* of the loads, then of the sinks */
} grid;

/* ---- Collapsing -------------------------------------------------------------------------------------------------- */
static bool merge(const grid *g, int k) {
    if (k + 1 == g->nkept)
        return false;
    for (int m = 0; m < g->nmaps; m++)
        if (g->maps[m].stride[k] != g->maps[m].stride[k + 1] * g->shape[k + 1])
            return false;
    return true;
}

static void drop(grid *g, int k) {
    size_t after = (size_t)(g->ndim - k - 1);
    for (int m = 0; m < g->nmaps; m++)
        memmove(g->maps[m].stride + k, g->maps[m].stride + k + 1, after * sizeof *g->maps[m].stride);
    memmove(g->shape + k, g->shape + k + 1, after * sizeof *g->shape);
    g->ndim--;
    g->nkept -= k < g->nkept;
}

/* Drops axes of one element and merges neighbours, kept and reduced ones apart. */
static void collapse(grid *g) {
    for (int k = g->ndim - 1; k >= 0; k--)
        if (g->shape[k] == 1)
            drop(g, k);
    for (int k = g->ndim - 2; k >= 0; k--)
        if (merge(g, k)) {
            g->shape[k + 1] *= g->shape[k];
            drop(g, k);
        }
}

static bool has_map(const lazy_load *load) {
    return load->kind != LAZY_LOAD_SCALAR && load->kind != LAZY_LOAD_RESULT;
}

static void grid_begin(grid *g, const lazy_kernel *kernel) {
    g->ndim = kernel->ndim;
    g->nkept = kernel->ndim;
    for (int k = 0; k < kernel->nsinks; k++)
        if (kernel->sinks[k].kind != LAZY_SINK_STORE)
            g->nkept = kernel->nkept;
    g->nmaps = kernel->nloads + kernel->nsinks;
    memcpy(g->shape, kernel->shape, sizeof g->shape);
    for (int k = 0; k < kernel->nloads; k++)
        g->maps[k] = has_map(&kernel->loads[k]) ? kernel->loads[k].read : (lazy_wide_map){0};
    for (int k = 0; k < kernel->nsinks; k++) {
        lazy_wide_map *map = &g->maps[kernel->nloads + k];
        int axes = kernel->sinks[k].kind == LAZY_SINK_STORE ? kernel->ndim : kernel->nkept;
        *map = kernel->sinks[k].write;
        for (int axis = axes; axis < LAZY_MAX_DOMAIN; axis++)
            map->stride[axis] = 0;
    }
    collapse(g);
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */
/* Writes a map's words from *word on, over axes first …. */
static gpu_map add_map(const grid *g, const lazy_wide_map *map, int axes, uint64_t *words, int *word) {
    gpu_map made = {.flat = true, .word = *word};
    int64_t size = 1;
    for (int axis = axes - 1; axis >= 0; axis--) {
        made.flat &= map->stride[axis] == size;
        size *= g->shape[axis];
    }
    for (int axis = axes; axis < g->ndim; axis++)
        made.flat &= map->stride[axis] == 0;
    words[(*word)++] = (uint64_t)map->offset;
    for (int axis = 0; axis < g->ndim && !made.flat; axis++)
        if (map->stride[axis] != 0) {
            made.axes |= 1u << axis;
            words[(*word)++] = (uint64_t)map->stride[axis];
        }
    return made;
}

static int words_at_most(const lazy_kernel *kernel) {
    return GPU_EXTENTS + LAZY_MAX_DOMAIN + (kernel->nloads + kernel->nsinks) * (LAZY_MAX_DOMAIN + 3) +
           2 * kernel->nloads;
}

static void add_loads(vm_gpu *plan, const lazy_kernel *kernel, const grid *g, gpu_load *loads, int *word) {
    for (int k = 0; k < kernel->nloads; k++) {
        const lazy_load *load = &kernel->loads[k];
        loads[k] = (gpu_load){.kind = load->kind, .dtype = load->dtype, .slot = load->slot};
        if (load->kind == LAZY_LOAD_SCALAR && load->slot >= plan->nnumbers)
            plan->nnumbers = load->slot + 1;
        if (!has_map(load))
            continue;
        loads[k].map = add_map(g, &g->maps[k], g->ndim, plan->words, word);
        if (load->kind == LAZY_LOAD_TABLE) {
            plan->words[(*word)++] = (uint64_t)load->extent;
            plan->words[(*word)++] = (uint64_t)load->step;
        }
        if (load->kind != LAZY_LOAD_IOTA && load->slot >= plan->code.nbuffers)
            plan->code.nbuffers = load->slot + 1;
    }
}

static void add_sinks(vm_gpu *plan, const lazy_kernel *kernel, const grid *g, gpu_sink *sinks, int *word) {
    for (int k = 0; k < kernel->nsinks; k++) {
        const lazy_sink *sink = &kernel->sinks[k];
        sinks[k] = (gpu_sink){
            .kind = sink->kind, .dtype = sink->dtype, .op = sink->op, .slot = sink->slot, .value = sink->value};
        sinks[k].chooses = sink->kind == LAZY_SINK_REDUCE && lazy_ops[sink->op]->flags & LAZY_OP_ARG;
        sinks[k].map = add_map(g, &g->maps[kernel->nloads + k], sink->kind == LAZY_SINK_STORE ? g->ndim : g->nkept,
                               plan->words, word);
        plan->code.reduces |= sink->kind != LAZY_SINK_STORE;
        if (sink->slot >= plan->code.nbuffers)
            plan->code.nbuffers = sink->slot + 1;
    }
}

/* ---- Shapes of launches ------------------------------------------------------------------------------------------ */
static int64_t elements(const int64_t *shape, int from, int to) {
    int64_t size = 1;
    for (int k = from; k < to; k++)
        size *= shape[k];
    return size;
}

static int dtype_of(const gpu_kernel *code, int value) {
    return value < code->nloads ? code->loads[value].dtype : code->ins[value - code->nloads].result;
}

/* Shared memory of a group of a kernel with so many slots. */
static int64_t shared_bytes(const gpu_kernel *code) {
    int64_t bytes = 0;
    for (int k = 0; k < code->nsinks; k++)
        if (code->sinks[k].kind == GPU_SINK_REDUCE) {
            const int64_t slot = neap_dtype_bytes(dtype_of(code, code->sinks[k].value)) + 4 * code->sinks[k].chooses;
            bytes += slot * (code->slots + gpu_waves_max(code)) +
                     (int64_t)gpu_rows_max(code) * neap_dtype_bytes(code->sinks[k].dtype) + 32;
        }
    return bytes;
}

/* A result may be one of a reduction that stands behind its load, so all is gone through once for each level. */
static void find_levels(gpu_kernel *code, int *levels) {
    for (int round = 0; round <= code->nsinks; round++) {
        for (int k = 0; k < code->nloads; k++)
            if (code->loads[k].kind == GPU_LOAD_RESULT)
                levels[k] = levels[code->sinks[code->loads[k].slot].value] + 1;
        for (int k = 0; k < code->nins; k++)
            for (int a = 0; a < code->ins[k].narg; a++)
                if (levels[code->nloads + k] < levels[code->ins[k].arg[a]])
                    levels[code->nloads + k] = levels[code->ins[k].arg[a]];
    }
    code->levels = levels;
    for (int k = 0; k < code->nsinks; k++)
        code->staged |= code->sinks[k].kind != GPU_SINK_STORE_ROW && levels[code->sinks[k].value] > 0;
}

/* Does memory run along the last kept axis rather than along the last reduced one? */
static bool runs_across(const gpu_kernel *code, const grid *g) {
    int across = 0;
    for (int k = 0; k < code->nloads && g->nkept > 0 && g->nkept < g->ndim; k++) {
        int64_t kept = g->maps[k].stride[g->nkept - 1], inner = g->maps[k].stride[g->ndim - 1];
        kept = kept < 0 ? -kept : kept, inner = inner < 0 ? -inner : inner;
        if (code->loads[k].kind == GPU_LOAD_BUFFER)
            across += (kept != 0 && inner > kept) - (inner != 0 && kept > inner);
    }
    return across > 0;
}

/* Blocks of a row: as many as keep a GPU busy, or as make its waves few enough. */
static void cut_rows(vm_gpu *plan, int64_t rows, int64_t leaves, int64_t at_once) {
    const int64_t most = gpu_waves_max(&plan->code);
    int64_t waves = 1;
    while (waves * 2 <= most && (leaves + waves * at_once - 1) / (waves * at_once) * rows > vm_gpu_limit.groups)
        waves *= 2;
    while ((leaves + waves * at_once - 1) / (waves * at_once) > most)
        waves *= 2;
    plan->words[GPU_WAVES] = (uint64_t)waves;
    plan->words[GPU_BLOCKS] = (uint64_t)((leaves + waves * at_once - 1) / (waves * at_once));
}

static void deal_rows(vm_gpu *plan, int64_t rows, int64_t reduced) {
    const gpu_kernel *code = &plan->code;
    const int64_t at_most = code->slots / GPU_LANES, leaves = (reduced + GPU_LEAF - 1) / GPU_LEAF;
    int64_t at_once = leaves < 1 ? 1 : leaves < at_most ? leaves : at_most, group = 1;
    plan->words[GPU_WAVES] = plan->words[GPU_BLOCKS] = 1;
    if (leaves > at_most)
        cut_rows(plan, rows, leaves, at_once);
    else
        while (group * 2 * at_once <= at_most && (rows + group - 1) / group > vm_gpu_limit.groups)
            group *= 2;
    if (code->across) /* neighbours are to be of a line in memory */
        while (group < 16 && group * 2 * at_once <= at_most)
            group *= 2;
    plan->words[GPU_LEAVES] = (uint64_t)at_once;
    plan->words[GPU_GROUP_ROWS] = (uint64_t)group;
    plan->launches[plan->nlaunches++] =
        (vm_gpu_launch){"kernel", (uint64_t)((rows + group - 1) / group) * plan->words[GPU_BLOCKS]};
    if (plan->words[GPU_BLOCKS] > 1) {
        plan->launches[plan->nlaunches++] = (vm_gpu_launch){"finish", (uint64_t)rows};
        plan->partial_bytes =
            (int64_t)gpu_areas_before(code, code->nsinks) * GPU_PARTIAL * rows * (int64_t)plan->words[GPU_BLOCKS];
    }
}

/* A row of several stages is one group's: its results are in shared memory. */
static void deal_stages(vm_gpu *plan, int64_t rows, int64_t reduced) {
    const int64_t at_most = plan->code.slots / GPU_LANES, leaves = (reduced + GPU_LEAF - 1) / GPU_LEAF;
    if (leaves <= at_most) {
        deal_rows(plan, rows, reduced);
        return;
    }
    int64_t waves = (leaves + at_most - 1) / at_most;
    plan->words[GPU_LEAVES] = (uint64_t)at_most;
    plan->words[GPU_GROUP_ROWS] = plan->words[GPU_BLOCKS] = 1;
    plan->words[GPU_WAVES] = (uint64_t)waves;
    plan->launches[plan->nlaunches++] = (vm_gpu_launch){"kernel", (uint64_t)rows};
}

static bool is_cheap(const gpu_kernel *code) {
    for (int k = 0; k < code->nins; k++)
        if (lazy_ops[code->ins[k].op]->ns >= 1)
            return false;
    return code->nins <= CHEAP_INS;
}

static bool leads_along(const grid *g, const lazy_wide_map *map) {
    bool along = map->offset % GPU_EACH == 0 && (g->ndim == 0 || map->stride[g->ndim - 1] == 1);
    for (int axis = 0; axis + 1 < g->ndim; axis++)
        along &= map->stride[axis] % GPU_EACH == 0;
    return along;
}

/* Can neighbours be loaded and stored together? Loads may be of one element for a line of the last axis, too. */
static void find_near(gpu_kernel *code, const grid *g, gpu_load *loads, gpu_sink *sinks) {
    const int last = g->ndim - 1;
    bool near = !code->reduces && code->each > 1 && (last < 1 || g->shape[last] % GPU_EACH == 0);
    for (int k = 0; k < code->nloads; k++)
        if (loads[k].kind == GPU_LOAD_BUFFER) {
            loads[k].map.along = leads_along(g, &g->maps[k]);
            near &= loads[k].map.along || (last >= 0 && g->maps[k].stride[last] == 0);
            near &= neap_dtype_bytes(loads[k].dtype) < VECTOR_BYTES;
        }
    for (int k = 0; k < code->nsinks; k++) {
        sinks[k].map.along = leads_along(g, &g->maps[code->nloads + k]);
        near &= sinks[k].map.along && neap_dtype_bytes(sinks[k].dtype) < VECTOR_BYTES;
    }
    code->near = near;
    for (int k = 0; k < code->nloads; k++)
        loads[k].map.along &= near;
    for (int k = 0; k < code->nsinks; k++)
        sinks[k].map.along &= near;
}

static void deal(vm_gpu *plan, const grid *g) {
    gpu_kernel *code = &plan->code;
    const int64_t rows = elements(g->shape, 0, g->nkept), reduced = elements(g->shape, g->nkept, g->ndim);
    code->wide = vm_gpu_limit.wide || rows * (reduced > 0 ? reduced : 1) >= INT64_C(1) << 31;
    plan->words[GPU_ROWS] = (uint64_t)rows;
    plan->words[GPU_REDUCED] = (uint64_t)reduced;
    if (!code->reduces) {
        const int64_t tile = (int64_t)GPU_THREADS * code->each;
        plan->launches[plan->nlaunches++] = (vm_gpu_launch){"kernel", (uint64_t)((rows + tile - 1) / tile)};
        return;
    }
    code->across = runs_across(code, g);
    (code->staged ? deal_stages : deal_rows)(plan, rows, reduced);
}

/* ---- Plans ------------------------------------------------------------------------------------------------------- */
static bool fill(vm_gpu *plan, const lazy_kernel *kernel, gpu_load *loads, native_ins *ins, gpu_sink *sinks,
                 int *levels) {
    grid g = {.maps = calloc((size_t)(kernel->nloads + kernel->nsinks), sizeof *g.maps)};
    gpu_kernel *code = &plan->code;
    int word;
    if (!g.maps)
        return false;
    grid_begin(&g, kernel);
    *code = (gpu_kernel){.ndim = g.ndim, .nkept = g.nkept, .nloads = kernel->nloads, .nins = kernel->nins};
    code->nsinks = kernel->nsinks, code->loads = loads, code->ins = ins, code->sinks = sinks;
    for (int k = 0; k < g.ndim; k++)
        plan->words[GPU_EXTENTS + k] = (uint64_t)g.shape[k];
    word = GPU_EXTENTS + g.ndim;
    for (int k = 0; k < kernel->nins; k++) {
        const lazy_ins *in = &kernel->ins[k];
        ins[k] = (native_ins){in->op, in->dtype, in->result, in->narg, {in->arg[0], in->arg[1], in->arg[2]}};
    }
    add_loads(plan, kernel, &g, loads, &word);
    add_sinks(plan, kernel, &g, sinks, &word);
    find_levels(code, levels);
    code->numbers = word;
    code->nwords = word + 2 * plan->nnumbers;
    code->each = is_cheap(code) ? GPU_EACH : 1;
    find_near(code, &g, loads, sinks);
    for (code->slots = vm_gpu_limit.slots; code->slots > SLOTS_MIN && shared_bytes(code) > SHARED_BYTES;)
        code->slots /= 2;
    deal(plan, &g);
    free(g.maps);
    return true;
}

int vm_gpu_new(const lazy_kernel *kernel, vm_gpu **out) {
    const size_t loads = (size_t)kernel->nloads * sizeof(gpu_load), sinks = (size_t)kernel->nsinks * sizeof(gpu_sink);
    const size_t words = (size_t)words_at_most(kernel) * sizeof(uint64_t);
    const size_t ins = (size_t)kernel->nins * sizeof(native_ins), values = (size_t)(kernel->nloads + kernel->nins);
    char *block = calloc(1, sizeof(vm_gpu) + words + loads + sinks + ins + values * sizeof(int));
    vm_gpu *plan = (vm_gpu *)block;
    *out = NULL;
    if (!plan)
        return neap_error(NEAP_E_MEMORY, "out of memory for a kernel of a GPU");
    char *at = block + sizeof *plan;
    plan->words = (uint64_t *)at;
    if (!fill(plan, kernel, (gpu_load *)(at + words), (native_ins *)(at + words + loads + sinks),
              (gpu_sink *)(at + words + loads), (int *)(at + words + loads + sinks + ins))) {
        free(plan);
        return neap_error(NEAP_E_MEMORY, "out of memory for a kernel of a GPU");
    }
    *out = plan;
    return NEAP_OK;
}

void vm_gpu_free(vm_gpu *plan) {
    free(plan);
}

void vm_gpu_words(const vm_gpu *plan, const lazy_scalar *numbers, uint64_t *words) {
    memcpy(words, plan->words, (size_t)plan->code.numbers * sizeof *words);
    for (int k = 0; k < plan->nnumbers; k++)
        memcpy(words + plan->code.numbers + 2 * k, &numbers[k], 2 * sizeof *words);
}

const char *vm_gpu_lacks(const vm_gpu *plan) {
    for (int k = 0; k < plan->nlaunches; k++)
        if (plan->launches[k].groups > INT32_MAX)
            return "it has more rows than a launch takes";
    if (plan->code.nwords + plan->code.nbuffers + 1 > WORDS_MAX)
        return "it has more operands than a launch takes";
    if (plan->code.reduces && shared_bytes(&plan->code) > SHARED_BYTES)
        return "it has more reductions than a group of threads has memory for";
    return NULL;
}
