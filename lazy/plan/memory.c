/* plan/memory.c: which slots of a plan share memory in a run.
 *
 * A slot that *dies*, that nobody can ask for after the run, needs its memory from the first step that writes it to the
 * last that touches it. A later slot may be its heir and take the memory over:
 *
 *      step         0    1    2    3    4
 *      slot a       w    r                     a and c have one home, a; its buffer is as large as the larger of them.
 *      slot b            w    r    r           d is written over b, in place: step 3 reads b's elements and writes d's
 *      slot c                 w         r      at the same places.
 *      slot d                      w    r
 *
 * Programs: every made slot dies that is no output, and every leaf that is given to it, that is of a donated array,
 * which any step may overwrite, as what fails then fails for good. Flushes: a node dies that nothing but the pending
 * list and nodes of the region that let go of it refer to (plan_memory_of_flush finds out); such a leaf, if its buffer
 * is nobody else's, may be overwritten as well, but only by the last step of the plan: were it any other, a push that
 * fails for want of memory could not be repeated, since its input were gone. A copy of such a leaf goes away all the
 * same, and what is behind it writes over the leaf: then such a failure is final (plan_memory_give_up).
 *
 * What keeps this right:
 *   1. Values never change by it: steps stay as they are, and the order of accesses to shared memory is the engine's,
 *      as
 *      they go to one variable.
 *   2. A failure stays with the slot that it belongs to: the first write of an heir is a fresh one (engine.h), except
 *      in
 *      place, where it reads what it overwrites.
 *   3. A step waits for those that used the memory before. Nothing may be lost by that, so these must be ancestors of
 *      the
 *      step, or far enough before it, or so wide that they keep all workers busy by themselves (may_follow). And never
 *      must what can run at once wait for a callback by it: the callback's function might ask for that very value.
 *   4. What an effect reads or writes leaves the plan, and its memory with it.
 *   5. What passes between the steps of a launch graph, and is no output of the program, has memory of its own, as it
 *      may lie in that of the graph, which is shared as the steps let go of it (job.c).
 *
 * Bodies (control/body.c): every slot dies that lies in the scratch of the body, small ones too, and as the steps run
 * one after the other, an heir takes over whatever is free. In place a map is written over what the map reads, and a
 * copy is left out.
 *
 * Else small slots keep memory of their own: looking costs more than it gains. But where steps are enqueued as rows, a
 * given leaf is written over in place however small it is, since the results of the next run lie where they lay then.
 */
#include <string.h>

#include "lazy/arena.h"
#include "lazy/plan/verify.h"

enum {
    LEAST_BYTES = 1 << 16, /* of a slot that takes part */
    MOST_STEPS = 4096,     /* of a plan, up to which ancestors are known */
    APART = 16             /* steps of a plan that may be under way at once */
};

static _Atomic int64_t least_bytes = LEAST_BYTES;

struct lazy_memory_plan {
    const lazy_plan *plan;
    size_t least;           /* bytes of a slot that takes part */
    bool serial;            /* of a body: its steps run one after the other, so nobody waits for memory */
    int32_t *first, *last;  /* by slot: the step that writes it first and the one that touches it last, -1: none */
    int32_t *group;         /* by slot: the group of `first` */
    int32_t *start, *touch; /* touch[start[s]] … touch[start[s + 1] - 1] are the steps that touch slot s, in order */
    int32_t *home;          /* by slot: the slot whose buffer it gets */
    size_t *bytes;          /* by slot that is a home: of that buffer */
    uint8_t *dies, *asked; /* by slot, LAZY_STAYS …; what `home` was found for, and scratch for what it is wanted for */
    uint8_t *ends;         /* by slot: LAZY_PASSES or LAZY_DIES, in a program that does not return it */
    uint8_t *stays;        /* an effect uses it */
    uint8_t *late;         /* by step: it waits for an effect of the plan, or is one */
    uint8_t *in_place;
    uint8_t *shared; /* by slot: it has another's memory, or another has its own */
    uint64_t *reach; /* by step: the steps that it waits for, one bit each; NULL: too many */
    size_t words;
    int32_t *written;     /* scratch of find_homes: by slot, the step that wrote it last */
    int32_t *dead, ndead; /* the same: slots that died and have no heir */
    uint8_t *has_heir;    /* the same: by slot, or it is among the dead */
};

