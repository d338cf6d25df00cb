/* shared_programs.c: programs that stand many times inside others: 60 levels, each of which calls the one below twice.
 * A run would take 2^60 calls, but all that only looks at the program takes time and text by the number of levels.
 */
#include <stdlib.h>

#include "lazy/program/program.h"
#include "ops_gen.h"
#include "tests/check.h"

enum { LEVELS = 60 };

static int32_t input(neap_ctx *ctx, int level) {
    int32_t x = 0;
    CHECK_EQ(neap_trace_input(ctx, level, NEAP_DTYPE_F32, 0, -1, 0, 0, NULL, &x), 0);
    return x;
}

/* program(x) { return x + x } */
static neap_program *innermost(neap_ctx *ctx) {
    neap_program *program = NULL;
    int32_t sum = 0;
    int level = 0;
    CHECK_EQ(neap_trace_begin(ctx, 1, &level), 0);
    int32_t x = input(ctx, level);
    CHECK_EQ(neap_op(ctx, LAZY_OP_add, 2, (int32_t[]){x, x}, 0, NULL, &sum), 0);
    CHECK_EQ(neap_trace_end(ctx, level, 1, &sum, &program), 0);
    return program;
}

/* program(x) { return inner(inner(x)) } */
static neap_program *twice(neap_ctx *ctx, neap_program *inner) {
    neap_program *program = NULL;
    int level = 0;
    CHECK_EQ(neap_trace_begin(ctx, 1, &level), 0);
    int32_t x = input(ctx, level);
    neap_control call = {.op = LAZY_OP_call,
                         .nprograms = 1,
                         .nattrs = 4,
                         .nresults = 1,
                         .programs = &inner,
                         .attrs = (int64_t[]){NEAP_RULE_NONE, 1, 1, 0}};
    CHECK_EQ(neap_control_push(ctx, &call, 1, &x, &x), 0);
    CHECK_EQ(neap_control_push(ctx, &call, 1, &x, &x), 0);
    CHECK_EQ(neap_trace_end(ctx, level, 1, &x, &program), 0);
    neap_program_free(inner);
    return program;
}

static int count(const char *text, const char *part) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

static char *text_of(neap_program *program) {
    size_t bytes = 0;
    CHECK_EQ(neap_program_text(program, 0, NULL, 0, &bytes), 0);
    char *text = calloc(1, bytes + 1);
    CHECK_EQ(neap_program_text(program, 0, text, bytes, &bytes), 0);
    return text;
}

/* Each program is printed once, and named where it stands again. */
static void test_text(neap_program *program) {
    char *text = text_of(program);
    CHECK_EQ(count(text, "return"), LEVELS + 1);
    CHECK_EQ(count(text, " @1(a: f32[]) {\n"), 1);
    CHECK_EQ(count(text, " @1\n"), 1);
    CHECK_EQ(count(text, " add "), 1);
    free(text);
}

static void test_cost(neap_program *program) {
    neap_op_cost ops[4];
    neap_cost cost;
    CHECK_EQ(neap_program_cost(program, &cost, 4, ops), 0);
    CHECK(cost.flops == (double)(1LL << LEVELS));
    CHECK_EQ(cost.nops, 3);
    CHECK_TEXT(ops[0].op, "add");
    CHECK_EQ(ops[0].count, 1LL << LEVELS);
    CHECK_EQ(ops[1].count, (2LL << LEVELS) - 2);
}

static void test_explain(neap_program *program) {
    size_t bytes = 0;
    CHECK_EQ(neap_program_explain(program, NEAP_EXPLAIN_TEXT, NULL, 0, &bytes), 0);
    CHECK_EQ(neap_program_explain(program, NEAP_EXPLAIN_DOT, NULL, 0, &bytes), 0);
    CHECK_EQ(neap_program_dot(program, NULL, 0, &bytes), 0);
    CHECK_EQ(neap_program_verify(program), 0);
}

/* Two programs have the same key iff they compute the same. */
static void test_key(neap_program *program, neap_program *again, neap_program *other) {
    neap_program *const programs[] = {program, again, other};
    char *keys[3];
    size_t bytes[3];
    for (int k = 0; k < 3; k++) {
        CHECK_EQ(neap_program_key(programs[k], &keys[k], &bytes[k]), 0);
        CHECK(bytes[k] > 0);
    }
    CHECK(bytes[0] == bytes[1] && memcmp(keys[0], keys[1], bytes[0]) == 0);
    CHECK(bytes[0] != bytes[2] || memcmp(keys[0], keys[2], bytes[0]) != 0);
    for (int k = 0; k < 3; k++)
        neap_bytes_free(keys[k]);
}

/* What is read from a file shares its programs as well. */
static void test_file(neap_ctx *ctx, neap_program *program) {
    neap_program *again = NULL;
    char *data = NULL;
    size_t bytes = 0;
    CHECK_EQ(neap_program_write(program, &data, &bytes), 0);
    CHECK(bytes < 100 * LEVELS);
    neap_saved saved = {.version = 3, .data = data, .bytes = bytes};
    CHECK_EQ(neap_program_read(ctx, &saved, &again), 0);
    neap_bytes_free(data);
    char *left = text_of(program), *right = text_of(again);
    CHECK_EQ(strcmp(left, right), 0);
    free(left);
    free(right);
    neap_program *other = innermost(ctx);
    test_key(program, again, other);
    neap_program_free(other);
    neap_program_free(again);
}

int main(void) {
    neap_ctx *ctx = NULL;
    CHECK_EQ(neap_ctx_new(&ctx), 0);
    neap_program *program = innermost(ctx);
    for (int k = 0; k < LEVELS; k++)
        program = twice(ctx, program);
    test_text(program);
    test_cost(program);
    test_explain(program);
    test_file(ctx, program);
    neap_program_free(program);
    neap_ctx_free(ctx);
    return check_end();
}
