/* comm/reduce.c: collectives that combine: REDUCE, SCATTER. Direct exchange: what becomes one piece of a result is sent
 * by everybody straight to the rank that combines it; a REDUCE's pieces, one for each rank, then go to all others. A
 * small one each combines for itself.
 *
 * What a rank sends are *terms*: its members, or what the order of sums lets it combine before (comm/tree.c). Pieces
 * are cut into segments, and the segments of all pieces with one number are a *round*. Rounds follow each other through
 * two slots:
 *
 *      round 0   terms sent and received │ combined, results sent │
 *      round 1                           │ terms …                │ combined …
 *
 * so transfers are under way while this rank combines, and what it combines is still in a cache near the core.
 */
#include "engine/comm/internal.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 2, SEGMENT_BYTES = ENGINE_LIMIT(512 << 10, 4 << 10) };

/* Bytes of a block that each of two ranks combines by itself, at most. */
static const int64_t TWICE_BYTES = ENGINE_LIMIT(256 << 10, 8 << 10);

typedef struct rank_piece { /* of a block: what one rank combines */
    int64_t from, n;        /* elements */
    int64_t place;          /* in that rank's result */
} rank_piece;

typedef struct slot {
    int left, sends; /* terms that have not come, sends from this slot that are not over */
    char *scratch;   /* for terms: what this rank combines before it sends, and what it receives */
    const char **at; /* where the terms of its own pieces are: [pieces][terms] */
} slot;

typedef struct rounds {
    comm_work *work;
    const comm_tree *tree;
    int64_t segment; /* elements */
    slot slots[SLOTS];
    int spread; /* results that are not here yet */
} rounds;

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */
/* Is a REDUCE combined by everybody? Of two ranks each receives as much so as if it combined a half, but only once;
 * beyond some size it takes longer to combine the other half as well. */
static bool by_everybody(const comm_work *work, bool small) {
    int64_t bytes = work->what->elements * (int64_t)work->what->item;
    return work->what->kind == ENGINE_COMM_REDUCE && (small || (work->group->nranks == 2 && bytes <= TWICE_BYTES));
}

/* Piece k of the rank with index d; false: it has fewer. */
static bool piece_of(const comm_work *work, bool small, int d, int k, rank_piece *out) {
    const engine_comm_group *group = work->group;
    int64_t n = work->what->elements;
    if (work->what->kind == ENGINE_COMM_REDUCE) {
        bool all = by_everybody(work, small);
        int64_t first = all ? 0 : n * d / group->nranks, end = all ? n : n * (d + 1) / group->nranks;
        *out = (rank_piece){.from = first, .n = end - first, .place = first};
        return k == 0;
    }
    for (int32_t w = 0, found = 0; w < group->nmembers; w++) {
        if (!group->wanted[d * group->nmembers + w] || found++ < k)
            continue;
        *out =
            (rank_piece){.from = n / group->nmembers * w, .n = n / group->nmembers, .place = n / group->nmembers * k};
        return true;
    }
    return false;
}

static int npieces(const comm_work *work, int d) {
    rank_piece p;
    int k = 0;
    while (piece_of(work, false, d, k, &p))
        k++;
    return k;
}

static bool cut_round(const rounds *r, int64_t round, rank_piece *p) {
    int64_t from = round * r->segment, n = p->n - from;
    *p = (rank_piece){.from = p->from + from, .n = n < r->segment ? n : r->segment, .place = p->place + from};
    return n > 0;
}

/* ---- Terms ------------------------------------------------------------------------------------------------------- */
/* Elements from … from + n of a term of this rank: in its block, or combined into *scratch, which moves on. NULL:
 * memory. */
static const char *own_term(const comm_work *work, const comm_term *term, int64_t from, int64_t n, char **scratch) {
    size_t item = work->what->item, offset = (size_t)from * item;
    if (term->count == 1)
        return work->blocks[term->first] + offset;
    comm_tree members;
    if (comm_tree_new(work->group, term->first, term->count, false, &members))
        return NULL;
    char *out = *scratch;
    for (int k = 0; k < members.nterms; k++)
        members.terms[k].at = work->blocks[members.terms[k].first] + offset;
    comm_tree_combine(&members, work->what, n, out);
    comm_tree_free(&members);
    *scratch += (size_t)n * item;
    return out;
}

static int terms_of(const comm_tree *tree, int rank, bool combined) {
    int n = 0;
    for (int k = 0; k < tree->nterms; k++)
        n += tree->terms[k].rank == rank && (!combined || tree->terms[k].count > 1);
    return n;
}

static int no_memory_to_reduce(engine_comm *comm) {
    return comm_break(comm, "%s: no memory", comm->doing);
}

/* At least so many bytes, which the next call may move. NULL: memory. */
static void *scratch_of(engine_comm *comm, size_t bytes) {
    if (comm->scratch_bytes < bytes) {
        free(comm->scratch);
        comm->scratch = NULL;
        comm->scratch_bytes = 0;
        if (!engine_alloc_refuse() && posix_memalign((void **)&comm->scratch, 64, bytes) == 0)
            comm->scratch_bytes = bytes;
        else
            comm->scratch = NULL;
    }
    return comm->scratch;
}

