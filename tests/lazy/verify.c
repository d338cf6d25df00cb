/* verify.c: the verifier finds every kind of damage: a program is made, one thing in it is changed, and the verifier
 * must name it. */
#include "lazy/program/verify.h"

#include <stdlib.h>

#include "lazy/effect/effect.h"
#include "ops_gen.h"
#include "tests/check.h"

typedef struct fixture {
    neap_ctx *ctx;
    neap_program *program;
} fixture;

static int32_t op(neap_ctx *ctx, int op, int nin, const int32_t *in, int nattrs, const int64_t *attrs) {
    int32_t id = 0;
    CHECK(neap_op(ctx, op, nin, in, nattrs, attrs, &id) >= 0);
    return id;
}

/* program(x: f32[2,3], k: number): prints the sum over axis 1 twice, gives it and iota + x. */
static void begin(fixture *f) {
    neap_ctx *ctx = f->ctx;
    int level;
    int32_t x, k;
    CHECK_EQ(neap_trace_begin(ctx, 0, &level), 0);
    CHECK_EQ(neap_trace_input(ctx, level, NEAP_DTYPE_F32, 0, -1, 0, 2, (int64_t[]){2, 3}, &x), 0);
    CHECK_EQ(neap_trace_input(ctx, level, NEAP_DTYPE_F64, 1, -1, 0, 0, NULL, &k), 0);
    int32_t scaled = op(ctx, LAZY_OP_multiply, 2, (int32_t[]){x, k}, 0, NULL);
    int32_t sum = op(ctx, LAZY_OP_sum, 1, &scaled, 2, (int64_t[]){2, 0});
    int32_t iota = op(ctx, LAZY_OP_iota, 0, NULL, 2, (int64_t[]){3, NEAP_DTYPE_F32});
    int32_t turned = op(ctx, LAZY_OP_transpose, 1, &x, 2, (int64_t[]){1, 0});
    int32_t cast = op(ctx, LAZY_OP_astype, 1, &turned, 1, (int64_t[]){NEAP_DTYPE_I32});
    int32_t shifted = op(ctx, LAZY_OP_add, 2, (int32_t[]){x, iota}, 0, NULL);
    neap_emit how = {.kind = NEAP_EFFECT_PRINT, .stream = NEAP_STDOUT};
    CHECK_EQ(neap_print(ctx, &how, 1, &(neap_piece){.id = sum}), 0);
    neap_callback callback = {.callee = 1, .kind = NEAP_EFFECT_CALLBACK, .name = "f", .site = "here:1"};
    CHECK(neap_callback_push(ctx, &callback, 1, &x, NULL) >= 0);
    CHECK(neap_callback_push(ctx, &callback, 1, &sum, NULL) >= 0);
    CHECK_EQ(neap_trace_end(ctx, level, 3, (int32_t[]){sum, shifted, cast}, &f->program), 0);
}

static void end(fixture *f) {
    neap_program_free(f->program);
    f->program = NULL;
}

static neap_node *find(const fixture *f, int op) {
    for (int64_t k = 0; k < f->program->nodes.n; k++)
        if (f->program->nodes.at[k]->op == op)
            return f->program->nodes.at[k];
    CHECK(!"the op is in the program");
    return NULL;
}

static void expect(const fixture *f, const char *node, const char *what) {
    CHECK_EQ(program_verify(f->program, "a test"), NEAP_E_INTERNAL);
    CHECK_TEXT(neap_error_text(), "verify after a test");
    if (!CHECK_TEXT(neap_error_text(), node) || !CHECK_TEXT(neap_error_text(), what))
        fprintf(stderr, "    %s\n", neap_error_text());
}

/* Changes `field` to `value` while the verifier looks. */
#define DAMAGE(f, field, value, node, what)                                                                            \
    do {                                                                                                               \
        __typeof__(field) *damage_at = &(field), damage_old = *damage_at;                                              \
        *damage_at = (value);                                                                                          \
        expect(f, node, what);                                                                                         \
        *damage_at = damage_old;                                                                                       \
        CHECK_EQ(program_verify((f)->program, "repair"), 0);                                                           \
    } while (0)

