/* cost.c: what a run of a program costs: floating-point operations, bytes moved, memory.
 *
 * Operations are counted by the graph, not by what kernels do: a map counts one for each element of its result,
 * whatever function it is; a reduction one for each element that it combines; a call what its row's .flops says
 * (products, …), else none; views, gathers, assemblies and sources none. Bytes are those of the plan's steps
 * (traffic.c), so what is fused is not moved. Memory is that of the arguments, of what the program holds, and of all
 * buffers of a run, which are allocated when it is pushed; values that share a buffer count once. What is no result's
 * is temporary: that, copies for other devices, and the scratch of steps.
 *
 * Of control flow, what its programs take is counted as often as they run: that of a scan times its length, of a branch
 * the one with the most operations, of a while loop one turn, since nobody knows how many there will be; such loops are
 * told apart. Their memory is that of the node's step. Kernels and calls are counted in the same way; a node with
 * programs is none itself, nor is what takes its results apart.
 */
#include <string.h>

#include "lazy/program/listing.h"
#include "lazy/program/lower.h"
#include "lazy/program/print.h"

static double flops_of_node(const neap_node *node) {
    const lazy_op *row = graph_node_op(node);
    lazy_aval avals[NEAP_MAX_INPUTS];
    if (!row->flops)
        return row->kind == LAZY_MAP ? (double)node->size : row->kind == LAZY_REDUCE ? (double)node->in[0]->size : 0;
    for (int k = 0; k < node->nin; k++)
        avals[k] = graph_node_aval(node->in[k]);
    lazy_call_desc call = {.nin = node->nin, .in = avals, .nattrs = node->nattrs, .attrs = node->attrs};
    lazy_result result = {.dtype = node->dtype, .ndim = node->ndim};
    memcpy(result.shape, node->shape, node->ndim * sizeof *node->shape);
    return row->flops(&call, &result);
}

static double bytes_of_nodes(const lazy_nodes *nodes) {
    double sum = 0;
    for (int64_t k = 0; k < nodes->n; k++)
        sum += nodes->at[k]->flags & LAZY_WEAK ? 0 : (double)graph_node_bytes(nodes->at[k]);
    return sum;
}

typedef struct counts { /* of a program, and of the programs in it */
    neap_cost sum;
    neap_op_cost *by_op; /* by number; OWNED */
} counts;

/* What was counted, by the place that a walk gives to a program: one that stands in many places is counted once. */
typedef LAZY_VECTOR(counts) counted;

static int count_program(counted *known, neap_program *program, int64_t *place);

/* The most that can be counted is INT64_MAX. */
static void add_count(int64_t *to, int64_t n, int64_t times) {
    int64_t more;
    if (__builtin_mul_overflow(n, times, &more) || __builtin_add_overflow(*to, more, to))
        *to = INT64_MAX;
}

static void add_program_counts(counts *to, const counts *from, int64_t times) {
    to->sum.flops += (double)times * from->sum.flops;
    to->sum.read += (double)times * from->sum.read;
    to->sum.written += (double)times * from->sum.written;
    add_count(&to->sum.kernels, from->sum.kernels, times);
    add_count(&to->sum.calls, from->sum.calls, times);
    add_count(&to->sum.loops, from->sum.loops, 1);
    for (int k = 0; k < lazy_op_count; k++) {
        add_count(&to->by_op[k].count, from->by_op[k].count, times);
        to->by_op[k].flops += (double)times * from->by_op[k].flops;
    }
}

/* The programs that a node runs: all of a loop, the most expensive of a branch, the body of a call. A loop that nobody
 * knows the turns of counts as one turn, and as such a loop. */
static int count_inner(counted *known, const neap_node *node, counts *to) {
    lazy_inner inner = graph_node_programs(node);
    int64_t most = -1;
    int status = 0;
    for (int p = 0; p < inner.bodies && status == 0; p++) {
        int64_t place = 0;
        neap_program *runs = program_runs(inner.programs[p]);
        status = runs ? count_program(known, runs, &place) : neap_error_code();
        if (status == 0 && !inner.one)
            add_program_counts(to, &known->at[place], inner.turns < 0 ? 1 : inner.turns);
        else if (status == 0 && (most < 0 || known->at[place].sum.flops > known->at[most].sum.flops))
            most = place;
    }
    if (status == 0 && most >= 0)
        add_program_counts(to, &known->at[most], 1);
    add_count(&to->sum.loops, inner.turns < 0, 1);
    return status;
}

static int count_ops(counted *known, const neap_program *program, counts *to) {
    lazy_items items = {0};
    int status = program_list(program, &items);
    for (int64_t k = 0; k < items.n && status == 0; k++) {
        const neap_node *node = items.at[k].node;
        if (!node || program_is_literal(node))
            continue;
        if (!program_is_constructed(node)) {
            to->sum.captured += (double)graph_node_bytes(node);
            continue;
        }
        status = count_inner(known, node, to);
        double flops = flops_of_node(node);
        add_count(&to->by_op[node->op].count, 1, 1);
        to->by_op[node->op].flops += flops;
        to->sum.flops += flops;
    }
    lazy_vector_free(&items);
    return status;
}

