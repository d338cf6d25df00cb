/* vm/tier.c: when a kernel changes from the VM's loops to native code.
 *
 *      COLD ──has run for a part of vm_limit.hot──▶ ASKED ──its code is there──▶ NATIVE
 *        │                                            └──── it cannot be made ─▶ FAILED
 *        └───────────────── it would not help ─────────────────────────────────▶ NEVER
 *
 * A run never waits for code: it looks whether there is some. An earlier process may have left it in a file, which is
 * looked for soon, as that costs little. Without one it is made once the kernel has run for vm_limit.hot ns, which is
 * about what making it takes, so a kernel that stays has lost at most half. Runs that are under way when the state
 * changes go on with what they began with.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "lazy/vm/vm.h"

typedef enum vm_tier_choice { VM_TIER_AUTO, VM_TIER_VM, VM_TIER_CODE } vm_tier_choice;
static _Atomic int tier = VM_TIER_AUTO;

/* A kernel that has run for this part of what makes it hot looks for a file, and tells of itself. */
enum { WARM = 20 };

int neap_tier_set(const char *name) {
    static const char *const names[] = {[VM_TIER_AUTO] = "auto", [VM_TIER_VM] = "vm", [VM_TIER_CODE] = "native"};
    for (int k = 0; k < 3; k++)
        if (!name || strcmp(name, names[k]) == 0) {
            atomic_store(&tier, k);
            native_hurry(k == VM_TIER_CODE);
            return NEAP_OK;
        }
    return neap_error(NEAP_E_ARGUMENT, "expected a tier, auto, vm or native, got '%s'", name);
}

const char *neap_tier_generator(char *text, size_t bytes) {
    native_available(text, bytes);
    return text;
}

bool vm_tier_is_code(void) {
    return atomic_load(&tier) == VM_TIER_CODE;
}

bool vm_tier_asks(int64_t spent) {
    return atomic_load_explicit(&tier, memory_order_relaxed) != VM_TIER_VM && spent >= vm_limit.hot;
}

const char *vm_tier_why(int64_t spent, char *text, size_t capacity) {
    *text = '\0';
    if (atomic_load(&tier) == VM_TIER_VM)
        snprintf(text, capacity, "no native code: the tier is vm");
    else if (spent >= vm_limit.hot / WARM)
        snprintf(text, capacity, "native code after %.3g ms of work, of which %.3g were done",
                 (double)vm_limit.hot / 1e6, (double)spent / 1e6);
    return text;
}

/* Makes the program with segments, by which their code is looked for. */
static void ask(const lazy_kernel *kernel, vm_program *p) {
    vm_program *next = NULL;
    int expected = VM_TIER_COLD;
    if (!atomic_compare_exchange_strong(&p->tiers.state, &expected, VM_TIER_ASKED))
        return;
    vm_program_new(kernel, true, &next); /* without memory it stays as it is */
    atomic_store_explicit(&p->tiers.next, next, memory_order_release);
    if (!next)
        atomic_store(&p->tiers.state, VM_TIER_NEVER);
}

/* From now on code that is in no file is made. */
static void insist(vm_program *p) {
    const vm_program *next = atomic_load_explicit(&p->tiers.next, memory_order_acquire);
    if (!next || atomic_exchange(&p->tiers.insists, true))
        return;
    for (int k = 0; k < next->nsegments; k++)
        native_insist(next->segments[k].unit);
}

/* A segment whose code has failed; NULL: there is none. */
static const vm_segment *failed_segment(const vm_program *next) {
    for (int k = 0; k < next->nsegments; k++)
        if (native_state_of(next->segments[k].unit) == NATIVE_FAILED)
            return &next->segments[k];
    return NULL;
}

vm_tier_state vm_tier_of(vm_program *p) {
    vm_tier_state state = (vm_tier_state)atomic_load_explicit(&p->tiers.state, memory_order_acquire);
    const vm_program *next = atomic_load_explicit(&p->tiers.next, memory_order_acquire);
    if (state != VM_TIER_ASKED || !next)
        return state;
    for (int k = 0; k < next->nsegments; k++)
        if (native_state_of(next->segments[k].unit) == NATIVE_WAITS)
            return VM_TIER_ASKED;
    state = failed_segment(next) ? VM_TIER_FAILED : VM_TIER_NATIVE;
    atomic_store_explicit(&p->tiers.state, state, memory_order_release);
    return state;
}

const vm_program *vm_program_in_use(const lazy_kernel *kernel) {
    vm_program *p = kernel->prepared;
    return vm_tier_of(p) == VM_TIER_NATIVE ? atomic_load_explicit(&p->tiers.next, memory_order_acquire) : p;
}

const vm_program *vm_program_now(const lazy_kernel *kernel) {
    vm_program *p = kernel->prepared;
    int64_t spent;
    switch (atomic_load_explicit(&p->tiers.state, memory_order_acquire)) {
    case VM_TIER_COLD:
    case VM_TIER_ASKED:
        if (atomic_load_explicit(&tier, memory_order_relaxed) == VM_TIER_VM)
            return p;
        spent = atomic_fetch_add_explicit(&p->tiers.spent, vm_kernel_cost(kernel), memory_order_relaxed);
        if (spent >= vm_limit.hot / WARM)
            ask(kernel, p);
        if (spent >= vm_limit.hot && !atomic_load_explicit(&p->tiers.insists, memory_order_relaxed))
            insist(p);
        return vm_program_in_use(kernel);
    case VM_TIER_NATIVE:
        return vm_program_in_use(kernel);
    default:
        return p;
    }
}

void vm_tier_begin(const lazy_kernel *kernel) {
    vm_program *p = kernel->prepared, *next;
    if (!vm_tier_is_code() || p->size == 0)
        return;
    ask(kernel, p);
    insist(p);
    if (!(next = atomic_load(&p->tiers.next)))
        return;
    for (int k = 0; k < next->nsegments; k++)
        native_await(next->segments[k].unit);
    vm_tier_of(p);
}

bool vm_kernel_compile(const lazy_kernel *kernel) {
    vm_program *p = kernel->prepared;
    if (!vm_tier_asks(INT64_MAX) || p->size == 0)
        return false;
    ask(kernel, p);
    insist(p);
    return vm_tier_of(p) == VM_TIER_ASKED;
}

const char *vm_kernel_why(const lazy_kernel *kernel, char *text, size_t capacity) {
    vm_program *p = kernel->prepared;
    const vm_program *next = atomic_load(&p->tiers.next);
    *text = '\0';
    switch (vm_tier_of(p)) {
    case VM_TIER_COLD:
        return vm_tier_why(atomic_load(&p->tiers.spent), text, capacity);
    case VM_TIER_ASKED:
        if (!atomic_load(&p->tiers.insists))
            return vm_tier_why(atomic_load(&p->tiers.spent), text, capacity);
        snprintf(text, capacity, "its native code is being made");
        break;
    case VM_TIER_FAILED:
        snprintf(text, capacity, "no native code: %s", native_failure(failed_segment(next)->unit));
        break;
    case VM_TIER_NEVER:
        snprintf(text, capacity, "no native code: the VM's loops are as fast");
        break;
    case VM_TIER_NATIVE:
        break;
    }
    return text;
}
