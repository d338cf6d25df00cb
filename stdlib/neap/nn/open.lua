--- open.lua: parameters with open sizes, which follow from what is computed from them.
--
-- While the parameters of a block are made (block.lua), forward runs with a stand-in for each parameter some of whose
-- sizes are open: `false` in its declared shape. The first function that needs the array tells the sizes, if it has a
-- rule here; then the parameter is made, and the function goes on with it. So there are no unknown results: all else
-- sees arrays. The stand-in comes in through core.coerce, which finds __array in its metatable.
local core = require "neap.core"

local np = core.np
local raise, is_array = core.raise, core.is_array
local getmetatable, newproxy, rawequal, type = getmetatable, newproxy, rawequal, type

-- Stand-ins are userdata, whose metatable may say what `#` and `..` do, as that of arrays does.
local prototype = newproxy(true)
local Open = getmetatable(prototype)

-- The environment of a stand-in: `what` it is, in words; `declared`, its shape, with false for open sizes; make(dims),
-- which makes the array; `made`, the array, once it is; `source`, if it is a transposed one.
local facts_of = debug.getfenv

-- ---- What functions tell --------------------------------------------------------------------------------------------

-- A rule, rule(told, known, k, how), enters into `told` by axis, from 1, the sizes that argument k must have, the
-- arguments being of shapes `known`, with false for open sizes. What was declared is not overruled. `how` is what the
-- function passes on to core.coerce.

--- Of sizes that broadcast: one that is not 1 is preferred.
local function tell(told, axis, size)
    if size and (told[axis] or 1) == 1 then told[axis] = size end
end

--- An axis is as long as what it meets, counted from the last axis; the last `less` axes are left out.
local function broadcast(told, known, k, less)
    for at, other in ipairs(known) do
        for axis = 1, at ~= k and #known[k] - less or 0 do tell(told, axis, other[axis + #other - #known[k]]) end
    end
end

--- The last axis of the first argument is as long as the one before last, or the only one, of the second.
local function contract(told, known, k)
    local n, other = #known[k], known[3 - k]
    if k == 1 then told[n] = other[math.max(#other - 1, 1)] else told[math.max(n - 1, 1)] = other[#other] end
end

local rules = { dot = contract }

function rules.matmul(told, known, k)
    broadcast(told, known, k, 2)
    contract(told, known, k)
end

--- how(k, ndim): the labels of argument k.
function rules.einsum(told, known, k, how)
    local extent = {}
    for at, dims in ipairs(known) do
        for axis, label in ipairs { how(at, #dims):byte(1, -1) } do tell(extent, label, dims[axis]) end
    end
    for axis, label in ipairs { how(k, #known[k]):byte(1, -1) } do told[axis] = extent[label] end
end

--- how: the axis of the kernel's channels, and the groups; the channels of images, argument 1, are last.
rules["nn.conv"] = function(told, known, _, how)
    local channels = known[1][#known[1]]
    if type(how.groups) == "number" and channels % how.groups == 0 then told[how.axis] = channels / how.groups end
end
rules["nn.conv_transpose"] = rules["nn.conv"]

for _, row in ipairs(core.rows) do
    if row.class == "map" then
        rules[row.name] = function(told, known, k) broadcast(told, known, k, 0) end
    end
end

-- ---- Stand-ins ------------------------------------------------------------------------------------------------------

--- The array, if it has been made.
local function made_of(open)
    local known = facts_of(open)
    if known.made == nil and known.source and made_of(known.source) then known.made = made_of(known.source).T end
    return known.made
end

local function is_stand_in(value)
    return getmetatable(value) == Open
end

local function shape_text(open)
    local dims = {}
    for axis, size in ipairs(facts_of(open).declared) do dims[axis] = size and ("%d"):format(size) or "?" end
    return ("(%s%s)"):format(table.concat(dims, ", "), #dims == 1 and "," or "")
end

--- What is known of an argument's shape.
local function known_shape(value)
    if is_stand_in(value) then
        if not made_of(value) then return facts_of(value).declared end
        value = made_of(value)
    end
    return is_array(value) and core.shape_of(value) or {}
end

--- Makes the array of a stand-in.
local function make(open, dims)
    local known = facts_of(open)
    known.made = known.make(dims)
    return known.made
end

--- What core.coerce gives for a stand-in among the arguments `inputs` of np.name (nil: nothing tells sizes).
function Open.__array(open, name, inputs, how)
    if made_of(open) then return made_of(open) end
    local told, known, position, dims = {}, {}, nil, {}
    for k, value in ipairs(inputs or {}) do
        known[k] = known_shape(value)
        if rawequal(value, open) then position = position or k end
    end
    if position and rules[name] then rules[name](told, known, position, how) end
    for axis, size in ipairs(facts_of(open).declared) do
        dims[axis] = size or told[axis]
        if not dims[axis] then
            raise(name, "the size of axis %d of %s, %s, does not follow from this first use of it: it would from "
                  .. "elementwise functions, matmul, dot, einsum and nn.conv with arrays that have the axis; otherwise "
                  .. "infer_shape has to give it", axis - 1, facts_of(open).what, shape_text(open))
        end
    end
    return make(open, dims)
end

--- A stand-in for `what`, of the shape `declared`; make(dims) makes the array, once.
local function new(what, declared, make_array, source)
    return debug.setfenv(newproxy(prototype), { what = what, declared = declared, make = make_array, source = source })
end

local function reversed(list)
    local result = {}
    for k = 1, #list do result[k] = list[#list + 1 - k] end
    return result
end

local function transposed(open)
    local known = facts_of(open)
    return new(known.what .. ", transposed", reversed(known.declared),
               function(dims) return make(open, reversed(dims)).T end, open)
end

function Open.__index(open, key)
    if made_of(open) then return made_of(open)[key] end
    if key == "T" then return transposed(open) end
    return core.methods[key] or Open.__array(open, "array")[key]
end

function Open.__newindex(open, key, value) Open.__array(open, "array")[key] = value end
function Open.__call(open, key) return Open.__array(open, "array")(key) end
function Open.__len(open) return #Open.__array(open, "array") end
function Open.__concat(a, b) return tostring(a) .. tostring(b) end
function Open.__tostring(open) return tostring(made_of(open) or Open.__describe(open)) end
function Open.__unm(open) return np.negative(open) end

--- What core.describe says.
function Open.__describe(open)
    if made_of(open) then return facts_of(open).what .. ", read before its sizes were known: read it again" end
    return ("%s, %s, whose open sizes are not known yet"):format(facts_of(open).what, shape_text(open))
end

for event, name in pairs { __add = "add", __sub = "subtract", __mul = "multiply", __div = "divide",
                           __mod = "remainder", __pow = "pow" } do
    Open[event] = function(a, b) return np[name](a, b) end
end

--- Whether a value is a stand-in whose array has not been made.
local function is_open(value)
    return is_stand_in(value) and made_of(value) == nil
end

for _, f in ipairs { Open.__array, Open.__index, made_of, make } do jit.off(f) end

return { new = new, is_open = is_open, shape_text = shape_text }
