/* system.c: the clock, files and folders, waiting for standard input, and children, as functions for Lua
 * (neap.interp.system).
 *
 * None of them blocks but wait_input, which returns when there is input, when the waker is woken and when a signal
 * arrives. A child is waited for by asking again whenever the waker was woken; while there is one, SIGCHLD wakes it.
 */
#include "interp/system.h"

#include <dirent.h>
#include <errno.h>
#include <lauxlib.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "interp/errors.h"
#include "interp/highlight.h"
#include "interp/line.h"
#include "interp/repl.h"
#include "interp/session.h"
#include "interp/signals.h"

extern char **environ;

static volatile sig_atomic_t child; /* the process that os.execute waits for; 0: none */
static struct termios modes_before; /* of the terminal, when the child was started */
static bool has_terminal;
static neap_waker *child_waker;
static struct sigaction child_before; /* SIGCHLD's disposition while there is no child */

/* now(): seconds of a clock that never goes back. */
static int system_now(lua_State *L) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    lua_pushnumber(L, (double)time.tv_sec + 1e-9 * (double)time.tv_nsec);
    return 1;
}

/* stamp(path): a text that is another when a file has changed; nil: there is no such file. */
static int system_stamp(lua_State *L) {
    struct stat facts;
    char text[96];
    if (stat(luaL_checkstring(L, 1), &facts) != 0 || !S_ISREG(facts.st_mode))
        return 0;
    snprintf(text, sizeof text, "%lld.%09ld, %lld bytes", (long long)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec,
             (long long)facts.st_size);
    lua_pushstring(L, text);
    return 1;
}

/* list(path): the names in a folder, those of folders with a "/" behind them; nil: it is none that can be read. */
static int system_list(lua_State *L) {
    DIR *folder = opendir(luaL_checkstring(L, 1));
    int count = 0;
    if (!folder)
        return 0;
    lua_newtable(L);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        struct stat facts;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        bool is_folder = fstatat(dirfd(folder), entry->d_name, &facts, 0) == 0 && S_ISDIR(facts.st_mode);
        lua_pushfstring(L, is_folder ? "%s/" : "%s", entry->d_name);
        lua_rawseti(L, -2, ++count);
    }
    closedir(folder);
    return 1;
}

/* folder(): the one in which this process works; nil, and the reason: it has been removed, say. */
static int system_folder(lua_State *L) {
    char *path = getcwd(NULL, 0);
    if (!path) {
        lua_pushnil(L);
        lua_pushstring(L, strerror(errno));
        return 2;
    }
    lua_pushstring(L, path);
    free(path);
    return 1;
}

/* enter(path): works in that folder from now on. Returns nothing, or why it does not. */
static int system_enter(lua_State *L) {
    if (chdir(luaL_checkstring(L, 1)) == 0)
        return 0;
    lua_pushstring(L, strerror(errno));
    return 1;
}

/* has_input(): whether reading from standard input would not wait. */
static int system_has_input(lua_State *L) {
    lua_pushboolean(L, line_ready());
    return 1;
}

/* wait_input(): waits for input, the context's waker or a signal. */
static int system_wait_input(lua_State *L) {
    line_wait(neap_ctx_waker(session_context(L)));
    return 0;
}

/* keys_begin(leave): single keys are read from the terminal from now on, at whose end `leave` is sent; false: there is
 * none. */
static int system_keys_begin(lua_State *L) {
    static char leave[64]; /* a signal handler reads it */
    snprintf(leave, sizeof leave, "%s", luaL_checkstring(L, 1));
    bool good = line_keys_begin(leave);
    if (good)
        signals_guard_terminal();
    lua_pushboolean(L, good);
    return 1;
}

/* keys_end(): the terminal has its modes again. */
static int system_keys_end(lua_State *L) {
    (void)L;
    line_keys_end();
    return 0;
}

/* keys_write(text): to the terminal, past the streams, whatever is pressed. */
static int system_keys_write(lua_State *L) {
    size_t bytes;
    const char *text = luaL_checklstring(L, 1, &bytes);
    line_send(STDOUT_FILENO, text, bytes);
    return 0;
}

/* read_keys(): the bytes of keys that wait, "" without any, nil: there will be none any more; and whether the screen
 * has to be drawn again. */
static int system_read_keys(lua_State *L) {
    char keys[256];
    bool again;
    int count = line_read_keys(keys, sizeof keys, &again);
    if (count < 0)
        lua_pushnil(L);
    else
        lua_pushlstring(L, keys, (size_t)count);
    lua_pushboolean(L, again);
    return 2;
}

/* terminal(errors): the columns of the terminal that standard output is, or with `errors` stderr; nil: it is none. */
static int system_terminal(lua_State *L) {
    struct winsize window;
    int fd = lua_toboolean(L, 1) ? STDERR_FILENO : STDOUT_FILENO;
    if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &window) != 0 || window.ws_col == 0)
        return 0;
    lua_pushinteger(L, window.ws_col);
    return 1;
}

/* styles(text): the style of each byte of Lua code, a letter each: "a" is STYLE_PLAIN. */
static int system_styles(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    unsigned char *styles = lua_newuserdata(L, length + 1);
    highlight_text(text, length, length, styles);
    for (size_t k = 0; k < length; k++)
        styles[k] = (unsigned char)('a' + styles[k]);
    lua_pushlstring(L, (const char *)styles, length);
    return 1;
}

