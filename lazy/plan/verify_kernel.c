/* verify_kernel.c: rules 1 to 9 of verify.c: is this a kernel, drafted or planned, that the VM can run? */
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
int64_t plan_count_elements(int n, const int64_t *shape) {
    int64_t count = 1;
    for (int k = 0; k < n; k++)
        if (shape[k] < 0 || __builtin_mul_overflow(count, shape[k], &count))
            return -1;
    return count;
}

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
static bool works_on_rows(const lazy_kernel *kernel) {
    for (int k = 0; k < kernel->nsinks; k++)
        if (kernel->sinks[k].kind != LAZY_SINK_STORE)
            return true;
    return false;
}

static int check_domain(const lazy_verifier *v, const lazy_kernel *kernel) {
    if (kernel->nkept < 0 || kernel->nkept > kernel->ndim || kernel->ndim > LAZY_MAX_DOMAIN)
        return plan_broken_rule(v, 1, "the domain has %d axes, of which %d are kept", kernel->ndim, kernel->nkept);
    for (int k = 0; k < kernel->ndim; k++)
        if (kernel->shape[k] < 0)
            return plan_broken_rule(v, 1, "axis %d has %lld elements", k, (long long)kernel->shape[k]);
    if (plan_count_elements(kernel->ndim, kernel->shape) < 0)
        return plan_broken_rule(v, 1, "the domain has more elements than 64 bits count");
    if (works_on_rows(kernel) != (kernel->nkept < kernel->ndim))
        return plan_broken_rule(v, 1, "%d of %d axes are reduced, but %s works on rows", kernel->ndim - kernel->nkept,
                                kernel->ndim, works_on_rows(kernel) ? "a sink" : "no sink");
    if (kernel->nins > LAZY_KERNEL_MAX_INS)
        return plan_broken_rule(v, 1, "there are %d instructions", kernel->nins);
    return kernel->nsinks > 0 ? 0 : plan_broken_rule(v, 1, "there are no sinks");
}

/* A table's last row is as far from its first one as the extent says. */
static int check_read(const lazy_verifier *v, const lazy_kernel *kernel, int k, const neap_node *from) {
    const lazy_load *load = &kernel->loads[k];
    lazy_bounds b;
    int64_t offset = load->read.offset + plan_verify_origin(v, from);
    if (plan_count_elements(kernel->ndim, kernel->shape) == 0)
        return 0;
    bool counted = plan_map_bounds(kernel->ndim, kernel->shape, offset, load->read.stride, &b);
    if (counted && load->kind == LAZY_LOAD_TABLE) {
        if (load->extent <= 0)
            return plan_broken_rule(v, 2, "load %d is a table of %lld rows", k, (long long)load->extent);
        *(load->step < 0 ? &b.low : &b.high) += load->step * (load->extent - 1);
    }
    if (!counted || b.low < 0 || b.high >= from->size)
        return plan_broken_rule(v, 2, "load %d reads elements %lld to %lld of %lld", k, (long long)b.low,
                                (long long)b.high, (long long)from->size);
    return 0;
}

static int check_result(const lazy_verifier *v, const lazy_kernel *kernel, int k) {
    const lazy_load *load = &kernel->loads[k];
    if (load->slot < 0 || load->slot >= kernel->nsinks || kernel->sinks[load->slot].kind != LAZY_SINK_REDUCE)
        return plan_broken_rule(v, 7, "load %d is the result of sink %d, which is no reduction", k, load->slot);
    if (kernel->sinks[load->slot].dtype != load->dtype)
        return plan_broken_rule(v, 7, "load %d is the result of sink %d, but in %s", k, load->slot,
                                neap_dtype_name(load->dtype));
    return 0;
}

