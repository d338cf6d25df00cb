--- rows_test.lua: tests of every op row, from the list that the build writes from the rows (op_tests.lua).
--
-- Maps and reductions with a reference are compared with it on every accepted dtype, on odd shapes, broadcast and
-- transposed operands, within the row's ulp. Every row with a gradient is compared with central differences in f64; a
-- row that is neither a map nor a reduction needs an expression in `structural` below, and the last test fails for a
-- row without one.
local check = require "tests.check"
local np = require "neap"

local build = (os.getenv("NEAP") or "build/neap"):match("^(.*)/[^/]*$") or "."
local rows = dofile(build .. "/generated/op_tests.lua")

-- ---- Values ---------------------------------------------------------------------------------------------------------

-- Each dtype: the kind of row types that accept it, bits of an integer, unit in the last place of a float.
local DTYPES = {
    bool = { kind = "bool" },
    u8 = { kind = "int", bits = 8 }, i32 = { kind = "int", bits = 32, signed = true },
    u32 = { kind = "int", bits = 32 }, i64 = { kind = "int", bits = 53, signed = true },
    f32 = { kind = "real", digits = 24, smallest = -149 }, f64 = { kind = "real", digits = 53, smallest = -1074 },
}
local ORDER = { "bool", "u8", "i32", "u32", "i64", "f32", "f64" }

local seed = 1
--- A number in [0, 1); the same sequence in every run.
local function random()
    seed = (seed * 16807) % 2147483647
    return seed / 2147483647
end

--- A value of the dtype in the row's domain.
local function draw(row, dtype)
    local low, high = row.domain[1], row.domain[2]
    local kind = DTYPES[dtype].kind
    if kind == "bool" then return random() < 0.5 and 1 or 0 end
    if kind == "real" then return low + (high - low) * random() end
    low, high = math.ceil(low), math.floor(high)
    if not DTYPES[dtype].signed then low = math.max(low, 0) end
    return low + math.floor((high - low + 1) * random())
end

local function size_of(dims)
    local size = 1
    for _, n in ipairs(dims) do size = size * n end
    return size
end

--- An array of drawn values.
local function array(row, dims, dtype)
    local list = {}
    for k = 1, size_of(dims) do
        list[k] = draw(row, dtype)
        if dtype == "bool" then list[k] = list[k] ~= 0 end
    end
    return np.array(list, { dtype = dtype }):reshape(dims)
end

--- The elements in row-major order as numbers; booleans as 0 and 1.
local function elements(x)
    local list = x:reshape(-1):totable()
    for k, value in ipairs(list) do
        if type(value) == "boolean" then list[k] = value and 1 or 0 end
    end
    return list
end

--- The distance between neighbouring floats around a value.
local function unit(value, dtype)
    local _, exponent = math.frexp(value)
    local digits, smallest = DTYPES[dtype].digits, DTYPES[dtype].smallest
    return 2 ^ math.max(exponent - digits, smallest)
end

--- Raises unless got is what the reference says, in a result of this dtype; `slack` is what the reference itself may be
-- off, which counts in f64, where it rounds as the op does.
local function compare(got, expected, dtype, ulp, slack, what)
    local facts = DTYPES[dtype]
    if type(expected) == "boolean" then expected = expected and 1 or 0 end
    if facts.kind == "bool" then
        expected = expected ~= 0 and 1 or 0
    elseif facts.kind == "int" then
        expected = expected % 2 ^ facts.bits
        got = got % 2 ^ facts.bits
    elseif expected == expected and math.abs(expected) < math.huge then
        local allowed = ulp * unit(expected, dtype) + (dtype == "f32" and 0.5 * unit(expected, dtype) or slack)
        check.ok(math.abs(got - expected) <= allowed,
                 ("%s: got %.17g, expected %.17g, allowed error %.3g"):format(what, got, expected, allowed))
        return
    end
    check.ok(got == expected or got ~= got and expected ~= expected,
             ("%s: got %.17g, expected %.17g"):format(what, got, expected))
end

local function accepts(row, dtype)
    for _, kind in ipairs(row.types) do
        if DTYPES[dtype].kind == kind then return true end
    end
    return false
end

local function each_dtype(row, f)
    for _, dtype in ipairs(ORDER) do
        if accepts(row, dtype) then f(dtype) end
    end
end

local function reference_of(row)
    return assert(loadstring("local a, b, c = ... return " .. row.reference))
end

-- ---- Maps -----------------------------------------------------------------------------------------------------------

local SHAPES = { {}, { 1 }, { 17 }, { 3, 5 }, { 1030 }, { 2, 3, 7 } }

