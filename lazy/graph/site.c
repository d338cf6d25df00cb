/* site.c: script lines: which nodes Lua is asked to tell them of, and the texts.
 *
 * An answer costs Lua a walk over its stack, which no compiled loop can do. So the line is asked for at every node of
 * an op until REPEATS answers in a row were known lines: then the script is in a loop, and the distance between two
 * questions doubles with each such answer, up to GAP_MOST nodes of the op. An unknown line starts anew. What was not
 * asked for has the last line told of a region of its structure, which in a loop is its own.
 *
 * A site in a named scope is another text, "line (outer/inner)", whose scope is kept beside it: so one costs no node a
 * byte, and nothing where none is open. In an open one every line is asked for.
 *
 * Texts are kept as long as the context, each once; names of axes too.
 */
#include <stdio.h>
#include <string.h>

#include "lazy/graph/graph.h"

enum { REPEATS = 16, GAP_MOST = 1024, PLACES = 64 };

static uint32_t hash_text(const char *text) {
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 16777619u;
    return h;
}

/* The text's place in the table, or the free one where it belongs. */
static int32_t *find_site_place(const neap_ctx *ctx, const char *text) {
    int64_t at = hash_text(text) & (ctx->sites.places - 1);
    while (ctx->sites.table[at] && strcmp(ctx->sites.texts.at[ctx->sites.table[at]], text) != 0)
        at = (at + 1) & (ctx->sites.places - 1);
    return &ctx->sites.table[at];
}

static bool grow_site_table(neap_ctx *ctx) {
    int64_t places = ctx->sites.places ? ctx->sites.places * 2 : PLACES;
    int32_t *table = calloc((size_t)places, sizeof *table);
    if (!table)
        return false;
    free(ctx->sites.table);
    ctx->sites.table = table;
    ctx->sites.places = places;
    for (int64_t k = 1; k < ctx->sites.texts.n; k++)
        *find_site_place(ctx, ctx->sites.texts.at[k]) = (int32_t)k;
    return true;
}

/* The number of a text; 0 if there is no memory for it. */
static int32_t intern_text(neap_ctx *ctx, const char *text, bool *known) {
    *known = false;
    if (2 * ctx->sites.texts.n >= ctx->sites.places && !grow_site_table(ctx))
        return 0;
    int32_t *place = find_site_place(ctx, text);
    *known = *place;
    if (*known)
        return *place;
    char *copy = strdup(text);
    if (!copy || lazy_push(&ctx->sites.texts, copy)) {
        free(copy);
        return 0;
    }
    return *place = (int32_t)ctx->sites.texts.n - 1;
}

int32_t neap_axis_name(neap_ctx *ctx, const char *name) {
    bool known;
    return intern_text(ctx, name, &known);
}

int32_t graph_site_intern(neap_ctx *ctx, const char *text) {
    bool known;
    return text && *text ? intern_text(ctx, text, &known) : 0;
}

/* ---- Named scopes ------------------------------------------------------------------------------------------------ */
enum { NAME_MOST = 500 }; /* bytes of a line's text and of a scope's name that are kept */

/* The text with the scope behind it. */
static int32_t intern_scoped(neap_ctx *ctx, const char *text, int32_t scope, bool *known) {
    char joined[2 * NAME_MOST + 8];
    if (!scope)
        return intern_text(ctx, text, known);
    snprintf(joined, sizeof joined, "%.*s (%s)", NAME_MOST, text, ctx->sites.texts.at[scope]);
    int32_t site = intern_text(ctx, joined, known);
    while (site && ctx->sites.scopes.n <= site)
        if (lazy_push(&ctx->sites.scopes, 0))
            return 0;
    if (site)
        ctx->sites.scopes.at[site] = scope;
    return site;
}

static void set_scoped(neap_ctx *ctx) {
    int32_t scope = ctx->sites.scope;
    bool known;
    ctx->sites.scoped = scope ? intern_scoped(ctx, ctx->sites.texts.at[ctx->sites.chunk], scope, &known) : 0;
}

int32_t graph_scope_swap(neap_ctx *ctx, int32_t scope) {
    int32_t outer = ctx->sites.scope;
    if (scope != outer) {
        ctx->sites.scope = scope;
        set_scoped(ctx);
    }
    return outer;
}

/* outer/inner */
static int32_t join_scopes(neap_ctx *ctx, int32_t outer, const char *inner) {
    char joined[NAME_MOST + 1];
    bool known;
    snprintf(joined, sizeof joined, "%s%s%s", ctx->sites.texts.at[outer], outer ? "/" : "", inner);
    return intern_text(ctx, joined, &known);
}

int32_t graph_site_within(neap_ctx *ctx, int32_t scope, int32_t site) {
    int32_t inner = graph_site_scope(ctx, site);
    const char *text = ctx->sites.texts.at[site];
    size_t bytes = strlen(text) - (inner ? strlen(ctx->sites.texts.at[inner]) + 3 : 0);
    char line[NAME_MOST + 1];
    bool known;
    if (!scope)
        return site;
    snprintf(line, sizeof line, "%.*s", (int)bytes, text);
    return intern_scoped(ctx, line, inner ? join_scopes(ctx, scope, ctx->sites.texts.at[inner]) : scope, &known);
}

int32_t neap_scope_open(neap_ctx *ctx, const char *name) {
    return graph_scope_swap(ctx, name ? join_scopes(ctx, ctx->sites.scope, name) : 0);
}

void neap_scope_close(neap_ctx *ctx, int32_t outer) {
    graph_scope_swap(ctx, outer);
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */
void neap_site(neap_ctx *ctx, const char *file, int line) {
    if (!ctx->sites.node)
        return;
    char text[512];
    bool known;
    snprintf(text, sizeof text, "%s:%d", file, line);
    ctx->sites.node->site = intern_scoped(ctx, text, graph_site_scope(ctx, ctx->sites.node->site), &known);
    lazy_site_sampling *ask = &ctx->sites.asks[ctx->sites.node->op];
    ask->repeats = known ? ask->repeats + 1 : 0;
    bool each = ctx->sites.every || ask->repeats < REPEATS;
    ask->gap = (int16_t)(each ? 1 : ask->gap < GAP_MOST ? ask->gap * 2 : GAP_MOST);
    ask->left = ask->gap;
    neap_node *node = ctx->sites.node;
    ctx->sites.node = NULL;
    ctx->hooks->located(ctx, node);
}

void neap_site_reset(neap_ctx *ctx, const char *chunk) {
    bool known;
    ctx->sites.chunk = intern_text(ctx, chunk, &known);
    set_scoped(ctx);
    if (!ctx->sites.asks && !(ctx->sites.asks = calloc((size_t)lazy_op_count, sizeof *ctx->sites.asks)))
        return; /* then no lines are told */
    graph_sites_want(ctx);
}

void graph_sites_want(neap_ctx *ctx) {
    for (int op = 0; op < lazy_op_count && ctx->sites.asks; op++)
        ctx->sites.asks[op] = (lazy_site_sampling){.gap = 1};
}

void graph_sites_want_every(neap_ctx *ctx, bool on) {
    ctx->sites.every = on;
    graph_sites_want(ctx);
}

const char *graph_site_text(const neap_ctx *ctx, int32_t site) {
    return site ? ctx->sites.texts.at[site] : NULL;
}

void graph_site_free_all(neap_ctx *ctx) {
    for (int64_t k = 1; k < ctx->sites.texts.n; k++)
        free((char *)ctx->sites.texts.at[k]);
    free(ctx->sites.texts.at);
    free(ctx->sites.table);
    free(ctx->sites.scopes.at);
    free(ctx->sites.asks);
}
