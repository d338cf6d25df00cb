/* supervise.c: runs a program, and decides on its system calls: lets the n-th of a kind fail, kills the program at the
 * n-th, or records what it does to files. It needs nothing of the program, so any build of neap will do.
 *
 *      supervise [OPTION…] -- COMMAND…
 *
 *      --refuse CALL:AT:MANY:ERROR   the AT-th call of this kind, and the MANY - 1 that follow, fail with this number
 *      --kill AT                     SIGKILL in front of the AT-th call that changes something below the folder
 *      --record FILE                 the calls that change something below the folder (below: the form of the file)
 *      --below FOLDER                the folder; it is there
 *      --count FILE                  how many calls of the kind there were, or changes, in the end
 *      --seconds N                   ends it after so long (60), with the status 124
 *
 * Calls are counted in the processes of COMMAND's executable alone, and not before the system's loader has started it.
 * The status is that of COMMAND, 128 + the signal that ended it, 124, or 125 where the system does not let programs be
 * supervised; then stderr says why.
 *
 * The record has a line for each change, with paths in the folder ("" is the folder):
 *
 *      create PATH          an empty file that was not there        sync PATH            a file, or a folder
 *      write PATH AT BYTES  and the bytes, and a newline            rename FROM / TO     in two lines
 *      truncate PATH BYTES                                          remove PATH
 *      folder PATH          a folder that was not there             mark NAME            somebody opened /mark/NAME
 *      other PATH           a change that this form has no word for
 *
 * The kernel stops the calls that a filter (seccomp) names, and asks this process; it reads what it has to know in the
 * memory of the one that asks. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CANNOT = 125, TIMED_OUT = 124, MOST_NUMBERS = 32, MOST_PARTS = 1024 };

#ifdef __x86_64__
enum { MACHINE = AUDIT_ARCH_X86_64 };
#define ONLY_HERE(...) __VA_ARGS__ /* calls that newer machines lack */
#else
enum { MACHINE = AUDIT_ARCH_AARCH64 };
#define ONLY_HERE(...)
#endif

/* ---- What there is to decide ------------------------------------------------------------------------------------- */
typedef struct call_kind {
    const char *name;
    int numbers[8]; /* up to the first that is below 0 */
} call_kind;

static const call_kind KINDS[] = {
    {"open", {SYS_openat, ONLY_HERE(SYS_open, ) - 1}},
    {"read", {SYS_read, SYS_pread64, SYS_readv, -1}},
    {"write", {SYS_write, SYS_pwrite64, SYS_writev, -1}},
    {"sync", {SYS_fsync, SYS_fdatasync, -1}},
    {"rename", {SYS_renameat, SYS_renameat2, ONLY_HERE(SYS_rename, ) - 1}},
    {"unlink", {SYS_unlinkat, ONLY_HERE(SYS_unlink, ) - 1}},
    {"mkdir", {SYS_mkdirat, ONLY_HERE(SYS_mkdir, ) - 1}},
    {"stat", {SYS_newfstatat, SYS_fstat, SYS_statx, ONLY_HERE(SYS_stat, SYS_lstat, ) - 1}},
    {"seek", {SYS_lseek, -1}},
    {"lock", {SYS_flock, -1}},
    {"random", {SYS_getrandom, -1}},
    {"map", {SYS_mmap, -1}},
    {"protect", {SYS_mprotect, -1}},
    {"thread", {SYS_clone3, SYS_clone, ONLY_HERE(SYS_vfork, ) - 1}},
    {"socket", {SYS_socket, -1}},
    {"bind", {SYS_bind, -1}},
    {"listen", {SYS_listen, -1}},
    {"pipe", {SYS_pipe2, SYS_eventfd2, SYS_epoll_create1, SYS_timerfd_create, SYS_memfd_create, -1}},
    {"duplicate", {SYS_fcntl, SYS_dup, SYS_dup3, -1}},
    {"control", {SYS_ioctl, -1}},
    {"poll", {SYS_ppoll, SYS_epoll_ctl, ONLY_HERE(SYS_poll, ) - 1}},
};

static const call_kind CHANGES = {
    "changes",
    {SYS_openat, SYS_write, SYS_pwrite64, SYS_writev, SYS_fsync, SYS_fdatasync, -1},
};
static const call_kind MORE_CHANGES = {
    "more changes",
    {SYS_renameat, SYS_renameat2, SYS_unlinkat, SYS_mkdirat, SYS_ftruncate, SYS_pwritev, SYS_mmap, -1},
};
static const call_kind OLD_CHANGES = {
    "changes by older calls",
    {ONLY_HERE(SYS_open, SYS_creat, SYS_rename, SYS_unlink, SYS_mkdir, SYS_rmdir, ) - 1},
};

