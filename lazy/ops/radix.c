/* radix.c: sorting by unsigned keys (radix.h). */
#include "lazy/ops/radix.h"

#include <stdbool.h>
#include <string.h>

#include "engine/device.h"

enum {
    FEW = 24,       /* elements that are sorted by insertion */
    MOST_BITS = 11, /* of a digit */
    CHUNK = 1 << 15 /* elements that are worth a task */
};

/* A digit: (key - low) >> shift, from 0 to buckets - 1. */
typedef struct radix_digit {
    uint64_t low;
    int shift, buckets;
} radix_digit;

static int radix_bit_length(uint64_t value) {
    return value ? 64 - __builtin_clzll(value) : 0;
}

/* The highest digit of keys from low to high, of about as many buckets as there are elements. */
static radix_digit digit_of(uint64_t low, uint64_t high, int64_t n) {
    int bits = radix_bit_length(high - low), own = radix_bit_length((uint64_t)n);
    own = own < MOST_BITS ? own : MOST_BITS;
    radix_digit digit = {.low = low, .shift = bits > own ? bits - own : 0};
    digit.buckets = (int)((high - low) >> digit.shift) + 1;
    return digit;
}

/* Counts become the places where buckets begin. Returns the greatest. */
static uint32_t radix_add_up(uint32_t *counts, int buckets) {
    uint32_t at = 0, most = 0;
    for (int k = 0; k < buckets; k++) {
        const uint32_t count = counts[k];
        most = count > most ? count : most;
        counts[k] = at;
        at += count;
    }
    return most;
}

#define NAME(x) keys32_##x
#define E uint32_t
#define KEY(e) ((uint64_t)(e))
#include "lazy/ops/radix_of.h"

#define NAME(x) keys64_##x
#define E uint64_t
#define KEY(e) (e)
#include "lazy/ops/radix_of.h"

#define NAME(x) pair32_##x
#define E uint64_t
#define KEY(e) ((e) >> 32)
#include "lazy/ops/radix_of.h"

#define NAME(x) pair64_##x
#define E lazy_pair
#define KEY(e) ((e).key)
#include "lazy/ops/radix_of.h"

typedef struct radix_functions {
    int bytes;
    int width; /* of elements that are numbers, which all of their bits order: a row of lazy_sorts; -1 without */
    void (*range)(const void *data, int64_t n, uint64_t *low, uint64_t *high);
    void (*count)(const void *data, int64_t n, radix_digit digit, uint32_t *counts);
    void (*deal)(void *to, const void *data, int64_t n, radix_digit digit, uint32_t *places);
    void (*sort)(void *from, void *to, int64_t n, bool cross);
} radix_functions;

static const radix_functions functions[] = {
    [RADIX_KEYS32] = {sizeof(uint32_t), 0, keys32_range, keys32_count, keys32_deal, keys32_sort},
    [RADIX_KEYS64] = {sizeof(uint64_t), 1, keys64_range, keys64_count, keys64_deal, keys64_sort},
    [RADIX_PAIR32] = {sizeof(uint64_t), 1, pair32_range, pair32_count, pair32_deal, pair32_sort},
    [RADIX_PAIR64] = {sizeof(lazy_pair), -1, pair64_range, pair64_count, pair64_deal, pair64_sort},
};

int radix_bytes(radix_form form) {
    return functions[form].bytes;
}

/* Whether the instruction set sorts them by itself. Pairs of 8 bytes are all different, so their order is stable. */
static bool radix_is_fast(const radix_functions *f) {
    return f->width >= 0 && vm_simd()->sorts->keys[f->width];
}

void radix_sort(radix_form form, void *data, void *spare, int64_t n) {
    const radix_functions *f = &functions[form];
    if (!radix_is_fast(f) || !vm_simd()->sorts->keys[f->width](data, spare, n))
        f->sort(data, spare, n, false);
}

/* ---- By all workers ---------------------------------------------------------------------------------------------- */
typedef struct radix_chunk { /* a part of the elements, and how many of it, then where they go, by bucket */
    uint64_t low, high;
    uint32_t places[1 << MOST_BITS];
} radix_chunk;

typedef struct radix_job {
    const radix_functions *f;
    radix_form form;
    char *data, *spare;
    int64_t n, chunks;
    radix_digit digit;
    radix_chunk *chunk;
    int64_t tasks;
    uint32_t *ends, *tasks_end; /* of each bucket, in elements; of each task, in buckets */
} radix_job;

