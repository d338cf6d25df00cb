/* extents.c: which expressions the axes of arrays are (sizes.h).
 *
 * The answer may be a guess: that an axis is n where its extent was n for every choice of sizes that was tried. Nothing
 * is wrong if a guess is: when a transcript is played, an array whose extents the caller has seen must have those, or
 * there is an error (play.c). An axis for which there is no good guess is an atom of its own, which has the value that
 * the axis then has.
 */
#include <math.h>
#include <string.h>

#include "lazy/sizes/sizes.h"

/* What the extents of one result were: by probe and axis. That of now is known. */
typedef struct found_extents {
    int ndim, known; /* known: how many probes are */
    bool knows[SIZES_PROBES];
    double at[SIZES_PROBES][NEAP_MAX_DIMS];
} found_extents;

/* ---- Asking the rules of a row for other sizes ------------------------------------------------------------------- */
static void fill_shape(const neap_transcript *t, const sizes_value *value, int probe, int64_t *shape) {
    for (int k = 0; k < value->node->ndim; k++) {
        int32_t expr = value->extents ? value->extents[k] : 0;
        shape[k] = expr ? (int64_t)t->exprs.at[expr].at[probe] : value->node->shape[k];
    }
}

static bool infer_at(const neap_transcript *t, const sizes_entry *entry, int probe, lazy_result *result) {
    const graph_note *note = &entry->note;
    neap_node *in[NEAP_MAX_INPUTS];
    int64_t shapes[NEAP_MAX_INPUTS][NEAP_MAX_DIMS], few[64], *attrs = few;
    const int64_t *shape[NEAP_MAX_INPUTS];
    if (note->nin > NEAP_MAX_INPUTS || note->nints > 64)
        return false;
    for (int k = 0; k < note->nin; k++) {
        const sizes_value *value = &t->values.at[note->in[k]];
        in[k] = value->node;
        fill_shape(t, value, probe, shapes[k]);
        shape[k] = shapes[k];
    }
    memcpy(attrs, note->ints, (size_t)note->nints * sizeof *attrs);
    for (int k = 0; k < entry->nsized; k++)
        if (entry->sized[k].at >= 0)
            attrs[entry->sized[k].at] = (int64_t)t->exprs.at[entry->sized[k].expr].at[probe];
    graph_call call = {.op = note->op, .nin = note->nin, .nattrs = note->nints, .in = in, .attrs = attrs};
    return graph_infer_at(&call, shape, result) == 0;
}

/* Blocks of bodies have the shapes that the rules say, if these say so of those that there are. */
static bool is_as_inferred(const neap_transcript *t, const sizes_entry *entry, const found_extents *found) {
    lazy_result result = {0};
    if (!infer_at(t, entry, 0, &result) || result.ndim != found->ndim)
        return false;
    for (int k = 0; k < found->ndim; k++)
        if (found->at[0][k] != (double)result.shape[k])
            return false;
    return true;
}

static void infer_probes(const neap_transcript *t, const sizes_entry *entry, found_extents *found) {
    bool meshed = false;
    for (int k = 0; k < entry->note.nin; k++)
        meshed |= graph_is_meshed(t->values.at[entry->note.in[k]].node);
    if (meshed && !is_as_inferred(t, entry, found))
        return;
    for (int p = 1; p < SIZES_PROBES; p++) { /* not every op takes the sizes of every choice */
        lazy_result result = {0};
        found->knows[p] = infer_at(t, entry, p, &result) && result.ndim == found->ndim;
        found->known += found->knows[p];
        for (int k = 0; k < found->ndim && found->knows[p]; k++)
            found->at[p][k] = (double)result.shape[k];
    }
}

/* ---- Choosing ---------------------------------------------------------------------------------------------------- */
static bool fits(const found_extents *found, int axis, const sizes_expr *e) {
    if (sizes_is_real(e))
        return false;
    for (int p = 0; p < SIZES_PROBES; p++)
        if (found->knows[p] && found->at[p][axis] != e->at[p])
            return false;
    return true;
}

/* Operands' axes and attributes come first, the newest expressions before older ones; these only where more is known
 * than the sizes of now, which many fit by chance. */
static int32_t find_fitting(const neap_transcript *t, const sizes_entry *entry, const found_extents *found, int axis) {
    for (int k = 0; k < entry->nsized; k++)
        if (fits(found, axis, &t->exprs.at[entry->sized[k].expr]))
            return entry->sized[k].expr;
    for (int k = 0; k < entry->note.nin; k++) {
        const sizes_value *value = &t->values.at[entry->note.in[k]];
        for (int a = 0; entry->note.in[k] && value->extents && a < value->node->ndim; a++)
            if (value->extents[a] && fits(found, axis, &t->exprs.at[value->extents[a]]))
                return value->extents[a];
    }
    for (int64_t k = t->exprs.n; k-- > 1 && found->known > 1;)
        if (fits(found, axis, &t->exprs.at[k]))
            return (int32_t)k;
    return 0;
}