typedef struct options {
    const call_kind *refused;
    int64_t at, many, seconds, kill_at;
    int error;
    FILE *record;
    const char *count_path;
    char below[PATH_MAX]; /* "": no folder */
    char **command;
} options;

static options wanted = {.many = 1, .seconds = 60};
static int64_t counted;
static pid_t child;
static char executable[PATH_MAX]; /* of the command */

/* Ends the command, and what it has started. */
static void end_all(void) {
    if (child > 0) {
        kill(-child, SIGKILL); /* there is no such group where it has a terminal */
        kill(child, SIGKILL);
    }
}

_Noreturn static void fail(const char *what) {
    fprintf(stderr, "supervise: %s: %s\n", what, strerror(errno));
    end_all();
    _exit(CANNOT);
}

static void note_refused(char *text) {
    char *at = strchr(text, ':');
    if (at)
        *at++ = '\0';
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++)
        if (strcmp(KINDS[k].name, text) == 0)
            wanted.refused = &KINDS[k];
    errno = EINVAL;
    if (!wanted.refused || !at || sscanf(at, "%ld:%ld:%d", &wanted.at, &wanted.many, &wanted.error) != 3)
        fail(text);
}

static void read_options(int argc, char **argv) {
    int k = 1;
    for (; k + 1 < argc && strcmp(argv[k], "--") != 0; k += 2) {
        if (strcmp(argv[k], "--refuse") == 0)
            note_refused(argv[k + 1]);
        else if (strcmp(argv[k], "--kill") == 0)
            wanted.kill_at = atoll(argv[k + 1]);
        else if (strcmp(argv[k], "--seconds") == 0)
            wanted.seconds = atoll(argv[k + 1]);
        else if (strcmp(argv[k], "--count") == 0)
            wanted.count_path = argv[k + 1];
        else if (strcmp(argv[k], "--below") == 0 && !realpath(argv[k + 1], wanted.below))
            fail(argv[k + 1]);
        else if (strcmp(argv[k], "--record") == 0 && !(wanted.record = fopen(argv[k + 1], "we")))
            fail(argv[k + 1]);
    }
    wanted.command = argv + k + 1;
    errno = EINVAL;
    if (k + 1 >= argc || (!wanted.refused && !*wanted.below) || !realpath(argv[k + 1], executable))
        fail("the command line");
}

/* ---- The filter, in the program ---------------------------------------------------------------------------------- */
static int add_numbers(const call_kind *kind, int n, int *numbers) {
    for (int k = 0; kind->numbers[k] >= 0; k++)
        numbers[n++] = kind->numbers[k];
    return n;
}

