/* conv.c: convolutions: splits a batch into parts for oneDNN (conv_dnnl.c), or reduces one to products of matrices.
 *
 *      x ──windows──▶ a matrix, one row for each place of y, with all elements of x that meet a kernel there
 *
 * so that y = windows · w; and for the derivatives w = windowsᵀ · y, and windows = y · wᵀ, which is added back to x.
 * The matrix is made for one group at a time, and of many places in blocks; it is part of x itself where a kernel has
 * one place and moves by one. Sums are in one fixed order. Products with a kernel that is kept read a copy in the order
 * in which their loops take it (product.h), so each call reads the kernel once, from one end to the other.
 */
#include "engine/libs/conv.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device.h"
#include "engine/libs/product.h"

enum {
    BLOCK_BYTES = 1 << 24, /* of a matrix of windows, about */
    PART_WORK = 1 << 23,   /* multiplications of a part of the batch, at least, */
    PART_PLACES = 196,     /* and places of y */
    MOST_PARTS = 16,
    MOST_KERNELS = 4,
    FEW_PLACES = 128,
    GROUP_CHANNELS = 8,
    GROUP_WORK = 1 << 20,
    PACKED_BYTES = 10 << 20, /* of a group's kernel that products keep: with 1 to 2.4 MB that took 0.6 to 0.95 of the */
                             /* time of those that keep nothing, with 4 to 9.4 MB from memory 0.65 to 0.75 */
    LONG_ROW = 1 << 12,
    PIECE = 1 << 11,     /* places of a piece of a long row */
    FAR_REACH = 1 << 20, /* elements that padding and a kernel reach over, */
    FAR_TAPS = 16,       /* and for each tap of the kernel: more is left to products */
    SUM_BYTES = 1 << 18  /* of kernels that are summed, at a time */
};

typedef struct sizes {               /* in elements, of one image */
    int64_t x, y, w, places, window; /* window: elements of x that meet a kernel of one group */
    int64_t block;                   /* places at a time */
} sizes;

static int64_t product_of_extents(int ndim, const int64_t *extents) {
    int64_t size = 1;
    for (int k = 0; k < ndim; k++)
        size *= extents[k];
    return size;
}

static sizes sizes_of(const neap_convolution *a) {
    int64_t taps = product_of_extents(a->ndim, a->kernel), each = a->channels / a->groups;
    int64_t bytes = taps * each * (a->f64 ? 8 : 4), block = bytes > 0 ? BLOCK_BYTES / bytes : 1;
    return (sizes){.x = product_of_extents(a->ndim, a->in) * a->channels,
                   .y = product_of_extents(a->ndim, a->out) * a->features,
                   .w = taps * each * a->features,
                   .places = product_of_extents(a->ndim, a->out),
                   .window = taps * each,
                   .block = block > 0 ? block : 1};
}

static size_t item_of(const neap_convolution *a) {
    return a->f64 ? 8 : 4;
}

