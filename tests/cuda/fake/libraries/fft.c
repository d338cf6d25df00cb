/* fft.c: stands in for cuFFT in tests, as libcufft.so.12: transforms by plain sums, in the order of the stream. As the
 * real one may, it writes over its work area, and over the input of transforms to real numbers. */
#include <complex.h>
#undef complex /* a name elsewhere */
#include <math.h>
#include <string.h>

#include "tests/cuda/fake/library.h"

#pragma GCC visibility push(default)

enum { MOST = 256, AREA = 300 };

typedef struct plan {
    bool there, made;
    CUcontext context;
    CUstream stream;
    void *area;
    size_t area_bytes;
    cufftType type;
    int64_t n, in_stride, in_distance, out_stride, out_distance, batch;
} plan;

static plan plans[MOST];

static cufftResult status_of(CUresult result) {
    return result == CUDA_SUCCESS               ? CUFFT_SUCCESS
           : result == CUDA_ERROR_OUT_OF_MEMORY ? CUFFT_ALLOC_FAILED
                                                : CUFFT_EXEC_FAILED;
}

static plan *find_plan(const char *name, cufftHandle handle) {
    if (handle < 0 || handle >= MOST || !plans[handle].there || plans[handle].context != fake_library_context())
        fake_complain("%s: no plan of the current device", name);
    return &plans[handle];
}

/* ---- Plans ------------------------------------------------------------------------------------------------------- */

cufftResult cufftGetProperty(libraryPropertyType type, int *value) {
    *value = type == MAJOR_VERSION ? 12 : 0;
    return CUFFT_SUCCESS;
}

cufftResult cufftCreate(cufftHandle *handle) {
    CUresult result = fake_library_call(__func__);
    if (result)
        return status_of(result);
    fake_lock();
    int k = 0;
    while (k < MOST && plans[k].there)
        k++;
    if (k == MOST)
        fake_complain("too many plans");
    plans[k] = (plan){.there = true};
    fake_unlock();
    plans[k].context = fake_library_context();
    fake_library_holds(1);
    *handle = k;
    return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle) {
    find_plan(__func__, handle)->there = false;
    fake_library_holds(-1);
    return CUFFT_SUCCESS;
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int allocate) {
    find_plan(__func__, handle);
    if (allocate)
        fake_complain("%s: memory that is not counted", __func__);
    return status_of(fake_library_call(__func__));
}

static bool is_to_real(cufftType type) {
    return type == CUFFT_C2R || type == CUFFT_Z2D;
}

static bool is_of_real(cufftType type) {
    return type == CUFFT_R2C || type == CUFFT_D2Z;
}

cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long *n, long long *in_extents, long long in_stride,
                                long long in_distance, long long *out_extents, long long out_stride,
                                long long out_distance, cufftType type, long long batch, size_t *work_bytes) {
    plan *p = find_plan(__func__, handle);
    CUresult result = fake_library_call(__func__);
    if (result)
        return status_of(result);
    const long long half = n[0] / 2 + 1;
    if (rank != 1 || n[0] < 2 || in_extents[0] != (is_to_real(type) ? half : n[0]) ||
        out_extents[0] != (is_of_real(type) ? half : n[0]) || batch < 1 || p->made)
        fake_complain("%s: what the backend never asks for", __func__);
    p->made = true;
    p->type = type;
    p->n = n[0];
    p->in_stride = in_stride, p->in_distance = in_distance;
    p->out_stride = out_stride, p->out_distance = out_distance;
    p->batch = batch;
    p->area_bytes = *work_bytes = n[0] % 2 ? AREA : 0;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle handle, void *area) {
    find_plan(__func__, handle)->area = area;
    return status_of(fake_library_call(__func__));
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
    find_plan(__func__, handle)->stream = stream;
    return status_of(fake_library_call(__func__));
}

/* ---- Transforms -------------------------------------------------------------------------------------------------- */

typedef struct lines {
    uint64_t of_real, to_real, f64;
    int64_t sign, n, in_stride, in_distance, out_stride, out_distance, batch, area_bytes;
} lines;

static double part(const lines *l, const void *at, int64_t k) {
    return l->f64 ? ((const double *)at)[k] : (double)((const float *)at)[k];
}

static void set_part(const lines *l, void *at, int64_t k, double x) {
    if (l->f64)
        ((double *)at)[k] = x;
    else
        ((float *)at)[k] = (float)x;
}

static double _Complex number(const lines *l, const void *at, int64_t k) {
    return l->of_real ? part(l, at, k) : part(l, at, 2 * k) + I * part(l, at, 2 * k + 1);
}

