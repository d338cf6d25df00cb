/* explain/dot.c: a story as a picture: a directed graph in the language of Graphviz's `dot`.
 *
 *      buffers are boxes; a kernel is a cluster of its instructions and reductions; a call is a cluster of one node
 *
 *          ┌───┐   ╭─ 1 max+subtract ───╮   ┌───┐
 *          │ a │──▶│ (max)──▶(subtract) │──▶│ b │
 *          └───┘   ╰────────────────────╯   └───┘
 *
 * The picture is drawn from the plan, so it shows what runs: views are gone, and what several kernels compute each for
 * itself stands in each of them. Its size is bounded: of many steps those of the text are drawn, and long kernels, or
 * such of many buffers, become a single node.
 */
#include <string.h>

#include "lazy/explain/explain.h"

enum { MOST_INS = 40, MOST_EDGES = 24, MOST_SINKS = 64 };

typedef struct drawing {
    lazy_print *print;
    const lazy_story *story;
    const lazy_chapter *chapter;
    int number;      /* of the chapter: names of its nodes begin with it */
    bool *shown;     /* by step: is it drawn? */
    uint8_t *places; /* by slot: DRAWN if such a step uses it, HIDDEN_… if another one does */
} drawing;

enum { DRAWN = 1, HIDDEN_READ = 2, HIDDEN_WRITTEN = 4 };

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */
static void draw_buffer(const drawing *d, int32_t slot) {
    const neap_node *node = explain_story_node(d->story, d->chapter, slot);
    const lazy_slot *at = &d->chapter->plan->slots[slot];
    lazy_say(d->print, "  c%d_b%d [shape=box, style=filled, fillcolor=\"%s\", label=\"", d->number, slot,
             !at->made                   ? "#e8e8e8"
             : at->why == LAZY_WHY_ASKED ? "#cfe8cf"
                                         : "#fff3c4");
    if (node) {
        program_say_typed(d->print, node);
        lazy_say(d->print, "\\n");
    }
    explain_say_bytes(d->print, (int64_t)at->bytes);
    lazy_say(d->print, "\"");
    const char *site = node ? graph_site_text(d->story->ctx, node->site) : NULL;
    bool known = site && explain_story_line(site);
    if (at->made || known)
        lazy_say(d->print, ", tooltip=\"");
    if (at->made)
        program_say_escaped(d->print, plan_why_text(at->why));
    if (known) {
        lazy_say(d->print, at->made ? "\\n" : "");
        program_say_escaped(d->print, site);
    }
    lazy_say(d->print, at->made || known ? "\"];\n" : "];\n");
}

/* ---- Nodes of instructions --------------------------------------------------------------------------------------- */
/* Nodes computed by the instructions and sinks of a kernel, as far as known: NULL where the planner has made something
 * else of the expression. */
typedef struct matches {
    neap_node *ins[MOST_INS], *sinks[MOST_SINKS];
    int32_t ready[MOST_INS + MOST_SINKS]; /* values with nodes whose operands are to be matched; sinks: -1 - k */
    int nready;
} matches;

static bool is_named(const drawing *d, const neap_node *node) {
    return node->mark == d->story->ctx->walk.epoch && !program_is_literal(node);
}

/* A node may have released its inputs when it was computed. */
static bool has_inputs(const neap_node *node) {
    return node->nin > 0 && !(node->flags & LAZY_DROPPED);
}

static neap_node *behind_views(neap_node *node) {
    while (graph_node_op(node)->kind == LAZY_VIEW && has_inputs(node))
        node = node->in[0];
    return node;
}

/* `node`, or the node that it is a view of, makes sink k if both reduce by the same op. */
static void match_sink(const drawing *d, const lazy_kernel *kernel, matches *m, int k, neap_node *node) {
    node = behind_views(node);
    if (k >= MOST_SINKS || m->sinks[k] || node->op != kernel->sinks[k].op || !is_named(d, node))
        return;
    m->sinks[k] = node;
    if (has_inputs(node))
        m->ready[m->nready++] = -1 - k;
}

/* The same of a value. */
static void match_value(const drawing *d, const lazy_kernel *kernel, matches *m, int32_t value, neap_node *node) {
    if (value < kernel->nloads) {
        const lazy_load *load = &kernel->loads[value];
        if (load->kind == LAZY_LOAD_RESULT)
            match_sink(d, kernel, m, load->slot, node);
        return;
    }
    int32_t k = value - kernel->nloads;
    node = behind_views(node);
    if (m->ins[k] || node->op != kernel->ins[k].op || node->nin != kernel->ins[k].narg || !is_named(d, node))
        return;
    m->ins[k] = node;
    if (has_inputs(node))
        m->ready[m->nready++] = value;
}

