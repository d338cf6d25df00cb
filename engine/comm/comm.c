/* comm.c: the communicator: its thread, its beginning and its end, and what the rest of the process knows of it.
 *
 *      OPENING ──all have said hello──▶ OPEN ──end, and all others have ended──▶ CLOSED
 *         └──────────────┴── broken: every collective fails with the reason; notes are still read ──▶ end ──▶ CLOSED
 *
 * The thread takes jobs one after the other. Without one it lets the transport work twenty times a second, for the
 * notes of those who wait, and sleeps meanwhile.
 */
#include "engine/comm/internal.h"

#include "engine/device.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const int64_t SECOND = 1000000000;
enum { LINGER = 50, IDLE_NS = 50000000, MEET_NS = 1000000, LOOK_NS = 100000000, LEAVE_NS = 500000000 };

/* ---- State ------------------------------------------------------------------------------------------------------- */
/* Gives the thread something to look at, and wakes it. */
static void signal_comm_thread(engine_comm *comm) {
    atomic_fetch_add(&comm->signal, 1);
    engine_futex_wake(&comm->signal, 1);
}

static void set_phase(engine_comm *comm, comm_phase phase) {
    pthread_mutex_lock(&comm->mutex);
    comm->phase = phase;
    for (int k = 0; k < COMM_WATCHERS; k++) {
        if (comm->watchers[k]) {
            neap_waker_wake(comm->watchers[k]);
            neap_waker_free(comm->watchers[k]);
        }
        comm->watchers[k] = NULL;
    }
    pthread_mutex_unlock(&comm->mutex);
}

/* With the mutex held. False: there is no room, so the caller had better look again soon. */
static bool watch_phase(engine_comm *comm, neap_waker *waker) {
    int free = -1;
    for (int k = 0; k < COMM_WATCHERS && waker; k++) {
        if (comm->watchers[k] == waker)
            return true;
        if (!comm->watchers[k])
            free = k;
    }
    if (waker && free >= 0)
        comm->watchers[free] = engine_waker_retain(waker);
    return !waker || free >= 0;
}

int comm_break(engine_comm *comm, const char *format, ...) {
    char text[sizeof comm->reason];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&comm->mutex);
    bool first = !comm->broken;
    comm->broken = true;
    if (first)
        memcpy(comm->reason, text, sizeof text);
    comm_phase phase = comm->phase;
    pthread_mutex_unlock(&comm->mutex);
    if (first && comm->link) {
        comm->stuck = !comm_abandon(comm, false);
        comm_message_send(comm, -1, comm_must_end(comm) ? COMM_FAILED : COMM_BROKEN, text);
    }
    if (first)
        set_phase(comm, phase);
    return comm_check(comm);
}

bool comm_must_end(engine_comm *comm) {
    pthread_mutex_lock(&comm->mutex);
    bool must = comm->asked_to_end && comm->end_code;
    pthread_mutex_unlock(&comm->mutex);
    return must;
}

int comm_check(engine_comm *comm) {
    if (comm->broken)
        return neap_error(NEAP_E_FAILED, "%s", comm->reason);
    if (comm->phase == COMM_CLOSED)
        return neap_error(NEAP_E_STATE, "the processes have ended their communication");
    return NEAP_OK;
}

/* The transport is about to wait for all processes in a call that nothing ends, or has come back from it: false if it
 * was given up meanwhile. */
static bool note_blocked(engine_comm *comm, bool blocked) {
    pthread_mutex_lock(&comm->mutex);
    comm->blocked = blocked ? engine_now() : 0;
    bool lost = comm->lost;
    pthread_mutex_unlock(&comm->mutex);
    return !lost;
}

