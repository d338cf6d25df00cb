-- costs_test.lua (sanitized with --long): what a plan stores, computes once and computes again. What is asserted is
-- what runs: ops in kernels, kernels, bytes; and that the bits are those of computing every intermediate by itself.
local check = require "tests.lib.check"
local np = require "neap"
local programs = require "tests.lib.programs"

np.debug.limits { nodes = 0, bytes = 0 } -- regions end where a test says so

local function leaf(seed, ...) return programs.leaf("f32", seed, { ... }) end

--- How often each op runs in the kernels that compute these, by name.
local function ops_of(...)
    local count = setmetatable({}, { __index = function() return 0 end })
    for label in np.explain(...):dot():gmatch('_[vk]%d+ %[[^\n]-label="(%w+)') do count[label] = count[label] + 1 end
    return count
end

local function steps_of(...)
    local text = tostring(np.explain(...))
    local kernels, calls = text:match "(%d+) kernel", text:match "(%d+) call"
    return tonumber(kernels or 0), tonumber(calls or 0)
end

local UNITS = { B = 1, kB = 1e3, MB = 1e6, GB = 1e9 }

--- Bytes that the plan reads and writes, about.
local function traffic(...)
    local read, unit, written, other = tostring(np.explain(...)):match "reads ([%d.]+) (%a+), writes ([%d.]+) (%a+)"
    return tonumber(read) * UNITS[unit], tonumber(written) * UNITS[other]
end

local function has(explanation, text)
    check.ok(tostring(explanation):find(text, 1, true), ("%q is not in\n%s"):format(text, tostring(explanation)))
end

local function same_bits(name, fused, apart)
    for k = 1, #fused do
        check.equal(programs.hash(fused[k]), programs.hash(apart[k]), ("%s, result %d"):format(name, k))
    end
end

local function freely(x) return x end
local function waits(x) return x:wait() end

--- body(keep) gives arrays; look(them) asserts something before they are computed.
local function plans(name, body, look)
    check.test(name, function()
        local results = { body(freely) }
        look(unpack(results))
        np.force(unpack(results))
        same_bits(name, results, { body(waits) })
    end)
end

local ROWS = { axis = -1, keepdims = true }
local SIDE = 160
local w, x = leaf(3, 8, SIDE, SIDE), leaf(5, SIDE, SIDE)
local column, row = leaf(7, SIDE, 1), leaf(11, 1, SIDE)

local PLANE = SIDE * SIDE * 4

--- What a function adds to a counter.
local function adds(counter, f)
    local before = np.debug.counters()[counter]
    f()
    return tonumber(np.debug.counters()[counter] - before)
end

-- ---- What would be computed again and again -------------------------------------------------------------------------

plans("an expensive op is not computed for each element that it is broadcast to", function(keep)
    return w * keep(keep(keep(x * x) + 1) ^ -1.5)
end, function(y)
    check.equal(steps_of(y), 2)
    has(np.explain(y), "is stored: it would be computed 8 times")
end)

plans("nor along an axis in the middle, or behind a view", function(keep)
    local e = keep(np.exp(x):reshape(SIDE, 1, SIDE))
    local across = leaf(13, SIDE, 9, SIDE) * e
    return across, w + np.broadcast_to(keep(np.sin(x)), { 8, SIDE, SIDE })
end, function(across, under)
    has(np.explain(across), "it would be computed 9 times")
    has(np.explain(under), "it would be computed 8 times")
end)

plans("a table of positions is made once for a batch, of columns and rows that are made once", function(keep)
    local angles = keep(column * keep(np.exp(row)))
    return w + keep(np.sin(angles))
end, function(y)
    has(np.explain(y), "it would be computed 8 times")   -- the sine
    has(np.explain(y), "it would be computed 160 times") -- the exponential
end)

plans("what is cheap, or small, stays inside", function(keep)
    local bias, small = leaf(17, SIDE), leaf(19, 12, 12)
    return x + keep(bias * 2), leaf(23, 4, 12, 12) * keep(np.exp(small))
end, function(biased, scaled)
    check.equal(steps_of(biased), 1)
    check.equal(steps_of(scaled), 1)
end)

plans("what is computed once for each row stays inside", function(keep)
    local m = keep(x:mean(ROWS))
    return keep(x - m) * keep(np.rsqrt(keep(x:var(ROWS)) + 1e-5)), x * keep(np.exp(column))
end, function(normal, scaled)
    check.equal(steps_of(normal), 1)
    check.equal(steps_of(scaled), 1)
end)

