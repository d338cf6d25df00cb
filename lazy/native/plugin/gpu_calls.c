/* gpu_calls.c: entries of whole-array ops (lazy/native/gpu_call.h) in grid kernels' code (gpu_writer.h): what stands
 * around the phases of gpu_call_rows.c, which are linked in and inlined.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lazy/native/plugin/gpu_writer.h"

/* What phases get besides their thread: operands and scratch, words, the memory and number of the group, the turn. */
enum { AT, WORDS, MEMORY, GROUP, THREAD, TURN, PARAMETERS };

/* Values as an array of the thread's, of which nothing is left once its elements are known. */
static LLVMValueRef array_of(gpu_writer *w, LLVMTypeRef type, LLVMValueRef *values, int n) {
    LLVMValueRef array = gpu_place(w, LLVMArrayType2(type, (uint64_t)n));
    for (int k = 0; k < n; k++) {
        LLVMValueRef index = gpu_number(w, k);
        LLVMBuildStore(w->builder, values[k], LLVMBuildGEP2(w->builder, type, array, &index, 1, ""));
    }
    return array;
}

static LLVMValueRef phase_of(gpu_writer *w, const char *entry, const char *section, int k) {
    char name[96];
    snprintf(name, sizeof name, "phase_%s_%s%d", entry, section, k);
    return LLVMGetNamedFunction(w->module, name);
}

/* The phases of a section, each with a barrier behind it. Returns how many there are. */
static int write_section(gpu_writer *w, const char *entry, const char *section, LLVMValueRef *given) {
    LLVMTypeRef types[PARAMETERS];
    LLVMValueRef phase;
    int n = 0;
    for (int k = 0; k < PARAMETERS; k++)
        types[k] = k <= MEMORY ? w->pointer : w->word;
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(w->context), types, PARAMETERS, 0);
    for (; (phase = phase_of(w, entry, section, n)) != NULL; n++) {
        gpu_threads(w);
        given[THREAD] = w->thread;
        LLVMBuildCall2(w->builder, type, phase, given, PARAMETERS, "");
        gpu_barrier(w);
    }
    return n;
}

static int write_entry(gpu_writer *w, const char *entry) {
    const gpu_kernel *kernel = w->kernel;
    gpu_loop turns;
    int phases = 0, status = gpu_begin_entry(w, entry);
    if (status)
        return status;
    LLVMValueRef given[PARAMETERS] = {
        [AT] = array_of(w, w->pointer, w->buffer, kernel->nbuffers),
        [WORDS] = array_of(w, w->word, w->words, kernel->nwords),
        [MEMORY] =
            kernel->call->shared_bytes ? gpu_shared_memory(w, kernel->call->shared_bytes) : LLVMConstNull(w->pointer),
        [GROUP] = w->group,
        [TURN] = gpu_number(w, 0),
    };
    phases += write_section(w, entry, "begin", given);
    if (phase_of(w, entry, "turn", 0)) {
        gpu_for(w, &turns, gpu_number(w, 0), w->words[GPU_CALL_TURNS], gpu_number(w, 1));
        given[TURN] = turns.i;
        phases += write_section(w, entry, "turn", given);
        gpu_end_for(w, &turns);
        given[TURN] = gpu_number(w, 0);
    }
    phases += write_section(w, entry, "end", given);
    LLVMBuildRetVoid(w->builder);
    return phases ? NEAP_OK : ir_host->error(NEAP_E_ARGUMENT, "no phases of '%s' for this dtype", entry);
}

int gpu_write_call(gpu_writer *w) {
    int status = NEAP_OK;
    for (int k = 0; k < w->kernel->call->n && !status; k++)
        status = write_entry(w, w->kernel->call->names[k]);
    return status;
}
