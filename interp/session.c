/* session.c: the Lua state of the interpreter. See session.h. */
#include "interp/session.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interp/embedded.h"
#include "interp/errors.h"
#include "interp/kernel.h"
#include "interp/line.h"
#include "interp/processes.h"
#include "interp/restart.h"
#include "interp/signals.h"
#include "interp/system.h"

enum { RESERVE_BYTES = 4 << 20 };

static bool termination_reported;
static bool status_chosen;  /* the program has said, by os.exit, with which status it ends */
static const char *failure; /* the error that the script has ended with; NULL: none */

static neap_ctx *context; /* NULL: the library is not loaded */

static void finalize_last(lua_State *L);
static bool finish_output(lua_State *L);

static void *reserve; /* address space of RESERVE_BYTES for when Lua has run out of it; NULL: none */

/* ---- Modules ---------------------------------------------------------------------------------------------------- */

static int own_require = LUA_NOREF; /* in the registry: what finds the library's modules, whatever `require` is */

static int compare_name(const void *key, const void *entry) {
    return strcmp(key, ((const embedded_module *)entry)->name);
}

/* Pushes the chunk of an embedded module, or a text that says that there is none. */
static int find_embedded(lua_State *L) {
    static const luaL_Reg in_c[] = {{"neap.interp.channels", kernel_open_module},
                                    {"neap.interp.children", restart_open_children},
                                    {"neap.interp.system", system_open}};
    const char *name = luaL_checkstring(L, 1);
    for (size_t k = 0; k < sizeof in_c / sizeof *in_c; k++)
        if (strcmp(name, in_c[k].name) == 0) {
            lua_pushcfunction(L, in_c[k].func);
            return 1;
        }
    const embedded_module *module =
        bsearch(name, embedded_modules, embedded_count, sizeof *embedded_modules, compare_name);
    if (!module) {
        lua_pushfstring(L, "\n\tno module '%s' in the executable", name);
        return 1;
    }
    int status = luaL_loadbuffer(L, module->bytecode, module->bytes, module->chunk);
    if (status == LUA_ERRMEM)
        return lua_error(L);
    if (status != 0)
        return luaL_error(L, "module '%s' in the executable is damaged: %s", name, lua_tostring(L, -1));
    return 1;
}

/* Lets the library take the globals that it will see (stdlib/neap/core/globals.lua), before there are others. */
static void take_globals(lua_State *L) {
    lua_pushcfunction(L, find_embedded);
    lua_pushliteral(L, "neap.core.globals");
    lua_call(L, 1, 1);
    lua_pushliteral(L, "neap.core.globals");
    lua_pushcfunction(L, find_embedded);
    lua_call(L, 2, 1);
    lua_getfield(L, -1, "require");
    own_require = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pop(L, 1);
}

/* Pushes a function, and its argument, that returns a module of the library. */
static void push_require(lua_State *L, const char *module) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, own_require);
    lua_pushstring(L, module);
}

bool session_push_function(lua_State *L, const char *module, const char *name) {
    push_require(L, module);
    if (lua_pcall(L, 1, 1, 0) != 0)
        return false;
    lua_getfield(L, -1, name);
    lua_remove(L, -2);
    return true;
}

/* ---- The state -------------------------------------------------------------------------------------------------- */

/* os.exit([code [, close]]): code true or nothing is 0, false is 1. */
static int os_exit(lua_State *L) {
    status_chosen = !lua_isnoneornil(L, 1);
    int status = lua_isboolean(L, 1) ? !lua_toboolean(L, 1) : (int)luaL_optinteger(L, 1, 0);
    session_exit(L, status, lua_toboolean(L, 2));
}

static void set_arguments(lua_State *L, int argc, char **argv, int script) {
    lua_createtable(L, argc, 1);
    for (int k = 0; k < argc; k++) {
        lua_pushstring(L, argv[k]);
        lua_rawseti(L, -2, k - script);
    }
    lua_setglobal(L, "arg");
}

