/* complex.c: complex numbers made of real ones, and their parts. A complex dtype is one of the machine's: its elements
 * are moved and computed whole. Cotangents are those of JAX: that of z = x + iy is the one of x minus i times the one
 * of y, so rules of functions that have a complex derivative f' are ct * f', as for real numbers. */
#include "lazy/derive/build.h"
#include "lazy/dtype/scalar.h"

static int grad_complex(lazy_grad *g) {
    if (g->wants[0])
        g->out[0] = BUILD1(real, g->ct);
    if (g->wants[1])
        g->out[1] = BUILD1(negative, BUILD1(imag, g->ct));
    return grad_done(g, 2);
}

static int jvp_complex(lazy_tangent *g) {
    g->out = BUILD2(complex, g->in[0] ? g->in[0] : NUMBER(0), g->in[1] ? g->in[1] : NUMBER(0));
    return jvp_done(g);
}

static bool is_complex(neap_node *node) {
    return neap_dtype_kind(graph_node_aval(node).dtype) == 'c';
}

static int grad_real(lazy_grad *g) {
    g->out[0] = is_complex(INPUT(0)) ? BUILD2(complex, g->ct, NUMBER(0)) : g->ct;
    return grad_done(g, 1);
}

static int grad_imag(lazy_grad *g) {
    if (!is_complex(INPUT(0)))
        return NEAP_OK;
    g->out[0] = BUILD2(complex, NUMBER(0), BUILD1(negative, g->ct));
    return grad_done(g, 1);
}

GRAD1(grad_conj, BUILD1(conj, ct))

/* Rows read as tables. */
/* clang-format off */
NEAP_OP(complex,
    .doc = "The complex number whose real part is a and whose imaginary part is b; bool and integers are taken as "
           "floats.",
    .example = "np.complex(np.array{1, 2}, np.array{0, -1})\n[1.+0.j 2.-1.j]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_REAL, .dtype = graph_dtype_parts,
    .grad = grad_complex, .jvp = jvp_complex,
    .kernel = {.real = "F(complex)(a, b)"},
    .domain = {-3, 3})

NEAP_OP(real,
    .doc = "The real part; other dtypes than complex ones are their own.",
    .example = "np.real(np.array{1, 2i})\n[1. 0.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_REAL, .dtype = graph_dtype_part,
    .grad = grad_real, .jvp = derive_jvp_linear,
    .kernel = {.boolean = "a", .integer = "a", .real = "a", .complex = "F(real)(a)", .half = "a"},
    .domain = {-3, 3}, .reference = "a")

NEAP_OP(imag,
    .doc = "The imaginary part; 0 for other dtypes than complex ones.",
    .example = "np.imag(np.array{1, 2i})\n[0. 2.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ALL, .dtype = graph_dtype_part,
    .grad = grad_imag, .jvp = derive_jvp_linear,
    .kernel = {.boolean = "0", .integer = "0", .real = "0", .complex = "F(imag)(a)"},
    .domain = {-3, 3}, .reference = "0")

NEAP_OP(conj,
    .doc = "The complex conjugate: the imaginary part with the other sign; other dtypes than complex ones are their "
           "own.",
    .example = "np.conj(np.array{1, 2i})\n[1.-0.j 0.-2.j]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ALL, .dtype = graph_dtype_promote, .undone = LAZY_UNDONE_LINEAR,
    .grad = grad_conj,
    .kernel = {.boolean = "a", .integer = "a", .real = "a", .complex = "F(conj)(a)", .half = "a"},
    .domain = {-3, 3}, .reference = "a")
/* clang-format on */
