/* comm/first.c: the first message of a collective to each of the others: a header, and whether the headers agree.
 * Script lines may differ, with a warning.
 */
#include "engine/comm/internal.h"

#include <stdio.h>
#include <string.h>

/* "collective 12 (psum of f32, 8 elements, at train.lua:7)" */
static void describe_collective(const comm_header *header, char *text, size_t bytes) {
    int n = snprintf(text, bytes, "collective %llu (%.47s", (unsigned long long)header->number, header->what);
    if (header->elements > 0 && n > 0 && (size_t)n < bytes)
        n += snprintf(text + n, bytes - (size_t)n, ", %lld elements", (long long)header->elements);
    if (*header->site && n > 0 && (size_t)n < bytes)
        n += snprintf(text + n, bytes - (size_t)n, ", at %.119s", header->site);
    if (n > 0 && (size_t)n < bytes)
        snprintf(text + n, bytes - (size_t)n, ")");
}

void comm_collective_begin(engine_comm *comm, comm_header *mine) {
    mine->number = ++comm->number;
    comm->busy = true;
    pthread_mutex_lock(&comm->mutex);
    describe_collective(mine, comm->doing, sizeof comm->doing);
    *comm->missing = 0;
    pthread_mutex_unlock(&comm->mutex);
}

/* What failed for good stays known: it is what the process reports. */
void comm_collective_end(engine_comm *comm) {
    comm->busy = false;
    pthread_mutex_lock(&comm->mutex);
    if (!comm->broken)
        *comm->doing = *comm->missing = 0;
    pthread_mutex_unlock(&comm->mutex);
}

int comm_match(engine_comm *comm, const comm_header *mine, int rank) {
    comm_header *theirs = comm_inbox(comm, rank);
    theirs->what[sizeof theirs->what - 1] = theirs->site[sizeof theirs->site - 1] = 0;
    if (theirs->kind == mine->kind && theirs->item == mine->item && theirs->group == mine->group &&
        theirs->elements == mine->elements && strcmp(theirs->what, mine->what) == 0 && theirs->payload <= COMM_PAYLOAD)
        return NEAP_OK;
    char own[COMM_TEXT / 2], other[COMM_TEXT / 2];
    describe_collective(mine, own, sizeof own);
    describe_collective(theirs, other, sizeof other);
    return comm_break(
        comm,
        "%s of process %d does not match %s of process %d%s: all processes have to do the same collectives in the "
        "same order",
        own, comm->rank, other, rank,
        strcmp(theirs->what, mine->what) == 0 && theirs->elements == mine->elements
            ? ", which has another idea of who takes part"
            : "");
}

void comm_compare_lines(engine_comm *comm, const comm_header *mine, int rank) {
    const comm_header *theirs = comm_inbox(comm, rank);
    uint64_t pair = mine->line * UINT64_C(0x9e3779b97f4a7c15) ^ theirs->line;
    if (!mine->line || !theirs->line || mine->line == theirs->line || !comm->config.warn)
        return;
    for (int k = 0; k < comm->nwarned; k++)
        if (comm->warned[k] == pair)
            return;
    if (comm->nwarned == COMM_WARNINGS)
        return;
    comm->warned[comm->nwarned++] = pair;
    char own[COMM_TEXT / 2], other[COMM_TEXT / 2], text[2 * COMM_TEXT];
    describe_collective(mine, own, sizeof own);
    describe_collective(theirs, other, sizeof other);
    snprintf(text, sizeof text,
             "%s: warning: %s of process %d is %s in process %d: if these are two collectives, the processes have come "
             "to them in another order, and each has data that is meant for the other\n",
             mine->site, own, comm->rank, other, rank);
    comm->config.warn(text);
}
