/* refit.h: programs for other inputs than those with which they were recorded: other sizes, dtypes, devices, meshes.
 *
 * The ops of the program are recorded again, on placeholders for what it is called with, through the recorder that
 * everything goes through: so rules infer shapes and dtypes anew. What they cannot infer are sizes that stand in
 * attributes, and numbers that were computed from sizes. A row says how its attributes follow (lazy_op.follow); a
 * number follows if the library has said what it counts, and else stays.
 *
 *      f32[32,3] ── reshape[shape=96] ── sum ── divide 96         recorded; 96 counts elements (a mean)
 *      f32[64,3] ── reshape[shape=192] ─ sum ── divide 192        for an input of 64 rows
 *
 * Invariants:
 *   - What were equal sizes where axes met stay equal: nothing broadcasts now that did not when it was recorded.
 *   - An axis that is met later may tell about a size that was asked for earlier: then all is recorded once more.
 *   - A size that might follow or stay, and a number that might be one of the sizes that change, are errors.
 */
#ifndef LAZY_REFIT_H
#define LAZY_REFIT_H

#include "lazy/program/program.h"

typedef struct lazy_size { /* of an axis, or of some axes together */
    int64_t was, now;
} lazy_size;
typedef LAZY_VECTOR(lazy_size) lazy_size_list;

typedef struct lazy_refit { /* a program that is being recorded for other inputs */
    neap_ctx *ctx;
    neap_program *program;
    struct lazy_refit *around; /* of the program whose loop or branch this is; NULL: none */
    int level;
    bool resized;                  /* some size is another one */
    uint32_t recast;               /* the dtypes that some inputs had and have no more, as bits */
    int from, to;                  /* committed inputs have moved between these devices; -1: they have not */
    lazy_size_list axes, products; /* each pair once */
    LAZY_VECTOR(uint8_t) told;     /* by value: is it made of inputs or data, so that its sizes are evidence? */
    LAZY_VECTOR(int64_t) missed;   /* sizes that were asked for when no axis had had them; counts as -count */
    lazy_nodes now;                /* by value: inputs, then items. One reference each */
    char *doubt;                   /* what is wrong with a number, which is told if no op fails; NULL: nothing */
    LAZY_VECTOR(int32_t) links;    /* what items read, as values, one item after the other, and the outputs */
    LAZY_VECTOR(int32_t) counts;   /* how many links items have; DATA: the item is data, or a number */
} lazy_refit;

/* What the rule of a row gets. It changes those attributes that follow. */
struct lazy_follow {
    lazy_refit *refit;
    const neap_node *node; /* as it was recorded */
    neap_node *const *in;  /* what it reads now */
    int64_t *attrs;        /* as they were recorded; the node has room for no others */
};

/* What an input of a program is to be. */
typedef struct lazy_port {
    lazy_result type;
    bool weak;
    bool yields, fraction; /* a weak array, of fractions */
    int device;            /* -1: committed to none */
    const struct lazy_sharding *sharding;
} lazy_port;

/* refit.c: the program for inputs of these types; OWNED. Errors name the op, its line, and the inputs that differ. */
int program_refit(neap_ctx *ctx, neap_program *program, lazy_refit *around, const lazy_port *ports, neap_program **out);
/* A node as an input of another program. */
lazy_port program_port_of(const neap_node *node);

/* follow.c --------------------------------------------------------------------------------------------------------- */
/* Notes the sizes of a node and of what it has become. */
int program_follow_note(lazy_refit *r, const neap_node *was, const neap_node *now);
/* Was a size asked for too early, of which an axis tells now? */
bool program_follow_again(const lazy_refit *r);
/* A size in an attribute that nothing else tells about: that of the axes of the same size, if all of them agree. */
int program_follow_size(const lazy_follow *f, int64_t *size);
/* How many different sizes the axes have become that were `size`, up to 2; *now is set if it is 1. */
int program_follow_known(lazy_refit *r, int64_t size, int64_t *now);
/* The value of a number of the program: of one that counts elements, the new count. */
int program_follow_number(lazy_refit *r, const neap_node *node, double *value);
/* Now that all sizes are known: an error for a number that may have been computed from one that is another now. */
int program_follow_suspect(const lazy_refit *r, const neap_node *node);
/* As graph_record's broadcasting: operands whose sizes were equal must be equal. */
int program_follow_meet(const neap_node *was, neap_node *const *in);

#endif
