--- linear.lua: what np.optimize.linprog and np.optimize.milp share: a linear program of the user's arrays, its solution
-- as arrays, and the derivatives of that.
--
-- A program has *blocks* of rows, { A = matrix, lower, upper = vectors, … }, arrays of f64; A may be sparse. The solver
-- works on C arrays (solver.lua); results are arrays again.
--
-- Derivatives. At a vertex where exactly n of the rows and bounds hold with equality, with prices that are not 0, the
-- same n hold for all data nearby. So x solves K x = r, of these rows and their limits, and the prices solve
-- Kᵀ y = cost: where an argument is differentiated, results are solutions of these two systems, made of the user's
-- arrays. Elsewhere x or the prices have no derivative, and that is an error.
local ffi = require "ffi"
local core = require "neap.core"
local solver = require "neap.optimize.solver"
local trees = require "neap.core.trees"

local np = core.np
local is_array, raise = core.is_array, core.raise
local huge = math.huge

local MOST = 1e20     -- of a number, but for infinities
local CLOSE = 1e-6    -- how much of a limit a solution may miss, as a share of what is added up
local SAME = 1e-8     -- the same, of objectives: Cbc's tolerances and rounding lie between fun and its bound
local HOLDS = 1e-8    -- the same, of rows that hold with equality, for derivatives

local linear = {}

linear.MESSAGES = {
    [0] = "the optimum is found", [2] = "no x satisfies all constraints",
    [3] = "the objective has no bound", [4] = "the solver failed: numerical difficulties",
}
local CONSTANT = "; np.stop_gradient(…) takes the arguments for constants"
local LIMITS = { "the largest number of iterations is reached", "the time limit is reached",
                 "the largest number of nodes is reached" }

-- ---- Arguments ------------------------------------------------------------------------------------------------------

--- Raises if a number of an array is NaN, too large for the solver, or infinite where that is not allowed.
local function check_numbers(name, place, x, infinite)
    if x.size == 0 then return end
    local size = np.abs(np.stop_gradient(x))
    local wrong = np.logical_not(np.less_equal(size, MOST))
    if infinite then wrong = np.logical_and(wrong, np.logical_not(np.isinf(size))) end
    if not np.any(wrong):item() then return end
    local at = np.argmax(np.reshape(wrong, -1)):item()
    local value = np.reshape(np.stop_gradient(x), -1)[at]:item()
    raise(name, "%s holds %s; numbers are finite%s, and at most 1e20 in size", place,
          value ~= value and "NaN" or ("%.9g"):format(value), infinite and " or infinities" or "")
end

--- A value as an array of real numbers, f64. `place` names it in messages.
local function numbers(name, place, value)
    if type(value) == "table" and getmetatable(value) == nil then
        local ok, made = pcall(np.array, value, { dtype = "f64" })
        if not ok then
            core.check_interrupt()
            raise(name, "%s: %s", place, (tostring(made):gsub("^.-np%.array: ", "")))
        end
        value = made
    end
    local x = core.coerce(name, place, value)
    if core.dtype_of(x).kind == "c" then raise(name, "%s must be real, got dtype %s", place, core.dtype_of(x).name) end
    return np.astype(x, "f64")
end

--- A vector of n numbers; where one number may stand for all, that too.
function linear.vector(name, place, value, n, what, how)
    local x = numbers(name, place, value)
    if how.all and core.ndim(x) == 0 then
        x = np.broadcast_to(x, { n })
    elseif core.ndim(x) ~= 1 or n and x.size ~= n then
        raise(name, "%s must be a vector%s%s, got shape %s", place, n and (" of %d numbers, %s"):format(n, what) or "",
              how.all and ", or one number" or "", core.shape_text(x))
    end
    check_numbers(name, place, x, how.infinite)
    return x
end

