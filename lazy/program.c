/* program.c: programs: closed graphs with inputs, captures, effects and outputs.
 *
 * A trace records its body on placeholders. When it ends, what its outputs and effects need becomes the program:
 *
 *      placeholders ─┐                        plan.c, once
 *      captures ─────┼─▶ abstract nodes ─▶ outputs, effects ─────────▶ steps, pushed by each run
 *      constructors ─┘
 *
 * Captures are arrays from outside the trace: those made of constructors only are staged as they are, others are
 * computed now and bound. The plan is found by structure like that of any region, so tracing a fresh closure of the same code costs
 * no new plan. Running pushes the plan's steps on the arguments' buffers; replaying records the ops again on other
 * nodes, which is how programs are inlined and differentiated.
 */
#include <string.h>

#include "lazy/format.h"
#include "lazy/plan.h"

struct neap_program {
    neap_ctx *ctx;
    lazy_nodes inputs, outputs; /* one reference each */
    lazy_nodes nodes;           /* what a replay records, inputs before users; one reference each */
    lazy_nodes region;          /* the region of the plan; one reference each */
    LAZY_VECTOR(lazy_effect *) effects;
    LAZY_VECTOR(int32_t) output_slots; /* of made outputs and effect arrays, -1 for leaves, in the order of roots */
    lazy_plan *plan;
    int32_t captures;
};

int neap_trace_input(neap_ctx *ctx, int level, int dtype, int weak, int ndim, const int64_t *shape, int32_t *out) {
    if (level < 0 || level >= ctx->nlevels || !ctx->levels[level].trace)
        return neap_error(NEAP_E_STATE, "the trace is not open");
    lazy_result aval = {.dtype = (uint8_t)(weak ? NEAP_DTYPE_F64 : dtype), .ndim = (uint8_t)ndim};
    if (ndim < 0 || ndim > NEAP_MAX_DIMS || (weak && ndim) || dtype < 0 || dtype >= NEAP_DTYPE_COUNT)
        return neap_error(NEAP_E_ARGUMENT, "trace: bad shape or dtype of an input");
    for (int k = 0; k < ndim; k++)
        aval.shape[k] = shape[k];
    neap_node *node = lazy_node_new(ctx, LAZY_OP_placeholder, &aval, 0, NULL, 0, NULL);
    lazy_nodes *inputs = &ctx->levels[level].inputs;
    if (!node)
        return NEAP_E_MEMORY;
    node->flags = LAZY_ABSTRACT | (weak ? LAZY_WEAK : 0);
    node->levels = 1u << level;
    node->value = (double)inputs->n; /* its position */
    if (lazy_push(inputs, node)) {
        lazy_release(ctx, node);
        return NEAP_E_MEMORY;
    }
    lazy_retain(node);
    return lazy_publish(ctx, node, out);
}

/* ---- Making a program ---------------------------------------------------------------------------------------------- */
static int retain_all(lazy_nodes *to, int64_t n, neap_node *const *nodes) {
    for (int64_t k = 0; k < n; k++) {
        if (lazy_push(to, nodes[k]))
            return NEAP_E_MEMORY;
        lazy_retain(nodes[k]);
    }
    return 0;
}

static void release_all(neap_ctx *ctx, lazy_nodes *nodes) {
    for (int64_t k = 0; k < nodes->n; k++)
        lazy_release(ctx, nodes->at[k]);
    lazy_vector_free(nodes);
}

/* Outputs, then the arrays of effects. */
static int roots_of(const neap_program *program, lazy_nodes *roots) {
    int status = 0;
    for (int64_t k = 0; k < program->outputs.n && status == 0; k++)
        status = lazy_push(roots, program->outputs.at[k]);
    for (int64_t e = 0; e < program->effects.n && status == 0; e++)
        for (int64_t k = 0; k < program->effects.at[e]->nodes.n && status == 0; k++)
            status = lazy_push(roots, program->effects.at[e]->nodes.at[k]);
    return status;
}

static bool is_captured(const neap_node *node) {
    return !(node->flags & (LAZY_ABSTRACT | LAZY_CONSTRUCTED)) && !node->buffer;
}

/* Computes the captured nodes that the trace itself reads, if they are more than constructors; what they are made of
 * is fused into them. */
