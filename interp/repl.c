/* repl.c: the prompt: reads a command, runs it, shows its values.
 *
 * What a command means (expressions, completeness, how values look) is decided in neap.interp.repl; this file moves
 * lines and keeps the order: text written so far, then the prompt; an interrupt cancels the line or the command, and
 * is cleared only here.
 */
#include "interp/repl.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "effects/effects.h"
#include "interp/line.h"
#include "interp/session.h"
#include "interp/signals.h"
#include "lazy/lazy.h"

static lua_State *prompt_state;

/* ---- History file ------------------------------------------------------------------------------------------------ */

/* Makes the folder of `path` and those above it, for this user alone. */
static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700); /* a failure shows when the history is written */
        *slash = '/';
    }
}

/* $XDG_STATE_HOME/neap/history, or ~/.local/state/neap/history. OWNED; NULL if there is no home. */
static char *history_path(void) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int length = -1;
    if (state && state[0] == '/')
        length = asprintf(&path, "%s/neap/history", state);
    else if (home && home[0] == '/')
        length = asprintf(&path, "%s/.local/state/neap/history", home);
    if (length < 0)
        return NULL;
    make_folders(path);
    return path;
}

/* ---- What the editor asks ---------------------------------------------------------------------------------------- */

static void free_words(char **words, size_t count) {
    for (size_t k = 0; k < count; k++)
        free(words[k]);
    free(words);
}

/* Copies the list of strings at the top of the stack. */
static char **copy_words(lua_State *L) {
    size_t count = lua_objlen(L, -1);
    char **words = count > 0 ? calloc(count + 1, sizeof *words) : NULL;
    for (size_t k = 0; words && k < count; k++) {
        lua_rawgeti(L, -1, (int)k + 1);
        words[k] = strdup(luaL_optstring(L, -1, ""));
        lua_pop(L, 1);
        if (!words[k]) {
            free_words(words, k);
            return NULL;
        }
    }
    return words;
}

/* Calls function `name` of a module with the `count` values at the top of the stack. What it returns is then at the
 * top. Nothing is told of a failure: false. */
static bool ask(lua_State *L, const char *module, const char *name, int count) {
    int first = lua_gettop(L) - count + 1;
    if (!session_push_function(L, module, name))
        return false;
    for (int k = 0; k < count; k++)
        lua_pushvalue(L, first + k);
    return lua_pcall(L, count, 1, 0) == 0;
}

/* What Ctrl-C has kept from being read is not run: the editor takes the press before it asks for more. */
static bool is_incomplete(const char *command) {
    lua_State *L = prompt_state;
    int top = lua_gettop(L);
    lua_pushstring(L, command);
    bool incomplete = ask(L, "neap.interp.repl", "incomplete", 1) ? lua_toboolean(L, -1) : neap_interrupt_pending();
    lua_settop(L, top);
    return incomplete;
}

static char **complete_text(const char *text, int point, bool fold) {
    lua_State *L = prompt_state;
    int top = lua_gettop(L);
    lua_pushstring(L, text);
    lua_pushinteger(L, point);
    lua_pushboolean(L, fold);
    char **words = ask(L, "neap.interp.complete", "at", 3) && lua_istable(L, -1) ? copy_words(L) : NULL;
    lua_settop(L, top);
    return words;
}

static char *list_completions(void) {
    lua_State *L = prompt_state;
    int top = lua_gettop(L);
    char *list = ask(L, "neap.interp.complete", "list", 0) && lua_isstring(L, -1) ? strdup(lua_tostring(L, -1)) : NULL;
    lua_settop(L, top);
    return list;
}

/* ---- Callbacks while a line is edited ---------------------------------------------------------------------------- */

static bool callbacks_wait(void) {
    return neap_effects_requested(neap_ctx_effects(session_context(prompt_state))) != 0;
}

/* Ctrl-C stops the callback, which is told, and leaves the line. */
static void run_callbacks(void) {
    session_call(prompt_state, "neap.core", "run_callbacks", 0);
    session_call(prompt_state, "neap.core", "check_interrupt", 0);
    lua_settop(prompt_state, 0);
    signals_forget(prompt_state);
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

/* Returns whether Ctrl-C ended it. */
static bool run_command(lua_State *L, const char *command) {
    lua_pushstring(L, command);
    int status = session_call(L, "neap.interp.repl", "run", 1);
    lua_settop(L, 0);
    neap_effects_adopt(neap_ctx_effects(session_context(L)));
    return status == SESSION_INTERRUPTED;
}

/* Ctrl-C was pressed while a line was typed. `again`: the press before, too, and nothing was done since. */
static void deal_with_press(lua_State *L, bool again) {
    lua_pushboolean(L, again);
    session_call(L, "neap.interp.drain", "press", 1);
    lua_settop(L, 0);
    signals_forget(L);
}

/* A line of plain text at once, in order with everything written before. */
static void write_plain_text(const char *text) {
    neap_out_write(NEAP_STDOUT, text, strlen(text));
}

/* The editor for this input, opened. */
static const line_editor *open_editor(lua_State *L, bool terminal) {
    static const line_editor *editor;
    static line_setup setup; /* editors keep it */
    if (editor)
        return editor;
    editor = &line_plain;
#ifdef NEAP_HAVE_READLINE
    editor = terminal ? &line_readline : editor;
#else
    (void)terminal;
#endif
    setup = (line_setup){.waker = neap_ctx_waker(session_context(L)),
                         .complete = complete_text,
                         .completions = list_completions,
                         .incomplete = is_incomplete,
                         .history = history_path(),
                         .callbacks_wait = callbacks_wait,
                         .run_callbacks = run_callbacks};
    editor->open(&setup);
    return editor;
}

static bool on_terminal(void) {
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

int repl_read_command(lua_State *L) {
    char prompt[64], *command = NULL;
    lua_State *outer = prompt_state;
    snprintf(prompt, sizeof prompt, "%s", luaL_checkstring(L, 1));
    const line_editor *editor = open_editor(L, on_terminal());
    prompt_state = L; /* which may be a coroutine's */
    line_status status = editor->read(prompt, &command);
    prompt_state = outer;
    signals_forget(L);
    if (status == LINE_OK) {
        editor->remember(command);
        lua_pushstring(L, command);
        free(command);
    } else if (status == LINE_END) {
        if (editor == &line_plain)
            write_plain_text("\n"); /* what follows does not stand behind the prompt */
        lua_pushnil(L);
    } else {
        lua_pushboolean(L, 0);
    }
    return 1;
}

int repl_run(lua_State *L) {
    bool terminal = on_terminal();
    const line_editor *editor = open_editor(L, terminal);
    prompt_state = L;
    if (terminal) {
        char text[120];
        snprintf(text, sizeof text, "neap %s, arrays in np; Ctrl-C stops a command, Ctrl-D ends, :help tells more\n",
                 neap_version());
        write_plain_text(text);
    }
    for (bool pressed = false;;) {
        char *command = NULL;
        line_status status = editor->read("> ", &command);
        bool again = pressed || signals_presses() > 1;
        signals_forget(L);
        if (status == LINE_END)
            return SESSION_OK;
        if (status == LINE_OK) {
            editor->remember(command);
            pressed = run_command(L, command);
            free(command);
            signals_forget(L);
        } else {
            deal_with_press(L, again);
            pressed = true;
        }
    }
}
