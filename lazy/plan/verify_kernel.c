/* verify_kernel.c: rules 1 to 9 of verify.c: is this a kernel, drafted or planned, that can be run? What is asked of a
 * loop by itself stands in loop/verify.c. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lazy/plan/verify.h"

/* ---- Errors and nodes -------------------------------------------------------------------------------------------- */
int plan_broken_rule(const lazy_verifier *v, int rule, const char *format, ...) {
    char what[512], where[160] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (v->at >= 0)
        snprintf(where, sizeof where, "%s %lld (%s): ", v->what, (long long)v->at, v->op);
    return neap_error(NEAP_E_INTERNAL, "verify after %s: %srule %d: %s", v->pass, where, rule, what);
}

int plan_verify_no_memory(void) {
    return neap_error(NEAP_E_MEMORY, "out of memory for the verifier");
}

const neap_node *plan_verify_node(const lazy_verifier *v, int32_t node) {
    return node >= 0 && node < v->ctx->walk.order.n ? v->ctx->walk.order.at[node] : NULL;
}

bool plan_verify_has_value(const lazy_verifier *v, int32_t node) {
    return plan_is_leaf(plan_verify_node(v, node)) || v->made[node];
}

int64_t plan_verify_origin(const lazy_verifier *v, const neap_node *from) {
    int64_t origin = plan_origin(v->ctx, from);
    return origin > 0 ? origin : 0;
}

const char *plan_verify_op_name(const lazy_verifier *v, int32_t node) {
    const neap_node *at = plan_verify_node(v, node);
    return at ? graph_node_op(at)->name : "?";
}

/* ---- Boxes and maps ---------------------------------------------------------------------------------------------- */
bool plan_map_bounds(int n, const int64_t *shape, int64_t offset, const int64_t *stride, lazy_bounds *out) {
    *out = (lazy_bounds){offset, offset};
    for (int k = 0; k < n; k++) {
        int64_t reach;
        if (__builtin_mul_overflow(shape[k] - 1, stride[k], &reach))
            return false;
        int64_t *end = reach < 0 ? &out->low : &out->high;
        if (__builtin_add_overflow(*end, reach, end))
            return false;
    }
    return true;
}

/* Does the map lead to another element from each place of the box? By size of stride, each must step over all that the
 * smaller ones reach; other maps of that kind exist, but nobody makes them. */
