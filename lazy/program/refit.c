/* program/refit.c: recording a program again for inputs of other types (refit.h).
 *
 * It goes by the list of listing.c, as a file does, so that a program that was loaded follows its inputs exactly as the
 * one that was saved.
 */
#include "lazy/program/refit.h"
#include "lazy/dtype/scalar.h"

#include <stdio.h>
#include <string.h>

#include "lazy/graph/graph.h"
#include "lazy/program/listing.h"

enum { DATA = -1 };

/* ---- Inputs ------------------------------------------------------------------------------------------------------ */
lazy_port program_port_of(const neap_node *node) {
    lazy_port port = {.type = {.dtype = node->dtype, .ndim = node->ndim},
                      .weak = (node->flags & LAZY_WEAK) != 0,
                      .yields = node->yields,
                      .fraction = node->fraction,
                      .device = graph_is_meshed(node) ? -1 : node->device,
                      .sharding = graph_sharding_of(node)};
    memcpy(port.type.shape, node->shape, node->ndim * sizeof *node->shape);
    return port;
}

/* "f32[2,3] on cpu:1", "a number" */
static const char *port_text(const lazy_port *port, char *text, size_t capacity) {
    char lies[128];
    if (port->weak)
        return "a number";
    int at = snprintf(text, capacity, "%s[", neap_dtype_name(port->type.dtype));
    for (int k = 0; k < port->type.ndim && at < (int)capacity; k++)
        at += snprintf(text + at, capacity - (size_t)at, "%s%lld", k ? "," : "", (long long)port->type.shape[k]);
    if (at < (int)capacity && port->sharding)
        snprintf(text + at, capacity - (size_t)at, "]%s",
                 shard_sharding_text(port->sharding, port->type.ndim, lies, sizeof lies));
    else if (at < (int)capacity)
        snprintf(text + at, capacity - (size_t)at, "]%s%s", port->device < 0 ? "" : " on ",
                 port->device < 0 ? "" : neap_device_name(port->device));
    return text;
}

static bool same_port(const lazy_port *a, const lazy_port *b) {
    return a->weak == b->weak &&
           (a->weak || (a->type.dtype == b->type.dtype && a->device == b->device && a->sharding == b->sharding &&
                        graph_same_shape(a->type.ndim, a->type.shape, b->type.ndim, b->type.shape)));
}

/* "x: expected f32[2], got f32[3]", for the inputs that are another: at most three of them. */
static void list_misfits(const neap_program *program, const lazy_port *ports, char *text, size_t capacity) {
    int64_t told = 0, at = 0;
    text[0] = '\0';
    for (int64_t k = 0; k < program->inputs.n && told < 3 && at < (int64_t)capacity; k++) {
        lazy_port want = program_port_of(program->inputs.at[k]);
        char left[256], right[256], name[32];
        if (same_port(&want, &ports[k]))
            continue;
        snprintf(name, sizeof name, "input %lld", (long long)k + 1);
        at += snprintf(text + at, capacity - (size_t)at, "%s%s: expected %s, got %s", told++ ? "; " : "",
                       program->input_names.at ? program->input_names.at[k] : name, port_text(&want, left, sizeof left),
                       port_text(&ports[k], right, sizeof right));
    }
}

/* Adds the inputs that differ to the error that was set. */
static int misfit(lazy_refit *r, const lazy_port *ports, int status, const neap_node *node) {
    char *why = strdup(neap_error_text()), where[512] = "", which[1024];
    const char *site = node && node->site ? graph_site_text(r->ctx, node->site) : NULL;
    if (status == NEAP_E_MEMORY || status == NEAP_PENDING || !why || r->around) {
        free(why);
        return status;
    }
    if (site)
        snprintf(where, sizeof where, ", recorded at %s", site);
    list_misfits(r->program, ports, which, sizeof which);
    neap_error(status, "the arguments do not fit the program: %s%s%s%s", which, why[0] ? ": " : "", why, where);
    free(why);
    return status;
}

/* An axis of one element broadcasts, and the numbers 1 of a program are not told apart: it stays. */
static int check_port(lazy_refit *r, const lazy_port *ports, int64_t k) {
    lazy_port want = program_port_of(r->program->inputs.at[k]);
    const lazy_port *got = &ports[k];
    int status = 0;
    if (want.weak != got->weak || want.type.ndim != got->type.ndim)
        status = neap_error(NEAP_E_SHAPE, "%s",
                            want.weak || got->weak ? "" : "the number of axes is part of a program; np.vmap adds one");
    for (int a = 0; a < want.type.ndim && status == 0; a++) {
        int64_t was = want.type.shape[a], now = got->type.shape[a];
        r->resized |= was != now;
        if (was != now && was < 2)
            status = neap_error(NEAP_E_SHAPE,
                                "a program that was recorded with %lld along an axis takes no other size there; "
                                "record it with 2 or more",
                                (long long)was);
    }
    if (want.type.dtype != got->type.dtype && !want.weak)
        r->recast |= 1u << want.type.dtype;
    if (want.device >= 0 && got->device >= 0 && want.device != got->device) {
        r->from = want.device;
        r->to = got->device;
    }
    return status ? misfit(r, ports, status, NULL) : 0;
}

