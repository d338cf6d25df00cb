/* plan_verify.c: the verifier of plans breaks no good plan and finds every rule broken: a region is planned, drafts are
 * made of its steps, one thing in them is changed, and the verifier must name the step and the rule. */
#include "lazy/plan/verify.h"

#include "ops_gen.h"
#include "tests/check.h"

typedef struct fixture {
    neap_ctx *ctx;
    int level;
    int32_t x, table, softmax, taken, joined, product, mapped; /* handles */
    lazy_plan *plan;
    lazy_drafts drafts;
} fixture;

static int32_t op(neap_ctx *ctx, int op, int nin, const int32_t *in, int nattrs, const int64_t *attrs) {
    int32_t id = 0;
    CHECK(neap_op(ctx, op, nin, in, nattrs, attrs, &id) >= 0);
    return id;
}

static int32_t input(fixture *f, int dtype, bool number, int ndim, const int64_t *shape) {
    int32_t id = 0;
    CHECK_EQ(neap_trace_input(f->ctx, f->level, dtype, number, -1, 0, ndim, shape, &id), 0);
    return id;
}

/* A softmax over long rows; a map of it; a gather with a number and an iota; two arrays put together; a product. */
static void record(fixture *f) {
    neap_ctx *ctx = f->ctx;
    int32_t x = f->x = input(f, NEAP_DTYPE_F32, false, 2, (int64_t[]){2, LAZY_ROW_MAX});
    int32_t table = f->table = input(f, NEAP_DTYPE_F64, false, 2, (int64_t[]){5, 4});
    int32_t places = input(f, NEAP_DTYPE_I32, false, 1, (int64_t[]){3});
    int32_t number = input(f, NEAP_DTYPE_F64, true, 0, NULL);
    int32_t flags = input(f, NEAP_DTYPE_BOOL, false, 1, (int64_t[]){4});
    int32_t most = op(ctx, LAZY_OP_max, 1, &x, 2, (int64_t[]){2, 1});
    int32_t less = op(ctx, LAZY_OP_subtract, 2, (int32_t[]){x, most}, 0, NULL);
    int32_t power = op(ctx, LAZY_OP_exp, 1, &less, 0, NULL);
    int32_t sum = op(ctx, LAZY_OP_sum, 1, &power, 2, (int64_t[]){2, 1});
    f->softmax = op(ctx, LAZY_OP_divide, 2, (int32_t[]){power, sum}, 0, NULL);
    int32_t taken = op(ctx, LAZY_OP_take, 2, (int32_t[]){table, places}, 1, (int64_t[]){0});
    int32_t scaled = op(ctx, LAZY_OP_multiply, 2, (int32_t[]){taken, number}, 0, NULL);
    int32_t iota = op(ctx, LAZY_OP_iota, 0, NULL, 2, (int64_t[]){4, NEAP_DTYPE_F64});
    int32_t added = op(ctx, LAZY_OP_add, 2, (int32_t[]){scaled, iota}, 0, NULL);
    f->taken = op(ctx, LAZY_OP_where, 3, (int32_t[]){flags, added, scaled}, 0, NULL);
    f->joined = op(ctx, LAZY_OP_concatenate, 2, (int32_t[]){table, f->taken}, 1, (int64_t[]){0});
    int32_t turned = op(ctx, LAZY_OP_transpose, 1, &table, 2, (int64_t[]){1, 0});
    f->product = op(ctx, LAZY_OP_matmul2, 2, (int32_t[]){f->taken, turned}, 0, NULL);
    f->mapped = op(ctx, LAZY_OP_negative, 1, &f->product, 0, NULL);
}

static neap_node *node(const fixture *f, int32_t handle) {
    return graph_lookup(f->ctx, handle);
}

/* ---- Drafts of steps --------------------------------------------------------------------------------------------- */
static int32_t node_of(const fixture *f, int32_t step, int32_t k) {
    const lazy_group *group = f->plan->groups;
    while (step >= group->first + group->nsteps)
        group++;
    return f->plan->slots[group->slots[f->plan->steps[step]->slots[k]]].node;
}

static int32_t drafted_value(const lazy_kernel *kernel, int32_t value) {
    return value < kernel->nloads ? -1 - value : value - kernel->nloads;
}

