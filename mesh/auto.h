/* auto.h: ops on arrays that are divided over a mesh outside of the body of a shard_map, and over the axes that are not
 * manual inside of one. */
#ifndef MESH_AUTO_H
#define MESH_AUTO_H

#include "lazy/shard/shard.h"

/* ---- auto.c ---------------------------------------------------------------------------------------------------------
 * Finds how an op on divided arrays is put together from blocks. The caller has set all of *g up to `want`, each
 * want[k] as input k lies, and block_attrs to memory for nattrs attributes; this sets the rest. Returns 0 if the op's
 * rule did so. Returns 1 if the op has no rule: then `want` has all inputs whole, and nothing divides the result. */
int mesh_shard_plan(lazy_shard_rule *g);

#endif
