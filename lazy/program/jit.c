/* jit.c: jitted functions: forms, entries, and the call that finds the one that fits (jit.h).
 *
 * A call is the hot path of a training loop. What it does for each leaf is a look at the handle table and a comparison
 * with the program's placeholder; the forms keep all scratch, and a node for each number that is used again unless
 * somebody kept it.
 *
 * The entries of all jits of a context stand in no list of their own: to make room, which is rare, all are looked at,
 * and the one with the oldest stamp goes.
 */
#include "lazy/jit.h"

#include <stdarg.h>
#include <string.h>

#include "lazy/effect/effect.h"
#include "lazy/program/donate.h"
#include "lazy/program/lower.h"

static const int64_t JIT_BYTES = 256 << 20;

typedef struct leaf_use {
    neap_node *node; /* INPUT, DONATED: the program's placeholder, BORROWED from it; SAME: the array, one reference */
    uint8_t use;     /* NEAP_LEAF_… */
} leaf_use;

typedef struct entry {
    struct entry *next;
    neap_program *program;
    int32_t number;
    bool plain, guarded, planned; /* guarded: a number must be integral; planned: its program has run */
    leaf_use *uses;               /* by leaf */
    lazy_nodes fixed;             /* the last inputs of the program; one reference each */
    int32_t *results;             /* ids */
    lazy_donation donation;       /* n is 0: nothing is donated */
    neap_entry_info info;
    uint64_t stamp; /* of the last call, by the context's clock */
} entry;

struct neap_form {
    neap_jit *jit;
    neap_form *next;
    int32_t n;
    uint8_t *is_number; /* by leaf */
    int32_t *ids;
    double *values;
    neap_node **nodes;   /* of the call at hand; NULL: no array. BORROWED */
    neap_node **numbers; /* nodes for numbers, used again. One reference each, or NULL */
    neap_node **inputs;  /* of the program at hand */
    int64_t ninputs;     /* the capacity of `inputs` */
    entry *entries;      /* the one used last comes first */
    int32_t site;        /* of the next call that donates */
    int status;          /* the status of the last call */
    int32_t number;      /* the number of the entry that fitted the last call; 0: none did */
};

struct neap_jit {
    neap_ctx *ctx; /* NULL once that has ended */
    neap_jit *next, **link;
    neap_form *forms;
    int32_t numbers; /* of entries, used so far */
};

/* ---- Life -------------------------------------------------------------------------------------------------------- */
int neap_jit_new(neap_ctx *ctx, neap_jit **out) {
    neap_jit *jit = calloc(1, sizeof *jit);
    if (!jit)
        return neap_error(NEAP_E_MEMORY, "out of memory for a jitted function");
    jit->ctx = ctx;
    jit->link = &ctx->programs.jits;
    jit->next = ctx->programs.jits;
    if (jit->next)
        jit->next->link = &jit->next;
    ctx->programs.jits = jit;
    *out = jit;
    return 0;
}

int neap_jit_form(neap_jit *jit, int n, const uint8_t *numbers, neap_form **out) {
    size_t room = (size_t)n + 1;
    neap_form *form = calloc(1, sizeof *form + room * (2 * sizeof(neap_node *) + sizeof(double) + sizeof(int32_t) + 1));
    if (!form)
        return neap_error(NEAP_E_MEMORY, "out of memory for a jitted function");
    form->jit = jit;
    form->n = n;
    form->nodes = (neap_node **)(form + 1);
    form->numbers = form->nodes + room;
    form->values = (double *)(form->numbers + room);
    form->ids = (int32_t *)(form->values + room);
    form->is_number = (uint8_t *)(form->ids + room);
    memcpy(form->is_number, numbers, (size_t)n);
    form->next = jit->forms;
    jit->forms = form;
    *out = form;
    return 0;
}

static void entry_free(neap_form *form, entry *e) {
    neap_ctx *ctx = form->jit->ctx;
    ctx->programs.jit_bytes -= e->info.bytes;
    neap_program_free(e->program);
    for (int k = 0; k < form->n; k++)
        if (e->uses[k].use == NEAP_LEAF_SAME)
            graph_release(ctx, e->uses[k].node);
    for (int64_t k = 0; k < e->fixed.n; k++)
        graph_release(ctx, e->fixed.at[k]);
    lazy_vector_free(&e->fixed);
    free(e);
}

static void clear_form(neap_form *form) {
    while (form->entries) {
        entry *e = form->entries;
        form->entries = e->next;
        entry_free(form, e);
    }
}

