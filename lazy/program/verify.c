/* verify.c: is a program what passes may rely on? A failure is a mistake of neap's own, never of its user.
 *
 *  1. Inputs are placeholders that know their positions; every placeholder in the program is one of them.
 *  2. Nodes stand behind what they read, and `links` says where that stands.
 *  3. A node is what recording its op on its inputs gives: number of inputs, dtype, shape, and whether it is a number.
 *  4. Attributes are as many as the row names, and dtypes among them exist.
 *  5. No node belongs to a level any more; what is no part of the trace has a value, or is made of constructors;
 *     or will have one when the program gets a plan, if it was traced in deferred mode.
 *  6. Effects come in their order, and their roots and the outputs are where `root_nodes` says. A print stands behind
 *     what the print reads: a replay would take the print for one whose operands are not recorded, and leave it out.
 *  7. Views have a base, which is none without a buffer.
 *  8. What lies on a mesh says how.
 */
#include "lazy/program/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lazy/effect/effect.h"
#include "lazy/graph/graph.h"

typedef struct verifier {
    const neap_program *program;
    const char *pass;
    int64_t at; /* the node that is looked at, -1: none */
} verifier;

__attribute__((format(printf, 2, 3))) static int wrong(const verifier *v, const char *format, ...) {
    char what[512], where[160] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (v->at >= 0) {
        const neap_node *node = v->program->nodes.at[v->at];
        const char *site = graph_site_text(v->program->ctx, node->site);
        bool known = node->op >= 0 && node->op < lazy_op_count;
        snprintf(where, sizeof where, "node %lld (%s%s%s): ", (long long)v->at, known ? lazy_ops[node->op]->name : "?",
                 site ? ", " : "", site ? site : "");
    }
    return neap_error(NEAP_E_INTERNAL, "verify after %s: %s%s", v->pass, where, what);
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */
static int check_loose(const verifier *v, const neap_node *node) {
    int64_t size = 1;
    if (node->op < 0 || node->op >= lazy_op_count)
        return wrong(v, "there is no op of number %d", node->op);
    if (node->dtype >= NEAP_DTYPE_COUNT)
        return wrong(v, "there is no dtype of number %d", node->dtype);
    if (node->ndim > NEAP_MAX_DIMS)
        return wrong(v, "it has %d axes", node->ndim);
    for (int k = 0; k < node->ndim; k++)
        size *= node->shape[k];
    if (size != node->size)
        return wrong(v, "its shape has %lld elements, but its size is %lld", (long long)size, (long long)node->size);
    if (graph_is_meshed(node) != (!node->buffer && node->shards))
        return wrong(v, "it lies on a mesh, but does not say how");
    if (node->levels)
        return wrong(v, "it belongs to a level that is open, bits %#x", node->levels);
    return 0;
}

static int check_placeholder(const verifier *v, const neap_node *node) {
    int64_t place = (int64_t)node->value;
    if (place < 0 || place >= v->program->inputs.n || v->program->inputs.at[place] != node)
        return wrong(v, "it says that it is input %lld, but that is another one", (long long)place);
    return 0;
}

static int check_attributes(const verifier *v, const neap_node *node) {
    const lazy_op *row = graph_node_op(node);
    lazy_attr_names names = graph_attr_names_of(row);
    int more = node->nattrs - names.nfixed;
    if (more < 0 || (names.nrepeat ? more % names.nrepeat : more) != 0)
        return wrong(v, "it has %d attributes, expected \"%s\"", node->nattrs, row->attrs ? row->attrs : "");
    for (int k = 0; k < node->nattrs; k++)
        if (graph_attr_is_dtype(graph_attr_name(&names, k)) &&
            (node->attrs[k] < 0 || node->attrs[k] >= NEAP_DTYPE_COUNT))
            return wrong(v, "its attribute %d is no dtype: %lld", k, (long long)node->attrs[k]);
    return 0;
}

/* Does it read only what stands in front of it? */
static int check_links(const verifier *v, const neap_node *node, const int32_t *links) {
    const lazy_op *row = graph_node_op(node);
    if (row->arity != 255 && node->nin != row->arity)
        return wrong(v, "it has %d inputs, expected %d", node->nin, row->arity);
    for (int k = 0; k < node->nin; k++) {
        const neap_node *in = node->in[k];
        if (in->mark != v->program->ctx->walk.epoch || (int64_t)in->index >= v->at)
            return wrong(v, "its input %d does not stand in front of it", k);
        if (links[k] != (int32_t)in->index)
            return wrong(v, "its input %d stands at %u, but its link says %d", k, in->index, links[k]);
    }
    return 0;
}

/* Would recording the op give this node? */
static int check_inference(const verifier *v, const neap_node *node) {
    graph_call call = {.op = node->op, .nin = node->nin, .nattrs = node->nattrs, .in = node->in, .attrs = node->attrs};
    lazy_result result = {0};
    bool weak;
    char want[256], got[256];
    if (graph_infer(&call, &result, &weak) != 0) {
        snprintf(want, sizeof want, "%s", neap_error_text());
        return wrong(v, "the rules refuse it: %s", want);
    }
    if (result.dtype != node->dtype || weak != ((node->flags & LAZY_WEAK) != 0))
        return wrong(v, "its dtype is %s%s, but the rules say %s%s", neap_dtype_name(node->dtype),
                     node->flags & LAZY_WEAK ? " (a number)" : "", neap_dtype_name(result.dtype),
                     weak ? " (a number)" : "");
    if (result.ndim != node->ndim || memcmp(result.shape, node->shape, node->ndim * sizeof *node->shape) != 0)
        return wrong(v, "its shape is %s, but the rules say %s",
                     graph_shape_text(node->ndim, node->shape, got, sizeof got),
                     graph_shape_text(result.ndim, result.shape, want, sizeof want));
    return 0;
}

static int check_view(const verifier *v, const neap_node *node) {
    if (!node->base)
        return wrong(v, "it is a view of nothing");
    if (graph_is_view(node->base) && !node->base->buffer)
        return wrong(v, "it is a view of a view that is not computed");
    return 0;
}

/* What the trace did not record: it is staged as it is. */
static int check_captured(const verifier *v, const neap_node *node) {
    const neap_node *read = graph_is_view(node) && !node->buffer ? node->base : node;
    bool later = !v->program->plan && read->state != LAZY_READY;
    if (!node->buffer && !node->shards && !later && !graph_is_number(node) &&
        !(node->flags & (LAZY_CONSTRUCTED | LAZY_DELETED)))
        return wrong(v, "it was captured, but it has no value and is not made of constructors");
    return 0;
}

static int check_node(const verifier *v, const neap_node *node, const int32_t *links) {
    int status = check_loose(v, node);
    if (status)
        return status;
    if (graph_is_placeholder(node))
        return check_placeholder(v, node);
    if (!(node->flags & LAZY_ABSTRACT))
        return check_captured(v, node);
    status = check_attributes(v, node);
    if (status == 0)
        status = check_links(v, node, links);
    if (status == 0 && !graph_has_pointer(graph_node_op(node)))
        status = check_inference(v, node);
    return status || !graph_is_view(node) ? status : check_view(v, node);
}

static int check_nodes(verifier *v) {
    const neap_program *program = v->program;
    const int32_t *links = program->links.at, *end = links + program->links.n;
    int status = 0;
    for (v->at = 0; v->at < program->nodes.n && status == 0; v->at++) {
        neap_node *node = program->nodes.at[v->at];
        int64_t reads = node->flags & LAZY_ABSTRACT ? node->nin : 0;
        if (node->mark == program->ctx->walk.epoch)
            return wrong(v, "it stands in the program twice, also as node %u", node->index);
        if (reads > end - links)
            return wrong(v, "there are no links for its inputs");
        status = check_node(v, node, links);
        links += reads;
        node->mark = program->ctx->walk.epoch;
        node->index = (uint32_t)v->at;
    }
    v->at = -1;
    return status || links == end ? status : wrong(v, "there are more links than inputs of nodes");
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */
static int check_ports(const verifier *v) {
    const neap_program *program = v->program;
    for (int64_t k = 0; k < program->inputs.n; k++) {
        const neap_node *node = program->inputs.at[k];
        if (!graph_is_placeholder(node) || !(node->flags & LAZY_ABSTRACT))
            return wrong(v, "input %lld is no placeholder", (long long)k);
        if ((int64_t)node->value != k)
            return wrong(v, "input %lld says that it is input %lld", (long long)k, (long long)node->value);
        if (node->flags & LAZY_WEAK && node->ndim)
            return wrong(v, "input %lld is a number with %d axes", (long long)k, node->ndim);
    }
    for (int64_t k = 0; k < program->outputs.n; k++)
        if (program->outputs.at[k]->flags & LAZY_WEAK)
            return wrong(v, "output %lld is a number", (long long)k);
    return 0;
}

static int check_root(const verifier *v, int64_t root, const neap_node *node) {
    const neap_program *program = v->program;
    int64_t place = root < program->root_nodes.n ? program->root_nodes.at[root] : -1;
    if (place < 0 || place >= program->nodes.n || program->nodes.at[place] != node)
        return wrong(v, "root %lld is not where it should be", (long long)root);
    return 0;
}

static int check_roots(const verifier *v) {
    const neap_program *program = v->program;
    int64_t root = 0, last = -1;
    int status = 0;
    for (int64_t e = 0; e < program->effects.n; e++) {
        const lazy_effect *effect = program->effects.at[e];
        for (int64_t k = 0; k < effect->nodes.n && status == 0; k++)
            status = check_root(v, root++, effect->nodes.at[k]);
        if (status)
            return status;
        for (int64_t k = 0; !effect->node && k < effect->nodes.n; k++)
            if (effect->place <= program->root_nodes.at[root - 1 - k])
                return wrong(v, "effect %lld, a print, stands before what the print reads", (long long)e);
        if (effect->node && (int64_t)effect->node->index <= last)
            return wrong(v, "effect %lld does not come behind those in front of it", (long long)e);
        last = effect->node ? (int64_t)effect->node->index : last;
    }
    if (root != program->effect_roots)
        return wrong(v, "effects have %lld roots, not %lld", (long long)root, (long long)program->effect_roots);
    for (int64_t k = 0; k < program->outputs.n && status == 0; k++)
        status = check_root(v, root++, program->outputs.at[k]);
    if (status == 0 && (root != program->root_nodes.n || (program->plan && root != program->root_slots.n)))
        return wrong(v, "there are %lld roots, but places for %lld", (long long)root, (long long)program->root_nodes.n);
    return status;
}

int program_verify(const neap_program *program, const char *pass) {
    verifier v = {.program = program, .pass = pass, .at = -1};
    program->ctx->walk.epoch++;
    int status = check_ports(&v);
    if (status == 0)
        status = check_nodes(&v);
    return status ? status : check_roots(&v);
}

int neap_program_verify(neap_program *program) {
    if (!program->ctx)
        return neap_error(NEAP_E_STATE, "program: its session has ended");
    return program_verify(program, "all passes");
}
