/* graph.h: what the files of lazy/graph offer each other and the folders above: nodes, recording, sites, views. */
#ifndef LAZY_GRAPH_H
#define LAZY_GRAPH_H

#include "lazy/graph/attrs.h"
#include "lazy/graph/context.h"
#include "lazy/graph/format.h"
#include "lazy/graph/note.h"
#include "lazy/graph/sharding.h"
#include "lazy/programs.h"

/* ---- node.c: life of nodes -------------------------------------------------------------------------------------- */
/* A node with one reference (OWNED), inputs retained, size computed, not yet known to pending or tape. NULL: memory. */
neap_node *graph_node_new(neap_ctx *ctx, int op, const lazy_result *result, int nin, neap_node *const *in, int nattrs,
                          const int64_t *attrs);
void graph_release(neap_ctx *ctx, neap_node *node); /* NULL is harmless */
/* Releases the inputs of a computed node that no open level needs; of one that keeps its structure, their data. */
void graph_node_drop(neap_ctx *ctx, neap_node *node);
/* The node for an id, or NULL with the error set (E_HANDLE, or E_STATE if deleted). */
neap_node *graph_lookup(neap_ctx *ctx, int32_t id);
/* The same, but also finds a block whose body has ended, which a program may have captured. */
neap_node *graph_lookup_any(neap_ctx *ctx, int32_t id);
/* array.c: the node that the handle of a deleted array names; OWNED. Its site is the call to which it was donated. */
neap_node *graph_tombstone(neap_ctx *ctx, const neap_node *node);
/* Lets the node's handle name a tombstone, which it TAKES. */
void graph_bury(neap_ctx *ctx, neap_node *node, neap_node *gone);
/* Gives the node an id (takes over the caller's reference; if it has an id, drops it). Returns a status. */
int graph_publish(neap_ctx *ctx, neap_node *node, int32_t *out);
/* The nodes for n ids. misses: they may be 0, which gives NULL. */
int graph_lookup_all(neap_ctx *ctx, bool misses, int n, const int32_t *ids, neap_node **nodes);
/* graph_publish of n nodes (takes over the references), all of them or none. */
int graph_publish_all(neap_ctx *ctx, int n, neap_node *const *nodes, int32_t *out);
void graph_node_info(neap_node *node, neap_info *out);
/* "(2, 3)" into `text`, which is returned. */
/* LAZY_BOOL, LAZY_INT, … of a dtype. */
int graph_kind_bit(int dtype);
const char *graph_shape_text(int ndim, const int64_t *shape, char *text, size_t capacity);

/* ---- site.c ------------------------------------------------------------------------------------------------------ */
/* A node was recorded: asks for its line, or gives it the chunk's name. */
static inline void graph_site_want(neap_ctx *ctx, neap_node *node) {
    lazy_site_sampling *ask = ctx->sites.asks ? &ctx->sites.asks[node->op] : NULL;
    if (ctx->sites.again) {
        node->site = ctx->sites.again;
    } else if (ask && (--ask->left <= 0 || ctx->sites.scope)) {
        ask->left = ask->gap;
        node->site = ctx->sites.scoped;
        ctx->sites.node = node;
        ctx->collector.requests |= NEAP_SAFEPOINT_SITE;
    } else {
        node->site = ctx->sites.scoped ? ctx->sites.scoped : ctx->sites.chunk;
    }
}
/* The text of the named scope that a site is in; 0: none. */
static inline int32_t graph_site_scope(const neap_ctx *ctx, int32_t site) {
    return site < ctx->sites.scopes.n ? ctx->sites.scopes.at[site] : 0;
}
/* The same site in a scope inside of that one: "line (outer/inner)". */
int32_t graph_site_within(neap_ctx *ctx, int32_t scope, int32_t site);
/* Opens a named scope by its whole name instead of the open one, whose text is returned; 0: none. */
int32_t graph_scope_swap(neap_ctx *ctx, int32_t scope);
/* Opens that of a node, if it is in one, for what is derived from it. Returns the one before. */
static inline int32_t graph_scope_enter(neap_ctx *ctx, const neap_node *node) {
    int32_t scope = graph_site_scope(ctx, node->site);
    return scope ? graph_scope_swap(ctx, scope) : ctx->sites.scope;
}
/* From now on every node's line is asked for, as after neap_site_reset. */
void graph_sites_want(neap_ctx *ctx);
/* The same, and in loops too, while `on`. */
void graph_sites_want_every(neap_ctx *ctx, bool on);
/* The number of a script line; 0 for none, and if there is no memory. */
int32_t graph_site_intern(neap_ctx *ctx, const char *text);
/* Also the text of neap_axis_name. BORROWED from the context; NULL for 0. */
const char *graph_site_text(const neap_ctx *ctx, int32_t site);
void graph_site_free_all(neap_ctx *ctx);

