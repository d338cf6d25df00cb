/* internal.h: the context, and what the files of the lazy room offer each other (nodes: node.h).
 *
 *   context ─┬─ slots:   id → node                     (what Lua holds)
 *            ├─ pending: nodes recorded since the last flush; the context holds one reference on each, so what a flush
 *            │           computes depends on what was recorded and not on which handles Lua's collector has freed
 *            ├─ tape:    nodes that belong to an open level, in order of recording
 *            └─ plans:   structure of a flushed region → its steps
 */
#ifndef LAZY_INTERNAL_H
#define LAZY_INTERNAL_H

#include <stdatomic.h>

#include "lazy/graph/node.h"
#include "lazy/jit.h"

typedef struct lazy_effect lazy_effect; /* a print or a callback inside a trace: effect.h */
typedef struct lazy_callback lazy_callback;

typedef struct lazy_frame { /* an open callback */
    neap_request *request;
    int nlevels, floor, deferring; /* as they were before it */
    bool told, again;              /* its arguments have ids; there was no memory for them once */
} lazy_frame;

enum { LAZY_MAX_LEVELS = 32 };
typedef struct lazy_level {
    bool open, trace, closed; /* closed: a trace that lifts what it reads from outside (program/capture.c), … */
    bool derived;             /* … but for what no level knows, if it derives a program of another one */
    bool lowers;              /* a trace in which what lies on a mesh has blocks (lower.c), … */
    bool homeless;            /* … which are committed to no device */
    int64_t start;            /* first index of the tape */
    lazy_nodes inputs;        /* the last of them stand for … */
    lazy_nodes lifted;        /* … these arrays. One reference each */
    int32_t *lift_table;      /* hash → 1 + index into lifted, 0: free; a power of two of places, or NULL */
    int64_t lift_places;
    LAZY_VECTOR(lazy_effect *) effects;
} lazy_level;

typedef struct lazy_ask { /* when the next node of an op is asked for its line (site.c) */
    int16_t gap, left;    /* nodes of this op from one question to the next, and to go */
    int32_t repeats;      /* answers in a row that were known lines */
} lazy_ask;

struct lazy_plan;

struct neap_ctx {
    neap_effects *effects;
    neap_waker *waker;

    LAZY_VECTOR(neap_node *) slots; /* [0] is unused */
    LAZY_VECTOR(int32_t) ids;       /* id of a used slot, 0 */
    LAZY_VECTOR(int32_t) free_slots;
    LAZY_VECTOR(uint16_t) generations;
    uint64_t live_handles;

    lazy_nodes pending;
    int64_t npending, pending_bytes; /* bytes: of what a flush would write, without what is fused away */
    int64_t nexchanges;              /* of the pending ones, those with other processes */
    int64_t limit_nodes, limit_bytes;
    int hold;           /* > 0: recording does not flush */
    int deferring;      /* > 0: deferred mode (deferred.c) */
    int spreading;      /* how many of these holds are for ops on meshed arrays (mesh/spmd.c) */
    bool heavy;         /* a call was recorded meanwhile … */
    int64_t heavy_from; /* … behind the first of pending that may be one */
    bool starved;       /* the last flush of everything found no memory for some of it */
    lazy_nodes arena;   /* nodes that rules have built, released when hold returns to 0 */

    lazy_nodes tape;
    lazy_level levels[LAZY_MAX_LEVELS];
    int nlevels, floor; /* levels below floor are not seen: they are open around an open callback */
    int nclosed;        /* of the levels, those that are closed traces */
    int muted;          /* > 0: programs are applied without their effects */
    LAZY_VECTOR(lazy_frame) frames;
    uint64_t last_effect;           /* serial number of the newest callback, or control flow with effects */
    _Atomic int64_t requests;       /* calls of functions in flight that arrays wait for */
    lazy_callback *_Atomic dropped; /* callbacks that nobody refers to, pushed by any thread … */
    lazy_callback *dropping;        /* … and on their way to Lua */

    uint32_t epoch;          /* of traversals */
    uint32_t walk;           /* of walks over programs inside each other */
    lazy_nodes stack, order; /* scratch of traversals */
    neap_node *dead;         /* nodes about to be freed, or to give their data back */

    LAZY_VECTOR(const char *) sites; /* interned "file:line"; [0] is "" */
    int32_t *site_table;             /* hash → index into sites, 0: free; a power of two of places, or NULL */
    int64_t site_places;
    lazy_ask *asks; /* by op; NULL: no line is asked for */
    int32_t chunk_site;
    int32_t again_site;   /* of the node of a program that is being made again; 0: none is */
    neap_node *site_node; /* the last recorded node, if its line is wanted. BORROWED until the next call */

    int attention;
    uint64_t collect_above; /* live bytes that ask for a collection */
    int64_t unseen_bytes;   /* allocated since live bytes were last looked at */

