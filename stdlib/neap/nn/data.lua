--- data.lua: np.data: minibatches. datasets.lua has data to try things with, sequences.lua what is of sequences,
-- augment.lua what is of images.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local selects = require "neap.arrays.select"

local np = core.np
local raise, bad_argument, options = core.raise, core.bad_argument, core.options

local data = {}

--- The number of examples, the extent of every array's first axis.
local function count_of(name, arrays)
    if core.is_array(arrays) then arrays = { arrays } end
    if type(arrays) ~= "table" or #arrays == 0 then
        local is_named = type(arrays) == "table" and type(next(arrays)) == "string"
        bad_argument(name, 1, "arrays", "an array or a list of arrays" .. (is_named and ", as {x, y} without names"
            or ""),
                     arrays)
    end
    local n
    for k = 1, #arrays do
        local x = arrays[k]
        if not core.is_array(x) or core.ndim(x) == 0 then
            raise(name, "item %d of argument 1 must be an array with at least 1 axis, got %s", k, core.describe(x))
        end
        n = n or #x
        if #x ~= n then raise(name, "array %d has %d examples, array 1 has %d", k, #x, n) end
    end
    return n, arrays
end

--- np.data.batches({x, y, …}, size, {key=…, drop_last=false}) -> function: an iterator over minibatches along the first
-- axes:
--
--     for x, y in np.data.batches({images, labels}, 128, {key=np.random.key(epoch)}) do
--
-- With a key the examples come in random order, the same for the same key; without one in their own order. The last
-- batch may be smaller, unless drop_last.
--- key: a key of np.random, for a random order
--- drop_last: true leaves out a last batch that is smaller
--- > for x in np.data.batches({np.arange(5)}, 2) do print(x) end
-- [0 1]
-- [2 3]
-- [4]
function data.batches(given_arrays, size, given)
    local name = "data.batches"
    local n, arrays = count_of(name, given_arrays)
    size = core.integer(name, 2, "size", size, 1)
    local o = options(name, given, { key = true, drop_last = true })
    local order = o.key ~= nil and np.random.permutation(o.key, n) or nil
    local last = o.drop_last and n - size or n - 1
    local from = 0
    return function()
        if from > last then return nil end
        local to = math.min(from + size, n)
        local parts = {}
        local picks = order and shape.cut(order, 0, from, to)
        for k = 1, #arrays do
            parts[k] = picks and selects.take(arrays[k], picks, 0) or shape.cut(arrays[k], 0, from, to)
        end
        from = to
        return core.results(name, parts, "np.stack joins arrays of one shape")
    end
end

--- np.data.count(n, size, {drop_last=false}) -> integer: how many batches np.data.batches gives for n examples.
--- drop_last: as in np.data.batches
--- > np.data.count(5, 2), np.data.count(5, 2, {drop_last=true})
-- 3
-- 2
function data.count(n, size, given)
    n = core.integer("data.count", 1, "n", n)
    size = core.integer("data.count", 2, "size", size, 1)
    if options("data.count", given, { drop_last = true }).drop_last then return math.floor(n / size) end
    return math.ceil(n / size)
end

--- np.data.prefetch(iterator, count) -> function: an iterator over the same as another one, whose next `count` (2)
-- results are started ahead (np.force), so that they are computed while the loop works on the last one.
--- > for x in np.data.prefetch(np.data.batches({np.arange(4)}, 2)) do print(x) end
-- [0 1]
-- [2 3]
function data.prefetch(iterator, count)
    local name = "data.prefetch"
    if type(iterator) ~= "function" then
        bad_argument(name, 1, "iterator", "an iterator, such as np.data.batches returns", iterator)
    end
    count = core.integer(name, 2, "count", count == nil and 2 or count, 1)
    local ahead, first, last, ended = {}, 1, 0, false
    local function start_next(...)
        if (...) == nil then
            ended = true
            return
        end
        last = last + 1
        ahead[last] = { n = select("#", ...), np.force(...) }
    end
    return function()
        while not ended and last - first < count do start_next(iterator()) end
        local results = ahead[first]
        if not results then return nil end
        ahead[first], first = nil, first + 1
        return unpack(results, 1, results.n)
    end
end

require "neap.nn.datasets" (data)
require "neap.nn.sequences" (data)
require "neap.nn.augment" (data)

return data
