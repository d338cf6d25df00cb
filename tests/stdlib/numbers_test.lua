--- numbers_test.lua (under tsan with --long): Lua numbers that meet arrays: which dtype comes of it, comparisons,
-- jitted functions, and integers that no Lua number is.
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"
local np = require "neap"

local function of(dtype, list) return np.array(list, { dtype = dtype }) end

check.test("a 64-bit integer without a sign is one of u64", function()
    local x = of("u64", { 1 })
    check.equal((x + 5ULL).dtype, "u64")
    check.equal((x - 2ULL):item(), -1ULL)
    check.equal(tostring(np.maximum(x, -1ULL)), "[18446744073709551615]")
end)

check.test("a fraction makes integers real, a whole number leaves them, and makes bools integers", function()
    check.equal((np.arange(3) * 0.5):totable(), { 0, 0.5, 1 })
    for _, name in ipairs(dtypes.integers) do
        local x, real = of(name, { 1, 2 }), dtypes.by_name[name].real
        check.equal((x + 0.5).dtype, real, name)
        check.equal((0.5 * x):totable(), { 0.5, 1 }, name)
        check.equal((x + 1).dtype, name, name)
        check.equal((x * (0 / 0)).dtype, real, name)
        check.equal(np.maximum(x, 1.5):totable(), { 1.5, 2 }, name)
        check.equal(np.where(np.greater(x, 1), x, 0.25):totable(), { 0.25, 2 }, name)
        check.equal(np.result_type(x, 0.5), real, name)
        check.equal(np.result_type(x, 2), name, name)
    end
    local mask = np.array { true, false }
    check.equal((mask + 1):totable(), { 2, 1 })
    check.equal((mask + 1).dtype, "i32")
    check.equal((mask * 2 + 0.5).dtype, "f32")
    check.equal((mask * 0.5).dtype, "f32")
    check.equal(np.result_type("bool", 1), "i32")
    check.raises(function() return of("u8", { 7 }) + 300 end, "the number 300 is not a value of the array's dtype u8")
    check.raises(function() return of("i32", { 7 }) * 2 ^ 40 end, "not a value of the array's dtype i32")
    check.raises(function() return -mask end,
                 "expected integers, floats or complex numbers, got dtype bool; cast it first")
end)

check.test("numbers alone add no dtype", function()
    check.equal((np.where(np.array { true, false }, 1, 0) + np.ones { 2 }).dtype, "f32")
    check.equal(np.where(np.array { true, false }, 1, 0).dtype, "f32")
    check.equal(np.sin(1).dtype, "f32")
    check.equal((np.sin(1) * np.ones { 2 }).dtype, "f32")
    check.equal((np.sin(1) * np.ones({ 2 }, { dtype = "f64" })).dtype, "f64")
    check.equal((np.add(1, 2) + np.ones({ 2 }, { dtype = "f16" })).dtype, "f16")
end)

check.test("integers are compared with numbers as mathematics does", function()
    local numbers = { -1, 0, 0.5, 7, 7.5, 127, 128, 255, 256, 2 ^ 31, 2 ^ 40, 2 ^ 63, 2 ^ 64, 1e300, -2 ^ 63, -1e300,
                      1 / 0, -1 / 0, 0 / 0 }
    for _, name in ipairs(dtypes.integers) do
        local list = { 0, 1, 7, 100 }
        local x = of(name, list)
        for _, n in ipairs(numbers) do
            for k, want in pairs { lt = function(a) return a < n end, le = function(a) return a <= n end,
                                   gt = function(a) return a > n end, ge = function(a) return a >= n end,
                                   eq = function(a) return a == n end, ne = function(a) return a ~= n end } do
                local expected = {}
                for i, a in ipairs(list) do expected[i] = want(a) end
                check.equal(x[k](x, n):totable(), expected, ("%s:%s(%g)"):format(name, k, n))
            end
        end
    end
    local ends = of("i64", { 9223372036854775807LL, -9223372036854775808LL })
    check.equal(ends:lt(2 ^ 63):totable(), { true, true })
    check.equal(ends:ge(-2 ^ 63):totable(), { true, true })
    check.equal(of("u64", { 18446744073709551615ULL }):lt(2 ^ 64):totable(), { true })
    check.equal(of("i32", { 16777217 }):eq(16777216.5):totable(), { false })
end)

