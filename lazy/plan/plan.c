/* plan.c: from a region to steps.
 *
 * Nodes that need a buffer are visited from the last to the first, so that a node which a kernel could not read through
 * (a cut) is marked before its own turn comes. By class of op, a node becomes
 *
 *      map, gather, …      one kernel that stores the fused expression
 *      reduce              one kernel over [kept axes][reduced axes] of the fused input
 *      assemble            one kernel per piece, each storing into its window of the result; none if its consumer can
 *                          read the pieces (window.c)
 *      call                a call over operands with buffers; views of them are passed as strides
 *      update              a kernel that copies what is updated, and the call, which writes over parts of the copy; the
 *                          call alone over what is no more than the version before it (updates.c)
 *
 * These are drafts, of which merge.c makes fewer and larger ones. What is left becomes the steps, and small neighbours
 * go into groups, since the engine's care for an op costs more than a step over ten elements.
 */
#include <string.h>

#include "lazy/arena.h"
#include "lazy/plan/draft.h"
#include "lazy/plan/verify.h"
#include "ops_gen.h"

typedef struct planner {
    neap_ctx *ctx;
    uint8_t *made;
    int32_t *slot_of;          /* region number → slot, -1 */
    int32_t *times, *segments; /* by region number: see plan_materialize and plan_partition_chains */
    int32_t *over;             /* region number → the next version, that is written over this one; itself */
    lazy_waits *waits;         /* by region number */
    uint8_t *takes;            /* by region number: a call that reads halves past casts to f32 */
    int32_t *rounds;           /* by region number: the call that makes what this cast would, -1 */
    lazy_plan *plan;
    lazy_drafts drafts; /* from last to first, until all are there */
    LAZY_VECTOR(lazy_slot) slots;
    LAZY_VECTOR(lazy_step *) steps;
    LAZY_VECTOR(lazy_number) numbers;
} planner;

const char *plan_why_text(lazy_why why) {
#define TEXT(NAME, text) text,
    static const char *const texts[] = {LAZY_WHY_ROWS(TEXT)};
#undef TEXT
    return texts[why];
}

static neap_node *region_node(const planner *p, int32_t k) {
    return p->ctx->walk.order.at[k];
}

