/* fft.c: discrete Fourier transforms along the last axis, of any length: of complex numbers (dft), of real ones (rdft),
 * and back to real ones (irdft).
 *
 * Rows are split over the workers. Each is transformed by itself, as if it stood alone: by FFTW, in its own precision,
 * where that is there (engine/libs/fft.h), else by our own code (fft_plain.c), in f64. So workers, batches and strides
 * change no bit.
 *
 * Our own code knows one transform. Its inverse is that of numbers whose parts have changed places; a real row is one
 * of complex numbers, of whose result the first half is kept; the other half of what gives a real row is conjugate. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "engine/device.h"
#include "engine/libs/fft.h"
#include "lazy/derive/build.h"
#include "lazy/dtype/scalar.h"
#include "lazy/ops/fft_plain.h"

typedef ops_fft_number number;

enum { TASK_ELEMENTS = 8192, ROW_BYTES = 64 /* rows in scratch memory begin at multiples of it */ };

typedef struct fft_job {
    engine_fft_kind kind;
    bool f64, inverse;
    bool doubled;            /* the elements that stand for two, as those of a real row do, count twice */
    int64_t n, rows, half;   /* half: the elements that stand for a real row */
    char *in, *out;          /* the first rows */
    size_t in_row, out_row;  /* bytes */
    const engine_fft *fftw;  /* NULL: our own code, */
    const ops_fft_plan *own; /* by this plan */
    int64_t together;        /* rows of a task */
    _Atomic int failed;
} fft_job;

/* ---- By FFTW ----------------------------------------------------------------------------------------------------- */
/* Multiplies the elements of half a transform that stand for two. */
static void scale_inner(const fft_job *job, char *row, double by) {
    const int64_t end = job->n % 2 ? job->half : job->half - 1;
    double *wide = (double *)row;
    float *narrow = (float *)row;
    for (int64_t k = 2; job->f64 && k < 2 * end; k++)
        wide[k] *= by;
    for (int64_t k = 2; !job->f64 && k < 2 * end; k++)
        narrow[k] *= (float)by;
}

/* Half a transform as FFTW wants it: what is its own conjugate is real. */
static void prepare_half(const fft_job *job, char *row) {
    const int64_t last = job->n % 2 ? 0 : job->half - 1;
    if (job->f64)
        ((double *)row)[1] = ((double *)row)[2 * last + 1] = 0;
    else
        ((float *)row)[1] = ((float *)row)[2 * last + 1] = 0;
    if (!job->doubled)
        scale_inner(job, row, 0.5);
}

