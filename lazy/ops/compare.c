/* compare.c: comparisons and tests of values; results are bool. Comparisons with NaN are false, except not_equal. */
#include "lazy/op.h"

/* Rows read as tables. */
/* clang-format off */
NEAP_OP(less,
    .doc = "a < b.",
    .example = "np.less(np.array{1, 2, 3}, 2)\n[ True False False]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_ORDERED, .flags = LAZY_OP_CHEAP | LAZY_OP_ZERO_GRAD | LAZY_OP_CHAINS,
    .dtype = graph_dtype_compare,
    .kernel = {.any = "a < b"},
    .domain = {-3, 3}, .reference = "a < b")

NEAP_OP(less_equal,
    .doc = "a <= b.",
    .example = "np.less_equal(np.array{1, 2, 3}, 2)\n[ True  True False]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_ORDERED, .flags = LAZY_OP_CHEAP | LAZY_OP_ZERO_GRAD | LAZY_OP_CHAINS,
    .dtype = graph_dtype_compare,
    .kernel = {.any = "a <= b"},
    .domain = {-3, 3}, .reference = "a <= b")

NEAP_OP(greater,
    .doc = "a > b.",
    .example = "np.greater(np.array{1, 2, 3}, 2)\n[False False  True]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_ORDERED, .flags = LAZY_OP_CHEAP | LAZY_OP_ZERO_GRAD | LAZY_OP_CHAINS,
    .dtype = graph_dtype_compare,
    .kernel = {.any = "a > b"},
    .domain = {-3, 3}, .reference = "a > b")

NEAP_OP(greater_equal,
    .doc = "a >= b.",
    .example = "np.greater_equal(np.array{1, 2, 3}, 2)\n[False  True  True]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_ORDERED, .flags = LAZY_OP_CHEAP | LAZY_OP_ZERO_GRAD | LAZY_OP_CHAINS,
    .dtype = graph_dtype_compare,
    .kernel = {.any = "a >= b"},
    .domain = {-3, 3}, .reference = "a >= b")

NEAP_OP(equal,
    .doc = "a equals b; zeros of both signs are equal.",
    .example = "np.equal(np.array{1, 2}, 2)\n[False  True]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_ALL,
    .flags = LAZY_OP_CHEAP | LAZY_OP_ZERO_GRAD | LAZY_OP_COMMUTES | LAZY_OP_CHAINS,
    .dtype = graph_dtype_compare,
    .kernel = {.any = "a == b"},
    .domain = {-3, 3}, .reference = "a == b")

NEAP_OP(not_equal,
    .doc = "a differs from b; true for NaN.",
    .example = "np.not_equal(np.array{1, 2}, 2)\n[ True False]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_ALL,
    .flags = LAZY_OP_CHEAP | LAZY_OP_ZERO_GRAD | LAZY_OP_COMMUTES | LAZY_OP_CHAINS,
    .dtype = graph_dtype_compare,
    .kernel = {.any = "a != b"},
    .domain = {-3, 3}, .reference = "a ~= b")

NEAP_OP(isnan,
    .doc = "Whether a is NaN; false for bool and integers.",
    .example = "np.isnan(np.array{1, np.inf, np.nan})\n[False False  True]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ALL,
    .flags = LAZY_OP_ZERO_GRAD | LAZY_OP_CHAINS, .dtype = graph_dtype_compare,
    .kernel = {.boolean = "0", .integer = "0", .real = "a != a", .complex = "F(isnan)(a)"},
    .domain = {-3, 3}, .reference = "a ~= a")

NEAP_OP(isinf,
    .doc = "Whether a is infinite; false for bool and integers.",
    .example = "np.isinf(np.array{1, -np.inf, np.nan})\n[False  True False]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_ZERO_GRAD, .dtype = graph_dtype_compare,
    .kernel = {.boolean = "0", .integer = "0", .real = "F(abs)(a) > F(max_finite)",
               .complex = "F(isinf)(a)"},
    .domain = {-3, 3}, .reference = "a == math.huge or a == -math.huge")

NEAP_OP(isfinite,
    .doc = "Whether a is neither infinite nor NaN; true for bool and integers.",
    .example = "np.isfinite(np.array{1, np.inf, np.nan})\n[ True False False]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ALL,
    .flags = LAZY_OP_ZERO_GRAD | LAZY_OP_CHAINS, .dtype = graph_dtype_compare,
    .kernel = {.boolean = "1", .integer = "1", .real = "F(abs)(a) <= F(max_finite)",
               .complex = "F(isfinite)(a)"},
    .domain = {-3, 3}, .reference = "a == a and a ~= math.huge and a ~= -math.huge")

NEAP_OP(signbit,
    .doc = "Whether the sign of a is set: of negative numbers and of -0.0.",
    .example = "np.signbit(np.array{-1, 1})\n[ True False]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ORDERED, .flags = LAZY_OP_ZERO_GRAD, .dtype = graph_dtype_compare,
    .kernel = {.boolean = "0", .integer = "a < 0", .real = "F(signbit)(a)"},
    .domain = {-3, 3}, .reference = "a < 0")
/* clang-format on */
