--- assignment.lua: np.optimize.linear_sum_assignment: which row goes with which column, at the least total cost.
--
-- Rows are assigned in turn, each along a shortest path through assigned columns, by costs reduced by prices of rows
-- and columns (R. Jonker and A. Volgenant, A shortest augmenting path algorithm for dense and sparse linear assignment
-- problems, 1987; D. F. Crouse, On implementing 2D rectangular assignment algorithms, 2016, for prices that change
-- once a path and for ties). Prices keep all reduced costs at 0 or above, so the assignment is the best at each stage;
-- n rows and m columns take n² m steps.
local ffi = require "ffi"
local core = require "neap.core"

local np = core.np
local raise = core.raise
local huge, min = math.huge, math.min

local doubles, indices = ffi.typeof "double[?]", ffi.typeof "int32_t[?]"

--- Costs of n rows and m columns, row by row, with what is known of them: prices, and for each row its column, for each
-- column its row, or -1; and of the path that is looked for: how far each column is, which columns are not on it yet,
-- the rows on it, how far these are, and by which row columns were reached, of those between its ends.
local function problem_of(costs, n, m)
    local p = { costs = costs, n = n, m = m, row_price = doubles(n), column_price = doubles(m), column_of = indices(n),
                row_of = indices(m), distance = doubles(m), left = indices(m), rows = indices(n), far = doubles(n),
                by = indices(m) }
    ffi.fill(p.column_of, ffi.sizeof(p.column_of), 255)
    ffi.fill(p.row_of, ffi.sizeof(p.row_of), 255)
    return p
end

--- Looks at the columns that are left from a row at a distance `far`. Returns the place in `left` of the nearest one:
-- of equally near ones the last one without a row, else the first one. Loops that seldom branch are fast in LuaJIT: so
-- `reach` finds out later from which rows columns are as near.
local function look(p, row, far, count)
    local costs, distance, left, row_of = p.costs, p.distance, p.left, p.row_of
    local column_price, at, price = p.column_price, row * p.m, p.row_price[row]
    local nearest, place = huge, -1
    for k = 0, count - 1 do
        local j = left[k]
        local near = min(distance[j], far + costs[at + j] - price - column_price[j])
        distance[j] = near
        if near <= nearest and (near < nearest or row_of[j] < 0) then nearest, place = near, k end
    end
    return nearest < huge and place or -1
end

--- Notes by which rows the columns between a row and a column are reached: the first one from which each is as near.
local function reach(p, first, column)
    local costs, m, rows, row_price = p.costs, p.m, p.rows, p.row_price
    repeat
        local distance, price, k = p.distance[column], p.column_price[column], 0
        while p.far[k] + costs[rows[k] * m + column] - row_price[rows[k]] - price ~= distance do k = k + 1 end
        p.by[column] = rows[k]
        column = p.column_of[rows[k]]
    until rows[k] == first
end

--- A shortest path from a row to a column without a row: the column, its distance, and how many rows are on the path.
-- nil: all paths have infinite costs.
local function shortest_path(p, first)
    local m, left = p.m, p.left
    for j = 0, m - 1 do left[j], p.distance[j] = m - 1 - j, huge end
    local row, far, count = first, 0, 0
    while true do
        p.rows[count], p.far[count] = row, far
        local place = look(p, row, far, m - count)
        if place < 0 then return nil end
        local column = left[place]
        left[place], left[m - 1 - count] = left[m - 1 - count], column
        far, count = p.distance[column], count + 1
        if p.row_of[column] < 0 then
            reach(p, first, column)
            return column, far, count
        end
        row = p.row_of[column]
    end
end

--- Assigns all rows; returns whether that can be done.
local function assign(p)
    for first = 0, p.n - 1 do
        local column, far, count = shortest_path(p, first)
        if not column then return false end
        for k = 0, count - 1 do
            local row, on_path = p.rows[k], p.left[p.m - 1 - k]
            p.row_price[row] = p.row_price[row] + far - (k > 0 and p.distance[p.column_of[row]] or 0)
            p.column_price[on_path] = p.column_price[on_path] - (far - p.distance[on_path])
        end
        local row
        repeat
            row = p.by[column]
            p.row_of[column] = row
            p.column_of[row], column = column, p.column_of[row]
        until row == first
    end
    return true
end

--- The pairs of an assignment, in the order of rows from 0: lists of rows and columns.
local function pairs_of(p, transposed)
    local rows, columns = {}, {}
    if transposed then
        for j = 0, p.m - 1 do
            if p.row_of[j] >= 0 then rows[#rows + 1], columns[#columns + 1] = j, p.row_of[j] end
        end
    else
        for i = 0, p.n - 1 do rows[i + 1], columns[i + 1] = i, p.column_of[i] end
    end
    return rows, columns
end

return function(optimize)
    --- np.optimize.linear_sum_assignment(cost, {maximize=false}) -> rows, columns: pairs of rows and columns of a
    -- matrix, each in at most one pair and as many as there are of the fewer, with the least sum of costs:
    -- cost[rows[k]][columns[k]] belongs to pair k. Two i32 arrays, rows ascending. A cost of infinity forbids a pair.
    -- Exact: costs are compared as f64. Waits for the values of cost, and raises while tracing. Raises if a cost is NaN
    -- or minus infinity, and if no assignment has finite costs. As scipy.optimize.linear_sum_assignment.
    --- maximize: true: the greatest sum; then minus infinity forbids a pair
    --- > np.optimize.linear_sum_assignment(np.array{{4, 1, 3}, {2, 0, 5}, {3, 2, 2}})
    -- [0 1 2]
    -- [1 0 2]
    function optimize.linear_sum_assignment(cost, given)
        local name = "optimize.linear_sum_assignment"
        local maximize = core.options(name, given, { maximize = true }).maximize
        if maximize ~= nil and type(maximize) ~= "boolean" then
            core.bad_argument(name, nil, "maximize", "a boolean", maximize)
        end
        if type(cost) == "table" and getmetatable(cost) == nil then cost = np.array(cost, { dtype = "f64" }) end
        cost = core.coerce(name, 1, cost)
        if core.ndim(cost) ~= 2 then
            raise(name, "argument 1 (cost) must be a matrix, got shape %s", core.shape_text(cost))
        end
        if core.dtype_of(cost).kind == "c" then
            raise(name, "argument 1 (cost) must be real, got dtype %s", cost.dtype)
        end
        cost = np.astype(cost, "f64")
        if maximize then cost = -cost end
        local n, m = cost.shape[1], cost.shape[2]
        local transposed = n > m
        if transposed then cost, n, m = cost.T, m, n end
        local function refuse(bad, what)
            if np.any(bad):item() then raise(name, "a cost is %s", what) end
        end
        refuse(np.isnan(cost), "NaN")
        refuse(np.equal(cost, -huge), maximize and "infinity" or "minus infinity")
        local solved = core.read(cost, function(costs)
            local p = problem_of(costs, n, m)
            return assign(p) and p
        end)
        if not solved then raise(name, "each assignment has a cost of infinity") end
        local rows, columns = pairs_of(solved, transposed)
        return np.array(rows, { dtype = "i32" }), np.array(columns, { dtype = "i32" })
    end
end
