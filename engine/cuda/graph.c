/* graph.c: graphs: launches and copies, one behind the other, that the driver enqueues by one call.
 *
 * They are made node by node and not by capture, which would catch what other threads enqueue on the stream.
 */
#include "engine/cuda/cuda.h"

#include <stdlib.h>

/* Of a copy that the driver takes for rows of one: their width is that of a pitch. */
static const size_t COPY_MOST = INT32_MAX;

struct neap_graph {
    CUgraph graph;
    CUgraphExec made;
    int n;
    CUgraphNode nodes[];
};

static CUDA_MEMCPY3D describe_copy(const neap_graph_step *step) {
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = (CUdeviceptr)(uintptr_t)step->from,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = (CUdeviceptr)(uintptr_t)step->to,
                           .srcPitch = step->bytes,
                           .dstPitch = step->bytes,
                           .WidthInBytes = step->bytes,
                           .Height = 1,
                           .Depth = 1};
}

/* Adds a launch behind the last node, or, where the graph is made, gives its node these parameters, which the driver
 * copies. */
static int set_launch(cuda_device *device, neap_graph *graph, int k, const neap_launch *launch, void **parameters) {
    CUDA_KERNEL_NODE_PARAMS node = {.gridDimX = launch->groups[0],
                                    .gridDimY = launch->groups[1],
                                    .gridDimZ = launch->groups[2],
                                    .blockDimX = launch->threads[0],
                                    .blockDimY = launch->threads[1],
                                    .blockDimZ = launch->threads[2],
                                    .sharedMemBytes = launch->shared_bytes,
                                    .kernelParams = parameters};
    int status = cuda_launch_parameters(device, launch, parameters, &node.func);
    if (status)
        return status;
    if (graph->made)
        return cuda_check(device, cuda.cuGraphExecKernelNodeSetParams_v2(graph->made, graph->nodes[k], &node),
                          "cuGraphExecKernelNodeSetParams");
    const CUgraphNode *behind = k ? &graph->nodes[k - 1] : NULL;
    return cuda_check(device, cuda.cuGraphAddKernelNode_v2(&graph->nodes[k], graph->graph, behind, k > 0, &node),
                      "cuGraphAddKernelNode");
}

static int set_copy(cuda_device *device, neap_graph *graph, int k, const neap_graph_step *step) {
    const CUDA_MEMCPY3D copy = describe_copy(step);
    if (graph->made)
        return cuda_check(device,
                          cuda.cuGraphExecMemcpyNodeSetParams(graph->made, graph->nodes[k], &copy, device->context),
                          "cuGraphExecMemcpyNodeSetParams");
    const CUgraphNode *behind = k ? &graph->nodes[k - 1] : NULL;
    return cuda_check(device,
                      cuda.cuGraphAddMemcpyNode(&graph->nodes[k], graph->graph, behind, k > 0, &copy, device->context),
                      "cuGraphAddMemcpyNode");
}

/* The caller has entered. */
static int set_step(cuda_device *device, neap_graph *graph, int k, const neap_graph_step *step) {
    const neap_launch *launch = &step->launch;
    size_t n = (size_t)launch->nbuffers + (size_t)launch->nscalars;
    void *few[CUDA_FEW_PARAMETERS], **parameters = few;
    if (!launch->code && step->bytes > COPY_MOST)
        return neap->error(NEAP_E_LIBRARY, "a copy of %zu bytes is no node of a graph", step->bytes);
    if (!launch->code)
        return set_copy(device, graph, k, step);
    if (n > CUDA_FEW_PARAMETERS && !(parameters = malloc(n * sizeof *parameters)))
        return neap->error(NEAP_E_MEMORY, "no memory for a graph");
    int status = set_launch(device, graph, k, launch, parameters);
    if (parameters != few)
        free(parameters);
    return status;
}

/* `entered`: the device is not lost. */
static void drop(neap_graph *graph, bool entered) {
    if (entered && graph->made)
        cuda.cuGraphExecDestroy(graph->made);
    if (entered && graph->graph)
        cuda.cuGraphDestroy(graph->graph);
    free(graph);
}

int cuda_graph_new(neap_device *handle, int n, const neap_graph_step *steps, neap_graph **out) {
    cuda_device *device = (cuda_device *)handle;
    neap_graph *graph = calloc(1, sizeof *graph + (size_t)n * sizeof *graph->nodes);
    int status = graph ? cuda_enter(device) : neap->error(NEAP_E_MEMORY, "no memory for a graph");
    if (status) {
        free(graph);
        return status;
    }
    status = cuda_check(device, cuda.cuGraphCreate(&graph->graph, 0), "cuGraphCreate");
    for (; graph->n < n && !status; graph->n++)
        status = set_step(device, graph, graph->n, &steps[graph->n]);
    if (!status)
        status =
            cuda_check(device, cuda.cuGraphInstantiateWithFlags(&graph->made, graph->graph, 0), "cuGraphInstantiate");
    if (status)
        drop(graph, true);
    else
        *out = graph;
    cuda_leave();
    return status;
}

int cuda_graph_change(neap_device *handle, neap_graph *graph, int k, const neap_graph_step *step) {
    cuda_device *device = (cuda_device *)handle;
    int status = cuda_enter(device);
    if (status)
        return status;
    status = set_step(device, graph, k, step);
    cuda_leave();
    return status;
}

int cuda_graph_run(neap_device *handle, neap_stream *stream, neap_graph *graph) {
    cuda_device *device = (cuda_device *)handle;
    int status = cuda_enter(device);
    if (status)
        return status;
    status = cuda_check(device, cuda.cuGraphLaunch(graph->made, ((cuda_stream *)stream)->stream), "cuGraphLaunch");
    cuda_leave();
    return status;
}

void cuda_graph_free(neap_device *handle, neap_graph *graph) {
    const bool entered = cuda_enter((cuda_device *)handle) == NEAP_OK;
    drop(graph, entered);
    if (entered)
        cuda_leave();
}
