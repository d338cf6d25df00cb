--- iterate_test.lua: `state = step(state)` interrupted at random moments leaves a valid state every time.
--
-- A state is one table {n = iterations, w = parameters, m = moments}, so one assignment moves from one iterate to the
-- next. Valid means: the arrays can be read, have their shape, and hold bit for bit what n undisturbed steps give.
-- Nothing may stay behind either: no open level, no handles, no interrupt.
--
-- A timer of this process raises SIGINT. The interrupt is cleared by a chunk that counts as the library's, as only the
-- prompt can clear it.
local ffi = require "ffi"
local np = require "neap"
local core = require "neap.core"
local check = require "tests.lib.check"

local build = os.getenv "NEAP_TEST_BUILD" or "release"
local ROUNDS = build == "release" and 1000 or 100

if build == "tsan" then
    check.skip("interrupted iterations", "the thread sanitizer delivers signals only at calls that it knows")
    check.done()
end

ffi.cdef [[
    struct iterate_event { void *value; int signal, notify; char rest[48]; };
    struct iterate_timer { long interval_s, interval_ns, value_s, value_ns; };
    int timer_create(int clock, struct iterate_event *event, void **timer);
    int timer_settime(void *timer, int flags, const struct iterate_timer *value, struct iterate_timer *old);
]]

local timer = ffi.new("void *[1]")
assert(ffi.C.timer_create(1, ffi.new("struct iterate_event", { signal = 2 }), timer) == 0)

--- Calls f, with SIGINT in so many microseconds. Returns what pcall does.
local protected = loadstring([[
    local ffi, system, timer = require "ffi", require "neap.interp.system", ...
    local function arm(us)
        assert(ffi.C.timer_settime(timer, 0, ffi.new("struct iterate_timer", 0, 0, 0, us * 1000), nil) == 0)
    end
    return function(us, f)
        arm(us)
        local ok, problem = pcall(f)
        arm(0) -- it may have been another error
        system.forget_interrupt()
        return ok, problem
    end
]], "@neap/protected.lua")(timer[0])

local function loss(w)
    return ((w - 3) * (w - 3)):mean()
end

local gradient = np.grad(loss)

local function update(w, m)
    local g = gradient(w)
    m = m * 0.5 + g
    return w - m * 0.25, m
end

local jitted = np.jit(update)
local whole = np.jit(function(w, m)
    for _ = 1, 3 do w, m = update(w, m) end
    return w, m
end)

local steps = {
    ["plain"] = update,
    ["jitted"] = jitted,
    ["several updates in one program"] = whole,
    ["waiting"] = function(w, m)
        w, m = update(w, m)
        w:wait()
        return w, m:sum():item() == 0 and m * 1 or m
    end,
    ["retraced"] = function(w, m) return np.jit(update)(w, m) end,
    ["with products"] = function(w, m)
        w, m = update(w, m)
        return w:reshape(1, 64):matmul(np.eye(64)):reshape(64), m
    end,
    ["with barriers"] = function(w, m)
        io.write ""
        np.effects_barrier()
        return jitted(w, m)
    end,
}

local function start()
    return { n = 0, w = np.arange(64, { dtype = "f32" }) * 0.125, m = np.zeros(64) }
end

local function advance(state, step, n)
    while state.n < n do
        local w, m = step(state.w, state.m)
        state = { n = state.n + 1, w = w, m = m }
        if state.n % 16 == 0 then state.m:wait() end
    end
    return state
end

local function same(a, b)
    check.equal(a.shape, { 64 })
    return ffi.string(core.data(a), 256) == ffi.string(core.data(b), 256)
end

--- How many gradients and traces are open: a new one is the next.
local function open_levels()
    local level = ffi.new("int[1]")
    assert(core.C.neap_tape_begin(core.ctx, level) == 0)
    core.C.neap_level_end(core.ctx, level[0])
    return level[0]
end

local names = {}
for name in pairs(steps) do names[#names + 1] = name end
table.sort(names)
math.randomseed(20)
local each = math.ceil(ROUNDS / #names)
local longest = 0

for _, name in ipairs(names) do
    local step = steps[name]
    check.test(each .. " interrupts: " .. name, function()
        local state, reference = start(), start()
        advance(state, step, 20) -- compiled
        for round = 1, each do
            local ok, problem = protected(math.random(50, 4000), function()
                while true do
                    local w, m = step(state.w, state.m)
                    state = { n = state.n + 1, w = w, m = m }
                end
            end)
            check.equal(ok, false)
            check.ok(tostring(problem):find "interrupted", problem)
            check.equal(open_levels(), 0, "open levels")
            longest = math.max(longest, state.n - reference.n)
            reference = advance(reference, step, state.n)
            check.ok(same(state.w, reference.w) and same(state.m, reference.m),
                     ("round %d: the state is not iterate %d"):format(round, state.n))
        end
    end)
end

check.test("the interrupts met running loops", function()
    check.ok(longest > 3, "no loop got far")
end)

check.test("nothing stays behind", function()
    np.wait_all()
    core.reclaim()
    core.reclaim()
    check.equal(core.C.neap_interrupt_pending(), 0)
    check.ok(np.debug.counters().live_handles < 100, np.debug.counters().live_handles)
    check.equal(core.C.neap_abandon(core.ctx), core.C.NEAP_OK, "a level is open, or work in flight is wanted")
    check.equal(np.grad(function(x) return (x * x):sum() end)(np.ones(2)):totable(), { 2, 2 })
end)

check.done()
