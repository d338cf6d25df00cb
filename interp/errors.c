/* errors.c: the text of uncaught errors. See errors.h.
 *
 * What looks at the stack is C, and not Lua, since a stack that has overflowed has no room for a Lua function. The
 * source line is added when the stack has been unwound (neap.interp.excerpt).
 */
#include "interp/errors.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "interp/session.h"

enum {
    MAX_FRAMES = 20, /* at each end of a deep stack */
    FIRST = 4096,    /* bytes of a text that need no memory */
    TYPE_CDATA = 10  /* LuaJIT's own type, which lua.h does not name */
};

typedef struct error_text {
    char *at; /* `first`, until that is full */
    size_t used, room;
    char first[FIRST];
} error_text;

/* What waits for errors_text: the message, the frames behind it, the source and line of the function that raised it;
 * and what errors_text and errors_line returned last. */
static error_text kept = {.at = kept.first, .room = FIRST}, kept_frames = {.at = kept_frames.first, .room = FIRST},
                  kept_source = {.at = kept_source.first, .room = FIRST}, last = {.at = last.first, .room = FIRST},
                  shown = {.at = shown.first, .room = FIRST};
static int kept_line; /* 0: not known */

static void clear_text(error_text *text) {
    text->used = 0;
    text->at[0] = '\0';
}

static void enlarge_text(error_text *text, size_t room) {
    char *at = malloc(room);
    if (!at)
        return;
    memcpy(at, text->at, text->used);
    if (text->at != text->first)
        free(text->at);
    text->at = at;
    text->room = room;
}

/* What there is no memory for is cut. */
static void append_text(error_text *text, const char *part) {
    size_t bytes = strlen(part);
    if (text->used + bytes >= text->room)
        enlarge_text(text, 2 * text->room + bytes);
    if (bytes > text->room - text->used - 1)
        bytes = text->room - text->used - 1;
    memcpy(text->at + text->used, part, bytes);
    text->used += bytes;
    text->at[text->used] = '\0';
}

/* ---- The message ------------------------------------------------------------------------------------------------ */

/* Appends how the prompt shows the value at the bottom of the stack in a list. */
static void append_value(lua_State *L, error_text *text) {
    if (session_push_function(L, "neap.interp.show", "brief")) {
        lua_pushvalue(L, 1);
        if (lua_pcall(L, 1, 1, 0) == 0 && lua_isstring(L, -1)) {
            append_text(text, ": ");
            append_text(text, lua_tostring(L, -1));
        }
    }
}

/* An error value that knows its text gives it; what else is no text is named by its type, a table shown, too. */
static void append_message(lua_State *L, error_text *text) {
    const char *message = lua_tostring(L, 1);
    if (!message && luaL_getmetafield(L, 1, "__tostring")) {
        lua_pushvalue(L, 1);
        if (lua_pcall(L, 1, 1, 0) == 0)
            message = lua_tostring(L, -1);
    }
    if (message) {
        append_text(text, message);
    } else {
        append_text(text, "error value of type ");
        append_text(text, luaL_typename(L, 1));
        if (lua_istable(L, 1))
            append_value(L, text);
    }
    lua_settop(L, 1);
}

/* Whether the text is LuaJIT's own message of a stack overflow, which it gives without a place. */
static bool is_bare_overflow(const error_text *text) {
    return strcmp(text->at, "stack overflow") == 0;
}

/* ---- The frames ------------------------------------------------------------------------------------------------- */

/* The number of frames above C's own. Levels are looked for from the top each time, so few are asked for. */
static int stack_depth(lua_State *L) {
    lua_Debug frame;
    int low = 0, high = 1;
    while (lua_getstack(L, high, &frame)) {
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (lua_getstack(L, middle, &frame))
            low = middle;
        else
            high = middle;
    }
    return high;
}

static bool read_users_frame(lua_State *L, int level, lua_Debug *frame) {
    return lua_getstack(L, level, frame) && lua_getinfo(L, "Sln", frame) && strcmp(frame->what, "C") != 0 &&
           strncmp(frame->source, "@neap/", 6) != 0;
}

/* Goes from level `from` by `step` until MAX_FRAMES frames of the user are noted in `levels` or `to` is reached, which
 * is not looked at. Returns where it stopped; *count says how many are noted. */
static int find_users_frames(lua_State *L, int from, int to, int step, int *levels, int *count) {
    lua_Debug frame;
    for (*count = 0; from != to && *count < MAX_FRAMES; from += step)
        if (read_users_frame(L, from, &frame))
            levels[(*count)++] = from;
    return from;
}

