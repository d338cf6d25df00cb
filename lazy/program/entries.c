/* entries.c: jitted functions: their forms and entries, from the first to the last (entries.h). */
#include "lazy/program/entries.h"

#include <stddef.h>
#include <string.h>

#include "lazy/plan/keep.h"
#include "lazy/program/lower.h"

static const int64_t JIT_BYTES = 256 << 20;

/* ---- Lists and tables -------------------------------------------------------------------------------------------- */
static void link_form(jit_entry *e) {
    neap_form *form = e->form;
    e->next = form->entries;
    e->link = &form->entries;
    if (e->next)
        e->next->link = &e->next;
    form->entries = e;
}

static void unlink_form(jit_entry *e) {
    *e->link = e->next;
    if (e->next)
        e->next->link = e->link;
}

static void link_age(jit_entry *e) {
    lazy_programs *all = &e->form->jit->ctx->programs;
    e->newer = NULL;
    e->older = all->jit_newest;
    *(e->older ? &e->older->newer : &all->jit_oldest) = e;
    all->jit_newest = e;
}

static void unlink_age(jit_entry *e) {
    lazy_programs *all = &e->form->jit->ctx->programs;
    *(e->older ? &e->older->newer : &all->jit_oldest) = e->newer;
    *(e->newer ? &e->newer->older : &all->jit_newest) = e->older;
}

void entries_touch(jit_entry *e) {
    e->info.hits++;
    if (!e->newer)
        return;
    unlink_age(e);
    link_age(e);
}

static jit_entry **bucket_alike(const neap_form *form, uint64_t hash) {
    return &form->alike[hash & (uint64_t)(form->buckets - 1)];
}

static jit_entry **bucket_numbered(const neap_form *form, int32_t number) {
    return &form->numbered[(uint64_t)number & (uint64_t)(form->buckets - 1)];
}

static void link_tables(jit_entry *e) {
    jit_entry **alike = bucket_alike(e->form, e->hash), **numbered = bucket_numbered(e->form, e->number);
    e->next_alike = *alike;
    *alike = e;
    e->next_number = *numbered;
    *numbered = e;
}

/* The entry whose `next` this is. */
static jit_entry *entry_before(jit_entry **next) {
    return (jit_entry *)((char *)next - offsetof(jit_entry, next));
}

/* Makes place in the tables for another entry. */
static int widen_tables(neap_form *form) {
    if (form->count < form->buckets)
        return 0;
    int64_t wider = form->buckets ? 2 * form->buckets : 4;
    jit_entry **tables = calloc((size_t)wider * 2, sizeof(jit_entry *));
    if (!tables)
        return neap_error(NEAP_E_MEMORY, "out of memory for a jitted function");
    free(form->alike);
    form->alike = tables;
    form->numbered = tables + wider;
    form->buckets = wider;
    jit_entry **end = &form->entries;
    while (*end)
        end = &(*end)->next;
    while (end != &form->entries) { /* backwards: in its bucket, too, the one used last comes first */
        jit_entry *e = entry_before(end);
        link_tables(e);
        end = e->link;
    }
    return 0;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 32;
}

/* What `alike` compares; NULL: no array. */
static uint64_t hash_leaf(uint64_t hash, const neap_node *node) {
    if (!node)
        return mix(hash, UINT64_MAX);
    uint64_t kind = (uint64_t)node->dtype | (uint64_t)node->ndim << 8 | (uint64_t) !!(node->flags & LAZY_WEAK) << 16 |
                    (uint64_t)node->yields << 17 | (uint64_t)node->fraction << 18;
    hash = mix(hash, kind | (uint64_t)(uint32_t)node->device << 32);
    hash = mix(hash, (uintptr_t)graph_sharding_of(node));
    for (int a = 0; a < node->ndim; a++)
        hash = mix(hash, (uint64_t)node->shape[a]);
    return hash;
}

static uint64_t hash_uses(const neap_form *form, const jit_entry *e) {
    uint64_t hash = (uint64_t)e->home;
    for (int k = 0; k < form->n; k++)
        hash = hash_leaf(hash, e->uses[k].node);
    return hash;
}

