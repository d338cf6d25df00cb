/* comm/messages.c: what communicators tell each other besides collectives: who they are, how far they are, that they
 * end.
 *
 * A communicator always has one receive under way for a note, from anybody. Nobody sends notes without a reason: who
 * waits in a collective asks those whom it misses, once a second. A rank whose thread answers is alive, wherever its
 * script may be; one that says nothing for long has died or was stopped.
 */
#include "engine/comm/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUIET_NS = 1000000000, GRACE_NS = 300000000 };

/* ---- Sending ----------------------------------------------------------------------------------------------------- */
static int send_to(engine_comm *comm, int rank, const comm_message *note) {
    comm_message *own = engine_alloc(sizeof *own);
    if (!own)
        return comm_break(comm, "no memory for a note");
    *own = *note;
    return comm_send_own(comm, rank, COMM_TAG_MESSAGE, own, sizeof *own);
}

int comm_message_send(engine_comm *comm, int rank, comm_message_kind kind, const char *text) {
    comm_message note = {.kind = (uint32_t)kind,
                         .wire = COMM_WIRE,
                         .devices = comm->config.devices,
                         .busy = comm->busy,
                         .number = comm->number};
    int status = NEAP_OK;
    snprintf(note.text, sizeof note.text, "%s", text ? text : "");
    for (int to = 0; to < comm->size && status == NEAP_OK; to++)
        if (to != comm->rank && (rank < 0 || rank == to))
            status = send_to(comm, to, &note);
    return status;
}

/* ---- Receiving --------------------------------------------------------------------------------------------------- */
static int listen(engine_comm *comm) {
    return comm_receive(comm, NEAP_RANK_ANY, COMM_TAG_MESSAGE, &comm->message_in, sizeof comm->message_in, NULL);
}

static int meet(engine_comm *comm, int rank, const comm_message *note) {
    comm_peer *peer = &comm->peers[rank];
    peer->met = true;
    peer->devices = note->devices;
    snprintf(peer->host, sizeof peer->host, "%.63s", note->text);
    if (note->wire != COMM_WIRE)
        return comm_break(comm, "process %d runs another version of neap", rank);
    return NEAP_OK;
}

static int send_own_state(engine_comm *comm, int rank) {
    char doing[COMM_TEXT];
    pthread_mutex_lock(&comm->mutex);
    memcpy(doing, comm->doing, sizeof doing);
    pthread_mutex_unlock(&comm->mutex);
    return comm_message_send(comm, rank, COMM_STATE, doing);
}

/* What it says of its sender, which engine_comm_why tells other threads. */
static void remember_note(engine_comm *comm, int rank, const comm_message *note) {
    comm_peer *peer = &comm->peers[rank];
    pthread_mutex_lock(&comm->mutex);
    peer->told |= note->kind == COMM_STATE;
    peer->ended |= note->kind == COMM_BYE;
    peer->failed |= note->kind == COMM_FAILED || note->kind == COMM_BROKEN;
    peer->busy = note->busy;
    peer->number = note->number;
    if (note->kind == COMM_BROKEN && !*comm->cause)
        memcpy(comm->cause, note->text, sizeof comm->cause);
    if (note->kind >= COMM_BROKEN || !peer->failed) /* why it failed stays known */
        memcpy(peer->text, note->text, sizeof peer->text);
    pthread_mutex_unlock(&comm->mutex);
}

int comm_message_take(engine_comm *comm, int rank) {
    comm_message note = comm->message_in;
    note.text[sizeof note.text - 1] = 0;
    comm->peers[rank].asked = 0;
    comm->peers[rank].heard = engine_now();
    int status = listen(comm);
    if (status < 0)
        return status;
    if (note.kind == COMM_HELLO)
        return meet(comm, rank, &note);
    if (note.kind == COMM_ASK)
        return send_own_state(comm, rank);
    remember_note(comm, rank, &note);
    return NEAP_OK;
}

int comm_messages_begin(engine_comm *comm) {
    char host[COMM_TEXT] = "";
    gethostname(host, sizeof host - 1);
    comm_peer *self = &comm->peers[comm->rank];
    self->met = true;
    self->devices = comm->config.devices;
    snprintf(self->host, sizeof self->host, "%.63s", host);
    int status = listen(comm);
    if (status == NEAP_OK)
        status = comm_message_send(comm, -1, COMM_HELLO, host);
    return status;
}

/* ---- Patience ---------------------------------------------------------------------------------------------------- */
typedef struct missing_text {
    char *at;
    size_t left;
    int ranks;
} missing_text;

