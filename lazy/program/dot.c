/* program/dot.c: a program as a picture: its graph in the language of Graphviz's `dot`.
 *
 *      inputs and outputs are boxes, ops ellipses, effects boxes with double lines; dashed edges are tokens
 *
 *          ┌──────────┐   ╭──────────────╮   ╔═══════╗
 *          │ x: f32[] │──▶│ a = sin      │──▶║ print ║- - ▶ (next effect)
 *          └──────────┘   ╰──────────────╯   ╚═══════╝
 *
 * What np.explain draws is what runs; this is what was recorded. Of many items the first and the last are drawn.
 */
#include "lazy/program/listing.h"
#include "lazy/program/print.h"

enum { MOST = 200 }; /* items that are drawn */

typedef struct picture {
    lazy_print *print;
    const neap_program *program;
    const lazy_items *items;
    int64_t tokens[LAZY_ORDERS]; /* by order (listing.h): effects so far */
    int64_t last[LAZY_ORDERS];   /* by order: 1 + the item of the last effect that was drawn; 0: none */
} picture;

static bool is_drawn(const picture *p, const neap_node *node) {
    return node->mark == p->program->ctx->walk.epoch;
}

static void say_id(const picture *p, const neap_node *node) {
    lazy_print letters = {0};
    if (graph_is_placeholder(node)) {
        lazy_say(p->print, "i%lld", (long long)node->value);
        return;
    }
    program_say_operand(&letters, node);
    lazy_say(p->print, "v%s", letters.text.data ? letters.text.data : "");
    p->print->status = p->print->status ? p->print->status : letters.status;
    graph_text_free(&letters.text);
}

void program_say_escaped(lazy_print *print, const char *text) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            lazy_say(print, "\\");
        lazy_say(print, "%c", (unsigned char)*text < ' ' ? ' ' : *text);
    }
}

/* What `label` has collected, as the label of what is being said. */
static void say_label(const picture *p, lazy_print *label) {
    lazy_say(p->print, "label=\"");
    if (label->text.data)
        program_say_escaped(p->print, label->text.data);
    lazy_say(p->print, "\"");
    p->print->status = p->print->status ? p->print->status : label->status;
    graph_text_free(&label->text);
}

/* From what stands in front of an item; `to` is the number of the item's own node if it is no value. */
static void draw_edge(const picture *p, const neap_node *from, const neap_node *to, int64_t item) {
    if (program_is_literal(from) || !is_drawn(p, from))
        return;
    lazy_say(p->print, "  ");
    say_id(p, from);
    lazy_say(p->print, " -> ");
    if (to)
        say_id(p, to);
    else
        lazy_say(p->print, "e%lld", (long long)item);
    lazy_say(p->print, ";\n");
}

static void say_effect(const picture *p, int64_t item) {
    const neap_node *node = p->items->at[item].node;
    if (node)
        say_id(p, node);
    else
        lazy_say(p->print, "e%lld", (long long)item);
}

static void draw_token(picture *p, int order, int64_t item) {
    if (p->last[order]) {
        lazy_say(p->print, "  ");
        say_effect(p, p->last[order] - 1);
        lazy_say(p->print, " -> ");
        say_effect(p, item);
        lazy_say(p->print, " [style=dashed, label=\"");
        program_say_token(p->print, order, p->tokens[order] - 1);
        lazy_say(p->print, "\", color=\"#b05050\"];\n");
    }
    p->last[order] = item + 1;
}

static void draw_tokens(picture *p, int orders, int64_t item) {
    for (int order = 0; order < LAZY_ORDERS; order++)
        if (orders >> order & 1)
            draw_token(p, order, item);
}

static void draw_node(const picture *p, const neap_node *node) {
    bool effect = effect_is_callback(node);
    lazy_print label = {.named = p->program};
    program_say_typed(&label, node);
    if (program_is_constructed(node)) {
        lazy_say(&label, " = ");
        program_say_call(&label, node);
    } else {
        lazy_say(&label, ", captured");
    }
    lazy_say(p->print, "  ");
    say_id(p, node);
    lazy_say(p->print, " [%s, ",
             effect                         ? "shape=box, peripheries=2"
             : program_is_constructed(node) ? "shape=ellipse"
                                            : "shape=box, style=filled, fillcolor=\"#e8e8e8\"");
    say_label(p, &label);
    const char *site = graph_site_text(p->program->ctx, node->site);
    if (site && *site) {
        lazy_say(p->print, ", tooltip=\"");
        program_say_escaped(p->print, site);
        lazy_say(p->print, "\"");
    }
    lazy_say(p->print, "];\n");
    for (int k = 0; k < node->nin && program_is_constructed(node); k++) {
        bool again = false; /* x * x is one edge */
        for (int j = 0; j < k; j++)
            again |= node->in[j] == node->in[k];
        if (!again)
            draw_edge(p, node->in[k], node, 0);
    }
}

