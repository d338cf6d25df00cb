/* control/steps.c: a program step by step: the lines of its printed form, the values of all of them on given arrays,
 * and the programs that its control flow runs. Whoever steps (stdlib/neap/inspect/steps.lua) runs those turn by turn;
 * whoever keeps some values of a function (stdlib/neap/transforms/policies.lua) cuts its program there.
 *
 *      neap_program_steps      program ──▶ a text: a line for each step (lazy/programs.h)
 *      neap_step_values        program, arrays ──replay──▶ for each step its values, then what its programs read
 *      neap_step_program       program, step ──▶ a program that the step runs
 *      neap_program_cut        program, arrays ──replay──▶ the values of some ops, others of which were given, and
 *                              the outputs
 *
 * The lines change when a constructor that the program has captured is computed, as a replay may do. So whoever asks
 * for values and programs has asked for the lines just before.
 */
#include <string.h>

#include "lazy/arena.h"
#include "lazy/control/control.h"

/* ---- Control flow ------------------------------------------------------------------------------------------------ */
static bool is_control(const neap_node *node) {
    return node && program_is_constructed(node) && control_is_control(node);
}

/* Why nobody may run the programs of a node again; NULL: one may. */
static const char *closed_because(const neap_program *program, const lazy_control *control) {
    if (control->asks)
        return "a callback gives results in it";
    return program->meshed || control->shardings || control->apart || control->joined ? "it runs on a mesh" : NULL;
}

/* What the programs of a step read follows its values. */
static int reads(const neap_program *program, const program_line *line) {
    if (!is_control(line->node) || closed_because(program, control_of(line->node)))
        return 0;
    return line->node->nin;
}

static const char *kind_name(const lazy_control_kind *kind) {
    return kind->branches ? "branch" : kind->condition ? "while" : kind->stacks ? "scan" : "call";
}

/* For each program which inputs of the node are its inputs: "0,1,4;0,1,5". */
static void say_inputs(lazy_print *print, const lazy_control *control) {
    for (int p = 0; p < control_bodies(control); p++)
        for (int k = 0; k < control->programs[p]->inputs.n; k++)
            lazy_say(print, "%s%d", k ? "," : p ? ";" : "", control_input_of(&control->shape, p, k));
}