/* A sum, difference or product of two axes or attributes, as joins, pads and reshapes make: of declared sizes and a
 * number. */
static int32_t find_linear(neap_transcript *t, const found_extents *found, int axis) {
    int other = 1;
    while (other < SIZES_PROBES && !found->knows[other])
        other++;
    for (int64_t s = 0; s < t->symbols.n && other < SIZES_PROBES; s++) {
        int32_t symbol = t->symbols.at[s];
        const double *n = t->exprs.at[symbol].at;
        double slope = (found->at[other][axis] - found->at[0][axis]) / (n[other] - n[0]);
        if (n[other] == n[0] || slope != floor(slope) || slope == 0)
            continue;
        double first = found->at[0][axis] - slope * n[0];
        bool line = true;
        for (int p = 0; p < SIZES_PROBES; p++)
            line &= !found->knows[p] || found->at[p][axis] == first + slope * n[p];
        if (!line)
            continue;
        int32_t by = sizes_constant(t, slope), and = sizes_constant(t, first);
        int32_t product = by < 0 ? by : sizes_compute(t, NEAP_SIZE_MUL, symbol, by);
        return product < 0 || and < 0 ? product : sizes_compute(t, NEAP_SIZE_ADD, product, and);
    }
    return 0;
}

/* An axis that was the same for all choices may be the least of a size and a number: a size that the call was given, or
 * the axis of an operand that stands in its place. */
static int32_t find_steady(const neap_transcript *t, const sizes_entry *entry, const found_extents *found, int axis) {
    for (int k = 0; k < entry->nsized; k++)
        if (fits(found, axis, &t->exprs.at[entry->sized[k].expr]))
            return entry->sized[k].expr;
    for (int k = 0; k < entry->note.nin; k++) {
        const sizes_value *value = &t->values.at[entry->note.in[k]];
        int place = entry->note.in[k] ? axis - found->ndim + value->node->ndim : -1;
        int32_t expr = place >= 0 && value->extents ? value->extents[place] : 0;
        if (expr && fits(found, axis, &t->exprs.at[expr]))
            return expr;
    }
    return 0;
}

static int32_t choose(neap_transcript *t, const sizes_entry *entry, const found_extents *found, int32_t value,
                      int axis) {
    bool same = true;
    for (int p = 1; p < SIZES_PROBES; p++)
        same &= !found->knows[p] || found->at[p][axis] == found->at[0][axis];
    bool probed = found->known >= SIZES_PROBES - 1;
    if (found->known >= 2 && same)
        return found->known == SIZES_PROBES ? 0 : find_steady(t, entry, found, axis);
    int32_t expr = find_fitting(t, entry, found, axis);
    if (expr == 0 && probed)
        expr = find_linear(t, found, axis);
    if (expr || (found->known == 1 && found->at[0][axis] < 2))
        return expr;
    double at[SIZES_PROBES];
    for (int p = 0; p < SIZES_PROBES; p++)
        at[p] = found->knows[p] ? found->at[p][axis] : found->at[0][axis] + 1000.0 * p + value % 97;
    return sizes_extent(t, value, axis, at);
}

/* ---- By kind ----------------------------------------------------------------------------------------------------- */
static int set_extents(neap_transcript *t, const sizes_entry *entry, int result, const found_extents *found) {
    int32_t number = entry->note.out[result];
    int32_t *extents = calloc((size_t)found->ndim + 1, sizeof *extents);
    bool any = false;
    if (!extents)
        return neap_error(NEAP_E_MEMORY, "out of memory for a transcript");
    for (int k = 0; k < found->ndim; k++) {
        int32_t expr = choose(t, entry, found, number, k);
        if (expr < 0) {
            free(extents);
            return expr;
        }
        extents[k] = expr;
        any |= expr != 0;
    }
    if (!any) {
        free(extents);
        extents = NULL;
    }
    free(t->values.at[number].extents);
    t->values.at[number].extents = extents;
    return 0;
}

/* The probes of a shape whose axes are these expressions; 0: as it is. */
static void probe_shape(const neap_transcript *t, int ndim, const int64_t *shape, const int32_t *exprs,
                        found_extents *found) {
    *found = (found_extents){.ndim = ndim, .known = SIZES_PROBES};
    memset(found->knows, true, sizeof found->knows);
    for (int p = 0; p < SIZES_PROBES; p++)
        for (int k = 0; k < ndim; k++)
            found->at[p][k] = exprs && exprs[k] ? t->exprs.at[exprs[k]].at[p] : (double)shape[k];
}

