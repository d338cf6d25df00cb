/* sharding.h: arrays that lie on several devices: how a node says so, and what the mesh room does for the recorder.
 *
 * A *mesh* is an n-dimensional box of devices whose axes have names. A *sharding* says how an array lies on a mesh.
 * Both are interned for the life of the process: equal ones are the same pointer and have the same number, which is
 * what attributes, keys of plans and entries of jit hold.
 *
 * A *meshed* node is an ordinary node of the graph, with op, inputs, attributes and levels, and with a payload:
 *
 *      node (device LAZY_MESHED) ── shards ─┬─ sharding
 *                                           └─ blocks ── [ordinary node] [ordinary node] …  one for each distinct block
 *
 * The graph of meshed nodes is the program that the user wrote, once for all devices: tapes, traces, derivative rules
 * and batching rules see it alone. The blocks are what is computed: ordinary nodes, recorded by the same recorder when
 * the meshed node is (its op on their blocks), of no level's tape. A meshed node of a trace has no blocks; its program
 * is *lowered* when it is first run: replayed on placeholders that have blocks, which gives an ordinary program of
 * these.
 *
 * Manual axes. Inside the body of a shard_map over some axes of the mesh, these are manual: arrays have the shape of
 * the block that each device sees, and collectives say what is exchanged. Over all other axes (outside: over all) an
 * array is *global*: its shape is that of the whole, `split` says which axes of the mesh each axis of the array is
 * divided by, in order, and ops insert the collectives that they need, by the rows' .shard rules.
 *
 * For manual axes there are two masks. `varies` is a type, for derivatives: the cotangent of what does not vary over an
 * axis is one for all its devices, that of what varies is each device's own. Where an array that does not vary meets
 * one that does, the recorder inserts `pvary`, whose gradient is a psum; the gradient of a psum, whose result does not
 * vary, is a pvary. `differs` ⊆ `varies` says where values may differ; over the others equality is proved (after an
 * all_gather, say, whose result varies as a type). Only `differs` decides what is promised, read and stored.
 *
 * Sums that are not done. An array may be *unreduced* over axes of the mesh: the value is the sum of the blocks along
 * these, and no device has the value. The cotangent of such an array is one for all devices, marked as *reduced* over
 * these axes. A reduced array is the same on all devices, as one that says nothing of the axes; but the cotangent is
 * unreduced: what each device contributes, not added up yet. So each is the type of cotangents of the other
 * (shard_sharding_dual). mesh/unreduced.c says which ops take such arrays.
 *
 * Blocks. Devices between which an array does not differ share one block. A block that is of one device alone is
 * committed to that; one that several share is committed to none. Devices of the CPU share memory, so they read it
 * where it is; where devices have a memory each, it lies on the first of np.devices(), and the others read copies
 * (plan/transfer.c). `nblocks` counts those of this process, in row-major order of the mesh.
 *
 * An example: x of (4, 6) on a mesh of 2 x 2 devices with axes i and j, all of one process. Positions on the mesh are
 * numbered (0, 0), (0, 1), (1, 0), (1, 1).
 *
 *                       P("i")              P("i", "j")          inside a shard_map of x with P("i")
 *      shape            (4, 6)              (4, 6)               (2, 6)
 *      manual           none                none                 i and j
 *      split            i; none             i; j                 none; none
 *      varies, differs  none                none                 i
 *      distinct         i                   i and j              i
 *      nblocks          2, of (2, 6)        4, of (2, 3)         2, of (2, 6)
 *      block_of         0 0 1 1             0 1 2 3              0 0 1 1
 *      home             -1 -1               each its device      -1 -1
 *
 * np.psum(x, "i") inside the shard_map varies over no axis: one block, which all four devices share.
 */
#ifndef LAZY_SHARDING_H
#define LAZY_SHARDING_H

#include <stdatomic.h>

#include "lazy/graph/node.h"

enum { LAZY_MESHED = -2 }; /* the device of a meshed node */

typedef struct lazy_mesh {
    int32_t number, naxes, size; /* size: devices */
    const char *names[NEAP_MESH_AXES];
    int32_t sizes[NEAP_MESH_AXES];
    uint32_t explicit;         /* axes, bits, over which no op moves data by itself: the script says where data moves */
    int32_t *process, *device; /* by position (row-major): the process whose device it is, and which one there */
    int32_t nlocal, *local;    /* positions of this process's devices, ascending */
} lazy_mesh;

