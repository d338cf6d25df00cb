/* vm_native.h: how tests of the VM go on with native code. */
#ifndef NEAP_TESTS_LAZY_VM_NATIVE_H
#define NEAP_TESTS_LAZY_VM_NATIVE_H

#include <limits.h>
#include <unistd.h>

#include "lazy/vm/vm.h"
#include "tests/check.h"

static bool native_is_there; /* kernels are native code before they first run */

/* From here on kernels are native code, where there is a generator: BUILD/neap_native.so, of BUILD/tests/lazy/… */
static inline void native_begin(void) {
    char text[256], path[PATH_MAX + 8];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    path[length < 0 ? 0 : length] = '\0';
    for (int k = 0; k < 3 && strrchr(path, '/'); k++)
        *strrchr(path, '/') = '\0';
    setenv("NEAP_PLUGIN_PATH", path, 1);
    strcat(path, "/cache"); /* code of this build is made once for all tests */
    setenv("XDG_CACHE_HOME", path, 1);
    native_is_there = native_available(text, sizeof text);
    if (native_is_there)
        CHECK_EQ(neap_tier_set("native"), NEAP_OK);
    else
        fprintf(stderr, "0 passed, 0 failed, 1 skipped\nskipped native code: %s\n", text);
}

static inline bool native_is_used(const lazy_kernel *kernel) {
    const vm_program *p = kernel->prepared;
    return atomic_load(&p->tiers.state) == VM_TIER_NATIVE;
}

#endif
