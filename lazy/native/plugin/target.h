/* target.h: what code is written for: how a module gets the rows that are called, and becomes an object file or text. A
 * further kind of target is a row of target.c.
 */
#ifndef LAZY_NATIVE_PLUGIN_TARGET_H
#define LAZY_NATIVE_PLUGIN_TARGET_H

#include <llvm-c/TargetMachine.h>

#include "engine/device.h"
#include "lazy/native/plugin/link.h"

extern const neap_plugin_host *ir_host; /* set before the first call */

typedef enum ir_target {
    IR_CPU,  /* this machine; functions say their instruction set themselves */
    IR_GRID, /* code for GPUs, on this machine: for tests */
    IR_GPU   /* PTX, for "sm_90" or another name */
} ir_target;

/* A machine for a target. Errors are set, here and below. */
int ir_machine_new(ir_target target, const char *name, LLVMTargetMachineRef *out);
/* Links what `needs` names of the modules of rows of these dtypes. */
int ir_link_rows(LLVMModuleRef module, const native_bitcode *set, const bool *dtypes, ir_needs needs, const void *who);
void ir_set_attribute(LLVMValueRef function, const char *name);
/* Makes the module an object file, or text with a NUL behind its bytes. *out is OWNED (free). */
int ir_emit(ir_target target, LLVMModuleRef module, LLVMTargetMachineRef machine, void **out, size_t *bytes);

#endif
