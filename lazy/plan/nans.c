/* nans.c: np.debug.nans: which op makes a NaN of operands without one.
 *
 * While it is on, plans that are made have a step for each op (plan_store_for_nans), no step shares an op of the engine
 * or is machine code of a loop, each op has its script line, and what a step on the host has written is read once more:
 *
 *      operands: is there a NaN? ──no──▶ the step runs ──▶ results: is there one now? ──yes──▶ it fails
 *                     └─yes─▶ it runs, and nothing is looked at: the NaN was data, or an earlier step's
 *
 * So the failure is that of the step that came first, and reaches the user as any failed op does: with the op, its line
 * of the script, and what depends on it. Operands are looked at before, since results may be written over them. While
 * it is off, a step costs one load more.
 *
 * A `take` only moves elements, of a table whose extent a kernel does not know: kernels with one are left out.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#include "lazy/plan/plan.h"

static atomic_bool looking;

void neap_debug_nans(neap_ctx *ctx, int on) {
    graph_sites_want_every(ctx, on != 0);
    atomic_store_explicit(&looking, on != 0, memory_order_relaxed);
}

bool plan_looks_for_nans(void) {
    return atomic_load_explicit(&looking, memory_order_relaxed);
}

void plan_store_for_nans(const neap_ctx *ctx, uint8_t *made) {
    for (int64_t k = 0; k < ctx->walk.order.n; k++) {
        const neap_node *node = ctx->walk.order.at[k];
        bool computes = graph_node_op(node)->kind == LAZY_MAP || graph_node_op(node)->kind == LAZY_REDUCE;
        bool own = !plan_is_leaf(node) && plan_same(ctx, node) == node && !graph_is_view(node);
        if (made[k] == LAZY_WHY_NOT && computes && own && node->size > 0)
            made[k] = LAZY_WHY_LOOKED_AT;
    }
}

/* ---- Elements ---------------------------------------------------------------------------------------------------- */
/* Elements of memory: of each index of a domain, the one at offset + Σ index·stride. */
typedef struct elements {
    const char *data;
    int dtype, ndim;
    const int64_t *shape, *stride;
    int64_t offset;
} elements;

typedef struct found {              /* by look_at */
    int64_t index[LAZY_MAX_DOMAIN]; /* of the first NaN */
    int64_t at;                     /* its place in memory, in elements */
    double least, most;             /* of the elements before it, or of all */
} found;

static bool is_nan(int dtype, const char *element) {
    int part = dtype_of_part(dtype), bytes = neap_dtype_bytes(part);
    double value = dtype_number(part, element);
    bool is = value != value;
    if (part != dtype) {
        double imaginary = dtype_number(part, element + bytes);
        is |= imaginary != imaginary;
    }
    return is;
}

static int64_t place_of(const elements *e, const int64_t *index) {
    int64_t at = e->offset;
    for (int k = 0; k < e->ndim; k++)
        at += index[k] * e->stride[k];
    return at;
}

/* The next index; an axis along which the elements stay the same counts as one. false: there is none. */
static bool next_index(const elements *e, int64_t *index) {
    for (int k = e->ndim - 1; k >= 0; k--) {
        if (e->stride[k] != 0 && ++index[k] < e->shape[k])
            return true;
        index[k] = 0;
    }
    return false;
}