typedef struct lazy_sharding {
    int32_t number;
    const lazy_mesh *mesh;
    uint32_t manual;          /* axes of the mesh, bits: over these the array is seen by block, over the others whole */
    uint32_t varies, differs; /* of the manual ones */
    uint32_t unchecked;       /* of the manual ones, by check_rep = false: everything varies, also what a psum gives */
    uint8_t ndim;             /* axes of the array for which split says something */
    /* Axes over which a sum is not done, and those over which that of the cotangent is not. They are none of the axes
     * that divide the array, and none over which it varies. */
    uint32_t unreduced, reduced;
    /* By axis of the array: the axes of the mesh (1 + index, 0 ends) that divide it, in order. */
    uint8_t split[NEAP_MAX_DIMS][NEAP_MESH_AXES];
    /* What follows from these: */
    uint32_t splits;     /* all axes of the mesh in `split` */
    uint32_t distinct;   /* differs | splits | unreduced: blocks are the same over all others */
    int32_t nblocks;     /* of this process */
    int32_t *block_of;   /* by position on the mesh: the block there, -1: none of this process */
    int32_t *position;   /* by block: the first position on the mesh that has it here */
    int32_t *home;       /* by block: the device that it is committed to, -1: several share it */
    int32_t addressable; /* 1: every distinct block is in this process */
} lazy_sharding;

struct graph_call; /* graph.h */

/* Which op made values differ along an axis of the mesh: 1 + the number of a row, 0: the array's own op; and the op's
 * script line, 0: none is known. */
typedef struct lazy_cause {
    int32_t op, site;
} lazy_cause;

typedef struct lazy_shards {
    const lazy_sharding *sharding;
    lazy_cause cause[NEAP_MESH_AXES]; /* of the axes over which the array differs */
    neap_node *whole;                 /* put together for the host; one reference, or NULL */
    int32_t note;                     /* a text (graph_site_text): what its op did about where data lies; 0: nothing */
    int32_t past;                     /* a text of lines: what the ops before it did; 0: nothing */
    neap_node *blocks[];              /* sharding->nblocks, one reference each; all NULL in a trace */
} lazy_shards;

static inline bool graph_is_meshed(const neap_node *node) {
    return node->device == LAZY_MESHED;
}
static inline const lazy_sharding *graph_sharding_of(const neap_node *node) {
    return graph_is_meshed(node) ? node->shards->sharding : NULL;
}
/* Is it the token of an axis of a mesh (mesh/ops/mesh.c), which collectives over the axis read? */
static inline bool graph_is_token(const neap_node *node) {
    return graph_is_meshed(node) && node->nin == 0 && node->flags & LAZY_CONSTRUCTED;
}
/* Can it be computed (its blocks may belong to a trace themselves)? */
static inline bool graph_has_blocks(const neap_node *node) {
    return node->shards->sharding->nblocks == 0 || node->shards->blocks[0] != NULL;
}

/* ---- shard/sharding.c: interning --------------------------------------------------------------------------------- */
/* The sharding like *like (whose derived members and number do not count), or NULL: memory. Checks nothing. */
const lazy_sharding *shard_sharding_intern(const lazy_sharding *like);
const lazy_sharding *shard_sharding_get(int64_t number); /* NULL: no such */
const lazy_mesh *shard_mesh_get(int64_t number);         /* the same; no error is set */
/* The mesh like *like (whose number and local devices do not count) as process `here` sees it, or NULL: memory. */
const lazy_mesh *shard_mesh_intern(const lazy_mesh *like, int here);
/* The type of cotangents of what lies so: what is unreduced is reduced, and the other way round. NULL: memory. */
const lazy_sharding *shard_sharding_dual(const lazy_sharding *sharding);
/* The block that stands at a position of the mesh; -1: none of this process. */
int shard_sharding_block(const lazy_sharding *sharding, int position);
/* The coordinate of a position along an axis; the position that has `coordinate` there, and else agrees with it. */
int shard_mesh_coordinate(const lazy_mesh *mesh, int position, int axis);
int shard_mesh_move(const lazy_mesh *mesh, int position, int axis, int coordinate);
/* A complete node gets the causes of the inputs that differ. */
void shard_inherit_causes(neap_node *node);
/* A clause for the end of a message that an array differs along the axes, with the cause along the first axis: "; it
 * does so by np.axis_index, script.lua:3". Written to `text`, and returned. */
const char *shard_cause_text(const neap_ctx *ctx, const neap_node *node, uint32_t axes, char *text, size_t capacity);
/* In how many parts an axis of the array is divided. */
int64_t shard_sharding_parts(const lazy_sharding *sharding, int axis);

