--- half_test.lua (under tsan with --long): f16 and bf16 equal NumPy's, ml_dtypes' and JAX's values (half.txt, made by
-- make_half.py).
local check = require "tests.lib.check"
local np = require "neap"
local reader = require "tests.lib.golden_reader"

local collector = reader.collector()

local function build(text)
    local dtype, dims = reader.head(text)
    local list, suffix = {}, dtype == "i64" and "LL" or dtype == "u64" and "ULL"
    for word in text:match "%](.*)$":gmatch "%S+" do
        list[#list + 1] = suffix and assert(loadstring("return " .. word .. suffix))() or reader.number(word)
        if dtype == "bool" then list[#list] = list[#list] ~= 0 end
    end
    return np.array(list, { dtype = dtype }):reshape(dims)
end

--- What differs between an array and a text, beyond `units` in the last place; nil: nothing.
local function difference(x, text, units)
    local want = build(text)
    if x.dtype ~= want.dtype then return ("dtype %s, expected %s"):format(x.dtype, want.dtype) end
    if table.concat(x.shape, ",") ~= table.concat(want.shape, ",") then return "another shape" end
    local same = np.logical_or(np.equal(x, want), np.logical_and(np.isnan(x), np.isnan(want)))
    if units then
        local wide = want:astype "f32"
        local unit = np.maximum(np.abs(wide), 2 ^ -14) * np.finfo(want).eps
        same = np.logical_or(same, np.less_equal(np.abs(x:astype "f32" - wide), unit * units))
    elseif want.dtype ~= "bool" then
        same = np.logical_and(same, np.logical_or(np.equal(np.signbit(x), np.signbit(want)), np.isnan(x)))
    end
    if not np.all(same):item() then return ("got %s, expected %s"):format(tostring(x), tostring(want)) end
end

local function inputs(record, from)
    local list, stop = {}, reader.position(record, "=")
    for k = from, stop - 1 do list[#list + 1] = build(record[k]) end
    return list, record[stop + 1]
end

local function about(record) return reader.short(table.concat(record, " | "), 70) end

local kinds = {}

function kinds.op(record)
    collector.add(record[2], function()
        local list, want = inputs(record, 3)
        return difference(np[record[2]](unpack(list)), want)
    end, about(record))
end

function kinds.astype(record)
    collector.add("astype", function()
        local list, want = inputs(record, 3)
        return difference(list[1]:astype(record[2]), want)
    end, about(record))
end

function kinds.reduce(record)
    collector.add(record[2], function()
        local list, want = inputs(record, 3)
        return difference(np[record[2]](list[1], { axis = 1 }), want)
    end, about(record))
end

function kinds.uniform(record)
    collector.add("uniform", function()
        local dtype = reader.head(record[3])
        return difference(np.random.uniform(np.random.key(tonumber(record[2])), { 9 }, { dtype = dtype }), record[3])
    end, about(record))
end

function kinds.normal(record)
    collector.add("normal", function()
        local dtype = reader.head(record[3])
        return difference(np.random.normal(np.random.key(tonumber(record[2])), { 9 }, { dtype = dtype }), record[3], 2)
    end, about(record))
end

function kinds.grad(record)
    collector.add("grad", function()
        local list, want = inputs(record, 3)
        local got = np.grad(function(v) return np[record[2]](v):sum() end)(list[1])
        return difference(got, (want:gsub("^f32", list[1].dtype)), 4)
    end, about(record))
end

function kinds.print(record)
    collector.add("print", function()
        local list, want = inputs(record, 2)
        local got = tostring(list[1])
        if got ~= want then return ("%s, expected %s"):format(got, want) end
    end, about(record))
end

function kinds.promote(record)
    collector.add("promote", function()
        local x = np.ones({ 1 }, { dtype = record[2] }) + np.ones({ 1 }, { dtype = record[3] })
        if x.dtype ~= record[4] then return ("%s, expected %s"):format(x.dtype, record[4]) end
        if np.promote_types(record[2], record[3]) ~= record[4] then return "np.promote_types says another" end
    end, record[2] .. " | " .. record[3])
end

for _, record in ipairs(reader.records "half") do kinds[record[1]](record) end
collector.finish(check)
