/* session.c (not under tsan, starts first): a small session in which every allocation fails in turn: the first, the
 * second, … until none is left to fail. Each call succeeds or returns an error; nothing crashes, hangs or leaks (the
 * address sanitizer looks), and the same session runs to its end afterwards.
 *
 * Failures reach all rooms (failing.h); buffers and the engine's slabs, which take memory from the system in larger
 * blocks, fail by engine_alloc_fail.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine_internal.h"
#include "lazy/programs.h"
#include "mesh/mesh.h"
#include "ops_gen.h"
#include "tests/check.h"
#include "tests/oom/failing.h"

enum { NEVER = 1000000000 };
static long armed, used; /* the last start of the countdown, and how many allocations the last session made */

/* ---- The session ------------------------------------------------------------------------------------------------- */
typedef struct session {
    neap_ctx *ctx;
    neap_program *program;
    int status;    /* of the first call that failed; later ones are not made */
    int unordered; /* what prints and callbacks are */
    int32_t ids[160];
    int nids;
} session;

/* Notes how a call ended. Only memory may be short; a value whose computation found none carries that as its
 * failure. */
static int ended(session *s, int status) {
    if (status == NEAP_SAFEPOINT) {
        neap_safepoint(s->ctx);
        neap_site(s->ctx, "session", 1);
        status = NEAP_OK;
    }
    if (status < 0 && s->status == 0) {
        s->status = status;
        if (status != NEAP_E_MEMORY && !strstr(neap_error_text(), "memory")) {
            fprintf(stderr, "status %d: %s\n", status, neap_error_text());
            CHECK(!"the error is that of memory");
        }
    }
    return s->status == 0;
}

/* The id that a call has left in *id, to be released at the end. */
static int32_t kept(session *s, int status, const int32_t *id) {
    if (!ended(s, status))
        return 0;
    s->ids[s->nids++] = *id;
    return *id;
}

static int32_t op(session *s, int number, int n, const int32_t *in, int nattrs, const int64_t *attrs) {
    int32_t id = 0;
    return s->status ? 0 : kept(s, neap_op(s->ctx, number, n, in, nattrs, attrs, &id), &id);
}

static int32_t op2(session *s, int number, int32_t a, int32_t b) {
    return op(s, number, 2, (int32_t[]){a, b}, 0, NULL);
}

static int32_t scaled(session *s, int32_t a, double factor) {
    int32_t id = 0;
    if (s->status)
        return 0;
    neap_quick_number(s->ctx, LAZY_OP_multiply, &(neap_handle){._id = a}, factor, 0);
    return kept(s, neap_quick_outcome(s->ctx, &id), &id);
}

static int32_t placed(session *s, int32_t a) {
    return op(s, LAZY_OP_device_put, 1, &a, 1, (int64_t[]){0});
}

static int32_t sum(session *s, int32_t a) {
    return op(s, LAZY_OP_sum, 1, &a, 2, (int64_t[]){3, 0});
}

static void serve(neap_ctx *ctx);

/* Repeats a call while it is pending. */
#define WAIT(s, call)                                                                                                  \
    do {                                                                                                               \
        int status_ = NEAP_PENDING;                                                                                    \
        while ((s)->status == 0 && (status_ = (call)) == NEAP_PENDING)                                                 \
            if (serve((s)->ctx), neap_engine_help(100000) == 0)                                                        \
                neap_waker_sleep(neap_ctx_waker((s)->ctx), 2);                                                         \
        if ((s)->status == 0)                                                                                          \
            ended(s, status_);                                                                                         \
    } while (0)

static void expect(session *s, int32_t id, double value) {
    double got = 0;
    int32_t dtype = -1;
    WAIT(s, neap_array_item(s->ctx, id, &got, &dtype));
    if (s->status == 0)
        CHECK_EQ(got, value);
}

static int32_t square(session *s) {
    static const float values[4] = {1, 2, 3, 4};
    int32_t id = 0;
    if (s->status)
        return 0;
    return kept(s, neap_array_new(s->ctx, NEAP_DTYPE_F32, 2, (int64_t[]){2, 2}, values, &id), &id);
}

static void print(session *s, int32_t id) {
    neap_piece pieces[] = {{.text = "x ", .bytes = 2}, {.id = id}, {.text = "%.2f", .bytes = 4, .id = sum(s, id)}};
    if (s->status == 0)
        ended(s, neap_print(s->ctx, &(neap_emit){.stream = NEAP_STDOUT, .unordered = s->unordered}, 3, pieces));
}

