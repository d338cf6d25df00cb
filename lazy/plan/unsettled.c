/* unsettled.c: which arrays may fail yet, with a call that has not finished.
 *
 * A function of the script may fail whatever it is given: a callback, and a loop or branch that has effects. So may an
 * op that fails for some values (LAZY_OP_FAILS). An array is *unsettled* if it was made by a run with such a call, or
 * by one that read what is unsettled; until its value is there. Regions that read it have kernels of one result each
 * (region.c), since a kernel with several results gives them all or none.
 *
 * Ops of such runs may have to wait for the script, which calls the function. Nothing else may be made to wait for
 * them, since the function might ask for that very value: so memory that they use is no donation's (donate.c).
 *
 * The list is empty but while such calls are in flight, and nothing costs anything then.
 */
#include "lazy/plan/plan.h"

bool plan_may_fail(const neap_node *node) {
    return plan_looks_for_nans() || graph_node_op(node)->flags & LAZY_OP_FAILS ||
           (graph_is_effect(node) && !graph_is_exchange(node));
}

void plan_unsettled_forget(neap_ctx *ctx) {
    int64_t kept = 0;
    for (int64_t k = 0; k < ctx->plans.unsettled.n; k++) {
        neap_buffer *buffer = ctx->plans.unsettled.at[k];
        if (neap_var_poll(neap_buffer_var(buffer), NULL) == NEAP_PENDING)
            ctx->plans.unsettled.at[kept++] = buffer;
        else
            neap_buffer_release(buffer);
    }
    ctx->plans.unsettled.n = kept;
}

bool plan_is_unsettled(const neap_ctx *ctx, const neap_buffer *buffer) {
    bool found = false;
    for (int64_t k = 0; k < ctx->plans.unsettled.n && !found; k++)
        found = ctx->plans.unsettled.at[k] == buffer;
    return found;
}

int plan_unsettled_reserve(lazy_run *run) {
    neap_ctx *ctx = run->ctx;
    const lazy_plan *plan = run->plan;
    bool any = plan->may_fail;
    if (ctx->plans.unsettled.n)
        plan_unsettled_forget(ctx);
    for (int32_t k = 0; k < plan->nslots && ctx->plans.unsettled.n && !any; k++)
        any = !plan->slots[k].made && plan_is_unsettled(ctx, run->bufs[k]);
    run->unsettled = any;
    int status = 0;
    while (any && ctx->plans.unsettled.capacity < ctx->plans.unsettled.n + plan->nslots && status == 0)
        status = lazy_vector_grow((void **)&ctx->plans.unsettled.at, &ctx->plans.unsettled.capacity,
                                  sizeof *ctx->plans.unsettled.at);
    return status;
}

void plan_unsettled_add(const lazy_run *run) {
    neap_ctx *ctx = run->ctx;
    for (int32_t k = 0; k < run->plan->nslots; k++)
        if (run->made[k])
            ctx->plans.unsettled.at[ctx->plans.unsettled.n++] = neap_buffer_retain(run->made[k]);
}

void plan_unsettled_hold(neap_buffer *buffer, bool unsettled) {
    (unsettled ? neap_buffer_retain : neap_buffer_lend)(buffer);
}

void plan_unsettled_let_go(neap_buffer *buffer, bool unsettled) {
    (unsettled ? neap_buffer_release : neap_buffer_return)(buffer);
}

void plan_unsettled_free(neap_ctx *ctx) {
    for (int64_t k = 0; k < ctx->plans.unsettled.n; k++)
        neap_buffer_release(ctx->plans.unsettled.at[k]);
    lazy_vector_free(&ctx->plans.unsettled);
}
