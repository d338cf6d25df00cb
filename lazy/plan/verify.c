/* verify.c: are drafts, kernels and plans what the VM and later passes rely on? A failure is a mistake of neap's own,
 * never of its user.
 *
 *  Kernels, as drafts and as steps (verify_kernel.c):
 *   1. The domain is a box of at most LAZY_MAX_DOMAIN axes whose elements can be counted. It has reduced axes exactly
 *      if there is a sink that works on rows. The program is not longer than LAZY_KERNEL_MAX_INS.
 *   2. A load reads what exists or is made, in its dtype, and stays inside of it over the whole domain; so does every
 *      row of a table. A number is read as a number, an iota is no bool.
 *   3. An instruction is a map, or takes from a table, and reads as many values as its row says, all of them before it.
 *      A table is read by one instruction alone, as its operand 0.
 *   4. An instruction's operands and result have the dtypes that its row gives them.
 *   5. A sink takes a value of its dtype. What a REDUCE does is a reduction; one to an index gives i32.
 *   6. A sink writes a value that is made, inside of it, and no element twice; all sinks write into one memory.
 *   7. A RESULT is that of a REDUCE, in its dtype, whose operand is there before anything reads the result.
 *   8. What STORE_ROW stores is the same along a row. Rows that are read again after a reduction fit into LAZY_ROW_MAX.
 *   9. A kernel reads nothing that it writes; of calls updates alone do.
 *  Calls:
 *  10. Operands are inside of what they are read from, with strides that their op takes; the result is row-major.
 *  Order:
 *  11. What is read has been written by all who write it, but updates of what they read. So nothing waits for itself.
 *  12. What is made is written: each element once, or, where it is assembled or updated, at least once.
 *  Plans:
 *  13. A node has one slot, with its bytes and device; it is made if the node has no value yet.
 *  14. A step's buffers are slots, its outputs the last of them, and its numbers are numbers of the plan.
 *  15. Batches follow one another and list the slots and numbers of their steps, and which of the slots are written.
 *  Memory plans:
 *  16. A home is its own home, on the device of the slots that share it, and large enough for all of them.
 *  17. When a step reads a slot, its home holds that slot's value: nobody has written over it, but in place. A slot of
 *      no bytes need not be written by anybody.
 *  18. What stays, and what an effect uses, is not written over; nor is a leaf, but by the last step, by one that
 *      copies it, or if the program was given it.
 */
#include <string.h>

#include "lazy/plan/verify.h"

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
static bool is_row_major(const lazy_tensor *tensor) {
    int64_t row[NEAP_MAX_DIMS];
    graph_row_major(tensor->ndim, tensor->shape, row);
    for (int k = 0; k < tensor->ndim; k++)
        if (tensor->shape[k] > 1 && tensor->stride[k] != row[k] && tensor->size > 0)
            return false;
    return true;
}

static int check_tensor(const lazy_verifier *v, const lazy_tensor *tensor, int64_t offset, int32_t node, int k) {
    const neap_node *at = plan_verify_node(v, node);
    lazy_bounds b;
    if (!at || !plan_verify_has_value(v, node))
        return plan_broken_rule(v, 10, "its array %d is node %d, which nobody makes", k, node);
    if (tensor->dtype != at->dtype || loop_count_elements(tensor->ndim, tensor->shape) != tensor->size)
        return plan_broken_rule(v, 10, "its array %d is described as one of %lld elements of dtype %s", k,
                                (long long)tensor->size, neap_dtype_name(tensor->dtype));
    if (tensor->size == 0)
        return 0;
    offset += plan_verify_origin(v, at);
    if (!plan_map_bounds(tensor->ndim, tensor->shape, offset, tensor->stride, &b) || b.low < 0 || b.high >= at->size)
        return plan_broken_rule(v, 10, "its array %d has elements %lld to %lld of %lld", k, (long long)b.low,
                                (long long)b.high, (long long)at->size);
    return 0;
}

