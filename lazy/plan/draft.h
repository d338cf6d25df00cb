/* draft.h: what a plan's kernels are made of, before they become steps: expressions over boxes, and the drafts of
 * kernels that are merged. Private to plan.c, fuse.c, window.c and merge.c.
 */
#ifndef LAZY_DRAFT_H
#define LAZY_DRAFT_H

#include "lazy/plan/plan.h"

/* fuse.c ----------------------------------------------------------------------------------------------------------- */
typedef struct lazy_fusion { /* a request for one kernel: an expression over a box, read from `root` */
    neap_node *root;
    bool own;   /* root is computed here even if it has a slot of its own (it is what the kernel is for) */
    bool again; /* it was too long once */
    int ndim, nkept;
    int64_t box[LAZY_MAX_DOMAIN];
    lazy_wide_map read;  /* box → row-major index of root */
    lazy_wide_map write; /* box (or its kept axes) → element of the destination */
} lazy_fusion;

typedef struct lazy_cut { /* axis of a box: its elements below `at`, and the others */
    int axis;
    int64_t at;
} lazy_cut;

typedef struct lazy_draft_load {
    lazy_load load; /* its slot is not known yet, but of a RESULT: the sink */
    int32_t node;   /* in the region, that a BUFFER, SCALAR or TABLE reads; else -1 */
} lazy_draft_load;

typedef struct lazy_draft_sink {
    lazy_sink sink; /* its slot: -1 if nothing is stored */
    int32_t node;
} lazy_draft_sink;

/* In drafts, load k is the value -1 - k, and instruction k the value k: both lists grow. */
typedef LAZY_VECTOR(lazy_draft_load) lazy_draft_loads;
typedef LAZY_VECTOR(lazy_ins) lazy_draft_ins;

typedef struct lazy_fused { /* its result */
    lazy_draft_loads loads;
    lazy_draft_ins ins;
    int32_t value;   /* of root */
    int32_t cut;     /* on NEAP_PENDING: the node that must be made first */
    lazy_why why;    /* why that node must be made */
    lazy_cut window; /* on NEAP_PENDING: where the box may be cut in two instead; axis -1: nowhere */
} lazy_fused;

/* Builds the kernel's program. May refine the box (then read, write, ndim, nkept change). NEAP_PENDING: `cut` cannot be
 * read through and must get a buffer; mark it and start again, or fuse the two parts that `window` makes of the box. */
int plan_fuse(neap_ctx *ctx, const uint8_t *made, lazy_fusion *fusion, lazy_fused *out);
void plan_fused_free(lazy_fused *fused);

/* window.c --------------------------------------------------------------------------------------------------------- */
/* Goes on from an assembled node, read through `map`, to the piece that is read. NEAP_PENDING: not to one piece; with
 * the box cut as `cut` says, perhaps, if its axis is not -1. */
int plan_window_read(const lazy_fusion *fusion, neap_node **node, lazy_wide_map *map, lazy_cut *cut);
/* Where the pieces of an assembled node go: their number, at most NEAP_MAX_INPUTS + 1, or a status. */
int plan_node_pieces(const neap_node *node, lazy_piece *pieces);

/* merge.c ---------------------------------------------------------------------------------------------------------- */
typedef struct lazy_draft { /* a kernel before it becomes a step, or the place of a call */
    lazy_step *call;        /* then nothing else counts but device and node */
    bool fixed;             /* stays as it is, where it is */
    bool reduces;           /* has a REDUCE sink */
    int16_t device;
    int32_t node;    /* that it was drafted for */
    int32_t segment; /* of that node (partition.c), -1: of none */
    int ndim, nkept;
    int64_t box[LAZY_MAX_DOMAIN];
    lazy_draft_loads loads;
    lazy_draft_ins ins;
    LAZY_VECTOR(lazy_draft_sink) sinks; /* the write maps are over all axes: 0 along reduced ones */
} lazy_draft;
typedef LAZY_VECTOR(lazy_draft *) lazy_drafts; /* in an order in which they can run */

/* Makes fewer and larger kernels of these, and takes off `made` what then needs no buffer. */
int plan_merge(neap_ctx *ctx, uint8_t *made, lazy_drafts *drafts);
void plan_draft_free(lazy_draft *draft); /* not the call. NULL is harmless */

/* halves.c --------------------------------------------------------------------------------------------------------- */
typedef struct lazy_half_operand { /* the half of which an operand of f32 is a cast, and how the operand lies there */
    neap_node *node;
    int64_t offset, stride[NEAP_MAX_DIMS];
} lazy_half_operand;
/* false: it is no such operand, or does not lie there so that strides could tell it. */
bool plan_half_operand(const neap_ctx *ctx, neap_node *operand, lazy_half_operand *out);
/* Finds the calls of the region that read halves as they are: sets takes[call]. rounds[cast], else left alone, becomes
 * the call that makes what the cast would have made. Changes `made`. */
int plan_take_halves(neap_ctx *ctx, uint8_t *made, uint8_t *takes, int32_t *rounds);

/* unroll.c -------------------------------------------------------------------------------------------------------- */
/* Makes a draft that reduces few elements, which lie far apart, one that maps. */
int plan_unroll(lazy_draft *draft);

/* early.c --------------------------------------------------------------------------------------------------------- */
/* Puts calls that let their operands go by copying them right behind what makes these. */
int plan_put_early(const neap_ctx *ctx, lazy_drafts *drafts);

/* updates.c ------------------------------------------------------------------------------------------------------- */
/* Takes away copies of versions that nobody reads after their next update: over[node] of such a version is that update,
 * of others the node itself. Takes them off `made`. */
int plan_share_updates(neap_ctx *ctx, uint8_t *made, lazy_drafts *drafts, int32_t *over);
/* The version of an array that lies in the memory of this one in the end. Shortens the way. */
int32_t plan_last_version(int32_t *over, int32_t node);
/* Does it copy one buffer to another as it is? */
bool plan_draft_copies(const lazy_draft *draft);

#endif
