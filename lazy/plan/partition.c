/* partition.c: where a chain of maps that is longer than a kernel is cut: where the fewest bytes live.
 *
 * Maps over boxes of one size that read each other are a *chain*, if no call stands between them. One of more than MOST
 * maps becomes several kernels. Its nodes are put into an order in which they can run and few values live, as in
 *
 *      z1 = f(z0, c)    n1 = n0 + g(z1)  |  z2 = f(z1, c)    n2 = n1 + g(z2)  |  …
 *
 * and the order is cut into *segments*: of all cuts that make none longer than MOST, those that together let the fewest
 * bytes through. What is read behind a cut is stored; kernels of different segments are not merged. So a loop is cut
 * across, between two turns, and not along the value that is read last.
 *
 * Two orders are tried. In that of the region, inputs stand right before their first user, which is good for sums of
 * many terms. In that of levels a node stands behind its inputs as soon as it can, which is good for loops whose turns
 * hand on several values. In both, a node that frees as much as it makes goes first.
 *
 * Each node and each of its inputs is looked at a few times, so this is linear in the size of the region.
 */
#include <string.h>

#include "lazy/arena.h"
#include "lazy/plan/plan.h"

enum { MOST = LAZY_KERNEL_MAX_INS - 32 }; /* what is broadcast to a chain is part of its kernels too */
enum { INPUTS = 3 };                      /* of a map, at most */
static const double CUT_BYTES = 50000;    /* a kernel more costs as much as so many bytes */

typedef struct chains {
    neap_ctx *ctx;
    uint8_t *made;
    const lazy_waits *waits;
    int32_t *segments;
    int32_t *chain; /* of each node: another one of its chain, itself at the end (union-find); -1: of none */
    int32_t *count; /* of the last one of a chain: its nodes */
    int32_t nsegments;
} chains;

/* One long chain: its nodes in the order of the region, then in another one. */
typedef struct schedule {
    chains *c;
    int32_t n;
    int32_t *nodes;         /* region numbers */
    int32_t *place;         /* by region number: its number here; valid for nodes of the chain */
    int32_t (*in)[INPUTS];  /* by number: those of its inputs, -1: of no node of the chain */
    int32_t *first, *users; /* by number: the users of k are users[first[k] … first[k + 1] - 1] */
    int32_t *left;          /* users that are not placed yet; inputs that are not: */
    int32_t *wants;
    int32_t *turn; /* numbers, in the order in which they are to be placed; so they were: */
    int32_t *order;
    int32_t *level;      /* by number: nodes of the chain on the longest way to it */
    int32_t *at;         /* by number: its place in the order, -1 */
    double *live, *best; /* behind each place */
    int32_t *before, *queue;
} schedule;

static neap_node *node_at(const chains *c, int64_t k) {
    return c->ctx->walk.order.at[k];
}

/* Is it a map of its own, with elements? */
static bool is_link(const chains *c, const neap_node *node) {
    return !plan_is_leaf(node) && graph_is_fusible(node) && node->size > 1 && plan_same(c->ctx, node) == node &&
           !graph_is_formula(node) && !plan_region_asks_little(c->ctx, node);
}

static int32_t end_of(chains *c, int32_t k) {
    while (c->chain[k] != k)
        k = c->chain[k] = c->chain[c->chain[k]];
    return k;
}

/* The node of the same chain that input k of a node reads, -1. */
static int32_t linked(const chains *c, const neap_node *node, int k) {
    const neap_node *in = plan_same(c->ctx, node->in[k]);
    if (graph_is_view(in) && !plan_is_leaf(in) && !c->made[in->index])
        in = plan_same(c->ctx, in->base);
    int32_t at = (int32_t)in->index;
    bool same = c->chain[at] >= 0 && in->size == node->size &&
                plan_waits_equal(&c->waits[at], &c->waits[node->index]) &&
                graph_node_runs_on(in) == graph_node_runs_on(node);
    return same ? at : -1;
}

