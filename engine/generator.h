/* generator.h: what makes machine code of kernels, for those who write one (lazy/native/plugin has the one around
 * LLVM).
 *
 * A generator is a table that a plugin registers (device.h: neap_plugin_host). One thread at a time calls it.
 */
#ifndef NEAP_ENGINE_GENERATOR_H
#define NEAP_ENGINE_GENERATOR_H

#include "engine/engine.h"

typedef struct neap_generator {
    uint32_t abi;     /* NEAP_DEVICE_ABI */
    uint64_t build;   /* of what it was compiled with, bodies and op rows (native_build.h): another one is not used */
    const char *name; /* with its version, as users are told: "LLVM 19.1.7" */
    /* Makes an object file of a body (lazy/native/native.h: native_body), whose function `kernel` is a native_code for
     * the instruction set. *object is OWNED (free). 0, or a negative NEAP_E_… after the host's error(). */
    int (*generate)(const void *body, const char *isa, void **object, size_t *bytes);
    /* Makes the text of a GPU's kernel (lazy/native/gpu.h: gpu_kernel) for a target, "sm_90", or an object file of the
     * same for "host". As above; optional. */
    int (*generate_gpu)(const void *kernel, const char *target, void **out, size_t *bytes);
} neap_generator;

/* A plugin's way to offer its generator, which is used from then on. NEAP_E_ARGUMENT. BORROWED for ever. */
NEAP_API int neap_generator_register(const neap_generator *generator);
/* The one in use; NULL: none was registered. */
NEAP_API const neap_generator *neap_generator_in_use(void);

#endif