plans("a value that a kernel needs once for each of its rows is no buffer", function(keep)
    return keep(w * keep(np.exp(x))):sum { axis = 0 }
end, function(y)
    check.equal(steps_of(y), 1)
    check.equal(ops_of(y).exp, 1)
end)

plans("formulas are computed where they are read", function(keep)
    return w + keep(np.arange(SIDE * SIDE) * 2):reshape(SIDE, SIDE)
end, function(y) check.equal(steps_of(y), 1) end)

-- ---- What is computed once ------------------------------------------------------------------------------------------

plans("a mean is taken once, by whichever way it is asked for", function(keep)
    local centred = keep(x - keep(x:mean(ROWS)))
    return centred / keep(np.sqrt(keep(x:var(ROWS)) + 1e-5))
end, function(y)
    local ops = ops_of(y)
    check.equal(steps_of(y), 1)
    check.equal(ops.sum, 2) -- of the elements and of the squares
    check.equal(ops.subtract, 1)
end)

check.test("a mean is taken once in what is loaded, too, and for every declared size", function()
    local path = os.tmpname()
    local function normal(a) return (a - a:mean(ROWS)) * np.rsqrt(a:var(ROWS) + 1e-5) end
    local function loaded(program)
        program:save(path)
        return np.load_program(path)
    end
    check.equal(ops_of(loaded(np.trace(normal)(x))).subtract, 1)
    local program = np.trace(normal, { sizes = { { "n", "m" } } })(x)
    for _, one in ipairs { program, loaded(program) } do
        check.equal(ops_of(one).subtract, 1)
        local f = np.jit(function(a) return one(a) end)
        f(leaf(5, 96, 80))
        check.equal(ops_of(f).subtract, 1)
    end
    os.remove(path)
end)

plans("equal expressions are one", function(keep)
    return keep(x * x) + keep(x * x), keep(keep(x * x):sum())
end, function(a, b)
    check.equal(ops_of(a, b).multiply, 1)
    check.equal(steps_of(a, b), 1)
end)

plans("of whatever is made of them", function(keep)
    local function tower() return keep(np.exp(keep(keep(x[{ { 0, 80 } }] * row):transpose()))) end
    return keep(tower():sum { axis = 0 }) + keep(tower():sum { axis = 0 })
end, function(y)
    local ops = ops_of(y)
    check.equal(ops.exp, 1)
    check.equal(ops.sum, 1)
end)

plans("equal results are made by one kernel", function(keep)
    return keep(np.exp(x)), keep(np.exp(x)), keep(x:sum()), keep(x:sum())
end, function(...)
    local ops = ops_of(...)
    check.equal(ops.exp, 1)
    check.equal(ops.sum, 1)
end)

check.test("equal products of a program are one call", function()
    local f = np.jit(function(a, b) return a:matmul(b) + np.tanh(a:matmul(b)), a:matmul(b) end)
    local y, product = f(x, x)
    local kernels, calls = steps_of(f)
    check.equal(calls, 1)
    check.ok(kernels >= 1)
    local expected = x:matmul(x):wait()
    same_bits("products", { y, product }, { expected + np.tanh(expected):wait(), expected })
end)

check.test("a gradient computes nothing that the function computes", function()
    local f = np.jit(np.value_and_grad(function(a) return (np.exp(a) * np.exp(a)):sum() end))
    local value, gradient = f(x)
    check.equal(ops_of(f).exp, 1)
    local apart = np.exp(x):wait()
    check.close(value:item(), (apart * apart):sum():item(), 1e-3)
    same_bits("gradient", { gradient }, { (apart + apart) * apart })
end)

check.test("numbers are operands, equal or not", function()
    local function twice(a, b) return np.exp(x * a) + np.exp(x * b) end
    check.equal(ops_of(twice(2, 2)).exp, 2)
    same_bits("equal", { twice(2, 2) }, { np.exp((x * 2):wait()):wait() + np.exp((x * 2):wait()):wait() })
    local plans_before = np.debug.counters().plans
    same_bits("others", { twice(2, 3) }, { np.exp((x * 2):wait()):wait() + np.exp((x * 3):wait()):wait() })
    check.ok(np.debug.counters().plans - plans_before <= 2) -- those of the other side
    local one = np.array(2):wait()
    check.equal(ops_of(twice(one, one)).exp, 1)
end)

