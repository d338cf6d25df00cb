/* stream.c: the output streams: order, whole lines, slow, full and closed pipes, files, room, diversion, the end of the
 * process. Each case runs in a process of its own, whose standard streams it may spoil; its exit status tells the check
 * that failed. */
#include "effects/effects.h"
#include "engine/engine_internal.h"
#include "tests/check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(int ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static int body_number(int (*body)(void));

enum { TELL_FD = 9 }; /* where the other process tells that the reading may start */

enum { AT_ONCE, WHEN_TOLD, HANG_UP, NEVER };

static char *read_all(int fd, size_t *bytes) {
    size_t capacity = 1 << 16;
    char *text = malloc(capacity + 1);
    ssize_t count;
    *bytes = 0;
    while ((count = read(fd, text + *bytes, capacity - *bytes)) > 0) {
        *bytes += (size_t)count;
        if (*bytes == capacity) {
            text = realloc(text, (capacity *= 2) + 1);
        }
    }
    text[*bytes] = 0;
    return text;
}

/* Runs `body` in a fresh process, with its stdout (and stderr if `both`) on a pipe that is read at once, when the
 * process tells, whose reader goes away when the process tells, or by nobody. Returns the exit status; *text (to be
 * freed) is what came out. */
static int run_apart(int (*body)(void), int both, int when, char **text, size_t *bytes) {
    int pipes[2], tell[2], status = -1;
    char number[16];
    CHECK_EQ(pipe(pipes), 0);
    CHECK_EQ(pipe(tell), 0);
    snprintf(number, sizeof number, "%d", body_number(body));
    if (when == NEVER) {
        close(pipes[0]);
    }
    pid_t child = fork();
    if (child == 0) { /* its engine is dead, so it becomes this program again, which runs the body */
        dup2(tell[1], TELL_FD);
        dup2(pipes[1], 1);
        if (both) {
            dup2(pipes[1], 2);
        }
        close(pipes[1]), close(tell[0]), close(tell[1]);
        if (when != NEVER) {
            close(pipes[0]);
        }
        execl("/proc/self/exe", "stream", number, (char *)NULL);
        _exit(99);
    }
    close(pipes[1]), close(tell[1]);
    if (when == WHEN_TOLD || when == HANG_UP) {
        struct pollfd told = {.fd = tell[0], .events = POLLIN};
        CHECK_EQ(poll(&told, 1, 20000), 1);
    }
    *text = NULL;
    if (when == HANG_UP)
        close(pipes[0]);
    if (when == AT_ONCE || when == WHEN_TOLD) {
        *text = read_all(pipes[0], bytes);
        close(pipes[0]);
    }
    close(tell[0]);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

/* ---- Whole lines from several threads ---------------------------------------------------------------------------- */

enum { WRITERS = 4, LINES = 2000 };

static void *write_lines(void *arg) {
    char line[160];
    for (int i = 0; i < LINES; i++) {
        int length = snprintf(line, sizeof line, "writer %d line %d %0*d end\n", (int)(intptr_t)arg, i, 1 + i % 90, 0);
        if (neap_out_write(NEAP_STDOUT, line, (size_t)length) != NEAP_OK)
            exit(3);
        if (i % 500 == 0)
            sleep_ms(1);
    }
    return NULL;
}

static int many_writers(void) {
    pthread_t threads[WRITERS];
    for (intptr_t i = 0; i < WRITERS; i++)
        pthread_create(&threads[i], NULL, write_lines, (void *)i);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    return 0; /* without a drain: exit does it */
}

/* The same without a thread that writes; and while now and then there is no memory for a piece. */
static int lonely_writers(void) {
    engine_alloc_fail(1);
    return many_writers();
}

static _Atomic int over;

static void *refuse(void *arg) {
    (void)arg;
    for (int64_t k = 0; !over; k++) {
        engine_alloc_fail(1 + k % 3);
        usleep(20);
    }
    return NULL;
}

static int short_writers(void) {
    pthread_t refuser;
    neap_out_write(NEAP_STDERR, "short of memory\n", 16); /* starts the thread that writes */
    pthread_create(&refuser, NULL, refuse, NULL);
    int status = many_writers();
    over = 1;
    pthread_join(refuser, NULL);
    engine_alloc_fail(0);
    return status;
}

/* Checks that every line is whole and each writer's lines are in order. */
static void check_lines(const char *text) {
    int next[WRITERS] = {0}, bad = 0, lines = 0;
    for (const char *at = text; *at; lines++) {
        int writer = -1, line = -1, used = 0;
        sscanf(at, "writer %d line %d %*d end%n", &writer, &line, &used);
        const char *end = strchr(at, '\n');
        if (!end || at + used != end || writer < 0 || writer >= WRITERS || next[writer]++ != line)
            bad++;
        at = end ? end + 1 : at + strlen(at);
    }
    CHECK_EQ(bad, 0);
    CHECK_EQ(lines, WRITERS * LINES);
}

/* ---- Two streams, one order -------------------------------------------------------------------------------------- */

static int two_streams(void) {
    for (int i = 0; i < 1000; i++) {
        char text[16];
        int length = snprintf(text, sizeof text, "%d\n", i);
        neap_out_write(i % 3 == 0 ? NEAP_STDERR : NEAP_STDOUT, text, (size_t)length);
    }
    static char large[200000];
    memset(large, 'x', sizeof large);
    neap_out_write(NEAP_STDOUT, large, sizeof large);
    neap_out_drain();
    return neap_out_status() == NEAP_OK && neap_out_poll(NULL) == NEAP_OK ? 0 : 1;
}

/* ---- A full pipe ------------------------------------------------------------------------------------------------- */

static int full_pipe(void) {
    static char block[1 << 16];
    memset(block, 'y', sizeof block);
    block[sizeof block - 1] = '\n';
    if (neap_out_write(NEAP_STDOUT, "first\n", 6))
        return 2;
    for (int i = 0; i < 64; i++) {
        if (neap_out_write(NEAP_STDOUT, block, sizeof block))
            return 2;
    }
    if (neap_out_poll(NULL) != NEAP_PENDING)
        return 4;
    neap_waker *waker;
    if (neap_waker_new(&waker))
        return 5;
    if (neap_out_poll(waker) != NEAP_PENDING)
        return 6;
    if (write(TELL_FD, "", 1) != 1)
        return 10; /* nothing waited for the reader so far */
    if (neap_waker_sleep(waker, 10000) != 1)
        return 7;
    if (neap_out_poll(waker) != NEAP_OK)
        return 8;
    neap_waker_free(waker);
    return neap_out_status() == NEAP_OK ? 0 : 9;
}

static int full_pipe_that_does_not_block(void) {
    fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK);
    return full_pipe();
}

