/* shard/print_blocks.c: prints of arrays that lie on several devices.
 *
 * Such an array is shown as its reader thinks of it: a global one whole, as NumPy shows it, its blocks read where they
 * lie; one that differs between devices, in the body of a shard_map, once for each device, with the device's
 * coordinates:
 *
 *      print("x", x)      ─▶      [i=0, j=0] x   [1 2]
 *                                 [i=0, j=1] x   [3 4]      row-major over the axes that are manual: one effect
 *
 * Of several processes, process 0 writes what is ordered. Blocks that it lacks are brought to it by exchanges, one for
 * each block, so that a block that has failed is the only one that is not shown; that is the one print that all
 * processes must reach. What is unordered, or goes to stderr, each process writes for the blocks that it has.
 *
 * All of this happens when the print is recorded: what comes out is a print of ordinary nodes, which may be part of a
 * program.
 */
#include <string.h>

#include "lazy/effect/effect.h"
#include "lazy/effect/exchange.h"
#include "lazy/graph/graph.h"
#include "lazy/plan/plan.h"
#include "lazy/shard/shard.h"

typedef struct show {
    neap_ctx *ctx;
    int n;
    const lazy_fragment *given;
    neap_node *const *nodes;
    const lazy_mesh *mesh; /* of the arrays that are shown by device */
    uint32_t over;         /* axes of it, for whose coordinates the text is repeated; 0: it is not */
    const char *site;      /* of the print; NULL: not known */
    int here;              /* this process */
    bool gathers;          /* process 0 shows what all have */
    bool apart;            /* only what this process has, and that block by block */
    neap_node ***gathered; /* by given fragment: its blocks by member, brought here; or NULL. Nodes in the arena */
    lazy_shown *out;
} show;

static const lazy_sharding *sharding_of(const show *s, int k) {
    const lazy_fragment *f = &s->given[k];
    if (f->n != 1 || f->layout || !graph_is_meshed(s->nodes[f->first]) || !graph_has_blocks(s->nodes[f->first]))
        return NULL;
    return graph_sharding_of(s->nodes[f->first]);
}

bool effect_show_needed(int n, const lazy_fragment *fragments, neap_node *const *nodes) {
    show s = {.n = n, .given = fragments, .nodes = nodes};
    for (int k = 0; k < n; k++)
        if (sharding_of(&s, k))
            return true;
    return false;
}

/* The coordinates of a position over some axes, as one number: that of a member, if the axes are those over which
 * blocks are distinct. */
static int member_number(const lazy_mesh *mesh, int position, uint32_t axes) {
    int place = 0;
    for (int a = 0; a < mesh->naxes; a++)
        if (axes >> a & 1)
            place = place * mesh->sizes[a] + shard_mesh_coordinate(mesh, position, a);
    return place;
}

/* ---- Bringing blocks to process 0 -------------------------------------------------------------------------------- */
/* The shape of what is sent of an array's blocks, which is no more than is shown; returns its size. */
static int64_t sent_shape(const lazy_sharding *sharding, const neap_node *node, int64_t *shape) {
    bool cut = graph_format_cuts(node->size);
    int64_t size = 1;
    for (int k = 0; k < node->ndim; k++) {
        shape[k] = node->shape[k] / shard_sharding_parts(sharding, k);
        if (cut && shape[k] > 2 * LAZY_FORMAT_EDGE)
            shape[k] = 2 * LAZY_FORMAT_EDGE;
        size *= shape[k];
    }
    return size;
}

/* What is shown of the block that this process has at a position. In the arena; NULL: an error. */
static neap_node *own_block(show *s, const neap_node *node, int position) {
    neap_node *block = node->shards->blocks[shard_sharding_block(graph_sharding_of(node), position)];
    block = graph_build_place(s->ctx, block, graph_home(s->ctx, -1));
    return graph_format_cuts(node->size) ? effect_edges_of(s->ctx, block) : block;
}

/* Sends the block at a position from the process that has it, if it is this one, or else takes it: this is process 0.
 * In the arena; NULL: an error. */