static int open_inputs(lazy_refit *r, const lazy_port *ports) {
    int status = 0;
    for (int64_t k = 0; k < r->program->inputs.n && status == 0; k++) {
        neap_node *node =
            graph_placeholder(r->ctx, r->level, &ports[k].type, ports[k].weak, ports[k].device, ports[k].sharding);
        status = node && lazy_push(&r->told, 1) == 0 && lazy_push(&r->now, node) == 0 ? 0 : NEAP_E_MEMORY;
        if (status == 0)
            graph_retain(node);
        if (status == 0) {
            node->yields = ports[k].yields;
            node->fraction = ports[k].fraction;
        }
        if (status == 0 && ports[k].weak)
            node->meets = r->program->inputs.at[k]->meets & LAZY_NUMBER_FRACTION;
    }
    for (int64_t k = 0; k < r->program->inputs.n && status == 0; k++)
        status = program_follow_note(r, r->program->inputs.at[k], r->now.at[k]);
    return status;
}

/* ---- Items ------------------------------------------------------------------------------------------------------- */
/* Captured data goes where the inputs went. */
static neap_node *refit_data(lazy_refit *r, neap_node *node) {
    if (r->from < 0 || node->device != r->from)
        return graph_retain(node);
    neap_node *moved = graph_build_place(r->ctx, node, r->to);
    return moved ? graph_retain(moved) : NULL;
}

/* A number keeps its value, but one that counts. Numbers stand in front of all ops, so a doubt about one waits: where
 * an op does not take its inputs, that says more. What the recorder had made of a number is a number again, if dtypes
 * may be others. */
static neap_node *refit_number(lazy_refit *r, neap_node *node) {
    double value;
    bool weak = node->flags & LAZY_WEAK || (r->recast && node->follows & LAZY_FOLLOWS_RECORDER);
    if (program_follow_number(r, node, &value) && !r->doubt && !(r->doubt = strdup(neap_error_text())))
        return NULL;
    if (value == node->value && weak == ((node->flags & LAZY_WEAK) != 0))
        return graph_retain(node);
    neap_node *made = graph_constant(r->ctx, weak ? NEAP_DTYPE_F64 : node->dtype, weak, value);
    if (made)
        made->follows = node->follows & ~(weak ? LAZY_FOLLOWS_RECORDER : 0u);
    return made;
}

/* What runs something else: a callback is called again, a loop gets programs that fit. */
static neap_node *refit_payload(lazy_refit *r, const neap_node *node, neap_node *const *in) {
    const lazy_payload *payload = graph_node_op(node)->payload;
    bool fixed = payload->fixed && payload->fixed(node);
    for (int k = 0; k < node->nin && fixed; k++)
        if (in[k]->dtype != node->in[k]->dtype ||
            !graph_same_shape(in[k]->ndim, in[k]->shape, node->in[k]->ndim, node->in[k]->shape)) {
            neap_error(NEAP_E_SHAPE,
                       "%s: its results have the shapes that were given with it, for arguments of other "
                       "shapes or dtypes than now",
                       graph_node_op(node)->name);
            return NULL;
        }
    return payload->refit ? payload->refit(r, node, in) : payload->again(r->ctx, node, in);
}

/* An op again, with the attributes that its row's rule makes of its own. */
static neap_node *refit_op(lazy_refit *r, const neap_node *node, neap_node *const *in) {
    const lazy_op *row = graph_node_op(node);
    int64_t few[16], *attrs = node->nattrs <= 16 ? few : malloc((size_t)node->nattrs * sizeof *attrs);
    neap_node *made = NULL;
    if (!attrs) {
        neap_error(NEAP_E_MEMORY, "out of memory for a program");
        return NULL;
    }
    memcpy(attrs, node->attrs, (size_t)node->nattrs * sizeof *attrs);
    lazy_follow follow = {.refit = r, .node = node, .in = in, .attrs = attrs};
    int status = row->follow ? row->follow(&follow) : 0;
    if (status == 0 && r->resized && row->kind == LAZY_MAP)
        status = program_follow_meet(node, in);
    if (status == 0)
        made = graph_record(r->ctx, node->op, node->nin, in, node->nattrs, attrs);
    graph_follow_as(made, node);
    if (attrs != few)
        free(attrs);
    return made;
}

