/* build.h: short names for building nodes in rules of derivatives and batches, and what rules of division need. `g` is
 * the rule's argument everywhere; a NULL operand (memory) gives NULL, so rules check once, at their end. */
#ifndef LAZY_DERIVE_BUILD_H
#define LAZY_DERIVE_BUILD_H

#include "lazy/derive/batch.h"
#include "lazy/op.h"
#include "lazy/shard/shard.h"
#include "ops_gen.h"

#define BUILD1(op, a) graph_build1(g->ctx, LAZY_OP_##op, a)
#define BUILD2(op, a, b) graph_build2(g->ctx, LAZY_OP_##op, a, b)
#define BUILD3(op, a, b, c) graph_build3(g->ctx, LAZY_OP_##op, a, b, c)
#define NUMBER(value) graph_build_number(g->ctx, value)
#define INPUT(k) graph_node_in(g->node, k)

/* The end of a rule: out of memory if a wanted cotangent was not built. */
static inline int grad_done(const lazy_grad *g, int nin) {
    for (int k = 0; k < nin; k++)
        if (g->wants[k] && !g->out[k])
            return NEAP_E_MEMORY;
    return NEAP_OK;
}

static inline int jvp_done(const lazy_tangent *g) {
    return g->out ? NEAP_OK : NEAP_E_MEMORY;
}

/* Rules of one input: out[0] = expression. */
#define GRAD1(name, expression)                                                                                        \
    static int name(lazy_grad *g) {                                                                                    \
        neap_node *ct = g->ct, *x = INPUT(0), *y = g->node;                                                            \
        (void)ct, (void)x, (void)y;                                                                                    \
        g->out[0] = expression;                                                                                        \
        return grad_done(g, 1);                                                                                        \
    }

/* Rules of two inputs a, b. */
#define GRAD2(name, da, db)                                                                                            \
    static int name(lazy_grad *g) {                                                                                    \
        neap_node *ct = g->ct, *a = INPUT(0), *b = INPUT(1), *y = g->node;                                             \
        (void)ct, (void)a, (void)b, (void)y;                                                                           \
        if (g->wants[0])                                                                                               \
            g->out[0] = da;                                                                                            \
        if (g->wants[1])                                                                                               \
            g->out[1] = db;                                                                                            \
        return grad_done(g, 2);                                                                                        \
    }

#endif
