/* drawn.h: how an element of a draw is made by itself (drawn.c), for the rows of random.c. */
#ifndef LAZY_OPS_DRAWN_H
#define LAZY_OPS_DRAWN_H

#include "lazy/op.h"

extern const lazy_drawn drawn_bits, drawn_floats, drawn_integers;

#endif