/* A callback on x whose result is a further array of its form, told when it is served. */
static int32_t call_back(session *s, int32_t x) {
    static int32_t callee;
    neap_spec spec = {.dtype = NEAP_DTYPE_F32, .ndim = 2, .shape = {2, 2}};
    neap_callback how = {.callee = ++callee,
                         .kind = NEAP_EFFECT_CALLBACK,
                         .unordered = s->unordered,
                         .nresults = 1,
                         .results = &spec,
                         .name = "session:1",
                         .site = "session:2"};
    int32_t id = 0;
    return s->status ? 0 : kept(s, neap_callback_push(s->ctx, &how, 1, &x, &id), &id);
}

/* Serves the callbacks whose turn has come: the result is the argument. What finds no memory fails. */
static void serve(neap_ctx *ctx) {
    int32_t dropped[8];
    while (neap_effects_requested(neap_ctx_effects(ctx))) {
        neap_taken taken;
        int status = neap_callback_take(ctx, &taken);
        if (status == NEAP_E_MEMORY)
            status = neap_callback_take(ctx, &taken);
        if (status || !taken.callee)
            continue;
        while ((status = neap_callback_return(ctx, 0, taken.args[0])) == NEAP_PENDING)
            neap_waker_sleep(neap_ctx_waker(ctx), 2);
        CHECK_EQ(neap_callback_end(ctx, status, NULL), 0);
        neap_release(ctx, taken.n, taken.args); /* finds no memory, perhaps: then the context's end does it */
    }
    while (neap_callback_dropped(ctx, 8, dropped) == 8)
        continue;
}

static void evaluate(session *s) {
    int32_t x = square(s), y = scaled(s, op2(s, LAZY_OP_add, x, x), 0.5);
    int32_t t = op(s, LAZY_OP_transpose, 1, &y, 2, (int64_t[]){1, 0});
    int32_t p = op2(s, LAZY_OP_matmul2, op(s, LAZY_OP_reshape, 1, &y, 3, (int64_t[]){1, 2, 2}),
                    op(s, LAZY_OP_reshape, 1, &t, 3, (int64_t[]){1, 2, 2}));
    int32_t both[2] = {y, t};
    int32_t joined = op(s, LAZY_OP_concatenate, 2, both, 1, (int64_t[]){0});
    print(s, joined);
    expect(s, sum(s, call_back(s, t)), 10);
    if (s->status == 0)
        ended(s, neap_flush(s->ctx));
    char text[256];
    size_t bytes;
    WAIT(s, neap_array_text(s->ctx, joined, text, sizeof text, &bytes));
    expect(s, op(s, LAZY_OP_sum, 1, &p, 2, (int64_t[]){7, 0}), 52);
}

static void differentiate(session *s) {
    int level = -1;
    int32_t x = square(s), alias = 0, gradient = 0;
    if (s->status || !ended(s, neap_tape_begin(s->ctx, &level)))
        return;
    alias = kept(s, neap_tape_alias(s->ctx, level, x, &alias), &alias);
    int32_t loss = sum(s, op2(s, LAZY_OP_multiply, placed(s, alias), op2(s, LAZY_OP_add, alias, x)));
    if (s->status == 0)
        gradient = kept(s, neap_tape_gradient(s->ctx, level, 1, &loss, NULL, 1, &alias, &gradient), &gradient);
    neap_level_end(s->ctx, level);
    expect(s, sum(s, gradient), 30);
}

/* A call that leaves n ids, all of them or none. */
static void kept_all(session *s, int status, uint64_t handles, int n, const int32_t *ids) {
    neap_counters counters;
    neap_counters_get(s->ctx, &counters);
    if (status < 0)
        CHECK_EQ(counters.live_handles, handles);
    if (ended(s, status))
        for (int k = 0; k < n; k++)
            s->ids[s->nids++] = ids[k];
}

