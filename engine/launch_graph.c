/* launch_graph.c: recorded launches and copies, enqueued by one call where a kind has graphs.
 *
 *      record:   step k as it was? ──▶ nothing     other words, same code? ──▶ changed     another step? ──▶ other
 *      run:      first time ──▶ graph_new     later ──▶ graph_change of what has changed ──▶ graph_run
 *
 * Step k has its words (the addresses of buffers, then scalars) at an offset of its own in `words`, since most steps
 * stay the same. Once recorded with other steps, a launch graph is enqueued step by step: the graph made by the kind
 * may still be under way, so no other graph is made in its place.
 */
#include "engine/device_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct graph_step {
    neap_graph_step step; /* buffers and scalars are set before the kind sees the step */
    size_t first;         /* of its words */
    bool changed;         /* the kind has not been told */
} graph_step;

/* Memory of steps. As steps are done one after the other, a later step may get what an earlier one gave back. Small
 * memory stays with the graph, at the same address in each recording; large memory is taken in the stream's order each
 * time. */
typedef struct graph_scratch {
    neap_buffer *kept; /* NULL: large memory */
    void *memory;
    size_t bytes;
    bool taken;
} graph_scratch;

struct neap_launch_graph {
    int device, n, capacity, recorded, nscratch, changes;
    bool other;   /* recorded with other steps than `made` has */
    bool refused; /* the kind makes no graph of the steps */
    neap_stream *stream;
    graph_step *steps;
    uint64_t *words;
    size_t nwords, words_capacity;
    graph_scratch *scratch;
    neap_graph *made; /* by the kind; NULL: not yet */
};

int neap_launch_graph_new(int device, neap_launch_graph **out) {
    const neap_device_kind *kind = neap_device_kind_of(device);
    if (!kind)
        return neap_error_code();
    neap_launch_graph *graph = engine_alloc(sizeof *graph);
    if (!graph)
        return neap_error(NEAP_E_MEMORY, "no memory for a launch graph");
    *graph = (neap_launch_graph){.device = device, .refused = !kind->graph_new};
    *out = graph;
    return NEAP_OK;
}

/* Gives large memory back, behind the work in the stream. */
static void drop_large_scratch(neap_launch_graph *graph) {
    const engine_device *device = engine_device_at(graph->device);
    int kept = 0;
    for (int k = 0; k < graph->nscratch; k++) {
        if (graph->scratch[k].kept)
            graph->scratch[kept++] = graph->scratch[k];
        else if (device)
            device->kind->free(device->handle, graph->stream, graph->scratch[k].memory, graph->scratch[k].bytes);
    }
    graph->nscratch = kept;
}