static void find_input(const neap_transcript *t, const sizes_entry *entry, found_extents *found) {
    const graph_note *note = &entry->note;
    int32_t exprs[NEAP_MAX_DIMS] = {0};
    for (int k = 0; k < entry->nsized; k++)
        if (entry->sized[k].at >= GRAPH_NOTE_SHAPE)
            exprs[entry->sized[k].at - GRAPH_NOTE_SHAPE] = entry->sized[k].expr;
    probe_shape(t, note->nints - GRAPH_NOTE_SHAPE, note->ints + GRAPH_NOTE_SHAPE, exprs, found);
}

/* The extents of output `k` of a program; NULL: they are not known. *known gets how many axes they are for. */
static const int32_t *output_extents(const neap_transcript *t, int32_t program, int64_t k, int *ndim) {
    const sizes_program *p = &t->programs.at[program];
    if (p->given || k >= p->noutputs)
        return NULL;
    int32_t value = p->outputs[k];
    *ndim = value ? t->values.at[value].node->ndim : 0;
    return value ? t->values.at[value].extents : NULL;
}

/* The extent of the new axis along which a loop stacks what its turns give: a size that the call was given; else the
 * first axis of the operands that the turns take apart, which have an axis more than the body's inputs have; 0: it is
 * the same for all sizes. */
static int32_t find_turns(const neap_transcript *t, const sizes_entry *entry, const found_extents *axis) {
    const graph_note *note = &entry->note;
    const neap_program *body = t->programs.at[entry->programs[0]].program;
    for (int k = 0; k < entry->nsized; k++)
        if (fits(axis, 0, &t->exprs.at[entry->sized[k].expr]))
            return entry->sized[k].expr;
    for (int k = 0; body && body->inputs.n == note->nin && k < note->nin; k++) {
        const sizes_value *value = &t->values.at[note->in[k]];
        if (note->in[k] && value->node->ndim == body->inputs.at[k]->ndim + 1)
            return value->extents ? value->extents[0] : 0;
    }
    return find_fitting(t, entry, axis, 0);
}

/* Of control flow: as the body's output, or as many of these along a new first axis. */
static void find_output(const neap_transcript *t, const sizes_entry *entry, int k, found_extents *found) {
    int ndim = 0;
    const int32_t *exprs = entry->note.nprograms ? output_extents(t, entry->programs[0], k, &ndim) : NULL;
    const neap_node *node = t->values.at[entry->note.out[k]].node;
    int more = node->ndim - ndim;
    found_extents body;
    if (entry->note.nprograms == 0 || t->programs.at[entry->programs[0]].given || more < 0 || more > 1)
        return;
    probe_shape(t, ndim, node->shape + more, exprs, &body);
    found->known = SIZES_PROBES;
    memset(found->knows, true, sizeof found->knows);
    for (int p = 0; p < SIZES_PROBES; p++)
        for (int a = 0; a < ndim; a++)
            found->at[p][a + more] = body.at[p][a];
    if (!more)
        return;
    found_extents axis = {.ndim = 1, .known = 1, .knows = {true}, .at = {{(double)node->shape[0]}}};
    int32_t first = find_turns(t, entry, &axis);
    for (int p = 0; p < SIZES_PROBES; p++)
        found->at[p][0] = first ? t->exprs.at[first].at[p] : (double)node->shape[0];
}

int sizes_find_extents(neap_transcript *t, const sizes_entry *entry, int64_t from) {
    const graph_note *note = &entry->note;
    for (int k = 0; k < note->nout && note->kind->shapes != GRAPH_NOTE_FIXED; k++) {
        if (note->out[k] < from)
            continue;
        const neap_node *node = t->values.at[note->out[k]].node;
        found_extents found = {.ndim = node->ndim, .known = 1, .knows = {true}};
        for (int a = 0; a < node->ndim; a++)
            found.at[0][a] = (double)node->shape[a];
        if (note->kind->shapes == GRAPH_NOTE_INFERRED)
            infer_probes(t, entry, &found);
        else if (note->kind->shapes == GRAPH_NOTE_INPUT)
            find_input(t, entry, &found);
        else if (note->kind->shapes == GRAPH_NOTE_LAST && note->in[note->nin - note->nout + k]) {
            const sizes_value *like = &t->values.at[note->in[note->nin - note->nout + k]];
            probe_shape(t, node->ndim, node->shape, like->extents, &found);
        } else if (note->kind->shapes == GRAPH_NOTE_INNER) {
            const int32_t *whole = t->values.at[note->in[0]].extents;
            probe_shape(t, node->ndim, node->shape, whole ? whole + 1 : NULL, &found);
        } else if (note->kind->shapes == GRAPH_NOTE_OUTPUTS)
            find_output(t, entry, k, &found);
        int status = set_extents(t, entry, k, &found);
        if (status)
            return status;
    }
    return 0;
}