/* Returns the descriptor by which the kernel asks. */
static int install_filter(void) {
    int numbers[MOST_NUMBERS], n = 0, at = 0;
    if (wanted.refused)
        n = add_numbers(wanted.refused, n, numbers);
    else
        n = add_numbers(&OLD_CHANGES, add_numbers(&MORE_CHANGES, add_numbers(&CHANGES, 0, numbers), numbers), numbers);
    struct sock_filter code[MOST_NUMBERS + 8];
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD + BPF_W + BPF_ABS, offsetof(struct seccomp_data, arch));
    code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP + BPF_JEQ + BPF_K, MACHINE, 0, (uint8_t)(n + 1));
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD + BPF_W + BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int k = 0; k < n; k++)
        code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP + BPF_JEQ + BPF_K, (uint32_t)numbers[k], (uint8_t)(n - k), 0);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET + BPF_K, SECCOMP_RET_ALLOW);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET + BPF_K, SECCOMP_RET_USER_NOTIF);
    struct sock_fprog program = {(unsigned short)at, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* Of a message with a descriptor, through a socket. */
typedef struct envelope {
    struct msghdr message;
    struct iovec part;
    char byte;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
} envelope;

static struct cmsghdr *prepare(envelope *e) {
    *e = (envelope){.byte = 'f'};
    e->part = (struct iovec){&e->byte, 1};
    e->message = (struct msghdr){
        .msg_iov = &e->part, .msg_iovlen = 1, .msg_control = e->control, .msg_controllen = sizeof e->control};
    struct cmsghdr *head = CMSG_FIRSTHDR(&e->message);
    *head = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    return head;
}

/* Starts the command, and returns the descriptor by which the kernel asks. A terminal's program stays in the group that
 * may read from it. */
static int start(void) {
    int pair[2], listener = -1;
    envelope e;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        fail("socketpair");
    child = fork();
    if (child == 0) {
        if (!isatty(0))
            setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct cmsghdr *head = prepare(&e);
        listener = install_filter();
        memcpy(CMSG_DATA(head), &listener, sizeof listener);
        if (listener < 0 || sendmsg(pair[1], &e.message, 0) != 1)
            _exit(CANNOT);
        syscall(SYS_close, listener);
        execv(wanted.command[0], wanted.command);
        _exit(127);
    }
    close(pair[1]);
    struct cmsghdr *head = prepare(&e);
    if (child < 0 || recvmsg(pair[0], &e.message, MSG_CMSG_CLOEXEC) != 1)
        fail("no calls can be supervised here");
    memcpy(&listener, CMSG_DATA(head), sizeof listener);
    close(pair[0]);
    return listener;
}

/* ---- What a call is about ---------------------------------------------------------------------------------------- */
typedef struct question {
    struct seccomp_notif *asked;
    const uint64_t *args;
    pid_t pid; /* the thread's */
} question;

static bool read_memory(const question *q, uint64_t at, void *out, size_t bytes) {
    struct iovec here = {out, bytes}, there = {(void *)(uintptr_t)at, bytes};
    return process_vm_readv(q->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* A text of the program's, a page at a time. */
static bool read_text(const question *q, uint64_t at, char *out) {
    for (size_t n = 0; n < PATH_MAX;) {
        size_t part = 4096 - (at + n) % 4096;
        part = part < PATH_MAX - n ? part : PATH_MAX - n;
        if (!read_memory(q, at + n, out + n, part))
            return false;
        if (memchr(out + n, '\0', part))
            return true;
        n += part;
    }
    return false;
}

static bool read_link(pid_t pid, const char *what, char *out) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/%s", (int)pid, what);
    ssize_t n = readlink(name, out, PATH_MAX - 1);
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static bool path_of_descriptor(const question *q, int fd, char *out) {
    char what[32];
    snprintf(what, sizeof what, "fd/%d", fd);
    return read_link(q->pid, fd == AT_FDCWD ? "cwd" : what, out);
}

/* The path in the folder; NULL: it is not below it. */
static const char *inside(const char *path) {
    size_t n = strlen(wanted.below);
    if (!*wanted.below || strncmp(path, wanted.below, n) != 0 || (path[n] != '/' && path[n] != '\0'))
        return NULL;
    return path[n] == '/' ? path + n + 1 : path + n;
}

/* The path that a call gives, from this descriptor on, without links and points in it but for its last name. */
static bool given_path(const question *q, int folder, uint64_t at, char *out) {
    char text[PATH_MAX], whole[2 * PATH_MAX + 2] = "", last[NAME_MAX + 1];
    if (!read_text(q, at, text) || (text[0] != '/' && !path_of_descriptor(q, folder, whole)))
        return false;
    size_t n = strlen(whole);
    snprintf(whole + n, sizeof whole - n, "%s%s", n ? "/" : "", text);
    for (n = strlen(whole); n > 1 && whole[n - 1] == '/'; n--)
        whole[n - 1] = '\0';
    char *slash = strrchr(whole, '/');
    if (!slash || strlen(slash + 1) > NAME_MAX)
        return false;
    if (strncmp(whole, "/mark/", 6) == 0)
        return strcpy(out, whole) != NULL;
    strcpy(last, slash + 1);
    *slash = '\0';
    if (!realpath(*whole ? whole : "/", out))
        return false;
    n = strlen(out);
    return (size_t)snprintf(out + n, PATH_MAX - n, "/%s", last) < PATH_MAX - n;
}

/* ---- Changes ----------------------------------------------------------------------------------------------------- */
/* One change: what the record says of it. bytes: of a write, whose parts are in the program's memory. */
typedef struct change {
    const char *what;
    char from[PATH_MAX], to[PATH_MAX]; /* whole paths; to: of a rename */
    int64_t at, bytes;                 /* below 0: none */
    struct iovec parts[MOST_PARTS];
    int nparts;
} change;

/* A number that /proc tells of an open file; -1: none. */
static int64_t number_of_descriptor(const question *q, int fd, const char *format) {
    char name[64], line[128];
    int64_t number = -1;
    snprintf(name, sizeof name, "/proc/%d/fdinfo/%d", (int)q->pid, fd);
    FILE *file = fopen(name, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, format, &number) == 1)
            break;
    if (file)
        fclose(file);
    return number;
}

static bool note_write(const question *q, change *c, bool vector, bool placed) {
    int fd = (int)q->args[0];
    struct stat facts;
    if (!path_of_descriptor(q, fd, c->from) || !inside(c->from) || stat(c->from, &facts) != 0)
        return false;
    c->what = "write";
    c->parts[0] = (struct iovec){(void *)(uintptr_t)q->args[1], q->args[2]};
    c->nparts = 1;
    if (vector && (q->args[2] > MOST_PARTS || !read_memory(q, q->args[1], c->parts, q->args[2] * sizeof *c->parts)))
        return false;
    if (vector)
        c->nparts = (int)q->args[2];
    c->bytes = 0;
    for (int k = 0; k < c->nparts; k++)
        c->bytes += (int64_t)c->parts[k].iov_len;
    bool appends = number_of_descriptor(q, fd, "flags: %lo") & O_APPEND;
    c->at = placed ? (int64_t)q->args[3] : appends ? (int64_t)facts.st_size : number_of_descriptor(q, fd, "pos: %ld");
    return true;
}

static bool note_open(const question *q, change *c, int folder, uint64_t path, uint64_t flags) {
    struct stat facts;
    if (!given_path(q, folder, path, c->from))
        return false;
    if (strncmp(c->from, "/mark/", 6) == 0)
        return c->what = "mark", true;
    bool there = stat(c->from, &facts) == 0;
    if ((flags & O_CREAT && !there) || (flags & O_TMPFILE) == O_TMPFILE) {
        c->what = flags & O_CREAT ? "create" : "other";
    } else if (there && flags & O_TRUNC && !(flags & O_CREAT && flags & O_EXCL)) {
        c->what = "truncate";
        c->at = 0;
    }
    return c->what && inside(c->from);
}

/* A change that one path says all about. */
static bool note_path(const question *q, change *c, const char *what, int folder, uint64_t path) {
    struct stat facts;
    bool there = given_path(q, folder, path, c->from) && lstat(c->from, &facts) == 0;
    c->what = what;
    return inside(c->from) && there == (strcmp(what, "folder") != 0);
}

static bool note_rename(const question *q, change *c, int from, uint64_t a, int to, uint64_t b) {
    c->what = "rename";
    return given_path(q, from, a, c->from) && given_path(q, to, b, c->to) && (inside(c->from) || inside(c->to));
}

static bool note_descriptor(const question *q, change *c, const char *what) {
    c->what = what;
    if (strcmp(what, "truncate") == 0)
        c->at = (int64_t)q->args[1];
    return path_of_descriptor(q, (int)q->args[0], c->from) && inside(c->from);
}

/* Whether a map shares its writes with a file. */
static bool note_map(const question *q, change *c) {
    c->what = "other";
    return q->args[2] & 2 && (q->args[3] & 15) == 1 && path_of_descriptor(q, (int)q->args[4], c->from) &&
           inside(c->from); /* PROT_WRITE, MAP_SHARED */
}

/* What a call changes below the folder; false: nothing. */
static bool note_change(const question *q, change *c) {
    const uint64_t *a = q->args;
    *c = (change){.at = -1, .bytes = -1};
    switch (q->asked->data.nr) {
    case SYS_openat:
        return note_open(q, c, (int)a[0], a[1], a[2]);
    case SYS_write:
        return note_write(q, c, false, false);
    case SYS_pwrite64:
        return note_write(q, c, false, true);
    case SYS_writev:
        return note_write(q, c, true, false);
    case SYS_pwritev:
        return note_write(q, c, true, true);
    case SYS_fsync:
    case SYS_fdatasync:
        return note_descriptor(q, c, "sync");
    case SYS_ftruncate:
        return note_descriptor(q, c, "truncate");
    case SYS_renameat:
    case SYS_renameat2:
        return note_rename(q, c, (int)a[0], a[1], (int)a[2], a[3]);
    case SYS_unlinkat:
        return note_path(q, c, "remove", (int)a[0], a[1]);
    case SYS_mkdirat:
        return note_path(q, c, "folder", (int)a[0], a[1]);
    case SYS_mmap:
        return note_map(q, c);
#ifdef __x86_64__
    case SYS_open:
        return note_open(q, c, AT_FDCWD, a[0], a[1]);
    case SYS_creat:
        return note_open(q, c, AT_FDCWD, a[0], O_CREAT | O_TRUNC);
    case SYS_rename:
        return note_rename(q, c, AT_FDCWD, a[0], AT_FDCWD, a[1]);
    case SYS_unlink:
    case SYS_rmdir:
        return note_path(q, c, "remove", AT_FDCWD, a[0]);
    case SYS_mkdir:
        return note_path(q, c, "folder", AT_FDCWD, a[0]);
#endif
    default:
        return false;
    }
}

static const char *told(const char *path) {
    return inside(path) ? inside(path) : path;
}

static void record(const question *q, const change *c) {
    FILE *out = wanted.record;
    fprintf(out, "%s %s", c->what, strcmp(c->what, "mark") == 0 ? c->from + 6 : told(c->from));
    if (c->at >= 0)
        fprintf(out, " %ld", c->at);
    if (c->bytes >= 0) {
        fprintf(out, " %ld\n", c->bytes);
        for (int k = 0; k < c->nparts; k++) {
            char *copy = malloc(c->parts[k].iov_len + 1);
            if (!copy || !read_memory(q, (uintptr_t)c->parts[k].iov_base, copy, c->parts[k].iov_len))
                fail("the memory of the program");
            fwrite(copy, 1, c->parts[k].iov_len, out);
            free(copy);
        }
    }
    if (strcmp(c->what, "rename") == 0)
        fprintf(out, "\n%s", told(c->to));
    fprintf(out, "\n");
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */
/* Whether the call is one of the command's own, after the loader has started it. */
static bool counts(const question *q) {
    static pid_t started;
    char path[PATH_MAX], line[PATH_MAX + 128];
    if (!read_link(q->pid, "exe", path) || strcmp(path, executable) != 0)
        return false;
    if (started)
        return true;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)q->pid);
    FILE *maps = fopen(path, "re");
    bool loads = false;
    uint64_t from, to, at = q->asked->data.instruction_pointer;
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from <= at && at < to)
            loads = strstr(line, "/ld-linux") != NULL;
    if (maps)
        fclose(maps);
    started = loads ? 0 : q->pid;
    return !loads;
}

