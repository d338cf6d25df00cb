--- onnx_hosts_test.lua (under tsan with --long): what graphs compute of shapes is computed in Lua, by a second
-- implementation of some operators (neap/onnx/hosts.lua). It gives what np gives for the same tensors, drawn at random,
-- or leaves the node to np.
--
--     NEAP_TEST_SEED, NEAP_TEST_LONG   as in tests/lib/seeds.lua
local np = require "neap"
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local hosts = require "neap.onnx.hosts"
local node = require "neap.onnx.node"
local ops = require "neap.onnx.ops"

local random

local function pick(list) return list[random(#list)] end

--- A host tensor of integers, or of bools.
local function tensor(shape, dtype, least, most)
    local list, count = {}, 1
    for _, n in ipairs(shape) do count = count * n end
    for k = 1, count do list[k] = random(most - least + 1) + least - 1 end
    return hosts.new(dtype or "i64", shape, list)
end

local function shape_of(rank)
    local shape = {}
    for k = 1, rank or random(4) - 1 do shape[k] = random(4) - (random(12) == 1 and 1 or 0) end
    return shape
end

--- Two shapes that broadcast, mostly.
local function shapes()
    local a, b = shape_of(), {}
    for k = 1, #a do b[k] = random(4) == 1 and 1 or a[k] end
    for _ = 1, random(3) - 1 do
        if #b > 0 and random(2) == 1 then table.remove(b, 1) end
    end
    if random(2) == 1 then return b, a end
    return a, b
end

local function binary()
    local a, b = shapes()
    return { tensor(a, "i64", -9, 9), tensor(b, "i64", -9, 9) }
end

local function logical()
    local a, b = shapes()
    return { tensor(a, "bool", 0, 1), tensor(b, "bool", 0, 1) }
end

local function any(rank) return tensor(shape_of(rank), pick { "i64", "i32" }, -9, 9) end

local function integers(list) return hosts.integers(list) end

local function axis_of(x) return random(#x.shape) - 1 - (random(2) == 1 and #x.shape or 0) end

local function reduction()
    local x = any(random(2) - 1)
    return { x, #x.shape == 1 and random(2) == 1 and integers { axis_of(x) } or nil }, { keepdims = random(2) - 1 }
end

-- How inputs and attributes of each operator are drawn: operator = function() → inputs, attributes.
local cases = {
    Not = function() return { tensor(shape_of(), "bool", 0, 1) } end,
    Where = function()
        local a, b = shapes()
        return { tensor(a, "bool", 0, 1), tensor(b, "i64", -9, 9), tensor(pick { a, b, {} }, "i64", -9, 9) }
    end,
    Cast = function() return { any() }, { to = pick { 1, 6, 7, 9, 11 } } end,
    Concat = function()
        local first = any(random(3))
        local axis, second = axis_of(first), {}
        for k, n in ipairs(first.shape) do second[k] = n end
        second[axis % #second + 1] = random(3)
        return { first, tensor(second, first.dtype, -9, 9), first }, { axis = axis }
    end,
    Gather = function()
        local x = tensor({ random(3), random(3), random(3) }, "i64", -9, 9)
        local axis = axis_of(x)
        local n = x.shape[axis % 3 + 1]
        return { x, tensor(shape_of(random(3) - 1), "i64", -n, n - 1) }, { axis = axis }
    end,
    Slice = function()
        local x = any(random(3))
        local far = pick { 9, 2 ^ 63 }
        return { x, tensor({ 1 }, "i64", -6, 6), integers { pick { -far, far, -1, 2, 0 } }, integers { axis_of(x) },
                 integers { pick { 1, 1, 2, -1, -2, 3 } } }
    end,
    Transpose = function()
        local x = any(3)
        return { x }, { perm = pick { { 0, 1, 2 }, { 2, 0, 1 }, { 1, 0, 2 }, { 2, 1, 0 } } }
    end,
    Reshape = function()
        local x = any(2)
        return { x, integers(pick { { -1 }, { 0, 0 }, { 0, 1, -1 }, { 1, x.shape[1], x.shape[2] } }) }
    end,
    Squeeze = function() return { any(3) } end,
    Unsqueeze = function()
        local x = any()
        return { x, integers(pick { { 0 }, { -1 }, { 0, #x.shape + 1 } }) }
    end,
    Expand = function()
        local a, b = shapes()
        return { tensor(a, "i64", -9, 9), integers(b) }
    end,
    Range = function()
        return { tensor({}, "i64", -9, 9), tensor({}, "i64", -9, 9), hosts.new("i64", {}, { pick { -3, -1, 1, 2 } }) }
    end,
    ConstantOfShape = function()
        return { integers(shape_of()) }, { value = hosts.new("i64", { 1 }, { random(9) }) }
    end,
    NonZero = function() return { tensor({ random(6) }, "i64", -1, 1) } end,
    Split = function()
        local n = random(6)
        return { tensor({ n + 2 }, "i64", -9, 9), integers { n, 2 } }, { axis = 0 }, 2
    end,
    Tile = function() return { tensor({ random(4) }, "i64", -9, 9), integers { random(4) - 1 } } end,
    Identity = function() return { any() } end,
    ReduceProd = reduction, ReduceSum = reduction, ReduceMax = reduction, ReduceMin = reduction,
}
for name in ("Add Sub Mul Div Mod Min Max Equal Less LessOrEqual Greater GreaterOrEqual"):gmatch "%S+" do
    cases[name] = binary
end
for name in ("And Or Xor"):gmatch "%S+" do cases[name] = logical end
for name in ("Neg Abs"):gmatch "%S+" do cases[name] = function() return { any() } end end
for name in ("Floor Ceil Sqrt"):gmatch "%S+" do
    cases[name] = function()
        local x = tensor(shape_of(), "f32", 0, 40)
        for k = 1, #x do x[k] = x[k] / 4 end
        return { x }
    end
end

--- A copy of a value as np gets it: those that decide about shapes as host tensors, others as arrays.
local function for_np(row, values, count)
    local list = {}
    for k = 1, count do
        list[k] = values[k] and not row.at_host[k] and hosts.array(values[k]) or values[k]
    end
    return list
end

local function text(value)
    if not np.is_array(value) then value = hosts.array(value) end
    return ("%s(%s) %s"):format(value.dtype, table.concat(value.shape, ","), tostring(np.ravel(value)))
end

local function try(name)
    local values, attr, outputs = cases[name]()
    local row, count = ops.find("", name), 0
    for k in pairs(values) do count = math.max(count, k) end
    local n = setmetatable({ op = name, name = "", domain = "", opset = 20, attr = attr or {}, row = row, inputs = {},
                             outputs = { "y", outputs and "z" or nil }, model = {} }, node.meta)
    local good, mine = pcall(function() return { row.on_host(n, unpack(values, 1, count)) } end)
    local fine, theirs = pcall(function() return { row.run(n, unpack(for_np(row, values, count), 1, count)) } end)
    if good and mine[1] == nil then return false end -- left to np
    check.equal(good, fine, ("%s: %s"):format(name, good and tostring(theirs) or tostring(mine.problem or mine)))
    for k = 1, good and (outputs or 1) or 0 do check.equal(text(mine[k]), text(theirs[k]), name) end
    return true
end

local names = {}
for name in pairs(hosts.ops) do names[#names + 1] = name end
table.sort(names)

for seed in seeds.each(1) do
    random = seeds.generator(seed)
    for _, name in ipairs(names) do
        check.test(name, function()
            local done = 0
            for _ = 1, 60 do done = done + (try(name) and 1 or 0) end
            check.ok(done >= 15, ("only %d of 60 were computed in Lua"):format(done))
        end)
    end
end

check.done()
