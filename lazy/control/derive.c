/* control/derive.c: making programs of the programs of control nodes (control/derive.h). */
#include <string.h>

#include "lazy/control/derive.h"
#include "lazy/derive/derive.h"
#include "lazy/effect/effect.h"

/* ---- What was made ----------------------------------------------------------------------------------------------- */
neap_program **control_derived_find(const lazy_control *control, char rule, int nkey, const bool *key) {
    for (lazy_derived *d = control->derived; d; d = d->next)
        if (d->rule == rule && d->nkey == nkey && (nkey == 0 || memcmp(d->key, key, (size_t)nkey * sizeof *key) == 0))
            return d->programs;
    return NULL;
}

neap_program **control_derived_keep(lazy_control *control, char rule, int nkey, const bool *key, int n,
                                    neap_program *const *programs) {
    lazy_derived *d = calloc(1, sizeof *d + (size_t)nkey * sizeof *key);
    neap_program **list = malloc((size_t)n * sizeof *list + 1);
    if (!d || !list) {
        free(d);
        free(list);
        for (int p = 0; p < n; p++)
            neap_program_free(programs[p]);
        neap_error(NEAP_E_MEMORY, "out of memory for a program");
        return NULL;
    }
    *d = (lazy_derived){.next = control->derived, .rule = rule, .nkey = nkey, .nprograms = n, .programs = list};
    if (nkey)
        memcpy(d->key, key, (size_t)nkey * sizeof *key);
    if (n)
        memcpy(list, programs, (size_t)n * sizeof *list);
    control->derived = d;
    return list;
}

void control_derived_free(lazy_derived *d) {
    while (d) {
        lazy_derived *next = d->next;
        for (int p = 0; p < d->nprograms; p++)
            neap_program_free(d->programs[p]);
        free(d->programs);
        free(d);
        d = next;
    }
}

/* ---- Making one -------------------------------------------------------------------------------------------------- */
int control_maker_begin(lazy_maker *m, neap_ctx *ctx, neap_program *program, bool tape) {
    size_t nin = (size_t)program->inputs.n, nout = (size_t)program->outputs.n;
    *m = (lazy_maker){.ctx = ctx, .program = program, .trace = -1, .tape = -1};
    if (!(m->in = calloc(nin + nout + 1, sizeof *m->in)))
        return neap_error(NEAP_E_MEMORY, "out of memory for a program");
    m->out = m->in + nin;
    int status = graph_trace_derived(ctx, &m->trace);
    return status || !tape ? status : graph_tape_begin(ctx, &m->tape);
}

neap_node *control_maker_input(lazy_maker *m, const neap_node *like) {
    return graph_placeholder_like(m->ctx, m->trace, like);
}

int control_maker_given(lazy_maker *m, int k, neap_node *placeholder, bool taped) {
    if (!placeholder)
        return NEAP_E_MEMORY;
    m->in[k] = taped ? graph_arena(m->ctx, graph_tape_alias(m->ctx, m->tape, placeholder)) : placeholder;
    return m->in[k] ? 0 : neap_error_code();
}

static int apply_program(lazy_maker *m, int rules, int without_effects, const lazy_answers *answers) {
    lazy_levels *levels = &m->ctx->levels, before = *levels;
    levels->rules = rules;
    levels->without_effects = without_effects;
    levels->answers = answers;
    levels->depends = m->depends;
    int status = program_apply(m->ctx, m->program, m->in, m->out);
    levels->rules = before.rules;
    levels->without_effects = before.without_effects;
    return status;
}

int control_maker_apply(lazy_maker *m, const lazy_answers *given) {
    return apply_program(m, LAZY_RULES_AS_THEY_ARE, 1, given);
}

int control_maker_apply_as(lazy_maker *m, int rules, bool takes) {
    return apply_program(m, rules, 0, takes ? &(lazy_answers){.taken = &m->answers} : NULL);
}

int control_maker_end(lazy_maker *m, int status, neap_program **made) {
    int left = m->tape >= 0 ? graph_level_end(m->ctx, m->tape) : 0;
    status = status ? status : left;
    if (status == 0)
        status = program_trace_end(m->ctx, m->trace, (int)m->results.n, m->results.at, made);
    if (status && m->trace >= 0)
        graph_level_end(m->ctx, m->trace);
    for (int64_t k = 0; m->in && k < m->program->outputs.n; k++)
        graph_release(m->ctx, m->out[k]);
    free(m->in);
    lazy_vector_free(&m->results);
    lazy_vector_free(&m->answers);
    return status;
}

