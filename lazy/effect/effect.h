/* effect.h: effects as the lazy room sees them: prints, callbacks and control flow with effects in its bodies, which
 * happen at once or belong to a program.
 *
 *      print     ─▶ text pieces and arrays ─▶ neap_effects_push       at once, or a lazy_effect of the open trace
 *      callback  ─▶ node `callback` ─flush─▶ neap_effects_request     at once, or a node and a lazy_effect of the trace
 *
 * The effects of a trace stand in one list, in the order in which they were recorded. What a print reads, and the node
 * of a callback or of control flow, are roots of the program, ahead of its outputs: so no effect is ever left out, and
 * the steps of a run come in that order.
 */
#ifndef LAZY_EFFECT_H
#define LAZY_EFFECT_H

#include "lazy/effect/exchange.h"
#include "lazy/graph/graph.h"

/* Effects of nodes and programs: a bit for each kind with ordered ones, and three more. */
enum {
    LAZY_EFFECTS_ORDERED = (1 << NEAP_EFFECT_MOST) - 1, /* all of the kinds */
    LAZY_EFFECTS_UNORDERED = 1 << NEAP_EFFECT_MOST,
    LAZY_EFFECTS_CALLBACK = 2 << NEAP_EFFECT_MOST,
    LAZY_EFFECTS_EXCHANGE = 4 << NEAP_EFFECT_MOST /* collectives between processes */
};

/* An array that lies in blocks (graph_format_blocks), each a node of its own. */
typedef struct lazy_layout {
    uint8_t ndim;
    bool cut;
    int64_t shape[NEAP_MAX_DIMS], parts[NEAP_MAX_DIMS];
} lazy_layout;

typedef struct lazy_fragment { /* of a print: a text, or an array */
    char *text;                /* of an array: a conversion for its only element (format.h), or NULL for its text */
    size_t bytes;              /* of the text, which ends in a NUL besides */
    int32_t first, n;          /* of an array: where its n nodes are among those of the print; n is 0 for a text */
    lazy_layout *layout;       /* of an array in blocks: how its n nodes make it up; NULL: n is 1 at most */
} lazy_fragment;

struct lazy_effect {
    neap_node *node; /* of a callback, or of control flow; NULL: a print */
    neap_emit how;
    int nfragments;
    lazy_fragment *fragments;
    lazy_nodes nodes; /* what becomes a root: the arrays of a print, or the node. One reference each */
    neap_node
        *after;    /* of a print: the node of the trace that was recorded last before it; NULL: none. One reference */
    int64_t place; /* in a program, in place of that: how many of its nodes come before it, to a replay */
};

/* What a call of a Lua function needs when its turn has come, and who may still need it: nodes and requests in flight.
 * Any thread may let go of it; with the last one its callee is queued for Lua to forget. */
struct lazy_callback {
    _Atomic int32_t refs;
    int32_t callee; /* 0: recording it failed, and Lua knows */
    int32_t kind, unordered, tolerant, nresults;
    int32_t pure, family; /* as in neap_callback */
    uint64_t numbers;
    lazy_callback *owner; /* of a batch of calls: that of one, which has the callee. One reference; else NULL */
    uint64_t serial;      /* its place among the context's effects, in the order of recording */
    neap_ctx *ctx;
    lazy_callback *next; /* in the queue of the dropped */
    const char *name, *site;
    int64_t bytes; /* of the block of results */
    int64_t *offsets;
    neap_spec *results;
};

/* effect.c --------------------------------------------------------------------------------------------------------- */
/* What an effect of a program does, LAZY_EFFECTS_…, and its script line; NULL: unknown. */
int effect_bits(const lazy_effect *effect);
const char *effect_site(neap_ctx *ctx, const lazy_effect *effect);
/* The innermost trace that effects recorded now belong to; NULL: they happen. */
static inline lazy_level *effect_open_trace(neap_ctx *ctx) {
    return graph_open_trace(ctx);
}
/* neap_print of fragments (BORROWED) of these nodes: now, or as an effect of the open trace. */
int effect_print_nodes(neap_ctx *ctx, const neap_emit *how, int n, const lazy_fragment *fragments,
                       neap_node *const *nodes);
/* Prints now. The nodes have buffers. */
int effect_print_push(neap_ctx *ctx, const neap_emit *how, int n, const lazy_fragment *fragments,
                      neap_node *const *nodes);
void effect_free(neap_ctx *ctx, lazy_effect *effect);
/* Takes back the effects that a trace recorded after its first n. */
void effect_cut(neap_ctx *ctx, lazy_level *trace, int64_t n);
/* Makes a node an effect of the trace. */
int effect_record(neap_ctx *ctx, lazy_level *trace, neap_node *node);
/* A print in a program's body, with copies of its texts. data[k] is the memory of its array k; an error, if it is not
 * NULL, stands where the arrays would. The print is written at once, or pushed as an effect of its kind. */
typedef struct lazy_message lazy_message;
lazy_message *effect_message_new(const lazy_effect *effect); /* OWNED */
void effect_message_free(lazy_message *message);
int effect_message_write(const lazy_message *message, void *const *data, const char *error);
int effect_message_push(neap_effects *effects, const lazy_message *message, void *const *data, const char *error);

/* shard/print_blocks.c --------------------------------------------------------------------------------------------- */
typedef struct lazy_shown {               /* a print of ordinary nodes; all zero is empty */
    LAZY_VECTOR(lazy_fragment) fragments; /* their texts are BORROWED from those given, or from `tags` */
    LAZY_VECTOR(char *) tags;             /* texts that were made for this print */
    lazy_nodes nodes;                     /* one reference each */
} lazy_shown;
/* Whether arrays of the print lie on several devices and have blocks. */
bool effect_show_needed(int n, const lazy_fragment *fragments, neap_node *const *nodes);
/* Makes a print of the blocks of these arrays. `how` says where it goes; NULL: this process reads the text, so all
 * blocks must be in it (else NEAP_E_STATE). *out is to be freed in any case. */
