/* lower_scope.h: bodies inside each other, as the code of a loop goes through them: what an address of an inner body
 * means in the body of the loop. Private to lower_*.c.
 *
 * An operand of a node is a pointer of the body around it, and so are its results; its scratch lies behind that of the
 * body around it, as if it were run by itself.
 */
#ifndef LAZY_LOWER_SCOPE_H
#define LAZY_LOWER_SCOPE_H

#include "lazy/control/lower.h"

typedef struct lower_scope { /* a body that is gone through */
    const lazy_body *body;
    int which;                       /* of the loop's, if it is one */
    int64_t scratch;                 /* where its scratch begins in that of the loop */
    const struct lower_scope *outer; /* of a node inside; NULL */
    const body_item *node;           /* of the outer body */
} lower_scope;

/* Body b of a node that is no loop. */
lower_scope lower_scope_inside(const lower_scope *outer, const body_item *node, int b);
/* What an address of the body means in the loop's, in its first turn, and how that moves. */
lower_place lower_scope_place(const lazy_runner *runner, const lower_scope *in, body_address a);
/* The same of pointer `slot` of an item, some bytes on. */
static inline lower_place lower_scope_pointer(const lazy_runner *runner, const lower_scope *in, const body_item *item,
                                              int slot, int64_t offset) {
    body_address a = in->body->pointers.at[item->first + slot];
    a.offset += offset;
    return lower_scope_place(runner, in, a);
}
bool lower_place_same(const lower_place *a, const lower_place *b);

#endif
