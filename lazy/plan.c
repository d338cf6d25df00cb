/* plan.c: from a region to steps.
 *
 * Nodes that need a buffer are visited from the last to the first, so that a node which a kernel could not read through
 * (a cut) is marked before its own turn comes. By class of op, a node becomes
 *
 *      map, view, source   one kernel that stores the fused expression
 *      reduce              one kernel over [kept axes][reduced axes] of the fused input
 *      assemble            one kernel per piece, each storing into its window of the result
 *      call                a call over operands with buffers; views of them are passed as strides
 *
 * The steps are then put into the order of the region, and small neighbours into batches, since the engine's care for an op
 * costs more than a step over ten elements.
 */
#include <string.h>

#include "lazy/plan.h"

typedef struct planner {
    neap_ctx *ctx;
    uint8_t *made;
    int32_t *slot_of; /* region number → slot, -1 */
    lazy_plan *plan;
    LAZY_VECTOR(lazy_slot) slots;
    LAZY_VECTOR(lazy_step *) steps;
    LAZY_VECTOR(lazy_number) numbers;
} planner;

const char *lazy_why_text(lazy_why why) {
#define TEXT(NAME, text) text,
    static const char *const texts[] = {LAZY_WHY_ROWS(TEXT)};
#undef TEXT
    return texts[why];
}

static neap_node *region_node(const planner *p, int32_t k) {
    return p->ctx->order.at[k];
}

static int32_t slot_for(planner *p, int32_t node) {
    if (p->slot_of[node] >= 0)
        return p->slot_of[node];
    neap_node *at = region_node(p, node);
    lazy_slot slot = {.node = node,
                      .made = !lazy_is_leaf(at),
                      .why = p->made[node],
                      .device = (int16_t)lazy_node_runs_on(at),
                      .bytes = lazy_node_bytes(at)};
    if (lazy_push(&p->slots, slot))
        return NEAP_E_MEMORY;
    return p->slot_of[node] = (int32_t)p->slots.n - 1;
}

/* ---- Kernels ------------------------------------------------------------------------------------------------------ */
static void *carve(char **at, size_t bytes) {
    void *block = *at;
    *at += (bytes + 15) / 16 * 16;
    return block;
}

/* One block for a kernel step: the struct and the arrays it points to. */
static lazy_step *kernel_step(const lazy_fused *fused) {
    size_t nbufs = (size_t)fused->leaves.n + 1;
    size_t loads = (size_t)fused->loads.n * sizeof(lazy_load), ins = (size_t)fused->ins.n * sizeof(lazy_ins);
    size_t bytes = sizeof(lazy_step) + loads + ins + sizeof(lazy_sink) + nbufs * sizeof(int32_t) + 96;
    lazy_step *step = calloc(1, bytes);
    if (!step)
        return NULL;
    char *at = (char *)step;
    carve(&at, sizeof *step);
    step->kernel.loads = carve(&at, loads);
    step->kernel.ins = carve(&at, ins);
    step->kernel.sinks = carve(&at, sizeof(lazy_sink));
    step->slots = carve(&at, nbufs * sizeof(int32_t));
    step->nbufs = (int32_t)nbufs;
    step->nouts = 1;
    if (loads)
        memcpy(step->kernel.loads, fused->loads.at, loads);
    if (ins)
        memcpy(step->kernel.ins, fused->ins.at, ins);
    step->kernel.nloads = (int)fused->loads.n;
    step->kernel.nins = (int)fused->ins.n;
    step->kernel.nsinks = 1;
    return step;
}

