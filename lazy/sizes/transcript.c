/* transcript.c: keeping what the library was asked to record (sizes.h). */
#include <math.h>
#include <string.h>

#include "lazy/sizes/sizes.h"

/* ---- Values ------------------------------------------------------------------------------------------------------ */
int32_t sizes_find_value(const neap_transcript *t, const neap_node *node) {
    int32_t value;
    for (int64_t at = -1; (value = graph_table_next(&t->by_node, graph_hash_address(node), &at)) != 0;)
        if (t->values.at[value].node == node)
            break;
    return value;
}

/* The number of a new value; negative: a status. */
static int32_t add_value(neap_transcript *t, neap_node *node, bool given) {
    if (t->values.n == 0 && lazy_push(&t->values, ((sizes_value){0})))
        return NEAP_E_MEMORY;
    if (graph_table_grow(&t->by_node) || lazy_push(&t->values, ((sizes_value){.node = node, .given = given})))
        return NEAP_E_MEMORY;
    graph_retain(node);
    graph_table_add(&t->by_node, graph_hash_address(node), (int32_t)t->values.n - 1);
    return (int32_t)t->values.n - 1;
}

void sizes_free_entry(sizes_entry *entry) {
    if (entry->block && entry->note.kind->release)
        entry->note.kind->release(entry->note.held);
    free(entry->block);
    free(entry->sized);
}

/* Puts the entry in front of all that were asked for, behind others of its kind. TAKES it if it succeeds. */
static int add_in_front(neap_transcript *t, const sizes_entry *entry) {
    if (lazy_push(&t->entries, *entry))
        return NEAP_E_MEMORY;
    sizes_entry *at = &t->entries.at[t->nfront];
    memmove(at + 1, at, (size_t)(t->entries.n - 1 - t->nfront) * sizeof *at);
    *at = *entry;
    for (int64_t k = 0; k < t->entries.n; k++)
        t->entries.at[k].opened += t->entries.at[k].opened >= t->nfront;
    t->nfront++;
    return 0;
}

enum { DEEPEST = 64 };
static int32_t value_of_node(neap_transcript *t, neap_node *node, int depth);

/* A number, the token of an axis of a mesh, or an array that is made of constructors and was not computed: programs
 * make it again, as those do that are recorded. So it is asked for, too; whoever computes it later changes nothing. */
static int32_t add_made(neap_transcript *t, neap_node *node, int depth) {
    int32_t in[NEAP_MAX_INPUTS], none = 0;
    int64_t weak[] = {node->flags & LAZY_WEAK ? -1 : node->dtype};
    bool number = graph_is_constant(node);
    graph_note note = {.kind = number ? &graph_note_number : &graph_note_op,
                       .op = node->op,
                       .level = -1,
                       .number = number ? node->value : 0,
                       .nin = node->nin,
                       .in = in,
                       .nout = 1,
                       .out = &none,
                       .nints = number ? 1 : node->nattrs,
                       .ints = number ? weak : node->attrs};
    sizes_entry entry = {.opened = -1, .made = -1};
    for (int k = 0; k < node->nin; k++)
        if ((in[k] = value_of_node(t, node->in[k], depth + 1)) < 0)
            return in[k];
    int32_t value = add_value(t, node, false);
    int status = value < 0 ? value : sizes_copy_note(&entry, &note);
    if (status)
        return status;
    entry.note.out[0] = value;
    if (add_in_front(t, &entry)) {
        sizes_free_entry(&entry);
        return NEAP_E_MEMORY;
    }
    return value;
}

/* What was there before the transcript, or was made of data, is given to each program that it makes. */
static int32_t value_of_node(neap_transcript *t, neap_node *node, int depth) {
    int32_t value = sizes_find_value(t, node);
    if (value)
        return value;
    if (node->flags & LAZY_ABSTRACT)
        return neap_error(NEAP_E_TRACE, "an array of a trace that began before the sizes were declared");
    bool constant = graph_is_constant(node) && node->ndim == 0 && !node->buffer && !graph_is_meshed(node);
    bool made = constant || graph_is_token(node) ||
                (program_is_constructed(node) && node->nin <= NEAP_MAX_INPUTS && !graph_is_meshed(node) &&
                 !graph_node_op(node)->payload && depth < DEEPEST);
    return made ? add_made(t, node, depth) : add_value(t, node, true);
}