static neap_node *send_block(show *s, const neap_node *node, int position) {
    int64_t shape[NEAP_MAX_DIMS];
    const lazy_sharding *sharding = graph_sharding_of(node);
    int32_t owner = sharding->mesh->process[position], ranks[] = {0, owner};
    static const uint8_t wanted[] = {1, 0};
    lazy_exchange_pattern like = {
        .kind = ENGINE_COMM_GATHER,
        .op = -1,
        .dtype = node->dtype,
        .elements = sent_shape(sharding, node, shape),
        .group = {.nmembers = 1, .nranks = 2, .ranks = ranks, .owner = &owner, .wanted = wanted},
        .name = "print"};
    /* Who takes the block gives nothing, but the node has an input, by which it belongs to the trace of the array. */
    int given = s->here == owner ? position : sharding->nblocks > 0 ? sharding->position[0] : -1;
    neap_node *in =
        given >= 0 ? own_block(s, node, given) : graph_arena(s->ctx, graph_constant(s->ctx, node->dtype, false, 0));
    const lazy_exchange_pattern *pattern = in ? effect_exchange_pattern_intern(&like) : NULL;
    neap_node *sent = pattern ? graph_arena(s->ctx, effect_exchange_record(s->ctx, pattern, 1, &in)) : NULL;
    if (!sent)
        return NULL;
    if (s->site) {
        sent->site = graph_site_intern(s->ctx, s->site);
        if (s->ctx->sites.node == sent) /* in a program that is lowered, its run has another line */
            s->ctx->sites.node = NULL;
    }
    return s->here == 0 ? graph_build_reshape(s->ctx, sent, node->ndim, shape) : sent;
}

/* Finds whom the blocks come from: by member, a position of the mesh. Process 0 gives what it has; of other blocks the
 * process of their first device gives them. The members come in their order: each has its first device before the next
 * one has. Returns how many there are; *elsewhere says whether process 0 lacks some. */
static int find_givers(const lazy_sharding *sharding, int *position, bool *elsewhere) {
    const lazy_mesh *mesh = sharding->mesh;
    int members = 0;
    for (int p = 0; p < mesh->size; p++) {
        int m = member_number(mesh, p, sharding->distinct);
        if (m < members && (mesh->process[p] != 0 || mesh->process[position[m]] == 0))
            continue;
        members = m < members ? members : m + 1;
        position[m] = p;
    }
    *elsewhere = false;
    for (int m = 0; m < members; m++)
        *elsewhere |= mesh->process[position[m]] != 0;
    return members;
}

/* Brings the blocks of the array of fragment k to process 0, if it does not have them all: each that it lacks by an
 * exchange of its own, so that one that has failed is missing alone. */
static int gather_to_first(show *s, int k) {
    const lazy_sharding *sharding = sharding_of(s, k);
    if (!sharding || !s->gathers)
        return 0;
    const neap_node *node = s->nodes[s->given[k].first];
    size_t room = (size_t)sharding->mesh->size + 1;
    int *position = malloc(room * sizeof *position), status = 0;
    if (!position)
        return neap_error(NEAP_E_MEMORY, "out of memory for a print");
    bool elsewhere;
    int members = find_givers(sharding, position, &elsewhere);
    if (elsewhere && !(s->gathered[k] = calloc(room, sizeof *s->gathered[k])))
        status = neap_error(NEAP_E_MEMORY, "out of memory for a print");
    for (int m = 0; m < members && elsewhere && status == 0; m++) {
        int owner = sharding->mesh->process[position[m]];
        if (s->here != 0 && s->here != owner)
            continue; /* which is all that others take part in */
        s->gathered[k][m] = owner == 0 ? own_block(s, node, position[m]) : send_block(s, node, position[m]);
        status = s->gathered[k][m] ? 0 : neap_error_code();
    }
    free(position);
    return status;
}

/* ---- Fragments --------------------------------------------------------------------------------------------------- */
static int keep_shown_node(show *s, neap_node *node) {
    int status = node ? lazy_push(&s->out->nodes, node) : neap_error_code();
    if (status == 0)
        graph_retain(node);
    return status;
}

static int add_text(show *s, const char *text, size_t bytes) {
    lazy_fragment f = {.text = (char *)text, .bytes = bytes};
    return lazy_push(&s->out->fragments, f);
}

