/* kernel.c: the channels of a Jupyter kernel (interp/kernel/) as functions for Lua, the module neap.interp.channels.
 *
 * What messages mean is decided in Lua (kernel_loop.lua and its kin), on the user thread. A request is a userdata that
 * owns its message.
 */
#include "interp/kernel.h"

#include <lauxlib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "effects/effects.h"
#include "interp/indent.h"
#include "interp/kernel/channels.h"
#include "interp/kernel/libs.h"
#include "interp/session.h"
#include "interp/signals.h"

static const char request_name[] = "neap.request";

static int free_request(lua_State *L) {
    kernel_message **held = luaL_checkudata(L, 1, request_name);
    kernel_message_free(*held);
    *held = NULL;
    return 0;
}

/* The message of the request at a stack index; NULL where that is nil. */
static const kernel_message *request_at(lua_State *L, int index) {
    if (lua_isnoneornil(L, index))
        return NULL;
    return *(kernel_message **)luaL_checkudata(L, index, request_name);
}

static kernel_part text_at(lua_State *L, int index) {
    kernel_part part;
    part.at = (char *)luaL_checklstring(L, index, &part.bytes);
    return part;
}

/* open(endpoints, key, session, watched): starts the channels; nil, or what is wrong. endpoints: shell, control, stdin,
 * iopub, heartbeat. watched: the kernel ends when the process that has started this one is gone. */
static int channels_open(lua_State *L) {
    kernel_setup setup = {
        .session = luaL_checkstring(L, 3), .waker = neap_ctx_waker(session_context(L)), .watched = lua_toboolean(L, 4)};
    setup.key = luaL_checklstring(L, 2, &setup.key_bytes);
    for (int k = 0; k < KERNEL_CHANNELS; k++) {
        lua_rawgeti(L, 1, k + 1);
        setup.endpoints[k] = luaL_checkstring(L, -1);
    }
    lua_pushstring(L, kernel_open(&setup));
    return 1;
}

static void on_limit(int signal_number) {
    (void)signal_number;
    _exit(SESSION_FAILED);
}

/* Nobody can press Ctrl-C where finalizers run for ever, and who has started the kernel may be gone. */
static void limit_end(void) {
    enum { END_S = 5 };
    struct sigaction action = {.sa_handler = on_limit};
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    alarm(END_S);
}

/* close(): sends what is queued, and ends the channels, before the end of the process. */
static int channels_close(lua_State *L) {
    (void)L;
    kernel_close();
    limit_end();
    return 0;
}

/* take(of_stdin): the next request with its channel ("shell", "control", "stdin"), header, metadata, content and its
 * number of buffers; nil: none. */
static int channels_take(lua_State *L) {
    static const char *const names[] = {"shell", "control", "stdin"};
    kernel_message **held = lua_newuserdata(L, sizeof *held);
    *held = NULL;
    luaL_getmetatable(L, request_name);
    lua_setmetatable(L, -2);
    *held = kernel_take(lua_toboolean(L, 1));
    if (!*held)
        return 0;
    lua_pushstring(L, names[(*held)->channel]);
    for (int which = 0; which < KERNEL_SIGNED; which++) {
        const kernel_part *part = kernel_message_part(*held, which);
        if (which != KERNEL_PARENT)
            lua_pushlstring(L, part->at, part->bytes);
    }
    return 5;
}

/* answer(request, type, content): on the request's channel. */
static int channels_answer(lua_State *L) {
    const kernel_message *request = request_at(L, 1);
    if (!request || !kernel_answer(request, request->channel, luaL_checkstring(L, 2), text_at(L, 3)))
        kernel_complain("there is no memory for an answer");
    return 0;
}

/* ask(request, content): an input_request to who sent the request. */
static int channels_ask(lua_State *L) {
    const kernel_message *request = request_at(L, 1);
    if (!request || !kernel_answer(request, KERNEL_STDIN, "input_request", text_at(L, 2)))
        return luaL_error(L, "there is no memory for a question");
    return 0;
}

