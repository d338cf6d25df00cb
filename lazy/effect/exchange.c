/* exchange.c: patterns, by number: interned, compared by content, kept for the life of the process; and pushing
 * exchanges.
 *
 * An exchange is a step that pushes its op itself: the engine's op ends when the communication thread has done it.
 * Inside a body of control flow, which that thread runs then, it is a call like others (ops/exchange.c).
 */
#include "lazy/effect/exchange.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "lazy/effect/effect.h"
#include "lazy/plan/plan.h"
#include "ops_gen.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LAZY_VECTOR(lazy_exchange_pattern *) patterns;

/* ---- Deals ------------------------------------------------------------------------------------------------------- */
static bool same_words(const int32_t *a, const int32_t *b, int n) {
    return (!a && !b) || (a && b && memcmp(a, b, (size_t)n * sizeof *a) == 0);
}

static bool same_pattern(const lazy_exchange_pattern *a, const lazy_exchange_pattern *b) {
    const engine_comm_group *g = &a->group, *h = &b->group;
    return a->kind == b->kind && a->op == b->op && a->dtype == b->dtype && a->elements == b->elements &&
           g->nmembers == h->nmembers && g->nranks == h->nranks && same_words(g->ranks, h->ranks, g->nranks) &&
           same_words(g->owner, h->owner, g->nmembers) && same_words(a->source, b->source, g->nmembers) &&
           memcmp(g->wanted, h->wanted, (size_t)g->nranks * (size_t)g->nmembers) == 0 && strcmp(a->name, b->name) == 0;
}

/* "psum of f32" */
static size_t write_what(const lazy_exchange_pattern *pattern, char *text, size_t capacity) {
    return (size_t)snprintf(text, capacity, "%s of %s", pattern->name, neap_dtype_name(pattern->dtype)) + 1;
}

/* One block: the struct, ranks, owners, sources, what is wanted, the name, the text. */
static lazy_exchange_pattern *copy_pattern(const lazy_exchange_pattern *like) {
    const engine_comm_group *g = &like->group;
    size_t members = (size_t)g->nmembers, ranks = (size_t)g->nranks, name = strlen(like->name) + 1;
    size_t what = write_what(like, NULL, 0);
    lazy_exchange_pattern *pattern =
        malloc(sizeof *pattern + (ranks + 2 * members) * sizeof(int32_t) + ranks * members + name + what);
    if (!pattern)
        return NULL;
    *pattern = *like;
    int32_t *words = (int32_t *)(pattern + 1);
    pattern->group.ranks = memcpy(words, g->ranks, ranks * sizeof *words);
    pattern->group.owner = memcpy(words + ranks, g->owner, members * sizeof *words);
    if (like->source)
        pattern->source = memcpy(words + ranks + members, like->source, members * sizeof *words);
    uint8_t *bytes = (uint8_t *)(words + ranks + 2 * members);
    pattern->group.wanted = memcpy(bytes, g->wanted, ranks * members);
    pattern->name = memcpy(bytes + ranks * members, like->name, name);
    pattern->what = (char *)bytes + ranks * members + name;
    write_what(like, (char *)pattern->what, what);
    return pattern;
}

