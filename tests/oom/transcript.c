/* transcript.c (not under tsan): a program is recorded for every size while one allocation fails: the first, the
 * second, … until none is left to fail; the same where it is made for another size. What comes out is the right
 * program, or an error. Nothing is left open, and the next recording is as any.
 *
 * A caller stops at the first failure, or makes the call that failed again, as Lua's callers do. Then a call may be
 * done that nobody has noted: that recording is refused at its end.
 */
#include <fcntl.h>
#include <unistd.h>

#include "lazy/graph/graph.h"
#include "lazy/sizes.h"
#include "ops_gen.h"
#include "tests/check.h"
#include "tests/oom/failing.h"

typedef struct recording {
    neap_ctx *ctx;
    bool repeats; /* a call that found no memory */
    int status;   /* of the first call that failed; later ones are not made */
} recording;

/* Makes a call, unless one has failed. */
#define ASK(r, call)                                                                                                   \
    do {                                                                                                               \
        if ((r)->status == 0)                                                                                          \
            (r)->status = (call);                                                                                      \
        if ((r)->status == NEAP_E_MEMORY && (r)->repeats) {                                                            \
            (r)->repeats = false; /* one allocation fails */                                                           \
            (r)->status = (call);                                                                                      \
        }                                                                                                              \
        if ((r)->status == NEAP_SAFEPOINT) {                                                                           \
            neap_safepoint((r)->ctx);                                                                                  \
            (r)->status = 0;                                                                                           \
        }                                                                                                              \
    } while (0)

static int32_t op(recording *r, int number, int n, const int32_t *in, int nattrs, const int64_t *attrs) {
    int32_t id = 0;
    ASK(r, neap_op(r->ctx, number, n, in, nattrs, attrs, &id));
    return id;
}

/* An op without operands, or with one, whose attribute `at` is a size. */
static int32_t sized(recording *r, int number, int32_t in, int at, const neap_size *n, int nattrs, int64_t *attrs) {
    attrs[at] = (int64_t)n->now;
    ASK(r, neap_size_next(r->ctx, at, n));
    return op(r, number, in != 0, &in, nattrs, attrs);
}

static int quick(neap_ctx *ctx, int32_t x, const neap_size *n, int32_t *out) {
    neap_quick_number(ctx, LAZY_OP_multiply, &(neap_handle){._id = x}, n->now, 0);
    return neap_quick_outcome(ctx, out);
}

static int32_t times(recording *r, int32_t x, const neap_size *n) {
    int32_t id = 0;
    ASK(r, neap_size_next(r->ctx, NEAP_SIZE_NUMBER, n));
    ASK(r, quick(r->ctx, x, n, &id));
    return id;
}

static int32_t sum(recording *r, int32_t x, int64_t axes) {
    return op(r, LAZY_OP_sum, 1, &x, 2, (int64_t[]){axes, 0});
}

/* The gradient of the sum of n · x²: 2n · x. */
static int32_t slope(recording *r, int32_t x, const neap_size *n) {
    int level = -1;
    int32_t alias = 0, gradient = 0;
    ASK(r, neap_tape_begin(r->ctx, &level));
    ASK(r, neap_tape_alias(r->ctx, level, x, &alias));
    int32_t loss = sum(r, times(r, op(r, LAZY_OP_multiply, 2, (int32_t[]){alias, alias}, 0, NULL), n), 1);
    ASK(r, neap_tape_gradient(r->ctx, level, 1, &loss, NULL, 1, &alias, &gradient));
    ASK(r, neap_level_end(r->ctx, level));
    return gradient;
}

static void print(recording *r, int32_t x) {
    neap_piece pieces[] = {{.text = "x ", .bytes = 2}, {.id = x}};
    ASK(r, neap_print(r->ctx, &(neap_emit){.stream = NEAP_STDOUT}, 2, pieces));
}

/* Of x, n elements, for odd n: the sum of n · x + (0, 1, …), of one axis, and 3n · x. Prints the sum. */
static void record_program(recording *r, const neap_size *declared, neap_program **out) {
    int level = -1, odd = 0;
    int32_t x = 0;
    neap_size n[NEAP_MAX_DIMS] = {{0}}, rest = {0};
    ASK(r, neap_trace_begin(r->ctx, NEAP_TRACE_OPEN, &level));
    ASK(r, neap_size_next(r->ctx, 0, declared));
    ASK(r, neap_trace_input(r->ctx, level, NEAP_DTYPE_F32, 0, -1, 0, 1, (int64_t[]){(int64_t)declared->now}, &x));
    ASK(r, neap_size_extents(r->ctx, x, n) == 1 ? 0 : neap_error_code());
    ASK(r, neap_size_compute(r->ctx, NEAP_SIZE_MOD, n, &(neap_size){.now = 2}, &rest));
    ASK(r, neap_size_compare(r->ctx, NEAP_SIZE_EQUAL, &rest, &(neap_size){.now = 1}, "transcript:1", &odd));
    int32_t y = odd ? times(r, x, n) : x;
    int32_t row = sized(r, LAZY_OP_reshape, y, 1, n, 2, (int64_t[]){1, 0});
    int32_t count = sized(r, LAZY_OP_iota, 0, 0, n, 2, (int64_t[]){0, NEAP_DTYPE_F32});
    int32_t total = sum(r, op(r, LAZY_OP_add, 2, (int32_t[]){row, count}, 0, NULL), 2);
    int32_t both = op(r, LAZY_OP_add, 2, (int32_t[]){y, slope(r, x, n)}, 0, NULL);
    print(r, total);
    ASK(r, neap_trace_end(r->ctx, level, 2, (int32_t[]){total, both}, out));
    if (r->status && level >= 0)
        neap_level_end(r->ctx, level);
}

