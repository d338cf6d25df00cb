/* conv.c: convolutions: splits a batch into parts for oneDNN (conv_dnnl.c), or reduces one to products by the BLAS.
 *
 *      x ──windows──▶ a matrix, one row for each place of y, with all elements of x that meet a kernel there
 *
 * so that y = windows · w; and for the derivatives w = windowsᵀ · y, and windows = y · wᵀ, which is added back to x.
 * The matrix is made for one image and one group at a time. Sums are in one fixed order.
 */
#include "engine/conv.h"

#include <stdatomic.h>
#include <string.h>

#include "engine/blas.h"
#include "engine/device.h"

enum {
    PART_WORK = 1 << 22, /* multiplications of a part of the batch, at least */
    MOST_PARTS = 16
};

typedef struct sizes {               /* in elements, of one image */
    int64_t x, y, w, places, window; /* window: elements of x that meet a kernel of one group */
} sizes;

static int64_t product(int ndim, const int64_t *extents) {
    int64_t size = 1;
    for (int k = 0; k < ndim; k++)
        size *= extents[k];
    return size;
}

static sizes sizes_of(const engine_conv_args *a) {
    int64_t taps = product(a->ndim, a->kernel), each = a->channels / a->groups;
    return (sizes){.x = product(a->ndim, a->in) * a->channels,
                   .y = product(a->ndim, a->out) * a->features,
                   .w = taps * each * a->features,
                   .places = product(a->ndim, a->out),
                   .window = taps * each};
}

static size_t item_of(const engine_conv_args *a) {
    return a->f64 ? 8 : 4;
}

/* ---- Windows ----------------------------------------------------------------------------------------------------- */
/* Where tap `tap` of the window of place `place` reads, as a number of a pixel; -1: outside. */
static int64_t pixel_of(const engine_conv_args *a, int64_t place, int64_t tap) {
    int64_t at = 0, row = 1;
    for (int k = a->ndim - 1; k >= 0; k--) {
        int64_t i = place % a->out[k] * a->stride[k] - a->low[k] + tap % a->kernel[k] * a->dilation[k];
        if (i < 0 || i >= a->in[k])
            return -1;
        at += i * row;
        row *= a->in[k];
        place /= a->out[k];
        tap /= a->kernel[k];
    }
    return at;
}

static void add(bool f64, void *to, const void *from, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        if (f64) {
            ((double *)to)[k] += ((const double *)from)[k];
        } else {
            ((float *)to)[k] += ((const float *)from)[k];
        }
    }
}

/* Copies the windows of one group of the image x into rows, or adds the rows to it. */
static void move_windows(const engine_conv_args *a, const sizes *s, char *x, int64_t group, char *rows, bool back) {
    int64_t each = a->channels / a->groups, taps = product(a->ndim, a->kernel);
    size_t item = item_of(a), bytes = (size_t)each * item;
    for (int64_t place = 0; place < s->places; place++) {
        for (int64_t tap = 0; tap < taps; tap++, rows += bytes) {
            int64_t pixel = pixel_of(a, place, tap);
            char *at = x + (size_t)(pixel * a->channels + group * each) * item;
            if (back && pixel >= 0)
                add(a->f64, at, rows, each);
            else if (!back && pixel >= 0)
                memcpy(rows, at, bytes);
            else if (!back)
                memset(rows, 0, bytes);
        }
    }
}

/* ---- By products ------------------------------------------------------------------------------------------------- */
/* Columns of one group in y and in w lie `features` apart from row to row. */
static int forward_product(const neap_run *run, const engine_conv_args *a, const sizes *s, char *rows, char *w,
                           char *y) {
    int64_t each = a->features / a->groups;
    return engine_gemm(run, &(engine_gemm_args){.f64 = a->f64,
                                                .batch = 1,
                                                .m = s->places,
                                                .n = each,
                                                .k = s->window,
                                                .a = rows,
                                                .b = w,
                                                .c = y,
                                                .lda = s->window,
                                                .ldb = a->features,
                                                .ldc = a->features});
}

static int input_product(const neap_run *run, const engine_conv_args *a, const sizes *s, char *rows, char *w, char *y) {
    int64_t each = a->features / a->groups;
    return engine_gemm(run, &(engine_gemm_args){.f64 = a->f64,
                                                .transpose_b = true,
                                                .batch = 1,
                                                .m = s->places,
                                                .n = s->window,
                                                .k = each,
                                                .a = y,
                                                .b = w,
                                                .c = rows,
                                                .lda = a->features,
                                                .ldb = a->features,
                                                .ldc = s->window});
}

static int kernel_product(const neap_run *run, const engine_conv_args *a, const sizes *s, char *rows, char *part,
                          char *y) {
    int64_t each = a->features / a->groups;
    return engine_gemm(run, &(engine_gemm_args){.f64 = a->f64,
                                                .transpose_a = true,
                                                .batch = 1,
                                                .m = s->window,
                                                .n = each,
                                                .k = s->places,
                                                .a = rows,
                                                .b = y,
                                                .c = part,
                                                .lda = s->window,
                                                .ldb = a->features,
                                                .ldc = each});
}

