/* memory.c: how often the pool asks the system for memory, and when it gives memory back. */
#include "engine/device_internal.h"
#include "tests/engine/common.h"

enum { MIB = 1 << 20, SLACK = 64 * MIB, LENDS = 1 << 20 };

static const int64_t SECOND = INT64_C(1000000000);

static neap_memory_stats stats(void) {
    neap_memory_stats now;
    neap_memory_get(&now);
    CHECK_EQ(now.live_bytes + now.pooled_bytes, now.reserved_bytes);
    return now;
}

/* Allocates `count` buffers, then frees them. */
static void use(int count, size_t bytes) {
    neap_buffer *held[8];
    for (int i = 0; i < count; i++)
        CHECK_EQ(neap_buffer_new(0, bytes, &held[i]), NEAP_OK);
    for (int i = 0; i < count; i++)
        neap_buffer_release(held[i]);
}

static void counters(void) {
    neap_memory_trim();
    neap_memory_reset_peak();
    neap_memory_stats before = stats();
    const uint64_t made = neap_memory_made();
    CHECK_EQ(before.reserved_bytes, 0);
    CHECK_EQ(before.peak_bytes, 0);
    neap_buffer *a, *b;
    CHECK_EQ(neap_buffer_new(0, 4 * MIB, &a), NEAP_OK);
    CHECK_EQ(neap_buffer_new(0, 4 * MIB - 5, &b), NEAP_OK); /* of the same class */
    neap_buffer_release(a);
    neap_memory_stats now = stats();
    CHECK_EQ(now.live_bytes, 4 * MIB);
    CHECK_EQ(neap_memory_live(), 4 * MIB);
    CHECK_EQ(now.peak_bytes, 8 * MIB);
    CHECK_EQ(now.reserved_bytes, 8 * MIB);
    CHECK_EQ(now.made - before.made, 2);
    CHECK_EQ(neap_memory_made() - made, 8 * MIB);
    neap_memory_reset_peak();
    CHECK_EQ(stats().peak_bytes, 4 * MIB);
    CHECK(neap_buffer_sole(b));
    neap_buffer_retain(b);
    CHECK(!neap_buffer_sole(b));
    neap_buffer_release(b);
    neap_buffer_release(b);
    CHECK_EQ(stats().peak_bytes, 4 * MIB);
    neap_memory_trim();
    now = stats();
    CHECK_EQ(now.returned - before.returned, 2);
    CHECK_EQ(now.allocations - before.allocations, 2);
    CHECK_EQ(now.reserved_bytes, 0);
}

static void *give_back(void *arg) {
    for (int i = 0; i < LENDS; i++)
        neap_buffer_return(arg);
    return NULL;
}

/* What others give back in the meantime never makes a buffer look as if it had another owner. */
static void owned_while_lent(void) {
    neap_buffer *buffer;
    pthread_t thread;
    CHECK_EQ(neap_buffer_new(0, MIB, &buffer), NEAP_OK);
    for (int i = 0; i < LENDS; i++)
        neap_buffer_lend(buffer);
    CHECK(neap_buffer_owned(buffer) && !neap_buffer_sole(buffer));
    CHECK_EQ(pthread_create(&thread, NULL, give_back, buffer), 0);
    int owned = 1;
    while (owned && !neap_buffer_sole(buffer))
        owned = neap_buffer_owned(buffer);
    pthread_join(thread, NULL);
    CHECK(owned);
    CHECK(neap_buffer_sole(buffer));
    neap_buffer_retain(buffer);
    CHECK(!neap_buffer_owned(buffer));
    neap_buffer_release(buffer);
    neap_buffer_release(buffer);
}

/* What a loop allocates again and again is got from the system once, also where its phases want different sizes. */
static void loops(void) {
    neap_memory_stats first = {0};
    for (int round = 0; round < 50; round++) {
        use(4, 40 * MIB);
        use(3, 50 * MIB);
        use(8, 100000);
        use(8, 70);
        if (round == 0)
            first = stats();
    }
    neap_memory_stats last = stats();
    CHECK_EQ(last.made, first.made);
    CHECK_EQ(last.returned, first.returned);
    CHECK_EQ(last.allocations - first.allocations, 49 * 23);
    neap_memory_trim();
}

