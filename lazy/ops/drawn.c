/* drawn.c: what becomes of one counter of a draw, as maps: the rows of random.c say with .drawn which of these make an
 * element of theirs, for kernels that read a few (plan/drawing.h). No function of the library records them.
 *
 * Keys, and what the hash makes, are pairs of words in one u64, the first above the second.
 */
#include "lazy/ops/drawn.h"

#include "lazy/plan/drawing.h"
#include "ops_gen.h"

enum { U32 = NEAP_DTYPE_U32, U64 = NEAP_DTYPE_U64 };

/* The rules that tools/gen/kernels.lua knows by their names. */
static int drawn_as(const lazy_call_desc *call, lazy_result *out, int dtype) {
    if (call->in[0].dtype != U64)
        return neap_error(NEAP_E_DTYPE, "a draw of a single counter: expected u64, got %s",
                          neap_dtype_name(call->in[0].dtype));
    out->compute = U64;
    out->dtype = (uint8_t)dtype;
    return 0;
}
#define DRAWN_AS(name, NAME)                                                                                           \
    static int drawn_as_##name(const lazy_call_desc *call, lazy_result *out) {                                         \
        return drawn_as(call, out, NEAP_DTYPE_##NAME);                                                                 \
    }
DRAWN_AS(u32, U32)
DRAWN_AS(u64, U64)
DRAWN_AS(f32, F32)
DRAWN_AS(f64, F64)

NEAP_OP(random_key, .doc = "Two words as one pair.", .kind = LAZY_MAP, .arity = 2, .types = LAZY_INT,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD, .dtype = drawn_as_u64, .kernel = {.integer = "a << 32 | b"})

NEAP_OP(random_hash, .doc = "The pair that threefry makes of a counter under a key.", .kind = LAZY_MAP, .arity = 2,
        .types = LAZY_INT, .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD, .dtype = drawn_as_u64, .ns = 0.7,
        .kernel = {.integer = "drawn_hash(a, b)"})

NEAP_OP(random_word, .doc = "Both words of a pair, exclusive or.", .kind = LAZY_MAP, .arity = 1, .types = LAZY_INT,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD, .dtype = drawn_as_u32, .kernel = {.integer = "drawn_word(a)"})

NEAP_OP(random_part, .doc = "The first word of a pair, where the second operand is 0; else the second one.",
        .kind = LAZY_MAP, .arity = 2, .types = LAZY_INT, .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD,
        .dtype = drawn_as_u32, .kernel = {.integer = "b == 0 ? a >> 32 : a"})

NEAP_OP(random_uniform_f32, .doc = "The f32 in [0, 1) of a pair.", .kind = LAZY_MAP, .arity = 1, .types = LAZY_INT,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD, .dtype = drawn_as_f32,
        .kernel = {.integer = "drawn_uniform_f32(a)"})

NEAP_OP(random_uniform_f64, .doc = "The f64 in [0, 1) of a pair.", .kind = LAZY_MAP, .arity = 1, .types = LAZY_INT,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD, .dtype = drawn_as_f64,
        .kernel = {.integer = "drawn_uniform_f64(a)"})

NEAP_OP(random_normal_f32, .doc = "The normal f32 of a pair.", .kind = LAZY_MAP, .arity = 1, .types = LAZY_INT,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD, .dtype = drawn_as_f32, .ns = 0.5,
        .kernel = {.integer = "drawn_normal_f32(a)"})

NEAP_OP(random_normal_f64, .doc = "The normal f64 of a pair.", .kind = LAZY_MAP, .arity = 1, .types = LAZY_INT,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD, .dtype = drawn_as_f64, .ns = 2,
        .kernel = {.integer = "drawn_normal_f64(a)"})

NEAP_OP(random_exponential_f32, .doc = "The exponential f32 of a pair.", .kind = LAZY_MAP, .arity = 1,
        .types = LAZY_INT, .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD, .dtype = drawn_as_f32, .ns = 0.5,
        .kernel = {.integer = "drawn_exponential_f32(a)"})

NEAP_OP(random_exponential_f64, .doc = "The exponential f64 of a pair.", .kind = LAZY_MAP, .arity = 1,
        .types = LAZY_INT, .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD, .dtype = drawn_as_f64, .ns = 2,
        .kernel = {.integer = "drawn_exponential_f64(a)"})

NEAP_OP(random_gumbel_f32, .doc = "The Gumbel f32 of a pair.", .kind = LAZY_MAP, .arity = 1, .types = LAZY_INT,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD, .dtype = drawn_as_f32, .ns = 0.8,
        .kernel = {.integer = "drawn_gumbel_f32(a)"})

NEAP_OP(random_gumbel_f64, .doc = "The Gumbel f64 of a pair.", .kind = LAZY_MAP, .arity = 1, .types = LAZY_INT,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD, .dtype = drawn_as_f64, .ns = 3,
        .kernel = {.integer = "drawn_gumbel_f64(a)"})

