/* print_blocks.c: the printed form of control flow whose block of results is read by others than `part`, which scripts
 * cannot do, but files can: then block and parts are printed as ops of their own.
 */
#include "lazy/control/control.h"
#include "ops_gen.h"
#include "tests/check.h"

static neap_program *identity(neap_ctx *ctx) {
    neap_program *program = NULL;
    int32_t x = 0;
    int level = 0;
    CHECK_EQ(neap_trace_begin(ctx, 1, &level), 0);
    CHECK_EQ(neap_trace_input(ctx, level, NEAP_DTYPE_F32, 0, -1, 0, 0, NULL, &x), 0);
    CHECK_EQ(neap_trace_end(ctx, level, 1, &x, &program), 0);
    return program;
}

/* program(x) { y = inner(x); return y, the block + itself if whole != 0 } */
static neap_program *outer(neap_ctx *ctx, neap_program *inner, int whole) {
    neap_program *program = NULL;
    neap_node *part = NULL;
    int32_t x = 0, ids[2] = {0}, block = 0;
    int level = 0;
    neap_control call = {.op = LAZY_OP_call,
                         .nprograms = 1,
                         .nattrs = 4,
                         .nresults = 1,
                         .programs = &inner,
                         .attrs = (int64_t[]){NEAP_RULE_NONE, 1, 1, 0}};
    CHECK_EQ(neap_trace_begin(ctx, 1, &level), 0);
    CHECK_EQ(neap_trace_input(ctx, level, NEAP_DTYPE_F32, 0, -1, 0, 0, NULL, &x), 0);
    CHECK_EQ(neap_control_push(ctx, &call, 1, &x, &ids[0]), 0);
    CHECK_EQ(graph_lookup_all(ctx, false, 1, &ids[0], &part), 0);
    neap_node *read = part->in[0];
    graph_retain(read);
    CHECK_EQ(graph_publish_all(ctx, 1, &read, &block), 0);
    if (whole)
        CHECK_EQ(neap_op(ctx, LAZY_OP_add, 2, (int32_t[]){block, block}, 0, NULL, &ids[1]), 0);
    CHECK_EQ(neap_trace_end(ctx, level, 1 + whole, ids, &program), 0);
    return program;
}

static void expect(neap_program *program, const char *line) {
    char text[1024] = "";
    size_t bytes = 0;
    CHECK_EQ(neap_program_text(program, 0, text, sizeof text - 1, &bytes), 0);
    if (!CHECK_TEXT(text, line))
        fprintf(stderr, "%s\n", text);
    neap_program_free(program);
}

int main(void) {
    neap_ctx *ctx = NULL;
    CHECK_EQ(neap_ctx_new(&ctx), 0);
    neap_program *inner = identity(ctx);
    expect(outer(ctx, inner, 0), "  b: f32[] = call[operands=1 results=1 own=0] a {\n");
    expect(outer(ctx, inner, 1), "  b: u8[64] = call[operands=1 results=1 own=0] a {\n");
    expect(outer(ctx, inner, 1), "  c: f32[] = part[result=0 place=0 dtype=f32] b\n  d: u8[64] = add b b\n");
    neap_program_free(inner);
    neap_ctx_free(ctx);
    return check_end();
}
