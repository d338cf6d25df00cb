/* vm/gpu_units.h: the code of kernels and calls on GPUs that are open: made once for all that have the same.
 *
 *      want ──▶ another has it, or makes it just now: shared
 *         └───▶ a text that an earlier process had made, else the generator ──▶ the driver ──▶ unit
 *
 * Who wants a unit makes it, on its own thread, and holds no lock meanwhile; who wants the same one waits for that.
 */
#ifndef LAZY_VM_GPU_UNITS_H
#define LAZY_VM_GPU_UNITS_H

#include "engine/device.h"
#include "lazy/native/gpu.h"

typedef struct vm_gpu_unit vm_gpu_unit;

/* The code of n entries, GPU_CALL_ENTRIES at most, for a device (an engine's number) and its target, "sm_90". OWNED
 * (vm_gpu_unit_drop), before the engine stops. Negative: there is none, with the error set. Any thread. */
int vm_gpu_unit_want(const gpu_kernel *code, int n, const char *const *entries, int device, const char *target,
                     vm_gpu_unit **out);
neap_code *vm_gpu_unit_code(const vm_gpu_unit *unit, int entry); /* BORROWED with the unit */
void vm_gpu_unit_drop(vm_gpu_unit *unit);

#endif
