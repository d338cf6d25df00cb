/* cost.c: what a run of a program costs: floating-point operations, bytes moved, memory.
 *
 * Operations are counted by the graph, not by what kernels do: a map counts one for each element of its result, whatever
 * function it is; a reduction one for each element that it combines; a call what its row's .flops says (products, …), else
 * none; views, gathers, assemblies and sources none. Bytes are those of the plan's steps (traffic.c), so what is fused is
 * not moved. Memory is that of the arguments, of what the program holds, and of all buffers of a run, which are allocated
 * when it is pushed; values that share a buffer count once.
 *
 * Of control flow, what its programs take is counted as often as they run: that of a scan times its length, of a branch the
 * one with the most operations, of a while loop one turn, since nobody knows how many there will be; such loops are told
 * apart. Their memory is that of the node's step.
 */
#include <string.h>

#include "lazy/control.h"
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

typedef struct counts { /* of a program, and of the programs in it */
    neap_cost sum;
    neap_op_cost *by_op; /* by number; OWNED */
} counts;

static int count_program(neap_program *program, counts *to);

static void add_counts(counts *to, const counts *from, double times) {
    to->sum.flops += times * from->sum.flops;
    to->sum.read += times * from->sum.read;
    to->sum.written += times * from->sum.written;
    to->sum.loops += from->sum.loops;
    for (int k = 0; k < lazy_op_count; k++) {
        to->by_op[k].count += (int64_t)(times * (double)from->by_op[k].count);
        to->by_op[k].flops += times * from->by_op[k].flops;
    }
}

/* The programs of a node: all of a loop, the most expensive of a branch, the body of a call. */
static int count_control(const neap_node *node, counts *to) {
    neap_program *const *programs;
    int n = lazy_control_programs(node, &programs), status = 0;
    int64_t turns = lazy_control_turns(node);
    counts most = {0};
    for (int p = 0; p < (node->op == LAZY_OP_call ? 1 : n) && status == 0; p++) {
        counts one = {0};
        status = count_program(programs[p], &one);
        if (status == 0 && node->op != LAZY_OP_cond)
            add_counts(to, &one, turns < 0 ? 1 : (double)turns);
        bool best = status == 0 && node->op == LAZY_OP_cond && (!most.by_op || one.sum.flops > most.sum.flops);
        counts rest = best ? most : one;
        most = best ? one : most;
        free(rest.by_op);
    }
    if (most.by_op)
        add_counts(to, &most, 1);
    to->sum.loops += turns < 0;
    free(most.by_op);
    return status;
}

static int count_ops(const neap_program *program, counts *to) {
    lazy_items items = {0};
    int status = lazy_program_list(program, &items);
    for (int64_t k = 0; k < items.n && status == 0; k++) {
        const neap_node *node = items.at[k].node;
        if (!node || lazy_is_literal(node))
            continue;
        if (!lazy_is_made(node)) {
            to->sum.captured += (double)lazy_node_bytes(node);
            continue;
        }
        if (lazy_is_control(node))
            status = count_control(node, to);
        double flops = flops_of(node);
        to->by_op[node->op].count++;
        to->by_op[node->op].flops += flops;
        to->sum.flops += flops;
    }
    lazy_vector_free(&items);
    return status;
}

static void count_plan(const neap_program *program, neap_cost *sum) {
    const lazy_plan *plan = program->plan;
    double made = 0;
    if (plan->reuse)
        lazy_reuse_of_program(plan->reuse, program->root_slots.n, program->root_slots.at, 0, NULL);
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

/* to->by_op is OWNED by the caller, also after a failure. */
static int count_program(neap_program *program, counts *to) {
    to->sum = (neap_cost){.inputs = bytes_of(&program->inputs), .outputs = bytes_of(&program->outputs)};
    to->by_op = calloc((size_t)lazy_op_count, sizeof *to->by_op);
    int status = to->by_op ? lazy_program_plan(program) : neap_error(NEAP_E_MEMORY, "out of memory for costs");
    if (status == 0)
        status = count_ops(program, to);
    if (status == 0)
        count_plan(program, &to->sum);
    return status;
}

int neap_program_cost(neap_program *program, neap_cost *out, int32_t capacity, neap_op_cost *ops) {
    if (!program->ctx)
        return neap_error(NEAP_E_STATE, "program: its session has ended");
    counts all = {0};
    int status = count_program(program, &all);
    *out = all.sum;
    for (int k = 0; k < lazy_op_count && status == 0; k++)
        if (all.by_op[k].count) {
            all.by_op[k].op = lazy_ops[k]->name;
            if (out->nops < capacity)
                ops[out->nops] = all.by_op[k];
            out->nops++;
        }
    free(all.by_op);
    return status;
}
