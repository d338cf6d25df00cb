--- figure.lua: figures and axes as values, and what is set of them: titles, labels, limits, scales, legends.
--
--     figure ── axes[1 … rows × columns] ── layers[1 …]        a layer is what one call of a chart adds: kind, data
--
-- Nothing is drawn here: a layer keeps arrays, which may not have been computed. Every method of axes is one of
-- figures, too, for their current axes, and a function of np.plot, for the current axes of the current figure; each
-- returns what it was called on, so calls can be chained. A chart that is added by np.plot.line and its kin when the
-- current figure has been shown begins a new one; titles and the like go to the one that was shown.
local core = require "neap.core"
local aliases = require "neap.core.aliases"
local dates = require "neap.plot.dates"

local raise, bad_argument = core.raise, core.bad_argument
local figures = {}

local DPI, WIDTH, HEIGHT = 100, 6.4, 4.8 -- inches, as in matplotlib
figures.ELEV, figures.AZIM = 30, -60 -- degrees from which one looks at three dimensions
local LEAST_PIXELS, MOST_PIXELS, MOST_AXES = 16, 16384, 144

local Figure, Axes = {}, {}
figures.Figure, figures.Axes = Figure, Axes

-- What methods of matplotlib's are called here.
local FOREIGN = { savefig = "save", plot = "line", set_title = "title", set_xlabel = "xlabel", set_ylabel = "ylabel",
                  set_zlabel = "zlabel", set_xlim = "xlim", set_ylim = "ylim", set_zlim = "zlim",
                  set_xscale = "xscale", set_yscale = "yscale", set_xticks = "xticks", set_yticks = "yticks",
                  plot_surface = "surface" }

--- The __index of figures or axes.
local function members(methods, what)
    return function(_, key)
        local found = methods[key]
        if found ~= nil or type(key) ~= "string" then return found end
        if FOREIGN[key] then raise("plot", "%s:%s is %s:%s here", what, key, what, FOREIGN[key]) end
        local there = aliases.functions["plot." .. key]
        local those = what == "axes" and what or "figures"
        if there then raise("plot", "%s have no '%s'; here it is %s", those, key, there) end
    end
end
Figure.__index, Axes.__index = members(Figure, "figure"), members(Axes, "axes")

