--- fusion_test.lua (under tsan with --long): which kernels become one. For each rule: how many steps are launched, and
-- that the bits are those of computing every intermediate by itself.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local np = require "neap"
local programs = require "tests.lib.programs"

np.debug.limits { nodes = 0, bytes = 0 } -- regions end where a test says so

local function launches(f)
    local before = np.debug.counters().launches
    local results = { f() }
    np.force(unpack(results))
    return tonumber(np.debug.counters().launches - before), results
end

--- body(keep) gives arrays; keep(x) is x, and computes it first when nothing shall be fused.
local function fuses(name, steps, body)
    check.test(name, function()
        local count, fused = launches(function() return body(function(x) return x end) end)
        check.equal(count, steps)
        local apart = { body(function(x) return x:wait() end) }
        for k = 1, #fused do
            check.equal(programs.hash(fused[k]), programs.hash(apart[k]:wait()), name .. ", result " .. k)
        end
    end)
end

local function matrix(rows, columns) return programs.leaf("f32", 3, { rows, columns }) end

local x, y, z = matrix(37, 300), programs.leaf("f32", 5, { 37, 300 }), programs.leaf("f32", 13, { 37, 300 })
local w = programs.leaf("f32", 7, { 300 })
local columns = programs.leaf("f32", 19, { 65, 40 })
local fits, long = programs.leaf("f32", 11, { 3, 8192 }), programs.leaf("f32", 11, { 3, 8193 })
local LAST, ROWS = { axis = -1 }, { axis = -1, keepdims = true }

-- ---- Producer and consumer ------------------------------------------------------------------------------------------

fuses("what is shared inside one kernel needs no buffer", 1, function(keep)
    local d = keep(x - y)
    return d * d + d
end)

fuses("what was asked for as well is stored by the same kernel", 1, function(keep)
    local d = keep(x - y)
    return d, d * 2
end)

fuses("axes that are split or joined are the same axes", 1, function(keep)
    local d = keep(x * 2)
    return d, d:reshape(37, 3, 100) + 1, d:reshape(37 * 300) - 1
end)

fuses("a transposed reader walks in another order", 2, function(keep)
    local d = keep(x * 2)
    return d, d:transpose() + 1
end)

fuses("a slice of a stored value is read from memory", 2, function(keep)
    local d = keep(x * 2)
    return d, d[{ {}, { 1, 300 } }] + d[{ {}, { 0, 299 } }]
end)

-- ---- Reductions and what follows ------------------------------------------------------------------------------------

local function softmax(keep, a, how)
    local e = keep((a - keep(a:max(how))):exp())
    return e / keep(e:sum(how))
end

fuses("softmax is one pass", 1, function(keep) return softmax(keep, x, ROWS) end)

fuses("short columns are read a second time", 1, function(keep)
    return softmax(keep, x, { axis = 0, keepdims = true })
end)

fuses("long ones are not, but stored and reduced in one pass", 3, function(keep)
    return softmax(keep, columns, { axis = 0, keepdims = true })
end)

fuses("softmax over both axes", 1, function(keep)
    return softmax(keep, x[{ { 0, 20 } }], { axis = { 0, 1 }, keepdims = true })
end)

fuses("log softmax", 1, function(keep)
    local shifted = keep(x - keep(x:max(ROWS)))
    return shifted - keep(shifted:exp():sum(ROWS)):log()
end)

fuses("a variance", 1, function(keep)
    local d = keep(x - keep(x:mean(ROWS)))
    return (d * d):mean(LAST)
end)

fuses("a layer norm, with its mean", 1, function(keep)
    local mean = keep(x:mean(ROWS))
    local d = keep(x - mean)
    local variance = keep((d * d):mean(ROWS))
    return keep(d * (variance + 1e-5):rsqrt()) * w + w, mean, variance
end)

fuses("an rms norm", 1, function(keep) return x * keep(keep((x * x):mean(ROWS)) + 1e-5):rsqrt() * w end)

fuses("one element for each row, and no whole row, may follow rows of any length", 1, function(keep)
    return keep(long:sum(LAST)) / 8193 + 1
end)

