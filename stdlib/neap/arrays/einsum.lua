--- einsum.lua: np.einsum. An operand is an array and its labels, a text with one letter for each axis. The axes that
-- `...` stands for have letters of their own, which no user can write: "\1" the last one, "\2" the one before it, …
local core = require "neap.core"
local operand_rules = require "neap.arrays.operands"
local product = require "neap.arrays.product"
local shape = require "neap.arrays.shape"

local np = core.np
local raise, bad_argument, coerce = core.raise, core.bad_argument, core.coerce
local shape_of = core.shape_of

-- ---- Reading the spec -----------------------------------------------------------------------------------------------

--- "ij,...jk->...ik" as the labels of each array and of the result, nil without `->`; "." stands for an ellipsis.
local function parse_spec(spec, count)
    if type(spec) ~= "string" then bad_argument("einsum", 1, "spec", 'a text such as "ij,jk->ik"', spec) end
    local short = spec:gsub("%s", ""):gsub("%.%.%.", "."):gsub("%->", "\1")
    local left, arrow, right = short:match("^([%a%.,]*)(\1?)([%a%.]*)$")
    if not left or spec:gsub("%.%.%.", ""):find("%.") or (arrow == "" and right ~= "") then
        raise("einsum", "cannot read %q; expected letters and ellipses, like \"...ij,jk->...ik\"", spec)
    end
    local operands = {}
    for labels in (left .. ","):gmatch("([^,]*),") do operands[#operands + 1] = labels end
    if #operands ~= count then raise("einsum", "%q names %d arrays, got %d", spec, #operands, count) end
    operands[#operands + 1] = arrow ~= "" and right or nil
    for _, labels in ipairs(operands) do
        if labels:find("%..*%.") then raise("einsum", "%q has two ellipses in one term", spec) end
    end
    return operands, arrow ~= "" and table.remove(operands) or nil
end

--- The labels of an ellipsis of n axes.
local function ellipsis_labels(n)
    local list = {}
    for k = 1, n do list[k] = string.char(n - k + 1) end
    return table.concat(list)
end

--- A label in words.
local function spoken(label)
    if label:find("%a") then return ("label '%s'"):format(label) end
    return ("axis %d of the ellipsis"):format(-label:byte())
end

--- The labels of the result: those that are given, or NumPy's choice: the axes of the ellipsis, then the labels that
-- stand once, in alphabetical order. `widest` is the number of axes of the longest ellipsis.
local function result_labels(operands, right, widest)
    local times, once = {}, {}
    for _, labels in ipairs(operands) do
        for label in labels:gmatch("%a") do times[label] = (times[label] or 0) + 1 end
    end
    if not right then
        for label, n in pairs(times) do
            if n == 1 then once[#once + 1] = label end
        end
        table.sort(once)
        return ellipsis_labels(widest) .. table.concat(once)
    end
    for label in right:gmatch("%a") do
        if not times[label] then raise("einsum", "label '%s' of the result stands in no array", label) end
        if select(2, right:gsub(label, "")) > 1 then raise("einsum", "label '%s' stands twice in the result", label) end
    end
    return (right:gsub("%.", ellipsis_labels(widest)))
end

-- ---- Operands -------------------------------------------------------------------------------------------------------

--- The labels of array k with its ellipsis written out, and how many axes that has.
local function written_out(labels, k, ndim)
    local named = select(2, labels:gsub("%a", ""))
    local dots = labels:find(".", 1, true)
    if ndim < named or (ndim > named and not dots) then
        raise("einsum", "%q has %d labels, array %d has %d axes", (labels:gsub("%.", "...")), named, k, ndim)
    end
    return (labels:gsub("%.", ellipsis_labels(ndim - named))), dots and ndim - named or 0
end

--- The diagonal over the two axes i < j (from 0), in place of the first: a view where x is one piece of memory.
local function take_diagonal(x, i, j)
    local dims, order = shape_of(x), {}
    local n = dims[i + 1]
    for axis = 0, #dims - 1 do
        if axis ~= i and axis ~= j then order[#order + 1] = axis end
    end
    local kept = {}
    for k, axis in ipairs(order) do kept[k] = dims[axis + 1] end
    order[#order + 1], order[#order + 2] = i, j
    kept[#kept + 1] = n * n
    x = shape.permute(x, order)
    x = shape.reshape(x, kept)
    local start, step, count = {}, {}, { unpack(kept) }
    for k = 1, #kept do start[k], step[k] = 0, 1 end
    step[#kept], count[#kept] = n + 1, n
    return np.moveaxis(shape.slice(x, start, step, count), -1, i)
end

--- x with each label once: of labels that stand twice, the diagonal.
local function without_repeats(x, labels)
    for k = 1, #labels do
        local label = labels:sub(k, k)
        local again = labels:find(label, k + 1, true)
        if again then
            local dims = shape_of(x)
            if dims[k] ~= dims[again] then
                raise("einsum", "%s has extent %d and %d in one array", spoken(label), dims[k], dims[again])
            end
            x = take_diagonal(x, k - 1, again - 1)
            return without_repeats(x, labels:sub(1, again - 1) .. labels:sub(again + 1))
        end
    end
    return x, labels
end

--- The extent of each label over all arrays; an extent of 1 broadcasts.
local function extents(arrays, operands)
    local extent = {}
    for k, labels in ipairs(operands) do
        for d, n in ipairs(shape_of(arrays[k])) do
            local label = labels:sub(d, d)
            local known = extent[label]
            if not known or core.is_same(known, n) then
                extent[label] = n
            else
                local broadcasts = n == 1 or known == 1
                if not broadcasts and known ~= n then
                    raise("einsum", "%s has extent %d and %d", spoken(label), known, n)
                end
                extent[label] = broadcasts and (n == 1 and known or n) or n
            end
        end
    end
    return extent
end

--- Without the axes of size 1 that broadcast: they go, since others have their label.
local function squeezed(x, labels, extent)
    local dims, left = {}, {}
    for d, n in ipairs(shape_of(x)) do
        local label = labels:sub(d, d)
        if n == extent[label] then
            dims[#dims + 1], left[#left + 1] = n, label
        end
    end
    if #left == #labels then return x, labels end
    return shape.reshape(x, dims), table.concat(left)
end

-- ---- Products -------------------------------------------------------------------------------------------------------

--- x with its axes (named by labels) in the order of `wanted`, which names them all.
local function arrange(x, labels, wanted)
    local order = {}
    for k = 1, #wanted do order[k] = labels:find(wanted:sub(k, k), 1, true) - 1 end
    return shape.permute(x, order)
end

--- Sums away the labels that `keep(label)` does not want.
local function sum_out(x, labels, keep)
    local axes, left = {}, {}
    for k = 1, #labels do
        local label = labels:sub(k, k)
        if keep(label) then left[#left + 1] = label else axes[#axes + 1] = k - 1 end
    end
    if #axes > 0 then x = np.sum(x, { axis = axes, dtype = core.dtype_of(x).name }) end
    return x, table.concat(left)
end

--- The product of two labelled arrays; labels that `later(label)` does not want are summed.
local function contract(a, la, b, lb, later, extent)
    a, la = sum_out(a, la, function(label) return later(label) or lb:find(label, 1, true) end)
    b, lb = sum_out(b, lb, function(label) return later(label) or la:find(label, 1, true) end)
    local batch, rows, inner, columns = "", "", "", ""
    for label in la:gmatch(".") do
        if not lb:find(label, 1, true) then
            rows = rows .. label
        elseif later(label) then
            batch = batch .. label
        else
            inner = inner .. label
        end
    end
    for label in lb:gmatch(".") do
        if not la:find(label, 1, true) then columns = columns .. label end
    end
    local function size(labels)
        local n = 1
        for label in labels:gmatch(".") do n = n * extent[label] end
        return n
    end
    a = shape.reshape(arrange(a, la, batch .. rows .. inner), { size(batch), size(rows), size(inner) })
    b = shape.reshape(arrange(b, lb, batch .. inner .. columns), { size(batch), size(inner), size(columns) })
    local labels, dims = batch .. rows .. columns, {}
    for label in labels:gmatch(".") do dims[#dims + 1] = extent[label] end
    return shape.reshape(product.matmul2(a, b, batch ~= ""), dims), labels
end

-- ---- In which order ------------------------------------------------------------------------------------------------

local MOST_TRIED = 6 -- operands of which all orders are tried: 2,700

--- All labels of two texts, each once.
local function union(la, lb)
    return la .. lb:gsub(".", function(label) return la:find(label, 1, true) and "" or label end)
end

--- The labels that are left when operands i and j of a list have been combined: those that the result or others have.
local function left_of(list, i, j, right)
    return (union(list[i], list[j]):gsub(".", function(label)
        if right:find(label, 1, true) then return nil end
        for k = 1, #list do
            if k ~= i and k ~= j and list[k]:find(label, 1, true) then return nil end
        end
        return ""
    end))
end

--- The list with operands i < j combined: the result stands last.
local function combined_list(list, i, j, labels)
    local rest = {}
    for k = 1, #list do
        if k ~= i and k ~= j then rest[#rest + 1] = list[k] end
    end
    rest[#rest + 1] = labels
    return rest
end

--- The cheapest order in which operands can be combined in pairs: a list of { i, j }, positions from 1 in what is left,
-- of which the result comes to the end; and its cost, the multiplications. All orders of a few operands are tried; of
-- more, the pair that costs least is the next one.
local function find_path(list, right, extent)
    local function cost_of(i, j)
        local n = 1
        for label in union(list[i], list[j]):gmatch "." do n = n * extent[label] end
        return n
    end
    if #list == 1 then return {}, 0 end
    local best, cheapest
    for i = 1, #list - 1 do
        for j = i + 1, #list do
            local cost = cost_of(i, j)
            if #list <= MOST_TRIED then
                local rest = combined_list(list, i, j, left_of(list, i, j, right))
                local path, more = find_path(rest, right, extent)
                if not cheapest or cost + more < cheapest then
                    cheapest = cost + more
                    best = { { i, j }, unpack(path) }
                end
            elseif not cheapest or cost < cheapest then
                cheapest, best = cost, { i, j }
            end
        end
    end
    if #list <= MOST_TRIED then return best, cheapest end
    local i, j = best[1], best[2]
    local path, more = find_path(combined_list(list, i, j, left_of(list, i, j, right)), right, extent)
    return { best, unpack(path) }, cheapest + more
end

--- The arrays and labels of np.name(spec, …), ready to be multiplied: diagonals taken, axes that broadcast left out;
-- the labels of the result; the extents of labels; which half the result is, computed as f32.
local function prepare(name, spec, ...)
    local arrays = operand_rules.literals(name, 2, { ... }, select("#", ...))
    local operands, right = parse_spec(spec, select("#", ...))
    local widest = 0
    local function labels_of(k, ndim) return (written_out(operands[k], k, ndim)) end
    for k = 1, #operands do arrays[k] = coerce(name, k + 1, arrays[k], arrays, labels_of) end
    local half
    arrays, half = operand_rules.wide_all(arrays)
    for k = 1, #arrays do
        local axes
        operands[k], axes = written_out(operands[k], k, core.ndim(arrays[k]))
        widest = math.max(widest, axes)
    end
    right = result_labels(operands, right, widest)
    for k = 1, #arrays do arrays[k], operands[k] = without_repeats(arrays[k], operands[k]) end
    local extent = extents(arrays, operands)
    for k = 1, #arrays do arrays[k], operands[k] = squeezed(arrays[k], operands[k], extent) end
    return arrays, operands, right, extent, half
end

--- np.einsum("ij,jk->ik", a, b, …, {out_sharding=…}): sums of products over the labels that the result does not have.
-- `...` stands for any number of axes, which are summed where the result has no `...`; a label that stands twice in one
-- array is its diagonal; an extent of 1 broadcasts. Without `->` the result has the axes of `...`, then the labels that
-- stand once, in alphabetical order. Three arrays and more are combined in the order that takes the fewest
-- multiplications, which np.einsum_path tells.
--- out_sharding: a spec or a sharding: how the result lies on a mesh; sums over axes that are unreduced there are left
-- undone
--- > a = np.array{{1, 2}, {3, 4}}
--- > np.einsum("ij,jk->ik", a, a), np.einsum("ii", a)
-- [[ 7. 10.]
--  [15. 22.]]
-- 5.0
--- > rows = np.NamedSharding(np.mesh({1}, {"i"}), np.P("i"))
--- > np.einsum("ij,jk->ik", a, a, {out_sharding=rows}).sharding.spec
-- P("i", nil)
function np.einsum(spec, ...)
    local given = select("#", ...) > 0 and select(-1, ...) or nil
    if type(given) == "table" and rawget(given, "out_sharding") ~= nil then
        local o, arrays = core.options("einsum", given, { out_sharding = true }), { ... }
        arrays[#arrays] = nil
        return core.out_sharding("einsum", o.out_sharding, arrays, np.einsum, spec, unpack(arrays))
    end
    local arrays, operands, right, extent, half = prepare("einsum", spec, ...)
    for _, pair in ipairs((find_path(operands, right, extent))) do
        local i, j = pair[1], pair[2]
        local kept = left_of(operands, i, j, right)
        local function later(label) return kept:find(label, 1, true) end
        local x, labels = contract(arrays[i], operands[i], arrays[j], operands[j], later, extent)
        arrays, operands = combined_list(arrays, i, j, x), combined_list(operands, i, j, labels)
    end
    local x, labels = sum_out(arrays[1], operands[1], function(label) return right:find(label, 1, true) end)
    return operand_rules.narrow(arrange(x, labels, right), half)
end

--- np.einsum_path("ij,jk->ik", a, b, …) -> path, text: in which order np.einsum combines its arrays: a table of pairs,
-- counted from 0 in what is left at that point, where the result of a pair comes last; and a text about it.
--- > path, text = np.einsum_path("ij,jk,k->i", np.ones{9, 9}, np.ones{9, 9}, np.ones(9))
--- > path[1][1], path[1][2], path[2][1], path[2][2]
-- 1
-- 2
-- 0
-- 1
--- > text
-- (1, 2) (0, 1): 162 multiplications
function np.einsum_path(spec, ...)
    local _, operands, right, extent = prepare("einsum_path", spec, ...)
    local path, cost = find_path(operands, right, extent)
    local texts = {}
    for k, pair in ipairs(path) do
        path[k] = { pair[1] - 1, pair[2] - 1 }
        texts[k] = ("(%d, %d)"):format(pair[1] - 1, pair[2] - 1)
    end
    return path, ("%s: %.0f multiplications"):format(table.concat(texts, " "), cost)
end