void neap_launch_graph_free(neap_launch_graph *graph) {
    if (!graph)
        return;
    const engine_device *device = graph->made ? engine_device_at(graph->device) : NULL;
    if (device)
        device->kind->graph_free(device->handle, graph->made);
    drop_large_scratch(graph);
    for (int k = 0; k < graph->nscratch; k++)
        neap_buffer_release(graph->scratch[k].kept);
    free(graph->scratch);
    free(graph->steps);
    free(graph->words);
    free(graph);
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */

void neap_launch_graph_record(neap_launch_graph *graph, const neap_run *run, neap_run *recording) {
    drop_large_scratch(graph);
    for (int k = 0; k < graph->nscratch; k++)
        graph->scratch[k].taken = false;
    graph->recorded = 0;
    graph->stream = run->stream;
    *recording = *run;
    recording->graph = graph;
}

/* Lets a growing array have `wanted` elements. */
static bool grow(void **array, size_t bytes, size_t wanted, size_t *capacity) {
    if (wanted <= *capacity)
        return true;
    size_t more = 2 * wanted;
    void *grown = engine_alloc_refuse() ? NULL : realloc(*array, more * bytes);
    if (!grown)
        return false;
    *array = grown;
    *capacity = more;
    return true;
}

/* Takes a new or another step at the recorded position; the words of later steps are forgotten. */
static int append(neap_launch_graph *graph, const neap_graph_step *step, size_t nwords) {
    int k = graph->recorded;
    size_t capacity = (size_t)graph->capacity, first = k ? graph->steps[k - 1].first : 0;
    if (k)
        first += (size_t)graph->steps[k - 1].step.launch.nbuffers + (size_t)graph->steps[k - 1].step.launch.nscalars;
    if (!grow((void **)&graph->steps, sizeof *graph->steps, (size_t)k + 1, &capacity) ||
        !grow((void **)&graph->words, sizeof *graph->words, first + nwords, &graph->words_capacity))
        return neap_error(NEAP_E_MEMORY, "no memory for a launch graph");
    graph->capacity = (int)capacity;
    graph->other |= graph->made != NULL;
    graph->n = k + 1;
    graph->nwords = first + nwords;
    graph->steps[k] = (graph_step){.step = *step, .first = first};
    return NEAP_OK;
}

static bool has_same_words(const neap_launch_graph *graph, const graph_step *step, const neap_launch *launch) {
    const uint64_t *words = graph->words + step->first;
    size_t nbuffers = (size_t)launch->nbuffers, nscalars = (size_t)launch->nscalars;
    return (!nbuffers || memcmp(words, launch->buffers, nbuffers * sizeof *words) == 0) &&
           (!nscalars || memcmp(words + nbuffers, launch->scalars, nscalars * sizeof *words) == 0);
}

static void take_words(neap_launch_graph *graph, const graph_step *step, const neap_launch *launch) {
    uint64_t *words = graph->words + step->first;
    size_t nbuffers = (size_t)launch->nbuffers, nscalars = (size_t)launch->nscalars;
    if (nbuffers)
        memcpy(words, launch->buffers, nbuffers * sizeof *words);
    if (nscalars)
        memcpy(words + nbuffers, launch->scalars, nscalars * sizeof *words);
}

static bool has_same_extent(const neap_launch *a, const neap_launch *b) {
    return memcmp(a->groups, b->groups, sizeof a->groups) == 0 &&
           memcmp(a->threads, b->threads, sizeof a->threads) == 0 && a->shared_bytes == b->shared_bytes;
}

static bool is_of_same_shape(const neap_launch *a, const neap_launch *b) {
    return a->code == b->code && a->host == b->host && a->nbuffers == b->nbuffers && a->nscalars == b->nscalars;
}

/* The step recorded at this position the last time; NULL: there was none. */
static graph_step *next_step(const neap_launch_graph *graph) {
    return graph->recorded < graph->n ? &graph->steps[graph->recorded] : NULL;
}

int engine_launch_graph_launch(neap_launch_graph *graph, const neap_launch *launch) {
    graph_step *step = next_step(graph);
    if (!step || !is_of_same_shape(&step->step.launch, launch)) {
        neap_graph_step made = {.launch = *launch};
        int status = append(graph, &made, (size_t)launch->nbuffers + (size_t)launch->nscalars);
        if (status)
            return status;
        graph->refused |= !launch->code;
        step = &graph->steps[graph->recorded];
        take_words(graph, step, launch);
    } else if (!has_same_words(graph, step, launch) || !has_same_extent(&step->step.launch, launch)) {
        step->step.launch = *launch;
        step->changed = true;
        take_words(graph, step, launch);
    }
    step->step.launch.name = launch->name;
    graph->recorded++;
    return NEAP_OK;
}

int engine_launch_graph_copy(neap_launch_graph *graph, void *to, const void *from, size_t bytes) {
    graph_step *step = next_step(graph);
    const neap_graph_step copy = {.to = to, .from = from, .bytes = bytes};
    if (!step || step->step.launch.code || step->step.launch.host) {
        int status = append(graph, &copy, 0);
        if (status)
            return status;
    } else if (step->step.to != to || step->step.from != from || step->step.bytes != bytes) {
        step->step = copy;
        step->changed = true;
    }
    graph->recorded++;
    return NEAP_OK;
}

/* The smallest free memory of enough bytes; NULL: there is none. */
static graph_scratch *find_scratch(const neap_launch_graph *graph, size_t bytes) {
    graph_scratch *best = NULL;
    for (int k = 0; k < graph->nscratch; k++) {
        graph_scratch *found = &graph->scratch[k];
        if (!found->taken && found->bytes >= bytes && (!best || found->bytes < best->bytes))
            best = found;
    }
    return best;
}

static int make_scratch(neap_launch_graph *graph, size_t bytes, graph_scratch **out) {
    size_t wanted = ((size_t)graph->nscratch + 1) * sizeof(graph_scratch);
    graph_scratch *grown = engine_alloc_refuse() ? NULL : realloc(graph->scratch, wanted);
    if (!grown)
        return neap_error(NEAP_E_MEMORY, "no memory for a launch graph");
    graph->scratch = grown;
    graph_scratch made = {.bytes = bytes};
    int status = bytes > NEAP_LAUNCH_GRAPH_KEPT
                     ? engine_memory_alloc(engine_device_at(graph->device), graph->stream, bytes, &made.memory)
                     : neap_buffer_new(graph->device, bytes, &made.kept);
    if (status)
        return status;
    if (made.kept)
        made.memory = neap_buffer_data(made.kept);
    *out = &grown[graph->nscratch++];
    **out = made;
    return NEAP_OK;
}

int engine_launch_graph_alloc(neap_launch_graph *graph, size_t bytes, void **out) {
    graph_scratch *found = find_scratch(graph, bytes);
    int status = found ? NEAP_OK : make_scratch(graph, bytes, &found);
    if (status)
        return status;
    found->taken = true;
    *out = found->memory;
    return NEAP_OK;
}

void engine_launch_graph_free(neap_launch_graph *graph, const void *memory) {
    for (int k = 0; k < graph->nscratch; k++)
        if (graph->scratch[k].memory == memory)
            graph->scratch[k].taken = false;
}

/* ---- Enqueuing --------------------------------------------------------------------------------------------------- */

static const neap_graph_step *finished_step(neap_launch_graph *graph, int k) {
    graph_step *step = &graph->steps[k];
    neap_launch *launch = &step->step.launch;
    launch->buffers = (void *const *)(graph->words + step->first);
    launch->scalars = graph->words + step->first + launch->nbuffers;
    return &step->step;
}

static int run_step_by_step(neap_launch_graph *graph, const engine_device *device, const neap_run *run) {
    int status = NEAP_OK;
    for (int k = 0; k < graph->recorded && !status; k++) {
        const neap_graph_step *step = finished_step(graph, k);
        status =
            step->launch.code || step->launch.host
                ? device->kind->launch(device->handle, run->stream, &step->launch)
                : device->kind->copy(device->handle, run->stream, NEAP_COPY_WITHIN, step->to, step->from, step->bytes);
    }
    return status;
}

static int make_graph(neap_launch_graph *graph, const engine_device *device) {
    neap_graph_step *steps = engine_alloc((size_t)graph->n * sizeof *steps);
    if (!steps)
        return neap_error(NEAP_E_MEMORY, "no memory for a launch graph");
    for (int k = 0; k < graph->n; k++)
        steps[k] = *finished_step(graph, k);
    int status = device->kind->graph_new(device->handle, graph->n, steps, &graph->made);
    free(steps);
    for (int k = 0; k < graph->n && !status; k++)
        graph->steps[k].changed = false;
    graph->refused |= status == NEAP_E_LIBRARY;
    return status;
}

static int tell_changes(neap_launch_graph *graph, const engine_device *device) {
    int status = NEAP_OK;
    graph->changes = 0;
    for (int k = 0; k < graph->n && !status; k++) {
        if (!graph->steps[k].changed)
            continue;
        status = device->kind->graph_change(device->handle, graph->made, k, finished_step(graph, k));
        graph->steps[k].changed = status != NEAP_OK;
        graph->changes++;
    }
    return status;
}

/* A graph is not worth failing for: without a graph, the steps tell their fault. */
static bool run_graph(neap_launch_graph *graph, const engine_device *device, const neap_run *run) {
    graph->other |= graph->made && graph->recorded != graph->n;
    graph->n = graph->recorded;
    return !graph->refused && !graph->other && (graph->made || make_graph(graph, device) == NEAP_OK) &&
           tell_changes(graph, device) == NEAP_OK &&
           device->kind->graph_run(device->handle, run->stream, graph->made) == NEAP_OK;
}

int neap_launch_graph_run(neap_launch_graph *graph, const neap_run *run) {
    const engine_device *device = engine_device_at(run->device);
    int status = graph->recorded == 0 || run_graph(graph, device, run) ? NEAP_OK : run_step_by_step(graph, device, run);
    drop_large_scratch(graph);
    return status;
}

int neap_launch_graph_is_idle(const neap_launch_graph *graph) {
    return graph->refused || graph->other || 2 * graph->changes > graph->n;
}