/* ---- What does not change from run to run ------------------------------------------------------------------------ */
/* Uses `in_place` to tell which slots hold what is late, as it has no other use yet. */
static void find_late_steps(lazy_memory_plan *r) {
    for (lazy_step_walk w = plan_walk(r->plan); plan_walk_next(&w);) {
        r->late[w.t] = w.step->effect;
        for (int32_t k = 0; k < w.step->nbufs; k++)
            r->late[w.t] |= r->in_place[plan_walk_slot(&w, k)];
        for (int32_t k = w.step->nbufs - w.step->nouts; k < w.step->nbufs; k++)
            r->in_place[plan_walk_slot(&w, k)] |= r->late[w.t];
    }
}

static void find_lifetimes(lazy_memory_plan *r) {
    for (lazy_step_walk w = plan_walk(r->plan); plan_walk_next(&w);)
        for (int32_t k = 0; k < w.step->nbufs; k++) {
            int32_t s = plan_walk_slot(&w, k);
            if (r->last[s] != w.t)
                r->start[s + 1]++;
            if (plan_walk_writes(&w, k) && r->first[s] < 0)
                r->first[s] = w.t;
            r->last[s] = w.t;
            r->stays[s] |= w.step->effect;
        }
    for (int32_t s = 0; s < r->plan->nslots; s++)
        r->start[s + 1] += r->start[s];
}

/* Uses `home` to tell how many steps of each slot are there, as it has no other use yet. */
static void list_touches(lazy_memory_plan *r) {
    memset(r->home, 0, (size_t)r->plan->nslots * sizeof *r->home);
    for (lazy_step_walk w = plan_walk(r->plan); plan_walk_next(&w);)
        for (int32_t k = 0; k < w.step->nbufs; k++) {
            int32_t s = plan_walk_slot(&w, k), *n = &r->home[s];
            if (*n == 0 || r->touch[r->start[s] + *n - 1] != w.t)
                r->touch[r->start[s] + (*n)++] = w.t;
        }
}

void neap_debug_memory_plan(int64_t bytes) {
    least_bytes = bytes > 0 ? bytes : LEAST_BYTES;
    neap_buffer_ordered_from(bytes);
}

static bool worth_it(const lazy_plan *plan, size_t least) {
    int32_t large = 0, made = 0;
    for (int32_t s = 0; s < plan->nslots; s++) {
        bool one = plan->slots[s].bytes >= least;
        large += one;
        made += one && plan->slots[s].made;
    }
    return plan->has_graphs || (made > 0 && large > 1);
}

static void find_groups(lazy_memory_plan *r) {
    int32_t g = 0;
    memset(r->group, 0, (size_t)r->plan->nslots * sizeof *r->group);
    for (lazy_step_walk w = plan_walk(r->plan); g < r->plan->ngroups && plan_walk_next(&w);) {
        g += w.t >= r->plan->groups[g].first + r->plan->groups[g].nsteps;
        for (int32_t k = 0; k < w.step->nbufs; k++)
            if (r->first[plan_walk_slot(&w, k)] == w.t)
                r->group[plan_walk_slot(&w, k)] = g;
    }
}

static void find_ends(lazy_memory_plan *r) {
    memset(r->ends, LAZY_DIES, (size_t)r->plan->nslots);
    for (const lazy_group *group = r->plan->groups; group < r->plan->groups + r->plan->ngroups; group++)
        for (int32_t k = 0; k < group->nbufs && group->graphs; k++)
            if (group->last[k] >= 0)
                r->ends[group->slots[k]] = LAZY_PASSES;
}