check.test("a jitted function is recorded for whole numbers and for fractions", function()
    local traces = 0
    local f = np.jit(function(x, n)
        traces = traces + 1
        return x * n
    end)
    local x = np.arange(3)
    for _, n in ipairs { 2, 0.5, 3, 1.5, -1 } do
        local got, want = f(x, n), x * n
        check.equal(got.dtype, want.dtype, n)
        check.equal(got:totable(), want:totable(), n)
    end
    check.equal(traces, 2)
    check.raises(function() return f(x, 2 ^ 40) end, "meets an array of integers that cannot hold it")
    local g = np.jit(function(v, n) return v * n end)
    for _, n in ipairs { 2, 0.5, 3 } do check.equal(g(np.ones { 2 }, n).dtype, "f32") end
    local less = np.jit(function(v, n) return v:lt(n) end)
    for _, n in ipairs { 1, 0.5, 2 ^ 40, -1 } do check.equal(less(x, n):totable(), x:lt(n):totable(), n) end
    local nested = np.jit(function(v, n) return f(v, n) + 1 end)
    for _, n in ipairs { 2, 0.5, 3, 1.5 } do check.equal(nested(x, n):totable(), (x * n + 1):totable(), n) end
    local half = np.jit(function(v, n) return v * (n / 2) end)
    check.equal(half(x, 3):totable(), { 0, 1.5, 3 })
    local whole = np.vmap(function(v) return v * 0.5 end)(x)
    check.equal(whole:totable(), { 0, 0.5, 1 })
end)

check.test("a program that whole numbers gave its dtypes refuses fractions, also when it is loaded", function()
    local x = np.arange(3)
    local program = np.trace(function(v, n) return np.where(v:gt(1), n, 0) * v end)(x, 2)
    local file = os.tmpname()
    program:save(file)
    for _, run in ipairs { program, np.load_program(file) } do
        check.equal(run(x, 3):totable(), { 0, 0, 6 })
        check.raises(function() return run(x, 0.5) end, "input 2: the number 0.5 decides a dtype and has to be whole")
        check.raises(function() return np.jit(function(v, n) return run(v, n) end)(x, 0.5) end, "input 2")
    end
    os.remove(file)
end)

check.test("integers of 64 bits keep their digits, in and out", function()
    local big = 9007199254740993LL
    check.ok(of("i64", { big }):item() == big and type(of("i64", { big }):item()) == "cdata")
    check.ok(of("u64", { 18446744073709551615ULL }):item() == 18446744073709551615ULL)
    check.equal(of("i64", { 5 }):item(), 5)
    check.equal(of("i64", { -2 ^ 53 }):item(), -2 ^ 53)
    check.equal(type(of("u64", { 2 ^ 53 }):item()), "number")
    local list = of("i64", { big, 3, -big }):totable()
    check.ok(list[1] == big and list[2] == 3 and list[3] == -big)
    check.equal(type(list[2]), "number")
    check.equal(tostring(np.full({ 2 }, big, { dtype = "i64" })), "[9007199254740993 9007199254740993]")
    check.equal(np.full({ 1 }, big).dtype, "i64")
    check.equal(np.full({ 1 }, 18446744073709551615ULL).dtype, "u64")
    check.ok(np.iinfo("i64").max == 9223372036854775807LL and np.iinfo("u64").max == 18446744073709551615ULL)
    check.ok(np.iinfo("i64").min == -9223372036854775807LL - 1)
    check.equal(np.array(1e30):item(), np.array { 1e30 }:totable()[1])
end)