fuses("rows too long for a cache are passed over twice", 2, function(keep)
    return long - keep(long:max(ROWS))
end)

fuses("rows that just fit are passed over once", 1, function(keep)
    return fits - keep(fits:max(ROWS))
end)

fuses("reductions over different axes are different kernels", 2, function(keep)
    return keep(x:sum { axis = 0 }), keep(x:sum { axis = 1 })
end)

fuses("a reduction of a reduction is another kernel", 2, function(keep) return keep(x:sum(LAST)):max() end)

-- ---- Siblings -------------------------------------------------------------------------------------------------------

fuses("what reads the same memory over the same box is one kernel", 1, function() return x + 1, x * y, y - x end)

fuses("reductions over the same rows", 1, function()
    return x:sum(LAST), x:max(LAST), (x * y):sum(LAST), x:argmax(LAST)
end)

fuses("what has nothing in common is not", 2, function() return x + 1, y + 1 end)

fuses("nor what reads different parts of an array", 2, function()
    return x[{ { 0, 18 } }] + 1, x[{ { 18, 36 } }] + 1
end)

fuses("other boxes are not", 2, function() return x + 1, x[{ { 0, 30 } }] + 1 end)

fuses("an update of Adam", 1, function(keep)
    local g = z
    local m, v = keep(x * 0.9 + g * 0.1), keep(y:abs() * 0.99 + keep(g * g) * 0.01)
    return x - keep(m / 0.1) / (keep(v / 0.01):sqrt() + 1e-8) * 1e-3, m, v
end)

-- ---- What keeps kernels apart ---------------------------------------------------------------------------------------

fuses("a call stands between", 3, function(keep)
    local d = keep(x * 2)
    return d, keep(d:transpose():matmul(w[{ { 0, 37 } }])) + w
end)

fuses("a sum of many terms is cut into long kernels", 2, function(keep)
    local sum = x[0]
    for k = 1, 300 do sum = keep(sum + keep(x[k % 37] * k)) end
    return sum
end)

fuses("more reductions than a kernel may have", 303, function(keep) -- three kernels of sums, and their readers
    local results = {}
    for k = 1, 300 do results[k] = keep(np.flip(keep((x * k):sum(LAST)))) * 2 end
    local sums = x:sum(LAST)
    for k = 1, 300 do results[k] = results[k] + keep(np.flip(keep((x - k):sum(LAST)))) end
    return sums, unpack(results)
end)

check.test("a value that waits for a call keeps no other waiting", function()
    local count = launches(function()
        local product = x:matmul(y:transpose())
        local square = x[{ {}, { 0, 37 } }]
        return square + 1, square + product
    end)
    check.equal(count, 3)
end)

check.test("what a call in flight may read does not wait for its result", function()
    local near = x + 1
    local how = { result = { dtype = "f32", shape = {} } }
    local far = np.callback(function() return near:sum() end, how)(np.debug.sleep(np.ones(1), 50))
    local beside = near * far
    np.force(near, beside)
    check.close(beside[{ 0, 0 }]:item(), near[{ 0, 0 }]:item() * near:sum():item(), 1e-3)
end)

check.test("a failure does not reach what has nothing to do with it", function()
    local bad = np.debug.fail(np.ones { 37, 300 })
    check.raises(function() bad:wait() end, "debug_fail")
    pcall(np.wait_all)
    local good, worse = x + 1, x + bad
    np.force(good, worse)
    check.equal(programs.hash(good), programs.hash((x + 1):wait()))
    check.raises(function() worse:wait() end, "debug_fail")
    pcall(np.wait_all)
end)

check.test("nor the failure of a call to what waits for another one", function()
    local good, bad = np.sort(w), np.debug.fail(w)
    local first, second = good * w, bad * w
    np.force(first, second)
    check.equal(programs.hash(first), programs.hash((np.sort(w):wait() * w):wait()))
    check.raises(function() second:wait() end, "debug_fail")
    pcall(np.wait_all)
end)

