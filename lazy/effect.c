/* effect.c: prints, and the effects of a trace.
 *
 * A print keeps references to the buffers of its arrays and is pushed as an effect that reads their variables: it
 * formats on whatever thread finds them ready, in the order of its token, and appends one text to the stream. An array
 * that failed prints its error in place, so one failure never silences what comes after it.
 *
 * Inside a trace the pieces are kept with the trace, and printed by each run of the program.
 */
#include <string.h>

#include "lazy/effect.h"
#include "lazy/format.h"

typedef struct print_array {
    neap_buffer *buffer; /* NULL: of a body, which knows where its data is */
    const void *data;
    const char *conversion; /* NULL: the array's text */
    uint8_t dtype, ndim;
    int64_t shape[NEAP_MAX_DIMS];
} print_array;

typedef struct print_piece {
    size_t bytes; /* of text, or … */
    char *text;
    print_array *array; /* … an array, if set */
} print_piece;

typedef struct print_job {
    int stream, npieces;
    char *site;
    print_piece pieces[];
} print_job;

static void job_free(void *arg) {
    print_job *job = arg;
    for (int k = 0; k < job->npieces; k++) {
        if (job->pieces[k].array)
            neap_buffer_release(job->pieces[k].array->buffer);
        free(job->pieces[k].array);
        free(job->pieces[k].text);
    }
    free(job->site);
    free(job);
}

static int format_array(const print_array *array, lazy_text *out) {
    if (array->buffer && neap_var_poll(neap_buffer_var(array->buffer), NULL) < 0)
        return lazy_text_addf(out, "<error: %s>", neap_error_text());
    const void *data = array->buffer ? neap_buffer_data(array->buffer) : array->data;
    if (!array->conversion)
        return lazy_format(array->dtype, array->ndim, array->shape, data, out);
    if (lazy_format_number(array->dtype, data, array->conversion, out) != 0)
        return lazy_text_addf(out, "<error: %s>", neap_error_text());
    return 0;
}

static int run_print(void *arg, const neap_run *run) {
    (void)run;
    print_job *job = arg;
    lazy_text text = {0};
    int status = 0;
    for (int k = 0; k < job->npieces && status == 0; k++)
        status = job->pieces[k].array ? format_array(job->pieces[k].array, &text)
                                      : lazy_text_add(&text, job->pieces[k].text, job->pieces[k].bytes);
    if (status == 0 && text.bytes)
        status = neap_out_write(job->stream, text.data, text.bytes);
    lazy_text_free(&text);
    return status;
}

static char *copy_text(const char *text, size_t bytes) {
    char *copy = malloc(bytes + 1);
    if (copy) {
        memcpy(copy, text, bytes);
        copy[bytes] = '\0';
    }
    return copy;
}

/* The array of a piece, without its elements. */
static int fill_array(print_piece *to, const neap_piece *from, const neap_node *node) {
    print_array *array = to->array = calloc(1, sizeof *array);
    if (!array)
        return NEAP_E_MEMORY;
    if (from->text) {
        to->text = copy_text(from->text, from->bytes);
        array->conversion = to->text;
        if (!to->text)
            return NEAP_E_MEMORY;
    }
    array->dtype = node->dtype;
    array->ndim = node->ndim;
    memcpy(array->shape, node->shape, node->ndim * sizeof *node->shape);
    return 0;
}

