--- terminal.lua: which graphics the terminal has, and pictures as what it takes: kitty's graphics, sixel, characters.
--
-- What standard output is decides, and the environment: NEAP_GRAPHICS (kitty, sixel, blocks, window or none) before
-- all. A terminal that the environment does not tell is asked, once, if this process may: both standard input and
-- output are terminals, it is in the foreground, and nothing has been typed ahead that the answer would mix with. The
-- question is "do you know kitty's graphics?" and "what are you?", which all terminals answer; one that says nothing
-- for half a second has no graphics.
local ffi = require "ffi"
local core = require "neap.core"
local console = require "neap.effects.console"

local np, C = core.np, core.C
local terminal = {}

ffi.cdef [[
    int neap_plot_tcgetattr(int fd, void *modes) __asm__("tcgetattr");
    int neap_plot_tcsetattr(int fd, int when, const void *modes) __asm__("tcsetattr");
    void neap_plot_cfmakeraw(void *modes) __asm__("cfmakeraw");
    int neap_plot_tcgetpgrp(int fd) __asm__("tcgetpgrp");
    int neap_plot_getpgrp(void) __asm__("getpgrp");
    typedef struct neap_plot_pollfd { int fd; short events, revents; } neap_plot_pollfd;
    int neap_plot_poll(neap_plot_pollfd *fds, unsigned long count, int timeout_ms) __asm__("poll");
    long neap_plot_read(int fd, void *buffer, size_t bytes) __asm__("read");
    long neap_plot_write(int fd, const void *buffer, size_t bytes) __asm__("write");
]]
local libc = ffi.C

local MODES, POLLIN = 256, 1 -- bytes, more than a struct termios has
local WAIT_SECONDS, STEP_MS = 0.5, 5
local CELL_WIDTH, CELL_HEIGHT = 9, 18 -- pixels of a character where the terminal does not tell

--- Columns, rows, and pixels of a character of the terminal that standard output is; nil: it is none.
function terminal.size()
    if not console.is_terminal(1) then return nil end
    local columns, rows, width, height = console.window(1)
    if columns == 0 then return 80, 24, CELL_WIDTH, CELL_HEIGHT end
    if width == 0 or height == 0 then return columns, math.max(rows, 1), CELL_WIDTH, CELL_HEIGHT end
    return columns, rows, width / columns, height / rows
end

-- ---- Asking ---------------------------------------------------------------------------------------------------------

local QUESTION = "\27_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\27\\\27[c"

local function has_input()
    local fds = ffi.new("neap_plot_pollfd[1]", { { fd = 0, events = POLLIN } })
    return libc.neap_plot_poll(fds, 1, 0) > 0
end

--- What arrives until the answer to the last question, or until its time is over.
local function read_answer()
    local answer, buffer = "", ffi.new("char[?]", 256)
    local steps = WAIT_SECONDS * 1000 / STEP_MS
    while steps > 0 and not answer:find "\27%[%?[%d;]*c" do
        if has_input() then
            local count = libc.neap_plot_read(0, buffer, 256)
            if count <= 0 then break end
            answer = answer .. ffi.string(buffer, count)
            if answer:find "\3" then -- Ctrl-C, which is but a byte now
                C.neap_interrupt_raise()
                break
            end
        else
            C.neap_waker_sleep(core.waker, STEP_MS)
            if C.neap_interrupt_pending() ~= 0 then break end
            C.neap_waker_clear(core.waker)
            steps = steps - 1
        end
    end
    return answer
end

--- Whether the terminal may be asked now.
local function may_ask()
    return console.is_terminal(0) and console.is_terminal(1)
        and libc.neap_plot_tcgetpgrp(0) == libc.neap_plot_getpgrp() and not has_input()
end

