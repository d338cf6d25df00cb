/* bare.c: some kernels of bench/kernels.lua without anything around them: descriptions as the planner writes them,
 * prepared once and run on one thread over the same memory, against reference.c. What dispatch costs is the difference
 * between these rows and those of the group "fused". Prints rows for run.lua, which starts it with the number of
 * rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "lazy/vm/kernel.h"
#include "ops_gen.h"

double bench_reference(const char *name, int threads, int64_t n, int64_t columns, int64_t bytes, const float *const *in,
                       float *const *out, int64_t count);

enum { MAX_LOADS = 8, MAX_INS = 8, MAX_ROUNDS = 1000, HUGE_PAGE = 2 << 20 };
static const double SLICE_NS = 4e6; /* of one side in one round, about */

typedef struct bare { /* a kernel over one axis: x and y are values 0 and 1, then come the numbers */
    const char *name;
    int nnumbers, nins, reduces;
    float numbers[MAX_LOADS - 2];
    lazy_ins ins[MAX_INS];
    double goals[3];
    const char *reference;
} bare;

#define F1(name, a)                                                                                                    \
    {                                                                                                                  \
        .op = LAZY_OP_##name, .dtype = NEAP_DTYPE_F32, .result = NEAP_DTYPE_F32, .narg = 1, .arg = { a }               \
    }
#define F2(name, a, b)                                                                                                 \
    {                                                                                                                  \
        .op = LAZY_OP_##name, .dtype = NEAP_DTYPE_F32, .result = NEAP_DTYPE_F32, .narg = 2, .arg = { a, b }            \
    }

static const bare KERNELS[] = {
    {.name = "a*x+b",
     .nnumbers = 2,
     .numbers = {1.5f, 0.25f},
     .nins = 2,
     .ins = {F2(multiply, 0, 2), F2(add, 4, 3)},
     .goals = {1.3, 0.75, 1.0},
     .reference = "axpb"},
    {.name = "polynomial, 8 ops",
     .nnumbers = 5,
     .numbers = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f},
     .nins = 8,
     .ins = {F2(multiply, 0, 2), F2(add, 7, 3), F2(multiply, 8, 0), F2(add, 9, 4), F2(multiply, 10, 0), F2(add, 11, 5),
             F2(multiply, 12, 0), F2(add, 13, 6)},
     .goals = {4.0, 3.3, 1.3},
     .reference = "polynomial"},
    {.name = "tanh(a*x+b)*exp(-x*x)",
     .nnumbers = 2,
     .numbers = {1.5f, 0.25f},
     .nins = 7,
     .ins = {F2(multiply, 0, 2), F2(add, 4, 3), F1(tanh, 5), F1(negative, 0), F2(multiply, 7, 0), F1(exp, 8),
             F2(multiply, 6, 9)},
     .goals = {0.93, 0.92, 1.2},
     .reference = "activation"},
    {.name = "sum((x-y)^2)",
     .nins = 2,
     .ins = {F2(subtract, 0, 1), F2(multiply, 2, 2)},
     .reduces = 1,
     .goals = {2.7, 1.6, 1.0},
     .reference = "distance"},
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *list, int n) {
    qsort(list, (size_t)n, sizeof *list, by_value);
    return n % 2 ? list[n / 2] : (list[n / 2 - 1] + list[n / 2]) / 2;
}

