--- names.lua: texts in the place of numbers: along an axis, where each text has a place; and as categories, by which
-- one call adds several charts, each in a colour of its own.
--
-- Texts are a list of strings, or a column of texts of np.table, whose rows without a text have no place and no
-- category. Both count in the order in which they first stand there.
local ffi = require "ffi"
local columns = require "neap.plot.columns"
local core = require "neap.core"
local dates = require "neap.plot.dates"
local figures = require "neap.plot.figure"
local looks = require "neap.plot.looks"
local styles = require "neap.plot.styles"
local text = require "neap.tables.text"

local np = core.np
local raise, bad_argument = core.raise, core.bad_argument
local names = {}

local MOST_CATEGORIES = 50 -- as charts of one call

--- Whether an argument is texts.
function names.are_texts(name, what, value)
    return text.is_text(value) or columns.are_names(name, what, value)
end

--- Texts as a list of the different ones, in the order of the rows, and a column of the rows' numbers in it, from 0, -1
-- for none; and how many rows there are. Waits for a column of np.table.
local function numbered(value)
    local list, known = {}, {}
    local function number_of(label)
        if not known[label] then
            known[label] = #list
            list[#list + 1] = label
        end
        return known[label]
    end
    local n = #value
    local rows = ffi.new("int32_t[?]", math.max(n, 1))
    if not text.is_text(value) then
        for k, label in ipairs(value) do rows[k - 1] = number_of(label) end
        return list, rows, n
    end
    local levels = value.levels
    core.read(value.codes, function(codes)
        local of_level = ffi.new("int32_t[?]", #levels + 1, -1)
        for k = 0, n - 1 do
            local code = codes[k]
            if code >= 0 and of_level[code] < 0 then of_level[code] = number_of(levels[code + 1]) end
            rows[k] = code >= 0 and of_level[code] or -1
        end
    end)
    return list, rows, n
end

--- An array of n elements that f(k) gives for k = 0 … n-1.
local function array_of(n, f)
    return core.fill(core.dtype_codes.f64, { n }, function(out)
        for k = 0, n - 1 do out[k] = f(k) end
    end, "double *")
end

--- The places of texts along x, y or z of the axes: a text is at the place that the axes have given it; new ones come
-- behind those that are there, from 0.
local function places_of_texts(axes, name, position, which, what, value)
    local before = axes.set[which .. "names"]
    local known = { places = looks.copied(before and before.places or {}) }
    for k, tick in ipairs(before or {}) do known[k] = tick end
    local list, rows, n = numbered(value)
    local at = {}
    for k, label in ipairs(list) do
        if not known.places[label] then
            known.places[label] = #known
            known[#known + 1] = { place = #known, label = figures.text(name, position, what, label) }
        end
        at[k - 1] = known.places[label]
    end
    axes.set[which .. "names"] = known
    return array_of(n, function(k) return at[rows[k]] or core.NAN end)
end

--- The seconds of texts along x or y of axes that has dates, an array: because the user has set this scale, or because
-- nothing else is known of it and all texts are dates; nil: they are names.
local function dates_of_texts(axes, name, which, what, value)
    local scale = axes.set[which .. "scale"]
    if which == "z" or scale ~= nil and scale ~= "date" or axes.set[which .. "names"] then return nil end
    local list, rows, n = numbered(value)
    local at = {}
    for k, label in ipairs(list) do
        at[k - 1] = dates.seconds(label)
        if not at[k - 1] then
            if scale ~= "date" then return nil end
            raise(name, "%s has dates, such as \"2024-03-15\" or \"2024-03-15T12:30\", got '%s'", what, label)
        end
    end
    if #list == 0 then return nil end
    axes.set[which .. "scale"] = "date"
    return array_of(n, function(k) return at[rows[k]] or core.NAN end)
end

--- The places of texts along an axis: dates, or names.
local function text_places(axes, name, position, which, what, value)
    return dates_of_texts(axes, name, which, what, value)
        or places_of_texts(axes, name, position, which, what, value)
end

--- The places of an argument along an axis: numbers, or texts.
function names.places(axes, name, position, which, what, value)
    if names.are_texts(name, what, value) then return text_places(axes, name, position, which, what, value) end
    return columns.array(name, position, what, value)
end

--- The same of one axis.
function names.vector(axes, name, position, which, value)
    return columns.vector(name, position, which, names.places(axes, name, position, which, which, value))
end

--- The place of a number or a text.
function names.place(axes, name, position, which, what, value)
    if type(value) == "string" then return text_places(axes, name, position, which, what, { value }):item() end
    return looks.finite(name, position, what, value)
end

-- ---- Categories -----------------------------------------------------------------------------------------------------

--- Whole numbers and booleans as a list of the different ones in their order, and as `numbered` has rows.
local function numbered_values(name, what, value)
    local x = columns.vector(name, nil, what, value)
    local kind = core.dtype_of(x).kind
    if core.info(x).traced ~= 0 then raise(name, "%s must have values, which an array of a trace has not yet", what) end
    local wide, n = columns.doubles(x)
    local known, list, rows = {}, {}, ffi.new("int32_t[?]", math.max(n, 1))
    for k = 0, n - 1 do
        local number = wide[k]
        if number == number and not known[number] then
            if number % 1 ~= 0 then
                raise(name, "%s must be texts, whole numbers or booleans, got %g (c colours points by numbers)",
                      what, number)
            end
            known[number] = true
            list[#list + 1] = number
            if #list > MOST_CATEGORIES then break end
        end
    end
    if #list > MOST_CATEGORIES then return list end
    table.sort(list)
    for k, number in ipairs(list) do known[number] = k - 1 end
    for k = 0, n - 1 do rows[k] = known[wide[k]] or -1 end
    for k, number in ipairs(list) do
        list[k] = kind == "b" and (number == 1 and "true" or "false") or ("%.17g"):format(number)
    end
    return list, rows, n
end

--- The indices of the `size` rows that have a number, an array.
local function rows_with(rows, n, number, size)
    return core.fill(core.dtype_codes.i32, { size }, function(out)
        local at = 0
        for k = 0, n - 1 do
            if rows[k] == number then out[at], at = k, at + 1 end
        end
    end, "int32_t *")
end

--- The categories of n rows, a list of { label, rows = their indices, an array }: of texts in the order in which they
-- first stand there, of whole numbers and booleans in their own. Waits for arrays.
function names.categories(name, what, value, n)
    local list, rows, count
    if names.are_texts(name, what, value) then
        list, rows, count = numbered(value)
    elseif type(value) == "table" and type(value[1]) == "boolean" then
        list, rows, count = numbered_values(name, what, np.array(core.list(name, "option '" .. what .. "'", value)))
    else
        list, rows, count = numbered_values(name, what, value)
    end
    if #list > MOST_CATEGORIES then
        raise(name, "%s has more than %d different values, too many for a legend", what, MOST_CATEGORIES)
    end
    if count ~= n then raise(name, "%s must have %d elements, as the data has, got %d", what, n, count) end
    local sizes, found = {}, {}
    for k = 0, #list - 1 do sizes[k] = 0 end
    for k = 0, n - 1 do if rows[k] >= 0 then sizes[rows[k]] = sizes[rows[k]] + 1 end end
    for j, label in ipairs(list) do
        found[j] = { label = label, rows = rows_with(rows, n, j - 1, sizes[j - 1]) }
    end
    return found
end

--- The same with a colour for each: given ones, a list, or else those of the cycle, which a category of a figure keeps
-- in all its charts.
local function colored(axes, name, o, categories)
    if o.label ~= nil then raise(name, "options hue and label exclude each other: the categories are the labels") end
    local given = o.color
    if given ~= nil then
        if type(given) ~= "table" or type(given[1]) == "number" or #given ~= #categories then
            bad_argument(name, nil, "color", ("a list of %d colours, one for each category"):format(#categories), given)
        end
        for k, color in ipairs(core.list(name, "option 'color'", given)) do
            categories[k].color = "#" .. styles.color(name, "color", color)
        end
        return
    end
    local known = axes.figure.categories
    for _, category in ipairs(categories) do
        if not known[category.label] then
            known.count = known.count + 1
            known[category.label] = known.count
        end
        category.color = "C" .. known[category.label] - 1
    end
end

--- Calls f(options, pick) for each category of the option hue, or once: options with the colour and the label of the
-- category; pick(x): its rows of an array, x itself without hue.
function names.each(axes, name, o, n, f)
    if o.hue == nil then return f(o, function(x) return x end) end
    local categories = names.categories(name, "hue", o.hue, n)
    colored(axes, name, o, categories)
    for _, category in ipairs(categories) do
        local mine = looks.copied(o)
        mine.color, mine.label = category.color, category.label
        f(mine, function(x) return np.take(x, category.rows, { axis = 0 }) end)
    end
end

for _, f in pairs(names) do jit.off(f) end

return names
