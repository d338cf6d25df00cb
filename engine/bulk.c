/* bulk.c: small ops in a row, joined and run as one.
 *
 *      push a ─┐   joined by this thread        one op over the union of the variables
 *      push b ─┼─▶ a ─▶ b ─▶ c ──close──▶ reads {x}, writes {y: 2 writes, z: 1 write} ──▶ runs a, b, c in turn
 *      push c ─┘
 *
 * The joined op fences what they write, so each of them sees the variables as it would have alone: its writes are counted
 * and its failure attached before the next one looks. What a joined op is spared is its own way through the queues and
 * the pool.
 *
 * While a thread has joined ops, its further small ops join as well, even if they could run at once: they might depend
 * on those. Everything of the thread that must not overtake them closes the bulk first (engine_bulk_flush).
 */
#include "engine/engine_internal.h"

#include <stdlib.h>

enum { BULK_MOST = 1024, ENTRIES_MOST = 8 /* of an op that joins */, FEW = ENGINE_LIMIT(64, 4) };

/* ---- The joined op ----------------------------------------------------------------------------------------------- */

static void run_one(engine_op *op, engine_thread *self) {
    engine_failure *failure = engine_op_perform(op, self);
    for (uint32_t i = 0; i < op->entry_count; i++) {
        if (op->entries[i].access == ENGINE_WRITE)
            engine_var_wrote(op->entries[i].var, failure);
    }
    engine_failure_release(failure);
    engine_count_one(&self->completed);
    engine_op_free(op);
}

static int run_joined(void *arg, const neap_run *run) {
    (void)run;
    engine_thread *self = engine_self();
    for (engine_op *op = arg, *next; op; op = next) {
        next = op->next;
        run_one(op, self);
    }
    return NEAP_OK;
}

static int compare_entries(const void *a, const void *b) {
    uintptr_t x = (uintptr_t)((const engine_entry *)a)->var, y = (uintptr_t)((const engine_entry *)b)->var;
    return (x > y) - (x < y);
}

/* Sorts entries by variable and merges those of the same one. Returns how many are left. */
static uint32_t merge(engine_entry *entries, uint32_t count) {
    qsort(entries, count, sizeof *entries, compare_entries);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept > 0 && entries[kept - 1].var == entries[i].var) {
            entries[kept - 1].writes += entries[i].writes;
        } else {
            entries[kept++] = entries[i];
        }
    }
    return kept;
}

/* One op for a list of two or more. NULL: out of memory. *order gets its variables, sorted, in the memory of `space`. */
static engine_op *make_bulk(engine_op *list, engine_entry *space, uint32_t total, neap_var **order) {
    uint32_t count = 0;
    for (engine_op *op = list; op; op = op->next) {
        for (uint32_t i = 0; i < op->entry_count; i++)
            space[count++] = op->entries[i];
    }
    count = merge(space, total);
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
        bulk->entries[i] = space[i];
        bulk->entries[i].access = space[i].writes > 0 ? ENGINE_FENCE : ENGINE_READ;
        bulk->entries[i].index = i;
        order[i] = space[i].var;
    }
    return bulk;
}

/* ---- Closing ----------------------------------------------------------------------------------------------------- */

/* Pushes an op that was accepted long ago; if the engine has been stopped meanwhile, the op is dropped with it. */
static void push_late(engine_op *op, neap_var *const *order, engine_thread *self) {
    void (*release)(void *arg) = op->release;
    void *arg = op->arg;
    atomic_fetch_sub_explicit(&self->pushed, 1, memory_order_relaxed); /* it was counted when it joined */
    if (engine_push_admit(op, order, self) != NEAP_OK && release)
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
    if (engine_push_admit(bulk, order, self) == NEAP_OK)
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

void engine_bulk_close(engine_thread *self) {
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
    } few;
    engine_entry *space = total <= FEW ? few.entries : engine_alloc(total * (sizeof *space + sizeof(neap_var *)));
    neap_var **order = total <= FEW ? few.order : (neap_var **)(space + total);
    engine_op *bulk = count > 1 && space ? make_bulk(list, space, total, order) : NULL;
    if (bulk) {
        push_together(list, bulk, order, self);
    } else {
        push_singly(list, self);
    }
    if (space != few.entries)
        free(space);
}

/* ---- Joining ----------------------------------------------------------------------------------------------------- */

int engine_bulk_join(engine_op *op, neap_var *const *order, engine_thread *self) {
    const engine_op *first = self->joined;
    if (first && (first->device != op->device || first->priority != op->priority || op->entry_count > ENTRIES_MOST))
        engine_bulk_close(self);
    if (op->entry_count > ENTRIES_MOST)
        return engine_push_admit(op, order, self);
    neap_var *own[ENTRIES_MOST];
    int status = engine_push_begin(self);
    if (!status) {
        status = engine_is_naive() ? NEAP_OK : engine_pool_ensure(op->device);
        engine_push_end(self);
    }
    if (!status && !order && !engine_var_order(op->entry_count, op->entries, own))
        status = neap_error(NEAP_E_ARGUMENT, "a variable is listed twice in one push");
    if (status) {
        engine_op_free(op);
        return status;
    }
    if (!self->joined)
        self->joined_tail = &self->joined;
    *self->joined_tail = op;
    self->joined_tail = &op->next;
    op->next = NULL;
    engine_count_one(&self->pushed);
    if (++self->joined_count >= self->bulk_most)
        engine_bulk_close(self);
    return NEAP_OK;
}

int neap_bulk(int most) {
    if (engine_phase() == ENGINE_DEAD)
        return 0;
    engine_thread *self = engine_self();
    engine_bulk_flush(self);
    int before = self->bulk_most;
    self->bulk_most = most < 2 ? 0 : most < BULK_MOST ? most : BULK_MOST;
    return before;
}
