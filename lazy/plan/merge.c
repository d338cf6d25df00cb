/* merge.c: from kernels of one result each to fewer and larger ones.
 *
 * fuse.c makes a kernel for each node that gets a buffer. Here kernels become one where memory is then passed over once
 * instead of twice, or where at least a launch is saved:
 *
 *      producer and consumer   B reads what A stores, with the map with which A stores it: B takes A's value
 *      reduction and consumer  B reads what A reduces, one element for each of A's rows: B takes A's RESULT. B works on
 *                              the same rows, or on one element for each of them (STORE_ROW)
 *      siblings                A and B run over the same box and read the same buffer the same way: it is read once
 *
 * Two kernels are compared by *evidence*: pairs of maps, one of A and one of B, that lead to the same elements of the
 * same buffer. Axes whose strides agree in all pairs are the same axis; an axis of one kernel that is two axes of the
 * other is split, so a kernel over (6, 4) fits one over (24). What both kernels compute is then computed once.
 *
 * A value that no kernel loads any more, and whose recorded consumers all run in this region, is not stored: it stays a
 * recipe, as everything that is fused away.
 *
 * What keeps kernels apart: see `may_merge` (order, memories, size, calls in between) and `rows_allow` (long rows).
 *
 * Each kernel is compared with the few that made or last read what it reads, and nothing here walks the region twice,
 * so planning stays linear in the number of nodes.
 */
#include <string.h>

#include "lazy/plan/verify.h"

enum {
    MERGED_BUFFERS = 32, /* that a merged kernel reads and writes, at most: each is a stream of memory */
    MERGED_SINKS = 256,  /* that it has at most, with those that may not be stored in the end */
    READERS = 3,         /* last kernels that read a node, and may be siblings of the next one */
    CANDIDATES = 32,
    COLUMN_MAX = 64, /* elements of rows across memory that are read twice */
    EVIDENCE = 4,
    TRIALS = 16 /* of pairs of shared loads */
};

typedef struct unit { /* a draft, and what it was merged with */
    lazy_draft *draft;
    int32_t into;       /* the unit that it is part of now; itself if alive */
    int32_t place;      /* units run in this order */
    int32_t first_user; /* place of the first unit that reads what this one writes, or less */
    uint64_t calls;     /* that lead here, and itself: one bit each, as in lazy_waits */
    int32_t effects;    /* calls before it that are effects */
} unit;

typedef struct merger {
    neap_ctx *ctx;
    uint8_t *made;
    unit *units;
    int32_t n, ncalls;
    int32_t *writer; /* region number → the last unit that writes the node, -1 */
    int32_t *reader; /* region number · READERS → the last units that read it, -1 */
    LAZY_VECTOR(int32_t) reads;
    LAZY_VECTOR(int32_t) now; /* a merged kernel's loads, then instructions, as values of the other one */
} merger;

static int32_t alive(merger *m, int32_t u) {
    while (m->units[u].into != u)
        u = m->units[u].into = m->units[m->units[u].into].into;
    return u;
}

/* Nodes that a draft reads, -1 between them. */
static int64_t nreads(const lazy_draft *draft) {
    return draft->call ? draft->call->call.nin : draft->loads.n;
}
static int32_t read_at(const lazy_draft *draft, int64_t k) {
    if (draft->call)
        return draft->call->slots[k];
    const lazy_draft_load *from = &draft->loads.at[k];
    return loop_has_buffer(&from->load) ? from->node : -1;
}

static int32_t writer_of(merger *m, int32_t node) {
    return node < 0 || m->writer[node] < 0 ? -1 : alive(m, m->writer[node]);
}

/* Does the value leave no trace if no kernel loads it? Consumer counts are recorded, so this follows from the graph. */
static bool droppable(const merger *m, int32_t node) {
    uint8_t why = m->made[node];
    return why == LAZY_WHY_KERNELS || why == LAZY_WHY_REDUCTION || why == LAZY_WHY_FAR_ROWS || why == LAZY_WHY_TIMES;
}

