/* session.c: the Lua state of the interpreter. See session.h. */
#include "interp/session.h"

#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "effects/effects.h"
#include "interp/embedded.h"

/* What SIGINT's handler needs; written before the handler is installed. */
static lua_State *interrupt_state;
static int interrupt_prompt; /* also: errors need no "neap:" in front */

/* ---- Modules ---------------------------------------------------------------------------------------------------- */

static int compare_name(const void *key, const void *entry) {
    return strcmp(key, ((const embedded_module *)entry)->name);
}

/* A package loader: finds modules that are compiled into the executable. */
static int load_embedded(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    const embedded_module *module =
        bsearch(name, embedded_modules, embedded_count, sizeof *embedded_modules, compare_name);
    if (module == NULL) {
        lua_pushfstring(L, "\n\tno module '%s' in the executable", name);
        return 1;
    }
    if (luaL_loadbuffer(L, (const char *)module->bytecode, module->bytes, module->chunk) != 0) {
        return luaL_error(L, "module '%s' in the executable is damaged: %s", name, lua_tostring(L, -1));
    }
    return 1;
}

/* Puts load_embedded right after package.preload, so no file of the current folder can shadow the library. */
static void install_loader(lua_State *L) {
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "loaders");
    for (int k = (int)lua_objlen(L, -1); k >= 2; k--) {
        lua_rawgeti(L, -1, k);
        lua_rawseti(L, -2, k + 1);
    }
    lua_pushcfunction(L, load_embedded);
    lua_rawseti(L, -2, 2);
    lua_pop(L, 2);
}

/* ---- The state -------------------------------------------------------------------------------------------------- */

/* os.exit([code]): true or nothing is 0, false is 1. */
static int os_exit(lua_State *L) {
    int status = lua_isboolean(L, 1) ? !lua_toboolean(L, 1) : (int)luaL_optinteger(L, 1, 0);
    session_exit(L, status);
}

static void set_arguments(lua_State *L, int argc, char **argv, int script) {
    lua_createtable(L, argc, 1);
    for (int k = 0; k < argc; k++) {
        lua_pushstring(L, argv[k]);
        lua_rawseti(L, -2, k - script);
    }
    lua_setglobal(L, "arg");
}

lua_State *session_new(int argc, char **argv, int script) {
    lua_State *L = luaL_newstate();
    if (L == NULL) {
        return NULL;
    }
    luaL_openlibs(L);
    install_loader(L);
    set_arguments(L, argc, argv, script);
    lua_getglobal(L, "os");
    lua_pushcfunction(L, os_exit);
    lua_setfield(L, -2, "exit");
    lua_pop(L, 1);
    return L;
}

int session_load_library(lua_State *L) {
    lua_getglobal(L, "require");
    lua_pushliteral(L, "neap");
    int status = session_run(L, 1);
    if (status == SESSION_OK) {
        lua_settop(L, 1);
        lua_setglobal(L, "np");
    }
    return status;
}

/* ---- Running ---------------------------------------------------------------------------------------------------- */

/* The error handler: neap.interp.errors turns the error value into the text that the user sees. */
static int describe_error(lua_State *L) {
    lua_getglobal(L, "require");
    lua_pushliteral(L, "neap.interp.errors");
    if (lua_pcall(L, 1, 1, 0) == 0) {
        lua_getfield(L, -1, "describe");
        lua_pushvalue(L, 1);
        if (lua_pcall(L, 1, 1, 0) == 0) {
            return 1;
        }
    }
    lua_settop(L, 1);
    return 1;
}

/* Writes the error at the top of the stack behind everything that the program printed before it. */
static void report_error(lua_State *L) {
    const char *text = lua_tostring(L, -1);
    if (text == NULL) {
        text = "error without a text";
    }
    lua_pushfstring(L, interrupt_prompt ? "%s\n" : "neap: %s\n", text);
    session_drain(L);
    size_t bytes;
    const char *line = lua_tolstring(L, -1, &bytes);
    neap_out_write(NEAP_STDERR, line, bytes);
    neap_out_drain();
    lua_pop(L, 1);
}