static uint64_t hash_nodes(const neap_form *form) {
    uint64_t hash = (uint64_t)graph_default_device;
    for (int k = 0; k < form->n; k++)
        hash = hash_leaf(hash, form->nodes[k]);
    return hash;
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */
int neap_jit_new(neap_ctx *ctx, int keeps, neap_jit **out) {
    neap_jit *jit = calloc(1, sizeof *jit);
    if (!jit)
        return neap_error(NEAP_E_MEMORY, "out of memory for a jitted function");
    jit->ctx = ctx;
    jit->keeps = keeps;
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

static void entry_free(neap_form *form, jit_entry *e) {
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

/* Takes it out of the lists and tables, notes its number for Lua, and frees it. */
static void drop_entry(jit_entry *e) {
    neap_form *form = e->form;
    unlink_age(e);
    unlink_form(e);
    jit_entry **at = bucket_alike(form, e->hash);
    while (*at != e)
        at = &(*at)->next_alike;
    *at = e->next_alike;
    for (at = bucket_numbered(form, e->number); *at != e;)
        at = &(*at)->next_number;
    *at = e->next_number;
    form->count--;
    (void)lazy_push(&form->jit->dropped, e->number); /* without memory Lua keeps a little that nobody asks for */
    entry_free(form, e);
}

static void clear_form(neap_form *form) {
    while (form->entries)
        drop_entry(form->entries);
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
        free(form->alike);
        free(form);
    }
    lazy_vector_free(&jit->dropped);
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

static void evict_entries(neap_ctx *ctx, const jit_entry *but) {
    int64_t limit = ctx->programs.jit_limit ? ctx->programs.jit_limit : JIT_BYTES;
    while (ctx->programs.jit_bytes > limit && ctx->programs.jit_oldest && ctx->programs.jit_oldest != but)
        drop_entry(ctx->programs.jit_oldest);
}

/* One block: the entry, what its leaves are, results, and what donation needs. */
static jit_entry *entry_new(neap_form *form, int64_t nresults, int64_t ngifts) {
    size_t n = (size_t)form->n, donations = (size_t)ngifts;
    jit_entry *e =
        calloc(1, sizeof *e + (n + 1) * sizeof(leaf_use) + donations * (sizeof(neap_node *) + 3 * sizeof(int32_t)) +
                      (size_t)nresults * sizeof(int32_t) + sizeof(int32_t));
    if (!e)
        return NULL;
    e->form = form;
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
static int64_t set_uses(neap_form *form, jit_entry *e, neap_program *program, const uint8_t *uses) {
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
            e->guarded |=
                (leaf->node->meets & ~(LAZY_NUMBER_FRACTION | LAZY_NUMBER_DECIDED)) && leaf->node->flags & LAZY_WEAK;
        }
    }
    return inputs;
}

static int set_fixed(neap_form *form, jit_entry *e, int nfixed, const int32_t *fixed) {
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
    jit_entry *e = entry_new(form, program->outputs.n, ngifts);
    if (!e)
        return neap_error(NEAP_E_MEMORY, "out of memory for a jitted function");
    int64_t inputs = set_uses(form, e, program, uses);
    int status = inputs < 0 || inputs + nfixed != program->inputs.n
                     ? neap_error(NEAP_E_ARGUMENT, "the leaves do not fit the program")
                     : set_fixed(form, e, nfixed, fixed);
    if (status == 0)
        status = widen_inputs(form, program->inputs.n);
    if (status == 0)
        status = widen_tables(form);
    if (status) {
        entry_free(form, e);
        return status;
    }
    e->program = program;
    e->plain = plain && program->outputs.n == 1;
    e->number = *number = ++form->jit->numbers;
    e->info.bytes = bytes_of_program(program, &e->info.captures);
    ctx->programs.jit_bytes += e->info.bytes;
    e->home = graph_default_device;
    e->hash = hash_uses(form, e);
    link_form(e);
    link_age(e);
    link_tables(e);
    form->count++;
    *results = e->results;
    evict_entries(ctx, e);
    return 0;
}

void entries_weigh(jit_entry *e) {
    int64_t *total = &e->form->jit->ctx->programs.jit_bytes;
    *total -= e->info.bytes;
    e->info.bytes = bytes_of_program(e->program, &e->info.captures);
    *total += e->info.bytes;
    evict_entries(e->form->jit->ctx, e);
}

/* ---- Finding --------------------------------------------------------------------------------------------------- */
/* Where that has decided a dtype: is the number an integer, as the one that was recorded? */
static bool fits_as_number(const neap_node *want, neap_node *node) {
    const uint32_t met = want->meets & ~(LAZY_NUMBER_FRACTION | LAZY_NUMBER_DECIDED);
    if (!met && !(want->meets & LAZY_NUMBER_DECIDED))
        return true;
    return graph_number_is_fraction(node) == ((want->meets & LAZY_NUMBER_FRACTION) != 0);
}

/* Has the array what the placeholder has? */
static bool alike(const neap_node *want, neap_node *node) {
    if (want->dtype != node->dtype || want->ndim != node->ndim || want->device != node->device ||
        (want->flags ^ node->flags) & LAZY_WEAK || want->yields != node->yields || want->fraction != node->fraction ||
        graph_sharding_of(want) != graph_sharding_of(node) || (want->flags & LAZY_WEAK && !fits_as_number(want, node)))
        return false;
    for (int a = 0; a < want->ndim; a++)
        if (want->shape[a] != node->shape[a])
            return false;
    return true;
}

/* If so, sets the inputs and says whether one belongs to an open level. */
static bool fits(neap_form *form, const jit_entry *e, bool *leveled) {
    neap_node **input = form->inputs;
    uint32_t levels = 0;
    if (e->home != graph_default_device)
        return false;
    for (int k = 0; k < form->n; k++) {
        const leaf_use *leaf = &e->uses[k];
        neap_node *node = form->nodes[k];
        if (leaf->use > NEAP_LEAF_KEPT) {
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

/* Makes it the first of its form and of its bucket. */
static void move_first(neap_form *form, jit_entry **at) {
    jit_entry *e = *at, **first = bucket_alike(form, e->hash);
    *at = e->next_alike;
    e->next_alike = *first;
    *first = e;
    unlink_form(e);
    link_form(e);
}

jit_entry *entries_find(neap_form *form, bool *leveled) {
    uint64_t *compared = &form->jit->ctx->counters.compared;
    if (!form->entries)
        return NULL;
    ++*compared;
    if (fits(form, form->entries, leveled))
        return form->entries;
    uint64_t hash = hash_nodes(form);
    for (jit_entry **at = bucket_alike(form, hash); *at; at = &(*at)->next_alike) {
        jit_entry *e = *at;
        if (e->hash != hash || e == form->entries)
            continue;
        ++*compared;
        if (!fits(form, e, leveled))
            continue;
        move_first(form, at);
        return e;
    }
    return NULL;
}

/* ---- Looking at it ----------------------------------------------------------------------------------------------- */
static const jit_entry *entry_of(const neap_form *form, int32_t number) {
    jit_entry *e = form->buckets ? *bucket_numbered(form, number) : NULL;
    for (; e; e = e->next_number) {
        form->jit->ctx->counters.compared++;
        if (e->number == number)
            return e;
    }
    neap_error(NEAP_E_ARGUMENT, "the program is kept no more");
    return NULL;
}

int neap_form_entry(neap_form *form, int32_t number, neap_entry_info *out) {
    const jit_entry *e = entry_of(form, number);
    if (!e)
        return NEAP_E_ARGUMENT;
    const neap_program *runs = e->program->lowered ? e->program->lowered->program : e->program;
    *out = e->info;
    const lazy_keeping *keeping = runs->keeping;
    out->kept_steps = keeping ? keeping->nfixed : 0;
    out->kept_bytes = keeping ? keeping->bytes + (keeping->made ? keeping->made->bytes : 0) : 0;
    return 0;
}

int neap_form_wants(neap_form *form, int32_t number, int k, neap_info *out) {
    const jit_entry *e = entry_of(form, number);
    if (!e || k < 0 || k >= form->n || !e->uses[k].node)
        return NEAP_E_ARGUMENT;
    graph_node_info(e->uses[k].node, out);
    return 0;
}

neap_program *neap_form_program(neap_form *form, int32_t number) {
    const jit_entry *e = entry_of(form, number);
    return e ? e->program : NULL;
}

int neap_form_recent(const neap_form *form, int capacity, int32_t *numbers) {
    int n = 0;
    for (const jit_entry *e = form->entries; e && n < capacity; e = e->next)
        numbers[n++] = e->number;
    return n;
}

int32_t neap_jit_dropped(neap_jit *jit) {
    return jit->dropped.n ? jit->dropped.at[--jit->dropped.n] : 0;
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
