--- ranks.lua: ranks of data along their last axis, and the groups of equal elements among them.

local core = require "neap.core"
local samples = require "neap.stats.samples"

local np = core.np

local ranks = {}

--- For sorted data along the last axis: where a group of equal elements begins, and the places of the first and of the
-- last element of the group of each.
function ranks.groups(sorted)
    local n = samples.count(sorted, -1)
    local place = np.broadcast_to(np.arange(n), core.shape_of(sorted))
    local before = np.roll(sorted, 1, { axis = -1 })
    local begins = np.logical_or(np.equal(place, 0), np.not_equal(sorted, before))
    local ends = np.logical_or(np.equal(place, n - 1), np.roll(begins, -1, { axis = -1 }))
    local first = np.cummax(np.where(begins, place, 0), { axis = -1 })
    local last = np.flip(np.cummin(np.flip(np.where(ends, place, n), { axis = -1 }), { axis = -1 }), { axis = -1 })
    return begins, first, last
end

ranks.methods = {
    average = function(_, first, last) return np.astype(first + last, "f64") * 0.5 + 1 end,
    min = function(_, first) return np.astype(first, "f64") + 1 end,
    max = function(_, _, last) return np.astype(last, "f64") + 1 end,
    dense = function(begins) return np.astype(np.cumsum(np.astype(begins, "i32"), { axis = -1 }), "f64") end,
    ordinal = function(begins)
        return np.broadcast_to(np.arange(samples.count(begins, -1), { dtype = "f64" }) + 1, core.shape_of(begins))
    end,
}

--- The ranks of x along its last axis, from 1, as f64, and the sum of t³ - t over the groups of t equal elements. Ranks
-- are NaN where an element is.
function ranks.of(x, method)
    local order = np.argsort(x, { axis = -1 })
    local sorted = np.take_along_axis(x, order, { axis = -1 })
    local begins, first, last = ranks.groups(sorted)
    local back = np.argsort(order, { axis = -1 })
    local found = np.take_along_axis(ranks.methods[method](begins, first, last), back, { axis = -1 })
    local size = np.astype(last - first + 1, "f64")
    local ties = np.sum(size * size - 1, { axis = -1 }) -- each of t elements has t² - 1
    local hidden = np.any(np.isnan(x), { axis = -1, keepdims = true })
    return np.where(hidden, np.nan, found), ties
end

return ranks