/* ---- A closed pipe ----------------------------------------------------------------------------------------------- */

/* SIGPIPE has its default disposition, which would kill. */
static int closed_pipe(void) {
    for (int i = 0; i < 100; i++) {
        if (neap_out_write(NEAP_STDOUT, "nobody reads this\n", 18))
            return 2;
        if (i % 10 == 0)
            sleep_ms(1);
    }
    neap_out_drain();
    if (neap_out_status() != NEAP_E_IO)
        return 3;
    if (!strstr(neap_error_text(), "stdout"))
        return 4;
    if (neap_out_poll(NULL) != NEAP_OK)
        return 5;
    int pipes[2];
    char text[8] = "";
    if (pipe(pipes) || dup2(pipes[1], 2) < 0)
        return 6;
    neap_out_write(NEAP_STDERR, "still", 5); /* the other stream works */
    neap_out_drain();
    return read(pipes[0], text, 7) == 5 && strcmp(text, "still") == 0 ? 0 : 7;
}

/* The reader goes while the writer is inside a write, with much behind it. */
static int reader_goes(void) {
    static char block[1 << 16];
    neap_waker *waker;
    if (neap_waker_new(&waker))
        return 2;
    for (int i = 0; i < 32; i++) {
        if (neap_out_write(NEAP_STDOUT, block, sizeof block))
            return 3;
    }
    if (neap_out_poll(waker) != NEAP_PENDING || neap_out_status() != NEAP_OK)
        return 4;
    if (write(TELL_FD, "", 1) != 1 || neap_waker_sleep(waker, 20000) != 1)
        return 5;
    if (neap_out_poll(NULL) != NEAP_OK || neap_out_status() != NEAP_E_IO)
        return 6;
    neap_waker_free(waker);
    return strcmp(neap_error_text(), "stdout: Broken pipe") == 0 && neap_out_status() == NEAP_OK ? 0 : 7;
}

static int reader_goes_without_blocking(void) {
    fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK);
    return reader_goes();
}

/* ---- Room -------------------------------------------------------------------------------------------------------- */