static void count_steps(const lazy_plan *plan, neap_cost *sum) {
    for (int32_t s = 0; s < plan->nsteps; s++) {
        const lazy_step *step = plan->steps[s];
        lazy_traffic bytes = plan_step_traffic(step);
        sum->read += (double)bytes.read;
        sum->written += (double)bytes.written;
        add_count(&sum->kernels, step->kind == LAZY_STEP_KERNEL, 1);
        bool call = step->kind != LAZY_STEP_KERNEL && !step->payload && !(step->call.op->flags & LAZY_OP_PART);
        add_count(&sum->calls, call, 1);
    }
}

/* As run.c allocates it; the bytes of small scratches, each its own, and of the largest one on each device. */
static double scratch_of(const neap_program *program) {
    const lazy_plan *plan = program->plan;
    double sum = 0;
    for (int device = 0; device < neap_device_count() && plan->nscratches; device++) {
        size_t largest = 0;
        for (int32_t s = 0; s < plan->nsteps; s++) {
            const lazy_step *step = plan->steps[s];
            if (step->device != device || !plan_needs_scratch(step))
                continue;
            size_t bytes = step->payload->scratch(program->region.at[step->node], device);
            if (bytes < LAZY_SHARED_SCRATCH)
                sum += (double)bytes;
            else if (bytes > largest)
                largest = bytes;
        }
        sum += (double)largest;
    }
    return sum;
}

static int count_memory(const neap_program *program, neap_cost *sum) {
    const lazy_plan *plan = program->plan;
    bool *given = calloc((size_t)plan->nslots + 1, sizeof *given); /* by slot: it is a result */
    double made = 0, results = 0, moved = 0;
    if (!given)
        return neap_error(NEAP_E_MEMORY, "out of memory for costs");
    plan_memory_of_program(plan, program->root_slots.n, program->root_slots.at, 0, NULL);
    for (int64_t r = program->effect_roots; r < program->root_slots.n; r++)
        if (program->root_slots.at[r] >= 0)
            given[program->root_slots.at[r]] = true;
    for (int32_t k = 0; k < plan->nslots; k++) {
        made += plan->slots[k].made && plan_memory_home(plan, k) == k ? (double)plan_memory_bytes(plan, k) : 0;
        results += plan->slots[k].made && given[k] ? (double)plan->slots[k].bytes : 0;
    }
    for (int32_t c = 0; c < plan->ntransfers; c++)
        moved += (double)plan->slots[plan->transfers[c].slot].bytes;
    free(given);
    made += moved + scratch_of(program);
    sum->temporaries = made - results;
    sum->peak = sum->inputs + sum->captured + made;
    return 0;
}

static int count_all(counted *known, neap_program *program, counts *to) {
    to->sum = (neap_cost){.inputs = bytes_of_nodes(&program->inputs), .outputs = bytes_of_nodes(&program->outputs)};
    to->by_op = calloc((size_t)lazy_op_count, sizeof *to->by_op);
    int status = to->by_op ? program_plan(program) : neap_error(NEAP_E_MEMORY, "out of memory for costs");
    if (status == 0)
        status = count_ops(known, program, to);
    if (status == 0)
        count_steps(program->plan, &to->sum);
    return status ? status : count_memory(program, &to->sum);
}

/* Nesting is bounded (LAZY_MAX_NESTING). */
static int count_program(counted *known, neap_program *program, int64_t *place) {
    counts all = {0};
    *place = program->place;
    if (program->walk == program->ctx->walk.programs)
        return 0;
    int status = count_all(known, program, &all);
    if (status == 0 && lazy_push(known, all))
        status = NEAP_E_MEMORY;
    if (status) {
        free(all.by_op);
        return status;
    }
    program->walk = program->ctx->walk.programs;
    program->place = (int32_t)(known->n - 1);
    *place = program->place;
    return 0;
}

int neap_program_cost(neap_program *program, neap_cost *out, int32_t capacity, neap_op_cost *ops) {
    if (!program->ctx)
        return neap_error(NEAP_E_STATE, "program: its session has ended");
    counted known = {0};
    int64_t place = 0;
    program->ctx->walk.programs++;
    *out = (neap_cost){0};
    neap_program *runs = program_lowered(program);
    int status = runs ? count_program(&known, runs, &place) : neap_error_code();
    if (status == 0)
        *out = known.at[place].sum;
    for (int k = 0; k < lazy_op_count && status == 0; k++) {
        neap_op_cost *op = &known.at[place].by_op[k];
        if (!op->count)
            continue;
        op->op = lazy_ops[k]->name;
        if (out->nops < capacity)
            ops[out->nops] = *op;
        out->nops++;
    }
    for (int64_t k = 0; k < known.n; k++)
        free(known.at[k].by_op);
    lazy_vector_free(&known);
    return status;
}