static lazy_memory_plan *memory_plan_new(const lazy_plan *plan, size_t least, bool serial) {
    size_t n = (size_t)plan->nslots, steps = (size_t)plan->nsteps, touches = 0;
    for (int32_t t = 0; t < plan->nsteps; t++)
        touches += (size_t)plan->steps[t]->nbufs;
    size_t words = plan->nsteps <= MOST_STEPS && !serial ? (steps + 63) / 64 : 0;
    lazy_memory_plan *r, own = {.plan = plan, .least = least, .serial = serial, .words = words};
    if (!LAZY_ARENA(LAZY_PART(r, 1), LAZY_PART(own.bytes, n), LAZY_PART(own.reach, steps * words),
                    LAZY_PART(own.first, n), LAZY_PART(own.last, n), LAZY_PART(own.group, n), LAZY_PART(own.home, n),
                    LAZY_PART(own.written, n), LAZY_PART(own.dead, n), LAZY_PART(own.start, n + 1),
                    LAZY_PART(own.touch, touches), LAZY_PART(own.dies, n), LAZY_PART(own.asked, n),
                    LAZY_PART(own.stays, n), LAZY_PART(own.ends, n), LAZY_PART(own.in_place, n),
                    LAZY_PART(own.has_heir, n), LAZY_PART(own.shared, n), LAZY_PART(own.late, steps)))
        return NULL;
    *r = own;
    r->reach = words ? r->reach : NULL;
    memset(r->first, 0xff, n * sizeof(int32_t));
    memset(r->last, 0xff, n * sizeof(int32_t));
    find_late_steps(r);
    find_lifetimes(r);
    list_touches(r);
    find_groups(r);
    find_ends(r);
    r->dies[0] = UINT8_MAX; /* `home` was found for nothing yet */
    return r;
}

lazy_memory_plan *plan_memory_new(const lazy_plan *plan) {
    size_t least = (size_t)least_bytes;
    return worth_it(plan, least) ? memory_plan_new(plan, least, false) : NULL;
}

void plan_memory_free(lazy_memory_plan *reuse) {
    free(reuse);
}

/* ---- Who waits for whom ------------------------------------------------------------------------------------------ */
static bool reaches(const lazy_memory_plan *r, int32_t t, int32_t u) {
    return r->reach && r->reach[(size_t)t * r->words + (size_t)u / 64] >> (u % 64) & 1;
}

/* Step t waits for step u, and for what that waits for. */
static void add_reach(lazy_memory_plan *r, int32_t t, int32_t u) {
    if (!r->reach || t == u || reaches(r, t, u))
        return;
    uint64_t *to = r->reach + (size_t)t * r->words, *from = r->reach + (size_t)u * r->words;
    for (size_t k = 0; k < r->words; k++)
        to[k] |= from[k];
    to[u / 64] |= (uint64_t)1 << (u % 64);
}

/* What step t waits for by itself: those that wrote what it touches. */
static void find_waited_for(lazy_memory_plan *r, const lazy_step_walk *w) {
    if (r->reach)
        memset(r->reach + (size_t)w->t * r->words, 0, r->words * sizeof *r->reach);
    for (int32_t k = 0; k < w->step->nbufs; k++) {
        int32_t s = plan_walk_slot(w, k);
        if (r->written[s] >= 0)
            add_reach(r, w->t, r->written[s]);
        if (plan_walk_writes(w, k))
            r->written[s] = w->t;
    }
}

/* Whether step t may be made to wait for all that touch slot s. A copy that goes away by that is worth any wait, but
 * for effects. */
static bool may_follow(const lazy_memory_plan *r, int32_t t, int32_t s) {
    bool worth = r->plan->steps[t]->copies;
    for (int32_t i = r->start[s]; i < r->start[s + 1] && !r->serial; i++) {
        int32_t u = r->touch[i];
        const lazy_step *step = r->plan->steps[u];
        bool soon = !r->late[u] && (plan_is_wide(step) || worth || t - u > APART);
        if (u != t && !soon && !reaches(r, t, u))
            return false;
    }
    return true;
}

/* ---- Who may take over what -------------------------------------------------------------------------------------- */
/* Whether the step, which writes its buffer `out`, may write it over its buffer `in`: see vm_kernel_run. Machine code
 * of loops may read an input of a reduction again when it has stored maps of it. */
static bool may_overwrite(const lazy_memory_plan *r, const lazy_step *step, int32_t in, int32_t out) {
    if (step->kind != LAZY_STEP_KERNEL)
        return step->copies;
    const lazy_kernel *kernel = &step->kernel;
    const lazy_sink *sink = NULL;
    if (r->serial && kernel->nkept < kernel->ndim)
        return false;
    for (int k = 0; k < kernel->nsinks; k++)
        sink = kernel->sinks[k].slot == out ? &kernel->sinks[k] : sink;
    if (!sink || sink->kind != LAZY_SINK_STORE)
        return false;
    for (int k = 0; k < kernel->nloads; k++) {
        const lazy_load *load = &kernel->loads[k];
        bool reads = (load->kind == LAZY_LOAD_BUFFER || load->kind == LAZY_LOAD_TABLE) &&
                     step->slots[load->slot] == step->slots[in];
        if (reads && (load->kind == LAZY_LOAD_TABLE || !loop_maps_agree(kernel, &load->read, &sink->write) ||
                      neap_dtype_bytes(load->dtype) != neap_dtype_bytes(sink->dtype)))
            return false;
    }
    return true;
}