--- A matrix with n columns, dense or sparse. A sparse one is a table whose class has a format.
function linear.matrix(name, place, value, n)
    local class = trees.class_of(value)
    local is_sparse = class ~= nil and class.format ~= nil
    local A = is_sparse and value or numbers(name, place, value)
    if is_sparse then
        if core.dtype_of(A.data).kind == "c" then raise(name, "%s must be real, got dtype %s", place, A.dtype) end
        A = A:astype "f64"
    elseif core.ndim(A) ~= 2 then
        raise(name, "%s must be a matrix, got shape %s", place, core.shape_text(A))
    end
    check_numbers(name, place, is_sparse and A.data or A)
    if A.shape[2] ~= n then
        raise(name, "%s must have %d columns, one for each number of c, got %d", place, n, A.shape[2])
    end
    return A
end

--- The option bounds, { lower, upper }, as two vectors; by default 0 and infinity.
function linear.bounds(name, bounds, n)
    if bounds == nil then bounds = { 0, huge } end
    if type(bounds) ~= "table" or getmetatable(bounds) ~= nil or #bounds ~= 2 then
        core.bad_argument(name, nil, "bounds", "{lower, upper}, each a number or one for each of c", bounds)
    end
    core.list(name, "option 'bounds'", bounds)
    local how = { all = true, infinite = true }
    return linear.vector(name, "option 'bounds': the lower bound", bounds[1], n, "one for each of c", how),
        linear.vector(name, "option 'bounds': the upper bound", bounds[2], n, "one for each of c", how)
end

--- The option integrality as a table of n integers; nil: there are no others than 0.
function linear.integrality(name, value, n)
    if value == nil then return nil end
    local kinds = linear.vector(name, "option 'integrality'", value, n, "one for each of c", { all = true }):totable()
    local some = false
    for k = 1, n do
        if kinds[k] ~= 0 and kinds[k] ~= 1 and kinds[k] ~= 2 and kinds[k] ~= 3 then
            raise(name, "option 'integrality' has %.9g; it has 0, 1, 2 and 3", kinds[k])
        end
        some = some or kinds[k] ~= 0
    end
    return some and kinds or nil
end

--- An option that is a number from 0 up, or the default.
function linear.number(name, o, option, default)
    local value = core.plain(o[option])
    if value == nil then return default end
    if type(value) ~= "number" or value ~= value or value < 0 then
        core.bad_argument(name, nil, option, "a number from 0 up", value)
    end
    return value
end

--- An option that is a count from 1, or no limit.
function linear.count(name, o, option)
    if o[option] == nil then return 2 ^ 31 - 1 end
    return (core.integer(name, nil, option, o[option], 1, 2 ^ 31 - 1))
end

-- ---- The program ----------------------------------------------------------------------------------------------------

--- The elements of a matrix that are not 0: { count, row, column, value }, C arrays that stay while the table does.
local function elements_of(A)
    if not is_array(A) then
        local coo = A:tocoo()
        local row, column = np.astype(coo.row, "i32"), np.astype(coo.col, "i32")
        local list = { count = coo.data.size, keep = { row, column, coo.data } }
        list.row, list.column = ffi.cast("const int *", core.data(row)), ffi.cast("const int *", core.data(column))
        list.value = ffi.cast("const double *", core.data(coo.data))
        return list
    end
    local m, n, data = A.shape[1], A.shape[2], ffi.cast("const double *", core.data(A))
    local count = 0
    for k = 0, m * n - 1 do
        if data[k] ~= 0 then count = count + 1 end
    end
    local row, column, value = ffi.new("int[?]", count), ffi.new("int[?]", count), ffi.new("double[?]", count)
    local at = 0
    for i = 0, m - 1 do
        for j = 0, n - 1 do
            local element = data[i * n + j]
            if element ~= 0 then
                row[at], column[at], value[at] = i, j, element
                at = at + 1
            end
        end
    end
    return { count = count, row = row, column = column, value = value }
end

--- A copy of a vector as a C array with room for `more` numbers behind it.
local function copied(x, more)
    local data = ffi.new("double[?]", x.size + (more or 0))
    ffi.copy(data, core.data(x), 8 * x.size)
    return data
end