/* ---- broadcast.c ------------------------------------------------------------------------------------------------- */
/* The shape that the operands of an op broadcast to. NEAP_E_SHAPE names two that do not. */
int graph_broadcast(const char *name, const lazy_call_desc *call, lazy_result *out);

/* ---- record.c ---------------------------------------------------------------------------------------------------- */
/* Does device_put of it (-1: to no device) lead from one memory to another? What is made of constructors alone is made
 * where it is wanted. */
bool graph_leaves_memory(neap_node *node, int64_t device);
/* An op on nodes, as it is recorded. BORROWED from the caller. */
typedef struct graph_call {
    int op, nin, nattrs;
    neap_node *const *in;
    const int64_t *attrs;
} graph_call;
/* Infers, casts, records. OWNED (it may be one of the inputs, retained); NULL on error. */
neap_node *graph_record(neap_ctx *ctx, int op, int nin, neap_node *const *in, int nattrs, const int64_t *attrs);
/* weak.c: has an input a dtype of its own, which the op's dtype rule gives to weak arrays and numbers? */
bool graph_meets_dtypes(const lazy_op *row, int nin, neap_node *const *in);
/* Marks the result of an op on these inputs as a weak array, if it is one. */
void graph_mark_weak(const lazy_op *row, int nin, neap_node *const *in, neap_node *node);
/* The node, which nobody has got yet, stands for this one. */
void graph_weak_like(neap_node *node, const neap_node *like);
/* What the rules say of an op on these inputs: its result, and whether that is a number. Records nothing. */
int graph_infer(const graph_call *call, lazy_result *result, bool *weak);
/* The same if its inputs had these shapes. */
int graph_infer_at(const graph_call *call, const int64_t *const *shapes, lazy_result *result);
/* A number (LAZY_WEAK) meets an array of a dtype that is not real: can it be an element? A constant is looked at; an
 * argument of a trace has to be one at each call, which is noted with it. What is computed of these is integral if all
 * are and the ops keep that so; only 64 bits are sure to hold it. False: it is none, or nobody knows. */
bool graph_number_meets(neap_node *number, int dtype);
/* Is the number none that an integer is, as far as is known? An argument of a trace is what it was when that began. Who
 * asks decides by the answer: that is noted with the arguments, and calls with the other kind get another program. */
bool graph_number_is_fraction(neap_node *number);
/* The same where nothing depends on the answer yet: whoever lets something depend on it asks the other, or notes it. */
bool graph_number_looks_fraction(neap_node *number);
/* A computed number is about to let go of its inputs: what it can meet is noted in it. */
void graph_note_meetings(neap_node *number);
/* Whether arguments of traces are integers has decided something: other programs are for calls with the other kind. */
void graph_note_wholeness(neap_node *number);
/* A number that is compared in f64 with an array, OWNED: one that is greater than all integers of the array's dtype is
 * infinite, since the greatest of 64 bits are rounded up there. */
neap_node *graph_compared_number(neap_ctx *ctx, double value, const graph_call *call);
/* A number as an array of one f64; OWNED. */
neap_node *graph_number_as_array(neap_ctx *ctx, neap_node *number);
/* A 0-d constant; OWNED. */
neap_node *graph_constant(neap_ctx *ctx, int dtype, bool weak, double value);
/* A source that will have a buffer, or blocks on a mesh; OWNED. */
neap_node *graph_data(neap_ctx *ctx, const lazy_result *aval);
/* A node cast to dtype, by the rules for numbers if it is one; OWNED. `op` names the op for errors. */
neap_node *graph_as_dtype(neap_ctx *ctx, const char *op, neap_node *node, int dtype);
/* The node cast by the row `astype`, and so by the rules for its inputs; OWNED. */
neap_node *graph_cast(neap_ctx *ctx, neap_node *node, int dtype);
/* The node under another name; OWNED. */
neap_node *graph_alias(neap_ctx *ctx, neap_node *node);
/* A done node, uncommitted, over a buffer (one reference of which it takes); OWNED. */
neap_node *graph_node_of_buffer(neap_ctx *ctx, const lazy_result *aval, neap_buffer *buffer);
/* Keeps pending_bytes. A pending node counts unless it is fused into its only consumer; or made of constructors alone,
 * and so again at any time; or nothing but slices read it, of less than half of its elements; or it is an update that
 * has been read, as the next one is written over it; or it is made of draws and past the limit by itself: who reads it
 * knows whether all of it is needed. */
