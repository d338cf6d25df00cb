/* mpi_collectives.c: the collectives of engine/comm/comm.h between real processes, over MPI: random ones, bit for bit.
 *
 * Alone it starts itself under mpirun, as two processes and as four; each of them reports what it has checked.
 */
#include "tests/engine/comm_trial.h"
#include "tests/engine/common.h"

#include <libgen.h>
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- As one of several ------------------------------------------------------------------------------------------- */
static int run_as(int rank, int size) {
    engine_comm *comms[TRIAL_RANKS] = {0};
    neap_waker *waker;
    int status;
    CHECK_EQ(neap_engine_start(&POOL), 0);
    CHECK_EQ(engine_comm_start(1 + rank, NULL), 0);
    engine_comm *comm = comms[rank] = engine_comm_here();
    CHECK_EQ(neap_waker_new(&waker), 0);
    while ((status = engine_comm_poll(comm, waker)) == NEAP_PENDING)
        neap_waker_sleep(waker, 1000);
    if (!CHECK_EQ(status, 0))
        fprintf(stderr, "%s\n", neap_error_text());
    CHECK_EQ(engine_comm_size(comm), size);
    for (int k = 0; k < size; k++)
        CHECK_EQ(engine_comm_devices(comm, k), 1 + k);
    run_trials(comms, size, SIZE(20, 6), 3);
    run_large(comms, size, 4);
    while (engine_comm_end(comm, 0, NULL, waker) == NEAP_PENDING)
        neap_waker_sleep(waker, 1000);
    return check_end();
}

/* ---- Alone ------------------------------------------------------------------------------------------------------- */
static int launch(const char *self, const char *count) {
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
        setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
        execlp("mpirun", "mpirun", "--oversubscribe", "-n", count, self, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return 126;
    return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    int rank, size;
    char folder[PATH_MAX], plugin[PATH_MAX + 32];
    if (argc > 0 && engine_comm_launched(&rank, &size)) {
        int failed = run_as(rank, size);
        fflush(NULL);
        _exit(failed);
    }
    if (!realpath(argv[0], folder))
        return 1;
    snprintf(plugin, sizeof plugin, "%s/../..", dirname(folder)); /* the build folder */
    setenv("NEAP_PLUGIN_PATH", plugin, 1);
    strcat(plugin, "/neap_mpi.so");
    if (access(plugin, R_OK) != 0 || system("mpirun --version > /dev/null 2>&1") != 0) {
        fprintf(stderr, "0 passed, 0 failed, 1 skipped\n");
        return 0;
    }
    char self[PATH_MAX];
    if (!realpath(argv[0], self))
        return 1;
    int two = launch(self, "2"), four = launch(self, "4");
    return two ? two : four;
}
