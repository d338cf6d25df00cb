/* comm/tree.c: the order in which the blocks of members are combined (comm.h, rule 3), as a program.
 *
 * A tree is kept as postfix steps over its leaves, the *terms*, and run block by block, so that what stands between two
 * steps stays in the first-level cache. Blocks do not matter to the result: elements are combined one by one.
 */
#include "engine/comm/internal.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 4096, DEPTH_MOST = 33 };

static bool is_leaf(const engine_comm_group *group, int32_t first, int32_t count, bool by_rank) {
    for (int32_t k = 1; k < count; k++)
        if (!by_rank || group->owner[first + k] != group->owner[first])
            return false;
    return true;
}

static int32_t left_part(int32_t count) {
    int32_t half = 1;
    while (half * 2 < count)
        half *= 2;
    return half;
}

/* A worklist of subtrees; count 0 stands for the step that combines. */
int comm_tree_new(const engine_comm_group *group, int32_t first, int32_t count, bool by_rank, comm_tree *out) {
    struct {
        int32_t first, count;
    } todo[2 * DEPTH_MOST];
    *out = (comm_tree){.terms = engine_alloc((size_t)count * sizeof *out->terms),
                       .steps = engine_alloc(2 * (size_t)count * sizeof *out->steps)};
    if (!out->terms || !out->steps) {
        comm_tree_free(out);
        return neap_error(NEAP_E_MEMORY, "no memory for the order of a sum");
    }
    int n = 0;
    todo[n].first = first, todo[n++].count = count;
    while (n > 0) {
        int32_t at = todo[--n].first, size = todo[n].count;
        if (size == 0) {
            out->steps[out->nsteps++] = -1;
        } else if (is_leaf(group, at, size, by_rank)) {
            out->steps[out->nsteps++] = (int16_t)out->nterms;
            out->terms[out->nterms++] = (comm_term){.first = at, .count = size, .rank = group->owner[at]};
        } else {
            int32_t half = left_part(size);
            todo[n++].count = 0;
            todo[n].first = at + half, todo[n++].count = size - half;
            todo[n].first = at, todo[n++].count = half;
        }
    }
    return NEAP_OK;
}

void comm_tree_free(comm_tree *tree) {
    free(tree->terms);
    free(tree->steps);
}

static void combine_block(const comm_tree *tree, const engine_collective *what, int64_t done, int64_t n, char *out) {
    _Alignas(64) char room[DEPTH_MOST][BLOCK_BYTES];
    const char *stack[DEPTH_MOST];
    int depth = 0;
    for (int k = 0; k < tree->nsteps; k++) {
        if (tree->steps[k] >= 0) {
            stack[depth++] = tree->terms[tree->steps[k]].at + (size_t)done * what->item;
            continue;
        }
        depth--;
        char *to = k == tree->nsteps - 1 ? out : room[depth - 1];
        what->combine(to, stack[depth - 1], stack[depth], NULL, n);
        stack[depth - 1] = to;
    }
    if (tree->nsteps == 1)
        memcpy(out, stack[0], (size_t)n * what->item);
}

void comm_tree_combine(const comm_tree *tree, const engine_collective *what, int64_t n, void *out) {
    int64_t block = BLOCK_BYTES / (int64_t)what->item;
    if (tree->nterms <= 2)
        block = n; /* one step, from the terms to the result */
    for (int64_t done = 0; done < n; done += block) {
        int64_t some = n - done < block ? n - done : block;
        combine_block(tree, what, done, some, (char *)out + (size_t)done * what->item);
    }
}
