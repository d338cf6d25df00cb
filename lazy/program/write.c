/* program/write.c: saving: a program as bytes (program/file.h).
 *
 * The same program always gives the same bytes: items come in the order of listing.c, ops, dtypes and callbacks in that
 * of their first use, and script lines of ops, which depend on what was recorded before, are left out.
 */
#include <string.h>

#include "lazy/graph/graph.h"
#include "lazy/program/file.h"

typedef LAZY_VECTOR(lazy_callback *) callbacks;

typedef struct writer {
    neap_ctx *ctx;
    lazy_text body;                   /* the programs */
    lazy_text dtypes, ops, callables; /* the lists in front of the programs */
    int64_t ndtypes, nops;
    int32_t nprograms;                          /* that are written; each knows its place */
    int32_t dtype_at[NEAP_DTYPE_COUNT], *op_at; /* 1 + place in the list, 0: not there yet */
    callbacks known;
    LAZY_VECTOR(int32_t) shardings; /* their numbers in this session; the caller describes them */
    bool tied;                      /* not all that it does and depends on is in the bytes */
    int status;
} writer;

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */
static void put_data(writer *w, lazy_text *to, const void *data, size_t bytes) {
    if (w->status == 0 && bytes)
        w->status = graph_text_add(to, data, bytes);
}

static void put_varint(writer *w, lazy_text *to, uint64_t value) {
    uint8_t bytes[10];
    int n = 0;
    do {
        bytes[n++] = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);
        value >>= 7;
    } while (value);
    put_data(w, to, bytes, (size_t)n);
}

