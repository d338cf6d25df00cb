--- layouts.lua: images that have their channels last while the graph has them first.
--
-- The standard's images are (batch, channels, spatial axes…); convolutions and pools are computed with the channels
-- last. A name of the graph may stand for an array of that layout, so that nothing is transposed from one convolution
-- to the next:
--
--     Conv ─▶ y, channels last ─▶ Add b, (c, 1, 1) in the graph ─▶ y + b, channels last ─▶ Reshape: gets a view of
--                                 and (1, 1, c) here                                       y + b, channels first
--
-- A row (ops.lua) tells what it does with such values:
--
--     elements   true: `run` computes element by element, in any layout that all its inputs have
--     last       a function as `run`, of inputs with their channels last and other inputs, which returns results with
--                their channels last, or nothing: then `run` gets views
--     images     how many inputs of `last` are images: the first ones (1)
--     begins     true: `last` is for images with their channels first too
local core = require "neap.core"

local np = core.np
local layouts = {}

local meta = {}

function layouts.is(value)
    return getmetatable(value) == meta
end

--- A value as an array with its channels first.
function layouts.array(value)
    if not layouts.is(value) then return value end
    value.first = value.first or np.moveaxis(value.last, -1, 1)
    return value.first
end

--- An array or value as an array with its channels last, of so many axes; nil where it has more. Axes that it lacks are
-- put before its own, as broadcasting does.
local function moved(value, rank)
    if layouts.is(value) then return core.ndim(value.last) == rank and value.last or nil end
    local own = core.ndim(value)
    if own == 0 then return value end
    if own > rank then return nil end
    if own < rank then
        local shape = {}
        for k = 1, rank - own do shape[k] = 1 end
        for _, extent in ipairs(value.shape) do shape[#shape + 1] = extent end
        value = np.reshape(value, shape)
    end
    return np.moveaxis(value, 1, -1)
end

--- The axes of the first image among the inputs; nil: none is.
local function rank_of(values, count)
    for k = 1, count do
        if layouts.is(values[k]) then return core.ndim(values[k].last) end
    end
end

--- The results of a node whose inputs are arrays or images with their channels last, where it takes these so; else nil.
function layouts.run(n, values, count)
    local row = n.row
    local rank = rank_of(values, count)
    if not rank and row.begins and count > 0 then rank = core.ndim(values[1]) end
    if not rank or rank < 3 or not (row.last or row.elements) then return nil end
    local images, given = row.elements and count or row.images or 1, {}
    for k = 1, count do
        given[k] = values[k]
        if k > images then
            given[k] = layouts.array(values[k])
        elseif values[k] ~= nil then
            given[k] = moved(values[k], rank)
            if given[k] == nil then return nil end
        end
    end
    local results = { (row.last or row.run)(n, unpack(given, 1, count)) }
    for k, y in pairs(results) do results[k] = setmetatable({ last = y }, meta) end
    return results[1] and results
end

return layouts
