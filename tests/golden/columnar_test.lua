--- columnar_test.lua (sanitized with --long): Arrow and Parquet files of pyarrow and pandas read to their elements,
-- damaged ones and such with nested columns refused, and what is written is read again (columnar.json and columnar/,
-- made by make_columnar.py).
local np = require "neap"
local codecs = require "neap.columnar.codecs"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local FOLDER = reader.folder .. "columnar/"
local collector = reader.collector()
local temporary = os.tmpname()
local MOST_BYTES = 2 ^ 24 -- of what reading a damaged file may take
local PACKAGES = { zstd = "libzstd1", lz4 = "liblz4-1", snappy = "libsnappy1v5" }

local readers = { feather = np.io.read_feather, parquet = np.io.read_parquet }
local writers = {
    feather = { { "none" }, { "none", stream = true }, { "zstd" }, { "lz4", stream = true } },
    parquet = { { "none" }, { "snappy" }, { "gzip" }, { "zstd", rows = 5 }, { "none", rows = 1 } },
}

-- What a file has is read from JSON, whose null stands for no value.
local null = np.io.null

--- A value of a column as the golden file has it.
local function shown(value, kind)
    if value == false and kind ~= "bool" or value == nil then return null end
    if kind == "text" or kind == "bool" then return value end
    if kind == "date" then
        if not value:find " " then value = value .. " 00:00:00" end
        return value:find "%." and value or value .. ".000000"
    end
    if kind:find "^f" then return value ~= value and null or value end
    return type(value) == "number" and ("%d"):format(value) or (tostring(value):gsub("U?LL$", ""))
end

local function wanted(value, kind)
    if value == null or kind == "text" or kind == "bool" or kind == "date" or not kind:find "^f" then return value end
    return value:find "inf" and (value:find "%-" and -1 / 0 or 1 / 0) or tonumber(value)
end

--- Nil, or how a table differs from what is expected: a list of { name, kind, own order, values… }.
local function difference(t, columns)
    local names = {}
    for k, column in ipairs(columns) do names[k] = column[1] end
    check.equal(t.columns, names)
    for _, column in ipairs(columns) do
        local name, kind, own = column[1], column[2], column[3]
        local found = t:column(name)
        if found.dtype ~= kind then return ("'%s' is %s, not %s"):format(name, found.dtype, kind) end
        if own ~= null then check.equal(found.levels, own, name) end
        local list = found:totable()
        if #list ~= #column - 3 or #t ~= #list then return ("'%s' has %d rows"):format(name, #list) end
        for k, value in ipairs(list) do
            local a, b = shown(value, kind), wanted(column[k + 3], kind)
            if a ~= b or a == 0 and 1 / a ~= 1 / b then
                return ("'%s', row %d: %s, not %s"):format(name, k - 1, tostring(a), tostring(b))
            end
        end
    end
end

--- Nil, or the package that is missing for what a message says.
local function missing_package(problem)
    for _, package in pairs(PACKAGES) do
        if tostring(problem):find("not installed (package " .. package .. ")", 1, true) then return package end
    end
end

--- Calls f, or says which package it needs.
local function with_packages(what, f)
    local ok, problem = pcall(f)
    if ok then return problem end
    local package = missing_package(problem)
    if not package then error(problem, 0) end
    check.skip(what, "needs package " .. package)
end

--- Writes a table in all ways, and reads it again: the same, but for empty columns and orders of levels.
local function written_again(kind, t, columns)
    for _, way in ipairs(writers[kind]) do
        local problem = with_packages(way[1], function()
            np.io["write_" .. kind](temporary, t, { compression = way[1], stream = way.stream,
                                                    row_group_size = way.rows })
            return difference(readers[kind](temporary), columns)
        end)
        if problem then return ("written again (%s): %s"):format(way[1], problem) end
    end
end