static lazy_draft *draft_of(const fixture *f, int32_t t) {
    const lazy_step *step = f->plan->steps[t];
    const lazy_kernel *kernel = &step->kernel;
    lazy_draft *draft = calloc(1, sizeof *draft);
    draft->device = step->device;
    draft->node = step->node;
    if (step->kind == LAZY_STEP_CALL) { /* its slots become nodes, as they were in its draft */
        size_t bytes = sizeof *step + (size_t)step->nbufs * sizeof(int32_t);
        draft->call = memcpy(malloc(bytes), step, sizeof *step);
        draft->call->slots = (int32_t *)(draft->call + 1);
        for (int32_t k = 0; k < step->nbufs; k++)
            draft->call->slots[k] = node_of(f, t, k);
        return draft;
    }
    draft->ndim = kernel->ndim;
    draft->nkept = kernel->nkept;
    memcpy(draft->box, kernel->shape, sizeof draft->box);
    for (int k = 0; k < kernel->nloads; k++) {
        lazy_draft_load load = {.load = kernel->loads[k], .node = -1};
        if (load.load.kind == LAZY_LOAD_SCALAR)
            load.node = f->plan->numbers[step->first_number + load.load.slot].node;
        else if (load.load.kind == LAZY_LOAD_BUFFER || load.load.kind == LAZY_LOAD_TABLE)
            load.node = node_of(f, t, load.load.slot);
        CHECK_EQ(lazy_push(&draft->loads, load), 0);
    }
    for (int i = 0; i < kernel->nins; i++) {
        lazy_ins ins = kernel->ins[i];
        for (int k = 0; k < ins.narg; k++)
            ins.arg[k] = drafted_value(kernel, ins.arg[k]);
        CHECK_EQ(lazy_push(&draft->ins, ins), 0);
    }
    for (int k = 0; k < kernel->nsinks; k++) {
        lazy_draft_sink sink = {.sink = kernel->sinks[k], .node = -1};
        sink.sink.value = drafted_value(kernel, sink.sink.value);
        sink.node = sink.sink.slot < 0 ? -1 : node_of(f, t, sink.sink.slot);
        CHECK_EQ(lazy_push(&draft->sinks, sink), 0);
    }
    return draft;
}

static void begin(fixture *f) {
    enum { ROOTS = 5 };
    CHECK_EQ(neap_trace_begin(f->ctx, 0, &f->level), 0);
    record(f);
    neap_node *roots[ROOTS] = {node(f, f->softmax), node(f, f->taken), node(f, f->joined), node(f, f->mapped),
                               node(f, f->product)};
    CHECK_EQ(plan_region_collect(f->ctx, ROOTS, roots), 0);
    CHECK_EQ(plan_region_plan(f->ctx, ROOTS, roots, true, &f->plan), 0);
    for (int32_t t = 0; t < f->plan->nsteps; t++)
        CHECK_EQ(lazy_push(&f->drafts, draft_of(f, t)), 0);
}

static void end(fixture *f) {
    for (int64_t k = 0; k < f->drafts.n; k++) {
        free(f->drafts.at[k]->call);
        plan_draft_free(f->drafts.at[k]);
    }
    lazy_vector_free(&f->drafts);
}

/* ---- Damage ------------------------------------------------------------------------------------------------------ */
static int verify_drafts(const fixture *f) {
    return plan_verify_drafts(f->ctx, f->ctx->plans.made.at, &f->drafts, "a test");
}

static int verify_steps(const fixture *f) {
    return plan_verify_steps(f->ctx, f->ctx->plans.made.at, f->plan, "a test");
}

static void expect(int status, int rule, const char *what) {
    char text[32];
    snprintf(text, sizeof text, "rule %d:", rule);
    CHECK_EQ(status, NEAP_E_INTERNAL);
    if (!CHECK_TEXT(neap_error_text(), text) || !CHECK_TEXT(neap_error_text(), what))
        fprintf(stderr, "    %s\n", neap_error_text());
}