/* Goes from the stored results backwards, as long as the ops of instructions and nodes agree. */
static void match_nodes(const drawing *d, int32_t s, matches *m) {
    const lazy_plan *plan = d->chapter->plan;
    const lazy_kernel *kernel = &plan->steps[s]->kernel;
    memset(m, 0, sizeof *m);
    for (int k = 0; k < kernel->nsinks; k++) {
        const lazy_sink *sink = &kernel->sinks[k];
        neap_node *node =
            sink->slot < 0 ? NULL : explain_story_node(d->story, d->chapter, explain_story_slot(plan, s, sink->slot));
        if (node && sink->kind == LAZY_SINK_REDUCE)
            match_sink(d, kernel, m, k, node);
        else if (node && sink->kind != LAZY_SINK_PUT)
            match_value(d, kernel, m, sink->value, node);
    }
    while (m->nready > 0) {
        int32_t value = m->ready[--m->nready];
        if (value < 0) {
            match_value(d, kernel, m, kernel->sinks[-1 - value].value, m->sinks[-1 - value]->in[0]);
            continue;
        }
        const lazy_ins *ins = &kernel->ins[value - kernel->nloads];
        for (int a = 0; a < ins->narg; a++)
            match_value(d, kernel, m, ins->arg[a], m->ins[value - kernel->nloads]->in[a]);
    }
}

