/* batch_program.c: batches on arrays: the public functions, which the library's np.vmap calls, and their notes in a
 * transcript. What is recorded, the walk (batch.c) decides.
 */
#include <math.h>
#include <string.h>

#include "lazy/derive/batch.h"
#include "lazy/program/program.h"

/* ---- On arrays --------------------------------------------------------------------------------------------------- */
/* Does a node fit input k as a batch: the examples, then the input's own axes? */
static int check_batched(const neap_program *program, int k, const neap_node *node, int64_t size) {
    const neap_node *want = program->inputs.at[k];
    char left[256], right[256];
    if (want->flags & LAZY_WEAK)
        return neap_error(NEAP_E_ARGUMENT, "vmap: input %d is a number, which cannot be batched", k + 1);
    bool fits = node->ndim == want->ndim + 1 && node->shape[0] == size && node->dtype == want->dtype &&
                node->device == want->device &&
                memcmp(node->shape + 1, want->shape, want->ndim * sizeof *want->shape) == 0;
    return fits ? 0
                : neap_error(NEAP_E_SHAPE, "vmap: input %d: expected %lld examples of %s %s, got %s %s", k + 1,
                             (long long)size, neap_dtype_name(want->dtype),
                             graph_shape_text(want->ndim, want->shape, left, sizeof left), neap_dtype_name(node->dtype),
                             graph_shape_text(node->ndim, node->shape, right, sizeof right));
}

static int find_inputs(neap_ctx *ctx, const neap_program *program, int64_t size, int n, const int32_t *ids,
                       const bool *batched, neap_node **nodes) {
    if (n != program->inputs.n)
        return neap_error(NEAP_E_ARGUMENT, "vmap: expected %lld inputs, got %d", (long long)program->inputs.n, n);
    if (size < 0)
        return neap_error(NEAP_E_ARGUMENT, "vmap: expected a size of at least 0, got %lld", (long long)size);
    for (int k = 0; k < n; k++) {
        if (!(nodes[k] = graph_lookup_any(ctx, ids[k])))
            return neap_error_code();
        int status =
            batched[k] ? check_batched(program, k, nodes[k], size) : program_check(program, k, nodes[k], false);
        if (status)
            return status;
    }
    return 0;
}

/* Its rules are those of `how`. */
static int batch_ids(neap_ctx *ctx, neap_program *program, const neap_batch *how, int n, const int32_t *ids,
                     const uint8_t *batched, int32_t *outputs, uint8_t *out_batched) {
    size_t nout = (size_t)program->outputs.n, nin = n > 0 ? (size_t)n : 0;
    neap_node **inputs = malloc((nin + nout) * sizeof *inputs + 1), **nodes = inputs + nin;
    bool *flags = calloc(nin + nout + 1, sizeof *flags);
    int status = inputs && flags ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a batch");
    for (size_t k = 0; k < nin && status == 0; k++)
        flags[k] = batched[k];
    if (status == 0)
        status = find_inputs(ctx, program, how->size, n, ids, flags, inputs);
    ctx->batch = (lazy_batch_state){.how = how};
    if (status == 0)
        status = derive_program_batch(ctx, program, how->size, NULL, inputs, flags, nodes, flags + nin);
    ctx->batch = (lazy_batch_state){0};
    if (status == 0)
        status = program_fail_for_good(graph_publish_all(ctx, (int)nout, nodes, outputs), program->effects.n > 0);
    for (size_t k = 0; k < nout && status == 0; k++)
        out_batched[k] = flags[nin + k];
    free(inputs);
    free(flags);
    return status ? status : graph_safepoint(ctx);
}

/* ---- In a transcript ---------------------------------------------------------------------------------------------
 * Programs of the note: the one that is batched, then the callee and the program of each rule. Operands: its inputs,
 * then what the rules have lifted. Integers: which inputs are batched, and which outputs; then of each rule how many
 * flags it has and how much it has lifted, and the flags. */
enum { RULE_FLAGS, RULE_LIFTED, RULE_HEAD };

static int64_t count_flags(const neap_batch_rule *rule) {
    return rule->program->inputs.n - rule->nlifted + rule->program->outputs.n;
}