/* publish(request, type, content [, metadata]): nil as the request: what causes text now is the parent. */
static int channels_publish(lua_State *L) {
    kernel_part metadata = {"{}", 2};
    if (!lua_isnoneornil(L, 4))
        metadata = text_at(L, 4);
    if (!kernel_publish(request_at(L, 1), luaL_checkstring(L, 2), metadata, text_at(L, 3)))
        kernel_complain("there is no memory for a message");
    return 0;
}

/* begin(request): a cell begins. Text is the cell's from here on, also what comes when nothing runs. */
static int channels_begin(lua_State *L) {
    luaL_checkudata(L, 1, request_name);
    uint32_t source = kernel_source_new(request_at(L, 1));
    kernel_flush(); /* what children have written by now is not the cell's */
    kernel_streams_current(source);
    neap_out_set_source(source);
    return 0;
}

/* flush(): text so far is on its way. */
static int channels_flush(lua_State *L) {
    (void)L;
    kernel_flush();
    return 0;
}

/* made(): the number of messages that were made so far; behind flush(), those of all text so far too. */
static int channels_made(lua_State *L) {
    lua_pushnumber(L, (lua_Number)kernel_made());
    return 1;
}

/* room(): whether more may be published; else the context's waker is woken when it may. */
static int channels_room(lua_State *L) {
    lua_pushboolean(L, kernel_room());
    return 1;
}

/* orphaned(): whether the kernel is watched, and the process that has started this one is gone. */
static int channels_orphaned(lua_State *L) {
    lua_pushboolean(L, kernel_orphaned());
    return 1;
}

/* complain(text): to the stderr of the process. */
static int channels_complain(lua_State *L) {
    kernel_complain("%s", luaL_checkstring(L, 1));
    return 0;
}

/* clean(text): the text in UTF-8, with U+FFFD for what is not. */
static int channels_clean(lua_State *L) {
    kernel_part given = text_at(L, 1);
    kernel_text text = {0};
    kernel_text_clean(&text, given.at, given.bytes);
    bool lost = text.lost;
    lua_pushlstring(L, text.at ? text.at : "", lost ? 0 : text.used);
    free(text.at);
    return lost ? luaL_error(L, "not enough memory") : 1;
}

/* check(): nil, or what is missing for a kernel. */
static int channels_check(lua_State *L) {
    lua_pushstring(L, kernel_libs_load());
    return 1;
}

/* indent(text): columns for the line behind it. */
static int channels_indent(lua_State *L) {
    size_t bytes;
    const char *text = luaL_checklstring(L, 1, &bytes);
    lua_pushinteger(L, (lua_Integer)indent_of_next(text, bytes));
    return 1;
}

int kernel_open_module(lua_State *L) {
    static const luaL_Reg functions[] = {{"open", channels_open},         {"close", channels_close},
                                         {"take", channels_take},         {"answer", channels_answer},
                                         {"ask", channels_ask},           {"publish", channels_publish},
                                         {"begin", channels_begin},       {"flush", channels_flush},
                                         {"made", channels_made},         {"room", channels_room},
                                         {"orphaned", channels_orphaned}, {"complain", channels_complain},
                                         {"indent", channels_indent},     {"clean", channels_clean},
                                         {"check", channels_check},       {NULL, NULL}};
    luaL_newmetatable(L, request_name);
    lua_pushcfunction(L, free_request);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
    lua_newtable(L);
    luaL_register(L, NULL, functions);
    return 1;
}

int kernel_main(lua_State *L, int argc, char **argv) {
    signals_catch(L, true);
    for (int k = 0; k < argc; k++)
        lua_pushstring(L, argv[k]);
    int status = session_call(L, "neap.interp.kernel_command", "run", argc);
    lua_settop(L, 0);
    return status;
}