static int32_t value_of_operand(neap_transcript *t, int32_t id) {
    neap_node *node = id ? graph_lookup_any(t->ctx, id) : NULL;
    return node ? value_of_node(t, node, 0) : id ? neap_error_code() : 0;
}

/* An operand may be the result itself: where that depends on sizes, it need not be so for others. Then the result gets
 * a node of its own. */
static int32_t value_of_result(neap_transcript *t, bool sized, int32_t *id) {
    neap_node *node = graph_lookup_any(t->ctx, *id);
    if (!node)
        return neap_error_code();
    int32_t value = sizes_find_value(t, node);
    if (value && !sized)
        return value;
    if (value) {
        neap_node *other = graph_alias(t->ctx, node);
        int status = other ? graph_publish(t->ctx, other, id) : neap_error_code();
        if (status)
            return status;
        node = graph_lookup_any(t->ctx, *id);
    }
    return add_value(t, node, false);
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */
static int32_t find_program(neap_transcript *t, neap_program *program) {
    for (int64_t k = t->programs.n; k-- > 0;)
        if (t->programs.at[k].program == program)
            return (int32_t)k;
    if (lazy_push(&t->programs, ((sizes_program){.program = program, .given = true})))
        return NEAP_E_MEMORY;
    program_retain(program);
    return (int32_t)t->programs.n - 1;
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

/* Copies what the note refers to. */
int sizes_copy_note(sizes_entry *entry, const graph_note *note) {
    size_t ints = (size_t)note->nints * sizeof *note->ints, in = (size_t)note->nin * sizeof *note->in,
           out = (size_t)note->nout * sizeof *note->out, programs = (size_t)note->nprograms * sizeof(int32_t);
    char *block = malloc(ints + in + out + programs + note->bytes + 1);
    if (!block)
        return neap_error(NEAP_E_MEMORY, "out of memory for a transcript");
    entry->block = block;
    entry->note = *note;
    if (note->kind->hold)
        note->kind->hold(note->held);
    entry->note.ints = memcpy(block, ints ? (const void *)note->ints : "", ints);
    entry->note.in = memcpy(block + ints, in ? (const void *)note->in : "", in);
    entry->note.out = memcpy(block + ints + in, out ? (const void *)note->out : "", out);
    entry->programs = (int32_t *)(block + ints + in + out);
    entry->note.text = note->text ? memcpy(block + ints + in + out + programs, note->text, note->bytes) : NULL;
    block[ints + in + out + programs + note->bytes] = '\0';
    return 0;
}

/* The sizes that were announced must be numbers of the note. */
static int take_sized(neap_transcript *t, sizes_entry *entry) {
    const graph_note *note = &entry->note;
    for (int64_t k = 0; k < t->next.n; k++) {
        int32_t at = t->next.at[k].at, place = note->kind->shapes == GRAPH_NOTE_INPUT ? at + GRAPH_NOTE_SHAPE : at;
        double now = t->exprs.at[t->next.at[k].expr].at[0];
        bool number = at == NEAP_SIZE_NUMBER, there = number || (place >= 0 && place < note->nints);
        if (!there || (number ? note->number : (double)note->ints[place]) != now)
            return neap_error(NEAP_E_INTERNAL, "%s: number %d is not the size %.17g that was announced",
                              note->kind->name, at, now);
        t->next.at[k].at = number ? at : place;
    }
    entry->sized = t->next.at;
    entry->nsized = (int)t->next.n;
    t->next.at = NULL;
    t->next.n = t->next.capacity = 0;
    return 0;
}

static int find_operands(neap_transcript *t, sizes_entry *entry, const graph_note *note) {
    int32_t *in = (int32_t *)entry->note.in;
    for (int k = 0; k < note->nin; k++)
        if ((in[k] = value_of_operand(t, note->in[k])) < 0)
            return in[k];
    for (int k = 0; k < note->nprograms; k++)
        if ((entry->programs[k] = find_program(t, note->programs[k])) < 0)
            return entry->programs[k];
    entry->opened = -1;
    for (int64_t k = t->entries.n; k-- > 0 && note->level >= 0 && !note->kind->opens && entry->opened < 0;)
        if (t->entries.at[k].note.kind && t->entries.at[k].note.kind->opens &&
            t->entries.at[k].note.level == note->level)
            entry->opened = (int32_t)k;
    return 0;
}

static bool depends_on_sizes(const neap_transcript *t, const sizes_entry *entry) {
    bool sized = entry->nsized > 0;
    for (int k = 0; k < entry->note.nin && !sized; k++)
        sized = entry->note.in[k] && t->values.at[entry->note.in[k]].depends;
    for (int k = 0; k < entry->note.nprograms && !sized; k++)
        sized = !t->programs.at[entry->programs[k]].given;
    return sized;
}

static int find_results(neap_transcript *t, sizes_entry *entry, graph_note *note) {
    bool sized = depends_on_sizes(t, entry);
    int64_t before = t->values.n;
    for (int k = 0; k < note->nout; k++) {
        int32_t value = value_of_result(t, sized && !note->kind->finds, &note->out[k]);
        if (value < 0)
            return value;
        entry->note.out[k] = value;
        t->values.at[value].depends |= sized;
    }
    entry->made = -1;
    if (note->made) {
        entry->made = (int32_t)t->programs.n;
        sizes_program made = {.program = note->made, .noutputs = note->nin};
        made.outputs = malloc((size_t)note->nin * sizeof *made.outputs + 1);
        if (!made.outputs || lazy_push(&t->programs, made)) {
            free(made.outputs);
            return neap_error(NEAP_E_MEMORY, "out of memory for a transcript");
        }
        memcpy(made.outputs, entry->note.in, (size_t)note->nin * sizeof *made.outputs);
        program_retain(note->made);
    }
    return sized ? sizes_find_extents(t, entry, before) : 0;
}

/* A call that failed, after which the caller may go on in another way: for other sizes it has to fail, too. */
static int note_failure(neap_transcript *t, int status, const graph_note *note) {
    neap_ctx *ctx = t->ctx;
    sizes_entry entry = {0};
    graph_note without = *note;
    char *why = strdup(neap_error_text());
    without.made = NULL;
    ctx->transcript = NULL;
    bool kept = status != NEAP_E_INTERRUPT && note->kind && note->kind->play && why &&
                sizes_copy_note(&entry, &without) == 0 && take_sized(t, &entry) == 0 &&
                find_operands(t, &entry, &without) == 0 && depends_on_sizes(t, &entry);
    for (int k = 0; kept && k < without.nout; k++)
        entry.note.out[k] = 0;
    entry.fails = true;
    entry.made = -1;
    if (!kept || lazy_push(&t->entries, entry))
        sizes_free_entry(&entry);
    t->next.n = 0;
    ctx->transcript = t;
    neap_error(status, "%s", why ? why : "out of memory");
    free(why);
    return status;
}

static int note_call(neap_transcript *t, graph_note *note) {
    sizes_entry entry = {0};
    int status = sizes_copy_note(&entry, note);
    if (status == 0)
        status = take_sized(t, &entry);
    if (status == 0)
        status = find_operands(t, &entry, note);
    if (status == 0)
        status = find_results(t, &entry, note);
    if (status == 0)
        status = lazy_push(&t->entries, entry) ? NEAP_E_MEMORY : 0;
    if (status)
        sizes_free_entry(&entry);
    return status;
}

int sizes_noted(neap_ctx *ctx, int status, graph_note *note) {
    neap_transcript *t = ctx->transcript;
    bool again = status == NEAP_PENDING || status == NEAP_E_MEMORY; /* the caller repeats the call: it is the next */
    if (ctx->callbacks.open.n > t->callbacks || again)
        return status;
    if (status < 0)
        return note ? note_failure(t, status, note) : status;
    if (note && (!note->kind || !note->kind->play))
        return neap_error(NEAP_E_TRACE, "a program with declared sizes cannot have a %s",
                          note->kind ? note->kind->name : "part written over");
    ctx->transcript = NULL; /* what is recorded meanwhile is no request of the caller */
    int failed = note ? note_call(t, note) : neap_error(NEAP_E_MEMORY, "out of memory for a transcript");
    if (failed) /* the call was done, and there is no note of it */
        t->broken = "a call could not be noted, for want of memory or of another reason that it has told, and the "
                    "function went on: record it again";
    if (failed && note && note->kind->opens) /* nobody else will close the level */
        (void)graph_level_end(ctx, note->level);
    ctx->transcript = t;
    return failed ? failed : status;
}

int sizes_read(neap_ctx *ctx, const neap_node *node) {
    const neap_transcript *t = ctx->transcript;
    int32_t value = ctx->callbacks.open.n > t->callbacks ? 0 : sizes_find_value(t, node);
    if (value == 0 || !t->values.at[value].depends)
        return 0;
    return neap_error(NEAP_E_TRACE, "the value of an array that depends on declared sizes is not known while what is "
                                    "computed of them is recorded");
}

/* ---- Public ------------------------------------------------------------------------------------------------------ */
int neap_transcript_begin(neap_ctx *ctx) {
    if (ctx->transcript)
        return neap_error(NEAP_E_STATE, "sizes are declared already");
    neap_transcript *t = calloc(1, sizeof *t);
    if (!t)
        return neap_error(NEAP_E_MEMORY, "out of memory for a transcript");
    t->ctx = ctx;
    t->number = ++ctx->transcripts;
    t->callbacks = ctx->callbacks.open.n;
    ctx->transcript = t;
    return 0;
}

static int check_open(const neap_ctx *ctx) {
    return ctx->transcript ? 0 : neap_error(NEAP_E_STATE, "a size that belongs to a trace that has ended");
}

int neap_transcript_declare(neap_ctx *ctx, const char *name, double now, neap_size *out) {
    neap_transcript *t = ctx->transcript;
    if (check_open(ctx))
        return NEAP_E_STATE;
    char *copy = strdup(name);
    int32_t which = (int32_t)t->names.n;
    if (!copy || lazy_push(&t->names, copy)) {
        free(copy);
        return neap_error(NEAP_E_MEMORY, "out of memory for a size");
    }
    int32_t expr = sizes_symbol(t, which, now);
    if (expr < 0 || lazy_push(&t->symbols, expr)) { /* the call may be repeated */
        free(t->names.at[--t->names.n]);
        return expr < 0 ? expr : NEAP_E_MEMORY;
    }
    sizes_give(t, expr, out);
    return 0;
}

int neap_transcript_end(neap_ctx *ctx, int keep, neap_transcript **out) {
    neap_transcript *t = ctx->transcript;
    *out = NULL;
    ctx->transcript = NULL;
    if (!t)
        return neap_error(NEAP_E_STATE, "no sizes are declared");
    const char *broken = keep ? t->broken : NULL;
    if (!keep || broken) {
        neap_transcript_free(t);
        return broken ? neap_error(NEAP_E_STATE, "%s", broken) : 0;
    }
    for (int64_t k = 1; k < t->values.n; k++) { /* what it only needed while it was open */
        sizes_value *value = &t->values.at[k];
        value->op = value->node->op;
        value->dtype = value->node->dtype;
        value->ndim = value->node->ndim;
        value->site = value->node->site;
        if (!value->given) {
            graph_release(ctx, value->node);
            value->node = NULL;
        }
        if (!value->asked) {
            free(value->extents);
            value->extents = NULL;
        }
    }
    for (int64_t k = 0; k < t->programs.n; k++)
        if (!t->programs.at[k].given) {
            neap_program_free(t->programs.at[k].program);
            t->programs.at[k].program = NULL;
        }
    graph_table_free(&t->by_node);
    graph_table_free(&t->by_form);
    *out = t;
    return 0;
}

void neap_transcript_free(neap_transcript *t) {
    if (!t)
        return;
    for (int64_t k = 1; k < t->values.n; k++) {
        if (t->ctx)
            graph_release(t->ctx, t->values.at[k].node);
        free(t->values.at[k].extents);
    }
    for (int64_t k = 0; k < t->programs.n; k++) {
        neap_program_free(t->programs.at[k].program);
        free(t->programs.at[k].outputs);
    }
    for (int64_t k = 0; k < t->entries.n; k++)
        sizes_free_entry(&t->entries.at[k]);
    for (int64_t k = 0; k < t->names.n; k++)
        free(t->names.at[k]);
    sizes_free_exprs(t);
    lazy_vector_free(&t->names);
    lazy_vector_free(&t->symbols);
    lazy_vector_free(&t->entries);
    lazy_vector_free(&t->values);
    lazy_vector_free(&t->programs);
    lazy_vector_free(&t->next);
    graph_table_free(&t->by_node);
    graph_table_free(&t->by_form);
    free(t);
}

int neap_size_next(neap_ctx *ctx, int at, const neap_size *size) {
    neap_transcript *t = ctx->transcript;
    if (check_open(ctx))
        return NEAP_E_STATE;
    if (!size)
        t->next.n = 0;
    if (!size || size->expr == 0)
        return 0;
    int32_t expr = sizes_of(t, size);
    if (expr < 0)
        return expr;
    if (at >= 0 && size->now != floor(size->now)) {
        lazy_text text = {0};
        sizes_text(t, expr, &text);
        int status = neap_error(NEAP_E_SHAPE, "extents, counts and bounds are integers, and %s is %.14g now",
                                text.data ? text.data : "a size", size->now);
        graph_text_free(&text);
        return status;
    }
    return lazy_push(&t->next, ((sizes_sized){at, expr}));
}

int sizes_announce(neap_transcript *t, const graph_note_kind *kind, int32_t at, int32_t expr) {
    int32_t from = at >= 0 && kind->shapes == GRAPH_NOTE_INPUT ? GRAPH_NOTE_SHAPE : 0;
    return sizes_is_constant(&t->exprs.at[expr]) ? 0 : lazy_push(&t->next, ((sizes_sized){at - from, expr}));
}

int neap_size_compute(neap_ctx *ctx, int op, const neap_size *a, const neap_size *b, neap_size *out) {
    neap_transcript *t = ctx->transcript;
    if (check_open(ctx))
        return NEAP_E_STATE;
    int32_t left = sizes_of(t, a), right = left < 0 ? left : sizes_of(t, b);
    int32_t expr = right < 0 ? right : sizes_compute(t, op, left, right);
    if (expr < 0)
        return expr;
    sizes_give(t, expr, out);
    return 0;
}

bool sizes_compare_values(int compare, double a, double b) {
    return compare == NEAP_SIZE_EQUAL ? a == b : compare == NEAP_SIZE_LESS ? a < b : a <= b;
}

int sizes_ask(neap_transcript *t, int compare, int32_t left, int32_t right, const char *site, int *truth) {
    int decided = sizes_decide(t, compare, left, right);
    *truth = decided >= 0 ? decided : sizes_compare_values(compare, t->exprs.at[left].at[0], t->exprs.at[right].at[0]);
    if (decided >= 0)
        return 0;
    for (int64_t k = t->entries.n; k-- > 0;) { /* the same question was answered before */
        const sizes_entry *e = &t->entries.at[k];
        if (e->decides && e->compare == compare && e->left == left && e->right == right)
            return 0;
    }
    sizes_entry entry = {.decides = true,
                         .truth = *truth != 0,
                         .compare = compare,
                         .left = left,
                         .right = right,
                         .site = site,
                         .opened = -1,
                         .made = -1};
    return lazy_push(&t->entries, entry);
}

int neap_size_compare(neap_ctx *ctx, int op, const neap_size *a, const neap_size *b, const char *site, int *truth) {
    neap_transcript *t = ctx->transcript;
    if (check_open(ctx))
        return NEAP_E_STATE;
    int32_t left = sizes_of(t, a), right = left < 0 ? left : sizes_of(t, b);
    if (right < 0)
        return right;
    int32_t text = graph_site_intern(ctx, site);
    return sizes_ask(t, op, left, right, text ? graph_site_text(ctx, text) : NULL, truth);
}

int neap_size_extents(neap_ctx *ctx, int32_t id, neap_size *out) {
    const neap_node *node = graph_lookup(ctx, id);
    if (!node || check_open(ctx))
        return neap_error_code();
    return sizes_see_extents(ctx->transcript, node, out);
}

int sizes_see_extents(neap_transcript *t, const neap_node *node, neap_size *out) {
    int32_t number = sizes_find_value(t, node);
    sizes_value *value = number && !t->values.at[number].given ? &t->values.at[number] : NULL;
    if (value && !value->extents)
        value->extents = calloc((size_t)node->ndim + 1, sizeof *value->extents);
    if (value && !value->extents)
        return neap_error(NEAP_E_MEMORY, "out of memory for a transcript");
    for (int k = 0; k < node->ndim; k++) {
        out[k] = (neap_size){.now = (double)node->shape[k]};
        if (value && value->extents[k] == 0) /* it is seen to be this number, and must be so again */
            value->extents[k] = sizes_constant(t, (double)node->shape[k]);
        if (value && value->extents[k] < 0)
            return value->extents[k];
        if (value)
            sizes_give(t, value->extents[k], &out[k]);
    }
    if (value)
        value->asked = true;
    return node->ndim;
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */
static int give_text(lazy_text *text, char *to, size_t capacity, size_t *bytes) {
    *bytes = text->bytes;
    if (text->bytes)
        memcpy(to, text->data, text->bytes < capacity ? text->bytes : capacity);
    graph_text_free(text);
    return 0;
}

void sizes_decision_text(const neap_transcript *t, const sizes_entry *e, lazy_text *to) {
    static const char *const signs[2][2][3] = {{{"~=", ">=", ">"}, {"==", "<", "<="}},
                                               {{"~=", "<=", "<"}, {"==", ">", ">="}}};
    bool turned = sizes_is_constant(&t->exprs.at[e->left]); /* "n > 3", not "3 < n" */
    sizes_text(t, turned ? e->right : e->left, to);
    (void)graph_text_addf(to, " %s ", signs[turned][e->truth][e->compare]);
    sizes_text(t, turned ? e->left : e->right, to);
    if (e->site)
        (void)graph_text_addf(to, " (%s)", e->site);
}

int neap_transcript_text(neap_transcript *t, char *text, size_t capacity, size_t *bytes) {
    lazy_text to = {0};
    for (int64_t k = 0; k < t->entries.n; k++)
        if (t->entries.at[k].decides) {
            sizes_decision_text(t, &t->entries.at[k], &to);
            (void)graph_text_addf(&to, "\n");
        }
    return give_text(&to, text, capacity, bytes);
}

int neap_transcript_program_text(neap_transcript *t, neap_program *program, int lines, char *text, size_t capacity,
                                 size_t *bytes) {
    lazy_reserved reserved = {t->names.n, (const char *const *)t->names.at};
    return program_text(program, &reserved, lines, text, capacity, bytes);
}

int32_t neap_transcript_exprs(neap_transcript *t) {
    return (int32_t)(t->exprs.n > 0 ? t->exprs.n - 1 : 0);
}

int neap_transcript_expr(neap_transcript *t, int32_t expr, char *text, size_t capacity, size_t *bytes) {
    lazy_text to = {0};
    if (expr < 1 || expr >= t->exprs.n)
        return neap_error(NEAP_E_ARGUMENT, "no such size");
    sizes_text(t, expr, &to);
    return give_text(&to, text, capacity, bytes);
}

int neap_size_text(neap_ctx *ctx, const neap_size *size, char *text, size_t capacity, size_t *bytes) {
    lazy_text to = {0};
    if (!ctx->transcript || size->expr == 0 || sizes_of(ctx->transcript, size) < 0)
        (void)graph_text_addf(&to, "%.14g", size->now);
    else
        sizes_text(ctx->transcript, size->expr, &to);
    return give_text(&to, text, capacity, bytes);
}
