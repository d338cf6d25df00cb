/* plugin/target.c: the kinds of targets (target.h). */
#include "lazy/native/plugin/target.h"

#include <stdlib.h>
#include <string.h>

#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>

const neap_plugin_host *ir_host;

/* What a CPU runs is written as vectors, so little is left to do: passes that look for more take longer than all the
 * rest. Threads of a grid are written element by element. */
#define INLINED "globaldce,always-inline,globaldce,"
#define OF_THREADS INLINED "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)"

static const struct {
    const char *triple; /* NULL: this machine's */
    bool this_cpu;      /* all that this machine's CPU can do */
    LLVMCodeModel model;
    LLVMCodeGenFileType file;
    const char *passes;
} targets[] = {
    [IR_CPU] = {NULL, false, LLVMCodeModelSmall, LLVMObjectFile,
                INLINED "function(sroa,early-cse,instsimplify,simplifycfg)"},
    [IR_GRID] = {NULL, true, LLVMCodeModelSmall, LLVMObjectFile, OF_THREADS},
    [IR_GPU] = {"nvptx64-nvidia-cuda", false, LLVMCodeModelDefault, LLVMAssemblyFile, OF_THREADS},
};

static int llvm_error(int status, char *message, void (*dispose)(char *message)) {
    status = ir_host->error(status, "LLVM: %s", message);
    dispose(message);
    return status;
}

/* What PTX is written for: it is assembled for all later GPUs too, and this LLVM knows no later one. */
static const char *ptx_target(const char *name) {
    const int number = atoi(name + strlen("sm_"));
    return number >= 90 ? "sm_90" : number >= 80 ? "sm_80" : "sm_75";
}

static void know_targets(void) {
    LLVM_NATIVE_TARGETINFO();
    LLVM_NATIVE_TARGET();
    LLVM_NATIVE_TARGETMC();
    LLVM_NATIVE_ASMPRINTER();
#if defined(NATIVE_GPU)
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
#endif
}

int ir_machine_new(ir_target target, const char *name, LLVMTargetMachineRef *out) {
    const bool own = targets[target].this_cpu;
    char *error = NULL;
    char *triple = targets[target].triple ? LLVMCreateMessage(targets[target].triple) : LLVMGetDefaultTargetTriple();
    char *cpu = own ? LLVMGetHostCPUName() : LLVMCreateMessage(target == IR_GPU ? ptx_target(name) : "");
    char *features = own ? LLVMGetHostCPUFeatures() : LLVMCreateMessage("");
    LLVMTargetRef found;
    int status = NEAP_OK;
    know_targets();
    if (LLVMGetTargetFromTriple(triple, &found, &error))
        status = llvm_error(NEAP_E_LIBRARY, error, LLVMDisposeMessage);
    else
        *out = LLVMCreateTargetMachine(found, triple, cpu, features, LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                       targets[target].model);
    LLVMDisposeMessage(triple), LLVMDisposeMessage(cpu), LLVMDisposeMessage(features);
    return status;
}

int ir_link_rows(LLVMModuleRef module, const native_bitcode *set, const bool *dtypes, ir_needs needs, const void *who) {
    for (int dtype = 0; dtype < NEAP_DTYPE_COUNT; dtype++)
        if (dtypes[dtype] && !ir_link(module, &set->modules[dtype], needs, who))
            return ir_host->error(NEAP_E_INTERNAL, "damaged bitcode for %s", set->isa);
    return NEAP_OK;
}

void ir_set_attribute(LLVMValueRef function, const char *name) {
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(context, kind, 0));
}

int ir_emit(ir_target target, LLVMModuleRef module, LLVMTargetMachineRef machine, void **out, size_t *bytes) {
    char *error = NULL;
    LLVMMemoryBufferRef file;
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failed = LLVMRunPasses(module, targets[target].passes, machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (failed)
        return llvm_error(NEAP_E_INTERNAL, LLVMGetErrorMessage(failed), LLVMDisposeErrorMessage);
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, targets[target].file, &error, &file))
        return llvm_error(NEAP_E_INTERNAL, error, LLVMDisposeMessage);
    *bytes = LLVMGetBufferSize(file);
    char *copy = malloc(*bytes + 1);
    if (copy) {
        memcpy(copy, LLVMGetBufferStart(file), *bytes);
        copy[*bytes] = '\0';
    }
    LLVMDisposeMemoryBuffer(file);
    *out = copy;
    return copy ? NEAP_OK : ir_host->error(NEAP_E_MEMORY, "no memory for machine code");
}
