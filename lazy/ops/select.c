/* select.c: rows that choose among their operands, and rounding to integers. */
#include "lazy/derive/build.h"

/* Equal operands share the cotangent equally. */
static neap_node *winner(lazy_grad *g, neap_node *wins) {
    neap_node *tie = BUILD2(equal, INPUT(0), INPUT(1)), *half = BUILD2(multiply, g->ct, NUMBER(0.5));
    return BUILD3(where, wins, g->ct, BUILD3(where, tie, half, NUMBER(0)));
}
GRAD2(grad_maximum, winner(g, BUILD2(greater, a, b)), winner(g, BUILD2(greater, b, a)))
GRAD2(grad_minimum, winner(g, BUILD2(less, a, b)), winner(g, BUILD2(less, b, a)))

/* The same of fmax and fmin, where a number wins against NaN. */
static neap_node *number_winner(lazy_grad *g, neap_node *wins, neap_node *other) {
    return winner(g, BUILD2(logical_or, wins, BUILD1(isnan, other)));
}
GRAD2(grad_fmax, number_winner(g, BUILD2(greater, a, b), b), number_winner(g, BUILD2(greater, b, a), a))
GRAD2(grad_fmin, number_winner(g, BUILD2(less, a, b), b), number_winner(g, BUILD2(less, b, a), a))

/* That of minimum(maximum(x, low), high), with its ties. */
static int grad_clip(lazy_grad *g) {
    neap_node *x = INPUT(0), *low = INPUT(1), *high = INPUT(2), *ct = g->ct;
    neap_node *raised = BUILD2(maximum, x, low), *half = NUMBER(0.5), *zero = NUMBER(0);
    neap_node *below = BUILD3(where, BUILD2(less, raised, high), ct,
                              BUILD3(where, BUILD2(equal, raised, high), BUILD2(multiply, ct, half), zero));
    if (g->wants[0])
        g->out[0] = BUILD3(where, BUILD2(greater, x, low), below,
                           BUILD3(where, BUILD2(equal, x, low), BUILD2(multiply, below, half), zero));
    if (g->wants[1])
        g->out[1] = BUILD3(where, BUILD2(less, x, low), below,
                           BUILD3(where, BUILD2(equal, x, low), BUILD2(multiply, below, half), zero));
    if (g->wants[2])
        g->out[2] = BUILD3(where, BUILD2(greater, raised, high), ct,
                           BUILD3(where, BUILD2(equal, raised, high), BUILD2(multiply, ct, half), zero));
    return grad_done(g, 3);
}

static int grad_where(lazy_grad *g) {
    if (g->wants[1])
        g->out[1] = BUILD3(where, INPUT(0), g->ct, NUMBER(0));
    if (g->wants[2])
        g->out[2] = BUILD3(where, INPUT(0), NUMBER(0), g->ct);
    bool built = (!g->wants[1] || g->out[1]) && (!g->wants[2] || g->out[2]);
    return built ? NEAP_OK : NEAP_E_MEMORY;
}

/* Rows read as tables. */
/* clang-format off */
NEAP_OP(where,
    .doc = "b where a is true, else c. a is cast to bool; b and c are promoted.",
    .kind = LAZY_MAP, .arity = 3, .types = LAZY_ALL, .flags = LAZY_OP_CHEAP | LAZY_OP_CHOOSES | LAZY_OP_CHAINS,
    .dtype = graph_dtype_where, .undone = LAZY_UNDONE_CHOICES, .grad = grad_where,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.any = "a ? b : c", .half = "a ? b : c"},
    .domain = {-3, 3})

NEAP_OP(maximum,
    .doc = "The greater of a and b; NaN if one is NaN; 0.0 is greater than -0.0.",
    .example = "np.maximum(np.array{1, 5}, 3)\n[3. 5.]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_ORDERED,
    .flags = LAZY_OP_INTEGRAL | LAZY_OP_CHOOSES | LAZY_OP_COMMUTES | LAZY_OP_CHAINS,
    .dtype = graph_dtype_promote, .grad = grad_maximum,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1,
    .collective = "pmax",
    .kernel = {.boolean = "a | b", .integer = "a > b ? a : b", .real = "F(max)(a, b)"},
    .domain = {-3, 3}, .reference = "math.max(a, b)")