static const lazy_draft_sink *sink_of(const lazy_draft *draft, int32_t node) {
    for (int64_t k = 0; k < draft->sinks.n; k++)
        if (draft->sinks.at[k].node == node)
            return &draft->sinks.at[k];
    return NULL;
}

/* ---- The same axes ----------------------------------------------------------------------------------------------- */
typedef struct strand { /* an axis or a part of one: every `step` elements of it */
    int axis;
    int64_t extent, step;
    int64_t stride[EVIDENCE]; /* in each map of the evidence */
} strand;

typedef struct strands {
    int n;
    strand at[LAZY_MAX_DOMAIN];
} strands;

typedef struct evidence {
    int n;
    const lazy_wide_map *map[EVIDENCE][2]; /* of A, of B */
} evidence;

typedef struct axis_pair { /* an axis of the merged kernel, and what it is in A and in B: -1, nothing */
    int64_t extent, step[2];
    int axis[2];
} axis_pair;

typedef struct pairing {
    int n, nkept;
    bool rows[2]; /* A, B: has one element for each row of the other */
    axis_pair at[LAZY_MAX_DOMAIN];
} pairing;

static strands strands_of(const lazy_draft *draft, const evidence *e, int side) {
    strands s = {0};
    for (int k = 0; k < draft->ndim; k++) {
        if (draft->box[k] == 1)
            continue;
        strand *at = &s.at[s.n++];
        *at = (strand){.axis = k, .extent = draft->box[k], .step = 1};
        for (int i = 0; i < e->n; i++)
            at->stride[i] = e->map[i][side]->stride[k];
    }
    return s;
}

static bool same_strides(const strand *a, const strand *b) {
    return memcmp(a->stride, b->stride, sizeof a->stride) == 0;
}

static bool is_still(const strand *s) {
    static const strand none;
    return same_strides(s, &none);
}

/* What is left of a strand when its innermost `inner` elements are taken away; false if nothing is. */
static bool peel(strand *s, int64_t inner) {
    s->extent /= inner;
    s->step *= inner;
    for (int i = 0; i < EVIDENCE; i++)
        s->stride[i] *= inner;
    return s->extent > 1;
}

static bool add_pair(pairing *p, int64_t extent, const strand *a, const strand *b) {
    if (p->n == LAZY_MAX_DOMAIN)
        return false;
    p->at[p->n].extent = extent;
    p->at[p->n].axis[0] = a ? a->axis : -1;
    p->at[p->n].axis[1] = b ? b->axis : -1;
    p->at[p->n].step[0] = a ? a->step : 0;
    p->at[p->n++].step[1] = b ? b->step : 0;
    return true;
}

/* Pairs strands that move alike; what stands still in all evidence is left over. False: something moves in A or B
 * alone. */
static bool pair_strands(strands *a, strands *b, pairing *p) {
    strands still = {0};
    while (a->n > 0) {
        strand s = a->at[--a->n];
        if (is_still(&s)) {
            still.at[still.n++] = s;
            continue;
        }
        int k = 0;
        while (k < b->n && !same_strides(&s, &b->at[k]))
            k++;
        if (k == b->n)
            return false;
        strand t = b->at[k];
        int64_t inner = s.extent < t.extent ? s.extent : t.extent;
        if (s.extent % inner || t.extent % inner || !add_pair(p, inner, &s, &t))
            return false;
        b->at[k] = b->at[--b->n];
        if (peel(&s, inner))
            a->at[a->n++] = s;
        if (peel(&t, inner))
            b->at[b->n++] = t;
    }
    for (int k = 0; k < b->n; k++)
        if (!is_still(&b->at[k]))
            return false;
    *a = still;
    return true;
}

/* Are the strands left over the reduced axes of the draft, all of them and whole? */
static bool are_rows(const lazy_draft *draft, const strands *left) {
    int axes = 0;
    for (int k = draft->nkept; k < draft->ndim; k++)
        axes += draft->box[k] > 1;
    for (int k = 0; k < left->n; k++)
        if (left->at[k].axis < draft->nkept || left->at[k].step != 1)
            return false;
    return draft->reduces && left->n == axes && axes > 0;
}