/* Takes the rules out of the note; *flags is OWNED, and has all flags of the note, the others first. */
static int rules_of_note(const graph_note *note, int nin, neap_batch_rule *rules, uint8_t **flags) {
    int64_t at = nin + note->nout, lifted = nin;
    if (!(*flags = malloc((size_t)note->nints + 1)))
        return neap_error(NEAP_E_MEMORY, "out of memory for a batch");
    for (int k = 0; k < note->nints; k++)
        (*flags)[k] = note->ints[k] != 0;
    for (int r = 0; 1 + 2 * r < note->nprograms; r++) {
        neap_batch_rule *rule = &rules[r];
        bool whole = at + RULE_HEAD <= note->nints && 2 + 2 * r < note->nprograms;
        int64_t n = whole ? note->ints[at + RULE_FLAGS] : -1, more = whole ? note->ints[at + RULE_LIFTED] : -1;
        if (n < 0 || n > note->nints - at - RULE_HEAD || more < 0 || more > note->nin - lifted)
            return neap_error(NEAP_E_ARGUMENT, "vmap: rule %d is incomplete", r + 1);
        *rule = (neap_batch_rule){.callee = note->programs[1 + 2 * r],
                                  .program = note->programs[2 + 2 * r],
                                  .batched = *flags + at + RULE_HEAD,
                                  .nlifted = (int32_t)more,
                                  .lifted = note->in + lifted};
        if (n != count_flags(rule) || n < rule->callee->outputs.n)
            return neap_error(NEAP_E_ARGUMENT, "vmap: rule %d does not fit its call", r + 1);
        at += RULE_HEAD + n;
        lifted += more;
    }
    return at == note->nints && lifted == note->nin ? 0 : neap_error(NEAP_E_ARGUMENT, "vmap: too many operands");
}

static int play_batch(neap_ctx *ctx, graph_note *note) {
    bool size = note->number >= 0 && note->number <= 9007199254740992.0 && note->number == floor(note->number);
    int64_t nin = note->nprograms < 1 ? INT64_MAX : note->programs[0]->inputs.n;
    if (!size || nin > note->nin || note->nints < nin + note->nout || note->nout != note->programs[0]->outputs.n)
        return neap_error(NEAP_E_ARGUMENT, "vmap: %d results of %.17g examples", note->nout, note->number);
    neap_batch_rule *rules = calloc((size_t)note->nprograms, sizeof *rules);
    uint8_t *flags = NULL, *out = malloc((size_t)note->nout + 1);
    int status = rules && out ? rules_of_note(note, (int)nin, rules, &flags)
                              : neap_error(NEAP_E_MEMORY, "out of memory for a batch");
    neap_batch how = {.size = (int64_t)note->number, .nrules = (note->nprograms - 1) / 2, .rules = rules};
    if (status == 0)
        status = batch_ids(ctx, note->programs[0], &how, (int)nin, note->in, flags, note->out, out);
    for (int k = 0; k < note->nout && status >= 0; k++)
        if (out[k] != flags[nin + k])
            status = neap_error(NEAP_E_SHAPE, "vmap: result %d is batched for some sizes only", k + 1);
    free(rules);
    free(flags);
    free(out);
    return status;
}
const graph_note_kind derive_note_batch = {
    .name = "batch",
    .play = play_batch,
    .shapes = GRAPH_NOTE_OUTPUTS,
    .form = {.ints = "n*", .nin = GRAPH_NOTE_ANY, .nout = GRAPH_NOTE_ANY, .nprograms = GRAPH_NOTE_ANY}};

typedef struct batch_note { /* what a note of a batch is made of */
    LAZY_VECTOR(int64_t) ints;
    LAZY_VECTOR(int32_t) in;
    LAZY_VECTOR(neap_program *) programs;
} batch_note;