static int bind_captures(neap_ctx *ctx, lazy_nodes *roots) {
    int status = lazy_region_collect(ctx, roots->n, roots->at);
    lazy_nodes captured = {0};
    for (int64_t k = 0; k < roots->n && status == 0; k++)
        if (is_captured(roots->at[k]))
            status = lazy_push(&captured, roots->at[k]);
    for (int64_t k = 0; k < ctx->order.n && status == 0; k++) {
        neap_node *node = ctx->order.at[k], *const * children;
        int n = is_captured(node) ? 0 : lazy_region_children(node, &children);
        for (int c = 0; c < n && status == 0; c++)
            if (is_captured(children[c]))
                status = lazy_push(&captured, children[c]);
    }
    if (status == 0 && captured.n > 0)
        status = lazy_flush_roots(ctx, (int)captured.n, captured.at);
    lazy_vector_free(&captured);
    return status;
}

/* What a replay records: abstract nodes by their inputs, everything else as it is. */
static int order_nodes(neap_ctx *ctx, neap_program *program, const lazy_nodes *roots) {
    lazy_nodes stack = {0};
    int status = 0;
    ctx->epoch++;
    for (int64_t r = 0; r < roots->n && status == 0; r++) {
        if (roots->at[r]->mark == ctx->epoch)
            continue;
        roots->at[r]->mark = ctx->epoch;
        roots->at[r]->index = 0;
        status = lazy_push(&stack, roots->at[r]);
        while (stack.n > 0 && status == 0) {
            neap_node *node = stack.at[stack.n - 1];
            if (node->flags & LAZY_ABSTRACT && node->index < node->nin) {
                neap_node *child = node->in[node->index++];
                if (child->mark != ctx->epoch) {
                    child->mark = ctx->epoch;
                    child->index = 0;
                    status = lazy_push(&stack, child);
                }
                continue;
            }
            stack.n--;
            node->index = (uint32_t)program->nodes.n;
            program->captures += !(node->flags & LAZY_ABSTRACT) && !lazy_is_number(node);
            if ((status = lazy_push(&program->nodes, node)) == 0)
                lazy_retain(node);
        }
    }
    lazy_vector_free(&stack);
    return status;
}

static int check_outer(const neap_program *program, uint32_t bit) {
    for (int64_t k = 0; k < program->nodes.n; k++) {
        const neap_node *node = program->nodes.at[k];
        if (!(node->levels & bit) && node->levels)
            return neap_error(NEAP_E_TRACE,
                              "the function reads an array that belongs to an open gradient or trace around "
                              "it, but not from a local variable or an argument; pass it as an argument");
        if (!(node->levels & bit) && node->flags & LAZY_ABSTRACT)
            return neap_error(NEAP_E_TRACE, "the function uses an array of a trace that has ended");
    }
    return 0;
}

static int make_plan(neap_ctx *ctx, neap_program *program, const lazy_nodes *roots) {
    int status = lazy_region_collect(ctx, roots->n, roots->at);
    if (status == 0)
        status = lazy_region_plan(ctx, roots->n, roots->at, &program->plan);
    if (status)
        return status;
    __atomic_add_fetch(&program->plan->refs, 1, __ATOMIC_RELAXED);
    for (int64_t r = 0; r < roots->n && status == 0; r++) {
        int32_t slot = -1;
        for (int32_t s = 0; s < program->plan->nslots && slot < 0; s++)
            if (program->plan->slots[s].made && program->plan->slots[s].node == (int32_t)roots->at[r]->index)
                slot = s;
        status = lazy_push(&program->output_slots, slot);
    }
    return status ? status : retain_all(&program->region, ctx->order.n, ctx->order.at);
}

/* Numbers leave a program as f32 arrays. */
static int take_outputs(neap_ctx *ctx, neap_program *program, int n, const int32_t *outputs) {
    for (int k = 0; k < n; k++) {
        neap_node *node = lazy_lookup(ctx, outputs[k]);
        if (!node)
            return neap_error_code();
        int64_t dtype = NEAP_DTYPE_F32;
        node = node->flags & LAZY_WEAK ? lazy_record(ctx, LAZY_OP_astype, 1, &node, 1, &dtype) : lazy_retain(node);
        if (!node)
            return neap_error_code();
        if (lazy_push(&program->outputs, node)) {
            lazy_release(ctx, node);
            return NEAP_E_MEMORY;
        }
    }
    return 0;
}