/* Is there a NaN? */
static bool look_at(const elements *e, found *f) {
    *f = (found){.least = HUGE_VAL, .most = -HUGE_VAL};
    for (int k = 0; k < e->ndim; k++)
        if (e->shape[k] == 0)
            return false;
    int bytes = neap_dtype_bytes(e->dtype);
    do {
        f->at = place_of(e, f->index);
        const char *element = e->data + f->at * bytes;
        if (is_nan(e->dtype, element))
            return true;
        double value = dtype_number(e->dtype, element);
        f->least = value < f->least ? value : f->least;
        f->most = value > f->most ? value : f->most;
    } while (next_index(e, f->index));
    return false;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */
enum { OPERANDS = 8 }; /* that a message tells of */

typedef struct operands { /* of a step: those that are floats or complex */
    int n;
    elements of[OPERANDS];
    found seen[OPERANDS];
} operands;

/* Looks at an operand. Is there a NaN? */
static bool add_operand(operands *o, elements e) {
    found f;
    if (!dtype_is_inexact(e.dtype))
        return false;
    if (look_at(&e, &f))
        return true;
    if (o->n < OPERANDS) {
        o->of[o->n] = e;
        o->seen[o->n++] = f;
    }
    return false;
}

static elements of_load(const lazy_kernel *kernel, const lazy_load *load, void *const *bufs,
                        const lazy_scalar *numbers) {
    bool scalar = load->kind == LAZY_LOAD_SCALAR;
    return (elements){.data = scalar ? (const char *)&numbers[load->slot] : bufs[load->slot],
                      .dtype = load->dtype,
                      .ndim = scalar ? 0 : kernel->ndim,
                      .shape = kernel->shape,
                      .stride = load->read.stride,
                      .offset = scalar ? 0 : load->read.offset};
}

static elements of_tensor(const lazy_tensor *tensor) {
    return (elements){tensor->data, tensor->dtype, tensor->ndim, tensor->shape, tensor->stride, 0};
}

/* Is there an operand with a NaN, or one that nobody can look at? */
static bool kernel_has_nan(const lazy_kernel *kernel, void *const *bufs, const lazy_scalar *numbers, operands *o) {
    for (int k = 0; k < kernel->nloads; k++) {
        const lazy_load *load = &kernel->loads[k];
        bool reads = load->kind == LAZY_LOAD_BUFFER || load->kind == LAZY_LOAD_SCALAR;
        if (load->kind == LAZY_LOAD_TABLE || (reads && add_operand(o, of_load(kernel, load, bufs, numbers))))
            return true;
    }
    return false;
}

static bool call_has_nan(const lazy_call *call, operands *o) {
    for (int k = 0; k < call->nin; k++)
        if (add_operand(o, of_tensor(&call->in[k])))
            return true;
    return false;
}

/* "-1", "1+2j": an element that an operand has at an index of its domain, or anything if that has another one. */
static void element_text(const elements *e, const int64_t *index, char *text, size_t bytes) {
    const char *element = e->data + place_of(e, index) * neap_dtype_bytes(e->dtype);
    int part = dtype_of_part(e->dtype);
    if (part == e->dtype)
        snprintf(text, bytes, "%.9g", dtype_number(part, element));
    else
        snprintf(text, bytes, "%.9g%+.9gj", dtype_number(part, element),
                 dtype_number(part, element + neap_dtype_bytes(part)));
}

/* The failure of a step whose result has a NaN there. index: of the domain of its operands; NULL: it is made of many of
 * their elements, or they were written over. */
static int fail_with(const operands *o, int64_t at, const int64_t *index) {
    char text[512];
    size_t used = 0;
    text[0] = 0;
    for (int k = 0; k < o->n && used + 64 < sizeof text; k++) {
        char word[64];
        const found *seen = &o->seen[k];
        if (index)
            element_text(&o->of[k], index, word, sizeof word);
        else
            snprintf(word, sizeof word, "%.9g to %.9g", seen->least, seen->most);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", k ? (index ? " and " : ", and ") : "", word);
    }
    const char *of = !o->n ? "" : index ? " for " : " for numbers from ";
    return neap_error(NEAP_E_FAILED, "gives NaN%s%s, in element %lld of its result", of, text, (long long)at);
}

static bool is_written_over(const lazy_step *step, void *const *bufs) {
    bool over = false;
    for (int32_t out = step->nbufs - step->nouts; out < step->nbufs; out++)
        for (int32_t in = 0; in < step->nbufs - step->nouts; in++)
            over |= bufs[in] == bufs[out];
    return over;
}

static int look_at_kernel(const lazy_step *step, const lazy_kernel *kernel, void *const *bufs, const operands *o) {
    for (int k = 0; k < kernel->nsinks; k++) {
        const lazy_sink *sink = &kernel->sinks[k];
        if (sink->slot < 0 || sink->kind == LAZY_SINK_PUT || !dtype_is_inexact(sink->dtype))
            continue;
        int axes = loop_sink_axes(kernel, sink);
        elements e = {bufs[sink->slot], sink->dtype, axes, kernel->shape, sink->write.stride, sink->write.offset};
        found f;
        if (!look_at(&e, &f))
            continue;
        bool single = axes == kernel->ndim && !is_written_over(step, bufs);
        return fail_with(o, f.at, single ? f.index : NULL);
    }
    return 0;
}

int plan_step_looked_at(const lazy_step *step, const lazy_backend *backend, const lazy_kernel *kernel,
                        const lazy_operands *with, const neap_run *run) {
    operands o = {.n = 0};
    if (step->kind == LAZY_STEP_KERNEL) {
        bool had = kernel_has_nan(kernel, with->bufs, with->numbers, &o);
        int status = backend->run(kernel, with, run);
        return status || had ? status : look_at_kernel(step, kernel, with->bufs, &o);
    }
    lazy_tensor tensors[NEAP_MAX_INPUTS + 1];
    lazy_call bound = vm_call_bind(&step->call, step->offsets, with->bufs, tensors);
    bool had = call_has_nan(&bound, &o);
    int status = backend->call(&step->call, step->offsets, with, run);
    elements e = of_tensor(bound.out);
    found f;
    if (status || had || !dtype_is_inexact(e.dtype) || !look_at(&e, &f))
        return status;
    return fail_with(&o, f.at, NULL);
}
