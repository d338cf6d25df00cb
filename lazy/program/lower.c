/* lower.c: lowering programs, and running what comes of those with values on a mesh (lower.h has the picture).
 *
 * Values that lie on a mesh are wrappers around their blocks: flattening a list of them is listing their blocks, and a
 * run wraps the blocks of its results again. A block that is donated goes as an ordinary array goes, if nobody but the
 * array whose block it is refers to it.
 */
#include "lazy/program/lower.h"

#include <string.h>

#include "lazy/effect/effect.h"

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */
/* A value that lies so, made of blocks, which are retained. OWNED. */
static neap_node *node_of_blocks(neap_ctx *ctx, const lazy_result *aval, const lazy_sharding *sharding,
                                 neap_node *const *blocks) {
    neap_node *node = graph_data(ctx, aval);
    if (!node || graph_node_mesh(node, sharding)) {
        graph_release(ctx, node);
        return NULL;
    }
    for (int32_t b = 0; b < sharding->nblocks; b++)
        node->shards->blocks[b] = graph_retain(blocks[b]);
    return node;
}

bool program_expands(const neap_ctx *ctx, const neap_node *in) {
    if (graph_is_meshed(in))
        return graph_has_blocks(in);
    if (!(in->flags & LAZY_ABSTRACT))
        return true;
    int innermost = in->levels ? 31 - __builtin_clz(in->levels) : -1;
    return innermost >= 0 && ctx->levels.at[innermost].lowers;
}

static lazy_result aval_of(const neap_node *node) {
    lazy_result aval = {.dtype = node->dtype, .ndim = node->ndim};
    memcpy(aval.shape, node->shape, node->ndim * sizeof *node->shape);
    return aval;
}

/* ---- Lowering ---------------------------------------------------------------------------------------------------- */
typedef struct lowering {
    neap_ctx *ctx;
    neap_program *program;
    int level;
    bool placed;
    const lazy_sharding *const *shardings; /* of the outputs, if not as they come */
    neap_node **in, **out;                 /* of the program: OWNED */
    lazy_nodes flat;                       /* blocks of the outputs. BORROWED */
} lowering;

/* A stand-in whose blocks are placeholders. It belongs to the trace, as they do. OWNED. */
static neap_node *expand_input(lowering *l, const neap_node *like) {
    const lazy_sharding *sharding = graph_sharding_of(like);
    lazy_result whole = aval_of(like), block = whole;
    neap_node *node = graph_data(l->ctx, &whole);
    if (!node || graph_node_mesh(node, sharding)) {
        graph_release(l->ctx, node);
        return NULL;
    }
    node->flags |= LAZY_ABSTRACT;
    node->levels = 1u << l->level;
    for (int a = 0; a < block.ndim; a++)
        block.shape[a] /= shard_sharding_parts(sharding, a);
    for (int32_t b = 0; b < sharding->nblocks; b++) {
        neap_node *one = graph_placeholder(l->ctx, l->level, &block, false, l->placed ? sharding->home[b] : -1, NULL);
        if (!one) {
            graph_release(l->ctx, node);
            return NULL;
        }
        node->shards->blocks[b] = graph_retain(one);
    }
    return node;
}

static neap_node *plain_input(lowering *l, const neap_node *like) {
    neap_node *node = graph_placeholder_like(l->ctx, l->level, like);
    if (!node)
        return NULL;
    node->device = l->placed ? node->device : -1;
    return graph_retain(node);
}

static int open_lowering(lowering *l) {
    int status = graph_trace_begin(l->ctx, 0, &l->level);
    if (status)
        return status;
    l->ctx->levels.at[l->level].lowers = true;
    l->ctx->levels.at[l->level].without_device = !l->placed;
    for (int64_t k = 0; k < l->program->inputs.n; k++) {
        const neap_node *like = l->program->inputs.at[k];
        if (!(l->in[k] = graph_is_meshed(like) ? expand_input(l, like) : plain_input(l, like)))
            return NEAP_E_MEMORY;
    }
    return 0;
}

