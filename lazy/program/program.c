/* program.c: programs: closed graphs with inputs, captures, effects and outputs.
 *
 * A trace records its body on placeholders. When it ends, what its outputs and effects need becomes the program:
 *
 *      placeholders ─┐                        plan.c, once
 *      captures ─────┼─▶ abstract nodes ─▶ outputs, effects ─────────▶ steps, pushed by each run
 *      constructors ─┘
 *
 * Captures are arrays from outside the trace: those made of constructors only are staged as they are, others are
 * computed now and bound. What the trace itself has computed from constants is part of it (stage.c). The plan is found
 * by structure like that of any region, so tracing a fresh closure of the same code costs no new plan; it is made when
 * the program is first run, since many are only replayed. Running pushes the plan's steps on the arguments' buffers;
 * replaying records the ops again on other nodes, which is how programs are inlined and differentiated.
 */
#include <stdio.h>
#include <string.h>

#include "lazy/effect/effect.h"
#include "lazy/plan/keep.h"
#include "lazy/program/lower.h"
#include "lazy/program/verify.h"

/* ---- Making a program -------------------------------------------------------------------------------------------- */
static int retain_all(lazy_nodes *to, int64_t n, neap_node *const *nodes) {
    for (int64_t k = 0; k < n; k++) {
        if (lazy_push(to, nodes[k]))
            return NEAP_E_MEMORY;
        graph_retain(nodes[k]);
    }
    return 0;
}

static void release_program_nodes(neap_ctx *ctx, lazy_nodes *nodes) {
    for (int64_t k = 0; k < nodes->n; k++)
        graph_release(ctx, nodes->at[k]);
    lazy_vector_free(nodes);
}

/* Effects come first: a region is walked from its roots in their order, so each effect's step stands behind those of
 * the effects before it. */
static int roots_of(const neap_program *program, lazy_nodes *roots) {
    int status = 0;
    for (int64_t e = 0; e < program->effects.n && status == 0; e++)
        for (int64_t k = 0; k < program->effects.at[e]->nodes.n && status == 0; k++)
            status = lazy_push(roots, program->effects.at[e]->nodes.at[k]);
    for (int64_t k = 0; k < program->outputs.n && status == 0; k++)
        status = lazy_push(roots, program->outputs.at[k]);
    return status;
}

/* Blocks of what lies on a mesh are bound when the program is lowered. */
static bool is_captured(const neap_node *node) {
    return !(node->flags & (LAZY_ABSTRACT | LAZY_CONSTRUCTED)) && !node->buffer && !node->shards;
}

/* Computes the captured nodes that the trace itself reads, if they are more than constructors; what they are made of
 * is fused into them. */
static int bind_captures(neap_ctx *ctx, lazy_nodes *roots) {
    int status = plan_region_collect(ctx, roots->n, roots->at);
    lazy_nodes captured = {0};
    for (int64_t k = 0; k < roots->n && status == 0; k++)
        if (is_captured(roots->at[k]))
            status = lazy_push(&captured, roots->at[k]);
    for (int64_t k = 0; k < ctx->walk.order.n && status == 0; k++) {
        neap_node *node = ctx->walk.order.at[k], *const * children;
        int n = is_captured(node) ? 0 : plan_region_children(node, &children);
        for (int c = 0; c < n && status == 0; c++)
            if (is_captured(children[c]))
                status = lazy_push(&captured, children[c]);
    }
    if (status == 0 && captured.n > 0)
        status = plan_flush_roots(ctx, (int)captured.n, captured.at);
    lazy_vector_free(&captured);
    return status;
}

/* Appends a node to what a replay records, with the places of what it reads. */
static int add_replay_node(neap_program *program, neap_node *node) {
    bool traced = node->flags & LAZY_ABSTRACT;
    int status = 0;
    node->index = (uint32_t)program->nodes.n;
    program->captures += !traced && !graph_is_number(node);
    for (int k = 0; traced && k < node->nin && status == 0; k++)
        status = lazy_push(&program->links, (int32_t)node->in[k]->index);
    if (status == 0 && (status = lazy_push(&program->nodes, node)) == 0)
        graph_retain(node);
    return status;
}

