/* program/read.c: loading: a program from bytes (program/file.h) that nobody has checked.
 *
 * Each program is traced anew: its items are recorded one after the other by the recorder that everything goes through,
 * so rules check every number of inputs, shape, dtype and attribute again, and no field of a file is trusted to be what
 * some other field implies. Nothing is run but what rules do. Bytes are read through `get_…`, which never read behind
 * the end; a list of n entries needs n bytes at least, so memory is taken in proportion to the file.
 */
#include <inttypes.h>
#include <string.h>

#include "lazy/graph/graph.h"
#include "lazy/program/file.h"
#include "lazy/shard/shard.h"

enum { MOST_PROGRAMS = 4096 }; /* of a control node */

typedef struct reader {
    neap_ctx *ctx;
    const uint8_t *at, *end;
    int status;
    LAZY_VECTOR(int32_t) dtypes, ops;
    LAZY_VECTOR(lazy_callback *) callbacks; /* one reference each */
    LAZY_VECTOR(neap_program *) programs;   /* one reference each */
    int level;                              /* of the trace of the program that is being read */
    lazy_nodes values;                      /* of that program; one reference each */
    lazy_nodes in;                          /* operands of an item; BORROWED */
    LAZY_VECTOR(int64_t) attrs;
    const int32_t *callees;
    int32_t ncallees;
    int version; /* of the format */
    const int32_t *shardings;
    int32_t nshardings;
    int64_t saved; /* the number of the program that was saved */
    bool has_sizes;
    program_sized sized;
} reader;

#define DAMAGED(r, ...) ((r)->status = (r)->status ? (r)->status : neap_error(NEAP_E_ARGUMENT, __VA_ARGS__))

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */
static uint64_t get_number(reader *r) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && r->status == 0; shift += 7) {
        if (r->at == r->end)
            break;
        uint8_t byte = *r->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    DAMAGED(r, "the program is damaged: a number does not end");
    return 0;
}

static int64_t get_signed(reader *r) {
    uint64_t value = get_number(r);
    return (int64_t)(value >> 1 ^ -(value & 1));
}

/* A number below `limit`. */
static int64_t get_below(reader *r, int64_t limit, const char *what) {
    uint64_t value = get_number(r);
    if (r->status == 0 && value >= (uint64_t)limit)
        DAMAGED(r, "the program is damaged: %s %" PRIu64 " of %lld", what, value, (long long)limit);
    return r->status ? 0 : (int64_t)value;
}

static bool get_flag(reader *r, const char *what) {
    return get_below(r, 2, what) != 0;
}

/* LAZY_FILE_… of an item, and bits that mean nothing any more; files of version 1 have none. */
static uint32_t get_marks(reader *r) {
    return r->version > 1 ? (uint32_t)get_below(r, (int64_t)1 << 32, "the marks of an item are") : 0;
}

/* The length of a list, each entry of which takes at least a byte. */
static int64_t get_count(reader *r, int64_t most, const char *what) {
    uint64_t n = get_number(r), left = (uint64_t)(r->end - r->at);
    if (r->status == 0 && n > left)
        DAMAGED(r, "the program is truncated: %" PRIu64 " %s in %" PRIu64 " bytes", n, what, left);
    if (r->status == 0 && n > (uint64_t)most)
        DAMAGED(r, "the program is damaged: %" PRIu64 " %s, at most %lld are possible", n, what, (long long)most);
    return r->status ? 0 : (int64_t)n;
}

static const uint8_t *get_bytes(reader *r, uint64_t n) {
    const uint8_t *from = r->at;
    if (r->status == 0 && n > (uint64_t)(r->end - r->at))
        DAMAGED(r, "the program is truncated");
    if (r->status)
        return NULL;
    r->at += n;
    return from;
}

/* A copy of a text, which may hold zeros; OWNED. NULL on failure. */
static char *get_text(reader *r, size_t *bytes) {
    uint64_t n = get_number(r);
    const uint8_t *from = get_bytes(r, n);
    char *copy = from ? malloc((size_t)n + 1) : NULL;
    if (from && !copy)
        r->status = neap_error(NEAP_E_MEMORY, "out of memory for a text");
    if (!copy)
        return NULL;
    memcpy(copy, from, (size_t)n);
    copy[n] = '\0';
    if (bytes)
        *bytes = (size_t)n;
    return copy;
}

