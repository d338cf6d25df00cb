/* play.c: asking the library again for what a transcript says, with other sizes (sizes.h).
 *
 * Sizes are numbers, or sizes of another transcript, which is open: a program is called where sizes are declared.
 * Then that one notes what is played, with expressions of its own in place of those of this transcript; decisions are
 * decisions of its caller. So programs inside programs are as if their functions had been called there.
 */
#include <math.h>
#include <string.h>

#include "lazy/sizes/sizes.h"

typedef struct sizes_play {
    neap_ctx *ctx;
    neap_transcript *t;
    const double *sizes;
    neap_transcript *around; /* the open one whose expressions the sizes are; NULL: they are numbers */
    const int32_t *given;    /* the sizes in it */
    int32_t *inside;         /* of expressions, those of `around` that they are */
    double *values;          /* of expressions, those that are computed: all in front of `known`, and some behind it */
    bool *computed;
    int64_t known;
    int32_t *ids;            /* of values */
    neap_program **programs; /* one reference each, of those that it has made */
    int *levels;             /* by entry that opens one */
    int outermost;           /* the level of the first; -1 */
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

/* The expression of an axis in the transcript around. */
static int32_t extent_around(const sizes_play *p, const sizes_expr *e) {
    neap_size extents[NEAP_MAX_DIMS];
    const neap_node *node = graph_lookup_any(p->ctx, p->ids[e->a]);
    int ndim = node ? sizes_see_extents(p->around, node, extents) : neap_error_code();
    if (ndim < 0)
        return ndim;
    if (e->b >= ndim)
        return neap_error(NEAP_E_SHAPE, "an array has %d axes now", ndim);
    return sizes_of(p->around, &extents[e->b]);
}

/* Finds an expression in the transcript around, once that has the operands. */
static int find_around(sizes_play *p, int32_t expr) {
    const sizes_expr *e = &p->t->exprs.at[expr];
    int status = 0;
    double now; /* asked for its errors */
    if (e->kind != SIZES_SYMBOL && e->kind != SIZES_EXTENT)
        status = sizes_value_of(p->t, expr, p->values, &now);
    int32_t found = status                    ? status
                    : e->kind == SIZES_SYMBOL ? p->given[e->a]
                    : e->kind == SIZES_EXTENT ? extent_around(p, e)
                                              : sizes_translate(p->around, e, p->inside);
    if (found < 0)
        return found;
    p->inside[expr] = found;
    p->values[expr] = p->around->exprs.at[found].at[0];
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
        else if (p->around)
            status = find_around(p, (int32_t)k);
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
    int status = value_now(p, entry->left, &a), truth = 0;
    if (status == 0)
        status = value_now(p, entry->right, &b);
    if (status == 0 && p->around)
        status =
            sizes_ask(p->around, entry->compare, p->inside[entry->left], p->inside[entry->right], entry->site, &truth);
    else
        truth = sizes_compare_values(entry->compare, a, b);
    if (status || truth == entry->truth)
        return status;
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

/* Axis k must be what the caller has seen. */
static int check_axis(sizes_play *p, const sizes_value *v, const neap_node *node, int k) {
    double want = 0;
    neap_size extents[NEAP_MAX_DIMS];
    int status = value_now(p, v->extents[k], &want), same = want == (double)node->shape[k];
    if (status == 0 && p->around) {
        int ndim = sizes_see_extents(p->around, node, extents);
        int32_t seen = ndim < 0 ? ndim : sizes_of(p->around, &extents[k]);
        status = seen < 0 ? seen : sizes_ask(p->around, NEAP_SIZE_EQUAL, seen, p->inside[v->extents[k]], NULL, &same);
    }
    if (status || same)
        return status;
    lazy_text text = {0};
    sizes_text(p->t, v->extents[k], &text);
    status = neap_error(NEAP_E_SHAPE, "%s: axis %d has %lld elements, where %.17g were expected (%s)",
                        graph_node_op(node)->name, k, (long long)node->shape[k], want, text.data ? text.data : "");
    graph_text_free(&text);
    return status;
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
    int status = 0;
    for (int k = 0; v->asked && v->extents && k < node->ndim && status == 0; k++)
        status = v->extents[k] ? check_axis(p, v, node, k) : 0;
    return status;
}

/* What was found among the arrays that were there must be the same one. */
static int check_found(const sizes_play *p, int32_t value, int32_t id) {
    int32_t known = p->ids[value];
    if (known == 0 || graph_lookup_any(p->ctx, known) == graph_lookup_any(p->ctx, id))
        return 0;
    return neap_error(NEAP_E_SHAPE, "it captures other arrays than when it was recorded");
}

static int refuse_real(const sizes_play *p, const sizes_entry *entry, int32_t expr, double value) {
    const graph_note_kind *kind = entry->note.kind;
    lazy_text text = {0};
    sizes_text(p->t, expr, &text);
    int status = neap_error(NEAP_E_SHAPE, "%s: extents, counts and bounds are integers, and %s is %.14g",
                            kind->form.op ? lazy_ops[entry->note.op]->name : kind->name,
                            text.data ? text.data : "a size", value);
    graph_text_free(&text);
    return status;
}

/* Puts size number `which` of an entry in its place of the note, and tells the transcript around. */
static int put_size(sizes_play *p, const sizes_entry *entry, int which, int64_t *ints, double *number) {
    double value = 0;
    const sizes_sized *sized = &entry->sized[which];
    int status = value_now(p, sized->expr, &value);
    if (status)
        return status;
    if (sized->at == NEAP_SIZE_NUMBER)
        *number = value;
    else if (value == floor(value) && fabs(value) <= 9007199254740992.0)
        ints[sized->at] = (int64_t)value;
    else
        return refuse_real(p, entry, sized->expr, value);
    return p->around ? sizes_announce(p->around, entry->note.kind, sized->at, p->inside[sized->expr]) : 0;
}

/* The script line of what an entry made; 0: nobody knows it. */
static int32_t site_of(const neap_transcript *t, const sizes_entry *entry) {
    bool makes = !entry->decides && !entry->fails && entry->note.nout;
    return makes ? t->values.at[entry->note.out[0]].site : 0;
}

/* A note as it is asked for again: its arrays belong to whoever plays it. */
static int fill_note(sizes_play *p, const sizes_entry *entry, graph_note *note, int32_t *in, int64_t *ints,
                     neap_program **programs) {
    int status = 0;
    for (int k = 0; k < note->nin && status == 0; k++)
        status = give_id(p, entry->note.in[k], &in[k]);
    if (note->nints)
        memcpy(ints, entry->note.ints, (size_t)note->nints * sizeof *ints);
    for (int k = 0; k < entry->nsized && status == 0; k++)
        status = put_size(p, entry, k, ints, &note->number);
    for (int k = 0; k < note->nprograms && status == 0; k++) {
        const sizes_program *program = &p->t->programs.at[entry->programs[k]];
        programs[k] = program->given ? program->program : p->programs[entry->programs[k]];
    }
    note->in = in;
    note->out = in + note->nin;
    note->ints = ints;
    note->programs = programs;
    note->made = NULL;
    if (entry->opened >= 0)
        note->level = p->levels[entry->opened];
    return status;
}

/* Keeps what the library made of entry `number`, of which the transcript around learns. */
static int keep_results(sizes_play *p, int64_t number, graph_note *note, int status) {
    const sizes_entry *entry = &p->t->entries.at[number];
    bool done = status == NEAP_OK || status == NEAP_SAFEPOINT;
    if (done && note->kind->opens) {
        p->levels[number] = note->level;
        p->outermost = p->outermost < 0 ? note->level : p->outermost;
    }
    if (done && entry->made >= 0)
        p->programs[entry->made] = note->made;
    if (p->around)
        status = sizes_noted(p->ctx, status, note);
    if (entry->fails && done)
        return neap_error(NEAP_E_SHAPE, "%s works now, and failed when it was recorded", note->kind->name);
    if (entry->fails && status != NEAP_PENDING && status != NEAP_E_MEMORY && status != NEAP_E_INTERRUPT)
        return 0;
    if (status < 0 || !done)
        return status == NEAP_PENDING ? neap_error(NEAP_E_STATE, "%s would wait", note->kind->name) : status;
    for (int k = 0; k < note->nout && note->kind->finds; k++)
        if ((status = check_found(p, entry->note.out[k], note->out[k])) < 0)
            return status;
    for (int k = 0; k < note->nout; k++)
        p->ids[entry->note.out[k]] = note->out[k];
    for (int k = 0; k < note->nout; k++)
        if ((status = check_extents(p, entry->note.out[k])) < 0)
            return status;
    return 0;
}

static int play_note(sizes_play *p, int64_t number) {
    const sizes_entry *entry = &p->t->entries.at[number];
    graph_note note = entry->note;
    int32_t *in = malloc(((size_t)note.nin + (size_t)note.nout) * sizeof *in + 1);
    int64_t *ints = malloc((size_t)note.nints * sizeof *ints + 1);
    neap_program **programs = malloc((size_t)note.nprograms * sizeof *programs + 1);
    int status = in && ints && programs ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a program");
    if (status == 0)
        status = fill_note(p, entry, &note, in, ints, programs);
    if (status == 0) {
        p->ctx->sites.again = site_of(p->t, entry);
        status = note.kind->play(p->ctx, &note);
        p->ctx->sites.again = 0;
        status = keep_results(p, number, &note, status);
    }
    free(in);
    free(ints);
    free(programs);
    return status;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */
static int open_play(sizes_play *p) {
    const neap_transcript *t = p->t;
    p->nbefore = p->ctx->handles.ids.n;
    p->values = malloc((size_t)t->exprs.n * sizeof *p->values + 1);
    p->inside = malloc((size_t)t->exprs.n * sizeof *p->inside + 1);
    p->computed = calloc((size_t)t->exprs.n + 1, sizeof *p->computed);
    p->ids = calloc((size_t)t->values.n + 1, sizeof *p->ids);
    p->programs = calloc((size_t)t->programs.n + 1, sizeof *p->programs);
    p->levels = calloc((size_t)t->entries.n + 1, sizeof *p->levels);
    p->before = malloc((size_t)p->nbefore * sizeof *p->before + 1);
    if (!p->values || !p->inside || !p->computed || !p->ids || !p->programs || !p->levels || !p->before)
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

static void add_size(const sizes_play *p, int64_t k, lazy_text *to) {
    (void)graph_text_addf(to, "%s%s = ", k ? ", " : "", p->t->names.at[k]);
    if (p->around) {
        sizes_text(p->around, p->given[k], to);
        (void)graph_text_addf(to, " (now %.17g)", p->around->exprs.at[p->given[k]].at[0]);
    } else
        (void)graph_text_addf(to, "%.17g", p->sizes[k]);
}

static int explain_failure(const sizes_play *p, int status, int64_t entry) {
    char *why = strdup(neap_error_text());
    lazy_text text = {0};
    for (int64_t k = 0; k < p->t->names.n; k++)
        add_size(p, k, &text);
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

static int play_program(sizes_play *p, neap_program **out) {
    const neap_transcript *t = p->t;
    neap_ctx *ctx = p->ctx;
    int32_t again = ctx->sites.again, made = last_made(t), mesh = ctx->mesh.open;
    uint32_t manual = ctx->mesh.manual;
    if (made < 0)
        return neap_error(NEAP_E_STATE, "the transcript makes no program");
    p->outermost = -1;
    int status = play_all(p);
    if (p->outermost >= 0 && ctx->levels.n > p->outermost)
        (void)neap_level_end(ctx, p->outermost); /* it failed: the status stays */
    ctx->sites.again = again;
    ctx->mesh.open = mesh; /* it may have failed in the body of a np.shard_map */
    ctx->mesh.manual = manual;
    if (p->ids && p->before)
        release_ids(p);
    for (int64_t k = 0; k < t->programs.n && p->programs; k++)
        if (status == 0 && k == made)
            *out = p->programs[k];
        else
            neap_program_free(p->programs[k]);
    free(p->values);
    free(p->inside);
    free(p->computed);
    free(p->ids);
    free(p->programs);
    free(p->levels);
    free(p->before);
    return status;
}

static int check_count(const neap_transcript *t, int n) {
    return n == t->names.n
               ? 0
               : neap_error(NEAP_E_ARGUMENT, "program: expected %lld sizes, got %d", (long long)t->names.n, n);
}

static int refuse_size(const neap_transcript *t, int k, double now) {
    return neap_error(NEAP_E_SHAPE, "size %s must be an integer of at least 1, got %.17g", t->names.at[k], now);
}

int neap_transcript_play(neap_ctx *ctx, neap_transcript *t, int n, const double *sizes, neap_program **out) {
    sizes_play p = {.ctx = ctx, .t = t, .sizes = sizes};
    neap_transcript *open = ctx->transcript; /* to which the program is one that was there before */
    *out = NULL;
    int status = check_count(t, n);
    for (int k = 0; k < n && status == 0; k++)
        if (!(sizes[k] >= 1 && sizes[k] == floor(sizes[k])))
            status = refuse_size(t, k, sizes[k]);
    ctx->transcript = NULL;
    status = status ? status : play_program(&p, out);
    ctx->transcript = open;
    return status;
}

/* The expressions of sizes in the open transcript: they must be integers from 1 on. */
static int give_sizes(neap_transcript *around, const neap_transcript *t, const neap_size *sizes, int32_t *given) {
    for (int k = 0; k < t->names.n; k++) {
        int32_t one = sizes_constant(around, 1);
        int less = 0;
        given[k] = one < 0 ? one : sizes_of(around, &sizes[k]);
        if (given[k] < 0)
            return given[k];
        if (sizes_is_real(&around->exprs.at[given[k]]))
            return refuse_size(t, k, sizes[k].now);
        int status = sizes_ask(around, NEAP_SIZE_LESS, given[k], one, NULL, &less);
        if (status || less)
            return status ? status : refuse_size(t, k, sizes[k].now);
    }
    return 0;
}

int neap_transcript_play_inside(neap_ctx *ctx, neap_transcript *t, int n, const neap_size *sizes, neap_program **out) {
    sizes_play p = {.ctx = ctx, .t = t, .around = ctx->transcript};
    *out = NULL;
    if (!p.around || ctx->callbacks.open.n > p.around->callbacks)
        return neap_error(NEAP_E_STATE, "a size that belongs to a trace that has ended");
    int32_t *given = malloc((size_t)n * sizeof *given + 1);
    int status = given ? check_count(t, n) : neap_error(NEAP_E_MEMORY, "out of memory for a program");
    p.given = given;
    status = status ? status : give_sizes(p.around, t, sizes, given);
    status = status ? status : play_program(&p, out);
    if (status != 0 && status != NEAP_E_MEMORY)
        p.around->broken =
            "a program inside was not for its sizes, and the function went on"; /* for others it may be */
    p.around->next.n = 0;
    free(given);
    return status;
}

int neap_transcript_value(neap_transcript *t, int32_t expr, int n, const double *sizes, double *out) {
    sizes_play p = {.t = t, .sizes = sizes};
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
