--- process.lua: runs the executable under test: to its end, or under a pseudo-terminal that a test types into.
local ffi = require "ffi"
local bit = require "bit"
local process = {}

ffi.cdef [[
    int forkpty(int *master, char *name, const void *termios, const void *winsize);
    int execv(const char *path, char *const argv[]);
    int setenv(const char *name, const char *value, int overwrite);
    void _exit(int status);
    int kill(int pid, int signal);
    int waitpid(int pid, int *status, int options);
    long read(int fd, void *buffer, size_t bytes);
    long write(int fd, const void *buffer, size_t bytes);
    int close(int fd);
    int ioctl(int fd, unsigned long request, ...);
    struct pollfd { int fd; short events, revents; };
    int poll(struct pollfd *fds, unsigned long count, int timeout_ms);
    int usleep(unsigned int microseconds);
    struct timespec { long tv_sec, tv_nsec; };
    int clock_gettime(int clock, struct timespec *out);
]]
local C = ffi.C

--- The executable under test.
process.neap = assert(os.getenv("NEAP"), "NEAP must name the executable under test")

--- Seconds of the monotonic clock.
function process.now()
    local time = ffi.new("struct timespec[1]")
    C.clock_gettime(1, time)
    return tonumber(time[0].tv_sec) + 1e-9 * tonumber(time[0].tv_nsec)
end

function process.sleep(seconds)
    C.usleep(seconds * 1e6)
end

local function quote(word)
    return "'" .. word:gsub("'", "'\\''") .. "'"
end

--- The text of a file.
function process.read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read("*a")
    file:close()
    return text
end

--- Writes a file.
function process.write(path, text)
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
end

local function read_and_remove(path)
    local text = process.read(path)
    os.remove(path)
    return text
end

