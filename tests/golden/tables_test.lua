--- tables_test.lua (not under tsan): text files of Python's csv module read as Python reads them, and tables sorted,
-- grouped, joined and described as NumPy has it (tables.json and tables/, made by make_tables.py).
local np = require "neap"
local check = require "tests.lib.check"
local json = require "neap.files.json"

local file = assert(io.open("tests/golden/tables.json"))
local golden = json.read(file:read "*a")
file:close()
local FOLDER = "tests/golden/tables/"

--- A value of the file as the test's: null is nothing.
local function plain(value)
    if value == json.null then return nil end
    return value
end

--- Rows of a column: a list, with false where nothing is there.
local function rows_of(values)
    local list = {}
    for k = 0, #values - 1 do
        local value = values[k]
        if np.is_array(value) then value = value:item() end
        if value ~= value or value == nil then value = false end
        list[k + 1] = value
    end
    return list
end

for _, want in ipairs(golden.files) do
    check.test(want.file, function()
        local quoting = want.file == "quoted.csv" and "all" or nil
        local t = np.io.read_csv(FOLDER .. want.file, { delimiter = want.delimiter, quoting = quoting })
        check.equal(#t.columns, #want.columns)
        for k, column in ipairs(want.columns) do
            local name, kind = column[1], column[2]
            check.equal(t.columns[k], name)
            local values = t:column(name)
            check.equal(values.dtype, kind)
            check.equal(#values, #column - 2)
            if kind == "i64" then
                for row = 3, #column do -- all of the 64 bits
                    local text = tostring(values[{ { row - 3, row - 2 } }]):match "%-?%d+"
                    check.equal(text, column[row])
                end
            else
                local expected = {}
                for row = 3, #column do
                    local value = plain(column[row])
                    if type(value) == "string" and kind == "f64" then value = tonumber(value) end
                    if value == nil then value = false end
                    expected[row - 2] = value
                end
                check.equal(rows_of(values), expected, name)
            end
        end
    end)
end

check.test("numbers are the nearest", function()
    local path = os.tmpname()
    local out = assert(io.open(path, "w"))
    for _, pair in ipairs(golden.numbers) do out:write(pair[1], "\n") end
    out:close()
    local values = np.io.loadtxt(path):totable()
    os.remove(path)
    check.equal(#values, #golden.numbers)
    for k, pair in ipairs(golden.numbers) do check.equal(values[k], tonumber(pair[2]), pair[1]) end
end)

local data = {}
for k, value in ipairs(golden.data.price) do data[k] = plain(value) or np.nan end
local t = np.table({ { "city", golden.data.city }, { "size", np.array(golden.data.size, { dtype = "i32" }) },
                     { "price", np.array(data, { dtype = "f64" }) }, { "place", np.arange(#data) } })

check.test("sorted", function()
    check.equal(t:sort({ "city", "price" }, { descending = { false, true } }).place:totable(), golden.order)
end)

check.test("grouped", function()
    local g = t:group({ "city", "size" }, { price = { "sum", "mean", "std", "min", "max", "count" } })
    check.equal(#g, #golden.groups)
    for k, want in ipairs(golden.groups) do
        local row = g:row(k - 1)
        check.equal({ row.city, row.size, row.count, row.price_count },
                    { want.key[1], want.key[2], want.count, want.there })
        for _, name in ipairs { "sum", "mean", "std", "min", "max" } do
            check.close(row["price_" .. name], plain(want[name]) or 0 / 0, 1e-12, name)
        end
    end
end)

check.test("joined", function()
    local cities, codes = {}, {}
    for k, pair in ipairs(golden.other) do cities[k], codes[k] = pair[1], pair[2] end
    local other = np.table({ { "city", cities }, { "code", np.array(codes, { dtype = "i32" }) } })
    for _, how in ipairs { "inner", "left" } do
        local rows, partners = {}, {}
        for k, pair in ipairs(golden["joined_" .. how]) do rows[k], partners[k] = pair[1], plain(pair[2]) or false end
        local joined = t:join(other, { on = "city", how = how })
        check.equal(joined.place:totable(), rows)
        check.equal(rows_of(joined.code), partners)
        check.equal(joined.code.dtype, how == "inner" and "i32" or "f64")
    end
end)

check.test("described", function()
    check.close(t:describe().price:totable(), golden.described, 1e-12)
end)

check.done()
