/* updates.c: updates of arrays, one after the other, in one piece of memory.
 *
 * An update is planned as a copy of what it updates and a call that writes over parts of the copy. Of a chain of
 * updates each is a *version* of one array, and mostly nobody reads a version once there is the next one:
 *
 *      x ──copy──▶ a: put               a, b and c share a slot, that of c. The copies to b and c go away: three
 *           a ──copy──▶ b: put          updates copy x once, and then touch what they write. What reads a version, as
 *                b ──copy──▶ c: put     the d[i-1] of d:at{i}:set(d[i-1] + 1), runs before its next update.
 *
 * Which versions may go follows from the recorded graph (region.c, LAZY_WHY_VERSION): all that was recorded to read
 * them is in the region, and nobody asked for them. Here it is seen whether the kernels stand so that all reads of a
 * version come before its next update. No read of an effect, or of what waits for one, may keep an update waiting: its
 * function could ask for what the update is for.
 */
#include <string.h>

#include "lazy/plan/draft.h"

int32_t plan_last_version(int32_t *over, int32_t node) {
    int32_t last = node;
    while (over[last] != last)
        last = over[last];
    while (over[node] != last) {
        int32_t next = over[node];
        over[node] = last;
        node = next;
    }
    return last;
}

static bool maps_agree(const lazy_draft *draft, const lazy_wide_map *a, const lazy_wide_map *b) {
    bool agree = a->offset == b->offset;
    for (int k = 0; k < draft->ndim && agree; k++)
        agree = draft->box[k] == 1 || a->stride[k] == b->stride[k];
    return agree;
}

bool plan_draft_copies(const lazy_draft *draft) {
    if (draft->call || draft->reduces || draft->loads.n != 1 || draft->ins.n != 0 || draft->sinks.n != 1)
        return false;
    const lazy_load *load = &draft->loads.at[0].load;
    const lazy_sink *sink = &draft->sinks.at[0].sink;
    return load->kind == LAZY_LOAD_BUFFER && load->dtype == sink->dtype && sink->kind == LAZY_SINK_STORE &&
           maps_agree(draft, &load->read, &sink->write);
}

typedef struct reading { /* of a node */
    int32_t last;        /* the last draft that reads it, -1 */
    bool late, by_late;  /* it waits for an effect; a draft that reads it does */
} reading;

static int64_t reads_of(const lazy_draft *draft) {
    return draft->call ? draft->call->call.nin : draft->loads.n;
}

/* The node of read k of a draft, -1: that is no buffer. */
static int32_t read_of(const lazy_draft *draft, int64_t k) {
    if (draft->call)
        return draft->call->slots[k];
    const lazy_draft_load *load = &draft->loads.at[k];
    return loop_has_buffer(&load->load) ? load->node : -1;
}

/* Who reads each node last, and whether that may have to wait for an effect. */
static void find_readings(const lazy_drafts *drafts, reading *of) {
    for (int64_t d = 0; d < drafts->n; d++) {
        const lazy_draft *draft = drafts->at[d];
        bool late = draft->call && draft->call->effect;
        for (int64_t k = 0; k < reads_of(draft); k++)
            if (read_of(draft, k) >= 0)
                late |= of[read_of(draft, k)].late;
        for (int64_t k = 0; k < reads_of(draft); k++) {
            int32_t node = read_of(draft, k);
            if (node < 0)
                continue;
            of[node].last = (int32_t)d;
            of[node].by_late |= late;
        }
        of[draft->node].late |= late;
        for (int64_t k = 0; k < draft->sinks.n; k++)
            of[draft->sinks.at[k].node].late |= late;
    }
}

/* May the update that draft d prepares a copy for be written over what is copied? */
static bool may_write_over(const neap_ctx *ctx, const uint8_t *made, const lazy_draft *draft, int64_t d,
                           const reading *of) {
    const neap_node *node = ctx->walk.order.at[draft->node];
    if (!graph_is_update(node) || !plan_draft_copies(draft))
        return false;
    int32_t from = draft->loads.at[0].node;
    const neap_node *before = ctx->walk.order.at[from];
    return made[from] == LAZY_WHY_VERSION && !plan_is_leaf(before) && before->size == node->size &&
           before->dtype == node->dtype && graph_node_runs_on(before) == graph_node_runs_on(node) &&
           of[from].last == d && !of[from].by_late;
}

int plan_share_updates(neap_ctx *ctx, uint8_t *made, lazy_drafts *drafts, int32_t *over) {
    int64_t n = ctx->walk.order.n, kept = 0;
    bool any = false;
    for (int64_t k = 0; k < n && !any; k++)
        any = made[k] == LAZY_WHY_VERSION;
    if (!any)
        return 0;
    reading *of = malloc((size_t)n * sizeof *of);
    if (!of)
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    for (int64_t k = 0; k < n; k++)
        of[k] = (reading){.last = -1};
    find_readings(drafts, of);
    for (int64_t d = 0; d < drafts->n; d++) {
        lazy_draft *draft = drafts->at[d];
        if (!draft->call && may_write_over(ctx, made, draft, d, of)) {
            over[draft->loads.at[0].node] = draft->node;
            made[draft->loads.at[0].node] = LAZY_WHY_NOT;
            plan_draft_free(draft);
        } else {
            drafts->at[kept++] = draft;
        }
    }
    drafts->n = kept;
    free(of);
    return 0;
}