static bool is_injective(int n, const int64_t *shape, const int64_t *stride) {
    int64_t reached = 0;
    bool done[LAZY_MAX_DOMAIN] = {0};
    for (;;) {
        int next = -1;
        for (int k = 0; k < n; k++)
            if (!done[k] && shape[k] > 1 && (next < 0 || llabs(stride[k]) < llabs(stride[next])))
                next = k;
        if (next < 0)
            return true;
        if (llabs(stride[next]) <= reached)
            return false;
        done[next] = true;
        reached += llabs(stride[next]) * (shape[next] - 1);
    }
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */
/* A table's last row is as far from its first one as the extent says. */
static int check_read(const lazy_verifier *v, const lazy_kernel *kernel, int k, const neap_node *from) {
    const lazy_load *load = &kernel->loads[k];
    lazy_bounds b;
    int64_t offset = load->read.offset + plan_verify_origin(v, from);
    if (loop_count_elements(kernel->ndim, kernel->shape) == 0)
        return 0;
    bool counted = plan_map_bounds(kernel->ndim, kernel->shape, offset, load->read.stride, &b);
    if (counted && load->kind == LAZY_LOAD_TABLE)
        *(load->step < 0 ? &b.low : &b.high) += load->step * (load->extent - 1);
    if (!counted || b.low < 0 || b.high >= from->size)
        return plan_broken_rule(v, 2, "load %d reads elements %lld to %lld of %lld", k, (long long)b.low,
                                (long long)b.high, (long long)from->size);
    return 0;
}

static int check_load(const lazy_verifier *v, const lazy_unit *u, int k) {
    const lazy_load *load = &u->kernel.loads[k];
    loop_fault f;
    if (!loop_check_load(&u->kernel, k, &f))
        return plan_broken_rule(v, f.rule, "%s", f.text);
    if (load->kind == LAZY_LOAD_VALUE)
        return plan_broken_rule(v, 2, "load %d is a value of another loop", k);
    if (load->kind == LAZY_LOAD_RESULT || load->kind == LAZY_LOAD_IOTA)
        return 0;
    const neap_node *from = plan_verify_node(v, u->reads[k]);
    if (!from)
        return plan_broken_rule(v, 2, "load %d reads node %d, which is not in the region", k, u->reads[k]);
    if (from->dtype != load->dtype)
        return plan_broken_rule(v, 2, "load %d is of dtype %s, but reads %s", k, neap_dtype_name(load->dtype),
                                neap_dtype_name(from->dtype));
    if (load->kind == LAZY_LOAD_SCALAR)
        return graph_is_number(from) ? 0 : plan_broken_rule(v, 2, "load %d is no number", k);
    if (!plan_verify_has_value(v, u->reads[k]))
        return plan_broken_rule(v, 2, "load %d reads node %d, which nobody makes", k, u->reads[k]);
    return check_read(v, &u->kernel, k, from);
}

/* The dtypes that the row gives to a map of such operands, unless the result is an attribute's. */
static bool check_map_dtypes(const lazy_op *row, int i, const lazy_ins *ins, loop_fault *f) {
    lazy_aval in[3] = {{.dtype = ins->dtype}, {.dtype = ins->dtype}, {.dtype = ins->dtype}};
    lazy_call_desc call = {.nin = ins->narg, .in = in};
    lazy_result result = {.compute = ins->dtype, .dtype = ins->result};
    int bit = graph_kind_bit(ins->dtype);
    if (row->types && !(row->types & bit))
        return loop_breaks(f, 4, "instruction %d (%s) does not take %s", i, row->name, neap_dtype_name(ins->dtype));
    if (!(row->flags & LAZY_OP_CASTS) && row->dtype && row->dtype(&call, &result) != 0)
        return loop_breaks(f, 4, "instruction %d (%s) has no dtype", i, row->name);
    if (result.compute != ins->dtype || result.dtype != ins->result)
        return loop_breaks(f, 4, "instruction %d (%s) makes %s of %s, but its row %s of %s", i, row->name,
                           neap_dtype_name(ins->result), neap_dtype_name(ins->dtype), neap_dtype_name(result.dtype),
                           neap_dtype_name(result.compute));
    return true;
}

static bool check_dtypes(const lazy_kernel *kernel, int i, loop_fault *f) {
    const lazy_ins *ins = &kernel->ins[i];
    const lazy_op *row = lazy_ops[ins->op];
    for (int k = 0; k < ins->narg; k++) {
        int dtype = loop_dtype_of(kernel, ins->arg[k]), want = ins->dtype;
        bool index = row->kind == LAZY_GATHER && k == 1, integer = strchr("iu", neap_dtype_kind(dtype)) != NULL;
        if (row->dtype == graph_dtype_where && k == 0)
            want = NEAP_DTYPE_BOOL;
        if (index ? !integer : dtype != want)
            return loop_breaks(f, 4, "instruction %d (%s) has an operand %d of dtype %s", i, row->name, k,
                               neap_dtype_name(dtype));
    }
    if (row->kind == LAZY_GATHER)
        return ins->result == ins->dtype || loop_breaks(f, 4, "instruction %d (%s) casts", i, row->name);
    return check_map_dtypes(row, i, ins, f);
}

static int check_write(const lazy_verifier *v, const lazy_unit *u, int k) {
    const lazy_kernel *kernel = &u->kernel;
    const lazy_sink *sink = &kernel->sinks[k];
    const neap_node *to = plan_verify_node(v, u->writes[k]);
    int n = loop_sink_axes(kernel, sink);
    lazy_bounds b;
    if (sink->slot < 0)
        return 0;
    if (!to || plan_is_leaf(to) || !v->made[u->writes[k]])
        return plan_broken_rule(v, 6, "sink %d writes node %d, which is not to be made", k, u->writes[k]);
    if (to->dtype != sink->dtype || !plan_share_memory(graph_node_runs_on(to), u->device))
        return plan_broken_rule(v, 6, "sink %d writes %s on device %d, but its node is %s on device %d", k,
                                neap_dtype_name(sink->dtype), u->device, neap_dtype_name(to->dtype),
                                graph_node_runs_on(to));
    if (loop_count_elements(n, kernel->shape) == 0)
        return 0;
    if (!plan_map_bounds(n, kernel->shape, sink->write.offset, sink->write.stride, &b) || b.low < 0 ||
        b.high >= to->size)
        return plan_broken_rule(v, 6, "sink %d writes elements %lld to %lld of %lld", k, (long long)b.low,
                                (long long)b.high, (long long)to->size);
    if (!is_injective(n, kernel->shape, sink->write.stride))
        return plan_broken_rule(v, 6, "sink %d writes elements twice", k);
    for (int j = 0; j < k; j++)
        if (kernel->sinks[j].slot >= 0 && u->writes[j] == u->writes[k])
            return plan_broken_rule(v, 6, "sinks %d and %d write one value", j, k);
    return 0;
}

int32_t plan_buffer_read(const lazy_unit *u, int32_t k) {
    if (u->call)
        return u->reads[k];
    return loop_has_buffer(&u->kernel.loads[k]) ? u->reads[k] : -1;
}

int plan_check_own_reads(const lazy_verifier *v, const lazy_unit *u) {
    for (int32_t k = 0; k < u->nreads; k++)
        for (int32_t j = 0; j < u->nwrites; j++)
            if (u->writes[j] >= 0 && plan_buffer_read(u, k) == u->writes[j])
                return plan_broken_rule(v, 9, "it reads node %d, which it writes", u->writes[j]);
    return 0;
}

int plan_check_kernel(const lazy_verifier *v, const lazy_unit *u) {
    const lazy_kernel *kernel = &u->kernel;
    loop_fault f;
    int status = loop_check_domain(kernel, &f) ? 0 : plan_broken_rule(v, f.rule, "%s", f.text);
    for (int k = 0; k < kernel->nsinks && status == 0; k++)
        if (kernel->sinks[k].kind != LAZY_SINK_STORE && kernel->nkept == kernel->ndim)
            status = plan_broken_rule(v, 1, "no axis is reduced, but a sink works on rows");
    for (int k = 0; k < kernel->nloads && status == 0; k++)
        status = check_load(v, u, k);
    if (status)
        return status;
    if ((status = loop_check(kernel, check_dtypes, &f)))
        return status == NEAP_E_MEMORY ? plan_verify_no_memory() : plan_broken_rule(v, f.rule, "%s", f.text);
    for (int k = 0; k < kernel->nsinks && status == 0; k++)
        status = check_write(v, u, k);
    return status ? status : plan_check_own_reads(v, u);
}