static void draw_print(const picture *p, int64_t item) {
    const lazy_effect *effect = p->items->at[item].effect;
    lazy_say(p->print, "  e%lld [shape=box, peripheries=2, label=\"%s\"];\n", (long long)item,
             neap_effect_name(effect->how.kind));
    for (int64_t k = 0; k < effect->nodes.n; k++)
        draw_edge(p, effect->nodes.at[k], NULL, item);
}

/* A box for each input or output. */
static void draw_ports(const picture *p, bool outputs) {
    const lazy_nodes *ports = outputs ? &p->program->outputs : &p->program->inputs;
    const lazy_port_names *names = outputs ? &p->program->output_names : &p->program->input_names;
    for (int64_t k = 0; k < ports->n && k < MOST; k++) {
        lazy_print label = {.named = p->program};
        if (outputs && names->at)
            lazy_say(&label, "%s = ", names->at[k]);
        program_say_typed(&label, ports->at[k]);
        lazy_say(p->print, "  %c%lld [shape=box, style=filled, fillcolor=\"%s\", ", outputs ? 'o' : 'i', (long long)k,
                 outputs ? "#cfe8cf" : "#d6e4f5");
        say_label(p, &label);
        lazy_say(p->print, "];\n");
        if (outputs && !program_is_literal(ports->at[k]) && is_drawn(p, ports->at[k])) {
            lazy_say(p->print, "  ");
            say_id(p, ports->at[k]);
            lazy_say(p->print, " -> o%lld;\n", (long long)k);
        }
    }
}

static bool is_hidden(const picture *p, int64_t k) {
    return p->items->n > MOST && k >= MOST / 2 && k < p->items->n - MOST / 2;
}

static void draw(picture *p) {
    int64_t hidden = 0;
    for (int64_t k = 0; k < p->items->n; k++)
        if (is_hidden(p, k) && p->items->at[k].node)
            p->items->at[k].node->mark = 0; /* no traversal's */
    for (int64_t k = MOST; k < p->program->inputs.n; k++)
        p->program->inputs.at[k]->mark = 0;
    lazy_say(p->print, "digraph program {\n  node [fontname=\"Helvetica\", fontsize=10, height=0.3];\n"
                       "  edge [arrowsize=0.7, color=\"#555555\", fontsize=9];\n");
    draw_ports(p, false);
    for (int64_t k = 0; k < p->items->n; k++) {
        const lazy_item *item = &p->items->at[k];
        int orders = program_orders(p->program, item);
        for (int order = 0; order < LAZY_ORDERS; order++)
            p->tokens[order] += orders >> order & 1;
        hidden += is_hidden(p, k);
        if (is_hidden(p, k) || (item->node && program_is_literal(item->node)))
            continue;
        if (item->node)
            draw_node(p, item->node);
        else
            draw_print(p, k);
        draw_tokens(p, orders, k);
    }
    draw_ports(p, true);
    if (hidden)
        lazy_say(p->print, "  more [shape=box, style=dashed, label=\"%lld more ops\"];\n", (long long)hidden);
    lazy_say(p->print, "}\n");
}

int neap_program_dot(neap_program *program, char *text, size_t capacity, size_t *bytes) {
    if (!program->ctx)
        return neap_error(NEAP_E_STATE, "program: its session has ended");
    lazy_print print = {.named = program};
    lazy_items items = {0};
    picture p = {.print = &print, .program = program, .items = &items};
    print.status = program_list(program, &items);
    if (print.status == 0)
        print.status = program_items_number(program, &items);
    if (print.status == 0)
        draw(&p);
    lazy_vector_free(&items);
    return program_print_finish(&print, text, capacity, bytes);
}
