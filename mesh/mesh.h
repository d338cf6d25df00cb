/* mesh.h: public interface of the mesh room: meshes, shardings, sharded arrays.
 *
 * Meshes and shardings are known by numbers, from 1; they are interned: equal ones have equal numbers, and they live as
 * long as the process. Arrays that lie on a mesh are arrays like others: neap_op records ops on them. The ops that only
 * they have are rows (lazy/ops/mesh.c): reshard, enter, leave, pvary, axis_index, and those of lazy/ops/collective.c.
 */
#ifndef NEAP_MESH_H
#define NEAP_MESH_H

#include "lazy/lazy.h"

/* A mesh of n devices, in row-major order of its axes; devices[k] is a number of neap_mesh_devices. Names are
 * copied. */
NEAP_API int neap_mesh_new(int naxes, const char *const *names, const int64_t *sizes, int n, const int32_t *devices,
                           int32_t *out);

/* The same mesh with other axes, bits, that are explicit: ops on its arrays refuse to move data over these. */
NEAP_API int neap_mesh_mark(int32_t mesh, uint32_t axes, int32_t *out);

/* All devices of all processes, by process: number k is device local[k] of process[k]. Returns how many there are;
 * writes at most `capacity`. */
NEAP_API int32_t neap_mesh_devices(int32_t capacity, int32_t *process, int32_t *local);
NEAP_API int neap_process_index(void); /* of this process; 0 if there is one */
NEAP_API int neap_process_count(void);
/* NEAP_OK: all processes have started, with equally many devices each. NEAP_PENDING: not yet, and `waker` is woken at
 * the next change. Negative: they cannot work together, and the error says why. */
NEAP_API int neap_processes_meet(neap_waker *waker);
/* Ends the part of this process. Every program has to call this before it ends, once all work is done. With status 0 it
 * returns NEAP_PENDING until all processes have called it; with another status, until the others have been told that
 * this process fails, and `why` (a line). `waker` is woken then. NEAP_OK comes at once if there is one process, or if
 * the processes cannot end together any more. */
NEAP_API int neap_processes_end(int status, const char *why, neap_waker *waker);

/* How an array lies. split: words (axis of the array, axis of the mesh), each from 0, in the order in which a tuple of
 * axes divides an axis. */
typedef struct neap_sharding {
    int32_t mesh;
    uint32_t manual, varies, differs; /* bits by axis of the mesh; 0 for an array outside of shard_map */
    uint32_t unchecked;               /* of the manual ones, by check_rep = false: everything varies over them */
    uint32_t unreduced, reduced;      /* axes over which sums are not done: of the array, of its cotangent */
    int32_t nsplit;
    int32_t split[2 * NEAP_MESH_AXES];
} neap_sharding;
NEAP_API int neap_sharding_new(const neap_sharding *what, int32_t *out);
NEAP_API int neap_sharding_get(int32_t number, neap_sharding *out);
/* The sharding that a carry of a loop in a body must have if it begins as `from` and becomes as `to` (0: ordinary). It
 * is `from` itself if that will do. */
NEAP_API int neap_sharding_carry(int32_t from, int32_t to, int32_t *out);
/* "{i,-}": the axes that divide each of ndim axes; "{V:i,j}": those of a body that it varies over; "{U:j}", "{R:j}":
 * those over which it is unreduced, or reduced. Cut to `capacity`. */
NEAP_API int neap_sharding_text(int32_t number, int ndim, char *text, size_t capacity);

/* The sharding of an array; 0: it is an ordinary one. */
NEAP_API int neap_array_sharding(neap_ctx *ctx, int32_t id, int32_t *out);
/* What made an array differ along the first of these axes, bits, along which it does: "; it does so by np.axis_index,
 * script.lua:3", a clause for messages; else "". Cut to `capacity`. */
NEAP_API int neap_mesh_cause(neap_ctx *ctx, int32_t id, uint32_t axes, char *text, size_t capacity);
/* Block `k` of those that this process has (their number is returned by neap_array_blocks) as an ordinary array;
 * *position gets the first position on the mesh where it is. */
NEAP_API int neap_array_blocks(neap_ctx *ctx, int32_t id);
NEAP_API int neap_array_block(neap_ctx *ctx, int32_t id, int k, int32_t *out, int32_t *position);

/* The other way round: makes an array of this dtype and shape, which lies as `sharding` (without manual axes), from
 * ordinary arrays: the blocks of this process in the same order, each of the shape of a block. Moves nothing between
 * processes. */
NEAP_API int neap_mesh_assemble(neap_ctx *ctx, int32_t sharding, int dtype, int ndim, const int64_t *shape, int n,
                                const int32_t *blocks, int32_t *out);

/* Lays an ordinary or a global array out as `sharding`, which has no manual axes beyond the array's. Data moves only
 * where it must; an array that lies so already is returned as it is. Sizes that do not divide are an error. */
NEAP_API int neap_mesh_reshard(neap_ctx *ctx, int32_t id, int32_t sharding, int32_t *out);
/* The same where `sharding` has manual axes too: makes an ordinary array, or one that varies over fewer axes, an array
 * of the body. */
NEAP_API int neap_mesh_fit(neap_ctx *ctx, int32_t id, int32_t sharding, int32_t *out);
/* Takes an array into the body of a shard_map, where it is seen as blocks of `sharding` (whose varies and differs say
 * over which axes). The axes that become manual in `sharding` must divide what they divide there. Moves nothing. */
NEAP_API int neap_mesh_enter(neap_ctx *ctx, int32_t id, int32_t sharding, int32_t *out);
/* Takes an array out of the body again, block by block, as `sharding`, in which these axes are not manual any more.
 * Over axes that do not split it the array must not differ, or `promised` says that it does not. Moves nothing. An
 * ordinary array differs over no axis. `manual`: the axes that are manual inside. */
NEAP_API int neap_mesh_leave(neap_ctx *ctx, int32_t id, int32_t sharding, uint32_t manual, int promised, int32_t *out);
/* The body of a shard_map begins or ends: from now on these axes of the mesh are manual (none: no body is open). Arrays
 * that are manual over others are refused. */
NEAP_API void neap_mesh_open(neap_ctx *ctx, int32_t mesh, uint32_t manual);
/* From now on ops leave sums over these axes of a mesh undone: a result whose parts along an axis are to be added is
 * unreduced over the axis. 0: sums are done. */
NEAP_API void neap_mesh_leave_undone(neap_ctx *ctx, uint32_t axes);
/* Inside: the coordinate of each device along an axis of the mesh (i32, 0-d), which is also the token of collectives
 * over it. `manual`: the axes that are manual here. */
NEAP_API int neap_mesh_index(neap_ctx *ctx, int32_t mesh, uint32_t manual, uint32_t unchecked, int axis, int32_t *out);

#endif
