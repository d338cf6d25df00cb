/* conv.h: convolutions through a library, and the derivatives of one, which are convolutions of other pairs. For lazy/;
 * not part of the public interface. */
#ifndef NEAP_ENGINE_CONV_H
#define NEAP_ENGINE_CONV_H

#include <stdbool.h>

#include "engine/engine.h"
#include "engine/routine.h"

/* What calls with the same kernel and the same extents may keep: oneDNN's description of the convolution, and the
 * kernel in oneDNN's layout, or the kernel as products read it, which the first call fills in. Any number of threads
 * may run such calls at once; their bits are those of calls that keep nothing. */
typedef struct engine_conv_kept engine_conv_kept;

/* From inside an op. f32 goes to oneDNN if that is there, one call on one thread for each part of the batch, whose
 * extent depends on the arguments alone; all else, and what is faster so, to products, over matrices of windows.
 * kept: of calls with this kernel; NULL: nothing is kept. */
int engine_conv(const neap_run *run, neap_convolution_kind kind, const neap_convolution *args, engine_conv_kept *kept);
/* For calls with these extents. NULL: nothing is worth keeping, or there is no memory. OWNED */
engine_conv_kept *engine_conv_keep(neap_convolution_kind kind, const neap_convolution *args);
size_t engine_conv_kept_bytes(const engine_conv_kept *kept);
void engine_conv_kept_free(engine_conv_kept *kept);
/* Is it faster by products, by its extents? */
bool engine_conv_by_products(neap_convolution_kind kind, const neap_convolution *args);

/* "oneDNN 2.6.3", or why convolutions of f32 do not go there. BORROWED forever. */
const char *engine_conv_library(void);

/* For tests: f32 goes to products, too. */
void engine_conv_plainly(bool plainly);

/* ---- Inside (conv.c, conv_dnnl.c) -------------------------------------------------------------------------------- */
typedef struct engine_conv_call engine_conv_call; /* of oneDNN: what does one kind for given extents */

/* For the whole batch of args; `like`: with the kernel in the layout of another one. NULL: the library cannot do this
 * one, or is not there. */
engine_conv_call *engine_conv_dnnl_open(neap_convolution_kind kind, const neap_convolution *args,
                                        const engine_conv_call *like);
void engine_conv_dnnl_close(engine_conv_call *call);
/* Bytes of the kernel in the library's layout; 0: that is the one that it has. */
size_t engine_conv_dnnl_kernel_bytes(const engine_conv_call *call);
/* The kernel into the library's layout, or back if it is the result. False: failed. */
bool engine_conv_dnnl_copy(const engine_conv_call *call, void *plain, void *copy);
/* On this thread; any number of threads may do so at once. w is in the library's layout. False: failed. */
bool engine_conv_dnnl_run(const neap_run *run, engine_conv_call *call, void *x, void *w, void *y);
/* The same, of many calls with one kernel, for which what the library needs is made once, and kept with the open call:
 * begin, any number of steps on the same thread, end. NULL: failed. OWNED */
typedef struct engine_conv_stand engine_conv_stand;
engine_conv_stand *engine_conv_dnnl_begin(const neap_run *run, engine_conv_call *call, void *w);
bool engine_conv_dnnl_step(engine_conv_stand *stand, void *x, void *y);
void engine_conv_dnnl_end(engine_conv_stand *stand);
bool engine_conv_dnnl_there(void);

#endif