/* The position that has part `part` (row-major over the array's parts) for the device at `position`. */
static int part_position(const lazy_sharding *sharding, int ndim, int position, int64_t part) {
    for (int k = ndim - 1; k >= 0; k--) {
        int64_t parts = shard_sharding_parts(sharding, k), at = part % parts;
        part /= parts;
        int last = 0;
        while (last < NEAP_MESH_AXES && sharding->split[k][last])
            last++;
        for (int j = last - 1; j >= 0; j--) {
            int axis = sharding->split[k][j] - 1, size = sharding->mesh->sizes[axis];
            position = shard_mesh_move(sharding->mesh, position, axis, (int)(at % size));
            at /= size;
        }
    }
    return position;
}

static int add_block(show *s, int k, int position) {
    const lazy_sharding *sharding = sharding_of(s, k);
    if (s->gathered[k])
        return keep_shown_node(s, s->gathered[k][member_number(sharding->mesh, position, sharding->distinct)]);
    const neap_node *node = s->nodes[s->given[k].first];
    return keep_shown_node(s, node->shards->blocks[shard_sharding_block(sharding, position)]);
}

/* An array as the device at `position` sees it. */
static int add_array(show *s, int k, int position) {
    const lazy_sharding *sharding = sharding_of(s, k);
    lazy_fragment f = {.text = s->given[k].text, .bytes = s->given[k].bytes, .first = (int32_t)s->out->nodes.n, .n = 1};
    neap_node *node = s->nodes[s->given[k].first];
    if (!sharding) {
        int status = keep_shown_node(s, node);
        return status ? status : lazy_push(&s->out->fragments, f);
    }
    if (sharding->mesh != s->mesh)
        position = 0; /* it is the same everywhere */
    bool cut = s->gathered[k] && graph_format_cuts(node->size);
    if (!s->apart && (sharding->splits || cut)) {
        if (!(f.layout = calloc(1, sizeof *f.layout)))
            return neap_error(NEAP_E_MEMORY, "out of memory for a print");
        f.layout->ndim = node->ndim;
        f.layout->cut = cut;
        memcpy(f.layout->shape, node->shape, node->ndim * sizeof *node->shape);
        for (int a = 0; a < node->ndim; a++)
            f.n *= (int32_t)(f.layout->parts[a] = shard_sharding_parts(sharding, a));
    }
    int status = 0;
    for (int32_t p = 0; p < f.n && status == 0; p++)
        status = add_block(s, k, f.layout ? part_position(sharding, node->ndim, position, p) : position);
    if (status == 0 && (status = lazy_push(&s->out->fragments, f)) == 0)
        return 0;
    free(f.layout);
    return status;
}

/* "[i=0, j=1] " */
static int add_tag(show *s, int position) {
    lazy_text tag = {0};
    int status = 0;
    for (int a = 0; a < s->mesh->naxes && status == 0; a++)
        if (s->over >> a & 1)
            status = graph_text_addf(&tag, "%s%s=%d", tag.bytes ? ", " : "[", s->mesh->names[a],
                                     shard_mesh_coordinate(s->mesh, position, a));
    if (status == 0)
        status = graph_text_add(&tag, "] ", 2);
    if (status == 0 && (status = lazy_push(&s->out->tags, tag.data)) == 0)
        return add_text(s, tag.data, tag.bytes);
    graph_text_free(&tag);
    return status;
}

/* Whether the text ends its line. */
static bool ends_line(const show *s) {
    const lazy_fragment *last = &s->given[s->n - 1];
    return last->n == 0 && last->bytes > 0 && last->text[last->bytes - 1] == '\n';
}

static int add_line(show *s, int position, bool first) {
    int status = 0;
    if (!first && !ends_line(s))
        status = add_text(s, "\n", 1);
    if (status == 0 && s->over)
        status = add_tag(s, position);
    for (int k = 0; k < s->n && status == 0; k++) {
        const lazy_fragment *f = &s->given[k];
        status = f->n ? add_array(s, k, position) : add_text(s, f->text, f->bytes);
    }
    return status;
}

/* Is it the first, of those of this process if blocks are shown apart, with its coordinates over s->over? */
static bool leads(const show *s, int position) {
    if (s->apart && s->mesh->process[position] != s->here)
        return false;
    for (int p = 0; p < position; p++)
        if (member_number(s->mesh, p, s->over) == member_number(s->mesh, position, s->over) &&
            (!s->apart || s->mesh->process[p] == s->here))
            return false;
    return true;
}