static inline void graph_count_pending(neap_ctx *ctx, neap_node *node) {
    bool written = node->state == LAZY_PENDING;
    if (written && !(node->flags & (LAZY_KEPT | LAZY_RESIDUAL)) && graph_is_made_in_place(node)) {
        bool sliced = node->asked > 0 && node->asked < node->size / 2;
        bool beyond = node->drawn && (int64_t)graph_node_bytes(node) >= ctx->pending.most_bytes;
        bool fused = node->consumers == 1 && !graph_is_waiting_draw(node);
        written = !fused && (node->consumers > 0 || !sliced);
        written &= !(node->flags & LAZY_CONSTRUCTED) && !beyond;
    }
    if (written && graph_is_update(node) && !graph_is_residual(node))
        written = node->consumers == 0;
    if (written == ((node->flags & LAZY_COUNTED) != 0))
        return;
    node->flags ^= LAZY_COUNTED;
    ctx->pending.bytes += written ? (int64_t)graph_node_bytes(node) : -(int64_t)graph_node_bytes(node);
    if (ctx->pending.bytes >= ctx->collector.asks_at)
        ctx->collector.requests |= NEAP_SAFEPOINT_STEP;
    else if (ctx->pending.bytes < ctx->collector.asks_at - ctx->collector.much)
        ctx->collector.asks_at = ctx->pending.bytes + ctx->collector.much;
}
/* Adds a node that was just made to the tape or to pending, and counts what it reads. */
int graph_enroll(neap_ctx *ctx, neap_node *node);
/* Has the node no derivative, whatever its inputs are: does it leave the tapes that these are on? */
bool graph_is_flat(const neap_node *node);
/* Lets a node read another one of the same shape and dtype in place of its input k. */
void graph_reread(neap_ctx *ctx, neap_node *node, int k, neap_node *by);
/* The bits of all levels that are traces. */
uint32_t graph_trace_levels(const neap_ctx *ctx);
/* Is more pending than the context's limits allow? Limits of 0 are none. */
static inline bool graph_past_limits(const neap_ctx *ctx) {
    return (ctx->pending.most_nodes && ctx->pending.n >= ctx->pending.most_nodes) ||
           (ctx->pending.most_bytes && ctx->pending.bytes >= ctx->pending.most_bytes);
}
/* Passes an owned reference to the arena; NULL stays NULL. */
neap_node *graph_arena(neap_ctx *ctx, neap_node *node);
/* Bytes that the bodies of loops and branches have written, in all contexts. */
extern _Atomic uint64_t graph_written_in_bodies;
/* Pending nodes ask for a collection when much has been recorded since this call. */
void graph_count_recorded_from_here(neap_ctx *ctx);
/* Tells of an allocation: asks for a collection when live bytes are past the mark. */
void graph_count_bytes(neap_ctx *ctx, int64_t bytes);
/* After a flush for somebody who waits: what was allocated since the counter stood at `since` lives until that has
 * ended. */
void graph_count_awaited(neap_ctx *ctx, int64_t since);
/* The status of a public recording function: NEAP_OK or NEAP_SAFEPOINT. */
int graph_safepoint(neap_ctx *ctx);
/* Before the node is computed for a host that will wait: is Lua's collector to look first whether an array can still be
 * named, whose copy would be all but nothing of the work, or for arrays whose memory the result can have? Then the
 * caller returns NEAP_PENDING; not for ever. */
bool graph_collects_first(neap_ctx *ctx, neap_node *node);

static inline bool graph_same_shape(int left, const int64_t *a, int right, const int64_t *b) {
    bool same = left == right;
    for (int k = 0; k < left && same; k++)
        same = a[k] == b[k];
    return same;
}

