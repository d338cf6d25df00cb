/* fft.c: discrete Fourier transforms along an axis, of any length: of complex numbers (dft), of real ones (rdft), and
 * back to real ones (irdft).
 *
 *      x ──▶ blocks of lines ──▶ rows ──▶ transformed rows ──▶ the same lines of the result
 *
 * Lines are split over the workers. Where their elements lie apart, a block of neighbours is copied into rows and back,
 * so that memory is read and written once. Each row is transformed by itself, as if it stood alone: by FFTW, in its own
 * precision, where that is there (engine/libs/fft.h), else by our own code (fft_plain.c), in f64. So workers, batches
 * and axes change no bit.
 *
 * Our own code knows one transform. Its inverse is that of numbers whose parts have changed places; a real row is one
 * of complex numbers, of whose result the first half is kept; the other half of what gives a real row is conjugate. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "engine/device.h"
#include "engine/libs/fft.h"
#include "engine/libs/fft_move.h"
#include "lazy/derive/build.h"
#include "lazy/dtype/scalar.h"
#include "lazy/ops/fft_plain.h"

typedef ops_fft_number number;

enum {
    TASK_ELEMENTS = 8192,
    ROW_BYTES = 64,    /* rows in scratch memory begin at multiples of it */
    ASKED_LEAST = 512, /* bytes of rows that are asked for ahead, */
    ASKED_MOST = 65536,
    BLOCK_LINES = 64,      /* that are copied into rows together, */
    BLOCK_ELEMENTS = 65536 /* as long as they are not more */
};

typedef struct fft_work {
    engine_fft_kind kind;
    bool f64, inverse;
    bool doubled;         /* the elements that stand for two, as those of a real row do, count twice */
    int64_t n, half;      /* half: the elements that stand for a real row */
    int64_t lines, inner; /* inner: how far apart the elements of a line are; as many lines are neighbours */
    int64_t count[2];     /* elements of a line, in and out */
    size_t item[2];       /* their bytes */
    size_t row[2];        /* bytes of a line */
    char *in, *out;
    const engine_fft *fftw;  /* NULL: our own code, */
    const ops_fft_plan *own; /* by this plan */
    int64_t block, together; /* lines of a block, of a task */
    _Atomic int failed;
} fft_work;

typedef struct fft_scratch { /* of a task */
    void *memory;
    size_t bytes;
    char *in, *out; /* a block of rows; NULL: not needed */
    size_t step[2]; /* from one of these rows to the next */
    char *more;     /* what the transforms need */
} fft_scratch;

