/* logic.c: logic on bool (other dtypes are cast: x != 0), and bits of bool and integers. */
#include "lazy/op.h"

/* Computes in bool. */
static int dtype_of_logic(const lazy_call_desc *call, lazy_result *out) {
    (void)call;
    out->compute = out->dtype = NEAP_DTYPE_BOOL;
    return NEAP_OK;
}

/* Rows read as tables. */
/* clang-format off */
NEAP_OP(logical_and,
    .doc = "Whether both a and b are true.",
    .example = "np.logical_and(np.array{true, true}, np.array{true, false})\n[ True False]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_BOOL,
    .flags = LAZY_OP_CHEAP | LAZY_OP_ZERO_GRAD | LAZY_OP_CHOOSES | LAZY_OP_COMMUTES,
    .dtype = dtype_of_logic,
    .kernel = {.boolean = "a & b"},
    .domain = {-2, 2}, .reference = "a ~= 0 and b ~= 0")

NEAP_OP(logical_or,
    .doc = "Whether a or b is true.",
    .example = "np.logical_or(np.array{true, false}, np.array{false, false})\n[ True False]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_BOOL,
    .flags = LAZY_OP_ZERO_GRAD | LAZY_OP_CHOOSES | LAZY_OP_COMMUTES, .dtype = dtype_of_logic,
    .kernel = {.boolean = "a | b"},
    .domain = {-2, 2}, .reference = "a ~= 0 or b ~= 0")

NEAP_OP(logical_xor,
    .doc = "Whether just one of a and b is true.",
    .example = "np.logical_xor(np.array{true, true}, np.array{true, false})\n[False  True]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_BOOL,
    .flags = LAZY_OP_ZERO_GRAD | LAZY_OP_COMMUTES, .dtype = dtype_of_logic,
    .kernel = {.boolean = "a ^ b"},
    .domain = {-2, 2}, .reference = "(a ~= 0) ~= (b ~= 0)")

NEAP_OP(logical_not,
    .doc = "Whether a is false.",
    .example = "np.logical_not(np.array{true, false})\n[False  True]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_BOOL, .flags = LAZY_OP_ZERO_GRAD, .dtype = dtype_of_logic,
    .kernel = {.boolean = "!a"},
    .domain = {-2, 2}, .reference = "a == 0")

NEAP_OP(bitwise_and,
    .doc = "The bits set in both a and b; bool: and.",
    .example = "np.bitwise_and(np.arange(4), 1)\n[0 1 0 1]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_BITS,
    .flags = LAZY_OP_ZERO_GRAD | LAZY_OP_COMMUTES, .dtype = graph_dtype_promote,
    .kernel = {.any = "a & b"},
    .domain = {0, 100})

NEAP_OP(bitwise_or,
    .doc = "The bits set in a or b; bool: or.",
    .example = "np.bitwise_or(np.arange(4), 1)\n[1 1 3 3]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_BITS,
    .flags = LAZY_OP_ZERO_GRAD | LAZY_OP_COMMUTES, .dtype = graph_dtype_promote,
    .kernel = {.any = "a | b"},
    .domain = {0, 100})

NEAP_OP(bitwise_xor,
    .doc = "The bits set in just one of a and b; bool: exclusive or.",
    .example = "np.bitwise_xor(np.arange(4), 1)\n[1 0 3 2]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_BITS,
    .flags = LAZY_OP_ZERO_GRAD | LAZY_OP_COMMUTES, .dtype = graph_dtype_promote,
    .kernel = {.any = "a ^ b"},
    .domain = {0, 100})

NEAP_OP(bitwise_invert,
    .doc = "All bits of a inverted; bool: not.",
    .example = "np.bitwise_invert(np.arange(3))\n[-1 -2 -3]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_BITS, .flags = LAZY_OP_ZERO_GRAD, .dtype = graph_dtype_promote,
    .kernel = {.boolean = "!a", .integer = "(T)~a"},
    .domain = {0, 100})

NEAP_OP(bitwise_count,
    .doc = "How many bits of the magnitude of a are set.",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INT, .flags = LAZY_OP_ZERO_GRAD, .dtype = graph_dtype_promote,
    .kernel = {.integer = "F(bitwise_count)(a)"}, .ns = 0.5,
    .domain = {0, 100})

NEAP_OP(bitwise_left_shift,
    .doc = "a times 2 to the power b, wrapping around. A shift by a negative number or by the width or more gives 0.",
    .example = "np.bitwise_left_shift(np.arange(4), 2)\n[ 0  4  8 12]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_INT, .flags = LAZY_OP_ZERO_GRAD, .dtype = graph_dtype_promote,
    .kernel = {.integer = "(U)b < 8 * sizeof(T) ? (T)((U)a << ((U)b & (8 * sizeof(T) - 1))) : 0"},
    .domain = {0, 7})

NEAP_OP(bitwise_right_shift,
    .doc = "a divided by 2 to the power b, rounded down. A shift by a negative number or by the width or more gives 0, "
           "or -1 for negative a.",
    .example = "np.bitwise_right_shift(np.arange(8), 1)\n[0 0 1 1 2 2 3 3]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_INT, .flags = LAZY_OP_ZERO_GRAD, .dtype = graph_dtype_promote,
    .kernel = {.integer = "(U)b < 8 * sizeof(T) ? (T)(a >> ((U)b & (8 * sizeof(T) - 1))) : (T)(a < 0 ? -1 : 0)"},
    .domain = {0, 7})
/* clang-format on */
