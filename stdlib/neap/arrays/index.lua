--- index.lua: x[index], x"index": the element or the part of an array that an index names.
-- An index is a list of items, one per axis (missing ones are whole axes):
--      3, -1               an integer: the axis goes away; out of range raises
--      {from, to, step}    a slice, half-open; all optional, {} is the whole axis, {2} runs from 2 to the end
--      np.newaxis          a new axis of extent 1; None in a text
--      np.ellipsis         as many whole axes as are missing
--      a number argument of a jitted function: as an integer array of no axes
--      an integer array    its elements along this axis; negative ones count from the end. Out of range, the nearest
-- end                          is read, and nothing is written (x:at{…} has other modes)
--      a bool array        the elements where it is true, over as many axes as it has (waits for the mask); one of no
--                          axes adds an axis of extent 1 or 0
-- x[0], x[array] and x[np.newaxis] need no table around one item; x[{ {2,4} }] has one slice, x[{2,4}] two integers.
-- x"1:3, ::-1, ..., newaxis" or x["1:3, ::-1, ..., newaxis"] is the same in text, where [0, 2] is a list of integers:
-- an index array.
--
-- Integers, slices and new axes give views. Index arrays are applied after them: their common broadcast shape takes the
-- place of their axes where the items are neighbours, and goes to the front otherwise; beside index arrays an integer
-- counts as one, as in NumPy.
--- > x = np.array{{1, 2, 3}, {4, 5, 6}}
--- > x[0], x[{1, -1}], x[{{}, 1}]
-- [1. 2. 3.]
-- 6.0
-- [2. 5.]
--- > x":, ::-1", x[x:gt(4)]
-- [[3. 2. 1.]
--  [6. 5. 4.]]
-- [5. 6.]
--- > x"[1, 0, 1], 2"
-- [6. 3. 6.]
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local selects = require "neap.arrays.select"

local np, define = core.np, core.define
local is_same = core.is_same
local is_array, shape_of, fail = core.is_array, core.shape_of, core.fail
local type, floor, abs = type, math.floor, math.abs

local newaxis = setmetatable({}, { __tostring = function() return "np.newaxis" end })
local ellipsis = setmetatable({}, { __tostring = function() return "np.ellipsis" end })
--- np.newaxis: an item of an index: a new axis of extent 1.
--- > np.arange(3)[{{}, np.newaxis}].ndim
-- 2

--- np.ellipsis: an item of an index: as many whole axes as are missing.
--- > np.zeros{2, 3, 4}[{np.ellipsis, 0}].ndim
-- 2
np.newaxis, np.ellipsis = newaxis, ellipsis

-- ---- Reading an index -----------------------------------------------------------------------------------------------

local WORDS = { ["..."] = ellipsis, newaxis = newaxis, ["np.newaxis"] = newaxis, None = newaxis }

local function misread(text, whole)
    fail("array index: cannot read %q in %q; items are like 3, 1:5, ::-1, ..., None, [0, 2]", text, whole)
end