/* ---- Lines ------------------------------------------------------------------------------------------------------- */
static size_t whole_blocks(size_t bytes) {
    return (bytes + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES;
}

/* Where line `line` of the input (0) or the result (1) begins. */
static char *line_at(const fft_work *work, int result, int64_t line) {
    const int64_t first = line / work->inner * work->inner * work->count[result] + line % work->inner;
    return (result ? work->out : work->in) + (size_t)first * work->item[result];
}

/* Neighbouring lines into rows. */
static void take_lines(const fft_work *work, const fft_scratch *scratch, int64_t line, int64_t count) {
    const size_t item = work->item[0];
    engine_fft_take(item, line_at(work, 0, line), (size_t)work->inner * item, scratch->in, scratch->step[0],
                    work->count[0], count);
}

/* Rows into neighbouring lines. */
static void give_lines(const fft_work *work, const fft_scratch *scratch, int64_t line, int64_t count) {
    const size_t item = work->item[1];
    engine_fft_give(item, line_at(work, 1, line), (size_t)work->inner * item, scratch->out, scratch->step[1],
                    work->count[1], count);
}

/* ---- By FFTW ----------------------------------------------------------------------------------------------------- */
/* Multiplies the elements of half a transform that stand for two. */
static void scale_inner(const fft_work *work, char *row, double by) {
    const int64_t end = work->n % 2 ? work->half : work->half - 1;
    double *wide = (double *)row;
    float *narrow = (float *)row;
    for (int64_t k = 2; work->f64 && k < 2 * end; k++)
        wide[k] *= by;
    for (int64_t k = 2; !work->f64 && k < 2 * end; k++)
        narrow[k] *= (float)by;
}

/* Half a transform as FFTW wants it: what is its own conjugate is real. */
static void prepare_half(const fft_work *work, char *row) {
    const int64_t last = work->n % 2 ? 0 : work->half - 1;
    if (work->f64)
        ((double *)row)[1] = ((double *)row)[2 * last + 1] = 0;
    else
        ((float *)row)[1] = ((float *)row)[2 * last + 1] = 0;
    if (!work->doubled)
        scale_inner(work, row, 0.5);
}

/* As many rows as the plan takes, `count` of which are asked for. */
static void run_fftw(const fft_work *work, const fft_scratch *scratch, char *in, char *out, size_t out_step,
                     int64_t count) {
    engine_fft_run(work->fftw, in, out, scratch->more);
    for (int64_t k = 0; work->kind == ENGINE_FFT_OF_REAL && work->doubled && k < count; k++)
        scale_inner(work, out + (size_t)k * out_step, 2);
}

/* FFTW reads and writes rows in leaps, which no hardware foresees: so those behind `count` rows are asked for before
 * these are computed. Very short ones are there in time, and very long ones would drive out what they wait for. */
static void ask_for_next(const char *rows, size_t row, int64_t count) {
    if (row >= ASKED_LEAST && row <= ASKED_MOST)
        engine_fft_ask_for(rows, (size_t)count * row, (size_t)count * row);
}

/* A block of lines. Rows that do not begin where the plan wants it, that it would overwrite, or that are not as many as
 * it takes, are copied, too. */
static void transform_fftw(const fft_work *work, const fft_scratch *scratch, int64_t line, int64_t count) {
    const int64_t each = engine_fft_rows(work->fftw);
    const bool apart = work->inner > 1, whole = count % each == 0;
    char *in = apart ? NULL : line_at(work, 0, line), *out = apart ? NULL : line_at(work, 1, line);
    const bool copy_in = apart || !whole || work->kind == ENGINE_FFT_TO_REAL || !engine_fft_fits(work->fftw, in);
    const bool copy_out = apart || !whole || !engine_fft_fits(work->fftw, out);
    const size_t in_step = copy_in ? scratch->step[0] : work->row[0],
                 out_step = copy_out ? scratch->step[1] : work->row[1];
    char *from = copy_in ? scratch->in : in, *to = copy_out ? scratch->out : out;
    if (apart)
        take_lines(work, scratch, line, count);
    for (int64_t k = 0; copy_in && !apart && k < count; k++)
        memcpy(from + (size_t)k * in_step, in + (size_t)k * work->row[0], work->row[0]);
    for (int64_t k = 0; work->kind == ENGINE_FFT_TO_REAL && k < count; k++)
        prepare_half(work, from + (size_t)k * in_step);
    for (int64_t k = count; !whole && k < (count + each - 1) / each * each; k++)
        memset(from + (size_t)k * in_step, 0, work->row[0]);
    if (!copy_in)
        ask_for_next(in, in_step, count);
    if (!copy_out)
        ask_for_next(out, out_step, count);
    for (int64_t k = 0; k < count; k += each)
        run_fftw(work, scratch, from + (size_t)k * in_step, to + (size_t)k * out_step, out_step,
                 count - k < each ? count - k : each);
    if (apart)
        give_lines(work, scratch, line, count);
    for (int64_t k = 0; copy_out && !apart && k < count; k++)
        memcpy(out + (size_t)k * work->row[1], to + (size_t)k * out_step, work->row[1]);
}

/* ---- By our own code --------------------------------------------------------------------------------------------- */
static inline double real_at(const fft_work *work, const char *row, int64_t k) {
    return work->f64 ? ((const double *)row)[k] : (double)((const float *)row)[k];
}

static inline void set_real(const fft_work *work, char *row, int64_t k, double x) {
    if (work->f64)
        ((double *)row)[k] = x;
    else
        ((float *)row)[k] = (float)x;
}

/* The elements of a whole row of which these are the first half. */
static void read_half(const fft_work *work, number *to, const char *row) {
    for (int64_t k = 0; k < work->half; k++) {
        const int64_t other = k ? work->n - k : 0;
        number x = {real_at(work, row, 2 * k), real_at(work, row, 2 * k + 1)};
        if (other == k)
            x.im = 0;
        else if (!work->doubled)
            x = (number){x.re / 2, x.im / 2};
        to[k] = (number){x.im, x.re};
        to[other] = (number){other == k ? x.im : -x.im, x.re};
    }
}

static void read_row(const fft_work *work, number *to, const char *row) {
    if (work->kind == ENGINE_FFT_TO_REAL) {
        read_half(work, to, row);
        return;
    }
    for (int64_t k = 0; k < work->n; k++) {
        if (work->kind == ENGINE_FFT_OF_REAL) {
            to[k] = (number){real_at(work, row, k), 0};
            continue;
        }
        const number x = {real_at(work, row, 2 * k), real_at(work, row, 2 * k + 1)};
        to[k] = work->inverse ? (number){x.im, x.re} : x;
    }
}

static void write_row(const fft_work *work, const number *from, char *row) {
    const int64_t count = work->kind == ENGINE_FFT_OF_REAL ? work->half : work->n;
    for (int64_t k = 0; k < count; k++) {
        number x = work->inverse ? (number){from[k].im, from[k].re} : from[k];
        if (work->kind == ENGINE_FFT_TO_REAL) {
            set_real(work, row, k, x.re);
            continue;
        }
        if (work->doubled && k > 0 && 2 * k != work->n)
            x = (number){2 * x.re, 2 * x.im};
        set_real(work, row, 2 * k, x.re);
        set_real(work, row, 2 * k + 1, x.im);
    }
}

static void transform_own(const fft_work *work, const fft_scratch *scratch, int64_t line, int64_t count) {
    const bool apart = work->inner > 1;
    if (apart)
        take_lines(work, scratch, line, count);
    for (int64_t k = 0; k < count; k++) {
        number *a = (number *)scratch->more;
        read_row(work, a, apart ? scratch->in + (size_t)k * scratch->step[0] : line_at(work, 0, line + k));
        const number *row = ops_fft_row(work->own, a, a + ops_fft_scratch(work->own));
        write_row(work, row, apart ? scratch->out + (size_t)k * scratch->step[1] : line_at(work, 1, line + k));
    }
    if (apart)
        give_lines(work, scratch, line, count);
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
/* Are the rows of these lines ready for FFTW, in and out, as they lie? */
static bool lie_ready(const fft_work *work, int64_t first, int64_t end) {
    const int64_t each = engine_fft_rows(work->fftw);
    const bool even = end - first <= each ||
                      (work->row[0] * (size_t)each % ROW_BYTES == 0 && work->row[1] * (size_t)each % ROW_BYTES == 0);
    return work->inner == 1 && work->kind != ENGINE_FFT_TO_REAL && even && (end - first) % each == 0 &&
           engine_fft_fits(work->fftw, line_at(work, 0, first)) && engine_fft_fits(work->fftw, line_at(work, 1, first));
}

/* Rows of several at once lie behind each other. Others have some bytes between them, so that their elements do not
 * meet in the same places of the cache, and a place more, the first: each result takes that of the row before. */
static int make_scratch(const fft_work *work, int64_t first, int64_t end, const neap_run *run, fft_scratch *scratch) {
    const bool rows = work->fftw ? !lie_ready(work, first, end) : work->inner > 1;
    const bool close = work->fftw && engine_fft_rows(work->fftw) > 1;
    const size_t step = whole_blocks(work->row[0] > work->row[1] ? work->row[0] : work->row[1]) + ROW_BYTES;
    const size_t before = close ? whole_blocks((size_t)work->block * work->row[1]) : step; /* of the input */
    const size_t after = close ? whole_blocks((size_t)work->block * work->row[0]) : (size_t)work->block * step;
    for (int k = 0; k < 2; k++)
        scratch->step[k] = close ? work->row[k] : step;
    const size_t more =
        work->fftw ? engine_fft_scratch(work->fftw) : 2 * (size_t)ops_fft_scratch(work->own) * sizeof(number);
    scratch->bytes = (rows ? before + after : 0) + more;
    if (scratch->bytes == 0)
        return NEAP_OK;
    scratch->bytes += ROW_BYTES;
    if (neap_run_alloc(run, scratch->bytes, &scratch->memory) != NEAP_OK)
        return NEAP_E_MEMORY;
    scratch->out = (char *)scratch->memory + (ROW_BYTES - (uintptr_t)scratch->memory % ROW_BYTES) % ROW_BYTES;
    scratch->in = scratch->out + before;
    scratch->more = scratch->out + (rows ? before + after : 0);
    return NEAP_OK;
}

static void transform_lines(void *arg, int64_t task, const neap_run *run) {
    fft_work *work = arg;
    const int64_t first = task * work->together;
    const int64_t end = first + work->together < work->lines ? first + work->together : work->lines;
    fft_scratch scratch = {0};
    if (make_scratch(work, first, end, run, &scratch) != NEAP_OK) {
        atomic_store(&work->failed, 1);
        return;
    }
    for (int64_t line = first, count; line < end; line += count) {
        const int64_t left = end - line, near = work->inner > 1 ? work->inner - line % work->inner : left;
        count = left < near ? left : near;
        count = count < work->block ? count : work->block;
        (work->fftw ? transform_fftw : transform_own)(work, &scratch, line, count);
    }
    if (scratch.memory)
        neap_run_free(run, scratch.memory, scratch.bytes);
}

/* How many lines make a block: as many as FFTW takes at once; apart from that neighbours, which share memory. */
static int64_t lines_together(const fft_work *work) {
    const int64_t each = work->fftw ? engine_fft_rows(work->fftw) : 1;
    int64_t block = work->inner > 1 ? BLOCK_LINES : each;
    while (block > each && block * work->n > BLOCK_ELEMENTS)
        block /= 2;
    return block;
}

/* Runs what has its kind, inverse and doubled, along the axis of the first attribute. */
static int run_work(fft_work *work, const lazy_call *call, const neap_run *run) {
    const lazy_tensor *in = call->in, *out = call->out;
    if (out->size == 0)
        return NEAP_OK;
    const int axis = (int)(call->attrs[0] < 0 ? call->attrs[0] + in->ndim : call->attrs[0]);
    const bool of_real = work->kind == ENGINE_FFT_OF_REAL, to_real = work->kind == ENGINE_FFT_TO_REAL;
    const size_t part = dtype_of_part(out->dtype) == NEAP_DTYPE_F64 ? 8 : 4;
    work->f64 = part == 8;
    work->count[0] = in->shape[axis], work->count[1] = out->shape[axis];
    work->n = to_real ? work->count[1] : work->count[0];
    work->half = work->n / 2 + 1;
    work->item[0] = of_real ? part : 2 * part, work->item[1] = to_real ? part : 2 * part;
    work->in = in->data, work->out = out->data;
    work->lines = out->size / work->count[1];
    work->inner = 1;
    for (int k = axis + 1; k < in->ndim; k++)
        work->inner *= in->shape[k];
    for (int k = 0; k < 2; k++)
        work->row[k] = (size_t)work->count[k] * work->item[k];

    engine_fft *fftw;
    ops_fft_plan *own = NULL;
    int status = engine_fft_open(work->kind, work->f64, work->inverse, work->n, &fftw);
    if (status)
        return status;
    if (!fftw && !(own = ops_fft_open(work->n)))
        return neap_error(NEAP_E_MEMORY, "fft: no memory for a transform of %lld elements", (long long)work->n);
    work->fftw = fftw, work->own = own;
    work->block = lines_together(work);
    work->together = work->n < TASK_ELEMENTS ? TASK_ELEMENTS / work->n : 1;
    work->together = (work->together + work->block - 1) / work->block * work->block;
    const int64_t tasks = (work->lines + work->together - 1) / work->together;
    if (tasks > 1)
        neap_parallel_for(run, tasks, transform_lines, work);
    else
        transform_lines(work, 0, run);
    if (fftw)
        engine_fft_close(fftw);
    else
        ops_fft_close(own);
    return atomic_load(&work->failed)
               ? neap_error(NEAP_E_MEMORY, "fft: no memory for rows of %lld elements", (long long)work->n)
               : NEAP_OK;
}

static int dft_call(const lazy_call *call, const neap_run *run) {
    fft_work work = {.kind = ENGINE_FFT_COMPLEX, .inverse = call->attrs[1] != 0};
    return run_work(&work, call, run);
}

static int rdft_call(const lazy_call *call, const neap_run *run) {
    fft_work work = {.kind = ENGINE_FFT_OF_REAL, .doubled = call->attrs[1] != 0};
    return run_work(&work, call, run);
}

static int irdft_call(const lazy_call *call, const neap_run *run) {
    fft_work work = {.kind = ENGINE_FFT_TO_REAL, .inverse = true, .doubled = call->attrs[1] != 0};
    return run_work(&work, call, run);
}

/* The two halves of a derivative of a real transform count differently, which no library knows. */
static const char *fill_routine(neap_fourier_kind kind, const lazy_call *call, neap_routine *out) {
    const lazy_tensor *in = call->in, *result = call->out;
    const int axis = (int)(call->attrs[0] < 0 ? call->attrs[0] + in->ndim : call->attrs[0]);
    neap_fourier f = {.kind = kind,
                      .inverse = kind == NEAP_FOURIER_COMPLEX && call->attrs[1] != 0,
                      .n = kind == NEAP_FOURIER_TO_REAL ? result->shape[axis] : in->shape[axis],
                      .outer = 1,
                      .inner = 1,
                      .in = in->data,
                      .out = result->data};
    if (kind != NEAP_FOURIER_COMPLEX && (call->attrs[1] != 0) != (kind == NEAP_FOURIER_TO_REAL))
        return "no library has the derivative of a real transform";
    for (int k = 0; k < in->ndim; k++) {
        f.outer *= k < axis ? in->shape[k] : 1;
        f.inner *= k > axis ? in->shape[k] : 1;
    }
    *out = (neap_routine){
        .what = NEAP_ROUTINE_FOURIER, .f64 = dtype_of_part(result->dtype) == NEAP_DTYPE_F64, .fourier = f};
    return NULL;
}

static const char *dft_routine(const lazy_call *call, neap_routine *out) {
    return fill_routine(NEAP_FOURIER_COMPLEX, call, out);
}

static const char *rdft_routine(const lazy_call *call, neap_routine *out) {
    return fill_routine(NEAP_FOURIER_OF_REAL, call, out);
}

static const char *irdft_routine(const lazy_call *call, neap_routine *out) {
    return fill_routine(NEAP_FOURIER_TO_REAL, call, out);
}

/* ---- Shapes and costs -------------------------------------------------------------------------------------------- */
/* The axis, which is counted from 0. */
static int check_line(const lazy_call_desc *call, const char *name, int nattrs, int *axis) {
    const lazy_aval *in = &call->in[0];
    if (call->nattrs != nattrs)
        return neap_error(NEAP_E_ARGUMENT, "%s: expected %d attributes, got %d", name, nattrs, call->nattrs);
    const int status = graph_axis(name, call->attrs[0], in->ndim, axis);
    if (status)
        return status;
    if (in->shape[*axis] >= INT64_C(1) << 40)
        return neap_error(NEAP_E_SHAPE, "%s: expected an axis of less than 2^40 elements", name);
    return NEAP_OK;
}

static int dft_shape(const lazy_call_desc *call, lazy_result *out) {
    int axis;
    const int status = check_line(call, "dft", 2, &axis);
    return status ? status : graph_shape_same(call, out);
}

static int rdft_shape(const lazy_call_desc *call, lazy_result *out) {
    int axis;
    const int status = check_line(call, "rdft", 2, &axis);
    if (status)
        return status;
    if (call->in[0].shape[axis] < 1)
        return neap_error(NEAP_E_SHAPE, "rdft: expected an axis of at least 1 element");
    graph_shape_same(call, out);
    out->shape[axis] = call->in[0].shape[axis] / 2 + 1;
    return NEAP_OK;
}

static int irdft_shape(const lazy_call_desc *call, lazy_result *out) {
    int axis;
    const int status = check_line(call, "irdft", 3, &axis);
    if (status)
        return status;
    const int64_t have = call->in[0].shape[axis], n = call->attrs[2];
    if (n < 1 || have != n / 2 + 1)
        return neap_error(NEAP_E_SHAPE, "irdft: %lld real elements come of %lld complex ones, got %lld", (long long)n,
                          (long long)(n / 2 + 1), (long long)have);
    graph_shape_same(call, out);
    out->shape[axis] = n;
    return NEAP_OK;
}

static int axis_of(const lazy_call_desc *call) {
    return (int)(call->attrs[0] < 0 ? call->attrs[0] + call->in[0].ndim : call->attrs[0]);
}

static double line_flops(const lazy_call_desc *call, const lazy_result *out, double each) {
    const lazy_aval *in = &call->in[0];
    const int axis = axis_of(call);
    const double n = (double)in->shape[axis], m = (double)out->shape[axis], most = n > m ? n : m;
    return most > 1 ? each * (double)in->size / n * most * log2(most) : 0;
}

static double dft_flops(const lazy_call_desc *call, const lazy_result *out) {
    return line_flops(call, out, 5);
}

static double real_flops(const lazy_call_desc *call, const lazy_result *out) {
    return line_flops(call, out, 2.5);
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
    g->out[0] = graph_build(g->ctx, LAZY_OP_dft, 1, &g->ct, 2, graph_node_attrs(g->node));
    return grad_done(g, 1);
}

/* Of element j: the real part of Σ ct[k] exp(-2πi j k / n) over the elements that there are, which is that of the
 * conjugate with the other sign. */
static int rdft_grad(lazy_grad *g) {
    const lazy_aval in = graph_node_aval(INPUT(0));
    const int64_t *own = graph_node_attrs(g->node), axis = own[0] < 0 ? own[0] + in.ndim : own[0];
    const int64_t attrs[] = {axis, own[1], in.shape[axis]};
    neap_node *conjugate = BUILD1(conj, g->ct);
    g->out[0] = graph_build(g->ctx, LAZY_OP_irdft, 1, &conjugate, 3, attrs);
    return grad_done(g, 1);
}

/* The transposed matrix the other way, by the convention of cotangents (complex.c). */
static int irdft_grad(lazy_grad *g) {
    neap_node *back = graph_build(g->ctx, LAZY_OP_rdft, 1, &g->ct, 2, graph_node_attrs(g->node));
    g->out[0] = BUILD1(conj, back);
    return grad_done(g, 1);
}

static const char *fft_library(const lazy_call *call) {
    (void)call;
    return strncmp(engine_fft_library(), "fftw", 4) == 0 ? "FFTW" : NULL;
}

/* ---- The rows ---------------------------------------------------------------------------------------------------- */
NEAP_OP(
    dft,
    .doc =
        "The discrete Fourier transform of complex numbers along an axis: element k of the result is the sum of "
        "a[j] exp(-2πi j k / n) over j; with `inverse` of a[j] exp(2πi j k / n), without a factor. Of any length: by "
        "FFTW if it is installed; else by factors 4, 2, 3, 5 and primes up to 31, or as a convolution with a chirp.",
    .attrs = "axis inverse", .kind = LAZY_CALL, .arity = 1, .types = LAZY_COMPLEX,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_same, .shape = dft_shape,
    .call = dft_call, .library = fft_library, .routine = dft_routine, .cost = dft_cost, .flops = dft_flops,
    .grad = dft_grad, .jvp = derive_jvp_linear, .batch = derive_batch_axis, .shard = shard_axis)

NEAP_OP(rdft,
        .doc = "The first n / 2 + 1 elements of the dft of n real numbers along an axis, to which the others are "
               "conjugate. With `doubled` those that have such another one are multiplied by 2.",
        .attrs = "axis doubled", .kind = LAZY_CALL, .arity = 1, .types = LAZY_REAL,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_parts, .shape = rdft_shape,
        .call = rdft_call, .library = fft_library, .routine = rdft_routine, .cost = real_cost, .flops = real_flops,
        .grad = rdft_grad, .jvp = derive_jvp_linear, .batch = derive_batch_axis, .shard = shard_axis)

NEAP_OP(irdft,
        .doc =
            "The real part of the sum of a[k] exp(2πi j k / n) over the n / 2 + 1 elements k of the axis, for j "
            "from 0 to n - 1. With `doubled` those that stand for two, all but element 0 and n / 2, count twice: so it "
            "is the inverse dft, without a factor, of a whole row whose other half is conjugate.",
        .attrs = "axis doubled n", .kind = LAZY_CALL, .arity = 1, .types = LAZY_COMPLEX,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_part, .shape = irdft_shape,
        .call = irdft_call, .library = fft_library, .routine = irdft_routine, .cost = real_cost, .flops = real_flops,
        .grad = irdft_grad, .jvp = derive_jvp_linear, .batch = derive_batch_axis, .shard = shard_axis)
