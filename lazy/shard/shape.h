/* shape.h: shardings of what is made of arrays that lie on a mesh (sharding_shape.c), and blocks by number. */
#ifndef LAZY_SHARD_SHAPE_H
#define LAZY_SHARD_SHAPE_H

#include "lazy/graph/graph.h"

/* How many blocks a value has that lies so; an ordinary one (NULL) is one. Block k of a node. */
static inline int32_t shard_block_count(const lazy_sharding *sharding) {
    return sharding ? sharding->nblocks : 1;
}
static inline neap_node *shard_block(neap_node *node, int32_t k) {
    return graph_is_meshed(node) ? node->shards->blocks[k] : node;
}
/* Which block of such a value a position of the mesh has. */
static inline int32_t shard_block_at(const lazy_sharding *sharding, int position) {
    return sharding ? shard_sharding_block(sharding, position) : 0;
}

/* Of an array with a new axis in front; of one part along axis 0, which must not be divided; of the same array with
 * axis 0 in one piece. NULL: memory. */
const lazy_sharding *shard_sharding_stacked(const lazy_sharding *sharding);
const lazy_sharding *shard_sharding_part(const lazy_sharding *sharding);
const lazy_sharding *shard_sharding_joined(const lazy_sharding *sharding);
/* What holds values of both (NULL: ordinary ones): divided as `a`, unless that is ordinary. *out may be NULL then.
 * Those of several meshes are an error; `op` names who asks. */
int shard_sharding_cover(const char *op, const lazy_sharding *a, const lazy_sharding *b, const lazy_sharding **out);
/* Can a value that lies so (NULL: an ordinary one) stand for one that lies as `want` does? It may differ over less. */
bool shard_sharding_serves(const lazy_sharding *is, const lazy_sharding *want);
/* Like `of`, but whole and the same everywhere. */
const lazy_sharding *shard_sharding_whole(const lazy_sharding *of);
/* The same, divided into the blocks of all that `sharding` and `of` tell apart: for what is computed for each
 * device. */
const lazy_sharding *shard_sharding_apart(const lazy_sharding *of, uint32_t distinct);
/* divide.c: an array whose value is there as one that lies so, which has no manual axes; sizes divide. OWNED. */
neap_node *shard_divide(neap_ctx *ctx, const neap_node *whole, const lazy_sharding *lies);
/* "{i,-}", "{V:i,j}", "{U:j}", "{R:j}": the axes that divide it, those that it varies over, those over which it is
 * unreduced, or reduced. Returns `text`. */
const char *shard_sharding_text(const lazy_sharding *sharding, int ndim, char *text, size_t capacity);

#endif