/* The number of the error with which the call fails; 0: it is done. */
static int decide(const question *q) {
    static change c;
    if (!counts(q))
        return 0;
    if (wanted.refused) {
        counted++;
        return counted >= wanted.at && counted - wanted.at < wanted.many ? wanted.error : 0;
    }
    if (!note_change(q, &c))
        return 0;
    if (strcmp(c.what, "mark") != 0 && ++counted == wanted.kill_at)
        end_all();
    else if (wanted.record)
        record(q, &c);
    return 0;
}

static void answer(int listener) {
    static struct {
        struct seccomp_notif asked;
        char room[256]; /* newer kernels tell more */
    } in;
    struct seccomp_notif_resp out = {0};
    memset(&in, 0, sizeof in);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &in) != 0)
        return; /* who asked is dead */
    question q = {&in.asked, (const uint64_t *)in.asked.data.args, (pid_t)in.asked.pid};
    out.id = in.asked.id;
    out.error = -decide(&q);
    out.flags = out.error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &out);
}

static int64_t now(void) { /* in milliseconds */
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv) {
    read_options(argc, argv);
    int listener = start(), status = 0;
    int ended = (int)syscall(SYS_pidfd_open, child, 0);
    bool late = false;
    struct pollfd fds[] = {{listener, POLLIN, 0}, {ended, POLLIN, 0}};
    for (int64_t end = now() + wanted.seconds * 1000; !fds[1].revents;) {
        poll(fds, 2, late || end < now() ? 100 : (int)(end - now()) + 1);
        if (fds[0].revents & POLLIN)
            answer(listener);
        if (!late && now() >= end) {
            late = true;
            end_all();
        }
    }
    waitpid(child, &status, 0);
    kill(-child, SIGKILL); /* what it has left behind */
    FILE *count = wanted.count_path ? fopen(wanted.count_path, "we") : NULL;
    if (count)
        fprintf(count, "%ld\n", counted);
    if ((count && fclose(count) != 0) || (wanted.record && fclose(wanted.record) != 0))
        fail("what was to be written");
    return late ? TIMED_OUT : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