/* Lists the blocks of inputs and outputs. */
static int flatten(lowering *l, lazy_lowered *made) {
    int32_t at = 0;
    int status = 0;
    for (int64_t k = 0; k < made->nin; k++) {
        made->shardings[k] = graph_sharding_of(l->in[k]);
        made->first[k] = at;
        at += shard_block_count(made->shardings[k]);
    }
    made->first[made->nin] = at;
    for (int64_t k = 0; k < made->nout && status == 0; k++) {
        const lazy_sharding *is = graph_sharding_of(l->out[k]),
                            *sharding = l->shardings && l->shardings[k] ? l->shardings[k] : is;
        made->shardings[made->nin + k] = sharding;
        made->first[made->nin + 1 + k] = (int32_t)l->flat.n;
        if (is && !graph_has_blocks(l->out[k]))
            return neap_error(NEAP_E_INTERNAL, "a result of a lowered program has no blocks");
        for (int32_t b = 0; b < shard_block_count(sharding) && status == 0; b++)
            status =
                lazy_push(&l->flat, shard_block(l->out[k], sharding ? shard_block_at(is, sharding->position[b]) : 0));
    }
    made->first[made->nin + 1 + made->nout] = (int32_t)l->flat.n;
    return status;
}

static lazy_lowered *lowered_new(int64_t nin, int64_t nout) {
    size_t n = (size_t)(nin + nout);
    lazy_lowered *made = calloc(1, sizeof *made + n * sizeof *made->shardings + (n + 2) * sizeof *made->first);
    if (!made) {
        neap_error(NEAP_E_MEMORY, "out of memory for a program");
        return NULL;
    }
    made->nin = nin;
    made->nout = nout;
    made->shardings = (const lazy_sharding **)(made + 1);
    made->first = (int32_t *)(made->shardings + n);
    return made;
}

void program_lowered_free(lazy_lowered *lowered) {
    if (!lowered)
        return;
    neap_program_free(lowered->program);
    free(lowered->leaf_of);
    free(lowered);
}

/* Records the program in the trace, whatever is set for programs that are applied around. */
static int record_lowered(lowering *l) {
    lazy_levels *levels = &l->ctx->levels, before = *levels;
    levels->rules = LAZY_RULES_AS_THEY_ARE;
    levels->without_effects = 0;
    levels->answers = NULL;
    levels->stand_ins = NULL;
    int status = program_apply_inlined(l->ctx, l->program, l->in, l->out);
    levels->rules = before.rules;
    levels->without_effects = before.without_effects;
    levels->answers = before.answers;
    levels->stand_ins = before.stand_ins;
    return status;
}

static int lower_into(lowering *l, lazy_lowered *made) {
    plan_hold(l->ctx);
    int status = open_lowering(l);
    if (status == 0)
        status = record_lowered(l);
    if (status == 0)
        status = flatten(l, made);
    if (status == 0)
        status = program_trace_end(l->ctx, l->level, (int)l->flat.n, l->flat.at, &made->program);
    for (int64_t k = 0; k < l->program->outputs.n; k++)
        graph_release(l->ctx, l->out[k]);
    for (int64_t k = 0; k < l->program->inputs.n; k++)
        graph_release(l->ctx, l->in[k]);
    if (status && l->level >= 0)
        graph_level_end(l->ctx, l->level);
    lazy_vector_free(&l->flat);
    int held = plan_unhold(l->ctx);
    return status ? status : held;
}

int program_lower_on(neap_ctx *ctx, neap_program *program, bool placed, const lazy_sharding *const *shardings,
                     lazy_lowered **out) {
    size_t nin = (size_t)program->inputs.n, nout = (size_t)program->outputs.n;
    lowering l = {.ctx = ctx, .program = program, .level = -1, .placed = placed, .shardings = shardings};
    lazy_lowered *made = lowered_new(program->inputs.n, program->outputs.n);
    l.in = calloc(nin + nout + 1, sizeof *l.in);
    l.out = l.in + nin;
    int status = made && l.in ? lower_into(&l, made) : neap_error(NEAP_E_MEMORY, "out of memory for a program");
    free(l.in);
    if (status)
        program_lowered_free(made);
    else
        *out = made;
    return status;
}

