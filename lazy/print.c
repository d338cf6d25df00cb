/* print.c: the printed form of nodes and of programs (print.h has an example of a line).
 *
 *      program(a: f32[2], b: number) {
 *        c: f32[2] = multiply a 2
 *        print[ordered] c
 *        return c
 *      }
 */
#include "lazy/print.h"

#include <stdio.h>
#include <string.h>

#include "lazy/effect.h"
#include "lazy/program.h"

/* ---- Nodes -------------------------------------------------------------------------------------------------------- */
bool lazy_is_literal(const neap_node *node) {
    return lazy_is_number(node) && !(node->flags & LAZY_ABSTRACT);
}

/* Names a, b, … z, a1, b1, … by number. */
void lazy_say_operand(lazy_print *print, const neap_node *node) {
    if (lazy_is_literal(node))
        lazy_say(print, "%.9g", node->value);
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
    lazy_say(print, "]");
}

void lazy_say_typed(lazy_print *print, const neap_node *node) {
    lazy_say_operand(print, node);
    lazy_say(print, ": ");
    say_type(print, node);
}

/* "[ordered]", and where the function is. */
static void say_callback(lazy_print *print, const lazy_callback *callback) {
    const char *order = callback->unordered ? "unordered" : "ordered";
    if (callback->kind == NEAP_EFFECT_CALLBACK)
        lazy_say(print, "[%s]", order);
    else
        lazy_say(print, "[%s %s]", lazy_effect_kind(callback->kind), order);
    lazy_say(print, " %s", callback->name);
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

/* The attributes in order. The row says which of them is a dtype. */
static void say_attributes(lazy_print *print, const neap_node *node) {
    const char *name = lazy_node_op(node)->attrs;
    for (int k = 0; k < node->nattrs; k++) {
        size_t bytes = name ? strcspn(name, " ") : 0;
        lazy_say(print, k ? " " : "[");
        if (bytes == 5 && memcmp(name, "dtype", 5) == 0)
            lazy_say(print, "%s", neap_dtype_name((int)node->attrs[k]));
        else
            lazy_say(print, "%lld", (long long)node->attrs[k]);
        name = bytes && name[bytes] ? name + bytes + 1 : NULL;
    }
    if (node->nattrs)
        lazy_say(print, "]");
}

void lazy_say_call(lazy_print *print, const neap_node *node) {
    const lazy_op *row = lazy_node_op(node);
    lazy_say(print, "%s", row->name);
    if (row->flags & LAZY_OP_EFFECT)
        say_callback(print, lazy_callback_of(node));
    else if (row->kind == LAZY_REDUCE)
        say_axes(print, node);
    else
        say_attributes(print, node);
    for (int k = 0; k < node->nin; k++) {
        lazy_say(print, " ");
        lazy_say_operand(print, node->in[k]);
    }
}

int lazy_print_finish(lazy_print *print, char *text, size_t capacity, size_t *bytes) {
    *bytes = print->text.bytes;
    if (print->status == 0 && print->text.bytes)
        memcpy(text, print->text.data, print->text.bytes < capacity ? print->text.bytes : capacity);
    lazy_text_free(&print->text);
    return print->status;
}

/* ---- Programs ----------------------------------------------------------------------------------------------------- */
/* The prints from *next on, up to the next callback. */
static void say_prints(lazy_print *print, const neap_program *program, int64_t *next) {
    for (; *next < program->effects.n && !program->effects.at[*next]->callback; ++*next) {
        const lazy_effect *effect = program->effects.at[*next];
        lazy_say(print, "  %s[%s]", lazy_effect_kind(effect->how.kind),
                 effect->how.unordered ? "unordered" : "ordered");
        for (int64_t k = 0; k < effect->nodes.n; k++) {
            lazy_say(print, " ");
            lazy_say_operand(print, effect->nodes.at[k]);
        }
        lazy_say(print, "\n");
    }
}

static void say_node(lazy_print *print, const neap_node *node) {
    lazy_say(print, "  ");
    lazy_say_typed(print, node);
    lazy_say(print, " = ");
    if (node->flags & LAZY_ABSTRACT)
        lazy_say_call(print, node);
    else
        lazy_say(print, "captured %s", node->buffer || !(node->flags & LAZY_CONSTRUCTED) ? "array" : "constructor");
    lazy_say(print, "\n");
}

int64_t lazy_program_name(neap_program *program) {
    uint32_t next = 0;
    program->ctx->epoch++;
    for (int64_t k = 0; k < program->inputs.n; k++) {
        program->inputs.at[k]->mark = program->ctx->epoch;
        program->inputs.at[k]->index = next++;
    }
    for (int64_t k = 0; k < program->nodes.n; k++) {
        neap_node *node = program->nodes.at[k];
        if (node->mark == program->ctx->epoch || lazy_is_literal(node))
            continue;
        node->mark = program->ctx->epoch;
        node->index = next++;
    }
    return next;
}

static void say_program(lazy_print *print, neap_program *program) {
    int64_t effect = 0;
    lazy_program_name(program);
    lazy_say(print, "program(");
    for (int64_t k = 0; k < program->inputs.n; k++) {
        lazy_say(print, k ? ", " : "");
        lazy_say_typed(print, program->inputs.at[k]);
    }
    lazy_say(print, ") {\n");
    for (int64_t k = 0; k < program->nodes.n; k++) {
        const neap_node *node = program->nodes.at[k];
        if (node->op == LAZY_OP_placeholder || lazy_is_literal(node))
            continue;
        if (lazy_node_op(node)->flags & LAZY_OP_EFFECT) {
            say_prints(print, program, &effect);
            effect++;
        }
        say_node(print, node);
    }
    say_prints(print, program, &effect);
    lazy_say(print, "  return");
    for (int64_t k = 0; k < program->outputs.n; k++) {
        lazy_say(print, k ? ", " : " ");
        lazy_say_operand(print, program->outputs.at[k]);
    }
    lazy_say(print, "\n}");
}

int neap_program_text(neap_program *program, char *text, size_t capacity, size_t *bytes) {
    lazy_print print = {0};
    say_program(&print, program);
    return lazy_print_finish(&print, text, capacity, bytes);
}
