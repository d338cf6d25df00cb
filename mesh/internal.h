/* internal.h: what the files of the mesh room offer each other.
 *
 *      spmd.c     recording ops on meshed arrays: bringing the inputs to one form, expanding the op onto blocks
 *      auto.c     where global arrays are split: which rule an op follows
 *      reshard.c  blocks of one sharding from those of another
 *      move.c     what moves between two shardings, and refusing it over explicit axes
 *      unreduced.c  sums over axes of the mesh that are not done: ops on such arrays, and making them
 *      note.c     what was done about where data lies, for np.explain
 *      local.c    collectives between the blocks of this process
 *      remote.c   those that need other processes
 *      mesh.c     the public functions; process.c: which processes and devices there are
 *      ops/       rows: collectives, and the ways into and out of a mesh
 */
#ifndef MESH_INTERNAL_H
#define MESH_INTERNAL_H

#include "lazy/graph/graph.h"
#include "mesh/mesh.h"

typedef struct mesh_call { /* an op on meshed inputs while it is recorded */
    lazy_sharding result;  /* how the result lies, if its row does not say otherwise */
    int nattrs;
    const int64_t *block_attrs; /* of the op on blocks */
    int combine;                /* the map that combines partial results; -1: there are none */
    uint32_t over;              /* the axes of the mesh over which partial results are combined */
    int32_t note;               /* what is to be told of that, 0: nothing */
    struct mesh_call *outer;    /* within which it is recorded; NULL: none */
    bool asks;                  /* no op at all: the script itself says how an array is to lie */
} mesh_call;

/* Is the op that is recorded now one that the script asks for, and no part of another? */
static inline bool mesh_is_asked(const neap_ctx *ctx) {
    const mesh_call *outer = ctx->mesh.call ? ctx->mesh.call->outer : NULL;
    return ctx->start.expanding == 1 || (outer && outer->asks);
}

/* An array as blocks see it: those of a sharding, or one ordinary node that is the same everywhere. */
typedef struct mesh_value {
    const lazy_sharding *sharding; /* NULL: `same` */
    neap_node *const *blocks;
    neap_node *same;
} mesh_value;

typedef struct mesh_axes { /* some axes of a mesh as one, the last counting fastest */
    int n, at[NEAP_MESH_AXES];
    uint32_t mask;
    int size;
} mesh_axes;

/* spmd.c ----------------------------------------------------------------------------------------------------------- */
mesh_value mesh_value_of(neap_node *node);
/* The block at a position of the mesh, BORROWED; NULL without an error: it is in another process. */
neap_node *mesh_block_at(const mesh_value *value, int position);
/* A node committed to where a block belongs (home -1: to nothing); in the arena. */
neap_node *mesh_at_home(neap_ctx *ctx, neap_node *node, int home);
/* Sets each block of the sharding `to` to the block of `value` at its position. The blocks are OWNED. */
int mesh_regroup(neap_ctx *ctx, const mesh_value *value, const lazy_sharding *to, neap_node **blocks);
/* A manual or ordinary node as one that varies as `like` does, BORROWED from the arena. */
neap_node *mesh_vary(neap_ctx *ctx, neap_node *node, const lazy_sharding *like);
/* A global or ordinary node resharded; BORROWED from the arena, or the node itself if it lies so. */
neap_node *mesh_moved(neap_ctx *ctx, neap_node *node, const lazy_sharding *to);
/* The token of an axis where `manual` axes are manual (unchecked as said). BORROWED from the context. */
neap_node *mesh_token(neap_ctx *ctx, const lazy_mesh *mesh, uint32_t manual, uint32_t unchecked, int axis);
/* Rows of ops/mesh.c, built in the arena. from: how the array lies; to: the sharding that it then has. */
neap_node *mesh_build_enter(neap_ctx *ctx, neap_node *node, const lazy_sharding *from, const lazy_sharding *to);
neap_node *mesh_build_leave(neap_ctx *ctx, neap_node *node, const lazy_sharding *from, const lazy_sharding *to);
/* A node of a body over `manual` axes that leaves it (mesh.h: neap_mesh_leave). BORROWED from the arena. */
neap_node *mesh_left(neap_ctx *ctx, neap_node *node, const lazy_sharding *to, uint32_t manual, bool promised);
/* The psum over some axes of a node that lies as `is` says. */
neap_node *mesh_build_psum(neap_ctx *ctx, neap_node *node, const lazy_sharding *is, uint32_t mask);
/* The sharding that says nothing but the mesh, or nothing but what is manual. */
lazy_sharding mesh_plain(const lazy_mesh *mesh);
/* "'i', 'j'" of the axes in the mask, into `text`, which is returned. */
const char *mesh_axes_text(const lazy_mesh *mesh, uint32_t mask, char *text, size_t capacity);