--- Starts two calls, one of which will fail, plans what `read` makes of their results, and only then lets them end.
local function beside(read)
    local good, let_go = np.debug.hold(w)
    local held, let_fail = np.debug.hold(w)
    local bad = np.debug.fail(held)
    np.force(good)
    np.force(bad)
    local first, second = read(good, bad)
    np.force(first, second)
    let_go()
    let_fail()
    check.raises(function() second:wait() end, "debug_fail")
    check.equal(programs.hash(first), programs.hash((read(w, w)):wait()))
    pcall(np.wait_all)
end

check.test("nor that of a call that was started before, and has not failed yet", function()
    beside(function(good, bad) return good * w, bad * w end)
end)

check.test("nor that of what such a call has led to", function()
    beside(function(good, bad)
        local one, other = good + 1, bad + 1
        np.force(one)
        np.force(other)
        return one * w, other * w
    end)
end)

check.test("nor, with many others, of a call that cannot be told apart", function()
    local calls, results, both = {}, {}, np.arange(300):wait()
    for k = 1, 65 do calls[k] = np.sort(w + k) end
    calls[66] = np.debug.fail(w) -- the 66th call and the second look alike, and what reads them reads one array
    for k = 1, 66 do results[k] = calls[k] * ((k == 2 or k == 66) and both or w) end
    np.force(unpack(results))
    check.raises(function() results[66]:wait() end, "debug_fail")
    check.equal(programs.hash(results[2]), programs.hash((np.sort(w + 2):wait() * both):wait()))
    pcall(np.wait_all)
end)

check.test("a value that a function prints before a callback is there by then", function()
    local script = process.file [[
        local np = require "neap"
        local f = np.jit(function(x, w)
            local y = x + 1
            print(y)
            np.callback(function() end)(x)
            return y * 2 + w:sum()
        end)
        local x, w = np.ones { 4 }:wait(), np.ones { 5 }:wait()
        for _ = 1, 3 do f(x, w):wait() end
    ]]
    local status, out, err = process.run_neap { script }
    check.equal({ status, out }, { 0, ("[2. 2. 2. 2.]\n"):rep(3) }, err)
end)

check.test("long chains of shared values are cut into kernels", function()
    local function chain()
        local a = x
        for _ = 1, 400 do a = a * 0.5 + a:abs() * 0.25 end
        return a
    end
    local count, fused = launches(chain)
    check.equal(count, 4) -- of 512 ops at most
    local a = x
    for _ = 1, 400 do a = ((a * 0.5):wait() + (a:abs() * 0.25):wait()):wait() end
    check.equal(programs.hash(fused[1]), programs.hash(a))
end)

-- ---- What is stored -------------------------------------------------------------------------------------------------

check.test("a value with a consumer that does not run yet is stored", function()
    local d = x - y
    local now, later = d * 2, d * 3
    check.equal((launches(function() return now end)), 1)
    check.equal((launches(function() return d end)), 0)
    check.equal((launches(function() return later end)), 1)
end)

check.test("a value that was not stored is computed once more, and no third time", function()
    local d = x - y
    local both = d * 2 + d * 3
    check.equal((launches(function() return both end)), 1)
    check.equal((launches(function() return d end)), 1)
    check.equal((launches(function() return d end)), 0)
    check.equal(programs.hash(d), programs.hash((x - y):wait()))
end)

check.test("residuals are stored while their gradient is open, and not in a program", function()
    local function f(a) return softmax(function(b) return b end, a, ROWS):sum() end
    local gradient = np.grad(f)
    local program = np.jit(gradient)
    program(x):wait()
    local eager, jitted = launches(function() return gradient(x) end), launches(function() return program(x) end)
    check.equal({ eager, jitted }, { 1, 1 })
    check.equal(programs.hash(program(x)), programs.hash(gradient(x):wait()))
end)

-- ---- Gathers --------------------------------------------------------------------------------------------------------

local picks = np.array({ 3, -1, 36, 0, 3, 99, -99 }, { dtype = "i32" }):wait()
local few = np.array({ 1, 0, -1 }, { dtype = "i64" }):wait()
local FIRST = { axis = 0 }