/* From any thread but that of the communicator: gives it up if it has been in such a call for too long. */
static void look_at_blocked(engine_comm *comm) {
    char who[COMM_TEXT];
    pthread_mutex_lock(&comm->mutex);
    bool late = comm->blocked && !comm->lost && engine_now() - comm->blocked > comm->config.timeout;
    pthread_mutex_unlock(&comm->mutex);
    if (!late)
        return;
    comm_presence_report(comm->rank, comm->size, who, sizeof who);
    pthread_mutex_lock(&comm->mutex);
    if (comm->blocked && !comm->broken) {
        comm->broken = comm->lost = true;
        snprintf(comm->reason, sizeof comm->reason, "the processes have not %s within %g s: %s",
                 comm->phase == COMM_OPENING ? "met" : "parted", (double)comm->config.timeout / 1e9,
                 *who ? who : "a process that has started does not come");
    }
    pthread_mutex_unlock(&comm->mutex);
}

int engine_comm_poll(engine_comm *comm, neap_waker *waker) {
    look_at_blocked(comm);
    pthread_mutex_lock(&comm->mutex);
    bool broken = comm->broken, pending = comm->phase == COMM_OPENING && !broken;
    if (pending && !watch_phase(comm, waker))
        neap_waker_wake(waker);
    pthread_mutex_unlock(&comm->mutex);
    return pending ? NEAP_PENDING : broken ? comm_check(comm) : NEAP_OK;
}

int engine_comm_rank(const engine_comm *comm) {
    return comm->config.rank;
}

int engine_comm_size(const engine_comm *comm) {
    return comm->config.size;
}

int engine_comm_devices(const engine_comm *comm, int rank) {
    return comm->peers[rank].devices;
}

const char *engine_comm_host(const engine_comm *comm, int rank) {
    return comm->peers[rank].host;
}

const char *engine_comm_why(engine_comm *comm, int rank, char *text, size_t capacity) {
    pthread_mutex_lock(&comm->mutex);
    snprintf(text, capacity, "%s", comm->peers[rank].failed ? comm->peers[rank].text : "");
    pthread_mutex_unlock(&comm->mutex);
    return text;
}

const char *engine_comm_report(engine_comm *comm, char *text, size_t capacity) {
    pthread_mutex_lock(&comm->mutex);
    if (comm->broken)
        snprintf(text, capacity, "%s", comm->reason);
    else if (*comm->doing && *comm->missing)
        snprintf(text, capacity, "%s waits for %s", comm->doing, comm->missing);
    else
        snprintf(text, capacity, "%s", comm->doing);
    pthread_mutex_unlock(&comm->mutex);
    return text;
}

/* ---- The thread: jobs -------------------------------------------------------------------------------------------- */
static void do_job(engine_comm *comm, comm_job *job) {
    neap_completion *done = job->done;
    int status = job->run(comm, job);
    atomic_fetch_sub(&engine.elsewhere, 1);
    if (done)
        neap_complete(done, status);
}

/* Once it is closed, jobs fail where they are. */
void comm_enqueue(engine_comm *comm, comm_job *job) {
    job->next = NULL;
    atomic_fetch_add(&engine.elsewhere, 1);
    pthread_mutex_lock(&comm->mutex);
    bool closed = comm->phase == COMM_CLOSED;
    if (!closed) {
        *comm->last = job;
        comm->last = &job->next;
    }
    pthread_mutex_unlock(&comm->mutex);
    if (closed)
        do_job(comm, job);
    else
        signal_comm_thread(comm);
}

static comm_job *next_job(engine_comm *comm, bool *ending) {
    pthread_mutex_lock(&comm->mutex);
    comm_job *job = comm->first;
    if (job && !(comm->first = job->next))
        comm->last = &comm->first;
    *ending = comm->ending;
    pthread_mutex_unlock(&comm->mutex);
    return job;
}

/* Has another thread said that this process cannot go on? */
static void look_at_failure(engine_comm *comm) {
    char text[COMM_TEXT];
    pthread_mutex_lock(&comm->mutex);
    memcpy(text, comm->fail_text, sizeof text);
    bool fails = *text && !comm->broken;
    pthread_mutex_unlock(&comm->mutex);
    if (fails)
        comm_break(comm, "process %d: %s", comm->rank, text);
}

/* Sleeps until there is something new, at most IDLE_NS; the next collective of a loop may be here at once. */
static void idle(engine_comm *comm, uint32_t seen) {
    for (int k = 0; k < LINGER; k++) {
        if (atomic_load_explicit(&comm->signal, memory_order_acquire) != seen)
            return;
        sched_yield();
    }
    engine_futex_wait(&comm->signal, seen, IDLE_NS);
    if (comm->link)
        comm_progress(comm);
}