/* An error outside every protected call: there was no memory even to tell of it in order. */
static int end_at_once(lua_State *L) {
    const char *text = lua_tostring(L, -1);
    line_restore_terminal();
    neap_out_drain();
    fprintf(stderr, "neap: %s%s\n", processes_mark(), text ? text : "not enough memory");
    _exit(SESSION_FAILED);
}

/* A finalizer that is called behind those of the program: what they have shown comes out. Objects that finalizers make
 * have theirs called later, so there is another one behind these. */
static int finish_finalizers(lua_State *L) {
    signals_finalize(false); /* Ctrl-C means the output now */
    finish_output(L);
    signals_finalize(true);
    finalize_last(L);
    return 0;
}

/* Makes its object: the first of the state, since the last one is finalized first. */
static void finalize_last(lua_State *L) {
    lua_newuserdata(L, 1);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, finish_finalizers);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_setfield(L, LUA_REGISTRYINDEX, "neap.last");
}

lua_State *session_new(int argc, char **argv, int script) {
    lua_State *L = luaL_newstate();
    if (!L)
        return NULL;
    lua_atpanic(L, end_at_once);
    finalize_last(L);
    luaL_openlibs(L);
    set_arguments(L, argc, argv, script);
    lua_getglobal(L, "os");
    lua_pushcfunction(L, os_exit);
    lua_setfield(L, -2, "exit");
    lua_pop(L, 1);
    take_globals(L);
    return L;
}

/* ---- The collector ----------------------------------------------------------------------------------------------- */
/* Cycles that leave out what was alive at some moment are our LuaJIT's (tools/luajit-patches). */
#ifdef LUA_GCKEEP
static int collect_rest(lua_State *L) {
    lua_gc(L, LUA_GCCYCLE, 0);
    return 0;
}

/* May raise "not enough memory". */
static int try_keep(lua_State *L) {
    lua_gc(L, LUA_GCKEEP, 0);
    return 0;
}

static int keep_all(lua_State *L) {
    if (lua_cpcall(L, try_keep, NULL) != 0)
        lua_pop(L, 1); /* cycles cost more */
    return 0;
}

/* The library, which is all that there is, lives as long as the state. Expects neap.core on the top. */
static void keep_library(lua_State *L) {
    lua_pushcfunction(L, collect_rest);
    lua_setfield(L, -2, "collect");
    lua_pushcfunction(L, keep_all);
    lua_setfield(L, -2, "keep");
    keep_all(L);
}
#else
static void keep_library(lua_State *L) {
    (void)L;
}
#endif

static int load_library(lua_State *L) {
    push_require(L, "neap");
    int status = session_run(L, 1);
    if (status != SESSION_OK)
        return status;
    lua_settop(L, 1);
    lua_setglobal(L, "np");
    push_require(L, "neap.core");
    status = session_run(L, 1);
    if (status == SESSION_OK) {
        lua_getfield(L, 1, "ctx");
        context = *(neap_ctx *const *)lua_topointer(L, -1); /* a cdata that holds a pointer */
        lua_settop(L, 0);
        status = session_call(L, "neap.interp.input", "install", 0);
    }
    if (status == SESSION_OK)
        status = session_call(L, "neap.interp.chunks", "install", 0);
    if (status == SESSION_OK) {
        push_require(L, "neap.core");
        status = session_run(L, 1);
    }
    if (status == SESSION_OK) {
        keep_library(L);
        lua_settop(L, 0);
    }
    return status;
}

/* Next to nothing becomes garbage meanwhile: cycles of the collector took a fifth of the time. */
int session_load_library(lua_State *L) {
    lua_gc(L, LUA_GCSTOP, 0);
    int status = load_library(L);
    if (!lua_gc(L, LUA_GCISRUNNING, 0)) /* it runs again where keeping was its end */
        lua_gc(L, LUA_GCRESTART, 0);
    return status;
}

