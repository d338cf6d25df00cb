/* library.h: what libraries that stand in for CUDA's (libraries/) use of the fake driver, by which they are linked.
 *
 * Their work stands in a stream as launches do, one group each: an entry gets the addresses of its buffers on the host,
 * and words.
 */
#ifndef NEAP_TESTS_CUDA_FAKE_LIBRARY_H
#define NEAP_TESTS_CUDA_FAKE_LIBRARY_H

#include "engine/cuda/libraries.h"
#include "tests/cuda/fake/fake.h"

#pragma GCC visibility push(default)

typedef struct fake_use { /* of memory of the current device, by work */
    const void *memory;
    size_t bytes;
} fake_use;

/* What each call of a library begins with: it is no host function's, and has a context. May fail, as a call of the
 * driver. */
CUresult fake_library_call(const char *name);
CUcontext fake_library_context(void); /* the current one */
/* May kernels of the first device use memory of the other's pool? */
bool fake_library_reaches(CUcontext from, CUcontext to);
/* The library may start threads now. */
void fake_check_signals(const char *name);
/* Something of the library was made, or freed, with the current device, which must not be released while it is there.
 */
void fake_library_holds(int change);
/* Enqueues work of the driver's own; as below, but not counted. */
void fake_work_launch(const char *name, CUstream stream, CUfunction function, const fake_use *uses, int nwords,
                      const uint64_t *words);
/* Enqueues work; `function` is a static one of the library, with its entry and as many buffers. */
void fake_library_launch(const char *name, CUstream stream, CUfunction function, const fake_use *uses, int nwords,
                         const uint64_t *words);
/* In an entry: where the CPU finds this memory of a device, which is there. */
void *fake_library_address(const void *memory);

int fake_library_capability(void); /* 90: of sm_90 */
void fake_library_half(void);      /* a library is about to multiply halves */

/* Launches of libraries, ever; of these, with halves. For Lua. */
uint64_t fake_library_launches(void);
uint64_t fake_library_halves(void);
/* Groups of the last launch of an entry "kernel". For Lua. */
uint64_t fake_kernel_groups(void);
/* PTX that was compiled: that no earlier process had left. For Lua. */
uint64_t fake_compiled(void);

#pragma GCC visibility pop

#endif
