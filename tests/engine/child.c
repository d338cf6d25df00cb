/* child.c: programs run beside the process: what goes in and comes out, how they end, what is left of them. */
#include "engine/child.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/engine/common.h"

static atomic_bool refused;

/* In the place of libc's: reads of pipes fail where the test says so. */
ssize_t read(int fd, void *to, size_t bytes) {
    struct stat facts;
    if (atomic_load(&refused) && fstat(fd, &facts) == 0 && S_ISFIFO(facts.st_mode)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_read, fd, to, bytes);
}

static void wait_for(neap_child *child) {
    neap_waker *waker;
    CHECK_EQ(neap_waker_new(&waker), NEAP_OK);
    while (neap_child_poll(child, waker) == NEAP_PENDING) {
        neap_waker_sleep(waker, 10000);
        neap_waker_clear(waker);
    }
    neap_child_poll(child, NULL);
    neap_waker_free(waker);
}

/* More than pipes hold goes through cat and comes back. */
static void much(void) {
    enum { BYTES = 3000000 };
    char *input = malloc(BYTES);
    for (int i = 0; i < BYTES; i++)
        input[i] = (char)(i * 2654435761u >> 13);
    const char *words[] = {"cat", NULL};
    neap_child *child;
    if (CHECK_EQ(neap_child_start(words, input, BYTES, &child), NEAP_OK)) {
        wait_for(child);
        size_t bytes;
        const char *output = neap_child_output(child, 1, &bytes);
        if (CHECK_EQ(bytes, BYTES))
            CHECK(memcmp(output, input, BYTES) == 0);
        neap_child_output(child, 2, &bytes);
        CHECK_EQ(bytes, 0);
        CHECK_EQ(neap_child_status(child), 0);
        neap_child_free(child);
    }
    free(input);
}

static void ends(void) {
    const char *words[] = {"sh", "-c", "echo out; echo err >&2; exit 3", NULL};
    neap_child *child;
    char input[300000] = {0}; /* which it does not read */
    if (!CHECK_EQ(neap_child_start(words, input, sizeof input, &child), NEAP_OK))
        return;
    wait_for(child);
    size_t bytes;
    const char *output = neap_child_output(child, 1, &bytes);
    CHECK(bytes == 4 && memcmp(output, "out\n", 4) == 0);
    output = neap_child_output(child, 2, &bytes);
    CHECK(bytes == 4 && memcmp(output, "err\n", 4) == 0);
    CHECK(WIFEXITED(neap_child_status(child)) && WEXITSTATUS(neap_child_status(child)) == 3);
    neap_child_free(child);
}

static void missing(void) {
    const char *words[] = {"no-such-program-here", NULL};
    neap_child *child;
    CHECK_EQ(neap_child_start(words, NULL, 0, &child), NEAP_E_LIBRARY);
    CHECK_TEXT(neap_error_text(), "no-such-program-here");
}

/* Output that the system does not give is no shorter output. */
static void lost(void) {
    const char *words[] = {"sh", "-c", "echo out", NULL};
    neap_child *child;
    atomic_store(&refused, true);
    if (CHECK_EQ(neap_child_start(words, NULL, 0, &child), NEAP_OK)) {
        wait_for(child);
        CHECK_EQ(neap_child_poll(child, NULL), NEAP_E_IO);
        CHECK_TEXT(neap_error_text(), "'sh'");
        CHECK_TEXT(neap_error_text(), strerror(EIO));
        neap_child_free(child);
    }
    atomic_store(&refused, false);
}

/* One that would run for ever, also with its output closed or in children of its own, ends when it is freed. */
static void unwanted(void) {
    const char *scripts[] = {"sleep 1000", "exec >&- 2>&-; sleep 1000", "sleep 1000 & wait"};
    for (int i = 0; i < 3; i++) {
        const char *words[] = {"sh", "-c", scripts[i], NULL};
        neap_child *child;
        if (!CHECK_EQ(neap_child_start(words, NULL, 0, &child), NEAP_OK))
            continue;
        usleep(20000);
        CHECK_EQ(neap_child_poll(child, NULL), NEAP_PENDING);
        neap_child_free(child);
    }
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1); /* none is left */
    neap_child_free(NULL);
}

int main(void) {
    CHECK_EQ(neap_engine_start(NULL), NEAP_OK);
    much();
    ends();
    missing();
    lost();
    unwanted();
    neap_engine_stop();
    return check_end();
}