static int build_program(neap_ctx *ctx, int level, neap_program *program, int n, const int32_t *outputs) {
    lazy_level *trace = &ctx->levels[level];
    lazy_nodes roots = {0};
    int status = retain_all(&program->inputs, trace->inputs.n, trace->inputs.at);
    if (status == 0)
        status = take_outputs(ctx, program, n, outputs);
    for (int64_t k = 0; k < trace->effects.n && status == 0; k++)
        status = lazy_push(&program->effects, trace->effects.at[k]);
    if (status == 0)
        status = roots_of(program, &roots);
    if (status == 0)
        status = bind_captures(ctx, &roots);
    if (status == 0)
        status = order_nodes(ctx, program, &roots);
    if (status == 0)
        status = check_outer(program, 1u << level);
    if (status == 0)
        status = make_plan(ctx, program, &roots);
    lazy_vector_free(&roots);
    return status;
}

int neap_trace_end(neap_ctx *ctx, int level, int n, const int32_t *outputs, neap_program **out) {
    if (level < 0 || level != ctx->nlevels - 1 || !ctx->levels[level].trace)
        return neap_error(NEAP_E_STATE, "the trace is not the innermost open level");
    neap_program *program = calloc(1, sizeof *program);
    if (!program)
        return neap_error(NEAP_E_MEMORY, "out of memory for a program");
    program->ctx = ctx;
    int status = build_program(ctx, level, program, n, outputs);
    if (status) { /* the level stays open, with its effects, so the call can be repeated */
        program->effects.n = 0;
        neap_program_free(program);
        return status;
    }
    ctx->levels[level].effects.n = 0; /* the program has taken them over */
    neap_level_end(ctx, level);
    ctx->counters.programs++;
    *out = program;
    return 0;
}

void neap_program_free(neap_program *program) {
    if (!program)
        return;
    neap_ctx *ctx = program->ctx;
    release_all(ctx, &program->inputs);
    release_all(ctx, &program->outputs);
    release_all(ctx, &program->nodes);
    release_all(ctx, &program->region);
    for (int64_t k = 0; k < program->effects.n; k++)
        lazy_effect_free(ctx, program->effects.at[k]);
    lazy_vector_free(&program->effects);
    lazy_vector_free(&program->output_slots);
    if (program->plan)
        lazy_plan_release(program->plan);
    free(program);
}

void neap_program_info_get(neap_program *program, neap_program_info *out) {
    *out = (neap_program_info){.inputs = (int32_t)program->inputs.n,
                               .outputs = (int32_t)program->outputs.n,
                               .nodes = (int32_t)program->nodes.n,
                               .captures = program->captures,
                               .effects = (int32_t)program->effects.n,
                               .steps = program->plan->nsteps};
}

/* Can the value of a number argument be an element of all integer dtypes that it met in the trace? One that is itself
 * an argument of a trace around this one meets them there. */
static bool number_fits(neap_node *node, uint8_t meets) {
    if (node->op == LAZY_OP_placeholder)
        node->meets |= meets;
    for (int d = 0; d < NEAP_DTYPE_COUNT && node->op == LAZY_OP_constant; d++)
        if (meets >> d & 1 && !lazy_dtype_holds(d, node->value))
            return false;
    return true;
}

/* ---- Running ------------------------------------------------------------------------------------------------------- */
static int check_input(const neap_program *program, int k, neap_node *node) {
    const neap_node *want = program->inputs.at[k];
    char left[256], right[256];
    if (want->flags & LAZY_WEAK) {
        if (!lazy_is_number(node))
            return neap_error(NEAP_E_ARGUMENT, "program: input %d: expected a number, got an array", k + 1);
        if (want->meets && !number_fits(node, want->meets))
            return neap_error(NEAP_E_DTYPE,
                              "program: input %d: the number %.17g meets an array of integers that cannot hold it; "
                              "cast the array first",
                              k + 1, node->value);
        return 0;
    }
    if (want->dtype != node->dtype)
        return neap_error(NEAP_E_DTYPE, "program: input %d: expected dtype %s, got %s", k + 1,
                          neap_dtype_name(want->dtype), neap_dtype_name(node->dtype));
    if (want->ndim != node->ndim || memcmp(want->shape, node->shape, node->ndim * sizeof *node->shape) != 0)
        return neap_error(NEAP_E_SHAPE, "program: input %d: expected shape %s, got %s", k + 1,
                          lazy_shape_text(want->ndim, want->shape, left, sizeof left),
                          lazy_shape_text(node->ndim, node->shape, right, sizeof right));
    return 0;
}