static void add_text_part(missing_text *text, const char *part) {
    size_t n = strlen(part);
    n = n < text->left ? n : text->left - 1;
    memcpy(text->at, part, n);
    text->at[n] = 0;
    text->at += n;
    text->left -= n;
}

/* "process 2 of host (in collective 11: psum of f32, 8 elements, at train.lua:7)" */
static void report_to_peer(const engine_comm *comm, int rank, missing_text *text) {
    char part[COMM_TEXT + 160];
    const comm_peer *peer = &comm->peers[rank];
    int n = snprintf(part, sizeof part, "%sprocess %d on %s", text->ranks++ ? ", " : "", rank, peer->host);
    if (peer->failed)
        snprintf(part + n, sizeof part - (size_t)n, ", which has failed: %s", peer->text);
    else if (peer->ended)
        snprintf(part + n, sizeof part - (size_t)n, ", which has ended after collective %llu",
                 (unsigned long long)peer->number);
    else if (peer->told && peer->busy)
        snprintf(part + n, sizeof part - (size_t)n, " (in %s)", peer->text);
    else if (peer->told)
        snprintf(part + n, sizeof part - (size_t)n, " (has done %llu collectives)", (unsigned long long)peer->number);
    add_text_part(text, part);
}

/* Those with a transfer under way, and those that have failed, since nothing will come of the whole any more; with a
 * text for people. */
static void find_missing(const engine_comm *comm, bool *is, char *out, size_t bytes) {
    missing_text text = {.at = out, .left = bytes};
    *out = 0;
    for (int rank = 0; rank < comm->size; rank++)
        is[rank] = comm->peers[rank].failed;
    for (int k = 0; k < comm->flight.n; k++)
        if (comm->flight.at[k]->left)
            is[comm->flight.at[k]->t.rank] = true;
    for (int rank = 0; rank < comm->size; rank++)
        if (is[rank])
            report_to_peer(comm, rank, &text);
}

/* In the wait for the end of all: those that have not come to it. */
static void find_unended(const engine_comm *comm, bool *is, char *out, size_t bytes) {
    missing_text text = {.at = out, .left = bytes};
    *out = 0;
    for (int rank = 0; rank < comm->size; rank++) {
        is[rank] = rank != comm->rank && !comm->peers[rank].ended;
        if (is[rank])
            report_to_peer(comm, rank, &text);
    }
}

/* Asks a rank, or finds it silent or gone. What broke others is the reason here too: it is told alike everywhere. */
static int look_at(engine_comm *comm, int rank, int64_t waited, const char *missing) {
    comm_peer *peer = &comm->peers[rank];
    int64_t now = engine_now();
    if (*comm->cause && waited >= GRACE_NS)
        return comm_break(comm, "%s", comm->cause);
    if ((peer->ended || peer->failed) && waited >= GRACE_NS)
        return comm_break(comm, "%s cannot finish: it waits for %s", comm->doing, missing);
    if (peer->asked && now - peer->asked >= comm->config.silence)
        return comm_break(comm, "%s cannot finish: process %d on %s does not answer: it has died, or hangs",
                          comm->doing, rank, peer->host);
    if (!peer->asked && !peer->ended && !peer->failed && waited >= QUIET_NS && now - peer->heard >= QUIET_NS) {
        peer->asked = now;
        return comm_message_send(comm, rank, COMM_ASK, NULL);
    }
    return NEAP_OK;
}

typedef void find_ranks(const engine_comm *comm, bool *is, char *out, size_t bytes);

static int be_patient(engine_comm *comm, int64_t waited, find_ranks *find) {
    bool *is = engine_alloc((size_t)comm->size);
    char text[sizeof comm->missing];
    if (!is)
        return NEAP_OK; /* next time */
    find(comm, is, text, sizeof text);
    pthread_mutex_lock(&comm->mutex);
    memcpy(comm->missing, text, sizeof comm->missing);
    pthread_mutex_unlock(&comm->mutex);
    int status = NEAP_OK;
    for (int rank = 0; rank < comm->size && status == NEAP_OK; rank++)
        if (is[rank])
            status = look_at(comm, rank, waited, text);
    if (status == NEAP_OK && comm_must_end(comm))
        status = comm_break(comm, "%s", comm->end_text);
    if (status == NEAP_OK && waited >= comm->config.timeout)
        status = comm_break(comm, "%s has not finished within %g s: it waits for %s", comm->doing,
                            (double)comm->config.timeout / 1e9, text);
    free(is);
    return status;
}

int comm_patience(engine_comm *comm, int64_t waited) {
    return be_patient(comm, waited, find_missing);
}

int comm_patience_at_end(engine_comm *comm, int64_t waited) {
    return be_patient(comm, waited, find_unended);
}