/* Finds the chains; returns how many nodes the longest one has. */
static int32_t find_chains(chains *c) {
    int32_t longest = 0;
    for (int32_t k = 0; k < c->ctx->walk.order.n; k++) {
        const neap_node *node = node_at(c, k);
        c->chain[k] = -1;
        if (!is_link(c, node))
            continue;
        c->chain[k] = k;
        c->count[k] = 1;
        for (int i = 0; i < node->nin; i++) {
            int32_t other = linked(c, node, i), end = other < 0 ? k : end_of(c, other);
            if (end == k)
                continue;
            c->chain[end] = k;
            c->count[k] += c->count[end];
        }
        longest = c->count[k] > longest ? c->count[k] : longest;
    }
    return longest;
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */
/* Sets inputs and users. */
static void find_users(schedule *s) {
    int32_t *fill = s->at; /* not in use yet */
    memset(s->first, 0, ((size_t)s->n + 1) * sizeof *s->first);
    for (int32_t k = 0; k < s->n; k++) {
        const neap_node *node = node_at(s->c, s->nodes[k]);
        for (int i = 0; i < INPUTS; i++) {
            int32_t in = i < node->nin ? linked(s->c, node, i) : -1;
            s->in[k][i] = in < 0 ? -1 : s->place[in];
            if (in >= 0)
                s->first[s->in[k][i] + 1]++;
        }
    }
    for (int32_t k = 0; k < s->n; k++) {
        fill[k] = s->first[k];
        s->first[k + 1] += s->first[k];
    }
    for (int32_t k = 0; k < s->n; k++)
        for (int i = 0; i < INPUTS; i++)
            if (s->in[k][i] >= 0)
                s->users[fill[s->in[k][i]]++] = k;
}

/* Does as much die with it, if it runs now, as it makes? */
static bool frees(const schedule *s, int32_t k) {
    size_t dies = 0;
    for (int i = 0; i < INPUTS; i++) {
        int32_t in = s->in[k][i], times = 0;
        bool again = false;
        for (int j = 0; j < INPUTS && in >= 0; j++) {
            times += s->in[k][j] == in;
            again |= j < i && s->in[k][j] == in;
        }
        if (in >= 0 && !again && s->left[in] == times)
            dies += graph_node_bytes(node_at(s->c, s->nodes[in]));
    }
    return dies >= graph_node_bytes(node_at(s->c, s->nodes[k]));
}

/* Users of k that are ready and free as much as they make are placed next. Returns how many wait now. */
static int32_t add_ready(const schedule *s, int32_t k, int32_t waiting) {
    for (int32_t u = s->first[k]; u < s->first[k + 1]; u++) {
        int32_t user = s->users[u];
        if (s->at[user] < 0 && s->wants[user] == 0 && waiting < s->n && frees(s, user))
            s->queue[waiting++] = user;
    }
    return waiting;
}

/* Places a node, and after it what becomes ready and frees as much as it makes. `n` places are taken. */
static int32_t place_node(schedule *s, int32_t k, int32_t n) {
    int32_t waiting = 0;
    s->queue[waiting++] = k;
    while (waiting > 0) {
        k = s->queue[--waiting];
        if (s->at[k] >= 0)
            continue;
        s->at[k] = n;
        s->order[n++] = k;
        for (int32_t u = s->first[k]; u < s->first[k + 1]; u++)
            s->wants[s->users[u]]--;
        for (int i = 0; i < INPUTS; i++) {
            int32_t in = s->in[k][i];
            if (in >= 0 && --s->left[in] == 1) /* its last user may have waited for this */
                waiting = add_ready(s, in, waiting);
        }
        waiting = add_ready(s, k, waiting);
    }
    return n;
}

/* Places all nodes, in the order of `turn` where nothing else is better. */
static void place_all(schedule *s) {
    memset(s->wants, 0, (size_t)s->n * sizeof *s->wants);
    memset(s->at, 0xff, (size_t)s->n * sizeof *s->at);
    for (int32_t k = 0; k < s->n; k++) {
        s->left[k] = s->first[k + 1] - s->first[k];
        for (int32_t u = s->first[k]; u < s->first[k + 1]; u++)
            s->wants[s->users[u]]++;
    }
    for (int32_t k = 0, placed = 0; k < s->n; k++)
        placed = place_node(s, s->turn[k], placed);
}

/* Turns by level, and those of a level in the order of the region. */
static void take_turns_by_level(schedule *s) {
    int32_t *start = s->queue; /* not in use */
    memset(start, 0, ((size_t)s->n + 1) * sizeof *start);
    memset(s->level, 0, (size_t)s->n * sizeof *s->level);
    for (int32_t k = 0; k < s->n; k++) {
        start[s->level[k] + 1]++;
        for (int32_t u = s->first[k]; u < s->first[k + 1]; u++)
            if (s->level[s->users[u]] <= s->level[k])
                s->level[s->users[u]] = s->level[k] + 1;
    }
    for (int32_t k = 0; k < s->n; k++)
        start[k + 1] += start[k];
    for (int32_t k = 0; k < s->n; k++)
        s->turn[start[s->level[k]]++] = k;
}

/* ---- Cuts -------------------------------------------------------------------------------------------------------- */
/* What is stored anyway need not be stored for a cut. */
static bool is_stored(uint8_t why) {
    return why != LAZY_WHY_NOT && why != LAZY_WHY_KERNELS && why != LAZY_WHY_TIMES;
}

static int32_t last_use(const schedule *s, int32_t k) {
    int32_t last = s->at[k];
    for (int32_t u = s->first[k]; u < s->first[k + 1]; u++)
        last = s->at[s->users[u]] > last ? s->at[s->users[u]] : last;
    return last;
}

/* Sets live[p]: what has to be stored and read for a cut behind place p. */
static void find_live(schedule *s) {
    memset(s->live, 0, ((size_t)s->n + 1) * sizeof *s->live);
    for (int32_t k = 0; k < s->n; k++) {
        double bytes = (double)graph_node_bytes(node_at(s->c, s->nodes[k]));
        bytes *= is_stored(s->c->made[s->nodes[k]]) ? 1 : 2;
        s->live[s->at[k]] += bytes;
        s->live[last_use(s, k)] -= bytes;
    }
    for (int32_t p = 1; p < s->n; p++)
        s->live[p] += s->live[p - 1];
}

/* best[p]: the least that cuts up to one behind place p - 1 let through, the last of them before[p]. The queue has the
 * places of which one is the best before the next, from the best on. */
static void find_cuts(schedule *s) {
    int32_t head = 0, tail = 0;
    s->best[0] = 0;
    s->queue[tail++] = 0;
    for (int32_t p = 1; p <= s->n; p++) {
        while (s->queue[head] < p - MOST)
            head++;
        s->before[p] = s->queue[head];
        s->best[p] = s->best[s->queue[head]] + (p < s->n ? s->live[p - 1] + CUT_BYTES : 0);
        while (tail > head && s->best[s->queue[tail - 1]] >= s->best[p])
            tail--;
        s->queue[tail++] = p;
    }
}

/* Numbers the segments, and stores what is read in another one than it is made in. */
static void apply_cuts(schedule *s) {
    chains *c = s->c;
    int32_t last = s->n;
    for (int32_t p = s->n; p > 0; p = last) {
        last = s->before[p];
        for (int32_t at = last; at < p; at++)
            c->segments[s->nodes[s->order[at]]] = c->nsegments;
        c->nsegments++;
    }
    for (int32_t k = 0; k < s->n; k++) {
        int32_t node = s->nodes[k];
        for (int32_t u = s->first[k]; u < s->first[k + 1]; u++)
            if (c->made[node] == LAZY_WHY_NOT && c->segments[s->nodes[s->users[u]]] != c->segments[node])
                c->made[node] = LAZY_WHY_CHAIN;
    }
}

/* Places the nodes and finds the best cuts. Returns what these let through. */
static double try_order(schedule *s) {
    place_all(s);
    find_live(s);
    find_cuts(s);
    return s->best[s->n];
}

static void cut_chain(schedule *s) {
    for (int32_t k = 0; k < s->n; k++)
        s->place[s->nodes[k]] = s->turn[k] = k;
    find_users(s);
    double plain = try_order(s);
    take_turns_by_level(s);
    if (try_order(s) >= plain) {
        for (int32_t k = 0; k < s->n; k++)
            s->turn[k] = k;
        try_order(s);
    }
    apply_cuts(s);
}

/* Cuts all chains that are too long, whose nodes come to lie one behind the other in `members`. */
static int cut_long_chains(chains *c, int32_t longest) {
    int64_t n = c->ctx->walk.order.n;
    size_t most = (size_t)longest + 1;
    schedule s = {.c = c};
    int32_t *members, *starts;
    if (!LAZY_ARENA(LAZY_PART(members, n), LAZY_PART(starts, n), LAZY_PART(s.place, n), LAZY_PART(s.in, most),
                    LAZY_PART(s.first, most), LAZY_PART(s.users, most * INPUTS), LAZY_PART(s.left, most),
                    LAZY_PART(s.wants, most), LAZY_PART(s.turn, most), LAZY_PART(s.order, most),
                    LAZY_PART(s.level, most), LAZY_PART(s.at, most), LAZY_PART(s.live, most), LAZY_PART(s.best, most),
                    LAZY_PART(s.before, most), LAZY_PART(s.queue, most)))
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    for (int32_t k = 0, sum = 0; k < n; k++)
        if (c->chain[k] == k && c->count[k] > MOST) {
            starts[k] = sum;
            sum += c->count[k];
        }
    for (int32_t k = 0; k < n; k++)
        if (c->chain[k] >= 0 && c->count[end_of(c, k)] > MOST)
            members[starts[end_of(c, k)]++] = k;
    for (int32_t k = 0; k < n; k++)
        if (c->chain[k] == k && c->count[k] > MOST) {
            s.n = c->count[k];
            s.nodes = members + starts[k] - s.n;
            cut_chain(&s);
        }
    free(members);
    return 0;
}

int plan_partition_chains(neap_ctx *ctx, uint8_t *made, const lazy_waits *waits, int32_t *segments) {
    int64_t n = ctx->walk.order.n;
    memset(segments, 0xff, (size_t)n * sizeof *segments);
    if (n <= MOST)
        return 0;
    chains c = {.ctx = ctx, .made = made, .waits = waits, .segments = segments};
    if (!LAZY_ARENA(LAZY_PART(c.chain, n), LAZY_PART(c.count, n)))
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    int32_t longest = find_chains(&c);
    int status = longest > MOST ? cut_long_chains(&c, longest) : 0;
    free(c.chain);
    return status;
}