int lazy_print_push(neap_ctx *ctx, const neap_emit *how, int n, const neap_piece *pieces, neap_node *const *nodes) {
    print_job *job = calloc(1, sizeof *job + (size_t)n * sizeof *job->pieces);
    neap_var **reads = malloc((size_t)n * sizeof *reads + 1);
    int nreads = 0, device = -1, status = job && reads ? 0 : NEAP_E_MEMORY;
    if (status == 0 && how->site && !(job->site = copy_text(how->site, strlen(how->site))))
        status = NEAP_E_MEMORY;
    for (int k = 0; k < n && status == 0; k++, job->npieces++) {
        print_piece *piece = &job->pieces[k];
        if (!pieces[k].id) {
            piece->bytes = pieces[k].bytes;
            piece->text = copy_text(pieces[k].text, pieces[k].bytes);
            status = piece->text ? 0 : NEAP_E_MEMORY;
            continue;
        }
        if ((status = fill_array(piece, &pieces[k], nodes[k])) != 0)
            continue; /* it is one of those that are freed */
        piece->array->buffer = neap_buffer_retain(nodes[k]->buffer);
        device = device < 0 ? nodes[k]->device : device; /* of the first array that is committed */
        neap_var *var = neap_buffer_var(nodes[k]->buffer);
        bool again = false;
        for (int j = 0; j < nreads; j++)
            again |= reads[j] == var;
        if (!again)
            reads[nreads++] = var;
    }
    if (status == 0) {
        job->stream = how->stream;
        neap_push push = {.name = lazy_effect_kind(how->kind),
                          .site = job->site,
                          .release = job_free,
                          .device = device < 0 ? 0 : device,
                          .flags = NEAP_PUSH_SMALL,
                          .nreads = nreads,
                          .reads = reads};
        status = neap_effects_push(ctx->effects, how->kind, !how->unordered, run_print, job, &push);
    } else {
        neap_error(NEAP_E_MEMORY, "out of memory for a print");
    }
    if (status && job)
        job_free(job);
    free(reads);
    return status;
}

/* ---- In a body ----------------------------------------------------------------------------------------------------- */
struct lazy_message {
    int kind;
    bool unordered;
    print_job *job;
};

void lazy_message_free(lazy_message *message) {
    if (message->job)
        job_free(message->job);
    free(message);
}

static int fill_message(lazy_message *message, const lazy_effect *effect) {
    print_job *job = message->job = calloc(1, sizeof *job + (size_t)effect->npieces * sizeof *job->pieces);
    int status = job ? 0 : NEAP_E_MEMORY;
    if (status == 0 && effect->how.site && !(job->site = copy_text(effect->how.site, strlen(effect->how.site))))
        status = NEAP_E_MEMORY;
    for (int k = 0; k < effect->npieces && status == 0; k++) {
        const neap_piece *from = &effect->pieces[k];
        print_piece *to = &job->pieces[job->npieces++];
        to->bytes = from->bytes;
        if (from->id)
            status = fill_array(to, from, effect->nodes.at[from->id - 1]);
        else
            status = (to->text = copy_text(from->text, from->bytes)) ? 0 : NEAP_E_MEMORY;
    }
    return status;
}

lazy_message *lazy_message_new(const lazy_effect *effect) {
    lazy_message *message = calloc(1, sizeof *message);
    if (message && fill_message(message, effect) == 0) {
        message->kind = effect->how.kind;
        message->unordered = effect->how.unordered;
        message->job->stream = effect->how.stream;
        return message;
    }
    if (message)
        lazy_message_free(message);
    neap_error(NEAP_E_MEMORY, "out of memory for a print");
    return NULL;
}

static int message_text(const lazy_message *message, void *const *data, const char *error, lazy_text *text) {
    int status = 0, next = 0; /* a print has its arrays in the order of its pieces */
    for (int k = 0; k < message->job->npieces && status == 0; k++) {
        const print_piece *piece = &message->job->pieces[k];
        if (!piece->array) {
            status = lazy_text_add(text, piece->text, piece->bytes);
        } else if (error) {
            status = lazy_text_addf(text, "<error: %s>", error);
        } else {
            print_array array = *piece->array;
            array.data = data[next++];
            status = format_array(&array, text);
        }
    }
    return status;
}

int lazy_message_write(const lazy_message *message, void *const *data, const char *error) {
    lazy_text text = {0};
    int status = message_text(message, data, error, &text);
    if (status == 0 && text.bytes)
        status = neap_out_write(message->job->stream, text.data, text.bytes);
    lazy_text_free(&text);
    return status;
}