static bool in_order(const axis_pair *first, const axis_pair *second, int side) {
    return first->axis[side] < second->axis[side] ||
           (first->axis[side] == second->axis[side] && first->step[side] > second->step[side]);
}

/* Axes in the order of the kernel that has rows. If both have, they must reduce in the same order; if none has, they
 * must walk in the same order: to store along one axis and across it at a time took a quarter longer than to do it one
 * after the other. */
static bool order_axes(const lazy_draft *a, const lazy_draft *b, pairing *p) {
    int leader = !a->reduces && b->reduces;
    const lazy_draft *lead = leader ? b : a;
    for (int k = 1; k < p->n; k++)
        for (int j = k; j > 0 && in_order(&p->at[j], &p->at[j - 1], leader); j--) {
            axis_pair swapped = p->at[j];
            p->at[j] = p->at[j - 1];
            p->at[j - 1] = swapped;
        }
    p->nkept = 0;
    while (p->nkept < p->n && (!lead->reduces || p->at[p->nkept].axis[leader] < lead->nkept))
        p->nkept++;
    for (int k = 0; a->reduces == b->reduces && k < p->n; k++) {
        bool kept = p->at[k].axis[1] < b->nkept, first = k == 0 || k == p->nkept;
        bool free = a->reduces && kept;
        if (kept != (k < p->nkept) || !(free || first || in_order(&p->at[k - 1], &p->at[k], 1)))
            return false;
    }
    return !lead->reduces || p->nkept < p->n || add_pair(p, 1, NULL, NULL);
}

static lazy_wide_map carry_map(const lazy_wide_map *map, const pairing *p, int side) {
    lazy_wide_map out = {.offset = map->offset};
    for (int k = 0; k < p->n; k++)
        if (p->at[k].axis[side] >= 0)
            out.stride[k] = map->stride[p->at[k].axis[side]] * p->at[k].step[side];
    return out;
}

/* Does B read all that it needs of A exactly where A writes it? */
static bool links_hold(const lazy_draft *a, const lazy_draft *b, const pairing *p) {
    for (int64_t k = 0; k < b->loads.n; k++) {
        int32_t node = read_at(b, k);
        const lazy_draft_sink *sink = node < 0 ? NULL : sink_of(a, node);
        if (!sink)
            continue;
        lazy_wide_map write = carry_map(&sink->sink.write, p, 0), read = carry_map(&b->loads.at[k].load.read, p, 1);
        if (b->loads.at[k].load.kind == LAZY_LOAD_TABLE || !loop_maps_equal(p->n, &write, &read))
            return false;
    }
    return true;
}

/* The axes of A and B under this evidence. `shared`: it holds more than what B reads of A. */
static bool pair_axes(const lazy_draft *a, const lazy_draft *b, const evidence *e, bool shared, pairing *p) {
    strands left[2] = {strands_of(a, e, 0), strands_of(b, e, 1)};
    *p = (pairing){0};
    if (!pair_strands(&left[0], &left[1], p))
        return false;
    if (left[0].n || left[1].n) {
        int whole = left[1].n > 0; /* the one with rows; of these the other has one element each */
        const lazy_draft *rows = whole ? b : a, *other = whole ? a : b;
        if (shared || left[!whole].n || other->reduces || !are_rows(rows, &left[whole]))
            return false;
        for (int k = 0; k < left[whole].n; k++)
            if (!add_pair(p, left[whole].at[k].extent, whole ? NULL : &left[0].at[k], whole ? &left[1].at[k] : NULL))
                return false;
        p->rows[!whole] = true;
    }
    return order_axes(a, b, p) && links_hold(a, b, p);
}

/* Finds out which axes of A and B are the same: from what B reads of A; if that does not say, also from one buffer that
 * both read. */
