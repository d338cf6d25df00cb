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

typedef struct put_job {
    const vm_put *put;
    lazy_find find;
    lazy_put move;
    int64_t row_bytes, ranges, tasks; /* ranges of one outer o */
} put_job;

/* Rows low … high-1 of outer o. */
static void put_range(const put_job *job, int64_t o, int64_t low, int64_t high) {
    const vm_put *put = job->put;
    int64_t row = job->row_bytes, index_bytes = neap_dtype_bytes(put->index_dtype);
    char *out = (char *)put->out + (o * put->size + low) * row;
    const char *updates = (const char *)put->updates + o * put->n * row;
    lazy_places places;
    for (int64_t k = 0, n; k < put->n; k += n) {
        n = put->n - k < LAZY_PLACES ? put->n - k : LAZY_PLACES;
        const char *indices = (const char *)put->indices + k * index_bytes;
        int64_t found = job->find(&places, indices, n, put->size, low, high);
        job->move(out, updates + k * row, &places, found, put->inner);
    }
}

static void put_task(void *arg, int64_t task, const neap_run *run) {
    const put_job *job = arg;
    int64_t size = job->put->size, all = job->put->outer * job->ranges;
    (void)run;
    for (int64_t k = all * task / job->tasks; k < all * (task + 1) / job->tasks; k++) {
        int64_t range = k % job->ranges;
        put_range(job, k / job->ranges, size * range / job->ranges, size * (range + 1) / job->ranges);
    }
}

/* Estimated ns on one core. */
static double put_work(const vm_put *put, int64_t row_bytes) {
    return (double)put->outer * (double)put->n * (1 + 0.1 * (double)row_bytes);
}

void vm_put_rows(const vm_put *put, const neap_run *run) {
    const lazy_scatter *scatter = vm_simd()->scatter;
    int width = neap_dtype_bytes(put->dtype);
    put_job job = {.put = put, .find = scatter->find[put->index_dtype], .row_bytes = put->inner * width};
    job.move = scatter->put[put->how][put->dtype];
    if (put->outer * put->size * put->inner == 0)
        return;
    bool small = put_work(put, job.row_bytes) < (double)vm_limit.parallel_min;
    if (small && put->size <= RANGE_MOST) {
        for (int64_t o = 0; o < put->outer; o++)
            put_range(&job, o, 0, put->size);
        return;
    }
    int workers = run ? neap_engine_workers() : 1;
    bool alone = put->outer == 1 && job.row_bytes <= SHORT_ROW && workers <= FEW_WORKERS;
    job.tasks = small || alone || workers <= 1 ? 1 : workers;
    if (job.tasks > 1 && (job.row_bytes >= LONG_ROW || put->outer > workers))
        job.tasks *= RANGES_A_WORKER;
    job.ranges = (job.tasks + put->outer - 1) / put->outer;
    if (job.ranges < put->size / RANGE_MOST + 1)
        job.ranges = put->size / RANGE_MOST + 1;
    if (job.ranges > put->size)
        job.ranges = put->size;
    if (job.tasks > put->outer * job.ranges)
        job.tasks = put->outer * job.ranges;
    if (job.tasks > 1)
        neap_parallel_for(run, job.tasks, put_task, &job);
    else
        put_task(&job, 0, run);
}
