/* comm_messages.c: how many messages and bytes each rank sends for a sum: docs/scale.md and bench/scale.lua have the
 * same formulas, from which they tell what more ranks would take than can be tried here. */
#include "comm_net.h"
#include "comm_trial.h"
#include "common.h"
#include "engine/comm/internal.h"
#include "engine/engine_internal.h"

enum { SEGMENT = ENGINE_LIMIT(512 << 10, 4 << 10), TWICE = ENGINE_LIMIT(256 << 10, 8 << 10), HEADER = 224 };

/* A sum of so many f32 over all ranks, one member each. */
static void sum_over(engine_comm **comms, int ranks, int64_t elements) {
    int32_t numbers[NET_RANKS];
    uint8_t wanted[NET_RANKS * NET_RANKS] = {0};
    neap_buffer *in[NET_RANKS], *out[NET_RANKS];
    for (int k = 0; k < ranks; k++) {
        numbers[k] = k;
        wanted[k * ranks + k] = 1;
    }
    engine_comm_group group = {
        .nmembers = ranks, .nranks = ranks, .ranks = numbers, .owner = numbers, .wanted = wanted};
    engine_collective what = {.kind = ENGINE_COMM_REDUCE,
                              .group = &group,
                              .combine = add_f32,
                              .item = 4,
                              .elements = elements,
                              .what = "add of f32"};
    for (int k = 0; k < ranks; k++) {
        CHECK_EQ(neap_buffer_new(0, (size_t)elements * 4, &in[k]), 0);
        CHECK_EQ(neap_buffer_new(0, (size_t)elements * 4, &out[k]), 0);
        for (int64_t i = 0; i < elements; i++)
            ((float *)neap_buffer_data(in[k]))[i] = 1;
        CHECK_EQ(engine_comm_push(comms[k], &what, &(engine_comm_block){in[k], 0}, out[k], NULL), 0);
    }
    for (int k = 0; k < ranks; k++) {
        CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(out[k])), 0);
        CHECK_EQ((int)((float *)neap_buffer_data(out[k]))[elements - 1], ranks);
        neap_buffer_release(out[k]);
        neap_buffer_release(in[k]);
    }
    neap_wait_all();
}

/* What rank `me` sends of a sum of so many bytes. */
static void expect_sent(int ranks, int me, int64_t elements, long *sends, long *bytes) {
    int64_t all = elements * 4;
    *sends = ranks - 1;
    *bytes = HEADER * (ranks - 1);
    if (all <= COMM_FIRST - HEADER) {
        *bytes += (long)all * (ranks - 1);
        return;
    }
    if (ranks == 2 && all <= TWICE) {
        *sends += (long)((all + SEGMENT - 1) / SEGMENT);
        *bytes += (long)all;
        return;
    }
    for (int d = 0; d < ranks; d++) {
        int64_t piece = 4 * (elements * (d + 1) / ranks - elements * d / ranks);
        int64_t times = d == me ? ranks - 1 : 1; /* the result to all others, or this rank's term */
        *sends += (long)(times * ((piece + SEGMENT - 1) / SEGMENT));
        *bytes += (long)(times * piece);
    }
}

static void count_all(int ranks) {
    static const int64_t sizes[] = {1, 944, 945, 20000, 70000, 600000};
    net n;
    engine_comm *comms[NET_RANKS];
    net_start(&n, ranks, comms, 60, 60, false);
    for (int k = 0; k < ranks; k++)
        CHECK_EQ(net_met(comms[k]), 0);
    for (int i = 0; i < COUNT(sizes); i++) {
        long sends[NET_RANKS], bytes[NET_RANKS], expected_sends, expected_bytes;
        for (int k = 0; k < ranks; k++) {
            sends[k] = n.ends[k].sends;
            bytes[k] = n.ends[k].sent;
        }
        sum_over(comms, ranks, sizes[i]);
        for (int k = 0; k < ranks; k++) {
            expect_sent(ranks, k, sizes[i], &expected_sends, &expected_bytes);
            CHECK_EQ(n.ends[k].sends - sends[k], expected_sends);
            CHECK_EQ(n.ends[k].sent - bytes[k], expected_bytes);
        }
    }
    net_stop(&n, comms, NULL, NULL);
}

int main(void) {
    CHECK_EQ(sizeof(comm_header), HEADER);
    CHECK_EQ(neap_engine_start(NULL), 0);
    count_all(2);
    count_all(3);
    count_all(8);
    neap_engine_stop();
    return check_end();
}
