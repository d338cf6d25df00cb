/* load.c: a transcript of a file (save.c has the grammar), which nobody has checked.
 *
 * Each word is compared with what may stand there: numbers of expressions, values, programs and entries are of those in
 * front; a note has what its kind says (graph/note.h), and belongs to a level that is open. Whether shapes, dtypes and
 * attributes fit, the library decides as it does for everybody, when it is asked again. Lists are no longer than what
 * is left of the words, so memory is taken in proportion to the file. Nothing is recorded or run here.
 */
#include <inttypes.h>
#include <string.h>

#include "lazy/effect/effect.h"
#include "lazy/sizes/sizes.h"

typedef LAZY_VECTOR(int32_t) numbers;

typedef struct loader {
    neap_ctx *ctx;
    const program_sized *from;
    neap_transcript *t;
    int64_t at;
    int status;
    bool *known;                 /* by value: was it given, or made by an entry? */
    bool *made;                  /* by program */
    LAZY_VECTOR(int32_t) open;   /* the entries whose levels are open, outermost first */
    LAZY_VECTOR(int64_t) bodies; /* the bodies of np.shard_map that are open, outermost first */
    numbers in, out, programs;
    LAZY_VECTOR(int64_t) ints;
    LAZY_VECTOR(sizes_sized) sized;
} loader;

#define DAMAGED(l, ...) ((l)->status = (l)->status ? (l)->status : neap_error(NEAP_E_ARGUMENT, __VA_ARGS__))

/* ---- Words ------------------------------------------------------------------------------------------------------- */
static int64_t get(loader *l) {
    if (l->status == 0 && l->at == l->from->words.n)
        DAMAGED(l, "the program is damaged: what it says of sizes does not end");
    return l->status ? 0 : l->from->words.at[l->at++];
}

/* A number from `first` on and below `limit`; on failure `first`. */
static int64_t get_between(loader *l, int64_t first, int64_t limit, const char *what) {
    int64_t value = get(l);
    if (l->status == 0 && (value < first || value >= limit))
        DAMAGED(l, "the program is damaged: %s %" PRId64 " of %" PRId64, what, value, limit);
    return l->status ? first : value;
}

static int64_t get_below(loader *l, int64_t limit, const char *what) {
    return get_between(l, 0, limit, what);
}

static int64_t get_count(loader *l, const char *what) {
    int64_t left = l->from->words.n - l->at, most = left < INT32_MAX / 2 ? left : INT32_MAX / 2;
    return get_below(l, most + 1, what);
}

