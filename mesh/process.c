/* process.c: which processes and devices there are. All processes have as many devices. */
#include "engine/comm.h"
#include "mesh/internal.h"

int neap_process_index(void) {
    int rank, size;
    return engine_comm_launched(&rank, &size) ? rank : 0;
}

int neap_process_count(void) {
    int rank, size;
    return engine_comm_launched(&rank, &size) ? size : 1;
}

int32_t neap_mesh_devices(int32_t capacity, int32_t *process, int32_t *local) {
    int own = neap_engine_devices(), n = own * neap_process_count();
    for (int k = 0; k < n && k < capacity; k++) {
        process[k] = k / own;
        local[k] = k % own;
    }
    return n;
}