check.test("counts of elements follow from shapes", function()
    local function both(a) return (a - a:mean(ROWS)) * (a - a:mean(ROWS)) end
    for columns = 5, 7 do
        local a = leaf(29, 3, columns)
        check.equal(ops_of(both(a)).sum, 1)
        local centred = (a - a:mean(ROWS):wait()):wait()
        same_bits("centred", { both(a) }, { centred * centred })
    end
end)

check.test("draws of two keys are two, and so are calls of the script", function()
    local a, b = np.random.key(1), np.random.key(2)
    local f = np.jit(function(k, l) return np.random.normal(k, { 50 }) - np.random.normal(l, { 50 }) end)
    check.ok(not f(a, b):eq(0):all():item())
    local calls = 0
    local g = np.jit(function(y)
        local add = np.callback(function(z)
            calls = calls + 1
            return z + 1
        end, { result = { dtype = "f32", shape = { 4 } } })
        return add(y) + add(y)
    end)
    g(np.ones(4)):wait()
    check.equal(calls, 2)
end)

check.test("an equal of what is read later is stored for that", function()
    local before = np.debug.counters().launches
    local first, second = np.exp(x), np.exp(x)
    local sum = (first + second):wait()
    same_bits("sum", { sum }, { np.exp(x):wait() + np.exp(x):wait() })
    same_bits("both", { first, second }, { np.exp(x):wait(), np.exp(x):wait() })
    check.ok(np.debug.counters().launches - before < 20)
end)

-- ---- Long chains ----------------------------------------------------------------------------------------------------

--- turns of z = z^2 + c, counted while they stay small; `flip`: the count reads its operands the other way round.
local function mandelbrot(turns, flip, keep)
    local cr, ci = x * 0.5 - 0.5, x:transpose() * 0.3
    cr, ci = cr:wait(), np.copy(ci):wait()
    local zr, zi, count = cr * 0, ci * 0, np.zeros(SIDE, SIDE)
    for _ = 1, turns do
        local a, b = keep(zr * zr), keep(zi * zi)
        local alive = keep((a + b):lt(4))
        count = keep(flip and alive + count or count + alive)
        local next_zr = keep(np.where(alive, a - b + cr, zr))
        zi = keep(np.where(alive, 2 * zr * zi + ci, zi))
        zr = next_zr
    end
    return count
end

for _, flip in ipairs { false, true } do
    local name = flip and "whichever side of it its count stands on" or "a loop is cut across, between its turns"
    check.test(name, function()
        local plane = SIDE * SIDE * 4
        local count = mandelbrot(50, flip, freely)
        local kernels = steps_of(count)
        local _, written = traffic(count)
        check.equal(kernels, 2)
        -- Three values at the cut; of the last turn those that somebody else may read; the count.
        check.ok(written < 9 * plane, ("%d bytes for planes of %d"):format(written, plane))
        has(np.explain(count), "the chain of ops is longer than a kernel may be")
        same_bits("mandelbrot", { count }, { mandelbrot(50, flip, waits) })
    end)
end

check.test("chains of any length are the same bits", function()
    for _, turns in ipairs { 30, 31, 34, 35, 69, 70, 130 } do
        same_bits(turns .. " turns", { mandelbrot(turns, false, freely) }, { mandelbrot(turns, false, waits) })
    end
end)

check.test("a long sum of terms is cut along its sum", function()
    local function sum_of(keep)
        local sum = x
        for k = 1, 700 do sum = keep(sum + keep(x * k)) end
        return sum
    end
    local sum, plane = sum_of(freely), SIDE * SIDE * 4
    local kernels = steps_of(sum)
    local _, written = traffic(sum)
    check.equal(kernels, 3)
    check.ok(written < 3.1 * plane)
    same_bits("sum", { sum }, { sum_of(waits) })
end)

-- ---- What is computed again behind calls ----------------------------------------------------------------------------

local function gelu_loss(a, b) return np.nn.gelu(a:matmul(b)):matmul(b):sum() end

check.test("cheap maps are computed again for gradients", function()
    local f = np.jit(np.value_and_grad(gelu_loss))
    local value, gradient = f(x, x)
    local text, stored = tostring(np.explain(f)), 0
    for _ in text:gmatch "is stored[^\n]*: its consumers run in different kernels" do stored = stored + 1 end
    check.equal(stored, 1) -- the tanh
    local plain_value, plain_gradient = np.value_and_grad(gelu_loss)(x, x)
    same_bits("gelu", { value, gradient }, { plain_value, plain_gradient })
end)

