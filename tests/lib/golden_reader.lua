--- golden_reader.lua: reads golden files, makes neap arrays of what they hold, and compares (the format: records.py).
--
--     for _, record in ipairs(reader.records "ops") do … record[1] … reader.array(record[5]) … end
--
-- A record is a list of fields (texts); `let NAME ARRAY` lines are not records, but define @NAME. An array that was
-- read is { dtype=, shape=, size=, values= }, its values a flat table of numbers (bools: 0 and 1), row-major.
local np = require "neap"

local reader = {}

local FOLDER = "tests/golden/"
reader.folder = FOLDER

-- ---- Reading --------------------------------------------------------------------------------------------------------

local words = { inf = math.huge, ["-inf"] = -math.huge, nan = 0 / 0, ["-0"] = -0.0 }

local function number(text)
    return words[text] or tonumber(text) or error("not a number: " .. text)
end
reader.number = number

--- The text of a file: as it is, or as bytes in an .npz.
local function text_of(path)
    local file = io.open(path .. ".txt", "rb")
    if file then
        local text = file:read "*a"
        file:close()
        return text
    end
    local bytes, parts = np.io.load(path .. ".npz").text:totable(), {}
    for from = 1, #bytes, 4096 do
        parts[#parts + 1] = string.char(unpack(bytes, from, math.min(from + 4095, #bytes)))
    end
    return table.concat(parts)
end

--- The lines of a file as lists of fields.
function reader.records(name)
    local list, lets = {}, {}
    for line in text_of(FOLDER .. name):gmatch "([^\n]*)\n" do
        if line:sub(1, 1) ~= "#" then
            local fields = {}
            for field in (line .. "\t"):gmatch("([^\t]*)\t") do
                if field:sub(1, 1) == "@" then field = lets[field:sub(2)] end
                fields[#fields + 1] = field
            end
            if fields[1] == "let" then
                lets[fields[2]] = fields[3]
            else
                list[#list + 1] = fields
            end
        end
    end
    return list
end

--- "f32[2,3]" as a dtype, a shape and a size.
function reader.head(text)
    local dtype, dims = text:match("^(%w+)%[([%d,]*)%]")
    local shape, size = {}, 1
    for n in dims:gmatch("%d+") do
        shape[#shape + 1] = tonumber(n)
        size = size * tonumber(n)
    end
    return dtype, shape, size
end

--- The array of a text.
function reader.array(text)
    local dtype, shape, size = reader.head(text)
    local values = {}
    local step, start = text:match(" lin (%S+) (%S+)$")
    if step then
        step, start = number(step), number(start)
        for k = 1, size do values[k] = (k - 1) * step + start end
    else
        for value in text:gmatch(" (%S+)") do values[#values + 1] = number(value) end
    end
    assert(#values == size, "a golden array has the wrong number of values")
    return { dtype = dtype, shape = shape, size = size, values = values }
end

--- The neap array of an array that was read, or of its text; `dtype` may choose another dtype.
function reader.build(array, dtype)
    if type(array) == "string" then array = reader.array(array) end
    dtype = dtype or array.dtype
    if array.size == 0 then return np.zeros(array.shape, { dtype = dtype }) end
    return np.array(array.values, { dtype = dtype }):reshape(array.shape)
end

--- Options such as "axis=0,2,;keepdims=true" as a table.
function reader.options(text)
    local options = {}
    if text == "-" then return options end
    for key, value in text:gmatch("([^=;]+)=([^;]*)") do
        if value == "true" or value == "false" then
            options[key] = value == "true"
        elseif value:find(",", 1, true) then
            options[key] = {}
            for part in value:gmatch("[^,]+") do table.insert(options[key], number(part)) end
        else
            options[key] = words[value] or tonumber(value) or value
        end
    end
    return options
end

--- The position of a field in a record.
function reader.position(record, field)
    for k = 1, #record do
        if record[k] == field then return k end
    end
    error("a golden record has no field " .. field)
end

-- ---- Comparing ------------------------------------------------------------------------------------------------------

--- The elements of a neap array in a flat table; bools as 0 and 1.
function reader.flat(x)
    local flat = {}
    local function visit(value)
        if type(value) == "table" then
            for k = 1, #value do visit(value[k]) end
        elseif type(value) == "boolean" then
            flat[#flat + 1] = value and 1 or 0
        else
            flat[#flat + 1] = value
        end
    end
    visit(x:totable())
    return flat
end

--- The unit in the last place of a number in a dtype.
local function unit(value, dtype)
    local bits, lowest = 53, -1074
    if dtype == "f32" then bits, lowest = 24, -149 end
    local _, exponent = math.frexp(value)
    return 2 ^ math.max(exponent - bits, lowest)
end

--- Whether numbers agree: "exact", "zero" (any sign of zero), "ulp N", "abs N", "rel N", "scaled N" (N times `scale`).
local function agree(got, want, kind, amount, dtype, scale)
    if type(got) == "cdata" then got = tonumber(got) end -- files have numbers alone
    if want ~= want then return got ~= got end
    if got == want then return kind ~= "exact" or 1 / got == 1 / want end
    local error_size = math.abs(got - want)
    if kind == "exact" or kind == "zero" or error_size ~= error_size or error_size == math.huge then return false end
    if kind == "ulp" then return error_size <= amount * unit(want, dtype) end
    if kind == "abs" then return error_size <= amount end
    if kind == "rel" then return error_size <= amount * math.abs(want) end
    return error_size <= amount * scale
end

local function shape_text(shape)
    return "(" .. table.concat(shape, ", ") .. ")"
end

--- nil when the neap array `got` equals the array `want` within a tolerance, else what differs. `any_dtype` compares
-- values and shape alone.
function reader.difference(got, want, tolerance, any_dtype)
    if type(want) == "string" then want = reader.array(want) end
    if not any_dtype and got.dtype ~= want.dtype then
        return ("dtype is %s, expected %s"):format(got.dtype, want.dtype)
    end
    local shape = got.shape
    if shape_text(shape) ~= shape_text(want.shape) then
        return ("shape is %s, expected %s"):format(shape_text(shape), shape_text(want.shape))
    end
    local kind, amount = tolerance:match("^(%a+) ?(.*)$")
    amount = tonumber(amount)
    local values, scale = reader.flat(got), 0
    for k = 1, want.size do
        if math.abs(want.values[k]) > scale then scale = math.abs(want.values[k]) end
    end
    local wrong, first = 0, nil
    for k = 1, want.size do
        if not agree(values[k], want.values[k], kind, amount, want.dtype, scale) then
            wrong, first = wrong + 1, first or k
        end
    end
    if wrong == 0 then return nil end
    return ("%d of %d elements differ (%s); element %d is %.17g, expected %.17g"):format(wrong, want.size, tolerance,
                                                                                        first - 1, values[first],
                                                                                        want.values[first])
end

-- ---- Collecting -----------------------------------------------------------------------------------------------------

--- Gathers the failures of many records under a few names, so that a name is one test. `add(name, f, about)` runs f,
-- which returns nil or what is wrong, or raises; `finish(check)` reports every name as a test of tests/lib/check.lua.
function reader.collector()
    local collector, order, groups = {}, {}, {}

    local function group(name)
        if not groups[name] then
            groups[name] = { count = 0, problems = {} }
            order[#order + 1] = name
        end
        return groups[name]
    end

    function collector.add(name, f, about)
        local g = group(name)
        g.count = g.count + 1
        local ok, problem = pcall(f)
        if not ok then problem = tostring(problem) end
        if problem then g.problems[#g.problems + 1] = about .. ": " .. problem end
    end

    --- Notes that a name cannot be tested, and why.
    function collector.skip(name, reason)
        group(name).reason = reason
    end

    function collector.finish(check)
        for _, name in ipairs(order) do
            local g = groups[name]
            if g.reason then
                check.skip(name, g.reason)
            else
                check.test(name, function()
                    local shown = table.concat(g.problems, "\n    ", 1, math.min(#g.problems, 6))
                    check.ok(#g.problems == 0, ("%d of %d records\n    %s"):format(#g.problems, g.count, shown))
                end)
            end
        end
        check.done()
    end

    return collector
end

--- A text of at most n characters, for messages.
function reader.short(text, n)
    return #text <= n and text or text:sub(1, n - 3) .. "..."
end

return reader