const lazy_exchange_pattern *effect_exchange_pattern_intern(const lazy_exchange_pattern *like) {
    lazy_exchange_pattern *pattern = NULL;
    pthread_mutex_lock(&lock);
    for (int64_t k = patterns.n - 1; k >= 0 && !pattern; k--)
        if (same_pattern(patterns.at[k], like))
            pattern = patterns.at[k];
    if (!pattern && (pattern = copy_pattern(like)) != NULL) {
        pattern->number = (int32_t)patterns.n + 1;
        if (lazy_push(&patterns, pattern)) {
            free(pattern);
            pattern = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    if (!pattern)
        neap_error(NEAP_E_MEMORY, "out of memory for a collective");
    return pattern;
}

const lazy_exchange_pattern *effect_exchange_pattern_get(int64_t number) {
    pthread_mutex_lock(&lock);
    const lazy_exchange_pattern *pattern = number > 0 && number <= patterns.n ? patterns.at[number - 1] : NULL;
    pthread_mutex_unlock(&lock);
    return pattern;
}

engine_collective effect_exchange_pattern_collective(const lazy_exchange_pattern *pattern, const char *site,
                                                     bool located) {
    return (engine_collective){.kind = pattern->kind,
                               .group = &pattern->group,
                               .combine = pattern->op < 0 ? NULL : vm_map_loop_of(pattern->op, pattern->dtype),
                               .item = (size_t)neap_dtype_bytes(pattern->dtype),
                               .elements = pattern->elements,
                               .source = pattern->source,
                               .what = pattern->what,
                               .site = site,
                               .located = located};
}

const char *effect_exchange_name(const neap_node *node) {
    return graph_is_exchange(node) ? effect_exchange_pattern_get(node->attrs[0])->name : graph_node_op(node)->name;
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */
const char *effect_exchange_line(const neap_ctx *ctx, const neap_node *node) {
    const char *text = graph_site_text(ctx, node->site), *colon = text ? strrchr(text, ':') : NULL;
    return colon && colon[1] && colon[1 + strspn(colon + 1, "0123456789")] == '\0' ? text : NULL;
}

static _Thread_local const char *body_line;

void effect_exchange_at(const char *line) {
    body_line = line;
}

const char *effect_exchange_body_line(void) {
    return body_line;
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */
neap_node *effect_exchange_record(neap_ctx *ctx, const lazy_exchange_pattern *pattern, int nin, neap_node *const *in) {
    bool traced = false;
    for (int k = 0; k < nin; k++)
        traced |= (in[k]->flags & LAZY_ABSTRACT) != 0;
    if (!traced && effect_exchange_check(ctx, pattern->name))
        return NULL;
    neap_node *node = graph_record(ctx, LAZY_OP_exchange, nin, in, 1, (int64_t[]){pattern->number});
    int status = 0;
    if (node && node->flags & LAZY_ABSTRACT)
        status = effect_record(ctx, effect_open_trace(ctx), node);
    else if (node && ctx->start.deferring) /* others wait for it: it cannot wait until it is asked for */
        status = plan_force(ctx, node);
    if (status == 0)
        return node;
    graph_release(ctx, node);
    return NULL;
}

static int push_exchange(neap_ctx *ctx, const lazy_launch *launch) {
    enum { FEW = 16 };
    const lazy_step *step = launch->step;
    const lazy_exchange_pattern *pattern = effect_exchange_pattern_get(launch->node->attrs[0]);
    engine_comm *comm = engine_comm_here();
    if (!comm)
        return neap_error(NEAP_E_STATE, "%s: this process is alone", pattern->name);
    const char *line = effect_exchange_line(ctx, launch->node);
    engine_collective collective = effect_exchange_pattern_collective(pattern, line ? line : step->site, line != NULL);
    int n = engine_comm_nin(&collective, engine_comm_rank(comm));
    engine_comm_block few[FEW], *in = n <= FEW ? few : malloc((size_t)n * sizeof *in);
    if (!in)
        return neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    for (int k = 0; k < n; k++)
        in[k] = (engine_comm_block){.buffer = launch->bufs[k],
                                    .offset = (size_t)step->offsets[k] * (size_t)neap_dtype_bytes(pattern->dtype)};
    /* Before other ready work: other processes wait for it, and the work that it waits for runs beside it. */
    neap_push push = {
        .name = pattern->name, .site = step->site, .device = step->device, .priority = 1, .cost = step->cost};
    int status = engine_comm_push(comm, &collective, in, launch->bufs[launch->node->nin], &push);
    if (in != few)
        free(in);
    return status;
}

static int effects_of_exchange(const neap_node *node) {
    (void)node;
    return LAZY_EFFECTS_EXCHANGE;
}

static neap_node *exchange_again(neap_ctx *ctx, const neap_node *node, neap_node *const *in) {
    return effect_exchange_record(ctx, effect_exchange_pattern_get(node->attrs[0]), node->nin, in);
}

const lazy_payload effect_exchange_payload = {
    .exchange = true,
    .effects = effects_of_exchange,
    .push = push_exchange,
    .again = exchange_again,
};
