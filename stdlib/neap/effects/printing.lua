--- printing.lua: np.set_printoptions and its kin, and np.pprint: how values are written.
--
-- The options are one structure in C, which what is being written reads: so everything printed so far is waited for
-- before one changes.
local ffi = require "ffi"
local core = require "neap.core"
local trees = require "neap.core.trees"

local np, C = core.np, core.C
local bad_argument, is_array = core.bad_argument, core.is_array
local type = type

local now = C.neap_print_options_now()

--- {precision}: digits after the point, at most; 0 to 17
--- {threshold}: of arrays of more elements than this only the edges are shown; math.huge shows all
--- {edgeitems}: how many elements are shown at each end of an axis
--- {linewidth}: the columns of a line
--- {suppress}: true: small numbers are cut off instead of written with an exponent
--- {nanstr}: the text of NaN, at most 15 bytes
--- {infstr}: the text of infinity, at most 15 bytes
--- {sign}: "-": of negative numbers; "+": of all; " ": room for it before others

local SIGNS = { ["-"] = true, ["+"] = true, [" "] = true }

local function count(low, high)
    return function(value)
        return type(value) == "number" and value >= low and value <= high and value == math.floor(value),
               ("an integer from %d to %.0f"):format(low, high)
    end
end

local function word(value)
    return type(value) == "string" and #value < 16 and not value:find "%z", "a text of at most 15 bytes"
end

-- By name: the member of the structure, and what checks a value.
local ROWS = {
    precision = { "precision", count(0, 17) }, edgeitems = { "edgeitems", count(1, 2 ^ 20) },
    linewidth = { "linewidth", count(1, 2 ^ 20) },
    threshold = { "threshold", function(value)
        return type(value) == "number" and value >= 0 and (value == math.huge or value == math.floor(value)),
               "an integer from 0 up, or math.huge"
    end },
    suppress = { "suppress", function(value) return type(value) == "boolean", "true or false" end },
    nanstr = { "nan", word }, infstr = { "inf", word },
    sign = { "sign", function(value) return SIGNS[value] or false, '"-", "+" or " "' end },
}
local known = {}
for name in pairs(ROWS) do known[name] = true end

local function checked(name, given)
    local values = {}
    for option, value in pairs(core.options(name, given, known)) do
        values[option] = core.plain(value)
        local fits, expected = ROWS[option][2](values[option])
        if not fits then bad_argument(name, nil, option, expected, value) end
    end
    return values
end

local function get()
    return { precision = now.precision, threshold = now.threshold >= 2 ^ 53 and math.huge or tonumber(now.threshold),
             edgeitems = now.edgeitems, linewidth = now.linewidth, suppress = now.suppress ~= 0,
             nanstr = ffi.string(now.nan), infstr = ffi.string(now.inf), sign = string.char(now.sign) }
end

--- Sets options that were checked, when all that was printed before has been written.
local function set(given)
    if next(given) == nil then return end
    np.effects_barrier()
    for option, value in pairs(given) do
        if option == "sign" then
            value = value:byte()
        elseif option == "suppress" then
            value = value and 1 or 0
        elseif option == "threshold" then
            value = math.min(value, 2 ^ 53)
        end
        now[ROWS[option][1]] = value
    end
end

--- Calls f(…) with other options, which are put back whatever happens.
local function with(given, f, ...)
    local before = get()
    local function close(ok, ...)
        set(before)
        if not ok then error((...), 0) end
        return ...
    end
    set(given)
    return close(pcall(f, ...))
end

--- np.set_printoptions{precision=8, threshold=1000, edgeitems=3, linewidth=75, suppress=false, nanstr="nan",
-- infstr="inf", sign="-"} -> nothing: how arrays are written from now on, by print, tostring and the prompt; options
-- that are not given stay. Waits until what was printed before has been written. Arrays of no axes are written in full,
-- as NumPy's scalars are.
--- > np.set_printoptions{precision=3}
--- > print(np.array{1 / 3, 2})
--- >> np.set_printoptions{precision=8}
-- [0.333 2.   ]
np.set_printoptions = function(given)
    set(checked("set_printoptions", given))
