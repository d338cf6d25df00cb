/* comm/move.c: collectives that only move blocks and pieces of blocks: GATHER, SWAP, PERMUTE.
 *
 * Each is a list of *moves*, from a place in a block of one rank to a place in the result of another, which all ranks
 * would write down in the same order. Those between two ranks go in this order: together in the first message if they
 * fit there, else each by itself, without a copy in between.
 */
#include "engine/comm/internal.h"

#include <string.h>

typedef struct move {
    int from, to;    /* indices of ranks in the group */
    const char *src; /* of this rank; else NULL */
    char *dst;       /* the same; zeros go there if `from` is -1 */
    size_t bytes;
} move;

typedef struct mover { /* what is done with each */
    comm_work *work;
    void (*visit)(struct mover *mover, const move *m);
    int peer;     /* index of the rank whose moves to and from this one are looked at; -1: all */
    size_t bytes; /* of those visited */
    char *at;     /* in a first message */
    int left, status;
} mover;

static int index_in_group(const comm_work *work, int rank) {
    int k = 0;
    while (work->group->ranks[k] != rank)
        k++;
    return k;
}

/* Piece `piece` of `bytes` of the block of member m (-1: zeros), to place `place` of the result of rank d. */
static void visit_piece(mover *mover, int d, int32_t m, int64_t piece, int64_t place, size_t bytes) {
    comm_work *work = mover->work;
    int from = m < 0 ? -1 : index_in_group(work, work->group->owner[m]);
    bool mine = from == work->me || d == work->me;
    bool wanted = mover->peer < 0 || (from == work->me ? d : from) == mover->peer;
    if (!mine || !wanted)
        return;
    move one = {.from = from, .to = d, .bytes = bytes};
    if (from == work->me && work->blocks[m])
        one.src = work->blocks[m] + (size_t)piece * bytes;
    if (d == work->me && work->out)
        one.dst = work->out + (size_t)place * bytes;
    mover->visit(mover, &one);
}

static void each_move(mover *mover) {
    const comm_work *work = mover->work;
    const engine_comm_group *group = work->group;
    const engine_comm_kind kind = work->what->kind;
    int32_t members = group->nmembers;
    size_t block = (size_t)work->what->elements * work->what->item;
    for (int d = 0; d < group->nranks; d++) {
        int64_t place = 0;
        for (int32_t w = 0; w < members; w++) {
            if (kind == ENGINE_COMM_GATHER) {
                visit_piece(mover, d, w, 0, w, block);
            } else if (!group->wanted[d * members + w]) {
                continue;
            } else if (kind == ENGINE_COMM_PERMUTE) {
                visit_piece(mover, d, work->what->source[w], 0, place++, block);
            } else {
                for (int32_t m = 0; m < members; m++)
                    visit_piece(mover, d, m, w, place++, block / (size_t)members);
            }
        }
    }
}

/* ---- What is done with moves ------------------------------------------------------------------------------------- */
static void count_sends(mover *mover, const move *m) {
    mover->bytes += m->from == mover->work->me ? m->bytes : 0;
}

static void count_receives(mover *mover, const move *m) {
    mover->bytes += m->to == mover->work->me ? m->bytes : 0;
}

/* Do the moves to (or from) the rank with this index travel in the first message? */
static bool fit(comm_work *work, int peer, void (*count)(mover *, const move *)) {
    mover counter = {.work = work, .visit = count, .peer = peer};
    each_move(&counter);
    return counter.bytes <= COMM_PAYLOAD;
}

static void pack_move(mover *mover, const move *m) {
    if (m->from != mover->work->me)
        return;
    memcpy(mover->at, m->src, m->bytes);
    mover->at += m->bytes;
}

static void unpack(mover *mover, const move *m) {
    if (m->to != mover->work->me)
        return;
    memcpy(m->dst, mover->at, m->bytes);
    mover->at += m->bytes;
}

static void send_move(mover *mover, const move *m) {
    comm_work *work = mover->work;
    if (m->from == work->me && mover->status == NEAP_OK)
        mover->status = comm_send(work->comm, work->group->ranks[m->to], COMM_TAG_DATA, m->src, m->bytes, &work->sends);
}

static void receive_move(mover *mover, const move *m) {
    comm_work *work = mover->work;
    if (m->to == work->me && mover->status == NEAP_OK)
        mover->status =
            comm_receive(work->comm, work->group->ranks[m->from], COMM_TAG_DATA, m->dst, m->bytes, &mover->left);
}

static void stay(mover *mover, const move *m) {
    if (m->to == mover->work->me && m->from == m->to)
        memcpy(m->dst, m->src, m->bytes);
    else if (m->from < 0)
        memset(m->dst, 0, m->bytes);
}

/* ---- The collective ---------------------------------------------------------------------------------------------- */
void comm_move_begin(comm_work *work) {
    for (int peer = 0; peer < work->group->nranks; peer++) {
        if (peer == work->me || !fit(work, peer, count_sends))
            continue;
        comm_header *message = comm_outbox(work->comm, work->group->ranks[peer]);
        mover packer = {.work = work, .visit = pack_move, .peer = peer, .at = (char *)(message + 1)};
        each_move(&packer);
        message->payload = (uint64_t)(packer.at - (char *)(message + 1));
    }
}

int comm_move_end(comm_work *work) {
    mover receiver = {.work = work, .visit = receive_move}, sender = {.work = work, .visit = send_move};
    for (int peer = 0; peer < work->group->nranks; peer++) {
        if (peer == work->me)
            continue;
        mover unpacker = {.work = work, .visit = unpack, .peer = peer};
        unpacker.at = (char *)(comm_inbox(work->comm, work->group->ranks[peer]) + 1);
        receiver.peer = sender.peer = peer;
        each_move(fit(work, peer, count_receives) ? &unpacker : &receiver);
        if (!fit(work, peer, count_sends))
            each_move(&sender);
    }
    mover stayer = {.work = work, .visit = stay, .peer = -1};
    each_move(&stayer);
    int status = receiver.status ? receiver.status : sender.status;
    return status ? status : comm_wait(work->comm, &receiver.left);
}
