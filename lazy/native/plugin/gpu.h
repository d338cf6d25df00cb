/* plugin/gpu.h: the generator of code for GPUs, as generate.c offers it. */
#ifndef LAZY_NATIVE_PLUGIN_GPU_H
#define LAZY_NATIVE_PLUGIN_GPU_H

#include "engine/device.h"

/* neap_generator.generate_gpu */
int gpu_generate(const void *kernel, const char *target, void **out, size_t *bytes);

#endif