/* watch_errors(f): f() is called at each error that nobody catches, while the functions that failed are on the stack.
 */
static int system_watch_errors(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    errors_watch(L);
    return 0;
}

/* try(f, …): true and what f returns, or false, the text of the error as a prompt tells it, and whether it was
 * interrupted. Output so far is out then. */
static int system_try(lua_State *L) {
    int status = session_try(L, lua_gettop(L) - 1);
    if (status == SESSION_OK) {
        lua_pushboolean(L, 1);
        lua_insert(L, 1);
        return lua_gettop(L);
    }
    lua_pushboolean(L, 0);
    lua_insert(L, 1);
    lua_pushboolean(L, status == SESSION_INTERRUPTED);
    return 3;
}

/* ---- Children ---------------------------------------------------------------------------------------------------- */

static void on_child(int signal_number) {
    (void)signal_number;
    neap_waker_wake(child_waker);
}

/* Starts `sh -c command` with SIGINT unblocked and at its default. Returns 0 or errno. */
static int spawn_shell(const char *command, pid_t *pid) {
    posix_spawnattr_t how;
    sigset_t mask, defaults;
    char *words[] = {"sh", "-c", "--", (char *)command, NULL};
    sigprocmask(SIG_SETMASK, NULL, &mask);
    sigdelset(&mask, SIGINT);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    int error = posix_spawnattr_init(&how);
    if (error)
        return error;
    posix_spawnattr_setsigmask(&how, &mask);
    posix_spawnattr_setsigdefault(&how, &defaults);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    error = posix_spawn(pid, "/bin/sh", NULL, &how, words, environ);
    posix_spawnattr_destroy(&how);
    return error;
}

/* Whether this process may set the terminal's modes. */
static bool in_foreground(void) {
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* spawn(command): starts a child; nil when that fails or when there is one already. */
static int system_spawn(lua_State *L) {
    const char *command = luaL_checkstring(L, 1);
    pid_t pid;
    if (child)
        return 0;
    has_terminal = in_foreground() && tcgetattr(STDIN_FILENO, &modes_before) == 0;
    child_waker = neap_ctx_waker(session_context(L));
    struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, &child_before);
    if (spawn_shell(command, &pid)) {
        sigaction(SIGCHLD, &child_before, NULL);
        return 0;
    }
    child = pid;
    if (neap_interrupt_pending()) /* a press that came before the child was there; a second SIGINT does no harm */
        kill(pid, SIGINT);
    lua_pushinteger(L, pid);
    return 1;
}

/* ended(): nil while the child runs; then its status as waitpid gives it, and whether Ctrl-C ended it. */
static int system_ended(lua_State *L) {
    int status = -1;
    pid_t found = waitpid(child, &status, WNOHANG);
    if (found == 0 || (found < 0 && errno == EINTR))
        return 0;
    child = 0;
    sigaction(SIGCHLD, &child_before, NULL);
    /* sh tells of a signal by 128 + its number. */
    bool killed = found > 0 && (WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) > 128));
    if (has_terminal && killed && in_foreground()) /* it could not put the terminal back */
        tcsetattr(STDIN_FILENO, TCSADRAIN, &modes_before);
    lua_pushinteger(L, status);
    lua_pushboolean(L, found > 0 && ((WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) ||
                                     (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT)));
    return 2;
}

/* clear_interrupt(): the press of Ctrl-C is being dealt with. */
static int system_clear_interrupt(lua_State *L) {
    signals_clear(L);
    return 0;
}

/* forget_interrupt(): the press was the child's, which has dealt with it. */
static int system_forget_interrupt(lua_State *L) {
    signals_forget(L);
    return 0;
}

/* interrupt(): as if Ctrl-C were pressed now. */
static int system_interrupt(lua_State *L) {
    (void)L;
    raise(SIGINT);
    return 0;
}

/* terminated(): whether SIGTERM came. */
static int system_terminated(lua_State *L) {
    lua_pushboolean(L, signals_terminated());
    return 1;
}

void system_terminate_child(void) {
    pid_t pid = child;
    if (pid)
        kill(pid, SIGTERM);
}

bool system_pass_interrupt(bool from_terminal) {
    pid_t pid = child;
    if (pid && !from_terminal)
        kill(pid, SIGINT);
    return pid != 0;
}

int system_open(lua_State *L) {
    static const luaL_Reg functions[] = {{"now", system_now},
                                         {"stamp", system_stamp},
                                         {"list", system_list},
                                         {"folder", system_folder},
                                         {"enter", system_enter},
                                         {"has_input", system_has_input},
                                         {"wait_input", system_wait_input},
                                         {"spawn", system_spawn},
                                         {"ended", system_ended},
                                         {"clear_interrupt", system_clear_interrupt},
                                         {"forget_interrupt", system_forget_interrupt},
                                         {"interrupt", system_interrupt},
                                         {"terminated", system_terminated},
                                         {"terminal", system_terminal},
                                         {"keys_begin", system_keys_begin},
                                         {"keys_end", system_keys_end},
                                         {"keys_write", system_keys_write},
                                         {"read_keys", system_read_keys},
                                         {"styles", system_styles},
                                         {"watch_errors", system_watch_errors},
                                         {"try", system_try},
                                         {"read_command", repl_read_command},
                                         {NULL, NULL}};
    lua_newtable(L);
    luaL_register(L, NULL, functions);
    return 1;
}
