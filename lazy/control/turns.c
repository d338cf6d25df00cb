/* control/turns.c: when the turns of a loop become machine code (turns.h has the picture). */
#include "lazy/control/turns.h"

#include <stdio.h>

#include "lazy/control/turns_maker.h"
#include "lazy/control/turns_stages.h"

/* ns between two looks for an interrupt, and the most turns. */
enum { SLICE = 10 * 1000 * 1000, SLICE_TURNS = 1 << 16 };

/* ---- Code -------------------------------------------------------------------------------------------------------- */
static int32_t number_of(const turns_maker *m, int32_t value) {
    return value < 0 ? ~value : (int32_t)m->parts.inputs.n + value;
}

/* Arrays are there, also of nothing. */
static bool have_arrays(turns_maker *m) {
    bool there = lazy_push(&m->parts.ins, (lazy_ins){0}) == 0 && lazy_push(&m->parts.inputs, (native_input){0}) == 0 &&
                 lazy_push(&m->next, NATIVE_STAYS) == 0;
    m->parts.ins.n -= there, m->parts.inputs.n -= there, m->next.n -= there;
    return there;
}

/* Asks for the code of what has been found. */
static native_unit *want(turns_maker *m) {
    int32_t *outputs;
    bool *wide;
    if (!have_arrays(m) || !LAZY_ARENA(LAZY_PART(outputs, m->left.n + 1), LAZY_PART(wide, m->left.n + 1)))
        return NULL;
    for (int64_t k = 0; k < m->carries.n; k++)
        m->next.at[k] = number_of(m, m->next.at[k]);
    for (int64_t k = 0; k < m->parts.ins.n; k++)
        for (int a = 0; a < m->parts.ins.at[k].narg; a++)
            m->parts.ins.at[k].arg[a] = number_of(m, m->parts.ins.at[k].arg[a]);
    for (int64_t k = 0; k < m->left.n; k++)
        outputs[k] = number_of(m, m->left.at[k].value), wide[k] = m->left.at[k].wide;
    if (m->runner->kind->condition)
        m->turns.condition = number_of(m, m->turns.condition);
    m->turns.next = m->next.at, m->turns.wide = wide;
    native_body body = {.ninputs = (int)m->parts.inputs.n,
                        .nins = (int)m->parts.ins.n,
                        .noutputs = (int)m->left.n,
                        .inputs = m->parts.inputs.at,
                        .ins = m->parts.ins.at,
                        .outputs = outputs,
                        .turns = &m->turns};
    native_unit *unit = native_want(&body, vm_isa_name());
    free(outputs);
    return unit;
}

/* The code of a unit, with a copy of these places, so many of them, of constants, and of what is called. */
static turns_code *code_new(const lazy_runner *runner, const turns_code *found, size_t nplaces, size_t nconstants,
                            size_t ncalls) {
    turns_code *code;
    turns_place *places;
    lazy_scalar *constants;
    turns_call *calls;
    if (!LAZY_ARENA(LAZY_PART(code, 1), LAZY_PART(places, nplaces + 1), LAZY_PART(constants, nconstants + 1),
                    LAZY_PART(calls, ncalls + 1)))
        return NULL;
    *code = *found;
    code->places = places, code->constants = constants, code->calls = calls;
    if (nplaces)
        memcpy(places, found->places, nplaces * sizeof *places);
    if (nconstants)
        memcpy(constants, found->constants, nconstants * sizeof *constants);
    if (ncalls)
        memcpy(calls, found->calls, ncalls * sizeof *calls);
    int64_t cost = 1;
    for (int p = 0; p < runner->nbodies; p++) {
        cost += runner->bodies[p]->cost;
        code->written += runner->bodies[p]->written;
    }
    code->slice = SLICE / cost < 1 ? 1 : SLICE / cost < SLICE_TURNS ? SLICE / cost : SLICE_TURNS;
    return code;
}

