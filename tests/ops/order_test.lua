--- order_test.lua (under tsan with --long): cumulative ops, sorts, selections and searches against loops in Lua: all
-- dtypes, any axis, extents around those of groups, blocks and segments, and the same bits for any number of workers
-- and instruction set.
--
--     build/neap --workers 3 tests/ops/order_test.lua run avx2          a process's share: hashes of results
package.path = "./?.lua;" .. package.path
local np = require "neap"
local bit = require "bit"
local ffi = require "ffi"
local programs = require "tests.lib.programs"

local GROUP, BLOCK = 16, 4096
local NAMES = { "bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64" }
local KEY = np.random.key(7)
local SIZES = { 0, 1, 2, 15, 16, 17, 33, 255, 4095, 4096, 4097, 3 * BLOCK + 5 }

--- Values with ties, zeros of both signs and, of reals, NaN and infinities.
local function values(dims, dtype, seed)
    local key = np.random.fold_in(KEY, seed or 0)
    local x = np.random.randint(key, dims, -40, 41)
    if dtype == "bool" then return np.greater(x, 0) end
    if dtype:sub(1, 1) == "u" then return np.astype(np.abs(x), dtype) end
    if dtype:sub(1, 1) == "i" then return np.astype(x, dtype) end
    x = np.astype(x, dtype) / 8
    x = np.where(np.equal(np.abs(x), 0.5), x * 0, x)
    x = np.where(np.equal(x, 5), 1 / 0, np.where(np.equal(x, -5), -1 / 0, x))
    return np.where(np.equal(x, 4.75), 0 / 0, x)
end

--- Real numbers without ties, NaN and infinities.
local function reals(dims, dtype, seed)
    return np.random.uniform(np.random.fold_in(KEY, seed or 1), dims, { dtype = dtype }) * 3 - 1
end

-- ---- A process's share ----------------------------------------------------------------------------------------------

local function share(report)
    for _, dims in ipairs { { 5 }, { 4097 }, { 100003 }, { 300, 7 }, { 7, 300 }, { 3, 5000, 2 }, { 70000, 3 } } do
        for axis = 0, #dims - 1 do
            for _, dtype in ipairs { "f32", "f64", "i32", "u8", "i64" } do
                local x = values(dims, dtype)
                local y = dtype:sub(1, 1) == "f" and reals(dims, dtype) or x
                for _, name in ipairs { "cumsum", "cumprod" } do report(np[name](y, { axis = axis })) end
                for _, name in ipairs { "cummax", "cummin", "sort", "argsort" } do
                    report(np[name](x, { axis = axis }))
                end
                report(np.sort(x, { axis = axis, descending = true }))
                report((np.top_k(x, math.min(3, dims[axis + 1]), { axis = axis })))
                report((select(2, np.top_k(x, math.min(3, dims[axis + 1]), { axis = axis }))))
            end
        end
        for _, dtype in ipairs(NAMES) do
            for _, part in ipairs { np.nonzero(values(dims, dtype)) } do report(part) end
            report(np.unique(values(dims, dtype)))
        end
    end
    local big = reals({ 300001 }, "f32")
    report(np.cumsum(big))
    report(np.sort(big))
    report(np.argsort(big))
    report(np.unique(big))
    for _, k in ipairs { 1, 64, 1000, 30000 } do report((select(2, np.top_k(big, k)))) end
    report(np.searchsorted(np.sort(values({ 5001 }, "f32")), big))
    for _, n in ipairs { 3, 101, 70000 } do -- many values, few values
        report(np.searchsorted(np.sort(big[{ { 0, n } }]), big, { side = "right" }))
    end
    for _, dtype in ipairs { "f32", "f64", "i32", "u64" } do
        local line = dtype:sub(1, 1) == "f" and reals({ 10007 }, dtype) or values({ 10007 }, dtype)
        for _, m in ipairs { 1, 9, 700 } do
            for _, mode in ipairs { "full", "same", "valid" } do
                report(np.convolve(line, line[{ { 5, 5 + m } }], mode))
            end
        end
    end
    report(np.grad(function(x) return (np.cumsum(x) * x):sum() end)(big))
    report(np.grad(function(x) return (np.cumprod(x) * 2):sum() end)(reals({ 5000, 3 }, "f32") + 0.5))