static void do_jobs(engine_comm *comm) {
    bool ending = false;
    for (;;) {
        uint32_t seen = atomic_load_explicit(&comm->signal, memory_order_acquire);
        comm_job *job = next_job(comm, &ending);
        look_at_failure(comm);
        if (job)
            do_job(comm, job);
        else if (ending)
            return;
        else
            idle(comm, seen);
    }
}

/* ---- The thread: meeting ----------------------------------------------------------------------------------------- */
static void pause_for(engine_comm *comm, int64_t ns) {
    uint32_t seen = atomic_load(&comm->signal);
    engine_futex_wait(&comm->signal, seen, ns);
}

static int absent(const engine_comm *comm) {
    for (int rank = 0; rank < comm->size; rank++)
        if (!comm->peers[rank].met)
            return rank;
    return -1;
}

static int open_transport(engine_comm *comm) {
    int status = NEAP_OK, rank = comm->rank, size = comm->size;
    comm->transport = comm->config.transport;
    if (!comm->transport && (status = neap_plugin_load(comm->config.plugin)) == NEAP_OK)
        comm->transport = engine_transport();
    if (status < 0)
        return comm_break(comm, "the processes cannot talk to each other: %s", neap_error_text());
    if (!comm->transport)
        return comm_break(comm, "the processes cannot talk to each other: plugin '%s' has no transport",
                          comm->config.plugin);
    note_blocked(comm, true);
    status = comm->transport->open(comm->config.where, &comm->link, &rank, &size);
    if (!note_blocked(comm, false))
        return comm_check(comm);
    if (status < 0)
        return comm_break(comm, "the processes cannot talk to each other: %s", neap_error_text());
    if (rank != comm->rank || size != comm->size)
        return comm_break(comm, "this process was started as number %d of %d, but %s says %d of %d", comm->rank,
                          comm->size, comm->transport->name, rank, size);
    return NEAP_OK;
}

static int meet_all(engine_comm *comm) {
    int64_t began = engine_now();
    int status = comm_messages_begin(comm), missing;
    while (status >= 0 && (missing = absent(comm)) >= 0) {
        status = comm_progress(comm);
        if (status == 0)
            pause_for(comm, MEET_NS);
        if (status >= 0 && engine_now() - began > comm->config.timeout)
            status =
                comm_break(comm, "process %d has not come within %g s", missing, (double)comm->config.timeout / 1e9);
    }
    return status;
}

/* ---- The thread: the end ----------------------------------------------------------------------------------------- */
static bool messages_under_way(const engine_comm *comm) {
    for (int k = 0; k < comm->flight.n; k++)
        if (comm->flight.at[k]->own)
            return true;
    return false;
}

/* 1: all others wait for the end; 0: not yet; negative: some will not. */
static int all_ended(const engine_comm *comm) {
    for (int rank = 0; rank < comm->size; rank++) {
        if (rank != comm->rank && comm->peers[rank].failed)
            return -1;
        if (rank != comm->rank && !comm->peers[rank].ended)
            return 0;
    }
    return 1;
}

/* What changes while the others come nearer to their end. */
static uint64_t progress_of_others(const engine_comm *comm) {
    uint64_t sum = 0;
    for (int rank = 0; rank < comm->size; rank++)
        sum += comm->peers[rank].number + comm->peers[rank].ended;
    return sum;
}

/* Until all others have come to their end, or one will not. */
static void wait_for_ends(engine_comm *comm) {
    int64_t began = engine_now(), looked = began;
    uint64_t seen = 0;
    pthread_mutex_lock(&comm->mutex);
    snprintf(comm->doing, sizeof comm->doing, "the end of all processes");
    pthread_mutex_unlock(&comm->mutex);
    while (all_ended(comm) == 0 && !comm_must_end(comm)) {
        int status = comm_progress(comm);
        int64_t now = engine_now();
        if (status == 0 && now - looked >= LOOK_NS) {
            uint64_t progress = progress_of_others(comm);
            began = progress == seen ? began : now;
            seen = progress;
            looked = now;
            status = comm_patience_at_end(comm, now - began);
        }
        if (status < 0)
            return;
        if (status == 0)
            pause_for(comm, MEET_NS);
    }
}