/* The code of turns in registers. NULL: there is none, and *why says why not. */
static turns_code *make(const lazy_runner *runner, bool apart, const char **why) {
    turns_maker m = {.runner = runner, .apart = apart, .n = 1};
    bool found = maker_run(&m);
    size_t nin = (size_t)m.parts.inputs.n, nout = (size_t)m.left.n;
    for (size_t k = 0; k < nout && found; k++)
        found = lazy_push(&m.parts.places, m.left.at[k].place) == 0;
    native_unit *unit = found ? want(&m) : NULL;
    turns_code code = {.unit = unit,
                       .nin = (int)nin,
                       .nout = (int)nout,
                       .places = m.parts.places.at,
                       .constants = m.parts.constants.at,
                       .n = m.n};
    turns_code *made = unit ? code_new(runner, &code, nin + nout, (size_t)m.parts.constants.n, 0) : NULL;
    if (!made)
        native_drop(unit);
    *why = m.parts.why ? m.parts.why : "out of memory";
    maker_free(&m);
    return made;
}

/* ---- Stages ------------------------------------------------------------------------------------------------------ */
/* The number of a value: of an input, ~it is given; of an instruction; of what a fold gives. */
static int32_t staged_number(const turns_stager *s, int32_t value) {
    return value >= STAGER_RESULT ? ~(value - STAGER_RESULT) : value < 0 ? ~value : (int32_t)s->parts.inputs.n + value;
}

static native_unit *want_stages(turns_stager *s) {
    native_operand *operands;
    int32_t *moves;
    size_t inputs = (size_t)s->parts.inputs.n, outputs = (size_t)s->outputs.n;
    if (!LAZY_ARENA(LAZY_PART(operands, inputs + outputs + 1), LAZY_PART(moves, s->parts.places.n + 1)))
        return NULL;
    for (int64_t k = 0; k < s->parts.ins.n; k++)
        for (int a = 0; a < s->parts.ins.at[k].narg; a++)
            s->parts.ins.at[k].arg[a] = staged_number(s, s->parts.ins.at[k].arg[a]);
    for (int64_t k = 0; k < s->folds.n; k++)
        s->folds.at[k].value = staged_number(s, s->folds.at[k].value);
    for (size_t k = 0; k < outputs; k++) {
        s->outputs.at[k] = staged_number(s, s->outputs.at[k]);
        operands[inputs + k] = s->writes.at[k];
        if (s->writes.at[k].extent > 0)
            operands[inputs + k].index = staged_number(s, s->writes.at[k].index);
    }
    for (size_t k = 0; k < inputs; k++) {
        operands[k] = s->reads.at[k];
        if (s->reads.at[k].carried)
            operands[k].index = staged_number(s, s->reads.at[k].index);
    }
    for (int64_t k = 0; k < s->parts.places.n; k++)
        moves[k] = s->parts.places.at[k].move != 0;
    native_stages *stages = &s->stages;
    stages->n = (int32_t)s->list.n, stages->stages = s->list.at;
    stages->npointers = (int32_t)s->pointers.n, stages->pointers = s->pointers.at;
    stages->places = (int32_t)s->parts.places.n, stages->moves = moves, stages->operands = operands;
    native_turns turns = {.condition = -1, .stages = stages};
    native_body body = {.ninputs = (int)s->parts.inputs.n,
                        .nins = (int)s->parts.ins.n,
                        .noutputs = (int)s->outputs.n,
                        .inputs = s->parts.inputs.at,
                        .ins = s->parts.ins.at,
                        .outputs = s->outputs.at,
                        .nfolds = (int)s->folds.n,
                        .whole_rows = true,
                        .folds = s->folds.at,
                        .turns = &turns};
    native_unit *unit = native_want(&body, vm_isa_name());
    free(operands);
    return unit;
}

/* The code of turns in stages, as make. */
static turns_code *make_stages(const lazy_runner *runner, const char **why) {
    turns_stager s = {.runner = runner};
    native_unit *unit = stager_run(&s) ? want_stages(&s) : NULL;
    turns_code code = {.unit = unit,
                       .nin = (int)s.parts.places.n,
                       .places = s.parts.places.at,
                       .constants = s.parts.constants.at,
                       .calls = s.calls.at,
                       .staged = true};
    turns_code *made =
        unit ? code_new(runner, &code, (size_t)s.parts.places.n, (size_t)s.parts.constants.n, (size_t)s.calls.n) : NULL;
    if (!made)
        native_drop(unit);
    *why = s.parts.why ? s.parts.why : "out of memory";
    stager_free(&s);
    return made;
}