/* ---- Planning ---------------------------------------------------------------------------------------------------- */
neap_program *program_runs(neap_program *program) {
    int status = 0;
    while (status == 0 && (program->meshed || program->calls)) {
        if (!program->lowered)
            status = program_lower_on(program->ctx, program, true, NULL, &program->lowered);
        if (status)
            break;
        program->lowered->program->home = program->home;
        program = program->lowered->program;
    }
    return status ? NULL : program;
}

int program_lowered_leaves(neap_program *meshed) {
    lazy_lowered *lowered = meshed->lowered;
    if (lowered->leaf_of)
        return 0;
    const neap_program *program = program_runs(lowered->program);
    size_t n = (size_t)program->inputs.n;
    int32_t *all = malloc((2 * n + 1) * sizeof *all);
    if (!all)
        return neap_error(NEAP_E_MEMORY, "out of memory for a program");
    for (size_t k = 0; k < n; k++)
        all[n + k] = (int32_t)k;
    program_donation_slots(program, (int64_t)n, all + n, all);
    lowered->leaf_of = all;
    return 0;
}

neap_program *program_lowered(neap_program *program) {
    return program_plan(program) ? NULL : program_runs(program);
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */
/* The blocks of the arguments, placed as the lowered program wants them; what is recorded for that is in the arena. */
static int list_blocks(neap_ctx *ctx, const lazy_lowered *lowered, neap_node *const *inputs, neap_node **blocks) {
    for (int64_t k = 0; k < lowered->nin; k++)
        for (int32_t b = lowered->first[k]; b < lowered->first[k + 1]; b++) {
            const neap_node *want = lowered->program->inputs.at[b];
            const lazy_sharding *is = graph_sharding_of(inputs[k]), *sharding = lowered->shardings[k];
            int32_t own = b - lowered->first[k];
            neap_node *block =
                shard_block(inputs[k], is == sharding ? own : shard_block_at(is, sharding->position[own]));
            if (!(blocks[b] = sharding ? graph_build_place(ctx, block, want->device) : block))
                return neap_error_code();
        }
    return 0;
}

/* A value for each output of the other program. */
static int wrap(neap_ctx *ctx, const lazy_lowered *lowered, const neap_program *program, neap_node *const *blocks,
                neap_node **outputs) {
    for (int64_t k = 0; k < lowered->nout; k++) {
        const lazy_sharding *sharding = lowered->shardings[lowered->nin + k];
        neap_node *const *own = blocks + lowered->first[lowered->nin + 1 + k];
        lazy_result aval = aval_of(program->outputs.at[k]);
        if (!(outputs[k] = sharding ? node_of_blocks(ctx, &aval, sharding, own) : graph_retain(*own))) {
            while (k-- > 0)
                graph_release(ctx, outputs[k]);
            return NEAP_E_MEMORY;
        }
        graph_weak_like(outputs[k], program->outputs.at[k]);
    }
    return 0;
}

typedef struct block_donation { /* what is donated, as blocks */
    lazy_donation donation;
    int32_t *inputs, *leaf_of; /* and slots behind them */
    int32_t *whose;            /* by block: its array among those that are given */
    neap_node **owners;        /* and `gone` behind them */
} block_donation;

static int split_donation(const lazy_lowered *lowered, neap_node *const *inputs, const lazy_donation *donation,
                          block_donation *to) {
    size_t n = 0;
    int64_t at = 0;
    for (int64_t k = 0; k < donation->n; k++)
        n += (size_t)shard_block_count(lowered->shardings[donation->inputs[k]]);
    to->inputs = malloc((4 * n + 1) * sizeof *to->inputs);
    to->owners = calloc(2 * n + 1, sizeof *to->owners);
    if (!to->inputs || !to->owners)
        return neap_error(NEAP_E_MEMORY, "out of memory for a donation");
    to->leaf_of = to->inputs + n;
    to->whose = to->inputs + 3 * n;
    to->donation = (lazy_donation){.n = (int64_t)n,
                                   .inputs = to->inputs,
                                   .leaf_of = to->leaf_of,
                                   .slots = to->inputs + 2 * n,
                                   .owners = to->owners,
                                   .site = donation->site,
                                   .gone = to->owners + n};
    for (int64_t k = 0; k < donation->n; k++) {
        int32_t input = donation->inputs[k];
        for (int32_t b = lowered->first[input]; b < lowered->first[input + 1]; b++, at++) {
            to->inputs[at] = b;
            to->leaf_of[at] = lowered->leaf_of[b];
            to->owners[at] = inputs[input];
            to->whose[at] = (int32_t)k;
        }
    }
    return 0;
}

/* Makes what the handles of the arrays will name. */
static int dig(neap_ctx *ctx, neap_node *const *inputs, lazy_donation *donation) {
    memset(donation->gone, 0, (size_t)donation->n * sizeof *donation->gone);
    for (int64_t k = 0; k < donation->n && ctx->levels.n == 0; k++)
        if (!(donation->gone[k] = graph_tombstone(ctx, inputs[donation->inputs[k]]))) {
            program_donation_close(ctx, inputs, donation, false);
            return neap_error(NEAP_E_MEMORY, "out of memory for a donation");
        }
    return 0;
}

/* What became of the arrays, of which all blocks count. */
static void report_donation(const block_donation *blocks, lazy_donation *donation) {
    donation->kept = blocks->donation.kept;
    donation->which = blocks->donation.kept ? blocks->whose[blocks->donation.which] : 0;
    donation->taken = blocks->donation.kept ? donation->n - 1 : donation->n;
}

static int run_giving(neap_ctx *ctx, const lazy_lowered *lowered, neap_node *const *inputs, neap_node *const *blocks,
                      lazy_donation *donation, neap_node **results) {
    block_donation given = {.inputs = NULL};
    int status = dig(ctx, inputs, donation);
    bool dug = status == 0;
    if (status == 0)
        status = split_donation(lowered, inputs, donation, &given);
    if (status == 0)
        status = program_run_nodes(ctx, lowered->program, blocks, &given.donation, results);
    if (status == 0)
        report_donation(&given, donation);
    if (dug)
        program_donation_close(ctx, inputs, donation, status == 0 || given.donation.begun);
    free(given.inputs);
    free(given.owners);
    return status;
}

int program_lowered_run(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, lazy_donation *donation,
                        neap_node **outputs) {
    const lazy_lowered *lowered = program->lowered;
    size_t nin = (size_t)lowered->program->inputs.n, nout = (size_t)lowered->program->outputs.n;
    neap_node **blocks = malloc((nin + nout + 1) * sizeof *blocks), **results = blocks + nin;
    if (!blocks)
        return neap_error(NEAP_E_MEMORY, "out of memory for a run");
    plan_hold(ctx);
    int status = list_blocks(ctx, lowered, inputs, blocks);
    if (status == 0)
        status = donation ? run_giving(ctx, lowered, inputs, blocks, donation, results)
                          : program_run_nodes(ctx, lowered->program, blocks, NULL, results);
    if (status == 0) {
        status = wrap(ctx, lowered, program, results, outputs);
        for (size_t k = 0; k < nout; k++)
            graph_release(ctx, results[k]);
    }
    free(blocks);
    int held = plan_unhold(ctx);
    for (int64_t k = 0; k < lowered->nout && held && status == 0; k++)
        graph_release(ctx, outputs[k]);
    return status ? status : held;
}