static int take_inputs(neap_ctx *ctx, neap_program *program, int n, const int32_t *ids, neap_node **nodes) {
    if (n != program->inputs.n)
        return neap_error(NEAP_E_ARGUMENT, "program: expected %lld inputs, got %d", (long long)program->inputs.n, n);
    for (int k = 0; k < n; k++) {
        if (!(nodes[k] = lazy_lookup(ctx, ids[k])))
            return neap_error_code();
        int status = check_input(program, k, nodes[k]);
        if (status)
            return status;
    }
    return 0;
}

typedef struct run_inputs {
    neap_node **nodes;
} run_inputs;

static neap_buffer *run_buffer(void *arg, neap_node *node) {
    return node->op == LAZY_OP_placeholder ? ((run_inputs *)arg)->nodes[(int)node->value]->buffer : node->buffer;
}

static double run_number(void *arg, neap_node *node) {
    return node->op == LAZY_OP_placeholder ? ((run_inputs *)arg)->nodes[(int)node->value]->value : node->value;
}

/* The node that a root is after a run: a new one over its buffer, or the leaf that it is. OWNED. */
static neap_node *root_result(neap_ctx *ctx, neap_program *program, int64_t root, neap_node *node, neap_buffer **made,
                              run_inputs *inputs) {
    int32_t slot = program->output_slots.at[root];
    if (slot < 0 && lazy_is_number(node))
        return lazy_retain(node->op == LAZY_OP_placeholder ? inputs->nodes[(int)node->value] : node);
    neap_buffer *buffer = slot < 0 ? run_buffer(inputs, node) : made[slot];
    lazy_result aval = {.dtype = node->dtype, .ndim = node->ndim};
    memcpy(aval.shape, node->shape, node->ndim * sizeof *node->shape);
    return lazy_node_of_buffer(ctx, &aval, neap_buffer_retain(buffer));
}

static int run_effects(neap_ctx *ctx, neap_program *program, neap_buffer **made, run_inputs *inputs) {
    int status = 0;
    int64_t root = program->outputs.n;
    for (int64_t e = 0; e < program->effects.n; e++) {
        lazy_effect *effect = program->effects.at[e];
        neap_node **values = calloc((size_t)effect->nodes.n + (size_t)effect->npieces + 1, sizeof *values);
        neap_node **by_piece = values + effect->nodes.n;
        if (!values)
            return neap_error(NEAP_E_MEMORY, "out of memory for a print");
        for (int64_t k = 0; k < effect->nodes.n; k++, root++)
            if (!(values[k] = root_result(ctx, program, root, effect->nodes.at[k], made, inputs)))
                status = NEAP_E_MEMORY;
            else if (status == 0)
                status = lazy_force(ctx, values[k]);
        for (int p = 0; p < effect->npieces; p++)
            by_piece[p] = effect->pieces[p].id ? values[effect->pieces[p].id - 1] : NULL;
        if (status == 0)
            status = lazy_effect_push(ctx, &effect->how, effect->npieces, effect->pieces, by_piece);
        for (int64_t k = 0; k < effect->nodes.n; k++)
            lazy_release(ctx, values[k]);
        free(values);
        if (status)
            return status;
    }
    return 0;
}

static int run_with(neap_ctx *ctx, neap_program *program, run_inputs *inputs, neap_buffer **made, int32_t *outputs) {
    lazy_binding binding = {.buffer = run_buffer, .number = run_number, .arg = inputs};
    int status = lazy_plan_run(ctx, program->plan, program->region.at, &binding, made);
    if (status)
        return status;
    status = run_effects(ctx, program, made, inputs);
    for (int64_t k = 0; k < program->outputs.n && status == 0; k++) {
        neap_node *node = root_result(ctx, program, k, program->outputs.at[k], made, inputs);
        status = node ? lazy_publish(ctx, node, &outputs[k]) : NEAP_E_MEMORY;
    }
    for (int32_t s = 0; s < program->plan->nslots; s++)
        if (made[s])
            neap_buffer_release(made[s]);
    return status;
}

int neap_program_run(neap_ctx *ctx, neap_program *program, int n, const int32_t *ids, int32_t *outputs) {
    run_inputs inputs = {.nodes = malloc((size_t)n * sizeof(neap_node *) + 1)};
    neap_buffer **made = malloc((size_t)program->plan->nslots * sizeof *made + 1);
    int status = inputs.nodes && made ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a run");
    if (status == 0)
        status = take_inputs(ctx, program, n, ids, inputs.nodes);
    for (int k = 0; k < n && status == 0; k++)
        if (!(program->inputs.at[k]->flags & LAZY_WEAK))
            status = lazy_force(ctx, inputs.nodes[k]);
    if (status == 0)
        status = run_with(ctx, program, &inputs, made, outputs);
    free(inputs.nodes);
    free(made);
    return status ? status : lazy_attend(ctx);
}

