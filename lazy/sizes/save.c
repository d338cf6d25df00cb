/* save.c: a transcript for a program's file: as words and texts (program_sized, lazy/program/program.h).
 *
 * "text" and "op" are places in the lists of texts and ops; "?x" is 0, or 1 + x. Numbers of expressions, values and
 * entries count as in the transcript, whose [0] of expressions and values is not written.
 *
 *      transcript = names: n, texts; exprs: n, expr …; programs: n, ?place in the list of those that were given …;
 *                   values: n, value …; entries: n, entry …
 *      expr       = kind, then, by the kind, SUM: n, (coefficient, n, factors …) …; SYMBOL: which name;
 *                   EXTENT: value, axis; ATOM, REAL: op, a, b; CONSTANT: bits of a double
 *      value      = op, ?dtype: text, axes, ?array that was given, 0; or 1 and the expressions of its axes, if the
 *                   caller has seen them
 *      entry      = ?kind: text. 0, a decision: how it compares, truth, left, right, ?site: text
 *                   else did it fail, ?op, ?the entry that opened its level, bits of its number, operands: n, values …;
 *                   results: n, values …; integers: n, each by its letter (graph/note.h), of a sharding ?its place in
 *                   the list, of a body that of a sharding with its manual axes, of a named axis its text;
 *                   programs: n …; ?text; of a callback its place in the list;
 *                   sizes: n, (at, expr) …; ?the program that it makes
 *
 * Ops, dtypes, kinds of notes and effects are kept by name. Script lines are not kept, but for those of decisions and
 * prints, as in the rest of the file (program/write.c).
 */
#include <string.h>

#include "lazy/effect/effect.h"
#include "lazy/sizes/sizes.h"

typedef struct saver {
    const neap_transcript *t;
    program_sized *to;
    LAZY_VECTOR(int32_t) op_at; /* by row: 1 + place in the list */
    int status;
} saver;

#define REFUSED(s, ...) ((s)->status = (s)->status ? (s)->status : neap_error(NEAP_E_ARGUMENT, __VA_ARGS__))

/* ---- Words ------------------------------------------------------------------------------------------------------- */
static void put(saver *s, int64_t word) {
    if (s->status == 0)
        s->status = lazy_push(&s->to->words, word);
}

static void put_double(saver *s, double value) {
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(s, bits);
}

static int32_t place_of_text(saver *s, const char *text, size_t bytes) {
    program_sized *to = s->to;
    for (int64_t k = 0; k < to->texts.n; k++)
        if (to->texts.at[k].bytes == bytes && memcmp(to->bytes.data + to->texts.at[k].at, text, bytes) == 0)
            return (int32_t)k;
    if (s->status == 0)
        s->status = lazy_push(&to->texts, ((program_sized_text){to->bytes.bytes, bytes}));
    if (s->status == 0 && bytes)
        s->status = graph_text_add(&to->bytes, text, bytes);
    if (s->status == 0)
        s->status = graph_text_add(&to->bytes, "", 1);
    return (int32_t)to->texts.n - 1;
}

static void put_text(saver *s, const char *text) {
    put(s, place_of_text(s, text, strlen(text)));
}

/* 0: there is none. */
static void put_maybe_text(saver *s, const char *text, size_t bytes) {
    put(s, text ? 1 + place_of_text(s, text, bytes) : 0);
}

static void put_op(saver *s, int op) {
    while (s->status == 0 && s->op_at.n <= op)
        s->status = lazy_push(&s->op_at, 0);
    if (s->status)
        return;
    if (!s->op_at.at[op]) {
        s->op_at.at[op] = (int32_t)s->to->ops.n + 1;
        s->status = lazy_push(&s->to->ops, op);
    }
    put(s, s->op_at.at[op] - 1);
}

static int64_t place_of_sharding(saver *s, int32_t number) {
    program_sized *to = s->to;
    int64_t place = 0;
    while (place < to->shardings.n && to->shardings.at[place] != number)
        place++;
    if (place == to->shardings.n && s->status == 0)
        s->status = lazy_push(&to->shardings, number);
    return place;
}

/* The body of a np.shard_map, as the sharding that says which axes of which mesh are manual, and nothing else. */
static void put_body(saver *s, int64_t body) {
    lazy_sharding like = {.mesh = shard_mesh_get(body >> 32), .manual = (uint32_t)body};
    const lazy_sharding *manual = like.mesh && s->status == 0 ? shard_sharding_intern(&like) : NULL;
    if (like.mesh && !manual)
        s->status = s->status ? s->status : NEAP_E_MEMORY;
    put(s, manual ? 1 + place_of_sharding(s, manual->number) : 0);
}

