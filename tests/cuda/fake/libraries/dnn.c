/* dnn.c: stands in for cuDNN in tests, as libcudnn.so.9: convolutions of arrays with the channels in front, and copies
 * between layouts, by plain loops, in the order of the stream. It writes over its work space. */
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake/libraries/numbers.h"

#pragma GCC visibility push(default)

enum { DIMS = 5, AXES = 3, WORK = 96, TAKEN = 4 /* the algorithm that always gives the same bits */ };
enum { FAILED = 5000, NO_MEMORY = 4003 };

struct cudnnContext {
    CUcontext context;
    CUstream stream;
};

struct cudnnTensorStruct {
    int64_t type, ndim, extents[DIMS], strides[DIMS];
};

struct cudnnFilterStruct {
    int64_t type, ndim, extents[DIMS];
};

struct cudnnConvolutionStruct {
    int64_t f64, axes, groups, math, pads[AXES], strides[AXES], dilations[AXES];
};

static cudnnStatus_t status_of(CUresult result) {
    return result == CUDA_SUCCESS ? CUDNN_STATUS_SUCCESS : result == CUDA_ERROR_OUT_OF_MEMORY ? NO_MEMORY : FAILED;
}

cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int *value) {
    *value = type == MAJOR_VERSION ? 9 : type == MINOR_VERSION ? 26 : 0;
    return CUDNN_STATUS_SUCCESS;
}

const char *cudnnGetErrorString(cudnnStatus_t status) {
    return status == NO_MEMORY ? "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED" : "CUDNN_STATUS_EXECUTION_FAILED";
}

/* ---- Handles and descriptors ------------------------------------------------------------------------------------- */

static cudnnStatus_t make(const char *name, size_t bytes, void *out) {
    CUresult result = fake_library_call(name);
    if (result)
        return status_of(result);
    void *made = calloc(1, bytes);
    memcpy(out, &made, sizeof made);
    fake_library_holds(1);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t destroy(void *made) {
    fake_library_holds(-1);
    free(made);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
    cudnnStatus_t status = make(__func__, sizeof **handle, handle);
    if (!status)
        (*handle)->context = fake_library_context();
    return status;
}

static void check_handle(const char *name, cudnnHandle_t handle) {
    if (!handle || handle->context != fake_library_context())
        fake_complain("%s: no handle of the current device", name);
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
    check_handle(__func__, handle);
    return destroy(handle);
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
    CUresult result = fake_library_call(__func__);
    check_handle(__func__, handle);
    if (!result)
        handle->stream = stream;
    return status_of(result);
}

#define DEFINE_DESCRIPTOR(Name)                                                                                        \
    cudnnStatus_t cudnnCreate##Name##Descriptor(cudnn##Name##Descriptor_t *out) {                                      \
        return make(__func__, sizeof **out, out);                                                                      \
    }                                                                                                                  \
    cudnnStatus_t cudnnDestroy##Name##Descriptor(cudnn##Name##Descriptor_t made) {                                     \
        return destroy(made);                                                                                          \
    }
DEFINE_DESCRIPTOR(Tensor)
DEFINE_DESCRIPTOR(Filter)
DEFINE_DESCRIPTOR(Convolution)

/* The numbers of a descriptor, as those of cuBLAS are named. */
static int64_t number_type(const char *name, cudnnDataType_t type) {
    static const int types[] = {[CUDNN_DATA_FLOAT] = CUDA_R_32F,
                                [CUDNN_DATA_DOUBLE] = CUDA_R_64F,
                                [CUDNN_DATA_HALF] = CUDA_R_16F,
                                [CUDNN_DATA_BFLOAT16] = CUDA_R_16BF};
    if (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_DOUBLE && type != CUDNN_DATA_HALF && type != CUDNN_DATA_BFLOAT16)
        fake_complain("%s: what the backend never asks for", name);
    return types[type];
}