/* ---- Windows ----------------------------------------------------------------------------------------------------- */
/* Where tap `tap` of the window of place `place` reads, as a number of a pixel; -1: outside. */
static int64_t pixel_of(const neap_convolution *a, int64_t place, int64_t tap) {
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

static void add_into(bool f64, void *to, const void *from, int64_t n) {
    for (int64_t k = 0; f64 && k < n; k++)
        ((double *)to)[k] += ((const double *)from)[k];
    for (int64_t k = 0; !f64 && k < n; k++)
        ((float *)to)[k] += ((const float *)from)[k];
}

typedef struct conv_block { /* of the places of all images, in one group */
    int64_t group, first, count;
    const engine_gemm_packed *packed; /* the kernel of the group; NULL: it is read as it lies */
    char *rows;                       /* scratch for the windows of these places; NULL: they are columns of x */
    char *kernel;                     /* scratch for the kernel of a group */
} conv_block;

/* Copies n elements of an image into a row, or adds those of the row to the image; outside of the image (NULL) zeros
 * are copied. */
static void move_elements(const neap_convolution *a, char *image, char *row, int64_t n, bool back) {
    size_t bytes = (size_t)n * item_of(a);
    if (back && image)
        add_into(a->f64, image, row, n);
    else if (!back && image)
        memcpy(row, image, bytes);
    else if (!back)
        memset(row, 0, bytes);
}

/* Copies the windows of a block into rows, or adds the rows to the images. Taps that are neighbours along the last axis
 * are moved at once, where all of them are inside. */
static void move_windows(const neap_convolution *a, const sizes *s, const conv_block *b, bool back) {
    int64_t each = a->channels / a->groups, taps = product_of_extents(a->ndim, a->kernel);
    int64_t run = a->dilation[a->ndim - 1] == 1 && a->groups == 1 ? a->kernel[a->ndim - 1] : 1;
    size_t item = item_of(a);
    char *row = b->rows;
    for (int64_t place = b->first; place < b->first + b->count; place++) {
        char *image = (char *)a->x + (size_t)(place / s->places * s->x + b->group * each) * item;
        for (int64_t tap = 0; tap < taps;) {
            int64_t pixel = pixel_of(a, place, tap), n = run;
            if (run > 1 && (pixel < 0 || pixel_of(a, place, tap + run - 1) < 0 || tap % run))
                n = 1;
            move_elements(a, pixel < 0 ? NULL : image + (size_t)(pixel * a->channels) * item, row, n * each, back);
            row += (size_t)(n * each) * item;
            tap += n;
        }
    }
}

/* ---- By products ------------------------------------------------------------------------------------------------- */
/* Has a kernel one place, which moves by one? Then columns of x are the matrix of windows. */
static bool is_pointwise(const neap_convolution *a) {
    bool same = true;
    for (int k = 0; k < a->ndim && same; k++)
        same = a->kernel[k] == 1 && a->stride[k] == 1 && !a->low[k] && !a->high[k];
    return same;
}

/* The product that a kind asks of a block. Columns of one group in y and in w lie `features` apart from row to row. */
static int multiply(const neap_run *run, neap_convolution_kind kind, const neap_convolution *a, const sizes *s,
                    const conv_block *b) {
    int64_t each = a->features / a->groups;
    size_t item = item_of(a), group = (size_t)(b->group * each) * item;
    char *w = (char *)a->w + group, *y = (char *)a->y + (size_t)(b->first * a->features) * item + group;
    char *x = (char *)a->x + (size_t)(b->first * a->channels + b->group * s->window) * item;
    void *rows = b->rows ? b->rows : x;
    int64_t apart = b->rows ? s->window : a->channels;
    engine_gemm_args product = {.f64 = a->f64, .packed = b->packed};
    switch (kind) {
    case NEAP_CONVOLUTION_FORWARD: /* y = rows · w */
        product.m = b->count, product.n = each, product.k = s->window;
        product.a = rows, product.b = w, product.c = y;
        product.lda = apart, product.ldb = product.ldc = a->features;
        break;
    case NEAP_CONVOLUTION_INPUT: /* rows = y · wᵀ */
        product.m = b->count, product.n = s->window, product.k = each;
        product.a = y, product.b = w, product.c = rows;
        product.transpose_b = true;
        product.lda = product.ldb = a->features, product.ldc = apart;
        break;
    default: /* kernel = rowsᵀ · y */
        product.m = s->window, product.n = each, product.k = b->count;
        product.a = rows, product.b = y, product.c = b->kernel;
        product.transpose_a = true;
        product.lda = apart, product.ldb = a->features, product.ldc = each;
    }
    return engine_gemm(run, &product);
}

static int compute_block(const neap_run *run, neap_convolution_kind kind, const neap_convolution *a, const sizes *s,
                         const conv_block *b) {
    size_t item = item_of(a);
    int64_t each = a->features / a->groups;
    char *w = (char *)a->w + (size_t)(b->group * each) * item;
    if (b->rows && kind != NEAP_CONVOLUTION_INPUT)
        move_windows(a, s, b, false);
    int status = multiply(run, kind, a, s, b);
    if (status == 0 && b->rows && kind == NEAP_CONVOLUTION_INPUT)
        move_windows(a, s, b, true);
    for (int64_t k = 0; k < s->window && status == 0 && kind == NEAP_CONVOLUTION_KERNEL; k++)
        add_into(a->f64, w + (size_t)(k * a->features) * item, b->kernel + (size_t)(k * each) * item, each);
    return status;
}

/* packed: the kernels of all groups, or NULL. */
static int by_products(const neap_run *run, neap_convolution_kind kind, const neap_convolution *a,
                       const engine_gemm_packed *packed) {
    sizes s = sizes_of(a);
    int64_t each = a->features / a->groups, places = s.places * a->batch;
    bool pointwise = is_pointwise(a);
    int64_t most = pointwise || places < s.block ? places : s.block;
    size_t item = item_of(a), rows = pointwise ? 0 : (size_t)(most * s.window) * item, bytes = rows;
    if (kind == NEAP_CONVOLUTION_KERNEL)
        bytes += (size_t)(s.window * each) * item;
    void *scratch = NULL;
    int status = bytes ? neap_run_alloc(run, bytes, &scratch) : 0;
    if (status)
        return neap_error(status, "no memory for the windows of a convolution");
    conv_block b = {.rows = pointwise ? NULL : scratch, .kernel = (char *)scratch + rows};
    for (b.group = 0; b.group < a->groups && status == 0; b.group++) {
        b.packed = packed ? &packed[b.group] : NULL;
        for (b.first = 0; b.first < places && status == 0 && !neap_run_cancelled(run); b.first += b.count) {
            b.count = places - b.first < most ? places - b.first : most;
            status = compute_block(run, kind, a, &s, &b);
        }
    }
    if (scratch)
        neap_run_free(run, scratch, bytes);
    return status;
}

/* ---- Parts of a batch -------------------------------------------------------------------------------------------- */
typedef struct parts {
    neap_convolution args;
    neap_convolution_kind kind;
    int64_t count, images; /* of each part but the last; images: of long rows the pieces */
    sizes size;
    neap_convolution piece;        /* of a long row */
    int64_t pieces;                /* of each row; 0: rows stay whole */
    engine_conv_call *call, *last; /* of each part but the last, and of that if it has fewer images */
    char *kernels;                 /* in the library's layout: one for all parts, or one for each, to be summed */
    size_t kernel_bytes;           /* distance of the latter */
    _Atomic bool refused;
} parts;

enum { KERNEL_MISSING, KERNEL_COMING, KERNEL_THERE };

struct engine_conv_kept {
    parts parts; /* of calls of the library, but for their memory */
    neap_buffer *kernel;
    engine_gemm_packed *packed; /* of products: the kernel of each group; NULL: it is the library's */
    _Atomic int state;          /* of the kernel */
};

/* ---- Pieces of long rows ----------------------------------------------------------------------------------------- */
/* On one axis oneDNN prepares its loop place by place: 1.5 s for half a million places. So the loop is prepared for a
 * piece, and what a piece reads overlaps with what the next one does:
 *
 *      x   0 0|x x x x x x x x x x x|0 0        low 2, high 2, a kernel of 5 taps
 *          └──────piece 0─────┘                 reads 8 elements, 2 of which are padding; gives 4 places of y
 *                 └─────piece 1──────┘          ...
 *
 * A piece that reaches beyond the row reads a copy with zeros there, and one that gives too many places writes a copy,
 * too. One loop computes all places, so the bits of a place follow from what the place reads alone. */
static bool is_cut(neap_convolution_kind kind, const neap_convolution *a) {
    return kind == NEAP_CONVOLUTION_FORWARD && a->ndim == 1 && a->groups == 1 && a->out[0] >= LONG_ROW;
}

static void cut_rows(parts *p) {
    p->piece = p->args;
    p->piece.batch = 1;
    p->piece.low[0] = p->piece.high[0] = 0;
    p->piece.out[0] = PIECE;
    p->piece.in[0] = (PIECE - 1) * p->args.stride[0] + (p->args.kernel[0] - 1) * p->args.dilation[0] + 1;
    p->pieces = (p->args.out[0] + PIECE - 1) / PIECE;
    int64_t all = p->pieces * p->args.batch;
    p->images = (all + MOST_PARTS - 1) / MOST_PARTS;
    p->count = (all + p->images - 1) / p->images;
}

/* A piece at the edge of a row, from element `from` on: through `copy`, room for a piece of x and one of y. */
static bool compute_edge(parts *p, engine_conv_stand *stand, const float *row, int64_t from, float *y, int64_t places,
                         float *copy) {
    const neap_convolution *a = &p->args, *piece = &p->piece;
    int64_t size = piece->in[0], first = from < 0 ? -from : 0, end = a->in[0] - from < size ? a->in[0] - from : size;
    float *result = copy + size * a->channels;
    memset(copy, 0, (size_t)(size * a->channels) * sizeof *copy);
    if (first < end)
        memcpy(copy + first * a->channels, row + (from + first) * a->channels,
               (size_t)((end - first) * a->channels) * sizeof *copy);
    if (!engine_conv_dnnl_step(stand, copy, result))
        return false;
    memcpy(y, result, (size_t)(places * a->features) * sizeof *y);
    return true;
}

static bool compute_piece(parts *p, engine_conv_stand *stand, int64_t index, float *copy) {
    const neap_convolution *a = &p->args;
    int64_t image = index / p->pieces, place = index % p->pieces * PIECE, from = place * a->stride[0] - a->low[0];
    int64_t places = a->out[0] - place < PIECE ? a->out[0] - place : PIECE;
    const float *row = (const float *)a->x + image * p->size.x;
    float *y = (float *)a->y + image * p->size.y + place * a->features;
    if (from < 0 || from + p->piece.in[0] > a->in[0] || places < PIECE)
        return compute_edge(p, stand, row, from, y, places, copy);
    return engine_conv_dnnl_step(stand, (float *)a->x + image * p->size.x + from * a->channels, y);
}

static void compute_pieces(parts *p, int64_t index, const neap_run *run) {
    const neap_convolution *piece = &p->piece;
    size_t bytes = (size_t)(piece->in[0] * piece->channels + PIECE * piece->features) * sizeof(float);
    int64_t all = p->pieces * p->args.batch, end = (index + 1) * p->images;
    void *copy = NULL;
    engine_conv_stand *stand = engine_conv_dnnl_begin(run, p->call, p->kernels ? p->kernels : p->args.w);
    bool done = stand && neap_run_alloc(run, bytes, &copy) == 0;
    for (int64_t k = index * p->images; k < end && k < all && done && !neap_run_cancelled(run); k++)
        done = compute_piece(p, stand, k, copy);
    engine_conv_dnnl_end(stand);
    if (copy)
        neap_run_free(run, copy, bytes);
    if (!done)
        atomic_store(&p->refused, true);
}

/* ---- Parts at once ----------------------------------------------------------------------------------------------- */
static void compute_part(void *arg, int64_t index, const neap_run *run) {
    parts *p = arg;
    if (p->pieces) {
        compute_pieces(p, index, run);
        return;
    }
    const neap_convolution *a = &p->args;
    size_t item = item_of(a);
    int64_t first = index * p->images;
    engine_conv_call *call = p->last && index == p->count - 1 ? p->last : p->call;
    char *w =
        p->kernels ? p->kernels + (p->kind == NEAP_CONVOLUTION_KERNEL ? (size_t)index * p->kernel_bytes : 0) : a->w;
    if (!engine_conv_dnnl_run(run, call, (char *)a->x + (size_t)(first * p->size.x) * item, w,
                              (char *)a->y + (size_t)(first * p->size.y) * item))
        atomic_store(&p->refused, true);
}

/* How many parts follows from the extents alone. A part reads the whole kernel, which should not take longer than what
 * it does with it. */
static void choose_images(parts *p) {
    const neap_convolution *a = &p->args;
    double work = (double)p->size.y * (double)p->size.window * (double)a->batch;
    int64_t most =
        p->kind == NEAP_CONVOLUTION_KERNEL ? MOST_KERNELS : MOST_PARTS; /* of the former each has one of its own */
    int64_t least = (PART_PLACES + p->size.places - 1) / p->size.places;
    int64_t count = work / PART_WORK < (double)most ? (int64_t)(work / PART_WORK) + 1 : most;
    p->images = (a->batch + count - 1) / count;
    if (p->images < least)
        p->images = least < a->batch ? least : a->batch;
    p->count = (a->batch + p->images - 1) / p->images;
}

static bool open_calls(parts *p) {
    neap_convolution a = p->args;
    int64_t rest = a.batch - (p->count - 1) * p->images;
    a.batch = p->images;
    p->call = engine_conv_dnnl_open(p->kind, &a, NULL);
    if (!p->call || rest == p->images)
        return p->call;
    a.batch = rest;
    p->last = engine_conv_dnnl_open(p->kind, &a, p->call);
    return p->last;
}

static void sum_kernels(void *arg, int64_t index, const neap_run *run) {
    parts *p = arg;
    size_t first = (size_t)index * SUM_BYTES, most = p->kernel_bytes - first;
    (void)run;
    for (int64_t k = 1; k < p->count; k++)
        add_into(false, p->kernels + first, p->kernels + (size_t)k * p->kernel_bytes + first,
                 (int64_t)((most < SUM_BYTES ? most : SUM_BYTES) / sizeof(float)));
}

/* Runs the parts, whose kernels have room. copied: the kernel is copied to the library's layout, or back. */
static bool run_parts(parts *p, const neap_run *run, bool copied) {
    bool result = p->kind == NEAP_CONVOLUTION_KERNEL;
    if (copied && !result && !engine_conv_dnnl_copy(p->call, p->args.w, p->kernels))
        return false;
    if (p->count == 1)
        compute_part(p, 0, run);
    else
        neap_parallel_for(run, p->count, compute_part, p);
    if (atomic_load(&p->refused) || !result || !p->kernels)
        return !atomic_load(&p->refused);
    if (p->count > 1)
        neap_parallel_for(run, (int64_t)((p->kernel_bytes + SUM_BYTES - 1) / SUM_BYTES), sum_kernels, p);
    if (copied)
        return engine_conv_dnnl_copy(p->call, p->args.w, p->kernels);
    memcpy(p->args.w, p->kernels, p->kernel_bytes);
    return true;
}

/* One axis as the second of two. oneDNN has fast loops for channels that meet no others only where there are two axes;
 * on one it computes whole blocks of channels of which it needs the diagonal. For one axis of one channel, a signal, it
 * has a loop that it prepares place by place: 2 s for a million places and 11 taps, 14 s for 61. With two axes that
 * takes milliseconds; then the loop takes twice as long with 11 taps, and a third with 61. */
static neap_convolution widened(const neap_convolution *a) {
    neap_convolution wide = *a;
    wide.ndim = 2;
    int64_t *axes[] = {wide.in, wide.kernel, wide.out, wide.stride, wide.dilation, wide.low, wide.high};
    for (size_t k = 0; k < sizeof axes / sizeof *axes; k++) {
        axes[k][1] = axes[k][0];
        axes[k][0] = k < 5; /* an extent of 1, and no padding */
    }
    return wide;
}

/* Without last axes of one place, on which oneDNN takes up to four times as long as without them. */
static neap_convolution narrowed(const neap_convolution *args) {
    neap_convolution a = *args;
    for (int k = a.ndim - 1; k > 0 && a.in[k] == 1 && a.kernel[k] == 1 && !a.low[k] && !a.high[k]; k--)
        a.ndim = k;
    return a;
}

/* As oneDNN takes it. */
static neap_convolution taken_of(const neap_convolution *args) {
    neap_convolution taken = narrowed(args);
    const bool is_signal = taken.channels == 1 && taken.features == 1 && taken.out[0] >= LONG_ROW;
    return taken.ndim == 1 && (taken.groups > 1 || is_signal) ? widened(&taken) : taken;
}

/* Splits a call by images, or pieces of these, and opens it. False: oneDNN cannot do it; what was opened is to be
 * closed. */
static bool open_parts(parts *p, neap_convolution_kind kind, const neap_convolution *args) {
    *p = (parts){.args = taken_of(args), .kind = kind};
    p->size = sizes_of(&p->args);
    if (is_cut(kind, &p->args)) {
        cut_rows(p);
        p->call = engine_conv_dnnl_open(kind, &p->piece, NULL);
        return p->call;
    }
    choose_images(p);
    return open_calls(p);
}

static void close_parts(parts *p) {
    engine_conv_dnnl_close(p->call);
    engine_conv_dnnl_close(p->last);
}

/* Runs parts that are open, with memory for their kernels. */
static bool run_with_scratch(parts *p, const neap_run *run) {
    size_t bytes = engine_conv_dnnl_kernel_bytes(p->call);
    bool copied = bytes > 0, several = p->kind == NEAP_CONVOLUTION_KERNEL && p->count > 1;
    p->kernel_bytes = copied ? bytes : (size_t)p->size.w * item_of(&p->args);
    bytes = several ? p->kernel_bytes * (size_t)p->count : bytes;
    void *scratch = NULL;
    bool done = !bytes || neap_run_alloc(run, bytes, &scratch) == 0;
    p->kernels = scratch;
    done = done && run_parts(p, run, copied);
    if (scratch)
        neap_run_free(run, scratch, bytes);
    return done;
}

/* By oneDNN, split by images. False: it cannot. */
static bool by_parts(const neap_run *run, neap_convolution_kind kind, const neap_convolution *args) {
    parts p;
    bool done = open_parts(&p, kind, args) && run_with_scratch(&p, run);
    close_parts(&p);
    return done;
}

/* Of calls at once, the first copies the kernel, by what it is given here. Is the copy there, for this call? */
static bool find_kernel(engine_conv_kept *kept, const neap_convolution *args,
                        bool (*copy)(engine_conv_kept *kept, const neap_convolution *args)) {
    int state = KERNEL_MISSING;
    if (!atomic_compare_exchange_strong(&kept->state, &state, KERNEL_COMING))
        return state == KERNEL_THERE;
    bool copied = copy(kept, args);
    atomic_store(&kept->state, copied ? KERNEL_THERE : KERNEL_MISSING);
    return copied;
}

static bool copy_for_library(engine_conv_kept *kept, const neap_convolution *args) {
    return engine_conv_dnnl_copy(kept->parts.call, args->w, neap_buffer_data(kept->kernel));
}

/* By oneDNN with what was opened before; without the kept kernel by a copy of its own. */
static bool by_kept_parts(const neap_run *run, const neap_convolution *args, engine_conv_kept *kept) {
    parts p = kept->parts;
    p.args.x = args->x, p.args.w = args->w, p.args.y = args->y;
    if (!find_kernel(kept, args, copy_for_library))
        return run_with_scratch(&p, run);
    p.kernels = neap_buffer_data(kept->kernel);
    return run_parts(&p, run, false);
}

/* The product of a block whose right side is the kernel of a group. */
static engine_gemm_args product_of_group(const neap_convolution *a, int64_t group) {
    sizes s = sizes_of(a);
    int64_t each = a->features / a->groups, places = s.places * a->batch;
    return (engine_gemm_args){.f64 = a->f64,
                              .m = places < s.block ? places : s.block,
                              .n = each,
                              .k = s.window,
                              .b = a->w ? (char *)a->w + (size_t)(group * each) * item_of(a) : NULL,
                              .lda = s.window,
                              .ldb = a->features,
                              .ldc = a->features};
}

static bool copy_for_products(engine_conv_kept *kept, const neap_convolution *args) {
    char *panels = neap_buffer_data(kept->kernel);
    for (int64_t group = 0; group < args->groups; group++) {
        engine_gemm_args product = product_of_group(args, group);
        kept->packed[group].panels = panels;
        engine_gemm_pack(&product, &kept->packed[group]);
        panels += kept->packed[group].bytes;
    }
    return true;
}

static _Atomic bool without_library;

void engine_conv_plainly(bool plainly) {
    atomic_store(&without_library, plainly);
}

/* oneDNN copies the kernel to a layout of its own in each call, and describes what it does: that is most of the work of
 * few places, and up to FEW_PLACES products took 0.08 to 1.1 of its time. In groups of at least GROUP_CHANNELS
 * channels, where a kernel has one place, products took 0.1 to 0.5 of its time up to GROUP_WORK multiplications; above,
 * 0.95 to 2.5, and 1.1 to 3.0 of what oneDNN takes where the kernel is kept. */
bool engine_conv_by_products(neap_convolution_kind kind, const neap_convolution *a) {
    double places = (double)a->batch * (double)product_of_extents(a->ndim, a->out);
    bool few = a->groups == 1 && places <= FEW_PLACES;
    int64_t each = a->channels / a->groups;
    bool light = places * (double)a->features * (double)each < GROUP_WORK;
    bool grouped = a->groups > 1 && each >= GROUP_CHANNELS && light && is_pointwise(a);
    return kind == NEAP_CONVOLUTION_FORWARD && (few || grouped);
}

static bool is_empty(const neap_convolution *args, const sizes *s) {
    return args->batch == 0 || s->x == 0 || s->y == 0 || s->w == 0;
}

/* oneDNN takes 1 us to prepare its loop for each element of the last axis that padding or a dilated kernel reaches
 * over: minutes for 2^28, in which nothing stops it. Few of so many are read, so products take little time. */
static bool is_far(const neap_convolution *args) {
    const neap_convolution a = narrowed(args);
    const int last = a.ndim - 1;
    const int64_t reach = (a.kernel[last] - 1) * a.dilation[last] + a.low[last] + a.high[last];
    return reach > FAR_REACH && reach / FAR_TAPS > a.kernel[last];
}

static bool goes_to_library(neap_convolution_kind kind, const neap_convolution *args) {
    return !args->f64 && !is_far(args) && !engine_conv_by_products(kind, args) && !atomic_load(&without_library) &&
           engine_conv_dnnl_there();
}

/* Opens the calls of the library, or has room for what products keep; the bytes of the kernel, 0: nothing is kept. */
static size_t open_kept(engine_conv_kept *kept, neap_convolution_kind kind, const neap_convolution *args) {
    if (goes_to_library(kind, args))
        return open_parts(&kept->parts, kind, args) ? engine_conv_dnnl_kernel_bytes(kept->parts.call) : 0;
    if (kind != NEAP_CONVOLUTION_FORWARD)
        return 0;
    engine_gemm_args product = product_of_group(args, 0);
    engine_gemm_packed packed = engine_gemm_plan_packed(&product);
    bool worth = packed.bytes > 0 && packed.bytes <= PACKED_BYTES;
    kept->packed = worth ? malloc((size_t)args->groups * sizeof *kept->packed) : NULL;
    for (int64_t group = 0; kept->packed && group < args->groups; group++)
        kept->packed[group] = packed;
    return kept->packed ? packed.bytes * (size_t)args->groups : 0;
}

engine_conv_kept *engine_conv_keep(neap_convolution_kind kind, const neap_convolution *args) {
    sizes s = sizes_of(args);
    bool worth = kind != NEAP_CONVOLUTION_KERNEL && !is_empty(args, &s);
    engine_conv_kept *kept = worth ? calloc(1, sizeof *kept) : NULL;
    if (!kept)
        return NULL;
    size_t bytes = open_kept(kept, kind, args);
    if (bytes > 0 && neap_buffer_new(0, bytes, &kept->kernel) == NEAP_OK)
        return kept;
    close_parts(&kept->parts);
    free(kept->packed);
    free(kept);
    return NULL;
}

size_t engine_conv_kept_bytes(const engine_conv_kept *kept) {
    return neap_buffer_bytes(kept->kernel);
}

void engine_conv_kept_free(engine_conv_kept *kept) {
    close_parts(&kept->parts);
    neap_buffer_release(kept->kernel);
    free(kept->packed);
    free(kept);
}

int engine_conv(const neap_run *run, neap_convolution_kind kind, const neap_convolution *args, engine_conv_kept *kept) {
    sizes s = sizes_of(args);
    bool empty = is_empty(args, &s);
    if (kept && kept->packed)
        return by_products(run, kind, args, find_kernel(kept, args, copy_for_products) ? kept->packed : NULL);
    if (kept && by_kept_parts(run, args, kept))
        return NEAP_OK;
    if (!empty && goes_to_library(kind, args) && by_parts(run, kind, args))
        return NEAP_OK;
    if (!empty && kind == NEAP_CONVOLUTION_FORWARD)
        return by_products(run, kind, args, NULL);
    /* Sums over nothing are zeros; the derivatives are added up. */
    int64_t size = kind == NEAP_CONVOLUTION_FORWARD ? s.y * args->batch
                   : kind == NEAP_CONVOLUTION_INPUT ? s.x * args->batch
                                                    : s.w;
    void *result = kind == NEAP_CONVOLUTION_FORWARD ? args->y : kind == NEAP_CONVOLUTION_INPUT ? args->x : args->w;
    if (size > 0)
        memset(result, 0, (size_t)size * item_of(args));
    return empty ? NEAP_OK : by_products(run, kind, args, NULL);
}