static int check_call(const lazy_verifier *v, const lazy_unit *u) {
    const lazy_step *step = u->call;
    const lazy_op *row = step->call.op;
    int nin = step->call.nin, status = 0;
    for (int k = 0; k < nin && status == 0; k++) {
        const lazy_tensor *in = &step->call.in[k];
        bool (*reads)(const lazy_tensor *) = row->reads;
        status = check_tensor(v, in, step->offsets[k], u->reads[k], k);
        if (status == 0 && !is_row_major(in) && (row->flags & LAZY_OP_DENSE || (reads && !reads(in))))
            status = plan_broken_rule(v, 10, "its operand %d is not as it wants it to lie", k);
    }
    if (status == 0)
        status = check_tensor(v, step->call.out, 0, u->writes[0], nin);
    if (status == 0 && (!is_row_major(step->call.out) || plan_is_leaf(plan_verify_node(v, u->writes[0]))))
        status = plan_broken_rule(v, 10, "its result is not row-major, or exists already");
    return status || row->updates ? status : plan_check_own_reads(v, u);
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */
/* What is known of each node of the region while the units are walked through. */
typedef struct progress {
    bool read;
    int32_t writers;
    int64_t covered; /* elements that were written */
} progress;

static int64_t elements_written(const lazy_unit *u, int32_t k) {
    if (u->call)
        return u->call->call.out->size;
    return loop_count_elements(loop_sink_axes(&u->kernel, &u->kernel.sinks[k]), u->kernel.shape);
}

static int walk_unit(const lazy_verifier *v, const lazy_unit *u, progress *at) {
    for (int32_t k = 0; k < u->nreads; k++) {
        int32_t node = plan_buffer_read(u, k);
        const neap_node *from = plan_verify_node(v, node);
        if (!from || plan_is_leaf(from))
            continue;
        if (at[node].writers == 0 && from->size > 0)
            return plan_broken_rule(v, 11, "it reads node %d (%s) before that is written", node,
                                    plan_verify_op_name(v, node));
        at[node].read = true;
    }
    for (int32_t k = 0; k < u->nwrites; k++) {
        int32_t node = u->writes[k];
        if (node < 0)
            continue;
        bool updates = u->call && u->call->call.op->updates && u->reads[0] == node;
        if (at[node].read && !updates)
            return plan_broken_rule(v, 11, "it writes node %d (%s), which was read before", node,
                                    plan_verify_op_name(v, node));
        at[node].writers++;
        at[node].covered += elements_written(u, k);
    }
    return 0;
}

/* Counts, for each element, the times that the unit writes it. */
static void mark_elements(const lazy_unit *u, int32_t sink, uint8_t *times) {
    const lazy_kernel *kernel = &u->kernel;
    const lazy_wide_map *map = &kernel->sinks[sink].write;
    int n = loop_sink_axes(kernel, &kernel->sinks[sink]);
    int64_t count = loop_count_elements(n, kernel->shape), index[LAZY_MAX_DOMAIN] = {0}, to = map->offset;
    for (int64_t done = 0; done < count; done++) {
        times[to] += times[to] < UINT8_MAX;
        for (int a = n - 1; a >= 0; a--) {
            to += map->stride[a];
            if (++index[a] < kernel->shape[a])
                break;
            to -= map->stride[a] * kernel->shape[a];
            index[a] = 0;
        }
    }
}

/* Of a value that several units write, and small enough: is each element written? */
static int check_pieces(const lazy_verifier *v, const lazy_unit *units, int64_t n, int32_t node) {
    const neap_node *at = plan_verify_node(v, node);
    bool assembled = graph_node_op(at)->kind == LAZY_ASSEMBLE || graph_is_update(at);
    uint8_t *times = calloc((size_t)at->size, 1);
    int status = times ? 0 : plan_verify_no_memory();
    for (int64_t u = 0; u < n && status == 0; u++)
        for (int32_t k = 0; k < units[u].nwrites && !units[u].call; k++)
            if (units[u].writes[k] == node)
                mark_elements(&units[u], k, times);
    for (int64_t k = 0; k < at->size && status == 0; k++)
        if (times[k] == 0 || (times[k] > 1 && !assembled))
            status = plan_broken_rule(v, 12, "element %lld of node %d (%s) is written %d times", (long long)k, node,
                                      plan_verify_op_name(v, node), times[k]);
    free(times);
    return status;
}

static int check_covered(const lazy_verifier *v, const lazy_unit *units, int64_t n, const progress *at, int32_t node) {
    enum { SMALL = 4096 };
    const neap_node *to = plan_verify_node(v, node);
    if (!v->made[node] || plan_is_leaf(to) || to->size == 0)
        return 0;
    bool assembled = graph_node_op(to)->kind == LAZY_ASSEMBLE || graph_is_update(to);
    if (assembled ? at->covered < to->size : at->covered != to->size)
        return plan_broken_rule(v, 12, "%lld elements of node %d (%s) are written, of %lld", (long long)at->covered,
                                node, plan_verify_op_name(v, node), (long long)to->size);
    return at->writers > 1 && to->size <= SMALL ? check_pieces(v, units, n, node) : 0;
}

static int check_order(lazy_verifier *v, const lazy_unit *units, int64_t n) {
    int64_t nodes = v->ctx->walk.order.n;
    progress *at = calloc((size_t)nodes + 1, sizeof *at);
    int status = at ? 0 : plan_verify_no_memory();
    for (v->at = 0; v->at < n && status == 0; v->at++) {
        v->op = plan_verify_op_name(v, units[v->at].node);
        status = walk_unit(v, &units[v->at], at);
    }
    v->at = -1;
    for (int32_t k = 0; k < nodes && status == 0; k++)
        status = check_covered(v, units, n, &at[k], k);
    free(at);
    return status;
}

static int check_unit(const lazy_verifier *v, const lazy_unit *u) {
    return u->call ? check_call(v, u) : plan_check_kernel(v, u);
}

static void units_free(lazy_unit *units, int64_t n) {
    for (int64_t k = 0; k < n && units; k++) {
        free(units[k].reads);
        free(units[k].kernel.loads);
        free(units[k].kernel.ins);
        free(units[k].kernel.sinks);
    }
    free(units);
}

/* ---- Drafts ------------------------------------------------------------------------------------------------------ */
static int unit_nodes_new(lazy_unit *u, int64_t nreads, int64_t nwrites) {
    u->nreads = (int32_t)nreads;
    u->nwrites = (int32_t)nwrites;
    u->reads = malloc((size_t)(nreads + nwrites + 1) * sizeof *u->reads);
    u->writes = u->reads ? u->reads + nreads : NULL;
    return u->reads ? 0 : plan_verify_no_memory();
}

static int32_t value_of_draft(const lazy_draft *draft, int32_t value) {
    return value < 0 ? -1 - value : (int32_t)draft->loads.n + value;
}

/* The draft's lists with the values of a kernel. */
static int copy_draft(const lazy_draft *draft, lazy_unit *u) {
    lazy_kernel *kernel = &u->kernel;
    *kernel = (lazy_kernel){.ndim = draft->ndim,
                            .nkept = draft->nkept,
                            .nloads = (int)draft->loads.n,
                            .nins = (int)draft->ins.n,
                            .nsinks = (int)draft->sinks.n,
                            .loads = malloc((size_t)(draft->loads.n + 1) * sizeof(lazy_load)),
                            .ins = malloc((size_t)(draft->ins.n + 1) * sizeof(lazy_ins)),
                            .sinks = malloc((size_t)(draft->sinks.n + 1) * sizeof(lazy_sink))};
    if (unit_nodes_new(u, draft->loads.n, draft->sinks.n) || !kernel->loads || !kernel->ins || !kernel->sinks)
        return plan_verify_no_memory();
    memcpy(kernel->shape, draft->box, sizeof draft->box);
    for (int k = 0; k < kernel->nloads; k++) {
        kernel->loads[k] = draft->loads.at[k].load;
        u->reads[k] = draft->loads.at[k].node;
    }
    for (int i = 0; i < kernel->nins; i++) {
        kernel->ins[i] = draft->ins.at[i];
        for (int k = 0; k < kernel->ins[i].narg && k < 3; k++)
            kernel->ins[i].arg[k] = value_of_draft(draft, kernel->ins[i].arg[k]);
    }
    for (int k = 0; k < kernel->nsinks; k++) {
        kernel->sinks[k] = draft->sinks.at[k].sink;
        kernel->sinks[k].value = value_of_draft(draft, kernel->sinks[k].value);
        u->writes[k] = kernel->sinks[k].slot < 0 ? -1 : draft->sinks.at[k].node;
    }
    return 0;
}

static int unit_of_draft(const lazy_draft *draft, lazy_unit *u) {
    *u = (lazy_unit){.call = draft->call, .node = draft->node, .device = draft->device};
    if (!draft->call)
        return copy_draft(draft, u);
    int status = unit_nodes_new(u, draft->call->call.nin, 1);
    if (status == 0)
        memcpy(u->reads, draft->call->slots, (size_t)(u->nreads + 1) * sizeof *u->reads);
    return status;
}

int plan_verify_draft(const neap_ctx *ctx, const uint8_t *made, const lazy_draft *draft, const char *pass) {
    lazy_verifier v = {.ctx = ctx, .made = made, .pass = pass, .what = "draft"};
    lazy_unit *u = calloc(1, sizeof *u);
    int status = u ? unit_of_draft(draft, u) : plan_verify_no_memory();
    v.op = plan_verify_op_name(&v, draft->node);
    if (status == 0)
        status = check_unit(&v, u);
    units_free(u, 1);
    return status;
}

int plan_verify_drafts(const neap_ctx *ctx, const uint8_t *made, const lazy_drafts *drafts, const char *pass) {
    lazy_verifier v = {.ctx = ctx, .made = made, .pass = pass, .what = "draft"};
    lazy_unit *units = calloc((size_t)drafts->n + 1, sizeof *units);
    int status = units ? 0 : plan_verify_no_memory();
    for (v.at = 0; v.at < drafts->n && status == 0; v.at++) {
        v.op = plan_verify_op_name(&v, drafts->at[v.at]->node);
        status = unit_of_draft(drafts->at[v.at], &units[v.at]);
        if (status == 0)
            status = check_unit(&v, &units[v.at]);
    }
    if (status == 0)
        status = check_order(&v, units, drafts->n);
    units_free(units, drafts->n);
    return status;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */
static int check_slots(const lazy_verifier *v, const lazy_plan *plan) {
    int64_t nodes = v->ctx->walk.order.n;
    bool *seen = calloc((size_t)nodes + 1, sizeof *seen);
    int status = seen ? 0 : plan_verify_no_memory();
    for (int32_t s = 0; s < plan->nslots && status == 0; s++) {
        const lazy_slot *slot = &plan->slots[s];
        const neap_node *node = plan_verify_node(v, slot->node);
        if (!node || seen[slot->node])
            status = plan_broken_rule(v, 13, "slot %d is node %d, which %s", s, slot->node,
                                      node ? "has another slot" : "is not in the region");
        else if (slot->made == plan_is_leaf(node) || slot->bytes != graph_node_bytes(node) ||
                 slot->device != graph_node_runs_on(node))
            status = plan_broken_rule(v, 13, "slot %d is not what its node %d (%s) says", s, slot->node,
                                      plan_verify_op_name(v, slot->node));
        else
            seen[slot->node] = true;
    }
    free(seen);
    return status;
}

/* The group that a step is in, NULL before there are any. */
static const lazy_group *batch_of_step(const lazy_plan *plan, int64_t t) {
    for (int32_t b = 0; b < plan->ngroups; b++)
        if (t < plan->groups[b].first + plan->groups[b].nsteps)
            return &plan->groups[b];
    return NULL;
}

/* The node of the step's buffer k, -1 if there is none. */
static int32_t node_of_buffer(const lazy_plan *plan, const lazy_group *group, const lazy_step *step, int32_t k) {
    int32_t slot = k < 0 || k >= step->nbufs ? -1 : step->slots[k];
    if (slot >= 0 && group)
        slot = slot < group->nbufs ? group->slots[slot] : -1;
    return slot < 0 || slot >= plan->nslots ? -1 : plan->slots[slot].node;
}

static int unit_of_kernel_step(const lazy_verifier *v, const lazy_plan *plan, const lazy_group *group,
                               const lazy_step *step, lazy_unit *u) {
    const lazy_kernel *kernel = &step->kernel;
    int32_t inputs = step->nbufs - step->nouts, outputs = 0;
    int status = unit_nodes_new(u, kernel->nloads, kernel->nsinks);
    for (int k = 0; k < kernel->nloads && status == 0; k++) {
        const lazy_load *load = &kernel->loads[k];
        bool buffer = loop_has_buffer(load);
        int32_t number = step->first_number + load->slot;
        bool known = load->slot >= 0 && load->slot < step->nnumbers && number < plan->nnumbers;
        u->reads[k] = -1;
        if (buffer)
            u->reads[k] = load->slot < inputs ? node_of_buffer(plan, group, step, load->slot) : -1;
        else if (load->kind == LAZY_LOAD_SCALAR && (!known || plan->numbers[number].dtype != load->dtype))
            return plan_broken_rule(v, 14, "load %d is number %d of the plan", k, number);
        else if (load->kind == LAZY_LOAD_SCALAR)
            u->reads[k] = plan->numbers[number].node;
        if (buffer && u->reads[k] < 0)
            return plan_broken_rule(v, 14, "load %d reads buffer %d of %d", k, load->slot, inputs);
    }
    for (int k = 0; k < kernel->nsinks && status == 0; k++) {
        int slot = kernel->sinks[k].slot;
        u->writes[k] = slot < 0 ? -1 : node_of_buffer(plan, group, step, slot);
        if (slot >= 0 && (slot < inputs || u->writes[k] < 0))
            return plan_broken_rule(v, 14, "sink %d writes buffer %d of %d", k, slot, step->nbufs);
        outputs += slot >= 0;
    }
    if (status == 0 && outputs != step->nouts)
        return plan_broken_rule(v, 14, "it writes %d of %d outputs", outputs, step->nouts);
    return status;
}

static int unit_of_step(const lazy_verifier *v, const lazy_plan *plan, int64_t t, lazy_unit *u) {
    const lazy_step *step = plan->steps[t];
    const lazy_group *group = batch_of_step(plan, t);
    const neap_node *node = plan_verify_node(v, step->node);
    if (!node)
        return plan_broken_rule(v, 14, "it computes node %d, which is not in the region", step->node);
    *u = (lazy_unit){.node = step->node, .device = graph_node_runs_on(node)};
    if (step->nouts < 1 || step->nouts > step->nbufs)
        return plan_broken_rule(v, 14, "it has %d buffers, of which %d are outputs", step->nbufs, step->nouts);
    if (step->kind == LAZY_STEP_KERNEL)
        return unit_of_kernel_step(v, plan, group, step, u);
    int status = unit_nodes_new(u, step->nbufs - 1, 1);
    u->call = step;
    for (int32_t k = 0; k < step->nbufs && status == 0; k++)
        if ((u->reads[k] = node_of_buffer(plan, group, step, k)) < 0)
            return plan_broken_rule(v, 14, "its array %d is in no buffer", k);
    return status == 0 && step->call.nin != step->nbufs - 1 ? plan_broken_rule(v, 14, "it has no output of its own")
                                                            : status;
}

static void lend_kernel(lazy_unit *u, const lazy_step *step, bool lent) {
    u->kernel = lent && !u->call ? step->kernel : (lazy_kernel){0}; /* its arrays stay the step's */
}

/* Do the groups list what their steps touch? */
static int check_batch(const lazy_verifier *v, const lazy_plan *plan, int32_t b, int32_t first, int32_t *numbers) {
    const lazy_group *group = &plan->groups[b];
    int32_t used = 0;
    if (group->first != first || group->nsteps < 1 || first + group->nsteps > plan->nsteps)
        return plan_broken_rule(v, 15, "group %d has steps %d to %d, but %d is next", b, group->first,
                                group->first + group->nsteps - 1, first);
    for (int32_t k = 0; k < group->nbufs; k++) {
        bool writes = false, touched = false;
        for (int32_t t = first; t < first + group->nsteps; t++)
            for (int32_t j = 0; j < plan->steps[t]->nbufs; j++) {
                touched |= plan->steps[t]->slots[j] == k;
                writes |= plan->steps[t]->slots[j] == k && j >= plan->steps[t]->nbufs - plan->steps[t]->nouts;
            }
        if (!touched || writes != group->writes[k])
            return plan_broken_rule(v, 15, "group %d says that slot %d is %s", b, group->slots[k],
                                    group->writes[k] ? "written" : "read");
    }
    for (int32_t t = first; t < first + group->nsteps; t++)
        used += plan->steps[t]->nnumbers;
    if (used != group->nnumbers || (used && group->first_number != *numbers))
        return plan_broken_rule(v, 15, "group %d has %d numbers from %d on, but its steps %d", b, group->nnumbers,
                                group->first_number, used);
    *numbers += used;
    return 0;
}

static int check_batches(const lazy_verifier *v, const lazy_plan *plan) {
    int32_t first = 0, numbers = 0;
    int status = 0;
    for (int32_t b = 0; b < plan->ngroups && status == 0; b++) {
        status = check_batch(v, plan, b, first, &numbers);
        first += plan->groups[b].nsteps;
    }
    return status || first == plan->nsteps ? status : plan_broken_rule(v, 15, "step %d is in no group", first);
}

int plan_verify_steps(const neap_ctx *ctx, const uint8_t *made, const lazy_plan *plan, const char *pass) {
    lazy_verifier v = {.ctx = ctx, .made = made, .pass = pass, .what = "step", .at = -1};
    lazy_unit *units = calloc((size_t)plan->nsteps + 1, sizeof *units);
    int status = units ? check_slots(&v, plan) : plan_verify_no_memory();
    if (status == 0 && plan->groups)
        status = check_batches(&v, plan);
    for (v.at = 0; v.at < plan->nsteps && status == 0; v.at++) {
        v.op = plan_verify_op_name(&v, plan->steps[v.at]->node);
        status = unit_of_step(&v, plan, v.at, &units[v.at]);
        lend_kernel(&units[v.at], plan->steps[v.at], true);
        if (status == 0)
            status = check_unit(&v, &units[v.at]);
    }
    if (status == 0)
        status = check_order(&v, units, plan->nsteps);
    for (int32_t t = 0; t < plan->nsteps && units; t++)
        lend_kernel(&units[t], plan->steps[t], false);
    units_free(units, plan->nsteps);
    return status;
}

/* ---- Memory plans ------------------------------------------------------------------------------------------------ */
/* A run, step by step: which slot's value each home holds. */
typedef struct rehearsal {
    lazy_verifier v;
    const lazy_plan *plan;
    const lazy_homes *homes;
    int32_t *holds; /* by home: the slot, -1: none yet */
    bool *stays;    /* by slot */
} rehearsal;

static bool is_fixed_leaf(const rehearsal *r, int32_t home, int64_t t) {
    return !r->plan->slots[home].made && r->homes->dies[home] != LAZY_DIES_GIVEN && t != r->plan->nsteps - 1 &&
           !r->plan->steps[t]->copies;
}

static int check_homes(const rehearsal *r) {
    const lazy_plan *plan = r->plan;
    for (int32_t s = 0; s < plan->nslots; s++) {
        int32_t home = r->homes->home[s];
        if (home < 0 || home >= plan->nslots || r->homes->home[home] != home || (!plan->slots[s].made && home != s))
            return plan_broken_rule(&r->v, 16, "slot %d lives in %d, which is no home", s, home);
        if (plan->slots[s].device != plan->slots[home].device)
            return plan_broken_rule(&r->v, 16, "slot %d lives in %d, on another device", s, home);
        size_t has = plan->slots[home].made ? r->homes->bytes[home] : plan->slots[home].bytes;
        if (has < plan->slots[s].bytes)
            return plan_broken_rule(&r->v, 16, "slot %d needs %zu bytes, but its home %d has %zu", s,
                                    plan->slots[s].bytes, home, has);
    }
    return 0;
}

/* Whether the step reads slot `from` only where it then writes its output `out`. */
static bool writes_in_place(const lazy_group *group, const lazy_step *step, int32_t from, int32_t out) {
    const lazy_kernel *kernel = &step->kernel;
    const lazy_sink *sink = NULL;
    if (step->kind != LAZY_STEP_KERNEL)
        return step->call.op->begins && step->call.op->begins(step->call.attrs);
    for (int k = 0; k < kernel->nsinks; k++)
        if (kernel->sinks[k].slot == out)
            sink = &kernel->sinks[k];
    if (!sink || sink->kind != LAZY_SINK_STORE)
        return false;
    for (int k = 0; k < kernel->nloads; k++) {
        const lazy_load *load = &kernel->loads[k];
        bool buffer = loop_has_buffer(load);
        if (!buffer || group->slots[step->slots[load->slot]] != from)
            continue;
        if (load->kind == LAZY_LOAD_TABLE || !loop_maps_agree(kernel, &load->read, &sink->write) ||
            neap_dtype_bytes(load->dtype) != neap_dtype_bytes(sink->dtype))
            return false;
    }
    return true;
}

/* Writes output k of a step: into a home that is free, or that holds what dies. */
static int rehearse_write(rehearsal *r, const lazy_group *group, const lazy_step *step, int32_t k) {
    int32_t s = group->slots[step->slots[k]], home = r->homes->home[s], held = r->holds[home];
    r->holds[home] = s;
    if (held < 0 || held == s)
        return 0;
    if (r->homes->dies[held] < LAZY_DIES || r->stays[held] || is_fixed_leaf(r, home, r->v.at))
        return plan_broken_rule(&r->v, 18, "it writes slot %d over slot %d, which stays", s, held);
    for (int32_t j = 0; j < step->nbufs; j++) {
        if (group->slots[step->slots[j]] != held)
            continue;
        if (j >= step->nbufs - step->nouts || r->plan->slots[held].sliced || !writes_in_place(group, step, held, k))
            return plan_broken_rule(&r->v, 17, "it writes slot %d over slot %d, which it uses", s, held);
    }
    return 0;
}

static int rehearse_step(rehearsal *r, const lazy_group *group, const lazy_step *step) {
    int status = 0;
    for (int32_t k = 0; k < step->nbufs - step->nouts; k++) {
        int32_t s = group->slots[step->slots[k]];
        if (r->plan->slots[s].bytes > 0 && r->holds[r->homes->home[s]] != s)
            return plan_broken_rule(&r->v, 17, "it reads slot %d, but its home %d holds slot %d", s, r->homes->home[s],
                                    r->holds[r->homes->home[s]]);
    }
    for (int32_t k = step->nbufs - step->nouts; k < step->nbufs && status == 0; k++)
        status = rehearse_write(r, group, step, k);
    return status;
}

static int rehearse_run(rehearsal *r) {
    const lazy_plan *plan = r->plan;
    int status = 0;
    for (int32_t s = 0; s < plan->nslots; s++)
        r->holds[s] = plan->slots[s].made ? -1 : s;
    for (lazy_step_walk w = plan_walk(plan); plan_walk_next(&w);)
        for (int32_t k = 0; k < w.step->nbufs; k++)
            r->stays[plan_walk_slot(&w, k)] |= !r->homes->serial && w.step->effect;
    for (lazy_step_walk w = plan_walk(plan); status == 0 && plan_walk_next(&w);) {
        r->v.at = w.t;
        r->v.op = w.step->label;
        status = rehearse_step(r, w.group, w.step);
    }
    return status;
}

int plan_verify_homes(const lazy_plan *plan, const lazy_homes *homes) {
    size_t n = (size_t)plan->nslots;
    rehearsal r = {.v = {.pass = "memory planning", .what = "step", .at = -1}, .plan = plan, .homes = homes};
    r.holds = malloc(n * sizeof *r.holds + 1);
    r.stays = calloc(n + 1, sizeof *r.stays);
    int status = r.holds && r.stays ? check_homes(&r) : plan_verify_no_memory();
    if (status == 0)
        status = rehearse_run(&r);
    free(r.holds);
    free(r.stays);
    return status;
}