/* Appends what the roots need, each node once: abstract nodes by their inputs, everything else as it is. */
static int find_nodes(neap_ctx *ctx, const lazy_nodes *roots, lazy_nodes *found) {
    int status = 0;
    ctx->walk.epoch++;
    for (int64_t r = 0; r < roots->n && status == 0; r++)
        if (roots->at[r]->mark != ctx->walk.epoch) {
            roots->at[r]->mark = ctx->walk.epoch;
            status = lazy_push(found, roots->at[r]);
        }
    for (int64_t k = 0; k < found->n && status == 0; k++) {
        const neap_node *node = found->at[k];
        for (int i = 0; node->flags & LAZY_ABSTRACT && i < node->nin && status == 0; i++)
            if (node->in[i]->mark != ctx->walk.epoch) {
                node->in[i]->mark = ctx->walk.epoch;
                status = lazy_push(found, node->in[i]);
            }
    }
    return status;
}

typedef struct ranked {
    neap_node *node;
    int64_t rank, place;
} ranked;

static int compare_ranks(const void *a, const void *b) {
    const ranked *left = a, *right = b;
    return left->rank != right->rank ? (left->rank > right->rank) - (left->rank < right->rank)
                                     : (left->place > right->place) - (left->place < right->place);
}

/* What is on the tape behind its end makes constants, and comes before what the function has recorded. */
static int64_t rank_of(const neap_node *node, int64_t end) {
    bool recorded = node->flags & LAZY_ABSTRACT && !graph_is_placeholder(node);
    return !recorded ? INT64_MIN : node->tape < end ? node->tape : node->tape - INT64_MAX;
}

/* Finds where among the nodes the prints were recorded: behind what they read, too, which may be staged (stage.c), and
 * is then not on the tape when a print is recorded. */
static void place_prints(const neap_program *program, int64_t end, int64_t n, const ranked *ranks) {
    int64_t place = 0;
    for (int64_t e = 0; e < program->effects.n; e++) {
        lazy_effect *effect = program->effects.at[e];
        while (effect->after && place < n && ranks[place].rank <= rank_of(effect->after, end))
            place++;
        for (int64_t k = 0; !effect->node && k < effect->nodes.n; k++)
            if (place <= effect->nodes.at[k]->index)
                place = (int64_t)effect->nodes.at[k]->index + 1;
        effect->place = place;
    }
}

/* The nodes stand in the order in which they were recorded, that of the tape, behind what they start from. So a replay
 * records them as the function did, and the cotangents of a node are summed in the same order, with the same bits,
 * whether a program is differentiated or the function itself. */
static int order_nodes(neap_ctx *ctx, int64_t end, neap_program *program, const lazy_nodes *roots) {
    lazy_nodes found = {0};
    int status = find_nodes(ctx, roots, &found);
    ranked *ranks = malloc((size_t)found.n * sizeof *ranks + 1);
    if (status == 0 && !ranks)
        status = neap_error(NEAP_E_MEMORY, "out of memory for a program");
    for (int64_t k = 0; k < found.n && status == 0; k++) {
        ranks[k] = (ranked){.node = found.at[k], .rank = rank_of(found.at[k], end), .place = k};
    }
    if (status == 0)
        qsort(ranks, (size_t)found.n, sizeof *ranks, compare_ranks);
    for (int64_t k = 0; k < found.n && status == 0; k++)
        status = add_replay_node(program, ranks[k].node);
    if (status == 0)
        place_prints(program, end, found.n, ranks);
    for (int64_t r = 0; r < roots->n && status == 0; r++)
        status = lazy_push(&program->root_nodes, (int32_t)roots->at[r]->index);
    lazy_vector_free(&found);
    free(ranks);
    return status;
}

