--- assignment.lua: np.optimize.linear_sum_assignment: which row goes with which column, at the least total cost.
--
-- Rows are assigned in turn, each along a shortest path through assigned columns, by costs reduced by prices of rows
-- and columns (R. Jonker and A. Volgenant, A shortest augmenting path algorithm for dense and sparse linear assignment
-- problems, 1987). Prices keep all reduced costs at 0 or above, so the assignment is the best at each stage; n rows and
-- m columns take n² m steps.
local core = require "neap.core"

local np = core.np
local raise = core.raise
local huge = math.huge

--- A shortest path from row `first` to a column without a row. Returns the column; `before` has the column in front of
-- each on the path, 0 for the first row. Prices are changed on the way. nil: all paths have infinite costs.
local function shortest_path(costs, first, m, row_of, row_price, column_price, before)
    local distance, done, column = {}, {}, 0
    for j = 1, m do distance[j] = huge end
    row_of[0] = first
    repeat
        done[column] = true
        local row, nearest, next = row_of[column], huge, nil
        local cost, price = costs[row], row_price[row]
        for j = 1, m do
            if not done[j] then
                local reduced = cost[j] - price - column_price[j]
                if reduced < distance[j] then distance[j], before[j] = reduced, column end
                if distance[j] < nearest then nearest, next = distance[j], j end
            end
        end
        if not next then return nil end
        for j = 0, m do
            if done[j] then
                row_price[row_of[j]] = row_price[row_of[j]] + nearest
                column_price[j] = column_price[j] - nearest
            else
                distance[j] = distance[j] - nearest
            end
        end
        column = next
    until not row_of[column]
    return column
end

--- The rows of the columns, row_of[column], for a table of n rows of m costs, n <= m; nil if there is no assignment.
local function assign(costs, n, m)
    local row_of, row_price, column_price = {}, {}, {}
    for i = 1, n do row_price[i] = 0 end
    for j = 0, m do column_price[j] = 0 end
    for i = 1, n do
        local before = {}
        local column = shortest_path(costs, i, m, row_of, row_price, column_price, before)
        if not column then return nil end
        while column ~= 0 do
            row_of[column] = row_of[before[column]]
            column = before[column]
        end
    end
    row_of[0] = nil
    return row_of
end

--- The pairs of an assignment, in the order of rows from 0: lists of rows and columns.
local function pairs_of(row_of, m, transposed)
    local list = {}
    for j = 1, m do
        local i = row_of[j]
        if i then list[#list + 1] = transposed and { j - 1, i - 1 } or { i - 1, j - 1 } end
    end
    table.sort(list, function(p, q) return p[1] < q[1] end)
    local rows, columns = {}, {}
    for k, pair in ipairs(list) do rows[k], columns[k] = pair[1], pair[2] end
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
        local costs = cost:totable()
        for i = 1, n do
            for j = 1, m do
                local c = costs[i][j]
                if c ~= c or c == -huge then
                    raise(name, "a cost is %s", c ~= c and "NaN" or maximize and "infinity" or "minus infinity")
                end
            end
        end
        local row_of = assign(costs, n, m)
        if not row_of then raise(name, "each assignment has a cost of infinity") end
        local rows, columns = pairs_of(row_of, m, transposed)
        return np.array(rows, { dtype = "i32" }), np.array(columns, { dtype = "i32" })
    end
end
