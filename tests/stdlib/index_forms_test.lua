--- index_forms_test.lua (under tsan with --long): every form of index, in random order and number, read and written,
-- with values of Lua as the oracle: computed at once, jitted, differentiated, for a batch, for a batch jitted, and
-- traced. Forms drawn at random.
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"

local random = math.random

-- ---- The oracle: flat lists, row-major ------------------------------------------------------------------------------

local function product(dims)
    local n = 1
    for _, extent in ipairs(dims) do n = n * extent end
    return n
end

--- The coordinates of element k (from 0) of a shape.
local function coordinates(k, dims)
    local at = {}
    for axis = #dims, 1, -1 do
        at[axis] = k % dims[axis]
        k = math.floor(k / dims[axis])
    end
    return at
end

--- The element of a list of shape `own` that broadcasting puts at coordinates of a shape with as many axes or more.
local function broadcast_at(list, own, at)
    local k = 0
    for axis = 1, #own do k = k * own[axis] + (own[axis] == 1 and 0 or at[axis + #at - #own]) end
    return list[k + 1]
end

--- The shape of several together.
local function broadcast_shapes(shapes)
    local dims = {}
    for _, own in ipairs(shapes) do
        while #dims < #own do table.insert(dims, 1, 1) end
        for axis = 1, #own do
            local at = #dims - #own + axis
            if own[axis] ~= 1 then dims[at] = own[axis] end
        end
    end
    return dims
end