static int add_kernel(planner *p, neap_node *node, const lazy_fusion *fusion, const lazy_fused *fused) {
    lazy_step *step = kernel_step(fused);
    if (!step)
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    lazy_kernel *kernel = &step->kernel;
    bool reduces = lazy_node_op(node)->kind == LAZY_REDUCE;
    kernel->ndim = fusion->ndim;
    kernel->nkept = fusion->nkept;
    memcpy(kernel->shape, fusion->box, (size_t)fusion->ndim * sizeof *fusion->box);
    kernel->sinks[0] = (lazy_sink){.kind = reduces ? LAZY_SINK_REDUCE : LAZY_SINK_STORE,
                                   .dtype = (uint8_t)node->dtype,
                                   .op = node->op,
                                   .slot = (int16_t)fused->leaves.n,
                                   .value = fused->value,
                                   .write = fusion->write};
    step->kind = LAZY_STEP_KERNEL;
    step->device = (int16_t)lazy_node_runs_on(node);
    step->node = (int32_t)node->index;
    step->site = lazy_site_text(p->ctx, node->site);
    int status = lazy_push(&p->steps, step);
    if (status) {
        free(step);
        return status;
    }
    for (int64_t k = 0; k <= fused->leaves.n; k++) {
        step->slots[k] = slot_for(p, k < fused->leaves.n ? fused->leaves.at[k] : (int32_t)node->index);
        if (step->slots[k] < 0)
            return step->slots[k];
    }
    step->first_number = (int32_t)p->numbers.n;
    step->nnumbers = (int32_t)fused->numbers.n;
    for (int64_t k = 0; k < fused->numbers.n; k++)
        if (lazy_push(&p->numbers, fused->numbers.at[k]))
            return NEAP_E_MEMORY;
    if ((status = lazy_kernel_prepare(kernel)) != 0)
        return status;
    step->cost = lazy_kernel_cost(kernel);
    return 0;
}

/* Fuses and adds one kernel of `node`; cuts are marked and tried again. */
static int plan_kernel(planner *p, neap_node *node, const lazy_fusion *request) {
    lazy_fused fused = {0};
    lazy_fusion fusion;
    int status;
    do {
        fusion = *request;
        status = lazy_fuse(p->ctx, p->made, &fusion, &fused);
        if (status == NEAP_PENDING)
            p->made[fused.cut] = (uint8_t)fused.why;
    } while (status == NEAP_PENDING);
    if (status == 0)
        status = add_kernel(p, node, &fusion, &fused);
    lazy_fused_free(&fused);
    return status;
}

static lazy_fusion whole_box(neap_node *root) {
    lazy_fusion fusion = {.root = root, .ndim = root->ndim, .nkept = root->ndim};
    memcpy(fusion.box, root->shape, root->ndim * sizeof *root->shape);
    lazy_row_major(root->ndim, root->shape, fusion.read.stride);
    fusion.write = fusion.read;
    return fusion;
}

static int plan_map(planner *p, neap_node *node) {
    if (node->size == 0)
        return slot_for(p, (int32_t)node->index) < 0 ? NEAP_E_MEMORY : 0;
    lazy_fusion fusion = whole_box(node);
    fusion.own = true;
    return plan_kernel(p, node, &fusion);
}

static int plan_reduce(planner *p, neap_node *node) {
    if (node->size == 0)
        return slot_for(p, (int32_t)node->index) < 0 ? NEAP_E_MEMORY : 0;
    neap_node *in = node->in[0];
    int64_t row[NEAP_MAX_DIMS], mask = node->attrs[0];
    lazy_row_major(in->ndim, in->shape, row);
    lazy_fusion fusion = {.root = in};
    for (int pass = 0; pass < 2; pass++) /* kept axes, then reduced ones */
        for (int a = 0; a < in->ndim; a++)
            if ((mask >> a & 1) == pass) {
                fusion.box[fusion.ndim] = in->shape[a];
                fusion.read.stride[fusion.ndim++] = row[a];
                fusion.nkept += !pass;
            }
    if (fusion.nkept == fusion.ndim) /* nothing is reduced: one element each */
        fusion.box[fusion.ndim++] = 1;
    lazy_row_major(fusion.nkept, fusion.box, fusion.write.stride);
    return plan_kernel(p, node, &fusion);
}

static void describe(const neap_node *node, lazy_aval *avals, lazy_call_desc *call, lazy_result *result) {
    for (int k = 0; k < node->nin; k++)
        avals[k] = lazy_node_aval(node->in[k]);
    *call = (lazy_call_desc){.nin = node->nin, .in = avals, .nattrs = node->nattrs, .attrs = node->attrs};
    result->compute = result->dtype = node->dtype;
    result->ndim = node->ndim;
    memcpy(result->shape, node->shape, node->ndim * sizeof *node->shape);
}

