/* conv.c: convolutions and both derivatives, by the library and by products, against sums written out; the same bits
 * for any number of workers, of batches that are cut into parts, with a rest and without. */
#include "engine/libs/conv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "tests/check.h"

static const neap_convolution CASES[] = {
    {.ndim = 1, .batch = 3, .channels = 2, .features = 4, .groups = 1, .in = {20}, .kernel = {5}},
    {.ndim = 1, .batch = 3, .channels = 16, .features = 16, .groups = 16, .in = {33}, .kernel = {7}},
    {.ndim = 1, .batch = 2, .channels = 1, .features = 1, .groups = 1, .in = {5000}, .kernel = {11}}, /* a signal */
    {.ndim = 1, .batch = 3, .channels = 2, .features = 3, .groups = 1, .in = {4999}, .kernel = {4}},  /* in pieces */
    {.ndim = 1,
     .batch = 2,
     .channels = 1,
     .features = 3,
     .groups = 1,
     .in = {8200},
     .kernel = {5},
     .stride = {2},
     .dilation = {3},
     .low = {11},
     .high = {2}},
    {.ndim = 1, /* pieces that are padding alone */
     .batch = 1,
     .channels = 4,
     .features = 1,
     .groups = 1,
     .in = {3},
     .kernel = {2},
     .low = {6000},
     .high = {5000}},
    {.ndim = 1, /* padding and a dilated kernel that reach further than the library prepares for in a second */
     .batch = 1,
     .channels = 2,
     .features = 3,
     .groups = 1,
     .in = {10},
     .kernel = {2},
     .stride = {1 << 22},
     .high = {200 << 22}},
    {.ndim = 1,
     .batch = 1,
     .channels = 2,
     .features = 3,
     .groups = 1,
     .in = {4999},
     .kernel = {2},
     .dilation = {1 << 28},
     .low = {1 << 28}},
    {.ndim = 1,
     .batch = 2,
     .channels = 6,
     .features = 12,
     .groups = 3,
     .in = {40},
     .kernel = {3},
     .stride = {2},
     .dilation = {2},
     .low = {2},
     .high = {1}},
    {.ndim = 2,
     .batch = 1,
     .channels = 3,
     .features = 8,
     .groups = 1,
     .in = {9, 7},
     .kernel = {3, 2},
     .stride = {2, 1}},
    {.ndim = 2, .batch = 3, .channels = 24, .features = 9, .groups = 3, .in = {6, 5}, .kernel = {1, 1}},
    /* more work in groups than products are taken for, of one image and of parts that share a kernel */
    {.ndim = 2, .batch = 1, .channels = 84, .features = 76, .groups = 4, .in = {29, 27}, .kernel = {1, 1}},
    {.ndim = 1, .batch = 5, .channels = 26, .features = 34, .groups = 2, .in = {533}, .kernel = {1}},
    {.ndim = 1, .batch = 4, .channels = 10, .features = 7, .groups = 1, .in = {30}, .kernel = {1}},
    {.ndim = 1, .batch = 2, .channels = 12, .features = 8, .groups = 2, .in = {9}, .kernel = {1}, .stride = {2}},
    {.ndim = 2, .batch = 7, .channels = 16, .features = 16, .groups = 1, .in = {40, 40}, .kernel = {3, 3}},
    {.ndim = 2, .batch = 16, .channels = 16, .features = 32, .groups = 1, .in = {15, 15}, .kernel = {3, 3}},
    {.ndim = 2, .batch = 5, .channels = 12, .features = 24, .groups = 4, .in = {16, 15}, .kernel = {3, 3}},
    {.ndim = 2, .batch = 4, .channels = 20, .features = 20, .groups = 20, .in = {14, 14}, .kernel = {3, 3}},
    {.ndim = 2,
     .batch = 2,
     .channels = 8,
     .features = 8,
     .groups = 1,
     .in = {12, 12},
     .kernel = {2, 3},
     .low = {1, 0},
     .high = {0, 2},
     .dilation = {2, 1}},
    {.ndim = 3, .batch = 2, .channels = 2, .features = 3, .groups = 1, .in = {5, 6, 4}, .kernel = {2, 3, 1}},
};

static int64_t extent_of(const int64_t *extents, int ndim) {
    int64_t size = 1;
    for (int k = 0; k < ndim; k++)
        size *= extents[k];
    return size;
}

static float *new_values(int64_t n, unsigned seed) {
    float *values = malloc((size_t)n * sizeof *values);
    for (int64_t k = 0; k < n; k++) {
        seed = seed * 1664525u + 1013904223u;
        values[k] = (float)(seed >> 8) / (float)(1 << 23) - 1;
    }
    return values;
}

/* Adds what each pair of elements that meet gives, to the one that is wanted. */
static void add_up(neap_convolution_kind kind, const neap_convolution *a, double *out) {
    const float *x = a->x, *w = a->w, *y = a->y;
    int64_t places = extent_of(a->out, a->ndim), taps = extent_of(a->kernel, a->ndim);
    int64_t pixels = extent_of(a->in, a->ndim), depth = a->channels / a->groups, each = a->features / a->groups;
    for (int64_t n = 0; n < a->batch * places * taps; n++) {
        int64_t image = n / (places * taps), place = n / taps % places, tap = n % taps, pixel = 0, row = 1;
        bool inside = true;
        for (int64_t k = a->ndim - 1, p = place, t = tap; k >= 0; p /= a->out[k], t /= a->kernel[k], k--) {
            int64_t at = p % a->out[k] * a->stride[k] - a->low[k] + t % a->kernel[k] * a->dilation[k];
            inside = inside && at >= 0 && at < a->in[k];
            pixel += at * row;
            row *= a->in[k];
        }
        for (int64_t f = 0; inside && f < a->features; f++) {
            for (int64_t c = 0; c < depth; c++) {
                int64_t i = (image * pixels + pixel) * a->channels + f / each * depth + c;
                int64_t j = (tap * depth + c) * a->features + f, o = (image * places + place) * a->features + f;
                if (kind == NEAP_CONVOLUTION_FORWARD)
                    out[o] += (double)x[i] * w[j];
                else if (kind == NEAP_CONVOLUTION_INPUT)
                    out[i] += (double)y[o] * w[j];
                else
                    out[j] += (double)x[i] * y[o];
            }
        }
    }
}

