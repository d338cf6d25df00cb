/* convolutions.c: convolutions and their derivatives by cuDNN.
 *
 * cuDNN computes f32 and f64 with the channels before the spatial axes, and kernels as (features, channels, …). Our
 * arrays have the channels last, so they go over scratch memory, where images that are padded unequally at two sides
 * are padded, too:
 *
 *      forward:  x, w ──▶ own x, own w ──cuDNN──▶ own y ──▶ y         the derivatives likewise, of other pairs
 *
 * What belongs to one geometry is kept with the device, for the last ones. Of cuDNN's algorithms that is taken which it
 * thinks is the fastest of those that always give the same bits. TF32 is used only where NEAP_TF32=1.
 *
 * Halves (f16, bf16) are convolved as they are, on tensor cores, added up in f32 and rounded once: what cuDNN calls
 * PSEUDO_HALF and PSEUDO_BFLOAT16, of which all three arrays are halves.
 */
#include "engine/cuda/matrices.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 64, AXES = NEAP_CONVOLUTION_AXES, DIMS = AXES + 2, KEY = 9 + 7 * AXES, ALGORITHMS = 8 };
static const size_t WORK_MOST = (size_t)1 << 30;

/* An array as cuDNN sees it: images (batch, channels, …) or a kernel (features, channels, …). */
typedef struct tensor {
    int extents[DIMS], given[DIMS], own[DIMS]; /* strides of ours, and of the copy */
    int64_t count;                             /* numbers of the copy */
    int64_t offset;                            /* where the array begins in it */
    cudnnTensorDescriptor_t ours, part;        /* ours, and its part of the copy */
    cudnnTensorDescriptor_t whole;             /* the copy; NULL: of a kernel */
} tensor;

typedef struct cuda_convolution {
    struct cuda_convolution *next;
    neap_convolution_kind kind;
    neap_convolution of; /* its addresses are nobody's */
    neap_half half;
    bool tf32;
    int64_t key[KEY];
    int ndim; /* all axes */
    bool padded;
    tensor x, w, y;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t descriptor;
    int algorithm;
    size_t work_bytes;
} cuda_convolution;

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

static int check(cuda_stream *stream, cudnnStatus_t status, const char *function) {
    if (status == CUDNN_STATUS_SUCCESS)
        return NEAP_OK;
    const char *text = cudnn.cudnnGetErrorString(status);
    return cuda_library_error(stream, function, text, strstr(text, "ALLOC") != NULL);
}

static cudnnStatus_t start(cuda_device *device) {
    cudnnHandle_t made = NULL;
    if (device->libraries.dnn)
        return CUDNN_STATUS_SUCCESS;
    cudnnStatus_t status = cudnn.cudnnCreate(&made);
    if (status == CUDNN_STATUS_SUCCESS)
        device->libraries.dnn = made;
    return status;
}

const char *cuda_dnn_start(cuda_device *device) {
    cudnnStatus_t status = start(device);
    return status == CUDNN_STATUS_SUCCESS ? NULL : cudnn.cudnnGetErrorString(status);
}

static int take_handle(cuda_stream *stream, cudnnHandle_t *out) {
    cuda_libraries *has = &stream->device->libraries;
    int status = check(stream, start(stream->device), "cudnnCreate");
    *out = has->dnn;
    if (status || has->dnn_stream == stream->stream)
        return status;
    status = check(stream, cudnn.cudnnSetStream(has->dnn, stream->stream), "cudnnSetStream");
    has->dnn_stream = status ? NULL : stream->stream;
    return status;
}

/* ---- Layouts ----------------------------------------------------------------------------------------------------- */

static bool is_padded(const neap_convolution *c) {
    bool padded = false;
    for (int k = 0; k < c->ndim; k++)
        padded |= c->low[k] != c->high[k];
    return padded;
}

static int64_t spatial(const neap_convolution *c, const int64_t *extents, bool padded) {
    int64_t n = 1;
    for (int k = 0; k < c->ndim; k++)
        n *= extents[k] + (padded ? c->low[k] + c->high[k] : 0);
    return n;
}