static double get_double(loader *l) {
    int64_t bits = get(l);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static const char *text_at(const loader *l, int64_t place, size_t *bytes) {
    *bytes = l->from->texts.at[place].bytes;
    return l->from->bytes.data + l->from->texts.at[place].at;
}

/* A text without zeros. BORROWED; NULL on failure, and if there may be none (`misses`). */
static const char *get_maybe_name(loader *l, bool misses) {
    size_t bytes = 0;
    int64_t place = misses ? get_below(l, l->from->texts.n + 1, "text") : 1 + get_below(l, l->from->texts.n, "text");
    const char *text = l->status || place == 0 ? NULL : text_at(l, place - 1, &bytes);
    if (text && strlen(text) != bytes) {
        DAMAGED(l, "the program is damaged: a name with a zero in it");
        return NULL;
    }
    return text;
}

static const char *get_name(loader *l) {
    return get_maybe_name(l, false);
}

static int64_t get_dtype(loader *l, bool attribute) {
    const char *name = get_maybe_name(l, true);
    int dtype = name ? neap_dtype_parse(name) : -1;
    if (!name && attribute)
        DAMAGED(l, "the program is damaged: an op of no dtype");
    if (name && dtype < 0)
        DAMAGED(l, "the program uses the dtype '%.40s', which this version of neap does not have", name);
    return dtype;
}

static int get_op(loader *l) {
    int64_t place = get_below(l, l->from->ops.n, "op");
    return l->status ? 0 : l->from->ops.at[place];
}

/* An expression in front of number `limit`. */
static int32_t get_expr(loader *l, int64_t limit) {
    return (int32_t)get_between(l, 1, limit, "size");
}

/* A value that is there; 0 may stand for none. */
static int32_t get_value(loader *l, bool misses) {
    int32_t value = (int32_t)get_between(l, misses ? 0 : 1, l->t->values.n, "array");
    if (l->status == 0 && value && !l->known[value])
        DAMAGED(l, "the program is damaged: array %d is not there yet", value);
    return value;
}

static void *zeros(loader *l, int64_t n, size_t bytes) {
    void *block = calloc((size_t)n + 1, bytes);
    if (!block && l->status == 0)
        l->status = neap_error(NEAP_E_MEMORY, "out of memory for a transcript");
    return block;
}

/* ---- Names, programs and values ---------------------------------------------------------------------------------- */
static void load_names(loader *l) {
    int64_t n = get_count(l, "names");
    for (int64_t k = 0; k < n && l->status == 0; k++) {
        const char *name = get_name(l);
        char *copy = name ? strdup(name) : NULL;
        if (name && (!copy || lazy_push(&l->t->names, copy))) {
            free(copy);
            l->status = neap_error(NEAP_E_MEMORY, "out of memory for a transcript");
        }
    }
}

static void load_programs(loader *l) {
    int64_t n = get_count(l, "programs");
    l->made = zeros(l, n, sizeof *l->made);
    for (int64_t k = 0; k < n && l->status == 0; k++) {
        int64_t place = get_below(l, l->from->programs.n + 1, "program");
        sizes_program program = {.given = place > 0};
        if (l->status == 0 && place)
            program.program = program_retain(l->from->programs.at[place - 1]);
        if (l->status == 0 && lazy_push(&l->t->programs, program)) {
            neap_program_free(program.program);
            l->status = NEAP_E_MEMORY;
        }
    }
}

static void load_value(loader *l, int64_t nexprs) {
    sizes_value value = {.op = (int16_t)get_op(l)};
    value.dtype = (uint8_t)get_dtype(l, true);
    value.ndim = (uint8_t)get_below(l, NEAP_MAX_DIMS + 1, "axes");
    int64_t place = get_below(l, l->from->arrays.n + 1, "array");
    value.asked = get_below(l, place ? 1 : 2, "axes") != 0;
    if (value.asked && l->status == 0)
        value.extents = zeros(l, value.ndim, sizeof *value.extents);
    for (int k = 0; k < value.ndim && l->status == 0 && value.asked; k++)
        value.extents[k] = (int32_t)get_below(l, nexprs, "size");
    value.given = place > 0;
    if (l->status == 0 && place)
        value.node = graph_retain(l->from->arrays.at[place - 1]);
    if (l->status == 0 && lazy_push(&l->t->values, value))
        l->status = NEAP_E_MEMORY;
    if (l->status) {
        graph_release(l->ctx, value.node);
        free(value.extents);
    }
}

static void load_values(loader *l) {
    int64_t n = get_count(l, "arrays");
    l->known = zeros(l, n + 1, sizeof *l->known);
    if (l->status == 0)
        l->status = lazy_push(&l->t->values, ((sizes_value){0}));
    for (int64_t k = 1; k <= n && l->status == 0; k++) {
        load_value(l, l->t->exprs.n);
        l->known[k] = l->status == 0 && l->t->values.at[k].given;
    }
}

/* ---- Expressions ------------------------------------------------------------------------------------------------- */
/* Atoms among those in front. */
static void load_terms(loader *l, int64_t number, sizes_expr *e) {
    e->nterms = (int)get_count(l, "terms");
    if (l->status == 0)
        e->terms = zeros(l, e->nterms, sizeof *e->terms);
    for (int k = 0; k < e->nterms && l->status == 0; k++) {
        sizes_term *term = &e->terms[k];
        term->coefficient = get(l);
        term->nfactors = (int)get_below(l, SIZES_MOST_FACTORS + 1, "factors");
        for (int f = 0; f < term->nfactors && l->status == 0; f++) {
            term->factor[f] = get_expr(l, number);
            uint8_t kind = l->status ? SIZES_SYMBOL : l->t->exprs.at[term->factor[f]].kind;
            if (kind != SIZES_SYMBOL && kind != SIZES_EXTENT && kind != SIZES_ATOM)
                DAMAGED(l, "the program is damaged: a size is a sum of sums");
        }
        if (l->status == 0 && e->nterms == 1 && term->coefficient == 1 && term->nfactors == 1)
            DAMAGED(l, "the program is damaged: a size is a sum of one");
    }
}

static void load_operation(loader *l, int64_t number, sizes_expr *e) {
    e->op = (uint8_t)get_below(l, NEAP_SIZE_SQRT + 1, "operation");
    e->a = get_expr(l, number);
    e->b = get_expr(l, number);
    bool atom =
        e->op == NEAP_SIZE_FLOOR_DIV || e->op == NEAP_SIZE_MOD || e->op == NEAP_SIZE_MIN || e->op == NEAP_SIZE_MAX;
    if (l->status == 0 && e->kind == SIZES_ATOM &&
        (!atom || sizes_is_real(&l->t->exprs.at[e->a]) || sizes_is_real(&l->t->exprs.at[e->b])))
        DAMAGED(l, "the program is damaged: a size is no integer");
}

static void load_expr(loader *l, int64_t number) {
    sizes_expr e = {.kind = (uint8_t)get_below(l, SIZES_CONSTANT + 1, "kind of a size")};
    if (l->status == 0 && e.kind == SIZES_SUM)
        load_terms(l, number, &e);
    else if (e.kind == SIZES_SYMBOL)
        e.a = (int32_t)get_below(l, l->t->names.n, "name");
    else if (e.kind == SIZES_EXTENT) {
        e.a = (int32_t)get_between(l, 1, INT32_MAX, "array"); /* see check_axes */
        e.b = (int32_t)get_below(l, NEAP_MAX_DIMS, "axis");
    } else if (e.kind == SIZES_CONSTANT)
        e.constant = get_double(l);
    else
        load_operation(l, number, &e);
    if (e.kind == SIZES_SYMBOL || e.kind == SIZES_EXTENT || e.kind == SIZES_ATOM) { /* an atom's only term */
        if (l->status == 0)
            e.terms = zeros(l, 1, sizeof *e.terms);
        if (e.terms)
            *e.terms = (sizes_term){.coefficient = 1, .nfactors = 1, .factor = {(int32_t)number}};
        e.nterms = 1;
    }
    if (l->status == 0 && lazy_push(&l->t->exprs, e))
        l->status = NEAP_E_MEMORY;
    if (l->status)
        free(e.terms);
}

static void load_exprs(loader *l) {
    int64_t n = get_count(l, "sizes");
    if (l->status == 0)
        l->status = lazy_push(&l->t->exprs, ((sizes_expr){.kind = SIZES_CONSTANT}));
    for (int64_t k = 1; k <= n && l->status == 0; k++)
        load_expr(l, k);
}

/* Expressions stand in front of the values whose axes they are. */
static void check_axes(loader *l) {
    for (int64_t k = 1; k < l->t->exprs.n && l->status == 0; k++) {
        const sizes_expr *e = &l->t->exprs.at[k];
        if (e->kind == SIZES_EXTENT && e->a >= l->t->values.n)
            DAMAGED(l, "the program is damaged: array %d of %" PRId64, e->a, l->t->values.n);
    }
}

/* ---- Notes ------------------------------------------------------------------------------------------------------- */
static const graph_note_kind *find_kind(loader *l, const char *name) {
    const graph_note_kind *kind = sizes_find_kind(l->ctx, name);
    if (kind)
        return kind;
    DAMAGED(l, "the program has sizes with a '%.40s', which this version of neap does not have", name);
    return NULL;
}

static int64_t get_effect(loader *l) {
    const char *name = get_name(l);
    int kind = name ? neap_effect_declare(name) : 0;
    if (kind < 0)
        DAMAGED(l, "the program has an effect of the kind '%.40s', for which there is no room", name);
    return kind;
}

static int64_t get_stream(loader *l) {
    const char *name = get_name(l);
    int stream = !name ? 0 : strcmp(name, "stdout") == 0 ? NEAP_STDOUT : strcmp(name, "stderr") == 0 ? NEAP_STDERR : 0;
    if (name && !stream)
        DAMAGED(l, "the program prints to '%.40s', expected stdout or stderr", name);
    return stream;
}

/* NULL: it lies on no mesh. */
static const lazy_sharding *get_sharding(loader *l) {
    int64_t place = get_below(l, l->from->shardings.n + 1, "sharding");
    const lazy_sharding *lies = place ? shard_sharding_get(l->from->shardings.at[place - 1]) : NULL;
    if (place && !lies)
        DAMAGED(l, "the program is damaged: it has no such sharding");
    return lies;
}

/* Attributes are those of tokens: who records other rows that have one is not the caller. */
static int64_t get_sharding_number(loader *l, const graph_note *note) {
    const lazy_sharding *lies = get_sharding(l);
    if (lies && note->kind->form.op && lazy_ops[note->op]->arity)
        DAMAGED(l, "the program is damaged: a %s with a sharding", lazy_ops[note->op]->name);
    return lies ? lies->number : 0;
}

static int64_t get_body(loader *l) {
    const lazy_sharding *lies = get_sharding(l);
    if (lies && !lies->manual)
        DAMAGED(l, "the program is damaged: a body of a np.shard_map over no axes");
    return lies ? graph_note_body(lies->mesh->number, lies->manual) : 0;
}

/* The name of an axis as its number. */
static int64_t get_axis(loader *l) {
    const char *name = get_name(l);
    int32_t number = name ? neap_axis_name(l->ctx, name) : 0;
    if (name && !number)
        l->status = neap_error(NEAP_E_MEMORY, "out of memory for the name of an axis");
    return number;
}

static int64_t get_integer(loader *l, const graph_note *note, int k) {
    switch (sizes_letter(note->kind, note->op, k)) {
    case 't':
        return get_dtype(l, note->kind->form.op);
    case 's':
        return get_sharding_number(l, note);
    case 'b':
        return get_body(l);
    case 'A':
        return get_axis(l);
    case 'd':
        return get_between(l, -1, neap_device_count(), "device");
    case 'k':
        return get_effect(l);
    case 'o':
        return get_stream(l);
    case 'x':
    case 'n':
        return get(l);
    default:
        DAMAGED(l, "the program is damaged: a %s has too many integers", note->kind->name);
        return 0;
    }
}

/* What the functions that record take for granted of rows, since the library asks for them. */
static void check_row(loader *l, const graph_note *note) {
    const lazy_op *row = lazy_ops[note->op];
    lazy_attr_names names = graph_attr_names_of(row);
    bool control = note->nprograms > 0, any = note->kind->form.ints[0] == 'a';
    int nattrs = (any ? note->nints : 0) + graph_has_pointer(row), more = nattrs - names.nfixed;
    bool recorded =
        control ? row->control != NULL
                : !graph_has_pointer(row) && (row->kind != LAZY_SOURCE || row->shape) && !(row->flags & LAZY_OP_PART);
    if (l->status == 0 && !recorded)
        DAMAGED(l, "the program is damaged: %s is no op that is recorded", row->name);
    if (l->status == 0 && (more < 0 || (names.nrepeat ? more % names.nrepeat : more) != 0))
        DAMAGED(l, "the program is damaged: %s has %d attributes, expected \"%s\"", row->name, nattrs,
                row->attrs ? row->attrs : "");
}

/* How many there are has to be what the kind says. */
static void check_numbers(loader *l, const graph_note *note) {
    const graph_note_form *form = &note->kind->form;
    bool right = (form->nin < 0 || form->nin == note->nin) && (form->nout < 0 || form->nout == note->nout) &&
                 (form->nprograms < 0 ? note->nprograms > 0 : form->nprograms == note->nprograms) &&
                 note->nints >= (int)strcspn(form->ints, "*") - (strchr(form->ints, '*') != NULL);
    if (l->status == 0 && !right)
        DAMAGED(l, "the program is damaged: a %s has %d arrays, %d integers and %d programs, and makes %d",
                note->kind->name, note->nin, note->nints, note->nprograms, note->nout);
}

/* The level that the note belongs to must be open; those inside of one that ends are closed with it. */
static void check_level(loader *l, const sizes_entry *entry) {
    const graph_note *note = &entry->note;
    int kinds = note->kind->form.level;
    int64_t at = l->open.n;
    while (at > 0 && l->open.at[at - 1] != entry->opened)
        at--;
    bool belongs = entry->opened >= 0 && at > 0;
    const graph_note_kind *opener = belongs ? l->t->entries.at[entry->opened].note.kind : NULL;
    int is = opener == &graph_note_trace_begin ? GRAPH_NOTE_TRACE : GRAPH_NOTE_TAPE;
    if (l->status == 0 && (kinds ? !belongs || !(kinds & is) : entry->opened >= 0))
        DAMAGED(l, "the program is damaged: a %s in a gradient or trace that is not open", note->kind->name);
    if (l->status || entry->fails)
        return;
    if (note->kind == &graph_note_level_end || note->kind == &program_note_end)
        l->open.n = at - 1;
    if (note->kind->opens)
        l->status = lazy_push(&l->open, (int32_t)l->t->entries.n);
}

/* A body begins inside of the one that is open, with more manual axes of its mesh, or the innermost ends. */
static void check_body(loader *l, const graph_note *note) {
    if (l->status || note->kind->form.ints[0] != 'b')
        return;
    int64_t n = l->bodies.n, body = note->ints[0], open = n ? l->bodies.at[n - 1] : 0;
    bool ends = n && body == (n > 1 ? l->bodies.at[n - 2] : 0), more = body > open && (body & open) == open;
    if (ends)
        l->bodies.n--;
    else if (body && (!open || (more && body >> 32 == open >> 32)))
        l->status = lazy_push(&l->bodies, body);
    else
        DAMAGED(l, "the program was recorded in the body of a np.shard_map, or is damaged: it leaves a body that it "
                   "has not entered");
}

static void load_sizes(loader *l, const graph_note *note) {
    int64_t n = get_count(l, "sizes");
    l->sized.n = 0;
    for (int64_t k = 0; k < n && l->status == 0; k++) {
        sizes_sized one = {.at = (int32_t)get_between(l, NEAP_SIZE_NUMBER, note->nints, "integer")};
        one.expr = get_expr(l, l->t->exprs.n);
        if (l->status == 0 && one.at >= 0 && sizes_letter(note->kind, note->op, one.at) != 'x')
            DAMAGED(l, "the program is damaged: integer %d of a %s is a size", one.at, note->kind->name);
        if (l->status == 0)
            l->status = lazy_push(&l->sized, one);
    }
}

/* The text's words; they are copied with the rest. */
static void load_text(loader *l, graph_note *note) {
    int64_t place = get_below(l, l->from->texts.n + 1, "text");
    if (l->status == 0 && place && !note->kind->form.says)
        DAMAGED(l, "the program is damaged: a %s with a text", note->kind->name);
    if (l->status == 0 && place)
        note->text = text_at(l, place - 1, &note->bytes);
}

static void load_callback(loader *l, graph_note *note) {
    int64_t place = get_below(l, l->from->callbacks.n, "callback");
    lazy_callback *callback = l->status ? NULL : l->from->callbacks.at[place];
    if (callback && (note->nout != callback->nresults || note->nin > NEAP_MAX_INPUTS))
        DAMAGED(l, "the program is damaged: a callback of %d arrays gives %d", note->nin, note->nout);
    note->held = callback;
}

static int32_t load_made(loader *l, const graph_note *note, bool fails) {
    int64_t made = get_below(l, l->t->programs.n + 1, "program") - 1;
    bool makes = note->kind == &program_note_end && !fails;
    if (l->status == 0 && (makes != (made >= 0) || (makes && (l->t->programs.at[made].given || l->made[made]))))
        DAMAGED(l, "the program is damaged: a %s makes program %" PRId64, note->kind->name, made);
    if (l->status == 0 && makes)
        l->made[made] = true;
    return (int32_t)made;
}

/* Results of a call that failed are 0. */
static void load_values_of(loader *l, numbers *to, int32_t *n, bool results, bool misses) {
    int64_t count = get_count(l, "arrays");
    to->n = 0;
    for (int64_t k = 0; k < count && l->status == 0; k++) {
        int64_t limit = misses ? 1 : l->t->values.n;
        int32_t value = results ? (int32_t)get_between(l, !misses, limit, "array") : get_value(l, misses);
        if (l->status == 0)
            l->status = lazy_push(to, value);
    }
    *n = (int32_t)to->n;
}

static void load_programs_of(loader *l, graph_note *note) {
    int64_t n = get_count(l, "programs");
    l->programs.n = 0;
    for (int64_t k = 0; k < n && l->status == 0; k++) {
        int32_t program = (int32_t)get_below(l, l->t->programs.n, "program");
        if (l->status == 0 && !l->t->programs.at[program].given && !l->made[program])
            DAMAGED(l, "the program is damaged: program %d is not there yet", program);
        if (l->status == 0)
            l->status = lazy_push(&l->programs, program);
    }
    note->nprograms = (int32_t)n;
}

/* Copies what was read, and adds it to the entries. */
static void keep_note(loader *l, sizes_entry *entry, graph_note *note) {
    static const int64_t no_ints[1];
    note->in = l->in.at ? l->in.at : (int32_t[]){0};
    note->out = l->out.at ? l->out.at : (int32_t[]){0};
    note->ints = l->ints.at ? l->ints.at : no_ints;
    entry->note = *note;
    check_numbers(l, note);
    check_level(l, entry);
    check_body(l, note);
    if (l->status == 0)
        l->status = sizes_copy_note(entry, note);
    if (l->status == 0 && note->nprograms)
        memcpy(entry->programs, l->programs.at, (size_t)note->nprograms * sizeof *entry->programs);
    entry->nsized = (int)l->sized.n;
    entry->sized = l->status ? NULL : zeros(l, l->sized.n, sizeof *entry->sized);
    if (l->status == 0 && l->sized.n)
        memcpy(entry->sized, l->sized.at, (size_t)l->sized.n * sizeof *entry->sized);
    if (l->status == 0)
        l->status = lazy_push(&l->t->entries, *entry);
    if (l->status)
        sizes_free_entry(entry);
    for (int k = 0; k < note->nout && l->status == 0 && !entry->fails; k++)
        l->known[note->out[k]] = true;
}

static void load_note(loader *l, const char *kind) {
    graph_note note = {.kind = find_kind(l, kind), .level = -1};
    sizes_entry entry = {.opened = -1, .made = -1};
    if (l->status)
        return;
    entry.fails = get_below(l, 2, "failure") != 0;
    if (get_below(l, 2, "op") != note.kind->form.op)
        DAMAGED(l, "the program is damaged: a %s of another op", note.kind->name);
    if (note.kind->form.op)
        note.op = get_op(l);
    entry.opened = (int32_t)get_below(l, l->t->entries.n + 1, "entry") - 1;
    note.number = get_double(l);
    load_values_of(l, &l->in, &note.nin, false, note.kind->form.misses);
    load_values_of(l, &l->out, &note.nout, true, entry.fails);
    note.nints = (int32_t)get_count(l, "integers");
    l->ints.n = 0;
    for (int k = 0; k < note.nints && l->status == 0; k++) {
        int64_t value = get_integer(l, &note, k);
        if (l->status == 0)
            l->status = lazy_push(&l->ints, value);
    }
    load_programs_of(l, &note);
    if (note.kind->form.op)
        check_row(l, &note);
    load_text(l, &note);
    if (note.kind->form.calls)
        load_callback(l, &note);
    load_sizes(l, &note);
    entry.made = load_made(l, &note, entry.fails);
    keep_note(l, &entry, &note);
}

static void load_decision(loader *l) {
    sizes_entry entry = {.decides = true, .opened = -1, .made = -1};
    entry.compare = (int)get_below(l, NEAP_SIZE_LESS_EQUAL + 1, "comparison");
    entry.truth = get_below(l, 2, "truth") != 0;
    entry.left = get_expr(l, l->t->exprs.n);
    entry.right = get_expr(l, l->t->exprs.n);
    int32_t site = graph_site_intern(l->ctx, get_maybe_name(l, true));
    entry.site = site ? graph_site_text(l->ctx, site) : NULL;
    if (l->status == 0)
        l->status = lazy_push(&l->t->entries, entry);
}

static void load_entries(loader *l) {
    int64_t n = get_count(l, "entries");
    for (int64_t k = 0; k < n && l->status == 0; k++) {
        const char *kind = get_maybe_name(l, true);
        if (kind)
            load_note(l, kind);
        else if (l->status == 0)
            load_decision(l);
    }
    if (l->status == 0 && l->at != l->from->words.n)
        DAMAGED(l, "the program is damaged: what it says of sizes goes on behind its end");
    if (l->status == 0 && l->bodies.n)
        DAMAGED(l, "the program is damaged: the body of a np.shard_map does not end");
}

/* ---- Public ------------------------------------------------------------------------------------------------------ */
int sizes_unpack(neap_ctx *ctx, const program_sized *from, neap_transcript **out) {
    loader l = {.ctx = ctx, .from = from, .t = calloc(1, sizeof *l.t)};
    *out = NULL;
    if (!l.t)
        return neap_error(NEAP_E_MEMORY, "out of memory for a transcript");
    l.t->ctx = ctx;
    load_names(&l);
    load_exprs(&l);
    load_programs(&l);
    load_values(&l);
    check_axes(&l);
    load_entries(&l);
    free(l.known);
    free(l.made);
    lazy_vector_free(&l.open);
    lazy_vector_free(&l.bodies);
    lazy_vector_free(&l.in);
    lazy_vector_free(&l.out);
    lazy_vector_free(&l.programs);
    lazy_vector_free(&l.ints);
    lazy_vector_free(&l.sized);
    if (l.status)
        neap_transcript_free(l.t);
    else
        *out = l.t;
    return l.status;
}

/* Does the last program that the transcript makes take and give as many arrays as the one of the file? */
static int check_program(const neap_transcript *t, const neap_program *program) {
    int64_t end = t->entries.n - 1, inputs = 0;
    while (end >= 0 && t->entries.at[end].made < 0)
        end--;
    if (end < 0)
        return neap_error(NEAP_E_ARGUMENT, "the program is damaged: it makes none for other sizes");
    for (int64_t k = 0; k < end; k++) {
        const sizes_entry *entry = &t->entries.at[k];
        inputs +=
            entry->note.kind == &program_note_input && !entry->fails && entry->opened == t->entries.at[end].opened;
    }
    if (inputs != program->inputs.n || t->entries.at[end].note.nin != program->outputs.n)
        return neap_error(NEAP_E_ARGUMENT, "the program is damaged: for other sizes it takes %lld arrays and gives %d",
                          (long long)inputs, t->entries.at[end].note.nin);
    return 0;
}

int neap_transcript_read(neap_ctx *ctx, const neap_saved *from, neap_program **program, neap_transcript **transcript) {
    program_sized sized;
    bool has;
    *transcript = NULL;
    int status = program_read(ctx, from, program, &sized, &has);
    if (status < 0 || !has)
        return status;
    int unpacked = sizes_unpack(ctx, &sized, transcript);
    if (unpacked == 0)
        unpacked = check_program(*transcript, *program);
    program_sized_free(ctx, &sized);
    if (unpacked == 0)
        return status;
    neap_transcript_free(*transcript);
    neap_program_free(*program);
    *transcript = NULL;
    return unpacked;
}
