/* early.c: calls that run as soon as they can, since what they copy may have its memory back then.
 *
 * Drafts stand in the order of a walk from what is wanted, so a call that only copies stands in front of what reads the
 * copy, however long its operand was there. Of these calls that is changed:
 *
 *      transfer to the memory of the host       np.checkpoint offloads a value by it, of which the device is to hold
 *                                               nothing from then on
 *      part of the results of a control node    they lie in one block, which is needed until all parts are taken
 *
 *      before   make a, make b of a, …, copy a, read the copy
 *      after    make a, copy a, make b of a, …, read the copy
 *
 * Nothing else moves, and these only towards what they read: each draft still stands behind what makes its operands.
 */
#include "lazy/arena.h"
#include "lazy/plan/draft.h"

typedef struct mover {
    const neap_ctx *ctx;
    lazy_drafts *drafts;
    int32_t *writer;     /* by region number: the last draft that writes the node; -1: none */
    int32_t *follower;   /* by draft: the last of those that are to stand behind it; -1: none */
    int32_t *next;       /* by draft that moves: the one that follows the same and stands before it; -1: none */
    bool *moves;         /* by draft */
    int32_t *order;      /* drafts as they are to stand */
    lazy_draft **before; /* drafts as they stood */
} mover;

/* The region number of what a call copies that is to run early; -1: the draft is no such call. */
static int32_t early_operand(const neap_ctx *ctx, const lazy_draft *draft) {
    const lazy_step *step = draft->call;
    if (!step || step->call.nin != 1)
        return -1;
    const neap_node *read = ctx->walk.order.at[step->slots[0]];
    bool leaves = step->moves && neap_device_memory_space(step->device) == 0 &&
                  neap_device_memory_space(graph_node_runs_on(read)) != 0;
    return leaves || step->call.op->flags & LAZY_OP_PART ? step->slots[0] : -1;
}

static void note_writes(const mover *m, int32_t at) {
    const lazy_draft *draft = m->drafts->at[at];
    if (draft->call)
        m->writer[draft->node] = at;
    for (int64_t k = 0; k < draft->sinks.n; k++)
        m->writer[draft->sinks.at[k].node] = at;
}

/* Appends a draft to the order, then what follows it, what follows that, and so on. */
static int32_t append_with_followers(const mover *m, int32_t at, int32_t n) {
    int32_t done = n;
    for (m->order[n++] = at; done < n; done++) {
        int32_t first = n;
        for (int32_t f = m->follower[m->order[done]]; f >= 0; f = m->next[f])
            m->order[n++] = f;
        for (int32_t a = first, b = n - 1; a < b; a++, b--) { /* as they stood */
            int32_t swapped = m->order[a];
            m->order[a] = m->order[b];
            m->order[b] = swapped;
        }
    }
    return n;
}

static void put_early(const mover *m) {
    int32_t count = (int32_t)m->drafts->n, n = 0;
    for (int32_t k = 0; k < count; k++) {
        int32_t operand = early_operand(m->ctx, m->drafts->at[k]), behind = operand < 0 ? -1 : m->writer[operand];
        m->follower[k] = -1;
        if ((m->moves[k] = behind >= 0)) {
            m->next[k] = m->follower[behind];
            m->follower[behind] = k;
        }
        note_writes(m, k);
    }
    for (int32_t k = 0; k < count; k++)
        if (!m->moves[k])
            n = append_with_followers(m, k, n);
    memcpy(m->before, m->drafts->at, (size_t)count * sizeof(lazy_draft *));
    for (int32_t k = 0; k < count; k++)
        m->drafts->at[k] = m->before[m->order[k]];
}

int plan_put_early(const neap_ctx *ctx, lazy_drafts *drafts) {
    mover m = {.ctx = ctx, .drafts = drafts};
    bool any = false;
    for (int64_t k = 0; k < drafts->n && !any; k++)
        any = early_operand(ctx, drafts->at[k]) >= 0;
    if (!any)
        return 0;
    if (!LAZY_ARENA(LAZY_PART(m.before, drafts->n), LAZY_PART(m.writer, ctx->walk.order.n),
                    LAZY_PART(m.follower, drafts->n), LAZY_PART(m.next, drafts->n), LAZY_PART(m.order, drafts->n),
                    LAZY_PART(m.moves, drafts->n)))
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    for (int64_t k = 0; k < ctx->walk.order.n; k++)
        m.writer[k] = -1;
    put_early(&m);
    free(m.before);
    return 0;
}
