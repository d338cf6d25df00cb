/* transport.h: what carries bytes between processes, for those who write one (mesh/mpi has the one over MPI).
 *
 * A transport is one table of functions, which a plugin registers (device.h: neap_plugin_host). Rules for them:
 * 1. One thread makes every call, the communication thread, from open to close; so a transport needs no locks.
 * 2. None waits, but for open and close, which all processes call.
 * 3. They return 0, or a negative NEAP_E_… after neap_error(). Nothing aborts, exits or prints.
 * 4. What is sent from one rank to another with one tag arrives in order, and receives take it in the order in which
 *    they were begun. A send may complete before it is received.
 */
#ifndef NEAP_ENGINE_TRANSPORT_H
#define NEAP_ENGINE_TRANSPORT_H

#include "engine/engine.h"

enum {
    NEAP_RANK_ANY = -1,
    NEAP_TRANSFER_MOST = 1 << 30, /* bytes of a transfer */
    NEAP_TRANSPORT_TAGS = 4       /* that a transport has at least */
};

/* A send or a receive. The engine fills in what it wants and keeps the structure and the bytes until it is over. */
typedef struct neap_transfer {
    int rank, tag;    /* rank: may be NEAP_RANK_ANY in a receive, which sets it to the sender once over */
    void *data;       /* a send does not change it */
    size_t bytes;     /* of a receive: the room that there is; once over: what came, at most that */
    int state;        /* set by begin to 0; by test: 1, it is over; negative: it failed, and the error was set */
    uint64_t request; /* the transport's own */
} neap_transfer;

typedef struct neap_transport {
    uint32_t abi; /* NEAP_DEVICE_ABI */
    const char *name;
    int tags;                                                        /* tags 0 … tags-1 may be used; at least 4 */
    int (*open)(void *where, void **link, int *rank, int *size);     /* `where` is NULL, but in tests */
    void (*close)(void *link);                                       /* no transfers are under way */
    int (*send)(void *link, neap_transfer *transfer);                /* begins it */
    int (*receive)(void *link, neap_transfer *transfer);             /* the same */
    int (*test)(void *link, int n, neap_transfer *const *transfers); /* makes progress; sets the state of those over */
    int (*cancel)(void *link, neap_transfer *transfer); /* it is not wanted any more: sets its state if that is so */
} neap_transport;

/* Makes a transport known, for ever: BORROWED. The last one counts. NEAP_E_ARGUMENT: wrong abi, or a slot is
 * missing. */
NEAP_API int neap_transport_register(const neap_transport *transport);

#endif