/* What is known of a value of a kernel: the node and its script line, or the dtype alone. */
static void say_tooltip(const drawing *d, const neap_node *node, int dtype) {
    lazy_say(d->print, ", tooltip=\"");
    const char *site = node ? graph_site_text(d->story->ctx, node->site) : NULL;
    if (node)
        program_say_typed(d->print, node);
    else
        lazy_say(d->print, "%s", neap_dtype_name(dtype));
    if (site && explain_story_line(site)) {
        lazy_say(d->print, "\\n");
        program_say_escaped(d->print, site);
    }
    lazy_say(d->print, "\"");
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */
static void say_number(const drawing *d, const lazy_step *step, const lazy_load *load) {
    const lazy_number *number = &d->chapter->plan->numbers[step->first_number + load->slot];
    neap_node *node = d->chapter->region.n ? d->chapter->region.at[number->node] : NULL;
    if (node && program_is_literal(node))
        lazy_say(d->print, " %.9g", node->value);
    else
        lazy_say(d->print, " number");
}

/* An instruction with the numbers and indices that it reads. */
static void draw_ins(const drawing *d, int32_t s, int k, const matches *m) {
    const lazy_step *step = d->chapter->plan->steps[s];
    const lazy_kernel *kernel = &step->kernel;
    const lazy_ins *ins = &kernel->ins[k];
    lazy_say(d->print, "    c%d_s%d_v%d [label=\"%s", d->number, s, kernel->nloads + k, lazy_ops[ins->op]->name);
    for (int a = 0; a < ins->narg; a++) {
        const lazy_load *load = ins->arg[a] < kernel->nloads ? &kernel->loads[ins->arg[a]] : NULL;
        if (load && load->kind == LAZY_LOAD_SCALAR)
            say_number(d, step, load);
        else if (load && load->kind == LAZY_LOAD_IOTA)
            lazy_say(d->print, " index");
    }
    lazy_say(d->print, "\"");
    say_tooltip(d, m->ins[k], ins->result);
    lazy_say(d->print, "];\n");
}

/* A sink has a node of its own if it reduces, or stores what no instruction has made. */
static bool has_node(const lazy_kernel *kernel, const lazy_sink *sink) {
    return sink->kind == LAZY_SINK_REDUCE || sink->value < kernel->nloads;
}

static void draw_sink(const drawing *d, int32_t s, int k, const matches *m) {
    const lazy_step *step = d->chapter->plan->steps[s];
    const lazy_sink *sink = &step->kernel.sinks[k];
    if (!has_node(&step->kernel, sink))
        return;
    const lazy_load *load = sink->value < step->kernel.nloads ? &step->kernel.loads[sink->value] : NULL;
    bool reduces = sink->kind == LAZY_SINK_REDUCE;
    lazy_say(d->print, "    c%d_s%d_k%d [shape=%s, label=\"%s", d->number, s, k, reduces ? "invtrapezium" : "ellipse",
             reduces ? lazy_ops[sink->op]->name : "store");
    if (load && load->kind == LAZY_LOAD_SCALAR)
        say_number(d, step, load);
    else if (load && load->kind == LAZY_LOAD_IOTA)
        lazy_say(d->print, " index");
    lazy_say(d->print, "\"");
    say_tooltip(d, k < MOST_SINKS ? m->sinks[k] : NULL, sink->dtype);
    lazy_say(d->print, "];\n");
}

/* The beginning of an edge from a value; false: it has no node of its own. */
static bool say_source(const drawing *d, int32_t s, int32_t value) {
    const lazy_plan *plan = d->chapter->plan;
    const lazy_kernel *kernel = &plan->steps[s]->kernel;
    const lazy_load *load = value < kernel->nloads ? &kernel->loads[value] : NULL;
    if (!load)
        lazy_say(d->print, "  c%d_s%d_v%d -> ", d->number, s, value);
    else if (load->kind == LAZY_LOAD_RESULT)
        lazy_say(d->print, "  c%d_s%d_k%d -> ", d->number, s, load->slot);
    else if (loop_has_buffer(load))
        lazy_say(d->print, "  c%d_b%d -> ", d->number, explain_story_slot(plan, s, load->slot));
    else
        return false;
    return true;
}

static void draw_flow(const drawing *d, int32_t s) {
    const lazy_plan *plan = d->chapter->plan;
    const lazy_kernel *kernel = &plan->steps[s]->kernel;
    for (int k = 0; k < kernel->nins; k++)
        for (int a = 0; a < kernel->ins[k].narg; a++) {
            bool again = false; /* x * x is one edge */
            for (int b = 0; b < a; b++)
                again |= kernel->ins[k].arg[b] == kernel->ins[k].arg[a];
            if (!again && say_source(d, s, kernel->ins[k].arg[a]))
                lazy_say(d->print, "c%d_s%d_v%d;\n", d->number, s, kernel->nloads + k);
        }
    for (int k = 0; k < kernel->nsinks; k++) {
        const lazy_sink *sink = &kernel->sinks[k];
        bool own = has_node(kernel, sink);
        if (own && say_source(d, s, sink->value))
            lazy_say(d->print, "c%d_s%d_k%d;\n", d->number, s, k);
        if (sink->slot < 0)
            continue;
        lazy_say(d->print, "  c%d_s%d_%c%d -> c%d_b%d;\n", d->number, s, own ? 'k' : 'v', own ? k : sink->value,
                 d->number, explain_story_slot(plan, s, sink->slot));
    }
}

static bool is_single(const lazy_step *step) {
    return step->kind == LAZY_STEP_CALL || step->kernel.nins > MOST_INS || step->nbufs > MOST_EDGES;
}

/* Is buffer k of a drawn step drawn with it? */
static bool draws_edge(const lazy_step *step, int32_t k) {
    int32_t reads = step->nbufs - step->nouts;
    int32_t place = k < reads ? k : k - reads, most = k < reads ? reads : step->nouts;
    return !is_single(step) || place < MOST_EDGES / 2 || place >= most - MOST_EDGES / 2;
}

/* A step as a single node, with some of its buffers. */
static void draw_single(const drawing *d, int32_t s) {
    const lazy_plan *plan = d->chapter->plan;
    const lazy_step *step = plan->steps[s];
    int32_t reads = step->nbufs - step->nouts;
    for (int32_t k = 0; k < step->nbufs; k++) {
        bool again = false; /* an operand twice */
        for (int32_t j = 0; j < k && k < reads && !again; j++)
            again = step->slots[j] == step->slots[k];
        if (again || !draws_edge(step, k))
            continue;
        if (k < reads)
            lazy_say(d->print, "  c%d_b%d -> c%d_s%d;\n", d->number, explain_story_slot(plan, s, k), d->number, s);
        else
            lazy_say(d->print, "  c%d_s%d -> c%d_b%d;\n", d->number, s, d->number, explain_story_slot(plan, s, k));
    }
}

static void draw_step(const drawing *d, int32_t s) {
    lazy_step *step = d->chapter->plan->steps[s];
    lazy_traffic bytes = plan_step_traffic(step);
    int64_t last = atomic_load_explicit(&step->ran.last, memory_order_relaxed);
    lazy_say(d->print, "  subgraph cluster_c%d_s%d {\n    label=\"%d %s\\lreads ", d->number, s, s + 1, step->label);
    explain_say_bytes(d->print, bytes.read);
    lazy_say(d->print, ", writes ");
    explain_say_bytes(d->print, bytes.written);
    lazy_say(d->print, last ? ", ran " : ", ~");
    explain_say_ns(d->print, last ? last : step->cost);
    const char *line = explain_story_line(step->site);
    lazy_say(d->print, "\\l");
    if (line) {
        program_say_escaped(d->print, line);
        lazy_say(d->print, "\\l");
    }
    lazy_say(d->print, "\";\n    tooltip=\"");
    program_say_escaped(d->print, line ? step->site : step->label);
    lazy_say(d->print, "\";\n");
    if (is_single(step)) {
        lazy_say(d->print, "    c%d_s%d [label=\"", d->number, s);
        if (step->kind == LAZY_STEP_CALL)
            lazy_say(d->print, "%s\"];\n  }\n", step->call.op->name);
        else
            lazy_say(d->print, "%d ops\"];\n  }\n", step->kernel.nins);
        draw_single(d, s);
        return;
    }
    matches found;
    match_nodes(d, s, &found);
    for (int k = 0; k < step->kernel.nins; k++)
        draw_ins(d, s, k, &found);
    for (int k = 0; k < step->kernel.nsinks; k++)
        draw_sink(d, s, k, &found);
    lazy_say(d->print, "  }\n");
    draw_flow(d, s);
}

/* ---- Plans ------------------------------------------------------------------------------------------------------- */
static int32_t find_node_positions(drawing *d) {
    const lazy_plan *plan = d->chapter->plan;
    int32_t hidden = 0;
    for (int32_t s = 0; s < plan->nsteps; s++) {
        const lazy_step *step = plan->steps[s];
        hidden += !d->shown[s];
        for (int32_t k = 0; k < step->nbufs; k++) {
            uint8_t place = k < step->nbufs - step->nouts ? HIDDEN_READ : HIDDEN_WRITTEN;
            if (d->shown[s])
                place = draws_edge(step, k) ? DRAWN : 0;
            d->places[explain_story_slot(plan, s, k)] |= place;
        }
    }
    return hidden;
}

static void draw_plan(drawing *d) {
    const lazy_plan *plan = d->chapter->plan;
    explain_story_choose(d->story, d->chapter, d->shown);
    int32_t hidden = find_node_positions(d);
    for (int32_t slot = 0; slot < plan->nslots; slot++)
        if (d->places[slot] & DRAWN)
            draw_buffer(d, slot);
    for (int32_t s = 0; s < plan->nsteps; s++)
        if (d->shown[s])
            draw_step(d, s);
    if (hidden == 0)
        return;
    lazy_say(d->print, "  c%d_more [shape=box, style=dashed, label=\"%d more steps\"];\n", d->number, hidden);
    for (int32_t slot = 0; slot < plan->nslots; slot++) {
        if ((d->places[slot] & (DRAWN | HIDDEN_READ)) == (DRAWN | HIDDEN_READ))
            lazy_say(d->print, "  c%d_b%d -> c%d_more [style=dashed];\n", d->number, slot, d->number);
        if ((d->places[slot] & (DRAWN | HIDDEN_WRITTEN)) == (DRAWN | HIDDEN_WRITTEN))
            lazy_say(d->print, "  c%d_more -> c%d_b%d [style=dashed];\n", d->number, d->number, slot);
    }
}

void explain_story_draw(lazy_print *print, const lazy_story *story) {
    lazy_say(print, "digraph neap {\n"
                    "  graph [fontname=\"Helvetica\", fontsize=11, labeljust=l, style=rounded, color=\"#5b7fa6\"];\n"
                    "  node [fontname=\"Helvetica\", fontsize=10, height=0.3];\n"
                    "  edge [arrowsize=0.7, color=\"#555555\"];\n");
    for (int64_t k = 0; k < story->roots.n && k < MOST_EDGES && story->chapters.n == 0; k++) {
        lazy_say(print, "  r%d [shape=box, label=\"", (int)k);
        program_say_typed(print, story->roots.at[k]);
        lazy_say(print, "\"];\n");
    }
    for (int64_t k = 0; k < story->chapters.n; k++) {
        const lazy_chapter *chapter = &story->chapters.at[k];
        drawing d = {.print = print, .story = story, .chapter = chapter, .number = (int)k};
        d.shown = calloc((size_t)chapter->plan->nsteps + (size_t)chapter->plan->nslots + 1, 1);
        if (!d.shown) {
            print->status = neap_error(NEAP_E_MEMORY, "out of memory for an explanation");
            return;
        }
        d.places = (uint8_t *)d.shown + chapter->plan->nsteps;
        draw_plan(&d);
        free(d.shown);
    }
    lazy_say(print, "}\n");
}