/* Changes `field` to `value` while the verifier looks, which must say that `rule` is broken. */
#define BREAK(verify, f, field, value, rule, what)                                                                     \
    do {                                                                                                               \
        __typeof__(field) *damage_at = &(field), damage_old = *damage_at;                                              \
        *damage_at = (value);                                                                                          \
        expect(verify(f), rule, what);                                                                                 \
        *damage_at = damage_old;                                                                                       \
        CHECK_EQ(verify(f), 0);                                                                                        \
    } while (0)

/* The step that computes a node. */
static int32_t step_of(const fixture *f, int32_t handle) {
    for (int32_t t = 0; t < f->plan->nsteps; t++)
        for (int32_t k = f->plan->steps[t]->nbufs - f->plan->steps[t]->nouts; k < f->plan->steps[t]->nbufs; k++)
            if (node_of(f, t, k) == (int32_t)node(f, handle)->index)
                return t;
    CHECK(!"the node is computed");
    return 0;
}

static lazy_load *load_of(lazy_kernel *kernel, int kind) {
    for (int k = 0; k < kernel->nloads; k++)
        if (kernel->loads[k].kind == kind)
            return &kernel->loads[k];
    CHECK(!"the kernel has such a load");
    return kernel->loads;
}

static lazy_sink *sink_of(lazy_kernel *kernel, int kind) {
    for (int k = 0; k < kernel->nsinks; k++)
        if (kernel->sinks[k].kind == kind)
            return &kernel->sinks[k];
    CHECK(!"the kernel has such a sink");
    return kernel->sinks;
}

static lazy_ins *ins_of(lazy_kernel *kernel, int op) {
    for (int k = 0; k < kernel->nins; k++)
        if (kernel->ins[k].op == op)
            return &kernel->ins[k];
    CHECK(!"the kernel has such an instruction");
    return kernel->ins;
}

static void test_domain(fixture *f) {
    lazy_kernel *kernel = &f->plan->steps[step_of(f, f->softmax)]->kernel;
    BREAK(verify_steps, f, kernel->nkept, 3, 1, "of which 3 are kept");
    BREAK(verify_steps, f, kernel->ndim, LAZY_MAX_DOMAIN + 1, 1, "axes");
    BREAK(verify_steps, f, kernel->shape[0], -1, 1, "-1 elements");
    BREAK(verify_steps, f, kernel->shape[0], INT64_MAX, 1, "64 bits");
    BREAK(verify_steps, f, kernel->nkept, 2, 1, "but a sink works on rows");
    BREAK(verify_steps, f, kernel->nins, LAZY_KERNEL_MAX_INS + 1, 1, "instructions");
    kernel = &f->plan->steps[step_of(f, f->taken)]->kernel;
    BREAK(verify_steps, f, kernel->nkept, 1, 1, "but no sink works on rows");
}

static void test_loads(fixture *f) {
    lazy_kernel *kernel = &f->plan->steps[step_of(f, f->softmax)]->kernel;
    lazy_load *load = load_of(kernel, LAZY_LOAD_BUFFER);
    BREAK(verify_steps, f, load->kind, 9, 2, "of kind 9");
    BREAK(verify_steps, f, load->dtype, NEAP_DTYPE_I32, 2, "of dtype i32, but reads f32");
    BREAK(verify_steps, f, load->read.offset, 1, 2, "reads elements 1 to 16384 of 16384");
    BREAK(verify_steps, f, load->read.offset, -1, 2, "reads elements -1 to 16382");
    BREAK(verify_steps, f, load->read.stride[1], INT64_MAX / 2, 2, "reads elements");
    BREAK(verify_steps, f, kernel->shape[0], 3, 2, "reads elements 0 to 24575");
    kernel = &f->plan->steps[step_of(f, f->taken)]->kernel;
    load = load_of(kernel, LAZY_LOAD_TABLE);
    BREAK(verify_steps, f, load->extent, 6, 2, "reads elements 0 to 23 of 20");
    BREAK(verify_steps, f, load->extent, 0, 2, "a table of 0 rows");
    BREAK(verify_steps, f, load->step, -4, 2, "reads elements -16 to 3");
    load = load_of(kernel, LAZY_LOAD_IOTA);
    BREAK(verify_steps, f, load->dtype, NEAP_DTYPE_BOOL, 2, "iota of bools");
    lazy_draft *draft = f->drafts.at[step_of(f, f->softmax)];
    BREAK(verify_drafts, f, draft->loads.at[0].node, 9999, 2, "(divide)");
    f->ctx->plans.made.at[node(f, f->product)->index] = LAZY_WHY_NOT;
    draft = f->drafts.at[step_of(f, f->mapped)];
    expect(plan_verify_draft(f->ctx, f->ctx->plans.made.at, draft, "a test"), 2, "which nobody makes");
    f->ctx->plans.made.at[node(f, f->product)->index] = LAZY_WHY_CALL;
    CHECK_EQ(plan_verify_draft(f->ctx, f->ctx->plans.made.at, draft, "a test"), 0);
    draft = f->drafts.at[step_of(f, f->taken)];
    for (int64_t k = 0; k < draft->loads.n; k++)
        if (draft->loads.at[k].load.kind == LAZY_LOAD_SCALAR)
            BREAK(verify_drafts, f, draft->loads.at[k].node, (int32_t)node(f, f->taken)->index, 2, "is no number");
}

