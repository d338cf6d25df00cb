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

/* A segment (lazy/native/native.h) that is put together: its loads, then its instructions, then what goes out. */
enum { NATIVE_TEST_INS = 40, NATIVE_TEST_OPERANDS = 48 };
typedef struct native_segment {
    lazy_kernel loop;
    lazy_load loads[NATIVE_TEST_OPERANDS];
    lazy_ins ins[NATIVE_TEST_INS];
    lazy_sink sinks[NATIVE_TEST_OPERANDS];
} native_segment;

static inline void native_load(native_segment *s, int dtype, bool wide) {
    const int k = s->loop.nloads++;
    s->loads[k] = (lazy_load){.kind = LAZY_LOAD_BUFFER, .dtype = (uint8_t)dtype, .slot = (int16_t)k};
    s->loads[k].read.stride[0] = wide;
}

static inline void native_ins(native_segment *s, lazy_ins ins) {
    s->ins[s->loop.nins++] = ins;
}

static inline void native_sink(native_segment *s, int kind, int op, int32_t value) {
    lazy_kernel *loop = &s->loop;
    loop->loads = s->loads, loop->ins = s->ins, loop->sinks = s->sinks;
    s->sinks[loop->nsinks] = (lazy_sink){.kind = (uint8_t)kind,
                                         .dtype = (uint8_t)loop_dtype_of(loop, value),
                                         .op = (int16_t)op,
                                         .slot = (int16_t)(loop->nloads + loop->nsinks),
                                         .value = value};
    s->sinks[loop->nsinks++].write.stride[0] = kind == LAZY_SINK_STORE;
    loop->ndim = 1;
    loop->nkept = kind == LAZY_SINK_STORE && (loop->nsinks == 1 || loop->nkept);
}

/* Its code, which is waited for. */
static inline native_unit *native_of(const native_segment *s, bool whole_rows, const bool *far) {
    const native_body body = {.nloops = 1, .loops = &s->loop, .whole_rows = whole_rows, .far = far};
    native_unit *unit = native_want(&body, vm_isa_name());
    native_await(unit);
    return unit;
}

static inline bool native_is_used(const lazy_kernel *kernel) {
    const vm_program *p = kernel->prepared;
    return atomic_load(&p->tiers.state) == VM_TIER_NATIVE;
}

#endif
