/* site.c: script lines: which nodes Lua is asked to tell them of, and the texts.
 *
 * An answer costs Lua a walk over its stack, which no compiled loop can do. So the line is asked for at every node of an
 * op until REPEATS answers in a row were known lines: then the script is in a loop, and the distance between two
 * questions doubles with each such answer, up to GAP_MOST nodes of the op. An unknown line starts anew. What was not
 * asked for has the last line told of a region of its structure, which in a loop is its own.
 *
 * Texts are kept as long as the context, each once; names of axes too.
 */
#include <stdio.h>
#include <string.h>

#include "lazy/graph/internal.h"

enum { REPEATS = 16, GAP_MOST = 1024, PLACES = 64 };

static uint32_t hash_text(const char *text) {
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 16777619u;
    return h;
}

/* The text's place in the table, or the free one where it belongs. */
static int32_t *find(const neap_ctx *ctx, const char *text) {
    int64_t at = hash_text(text) & (ctx->site_places - 1);
    while (ctx->site_table[at] && strcmp(ctx->sites.at[ctx->site_table[at]], text) != 0)
        at = (at + 1) & (ctx->site_places - 1);
    return &ctx->site_table[at];
}

static bool grow(neap_ctx *ctx) {
    int64_t places = ctx->site_places ? ctx->site_places * 2 : PLACES;
    int32_t *table = calloc((size_t)places, sizeof *table);
    if (!table)
        return false;
    free(ctx->site_table);
    ctx->site_table = table;
    ctx->site_places = places;
    for (int64_t k = 1; k < ctx->sites.n; k++)
        *find(ctx, ctx->sites.at[k]) = (int32_t)k;
    return true;
}

/* The number of a text; 0 if there is no memory for it. */
static int32_t intern(neap_ctx *ctx, const char *text, bool *known) {
    *known = false;
    if (2 * ctx->sites.n >= ctx->site_places && !grow(ctx))
        return 0;
    int32_t *place = find(ctx, text);
    *known = *place;
    if (*known)
        return *place;
    char *copy = strdup(text);
    if (!copy || lazy_push(&ctx->sites, copy)) {
        free(copy);
        return 0;
    }
    return *place = (int32_t)ctx->sites.n - 1;
}

int32_t neap_axis_name(neap_ctx *ctx, const char *name) {
    bool known;
    return intern(ctx, name, &known);
}

int32_t graph_site_intern(neap_ctx *ctx, const char *text) {
    bool known;
    return text && *text ? intern(ctx, text, &known) : 0;
}

void neap_site(neap_ctx *ctx, const char *file, int line) {
    if (!ctx->site_node)
        return;
    char text[512];
    bool known;
    snprintf(text, sizeof text, "%s:%d", file, line);
    ctx->site_node->site = intern(ctx, text, &known);
    lazy_ask *ask = &ctx->asks[ctx->site_node->op];
    ask->repeats = known ? ask->repeats + 1 : 0;
    ask->gap = (int16_t)(ask->repeats < REPEATS ? 1 : ask->gap < GAP_MOST ? ask->gap * 2 : GAP_MOST);
    ask->left = ask->gap;
    graph_site_told(ctx, ctx->site_node);
}

void neap_site_reset(neap_ctx *ctx, const char *chunk) {
    bool known;
    ctx->chunk_site = intern(ctx, chunk, &known);
    if (!ctx->asks && !(ctx->asks = calloc((size_t)lazy_op_count, sizeof *ctx->asks)))
        return; /* then no lines are told */
    graph_site_ask_all(ctx);
}

void graph_site_ask_all(neap_ctx *ctx) {
    for (int op = 0; op < lazy_op_count && ctx->asks; op++)
        ctx->asks[op] = (lazy_ask){.gap = 1};
}

const char *graph_site_text(const neap_ctx *ctx, int32_t site) {
    return site ? ctx->sites.at[site] : NULL;
}

void graph_site_free_all(neap_ctx *ctx) {
    for (int64_t k = 1; k < ctx->sites.n; k++)
        free((char *)ctx->sites.at[k]);
    free(ctx->sites.at);
    free(ctx->site_table);
    free(ctx->asks);
}
