/* donate.c: donation: arrays whose memory a run of a program may take.
 *
 * Donation binds when the program is pushed. What was recorded before and reads the array is pushed first, so the order
 * of accesses to the memory is the engine's, through the buffer's variable. Then the memory may be taken if the array
 * is its only owner, and nothing but the array's handle refers to the array: no view, no work that was fused away and
 * could be asked for again, no program. Otherwise the run leaves it alone; its values are the same.
 *
 *      handle ─▶ node ─▶ buffer          before
 *      handle ─▶ deleted                 after; the buffer is a result's (plan/memory.c), or free after its last reader
 *
 * Until something was pushed all of it can be undone. From then on a failure is final, and the engine's work is not
 * given up by Ctrl-C (ctx->programs.donations), since what it was given could not be given back.
 */
#include "lazy/program/donate.h"

#include <string.h>

#include "lazy/program/program.h"

/* ---- Readers ----------------------------------------------------------------------------------------------------- */
/* Marks, among the nodes of ctx->walk.order, those that need one of the n arrays. */
static void mark_readers(neap_ctx *ctx, int64_t n, neap_node *const *arrays, uint8_t *reads) {
    for (int64_t k = 0; k < n; k++)
        if (arrays[k]->mark == ctx->walk.epoch)
            reads[arrays[k]->index] = 1;
    for (int64_t k = 0; k < ctx->walk.order.n; k++) {
        neap_node *const *children;
        int count = plan_region_children(ctx->walk.order.at[k], &children);
        for (int c = 0; c < count; c++)
            reads[k] |= reads[children[c]->index];
    }
}

/* Starts the pending work that reads one of the arrays. */
static int push_readers(neap_ctx *ctx, int64_t n, neap_node *const *arrays) {
    lazy_nodes pending = {0}, readers = {0};
    int status = 0;
    for (int64_t k = 0; k < ctx->pending.nodes.n && status == 0; k++)
        if (ctx->pending.nodes.at[k]->state == LAZY_PENDING)
            status = lazy_push(&pending, ctx->pending.nodes.at[k]);
    if (status == 0)
        status = plan_region_collect(ctx, pending.n, pending.at);
    uint8_t *reads = status ? NULL : calloc((size_t)ctx->walk.order.n + 1, 1);
    if (status == 0 && !reads)
        status = neap_error(NEAP_E_MEMORY, "out of memory for a donation");
    if (status == 0)
        mark_readers(ctx, n, arrays, reads);
    for (int64_t k = 0; k < pending.n && status == 0; k++)
        if (reads[pending.at[k]->index])
            status = lazy_push(&readers, pending.at[k]);
    if (status == 0 && readers.n)
        status = plan_flush_roots(ctx, (int)readers.n, readers.at);
    plan_tidy(ctx);
    free(reads);
    lazy_vector_free(&pending);
    lazy_vector_free(&readers);
    return status;
}

/* ---- What may be taken ------------------------------------------------------------------------------------------- */
static bool is_argument_twice(const neap_program *program, neap_node *const *inputs, int32_t input) {
    for (int32_t k = 0; k < program->inputs.n; k++)
        if (k != input && inputs[k]->buffer == inputs[input]->buffer)
            return true;
    return false;
}

/* Does nothing but its handle, or that of the array whose block it is, refer to it? */
static bool is_alone(const lazy_donation *donation, int64_t k, const neap_node *node) {
    const neap_node *owner = donation->owners ? donation->owners[k] : node;
    return owner->id && graph_node_holders(owner) == 1 && graph_node_holders(node) == 1;
}

static int why_kept(neap_ctx *ctx, const neap_program *program, neap_node *const *inputs, const lazy_donation *donation,
                    int64_t k) {
    int32_t input = donation->inputs[k];
    const neap_node *node = inputs[input];
    if (ctx->levels.n > 0)
        return NEAP_KEPT_LEVEL;
    if (!node->buffer)
        return NEAP_KEPT_NUMBER;
    if (is_argument_twice(program, inputs, input))
        return NEAP_KEPT_ARGUMENT;
    if (!is_alone(donation, k, node))
        return NEAP_KEPT_VIEW;
    return neap_buffer_owned(node->buffer) ? NEAP_KEPT_NOT : NEAP_KEPT_SHARED;
}

static int start_readers(neap_ctx *ctx, neap_node *const *inputs, lazy_donation *donation) {
    neap_node **shared = donation->gone; /* not needed yet */
    int64_t n = 0;
    for (int64_t k = 0; k < donation->n; k++) {
        neap_node *node = inputs[donation->inputs[k]];
        if (node->buffer && graph_node_holders(node) > 1)
            shared[n++] = node;
    }
    return n ? push_readers(ctx, n, shared) : 0;
}

int program_donation_open(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, lazy_donation *donation) {
    int status = ctx->levels.n ? 0 : start_readers(ctx, inputs, donation);
    if (ctx->plans.unsettled.n)
        plan_unsettled_forget(ctx);
    memset(donation->gone, 0, (size_t)donation->n * sizeof *donation->gone);
    donation->nslots = donation->taken = donation->kept = 0;
    for (int64_t k = 0; k < donation->n && status == 0; k++) {
        int why = why_kept(ctx, program, inputs, donation, k);
        if (why) {
            donation->kept = why;
            donation->which = (int32_t)k;
        } else {
            donation->taken++;
            if (donation->leaf_of[k] >= 0)
                donation->slots[donation->nslots++] = donation->leaf_of[k];
        }
        if (why != NEAP_KEPT_LEVEL && !(donation->gone[k] = graph_tombstone(ctx, inputs[donation->inputs[k]])))
            status = neap_error(NEAP_E_MEMORY, "out of memory for a donation");
    }
    if (status)
        program_donation_close(ctx, inputs, donation, false);
    return status;
}

void program_donation_close(neap_ctx *ctx, neap_node *const *inputs, lazy_donation *donation, bool begun) {
    donation->begun = begun;
    for (int64_t k = 0; k < donation->n; k++) {
        neap_node *node = inputs[donation->inputs[k]];
        if (begun && donation->gone[k] && node->id) {
            donation->gone[k]->site = donation->site;
            graph_bury(ctx, node, donation->gone[k]);
        } else {
            graph_release(ctx, donation->gone[k]);
        }
        donation->gone[k] = NULL;
    }
}

/* A root that is no step's result reads its leaf after the steps: a result is that array itself, a print tells of
 * it. */
static bool is_root(const neap_program *program, const neap_node *leaf) {
    for (int64_t r = 0; r < program->root_slots.n; r++) {
        const neap_node *root = program->nodes.at[program->root_nodes.at[r]];
        if (program->root_slots.at[r] < 0 && (root == leaf || (graph_is_view(root) && root->base == leaf)))
            return true;
    }
    return false;
}

void program_donation_slots(const neap_program *program, int64_t n, const int32_t *inputs, int32_t *leaf_of) {
    const lazy_plan *plan = program->plan;
    for (int64_t k = 0; k < n; k++) {
        const neap_node *leaf = program->inputs.at[inputs[k]];
        leaf_of[k] = -1;
        for (int32_t s = 0; s < plan->nslots; s++)
            if (!plan->slots[s].made && program->region.at[plan->slots[s].node] == leaf && !is_root(program, leaf))
                leaf_of[k] = s;
    }
}