static void say_control(lazy_print *print, const neap_program *program, const lazy_control *control) {
    const lazy_control_shape *shape = &control->shape;
    const char *why = closed_because(program, control);
    lazy_say(print, "%s\t%s\t%lld\t%d\t%d\t%d\t", kind_name(shape->kind), why ? why : "", (long long)shape->length,
             shape->reverse, shape->operands, shape->xs);
    say_inputs(print, control);
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */
/* Numbers the nodes of the program by their places; returns the mark of these. */
static uint32_t number_nodes(const neap_program *program) {
    uint32_t epoch = ++program->ctx->walk.epoch;
    for (int64_t k = 0; k < program->nodes.n; k++) {
        program->nodes.at[k]->mark = epoch;
        program->nodes.at[k]->index = (uint32_t)k;
    }
    return epoch;
}

/* May something be given in place of what a replay records for the node? */
static bool may_be_given(const neap_node *node) {
    return node->flags & LAZY_ABSTRACT && !graph_is_placeholder(node) && !graph_is_effect(node) &&
           !graph_has_programs(node);
}

/* The place of an op among the nodes of the program, numbered under a mark, where its value may be given; else -1. */
static int place_of(const program_line *line, uint32_t epoch) {
    bool cut = line->node && line->n == 1 && line->node->mark == epoch && may_be_given(line->node);
    return cut ? (int)line->node->index : -1;
}

static void say_step(lazy_print *print, const neap_program *program, const program_lines *lines, int64_t k,
                     uint32_t epoch) {
    const program_line *line = &lines->lines.at[k];
    const char *kind = k < program->inputs.n ? "input" : line->node ? "op" : line->effect ? "print" : "return";
    const char *site = line->node     ? graph_site_text(program->ctx, line->node->site)
                       : line->effect ? effect_site(program->ctx, line->effect)
                                      : NULL;
    lazy_say(print, "%.*s\t%s\t%lld\t%d\t%d\t", (int)(line->to - line->from), lines->text.data + line->from,
             site ? site : "", (long long)line->n, reads(program, line), place_of(line, epoch));
    if (is_control(line->node))
        say_control(print, program, control_of(line->node));
    else
        lazy_say(print, "%s", kind);
    lazy_say(print, "\n");
}

int neap_program_steps(neap_program *program, char *text, size_t capacity, size_t *bytes) {
    lazy_print print = {0};
    program_lines lines = {0};
    print.status = program_list_lines(program, &lines);
    uint32_t epoch = number_nodes(program);
    for (int64_t k = 0; k < lines.lines.n && print.status == 0; k++)
        say_step(&print, program, &lines, k, epoch);
    program_lines_free(&lines);
    return program_print_finish(&print, text, capacity, bytes);
}

static int find_step(const neap_program *program, int step, program_lines *lines, const lazy_control **control) {
    int status = program_list_lines(program, lines);
    const neap_node *node = status == 0 && step >= 0 && step < lines->lines.n ? lines->lines.at[step].node : NULL;
    if (status == 0 && !is_control(node))
        status = neap_error(NEAP_E_ARGUMENT, "steps: step %d runs no program", step);
    *control = status ? NULL : control_of(node);
    return status;
}

int neap_step_program(neap_program *program, int step, int k, neap_program **out) {
    const lazy_control *control;
    program_lines lines = {0};
    int status = find_step(program, step, &lines, &control);
    if (status == 0 && (k < 0 || k >= control_bodies(control)))
        status = neap_error(NEAP_E_ARGUMENT, "steps: step %d has no program %d", step, k);
    if (status == 0)
        *out = program_retain(control->programs[k]);
    program_lines_free(&lines);
    return status;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */
static int list_wanted(const neap_program *program, const program_lines *lines, lazy_nodes *to) {
    int status = 0;
    for (int64_t k = 0; k < lines->lines.n && status == 0; k++) {
        const program_line *line = &lines->lines.at[k];
        for (int64_t v = 0; v < line->n && status == 0; v++)
            status = lazy_push(to, lines->values.at[line->first + v]);
        for (int r = 0; r < reads(program, line) && status == 0; r++)
            status = lazy_push(to, line->node->in[r]);
    }
    return status;
}

/* Where the wanted nodes stand in the program, -1 for what a replay does not record; behind these n positions once more
 * those that are recorded, so many of which there are. */
static int64_t find_recorded(const neap_program *program, const lazy_nodes *wanted, int64_t *positions) {
    uint32_t epoch = number_nodes(program);
    int64_t n = 0;
    for (int64_t k = 0; k < wanted->n; k++)
        positions[k] = wanted->at[k]->mark == epoch ? (int64_t)wanted->at[k]->index : -1;
    for (int64_t k = 0; k < wanted->n; k++)
        if (positions[k] >= 0)
            positions[wanted->n + n++] = positions[k];
    return n;
}

/* What stands for a wanted node that is not recorded: an input that nobody reads, a constant. */
static neap_node *as_it_is(neap_node *node, neap_node *const *inputs) {
    return graph_is_placeholder(node) ? inputs[(int)node->value] : node;
}

/* Replays the program. made[k] gets a node for each that is wanted, OWNED; on failure there are none. */
static int replay_wanted(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, const lazy_nodes *wanted,
                         neap_node **made) {
    size_t n = (size_t)wanted->n, outputs = (size_t)program->outputs.n;
    int64_t *positions = malloc((2 * n + 1) * sizeof *positions);
    neap_node **seen = calloc(n + outputs + 1, sizeof *seen);
    int status = positions && seen ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for the steps of a program");
    if (status == 0) {
        program_watch watch = {.n = find_recorded(program, wanted, positions), .positions = positions + n};
        watch.made = seen;
        status = program_watched(ctx, program, inputs, &watch, seen + n);
    }
    for (size_t k = 0, at = 0; k < n && status == 0; k++)
        made[k] = positions[k] >= 0 ? seen[at++] : graph_retain(as_it_is(wanted->at[k], inputs));
    for (size_t k = 0; k < outputs && status == 0; k++)
        graph_release(ctx, seen[n + k]);
    free(positions);
    free(seen);
    return status;
}

static int step_values(neap_ctx *ctx, neap_program *program, int n, const int32_t *ids, const lazy_nodes *wanted,
                       int32_t *out) {
    neap_node **inputs = calloc((size_t)(n + wanted->n) + 1, sizeof *inputs), **made = inputs + n;
    int status = inputs ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for the steps of a program");
    if (status == 0)
        status = program_inputs(ctx, program, n, ids, false, program_check_type, inputs);
    if (status == 0)
        status = replay_wanted(ctx, program, inputs, wanted, made);
    if (status == 0)
        status = graph_publish_all(ctx, (int)wanted->n, made, out);
    free(inputs);
    return status;
}

int neap_step_values(neap_ctx *ctx, neap_program *program, int silent, int n, const int32_t *inputs, int count,
                     int32_t *values) {
    program_lines lines = {0};
    lazy_nodes wanted = {0};
    int status = program_list_lines(program, &lines), before = ctx->levels.without_effects;
    if (status == 0)
        status = list_wanted(program, &lines, &wanted);
    if (status == 0 && wanted.n != count)
        status =
            neap_error(NEAP_E_STATE, "steps: the program has %lld values by now, not %d", (long long)wanted.n, count);
    ctx->levels.without_effects = silent ? 1 : before;
    if (status == 0)
        status = step_values(ctx, program, n, inputs, &wanted, values);
    ctx->levels.without_effects = before;
    program_lines_free(&lines);
    lazy_vector_free(&wanted);
    return status ? status : graph_safepoint(ctx);
}

/* ---- Cuts -------------------------------------------------------------------------------------------------------- */
typedef struct cut {             /* one block */
    neap_node **inputs, **given; /* given: by cut, then by place in the program. BORROWED */
    neap_node **made;            /* the values of the cuts, then the outputs. OWNED */
    int64_t *positions;
} cut;

static int find_cuts(neap_ctx *ctx, const neap_program *program, int ncuts, const int32_t *places, const int32_t *given,
                     const cut *c) {
    int status = graph_lookup_all(ctx, true, ncuts, given, c->given);
    for (int k = 0; k < ncuts && status == 0; k++) {
        if (places[k] < 0 || places[k] >= program->nodes.n || !may_be_given(program->nodes.at[places[k]]))
            return neap_error(NEAP_E_ARGUMENT, "cut: place %d of the program is no op with a value", places[k]);
        c->positions[k] = places[k];
        c->given[ncuts + places[k]] = c->given[k];
    }
    return status;
}

static int replay_cut(neap_ctx *ctx, neap_program *program, int n, const int32_t *inputs, int ncuts,
                      const int32_t *places, const int32_t *given, int32_t *out) {
    cut c;
    size_t outputs = (size_t)program->outputs.n, cuts = (size_t)ncuts;
    if (!LAZY_ARENA(LAZY_PART(c.inputs, n + 1), LAZY_PART(c.given, cuts + (size_t)program->nodes.n),
                    LAZY_PART(c.made, cuts + outputs), LAZY_PART(c.positions, cuts)))
        return neap_error(NEAP_E_MEMORY, "out of memory for a part of a program");
    int status = find_cuts(ctx, program, ncuts, places, given, &c);
    if (status == 0)
        status = program_inputs(ctx, program, n, inputs, false, program_check_type, c.inputs);
    if (status == 0) {
        program_watch watch = {.n = ncuts, .positions = c.positions, .made = c.made, .given = c.given + ncuts};
        status = program_watched(ctx, program, c.inputs, &watch, c.made + ncuts);
    }
    if (status == 0)
        status = graph_publish_all(ctx, (int)(cuts + outputs), c.made, out);
    free(c.inputs);
    return status;
}

/* Nobody can ask for it again: where the ops stand may depend on the sizes. */
static const graph_note_kind cut_note = {.name = "policy of a np.checkpoint that is a function"};

int neap_program_cut(neap_ctx *ctx, neap_program *program, int n, const int32_t *inputs, int ncuts,
                     const int32_t *places, const int32_t *given, int32_t *out) {
    int status = replay_cut(ctx, program, n, inputs, ncuts, places, given, out);
    status = graph_noted(ctx, status, &(graph_note){.kind = &cut_note, .level = -1});
    return status ? status : graph_safepoint(ctx);
}