static size_t whole_blocks(size_t bytes) {
    return (bytes + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES;
}

/* Blocks of rows that do not begin where the plan wants it, that it would overwrite, or that are not as many as it
 * takes, go through scratch memory. */
static int run_fftw(const fft_job *job, int64_t first, int64_t end, const neap_run *run) {
    const int64_t each = engine_fft_rows(job->fftw);
    const size_t in_block = (size_t)each * job->in_row, out_block = (size_t)each * job->out_row;
    const size_t in_bytes = whole_blocks(in_block), out_bytes = whole_blocks(out_block);
    const size_t bytes = in_bytes + out_bytes + engine_fft_scratch(job->fftw) + ROW_BYTES;
    const bool overwrites = job->kind == ENGINE_FFT_TO_REAL;
    const bool even = end - first <= each || (in_block % ROW_BYTES == 0 && out_block % ROW_BYTES == 0);
    const bool fits = even && (end - first) % each == 0 &&
                      engine_fft_fits(job->fftw, job->in + (size_t)first * job->in_row) &&
                      engine_fft_fits(job->fftw, job->out + (size_t)first * job->out_row);
    void *scratch = NULL;
    char *room_in = NULL, *room_out = NULL, *more = NULL;
    if (overwrites || !fits || engine_fft_scratch(job->fftw) > 0) {
        if (neap_run_alloc(run, bytes, &scratch) != NEAP_OK)
            return NEAP_E_MEMORY;
        room_in = (char *)scratch + (ROW_BYTES - (uintptr_t)scratch % ROW_BYTES) % ROW_BYTES;
        room_out = room_in + in_bytes, more = room_out + out_bytes;
    }
    for (int64_t row = first; row < end; row += each) {
        char *in = job->in + (size_t)row * job->in_row, *out = job->out + (size_t)row * job->out_row;
        const size_t count = (size_t)(end - row < each ? end - row : each);
        const bool copy_in = overwrites || count < (size_t)each || !engine_fft_fits(job->fftw, in);
        char *from = copy_in ? room_in : in;
        char *to = count < (size_t)each || !engine_fft_fits(job->fftw, out) ? room_out : out;
        if (copy_in) {
            memcpy(from, in, count * job->in_row);
            memset(from + count * job->in_row, 0, ((size_t)each - count) * job->in_row);
        }
        for (size_t k = 0; overwrites && k < count; k++)
            prepare_half(job, from + k * job->in_row);
        engine_fft_run(job->fftw, from, to, more);
        for (size_t k = 0; job->kind == ENGINE_FFT_OF_REAL && job->doubled && k < count; k++)
            scale_inner(job, to + k * job->out_row, 2);
        if (to != out)
            memcpy(out, to, count * job->out_row);
    }
    if (scratch)
        neap_run_free(run, scratch, bytes);
    return NEAP_OK;
}

/* ---- By our own code --------------------------------------------------------------------------------------------- */
static inline double real_at(const fft_job *job, const char *row, int64_t k) {
    return job->f64 ? ((const double *)row)[k] : (double)((const float *)row)[k];
}

static inline void set_real(const fft_job *job, char *row, int64_t k, double x) {
    if (job->f64)
        ((double *)row)[k] = x;
    else
        ((float *)row)[k] = (float)x;
}

/* The elements of a whole row of which these are the first half. */
static void read_half(const fft_job *job, number *to, const char *row) {
    for (int64_t k = 0; k < job->half; k++) {
        const int64_t other = k ? job->n - k : 0;
        number x = {real_at(job, row, 2 * k), real_at(job, row, 2 * k + 1)};
        if (other == k)
            x.im = 0;
        else if (!job->doubled)
            x = (number){x.re / 2, x.im / 2};
        to[k] = (number){x.im, x.re};
        to[other] = (number){other == k ? x.im : -x.im, x.re};
    }
}

static void read_row(const fft_job *job, number *to, const char *row) {
    if (job->kind == ENGINE_FFT_TO_REAL) {
        read_half(job, to, row);
        return;
    }
    for (int64_t k = 0; k < job->n; k++) {
        if (job->kind == ENGINE_FFT_OF_REAL) {
            to[k] = (number){real_at(job, row, k), 0};
            continue;
        }
        const number x = {real_at(job, row, 2 * k), real_at(job, row, 2 * k + 1)};
        to[k] = job->inverse ? (number){x.im, x.re} : x;
    }
}

static void write_row(const fft_job *job, const number *from, char *row) {
    const int64_t count = job->kind == ENGINE_FFT_OF_REAL ? job->half : job->n;
    for (int64_t k = 0; k < count; k++) {
        number x = job->inverse ? (number){from[k].im, from[k].re} : from[k];
        if (job->kind == ENGINE_FFT_TO_REAL) {
            set_real(job, row, k, x.re);
            continue;
        }
        if (job->doubled && k > 0 && 2 * k != job->n)
            x = (number){2 * x.re, 2 * x.im};
        set_real(job, row, 2 * k, x.re);
        set_real(job, row, 2 * k + 1, x.im);
    }
}

static int run_own(const fft_job *job, int64_t first, int64_t end, const neap_run *run) {
    const int64_t room = ops_fft_room(job->own);
    const size_t bytes = 2 * (size_t)room * sizeof(number);
    void *rows;
    if (neap_run_alloc(run, bytes, &rows) != NEAP_OK)
        return NEAP_E_MEMORY;
    for (int64_t row = first; row < end; row++) {
        number *a = rows;
        read_row(job, a, job->in + (size_t)row * job->in_row);
        write_row(job, ops_fft_row(job->own, a, a + room), job->out + (size_t)row * job->out_row);
    }
    neap_run_free(run, rows, bytes);
    return NEAP_OK;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
static void transform_rows(void *arg, int64_t task, const neap_run *run) {
    fft_job *job = arg;
    const int64_t first = task * job->together, end = first + job->together;
    if ((job->fftw ? run_fftw : run_own)(job, first, end < job->rows ? end : job->rows, run) != NEAP_OK)
        atomic_store(&job->failed, 1);
}

/* Runs a job that has its kind, inverse, doubled and n. */
static int run_job(fft_job *job, const lazy_call *call, const neap_run *run) {
    if (call->out->size == 0)
        return NEAP_OK;
    const bool of_real = job->kind == ENGINE_FFT_OF_REAL, to_real = job->kind == ENGINE_FFT_TO_REAL;
    job->f64 = dtype_of_part(call->out->dtype) == NEAP_DTYPE_F64;
    job->half = job->n / 2 + 1;
    const size_t part = job->f64 ? 8 : 4, n = (size_t)job->n, half = (size_t)job->half;
    job->in = call->in->data, job->out = call->out->data;
    job->in_row = part * (of_real ? n : to_real ? 2 * half : 2 * n);
    job->out_row = part * (to_real ? n : of_real ? 2 * half : 2 * n);
    job->rows = call->out->size / call->out->shape[call->out->ndim - 1];
    job->together = job->n < TASK_ELEMENTS ? TASK_ELEMENTS / job->n : 1;

    engine_fft *fftw;
    ops_fft_plan *own = NULL;
    int status = engine_fft_open(job->kind, job->f64, job->inverse, job->n, &fftw);
    if (status)
        return status;
    if (!fftw && !(own = ops_fft_open(job->n)))
        return neap_error(NEAP_E_MEMORY, "fft: no memory for a transform of %lld elements", (long long)job->n);
    job->fftw = fftw, job->own = own;
    if (fftw)
        job->together = (job->together + engine_fft_rows(fftw) - 1) / engine_fft_rows(fftw) * engine_fft_rows(fftw);
    const int64_t tasks = (job->rows + job->together - 1) / job->together;
    if (tasks > 1)
        neap_parallel_for(run, tasks, transform_rows, job);
    else
        transform_rows(job, 0, run);
    if (fftw)
        engine_fft_close(fftw);
    else
        ops_fft_close(own);
    return atomic_load(&job->failed)
               ? neap_error(NEAP_E_MEMORY, "fft: no memory for rows of %lld elements", (long long)job->n)
               : NEAP_OK;
}

static int64_t last_extent(const lazy_tensor *x) {
    return x->shape[x->ndim - 1];
}

static int dft_call(const lazy_call *call, const neap_run *run) {
    fft_job job = {.kind = ENGINE_FFT_COMPLEX, .inverse = call->attrs[0] != 0, .n = last_extent(call->out)};
    return run_job(&job, call, run);
}

static int rdft_call(const lazy_call *call, const neap_run *run) {
    fft_job job = {.kind = ENGINE_FFT_OF_REAL, .doubled = call->attrs[0] != 0, .n = last_extent(call->in)};
    return run_job(&job, call, run);
}

static int irdft_call(const lazy_call *call, const neap_run *run) {
    fft_job job = {
        .kind = ENGINE_FFT_TO_REAL, .inverse = true, .doubled = call->attrs[1] != 0, .n = last_extent(call->out)};
    return run_job(&job, call, run);
}

/* ---- Shapes and costs -------------------------------------------------------------------------------------------- */
static int check_line(const lazy_call_desc *call, const char *name, int nattrs) {
    const lazy_aval *in = &call->in[0];
    if (call->nattrs != nattrs)
        return neap_error(NEAP_E_ARGUMENT, "%s: expected %d attributes, got %d", name, nattrs, call->nattrs);
    if (in->ndim < 1 || in->shape[in->ndim - 1] >= INT64_C(1) << 40)
        return neap_error(NEAP_E_SHAPE, "%s: expected an array of at least one axis, with a last one below 2^40", name);
    return NEAP_OK;
}

static int dft_shape(const lazy_call_desc *call, lazy_result *out) {
    const int status = check_line(call, "dft", 1);
    return status ? status : graph_shape_same(call, out);
}

static int rdft_shape(const lazy_call_desc *call, lazy_result *out) {
    const int status = check_line(call, "rdft", 1);
    if (status)
        return status;
    const int64_t n = call->in[0].shape[call->in[0].ndim - 1];
    if (n < 1)
        return neap_error(NEAP_E_SHAPE, "rdft: expected a last axis of at least 1 element");
    graph_shape_same(call, out);
    out->shape[out->ndim - 1] = n / 2 + 1;
    return NEAP_OK;
}

static int irdft_shape(const lazy_call_desc *call, lazy_result *out) {
    const int status = check_line(call, "irdft", 2);
    if (status)
        return status;
    const int64_t have = call->in[0].shape[call->in[0].ndim - 1], n = call->attrs[0];
    if (n < 1 || have != n / 2 + 1)
        return neap_error(NEAP_E_SHAPE, "irdft: %lld real elements come of %lld complex ones, got %lld", (long long)n,
                          (long long)(n / 2 + 1), (long long)have);
    graph_shape_same(call, out);
    out->shape[out->ndim - 1] = n;
    return NEAP_OK;
}

static double line_flops(const lazy_aval *in, const lazy_result *out, double each) {
    const double n = (double)in->shape[in->ndim - 1], m = (double)out->shape[out->ndim - 1], most = n > m ? n : m;
    return most > 1 ? each * (double)in->size / n * most * log2(most) : 0;
}

static double dft_flops(const lazy_call_desc *call, const lazy_result *out) {
    return line_flops(&call->in[0], out, 5);
}

static double real_flops(const lazy_call_desc *call, const lazy_result *out) {
    return line_flops(&call->in[0], out, 2.5);
}

static int64_t dft_cost(const lazy_call_desc *call, const lazy_result *out) {
    return 500 + (int64_t)(dft_flops(call, out) / 4);
}

static int64_t real_cost(const lazy_call_desc *call, const lazy_result *out) {
    return 500 + (int64_t)(real_flops(call, out) / 4);
}

/* ---- Derivatives ------------------------------------------------------------------------------------------------- */
/* The matrix of a transform is symmetric. */
static int dft_grad(lazy_grad *g) {
    g->out[0] = graph_build(g->ctx, LAZY_OP_dft, 1, &g->ct, 1, graph_node_attrs(g->node));
    return grad_done(g, 1);
}

/* Of element j: the real part of Σ ct[k] exp(-2πi j k / n) over the elements that there are, which is that of the
 * conjugate with the other sign. */
static int rdft_grad(lazy_grad *g) {
    const lazy_aval in = graph_node_aval(INPUT(0));
    const int64_t attrs[] = {in.shape[in.ndim - 1], graph_node_attrs(g->node)[0]};
    neap_node *conjugate = BUILD1(conj, g->ct);
    g->out[0] = graph_build(g->ctx, LAZY_OP_irdft, 1, &conjugate, 2, attrs);
    return grad_done(g, 1);
}

/* The transposed matrix the other way, by the convention of cotangents (complex.c). */
static int irdft_grad(lazy_grad *g) {
    neap_node *back = graph_build(g->ctx, LAZY_OP_rdft, 1, &g->ct, 1, &graph_node_attrs(g->node)[1]);
    g->out[0] = BUILD1(conj, back);
    return grad_done(g, 1);
}

/* ---- The rows ---------------------------------------------------------------------------------------------------- */
NEAP_OP(
    dft,
    .doc =
        "The discrete Fourier transform of complex numbers along the last axis: element k of the result is the sum of "
        "a[j] exp(-2πi j k / n) over j; with `inverse` of a[j] exp(2πi j k / n), without a factor. Of any length: by "
        "FFTW if it is installed; else by factors 4, 2, 3, 5 and primes up to 31, or as a convolution with a chirp.",
    .attrs = "inverse", .kind = LAZY_CALL, .arity = 1, .types = LAZY_COMPLEX,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_same, .shape = dft_shape,
    .call = dft_call, .cost = dft_cost, .flops = dft_flops, .grad = dft_grad, .jvp = derive_jvp_linear,
    .batch = derive_batch_leading)

NEAP_OP(rdft,
        .doc = "The first n / 2 + 1 elements of the dft of n real numbers along the last axis, to which the others are "
               "conjugate. With `doubled` those that have such another one are multiplied by 2.",
        .attrs = "doubled", .kind = LAZY_CALL, .arity = 1, .types = LAZY_REAL,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_parts, .shape = rdft_shape,
        .call = rdft_call, .cost = real_cost, .flops = real_flops, .grad = rdft_grad, .jvp = derive_jvp_linear,
        .batch = derive_batch_leading)

NEAP_OP(irdft,
        .doc =
            "The real part of the sum of a[k] exp(2πi j k / n) over the n / 2 + 1 elements k of the last axis, for j "
            "from 0 to n - 1. With `doubled` those that stand for two, all but element 0 and n / 2, count twice: so it "
            "is the inverse dft, without a factor, of a whole row whose other half is conjugate.",
        .attrs = "n doubled", .kind = LAZY_CALL, .arity = 1, .types = LAZY_COMPLEX,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_part, .shape = irdft_shape,
        .call = irdft_call, .cost = real_cost, .flops = real_flops, .grad = irdft_grad, .jvp = derive_jvp_linear,
        .batch = derive_batch_leading, .follow = program_follow_sizes)
