--- closed_test.lua (under tsan with --long): closed traces: what they lift, and that derivatives reach it.
local ffi = require "ffi"
local check = require "tests.lib.check"
local np = require "neap"
local core = require "neap.core"
local staging = require "neap.tracing.staging"

local C, ctx = core.C, core.ctx

local function ids_of(list)
    local ids = ffi.new("int32_t[?]", #list + 1)
    for k, array in ipairs(list) do ids[k - 1] = array._id end
    return ids
end

--- Traces body(placeholders like `like`) closed. Returns the program, and the arrays that it lifted.
local function closed(like, body)
    local entry, lifted = staging.closed("closed", body, { n = #like, unpack(like) })
    check.equal(entry.n, #like + #lifted)
    return entry.program, lifted
end

local function replay(program, inputs, nout)
    local ids, out = ids_of(inputs), ffi.new("int32_t[?]", nout + 1)
    return core.call_ids("closed", out, nout, function()
        return C.neap_program_replay(ctx, program, #inputs, ids, out)
    end)
end

local function facts(program)
    local info = ffi.new("neap_program_info")
    C.neap_program_info_get(program, info)
    return info
end

check.test("arrays from outside become inputs, once each; numbers and constructors do not", function()
    local x, w, pending = np.array { 1, 2, 3 }, np.array { 10, 20, 30 }, np.array { 1, 1, 1 } * 2
    local program, lifted = closed({ x }, function(a)
        return a * w + w * 2 + pending + np.arange(3) + a:astype("f32") * w
    end)
    check.equal(#lifted, 3) -- w, w * 2 (which is computed outside), pending
    check.equal(facts(program).inputs, 4)
    check.equal(facts(program).captures, 1) -- arange
    check.equal(lifted[1]._id, w._id)
    local y = replay(program, { x, unpack(lifted) }, 1)[1]
    check.equal(y:totable(), { 10 + 20 + 2 + 0 + 10, 40 + 40 + 2 + 1 + 40, 90 + 60 + 2 + 2 + 90 })
end)

check.test("an output from outside is an input, too", function()
    local x, w = np.array { 1, 2 }, np.array { 3, 4 }
    local program, lifted = closed({ x }, function() return w, np.zeros { 2 } end)
    check.equal(#lifted, 1)
    local out = replay(program, { x, lifted[1] }, 2)
    check.equal(out[1]._id, w._id)
    check.equal(out[2]:totable(), { 0, 0 })
end)

check.test("gradients reach what was lifted", function()
    local x = np.array { 1, 2, 3 }
    local gradient = np.grad(function(w)
        local program, lifted = closed({ x }, function(a) return (a * w * w):sum() end)
        return replay(program, { x, unpack(lifted) }, 1)[1]
    end)
    check.equal(gradient(np.array { 1, 2, 3 }):totable(), { 2, 8, 18 })
    check.equal(gradient(np.ones { 3 }):totable(), { 2, 4, 6 }) -- a constructor under a gradient is lifted
end)

check.test("a gradient inside a closed trace is part of it", function()
    local x, w = np.array { 1, 2, 3 }, np.array { 2, 3, 4 }
    local program, lifted = closed({ x }, function(a)
        return np.grad(function(v) return (v * v * a):sum() end)(w), np.grad(function(v)
            return (v * v * a):sum()
        end)(np.ones { 3 })
    end)
    local out = replay(program, { x, unpack(lifted) }, 2)
    check.equal(out[1]:totable(), { 4, 12, 24 })
    check.equal(out[2]:totable(), { 2, 4, 6 })
end)

check.test("traces inside each other lift from one to the next", function()
    local x, w = np.array { 1, 2 }, np.array { 5, 6 }
    local inner_lifted
    local program, lifted = closed({ x }, function(a)
        local inner, arrays = closed({ x }, function(b) return a * b + w end)
        inner_lifted = #arrays
        return replay(inner, { a + 1, unpack(arrays) }, 1)[1]
    end)
    check.equal(inner_lifted, 2)
    check.equal(#lifted, 1)
    check.equal(replay(program, { x, lifted[1] }, 1)[1]:totable(), { 1 * 2 + 5, 2 * 3 + 6 })
end)

check.test("a jitted number from outside is lifted as a number", function()
    local x = np.array { 1, 2 }
    local jitted = np.jit(function(a, number)
        local program, lifted = closed({ x }, function(b) return b * number end)
        return replay(program, { a, unpack(lifted) }, 1)[1]
    end)
    check.equal(jitted(x, 3):totable(), { 3, 6 })
    check.equal(jitted(x, 4):totable(), { 4, 8 })
end)

check.test("a failure inside leaves no level open", function()
    local x, w = np.array { 1, 2 }, np.array { 5, 6 }
    check.raises(function() closed({ x }, function(a) return a * w, error("stop") end) end, "stop")
    check.equal((x * w):totable(), { 5, 12 })
end)

check.done()