bool cuda_convolution_is_too_large(const neap_routine *routine) {
    const neap_convolution *c = &routine->convolution.of;
    const double most = INT32_MAX, batch = (double)c->batch;
    const int64_t depth = c->channels / c->groups;
    return batch * (double)c->channels * (double)spatial(c, c->in, is_padded(c)) > most ||
           batch * (double)c->features * (double)spatial(c, c->out, false) > most ||
           (double)depth * (double)c->features * (double)spatial(c, c->kernel, false) > most;
}

/* Fills in a tensor: `first` × `second` × extents, which lie as (first, …, second) or, of a kernel, (…, second, first);
 * the copy has `more` in front of, and behind, the extents. cuDNN wants two spatial axes: there may be one of 1. */
static void lay_out(tensor *t, int ndim, int64_t first, int64_t second, int axes, const int64_t *extents, bool kernel,
                    const int64_t *low, const int64_t *high) {
    const int more = ndim - 2 - axes;
    int64_t step = kernel ? first * second : second, own = 1;
    t->extents[0] = (int)first;
    t->extents[1] = (int)second;
    t->given[1] = kernel ? (int)first : 1;
    t->offset = 0;
    for (int k = ndim - 1; k >= 2; k--) {
        const int axis = k - 2 - more;
        const int64_t n = axis < 0 ? 1 : extents[axis], before = axis < 0 || !low ? 0 : low[axis];
        t->extents[k] = (int)n;
        t->given[k] = (int)step;
        t->own[k] = (int)own;
        t->offset += before * own;
        step *= n;
        own *= n + before + (axis < 0 || !high ? 0 : high[axis]);
    }
    t->given[0] = kernel ? 1 : (int)step;
    t->own[1] = (int)own;
    t->own[0] = (int)(own * second);
    t->count = own * second * first;
}

