/* shard.c: how ops on divided arrays are divided: the solver of factors, and the rules that rows share (shard.h). */
#include "lazy/shard/shard.h"
#include "ops_gen.h"

#include <stdio.h>
#include <string.h>

/* ---- Lists of axes of the mesh ----------------------------------------------------------------------------------- */
static int64_t split_parts(const lazy_mesh *mesh, const uint8_t *split) {
    int64_t parts = 1;
    for (int k = 0; k < NEAP_MESH_AXES && split[k]; k++)
        parts *= mesh->sizes[split[k] - 1];
    return parts;
}

uint32_t shard_split_axes(const uint8_t *split) {
    uint32_t axes = 0;
    for (int k = 0; k < NEAP_MESH_AXES && split[k]; k++)
        axes |= UINT32_C(1) << (split[k] - 1);
    return axes;
}

/* Appends to a text of `at` bytes. Returns how long it would be. */
static size_t put_text(char *text, size_t capacity, size_t at, const char *more) {
    size_t bytes = strlen(more);
    if (at < capacity)
        snprintf(text + at, capacity - at, "%s", more);
    return at + bytes;
}

/* '"i"' or '{"i", "j"}' for n axes of the mesh, each 1 + its number. */
static size_t put_names(const lazy_mesh *mesh, const uint8_t *axes, int n, bool braces, char *text, size_t capacity,
                        size_t at) {
    at = put_text(text, capacity, at, braces ? "{" : "");
    for (int k = 0; k < n; k++) {
        at = put_text(text, capacity, at, k ? ", \"" : "\"");
        at = put_text(text, capacity, at, mesh->names[axes[k] - 1]);
        at = put_text(text, capacity, at, "\"");
    }
    return put_text(text, capacity, at, braces ? "}" : "");
}

/* 'unreduced={"j"}' of the axes in the mask. */
static size_t put_option(const lazy_mesh *mesh, const char *name, uint32_t mask, char *text, size_t capacity,
                         size_t at) {
    uint8_t axes[NEAP_MESH_AXES];
    int n = 0;
    for (int k = 0; k < mesh->naxes; k++)
        if (mask >> k & 1)
            axes[n++] = (uint8_t)(k + 1);
    at = put_text(text, capacity, put_text(text, capacity, at, name), "=");
    return put_names(mesh, axes, n, true, text, capacity, at);
}

const char *shard_spec_text(const lazy_sharding *s, int ndim, char *text, size_t capacity) {
    size_t at = put_text(text, capacity, 0, "P(");
    for (int axis = 0; axis < ndim; axis++) {
        int n = shard_split_length(s->split[axis]);
        at = put_text(text, capacity, at, axis ? ", " : "");
        at = n ? put_names(s->mesh, s->split[axis], n, n > 1, text, capacity, at) : put_text(text, capacity, at, "nil");
    }
    if (s->unreduced | s->reduced)
        at = put_text(text, capacity, at, ndim ? ", {" : "{");
    if (s->unreduced)
        at = put_option(s->mesh, "unreduced", s->unreduced, text, capacity, at);
    if (s->unreduced && s->reduced)
        at = put_text(text, capacity, at, ", ");
    if (s->reduced)
        at = put_option(s->mesh, "reduced", s->reduced, text, capacity, at);
    put_text(text, capacity, at, s->unreduced | s->reduced ? "})" : ")");
    return text;
}

/* ---- Factors ----------------------------------------------------------------------------------------------------- */
int shard_factor_new(lazy_factors *f, int64_t size) {
    f->at[f->n] = (lazy_factor){.size = size};
    return f->n++;
}

void shard_factor_axis(lazy_factors *f, int array, int axis, int factor) {
    if (f->count[array][axis]++ == 0)
        f->first[array][axis] = (uint8_t)factor;
    f->at[factor].kept |= array == LAZY_SHARD_RESULT;
}

