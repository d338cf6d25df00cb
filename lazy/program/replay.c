/* replay.c: recording the ops of a program again on other nodes, which is how programs are inlined, differentiated and
 * traced into others.
 */
#include <string.h>

#include "lazy/effect/effect.h"
#include "lazy/program/program.h"

typedef struct replay { /* a program whose ops are being recorded again */
    neap_ctx *ctx;
    neap_program *program;
    neap_node *const *inputs;
    const lazy_answers *answers;
    const bool *depends; /* as in lazy_levels */
    neap_node **now;     /* by position in program->nodes */
    int64_t next_effect, root;
    bool happened; /* an effect has */
    int32_t scope; /* around all of it; 0: none */
    int from, to;  /* inputs that were committed to the one device are committed to the other; -1: none is */
    const program_watch *watch; /* NULL: nobody wants to see what is recorded */
    bool inlines;               /* calls of functions with rules (lower.h) */
    neap_node ***inlined;       /* by position: of such a call, the results of its function. OWNED; NULL: no call */
} replay;

neap_node *program_node_again(neap_ctx *ctx, const neap_node *node, neap_node *const *in) {
    const lazy_payload *payload = graph_node_op(node)->payload;
    if (payload)
        return payload->again(ctx, node, in);
    return graph_record(ctx, node->op, node->nin, in, node->nattrs, node->attrs);
}

/* A print happens, or is recorded by the trace that the program is inlined into. */
static int replay_print(replay *r, const lazy_effect *effect) {
    neap_node **nodes = calloc((size_t)effect->nodes.n + 1, sizeof *nodes);
    if (!nodes)
        return neap_error(NEAP_E_MEMORY, "out of memory for a print");
    for (int64_t k = 0; k < effect->nodes.n; k++)
        nodes[k] = r->now[r->program->root_nodes.at[r->root + k]];
    int status = effect_print_nodes(r->ctx, &effect->how, effect->nfragments, effect->fragments, nodes);
    free(nodes);
    return status;
}

static bool is_late(const replay *r, int64_t position) {
    return r->answers && r->answers->late && r->answers->late[position];
}

/* Does a print happen, of what is recorded? */
static bool print_happens(const replay *r, const lazy_effect *effect) {
    bool happens = !r->ctx->levels.without_effects;
    for (int64_t k = 0; k < effect->nodes.n; k++) {
        int64_t position = r->program->root_nodes.at[r->root + k];
        if (!r->now[position])
            return false;
        happens |= is_late(r, position);
    }
    return happens;
}

