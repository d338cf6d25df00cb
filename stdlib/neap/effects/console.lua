--- console.lua: what the streams of this process are: whether a terminal, of which size; and a clock.
local ffi = require "ffi"

ffi.cdef [[
    int neap_console_isatty(int fd) __asm__("isatty");
    int neap_console_ioctl(int fd, unsigned long request, ...) __asm__("ioctl");
    typedef struct neap_console_window { unsigned short rows, columns, width, height; } neap_console_window;
    typedef struct neap_console_time { long seconds, nanoseconds; } neap_console_time;
    int neap_console_time_now(int clock, neap_console_time *out) __asm__("clock_gettime");
]]
local libc = ffi.C
local console = {}

local WINDOW_SIZE, MONOTONIC = 0x5413, 1 -- TIOCGWINSZ and CLOCK_MONOTONIC of Linux

--- Whether a file descriptor is a terminal.
function console.is_terminal(fd)
    return libc.neap_console_isatty(fd) ~= 0
end

--- Columns and rows of the terminal that a file descriptor is, and its pixels; 0 for what it does not tell.
function console.window(fd)
    local window = ffi.new "neap_console_window"
    if libc.neap_console_ioctl(fd, WINDOW_SIZE, window) ~= 0 then return 0, 0, 0, 0 end
    return window.columns, window.rows, window.width, window.height
end

--- Seconds of a clock that never goes back.
function console.now()
    local time = ffi.new "neap_console_time"
    libc.neap_console_time_now(MONOTONIC, time)
    return tonumber(time.seconds) + 1e-9 * tonumber(time.nanoseconds)
end

return console