static void put_signed(writer *w, lazy_text *to, int64_t value) {
    put_varint(w, to, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static void put_sized_text(writer *w, lazy_text *to, const char *text, size_t bytes) {
    put_varint(w, to, bytes);
    put_data(w, to, text, bytes);
}

static void put_name(writer *w, lazy_text *to, const char *name) {
    put_varint(w, to, name != NULL);
    if (name)
        put_sized_text(w, to, name, strlen(name));
}

/* Elements are stored little-endian, whatever the machine. */
static void put_elements(writer *w, const void *data, int64_t n, size_t width) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    put_data(w, &w->body, data, (size_t)n * width);
#else
    for (int64_t k = 0; k < n; k++)
        for (size_t b = width; b-- > 0;)
            put_data(w, &w->body, (const char *)data + (size_t)k * width + b, 1);
#endif
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */
static void put_dtype(writer *w, lazy_text *to, int dtype) {
    if (!w->dtype_at[dtype]) {
        w->dtype_at[dtype] = (int32_t)++w->ndtypes;
        put_sized_text(w, &w->dtypes, neap_dtype_name(dtype), strlen(neap_dtype_name(dtype)));
    }
    put_varint(w, to, (uint64_t)w->dtype_at[dtype] - 1);
}

static void put_op(writer *w, int op) {
    const lazy_op *row = lazy_ops[op];
    const char *attrs = row->attrs ? row->attrs : "";
    if (!w->op_at[op]) {
        w->op_at[op] = (int32_t)++w->nops;
        put_sized_text(w, &w->ops, row->name, strlen(row->name));
        put_sized_text(w, &w->ops, attrs, strlen(attrs));
    }
    put_varint(w, &w->body, (uint64_t)w->op_at[op] - 1);
}

static void put_type(writer *w, lazy_text *to, int dtype, int ndim, const int64_t *shape) {
    put_dtype(w, to, dtype);
    put_varint(w, to, (uint64_t)ndim);
    for (int k = 0; k < ndim; k++)
        put_varint(w, to, (uint64_t)shape[k]);
}

/* A number of a sharding as its place in the list, from 1. */
static void put_sharding(writer *w, int32_t number) {
    int64_t place = 0;
    w->tied = true;
    while (place < w->shardings.n && w->shardings.at[place] != number)
        place++;
    if (place == w->shardings.n && w->status == 0)
        w->status = lazy_push(&w->shardings, number);
    put_varint(w, &w->body, (uint64_t)place + 1);
}

static void put_device(writer *w, const neap_node *node) {
    put_varint(w, &w->body, (uint64_t)(node->device + 1));
}

/* Where an input lies: on a device, on a mesh, or nowhere. */
static void put_placement(writer *w, const neap_node *node) {
    const lazy_sharding *lies = graph_sharding_of(node);
    put_varint(w, &w->body, lies ? 0 : (uint64_t)(node->device + 1));
    if (lies)
        put_sharding(w, lies->number);
    else
        put_varint(w, &w->body, 0);
}

static int64_t find_callback(const callbacks *known, const lazy_callback *callback) {
    for (int64_t k = 0; k < known->n; k++)
        if (known->at[k] == callback)
            return k;
    return -1;
}

static void put_callback(writer *w, lazy_callback *callback) {
    int64_t place = find_callback(&w->known, callback);
    w->tied = true;
    if (place < 0 && w->status == 0) {
        const char *kind = neap_effect_name(callback->kind);
        lazy_text *to = &w->callables;
        place = w->known.n;
        w->status = lazy_push(&w->known, callback);
        put_sized_text(w, to, callback->name, strlen(callback->name));
        put_sized_text(w, to, callback->site, strlen(callback->site));
        put_sized_text(w, to, kind, strlen(kind));
        put_varint(w, to, callback->pure ? 1 + (uint64_t)callback->pure : callback->unordered != 0);
        if (callback->pure)
            put_varint(w, to, callback->numbers);
        put_varint(w, to, callback->tolerant != 0);
        put_varint(w, to, (uint64_t)callback->nresults);
        for (int k = 0; k < callback->nresults; k++)
            put_type(w, to, callback->results[k].dtype, callback->results[k].ndim, callback->results[k].shape);
    }
    put_varint(w, &w->body, (uint64_t)place);
}

/* ---- Items ------------------------------------------------------------------------------------------------------- */
static void put_values(writer *w, const neap_node *node) {
    put_varint(w, &w->body, node->nin);
    for (int k = 0; k < node->nin; k++)
        put_varint(w, &w->body, node->in[k]->index);
}

/* Those from `first` on. */
static void put_attributes(writer *w, const neap_node *node, int first) {
    const lazy_op *row = graph_node_op(node);
    lazy_attr_names names = graph_attr_names_of(row);
    put_varint(w, &w->body, (uint64_t)(node->nattrs - first));
    for (int k = first; k < node->nattrs; k++) {
        const char *axis =
            row->flags & LAZY_OP_AXIS && k == 0 ? graph_site_text(w->ctx, (int32_t)node->attrs[0]) : NULL;
        if (axis)
            put_sized_text(w, &w->body, axis, strlen(axis));
        else if (graph_attr_is_dtype(graph_attr_name(&names, k)))
            put_dtype(w, &w->body, (int)node->attrs[k]);
        else if (graph_attr_is_sharding(graph_attr_name(&names, k)))
            put_sharding(w, (int32_t)node->attrs[k]);
        else
            put_signed(w, &w->body, node->attrs[k]);
    }
}

static void put_print(writer *w, const lazy_effect *effect) {
    const neap_emit *how = &effect->how;
    const char *kind = neap_effect_name(how->kind), *stream = how->stream == NEAP_STDOUT ? "stdout" : "stderr";
    w->tied = true;
    if (how->stream != NEAP_STDOUT && how->stream != NEAP_STDERR && w->status == 0)
        w->status = neap_error(NEAP_E_ARGUMENT,
                               "save: the program writes to a log's file%s%s, which belongs to this "
                               "session; use np.callback for that",
                               how->site ? ", at " : "", how->site ? how->site : "");
    put_varint(w, &w->body, LAZY_ITEM_PRINT);
    put_sized_text(w, &w->body, kind, strlen(kind));
    put_varint(w, &w->body, how->unordered != 0);
    put_sized_text(w, &w->body, stream, strlen(stream));
    put_name(w, &w->body, how->site);
    put_varint(w, &w->body, (uint64_t)effect->nfragments);
    for (int k = 0; k < effect->nfragments; k++) {
        const lazy_fragment *fragment = &effect->fragments[k];
        put_varint(w, &w->body, (fragment->text ? LAZY_PIECE_TEXT : 0) | (fragment->n ? LAZY_PIECE_VALUE : 0));
        if (fragment->text)
            put_sized_text(w, &w->body, fragment->text, fragment->bytes);
        if (fragment->n)
            put_varint(w, &w->body, effect->nodes.at[fragment->first]->index);
    }
}

/* They have been written: they stand in front of what uses them. */
static void put_subprograms(writer *w, const neap_node *node) {
    lazy_inner inner = graph_node_programs(node);
    put_varint(w, &w->body, (uint64_t)inner.n);
    for (int k = 0; k < inner.n; k++)
        put_varint(w, &w->body, (uint64_t)inner.programs[k]->place);
}

/* An array that the program captured, and which lies on a mesh: whole, and how it lies. */
static void put_divided(writer *w, neap_node *node) {
    neap_node *whole = NULL;
    if (w->status == 0)
        w->status = plan_host_node(w->ctx, node, &whole);
    if (w->status)
        return;
    put_varint(w, &w->body, LAZY_ITEM_DIVIDED);
    put_type(w, &w->body, node->dtype, node->ndim, node->shape);
    put_sharding(w, graph_sharding_of(node)->number);
    put_elements(w, graph_host_data(whole), whole->size, (size_t)neap_dtype_bytes(whole->dtype));
}

static void put_array(writer *w, const neap_node *node) {
    w->tied = true;
    put_varint(w, &w->body, LAZY_ITEM_ARRAY);
    put_type(w, &w->body, node->dtype, node->ndim, node->shape);
    put_device(w, node);
    put_elements(w, graph_host_data(node), node->size, (size_t)neap_dtype_bytes(node->dtype));
}

static void write_node(writer *w, neap_node *node) {
    if (program_is_literal(node)) {
        put_varint(w, &w->body, LAZY_ITEM_CONSTANT);
        put_dtype(w, &w->body, node->dtype);
        put_varint(w, &w->body, (node->flags & LAZY_WEAK) != 0);
        put_elements(w, &node->value, 1, sizeof node->value);
        put_varint(w, &w->body, node->counts ? LAZY_FILE_COUNTS : 0);
    } else if (!program_is_constructed(node) && graph_is_meshed(node)) {
        put_divided(w, node);
    } else if (!program_is_constructed(node)) {
        put_array(w, node);
    } else if (effect_is_callback(node)) {
        put_varint(w, &w->body, LAZY_ITEM_CALLBACK);
        put_callback(w, effect_callback_of(node));
        put_values(w, node);
    } else if (graph_has_programs(node)) {
        put_varint(w, &w->body, LAZY_ITEM_CONTROL);
        put_op(w, node->op);
        put_subprograms(w, node);
        put_values(w, node);
        put_attributes(w, node, 1);
    } else {
        bool unbound = graph_node_op(node)->flags & LAZY_OP_AXIS && !graph_is_token(node->in[1]);
        w->tied |= unbound;
        if (unbound && w->status == 0)
            w->status = neap_error(NEAP_E_ARGUMENT,
                                   "save: the program holds a %s over a named axis, which only the "
                                   "function around it knows",
                                   graph_node_op(node)->name);
        put_varint(w, &w->body, LAZY_ITEM_OP);
        put_op(w, node->op);
        put_values(w, node);
        put_attributes(w, node, 0);
        put_varint(w, &w->body, node->yields ? LAZY_FILE_WEAK | (node->fraction ? LAZY_FILE_FRACTION : 0) : 0);
    }
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */
/* A number that has to be whole because that has decided a dtype, though it met no integers, is WHOLE. */
static int kind_of_input(const neap_node *node) {
    if (node->yields)
        return LAZY_INPUT_WEAK + node->fraction;
    if (!(node->flags & LAZY_WEAK))
        return 0;
    bool whole = node->meets & LAZY_NUMBER_DECIDED && !(node->meets & LAZY_NUMBER_FRACTION);
    return whole ? LAZY_INPUT_WHOLE : LAZY_INPUT_NUMBER;
}

static void put_input(writer *w, const neap_node *node, const char *name) {
    uint32_t met = node->flags & LAZY_WEAK ? node->meets & ~(LAZY_NUMBER_FRACTION | LAZY_NUMBER_DECIDED) : 0;
    put_name(w, &w->body, name);
    put_varint(w, &w->body, (uint64_t)kind_of_input(node));
    put_type(w, &w->body, node->dtype, node->ndim, node->shape);
    put_placement(w, node);
    put_varint(w, &w->body, (uint64_t)__builtin_popcount(met));
    for (int d = 0; d < NEAP_DTYPE_COUNT; d++)
        if (met >> d & 1)
            put_dtype(w, &w->body, d);
}

/* Can this process read an array whole that lies so? NULL: an ordinary one. */
static int check_whole_here(const lazy_sharding *lies) {
    if (lies && lies->manual)
        return neap_error(NEAP_E_ARGUMENT, "save: the program holds a block from the body of a np.shard_map, which has "
                                           "a value there alone; pass it as an argument");
    if (lies && !lies->addressable)
        return neap_error(NEAP_E_ARGUMENT, "save: the program holds an array that is divided among several processes, "
                                           "of which this one has a part; gather it, as in np.device_put(x, mesh, "
                                           "np.P()), or pass it as an argument");
    return 0;
}

/* Has data that the program captured come to the host? NEAP_PENDING: not yet. */
static int await_node(writer *w, neap_node *node) {
    neap_buffer *data;
    int status = check_whole_here(graph_sharding_of(node));
    if (status == 0)
        status = plan_host_node(w->ctx, node, &node);
    if (status == 0)
        status = plan_force(w->ctx, node);
    return status ? status : graph_host_poll(w->ctx, node, &data);
}

/* Waits for the data that the program captured. */
static int await_data(writer *w, const lazy_items *items) {
    int status = 0, worst = 0;
    for (int64_t k = 0; k < items->n && status == 0; k++) {
        neap_node *node = items->at[k].node;
        if (!node || program_is_literal(node) || program_is_constructed(node))
            continue;
        int there = await_node(w, node);
        if (there == NEAP_PENDING)
            worst = there;
        else
            status = there;
    }
    return status ? status : worst;
}

static void put_items(writer *w, const neap_program *program, const lazy_items *items) {
    uint32_t value = 0;
    for (int64_t k = 0; k < program->inputs.n; k++)
        program->inputs.at[k]->index = value++;
    put_varint(w, &w->body, (uint64_t)items->n);
    for (int64_t k = 0; k < items->n && w->status == 0; k++) {
        if (items->at[k].node) {
            write_node(w, items->at[k].node);
            items->at[k].node->index = value++;
        } else {
            put_print(w, items->at[k].effect);
        }
    }
}

static void put_program(writer *w, neap_program *program);

/* The programs of its control flow, innermost first, each once. Nesting is bounded (LAZY_MAX_NESTING). */
static void put_inner(writer *w, const lazy_items *items) {
    for (int64_t k = 0; k < items->n && w->status == 0; k++) {
        const neap_node *node = items->at[k].node;
        lazy_inner inner = node && program_is_constructed(node) ? graph_node_programs(node) : (lazy_inner){0};
        for (int p = 0; p < inner.n && w->status == 0; p++)
            if (inner.programs[p]->walk != w->ctx->walk.programs)
                put_program(w, inner.programs[p]);
    }
}

static void put_program(writer *w, neap_program *program) {
    lazy_items items = {0};
    w->tied |= program_ruled(program)->rule || program->home >= 0;
    if (w->status == 0)
        w->status = program_list(program, &items);
    if (w->status == 0)
        w->status = await_data(w, &items);
    if (w->status == 0)
        put_inner(w, &items);
    put_varint(w, &w->body, (uint64_t)program->inputs.n);
    for (int64_t k = 0; k < program->inputs.n; k++)
        put_input(w, program->inputs.at[k], program->input_names.at ? program->input_names.at[k] : NULL);
    put_items(w, program, &items);
    put_varint(w, &w->body, (uint64_t)program->outputs.n);
    for (int64_t k = 0; k < program->outputs.n; k++) {
        const neap_node *node = program->outputs.at[k];
        put_name(w, &w->body, program->output_names.at ? program->output_names.at[k] : NULL);
        put_varint(w, &w->body, node->index);
        put_type(w, &w->body, node->dtype, node->ndim, node->shape);
    }
    lazy_vector_free(&items);
    program->walk = w->ctx->walk.programs;
    program->place = w->nprograms++;
}

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */
/* An array that was there, as data, whatever it was made of. */
static void put_given(writer *w, neap_node *node) {
    if (w->status == 0 && node->flags & LAZY_WEAK && !program_is_literal(node)) /* data has a dtype, this has none */
        w->status = neap_error(NEAP_E_ARGUMENT,
                               "save: the program has a number that %s computed of numbers alone before "
                               "its sizes were declared; make it inside, or with Lua's functions",
                               graph_node_op(node)->name);
    if (w->status == 0 && !program_is_literal(node))
        w->status = await_node(w, node);
    if (w->status)
        return;
    put_varint(w, &w->body, node->yields ? (uint64_t)LAZY_INPUT_WEAK + node->fraction : 0);
    if (program_is_literal(node))
        write_node(w, node);
    else if (graph_is_meshed(node))
        put_divided(w, node);
    else
        put_array(w, node);
}

static void put_given_programs(writer *w, const program_sized *sized) {
    for (int64_t k = 0; k < sized->programs.n && w->status == 0; k++)
        if (sized->programs.at[k]->walk != w->ctx->walk.programs)
            put_program(w, sized->programs.at[k]);
}

static void put_sized(writer *w, const program_sized *sized) {
    put_varint(w, &w->body, (uint64_t)sized->ops.n);
    for (int64_t k = 0; k < sized->ops.n; k++)
        put_op(w, sized->ops.at[k]);
    put_varint(w, &w->body, (uint64_t)sized->programs.n);
    for (int64_t k = 0; k < sized->programs.n; k++)
        put_varint(w, &w->body, (uint64_t)sized->programs.at[k]->place);
    put_varint(w, &w->body, (uint64_t)sized->arrays.n);
    for (int64_t k = 0; k < sized->arrays.n; k++)
        put_given(w, sized->arrays.at[k]);
    put_varint(w, &w->body, (uint64_t)sized->texts.n);
    for (int64_t k = 0; k < sized->texts.n; k++)
        put_sized_text(w, &w->body, sized->bytes.data + sized->texts.at[k].at, sized->texts.at[k].bytes);
    put_varint(w, &w->body, (uint64_t)sized->shardings.n);
    for (int64_t k = 0; k < sized->shardings.n; k++)
        put_sharding(w, sized->shardings.at[k]);
    put_varint(w, &w->body, (uint64_t)sized->callbacks.n);
    for (int64_t k = 0; k < sized->callbacks.n; k++)
        put_callback(w, sized->callbacks.at[k]);
    put_varint(w, &w->body, (uint64_t)sized->words.n);
    for (int64_t k = 0; k < sized->words.n; k++)
        put_signed(w, &w->body, sized->words.at[k]);
}

void program_sized_free(neap_ctx *ctx, program_sized *sized) {
    for (int64_t k = 0; k < sized->arrays.n; k++)
        graph_release(ctx, sized->arrays.at[k]);
    for (int64_t k = 0; k < sized->programs.n; k++)
        neap_program_free(sized->programs.at[k]);
    for (int64_t k = 0; k < sized->callbacks.n; k++)
        effect_callback_release(sized->callbacks.at[k]);
    lazy_vector_free(&sized->shardings);
    lazy_vector_free(&sized->callbacks);
    lazy_vector_free(&sized->words);
    lazy_vector_free(&sized->ops);
    lazy_vector_free(&sized->texts);
    lazy_vector_free(&sized->arrays);
    lazy_vector_free(&sized->programs);
    graph_text_free(&sized->bytes);
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */
/* The lists, now that they are complete, and the programs behind them. */
static void join_lists(writer *w, lazy_text *out) {
    put_varint(w, out, (uint64_t)w->ndtypes);
    put_data(w, out, w->dtypes.data, w->dtypes.bytes);
    put_varint(w, out, (uint64_t)w->nops);
    put_data(w, out, w->ops.data, w->ops.bytes);
    put_varint(w, out, (uint64_t)w->known.n);
    put_data(w, out, w->callables.data, w->callables.bytes);
    put_varint(w, out, (uint64_t)w->nprograms);
    put_data(w, out, w->body.data, w->body.bytes);
}

static writer writer_new(neap_ctx *ctx) {
    writer w = {.ctx = ctx, .op_at = calloc((size_t)lazy_op_count, sizeof *w.op_at)};
    w.status = w.op_at ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a program's bytes");
    return w;
}

static void writer_free(writer *w) {
    free(w->op_at);
    graph_text_free(&w->body);
    graph_text_free(&w->dtypes);
    graph_text_free(&w->ops);
    graph_text_free(&w->callables);
    lazy_vector_free(&w->known);
    lazy_vector_free(&w->shardings);
}

/* A program of blocks is part of another one. */
int program_check_ports(const char *what, const neap_program *program) {
    for (int outputs = 0; outputs < 2; outputs++) {
        const lazy_nodes *ports = outputs ? &program->outputs : &program->inputs;
        for (int64_t k = 0; k < ports->n; k++) {
            const lazy_sharding *lies = graph_sharding_of(ports->at[k]);
            if (lies && lies->manual)
                return neap_error(NEAP_E_ARGUMENT,
                                  "%s: %s %lld is a block in the body of a np.shard_map, which exists "
                                  "there alone",
                                  what, outputs ? "output" : "input", (long long)k + 1);
        }
    }
    return 0;
}

static int check_program(const neap_program *program) {
    if (!program->ctx)
        return neap_error(NEAP_E_STATE, "program: its session has ended");
    return program_check_ports("save", program);
}

int neap_program_write(neap_program *program, char **data, size_t *bytes) {
    return program_write(program, NULL, data, bytes);
}

/* All that stands behind the lists. */
static int put_graph(writer *w, neap_program *program, const program_sized *sized) {
    int status = check_program(program);
    if (status)
        return status;
    *w = writer_new(program->ctx);
    program->ctx->walk.programs++;
    put_program(w, program);
    if (sized)
        put_given_programs(w, sized);
    put_varint(w, &w->body, (uint64_t)program->place);
    put_varint(w, &w->body, sized != NULL);
    if (sized)
        put_sized(w, sized);
    return w->status;
}

/* Ends the writing: the bytes of what was written, unless status is an error; empty where it is nothing. */
static int take_bytes(writer *w, int status, bool is_wanted, char **data, size_t *bytes) {
    lazy_text out = {0};
    if (status == 0 && is_wanted) {
        join_lists(w, &out);
        status = w->status;
    }
    writer_free(w);
    if (status)
        graph_text_free(&out);
    *data = out.data;
    *bytes = out.bytes;
    return status;
}

int program_write(neap_program *program, const program_sized *sized, char **data, size_t *bytes) {
    writer w = {0};
    return take_bytes(&w, put_graph(&w, program, sized), true, data, bytes);
}

/* An error of saving comes from something that ties the program to its session. */
int neap_program_key(neap_program *program, char **data, size_t *bytes) {
    writer w = {0};
    int status = put_graph(&w, program, NULL);
    bool fails = status == NEAP_PENDING || status == NEAP_E_MEMORY;
    return take_bytes(&w, w.tied && !fails ? 0 : status, !w.tied, data, bytes);
}

int program_callees(neap_program *program, const program_sized *sized, int32_t capacity, int32_t *callees, int32_t *n) {
    writer w = {0};
    int status = put_graph(&w, program, sized);
    *n = (int32_t)w.known.n;
    for (int32_t k = 0; k < *n && k < capacity; k++)
        callees[k] = w.known.at[k]->callee;
    writer_free(&w);
    return status;
}

int program_shardings(neap_program *program, const program_sized *sized, int32_t capacity, int32_t *shardings,
                      int32_t *n) {
    writer w = {0};
    int status = put_graph(&w, program, sized);
    *n = (int32_t)w.shardings.n;
    for (int32_t k = 0; k < *n && k < capacity; k++)
        shardings[k] = w.shardings.at[k];
    writer_free(&w);
    return status;
}

int neap_program_callees(neap_program *program, int32_t capacity, int32_t *callees, int32_t *n) {
    return program_callees(program, NULL, capacity, callees, n);
}

int neap_program_shardings(neap_program *program, int32_t capacity, int32_t *shardings, int32_t *n) {
    return program_shardings(program, NULL, capacity, shardings, n);
}

void neap_bytes_free(char *data) {
    free(data);
}