int lazy_message_push(neap_effects *effects, const lazy_message *message, void *const *data, const char *error) {
    lazy_text text = {0};
    print_job *job = calloc(1, sizeof *job + sizeof *job->pieces);
    int status = job ? message_text(message, data, error, &text) : NEAP_E_MEMORY;
    if (status == 0) {
        job->stream = message->job->stream;
        job->npieces = 1;
        job->pieces[0].bytes = text.bytes;
        job->pieces[0].text = copy_text(text.data ? text.data : "", text.bytes);
        status = job->pieces[0].text ? 0 : NEAP_E_MEMORY;
    }
    neap_push push = {.name = lazy_effect_kind(message->kind), .release = job_free, .flags = NEAP_PUSH_SMALL};
    if (status == 0)
        status = neap_effects_push(effects, message->kind, !message->unordered, run_print, job, &push);
    if (status && job)
        job_free(job);
    lazy_text_free(&text);
    return status;
}

/* ---- Inside a trace ------------------------------------------------------------------------------------------------ */
const char *lazy_effect_kind(int kind) {
    static const char *const names[] = {
#define NAME(NAME, name) name,
        NEAP_EFFECT_ROWS(NAME)
#undef NAME
    };
    return names[kind];
}

void lazy_effect_free(neap_ctx *ctx, lazy_effect *effect) {
    for (int64_t k = 0; k < effect->nodes.n; k++)
        lazy_release(ctx, effect->nodes.at[k]);
    lazy_vector_free(&effect->nodes);
    for (int k = 0; k < effect->npieces; k++)
        free((char *)effect->pieces[k].text);
    free(effect->pieces);
    free((char *)effect->how.site);
    free(effect);
}

lazy_level *lazy_open_trace(neap_ctx *ctx) {
    for (int k = ctx->nlevels - 1; k >= ctx->floor; k--)
        if (ctx->levels[k].trace)
            return &ctx->levels[k];
    return NULL;
}

void lazy_effects_cut(neap_ctx *ctx, lazy_level *trace, int64_t n) {
    while (trace->effects.n > n)
        lazy_effect_free(ctx, trace->effects.at[--trace->effects.n]);
}

int lazy_effect_record(neap_ctx *ctx, lazy_level *trace, neap_node *node) {
    lazy_effect *effect = calloc(1, sizeof *effect);
    if (effect && lazy_push(&effect->nodes, node) == 0) {
        lazy_retain(node);
        effect->node = node;
        if (lazy_push(&trace->effects, effect) == 0)
            return 0;
    }
    if (effect)
        lazy_effect_free(ctx, effect);
    return neap_error(NEAP_E_MEMORY, "out of memory for an effect");
}

static int record_print(neap_ctx *ctx, lazy_level *level, const neap_emit *how, int n, const neap_piece *pieces,
                        neap_node *const *nodes) {
    lazy_effect *effect = calloc(1, sizeof *effect);
    int at = (int)(level - ctx->levels);
    if (effect)
        effect->pieces = calloc((size_t)n + 1, sizeof *effect->pieces);
    int status = effect && effect->pieces ? 0 : NEAP_E_MEMORY;
    if (status == 0) {
        effect->how = *how;
        if (how->site && !(effect->how.site = copy_text(how->site, strlen(how->site))))
            status = NEAP_E_MEMORY;
    }
    for (int k = 0; k < n && status == 0; k++, effect->npieces++) {
        neap_piece *piece = &effect->pieces[k];
        piece->bytes = pieces[k].bytes;
        if (pieces[k].text && !(piece->text = copy_text(pieces[k].text, pieces[k].bytes)))
            status = NEAP_E_MEMORY;
        neap_node *node = nodes[k];
        if (pieces[k].id && level->closed && status == 0)
            status = lazy_lift_into(ctx, at, 1, &nodes[k], &node);
        if (pieces[k].id && status == 0 && (status = lazy_push(&effect->nodes, node)) == 0) {
            lazy_retain(node);
            piece->id = (int32_t)effect->nodes.n;
        }
    }
    if (status == 0)
        status = lazy_push(&level->effects, effect);
    if (status && effect)
        lazy_effect_free(ctx, effect);
    return status ? neap_error(NEAP_E_MEMORY, "out of memory for a print") : 0;
}

