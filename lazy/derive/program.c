/* derive/program.c: derivatives of programs on given inputs: the program's ops are recorded again on a tape of its own,
 * which is walked and closed. For rules of nodes that run programs. Recording must be held: what is returned is in the
 * arena.
 */
#include "lazy/program/program.h"
#include "lazy/derive/build.h"
#include "lazy/derive/derive.h"
#include "lazy/dtype/scalar.h"

int derive_program_on(neap_ctx *ctx, neap_program *program, neap_node *const *in, neap_node **out) {
    size_t n = (size_t)program->inputs.n;
    neap_node **given = malloc(n * sizeof *given + 1);
    int status = given ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    for (size_t k = 0; k < n && status == 0; k++) {
        given[k] = program->inputs.at[k]->flags & LAZY_WEAK ? program_number_again(ctx, in[k]) : in[k];
        status = given[k] ? 0 : neap_error_code();
    }
    if (status == 0)
        status = program_apply(ctx, program, given, out);
    for (int64_t k = 0, made = status == 0 ? program->outputs.n : 0; k < made; k++)
        if (!graph_arena(ctx, out[k]))
            status = NEAP_E_MEMORY;
    free(given);
    return status;
}

typedef struct taped { /* a program on a tape */
    int level, naliases;
    neap_node **inputs, **aliases, **values, **outputs, **seeds; /* values: by alias */
    int *places;                                                 /* of the aliases among the inputs */
} taped;

/* Inputs with active[k], if they are floats, get aliases. */
static int open_tape(neap_ctx *ctx, neap_program *program, neap_node *const *in, const bool *active, taped *t) {
    size_t n = (size_t)program->inputs.n;
    *t = (taped){.level = -1};
    t->inputs = calloc(3 * n + 2 * (size_t)program->outputs.n + 1, sizeof *t->inputs);
    t->places = calloc(n + 1, sizeof *t->places);
    if (!t->inputs || !t->places)
        return neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    t->aliases = t->inputs + n;
    t->values = t->aliases + n;
    t->outputs = t->values + n;
    t->seeds = t->outputs + program->outputs.n;
    int status = graph_tape_begin(ctx, &t->level);
    for (size_t k = 0; k < n && status == 0; k++) {
        t->inputs[k] = in[k];
        if (!active[k] || !dtype_is_inexact(in[k]->dtype))
            continue;
        t->inputs[k] = graph_arena(ctx, graph_tape_alias(ctx, t->level, in[k]));
        t->places[t->naliases] = (int)k;
        t->aliases[t->naliases++] = t->inputs[k];
        status = t->inputs[k] ? 0 : neap_error_code();
    }
    return status ? status : derive_program_on(ctx, program, t->inputs, t->outputs);
}

/* Returns the status, or what closing it gives. */
static int close_tape(neap_ctx *ctx, taped *t, int status) {
    int left = t->level >= 0 ? graph_level_end(ctx, t->level) : 0;
    free(t->inputs);
    free(t->places);
    return status ? status : left;
}

/* The seeds where the outputs are, which a program may have put on several devices: who differentiates a call of it
 * sees one node, on one device. */
static int place_seeds(neap_ctx *ctx, int n, const taped *t, neap_node *const *seeds) {
    int status = 0;
    for (int k = 0; k < n && status == 0; k++) {
        t->seeds[k] = seeds[k];
        if (seeds[k] && seeds[k]->device >= 0 && t->outputs[k]->device >= 0)
            status = (t->seeds[k] = graph_build_place(ctx, seeds[k], t->outputs[k]->device)) ? 0 : neap_error_code();
    }
    return status;
}

int derive_program_gradient(neap_ctx *ctx, neap_program *program, neap_node *const *in, const bool *active,
                            neap_node *const *seeds, neap_node **back) {
    taped t;
    int n = (int)program->outputs.n, status = open_tape(ctx, program, in, active, &t);
    if (status == 0)
        status = place_seeds(ctx, n, &t, seeds);
    if (status == 0)
        status = derive_tape_gradient(ctx, t.level, n, t.outputs, t.seeds, t.naliases, t.aliases, t.values);
    for (int64_t k = 0; k < program->inputs.n; k++)
        back[k] = NULL;
    for (int k = 0, made = status == 0 ? t.naliases : 0; k < made; k++)
        if (!(back[t.places[k]] = graph_arena(ctx, t.values[k])))
            status = NEAP_E_MEMORY;
    return close_tape(ctx, &t, status);
}

int derive_program_tangent(neap_ctx *ctx, neap_program *program, neap_node *const *in, neap_node *const *tangents,
                           neap_node **out) {
    taped t = {.level = -1};
    bool *active = calloc((size_t)program->inputs.n + 1, sizeof *active);
    int n = (int)program->outputs.n;
    int status = active ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for tangents");
    for (int64_t k = 0; k < program->inputs.n && status == 0; k++)
        active[k] = tangents[k] != NULL;
    if (status == 0)
        status = open_tape(ctx, program, in, active, &t);
    for (int k = 0; k < t.naliases && status == 0; k++)
        t.values[k] = tangents[t.places[k]];
    if (status == 0)
        status = derive_tape_tangent(ctx, t.level, t.naliases, t.aliases, t.values, n, t.outputs, out);
    for (int k = 0, made = status == 0 ? n : 0; k < made; k++)
        if (!graph_arena(ctx, out[k]))
            status = NEAP_E_MEMORY;
    free(active);
    return close_tape(ctx, &t, status);
}