static int plan_assemble(planner *p, neap_node *node) {
    if (node->size == 0)
        return slot_for(p, (int32_t)node->index) < 0 ? NEAP_E_MEMORY : 0;
    lazy_aval avals[NEAP_MAX_INPUTS];
    lazy_call_desc call;
    lazy_result result;
    lazy_piece pieces[NEAP_MAX_INPUTS + 1];
    describe(node, avals, &call, &result);
    int n = lazy_node_op(node)->pieces(&call, &result, pieces);
    int status = n < 0 ? n : 0;
    /* Steps are collected from last to first. */
    for (int k = n - 1; k >= 0 && status == 0; k--) {
        neap_node *in = node->in[pieces[k].input];
        lazy_fusion fusion = whole_box(in);
        memcpy(fusion.write.stride, pieces[k].write.stride, sizeof pieces[k].write.stride);
        fusion.write.offset = pieces[k].write.offset;
        if (pieces[k].fill) {
            fusion = whole_box(node);
            fusion.root = in;
            memset(&fusion.read, 0, sizeof fusion.read);
        }
        if (in->size)
            status = plan_kernel(p, node, &fusion);
    }
    return status;
}

/* ---- Calls -------------------------------------------------------------------------------------------------------- */
/* One block: the step, tensors, shapes and strides. */
static lazy_step *call_step(neap_ctx *ctx, const neap_node *node) {
    size_t n = (size_t)node->nin + 1, axes = n * 2 * NEAP_MAX_DIMS * sizeof(int64_t);
    size_t attrs = (size_t)node->nattrs * sizeof(int64_t);
    lazy_step *step = calloc(1, sizeof *step + n * (sizeof(lazy_tensor) + sizeof(int32_t)) + axes + attrs + 96);
    if (!step)
        return NULL;
    char *at = (char *)step;
    carve(&at, sizeof *step);
    lazy_tensor *tensors = carve(&at, n * sizeof *tensors);
    int64_t *memory = carve(&at, axes), *copy = carve(&at, attrs);
    step->slots = carve(&at, n * sizeof(int32_t));
    step->kind = LAZY_STEP_CALL;
    step->device = (int16_t)lazy_node_runs_on(node);
    step->nbufs = (int32_t)n;
    step->nouts = 1;
    step->node = (int32_t)node->index;
    step->site = lazy_site_text(ctx, node->site);
    if (attrs)
        memcpy(copy, node->attrs, attrs);
    step->call = (lazy_call){.op = lazy_node_op(node),
                             .nin = node->nin,
                             .nattrs = node->nattrs,
                             .in = tensors,
                             .out = tensors + node->nin,
                             .attrs = copy};
    for (size_t k = 0; k < n; k++) {
        tensors[k].shape = memory + 2 * k * NEAP_MAX_DIMS;
        tensors[k].stride = memory + (2 * k + 1) * NEAP_MAX_DIMS;
    }
    return step;
}

/* Describes an operand: of which slot, and how it lies there. What has no buffer to point to gets one. */
static int plan_operand(planner *p, lazy_step *step, int k, neap_node *node) {
    lazy_tensor *tensor = (lazy_tensor *)&step->call.in[k];
    bool dense = step->call.op->flags & LAZY_OP_DENSE;
    neap_node *target = node;
    tensor->dtype = node->dtype;
    tensor->ndim = node->ndim;
    tensor->size = node->size;
    memcpy((int64_t *)tensor->shape, node->shape, node->ndim * sizeof *node->shape);
    lazy_row_major(node->ndim, node->shape, (int64_t *)tensor->stride);
    bool whole = step->call.op->flags & LAZY_OP_EFFECT; /* a callback's arguments are arrays of their own */
    if (lazy_is_view(node) && !node->buffer && !p->made[node->index] && !whole) {
        neap_node *base = node->base;
        bool contiguous = lazy_map_contiguous(node->ndim, node->shape, node->map);
        if ((lazy_is_leaf(base) || p->made[base->index]) && (contiguous || !dense)) {
            target = base;
            memcpy((int64_t *)tensor->stride, node->map->stride, node->ndim * sizeof *node->shape);
            step->offsets[k] = node->map->offset;
        }
    }
    if (!lazy_is_leaf(target) && !p->made[target->index])
        p->made[target->index] = LAZY_WHY_OPERAND;
    step->slots[k] = slot_for(p, (int32_t)target->index);
    return step->slots[k] < 0 ? step->slots[k] : 0;
}

