/* print.c: the printed form of nodes and of programs (print.h has an example of a line).
 *
 *      program(x: f32[2], n: number) -> (y: f32[2]) {
 *        a: f32[] = sum[axes=0] x
 *        #1: token = print[ordered] #0 "the sum is " a "\n"
 *        #2, b: u8[1] = callback[ordered] train.lua:7 #1 a
 *        c: f32[2] = multiply x n
 *        return c
 *      }
 *
 * Tokens, #0 and on, are the edges that order effects: each ordered effect takes the token of the one in front of it.
 * The token #0 is fresh in each program. Unordered effects have none. A kind that has an order of its own now has a
 * chain of its own, log#0 and on, as a run has that starts now. A run has tokens of its own, which each effect writes
 * when it happens (effects/), so programs need not wait for each other.
 *
 * The block of bytes that control flow makes, and the nodes that take results out of it, are printed as one line with
 * the results on its left: "a: f32[], _, b: f32[5] = scan[…] …"; nobody reads the second.
 *
 * A program that stands in others more than once is printed once, with a name, so the text is as long as what is told:
 *
 *        b: f32[] = call[operands=1 results=1 own=0] a {
 *          @1(a: f32[]) { … }
 *        }
 *        c: f32[] = call[operands=1 results=1 own=0] b {
 *          @1
 *        }
 */
#include "lazy/program/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lazy/graph/graph.h"
#include "lazy/program/listing.h"
#include "lazy/program/lower.h"

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */
bool program_is_literal(const neap_node *node) {
    return graph_is_number(node) && !(node->flags & LAZY_ABSTRACT);
}

/* The shortest digits that give the value back. */
static void say_value(lazy_print *print, const neap_node *node) {
    char text[40];
    double value = dtype_round(node->dtype, node->value);
    bool real = neap_dtype_kind(node->dtype) == 'f';
    for (int digits = real && neap_dtype_bytes(node->dtype) < 8 ? 6 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (dtype_round(node->dtype, strtod(text, NULL)) == value)
            break;
    }
    lazy_say(print, "%s", text);
}

/* The name that a program gives to one of its inputs or outputs; NULL: none. */
static const char *name_of(const lazy_port_names *names, int64_t k) {
    return names->at ? names->at[k] : NULL;
}

/* Is one of n names `name` and `end`? */
static bool has_name(int64_t n, const char *const *names, const char *name, const char *end) {
    size_t bytes = strlen(name);
    for (int64_t k = 0; k < n; k++)
        if (names[k] && strncmp(names[k], name, bytes) == 0 && strcmp(names[k] + bytes, end) == 0)
            return true;
    return false;
}

/* The name of port k of n; with a number where it is reserved: x_2, x_3. */
static void say_port_name(lazy_print *print, int64_t n, const lazy_port_names *names, int64_t k) {
    char end[16] = "";
    const lazy_reserved *reserved = &print->reserved;
    for (int turn = 2;
         has_name(reserved->n, reserved->at, names->at[k], end) || (*end && has_name(n, names->at, names->at[k], end));
         turn++)
        snprintf(end, sizeof end, "_%d", turn);
    lazy_say(print, "%s%s", names->at[k], end);
}

/* Names a, b, … z, a1, b1, … by number. */
void program_say_operand(lazy_print *print, const neap_node *node) {
    const neap_program *named = graph_is_placeholder(node) ? print->named : NULL;
    int64_t at = named ? (int64_t)node->value : 0;
    if (program_is_literal(node))
        say_value(print, node);
    else if (named && name_of(&named->input_names, at) && named->inputs.at[at] == node)
        say_port_name(print, named->inputs.n, &named->input_names, at);
    else if (node->index < 26)
        lazy_say(print, "%c", (int)('a' + node->index));
    else
        lazy_say(print, "%c%u", (int)('a' + node->index % 26), node->index / 26);
}