void shard_factor_keep(lazy_factors *f, const lazy_shard_rule *g, int input, int axis, int to) {
    int factor = shard_factor_new(f, g->in[input].shape[axis]);
    shard_factor_axis(f, input, axis, factor);
    shard_factor_axis(f, LAZY_SHARD_RESULT, to, factor);
}

/* Takes from *split, the rest of what divides an axis, what divides this factor of it: as many axes of the mesh as
 * divide its size. Returns whether the factor is divided into single parts, so that what remains divides the next
 * one. */
static bool take_split(const lazy_mesh *mesh, int64_t size, const uint8_t **split, const uint8_t *end, uint8_t *out) {
    memset(out, 0, NEAP_MESH_AXES);
    for (int n = 0; *split < end && **split; n++) {
        int32_t parts = mesh->sizes[**split - 1];
        if (size % parts != 0 || (size == 1 && parts > 1))
            break;
        size /= parts;
        out[n] = *(*split)++;
    }
    return size == 1;
}

/* What an input proposes for a factor: it becomes the factor's, or adds to that. *used: axes of the mesh that divide
 * any factor. */
static void propose(const lazy_mesh *mesh, lazy_factor *factor, const uint8_t *split, uint32_t *used) {
    int have = shard_split_length(factor->split), n = shard_split_length(split);
    if (have > n || memcmp(factor->split, split, (size_t)have) != 0)
        return;
    for (int k = have; k < n; k++) {
        uint32_t bit = UINT32_C(1) << (split[k] - 1);
        if (*used & bit || factor->size % (split_parts(mesh, factor->split) * mesh->sizes[split[k] - 1]) != 0)
            return;
        *used |= bit;
        factor->split[k] = split[k];
    }
}

static void propose_input(const lazy_shard_rule *g, lazy_factors *f, int input, uint32_t *used) {
    for (int axis = 0; axis < g->in[input].ndim; axis++) {
        const uint8_t *split = g->want[input].split[axis], *end = split + NEAP_MESH_AXES;
        for (int k = 0; k < f->count[input][axis]; k++) {
            lazy_factor *factor = &f->at[f->first[input][axis] + k];
            uint8_t part[NEAP_MESH_AXES];
            bool single = take_split(g->mesh, factor->size, &split, end, part);
            propose(g->mesh, factor, part, used);
            if (!single)
                break;
        }
    }
}

/* A factor behind another one of its axis can be divided only if that is divided into single parts; else the axis of
 * the array would be divided into parts that do not lie together. Returns whether something was left out. */
static bool leave_out(const lazy_shard_rule *g, lazy_factors *f, int array, int ndim) {
    bool changed = false;
    for (int axis = 0; axis < ndim; axis++) {
        bool single = true;
        for (int k = 0; k < f->count[array][axis]; k++) {
            lazy_factor *factor = &f->at[f->first[array][axis] + k];
            if (!single && factor->split[0]) {
                memset(factor->split, 0, sizeof factor->split);
                changed = true;
            }
            single &= split_parts(g->mesh, factor->split) == factor->size;
        }
    }
    return changed;
}

static void write_split(const lazy_factors *f, int array, int ndim, lazy_sharding *to) {
    memset(to->split, 0, sizeof to->split);
    to->ndim = (uint8_t)ndim;
    for (int axis = 0; axis < ndim; axis++) {
        int n = 0;
        for (int k = 0; k < f->count[array][axis]; k++) {
            const uint8_t *split = f->at[f->first[array][axis] + k].split;
            for (int j = 0; j < NEAP_MESH_AXES && split[j]; j++)
                to->split[axis][n++] = split[j];
        }
    }
}

