/* process.c: which processes and devices there are. All processes have as many devices. */
#include "engine/comm/comm.h"
#include "mesh/internal.h"

int neap_process_index(void) {
    int rank, size;
    return engine_comm_launched(&rank, &size) ? rank : 0;
}

int neap_process_count(void) {
    int rank, size;
    return engine_comm_launched(&rank, &size) ? size : 1;
}

int neap_processes_meet(neap_waker *waker) {
    engine_comm *comm = engine_comm_here();
    int status = comm ? engine_comm_poll(comm, waker) : NEAP_OK, first, own = neap_session_devices(&first);
    for (int rank = 0; comm && status == NEAP_OK && rank < engine_comm_size(comm); rank++)
        if (engine_comm_devices(comm, rank) != own)
            status = neap_error(NEAP_E_STATE,
                                "process %d (on %s) has %d devices and process %d has %d: all need the same number "
                                "(neap --devices N)",
                                rank, engine_comm_host(comm, rank), engine_comm_devices(comm, rank),
                                neap_process_index(), own);
    return status;
}

int neap_processes_end(int status, const char *why, neap_waker *waker) {
    engine_comm *comm = engine_comm_here();
    return comm ? engine_comm_end(comm, status, status ? why : NULL, waker) : NEAP_OK;
}

int32_t neap_mesh_devices(int32_t capacity, int32_t *process, int32_t *local) {
    int first, own = neap_session_devices(&first), n = own * neap_process_count();
    for (int k = 0; k < n && k < capacity; k++) {
        process[k] = k / own;
        local[k] = first + k % own;
    }
    return n;
}