/* One image and group. `rows` has room for the windows, `part` for a group's kernel. */
static int one_group(const neap_run *run, engine_conv_kind kind, const engine_conv_args *a, const sizes *s, char *x,
                     char *y, int64_t group, char *rows, char *part) {
    size_t item = item_of(a);
    int64_t each = a->features / a->groups;
    char *w = (char *)a->w + (size_t)(group * each) * item;
    y += (size_t)(group * each) * item;
    int status;
    if (kind != ENGINE_CONV_INPUT)
        move_windows(a, s, x, group, rows, false);
    switch (kind) {
    case ENGINE_CONV_FORWARD:
        return forward_product(run, a, s, rows, w, y);
    case ENGINE_CONV_INPUT:
        status = input_product(run, a, s, rows, w, y);
        if (status == 0)
            move_windows(a, s, x, group, rows, true);
        return status;
    default:
        status = kernel_product(run, a, s, rows, part, y);
        for (int64_t k = 0; k < s->window && status == 0; k++)
            add(a->f64, w + (size_t)(k * a->features) * item, part + (size_t)(k * each) * item, each);
        return status;
    }
}

static int by_products(const neap_run *run, engine_conv_kind kind, const engine_conv_args *a) {
    sizes s = sizes_of(a);
    size_t item = item_of(a), rows = (size_t)(s.places * s.window) * item;
    size_t part = kind == ENGINE_CONV_KERNEL ? (size_t)(s.window * (a->features / a->groups)) * item : 0;
    void *room;
    int status = neap_run_alloc(run, rows + part, &room);
    for (int64_t n = 0; n < a->batch && status == 0; n++) {
        char *x = (char *)a->x + (size_t)(n * s.x) * item, *y = (char *)a->y + (size_t)(n * s.y) * item;
        for (int64_t group = 0; group < a->groups && status == 0; group++)
            status = one_group(run, kind, a, &s, x, y, group, room, (char *)room + rows);
        if (neap_run_cancelled(run))
            break;
    }
    neap_run_free(run, room, rows + part);
    return status;
}

/* ---- Parts of a batch -------------------------------------------------------------------------------------------- */
typedef struct parts {
    const engine_conv_args *args;
    engine_conv_kind kind;
    int64_t count, images; /* of each part but the last */
    sizes size;
    char *kernels; /* the parts' kernels, to be summed */
    _Atomic bool refused;
} parts;

static void compute_part(void *arg, int64_t index, const neap_run *run) {
    parts *p = arg;
    engine_conv_args a = *p->args;
    size_t item = item_of(&a);
    int64_t first = index * p->images;
    a.batch = a.batch - first < p->images ? a.batch - first : p->images;
    a.x = (char *)a.x + (size_t)(first * p->size.x) * item;
    a.y = (char *)a.y + (size_t)(first * p->size.y) * item;
    if (p->kernels)
        a.w = p->kernels + (size_t)(index * p->size.w) * item;
    if (!engine_conv_dnnl(run, p->kind, &a))
        atomic_store(&p->refused, true);
}

/* By oneDNN, split by images. False: it cannot. */
static bool by_parts(const neap_run *run, engine_conv_kind kind, const engine_conv_args *a) {
    parts p = {.args = a, .kind = kind, .size = sizes_of(a)};
    double work = (double)p.size.y * (double)p.size.window * (double)a->batch;
    int64_t most = a->batch < MOST_PARTS ? a->batch : MOST_PARTS;
    if (kind == ENGINE_CONV_KERNEL && most > 4)
        most = 4; /* each has a kernel of its own */
    p.count = work / PART_WORK < (double)most ? (int64_t)(work / PART_WORK) + 1 : most;
    p.count = p.count < most ? p.count : most;
    p.images = (a->batch + p.count - 1) / p.count;
    p.count = (a->batch + p.images - 1) / p.images;
    size_t bytes = kind == ENGINE_CONV_KERNEL && p.count > 1 ? (size_t)(p.count * p.size.w) * item_of(a) : 0;
    void *kernels = NULL;
    if (bytes && neap_run_alloc(run, bytes, &kernels) != 0)
        return false;
    p.kernels = kernels;
    if (p.count == 1) {
        compute_part(&p, 0, run);
    } else {
        neap_parallel_for(run, p.count, compute_part, &p);
    }
    bool done = !atomic_load(&p.refused);
    if (bytes && done) {
        memcpy(a->w, p.kernels, (size_t)p.size.w * item_of(a));
        for (int64_t k = 1; k < p.count; k++)
            add(a->f64, a->w, p.kernels + (size_t)(k * p.size.w) * item_of(a), p.size.w);
    }
    if (bytes)
        neap_run_free(run, kernels, bytes);
    return done;
}

int engine_conv(const neap_run *run, engine_conv_kind kind, const engine_conv_args *args) {
    sizes s = sizes_of(args);
    bool empty = args->batch == 0 || s.x == 0 || s.y == 0 || s.w == 0;
    if (!empty && !args->f64 && engine_conv_dnnl_there() && by_parts(run, kind, args))
        return NEAP_OK;
    /* Sums over nothing are zeros; the derivatives are added up. */
    int64_t size = kind == ENGINE_CONV_FORWARD ? s.y * args->batch
                   : kind == ENGINE_CONV_INPUT ? s.x * args->batch
                                               : s.w;
    void *result = kind == ENGINE_CONV_FORWARD ? args->y : kind == ENGINE_CONV_INPUT ? args->x : args->w;
    if (size > 0)
        memset(result, 0, (size_t)size * item_of(args));
    return empty ? NEAP_OK : by_products(run, kind, args);
}