/* How far the home of slot `from` is from what slot s needs, in bytes; SIZE_MAX: too far. What stays must not lie in
 * memory of which a good part is unused; a leaf's memory is as large as it is. A body's memory is one piece, which goes
 * with it. */
static size_t misfit(const lazy_memory_plan *r, int32_t s, int32_t from) {
    const lazy_slot *slot = &r->plan->slots[s], *other = &r->plan->slots[r->home[from]];
    size_t has = r->bytes[r->home[from]], wants = slot->bytes;
    if (slot->device != other->device || (!other->made && has < wants) ||
        (!r->serial && has > wants && has - wants > (r->dies[s] >= LAZY_DIES ? wants : wants / 4)))
        return SIZE_MAX;
    return has > wants ? has - wants : wants - has;
}

/* Whether step t may write over a leaf: any step if it is given, or else only the last. */
static bool may_write(const lazy_memory_plan *r, int32_t t, int32_t home) {
    return r->plan->slots[home].made || r->dies[home] == LAZY_DIES_GIVEN || t == r->plan->nsteps - 1;
}

static void inherit(lazy_memory_plan *r, int32_t t, int32_t s, int32_t from) {
    int32_t home = r->home[from];
    r->home[s] = home;
    r->shared[s] = r->shared[home] = 1;
    if (r->plan->slots[home].made && r->bytes[home] < r->bytes[s])
        r->bytes[home] = r->bytes[s];
    for (int32_t i = r->start[from]; i < r->start[from + 1]; i++)
        add_reach(r, t, r->touch[i]);
}

/* Whether a slot may have an heir in place. */
static bool may_have_heir(const lazy_memory_plan *r, int32_t s) {
    bool large = r->plan->slots[s].bytes >= r->least, given = r->dies[s] == LAZY_DIES_GIVEN;
    return r->dies[s] >= LAZY_DIES && (large || (given && r->plan->has_graphs));
}

/* Over a slot that dies in this step, if its reads allow it. What is read from an origin on is written elsewhere. */
static bool inherit_in_place(lazy_memory_plan *r, const lazy_step_walk *w, int32_t out) {
    int32_t s = plan_walk_slot(w, out);
    for (int32_t in = 0; in < w->step->nbufs - w->step->nouts; in++) {
        int32_t from = plan_walk_slot(w, in);
        if (r->plan->slots[from].sliced || r->last[from] != w->t || !may_have_heir(r, from) || r->has_heir[from] ||
            !(w->step->copies || may_write(r, w->t, r->home[from])) || misfit(r, s, from) == SIZE_MAX ||
            !may_follow(r, w->t, from) || !may_overwrite(r, w->step, in, out))
            continue;
        r->in_place[s] = r->has_heir[from] = 1;
        inherit(r, w->t, s, from);
        return true;
    }
    return false;
}

/* The memory that fits best among that of slots which have died before. */
static void inherit_dead(lazy_memory_plan *r, const lazy_step_walk *w, int32_t out) {
    int32_t s = plan_walk_slot(w, out), best = -1;
    size_t least = SIZE_MAX;
    for (int32_t k = 0; k < r->ndead; k++) {
        int32_t from = r->dead[k];
        size_t misfits = misfit(r, s, from);
        if (misfits >= least || !may_write(r, w->t, r->home[from]) || !may_follow(r, w->t, from))
            continue;
        best = k;
        least = misfits;
    }
    if (best < 0)
        return;
    int32_t from = r->dead[best];
    r->dead[best] = r->dead[--r->ndead];
    r->has_heir[from] = 1;
    inherit(r, w->t, s, from);
}

/* Slots that this step touches as the last one are free from the next step on. */
static void bury(lazy_memory_plan *r, const lazy_step_walk *w) {
    for (int32_t k = 0; k < w->step->nbufs; k++) {
        int32_t s = plan_walk_slot(w, k);
        bool large = r->plan->slots[s].bytes >= r->least;
        if (large && r->dies[s] >= LAZY_DIES && r->last[s] == w->t && !r->has_heir[s]) {
            r->has_heir[s] = 1; /* or is waiting for one: it is buried once */
            r->dead[r->ndead++] = s;
        }
    }
}

