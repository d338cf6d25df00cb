/* note.c: what the recorder did about where data lies, for np.explain: inputs that it moved, parts that it combined,
 * ops without a rule. A note is a text, told of by a number (graph_site_text), so that equal ones are one.
 *
 * A node keeps the note of its own op, and one of what all before it did: lines "op \t script line \t note". An op's
 * script line is known only after it was recorded, so it joins the lines where the next op reads it. Of many lines the
 * last ones are kept. */
#include <stdio.h>
#include <string.h>

#include "lazy/shard/shard.h"
#include "mesh/internal.h"

enum { LINES = 24, WIDE = 1024 };

typedef struct note_text {
    char data[WIDE];
    size_t bytes;
} note_text;

static void add_to_note(note_text *t, const char *part) {
    size_t bytes = strlen(part), room = sizeof t->data - 1 - t->bytes;
    bytes = bytes < room ? bytes : room;
    memcpy(t->data + t->bytes, part, bytes);
    t->data[t->bytes += bytes] = 0;
}

/* Parts of a note are told one after the other. */
static void add_next(note_text *t) {
    if (t->bytes)
        add_to_note(t, "; ");
}

static int32_t intern_note(neap_ctx *ctx, const note_text *t) {
    return t->bytes ? graph_site_intern(ctx, t->data) : 0;
}

/* ---- Notes of one op --------------------------------------------------------------------------------------------- */
static uint32_t all_splits(const lazy_sharding *s) {
    uint32_t axes = 0;
    for (int axis = 0; axis < NEAP_MAX_DIMS; axis++)
        axes |= shard_split_axes(s->split[axis]);
    return axes;
}

static void add_bytes(note_text *t, int64_t bytes) {
    char text[32];
    if (!bytes)
        return;
    add_to_note(t, ": ");
    add_to_note(t, mesh_bytes_text(bytes, text, sizeof text));
    add_to_note(t, " moved");
}

static void add_move(note_text *t, const neap_node *in, const lazy_sharding *to) {
    const lazy_sharding *from = graph_sharding_of(in);
    char spec[256];
    uint32_t gone = all_splits(from) & ~all_splits(to);
    add_to_note(t, "from ");
    add_to_note(t, shard_spec_text(from, in->ndim, spec, sizeof spec));
    add_to_note(t, " to ");
    add_to_note(t, shard_spec_text(to, in->ndim, spec, sizeof spec));
    add_to_note(t, gone ? ", gathered over " : ", dealt out anew");
    add_to_note(t, mesh_axes_text(to->mesh, gone, spec, sizeof spec));
    add_bytes(t, mesh_moved_bytes(from, to, in->dtype, in->ndim, in->shape));
}

/* The sum over axes where it was not done. Where each device keeps a part of the sum nothing is sent back. */
static void add_sum(note_text *t, const neap_node *in, const lazy_sharding *to, uint32_t over) {
    const lazy_sharding *from = graph_sharding_of(in);
    char spec[256];
    int64_t bytes = mesh_combined_bytes(from, over, in->dtype, in->ndim, in->shape);
    add_to_note(t, "from ");
    add_to_note(t, shard_spec_text(from, in->ndim, spec, sizeof spec));
    add_to_note(t, " to ");
    add_to_note(t, shard_spec_text(to, in->ndim, spec, sizeof spec));
    add_to_note(t, ", added up over ");
    add_to_note(t, mesh_axes_text(to->mesh, over, spec, sizeof spec));
    add_bytes(t, over & ~to->splits ? bytes : bytes / 2);
}

int32_t mesh_note_move(neap_ctx *ctx, const neap_node *in, const lazy_sharding *to) {
    const lazy_sharding *from = graph_sharding_of(in);
    note_text t = {.bytes = 0};
    uint32_t over = from && from->mesh == to->mesh ? from->unreduced & ~to->unreduced : 0;
    if (over)
        add_sum(&t, in, to, over);
    else if (from && from->mesh == to->mesh && mesh_moved_axes(from, to) & ~to->unreduced)
        add_move(&t, in, to);
    return intern_note(ctx, &t);
}