static int plan_call(planner *p, neap_node *node) {
    lazy_step *step = call_step(p->ctx, node);
    if (!step)
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    if (lazy_push(&p->steps, step)) {
        free(step);
        return NEAP_E_MEMORY;
    }
    int status = 0;
    for (int k = 0; k < node->nin && status == 0; k++)
        status = plan_operand(p, step, k, node->in[k]);
    if (status)
        return status;
    lazy_tensor *out = (lazy_tensor *)step->call.out;
    out->dtype = node->dtype;
    out->ndim = node->ndim;
    out->size = node->size;
    memcpy((int64_t *)out->shape, node->shape, node->ndim * sizeof *node->shape);
    lazy_row_major(node->ndim, node->shape, (int64_t *)out->stride);
    step->slots[node->nin] = slot_for(p, (int32_t)node->index);
    lazy_aval avals[NEAP_MAX_INPUTS];
    lazy_call_desc call;
    lazy_result result;
    describe(node, avals, &call, &result);
    if (lazy_node_op(node)->cost) {
        step->cost = lazy_node_op(node)->cost(&call, &result);
    } else { /* about 10 bytes a ns */
        step->cost = 100 + (int64_t)lazy_node_bytes(node) / 10;
        for (int k = 0; k < node->nin; k++)
            step->cost += (int64_t)lazy_node_bytes(node->in[k]) / 10;
    }
    return step->slots[node->nin] < 0 ? step->slots[node->nin] : 0;
}

/* ---- Plan --------------------------------------------------------------------------------------------------------- */
static int plan_node(planner *p, neap_node *node) {
    switch (lazy_node_op(node)->kind) {
    case LAZY_REDUCE:
        return plan_reduce(p, node);
    case LAZY_ASSEMBLE:
        return plan_assemble(p, node);
    case LAZY_CALL:
        return plan_call(p, node);
    default:
        return plan_map(p, node);
    }
}

static void step_free(lazy_step *step) {
    if (step->kind == LAZY_STEP_KERNEL && step->kernel.prepared)
        lazy_kernel_unprepare(&step->kernel);
    free(step);
}

