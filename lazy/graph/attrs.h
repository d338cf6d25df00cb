/* attrs.h: the names of an op's attributes, as its row gives them: "axis", "width shape…", "(start step count)…". */
#ifndef LAZY_ATTRS_H
#define LAZY_ATTRS_H

#include "lazy/op.h"

enum { LAZY_MAX_ATTR_NAMES = 16 };

typedef struct lazy_attr_word {
    const char *at; /* not terminated. BORROWED from the row */
    int bytes;
} lazy_attr_word;

/* Attribute k is called names[k] if k < nfixed; behind that, groups of nrepeat names follow each other. */
typedef struct lazy_attr_names {
    int nfixed, nrepeat;
    lazy_attr_word names[LAZY_MAX_ATTR_NAMES];
} lazy_attr_names;

lazy_attr_names graph_attr_names_of(const lazy_op *row);
/* The name of attribute k; of one that the row does not name, an empty one. */
lazy_attr_word graph_attr_name(const lazy_attr_names *names, int k);
/* Is the attribute the number of a sharding? Such are called "sharding", "outside" or "inside". */
bool graph_attr_is_sharding(lazy_attr_word name);
/* Is the attribute the number of a dtype? Such are called "dtype". */
bool graph_attr_is_dtype(lazy_attr_word name);

#endif