--- Ways to read an array of these dims: as it is, transposed, reversed, and (operands after the first) broadcast.
local function operands(row, dims, dtype, way)
    local list = {}
    for k = 1, row.arity do
        local own = { unpack(dims) }
        if way == "broadcast" and k > 1 then own[k % 2 == 0 and 1 or #own] = 1 end
        if way == "transposed" then
            local turned = {}
            for axis = 1, #dims do turned[axis] = dims[#dims + 1 - axis] end
            list[k] = array(row, turned, dtype).T
        elseif way == "reversed" then
            list[k] = np.flip(array(row, own, dtype))
        else
            list[k] = array(row, own, dtype)
        end
    end
    return list
end

local function test_map(row, dtype, dims, way)
    local inputs = operands(row, dims, dtype, way)
    local result = np[row.name](unpack(inputs))
    check.equal(result.shape, dims, "shape")
    local columns = {}
    for k, input in ipairs(inputs) do columns[k] = elements(np.broadcast_to(input, dims)) end
    local reference = reference_of(row)
    for k, got in ipairs(elements(result)) do
        local a, b, c = columns[1][k], columns[2] and columns[2][k], columns[3] and columns[3][k]
        local what = ("np.%s(%s) of %s, shape %s, %s"):format(
            row.name, table.concat({ a, b, c }, ", "), dtype, table.concat(dims, "x"), way)
        local expected = reference(a, b, c)
        local largest = math.max(math.abs(a), math.abs(b or 0), math.abs(c or 0), math.abs(tonumber(expected) or 0))
        compare(got, expected, result.dtype, row.ulp, (row.ulp > 0 and 4 or 1) * unit(largest, "f64"), what)
    end
end

for _, row in ipairs(rows) do
    if row.class == "map" and row.reference and np[row.name] then
        check.test("the map " .. row.name .. " is its reference", function()
            each_dtype(row, function(dtype)
                for _, dims in ipairs(SHAPES) do test_map(row, dtype, dims, "plain") end
                test_map(row, dtype, { 3, 5 }, "transposed")
                test_map(row, dtype, { 3, 5 }, "reversed")
                test_map(row, dtype, { 3, 5 }, "broadcast")
            end)
        end)
    end
end

-- ---- Reductions -----------------------------------------------------------------------------------------------------

-- Shape, axes (from 0), and the shape of the result.
local REDUCTIONS = {
    { { 1 }, { 0 }, {} }, { { 7 }, { 0 }, {} }, { { 1000 }, { 0 }, {} }, { { 3, 5 }, { 0 }, { 5 } },
    { { 3, 5 }, { 1 }, { 3 } }, { { 5, 300 }, { 1 }, { 5 } }, { { 300, 5 }, { 0 }, { 5 } },
    { { 2, 3, 4 }, { 0, 2 }, { 3 } }, { { 2, 3, 4 }, { 1 }, { 2, 4 } },
}

--- The position in the result of each element of the operand.
local function targets(dims, axes)
    local reduced, stride, weights = {}, 1, {}
    for _, axis in ipairs(axes) do reduced[axis + 1] = true end
    for axis = #dims, 1, -1 do
        weights[axis] = reduced[axis] and 0 or stride
        if not reduced[axis] then stride = stride * dims[axis] end
    end
    local list = {}
    for k = 0, size_of(dims) - 1 do
        local rest, at = k, 0
        for axis = #dims, 1, -1 do
            at = at + rest % dims[axis] * weights[axis]
            rest = math.floor(rest / dims[axis])
        end
        list[k + 1] = at + 1
    end
    return list
end

local function test_reduction(row, dtype, case, keepdims)
    local dims, axes = case[1], case[2]
    local x = array(row, dims, dtype)
    local result = np[row.name](x, { axis = axes, keepdims = keepdims })
    if not keepdims then check.equal(result.shape, case[3], "shape") end
    local folded, magnitude, reference = {}, {}, reference_of(row)
    local values, logical = elements(x), #row.types == 1 and row.types[1] == "bool"
    for k, target in ipairs(targets(dims, axes)) do
        local value = values[k]
        if logical then value = value ~= 0 end
        local before = folded[target]
        if before == nil then folded[target] = value else folded[target] = reference(before, value) end
        magnitude[target] = (magnitude[target] or 0) + math.abs(values[k])
    end
    for k, got in ipairs(elements(result)) do
        local expected = folded[k]
        local what = ("np.%s of %s, shape %s, element %d"):format(row.name, dtype, table.concat(dims, "x"), k - 1)
        if DTYPES[result.dtype].kind == "real" and type(expected) == "number" then
            local scale = math.max(magnitude[k], math.abs(expected) * #values)
            local allowed = 4 * unit(scale, result.dtype)
            check.ok(math.abs(got - expected) <= allowed,
                     ("%s: got %.17g, expected %.17g"):format(what, got, expected))
        else
            compare(got, expected, result.dtype, 0, 0, what)
        end
    end
end

for _, row in ipairs(rows) do
    if row.class == "reduce" and row.reference and np[row.name] then
        check.test("the reduction " .. row.name .. " is its reference", function()
            each_dtype(row, function(dtype)
                for _, case in ipairs(REDUCTIONS) do
                    -- A product of many integers leaves the numbers that Lua holds exactly.
                    if row.name ~= "prod" or DTYPES[dtype].kind == "real" or size_of(case[1]) < 50 then
                        test_reduction(row, dtype, case, false)
                        test_reduction(row, dtype, case, true)
                    end
                end
            end)
        end)
    end
end

-- ---- Gradients ------------------------------------------------------------------------------------------------------

local STEP, TOLERANCE = 1e-5, 1e-6

--- f(inputs…) weighted and summed, so that every element of the result has a cotangent of its own.
local function scalar(f, inputs)
    local y = f(unpack(inputs))
    local weights = np.arange(y.size, { dtype = "f64" }) * 0.25 + 0.5
    return (y:reshape(-1) * weights):sum()
end

--- Compares np.grad with central differences in every element of every input.
local function check_gradient(f, inputs)
    local argnums = {}
    for k = 1, #inputs do argnums[k] = k end
    local gradients = { np.grad(function(...) return scalar(f, { ... }) end, { argnums = argnums })(unpack(inputs)) }
    for k, input in ipairs(inputs) do
        local flat, dims = elements(input), input.shape
        local got = elements(gradients[k])
        check.equal(gradients[k].shape, dims, "shape of a gradient")
        for element = 1, #flat do
            local function moved(by)
                local values, others = { unpack(flat) }, { unpack(inputs) }
                values[element] = values[element] + by
                others[k] = np.array(values, { dtype = "f64" }):reshape(dims)
                return scalar(f, others):item()
            end
            local slope = (moved(STEP) - moved(-STEP)) / (2 * STEP)
            check.ok(math.abs(got[element] - slope) <= TOLERANCE * math.max(1, math.abs(slope)),
                     ("argument %d, element %d: got %.10g, differences give %.10g"):format(k, element - 1, got[element],
                                                                                          slope))
        end
    end
end

local wide = { domain = { -2, 2 } }
local function some(...) return array(wide, { ... }, "f64") end

local repeated, distinct = np.array({ 2, 0, 2 }, { dtype = "i32" }), np.array({ 2, 0 }, { dtype = "i32" })

-- Rows whose attributes need an expression of their own: the function and its inputs.
local structural = {
    astype = { function(x) return x:astype("f64") * 1 end, { some(3) } },
    where = { function(x, y) return np.where(np.array { true, false, true }, x, y) end, { some(3), some(3) } },
    broadcast_to = { function(x) return np.broadcast_to(x, { 4, 2, 3 }) end, { some(2, 1) } },
    reshape = { function(x) return x:reshape(3, 2) ^ 3 end, { some(2, 3) } },
    slice = { function(x) return x "1:, ::-2" end, { some(3, 4) } },
    transpose = { function(x) return x:transpose(2, 0, 1) end, { some(2, 3, 2) } },
    concatenate = { function(x, y) return np.concatenate({ x, y, x }, { axis = 1 }) end, { some(2, 3), some(2, 1) } },
    pad = { function(x) return np.diag(x, 1) end, { some(3) } },
    matmul2 = { function(x, y) return np.matmul(x, y) end, { some(2, 3, 4), some(2, 4, 2) } },
    take = { function(x) return np.take(x, repeated, { axis = 0 }) end, { some(3, 2) } },
    put_add = { function(x, y) return x:at { repeated }:add(y) end, { some(3, 2), some(3, 2) } },
    put_set = { function(x, y) return x:at { distinct }:set(y) end, { some(3, 2), some(2, 2) } },
    debug_sleep = { function(x) return np.debug.sleep(x * x, 0) end, { some(2) } },
}
-- alias stands for the argument itself in every gradient; debug_fail has no value.
local exempt = { alias = true, debug_fail = true }

for _, row in ipairs(rows) do
    if row.gradient and not exempt[row.name] then
        local case = structural[row.name]
        check.test("the gradient of " .. row.name .. " is that of differences", function()
            if case then
                check_gradient(case[1], case[2])
            elseif row.class == "map" then
                check.ok(row.domain, "no domain")
                local inputs, broadcast = {}, {}
                for k = 1, row.arity do
                    inputs[k] = array(row, { 5 }, "f64")
                    broadcast[k] = array(row, k == 1 and { 2, 3 } or { 3 }, "f64")
                end
                check_gradient(np[row.name], inputs)
                check_gradient(np[row.name], broadcast)
            elseif row.class == "reduce" then
                check_gradient(function(x) return np[row.name](x, { axis = 1 }) end, { array(row, { 3, 4 }, "f64") })
                check_gradient(function(x) return np[row.name](x) end, { array(row, { 2, 3 }, "f64") })
            else
                error("add an expression for it to `structural`")
            end
        end)
    end
end

check.done()
