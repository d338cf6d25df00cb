/* listing.c: what there is to tell of a program, in one order: for its text, its file, its picture and its costs.
 *
 * A program's nodes hold the constructors that it captured as they are. In the list, what those are made of comes in
 * front of them, as long as nobody has computed them.
 */
#include "lazy/program/listing.h"

#include "lazy/program/print.h"

typedef struct listing {
    const neap_program *program;
    lazy_items *out;
    int64_t next;     /* the first effect that is not in the list */
    lazy_nodes mixed; /* see is_mixed */
} listing;

static const uint32_t LISTED =
    UINT32_MAX; /* index of a node in the list; before that it counts the inputs that were followed */

bool program_is_constructed(const neap_node *node) {
    const lazy_op *row = graph_node_op(node);
    return (row->kind != LAZY_SOURCE || row->shape) && !(node->flags & LAZY_DROPPED) &&
           (node->flags & LAZY_ABSTRACT || (node->flags & LAZY_CONSTRUCTED && !node->buffer));
}

int program_orders(const neap_program *program, const lazy_item *item) {
    int orders = 0, effects = item->effect                         ? effect_bits(item->effect)
                              : program_is_constructed(item->node) ? graph_node_effects(item->node)
                                                                   : 0;
    for (int kind = 0; kind < NEAP_EFFECT_MOST; kind++)
        if (effects >> kind & 1)
            orders |= neap_effects_own(program->ctx->effects, kind) ? 2 << kind : 1;
    return orders;
}

static bool is_listed_node(const listing *l, const neap_node *node) {
    return node->mark == l->program->ctx->walk.epoch && node->index == LISTED;
}

/* Appends the prints that may stand here: up to the next callback, or to one that shows what is not there yet. */
static int take_prints(listing *l) {
    for (; l->next < l->program->effects.n; l->next++) {
        const lazy_effect *effect = l->program->effects.at[l->next];
        bool ready = !effect->node;
        for (int64_t k = 0; k < effect->nodes.n && ready; k++)
            ready = is_listed_node(l, effect->nodes.at[k]);
        if (!ready)
            return 0;
        if (lazy_push(l->out, ((lazy_item){.effect = effect})))
            return NEAP_E_MEMORY;
    }
    return 0;
}

static int take_node(listing *l, neap_node *node) {
    const lazy_effect *next = l->next < l->program->effects.n ? l->program->effects.at[l->next] : NULL;
    node->index = LISTED;
    if (lazy_push(l->out, ((lazy_item){.node = node})))
        return NEAP_E_MEMORY;
    l->next += next && next->node == node;
    return take_prints(l);
}

/* Is it a constructor made of another one that was computed since, and is data now? (The inputs of what was computed
 * itself may be gone.) */
static bool is_mixed(const neap_node *node) {
    bool constructor = program_is_constructed(node) && !(node->flags & LAZY_ABSTRACT), mixed = false;
    for (int k = 0; k < node->nin && constructor && !mixed; k++)
        mixed = !program_is_constructed(node->in[k]) && !program_is_literal(node->in[k]);
    return mixed;
}

/* Appends a node behind what it is made of. */
static int take_from(listing *l, neap_node *root) {
    neap_ctx *ctx = l->program->ctx;
    neap_node *next = root;
    int status = 0;
    ctx->walk.stack.n = 0;
    while (status == 0) {
        if (next && next->mark != ctx->walk.epoch) {
            next->mark = ctx->walk.epoch;
            next->index = 0;
            status = lazy_push(&ctx->walk.stack, next);
        }
        next = NULL;
        if (status || ctx->walk.stack.n == 0)
            break;
        neap_node *node = ctx->walk.stack.at[ctx->walk.stack.n - 1];
        if (program_is_constructed(node) && node->index < node->nin)
            next = node->in[node->index++];
        else if (is_mixed(node) && (status = lazy_push(&l->mixed, node)) != 0)
            break;
        else
            status = take_node(l, ctx->walk.stack.at[--ctx->walk.stack.n]);
    }
    return status;
}

static int list_all(listing *l) {
    const neap_program *program = l->program;
    uint32_t epoch = ++program->ctx->walk.epoch;
    for (int64_t k = 0; k < program->inputs.n; k++) {
        program->inputs.at[k]->mark = epoch;
        program->inputs.at[k]->index = LISTED;
    }
    int status = take_prints(l);
    for (int64_t k = 0; k < program->nodes.n && status == 0; k++)
        status = take_from(l, program->nodes.at[k]);
    if (status == 0 && l->next < program->effects.n)
        return neap_error(NEAP_E_INTERNAL, "an effect of the program does not come in its order");
    return status;
}

/* Computes what is mixed: nobody could tell from the list that it may be computed anywhere. */
static int compute_mixed(const listing *l) {
    for (int64_t k = 0; k < l->mixed.n; k++)
        l->mixed.at[k]->flags &= (uint8_t)~LAZY_CONSTRUCTED;
    return plan_flush_roots(l->program->ctx, (int)l->mixed.n, l->mixed.at);
}

int program_list(const neap_program *program, lazy_items *out) {
    listing l = {.program = program, .out = out};
    bool again = true;
    int status = 0;
    while (again && status == 0) {
        out->n = l.next = l.mixed.n = 0;
        status = list_all(&l);
        again = l.mixed.n > 0;
        if (status == 0 && again)
            status = compute_mixed(&l);
    }
    lazy_vector_free(&l.mixed);
    return status;
}
