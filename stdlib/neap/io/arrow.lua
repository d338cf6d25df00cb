--- arrow.lua: np.io.read_feather, write_feather: tables as files and streams of Arrow (columnar/arrow_read.lua).
local core = require "neap.core"
local files = require "neap.files"
local arrow_column = require "neap.columnar.arrow_column"
local arrow_read = require "neap.columnar.arrow_read"
local arrow_write = require "neap.columnar.arrow_write"
local source = require "neap.columnar.source"
local tables = require "neap.tables"

local arrow = {}

--- np.io.read_feather(path, {columns=…, fill=…, mmap_mode=…}) -> table: a table (np.table) of an Arrow file (Feather's
-- second version, Arrow IPC) or of an Arrow stream in a file, as pyarrow, pandas, Polars and DuckDB write them. Ints,
-- floats and bools keep their dtypes; strings and bytes are texts; dictionaries (pandas' categories) of strings are
-- texts too, in their own order where that is an ordered one, and of others what they stand for; dates and timestamps
-- are dates: those with a time zone UTC, parts of a microsecond cut off. Where values are missing (null), floats have
-- NaN, integers and bools become f64 with NaN, texts and dates have none. Compressed files need libzstd1 or liblz4-1.
-- Lists, structs, maps, decimals, times of day and durations are refused with the name of their column.
--- columns: only these columns, a list of names, in this order; what others have is not looked at
--- fill: a number for values that are missing, or a table of them by name: integers stay integers
--- mmap_mode: "r" keeps the file mapped: numbers without nulls in one batch, not compressed, are read when they are
-- needed; the file must stay as it is as long as they live
--- > np.io.write_feather("prices.arrow", np.table({{"city", {"Bern", "Rome"}}, {"price", {3.5, 0/0}}, {"n", {1, 2}}}))
--- > np.io.read_feather("prices.arrow")
-- city  price    n
-- text    f32  i64
-- Bern    3.5    1
-- Rome    nan    2
-- [2 rows, 3 columns]
--- > np.io.read_feather("prices.arrow", {columns={"n"}, mmap_mode="r"}).n
-- [1 2]
function arrow.read_feather(path, given)
    local name = "io.read_feather"
    local o = core.options(name, given, { columns = true, fill = true, mmap_mode = true })
    if o.mmap_mode ~= nil and o.mmap_mode ~= "r" then
        core.bad_argument(name, nil, "mmap_mode", '"r": arrays do not change', o.mmap_mode)
    end
    local s = source.open(name, path)
    local reader = arrow_read.read(s, o.columns)
    reader.mapped = o.mmap_mode == "r"
    return s:table(reader, o.fill, arrow_column.make)
end

--- np.io.write_feather(path, t, {compression="none", stream=false}) -> nothing: writes a table as an Arrow file
-- (Feather's second version), which np.io.read_feather, pyarrow, pandas, Polars and DuckDB read. Numbers keep their
-- dtypes (bf16 becomes f32), texts are strings; such in an order of their own are ordered dictionaries, pandas'
-- ordered categories; dates are timestamps in microseconds; NaN and what is missing is null. Raises for complex numbers
-- and texts that are not UTF-8. Waits.
--- compression: "zstd" (package libzstd1) or "lz4" (package liblz4-1)
--- stream: true writes the form that is read from its beginning to its end, without a footer
--- > np.io.write_feather("t.arrow", np.table({{"city", {"Bern", false}}, {"n", {1, 2}}}))
--- > io.open("t.arrow"):read(6)
-- ARROW1
function arrow.write_feather(path, t, given)
    local name = "io.write_feather"
    core.check_path(name, path)
    if not tables.is_table(t) then core.bad_argument(name, 2, "t", "a table", t) end
    local o = core.options(name, given, { compression = true, stream = true })
    local compression = o.compression or "none"
    if compression ~= "none" and compression ~= "zstd" and compression ~= "lz4" then
        core.bad_argument(name, nil, "compression", '"none", "zstd" or "lz4"', o.compression)
    end
    if o.stream ~= nil and type(o.stream) ~= "boolean" then
        core.bad_argument(name, nil, "stream", "true or false", o.stream)
    end
    local pieces = arrow_write.pieces(name, t, compression ~= "none" and compression or nil, o.stream)
    local good, problem = files.write(path, pieces)
    if not good then core.raise(name, "%s", problem) end
end

for _, f in ipairs { arrow.read_feather, arrow.write_feather } do jit.off(f) end

return arrow