/* A program that asks for room keeps the queue within bounds, and is woken when there is room again. */
static int asks_for_room(void) {
    static char block[4096];
    enum { MANY = 1 << 16 };
    neap_waker *waker;
    int blocks = 0;
    memset(block, 'z', sizeof block);
    if (neap_waker_new(&waker))
        return 2;
    while (blocks < MANY && neap_out_capacity(waker) == NEAP_OK) {
        if (neap_out_write(NEAP_STDOUT, block, sizeof block))
            return 3;
        blocks++;
    }
    if (blocks == MANY || neap_out_capacity(NULL) != NEAP_PENDING)
        return 4;
    if (neap_waker_sleep(waker, 0) || neap_out_write(NEAP_STDOUT, "\n", 1)) /* is never refused */
        return 5;
    if (write(TELL_FD, "", 1) != 1)
        return 6;
    if (neap_waker_sleep(waker, 20000) != 1 || neap_out_capacity(NULL) != NEAP_OK)
        return 7;
    neap_waker_free(waker);
    return 0;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static char path[2][64];

static int make_paths(void) {
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/neap-stream-%d-XXXXXX", P_tmpdir, i);
        int fd = mkstemp(path[i]);
        if (fd < 0 || write(fd, "old\n", 4) != 4)
            return 0;
        close(fd);
    }
    return 1;
}

/* Whether the file is this text; it is removed. */
static int file_is(const char *name, const char *expected) {
    size_t bytes;
    int fd = open(name, O_RDONLY);
    char *text = read_all(fd, &bytes);
    int same = strcmp(text, expected) == 0;
    close(fd);
    free(text);
    unlink(name);
    return same;
}

static int files(void) {
    int logs[2], again;
    if (!make_paths() || neap_out_open(path[0], 0, &logs[0]) || neap_out_open(path[1], 1, &logs[1]))
        return 2;
    if (logs[0] <= NEAP_STDERR || logs[1] == logs[0])
        return 3;
    for (int i = 0; i < 1000; i++) {
        char text[32];
        int length = snprintf(text, sizeof text, "%d\n", i);
        neap_out_write(i % 4 < 2 ? logs[i % 2] : NEAP_STDOUT, text, (size_t)length);
    }
    if (neap_out_close(logs[0]) || neap_out_close(logs[1]))
        return 4;
    if (neap_out_write(logs[0], "x", 1) != NEAP_E_ARGUMENT || neap_out_close(logs[0]) != NEAP_E_ARGUMENT)
        return 5;
    if (neap_out_close(NEAP_STDOUT) != NEAP_E_ARGUMENT)
        return 6;
    neap_out_drain();
    if (neap_out_open(path[0], 1, &again) || again <= logs[1]) /* a number is not used twice */
        return 7;
    neap_out_write(again, "more\n", 5);
    neap_out_close(again);
    neap_out_drain();
    char expected[2][8000] = {"", "old\n"};
    for (int i = 0; i < 1000; i++) {
        if (i % 4 < 2)
            sprintf(expected[i % 2] + strlen(expected[i % 2]), "%d\n", i);
    }
    strcat(expected[0], "more\n");
    if (!file_is(path[0], expected[0]) || !file_is(path[1], expected[1]))
        return 8;
    return neap_out_status() == NEAP_OK ? 0 : 9;
}

/* One that cannot be written drops its own text, and is reported once, also after it was closed. */
static int failing_files(void) {
    int full[2], none;
    if (neap_out_open("/no/such/folder/log", 0, &none) != NEAP_E_IO)
        return 2;
    if (strcmp(neap_error_text(), "cannot open '/no/such/folder/log': No such file or directory"))
        return 3;
    for (int i = 0; i < 2; i++) {
        if (neap_out_open("/dev/full", 0, &full[i]))
            return 4;
        neap_out_write(full[i], "lost", 4);
        neap_out_write(NEAP_STDOUT, "kept ", 5);
    }
    neap_out_close(full[1]);
    neap_out_drain();
    for (int i = 0; i < 2; i++) {
        if (neap_out_status() != NEAP_E_IO || strcmp(neap_error_text(), "/dev/full: No space left on device"))
            return 5;
    }
    if (neap_out_status() != NEAP_OK || neap_out_write(full[0], "more", 4) != NEAP_OK)
        return 6;
    neap_out_close(full[0]);
    neap_out_drain();
    return neap_out_status() == NEAP_OK ? 0 : 7;
}

