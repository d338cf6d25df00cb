/* entries.h: the forms of jitted functions and their entries, and how they are found.
 *
 * An entry stands in four places: in two hash tables of its form, by what its leaves are and by its number; in a list
 * of its form, the one used last first; and in a list of its context, whose end goes first when the entries of a
 * context take too many bytes. So a call looks at as many entries as fit it, and no place is searched.
 *
 * The hash of leaves is of what a placeholder has in common with the arrays that fit it, and of the default device, on
 * which what is uncommitted was planned. Entries with the same hash are
 * in their bucket by last use too: of several that fit, the one used last is taken.
 */
#ifndef NEAP_PROGRAM_ENTRIES_H
#define NEAP_PROGRAM_ENTRIES_H

#include "lazy/jit.h"
#include "lazy/program/donate.h"

typedef struct leaf_use {
    neap_node *node; /* SAME: the array, one reference; NONE: NULL; else the program's placeholder, BORROWED from it */
    uint8_t use;     /* NEAP_LEAF_… */
} leaf_use;

typedef struct jit_entry {
    neap_form *form;
    struct jit_entry *next, **link;             /* of the form; the one used last comes first */
    struct jit_entry *older, *newer;            /* of the context, by the last call */
    struct jit_entry *next_alike, *next_number; /* in the buckets */
    uint64_t hash;                              /* of what the leaves are, and of `home` */
    int32_t home;                               /* the default device when it was made (graph_default_device) */
    neap_program *program;
    int32_t number;
    bool plain, guarded, planned; /* guarded: a number must be integral; planned: its program has run */
    leaf_use *uses;               /* by leaf */
    lazy_nodes fixed;             /* the last inputs of the program; one reference each */
    int32_t *results;             /* ids */
    lazy_donation donation;       /* n is 0: nothing is donated */
    neap_entry_info info;
} jit_entry;

struct neap_form {
    neap_jit *jit;
    neap_form *next;
    int32_t n;
    uint8_t *is_number; /* by leaf */
    int32_t *ids;
    double *values;
    neap_node **nodes;   /* of the call at hand; NULL: no array. BORROWED */
    neap_node **numbers; /* nodes for numbers, used again. One reference each, or NULL */
    neap_node **inputs;  /* of the program at hand */
    int64_t ninputs;     /* the capacity of `inputs` */
    jit_entry *entries;
    jit_entry **alike, **numbered; /* buckets, by the leaves and by the number; one allocation */
    int64_t count, buckets;        /* of entries; a power of two, or 0 */
    int32_t site;                  /* of the next call that donates */
    int status;                    /* the status of the last call */
    int32_t number;                /* the number of the entry that fitted the last call; 0: none did */
};

struct neap_jit {
    neap_ctx *ctx; /* NULL once that has ended */
    neap_jit *next, **link;
    neap_form *forms;
    bool keeps;                   /* what programs compute of own arrays is kept, too */
    int32_t numbers;              /* of entries, used so far */
    LAZY_VECTOR(int32_t) dropped; /* numbers of entries that went, which Lua has not heard of */
};

/* The entry that fits the nodes of the form, which is then the one used last; NULL: none does. Sets the inputs of its
 * program, and *leveled to whether one of them belongs to an open level. */
jit_entry *entries_find(neap_form *form, bool *leveled);
/* Notes that it was called. */
void entries_touch(jit_entry *entry);
/* The program has been planned: its bytes are counted again. */
void entries_weigh(jit_entry *entry);

#endif