-- Lists of axes are counted from 1.
local AxesList = {}
function AxesList.__index(list, key)
    if key == 0 or type(key) == "number" and key > #list then
        raise("plot.subplots", "axes are counted from 1 to %d, there are none of number %d", #list, key)
    elseif type(rawget(Axes, key)) == "function" then
        raise("plot.subplots", "this is a list: %s is a method of its axes, as in ax[1]%s:%s", key,
              getmetatable(rawget(list, 1)) == AxesList and "[1]" or "", key)
    end
end

--- The number of the group with which axes share x or y; nil: they share it with none.
function figures.group_of(figure, which, place)
    local mode = figure.share and figure.share[which]
    if mode == "all" then return 1 end
    return mode == "row" and math.floor((place - 1) / figure.columns) + 1
        or mode == "col" and (place - 1) % figure.columns + 1 or nil
end

--- A table of what is set of axes, in which what belongs to x or y is that of the group which shares it.
local function shared_set(figure, place)
    if not figure.share then return {} end
    local function table_of(set, key)
        local which = type(key) == "string" and key:sub(1, 1)
        local group = (which == "x" or which == "y") and figures.group_of(figure, which, place)
        if not group then return set end
        local all = figure.share.set
        all[which .. group] = all[which .. group] or {}
        return all[which .. group]
    end
    return setmetatable({}, {
        __index = function(set, key) return rawget(table_of(set, key), key) end,
        __newindex = function(set, key, value) rawset(table_of(set, key), key, value) end,
    })
end

local function new_axes(figure, place)
    return setmetatable({ figure = figure, place = place, layers = {}, cycle = 0, marks = {},
                          set = shared_set(figure, place) }, Axes)
end

--- Calls chart(axes, …) so that it adds all that it is to add, or nothing, if it raises: it is given a draft of the
-- axes, in which what is read is theirs, but for the lists `layers` and `marks`, which are empty, and what is written
-- (never nil) is its own.
function figures.add_chart(axes, chart, ...)
    local draft = setmetatable({ layers = {}, marks = {}, set = setmetatable({}, { __index = axes.set }) },
                               { __index = axes })
    chart(draft, ...)
    for _, list in ipairs { "layers", "marks" } do
        for _, item in ipairs(draft[list]) do axes[list][#axes[list] + 1] = item end
        draft[list] = nil
    end
    for key, value in pairs(draft.set) do axes.set[key] = value end
    draft.set = nil
    for key, value in pairs(draft) do axes[key] = value end
end

function figures.check_grid(name, rows, columns)
    rows, columns = core.integer(name, 1, "rows", rows, 1), core.integer(name, 2, "cols", columns, 1)
    if rows * columns > MOST_AXES then
        raise(name, "a figure has at most %d axes, got %d x %d", MOST_AXES, rows, columns)
    end
    return rows, columns
end

figures.options = { figsize = true, dpi = true, enhanced = true }

local function check_pixels(name, option, value)
    if not (value >= LEAST_PIXELS and value <= MOST_PIXELS) then
        raise(name, "a figure has %d to %d pixels each way, %s gives %s", LEAST_PIXELS, MOST_PIXELS, option,
              tostring(value))
    end
end

--- A new figure of checked options, and of so many rows and columns of axes. share: { x = "all", "row", "col" or nil,
-- y = … }.
function figures.of(name, o, rows, columns, share)
    local size = o.figsize or { WIDTH, HEIGHT }
    if type(size) ~= "table" or type(size[1]) ~= "number" or type(size[2]) ~= "number" or #size ~= 2 then
        bad_argument(name, nil, "figsize", "{width, height} in inches", o.figsize)
    end
    core.list(name, "option 'figsize'", size)
    local dpi = o.dpi or DPI
    if type(dpi) ~= "number" then bad_argument(name, nil, "dpi", "dots per inch", dpi) end
    for k = 1, 2 do check_pixels(name, "figsize", math.floor(size[k] * dpi + 0.5)) end
    if o.enhanced ~= nil and type(o.enhanced) ~= "boolean" then
        bad_argument(name, nil, "enhanced", "a boolean", o.enhanced)
    end
    local figure = setmetatable({ inches = { size[1], size[2] }, dpi = dpi, enhanced = o.enhanced or false,
                                  rows = rows or 1, columns = columns or 1, axes = {},
                                  categories = { count = 0 } }, Figure)
    if share and (share.x or share.y) then figure.share = { x = share.x, y = share.y, set = {} } end
    for k = 1, figure.rows * figure.columns do figure.axes[k] = new_axes(figure, k) end
    figure.current = figure.axes[1]
    return figure
end

--- A new figure with one axes.
function figures.new(name, options)
    return figures.of(name, core.options(name, options, figures.options))
end

local SHARED = { [true] = "all", all = "all", row = "row", col = "col", [false] = false, none = false }

--- What the options sharex and sharey say: { x = "all", "row", "col" or nil, y = … }.
function figures.sharing(name, o)
    local share = {}
    for _, which in ipairs { "x", "y" } do
        local value = o["share" .. which]
        if value ~= nil then
            if SHARED[value] == nil then
                bad_argument(name, nil, "share" .. which, 'a boolean, "all", "row", "col" or "none"', value)
            end
            share[which] = SHARED[value] or nil
        end
    end
    return share
end

local subplots_options = { figsize = true, dpi = true, enhanced = true, sharex = true, sharey = true }

--- A new figure with a grid of axes, and those: one, a list, or a list of rows.
function figures.subplots(name, rows, columns, options)
    rows, columns = figures.check_grid(name, rows == nil and 1 or rows, columns == nil and 1 or columns)
    local o = core.options(name, options, subplots_options)
    local figure = figures.of(name, o, rows, columns, figures.sharing(name, o))
    local all = figure.axes
    if rows * columns == 1 then return figure, all[1] end
    local list = setmetatable({}, AxesList)
    if rows == 1 or columns == 1 then
        for k = 1, #all do list[k] = all[k] end
    else
        for r = 1, rows do
            list[r] = setmetatable({}, AxesList)
            for c = 1, columns do list[r][c] = all[(r - 1) * columns + c] end
        end
    end
    return figure, list
end

--- Width and height in pixels, and by how much lines and letters are larger than at 100 dots an inch.
function figures.pixels(figure, dpi)
    dpi = dpi or figure.dpi
    return math.floor(figure.inches[1] * dpi + 0.5), math.floor(figure.inches[2] * dpi + 0.5), dpi / DPI
end

function Figure:__tostring()
    return ("figure %dx%d, save with np.plot.save(\"name.png\")"):format(figures.pixels(self))
end

function Figure.__describe() return "a figure" end
function Axes.__describe() return "axes of a figure" end

function Axes:__tostring()
    return ("axes %d of a figure, %d charts"):format(self.place, #self.layers)
end

function figures.is_figure(value)
    return getmetatable(value) == Figure
end

--- Refuses what is no object of this metatable: a method was called with a dot.
function figures.check_self(self, metatable, what, method)
    if getmetatable(self) ~= metatable then
        raise("plot." .. method, "call it as %s:%s(…), with a colon", what, method)
    end
end

-- ---- The current figure ---------------------------------------------------------------------------------------------

local current

--- The current figure; a new one if there is none, or, for a chart, if that has been shown: not yet the current one.
function figures.current(for_chart)
    if not current or for_chart and current.shown then return figures.new("plot.figure") end
    return current
end

function figures.has_current() return current ~= nil end

function figures.make_current(figure)
    current = figure
    return figure
end

-- Where figures are shown by themselves, as in a notebook or a page (core.show_figure): those that got charts in the
-- cell that runs.
local drawn = {}

--- Notes that a figure got a chart.
function figures.note(figure)
    if core.show_figure and drawn[#drawn] ~= figure then drawn[#drawn + 1] = figure end
end

--- The figures noted since the last call, some perhaps twice.
function figures.take_noted()
    local list = drawn
    drawn = {}
    return list
end

--- Calls f so that f's first chart begins a new figure. The current figure, and the cell's figures, stay as before.
function figures.apart(f, ...)
    local own, noted = current, drawn
    current, drawn = nil, {}
    local ok, result = pcall(f, ...)
    current, drawn = own, noted
    if not ok then error(result, 0) end
    return result
end

--- The figure's axes of a row and column of a grid, by number from 1; a figure without charts gets that grid.
function figures.subplot(figure, rows, columns, number)
    rows, columns = figures.check_grid("plot.subplot", rows, columns)
    number = core.integer("plot.subplot", 3, "number", number, 1, rows * columns)
    if figure.rows ~= rows or figure.columns ~= columns then
        for _, axes in ipairs(figure.axes) do
            if #axes.layers > 0 then
                raise("plot.subplot", "the figure has %d x %d axes with charts, not %d x %d", figure.rows,
                      figure.columns, rows, columns)
            end
        end
        figure.rows, figure.columns, figure.axes, figure.share = rows, columns, {}, nil
        for k = 1, rows * columns do figure.axes[k] = new_axes(figure, k) end
    end
    figure.current = figure.axes[number]
    return figure
end

--- The axes that share the frame and x of others; nil: there are none.
function figures.twin_of(axes)
    for _, other in ipairs(axes.figure.axes) do
        if other.over == axes.place then return other end
    end
end

local function is_of_x(key)
    return type(key) == "string" and key:sub(1, 1) == "x"
end

--- Axes in the frame of others, with an y of their own on the right side. What is set of x is set of both.
function figures.twinx(axes)
    if axes.over then raise("plot.twinx", "these are twin axes already") end
    local twin = figures.twin_of(axes)
    if twin then return twin end
    local figure = axes.figure
    twin = new_axes(figure, #figure.axes + 1)
    twin.over, twin.cycle = axes.place, axes.cycle
    twin.set = setmetatable({}, {
        __index = function(_, key) return is_of_x(key) and axes.set[key] or nil end,
        __newindex = function(set, key, value)
            if is_of_x(key) then axes.set[key] = value else rawset(set, key, value) end
        end,
    })
    figure.axes[#figure.axes + 1] = twin
    return twin
end

-- ---- What is set ----------------------------------------------------------------------------------------------------

-- By name: what np.plot.NAME, figure:NAME and axes:NAME do with axes.
local settings = {}
figures.settings = settings

local MOST_TEXT = 4000

--- A text for a picture, checked.
function figures.text(name, position, what, value)
    if type(value) == "number" then value = tostring(value) end
    if type(value) ~= "string" then bad_argument(name, position, what, "a text", value) end
    if #value > MOST_TEXT then raise(name, "%s has %d bytes, at most %d fit", what, #value, MOST_TEXT) end
    return value
end

for _, what in ipairs { "title", "xlabel", "ylabel", "zlabel" } do
    settings[what] = function(axes, text) axes[what .. "_text"] = figures.text("plot." .. what, 1, "text", text) end
end

function settings.suptitle(axes, text)
    axes.figure.title_text = figures.text("plot.suptitle", 1, "text", text)
end

local function set_limits(which)
    local name = "plot." .. which
    return function(axes, low, high)
        if type(low) == "table" and high == nil then low, high = low[1], low[2] end
        if type(low) == "string" then low = dates.seconds(low) or low end
        if type(high) == "string" then high = dates.seconds(high) or high end
        for k, value in pairs { low, high } do
            if type(value) ~= "number" or value ~= value or math.abs(value) == math.huge then
                bad_argument(name, k, k == 1 and "low" or "high", "a finite number", value)
            end
        end
        if low ~= nil and low == high then raise(name, "the limits must differ, both are %g", low) end
        axes.set[which] = { low = low, high = high }
    end
end
settings.xlim, settings.ylim, settings.zlim = set_limits "xlim", set_limits "ylim", set_limits "zlim"

local function set_scale(which)
    return function(axes, scale)
        if scale ~= "log" and scale ~= "linear" and scale ~= "date" then
            bad_argument("plot." .. which, 1, "scale", '"linear", "log" or "date"', scale)
        end
        axes.set[which] = scale
    end
end
settings.xscale, settings.yscale = set_scale "xscale", set_scale "yscale"

local function set_ticks(which)
    local name = "plot." .. which
    return function(axes, places, labels)
        if core.is_array(places) then places = places:totable() end
        if type(places) ~= "table" then bad_argument(name, 1, "places", "a list of numbers", places) end
        if labels ~= nil and (type(labels) ~= "table" or #labels ~= #places) then
            bad_argument(name, 2, "labels", ("a list of %d texts"):format(#places), labels)
        end
        if labels ~= nil then core.list(name, "the list of labels", labels) end
        local list = {}
        for k, place in ipairs(core.list(name, "the list of places", places)) do
            if type(place) ~= "number" or place ~= place or math.abs(place) == math.huge then
                raise(name, "places[%d] must be a finite number, got %s", k, core.describe(place))
            end
            list[k] = { place = place, label = labels and figures.text(name, 2, "labels", labels[k]) }
        end
        axes.set[which] = list
    end
end
settings.xticks, settings.yticks = set_ticks "xticks", set_ticks "yticks"

--- The ticks of x or y: { place, label }, as the user has set them, or at the names of its charts; nil: neither.
function figures.ticks(axes, which)
    return axes.set[which .. "ticks"] or axes.set[which .. "names"]
end

-- matplotlib's places of a legend, as gnuplot's; "best" is chosen when the picture is drawn.
local PLACES = { ["upper right"] = "top right", ["upper left"] = "top left", ["lower left"] = "bottom left",
                 ["lower right"] = "bottom right", ["upper center"] = "top center", right = "center right",
                 ["lower center"] = "bottom center", ["center left"] = "center left",
                 ["center right"] = "center right", center = "center center", outside = "outside", none = "none",
                 best = "best" }

--- The layers that are charts, not parts of others such as the error bars of bars.
local function charts_of(axes)
    local list = {}
    for _, layer in ipairs(axes.layers) do
        if not layer.is_part then list[#list + 1] = layer end
    end
    return list
end

function settings.legend(axes, given)
    if type(given) == "string" then given = { loc = given } end
    local options, labels, layers = {}, {}, charts_of(axes)
    for key, value in pairs(type(given) == "table" and given or {}) do
        if layers[key] then -- {"a", "b"}: of the charts in the order in which they were added
            labels[key] = figures.text("plot.legend", nil, "label", value)
        elseif type(key) == "number" then
            raise("plot.legend", "label %d has no chart: the axes have %d", key, #layers)
        else
            options[key] = value
        end
    end
    if type(given) ~= "table" then options = given end
    local loc = core.options("plot.legend", options, { loc = true }).loc or "best"
    if not PLACES[loc] then
        bad_argument("plot.legend", nil, "loc", '"best", "upper right", "lower left", "center", "outside", "none", …',
                     loc)
    end
    axes.legend_place = PLACES[loc]
    for key, label in pairs(labels) do layers[key].label = label end
end

function settings.grid(axes, on)
    if on ~= nil and type(on) ~= "boolean" then bad_argument("plot.grid", 1, "on", "a boolean", on) end
    axes.has_grid = on ~= false
end

function settings.axis(axes, what)
    if what ~= "off" and what ~= "on" and what ~= "equal" and what ~= "auto" then
        bad_argument("plot.axis", 1, "what", '"off", "on", "equal" or "auto"', what)
    end
    if what == "off" or what == "on" then axes.hidden = what == "off" else axes.aspect = what end
end

function settings.colorbar(axes, given)
    local label = core.options("plot.colorbar", given, { label = true }).label
    axes.colorbar_text = label ~= nil and figures.text("plot.colorbar", nil, "label", label) or nil
    axes.has_colorbar = true
end

jit.off(figures.apart)

return figures