static int check_outer_levels(const neap_program *program, uint32_t bit) {
    for (int64_t k = 0; k < program->nodes.n; k++) {
        const neap_node *node = program->nodes.at[k];
        if (!(node->levels & bit) && node->levels)
            return neap_error(NEAP_E_TRACE,
                              "the function reads an array that belongs to an open gradient or trace around "
                              "it, which cannot be bound to a program; pass it as an argument");
        if (!(node->levels & bit) && node->flags & LAZY_ABSTRACT)
            return neap_error(NEAP_E_TRACE, "the function uses an array of a trace that has ended");
    }
    return 0;
}

/* Orders outputs by depth: so a step runs soon after what it needs. Of a training step, each gradient is then used as
 * soon as the walk back has come to it, while the activations behind it have not all been read yet. */
static int order_outputs(neap_ctx *ctx, neap_node **outputs, int64_t n) {
    int status = plan_region_collect(ctx, n, outputs);
    int64_t *depth = calloc((size_t)ctx->walk.order.n + 1, sizeof *depth);
    ranked *ranks = malloc((size_t)n * sizeof *ranks + 1);
    if (status == 0 && (!depth || !ranks))
        status = neap_error(NEAP_E_MEMORY, "out of memory for a program");
    for (int64_t k = 0; k < ctx->walk.order.n && status == 0; k++) {
        neap_node *const *children;
        int count = plan_region_children(ctx->walk.order.at[k], &children);
        for (int c = 0; c < count; c++)
            if (depth[k] <= depth[children[c]->index])
                depth[k] = depth[children[c]->index] + 1;
    }
    for (int64_t r = 0; r < n && status == 0; r++)
        ranks[r] = (ranked){.node = outputs[r], .rank = depth[outputs[r]->index], .place = r};
    if (status == 0)
        qsort(ranks, (size_t)n, sizeof *ranks, compare_ranks);
    for (int64_t r = 0; r < n && status == 0; r++)
        outputs[r] = ranks[r].node;
    free(depth);
    free(ranks);
    return status;
}

const neap_node *program_exchange(const neap_program *program) {
    for (int64_t e = 0; e < program->effects.n; e++)
        if (effect_bits(program->effects.at[e]) & LAZY_EFFECTS_EXCHANGE)
            return program->effects.at[e]->node;
    return NULL;
}

/* The region of the program: effects in their order, then outputs. */
static int collect_region(neap_ctx *ctx, const neap_program *program, const lazy_nodes *roots) {
    lazy_nodes ordered = {0};
    int status = 0;
    for (int64_t r = 0; r < roots->n && status == 0; r++)
        status = lazy_push(&ordered, roots->at[r]);
    int64_t outputs = roots->n - program->effect_roots;
    if (status == 0 && outputs > 1)
        status = order_outputs(ctx, ordered.at + program->effect_roots, outputs);
    if (status == 0)
        status = plan_region_collect(ctx, ordered.n, ordered.at);
    lazy_vector_free(&ordered);
    return status;
}

/* Tells which slots of the plan the roots are. */
static int find_slots(neap_ctx *ctx, neap_program *program, const lazy_nodes *roots) {
    const lazy_plan *plan = program->plan;
    int32_t *slot_of = malloc((size_t)ctx->walk.order.n * sizeof *slot_of + 1);
    int status = slot_of ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a program");
    if (status == 0)
        memset(slot_of, 0xff, (size_t)ctx->walk.order.n * sizeof *slot_of);
    for (int32_t s = 0; s < plan->nslots && status == 0; s++)
        if (plan->slots[s].made)
            slot_of[plan->slots[s].node] = s;
    for (int64_t r = 0; r < roots->n && status == 0; r++)
        status = lazy_push(&program->root_slots, slot_of[roots->at[r]->index]);
    free(slot_of);
    return status;
}

/* Do all that read its inputs take them from anywhere in a buffer? What pushes itself or moves does not, nor a root
 * that is an input. */