static void put_callback(saver *s, lazy_callback *callback) {
    program_sized *to = s->to;
    int64_t place = 0;
    while (place < to->callbacks.n && to->callbacks.at[place] != callback)
        place++;
    if (place == to->callbacks.n && s->status == 0 && (s->status = lazy_push(&to->callbacks, callback)) == 0)
        effect_callback_retain(callback);
    put(s, place);
}

static void put_list(saver *s, int32_t n, const int32_t *list) {
    put(s, n);
    for (int32_t k = 0; k < n; k++)
        put(s, list[k]);
}

/* ---- Integers of notes ------------------------------------------------------------------------------------------- */
static const graph_note_kind *find_among(const graph_note_kind *const *kinds, const char *name) {
    while (*kinds && strcmp((*kinds)->name, name) != 0)
        kinds++;
    return *kinds;
}

const graph_note_kind *sizes_find_kind(const neap_ctx *ctx, const char *name) {
    const graph_note_kind *kind = find_among(ctx->hooks->kinds, name);
    return kind || !graph_mesh() ? kind : find_among(graph_mesh()->kinds, name);
}

char sizes_letter(const graph_note_kind *kind, int op, int k) {
    const char *letters = kind->form.ints;
    size_t n = strlen(letters);
    bool more = n && letters[n - 1] == '*';
    n -= more;
    char letter = (size_t)k < n ? letters[k] : more ? letters[n - 1] : '\0';
    if (letter != 'a')
        return letter;
    const lazy_op *row = lazy_ops[op];
    lazy_attr_names names = graph_attr_names_of(row);
    lazy_attr_word name = graph_attr_name(&names, k + graph_has_pointer(row));
    return row->flags & LAZY_OP_AXIS && k == 0 ? 'A'
           : graph_attr_is_dtype(name)         ? 't'
           : graph_attr_is_sharding(name)      ? 's'
                                               : 'x';
}

static void put_integer(saver *s, const graph_note *note, int k) {
    int64_t value = note->ints[k];
    switch (sizes_letter(note->kind, note->op, k)) {
    case 't':
        if (value < 0)
            put(s, 0);
        else
            put_maybe_text(s, neap_dtype_name((int)value), strlen(neap_dtype_name((int)value)));
        break;
    case 's':
        put(s, value ? 1 + place_of_sharding(s, (int32_t)value) : 0);
        break;
    case 'A':
        put_text(s, graph_site_text(s->t->ctx, (int32_t)value));
        break;
    case 'b':
        put_body(s, value);
        break;
    case 'k':
        put_text(s, neap_effect_name((int)value));
        break;
    case 'o':
        if (value != NEAP_STDOUT && value != NEAP_STDERR)
            REFUSED(s, "save: the program writes to a log's file, which belongs to this session; use np.callback for "
                       "that");
        put_text(s, value == NEAP_STDOUT ? "stdout" : "stderr");
        break;
    default:
        put(s, value);
    }
}

/* ---- Parts of a transcript --------------------------------------------------------------------------------------- */
static void put_expr(saver *s, const sizes_expr *e) {
    put(s, e->kind);
    if (e->kind == SIZES_CONSTANT) {
        put_double(s, e->constant);
        return;
    }
    if (e->kind == SIZES_SUM) {
        put(s, e->nterms);
        for (int k = 0; k < e->nterms; k++) {
            put(s, e->terms[k].coefficient);
            put_list(s, e->terms[k].nfactors, e->terms[k].factor);
        }
        return;
    }
    if (e->kind == SIZES_ATOM || e->kind == SIZES_REAL)
        put(s, e->op);
    put(s, e->a);
    if (e->kind != SIZES_SYMBOL)
        put(s, e->b);
}

static void put_value(saver *s, const sizes_value *value) {
    put_op(s, value->op);
    put_maybe_text(s, neap_dtype_name(value->dtype), strlen(neap_dtype_name(value->dtype)));
    put(s, value->ndim);
    put(s, value->given ? s->to->arrays.n + 1 : 0);
    if (value->given && s->status == 0 && (s->status = lazy_push(&s->to->arrays, value->node)) == 0)
        graph_retain(value->node);
    put(s, value->extents != NULL);
    for (int k = 0; k < value->ndim && value->extents; k++)
        put(s, value->extents[k]);
}

