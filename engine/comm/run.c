/* comm/run.c: a collective from its beginning to its end, by the communication thread.
 *
 *      first messages to and from all others of the group ──▶ do they agree? has anybody failed? ──▶ the data
 *
 * What is small travels in the first messages, so such a collective takes one message each way. What is large starts
 * when the headers have agreed: so a rank never writes into another one's memory by mistake.
 */
#include "engine/comm/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What a collective is ---------------------------------------------------------------------------------------- */
static int index_of(const engine_comm_group *group, int rank) {
    for (int k = 0; k < group->nranks; k++)
        if (group->ranks[k] == rank)
            return k;
    return -1;
}

int engine_comm_nin(const engine_collective *what, int rank) {
    int n = 0;
    for (int32_t m = 0; m < what->group->nmembers; m++)
        n += what->group->owner[m] == rank;
    return n;
}

int64_t engine_comm_nout(const engine_collective *what, int rank) {
    const engine_comm_group *group = what->group;
    int at = index_of(group, rank);
    int64_t wanted = 0;
    for (int32_t m = 0; m < group->nmembers && at >= 0; m++)
        wanted += group->wanted[at * group->nmembers + m] != 0;
    switch (what->kind) {
    case ENGINE_COMM_REDUCE:
        return what->elements;
    case ENGINE_COMM_GATHER:
        return what->elements * group->nmembers;
    case ENGINE_COMM_SCATTER:
        return wanted * (what->elements / group->nmembers);
    case ENGINE_COMM_SWAP:
    case ENGINE_COMM_PERMUTE:
        return wanted * what->elements;
    }
    return 0;
}

static uint64_t mix(uint64_t hash, const void *data, size_t bytes) {
    for (const uint8_t *at = data; bytes-- > 0; at++)
        hash = (hash ^ *at) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t group_hash(const engine_collective *what) {
    const engine_comm_group *group = what->group;
    size_t members = (size_t)group->nmembers, ranks = (size_t)group->nranks;
    uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), &group->nmembers, sizeof group->nmembers);
    hash = mix(hash, group->ranks, ranks * sizeof *group->ranks);
    hash = mix(hash, group->owner, members * sizeof *group->owner);
    hash = mix(hash, group->wanted, members * ranks);
    return what->source ? mix(hash, what->source, members * sizeof *what->source) : hash;
}

/* A number for a script line, not 0. */
static uint64_t line_hash(const char *site) {
    return mix(UINT64_C(0xcbf29ce484222325), site, strlen(site)) | 1;
}

/* ---- First messages ---------------------------------------------------------------------------------------------- */
static int receive_first(comm_work *work, int *left) {
    int status = NEAP_OK;
    for (int k = 0; k < work->group->nranks && status == NEAP_OK; k++) {
        int rank = work->group->ranks[k];
        if (k != work->me)
            status = comm_receive(work->comm, rank, COMM_TAG_FIRST, comm_inbox(work->comm, rank), COMM_FIRST, left);
    }
    return status;
}

static int send_first(comm_work *work) {
    int status = NEAP_OK;
    for (int k = 0; k < work->group->nranks && status == NEAP_OK; k++) {
        int rank = work->group->ranks[k];
        comm_header *message = comm_outbox(work->comm, rank);
        if (k != work->me)
            status =
                comm_send(work->comm, rank, COMM_TAG_FIRST, message, sizeof *message + message->payload, &work->sends);
    }
    return status;
}

static void write_headers(comm_work *work, const comm_header *mine, const char *failed) {
    for (int k = 0; k < work->group->nranks; k++) {
        comm_header *message = comm_outbox(work->comm, work->group->ranks[k]);
        *message = *mine;
        if (failed)
            message->payload = (uint64_t)snprintf((char *)(message + 1), COMM_TEXT, "%s", failed) + 1;
        message->payload = message->payload < COMM_TEXT ? message->payload : COMM_TEXT;
    }
}