typedef struct job {
    neap_convolution args;
    neap_convolution_kind kind;
    engine_conv_kept *kept;
    int status;
} job;

static int convolve(void *arg, const neap_run *run) {
    job *j = arg;
    j->status = engine_conv(run, j->kind, &j->args, j->kept);
    return 0;
}

/* The result, which replaces what stands in it. */
static void compute(job *j, float *result, int64_t size) {
    for (int64_t k = 0; k < size; k++)
        result[k] = NAN;
    neap_push push = {.name = "conv"};
    CHECK_EQ(neap_push_sync(convolve, j, &push), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(j->status, NEAP_OK);
}

/* Calls at once that share what they keep, of which one copies the kernel; then one that finds the copy. All have the
 * bits of calls that keep nothing. */
static void check_kept(const job *like, const float *result, int64_t size) {
    enum { CALLS = 5 };
    engine_conv_kept *kept = engine_conv_keep(like->kind, &like->args);
    job jobs[CALLS];
    float *results[CALLS];
    neap_push push = {.name = "conv"};
    for (int k = 0; k < CALLS; k++) {
        results[k] = malloc((size_t)size * sizeof(float));
        jobs[k] = *like;
        jobs[k].kept = kept;
        *(like->kind == NEAP_CONVOLUTION_FORWARD ? &jobs[k].args.y : &jobs[k].args.x) = results[k];
        CHECK_EQ(neap_push_sync(convolve, &jobs[k], &push), NEAP_OK);
        if (k == CALLS - 2)
            CHECK_EQ(neap_wait_all(), NEAP_OK);
    }
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    for (int k = 0; k < CALLS; k++) {
        CHECK_EQ(jobs[k].status, NEAP_OK);
        CHECK(memcmp(results[k], result, (size_t)size * sizeof(float)) == 0);
        free(results[k]);
    }
    if (kept) {
        CHECK(engine_conv_kept_bytes(kept) > 0);
        engine_conv_kept_free(kept);
    }
}

static void check_case(const neap_convolution *given, neap_convolution_kind kind, int workers, float **first) {
    job j = {.args = *given, .kind = kind};
    neap_convolution *a = &j.args;
    for (int k = 0; k < a->ndim; k++) {
        a->stride[k] = a->stride[k] ? a->stride[k] : 1;
        a->dilation[k] = a->dilation[k] ? a->dilation[k] : 1;
        int64_t window = (a->kernel[k] - 1) * a->dilation[k] + 1;
        a->out[k] = (a->in[k] + a->low[k] + a->high[k] - window) / a->stride[k] + 1;
    }
    int64_t sizes[] = {a->batch * extent_of(a->out, a->ndim) * a->features,
                       a->batch * extent_of(a->in, a->ndim) * a->channels,
                       extent_of(a->kernel, a->ndim) * a->channels / a->groups * a->features};
    float *y = new_values(sizes[0], 1), *x = new_values(sizes[1], 2), *w = new_values(sizes[2], 3);
    a->x = x, a->w = w, a->y = y;
    int64_t size = sizes[kind];
    float *result = kind == NEAP_CONVOLUTION_FORWARD ? y : kind == NEAP_CONVOLUTION_INPUT ? x : w;
    double *expected = calloc((size_t)size, sizeof *expected);
    add_up(kind, a, expected);
    for (int plainly = 0; plainly < 2; plainly++) {
        engine_conv_plainly(plainly);
        compute(&j, result, size);
        int64_t wrong = 0;
        for (int64_t k = 0; k < size; k++)
            wrong += !(fabs(result[k] - expected[k]) <= 1e-3 + 1e-5 * fabs(expected[k]));
        CHECK_EQ(wrong, 0);
        if (!first[plainly]) {
            first[plainly] = malloc((size_t)size * sizeof(float));
            memcpy(first[plainly], result, (size_t)size * sizeof(float));
        }
        if (!CHECK(memcmp(first[plainly], result, (size_t)size * sizeof(float)) == 0))
            fprintf(stderr, "kind %d, %d workers, %s\n", (int)kind, workers, plainly ? "products" : "library");
        if (kind != NEAP_CONVOLUTION_KERNEL)
            check_kept(&j, result, size);
    }
    free(x), free(y), free(w), free(expected);
}

int main(void) {
    enum { CASE_COUNT = sizeof CASES / sizeof *CASES };
    float *first[CASE_COUNT][3][2] = {{{NULL}}};
    CHECK(strlen(engine_conv_library()) > 0);
    for (int workers = 1; workers <= 4; workers += check_times(1, 3)) {
        neap_engine_config config = {.workers = workers};
        CHECK_EQ(neap_engine_start(&config), NEAP_OK);
        for (int k = 0; k < CASE_COUNT; k++) {
            for (int kind = 0; kind < 3; kind++)
                check_case(&CASES[k], (neap_convolution_kind)kind, workers, first[k][kind]);
        }
        neap_engine_stop();
    }
    for (int k = 0; k < CASE_COUNT * 6; k++)
        free(((float **)first)[k]);
    return check_end();
}