neap_ctx *session_context(lua_State *L) {
    (void)L;
    return context;
}

/* ---- Running ---------------------------------------------------------------------------------------------------- */

/* Lua has no memory left: gives up the reserve and collects what the failed code held, so that the failure can be told
 * and the session goes on. */
static int collect_garbage(lua_State *L) {
    lua_gc(L, LUA_GCCOLLECT, 0);
    return 0;
}

static void make_room(lua_State *L) {
    if (reserve)
        munmap(reserve, RESERVE_BYTES);
    reserve = NULL;
    if (lua_cpcall(L, collect_garbage, NULL) != 0)
        lua_pop(L, 1);
}

/* Memory that no other part of the process touches. Without it a shortage of Lua's memory may end the process. */
static void take_reserve(void) {
    if (reserve)
        return;
    reserve = mmap(NULL, RESERVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserve == MAP_FAILED)
        reserve = NULL;
}

/* Calls neap.interp.drain's function `name` with its `nargs` arguments at the top of the stack, which are removed.
 * Returns what the function tells, complete without the library. */
enum { DRAIN_COMPLETE, DRAIN_INCOMPLETE, DRAIN_FAILED /* Lua had no memory for the call */ };
static int drain(lua_State *L, const char *name, int nargs) {
    int base = lua_gettop(L) - nargs, result = DRAIN_COMPLETE;
    if (context && !session_push_function(L, "neap.interp.drain", name)) {
        result = DRAIN_FAILED;
    } else if (context) {
        for (int k = 1; k <= nargs; k++)
            lua_pushvalue(L, base + k);
        result = lua_pcall(L, nargs, 1, 0) != 0 ? DRAIN_FAILED
                 : lua_toboolean(L, -1)         ? DRAIN_COMPLETE
                                                : DRAIN_INCOMPLETE;
    }
    lua_settop(L, base);
    return result;
}

/* Writes to a file that takes text at once, past all text that waits. */
static void write_past(int fd, const char *text, size_t bytes) {
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    if (poll(&ready, 1, 0) > 0 && (ready.revents & POLLOUT) != 0 && write(fd, text, bytes) < 0)
        return; /* there is nowhere left to say so */
}

/* Waits for what was shown where Lua cannot: as far as no function of the script is to be called. */
static bool finish_without_lua(void) {
    static const char lost[] = "neap: not enough memory for all that the program has shown\n";
    neap_effects *effects = neap_ctx_effects(context);
    neap_effects_drain(effects);
    if (neap_effects_poll(effects, NULL) == NEAP_OK)
        return true;
    neap_effects_failed();
    write_past(STDERR_FILENO, lost, sizeof lost - 1);
    return false;
}

/* Waits for everything shown so far. Returns whether all of it came out. */
static bool finish_output(lua_State *L) {
    int count = signals_presses();
    signals_clear(L);
    lua_pushinteger(L, count);
    lua_pushboolean(L, signals_prompt());
    int result = drain(L, "finish", 2);
    bool complete = result == DRAIN_COMPLETE || (result == DRAIN_FAILED && count == 0 && finish_without_lua());
    if (complete)
        neap_out_drain();
    return complete;
}

/* Whether the text says that the reader of stdout has gone. Who closes a pipe knows, so that is not told. */
static bool is_broken_pipe(const char *text) {
    return neap_out_failure(NEAP_STDOUT) == NEAP_E_IO && strstr(text, strerror(EPIPE)) != NULL &&
           strstr(text, neap_error_text()) != NULL;
}

/* Tells that stdout failed, when no print has met the failure. */
static void report_lost_output(void) {
    char line[256];
    if (!is_broken_pipe(neap_error_text())) {
        snprintf(line, sizeof line, "neap: %s\n", neap_error_text());
        neap_out_write(NEAP_STDERR, line, strlen(line));
        neap_out_drain();
    }
}

