/* gpu_phase.h: what the phases of whole-array ops share (gpu_call_rows.c, lazy/native/gpu_call.h).
 *
 * A phase is what each thread does between two barriers. What it leaves for the next is in `memory`, which is the
 * group's, or where its operands are. It must not rely on the other threads of its phase. All indices of `at` and
 * `words` are constants: nothing is left of both arrays in the code.
 */
#ifndef LAZY_NATIVE_PLUGIN_GPU_PHASE_H
#define LAZY_NATIVE_PLUGIN_GPU_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lazy/native/gpu_call.h"

#define PHASE(entry, section, number)                                                                                  \
    void phase_##entry##_##section##number(char *const *at, const uint64_t *words, char *memory, uint64_t group,       \
                                           uint64_t thread, uint64_t turn)
/* The number of this thread among those of all groups. */
#define THREAD_OF_ALL (group * GPU_CALL_THREADS + thread)
#define STRAIGHT _Pragma("unroll")

#endif