static neap_node *refit_node(lazy_refit *r, neap_node *node, neap_node *const *in, bool is_data) {
    const lazy_op *row = graph_node_op(node);
    const lazy_payload *payload = row->payload;
    if (graph_is_constant(node))
        return refit_number(r, node);
    if (is_data)
        return refit_data(r, node);
    if (payload)
        return refit_payload(r, node, in);
    const lazy_payload *of = row->flags & LAZY_OP_PART ? graph_node_op(node->in[0])->payload : NULL;
    if (of && of->result)
        return of->result(r->ctx, in[0], (int)node->attrs[0]);
    if (row->flags & LAZY_OP_CASTS && r->recast && node->follows & LAZY_FOLLOWS_RECORDER)
        return graph_retain(in[0]); /* the recorder casts again, if that is needed */
    if (row->flags & LAZY_OP_ALIAS && !(in[0]->flags & LAZY_ABSTRACT))
        return program_take_in(r->ctx, r->level, in[0]);
    return refit_op(r, node, in);
}

/* A number or a cast of a real dtype that inputs had, and that nothing tells to follow them: what meets it has the
 * digits of the old dtype, whatever the inputs have. */
static int check_digits(lazy_refit *r, const neap_node *node) {
    bool fixed = (graph_is_constant(node) && !(node->flags & LAZY_WEAK)) || graph_node_op(node)->flags & LAZY_OP_CASTS;
    if (!fixed || !(r->recast >> node->dtype & 1) || node->follows & LAZY_FOLLOWS_RECORDER ||
        !dtype_is_inexact(node->dtype))
        return 0;
    return neap_error(NEAP_E_DTYPE,
                      "the program computes some of this in %s whatever its inputs are; record it for them",
                      neap_dtype_name(node->dtype));
}

static int refit_print(lazy_refit *r, const lazy_effect *effect, const int32_t *link) {
    neap_node **nodes = calloc((size_t)effect->nodes.n + 1, sizeof *nodes);
    if (!nodes)
        return neap_error(NEAP_E_MEMORY, "out of memory for a print");
    for (int64_t k = 0; k < effect->nodes.n; k++)
        nodes[k] = r->now.at[link[k]];
    int status = effect_print_nodes(r->ctx, &effect->how, effect->nfragments, effect->fragments, nodes);
    free(nodes);
    return status;
}

/* Writes down which values the items and the outputs are made of, before anything else numbers their nodes. */
static int link_items(lazy_refit *r, const lazy_items *items) {
    const neap_program *program = r->program;
    uint32_t value = 0;
    int status = 0;
    for (int64_t k = 0; k < program->inputs.n; k++)
        program->inputs.at[k]->index = value++;
    for (int64_t k = 0; k < items->n && status == 0; k++) {
        neap_node *node = items->at[k].node;
        const lazy_nodes *shown = node ? NULL : &items->at[k].effect->nodes;
        int64_t n = shown ? shown->n : program_is_constructed(node) ? node->nin : DATA;
        status = lazy_push(&r->counts, (int32_t)n);
        for (int64_t i = 0; i < n && status == 0; i++)
            status = lazy_push(&r->links, (int32_t)(shown ? shown->at[i] : node->in[i])->index);
        if (node)
            node->index = value++;
    }
    for (int64_t k = 0; k < program->outputs.n && status == 0; k++)
        status = lazy_push(&r->links, (int32_t)program->outputs.at[k]->index);
    return status;
}

/* A node that is made again keeps its line. */
static int refit_item(lazy_refit *r, neap_node *node, const int32_t *link, int n) {
    neap_node *in[LAZY_MAX_CONTROL_INPUTS], *made;
    int32_t around = r->ctx->sites.again;
    bool told = n == DATA && !graph_is_constant(node);
    for (int k = 0; k < n; k++) {
        in[k] = r->now.at[link[k]];
        told |= r->told.at[link[k]];
    }
    r->ctx->sites.again = node->site ? node->site : around;
    made = check_digits(r, node) ? NULL : refit_node(r, node, in, n == DATA);
    r->ctx->sites.again = around;
    if (!made)
        return neap_error_code();
    if (lazy_push(&r->told, told) || lazy_push(&r->now, made)) {
        graph_release(r->ctx, made);
        return NEAP_E_MEMORY;
    }
    return told ? program_follow_note(r, node, made) : 0;
}

