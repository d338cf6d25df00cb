/* main.c: the neap executable: what to run, in which order, and how the process ends.
 *
 *      options ──▶ timeline, engine configured ──▶ Lua state, library as `np`
 *              ──▶ -e code and -l libraries, script, prompt ──▶ session_exit
 *
 * The process always ends through session_exit, which drains effects, closes the Lua state and leaves with _exit,
 * because workers and writers may still run.
 */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine.h"
#include "interp/doctor.h"
#include "interp/kernel.h"
#include "interp/options.h"
#include "interp/processes.h"
#include "interp/repl.h"
#include "interp/restart.h"
#include "interp/session.h"
#include "interp/signals.h"
#include "lazy/lazy.h"

/* The status of a process that has written to C's stdout: told, if that failed. */
static int finish_stdout(int status) {
    if (fflush(stdout) == 0)
        return status;
    fprintf(stderr, "neap: stdout: %s\n", strerror(errno));
    return SESSION_FAILED;
}

/* Starts the timeline if the command line wants one; session_exit ends it. */
static int start_timeline(const options *options) {
    int status = options->trace ? neap_timeline_start(options->trace) : NEAP_OK;
    if (status < 0)
        fprintf(stderr, "neap: %s\n", neap_error_text());
    return status;
}

/* Of several devices, which mostly are of one sort, the first. */
static void warn_of_devices(void) {
    char text[256];
    int first = 0;
    neap_session_devices(&first);
    const char *lacks = neap_tier_lacks(first, text, sizeof text);
    if (lacks)
        fprintf(stderr, "neap: warning: the CPU computes in place of %s, over copies: %s\n", neap_device_name(first),
                lacks);
}

/* Starts the engine with devices that are not the CPU's, one CPU device beside them. */
static int start_on_devices(const options *options) {
    neap_engine_config config = {
        .workers = options->workers, .scheduler = options->scheduler, .shuffle = (uint64_t)options->shuffle};
    int status = neap_engine_start(&config);
    if (status == NEAP_OK) {
        status = neap_session_use(options->device, options->devices > 0 ? options->devices : 1);
    }
    if (status == NEAP_OK)
        warn_of_devices();
    if (status < 0) {
        bool counts = strspn(options->device, "0123456789") == strlen(options->device);
        fprintf(stderr, "neap: cannot compute on devices of the kind '%s': %s%s\n", options->device, neap_error_text(),
                counts ? "; --devices N says how many" : "");
    }
    return status;
}

/* Starts the engine if the command line says how; else the library starts it with defaults when it needs it. */
static int start_engine(const options *options) {
    if (options->tier && neap_tier_set(options->tier) < 0) {
        fprintf(stderr, "neap: %s: %s\n", options->tier == getenv("NEAP_TIER") ? "NEAP_TIER" : "--tier",
                neap_error_text());
        return -1;
    }
    if (options->device != NULL && *options->device && strcmp(options->device, "cpu") != 0)
        return start_on_devices(options);
    if (options->devices == 0 && options->workers == 0 && options->scheduler == 0 && options->shuffle == 0)
        return 0;
    neap_engine_config config = {.devices = options->devices,
                                 .workers = options->workers,
                                 .scheduler = options->scheduler,
                                 .shuffle = (uint64_t)options->shuffle};
    int status = neap_engine_start(&config);
    if (status < 0)
        fprintf(stderr, "neap: cannot start the engine: %s\n", neap_error_text());
    return status;
}

/* Pushes the arguments of the script argv[script]. Returns how many. */
static int push_arguments(lua_State *L, int argc, char **argv, int script) {
    int nargs = script > 0 ? argc - script - 1 : 0;
    luaL_checkstack(L, nargs, "too many arguments to the script");
    for (int k = 1; k <= nargs; k++)
        lua_pushstring(L, argv[script + k]);
    return nargs;
}

/* Runs the script argv[script] with the arguments behind it; "-" and NULL are the standard input. With `keep` its local
 * variables stay for the prompt. */
static int run_script(lua_State *L, int argc, char **argv, int script, bool keep) {
    const char *path = script > 0 && strcmp(argv[script], "-") != 0 ? argv[script] : NULL;
    if (keep) {
        lua_pushstring(L, path);
        int status = session_call(L, "neap.interp.repl", "run_file", 1 + push_arguments(L, argc, argv, script));
        lua_settop(L, 0);
        return status;
    }
    int loaded = session_load_file(L, path);
    int nargs = loaded == 0 ? push_arguments(L, argc, argv, script) : 0;
    return session_run_chunk(L, path ? path : "stdin", loaded, nargs);
}

/* Runs the text of an option -e. */
static int run_code(lua_State *L, const char *code, bool keep) {
    if (keep) {
        lua_pushstring(L, code);
        lua_pushliteral(L, "=(command line)");
        int status = session_call(L, "neap.interp.repl", "run_script", 2);
        lua_settop(L, 0);
        return status;
    }
    int loaded = session_load_text(L, "(command line)", code, strlen(code));
    return session_run_chunk(L, "(command line)", loaded, 0);
}