void lazy_plan_release(lazy_plan *plan) {
    if (__atomic_sub_fetch(&plan->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (int32_t k = 0; k < plan->nsteps; k++)
        step_free(plan->steps[k]);
    for (int32_t k = 0; k < plan->nbatches; k++)
        free(plan->batches[k].slots);
    free(plan->batches);
    free(plan->steps);
    free(plan->slots);
    free(plan->numbers);
    free(plan->key);
    free(plan);
}

static void take_over(planner *p, lazy_plan *plan) {
    for (int64_t a = 0, b = p->steps.n - 1; a < b; a++, b--) {
        lazy_step *step = p->steps.at[a];
        p->steps.at[a] = p->steps.at[b];
        p->steps.at[b] = step;
    }
    plan->slots = p->slots.at;
    plan->nslots = (int32_t)p->slots.n;
    plan->steps = p->steps.at;
    plan->nsteps = (int32_t)p->steps.n;
    plan->numbers = p->numbers.at;
    plan->nnumbers = (int32_t)p->numbers.n;
}

/* ---- Batches ------------------------------------------------------------------------------------------------------ */
enum { BATCH_BUFFERS = 48, BATCH_STEPS = 64 };

typedef struct batcher {
    int32_t *place; /* slot of the plan → position in the open batch, valid while stamp says so */
    int32_t *stamp;
    int32_t slots[NEAP_MAX_INPUTS + LAZY_KERNEL_MAX_INS * 3 + BATCH_BUFFERS];
    bool writes[NEAP_MAX_INPUTS + LAZY_KERNEL_MAX_INS * 3 + BATCH_BUFFERS];
} batcher;

/* How many buffers a step would add to batch number b. */
static int32_t new_buffers(const batcher *t, const lazy_step *step, int32_t b) {
    int32_t n = 0;
    for (int32_t k = 0; k < step->nbufs; k++)
        n += t->stamp[step->slots[k]] != b;
    return n;
}

static void batch_add(batcher *t, lazy_batch *batch, lazy_step *step, int32_t b) {
    for (int32_t k = 0; k < step->nbufs; k++) {
        int32_t slot = step->slots[k];
        if (t->stamp[slot] != b) {
            t->stamp[slot] = b;
            t->place[slot] = batch->nbufs;
            t->slots[batch->nbufs] = slot;
            t->writes[batch->nbufs++] = false;
        }
        step->slots[k] = t->place[slot];
    }
    for (int32_t k = step->nbufs - step->nouts; k < step->nbufs; k++)
        t->writes[step->slots[k]] = true;
    /* Numbers were laid down from the last step to the first. */
    if (step->nnumbers) {
        batch->nnumbers = batch->nnumbers ? batch->nnumbers + batch->first_number - step->first_number : step->nnumbers;
        batch->first_number = step->first_number;
    }
    batch->nsteps++;
    batch->cost += step->cost;
}

static int batch_close(batcher *t, lazy_step *const *steps, lazy_batch *batch) {
    size_t n = (size_t)batch->nbufs;
    batch->slots = malloc(n * (sizeof *batch->slots + sizeof *batch->writes) + 1);
    if (!batch->slots)
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    batch->writes = (bool *)(batch->slots + n);
    memcpy(batch->slots, t->slots, n * sizeof *batch->slots);
    memcpy(batch->writes, t->writes, n * sizeof *batch->writes);
    lazy_batch_label(steps, batch);
    return 0;
}

static int make_batches(lazy_plan *plan) {
    size_t n = (size_t)plan->nslots;
    batcher *t = malloc(sizeof *t);
    int32_t *memory = malloc(2 * n * sizeof *memory + 1);
    plan->batches = calloc((size_t)plan->nsteps + 1, sizeof *plan->batches);
    int status = t && memory && plan->batches ? 0 : neap_error(NEAP_E_MEMORY, "out of memory while planning");
    if (status == 0) {
        t->place = memory;
        t->stamp = memory + n;
        memset(t->stamp, 0xff, n * sizeof *t->stamp);
    }
    lazy_batch *batch = NULL;
    for (int32_t k = 0; k < plan->nsteps && status == 0; k++) {
        lazy_step *step = plan->steps[k];
        bool joins = batch && step->kind == LAZY_STEP_KERNEL && plan->steps[k - 1]->kind == LAZY_STEP_KERNEL &&
                     step->device == plan->steps[k - 1]->device && batch->nsteps < BATCH_STEPS &&
                     batch->cost + step->cost < LAZY_SMALL_COST &&
                     batch->nbufs + new_buffers(t, step, plan->nbatches - 1) <= BATCH_BUFFERS;
        if (!joins) {
            if (batch && (status = batch_close(t, plan->steps, batch)) != 0)
                break;
            batch = &plan->batches[plan->nbatches++];
            batch->first = k;
        }
        lazy_step_label(step);
        batch_add(t, batch, step, plan->nbatches - 1);
    }
    if (batch && status == 0)
        status = batch_close(t, plan->steps, batch);
    free(t);
    free(memory);
    return status;
}

int lazy_plan_new(neap_ctx *ctx, uint8_t *made, lazy_plan **out) {
    int64_t n = ctx->order.n;
    lazy_plan *plan = calloc(1, sizeof *plan);
    planner p = {.ctx = ctx, .made = made, .plan = plan, .slot_of = malloc((size_t)n * sizeof(int32_t) + 1)};
    if (!plan || !p.slot_of) {
        free(plan);
        free(p.slot_of);
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    }
    plan->refs = 1;
    memset(p.slot_of, 0xff, (size_t)n * sizeof(int32_t));
    int status = 0;
    for (int64_t k = n - 1; k >= 0 && status == 0; k--)
        if (made[k])
            status = plan_node(&p, ctx->order.at[k]);
    take_over(&p, plan);
    free(p.slot_of);
    if (status == 0)
        status = make_batches(plan);
    if (status) {
        lazy_plan_release(plan);
        return status;
    }
    *out = plan;
    return 0;
}