local function normal_rows(a, scale)
    local centred = a - a:mean(ROWS)
    return centred * np.rsqrt((centred * centred):mean(ROWS) + 1e-5) * scale
end

local function normal_rows_apart(a, scale)
    local centred = waits(a - waits(a:mean(ROWS)))
    local factor = waits(np.rsqrt(waits(waits(waits(centred * centred):mean(ROWS)) + 1e-5)))
    return waits(waits(centred * factor) * scale)
end

--- Bytes that a jitted function writes, as np.debug.counters() counts them.
local function written_by(f, ...)
    local given = { ... }
    np.force(f(...))
    return adds("written", function() np.force(f(unpack(given))) end)
end

check.test("also where no call stands between: a layer norm's gradients read rows and numbers of rows", function()
    local scale = leaf(41, SIDE)
    local function loss(a, b) return (normal_rows(a, b) * x):sum() end
    local f = np.jit(np.grad(loss, { argnums = { 1, 2 } }))
    check.ok(written_by(f, w[1], scale) < 2.2 * PLANE)
    local of_rows, of_scale = f(w[1], scale)
    check.equal(steps_of(f), 2)
    local function apart(a, b) return (normal_rows_apart(a, b) * x):sum() end
    same_bits("layer norm", { of_rows, of_scale }, { np.grad(apart, { argnums = { 1, 2 } })(w[1], scale) })
end)

check.test("and behind products x - mean is made of x and the mean", function()
    local scale = leaf(41, SIDE)
    local function loss(a, b) return normal_rows(a:matmul(x), b):matmul(x):sum() end
    local f = np.jit(np.grad(loss, { argnums = { 1, 2 } }))
    local gradients = { f(x, scale) }
    check.ok(written_by(f, x, scale) < 6.1 * PLANE)
    local function apart(a, b) return waits(normal_rows_apart(waits(a:matmul(x)), b):matmul(x)):sum() end
    same_bits("layer norm", gradients, { np.grad(apart, { argnums = { 1, 2 } })(x, scale) })
end)

check.test("but not where reading what they are made of costs as much", function()
    local f = np.jit(function(a, b, c)
        local sum = a + b + c
        return sum:matmul(a) * sum
    end)
    local y = f(x, x + 1, x + 2)
    has(np.explain(f), "a call, a gather or another device reads it")
    local sum = (x + (x + 1):wait()):wait() + (x + 2):wait()
    same_bits("sum", { y }, { sum:matmul(x):wait() * sum })
end)

check.test("expensive maps are stored", function()
    local f = np.jit(function(a) return (np.sin(a) + a:matmul(np.sin(a) * 2)) * np.sin(a) end)
    local y = f(x)
    check.equal(ops_of(f).sin, 1)
    local sine = np.sin(x):wait()
    same_bits("sine", { y }, { (sine + x:matmul((sine * 2):wait()):wait()):wait() * sine })
end)

-- ---- Eager gradients ------------------------------------------------------------------------------------------------

local function gelu_sum(a) return np.nn.gelu(a):sum() end

check.test("np.grad computes no value, and stores nothing for it", function()
    np.wait_all()
    local gradient
    local function run() gradient = np.grad(gelu_sum)(x):wait() end
    check.equal(adds("written", run), PLANE)
    check.equal(tonumber(np.debug.counters().pending), 0)
    check.equal(adds("launches", np.wait_all), 0)
    local _, apart = np.value_and_grad(function(a) return waits(waits(np.nn.gelu(waits(a))):sum()) end)(x)
    same_bits("gelu", { gradient }, { apart })
end)

check.test("a value that somebody has kept is computed when it is asked for", function()
    for _, first in ipairs { "value", "gradient", "both" } do
        local value, inner, twice
        local gradient = np.grad(function(a)
            inner = np.exp(a) * 2
            value = (inner * a):sum()
            twice = value * 2
            return value
        end)(x)
        local alone = np.grad(function(a)
            local loss = (np.exp(a) * a):sum()
            value = first == "both" and value or loss
            return loss
        end)(x)
        if first == "gradient" then np.force(gradient, alone) end
        if first == "both" then np.wait_all() end
        local plain = waits(waits(np.exp(x)) * 2)
        local sum = waits(waits(plain * x):sum())
        same_bits(first, { inner, twice }, { plain, sum * 2 })
        local loss = first == "both" and sum or waits(waits(waits(np.exp(x)) * x):sum())
        same_bits(first, { value }, { loss })
        check.close(gradient:sum():item(), 2 * alone:sum():item(), 1)
    end
end)