/* Prints, up to the next effect that is a node; those that were recorded before the node in this position. */
static int replay_prints(replay *r, int64_t position) {
    int status = 0;
    while (r->next_effect < r->program->effects.n && status == 0) {
        const lazy_effect *effect = r->program->effects.at[r->next_effect];
        if (effect->node || effect->place > position)
            break;
        bool happens = print_happens(r, effect);
        if (happens && (status = replay_print(r, effect)) != 0)
            break;
        r->happened |= happens;
        r->next_effect++;
        r->root += effect->nodes.n;
    }
    return status;
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */
/* Is it a result of a node that cannot run again? */
static bool is_answer(const neap_node *node) {
    const lazy_payload *payload = node->nin == 1 ? graph_node_op(node->in[0])->payload : NULL;
    return payload && payload->once && payload->once(node->in[0]);
}

/* What is given for a node; NULL: it is recorded. */
static neap_node *given_for(const replay *r, const neap_node *node) {
    const lazy_answers *answers = r->answers;
    if (!answers || !answers->given || !(is_answer(node) || graph_node_op(node)->flags & LAZY_OP_PART))
        return NULL;
    for (int64_t k = answers->first; k < r->program->outputs.n; k++)
        if (r->program->outputs.at[k] == node)
            return answers->given[k - answers->first];
    return NULL;
}

static int take_answer(const replay *r, const neap_node *node, neap_node *made) {
    if (!r->answers || !r->answers->taken || !is_answer(node))
        return 0;
    neap_node *kept = graph_arena(r->ctx, graph_retain(made));
    return kept ? lazy_push(r->answers->taken, kept) : NEAP_E_MEMORY;
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */
/* An effect that is a node; in its place what is left of it, if it does not happen. */
static neap_node *replay_effect(replay *r, int64_t position, const neap_node *node, neap_node *const *in) {
    const lazy_payload *payload = graph_node_op(node)->payload;
    lazy_levels *levels = &r->ctx->levels;
    int without = levels->without_effects;
    bool leaves_out = without && payload->without_effects && !is_late(r, position);
    if (replay_prints(r, INT64_MAX))
        return NULL;
    levels->without_effects = leaves_out ? without : 0;
    neap_node *again = leaves_out ? payload->without_effects(r->ctx, node, in) : program_node_again(r->ctx, node, in);
    levels->without_effects = without;
    if (again) {
        r->happened |= !leaves_out;
        r->next_effect++;
        r->root++;
    }
    return again;
}

/* An effect that is a node, and reads what is not recorded. */
static int pass_effect(replay *r) {
    int status = replay_prints(r, INT64_MAX);
    r->next_effect++;
    r->root++;
    return status;
}

/* A node that is no effect. Control flow may come to have some, of a rule for derivatives: in its place. What was put
 * where inputs were goes where they are. */
static neap_node *replay_plain(replay *r, int64_t position, const neap_node *node, neap_node *const *in) {
    const lazy_op *row = graph_node_op(node);
    if (row->control && replay_prints(r, position))
        return NULL;
    if (row->flags & LAZY_OP_PLACES && r->from >= 0 && node->attrs[0] == r->from)
        return graph_record(r->ctx, node->op, node->nin, in, 1, (int64_t[]){r->to});
    return program_node_again(r->ctx, node, in);
}

/* A node that is made again keeps its line, and its scope, inside of that of the call. */
static neap_node *replay_node(replay *r, int64_t position, const neap_node *node, const int32_t *link,
                              neap_node *const *in) {
    bool active[LAZY_MAX_CONTROL_INPUTS];
    int32_t around = r->ctx->sites.again;
    r->ctx->sites.again = node->site ? graph_site_within(r->ctx, r->scope, node->site) : around;
    for (int a = 0; a < node->nin && r->depends; a++)
        active[a] = r->depends[link[a]];
    r->ctx->levels.active = r->depends ? active : NULL;
    r->ctx->levels.answers = is_late(r, position) ? NULL : r->answers;
    neap_node *made =
        graph_is_effect(node) ? replay_effect(r, position, node, in) : replay_plain(r, position, node, in);
    r->ctx->levels.answers = NULL;
    r->ctx->levels.active = NULL;
    r->ctx->sites.again = around;
    if (made && take_answer(r, node, made)) {
        graph_release(r->ctx, made);
        made = NULL;
    }
    return made;
}

/* Records an abstract node that is no input, on what its inputs are now. */
static int replay_at(replay *r, int64_t position, const int32_t *link) {
    neap_node *in[LAZY_MAX_CONTROL_INPUTS], *node = r->program->nodes.at[position], *given = given_for(r, node);
    if (given) {
        r->now[position] = graph_retain(given);
        return 0;
    }
    for (int a = 0; a < node->nin; a++)
        if (!(in[a] = r->now[link[a]]))
            return graph_is_effect(node) ? pass_effect(r) : 0;
    r->now[position] = replay_node(r, position, node, link, in);
    return r->now[position] ? 0 : neap_error_code();
}

/* ---- Calls that are inlined -------------------------------------------------------------------------------------- */
neap_node *program_number_again(neap_ctx *ctx, neap_node *node) {
    if (node->flags & LAZY_WEAK)
        return node;
    if (graph_is_constant(node))
        return graph_build_number(ctx, node->value);
    bool casts = graph_node_op(node)->flags & LAZY_OP_CASTS && !(node->flags & LAZY_DROPPED);
    return casts && node->in[0]->flags & LAZY_WEAK ? node->in[0] : node;
}

/* A node in place of another node: a number where the other is a number, a weak array where the other is weak. OWNED */
static neap_node *in_place_of(neap_ctx *ctx, neap_node *node, const neap_node *other) {
    if (other->flags & LAZY_WEAK) {
        neap_node *number = program_number_again(ctx, node);
        return number ? graph_retain(number) : NULL;
    }
    if (node->flags & LAZY_WEAK)
        return graph_as_dtype(ctx, "number", node, other->dtype);
    if (node->yields == other->yields && node->fraction == other->fraction)
        return graph_retain(node);
    neap_node *alias = graph_alias(ctx, node);
    if (alias) {
        alias->yields = other->yields;
        alias->fraction = other->fraction;
    }
    return alias;
}

static int begin_inlining(replay *r) {
    if (r->inlines && !r->inlined && !(r->inlined = calloc((size_t)r->program->nodes.n, sizeof *r->inlined)))
        return neap_error(NEAP_E_MEMORY, "out of memory for a replay");
    return 0;
}

static void release_results(neap_ctx *ctx, neap_node **results, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        graph_release(ctx, results[k]);
    free(results);
}

static void end_inlining(replay *r) {
    for (int64_t k = 0; r->inlined && k < r->program->nodes.n; k++)
        if (r->inlined[k])
            release_results(r->ctx, r->inlined[k], graph_node_programs(r->program->nodes.at[k]).programs[0]->outputs.n);
    free(r->inlined);
}

static int apply(replay *r, neap_node **outputs);

/* Records the function in the place, the scope and the line of its call. */
static int apply_function(replay *r, const neap_node *call, neap_program *program, neap_node *const *in,
                          neap_node **out) {
    neap_ctx *ctx = r->ctx;
    int32_t around = ctx->sites.again, site = call->site ? graph_site_within(ctx, r->scope, call->site) : 0;
    replay inner = {.ctx = ctx, .program = program, .inputs = in, .from = -1, .inlines = true};
    inner.scope = site ? graph_site_scope(ctx, site) : r->scope;
    ctx->sites.again = site ? site : around;
    int status = apply(&inner, out);
    ctx->sites.again = around;
    return status;
}

static int replay_call(replay *r, int64_t position, const neap_node *call, const int32_t *link) {
    neap_program *program = graph_node_programs(call).programs[0];
    int64_t nin = program->inputs.n, nout = program->outputs.n;
    neap_node **in = calloc((size_t)nin + 1, sizeof *in), **out = calloc((size_t)nout + 1, sizeof *out);
    bool effect = graph_is_effect(call);
    int status = in && out ? begin_inlining(r) : neap_error(NEAP_E_MEMORY, "out of memory for a replay");
    if (status == 0)
        status = replay_prints(r, effect ? INT64_MAX : position);
    for (int64_t k = 0; k < nin && status == 0; k++)
        status = (in[k] = in_place_of(r->ctx, r->now[link[k]], program->inputs.at[k])) ? 0 : neap_error_code();
    if (status == 0 && (status = apply_function(r, call, program, in, out)) == 0) {
        r->inlined[position] = out;
        r->happened |= effect;
        r->next_effect += effect;
        r->root += effect;
    }
    if (status)
        free(out); /* there are none */
    for (int64_t k = 0; k < nin && in; k++)
        graph_release(r->ctx, in[k]);
    free(in);
    return status;
}

/* A result of an inlined call, for the node that takes the result. */
static int replay_result(replay *r, int64_t position, const neap_node *part, neap_node *const *results) {
    r->now[position] = in_place_of(r->ctx, results[part->attrs[0]], part);
    return r->now[position] ? 0 : neap_error_code();
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */
static int replay_abstract(replay *r, int64_t position, const int32_t *link) {
    const neap_node *node = r->program->nodes.at[position];
    if (r->inlined && node->nin == 1 && r->inlined[*link])
        return replay_result(r, position, node, r->inlined[*link]);
    return r->inlines && program_inlines(node) ? replay_call(r, position, node, link) : replay_at(r, position, link);
}

/* The same, unless something is given for it. */
static int replay_or_take(replay *r, int64_t position, const int32_t *link) {
    neap_node *given = r->watch && r->watch->given ? r->watch->given[position] : NULL;
    if (!given)
        return replay_abstract(r, position, link);
    r->now[position] = graph_retain(given);
    return 0;
}

/* Data, or what an export puts in its place; it goes where the inputs went. OWNED. */
static neap_node *replay_data(replay *r, neap_node *node) {
    bool moves = r->from >= 0 && node->device == r->from;
    neap_node *now = moves ? graph_build_place(r->ctx, node, r->to) : program_stand_in(r->ctx, node);
    return now ? graph_retain(now) : NULL;
}

static int replay_nodes(replay *r) {
    const int32_t *link = r->program->links.at;
    int status = 0;
    for (int64_t k = 0; k < r->program->nodes.n && status == 0; k++) {
        neap_node *node = r->program->nodes.at[k];
        if (graph_is_placeholder(node)) {
            neap_node *input = r->inputs[(int)node->value];
            r->now[k] = input ? graph_retain(input) : NULL;
        } else if (!(node->flags & LAZY_ABSTRACT)) {
            r->now[k] = replay_data(r, node);
            status = r->now[k] ? 0 : neap_error_code();
        } else {
            status = replay_or_take(r, k, link);
            link += node->nin;
        }
    }
    return status;
}

/* What the prints need is started before the first of them, so that a failure of that can still be repeated. */
static int start_prints(replay *r) {
    int status = 0;
    for (int64_t k = r->root; k < r->program->effect_roots && status == 0; k++) {
        neap_node *node = r->now[r->program->root_nodes.at[k]];
        if (node && !(node->flags & LAZY_ABSTRACT))
            status = plan_force(r->ctx, node);
    }
    return status;
}

static int replay_program(replay *r, neap_node **outputs) {
    plan_hold(r->ctx);
    int status = replay_nodes(r), held = plan_unhold(r->ctx);
    status = status ? status : held;
    if (status == 0)
        status = start_prints(r);
    if (status == 0)
        status = replay_prints(r, INT64_MAX);
    for (int64_t k = 0; k < r->program->outputs.n && status == 0; k++) {
        neap_node *node = r->now[r->program->root_nodes.at[r->program->effect_roots + k]];
        outputs[k] = node ? graph_retain(node) : NULL;
        if (node)
            graph_weak_like(node, r->program->outputs.at[k]);
    }
    for (int64_t k = 0; r->watch && k < r->watch->n && status == 0; k++) {
        neap_node *node = r->now[r->watch->positions[k]];
        r->watch->made[k] = node ? graph_retain(node) : NULL;
    }
    return status;
}

static int apply(replay *r, neap_node **outputs) {
    neap_ctx *ctx = r->ctx;
    r->answers = ctx->levels.answers;
    r->depends = ctx->levels.depends;
    ctx->levels.answers = NULL;
    ctx->levels.depends = NULL;
    r->now = calloc((size_t)r->program->nodes.n + 1, sizeof *r->now);
    int status = r->now ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a replay");
    lazy_level *trace = effect_open_trace(ctx);
    int64_t recorded = trace ? trace->effects.n : 0;
    if (status == 0)
        status = replay_program(r, outputs);
    if (status && trace)
        effect_cut(ctx, trace, recorded);
    for (int64_t k = 0; r->now && k < r->program->nodes.n; k++)
        graph_release(ctx, r->now[k]);
    free(r->now);
    end_inlining(r);
    return status ? program_fail_for_good(status, !trace && r->happened) : 0;
}

int program_apply(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, neap_node **outputs) {
    replay r = {.ctx = ctx, .program = program, .inputs = inputs, .from = -1};
    return apply(&r, outputs);
}

int program_apply_inlined(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, neap_node **outputs) {
    replay r = {.ctx = ctx, .program = program, .inputs = inputs, .from = -1, .inlines = true};
    return apply(&r, outputs);
}

int program_inline(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, neap_node **outputs) {
    replay r = {.ctx = ctx, .program = program, .inputs = inputs, .scope = ctx->sites.scope, .from = -1};
    return apply(&r, outputs);
}

static int follow_inputs(replay *r, neap_node **outputs) {
    for (int64_t k = 0; k < r->program->inputs.n; k++) {
        int was = r->program->inputs.at[k]->device, now = r->inputs[k]->device;
        if (was >= 0 && now >= 0 && was != now) {
            r->from = was;
            r->to = now;
        }
    }
    return apply(r, outputs);
}

int program_watched(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, const program_watch *watch,
                    neap_node **outputs) {
    replay r = {
        .ctx = ctx, .program = program, .inputs = inputs, .scope = ctx->sites.scope, .from = -1, .watch = watch};
    return follow_inputs(&r, outputs);
}

/* The same where the inputs may lie elsewhere. */
static int follow(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, neap_node **outputs) {
    return program_watched(ctx, program, inputs, NULL, outputs);
}

static int replay_checked(neap_ctx *ctx, neap_program *program, int n, const int32_t *ids, bool follows,
                          int32_t *outputs) {
    size_t nout = (size_t)program->outputs.n;
    neap_node **inputs = malloc(((size_t)n + nout) * sizeof *inputs + 1), **nodes = inputs + n;
    int status = inputs ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a replay");
    if (status == 0)
        status = program_inputs(ctx, program, n, ids, false, follows ? program_check_type : program_check, inputs);
    if (status == 0)
        status = (follows ? follow : program_inline)(ctx, program, inputs, nodes);
    if (status == 0)
        for (size_t k = 0; k < nout; k++) {
            if (status == 0)
                status = graph_publish(ctx, nodes[k], &outputs[k]);
            else
                graph_release(ctx, nodes[k]);
        }
    free(inputs);
    return status ? status : graph_safepoint(ctx);
}

static int play_replay(neap_ctx *ctx, graph_note *note) {
    if (note->nout != note->programs[0]->outputs.n)
        return neap_error(NEAP_E_ARGUMENT, "program: expected %lld outputs, got %d",
                          (long long)note->programs[0]->outputs.n, note->nout);
    return replay_checked(ctx, note->programs[0], note->nin, note->in, note->ints[0] != 0, note->out);
}
const graph_note_kind program_note_replay = {
    .name = "replay",
    .play = play_replay,
    .shapes = GRAPH_NOTE_OUTPUTS,
    .form = {.ints = "n", .nin = GRAPH_NOTE_ANY, .nout = GRAPH_NOTE_ANY, .nprograms = 1}};

static int note_replay(neap_ctx *ctx, int status, neap_program **program, int n, const int32_t *ids, bool follows,
                       int32_t *outputs) {
    int64_t ints[] = {follows};
    return graph_noted(ctx, status,
                       &(graph_note){.kind = &program_note_replay,
                                     .level = -1,
                                     .nin = n,
                                     .in = ids,
                                     .nout = (int32_t)(*program)->outputs.n,
                                     .out = outputs,
                                     .nints = 1,
                                     .ints = ints,
                                     .nprograms = 1,
                                     .programs = program});
}

int neap_program_replay(neap_ctx *ctx, neap_program *program, int n, const int32_t *ids, int32_t *outputs) {
    int status = replay_checked(ctx, program, n, ids, false, outputs);
    return note_replay(ctx, status, &program, n, ids, false, outputs);
}

int neap_program_follow(neap_ctx *ctx, neap_program *program, int n, const int32_t *ids, int32_t *outputs) {
    int status = replay_checked(ctx, program, n, ids, true, outputs);
    return note_replay(ctx, status, &program, n, ids, true, outputs);
}