/* Both modes of two results with respect to two arguments. */
static void differentiate_all(session *s) {
    int level = -1;
    int32_t x = square(s), aliases[2] = {0}, results[2] = {0}, back[2] = {0}, along[2] = {0};
    neap_counters counters;
    if (s->status || !ended(s, neap_tape_begin(s->ctx, &level)))
        return;
    for (int k = 0; k < 2 && s->status == 0; k++)
        kept(s, neap_tape_alias(s->ctx, level, x, &aliases[k]), &aliases[k]);
    results[0] = op2(s, LAZY_OP_multiply, aliases[0], aliases[1]);
    results[1] = op2(s, LAZY_OP_matmul2, aliases[0], aliases[0]);
    neap_counters_get(s->ctx, &counters);
    if (s->status == 0)
        kept_all(s, neap_tape_gradient(s->ctx, level, 2, results, (int32_t[]){x, x}, 2, aliases, back),
                 counters.live_handles, 2, back);
    neap_counters_get(s->ctx, &counters);
    if (s->status == 0)
        kept_all(s, neap_tape_tangent(s->ctx, level, 2, aliases, (int32_t[]){x, 0}, 2, results, along),
                 counters.live_handles, 2, along);
    neap_level_end(s->ctx, level);
    expect(s, sum(s, back[1]), 30);
    expect(s, sum(s, along[0]), 30);
    expect(s, sum(s, op2(s, LAZY_OP_multiply, back[0], x)), 100 + 160 + 160);
}

static void trace(session *s) {
    int level = -1;
    int32_t w = square(s), x = placed(s, square(s)), in = 0, out = 0;
    if (s->status || !ended(s, neap_trace_begin(s->ctx, 0, &level)))
        return;
    in = kept(s, neap_trace_input(s->ctx, level, NEAP_DTYPE_F32, 0, 0, 0, 2, (int64_t[]){2, 2}, &in), &in);
    int32_t y = sum(s, op2(s, LAZY_OP_multiply, call_back(s, in), scaled(s, w, 2)));
    print(s, in);
    if (s->status == 0)
        ended(s, neap_trace_end(s->ctx, level, 1, &y, &s->program));
    neap_level_end(s->ctx, level);
    for (int k = 0; k < 2 && s->status == 0; k++)
        expect(s, kept(s, neap_program_run(s->ctx, s->program, 1, &x, &out), &out), 60);
    if (s->status == 0)
        expect(s, kept(s, neap_program_replay(s->ctx, s->program, 1, &x, &out), &out), 60);
    char text[512];
    size_t bytes;
    if (s->status == 0)
        ended(s, neap_program_text(s->program, 0, text, sizeof text, &bytes));
}

/* Deferred work with a call and a constructor, computed and exported, and its program. */
static void defer(session *s) {
    if (s->status)
        return;
    int level = -1, depth = neap_deferred_begin(s->ctx);
    int32_t x = square(s), in = 0, out = 0, result = 0;
    int32_t range = op(s, LAZY_OP_iota, 0, NULL, 2, (int64_t[]){4, NEAP_DTYPE_F32});
    int32_t grid = op(s, LAZY_OP_reshape, 1, &range, 2, (int64_t[]){2, 2});
    int32_t y = op2(s, LAZY_OP_add, op2(s, LAZY_OP_matmul2, grid, grid), call_back(s, scaled(s, x, 2)));
    int32_t z = sum(s, op2(s, LAZY_OP_multiply, y, x));
    neap_deferred_end(s->ctx, depth, s->status == 0, &z);
    expect(s, z, 4 + 14 + 36 + 76);
    if (s->status || !ended(s, neap_trace_begin(s->ctx, 0, &level)))
        return;
    in = kept(s, neap_trace_input(s->ctx, level, NEAP_DTYPE_F32, 0, -1, 0, 2, (int64_t[]){2, 2}, &in), &in);
    neap_ports inputs = {.n = 1, .ids = &x, .names = (const char *[]){"x"}};
    neap_ports outputs = {.n = 1, .ids = &z, .names = (const char *[]){"z"}};
    neap_program *program = NULL;
    if (s->status == 0)
        out = kept(s, neap_export(s->ctx, level, &inputs, &in, &outputs, &out), &out);
    if (s->status == 0)
        ended(s, neap_trace_end(s->ctx, level, 1, &out, &program));
    neap_level_end(s->ctx, level);
    if (s->status == 0)
        expect(s, kept(s, neap_program_run(s->ctx, program, 1, &x, &result), &result), 4 + 14 + 36 + 76);
    neap_program_free(program);
}

/* Records a program for two examples; what it has captured is held by the session. */
static void batch_program(session *s, neap_program *program, int32_t examples, double expected) {
    int32_t in[4] = {examples}, out = 0, captured = neap_program_captured(program, 0, NULL);
    uint8_t batched[4] = {1}, out_batched = 0;
    int status = neap_program_captured(program, 3, in + 1);
    if (!ended(s, status < 0 ? status : NEAP_OK))
        return;
    out = kept(
        s, neap_program_batch(s->ctx, program, &(neap_batch){.size = 2}, 1 + captured, in, batched, &out, &out_batched),
        &out);
    expect(s, op(s, LAZY_OP_sum, 1, &out, 2, (int64_t[]){1, 0}), expected);
}

