/* lower_scope.c: addresses of bodies inside each other (lower_scope.h). */
#include "lazy/control/lower_scope.h"

lower_scope lower_scope_inside(const lower_scope *outer, const body_item *node, int b) {
    int64_t data = (int64_t)(body_round(outer->body->scratch) + node->inner->second);
    return (lower_scope){
        .body = node->inner->bodies[b], .scratch = outer->scratch + data, .outer = outer, .node = node};
}

/* The bytes that what is at an address of a loop's body moves by in a turn. */
static int64_t move_of(const lazy_runner *runner, const lazy_body *body, const body_address *address) {
    int32_t k = address->index - runner->operands;
    int64_t bytes = 0;
    if (runner->kind->stacks && address->from == BODY_INPUT && k >= 0 && k < runner->xs)
        bytes = runner->in_bytes[body->input_at[address->index]];
    else if (runner->kind->stacks && address->from == BODY_OUTPUT && k >= 0)
        bytes = runner->out_bytes[address->index];
    return runner->reverse ? -bytes : bytes;
}

lower_place lower_scope_place(const lazy_runner *runner, const lower_scope *in, body_address a) {
    for (; in->outer; in = in->outer) {
        const lazy_runner *inner = in->node->inner;
        int64_t offset = a.offset;
        if (a.from == BODY_BUFFER)
            return (lower_place){
                .from = LOWER_BUFFER, .address.offset = offset, .buffer = in->body->buffers.at[a.index]};
        if (a.from == BODY_SCRATCH) {
            a.offset += in->scratch;
            while (in->outer)
                in = in->outer;
            break;
        }
        int32_t k = a.from == BODY_INPUT ? in->body->input_at[a.index] : inner->nin;
        offset += a.from == BODY_INPUT ? 0 : inner->places[a.index];
        a = in->outer->body->pointers.at[in->node->first + k];
        a.offset += offset;
    }
    return (lower_place){
        .from = LOWER_ADDRESS, .which = in->which, .address = a, .move = move_of(runner, in->body, &a)};
}

bool lower_place_same(const lower_place *a, const lower_place *b) {
    return a->from == b->from && a->which == b->which && a->address.from == b->address.from &&
           a->address.index == b->address.index && a->address.offset == b->address.offset && a->buffer == b->buffer;
}