check.test("what was pending before, and what else the function returns, is computed as ever", function()
    np.wait_all()
    local before = np.sqrt(np.abs(x)) + 1
    check.equal(tonumber(np.debug.counters().pending), 3)
    local gradient = np.grad(function(a) return (a * 3):sum() + before:sum() end)(x)
    gradient:wait()
    check.ok(np.debug.counters().pending >= 3)
    np.wait_all()
    check.equal(adds("launches", function() before:wait() end), 0)
    local slope, rest = np.grad(function(a)
        local y = a * a
        return y:sum(), y
    end, { has_aux = true })(x)
    check.ok(np.debug.counters().pending >= 3)
    same_bits("auxiliary", { slope, rest }, { x * 2, x * x })
end)

check.test("gradients of gradients", function()
    local function slope(a) return (np.grad(gelu_sum)(a) * a):sum() end
    local function apart(a) return waits(waits(np.grad(gelu_sum)(a)) * a):sum() end
    local again = np.grad(slope)(x)
    same_bits("second", { again, np.jit(np.grad(slope))(x) }, { np.grad(apart)(x), again })
end)

check.test("what a gradient will read is stored only where it takes more than reading it", function()
    local written
    local function loss(a)
        local y = np.nn.gelu(a)
        written = adds("written", function() y:wait() end)
        return (y * y):sum()
    end
    local gradient
    local all = adds("written", function() gradient = np.grad(loss)(x):wait() end)
    check.equal(written, 2 * PLANE) -- y, and the tanh
    check.equal(all - written, PLANE)
    same_bits("gelu", { gradient }, { np.grad(function(a) return np.square(np.nn.gelu(a)):sum() end)(x) })
end)

check.test("a layer norm flushed on the way keeps its rows' numbers alone", function()
    local written
    local function norm(a)
        local centred = a - a:mean(ROWS)
        local y = centred * np.rsqrt((centred * centred):mean(ROWS) + 1e-5)
        written = adds("written", function() y:wait() end)
        return (y * row):sum()
    end
    local gradient = np.grad(norm)(x)
    check.ok(written < 1.2 * PLANE, ("%d bytes for a plane of %d"):format(written, PLANE))
    gradient:wait()
    local function apart(a)
        local centred = waits(a - waits(a:mean(ROWS)))
        local scale = waits(np.rsqrt(waits(waits(waits(centred * centred):mean(ROWS)) + 1e-5)))
        return waits(waits(centred * scale) * row):sum()
    end
    same_bits("layer norm", { gradient }, { np.grad(apart)(x) })
end)

check.test("a recipe outlives the names of what it is made of", function()
    local given = x * 1
    given:wait()
    local y = given * 0.5
    local sum, other = (y + 1):sum(), y * y
    sum:wait()
    given:delete()
    collectgarbage()
    same_bits("recipe", { y, other }, { x * 0.5, waits(x * 0.5) * waits(x * 0.5) })
end)

check.test("what is read across its memory, or is made of two arrays, is stored for others", function()
    local function first_of_two(y)
        local first, second = y + 1, y + 2
        local written = adds("written", function() first:wait() end)
        same_bits("both", { first, second }, { waits(y) + 1, waits(y) + 2 })
        return written
    end
    check.equal(first_of_two(x * 2), PLANE)
    check.equal(first_of_two(x + leaf(37, SIDE)), PLANE)
    check.equal(first_of_two(x[{ {}, { -1, -SIDE - 1, -1 } }] * 2), 2 * PLANE)
    check.equal(first_of_two(x:transpose() * 2), 2 * PLANE)
    check.equal(first_of_two(x + w[0]), 2 * PLANE)
    check.equal(first_of_two(np.exp(x)), 2 * PLANE)
    check.equal(first_of_two(leaf(43, SIDE, SIDE / 4, 4) * leaf(47, SIDE, SIDE / 4, 1)), 2 * PLANE)
    local doubled = x * 2
    local even, odd = doubled ":, ::2" + 1, doubled ":, 1::2" + 1
    check.equal(adds("written", function() even:wait() end), 1.5 * PLANE)
    same_bits("halves", { even, odd }, { waits(x * 2) ":, ::2" + 1, waits(x * 2) ":, 1::2" + 1 })
end)

check.done()
