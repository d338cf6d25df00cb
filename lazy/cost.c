/* cost.c: what a run of a program costs: floating-point operations, bytes moved, memory.
 *
 * Operations are counted by the graph, not by what kernels do: a map counts one for each element of its result, whatever
 * function it is; a reduction one for each element that it combines; a call what its row's .flops says (products, …), else
 * none; views, gathers, assemblies and sources none. Bytes are those of the plan's steps (traffic.c), so what is fused is
 * not moved. Memory is that of the arguments, of what the program holds, and of all buffers of a run, which are allocated
 * when it is pushed; values that share a buffer count once.
 */
#include <string.h>

#include "lazy/listing.h"
#include "lazy/print.h"

static double flops_of(const neap_node *node) {
    const lazy_op *row = lazy_node_op(node);
    lazy_aval avals[NEAP_MAX_INPUTS];
    if (!row->flops)
        return row->kind == LAZY_MAP ? (double)node->size : row->kind == LAZY_REDUCE ? (double)node->in[0]->size : 0;
    for (int k = 0; k < node->nin; k++)
        avals[k] = lazy_node_aval(node->in[k]);
    lazy_call_desc call = {.nin = node->nin, .in = avals, .nattrs = node->nattrs, .attrs = node->attrs};
    lazy_result result = {.dtype = node->dtype, .ndim = node->ndim};
    memcpy(result.shape, node->shape, node->ndim * sizeof *node->shape);
    return row->flops(&call, &result);
}

static double bytes_of(const lazy_nodes *nodes) {
    double sum = 0;
    for (int64_t k = 0; k < nodes->n; k++)
        sum += nodes->at[k]->flags & LAZY_WEAK ? 0 : (double)lazy_node_bytes(nodes->at[k]);
    return sum;
}

/* By number of op. */
static int count_ops(const neap_program *program, neap_op_cost *by_op, neap_cost *sum) {
    lazy_items items = {0};
    int status = lazy_program_list(program, &items);
    for (int64_t k = 0; k < items.n && status == 0; k++) {
        const neap_node *node = items.at[k].node;
        if (!node || lazy_is_literal(node))
            continue;
        if (!lazy_is_made(node)) {
            sum->captured += (double)lazy_node_bytes(node);
            continue;
        }
        double flops = flops_of(node);
        by_op[node->op].count++;
        by_op[node->op].flops += flops;
        sum->flops += flops;
    }
    lazy_vector_free(&items);
    return status;
}

static void count_plan(const neap_program *program, neap_cost *sum) {
    const lazy_plan *plan = program->plan;
    double made = 0;
    if (plan->reuse)
        lazy_reuse_of_program(plan->reuse, program->root_slots.n, program->root_slots.at);
    for (int32_t s = 0; s < plan->nsteps; s++) {
        lazy_traffic bytes = lazy_step_traffic(plan->steps[s]);
        sum->read += (double)bytes.read;
        sum->written += (double)bytes.written;
    }
    for (int32_t k = 0; k < plan->nslots; k++)
        if (plan->slots[k].made && (!plan->reuse || lazy_reuse_home(plan->reuse, k) == k))
            made += (double)(plan->reuse ? lazy_reuse_bytes(plan->reuse, k) : plan->slots[k].bytes);
    sum->peak = sum->inputs + sum->captured + made;
}

int neap_program_cost(neap_program *program, neap_cost *out, int32_t capacity, neap_op_cost *ops) {
    if (!program->ctx)
        return neap_error(NEAP_E_STATE, "program: its session has ended");
    neap_op_cost *by_op = calloc((size_t)lazy_op_count, sizeof *by_op);
    *out = (neap_cost){.inputs = bytes_of(&program->inputs), .outputs = bytes_of(&program->outputs)};
    int status = by_op ? lazy_program_plan(program) : neap_error(NEAP_E_MEMORY, "out of memory for a program's costs");
    if (status == 0)
        status = count_ops(program, by_op, out);
    if (status == 0)
        count_plan(program, out);
    for (int k = 0; k < lazy_op_count && status == 0; k++)
        if (by_op[k].count) {
            by_op[k].op = lazy_ops[k]->name;
            if (out->nops < capacity)
                ops[out->nops] = by_op[k];
            out->nops++;
        }
    free(by_op);
    return status;
}