static bool can_be_lent(const neap_program *program, const lazy_nodes *roots) {
    const lazy_plan *plan = program->plan;
    bool lends = program->effects.n == 0;
    for (int32_t k = 0; k < plan->nsteps && lends; k++)
        lends = !plan->steps[k]->payload && !plan->steps[k]->moves;
    for (int64_t r = 0; r < roots->n && lends; r++)
        lends = program->root_slots.at[r] >= 0 || graph_is_number(roots->at[r]);
    return lends;
}

/* Readers that a trace has recorded and no result needs are none: their values are not there for anybody. */
static int count_program_consumers(neap_ctx *ctx) {
    const int64_t n = ctx->walk.order.n;
    int32_t *consumers = calloc((size_t)n + 1, sizeof *consumers);
    if (!consumers)
        return neap_error(NEAP_E_MEMORY, "out of memory for a program");
    plan_count_consumers(ctx, consumers);
    for (int64_t k = 0; k < n; k++)
        if (ctx->walk.order.at[k]->flags & LAZY_ABSTRACT)
            ctx->walk.order.at[k]->consumers = consumers[k];
    free(consumers);
    return 0;
}

/* Takes the roots themselves for those whose buffers they share. */
static int make_program_plan(neap_ctx *ctx, neap_program *program, lazy_nodes *roots) {
    for (int64_t r = 0; r < roots->n; r++)
        roots->at[r] = plan_region_root(roots->at[r]);
    int status = collect_region(ctx, program, roots);
    if (status == 0)
        status = count_program_consumers(ctx);
    if (status == 0)
        status = plan_region_plan(ctx, roots->n, roots->at, false, &program->plan);
    if (status)
        return status;
    __atomic_add_fetch(&program->plan->refs, 1, __ATOMIC_RELAXED);
    status = find_slots(ctx, program, roots);
    program->lends = status == 0 && can_be_lent(program, roots);
    return status ? status : retain_all(&program->region, ctx->walk.order.n, ctx->walk.order.at);
}

static int play_program_on(neap_ctx *ctx, graph_note *note) {
    (void)ctx;
    note->programs[0]->home = (int)note->ints[0];
    return 0;
}
const graph_note_kind program_note_on = {
    .name = "program_on", .play = play_program_on, .shapes = GRAPH_NOTE_UNKNOWN, .form = {.ints = "d", .nprograms = 1}};

void neap_program_on(neap_program *program, int device) {
    int64_t ints[] = {device};
    program->home = device;
    (void)graph_noted(
        program->ctx, 0,
        &(graph_note){
            .kind = &program_note_on, .level = -1, .nints = 1, .ints = ints, .nprograms = 1, .programs = &program});
}

static int plan_program(neap_program *program) {
    lazy_nodes roots = {0};
    int status = 0;
    for (int64_t k = 0; k < program->nodes.n && status == 0; k++) { /* as deep as loops stand inside each other */
        const lazy_payload *payload = graph_node_op(program->nodes.at[k])->payload;
        if (payload && payload->prepare && program->nodes.at[k]->flags & LAZY_ABSTRACT)
            status = payload->prepare(program->ctx, program->nodes.at[k]);
    }
    if (status == 0)
        status = roots_of(program, &roots);
    if (status == 0)
        status = bind_captures(program->ctx, &roots);
    if (status == 0)
        status = make_program_plan(program->ctx, program, &roots);
    if (status) { /* it may be asked for again */
        if (program->plan)
            plan_release(program->plan);
        program->plan = NULL;
        program->root_slots.n = 0;
        release_program_nodes(program->ctx, &program->region);
    }
    lazy_vector_free(&roots);
    return status;
}

int program_plan(neap_program *program) {
    if (program->plan)
        return 0;
    int before = graph_default_device;
    if (program->home >= 0)
        graph_default_device = program->home - graph_devices.first;
    neap_program *runs = program_runs(program);
    int status = !runs ? neap_error_code() : runs->plan ? 0 : plan_program(runs);
    if (status == 0 && program->meshed)
        status = program_lowered_leaves(program);
    graph_default_device = before;
    return status;
}

