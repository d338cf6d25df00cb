--- scans.lua: np.associative_scan and np.map: what runs along an axis, made of ordinary ops, np.scan and np.vmap.
local core = require "neap.core"
local shape = require "neap.arrays.shape"
local trees = require "neap.core.trees"
local staging = require "neap.tracing.staging"

local np = core.np
local is_array, raise, bad_argument, describe = core.is_array, core.raise, core.bad_argument, core.describe
local pack, check_function = staging.pack, staging.check_function
local ipairs, type, unpack = ipairs, type, unpack

local function at_path(path)
    return path == "" and "" or " at " .. path
end

--- The leaves of a tree in order, as a list of { leaf, path }.
local function leaves_of(name, tree)
    local list = {}
    trees.walk(name, tree, function(leaf, path) list[#list + 1] = { leaf, path } end, "")
    return list
end

--- The leaves of argument 2, which must be arrays; `what` is its name.
local function arrays_of(name, what, tree)
    local list = leaves_of(name, tree)
    if #list == 0 then bad_argument(name, 2, what, "an array or a tree of them", tree) end
    for _, item in ipairs(list) do
        if not is_array(item[1]) then
            raise(name, "argument 2 (%s)%s must be an array, got %s", what, at_path(item[2]), describe(item[1]))
        end
    end
    return list
end

--- Raises unless arrays of a list { array, path } have one extent along an axis (from 0); returns that.
local function common_extent(name, what, list, axis)
    local n
    for _, item in ipairs(list) do
        local dims = core.shape_of(item[1])
        if axis >= #dims then
            raise(name, "argument 2 (%s)%s has no axis %d: its shape is %s", what, at_path(item[2]), axis,
                  core.shape_text(dims))
        end
        n = n or dims[axis + 1]
        if dims[axis + 1] ~= n then
            raise(name, "argument 2 (%s) must have arrays of one extent along axis %d, got shape %s%s and shape %s%s",
                  what, axis, core.shape_text(list[1][1]), at_path(list[1][2]), core.shape_text(dims),
                  at_path(item[2]))
        end
    end
    return n
end

-- ---- np.associative_scan --------------------------------------------------------------------------------------------

-- What is done with n elements a, b, c, …, in the words of a product:
--
--     pairs      a·b    c·d    e·f         each even element and its neighbour, n / 2 products at once
--     odd        a·b    a·b·c·d    …       the pairs, scanned in the same way: the results 1, 3, 5, …
--     even    a     a·b·c      …           the odd results times the elements 2, 4, 6, …: the results 0, 2, 4, …
--
-- It is the scan of G. E. Blelloch, "Prefix Sums and Their Applications" (CMU-CS-90-190, 1990), for any n. What is
-- combined with what depends on n alone.

--- The elements from, from + step, … before `to` along an axis.
local function every(x, axis, from, to, step)
    local key = {}
    for k = 1, axis do key[k] = {} end
    key[axis + 1] = { from, to, step }
    return (core.index(x, key))
end

--- Even and odd elements in one row; there may be one more of the even ones.
local function interleave(even, odd, axis)
    local dims, count = core.shape_of(odd), core.shape_of(even)[axis + 1]
    local n = dims[axis + 1]
    dims[axis + 1] = 2 * n
    local joined = shape.reshape(np.stack({ every(even, axis, 0, n, 1), odd }, { axis = axis + 1 }), dims)
    return count == n and joined or shape.join({ joined, every(even, axis, n, count, 1) }, axis)
end

--- f(a, …) for the arrays of some lists, side by side.
local function each(f, a, b)
    local list = {}
    for k = 1, #a do list[k] = f(a[k], b and b[k]) end
    return list
end

--- The scan of a list of arrays with n elements along an axis; combine(a, b) takes such lists and returns one.
local function scanned(combine, elems, axis, n)
    if n < 2 then return elems end
    local function part(from, to, step)
        return function(x) return every(x, axis, from, to, step) end
    end
    local half = math.floor(n / 2)
    local odd = scanned(combine, combine(each(part(0, n - 1, 2), elems), each(part(1, n, 2), elems)), axis, half)
    local first = each(part(0, 1, 1), elems)
    if n == 2 then return each(function(a, b) return shape.join({ a, b }, axis) end, first, odd) end
    local before = n % 2 == 0 and each(part(0, half - 1, 1), odd) or odd
    local even = combine(before, each(part(2, n, 2), elems))
    even = each(function(a, b) return shape.join({ a, b }, axis) end, first, even)
    return each(function(a, b) return interleave(a, b, axis) end, even, odd)
end

--- fn as a function of two lists of arrays: its result must be a tree like elems, of arrays like its arguments.
local function combiner(fn, elems)
    local name = "associative_scan"
    local function tree_of(list)
        local used = 0
        return trees.rebuild(name, elems, function()
            used = used + 1
            return list[used]
        end)
    end
    return function(a, b)
        local results = pack(fn(tree_of(a), tree_of(b)))
        if results.n ~= 1 then
            raise(name, "fn must return one value (a table holds several), got %d", results.n)
        end
        local wanted, found, list = leaves_of(name, elems), leaves_of(name, results[1]), {}
        for k = 1, math.max(#wanted, #found) do
            local want, got = wanted[k], found[k]
            if not want or not got or want[2] ~= got[2] then
                raise(name, "fn must return a tree of the form of elems: %s", want
                      and (want[2] == "" and "an array" or want[2] .. " is missing") or got[2] .. " is not in it")
            end
            if not is_array(got[1]) then
                raise(name, "fn must return arrays, got %s%s", describe(got[1]), at_path(got[2]))
            end
            local dtype, kept = core.dtype_of(got[1]).name, core.dtype_of(a[k]).name
            if dtype ~= kept or not shape.same(core.shape_of(got[1]), core.shape_of(a[k])) then
                raise(name, "fn must keep shapes and dtypes: it got %s of shape %s%s, and returned %s of shape %s",
                      kept, core.shape_text(a[k]), at_path(got[2]), dtype, core.shape_text(got[1]))
            end
            list[k] = got[1]
        end
        return list
    end
end

local scan_options = { reverse = true, axis = true }

--- np.associative_scan(fn, elems, {reverse=false, axis=0}): the running combinations of the elements along an axis, all
-- of them at once: element k of the result is that of elements 0 to k. elems is an array or a tree of arrays of one
-- extent n along the axis; the result has the same form, shapes and dtypes.
--
-- fn(a, b) combines trees like elems, in which the axis has some other extent, element by element along the axis (as
-- np.vmap makes functions do), and must be associative: fn(a, fn(b, c)) = fn(fn(a, b), c). It is called some 2 log2(n)
-- times, on fewer than 2 n pairs in all. What is combined with what depends on n alone, so the bits are the same on any
-- number of workers; sums of floats are not those of np.cumsum, which adds in order. Raises for an axis whose size is
-- declared. Algorithm: G. E. Blelloch, Prefix Sums and Their Applications, CMU-CS-90-190, 1990.
--- fn: a function of two trees like elems that returns one
--- elems: an array or a tree of arrays
--- reverse: true: from the last element to the first: element k combines the last one, …, k, in this order
--- axis: the axis; a negative one counts from the end of the first array
--- > np.associative_scan(np.maximum, np.array{3, 1, 4, 1, 5})
-- [3. 3. 4. 4. 5.]
--- > turns = np.associative_scan(np.matmul, np.array{{{0, -1}, {1, 0}}, {{0, -1}, {1, 0}}})
--- > turns[1]
-- [[-1.  0.]
--  [ 0. -1.]]
function np.associative_scan(fn, elems, given)
    local name = "associative_scan"
    fn = check_function(name, fn, 1, "fn")
    local o = core.options(name, given, scan_options)
    if o.reverse ~= nil and type(o.reverse) ~= "boolean" then
        bad_argument(name, nil, "reverse", "a boolean", o.reverse)
    end
    local leaves = arrays_of(name, "elems", elems)
    local axis = core.axis(name, o.axis == nil and 0 or o.axis, #core.shape_of(leaves[1][1]))
    local n = common_extent(name, "elems", leaves, axis)
    if core.is_size(n) then
        raise(name, "the size of axis %d is declared, as %s, and what is combined with what depends on it; declare it "
              .. "as an integer", axis, core.size_text(n))
    end
    local function turned(x) return o.reverse and np.flip(x, axis) or x end
    local list = {}
    for k, item in ipairs(leaves) do list[k] = turned(item[1]) end
    list = scanned(combiner(fn, elems), list, axis, n)
    local used = 0
    return trees.rebuild(name, elems, function()
        used = used + 1
        return turned(list[used])
    end)
end

-- ---- np.map ---------------------------------------------------------------------------------------------------------

--- f(part) for each part along the first axis of xs, one after the other: a list of results.
local function mapped(f, xs)
    local n
    local _, list = np.scan(function(_, x)
        local results = pack(f(x))
        n, results.n = results.n, nil
        return {}, results
    end, {}, xs)
    list.n = n
    return list
end

--- The same in batches of `size` parts, n in all, and one of those that are left.
local function mapped_in_batches(f, xs, n, size)
    local batch = np.vmap(f)
    local count, any = math.floor(n / size), core.is_size(n) -- of a declared size any number of parts may be left
    local function rest(from)
        return pack(batch(trees.rebuild("map", xs, function(x) return every(x, 0, from, n, 1) end)))
    end
    if not any and count == 0 then return rest(0) end
    local blocks = trees.rebuild("map", xs, function(x)
        local dims = core.shape_of(x)
        dims[1] = size
        table.insert(dims, 1, count)
        return shape.reshape(every(x, 0, 0, count * size, 1), dims)
    end)
    local function flat(y)
        if not is_array(y) then return y end
        local dims = core.shape_of(y)
        dims[2] = dims[1] * dims[2]
        table.remove(dims, 1)
        return shape.reshape(y, dims)
    end
    local list = mapped(batch, blocks)
    for k = 1, list.n do list[k] = trees.rebuild("map", list[k], flat) end
    if not any and count * size == n then return list end
    local left = rest(count * size)
    for k = 1, list.n do
        local tail, used = leaves_of("map", left[k]), 0
        list[k] = trees.rebuild("map", list[k], function(y)
            used = used + 1
            return is_array(y) and shape.join({ y, tail[used][1] }, 0) or y
        end)
    end
    return list
end

--- np.map(f, xs, {batch_size=…}) -> results: f(x) for each part x along the first axis of xs (an array, or a tree of
-- arrays of one extent), one after the other, and the results stacked along a new first axis: np.scan without a carry.
-- f is traced once. It returns arrays, numbers or trees of them, any number of results.
--- batch_size: so many parts are computed at once, by np.vmap, and those that are left in a batch of their own: as fast
-- as np.vmap(f)(xs), with the memory of one batch. 0: all parts at once
--- > np.map(function(x) return x:sum() end, np.arange(6):reshape(3, 2))
-- [1 5 9]
--- > np.map(np.square, np.arange(5), {batch_size=2})
-- [ 0  1  4  9 16]
function np.map(f, xs, given)
    f = check_function("map", f)
    local size = core.options("map", given, { batch_size = true }).batch_size
    if size ~= nil then size = core.integer("map", nil, "batch_size", size, 0) end
    local n = common_extent("map", "xs", arrays_of("map", "xs", xs), 0)
    local list
    if size == nil then
        list = mapped(f, xs)
    elseif size == 0 then
        list = pack(np.vmap(f)(xs))
    else
        list = mapped_in_batches(f, xs, n, size)
    end
    return unpack(list, 1, list.n)
end

-- They run the user's functions, or loop over what those returned.
for _, f in ipairs { leaves_of, arrays_of, each, scanned, combiner, mapped, mapped_in_batches, np.associative_scan,
                     np.map } do
    jit.off(f)
end
