/* bulk.c: small ops in a row, joined and run as one.
 *
 *      push a ─┐   joined by this thread        one op over the union of the variables
 *      push b ─┼─▶ a ─▶ b ─▶ c ──close──▶ reads {x}, fences {y, z} ──▶ runs a, b, c in turn
 *      push c ─┘
 *
 * The bulk's op fences the written variables. So a, b and c see the variables as if each had been pushed alone: the
 * writes of a are counted and its failure attached before b looks. Joined ops save their own ways through the queues
 * and the pool.
 *
 * While a thread has joined ops, further small ops join as well, even if they could run at once: they might depend on
 * the joined ones. Before anything of the thread that must not overtake, the bulk is closed (engine_bulk_flush).
 */
#include "engine/op_internal.h"

#include <stdlib.h>
#include <string.h>

enum { BULK_MOST = 1024, ENTRIES_MOST = 8 /* of a joined op */, FEW = ENGINE_LIMIT(64, 4) };

/* ---- The joined op ----------------------------------------------------------------------------------------------- */

static void run_bulk_op(engine_op *op, engine_thread *self) {
    engine_failure *failure = engine_op_perform(op, self);
    engine_count_one(&self->completed);
    for (uint32_t i = 0; i < op->entry_count; i++) {
        int access = op->entries[i].access;
        if (access == ENGINE_WRITE || access == ENGINE_FRESH)
            engine_var_wrote(op->entries[i].var, access, failure);
    }
    engine_failure_release(failure);
    engine_op_free(op);
}

static int run_joined(void *arg, const neap_run *run) {
    (void)run;
    engine_thread *self = engine_self();
    for (engine_op *op = arg, *next; op; op = next) {
        next = op->next;
        run_bulk_op(op, self);
    }
    return NEAP_OK;
}

typedef struct union_scratch { /* for the union of the variables of up to `total` entries */
    engine_entry *entries;
    neap_var **order;
    uint32_t *table; /* entry + 1 by hash, 0: none; mask + 1 places, at least two for each entry */
    uint32_t mask;
} union_scratch;

/* Adds an entry to a union of `count` entries. Returns the new count. */
static uint32_t merge_entry(const union_scratch *r, uint32_t count, const engine_entry *entry) {
    enum { LINE_BITS = 6, GOLDEN = 0x9e3779b1 /* Knuth's multiplicative hashing */ };
    uint32_t at = ((uint32_t)((uintptr_t)entry->var >> LINE_BITS) * (uint32_t)GOLDEN >> 8) & r->mask;
    while (r->table[at] && r->entries[r->table[at] - 1].var != entry->var)
        at = (at + 1) & r->mask;
    if (r->table[at]) {
        r->entries[r->table[at] - 1].writes += entry->writes;
        return count;
    }
    r->entries[count] = *entry;
    return r->table[at] = count + 1;
}

/* The bulk's op for a list of two or more. NULL: out of memory. r->order gets the variables, sorted. */
static engine_op *make_bulk(engine_op *list, const union_scratch *r) {
    uint32_t count = 0;
    for (engine_op *op = list; op; op = op->next) {
        for (uint32_t i = 0; i < op->entry_count; i++)
            count = merge_entry(r, count, &op->entries[i]);
    }
    engine_op *bulk = engine_op_new(count);
    if (!bulk)
        return NULL;
    bulk->flags = NEAP_PUSH_SMALL | NEAP_PUSH_ALWAYS | ENGINE_OP_HIDDEN;
    bulk->device = list->device;
    bulk->priority = list->priority;
    bulk->fn.sync = run_joined;
    bulk->arg = list;
    bulk->release = NULL;
    bulk->name = "bulk";
    bulk->site = list->site;
    bulk->bytes = bulk->cost = 0;
    bulk->epoch = list->epoch;
    for (uint32_t i = 0; i < count; i++) {
        bulk->entries[i] = r->entries[i];
        bulk->entries[i].access = r->entries[i].writes > 0 ? ENGINE_FENCE : ENGINE_READ;
        bulk->entries[i].index = i;
    }
    engine_var_order(count, bulk->entries, r->order);
    return bulk;
}

/* ---- Closing ----------------------------------------------------------------------------------------------------- */

