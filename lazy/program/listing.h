/* listing.h: a program as a list of its ops and effects, in one order (listing.c). */
#ifndef LAZY_LISTING_H
#define LAZY_LISTING_H

#include "lazy/effect/effect.h"
#include "lazy/program/program.h"

typedef struct lazy_item {     /* BORROWED */
    neap_node *node;           /* an op, a number, or data; no input */
    const lazy_effect *effect; /* if node is NULL: a print */
} lazy_item;
typedef LAZY_VECTOR(lazy_item) lazy_items;

/* Appends the program's items: nodes behind what they read, prints as soon as what they show is there, effects in their
 * order. All nodes of the list, and the inputs, are marked (node->mark == ctx->walk.epoch); their index is not used by
 * it any more. */
int program_list(const neap_program *program, lazy_items *out);
/* The orders in which an effect stands, whose tokens it takes and gives: a bit for each. Order 0 is the common one, and
 * 1 + kind that of a kind that has an order of its own now; 0: it is unordered, or no effect. */
int program_orders(const neap_program *program, const lazy_item *item);
enum { LAZY_ORDERS = 1 + NEAP_EFFECT_MOST };
/* print.c: numbers its items for the printed form (print.h). */
int program_items_number(const neap_program *program, const lazy_items *items);

#endif