    neap_program *programs; /* all of them, linked */
    neap_jit *jits;         /* the same */
    int64_t jit_bytes, jit_limit;
    uint64_t jit_clock;    /* calls of jitted functions */
    _Atomic int64_t gifts; /* jobs in flight of programs that were given arrays */

    struct lazy_plan **plans; /* hash table, chained */
    int64_t nplans, plan_buckets, plan_bytes;
    uint64_t last_plan;        /* serial number of the newest */
    LAZY_VECTOR(uint64_t) key; /* scratch of a flush: its structure as words … */
    LAZY_VECTOR(uint8_t) made; /* … why its nodes get buffers … */
    lazy_nodes wanted, views;  /* … and its roots (run.c) */

    struct mesh_call *mesh_call; /* the op on meshed arrays that is being recorded (mesh/internal.h) */
    lazy_nodes tokens;           /* of axes of meshes. One reference each */
    int32_t open_mesh;           /* the mesh of the open bodies of shard_map … */
    uint32_t open_manual;        /* … and its axes that are manual in the innermost of them */

    uint8_t *plain;    /* by op and dtype: see plain_result in record.c */
    neap_node *number; /* a weak constant to be used again, if nobody kept it */
    int quick_status;  /* outcome of the last quick call … */
    int32_t quick_id;
    void *blocks[16]; /* free lists of nodes by size */
    neap_counters counters;
};

/* ---- node.c: life of nodes -------------------------------------------------------------------------------------- */
/* A node with one reference (OWNED), inputs retained, size computed, not yet known to pending or tape. NULL: memory. */
neap_node *graph_node_new(neap_ctx *ctx, int op, const lazy_result *result, int nin, neap_node *const *in, int nattrs,
                          const int64_t *attrs);
void graph_release(neap_ctx *ctx, neap_node *node); /* NULL is harmless */
/* Releases the inputs of a computed node that no open level needs; of one that keeps its structure, their data. */
void graph_node_drop(neap_ctx *ctx, neap_node *node);
/* The node for an id, or NULL with the error set (E_HANDLE, or E_STATE if deleted). */
neap_node *graph_lookup(neap_ctx *ctx, int32_t id);
/* The same, also of a block whose body has ended: what a program reads from around it may be one. */
neap_node *graph_lookup_any(neap_ctx *ctx, int32_t id);
/* array.c: what the handle of a deleted array names; OWNED. With a site, that of the call to which it was donated. */
neap_node *graph_tombstone(neap_ctx *ctx, const neap_node *node);
/* Lets the node's handle name a tombstone, which it TAKES. */
void graph_bury(neap_ctx *ctx, neap_node *node, neap_node *gone);
/* Gives the node an id (takes over the caller's reference; if it has an id, drops it). Returns a status. */
int graph_publish(neap_ctx *ctx, neap_node *node, int32_t *out);
/* The nodes for n ids; NULL for id 0. */
int graph_lookup_all(neap_ctx *ctx, int n, const int32_t *ids, neap_node **nodes);
/* graph_publish of n nodes (takes over the references), all of them or none. */
int graph_publish_all(neap_ctx *ctx, int n, neap_node *const *nodes, int32_t *out);
void graph_node_info(neap_node *node, neap_info *out);
/* "(2, 3)" into `text`, which is returned. */
const char *graph_shape_text(int ndim, const int64_t *shape, char *text, size_t capacity);

/* ---- site.c ------------------------------------------------------------------------------------------------------ */
/* A node was recorded: asks for its line, or gives it the chunk's name. */
static inline void graph_site_ask(neap_ctx *ctx, neap_node *node) {
    lazy_ask *ask = ctx->asks ? &ctx->asks[node->op] : NULL;
    if (ctx->again_site) {
        node->site = ctx->again_site;
    } else if (ask && --ask->left <= 0) {
        ask->left = ask->gap;
        ctx->site_node = node;
        ctx->attention |= NEAP_ATTEND_SITE;
    } else {
        node->site = ctx->chunk_site;
    }
}
/* From now on every node's line is asked for, as after neap_site_reset. */
void graph_site_ask_all(neap_ctx *ctx);
/* The number of a script line; 0 for none, and if there is no memory. */
int32_t graph_site_intern(neap_ctx *ctx, const char *text);
/* Also the text of neap_axis_name. BORROWED from the context; NULL for 0. */
const char *graph_site_text(const neap_ctx *ctx, int32_t site);
void graph_site_free_all(neap_ctx *ctx);

/* ---- record.c ---------------------------------------------------------------------------------------------------- */
/* Infers, casts, records. OWNED (it may be one of the inputs, retained); NULL on error. */
neap_node *graph_record(neap_ctx *ctx, int op, int nin, neap_node *const *in, int nattrs, const int64_t *attrs);
/* What the rules say of an op on these inputs: its result, and whether that is a number. Records nothing. */
int graph_infer(int op, int nin, neap_node *const *in, int nattrs, const int64_t *attrs, lazy_result *result,
                bool *weak);
