/* control/refit.c: loops, branches and calls in a program that gets inputs of other types (program/refit.h): their
 * programs are recorded for what the node reads now.
 */
#include <string.h>

#include "lazy/control/control.h"
#include "lazy/dtype/scalar.h"
#include "lazy/program/program.h"

/* The float number k (from 0) of n types; NULL: there are not so many. */
static const neap_node *nth_float(int64_t n, neap_node *const *nodes, int64_t k) {
    for (int64_t i = 0; i < n; i++)
        if (dtype_is_inexact(nodes[i]->dtype) && k-- == 0)
            return nodes[i];
    return NULL;
}

/* What input k of program p is like: an operand, an own input, or, of a rule's programs, a tangent of an operand, or a
 * residual or a cotangent, as the programs in front of it (`made`) give them. NULL: the rule has no such input. */
static const neap_node *like_input(const lazy_control *control, int p, int64_t k, neap_node *const *in,
                                   neap_program *const *made) {
    const lazy_control_shape *shape = &control->shape;
    int64_t own = control->programs[p]->inputs.n - shape->consts[p];
    if (k >= own)
        return in[shape->const_at[p] + k - own];
    if (p < control_bodies(control) || (p == 1 && k < shape->operands))
        return in[shape->first + k];
    if (p == 1)
        return nth_float(shape->operands, in + shape->first, k - shape->operands);
    int64_t residuals = made[1]->outputs.n - shape->results;
    return k < residuals ? made[1]->outputs.at[shape->results + k]
                         : nth_float(shape->results, made[1]->outputs.at, k - residuals);
}

/* Fills in the ports of program p. A turn of a scan sees a part of its xs; numbers stay numbers. */
static int fill_ports(const lazy_control *control, int p, neap_node *const *in, neap_program *const *made,
                      lazy_port *ports) {
    const neap_program *program = control->programs[p];
    for (int64_t k = 0; k < program->inputs.n; k++) {
        const neap_node *like = like_input(control, p, k, in, made);
        lazy_port want = program_port_of(program->inputs.at[k]);
        if (!like)
            return control_refuse(control, "the programs of its rule do not fit each other");
        ports[k] = program_port_of(like);
        ports[k].weak = want.weak;
        ports[k].yields = want.yields;
        ports[k].fraction = want.fraction;
        ports[k].device = want.device;
        ports[k].sharding = want.sharding;
        if (want.weak)
            ports[k] = want;
        if (p < control_bodies(control) && control_is_xs(&control->shape, (int)k)) {
            if (like->ndim == 0)
                return control_refuse(control, "expected xs with a first axis");
            ports[k].type.ndim--;
            memcpy(ports[k].type.shape, like->shape + 1, ports[k].type.ndim * sizeof *like->shape);
        }
    }
    return 0;
}

static int refit_programs(lazy_refit *r, const lazy_control *control, neap_node *const *in, neap_program **made) {
    int status = 0;
    for (int p = 0; p < control->nprograms && status == 0; p++) {
        neap_program *program = control->programs[p];
        lazy_port *ports = malloc((size_t)program->inputs.n * sizeof *ports + 1);
        status =
            ports ? fill_ports(control, p, in, made, ports) : neap_error(NEAP_E_MEMORY, "out of memory for a program");
        if (status == 0 && (r->resized || r->recast))
            status = program_refit(r->ctx, program, r, ports, &made[p]);
        else if (status == 0)
            made[p] = program_retain(program);
        free(ports);
    }
    return status;
}

/* May a number have been this size, which is another now? */
static bool was_size(lazy_refit *r, int64_t size) {
    int64_t now = size;
    return program_follow_known(r, size, &now) > 1 || now != size;
}

/* A scan is as long as its xs; how long it is without any is a number, which must be none of the sizes, nor one less
 * (a loop from 1 on). */
static int follow_length(lazy_refit *r, const lazy_control *control, neap_node *const *in, int64_t *length) {
    const lazy_control_shape *shape = &control->shape;
    if (shape->xs > 0)
        *length = in[shape->first + shape->operands]->ndim ? in[shape->first + shape->operands]->shape[0] : 0;
    else if (r->resized && *length > 1 && (was_size(r, *length) || was_size(r, *length + 1)))
        return neap_error(NEAP_E_SHAPE,
                          "%s: its %lld turns may be the size of an axis that is another now, or one less; scan "
                          "over an array, or record the program with sizes that are none of its numbers",
                          lazy_ops[shape->op]->name, (long long)*length);
    return 0;
}

neap_node *control_refit(lazy_refit *r, const neap_node *node, neap_node *const *in) {
    const lazy_control *control = control_of(node);
    neap_program **made = calloc((size_t)control->nprograms, sizeof *made);
    int64_t *attrs = malloc((size_t)node->nattrs * sizeof *attrs);
    neap_node *again = NULL;
    if (!made || !attrs) {
        neap_error(NEAP_E_MEMORY, "out of memory for a program");
    } else {
        memcpy(attrs, node->attrs + 1, (size_t)(node->nattrs - 1) * sizeof *attrs);
        graph_call call = {.op = node->op, .nin = node->nin, .nattrs = node->nattrs - 1, .in = in, .attrs = attrs};
        if ((!control->shape.kind->stacks || follow_length(r, control, in, &attrs[0]) == 0) &&
            refit_programs(r, control, in, made) == 0)
            again = control_record(r->ctx, control->nprograms, made, &call);
    }
    for (int p = 0; p < control->nprograms && made; p++)
        neap_program_free(made[p]);
    free(attrs);
    free(made);
    return again;
}
