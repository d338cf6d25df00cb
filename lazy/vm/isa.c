/* vm/isa.c: choice of the instruction set, how a kernel tells of it, and the limits that tests change. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "engine/libs/product.h"
#include "isa_gen.h"
#include "lazy/vm/vm.h"

static _Atomic(const lazy_simd *) chosen;

enum { PARALLEL_MIN = 40000, TASK_MIN = 15000, HOT = 20 * 1000 * 1000 };
vm_limits vm_limit = {.chunk = VM_CHUNK, .parallel_min = PARALLEL_MIN, .task_min = TASK_MIN, .hot = HOT};

/* The sets that were compiled and that this CPU has, best first: one at least, says vm_isa_check. */
static int candidates(const lazy_simd *out[3]) {
    int n = 0;
#define CANDIDATE(isa)                                                                                                 \
    if (engine_isa_##isa())                                                                                            \
        out[n++] = &lazy_simd_##isa;
    ENGINE_ISAS(CANDIDATE)
#undef CANDIDATE
    return n;
}

int vm_isa_check(void) {
    const lazy_simd *list[3];
    if (candidates(list) > 0)
        return NEAP_OK;
    return neap_error(NEAP_E_STATE, "this neap was built for another CPU than this one; tools/build -DNEAP_SIMD=all "
                                    "makes one for all of this kind");
}

vm_map_loop vm_map_loop_of(int op, int dtype) {
    return vm_simd()->map[op][dtype].by_scalars[0];
}

const lazy_simd *vm_simd(void) {
    const lazy_simd *simd = atomic_load_explicit(&chosen, memory_order_acquire);
    if (!simd) {
        const lazy_simd *list[3] = {NULL};
        candidates(list);
        simd = list[0];
        atomic_store_explicit(&chosen, simd, memory_order_release);
    }
    return simd;
}

const vm_draws *vm_draws_in_use(void) {
    return vm_simd()->draws;
}

int vm_isa_set(const char *name) {
    const lazy_simd *list[3];
    int n = candidates(list);
    for (int k = 0; k < n; k++)
        if (!name || strcmp(name, list[k]->name) == 0) {
            atomic_store_explicit(&chosen, list[k], memory_order_release);
            return engine_gemm_isa(list[k]->name);
        }
    return neap_error(NEAP_E_ARGUMENT, "expected an instruction set that this CPU has, got '%s'", name);
}

const char *vm_isa_name(void) {
    return vm_simd()->name;
}

int neap_debug_kernels(const neap_kernel_limits *limits) {
    int64_t chunk = limits->chunk ? limits->chunk : VM_CHUNK;
    if (chunk != 256 && chunk != 512 && chunk != 1024)
        return neap_error(NEAP_E_ARGUMENT, "expected chunks of 256, 512 or 1024 elements, got %lld", (long long)chunk);
    int status = vm_isa_set(limits->isa);
    if (!status)
        status = neap_tier_set(limits->tier);
    if (status)
        return status;
    vm_limit.chunk = chunk;
    vm_limit.stream_min = limits->stream_min;
    vm_limit.parallel_min = limits->parallel_min ? limits->parallel_min : PARALLEL_MIN;
    vm_limit.task_min = limits->task_min ? limits->task_min : TASK_MIN;
    vm_limit.hot = limits->hot ? limits->hot : HOT;
    return NEAP_OK;
}

const char *vm_kernel_tier(const lazy_kernel *kernel, char *text, size_t capacity) {
    static const char *const forms[] = {[VM_NEST_ROWS] = "rows",
                                        [VM_NEST_PACKED] = "batch",
                                        [VM_NEST_TILES] = "tiles",
                                        [VM_NEST_STRIPS] = "strips",
                                        [VM_NEST_COLUMNS] = "columns"};
    vm_program *program = kernel->prepared;
    bool native = vm_tier_of(program) == VM_TIER_NATIVE;
    snprintf(text, capacity, "%s, %s%s", program->simd->name, forms[program->form], native ? ", native" : "");
    return text;
}