--- Asks the terminal; returns "kitty", "sixel" or "blocks".
local function ask()
    np.effects_barrier()
    local before, raw = ffi.new("char[?]", MODES), ffi.new("char[?]", MODES)
    if libc.neap_plot_tcgetattr(0, before) ~= 0 then return "blocks" end
    ffi.copy(raw, before, MODES)
    libc.neap_plot_cfmakeraw(raw)
    libc.neap_plot_tcsetattr(0, 0, raw)
    local ok, answer = pcall(function()
        libc.neap_plot_write(1, QUESTION, #QUESTION)
        return read_answer()
    end)
    libc.neap_plot_tcsetattr(0, 0, before)
    if not ok then error(answer, 0) end
    core.check_interrupt()
    if answer:find("\27_Gi=31;OK", 1, true) then return "kitty" end
    local facts = answer:match "\27%[%?([%d;]*)c"
    return facts and (";" .. facts .. ";"):find(";4;", 1, true) and "sixel" or "blocks"
end

local KNOWN = { kitty = true, sixel = true, blocks = true, window = true, none = true }
local answered -- what the terminal has said

local function of_environment()
    local term, program = os.getenv "TERM" or "", os.getenv "TERM_PROGRAM" or ""
    if term == "dumb" then return "none" end
    if term == "linux" then return "blocks" end
    if os.getenv "TMUX" or term:find "^screen" or term:find "^tmux" then return nil end -- whatever it runs in
    if os.getenv "KITTY_WINDOW_ID" or term == "xterm-kitty" or term == "xterm-ghostty" or program == "WezTerm" then
        return "kitty"
    end
    if term:find "^foot" or term:find "^mlterm" or term:find "^yaft" then return "sixel" end
    return nil
end

--- How pictures are shown: "kitty", "sixel", "blocks", "window", or "none": as a line of text.
function terminal.graphics()
    local wanted = os.getenv "NEAP_GRAPHICS"
    if wanted and wanted ~= "" then
        if KNOWN[wanted] then return wanted end
        core.raise("plot.show", "the environment's NEAP_GRAPHICS is kitty, sixel, blocks, window or none, not '%s'",
                   wanted)
    end
    if not console.is_terminal(1) then return "none" end
    local known = of_environment() or answered
    if known then return known end
    if not may_ask() then return "blocks" end
    answered = ask()
    return answered
end

--- How many colours characters may have: "all", "some" or "none".
function terminal.colors()
    local plain = os.getenv "NO_COLOR"
    if plain and plain ~= "" or os.getenv "TERM" == "dumb" then return "none" end
    local kind = os.getenv "COLORTERM"
    return (kind == "truecolor" or kind == "24bit") and "all" or "some"
end

-- ---- Kitty's graphics -----------------------------------------------------------------------------------------------

local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local CHUNK = 4096 -- bytes of base64 that a sequence may hold

--- Bytes as base64 (RFC 4648).
function terminal.base64(bytes)
    local digits, n = ffi.cast("const uint8_t *", DIGITS), #bytes
    local from, out = ffi.cast("const uint8_t *", bytes), ffi.new("uint8_t[?]", 4 * math.floor((n + 2) / 3) + 1)
    local at = 0
    for k = 0, n - 1, 3 do
        local word = from[k] * 65536 + (k + 1 < n and from[k + 1] or 0) * 256 + (k + 2 < n and from[k + 2] or 0)
        out[at] = digits[math.floor(word / 262144)]
        out[at + 1] = digits[math.floor(word / 4096) % 64]
        out[at + 2] = k + 1 < n and digits[math.floor(word / 64) % 64] or 61
        out[at + 3] = k + 2 < n and digits[word % 64] or 61
        at = at + 4
    end
    return ffi.string(out, at)
end

--- A PNG as kitty's sequences. number: of the picture, which replaces one of that number; nil: it gets none.
function terminal.kitty(png, number)
    local text, parts = terminal.base64(png), {}
    local first = number and ("a=T,f=100,q=2,i=%d,p=1,"):format(number) or "a=T,f=100,q=2,"
    for from = 1, #text, CHUNK do
        parts[#parts + 1] = ("\27_G%sm=%d;%s\27\\"):format(from == 1 and first or "", from + CHUNK <= #text and 1 or 0,
                                                         text:sub(from, from + CHUNK - 1))
    end
    return table.concat(parts) .. "\n"
end

for _, f in ipairs { ask, read_answer, terminal.graphics, terminal.kitty } do jit.off(f) end

return terminal
