/* process.c: which processes and devices there are. */
#include "mesh/internal.h"

int neap_process_index(void) {
    return 0;
}

int neap_process_count(void) {
    return 1;
}

int32_t neap_mesh_devices(int32_t capacity, int32_t *process, int32_t *local) {
    int n = neap_engine_devices();
    for (int k = 0; k < n && k < capacity; k++) {
        process[k] = 0;
        local[k] = k;
    }
    return n;
}