static void batch(session *s) {
    int level = -1;
    int32_t w = square(s), x = square(s), in = 0;
    int32_t examples = op(s, LAZY_OP_broadcast_to, 1, &x, 3, (int64_t[]){2, 2, 2});
    neap_program *program = NULL;
    if (s->status || !ended(s, neap_trace_begin(s->ctx, 1, &level)))
        return;
    in = kept(s, neap_trace_input(s->ctx, level, NEAP_DTYPE_F32, 0, -1, 0, 2, (int64_t[]){2, 2}, &in), &in);
    s->unordered = 1;
    int32_t places = op(s, LAZY_OP_astype, 1, &in, 1, (int64_t[]){NEAP_DTYPE_I32});
    int32_t taken = op(s, LAZY_OP_take, 2, (int32_t[]){in, places}, 1, (int64_t[]){0});
    int32_t y = op2(s, LAZY_OP_matmul2, call_back(s, in), w);
    int32_t z = op(s, LAZY_OP_sum, 1, &taken, 2, (int64_t[]){7, 0});
    print(s, y);
    z = op2(s, LAZY_OP_add, sum(s, y), z);
    s->unordered = 0;
    if (s->status == 0)
        ended(s, neap_trace_end(s->ctx, level, 1, &z, &program));
    neap_level_end(s->ctx, level);
    if (s->status == 0) /* [[7, 10], [15, 22]], and four times the second row */
        batch_program(s, program, examples, 2 * (54 + 28));
    neap_program_free(program);
}

/* A program that multiplies its input, of that many axes of 2. */
static neap_program *times(session *s, int ndim, double factor) {
    int level = -1;
    int32_t in = 0, out = 0;
    neap_program *program = NULL;
    if (s->status || !ended(s, neap_trace_begin(s->ctx, 1, &level)))
        return NULL;
    in = kept(s, neap_trace_input(s->ctx, level, NEAP_DTYPE_F32, 0, -1, 0, ndim, (int64_t[]){2, 2, 2}, &in), &in);
    out = scaled(s, in, factor);
    if (s->status == 0)
        ended(s, neap_trace_end(s->ctx, level, 1, &out, &program));
    neap_level_end(s->ctx, level);
    return program;
}

/* A program that calls `callee`, whose batches are made by a rule. */
static neap_program *calling(session *s, neap_program *callee) {
    int level = -1;
    int32_t in = 0, out = 0;
    neap_program *program = NULL;
    neap_control how = {.op = LAZY_OP_call,
                        .nprograms = 1,
                        .nattrs = 4,
                        .nresults = 1,
                        .programs = &callee,
                        .attrs = (int64_t[]){NEAP_RULE_VMAP, 1, 1, 0}};
    if (s->status || !ended(s, neap_trace_begin(s->ctx, 1, &level)))
        return NULL;
    CHECK(neap_program_rule(callee) > 0);
    in = kept(s, neap_trace_input(s->ctx, level, NEAP_DTYPE_F32, 0, -1, 0, 2, (int64_t[]){2, 2}, &in), &in);
    if (s->status == 0)
        out = kept(s, neap_control_push(s->ctx, &how, 1, &in, &out), &out);
    if (s->status == 0)
        ended(s, neap_trace_end(s->ctx, level, 1, &out, &program));
    neap_level_end(s->ctx, level);
    return program;
}

/* A batch that needs a rule: asks for it, and gives it. */
static void batch_by_rule(session *s) {
    int32_t x = square(s), examples = op(s, LAZY_OP_broadcast_to, 1, &x, 3, (int64_t[]){2, 2, 2}), out = 0;
    neap_program *callee = times(s, 2, 2), *made = times(s, 3, 3), *program = calling(s, callee);
    uint8_t batched[] = {1, 1}, out_batched = 0;
    neap_batch_rule rule = {.callee = callee, .program = made, .batched = batched};
    neap_batch how = {.size = 2, .rules = &rule};
    neap_batch_wanted wanted = {0};
    if (s->status == 0 && ended(s, neap_program_batch_wants(s->ctx, program, &how, batched, &wanted)))
        CHECK(wanted.callee == callee && wanted.number > 0 && wanted.batched[0]);
    neap_program_free(wanted.callee);
    how.nrules = 1;
    if (s->status == 0)
        out = kept(s, neap_program_batch(s->ctx, program, &how, 1, &examples, batched, &out, &out_batched), &out);
    expect(s, op(s, LAZY_OP_sum, 1, &out, 2, (int64_t[]){7, 0}), 2 * 3 * 10);
    neap_program_free(program);
    neap_program_free(made);
    neap_program_free(callee);
}

