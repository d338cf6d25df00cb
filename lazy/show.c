/* show.c: prints of arrays that lie on several devices.
 *
 * Such an array is shown as its reader thinks of it: a global one whole, as NumPy shows it, its blocks read where they lie;
 * one that differs between devices, in the body of a shard_map, once for each device, with the device's coordinates:
 *
 *      print("x", x)      ─▶      [i=0, j=0] x   [1 2]
 *                                 [i=0, j=1] x   [3 4]      row-major over the axes that are manual: one effect
 *
 * Of blocks that are not all here, those that are here are shown.
 *
 * All of this happens when the print is recorded: what comes out is a print of ordinary nodes, which may be part of a
 * program.
 */
#include <string.h>

#include "lazy/effect.h"
#include "lazy/format.h"
#include "lazy/sharding.h"

typedef struct show {
    neap_ctx *ctx;
    int n;
    const lazy_fragment *given;
    neap_node *const *nodes;
    const lazy_mesh *mesh; /* of the arrays that are shown by device */
    uint32_t over;         /* axes of it, for whose coordinates the text is repeated; 0: it is not */
    int here;              /* this process */
    bool apart;            /* only what this process has, and that block by block */
    lazy_shown *out;
} show;

static const lazy_sharding *sharding_of(const show *s, int k) {
    const lazy_fragment *f = &s->given[k];
    if (f->n != 1 || f->layout || !lazy_is_meshed(s->nodes[f->first]) || !lazy_has_blocks(s->nodes[f->first]))
        return NULL;
    return lazy_sharding_of(s->nodes[f->first]);
}

bool lazy_show_needed(int n, const lazy_fragment *fragments, neap_node *const *nodes) {
    show s = {.n = n, .given = fragments, .nodes = nodes};
    for (int k = 0; k < n; k++)
        if (sharding_of(&s, k))
            return true;
    return false;
}

/* The coordinates of a position over some axes, as one number: that of a member, if the axes are those over which blocks
 * are distinct. */
static int place_of(const lazy_mesh *mesh, int position, uint32_t axes) {
    int place = 0;
    for (int a = 0; a < mesh->naxes; a++)
        if (axes >> a & 1)
            place = place * mesh->sizes[a] + lazy_mesh_coordinate(mesh, position, a);
    return place;
}

/* ---- Fragments ----------------------------------------------------------------------------------------------------- */
static int add_node(show *s, neap_node *node) {
    int status = node ? lazy_push(&s->out->nodes, node) : neap_error_code();
    if (status == 0)
        lazy_retain(node);
    return status;
}

static int add_text(show *s, const char *text, size_t bytes) {
    lazy_fragment f = {.text = (char *)text, .bytes = bytes};
    return lazy_push(&s->out->fragments, f);
}

/* The position that has part `part` (row-major over the array's parts) for the device at `position`. */
static int part_position(const lazy_sharding *sharding, int ndim, int position, int64_t part) {
    for (int k = ndim - 1; k >= 0; k--) {
        int64_t parts = lazy_sharding_parts(sharding, k), at = part % parts;
        part /= parts;
        int last = 0;
        while (last < NEAP_MESH_AXES && sharding->split[k][last])
            last++;
        for (int j = last - 1; j >= 0; j--) {
            int axis = sharding->split[k][j] - 1, size = sharding->mesh->sizes[axis];
            position = lazy_mesh_move(sharding->mesh, position, axis, (int)(at % size));
            at /= size;
        }
    }
    return position;
}

static int add_block(show *s, int k, int position) {
    const lazy_sharding *sharding = sharding_of(s, k);
    neap_node *node = s->nodes[s->given[k].first];
    return add_node(s, node->shards->blocks[lazy_sharding_block(sharding, position)]);
}

/* An array as the device at `position` sees it. */
static int add_array(show *s, int k, int position) {
    const lazy_sharding *sharding = sharding_of(s, k);
    lazy_fragment f = {.text = s->given[k].text, .bytes = s->given[k].bytes, .first = (int32_t)s->out->nodes.n, .n = 1};
    neap_node *node = s->nodes[s->given[k].first];
    if (!sharding) {
        int status = add_node(s, node);
        return status ? status : lazy_push(&s->out->fragments, f);
    }
    if (sharding->mesh != s->mesh)
        position = 0; /* it is the same everywhere */
    if (!s->apart && sharding->splits) {
        if (!(f.layout = calloc(1, sizeof *f.layout)))
            return neap_error(NEAP_E_MEMORY, "out of memory for a print");
        f.layout->ndim = node->ndim;
        memcpy(f.layout->shape, node->shape, node->ndim * sizeof *node->shape);
        for (int a = 0; a < node->ndim; a++)
            f.n *= (int32_t)(f.layout->parts[a] = lazy_sharding_parts(sharding, a));
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
            status = lazy_text_addf(&tag, "%s%s=%d", tag.bytes ? ", " : "[", s->mesh->names[a],
                                    lazy_mesh_coordinate(s->mesh, position, a));
    if (status == 0)
        status = lazy_text_add(&tag, "] ", 2);
    if (status == 0 && (status = lazy_push(&s->out->tags, tag.data)) == 0)
        return add_text(s, tag.data, tag.bytes);
    lazy_text_free(&tag);
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
        if (place_of(s->mesh, p, s->over) == place_of(s->mesh, position, s->over) &&
            (!s->apart || s->mesh->process[p] == s->here))
            return false;
    return true;
}

static int add_lines(show *s) {
    bool first = true;
    int status = 0;
    for (int p = 0; p < s->mesh->size && status == 0; p++)
        if (leads(s, p)) {
            status = add_line(s, p, first);
            first = false;
        }
    return status;
}

/* ---- The whole print ----------------------------------------------------------------------------------------------- */
/* Which arrays decide how often the text is repeated. */
static int choose_lines(show *s) {
    const lazy_sharding *first = NULL;
    for (int k = 0; k < s->n; k++) {
        const lazy_sharding *sharding = sharding_of(s, k);
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

int lazy_show(neap_ctx *ctx, const neap_emit *how, int n, const lazy_fragment *fragments, neap_node *const *nodes,
              lazy_shown *out) {
    int status = 0;
    show s = {.ctx = ctx, .n = n, .given = fragments, .nodes = nodes, .out = out};
    for (int k = 0; k < n && status == 0; k++) {
        const lazy_sharding *sharding = sharding_of(&s, k);
        if (!sharding || sharding->addressable)
            continue;
        s.apart = true;
        status = how ? 0 : refuse_absent(sharding);
    }
    if (status == 0)
        status = choose_lines(&s);
    return status ? status : add_lines(&s);
}

void lazy_shown_free(neap_ctx *ctx, lazy_shown *shown) {
    for (int64_t k = 0; k < shown->nodes.n; k++)
        lazy_release(ctx, shown->nodes.at[k]);
    for (int64_t k = 0; k < shown->fragments.n; k++)
        free(shown->fragments.at[k].layout);
    for (int64_t k = 0; k < shown->tags.n; k++)
        free(shown->tags.at[k]);
    lazy_vector_free(&shown->nodes);
    lazy_vector_free(&shown->fragments);
    lazy_vector_free(&shown->tags);
}