static uint64_t count_effects(neap_program *program) {
    neap_program_info info;
    neap_program_info_get(program, &info);
    return info.effects;
}

static neap_transcript *record(recording *r) {
    neap_transcript *t = NULL;
    neap_program *program = NULL;
    neap_size n = {0};
    ASK(r, neap_transcript_begin(r->ctx));
    bool open = r->status == 0;
    ASK(r, neap_transcript_declare(r->ctx, "n", 5, &n));
    if (open)
        record_program(r, &n, &program);
    int status = open ? neap_transcript_end(r->ctx, r->status == 0, &t) : 0;
    r->status = r->status ? r->status : status;
    if (r->status == 0)
        CHECK_EQ(count_effects(program), 1);
    neap_program_free(program);
    return t;
}

static double item(neap_ctx *ctx, int32_t id) {
    double value = 0;
    int32_t dtype;
    int status;
    while ((status = neap_array_item(ctx, id, &value, &dtype)) == NEAP_PENDING)
        if (neap_engine_help(100000) == 0)
            neap_waker_sleep(neap_ctx_waker(ctx), 2);
    CHECK_EQ(status, 0);
    return value;
}

static void check_program(neap_ctx *ctx, neap_program *program, int n) {
    recording r = {.ctx = ctx};
    float values[16];
    double total = 0;
    int32_t x = 0, out[2] = {0};
    for (int k = 0; k < n; k++)
        total += values[k] = (float)(k + 1);
    ASK(&r, neap_array_new(ctx, NEAP_DTYPE_F32, 1, (int64_t[]){n}, values, &x));
    ASK(&r, neap_program_run(ctx, program, 1, &x, out));
    int32_t both = sum(&r, out[1], 1);
    CHECK_EQ(count_effects(program), 1);
    if (CHECK_EQ(r.status, 0)) {
        CHECK_EQ(item(ctx, out[0]), n * total + n * (n - 1) / 2);
        CHECK_EQ(item(ctx, both), 3 * n * total);
    }
}

/* The program for n, with allocation `fails` failing (0: none); returns whether it did. */
static bool play(neap_ctx *ctx, neap_transcript *t, int n, long fails) {
    neap_program *program = NULL;
    failing_start(fails);
    int status = neap_transcript_play(ctx, t, 1, (double[]){n}, &program);
    bool failed = fails && failing_stop() == 0;
    if (n % 2 == 0)
        CHECK_EQ(status, failed && status == NEAP_E_MEMORY ? status : NEAP_E_SHAPE);
    else if (status == 0)
        check_program(ctx, program, n);
    else
        CHECK(failed && strstr(neap_error_text(), "memory"));
    neap_program_free(program);
    return failed;
}

/* Nothing is open; all arrays go. */
static void clear(neap_ctx *ctx) {
    int32_t n;
    const int32_t *ids = neap_handles(ctx, &n);
    for (int32_t k = 0; k < n; k++)
        if (ids[k])
            CHECK_EQ(neap_release(ctx, 1, (int32_t[]){ids[k]}), 0);
    CHECK_EQ(ctx->levels.n, 0);
    CHECK(!ctx->transcript);
}

static void check_transcript(neap_ctx *ctx, neap_transcript *t) {
    play(ctx, t, 7, 0);
    play(ctx, t, 3, 0);
    play(ctx, t, 6, 0);
    neap_transcript_free(t);
    clear(ctx);
}

static void check_recordings(neap_ctx *ctx, bool repeats) {
    int made = 0, refused = 0;
    bool failed = true;
    for (long fails = 1; failed; fails++) {
        recording r = {.ctx = ctx, .repeats = repeats}, next = {.ctx = ctx};
        failing_start(fails);
        neap_transcript *t = record(&r);
        failed = failing_stop() == 0;
        made += failed && r.status == 0;
        refused += r.status == NEAP_E_STATE;
        if (r.status == 0)
            check_transcript(ctx, t);
        else
            CHECK(failed && !t && (r.status == NEAP_E_MEMORY || r.status == NEAP_E_STATE));
        clear(ctx);
        t = record(&next);
        if (!CHECK_EQ(next.status, 0))
            return;
        check_transcript(ctx, t);
    }
    fprintf(stderr, "%d made, %d refused\n", made, refused);
    CHECK(!repeats || (made > 10 && refused > 10));
}

static void check_plays(neap_ctx *ctx) {
    recording r = {.ctx = ctx};
    neap_transcript *t = record(&r);
    for (int n = 6; n < 8; n++)
        for (long fails = 1; play(ctx, t, n, fails); fails++)
            clear(ctx);
    check_transcript(ctx, t);
}

int main(void) {
    neap_ctx *ctx;
    int null = open("/dev/null", O_WRONLY);
    dup2(null, 1); /* for what the program prints */
    CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 1, .devices = 1}), 0);
    CHECK_EQ(neap_ctx_new(&ctx), 0);
    check_recordings(ctx, false);
    check_recordings(ctx, true);
    check_plays(ctx);
    neap_effects_drain(neap_ctx_effects(ctx));
    neap_ctx_free(ctx);
    neap_wait_all();
    neap_out_drain();
    neap_engine_stop();
    close(null);
    return check_end();
}
