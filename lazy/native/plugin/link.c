/* plugin/link.c: takes of the rows' bitcode what code needs (link.h). */
#include "lazy/native/plugin/link.h"

#include <string.h>

#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>

int ir_dtype_of(const char *function) {
    static const char *const names[NEAP_DTYPE_COUNT] = {
#define NAME(NAME, name, ...) [NEAP_DTYPE_##NAME] = #name,
        NEAP_DTYPE_ROWS(NAME)
#undef NAME
    };
    const char *end = strrchr(function, '_');
    int dtype = 0;
    while (dtype < NEAP_DTYPE_COUNT && !(end && strcmp(end + 1, names[dtype]) == 0))
        dtype++;
    return dtype;
}

bool ir_is_of(const char *function, const char *row) {
    const char *name = strchr(function, '_');
    return name && strcmp(name + 1, row) == 0;
}

bool ir_link(LLVMModuleRef module, const native_module *rows, ir_needs needs, const void *who) {
    const size_t bytes = (size_t)(rows->end - rows->begin);
    LLVMMemoryBufferRef file = LLVMCreateMemoryBufferWithMemoryRange(rows->begin, bytes, "rows", 0);
    LLVMModuleRef all;
    if (LLVMGetBitcodeModuleInContext2(LLVMGetModuleContext(module), file, &all)) {
        LLVMDisposeMemoryBuffer(file);
        return false;
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(all); f; f = LLVMGetNextFunction(f)) {
        const char *name = LLVMGetValueName(f);
        if (LLVMIsDeclaration(f))
            continue;
        if (LLVMGetLinkage(f) == LLVMExternalLinkage)
            LLVMSetLinkage(f, LLVMLinkOnceODRLinkage); /* is linked where there is a declaration */
        if (needs(who, name) && !LLVMGetNamedFunction(module, name))
            LLVMAddFunction(module, name, LLVMGlobalGetValueType(f));
    }
    return !LLVMLinkModules2(module, all);
}