/* Tells of the error at the top of the stack, which SIGTERM has raised ("script.lua:3: interrupted" names the place),
 * behind what the program printed before it. Of several processes mpirun kills all, once the first of them has ended
 * after SIGTERM, so there it comes first. */
static void report_termination(lua_State *L) {
    char report[2048], line[4096];
    bool several = *processes_mark() != '\0';
    const char *text = errors_text(L), *end = strstr(text, ": interrupted");
    snprintf(line, sizeof line, "neap: %sterminated (SIGTERM)%s%.*s%s\n", processes_mark(), end ? " at " : "",
             end ? (int)(end - text) : 0, text, processes_report(report, sizeof report));
    if (!several)
        finish_output(L);
    termination_reported = true;
    signals_termination_told();
    write_past(STDERR_FILENO, line, strlen(line));
    if (several)
        finish_output(L);
    lua_pop(L, 1);
}

/* Writes the error at the top of the stack behind everything that the program printed before it. Needs no memory of
 * Lua's. */
static void report_error(lua_State *L) {
    if (signals_terminated()) {
        report_termination(L);
        return;
    }
    const char *text = errors_text(L);
    bool complete = finish_output(L);
    if (!signals_prompt() && !failure && signals_presses() == 0) {
        const char *copy = strdup(text);
        failure = copy ? copy : "out of memory";
        signals_termination_told(); /* by this error */
        if (!processes_tells(text)) {
            lua_pop(L, 1);
            return;
        }
    }
    char before[64];
    bool named = strncmp(text, "neap: ", strlen("neap: ")) == 0; /* as stock LuaJIT would show it */
    snprintf(before, sizeof before, "%s%s", named || signals_prompt() ? "" : "neap: ", processes_mark());
    const char *line = errors_line(before);
    size_t bytes = strlen(line);
    if (is_broken_pipe(text))
        neap_out_drain();
    else if ((!complete && !signals_prompt() && neap_out_waiting() > 0) || /* a prompt's terminal will take it */
             neap_out_write(NEAP_STDERR, line, bytes) == NEAP_E_STATE)     /* a fork's child has no streams */
        write_past(STDERR_FILENO, line, bytes);
    else if (complete)
        finish_output(L);
    else
        neap_out_drain();
    lua_pop(L, 1);
}

/* The text of the error at the top of the stack in its place, once everything printed before it is out. */
static void leave_error(lua_State *L) {
    lua_pushstring(L, errors_text(L));
    finish_output(L);
}

static int run_protected(lua_State *L, int nargs, void (*deal_with_error)(lua_State *L), int keep) {
    int base = lua_gettop(L) - nargs;
    take_reserve();
    lua_pushcfunction(L, errors_handle);
    lua_insert(L, base);
    int status = lua_pcall(L, nargs, LUA_MULTRET, base);
    lua_remove(L, base);
    if (status == 0)
        return SESSION_OK;
    if (status == LUA_ERRMEM)
        make_room(L);
    bool interrupted = neap_interrupt_pending() != 0;
    if (interrupted) /* what tells of the error runs to its end */
        signals_clear(L);
    deal_with_error(L);
    if (keep)
        lua_replace(L, base);
    lua_settop(L, base - 1 + keep);
    if (interrupted && context && signals_prompt())
        drain(L, "abandon", 0);
    return interrupted ? SESSION_INTERRUPTED : SESSION_FAILED;
}

int session_run(lua_State *L, int nargs) {
    return run_protected(L, nargs, report_error, 0);
}

int session_try(lua_State *L, int nargs) {
    return run_protected(L, nargs, leave_error, 1);
}

/* Lets neap.interp.chunks see what loading a chunk has left at the top of the stack, and put something in its place.
 * `text` is NULL for a file. Returns `loaded`. */