static int64_t chunk_start(const radix_job *j, int64_t chunk) {
    return j->n / j->chunks * chunk + (chunk < j->n % j->chunks ? chunk : j->n % j->chunks);
}

static void radix_find_range(void *arg, int64_t k, const neap_run *run) {
    const radix_job *j = arg;
    int64_t first = chunk_start(j, k);
    (void)run;
    j->f->range(j->data + first * j->f->bytes, chunk_start(j, k + 1) - first, &j->chunk[k].low, &j->chunk[k].high);
}

static void radix_count(void *arg, int64_t k, const neap_run *run) {
    const radix_job *j = arg;
    int64_t first = chunk_start(j, k);
    (void)run;
    memset(j->chunk[k].places, 0, (size_t)j->digit.buckets * sizeof *j->chunk[k].places);
    j->f->count(j->data + first * j->f->bytes, chunk_start(j, k + 1) - first, j->digit, j->chunk[k].places);
}

static void radix_deal(void *arg, int64_t k, const neap_run *run) {
    const radix_job *j = arg;
    int64_t first = chunk_start(j, k);
    (void)run;
    j->f->deal(j->spare, j->data + first * j->f->bytes, chunk_start(j, k + 1) - first, j->digit, j->chunk[k].places);
}

static void radix_sort_buckets(void *arg, int64_t task, const neap_run *run) {
    const radix_job *j = arg;
    (void)run;
    for (uint32_t k = task ? j->tasks_end[task - 1] : 0; k < j->tasks_end[task]; k++) {
        int64_t first = k ? j->ends[k - 1] : 0, at = first * j->f->bytes;
        const bool fast = radix_is_fast(j->f);
        if (j->digit.shift > 0 && !fast) {
            j->f->sort(j->spare + at, j->data + at, j->ends[k] - first, true);
            continue;
        }
        memcpy(j->data + at, j->spare + at, (size_t)(j->ends[k] - first) * (size_t)j->f->bytes);
        if (j->digit.shift > 0)
            radix_sort(j->form, j->data + at, j->spare + at, j->ends[k] - first);
    }
}

/* Counts become places; the buckets become tasks of about one chunk each. */
static void radix_place(radix_job *j) {
    uint32_t at = 0, begun = 0;
    for (int k = 0; k < j->digit.buckets; k++) {
        for (int64_t c = 0; c < j->chunks; c++) {
            uint32_t count = j->chunk[c].places[k];
            j->chunk[c].places[k] = at;
            at += count;
        }
        j->ends[k] = at;
        if (at - begun >= CHUNK || k + 1 == j->digit.buckets) {
            j->tasks_end[j->tasks++] = (uint32_t)k + 1;
            begun = at;
        }
    }
}

int radix_sort_parallel(const neap_run *run, radix_form form, void *data, void *spare, int64_t n) {
    int64_t chunks = n / CHUNK, most = 4 * (int64_t)neap_engine_workers();
    radix_job j = {.f = &functions[form],
                   .form = form,
                   .data = data,
                   .spare = spare,
                   .n = n,
                   .chunks = chunks < most ? chunks : most};
    if (chunks < 2 || (neap_engine_workers() < 2 && radix_is_fast(j.f))) {
        radix_sort(form, data, spare, n);
        return NEAP_OK;
    }
    size_t bytes = (size_t)j.chunks * sizeof(radix_chunk) + 2 * (sizeof *j.ends << MOST_BITS);
    void *room;
    int status = neap_run_alloc(run, bytes, &room);
    if (status)
        return status;
    j.chunk = room;
    j.ends = (uint32_t *)(j.chunk + j.chunks);
    j.tasks_end = j.ends + (1 << MOST_BITS);
    neap_parallel_for(run, j.chunks, radix_find_range, &j);
    uint64_t low = j.chunk[0].low, high = j.chunk[0].high;
    for (int64_t k = 1; k < j.chunks && !neap_run_cancelled(run); k++) {
        low = j.chunk[k].low < low ? j.chunk[k].low : low;
        high = j.chunk[k].high > high ? j.chunk[k].high : high;
    }
    if (low < high && !neap_run_cancelled(run)) {
        j.digit = digit_of(low, high, n);
        neap_parallel_for(run, j.chunks, radix_count, &j);
        if (!neap_run_cancelled(run)) {
            radix_place(&j);
            neap_parallel_for(run, j.chunks, radix_deal, &j);
        }
        if (!neap_run_cancelled(run))
            neap_parallel_for(run, j.tasks, radix_sort_buckets, &j);
    }
    neap_run_free(run, room, bytes);
    return NEAP_OK;
}