static void clear_jit(neap_jit *jit) {
    for (neap_form *form = jit->forms; form; form = form->next)
        clear_form(form);
}

/* Empties it and takes it off its context. */
static void detach_jit(neap_jit *jit) {
    neap_ctx *ctx = jit->ctx;
    if (!ctx)
        return;
    clear_jit(jit);
    for (neap_form *form = jit->forms; form; form = form->next)
        for (int k = 0; k < form->n; k++) {
            graph_release(ctx, form->numbers[k]);
            form->numbers[k] = NULL;
        }
    *jit->link = jit->next;
    if (jit->next)
        jit->next->link = jit->link;
    jit->ctx = NULL;
}

void neap_jit_free(neap_jit *jit) {
    if (!jit)
        return;
    detach_jit(jit);
    while (jit->forms) {
        neap_form *form = jit->forms;
        jit->forms = form->next;
        free(form->inputs);
        free(form);
    }
    free(jit);
}

void program_jit_free_all(neap_ctx *ctx) {
    while (ctx->programs.jits)
        detach_jit(ctx->programs.jits);
}

int32_t *neap_form_ids(neap_form *form) {
    return form->ids;
}

double *neap_form_numbers(neap_form *form) {
    return form->values;
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */
/* Bytes, and in *captures the arrays that are bound to it. */
static int64_t bytes_of_program(const neap_program *program, int32_t *captures) {
    int64_t bytes = (int64_t)sizeof *program + (program->plan ? plan_bytes(program->plan) : 0);
    int32_t of_blocks;
    if (program->lowered)
        bytes += bytes_of_program(program->lowered->program, &of_blocks);
    bytes += 8 * (program->inputs.n + program->outputs.n + program->region.n + program->links.n);
    *captures = 0;
    for (int64_t k = 0; k < program->nodes.n; k++) {
        const neap_node *node = program->nodes.at[k];
        bool bound = (node->buffer || node->shards) && !(node->flags & LAZY_ABSTRACT);
        bytes += (int64_t)sizeof *node + 8 * (2 + 2 * node->ndim + node->nattrs + node->nin);
        bytes += bound && node->buffer ? (int64_t)neap_buffer_bytes(node->buffer) : 0;
        *captures += bound;
    }
    return bytes;
}

/* The entry that was used longest ago, but for one. *form is where it is. */
static entry **oldest(neap_ctx *ctx, const entry *but, neap_form **where) {
    entry **found = NULL;
    for (neap_jit *jit = ctx->programs.jits; jit; jit = jit->next)
        for (neap_form *form = jit->forms; form; form = form->next)
            for (entry **at = &form->entries; *at; at = &(*at)->next)
                if (*at != but && (!found || (*at)->stamp < (*found)->stamp)) {
                    found = at;
                    *where = form;
                }
    return found;
}

static void evict_entries(neap_ctx *ctx, const entry *but) {
    int64_t limit = ctx->programs.jit_limit ? ctx->programs.jit_limit : JIT_BYTES;
    neap_form *form;
    entry **at;
    while (ctx->programs.jit_bytes > limit && (at = oldest(ctx, but, &form)) != NULL) {
        entry *e = *at;
        *at = e->next;
        entry_free(form, e);
    }
}

/* One block: the entry, what its leaves are, results, and what donation needs. */
static entry *entry_new(const neap_form *form, int64_t nresults, int64_t ngifts) {
    size_t n = (size_t)form->n, donations = (size_t)ngifts;
    entry *e =
        calloc(1, sizeof *e + (n + 1) * sizeof(leaf_use) + donations * (sizeof(neap_node *) + 3 * sizeof(int32_t)) +
                      (size_t)nresults * sizeof(int32_t) + sizeof(int32_t));
    if (!e)
        return NULL;
    e->uses = (leaf_use *)(e + 1);
    e->donation.gone = (neap_node **)(e->uses + n + 1);
    int32_t *at = (int32_t *)(e->donation.gone + donations);
    e->donation.inputs = at;
    e->donation.leaf_of = at + donations;
    e->donation.slots = at + 2 * donations;
    e->results = at + 3 * donations;
    return e;
}

/* Says what the leaves are. Returns the number of inputs that they are. */
static int64_t set_uses(neap_form *form, entry *e, neap_program *program, const uint8_t *uses) {
    int64_t inputs = 0;
    for (int k = 0; k < form->n; k++) {
        leaf_use *leaf = &e->uses[k];
        leaf->use = uses[k];
        if (uses[k] == NEAP_LEAF_SAME) {
            leaf->node = graph_lookup(form->jit->ctx, form->ids[k]);
            if (!leaf->node) {
                leaf->use = NEAP_LEAF_NONE;
                return -1;
            }
            graph_retain(leaf->node);
        } else if (uses[k] != NEAP_LEAF_NONE) {
            if (inputs >= program->inputs.n)
                return -1;
            if (uses[k] == NEAP_LEAF_DONATED)
                ((int32_t *)e->donation.inputs)[e->donation.n++] = (int32_t)inputs;
            leaf->node = program->inputs.at[inputs++];
            e->guarded |= leaf->node->meets && leaf->node->flags & LAZY_WEAK;
        }
    }
    return inputs;
}

static int set_fixed(neap_form *form, entry *e, int nfixed, const int32_t *fixed) {
    for (int k = 0; k < nfixed; k++) {
        neap_node *node = graph_lookup_any(form->jit->ctx, fixed[k]);
        if (!node)
            return neap_error_code();
        if (lazy_push(&e->fixed, node))
            return NEAP_E_MEMORY;
        graph_retain(node);
    }
    return 0;
}

/* Makes place for the inputs of the form's programs. */
static int widen_inputs(neap_form *form, int64_t n) {
    if (n <= form->ninputs)
        return 0;
    neap_node **wider = realloc(form->inputs, (size_t)n * sizeof *wider);
    if (!wider)
        return neap_error(NEAP_E_MEMORY, "out of memory for a jitted function");
    form->inputs = wider;
    form->ninputs = n;
    return 0;
}

int neap_form_add(neap_form *form, neap_program *program, const uint8_t *uses, int nfixed, const int32_t *fixed,
                  int plain, int32_t *number, const int32_t **results) {
    neap_ctx *ctx = form->jit->ctx;
    int64_t ngifts = 0;
    for (int k = 0; k < form->n; k++)
        ngifts += uses[k] == NEAP_LEAF_DONATED;
    entry *e = entry_new(form, program->outputs.n, ngifts);
    if (!e)
        return neap_error(NEAP_E_MEMORY, "out of memory for a jitted function");
    int64_t inputs = set_uses(form, e, program, uses);
    int status = inputs < 0 || inputs + nfixed != program->inputs.n
                     ? neap_error(NEAP_E_ARGUMENT, "the leaves do not fit the program")
                     : set_fixed(form, e, nfixed, fixed);
    if (status == 0)
        status = widen_inputs(form, program->inputs.n);
    if (status) {
        entry_free(form, e);
        return status;
    }
    e->program = program;
    e->plain = plain && program->outputs.n == 1;
    e->number = *number = ++form->jit->numbers;
    e->stamp = ++ctx->programs.jit_clock;
    e->info.bytes = bytes_of_program(program, &e->info.captures);
    ctx->programs.jit_bytes += e->info.bytes;
    e->next = form->entries;
    form->entries = e;
    *results = e->results;
    evict_entries(ctx, e);
    return 0;
}

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
    int status = neap_array_item(form->jit->ctx, form->ids[k], &form->values[k], &dtype);
    if (status == 0 && !(*node = number_node(form, k)))
        status = NEAP_E_MEMORY;
    return status;
}