static int check_load(const lazy_verifier *v, const lazy_unit *u, int k) {
    const lazy_load *load = &u->kernel.loads[k];
    if (load->kind > LAZY_LOAD_TABLE || load->dtype >= NEAP_DTYPE_COUNT)
        return plan_broken_rule(v, 2, "load %d is of kind %d and dtype %d", k, load->kind, load->dtype);
    if (load->kind == LAZY_LOAD_RESULT)
        return check_result(v, &u->kernel, k);
    if (load->kind == LAZY_LOAD_IOTA)
        return neap_dtype_kind(load->dtype) == 'b' ? plan_broken_rule(v, 2, "load %d is an iota of bools", k) : 0;
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

static uint8_t value_dtype(const lazy_kernel *kernel, int32_t value) {
    return value < kernel->nloads ? kernel->loads[value].dtype : kernel->ins[value - kernel->nloads].result;
}

static bool is_table(const lazy_kernel *kernel, int32_t value) {
    return value < kernel->nloads && kernel->loads[value].kind == LAZY_LOAD_TABLE;
}

/* The dtypes that the row gives to a map of such operands, unless the result is an attribute's. */
static int check_map_dtypes(const lazy_verifier *v, const lazy_op *row, int i, const lazy_ins *ins) {
    lazy_aval in[3] = {{.dtype = ins->dtype}, {.dtype = ins->dtype}, {.dtype = ins->dtype}};
    lazy_call_desc call = {.nin = ins->narg, .in = in};
    lazy_result result = {.compute = ins->dtype, .dtype = ins->result};
    int bit = graph_kind_bit(ins->dtype);
    if (row->types && !(row->types & bit))
        return plan_broken_rule(v, 4, "instruction %d (%s) does not take %s", i, row->name,
                                neap_dtype_name(ins->dtype));
    if (!(row->flags & LAZY_OP_CASTS) && row->dtype && row->dtype(&call, &result) != 0)
        return plan_broken_rule(v, 4, "instruction %d (%s) has no dtype", i, row->name);
    if (result.compute != ins->dtype || result.dtype != ins->result)
        return plan_broken_rule(v, 4, "instruction %d (%s) makes %s of %s, but its row %s of %s", i, row->name,
                                neap_dtype_name(ins->result), neap_dtype_name(ins->dtype),
                                neap_dtype_name(result.dtype), neap_dtype_name(result.compute));
    return 0;
}

static int check_operand_dtypes(const lazy_verifier *v, const lazy_kernel *kernel, const lazy_op *row, int i) {
    const lazy_ins *ins = &kernel->ins[i];
    for (int k = 0; k < ins->narg; k++) {
        int dtype = value_dtype(kernel, ins->arg[k]), want = ins->dtype;
        bool index = row->kind == LAZY_GATHER && k == 1, integer = strchr("iu", neap_dtype_kind(dtype)) != NULL;
        if (row->dtype == graph_dtype_where && k == 0)
            want = NEAP_DTYPE_BOOL;
        if (index ? !integer : dtype != want)
            return plan_broken_rule(v, 4, "instruction %d (%s) has an operand %d of dtype %s", i, row->name, k,
                                    neap_dtype_name(dtype));
    }
    if (row->kind == LAZY_GATHER)
        return ins->result == ins->dtype ? 0 : plan_broken_rule(v, 4, "instruction %d (%s) casts", i, row->name);
    return check_map_dtypes(v, row, i, ins);
}

static int check_instruction(const lazy_verifier *v, const lazy_kernel *kernel, int i) {
    const lazy_ins *ins = &kernel->ins[i];
    const lazy_op *row = ins->op >= 0 && ins->op < lazy_op_count ? lazy_ops[ins->op] : NULL;
    if (!row || (row->kind != LAZY_MAP && row->kind != LAZY_GATHER))
        return plan_broken_rule(v, 3, "instruction %d (%s) is no map", i, row ? row->name : "?");
    if (ins->narg != row->arity || ins->narg > 3)
        return plan_broken_rule(v, 3, "instruction %d (%s) has %d operands", i, row->name, ins->narg);
    if (ins->dtype >= NEAP_DTYPE_COUNT || ins->result >= NEAP_DTYPE_COUNT)
        return plan_broken_rule(v, 4, "instruction %d (%s) is of dtypes %d, %d", i, row->name, ins->dtype, ins->result);
    for (int k = 0; k < ins->narg; k++) {
        if (ins->arg[k] < 0 || ins->arg[k] >= kernel->nloads + i)
            return plan_broken_rule(v, 3, "instruction %d (%s) reads value %d, which is not there yet", i, row->name,
                                    ins->arg[k]);
        if (is_table(kernel, ins->arg[k]) != (row->kind == LAZY_GATHER && k == 0))
            return plan_broken_rule(v, 3, "instruction %d (%s) reads value %d, which is %s table", i, row->name,
                                    ins->arg[k], is_table(kernel, ins->arg[k]) ? "a" : "no");
        for (int j = 0; j < i && is_table(kernel, ins->arg[k]); j++)
            if (kernel->ins[j].arg[0] == ins->arg[k])
                return plan_broken_rule(v, 3, "instructions %d and %d read one table", j, i);
    }
    return check_operand_dtypes(v, kernel, row, i);
}

static int check_sink(const lazy_verifier *v, const lazy_kernel *kernel, int k) {
    const lazy_sink *sink = &kernel->sinks[k];
    if (sink->kind > LAZY_SINK_REDUCE || sink->value < 0 || sink->value >= kernel->nloads + kernel->nins)
        return plan_broken_rule(v, 5, "sink %d is of kind %d and takes value %d", k, sink->kind, sink->value);
    if (is_table(kernel, sink->value))
        return plan_broken_rule(v, 3, "sink %d takes value %d, which is a table", k, sink->value);
    int dtype = value_dtype(kernel, sink->value), want = dtype;
    if (sink->kind == LAZY_SINK_REDUCE) {
        const lazy_op *row = sink->op >= 0 && sink->op < lazy_op_count ? lazy_ops[sink->op] : NULL;
        if (!row || row->kind != LAZY_REDUCE)
            return plan_broken_rule(v, 5, "sink %d (%s) is no reduction", k, row ? row->name : "?");
        want = row->flags & LAZY_OP_ARG ? NEAP_DTYPE_I32 : dtype;
    } else if (sink->slot < 0) {
        return plan_broken_rule(v, 5, "sink %d stores nothing", k);
    }
    if (sink->dtype != want)
        return plan_broken_rule(v, 5, "sink %d is of dtype %d, but its value of dtype %s", k, sink->dtype,
                                neap_dtype_name(dtype));
    return 0;
}

int plan_sink_axes(const lazy_kernel *kernel, const lazy_sink *sink) {
    return sink->kind == LAZY_SINK_STORE ? kernel->ndim : kernel->nkept;
}

static int check_write(const lazy_verifier *v, const lazy_unit *u, int k) {
    const lazy_kernel *kernel = &u->kernel;
    const lazy_sink *sink = &kernel->sinks[k];
    const neap_node *to = plan_verify_node(v, u->writes[k]);
    int n = plan_sink_axes(kernel, sink);
    lazy_bounds b;
    if (sink->slot < 0)
        return 0;
    if (!to || plan_is_leaf(to) || !v->made[u->writes[k]])
        return plan_broken_rule(v, 6, "sink %d writes node %d, which is not to be made", k, u->writes[k]);
    if (to->dtype != sink->dtype || !plan_share_memory(graph_node_runs_on(to), u->device))
        return plan_broken_rule(v, 6, "sink %d writes %s on device %d, but its node is %s on device %d", k,
                                neap_dtype_name(sink->dtype), u->device, neap_dtype_name(to->dtype),
                                graph_node_runs_on(to));
    for (int a = n; a < kernel->ndim; a++)
        if (sink->write.stride[a])
            return plan_broken_rule(v, 6, "sink %d moves along axis %d, which is reduced", k, a);
    if (plan_count_elements(n, kernel->shape) == 0)
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

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
enum { VALUE_VARIES = 1, VALUE_LATE = 2 }; /* inside a row; it depends on a reduction of the kernel */

static uint8_t load_state(const lazy_kernel *kernel, const lazy_load *load) {
    if (load->kind == LAZY_LOAD_RESULT)
        return VALUE_LATE;
    for (int a = kernel->nkept; a < kernel->ndim; a++)
        if (kernel->shape[a] > 1 && load->read.stride[a])
            return VALUE_VARIES;
    return 0;
}

static int check_row(const lazy_verifier *v, const lazy_kernel *kernel, const char *what, int k) {
    int64_t row = plan_count_elements(kernel->ndim - kernel->nkept, kernel->shape + kernel->nkept);
    if (row <= LAZY_ROW_MAX)
        return 0;
    return plan_broken_rule(v, 8, "%s %d reads rows of %lld elements a second time", what, k, (long long)row);
}

/* The operand of a reduction stands before what reads its result. */
static int check_late_operand(const lazy_verifier *v, const lazy_kernel *kernel, const char *what, int k, int32_t value,
                              int32_t limit) {
    if (value >= kernel->nloads || kernel->loads[value].kind != LAZY_LOAD_RESULT)
        return 0;
    int sink = kernel->loads[value].slot;
    if (kernel->sinks[sink].value < limit)
        return 0;
    return plan_broken_rule(v, 7, "%s %d reads the result of sink %d before its operand is there", what, k, sink);
}

static int check_sink_rows(const lazy_verifier *v, const lazy_kernel *kernel, const uint8_t *state, int k) {
    const lazy_sink *sink = &kernel->sinks[k];
    int32_t value = sink->value;
    if (sink->kind == LAZY_SINK_STORE_ROW)
        return state[value] & VALUE_VARIES ? plan_broken_rule(v, 8, "sink %d stores a value that varies inside rows", k)
                                           : 0;
    if (sink->kind == LAZY_SINK_REDUCE && value < kernel->nloads && kernel->loads[value].kind == LAZY_LOAD_RESULT &&
        kernel->loads[value].slot >= k)
        return plan_broken_rule(v, 7, "sink %d reduces the result of sink %d", k, kernel->loads[value].slot);
    return state[value] & VALUE_LATE ? check_row(v, kernel, "sink", k) : 0;
}

static int check_rows(const lazy_verifier *v, const lazy_kernel *kernel) {
    uint8_t *state = calloc((size_t)(kernel->nloads + kernel->nins) + 1, 1);
    int status = state ? 0 : plan_verify_no_memory();
    for (int k = 0; k < kernel->nloads && status == 0; k++)
        state[k] = load_state(kernel, &kernel->loads[k]);
    for (int i = 0; i < kernel->nins && status == 0; i++) {
        int32_t value = kernel->nloads + i;
        for (int k = 0; k < kernel->ins[i].narg && status == 0; k++) {
            state[value] |= state[kernel->ins[i].arg[k]];
            status = check_late_operand(v, kernel, "instruction", i, kernel->ins[i].arg[k], value);
        }
        if (status == 0 && state[value] == (VALUE_LATE | VALUE_VARIES))
            status = check_row(v, kernel, "instruction", i);
    }
    for (int k = 0; k < kernel->nsinks && status == 0; k++)
        status = check_sink_rows(v, kernel, state, k);
    free(state);
    return status;
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
    int status = check_domain(v, kernel);
    for (int k = 0; k < kernel->nloads && status == 0; k++)
        status = check_load(v, u, k);
    for (int i = 0; i < kernel->nins && status == 0; i++)
        status = check_instruction(v, kernel, i);
    for (int k = 0; k < kernel->nsinks && status == 0; k++)
        status = check_sink(v, kernel, k);
    for (int k = 0; k < kernel->nsinks && status == 0; k++)
        status = check_write(v, u, k);
    if (status == 0)
        status = check_rows(v, kernel);
    return status ? status : plan_check_own_reads(v, u);
}