/* What was sent last is on its way, or there was no time for it. */
static void send_last_notes(engine_comm *comm) {
    int64_t until = engine_now() + LEAVE_NS;
    while (messages_under_way(comm) && engine_now() < until) {
        int status = comm_progress(comm);
        if (status < 0)
            return;
        if (status == 0)
            pause_for(comm, MEET_NS);
    }
}

/* A transport is closed by all processes or by none. */
static void part_from_others(engine_comm *comm) {
    bool orderly = !comm_must_end(comm) && !comm->broken;
    if (orderly) {
        comm_message_send(comm, -1, COMM_BYE, NULL);
        wait_for_ends(comm);
    } else if (!comm->broken) {
        comm_break(comm, "%s", *comm->end_text ? comm->end_text : "it was ended");
    } else if (*comm->end_text) {
        comm_message_send(comm, -1, COMM_FAILED, comm->end_text);
    }
    if (!orderly || comm->broken)
        send_last_notes(comm);
    while (orderly && all_ended(comm) == 1 && messages_under_way(comm) && comm_progress(comm) >= 0)
        sched_yield();
    bool clear = comm_abandon(comm, true);
    if (orderly && clear && !comm->broken && all_ended(comm) == 1) {
        note_blocked(comm, true);
        comm->transport->close(comm->link);
        note_blocked(comm, false);
    }
    comm->link = NULL;
}

static void *comm_main(void *arg) {
    engine_comm *comm = arg;
    prctl(PR_SET_TIMERSLACK, 1000UL);
    engine_float_mode_set();
    if (open_transport(comm) == NEAP_OK && meet_all(comm) >= 0)
        set_phase(comm, COMM_OPEN);
    do_jobs(comm);
    if (comm->link)
        part_from_others(comm);
    set_phase(comm, COMM_CLOSED);
    comm_job *job;
    for (bool ending; (job = next_job(comm, &ending));)
        do_job(comm, job);
    return NULL;
}

static void end_now(engine_comm *comm) {
    pthread_mutex_lock(&comm->mutex);
    comm->ending = true;
    pthread_mutex_unlock(&comm->mutex);
    signal_comm_thread(comm);
}

static int end_in_turn(void *arg, const neap_run *run) {
    (void)run;
    end_now(arg);
    return NEAP_OK;
}

/* An orderly end comes behind all collectives that were pushed, also those whose inputs are not there yet. While an op
 * is away, its other thread ends the process, so nothing behind the op will be done. */
static void begin_end(engine_comm *comm, int code) {
    neap_push push = {.name = "the end of communication",
                      .flags = NEAP_PUSH_SMALL | NEAP_PUSH_ALWAYS,
                      .nwrites = 1,
                      .nfresh = 1,
                      .writes = &comm->var};
    if (code || atomic_load(&comm->away) || neap_push_sync(end_in_turn, comm, &push) < 0)
        end_now(comm);
}

int engine_comm_end(engine_comm *comm, int code, const char *why, neap_waker *waker) {
    look_at_blocked(comm);
    pthread_mutex_lock(&comm->mutex);
    bool begins = !comm->asked_to_end || (code && !comm->end_code);
    if (begins) {
        comm->asked_to_end = true;
        comm->end_code = code;
        snprintf(comm->end_text, sizeof comm->end_text, "%s", why ? why : "");
    }
    bool closed = comm->phase == COMM_CLOSED || comm->lost;
    if (!closed && !watch_phase(comm, waker))
        neap_waker_wake(waker);
    pthread_mutex_unlock(&comm->mutex);
    if (begins)
        begin_end(comm, code);
    return closed ? NEAP_OK : NEAP_PENDING;
}

void engine_comm_fail(engine_comm *comm, const char *text) {
    pthread_mutex_lock(&comm->mutex);
    if (!*comm->fail_text)
        snprintf(comm->fail_text, sizeof comm->fail_text, "%s", text);
    pthread_mutex_unlock(&comm->mutex);
    signal_comm_thread(comm);
}