static void say_type(lazy_print *print, const neap_node *node) {
    if (node->flags & LAZY_WEAK) {
        lazy_say(print, "number");
        return;
    }
    lazy_say(print, "%s[", neap_dtype_name(node->dtype));
    for (int k = 0; k < node->ndim; k++)
        lazy_say(print, k ? ",%lld" : "%lld", (long long)node->shape[k]);
    char lies[256];
    lazy_say(print, "]%s",
             graph_is_meshed(node) ? shard_sharding_text(graph_sharding_of(node), node->ndim, lies, sizeof lies) : "");
}

void program_say_typed(lazy_print *print, const neap_node *node) {
    program_say_operand(print, node);
    lazy_say(print, ": ");
    say_type(print, node);
}

/* "[axes=0,1 keepdims]" of a reduction, whose axes are bits. */
static void say_axes(lazy_print *print, const neap_node *node) {
    const char *between = "[axes=";
    for (int a = 0; a < NEAP_MAX_DIMS; a++)
        if (node->attrs[0] >> a & 1) {
            lazy_say(print, "%s%d", between, a);
            between = ",";
        }
    if (*between == '[')
        lazy_say(print, "[axes=");
    lazy_say(print, node->attrs[1] ? " keepdims]" : "]");
}

static bool is_word(lazy_attr_word name, const char *word) {
    return (size_t)name.bytes == strlen(word) && memcmp(name.at, word, strlen(word)) == 0;
}

/* How an array lies, by number: in the rows that bring it onto a mesh. */
static const lazy_sharding *named_sharding(const neap_node *node, lazy_attr_word name, int k) {
    bool names_one = is_word(name, "sharding") || is_word(name, "outside") || is_word(name, "inside");
    return graph_is_meshed(node) && names_one ? shard_sharding_get(node->attrs[k]) : NULL;
}

static void say_attribute(lazy_print *print, const neap_node *node, const lazy_attr_names *names, int k) {
    const lazy_sharding *lies = named_sharding(node, graph_attr_name(names, k), k);
    const char *axis = graph_node_op(node)->flags & LAZY_OP_AXIS && k == 0 && print->named
                           ? graph_site_text(print->named->ctx, (int32_t)node->attrs[0])
                           : NULL;
    char text[256];
    if (lies)
        lazy_say(print, "%s", shard_sharding_text(lies, node->ndim, text, sizeof text));
    else if (axis)
        lazy_say(print, "%s", axis);
    else if (graph_attr_is_dtype(graph_attr_name(names, k)))
        lazy_say(print, "%s", neap_dtype_name((int)node->attrs[k]));
    else
        lazy_say(print, "%lld", (long long)node->attrs[k]);
}

/* "[axis=0]", "[shape=2,3]", "[start=0,1 step=1,1 count=3,2]". Lists without elements are left out. */
static void say_attributes(lazy_print *print, const neap_node *node) {
    lazy_attr_names names = graph_attr_names_of(graph_node_op(node));
    const lazy_payload *payload = graph_node_op(node)->payload;
    const char *between = "[";
    for (int w = graph_has_pointer(graph_node_op(node)); w < names.nfixed + names.nrepeat && w < node->nattrs; w++) {
        if (payload && payload->is_default && payload->is_default(node, w))
            continue;
        lazy_say(print, "%s%.*s=", between, names.names[w].bytes, names.names[w].at);
        say_attribute(print, node, &names, w);
        for (int k = w + names.nrepeat; w >= names.nfixed && k < node->nattrs; k += names.nrepeat) {
            lazy_say(print, ",");
            say_attribute(print, node, &names, k);
        }
        between = " ";
    }
    lazy_say(print, *between == ' ' ? "]" : "");
}

/* What stands in front of the operands. */
static void say_head(lazy_print *print, const neap_node *node) {
    const lazy_op *row = graph_node_op(node);
    lazy_say(print, "%s", row->name);
    if (row->payload && row->payload->print)
        print->status = print->status ? print->status : row->payload->print(node, &print->text);
    else if (row->kind == LAZY_REDUCE)
        say_axes(print, node);
    else
        say_attributes(print, node);
}

