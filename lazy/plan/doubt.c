/* doubt.c: which arrays may fail yet, with a call that has not finished.
 *
 * A function of the script may fail whatever it is given: a callback, and a loop or branch that has effects. (So may an
 * op that tests have for that.) An array is *doubtful* if it was made by a run with such a call, or by one that read
 * what is doubtful; until its value is there. Regions that read it have kernels of one result each (region.c), since a
 * kernel with several results gives them all or none.
 *
 * The list is empty but while such calls are in flight, and nothing costs anything then.
 */
#include "lazy/plan/plan.h"

bool plan_may_fail(const neap_node *node) {
    return graph_node_op(node)->flags & LAZY_OP_FAILS || (graph_is_effect(node) && !graph_is_exchange(node));
}

void plan_doubt_settle(neap_ctx *ctx) {
    int64_t kept = 0;
    for (int64_t k = 0; k < ctx->plans.doubtful.n; k++) {
        neap_buffer *buffer = ctx->plans.doubtful.at[k];
        if (neap_var_poll(neap_buffer_var(buffer), NULL) == NEAP_PENDING)
            ctx->plans.doubtful.at[kept++] = buffer;
        else
            neap_buffer_release(buffer);
    }
    ctx->plans.doubtful.n = kept;
}

bool plan_is_doubtful(const neap_ctx *ctx, const neap_buffer *buffer) {
    bool found = false;
    for (int64_t k = 0; k < ctx->plans.doubtful.n && !found; k++)
        found = ctx->plans.doubtful.at[k] == buffer;
    return found;
}

int plan_doubt_reserve(lazy_run *run) {
    neap_ctx *ctx = run->ctx;
    const lazy_plan *plan = run->plan;
    bool any = plan->may_fail;
    if (ctx->plans.doubtful.n)
        plan_doubt_settle(ctx);
    for (int32_t k = 0; k < plan->nslots && ctx->plans.doubtful.n && !any; k++)
        any = !plan->slots[k].made && plan_is_doubtful(ctx, run->bufs[k]);
    run->doubtful = any;
    int status = 0;
    while (any && ctx->plans.doubtful.capacity < ctx->plans.doubtful.n + plan->nslots && status == 0)
        status = lazy_vector_grow((void **)&ctx->plans.doubtful.at, &ctx->plans.doubtful.capacity,
                                  sizeof *ctx->plans.doubtful.at);
    return status;
}

void plan_doubt(const lazy_run *run) {
    neap_ctx *ctx = run->ctx;
    for (int32_t k = 0; k < run->plan->nslots; k++)
        if (run->made[k])
            ctx->plans.doubtful.at[ctx->plans.doubtful.n++] = neap_buffer_retain(run->made[k]);
}

void plan_doubt_free(neap_ctx *ctx) {
    for (int64_t k = 0; k < ctx->plans.doubtful.n; k++)
        neap_buffer_release(ctx->plans.doubtful.at[k]);
    lazy_vector_free(&ctx->plans.doubtful);
}
