/* comm.h: collectives between processes, for the rooms above. What goes over the wire, and how, is a transport's affair
 * (transport.h); this knows nothing of arrays beyond bytes, and nothing of the graph.
 *
 *      any thread:   push ──▶ engine op ──(inputs there, earlier collectives done)──▶ queue
 *      one thread:   queue ──▶ headers ──▶ transfers, sums ──▶ neap_complete             the communication thread
 *
 * A *member* is a number in a collective: the coordinate of a device along the axes that it runs over. Each member has
 * a block of `elements`, which is sent by its *owner*, a rank; several ranks may want the results of one member. A rank
 * may own several members, or none. Those that own or want any take part, the others do not know of the collective.
 *
 * Rules:
 * 1. The communication thread alone calls the transport. It never spins for long: it polls, yields, sleeps.
 * 2. Collectives of a process run one after the other, in the order in which they were pushed: each writes the
 *    communicator's variable. They are numbered in this order, from 1.
 * 3. Order of sums: a balanced binary tree over member numbers. tree(first, n) of n members is the member if n is 1,
 *    else combine(tree(first, h), tree(first + h, n - h)), h the largest power of two below n. Each combination rounds
 *    to the dtype. Who owns a member, how blocks are cut, and how many processes there are does not matter: whoever
 *    builds the same tree in one process gets the same bits.
 * 4. All ranks of a group exchange headers first: kind, text, elements, members. If two do not agree, both fail with
 *    both sides' number, text, size and script line. Then, and if a rank does not come in time, has ended, or died, the
 *    communicator is *broken*: this and every later collective fails with the reason, and nothing hangs. The same holds
 *    for the meeting at the start and for the wait at the end.
 *    Script lines that differ are no failure, since one collective may stand on two lines (of an `if`). But where all
 *    else agrees they may be two collectives in another order, so the group's first rank warns: once for each pair.
 * 5. A failed input does not break the communicator: the other ranks are told of it, and this collective fails on all.
 *
 * An example: a sum over four members, of which rank 0 owns members 0 and 1, rank 1 members 2 and 3. Blocks b0 … b3
 * have 8 elements each.
 *
 *      nmembers 4    owner 0 0 1 1    ranks 0 1    wanted 1 1 0 0 by rank 0, 0 0 1 1 by rank 1
 *      REDUCE        each rank gets 8 elements, (b0 + b1) + (b2 + b3): rank 0 adds b0 + b1, rank 1 adds b2 + b3, and
 *                    these two are exchanged; one process with four devices adds in the same order
 *      SCATTER       of the same sum, rank 0 gets elements 0 1 | 2 3, rank 1 elements 4 5 | 6 7
 *      SWAP          rank 0 gets, for member 0, elements 0 1 of b0, b1, b2, b3; for member 1, elements 2 3 of them
 */
#ifndef NEAP_ENGINE_COMM_H
#define NEAP_ENGINE_COMM_H

#include <stdbool.h>

#include "engine/transport.h"

typedef struct engine_comm engine_comm;

/* out[i] = combine(a[i], b[i]); c is unused (the type of the vectorized loops of maps). out is neither a nor b. */
typedef void (*engine_comm_combine)(void *out, const void *a, const void *b, const void *c, int64_t n);

/* What each rank gets: a block has n elements, the rank wants the results of `wanted` members, and piece w of a block,
 * which is cut in as many equal pieces as there are members, is that of member w. */
typedef enum engine_comm_kind {
    ENGINE_COMM_REDUCE,  /* [n]: the combined block */
    ENGINE_COMM_GATHER,  /* [members, n]: all blocks */
    ENGINE_COMM_SCATTER, /* [wanted, n / members]: for each wanted w, piece w of the combined block */
    ENGINE_COMM_SWAP,    /* [wanted, members, n / members]: for each wanted w, piece w of all blocks */
    ENGINE_COMM_PERMUTE  /* [wanted, n]: for each wanted member, the block of its source; zeros without one */
} engine_comm_kind;

typedef struct engine_comm_group { /* who takes part */
    int32_t nmembers, nranks;
    const int32_t *ranks;  /* [nranks], ascending */
    const int32_t *owner;  /* [nmembers]: the rank that sends the member's block, one of `ranks` */
    const uint8_t *wanted; /* [nranks][nmembers]: not 0: the rank gets the results of that member */
} engine_comm_group;

typedef struct engine_collective {
    engine_comm_kind kind;
    const engine_comm_group *group;
    engine_comm_combine combine; /* REDUCE, SCATTER */
    size_t item;                 /* bytes of an element */
    int64_t elements;            /* of a block: n */
    const int32_t *source;       /* PERMUTE, [nmembers]: whose block a member gets, -1: zeros */
    const char *what;            /* "psum of f32": compared between ranks, and told in errors */
    const char *site;            /* script line, told in errors; may be NULL */
    bool located;                /* `site` is the line of this very collective: it is compared too */
} engine_collective;

/* For a rank of the group: how many blocks it gives (those of the members that it owns, ascending), and how many
 * elements it gets. */
int engine_comm_nin(const engine_collective *what, int rank);
int64_t engine_comm_nout(const engine_collective *what, int rank);

