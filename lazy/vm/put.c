/* vm/put.c: rows of the result are cut into ranges. Whoever has a range goes through all indices, in order, and takes
 * those that lie in it; so each row takes its updates in their order, whatever the ranges. What a range costs besides
 * its rows is a look at each index, a fraction of what a row takes: there are as many ranges as workers where a row is
 * short, and more where it is long, to balance rows that are named often. Where rows are shortest that look is most of
 * the work, and a few workers are no faster than one.
 */
#include "lazy/vm/vm.h"

enum {
    SHORT_ROW = 64, /* bytes; one task for FEW_WORKERS */
    FEW_WORKERS = 3,
    LONG_ROW = 256,      /* bytes */
    RANGES_A_WORKER = 4, /* of long rows */
    RANGE_MOST = 1 << 30 /* rows that lazy_places can number */
};

typedef struct put_work {
    const vm_put *put;
    lazy_find find;
    lazy_put move;
    int64_t row_bytes, ranges, tasks; /* ranges of one outer o */
} put_work;

/* Rows low … high-1 of outer o. */
static void put_range(const put_work *work, int64_t o, int64_t low, int64_t high) {
    const vm_put *put = work->put;
    int64_t row = work->row_bytes, index_bytes = neap_dtype_bytes(put->index_dtype);
    char *out = (char *)put->out + (o * put->size + low) * row;
    const char *updates = (const char *)put->updates + o * put->n * row;
    lazy_places places;
    for (int64_t k = 0, n; k < put->n; k += n) {
        n = put->n - k < LAZY_PLACES ? put->n - k : LAZY_PLACES;
        const char *indices = (const char *)put->indices + k * index_bytes;
        int64_t found = work->find(&places, indices, n, put->size, low, high);
        work->move(out, updates + k * row, &places, found, put->inner);
    }
}

static void put_task(void *arg, int64_t task, const neap_run *run) {
    const put_work *work = arg;
    int64_t size = work->put->size, all = work->put->outer * work->ranges;
    (void)run;
    for (int64_t k = all * task / work->tasks; k < all * (task + 1) / work->tasks; k++) {
        int64_t range = k % work->ranges;
        put_range(work, k / work->ranges, size * range / work->ranges, size * (range + 1) / work->ranges);
    }
}

/* Estimated ns on one core. */
static double put_cost(const vm_put *put, int64_t row_bytes) {
    return (double)put->outer * (double)put->n * (1 + 0.1 * (double)row_bytes);
}

void vm_put_rows(const vm_put *put, const neap_run *run) {
    const lazy_scatter *scatter = vm_simd()->scatter;
    int width = neap_dtype_bytes(put->dtype);
    put_work work = {.put = put, .find = scatter->find[put->index_dtype], .row_bytes = put->inner * width};
    work.move = scatter->put[put->how][put->dtype];
    if (put->outer * put->size * put->inner == 0)
        return;
    bool small = put_cost(put, work.row_bytes) < (double)vm_limit.parallel_min;
    if (small && put->size <= RANGE_MOST) {
        for (int64_t o = 0; o < put->outer; o++)
            put_range(&work, o, 0, put->size);
        return;
    }
    int workers = run ? neap_engine_workers() : 1;
    bool alone = put->outer == 1 && work.row_bytes <= SHORT_ROW && workers <= FEW_WORKERS;
    work.tasks = small || alone || workers <= 1 ? 1 : workers;
    if (work.tasks > 1 && (work.row_bytes >= LONG_ROW || put->outer > workers))
        work.tasks *= RANGES_A_WORKER;
    work.ranges = (work.tasks + put->outer - 1) / put->outer;
    if (work.ranges < put->size / RANGE_MOST + 1)
        work.ranges = put->size / RANGE_MOST + 1;
    if (work.ranges > put->size)
        work.ranges = put->size;
    if (work.tasks > put->outer * work.ranges)
        work.tasks = put->outer * work.ranges;
    if (work.tasks > 1)
        neap_parallel_for(run, work.tasks, put_task, &work);
    else
        put_task(&work, 0, run);
}
