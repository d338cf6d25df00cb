/* jit.c: jitted functions: the call that finds the entry that fits, and runs it (jit.h).
 *
 * A call is the hot path of a training loop. What it does for each leaf is a look at the handle table and a comparison
 * with the program's placeholder; the forms keep all scratch, and a node for each number that is used again unless
 * somebody kept it.
 */
#include "lazy/jit.h"

#include <stdarg.h>

#include "lazy/effect/effect.h"
#include "lazy/program/donate.h"
#include "lazy/program/entries.h"
#include "lazy/program/lower.h"

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
/* A node for a number; BORROWED from the form. */
static neap_node *number_node(neap_form *form, int k) {
    neap_ctx *ctx = form->jit->ctx;
    neap_node *node = form->numbers[k];
    if (!node || node->refs > 1) {
        graph_release(ctx, node);
        form->numbers[k] = node = graph_constant(ctx, NEAP_DTYPE_F64, true, 0);
    }
    if (node)
        node->value = form->values[k];
    return node;
}

/* A number that was computed of others is a number to the program: its value, once it is there. */
static int compute_number(neap_form *form, int k, neap_node **node) {
    int32_t dtype;
    double value[2] = {0};
    int status = neap_array_item(form->jit->ctx, form->ids[k], value, &dtype);
    form->values[k] = value[0];
    if (status == 0 && !(*node = number_node(form, k)))
        status = NEAP_E_MEMORY;
    return status;
}

static bool is_computed_number(const neap_ctx *ctx, const neap_node *node) {
    return node && node->flags & LAZY_WEAK && node->dtype == NEAP_DTYPE_F64 && !node->levels && !ctx->start.deferring &&
           !graph_is_number(node);
}

static int look_up(neap_form *form) {
    neap_ctx *ctx = form->jit->ctx;
    for (int k = 0; k < form->n; k++) {
        neap_node *node = NULL;
        if (form->is_number[k]) {
            if (!(node = number_node(form, k)))
                return NEAP_E_MEMORY;
        } else if (form->ids[k] && !(node = graph_lookup(ctx, form->ids[k]))) {
            return neap_error_code();
        }
        int status = is_computed_number(ctx, node) ? compute_number(form, k, &node) : 0;
        if (status)
            return status;
        form->nodes[k] = node;
    }
    return 0;
}

static int check_numbers(const jit_entry *e, neap_node *const *inputs, bool runs) {
    int status = 0;
    for (int k = 0; k < e->program->inputs.n && status == 0; k++)
        if (e->program->inputs.at[k]->flags & LAZY_WEAK)
            status = program_check(e->program, k, inputs[k], runs);
    return status;
}

/* Records the program's ops again, on arrays of open levels. */
static int inline_entry(neap_form *form, jit_entry *e) {
    neap_ctx *ctx = form->jit->ctx;
    int64_t n = e->program->outputs.n;
    neap_node **nodes = malloc((size_t)n * sizeof *nodes + 1);
    int status = nodes ? check_numbers(e, form->inputs, false) : neap_error(NEAP_E_MEMORY, "out of memory for a call");
    if (status == 0 && (status = program_inline(ctx, e->program, form->inputs, nodes)) == 0)
        for (int64_t k = 0; k < n; k++) {
            if (status == 0)
                status = graph_publish(ctx, nodes[k], &e->results[k]);
            else
                graph_release(ctx, nodes[k]);
        }
    free(nodes);
    return status;
}

/* Arrays that follow those of the leaves belong to the program, as captures do. */
static int keep_inputs(const jit_entry *e) {
    int32_t *kept = malloc((size_t)(e->form->n + e->fixed.n) * sizeof *kept + 1), input = 0;
    const bool keeps = e->form->jit->keeps;
    int64_t n = 0;
    if (!kept)
        return neap_error(NEAP_E_MEMORY, "out of memory for a jitted function");
    for (int k = 0; k < e->form->n; k++) {
        if (e->uses[k].use == NEAP_LEAF_KEPT)
            kept[n++] = input;
        input += e->uses[k].use <= NEAP_LEAF_KEPT;
    }
    for (int64_t k = 0; keeps && k < e->fixed.n; k++)
        kept[n++] = input++;
    int status = n || keeps ? program_keep(e->program, n, kept) : 0;
    free(kept);
    return status;
}

/* Before the first run: a program that is only inlined needs no plan. */
static int plan_entry(jit_entry *e) {
    int status = program_plan(e->program);
    if (status == 0)
        status = keep_inputs(e);
    if (status)
        return status;
    e->planned = true;
    entries_weigh(e);
    if (!e->program->meshed)
        program_donation_slots(program_runs(e->program), e->donation.n, e->donation.inputs,
                               (int32_t *)e->donation.leaf_of);
    return 0;
}

/* A deferred array has no memory to give. */
static int check_donation(const lazy_donation *donation, neap_node *const *inputs) {
    for (int64_t k = 0; k < donation->n; k++)
        if (graph_read_target(inputs[donation->inputs[k]])->state == LAZY_DEFERRED)
            return neap_error(NEAP_E_STATE, "jit: a donated array is deferred and has no memory to give; np.force it "
                                            "first");
    return 0;
}

static int run_entry(neap_form *form, jit_entry *e) {
    int status = e->planned ? 0 : plan_entry(e);
    lazy_donation *donation = e->donation.n ? &e->donation : NULL;
    if (status == 0 && donation)
        status = check_donation(donation, form->inputs);
    if (status == 0 && e->guarded)
        status = check_numbers(e, form->inputs, true);
    if (status)
        return status;
    if (!donation)
        return program_run(form->jit->ctx, e->program, form->inputs, NULL, e->results);
    donation->site = form->site;
    status = program_run(form->jit->ctx, e->program, form->inputs, donation, e->results);
    if (status == 0) {
        e->info.donated += donation->n;
        e->info.overwrote += donation->taken;
        if (donation->taken < donation->n) {
            e->info.kept = donation->kept;
            e->info.leaf = donation->inputs[donation->which];
        }
    }
    return status;
}

/* What an open trace calls is part of it, whatever the arguments are; in deferred mode nothing starts. */
static int32_t call(neap_form *form) {
    neap_ctx *ctx = form->jit->ctx;
    bool leveled;
    form->number = 0;
    if ((form->status = look_up(form)) != 0)
        return 0;
    jit_entry *e = entries_find(form, &leveled);
    if (!e)
        return 0;
    leveled |= ctx->start.deferring || graph_open_trace(ctx);
    form->status = leveled ? inline_entry(form, e) : run_entry(form, e);
    if (form->status)
        return 0;
    form->number = e->number;
    entries_touch(e);
    form->status = graph_safepoint(ctx);
    return form->status ? 0 : e->plain ? e->results[0] : -e->number;
}

int32_t neap_jit_call(neap_form *form, ...) {
    va_list leaves;
    va_start(leaves, form);
    for (int k = 0; k < form->n; k++) {
        if (form->is_number[k]) {
            form->values[k] = va_arg(leaves, double);
        } else {
            const neap_handle *array = va_arg(leaves, const neap_handle *);
            form->ids[k] = array ? array->_id : 0;
        }
    }
    va_end(leaves);
    return call(form);
}

int32_t neap_jit_repeat(neap_form *form) {
    return call(form);
}

int neap_form_outcome(neap_form *form, int32_t *number) {
    *number = form->number;
    return form->status;
}

int neap_form_site(neap_form *form, const char *site) {
    form->site = graph_site_intern(form->jit->ctx, site);
    return form->site ? 0 : NEAP_E_MEMORY;
}
