/* overlaps.c: random programs of joins over overlapping sets of four devices, from several threads at once, with sums
 * between them: against serial execution, and without a set that waits for ever for another one. The ranks of the
 * library that stands in for NCCL wait for each other, as its kernels do, and it aborts at groups that are mixed up. */
#include "tests/cuda/cuda.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 4, THREADS = 3, COUNT = 1 << 13, BYTES = COUNT * sizeof(int64_t), STEPS = 150 };

static int numbers[DEVICES];

typedef struct program { /* of a thread, on buffers of its own */
    uint64_t state;
    neap_buffer *from[DEVICES], *to[DEVICES];
    int64_t values[DEVICES];          /* that the sources begin with */
    int64_t joined[DEVICES][DEVICES]; /* and the parts of the targets; -1: nothing */
    add_op adds[STEPS];
    int joins, failed;
} program;

static unsigned draw(program *p, unsigned below) {
    p->state = p->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(p->state >> 33) % below;
}

static void prepare(program *p, uint64_t seed) {
    *p = (program){.state = seed};
    memset(p->joined, -1, sizeof p->joined);
    for (int k = 0; k < DEVICES; k++) {
        neap_buffer *host = new_buffer(0, COUNT);
        p->values[k] = (int64_t)(seed * 10 + (uint64_t)k) << 32;
        fill(host, p->values[k]);
        p->from[k] = new_buffer(numbers[k], COUNT);
        p->to[k] = new_buffer(numbers[k], DEVICES * COUNT);
        CHECK_EQ(neap_buffer_copy(p->from[k], host, NULL), NEAP_OK);
        neap_buffer_release(host);
    }
}

/* Some of the devices, in any order. Returns how many, at least `least`. */
static int draw_devices(program *p, int least, int *out) {
    int all[DEVICES], n = least + (int)draw(p, (unsigned)(DEVICES + 1 - least));
    for (int k = 0; k < DEVICES; k++)
        all[k] = k;
    for (int k = 0; k < n; k++) {
        int at = k + (int)draw(p, (unsigned)(DEVICES - k)), other = all[k];
        out[k] = all[k] = all[at];
        all[at] = other;
    }
    return n;
}

static void join_some(program *p) {
    int sources[DEVICES], targets[DEVICES], nsources = draw_devices(p, 1, sources), ntargets;
    neap_part parts[DEVICES];
    neap_buffer *to[DEVICES];
    ntargets = draw_devices(p, 2, targets);
    for (int k = 0; k < nsources; k++)
        parts[k] = (neap_part){p->from[sources[k]], 0, BYTES};
    for (int t = 0; t < ntargets; t++) {
        to[t] = p->to[targets[t]];
        memset(p->joined[targets[t]], -1, sizeof *p->joined);
        for (int k = 0; k < nsources; k++)
            p->joined[targets[t]][k] = p->values[sources[k]];
    }
    p->joins++;
    p->failed += neap_buffer_join(ntargets, to, nsources, parts, NULL) != NEAP_OK;
}

static void *run_program(void *arg) {
    program *p = arg;
    for (int step = 0; step < STEPS; step++) {
        unsigned at = draw(p, DEVICES), term = draw(p, 1000);
        if (draw(p, 2)) {
            join_some(p);
            continue;
        }
        p->adds[step] = (add_op){p->from[at], term, NULL};
        p->values[at] += term;
        p->failed += push_add(&p->adds[step]) != NEAP_OK;
    }
    return NULL;
}

static void check_program(program *p) {
    CHECK_EQ(p->failed, 0);
    for (int k = 0; k < DEVICES; k++) {
        neap_buffer *host = new_buffer(0, DEVICES * COUNT);
        CHECK_EQ(neap_buffer_copy(host, p->to[k], NULL), NEAP_OK);
        CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(host)), NEAP_OK);
        const int64_t *got = neap_buffer_data(host);
        size_t wrong = 0;
        for (int i = 0; i < DEVICES * COUNT && p->joined[k][i / COUNT] >= 0; i++)
            wrong += got[i] != p->joined[k][i / COUNT] + i % COUNT;
        CHECK_EQ(wrong, 0);
        neap_buffer_release(host);
        check_filled(p->from[k], p->values[k]);
        neap_buffer_release(p->from[k]);
        neap_buffer_release(p->to[k]);
    }
}

static void run_together(int scheduler, uint64_t seed) {
    static program programs[THREADS];
    pthread_t threads[THREADS];
    int joins = 0;
    start(scheduler);
    numbers[0] = gpus[0], numbers[1] = gpus[1];
    for (int k = 2; k < DEVICES; k++)
        CHECK_EQ(neap_device_open("cuda", k, &numbers[k]), NEAP_OK);
    for (int k = 0; k < THREADS; k++)
        prepare(&programs[k], seed * THREADS + (uint64_t)k);
    uint64_t before = counts().libraries;
    for (int k = 0; k < THREADS; k++)
        CHECK_EQ(pthread_create(&threads[k], NULL, run_program, &programs[k]), 0);
    for (int k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    for (int k = 0; k < THREADS; k++)
        joins += programs[k].joins;
    CHECK(joins > STEPS && counts().libraries - before >= 2 * (uint64_t)joins); /* two ranks of each, or more */
    for (int k = 0; k < THREADS; k++)
        check_program(&programs[k]);
    stop();
}

int main(void) {
    use_libraries();
    load_cuda();
    static const int schedulers[] = {NEAP_SCHEDULER_POOL, NEAP_SCHEDULER_DEVICE, NEAP_SCHEDULER_NAIVE};
    for (int k = 0; k < 3; k++)
        for (uint64_t seed = 1; seed <= (uint64_t)check_times(4, 2); seed++)
            run_together(schedulers[k], seed);
    return check_end();
}