/* ---- Public -------------------------------------------------------------------------------------------------------- */
/* Finds the arrays of the pieces. */
static int take_pieces(neap_ctx *ctx, int n, const neap_piece *pieces, neap_node **nodes) {
    for (int k = 0; k < n; k++)
        if (pieces[k].id && !(nodes[k] = lazy_lookup(ctx, pieces[k].id)))
            return neap_error_code();
    return 0;
}

/* Checks them; those of a print that happens now are started. */
static int check_pieces(neap_ctx *ctx, int n, const neap_piece *pieces, bool start, neap_node *const *nodes) {
    int status = 0;
    for (int k = 0; k < n && status == 0; k++) {
        if (pieces[k].id && pieces[k].text && nodes[k]->size != 1)
            status = neap_error(NEAP_E_SHAPE, "printf: %s takes an array of one element", pieces[k].text);
        else if (pieces[k].id && start)
            status = lazy_force(ctx, nodes[k]);
    }
    return status;
}

int lazy_print_nodes(neap_ctx *ctx, const neap_emit *how, int n, const neap_piece *pieces, neap_node *const *nodes) {
    lazy_level *level = lazy_open_trace(ctx);
    int status = check_pieces(ctx, n, pieces, !level, nodes);
    if (status)
        return status;
    return level ? record_print(ctx, level, how, n, pieces, nodes) : lazy_print_push(ctx, how, n, pieces, nodes);
}

int neap_print(neap_ctx *ctx, const neap_emit *how, int n, const neap_piece *pieces) {
    if (how->stream < NEAP_STDOUT || how->kind < 0 || how->kind >= NEAP_EFFECT_KINDS)
        return neap_error(NEAP_E_ARGUMENT, "print: expected an open stream and a kind of effect, got %d and %d",
                          how->stream, how->kind);
    neap_node **nodes = calloc((size_t)n + 1, sizeof *nodes);
    int status = nodes ? take_pieces(ctx, n, pieces, nodes) : neap_error(NEAP_E_MEMORY, "out of memory for a print");
    if (status == 0)
        status = lazy_print_nodes(ctx, how, n, pieces, nodes);
    free(nodes);
    return status;
}

int neap_pieces_text(neap_ctx *ctx, int n, const neap_piece *pieces, char *text, size_t capacity, size_t *bytes) {
    neap_node **nodes = calloc((size_t)n + 1, sizeof *nodes);
    lazy_text out = {0};
    int status = nodes ? take_pieces(ctx, n, pieces, nodes) : neap_error(NEAP_E_MEMORY, "out of memory for a text");
    if (status == 0)
        status = check_pieces(ctx, n, pieces, true, nodes);
    for (int k = 0; k < n && status == 0; k++)
        if (pieces[k].id && lazy_node_poll(ctx, nodes[k], ctx->waker) == NEAP_PENDING)
            status = NEAP_PENDING;
    for (int k = 0; k < n && status == 0; k++) {
        if (!pieces[k].id) {
            status = lazy_text_add(&out, pieces[k].text, pieces[k].bytes);
            continue;
        }
        print_array array = {
            .buffer = nodes[k]->buffer, .conversion = pieces[k].text, .dtype = nodes[k]->dtype, .ndim = nodes[k]->ndim};
        memcpy(array.shape, nodes[k]->shape, nodes[k]->ndim * sizeof *nodes[k]->shape);
        status = format_array(&array, &out);
    }
    *bytes = out.bytes;
    if (status == 0 && out.bytes)
        memcpy(text, out.data, out.bytes < capacity ? out.bytes : capacity);
    lazy_text_free(&out);
    free(nodes);
    return status;
}