static bool match(const lazy_draft *a, const lazy_draft *b, bool linked, pairing *p) {
    evidence e = {0};
    for (int64_t k = 0; k < b->loads.n && linked && e.n < EVIDENCE - 1; k++) {
        int32_t node = read_at(b, k);
        const lazy_draft_sink *sink = node < 0 ? NULL : sink_of(a, node);
        if (!sink)
            continue;
        e.map[e.n][0] = &sink->sink.write;
        e.map[e.n++][1] = &b->loads.at[k].load.read;
    }
    if (linked && pair_axes(a, b, &e, false, p))
        return true;
    int trials = 0;
    e.n++;
    for (int64_t i = 0; i < a->loads.n; i++)
        for (int64_t k = 0; k < b->loads.n && trials < TRIALS; k++) {
            if (a->loads.at[i].load.kind != LAZY_LOAD_BUFFER || b->loads.at[k].load.kind != LAZY_LOAD_BUFFER ||
                a->loads.at[i].node != b->loads.at[k].node)
                continue;
            e.map[e.n - 1][0] = &a->loads.at[i].load.read;
            e.map[e.n - 1][1] = &b->loads.at[k].load.read;
            trials++;
            if (!pair_axes(a, b, &e, true, p))
                continue;
            lazy_wide_map left = carry_map(e.map[e.n - 1][0], p, 0), right = carry_map(e.map[e.n - 1][1], p, 1);
            if (loop_maps_equal(p->n, &left, &right)) /* not if they read other parts of it */
                return true;
        }
    return false;
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */
/* When B works on whole rows and takes a result of A, it has to read its row a second time:
 *
 *  - This pays while the row is in the cache. Longer rows stay two kernels, which also use all cores where there are
 *    few rows.
 *  - Rows must lie along memory, or be short. Reductions over other axes are walked by columns (vm.h), many of them at
 *    a time, and a block of whole columns soon is too much for the first cache. One kernel took, of the time of
 *    several: a softmax over the first axis of (64, 10000) 0.83, of (1000, 1000) 1.3; a mean taken off 1.1 and 1.9; a
 *    norm 0.5 and 0.7. What is stored and reduced in one pass, in whatever order, is never slower than two. */
static bool rows_allow(merger *m, const lazy_draft *a, const lazy_draft *b, const pairing *p) {
    if ((!a->reduces && !b->reduces) || p->rows[0] || p->rows[1])
        return true;
    int64_t row = 1;
    int last = p->n - 1;
    bool late = false, along = false;
    for (int k = p->nkept; k < p->n; k++)
        row *= p->at[k].extent;
    while (last > p->nkept && p->at[last].extent == 1)
        last--;
    for (int64_t k = 0; k < b->loads.n; k++) {
        int32_t node = read_at(b, k);
        const lazy_draft_sink *sink = node < 0 ? NULL : sink_of(a, node);
        late |= sink && sink->sink.kind != LAZY_SINK_STORE;
        lazy_wide_map read = carry_map(&b->loads.at[k].load.read, p, 1);
        along |= node >= 0 && (read.stride[last] == 1 || read.stride[last] == -1);
    }
    if (!late || row <= (along ? LAZY_ROW_MAX : COLUMN_MAX))
        return true;
    for (int64_t k = 0; k < a->sinks.n; k++)
        if (a->sinks.at[k].sink.kind == LAZY_SINK_REDUCE && droppable(m, a->sinks.at[k].node))
            m->made[a->sinks.at[k].node] = LAZY_WHY_FAR_ROWS;
    return false;
}

/* Would A, the earlier one, with B in it break the order? Either B moves to A's place, if all else that it reads is
 * there by then, or A to B's, if nobody wants it before. Calls never move; and nothing moves behind an effect, since a
 * program's prints happen with its callbacks, in between its steps. */
static bool find_position(merger *m, int32_t a, int32_t b, int32_t *place) {
    bool early = true;
    const lazy_draft *draft = m->units[b].draft;
    for (int64_t k = 0; k < nreads(draft) && early; k++) {
        int32_t writer = writer_of(m, read_at(draft, k));
        early = writer < 0 || writer == a || m->units[writer].place < m->units[a].place;
    }
    *place = early ? m->units[a].place : m->units[b].place;
    return early || (m->units[a].first_user >= m->units[b].place && m->units[a].effects == m->units[b].effects);
}

/* Is all that A writes read by nobody but B, so far, and not stored if B takes it over? */
static bool only_for(merger *m, const unit *a, const unit *b) {
    bool only = a->first_user >= b->place;
    for (int64_t k = 0; k < a->draft->sinks.n && only; k++)
        only = droppable(m, a->draft->sinks.at[k].node);
    return only;
}

/* What is stored for this region alone will not be, if all goes well; and what `maker` stores is not read. */
static int64_t buffers(const merger *m, const lazy_draft *draft, const lazy_draft *maker) {
    int64_t n = 0;
    for (int64_t k = 0; k < draft->sinks.n; k++)
        n += !droppable(m, draft->sinks.at[k].node);
    for (int64_t k = 0; k < draft->loads.n; k++)
        n += read_at(draft, k) >= 0 && !(maker && sink_of(maker, read_at(draft, k)));
    return n;
}

/* Apart stay what runs in different memories (devices that share one share kernels, too, where these read the same:
 * else each device would read it again); the parts of a chain that was cut; what would be too large; what cannot run at
 * one time, since something else stands between (find_position); and what waits for other calls than the other does,
 * unless nobody else wants that: calls take long and may fail, and then all results of a kernel do. (Among more than 64
 * calls, some that differ look alike: must_stay_apart of region.c sees to those that may fail.) */
static bool may_merge(merger *m, int32_t a, int32_t b, bool linked, int32_t *place) {
    const unit *x = &m->units[a], *y = &m->units[b];
    const lazy_draft *first = x->draft, *second = y->draft;
    if (first->call || second->call || first->fixed || second->fixed ||
        !plan_share_memory(first->device, second->device) || first->ins.n + second->ins.n > LAZY_KERNEL_MAX_INS ||
        first->sinks.n + second->sinks.n > MERGED_SINKS ||
        buffers(m, first, NULL) + buffers(m, second, linked ? first : NULL) > MERGED_BUFFERS)
        return false;
    if (first->segment >= 0 && second->segment >= 0 && first->segment != second->segment)
        return false;
    if (x->calls != y->calls && !(linked && only_for(m, x, y)))
        return false;
    return find_position(m, a, b, place);
}

/* ---- Merging ----------------------------------------------------------------------------------------------------- */
static void carry_all(lazy_draft *draft, const pairing *p, int side) {
    bool same = p->n == draft->ndim && p->nkept == draft->nkept && !p->rows[side];
    for (int k = 0; k < p->n && same; k++)
        same = p->at[k].axis[side] == k && p->at[k].step[side] == 1;
    if (same)
        return;
    for (int64_t k = 0; k < draft->loads.n; k++)
        draft->loads.at[k].load.read = carry_map(&draft->loads.at[k].load.read, p, side);
    for (int64_t k = 0; k < draft->sinks.n; k++) {
        lazy_sink *sink = &draft->sinks.at[k].sink;
        sink->write = carry_map(&sink->write, p, side);
        if (p->rows[side] && sink->kind == LAZY_SINK_STORE)
            sink->kind = LAZY_SINK_STORE_ROW;
    }
    draft->ndim = p->n;
    draft->nkept = p->nkept;
    for (int k = 0; k < p->n; k++)
        draft->box[k] = p->at[k].extent;
}

/* The load as a value of the draft, which may have it already. A table is read by one instruction alone. */
static int take_load(lazy_draft *to, const lazy_draft_load *from, int32_t *value) {
    for (int64_t k = 0; k < to->loads.n && from->load.kind != LAZY_LOAD_TABLE; k++) {
        const lazy_draft_load *has = &to->loads.at[k];
        if (has->node == from->node && has->load.kind == from->load.kind && has->load.dtype == from->load.dtype &&
            has->load.slot == from->load.slot &&
            memcmp(&has->load.read, &from->load.read, sizeof has->load.read) == 0) {
            *value = -1 - (int32_t)k;
            return 0;
        }
    }
    *value = -1 - (int32_t)to->loads.n;
    return lazy_push(&to->loads, *from);
}

static bool same_ins(const lazy_ins *a, const lazy_ins *b) {
    return a->op == b->op && a->dtype == b->dtype && a->result == b->result && a->narg == b->narg &&
           memcmp(a->arg, b->arg, a->narg * sizeof *a->arg) == 0;
}

/* The same op of the same operands is the same value. */
static int take_ins(lazy_draft *to, const lazy_ins *from, int32_t *value) {
    for (int64_t k = 0; k < to->ins.n; k++)
        if (same_ins(&to->ins.at[k], from)) {
            *value = (int32_t)k;
            return 0;
        }
    *value = (int32_t)to->ins.n;
    return lazy_push(&to->ins, *from);
}

/* A load of B in the merged kernel: a value of A where A makes it. */
static int move_load(lazy_draft *a, const lazy_draft_load *from, int64_t nsinks, int32_t *value) {
    lazy_draft_load load = *from;
    const lazy_draft_sink *sink = from->load.kind == LAZY_LOAD_BUFFER ? sink_of(a, from->node) : NULL;
    if (sink && sink->sink.kind != LAZY_SINK_REDUCE) {
        *value = sink->sink.value;
        return 0;
    }
    if (sink)
        load = (lazy_draft_load){
            .node = -1,
            .load = {.kind = LAZY_LOAD_RESULT, .dtype = sink->sink.dtype, .slot = (int16_t)(sink - a->sinks.at)}};
    else if (load.load.kind == LAZY_LOAD_RESULT)
        load.load.slot = (int16_t)(load.load.slot + nsinks);
    return take_load(a, &load, value);
}

/* Appends B's program to A's. Both have the merged axes already. */
static int append_program(merger *m, lazy_draft *a, lazy_draft *b) {
    int64_t nsinks = a->sinks.n;
    m->now.n = 0;
    for (int64_t k = 0; k < b->loads.n; k++) {
        int32_t value = 0;
        if (move_load(a, &b->loads.at[k], nsinks, &value) || lazy_push(&m->now, value))
            return NEAP_E_MEMORY;
    }
    for (int64_t k = 0; k < b->ins.n; k++) {
        lazy_ins ins = b->ins.at[k];
        int32_t value = 0;
        for (int i = 0; i < ins.narg; i++)
            ins.arg[i] = m->now.at[ins.arg[i] < 0 ? -1 - ins.arg[i] : b->loads.n + ins.arg[i]];
        if (take_ins(a, &ins, &value) || lazy_push(&m->now, value))
            return NEAP_E_MEMORY;
    }
    for (int64_t k = 0; k < b->sinks.n; k++) {
        lazy_draft_sink sink = b->sinks.at[k];
        int32_t value = sink.sink.value;
        sink.sink.value = m->now.at[value < 0 ? -1 - value : b->loads.n + value];
        if (lazy_push(&a->sinks, sink))
            return NEAP_E_MEMORY;
    }
    a->reduces |= b->reduces;
    a->segment = a->segment < 0 ? b->segment : a->segment;
    return 0;
}

static bool reads_from(merger *m, const lazy_draft *draft, int32_t u) {
    for (int64_t k = 0; k < draft->loads.n; k++)
        if (writer_of(m, read_at(draft, k)) == u)
            return true;
    return false;
}

/* Makes one of two units if rules allow: the earlier one, which runs first where it matters, takes over the other. */
static int try_merge(merger *m, int32_t a, int32_t b) {
    if (m->units[a].place > m->units[b].place) {
        int32_t swapped = a;
        a = b;
        b = swapped;
    }
    unit *x = &m->units[a], *y = &m->units[b];
    bool linked = reads_from(m, y->draft, a);
    int32_t place;
    pairing p;
    if (!may_merge(m, a, b, linked, &place) || !match(x->draft, y->draft, linked, &p) ||
        !rows_allow(m, x->draft, y->draft, &p))
        return 0;
    carry_all(x->draft, &p, 0);
    carry_all(y->draft, &p, 1);
    for (int64_t k = 0; k < y->draft->loads.n; k++) { /* what B reads is read at the merged place now */
        int32_t writer = writer_of(m, read_at(y->draft, k));
        if (writer >= 0 && writer != a && m->units[writer].first_user > place)
            m->units[writer].first_user = place;
    }
    int status = append_program(m, x->draft, y->draft);
    plan_draft_free(y->draft);
    y->draft = NULL;
    y->into = a;
    x->effects = place == y->place ? y->effects : x->effects;
    x->place = place;
    x->first_user = y->first_user < x->first_user ? y->first_user : x->first_user;
    x->calls |= y->calls;
    return status ? status : LAZY_VERIFY_DRAFT(m->ctx, m->made, x->draft, "a merge");
}

/* ---- The walk over all drafts ------------------------------------------------------------------------------------ */
static void add_candidate(int32_t *candidates, int *n, int32_t u) {
    for (int k = 0; k < *n; k++)
        if (candidates[k] == u)
            return;
    if (u >= 0 && *n < CANDIDATES)
        candidates[(*n)++] = u;
}

/* Who may become one with a unit: first those that made what it reads, then those that read the same. */
static int find_candidates(merger *m, const lazy_draft *draft, int32_t *candidates) {
    int n = 0;
    for (int64_t k = 0; k < draft->loads.n; k++)
        add_candidate(candidates, &n, writer_of(m, read_at(draft, k)));
    for (int64_t k = 0; k < draft->loads.n && n < CANDIDATES; k++)
        for (int j = 0; j < READERS && read_at(draft, k) >= 0; j++) {
            int32_t reader = m->reader[(int64_t)read_at(draft, k) * READERS + j];
            add_candidate(candidates, &n, reader < 0 ? -1 : alive(m, reader));
        }
    return n;
}

static void count_read(merger *m, int32_t node, int32_t u) {
    int32_t *reader = &m->reader[(int64_t)node * READERS], writer = writer_of(m, node), now = alive(m, u);
    if (writer >= 0 && writer != now && m->units[writer].first_user > m->units[now].place)
        m->units[writer].first_user = m->units[now].place;
    for (int j = 0; j < READERS; j++)
        if (reader[j] >= 0 && alive(m, reader[j]) == now)
            return;
    memmove(reader + 1, reader, (READERS - 1) * sizeof *reader);
    reader[0] = u;
}

static int visit_unit(merger *m, int32_t u) {
    unit *at = &m->units[u];
    m->reads.n = 0;
    for (int64_t k = 0; k < nreads(at->draft); k++) {
        int32_t node = read_at(at->draft, k), writer = writer_of(m, node);
        if (node >= 0 && lazy_push(&m->reads, node))
            return NEAP_E_MEMORY;
        at->calls |= writer < 0 ? 0 : m->units[writer].calls;
    }
    if (at->draft->call)
        at->calls |= 1ull << (m->ncalls++ % LAZY_CALLS_TOLD_APART);
    int32_t candidates[CANDIDATES];
    int n = at->draft->call || at->draft->fixed ? 0 : find_candidates(m, at->draft, candidates), status = 0;
    for (int k = 0; k < n && status == 0; k++) {
        int32_t other = alive(m, candidates[k]), now = alive(m, u);
        if (other != now)
            status = try_merge(m, other, now);
    }
    for (int64_t k = 0; k < m->reads.n; k++)
        count_read(m, m->reads.at[k], u);
    return status;
}

/* Takes away sinks that nobody needs: reductions that are read inside stay, without a buffer. */
static void drop_sinks(merger *m, lazy_draft *draft, const int32_t *loads) {
    int64_t kept = 0;
    for (int64_t k = 0; k < draft->sinks.n; k++) {
        lazy_draft_sink sink = draft->sinks.at[k];
        bool drop = !draft->fixed && loads[sink.node] == 0 && droppable(m, sink.node);
        if (drop)
            m->made[sink.node] = LAZY_WHY_NOT;
        if (drop && sink.sink.kind == LAZY_SINK_REDUCE)
            sink.sink.slot = -1;
        else if (drop)
            continue;
        if (kept != k)
            for (int64_t i = 0; i < draft->loads.n; i++)
                if (draft->loads.at[i].load.kind == LAZY_LOAD_RESULT && draft->loads.at[i].load.slot == k)
                    draft->loads.at[i].load.slot = (int16_t)kept;
        draft->sinks.at[kept++] = sink;
    }
    draft->sinks.n = kept;
}

static bool stores(const lazy_draft *draft) {
    for (int64_t k = 0; k < draft->sinks.n; k++)
        if (draft->sinks.at[k].sink.slot >= 0)
            return true;
    return draft->call != NULL;
}

/* The drafts that are left, by place. From the last one on, since what reads a result stands behind it: what nobody
 * reads then (a piece of which a slice takes nothing) is not computed. */
static void collect(merger *m, lazy_drafts *drafts) {
    int32_t *loads = m->writer; /* not needed any more */
    memset(loads, 0, (size_t)m->ctx->walk.order.n * sizeof *loads);
    memset(drafts->at, 0, (size_t)m->n * sizeof *drafts->at);
    for (int32_t u = 0; u < m->n; u++)
        if (m->units[u].draft)
            drafts->at[m->units[u].place] = m->units[u].draft;
    for (int32_t place = m->n - 1; place >= 0; place--) {
        lazy_draft *draft = drafts->at[place];
        if (!draft)
            continue;
        drop_sinks(m, draft, loads);
        if (!stores(draft)) {
            plan_draft_free(draft);
            drafts->at[place] = NULL;
            continue;
        }
        for (int64_t k = 0; k < nreads(draft); k++)
            if (read_at(draft, k) >= 0)
                loads[read_at(draft, k)]++;
    }
    drafts->n = 0;
    for (int32_t place = 0; place < m->n; place++)
        if (drafts->at[place])
            drafts->at[drafts->n++] = drafts->at[place];
}

int plan_merge(neap_ctx *ctx, uint8_t *made, lazy_drafts *drafts) {
    int64_t n = ctx->walk.order.n, count = drafts->n;
    merger m = {.ctx = ctx, .made = made, .n = (int32_t)count};
    if (count < 2)
        return 0;
    int32_t *memory = malloc((size_t)n * (1 + READERS) * sizeof *memory);
    m.units = malloc((size_t)count * sizeof *m.units);
    int status = memory && m.units ? 0 : neap_error(NEAP_E_MEMORY, "out of memory while planning");
    if (status == 0) {
        m.writer = memory;
        m.reader = memory + n;
        memset(memory, 0xff, (size_t)n * (1 + READERS) * sizeof *memory);
        for (int32_t u = 0, effects = 0; u < m.n; u++) {
            lazy_draft *draft = drafts->at[u];
            m.units[u] = (unit){.draft = draft, .into = u, .place = u, .first_user = INT32_MAX, .effects = effects};
            effects += draft->call && draft->call->effect;
            m.writer[draft->node] = u;
        }
        for (int32_t u = 0; u < m.n && status == 0; u++)
            status = visit_unit(&m, u);
        collect(&m, drafts);
    }
    lazy_vector_free(&m.reads);
    lazy_vector_free(&m.now);
    free(m.units);
    free(memory);
    return status;
}

void plan_draft_free(lazy_draft *draft) {
    if (!draft)
        return;
    lazy_vector_free(&draft->loads);
    lazy_vector_free(&draft->ins);
    lazy_vector_free(&draft->sinks);
    free(draft);
}
