/* play.c: asking the library again for what a transcript says, with other sizes (sizes.h). */
#include <math.h>
#include <string.h>

#include "lazy/sizes/sizes.h"

typedef struct sizes_play {
    neap_ctx *ctx;
    neap_transcript *t;
    int nsizes;
    const double *sizes;
    double *values; /* of expressions, those that are computed: all in front of `known`, and some behind it */
    bool *computed;
    int64_t known;
    int32_t *ids;            /* of values */
    neap_program **programs; /* one reference each, of those that it has made */
    int *levels;             /* by entry that opens one */
    int outermost;           /* the level of the first; -1 */
    bool asked;              /* the library was asked for the entry at hand */
    int32_t *before;         /* ids by slot, as they were */
    int64_t nbefore;
} sizes_play;

/* ---- Expressions ------------------------------------------------------------------------------------------------- */
static int extent_now(const sizes_play *p, const sizes_expr *e, double *out) {
    neap_node *node = graph_lookup_any(p->ctx, p->ids[e->a]);
    if (!node)
        return neap_error_code();
    if (e->b >= node->ndim)
        return neap_error(NEAP_E_SHAPE, "%s: it has %d axes now", graph_node_op(node)->name, node->ndim);
    *out = (double)node->shape[e->b];
    return 0;
}

/* Are the operands known? */
static bool can_compute(const sizes_play *p, const sizes_expr *e) {
    bool can = true;
    for (int k = 0; k < e->nterms && e->kind == SIZES_SUM; k++)
        for (int f = 0; f < e->terms[k].nfactors; f++)
            can &= p->computed[e->terms[k].factor[f]];
    if (e->kind == SIZES_ATOM || e->kind == SIZES_REAL)
        can = p->computed[e->a] && p->computed[e->b];
    return e->kind == SIZES_EXTENT ? p->ids && p->ids[e->a] : can;
}

/* Computes what can be, in the order in which expressions were made: an axis of an array that is not there yet, and
 * what is made of it, may stand in front of what is asked for. */
static int value_now(sizes_play *p, int32_t expr, double *out) {
    int status = 0;
    for (int64_t k = p->known; k <= expr && status == 0; k++) {
        const sizes_expr *e = &p->t->exprs.at[k];
        double *to = &p->values[k];
        if (p->computed[k] || (k && !can_compute(p, e)))
            continue;
        if (k == 0)
            *to = 0;
        else if (e->kind == SIZES_SYMBOL)
            *to = p->sizes[e->a];
        else if (e->kind == SIZES_EXTENT)
            status = extent_now(p, e, to);
        else
            status = sizes_value_of(p->t, (int32_t)k, p->values, to);
        p->computed[k] = status == 0;
    }
    while (p->known <= expr && p->computed[p->known])
        p->known++;
    if (status == 0 && !p->computed[expr])
        return neap_error(NEAP_E_SHAPE, "an extent that is not known yet");
    *out = p->values[expr];
    return status;
}