/* ---- Small ones: all terms are in the first messages ------------------------------------------------------------- */
static int64_t wanted_elements(const comm_work *work, int d) {
    rank_piece p;
    int64_t n = 0;
    for (int k = 0; piece_of(work, true, d, k, &p); k++)
        n += p.n;
    return n;
}

static bool is_small(const comm_work *work, const comm_tree *tree) {
    int terms = 0;
    int64_t most = 0;
    for (int k = 0; k < work->group->nranks; k++) {
        int own = terms_of(tree, work->group->ranks[k], false);
        int64_t wanted = wanted_elements(work, k);
        terms = own > terms ? own : terms;
        most = wanted > most ? wanted : most;
    }
    return most <= COMM_PAYLOAD && (size_t)most * (size_t)terms * work->what->item <= COMM_PAYLOAD;
}

/* This rank's terms of all pieces of rank d, packed. */
static int pack_terms(comm_work *work, const comm_tree *tree, int d, char *to, size_t *bytes) {
    char *at = to;
    rank_piece p;
    for (int k = 0; piece_of(work, true, d, k, &p); k++) {
        for (int t = 0; t < tree->nterms; t++) {
            size_t some = (size_t)p.n * work->what->item;
            if (tree->terms[t].rank != work->comm->rank)
                continue;
            char *scratch = at;
            const char *term = own_term(work, &tree->terms[t], p.from, p.n, &scratch);
            if (!term)
                return no_memory_to_reduce(work->comm);
            if (term != at)
                memcpy(at, term, some);
            at += some;
        }
    }
    *bytes = (size_t)(at - to);
    return NEAP_OK;
}

static int combine_small(comm_work *work, comm_tree *tree) {
    size_t bytes, item = work->what->item;
    char *own = scratch_of(work->comm, COMM_PAYLOAD);
    int status = own ? pack_terms(work, tree, work->me, own, &bytes) : no_memory_to_reduce(work->comm);
    rank_piece p;
    size_t done = 0; /* elements of each term that were combined */
    for (int k = 0; status == NEAP_OK && piece_of(work, true, work->me, k, &p); k++) {
        for (int t = 0; t < tree->nterms; t++) {
            comm_term *term = &tree->terms[t];
            int terms = 0, before = 0; /* of that rank; those before this one */
            for (int other = 0; other < tree->nterms; other++) {
                terms += tree->terms[other].rank == term->rank;
                before += other < t && tree->terms[other].rank == term->rank;
            }
            const char *base = term->rank == work->comm->rank ? own : (char *)(comm_inbox(work->comm, term->rank) + 1);
            term->at = base + (done * (size_t)terms + (size_t)p.n * (size_t)before) * item;
        }
        comm_tree_combine(tree, work->what, p.n, work->out + (size_t)p.place * item);
        done += (size_t)p.n;
    }
    return status;
}

/* ---- Large ones: rounds ------------------------------------------------------------------------------------------ */
static int64_t rounds_needed(rounds *r) {
    int64_t most = 0;
    rank_piece p;
    for (int d = 0; d < r->work->group->nranks; d++)
        for (int k = 0; piece_of(r->work, false, d, k, &p); k++)
            most = p.n > most ? p.n : most;
    return (most + r->segment - 1) / r->segment;
}

/* Memory of both slots: for each piece of any rank this rank's combined terms, for each own piece the terms of
 * others. */
static int allocate_slots(rounds *r) {
    const comm_work *work = r->work;
    const comm_tree *tree = r->tree;
    int own = npieces(work, work->me), all = 0;
    for (int d = 0; d < work->group->nranks; d++)
        all += npieces(work, d);
    size_t segment = (size_t)r->segment * work->what->item + 64;
    size_t terms = (size_t)all * (size_t)terms_of(tree, work->comm->rank, true) +
                   (size_t)own * (size_t)(tree->nterms - terms_of(tree, work->comm->rank, false));
    size_t table = ((size_t)own * (size_t)tree->nterms * sizeof(char *) + 63) & ~(size_t)63,
           term_bytes = terms * segment;
    char *scratch = scratch_of(work->comm, SLOTS * (table + term_bytes) + 64);
    if (!scratch)
        return no_memory_to_reduce(work->comm);
    for (int k = 0; k < SLOTS; k++) {
        r->slots[k].at = (const char **)(scratch + (size_t)k * (table + term_bytes));
        r->slots[k].scratch = scratch + (size_t)k * (table + term_bytes) + table;
    }
    return NEAP_OK;
}

/* Sends this rank's terms of a segment to the rank that combines it, or notes where they are if that is this one. */
static int give_terms(rounds *r, slot *s, int d, const rank_piece *p, const char **at, char **scratch) {
    comm_work *work = r->work;
    size_t bytes = (size_t)p->n * work->what->item;
    int status = NEAP_OK;
    for (int t = 0; t < r->tree->nterms && status == NEAP_OK; t++) {
        const comm_term *term = &r->tree->terms[t];
        if (term->rank == work->comm->rank) {
            const char *own = own_term(work, term, p->from, p->n, scratch);
            if (!own)
                return no_memory_to_reduce(work->comm);
            if (d == work->me)
                at[t] = own;
            else
                status = comm_send(work->comm, work->group->ranks[d], COMM_TAG_DATA, own, bytes, &s->sends);
        } else if (d == work->me) {
            at[t] = *scratch;
            status = comm_receive(work->comm, term->rank, COMM_TAG_DATA, *scratch, bytes, &s->left);
            *scratch += bytes;
        }
    }
    return status;
}