#define EXCHANGE(a, b)                                                                                                 \
    do {                                                                                                               \
        __typeof__(a) was = a;                                                                                         \
        memcpy(&(a), &(b), sizeof(a));                                                                                 \
        memcpy(&(b), &was, sizeof(b));                                                                                 \
    } while (0)

void program_exchange_plan(neap_program *program, program_planned *with) {
    EXCHANGE(program->plan, with->plan);
    EXCHANGE(program->region, with->region);
    EXCHANGE(program->root_slots, with->root_slots);
    EXCHANGE(program->lends, with->lends);
}

int program_keep(neap_program *program, int64_t n, const int32_t *inputs) {
    neap_program *runs = program_runs(program);
    lazy_nodes kept = {0};
    int status = runs ? 0 : neap_error_code();
    for (int64_t k = 0; k < n && status == 0; k++) {
        int32_t first = program->meshed ? program->lowered->first[inputs[k]] : inputs[k],
                end = program->meshed ? program->lowered->first[inputs[k] + 1] : first + 1;
        for (int32_t b = first; b < end && status == 0; b++)
            status = lazy_push(&kept, runs->inputs.at[b]);
    }
    if (status == 0)
        status = plan_keep_new(runs->plan, runs->region.at, kept.n, kept.at, runs->root_slots.n, runs->root_slots.at,
                               &runs->keeping);
    lazy_vector_free(&kept);
    return status;
}

void neap_kept_forget(neap_ctx *ctx) {
    for (neap_program *program = ctx->programs.first; program; program = program->next)
        plan_keep_forget(program->keeping);
}

void program_planned_free(neap_ctx *ctx, program_planned *planned) {
    if (planned->plan)
        plan_release(planned->plan);
    release_program_nodes(ctx, &planned->region);
    lazy_vector_free(&planned->root_slots);
}

/* Numbers leave a program as f32 arrays, weak ones. */
static int take_outputs(neap_ctx *ctx, int level, neap_program *program, int n, neap_node *const *outputs) {
    for (int k = 0; k < n; k++) {
        neap_node *node = outputs[k];
        if (ctx->levels.at[level].closed && graph_capture_into(ctx, level, 1, &node, &node))
            return neap_error_code();
        neap_node *number = node->flags & LAZY_WEAK ? node : NULL;
        node = number ? graph_cast(ctx, node, NEAP_DTYPE_F32) : graph_retain(node);
        if (!node)
            return neap_error_code();
        if (number) {
            node->yields = true;
            node->fraction = graph_number_looks_fraction(number);
        }
        if (lazy_push(&program->outputs, node)) {
            graph_release(ctx, node);
            return NEAP_E_MEMORY;
        }
    }
    return 0;
}

/* Notes why the program has to be lowered, if at all. */
static void find_what_is_lowered(neap_program *program) {
    for (int64_t k = 0; k < program->inputs.n; k++)
        program->meshed |= graph_is_meshed(program->inputs.at[k]);
    for (int64_t k = 0; k < program->nodes.n; k++) {
        program->meshed |= graph_is_meshed(program->nodes.at[k]);
        program->calls |= program_inlines(program->nodes.at[k]);
    }
}

static int build_program(neap_ctx *ctx, int level, neap_program *program, int n, neap_node *const *outputs) {
    lazy_level *trace = &ctx->levels.at[level];
    lazy_nodes roots = {0};
    int status = take_outputs(ctx, level, program, n, outputs);
    for (int64_t k = 0; k < trace->effects.n && status == 0; k++)
        status = lazy_push(&program->effects, trace->effects.at[k]);
    if (status == 0)
        status = program_stage(ctx, level, program);
    if (status == 0)
        status = retain_all(&program->inputs, trace->inputs.n, trace->inputs.at);
    if (status == 0)
        status = retain_all(&program->captured, trace->captured.n, trace->captured.at);
    if (status == 0)
        status = roots_of(program, &roots);
    program->effect_roots = roots.n - program->outputs.n;
    if (status == 0)
        status = ctx->start.deferring
                     ? 0
                     : bind_captures(ctx, &roots); /* what is not bound now is when the program is run */
    if (status == 0)
        status = order_nodes(ctx, trace->end, program, &roots);
    if (status == 0)
        status = check_outer_levels(program, 1u << level);
    find_what_is_lowered(program);
    lazy_vector_free(&roots);
    return status;
}