static void test_instructions(fixture *f) {
    lazy_kernel *kernel = &f->plan->steps[step_of(f, f->softmax)]->kernel;
    lazy_ins *exp = ins_of(kernel, LAZY_OP_exp), *divide = ins_of(kernel, LAZY_OP_divide);
    BREAK(verify_steps, f, exp->op, LAZY_OP_sum, 3, "(sum) is no map");
    BREAK(verify_steps, f, exp->op, -1, 3, "(?) is no map");
    BREAK(verify_steps, f, exp->narg, 2, 3, "(exp) has 2 operands");
    BREAK(verify_steps, f, divide->arg[0], kernel->nloads + (int32_t)(divide - kernel->ins), 3, "not there yet");
    BREAK(verify_steps, f, divide->arg[0], -1, 3, "reads value -1");
    BREAK(verify_steps, f, exp->dtype, NEAP_DTYPE_F64, 4, "(exp) has an operand 0 of dtype f32");
    BREAK(verify_steps, f, exp->dtype, 99, 4, "(exp) is of dtypes 99");
    BREAK(verify_steps, f, exp->result, NEAP_DTYPE_F64, 4, "makes f64 of f32");
    BREAK(verify_steps, f, divide->op, LAZY_OP_less, 4, "makes f32 of f32, but its row bool of f32");
    BREAK(verify_steps, f, divide->op, LAZY_OP_bitwise_xor, 4, "(bitwise_xor) does not take f32");
    kernel = &f->plan->steps[step_of(f, f->taken)]->kernel;
    lazy_ins *take = ins_of(kernel, LAZY_OP_take), *where = ins_of(kernel, LAZY_OP_where);
    lazy_ins *multiply = ins_of(kernel, LAZY_OP_multiply);
    BREAK(verify_steps, f, take->arg[0], take->arg[1], 3, "which is no table");
    BREAK(verify_steps, f, multiply->arg[0], take->arg[0], 3, "which is a table");
    BREAK(verify_steps, f, take->result, NEAP_DTYPE_F32, 4, "(take) casts");
    BREAK(verify_steps, f, where->arg[0], where->arg[1], 4, "(where) has an operand 0 of dtype f64");
    BREAK(verify_steps, f, sink_of(kernel, LAZY_SINK_STORE)->value, take->arg[0], 3, "which is a table");
    lazy_ins old = *multiply;
    *multiply = *take;
    expect(verify_steps(f), 3, "read one table");
    *multiply = old;
    for (int k = 0; k < kernel->nloads; k++) /* not an index: the iota is of floats */
        if (kernel->loads[k].kind == LAZY_LOAD_IOTA)
            BREAK(verify_steps, f, take->arg[1], k, 4, "(take) has an operand 1 of dtype f64");
}