/* local.c ---------------------------------------------------------------------------------------------------------- */
/* The axes that an axis name ("i", or "i,j") means on a mesh. */
int mesh_axes_named(neap_ctx *ctx, const lazy_mesh *mesh, int64_t name, mesh_axes *out);
mesh_axes mesh_axes_masked(const lazy_mesh *mesh, uint32_t mask);
int32_t mesh_axes_name(neap_ctx *ctx, const lazy_mesh *mesh,
                       const mesh_axes *axes); /* the other way round; 0: memory */
/* The position that is number `place` along `axes`, and agrees with `position` on all other axes. */
int mesh_member(const lazy_mesh *mesh, int position, const mesh_axes *axes, int place);
/* The blocks of `to`, each the combination by the map `op` (add, maximum, minimum) of the blocks along the axes: a
 * balanced tree over their numbers along the axes. OWNED. */
int mesh_reduce(neap_ctx *ctx, int op, const mesh_value *in, const mesh_axes *axes, const lazy_sharding *to,
                neap_node **blocks);

int mesh_axes_position(const lazy_mesh *mesh, int position, const mesh_axes *axes); /* of a position, along axes */
/* Collectives, which set `blocks` to the blocks (OWNED) of `to`; entries that are set already stay, and at first all
 * are NULL. mesh_gather: the blocks of all members, along a new axis `at`. mesh_scatter: the sum of the blocks, of
 * which each member gets its part along axis `at`. mesh_exchange: each member gets its part along axis `split` of all
 * blocks, along a new axis `concat`. mesh_permute: each member gets the block of another one, or zeros where the source
 * is -1. */
int mesh_gather(neap_ctx *ctx, const mesh_value *in, const mesh_axes *axes, int at, const lazy_sharding *to,
                neap_node **blocks);
int mesh_scatter(neap_ctx *ctx, const mesh_value *in, const mesh_axes *axes, int at, const lazy_sharding *to,
                 neap_node **blocks);
int mesh_exchange(neap_ctx *ctx, const mesh_value *in, const mesh_axes *axes, int split, int concat,
                  const lazy_sharding *to, neap_node **blocks);
int mesh_permute(neap_ctx *ctx, const mesh_value *in, const mesh_axes *axes, const int64_t *sources,
                 const lazy_sharding *to, neap_node **blocks);

/* remote.c --------------------------------------------------------------------------------------------------------- */
typedef struct mesh_remote { /* a collective, as far as other processes take part in it */
    int kind;                /* of exchanges: ENGINE_COMM_… */
    int op;                  /* the map that combines, or -1 */
    const mesh_value *in;
    const mesh_axes *axes;
    int split, concat;     /* the axis of a block that is dealt out, -1: none; the new axis of the result */
    const int32_t *source; /* ENGINE_COMM_PERMUTE */
    const char *name;      /* for people */
} mesh_remote;
/* Sets (OWNED) those blocks of `to` that need other processes; the rest stay as they are. */
int mesh_exchange_groups(neap_ctx *ctx, const mesh_remote *what, const lazy_sharding *to, neap_node **blocks);
/* Part `index` of a node along axis `at`, without that axis. In the arena. */
neap_node *mesh_part(neap_ctx *ctx, neap_node *x, int at, int64_t index);
/* The node with its axis `from` moved to place `to`. In the arena; NULL for NULL. */
neap_node *mesh_move_axis(neap_ctx *ctx, neap_node *x, int from, int to);

/* reshard.c -------------------------------------------------------------------------------------------------------- */
/* The blocks (OWNED) of an ordinary or global array as `to` has them. */
int mesh_reshard_blocks(neap_ctx *ctx, neap_node *node, const lazy_sharding *to, neap_node **blocks);
/* The same without a word to other processes; an error where parts of the array are there alone. For readers on the
 * host. */