/* An array on a mesh, or laid out otherwise. */
static int32_t laid_out(session *s, int32_t x, int32_t sharding) {
    int32_t id = 0;
    return s->status ? 0 : kept(s, neap_mesh_reshard(s->ctx, x, sharding, &id), &id);
}

/* Products and sums of arrays that two devices have parts of; a program of such. */
static void lay_out(session *s) {
    static const char *const names[] = {"i"};
    neap_sharding how = {.nsplit = 1};
    int32_t rows = 0, columns = 0, level = -1, in = 0, out = 0;
    if (s->status || !ended(s, neap_mesh_new(1, names, (int64_t[]){2}, 2, (int32_t[]){0, 1}, &how.mesh)) ||
        !ended(s, neap_sharding_new(&how, &rows)))
        return;
    how.split[0] = 1;
    if (!ended(s, neap_sharding_new(&how, &columns)))
        return;
    int32_t x = square(s), y = laid_out(s, x, rows), z = laid_out(s, y, columns);
    int32_t product = op2(s, LAZY_OP_matmul2, z, y); /* the axis that is summed over is divided */
    expect(s, sum(s, product), 54);
    expect(s, sum(s, op2(s, LAZY_OP_add, y, z)), 20); /* one of them moves */
    expect(s, sum(s, placed(s, z)), 10);
    char text[512];
    size_t bytes;
    if (s->status == 0)
        ended(s, neap_explain(s->ctx, 1, &product, NEAP_EXPLAIN_TEXT, text, sizeof text, &bytes));
    neap_program *program = NULL;
    if (s->status || !ended(s, neap_trace_begin(s->ctx, 0, &level)))
        return;
    in = kept(s, neap_trace_input(s->ctx, level, NEAP_DTYPE_F32, 0, -1, rows, 2, (int64_t[]){2, 2}, &in), &in);
    out = sum(s, op2(s, LAZY_OP_multiply, in, in));
    if (s->status == 0)
        ended(s, neap_trace_end(s->ctx, level, 1, &out, &program));
    neap_level_end(s->ctx, level);
    if (s->status == 0)
        expect(s, kept(s, neap_program_run(s->ctx, program, 1, &y, &out), &out), 30);
    neap_program_free(program);
}

/* carry → carry · 2 + y, three times: of a carry that is ordinary at first, and comes to lie as y does. The last input
 * is y. With `sums` also the sum of the carry, for which devices exchange data. */
static int32_t loop(session *s, int32_t start, int32_t y, int32_t rows, int sums) {
    int level = -1;
    int32_t in[2] = {0}, out[2] = {0}, results[2] = {0};
    neap_program *body = NULL;
    if (s->status || !ended(s, neap_trace_begin(s->ctx, 1, &level)))
        return 0;
    int64_t shape[] = {2, 2};
    in[0] = kept(s, neap_trace_input(s->ctx, level, NEAP_DTYPE_F32, 0, -1, 0, 2, shape, in), in);
    if (s->status == 0)
        in[1] = kept(s, neap_trace_input(s->ctx, level, NEAP_DTYPE_F32, 0, -1, rows, 2, shape, in + 1), in + 1);
    out[0] = op2(s, LAZY_OP_add, scaled(s, in[0], 2), in[1]);
    out[1] = sums ? sum(s, out[0]) : 0;
    if (s->status == 0)
        ended(s, neap_trace_end(s->ctx, level, 1 + sums, out, &body));
    neap_level_end(s->ctx, level);
    neap_control how = {.op = LAZY_OP_scan,
                        .nprograms = 1,
                        .nattrs = 5,
                        .nresults = 1 + sums,
                        .programs = &body,
                        .attrs = (int64_t[]){3, 0, 1, 1, 0}};
    if (s->status == 0 && ended(s, neap_control_push(s->ctx, &how, 2, (int32_t[]){start, y}, results)))
        for (int k = 0; k < 1 + sums; k++)
            s->ids[s->nids++] = results[k];
    neap_program_free(body);
    return results[0];
}

