/* control/lower.c: when the turns of a loop become machine code (lower.h has the picture). */
#include "lazy/control/lower.h"

#include <stdio.h>

#include "lazy/control/lower_memory.h"
#include "lazy/control/lower_registers.h"

/* ns between two looks for an interrupt, and the most turns. */
enum { SLICE = 10 * 1000 * 1000, SLICE_TURNS = 1 << 16 };

/* ---- Code -------------------------------------------------------------------------------------------------------- */
/* The code of a sequence, or NULL; what has been gathered for it is copied, or is of no use any more. */
static lower_code *code_new(lower_parts *parts, loop_sequence sequence, int64_t n) {
    const lazy_runner *runner = parts->runner;
    native_unit *unit = lower_want(parts, sequence);
    lower_code *code;
    lower_place *places;
    lazy_scalar *constants;
    lower_call *calls;
    if (!unit || !LAZY_ARENA(LAZY_PART(code, 1), LAZY_PART(places, parts->places.n + 1),
                             LAZY_PART(constants, parts->constants.n + 1), LAZY_PART(calls, parts->calls.n + 1))) {
        native_drop(unit);
        return NULL;
    }
    *code = (lower_code){.unit = unit, .in_registers = sequence.in_registers, .nplaces = (int)parts->places.n, .n = n};
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
static lower_code *make_in_registers(const lazy_runner *runner, bool apart, const char **why) {
    lower_registers m = {.parts.runner = runner, .apart = apart, .n = 1};
    lower_code *made = NULL;
    if (registers_run(&m))
        made = code_new(&m.parts, (loop_sequence){.in_registers = true, .head = m.head, .truth = m.condition}, m.n);
    *why = m.parts.why ? m.parts.why : "out of memory";
    registers_free(&m);
    return made;
}

/* The same of turns through memory. */
static lower_code *make_through_memory(const lazy_runner *runner, const char **why) {
    lower_memory s = {.parts.runner = runner};
    lower_code *made = NULL;
    if (memory_run(&s))
        made = code_new(&s.parts, (loop_sequence){.head = s.head, .truth = s.truth}, 0);
    *why = s.parts.why ? s.parts.why : "out of memory";
    memory_free(&s);
    return made;
}

/* ---- When -------------------------------------------------------------------------------------------------------- */
static void ask(const lazy_runner *runner) {
    body_code *turns = runner->code;
    const char *other;
    int expected = LOWER_COLD;
    if (!atomic_compare_exchange_strong(&turns->state, &expected, LOWER_ASKED))
        return;
    lower_code *code = NULL;
    if (runner->effects)
        turns->never = "its turns have effects";
    else if (!(code = make_in_registers(runner, false, &other)) && !(code = make_in_registers(runner, true, &other)))
        code = make_through_memory(runner, &turns->never);
    atomic_store_explicit(&turns->code, code, memory_order_release);
    if (!code)
        atomic_store_explicit(&turns->state, LOWER_NEVER, memory_order_release);
}

static lower_state state_of(body_code *turns) {
    lower_state state = (lower_state)atomic_load_explicit(&turns->state, memory_order_acquire);
    const lower_code *code = atomic_load_explicit(&turns->code, memory_order_acquire);
    if (state != LOWER_ASKED || !code || native_state_of(code->unit) == NATIVE_WAITS)
        return state;
    state = native_state_of(code->unit) == NATIVE_READY ? LOWER_READY : LOWER_FAILED;
    atomic_store_explicit(&turns->state, state, memory_order_release);
    return state;
}

/* The time that loops with this body have taken is counted by its plan: one that is traced again goes on counting. */
static _Atomic int64_t *spent_of(const lazy_runner *runner) {
    return &runner->bodies[control_giver(runner->kind)]->plan->spent;
}

const lower_code *lower_now(const lazy_runner *runner, int64_t turns) {
    enum { TURN = 50 }; /* ns that a turn takes besides its steps */
    body_code *t = runner->code;
    if (plan_looks_for_nans())
        return NULL;
    if (atomic_load_explicit(&t->state, memory_order_relaxed) == LOWER_COLD) {
        int64_t cost = TURN;
        for (int p = 0; p < runner->nbodies; p++)
            cost += runner->bodies[p]->cost;
        if (vm_tier_asks(atomic_fetch_add_explicit(spent_of(runner), cost * turns, memory_order_relaxed)))
            ask(runner);
    }
    return state_of(t) == LOWER_READY ? atomic_load_explicit(&t->code, memory_order_acquire) : NULL;
}

void lower_begin(const lazy_runner *runner) {
    if (!vm_tier_is_code())
        return;
    ask(runner);
    const lower_code *code = atomic_load(&runner->code->code);
    if (code)
        native_await(code->unit);
}

static bool compile_body(const lazy_body *body) {
    bool waits = false;
    for (int64_t k = 0; k < body->items.n; k++) {
        const body_item *item = &body->items.at[k];
        waits |= item->kernel && vm_kernel_compile(item->kernel);
        waits |= item->inner && control_runner_compile(item->inner);
    }
    return waits;
}

/* Nesting is bounded (LAZY_MAX_NESTING). Other devices make code when they prepare. */
bool control_runner_compile(const lazy_runner *runner) {
    bool waits = false;
    if (!vm_tier_asks(INT64_MAX) || !body_is_on_host(runner))
        return false;
    if (runner->code) {
        ask(runner);
        lower_state state = state_of(runner->code);
        if (state == LOWER_ASKED || state == LOWER_READY)
            return state == LOWER_ASKED;
    }
    for (int p = 0; p < runner->nbodies; p++)
        waits |= compile_body(runner->bodies[p]);
    return waits;
}

void lower_free(body_code *turns) {
    lower_code *code = turns ? atomic_load(&turns->code) : NULL;
    if (code)
        native_drop(code->unit);
    free(code);
    free(turns);
}

const char *control_runner_why(const lazy_runner *runner, char *text, size_t capacity) {
    body_code *turns = runner->code;
    lower_state state = turns ? state_of(turns) : LOWER_READY;
    *text = '\0';
    if (runner->selects)
        snprintf(text, capacity, "all its branches are computed, and the results of one are taken");
    else if (!body_is_on_host(runner) && runner->kind->loop)
        snprintf(text, capacity, "a turn is %lld launch%s%s", (long long)runner->launches,
                 runner->launches == 1 ? "" : "es", runner->waits ? ", some for what the host has to see" : "");
    else if (!body_is_on_host(runner) && runner->waits)
        snprintf(text, capacity, "the host waits for its index");
    else if (state == LOWER_COLD)
        vm_tier_why(atomic_load(spent_of(runner)), text, capacity);
    else if (state == LOWER_ASKED)
        snprintf(text, capacity, "its native code is being made");
    else if (state == LOWER_FAILED)
        snprintf(text, capacity, "no native code: %s", native_failure(atomic_load(&turns->code)->unit));
    else if (state == LOWER_NEVER)
        snprintf(text, capacity, "no native code of its own: %s", turns->never);
    return text;
}

bool control_runner_is_native(const lazy_runner *runner) {
    return runner->code && state_of(runner->code) == LOWER_READY;
}
