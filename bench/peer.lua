--- peer.lua: other systems as contenders: each is a process of peers.py that is told, line by line, what to time, so
-- that it takes its turns in the same rounds as neap and C. It is stopped while it is not asked anything: threads of
-- some systems spin for tens of milliseconds after their work, and would take the cores from whoever is timed next.
--
--     for _, peer in ipairs(peers.start({ "numpy", "jax jit" }, 1)) do
--         local contender = peer:contender(kernel, n)
--         print(peer.name, contender and contender.timer(100))   -- ns a call
--     end
local ffi = require "ffi"
local measure = require "bench.measure"

ffi.cdef "int kill(int process, int signal);"
local SIGCONT, SIGSTOP = 18, 19

local peers = {}

local Peer = {}
Peer.__index = Peer

-- NEAP_BENCH_PYTHON names another one, which has the systems.
local python = os.getenv "NEAP_BENCH_PYTHON"
    or (os.getenv "XDG_CACHE_HOME" or os.getenv "HOME" .. "/.cache") .. "/neap-bench/bin/python"

--- Asks for an answer of one line.
function Peer:ask(...)
    ffi.C.kill(self.process, SIGCONT)
    self.requests:write(table.concat({ ... }, "\t"), "\n")
    self.requests:flush()
    local answer = assert(self.answers:read "*l", "bench: the process of " .. self.name .. " ended")
    ffi.C.kill(self.process, SIGSTOP)
    return answer
end

--- Starts a system; nil where it is not installed.
local function start(name, threads)
    local pipe = os.tmpname()
    os.remove(pipe)
    assert(os.execute(("mkfifo '%s'"):format(pipe)) == 0, "bench: mkfifo failed")
    local command = "OPENBLAS_NUM_THREADS=%d exec '%s' bench/peers.py serve '%s' %d %s <'%s' 2>/dev/null"
    local answers = io.popen(command:format(threads, python, name, threads, measure.cpu and "cpu" or "wall", pipe))
    local peer = setmetatable({ name = name, answers = answers, requests = assert(io.open(pipe, "w")) }, Peer)
    os.remove(pipe)
    return peer
end

--- The systems of a list that are installed, each with so many threads.
function peers.start(names, threads)
    local file, started, list = io.open(python), {}, {}
    if not file then return {} end
    file:close()
    for k, name in ipairs(names) do started[k] = start(name, threads) end
    for _, peer in ipairs(started) do
        peer.process = tonumber((peer.answers:read "*l" or ""):match "^ready (%d+)$")
        if peer.process then
            ffi.C.kill(peer.process, SIGSTOP)
            list[#list + 1] = peer
        end
    end
    return list
end

--- What a Python program of this folder prints, with the systems of bench/peers installed; "" where they are not.
function peers.output(program, ...)
    local file = io.open(python)
    if not file then return "" end
    file:close()
    local pipe = io.popen(("'%s' '%s' '%s' 2>/dev/null"):format(python, program, table.concat({ ... }, "' '")))
    local text = pipe:read "*a"
    pipe:close()
    return text
end

local function request(what, kernel, n)
    return what, n, kernel.columns or 1, kernel.inputs or 1, kernel.python
end

--- A kernel at n elements, called once, or nil if the system cannot say it; and the sum of its result's magnitudes.
function Peer:contender(kernel, n)
    if self.name == "numexpr" and not kernel.numexpr then return nil end
    local sum = self:ask(request("kernel", kernel, n)):match "^ok\t(.*)$"
    if not sum then return nil end
    return { name = self.name, timer = function(count) return assert(tonumber((self:ask("time", count)))) end },
           tonumber(sum)
end

--- ns of the first call of a kernel on a shape of n elements that was not seen before; nil if the system cannot say it.
function Peer:cold(kernel, n)
    if self.name == "numexpr" and not kernel.numexpr then return nil end
    return tonumber((self:ask(request("cold", kernel, n))))
end

--- A call of bench/cases.lua, with inputs in these files, or nil if the system has none; and its result's magnitude.
function Peer:case(case, paths)
    local text = case[self.name:match "^%a+"]
    if not text then return nil end
    local answer = self:ask("case", paths, (text:gsub("\n", "\30")))
    local sum = answer:match "^ok\t(.*)$" or error(("bench: %s: %s: %s"):format(self.name, text, answer))
    return { name = self.name, timer = function(count) return assert(tonumber((self:ask("time", count)))) end },
           tonumber(sum)
end

--- A step of bench/steps.py with these sizes (steps.sizes_text), or nil if the system has none; and ns of its first
-- call.
function Peer:step(name, sizes)
    local first = self:ask("step", name, sizes):match "^ok\t(.*)$"
    if not first then return nil end
    return { name = self.name, timer = function(count) return assert(tonumber((self:ask("time", count)))) end },
           tonumber(first)
end

--- A function of bench/mesh.py, or nil if the system has none; and its result's magnitude, -1 where it is large.
function Peer:mesh(what, devices, elements, used)
    local sum = self:ask("mesh", what, devices, elements, used and "used" or "plain"):match "^ok\t(.*)$"
    if not sum then return nil end
    return { name = self.name, timer = function(count) return assert(tonumber((self:ask("time", count)))) end },
           tonumber(sum)
end

return peers