static int note_rule(batch_note *note, const neap_batch_rule *rule) {
    int64_t n = count_flags(rule), head[RULE_HEAD] = {[RULE_FLAGS] = n, [RULE_LIFTED] = rule->nlifted};
    neap_program *programs[] = {rule->callee, rule->program};
    int status = 0;
    for (int k = 0; k < 2 && status == 0; k++)
        status = lazy_push(&note->programs, programs[k]);
    for (int k = 0; k < RULE_HEAD && status == 0; k++)
        status = lazy_push(&note->ints, head[k]);
    for (int64_t k = 0; k < n && status == 0; k++)
        status = lazy_push(&note->ints, (int64_t)rule->batched[k]);
    for (int32_t k = 0; k < rule->nlifted && status == 0; k++)
        status = lazy_push(&note->in, rule->lifted[k]);
    return status;
}

/* ---- Public ------------------------------------------------------------------------------------------------------ */
int neap_program_batch(neap_ctx *ctx, neap_program *program, const neap_batch *how, int n, const int32_t *ids,
                       const uint8_t *batched, int32_t *outputs, uint8_t *out_batched) {
    int status = batch_ids(ctx, program, how, n, ids, batched, outputs, out_batched), nout = (int)program->outputs.n;
    if (!ctx->transcript)
        return status;
    batch_note note = {0};
    int noted = lazy_push(&note.programs, program);
    for (int k = 0; k < n && noted == 0; k++)
        noted = lazy_push(&note.ints, (int64_t)batched[k]);
    for (int k = 0; k < n && noted == 0; k++)
        noted = lazy_push(&note.in, ids[k]);
    for (int k = 0; k < nout && noted == 0; k++)
        noted = lazy_push(&note.ints, status < 0 ? 0 : (int64_t)out_batched[k]);
    for (int32_t r = 0; r < how->nrules && noted == 0; r++)
        noted = note_rule(&note, &how->rules[r]);
    status = noted ? graph_unnoted(ctx, status)
                   : graph_noted(ctx, status,
                                 &(graph_note){.kind = &derive_note_batch,
                                               .level = -1,
                                               .number = (double)how->size,
                                               .nin = (int32_t)note.in.n,
                                               .in = note.in.at,
                                               .nout = nout,
                                               .out = outputs,
                                               .nints = (int32_t)note.ints.n,
                                               .ints = note.ints.at,
                                               .nprograms = (int32_t)note.programs.n,
                                               .programs = note.programs.at});
    lazy_vector_free(&note.ints);
    lazy_vector_free(&note.in);
    lazy_vector_free(&note.programs);
    return status;
}

/* The batch on placeholders of a trace that is dropped. */
static int try_batch(neap_ctx *ctx, int level, neap_program *program, int64_t size, const bool *batched) {
    size_t nin = (size_t)program->inputs.n, nout = (size_t)program->outputs.n;
    neap_node **in = calloc(nin + nout + 1, sizeof *in), **out = in + nin;
    bool *out_batched = calloc(nout + 1, sizeof *out_batched);
    int status = in && out_batched ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a batch");
    if (status == 0)
        status = derive_batch_inputs(ctx, size, level, program, 0, batched, in);
    if (status == 0)
        status = derive_program_batch(ctx, program, size, NULL, in, batched, out, out_batched);
    for (size_t k = 0; k < nout && status == 0; k++)
        graph_release(ctx, out[k]);
    free(in);
    free(out_batched);
    return status;
}

int neap_program_batch_wants(neap_ctx *ctx, neap_program *program, const neap_batch *how, const uint8_t *batched,
                             neap_batch_wanted *out) {
    bool some = false;
    for (int64_t k = 0; k < program->nodes.n && !some; k++)
        some = derive_has_batch_rules(program->nodes.at[k]);
    out->callee = NULL;
    if (!some)
        return 0;
    bool *flags = calloc((size_t)program->inputs.n + 1, sizeof *flags);
    int level = -1, status = flags ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a batch");
    for (int64_t k = 0; k < program->inputs.n && status == 0; k++)
        flags[k] = batched[k];
    if (status == 0)
        status = graph_trace_derived(ctx, &level);
    ctx->batch = (lazy_batch_state){.how = how, .wanted = out};
    if (status == 0)
        status = try_batch(ctx, level, program, how->size, flags);
    ctx->batch = (lazy_batch_state){0};
    if (level >= 0)
        graph_level_end(ctx, level);
    free(flags);
    return out->callee ? 0 : status;
}