static bool is_half(int64_t type) {
    return type == CUDA_R_16F || type == CUDA_R_16BF;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int ndim,
                                         const int extents[], const int strides[]) {
    if (ndim < 4 || ndim > DIMS)
        fake_complain("%s: %d axes", __func__, ndim);
    *tensor = (struct cudnnTensorStruct){.type = number_type(__func__, type), .ndim = ndim};
    for (int k = 0; k < ndim; k++) {
        if (extents[k] < 1 || strides[k] < 1)
            fake_complain("%s: an extent or a stride of axis %d", __func__, k);
        tensor->extents[k] = extents[k], tensor->strides[k] = strides[k];
    }
    return status_of(fake_library_call(__func__));
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int ndim, const int extents[]) {
    if (ndim < 4 || ndim > DIMS || format != CUDNN_TENSOR_NCHW)
        fake_complain("%s: what the backend never asks for", __func__);
    *filter = (struct cudnnFilterStruct){.type = number_type(__func__, type), .ndim = ndim};
    for (int k = 0; k < ndim; k++)
        filter->extents[k] = extents[k];
    return status_of(fake_library_call(__func__));
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convolution, int axes, const int pads[],
                                              const int strides[], const int dilations[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type) {
    if (axes < 2 || axes > AXES || mode != CUDNN_CROSS_CORRELATION ||
        (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_DOUBLE))
        fake_complain("%s: what the backend never asks for", __func__);
    *convolution = (struct cudnnConvolutionStruct){.f64 = type == CUDNN_DATA_DOUBLE, .axes = axes};
    for (int k = 0; k < axes; k++) {
        convolution->pads[k] = pads[k];
        convolution->strides[k] = strides[k];
        convolution->dilations[k] = dilations[k];
    }
    return status_of(fake_library_call(__func__));
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution, int groups) {
    convolution->groups = groups;
    return status_of(fake_library_call(__func__));
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t type) {
    convolution->math = type;
    return status_of(fake_library_call(__func__));
}

/* ---- Layouts ----------------------------------------------------------------------------------------------------- */

static double at(const void *data, int64_t type, int64_t k) {
    return creal(get(data, (uint64_t)type, k));
}

static void set(void *data, int64_t type, int64_t k, double x) {
    put(data, (uint64_t)type, k, x);
}

static int64_t count(const int64_t *extents, int64_t ndim) {
    int64_t n = 1;
    for (int64_t k = 0; k < ndim; k++)
        n *= extents[k];
    return n;
}

/* Where element i of all, row by row, lies. */
static int64_t place(const struct cudnnTensorStruct *t, int64_t i) {
    int64_t at = 0;
    for (int64_t k = t->ndim - 1; k >= 0; i /= t->extents[k--])
        at += i % t->extents[k] * t->strides[k];
    return at;
}

static size_t bytes_of(const struct cudnnTensorStruct *t) {
    return (size_t)(place(t, count(t->extents, t->ndim) - 1) + 1) * (size_t)item_bytes[t->type];
}

static void transform(void *const *buffers, const uint64_t *words, uint64_t group) {
    struct cudnnTensorStruct t[2];
    (void)group;
    memcpy(t, words, sizeof t);
    for (int64_t i = 0; i < count(t[0].extents, t[0].ndim); i++)
        set(buffers[1], t[1].type, place(&t[1], i), at(buffers[0], t[0].type, place(&t[0], i)));
}

/* What each call begins with that enqueues work; the factors, f64 for numbers of f64 and else f32, are 1 and 0. */
static cudnnStatus_t begin(const char *name, cudnnHandle_t handle, bool f64, const void *alpha, const void *beta) {
    CUresult result = fake_library_call(name);
    const int64_t scale = f64 ? CUDA_R_64F : CUDA_R_32F;
    check_handle(name, handle);
    if (!handle->stream || at(alpha, scale, 0) != 1 || at(beta, scale, 0) != 0)
        fake_complain("%s: no stream was set, or what the backend never asks for", name);
    return status_of(result);
}

cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t from,
                                   const void *x, const void *beta, const cudnnTensorDescriptor_t to, void *y) {
    static struct CUfunc_st function = {.name = "transform", .nbuffers = 2, .entry = transform};
    enum { WORDS = 2 * sizeof *from / sizeof(uint64_t) };
    uint64_t words[WORDS];
    cudnnStatus_t status = begin(__func__, handle, from->type == CUDA_R_64F, alpha, beta);
    if (status)
        return status;
    if (from->type != to->type || from->ndim != to->ndim || memcmp(from->extents, to->extents, sizeof to->extents) != 0)
        fake_complain("%s: tensors that are not alike", __func__);
    memcpy(words, from, sizeof *from);
    memcpy(words + WORDS / 2, to, sizeof *to);
    const fake_use uses[2] = {{x, bytes_of(from)}, {y, bytes_of(to)}};
    fake_library_launch(__func__, handle->stream, &function, uses, WORDS, words);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- Convolutions ------------------------------------------------------------------------------------------------ */

enum { OF_Y, OF_X, OF_W };

typedef struct work {
    struct cudnnTensorStruct x, y;
    struct cudnnFilterStruct w;
    struct cudnnConvolutionStruct c;
    int64_t what, work_bytes;
} work;

/* Adds up what each product of an element of x and one of w has to do with the third. */
static void convolve(void *const *buffers, const uint64_t *words, uint64_t group) {
    work r;
    (void)group;
    memcpy(&r, words, sizeof r);
    const int64_t axes = r.c.axes, type = r.x.type, y_count = count(r.y.extents, r.y.ndim);
    const int64_t features = r.w.extents[0] / r.c.groups, depth = r.w.extents[1];
    const int64_t taps = count(r.w.extents + 2, axes), places = count(r.y.extents + 2, axes);
    const int64_t out_count = r.what == OF_Y   ? y_count
                              : r.what == OF_X ? count(r.x.extents, r.x.ndim)
                                               : count(r.w.extents, r.w.ndim);
    double *sums = calloc((size_t)out_count, sizeof *sums);
    for (int64_t i = 0; i < y_count; i++) {
        const int64_t image = i / (places * r.y.extents[1]), feature = i / places % r.y.extents[1];
        for (int64_t j = 0; j < depth * taps; j++) {
            int64_t tap = j % taps, spot = i % places, x_at = 0, step = 1;
            bool inside = true;
            for (int64_t k = axes - 1; k >= 0; k--) {
                const int64_t from = spot % r.y.extents[2 + k] * r.c.strides[k] - r.c.pads[k] +
                                     tap % r.w.extents[2 + k] * r.c.dilations[k];
                inside = inside && from >= 0 && from < r.x.extents[2 + k];
                x_at += from * step;
                step *= r.x.extents[2 + k];
                spot /= r.y.extents[2 + k], tap /= r.w.extents[2 + k];
            }
            if (!inside)
                continue;
            x_at += (image * r.x.extents[1] + feature / features * depth + j / taps) * step;
            const int64_t w_at = feature * depth * taps + j;
            if (r.what == OF_Y)
                sums[i] += at(buffers[0], type, x_at) * at(buffers[1], type, w_at);
            else if (r.what == OF_X)
                sums[x_at] += at(buffers[2], type, i) * at(buffers[1], type, w_at);
            else
                sums[w_at] += at(buffers[0], type, x_at) * at(buffers[2], type, i);
        }
    }
    for (int64_t i = 0; i < out_count; i++)
        set(buffers[r.what == OF_Y ? 2 : r.what == OF_X ? 0 : 1], type, i, sums[i]);
    if (r.work_bytes)
        memset(buffers[3], 0xdd, (size_t)r.work_bytes);
    free(sums);
}

static bool is_packed(const struct cudnnTensorStruct *t) {
    return bytes_of(t) == (size_t)(count(t->extents, t->ndim) * item_bytes[t->type]);
}

/* cuDNN's FLOAT, DOUBLE, PSEUDO_HALF and PSEUDO_BFLOAT16 configurations: all arrays are alike, halves are added up in
 * f32. */
static bool may_convolve(int64_t x, int64_t w, int64_t y, bool sums_f64) {
    return x == w && x == y && sums_f64 == (x == CUDA_R_64F);
}

/* The extents of y are those that follow from the others. */
static void check_geometry(const char *name, const struct cudnnTensorStruct *x, const struct cudnnFilterStruct *w,
                           const struct cudnnConvolutionStruct *c, const struct cudnnTensorStruct *y) {
    bool fits = x->ndim == c->axes + 2 && w->ndim == x->ndim && y->ndim == x->ndim && is_packed(x) && is_packed(y) &&
                may_convolve(x->type, w->type, y->type, c->f64) && c->groups > 0 && x->extents[0] == y->extents[0] &&
                x->extents[1] == w->extents[1] * c->groups && y->extents[1] == w->extents[0] &&
                w->extents[0] % c->groups == 0;
    for (int64_t k = 0; k < c->axes && fits; k++) {
        const int64_t room = x->extents[2 + k] + 2 * c->pads[k] - ((w->extents[2 + k] - 1) * c->dilations[k] + 1);
        fits = room >= 0 && y->extents[2 + k] == room / c->strides[k] + 1;
    }
    if (!fits)
        fake_complain("%s: descriptors that do not fit", name);
}

static cudnnStatus_t ask(const char *name, cudnnHandle_t handle, int64_t what, const void *alpha, const void *beta,
                         const cudnnTensorDescriptor_t x, const void *x_data, const cudnnFilterDescriptor_t w,
                         const void *w_data, const cudnnConvolutionDescriptor_t c, int algorithm, const void *room,
                         size_t room_bytes, const cudnnTensorDescriptor_t y, const void *y_data) {
    static struct CUfunc_st function = {.name = "convolve", .nbuffers = 4, .entry = convolve};
    cudnnStatus_t status = begin(name, handle, c->f64, alpha, beta);
    if (status)
        return status;
    check_geometry(name, x, w, c, y);
    const char *tf32 = getenv("NEAP_TF32");
    const bool wants_tf32 = tf32 && strcmp(tf32, "1") == 0;
    if (is_half(x->type))
        fake_library_half();
    if (c->math != (is_half(x->type) ? CUDNN_TENSOR_OP_MATH : wants_tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH))
        fake_complain("%s: TF32 is used where it was not asked for, or the other way round; or no tensor cores for "
                      "halves",
                      name);
    if (algorithm != TAKEN || room_bytes < WORK)
        fake_complain("%s: an algorithm whose bits are others each time, or no work space", name);
    const work r = {*x, *y, *w, *c, what, (int64_t)room_bytes};
    const fake_use uses[4] = {{x_data, bytes_of(x)},
                              {w_data, (size_t)(count(w->extents, w->ndim) * item_bytes[w->type])},
                              {y_data, bytes_of(y)},
                              {room, room_bytes}};
    uint64_t words[sizeof r / sizeof(uint64_t)];
    memcpy(words, &r, sizeof r);
    fake_library_launch(name, handle->stream, &function, uses, (int)(sizeof r / sizeof *words), words);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_tensor,
                                      const void *x, const cudnnFilterDescriptor_t w_filter, const void *w,
                                      const cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void *room, size_t bytes, const void *beta,
                                      const cudnnTensorDescriptor_t y_tensor, void *y) {
    return ask(__func__, handle, OF_Y, alpha, beta, x_tensor, x, w_filter, w, convolution, algorithm, room, bytes,
               y_tensor, y);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                           const cudnnFilterDescriptor_t w_filter, const void *w,
                                           const cudnnTensorDescriptor_t y_tensor, const void *y,
                                           const cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void *room, size_t bytes,
                                           const void *beta, const cudnnTensorDescriptor_t x_tensor, void *x) {
    return ask(__func__, handle, OF_X, alpha, beta, x_tensor, x, w_filter, w, convolution, algorithm, room, bytes,
               y_tensor, y);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
                                             const cudnnTensorDescriptor_t x_tensor, const void *x,
                                             const cudnnTensorDescriptor_t y_tensor, const void *y,
                                             const cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void *room, size_t bytes,
                                             const void *beta, const cudnnFilterDescriptor_t w_filter, void *w) {
    return ask(__func__, handle, OF_W, alpha, beta, x_tensor, x, w_filter, w, convolution, algorithm, room, bytes,
               y_tensor, y);
}

/* Three that nobody takes: one that may give other bits, one that is not for these arrays, one with too much memory. */
static cudnnStatus_t find(const char *name, cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                          const cudnnFilterDescriptor_t w, const cudnnConvolutionDescriptor_t c,
                          const cudnnTensorDescriptor_t y, int most, int *n, cudnnConvolutionFwdAlgoPerf_t *found) {
    CUresult result = fake_library_call(name);
    check_handle(name, handle);
    check_geometry(name, x, w, c, y);
    const cudnnMathType_t math = (cudnnMathType_t)c->math;
    const char *refuses = getenv("NEAP_FAKE_DNN_HALVES");
    if (is_half(x->type) && refuses && strcmp(refuses, "0") == 0) {
        *n = 0;
        return status_of(result);
    }
    const cudnnConvolutionFwdAlgoPerf_t all[] = {
        {.algo = 1, .memory = WORK},
        {.algo = 2, .status = 3000, .determinism = CUDNN_DETERMINISTIC},
        {.algo = 3, .memory = SIZE_MAX, .determinism = CUDNN_DETERMINISTIC},
        {.algo = TAKEN, .memory = WORK, .determinism = CUDNN_DETERMINISTIC, .mathType = math}};
    *n = most < 4 ? most : 4;
    memcpy(found, all, (size_t)*n * sizeof *all);
    return status_of(result);
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                     const cudnnFilterDescriptor_t w,
                                                     const cudnnConvolutionDescriptor_t convolution,
                                                     const cudnnTensorDescriptor_t y, const int most, int *n,
                                                     cudnnConvolutionFwdAlgoPerf_t *found) {
    return find(__func__, handle, x, w, convolution, y, most, n, found);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t handle, const cudnnFilterDescriptor_t w,
                                                          const cudnnTensorDescriptor_t y,
                                                          const cudnnConvolutionDescriptor_t convolution,
                                                          const cudnnTensorDescriptor_t x, const int most, int *n,
                                                          cudnnConvolutionBwdDataAlgoPerf_t *found) {
    return find(__func__, handle, x, w, convolution, y, most, n, found);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                            const cudnnTensorDescriptor_t y,
                                                            const cudnnConvolutionDescriptor_t convolution,
                                                            const cudnnFilterDescriptor_t w, const int most, int *n,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t *found) {
    return find(__func__, handle, x, w, convolution, y, most, n, found);
}