/* Whether a function was called by Lua code whose source begins so. */
static bool is_called_from(lua_State *L, int level, const char *source) {
    lua_Debug caller;
    return lua_getstack(L, level + 1, &caller) && lua_getinfo(L, "S", &caller) &&
           strncmp(caller.source, source, strlen(source)) == 0;
}

/* Whether a frame is that of a whole chunk. One that the prompt has compiled is a function, which the prompt calls. */
static bool is_chunk(lua_State *L, int level, const lua_Debug *frame) {
    return strcmp(frame->what, "main") == 0 || is_called_from(L, level, "@neap/interp/");
}

static void format_frame(lua_State *L, int level, const lua_Debug *frame, char *line, size_t room) {
    char place[LUA_IDSIZE + 16];
    if (frame->currentline > 0)
        snprintf(place, sizeof place, "%s:%d", frame->short_src, frame->currentline);
    else
        snprintf(place, sizeof place, "%s", frame->short_src);
    if (is_chunk(L, level, frame))
        snprintf(line, room, "%s: in main chunk", place);
    else if (frame->name && !is_called_from(L, level, "@neap/")) /* what the library calls it means nothing */
        snprintf(line, room, "%s: in function '%.80s'", place, frame->name);
    else
        snprintf(line, room, "%s: in function <%s:%d>", place, frame->short_src, frame->linedefined);
}

static void append_repeated(error_text *text, bool called, const char *line, int times) {
    char note[32];
    append_text(text, called ? "\n  called at " : "\n  at ");
    append_text(text, line);
    if (times > 1) {
        snprintf(note, sizeof note, " (%d times)", times);
        append_text(text, note);
    }
}

/* Frames that look the same, as those of a function that calls itself do, are one line. `called`: the first is a caller
 * too. */
static void append_levels(lua_State *L, const int *levels, int count, int step, bool called, error_text *text) {
    char line[LUA_IDSIZE + 160], before[LUA_IDSIZE + 160] = "";
    lua_Debug frame;
    int times = 0;
    for (int k = 0; k < count; k++, levels += step) {
        if (!read_users_frame(L, *levels, &frame))
            continue;
        format_frame(L, *levels, &frame, line, sizeof line);
        if (times > 0 && strcmp(line, before) != 0) {
            append_repeated(text, called, before, times);
            called = true;
            times = 0;
        }
        memcpy(before, line, sizeof line);
        times++;
    }
    if (times > 0)
        append_repeated(text, called, before, times);
}

/* Whether the text so far begins with the place of this frame: "script.lua:3:". */
static bool names_frame(lua_State *L, int level, const error_text *text) {
    lua_Debug frame;
    char place[LUA_IDSIZE + 16];
    if (!read_users_frame(L, level, &frame))
        return false;
    int n = snprintf(place, sizeof place, "%s:%d:", frame.short_src, frame.currentline);
    return strncmp(text->at, place, (size_t)n) == 0;
}

/* A LuaJIT without our patch reads wild memory when asked for the frames of a stack that overflowed. */
static bool can_read_frames(const error_text *text) {
    static const char overflow[] = "stack overflow";
    size_t n = sizeof overflow - 1;
    return strncmp(NEAP_LUAJIT_VARIANT, "packaged", 8) != 0 || text->used < n ||
           strcmp(text->at + text->used - n, overflow) != 0;
}

/* Notes where the function of a frame was: for the source line, and in front of a message that has no place. */
static void keep_place(lua_State *L, int level) {
    lua_Debug frame;
    char place[LUA_IDSIZE + 16];
    if (!read_users_frame(L, level, &frame) || frame.currentline <= 0)
        return;
    append_text(&kept_source, frame.source);
    kept_line = frame.currentline;
    if (is_bare_overflow(&kept)) {
        snprintf(place, sizeof place, "%s:%d: ", frame.short_src, frame.currentline);
        clear_text(&kept);
        append_text(&kept, place);
        append_text(&kept, "stack overflow");
    }
}

static void append_frames(lua_State *L, error_text *text) {
    int first[MAX_FRAMES], last_ones[MAX_FRAMES], nfirst, nlast, depth = stack_depth(L);
    int upper = find_users_frames(L, 0, depth, 1, first, &nfirst);
    int lower = find_users_frames(L, depth - 1, upper - 1, -1, last_ones, &nlast);
    if (nfirst == 0)
        return;
    for (int k = 0; k < nfirst && kept_line == 0; k++) /* the newest of a stack that overflowed may not be known */
        keep_place(L, first[k]);
    if (nfirst == 1 && nlast == 0 && names_frame(L, first[0], &kept))
        return; /* the message says it all */
    append_levels(L, first, nfirst, 1, false, text);
    if (lower >= upper) {
        char line[64];
        snprintf(line, sizeof line, "\n  ... (%d more)", lower - upper + 1);
        append_text(text, line);
    }
    if (nlast > 0)
        append_levels(L, last_ones + nlast - 1, nlast, -1, true, text);
    if (strncmp(NEAP_LUAJIT_VARIANT, "packaged", 8) == 0)
        append_text(text, "\n  (... tail calls are not told)");
}