/* ---- Replaying ----------------------------------------------------------------------------------------------------- */
/* Nodes are found by their index, which every flush writes anew: so the caller holds flushes back. */
static int replay_nodes(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, neap_node **now) {
    for (int64_t k = 0; k < program->nodes.n; k++)
        program->nodes.at[k]->index = (uint32_t)k;
    for (int64_t k = 0; k < program->nodes.n; k++) {
        neap_node *node = program->nodes.at[k], *in[NEAP_MAX_INPUTS];
        if (node->op == LAZY_OP_placeholder) {
            now[k] = lazy_retain(inputs[(int)node->value]);
            continue;
        }
        if (!(node->flags & LAZY_ABSTRACT)) {
            now[k] = lazy_retain(node);
            continue;
        }
        for (int a = 0; a < node->nin; a++)
            in[a] = now[node->in[a]->index];
        if (!(now[k] = lazy_record(ctx, node->op, node->nin, in, node->nattrs, node->attrs)))
            return neap_error_code();
    }
    return 0;
}

/* Effects of a replayed program happen, or are recorded by the trace that it is inlined into. */
static int replay_effects(neap_ctx *ctx, neap_program *program, neap_node *const *arrays) {
    int status = 0;
    int64_t narrays = 0;
    for (int64_t e = 0; e < program->effects.n; e++)
        narrays += program->effects.at[e]->nodes.n;
    /* What can fail comes before the first print, so that the call can be repeated. */
    for (int64_t k = 0; k < narrays && status == 0; k++)
        if (!(arrays[k]->flags & LAZY_ABSTRACT))
            status = lazy_force(ctx, arrays[k]);
    for (int64_t e = 0; e < program->effects.n && status == 0; e++) {
        lazy_effect *effect = program->effects.at[e];
        neap_piece *pieces = malloc((size_t)effect->npieces * sizeof *pieces + 1);
        if (!pieces)
            return neap_error(NEAP_E_MEMORY, "out of memory for a print");
        memcpy(pieces, effect->pieces, (size_t)effect->npieces * sizeof *pieces);
        for (int p = 0; p < effect->npieces && status == 0; p++)
            if (pieces[p].id)
                status = lazy_publish(ctx, lazy_retain(arrays[pieces[p].id - 1]), &pieces[p].id);
        if (status == 0)
            status = neap_print(ctx, &effect->how, effect->npieces, pieces);
        arrays += effect->nodes.n;
        free(pieces);
    }
    return status;
}

int neap_program_replay(neap_ctx *ctx, neap_program *program, int n, const int32_t *ids, int32_t *outputs) {
    neap_node **inputs = malloc((size_t)n * sizeof *inputs + 1);
    neap_node **now = calloc((size_t)program->nodes.n + 1, sizeof *now);
    lazy_nodes roots = {0}; /* as recorded by the trace, then as recorded now. BORROWED from `now` */
    int status = inputs && now ? roots_of(program, &roots) : neap_error(NEAP_E_MEMORY, "out of memory for a replay");
    if (status == 0)
        status = take_inputs(ctx, program, n, ids, inputs);
    if (status == 0) {
        lazy_hold(ctx);
        status = replay_nodes(ctx, program, inputs, now);
        for (int64_t k = 0; k < roots.n && status == 0; k++)
            roots.at[k] = now[roots.at[k]->index];
        int held = lazy_unhold(ctx);
        status = status ? status : held;
    }
    if (status == 0)
        status = replay_effects(ctx, program, roots.at + program->outputs.n);
    for (int64_t k = 0; k < program->outputs.n && status == 0; k++)
        status = lazy_publish(ctx, lazy_retain(roots.at[k]), &outputs[k]);
    for (int64_t k = 0; now && k < program->nodes.n; k++)
        lazy_release(ctx, now[k]);
    lazy_vector_free(&roots);
    free(inputs);
    free(now);
    return status ? status : lazy_attend(ctx);
}

/* ---- Printed form -------------------------------------------------------------------------------------------------- */
/* Names a, b, … z, a1, b1, … by position. */
static int put_name(lazy_text *text, int64_t k) {
    return k < 26 ? lazy_text_addf(text, "%c", (int)('a' + k))
                  : lazy_text_addf(text, "%c%lld", (int)('a' + k % 26), (long long)(k / 26));
}