end

--- np.get_printoptions() -> table: the options that np.set_printoptions takes, as they are.
--- > np.get_printoptions().linewidth
-- 75
np.get_printoptions = get

--- np.printoptions({precision=8, threshold=1000, edgeitems=3, linewidth=75, suppress=false, nanstr="nan", infstr="inf",
-- sign="-"}, f, …) -> results of f: calls f(…) with other options of printing, which are put back afterwards, as after
-- NumPy's `with np.printoptions(…)`.
--- > np.printoptions({sign="+", precision=2}, function() print(np.array{1, -0.125}) end)
-- [+1.   -0.12]
function np.printoptions(given, f, ...)
    given = checked("printoptions", given)
    if type(f) ~= "function" then bad_argument("printoptions", 2, "f", "a function", f) end
    return with(given, f, ...)
end

--- np.array2string(x, {precision=8, threshold=1000, edgeitems=3, linewidth=75, suppress=false, nanstr="nan",
-- infstr="inf", sign="-"}) -> string: the text of an array, as tostring(x) gives it, with options of its own. Waits for
-- x.
--- > np.array2string(np.array{1e-9, 2}, {suppress=true})
-- [0. 2.]
np.array2string = function(x, given)
    given = checked("array2string", given)
    x = core.wait(core.coerce("array2string", 1, x))
    return with(given, tostring, x)
end

-- ---- Tables and trees -----------------------------------------------------------------------------------------------

local MOST_LINES = 1000

local function type_of(x)
    local dims = core.shape_of(x)
    return core.dtype_of(x).name .. (#dims > 0 and "[" .. table.concat(dims, ",") .. "]" or "")
end

--- Appends the lines of a value, set in by `indent`, behind `head`.
local function add_lines(lines, value, head, indent, seen)
    if #lines >= MOST_LINES then
        lines[MOST_LINES] = "…"
        return
    end
    local meta = debug.getmetatable(value)
    if is_array(value) then
        local text = core.info(value).traced ~= 0 and "(traced)" or tostring(value)
        local place = indent .. head .. type_of(value)
        if text:find "\n" then
            lines[#lines + 1] = place
            for line in text:gmatch "[^\n]+" do lines[#lines + 1] = indent .. "  " .. line end
        else
            lines[#lines + 1] = place .. "  " .. text
        end
    elseif type(value) == "table" and not (type(meta) == "table" and meta.__tostring) then
        if seen[value] then
            lines[#lines + 1] = indent .. head .. "{…}"
            return
        end
        if core.shapes[value] then
            lines[#lines + 1] = indent .. head .. core.shape_text(value)
            return
        end
        local keys = {}
        for key in next, value do keys[#keys + 1] = key end
        if #keys == 0 then
            lines[#lines + 1] = indent .. head .. "{}"
            return
        end
        table.sort(keys, trees.key_less)
        seen[value] = true
        local deeper = indent
        if head ~= "" then
            lines[#lines + 1] = indent .. head:gsub("%s*=%s*$", "")
            deeper = indent .. "  "
        end
        for _, key in ipairs(keys) do add_lines(lines, value[key], trees.key_text(key) .. " = ", deeper, seen) end
        seen[value] = nil
    else
        lines[#lines + 1] = indent .. head .. (type(value) == "string" and ("%q"):format(value) or tostring(value))
    end
end

--- np.pprint(value, …) -> nothing: prints values with what is in them: tables and parameter trees by their keys, in
-- order, arrays with dtype, shape and elements; print is briefer, on one line. Waits for the arrays.
--- > np.pprint({w = np.eye(2), layers = {{b = np.zeros(2)}}, rate = 0.1})
-- layers
--   [1]
--     b = f32[2]  [0. 0.]
-- rate = 0.1
-- w = f32[2,2]
--   [[1. 0.]
--    [0. 1.]]
function np.pprint(...)
    for k = 1, select("#", ...) do
        local lines = {}
        add_lines(lines, (select(k, ...)), "", "", {})
        print(table.concat(lines, "\n"))
    end
end