static void test_sinks(fixture *f) {
    lazy_kernel *kernel = &f->plan->steps[step_of(f, f->softmax)]->kernel;
    lazy_sink *reduce = sink_of(kernel, LAZY_SINK_REDUCE), *store = sink_of(kernel, LAZY_SINK_STORE);
    BREAK(verify_steps, f, store->kind, 7, 5, "of kind 7");
    BREAK(verify_steps, f, store->value, 999, 5, "takes value 999");
    BREAK(verify_steps, f, reduce->op, LAZY_OP_exp, 5, "(exp) is no reduction");
    BREAK(verify_steps, f, reduce->op, LAZY_OP_argmax, 5, "its value of dtype f32");
    BREAK(verify_steps, f, store->dtype, NEAP_DTYPE_I32, 5, "its value of dtype f32");
    BREAK(verify_steps, f, store->write.offset, 1, 6, "writes elements 1 to 16384 of 16384");
    BREAK(verify_steps, f, store->write.stride[0], 1, 6, "writes elements twice");
    BREAK(verify_steps, f, store->write.stride[1], 0, 6, "writes elements twice");
    lazy_draft *draft = f->drafts.at[step_of(f, f->softmax)];
    BREAK(verify_drafts, f, draft->device, 3, 6, "on device 3, but its node is f32 on device 0");
    for (int64_t k = 0; k < draft->sinks.n; k++)
        if (draft->sinks.at[k].sink.kind == LAZY_SINK_STORE) {
            BREAK(verify_drafts, f, draft->sinks.at[k].sink.slot, -1, 5, "stores nothing");
            BREAK(verify_drafts, f, draft->sinks.at[k].node, draft->loads.at[0].node, 6, "is not to be made");
            BREAK(verify_drafts, f, draft->sinks.at[k].node, (int32_t)node(f, f->taken)->index, 6, "its node is f64");
        }
}

static void test_rows(fixture *f) {
    lazy_kernel *kernel = &f->plan->steps[step_of(f, f->softmax)]->kernel;
    lazy_load *result = load_of(kernel, LAZY_LOAD_RESULT);
    lazy_sink *store = sink_of(kernel, LAZY_SINK_STORE), old = *store;
    BREAK(verify_steps, f, result->slot, (int16_t)(store - kernel->sinks), 7, "which is no reduction");
    BREAK(verify_steps, f, result->slot, 99, 7, "which is no reduction");
    BREAK(verify_steps, f, result->dtype, NEAP_DTYPE_I64, 7, "but in i64");
    BREAK(verify_steps, f, kernel->sinks[result->slot].value, kernel->nloads + kernel->nins - 1, 7,
          "before its operand is there");
    BREAK(verify_steps, f, kernel->sinks[result->slot].value, (int32_t)(result - kernel->loads), 7,
          "reduces the result");
    store->kind = LAZY_SINK_STORE_ROW;
    store->write.stride[0] = 1;
    expect(verify_steps(f), 6, "moves along axis 1, which is reduced");
    store->write.stride[1] = 0;
    expect(verify_steps(f), 8, "varies inside rows");
    *store = old;
    kernel->shape[0] = 1;
    kernel->shape[1] = 2 * LAZY_ROW_MAX;
    expect(verify_steps(f), 8, "reads rows of 16384 elements a second time");
    kernel->shape[0] = 2;
    kernel->shape[1] = LAZY_ROW_MAX;
    CHECK_EQ(verify_steps(f), 0);
}

static void test_calls(fixture *f) {
    lazy_step *step = f->plan->steps[step_of(f, f->product)];
    lazy_tensor *in = (lazy_tensor *)step->call.in, *out = (lazy_tensor *)step->call.out;
    BREAK(verify_steps, f, step->offsets[1], 1, 10, "has elements 1 to 20 of 20");
    BREAK(verify_steps, f, step->offsets[1], -1, 10, "has elements -1 to 18");
    BREAK(verify_steps, f, in[0].dtype, NEAP_DTYPE_I32, 10, "of dtype i32");
    BREAK(verify_steps, f, in[0].size, 5, 10, "one of 5 elements");
    BREAK(verify_steps, f, *(int64_t *)&out->stride[1], 3, 10, "has elements");
    BREAK(verify_steps, f, *(int64_t *)&out->stride[1], 0, 10, "its result is not row-major");
    lazy_op row = *step->call.op, *dense = &row;
    row.flags |= LAZY_OP_DENSE;
    BREAK(verify_steps, f, step->call.op, dense, 10, "its operand 1 is not as it wants it");
}

