/* comm/internal.h: the structures that the files of the communicator share.
 *
 *      comm/push.c    engine ops ──▶ jobs, in a queue
 *      comm.c         the communicator: its thread, its beginning and end, what is known of it outside
 *      comm/presence.c   who is there, before they can talk
 *      comm/messages.c   what communicators tell each other besides collectives
 *      comm/link.c    transfers under way, and waiting for them
 *      comm/run.c     a collective from its beginning to its end
 *      comm/first.c   its first message to each of the others: who does what
 *      comm/reduce.c  its data: sums;   comm/tree.c: their order;   comm/move.c: what only moves
 *
 * What of an engine_comm is not guarded by `mutex` belongs to the communication thread alone.
 */
#ifndef NEAP_ENGINE_COMM_INTERNAL_H
#define NEAP_ENGINE_COMM_INTERNAL_H

#include <pthread.h>

#include "engine/comm/comm.h"
#include "engine/engine_internal.h"

enum { COMM_TAG_MESSAGE, COMM_TAG_FIRST, COMM_TAG_DATA, COMM_TAG_BROADCAST, COMM_TAGS };
_Static_assert((int)COMM_TAGS <= (int)NEAP_TRANSPORT_TAGS, "transports must have a tag for each");
enum { COMM_TEXT = 1000 };
/* Bytes of a first message: OpenMPI sends as many between processes of one machine without asking the receiver. */
enum { COMM_FIRST = 4000 };

/* ---- Transfers (comm/link.c) ------------------------------------------------------------------------------------- */
typedef struct comm_transfer {
    neap_transfer t; /* the first member */
    int *left;       /* how many of its kind are not over; NULL: a note, for which nobody waits */
    void *own;       /* freed with it */
    struct comm_transfer *next;
} comm_transfer;

/* ---- Notes (comm/messages.c) ------------------------------------------------------------------------------------- */
typedef enum comm_message_kind {
    COMM_HELLO,  /* the first: who I am */
    COMM_ASK,    /* I wait for you: how far are you? */
    COMM_STATE,  /* so far */
    COMM_BYE,    /* I have come to my end, and wait until the others have */
    COMM_BROKEN, /* I do no collectives any more, for the reason in `text` */
    COMM_FAILED  /* nor is this process any more: its own reason */
} comm_message_kind;

typedef struct comm_message {
    uint32_t kind;
    uint32_t wire;   /* COMM_WIRE, on which all must agree */
    int32_t devices; /* HELLO */
    uint32_t busy;   /* STATE: it is in collective `number`; else that was its last one */
    uint64_t number;
    char text[COMM_TEXT]; /* HELLO: the host; STATE: the collective; FAILED: the reason */
} comm_message;

enum { COMM_WIRE = 2 }; /* raised when what goes over the wire changes */

typedef struct comm_peer { /* what is known of a rank */
    bool met, ended, failed;
    bool told, busy; /* its state was told; it was in collective `number` */
    int32_t devices;
    uint64_t number;
    int64_t heard;        /* when it last said anything */
    int64_t asked;        /* since when it owes an answer; 0: it does not */
    char text[COMM_TEXT]; /* of its last note */
    char host[64];
} comm_peer;

/* ---- The communicator -------------------------------------------------------------------------------------------- */
typedef struct comm_job comm_job;
struct comm_job {
    comm_job *next;
    int (*run)(engine_comm *comm, comm_job *job); /* returns the status of its op */
    neap_completion *done;                        /* NULL: it completes nothing */
};

typedef enum comm_phase { COMM_OPENING, COMM_OPEN, COMM_CLOSED } comm_phase;
enum { COMM_WATCHERS = 8, COMM_WARNINGS = 32 };

struct engine_comm {
    engine_comm_config config;
    int rank, size;
    neap_var *var; /* that all its ops write */
    pthread_t thread;
    _Atomic uint32_t signal; /* changes when the thread has something new to look at */
    _Atomic int away;        /* ops that have left the thread, to come back */