/* Finds the homes for what r->dies says. A leaf that an heir's home is may be overwritten by the last step alone, but
 * for a copy of it: so it has no heir before that, and its heir none. */
static void find_homes(lazy_memory_plan *r) {
    size_t n = (size_t)r->plan->nslots;
    memset(r->has_heir, 0, n);
    memset(r->in_place, 0, n);
    memset(r->shared, 0, n);
    memset(r->written, 0xff, n * sizeof *r->written);
    r->ndead = 0;
    for (int32_t s = 0; s < r->plan->nslots; s++) {
        r->home[s] = s;
        r->bytes[s] = r->plan->slots[s].bytes;
    }
    for (lazy_step_walk w = plan_walk(r->plan); plan_walk_next(&w);) {
        find_waited_for(r, &w);
        for (int32_t out = w.step->nbufs - w.step->nouts; out < w.step->nbufs; out++) {
            int32_t s = plan_walk_slot(&w, out);
            bool large = r->bytes[s] >= r->least;
            if (r->first[s] != w.t || r->stays[s] || r->dies[s] == LAZY_PASSES || !(large || r->plan->has_graphs))
                continue;
            if (!inherit_in_place(r, &w, out) && large)
                inherit_dead(r, &w, out);
        }
        bury(r, &w);
    }
}

/* ---- Who dies ---------------------------------------------------------------------------------------------------- */
/* Homes for r->asked, unless they are known. */
static void resolve_homes(lazy_memory_plan *r) {
    size_t n = (size_t)r->plan->nslots;
    for (size_t s = 0; s < n; s++)
        r->asked[s] = r->stays[s] ? LAZY_STAYS : r->asked[s];
    if (memcmp(r->dies, r->asked, n) == 0)
        return;
    memcpy(r->dies, r->asked, n);
    find_homes(r);
}

void plan_memory_of_program(const lazy_plan *plan, int64_t nkept, const int32_t *kept, int64_t ngiven,
                            const int32_t *given) {
    lazy_memory_plan *reuse = plan->reuse;
    if (!reuse)
        return;
    for (int32_t s = 0; s < plan->nslots; s++)
        reuse->asked[s] = plan->slots[s].made ? reuse->ends[s] : LAZY_STAYS;
    for (int64_t k = 0; k < ngiven; k++)
        if (given[k] >= 0)
            reuse->asked[given[k]] = LAZY_DIES_GIVEN;
    for (int64_t k = 0; k < nkept; k++)
        if (kept[k] >= 0)
            reuse->asked[kept[k]] = LAZY_STAYS;
    resolve_homes(reuse);
}

int plan_memory_of_body(const lazy_plan *plan, const bool *inside, const int32_t *until, int32_t *home, size_t *bytes) {
    size_t n = (size_t)plan->nslots;
    lazy_memory_plan *r = memory_plan_new(plan, 1, true);
    if (!r)
        return neap_error(NEAP_E_MEMORY, "out of memory for a body");
    for (size_t s = 0; s < n; s++) {
        r->stays[s] = !inside[s];
        r->asked[s] = LAZY_DIES;
        r->last[s] = until[s] > r->last[s] ? until[s] : r->last[s];
    }
    resolve_homes(r);
    memcpy(home, r->home, n * sizeof *home);
    memcpy(bytes, r->bytes, n * sizeof *bytes);
    int status = LAZY_VERIFY_HOMES(plan, (&(lazy_homes){home, bytes, r->dies, true}));
    plan_memory_free(r);
    return status;
}

/* Nodes of a region and the references to them that its end will release. */
typedef struct census {
    neap_ctx *ctx;
    uint32_t *released; /* by region number */
} census;

/* One reference to the node goes, or becomes one to its structure alone. Outside of the region there are views that
 * only a view of it refers to: they go with it, and hand on what they refer to. */
static void release_one(const census *c, neap_node *node) {
    while (node && node->mark != c->ctx->walk.epoch && graph_node_holders(node) == 1 && !node->id && !node->buffer &&
           graph_is_view(node)) {
        if (node->base->mark == c->ctx->walk.epoch)
            c->released[node->base->index]++;
        node = node->in[0];
    }
    if (node && node->mark == c->ctx->walk.epoch)
        c->released[node->index]++;
}

