--- rows_test.lua (sanitized with --long): every map and reduction against the reference of its row, or one of
-- tests/lib/references.lua: each accepted dtype, odd shapes, broadcast, transposed and reversed operands, within the
-- row's ulp. A row without a reference fails.
local check = require "tests.lib.check"
local references = require "tests.lib.references"
local values = require "tests.lib.values"
local np = require "neap"

local DTYPES, array, elements, unit = values.dtypes, values.array, values.elements, values.unit
local compare, each_dtype, size_of, rows = values.compare, values.each_dtype, values.size_of, values.rows

--- The row's reference as a function of Lua numbers; raises if there is none.
local function reference_of(row)
    if row.reference then return assert(loadstring("local a, b, c = ... return " .. row.reference)) end
    return references[row.name] or error("the row has no reference: add .reference, or a function to references.lua")
end

-- ---- Maps -----------------------------------------------------------------------------------------------------------

local SHAPES = { {}, { 0 }, { 1 }, { 17 }, { 3, 5 }, { 1030 }, { 2, 3, 7 }, { 2, 0, 3 } }

--- Ways to read an array of these dims: as it is, transposed, reversed, and (operands after the first) broadcast.
local function operands(row, dims, dtype, way)
    local list = {}
    for k = 1, row.arity do
        local own = { unpack(dims) }
        local of = row.name == "where" and k == 1 and "bool" or dtype
        if way == "broadcast" and k > 1 then own[k % 2 == 0 and 1 or #own] = 1 end
        if way == "transposed" then
            local turned = {}
            for axis = 1, #dims do turned[axis] = dims[#dims + 1 - axis] end
            list[k] = array(row, turned, of).T
        elseif way == "reversed" then
            list[k] = np.flip(array(row, own, of))
        else
            list[k] = array(row, own, of)
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
        local expected = reference(a, b, c, dtype)
        local largest = math.max(math.abs(a), math.abs(b or 0), math.abs(c or 0), math.abs(tonumber(expected) or 0))
        compare(got, expected, result.dtype, row.ulp, (row.ulp > 0 and 4 or 1) * unit(largest, "f64"), what)
    end
end

-- Complex numbers and their parts: golden/complex_test.lua.
local ELSEWHERE = { astype = true, complex = true, conj = true, imag = true, real = true }

for _, row in ipairs(rows) do
    if row.class == "map" and not ELSEWHERE[row.name] then
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

check.test("the map astype converts every dtype into every other", function()
    for from in pairs(DTYPES) do
        for to in pairs(DTYPES) do
            local x = array({ domain = { 0, 100 } }, { 40 }, from)
            local given, got = elements(x), elements(x:astype(to))
            for k, value in ipairs(given) do
                local expected = to == "bool" and (value ~= 0 and 1 or 0)
                    or DTYPES[to].kind == "int" and math.floor(value) or value
                local allowed = DTYPES[to].kind == "real" and unit(100, to) or 0
                check.close(got[k], expected, allowed, from .. " to " .. to)
            end
        end
    end
end)

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
    local list, logical = elements(x), #row.types == 1 and row.types[1] == "bool"
    for k, target in ipairs(targets(dims, axes)) do
        local value = list[k]
        if logical then value = value ~= 0 end
        local before = folded[target]
        if before == nil then folded[target] = value else folded[target] = reference(before, value) end
        magnitude[target] = (magnitude[target] or 0) + math.abs(list[k])
    end
    for k, got in ipairs(elements(result)) do
        local expected = folded[k]
        local what = ("np.%s of %s, shape %s, element %d"):format(row.name, dtype, table.concat(dims, "x"), k - 1)
        if DTYPES[result.dtype].kind == "real" and type(expected) == "number" then
            local scale = math.max(magnitude[k], math.abs(expected) * #list)
            local allowed = 4 * unit(scale, result.dtype)
            check.ok(math.abs(got - expected) <= allowed,
                     ("%s: got %.17g, expected %.17g"):format(what, got, expected))
        else
            compare(got, expected, result.dtype, 0, 0, what)
        end
    end
end

for _, row in ipairs(rows) do
    if row.class == "reduce" and not row.name:find "^arg" then
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

for name, better in pairs { argmax = function(a, b) return a > b end, argmin = function(a, b) return a < b end } do
    check.test("the reduction " .. name .. " gives the first of the best", function()
        -- Rows, and their length: many short ones are turned into columns, 16 of which are looked at together.
        for _, case in ipairs { { 6, 50 }, { 5, 10 }, { 150, 1 }, { 150, 7 }, { 37, 10 }, { 1000, 15 }, { 21, 16 } } do
            local rows_of, length = unpack(case)
            each_dtype({ types = { "bool", "int", "real" } }, function(dtype)
                local x = array({ domain = { 0, 4 } }, case, dtype)
                if dtype == "f32" or dtype == "f64" then x = np.where(x:gt(3), 0 / 0, x) end
                local all_of = {}
                for k, value in ipairs(elements(x)) do all_of[k] = value end
                local got = elements(np[name](x, { axis = 1 }))
                for row = 1, rows_of do
                    local first = (row - 1) * length
                    local best = 1
                    for k = 2, length do
                        local a, b = all_of[first + k], all_of[first + best]
                        if b == b and (a ~= a or better(a, b)) then best = k end
                    end
                    check.equal(got[row], best - 1, ("%s of %s, %dx%d"):format(name, dtype, rows_of, length))
                end
            end)
        end
    end)
end

check.done()