fuses("a gather is a part of the kernel that reads it", 1, function(keep)
    return keep(np.take(x, picks, FIRST)) * 2 + 1
end)

fuses("of rows, summed", 1, function(keep) return keep(keep(np.take(x, picks, FIRST)) * w):sum(LAST) end)

fuses("its indices may be computed, and its table a view", 1, function(keep)
    return keep(np.take(x:transpose()[{ { 300, 0, -2 } }], keep(picks * 2 - 1), { axis = 1 })) + 1
end)

fuses("through views of the result", 1, function(keep)
    return keep(np.take(x, picks, FIRST)):transpose()[{ { 0, 300, 7 } }]:reshape(43 * 7) - 1
end)

fuses("its table is computed first", 2, function(keep) return np.take(keep(x * 2), picks, FIRST) - 1 end)

fuses("gathers of gathers", 2, function(keep)
    return np.take(keep(np.take(x, picks, FIRST)), few, FIRST)
end)

fuses("two gathers of one table", 1, function(keep)
    return keep(np.take(x, picks, FIRST)) - keep(np.take(x, keep(picks + 1), FIRST))
end)

check.test("indices count from the end, and are clamped, in kernels too", function()
    local lines = np.arange(5):astype("f32"):wait()
    local found = np.take(lines, np.array({ -1, -5, -6, 4, 5, 1000, -1000 }, { dtype = "i64" })) * 2
    check.equal(found:totable(), { 8, 0, 0, 8, 8, 8, 0 })
    check.equal((np.take(lines, np.array({ 255, 3 }, { dtype = "u8" })) + 1):totable(), { 5, 4 })
end)

-- ---- What is put together from pieces -------------------------------------------------------------------------------

local a, b = matrix(5, 7), programs.leaf("f32", 17, { 5, 4 })
local COLUMNS = { axis = 1 }

fuses("a map of a concatenation reads its pieces", 2, function(keep)
    return keep(np.concatenate({ a, b }, COLUMNS)) * 2 + 1
end)

fuses("and so does one that is flipped, transposed, broadcast", 2, function(keep)
    return keep(np.concatenate({ a, b }, COLUMNS)) "::-1, ::-1":transpose() + np.ones { 3, 11, 5 }
end)

fuses("a slice inside one piece reads that piece", 1, function(keep)
    return keep(np.concatenate({ a, b }, COLUMNS))[{ {}, { 2, 7 } }] + 1
end)

fuses("a piece of which a slice takes nothing is not computed", 1, function(keep)
    return keep(np.concatenate({ keep(w[{ { 0, 37 } }]), keep(keep(x:sum(LAST)) * 2) }))[{ { 5, 30 } }] + 1
end)

fuses("a slice across an edge reads two", 2, function(keep)
    return keep(np.concatenate({ a, b }, COLUMNS))[{ {}, { 2, 9, 3 } }] + 1
end)

fuses("a stack", 3, function(keep) return keep(np.stack { a, keep(a * 2), a + 1 }) * 2 end)

fuses("a concatenation of concatenations", 3, function(keep)
    return keep(np.concatenate({ keep(np.concatenate({ a, b }, COLUMNS)), a }, COLUMNS)) * 2
end)

fuses("a padded array: the inside, and three sides of it", 4, function(keep)
    return keep(np.pad(a, { { 1, 2 }, { 0, 3 } }, { value = 7 })) * 2
end)

fuses("a reduction reads pieces that hold its rows whole", 2, function(keep)
    return keep(np.concatenate({ a, b }, COLUMNS)):sum { axis = 0 }
end)

fuses("a row in several pieces is put together first", 3, function(keep)
    return keep(np.concatenate({ a, b }, COLUMNS)):sum { axis = 1 }
end)

fuses("so is what has several consumers", 4, function(keep)
    local both = keep(np.concatenate({ a, b }, COLUMNS))
    return both + 1, both:transpose():matmul(a)
end)

fuses("and what would take too many kernels", 21, function(keep)
    local rows = {}
    for k = 1, 20 do rows[k] = a[{ { k % 5, k % 5 + 1 } }] end
    return keep(np.concatenate(rows)) * 2
end)

check.done()
