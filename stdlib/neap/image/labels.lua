--- labels.lua: the regions of a mask, numbered: in a walk over its runs, or by leaps in a trace, which has none.
local ffi = require "ffi"
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local create = require "neap.arrays.create"
local structures = require "neap.image.structures"

local np = core.np
local shape_of = core.shape_of
local indices = ffi.typeof "int32_t[?]"

-- ---- A walk ---------------------------------------------------------------------------------------------------------

-- A run is what hangs together on a line, which lies along the last axis: places next to each other, or a single place
-- if the structure does not join these. Lines are visited in order. Where a run touches one of a line before, both
-- belong to one region, whose first run stands for all. (A. Rosenfeld and J. L. Pfaltz, Sequential operations in
-- digital picture processing, 1966, of places in place of runs.)

--- The run that stands for a region.
local function root_of(parent, run)
    while parent[run] ~= run do
        parent[run] = parent[parent[run]]
        run = parent[run]
    end
    return run
end

--- Whether a mask differs from the place before along its lines, which are outside of it at both ends: true where runs
-- begin and end, in turn, on lines that are longer by one place.
local function edges_of(mask, dims)
    local before, behind = {}, {}
    for k = 1, #dims do
        local is_last = k == #dims
        before[k], behind[k] = { is_last and 1 or 0, 0 }, { 0, is_last and 1 or 0 }
    end
    return np.not_equal(np.pad(mask, before), np.pad(mask, behind))
end

--- All runs of a mask in order: where each begins and ends on its line, and its parent in the forest of regions, at
-- first itself; the first run of each line, and behind the last line how many there are. single: a run is one place.
local function runs_of(mask, lines, dims, single)
    local stride = single and dims[#dims] or dims[#dims] + 1
    local places = np.astype(np.nonzero(np.ravel(single and mask or edges_of(mask, dims))), "f64")
    local count, step = single and places.size or places.size / 2, single and 1 or 2
    local at = ffi.cast("const double *", core.data(places))
    local from, to, parent, first = indices(count + 1), indices(count + 1), indices(count + 1), indices(lines + 1)
    local line = 0
    for run = 0, count - 1 do
        local begin = at[step * run]
        local own = math.floor(begin / stride)
        while line < own do
            line = line + 1
            first[line] = run
        end
        from[run], parent[run] = begin - own * stride, run
        to[run] = single and from[run] + 1 or at[step * run + 1] - own * stride
    end
    for behind = line + 1, lines do first[behind] = count end
    core.info(places) -- keep the places alive until here
    return { from = from, to = to, parent = parent }, first
end

--- Joins runs a to a_end, without the last, with those of b to b_end that they touch when moved by `by` places.
local function join_runs(runs, a, a_end, b, b_end, by)
    local from, to, parent = runs.from, runs.to, runs.parent
    while a < a_end and b < b_end do
        if from[a] + by < to[b] and from[b] < to[a] + by then
            local one, other = root_of(parent, a), root_of(parent, b)
            if one < other then parent[other] = one else parent[one] = other end
        end
        if to[a] + by < to[b] then a = a + 1 else b = b + 1 end
    end
end

--- How far the line lies to which a step leads from another line, in lines; nil: it lies beyond the ends.
local function lines_by(step, line, dims)
    local by, stride = 0, 1
    for k = #dims - 1, 1, -1 do
        local place = line % dims[k] + step[k]
        if place < 0 or place >= dims[k] then return nil end
        by, stride, line = by + step[k] * stride, stride * dims[k], math.floor(line / dims[k])
    end
    return by
end

--- Joins runs to regions, line by line.
local function join_lines(runs, first, lines, dims, before)
    for line = 0, lines - 1 do
        for _, step in ipairs(before) do
            local by = lines_by(step, line, dims)
            if by then
                join_runs(runs, first[line], first[line + 1], first[line + by], first[line + by + 1], step[#dims])
            end
        end
    end
end

--- Writes the labels of runs, joined to regions, to out; returns how many regions there are.
local function write_labels(runs, first, lines, width, out)
    local from, to, parent, number, regions = runs.from, runs.to, runs.parent, indices(first[lines] + 1), 0
    ffi.fill(out, 4 * lines * width)
    for line = 0, lines - 1 do
        for run = first[line], first[line + 1] - 1 do
            local root = root_of(parent, run)
            if root == run then regions = regions + 1 end
            number[run] = root == run and regions or number[root]
            for at = line * width + from[run], line * width + to[run] - 1 do out[at] = number[run] end
        end
    end
    return regions
end

local function walked(mask, dims, steps)
    local width, single, before, lines, count = dims[#dims], true, {}, 1, nil
    for k = 1, #dims - 1 do lines = lines * dims[k] end
    for _, step in ipairs(steps) do
        local k = 1
        while step[k] == 0 and k < #step do k = k + 1 end
        if step[k] < 0 and k == #step then single = false elseif step[k] < 0 then before[#before + 1] = step end
    end
    local runs, first = runs_of(mask, lines, dims, single)
    join_lines(runs, first, lines, dims, before)
    local labels = core.fill(core.dtype_codes.i32, dims, function(out)
        count = write_labels(runs, first, lines, width, out)
    end, "int32_t *", "image.label")
    return labels, np.array(count, { dtype = "i32" })
end

-- ---- Leaps ----------------------------------------------------------------------------------------------------------

-- Each place begins as a region of its own, numbered by its position. A turn gives each the least number among itself
-- and its neighbours, and then the number of the place so numbered, so that numbers run along a region by leaps. In the
-- end a region has the number of its first place.

local function leapt(inside, dims, steps)
    local count = shape.product(dims)
    local places = create.iota(count, core.dtype_codes.i32)
    inside = np.ravel(inside)
    local first = np.where(inside, places, count)
    local roots = np.while_loop(function(state) return state.changed end, function(state)
        local now = state.roots
        local least = structures.moved(np.reshape(now, dims), steps, count, np.minimum)
        local new = np.where(inside, np.minimum(now, np.ravel(least)), count)
        new = np.where(inside, np.take(new, np.minimum(new, count - 1)), count)
        return { roots = new, changed = np.any(np.not_equal(new, now)) }
    end, { roots = first, changed = np.array(true) }).roots
    local number = np.cumsum(np.astype(np.logical_and(inside, np.equal(roots, places)), "i32"))
    local labels = np.where(inside, np.take(number, np.minimum(roots, count - 1)), 0)
    return np.reshape(np.astype(labels, "i32"), dims), np.astype(number[-1], "i32")
end

--- The labels of a mask (i32) and the number of regions, by the steps to neighbours.
return function(inside, steps)
    local dims = shape_of(inside)
    if core.info(inside).traced ~= 0 then return leapt(inside, dims, steps) end
    return walked(inside, dims, steps)
end