/* Of sums, and of the numbers of arrays. */
static cudnnDataType_t sums_of(const cuda_convolution *c) {
    return c->of.f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

static cudnnDataType_t numbers_of(const cuda_convolution *c) {
    return c->half == NEAP_HALF_F16 ? CUDNN_DATA_HALF : c->half == NEAP_HALF_BF16 ? CUDNN_DATA_BFLOAT16 : sums_of(c);
}

static int describe(cuda_stream *stream, cudnnDataType_t type, int ndim, const int *extents, const int *strides,
                    cudnnTensorDescriptor_t *out) {
    int status = check(stream, cudnn.cudnnCreateTensorDescriptor(out), "cudnnCreateTensorDescriptor");
    return status ? status
                  : check(stream, cudnn.cudnnSetTensorNdDescriptor(*out, type, ndim, extents, strides),
                          "cudnnSetTensorNdDescriptor");
}

/* What cuDNN is told of a tensor that was laid out; `whole`: the extents of its copy, if it is one of images. */
static int describe_tensor(cuda_stream *stream, const cuda_convolution *c, tensor *t, const int *whole) {
    const cudnnDataType_t type = numbers_of(c);
    int status = describe(stream, type, c->ndim, t->extents, t->given, &t->ours);
    if (!status)
        status = describe(stream, type, c->ndim, t->extents, t->own, &t->part);
    return status || !whole ? status : describe(stream, type, c->ndim, whole, t->own, &t->whole);
}

/* ---- What is kept ------------------------------------------------------------------------------------------------ */

static void free_tensor(tensor *t) {
    cudnnTensorDescriptor_t all[] = {t->ours, t->part, t->whole};
    for (int k = 0; k < 3; k++)
        if (all[k])
            cudnn.cudnnDestroyTensorDescriptor(all[k]);
}

static void free_convolution(cuda_convolution *c) {
    free_tensor(&c->x);
    free_tensor(&c->w);
    free_tensor(&c->y);
    if (c->filter)
        cudnn.cudnnDestroyFilterDescriptor(c->filter);
    if (c->descriptor)
        cudnn.cudnnDestroyConvolutionDescriptor(c->descriptor);
    free(c);
}

void cuda_convolutions_free(cuda_device *device) {
    while (device->libraries.convolutions) {
        cuda_convolution *next = device->libraries.convolutions->next;
        free_convolution(device->libraries.convolutions);
        device->libraries.convolutions = next;
    }
    if (device->libraries.dnn)
        cudnn.cudnnDestroy(device->libraries.dnn);
}

/* The extents of the copy of x, which may be padded. */
static void padded_extents(const cuda_convolution *c, int *out) {
    memcpy(out, c->x.extents, sizeof c->x.extents);
    for (int k = 0; k < c->of.ndim && c->padded; k++)
        out[c->ndim - c->of.ndim + k] += (int)(c->of.low[k] + c->of.high[k]);
}

/* Which instructions cuDNN may use. */
static int set_math(cuda_stream *stream, const cuda_convolution *c, cudnnMathType_t math) {
    return check(stream, cudnn.cudnnSetConvolutionMathType(c->descriptor, math), "cudnnSetConvolutionMathType");
}

static int describe_convolution(cuda_stream *stream, cuda_convolution *c) {
    const neap_convolution *of = &c->of;
    const int axes = c->ndim - 2, more = axes - of->ndim;
    int pads[AXES] = {0}, strides[AXES] = {1, 1, 1}, dilations[AXES] = {1, 1, 1};
    for (int k = 0; k < of->ndim; k++) {
        pads[more + k] = c->padded ? 0 : (int)of->low[k];
        strides[more + k] = (int)of->stride[k];
        dilations[more + k] = (int)of->dilation[k];
    }
    int status = check(stream, cudnn.cudnnCreateFilterDescriptor(&c->filter), "cudnnCreateFilterDescriptor");
    if (!status)
        status =
            check(stream,
                  cudnn.cudnnSetFilterNdDescriptor(c->filter, numbers_of(c), CUDNN_TENSOR_NCHW, c->ndim, c->w.extents),
                  "cudnnSetFilterNdDescriptor");
    if (!status)
        status =
            check(stream, cudnn.cudnnCreateConvolutionDescriptor(&c->descriptor), "cudnnCreateConvolutionDescriptor");
    if (!status)
        status = check(stream,
                       cudnn.cudnnSetConvolutionNdDescriptor(c->descriptor, axes, pads, strides, dilations,
                                                             CUDNN_CROSS_CORRELATION, sums_of(c)),
                       "cudnnSetConvolutionNdDescriptor");
    if (!status)
        status = check(stream, cudnn.cudnnSetConvolutionGroupCount(c->descriptor, (int)of->groups),
                       "cudnnSetConvolutionGroupCount");
    return status ? status
                  : set_math(stream, c,
                             c->half   ? CUDNN_TENSOR_OP_MATH
                             : c->tf32 ? CUDNN_DEFAULT_MATH
                                       : CUDNN_FMA_MATH);
}

static int choose_algorithm(cuda_stream *stream, cudnnHandle_t handle, cuda_convolution *c) {
    cudnnConvolutionFwdAlgoPerf_t found[ALGORITHMS];
    int n = 0;
    cudnnStatus_t status =
        c->kind == NEAP_CONVOLUTION_FORWARD
            ? cudnn.cudnnGetConvolutionForwardAlgorithm_v7(handle, c->x.whole, c->filter, c->descriptor, c->y.whole,
                                                           ALGORITHMS, &n, found)
        : c->kind == NEAP_CONVOLUTION_INPUT
            ? cudnn.cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, c->filter, c->y.whole, c->descriptor,
                                                                c->x.whole, ALGORITHMS, &n, found)
            : cudnn.cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, c->x.whole, c->y.whole, c->descriptor,
                                                                  c->filter, ALGORITHMS, &n, found);
    int failed = check(stream, status, "cudnnGetConvolutionAlgorithm_v7");
    if (failed)
        return failed;
    for (int k = 0; k < n; k++)
        if (found[k].status == CUDNN_STATUS_SUCCESS && found[k].determinism == CUDNN_DETERMINISTIC &&
            found[k].memory <= WORK_MOST) {
            c->algorithm = found[k].algo;
            c->work_bytes = found[k].memory;
            return c->half ? set_math(stream, c, found[k].mathType) : NEAP_OK;
        }
    return neap->error(NEAP_E_LIBRARY, "cuDNN has no algorithm for this convolution that always gives the same bits");
}