static void test_nodes(fixture *f) {
    begin(f);
    neap_node *sum = find(f, LAZY_OP_sum), *product = find(f, LAZY_OP_multiply), *turned = find(f, LAZY_OP_transpose);
    CHECK_EQ(program_verify(f->program, "nothing"), 0);
    DAMAGE(f, sum->op, 9999, "(?)", "no op of number 9999");
    DAMAGE(f, sum->dtype, 99, "(sum)", "no dtype of number 99");
    DAMAGE(f, sum->dtype, NEAP_DTYPE_I32, "(sum)", "its dtype is i32, but the rules say f32");
    DAMAGE(f, sum->ndim, NEAP_MAX_DIMS + 1, "(sum)", "17 axes");
    DAMAGE(f, sum->size, 7, "(sum)", "its size is 7");
    DAMAGE(f, product->shape[0], 3, "(multiply)", "its size is 6");
    DAMAGE(f, product->flags, product->flags | LAZY_WEAK, "(multiply)", "(a number)");
    DAMAGE(f, sum->levels, 4, "(sum)", "level that is open");
    DAMAGE(f, sum->nattrs, 1, "(sum)", "1 attributes, expected \"axes keepdims\"");
    DAMAGE(f, sum->attrs[0], 1, "(sum)", "its shape is (2,), but the rules say (3,)");
    DAMAGE(f, sum->attrs[0], 1 << 5, "(sum)", "the rules refuse it");
    product->nin = 1;
    expect(f, "(multiply)", "1 inputs, expected 2");
    product->nin = 2;
    DAMAGE(f, product->in[1], sum, "(multiply)", "does not stand in front of it");
    DAMAGE(f, turned->base, NULL, "(transpose)", "a view of nothing");
    DAMAGE(f, turned->attrs[0], 0, "(transpose)", "the rules refuse it");
    DAMAGE(f, find(f, LAZY_OP_iota)->flags, 0, "(iota)", "captured, but it has no value");
    neap_node *cast = f->program->outputs.at[2];
    DAMAGE(f, cast->attrs[0], 77, "(astype)", "no dtype: 77");
    DAMAGE(f, cast->attrs[0], -1, "(astype)", "no dtype: -1");
    end(f);
}

static void test_inputs(fixture *f) {
    begin(f);
    neap_program *program = f->program;
    DAMAGE(f, program->inputs.at[0]->value, 1, "input 0", "says that it is input 1");
    DAMAGE(f, program->inputs.at[0], program->inputs.at[1], "input 0", "says that it is input 1");
    DAMAGE(f, program->inputs.at[0], find(f, LAZY_OP_sum), "input 0", "is no placeholder");
    DAMAGE(f, program->inputs.at[0]->flags, program->inputs.at[0]->flags | LAZY_WEAK, "input 0", "number with 2 axes");
    DAMAGE(f, program->inputs.n, 0, "(placeholder)", "input 0, but that is another one");
    end(f);
}

static void test_order(fixture *f) {
    begin(f);
    neap_program *program = f->program;
    int64_t last = program->nodes.n - 1;
    DAMAGE(f, program->nodes.at[last], program->nodes.at[0], "node", "stands in the program twice");
    DAMAGE(f, program->links.at[0], 5, "node", "its link says 5");
    DAMAGE(f, program->links.n, program->links.n - 1, "node", "no links for its inputs");
    DAMAGE(f, program->root_nodes.at[0], 0, "root 0", "not where it should be");
    DAMAGE(f, program->root_nodes.at[0], -3, "root 0", "not where it should be");
    DAMAGE(f, program->root_nodes.n, program->root_nodes.n - 1, "root", "not where it should be");
    DAMAGE(f, program->outputs.at[0], program->outputs.at[1], "root", "not where it should be");
    DAMAGE(f, program->effect_roots, 1, "effects have", "not 1");
    DAMAGE(f, program->effects.at[0]->place, 0, "effect 0, a print", "before what the print reads");
    DAMAGE(f, program->outputs.at[0]->flags, program->outputs.at[0]->flags | LAZY_WEAK, "output 0", "is a number");
    lazy_effect **effects = program->effects.at, *first = effects[1];
    effects[1] = effects[2];
    effects[2] = first;
    expect(f, "root 1", "not where it should be");
    int32_t *roots = program->root_nodes.at, root = roots[1];
    roots[1] = roots[2];
    roots[2] = root;
    expect(f, "effect 2", "does not come behind");
    effects[2] = effects[1];
    effects[1] = first;
    roots[2] = roots[1];
    roots[1] = root;
    CHECK_EQ(program_verify(program, "repair"), 0);
    end(f);
}

int main(void) {
    fixture f = {0};
    CHECK_EQ(neap_ctx_new(&f.ctx), 0);
    test_nodes(&f);
    test_inputs(&f);
    test_order(&f);
    neap_ctx_free(f.ctx);
    return check_end();
}