--- Lists an index for a shape: { shape, from = by element of the part: the element of the array, or { nearest } where
-- an index array is out of range }. items: { int = n }, { places = {…} of a slice }, { new = true },
-- { list = {…}, shape = {…} } of an index array, { dots = true }; masks are lists already, one for each axis.
local function locate(dims, items)
    local advanced, shapes, apart, last = false, {}, false, nil
    for _, item in ipairs(items) do advanced = advanced or item.list ~= nil end
    for k, item in ipairs(items) do
        if advanced and (item.list or item.int) then
            apart, last = apart or last and last ~= k - 1, k
            shapes[#shapes + 1] = item.shape or {}
        end
    end
    local index, own, axis, placed = broadcast_shapes(shapes), {}, 0, false
    local axes = {} -- by axis of the array: { item, the axis of the part where its own coordinate stands }
    local function put_index()
        if placed then return end
        placed = #own
        for _, extent in ipairs(index) do own[#own + 1] = extent end
    end
    if advanced and apart then put_index() end
    for _, item in ipairs(items) do
        if item.new then
            own[#own + 1] = 1
        elseif item.places then
            axis = axis + 1
            own[#own + 1] = #item.places
            axes[axis] = { item, #own }
        elseif not item.dots then
            axis = axis + 1
            if advanced then put_index() end
            axes[axis] = { item }
        end
    end
    local from = {}
    for k = 0, product(own) - 1 do
        local at, to, inside, of_index = coordinates(k, own), 0, true, {}
        for d = 1, #index do of_index[d] = at[placed + d] end
        for a = 1, #dims do
            local item, n = axes[a][1], dims[a]
            local place = item.int or item.places and item.places[at[axes[a][2]] + 1]
                or broadcast_at(item.list, item.shape, of_index)
            if place < 0 then place = place + n end
            if place < 0 or place >= n then inside, place = false, math.max(0, math.min(n - 1, place)) end
            to = to * n + place
        end
        from[k + 1] = inside and to + 1 or { to + 1 }
    end
    return { shape = own, from = from }
end

local change = {
    set = function(_, new) return new end,
    add = function(old, new) return old + new end,
    mul = function(old, new) return old * new end,
    min = math.min,
    max = math.max,
}

--- What the array (a list) becomes, or what is read of it.
local function expected(case, x, v)
    local result = {}
    if case.how == "read" or case.how == "get" then
        for k, from in ipairs(case.part.from) do result[k] = x[type(from) == "table" and from[1] or from] end
        return result
    end
    for k = 1, #x do result[k] = x[k] end
    for k, to in ipairs(case.part.from) do
        local new = broadcast_at(v, case.value_shape, coordinates(k - 1, case.part.shape))
        if type(to) == "number" then result[to] = change[case.how](result[to], new) end
    end
    return result
end

-- ---- Random indices -------------------------------------------------------------------------------------------------

local INTEGERS = { "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64" }

local function slice_places(from, to, step, n)
    local places = {}
    for k = from, to + (step > 0 and -1 or 1), step do places[#places + 1] = k end
    assert(#places == 0 or places[1] >= 0 and places[#places] >= 0 and places[1] < n and places[#places] < n)
    return places
end

--- A slice of an axis of n: as an item, as a text, and its places.
local function draw_slice(n)
    local step = random(4) == 1 and random(2, 3) or 1
    local from, to = random(0, n - 1), random(0, n)
    if to < from then from, to = to, from end
    if to < step then step = 1 end -- neap warns of {0, 1, 3}, which may be a list of elements
    local shown = function(value) return random(2) == 1 and value - n or value end
    if random(4) == 1 then -- backwards, to the front
        local start = random(0, n - 1)
        return { start, nil, -step }, ("%d::%d"):format(start, -step), slice_places(start, -1, -step, n)
    elseif random(4) == 1 then
        return {}, ":", slice_places(0, n, 1, n)
    elseif to == n then
        local a = shown(from)
        return { a, nil, step }, ("%d::%d"):format(a, step), slice_places(from, n, step, n)
    end
    local a, b = shown(from), shown(to)
    return { a, b, step }, ("%d:%d:%d"):format(a, b, step), slice_places(from, to, step, n)
end

--- An index array of a shape for an axis of n; now and then something in it is out of range.
local function draw_list(shape, n)
    local list, dtype = {}, INTEGERS[random(#INTEGERS)]
    local signed, far = dtype:sub(1, 1) == "i", random(6) == 1 and 2 or 0
    for k = 1, product(shape) do list[k] = random(signed and -n - far or 0, n - 1 + far) end
    return { list = list, shape = shape, dtype = dtype }
end

--- An index of an array of shape dims: the items of the oracle, those of neap as makers of (numbers, arrays) →, and
-- as texts.
local function draw_index(dims, case)
    local items, makers, texts = {}, {}, {}
    local shapes = ({ { {}, { 3 } }, { { 2 }, { 1 } }, { { 2, 2 }, { 2 } }, { { 0 } }, { { 1 } } })[random(5)]
    local function add(item, make, text)
        items[#items + 1], makers[#makers + 1] = item, make
        texts[#texts + 1] = text or false
    end
    local function maybe_new()
        if random(6) == 1 then add({ new = true }, function() return np.newaxis end, "newaxis") end
    end
    local axis, dots, few, missing = 1, random(4) == 1, random(3) == 1, false
    while axis <= #dims do
        maybe_new()
        local n, kind = dims[axis], random(8)
        if dots and random(2) == 1 or few and not dots and random(3) == 1 then -- the rest, or some of it
            local to = dots and random(axis - 1, #dims) or #dims
            for k = axis, to do items[#items + 1] = { places = slice_places(0, dims[k], 1, dims[k]) } end
            if to < axis then items[#items + 1] = { dots = true } end
            if dots then makers[#makers + 1], texts[#texts + 1] = function() return np.ellipsis end, "..." end
            axis, missing, dots, few = to + 1, not dots, false, false
        elseif kind <= 2 then
            local k = random(-n, n - 1)
            add({ int = k }, function() return k end, tostring(k))
            axis = axis + 1
        elseif kind <= 4 then
            local item, text, places = draw_slice(n)
            add({ places = places }, function() return item end, text)
            axis = axis + 1
        elseif kind == 5 and n > 0 then -- a number argument
            local k = random(-n, n - 1)
            case.numbers[#case.numbers + 1] = k
            local at = #case.numbers
            add({ int = k, list = { k }, shape = {} }, function(numbers) return numbers[at] end)
            items[#items].int = nil
            axis = axis + 1
        elseif kind == 6 and not case.traced and n > 0 then -- a mask
            local list, mask = {}, {}
            for k = 0, n - 1 do
                mask[k + 1] = random(2) == 1
                if mask[k + 1] then list[#list + 1] = k end
            end
            if #list > 1 and not case.masked then
                case.masked, shapes = #list, { { #list }, { 1 } }
                for _, item in ipairs(items) do
                    if item.list and #item.shape > 0 then return nil end -- another draw: they do not broadcast
                end
                add({ list = list, shape = { #list } }, function() return np.array(mask) end)
                axis = axis + 1
            end
        else
            local drawn = draw_list(shapes[random(#shapes)], n)
            local plain = #drawn.shape == 1 and #drawn.list > 0 and random(2) == 1
            if plain then
                local text = "[" .. table.concat(drawn.list, ", ") .. "]"
                add(drawn, function() return np.array(drawn.list, { dtype = "i32" }) end, text)
            else
                case.arrays[#case.arrays + 1] = drawn
                local at = #case.arrays
                add(drawn, function(_, arrays) return arrays[at] end)
            end
            axis = axis + 1
        end
    end
    if not missing then maybe_new() end
    if #makers == 0 then return nil end
    local as_text = true
    for _, text in ipairs(texts) do as_text = as_text and text end
    return items, makers, as_text and table.concat(texts, ", ")
end

local function array_of(list, shape, dtype)
    return np.array(list, { dtype = dtype or "f32" }):reshape(shape)
end

local HOWS = { "read", "get", "set", "add", "mul", "min", "max", "set", "add" }

local function numbers_between(n)
    local list = {}
    for k = 1, n do list[k] = (random(255) - 128) / 16 end
    return list
end

--- Numbers that are none of those of numbers_between, each another one if there are few: of three equal ones each would
-- get a third of a derivative, and from differences a half.
local function updates_between(n)
    local list, taken = {}, {}
    for k = 1, n do
        local number
        repeat number = random(255) until not taken[number] or k > 200
        taken[number] = true
        list[k] = (number - 128) / 16 + 1 / 32
    end
    return list
end

local function draw_case(traced)
    local case = { numbers = {}, arrays = {}, dims = {}, traced = traced, how = HOWS[random(#HOWS)] }
    for axis = 1, random(1, 4) do case.dims[axis] = random(1, 4) end
    local items, makers, text
    repeat
        case.numbers, case.arrays, case.masked = {}, {}, nil
        items, makers, text = draw_index(case.dims, case)
    until items
    case.part = locate(case.dims, items)
    case.x = numbers_between(product(case.dims))
    case.value_shape = {}
    for axis = random(1, #case.part.shape + 1), #case.part.shape do
        local n = case.part.shape[axis]
        table.insert(case.value_shape, n ~= 0 and random(4) == 1 and 1 or n)
    end
    case.v = updates_between(product(case.value_shape))
    local as_text = text and random(2) == 1
    function case.key(numbers, arrays)
        if as_text then return text end
        local key = {}
        for k, make in ipairs(makers) do key[k] = make(numbers, arrays) end
        return key
    end
    case.shown = text or ("%d items"):format(#makers)
    return case
end

-- ---- What neap says -------------------------------------------------------------------------------------------------

local function apply(case, x, v, numbers, arrays)
    local key = case.key(numbers, arrays)
    if case.how == "read" and type(key) == "string" then return x(key) end
    if case.how == "read" then return x[key] end
    local at = x:at(key)
    if case.how == "get" then return at:get() end
    return at[case.how](at, v)
end

local function inputs_of(case)
    local arrays = {}
    for k, drawn in ipairs(case.arrays) do arrays[k] = array_of(drawn.list, drawn.shape, drawn.dtype) end
    return array_of(case.x, case.dims), array_of(case.v, case.value_shape), arrays
end

local function flat(x)
    return x.size == 0 and {} or np.ravel(x):totable()
end

--- Products are rounded.
local function compare(case, got, x, v, what)
    check.close(flat(got), expected(case, x, v), case.how == "mul" and 1e-6 or 0, what)
end

--- The derivative of sum(weights * result) in the elements of x or v, from differences of the oracle.
local function slopes(case, of)
    local steps, list = {}, case[of]
    for k = 1, #list do
        local sums, before = {}, list[k]
        for side = 1, 2 do
            list[k] = before + (side == 1 and 2 ^ -9 or -2 ^ -9)
            local sum = 0
            for place, value in ipairs(expected(case, case.x, case.v)) do sum = sum + value * (place % 5 - 2) end
            sums[side] = sum
        end
        list[k] = before
        steps[k] = (sums[1] - sums[2]) * 2 ^ 8
    end
    return steps
end

local function weights_of(n, shape)
    local list = {}
    for place = 1, n do list[place] = place % 5 - 2 end
    return array_of(list, shape)
end

local ways = {
    eager = function(case)
        local x, v, arrays = inputs_of(case)
        local got = apply(case, x, v, case.numbers, arrays)
        local reads = case.how == "read" or case.how == "get"
        check.equal(got.shape, reads and case.part.shape or case.dims, "the shape")
        compare(case, got, case.x, case.v)
    end,
    jit = function(case)
        local x, v, arrays = inputs_of(case)
        local f = np.jit(function(a, b, numbers, index) return apply(case, a, b, numbers, index) end)
        compare(case, f(x, v, case.numbers, arrays), case.x, case.v)
    end,
    bound = function(case) -- the index is no argument
        local x, v, arrays = inputs_of(case)
        local f = np.jit(function(a) return apply(case, a, v, case.numbers, arrays) end)
        compare(case, f(x), case.x, case.v)
    end,
    trace = function(case)
        local x, v, arrays = inputs_of(case)
        local f = function(a, b, numbers, index) return apply(case, a, b, numbers, index) end
        local program = np.trace(f)(x, v, case.numbers, arrays)
        compare(case, program(x, v, case.numbers, arrays), case.x, case.v)
    end,
    grad = function(case, jits)
        local x, v, arrays = inputs_of(case)
        local n = #expected(case, case.x, case.v)
        local function loss(a, b)
            local result = apply(case, a, b, case.numbers, arrays)
            return (result * weights_of(n, result.shape)):sum()
        end
        local reads = case.how == "read" or case.how == "get"
        local g = np.grad(loss, { argnums = reads and { 1 } or { 1, 2 } })
        local gx, gv = (jits and np.jit(g) or g)(x, v)
        check.close(flat(gx), slopes(case, "x"), 1e-3, "the gradient in x")
        if not reads then check.close(flat(gv), slopes(case, "v"), 1e-3, "the gradient in v") end
    end,
    vmap = function(case, jits)
        local x, v, arrays = inputs_of(case)
        local other = numbers_between(#case.x)
        local xs = np.stack { x, array_of(other, case.dims) }
        local f = np.vmap(function(a) return apply(case, a, v, case.numbers, arrays) end)
        local got = (jits and np.jit(f) or f)(xs)
        compare(case, got[0], case.x, case.v, "the first example")
        compare(case, got[1], other, case.v, "the second example")
    end,
    batched = function(case, jits) -- with values and index arrays of their own for each example
        local x, v, arrays = inputs_of(case)
        local both = {}
        for k, array in ipairs(arrays) do both[k] = np.stack { array, array } end
        local f = np.vmap(function(a, b, index) return apply(case, a, b, case.numbers, index) end)
        local other = updates_between(#case.v)
        local values = np.stack { v, array_of(other, case.value_shape) }
        local got = (jits and np.jit(f) or f)(np.stack { x, x }, values, both)
        compare(case, got[0], case.x, case.v, "the first example")
        compare(case, got[1], case.x, other, "the second example")
    end,
}
local order = { "eager", "jit", "bound", "trace", "grad", "grad", "vmap", "vmap", "batched", "batched" }

local bad, count = {}, 0
for seed in seeds.each(150) do
    count = count + 1
    math.randomseed(seed)
    local turn = seed % #order + 1
    local way = order[turn]
    local case = draw_case(way ~= "eager")
    local ok, problem = pcall(ways[way], case, order[turn - 1] == way)
    if not ok and #bad < 20 then
        bad[#bad + 1] = ("seed %d, %s, %s of {%s}, %s: %s"):format(seed, way, case.how,
                                                                   table.concat(case.dims, ","), case.shown, problem)
    end
end
check.test(("%d random indices from seed %d on"):format(count, seeds.first), function()
    check.equal(table.concat(bad, "\n"), "")
end)
check.done()