static int push_all_results(lazy_maker *m) {
    int status = 0;
    for (int64_t k = 0; k < m->program->outputs.n && status == 0; k++)
        status = lazy_push(&m->results, m->out[k]);
    for (int64_t k = 0; k < m->answers.n && status == 0; k++)
        status = lazy_push(&m->results, m->answers.at[k]);
    return status;
}

static int apply_again(neap_ctx *ctx, neap_program *program, const bool *depends, int (*apply)(lazy_maker *),
                       neap_program **made) {
    lazy_maker m;
    int status = control_maker_begin(&m, ctx, program, false);
    m.depends = depends;
    for (int k = 0; k < program->inputs.n && status == 0; k++)
        status = control_maker_given(&m, k, control_maker_input(&m, program->inputs.at[k]), false);
    if (status == 0)
        status = apply(&m);
    if (status == 0)
        status = push_all_results(&m);
    return control_maker_end(&m, status, made);
}

/* Does a call with a rule ask? Only a kept one hands out its answers. */
static bool has_asking_rules(const neap_program *program) {
    bool some = false;
    for (int64_t k = 0; k < program->nodes.n && !some; k++) {
        const neap_node *node = program->nodes.at[k];
        const lazy_control *control = control_is_control(node) && node->flags & LAZY_ABSTRACT ? control_of(node) : NULL;
        some = control && control->ruled && control->asks;
    }
    return some;
}

static int apply_asking(lazy_maker *m) {
    int rules = has_asking_rules(m->program) ? LAZY_RULES_KEPT : LAZY_RULES_AS_THEY_ARE;
    return control_maker_apply_as(m, rules, true);
}

int control_program_asking(neap_ctx *ctx, neap_program *program, neap_program **made) {
    return apply_again(ctx, program, NULL, apply_asking, made);
}

neap_program **control_derived_make(neap_ctx *ctx, lazy_control *control, char rule, int nkey, const bool *key,
                                    int counted, control_make_fn make, const void *how) {
    neap_program **found = control_derived_find(control, rule, nkey, key);
    neap_program **list = found ? NULL : calloc((size_t)control->nprograms, sizeof *list);
    int status = 0, made = 0;
    if (!found && !list)
        neap_error(NEAP_E_MEMORY, "out of memory for a program");
    for (; list && made < control->nprograms && status == 0; made += status == 0)
        if (made >= counted)
            list[made] = program_retain(control->programs[made]);
        else
            status = make(ctx, control, made, how, &list[made]);
    if (list && status == 0)
        found = control_derived_keep(control, rule, nkey, key, made, list);
    while (list && status && made-- > 0)
        neap_program_free(list[made]);
    free(list);
    return found;
}

bool *control_depends(const lazy_control *control, int p, const bool *active) {
    const neap_program *program = control->programs[p];
    bool *depends = calloc((size_t)program->nodes.n + 1, sizeof *depends);
    const int32_t *link = program->links.at;
    for (int64_t k = 0; k < program->nodes.n && depends; k++) {
        const neap_node *node = program->nodes.at[k];
        if (graph_is_placeholder(node)) {
            depends[k] = active[control_input_of(&control->shape, p, (int)node->value)];
        } else if (node->flags & LAZY_ABSTRACT) {
            for (int a = 0; a < node->nin; a++)
                depends[k] |= depends[*link++];
            depends[k] &= !graph_is_flat(node);
        }
    }
    if (!depends)
        neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    return depends;
}

typedef struct again {
    int (*apply)(lazy_maker *m);
    const bool *active;
} again;

static int make_again(neap_ctx *ctx, const lazy_control *control, int p, const void *how, neap_program **made) {
    const again *as = how;
    bool *depends = control_depends(control, p, as->active);
    int status = depends ? apply_again(ctx, control->programs[p], depends, as->apply, made) : NEAP_E_MEMORY;
    free(depends);
    return status;
}

neap_program **control_derived_again(neap_ctx *ctx, lazy_control *control, char rule, const bool *active,
                                     int (*apply)(lazy_maker *)) {
    return control_derived_make(ctx, control, rule, control->shape.nin, active, control_bodies(control), make_again,
                                &(again){apply, active});
}

bool control_has_visible_effects(const neap_program *program) {
    bool some = false;
    for (int64_t e = 0; e < program->effects.n; e++)
        some |= !effect_is_pure(effect_bits(program->effects.at[e]));
    return some;
}
