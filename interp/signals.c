/* signals.c: SIGINT, SIGTERM and the signals that end a prompt. See signals.h. */
#include "interp/signals.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "interp/line.h"
#include "interp/session.h"
#include "interp/system.h"

enum {
    NUDGE_MS = 50,
    TERMINATION_MS = 800 /* from SIGTERM to the end, at most: mpirun sends SIGKILL after a second */
};

/* What the handlers need; written before they are installed. */
static lua_State *interrupt_state; /* NULL: no code is stopped */
static bool prompting;
static timer_t nudge_timer;
static bool nudges;
static timer_t termination_timer;

static volatile sig_atomic_t presses;      /* since the last command began */
static volatile sig_atomic_t terminations; /* SIGTERMs that came */
static volatile sig_atomic_t told;         /* the end by SIGTERM has been told, or needs not be */
static volatile sig_atomic_t finalizing;   /* finalizers run, for the end of the process */

/* Whether a chunk of the library only reads texts: it holds nothing that an error would leave open, and the text may be
 * long. */
static bool reads_texts(const char *source) {
    static const char *const chunks[] = {"core/lexer",    "core/source",     "core/misuse",  "core/near",
                                         "interp/tokens", "interp/mistakes", "interp/slips", "interp/excerpt",
                                         "interp/infer",  "interp/complete"};
    for (size_t k = 0; k < sizeof chunks / sizeof *chunks; k++) {
        size_t n = strlen(chunks[k]);
        if (strncmp(source + 6, chunks[k], n) == 0 && strcmp(source + 6 + n, ".lua") == 0)
            return true;
    }
    return false;
}

/* What runs; in place of a function of Lua's own that is written in Lua (table.remove), who has called it. */
static void find_code(lua_State *L, lua_Debug *ar) {
    lua_getinfo(L, "Sl", ar);
    for (int level = 1; strncmp(ar->short_src, "[builtin:", 9) == 0 && lua_getstack(L, level, ar); level++)
        lua_getinfo(L, "Sl", ar);
}

/* Raises the interrupt in the user's code. Most of the library's frames are left alone: they may be between the two
 * ends of a bracket, and raise it themselves where that is safe. Stays installed, so the error cannot be caught for
 * good. */
static void raise_interrupt(lua_State *L, lua_Debug *ar) {
    find_code(L, ar);
    if (strncmp(ar->source, "@neap/", 6) != 0)
        lua_pushfstring(L, "%s:%d: interrupted", ar->short_src, ar->currentline);
    else if (reads_texts(ar->source))
        lua_pushliteral(L, "interrupted");
    else
        return;
    lua_error(L);
}

/* Stops Lua's code; for signal handlers, from which lua_sethook is made to be called. */
static void stop_code(void) {
    if (interrupt_state)
        lua_sethook(interrupt_state, raise_interrupt, LUA_MASKCOUNT, 1);
    if (nudges) {
        struct itimerspec soon = {.it_interval = {.tv_nsec = NUDGE_MS * 1000000L},
                                  .it_value = {.tv_nsec = NUDGE_MS * 1000000L}};
        timer_settime(nudge_timer, 0, &soon, NULL);
    }
}

/* SIGINT's handler. */
static void on_interrupt(int signal_number, siginfo_t *info, void *machine) {
    (void)signal_number, (void)machine;
    bool from_terminal = info->si_code > 0;
    if (finalizing) /* no hook would stop them */
        _exit(SESSION_INTERRUPTED);
    presses++;
    neap_interrupt_raise();
    if (!system_pass_interrupt(from_terminal) && !prompting && presses > 2)
        _exit(SESSION_INTERRUPTED);
    stop_code();
}

/* SIGTERM's handler, while a script runs: as Ctrl-C, but the process ends, and soon. */
static void on_terminate(int signal_number) {
    (void)signal_number;
    if (terminations++ > 0)
        return;
    struct itimerspec limit = {.it_value = {.tv_nsec = TERMINATION_MS * 1000000L}};
    timer_settime(termination_timer, 0, &limit, NULL);
    presses++;
    neap_interrupt_raise();
    system_terminate_child();
    stop_code();
}

static void on_termination_limit(int signal_number) {
    (void)signal_number;
    static const char text[] = "neap: terminated (SIGTERM) before everything that was printed had come out\n";
    if (!told && write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(SESSION_TERMINATED); /* nobody reads it */
    _exit(SESSION_TERMINATED);
}

static void catch_termination(void) {
    struct sigaction action = {.sa_handler = on_termination_limit};
    sigemptyset(&action.sa_mask);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    if (sigaction(SIGALRM, &action, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, &termination_timer) == 0) {
        action.sa_handler = on_terminate; /* no SA_RESTART, see below */
        sigaction(SIGTERM, &action, NULL);
    }
}

/* Of signals that end a prompt at once, and of crashes. The action is the usual one again. */
static void on_end(int signal_number) {
    line_restore_terminal();
    raise(signal_number);
}

/* Has the terminal left in order by signals that end the process. A signal that is ignored, as SIGHUP is under nohup,
 * or that somebody else handles, stays so; but a prompt takes SIGTERM. */
static void catch_ends(bool prompt) {
    static const int signals[] = {SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action = {.sa_handler = on_end, .sa_flags = SA_RESETHAND | SA_NODEFER}, before;
    sigemptyset(&action.sa_mask);
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
        if (sigaction(signals[k], NULL, &before) == 0 &&
            (before.sa_handler == SIG_DFL || (prompt && signals[k] == SIGTERM)))
            sigaction(signals[k], &action, NULL);
}

static void ignore_signal(int signal_number) {
    (void)signal_number;
}

void signals_survive_writes(void) {
    static const int signals[] = {SIGPIPE, SIGXFSZ};
    struct sigaction action = {.sa_handler = ignore_signal, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
        if (sigaction(signals[k], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(signals[k], &action, NULL);
}

/* A signal that arrives right before a system call does not end that call. So it is followed by others, which do
 * nothing but end the call, until the interrupt has been dealt with. */

static void prepare_nudges(void) {
    struct sigaction action = {.sa_handler = ignore_signal};
    sigemptyset(&action.sa_mask);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGURG};
    nudges = sigaction(SIGURG, &action, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, &nudge_timer) == 0;
}

void signals_catch(lua_State *L, bool prompt) {
    interrupt_state = L;
    prompting = prompt;
    if (!nudges)
        prepare_nudges();
    struct sigaction action = {.sa_sigaction = on_interrupt, .sa_flags = SA_SIGINFO}; /* no SA_RESTART, see above */
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    if (!prompt)
        catch_termination();
    else
        catch_ends(true);
}

void signals_guard_terminal(void) {
    catch_ends(false);
}

void signals_clear(lua_State *L) {
    neap_interrupt_clear();
    if (lua_gethook(L) == raise_interrupt) /* a hook of the user stays */
        lua_sethook(L, NULL, 0, 0);
    if (nudges)
        timer_settime(nudge_timer, 0, &(struct itimerspec){0}, NULL);
}

void signals_forget(lua_State *L) {
    if (terminations == 0) {
        signals_clear(L);
        presses = 0;
    }
}

int signals_presses(void) {
    return presses;
}

bool signals_terminated(void) {
    return terminations > 0;
}

bool signals_prompt(void) {
    return prompting;
}

void signals_finalize(bool on) {
    if (on)
        interrupt_state = NULL;
    finalizing = on;
}

void signals_termination_told(void) {
    told = true;
}