--- Without their libraries, compressed files are refused with the names of packages; before one is loaded.
check.test("missing libraries", function()
    local names, t, problems = {}, np.table { n = { 1 } }, {}
    for codec in pairs(PACKAGES) do
        names[codec] = codecs.libraries[codec].file
        codecs.libraries[codec].file = "no such library"
    end
    for _, name in ipairs { "zstd_long.arrow", "lz4_long.arrow", "zstd.parquet", "lz4.parquet", "snappy.parquet" } do
        local read = name:find "arrow" and np.io.read_feather or np.io.read_parquet
        problems[name] = select(2, pcall(read, FOLDER .. name))
    end
    problems.written = select(2, pcall(np.io.write_feather, temporary, t, { compression = "zstd" }))
    np.io.write_parquet(temporary, t)
    for codec, name in pairs(names) do codecs.libraries[codec].file = name end
    for name, problem in pairs(problems) do
        local package = PACKAGES[name:match "^%a+%d?"] or PACKAGES.zstd
        check.ok(tostring(problem):find("not installed (package " .. package .. ")", 1, true),
                 name .. ": " .. tostring(problem))
    end
    check.equal(np.io.read_parquet(temporary).n:totable(), { 1 }) -- by gzip
end)

local listed = np.io.load_json(reader.folder .. "columnar.json")
local by_file = {}

for _, record in ipairs(listed.good) do
    by_file[record.file] = record.columns
    local columns = record.columns or by_file[record.as]
    collector.add("files of pyarrow", function()
        return with_packages(record.file, function()
            local t = readers[record.reader](FOLDER .. record.file, record.options)
            local problem = difference(t, columns) or written_again(record.reader, t, columns)
            if problem or record.reader ~= "feather" then return problem end
            return difference(np.io.read_feather(FOLDER .. record.file, { mmap_mode = "r", columns = t.columns }),
                              columns)
        end)
    end, record.file)
end

for _, record in ipairs(listed.bad) do
    collector.add("refused files", function()
        local ok, problem = pcall(readers[record.reader], FOLDER .. record.file, record.options)
        if ok then return "no error" end
        local missing = missing_package(problem)
        if missing then return check.skip(record.file, "needs package " .. missing) end
        if not problem:find("columnar_test.lua:%d+: np%.io%.read_" .. record.reader .. ": ") then return problem end
        if not problem:find((record.message:gsub("[%(%)%[%]]", "%%%0"))) then return problem end
    end, record.file .. " (" .. record.message .. ")")
end

collector.add("refused files take no memory", function()
    local peak = np.memory().peak
    return peak > MOST_BYTES and ("peak of %d bytes"):format(peak) or nil
end, "peak")

collector.add("options", function()
    local t = np.io.read_feather(FOLDER .. "holes.arrow", { columns = { "int64", "bool", "f32", "string" },
                                                            fill = { int64 = -1, bool = true, f32 = 0.5 } })
    check.equal({ t.int64.dtype, t:column("bool").dtype, t.f32.dtype }, { "i64", "bool", "f32" })
    local plain = np.io.read_feather(FOLDER .. "holes.arrow", { columns = "int64" })
    check.equal(np.where(np.isnan(plain.int64), -1, plain.int64):totable(), t.int64:astype("f64"):totable())
    check.equal(t.columns, { "int64", "bool", "f32", "string" })
end, "columns and fill")

collector.add("mistakes", function()
    check.raises(function() np.io.read_feather "no such.arrow" end, "cannot open 'no such.arrow'")
    local t = np.table { z = np.array { 1i }, n = { 1 }, s = { "\255" } }
    for _, kind in ipairs { "feather", "parquet" } do
        local write = np.io["write_" .. kind]
        check.raises(function() write(temporary, t:select "s") end, "column 's' has a text that is not UTF%-8")
        check.raises(function() write(temporary, t:select "z") end, "column 'z' has complex numbers")
        check.raises(function() write(temporary, t.n) end, "argument 2 %(t%) must be a table")
        check.raises(function() write(temporary, t, { compression = "lzo" }) end, "'compression'")
        check.raises(function() write(3, t) end, "argument 1 %(path%)")
    end
    check.raises(function() np.io.write_parquet(temporary, t, { row_group_size = 0 }) end, "'row_group_size'")
    check.raises(function() np.io.write_feather(temporary, t, { compression = "gzip" }) end, "'compression'")
    check.raises(function() np.io.write_feather(temporary, t, { stream = 1 }) end, "'stream'")
end, "arguments")

os.remove(temporary)
collector.finish(check)