/* Pushes an op long after its acceptance; if the engine has been stopped meanwhile, drops the op. */
static void push_late(engine_op *op, neap_var *const *order, engine_thread *self) {
    void (*release)(void *arg) = op->release;
    void *arg = op->arg;
    atomic_fetch_sub_explicit(&self->pushed, 1, memory_order_relaxed); /* counted at its join */
    if (engine_admit(op, order, self) != NEAP_OK && release)
        release(arg);
}

static void push_singly(engine_op *list, engine_thread *self) {
    for (engine_op *op = list, *next; op; op = next) {
        next = op->next;
        neap_var *order[ENTRIES_MOST];
        engine_var_order(op->entry_count, op->entries, order);
        push_late(op, order, self);
    }
}

static void push_together(engine_op *list, engine_op *bulk, neap_var *const *order, engine_thread *self) {
    for (engine_op *op = list; op; op = op->next) {
        if (op->bytes | op->cost)
            engine_ahead_began(op->bytes, op->cost);
    }
    if (engine_admit(bulk, order, self) == NEAP_OK)
        return;
    for (engine_op *op = list, *next; op; op = next) { /* the engine has been stopped */
        next = op->next;
        if (op->bytes | op->cost)
            engine_ahead_ended(op->bytes, op->cost);
        if (op->release)
            op->release(op->arg);
        engine_op_free(op);
    }
}

static void close_bulk(engine_thread *self) {
    engine_op *list = self->joined;
    uint32_t total = 0;
    int count = self->joined_count;
    *self->joined_tail = NULL;
    self->joined = NULL;
    self->joined_count = 0;
    for (engine_op *op = list; op; op = op->next)
        total += op->entry_count;
    struct {
        engine_entry entries[FEW];
        neap_var *order[FEW];
        uint32_t table[2 * FEW];
    } few;
    union_scratch r = {few.entries, few.order, few.table, 2 * FEW - 1};
    void *space = NULL;
    if (total > FEW) {
        while (r.mask < 2 * total)
            r.mask = 2 * r.mask + 1;
        space = engine_alloc(total * (sizeof *r.entries + sizeof *r.order) + (r.mask + 1) * sizeof *r.table);
        r.entries = space;
        r.order = (neap_var **)(r.entries + total);
        r.table = (uint32_t *)(r.order + total);
    }
    engine_op *bulk = NULL;
    if (count > 1 && (space || total <= FEW)) {
        memset(r.table, 0, (r.mask + 1) * sizeof *r.table);
        bulk = make_bulk(list, &r);
    }
    if (bulk) {
        push_together(list, bulk, r.order, self);
    } else {
        push_singly(list, self);
    }
    free(space);
}

/* ---- Joining ----------------------------------------------------------------------------------------------------- */

int engine_bulk_join(engine_op *op, neap_var *const *order, engine_thread *self) {
    const engine_op *first = self->joined;
    if (first && (first->device != op->device || first->priority != op->priority || op->entry_count > ENTRIES_MOST))
        close_bulk(self);
    if (op->entry_count > ENTRIES_MOST)
        return engine_admit(op, order, self);
    neap_var *own[ENTRIES_MOST];
    int status = engine_activity_begin(self);
    if (!status)
        engine_activity_end(self);
    if (!status && !order && !engine_var_order(op->entry_count, op->entries, own))
        status = neap_error(NEAP_E_ARGUMENT, "a variable is listed twice in one push");
    if (status) {
        engine_op_free(op);
        return status;
    }
    if (!self->joined) {
        self->joined_tail = &self->joined;
        self->close_bulk = close_bulk;
    }
    *self->joined_tail = op;
    self->joined_tail = &op->next;
    op->next = NULL;
    engine_count_one(&self->pushed);
    if (++self->joined_count >= self->bulk_most)
        close_bulk(self);
    return NEAP_OK;
}

int neap_bulk(int most) {
    if (engine_phase() == ENGINE_DEAD)
        return 0;
    engine_thread *self = engine_self();
    engine_bulk_flush(self);
    int before = self->bulk_most;
    engine_thread_on_end(ENGINE_LEAVES_BULK, engine_bulk_flush);
    self->bulk_most = most < 2 ? 0 : most < BULK_MOST ? most : BULK_MOST;
    return before;
}