/* Can `value` be an element of this dtype? Always, of a float one. */
bool graph_dtype_holds(int dtype, double value);
/* A number as an array of one f64; OWNED. */
neap_node *graph_as_strong(neap_ctx *ctx, neap_node *number);
/* A 0-d constant; OWNED. */
neap_node *graph_constant(neap_ctx *ctx, int dtype, bool weak, double value);
/* A done node, uncommitted, over a buffer (one reference of which it takes); OWNED. */
neap_node *graph_node_of_buffer(neap_ctx *ctx, const lazy_result *aval, neap_buffer *buffer);
/* Keeps pending_bytes: a pending node counts unless it is fused into its only consumer. */
static inline void graph_count_pending(neap_ctx *ctx, neap_node *node) {
    bool written = node->state == LAZY_PENDING &&
                   (node->consumers != 1 || node->flags & (LAZY_KEPT | LAZY_RESIDUAL) || !graph_is_fusible(node));
    if (written == ((node->flags & LAZY_COUNTED) != 0))
        return;
    node->flags ^= LAZY_COUNTED;
    ctx->pending_bytes += written ? (int64_t)graph_node_bytes(node) : -(int64_t)graph_node_bytes(node);
}
/* Adds a node that was just made to the tape or to pending, and counts what it reads. */
int graph_enroll(neap_ctx *ctx, neap_node *node);
/* The bits of all levels that are traces. */
uint32_t graph_trace_levels(const neap_ctx *ctx);
/* Between hold and unhold recording does not flush, and nodes that graph_build* returned live in ctx->arena. The
 * outermost unhold releases those, starts the calls recorded meanwhile, and applies the limits. */
static inline void graph_hold(neap_ctx *ctx) {
    ctx->hold++;
}
int graph_unhold(neap_ctx *ctx);
/* The last recorded node has its script line: starts it if it is a call, which waited for that. */
void graph_site_told(neap_ctx *ctx, neap_node *node);
/* Passes an owned reference to the arena; NULL stays NULL. */
neap_node *graph_arena(neap_ctx *ctx, neap_node *node);
/* Tells of an allocation: asks for a collection when live bytes are past the mark. */
void graph_count_bytes(neap_ctx *ctx, int64_t bytes);
/* The status of a public recording function: NEAP_OK or NEAP_ATTEND. */
int graph_attend(neap_ctx *ctx);

/* ---- view.c: affine maps ------------------------------------------------------------------------------------------ */
void graph_row_major(int ndim, const int64_t *shape, int64_t *stride);
/* Takes a row-major index, or a difference of two, apart into one for each axis: truncated division from the left. */
void graph_take_apart(int64_t index, int ndim, const int64_t *row, int64_t *out);
bool graph_map_contiguous(int ndim, const int64_t *shape, const lazy_map *map);
/* outer maps a box into the row-major index of `shape`, inner maps `shape` on: their composition, if it is affine.
 * On failure *split gets {axis of the box, inner extent} of a refinement of the box that may help, or axis -1. */
bool graph_map_compose(int nbox, const int64_t *box, int64_t offset, const int64_t *stride, int ndim,
                       const int64_t *shape, int64_t inner_offset, const int64_t *inner, int64_t *out_offset,
                       int64_t *out, int64_t split[2]);

/* ---- run.c (with region.c, plan.c, fuse.c, see plan.h): from nodes to engine ops ----------------------------------- */
/* Computes the roots (none of them abstract) and whatever of their ancestors rules require. */
int plan_flush_roots(neap_ctx *ctx, int nroots, neap_node *const *roots);
/* Makes sure that the node has a buffer of its own, row-major. */
int plan_force(neap_ctx *ctx, neap_node *node);
/* Status of a node with a buffer. */
int plan_node_poll(neap_ctx *ctx, neap_node *node, neap_waker *waker);
void plan_free_all(neap_ctx *ctx);
/* Lets go of nodes that are pending no more. */
void plan_tidy(neap_ctx *ctx);
/* The node is not to be computed by itself any more; `state` says what has become of it. */
void plan_leave_pending(neap_ctx *ctx, neap_node *node, uint8_t state);

/* ---- jit.c --------------------------------------------------------------------------------------------------------- */
/* The context ends: its jits, which Lua may still hold, become empty. */
void program_jit_free_all(neap_ctx *ctx);

/* ---- deferred.c -------------------------------------------------------------------------------------------------- */
/* Computes the arrays of deferred mode that Lua holds. */
int program_deferred_start(neap_ctx *ctx);

/* ---- program.c --------------------------------------------------------------------------------------------------- */
/* Appends (BORROWED) the nodes of all programs. */
int program_list_all(neap_ctx *ctx, lazy_nodes *to);
/* The context ends: its programs, which others may still hold, become empty. */
void program_free_all(neap_ctx *ctx);

#endif
