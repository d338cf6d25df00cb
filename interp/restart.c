/* restart.c: what neap.interp.restart needs of the system: a command that runs to its end, while its stderr is passed
 * on and looked at, and signals are passed on to it.
 *
 *      command ── stderr ──▶ pipe ──▶ stderr, and line by line to a Lua function
 *      SIGINT, SIGTERM, SIGHUP ──▶ signalfd ──▶ the command, and no further start
 *
 * Standard input and output are the command's own. This process has no threads. If it is killed, the kernel sends the
 * command SIGTERM.
 */
#include "interp/restart.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/sync.h"
#include "interp/session.h"

enum { PIECE = 4096, TIMED_OUT = 124, CANNOT_RUN = 127, ON_LINE = 3 };

static sigset_t mask_before; /* of commands */
static int signals_fd = -1;  /* tells of the signals, which are blocked */

typedef struct command {
    pid_t pid;
    int errors; /* the pipe's end; -1: closed */
    int status; /* as a shell has it */
    bool ended;
    bool quiet;    /* its stderr is not passed on */
    int64_t until; /* engine_now() at which it is killed; 0: never */
    int stopped;   /* the signal that has told this process to end; 0: none */
} command;

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

/* Blocks the signals, and opens what tells of them. Returns 0 or errno. */
static int take_signals(void) {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGHUP);
    sigaddset(&mask, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &mask, &mask_before) != 0)
        return errno;
    signals_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals_fd < 0 ? errno : 0;
}

/* Takes the signals that have come. A terminal sends Ctrl-C to the command by itself. Returns the last one that tells
 * this process to end, or 0. */