/* ---- view.c: affine maps ----------------------------------------------------------------------------------------- */
void graph_row_major(int ndim, const int64_t *shape, int64_t *stride);
/* Takes a row-major index, or a difference of two, apart into one for each axis: truncated division from the left. */
void graph_take_apart(int64_t index, int ndim, const int64_t *row, int64_t *out);
/* Are the elements neighbours, in order? Of a map: also from the first of the base on. */
bool graph_strides_contiguous(int ndim, const int64_t *shape, const int64_t *stride);
bool graph_map_contiguous(int ndim, const int64_t *shape, const lazy_map *map);
/* A map and the box that it is from: index i… of `shape` leads to offset + Σ i[k]·stride[k]. BORROWED. */
typedef struct lazy_box_map {
    int ndim;
    const int64_t *shape;
    int64_t offset;
    const int64_t *stride;
} lazy_box_map;
/* A refinement of a box: its axis (-1: none) becomes two, of which the inner one has so many elements. */
typedef struct lazy_split {
    int axis;
    int64_t inner;
} lazy_split;
/* Composes two maps, if the result is affine: `outer` leads to row-major indices of inner->shape, `inner` leads on from
 * there, and the result is a map from outer->shape. On failure *split gets a refinement of outer->shape that may
 * help. */
bool graph_map_compose(const lazy_box_map *outer, const lazy_box_map *inner, int64_t *offset, int64_t *stride,
                       lazy_split *split);

/* ---- level.c ----------------------------------------------------------------------------------------------------- */
/* The innermost open trace, or NULL; those around an open callback do not count. */
lazy_level *graph_open_trace(neap_ctx *ctx);
/* neap_level_end and its kin, for what the library opens by itself. */
int graph_level_end(neap_ctx *ctx, int level);
int graph_tape_begin(neap_ctx *ctx, int *level);
int graph_trace_begin(neap_ctx *ctx, int kind, int *level);

/* ---- capture.c: what a closed trace reads from outside ----------------------------------------------------------- */
/* A new input of a trace, committed to a device (-1: none), or lying on a mesh; BORROWED from the level. NULL:
 * memory. */
neap_node *graph_placeholder(neap_ctx *ctx, int level, const lazy_result *aval, bool weak, int device,
                             const struct lazy_sharding *sharding);
/* A new input of a trace, with all the properties of an existing node. */
neap_node *graph_placeholder_like(neap_ctx *ctx, int level, const neap_node *node);
/* The placeholder of a closed trace that stands for this node; BORROWED. NULL: memory. */
neap_node *graph_capture(neap_ctx *ctx, int level, neap_node *node);
/* Writes to `to` what the trace reads in place of n nodes (BORROWED): nodes from outside are captured, and their
 * placeholders take their place. `to` may be `nodes`. */
int graph_capture_into(neap_ctx *ctx, int level, int n, neap_node *const *nodes, neap_node **to);
/* The same for the inputs of an op, for each closed trace to which the op belongs. */
int graph_capture_inputs(neap_ctx *ctx, int n, neap_node *const *nodes, neap_node **to);
/* The innermost closed trace below a level, or -1. */
int graph_innermost_closed(const neap_ctx *ctx, int below);

/* ---- devices.c --------------------------------------------------------------------------------------------------- */
/* The data of a node with a buffer as the host can read it: the buffer itself, or a copy, which the node keeps. A copy
 * that is not there yet is pushed, so it has to be waited for by its own variable. BORROWED from the node. ctx: whose
 * guard may refuse it; NULL: nobody's. */
int graph_host_buffer(neap_ctx *ctx, const neap_node *node, neap_buffer **out);
/* Status of a node with a buffer, for a reader who tells of its failure: neap_wait_all has no news of that then. */
int graph_poll(const neap_node *node, neap_waker *waker);
/* The same for the data as the host can read it: NEAP_PENDING until that is there. */
int graph_host_poll(neap_ctx *ctx, const neap_node *node, neap_buffer **out);
/* Where the host reads the data of a node after graph_host_poll returned 0 for it. BORROWED from the node. */
const void *graph_host_data(const neap_node *node);

/* ---- guard.c ----------------------------------------------------------------------------------------------------- */
/* A copy of a node's data from one memory to another. BORROWED from the caller. */
typedef struct graph_transfer {
    const neap_node *node;
    int from, to;      /* devices */
    const char *by;    /* the op that it is for; NULL: a reader on the host, or np.device_put */
    const char *site;  /* the line of the op; NULL: it is not known */
    const char *lacks; /* why the device of the op's results cannot run it; NULL: it runs there */
    bool asked;        /* explicit */
} graph_transfer;
/* Tells of a copy that is about to be made, or refuses it: NEAP_E_STATE. */
int graph_guard(neap_ctx *ctx, const graph_transfer *transfer);

#endif
