/* turns_scope.h: bodies inside each other, as the code of a loop goes through them: what an address of an inner body
 * means in the body of the loop. Private to turns_*.c.
 *
 * An operand of a node is a pointer of the body around it, and so are its results; its scratch lies behind that of the
 * body around it, as if it were run by itself.
 */
#ifndef LAZY_TURNS_SCOPE_H
#define LAZY_TURNS_SCOPE_H

#include "lazy/control/turns.h"

typedef struct turns_scope { /* a body that is gone through */
    const lazy_body *body;
    int which;                       /* of the loop's, if it is one */
    int64_t scratch;                 /* where its scratch begins in that of the loop */
    const struct turns_scope *outer; /* of a node inside; NULL */
    const body_item *node;           /* of the outer body */
} turns_scope;

/* Body b of a node that is no loop. */
turns_scope turns_scope_inside(const turns_scope *outer, const body_item *node, int b);
/* What an address of the body means in the loop's, in its first turn, and how that moves. */
turns_place turns_scope_place(const lazy_runner *runner, const turns_scope *in, body_address a);
/* The same of pointer `slot` of an item, some bytes on. */
static inline turns_place turns_scope_pointer(const lazy_runner *runner, const turns_scope *in, const body_item *item,
                                              int slot, int64_t offset) {
    body_address a = in->body->pointers.at[item->first + slot];
    a.offset += offset;
    return turns_scope_place(runner, in, a);
}
bool turns_place_same(const turns_place *a, const turns_place *b);

#endif
