/* control.c: the rows of control flow: calls, branches and loops over programs. What they do is in lazy/control; here
 * is what they look like as nodes.
 *
 * Inputs, and programs with their inputs ("own": the inputs of the node that this program alone reads):
 *
 *      call    in: operands…, own of each program…         programs: (operands…, own…), then those of its rule
 *      cond    in: index, operands…, own of each branch…   branches: (operands…, own…)
 *      while_loop  in: carries…, own of both…                  condition, body: (carries…, own…)
 *      scan    in: carries…, xs…, own…                     body: (carries…, slices of xs…, own…), which gives
 *                                                          carries, ys
 *
 * The value is a block of bytes, of which `part` nodes are the results.
 */
#include <string.h>

#include "lazy/control/control.h"
#include "lazy/derive/derive.h"

/* The node refers to a record in C's memory, so nobody but control/mesh.c may make one. */
static int refuse_op(const lazy_call_desc *call, lazy_result *out) {
    (void)call;
    (void)out;
    return neap_error(NEAP_E_ARGUMENT, "control flow is recorded by neap_control_push");
}

enum { PART_RESULT, PART_OFFSET, PART_DTYPE, PART_SHAPE }; /* attributes of a part */

static int part_dtype(const lazy_call_desc *call, lazy_result *out) {
    if (call->nattrs < PART_SHAPE || call->attrs[PART_DTYPE] < 0 || call->attrs[PART_DTYPE] >= NEAP_DTYPE_COUNT)
        return neap_error(NEAP_E_DTYPE, "part: no such dtype");
    out->compute = NEAP_DTYPE_U8;
    out->dtype = (uint8_t)call->attrs[PART_DTYPE];
    return 0;
}

static int part_shape(const lazy_call_desc *call, lazy_result *out) {
    int64_t bytes = neap_dtype_bytes(out->dtype), place = call->attrs[PART_OFFSET], room = call->in[0].size - place;
    int ndim = call->nattrs - PART_SHAPE;
    if (ndim > NEAP_MAX_DIMS || place < 0 || call->in[0].dtype != NEAP_DTYPE_U8)
        return neap_error(NEAP_E_SHAPE, "part: bad place or shape, or not of a block");
    out->ndim = (uint8_t)ndim;
    for (int k = 0; k < ndim; k++) {
        out->shape[k] = call->attrs[PART_SHAPE + k];
        if (out->shape[k] < 0 || __builtin_mul_overflow(bytes, out->shape[k], &bytes))
            return neap_error(NEAP_E_SHAPE, "part: bad size of an axis");
    }
    return bytes <= room ? 0 : neap_error(NEAP_E_SHAPE, "part: reads behind the end of the block");
}

static int part_call(const lazy_call *call, const neap_run *run) {
    (void)run;
    size_t bytes = (size_t)call->out->size * (size_t)neap_dtype_bytes(call->out->dtype);
    if (bytes)
        memcpy(call->out->data, (const char *)call->in[0].data + call->attrs[PART_OFFSET], bytes);
    return 0;
}

static bool part_begins(const int64_t *attrs) {
    return attrs[PART_OFFSET] == 0;
}

static bool part_intrinsic(const lazy_call *call, lazy_intrinsic *out) {
    *out = (lazy_intrinsic){.what = LAZY_INTRINSIC_COPY, .first = call->attrs[PART_OFFSET]};
    return true;
}

static int part_batch(lazy_batching *g) {
    return derive_batch_part(g, (int)graph_node_attrs(g->node)[PART_RESULT]);
}

static int results(const neap_node *node) {
    return control_of(node)->nresults;
}

/* clang-format off */
NEAP_OP(call,
    .doc = "A program, run as one step; where a program is run, the ops of a function with a rule stand in its place. "
           "The rule says how the call is differentiated: 0, by itself (reverse mode runs it again); 1, by programs "
           "for reverse mode; 2, by a program for forward mode; 3, as 0, after a derivative has used its rule; 4, as "
           "3, and a batch is made by a rule. Behind its `results` there may be residuals.",
    .attrs = "control rule operands results own…", .kind = LAZY_CALL, .arity = 255, .types = LAZY_ANY,
    .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN, .payload = &control_payload, .control = &control_call, .dtype = refuse_op,
    .results = results, .grad = control_call_grad, .jvp = control_call_jvp, .batch = control_call_batch)

NEAP_OP(cond,
    .doc = "One of several programs: the one that the index, an i32, counts from 0; it is clamped.",
    .attrs = "control operands own…", .kind = LAZY_CALL, .arity = 255, .types = LAZY_ANY,
    .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN, .payload = &control_payload, .control = &control_cond, .dtype = refuse_op,
    .results = results,
    .grad = control_cond_grad, .jvp = control_cond_jvp, .batch = control_cond_batch)

NEAP_OP(while_loop,
    .doc = "Runs the second program on the carries, again and again, while the first gives true for them.",
    .attrs = "control carries own", .kind = LAZY_CALL, .arity = 255, .types = LAZY_ANY,
    .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN, .payload = &control_payload, .control = &control_while, .dtype = refuse_op,
    .results = results,
    .grad = control_while_grad, .jvp = control_loop_jvp, .batch = control_while_batch)

NEAP_OP(scan,
    .doc = "Runs a program for each part of the first axis of the xs, in order or in reverse: it takes the carries and "
           "the parts, and gives the next carries and ys, which are stacked along a new first axis.",
    .attrs = "control length reverse unroll carries xs", .kind = LAZY_CALL, .arity = 255, .types = LAZY_ANY,
    .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN, .payload = &control_payload, .control = &control_scan, .dtype = refuse_op,
    .results = results,
    .grad = control_scan_grad, .jvp = control_loop_jvp, .batch = control_scan_batch)
NEAP_OP(part,
    .doc = "One result of control flow: the bytes of its block from a place on, as an array of a dtype and shape.",
    .attrs = "result place dtype shape…", .kind = LAZY_CALL, .arity = 1, .types = LAZY_INT,
    .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN | LAZY_OP_PROMPT | LAZY_OP_PART, .dtype = part_dtype, .shape = part_shape,
    .call = part_call, .begins = part_begins, .intrinsic = part_intrinsic, .batch = part_batch,
    .expand = control_part_expand)
/* clang-format on */
