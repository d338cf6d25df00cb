/* effect.c: prints, and the effects of a trace.
 *
 * A print keeps references to the buffers of its arrays and is pushed as an effect that reads their variables: it
 * formats on whatever thread finds them ready, in the order of its token, and appends one text to the stream. An array
 * that failed prints its error in place, so one failure never silences what comes after it.
 *
 * Inside a trace the pieces are kept with the trace, and printed by each run of the program.
 */
#include <string.h>

#include "engine/comm/comm.h"
#include "lazy/effect/effect.h"
#include "lazy/graph/graph.h"
#include "lazy/plan/plan.h"

typedef struct print_array {
    const char *conversion; /* NULL: the array's text */
    uint8_t dtype, ndim;
    bool cut;
    int64_t shape[NEAP_MAX_DIMS], parts[NEAP_MAX_DIMS];
    int32_t nblocks;
    neap_buffer *blocks[]; /* NULL: of a body, which knows where its data is */
} print_array;

typedef struct print_piece {
    size_t bytes; /* of `text` */
    char *text;
    print_array *array; /* if set, the piece is this array, and else `text` */
} print_piece;

typedef struct print_run {
    int stream, npieces;
    bool unordered;
    char *site;
    print_piece pieces[];
} print_run;

static void free_print(void *arg) {
    print_run *print = arg;
    for (int k = 0; k < print->npieces; k++) {
        print_array *array = print->pieces[k].array;
        for (int32_t b = 0; array && b < array->nblocks; b++)
            neap_buffer_release(array->blocks[b]);
        free(array);
        free(print->pieces[k].text);
    }
    free(print->site);
    free(print);
}

/* What stands in place of an array that failed. */
static int format_failure(const char *failure, lazy_text *out) {
    neap_effects_failed();
    return graph_text_addf(out, "<error: %s>", failure);
}

static int format_data(const print_array *array, const void *const *data, lazy_text *out) {
    if (!array->conversion)
        return graph_format_blocks(array->dtype, array->ndim, array->shape, array->parts, array->cut, data, out);
    if (graph_format_number(array->dtype, data[0], array->conversion, out) != 0)
        return format_failure(neap_error_text(), out);
    return 0;
}

/* Of an array with buffers. */
static int format_array(const print_array *array, lazy_text *out) {
    for (int32_t b = 0; b < array->nblocks; b++)
        if (neap_var_poll(neap_buffer_var(array->blocks[b]), NULL) < 0)
            return format_failure(neap_error_text(), out);
    const void **data = malloc((size_t)array->nblocks * sizeof *data);
    if (!data)
        return neap_error(NEAP_E_MEMORY, "out of memory for a print");
    for (int32_t b = 0; b < array->nblocks; b++)
        data[b] = neap_buffer_data(array->blocks[b]);
    int status = format_data(array, data, out);
    free(data);
    return status;
}

static int print_text(const print_run *print, lazy_text *text) {
    int status = 0;
    for (int k = 0; k < print->npieces && status == 0; k++)
        status = print->pieces[k].array ? format_array(print->pieces[k].array, text)
                                        : graph_text_add(text, print->pieces[k].text, print->pieces[k].bytes);
    return status;
}

/* Writes a text of one of several processes, with the process in front of each line. */
static int write_marked(int stream, int process, const lazy_text *text) {
    lazy_text marked = {0};
    int status = 0;
    for (size_t at = 0, end; at < text->bytes && status == 0; at = end) {
        const char *line = memchr(text->data + at, '\n', text->bytes - at);
        end = line ? (size_t)(line - text->data) + 1 : text->bytes;
        status = graph_text_addf(&marked, "[process %d] ", process);
        if (status == 0)
            status = graph_text_add(&marked, text->data + at, end - at);
    }
    if (status == 0)
        status = neap_out_write(stream, marked.data, marked.bytes);
    graph_text_free(&marked);
    return status;
}

/* Of several processes, all of which come by a print, process 0 writes what is ordered; what is unordered, and what
 * goes to stderr, each of them writes. */
static int write_print_text(const print_run *print, const lazy_text *text) {
    engine_comm *comm = engine_comm_here();
    if (!text->bytes)
        return 0;
    if (comm && print->unordered && print->stream == NEAP_STDOUT)
        return write_marked(print->stream, engine_comm_rank(comm), text);
    if (comm && engine_comm_rank(comm) != 0 && print->stream != NEAP_STDERR)
        return 0;
    return neap_out_write(print->stream, text->data, text->bytes);
}

