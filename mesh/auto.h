/* auto.h: ops on arrays that are divided over a mesh outside of the body of a shard_map, and over the axes that are not
 * manual inside of one. */
#ifndef MESH_AUTO_H
#define MESH_AUTO_H

#include "lazy/shard/shard.h"

/* ---- auto.c ---------------------------------------------------------------------------------------------------------
 * How an op on divided arrays is put together from blocks. The caller has set all of *g up to `want`, each want[k] as
 * input k lies, and block_attrs to memory for nattrs attributes; this sets the rest. 0: so it is. 1: the op has no
 * rule, so that all inputs are needed whole: `want` says so, and the result is divided by nothing. */
int mesh_shard_plan(lazy_shard_rule *g);

#endif