static int add_block_lines(show *s) {
    bool first = true;
    int status = 0;
    for (int p = 0; p < s->mesh->size && status == 0; p++)
        if (leads(s, p)) {
            status = add_line(s, p, first);
            first = false;
        }
    return status;
}

/* ---- The whole print --------------------------------------------------------------------------------------------- */
/* Which arrays decide how often the text is repeated. */
static int choose_lines(show *s) {
    const lazy_sharding *first = NULL;
    for (int k = 0; k < s->n; k++) {
        const lazy_sharding *sharding = sharding_of(s, k);
        if (sharding && sharding->unreduced)
            return neap_error(NEAP_E_STATE,
                              "the array is a sum over devices that is not done, so there is no value to print; "
                              "np.reshard or, in the body of a np.shard_map, np.psum does the sum");
        if (!sharding || !(sharding->differs || s->apart))
            continue;
        if (first && first->mesh != sharding->mesh)
            return neap_error(NEAP_E_ARGUMENT, "print: two arrays that are shown by device lie on different meshes");
        first = first ? first : sharding;
        s->mesh = first->mesh;
        s->over |= sharding->manual | (s->apart ? sharding->distinct : 0);
    }
    for (int k = 0; k < s->n && !s->mesh; k++)
        if (sharding_of(s, k))
            s->mesh = sharding_of(s, k)->mesh;
    return 0;
}

static int refuse_absent(const lazy_sharding *sharding) {
    return neap_error(NEAP_E_STATE,
                      "the array lies on devices of several processes, and this one has %d of its blocks: only a print "
                      "that all processes reach can show it",
                      sharding->nblocks);
}

static int show_all(show *s) {
    int status = 0;
    for (int k = 0; k < s->n && status == 0; k++)
        status = gather_to_first(s, k);
    if (status == 0 && (!s->gathers || s->here == 0))
        status = choose_lines(s);
    if (status == 0 && s->mesh)
        return add_block_lines(s);
    /* Another process writes it: here are only the exchanges. */
    for (int k = 0; k < s->n && status == 0; k++)
        for (int m = 0; s->gathered[k] && m < sharding_of(s, k)->mesh->size && status == 0; m++) {
            lazy_fragment f = {.first = (int32_t)s->out->nodes.n, .n = 1};
            if (s->gathered[k][m] && (status = keep_shown_node(s, s->gathered[k][m])) == 0)
                status = lazy_push(&s->out->fragments, f);
        }
    return status;
}

int effect_show(neap_ctx *ctx, const neap_emit *how, int n, const lazy_fragment *fragments, neap_node *const *nodes,
                lazy_shown *out) {
    int size = 1, status = 0;
    show s = {.ctx = ctx, .n = n, .given = fragments, .nodes = nodes, .site = how ? how->site : NULL, .out = out};
    s.gathers = engine_comm_launched(&s.here, &size) && how && !how->unordered && how->stream != NEAP_STDERR;
    for (int k = 0; k < n && status == 0; k++) {
        const lazy_sharding *sharding = sharding_of(&s, k);
        if (!sharding || sharding->addressable || s.gathers)
            continue;
        s.apart = true;
        status = how ? 0 : refuse_absent(sharding);
    }
    if (status)
        return status;
    if (!(s.gathered = calloc((size_t)n + 1, sizeof *s.gathered)))
        return neap_error(NEAP_E_MEMORY, "out of memory for a print");
    plan_hold(ctx);
    status = show_all(&s);
    int held = plan_unhold(ctx);
    for (int k = 0; k < n; k++)
        free(s.gathered[k]);
    free(s.gathered);
    return status ? status : held;
}

void effect_shown_free(neap_ctx *ctx, lazy_shown *shown) {
    for (int64_t k = 0; k < shown->nodes.n; k++)
        graph_release(ctx, shown->nodes.at[k]);
    for (int64_t k = 0; k < shown->fragments.n; k++)
        free(shown->fragments.at[k].layout);
    for (int64_t k = 0; k < shown->tags.n; k++)
        free(shown->tags.at[k]);
    lazy_vector_free(&shown->nodes);
    lazy_vector_free(&shown->fragments);
    lazy_vector_free(&shown->tags);
}