static int begin_round(rounds *r, int64_t round) {
    comm_work *work = r->work;
    slot *s = &r->slots[round % SLOTS];
    char *scratch = s->scratch;
    int status = comm_wait(work->comm, &s->sends), n = work->group->nranks;
    /* Each rank begins with its own piece, then the next rank's, so that they do not all turn to one. */
    for (int turn = 0; turn < n && status == NEAP_OK; turn++) {
        int d = (work->me + turn) % n;
        rank_piece p;
        for (int k = 0; status == NEAP_OK && piece_of(work, false, d, k, &p); k++)
            if (cut_round(r, round, &p))
                status = give_terms(r, s, d, &p, s->at + (size_t)k * (size_t)r->tree->nterms, &scratch);
    }
    return status;
}

static int broadcast_result(rounds *r, const rank_piece *p) {
    comm_work *work = r->work;
    size_t item = work->what->item;
    int status = NEAP_OK, n = work->group->nranks;
    for (int turn = 1; turn < n && status == NEAP_OK; turn++)
        status = comm_send(work->comm, work->group->ranks[(work->me + turn) % n], COMM_TAG_BROADCAST,
                           work->out + (size_t)p->place * item, (size_t)p->n * item, &work->sends);
    return status;
}

static int receive_results(rounds *r, int64_t round) {
    comm_work *work = r->work;
    size_t item = work->what->item;
    int status = NEAP_OK;
    for (int d = 0; d < work->group->nranks && status == NEAP_OK; d++) {
        rank_piece p;
        piece_of(work, false, d, 0, &p);
        if (d != work->me && cut_round(r, round, &p))
            status = comm_receive(work->comm, work->group->ranks[d], COMM_TAG_BROADCAST,
                                  work->out + (size_t)p.place * item, (size_t)p.n * item, &r->spread);
    }
    return status;
}

static int end_round(rounds *r, int64_t round) {
    comm_work *work = r->work;
    slot *s = &r->slots[round % SLOTS];
    bool spreads = work->what->kind == ENGINE_COMM_REDUCE && !by_everybody(work, false);
    int status = comm_wait(work->comm, &s->left);
    rank_piece p;
    for (int k = 0; status == NEAP_OK && piece_of(work, false, work->me, k, &p); k++) {
        if (!cut_round(r, round, &p))
            continue;
        for (int t = 0; t < r->tree->nterms; t++)
            r->tree->terms[t].at = s->at[(size_t)k * (size_t)r->tree->nterms + (size_t)t];
        comm_tree_combine(r->tree, work->what, p.n, work->out + (size_t)p.place * work->what->item);
        if (spreads)
            status = broadcast_result(r, &p);
    }
    return status == NEAP_OK && spreads ? receive_results(r, round) : status;
}

static int combine_large(comm_work *work, const comm_tree *tree) {
    rounds r = {.work = work, .tree = tree, .segment = SEGMENT_BYTES / (int64_t)work->what->item};
    int64_t count = rounds_needed(&r);
    int status = count > 0 ? allocate_slots(&r) : NEAP_OK;
    for (int64_t k = 0; k < count + SLOTS - 1 && status == NEAP_OK; k++) {
        if (k < count)
            status = begin_round(&r, k);
        if (status == NEAP_OK && k >= SLOTS - 1)
            status = end_round(&r, k - (SLOTS - 1));
    }
    for (int k = 0; k < SLOTS && status == NEAP_OK; k++)
        status = comm_wait(work->comm, &r.slots[k].sends);
    return status == NEAP_OK ? comm_wait(work->comm, &r.spread) : status;
}

/* ---- The collective ---------------------------------------------------------------------------------------------- */
int comm_reduce_begin(comm_work *work, comm_reduction *reduction) {
    const engine_comm_group *group = work->group;
    int status = comm_tree_new(group, 0, group->nmembers, true, &reduction->tree);
    if (status < 0)
        return no_memory_to_reduce(work->comm);
    reduction->small = is_small(work, &reduction->tree);
    for (int d = 0; d < group->nranks && reduction->small && status == NEAP_OK; d++) {
        comm_header *message = comm_outbox(work->comm, group->ranks[d]);
        size_t bytes = 0;
        if (d != work->me) {
            status = pack_terms(work, &reduction->tree, d, (char *)(message + 1), &bytes);
            message->payload = bytes;
        }
    }
    return status;
}

int comm_reduce_end(comm_work *work, comm_reduction *reduction) {
    return reduction->small ? combine_small(work, &reduction->tree) : combine_large(work, &reduction->tree);
}

void comm_reduce_free(comm_reduction *reduction) {
    comm_tree_free(&reduction->tree);
}
