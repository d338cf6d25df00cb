/* exchange.c: the row of collectives between processes (lazy/effect/exchange.h). Programs of the mesh room have it
 * among the ops on blocks, which no derivative and no batch sees: they are taken of the ops that the user wrote.
 */
#include "lazy/effect/effect.h"

static int shape_of_exchange(const lazy_call_desc *call, lazy_result *out) {
    const lazy_exchange_pattern *pattern = call->nattrs == 1 ? effect_exchange_pattern_get(call->attrs[0]) : NULL;
    engine_comm *comm = engine_comm_here();
    if (!pattern || !comm)
        return neap_error(NEAP_E_ARGUMENT, "exchange: no such collective in this process");
    engine_collective collective = effect_exchange_pattern_collective(pattern, NULL, false);
    int given = engine_comm_nin(&collective, engine_comm_rank(comm));
    for (int k = 0; k < given; k++)
        if (k >= call->nin || call->in[k].size != pattern->elements || call->in[k].dtype != pattern->dtype)
            return neap_error(NEAP_E_SHAPE, "%s: expected %d blocks of %lld elements", pattern->name, given,
                              (long long)pattern->elements);
    out->ndim = 1;
    out->shape[0] = engine_comm_nout(&collective, engine_comm_rank(comm));
    return 0;
}

/* In a body of control flow; the communication thread runs it. */
static int exchange_call(const lazy_call *call, const neap_run *run) {
    (void)run;
    const void *few[16], **in = call->nin <= 16 ? few : malloc((size_t)call->nin * sizeof *in);
    if (!in)
        return neap_error(NEAP_E_MEMORY, "out of memory for a collective");
    for (int k = 0; k < call->nin; k++)
        in[k] = call->in[k].data;
    const char *line = effect_exchange_body_line();
    engine_collective collective =
        effect_exchange_pattern_collective(effect_exchange_pattern_get(call->attrs[0]), line, line != NULL);
    int status = engine_comm_run(engine_comm_here(), &collective, in, call->out->data);
    if (in != few)
        free(in);
    return status;
}

NEAP_OP(exchange, .doc = "What the devices of several processes give each other. The attribute says which, and what.",
        .attrs = "pattern", .kind = LAZY_CALL, .arity = 255, .types = LAZY_ANY,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_ZERO_GRAD, .payload = &effect_exchange_payload,
        .dtype = graph_dtype_same, .shape = shape_of_exchange, .call = exchange_call)