/* ---- When -------------------------------------------------------------------------------------------------------- */
static void ask(const lazy_runner *runner) {
    body_turns *turns = runner->turns;
    const char *other;
    int expected = TURNS_COLD;
    if (!atomic_compare_exchange_strong(&turns->state, &expected, TURNS_ASKED))
        return;
    turns_code *code = NULL;
    if (runner->effects)
        turns->never = "its turns have effects";
    else if (!(code = make(runner, false, &other)) && !(code = make(runner, true, &other)))
        code = make_stages(runner, &turns->never);
    atomic_store_explicit(&turns->code, code, memory_order_release);
    if (!code)
        atomic_store_explicit(&turns->state, TURNS_NEVER, memory_order_release);
}

static turns_state state_of(body_turns *turns) {
    turns_state state = (turns_state)atomic_load_explicit(&turns->state, memory_order_acquire);
    const turns_code *code = atomic_load_explicit(&turns->code, memory_order_acquire);
    if (state != TURNS_ASKED || !code || native_state_of(code->unit) == NATIVE_WAITS)
        return state;
    state = native_state_of(code->unit) == NATIVE_READY ? TURNS_READY : TURNS_FAILED;
    atomic_store_explicit(&turns->state, state, memory_order_release);
    return state;
}

/* The time that loops with this body have taken is counted by its plan: one that is traced again goes on counting. */
static _Atomic int64_t *spent_of(const lazy_runner *runner) {
    return &runner->bodies[control_giver(runner->kind)]->plan->spent;
}

const turns_code *turns_now(const lazy_runner *runner, int64_t turns) {
    enum { TURN = 50 }; /* ns that a turn takes besides its steps */
    body_turns *t = runner->turns;
    if (atomic_load_explicit(&t->state, memory_order_relaxed) == TURNS_COLD) {
        int64_t cost = TURN;
        for (int p = 0; p < runner->nbodies; p++)
            cost += runner->bodies[p]->cost;
        if (vm_tier_asks(atomic_fetch_add_explicit(spent_of(runner), cost * turns, memory_order_relaxed)))
            ask(runner);
    }
    return state_of(t) == TURNS_READY ? atomic_load_explicit(&t->code, memory_order_acquire) : NULL;
}

void turns_begin(const lazy_runner *runner) {
    if (!vm_tier_is_code())
        return;
    ask(runner);
    const turns_code *code = atomic_load(&runner->turns->code);
    if (code)
        native_await(code->unit);
}

void turns_free(body_turns *turns) {
    turns_code *code = turns ? atomic_load(&turns->code) : NULL;
    if (code)
        native_drop(code->unit);
    free(code);
    free(turns);
}

const char *control_runner_why(const lazy_runner *runner, char *text, size_t capacity) {
    body_turns *turns = runner->turns;
    turns_state state = turns ? state_of(turns) : TURNS_READY;
    *text = '\0';
    if (runner->selects)
        snprintf(text, capacity, "all its branches are computed, and the results of one are taken");
    else if (!body_is_on_host(runner) && runner->kind->loop)
        snprintf(text, capacity, "a turn is %lld launch%s%s", (long long)runner->launches,
                 runner->launches == 1 ? "" : "es", runner->waits ? ", some for what the host has to see" : "");
    else if (!body_is_on_host(runner) && runner->waits)
        snprintf(text, capacity, "the host waits for its index");
    else if (state == TURNS_COLD)
        vm_tier_why(atomic_load(spent_of(runner)), text, capacity);
    else if (state == TURNS_ASKED)
        snprintf(text, capacity, "its native code is being made");
    else if (state == TURNS_FAILED)
        snprintf(text, capacity, "no native code: %s", native_failure(atomic_load(&turns->code)->unit));
    else if (state == TURNS_NEVER)
        snprintf(text, capacity, "no native code of its own: %s", turns->never);
    return text;
}

bool control_runner_is_native(const lazy_runner *runner) {
    return runner->turns && state_of(runner->turns) == TURNS_READY;
}