int effect_show(neap_ctx *ctx, const neap_emit *how, int n, const lazy_fragment *fragments, neap_node *const *nodes,
                lazy_shown *out);
void effect_shown_free(neap_ctx *ctx, lazy_shown *shown);

/* edges.c ---------------------------------------------------------------------------------------------------------- */
/* The elements of a node that prints show, along each axis: a node in the arena, NULL after an error. */
neap_node *effect_edges_of(neap_ctx *ctx, neap_node *node);
/* Whether a print has large arrays of which it should be given the edges alone. */
bool effect_edges_needed(neap_ctx *ctx, int n, const lazy_fragment *fragments, neap_node *const *nodes);
/* Makes a print of the edges. *out is to be freed (effect_shown_free) in any case. */
int effect_edges(neap_ctx *ctx, int n, const lazy_fragment *fragments, neap_node *const *nodes, lazy_shown *out);

/* callback.c ------------------------------------------------------------------------------------------------------- */
extern const lazy_payload effect_callback_payload; /* of the row `callback` */
static inline bool effect_is_callback(const neap_node *node) {
    return graph_node_op(node)->payload == &effect_callback_payload;
}
static inline lazy_callback *effect_callback_of(const neap_node *node) {
    return (lazy_callback *)(intptr_t)node->attrs[0];
}
/* As users call it, in errors. */
static inline const char *effect_callback_name(const lazy_callback *callback) {
    return callback->pure ? "pure_callback" : "callback";
}
lazy_callback *effect_callback_retain(lazy_callback *callback);
/* OWNED; it takes over how->callee, of which Lua hears when nobody needs it any more. */
int effect_callback_new(neap_ctx *ctx, const neap_callback *how, lazy_callback **out);
void effect_callback_release(lazy_callback *callback);
/* Records a further call of the callback on n arrays and starts it, or makes it an effect of the open trace. OWNED. */
neap_node *effect_callback_again(neap_ctx *ctx, lazy_callback *callback, int n, neap_node *const *in);
void effect_callback_free_all(neap_ctx *ctx);

/* The node of result k of a call. OWNED. */
neap_node *effect_callback_part(neap_ctx *ctx, neap_node *call, int k);

/* pure.c ----------------------------------------------------------------------------------------------------------- */
/* Whether what has these effects, LAZY_EFFECTS_…, may be left out. */
static inline bool effect_is_pure(int bits) {
    return bits == LAZY_EFFECTS_CALLBACK;
}
/* Whether derivatives are given its results, and do not call it again. */
static inline bool effect_asks_once(const lazy_callback *callback) {
    return callback->nresults > 0 && !callback->pure;
}
/* Whether a batch of these calls is one call. */
static inline bool effect_calls_at_once(const lazy_callback *callback) {
    return callback->pure > NEAP_PURE_SEQUENTIAL;
}
/* The trace that a node with no other effects belongs to, by its inputs; NULL: none. */
lazy_level *effect_pure_trace(neap_ctx *ctx, int n, neap_node *const *in);
/* The call of the trace that such a call is equal to; NULL: none. BORROWED. */
neap_node *effect_pure_twin(const lazy_level *trace, const lazy_callback *callback, int n, neap_node *const *in);
/* Takes back the effects of a trace that may be left out, and that neither these outputs nor other effects need. */
int effect_drop_unused(neap_ctx *ctx, lazy_level *trace, int n, neap_node *const *outputs);
/* The callback of `size` calls at once, whose results have an axis more in front. OWNED. */
int effect_callback_batched(lazy_callback *callback, int64_t size, lazy_callback **out);

/* callback_blocks.c ------------------------------------------------------------------------------------------------ */
/* Sets *each to how a callback of these arguments lies that is called for each device, since some of them differ
 * between devices; to NULL if it is called once. */
int effect_calls_sharding(int n, neap_node *const *in, const lazy_sharding **each);
/* The arguments of a callback's node as the device at a position of its mesh has them; BORROWED from the arena. */
int effect_call_arguments(neap_ctx *ctx, const neap_node *node, int position, neap_node **in);

/* A callback that work calls while it runs, and the types of its arguments. */
typedef struct lazy_work_call {
    lazy_callback *callback;
    int narguments;
    const lazy_result *arguments;
} lazy_work_call;
/* Work that the user thread does, since it has callbacks in it (control/push.c). Of work with collectives it calls the
 * callbacks, and the communication thread does the rest. */
typedef struct lazy_work_kind {
    /* Goes on to the end or to the next callback: then it returns NEAP_PENDING and sets *call, and *operands to the
     * memory of its arguments and of its block of results. */
    int (*advance)(void *work, const neap_run *where, const lazy_work_call **call, void *const **operands);
    /* The callback that it has come to has failed, and so does the work. Returns the status. */
    int (*fail)(void *work, int status);
    void (*free)(void *work);
} lazy_work_kind;
/* Pushes such work (TAKES it, if this succeeds). */
int effect_callback_loop(neap_ctx *ctx, const lazy_work_kind *kind, void *work, int effects, const neap_push *push);
/* NEAP_E_STATE: the collective `name` between processes cannot be done now: a callback is open of work with
 * collectives, which keeps its place among them until it ends. */
int effect_exchange_check(neap_ctx *ctx, const char *name);

#endif
