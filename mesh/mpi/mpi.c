/* mpi.c: the transport over MPI: the plugin neap_mpi.so, which the engine loads in a process that mpirun has started.
 *
 * All calls come from one thread, which is not the one that began the program. MPI is told so (MPI_THREAD_FUNNELED; the
 * thread that initialises it is its main one), and that errors shall come back as codes. A communicator of its own
 * keeps neap's messages apart from those of other users of MPI in the process.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device.h"

enum { TAGS = 16 };

typedef struct mpi_link {
    MPI_Comm comm;
    int capacity; /* of the scratch of test */
    MPI_Request *requests;
    MPI_Status *statuses;
    int *over;
} mpi_link;

_Static_assert(sizeof(MPI_Request) <= sizeof(uint64_t), "a request is kept in 64 bits");

static const neap_plugin_host *neap;

static int mpi_failure(const char *call, int code) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        length = 0;
    return neap->error(NEAP_E_LIBRARY, "%s failed: %.*s", call, length, text);
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */
static void keep_request(neap_transfer *transfer, MPI_Request request) {
    transfer->state = 0;
    transfer->request = 0;
    memcpy(&transfer->request, &request, sizeof request);
}

static MPI_Request request_of(const neap_transfer *transfer) {
    MPI_Request request;
    memcpy(&request, &transfer->request, sizeof request);
    return request;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */
static int open_link(void *where, void **out, int *rank, int *size) {
    int provided = 0, code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    (void)where;
    if (code != MPI_SUCCESS)
        return mpi_failure("MPI_Init_thread", code);
    if (provided < MPI_THREAD_FUNNELED)
        return neap->error(NEAP_E_LIBRARY, "this MPI library cannot be used in a program with threads");
    mpi_link *link = calloc(1, sizeof *link);
    if (!link)
        return neap->error(NEAP_E_MEMORY, "no memory for MPI's link");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Comm_dup(MPI_COMM_WORLD, &link->comm);
    if (code != MPI_SUCCESS) {
        free(link);
        return mpi_failure("MPI_Comm_dup", code);
    }
    MPI_Comm_set_errhandler(link->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(link->comm, rank);
    MPI_Comm_size(link->comm, size);
    *out = link;
    return NEAP_OK;
}

static void close_link(void *arg) {
    mpi_link *link = arg;
    MPI_Comm_free(&link->comm);
    MPI_Finalize();
    free(link->requests);
    free(link->statuses);
    free(link->over);
    free(link);
}

static int mpi_send(void *arg, neap_transfer *transfer) {
    mpi_link *link = arg;
    MPI_Request request;
    int code =
        MPI_Isend(transfer->data, (int)transfer->bytes, MPI_BYTE, transfer->rank, transfer->tag, link->comm, &request);
    if (code != MPI_SUCCESS)
        return mpi_failure("MPI_Isend", code);
    keep_request(transfer, request);
    return NEAP_OK;
}

static int mpi_receive(void *arg, neap_transfer *transfer) {
    mpi_link *link = arg;
    MPI_Request request;
    int from = transfer->rank == NEAP_RANK_ANY ? MPI_ANY_SOURCE : transfer->rank;
    int code = MPI_Irecv(transfer->data, (int)transfer->bytes, MPI_BYTE, from, transfer->tag, link->comm, &request);
    if (code != MPI_SUCCESS)
        return mpi_failure("MPI_Irecv", code);
    keep_request(transfer, request);
    return NEAP_OK;
}

static int make_request_room(mpi_link *link, int n) {
    if (n <= link->capacity)
        return NEAP_OK;
    free(link->requests);
    free(link->statuses);
    free(link->over);
    link->capacity = 2 * n;
    link->requests = malloc((size_t)link->capacity * sizeof *link->requests);
    link->statuses = malloc((size_t)link->capacity * sizeof *link->statuses);
    link->over = malloc((size_t)link->capacity * sizeof *link->over);
    if (link->requests && link->statuses && link->over)
        return NEAP_OK;
    link->capacity = 0;
    return neap->error(NEAP_E_MEMORY, "no memory for MPI's requests");
}

/* `failed`: MPI_ERROR of the statuses has been set. */
static void finish_transfer(neap_transfer *transfer, MPI_Status *status, bool failed) {
    int count = 0;
    transfer->state = 1;
    if (failed && status->MPI_ERROR != MPI_SUCCESS)
        transfer->state = mpi_failure("a transfer of MPI", status->MPI_ERROR);
    else if (transfer->rank == NEAP_RANK_ANY && MPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS)
        transfer->rank = status->MPI_SOURCE, transfer->bytes = (size_t)count;
}

static int test(void *arg, int n, neap_transfer *const *transfers) {
    mpi_link *link = arg;
    int status = make_request_room(link, n), count = 0;
    if (status < 0)
        return status;
    for (int k = 0; k < n; k++)
        link->requests[k] = transfers[k]->state == 0 ? request_of(transfers[k]) : MPI_REQUEST_NULL;
    int code = MPI_Testsome(n, link->requests, &count, link->over, link->statuses);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)
        return mpi_failure("MPI_Testsome", code);
    for (int k = 0; count != MPI_UNDEFINED && k < count; k++)
        finish_transfer(transfers[link->over[k]], &link->statuses[k], code == MPI_ERR_IN_STATUS);
    return NEAP_OK;
}

/* A send that has begun cannot be taken back; a receive can, while no message has come for it. */
static int cancel(void *arg, neap_transfer *transfer) {
    MPI_Request request = request_of(transfer);
    int over = 0;
    (void)arg;
    if (transfer->state != 0)
        return NEAP_OK;
    int code = MPI_Cancel(&request);
    if (code == MPI_SUCCESS)
        code = MPI_Test(&request, &over, MPI_STATUS_IGNORE);
    keep_request(transfer, request);
    if (code != MPI_SUCCESS)
        return mpi_failure("MPI_Cancel", code);
    transfer->state = over ? 1 : 0;
    return NEAP_OK;
}

static const neap_transport transport = {.abi = NEAP_DEVICE_ABI,
                                         .name = "MPI",
                                         .tags = TAGS,
                                         .open = open_link,
                                         .close = close_link,
                                         .send = mpi_send,
                                         .receive = mpi_receive,
                                         .test = test,
                                         .cancel = cancel};

int neap_plugin_open(const neap_plugin_host *host) {
    if (host->abi != NEAP_DEVICE_ABI)
        return host->error(NEAP_E_LIBRARY, "made for interface %d of neap, not %u", NEAP_DEVICE_ABI, host->abi);
    neap = host;
    return host->transport_register(&transport);
}
