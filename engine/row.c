/* row.c: rows of launches and copies, which are enqueued as one graph where a kind has graphs.
 *
 *      record:   step k as it was? ──▶ nothing     other words, same code? ──▶ changed     another step? ──▶ other
 *      run:      first time ──▶ graph_new     later ──▶ graph_change of what has changed ──▶ graph_run
 *
 * Step k has its words (the addresses of buffers, then scalars) at a place of its own in `words`, since most steps stay
 * as they are. A row that was recorded once with other steps is enqueued step by step from then on: its graph may still
 * be under way, so there is no other one in its place.
 */
#include "engine/device_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct row_step {
    neap_graph_step step; /* buffers and scalars are set when it is enqueued, or told of */
    size_t first;         /* of its words */
    bool changed;         /* the graph has not been told */
} row_step;

/* Memory of steps. As these are done one after the other, what one has given back may be another's. Little is kept with
 * the row, and in the same place in each recording; what is large is had in the stream's order each time. */
typedef struct row_room {
    neap_buffer *kept; /* NULL: it is large */
    void *memory;
    size_t bytes;
    bool taken;
} row_room;

struct neap_row {
    int device, n, capacity, recorded, nrooms, changes;
    bool other;   /* it has had other steps than its graph */
    bool refused; /* the kind makes no graph of it */
    neap_stream *stream;
    row_step *steps;
    uint64_t *words;
    size_t nwords, words_capacity;
    row_room *rooms;
    neap_graph *graph;
};

int neap_row_new(int device, neap_row **out) {
    const neap_device_kind *kind = neap_device_kind_of(device);
    if (!kind)
        return neap_error_code();
    neap_row *row = engine_alloc(sizeof *row);
    if (!row)
        return neap_error(NEAP_E_MEMORY, "no memory for a row");
    *row = (neap_row){.device = device, .refused = !kind->graph_new};
    *out = row;
    return NEAP_OK;
}

/* Gives back what is large, behind what stands in the stream. */
static void drop_large_rooms(neap_row *row) {
    const engine_device *device = engine_device_at(row->device);
    int kept = 0;
    for (int k = 0; k < row->nrooms; k++) {
        if (row->rooms[k].kept)
            row->rooms[kept++] = row->rooms[k];
        else if (device)
            device->kind->free(device->handle, row->stream, row->rooms[k].memory, row->rooms[k].bytes);
    }
    row->nrooms = kept;
}