static int look_at_chunk(lua_State *L, int loaded, const char *source, const char *text, size_t bytes) {
    int base = lua_gettop(L);
    lua_pushstring(L, source);
    lua_pushvalue(L, base);
    if (text)
        lua_pushlstring(L, text, bytes);
    if (session_call(L, "neap.interp.chunks", "loaded", text ? 3 : 2) == SESSION_OK) {
        lua_settop(L, base + 1);
        lua_replace(L, base);
    }
    lua_settop(L, base);
    return loaded;
}

int session_load_text(lua_State *L, const char *name, const char *text, size_t bytes) {
    char source[64];
    size_t first = 0;
    if (bytes > 0 && text[0] == '#') /* "#!/usr/bin/env neap"; the line itself stays, so that lines are counted right */
        while (first < bytes && text[first] != '\n')
            first++;
    snprintf(source, sizeof source, "=%s", name);
    return look_at_chunk(L, luaL_loadbuffer(L, text + first, bytes - first, source), source, text, bytes);
}

/* All of the standard input. OWNED; NULL: there is no memory for it, or it cannot be read (ferror): a signal that ends
 * the program came (EINTR), or something else. */
static char *read_input(size_t *bytes) {
    size_t room = 1 << 16;
    char *text = malloc(room);
    for (*bytes = 0; text;) {
        *bytes += fread(text + *bytes, 1, room - *bytes, stdin);
        if (*bytes < room && ferror(stdin) && errno == EINTR && !neap_interrupt_pending()) {
            clearerr(stdin);
            continue;
        }
        if (*bytes < room)
            break;
        char *more = realloc(text, room *= 2);
        if (!more)
            free(text);
        text = more;
    }
    if (!ferror(stdin))
        return text;
    free(text);
    return NULL;
}

static int load_input(lua_State *L) {
    size_t bytes;
    char *text = read_input(&bytes);
    if (!text) {
        if (errno == EINTR)
            lua_pushstring(L, neap_status_text(NEAP_E_INTERRUPT));
        else
            lua_pushfstring(L, "cannot read stdin: %s", strerror(errno));
        return LUA_ERRFILE;
    }
    int loaded = session_load_text(L, "stdin", text, bytes);
    free(text);
    return loaded;
}

int session_load_file(lua_State *L, const char *path) {
    if (!path)
        return load_input(L);
    int loaded = luaL_loadfile(L, path);
    lua_pushfstring(L, "@%s", path);
    lua_insert(L, -2);
    loaded = look_at_chunk(L, loaded, lua_tostring(L, -2), NULL, 0);
    lua_remove(L, -2);
    return loaded;
}

int session_run_chunk(lua_State *L, const char *name, int loaded, int nargs) {
    if (loaded != 0) {
        bool interrupted = neap_interrupt_pending() != 0;
        if (interrupted) /* what tells of the error runs to its end */
            signals_clear(L);
        report_error(L);
        lua_settop(L, 0);
        return interrupted ? SESSION_INTERRUPTED : SESSION_FAILED;
    }
    int base = lua_gettop(L);
    lua_pushstring(L, name);
    int status = session_call(L, "neap.interp.sites", "enter", 1);
    lua_settop(L, base);
    if (status == SESSION_OK)
        status = session_run(L, nargs);
    lua_settop(L, 0);
    return status;
}

int session_call(lua_State *L, const char *module, const char *name, int nargs) {
    int base = lua_gettop(L) - nargs;
    push_require(L, module);
    int status = session_run(L, 1);
    if (status != SESSION_OK) {
        lua_settop(L, base);
        return status;
    }
    lua_settop(L, base + nargs + 1);
    lua_getfield(L, -1, name);
    lua_insert(L, base + 1);
    lua_pop(L, 1);
    return session_run(L, nargs);
}

/* ---- The end ---------------------------------------------------------------------------------------------------- */

/* Tells of files that could not be written, where the program has not met that. Returns whether there are any. */
static bool report_lost_files(void) {
    bool lost = false;
    while (neap_out_status() == NEAP_E_IO) {
        const char *text = neap_error_text();
        if (strncmp(text, "stdout:", 7) != 0 && strncmp(text, "stderr:", 7) != 0) {
            fprintf(stderr, "neap: %s\n", text);
            lost = true;
        }
    }
    return lost;
}