static void say_operands(lazy_print *print, const neap_node *node) {
    for (int k = 0; k < node->nin; k++) {
        lazy_say(print, " ");
        program_say_operand(print, node->in[k]);
    }
}

void program_say_call(lazy_print *print, const neap_node *node) {
    say_head(print, node);
    say_operands(print, node);
}

/* A text in quotes, with its control characters as in C; of much, the beginning. */
static void say_quoted(lazy_print *print, const char *text, size_t bytes) {
    enum { MOST = 60 };
    size_t most = bytes > MOST ? MOST : bytes;
    while (most < bytes && most && ((unsigned char)text[most] & 0xc0) == 0x80) /* whole characters of UTF-8 */
        most--;
    lazy_say(print, "\"");
    for (size_t k = 0; k < most; k++) {
        unsigned char c = (unsigned char)text[k];
        if (c == '"' || c == '\\')
            lazy_say(print, "\\%c", c);
        else if (c == '\n' || c == '\t')
            lazy_say(print, c == '\n' ? "\\n" : "\\t");
        else
            lazy_say(print, c < ' ' || c == 0x7f ? "\\%03o" : "%c", c);
    }
    lazy_say(print, most < bytes ? "…\"" : "\"");
}

int program_print_finish(lazy_print *print, char *text, size_t capacity, size_t *bytes) {
    *bytes = print->text.bytes;
    if (print->status == 0 && print->text.bytes && capacity)
        memcpy(text, print->text.data, print->text.bytes < capacity ? print->text.bytes : capacity);
    graph_text_free(&print->text);
    return print->status;
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */
/* The number of the letter name that a text is ("b1" is that of number 27), or -1. */
static int64_t letter_number(const char *name) {
    int64_t turn = 0;
    if (name[0] < 'a' || name[0] > 'z' || name[1] == '0')
        return -1;
    for (const char *at = name + 1; *at; at++) {
        if (*at < '0' || *at > '9' || turn > 100000000)
            return -1;
        turn = 10 * turn + (*at - '0');
    }
    return 26 * turn + (name[0] - 'a');
}

static int compare_numbers(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

typedef struct naming { /* gives out numbers, but for those that are taken: as names of inputs, or reserved */
    int64_t next, ntaken, at, *taken;
} naming;

static void take_names(naming *n, int64_t count, const char *const *names) {
    for (int64_t k = 0; k < count; k++)
        if (names[k] && (n->taken[n->ntaken] = letter_number(names[k])) >= 0)
            n->ntaken++;
}

static int naming_begin(naming *n, const lazy_port_names *names, int64_t count, const lazy_reserved *reserved) {
    *n = (naming){.taken = malloc((size_t)(count + reserved->n) * sizeof *n->taken + 1)};
    if (!n->taken)
        return neap_error(NEAP_E_MEMORY, "out of memory for a text");
    take_names(n, names->at ? count : 0, names->at);
    take_names(n, reserved->n, reserved->at);
    qsort(n->taken, (size_t)n->ntaken, sizeof *n->taken, compare_numbers);
    return 0;
}

static uint32_t naming_next(naming *n) {
    while (n->at < n->ntaken && n->taken[n->at] <= n->next)
        n->next += n->taken[n->at++] == n->next;
    return (uint32_t)n->next++;
}

static const lazy_reserved NOTHING;

static int number_inputs(naming *n, const neap_program *program, const lazy_reserved *reserved) {
    int status = naming_begin(n, &program->input_names, program->inputs.n, reserved);
    for (int64_t k = 0; k < program->inputs.n && status == 0; k++) {
        program->inputs.at[k]->mark = program->ctx->walk.epoch;
        if (!name_of(&program->input_names, k))
            program->inputs.at[k]->index = naming_next(n);
    }
    return status;
}

int program_number(const neap_program *program) {
    naming n;
    program->ctx->walk.epoch++;
    int status = number_inputs(&n, program, &NOTHING);
    for (int64_t k = 0; k < program->nodes.n && status == 0; k++) {
        neap_node *node = program->nodes.at[k];
        if (node->mark == program->ctx->walk.epoch || program_is_literal(node))
            continue;
        node->mark = program->ctx->walk.epoch;
        node->index = naming_next(&n);
    }
    free(n.taken);
    return status;
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */
enum { SHORT_ARRAY = 8 }; /* data of at most so many elements is shown */

static void say_data(lazy_print *print, const neap_node *node) {
    neap_buffer *data = NULL;
    int status = node->buffer ? graph_host_buffer(NULL, node, &data) : NEAP_PENDING;
    status = status ? status : neap_var_poll(neap_buffer_var(data), NULL);
    lazy_say(print, "captured");
    if (status < 0) {
        lazy_say(print, ", failed");
    } else if (status == 0 && node->size <= SHORT_ARRAY && node->ndim <= 1) {
        lazy_say(print, " ");
        print->status = print->status
                            ? print->status
                            : graph_format(node->dtype, node->ndim, node->shape, neap_buffer_data(data), &print->text);
    }
}

void program_say_token(lazy_print *print, int order, int64_t number) {
    lazy_say(print, "%s#%lld", order ? neap_effect_name(order - 1) : "", (long long)number);
}

/* The tokens of these orders: those that an effect gives, or (`taken`) those that it takes. */
static void say_tokens(lazy_print *print, int orders, const int64_t *tokens, bool taken) {
    const char *between = taken ? " " : "";
    for (int order = 0; order < LAZY_ORDERS; order++) {
        if (!(orders >> order & 1))
            continue;
        lazy_say(print, "%s", between);
        program_say_token(print, order, tokens[order] - taken);
        between = taken ? " " : ", ";
    }
}

static void say_print(lazy_print *print, const lazy_effect *effect, int orders, const int64_t *tokens) {
    say_tokens(print, orders, tokens, false);
    lazy_say(print, orders ? ": token = %s[ordered]" : "%s[unordered]", neap_effect_name(effect->how.kind));
    say_tokens(print, orders, tokens, true);
    for (int k = 0; k < effect->nfragments; k++) {
        const lazy_fragment *fragment = &effect->fragments[k];
        for (int32_t b = 0; b < fragment->n; b++) {
            lazy_say(print, " ");
            program_say_operand(print, effect->nodes.at[fragment->first + b]);
        }
        lazy_say(print, fragment->n == 0 ? " " : fragment->text ? ":" : "");
        if (fragment->text)
            say_quoted(print, fragment->text, fragment->bytes);
    }
}

/* ---- Results of control flow ------------------------------------------------------------------------------------- */
/* The block that a node of control flow makes has no name: its results, the nodes that take them out of it, stand in
 * its place. Only where something else reads the block they are items as any. */
enum { ITEM, JOINED, LEFT_OUT }; /* as any; a control node with its results; one of these */

typedef struct part {
    int64_t block, result, item; /* items by place; several may take the same result */
    neap_node *node;
} part;

typedef struct sheet { /* a program as it is printed */
    const neap_program *program;
    lazy_items items;
    uint8_t *how;            /* by item */
    LAZY_VECTOR(part) parts; /* by block and result */
} sheet;

static bool is_block(const neap_node *node) {
    return program_is_constructed(node) && graph_node_op(node)->results;
}

static int compare_parts(const void *a, const void *b) {
    const part *left = a, *right = b;
    if (left->block != right->block)
        return left->block < right->block ? -1 : 1;
    if (left->result != right->result)
        return left->result < right->result ? -1 : 1;
    return (left->item > right->item) - (left->item < right->item);
}

/* These read their blocks as they are. */
static void read_whole(sheet *s, int64_t n, neap_node *const *nodes) {
    for (int64_t k = 0; k < n; k++)
        if (is_block(nodes[k]))
            s->how[nodes[k]->index] = ITEM;
}

static int read_sheet_item(sheet *s, int64_t k) {
    neap_node *node = s->items.at[k].node;
    if (!node)
        read_whole(s, s->items.at[k].effect->nodes.n, s->items.at[k].effect->nodes.at);
    else if (program_is_constructed(node) && graph_node_op(node)->flags & LAZY_OP_PART && is_block(node->in[0]))
        return lazy_push(
            &s->parts,
            ((part){.block = node->in[0]->index, .result = graph_node_attrs(node)[0], .item = k, .node = node}));
    else if (program_is_constructed(node))
        read_whole(s, node->nin, node->in);
    return 0;
}

static void sheet_free(sheet *s) {
    lazy_vector_free(&s->items);
    lazy_vector_free(&s->parts);
    free(s->how);
}

/* Also after a failure there is something to free. */
static int sheet_new(sheet *s, const neap_program *program) {
    *s = (sheet){.program = program};
    int status = program_list(program, &s->items);
    if (status == 0 && !(s->how = calloc((size_t)s->items.n + 1, 1)))
        status = neap_error(NEAP_E_MEMORY, "out of memory for a text");
    for (int64_t k = 0; k < s->items.n && status == 0; k++)
        if (s->items.at[k].node && is_block(s->items.at[k].node)) {
            s->items.at[k].node->index = (uint32_t)k;
            s->how[k] = JOINED;
        }
    for (int64_t k = 0; k < s->items.n && status == 0; k++)
        status = read_sheet_item(s, k);
    if (status)
        return status;
    read_whole(s, program->outputs.n, program->outputs.at);
    for (int64_t p = 0; p < s->parts.n; p++)
        if (s->how[s->parts.at[p].block] == JOINED)
            s->how[s->parts.at[p].item] = LEFT_OUT;
    if (s->parts.n)
        qsort(s->parts.at, (size_t)s->parts.n, sizeof *s->parts.at, compare_parts);
    return 0;
}

/* The first part from `from` on that belongs to item k or one behind it. */
static int64_t first_part_of(const sheet *s, int64_t from, int64_t k) {
    while (from < s->parts.n && s->parts.at[from].block < k)
        from++;
    return from;
}

static bool same_result(const part *a, const part *b) {
    return a->block == b->block && a->result == b->result;
}

typedef struct cursor { /* a line: an item, its first part, the tokens behind it and the orders in which it stands */
    int64_t item, part, tokens[LAZY_ORDERS];
    int orders;
} cursor;
static const cursor FRONT = {.item = -1};

/* Goes to the next line; false: there is none. */
static bool next_line(const sheet *s, cursor *at) {
    while (++at->item < s->items.n) {
        const lazy_item *item = &s->items.at[at->item];
        if (s->how[at->item] == LEFT_OUT || (item->node && program_is_literal(item->node)))
            continue;
        at->orders = program_orders(s->program, item);
        for (int order = 0; order < LAZY_ORDERS; order++)
            at->tokens[order] += at->orders >> order & 1;
        at->part = first_part_of(s, at->part, at->item);
        return true;
    }
    return false;
}

/* Names all that is printed; results where their control node stands. */
static int sheet_number(const sheet *s, const lazy_reserved *reserved) {
    naming n;
    int64_t p = 0;
    int status = number_inputs(&n, s->program, reserved);
    for (int64_t k = 0; k < s->items.n && status == 0; k++) {
        neap_node *node = s->items.at[k].node;
        if (!node || program_is_literal(node) || s->how[k] == LEFT_OUT)
            continue;
        if (s->how[k] == ITEM)
            node->index = naming_next(&n);
        for (p = first_part_of(s, p, k); s->how[k] == JOINED && p < s->parts.n && s->parts.at[p].block == k; p++) {
            bool again = p > 0 && same_result(&s->parts.at[p - 1], &s->parts.at[p]);
            s->parts.at[p].node->index = again ? s->parts.at[p - 1].node->index : naming_next(&n);
        }
    }
    free(n.taken);
    return status;
}

/* "a: f32[], _, b: f32[5]": the results; of those that nobody reads "_", or "_*3" for three of them. */
static void say_results(lazy_print *print, const sheet *s, int64_t k, int64_t p) {
    const neap_node *node = s->items.at[k].node;
    int64_t at = 0, n = graph_node_op(node)->results(node);
    const char *between = "";
    while (at < n) {
        bool named = p < s->parts.n && s->parts.at[p].block == k;
        int64_t to = named ? s->parts.at[p].result : n;
        if (to > at)
            lazy_say(print, to > at + 1 ? "%s_*%lld" : "%s_", between, (long long)(to - at));
        between = to > at ? ", " : between;
        if (named) {
            lazy_say(print, "%s", between);
            program_say_typed(print, s->parts.at[p].node);
            between = ", ";
        }
        while (p < s->parts.n && s->parts.at[p].block == k && s->parts.at[p].result == to)
            p++;
        at = to + 1;
    }
}

/* ---- Programs inside others -------------------------------------------------------------------------------------- */
static void say_inner(lazy_print *print, neap_program *program, int depth);

/* The programs of a node, as deep as they stand inside each other. */
static void say_programs(lazy_print *print, const neap_node *node, int depth) {
    lazy_inner inner = graph_node_programs(node);
    lazy_say(print, " {\n");
    for (int p = 0; p < inner.n; p++)
        say_inner(print, inner.programs[p], depth + 1);
    lazy_say(print, "%*s}", 2 * depth, "");
}

/* What stands in front of an op: its tokens and its results; returns false if there are none. */
static bool say_left(lazy_print *print, const sheet *s, const cursor *at) {
    const neap_node *node = s->items.at[at->item].node;
    bool joined = s->how[at->item] == JOINED, none = joined && !graph_node_op(node)->results(node);
    say_tokens(print, at->orders, at->tokens, false);
    if (at->orders)
        lazy_say(print, none ? ": token" : ", ");
    if (joined)
        say_results(print, s, at->item, at->part);
    else
        program_say_typed(print, node);
    return at->orders || !none;
}

/* " -- outer/inner", or " -- net.lua:7 …": behind an op, as a comment of Lua. */
static void say_scope(lazy_print *print, const sheet *s, const neap_node *node) {
    int32_t scope = print->sites ? node->site : graph_site_scope(s->program->ctx, node->site);
    if (scope)
        lazy_say(print, "  -- %s", graph_site_text(s->program->ctx, scope));
}

/* Without the programs that it runs, and without its scope. */
static void say_node(lazy_print *print, const sheet *s, const cursor *at) {
    const neap_node *node = s->items.at[at->item].node;
    if (say_left(print, s, at))
        lazy_say(print, " = ");
    if (!program_is_constructed(node)) {
        say_data(print, node);
        return;
    }
    say_head(print, node);
    say_tokens(print, at->orders, at->tokens, true);
    say_operands(print, node);
}

static void say_line(lazy_print *print, const sheet *s, const cursor *at) {
    const lazy_item *item = &s->items.at[at->item];
    if (item->node)
        say_node(print, s, at);
    else
        say_print(print, item->effect, at->orders, at->tokens);
}

static void say_ports(lazy_print *print, const lazy_nodes *ports, const lazy_port_names *names) {
    for (int64_t k = 0; k < ports->n; k++) {
        lazy_say(print, k ? ", " : "");
        if (!name_of(names, k)) {
            program_say_typed(print, ports->at[k]);
            continue;
        }
        say_port_name(print, ports->n, names, k);
        lazy_say(print, ": ");
        say_type(print, ports->at[k]);
    }
}

int program_items_number(const neap_program *program, const lazy_items *items) {
    naming n;
    int status = number_inputs(&n, program, &NOTHING);
    for (int64_t k = 0; k < items->n && status == 0; k++)
        if (items->at[k].node && !program_is_literal(items->at[k].node))
            items->at[k].node->index = naming_next(&n);
    free(n.taken);
    return status;
}

static void say_return(lazy_print *print, const neap_program *program) {
    lazy_say(print, "return");
    for (int64_t k = 0; k < program->outputs.n; k++) {
        lazy_say(print, k ? ", " : " ");
        program_say_operand(print, program->outputs.at[k]);
    }
}

static void say_program_text(lazy_print *print, const char *name, const sheet *s, int depth) {
    const neap_program *program = s->program;
    lazy_say(print, "%*s%s(", 2 * depth, "", name);
    say_ports(print, &program->inputs, &program->input_names);
    lazy_say(print, ")");
    if (program->output_names.at) {
        lazy_say(print, " -> (");
        say_ports(print, &program->outputs, &program->output_names);
        lazy_say(print, ")");
    }
    lazy_say(print, " {\n");
    for (cursor at = FRONT; next_line(s, &at);) {
        const neap_node *node = s->items.at[at.item].node;
        bool made = node && program_is_constructed(node), runs = made && graph_has_programs(node);
        lazy_say(print, "%*s", 2 * depth + 2, "");
        say_line(print, s, &at);
        if (runs)
            say_programs(print, node, depth + 1);
        if (made)
            say_scope(print, s, node);
        lazy_say(print, "\n");
        if (runs && print->status == 0) /* inner programs share constructors */
            print->status = sheet_number(s, &print->reserved);
    }
    lazy_say(print, "%*s", 2 * depth + 2, "");
    say_return(print, program);
    lazy_say(print, "\n%*s}", 2 * depth, "");
}

enum {
    ALONE = 0,
    SHARED = -1
}; /* place of a program that stands in others once, or more often: until it has a number */

/* Finds out which of the programs inside this one stand there more than once. Nesting is bounded (LAZY_MAX_NESTING). */
static int find_shared(const neap_program *program) {
    lazy_items items = {0};
    int status = program_list(program, &items);
    for (int64_t k = 0; k < items.n && status == 0; k++) {
        const neap_node *node = items.at[k].node;
        lazy_inner inner = node && program_is_constructed(node) ? graph_node_programs(node) : (lazy_inner){0};
        for (int p = 0; p < inner.n && status == 0; p++) {
            neap_program *one = inner.programs[p];
            bool met = one->walk == program->ctx->walk.programs;
            one->walk = program->ctx->walk.programs;
            one->place = met ? SHARED : ALONE;
            status = met ? 0 : find_shared(one);
        }
    }
    lazy_vector_free(&items);
    return status;
}

/* A program that stands in many places is printed at the first of them, as @1 and on; elsewhere its name stands. */
static void say_inner(lazy_print *print, neap_program *program, int depth) {
    const neap_program *outer = print->named;
    sheet s = {0};
    char name[16] = "";
    bool known = program->place > 0;
    if (program->place == SHARED)
        program->place = ++print->nshared;
    if (program->place != ALONE)
        snprintf(name, sizeof name, "@%d", program->place);
    if (known) {
        lazy_say(print, "%*s%s\n", 2 * depth, "", name);
        return;
    }
    print->named = program;
    if (print->status == 0)
        print->status = sheet_new(&s, program);
    if (print->status == 0)
        print->status = sheet_number(&s, &print->reserved);
    if (print->status == 0)
        say_program_text(print, name, &s, depth);
    lazy_say(print, "\n");
    sheet_free(&s);
    print->named = outer;
}

/* Keeps the first and the last lines, about half of `lines` each. */
static void cut_lines(lazy_print *print, int lines) {
    char *text = print->text.data, *end = text + print->text.bytes;
    int64_t n = 1, head = lines / 2, tail = lines - head - 1;
    for (char *at = text; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        n++;
    if (n <= lines)
        return;
    char *from = text, *to = end, note[64];
    for (int64_t k = 0; k < head; k++)
        from = (char *)memchr(from, '\n', (size_t)(end - from)) + 1;
    for (int64_t k = 0; k < tail; k++)
        to = memrchr(text, '\n', (size_t)(to - text));
    int bytes = snprintf(note, sizeof note, "  … %lld more lines …", (long long)(n - head - tail));
    lazy_text rest = {0};
    if ((print->status = graph_text_add(&rest, tail ? to : end, (size_t)(tail ? end - to : 0))) == 0) {
        print->text.bytes = (size_t)(from - text);
        print->status = graph_text_add(&print->text, note, (size_t)bytes);
    }
    if (print->status == 0 && rest.bytes)
        print->status = graph_text_add(&print->text, rest.data, rest.bytes);
    graph_text_free(&rest);
}

int program_text(neap_program *program, const lazy_reserved *reserved, int lines, char *text, size_t capacity,
                 size_t *bytes) {
    lazy_print print = {.named = program, .reserved = *reserved, .sites = lines < 0};
    sheet s = {0};
    if (!program->ctx)
        return neap_error(NEAP_E_STATE, "program: its session has ended");
    program->ctx->walk.programs++;
    print.status = find_shared(program);
    if (print.status == 0)
        print.status = sheet_new(&s, program);
    if (print.status == 0)
        print.status = sheet_number(&s, &print.reserved);
    if (print.status == 0)
        say_program_text(&print, "program", &s, 0);
    if (print.status == 0 && lines > 0)
        cut_lines(&print, lines);
    sheet_free(&s);
    return program_print_finish(&print, text, capacity, bytes);
}

int neap_program_text(neap_program *program, int lines, char *text, size_t capacity, size_t *bytes) {
    return program_text(program, &NOTHING, lines, text, capacity, bytes);
}

/* ---- Line by line ------------------------------------------------------------------------------------------------ */
/* What a line shows the values of: a node, or the results that a control node has names for. */
static int list_values(const sheet *s, const cursor *at, lazy_nodes *to) {
    int status = 0;
    if (s->how[at->item] != JOINED)
        return lazy_push(to, s->items.at[at->item].node);
    for (int64_t p = at->part; p < s->parts.n && s->parts.at[p].block == at->item && status == 0; p++)
        if (p == at->part || !same_result(&s->parts.at[p - 1], &s->parts.at[p]))
            status = lazy_push(to, s->parts.at[p].node);
    return status;
}

static int list_line(lazy_print *print, const sheet *s, const cursor *at, program_lines *out) {
    const lazy_item *item = &s->items.at[at->item];
    program_line line = {.from = print->text.bytes, .node = item->node, .effect = item->effect, .first = out->values.n};
    say_line(print, s, at);
    line.to = print->text.bytes;
    int status = print->status;
    if (status == 0 && item->node)
        status = list_values(s, at, &out->values);
    line.n = out->values.n - line.first;
    return status ? status : lazy_push(&out->lines, line);
}

/* A line that only the ports of the program make: the last one for its outputs, for the others an input each. */
static int list_ports(lazy_print *print, const neap_program *program, neap_node *input, program_lines *out) {
    program_line line = {.from = print->text.bytes, .node = input, .first = out->values.n};
    int status = 0;
    if (input)
        program_say_typed(print, input);
    else
        say_return(print, program);
    line.to = print->text.bytes;
    line.n = input ? 1 : program->outputs.n;
    for (int64_t k = 0; k < line.n && status == 0; k++)
        status = lazy_push(&out->values, input ? input : program->outputs.at[k]);
    status = status ? status : print->status;
    return status ? status : lazy_push(&out->lines, line);
}

static int list_lines(lazy_print *print, const sheet *s, program_lines *out) {
    int status = 0;
    for (int64_t k = 0; k < s->program->inputs.n && status == 0; k++)
        status = list_ports(print, s->program, s->program->inputs.at[k], out);
    for (cursor at = FRONT; status == 0 && next_line(s, &at);)
        status = list_line(print, s, &at, out);
    return status ? status : list_ports(print, s->program, NULL, out);
}

int program_list_lines(const neap_program *program, program_lines *out) {
    lazy_print print = {.named = program};
    sheet s = {0};
    if (!program->ctx)
        return neap_error(NEAP_E_STATE, "program: its session has ended");
    int status = sheet_new(&s, program);
    if (status == 0)
        status = sheet_number(&s, &NOTHING);
    if (status == 0)
        status = list_lines(&print, &s, out);
    sheet_free(&s);
    out->text = print.text;
    return status;
}

void program_lines_free(program_lines *lines) {
    lazy_vector_free(&lines->lines);
    lazy_vector_free(&lines->values);
    graph_text_free(&lines->text);
}
