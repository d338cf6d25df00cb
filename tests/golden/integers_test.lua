--- integers_test.lua (under tsan with --long): integer dtypes over their whole range equal NumPy's and JAX's values
-- (integers.txt, made by make_integers.py). Elements are compared as they are in memory, since not all of them are Lua
-- numbers.
local ffi = require "ffi"
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"
local np = require "neap"
local core = require "neap.core"
local reader = require "tests.lib.golden_reader"

local collector = reader.collector()

--- An element of an integer dtype as 64 bits.
local function element(text)
    local value = 0ULL
    for digit in text:gmatch "%d" do value = value * 10ULL + tonumber(digit) end
    return text:sub(1, 1) == "-" and -ffi.cast("int64_t", value) or value
end

--- The elements of a text, as its array has them in memory.
local function elements(text)
    local dtype, dims, size = reader.head(text)
    local row = dtypes.by_name[dtype]
    local data, k = ffi.new(row.ctype .. "[?]", size + 1), 0
    for word in text:match "%](.*)$":gmatch "%S+" do
        data[k] = row.lowest and element(word) or reader.number(word)
        k = k + 1
    end
    assert(k == size, text)
    return data, dtype, dims, size
end

local function build(text)
    local data, dtype, dims, size = elements(text)
    local row = dtypes.by_name[dtype]
    return core.fill(row.code, dims, function(pointer) ffi.copy(pointer, data, size * row.bytes) end, row.pointer)
end

--- What differs between an array and a text; nil: nothing.
local function difference(x, text)
    local want, dtype, dims, size = elements(text)
    if x.dtype ~= dtype then return ("dtype %s, expected %s"):format(x.dtype, dtype) end
    if table.concat(x.shape, ",") ~= table.concat(dims, ",") then return "another shape" end
    return core.read(x, function(data)
        for k = 0, size - 1 do
            if data[k] ~= want[k] then
                return ("element %d is %s, expected %s"):format(k, tostring(data[k]), tostring(want[k]))
            end
        end
    end)
end

local function inputs(record, from)
    local list, stop = {}, reader.position(record, "=")
    for k = from, stop - 1 do list[#list + 1] = build(record[k]) end
    return list, record[stop + 1], record[stop + 2]
end

local function about(record)
    local parts = {}
    for k = 2, reader.position(record, "=") - 1 do parts[#parts + 1] = reader.short(record[k], 40) end
    return table.concat(parts, " | ")
end

local function flip_sort(x) return np.sort(x, { descending = true }) end

local kinds = {}

--- op <tab> name <tab> options <tab> inputs
function kinds.op(record)
    collector.add(record[2], function()
        local list, want, odd = inputs(record, 4)
        if odd then list[1] = np.bitwise_or(list[1], 1) end
        if record[3] ~= "-" then list[#list + 1] = reader.options(record[3]) end
        return difference((rawget(np, record[2]) or flip_sort)(unpack(list)), want)
    end, about(record))
end

--- astype <tab> dtype <tab> input
function kinds.astype(record)
    collector.add("astype", function()
        local list, want = inputs(record, 3)
        return difference(list[1]:astype(record[2]), want)
    end, about(record))
end

--- add_at <tab> - <tab> indices: ones are added to five zeros
function kinds.add_at(record)
    collector.add("add at", function()
        local list, want = inputs(record, 3)
        local function added(index) return np.zeros(5):at(index):add(1) end
        return difference(added(list[1]), want) or difference(np.jit(added)(list[1]), want)
    end, about(record))
end

--- print <tab> input <tab> = <tab> text
function kinds.print(record)
    collector.add("print", function()
        local list, want = inputs(record, 2)
        local got = tostring(list[1])
        if got ~= want then return ("%s, expected %s"):format(got, want) end
    end, about(record))
end

--- promote <tab> dtype <tab> dtype <tab> dtype of both
function kinds.promote(record)
    collector.add("promote", function()
        local x = np.where(true, np.ones({ 1 }, { dtype = record[2] }), np.ones({ 1 }, { dtype = record[3] }))
        if x.dtype ~= record[4] then return ("%s, expected %s"):format(x.dtype, record[4]) end
    end, record[2] .. " | " .. record[3])
end

for _, record in ipairs(reader.records "integers") do kinds[record[1]](record) end
collector.finish(check)