/* Versions of an array have the slot of the last of them. */
static int32_t slot_for(planner *p, int32_t node) {
    node = plan_last_version(p->over, node);
    if (p->slot_of[node] >= 0)
        return p->slot_of[node];
    neap_node *at = region_node(p, node);
    lazy_slot slot = {.node = node,
                      .made = !plan_is_leaf(at),
                      .sliced = plan_origin(p->ctx, at) >= 0,
                      .why = p->made[node],
                      .times = p->times[node],
                      .device = (int16_t)graph_node_runs_on(at),
                      .bytes = graph_node_bytes(at)};
    if (lazy_push(&p->slots, slot))
        return NEAP_E_MEMORY;
    return p->slot_of[node] = (int32_t)p->slots.n - 1;
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */
/* One block for a kernel step: the struct and the arrays it points to. */
static lazy_step *kernel_step(const lazy_draft *draft) {
    lazy_kernel kernel = {.ndim = draft->ndim,
                          .nkept = draft->nkept,
                          .nloads = (int)draft->loads.n,
                          .nins = (int)draft->ins.n,
                          .nsinks = (int)draft->sinks.n};
    lazy_step *step;
    int32_t *slots;
    if (!LAZY_ARENA(LAZY_PART(step, 1), LAZY_PART(kernel.loads, kernel.nloads), LAZY_PART(kernel.ins, kernel.nins),
                    LAZY_PART(kernel.sinks, kernel.nsinks), LAZY_PART(slots, kernel.nloads + kernel.nsinks)))
        return NULL;
    memcpy(kernel.shape, draft->box, (size_t)draft->ndim * sizeof *draft->box);
    step->kernel = kernel;
    step->slots = slots;
    step->kind = LAZY_STEP_KERNEL;
    step->device = draft->device;
    return step;
}

static int32_t kernel_value(const lazy_kernel *kernel, int32_t drafted) {
    return drafted < 0 ? -1 - drafted : kernel->nloads + drafted;
}

/* Loads get the slots of what they read: buffers of the step, or numbers. */
static int fill_loads(planner *p, lazy_step *step, const lazy_draft *draft) {
    step->first_number = (int32_t)p->numbers.n;
    for (int64_t k = 0; k < draft->loads.n; k++) {
        lazy_load *load = &step->kernel.loads[k];
        *load = draft->loads.at[k].load;
        int32_t node = draft->loads.at[k].node, slot = 0;
        if (load->kind == LAZY_LOAD_SCALAR) {
            lazy_number number = {.node = node, .dtype = load->dtype};
            load->slot = (int16_t)step->nnumbers++;
            if (lazy_push(&p->numbers, number))
                return NEAP_E_MEMORY;
        } else if (loop_has_buffer(load)) {
            int32_t want = slot_for(p, node);
            while (slot < step->nbufs && step->slots[slot] != want)
                slot++;
            if (want < 0)
                return want;
            if (slot == step->nbufs)
                step->slots[step->nbufs++] = want;
            load->slot = (int16_t)slot;
        }
    }
    return 0;
}

static int fill_sinks(planner *p, lazy_step *step, const lazy_draft *draft) {
    for (int64_t k = 0; k < draft->sinks.n; k++) {
        lazy_sink *sink = &step->kernel.sinks[k];
        *sink = draft->sinks.at[k].sink;
        sink->value = kernel_value(&step->kernel, sink->value);
        if (sink->slot < 0)
            continue;
        step->node = draft->sinks.at[k].node;
        int32_t slot = slot_for(p, step->node);
        if (slot < 0)
            return slot;
        sink->slot = (int16_t)step->nbufs;
        step->slots[step->nbufs++] = slot;
        step->nouts++;
    }
    step->site = graph_site_text(p->ctx, region_node(p, step->node)->site);
    return 0;
}

static int add_kernel(planner *p, const lazy_draft *draft) {
    lazy_step *step = kernel_step(draft);
    if (!step)
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    lazy_kernel *kernel = &step->kernel;
    int status = lazy_push(&p->steps, step);
    if (status) {
        free(step);
        return status;
    }
    for (int64_t k = 0; k < draft->ins.n; k++) {
        lazy_ins *ins = &kernel->ins[k];
        *ins = draft->ins.at[k];
        for (int a = 0; a < ins->narg; a++)
            ins->arg[a] = kernel_value(kernel, ins->arg[a]);
    }
    status = fill_loads(p, step, draft);
    if (status == 0)
        status = fill_sinks(p, step, draft);
    step->copies = status == 0 && plan_draft_copies(draft);
    return status;
}

static void leave_to_host(lazy_step *step) {
    step->device = (int16_t)graph_host_device(step->device);
    step->backend = vm_backend_of(step->device);
}

/* Why the backend of a step cannot run the step; NULL: it can. */
static const char *backend_lacks(const lazy_step *step) {
    const lazy_backend *b = step->backend;
    if (step->kind == LAZY_STEP_KERNEL)
        return b->lacks_kernel ? b->lacks_kernel(&step->kernel, step->device) : NULL;
    return b->lacks_call ? b->lacks_call(&step->call, step->device) : NULL;
}

/* Chooses what runs a step that is complete: the backend of its device, or the host, if that cannot. What pushes its op
 * itself knows whether it works on memory of the device. */
static void choose_backend(const planner *p, lazy_step *step) {
    step->backend = vm_backend_of(step->device);
    if (step->moves || neap_device_memory_space(step->device) == 0)
        return;
    if (step->payload && step->payload->lacks)
        step->lacks = step->payload->lacks(p->ctx, region_node(p, step->node), step->device);
    else if (step->payload)
        step->lacks = "this is done by the host";
    else if (!step->backend)
        step->lacks = "nothing computes on devices of its kind";
    else
        step->lacks = backend_lacks(step);
    if (step->lacks)
        leave_to_host(step);
}

static void choose_device(const planner *p, lazy_step *step) {
    choose_backend(p, step);
    if (step->payload && step->payload->cost)
        step->cost = step->payload->cost(region_node(p, step->node), step->device);
}

/* Does the backend of a step prepare anything for it? */
static bool prepares(const lazy_step *step) {
    bool is_call = step->kind != LAZY_STEP_KERNEL && !step->payload && !step->moves;
    return step->kind == LAZY_STEP_KERNEL || (is_call && step->backend && step->backend->prepare_call);
}

static int prepare_on_device(lazy_step *step) {
    if (!prepares(step))
        return 0;
    return step->kind == LAZY_STEP_KERNEL ? step->backend->prepare(&step->kernel, step->device)
                                          : step->backend->prepare_call(&step->call, step->device);
}

/* Lets code of a step be made while that of others is. */
static void ask_on_device(lazy_step *step) {
    if (step->kind == LAZY_STEP_KERNEL && step->backend->ask)
        step->backend->ask(&step->kernel, step->device);
    else if (step->kind != LAZY_STEP_KERNEL && prepares(step) && step->backend->ask_call)
        step->backend->ask_call(&step->call, step->device);
}

/* What another device than the host cannot prepare is done by the host. */
static int prepare_step(lazy_step *step) {
    int status = prepare_on_device(step);
    if (status && status != NEAP_E_MEMORY && neap_device_memory_space(step->device) != 0) {
        step->lacks = vm_backend_reason(neap_error_text());
        leave_to_host(step);
        status = prepare_on_device(step);
    }
    return status;
}

static int prepare_kernel(lazy_step *step) {
    int status = prepare_step(step);
    if (status == 0)
        step->cost = step->backend->cost(&step->kernel);
    return status;
}

/* Tells each kernel what the other steps move meanwhile. */
static int tell_traffic(planner *p) {
    int64_t total = 0;
    bool *read = calloc((size_t)p->slots.n + 1, sizeof *read);
    if (!read)
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    for (int64_t k = 0; k < p->steps.n; k++) {
        lazy_step *step = p->steps.at[k];
        lazy_traffic traffic = plan_step_traffic(step);
        step->written = traffic.written;
        total += traffic.read + traffic.written;
        for (int32_t j = 0; j < step->nbufs - step->nouts; j++)
            read[step->slots[j]] = true;
    }
    for (int64_t k = 0; k < p->steps.n; k++) {
        lazy_step *step = p->steps.at[k];
        if (step->kind != LAZY_STEP_KERNEL)
            continue;
        lazy_traffic own = vm_kernel_traffic(&step->kernel);
        step->kernel.around = total - own.read - own.written;
        for (int32_t j = step->nbufs - step->nouts; j < step->nbufs; j++)
            if (read[step->slots[j]])
                step->kernel.around = 0;
    }
    free(read);
    return 0;
}

/* Prepares the kernels and calls of all steps. */
static int prepare_steps(planner *p) {
    int status = tell_traffic(p);
    for (int64_t k = 0; k < p->steps.n && status == 0; k++) {
        choose_device(p, p->steps.at[k]);
        ask_on_device(p->steps.at[k]);
    }
    for (int64_t k = 0; k < p->steps.n && status == 0; k++) {
        lazy_step *step = p->steps.at[k];
        status = step->kind == LAZY_STEP_KERNEL ? prepare_kernel(step) : prepare_step(step);
    }
    return status;
}

static int add_call(planner *p, lazy_draft *draft) {
    lazy_step *step = draft->call;
    if (lazy_push(&p->steps, step))
        return NEAP_E_MEMORY;
    draft->call = NULL; /* it belongs to the plan now */
    const lazy_call *call = &step->call;
    step->copies = !step->moves && !step->payload && call->op->begins && call->op->begins(call->attrs);
    for (int32_t k = 0; k < step->nbufs; k++)
        if ((step->slots[k] = slot_for(p, step->slots[k])) < 0)
            return step->slots[k];
    return 0;
}

/* ---- Drafts ------------------------------------------------------------------------------------------------------ */
static lazy_draft *add_draft(planner *p, const neap_node *node) {
    lazy_draft *draft = calloc(1, sizeof *draft);
    if (!draft || lazy_push(&p->drafts, draft)) {
        free(draft);
        neap_error(NEAP_E_MEMORY, "out of memory while planning");
        return NULL;
    }
    draft->device = (int16_t)graph_node_runs_on(node);
    draft->node = (int32_t)node->index;
    draft->segment = p->segments[node->index];
    return draft;
}

static int draft_kernel(planner *p, const neap_node *node, const lazy_fusion *fusion, lazy_fused *fused, bool window) {
    lazy_draft *draft = add_draft(p, node);
    if (!draft)
        return NEAP_E_MEMORY;
    bool copied = plan_same(p->ctx, node) != node;
    lazy_class kind = copied ? LAZY_MAP : graph_node_op(node)->kind;
    draft->reduces = kind == LAZY_REDUCE;
    draft->fixed = window || kind == LAZY_ASSEMBLE;
    draft->ndim = fusion->ndim;
    draft->nkept = fusion->nkept;
    for (int k = 0; k < fusion->ndim; k++) {
        draft->box[k] = fusion->box[k];
        draft->fixed |= fusion->box[k] == 0;
    }
    lazy_draft_sink sink = {.node = (int32_t)node->index,
                            .sink = {.kind = draft->reduces ? LAZY_SINK_REDUCE : LAZY_SINK_STORE,
                                     .dtype = node->dtype,
                                     .op = copied ? LAZY_OP_copy : node->op,
                                     .value = fused->value,
                                     .write = fusion->write}};
    draft->loads = fused->loads;
    draft->ins = fused->ins;
    *fused = (lazy_fused){0};
    return lazy_push(&draft->sinks, sink);
}

/* The parts of a fusion on both sides of a cut through its box. */
static void cut_in_two(const lazy_fusion *whole, lazy_cut cut, lazy_fusion *low, lazy_fusion *high) {
    *low = *high = *whole;
    low->box[cut.axis] = cut.at;
    high->box[cut.axis] -= cut.at;
    high->read.offset += cut.at * high->read.stride[cut.axis];
    high->write.offset += cut.at * high->write.stride[cut.axis];
}

/* Fuses and drafts what computes `node`, or a piece of it: one kernel, or one for each window of the box that reads a
 * piece of its own (window.c). What cannot be read through is marked, and all starts again; so is what would take more
 * than WINDOWS kernels. */
static int plan_kernel(planner *p, neap_node *node, const lazy_fusion *request) {
    enum { WINDOWS = 16 };
    lazy_fusion todo[WINDOWS]; /* large, and seldom more than the first */
    int64_t first = p->drafts.n;
    int waiting = 1, windows = 1, status = 0;
    bool again = false;
    todo[0] = *request;
    while (waiting > 0 && status == 0) {
        lazy_fusion fusion = todo[--waiting];
        lazy_fused fused = {0};
        status = plan_fuse(p->ctx, p->made, &fusion, &fused);
        if (status == NEAP_PENDING && fused.window.axis >= 0 && windows < WINDOWS) {
            cut_in_two(&fusion, fused.window, &todo[waiting], &todo[waiting + 1]);
            waiting += 2;
            windows++;
            status = 0;
        } else if (status == NEAP_PENDING) {
            p->made[fused.cut] = (uint8_t)fused.why;
            while (p->drafts.n > first)
                plan_draft_free(p->drafts.at[--p->drafts.n]);
            again |= fused.why == LAZY_WHY_CHAIN;
            todo[0] = *request;
            todo[0].again = again;
            waiting = windows = 1;
            status = 0;
        } else if (status == 0) {
            status = draft_kernel(p, node, &fusion, &fused, windows > 1);
        }
        plan_fused_free(&fused);
    }
    return status;
}

static lazy_fusion whole_box(neap_node *root) {
    lazy_fusion fusion = {.root = root, .ndim = root->ndim, .nkept = root->ndim};
    memcpy(fusion.box, root->shape, root->ndim * sizeof *root->shape);
    graph_row_major(root->ndim, root->shape, fusion.read.stride);
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
    graph_row_major(in->ndim, in->shape, row);
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
    graph_row_major(fusion.nkept, fusion.box, fusion.write.stride);
    return plan_kernel(p, node, &fusion);
}

static lazy_call_desc describe_node_call(const neap_node *node, lazy_aval *avals, lazy_result *result) {
    for (int k = 0; k < node->nin; k++)
        avals[k] = graph_node_aval(node->in[k]);
    *result = (lazy_result){.compute = node->dtype, .dtype = node->dtype, .ndim = node->ndim};
    memcpy(result->shape, node->shape, node->ndim * sizeof *node->shape);
    return (lazy_call_desc){.nin = node->nin, .in = avals, .nattrs = node->nattrs, .attrs = node->attrs};
}

int plan_node_pieces(const neap_node *node, lazy_piece *pieces) {
    lazy_aval avals[NEAP_MAX_INPUTS];
    lazy_result result;
    lazy_call_desc call = describe_node_call(node, avals, &result);
    return graph_node_op(node)->pieces(&call, &result, pieces);
}

static int plan_assemble(planner *p, neap_node *node) {
    if (node->size == 0)
        return slot_for(p, (int32_t)node->index) < 0 ? NEAP_E_MEMORY : 0;
    lazy_piece pieces[NEAP_MAX_INPUTS + 1];
    int n = plan_node_pieces(node, pieces);
    int status = n < 0 ? n : 0;
    /* Steps are collected from last to first. */
    for (int k = n - 1; k >= 0 && status == 0; k--) {
        neap_node *in = node->in[pieces[k].input];
        lazy_fusion fusion = whole_box(in);
        if (pieces[k].fill) {
            fusion = whole_box(node);
            fusion.root = in;
            memcpy(fusion.box, pieces[k].box, node->ndim * sizeof *fusion.box);
            memset(&fusion.read, 0, sizeof fusion.read);
        }
        memcpy(fusion.write.stride, pieces[k].write.stride, sizeof pieces[k].write.stride);
        fusion.write.offset = pieces[k].write.offset;
        if (in->size)
            status = plan_kernel(p, node, &fusion);
    }
    return status;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
/* One block: the step, tensors, shapes and strides. */
static lazy_step *call_step(neap_ctx *ctx, const neap_node *node) {
    size_t n = (size_t)node->nin + 1;
    lazy_step *step;
    lazy_tensor *tensors;
    int64_t *axes, *attrs, *offsets;
    int32_t *slots;
    if (!LAZY_ARENA(LAZY_PART(step, 1), LAZY_PART(tensors, n), LAZY_PART(axes, n * 2 * NEAP_MAX_DIMS),
                    LAZY_PART(attrs, node->nattrs), LAZY_PART(offsets, n), LAZY_PART(slots, n)))
        return NULL;
    step->offsets = offsets;
    step->slots = slots;
    step->kind = LAZY_STEP_CALL;
    step->effect = graph_is_effect(node);
    step->payload = graph_node_op(node)->payload;
    step->moves = graph_node_op(node)->flags & LAZY_OP_PLACES;
    step->device = (int16_t)graph_node_runs_on(node);
    step->nbufs = (int32_t)n;
    step->nouts = 1;
    step->node = (int32_t)node->index;
    step->site = graph_site_text(ctx, node->site);
    if (node->nattrs)
        memcpy(attrs, node->attrs, (size_t)node->nattrs * sizeof *attrs);
    step->call = (lazy_call){.op = graph_node_op(node),
                             .nin = node->nin,
                             .nattrs = node->nattrs,
                             .in = tensors,
                             .out = tensors + node->nin,
                             .attrs = attrs};
    for (size_t k = 0; k < n; k++) {
        tensors[k].shape = axes + 2 * k * NEAP_MAX_DIMS;
        tensors[k].stride = axes + (2 * k + 1) * NEAP_MAX_DIMS;
    }
    return step;
}

static void read_operand(planner *p, lazy_step *step, int k, const neap_node *target) {
    if (!plan_is_leaf(target) && !p->made[target->index])
        p->made[target->index] = LAZY_WHY_OPERAND;
    step->slots[k] = (int32_t)target->index;
}

/* Describes an operand that is read past its cast. */
static void plan_half(planner *p, lazy_step *step, int k, neap_node *node) {
    lazy_tensor *tensor = (lazy_tensor *)&step->call.in[k];
    lazy_half_operand half = {0};
    (void)plan_half_operand(p->ctx, node, &half); /* it is one, as was found before */
    tensor->dtype = half.node->dtype;
    tensor->ndim = node->ndim;
    tensor->size = node->size;
    memcpy((int64_t *)tensor->shape, node->shape, node->ndim * sizeof *node->shape);
    memcpy((int64_t *)tensor->stride, half.stride, node->ndim * sizeof *node->shape);
    step->offsets[k] = half.offset;
    read_operand(p, step, k, half.node);
}

/* Describes an operand: of which node, and how it lies there. What has no buffer to point to gets one. */
static void plan_operand(planner *p, lazy_step *step, int k, neap_node *node) {
    lazy_tensor *tensor = (lazy_tensor *)&step->call.in[k];
    bool dense = step->call.op->flags & LAZY_OP_DENSE;
    neap_node *target = node = plan_same(p->ctx, node);
    tensor->dtype = node->dtype;
    tensor->ndim = node->ndim;
    tensor->size = node->size;
    memcpy((int64_t *)tensor->shape, node->shape, node->ndim * sizeof *node->shape);
    graph_row_major(node->ndim, node->shape, (int64_t *)tensor->stride);
    if (graph_is_view(node) && !node->buffer && !p->made[node->index]) {
        neap_node *base = plan_same(p->ctx, node->base);
        bool begins = step->moves || node->map->offset == 0 || plan_origin(p->ctx, base) >= 0;
        bool contiguous = begins && graph_strides_contiguous(node->ndim, node->shape, node->map->stride);
        lazy_tensor seen = *tensor;
        seen.stride = node->map->stride;
        bool (*reads)(const lazy_tensor *) = step->call.op->reads;
        if ((plan_is_leaf(base) || p->made[base->index]) && (contiguous || !dense) && (!reads || reads(&seen))) {
            target = base;
            memcpy((int64_t *)tensor->stride, node->map->stride, node->ndim * sizeof *node->shape);
            step->offsets[k] = plan_view_offset(p->ctx, node);
        }
    }
    read_operand(p, step, k, target);
}

/* Describes the call's result, or what else lies as that does. */
static void describe_result(lazy_tensor *tensor, const neap_node *node) {
    tensor->dtype = node->dtype;
    tensor->ndim = node->ndim;
    tensor->size = node->size;
    memcpy((int64_t *)tensor->shape, node->shape, node->ndim * sizeof *node->shape);
    graph_row_major(node->ndim, node->shape, (int64_t *)tensor->stride);
}

/* What the row says, or about 10 bytes a ns. */
static int64_t call_cost(const neap_node *node) {
    const lazy_op *row = graph_node_op(node);
    lazy_aval avals[NEAP_MAX_INPUTS];
    lazy_result result;
    if (row->payload && row->payload->cost)
        return 0; /* it is asked when the device is known */
    lazy_call_desc call = describe_node_call(node, avals, &result);
    if (row->cost)
        return row->cost(&call, &result);
    const neap_node *written = row->updates ? node->in[row->updates] : node;
    int64_t cost = 100 + (int64_t)graph_node_bytes(written) / 10;
    for (int k = row->updates ? 1 : 0; k < node->nin; k++)
        cost += (int64_t)graph_node_bytes(node->in[k]) / 10;
    return cost;
}

/* The kernel in front of an update's call: what is updated, as the call is to find it. */
static int plan_updated(planner *p, neap_node *node) {
    int64_t first = p->drafts.n;
    lazy_fusion fusion = whole_box(node->in[0]);
    int status = node->size ? plan_kernel(p, node, &fusion) : 0;
    for (int64_t k = first; k < p->drafts.n && status == 0; k++) {
        lazy_draft *draft = p->drafts.at[k];
        draft->fixed = true; /* in front of the call, which merging knows as what writes the node */
        draft->sinks.at[0].sink.op = draft->ins.n ? draft->ins.at[draft->ins.n - 1].op : LAZY_OP_copy;
    }
    return status;
}

/* out: what the call makes: the node, or what it becomes by a cast. */
static int plan_call(planner *p, neap_node *node, const neap_node *out) {
    lazy_draft *draft = add_draft(p, out);
    lazy_step *step = draft ? call_step(p->ctx, node) : NULL;
    if (!step)
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    draft->call = step;
    bool updates = graph_is_update(node);
    for (int k = updates ? 1 : 0; k < node->nin; k++)
        (p->takes[node->index] ? plan_half : plan_operand)(p, step, k, node->in[k]);
    describe_result((lazy_tensor *)step->call.out, out);
    step->slots[node->nin] = (int32_t)out->index;
    step->cost = call_cost(node);
    if (!updates)
        return 0;
    describe_result((lazy_tensor *)&step->call.in[0], node);
    step->slots[0] = (int32_t)node->index;
    return plan_updated(p, node);
}

/* ---- Plan -------------------------------------------------------------------------------------------------------- */
static int plan_node(planner *p, neap_node *node) {
    if (plan_same(p->ctx, node) != node)
        return plan_map(p, node); /* a copy of it */
    if (p->rounds[node->index] >= 0)
        return plan_call(p, region_node(p, p->rounds[node->index]), node);
    switch (graph_node_op(node)->kind) {
    case LAZY_REDUCE:
        return plan_reduce(p, node);
    case LAZY_ASSEMBLE:
        return plan_assemble(p, node);
    case LAZY_CALL:
        return plan_call(p, node, node);
    default:
        return plan_map(p, node);
    }
}

static void step_free(lazy_step *step) {
    if (step->kind == LAZY_STEP_KERNEL && step->kernel.prepared)
        step->backend->unprepare(&step->kernel);
    if (step->kind != LAZY_STEP_KERNEL && step->call.prepared)
        step->backend->unprepare_call(&step->call);
    free(step);
}

void plan_release(lazy_plan *plan) {
    if (__atomic_sub_fetch(&plan->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (int32_t k = 0; k < plan->ngroups; k++)
        vm_launch_graphs_free(plan->groups[k].graphs); /* which launch the code of steps */
    for (int32_t k = 0; k < plan->nsteps; k++)
        step_free(plan->steps[k]);
    for (int32_t k = 0; k < plan->ngroups; k++) {
        free(plan->groups[k].slots);
        free(plan->groups[k].transfers);
        free(plan->groups[k].last);
    }
    free(plan->transfers);
    plan_memory_free(plan->reuse);
    free(plan->groups);
    free(plan->steps);
    free(plan->slots);
    free(plan->numbers);
    free(plan->key);
    free(plan);
}

static void take_over(planner *p, lazy_plan *plan) {
    plan->slots = p->slots.at;
    plan->nslots = (int32_t)p->slots.n;
    plan->steps = p->steps.at;
    plan->nsteps = (int32_t)p->steps.n;
    plan->numbers = p->numbers.at;
    plan->nnumbers = (int32_t)p->numbers.n;
    for (int32_t k = 0; k < plan->nsteps; k++)
        plan->nscratches += plan_needs_scratch(plan->steps[k]);
    for (int32_t k = 0; k < plan->nslots; k++)
        plan->nsliced += plan->slots[k].sliced;
    for (int32_t k = 0; k < plan->nsteps; k++)
        plan->may_fail |= plan_may_fail(region_node(p, plan->steps[k]->node));
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */
/* Drafts what needs a buffer, from the last node to the first, and puts the drafts into the order in which they run. */
static int draft_all(planner *p) {
    int status = 0;
    for (int64_t k = p->ctx->walk.order.n - 1; k >= 0 && status == 0; k--)
        if (p->made[k])
            status = plan_node(p, region_node(p, (int32_t)k));
    for (int64_t a = 0, b = p->drafts.n - 1; a < b; a++, b--) {
        lazy_draft *draft = p->drafts.at[a];
        p->drafts.at[a] = p->drafts.at[b];
        p->drafts.at[b] = draft;
    }
    return status;
}

static void drafts_free(planner *p) {
    for (int64_t k = 0; k < p->drafts.n; k++) {
        free(p->drafts.at[k]->call);
        plan_draft_free(p->drafts.at[k]);
    }
    lazy_vector_free(&p->drafts);
}

/* Sets `waits`. */
static void find_calls(planner *p) {
    int calls = 0;
    for (int64_t k = 0; k < p->ctx->walk.order.n; k++) {
        neap_node *node = p->ctx->walk.order.at[k], *const * in;
        int n = plan_region_children(node, &in);
        for (int i = 0; i < n; i++) {
            const lazy_waits *from = &p->waits[plan_same(p->ctx, in[i])->index];
            p->waits[k].calls |= from->calls;
            p->waits[k].depth = from->depth > p->waits[k].depth ? from->depth : p->waits[k].depth;
        }
        bool inside = graph_is_waiting_draw(node) && !p->made[k];
        if (graph_node_op(node)->kind == LAZY_CALL && !plan_is_leaf(node) && !inside) {
            p->waits[k].calls |= UINT64_C(1) << (calls++ % LAZY_CALLS_TOLD_APART);
            p->waits[k].depth++;
        }
    }
}

/* Changes what gets a buffer by what it costs. */
static int choose_stored(planner *p) {
    int status = plan_find_common(p->ctx, p->made);
    if (status == 0 && !plan_looks_for_nans())
        status = plan_take_halves(p->ctx, p->made, p->takes, p->rounds);
    p->waits = calloc((size_t)p->ctx->walk.order.n + 1, sizeof *p->waits);
    if (status == 0 && !p->waits)
        status = neap_error(NEAP_E_MEMORY, "out of memory while planning");
    if (status == 0)
        find_calls(p);
    if (status == 0)
        status = plan_materialize(p->ctx, p->made, p->times);
    if (status == 0)
        status = plan_rematerialize(p->ctx, p->made, p->waits);
    if (status == 0)
        status = plan_partition_chains(p->ctx, p->made, p->waits, p->segments);
    if (plan_looks_for_nans())
        plan_store_for_nans(p->ctx, p->made);
    free(p->waits);
    return status;
}

int plan_new(neap_ctx *ctx, uint8_t *made, bool apart, lazy_plan **out) {
    int64_t n = ctx->walk.order.n;
    apart |= plan_looks_for_nans();
    lazy_plan *plan = calloc(1, sizeof *plan);
    planner p = {
        .ctx = ctx, .made = made, .plan = plan, .slot_of = malloc(5 * (size_t)n * sizeof(int32_t) + (size_t)n + 1)};
    if (!plan || !p.slot_of) {
        free(plan);
        free(p.slot_of);
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    }
    plan->refs = 1;
    p.times = p.slot_of + n;
    p.segments = p.times + n;
    p.over = p.segments + n;
    p.rounds = p.over + n;
    p.takes = (uint8_t *)(p.rounds + n);
    memset(p.slot_of, 0xff, (size_t)n * sizeof(int32_t));
    memset(p.times, 0, (size_t)n * sizeof(int32_t));
    memset(p.rounds, 0xff, (size_t)n * sizeof(int32_t));
    memset(p.takes, 0, (size_t)n);
    for (int64_t k = 0; k < n; k++)
        p.over[k] = (int32_t)k;
    int status = choose_stored(&p);
    if (status == 0)
        status = draft_all(&p);
    if (status == 0)
        status = LAZY_VERIFY_DRAFTS(ctx, made, &p.drafts, "fusing");
    if (status == 0 && !apart)
        status = plan_merge(ctx, made, &p.drafts);
    if (status == 0 && !apart)
        status = LAZY_VERIFY_DRAFTS(ctx, made, &p.drafts, "merging");
    for (int64_t k = 0; k < p.drafts.n && status == 0 && !apart; k++)
        status = plan_unroll(p.drafts.at[k]);
    if (status == 0 && !apart)
        status = plan_share_updates(ctx, made, &p.drafts, p.over);
    if (status == 0)
        status = plan_put_early(ctx, &p.drafts);
    for (int64_t k = 0; k < p.drafts.n && status == 0; k++)
        status = p.drafts.at[k]->call ? add_call(&p, p.drafts.at[k]) : add_kernel(&p, p.drafts.at[k]);
    take_over(&p, plan);
    if (status == 0)
        status = LAZY_VERIFY_STEPS(ctx, made, plan, "planning");
    if (status == 0)
        status = prepare_steps(&p);
    drafts_free(&p);
    free(p.slot_of);
    if (status == 0)
        status = plan_transfer_find(plan);
    if (status == 0)
        status = plan_group_steps(plan);
    if (status == 0)
        status = LAZY_VERIFY_STEPS(ctx, made, plan, "grouping");
    if (status == 0 && !apart)
        plan->reuse = plan_memory_new(plan);
    if (status) {
        plan_release(plan);
        return status;
    }
    *out = plan;
    return 0;
}