/* Element k of a whole line of which, to real numbers, the first half is there. */
static double _Complex element(const lines *l, const void *in, int64_t line, int64_t k) {
    const bool other = l->to_real && 2 * k > l->n;
    const double _Complex x = number(l, in, line * l->in_distance + (other ? l->n - k : k) * l->in_stride);
    if (l->to_real && (k == 0 || 2 * k == l->n) && cimag(x) != 0)
        fake_complain("cuFFT: what is its own conjugate is not real");
    return other ? conj(x) : x;
}

static void transform_lines(void *const *buffers, const uint64_t *words, uint64_t group) {
    lines l;
    (void)group;
    memcpy(&l, words, sizeof l);
    const int64_t count = l.of_real ? l.n / 2 + 1 : l.n;
    for (int64_t line = 0; line < l.batch; line++)
        for (int64_t j = 0; j < count; j++) {
            double _Complex sum = 0;
            for (int64_t k = 0; k < l.n; k++)
                sum += element(&l, buffers[0], line, k) *
                       cexp(I * (double)l.sign * 2 * 3.14159265358979323846 * (double)(j * k % l.n) / (double)l.n);
            const int64_t to = line * l.out_distance + j * l.out_stride;
            set_part(&l, buffers[1], l.to_real ? to : 2 * to, creal(sum));
            if (!l.to_real)
                set_part(&l, buffers[1], 2 * to + 1, cimag(sum));
        }
    for (int64_t line = 0; line < l.batch && l.to_real; line++)
        for (int64_t k = 0; k <= l.n / 2; k++)
            set_part(&l, (void *)buffers[0], 2 * (line * l.in_distance + k * l.in_stride), NAN);
    if (l.area_bytes)
        memset(buffers[2], 0xdd, (size_t)l.area_bytes);
}

static cufftResult transform(const char *name, cufftHandle handle, cufftType type, void *in, void *out, int direction) {
    static struct CUfunc_st function = {.name = "transform", .nbuffers = 3, .entry = transform_lines};
    const plan *p = find_plan(name, handle);
    CUresult result = fake_library_call(name);
    if (result)
        return status_of(result);
    if (!p->made || p->type != type || !p->stream || (p->area_bytes && !p->area))
        fake_complain("%s: a plan that is not complete, or for something else", name);
    const bool f64 = type == CUFFT_Z2Z || type == CUFFT_D2Z || type == CUFFT_Z2D;
    const uintptr_t align = f64 ? 16 : 8;
    if ((uintptr_t)in % align || (uintptr_t)out % align || in == out)
        fake_complain("%s: an address where no complex number lies, or one for both", name);
    lines l = {.of_real = is_of_real(type),
               .to_real = is_to_real(type),
               .f64 = f64,
               .sign = direction,
               .n = p->n,
               .in_stride = p->in_stride,
               .in_distance = p->in_distance,
               .out_stride = p->out_stride,
               .out_distance = p->out_distance,
               .batch = p->batch,
               .area_bytes = (int64_t)p->area_bytes};
    const int64_t half = p->n / 2 + 1, number = f64 ? 16 : 8;
    const int64_t last_in = (l.to_real ? half : p->n) - 1, last_out = (l.of_real ? half : p->n) - 1;
    const fake_use uses[3] = {
        {in, (size_t)((last_in * l.in_stride + (l.batch - 1) * l.in_distance + 1) * (l.of_real ? number / 2 : number))},
        {out,
         (size_t)((last_out * l.out_stride + (l.batch - 1) * l.out_distance + 1) * (l.to_real ? number / 2 : number))},
        {p->area_bytes ? p->area : NULL, p->area_bytes}};
    uint64_t words[sizeof l / sizeof(uint64_t)];
    memcpy(words, &l, sizeof l);
    fake_library_launch(name, p->stream, &function, uses, (int)(sizeof l / sizeof *words), words);
    return CUFFT_SUCCESS;
}

#define DEFINE_EXEC(name, with_direction, type, ...)                                                                   \
    cufftResult name(cufftHandle plan, void *in, void *out __VA_ARGS__) {                                              \
        return transform(__func__, plan, type, in, out, with_direction);                                               \
    }
DEFINE_EXEC(cufftExecC2C, direction, CUFFT_C2C, , int direction)
DEFINE_EXEC(cufftExecZ2Z, direction, CUFFT_Z2Z, , int direction)
DEFINE_EXEC(cufftExecR2C, CUFFT_FORWARD, CUFFT_R2C)
DEFINE_EXEC(cufftExecD2Z, CUFFT_FORWARD, CUFFT_D2Z)
DEFINE_EXEC(cufftExecC2R, CUFFT_INVERSE, CUFFT_C2R)
DEFINE_EXEC(cufftExecZ2D, CUFFT_INVERSE, CUFFT_Z2D)