check.test("sums, products and means choose their dtype", function()
    local x = of("u8", { 250, 255 })
    for _, name in ipairs { "sum", "prod", "cumsum", "cumprod" } do check.equal(np[name](x).dtype, "u32", name) end
    check.equal(np.vecdot(x, x).dtype, "u8")
    check.equal(np.vecdot(x, x):item(), np.matmul(x, x):item())
    check.equal(np.vecdot(np.array { true, false }, np.array { true, true }):item(), true)
    check.equal(np.mean(of("i64", { 1, 2 })).dtype, "f64")
    check.equal(np.eye(2, { k = 2 ^ 40 }):totable(), { { 0, 0 }, { 0, 0 } })
    check.equal(np.tri(2, { k = -2 ^ 40 }):totable(), { { 0, 0 }, { 0, 0 } })
    check.raises(function() return np.arange(3, { dtype = "bool" }) end, "dtype must be one of numbers")
    check.raises(function() return np.zeros { 1 / 0 } end, "integers from 0 to 2^53, got the number inf")
end)

check.test("questions about dtypes", function()
    check.equal(np.finfo("f32").smallest_normal, 2 ^ -126)
    check.equal(np.finfo("bf16").eps, 2 ^ -7)
    check.equal(np.finfo(np.ones({ 1 }, { dtype = "f16" })).max, 65504)
    check.equal(np.iinfo(np.arange(2)).max, 2147483647)
    check.raises(function() return np.iinfo("f32") end, "needs an integer dtype")
    check.raises(function() return np.finfo("i32") end, "needs a float dtype")
    local safe = { { "i8", "i16", true }, { "u8", "i8", false }, { "u8", "i16", true }, { "i32", "f32", false },
                   { "i64", "f64", true }, { "f16", "bf16", false }, { "i8", "bf16", true }, { "bool", "u8", true } }
    for _, case in ipairs(safe) do check.equal(np.can_cast(case[1], case[2]), case[3], case[1] .. " to " .. case[2]) end
    check.equal(np.can_cast("f64", "f16", "same_kind"), true)
    check.equal(np.can_cast("f64", "i64", "unsafe"), true)
    check.equal(np.can_cast("f64", "i64", { casting = "same_kind" }), false)
    check.raises(function() return np.can_cast("f64", "i64", "wild") end, "casting")
    check.equal(np.isdtype("u16", "unsigned integer"), true)
    check.equal(np.isdtype("u16", { "bool", "real floating" }), false)
    check.equal(np.isdtype("float32", "f32"), true)
    check.raises(function() return np.isdtype("f32", "float thing") end, "argument 2")
    check.equal(np.ones({ 1 }, { dtype = "float64" }).dtype, "f64")
    check.equal(np.arange(2):astype(np.uint8).dtype, "u8")
    check.equal(np.broadcast_shapes({ 3, 1 }, { 4 }, 1), { 3, 4 })
    check.raises(function() return np.broadcast_shapes({ 3 }, { 4 }) end, "do not broadcast")
    local x = np.arange(12):reshape(3, 4)
    check.equal(x:view("u8").shape, { 3, 16 })
    check.equal(x:view("i64").shape, { 3, 2 })
    check.ok(np.array_equal(x.T:view("u32"):view("i32"), x.T))
    check.ok(np.array_equal(x:view("u8"):view("i32"), x))
    check.equal(np.bitcast(np.array(1), "u16").shape, { 2 })
    check.raises(function() return np.arange(3):view("i64") end, "is not a number of i64")
    check.raises(function() return x:view(4, 3) end, "x:reshape")
    check.equal(np.bitcast(np.array { true, false }, "u8"):totable(), { 1, 0 })
    check.equal(np.vmap(function(v) return np.bitcast(v, "u8") end)(x).shape, { 3, 4, 4 })
end)

check.done()