int program_trace_end(neap_ctx *ctx, int level, int n, neap_node *const *outputs, neap_program **out) {
    if (level < 0 || level != ctx->levels.n - 1 || !ctx->levels.at[level].trace)
        return neap_error(NEAP_E_STATE, "the trace is not the innermost open level");
    neap_program *program = calloc(1, sizeof *program);
    if (!program)
        return neap_error(NEAP_E_MEMORY, "out of memory for a program");
    program->ctx = ctx;
    program->refs = 1;
    program->home = -1;
    int status = effect_drop_unused(ctx, &ctx->levels.at[level], n, outputs);
    if (status == 0)
        status = build_program(ctx, level, program, n, outputs);
    if (status) { /* the level stays open, with its effects, so the call can be repeated */
        program->effects.n = 0;
        neap_program_free(program);
        return status;
    }
    ctx->levels.at[level].effects.n = 0; /* the program has taken them over */
    for (int64_t e = 0; e < program->effects.n; e++) {
        graph_release(ctx, program->effects.at[e]->after);
        program->effects.at[e]->after = NULL;
    }
    graph_level_end(ctx, level);
    ctx->counters.programs++;
    program->link = &ctx->programs.first;
    program->next = ctx->programs.first;
    if (program->next)
        program->next->link = &program->next;
    ctx->programs.first = program;
    status = LAZY_VERIFY(program, "trace");
    if (status)
        neap_program_free(program);
    else
        *out = program;
    return status;
}

static int check_trace(const neap_ctx *ctx, int level) {
    if (level < 0 || level >= ctx->levels.n || !ctx->levels.at[level].trace)
        return neap_error(NEAP_E_STATE, "the trace is not open");
    return 0;
}

static bool divides(const lazy_sharding *lies, const lazy_result *aval) {
    bool all = lies->ndim <= aval->ndim;
    for (int k = 0; k < lies->ndim && all; k++)
        all = aval->shape[k] % shard_sharding_parts(lies, k) == 0;
    return all;
}

static int trace_input(neap_ctx *ctx, int level, const int64_t *facts, int ndim, const int64_t *shape, int32_t *out) {
    int dtype = (int)facts[0], weak = (int)facts[1], device = (int)facts[2], sharding = (int)facts[3];
    if (check_trace(ctx, level))
        return NEAP_E_STATE;
    int given = weak;
    bool yields = given > 2;
    weak = yields ? 0 : given;
    lazy_result aval = {.dtype = (uint8_t)(weak ? NEAP_DTYPE_F64 : dtype), .ndim = (uint8_t)ndim};
    if (ndim < 0 || ndim > NEAP_MAX_DIMS || (weak && ndim) || dtype < 0 || dtype >= NEAP_DTYPE_COUNT)
        return neap_error(NEAP_E_ARGUMENT, "trace: bad shape or dtype of an input");
    if (device < -1 || device >= neap_device_count())
        return neap_error(NEAP_E_ARGUMENT, "trace: an input on device %d of %d", device, neap_device_count());
    if (ctx->levels.at[level].captured.n)
        return neap_error(NEAP_E_STATE, "trace: an input after the function has read arrays from outside");
    int64_t bytes = neap_dtype_bytes(aval.dtype);
    for (int k = 0; k < ndim; k++) {
        aval.shape[k] = shape[k];
        if (shape[k] < 0 || __builtin_mul_overflow(bytes, shape[k] ? shape[k] : 1, &bytes))
            return neap_error(NEAP_E_SHAPE, "trace: an input has %lld elements along axis %d", (long long)shape[k], k);
    }
    const lazy_sharding *lies = sharding ? shard_sharding_get(sharding) : NULL;
    if (sharding && !lies)
        return neap_error_code();
    if (lies && (weak || device >= 0 || !divides(lies, &aval)))
        return neap_error(NEAP_E_SHAPE, "trace: an input cannot lie on a mesh so");
    neap_node *node = graph_placeholder(ctx, level, &aval, weak, device, lies);
    if (node && weak > 1)
        node->meets = LAZY_NUMBER_FRACTION;
    if (node && yields) {
        node->yields = true;
        node->fraction = given > 3;
    }
    return node ? graph_publish(ctx, graph_retain(node), out) : NEAP_E_MEMORY;
}

