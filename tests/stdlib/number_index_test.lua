--- number_index_test.lua (under tsan with --long): number arguments of jitted functions as indices: read at each call,
-- integral, counting from the end if negative.
local np = require "neap"
local check = require "tests.lib.check"

local t = np.arange(12, { dtype = "f32" }):reshape(4, 3)

--- f is jitted once: for each number it gives what `eager` gives, and is recorded no second time.
local function same_for(name, numbers, f, eager)
    check.test(name, function()
        local traces = 0
        local jitted = np.jit(function(...) traces = traces + 1 return f(...) end)
        for _, n in ipairs(numbers) do
            local want = (eager or f)(t, n)
            check.equal(np.ravel(jitted(t, n)):totable(), np.ravel(want):totable(), "at " .. n)
        end
        check.equal(traces, 1)
    end)
end

same_for("t[n]", { 0, 3, -1, -4 }, function(x, n) return x[n] end)
same_for("t[{n, {1, 3}}]", { 0, 3, -1 }, function(x, n) return x[{ n, { 1, 3 } }] end)
same_for("t[{n, n}]", { 0, 2, -1, -3 }, function(x, n) return x[{ n, n }] end)
same_for("t[{{}, n}] of a transpose", { 0, 2, -1, -4 }, function(x, n) return x.T[{ {}, n }] end)
same_for("np.take", { 0, 2, -1, -12 }, function(x, n) return np.take(x, n) end)
same_for("np.take along an axis", { 0, 2, -1 }, function(x, n) return np.take(x, n, { axis = 1 }) end)
same_for("t:at(n):set", { 0, 2, -1 }, function(x, n) return x:at(n):set(7) end)
same_for("t:at{n, 1}:add", { 0, 2, -1 }, function(x, n) return x:at { n, 1 }:add(7) end)
same_for("t:at{n}:get", { 0, 2, -1 }, function(x, n) return x:at { n }:get() end)
same_for("one_hot", { 0, 2 }, function(_, n) return np.one_hot(n, 3) end,
         function(_, n) return np.one_hot(np.array({ n }, { dtype = "i32" }), 3)[0] end)
same_for("a number computed of numbers", { 0, 1, -1 }, function(x, n) return x[2 * n + 1 - 0 * n] end)
same_for("extremes and quotients of numbers", { 0, 1, 3 },
         function(x, n) return x[np.minimum(np.floor_divide(n, 2), 1)] end,
         function(x, n) return x[math.min(math.floor(n / 2), 1)] end)

check.test("a layer of a stack of weights, and its gradient", function()
    local w = np.random.normal(np.random.key(0), { 4, 3, 3 })
    local loss = function(weights, n) return (t:matmul(weights[n]) ^ 2):sum() end
    local step = np.jit(function(weights, n) return np.grad(loss)(weights, n) end)
    for n = 0, 3 do check.equal(step(w, n):totable(), np.grad(loss)(w, n):totable()) end
    check.equal(step(w, -1):totable(), step(w, 3):totable())
end)

check.test("out of range is the nearest end, as of index arrays", function()
    local f = np.jit(function(x, n) return x[n] end)
    check.equal(f(t, 9):totable(), t[3]:totable())
    check.equal(f(t, -9):totable(), t[0]:totable())
    check.equal(f(t, 2 ^ 40):totable(), t[3]:totable())
end)

check.test("a fraction raises", function()
    local f = np.jit(function(x, at) return x[at.n] end)
    check.equal(f(t, { n = 1 }):totable(), t[1]:totable())
    check.raises(function() return f(t, { n = 1.5 }) end, "is an index, and may be no integer")
    check.raises(function() return f(t, { n = 0 / 0 }) end, "is an index, and may be no integer")
    check.equal(f(t, { n = 2 }):totable(), t[2]:totable())
    local first = np.jit(function(x, n) return x[n] end)
    check.raises(function() return first(t, 0.5) end, "is an index, and may be no integer")
    local computed = np.jit(function(x, n) return np.take(x, n - 1, { axis = 0 }) end)
    check.raises(function() return computed(t, 2.5) end, "is an index, and may be no integer")
end)

check.test("what may be no integer is told when it is recorded", function()
    check.raises(function() return np.jit(function(x, n) return np.take(x, n / 2) end)(t, 2) end,
                 "np.take: a number argument, or what is computed of it, is an index")
    check.equal(np.jit(function(x, n) return x[np.astype(n / 2, "i32")] end)(t, 3):totable(), t[1]:totable())
end)

check.test("jitted functions in others, and in loops", function()
    local inner = np.jit(function(x, n) return x[n] end)
    local outer = np.jit(function(x, n) return inner(x, n + 1) * 2 end)
    check.equal(outer(t, 1):totable(), (t[2] * 2):totable())
    check.raises(function() return outer(t, 0.5) end, "is an index, and may be no integer")
    local half = np.jit(function(x, n) return inner(x, n / 2) end)
    check.raises(function() return half(t, 2) end, "is an index, and may be no integer")
    local looped = np.jit(function(x, n)
        return np.fori_loop(0, 3, function(i, sum) return sum + x[n] * i end, np.zeros { 3 })
    end)
    check.equal(looped(t, 2):totable(), (t[2] * 3):totable())
    check.raises(function() return looped(t, 0.5) end, "is an index, and may be no integer")
end)

check.test("batches: the array, with one number for all", function()
    local f = np.jit(function(x, n) return np.vmap(function(row) return row[n] end)(x) end)
    check.equal(f(t, 1):totable(), t[{ {}, 1 }]:totable())
end)

check.test("sizes stay static", function()
    check.raises(function() return np.jit(function(n) return np.zeros { n } end)(3) end, "list in {static")
    check.raises(function() return np.jit(function(x, n) return x[{ { 0, n } }] end)(t, 3) end,
                 "for a start that is data use np.dynamic_slice")
end)

check.test("saved and loaded, the number is still checked", function()
    local path = os.tmpname()
    np.trace(function(x, n) return x[n] end)(t, 1):save(path)
    local loaded = np.load_program(path)
    check.equal(loaded(t, 2):totable(), t[2]:totable())
    check.raises(function() return loaded(t, 0.5) end, "the number 0.5")
    os.remove(path)
end)

check.test("computed numbers meet integers alike before and after they are computed", function()
    local i = np.array({ 1, 9, 5 }, { dtype = "i64" })
    local function meet(number) return i:ne(number):totable() end
    local square = np.square(np.negative(3))
    local before = meet(square)
    np.wait(square)
    collectgarbage()
    collectgarbage()
    np.wait_all()
    local others = {}
    for k = 1, 200 do others[k] = np.sqrt(np.sin(k)) end -- takes the places of what the square was computed of
    check.equal(meet(square), before)
    check.equal(#others, 200)
    check.equal(before, { true, false, true })
    local root = np.sqrt(4)
    check.equal(meet(root), { true, true, true })
    np.wait(root)
    check.equal(meet(root), { true, true, true })
end)

check.done()