NEAP_OP(minimum,
    .doc = "The smaller of a and b; NaN if one is NaN; -0.0 is smaller than 0.0.",
    .example = "np.minimum(np.array{1, 5}, 3)\n[1. 3.]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_ORDERED,
    .flags = LAZY_OP_INTEGRAL | LAZY_OP_CHOOSES | LAZY_OP_COMMUTES | LAZY_OP_CHAINS,
    .dtype = graph_dtype_promote, .grad = grad_minimum,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1,
    .collective = "pmin",
    .kernel = {.boolean = "a & b", .integer = "a < b ? a : b", .real = "F(min)(a, b)"},
    .domain = {-3, 3}, .reference = "math.min(a, b)")

NEAP_OP(fmax,
    .doc = "The greater of a and b; where one is NaN, the other one; 0.0 is greater than -0.0.",
    .example = "np.fmax(np.array{1, np.nan}, 0)\n[1. 0.]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_ORDERED, .flags = LAZY_OP_INTEGRAL | LAZY_OP_CHOOSES | LAZY_OP_COMMUTES,
    .dtype = graph_dtype_promote, .grad = grad_fmax,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1,
    .collective = "pmax",
    .kernel = {.boolean = "a | b", .integer = "a > b ? a : b", .real = "F(max_number)(a, b)"},
    .domain = {-3, 3}, .reference = "math.max(a, b)")

NEAP_OP(fmin,
    .doc = "The smaller of a and b; where one is NaN, the other one; -0.0 is smaller than 0.0.",
    .example = "np.fmin(np.array{1, np.nan}, 2)\n[1. 2.]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_ORDERED, .flags = LAZY_OP_INTEGRAL | LAZY_OP_CHOOSES | LAZY_OP_COMMUTES,
    .dtype = graph_dtype_promote, .grad = grad_fmin,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1,
    .collective = "pmin",
    .kernel = {.boolean = "a & b", .integer = "a < b ? a : b", .real = "F(min_number)(a, b)"},
    .domain = {-3, 3}, .reference = "math.min(a, b)")

NEAP_OP(clip,
    .doc = "minimum(maximum(a, b), c): a limited to the range from b to c.",
    .kind = LAZY_MAP, .arity = 3, .types = LAZY_ORDERED, .flags = LAZY_OP_INTEGRAL | LAZY_OP_CHOOSES,
    .dtype = graph_dtype_promote, .grad = grad_clip,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1 | LAZY_RESIDUAL_IN2,
    .kernel = {.boolean = "(a | b) & c", .integer = "(a > b ? a : b) < c ? (a > b ? a : b) : c",
               .real = "F(min)(F(max)(a, b), c)"},
    .domain = {-3, 3}, .reference = "math.min(math.max(a, b), c)")

NEAP_OP(floor,
    .doc = "The largest integer that is not above a; bool and integers are their own.",
    .example = "np.floor(np.array{1.2, -1.2})\n[ 1. -2.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ORDERED, .flags = LAZY_OP_ZERO_GRAD, .dtype = graph_dtype_promote,
    .kernel = {.boolean = "a", .integer = "a", .real = "F(floor)(a)"},
    .domain = {-3, 3}, .reference = "math.floor(a)")

NEAP_OP(ceil,
    .doc = "The smallest integer that is not below a; bool and integers are their own.",
    .example = "np.ceil(np.array{1.2, -1.2})\n[ 2. -1.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ORDERED, .flags = LAZY_OP_ZERO_GRAD, .dtype = graph_dtype_promote,
    .kernel = {.boolean = "a", .integer = "a", .real = "F(ceil)(a)"},
    .domain = {-3, 3}, .reference = "math.ceil(a)")

NEAP_OP(trunc,
    .doc = "a without its fraction; bool and integers are their own.",
    .example = "np.trunc(np.array{1.7, -1.7})\n[ 1. -1.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ORDERED, .flags = LAZY_OP_ZERO_GRAD, .dtype = graph_dtype_promote,
    .kernel = {.boolean = "a", .integer = "a", .real = "F(trunc)(a)"},
    .domain = {-3, 3}, .reference = "a < 0 and math.ceil(a) or math.floor(a)")

NEAP_OP(round,
    .doc = "The nearest integer, halves to the even one; bool and integers are their own.",
    .example = "np.round(np.array{0.5, 1.5, 2.4})\n[0. 2. 2.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ORDERED, .flags = LAZY_OP_ZERO_GRAD, .dtype = graph_dtype_promote,
    .kernel = {.boolean = "a", .integer = "a", .real = "F(round)(a)"},
    .domain = {-3, 3})
/* clang-format on */