/* NULL: there is none, or failure. OWNED. */
static char *get_name(reader *r) {
    return get_flag(r, "the presence of a name is") ? get_text(r, NULL) : NULL;
}

static void get_elements(reader *r, void *to, int64_t n, size_t width) {
    const uint8_t *from = get_bytes(r, (uint64_t)n * width);
    if (!from)
        return;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(to, from, (size_t)n * width);
#else
    for (int64_t k = 0; k < n; k++)
        for (size_t b = 0; b < width; b++)
            ((uint8_t *)to)[(size_t)k * width + b] = from[(size_t)k * width + width - 1 - b];
#endif
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */
static void keep_status(reader *r, int status) {
    r->status = r->status ? r->status : status;
}

static void get_dtypes(reader *r) {
    int64_t n = get_count(r, NEAP_DTYPE_COUNT, "dtypes");
    for (int64_t k = 0; k < n && r->status == 0; k++) {
        char *name = get_text(r, NULL);
        int dtype = name ? neap_dtype_parse(name) : 0;
        if (name && dtype < 0)
            DAMAGED(r, "the program uses the dtype '%.40s', which this version of neap does not have", name);
        if (r->status == 0)
            keep_status(r, lazy_push(&r->dtypes, dtype));
        free(name);
    }
}

static int find_op(const char *name) {
    for (int k = 0; k < lazy_op_count; k++)
        if (strcmp(lazy_ops[k]->name, name) == 0)
            return k;
    return -1;
}

static void get_op(reader *r) {
    char *name = get_text(r, NULL), *attrs = r->status ? NULL : get_text(r, NULL);
    int op = name ? find_op(name) : -1;
    const char *known = op < 0 || !lazy_ops[op]->attrs ? "" : lazy_ops[op]->attrs;
    if (r->status == 0 && op < 0)
        DAMAGED(r, "the program uses the op '%.40s', which this version of neap does not have", name);
    if (r->status == 0 && strcmp(attrs, known) != 0)
        DAMAGED(r, "the program's op '%s' has the attributes \"%.80s\", this version of neap knows it with \"%s\"",
                name, attrs, known);
    if (r->status == 0)
        keep_status(r, lazy_push(&r->ops, op));
    free(name);
    free(attrs);
}

static int get_dtype(reader *r) {
    int64_t place = get_below(r, r->dtypes.n, "dtype");
    return r->status ? NEAP_DTYPE_F32 : r->dtypes.at[place];
}

static lazy_result get_type(reader *r) {
    lazy_result type = {.dtype = (uint8_t)get_dtype(r)};
    int64_t bytes = neap_dtype_bytes(type.dtype);
    type.ndim = (uint8_t)get_count(r, NEAP_MAX_DIMS, "axes");
    for (int k = 0; k < type.ndim && r->status == 0; k++) {
        type.shape[k] = get_below(r, INT64_MAX, "size");
        if (__builtin_mul_overflow(bytes, type.shape[k] ? type.shape[k] : 1, &bytes) || bytes > INT64_MAX / 16)
            DAMAGED(r, "the program is damaged: an array has too many elements");
    }
    return type;
}

static int get_device(reader *r) {
    uint64_t device = get_number(r);
    if (r->status == 0 && device > (uint64_t)neap_device_count())
        DAMAGED(r, "the program uses device %" PRIu64 ", this session has %d", device - 1, neap_device_count());
    return r->status ? -1 : (int)device - 1;
}

/* A sharding of those that the caller has made; NULL: none. */
static const lazy_sharding *get_sharding(reader *r) {
    int64_t place = r->version > 1 ? get_below(r, (int64_t)r->nshardings + 1, "sharding") : 0;
    const lazy_sharding *s = place ? shard_sharding_get(r->shardings[place - 1]) : NULL;
    if (place && !s) {
        DAMAGED(r, "the program is damaged: it has no such sharding");
        return NULL;
    }
    return s;
}

/* A sharding that divides an array of this type; NULL: none. */
static const lazy_sharding *get_layout(reader *r, const lazy_result *type) {
    const lazy_sharding *s = get_sharding(r);
    for (int a = 0; s && a < s->ndim; a++)
        if (a >= type->ndim || type->shape[a] % shard_sharding_parts(s, a))
            DAMAGED(r, "the program needs an array of %s that is divided by the axes of the mesh, which does not do it",
                    neap_dtype_name(type->dtype));
    return r->status ? NULL : s;
}

static int get_kind(reader *r) {
    char *kind = get_text(r, NULL);
    int code = 0;
    if (kind && r->status == 0)
        code = neap_effect_declare(kind);
    if (code < 0)
        DAMAGED(r, "the program has an effect of the kind '%.40s', for which there is no room", kind);
    free(kind);
    return r->status ? 0 : code;
}

static void get_callback(reader *r) {
    char *name = get_text(r, NULL), *site = get_text(r, NULL);
    int kind = get_kind(r), order = (int)get_below(r, 2 + NEAP_PURE_BROADCAST, "order"),
        pure = order > 1 ? order - 1 : 0;
    uint64_t numbers = pure ? get_number(r) : 0;
    bool tolerant = get_flag(r, "tolerance");
    int64_t n = get_count(r, INT16_MAX, "results"), place = r->callbacks.n;
    neap_spec *results = calloc((size_t)n + 1, sizeof *results);
    lazy_callback *callback = NULL;
    if (!results)
        keep_status(r, neap_error(NEAP_E_MEMORY, "out of memory for a callback"));
    for (int64_t k = 0; k < n && r->status == 0; k++) {
        lazy_result type = get_type(r);
        results[k] = (neap_spec){.dtype = type.dtype, .ndim = type.ndim};
        memcpy(results[k].shape, type.shape, sizeof type.shape);
    }
    if (r->status == 0 && place >= r->ncallees)
        DAMAGED(r, "the program calls more functions than it names: %lld", (long long)place + 1);
    if (r->status == 0) {
        neap_callback how = {.callee = r->callees[place],
                             .kind = kind,
                             .unordered = order > 0,
                             .tolerant = tolerant,
                             .nresults = (int32_t)n,
                             .results = results,
                             .name = name,
                             .site = site,
                             .pure = pure,
                             .numbers = numbers};
        keep_status(r, effect_callback_new(r->ctx, &how, &callback));
    }
    if (r->status == 0 && lazy_push(&r->callbacks, callback)) {
        r->status = NEAP_E_MEMORY;
        effect_callback_release(callback);
    }
    free(results);
    free(name);
    free(site);
}

/* ---- Items ------------------------------------------------------------------------------------------------------- */
static neap_node *get_value(reader *r) {
    int64_t place = get_below(r, r->values.n, "value");
    return r->status ? NULL : r->values.at[place];
}

/* Into r->in. */
static void get_values(reader *r, int64_t most) {
    int64_t n = get_count(r, most, "inputs of an op");
    r->in.n = 0;
    for (int64_t k = 0; k < n && r->status == 0; k++) {
        neap_node *value = get_value(r);
        if (value)
            keep_status(r, lazy_push(&r->in, value));
    }
}

/* The name of an axis as its number. */
static int64_t get_axis(reader *r) {
    char *name = get_text(r, NULL);
    int32_t number = name ? neap_axis_name(r->ctx, name) : 0;
    if (name && !number)
        keep_status(r, neap_error(NEAP_E_MEMORY, "out of memory for the name of an axis"));
    free(name);
    return number;
}

static int64_t get_sharding_number(reader *r) {
    const lazy_sharding *s = get_sharding(r);
    return s ? s->number : 0;
}

/* Into r->attrs; as many as the row names from `first` on. */
static void get_attributes(reader *r, const lazy_op *row, int first) {
    lazy_attr_names names = graph_attr_names_of(row);
    int64_t n = get_count(r, INT16_MAX, "attributes"), more = n + first - names.nfixed;
    if (r->status == 0 && (more < 0 || (names.nrepeat ? more % names.nrepeat : more) != 0))
        DAMAGED(r, "the program is damaged: %s has %lld attributes, expected \"%s\"", row->name, (long long)n,
                row->attrs ? row->attrs : "");
    r->attrs.n = 0;
    for (int64_t k = 0; k < n && r->status == 0; k++) {
        lazy_attr_word name = graph_attr_name(&names, first + (int)k);
        int64_t value = row->flags & LAZY_OP_AXIS && k == 0 ? get_axis(r)
                        : graph_attr_is_dtype(name)         ? get_dtype(r)
                        : graph_attr_is_sharding(name)      ? get_sharding_number(r)
                                                            : get_signed(r);
        keep_status(r, lazy_push(&r->attrs, value));
    }
}

/* What reads no input of the program, but for constructors, would be computed here. On a mesh the trace stages it
 * (stage.c). Passes the node on. */
static neap_node *check_traced(reader *r, const lazy_op *row, neap_node *node) {
    bool staged = node && graph_is_meshed(node) && node->state == LAZY_STAGED;
    if (!node || staged || node->flags & (LAZY_ABSTRACT | LAZY_CONSTRUCTED))
        return node;
    DAMAGED(r, "the program is damaged: %s does not depend on its inputs", row->name);
    graph_release(r->ctx, node);
    return NULL;
}

/* A part is one of the results of control flow, and nothing else: rules rely on that. */
static void check_part(reader *r, const lazy_op *row) {
    const neap_node *block = r->in.n == 1 ? r->in.at[0] : NULL;
    if (r->status || !(row->flags & LAZY_OP_PART))
        return;
    const lazy_payload *payload = block && program_is_constructed(block) ? graph_node_op(block)->payload : NULL;
    if (!payload || !payload->has_part || !payload->has_part(block, r->attrs.n, r->attrs.at))
        DAMAGED(r, "the program is damaged: %s is no result of control flow", row->name);
}

static void set_marks(neap_node *node, uint32_t marks) {
    node->yields = marks & LAZY_FILE_WEAK && node->dtype == NEAP_DTYPE_F32;
    node->fraction = (marks & LAZY_FILE_FRACTION) != 0;
}

/* An op that nothing but its node's own file may make is refused by its rules. OWNED. */
static neap_node *read_op(reader *r) {
    int64_t place = get_below(r, r->ops.n, "op");
    int op = r->status ? 0 : r->ops.at[place];
    const lazy_op *row = lazy_ops[op];
    if (r->status == 0 && (graph_has_pointer(row) || (row->kind == LAZY_SOURCE && !row->shape)))
        DAMAGED(r, "the program is damaged: %s is no op that is recorded", row->name);
    get_values(r, NEAP_MAX_INPUTS);
    get_attributes(r, row, 0);
    uint32_t marks = get_marks(r);
    if (r->status == 0 && row->flags & LAZY_OP_AXIS && !(r->in.n == 2 && graph_is_token(r->in.at[1])))
        DAMAGED(r, "the program is damaged: %s is not over an axis of a mesh", row->name);
    check_part(r, row);
    if (r->status)
        return NULL;
    bool taken =
        row->flags & LAZY_OP_ALIAS && r->in.n == 1 && !(r->in.at[0]->flags & LAZY_ABSTRACT); /* see deferred.c */
    neap_node *node = taken ? program_take_in(r->ctx, r->level, r->in.at[0])
                            : graph_record(r->ctx, op, (int)r->in.n, r->in.at, (int)r->attrs.n, r->attrs.at);
    if (!node)
        r->status = neap_error_code();
    else if (node->op == op && !(row->flags & LAZY_OP_MESH)) /* that may be one that was there */
        set_marks(node, marks);
    return check_traced(r, row, node);
}

static neap_node *read_constant(reader *r) {
    int dtype = get_dtype(r);
    bool weak = get_flag(r, "weakness");
    double value = 0;
    get_elements(r, &value, 1, sizeof value);
    uint32_t marks = get_marks(r);
    if (r->status == 0 && weak && dtype != NEAP_DTYPE_F64)
        DAMAGED(r, "the program is damaged: a number of dtype %s", neap_dtype_name(dtype));
    if (r->status == 0 && !dtype_holds(dtype, value))
        DAMAGED(r, "the program is damaged: a constant is no value of dtype %s", neap_dtype_name(dtype));
    neap_node *node = r->status ? NULL : graph_constant(r->ctx, dtype, weak, value);
    if (!node)
        keep_status(r, NEAP_E_MEMORY);
    else
        node->counts = marks & LAZY_FILE_COUNTS;
    return node;
}

/* An array of this type whose elements come next, committed to a device (-1: to none). */
static neap_node *read_data(reader *r, const lazy_result *type, int device) {
    int64_t n = 1;
    size_t width = (size_t)neap_dtype_bytes(type->dtype);
    neap_buffer *buffer;
    for (int k = 0; k < type->ndim; k++)
        n *= type->shape[k];
    if (r->status == 0 && n > (r->end - r->at) / (int64_t)width)
        DAMAGED(r, "the program is truncated: an array of %lld elements in %lld bytes", (long long)n,
                (long long)(r->end - r->at));
    if (r->status || (r->status = neap_buffer_new(0, (size_t)n * width, &buffer)) != 0)
        return NULL;
    get_elements(r, neap_buffer_data(buffer), n, width);
    for (int64_t k = 0; k < n && type->dtype == NEAP_DTYPE_BOOL; k++)
        ((uint8_t *)neap_buffer_data(buffer))[k] = ((uint8_t *)neap_buffer_data(buffer))[k] != 0;
    graph_count_bytes(r->ctx, n * (int64_t)width);
    neap_node *node = graph_node_of_buffer(r->ctx, type, buffer);
    if (node)
        node->device = (int16_t)device;
    else
        r->status = NEAP_E_MEMORY;
    return node;
}

static neap_node *read_array(reader *r) {
    lazy_result type = get_type(r);
    return read_data(r, &type, get_device(r));
}

/* One that lies on a mesh. */
static neap_node *read_divided(reader *r) {
    lazy_result type = get_type(r);
    const lazy_sharding *lies = get_layout(r, &type);
    if (r->status == 0 && (!lies || lies->manual))
        DAMAGED(r, "the program is damaged: an array on a mesh lies on none, or is a block");
    neap_node *whole = read_data(r, &type, -1), *node = whole ? shard_divide(r->ctx, whole, lies) : NULL;
    if (whole && !node)
        r->status = neap_error_code();
    graph_release(r->ctx, whole);
    return node;
}

static neap_node *read_callback(reader *r) {
    int64_t place = get_below(r, r->callbacks.n, "function");
    get_values(r, NEAP_MAX_INPUTS);
    if (r->status)
        return NULL;
    neap_node *node = effect_callback_again(r->ctx, r->callbacks.at[place], (int)r->in.n, r->in.at);
    if (!node)
        r->status = neap_error_code();
    return node;
}

/* A loop, branch or call over programs that stand in front of this one. OWNED. */
static neap_node *read_control(reader *r) {
    neap_program *programs[MOST_PROGRAMS];
    int64_t place = get_below(r, r->ops.n, "op");
    int op = r->status ? 0 : r->ops.at[place];
    const lazy_op *row = lazy_ops[op];
    if (r->status == 0 && !(row->payload && row->payload->record))
        DAMAGED(r, "the program is damaged: %s is no control flow", row->name);
    int64_t n = get_count(r, MOST_PROGRAMS, "programs of an op");
    if (r->status == 0 && n == 0)
        DAMAGED(r, "the program is damaged: %s without a program", row->name);
    for (int64_t k = 0; k < n && r->status == 0; k++) {
        int64_t at = get_below(r, r->programs.n, "program");
        programs[k] = r->status ? NULL : r->programs.at[at];
    }
    get_values(r, LAZY_MAX_CONTROL_INPUTS);
    get_attributes(r, row, 1);
    if (r->status)
        return NULL;
    graph_call call = {.op = op, .nin = (int)r->in.n, .nattrs = (int)r->attrs.n, .in = r->in.at, .attrs = r->attrs.at};
    neap_node *node = row->payload->record(r->ctx, (int)n, programs, &call);
    if (!node)
        r->status = neap_error_code();
    return check_traced(r, row, node);
}

static void read_print_piece(reader *r, lazy_fragment *piece, neap_node **node) {
    int64_t what = get_below(r, 4, "piece of a print");
    if (r->status == 0 && what == 0)
        DAMAGED(r, "the program is damaged: a print has an empty piece");
    if (what & LAZY_PIECE_TEXT)
        piece->text = get_text(r, &piece->bytes);
    if (r->status == 0 && what & LAZY_PIECE_VALUE) {
        *node = get_value(r);
        piece->n = 1;
    }
}

static int get_stream(reader *r) {
    char *stream = get_text(r, NULL);
    int code = stream && strcmp(stream, "stdout") == 0   ? NEAP_STDOUT
               : stream && strcmp(stream, "stderr") == 0 ? NEAP_STDERR
                                                         : 0;
    if (stream && !code)
        DAMAGED(r, "the program prints to '%.40s', expected stdout or stderr", stream);
    free(stream);
    return code;
}

static void read_print(reader *r) {
    neap_emit how = {.kind = get_kind(r)};
    how.unordered = get_flag(r, "order");
    how.stream = get_stream(r);
    how.site = get_name(r);
    int64_t n = get_count(r, INT32_MAX, "pieces of a print");
    lazy_fragment *pieces = calloc((size_t)n + 1, sizeof *pieces);
    neap_node **nodes = calloc((size_t)n + 1, sizeof *nodes);
    if (!pieces || !nodes)
        keep_status(r, neap_error(NEAP_E_MEMORY, "out of memory for a print"));
    for (int64_t k = 0; k < n && r->status == 0; k++) {
        pieces[k].first = (int32_t)k;
        read_print_piece(r, &pieces[k], &nodes[k]);
    }
    if (r->status == 0)
        keep_status(r, effect_print_nodes(r->ctx, &how, (int)n, pieces, nodes));
    for (int64_t k = 0; k < n && pieces; k++)
        free(pieces[k].text);
    free(pieces);
    free(nodes);
    free((char *)how.site);
}

static void read_body_item(reader *r) {
    neap_node *node = NULL;
    int64_t tag = get_below(r, LAZY_ITEMS, "kind of item");
    if (r->status)
        return;
    if (tag == LAZY_ITEM_PRINT) {
        read_print(r);
        return;
    }
    if (tag == LAZY_ITEM_OP)
        node = read_op(r);
    else if (tag == LAZY_ITEM_CONSTANT)
        node = read_constant(r);
    else if (tag == LAZY_ITEM_ARRAY)
        node = read_array(r);
    else if (tag == LAZY_ITEM_DIVIDED)
        node = read_divided(r);
    else if (tag == LAZY_ITEM_CALLBACK)
        node = read_callback(r);
    else
        node = read_control(r);
    if (node && lazy_push(&r->values, node)) {
        graph_release(r->ctx, node);
        r->status = NEAP_E_MEMORY;
    }
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */
typedef struct port_list { /* names of inputs or outputs; OWNED */
    int64_t n, named;
    char **names;
} port_list;

static void ports_begin(reader *r, port_list *list, const char *what) {
    *list = (port_list){.n = get_count(r, INT32_MAX, what)};
    list->names = calloc((size_t)list->n + 1, sizeof *list->names);
    if (!list->names)
        keep_status(r, neap_error(NEAP_E_MEMORY, "out of memory for a program"));
}

static void ports_end(port_list *list) {
    for (int64_t k = 0; k < list->n && list->names; k++)
        free(list->names[k]);
    free(list->names);
}

static void read_program_input(reader *r, port_list *list, int64_t k) {
    list->names[k] = get_name(r);
    list->named += list->names[k] != NULL;
    int64_t kind = get_below(r, LAZY_INPUTS, "kind of an input");
    bool whole = kind == LAZY_INPUT_WHOLE, weak = kind == LAZY_INPUT_NUMBER || whole;
    lazy_result type = get_type(r);
    int device = get_device(r);
    const lazy_sharding *lies = get_layout(r, &type);
    int64_t met = get_count(r, NEAP_DTYPE_COUNT, "dtypes");
    uint32_t meets = 0;
    for (int64_t d = 0; d < met; d++)
        meets |= 1u << get_dtype(r);
    if (r->status == 0 && weak && (type.ndim || type.dtype != NEAP_DTYPE_F64 || device >= 0 || lies))
        DAMAGED(r, "the program is damaged: input %lld is a number and is not", (long long)k + 1);
    neap_node *node = r->status ? NULL : graph_placeholder(r->ctx, r->level, &type, weak, lies ? -1 : device, lies);
    if (r->status == 0 && (!node || lazy_push(&r->values, node)))
        r->status = NEAP_E_MEMORY;
    if (r->status)
        return;
    graph_retain(node);
    if (weak)
        node->meets = meets | (whole ? LAZY_NUMBER_DECIDED : 0);
    node->yields = !whole && kind >= LAZY_INPUT_WEAK && type.dtype == NEAP_DTYPE_F32;
    node->fraction = kind == LAZY_INPUT_FRACTION;
}

static void read_output(reader *r, port_list *list, int64_t k, lazy_nodes *outputs) {
    list->names[k] = get_name(r);
    list->named += list->names[k] != NULL;
    neap_node *node = get_value(r);
    lazy_result type = get_type(r);
    char want[256], got[256];
    if (r->status)
        return;
    if (node->dtype != type.dtype || node->ndim != type.ndim ||
        memcmp(node->shape, type.shape, node->ndim * sizeof *node->shape) != 0)
        DAMAGED(r, "the program is damaged: output %lld is said to be %s%s, but its ops make %s%s", (long long)k + 1,
                neap_dtype_name(type.dtype), graph_shape_text(type.ndim, type.shape, want, sizeof want),
                neap_dtype_name(node->dtype), graph_shape_text(node->ndim, node->shape, got, sizeof got));
    keep_status(r, r->status ? r->status : lazy_push(outputs, node));
}

static void name_ports(reader *r, neap_program *program, int outputs, const port_list *list) {
    if (r->status == 0 && list->named != list->n && list->named)
        DAMAGED(r, "the program is damaged: only some of its inputs or outputs have names");
    if (r->status == 0 && list->named)
        keep_status(r, neap_program_rename(program, outputs, (int)list->n, (const char *const *)list->names));
}

static void read_body(reader *r, port_list *inputs, port_list *outputs) {
    lazy_nodes results = {0};
    for (int64_t k = 0; k < inputs->n && r->status == 0; k++)
        read_program_input(r, inputs, k);
    int64_t n = get_count(r, INT32_MAX, "items");
    plan_hold(r->ctx);
    for (int64_t k = 0; k < n && r->status == 0; k++)
        read_body_item(r);
    keep_status(r, plan_unhold(r->ctx));
    ports_begin(r, outputs, "outputs");
    for (int64_t k = 0; k < outputs->n && r->status == 0; k++)
        read_output(r, outputs, k, &results);
    neap_program *program = NULL;
    if (r->status == 0)
        r->status = program_trace_end(r->ctx, r->level, (int)results.n, results.at, &program);
    if (program) {
        name_ports(r, program, 0, inputs);
        name_ports(r, program, 1, outputs);
        if (lazy_push(&r->programs, program)) {
            neap_program_free(program);
            r->status = NEAP_E_MEMORY;
        }
    }
    lazy_vector_free(&results);
}

static void read_program(reader *r) {
    port_list inputs, outputs = {0};
    ports_begin(r, &inputs, "inputs");
    if (r->status == 0)
        keep_status(r, graph_trace_begin(r->ctx, 0, &r->level));
    if (r->status == 0) {
        int level = r->level;
        read_body(r, &inputs, &outputs);
        if (r->ctx->levels.n > level)
            graph_level_end(r->ctx, level);
    }
    for (int64_t k = 0; k < r->values.n; k++)
        graph_release(r->ctx, r->values.at[k]);
    r->values.n = 0;
    ports_end(&inputs);
    ports_end(&outputs);
}

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */
static void read_given(reader *r) {
    int64_t kind = get_below(r, LAZY_INPUTS, "kind of an array"), tag = get_below(r, LAZY_ITEMS, "kind of item");
    neap_node *node = NULL;
    if (r->status == 0 && tag == LAZY_ITEM_CONSTANT)
        node = read_constant(r);
    else if (r->status == 0 && tag == LAZY_ITEM_DIVIDED)
        node = read_divided(r);
    else if (r->status == 0 && tag == LAZY_ITEM_ARRAY)
        node = read_array(r);
    else
        DAMAGED(r, "the program is damaged: it was given an array that is no data");
    if (!node)
        return;
    if (tag == LAZY_ITEM_ARRAY && node->dtype == NEAP_DTYPE_F32) {
        node->yields = kind == LAZY_INPUT_WEAK || kind == LAZY_INPUT_FRACTION;
        node->fraction = kind == LAZY_INPUT_FRACTION;
    }
    if (lazy_push(&r->sized.arrays, node)) {
        graph_release(r->ctx, node);
        r->status = NEAP_E_MEMORY;
    }
}

static void read_sized_text(reader *r) {
    size_t bytes = 0;
    char *text = get_text(r, &bytes);
    if (r->status == 0)
        keep_status(r, lazy_push(&r->sized.texts, ((program_sized_text){r->sized.bytes.bytes, bytes})));
    if (r->status == 0)
        keep_status(r, graph_text_add(&r->sized.bytes, text, bytes + 1));
    free(text);
}

static void read_sized(reader *r) {
    int64_t n = get_count(r, INT16_MAX, "ops");
    for (int64_t k = 0; k < n && r->status == 0; k++) {
        int64_t place = get_below(r, r->ops.n, "op");
        keep_status(r, r->status ? 0 : lazy_push(&r->sized.ops, r->ops.at[place]));
    }
    n = get_count(r, INT32_MAX, "programs");
    for (int64_t k = 0; k < n && r->status == 0; k++) {
        int64_t place = get_below(r, r->programs.n, "program");
        if (r->status == 0)
            keep_status(r, lazy_push(&r->sized.programs, r->programs.at[place]));
        if (r->status == 0)
            program_retain(r->programs.at[place]);
    }
    n = get_count(r, INT32_MAX, "arrays");
    for (int64_t k = 0; k < n && r->status == 0; k++)
        read_given(r);
    n = get_count(r, INT32_MAX, "texts");
    for (int64_t k = 0; k < n && r->status == 0; k++)
        read_sized_text(r);
    n = r->version > 3 ? get_count(r, INT32_MAX, "shardings") : 0;
    for (int64_t k = 0; k < n && r->status == 0; k++) {
        const lazy_sharding *s = get_sharding(r);
        if (r->status == 0 && !s)
            DAMAGED(r, "the program is damaged: a sharding is none");
        keep_status(r, r->status ? 0 : lazy_push(&r->sized.shardings, s->number));
    }
    n = r->version > 3 ? get_count(r, INT32_MAX, "callbacks") : 0;
    for (int64_t k = 0; k < n && r->status == 0; k++) {
        int64_t place = get_below(r, r->callbacks.n, "callback");
        if (r->status == 0)
            keep_status(r, lazy_push(&r->sized.callbacks, r->callbacks.at[place]));
        if (r->status == 0)
            effect_callback_retain(r->callbacks.at[place]);
    }
    n = get_count(r, INT32_MAX, "words");
    for (int64_t k = 0; k < n && r->status == 0; k++)
        keep_status(r, lazy_push(&r->sized.words, get_signed(r)));
}

static void read_graph(reader *r) {
    get_dtypes(r);
    int64_t n = get_count(r, INT16_MAX, "ops");
    for (int64_t k = 0; k < n && r->status == 0; k++)
        get_op(r);
    n = get_count(r, INT32_MAX, "functions");
    for (int64_t k = 0; k < n && r->status == 0; k++)
        get_callback(r);
    if (r->status == 0 && n != r->ncallees)
        DAMAGED(r, "the program calls %lld functions, but names %d", (long long)n, r->ncallees);
    n = get_count(r, INT32_MAX, "programs");
    if (r->status == 0 && n == 0)
        DAMAGED(r, "the program is damaged: there is none in it");
    for (int64_t k = 0; k < n && r->status == 0; k++)
        read_program(r);
    r->saved = r->version > 2 ? get_below(r, n, "program") : n - 1;
    r->has_sizes = r->version > 2 && get_flag(r, "the presence of sizes is");
    if (r->has_sizes)
        read_sized(r);
    if (r->status == 0 && r->at != r->end)
        DAMAGED(r, "the program is damaged: there is more behind its end");
    if (r->status == 0)
        r->status = program_check_ports("the program is damaged", r->programs.at[r->saved]);
}

/* Lets go of the callbacks. Those of a failure have no other users, and their callees stay the caller's. */
static void let_go(reader *r) {
    for (int64_t k = 0; k < r->callbacks.n; k++) {
        if (r->status) {
            r->callbacks.at[k]->callee = 0;
            r->ctx->counters.callees--;
        }
        effect_callback_release(r->callbacks.at[k]);
    }
}

int neap_program_read(neap_ctx *ctx, const neap_saved *from, neap_program **out) {
    program_sized sized;
    bool has;
    int status = program_read(ctx, from, out, &sized, &has);
    if (has)
        program_sized_free(ctx, &sized);
    return status;
}

int program_read(neap_ctx *ctx, const neap_saved *from, neap_program **out, program_sized *sized, bool *has) {
    reader r = {.ctx = ctx,
                .at = from->data,
                .end = (const uint8_t *)from->data + from->bytes,
                .version = from->version,
                .callees = from->callees,
                .ncallees = from->ncallees,
                .shardings = from->shardings,
                .nshardings = from->nshardings};
    read_graph(&r);
    int64_t n = r.programs.n;
    for (int64_t k = 0; k < n; k++)
        if (r.status || k != r.saved)
            neap_program_free(r.programs.at[k]);
    if (r.status == 0)
        *out = r.programs.at[r.saved];
    *has = r.status == 0 && r.has_sizes;
    if (*has)
        *sized = r.sized;
    else
        program_sized_free(ctx, &r.sized);
    let_go(&r);
    lazy_vector_free(&r.dtypes);
    lazy_vector_free(&r.ops);
    lazy_vector_free(&r.callbacks);
    lazy_vector_free(&r.programs);
    lazy_vector_free(&r.values);
    lazy_vector_free(&r.in);
    lazy_vector_free(&r.attrs);
    return r.status ? r.status : graph_safepoint(ctx);
}
