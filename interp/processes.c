/* processes.c: see processes.h. */
#include "interp/processes.h"

#include <stdio.h>
#include <string.h>

#include "engine/comm/comm.h"
#include "engine/sync.h"
#include "mesh/mesh.h"

enum {
    MEET_MS = 20000, /* how long processes may take to meet: 5 s were too few where 30 others wanted the CPU */
    ALIKE_LEAST = 1000,
    ALIKE_MOST = 10000, /* ms that process 0 may then take to fail in the same way */
    LOOK_MS = 10,       /* how long this sleeps between two looks */
    SLEEP_MS = 1000,
    WHY_BYTES = 800
};

static bool at_end; /* this process has come to its end */
static int64_t began;

__attribute__((constructor)) static void begin(void) {
    began = engine_now();
}

/* How long process 0 may take to fail in the same way: as long again as this process took to come so far, since on a
 * busy machine one of them gets its time later than another. */
static int alike_ms(void) {
    const int64_t age = (engine_now() - began) / 1000000;
    return age < ALIKE_LEAST ? ALIKE_LEAST : age > ALIKE_MOST ? ALIKE_MOST : (int)age;
}

static int rank_here(void) {
    int rank, size;
    return engine_comm_launched(&rank, &size) ? rank : -1;
}

const char *processes_mark(void) {
    static char mark[32];
    if (!*mark && rank_here() >= 0)
        snprintf(mark, sizeof mark, "[process %d] ", rank_here());
    return mark;
}

bool processes_follow(void) {
    return rank_here() > 0;
}

/* What is told of an error to others: its first line. */
static void first_line(const char *text, char *line, size_t capacity) {
    snprintf(line, capacity, "%.*s", (int)strcspn(text, "\n"), text);
}

bool processes_tells(const char *text) {
    engine_comm *comm = engine_comm_here();
    if (!comm || !processes_follow())
        return true;
    char mine[WHY_BYTES], theirs[WHY_BYTES];
    first_line(text, mine, sizeof mine);
    neap_waker *waker;
    if (neap_waker_new(&waker) < 0)
        return true;
    bool alike = false;
    const int most = alike_ms();
    for (int waited = -MEET_MS; waited < most && !alike; waited += LOOK_MS) {
        if (waited < 0 && engine_comm_poll(comm, NULL) != NEAP_PENDING)
            waited = 0;
        engine_comm_why(comm, 0, theirs, sizeof theirs);
        alike = strcmp(mine, theirs) == 0;
        if (*theirs && !alike)
            break;
        if (!alike)
            neap_waker_sleep(waker, LOOK_MS);
    }
    neap_waker_free(waker);
    return !alike;
}

const char *processes_report(char *text, size_t capacity) {
    engine_comm *comm = engine_comm_here();
    char report[2048] = "";
    if (comm)
        engine_comm_report(comm, report, sizeof report);
    if (*report == '\0' && at_end)
        snprintf(report, sizeof report, "it had done all, and waited for the end of the others");
    snprintf(text, capacity, "%s%s", *report ? "; " : "", report);
    return text;
}

/* Whether another process has told that it fails; its error is told by itself. */
static bool others_failed(engine_comm *comm) {
    char why[WHY_BYTES];
    for (int rank = 0; rank < engine_comm_size(comm); rank++)
        if (*engine_comm_why(comm, rank, why, sizeof why) != '\0')
            return true;
    return false;
}

int processes_end(int status, const char *why, neap_waker *waker, bool (*stop)(void), char *problem, size_t capacity) {
    engine_comm *comm = engine_comm_here();
    char line[WHY_BYTES];
    *problem = '\0';
    if (!comm)
        return status;
    first_line(why, line, sizeof line);
    at_end = status == 0;
    bool broken = engine_comm_poll(comm, NULL) < 0; /* told where it was met, if that was in the script */
    while (neap_processes_end(status, line, waker) == NEAP_PENDING && !stop()) {
        neap_waker_sleep(waker, SLEEP_MS);
        neap_waker_clear(waker);
    }
    if (status == 0 && (broken || engine_comm_poll(comm, NULL) < 0)) {
        snprintf(problem, capacity, "%s", neap_error_text());
        status = 1;
    }
    return status == 0 && others_failed(comm) ? 1 : status;
}