/* Tells of SIGTERM where that ended no code of the script. */
static void session_report_termination(void) {
    char report[2048], line[2200];
    if (!termination_reported && !failure) {
        termination_reported = true;
        signals_termination_told();
        snprintf(line, sizeof line, "neap: %sterminated (SIGTERM)%s\n", processes_mark(),
                 processes_report(report, sizeof report));
        write_past(STDERR_FILENO, line, strlen(line));
    }
}

static bool is_stopped(void) {
    return signals_presses() > 0;
}

/* Does all that was recorded, since other processes may wait for parts of it; failures of what nobody has read are no
 * news. */
static void finish_work(void) {
    neap_waker *waker = neap_ctx_waker(context);
    int status;
    for (int failures = 0; failures < 3 && (status = neap_poll_everything(context)) != NEAP_OK && !is_stopped();) {
        if (status == NEAP_PENDING) {
            neap_waker_sleep(waker, 1000);
            neap_waker_clear(waker);
        } else {
            failures++;
        }
    }
}

/* Ends together with the other processes, if there are any. */
static int end_processes(int status) {
    char problem[2048];
    if (!context || *processes_mark() == '\0')
        return status;
    if (status == SESSION_OK)
        finish_work();
    const char *why = signals_terminated()    ? "it was terminated (SIGTERM)"
                      : signals_presses() > 0 ? "it was interrupted"
                      : failure               ? failure
                                              : "its script has ended with an exit status that is not 0";
    int ended = processes_end(status, why, neap_ctx_waker(context), is_stopped, problem, sizeof problem);
    if (*problem != '\0' && signals_presses() == 0)
        fprintf(stderr, "neap: %s%s\n", processes_mark(), problem);
    return ended;
}

/* Calls finalizers, closes files and waits for children of io.popen, as stock luajit at its end. */
static void close_state(lua_State *L) {
    static bool closed; /* a finalizer may call os.exit */
    if (closed)
        return;
    closed = true;
    signals_finalize(true);
    lua_close(L);
    signals_finalize(false);
}

/* The exit status, after signals that came. */
static int with_signals(int status) {
    if (signals_terminated())
        return SESSION_TERMINATED;
    return status == SESSION_OK && signals_presses() > 0 ? SESSION_INTERRUPTED : status;
}

void session_exit(lua_State *L, int status, bool close) {
    line_restore_terminal(); /* a callback may end the process while a line is edited */
    if (!termination_reported)
        finish_output(L);
    status = with_signals(status);
    bool failed = status != SESSION_OK; /* other processes are told at once; finalizers do not wait for them then */
    if (failed)
        status = end_processes(status);
    if (close)
        close_state(L);
    fflush(NULL);
    if (!failed)
        status = end_processes(with_signals(status));
    bool by_itself = !signals_prompt() && !status_chosen;
    if (status == SESSION_OK && by_itself && neap_effects_failures() > 0) /* told where they happened */
        status = SESSION_FAILED;
    if (signals_terminated()) {
        status = SESSION_TERMINATED;
        session_report_termination();
        while (processes_follow()) /* until the limit: process 0 has things to write */
            pause();
    } else if (status == SESSION_OK && neap_out_failure(NEAP_STDOUT) == NEAP_E_IO) {
        status = SESSION_FAILED;
        report_lost_output();
    }
    if (report_lost_files() && status == SESSION_OK)
        status = SESSION_FAILED;
    int stopped = neap_timeline_stop();
    if (stopped < 0 && stopped != NEAP_E_STATE) { /* a fork's child records nothing */
        fprintf(stderr, "neap: %s\n", neap_error_text());
        status = status == SESSION_OK ? SESSION_FAILED : status;
    }
    _exit(status);
}
