/* vm/gpu_units.h: the code of kernels and calls on GPUs that are open: made once for all that have the same.
 *
 *      ask ──▶ another has it, or makes it just now: shared
 *        └───▶ a text that an earlier process had made, else the generator ──▶ the driver ──▶ unit
 *
 * Who asks goes on at once: a thread makes the unit meanwhile. So a plan asks for the code of all its kernels, and then
 * waits for each of them; what no thread has begun by then the one who waits makes. No lock is held meanwhile.
 */
#ifndef LAZY_VM_GPU_UNITS_H
#define LAZY_VM_GPU_UNITS_H

#include "engine/device.h"
#include "lazy/native/gpu.h"

typedef struct vm_gpu_unit vm_gpu_unit;

/* Asks for the code of n entries, GPU_CALL_ENTRIES at most, for a device (an engine's number) and its target, "sm_90".
 * `code` is BORROWED until the wait or the drop, names of entries and target for ever. *out is OWNED
 * (vm_gpu_unit_drop), before the engine stops. NEAP_E_MEMORY. Any thread, as all that follow. */
int vm_gpu_unit_ask(const gpu_kernel *code, int n, const char *const *entries, int device, const char *target,
                    vm_gpu_unit **out);
/* Waits until the code is there. Negative: there is none, with the error set; the unit is to be dropped. */
int vm_gpu_unit_wait(vm_gpu_unit *unit);
neap_code *vm_gpu_unit_code(const vm_gpu_unit *unit, int entry); /* once it is there; BORROWED with the unit */
void vm_gpu_unit_drop(vm_gpu_unit *unit);

#endif