--- Writes a file that is removed by process.cleanup; returns its path.
local made = {}
function process.file(text)
    local path = os.tmpname()
    made[#made + 1] = path
    process.write(path, text)
    return path
end

function process.cleanup()
    for _, path in ipairs(made) do os.remove(path) end
    made = {}
end

--- Runs `command` (a list of words) with `input` on its standard input. Returns its exit status, stdout, stderr.
function process.run(command, input)
    local words = {}
    for k, word in ipairs(command) do words[k] = quote(word) end
    local in_path, out_path, err_path = process.file(input or ""), os.tmpname(), os.tmpname()
    local line = string.format("%s <%s >%s 2>%s", table.concat(words, " "), in_path, out_path, err_path)
    local status = os.execute(line)
    return bit.rshift(status, 8), read_and_remove(out_path), read_and_remove(err_path)
end

--- Whether the executable's LuaJIT checks hooks in compiled code, so that Ctrl-C stops every loop.
function process.has_hook_checks()
    local _, report = process.run { process.neap, "doctor" }
    return report:find("with hook checks", 1, true) ~= nil
end

--- Runs the executable under test.
function process.run_neap(arguments, input)
    return process.run({ process.neap, unpack(arguments) }, input)
end

--- What a program given by its text prints. Raises unless it ends with this status (0 if none is given; a program that
-- prints a failure ends with 1) and nothing on stderr.
function process.output(code, expected)
    local status, out, err = process.run_neap { "-e", code }
    if status ~= (expected or 0) or err ~= "" then
        error(("the program ended with status %d: %s"):format(status, err), 2)
    end
    return out
end

-- ---- Pseudo-terminals -----------------------------------------------------------------------------------------------

local Terminal = {}
Terminal.__index = Terminal

--- Starts a program, whose path is the first word of `command`, under a pseudo-terminal.
local function start(command, environment)
    local argv = ffi.new("const char *[?]", #command + 1)
    for k, word in ipairs(command) do argv[k - 1] = word end
    local size = ffi.new("unsigned short[4]", 40, 120, 0, 0)
    local master = ffi.new("int[1]")
    io.stdout:flush()
    local pid = C.forkpty(master, nil, nil, size)
    if pid < 0 then error { missing = "no pseudo-terminal: forkpty failed" } end
    if pid == 0 then
        C.setenv("TERM", "xterm", 1)
        for name, value in pairs(environment or {}) do C.setenv(name, value, 1) end
        C.execv(command[1], ffi.cast("char *const *", argv))
        C._exit(127)
    end
    return setmetatable({ pid = pid, fd = master[0], seen = "", taken = 1 }, Terminal)
end

--- Starts the executable under a pseudo-terminal, with the environment variables of `environment` set.
function process.terminal(arguments, environment)
    return start({ process.neap, unpack(arguments) }, environment)
end

--- The same for a program whose path is the first word of `command`.
process.terminal_of = start

--- The same as process.terminal, but its output goes through a pipe, so the prompt has no line editing. `echo`: the
-- terminal shows what is typed. The exit status is not known.
function process.piped_terminal(arguments, environment, echo)
    local line = [[trap "" INT; ]] .. (echo and "" or "stty -echo; ") .. [["$0" "$@" 2>&1 | cat]]
    return start({ "/bin/sh", "-c", line, process.neap, unpack(arguments) }, environment)
end

--- A shell under a pseudo-terminal that runs `line`, in which "$0" is the executable under test. It stays when that
-- ends, and so can tell how the terminal was left.
function process.shell(line, environment)
    return start({ "/bin/sh", "-c", line, process.neap }, environment)
end

--- Types text.
function Terminal:send(text)
    while #text > 0 do
        local bytes = tonumber(C.write(self.fd, text, #text))
        assert(bytes > 0, "the terminal is gone")
        text = text:sub(bytes + 1)
    end
end

--- Reads what comes within `seconds`. Returns the bytes read, 0 if nothing came, nil at the end of output.
function Terminal:fill(seconds)
    local fds = ffi.new("struct pollfd[1]", { { self.fd, 1, 0 } })
    if C.poll(fds, 1, math.max(0, seconds * 1000)) <= 0 then return 0 end
    local buffer = ffi.new("char[4096]")
    local bytes = tonumber(C.read(self.fd, buffer, 4096))
    if bytes <= 0 then return nil end
    self.seen = self.seen .. ffi.string(buffer, bytes)
    return bytes
end

--- Waits until the output after the last match holds the plain text; returns what came before it. Raises after
-- `seconds` (default 60: a busy machine is slow).
function Terminal:expect(text, seconds)
    local deadline = process.now() + (seconds or 60)
    while true do
        local from, to = self.seen:find(text, self.taken, true)
        if from then
            local before = self.seen:sub(self.taken, from - 1)
            self.taken = to + 1
            return before
        end
        local left = deadline - process.now()
        if left <= 0 or not self:fill(left) then
            error(("%q did not come; the terminal shows %q"):format(text, self.seen:sub(self.taken)), 2)
        end
    end
end

--- Gives the terminal another size, which the program is told of.
function Terminal:resize(columns, rows)
    local size = ffi.new("unsigned short[4]", rows, columns, 0, 0)
    C.ioctl(self.fd, 0x5414, ffi.cast("void *", size)) -- TIOCSWINSZ of Linux
    self.columns, self.rows = columns, rows
end

--- Sends a signal.
function Terminal:kill(signal)
    C.kill(self.pid, signal)
end

--- Stops the process, and waits until it is. (Ctrl-Z does not: nobody could wake what a test has started.)
function Terminal:stop()
    local SIGSTOP, deadline = 19, process.now() + 60
    C.kill(self.pid, SIGSTOP)
    repeat
        if process.read(("/proc/%d/stat"):format(self.pid)):match "^.*%) (%a)" == "T" then return end
        self:fill(0.01)
    until process.now() > deadline
    error("the process was not stopped", 2)
end

--- Waits for the end of the process, at most `seconds` (default 60); returns its exit status, 128 + the signal.
function Terminal:finish(seconds)
    local deadline = process.now() + (seconds or 60)
    local status = ffi.new("int[1]")
    while C.waitpid(self.pid, status, 1) == 0 do
        if process.now() > deadline then
            C.kill(self.pid, 9)
            C.waitpid(self.pid, status, 0)
            C.close(self.fd)
            error(("the process did not end; the terminal shows %q"):format(self.seen:sub(self.taken)), 2)
        end
        self:fill(0.01)
    end
    repeat
        local bytes = self:fill(0)
    until not bytes or bytes == 0
    C.close(self.fd)
    local signal = bit.band(status[0], 127)
    return signal ~= 0 and 128 + signal or bit.band(bit.rshift(status[0], 8), 255)
end

return process