static int check_decision(sizes_play *p, const sizes_entry *entry) {
    double a = 0, b = 0;
    int status = value_now(p, entry->left, &a);
    if (status == 0)
        status = value_now(p, entry->right, &b);
    if (status)
        return status;
    bool truth = entry->compare == NEAP_SIZE_EQUAL ? a == b : entry->compare == NEAP_SIZE_LESS ? a < b : a <= b;
    if (truth == entry->truth)
        return 0;
    lazy_text text = {0};
    sizes_decision_text(p->t, entry, &text);
    status = neap_error(NEAP_E_SHAPE, "it was recorded for %s", text.data ? text.data : "other sizes");
    graph_text_free(&text);
    return status;
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */
static int give_id(sizes_play *p, int32_t value, int32_t *out) {
    const sizes_value *v = &p->t->values.at[value];
    if (value && p->ids[value] == 0 && v->given) {
        int status = graph_publish(p->ctx, graph_retain(v->node), &p->ids[value]);
        if (status)
            return status;
    }
    *out = value ? p->ids[value] : 0;
    return 0;
}

/* A value whose extents the caller has seen must have them; and dtype and rank in any case. */
static int check_extents(sizes_play *p, int32_t value) {
    const sizes_value *v = &p->t->values.at[value];
    neap_node *node = graph_lookup_any(p->ctx, p->ids[value]);
    if (!node)
        return neap_error_code();
    if (!v->given && (node->dtype != v->dtype || node->ndim != v->ndim))
        return neap_error(NEAP_E_SHAPE, "%s: it gives %s of %d axes, and gave %s of %d when it was recorded",
                          graph_node_op(node)->name, neap_dtype_name(node->dtype), node->ndim,
                          neap_dtype_name(v->dtype), v->ndim);
    if (!v->asked)
        return 0;
    for (int k = 0; v->extents && k < node->ndim; k++) {
        double want = 0;
        int status = v->extents[k] ? value_now(p, v->extents[k], &want) : 0;
        if (status)
            return status;
        if (v->extents[k] && want != (double)node->shape[k]) {
            lazy_text text = {0};
            sizes_text(p->t, v->extents[k], &text);
            status =
                neap_error(NEAP_E_SHAPE, "%s: axis %d has %lld elements, where %.17g were expected (%s)",
                           graph_node_op(node)->name, k, (long long)node->shape[k], want, text.data ? text.data : "");
            graph_text_free(&text);
            return status;
        }
    }
    return 0;
}

/* What was found among the arrays that were there must be the same one. */
static int check_found(const sizes_play *p, int32_t value, int32_t id) {
    int32_t known = p->ids[value];
    if (known == 0 || graph_lookup_any(p->ctx, known) == graph_lookup_any(p->ctx, id))
        return 0;
    return neap_error(NEAP_E_SHAPE, "it captures other arrays than when it was recorded");
}

static int size_number(sizes_play *p, const sizes_entry *entry, int which, int64_t *ints, double *number) {
    double value = 0;
    int32_t at = entry->sized[which].at;
    int status = value_now(p, entry->sized[which].expr, &value);
    if (status)
        return status;
    if (at == NEAP_SIZE_NUMBER) {
        *number = value;
        return 0;
    }
    if (!(value == floor(value) && fabs(value) <= 9007199254740992.0))
        return neap_error(NEAP_E_SHAPE, "%s: its size would be %.17g", entry->note.kind->name, value);
    ints[at] = (int64_t)value;
    return 0;
}

/* The script line of what an entry made; 0: nobody knows it. */
static int32_t site_of(const neap_transcript *t, const sizes_entry *entry) {
    bool makes = !entry->decides && !entry->fails && entry->note.nout;
    return makes ? t->values.at[entry->note.out[0]].site : 0;
}

static int play_note(sizes_play *p, int64_t number) {
    const sizes_entry *entry = &p->t->entries.at[number];
    graph_note note = entry->note;
    int32_t *in = malloc(((size_t)note.nin + (size_t)note.nout) * sizeof *in + 1), *out = in + note.nin;
    int64_t *ints = malloc((size_t)note.nints * sizeof *ints + 1);
    neap_program **programs = malloc((size_t)note.nprograms * sizeof *programs + 1);
    int status = in && ints && programs ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a program");
    p->asked = false;
    for (int k = 0; k < note.nin && status == 0; k++)
        status = give_id(p, entry->note.in[k], &in[k]);
    if (status == 0 && note.nints)
        memcpy(ints, note.ints, (size_t)note.nints * sizeof *ints);
    for (int k = 0; k < entry->nsized && status == 0; k++)
        status = size_number(p, entry, k, ints, &note.number);
    for (int k = 0; k < note.nprograms && status == 0; k++) {
        const sizes_program *program = &p->t->programs.at[entry->programs[k]];
        programs[k] = program->given ? program->program : p->programs[entry->programs[k]];
    }
    if (status == 0) {
        note.in = in;
        note.out = out;
        note.ints = ints;
        note.programs = programs;
        note.made = NULL;
        if (entry->opened >= 0)
            note.level = p->levels[entry->opened];
        p->ctx->sites.again = site_of(p->t, entry);
        p->asked = true;
        status = note.kind->play(p->ctx, &note);
        p->ctx->sites.again = 0;
    }
    bool done = status == NEAP_OK || status == NEAP_SAFEPOINT;
    note.nout = entry->fails ? 0 : note.nout; /* results that must not come */
    if (entry->fails && p->asked) {
        status = done ? neap_error(NEAP_E_SHAPE, "%s works now, and failed when it was recorded", note.kind->name) : 0;
        done = status == 0;
    }
    if (done && note.kind->opens) {
        p->levels[number] = note.level;
        p->outermost = p->outermost < 0 ? note.level : p->outermost;
    }
    if (done && entry->made >= 0)
        p->programs[entry->made] = note.made;
    for (int k = 0; k < note.nout && done && note.kind->finds; k++) {
        status = check_found(p, entry->note.out[k], out[k]);
        done = status == 0;
    }
    for (int k = 0; k < note.nout && done; k++)
        p->ids[entry->note.out[k]] = out[k];
    for (int k = 0; k < note.nout && done; k++) {
        status = check_extents(p, entry->note.out[k]);
        done = status == 0;
    }
    free(in);
    free(ints);
    free(programs);
    return done ? 0 : status == NEAP_PENDING ? neap_error(NEAP_E_STATE, "%s would wait", note.kind->name) : status;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */
static int open_play(sizes_play *p) {
    const neap_transcript *t = p->t;
    p->nbefore = p->ctx->handles.ids.n;
    p->values = malloc((size_t)t->exprs.n * sizeof *p->values + 1);
    p->computed = calloc((size_t)t->exprs.n + 1, sizeof *p->computed);
    p->ids = calloc((size_t)t->values.n + 1, sizeof *p->ids);
    p->programs = calloc((size_t)t->programs.n + 1, sizeof *p->programs);
    p->levels = calloc((size_t)t->entries.n + 1, sizeof *p->levels);
    p->before = malloc((size_t)p->nbefore * sizeof *p->before + 1);
    if (!p->values || !p->computed || !p->ids || !p->programs || !p->levels || !p->before)
        return neap_error(NEAP_E_MEMORY, "out of memory for a program");
    memcpy(p->before, p->ctx->handles.ids.at, (size_t)p->nbefore * sizeof *p->before);
    return 0;
}

/* Gives back the ids that it has made, each once. */
static void release_ids(sizes_play *p) {
    enum { SLOT = (1 << NEAP_SLOT_BITS) - 1 };
    for (int64_t k = 1; k < p->t->values.n; k++) {
        int32_t id = p->ids[k], slot = id & SLOT;
        bool mine = id && (slot >= p->nbefore || p->before[slot] != id) && p->ctx->handles.ids.at[slot] == id;
        if (mine)
            neap_release(p->ctx, 1, &id);
    }
}

static int32_t last_made(const neap_transcript *t) {
    for (int64_t k = t->entries.n; k-- > 0;)
        if (t->entries.at[k].made >= 0)
            return t->entries.at[k].made;
    return -1;
}

static int explain_failure(const sizes_play *p, int status, int64_t entry) {
    char *why = strdup(neap_error_text());
    lazy_text text = {0};
    for (int64_t k = 0; k < p->t->names.n; k++)
        (void)graph_text_addf(&text, "%s%s = %.17g", k ? ", " : "", p->t->names.at[k], p->sizes[k]);
    const sizes_entry *e = &p->t->entries.at[entry];
    int32_t site = site_of(p->t, e);
    if (why && status != NEAP_E_MEMORY)
        neap_error(status, "the program is not for %s: %s%s%s", text.data ? text.data : "these sizes", why,
                   site ? ", recorded at " : "", site ? graph_site_text(p->ctx, site) : "");
    free(why);
    graph_text_free(&text);
    return status;
}

static int play_all(sizes_play *p) {
    int status = open_play(p);
    for (int64_t k = 0; k < p->t->entries.n && status == 0; k++) {
        const sizes_entry *entry = &p->t->entries.at[k];
        status = entry->decides ? check_decision(p, entry) : play_note(p, k);
        if (status < 0)
            status = explain_failure(p, status, k);
    }
    return status;
}

int neap_transcript_play(neap_ctx *ctx, neap_transcript *t, int n, const double *sizes, neap_program **out) {
    sizes_play p = {.ctx = ctx, .t = t, .nsizes = n, .sizes = sizes, .outermost = -1};
    int32_t around = ctx->sites.again, made = last_made(t);
    *out = NULL;
    if (n != t->names.n)
        return neap_error(NEAP_E_ARGUMENT, "program: expected %lld sizes, got %d", (long long)t->names.n, n);
    if (ctx->transcript)
        return neap_error(NEAP_E_STATE, "a program with sizes of its own in the recording of another one");
    for (int k = 0; k < n; k++)
        if (!(sizes[k] >= 1 && sizes[k] == floor(sizes[k])))
            return neap_error(NEAP_E_SHAPE, "size %s must be at least 1, got %.17g", t->names.at[k], sizes[k]);
    if (made < 0)
        return neap_error(NEAP_E_STATE, "the transcript makes no program");
    int status = play_all(&p);
    if (p.outermost >= 0 && ctx->levels.n > p.outermost)
        (void)graph_level_end(ctx, p.outermost);
    ctx->sites.again = around;
    if (p.ids && p.before)
        release_ids(&p);
    for (int64_t k = 0; k < t->programs.n && p.programs; k++)
        if (status == 0 && k == made)
            *out = p.programs[k];
        else
            neap_program_free(p.programs[k]);
    free(p.values);
    free(p.computed);
    free(p.ids);
    free(p.programs);
    free(p.levels);
    free(p.before);
    return status;
}

int neap_transcript_value(neap_transcript *t, int32_t expr, int n, const double *sizes, double *out) {
    sizes_play p = {.t = t, .nsizes = n, .sizes = sizes};
    if (n != t->names.n || expr < 1 || expr >= t->exprs.n)
        return neap_error(NEAP_E_ARGUMENT, "no such size");
    p.values = malloc((size_t)t->exprs.n * sizeof *p.values + 1);
    p.computed = calloc((size_t)t->exprs.n + 1, sizeof *p.computed);
    int status =
        p.values && p.computed ? value_now(&p, expr, out) : neap_error(NEAP_E_MEMORY, "out of memory for a size");
    free(p.values);
    free(p.computed);
    return status;
}