NEAP_OP(random_span, .doc = "How many integers there are from the first operand up to the second one; at least 1.",
        .kind = LAZY_MAP, .arity = 2, .types = LAZY_INT, .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD,
        .dtype = graph_dtype_same, .kernel = {.integer = "b <= a ? 1 : (T)((U)b - (U)a)"})

NEAP_OP(random_span_inclusive, .doc = "The same with the second operand itself; of all integers of the dtype 0.",
        .kind = LAZY_MAP, .arity = 2, .types = LAZY_INT, .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD,
        .dtype = graph_dtype_same, .kernel = {.integer = "b <= a ? 1 : (T)((U)b - (U)a + 1)"})

NEAP_OP(random_below_32, .doc = "The number below a span of 32 bits that two pairs make.", .kind = LAZY_MAP, .arity = 3,
        .types = LAZY_INT, .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD, .dtype = drawn_as_u64, .ns = 3,
        .kernel = {.integer = "drawn_below_u32(a, b, c)"})

NEAP_OP(random_below_64, .doc = "The number below a span of 64 bits that two pairs make.", .kind = LAZY_MAP, .arity = 3,
        .types = LAZY_INT, .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD, .dtype = drawn_as_u64, .ns = 8,
        .kernel = {.integer = "drawn_below_u64(a, b, c)"})

NEAP_OP(random_place,
        .doc = "The place that an index, the bits of an i64, means among so many rows: counted from the end if it is "
               "negative; the nearest one, if it is out of range.",
        .kind = LAZY_MAP, .arity = 2, .types = LAZY_INT, .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD,
        .dtype = drawn_as_u64, .kernel = {.integer = "drawn_place(a, b)"})

/* ---- Elements ---------------------------------------------------------------------------------------------------- */
static int32_t hash_of(lazy_drawing *d) {
    return plan_drawing_map2(d, LAZY_OP_random_hash, U64, U64, d->key, d->counter);
}

static int32_t bits_element(lazy_drawing *d) {
    int32_t pair = hash_of(d);
    if (graph_node_attrs(d->node)[0] == 64)
        return plan_drawing_map2(d, LAZY_OP_random_part, U64, U32, pair, d->part);
    return plan_drawing_map1(d, LAZY_OP_random_word, U64, U32, pair);
}

static int32_t floats_element(lazy_drawing *d) {
    static const int maps[VM_DRAW_COUNT][2] = {
        [VM_DRAW_UNIFORM] = {LAZY_OP_random_uniform_f32, LAZY_OP_random_uniform_f64},
        [VM_DRAW_NORMAL] = {LAZY_OP_random_normal_f32, LAZY_OP_random_normal_f64},
        [VM_DRAW_EXPONENTIAL] = {LAZY_OP_random_exponential_f32, LAZY_OP_random_exponential_f64},
        [VM_DRAW_GUMBEL] = {LAZY_OP_random_gumbel_f32, LAZY_OP_random_gumbel_f64}};
    const int dtype = graph_node_aval(d->node).dtype;
    const int map = maps[graph_node_attrs(d->node)[0]][dtype == NEAP_DTYPE_F64];
    return plan_drawing_map1(d, map, U64, dtype, hash_of(d));
}

/* The key is split in two, as the call does it. */
static int32_t integers_element(lazy_drawing *d) {
    const int dtype = graph_node_aval(d->node).dtype;
    const bool wide = neap_dtype_bytes(dtype) == 8;
    const int span = graph_node_attrs(d->node)[0] ? LAZY_OP_random_span_inclusive : LAZY_OP_random_span;
    int32_t arg[3];
    for (int k = 0; k < 2; k++) {
        int32_t key = plan_drawing_map2(d, LAZY_OP_random_hash, U64, U64, d->key, plan_drawing_number(d, k));
        arg[k] = plan_drawing_map2(d, LAZY_OP_random_hash, U64, U64, key, d->counter);
    }
    arg[2] = plan_drawing_map2(d, span, dtype, dtype, d->bounds[0], d->bounds[1]);
    if (dtype != U64)
        arg[2] = plan_drawing_map1(d, LAZY_OP_astype, dtype, U64, arg[2]);
    int32_t offset = plan_drawing_map(d, wide ? LAZY_OP_random_below_64 : LAZY_OP_random_below_32, U64, U64, 3, arg);
    if (dtype != U64)
        offset = plan_drawing_map1(d, LAZY_OP_astype, U64, dtype, offset);
    return plan_drawing_map2(d, LAZY_OP_add, dtype, dtype, d->bounds[0], offset);
}

const lazy_drawn drawn_bits = {.keys = 0, .first = 1, .element = bits_element};
const lazy_drawn drawn_floats = {.keys = 0, .first = 2, .element = floats_element};
const lazy_drawn drawn_integers = {.keys = 2, .first = 1, .element = integers_element};
