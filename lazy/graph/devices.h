/* devices.h: on which devices a session computes, and in which memory a node's data lies.
 *
 * Memory. The devices of the CPU share one memory; any other device has its own (neap_device_memory_space), which the
 * host must not touch. The buffer of a node lies in the memory of the device that the node runs on
 * (graph_node_runs_on). What is of another memory is copied:
 *
 *      device_put from one memory to another      the op `transfer`, whose step is a copy
 *      an operand of a step in another memory     a copy for the time of a run of the plan (plan/transfer.c)
 *      new data, which Lua writes on the host     moved to where it belongs when it is first computed with (plan/run.c)
 *      a reader on the host                       graph_host_buffer
 *
 * Only what runs on the device of a buffer may use its address.
 */
#ifndef LAZY_DEVICES_H
#define LAZY_DEVICES_H

#include "lazy/lazy.h"

/* The devices of np.devices(): engine devices `first` to first + n - 1. */
typedef struct lazy_devices {
    int first, n; /* n 0: all CPU devices */
} lazy_devices;
extern lazy_devices graph_devices;
/* Which of them the calling thread's uncommitted work runs on, from 0. It is looked at when work is planned. */
extern _Thread_local int graph_default_device __attribute__((tls_model("initial-exec")));

/* The engine's number of that device. */
static inline int graph_home_device(void) {
    return graph_devices.first + graph_default_device;
}

/* A device that computes on the memory of the host: the device itself if it does. */
static inline int graph_host_device(int device) {
    return neap_device_memory_space(device) == 0 ? device : 0;
}

#endif
