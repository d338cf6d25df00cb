--- arrays_test.lua: fields, operators, numbers, reading values, creation.
local np = require "neap"
local check = require "tests.lib.check"

check.test("fields", function()
    local x = np.arange(8 * 16, { dtype = "f32" }):reshape(8, 16)
    check.equal(x.shape, { 8, 16 })
    check.equal({ x.ndim, x.size, x.dtype, #x, x:dim(-1), x:dim(0) }, { 2, 128, "f32", 8, 16, 8 })
    check.equal(tostring(x.device), "cpu:0")
    check.equal(x.sharding, nil)
    check.equal(x.T.shape, { 16, 8 })
    check.raises(function() return x.shapes end, "no field or method 'shapes'")
    check.raises(function() x.dtype = "f64" end, "cannot be set")
    check.raises(function() x[0] = 1 end, "immutable; x:at{…}:set%(v%)")
end)

check.test("default dtypes", function()
    check.equal(np.array({ 1, 2 }).dtype, "f32")
    check.equal(np.array({ true, false }).dtype, "bool")
    check.equal(np.array(3).dtype, "f32")
    check.equal({ np.arange(3).dtype, np.arange(0, 1, 0.5).dtype }, { "i32", "f32" })
    check.equal({ np.zeros(2).dtype, np.ones(2).dtype, np.full({ 2 }, 7).dtype, np.linspace(0, 1, 3).dtype },
                { "f32", "f32", "f32", "f32" })
end)

check.test("operators", function()
    local x = np.array { 1, 2, 3 }
    check.equal((x + 1):totable(), { 2, 3, 4 })
    check.equal((1 - x):totable(), { 0, -1, -2 })
    check.equal((x * x):totable(), { 1, 4, 9 })
    check.equal((6 / x):totable(), { 6, 3, 2 })
    check.equal((-x):totable(), { -1, -2, -3 })
    check.equal((x % 2):totable(), { 1, 0, 1 })
    check.equal((x ^ 2):totable(), { 1, 4, 9 })
    check.equal((2 ^ x):totable(), { 2, 4, 8 })
    check.equal(x:lt(2):totable(), { true, false, false })
    check.equal(np.ge(x, 2):totable(), { false, true, true })
    check.equal("x is " .. x, "x is [1. 2. 3.]")
end)

check.test("real functions that are made of several ops compute in f64 of 64-bit integers, as exp does", function()
    local big = 2 ^ 24 + 1
    for _, dtype in ipairs { "i64", "u64" } do
        local x = np.array({ big, big, big + 2 }, { dtype = dtype })
        check.equal(x[{ { 0, 2 } }]:mean():item(), big)
        check.equal(np.mean(x, { axis = 0, keepdims = true }):totable(), { big + 2 / 3 })
        check.equal(x[{ { 0, 2 } }]:var():item(), 0)
        check.close(x:std():item(), (8 / 9) ^ 0.5, 1e-12)
        check.close(np.logsumexp(x):item(), big + 2 + math.log(1 + 2 * math.exp(-2)), 1e-15)
        for _, f in ipairs { np.mean, np.var, np.std, np.logsumexp, np.softmax, np.log_softmax, np.exp,
                             np.linalg.norm } do
            check.equal(f(x).dtype, "f64")
            check.equal(np.jit(f)(x).dtype, "f64")
        end
        check.close(np.softmax(x):sum():item(), 1, 1e-15)
        check.equal(np.interp(x, x[{ { 1, 3 } }], np.array({ 0, 1 }, { dtype = dtype })).dtype, "f64")
    end
    check.equal(np.mean(np.array({ 1, 2 }, { dtype = "i32" })).dtype, "f32")
    check.equal(np.mean(np.array { true, false }).dtype, "f32")
end)

check.test("comparisons that Lua cannot express", function()
    local x, y = np.ones(3), np.ones(3)
    check.equal(x == nil, false)
    check.equal(x ~= nil, true)
    check.equal(x == x, true)
    check.equal(x == "text", false)
    check.raises(function() return x == y end, "x:eq")
    check.raises(function() return x == 1 end, "x:eq")
    check.raises(function() return x < y end, "x:lt")
    check.raises(function() return x >= 1 end, "x:ge%(1%)")
end)

check.test("weak numbers", function()
    check.equal((np.arange(3) + 1).dtype, "i32")
    check.equal((np.arange(3) / 2).dtype, "f32")
    check.equal((np.zeros({ 2 }, { dtype = "f64" }) + 0.1)[0]:item(), 0.1)
    check.equal((np.arange(3) + 0.5).dtype, "f32")
    check.raises(function() return np.arange(3, { dtype = "u8" }) + 300 end, "u8")
end)

check.test("reading", function()
    check.equal(np.array({ { 1, 2 }, { 3, 4 } }):totable(), { { 1, 2 }, { 3, 4 } })
    check.equal(np.array(7):totable(), 7)
    check.equal(np.array(true):item(), true)
    check.equal(np.array(2 ^ 53, { dtype = "i64" }):item(), 2 ^ 53)
    check.raises(function() return np.ones(2):item() end, "one element, got shape %(2,%)")
    local nan = np.array { 0 / 0, -(0 / 0) }
    check.equal(nan:totable(), { 0 / 0, 0 / 0 })
    check.equal((nan * -1):min():item(), 0 / 0)
end)

check.test("bits of NaN never reach Lua's values", function()
    local bits = np.array({ 0xffffffff, 0x7fffffff, 0xffc00001 }, { dtype = "u32" })
    local ffi = require "ffi"
    local core = require "neap.core"
    local x = core.fill(core.dtype_codes.f64, { 3 }, function(p)
        local words = ffi.cast("uint32_t *", p)
        for k = 0, 5 do words[k] = 0xffffffff end
    end, "double *")
    check.equal(x:totable(), { 0 / 0, 0 / 0, 0 / 0 })
    check.equal(x[0]:item(), 0 / 0)
    check.equal(bits:totable(), { 0xffffffff, 0x7fffffff, 0xffc00001 })
end)

check.test("np.array", function()
    check.equal(np.array({}).shape, { 0 })
    check.equal(np.array({ { 1 }, { 2 } }, { dtype = "i32" }).shape, { 2, 1 })
    check.equal(np.array({ np.ones(2), np.zeros(2) }):totable(), { { 1, 1 }, { 0, 0 } })
    check.raises(function() return np.array { { 1, 2 }, { 3 } } end, "item%[2%] has 1 entries, where others have 2")
    check.raises(function() return np.array { 1, "a" } end, "item%[2%] must be a number")
    check.raises(function() return np.array({ 1.5 }, { dtype = "i32" }) end, "not an integer")
    check.raises(function() return np.array({ 256 }, { dtype = "u8" }) end, "does not fit into dtype u8")
    check.raises(function() return np.array({ 1 }, { type = "i32" }) end,
                 "unknown option 'type' %(options: copy, device, dtype%)")
    check.raises(function() return np.array({ 1 }, { dtype = "f17" }) end, "dtype must be one of")
    check.raises(function() return np.array() end, "argument 1")
end)

check.test("tables of many rows, and what is wrong with one of them", function()
    local function rows(count, width)
        local list = {}
        for k = 1, count do
            list[k] = {}
            for j = 1, width do list[k][j] = k * 10 + j end
        end
        return list
    end
    for _, dtype in ipairs { "f32", "f64", "i32", "u64", "i16" } do
        local list = rows(300, 3)
        check.equal(np.array(list, { dtype = dtype }):totable(), list)
    end
    check.equal(np.array({ rows(3, 2), rows(3, 2) }):totable(), { rows(3, 2), rows(3, 2) })
    check.equal(np.array { { true, 0 }, { 2, false } }:totable(), { { 1, 0 }, { 2, 0 } })
    check.equal(np.array({ { true, 0 }, { 2, false } }, { dtype = "bool" }):totable(),
                { { true, false }, { true, false } })
    check.equal(np.array({ { 1, 18446744073709551615ULL } }, { dtype = "u64" }).shape, { 1, 2 })
    check.equal({ np.array({ {}, {} }).shape, np.array({}).shape, np.array({ { {} } }):totable() },
                { { 2, 0 }, { 0 }, { { {} } } })

    local function raises(change, message, dtype)
        local list = rows(300, 3)
        change(list)
        check.raises(function() return np.array(list, { dtype = dtype }) end, message)
    end
    raises(function(list) list[200] = { 1, 2 } end, "item%[200%] has 2 entries, where others have 3")
    raises(function(list) list[200] = 7 end, "item%[200%] is the number 7, where others are tables")
    raises(function(list) list[200][2] = { 1 } end, "item%[200%]%[2%] is a table, where others are numbers")
    raises(function(list) list[200][2] = "x" end, "item%[200%]%[2%] must be a number or a boolean, got the string")
    raises(function(list) list[200][2] = 0.5 end, "0.5 is not an integer, dtype is i32", "i32")
    raises(function(list) list[200][2] = 0 / 0 end, "NaN does not fit into dtype i32", "i32")
    raises(function(list) list[200][2] = -1 end, "-1 does not fit into dtype u64", "u64")
    check.raises(function() return np.array(0.5, { dtype = "i8" }) end, "0.5 is not an integer, dtype is i8")
end)

check.test("64-bit integers are sizes and ends of ranges", function()
    check.equal({ np.ones { 2LL }.shape, np.zeros(2ULL, 3).shape, np.full(2LL, 7).shape }, { { 2 }, { 2, 3 }, { 2 } })
    check.equal({ np.arange(6):reshape(-1LL, 2).shape, np.tile(np.ones(1), { 2LL }).shape }, { { 3, 2 }, { 2 } })
    check.equal({ np.arange(3LL).dtype, np.arange(3ULL).dtype, np.arange(1, 4LL):totable() },
                { "i64", "u64", { 1, 2, 3 } })
    check.equal(np.ones { 2, 3 }:sum { axis = -1LL }:totable(), { 3, 3 })
    check.raises(function() np.ones { 9007199254740993LL } end, "from 0 to 2%^53")
end)

-- What contracts hold of options (tests/lib/contract_ways.lua), of arguments that they do not draw.
check.test("64-bit integers are counts, places and axes, and refused by name beyond 2^53", function()
    local x, key = np.arange(6):reshape(2, 3), np.random.key(0)
    local mesh_of = function(n) return np.mesh({ n }, { "i" }).shape.i end
    local calls = {
        function(n) return x[n] end, function(n) return x[{ n, { n } }] end, function(n) return x:at { n }:set(9) end,
        function(n) return x:sum(n) end, function(n) return x:dim(n) end, function(n) return np.roll(x, n, n) end,
        function(n) return np.split(x, n, n)[1] end, function(n) return np.array_split(x, { n })[1] end,
        function(n) return np.repeat_(x, n, n) end, function(n) return np.repeat_(np.ones(2), { n, n }) end,
        function(n) return np.tile(x, n, n) end, function(n) return np.rot90(x, n) end,
        function(n) return np.insert(x, n, 7, n) end, function(n) return np.delete_at(x, n, n) end,
        function(n) return np.append(x, x, n) end, function(n) return np.expand_dims(x, n) end,
        function(n) return np.eye(n, n, n) end, function(n) return np.linspace(0, 1, n) end,
        function(n) return np.pad(x, n) end, function(n) return np.diff(x, { n = n, axis = n }) end,
        function(n) return np.sliding_window_view(x, n, { axis = n }) end, function(n) return np.top_k(x, n) end,
        function(n) return np.partition(x, n) end, function(n) return np.tensordot(x, x.T, n) end,
        function(n) return np.linalg.matrix_power(np.eye(2), n) end, function(n) return np.fft.fft(x, n) end,
        function(n) return np.random.split(key, n) end, function(n) return np.random.uniform(key, { n }) end,
        function(n) return np.random.permutation(key, n) end, function(n) return np.random.choice(key, n, n) end,
        function(n) return np.random.fold_in(key, n) end, function(n) return np.one_hot(x, n) end,
        function(n) return np.vmap(np.sin, { in_axes = n, out_axes = n })(x) end,
        function(n) return np.vmap(np.sin, { axis_size = 2 * n, in_axes = 0 })(x) end,
        function(n) return np.fori_loop(0 * n, n, function(_, c) return c * 2 end, x) end,
        function(n) return np.scan(function(c) return c * 2, c end, x, nil, { length = n, unroll = n }) end,
        function(n) return np.switch(n, { np.sin, np.cos }, x) end, mesh_of,
        function(n) return np.nn.max_pool(np.ones { 1, 4, 1 }, n + n, { strides = n, padding = n }) end,
        function(n) return np.dynamic_slice(x, { n, n }, { n, n }) end, function(n) return np.base_repr(n, 1 + n) end,
        function(n) return np.table { a = { 1, 2 } }:take(n).a end,
        function(n) return np.unravel_index(n, { 2, 3 }) end,
    }
    local function text(...)
        local parts = {}
        for k = 1, select("#", ...) do
            local value = select(k, ...)
            parts[k] = type(value) == "table" and text(unpack(value)) or np.is_array(value)
                and value.dtype .. tostring(value) or tostring(value)
        end
        return table.concat(parts, " ")
    end
    for k, call in ipairs(calls) do
        local expected = text(call(1))
        check.equal({ text(call(1LL)), text(call(1ULL)) }, { expected, expected }, "call " .. k)
        local ok, problem = pcall(call, 2LL ^ 60 + 1)
        check.ok(ok or tostring(problem):find("np%.") or tostring(problem):find("array index"), k .. tostring(problem))
    end
end)

check.test("a key beside the items of a list is told, with the place where it belongs", function()
    check.raises(function() np.zeros { 3, dtype = "i32" } end,
                 'the shape has the key "dtype"; options come behind it: {3}, {dtype="i32"}')
    check.raises(function() np.stack { np.ones(2), axis = 1 } end, 'the table of arrays has the key "axis"')
    check.raises(function() np.ones(2):sum { axis = { 0, keepdims = true } } end, 'has the key "keepdims"')
    check.raises(function() np.ones { 2, nil, 3 } end, "item 2 of the shape is nil")
    check.equal(np.ones { n = 2, 2, 3 }.shape, { 2, 3 }, "as table.pack gives it")
    check.raises(function() np.ones { n = 3, 2, 3 } end, 'the key "n"')
end)

check.test("64-bit integers ask for their dtype", function()
    local x = np.array { 9007199254740993LL, 1 }
    check.equal({ x.dtype, tostring(x) }, { "i64", "[9007199254740993                1]" })
    check.equal({ np.array(5LL).dtype, np.array { { 5ULL } }.dtype, np.array { 5ULL, -5LL }.dtype },
                { "i64", "u64", "i64" })
    check.raises(function() np.array { 5LL, 0.5 } end, "not an integer")
    check.equal(np.array({ 5LL }, { dtype = "f64" }).dtype, "f64")
end)

check.test("tables that contain themselves", function()
    local all, later = {}, { { 1 }, { 2 } }
    all[1] = all
    later[2][1] = later
    local function refuses(f)
        check.raises(f, "np.array: at most 16 axes, got tables that are nested deeper")
    end
    for _, t in ipairs { all, later } do
        refuses(function() return np.array(t) end)
        refuses(function() return np.asarray(t, { dtype = "i32" }) end)
        refuses(function() return np.array_equal(t, 1) end)
        refuses(function() return np.allclose(t, 1) end)
        refuses(function() return np.ones(2) + np.array { np.ones(1), t } end)
    end
end)

check.test("creation", function()
    check.equal(np.eye(2, 3, 1):totable(), { { 0, 1, 0 }, { 0, 0, 1 } })
    check.equal(np.eye(2, { m = 3, k = 1, dtype = "i32" }):totable(), { { 0, 1, 0 }, { 0, 0, 1 } })
    check.equal(np.tri(2, 3):totable(), { { 1, 0, 0 }, { 1, 1, 0 } })
    check.equal(np.diag(np.array { 1, 2 }, -1):totable(), { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 2, 0 } })
    check.equal(np.diag(np.arange(6):reshape(2, 3), 1):totable(), { 1, 5 })
    check.equal(np.linspace(0, 1, 3):totable(), { 0, 0.5, 1 })
    check.equal(np.full_like(np.arange(2), 5):totable(), { 5, 5 })
    check.equal(np.arange(5, 0, -2):totable(), { 5, 3, 1 })
    check.raises(function() return np.arange(0, 1, 0) end, "step must not be 0")
    check.raises(function() return np.arange(3e9) end, "does not fit into dtype i32")
    check.raises(function() return np.zeros(-1) end, "integers from 0 to 2")
    check.raises(function() return np.zeros { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } end,
                 "at most 16 axes")
end)

check.test("tables of no elements", function()
    check.equal(np.zeros(2, 0):totable(), { {}, {} })
    check.equal(np.zeros(0, 2 ^ 30):totable(), {})
    check.equal(np.zeros(2, 0, 2 ^ 30):totable(), { {}, {} })
    check.raises(function() return np.zeros(2 ^ 30, 0):totable() end,
                 "np.totable: an array of shape %(1073741824, 0%) would be 1073741825 tables, more than 67108864")
    check.raises(function() return np.zeros(2 ^ 14, 2 ^ 14, 0):totable() end, "would be 268451841 tables")
end)

check.test("casts", function()
    check.equal(np.array({ 1.7, -1.7 }):astype("i32"):totable(), { 1, -1 })
    check.equal(np.array({ 0, 2 }):astype("bool"):totable(), { false, true })
    check.raises(function() return np.ones(2):astype("float") end, "dtype must be one of")
    check.raises(function() return np.ones(2):astype() end, "argument 2 %(dtype%)")
end)

check.test("errors name function, argument and line", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local text = check.raises(function() local _ = np.ones(2, 3) + np.ones(4) end, "do not broadcast")
    check.ok(text:find("arrays_test.lua:" .. line .. ": np.add: shapes (2, 3) and (4,) do not", 1, true), text)
    check.raises(function() return np.exp("x") end, 'np.exp: argument 1 must be an array or a number, got the string')
    check.raises(function() return np.exp(np.ones(2), 3) end, "takes 1 argument, got also the number 3")
    check.raises(function() return np.add({ 1 }, 2) end, "np.array makes one")
    check.raises(function() return np.ones(2):sum { axes = 0 } end, "unknown option 'axes'")
    check.raises(function() return np.ones(2):sum { axis = 1 } end, "axis 1 is out of range for an array of 1 axis")
    check.raises(function() return np.ones(2, 3):matmul(np.ones(2, 3)) end, "3 columns meet 2 rows")
    check.raises(function() return np.device("cuda:0") end, "no device 'cuda:0' %(devices: cpu:0")
end)

check.done()
