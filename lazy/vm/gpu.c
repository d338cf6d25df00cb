/* vm/gpu.c: loops as launches on a GPU (gpu.h): maps become words, and rows are dealt out to groups of threads.
 *
 * Rows are cut into blocks where there are few of them, so that all of a GPU has work: a block is a power of two of
 * leaves, and so a whole subtree.
 */
#include "lazy/vm/gpu.h"

#include <stdlib.h>
#include <string.h>

#include "lazy/arena.h"

enum {
    SLOTS_MIN = 256,         /* a row of several stages has 32 leaves at most, in two waves */
    SHARED_BYTES = 48 << 10, /* what every GPU gives a group that asks for no more */
    WORDS_MAX = 480,         /* of a launch, with its buffers: 4 KiB */
    VECTOR_BYTES = 16,       /* of one load of a thread */
    CHEAP_INS = 32,          /* programs up to so long are written for several elements of a thread */
    SHORT_INS = 8            /* up to so long, for twice as many in a reduction */
};

vm_gpu_limits vm_gpu_limit = {.slots = 2048, .groups = 1024};

/* ---- Words ------------------------------------------------------------------------------------------------------- */
/* Writes a map's words from *word on, over axes first …. */
static gpu_map add_map(const lazy_kernel *g, const lazy_wide_map *map, int axes, uint64_t *words, int *word) {
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

static void add_loads(vm_gpu *plan, gpu_map *maps, int *word) {
    const lazy_kernel *g = plan->code.loop;
    for (int k = 0; k < g->nloads; k++) {
        const lazy_load *load = &g->loads[k];
        if (load->kind == LAZY_LOAD_SCALAR && load->slot >= plan->nnumbers)
            plan->nnumbers = load->slot + 1;
        if (!loop_has_map(load))
            continue;
        maps[k] = add_map(g, &load->read, g->ndim, plan->words, word);
        if (load->kind == LAZY_LOAD_TABLE) {
            plan->words[(*word)++] = (uint64_t)load->extent;
            plan->words[(*word)++] = (uint64_t)load->step;
        }
        if (load->kind != LAZY_LOAD_IOTA && load->slot >= plan->code.nbuffers)
            plan->code.nbuffers = load->slot + 1;
    }
}

static void add_sinks(vm_gpu *plan, gpu_map *maps, bool *chooses, int *word) {
    const lazy_kernel *g = plan->code.loop;
    for (int k = 0; k < g->nsinks; k++) {
        const lazy_sink *sink = &g->sinks[k];
        chooses[k] = sink->kind == LAZY_SINK_REDUCE && lazy_ops[sink->op]->flags & LAZY_OP_ARG;
        maps[k] = add_map(g, &sink->write, sink->kind == LAZY_SINK_STORE ? g->ndim : g->nkept, plan->words, word);
        plan->code.reduces |= sink->kind != LAZY_SINK_STORE;
        if (sink->slot >= plan->code.nbuffers)
            plan->code.nbuffers = sink->slot + 1;
    }
}

/* ---- Shapes of launches ------------------------------------------------------------------------------------------ */
/* Shared memory of a group of a kernel with so many slots. */
static int64_t shared_bytes(const gpu_kernel *code) {
    const lazy_kernel *g = code->loop;
    int64_t bytes = 0;
    for (int k = 0; k < g->nsinks; k++)
        if (g->sinks[k].kind == LAZY_SINK_REDUCE) {
            const int64_t slot = neap_dtype_bytes(loop_dtype_of(g, g->sinks[k].value)) + 4 * code->chooses[k];
            bytes += slot * (code->slots + gpu_waves_max(code)) +
                     (int64_t)gpu_rows_max(code) * neap_dtype_bytes(g->sinks[k].dtype) + 32;
        }
    return bytes;
}

static int64_t parts(int64_t of, int64_t size) {
    return (of + size - 1) / size;
}

/* How rows are shared out: a group of threads takes `group` rows, or a block of each, in waves of so many leaves. All
 * are powers of two, but the leaves of rows that are taken at once. */
typedef struct deal {
    int64_t group, leaves, waves, blocks;
} deal;

/* Rows in a line of memory for a group that runs across: a warp's loads are of whole lines then, whatever the dtype. */
enum { ACROSS = 32 };

/* Leaves that keep the threads of a group busy. */
enum { BUSY_LEAVES = GPU_THREADS / LAZY_LANES };

/* Whole rows in one wave: several in a group, if there are more than groups. */
static deal deal_whole(const gpu_kernel *code, int64_t rows, int64_t leaves) {
    const int64_t at_once = code->slots / LAZY_LANES;
    deal d = {.group = 1, .leaves = leaves, .waves = 1, .blocks = 1};
    while (d.group * 2 * leaves <= at_once &&
           (parts(rows, d.group) > vm_gpu_limit.groups || (code->across && d.group < ACROSS && d.group < rows)))
        d.group *= 2;
    return d;
}

/* Rows in waves. They are cut into blocks where there are few groups, as many as keep a GPU busy. */
static deal deal_waves(const gpu_kernel *code, int64_t rows, int64_t leaves) {
    const int64_t at_once = code->slots / LAZY_LANES, most = gpu_waves_max(code), enough = vm_gpu_limit.groups;
    deal d = {.group = 1};
    while (code->across && d.group < ACROSS && d.group < rows && d.group < at_once)
        d.group *= 2;
    for (;; d.group /= 2) {
        const int64_t groups = parts(rows, d.group);
        d.leaves = at_once / d.group, d.waves = 1;
        while (d.leaves > 1 && d.leaves * d.group > BUSY_LEAVES && groups * parts(leaves, d.leaves) * 2 <= enough)
            d.leaves /= 2;
        while (d.waves < parts(leaves, d.leaves) && d.waves * 2 * d.group <= most &&
               (groups * parts(leaves, d.leaves * d.waves) > enough || groups * 2 >= enough))
            d.waves *= 2;
        while (parts(leaves, d.leaves * d.waves) > most)
            d.waves *= 2;
        d.blocks = parts(leaves, d.leaves * d.waves);
        if (d.group == 1 || d.waves * d.group <= most)
            return d;
    }
}

static void take_deal(vm_gpu *plan, const deal *d, int64_t rows) {
    const gpu_kernel *code = &plan->code;
    plan->words[GPU_GROUP_ROWS] = (uint64_t)d->group;
    plan->words[GPU_LEAVES] = (uint64_t)d->leaves;
    plan->words[GPU_WAVES] = (uint64_t)d->waves;
    plan->words[GPU_BLOCKS] = (uint64_t)d->blocks;
    plan->launches[plan->nlaunches++] = (vm_gpu_launch){"kernel", (uint64_t)(parts(rows, d->group) * d->blocks)};
    if (d->blocks == 1)
        return;
    plan->launches[plan->nlaunches++] = (vm_gpu_launch){"finish", (uint64_t)rows};
    plan->partial_bytes = (int64_t)gpu_areas_before(code, code->loop->nsinks) * GPU_PARTIAL * rows * d->blocks;
}

/* Rows that one wave may take are cut all the same, if a group would go over them several times while most of a GPU had
 * nothing to do, or if its rows are less than a line of memory. */
static bool is_cut(const gpu_kernel *code, int64_t rows, int64_t leaves) {
    if (leaves > code->slots / LAZY_LANES)
        return true;
    const deal whole = deal_whole(code, rows, leaves);
    if (code->across && whole.group < ACROSS && whole.group < rows)
        return true;
    return whole.group * leaves > 2 * BUSY_LEAVES && parts(rows, whole.group) * 8 <= vm_gpu_limit.groups;
}

static void deal_rows(vm_gpu *plan, int64_t rows, int64_t reduced) {
    const int64_t leaves = loop_leaves(reduced) < 1 ? 1 : loop_leaves(reduced);
    const deal d = (is_cut(&plan->code, rows, leaves) ? deal_waves : deal_whole)(&plan->code, rows, leaves);
    take_deal(plan, &d, rows);
}

/* A row of several stages is one group's: its results are in shared memory. */
static void deal_stages(vm_gpu *plan, int64_t rows, int64_t reduced) {
    const int64_t at_once = plan->code.slots / LAZY_LANES;
    const int64_t leaves = loop_leaves(reduced) < 1 ? 1 : loop_leaves(reduced);
    const deal d =
        leaves <= at_once ? deal_whole(&plan->code, rows, leaves) : (deal){1, at_once, parts(leaves, at_once), 1};
    take_deal(plan, &d, rows);
}

static bool is_cheap(const lazy_kernel *g) {
    for (int k = 0; k < g->nins; k++)
        if (lazy_ops[g->ins[k].op]->ns >= 1)
            return false;
    return g->nins <= CHEAP_INS;
}

/* Loads of so many elements of a thread are under way together: fewer keep no GPU's memory busy, and with more of a
 * longer program the driver's compiler takes longer than the kernel. */
static int count_together(const gpu_kernel *code) {
    if (!is_cheap(code->loop))
        return 1;
    return code->reduces && code->loop->nins <= SHORT_INS ? GPU_FOLDED : GPU_EACH;
}

static bool leads_along(const lazy_kernel *g, const lazy_wide_map *map, int each) {
    bool along = map->offset % each == 0 && (g->ndim == 0 || map->stride[g->ndim - 1] == 1);
    for (int axis = 0; axis + 1 < g->ndim; axis++)
        along &= map->stride[axis] % each == 0;
    return along;
}

/* Can so many neighbours be loaded and stored together? Loads may be of one element for a line of the last axis. */
static bool are_near(const lazy_kernel *g, int each, gpu_map *maps) {
    const int last = g->ndim - 1;
    bool near = last < 1 || g->shape[last] % each == 0;
    for (int k = 0; k < g->nloads; k++)
        if (g->loads[k].kind == LAZY_LOAD_BUFFER) {
            maps[k].along = leads_along(g, &g->loads[k].read, each);
            near &= maps[k].along || (last >= 0 && g->loads[k].read.stride[last] == 0);
            near &= neap_dtype_bytes(g->loads[k].dtype) < VECTOR_BYTES;
        }
    for (int k = 0; k < g->nsinks; k++) {
        maps[g->nloads + k].along = leads_along(g, &g->sinks[k].write, each);
        near &= maps[g->nloads + k].along && neap_dtype_bytes(g->sinks[k].dtype) < VECTOR_BYTES;
    }
    for (int k = 0; k < g->nloads + g->nsinks; k++)
        maps[k].along &= near;
    return near;
}

/* Bytes of the widest elements in memory. */
static int widest_element(const lazy_kernel *g) {
    int most = 1;
    for (int k = 0; k < g->nloads; k++)
        if (g->loads[k].kind == LAZY_LOAD_BUFFER && neap_dtype_bytes(g->loads[k].dtype) > most)
            most = neap_dtype_bytes(g->loads[k].dtype);
    for (int k = 0; k < g->nsinks; k++)
        if (neap_dtype_bytes(g->sinks[k].dtype) > most)
            most = neap_dtype_bytes(g->sinks[k].dtype);
    return most;
}

/* Neighbours, if they can be: as many as fill a vector, but of long programs no more code than CHEAP_INS allows. */
static void find_near(gpu_kernel *code, gpu_map *maps) {
    const lazy_kernel *g = code->loop;
    int each = GPU_EACH;
    if (code->reduces || code->each == 1)
        return;
    while (2 * each * widest_element(g) <= VECTOR_BYTES && 2 * each * g->nins <= GPU_EACH * CHEAP_INS)
        each *= 2;
    for (; each >= GPU_EACH && !code->near; each /= 2) {
        code->near = are_near(g, each, maps);
        code->each = code->near ? each : code->each;
    }
}

/* ---- Tiles ------------------------------------------------------------------------------------------------------- */
/* Shorter axes leave most of a tile empty, and their lines are found in caches. */
enum { TILED_FROM = GPU_TILE / 2 };

/* The axis along which a load runs, if that is not the last one; -1: none that makes tiles. */
static int other_axis(const lazy_kernel *g, const lazy_load *load) {
    const int64_t *stride = load->read.stride;
    if (load->kind != LAZY_LOAD_BUFFER || stride[g->ndim - 1] == 0 || stride[g->ndim - 1] == 1)
        return -1;
    for (int axis = 0; axis < g->ndim - 1; axis++)
        if (stride[axis] == 1 && g->shape[axis] >= TILED_FROM)
            return axis;
    return -1;
}

/* Tiles, if stores run along the last axis and a load along another one; of several such axes the first one. */
static void find_tiles(gpu_kernel *code, gpu_map *maps) {
    const lazy_kernel *g = code->loop;
    bool fits = !code->reduces && !code->near && code->each == GPU_EACH && g->ndim > 1;
    int64_t bytes = 0;
    fits = fits && g->shape[g->ndim - 1] >= TILED_FROM;
    for (int k = 0; k < g->nsinks; k++)
        fits = fits && g->sinks[k].write.stride[g->ndim - 1] == 1;
    for (int k = 0; k < g->nloads && fits; k++) {
        const int axis = other_axis(g, &g->loads[k]);
        const int64_t more = (int64_t)GPU_TILE * (GPU_TILE + 1) * neap_dtype_bytes(g->loads[k].dtype);
        if (axis < 0 || (code->tiled && axis != code->tile_axis) || bytes + more > SHARED_BYTES)
            continue;
        code->tiled = true, code->tile_axis = axis;
        maps[k].turned = true;
        bytes += more;
    }
}

static int64_t count_tiles(const gpu_kernel *code) {
    int64_t tiles = 1;
    for (int axis = 0; axis < code->loop->ndim; axis++) {
        const bool cut = axis == code->tile_axis || axis == code->loop->ndim - 1;
        tiles *= cut ? parts(code->loop->shape[axis], GPU_TILE) : code->loop->shape[axis];
    }
    return tiles;
}

static void deal_out(vm_gpu *plan) {
    gpu_kernel *code = &plan->code;
    const lazy_kernel *g = code->loop;
    const int64_t rows = loop_elements(g->shape, 0, g->nkept), reduced = loop_elements(g->shape, g->nkept, g->ndim);
    code->wide = vm_gpu_limit.wide || rows * (reduced > 0 ? reduced : 1) >= INT64_C(1) << 31;
    plan->words[GPU_ROWS] = (uint64_t)rows;
    plan->words[GPU_REDUCED] = (uint64_t)reduced;
    if (!code->reduces) {
        const int64_t tile = (int64_t)GPU_THREADS * code->each;
        const int64_t groups = code->tiled ? count_tiles(code) : parts(rows, tile);
        plan->launches[plan->nlaunches++] = (vm_gpu_launch){"kernel", (uint64_t)groups};
        return;
    }
    code->across = loop_runs_across(g);
    (code->staged ? deal_stages : deal_rows)(plan, rows, reduced);
}

/* ---- Plans ------------------------------------------------------------------------------------------------------- */
static void fill(vm_gpu *plan, gpu_map *maps, bool *chooses, int *levels) {
    gpu_kernel *code = &plan->code;
    const lazy_kernel *g = code->loop;
    int word = GPU_EXTENTS;
    code->maps = maps, code->chooses = chooses, code->levels = levels;
    for (int k = 0; k < g->ndim; k++)
        plan->words[word++] = (uint64_t)g->shape[k];
    add_loads(plan, maps, &word);
    add_sinks(plan, maps + g->nloads, chooses, &word);
    loop_levels(g, levels);
    for (int k = 0; k < g->nsinks; k++)
        code->staged |= g->sinks[k].kind != LAZY_SINK_STORE_ROW && levels[g->sinks[k].value] > 0;
    code->numbers = word;
    code->nwords = word + 2 * plan->nnumbers;
    code->each = count_together(code);
    find_near(code, maps);
    find_tiles(code, maps);
    for (code->slots = vm_gpu_limit.slots; code->slots > SLOTS_MIN && shared_bytes(code) > SHARED_BYTES;)
        code->slots /= 2;
    deal_out(plan);
}

int vm_gpu_new(const lazy_kernel *kernel, vm_gpu **out) {
    lazy_kernel *g = loop_collapse(kernel);
    gpu_map *maps;
    uint64_t *words;
    int *levels;
    bool *chooses;
    *out = NULL;
    if (!g ||
        !LAZY_ARENA(LAZY_PART(*out, 1), LAZY_PART(words, words_at_most(kernel)), LAZY_PART(maps, g->nloads + g->nsinks),
                    LAZY_PART(levels, g->nloads + g->nins), LAZY_PART(chooses, g->nsinks))) {
        free(g);
        return neap_error(NEAP_E_MEMORY, "out of memory for a kernel of a GPU");
    }
    (*out)->words = words, (*out)->code.loop = (*out)->loop = g;
    fill(*out, maps, chooses, levels);
    return NEAP_OK;
}

void vm_gpu_free(vm_gpu *plan) {
    if (plan)
        free(plan->loop);
    free(plan);
}

void vm_gpu_words(const vm_gpu *plan, const lazy_scalar *numbers, uint64_t *words) {
    memcpy(words, plan->words, (size_t)plan->code.numbers * sizeof *words);
    for (int k = 0; k < plan->nnumbers; k++)
        memcpy(words + plan->code.numbers + 2 * k, &numbers[k], 2 * sizeof *words);
}

const char *vm_gpu_lacks(const vm_gpu *plan) {
    if (plan->code.reduces &&
        plan->words[GPU_WAVES] * plan->words[GPU_GROUP_ROWS] > (uint64_t)gpu_waves_max(&plan->code))
        return "its rows have more elements than launches take";
    for (int k = 0; k < plan->nlaunches; k++)
        if (plan->launches[k].groups > INT32_MAX)
            return "it has more rows than a launch takes";
    if (plan->code.nwords + plan->code.nbuffers + 1 > WORDS_MAX)
        return "it has more operands than a launch takes";
    if (plan->code.reduces && shared_bytes(&plan->code) > SHARED_BYTES)
        return "it has more reductions than a group of threads has memory for";
    return NULL;
}