static int read_signals(pid_t pid) {
    struct signalfd_siginfo info;
    int stopped = 0;
    while (read(signals_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        stopped = (int)info.ssi_signo;
        if (pid > 0 && !(stopped == SIGINT && info.ssi_code == SI_KERNEL))
            kill(pid, stopped);
    }
    return stopped;
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

/* In the child: becomes the command, or writes errno. */
static void become(char **words, int errors, int failed) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
    if (dup2(errors, STDERR_FILENO) >= 0)
        execvp(words[0], words);
    int error = errno;
    if (write(failed, &error, sizeof error) < 0)
        _exit(CANNOT_RUN);
    _exit(CANNOT_RUN);
}

/* Starts it. Returns 0 or errno. */
static int start_command(command *command, char **words) {
    int errors[2], failed[2], error = 0;
    if (pipe2(errors, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(failed, O_CLOEXEC) != 0) {
        error = errno;
        close(errors[0]);
        close(errors[1]);
        return error;
    }
    command->pid = fork();
    if (command->pid == 0)
        become(words, errors[1], failed[1]);
    error = command->pid < 0 ? errno : 0;
    close(errors[1]);
    close(failed[1]);
    command->errors = errors[0];
    fcntl(errors[0], F_SETFL, O_NONBLOCK);
    int told;
    ssize_t bytes;
    do {
        bytes = read(failed[0], &told, sizeof told);
    } while (bytes < 0 && errno == EINTR);
    close(failed[0]);
    if (bytes == (ssize_t)sizeof told) {
        error = told;
        waitpid(command->pid, NULL, 0);
    }
    if (error)
        close(errors[0]);
    return error;
}

/* Calls the Lua function with each whole line of what stands on top of the stack and of the bytes behind it; what is
 * left then stands there. */
static void give_lines(lua_State *L, const char *bytes, size_t count) {
    const char *end;
    while ((end = memchr(bytes, '\n', count)) != NULL) {
        lua_pushlstring(L, bytes, (size_t)(end - bytes));
        lua_concat(L, 2);
        lua_pushvalue(L, ON_LINE);
        lua_insert(L, -2);
        lua_call(L, 1, 0);
        lua_pushliteral(L, "");
        count -= (size_t)(end + 1 - bytes);
        bytes = end + 1;
    }
    if (count && lua_objlen(L, -1) < PIECE) { /* what a line has beyond that is left out */
        lua_pushlstring(L, bytes, count);
        lua_concat(L, 2);
    }
}

static void write_all(const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t n = write(STDERR_FILENO, bytes, count);
        if (n < 0 && errno != EINTR)
            return; /* there is nowhere to say so */
        bytes += n > 0 ? n : 0;
        count -= n > 0 ? (size_t)n : 0;
    }
}

/* Takes what the command has written to stderr. */
static void read_errors(lua_State *L, command *command) {
    char piece[PIECE];
    ssize_t count;
    while (command->errors >= 0 && (count = read(command->errors, piece, sizeof piece)) != 0) {
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return;
        if (!command->quiet)
            write_all(piece, (size_t)count);
        give_lines(L, piece, (size_t)count);
    }
    close(command->errors);
    command->errors = -1;
}

static void look_for_end(command *command) {
    int status;
    if (waitpid(command->pid, &status, WNOHANG) != command->pid)
        return;
    command->ended = true;
    if (command->status == 0)
        command->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int milliseconds_until(int64_t until) {
    int64_t left = (until - engine_now()) / 1000000 + 1;
    return until == 0 ? -1 : left < 0 ? 0 : left < 1000000 ? (int)left : 1000000;
}

/* Serves the command until it has ended. A process that it has left may hold the pipe open longer. */
static void serve_command(lua_State *L, command *command) {
    lua_pushliteral(L, "");
    while (!command->ended) {
        struct pollfd fds[] = {{.fd = signals_fd, .events = POLLIN}, {.fd = command->errors, .events = POLLIN}};
        poll(fds, 2, milliseconds_until(command->until));
        int stopped = read_signals(command->pid);
        command->stopped = stopped ? stopped : command->stopped;
        look_for_end(command);
        if (command->errors >= 0)
            read_errors(L, command);
        if (!command->ended && command->until && engine_now() >= command->until) {
            command->status = TIMED_OUT;
            command->until = 0;
            kill(command->pid, SIGKILL);
        }
    }
    if (command->errors >= 0)
        close(command->errors);
    if (lua_objlen(L, -1) > 0)
        give_lines(L, "\n", 1);
    lua_pop(L, 1);
}

/* ---- For Lua ----------------------------------------------------------------------------------------------------- */

static void push_signal(lua_State *L, int signal) {
    if (signal == 0)
        lua_pushnil(L);
    else
        lua_pushstring(L, signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "SIGHUP");
}

/* run(words, seconds, on_line, quiet): runs a command to its end, or kills it after so many seconds (0: never), and
 * calls on_line with each line of its stderr. Returns its status, and the name of the signal that has told this process
 * to end; or nil and why the command cannot run. */
static int children_run(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checktype(L, ON_LINE, LUA_TFUNCTION);
    size_t count = lua_objlen(L, 1);
    double seconds = luaL_checknumber(L, 2);
    command command = {.errors = -1, .quiet = lua_toboolean(L, 4)};
    char **words = lua_newuserdata(L, (count + 1) * sizeof *words);
    for (size_t k = 0; k < count; k++) {
        lua_rawgeti(L, 1, (int)k + 1);
        words[k] = (char *)luaL_checkstring(L, -1); /* which the table holds */
        lua_pop(L, 1);
    }
    words[count] = NULL;
    command.until = seconds > 0 ? engine_now() + (int64_t)(seconds * 1e9) : 0;
    int error = start_command(&command, words);
    if (error) {
        lua_pushnil(L);
        lua_pushstring(L, strerror(error));
        return 2;
    }
    serve_command(L, &command);
    lua_pushinteger(L, command.status);
    push_signal(L, command.stopped);
    return 2;
}

/* pause(seconds): sleeps, and returns the name of a signal that ended the sleep, or nil. */
static int children_pause(lua_State *L) {
    int64_t until = engine_now() + (int64_t)(luaL_checknumber(L, 1) * 1e9);
    int stopped = read_signals(0);
    while (!stopped && engine_now() < until) {
        struct pollfd told = {.fd = signals_fd, .events = POLLIN};
        poll(&told, 1, milliseconds_until(until));
        stopped = read_signals(0);
    }
    push_signal(L, stopped);
    return 1;
}

int restart_open_children(lua_State *L) {
    static const luaL_Reg functions[] = {{"run", children_run}, {"pause", children_pause}, {NULL, NULL}};
    lua_newtable(L);
    luaL_register(L, NULL, functions);
    return 1;
}

static void set_field(lua_State *L, const char *name, const char *text) {
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

int restart_main(lua_State *L, int argc, char **argv, const options *options) {
    int error = take_signals();
    if (error) {
        fprintf(stderr, "neap: --restart: no signals can be awaited: %s\n", strerror(error));
        return SESSION_FAILED;
    }
    lua_newtable(L);
    lua_pushinteger(L, options->restart);
    lua_setfield(L, -2, "times");
    lua_pushinteger(L, options->devices ? options->devices : 1);
    lua_setfield(L, -2, "devices");
    set_field(L, "hosts", options->hosts);
    set_field(L, "reach", options->reach);
    lua_newtable(L);
    for (int k = options->script; k < argc; k++) {
        lua_pushstring(L, argv[k]);
        lua_rawseti(L, -2, k - options->script + 1);
    }
    lua_setfield(L, -2, "words");
    int status = session_call(L, "neap.interp.restart", "run", 1);
    return status == SESSION_OK ? (int)lua_tointeger(L, -1) : status;
}