static void put_program(saver *s, const sizes_program *program) {
    put(s, program->given ? s->to->programs.n + 1 : 0);
    if (program->given && s->status == 0 && (s->status = lazy_push(&s->to->programs, program->program)) == 0)
        program_retain(program->program);
}

static void put_decision(saver *s, const sizes_entry *entry) {
    put(s, 0);
    put(s, entry->compare);
    put(s, entry->truth);
    put(s, entry->left);
    put(s, entry->right);
    put_maybe_text(s, entry->site, entry->site ? strlen(entry->site) : 0);
}

static void put_note(saver *s, const sizes_entry *entry) {
    const graph_note *note = &entry->note;
    if (sizes_find_kind(s->t->ctx, note->kind->name) != note->kind) {
        REFUSED(s, "save: a program with declared sizes cannot be saved with a %s", note->kind->name);
        return;
    }
    put_maybe_text(s, note->kind->name, strlen(note->kind->name));
    put(s, entry->fails);
    put(s, note->kind->form.op);
    if (note->kind->form.op)
        put_op(s, note->op);
    put(s, entry->opened + 1);
    put_double(s, note->number);
    put_list(s, note->nin, note->in);
    put_list(s, note->nout, note->out);
    put(s, note->nints);
    for (int k = 0; k < note->nints; k++)
        put_integer(s, note, k);
    put_list(s, note->nprograms, entry->programs);
    put_maybe_text(s, note->kind->form.says ? note->text : NULL, note->bytes);
    if (note->kind->form.calls)
        put_callback(s, note->held);
    put(s, entry->nsized);
    for (int k = 0; k < entry->nsized; k++) {
        put(s, entry->sized[k].at);
        put(s, entry->sized[k].expr);
    }
    put(s, entry->made + 1);
}

static void put_transcript(saver *s) {
    const neap_transcript *t = s->t;
    put(s, t->names.n);
    for (int64_t k = 0; k < t->names.n; k++)
        put_text(s, t->names.at[k]);
    put(s, t->exprs.n ? t->exprs.n - 1 : 0);
    for (int64_t k = 1; k < t->exprs.n && s->status == 0; k++)
        put_expr(s, &t->exprs.at[k]);
    put(s, t->programs.n);
    for (int64_t k = 0; k < t->programs.n; k++)
        put_program(s, &t->programs.at[k]);
    put(s, t->values.n ? t->values.n - 1 : 0);
    for (int64_t k = 1; k < t->values.n && s->status == 0; k++)
        put_value(s, &t->values.at[k]);
    put(s, t->entries.n);
    for (int64_t k = 0; k < t->entries.n && s->status == 0; k++)
        if (t->entries.at[k].decides)
            put_decision(s, &t->entries.at[k]);
        else
            put_note(s, &t->entries.at[k]);
}

/* ---- Public ------------------------------------------------------------------------------------------------------ */
/* Packs the transcript, and says whether it can be read again. */
static int pack_checked(neap_transcript *t, const neap_program *program, program_sized *sized) {
    saver s = {.t = t, .to = sized};
    neap_ctx *ctx = program->ctx;
    if (!ctx || t->ctx != ctx)
        return neap_error(NEAP_E_STATE, "program: its session has ended");
    put_transcript(&s);
    neap_transcript *again = NULL;
    if (s.status == 0)
        s.status = sizes_unpack(ctx, sized, &again);
    neap_transcript_free(again);
    lazy_vector_free(&s.op_at);
    return s.status;
}

int neap_transcript_write(neap_transcript *t, neap_program *program, char **data, size_t *bytes) {
    program_sized sized = {0};
    int status = pack_checked(t, program, &sized);
    if (status == 0)
        status = program_write(program, &sized, data, bytes);
    program_sized_free(program->ctx, &sized);
    return status;
}

int neap_transcript_callees(neap_transcript *t, neap_program *program, int32_t capacity, int32_t *callees, int32_t *n) {
    program_sized sized = {0};
    int status = pack_checked(t, program, &sized);
    *n = 0;
    if (status == 0)
        status = program_callees(program, &sized, capacity, callees, n);
    program_sized_free(program->ctx, &sized);
    return status;
}

int neap_transcript_shardings(neap_transcript *t, neap_program *program, int32_t capacity, int32_t *shardings,
                              int32_t *n) {
    program_sized sized = {0};
    int status = pack_checked(t, program, &sized);
    *n = 0;
    if (status == 0)
        status = program_shardings(program, &sized, capacity, shardings, n);
    program_sized_free(program->ctx, &sized);
    return status;
}