static int run_print(void *arg, const neap_run *run) {
    (void)run;
    print_run *print = arg;
    lazy_text text = {0};
    int status = print_text(print, &text);
    if (status == 0)
        status = write_print_text(print, &text);
    graph_text_free(&text);
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

/* The piece for a fragment; of an array, without its elements. */
static int fill_piece(print_piece *to, const lazy_fragment *from, neap_node *const *nodes) {
    if (from->text && !(to->text = copy_text(from->text, from->bytes)))
        return NEAP_E_MEMORY;
    to->bytes = from->bytes;
    if (from->n == 0)
        return 0;
    print_array *array = to->array = calloc(1, sizeof *array + (size_t)from->n * sizeof *array->blocks);
    if (!array)
        return NEAP_E_MEMORY;
    const neap_node *node = nodes[from->first];
    const lazy_layout *layout = from->layout;
    array->conversion = to->text;
    array->dtype = node->dtype;
    array->ndim = layout ? layout->ndim : node->ndim;
    array->cut = layout && layout->cut;
    array->nblocks = from->n;
    memcpy(array->shape, layout ? layout->shape : node->shape, array->ndim * sizeof *array->shape);
    for (int k = 0; k < array->ndim; k++)
        array->parts[k] = layout ? layout->parts[k] : 1;
    return 0;
}

static print_run *new_print(const neap_emit *how, int n, const lazy_fragment *fragments, neap_node *const *nodes) {
    print_run *print = calloc(1, sizeof *print + (size_t)n * sizeof *print->pieces);
    int status = print ? 0 : NEAP_E_MEMORY;
    if (status == 0 && how->site && !(print->site = copy_text(how->site, strlen(how->site))))
        status = NEAP_E_MEMORY;
    for (int k = 0; k < n && status == 0; k++, print->npieces++)
        status = fill_piece(&print->pieces[k], &fragments[k], nodes);
    if (status == 0) {
        print->stream = how->stream;
        print->unordered = how->unordered;
        return print;
    }
    if (print)
        free_print(print);
    neap_error(NEAP_E_MEMORY, "out of memory for a print");
    return NULL;
}

typedef LAZY_VECTOR(neap_var *) print_reads;

static int add_read(print_reads *reads, neap_var *var) {
    for (int64_t j = 0; j < reads->n; j++)
        if (reads->at[j] == var)
            return 0;
    return lazy_push(reads, var);
}

int effect_print_push(neap_ctx *ctx, const neap_emit *how, int n, const lazy_fragment *fragments,
                      neap_node *const *nodes) {
    print_run *print = new_print(how, n, fragments, nodes);
    print_reads reads = {0};
    int device = -1, status = print ? 0 : NEAP_E_MEMORY;
    for (int k = 0; k < n && status == 0; k++)
        for (int32_t b = 0; b < fragments[k].n && status == 0; b++) {
            neap_node *node = nodes[fragments[k].first + b];
            neap_buffer *data;
            if ((status = graph_host_buffer(ctx, node, &data)) != 0)
                break;
            print->pieces[k].array->blocks[b] = neap_buffer_retain(data);
            device = device < 0 ? node->device : device; /* of the first array that is committed */
            status = add_read(&reads, neap_buffer_var(data));
        }
    if (status == 0) {
        neap_push push = {.name = neap_effect_name(how->kind),
                          .site = print->site,
                          .release = free_print,
                          .device = device < 0 ? 0 : graph_host_device(device),
                          .flags = NEAP_PUSH_SMALL,
                          .nreads = (int)reads.n,
                          .reads = reads.at};
        status = neap_effects_push(ctx->effects, how->kind, !how->unordered, run_print, print, &push);
    } else if (print && status == NEAP_E_MEMORY) {
        neap_error(status, "out of memory for a print");
    }
    if (status && print)
        free_print(print);
    lazy_vector_free(&reads);
    return status;
}

/* ---- In a body --------------------------------------------------------------------------------------------------- */
struct lazy_message {
    int kind;
    bool unordered;
    print_run *print;
};

void effect_message_free(lazy_message *message) {
    if (message->print)
        free_print(message->print);
    free(message);
}

lazy_message *effect_message_new(const lazy_effect *effect) {
    lazy_message *message = calloc(1, sizeof *message);
    if (!message) {
        neap_error(NEAP_E_MEMORY, "out of memory for a print");
        return NULL;
    }
    *message = (lazy_message){.kind = effect->how.kind, .unordered = effect->how.unordered};
    message->print = new_print(&effect->how, effect->nfragments, effect->fragments, effect->nodes.at);
    if (message->print)
        return message;
    effect_message_free(message);
    return NULL;
}

static int message_text(const lazy_message *message, void *const *data, const char *error, lazy_text *text) {
    int status = 0, next = 0; /* a print has its arrays in the order of its pieces */
    for (int k = 0; k < message->print->npieces && status == 0; k++) {
        const print_piece *piece = &message->print->pieces[k];
        if (!piece->array) {
            status = graph_text_add(text, piece->text, piece->bytes);
        } else if (error) {
            status = format_failure(error, text);
        } else {
            status = format_data(piece->array, (const void *const *)data + next, text);
            next += piece->array->nblocks;
        }
    }
    return status;
}

int effect_message_write(const lazy_message *message, void *const *data, const char *error) {
    lazy_text text = {0};
    int status = message_text(message, data, error, &text);
    if (status == 0)
        status = write_print_text(message->print, &text);
    graph_text_free(&text);
    return status;
}

int effect_message_push(neap_effects *effects, const lazy_message *message, void *const *data, const char *error) {
    lazy_text text = {0};
    print_run *print = calloc(1, sizeof *print + sizeof *print->pieces);
    int status = print ? message_text(message, data, error, &text) : NEAP_E_MEMORY;
    if (status == 0) {
        print->stream = message->print->stream;
        print->unordered = message->unordered;
        print->npieces = 1;
        print->pieces[0].bytes = text.bytes;
        print->pieces[0].text = copy_text(text.data ? text.data : "", text.bytes);
        status = print->pieces[0].text ? 0 : NEAP_E_MEMORY;
    }
    neap_push push = {.name = neap_effect_name(message->kind), .release = free_print, .flags = NEAP_PUSH_SMALL};
    if (status == 0)
        status = neap_effects_push(effects, message->kind, !message->unordered, run_print, print, &push);
    if (status && print)
        free_print(print);
    graph_text_free(&text);
    return status;
}

/* ---- Inside a trace ---------------------------------------------------------------------------------------------- */
int effect_bits(const lazy_effect *effect) {
    if (effect->node)
        return graph_node_effects(effect->node);
    return effect->how.unordered ? LAZY_EFFECTS_UNORDERED : 1 << effect->how.kind;
}

const char *effect_site(neap_ctx *ctx, const lazy_effect *effect) {
    if (!effect->node)
        return effect->how.site;
    return effect_is_callback(effect->node) ? effect_callback_of(effect->node)->site
                                            : graph_site_text(ctx, effect->node->site);
}

void effect_free(neap_ctx *ctx, lazy_effect *effect) {
    for (int64_t k = 0; k < effect->nodes.n; k++)
        graph_release(ctx, effect->nodes.at[k]);
    graph_release(ctx, effect->after);
    lazy_vector_free(&effect->nodes);
    for (int k = 0; k < effect->nfragments; k++) {
        free(effect->fragments[k].text);
        free(effect->fragments[k].layout);
    }
    free(effect->fragments);
    free((char *)effect->how.site);
    free(effect);
}

void effect_cut(neap_ctx *ctx, lazy_level *trace, int64_t n) {
    while (trace->effects.n > n)
        effect_free(ctx, trace->effects.at[--trace->effects.n]);
}

int effect_record(neap_ctx *ctx, lazy_level *trace, neap_node *node) {
    lazy_effect *effect = calloc(1, sizeof *effect);
    if (effect && lazy_push(&effect->nodes, node) == 0) {
        graph_retain(node);
        effect->node = node;
        if (lazy_push(&trace->effects, effect) == 0)
            return 0;
    }
    if (effect)
        effect_free(ctx, effect);
    return neap_error(NEAP_E_MEMORY, "out of memory for an effect");
}

/* A fragment of an effect of the trace at this level, with copies of what it refers to. */
static int copy_fragment(neap_ctx *ctx, int level, lazy_effect *effect, const lazy_fragment *from,
                         neap_node *const *nodes) {
    lazy_fragment *to = &effect->fragments[effect->nfragments++];
    *to = (lazy_fragment){.bytes = from->bytes, .first = (int32_t)effect->nodes.n, .n = from->n};
    if (from->text && !(to->text = copy_text(from->text, from->bytes)))
        return NEAP_E_MEMORY;
    if (from->layout && !(to->layout = malloc(sizeof *to->layout)))
        return NEAP_E_MEMORY;
    if (from->layout)
        *to->layout = *from->layout;
    int status = 0;
    for (int32_t b = 0; b < from->n && status == 0; b++) {
        neap_node *node = nodes[from->first + b];
        if (ctx->levels.at[level].closed)
            status = graph_capture_into(ctx, level, 1, &nodes[from->first + b], &node);
        if (status == 0 && (status = lazy_push(&effect->nodes, node)) == 0)
            graph_retain(node);
    }
    return status;
}

/* The last node of the trace so far. OWNED */
static neap_node *last_recorded(const neap_ctx *ctx, const lazy_level *level) {
    uint32_t bit = 1u << (level - ctx->levels.at);
    for (int64_t k = ctx->levels.tape.n; k-- > level->start;)
        if (ctx->levels.tape.at[k]->levels & bit)
            return graph_retain(ctx->levels.tape.at[k]);
    return NULL;
}

static int record_print(neap_ctx *ctx, lazy_level *level, const neap_emit *how, int n, const lazy_fragment *fragments,
                        neap_node *const *nodes) {
    lazy_effect *effect = calloc(1, sizeof *effect);
    if (effect)
        effect->fragments = calloc((size_t)n + 1, sizeof *effect->fragments);
    int status = effect && effect->fragments ? 0 : NEAP_E_MEMORY;
    if (status == 0) {
        effect->how = *how;
        effect->after = last_recorded(ctx, level);
        if (how->site && !(effect->how.site = copy_text(how->site, strlen(how->site))))
            status = NEAP_E_MEMORY;
    }
    for (int k = 0; k < n && status == 0; k++)
        status = copy_fragment(ctx, (int)(level - ctx->levels.at), effect, &fragments[k], nodes);
    if (status == 0)
        status = lazy_push(&level->effects, effect);
    if (status && effect)
        effect_free(ctx, effect);
    return status ? neap_error(NEAP_E_MEMORY, "out of memory for a print") : 0;
}

static int check_conversions(int n, const lazy_fragment *fragments, neap_node *const *nodes) {
    int status = 0;
    for (int k = 0; k < n && status == 0; k++) {
        if (!fragments[k].n || !fragments[k].text)
            continue;
        const neap_node *node = nodes[fragments[k].first];
        status = node->size == 1 ? graph_format_check(node->dtype, fragments[k].text)
                                 : neap_error(NEAP_E_SHAPE, "%s takes an array of one element", fragments[k].text);
    }
    return status;
}

static int start_nodes(neap_ctx *ctx, int n, const lazy_fragment *fragments, neap_node *const *nodes) {
    int status = 0;
    for (int k = 0; k < n && status == 0; k++)
        for (int32_t b = 0; b < fragments[k].n && status == 0; b++)
            status = plan_force(ctx, nodes[fragments[k].first + b]);
    return status;
}

static int print_plain(neap_ctx *ctx, const neap_emit *how, int n, const lazy_fragment *fragments,
                       neap_node *const *nodes) {
    lazy_level *level = effect_open_trace(ctx);
    if (level)
        return record_print(ctx, level, how, n, fragments, nodes);
    int status = start_nodes(ctx, n, fragments, nodes);
    return status ? status : effect_print_push(ctx, how, n, fragments, nodes);
}

int effect_print_nodes(neap_ctx *ctx, const neap_emit *how, int n, const lazy_fragment *fragments,
                       neap_node *const *nodes) {
    int status = check_conversions(n, fragments, nodes);
    bool blocks = effect_show_needed(n, fragments, nodes);
    if (status || !(blocks || effect_edges_needed(ctx, n, fragments, nodes)))
        return status ? status : print_plain(ctx, how, n, fragments, nodes);
    lazy_shown shown = {0};
    status =
        blocks ? effect_show(ctx, how, n, fragments, nodes, &shown) : effect_edges(ctx, n, fragments, nodes, &shown);
    if (status == 0 && shown.fragments.n)
        status = print_plain(ctx, how, (int)shown.fragments.n, shown.fragments.at, shown.nodes.at);
    effect_shown_free(ctx, &shown);
    return status;
}

/* ---- Public ------------------------------------------------------------------------------------------------------ */
typedef struct taken { /* the pieces of a call */
    lazy_fragment *fragments;
    neap_node **nodes; /* the node of each piece, at the same index. BORROWED */
} taken;

static void taken_free(taken *t) {
    free(t->fragments);
    free(t->nodes);
}

static int take_pieces(neap_ctx *ctx, int n, const neap_piece *pieces, taken *out) {
    out->fragments = calloc((size_t)n + 1, sizeof *out->fragments);
    out->nodes = calloc((size_t)n + 1, sizeof *out->nodes);
    if (!out->fragments || !out->nodes)
        return neap_error(NEAP_E_MEMORY, "out of memory for a print");
    for (int k = 0; k < n; k++) {
        out->fragments[k] = (lazy_fragment){
            .text = (char *)pieces[k].text, .bytes = pieces[k].bytes, .first = k, .n = pieces[k].id != 0};
        if (pieces[k].id && !(out->nodes[k] = graph_lookup(ctx, pieces[k].id)))
            return neap_error_code();
    }
    return 0;
}

static int print_pieces(neap_ctx *ctx, const neap_emit *how, int n, const neap_piece *pieces) {
    if (how->stream < NEAP_STDOUT || !neap_effect_name(how->kind))
        return neap_error(NEAP_E_ARGUMENT, "print: expected an open stream and a kind of effect, got %d and %d",
                          how->stream, how->kind);
    taken t = {0};
    int status = take_pieces(ctx, n, pieces, &t);
    if (status == 0)
        status = effect_print_nodes(ctx, how, n, t.fragments, t.nodes);
    taken_free(&t);
    return status;
}

/* Integers of its note: kind, unordered, stream, bytes of the site (-1: none), then those of each piece's text (-1:
 * none). All texts stand one after the other, each with a zero behind it. */
enum { PRINT_FACTS = 4 };

/* Do the texts of the note stand where its integers say, each with a zero behind it? */
static bool has_print_texts(const graph_note *note) {
    size_t at = 0, end = note->text ? note->bytes : 0;
    for (int k = PRINT_FACTS - 1; k < note->nints; k++) {
        int64_t bytes = note->ints[k];
        if (bytes == -1)
            continue;
        if (bytes < 0 || (uint64_t)bytes >= end - at || note->text[at + (size_t)bytes] != '\0')
            return false;
        at += (size_t)bytes + 1;
    }
    return at == end;
}

static int play_print(neap_ctx *ctx, graph_note *note) {
    if (note->nints != note->nin + PRINT_FACTS || !has_print_texts(note))
        return neap_error(NEAP_E_ARGUMENT, "print: its texts are not there");
    neap_piece *pieces = malloc((size_t)note->nin * sizeof *pieces + 1);
    const char *text = note->text;
    if (!pieces)
        return neap_error(NEAP_E_MEMORY, "out of memory for a print");
    neap_emit how = {.kind = (int)note->ints[0],
                     .unordered = (int)note->ints[1],
                     .stream = (int)note->ints[2],
                     .site = note->ints[3] >= 0 ? text : NULL};
    text += note->ints[3] + 1;
    for (int k = 0; k < note->nin; k++) {
        int64_t bytes = note->ints[PRINT_FACTS + k];
        pieces[k] = (neap_piece){bytes >= 0 ? text : NULL, bytes >= 0 ? (size_t)bytes : 0, note->in[k]};
        text += bytes + 1;
    }
    int status = print_pieces(ctx, &how, note->nin, pieces);
    free(pieces);
    return status;
}
const graph_note_kind effect_note_print = {
    .name = "print",
    .play = play_print,
    .shapes = GRAPH_NOTE_UNKNOWN,
    .form = {.ints = "knon*", .nin = GRAPH_NOTE_ANY, .misses = true, .says = true}};

static int note_print(neap_ctx *ctx, int status, const neap_emit *how, int n, const neap_piece *pieces) {
    int64_t *ints = malloc(((size_t)n + PRINT_FACTS) * sizeof *ints);
    int32_t *in = malloc((size_t)n * sizeof *in + 1);
    lazy_text text = {0};
    int failed = ints && in ? 0 : NEAP_E_MEMORY;
    if (failed == 0) {
        ints[0] = how->kind;
        ints[1] = how->unordered;
        ints[2] = how->stream;
        ints[3] = how->site ? (int64_t)strlen(how->site) : -1;
        failed = how->site ? graph_text_add(&text, how->site, (size_t)ints[3] + 1) : 0;
    }
    for (int k = 0; k < n && failed == 0; k++) {
        bool plain = pieces[k].id == 0; /* the text of a conversion ends in a zero */
        int64_t bytes = !pieces[k].text ? -1 : (int64_t)(plain ? pieces[k].bytes : strlen(pieces[k].text));
        in[k] = pieces[k].id;
        ints[PRINT_FACTS + k] = bytes;
        failed = bytes >= 0 ? graph_text_add(&text, pieces[k].text, (size_t)bytes) : 0;
        if (bytes >= 0 && failed == 0)
            failed = graph_text_add(&text, "", 1);
    }
    if (failed)
        status = graph_unnoted(ctx, status);
    else
        status = graph_noted(ctx, status,
                             &(graph_note){.kind = &effect_note_print,
                                           .level = -1,
                                           .nin = n,
                                           .in = in,
                                           .nints = n + PRINT_FACTS,
                                           .ints = ints,
                                           .text = text.data,
                                           .bytes = text.bytes});
    graph_text_free(&text);
    free(ints);
    free(in);
    return status;
}

int neap_print(neap_ctx *ctx, const neap_emit *how, int n, const neap_piece *pieces) {
    int status = print_pieces(ctx, how, n, pieces);
    return ctx->transcript ? note_print(ctx, status, how, n, pieces) : status;
}

/* The text of a print of ordinary nodes; `strict`: a failure of one is the result. Polls. */
static int plain_text(neap_ctx *ctx, int n, const lazy_fragment *fragments, neap_node *const *nodes, bool strict,
                      lazy_text *out) {
    neap_buffer *data;
    int status = start_nodes(ctx, n, fragments, nodes);
    for (int k = 0; k < n && status == 0; k++)
        for (int32_t b = 0; b < fragments[k].n && status == 0; b++) {
            int state = graph_host_poll(ctx, nodes[fragments[k].first + b], &data);
            status = strict || state == NEAP_PENDING ? state : 0;
        }
    if (status)
        return status;
    neap_emit how = {0};
    print_run *print = new_print(&how, n, fragments, nodes);
    if (!print)
        return NEAP_E_MEMORY;
    for (int k = 0; k < n && status == 0; k++)
        for (int32_t b = 0; b < fragments[k].n && status == 0; b++)
            if ((status = graph_host_buffer(ctx, nodes[fragments[k].first + b], &data)) == 0)
                print->pieces[k].array->blocks[b] = neap_buffer_retain(data);
    if (status == 0)
        status = print_text(print, out);
    free_print(print);
    return status;
}

static int text_of(neap_ctx *ctx, int n, const lazy_fragment *fragments, neap_node *const *nodes, bool strict,
                   lazy_text *out) {
    for (int k = 0; k < n; k++)
        for (int32_t b = 0; b < fragments[k].n; b++)
            if (graph_may_read(ctx, nodes[fragments[k].first + b]))
                return neap_error_code();
    int status = check_conversions(n, fragments, nodes);
    bool blocks = effect_show_needed(n, fragments, nodes);
    if (status || !(blocks || effect_edges_needed(ctx, n, fragments, nodes)))
        return status ? status : plain_text(ctx, n, fragments, nodes, strict, out);
    lazy_shown shown = {0};
    status =
        blocks ? effect_show(ctx, NULL, n, fragments, nodes, &shown) : effect_edges(ctx, n, fragments, nodes, &shown);
    if (status == 0)
        status = plain_text(ctx, (int)shown.fragments.n, shown.fragments.at, shown.nodes.at, strict, out);
    effect_shown_free(ctx, &shown);
    return status;
}

/* Gives the text out, as far as there is room for it. */
static void give_text(lazy_text *from, int status, char *text, size_t capacity, size_t *bytes) {
    *bytes = from->bytes;
    if (status == 0 && from->bytes)
        memcpy(text, from->data, from->bytes < capacity ? from->bytes : capacity);
    graph_text_free(from);
}

int neap_array_text(neap_ctx *ctx, int32_t id, char *text, size_t capacity, size_t *bytes) {
    lazy_fragment one = {.n = 1};
    lazy_text out = {0};
    neap_node *node = graph_lookup(ctx, id);
    if (!node)
        return neap_error_code();
    int status = text_of(ctx, 1, &one, &node, true, &out);
    give_text(&out, status, text, capacity, bytes);
    return status;
}

int neap_pieces_text(neap_ctx *ctx, int n, const neap_piece *pieces, char *text, size_t capacity, size_t *bytes) {
    taken t = {0};
    lazy_text out = {0};
    int status = take_pieces(ctx, n, pieces, &t);
    if (status == 0)
        status = text_of(ctx, n, t.fragments, t.nodes, false, &out);
    give_text(&out, status, text, capacity, bytes);
    taken_free(&t);
    return status;
}