/* ---- Rules of rows: .shard ----------------------------------------------------------------------------------------
 * Given an op on inputs of which some are split over global axes of the mesh, a rule says how each input has to lie,
 * how the result will lie, which attributes the op has on blocks, and what remains to be combined between devices. */
typedef struct lazy_shard_rule {
    neap_ctx *ctx;
    const lazy_op *row;
    const lazy_mesh *mesh;
    int nin;
    const lazy_aval *in; /* global shapes */
    const lazy_result *out;
    int nattrs;
    const int64_t *attrs;
    lazy_sharding *want;  /* by input: as it lies; the rule changes .split where it must be moved first */
    lazy_sharding result; /* the rule sets .ndim and .split */
    int64_t *block_attrs; /* a copy of attrs that the rule may change */
    int combine;   /* the map that combines partial results: LAZY_OP_add, maximum, fmin …; -1: there are none */
    uint32_t over; /* the axes of the mesh over which partial results are combined */
} lazy_shard_rule;

/* ---- Expansion: .spread -------------------------------------------------------------------------------------------
 * Says which sharding and blocks a new node with meshed inputs gets. A row without it (NULL) gives a result that lies
 * as its inputs do, and whose blocks are the op on their blocks. The rows of mesh/ops have it. */
typedef struct lazy_expansion {
    neap_ctx *ctx;
    neap_node *node;        /* its inputs and attributes; no payload yet */
    lazy_sharding sharding; /* that of the result; it begins as the inputs vary and differ, and the rule changes it */
    bool blocks;            /* if set, the rule also records the blocks (OWNED by the payload) */
} lazy_expansion;
/* Called by a rule when `sharding` is final: gives the node its payload, with no blocks yet. */
int shard_expansion_begin(lazy_expansion *g);

/* ---- What folders of lazy/ call in mesh/ -------------------------------------------------------------------------
 * The functions are installed when the first mesh is made, before anything can lie on one. */
typedef struct graph_mesh_hooks {
    /* graph_record, where an input is meshed, or the row's results are (LAZY_OP_MESH). */
    neap_node *(*record)(neap_ctx *ctx, const struct graph_call *call);
    /* Gives a node that was just made its payload. */
    int (*finish)(neap_ctx *ctx, neap_node *node);
    /* An ordinary node with the whole value, BORROWED from `node`; fails where this process cannot know it. */
    int (*whole)(neap_ctx *ctx, neap_node *node, neap_node **out);
    /* A node (ordinary or meshed) as an array that lies as `like` does; BORROWED from the arena. */
    neap_node *(*moved)(neap_ctx *ctx, neap_node *node, const lazy_sharding *like);
    /* A cotangent, of any node, as one of `node` (NULL for NULL): what it has too much of is added up, and what it
     * lacks is nothing. BORROWED from the arena. */
    neap_node *(*cotangent)(neap_ctx *ctx, neap_node *ct, const neap_node *node);
    /* The same where `like` has manual axes too: the result is an array of the body, which varies and is divided as
     * `like` is. It may differ over fewer axes. */
    neap_node *(*fitted)(neap_ctx *ctx, neap_node *node, const lazy_sharding *like);
    const struct graph_note_kind *const *kinds; /* as graph_hooks has it */
} graph_mesh_hooks;
extern _Atomic(const graph_mesh_hooks *) graph_mesh_installed; /* NULL: no mesh was made */
static inline const graph_mesh_hooks *graph_mesh(void) {
    return atomic_load_explicit(&graph_mesh_installed, memory_order_acquire);
}
static inline void graph_mesh_install(const graph_mesh_hooks *hooks) {
    atomic_store_explicit(&graph_mesh_installed, hooks, memory_order_release);
}

/* record.c: graph_record without what comes first: inputs are captured, aligned and on one device. */
neap_node *graph_record_inferred(neap_ctx *ctx, const struct graph_call *call);

/* ---- node.c, level.c --------------------------------------------------------------------------------------------- */
/* The node from which blocks are made: for an ordinary node on a tape, the same without the tape (BORROWED from the
 * arena); for any other, the node itself. */
neap_node *graph_untaped(neap_ctx *ctx, neap_node *node);
/* The device to which a block with this home is committed: in the bodies of control flow none, -1. */
int graph_home(const neap_ctx *ctx, int home);
/* Makes a fresh node meshed: blocks NULL. */
int graph_node_mesh(neap_node *node, const lazy_sharding *sharding);

#endif