/* Workers that find nothing to do give back what nobody needs. */
static void idle_workers(void) {
    neap_var *var = new_var();
    _Atomic int ran = 0;
    engine_memory_window(SECOND / 50);
    use(4, 64 * MIB);
    CHECK_EQ(push_on(add_one, &ran, 0, NULL, var), NEAP_OK);
    while (stats().pooled_bytes > SLACK) /* the test's time limit tells if it never comes */
        sleep_ms(1);
    CHECK_EQ(stats().pooled_bytes, SLACK);
    neap_var_delete(var);
    neap_memory_trim();
    engine_memory_window(5 * SECOND);
}

/* What lay unused for a whole window goes, but for the slack; what was used in it stays. */
static void windows(void) {
    int64_t now = engine_now() + 1000 * SECOND;
    engine_memory_tidy(&engine_cpu, now);
    use(3, 64 * MIB);
    engine_memory_tidy(&engine_cpu, now += 10 * SECOND);
    CHECK_EQ(stats().pooled_bytes, 3 * 64 * MIB); /* they were used in the window that ended here */
    use(2, 64 * MIB);
    engine_memory_tidy(&engine_cpu, now + SECOND);
    CHECK_EQ(stats().pooled_bytes, 3 * 64 * MIB); /* it has not ended yet */
    engine_memory_tidy(&engine_cpu, now += 10 * SECOND);
    CHECK_EQ(stats().pooled_bytes, 2 * 64 * MIB); /* one was not */
    neap_memory_stats before = stats();
    use(2, 64 * MIB);
    CHECK_EQ(stats().made, before.made);
    engine_memory_tidy(&engine_cpu, now += 10 * SECOND);
    CHECK_EQ(stats().pooled_bytes, 2 * 64 * MIB);
    CHECK(engine_memory_due(&engine_cpu) > 0);
    engine_memory_tidy(&engine_cpu, now + 10 * SECOND);
    CHECK_EQ(stats().pooled_bytes, SLACK);
    CHECK(engine_memory_due(&engine_cpu) < 0);
    neap_memory_trim();
}

/* A pool may hold twice what was live lately, not what was live once. */
static void bounds(void) {
    int64_t now = engine_now() + 2000 * SECOND;
    use(8, 64 * MIB);
    CHECK_EQ(stats().reserved_bytes, 8 * 64 * MIB);
    engine_memory_tidy(&engine_cpu, now);
    engine_memory_tidy(&engine_cpu, now += 10 * SECOND); /* two windows on, with nothing live */
    engine_memory_tidy(&engine_cpu, now + 10 * SECOND);
    for (int i = 0; i < 20; i++) {
        use(1, (size_t)(10 + i) * MIB);
        CHECK(stats().reserved_bytes <= 2 * 32 * MIB + SLACK);
    }
    neap_memory_trim();
}

/* Without a word about it the slack is a part of the machine's memory, or SLACK where that is more. */
static void slack(void) {
    neap_device_facts facts;
    int64_t now = engine_now() + 3000 * SECOND;
    engine_memory_slack(0);
    CHECK_EQ(neap_device_get(0, &facts), NEAP_OK);
    const uint64_t part = facts.memory_bytes / 64, most = part > SLACK ? part : SLACK;
    use(8, 4 * MIB);
    use(1, most);
    engine_memory_tidy(&engine_cpu, now);
    engine_memory_tidy(&engine_cpu, now += 10 * SECOND);
    engine_memory_tidy(&engine_cpu, now + 10 * SECOND);
    CHECK(stats().pooled_bytes <= most);
    use(8, 4 * MIB);
    engine_memory_tidy(&engine_cpu, now += 20 * SECOND);
    const uint64_t kept = stats().pooled_bytes;
    CHECK(kept >= 8 * 4 * MIB);
    engine_memory_tidy(&engine_cpu, now + 10 * SECOND);
    CHECK_EQ(stats().pooled_bytes, kept); /* less than the slack goes never */
    neap_memory_trim();
    engine_memory_slack(SLACK);
}

int main(void) {
    CHECK_EQ(neap_engine_start(&POOL), NEAP_OK);
    engine_memory_slack(SLACK);
    counters();
    owned_while_lent();
    loops();
    idle_workers();
    windows(); /* on a clock of its own, which is ahead */
    bounds();
    slack();
    neap_engine_stop();
    return check_end();
}
