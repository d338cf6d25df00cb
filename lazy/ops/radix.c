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

/* The sorts of the instruction set, if it sorts these by itself; else NULL. Asked once for each sort, as tests change
 * the set while sorts run. Pairs of 8 bytes are all different, so their order is stable. */
static const lazy_sorts *fast_sorts(const radix_functions *f) {
    const lazy_sorts *sorts = vm_simd()->sorts;
    return f->width >= 0 && sorts->keys[f->width] ? sorts : NULL;
}

/* Elements that are numbers, which lie in `spare` if they are `away`. Where the instruction set gives up they are no
 * longer in the order of their places, so pairs are sorted by these as well. */
static void sort_fast(const radix_functions *f, const lazy_sorts *sorts, void *data, void *spare, int64_t n,
                      bool away) {
    if (!sorts->keys[f->width](data, spare, n, away))
        functions[f->width ? RADIX_KEYS64 : RADIX_KEYS32].sort(data, spare, n, false);
}

static void sort_alone(const radix_functions *f, const lazy_sorts *sorts, void *data, void *spare, int64_t n) {
    if (sorts)
        sort_fast(f, sorts, data, spare, n, false);
    else
        f->sort(data, spare, n, false);
}

void radix_sort(radix_form form, void *data, void *spare, int64_t n) {
    const radix_functions *f = &functions[form];
    sort_alone(f, fast_sorts(f), data, spare, n);
}

/* ---- By all workers, in parts ------------------------------------------------------------------------------------ */
/* Of elements that the instruction set sorts: chunks are cut at the same keys, by halves, each where it lies; then the
 * pieces of each part are brought together, and sorted. */
enum { PARTS_MOST = 64, PART_SAMPLES = 32 };

typedef struct parts_piece { /* elements of a chunk, in the spare room if they are away */
    int64_t first, count;
    bool away;
} parts_piece;

typedef struct parts_work {
    const radix_functions *f;
    const lazy_sorts *sorts;
    char *data, *spare, *third;
    int64_t n, chunks;
    int parts;                         /* a power of two */
    uint64_t middles[PARTS_MOST];      /* 1: of all; 2k and 2k + 1: of what lies below and above k */
    int64_t starts[PARTS_MOST + 1];    /* of parts */
    parts_piece (*pieces)[PARTS_MOST]; /* by chunk */
} parts_work;

static uint64_t parts_key(const parts_work *j, const char *keys, int64_t k) {
    return j->f->width ? ((const uint64_t *)keys)[k] : ((const uint32_t *)keys)[k];
}

/* Keys at which to cut, from some of them: any would do, but these make parts about as long as each other. */
static void parts_choose(parts_work *j) {
    uint64_t some[PARTS_MOST * PART_SAMPLES], scratch[PARTS_MOST * PART_SAMPLES];
    const int64_t count = (int64_t)j->parts * PART_SAMPLES, apart = j->n / count;
    for (int64_t k = 0; k < count; k++)
        memcpy((char *)some + k * j->f->bytes, j->data + (k * apart + apart / 2) * j->f->bytes, (size_t)j->f->bytes);
    sort_fast(j->f, j->sorts, some, scratch, count, false);
    for (int k = 1; k < j->parts; k++) {
        const int level = 31 - __builtin_clz((unsigned)k), place = 2 * (k - (1 << level)) + 1;
        j->middles[k] = parts_key(j, (const char *)some, place * (count >> (level + 1)));
    }
}

/* n elements of a chunk, at the middle of this number and those below it. */
static void parts_cut(const parts_work *j, parts_piece *pieces, parts_piece piece, int number) {
    if (number >= j->parts) {
        pieces[number - j->parts] = piece;
        return;
    }
    const int64_t at = piece.first * j->f->bytes;
    const int64_t low =
        j->sorts->part[j->f->width](j->data + at, j->spare + at, piece.count, j->middles[number], piece.away);
    parts_cut(j, pieces, (parts_piece){piece.first, low, false}, 2 * number);
    parts_cut(j, pieces, (parts_piece){piece.first + low, piece.count - low, true}, 2 * number + 1);
}

static void parts_cut_chunk(void *arg, int64_t k, const neap_run *run) {
    const parts_work *j = arg;
    const int64_t first = j->n / j->chunks * k, end = k + 1 < j->chunks ? j->n / j->chunks * (k + 1) : j->n;
    (void)run;
    parts_cut(j, j->pieces[k], (parts_piece){first, end - first, false}, 1);
}

static void parts_gather(void *arg, int64_t part, const neap_run *run) {
    const parts_work *j = arg;
    int64_t at = j->starts[part] * j->f->bytes;
    (void)run;
    for (int64_t k = 0, bytes; k < j->chunks; k++, at += bytes) {
        const parts_piece *piece = &j->pieces[k][part];
        bytes = piece->count * j->f->bytes;
        memcpy(j->third + at, (piece->away ? j->spare : j->data) + piece->first * j->f->bytes, (size_t)bytes);
    }
}

