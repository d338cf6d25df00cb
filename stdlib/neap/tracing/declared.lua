--- declared.lua: sizes that are declared by name where a program is made: {{"n", 3}, {"2*n + 1"}}.
--
-- A declaration is a tree like the arguments, with a list of extents for each array: integers, or texts of names,
-- integers, + - * // and parentheses. {} and nil say nothing of an array: its sizes are fixed.
local ffi = require "ffi"
local core = require "neap.core"
local globals = require "neap.core.globals"
local trees = require "neap.core.trees"
local sizes = require "neap.core.sizes"

local C, ctx = core.C, core.ctx
local raise = core.raise
local type = type

local declared = {}

-- ---- Extents as texts -----------------------------------------------------------------------------------------------

local MOST_NAMES, MOST_TEXT = 64, 1000 -- names of a program, letters of an extent in a file

local function floor_divide(a, b) return math.floor(a / b) end

--- The text of an extent as a function of a table of sizes by name, which are numbers or size values. Names are
-- appended to `names`, each once.
local function parse(name, text, names)
    local at = 1
    local function fail_at(what)
        raise(name, "option 'sizes': expected %s at column %d of %q, as in \"2*n + 1\"", what, at, text)
    end
    local function take(pattern)
        local _, last, found = text:find("^%s*(" .. pattern .. ")", at)
        if found then at = last + 1 end
        return found
    end
    local sum
    local function factor()
        local number = take "%d+"
        if number then
            local value = tonumber(number)
            return function() return value end
        end
        local symbol = take "[%a_][%w_]*"
        if symbol then
            if not names[symbol] then
                if #names == MOST_NAMES then raise(name, "option 'sizes': more than %d names", MOST_NAMES) end
                names[symbol], names[#names + 1] = true, symbol
            end
            return function(known) return known[symbol] end
        end
        if not take "%(" then fail_at "a name or an integer" end
        local inner = sum()
        if not take "%)" then fail_at "')'" end
        return inner
    end
    local function product()
        local value = factor()
        while true do
            local sign = take "%*" or take "//"
            if not sign then return value end
            local a, b = value, factor()
            if sign == "*" then
                value = function(known) return a(known) * b(known) end
            else
                value = function(known) return floor_divide(a(known), b(known)) end
            end
        end
    end
    function sum()
        local value = product()
        while true do
            local sign = take "[+-]"
            if not sign then return value end
            local a, b = value, product()
            if sign == "+" then
                value = function(known) return a(known) + b(known) end
            else
                value = function(known) return a(known) - b(known) end
            end
        end
    end
    local value = sum()
    if take "%S" then fail_at "an operator" end
    return value, not text:find "[^%w_%s]" and text:match "^%s*([%a_][%w_]*)%s*$" or nil
end

--- An extent that was declared: { text, of = function, symbol = its name if it is no more than that }; a number.
local function extent(name, value, names)
    value = core.plain(value)
    if type(value) == "number" and value >= 0 and value % 1 == 0 then return value end
    if type(value) ~= "string" then
        raise(name, "option 'sizes': an extent is an integer or a text such as \"n\" or \"2*n\", got %s",
              core.describe(value))
    end
    local of, symbol = parse(name, value, names)
    return { text = value, of = of, symbol = symbol }
end

--- The declared extents of one array, a list; {} and nil: nothing.
local function extents(name, list, ndim, names, what)
    if list == nil or (type(list) == "table" and next(list) == nil) then return nil end
    if type(list) ~= "table" or #list ~= ndim then
        raise(name, "option 'sizes': expected %d extents for %s, an array of %s, got %s", ndim, what,
              core.axes_text(ndim), type(list) == "table" and #list or core.describe(list))
    end
    local found, any = {}, false
    for k = 1, ndim do
        found[k] = extent(name, list[k], names)
        any = any or type(found[k]) == "table"
    end
    return any and found or nil
end

-- ---- Declarations ---------------------------------------------------------------------------------------------------

--- Collects what is declared of the leaves of arguments, in order. Specs of arrays that are not there may have texts
-- as extents themselves. Returns a list with false, or the extents, of each leaf, and the list of names.
function declared.collect(name, given, option, shape_of_leaf, is_static)
    local list, names = {}, {}
    if option ~= nil and type(option) ~= "table" then
        core.bad_argument(name, nil, "sizes", "a list of extents for each argument", option)
    end
    local function visit(value, want, what)
        local shape = shape_of_leaf(value)
        if shape then
            local own
            for k = 1, #shape do own = own or type(shape[k]) == "string" end
            list[#list + 1] = extents(name, own and shape or want, #shape, names, what) or false
        elseif type(value) == "number" then
            list[#list + 1] = false
        elseif trees.is_node(value) then
            if want ~= nil and type(want) ~= "table" then
                raise(name, "option 'sizes': %s is a table, got %s", what, core.describe(want))
            end
            for _, key in ipairs(trees.keys_of(value, name)) do
                local step = type(key) == "number" and "[" .. key .. "]" or "." .. key
                visit(value[key], want and want[key], what .. step)
            end
        end
    end
    for k = 1, given.n do
        if not is_static[k] then visit(given[k], option and option[k], "argument " .. k) end
    end
    if option then
        for key in pairs(option) do
            if type(key) ~= "number" or key < 1 or key > given.n then
                raise(name, "option 'sizes' has an entry %s, and there are %d arguments", tostring(key), given.n)
            end
        end
    end
    return list, names
end

--- What was declared (sized.lua) as a tree for a file: the extents of each input, texts and integers.
function declared.to_tree(of)
    local tree = {}
    for k, dims in ipairs(of.list) do
        tree[k] = {}
        for axis = 1, dims and #dims or 0 do
            tree[k][axis] = type(dims[axis]) == "table" and dims[axis].text or dims[axis]
        end
    end
    return tree
end

--- The same of such a tree, which anybody may have made, for inputs of these shapes (false: it has none); raises.
function declared.of_tree(name, tree, shapes)
    local list, names = {}, {}
    for k, shape in ipairs(shapes) do
        local dims = tree[k]
        if type(dims) ~= "table" then raise(name, "the sizes of input %d are no list", k) end
        for axis = 1, #dims do
            if type(dims[axis]) == "string" and #dims[axis] > MOST_TEXT then
                raise(name, "the sizes of input %d are longer than %d letters", k, MOST_TEXT)
            end
        end
        list[k] = extents(name, dims, shape and #shape or 0, names, "input " .. k) or false
    end
    declared.solve(name, list, names, shapes)
    return { list = list, names = names }
end

--- The sizes by name for which declared extents are those of `shapes` (by leaf, false: it says nothing). What no shape
-- says gets the next of `defaults`. Raises where shapes do not fit.
function declared.solve(name, list, names, shapes, defaults)
    local known, left = {}, {}
    for k, dims in ipairs(list) do
        for axis = 1, dims and shapes[k] and #dims or 0 do
            local symbol = type(dims[axis]) == "table" and dims[axis].symbol
            if symbol and known[symbol] == nil then known[symbol] = shapes[k][axis] end
        end
    end
    for _, symbol in ipairs(names) do
        if known[symbol] == nil then left[#left + 1] = symbol end
    end
    for _, symbol in ipairs(left) do
        known[symbol] = declared.invert(list, shapes, known, symbol)
            or defaults and table.remove(defaults, 1)
            or raise(name, "size %s follows from no argument", symbol)
    end
    for _, symbol in ipairs(names) do
        local size = known[symbol]
        local whole = size % 1 == 0
        known[symbol] = whole and core.is_size(size) and size:floor() or size
        if not whole or known[symbol] < 1 then
            raise(name, "size %s must be an integer of at least 1, got %s", symbol, core.size_text(size))
        end
    end
    for k, dims in ipairs(list) do
        for axis = 1, dims and shapes[k] and #dims or 0 do
            local want = dims[axis]
            local n = type(want) == "table" and want.of(known) or want
            if n ~= shapes[k][axis] then
                raise(name, "input %d: axis %d has %s elements; %s is declared%s", k, axis - 1,
                      core.size_text(shapes[k][axis]), type(want) == "table" and want.text or tostring(want),
                      declared.text_of(names, known))
            end
        end
    end
    return known
end

--- " (n = 3, m = 4)"
function declared.text_of(names, known)
    local parts = {}
    for k, symbol in ipairs(names) do parts[k] = ("%s = %s"):format(symbol, core.size_text(known[symbol])) end
    return #parts > 0 and " (" .. table.concat(parts, ", ") .. ")" or ""
end

--- The size for which an extent that grows evenly with it is that of a shape; nil: there is no such extent.
function declared.invert(list, shapes, known, symbol)
    local function at(want, value)
        known[symbol] = value
        local ok, n = pcall(want.of, known)
        known[symbol] = nil
        return ok and n or nil
    end
    for k, dims in ipairs(list) do
        for axis = 1, dims and shapes[k] and #dims or 0 do
            local want = dims[axis]
            local first, second = type(want) == "table" and at(want, 1), type(want) == "table" and at(want, 2)
            if first and second and first ~= second and at(want, 3) == 2 * second - first then
                return (shapes[k][axis] - 2 * first + second) / (second - first) -- as one quotient
            end
        end
    end
end

-- ---- Recording ------------------------------------------------------------------------------------------------------

local transcript_box = ffi.new("neap_transcript *[1]")
local free_transcript = core.finalizer(C.neap_transcript_free)

--- Runs body(values), the size values by name, with sizes declared that are `known` now. Returns the transcript and
-- what body returned.
function declared.record(name, names, known, body)
    if core.sized() then
        raise(name, "sizes are declared already where this is recorded; record it before, and call it there")
    end
    core.call(name, function() return C.neap_transcript_begin(ctx) end)
    local undo = sizes.swap_mathematics(globals.modules.math)
    local before = sizes.open(true)
    local ok, result = pcall(function()
        local values = {}
        for _, symbol in ipairs(names) do values[symbol] = sizes.declare(symbol, known[symbol]) end
        return body(values)
    end)
    sizes.open(before)
    undo()
    local rc = C.neap_transcript_end(ctx, ok and 1 or 0, transcript_box)
    if not ok then error(result, 0) end
    if rc < 0 then core.raise_status(rc, name) end
    return ffi.gc(transcript_box[0], free_transcript), result
end

--- The conditions of a transcript, a line each.
function declared.conditions(transcript)
    return core.text(nil, function(text, capacity, bytes)
        return C.neap_transcript_text(transcript, text, capacity, bytes)
    end)
end

local program_box, size_box = ffi.new("neap_program *[1]"), ffi.new("double[?]", MOST_NAMES)
local free_program = core.finalizer(C.neap_program_free)

--- Whether one of the sizes by name is a size value: of the recording in which a program is called.
function declared.is_inside(names, known)
    for _, symbol in ipairs(names) do
        if core.is_size(known[symbol]) then return true end
    end
    return false
end

--- The core's program for sizes by name, some of which may be size values.
function declared.play(name, transcript, names, known)
    local inside = declared.is_inside(names, known)
    local boxes = inside and ffi.new("neap_size[?]", #names) or size_box
    for k, symbol in ipairs(names) do
        boxes[k - 1] = inside and type(known[symbol]) == "number" and { known[symbol] } or known[symbol]
    end
    core.call(name, function()
        if inside then return C.neap_transcript_play_inside(ctx, transcript, #names, boxes, program_box) end
        return C.neap_transcript_play(ctx, transcript, #names, boxes, program_box)
    end)
    return ffi.gc(program_box[0], free_program)
end

local value_box = ffi.new("double[1]")

--- What a size value of a transcript, or the expression of a number, is for sizes by name.
function declared.value(transcript, size, names, known)
    local expr = type(size) == "number" and size or size.expr
    for k, symbol in ipairs(names) do size_box[k - 1] = known[symbol] end
    core.call(nil, function() return C.neap_transcript_value(transcript, expr, #names, size_box, value_box) end)
    return value_box[0]
end

-- ---- Texts ----------------------------------------------------------------------------------------------------------

--- The expressions of a transcript that are made of declared sizes: a list of { text, values = by position of `places`,
-- a list of sizes by name }, those of few letters first.
local function expressions(of, places)
    local list = {}
    for expr = 1, C.neap_transcript_exprs(of.transcript) do
        local ok, values = pcall(function()
            local found = {}
            for k, known in ipairs(places) do found[k] = declared.value(of.transcript, expr, of.names, known) end
            return found
        end)
        if ok then
            local text = core.text(nil, function(to, capacity, bytes)
                return C.neap_transcript_expr(of.transcript, expr, to, capacity, bytes)
            end)
            list[#list + 1] = { text = text, values = values }
        end
    end
    table.sort(list, function(a, b) return #a.text < #b.text or #a.text == #b.text and a.text < b.text end)
    return list
end

--- The expression that has these values, "?" if there is none.
local function expression_of(list, values)
    for _, one in ipairs(list) do
        local fits = true
        for k, value in ipairs(values) do
            fits = fits and math.abs(one.values[k] - value) <= 1e-6 * math.abs(value)
        end
        if fits then return one.text end
    end
    return "?"
end

--- One text of several that differ in numbers alone, each for the sizes of one place: with the expressions in place of
-- these; nil: they differ in more.
function declared.merge(of, texts, places)
    local list, parts, at = expressions(of, places), {}, {}
    for k in ipairs(texts) do at[k] = 1 end
    while at[1] <= #texts[1] do
        local values, pieces = {}, {}
        for k, text in ipairs(texts) do
            local _, last, number = text:find("^(%d+%.?%d*)", at[k])
            if not number then
                _, last = text:find("^[%a_][%w_]*", at[k])
                last = last or at[k]
            end
            values[k], pieces[k] = tonumber(number), text:sub(at[k], last)
            at[k] = last + 1
        end
        local same = true
        for k = 2, #texts do
            same = same and pieces[k] == pieces[1]
            if (values[k] == nil) ~= (values[1] == nil) or not values[k] and pieces[k] ~= pieces[1] then return nil end
        end
        parts[#parts + 1] = same and pieces[1] or expression_of(list, values)
    end
    return table.concat(parts)
end

--- Extents of a declaration as size values, for a Spec.
function declared.extents(dims, values)
    local shape = {}
    for k, want in ipairs(dims) do shape[k] = type(want) == "table" and want.of(values) or want end
    return shape
end

for _, f in pairs(declared) do jit.off(f) end

return declared
