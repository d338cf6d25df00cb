/* graphs.c: the graphs of the fake driver: launches and copies, each behind the one before. They are enqueued
 * as items of their own. Whoever frees one while it is under way is told of it.
 */
#include "tests/cuda/fake/fake.h"

#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default) /* the driver's functions are found by name */

struct CUgraphNode_st { /* as it was when it was added; a graph that is made has nodes of its own */
    struct CUgraphNode_st *next;
    int place;
    CUfunction function; /* NULL: a copy */
    unsigned groups;
    uint64_t parameters[FAKE_MAX_PARAMETERS];
    CUdeviceptr to, from;
    size_t bytes;
};

struct CUgraph_st {
    struct CUgraph_st *next; /* in its context */
    CUcontext context;
    CUgraphNode first, last;
    int n;
};

struct CUgraphExec_st {
    struct CUgraphExec_st *next; /* in its context */
    CUcontext context;
    int n, under_way;
    struct CUgraphNode_st nodes[];
};

CUresult cuGraphCreate(CUgraph *graph, unsigned int flags) {
    BEGIN(true);
    if (flags)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    *graph = calloc(1, sizeof **graph);
    (*graph)->context = fake_context_now();
    (*graph)->next = (*graph)->context->graphs;
    (*graph)->context->graphs = *graph;
    fake_now.graphs++;
    return fake_leave(CUDA_SUCCESS);
}

/* It is on its context's list. */
static void free_graph(CUgraph graph) {
    CUgraph *link = &graph->context->graphs;
    while (*link != graph)
        link = &(*link)->next;
    *link = graph->next;
    while (graph->first) {
        CUgraphNode next = graph->first->next;
        if (graph->first->function)
            graph->first->function->nodes--;
        free(graph->first);
        graph->first = next;
    }
    fake_now.graphs--;
    free(graph);
}

static void free_made(CUgraphExec made) {
    CUgraphExec *link = &made->context->made;
    while (*link != made)
        link = &(*link)->next;
    *link = made->next;
    for (int k = 0; k < made->n; k++)
        if (made->nodes[k].function)
            made->nodes[k].function->nodes--;
    fake_now.graphs--;
    free(made);
}

void fake_free_graphs(CUcontext context) {
    while (context->made)
        free_made(context->made);
    while (context->graphs)
        free_graph(context->graphs);
}

CUresult cuGraphDestroy(CUgraph graph) {
    fake_enter(__func__, true);
    free_graph(graph);
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuGraphExecDestroy(CUgraphExec made) {
    fake_enter(__func__, true);
    if (made->under_way && !made->context->lost)
        fake_complain("a graph is destroyed while it is under way");
    while (made->under_way)
        fake_wait(NULL);
    free_made(made);
    return fake_leave(CUDA_SUCCESS);
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

static bool set_launch(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *how) {
    if (!fake_can_launch(how) || how->kern || how->ctx)
        return false;
    node->function = how->func;
    node->groups = how->gridDimX;
    for (int k = 0; k < how->func->nparameters; k++)
        memcpy(&node->parameters[k], how->kernelParams[k], sizeof node->parameters[k]);
    return true;
}

static bool set_copy(CUgraphNode node, const CUDA_MEMCPY3D *copy, CUcontext context) {
    CUDA_MEMCPY3D plain = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = copy->srcDevice,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = copy->dstDevice,
                           .srcPitch = copy->WidthInBytes,
                           .dstPitch = copy->WidthInBytes,
                           .WidthInBytes = copy->WidthInBytes,
                           .Height = 1,
                           .Depth = 1};
    node->to = copy->dstDevice;
    node->from = copy->srcDevice;
    node->bytes = copy->WidthInBytes;
    return memcmp(&plain, copy, sizeof plain) == 0 && node->bytes > 0 && context == fake_context_now();
}

/* A row: each node is added behind the last one, and no other. */
static bool is_behind_last(CUgraph graph, const CUgraphNode *behind, size_t n) {
    return graph->context == fake_context_now() && n == (graph->n > 0) && (n == 0 || *behind == graph->last);
}

/* TAKES the node. */
static CUresult add(CUgraph graph, CUgraphNode node, bool good, CUgraphNode *out) {
    if (!good) {
        free(node);
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    }
    node->place = graph->n++;
    *(graph->last ? &graph->last->next : &graph->first) = node;
    graph->last = node;
    if (node->function)
        node->function->nodes++;
    *out = node;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *behind, size_t n,
                                 const CUDA_KERNEL_NODE_PARAMS *parameters) {
    BEGIN(true);
    CUgraphNode node = calloc(1, sizeof *node);
    return add(graph, node, is_behind_last(graph, behind, n) && set_launch(node, parameters), out);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *behind, size_t n,
                              const CUDA_MEMCPY3D *copy, CUcontext context) {
    BEGIN(true);
    CUgraphNode node = calloc(1, sizeof *node);
    return add(graph, node, is_behind_last(graph, behind, n) && set_copy(node, copy, context), out);
}

/* ---- Graphs that are made ---------------------------------------------------------------------------------------- */

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags) {
    BEGIN(true);
    if (flags || graph->n == 0)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    CUgraphExec made = calloc(1, sizeof *made + (size_t)graph->n * sizeof *made->nodes);
    made->context = graph->context;
    made->next = made->context->made;
    made->context->made = made;
    for (CUgraphNode node = graph->first; node; node = node->next) {
        made->nodes[made->n++] = *node;
        if (node->function)
            node->function->nodes++;
    }
    fake_now.graphs++;
    *out = made;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec graph, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *parameters) {
    BEGIN(true);
    CUgraphNode own = &graph->nodes[node->place];
    if (own->function != parameters->func || !set_launch(own, parameters))
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    fake_now.changes++;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec graph, CUgraphNode node, const CUDA_MEMCPY3D *copy,
                                        CUcontext context) {
    BEGIN(true);
    CUgraphNode own = &graph->nodes[node->place];
    if (own->function || !set_copy(own, copy, context))
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    fake_now.changes++;
    return fake_leave(CUDA_SUCCESS);
}

static void enqueue_node(CUstream stream, CUgraphNode node, CUgraphExec last_of) {
    if (node->function) {
        void *parameters[FAKE_MAX_PARAMETERS];
        for (int k = 0; k < node->function->nparameters; k++)
            parameters[k] = &node->parameters[k];
        fake_launch_now(stream, node->function, node->groups, parameters, last_of);
        return;
    }
    fake_block *to = fake_check_block("cuGraphLaunch", fake_context_now(), node->to, node->bytes);
    fake_block *from = fake_check_block("cuGraphLaunch", fake_context_now(), node->from, node->bytes);
    fake_enqueue_item(stream, (fake_item){.what = FAKE_COPY,
                                          .blocks = {to, from},
                                          .to = (void *)(uintptr_t)node->to,
                                          .from = (const void *)(uintptr_t)node->from,
                                          .bytes = node->bytes,
                                          .last_of = last_of});
}

CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
    BEGIN(true);
    fake_check_stream(__func__, stream);
    graph->under_way++;
    fake_now.graphs_run++;
    for (int k = 0; k < graph->n; k++)
        enqueue_node(stream, &graph->nodes[k], k == graph->n - 1 ? graph : NULL);
    return fake_leave(CUDA_SUCCESS);
}

void fake_graph_done(CUgraphExec graph) {
    if (--graph->under_way == 0)
        fake_happened();
}