/* All first messages are here. The lowest rank that has failed is the reason everywhere. */
static int compare_first(comm_work *work, const comm_header *mine, const char *failed) {
    int status = NEAP_OK;
    for (int k = 0; k < work->group->nranks && status == NEAP_OK; k++)
        if (k != work->me)
            status = comm_match(work->comm, mine, work->group->ranks[k]);
    for (int k = 1; k < work->group->nranks && status == NEAP_OK && work->me == 0; k++)
        comm_compare_lines(work->comm, mine, work->group->ranks[k]);
    for (int k = 0; k < work->group->nranks && status == NEAP_OK; k++) {
        const comm_header *theirs = comm_inbox(work->comm, work->group->ranks[k]);
        if (k == work->me && failed)
            status = neap_error(NEAP_E_FAILED, "%s", failed);
        else if (k != work->me && theirs->failed)
            status = neap_error(NEAP_E_FAILED, "process %d: %.*s", work->group->ranks[k], COMM_TEXT,
                                (const char *)(theirs + 1));
    }
    return status;
}

/* ---- Collectives ------------------------------------------------------------------------------------------------- */
static int exchange_pieces(comm_work *work, comm_header *mine, const char *failed) {
    const engine_comm_kind kind = work->what->kind;
    bool sums = kind == ENGINE_COMM_REDUCE || kind == ENGINE_COMM_SCATTER, moves = !sums;
    comm_reduction reduction = {0};
    int left = 0, status = receive_first(work, &left);
    write_headers(work, mine, failed);
    if (status == NEAP_OK && sums && !failed)
        status = comm_reduce_begin(work, &reduction);
    if (status == NEAP_OK && moves && !failed)
        comm_move_begin(work);
    if (status == NEAP_OK)
        status = send_first(work);
    if (status == NEAP_OK)
        status = comm_wait(work->comm, &left);
    if (status == NEAP_OK)
        status = compare_first(work, mine, failed);
    if (status == NEAP_OK && sums)
        status = comm_reduce_end(work, &reduction);
    if (status == NEAP_OK && moves)
        status = comm_move_end(work);
    comm_reduce_free(&reduction);
    int sent = comm_wait(work->comm, &work->sends); /* also of those who failed together */
    return status ? status : sent;
}

static int work_begin(comm_work *work, const void *const *in) {
    const engine_comm_group *group = work->group;
    work->me = index_of(group, work->comm->rank);
    if (work->me < 0)
        return neap_error(NEAP_E_INTERNAL, "process %d is not of the group", work->comm->rank);
    work->blocks = calloc((size_t)group->nmembers, sizeof *work->blocks);
    if (!work->blocks)
        return neap_error(NEAP_E_MEMORY, "no memory for a collective");
    int next = 0;
    for (int32_t m = 0; m < group->nmembers && in; m++)
        if (group->owner[m] == work->comm->rank)
            work->blocks[m] = in[next++];
    return NEAP_OK;
}

int comm_collective(engine_comm *comm, const engine_collective *what, const void *const *in, void *out,
                    const char *failed) {
    comm_header mine = {.kind = (uint32_t)what->kind,
                        .failed = failed != NULL,
                        .item = what->item,
                        .group = group_hash(what),
                        .elements = what->elements,
                        .line = what->located && what->site ? line_hash(what->site) : 0};
    comm_work work = {.comm = comm, .what = what, .group = what->group, .out = out};
    snprintf(mine.what, sizeof mine.what, "%s", what->what);
    snprintf(mine.site, sizeof mine.site, "%s", what->site ? what->site : "");
    int status = comm_check(comm);
    if (status < 0)
        return status;
    comm_collective_begin(comm, &mine);
    status = work_begin(&work, failed ? NULL : in);
    if (status < 0)
        comm_break(comm, "%s cannot begin: %s", comm->doing, neap_error_text());
    else
        status = exchange_pieces(&work, &mine, failed);
    free(work.blocks);
    comm_collective_end(comm);
    return status;
}

int engine_comm_run(engine_comm *comm, const engine_collective *what, const void *const *in, void *out) {
    return comm_collective(comm, what, in, out, NULL);
}