int session_run(lua_State *L, int nargs) {
    int base = lua_gettop(L) - nargs;
    lua_pushcfunction(L, describe_error);
    lua_insert(L, base);
    int status = lua_pcall(L, nargs, LUA_MULTRET, base);
    lua_remove(L, base);
    if (status == 0) {
        return SESSION_OK;
    }
    report_error(L);
    lua_settop(L, base - 1);
    return neap_interrupt_pending() ? SESSION_INTERRUPTED : SESSION_FAILED;
}

int session_run_chunk(lua_State *L, const char *name, int loaded, int nargs) {
    if (loaded != 0) {
        report_error(L);
        lua_settop(L, 0);
        return SESSION_FAILED;
    }
    int base = lua_gettop(L);
    lua_pushstring(L, name);
    int status = session_call(L, "neap.interp.sites", "enter", 1);
    lua_settop(L, base);
    if (status == SESSION_OK) {
        status = session_run(L, nargs);
    }
    lua_settop(L, 0);
    return status;
}

int session_call(lua_State *L, const char *module, const char *name, int nargs) {
    int base = lua_gettop(L) - nargs;
    lua_getglobal(L, "require");
    lua_pushstring(L, module);
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

/* ---- Interrupts ------------------------------------------------------------------------------------------------- */

/* Raises the interrupt in the user's code. The library's frames are left alone: they may be between the two ends of a
 * bracket, and raise it themselves where that is safe. Stays installed, so the error cannot be caught for good. */
static void raise_interrupt(lua_State *L, lua_Debug *ar) {
    lua_getinfo(L, "Sl", ar);
    if (strncmp(ar->source, "@neap/", 6) == 0) {
        return;
    }
    lua_pushfstring(L, "%s:%d: interrupted", ar->short_src, ar->currentline);
    lua_error(L);
}

/* SIGINT's handler; lua_sethook is made to be called from one. */
static void on_interrupt(int signal_number) {
    (void)signal_number;
    neap_interrupt_raise();
    if (!interrupt_prompt && neap_interrupt_pending() > 2) {
        _exit(SESSION_INTERRUPTED);
    }
    lua_sethook(interrupt_state, raise_interrupt, LUA_MASKCOUNT, 1);
}

void session_catch_interrupts(lua_State *L, int prompt) {
    interrupt_state = L;
    interrupt_prompt = prompt;
    struct sigaction action = {.sa_handler = on_interrupt}; /* no SA_RESTART: a blocked read must end */
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

void session_interrupt_clear(lua_State *L) {
    neap_interrupt_clear();
    lua_sethook(L, NULL, 0, 0);
}

/* ---- The end ---------------------------------------------------------------------------------------------------- */

void session_drain(lua_State *L) {
    int top = lua_gettop(L);
    fflush(stdout);
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "loaded");
    lua_getfield(L, -1, "neap");
    if (lua_istable(L, -1)) {
        lua_getfield(L, -1, "effects_barrier");
        if (lua_isfunction(L, -1)) {
            lua_pcall(L, 0, 0, 0); /* fails only by an interrupt, which its caller reports */
        }
    }
    lua_settop(L, top);
    neap_out_drain();
}

void session_exit(lua_State *L, int status) {
    session_drain(L);
    fflush(NULL);
    if (status == SESSION_OK && neap_interrupt_pending()) {
        status = SESSION_INTERRUPTED;
    } else if (status == SESSION_OK && neap_out_status() < 0) {
        status = SESSION_FAILED;
    }
    if (neap_timeline_stop() < 0) {
        fprintf(stderr, "neap: %s\n", neap_error_text());
        status = status == SESSION_OK ? SESSION_FAILED : status;
    }
    _exit(status);
}
