/* auto.c: which rule an op on divided arrays has: that of its row, else that of its class (lazy/shard/shard.h). */
#include "mesh/auto.h"

#include <string.h>

static int (*rule_of(const lazy_op *row))(lazy_shard_rule *g) {
    if (row->shard)
        return row->shard;
    return row->kind == LAZY_MAP ? shard_elementwise : row->kind == LAZY_REDUCE ? shard_reduce : NULL;
}

int mesh_shard_plan(lazy_shard_rule *g) {
    int (*rule)(lazy_shard_rule * g) = rule_of(g->row);
    g->combine = -1;
    g->over = 0;
    if (g->nattrs)
        memcpy(g->block_attrs, g->attrs, (size_t)g->nattrs * sizeof *g->attrs);
    if (rule)
        return rule(g);
    shard_solve(g, &(lazy_factors){0}, -1);
    return 1;
}
