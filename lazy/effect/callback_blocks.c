/* callback_blocks.c: callbacks of arrays that differ between devices, in the body of a shard_map: a call for each
 * device, as a print shows each device's block, and in that order: row-major over the axes that are manual.
 *
 * The node of such a callback lies on the mesh: it may differ over all manual axes, since nobody knows what a function
 * that is called for each device gives. Its blocks are ordinary nodes of calls, and its results their parts, so they
 * are arrays of the body. In a trace it has no blocks; it gets them when the program is lowered, which is when the
 * calls become effects of their own. Of several processes, each has the calls of its own devices.
 */
#include <string.h>

#include "lazy/effect/effect.h"
#include "lazy/graph/graph.h"
#include "lazy/plan/plan.h"
#include "lazy/shard/shard.h"

int effect_calls_sharding(int n, neap_node *const *in, const lazy_sharding **each) {
    lazy_sharding like = {.mesh = NULL};
    uint32_t differs = 0;
    *each = NULL;
    for (int k = 0; k < n; k++) {
        const lazy_sharding *s = graph_sharding_of(in[k]);
        if (!s || !s->manual)
            continue;
        if (like.mesh && like.mesh != s->mesh)
            return neap_error(NEAP_E_ARGUMENT, "callback: two arguments are blocks on different meshes");
        like.mesh = s->mesh;
        like.manual |= s->manual;
        like.unchecked |= s->unchecked;
        differs |= s->differs;
    }
    if (!differs)
        return 0;
    like.varies = like.differs = like.manual;
    *each = shard_sharding_intern(&like);
    return *each ? 0 : neap_error_code();
}

/* An argument that axes divide which are not manual, in one piece. In the arena. */
static neap_node *undivided(neap_ctx *ctx, neap_node *node) {
    lazy_sharding like = *graph_sharding_of(node);
    if (!like.splits)
        return node;
    memset(like.split, 0, sizeof like.split);
    const lazy_sharding *to = shard_sharding_intern(&like);
    return to ? graph_mesh()->fitted(ctx, node, to) : NULL;
}

int effect_call_arguments(neap_ctx *ctx, const neap_node *node, int position, neap_node **in) {
    for (int k = 0; k < node->nin; k++) {
        neap_node *whole = graph_untaped(ctx, node->in[k]);
        if (!whole)
            return neap_error_code();
        if (!graph_is_meshed(whole)) {
            in[k] = whole;
            continue;
        }
        if (!graph_sharding_of(whole)->manual) {
            int status = plan_host_node(ctx, whole, &in[k]);
            if (status)
                return status;
            continue;
        }
        if (!(whole = undivided(ctx, whole)))
            return neap_error_code();
        neap_node *block = shard_block(whole, shard_block_at(graph_sharding_of(whole), position));
        if (!(in[k] = graph_build_place(ctx, block, -1)))
            return neap_error_code();
    }
    return 0;
}