    pthread_mutex_t mutex; /* guards up to `watchers` */
    comm_job *first, **last;
    comm_phase phase;
    bool broken, ending, asked_to_end; /* ending: no more jobs will come that are to be done */
    int end_code;
    char end_text[COMM_TEXT];
    char fail_text[COMM_TEXT];   /* of engine_comm_fail; "": it was not called */
    int64_t blocked;             /* since when the transport opens or closes, which waits for all; 0: it does not */
    bool lost;                   /* that took too long, and the thread is given up */
    char reason[2 * COMM_TEXT];  /* why it is broken */
    char doing[COMM_TEXT];       /* the collective under way or, if broken, that which failed; "": none */
    char missing[2 * COMM_TEXT]; /* whom it has been waiting for */
    neap_waker *watchers[COMM_WATCHERS];

    const neap_transport *transport;
    void *link; /* NULL: not open */
    comm_peer *peers;
    uint64_t number; /* collectives begun */
    bool busy;

    struct { /* under way */
        comm_transfer **at;
        int n, capacity;
    } flight;
    comm_transfer *spare;
    char *outbox, *inbox; /* first messages, COMM_FIRST bytes for each rank */
    char *scratch;        /* of sums */
    size_t scratch_bytes;
    comm_message message_in;
    char cause[COMM_TEXT]; /* why the first of the others broke; "": none has */
    bool stuck;            /* memory of the last collective is still used by transfers that cannot be given up */
    int nwarned;           /* warnings of lines that differ, at most COMM_WARNINGS */
    uint64_t warned[COMM_WARNINGS];
};