/* Without a stdout its text is dropped; a file that is opened then does not become stdout. */
static int no_stdout(void) {
    int log;
    close(1);
    if (!make_paths() || neap_out_open(path[0], 0, &log))
        return 2;
    neap_out_write(NEAP_STDOUT, "lost", 4);
    neap_out_write(log, "kept", 4);
    neap_out_drain();
    if (neap_out_status() != NEAP_E_IO || strcmp(neap_error_text(), "stdout: Bad file descriptor"))
        return 3;
    unlink(path[1]);
    return file_is(path[0], "kept") ? 0 : 4;
}

/* A prompt takes over what goes to the terminal, and nothing else. */
static int diverted_with_file(void) {
    neap_waker *waker;
    char text[8];
    int log;
    if (!make_paths() || neap_waker_new(&waker) || neap_out_open(path[0], 0, &log))
        return 2;
    unlink(path[1]);
    neap_out_divert(waker, 0);
    neap_out_write(NEAP_STDOUT, "out", 3);
    neap_out_write(log, "log", 3);
    neap_out_write(NEAP_STDERR, "err", 3);
    neap_out_write(log, "log", 3);
    neap_out_drain();
    if (!file_is(path[0], "loglog"))
        return 3;
    int stream;
    if (neap_out_take(text, sizeof text, &stream, NULL) != 3 || stream != NEAP_STDOUT || memcmp(text, "out", 3))
        return 9;
    if (neap_out_take(text, sizeof text, &stream, NULL) != 3 || stream != NEAP_STDERR || memcmp(text, "err", 3) ||
        neap_out_poll(NULL) != NEAP_OK)
        return 4;
    neap_out_divert(NULL, 0);
    neap_waker_free(waker);
    return 0;
}

/* ---- Diversion --------------------------------------------------------------------------------------------------- */

static int diverted(void) {
    neap_waker *waker;
    char text[64];
    if (neap_waker_new(&waker))
        return 2;
    neap_out_write(NEAP_STDOUT, "before ", 7);
    neap_out_drain();
    neap_out_divert(waker, 0);
    if (neap_waker_sleep(waker, 0))
        return 3;
    neap_out_write(NEAP_STDOUT, "kept one ", 9);
    neap_out_write(NEAP_STDERR, "kept two ", 9);
    if (neap_waker_sleep(waker, 1000) != 1)
        return 4;
    neap_waker_clear(waker);
    if (neap_out_poll(NULL) != NEAP_PENDING)
        return 5;
    neap_out_drain(); /* returns: the text is the taker's */
    int stream;
    if (neap_out_take(text, 4, &stream, NULL) != 4 || memcmp(text, "kept", 4))
        return 6;
    if (neap_out_take(text, sizeof text, &stream, NULL) != 5 || stream != NEAP_STDOUT || memcmp(text, " one ", 5))
        return 11;
    if (neap_out_take(text, sizeof text, &stream, NULL) != 9 || stream != NEAP_STDERR || memcmp(text, "kept two ", 9))
        return 7;
    if (neap_out_take(text, sizeof text, &stream, NULL) != 0)
        return 8;
    if (neap_out_poll(NULL) != NEAP_OK)
        return 9;
    neap_out_write(NEAP_STDOUT, "given back ", 11);
    neap_out_divert(NULL, 0);
    neap_out_drain();
    if (neap_out_take(text, sizeof text, &stream, NULL) != 0)
        return 10;
    neap_out_divert(waker, 0);
    neap_out_write(NEAP_STDOUT, "at exit", 7);
    neap_waker_free(waker);
    return 0;
}

/* Fills the pipe; returns how many bytes it took. */
static size_t fill_pipe(int fd) {
    static const char zeros[4096];
    size_t filled = 0;
    ssize_t count;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (size_t bytes = sizeof zeros; bytes > 0; bytes /= 4096) {
        while ((count = write(fd, zeros, bytes)) > 0)
            filled += (size_t)count;
    }
    fcntl(fd, F_SETFL, 0);
    return filled;
}

