/* transport.h: how bytes go between processes, for writers of a transport (mesh/mpi has that over MPI).
 *
 * A transport is one table of functions, registered by a plugin (device.h: neap_plugin_host). Rules for the functions:
 * 1. One thread makes every call, the communication thread, from open to close; so a transport needs no locks.
 * 2. No function waits but open and close, called by all processes.
 * 3. Each returns 0, or a negative NEAP_E_… after neap_error(). Nothing aborts, exits or prints.
 * 4. Messages from one rank to another with one tag arrive in order, and receives take them in the order of their
 *    begin. A send may complete before the receive.
 */
#ifndef NEAP_ENGINE_TRANSPORT_H
#define NEAP_ENGINE_TRANSPORT_H

#include "engine/engine.h"

enum {
    NEAP_RANK_ANY = -1,
    NEAP_TRANSFER_MOST = 1 << 30, /* bytes of a transfer */
    NEAP_TRANSPORT_TAGS = 4       /* at least, of every transport */
};

/* A send or a receive. The engine fills in the request, and keeps the structure and the bytes until the end. */
typedef struct neap_transfer {
    int rank, tag;    /* rank: NEAP_RANK_ANY in a receive becomes the sender at the end */
    void *data;       /* unchanged by a send */
    size_t bytes;     /* of a receive: the most; at the end: as many as came */
    int state;        /* begin sets 0; test sets 1: over; or a negative status: failed, with the error set */
    uint64_t request; /* the transport's own */
} neap_transfer;

typedef struct neap_transport {
    uint32_t abi; /* NEAP_DEVICE_ABI */
    const char *name;
    int tags;                                                        /* tags 0 … tags-1 may be used; at least 4 */
    int (*open)(void *where, void **link, int *rank, int *size);     /* `where` is NULL, but in tests */
    void (*close)(void *link);                                       /* no transfers are under way */
    int (*send)(void *link, neap_transfer *transfer);                /* begins */
    int (*receive)(void *link, neap_transfer *transfer);             /* the same */
    int (*test)(void *link, int n, neap_transfer *const *transfers); /* makes progress; sets states of ended ones */
    int (*cancel)(void *link, neap_transfer *transfer);              /* gives it up: sets the state if possible */
} neap_transport;

/* Makes a transport known, for ever: BORROWED. The last registered counts. NEAP_E_ARGUMENT: wrong abi, or a slot is
 * missing. */
NEAP_API int neap_transport_register(const neap_transport *transport);

#endif
