/* contexts.c: several user threads, each with a context of its own, over one engine: on each thread its prints and its
 * callbacks happen in the order of its program, while those of the others come between them; orders of kinds belong to
 * a context.
 */
#include "effects/effects.h"
#include "lazy/lazy.h"
#include "ops_gen.h"
#include "tests/check.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#if NEAP_SANITIZED
enum { TURNS = 60 };
#else
enum { TURNS = 1000 };
#endif
enum { THREADS = 4, WIDE = 20000 };

typedef struct user { /* a thread and what it has */
    int number, stream, own, bad;
    pthread_t thread;
    neap_ctx *ctx;
    char path[64];
} user;

static int shared; /* a stream to which all of them write */

/* Calls the callbacks whose turn has come: each writes a line with the value that it gets. */
static void serve(user *u) {
    int32_t dropped[8];
    while (neap_effects_requested(neap_ctx_effects(u->ctx))) {
        neap_taken taken;
        double value = 0;
        int32_t dtype;
        char line[64];
        u->bad += neap_callback_take(u->ctx, &taken) < 0;
        if (!taken.callee)
            continue;
        u->bad += neap_array_item(u->ctx, taken.args[0], &value, &dtype) != NEAP_OK;
        int length = snprintf(line, sizeof line, "%g\n", value);
        u->bad += neap_out_write(u->stream, line, (size_t)length) != NEAP_OK;
        u->bad += neap_callback_end(u->ctx, NEAP_OK, NULL) != NEAP_OK;
        neap_release(u->ctx, taken.n, taken.args);
    }
    while (neap_callback_dropped(u->ctx, 8, dropped) == 8)
        continue;
}

/* An array of one element, the number of the turn; of some turns it takes longer to compute. */
static int32_t value_of(user *u, int turn) {
    int64_t n = turn % 10 == 0 ? WIDE : 1;
    float *data = NULL;
    int32_t x = 0, y = 0;
    u->bad += neap_array_empty(u->ctx, NEAP_DTYPE_F32, 1, &n, (void **)&data, &x) < 0;
    for (int64_t k = 0; k < n && data; k++)
        data[k] = k == 0 ? (float)turn : 0;
    u->bad += neap_op(u->ctx, LAZY_OP_sum, 1, &x, 2, (int64_t[]){1, 0}, &y) < 0;
    neap_release(u->ctx, 1, &x);
    return y;
}

/* A line with the number, as a print or as a callback. */
static void tell(user *u, int stream, int kind, int turn, bool called) {
    int32_t x = value_of(u, turn);
    neap_piece pieces[] = {{.text = "%.0f", .bytes = 4, .id = x}, {.text = "\n", .bytes = 1}};
    neap_callback how = {.callee = turn, .kind = kind, .name = "here", .site = "there"};
    u->bad += called ? neap_callback_push(u->ctx, &how, 1, &x, NULL) < 0
                     : neap_print(u->ctx, &(neap_emit){.kind = kind, .stream = stream}, 2, pieces) < 0;
    neap_release(u->ctx, 1, &x);
}

static void *run_user(void *arg) {
    user *u = arg;
    int kind = neap_effect_declare("user");
    CHECK_EQ(neap_ctx_new(&u->ctx), 0);
    neap_effects *effects = neap_ctx_effects(u->ctx);
    if (u->number == 0)
        u->bad += neap_effects_order(effects, kind, 1) != NEAP_OK;
    for (int turn = 1; turn <= TURNS; turn++) {
        tell(u, u->stream, turn % 3 ? NEAP_EFFECT_PRINT : NEAP_EFFECT_WRITE, turn, turn % 7 == 0);
        if (turn % 50 == 0)
            serve(u);
    }
    u->own = neap_effects_own(effects, kind);
    tell(u, shared, NEAP_EFFECT_LOG, 1000000 + u->number, false);
    for (int status = NEAP_PENDING; status == NEAP_PENDING;) {
        serve(u);
        if ((status = neap_effects_poll(effects, neap_ctx_waker(u->ctx))) == NEAP_PENDING)
            neap_waker_sleep(neap_ctx_waker(u->ctx), 100);
        neap_waker_clear(neap_ctx_waker(u->ctx));
        u->bad += status < 0;
    }
    neap_ctx_free(u->ctx);
    return NULL;
}

/* How many lines a file has, and whether they are the numbers from 1 on, or (first > 0) others in any order. */
static int count_lines(const char *path, int first, int *sum) {
    char line[64];
    int n = 0;
    FILE *file = fopen(path, "r");
    for (*sum = 0; file && fgets(line, sizeof line, file); n++)
        *sum += first ? atoi(line) - first : atoi(line) != n + 1;
    if (file)
        fclose(file);
    return n;
}

static void open_file(char *path, size_t bytes, int *stream) {
    snprintf(path, bytes, "%s/neap-contexts-XXXXXX", P_tmpdir);
    close(mkstemp(path));
    CHECK_EQ(neap_out_open(path, 0, stream), NEAP_OK);
}

static void run_users(void) {
    user users[THREADS] = {{0}};
    char path[64];
    int sum;
    open_file(path, sizeof path, &shared);
    for (int k = 0; k < THREADS; k++) {
        users[k].number = k;
        open_file(users[k].path, sizeof users[k].path, &users[k].stream);
        CHECK_EQ(pthread_create(&users[k].thread, NULL, run_user, &users[k]), 0);
    }
    for (int k = 0; k < THREADS; k++)
        pthread_join(users[k].thread, NULL);
    neap_out_drain();
    for (int k = 0; k < THREADS; k++) {
        CHECK_EQ(users[k].bad, 0);
        CHECK_EQ(users[k].own, k == 0);
        CHECK_EQ(count_lines(users[k].path, 0, &sum), TURNS);
        CHECK_EQ(sum, 0); /* numbers out of their order */
        neap_out_close(users[k].stream);
        unlink(users[k].path);
    }
    CHECK_EQ(count_lines(path, 1000000, &sum), THREADS); /* one line of each, none torn */
    CHECK_EQ(sum, THREADS * (THREADS - 1) / 2);
    neap_out_close(shared);
    unlink(path);
}

int main(void) {
    for (int scheduler = NEAP_SCHEDULER_POOL; scheduler <= NEAP_SCHEDULER_DEVICE; scheduler++) {
        CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 3, .scheduler = scheduler}), NEAP_OK);
        run_users();
        neap_engine_stop();
    }
    return check_end();
}