end

if arg[1] == "run" then
    np.debug.kernels { isa = arg[2] }
    share(function(x) io.write(programs.hash(x), "\n") end)
    os.exit(0)
end

local check = require "tests.lib.check"
local process = require "tests.lib.process"

check.test("the same bits for any number of workers and instruction set", function()
    local expected
    -- The sanitizers look at memory, so at the loops of each instruction set, and at threads, so at workers.
    local build = os.getenv "NEAP_TEST_BUILD" or "release"
    for _, isa in ipairs(build == "tsan" and { "baseline" } or { "baseline", "avx2", "avx512" }) do
        if pcall(np.debug.kernels, { isa = isa }) then
            for _, workers in ipairs(build ~= "release" and { 3 } or isa == "baseline" and { 1, 2, 4 } or { 1, 3 }) do
                local command = ("'%s' --workers %d tests/ops/order_test.lua run %s"):format(process.neap, workers, isa)
                local pipe = io.popen(command)
                local found = pipe:read("*a")
                pipe:close()
                expected = expected or found
                check.equal(#found > 10000, true, "results of " .. command)
                check.equal(found == expected, true, command)
            end
        end
    end
    np.debug.kernels {}
end)

-- ---- Against loops in Lua -------------------------------------------------------------------------------------------

--- A line of numbers combined in the order of docs/numbers.md, `round` after each operation.
local function cumulative(line, combine, round)
    local out, start, carry = {}, nil, nil
    local function join(a, b)
        if a == nil then return b end
        return round(combine(a, b))
    end
    for first = 1, #line, GROUP do
        if (first - 1) % BLOCK == 0 then start, carry = out[first - 1], nil end
        local runs, last = {}, nil -- runs[d]: all of the aligned run of d before the element
        for k = 0, math.min(GROUP, #line - first + 1) - 1 do
            local value, d = line[first + k], 1
            while d < GROUP do
                if bit.band(k, 2 * d - 1) == d - 1 then runs[d] = value end
                if bit.band(k, d) ~= 0 then value = join(runs[d], value) end
                d = 2 * d
            end
            last = join(carry, value)
            out[first + k] = join(start, last)
        end
        carry = last
    end
    return out
end

local rounds = {
    f32 = function(x) return tonumber(ffi.cast("float", x)) end,
    f64 = function(x) return x end,
}

local function plus(a, b) return a + b end
local function times(a, b) return a * b end

local function is_zero_below(a) return a == 0 and 1 / a < 0 end
local function less(a, b) -- of numbers, -0 below 0
    return a < b or a == b and is_zero_below(a) and not is_zero_below(b)
end
local function greatest(a, b) return (a ~= a or less(b, a)) and a or b end -- a NaN is not less
local function smallest(a, b) return (a ~= a or less(a, b)) and a or b end

local function same(found, expected, what)
    check.equal(#found, #expected, what)
    for k = 1, #expected do
        local a, b = found[k], expected[k]
        if not (a == b and (a ~= 0 or 1 / a == 1 / b) or a ~= a and b ~= b) then
            error(("%s: element %d is %s, expected %s"):format(what, k, tostring(a), tostring(b)), 2)
        end
    end
end

local function head(list, k)
    local first = {}
    for i = 1, k do first[i] = list[i] end
    return first
end

local function numbers(x)
    local list = x:totable()
    for k = 1, #list do
        if type(list[k]) == "boolean" then list[k] = list[k] and 1 or 0 end
    end
    return list
end

check.test("sums and products of reals have the documented order", function()
    for dtype, round in pairs(rounds) do
        for _, n in ipairs(SIZES) do
            local x = reals({ n }, dtype, n)
            same(np.cumsum(x):totable(), cumulative(x:totable(), plus, round), ("cumsum %s %d"):format(dtype, n))
            x = x * 0.01 + 1
            same(np.cumprod(x):totable(), cumulative(x:totable(), times, round), ("cumprod %s %d"):format(dtype, n))
        end
    end
end)

check.test("cumulative ops of all dtypes", function()
    for _, dtype in ipairs(NAMES) do
        for _, n in ipairs(SIZES) do
            local x = values({ n }, dtype, n)
            local list, what = numbers(x), ("%s %d"):format(dtype, n)
            same(numbers(np.cummax(x)), cumulative(list, greatest, rounds.f64), "cummax " .. what)
            same(numbers(np.cummin(x)), cumulative(list, smallest, rounds.f64), "cummin " .. what)
            check.equal(np.cummax(x).dtype, dtype)
            if dtype:sub(1, 1) ~= "f" then
                same(numbers(np.cumsum(x)), cumulative(list, plus, rounds.f64), "cumsum " .. what)
                check.equal(np.cumsum(x).dtype, np.sum(x).dtype)
                check.equal(np.cumprod(x).dtype, np.prod(x).dtype)
            end
        end
    end
    check.equal(np.cumsum(np.array({ 2147483647, 1 }, { dtype = "i32" })):totable(), { 2147483647, -2147483648 })
    check.equal(np.cumprod(np.array({ 65536, 65536, 3 }, { dtype = "u32" })):totable(), { 65536, 0, 0 })
end)

check.test("an axis is as a line by itself, also of views", function()
    for _, dtype in ipairs { "f32", "f64", "u8", "i64" } do
        local x = values({ 3, 70, 5 }, dtype)
        for _, whole in ipairs { x, x:transpose(), np.broadcast_to(x[{ { 0, 1 } }], { 2, 70, 5 }),
                                 x[{ {}, { 1, 69, 2 } }] } do
            for _, name in ipairs { "cumsum", "cumprod", "cummax", "cummin", "sort", "argsort" } do
                for axis = 0, 2 do
                    local found = np.moveaxis(np[name](whole, { axis = axis }), axis, -1):reshape(-1, whole:dim(axis))
                    local lines = np.copy(np.moveaxis(whole, axis, -1)):reshape(-1, whole:dim(axis))
                    for k = 0, lines:dim(0) - 1, 4 do
                        check.equal(programs.hash(np.copy(found[k])), programs.hash(np[name](lines[k])), name)
                    end
                end
            end
        end
    end
    check.equal(np.cumsum(np.zeros { 0, 3 }, { axis = 0 }).shape, { 0, 3 })
    check.equal(np.sort(np.zeros { 3, 0 }).shape, { 3, 0 })
end)

-- ---- Sorting --------------------------------------------------------------------------------------------------------

local function order_of(list, descending)
    local order = {}
    for k = 1, #list do order[k] = k end
    table.sort(order, function(a, b)
        local x, y = list[a], list[b]
        if (x ~= x) ~= (y ~= y) then return y ~= y end
        if x == y or x ~= x then return a < b end
        if descending then return x > y end
        return x < y
    end)
    return order
end

check.test("sorts of all dtypes, stable, NaN last", function()
    for _, dtype in ipairs(NAMES) do
        for _, n in ipairs { 0, 1, 2, 24, 25, 100, 511, 1000, 4097, 70000 } do
            local x = values({ n }, dtype, n)
            local list = numbers(x)
            for _, descending in ipairs { false, true } do
                if n < 5000 or descending then
                    local what = ("%s %d %s"):format(dtype, n, tostring(descending))
                    local order, sorted = order_of(list, descending), {}
                    for k = 1, n do sorted[k], order[k] = list[order[k]], order[k] - 1 end
                    same(np.argsort(x, { descending = descending }):totable(), order, "argsort " .. what)
                    same(numbers(np.sort(x, { descending = descending })), sorted, "sort " .. what)
                    for _, k in ipairs { 0, 1, 3, math.floor(n / 10), n } do
                        if descending and k <= n then
                            local top, places = np.top_k(x, k)
                            same(numbers(top), head(sorted, k), "top_k " .. what)
                            same(places:totable(), head(order, k), "top_k " .. what)
                        end
                    end
                end
            end
        end
    end
end)

check.test("sorts of wide and of skewed values", function()
    for _, x in ipairs { reals({ 100001 }, "f32"), reals({ 100001 }, "f64"), reals({ 100001 }, "f64") ^ 9,
                         np.random.bits(KEY, { 100001 }), np.random.bits(KEY, { 100001 }):astype "u64" * 2 ^ 31,
                         np.astype(np.arange(100001), "i64") * -1000003, np.ones(100001), np.arange(100001) } do
        local sorted, order = np.sort(x), np.argsort(x)
        check.equal(np.array_equal(sorted, np.take(x, order, { axis = 0 })), true, "sort is the order's")
        check.equal(np.all(np.less_equal(sorted[{ { 0, 100000 } }], sorted[{ { 1, 100001 } }])):item(), true)
        check.equal(np.array_equal(np.sort(order), np.arange(100001)), true, "a permutation")
        check.equal(np.array_equal(np.top_k(x, 500), np.sort(x, { descending = true })[{ { 0, 500 } }]), true)
    end
end)

-- ---- Searching ------------------------------------------------------------------------------------------------------

check.test("searchsorted of all dtypes", function()
    for _, dtype in ipairs(NAMES) do
        for _, n in ipairs { 0, 1, 2, 3, 31, 1000 } do
            local a, v = np.sort(values({ n }, dtype, 3)), values({ 33 }, dtype, 4)
            local list, wanted, left, right = numbers(a), numbers(v), {}, {}
            for k, value in ipairs(wanted) do
                left[k], right[k] = 0, 0
                for _, x in ipairs(list) do
                    local is_less = x < value or x == x and value ~= value
                    if is_less then left[k] = left[k] + 1 end
                    if is_less or x == value or value ~= value then right[k] = right[k] + 1 end
                end
            end
            same(np.searchsorted(a, v):totable(), left, ("left %s %d"):format(dtype, n))
            same(np.searchsorted(a, v, { side = "right" }):totable(), right, ("right %s %d"):format(dtype, n))
        end
    end
    local a = np.sort(values({ 3, 17 }, "f32"))
    local both = np.vmap(np.searchsorted)(a, values({ 3, 4 }, "f32"))
    for k = 0, 2 do
        check.equal(both[k]:totable(), np.searchsorted(a[k], values({ 3, 4 }, "f32")[k]):totable())
    end
    check.equal(np.vmap(np.searchsorted, { in_axes = { nil, 0 } })(a[0], values({ 3, 4 }, "f32")):totable(),
                np.searchsorted(a[0], values({ 3, 4 }, "f32")):totable())
end)

check.test("many values are searched for in few elements", function()
    local inf = math.huge
    for name, list in pairs {
        even = { -2, -1, 0, 1, 2 }, equal = { 1, 1, 1, 1 }, ends = { -inf, -inf, -1, 3, 3, inf }, alone = { 0.5 },
        infinite = { -inf, inf }, skewed = { -1e30, 0, 1e-30, 2e-30, 3e-30, 1 }, huge = { -3e38, -1, 1, 3e38 },
        nans = { -1, 2, 0 / 0, 0 / 0 }, nothing = { 0 / 0 },
    } do
        for _, dtype in ipairs { "f32", "f64" } do
            local a = np.array(list, { dtype = dtype })
            local more = np.concatenate { a, np.linspace(-4, 4, 77, { dtype = dtype }),
                                          np.array({ -inf, inf, 0 / 0, 3e38, 1.5e-30 }, { dtype = dtype }) }
            local right = { side = "right" }
            local below, most = np.less(a, more[{ {}, np.newaxis }]), np.less_equal(a, more[{ {}, np.newaxis }])
            local nan, numbers_of = np.isnan(more), np.sum(np.logical_not(np.isnan(a))):item()
            same(np.searchsorted(a, more):totable(),
                 np.where(nan, numbers_of, np.sum(below, { axis = 1 })):totable(), name .. dtype)
            same(np.searchsorted(a, more, right):totable(),
                 np.where(nan, #list, np.sum(most, { axis = 1 })):totable(), name .. dtype .. " right")
        end
    end
    local lines, wanted = np.sort(reals({ 3, 40 }, "f32")), reals({ 3, 500 }, "f32", 2)
    local found = np.vmap(np.searchsorted)(lines, wanted)
    for k = 0, 2 do check.equal(found[k]:totable(), np.searchsorted(lines[k], wanted[k]):totable()) end
end)

check.test("places of what is not zero", function()
    for _, dtype in ipairs(NAMES) do
        for _, n in ipairs { 0, 1, 4095, 4096, 4097, 70001 } do
            local x = values({ n }, dtype, n)
            local expected = {}
            for k, value in ipairs(numbers(x)) do
                if value ~= 0 then expected[#expected + 1] = k - 1 end
            end
            local found = np.nonzero(x)
            check.equal(found.dtype, "i32")
            same(found:totable(), expected, ("%s %d"):format(dtype, n))
        end
    end
    local x = values({ 7, 9, 11 }, "i32")
    local i, j, k = np.nonzero(x)
    check.equal(np.array_equal((i * 9 + j) * 11 + k, np.nonzero(x:reshape(-1))), true)
    check.equal(np.array_equal(x[x:gt(3)], x:reshape(-1)[np.nonzero(x:gt(3):reshape(-1))]), true)
    check.equal(np.grad(function(a) return (a[np.greater(a, 1)] ^ 2):sum() end)(np.array { 1, 2, 0, 3 }):totable(),
                { 0, 4, 0, 6 })
    check.equal(np.unique(np.array({ 3, 1, 3, 2 }, { dtype = "u8" })):totable(), { 1, 2, 3 })
end)

check.test("different values", function()
    for _, dtype in ipairs(NAMES) do
        for _, n in ipairs { 0, 1, 2, 63, 64, 65, 66, 129, 65536, 65537, 70001 } do
            local x, expected, last = values({ n }, dtype, n), {}, nil
            for k, value in ipairs(numbers(np.sort(x))) do
                if k == 1 or value ~= last and (value == value or last == last) then expected[#expected + 1] = value end
                last = value
            end
            local found = np.unique(x)
            check.equal(found.dtype, dtype)
            same(numbers(found), expected, ("%s %d"):format(dtype, n))
        end
    end
end)

-- ---- Derivatives ----------------------------------------------------------------------------------------------------

--- d f / d x by columns, in both modes; they must agree.
local function check_modes(f, x)
    local weights = np.arange(1, x.size + 1, { dtype = "f64" }):reshape(unpack(x.shape))
    local back = np.grad(function(a) return (f(a) * weights):sum() end)(x)
    for k = 0, x.size - 1 do
        local one = np.astype(np.equal(np.arange(x.size), k), "f64"):reshape(unpack(x.shape))
        local _, tangent = np.jvp(f, { x }, { one })
        check.close((tangent * weights):sum():item(), back:reshape(-1)[k]:item(), 1e-9)
    end
    return back:totable()
end

check.test("derivatives, where elements are zero, equal or NaN", function()
    local x = np.array({ 2, 0, 3, 0, 5 }, { dtype = "f64" })
    check.equal(check_modes(np.cumsum, x), { 15, 14, 12, 9, 5 })
    check.equal(check_modes(np.cumprod, x), { 1, 2 * (2 + 3 * 3), 0, 0, 0 })
    check.equal(check_modes(np.cummax, np.array({ 1, 3, 3, 2, 4 }, { dtype = "f64" })), { 1, 9, 0, 0, 5 })
    check.equal(check_modes(np.cummin, np.array({ 3, 1, 1, 2, 0 / 0 }, { dtype = "f64" })), { 1, 9, 0, 0, 5 })
    check.equal(check_modes(np.sort, np.array({ 3, 1, 2, 2 }, { dtype = "f64" })), { 4, 1, 2, 3 })
    for axis = 0, 1 do
        local y = reals({ 4, 3 }, "f64")
        for _, name in ipairs { "cumsum", "cumprod", "cummax", "cummin", "sort" } do
            check_modes(function(a) return np[name](a, { axis = axis }) end, y)
        end
    end
    -- Twice: the product of three has mixed derivatives where two of them are zero.
    local function f(a) return np.cumprod(a)[2] end
    check.equal(np.hessian(f)(np.array({ 0, 0, 3 }, { dtype = "f64" })):totable(),
                { { 0, 3, 0 }, { 3, 0, 0 }, { 0, 0, 0 } })
end)

check.done()
