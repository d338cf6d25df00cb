/* conv.h: convolutions through a library, and the derivatives of one, which are convolutions of other pairs. For lazy/;
 * not part of the public interface. */
#ifndef NEAP_ENGINE_CONV_H
#define NEAP_ENGINE_CONV_H

#include <stdbool.h>

#include "engine/engine.h"

enum { ENGINE_CONV_DIMS = 3 }; /* spatial axes at most */

/* y[n, o…, c'] = Σ x[n, o·stride - low + k·dilation, c] · w[k…, c, c'], x counting as 0 outside. All three lie
 * row-major with the channels last: x (batch, in…, channels), w (kernel…, channels / groups, features), y (batch, out…,
 * features). Channels and features come in `groups` parts, of which equal ones meet. */
typedef struct engine_conv_args {
    bool f64; /* else f32 */
    int ndim; /* spatial axes, 1 to 3 */
    int64_t batch, channels, features, groups;
    int64_t in[ENGINE_CONV_DIMS], kernel[ENGINE_CONV_DIMS], out[ENGINE_CONV_DIMS];
    int64_t stride[ENGINE_CONV_DIMS], dilation[ENGINE_CONV_DIMS], low[ENGINE_CONV_DIMS], high[ENGINE_CONV_DIMS];
    void *x, *w, *y;
} engine_conv_args;

typedef enum engine_conv_kind {
    ENGINE_CONV_FORWARD, /* y of x and w */
    ENGINE_CONV_INPUT,   /* x of y and w: the sum of what each element of x has to do with y */
    ENGINE_CONV_KERNEL   /* w of x and y */
} engine_conv_kind;

/* From inside an op. f32 goes to oneDNN if that is there, one call on one thread for each part of the batch, whose
 * extent depends on the arguments alone; all else to products, over matrices of windows. */
int engine_conv(const neap_run *run, engine_conv_kind kind, const engine_conv_args *args);

/* "oneDNN 2.6.3", or why convolutions of f32 do not go there. BORROWED forever. */
const char *engine_conv_library(void);

/* For tests: f32 goes to products, too. */
void engine_conv_plainly(bool plainly);

/* ---- Inside (conv.c, conv_dnnl.c) -------------------------------------------------------------------------------- */
typedef struct engine_conv_call engine_conv_call; /* of oneDNN: what does one kind for given extents */

/* For the whole batch of args; `like`: with the kernel in the layout of another one. NULL: the library cannot do this
 * one, or is not there. */
engine_conv_call *engine_conv_dnnl_open(engine_conv_kind kind, const engine_conv_args *args,
                                        const engine_conv_call *like);
void engine_conv_dnnl_close(engine_conv_call *call);
/* Bytes of the kernel in the library's layout; 0: that is the one that it has. */
size_t engine_conv_dnnl_kernel_bytes(const engine_conv_call *call);
/* The kernel into the library's layout, or back if it is the result. False: failed. */
bool engine_conv_dnnl_copy(const engine_conv_call *call, void *plain, void *copy);
/* On this thread; any number of threads may do so at once. w is in the library's layout. False: failed. */
bool engine_conv_dnnl_run(const neap_run *run, const engine_conv_call *call, void *x, void *w, void *y);
bool engine_conv_dnnl_there(void);

#endif
