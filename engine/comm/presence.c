/* comm/presence.c: which processes of the job are on this machine, before the transport can say so.
 *
 * A transport's open waits for all processes, and cannot tell which one is missing. So each process listens on a local
 * socket whose name is made of the job and its rank; the name goes with the process. Nothing is sent: that the socket
 * can be connected to says that the process is there, and its credentials say which one it is.
 */
#include "engine/comm/internal.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listener = -1;

/* What is the same in the processes of a job and in no other: the launcher's name for it, else the launcher. */
static void name_job(char *out, size_t capacity) {
    static const char *const names[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID"};
    const char *job = NULL;
    for (size_t k = 0; k < sizeof names / sizeof names[0] && !job; k++)
        job = getenv(names[k]);
    if (job)
        snprintf(out, capacity, "%u/%s", (unsigned)getuid(), job);
    else
        snprintf(out, capacity, "%u/of %ld", (unsigned)getuid(), (long)getppid());
}

/* An abstract name: it is in no folder. Returns the bytes of the address. */
static socklen_t address_of(int rank, struct sockaddr_un *address) {
    char job[64];
    name_job(job, sizeof job);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "neap/%s/%d", job, rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

void comm_presence_show(int rank) {
    struct sockaddr_un address;
    socklen_t bytes = address_of(rank, &address);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0)
        return;
    if (bind(listener, (struct sockaddr *)&address, bytes) < 0 || listen(listener, 64) < 0) {
        close(listener);
        listener = -1;
    }
}

/* The process that listens as this rank; 0: none on this machine, -1: it cannot be told. */
static pid_t process_of(int rank) {
    struct sockaddr_un address;
    socklen_t bytes = address_of(rank, &address);
    struct ucred who = {.pid = -1};
    socklen_t room = sizeof who;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&address, bytes) < 0)
        who.pid = 0;
    else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &room) < 0)
        who.pid = -1;
    close(fd);
    return who.pid;
}

/* Whether a signal has stopped it: the state behind the name in parentheses, which may hold anything. */
static bool is_stopped(pid_t pid) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[n] = 0;
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' && (end[2] == 'T' || end[2] == 't');
}

const char *comm_presence_report(int rank, int size, char *text, size_t capacity) {
    size_t used = 0;
    *text = 0;
    for (int other = 0; listener >= 0 && other < size && used < capacity; other++) {
        pid_t pid = other == rank ? -1 : process_of(other);
        const char *comma = used ? ", " : "";
        if (pid == 0)
            used += (size_t)snprintf(text + used, capacity - used,
                                     "%sprocess %d has not started, has ended, or is elsewhere", comma, other);
        else if (pid > 0 && is_stopped(pid))
            used += (size_t)snprintf(text + used, capacity - used, "%sprocess %d (PID %ld) is stopped", comma, other,
                                     (long)pid);
    }
    return text;
}