--- Numbers that are 0 or between bounds (integrality 2 and 3): a further column, 0 or 1, says which. Writes the columns
-- and their rows, x - upper z <= 0 <= x - lower z, and returns the elements of these.
local function write_choices(name, p, choices)
    local list = { count = 4 * #choices, row = {}, column = {}, value = {} }
    for k, j in ipairs(choices) do
        local low, high = p.lower[j], p.upper[j]
        if math.abs(low) == huge or math.abs(high) == huge then
            raise(name, "option 'integrality' has 2 or 3 for number %d of x, which needs finite bounds, got %.9g and "
                  .. "%.9g", j, low, high)
        end
        local z, row = p.n - #choices + k - 1, p.m - 2 * #choices + 2 * (k - 1)
        p.lower[j], p.upper[j], p.lower[z], p.upper[z] = math.min(low, 0), math.max(high, 0), 0, 1
        p.row_lower[row], p.row_upper[row] = -huge, 0
        p.row_lower[row + 1], p.row_upper[row + 1] = 0, huge
        local terms = { { row, j, 1 }, { row, z, -high }, { row + 1, j, 1 }, { row + 1, z, -low } }
        for e, term in ipairs(terms) do
            local at = 4 * (k - 1) + e - 1
            list.row[at], list.column[at], list.value[at] = unpack(term)
        end
        p.whole[#p.whole + 1] = z
    end
    return list
end

--- Writes the elements of lists { count, row, column, value, first = number of row 0 } by columns; those of one place
-- are added up.
local function write_columns(p, lists)
    local n, count = p.n, 0
    local places = {} -- by column: { [row] = value }
    for j = 0, n - 1 do places[j] = {} end
    for _, list in ipairs(lists) do
        for k = 0, list.count - 1 do
            local row, column = list.first + list.row[k], places[list.column[k]]
            if not column[row] then count = count + 1 end
            column[row] = (column[row] or 0) + list.value[k]
        end
    end
    p.start, p.index, p.value = ffi.new("int[?]", n + 1), ffi.new("int[?]", count), ffi.new("double[?]", count)
    local at = 0
    for j = 0, n - 1 do
        p.start[j] = at
        local rows = {}
        for row in pairs(places[j]) do rows[#rows + 1] = row end
        table.sort(rows)
        for _, row in ipairs(rows) do
            p.index[at], p.value[at] = row, places[j][row]
            at = at + 1
        end
    end
    p.start[n] = at
end

--- The power of 2 next to a size, 1 for 0.
local function scale_of(size)
    local _, exponent = math.frexp(size)
    return size == 0 and 1 or 2 ^ exponent
end

--- Divides rows, columns that are not whole, and costs by powers of 2, so that nothing is rounded and the solver's
-- tolerances suit all units. The scales are p.row_scale, p.column_scale and p.cost_scale.
local function scale(p)
    local rows, columns, most = ffi.new("double[?]", p.m), ffi.new("double[?]", p.n), 0
    p.row_scale, p.column_scale = rows, columns
    for k = 0, p.start[p.n] - 1 do rows[p.index[k]] = math.max(rows[p.index[k]], math.abs(p.value[k])) end
    for i = 0, p.m - 1 do
        rows[i] = scale_of(rows[i])
        p.row_lower[i], p.row_upper[i] = p.row_lower[i] / rows[i], p.row_upper[i] / rows[i]
    end
    local is_whole = {}
    for _, j in ipairs(p.whole) do is_whole[j] = true end
    for j = 0, p.n - 1 do
        local first, last, size = p.start[j], p.start[j + 1] - 1, 0
        for k = first, last do
            p.value[k] = p.value[k] / rows[p.index[k]]
            size = math.max(size, math.abs(p.value[k]))
        end
        local by = is_whole[j] and 1 or scale_of(size)
        for k = first, last do p.value[k] = p.value[k] / by end
        columns[j], p.cost[j], p.lower[j], p.upper[j] = by, p.cost[j] / by, p.lower[j] * by, p.upper[j] * by
        most = math.max(most, math.abs(p.cost[j]))
    end
    p.cost_scale = scale_of(most)
    for j = 0, p.n - 1 do p.cost[j] = p.cost[j] / p.cost_scale end
end

--- The program for the solver. A program without rows gets one without elements.
local function program_of(name, c, blocks, lower, upper, kinds)
    local n, m, choices = c.size, 0, {}
    for _, block in ipairs(blocks) do m = m + block.A.shape[1] end
    for j = 1, kinds and n or 0 do
        if kinds[j] >= 2 then choices[#choices + 1] = j - 1 end
    end
    local extra, more = #choices, 2 * #choices + (m == 0 and 1 or 0)
    local p = { n = n + extra, m = m + more, whole = {}, cost = copied(c, extra), lower = copied(lower, extra),
                upper = copied(upper, extra), nothing = ffi.new("double[?]", n + extra) }
    p.sum, p.size = ffi.new("double[?]", p.m), ffi.new("double[?]", p.m)
    p.row_lower, p.row_upper = ffi.new("double[?]", p.m), ffi.new("double[?]", p.m)
    local lists, first = {}, 0
    for k, block in ipairs(blocks) do
        local rows = block.A.shape[1]
        ffi.copy(p.row_lower + first, core.data(block.lower), 8 * rows)
        ffi.copy(p.row_upper + first, core.data(block.upper), 8 * rows)
        lists[k] = elements_of(block.A)
        lists[k].first, first = first, first + rows
    end
    for j = 1, kinds and n or 0 do
        if kinds[j] % 2 == 1 then p.whole[#p.whole + 1] = j - 1 end
    end
    if extra > 0 then
        local list = write_choices(name, p, choices)
        list.first = 0
        lists[#lists + 1] = list
    end
    write_columns(p, lists)
    scale(p)
    return p
end

--- Whether some number has a lower bound above the upper one, or no whole number between its bounds, and whether some
-- row has such limits. Bounds of whole numbers become whole.
local function is_empty(p)
    for _, j in ipairs(p.whole) do
        p.lower[j], p.upper[j] = math.ceil(p.lower[j] - CLOSE), math.floor(p.upper[j] + CLOSE)
    end
    for j = 0, p.n - 1 do
        if p.lower[j] > p.upper[j] or p.lower[j] == huge or p.upper[j] == -huge then return true end
    end
    for i = 0, p.m - 1 do
        if p.row_lower[i] > p.row_upper[i] or p.row_lower[i] == huge or p.row_upper[i] == -huge then return true end
    end
    return false
end

-- ---- Solutions ------------------------------------------------------------------------------------------------------

--- Whether a solution keeps all limits, but for rounding: the solver's word is not taken for it.
local function keeps_limits(p, x)
    local sum, size = ffi.new("double[?]", p.m), ffi.new("double[?]", p.m)
    for j = 0, p.n - 1 do
        local room = CLOSE * math.max(1, math.abs(x[j]))
        if not (x[j] >= p.lower[j] - room and x[j] <= p.upper[j] + room) then return false end
        for k = p.start[j], p.start[j + 1] - 1 do
            local term, row = p.value[k] * x[j], p.index[k]
            sum[row], size[row] = sum[row] + term, size[row] + math.abs(term)
        end
    end
    for i = 0, p.m - 1 do
        local room = CLOSE * math.max(1, size[i])
        if not (sum[i] >= p.row_lower[i] - room and sum[i] <= p.row_upper[i] + room) then return false end
    end
    return true
end

--- Whether what the solver has found may be told: it keeps all limits, and is not better than what the search among
-- integers says is the best.
local function is_sound(p, solution)
    if not keeps_limits(p, solution.x) then return false end
    if #p.whole == 0 or solution.status ~= solver.OPTIMAL then return true end
    local fun, size = 0, 1
    for j = 0, p.n - 1 do
        fun, size = fun + p.cost[j] * solution.x[j], size + math.abs(p.cost[j] * solution.x[j])
    end
    return fun >= solution.bound - CLOSE * size
end

--- A solution in the units of the user.
local function unscale(p, solution)
    if solution.bound then solution.bound = solution.bound * p.cost_scale end
    if not solution.x then return end
    for i = 0, p.m - 1 do solution.prices[i] = solution.prices[i] * p.cost_scale / p.row_scale[i] end
    for j = 0, p.n - 1 do
        solution.x[j] = solution.x[j] / p.column_scale[j]
        solution.reduced[j] = solution.reduced[j] * p.cost_scale * p.column_scale[j]
    end
end

--- The first n numbers of a C array, from `first` on, as an array.
local function array_of(data, n, first)
    local from = data + (first or 0)
    return core.fill(core.dtype_codes.f64, { n }, function(to) ffi.copy(to, from, 8 * n) end, "double *")
end

local function product(A, x)
    return is_array(A) and np.matmul(A, x) or A:dot(x)
end

-- ---- Derivatives ----------------------------------------------------------------------------------------------------

--- Whether something that is differentiated is among the arrays.
local function is_taped(c, blocks, lower, upper)
    local list = { c, lower, upper }
    for _, block in ipairs(blocks) do
        list[#list + 1], list[#list + 2] = block.lower, block.upper
        list[#list + 1] = is_array(block.A) and block.A or block.A.data
    end
    for _, x in ipairs(list) do
        if core.info(x).taped ~= 0 then return true end
    end
    return false
end

--- The places of a vector, from 0, where a value is at its lower or upper limit: two lists. Equal limits are lower
-- ones.
local function places_at(values, lower, upper)
    values, lower, upper = values:totable(), lower:totable(), upper:totable()
    local low, high = {}, {}
    for k, value in ipairs(values) do
        local room = HOLDS * math.max(1, math.abs(value))
        if math.abs(value - lower[k]) <= room then
            low[#low + 1] = k - 1
        elseif math.abs(value - upper[k]) <= room then
            high[#high + 1] = k - 1
        end
    end
    return low, high
end

local function i32(list) return np.array(list, { dtype = "i32" }) end

--- What holds with equality at x: { rows (a matrix), limits, places, m = length of the vector that the places are of,
-- free = whether its price must not be 0 } for each block and side, and for bounds.
local function tight_parts(x, blocks, lower, upper)
    local parts = {}
    local function add(rows_of, values, low, high, m)
        local at = { places_at(np.stop_gradient(values), np.stop_gradient(low), np.stop_gradient(high)) }
        for side, limit in ipairs { low, high } do
            if #at[side] > 0 then
                local places = i32(at[side])
                parts[#parts + 1] = { rows = rows_of(places), limits = np.take(limit, places), places = places, m = m,
                                      fixed = np.take(low:eq(high), places) }
            end
        end
    end
    for _, block in ipairs(blocks) do
        local A = is_array(block.A) and block.A or block.A:toarray()
        block.first = #parts + 1
        add(function(places) return np.take(A, places, { axis = 0 }) end, np.matmul(np.stop_gradient(A), x),
            block.lower, block.upper, A.shape[1])
        block.last = #parts
    end
    local unit = np.eye(x.size, { dtype = "f64" })
    parts.first = #parts + 1
    add(function(places) return np.take(unit, places, { axis = 0 }) end, x, lower, upper, x.size)
    return parts
end

local function joined(parts, key)
    local list = {}
    for k, part in ipairs(parts) do list[k] = part[key] end
    return #list == 1 and list[1] or np.concatenate(list)
end

--- x, and the prices of rows and of bounds, as functions of the user's arrays; `solution` is what the solver has found.
local function differentiable(name, c, blocks, lower, upper, solution)
    local x = array_of(solution.x, c.size)
    local parts = tight_parts(x, blocks, lower, upper)
    local held = 0
    for _, part in ipairs(parts) do held = held + part.places.size end
    if held ~= x.size then
        raise(name, "the solution has no derivative: %d rows and bounds hold with equality at a solution of %d numbers"
              .. CONSTANT, held, x.size)
    end
    local K = joined(parts, "rows")
    local exact, prices = np.linalg.solve(K, joined(parts, "limits")), np.linalg.solve(K.T, c)
    local is_same = np.all(np.less_equal(np.abs(exact - x), 1e-6 * np.maximum(np.abs(x), 1))):item()
    local least = np.where(joined(parts, "fixed"), huge, np.abs(prices))
    if not is_same or np.min(least):item() <= HOLDS * math.max(np.max(np.abs(c)):item(), 1e-300) then
        raise(name, "the solution has no derivative: it is not the only one" .. CONSTANT)
    end
    local at = 0
    for _, part in ipairs(parts) do
        part.prices = prices[{ { at, at + part.places.size } }]
        at = at + part.places.size
    end
    local function spread(first, last, m)
        local all = np.zeros({ m }, { dtype = "f64" })
        for k = first, last do all = all:at { parts[k].places }:add(parts[k].prices) end
        return all
    end
    for _, block in ipairs(blocks) do block.prices = spread(block.first, block.last, block.A.shape[1]) end
    return exact, spread(parts.first, #parts, x.size)
end

-- ---- Solving --------------------------------------------------------------------------------------------------------

--- Solves for c, blocks and bounds; `limits` has maxiter, node_limit, seconds, gap. Returns a table: status, success,
-- message; iterations, nodes, bound; with a solution x, fun, and, without integers, reduced costs `reduced`. Each block
-- gets `activity` (A x) and, without integers, `prices`.
function linear.solve(name, c, blocks, lower, upper, kinds, limits)
    local p = program_of(name, c, blocks, lower, upper, kinds)
    for key, value in pairs(limits) do p[key] = value end
    local taped = is_taped(c, blocks, lower, upper)
    if taped and kinds then
        raise(name, "a solution with integers has no derivative" .. CONSTANT)
    end
    solver.load(name)
    local solution = { status = solver.INFEASIBLE, iterations = 0, nodes = 0, bound = huge }
    if not is_empty(p) then solution = solver.solve(name, p) end
    if solution.x and not is_sound(p, solution) then solution = { status = solver.FAILED, iterations = 0 } end
    unscale(p, solution)
    local result = { status = solution.status, success = solution.status == solver.OPTIMAL,
                     message = LIMITS[solution.status == solver.LIMIT and solution.limit] or
                         linear.MESSAGES[solution.status],
                     iterations = solution.iterations, nodes = solution.nodes, bound = solution.bound }
    if not solution.x then return result end
    if taped then
        result.x, result.reduced = differentiable(name, c, blocks, lower, upper, solution)
    else
        result.x = array_of(solution.x, c.size)
        local first = 0
        for _, block in ipairs(blocks) do
            local m = block.A.shape[1]
            block.prices, first = array_of(solution.prices, m, first), first + m
        end
        result.reduced = array_of(solution.reduced, c.size)
    end
    result.fun = np.sum(c * result.x)
    if not kinds then result.bound = np.stop_gradient(result.fun):item() end
    for _, block in ipairs(blocks) do block.activity = product(block.A, result.x) end
    return result
end

--- Writes into a result how far the search among integers came: the nodes, what no solution is below, and the gap,
-- which share of fun lies between. Of infeasible and unbounded programs nothing.
function linear.add_gap(result, solution)
    if solution.status ~= solver.OPTIMAL and solution.status ~= solver.LIMIT then return end
    result.mip_node_count = solution.nodes
    if math.abs(solution.bound) == huge then return end
    local fun = solution.fun and np.stop_gradient(solution.fun):item()
    result.mip_dual_bound = solution.bound
    if not fun then return end
    local left = fun - solution.bound
    if left <= SAME * math.max(1, math.abs(fun)) then result.mip_dual_bound, left = fun, 0 end
    result.mip_gap = left == 0 and 0 or left / math.abs(fun)
end

-- They wait for arrays and the solver.
for _, f in pairs(linear) do
    if type(f) == "function" then jit.off(f) end
end

return linear