static int fill_convolution(cuda_stream *stream, cudnnHandle_t handle, cuda_convolution *c) {
    const neap_convolution *of = &c->of;
    int whole[DIMS];
    c->padded = is_padded(of);
    c->ndim = (of->ndim < 2 ? 2 : of->ndim) + 2;
    lay_out(&c->x, c->ndim, of->batch, of->channels, of->ndim, of->in, false, c->padded ? of->low : NULL,
            c->padded ? of->high : NULL);
    lay_out(&c->w, c->ndim, of->features, of->channels / of->groups, of->ndim, of->kernel, true, NULL, NULL);
    lay_out(&c->y, c->ndim, of->batch, of->features, of->ndim, of->out, false, NULL, NULL);
    padded_extents(c, whole);
    int status = describe_tensor(stream, c, &c->x, whole);
    if (!status)
        status = describe_tensor(stream, c, &c->w, NULL);
    if (!status)
        status = describe_tensor(stream, c, &c->y, c->y.extents);
    if (!status)
        status = describe_convolution(stream, c);
    return status ? status : choose_algorithm(stream, handle, c);
}

/* All that a geometry is told apart by. */
static void fill_key(const cuda_convolution *c, int64_t *key) {
    const neap_convolution *of = &c->of;
    const int64_t numbers[] = {c->kind,   c->half,      c->tf32,      of->f64,   of->ndim,
                               of->batch, of->channels, of->features, of->groups};
    const int64_t *const axes[] = {of->in, of->kernel, of->out, of->stride, of->dilation, of->low, of->high};
    memset(key, 0, KEY * sizeof *key);
    memcpy(key, numbers, sizeof numbers);
    for (int k = 0; k < 7; k++)
        memcpy(key + 9 + AXES * k, axes[k], (size_t)of->ndim * sizeof *key);
}

/* That of the routine, put in front of the others; the last one goes if there are too many. */
static int take_convolution(cuda_stream *stream, cudnnHandle_t handle, const neap_routine *routine,
                            cuda_convolution **out) {
    cuda_convolution **first = &stream->device->libraries.convolutions, **link = first, *c;
    const char *tf32 = getenv("NEAP_TF32");
    cuda_convolution *made = calloc(1, sizeof *made);
    int n = 0;
    if (!made)
        return neap->error(NEAP_E_MEMORY, "no memory for a convolution");
    made->kind = routine->convolution.kind;
    made->half = routine->half;
    made->tf32 = tf32 && strcmp(tf32, "1") == 0 && !made->half;
    made->of = routine->convolution.of;
    fill_key(made, made->key);
    while ((c = *link) != NULL && memcmp(c->key, made->key, sizeof c->key) != 0) {
        if (++n == KEPT) {
            *link = c->next;
            free_convolution(c);
            continue;
        }
        link = &c->next;
    }
    int status = c ? NEAP_OK : fill_convolution(stream, handle, made);
    if (c)
        *link = c->next;
    if (c || status)
        free_convolution(made);
    if (status)
        return status;
    c = c ? c : made;
    c->next = *first;
    *first = c;
    *out = c;
    return NEAP_OK;
}

