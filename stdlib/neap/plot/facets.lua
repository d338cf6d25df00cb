--- facets.lua: figures of several axes for the rows of a table: one axes for each category (facetgrid), one for each
-- pair of columns (pairplot), as seaborn has them.
local bars = require "neap.plot.bars"
local charts = require "neap.plot.charts"
local core = require "neap.core"
local figures = require "neap.plot.figure"
local looks = require "neap.plot.looks"
local names = require "neap.plot.names"
local tables = require "neap.tables"
local text = require "neap.tables.text"

local np = core.np
local raise, bad_argument = core.raise, core.bad_argument
local facets = {}

local HEIGHT, PAIR_HEIGHT = 3, 2.5 -- inches of axes, as in seaborn
local MOST = 12 -- columns of a pair plot

local function check_table(name, t)
    if not tables.is_table(t) then bad_argument(name, 1, "t", "a table of np.table", t) end
end

--- The categories of a column that an option names; without it, one of all rows.
local function levels_of(name, t, what, column)
    if column == nil then return { {} } end
    if type(column) ~= "string" then bad_argument(name, nil, what, "the name of a column", column) end
    local values = t:column(column)
    if #t == 0 then raise(name, "the table has no rows") end
    local list = names.categories(name, ("column '%s'"):format(column), values, #t)
    for _, category in ipairs(list) do category.title = ("%s = %s"):format(column, category.label) end
    return list
end

--- The rows that are in both categories, an array of indices, or nil for all rows.
local function rows_of(a, b)
    if not a.rows or not b.rows then return a.rows or b.rows end
    return a.rows[np.isin(a.rows, b.rows)]
end

local grid_options = { col = true, row = true, col_wrap = true, sharex = true, sharey = true, height = true,
                       aspect = true, dpi = true }

--- A figure of rows x columns of axes whose sizes options give.
local function new_figure(name, o, rows, columns, height, share)
    height = looks.number(name, "height", o.height, height, 0.2, 100)
    local wide = height * looks.number(name, "aspect", o.aspect, 1, 0.05, 20)
    figures.check_grid(name, rows, columns)
    return figures.of(name, { figsize = { wide * columns, height * rows }, dpi = o.dpi }, rows, columns, share)
end

function facets.facetgrid(t, f, options)
    local name = "plot.facetgrid"
    local o = core.options(name, options, grid_options)
    check_table(name, t)
    if type(f) ~= "function" then bad_argument(name, 2, "f", "a function of axes and rows of the table", f) end
    if o.col == nil and o.row == nil then raise(name, "options col and row name columns: give one of them") end
    local across, down = levels_of(name, t, "col", o.col), levels_of(name, t, "row", o.row)
    local wrap = o.col_wrap
    if wrap ~= nil and o.row ~= nil then raise(name, "options row and col_wrap exclude each other") end
    if wrap ~= nil and (type(wrap) ~= "number" or wrap % 1 ~= 0 or wrap < 1) then
        bad_argument(name, nil, "col_wrap", "a whole number from 1 on", wrap)
    end
    local columns = math.min(wrap or #across, #across)
    local rows = wrap and math.ceil(#across / columns) or #down
    local share, given = { x = "all", y = "all" }, figures.sharing(name, o)
    for _, which in ipairs { "x", "y" } do
        if o["share" .. which] ~= nil then share[which] = given[which] end
    end
    local figure = new_figure(name, o, rows, columns, HEIGHT, share)
    figures.make_current(figure)
    for k = 1, rows * columns do
        local axes = figure.axes[k]
        local col = across[wrap and k or (k - 1) % columns + 1]
        local row = down[wrap and 1 or math.floor((k - 1) / columns) + 1]
        if not col then
            axes.hidden = true
        else
            local picked = rows_of(col, row)
            figure.current = axes
            f(axes, picked and t:take(picked) or t)
            local titles = {}
            for _, level in ipairs { row, col } do titles[#titles + 1] = level.title end
            if not axes.title_text then axes.title_text = table.concat(titles, " | ") end
        end
    end
    figure.current = figure.axes[1]
    figures.note(figure)
    return figure
end

local pair_options = { vars = true, hue = true, color = true, height = true, aspect = true, bins = true, s = true,
                       alpha = true, dpi = true }

--- The names of the columns that a pair plot shows: given ones, or those of numbers.
local function variables(name, t, o)
    local list = {}
    if o.vars ~= nil then
        if type(o.vars) ~= "table" then bad_argument(name, nil, "vars", "a list of names of columns", o.vars) end
        for k, column in ipairs(core.list(name, "option 'vars'", o.vars)) do
            if type(column) ~= "string" then bad_argument(name, nil, "vars", "names of columns", column) end
            if text.is_text(t:column(column)) then raise(name, "column '%s' is of texts, not of numbers", column) end
            list[k] = column
        end
    else
        for _, column in ipairs(t.columns) do
            if column ~= o.hue and not text.is_text(t:column(column)) then list[#list + 1] = column end
        end
    end
    if #list == 0 then raise(name, "the table has no columns of numbers") end
    if #list > MOST then raise(name, "%d columns of numbers, at most %d fit: name some as vars", #list, MOST) end
    return list
end

function facets.pairplot(t, options)
    local name = "plot.pairplot"
    local o = core.options(name, options, pair_options)
    check_table(name, t)
    if o.hue ~= nil and type(o.hue) ~= "string" then bad_argument(name, nil, "hue", "the name of a column", o.hue) end
    local list, hue = variables(name, t, o), o.hue and t:column(o.hue)
    local n = #list
    local figure = new_figure(name, o, n, n, PAIR_HEIGHT, { x = "col", y = "row" })
    for k, axes in ipairs(figure.axes) do
        if k > n * n then break end
        local down, across = math.floor((k - 1) / n) + 1, (k - 1) % n + 1
        local x, y = t:column(list[across]), t:column(list[down])
        axes.xlabel_text, axes.ylabel_text = list[across], list[down]
        axes.legend_place = hue and k == n and "outside" or "none"
        if down ~= across then
            local look = { hue = hue, s = o.s or 16, alpha = o.alpha, color = o.color }
            figures.add_chart(axes, charts.scatter, x, y, look)
        else -- the counts have an axis of their own, which is not that of the row
            local twin = n > 1 and figures.twinx(axes) or axes
            figures.add_chart(twin, bars.hist, x, { hue = hue, bins = o.bins, color = o.color })
            if n > 1 then figures.settings.yticks(twin, {}) end
            twin.legend_place = axes.legend_place
        end
    end
    figures.note(figure)
    return figures.make_current(figure)
end

for _, f in pairs(facets) do jit.off(f, true) end

return facets