/* Requires the library of an option -l, by the function that the code before it may have changed. */
static int run_library(lua_State *L, const char *name) {
    lua_getglobal(L, "require");
    lua_pushstring(L, name);
    int status = session_run(L, 1);
    lua_settop(L, 0);
    return status;
}

/* What stands before the script, in its order. */
static int run_first(lua_State *L, const options *options, bool keep) {
    int status = SESSION_OK;
    for (int k = 0; k < options->nfirst && status == SESSION_OK; k++)
        status = options->first[k].library ? run_library(L, options->first[k].text)
                                           : run_code(L, options->first[k].text, keep);
    return status;
}

/* Before everything that is run for a prompt. Failures are told, and end nothing. */
static void prepare_prompt(lua_State *L, const options *options) {
    session_call(L, "neap.interp.repl", "open", 0);
    if (!options->no_startup)
        session_call(L, "neap.interp.startup", "run", 0);
    lua_settop(L, 0);
}

/* Runs a script and writes it as a page. SESSION_FAILED, too, where the page shows an error. */
static int run_page(lua_State *L, const char *script) {
    lua_pushstring(L, script);
    int status = session_call(L, "neap.interp.html", "run", 1);
    if (status == SESSION_OK && !lua_toboolean(L, -1))
        status = SESSION_FAILED;
    lua_settop(L, 0);
    return status;
}

/* Whether the script of the command line can be opened; told, if not. A prompt that follows it would be of no use. */
static bool has_script(char **argv, const options *options) {
    const char *path = options->script > 0 && strcmp(argv[options->script], "-") != 0 ? argv[options->script] : NULL;
    if (!path || access(path, R_OK) == 0)
        return true;
    fprintf(stderr, "neap: cannot open %s: %s\n", path, strerror(errno));
    return false;
}

/* What the command line asks for, in order; stops at the first failure unless the prompt follows. */
static int run_all(lua_State *L, int argc, char **argv, const options *options) {
    if (options->prompt && !has_script(argv, options))
        return SESSION_FAILED;
    int status = options->strict ? session_call(L, "neap.interp.strict", "everywhere", 0) : SESSION_OK;
    if (options->html)
        return status == SESSION_OK ? run_page(L, argv[options->script]) : status;
    bool from_input = options->script == 0 && options->ncode == 0 && !options->prompt && !isatty(STDIN_FILENO);
    bool nothing_else = options->script == 0 && options->ncode == 0 && !from_input;
    bool prompt = options->prompt || nothing_else;
    if (prompt)
        prepare_prompt(L, options);
    if (status == SESSION_OK)
        status = run_first(L, options, prompt);
    if ((options->script > 0 || from_input) && status == SESSION_OK)
        status = run_script(L, argc, argv, options->script, prompt);
    if (prompt) {
        signals_catch(L, true);
        signals_forget(L);
        status = repl_run(L);
    }
    return status;
}

/* Whoever started us may have closed standard streams. Their numbers must not go to files that we open, or a print
 * would write there. What takes their place cannot be written, so that a print still fails. */
static void keep_standard_streams(void) {
    int fd;
    do {
        fd = open("/dev/null", O_RDONLY);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* Several processes, of which one has the terminal, cannot all read from it. */
static int check_processes(char **argv, const options *options) {
    bool reads = options->prompt || (options->script == 0 && options->ncode == 0) ||
                 (options->script > 0 && strcmp(argv[options->script], "-") == 0);
    if (*processes_mark() != '\0' && options->restart) {
        fprintf(stderr, "neap: %s--restart stands in front of mpirun: neap --restart %d mpirun ... neap script.lua\n",
                processes_mark(), options->restart);
        return -1;
    }
    if (*processes_mark() == '\0' || options->doctor || !reads)
        return 0;
    fprintf(stderr,
            "neap: %sthe prompt, and a program on standard input, need a single process: under mpirun give the name of "
            "a script, or -e CODE\n",
            processes_mark());
    return -1;
}

int main(int argc, char **argv) {
    static options options; /* it may be in use until the process ends */
    keep_standard_streams();
    signals_survive_writes();
    if (options_parse(argc, argv, &options) < 0)
        return SESSION_USAGE;
    if (options.help || options.version) {
        if (options.help)
            options_print_help(stdout);
        else
            printf("neap %s\n", neap_version());
        return finish_stdout(SESSION_OK);
    }
    if (check_processes(argv, &options) < 0)
        return SESSION_USAGE;
    if (!options.restart && (start_timeline(&options) < 0 || start_engine(&options) < 0))
        return SESSION_FAILED;
    lua_State *L = session_new(argc, argv, options.script);
    if (!L) {
        fprintf(stderr, "neap: out of memory\n");
        return SESSION_FAILED;
    }
    if (options.restart)
        session_exit(L, restart_main(L, argc, argv, &options), true);
    signals_catch(L, false);
    int status = options.doctor ? finish_stdout(doctor_run(L)) : session_load_library(L);
    if (status == SESSION_OK && options.kernel > 0)
        status = kernel_main(L, argc - options.kernel, argv + options.kernel);
    else if (status == SESSION_OK && !options.doctor)
        status = run_all(L, argc, argv, &options);
    options_free(&options);
    session_exit(L, status, true);
}