static int put_type(lazy_text *text, const neap_node *node) {
    if (node->flags & LAZY_WEAK)
        return lazy_text_addf(text, "number");
    int status = lazy_text_addf(text, "%s[", neap_dtype_name(node->dtype));
    for (int k = 0; k < node->ndim && status == 0; k++)
        status = lazy_text_addf(text, k ? ",%lld" : "%lld", (long long)node->shape[k]);
    return status ? status : lazy_text_addf(text, "]");
}

static int put_typed(lazy_text *text, const neap_node *node) {
    int status = put_name(text, node->index);
    if (status == 0)
        status = lazy_text_addf(text, ": ");
    return status ? status : put_type(text, node);
}

static int put_operation(lazy_text *text, const neap_node *node) {
    int status = lazy_text_addf(text, "  ");
    if (status == 0)
        status = put_typed(text, node);
    if (lazy_is_number(node) && !(node->flags & LAZY_ABSTRACT))
        return status ? status : lazy_text_addf(text, " = %.9g\n", node->value);
    if (!(node->flags & LAZY_ABSTRACT))
        return status ? status : lazy_text_addf(text, " = captured %s\n", lazy_node_op(node)->name);
    if (status == 0)
        status = lazy_text_addf(text, " = %s", lazy_node_op(node)->name);
    if (lazy_node_op(node)->flags & LAZY_OP_CASTS && status == 0)
        status = lazy_text_addf(text, "[%s]", neap_dtype_name((int)node->attrs[0]));
    else
        for (int k = 0; k < node->nattrs && status == 0; k++)
            status = lazy_text_addf(text, "%s%lld%s", k ? " " : "[", (long long)node->attrs[k],
                                    k == node->nattrs - 1 ? "]" : "");
    for (int k = 0; k < node->nin && status == 0; k++)
        if ((status = lazy_text_addf(text, " ")) == 0)
            status = put_name(text, node->in[k]->index);
    return status ? status : lazy_text_addf(text, "\n");
}

static int put_effect(lazy_text *text, const lazy_effect *effect) {
    int status = lazy_text_addf(text, "  print");
    for (int64_t k = 0; k < effect->nodes.n && status == 0; k++)
        if ((status = lazy_text_addf(text, " ")) == 0)
            status = put_name(text, effect->nodes.at[k]->index);
    return status ? status : lazy_text_addf(text, "\n");
}

static int put_program(lazy_text *text, neap_program *program) {
    int status = lazy_text_addf(text, "program(");
    int64_t next = program->nodes.n;
    for (int64_t k = 0; k < program->nodes.n; k++)
        program->nodes.at[k]->index = UINT32_MAX;
    for (int64_t k = 0; k < program->inputs.n; k++)
        program->inputs.at[k]->index = UINT32_MAX;
    next = 0;
    for (int64_t k = 0; k < program->inputs.n && status == 0; k++) {
        program->inputs.at[k]->index = (uint32_t)next++;
        if (k && (status = lazy_text_addf(text, ", ")))
            break;
        status = put_typed(text, program->inputs.at[k]);
    }
    if (status == 0)
        status = lazy_text_addf(text, ") {\n");
    for (int64_t k = 0; k < program->nodes.n && status == 0; k++)
        if (program->nodes.at[k]->index == UINT32_MAX) {
            program->nodes.at[k]->index = (uint32_t)next++;
            status = put_operation(text, program->nodes.at[k]);
        }
    for (int64_t k = 0; k < program->effects.n && status == 0; k++)
        status = put_effect(text, program->effects.at[k]);
    if (status == 0)
        status = lazy_text_addf(text, "  return");
    for (int64_t k = 0; k < program->outputs.n && status == 0; k++)
        if ((status = lazy_text_addf(text, k ? ", " : " ")) == 0)
            status = put_name(text, program->outputs.at[k]->index);
    return status ? status : lazy_text_addf(text, "\n}");
}

int neap_program_text(neap_program *program, char *text, size_t capacity, size_t *bytes) {
    lazy_text out = {0};
    int status = put_program(&out, program);
    *bytes = out.bytes;
    if (status == 0 && out.bytes)
        memcpy(text, out.data, out.bytes < capacity ? out.bytes : capacity);
    lazy_text_free(&out);
    return status;
}