static int trace_end(neap_ctx *ctx, int level, int n, const int32_t *outputs, neap_program **out) {
    neap_node **nodes = malloc((size_t)n * sizeof *nodes + 1);
    int status = nodes ? graph_lookup_all(ctx, false, n, outputs, nodes)
                       : neap_error(NEAP_E_MEMORY, "out of memory for a program");
    if (status == 0)
        status = program_trace_end(ctx, level, n, nodes, out);
    free(nodes);
    return status;
}

static int play_trace_input(neap_ctx *ctx, graph_note *note) {
    return trace_input(ctx, note->level, note->ints, note->nints - GRAPH_NOTE_SHAPE, note->ints + GRAPH_NOTE_SHAPE,
                       note->out);
}
const graph_note_kind program_note_input = {.name = "trace_input",
                                            .play = play_trace_input,
                                            .shapes = GRAPH_NOTE_INPUT,
                                            .form = {.ints = "tndsx*", .nout = 1, .level = GRAPH_NOTE_TRACE}};

int neap_trace_input(neap_ctx *ctx, int level, int dtype, int weak, int device, int sharding, int ndim,
                     const int64_t *shape, int32_t *out) {
    int64_t ints[GRAPH_NOTE_SHAPE + NEAP_MAX_DIMS] = {dtype, weak, device, sharding};
    int axes = ndim < 0 || ndim > NEAP_MAX_DIMS ? 0 : ndim;
    for (int k = 0; k < axes; k++)
        ints[GRAPH_NOTE_SHAPE + k] = shape[k];
    int status = trace_input(ctx, level, ints, ndim, shape, out);
    return graph_noted(ctx, status,
                       &(graph_note){.kind = &program_note_input,
                                     .level = level,
                                     .nout = 1,
                                     .out = out,
                                     .nints = GRAPH_NOTE_SHAPE + axes,
                                     .ints = ints});
}

static int play_trace_end(neap_ctx *ctx, graph_note *note) {
    return trace_end(ctx, note->level, note->nin, note->in, &note->made);
}
const graph_note_kind program_note_end = {.name = "trace_end",
                                          .play = play_trace_end,
                                          .shapes = GRAPH_NOTE_UNKNOWN,
                                          .form = {.ints = "", .nin = GRAPH_NOTE_ANY, .level = GRAPH_NOTE_TRACE}};

int neap_trace_end(neap_ctx *ctx, int level, int n, const int32_t *outputs, neap_program **out) {
    int status = trace_end(ctx, level, n, outputs, out);
    int noted = graph_noted(
        ctx, status,
        &(graph_note){
            .kind = &program_note_end, .level = level, .nin = n, .in = outputs, .made = status ? NULL : *out});
    if (status == 0 && noted < 0) { /* there is no program for who is told of a failure */
        neap_program_free(*out);
        *out = NULL;
    }
    return noted;
}