const char *cuda_convolution_lacks(cuda_device *device, const neap_routine *routine) {
    cuda_stream stream = {.device = device, .stream = device->allocations}; /* that no work is enqueued on */
    cuda_convolution *c;
    if (!routine->rounds)
        return "cuDNN rounds what it makes of halves";
    if (cuda_enter(device) != NEAP_OK)
        return "the device is lost";
    pthread_mutex_lock(&device->libraries.locks[CUDA_LOCK_DNN]);
    const int status = take_convolution(&stream, device->libraries.dnn, routine, &c);
    pthread_mutex_unlock(&device->libraries.locks[CUDA_LOCK_DNN]);
    cuda_leave();
    return status ? "cuDNN does not take this convolution of halves" : NULL;
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

typedef struct run {
    cuda_stream *stream;
    cudnnHandle_t handle;
    const cuda_convolution *c;
    const void *one, *zero; /* numbers */
    int64_t item;
    CUdeviceptr scratch, x, w, y, work;
} run;

/* Our array into its copy. */
static int bring(const run *r, const tensor *t, const void *from, CUdeviceptr copy) {
    return check(r->stream,
                 cudnn.cudnnTransformTensor(r->handle, r->one, t->ours, from, r->zero, t->part,
                                            cuda_pointer(copy + (CUdeviceptr)(t->offset * r->item))),
                 "cudnnTransformTensor");
}

static int take_back(const run *r, const tensor *t, CUdeviceptr copy, void *to) {
    return check(r->stream,
                 cudnn.cudnnTransformTensor(r->handle, r->one, t->part,
                                            cuda_pointer(copy + (CUdeviceptr)(t->offset * r->item)), r->zero, t->ours,
                                            to),
                 "cudnnTransformTensor");
}

static int bring_images(const run *r, const void *from) {
    int status = r->c->padded
                     ? cuda_check(r->stream->device,
                                  cuda.cuMemsetD8Async(r->x, 0, (size_t)(r->c->x.count * r->item), r->stream->stream),
                                  "cuMemsetD8Async")
                     : NEAP_OK;
    return status ? status : bring(r, &r->c->x, from, r->x);
}

static int run_forward(const run *r, const neap_convolution *of) {
    const cuda_convolution *c = r->c;
    int status = bring_images(r, of->x);
    if (!status)
        status = bring(r, &c->w, of->w, r->w);
    if (!status)
        status =
            check(r->stream,
                  cudnn.cudnnConvolutionForward(r->handle, r->one, c->x.whole, cuda_pointer(r->x), c->filter,
                                                cuda_pointer(r->w), c->descriptor, c->algorithm, cuda_pointer(r->work),
                                                c->work_bytes, r->zero, c->y.whole, cuda_pointer(r->y)),
                  "cudnnConvolutionForward");
    return status ? status : take_back(r, &c->y, r->y, of->y);
}

static int run_input(const run *r, const neap_convolution *of) {
    const cuda_convolution *c = r->c;
    int status = bring(r, &c->w, of->w, r->w);
    if (!status)
        status = bring(r, &c->y, of->y, r->y);
    if (!status)
        status = check(r->stream,
                       cudnn.cudnnConvolutionBackwardData(r->handle, r->one, c->filter, cuda_pointer(r->w), c->y.whole,
                                                          cuda_pointer(r->y), c->descriptor, c->algorithm,
                                                          cuda_pointer(r->work), c->work_bytes, r->zero, c->x.whole,
                                                          cuda_pointer(r->x)),
                       "cudnnConvolutionBackwardData");
    return status ? status : take_back(r, &c->x, r->x, of->x);
}

static int run_kernel(const run *r, const neap_convolution *of) {
    const cuda_convolution *c = r->c;
    int status = bring_images(r, of->x);
    if (!status)
        status = bring(r, &c->y, of->y, r->y);
    if (!status)
        status = check(r->stream,
                       cudnn.cudnnConvolutionBackwardFilter(r->handle, r->one, c->x.whole, cuda_pointer(r->x),
                                                            c->y.whole, cuda_pointer(r->y), c->descriptor, c->algorithm,
                                                            cuda_pointer(r->work), c->work_bytes, r->zero, c->filter,
                                                            cuda_pointer(r->w)),
                       "cudnnConvolutionBackwardFilter");
    return status ? status : take_back(r, &c->w, r->w, of->w);
}

int cuda_convolution_run(cuda_stream *stream, const neap_routine *routine) {
    static int (*const runs[])(const run *r, const neap_convolution *of) = {[NEAP_CONVOLUTION_FORWARD] = run_forward,
                                                                            [NEAP_CONVOLUTION_INPUT] = run_input,
                                                                            [NEAP_CONVOLUTION_KERNEL] = run_kernel};
    cuda_convolution *c = NULL;
    run r = {.stream = stream,
             .one = cuda_blas_number(routine, 1),
             .zero = cuda_blas_number(routine, 0),
             .item = routine->half  ? 2
                     : routine->f64 ? 8
                                    : 4};
    int status = take_handle(stream, &r.handle);
    if (!status)
        status = take_convolution(stream, r.handle, routine, &c);
    if (status || !c)
        return status;
    r.c = c;
    const size_t x = cuda_whole(c->x.count * r.item), w = cuda_whole(c->w.count * r.item),
                 y = cuda_whole(c->y.count * r.item);
    status = cuda_scratch_alloc(stream, x + w + y + cuda_whole((int64_t)c->work_bytes), &r.scratch);
    r.x = r.scratch, r.w = r.x + x, r.y = r.w + w, r.work = r.y + y;
    if (!status)
        status = runs[routine->convolution.kind](&r, &routine->convolution.of);
    cuda_scratch_free(stream, r.scratch);
    return status;
}