static bool goes(const census *c, const neap_node *node) {
    uint32_t refs = c->released[node->index] + (node->state == LAZY_PENDING);
    return !node->id && graph_node_holders(node) == refs && (!node->buffer || neap_buffer_sole(node->buffer));
}

/* Users stand behind what they use, so the walk is from the last node to the first. A node that gets a buffer lets go
 * of its inputs (graph_node_drop), one that goes itself also of its base. */
static void count_references(const census *c, const uint8_t *made) {
    for (int64_t k = c->ctx->walk.order.n - 1; k >= 0; k--) {
        neap_node *node = c->ctx->walk.order.at[k];
        bool gone = goes(c, node);
        if (node->loose)
            continue;
        if (gone && node->base)
            release_one(c, node->base);
        if ((gone || (made[k] && node->levels == 0)) && !(node->flags & LAZY_DROPPED))
            for (int i = 0; i < node->nin; i++)
                release_one(c, node->in[i]);
    }
}

void plan_memory_of_flush(neap_ctx *ctx, const lazy_plan *plan) {
    lazy_memory_plan *reuse = plan->reuse;
    if (!reuse)
        return;
    size_t n = (size_t)ctx->walk.order.n;
    uint8_t *made = calloc(1, n * (sizeof(uint32_t) + 1) + sizeof(uint32_t));
    memset(reuse->asked, 0, (size_t)plan->nslots);
    if (made) {
        census c = {.ctx = ctx, .released = (uint32_t *)(made + (n + 3) / 4 * 4)};
        for (int32_t s = 0; s < plan->nslots; s++)
            made[plan->slots[s].node] = plan->slots[s].made;
        count_references(&c, made);
        for (int32_t s = 0; s < plan->nslots; s++)
            if (goes(&c, ctx->walk.order.at[plan->slots[s].node]))
                reuse->asked[s] = LAZY_DIES;
        free(made);
    }
    resolve_homes(reuse);
}

/* ---- In a run ---------------------------------------------------------------------------------------------------- */
int32_t plan_memory_home(const lazy_plan *plan, int32_t slot) {
    return plan->reuse ? plan->reuse->home[slot] : slot;
}

size_t plan_memory_bytes(const lazy_plan *plan, int32_t slot) {
    return plan->reuse ? plan->reuse->bytes[slot] : plan->slots[slot].bytes;
}

bool plan_memory_is_shared(const lazy_plan *plan, int32_t slot) {
    return plan->reuse && plan->reuse->shared[slot];
}

bool plan_memory_is_fresh(const lazy_plan *plan, int32_t slot, int32_t step) {
    const lazy_memory_plan *r = plan->reuse;
    return r && r->home[slot] != slot && r->first[slot] == step && !r->in_place[slot];
}

int32_t plan_memory_group(const lazy_plan *plan, int32_t slot) {
    return plan->reuse ? plan->reuse->group[slot] : 0;
}

bool plan_memory_passes(const lazy_plan *plan, int32_t slot) {
    return plan->reuse && plan->reuse->dies[slot] == LAZY_PASSES;
}

int plan_memory_verify(const lazy_plan *plan) {
    const lazy_memory_plan *r = plan->reuse;
    return r ? plan_verify_homes(plan, &(lazy_homes){r->home, r->bytes, r->dies, false}) : 0;
}

static int fail_taken(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return neap_error(NEAP_E_FAILED, "out of memory in the middle of updates of an array that was written in place");
}

int plan_memory_give_up(neap_ctx *ctx, const lazy_plan *plan, int status) {
    for (int32_t s = 0; s < plan->nslots; s++) {
        int32_t home = plan_memory_home(plan, s);
        if (home == s || plan->slots[home].made || status != NEAP_E_MEMORY)
            continue;
        neap_var *var = neap_buffer_var(ctx->walk.order.at[plan->slots[home].node]->buffer);
        neap_push push = {.name = "update", .nwrites = 1, .writes = &var};
        if (neap_push_now(fail_taken, NULL, &push) == NEAP_PENDING)
            neap_push_sync(fail_taken, NULL, &push);
        status = fail_taken(NULL, NULL);
    }
    return status;
}