int32_t mesh_note_op(const lazy_shard_rule *g, neap_node *const *in, bool ruled) {
    note_text t = {.bytes = 0};
    char part[256];
    if (!ruled) {
        add_to_note(&t, "gathered: no rule for ");
        add_to_note(&t, g->row->name);
    }
    for (int k = 0; k < g->nin; k++) {
        const lazy_sharding *is = graph_sharding_of(in[k]);
        if (!is || !mesh_moved_axes(is, &g->want[k]))
            continue;
        add_next(&t);
        snprintf(part, sizeof part, "input %d ", k + 1);
        add_to_note(&t, part);
        add_move(&t, in[k], &g->want[k]);
    }
    if (g->combine >= 0) {
        add_next(&t);
        add_to_note(&t, "parts combined by ");
        add_to_note(&t, lazy_ops[g->combine]->name);
        add_to_note(&t, " over ");
        add_to_note(&t, mesh_axes_text(g->mesh, g->over, part, sizeof part));
        add_bytes(&t, mesh_combined_bytes(&g->result, g->over, g->out->dtype, g->out->ndim, g->out->shape));
    }
    return intern_note(g->ctx, &t);
}

void mesh_note_collective(neap_ctx *ctx, const char *lacks) {
    mesh_call *call = ctx->mesh.call;
    note_text t = {.bytes = 0};
    const char *before = call && call->note ? graph_site_text(ctx, call->note) : NULL;
    if (!call || (before && strstr(before, lacks)))
        return;
    if (before)
        add_to_note(&t, before);
    add_next(&t);
    add_to_note(&t, "all blocks are moved to one device: ");
    add_to_note(&t, lacks);
    call->note = intern_note(ctx, &t);
}

/* ---- Notes of all before ----------------------------------------------------------------------------------------- */
typedef struct lines {
    int n;
    const char *at[2 * LINES + 2];
    size_t bytes[2 * LINES + 2];
} lines;

/* Adds the lines of a text that are not there yet. */
static void add_missing_lines(lines *all, const char *from) {
    while (from && *from) {
        size_t bytes = strcspn(from, "\n");
        bool known = false;
        for (int k = 0; k < all->n && !known; k++)
            known = all->bytes[k] == bytes && memcmp(all->at[k], from, bytes) == 0;
        if (!known && all->n < 2 * LINES + 2) {
            all->at[all->n] = from;
            all->bytes[all->n++] = bytes;
        }
        from += bytes + (from[bytes] == '\n');
    }
}

/* The number of a text with the lines of both. */
static int32_t join_notes(neap_ctx *ctx, int32_t first, const char *second) {
    lines all = {.n = 0};
    add_missing_lines(&all, graph_site_text(ctx, first));
    add_missing_lines(&all, second);
    int from = all.n > LINES ? all.n - LINES : 0;
    size_t bytes = 1;
    for (int k = from; k < all.n; k++)
        bytes += all.bytes[k] + 1;
    char *text = malloc(bytes), *at = text;
    if (!text)
        return first;
    for (int k = from; k < all.n; k++) {
        memcpy(at, all.at[k], all.bytes[k]);
        at += all.bytes[k];
        *at++ = k + 1 < all.n ? '\n' : 0;
    }
    int32_t number = graph_site_intern(ctx, text);
    free(text);
    return number;
}

void mesh_note_inherit(neap_ctx *ctx, neap_node *node, int32_t note) {
    int32_t past = 0;
    for (int k = 0; k < node->nin; k++) {
        const lazy_shards *in = graph_is_meshed(node->in[k]) ? node->in[k]->shards : NULL;
        if (in && in->past && in->past != past)
            past = past ? join_notes(ctx, past, graph_site_text(ctx, in->past)) : in->past;
        if (in && in->note) {
            const char *site = graph_site_text(ctx, node->in[k]->site), *own = graph_site_text(ctx, in->note);
            char line[WIDE];
            snprintf(line, sizeof line, "%s\t%s\t%s", graph_node_op(node->in[k])->name, site ? site : "", own);
            past = join_notes(ctx, past, line);
        }
    }
    node->shards->past = past;
    node->shards->note = note ? note : node->shards->note;
}