/* ---- The communicator of this process ---------------------------------------------------------------------------- */
/* Not 0: mpirun started this process together with others; *rank and *size get its number and how many there are. Reads
 * only the environment. A process that mpirun started by itself is alone, and so are those that it starts. */
int engine_comm_launched(int *rank, int *size);
/* Is told a line of text, on the communication thread. */
typedef void (*engine_comm_warn)(const char *text);
/* Starts the communication thread, which loads the transport and meets the other processes; returns at once. `devices`
 * is how many devices this process has, of which the others are told; `warn` (may be NULL) gets warnings. Harmless if
 * not launched, or started before. */
int engine_comm_start(int devices, engine_comm_warn warn);
/* The communicator, started if needed; NULL: this process is alone. BORROWED for ever. */
engine_comm *engine_comm_here(void);
int engine_comm_rank(const engine_comm *comm);
int engine_comm_size(const engine_comm *comm);
/* NEAP_OK: all processes have met. NEAP_PENDING: not yet, and `waker` (may be NULL) is woken at the next change.
 * Negative: it is broken, and the error says why. */
int engine_comm_poll(engine_comm *comm, neap_waker *waker);
/* What rank `rank` told of itself, once they have met. */
int engine_comm_devices(const engine_comm *comm, int rank);
const char *engine_comm_host(const engine_comm *comm, int rank);
/* What a rank told when it failed (engine_comm_end, or why its communicator broke); "" if it told nothing. Returns
 * `text`. */
const char *engine_comm_why(engine_comm *comm, int rank, char *text, size_t capacity);
/* What it is doing, for people: "" if nothing, else which collective is under way or failed, and whom it waits for.
 * From any thread (not from a signal handler). Returns `text`. */
const char *engine_comm_report(engine_comm *comm, char *text, size_t capacity);
/* Ends the communicator. With code 0 it does what was pushed, waits until all others have come to their end as well,
 * and closes the transport; or it finds that one of them does not come in time, and is broken. With another code it
 * only tells the others that this process fails, and why. The transport then stays open, since the others will not
 * close it: the process has to end by _exit, with a status that is not 0. NEAP_PENDING: this is not done yet, and
 * `waker` is woken when it is. NEAP_OK: it is done, or the communicator is broken and nothing more can be done.
 * Collectives pushed later fail. */
int engine_comm_end(engine_comm *comm, int code, const char *why, neap_waker *waker);

/* This process cannot go on with what all do together: the communicator breaks, for the reason "process N: text",
 * before the thread does anything that is pushed later. From any thread. */
void engine_comm_fail(engine_comm *comm, const char *text);

/* ---- Pushing ----------------------------------------------------------------------------------------------------- */
typedef struct engine_comm_block { /* a part of a buffer, in bytes from its beginning */
    neap_buffer *buffer;
    size_t offset;
} engine_comm_block;

/* Pushes a collective: reads the blocks in[engine_comm_nin] (each contiguous), writes out (engine_comm_nout elements
 * from its beginning; NULL if they are 0), which it holds until it is done. `what` and its texts are copied, group and
 * source are BORROWED until then. `push` (may be NULL): its name, site, device and priority count. */
int engine_comm_push(engine_comm *comm, const engine_collective *what, const engine_comm_block *in, neap_buffer *out,
                     const neap_push *push);
/* An op as neap_push_sync, but fn runs on the communication thread and may call engine_comm_run: control flow whose
 * body has collectives. All processes push it. */
int engine_comm_push_work(engine_comm *comm, neap_sync_fn fn, void *arg, const neap_push *push);
/* The two halves of engine_comm_push_work, for ops that wait for more. The first pushes `start` in the order of
 * collectives; the second has the communication thread call fn soon, before that op completes. NEAP_E_MEMORY: fn will
 * not be called. */
int engine_comm_push_async(engine_comm *comm, neap_async_fn start, void *arg, const neap_push *push);
int engine_comm_call(engine_comm *comm, void (*fn)(void *arg), void *arg);
/* Such an op is *away* when it has left the thread, to have fn called again: it has come to what another thread of this
 * process does first. The end of the process then does not wait for what was pushed behind it. */
void engine_comm_set_away(engine_comm *comm, bool away);
/* Inside such an op: does a collective, and waits for it. */
int engine_comm_run(engine_comm *comm, const engine_collective *what, const void *const *in, void *out);

/* ---- For tests: communicators beside the process's --------------------------------------------------------------- */
typedef struct engine_comm_config {
    const neap_transport *transport; /* NULL: that which plugin `plugin` registers */
    const char *plugin;
    void *where;    /* for transport->open */
    int rank, size; /* those that the transport is expected to report */
    int devices;    /* how many devices the others are told of */
    engine_comm_warn warn;
    int64_t timeout; /* ns that a collective may be without progress */
    int64_t silence; /* ns after which a rank that does not answer counts as dead */
} engine_comm_config;
int engine_comm_new(const engine_comm_config *config, engine_comm **out); /* OWNED */
void engine_comm_free(engine_comm *comm);                                 /* after its end; joins its thread */

#endif