static int refit_items(lazy_refit *r, const lazy_items *items, const lazy_port *ports) {
    const int32_t *link = r->links.at;
    int status = 0;
    for (int64_t k = 0; k < items->n && status == 0; k++) {
        neap_node *node = items->at[k].node;
        int n = r->counts.at[k];
        status = node ? refit_item(r, node, link, n) : refit_print(r, items->at[k].effect, link);
        link += n > 0 ? n : 0;
        if (status)
            status = misfit(r, ports, status, node);
    }
    if (status == 0 && r->doubt)
        status = misfit(r, ports, neap_error(NEAP_E_SHAPE, "%s", r->doubt), NULL);
    for (int64_t k = 0; k < items->n && status == 0; k++)
        if (items->at[k].node && graph_is_constant(items->at[k].node) &&
            (status = program_follow_suspect(r, items->at[k].node)) != 0)
            status = misfit(r, ports, status, NULL);
    return status;
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */
static int refit_body(lazy_refit *r, const lazy_port *ports, neap_program **out) {
    int64_t nout = r->program->outputs.n;
    neap_node **outputs = malloc((size_t)nout * sizeof *outputs + 1);
    lazy_items items = {0};
    int status = outputs ? program_list(r->program, &items) : neap_error(NEAP_E_MEMORY, "out of memory for a program");
    if (status == 0)
        status = link_items(r, &items);
    if (status == 0)
        status = open_inputs(r, ports);
    plan_hold(r->ctx);
    if (status == 0)
        status = refit_items(r, &items, ports);
    int held = plan_unhold(r->ctx);
    status = status ? status : held;
    for (int64_t k = 0; k < nout && status == 0; k++)
        outputs[k] = r->now.at[r->links.at[r->links.n - nout + k]];
    if (status == 0)
        status = program_trace_end(r->ctx, r->level, (int)nout, outputs, out);
    lazy_vector_free(&items);
    free(outputs);
    return status;
}

static int copy_names(const neap_program *from, neap_program *to) {
    int status = 0;
    if (from->input_names.at)
        status = neap_program_rename(to, 0, (int)from->inputs.n, from->input_names.at);
    if (status == 0 && from->output_names.at)
        status = neap_program_rename(to, 1, (int)from->outputs.n, from->output_names.at);
    return status;
}

/* Records the program once; *out is NULL unless that succeeds. What it knows of sizes is kept. */
static int refit_once(lazy_refit *r, const lazy_port *ports, neap_program **out) {
    int status = graph_trace_begin(r->ctx, 0, &r->level);
    *out = NULL;
    r->missed.n = 0;
    if (status == 0) {
        status = refit_body(r, ports, out);
        if (r->ctx->levels.n > r->level)
            graph_level_end(r->ctx, r->level);
    }
    for (int64_t k = 0; k < r->now.n; k++)
        graph_release(r->ctx, r->now.at[k]);
    r->now.n = r->told.n = r->links.n = r->counts.n = 0;
    free(r->doubt);
    r->doubt = NULL;
    return status;
}

static void close_refit(lazy_refit *r) {
    lazy_vector_free(&r->now);
    lazy_vector_free(&r->links);
    lazy_vector_free(&r->counts);
    lazy_vector_free(&r->told);
    lazy_vector_free(&r->missed);
    lazy_vector_free(&r->axes);
    lazy_vector_free(&r->products);
}

/* Each turn but the last has learned of a size that it had asked for: there are not more of those than attributes. */
int program_refit(neap_ctx *ctx, neap_program *program, lazy_refit *around, const lazy_port *ports,
                  neap_program **out) {
    lazy_refit r = {.ctx = ctx, .program = program, .around = around, .from = -1, .to = -1};
    int status = 0;
    if (program->fixed)
        status =
            misfit(&r, ports,
                   neap_error(NEAP_E_ARGUMENT, "it was saved by an older version of neap, and takes no others; save "
                                               "it again"),
                   NULL);
    if (around) {
        r.resized = around->resized;
        r.recast = around->recast;
        r.from = around->from;
        r.to = around->to;
    }
    for (int64_t k = 0; k < program->inputs.n && status == 0; k++)
        status = check_port(&r, ports, k);
    while (status == 0) {
        status = refit_once(&r, ports, out);
        if (!program_follow_again(&r))
            break;
        neap_program_free(*out);
        status = 0;
    }
    if (status == 0 && (status = copy_names(program, *out)) != 0)
        neap_program_free(*out);
    close_refit(&r);
    return status;
}

int neap_program_refit(neap_ctx *ctx, neap_program *program, int n, const int32_t *ids, neap_program **out) {
    if (n != program->inputs.n)
        return neap_error(NEAP_E_ARGUMENT, "program: expected %lld inputs, got %d", (long long)program->inputs.n, n);
    lazy_port *ports = malloc((size_t)n * sizeof *ports + 1);
    int status = ports ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a program");
    for (int k = 0; k < n && status == 0; k++) {
        const neap_node *node = graph_lookup_any(ctx, ids[k]);
        if (node)
            ports[k] = program_port_of(node);
        status = node ? 0 : neap_error_code();
    }
    if (status == 0)
        status = program_refit(ctx, program, NULL, ports, out);
    free(ports);
    return status ? status : graph_attend(ctx);
}
