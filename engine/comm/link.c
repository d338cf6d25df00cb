/* comm/link.c: transfers under way, and how the communication thread waits for them.
 *
 * All transfers stand on one list, comm->flight, which the transport looks at as a whole. A wait polls, then yields,
 * then sleeps for longer and longer, up to a millisecond: there may be more ranks than cores, and the cores have other
 * work.
 */
#include "engine/comm/internal.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { POLLS = 20, YIELDS = 200, NAP_FIRST_NS = 20000, NAP_MOST_NS = 1000000, LOOK_NS = 100000000 };

/* ---- The list ---------------------------------------------------------------------------------------------------- */
static comm_transfer *take_transfer(engine_comm *comm) {
    if (comm->flight.n == comm->flight.capacity) {
        int more = comm->flight.capacity ? 2 * comm->flight.capacity : 32;
        comm_transfer **grown = realloc(comm->flight.at, (size_t)more * sizeof *grown);
        if (!grown)
            return NULL;
        comm->flight.at = grown;
        comm->flight.capacity = more;
    }
    comm_transfer *transfer = comm->spare;
    if (transfer)
        comm->spare = transfer->next;
    else
        transfer = engine_alloc(sizeof *transfer);
    return transfer;
}

static void recycle_transfer(engine_comm *comm, comm_transfer *transfer) {
    free(transfer->own);
    transfer->next = comm->spare;
    comm->spare = transfer;
}

static int begin_transfer(engine_comm *comm, bool sends, neap_transfer t, int *left, void *own) {
    comm_transfer *transfer = take_transfer(comm);
    if (!transfer) {
        free(own);
        return comm_break(comm, "no memory for a transfer");
    }
    *transfer = (comm_transfer){.t = t, .left = left, .own = own};
    int status = (sends ? comm->transport->send : comm->transport->receive)(comm->link, &transfer->t);
    if (status < 0) {
        recycle_transfer(comm, transfer);
        return comm_break(comm, "%s: %s", comm->transport->name, neap_error_text());
    }
    comm->flight.at[comm->flight.n++] = transfer;
    if (left)
        ++*left;
    return NEAP_OK;
}

/* Long ones go in parts, which both sides cut alike. */
static int begin_parts(engine_comm *comm, bool sends, neap_transfer t, int *left) {
    int status = NEAP_OK;
    for (size_t all = t.bytes; all > 0 && status == NEAP_OK; t.data = (char *)t.data + t.bytes, all -= t.bytes) {
        t.bytes = all < NEAP_TRANSFER_MOST ? all : NEAP_TRANSFER_MOST;
        status = begin_transfer(comm, sends, t, left, NULL);
    }
    return status;
}

int comm_send(engine_comm *comm, int rank, int tag, const void *data, size_t bytes, int *left) {
    return begin_parts(comm, true, (neap_transfer){.rank = rank, .tag = tag, .data = (void *)data, .bytes = bytes},
                       left);
}

int comm_receive(engine_comm *comm, int rank, int tag, void *data, size_t bytes, int *left) {
    return begin_parts(comm, false, (neap_transfer){.rank = rank, .tag = tag, .data = data, .bytes = bytes}, left);
}

int comm_send_own(engine_comm *comm, int rank, int tag, void *data, size_t bytes) {
    return begin_transfer(comm, true, (neap_transfer){.rank = rank, .tag = tag, .data = data, .bytes = bytes}, NULL,
                          data);
}

/* ---- Progress ---------------------------------------------------------------------------------------------------- */
/* Takes one that is over off the list, whose order does not matter. */
static int land(engine_comm *comm, int at) {
    comm_transfer *transfer = comm->flight.at[at];
    int status = NEAP_OK, sender = transfer->t.rank;
    comm->flight.at[at] = comm->flight.at[--comm->flight.n];
    bool note = transfer->t.data == &comm->message_in;
    if (transfer->left)
        --*transfer->left;
    if (transfer->t.state < 0)
        status = comm_break(comm, "%s: %s", comm->transport->name, neap_error_text());
    recycle_transfer(comm, transfer);
    return note && status == NEAP_OK ? comm_message_take(comm, sender) : status;
}

int comm_progress(engine_comm *comm) {
    int over = 0;
    if (comm->flight.n == 0)
        return 0;
    int status = comm->transport->test(comm->link, comm->flight.n, (neap_transfer *const *)comm->flight.at);
    if (status < 0)
        return comm_break(comm, "%s: %s", comm->transport->name, neap_error_text());
    for (int k = comm->flight.n - 1; k >= 0 && status >= 0; k--) {
        if (comm->flight.at[k]->t.state == 0)
            continue;
        over += comm->flight.at[k]->left != NULL;
        status = land(comm, k);
    }
    return status < 0 ? status : over;
}

/* The n-th look in a row that found nothing. */
static void rest(int n) {
    if (n < POLLS) {
        engine_pause();
    } else if (n < POLLS + YIELDS) {
        sched_yield();
    } else {
        int doublings = (n - POLLS - YIELDS) / 4;
        int64_t ns = doublings < 6 ? (int64_t)NAP_FIRST_NS << doublings : NAP_MOST_NS;
        nanosleep(&(struct timespec){.tv_nsec = ns < NAP_MOST_NS ? ns : NAP_MOST_NS}, NULL);
    }
}

int comm_wait(engine_comm *comm, const int *left) {
    int idle = 0, status = comm_check(comm);
    int64_t began = 0, looked = 0;
    while (*left > 0 && status >= 0) {
        status = comm_progress(comm);
        if (status > 0) {
            idle = 0;
            began = 0;
            continue;
        }
        if (status == 0 && idle >= POLLS + YIELDS) {
            int64_t now = engine_now();
            began = began ? began : now;
            if (now - looked >= LOOK_NS) {
                looked = now;
                status = comm_patience(comm, now - began);
            }
        }
        rest(idle++);
    }
    return status < 0 ? status : NEAP_OK;
}

/* What a transport cannot take back will be written or read some day: its transfer stays on the list, with nobody who
 * waits. */
bool comm_abandon(engine_comm *comm, bool notes) {
    bool all = true;
    for (int k = comm->flight.n - 1; k >= 0; k--) {
        comm_transfer *transfer = comm->flight.at[k];
        if (!transfer->left && !notes)
            continue;
        transfer->left = NULL;
        if (comm->transport->cancel(comm->link, &transfer->t) < 0 || transfer->t.state == 0) {
            all = false;
            continue;
        }
        comm->flight.at[k] = comm->flight.at[--comm->flight.n];
        recycle_transfer(comm, transfer);
    }
    return all;
}