void engine_comm_set_away(engine_comm *comm, bool away) {
    atomic_fetch_add(&comm->away, away ? 1 : -1);
}

/* ---- Making one -------------------------------------------------------------------------------------------------- */
void engine_comm_free(engine_comm *comm) {
    if (!comm)
        return;
    pthread_join(comm->thread, NULL);
    neap_var_delete(comm->var);
    for (comm_transfer *next; comm->spare; comm->spare = next) {
        next = comm->spare->next;
        free(comm->spare);
    }
    pthread_mutex_destroy(&comm->mutex);
    free(comm->flight.at);
    free(comm->peers);
    free(comm->outbox);
    free(comm->scratch);
    free(comm);
}

int engine_comm_new(const engine_comm_config *config, engine_comm **out) {
    engine_comm *comm = calloc(1, sizeof *comm);
    if (!comm)
        return neap_error(NEAP_E_MEMORY, "no memory for a communicator");
    comm->config = *config;
    comm->rank = config->rank;
    comm->size = config->size;
    comm->last = &comm->first;
    comm->peers = calloc((size_t)config->size, sizeof *comm->peers);
    comm->outbox = calloc(2 * (size_t)config->size, COMM_FIRST);
    pthread_mutex_init(&comm->mutex, NULL);
    int status = comm->peers && comm->outbox ? neap_var_new(&comm->var)
                                             : neap_error(NEAP_E_MEMORY, "no memory for a communicator");
    if (!status) {
        comm->inbox = comm->outbox + (size_t)config->size * COMM_FIRST;
        status = engine_thread_spawn(comm_main, comm, "neap-comm", &comm->thread);
    }
    if (!status) {
        *out = comm;
        return NEAP_OK;
    }
    if (comm->var)
        neap_var_delete(comm->var);
    free(comm->peers);
    free(comm->outbox);
    free(comm);
    return status;
}

/* ---- That of this process ---------------------------------------------------------------------------------------- */
static engine_comm *here;

static int number_of(const char *name, int *out) {
    const char *text = getenv(name);
    char *end = NULL;
    long value = text ? strtol(text, &end, 10) : -1;
    if (!text || end == text || *end || value < 0 || value > 1000000)
        return 0;
    *out = (int)value;
    return 1;
}

/* What a process of several starts has its environment, but is none of them: this variable tells whose it is. */
static const char *const OWNER = "NEAP_LAUNCHED";

static bool is_child(void) {
    const char *owner = getenv(OWNER);
    return owner && strtol(owner, NULL, 10) != (long)getpid();
}

static void own_environment(void) {
    char pid[24];
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    setenv(OWNER, pid, 1);
}

/* Open MPI's names, those of others, which know PMI, and those of Slurm's srun with PMIx. */
int engine_comm_launched(int *rank, int *size) {
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};
    for (size_t k = 0; k < sizeof names / sizeof names[0] && !is_child(); k++)
        if (number_of(names[k][0], rank) && number_of(names[k][1], size) && *size > 1 && *rank < *size)
            return 1;
    *rank = 0;
    *size = 1;
    return 0;
}

static int64_t seconds_of(const char *name, double otherwise) {
    const char *text = getenv(name);
    char *end = NULL;
    double value = text ? strtod(text, &end) : 0;
    return (int64_t)((text && end != text && !*end && value > 0 && value < 1e9 ? value : otherwise) * (double)SECOND);
}

int engine_comm_start(int devices, engine_comm_warn warn) {
    engine_comm_config config = {.plugin = "mpi", .devices = devices, .warn = warn};
    if (here || !engine_comm_launched(&config.rank, &config.size))
        return NEAP_OK;
    own_environment();
    config.timeout = seconds_of("NEAP_COMM_TIMEOUT", 300);
    config.silence = config.timeout < 10 * SECOND ? config.timeout : 10 * SECOND;
    comm_presence_show(config.rank);
    return engine_comm_new(&config, &here);
}

engine_comm *engine_comm_here(void) {
    return here;
}