int shard_solve(lazy_shard_rule *g, lazy_factors *f, int combine) {
    uint32_t used = 0;
    uint64_t done = 0;
    for (int turn = 0; turn < g->nin; turn++) {
        int best = -1;
        int64_t most = -1;
        for (int k = 0; k < g->nin; k++) {
            int64_t bytes = g->in[k].size * neap_dtype_bytes(g->in[k].dtype);
            if (!(done >> k & 1) && bytes > most) {
                most = bytes;
                best = k;
            }
        }
        done |= UINT64_C(1) << best;
        propose_input(g, f, best, &used);
    }
    for (int k = 0; k < f->n && combine < 0; k++)
        if (!f->at[k].kept)
            memset(f->at[k].split, 0, sizeof f->at[k].split);
    for (bool again = true; again;) {
        again = leave_out(g, f, LAZY_SHARD_RESULT, g->out->ndim);
        for (int k = 0; k < g->nin; k++)
            again |= leave_out(g, f, k, g->in[k].ndim);
    }
    for (int k = 0; k < g->nin; k++)
        write_split(f, k, g->in[k].ndim, &g->want[k]);
    write_split(f, LAZY_SHARD_RESULT, g->out->ndim, &g->result);
    g->over = 0;
    for (int k = 0; k < f->n; k++)
        g->over |= f->at[k].kept ? 0 : shard_split_axes(f->at[k].split);
    g->combine = g->over ? combine : -1;
    return NEAP_OK;
}

void shard_local_sizes(lazy_shard_rule *g, int at, int step) {
    for (int k = 0; k < g->out->ndim; k++)
        g->block_attrs[at + step * k] /= split_parts(g->mesh, g->result.split[k]);
}

/* ---- Rules that rows share --------------------------------------------------------------------------------------- */
int shard_elementwise(lazy_shard_rule *g) {
    lazy_factors f = {0};
    for (int axis = 0; axis < g->out->ndim; axis++) {
        if (g->out->shape[axis] == 1)
            continue;
        int factor = shard_factor_new(&f, g->out->shape[axis]);
        shard_factor_axis(&f, LAZY_SHARD_RESULT, axis, factor);
        for (int k = 0; k < g->nin; k++) {
            int own = axis - (g->out->ndim - g->in[k].ndim);
            if (own >= 0 && g->in[k].shape[own] == g->out->shape[axis])
                shard_factor_axis(&f, k, own, factor);
        }
    }
    return shard_solve(g, &f, -1);
}

/* The results of parts are combined by `combine`; -1: the axes that are reduced are needed whole. */
static int reduce(lazy_shard_rule *g, int combine) {
    lazy_factors f = {0};
    bool keepdims = g->nattrs > 1 && g->attrs[1] != 0;
    for (int axis = 0, to = 0; axis < g->in[0].ndim; axis++) {
        bool reduced = g->attrs[0] >> axis & 1;
        if (reduced)
            shard_factor_axis(&f, 0, axis, shard_factor_new(&f, g->in[0].shape[axis]));
        else
            shard_factor_keep(&f, g, 0, axis, to);
        to += !reduced || keepdims;
    }
    return shard_solve(g, &f, combine);
}

int shard_reduce(lazy_shard_rule *g) {
    return reduce(g, -1);
}
int shard_combine(lazy_shard_rule *g) {
    return reduce(g, g->row->combines);
}

/* All axes of input 0 but `whole`, which may be none. */
static int keep_all_but(lazy_shard_rule *g, int whole) {
    lazy_factors f = {0};
    for (int axis = 0; axis < g->in[0].ndim; axis++)
        if (axis != whole)
            shard_factor_keep(&f, g, 0, axis, axis);
    return shard_solve(g, &f, -1);
}

int shard_same(lazy_shard_rule *g) {
    return keep_all_but(g, -1);
}

int shard_axis(lazy_shard_rule *g) {
    return keep_all_but(g, (int)(g->attrs[0] < 0 ? g->attrs[0] + g->in[0].ndim : g->attrs[0]));
}

int shard_matrices(lazy_shard_rule *g) {
    lazy_factors f = {0};
    for (int axis = 0; axis < g->in[0].ndim - 2; axis++) {
        shard_factor_keep(&f, g, 0, axis, axis);
        for (int k = 1; k < g->nin; k++)
            shard_factor_axis(&f, k, axis, f.n - 1);
    }
    return shard_solve(g, &f, -1);
}