--- The list [0, 2] or [True, False] of an index in text form, as an index array or a mask.
local function parse_list(text, whole)
    local list, truth = {}, { True = true, False = false, ["true"] = true, ["false"] = false }
    local inner = text:match("^%[(.*)%]$")
    for part in (inner:find("%S") and inner .. "," or ""):gmatch("%s*([^,]*)%s*,") do
        part = part:match("^(.-)%s*$")
        local value = part:find("^[+-]?%d+$") and tonumber(part)
        if truth[part] ~= nil then value = truth[part] end
        if value == nil or value == false and truth[part] == nil or list[1] ~= nil and type(list[1]) ~= type(value) then
            misread(text, whole)
        end
        list[#list + 1] = value
    end
    if type(list[1]) == "boolean" then return np.array(list) end
    return create.integers(list)
end

--- One item of an index in text form.
local function parse_item(text, whole)
    text = text:match("^%s*(.-)%s*$")
    if WORDS[text] then return WORDS[text] end
    if text:find("^[+-]?%d+$") then return tonumber(text) end
    if text:find("^%[") and text:find("%]$") then return parse_list(text, whole) end
    local from, to, step = text:match("^([^:]*):([^:]*):?([^:]*)$")
    local item = { from, to, step }
    for k = 1, 3 do
        local part = from and item[k]:match("^%s*(.-)%s*$")
        if not part or not (part == "" or part:find("^[+-]?%d+$")) then
            misread(text, whole)
        end
        item[k] = part ~= "" and tonumber(part) or false
    end
    return item
end

--- Any form of index as a list of items.
local function items_of(key)
    if type(key) == "string" then
        local items, from, depth = {}, 1, 0
        for at, mark in (key .. ","):gmatch("()([,%[%]])") do
            if mark ~= "," then
                depth = depth + (mark == "[" and 1 or -1)
            elseif depth == 0 then
                items[#items + 1] = parse_item(key:sub(from, at - 1), key)
                from = at + 1
            end
        end
        if depth ~= 0 then misread(key, key) end
        return items
    end
    if type(key) == "table" and key ~= newaxis and key ~= ellipsis then
        for k = 1, #core.list("array index", "the index", key) do
            if key[k] == nil then fail("array index: item %d is nil; {} is the whole axis", k) end
        end
        return key
    end
    return { key }
end

local function is_integer(n)
    return type(n) == "number" and n == floor(n) or core.is_size(n)
end

--- What {1, 3, 4} and the like, numbers without names, would be as rows.
local function rows_hint(list)
    local texts = {}
    for k = 1, math.min(#list, 9) do
        texts[k] = is_integer(list[k]) and ("%d"):format(list[k]) or core.describe(list[k])
    end
    texts = table.concat(texts, ", ") .. (#list > 9 and ", …" or "")
    return ("; the elements %s of an axis are x\"[%s]\", x[np.array({%s}, {dtype=\"i32\"})] or x:take({%s}, {axis=…})")
        :format(texts, texts, texts, texts)
end

--- Where a bound of a slice stands, at least at `lowest` and at most at `highest`.
local function bound(value, n, lowest, highest, default)
    if not value then return default end
    if value < 0 then value = value + n end
    return (math.max(lowest, math.min(value, highest)))
end

--- Whether a user's line has a slice of these numbers, and they were not computed; also where it cannot be read.
local function is_written(from, to, step)
    local line = require("neap.core.source").current()
    return not line or line:find(("{%%s*%d%%s*,%%s*%d%%s*,%%s*%d%%s*}"):format(from, to, step)) ~= nil
end

local warned -- whether slice_of had something to say that each call says again

--- A slice {from, to, step} of an axis of extent n as start, step, count.
local function slice_of(item, n, axis)
    if #item > 3 then
        fail("array index: a slice is {from, to, step}, got a table of %d (axis %d)%s", #item, axis, rows_hint(item))
    end
    for key in pairs(item) do
        if key ~= 1 and key ~= 2 and key ~= 3 then
            fail("array index: a slice is {from, to, step}, got a table with %s (axis %d)", core.describe(key), axis)
        end
    end
    local from, to, step = core.plain(item[1]), core.plain(item[2]), core.plain(item[3])
    for k = 1, 3 do
        local part = core.plain(item[k])
        if is_array(part) then
            fail("array index: the bounds of a slice are part of a program and cannot be arrays or number arguments "
                 .. "(axis %d); for a start that is data use np.dynamic_slice(x, starts, sizes)", axis)
        elseif part and not is_integer(part) then
            fail("array index: slices are made of integers, got %s (axis %d)", core.describe(part), axis)
        end
    end
    local numbers = type(from) == "number" and type(to) == "number" and type(step) == "number" and not core.is_size(n)
    if numbers and step > 1 and from >= 0 and from < to and to < step and step < n and is_written(from, to, step) then
        warned = true
        core.warn("array index", "{%d, %d, %d} is a slice, from %d to %d in steps of %d: element %d alone%s", from, to,
                  step, from, to, step, from, rows_hint(item))
    end
    step = step or 1
    if step == 0 then fail("array index: the step of a slice must not be 0 (axis %d)", axis) end
    local lowest, highest = 0, n -- where from and to may stand
    if step < 0 then lowest, highest = -1, n - 1 end
    local start = bound(from, n, lowest, highest, step > 0 and 0 or n - 1)
    local stop = bound(to, n, lowest, highest, step > 0 and n or -1)
    local count = math.max(0, floor((stop - start + step - (step > 0 and 1 or -1)) / step))
    if not core.is_size(count) and count == 0 then return 0, 1, 0 end
    return start, step, count
end

--- Replaces a mask among the items by the coordinates of its true elements; one of no axes by { fresh = indices } into
-- a new axis of extent 1.
local function expand_masks(items, dims)
    local masked = false
    for k = 1, #items do masked = masked or is_array(items[k]) and core.dtype_of(items[k]).kind == "b" end
    if not masked then return items end
    local list, axis = {}, 1
    for k = 1, #items do
        local item = items[k]
        if is_array(item) and core.dtype_of(item).kind == "b" then
            local own = shape_of(item)
            if #own == 0 then list[#list + 1] = { fresh = np.nonzero(shape.reshape(item, { 1 })) } end
            for d = 1, #own do
                if own[d] ~= dims[axis + d - 1] and own[d] ~= 0 then
                    fail("array index: a mask of shape %s does not fit axis %d of shape %s", core.shape_text(own),
                         axis + d - 2, core.shape_text(dims))
                end
            end
            for _, coordinate in ipairs(#own > 0 and { np.nonzero(item) } or {}) do list[#list + 1] = coordinate end
            axis = axis + #own
        else
            list[#list + 1] = item
            if item ~= newaxis and item ~= ellipsis then axis = axis + 1 end
        end
    end
    return list
end

--- Puts whole axes for the ellipsis, if there are any, and for missing items; counts that the items fit.
local function complete(items, ndim)
    local used, dots = 0, nil
    for k = 1, #items do
        local item = items[k]
        if item == ellipsis then
            if dots then fail("array index: only one ellipsis is possible") end
            dots = k
        elseif is_array(item) and core.dtype_of(item).kind == "b" then
            used = used + core.ndim(item)
        elseif item ~= newaxis then
            used = used + 1
        end
    end
    if used > ndim then
        local plain = #items > 1
        for k = 1, #items do plain = plain and is_integer(items[k]) end
        fail("array index: %d indices for an array of %s%s", used, core.axes_text(ndim),
             plain and rows_hint(items) or ndim == 0 and "; its value is x:item()" or "")
    end
    if not dots and used == ndim then return items end
    local list = {}
    for k = 1, #items do
        if k == dots then
            if used == ndim then list[#list + 1] = ellipsis end -- it still stands between its neighbours
            for _ = 1, ndim - used do list[#list + 1] = {} end
        else
            list[#list + 1] = items[k]
        end
    end
    if not dots then
        for _ = 1, ndim - used do list[#list + 1] = {} end
    end
    return list
end

--- The items with number arguments of traced functions as index arrays.
local function numbers_as_indices(items)
    local list = items
    for k = 1, #items do
        local item = selects.index_of("array index", items[k])
        if not rawequal(item, items[k]) then
            if list == items then list = core.copy_list(items) end
            list[k] = item
        end
    end
    return list
end

--- What an index means for a shape:
--   start, step, count   of the slice of every axis
--   sliced               the shape after integers have dropped their axes and new axes have come
--   axes                 by axis of `sliced`: the axis of the array, false for a new one
--   arrays, places       index arrays and the (0-based) axes of `sliced` to which they belong
--   apart                beside index arrays and integers other items stand between them
--   trivial              the slice is the whole array
local function plan(dims, key)
    local items = expand_masks(complete(numbers_as_indices(items_of(key)), #dims), dims)
    local p = { start = {}, step = {}, count = {}, sliced = {}, axes = {}, arrays = {}, places = {}, trivial = true,
                apart = false }
    local axis, last = 0, nil -- where the last index array or integer stands
    for k = 1, #items do
        local item = items[k]
        if is_array(item) or is_integer(item) or type(item) == "table" and item.fresh then
            p.apart, last = p.apart or last ~= nil and last ~= k - 1, k
        end
        if type(item) == "table" and item.fresh then
            p.arrays[#p.arrays + 1] = item.fresh
            p.places[#p.places + 1] = #p.sliced
        end
        if item == newaxis or type(item) == "table" and item.fresh then
            p.sliced[#p.sliced + 1] = 1
            p.axes[#p.sliced] = false
        elseif item ~= ellipsis then
            axis = axis + 1
            local n, start, step, count = dims[axis], 0, 1, dims[axis]
            if is_integer(item) then
                if item < -n or item >= n then
                    fail("array index: index %d is out of range for axis %d of extent %d%s", item, axis - 1, n,
                         item == n and n > 0 and (": elements count from 0, to %d"):format(n - 1) or "")
                end
                start, count = item < 0 and item + n or item, 1
            elseif is_array(item) then
                local dtype = core.dtype_of(item)
                if dtype.inexact then
                    fail("array index: an index array must have integers or bools, got dtype %s; cast it, as in "
                         .. "k:astype(\"i32\")", dtype.name)
                end
                p.arrays[#p.arrays + 1] = item
                p.places[#p.places + 1] = #p.sliced
                p.sliced[#p.sliced + 1] = n
                p.axes[#p.sliced] = axis
            elseif type(item) == "table" then
                start, step, count = slice_of(item, n, axis - 1)
                p.sliced[#p.sliced + 1] = count
                p.axes[#p.sliced] = axis
            else
                fail("array index: an item must be an integer, a slice {from, to, step}, np.newaxis, np.ellipsis or an "
                     .. "array, got %s (axis %d)%s", core.describe(item), axis - 1,
                     require("neap.core.hints").index_text(items))
            end
            p.start[axis], p.step[axis], p.count[axis] = start, step, count
            p.trivial = p.trivial and step == 1 and is_same(start, 0) and is_same(count, n)
        end
    end
    return p
end

-- ---- Reading elements -----------------------------------------------------------------------------------------------

--- Where the axes of index arrays come in the result (in place of them, if they stand side by side; else in front), and
-- the axes that go, as a set.
local function taken_axes(p)
    local moved = {}
    for k = 1, #p.places do moved[p.places[k]] = true end
    return p.apart and 0 or p.places[1], moved
end

--- Several index arrays at once: their axes are brought together, merged, and taken from with one linear index.
local function take_several(x, p)
    local arrays, places, dims, shapes = p.arrays, p.places, shape_of(x), {}
    for k = 1, #arrays do shapes[k] = shape_of(arrays[k]) end
    shape.broadcast("array index", unpack(shapes))
    local front, moved = taken_axes(p)
    local order, merged = {}, {}
    for axis = 0, #dims - 1 do
        if not moved[axis] and #order < front then order[#order + 1] = axis end
    end
    for k = 1, #order do merged[k] = dims[order[k] + 1] end
    local extent = 1
    for k = 1, #places do
        order[#order + 1] = places[k]
        extent = extent * dims[places[k] + 1]
    end
    merged[front + 1] = extent
    for axis = front, #dims - 1 do
        if not moved[axis] then
            order[#order + 1] = axis
            merged[#merged + 1] = dims[axis + 1]
        end
    end
    local name, position = selects.counter(extent), nil
    for k = 1, #arrays do
        local n = dims[places[k] + 1]
        local part = np.astype(selects.clamped(arrays[k], n), name)
        position = position and position * n + part or part
    end
    return selects.take(shape.reshape(shape.permute(x, order), merged), position, front)
end

--- The slices of x, which lies on a mesh. Of an axis that is divided over devices that share no memory, a few elements
-- are looked up.
local function slice_on_mesh(x, p)
    local start, step, count, looked_up = { unpack(p.start) }, { unpack(p.step) }, { unpack(p.count) }, false
    local dims = shape_of(x)
    for k = 1, #dims do
        local found = count[k] > 0 and count[k] < dims[k] and selects.is_apart(x, k - 1)
            and selects.take_divided(x, create.iota(count[k], core.dtype_codes[selects.counter(dims[k])]) * step[k]
                                     + start[k], k - 1)
        if found then
            x, looked_up = found, true
            start[k], step[k] = 0, 1
        end
    end
    if looked_up and shape.same(shape_of(x), count) then return x end
    return shape.slice(x, start, step, count)
end

local function slice(x, p)
    if core.info(x).sharding ~= 0 then return slice_on_mesh(x, p) end
    return (shape.slice(x, p.start, p.step, p.count))
end

local function get_elements(x, p)
    if not p.trivial then x = slice(x, p) end
    if not shape.identical(p.sliced, p.count) then x = shape.reshape(x, p.sliced) end
    if #p.arrays == 0 then return x end
    if #p.arrays == 1 and not p.apart then return (selects.take(x, p.arrays[1], p.places[1])) end
    return (take_several(x, p))
end

local function has_shape(info, dims)
    if info.ndim ~= #dims then return false end
    for k = 1, #dims do
        if tonumber(info.shape[k - 1]) ~= dims[k] then return false end
    end
    return true
end

-- Plans of indices in text form, each for the last shape that it was read for: a loop reads the same ones again and
-- again, and to record the slice takes a fifth of that. Index arrays are made anew each time.
local MOST_KEPT = 256
local kept, nkept = {}, 0

local function plan_of_text(x, text)
    if core.sized() then return plan(shape_of(x), text) end
    local p = kept[text]
    if p and has_shape(core.info(x), p.dims) then return p end
    local dims = shape_of(x)
    warned = false
    p = plan(dims, text)
    if warned or #p.arrays > 0 then return p end
    if nkept == MOST_KEPT then kept, nkept = {}, 0 end
    nkept = nkept + (kept[text] and 0 or 1)
    p.dims, kept[text] = dims, p
    return p
end

--- The element or part of x that an index names.
function core.index(x, key)
    return get_elements(x, type(key) == "string" and plan_of_text(x, key) or plan(shape_of(x), key))
end

-- ---- Changed copies -------------------------------------------------------------------------------------------------

local combine = {
    set = function(_, new) return new end,
    add = function(old, new) return old + new end,
    mul = function(old, new) return old * new end,
    min = function(old, new) return np.minimum(old, new) end,
    max = function(old, new) return np.maximum(old, new) end,
}

--- The new values are spread out to x's shape (pad with gaps), and chosen where they fall: one pass over all of x.
local function spread(x, p, how, value)
    local dims = shape_of(x)
    local lo, hi, gaps = {}, {}, {}
    for k = 1, #dims do
        local first, last = p.start[k], p.start[k] + (p.count[k] - 1) * p.step[k]
        if p.step[k] < 0 then first, last = last, first end
        lo[k], hi[k], gaps[k] = first, dims[k] - 1 - last, abs(p.step[k]) - 1
    end
    local wide = shape.pad(value, core.number(0, core.dtype_of(x).code), lo, hi, gaps)
    local bool = core.dtype_codes.bool
    local inside = shape.pad(shape.broadcast_to(core.number(1, bool), p.count), core.number(0, bool), lo, hi, gaps)
    return np.where(inside, combine[how](x, wide), x)
end

--- x with `value` over the box of neighbours that the slice is. The place is data, so all places share a plan.
local function write_box(x, p, value)
    local dims, starts = shape_of(x), {}
    for k = 1, #dims do
        local last = (p.count[k] - 1) * math.min(p.step[k], 0)
        starts[k] = p.start[k] + last
    end
    return (core.recordn(core.ids.dynamic_update_slice, { x, value, create.integers(starts, nil, true) }, 3, 0))
end

--- Where the index arrays are in range, in a shape that broadcasts to the part; nil without index arrays.
local function inside_of(p, dims, part)
    local front, inside = (taken_axes(p)), nil
    local indices = #p.arrays > 0 and #part - #p.sliced + #p.places or 0
    for k, array in ipairs(p.arrays) do
        local own = shape_of(array)
        for _ = 1, #part - front - indices do own[#own + 1] = 1 end
        local of = p.axes[p.places[k] + 1] -- nothing: an axis that a mask of no axes has added
        local good = of and shape.reshape(selects.in_range(array, dims[of]), own)
        inside = inside and good and np.logical_and(inside, good) or good or inside
    end
    return inside
end

--- The positions in x, laid out flat, of the part that the index names, in the part's shape. drop: where an index is
-- out of range, one that is behind all elements.
local function positions_of(p, dims, part, drop)
    local name = selects.counter(shape.product(dims) + 1)
    local code, ndim = core.dtype_codes[name], #part
    local front, moved = taken_axes(p)
    local arrays, place = {}, 0 -- by axis of x: an array of `part`'s rank, or nothing
    local indices = #p.arrays > 0 and ndim - #p.sliced + #p.places or 0
    for axis = 0, #p.sliced do
        if #p.arrays > 0 and axis == front then place = place + indices end
        local of = p.axes[axis + 1]
        if axis < #p.sliced and not moved[axis] then
            place = place + 1
            if of and (core.is_size(p.count[of]) or p.count[of] > 1) then
                local own = {}
                for k = 1, ndim do own[k] = k == place and p.count[of] or 1 end
                arrays[of] = shape.reshape(create.iota(p.count[of], code), own)
                if p.step[of] ~= 1 then arrays[of] = arrays[of] * p.step[of] end
            end
        end
    end
    local inside
    for k, array in ipairs(p.arrays) do
        local of, own = p.axes[p.places[k] + 1], shape_of(array)
        for _ = 1, ndim - front - indices do own[#own + 1] = 1 end
        if of then
            local near, wanted = selects.clamped(array, dims[of])
            arrays[of] = shape.reshape(np.astype(near, name), own)
            local good = drop and shape.reshape(np.equal(near, wanted), own)
            inside = inside and good and np.logical_and(inside, good) or good or inside
        end
    end
    local position
    for axis = 1, #dims do
        local along, first = arrays[axis], p.start[axis]
        if not is_same(first, 0) then
            along = along and along + first or np.astype(first, name) -- a sum of numbers alone would be a number
        end
        if position then position = position * dims[axis] end
        position = position and along and position + along or position or along
    end
    if inside then position = np.where(inside, position, shape.product(dims)) end
    return (shape.broadcast_to(np.astype(position or core.number(0, code), name), part))
end

local function put(x, positions, how, value, axis)
    core.attrs[0] = axis
    return (core.recordn(core.ids["put_" .. how], { x, positions, value }, 3, 1))
end

--- Where no element is named twice: the values that are there afterwards.
local function combined(x, p, how, value)
    return how == "set" and value or combine[how](get_elements(x, p), value)
end

--- Is the part so small that only it should be touched? (As graph_starts_at_once in lazy/graph/node.h sees it.)
local function is_small(part, dims)
    if core.sized() then return false end
    return shape.product(part) <= shape.product(dims) / 4
end

--- Integers and slices.
local function update_slices(x, p, how, value, part)
    local dims = shape_of(x)
    if is_same(shape.product(part), 0) then return x end
    local unit, start, step = true, {}, {}
    for k = 1, #dims do
        unit = unit and (abs(p.step[k]) == 1 or is_same(p.count[k], 1))
        start[k], step[k] = 0, 1
        if p.step[k] < 0 then start[k], step[k] = p.count[k] - 1, -1 end
    end
    local info = core.info(x)
    local little = info.sharding == 0 and is_small(part, dims)
    if little and not unit and info.traced == 0 then
        local new = np.ravel(combined(x, p, how, value))
        return shape.reshape(put(np.ravel(x), np.ravel(positions_of(p, dims, part)), "set", new, 0), dims)
    end
    if little and unit then value = combined(x, p, how, value) end
    value = shape.slice(shape.reshape(value, p.count), start, step, p.count)
    if p.trivial then return combine[how](x, value) end
    return little and unit and write_box(x, p, value) or spread(x, p, how, value)
end

--- Several index arrays, or one and slices: in x laid out flat.
local function update_flat(x, p, how, value, part)
    local flat, positions = np.ravel(x), np.ravel(positions_of(p, shape_of(x), part, true))
    return (shape.reshape(put(flat, positions, how, np.ravel(value), 0), shape_of(x)))
end

local MANY_PLACES = 8 -- a new element for so many

--- Where several new values fall on one element, all of them are taken, in row-major order; set takes the last one.
local function update_arrays(x, p, how, value, part)
    if is_same(value.size, 0) or is_same(x.size, 0) then return x end
    local single = true -- one place, which is read, combined and written: loops make machine code of that
    for _, array in ipairs(p.arrays) do single = single and is_same(array.size, 1) end
    if single and how ~= "set" and how ~= "add" then value, how = combined(x, p, how, value), "set" end
    local whole = p.trivial and #p.arrays == 1 and shape.identical(p.sliced, p.count) and not p.apart
    if not whole then return update_flat(x, p, how, value, part) end
    local axis, places = p.places[1], p.arrays[1]
    -- The op itself counts from the end and leaves out. Where little is written beside x, a map of the places takes no
    -- time, and runs with what reads x before, so that x is written where it lies.
    if not core.sized() and value.size < x.size / MANY_PLACES then
        places = selects.dropped(places, shape_of(x)[axis + 1])
    end
    return (put(x, places, how, value, axis))
end

local At = {}
At.__index = At
setmetatable(At, { __index = function(_, key)
    fail("np.at: a place x:at{…} has the methods set, add, mul, min, max and get, and no '%s'", tostring(key))
end })
At.__tostring = function(at) return "the place x:at{…} of an array of shape " .. core.shape_text(at.array) end

--- The shape of the part that the index names.
local function part_shape(p)
    if #p.arrays == 0 then return p.sliced end
    local shapes, dims = {}, {}
    for k, array in ipairs(p.arrays) do shapes[k] = shape_of(array) end
    local index = shape.broadcast("array index", unpack(shapes))
    local front, moved = taken_axes(p)
    for axis = 0, #p.sliced do
        if axis == front then
            for _, n in ipairs(index) do dims[#dims + 1] = n end
        end
        if axis < #p.sliced and not moved[axis] then dims[#dims + 1] = p.sliced[axis + 1] end
    end
    return dims
end

--- The number of items of an index of integers alone, which are in range; nil: it is another one.
local function count_integers(x, key)
    if type(key) ~= "table" or getmetatable(key) ~= nil then return nil end
    local info, n = core.info(x), #key
    if n == 0 or n > info.ndim or info.traced ~= 0 or next(key, n) ~= nil then return nil end
    for k = 1, n do
        local item, extent = key[k], tonumber(info.shape[k - 1])
        if not is_integer(item) or item < -extent or item >= extent then return nil end
    end
    return n
end

--- What the index of a place means, which a place at integers has not said yet.
local function plan_of(at)
    local p = at.plan
    if not p then
        p = plan(shape_of(at.array), { unpack(at, 1, at.n) })
        at.plan = p
    end
    return p
end

--- The plan of an index with its index arrays as a mode says: in range where it is "clip", "wrap" or "raise".
local function plan_by_mode(name, x, p, mode)
    if #p.arrays == 0 or mode == "drop" or mode == "fill" then return p end
    local changed, dims = {}, shape_of(x)
    for key, value in pairs(p) do changed[key] = value end
    changed.arrays = {}
    for k, array in ipairs(p.arrays) do
        changed.arrays[k] = selects.by_mode(name, array, dims[p.axes[p.places[k] + 1]], mode)
    end
    return changed
end

local function updater(how)
    return function(at, value, given)
        if getmetatable(at) ~= At then fail("np.at: methods take a colon: x:at{…}:%s(v)", how) end
        local quick = at.n and how == "set" and given == nil and core.set_part(at.array, at, at.n, value)
        if quick then return quick end
        local x, p = at.array, plan_of(at)
        local code = core.dtype_of(x).code
        local name = "at:" .. how
        if given ~= nil then p = plan_by_mode(name, x, p, selects.mode_option(name, given, "drop")) end
        value = create.value(name, value, code)
        local part = part_shape(p)
        if not shape.broadcasts_to(shape_of(value), part) then
            fail("np.%s: a value of shape %s does not broadcast to the part of shape %s%s", name,
                 core.shape_text(value), core.shape_text(part), shape.remedy(shape_of(value), part))
        end
        value = shape.broadcast_to(value, part)
        if #p.arrays == 0 then return (update_slices(x, p, how, value, part)) end
        return (update_arrays(x, p, how, value, part))
    end
end

--- x:at{…}:set(v, {mode="drop"}), x:at{…}:add(v, {mode="drop"}), x:at{…}:mul(v, {mode="drop"}), x:at{…}:min(v,
-- {mode="drop"}), x:at{…}:max(v, {mode="drop"}): a copy of x in which the part that the index names is replaced by v,
-- or combined with it. v broadcasts to the part and is cast to x's dtype. Where an index array names an element several
-- times, set takes the last value, the others all of them. Differentiable in x and v.
--- mode: what index arrays out of range do: "drop" writes nothing there, "clip" writes to the nearest end, "wrap"
-- counts around, and "raise" raises, for which it waits for the indices
--- > x = np.zeros(3)
--- > x:at{0}:set(5), x:at{{1, 3}}:add(1)
-- [5. 0. 0.]
-- [0. 1. 1.]
--- > np.ones(2):at{0}:mul(3), np.ones(2):at{0}:min(0), np.ones(2):at{0}:max(2)
-- [3. 1.]
-- [0. 1.]
-- [2. 1.]
--- > i = np.array({1, 7}, {dtype="i32"})
--- > x:at{i}:set(9), x:at{i}:set(9, {mode="clip"})
-- [0. 9. 0.]
-- [0. 9. 9.]
for how in pairs(combine) do At[how] = updater(how) end

--- x:at{…}:get({mode="clip", fill_value=…}): the part itself.
--- mode: what index arrays out of range read: "clip" the nearest end, "fill" fill_value, "wrap" counts around, and
-- "raise" raises, for which it waits for the indices
--- fill_value: what "fill" gives; without it NaN, the least signed or the greatest unsigned integer, true
--- > np.arange(5):at{2}:get()
-- 2
--- > np.arange(5):at{np.array({1, 7}, {dtype="i32"})}:get{mode="fill", fill_value=-1}
-- [ 1 -1]
function At.get(at, given)
    if getmetatable(at) ~= At then fail("np.at: methods take a colon: x:at{…}:get()") end
    local x, p = at.array, plan_of(at)
    if given == nil then return get_elements(x, p) end
    local mode, fill = selects.mode_option("at:get", given, "clip", core.dtype_of(x))
    local inside = mode == "fill" and inside_of(p, shape_of(x), part_shape(p))
    local part = get_elements(x, plan_by_mode("at:get", x, p, mode))
    return inside and np.where(inside, part, fill) or part
end

--- x:at(index), np.at(x, index) -> place: a place in x, for a changed copy: x:at{…}:set(v), :add(v), :mul(v), :min(v),
-- :max(v), or :get(). The index is as in x[index]. Arrays do not change.
--- > np.arange(4):at{1}:set(9)
-- [0 9 2 3]
define("at", function(x, key)
    if not is_array(x) then core.bad_argument("at", 1, "x", "an array", x) end
    if key == nil then core.raise("at", "argument 2 (index) is missing") end
    local n = count_integers(x, key)
    if not n then return setmetatable({ array = x, plan = plan(shape_of(x), key), n = false }, At) end
    local at = { array = x, plan = false, n = n }
    for k = 1, n do at[k] = key[k] end
    return setmetatable(at, At)
end)