/* A write that hangs when text is diverted holds up what stands behind it; its end is told to the taker. */
static int diverted_behind_a_slow_write(void) {
    static char text[4096];
    neap_waker *waker;
    int pipes[2], stream;
    if (neap_waker_new(&waker) || pipe(pipes) || dup2(pipes[1], STDOUT_FILENO) < 0)
        return 2;
    size_t filled = fill_pipe(pipes[1]), got = 0;
    for (;;) {
        neap_out_write(NEAP_STDOUT, "x", 1);
        neap_out_write(NEAP_STDERR, "err", 3);
        sleep_ms(20);
        neap_out_divert(waker, 0);
        neap_waker_clear(waker);
        if (neap_out_take(text, sizeof text, &stream, NULL) == 0)
            break; /* the writer hangs */
        while (neap_out_take(text, sizeof text, &stream, NULL) > 0)
            continue;
        neap_out_divert(NULL, 0);
    }
    while (got < filled + 1) {
        ssize_t count = read(pipes[0], text, sizeof text);
        got += count > 0 ? (size_t)count : 0;
    }
    if (neap_waker_sleep(waker, 20000) != 1)
        return 3;
    if (neap_out_take(text, sizeof text, &stream, NULL) != 3 || stream != NEAP_STDERR || memcmp(text, "err", 3))
        return 4;
    neap_waker_free(waker);
    return 0;
}

static int first_line(void) {
    neap_out_write(NEAP_STDOUT, "1\n", 2);
    neap_out_drain();
    return 0;
}

static int bad_calls(void) {
    return neap_out_write(3, "x", 1) == NEAP_E_ARGUMENT && neap_out_write(1, "", 0) == NEAP_OK &&
                   neap_out_poll(NULL) == NEAP_OK
               ? 0
               : 1;
}

static int (*const bodies[])(void) = {
    many_writers,
    lonely_writers,
    short_writers,
    two_streams,
    full_pipe,
    full_pipe_that_does_not_block,
    closed_pipe,
    reader_goes,
    reader_goes_without_blocking,
    asks_for_room,
    files,
    failing_files,
    no_stdout,
    diverted_with_file,
    diverted,
    diverted_behind_a_slow_write,
    first_line,
    bad_calls,
};

static int body_number(int (*body)(void)) {
    int number = 0;
    while (bodies[number] != body)
        number++;
    return number;
}

static void check_two_streams(void) {
    char *text;
    size_t bytes;
    CHECK_EQ(run_apart(two_streams, 1, AT_ONCE, &text, &bytes), 0);
    const char *at = text;
    int bad = 0;
    for (int i = 0; i < 1000; i++) {
        char expected[16];
        int length = snprintf(expected, sizeof expected, "%d\n", i);
        bad += strncmp(at, expected, (size_t)length) != 0;
        at += length;
    }
    CHECK_EQ(bad, 0);
    CHECK_EQ(strspn(at, "x"), 200000);
    free(text);
}

static void check_case(int (*body)(void), int when, const char *expected) {
    char *text;
    size_t bytes;
    CHECK_EQ(run_apart(body, 0, when, &text, &bytes), 0);
    CHECK(!expected || strcmp(text, expected) == 0);
    free(text);
}

int main(int argc, char **argv) {
    if (argc > 1)
        return bodies[atoi(argv[1])]();
    char *text;
    size_t bytes;
    int (*const writers[])(void) = {many_writers, lonely_writers, short_writers};
    for (int k = 0; k < 3; k++) {
        CHECK_EQ(run_apart(writers[k], 0, AT_ONCE, &text, &bytes), 0);
        check_lines(text);
        free(text);
    }
    check_two_streams();
    int (*const full[])(void) = {full_pipe, full_pipe_that_does_not_block};
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(run_apart(full[i], 0, WHEN_TOLD, &text, &bytes), 0);
        CHECK_EQ(bytes, 6 + 64 * 65536);
        CHECK(strncmp(text, "first\nyyy", 9) == 0);
        free(text);
    }
    check_case(closed_pipe, NEVER, NULL);
    check_case(reader_goes, HANG_UP, NULL);
    check_case(reader_goes_without_blocking, HANG_UP, NULL);
    CHECK_EQ(run_apart(asks_for_room, 0, WHEN_TOLD, &text, &bytes), 0);
    CHECK(bytes > 4096 && bytes % 4096 == 1 && text[bytes - 1] == '\n');
    free(text);
    CHECK_EQ(run_apart(files, 0, AT_ONCE, &text, &bytes), 0);
    CHECK(bytes > 1000 && strncmp(text, "2\n3\n6\n7\n", 8) == 0);
    free(text);
    check_case(failing_files, AT_ONCE, "kept kept ");
    check_case(no_stdout, AT_ONCE, "");
    check_case(diverted_with_file, AT_ONCE, "");
    check_case(diverted, AT_ONCE, "before given back at exit");
    check_case(diverted_behind_a_slow_write, AT_ONCE, "");
    check_case(first_line, AT_ONCE, "1\n");
    check_case(bad_calls, AT_ONCE, "");
    return check_end();
}
