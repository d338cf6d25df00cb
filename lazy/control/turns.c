/* control/turns.c: when the turns of a loop become machine code (turns.h has the picture). */
#include "lazy/control/turns.h"

#include <stdio.h>

#include "lazy/control/turns_maker.h"
#include "lazy/control/turns_stages.h"

/* ns between two looks for an interrupt, and the most turns. */
enum { SLICE = 10 * 1000 * 1000, SLICE_TURNS = 1 << 16 };

/* ---- Code -------------------------------------------------------------------------------------------------------- */
/* The code of a sequence, or NULL; what has been gathered for it is copied, or is of no use any more. */
static turns_code *code_new(turns_parts *parts, loop_sequence sequence, int64_t n) {
    const lazy_runner *runner = parts->runner;
    native_unit *unit = turns_want(parts, sequence);
    turns_code *code;
    turns_place *places;
    lazy_scalar *constants;
    turns_call *calls;
    if (!unit || !LAZY_ARENA(LAZY_PART(code, 1), LAZY_PART(places, parts->places.n + 1),
                             LAZY_PART(constants, parts->constants.n + 1), LAZY_PART(calls, parts->calls.n + 1))) {
        native_drop(unit);
        return NULL;
    }
    *code = (turns_code){.unit = unit, .in_registers = sequence.in_registers, .nplaces = (int)parts->places.n, .n = n};
    code->places = places, code->constants = constants, code->calls = calls;
    if (parts->places.n)
        memcpy(places, parts->places.at, (size_t)parts->places.n * sizeof *places);
    if (parts->constants.n)
        memcpy(constants, parts->constants.at, (size_t)parts->constants.n * sizeof *constants);
    if (parts->calls.n)
        memcpy(calls, parts->calls.at, (size_t)parts->calls.n * sizeof *calls);
    int64_t cost = 1;
    for (int p = 0; p < runner->nbodies; p++) {
        cost += runner->bodies[p]->cost;
        code->written += runner->bodies[p]->written;
    }
    code->slice = SLICE / cost < 1 ? 1 : SLICE / cost < SLICE_TURNS ? SLICE / cost : SLICE_TURNS;
    return code;
}

/* The code of turns in registers. NULL: there is none, and *why says why not. */
static turns_code *make_in_registers(const lazy_runner *runner, bool apart, const char **why) {
    turns_maker m = {.parts.runner = runner, .apart = apart, .n = 1};
    turns_code *made = NULL;
    if (maker_run(&m))
        made = code_new(&m.parts, (loop_sequence){.in_registers = true, .head = m.head, .truth = m.condition}, m.n);
    *why = m.parts.why ? m.parts.why : "out of memory";
    maker_free(&m);
    return made;
}

/* The same of turns through memory. */
static turns_code *make_through_memory(const lazy_runner *runner, const char **why) {
    turns_stager s = {.parts.runner = runner};
    turns_code *made = NULL;
    if (stager_run(&s))
        made = code_new(&s.parts, (loop_sequence){.head = s.head, .truth = s.truth}, 0);
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
    else if (!(code = make_in_registers(runner, false, &other)) && !(code = make_in_registers(runner, true, &other)))
        code = make_through_memory(runner, &turns->never);
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