/* Lua's messages, and those of functions that were called as methods of np, say more in slips.lua's words. */
static void explain_message(lua_State *L, error_text *text) {
    static const char *const known[] = {"cdata)", "attempt to ", "bad argument", "'for' ", "module '", "np."};
    bool found = false;
    for (size_t k = 0; !found && k < sizeof known / sizeof *known; k++)
        found = strstr(text->at, known[k]) != NULL;
    if (!found)
        return;
    if (session_push_function(L, "neap.interp.slips", "explain")) {
        lua_pushlstring(L, text->at, text->used);
        if (lua_pcall(L, 1, 1, 0) == 0 && lua_isstring(L, -1)) {
            clear_text(text);
            append_text(text, lua_tostring(L, -1));
        }
    }
    lua_settop(L, 1);
}

/* ---- Who looks at failures --------------------------------------------------------------------------------------- */

static int witness = LUA_NOREF; /* a function in the registry */

void errors_watch(lua_State *L) {
    luaL_unref(L, LUA_REGISTRYINDEX, witness);
    witness = luaL_ref(L, LUA_REGISTRYINDEX);
}

/* A stack that has overflowed has no room for the function. */
static void call_witness(lua_State *L, const error_text *text) {
    static const char overflow[] = "stack overflow";
    if (witness == LUA_NOREF || strstr(text->at, overflow))
        return;
    lua_rawgeti(L, LUA_REGISTRYINDEX, witness);
    lua_pushlstring(L, text->at, text->used);
    if (lua_pcall(L, 1, 0, 0) != 0)
        lua_pop(L, 1);
}

/* ---- For the session --------------------------------------------------------------------------------------------- */

static void forget_error(void) {
    clear_text(&kept);
    clear_text(&kept_frames);
    clear_text(&kept_source);
    kept_line = 0;
}

int errors_handle(lua_State *L) {
    forget_error();
    append_message(L, &kept);
    explain_message(L, &kept);
    call_witness(L, &kept);
    if (can_read_frames(&kept))
        append_frames(L, &kept_frames);
    return 1;
}

/* Whether who reads stderr sees colours and wants them. */
static bool wants_colours(void) {
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && !(refused && *refused) && terminal && strcmp(terminal, "dumb") != 0;
}

/* The columns of the terminal that stderr is; 0: it is none. */
static int terminal_columns(void) {
    struct winsize window;
    return isatty(STDERR_FILENO) && ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

/* Appends to `last` what the function `name` of neap.interp.excerpt gives for the message. */
static int try_excerpt(lua_State *L) {
    const char *name = lua_touserdata(L, 1);
    if (!session_push_function(L, "neap.interp.excerpt", name))
        return lua_error(L);
    lua_pushstring(L, kept.at);
    lua_pushstring(L, kept_source.used > 0 ? kept_source.at : NULL);
    lua_pushinteger(L, kept_line);
    lua_pushboolean(L, wants_colours());
    lua_pushinteger(L, terminal_columns());
    lua_call(L, 5, 1);
    append_text(&last, luaL_checkstring(L, -1));
    return 0;
}

/* Returns whether it gave something: it does not without memory, nor before the library is loaded. */
static bool append_excerpt(lua_State *L, char *name) {
    int top = lua_gettop(L);
    bool good = lua_cpcall(L, try_excerpt, name) == 0;
    lua_settop(L, top);
    return good;
}

const char *errors_text(lua_State *L) {
    static char plain[] = "plain", of[] = "of";
    if (kept.used == 0) {
        forget_error();
        append_text(&kept, lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "error without a text");
    }
    clear_text(&last);
    if (!append_excerpt(L, plain))
        append_text(&last, kept.at);
    append_excerpt(L, of);
    append_text(&last, kept_frames.at);
    clear_text(&kept);
    return last.at;
}

const char *errors_line(const char *before) {
    clear_text(&shown);
    append_text(&shown, before);
    append_text(&shown, last.at);
    append_text(&shown, "\n");
    shown.at[shown.used - 1] = '\n'; /* also of one that was cut */
    return shown.at;
}