static bool is_computed_number(const neap_ctx *ctx, const neap_node *node) {
    return node && node->flags & LAZY_WEAK && !node->levels && !ctx->start.deferring && !graph_is_number(node);
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

/* Has the array what the placeholder has? */
static bool alike(const neap_node *want, const neap_node *node) {
    if (want->dtype != node->dtype || want->ndim != node->ndim || want->device != node->device ||
        (want->flags ^ node->flags) & LAZY_WEAK || graph_sharding_of(want) != graph_sharding_of(node))
        return false;
    for (int a = 0; a < want->ndim; a++)
        if (want->shape[a] != node->shape[a])
            return false;
    return true;
}

/* If so, sets the inputs and says whether one belongs to an open level. */
static bool fits(neap_form *form, const entry *e, bool *leveled) {
    neap_node **input = form->inputs;
    uint32_t levels = 0;
    for (int k = 0; k < form->n; k++) {
        const leaf_use *leaf = &e->uses[k];
        neap_node *node = form->nodes[k];
        if (leaf->use > NEAP_LEAF_DONATED) {
            if (node != leaf->node) /* NULL for NONE */
                return false;
        } else if (node && alike(leaf->node, node)) {
            *input++ = node;
            levels |= node->levels;
        } else {
            return false;
        }
    }
    for (int64_t k = 0; k < e->fixed.n; k++) {
        *input++ = e->fixed.at[k];
        levels |= e->fixed.at[k]->levels;
    }
    *leveled = levels != 0;
    return true;
}

/* The entry that fits, moved to the front; NULL: none does. */
static entry *find_entry(neap_form *form, bool *leveled) {
    for (entry **at = &form->entries; *at; at = &(*at)->next) {
        entry *e = *at;
        if (!fits(form, e, leveled))
            continue;
        *at = e->next;
        e->next = form->entries;
        form->entries = e;
        return e;
    }
    return NULL;
}

static int check_numbers(const entry *e, neap_node *const *inputs, bool runs) {
    int status = 0;
    for (int k = 0; k < e->program->inputs.n && status == 0; k++)
        if (e->program->inputs.at[k]->flags & LAZY_WEAK)
            status = program_check(e->program, k, inputs[k], runs);
    return status;
}

/* Records the program's ops again, on arrays of open levels. */
static int inline_entry(neap_form *form, entry *e) {
    neap_ctx *ctx = form->jit->ctx;
    int64_t n = e->program->outputs.n;
    neap_node **nodes = malloc((size_t)n * sizeof *nodes + 1);
    int status = nodes ? check_numbers(e, form->inputs, false) : neap_error(NEAP_E_MEMORY, "out of memory for a call");
    if (status == 0 && (status = program_apply(ctx, e->program, form->inputs, nodes)) == 0)
        for (int64_t k = 0; k < n; k++) {
            if (status == 0)
                status = graph_publish(ctx, nodes[k], &e->results[k]);
            else
                graph_release(ctx, nodes[k]);
        }
    free(nodes);
    return status;
}

/* Before the first run: a program that is only inlined needs no plan. */
static int plan_entry(neap_ctx *ctx, entry *e) {
    int status = program_plan(e->program);
    if (status)
        return status;
    e->planned = true;
    ctx->programs.jit_bytes -= e->info.bytes;
    e->info.bytes = bytes_of_program(e->program, &e->info.captures);
    ctx->programs.jit_bytes += e->info.bytes;
    if (!e->program->meshed)
        program_donation_slots(e->program, e->donation.n, e->donation.inputs, (int32_t *)e->donation.leaf_of);
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

static int run_entry(neap_form *form, entry *e) {
    int status = e->planned ? 0 : plan_entry(form->jit->ctx, e);
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
    entry *e = find_entry(form, &leveled);
    if (!e)
        return 0;
    leveled |= ctx->start.deferring || graph_open_trace(ctx);
    form->status = leveled ? inline_entry(form, e) : run_entry(form, e);
    if (form->status)
        return 0;
    form->number = e->number;
    e->stamp = ++ctx->programs.jit_clock;
    e->info.hits++;
    form->status = graph_attend(ctx);
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

/* ---- Looking at it ----------------------------------------------------------------------------------------------- */
static const entry *entry_of(const neap_form *form, int32_t number) {
    for (const entry *e = form->entries; e; e = e->next)
        if (e->number == number)
            return e;
    neap_error(NEAP_E_ARGUMENT, "the program is kept no more");
    return NULL;
}

int neap_form_entry(neap_form *form, int32_t number, neap_entry_info *out) {
    const entry *e = entry_of(form, number);
    if (!e)
        return NEAP_E_ARGUMENT;
    *out = e->info;
    return 0;
}

int neap_form_wants(neap_form *form, int32_t number, int k, neap_info *out) {
    const entry *e = entry_of(form, number);
    if (!e || k < 0 || k >= form->n || !e->uses[k].node)
        return NEAP_E_ARGUMENT;
    graph_node_info(e->uses[k].node, out);
    return 0;
}

neap_program *neap_form_program(neap_form *form, int32_t number) {
    const entry *e = entry_of(form, number);
    return e ? e->program : NULL;
}

void neap_jit_limit(neap_ctx *ctx, int64_t bytes) {
    ctx->programs.jit_limit = bytes;
    evict_entries(ctx, NULL);
}

int64_t neap_jit_bytes(neap_ctx *ctx) {
    return ctx->programs.jit_bytes;
}

void neap_caches_clear(neap_ctx *ctx) {
    for (neap_jit *jit = ctx->programs.jits; jit; jit = jit->next)
        clear_jit(jit);
    plan_free_all(ctx);
}