static void test_order(fixture *f) {
    int32_t first = step_of(f, f->product), second = step_of(f, f->mapped);
    lazy_draft **at = f->drafts.at, *call = at[first], *map = at[second];
    CHECK_EQ(verify_drafts(f), 0);
    at[first] = map;
    at[second] = call;
    expect(verify_drafts(f), 11, "(negative): rule 11: it reads node");
    at[first] = call;
    at[second] = map;
    int32_t read = map->loads.at[0].node;
    map->loads.at[0].node = map->node;
    expect(verify_drafts(f), 9, "(negative): rule 9: it reads node");
    map->loads.at[0].node = read;
    CHECK_EQ(verify_drafts(f), 0);
}

/* The drafts that write the two pieces of what is joined. */
static void test_pieces(fixture *f) {
    int32_t whole = (int32_t)node(f, f->joined)->index;
    lazy_draft *piece = NULL;
    int32_t sink = 0;
    for (int64_t k = 0; k < f->drafts.n; k++)
        for (int32_t j = 0; !f->drafts.at[k]->call && j < f->drafts.at[k]->sinks.n; j++)
            if (f->drafts.at[k]->sinks.at[j].node == whole && f->drafts.at[k]->sinks.at[j].sink.write.offset > 0) {
                piece = f->drafts.at[k];
                sink = j;
            }
    if (!CHECK(piece != NULL))
        return;
    BREAK(verify_drafts, f, piece->sinks.at[sink].sink.write.offset, 0, 12, "is written 0 times");
    BREAK(verify_drafts, f, piece->box[0], 2, 12, "28 elements of node");
    int64_t last = f->drafts.n - 1;
    lazy_draft *gone = f->drafts.at[last];
    f->drafts.n--;
    expect(verify_drafts(f), 12, "0 elements of node");
    f->drafts.n++;
    CHECK(f->drafts.at[last] == gone);
    CHECK_EQ(verify_drafts(f), 0);
}

static void test_plan(fixture *f) {
    lazy_plan *plan = f->plan;
    lazy_step *step = plan->steps[step_of(f, f->softmax)], *taken = plan->steps[step_of(f, f->taken)];
    CHECK_EQ(verify_steps(f), 0);
    BREAK(verify_steps, f, plan->slots[1].node, plan->slots[0].node, 13, "another slot");
    BREAK(verify_steps, f, plan->slots[0].node, 9999, 13, "not in the region");
    BREAK(verify_steps, f, plan->slots[0].bytes, 8, 13, "slot 0 is not what its node");
    BREAK(verify_steps, f, plan->slots[0].device, 1, 13, "slot 0 is not what its node");
    BREAK(verify_steps, f, plan->slots[0].made, !plan->slots[0].made, 13, "slot 0 is not what its node");
    BREAK(verify_steps, f, step->node, 9999, 14, "it computes node 9999");
    BREAK(verify_steps, f, load_of(&step->kernel, LAZY_LOAD_BUFFER)->slot, 99, 14, "reads buffer 99");
    BREAK(verify_steps, f, sink_of(&step->kernel, LAZY_SINK_STORE)->slot, 0, 14, "writes buffer 0");
    BREAK(verify_steps, f, load_of(&taken->kernel, LAZY_LOAD_SCALAR)->slot, 5, 14, "is number");
    BREAK(verify_steps, f, plan->numbers[0].dtype, NEAP_DTYPE_I32, 14, "is number");
    BREAK(verify_steps, f, plan->groups[0].first, 1, 15, "but 0 is next");
    BREAK(verify_steps, f, plan->groups[0].writes[0], !plan->groups[0].writes[0], 15, "group 0 says");
    BREAK(verify_steps, f, plan->ngroups, plan->ngroups - 1, 15, "is in no group");
    for (int32_t b = 0; b < plan->ngroups; b++)
        if (plan->groups[b].nnumbers) {
            BREAK(verify_steps, f, plan->groups[b].nnumbers, 9, 15, "has 9 numbers");
            BREAK(verify_steps, f, plan->groups[b].first_number, 9, 15, "from 9 on");
        }
}

/* ---- Memory plans ------------------------------------------------------------------------------------------------ */
enum { SLOTS = 16 };
typedef struct memory { /* each slot in a home of its own, and all of them stay */
    const fixture *f;
    int32_t home[SLOTS];
    size_t bytes[SLOTS];
    uint8_t dies[SLOTS];
} memory;

