/* vm/gpu_calls.c: plans of whole-array ops on GPUs (gpu_calls.h), as their rows fill them in. */
#include "lazy/vm/gpu_calls.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)GPU_CALL_THREADS == (int)GPU_THREADS, "threads of a group");

const char *vm_gpu_call_lacks(const lazy_call *call) {
    vm_gpu_call plan = {0};
    return call->op->gpu ? call->op->gpu(call, &plan) : "there is no code of it for GPUs";
}

int vm_gpu_call_new(const lazy_call *call, vm_gpu_call **out) {
    vm_gpu_call *plan = calloc(1, sizeof *plan);
    *out = plan;
    if (!plan)
        return neap_error(NEAP_E_MEMORY, "out of memory for launches of a GPU");
    const char *why = call->op->gpu(call, plan);
    if (why) {
        vm_gpu_call_free(plan);
        *out = NULL;
        return neap_error(NEAP_E_INTERNAL, "%s: %s", call->op->name, why);
    }
    plan->code.call = &plan->call;
    plan->code.nbuffers = call->nin + 2;
    plan->code.nwords = GPU_CALL_WORDS;
    return NEAP_OK;
}

void vm_gpu_call_free(vm_gpu_call *plan) {
    free(plan);
}

void vm_gpu_call_words(const vm_gpu_call *plan, int launch, uint64_t *words) {
    memcpy(words, plan->words, sizeof plan->words);
    words[GPU_CALL_TURNS] = plan->launches[launch].turns;
    words[GPU_CALL_STEP] = plan->launches[launch].step;
}

void vm_gpu_call_begin(vm_gpu_call *plan, int dtype, int shared_bytes) {
    plan->call.dtype = (uint8_t)dtype;
    plan->call.shared_bytes = shared_bytes;
}

void vm_gpu_call_add(vm_gpu_call *plan, const char *entry, uint64_t groups, uint64_t turns, uint64_t step) {
    gpu_entries *call = &plan->call;
    int known = 0;
    if (groups == 0)
        return;
    while (known < call->n && strcmp(call->names[known], entry) != 0)
        known++;
    if (known == call->n)
        call->names[call->n++] = entry;
    plan->launches[plan->nlaunches++] = (vm_gpu_call_launch){entry, groups, turns, step};
}