static void parts_sort(void *arg, int64_t part, const neap_run *run) {
    const parts_work *j = arg;
    const int64_t at = j->starts[part] * j->f->bytes;
    (void)run;
    sort_fast(j->f, j->sorts, j->data + at, j->third + at, j->starts[part + 1] - j->starts[part], true);
}

static int sort_in_parts(const neap_run *run, const radix_functions *f, const lazy_sorts *sorts, void *data,
                         void *spare, int64_t n, int64_t chunks) {
    parts_work j = {.f = f, .sorts = sorts, .data = data, .spare = spare, .n = n, .chunks = chunks, .parts = 2};
    const size_t half = (size_t)n * (size_t)f->bytes, bytes = half + (size_t)chunks * sizeof *j.pieces;
    while (j.parts < 4 * neap_engine_workers() && j.parts < PARTS_MOST)
        j.parts *= 2;
    void *scratch;
    int status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    j.pieces = scratch;
    j.third = (char *)scratch + (bytes - half);
    parts_choose(&j);
    neap_parallel_for(run, chunks, parts_cut_chunk, &j);
    for (int part = 0; part < j.parts && !neap_run_cancelled(run); part++) {
        j.starts[part + 1] = j.starts[part];
        for (int64_t k = 0; k < chunks; k++)
            j.starts[part + 1] += j.pieces[k][part].count;
    }
    if (!neap_run_cancelled(run))
        neap_parallel_for(run, j.parts, parts_gather, &j);
    if (!neap_run_cancelled(run))
        neap_parallel_for(run, j.parts, parts_sort, &j);
    neap_run_free(run, scratch, bytes);
    return NEAP_OK;
}

/* ---- By all workers, in buckets ---------------------------------------------------------------------------------- */
typedef struct radix_chunk { /* a part of the elements, and how many of it, then where they go, by bucket */
    uint64_t low, high;
    uint32_t places[1 << MOST_BITS];
} radix_chunk;

typedef struct radix_work {
    const radix_functions *f;
    char *data, *spare;
    int64_t n, chunks;
    radix_digit digit;
    radix_chunk *chunk;
    int64_t tasks;
    uint32_t *ends, *tasks_end; /* of each bucket, in elements; of each task, in buckets */
} radix_work;

static int64_t chunk_start(const radix_work *j, int64_t chunk) {
    return j->n / j->chunks * chunk + (chunk < j->n % j->chunks ? chunk : j->n % j->chunks);
}

static void radix_find_range(void *arg, int64_t k, const neap_run *run) {
    const radix_work *j = arg;
    int64_t first = chunk_start(j, k);
    (void)run;
    j->f->range(j->data + first * j->f->bytes, chunk_start(j, k + 1) - first, &j->chunk[k].low, &j->chunk[k].high);
}

static void radix_count(void *arg, int64_t k, const neap_run *run) {
    const radix_work *j = arg;
    int64_t first = chunk_start(j, k);
    (void)run;
    memset(j->chunk[k].places, 0, (size_t)j->digit.buckets * sizeof *j->chunk[k].places);
    j->f->count(j->data + first * j->f->bytes, chunk_start(j, k + 1) - first, j->digit, j->chunk[k].places);
}

static void radix_deal(void *arg, int64_t k, const neap_run *run) {
    const radix_work *j = arg;
    int64_t first = chunk_start(j, k);
    (void)run;
    j->f->deal(j->spare, j->data + first * j->f->bytes, chunk_start(j, k + 1) - first, j->digit, j->chunk[k].places);
}

static void radix_sort_buckets(void *arg, int64_t task, const neap_run *run) {
    const radix_work *j = arg;
    (void)run;
    for (uint32_t k = task ? j->tasks_end[task - 1] : 0; k < j->tasks_end[task]; k++) {
        int64_t first = k ? j->ends[k - 1] : 0, at = first * j->f->bytes;
        if (j->digit.shift > 0)
            j->f->sort(j->spare + at, j->data + at, j->ends[k] - first, true);
        else
            memcpy(j->data + at, j->spare + at, (size_t)(j->ends[k] - first) * (size_t)j->f->bytes);
    }
}

/* Counts become places; the buckets become tasks of about one chunk each. */
static void radix_place(radix_work *j) {
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
    const int64_t most = 4 * (int64_t)neap_engine_workers(), chunks = n / CHUNK < most ? n / CHUNK : most;
    radix_work j = {.f = &functions[form], .data = data, .spare = spare, .n = n, .chunks = chunks};
    const lazy_sorts *sorts = fast_sorts(j.f);
    if (chunks < 2 || (neap_engine_workers() < 2 && sorts)) {
        sort_alone(j.f, sorts, data, spare, n);
        return NEAP_OK;
    }
    if (sorts)
        return sort_in_parts(run, j.f, sorts, data, spare, n, chunks);
    size_t bytes = (size_t)j.chunks * sizeof(radix_chunk) + 2 * (sizeof *j.ends << MOST_BITS);
    void *scratch;
    int status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    j.chunk = scratch;
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
    neap_run_free(run, scratch, bytes);
    return NEAP_OK;
}