/* Loops on a mesh, each device by itself and all together: at once, and in a program. */
static void loop_on_mesh(session *s) {
    static const char *const names[] = {"i"};
    neap_sharding how = {.nsplit = 1};
    int32_t rows = 0, level = -1, in = 0, out = 0;
    if (s->status || !ended(s, neap_mesh_new(1, names, (int64_t[]){2}, 2, (int32_t[]){0, 1}, &how.mesh)) ||
        !ended(s, neap_sharding_new(&how, &rows)))
        return;
    int32_t x = square(s), y = laid_out(s, x, rows);
    for (int sums = 0; sums < 2; sums++)
        expect(s, sum(s, loop(s, x, y, rows, sums)), 150);
    neap_program *program = NULL;
    if (s->status || !ended(s, neap_trace_begin(s->ctx, 0, &level)))
        return;
    in = kept(s, neap_trace_input(s->ctx, level, NEAP_DTYPE_F32, 0, -1, rows, 2, (int64_t[]){2, 2}, &in), &in);
    out = sum(s, loop(s, x, in, rows, 0));
    if (s->status == 0)
        ended(s, neap_trace_end(s->ctx, level, 1, &out, &program));
    neap_level_end(s->ctx, level);
    if (s->status == 0)
        expect(s, kept(s, neap_program_run(s->ctx, program, 1, &y, &out), &out), 150);
    neap_program_free(program);
}

/* Runs all of it in a context of its own; nothing is left behind. */
static int run_session(void) {
    session s = {0};
    s.status = neap_ctx_new(&s.ctx);
    if (s.status) {
        CHECK_EQ(s.status, NEAP_E_MEMORY);
        return s.status;
    }
    neap_site_reset(s.ctx, "session");
    evaluate(&s);
    differentiate(&s);
    differentiate_all(&s);
    trace(&s);
    defer(&s);
    batch(&s);
    batch_by_rule(&s);
    lay_out(&s);
    loop_on_mesh(&s);
    used = armed - failing_stop();
    engine_alloc_fail(0);
    static int failed;
    if (s.status && failed++ % check_times(1, 4) == 0) { /* what failed does not stop what comes */
        session again = {.ctx = s.ctx};
        evaluate(&again);
        differentiate(&again);
        differentiate_all(&again);
        trace(&again);
        defer(&again);
        batch(&again);
        batch_by_rule(&again);
        lay_out(&again);
        loop_on_mesh(&again);
        CHECK_EQ(again.status, 0);
        neap_program_free(again.program);
        CHECK_EQ(neap_release(s.ctx, again.nids, again.ids), 0);
    }
    neap_program_free(s.program);
    CHECK_EQ(neap_release(s.ctx, s.nids, s.ids), 0);
    neap_effects_drain(neap_ctx_effects(s.ctx));
    neap_ctx_free(s.ctx);
    neap_wait_all();
    return s.status;
}

static uint64_t live_bytes(void) {
    neap_memory_stats stats;
    neap_memory_get(&stats);
    return stats.live_bytes;
}

/* Lets each allocation fail in turn, or each third where the address sanitizer looks and time is short; arm(n) chooses
 * the n-th. Some may fail without harm: what a recording starts by itself is tried again. Returns how many sessions
 * failed. */
static int sweep(void (*arm)(long n), long allocations, uint64_t live) {
    int failed = 0;
    const char *build = getenv("NEAP_TEST_BUILD");
    long step = build && strcmp(build, "asan") == 0 && !getenv("NEAP_TEST_LONG") ? 3 : 1;
    for (long n = 1; n <= allocations; n += step) {
        arm(n);
        failed += run_session() != 0;
        if (!CHECK_EQ(live_bytes(), live))
            break;
    }
    return failed;
}

static void arm_malloc(long n) {
    failing_start(n);
    armed = n;
}

static void arm_engine(long n) {
    engine_alloc_fail(n);
}

int main(void) {
    int null = open("/dev/null", O_WRONLY);
    dup2(null, 1); /* for what the session prints */
    CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 2, .devices = 2}), 0);
    CHECK_EQ(run_session(), 0);
    uint64_t live = live_bytes();
    arm_malloc(NEVER);
    CHECK_EQ(run_session(), 0);
    CHECK(used > 100);
    CHECK(sweep(arm_malloc, used + 20, live) > 50);
    CHECK(sweep(arm_engine, 200, live) > 3);
    neap_out_drain();
    neap_engine_stop();
    close(null);
    return check_end();
}