void neap_row_free(neap_row *row) {
    if (!row)
        return;
    const engine_device *device = row->graph ? engine_device_at(row->device) : NULL;
    if (device)
        device->kind->graph_free(device->handle, row->graph);
    drop_large_rooms(row);
    for (int k = 0; k < row->nrooms; k++)
        neap_buffer_release(row->rooms[k].kept);
    free(row->rooms);
    free(row->steps);
    free(row->words);
    free(row);
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */

void neap_row_record(neap_row *row, const neap_run *run, neap_run *recording) {
    drop_large_rooms(row);
    for (int k = 0; k < row->nrooms; k++)
        row->rooms[k].taken = false;
    row->recorded = 0;
    row->stream = run->stream;
    *recording = *run;
    recording->row = row;
}

/* Makes room for `wanted` elements of a growing array. */
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

/* Takes a step that stands where there was none, or another one; the words of those behind it are forgotten. */
static int append(neap_row *row, const neap_graph_step *step, size_t nwords) {
    int k = row->recorded;
    size_t capacity = (size_t)row->capacity, first = k ? row->steps[k - 1].first : 0;
    if (k)
        first += (size_t)row->steps[k - 1].step.launch.nbuffers + (size_t)row->steps[k - 1].step.launch.nscalars;
    if (!grow((void **)&row->steps, sizeof *row->steps, (size_t)k + 1, &capacity) ||
        !grow((void **)&row->words, sizeof *row->words, first + nwords, &row->words_capacity))
        return neap_error(NEAP_E_MEMORY, "no memory for a row");
    row->capacity = (int)capacity;
    row->other |= row->graph != NULL;
    row->n = k + 1;
    row->nwords = first + nwords;
    row->steps[k] = (row_step){.step = *step, .first = first};
    return NEAP_OK;
}

static bool has_same_words(const neap_row *row, const row_step *step, const neap_launch *launch) {
    const uint64_t *words = row->words + step->first;
    size_t nbuffers = (size_t)launch->nbuffers, nscalars = (size_t)launch->nscalars;
    return (!nbuffers || memcmp(words, launch->buffers, nbuffers * sizeof *words) == 0) &&
           (!nscalars || memcmp(words + nbuffers, launch->scalars, nscalars * sizeof *words) == 0);
}

static void take_words(neap_row *row, const row_step *step, const neap_launch *launch) {
    uint64_t *words = row->words + step->first;
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

/* The step that was recorded at this place the last time; NULL: there was none. */
static row_step *next_step(const neap_row *row) {
    return row->recorded < row->n ? &row->steps[row->recorded] : NULL;
}

int engine_row_launch(neap_row *row, const neap_launch *launch) {
    row_step *step = next_step(row);
    if (!step || !is_of_same_shape(&step->step.launch, launch)) {
        neap_graph_step made = {.launch = *launch};
        int status = append(row, &made, (size_t)launch->nbuffers + (size_t)launch->nscalars);
        if (status)
            return status;
        row->refused |= !launch->code;
        step = &row->steps[row->recorded];
        take_words(row, step, launch);
    } else if (!has_same_words(row, step, launch) || !has_same_extent(&step->step.launch, launch)) {
        step->step.launch = *launch;
        step->changed = true;
        take_words(row, step, launch);
    }
    step->step.launch.name = launch->name;
    row->recorded++;
    return NEAP_OK;
}

int engine_row_copy(neap_row *row, void *to, const void *from, size_t bytes) {
    row_step *step = next_step(row);
    const neap_graph_step copy = {.to = to, .from = from, .bytes = bytes};
    if (!step || step->step.launch.code || step->step.launch.host) {
        int status = append(row, &copy, 0);
        if (status)
            return status;
    } else if (step->step.to != to || step->step.from != from || step->step.bytes != bytes) {
        step->step = copy;
        step->changed = true;
    }
    row->recorded++;
    return NEAP_OK;
}

/* The smallest free room that is large enough; NULL: there is none. */
static row_room *find_room(const neap_row *row, size_t bytes) {
    row_room *best = NULL;
    for (int k = 0; k < row->nrooms; k++) {
        row_room *room = &row->rooms[k];
        if (!room->taken && room->bytes >= bytes && (!best || room->bytes < best->bytes))
            best = room;
    }
    return best;
}

static int make_room(neap_row *row, size_t bytes, row_room **out) {
    size_t wanted = ((size_t)row->nrooms + 1) * sizeof(row_room);
    row_room *grown = engine_alloc_refuse() ? NULL : realloc(row->rooms, wanted);
    if (!grown)
        return neap_error(NEAP_E_MEMORY, "no memory for a row");
    row->rooms = grown;
    row_room made = {.bytes = bytes};
    int status = bytes > NEAP_ROW_KEPT
                     ? engine_memory_alloc(engine_device_at(row->device), row->stream, bytes, &made.memory)
                     : neap_buffer_new(row->device, bytes, &made.kept);
    if (status)
        return status;
    if (made.kept)
        made.memory = neap_buffer_data(made.kept);
    *out = &grown[row->nrooms++];
    **out = made;
    return NEAP_OK;
}

int engine_row_alloc(neap_row *row, size_t bytes, void **out) {
    row_room *room = find_room(row, bytes);
    int status = room ? NEAP_OK : make_room(row, bytes, &room);
    if (status)
        return status;
    room->taken = true;
    *out = room->memory;
    return NEAP_OK;
}

void engine_row_free(neap_row *row, const void *memory) {
    for (int k = 0; k < row->nrooms; k++)
        if (row->rooms[k].memory == memory)
            row->rooms[k].taken = false;
}

/* ---- Enqueuing --------------------------------------------------------------------------------------------------- */

static const neap_graph_step *finished_step(neap_row *row, int k) {
    row_step *step = &row->steps[k];
    neap_launch *launch = &step->step.launch;
    launch->buffers = (void *const *)(row->words + step->first);
    launch->scalars = row->words + step->first + launch->nbuffers;
    return &step->step;
}

static int run_step_by_step(neap_row *row, const engine_device *device, const neap_run *run) {
    int status = NEAP_OK;
    for (int k = 0; k < row->recorded && !status; k++) {
        const neap_graph_step *step = finished_step(row, k);
        status =
            step->launch.code || step->launch.host
                ? device->kind->launch(device->handle, run->stream, &step->launch)
                : device->kind->copy(device->handle, run->stream, NEAP_COPY_WITHIN, step->to, step->from, step->bytes);
    }
    return status;
}

static int make_graph(neap_row *row, const engine_device *device) {
    neap_graph_step *steps = engine_alloc((size_t)row->n * sizeof *steps);
    if (!steps)
        return neap_error(NEAP_E_MEMORY, "no memory for a row");
    for (int k = 0; k < row->n; k++)
        steps[k] = *finished_step(row, k);
    int status = device->kind->graph_new(device->handle, row->n, steps, &row->graph);
    free(steps);
    for (int k = 0; k < row->n && !status; k++)
        row->steps[k].changed = false;
    row->refused |= status == NEAP_E_LIBRARY;
    return status;
}

static int tell_changes(neap_row *row, const engine_device *device) {
    int status = NEAP_OK;
    row->changes = 0;
    for (int k = 0; k < row->n && !status; k++) {
        if (!row->steps[k].changed)
            continue;
        status = device->kind->graph_change(device->handle, row->graph, k, finished_step(row, k));
        row->steps[k].changed = status != NEAP_OK;
        row->changes++;
    }
    return status;
}

/* A graph is not worth failing for: without one, the steps tell what is wrong. */
static bool run_graph(neap_row *row, const engine_device *device, const neap_run *run) {
    row->other |= row->graph && row->recorded != row->n;
    row->n = row->recorded;
    return !row->refused && !row->other && (row->graph || make_graph(row, device) == NEAP_OK) &&
           tell_changes(row, device) == NEAP_OK &&
           device->kind->graph_run(device->handle, run->stream, row->graph) == NEAP_OK;
}

int neap_row_run(neap_row *row, const neap_run *run) {
    const engine_device *device = engine_device_at(run->device);
    int status = row->recorded == 0 || run_graph(row, device, run) ? NEAP_OK : run_step_by_step(row, device, run);
    drop_large_rooms(row);
    return status;
}

int neap_row_is_idle(const neap_row *row) {
    return row->refused || row->other || 2 * row->changes > row->n;
}