/* ---- comm.c ------------------------------------------------------------------------------------------------------ */
/* The communicator is broken from now on, unless it was before. Sets the error and returns its code. */
int comm_break(engine_comm *comm, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The status of a collective that is about to begin: the reason if the communicator is broken. */
int comm_check(engine_comm *comm);
/* Was engine_comm_end called with a code that is not 0? */
bool comm_must_end(engine_comm *comm);
/* Appends a job. */
void comm_enqueue(engine_comm *comm, comm_job *job);

/* ---- comm/presence.c --------------------------------------------------------------------------------------------- */
/* This process can be found from now on. */
void comm_presence_show(int rank);
/* Which processes are stopped or not there, for people; "": none, or this process cannot be found itself. Returns
 * `text`. */
const char *comm_presence_report(int rank, int size, char *text, size_t capacity);

/* ---- comm/link.c ------------------------------------------------------------------------------------------------- */
/* Begin a transfer; *left is raised now, and lowered when it is over. Nothing is done for 0 bytes. */
int comm_send(engine_comm *comm, int rank, int tag, const void *data, size_t bytes, int *left);
/* The same, of memory that it TAKES, and for which nobody waits. */
int comm_send_own(engine_comm *comm, int rank, int tag, void *data, size_t bytes);
int comm_receive(engine_comm *comm, int rank, int tag, void *data, size_t bytes, int *left);
/* Lets the transport work once. Returns how many transfers were over, not counting notes, or a negative status, after
 * which the communicator is broken. */
int comm_progress(engine_comm *comm);
/* Until *left is 0. Negative: the communicator broke. */
int comm_wait(engine_comm *comm, const int *left);
/* Gives up what is under way, of notes only if told to. False: some of it cannot be given up, so its memory must stay
 * as it is for ever. */
bool comm_abandon(engine_comm *comm, bool notes);

/* ---- comm/messages.c --------------------------------------------------------------------------------------------- */
int comm_messages_begin(engine_comm *comm); /* says hello */
/* To all other ranks (rank -1) or to one. */
int comm_message_send(engine_comm *comm, int rank, comm_message_kind kind, const char *text);
/* message_in has arrived from `rank`. */
int comm_message_take(engine_comm *comm, int rank);
/* A wait has lasted for so many ns without progress: asks those who are missing, tells of them, and breaks the
 * communicator if it is hopeless: NEAP_OK or the failure. */
int comm_patience(engine_comm *comm, int64_t waited);
/* The same of the wait for the end of all. */
int comm_patience_at_end(engine_comm *comm, int64_t waited);

/* ---- comm/tree.c ------------------------------------------------------------------------------------------------- */
typedef struct comm_term { /* a subtree of members: first, first + 1, … all of one rank */
    int32_t first, count;
    int32_t rank;
    const char *at; /* where its elements to be combined begin */
} comm_term;

typedef struct comm_tree {
    int nterms, nsteps;
    comm_term *terms; /* by members */
    int16_t *steps;   /* postfix: a term, or -1: combine the last two */
} comm_tree;

/* The tree over members first … first + count - 1. By rank: its leaves are the largest subtrees of one owner, else
 * members. */
int comm_tree_new(const engine_comm_group *group, int32_t first, int32_t count, bool by_rank, comm_tree *out);
void comm_tree_free(comm_tree *tree);
/* out[0 … n): the first n elements of the terms, combined. `out` overlaps none of them. */
void comm_tree_combine(const comm_tree *tree, const engine_collective *what, int64_t n, void *out);

/* ---- comm/first.c ------------------------------------------------------------------------------------------------ */
typedef struct comm_header { /* begins a first message; `payload` bytes follow */
    uint32_t kind, failed;   /* failed: the payload is a reason */
    uint64_t number, item, group, payload;
    int64_t elements;
    uint64_t line; /* a number for the whole of `site`; 0: it may be another one's line, or none */
    char what[48], site[120];
} comm_header;

enum { COMM_PAYLOAD = COMM_FIRST - sizeof(comm_header) };

/* A collective begins: counts it, and notes what it is for people. And it is over. */
void comm_collective_begin(engine_comm *comm, comm_header *mine);
void comm_collective_end(engine_comm *comm);
static inline comm_header *comm_inbox(const engine_comm *comm, int rank) {
    return (comm_header *)(comm->inbox + (size_t)rank * COMM_FIRST);
}
static inline comm_header *comm_outbox(const engine_comm *comm, int rank) {
    return (comm_header *)(comm->outbox + (size_t)rank * COMM_FIRST);
}
/* Does rank `rank`, whose first message is here, the same collective? Else the communicator breaks. */
int comm_match(engine_comm *comm, const comm_header *mine, int rank);
/* It does: warns if that is at another script line. */
void comm_compare_lines(engine_comm *comm, const comm_header *mine, int rank);

/* ---- comm/run.c -------------------------------------------------------------------------------------------------- */
/* Does a collective. failed != NULL: this rank has no input, for that reason, and says so. */
int comm_collective(engine_comm *comm, const engine_collective *what, const void *const *in, void *out,
                    const char *failed);

typedef struct comm_work { /* a collective that this rank does */
    engine_comm *comm;
    const engine_collective *what;
    const engine_comm_group *group;
    int me;              /* index of this rank in the group */
    const char **blocks; /* by member, those of this rank; else NULL */
    char *out;
    int sends; /* that are not over */
} comm_work;

/* ---- comm/reduce.c: REDUCE and SCATTER. comm/move.c: GATHER, SWAP, PERMUTE ------------------------------------------
 * begin puts into first messages what they have room for, and raises their payload. end does what remains, once all
 * first messages are here. */
typedef struct comm_reduction {
    comm_tree tree;
    bool small; /* everything is in the first messages */
} comm_reduction;
int comm_reduce_begin(comm_work *work, comm_reduction *reduction);
int comm_reduce_end(comm_work *work, comm_reduction *reduction);
void comm_reduce_free(comm_reduction *reduction);
void comm_move_begin(comm_work *work);
int comm_move_end(comm_work *work);

#endif