/* Memory as well placed as neap's own: huge pages, touched. */
static float *floats(int64_t n) {
    size_t bytes = ((size_t)n * sizeof(float) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    float *data = aligned_alloc(HUGE_PAGE, bytes);
    if (data == NULL) {
        fprintf(stderr, "bench: out of memory\n");
        exit(1);
    }
    madvise(data, bytes, MADV_HUGEPAGE);
    memset(data, 0, bytes);
    return data;
}

typedef struct setup { /* a kernel ready to run */
    lazy_kernel kernel;
    lazy_load loads[MAX_LOADS];
    lazy_ins ins[MAX_INS];
    lazy_sink sink;
    lazy_scalar scalars[MAX_LOADS];
    void *bufs[3]; /* x, y, out */
} setup;

static void prepare(setup *s, const bare *b, int64_t n, float *x, float *y, float *out) {
    *s = (setup){.bufs = {x, y, out}};
    for (int k = 0; k < 2; k++)
        s->loads[k] =
            (lazy_load){.kind = LAZY_LOAD_BUFFER, .dtype = NEAP_DTYPE_F32, .slot = (int16_t)k, .read = {.stride = {1}}};
    for (int k = 0; k < b->nnumbers; k++) {
        s->loads[2 + k] = (lazy_load){.kind = LAZY_LOAD_SCALAR, .dtype = NEAP_DTYPE_F32, .slot = (int16_t)k};
        s->scalars[k].f32 = b->numbers[k];
    }
    memcpy(s->ins, b->ins, sizeof s->ins);
    int nloads = 2 + b->nnumbers;
    s->sink = (lazy_sink){.kind = b->reduces ? LAZY_SINK_REDUCE : LAZY_SINK_STORE,
                          .dtype = NEAP_DTYPE_F32,
                          .op = LAZY_OP_sum,
                          .slot = 2,
                          .value = nloads + b->nins - 1,
                          .write = {.stride = {!b->reduces}}};
    s->kernel = (lazy_kernel){.ndim = 1,
                              .nkept = !b->reduces,
                              .shape = {n},
                              .nloads = nloads,
                              .nins = b->nins,
                              .nsinks = 1,
                              .loads = s->loads,
                              .ins = s->ins,
                              .sinks = &s->sink};
    if (vm_kernel_prepare(&s->kernel) != NEAP_OK) {
        fprintf(stderr, "bench: %s: %s\n", b->name, neap_error_text());
        exit(1);
    }
}

/* ns of one run, the mean of `count`. */
static double run(const setup *s, int64_t count) {
    double start = now();
    for (int64_t k = 0; k < count; k++)
        vm_kernel_run(&s->kernel, s->bufs, s->scalars, NULL);
    return (now() - start) / (double)count;
}

/* The same of the reference. */
static double run_reference(const bare *b, int64_t n, const float *x, const float *y, float *out, int64_t count) {
    return bench_reference(b->reference, 1, n, 1, 2 * n * (int64_t)sizeof *x, (const float *const[]){x, y},
                           (float *const[]){out}, count);
}

static void check_close(const bare *b, int64_t n, const float *mine, const float *theirs) {
    for (int64_t i = 0; i < (b->reduces ? 1 : n); i++) {
        float size = theirs[i] < 0 ? -theirs[i] : theirs[i], off = mine[i] - theirs[i];
        if ((off < 0 ? -off : off) <= 1e-5f * (size > 1 ? size : 1))
            continue;
        fprintf(stderr, "bench: %s: element %lld is %.9g, the reference gives %.9g\n", b->name, (long long)i,
                (double)mine[i], (double)theirs[i]);
        exit(1);
    }
}

static void measure(const bare *b, int exponent, double goal, int rounds) {
    static double mine[MAX_ROUNDS], theirs[MAX_ROUNDS], ratios[MAX_ROUNDS];
    int64_t n = exponent == 3 ? 1000 : exponent == 5 ? 100000 : 10000000;
    float *x = floats(n), *y = floats(n), *out = floats(n), *expected = floats(n);
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)(i % 2000) / 700 - 1.4f;
        y[i] = x[i] + 0.25f;
    }
    setup s;
    prepare(&s, b, n, x, y, out);
    run(&s, 1);
    run_reference(b, n, x, y, expected, 1);
    check_close(b, n, out, expected);
    int64_t runs = 1 + (int64_t)(SLICE_NS / run(&s, 3)), reference_runs;
    reference_runs = 1 + (int64_t)(SLICE_NS / run_reference(b, n, x, y, expected, 3));
    double best = 1e300;
    for (int r = 0; r < rounds; r++) {
        mine[r] = run(&s, runs);
        theirs[r] = run_reference(b, n, x, y, expected, reference_runs);
        ratios[r] = mine[r] / theirs[r];
        best = mine[r] < best ? mine[r] : best;
    }
    printf("{name=\"%s, bare, 1e%d\",value=%.6g,best=%.6g,unit=\"us\",reference=%.6g,ratio=%.6g,goal=%g}\n", b->name,
           exponent, median(mine, rounds) / 1e3, best / 1e3, median(theirs, rounds) / 1e3, median(ratios, rounds),
           goal);
    vm_kernel_unprepare(&s.kernel);
    free(x);
    free(y);
    free(out);
    free(expected);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 15;
    rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    for (size_t k = 0; k < sizeof KERNELS / sizeof KERNELS[0]; k++)
        for (int size = 0; size < 3; size++)
            measure(&KERNELS[k], 3 + 2 * size, KERNELS[k].goals[size], rounds);
    return 0;
}