int mesh_reshard_here(neap_ctx *ctx, neap_node *node, const lazy_sharding *to, neap_node **blocks);
/* The same for a global array with blocks, by steps that all processes of the mesh take. */
int mesh_reshard_by_steps(neap_ctx *ctx, const neap_node *node, const lazy_sharding *to, neap_node **blocks);

/* unreduced.c ------------------------------------------------------------------------------------------------------ */
enum { MESH_SAME, MESH_VARYING, MESH_UNREDUCED, MESH_REDUCED }; /* what an array of a body is along a manual axis */
/* No array axis is divided by these axes of the mesh any more. Not yet interned. */
void mesh_remove_axes(lazy_sharding *s, uint32_t axes);
/* mesh_reshard_blocks, where arrays may be unreduced too. */
int mesh_retyped_blocks(neap_ctx *ctx, neap_node *in, const lazy_sharding *to, neap_node **blocks);
/* A manual node as one of a kind along manual axes, of which it is another one; nothing is computed (`pcast`). Then the
 * same where it may be of that kind already, and where sums may have to be done. BORROWED from the arena. */
neap_node *mesh_build_pcast(neap_ctx *ctx, neap_node *node, uint32_t axes, int kind);
neap_node *mesh_as_kind(neap_ctx *ctx, neap_node *node, uint32_t axes, int kind);
neap_node *mesh_cotangent(neap_ctx *ctx, neap_node *ct, const neap_node *node); /* sharding.h: cotangent */
/* Brings inputs, of one form, to what an op takes of unreduced and reduced arrays, and refuses the rest. Says how the
 * result is, and along which global axes a reduced input *meets a divided one: then the op is one by block. */
int mesh_type_inputs(neap_ctx *ctx, const graph_call *of, neap_node **in, lazy_sharding *result, uint32_t *meets);
/* An op as in the body of a shard_map over some global axes. undone: a sum over them that remains stays undone. `form`:
 * as `result` above. OWNED. */
neap_node *mesh_record_by_block(neap_ctx *ctx, const graph_call *of, const lazy_sharding *form, uint32_t axes,
                                bool undone);
/* Over which axes an op leaves a sum undone, of those of ctx->mesh.undone. */
uint32_t mesh_left_undone(neap_ctx *ctx, const graph_call *of, const lazy_sharding *form);

/* move.c ----------------------------------------------------------------------------------------------------------- */
/* The axes of the mesh along which data moves: gathered, or dealt out anew. 0: each device has its part already. */
uint32_t mesh_moved_axes(const lazy_sharding *from, const lazy_sharding *to);
/* The bytes of such a move, of all devices, as if each had a memory of its own. shape: of the array. */
int64_t mesh_moved_bytes(const lazy_sharding *from, const lazy_sharding *to, int dtype, int ndim, const int64_t *shape);
/* The same of parts of an array like s, combined over axes of the mesh: each device sends every other one a share of
 * its part, then the sums. */
int64_t mesh_combined_bytes(const lazy_sharding *s, uint32_t over, int dtype, int ndim, const int64_t *shape);
/* "2.05 MB", into `text`, which is returned. */
const char *mesh_bytes_text(int64_t bytes, char *text, size_t capacity);
/* NEAP_E_ARGUMENT: input k of an op would move over explicit axes; the error has layouts, bytes and the remedy. */
int mesh_check_move(const char *op, int k, const neap_node *in, const lazy_sharding *to);

/* note.c ----------------------------------------------------------------------------------------------------------- */
/* What an op did about where its inputs lie, as its rule in *g says (`ruled`: it has one). 0: nothing to tell. */
int32_t mesh_note_op(const lazy_shard_rule *g, neap_node *const *in, bool ruled);
/* What it takes to move an array. */
int32_t mesh_note_move(neap_ctx *ctx, const neap_node *in, const lazy_sharding *to);
/* Notes of the op that is recorded that its devices, which have memories of their own, have no collective for it. */
void mesh_note_collective(neap_ctx *ctx, const char *lacks);
/* Gives a meshed node the notes of its inputs, and its own (0: as it was set). */
void mesh_note_inherit(neap_ctx *ctx, neap_node *node, int32_t note);
/* What the recorder and others below call here (spmd.c). */
extern const graph_mesh_hooks mesh_hooks;
extern const graph_note_kind mesh_note_reshard, mesh_note_fit, mesh_note_enter, mesh_note_leave, mesh_note_open,
    mesh_note_undone; /* mesh.c */

#endif