/* Lets go of all that the program holds. */
static void empty(neap_program *program) {
    neap_ctx *ctx = program->ctx;
    if (program->link)
        *program->link = program->next;
    if (program->next)
        program->next->link = program->link;
    program->ctx = NULL;
    free(program->input_names.at);
    free(program->output_names.at);
    program->input_names = program->output_names = (lazy_port_names){0};
    release_program_nodes(ctx, &program->inputs);
    release_program_nodes(ctx, &program->captured);
    release_program_nodes(ctx, &program->outputs);
    release_program_nodes(ctx, &program->nodes);
    release_program_nodes(ctx, &program->region);
    for (int64_t k = 0; k < program->effects.n; k++)
        effect_free(ctx, program->effects.at[k]);
    lazy_vector_free(&program->effects);
    lazy_vector_free(&program->links);
    lazy_vector_free(&program->root_nodes);
    lazy_vector_free(&program->root_slots);
    plan_keep_free(program->keeping);
    program->keeping = NULL;
    if (program->plan)
        plan_release(program->plan);
    program->plan = NULL;
    program_lowered_free(program->lowered);
    program->lowered = NULL;
    if (program->rule)
        (void)lazy_push(&ctx->programs.unused_rules, program->rule); /* else nobody has this number again */
    program->rule = 0;
    neap_program_free(program->ruled);
    program->ruled = NULL;
}

int neap_program_rule(neap_program *program) {
    neap_ctx *ctx = program->ctx;
    if (!ctx)
        return neap_error(NEAP_E_STATE, "the program's context has ended");
    if (!program->rule)
        program->rule = ctx->programs.unused_rules.n ? ctx->programs.unused_rules.at[--ctx->programs.unused_rules.n]
                                                     : ++ctx->programs.rules;
    return program->rule;
}

void neap_program_free(neap_program *program) {
    if (!program || --program->refs > 0)
        return;
    if (program->ctx)
        empty(program);
    free(program);
}

void program_free_all(neap_ctx *ctx) {
    while (ctx->programs.first)
        empty(ctx->programs.first);
}

int program_list_all(neap_ctx *ctx, lazy_nodes *to) {
    int status = 0;
    for (neap_program *program = ctx->programs.first; program && status == 0; program = program->next)
        for (int64_t k = 0; k < program->nodes.n && status == 0; k++)
            status = lazy_push(to, program->nodes.at[k]);
    return status;
}

void neap_program_info_get(neap_program *program, neap_program_info *out) {
    const neap_program *runs = program_lowered(program);
    *out = (neap_program_info){.inputs = (int32_t)program->inputs.n,
                               .outputs = (int32_t)program->outputs.n,
                               .nodes = (int32_t)program->nodes.n,
                               .captures = program->captures,
                               .effects = (int32_t)program->effects.n,
                               .steps = runs ? runs->plan->nsteps : -1};
}

static int give_captured(neap_program *program, int32_t capacity, int32_t *ids) {
    if (!ids)
        return (int)program->captured.n;
    if (capacity < program->captured.n)
        return neap_error(NEAP_E_ARGUMENT, "program: %lld captured arrays, room for %d", (long long)program->captured.n,
                          capacity);
    int n = (int)program->captured.n;
    for (int k = 0; k < n; k++) {
        int status = graph_publish(program->ctx, graph_retain(program->captured.at[k]), &ids[k]);
        if (status)
            return status; /* what has an id by now is swept as a handle that died */
    }
    while (program->captured.n > 0)
        graph_release(program->ctx, program->captured.at[--program->captured.n]);
    return n;
}

static int play_captured(neap_ctx *ctx, graph_note *note) {
    (void)ctx;
    int n = give_captured(note->programs[0], note->nout, note->out);
    if (n >= 0 && n != note->nout)
        return neap_error(NEAP_E_SHAPE, "it captures %d arrays, and captured %d when it was recorded", n, note->nout);
    return n < 0 ? n : 0;
}
const graph_note_kind program_note_captured = {.name = "captured",
                                               .play = play_captured,
                                               .shapes = GRAPH_NOTE_UNKNOWN,
                                               .finds = true,
                                               .form = {.ints = "", .nout = GRAPH_NOTE_ANY, .nprograms = 1}};

int neap_program_captured(neap_program *program, int32_t capacity, int32_t *ids) {
    int n = give_captured(program, capacity, ids);
    if (!ids || n < 0 || !program->ctx->transcript)
        return n;
    int status = graph_noted(
        program->ctx, 0,
        &(graph_note){
            .kind = &program_note_captured, .level = -1, .nout = n, .out = ids, .nprograms = 1, .programs = &program});
    return status ? status : n;
}