static memory memory_of(const fixture *f) {
    memory m = {.f = f};
    CHECK(f->plan->nslots <= SLOTS);
    for (int32_t s = 0; s < f->plan->nslots; s++) {
        m.home[s] = s;
        m.bytes[s] = f->plan->slots[s].bytes;
    }
    return m;
}

static int verify_memory(const memory *m) {
    return plan_verify_homes(m->f->plan, &(lazy_homes){.home = m->home, .bytes = m->bytes, .dies = m->dies});
}

static int32_t slot_of(const fixture *f, uint32_t node) {
    for (int32_t s = 0; s < f->plan->nslots; s++)
        if (f->plan->slots[s].node == (int32_t)node)
            return s;
    CHECK(!"the node has a slot");
    return 0;
}

static void test_homes(fixture *f) {
    memory m = memory_of(f);
    int32_t product = slot_of(f, node(f, f->product)->index), mapped = slot_of(f, node(f, f->mapped)->index);
    int32_t softmax = slot_of(f, node(f, f->softmax)->index), leaf = slot_of(f, node(f, f->table)->index);
    CHECK_EQ(verify_memory(&m), 0);
    BREAK(verify_memory, &m, m.home[mapped], 99, 16, "lives in 99, which is no home");
    BREAK(verify_memory, &m, m.home[leaf], softmax, 16, "which is no home");
    m.home[product] = softmax;
    m.dies[softmax] = LAZY_DIES;
    CHECK_EQ(verify_memory(&m), 0);
    BREAK(verify_memory, &m, m.home[mapped], product, 16, "which is no home");
    BREAK(verify_memory, &m, m.bytes[softmax], 64, 16, "its home");
    BREAK(verify_memory, &m, f->plan->slots[product].device, 1, 16, "on another device");
}

static void test_shared_homes(fixture *f) {
    memory m = memory_of(f);
    int32_t product = slot_of(f, node(f, f->product)->index), mapped = slot_of(f, node(f, f->mapped)->index);
    int32_t taken = slot_of(f, node(f, f->taken)->index), joined = slot_of(f, node(f, f->joined)->index);
    int32_t leaf = slot_of(f, node(f, f->x)->index), last = f->plan->nsteps - 1;
    m.home[mapped] = product; /* in place, by the last step */
    m.dies[product] = LAZY_DIES;
    CHECK_EQ(verify_memory(&m), 0);
    BREAK(verify_memory, &m, m.dies[product], LAZY_STAYS, 18, "which stays");
    BREAK(verify_memory, &m, f->plan->steps[last]->effect, true, 18, "which stays");
    lazy_load *load = load_of(&f->plan->steps[last]->kernel, LAZY_LOAD_BUFFER);
    BREAK(verify_memory, &m, load->read.stride[0], 0, 17, "which it uses");
    m = memory_of(f);
    m.dies[taken] = LAZY_DIES;
    m.bytes[taken] = 256;
    BREAK(verify_memory, &m, m.home[joined], taken, 17, "it reads slot");
    BREAK(verify_memory, &m, m.home[product], taken, 17, "which it uses");
    m.home[mapped] = leaf;
    m.dies[leaf] = LAZY_DIES;
    CHECK_EQ(verify_memory(&m), 0);
    BREAK(verify_memory, &m, m.home[product], leaf, 18, "which stays");
    m.home[mapped] = mapped;
    m.home[product] = leaf;
    m.dies[leaf] = LAZY_DIES_GIVEN;
    CHECK_EQ(verify_memory(&m), 0);
}

int main(void) {
    fixture f = {0};
    CHECK_EQ(neap_ctx_new(&f.ctx), 0);
    begin(&f);
    CHECK_EQ(verify_drafts(&f), 0);
    CHECK_EQ(verify_steps(&f), 0);
    test_domain(&f);
    test_loads(&f);
    test_instructions(&f);
    test_sinks(&f);
    test_rows(&f);
    test_calls(&f);
    test_order(&f);
    test_pieces(&f);
    test_plan(&f);
    test_homes(&f);
    test_shared_homes(&f);
    end(&f);
    neap_ctx_free(f.ctx);
    return check_end();
}
