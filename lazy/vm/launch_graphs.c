/* launch_graphs.c: the launch graphs (engine/device.h) of a loop's turns, or of a group of steps.
 *
 * A program that drops its arrays finds them where they were, in turns. Where few of them have moved, the driver is
 * told of these. Where it had to be told of most steps of a graph, there is one more, for other addresses, up to a
 * number. If that does not help, graphs cost as much as they save, and are given up.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lazy/vm/backend.h"

enum { GRAPHS_MOST = 4 };
/* What a new graph, and one that has changed, cost, as parts of WASTE_MOST, at which graphs are given up; one that pays
 * makes up for one that has changed. */
enum { WASTE_NEW = 2, WASTE_CHANGED = 1, WASTE_MOST = 16 };

typedef struct kept_graph {
    neap_launch_graph *graph;
    uint64_t key, used;
    bool taken;
} kept_graph;

struct lazy_launch_graphs {
    pthread_mutex_t mutex;
    int device, n, waste;
    bool changes; /* most of the last one had changed */
    uint64_t from, runs;
    kept_graph kept[GRAPHS_MOST];
};

lazy_launch_graphs *vm_launch_graphs_new(int device, int from) {
    lazy_launch_graphs *graphs = calloc(1, sizeof *graphs);
    if (!graphs)
        return NULL;
    pthread_mutex_init(&graphs->mutex, NULL);
    graphs->device = device;
    graphs->from = (uint64_t)from;
    return graphs;
}

void vm_launch_graphs_free(lazy_launch_graphs *graphs) {
    if (!graphs)
        return;
    for (int k = 0; k < graphs->n; k++)
        neap_launch_graph_free(graphs->kept[k].graph);
    pthread_mutex_destroy(&graphs->mutex);
    free(graphs);
}

/* NULL: all are in use, or there is no memory. */
static kept_graph *choose(lazy_launch_graphs *graphs, uint64_t key) {
    kept_graph *oldest = NULL;
    for (int k = 0; k < graphs->n; k++) {
        kept_graph *kept = &graphs->kept[k];
        if (!kept->taken && kept->key == key)
            return kept;
        if (!kept->taken && (!oldest || kept->used < oldest->used))
            oldest = kept;
    }
    const bool wanted = !oldest || graphs->changes;
    if (wanted && graphs->n < GRAPHS_MOST &&
        neap_launch_graph_new(graphs->device, &graphs->kept[graphs->n].graph) == NEAP_OK) {
        graphs->waste += WASTE_NEW;
        return &graphs->kept[graphs->n++];
    }
    return oldest;
}

neap_launch_graph *vm_launch_graphs_take(lazy_launch_graphs *graphs, uint64_t key) {
    pthread_mutex_lock(&graphs->mutex);
    const bool pays = ++graphs->runs >= graphs->from && graphs->waste < WASTE_MOST;
    kept_graph *kept = pays ? choose(graphs, key) : NULL;
    if (kept) {
        kept->taken = true;
        kept->key = key;
        kept->used = graphs->runs;
    }
    pthread_mutex_unlock(&graphs->mutex);
    return kept ? kept->graph : NULL;
}

void vm_launch_graphs_return(lazy_launch_graphs *graphs, neap_launch_graph *graph) {
    pthread_mutex_lock(&graphs->mutex);
    graphs->changes = neap_launch_graph_is_idle(graph);
    if (graphs->changes)
        graphs->waste += WASTE_CHANGED;
    else if (graphs->waste > 0)
        graphs->waste -= WASTE_CHANGED;
    for (int k = 0; k < graphs->n; k++)
        if (graphs->kept[k].graph == graph)
            graphs->kept[k].taken = false;
    pthread_mutex_unlock(&graphs->mutex);
}
