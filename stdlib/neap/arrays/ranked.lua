--- ranked.lua: for each place the element with a rank among the sorted elements of the window there: for filters by
-- medians and percentiles.
--
-- A small window goes through a network that sorts any numbers by comparing fixed pairs (K. E. Batcher, Sorting
-- networks and their applications, 1968), of which the pairs that the wanted element depends on are kept: these are
-- maps, so one loop over the elements does all. NaN is greater than all numbers, as in np.sort.
local core = require "neap.core"
local shape = require "neap.arrays.shape"

local np = core.np
local floor = math.floor

local MOST = 25 -- elements of a window, 5 by 5, that a network sorts in half the time of np.sort; more take longer

--- Whether the bit p, a power of 2, of i is set.
local function has_bit(i, p) return floor(i / p) % 2 == 1 end

--- The pairs of places, from 1, that sort n elements when they are compared in order.
local function pairs_that_sort(n)
    local list, top = {}, 1
    while top * 2 < n do top = top * 2 end
    local p = top
    while p >= 1 do
        local q, odd, apart = top, false, p
        while true do
            for i = 0, n - apart - 1 do
                if has_bit(i, p) == odd then list[#list + 1] = { i + 1, i + apart + 1 } end
            end
            if q == p then break end
            odd, apart, q = true, q - p, q / 2
        end
        p = floor(p / 2)
    end
    return list
end

--- Those of the pairs that the element at place `wanted` depends on, each with whether its lesser and its greater
-- element do.
local function needed_pairs(n, wanted)
    local all, needed, kept = pairs_that_sort(n), { [wanted] = true }, {}
    for k = #all, 1, -1 do
        local i, j = all[k][1], all[k][2]
        if needed[i] or needed[j] then
            table.insert(kept, 1, { i, j, needed[i], needed[j] })
            needed[i], needed[j] = true, true
        end
    end
    return kept
end

--- The elements at each place of the windows of these sizes: as many arrays as a window has elements.
local function elements_of(view, sizes)
    local rank, list = core.ndim(view) - #sizes, {}
    for at = 0, shape.product(sizes) - 1 do
        local key, rest = {}, at
        for k = 1, rank do key[k] = {} end
        for k = #sizes, 1, -1 do
            key[rank + k] = rest % sizes[k]
            rest = floor(rest / sizes[k])
        end
        list[at + 1] = core.index(view, key)
    end
    return list
end

--- The element of rank `at`, from 0, of each window of these sizes over x.
return function(x, sizes, at)
    local view, count = np.sliding_window_view(x, sizes), shape.product(sizes)
    if count > MOST then
        local dims = { unpack(core.shape_of(view), 1, #sizes) }
        local flat = core.copy_list(dims)
        flat[#flat + 1] = count
        local sorted = np.sort(shape.reshape(view, flat), { axis = -1 })
        return shape.reshape(shape.cut(sorted, #dims, at, at + 1), dims)
    end
    local inexact, list = core.dtype_of(x).inexact, elements_of(view, sizes)
    local least = inexact and np.fmin or np.minimum
    for _, pair in ipairs(needed_pairs(count, at + 1)) do
        local a, b = list[pair[1]], list[pair[2]]
        if pair[3] then list[pair[1]] = least(a, b) end
        if pair[4] then list[pair[2]] = np.maximum(a, b) end
    end
    return list[at + 1]
end
