--- parquet.lua: np.io.read_parquet, write_parquet: tables as Parquet files (columnar/parquet_read.lua).
local core = require "neap.core"
local files = require "neap.files"
local codecs = require "neap.columnar.codecs"
local parquet_column = require "neap.columnar.parquet_column"
local parquet_read = require "neap.columnar.parquet_read"
local parquet_write = require "neap.columnar.parquet_write"
local source = require "neap.columnar.source"
local tables = require "neap.tables"

local parquet = {}

local GROUP = 2 ^ 20
local COMPRESSIONS = { none = true, snappy = true, gzip = true, zstd = true }

--- np.io.read_parquet(path, {columns=…, fill=…}) -> table: a table (np.table) of a Parquet file, as pyarrow, pandas,
-- Polars, DuckDB and Spark write it. Ints, floats and bools keep their dtypes; strings and bytes are texts; dates and
-- timestamps are dates: parts of a microsecond cut off, without a zone, UTC where the file says so; decimals are f64.
-- Where values are missing (null), floats have NaN, integers and bools become f64 with NaN, texts and dates have none.
-- Compressed files need zlib1g (gzip), libzstd1, libsnappy1v5 or liblz4-1. Lists, maps, structs, times of day and other
-- bytes of a fixed length are refused with the name of their column.
--- columns: only these columns, a list of names, in this order; the others are not looked at
--- fill: a number for values that are missing, or a table of them by name: integers stay integers
--- > t = np.table({{"city", {"Bern", "Rome"}}, {"price", {3.5, 0/0}}, {"n", {1, 2}}})
--- > np.io.write_parquet("prices.parquet", t, {compression="gzip"})
--- > np.io.read_parquet("prices.parquet", {columns={"n", "price"}, fill={price=0}})
--   n  price
-- i64    f32
--   1    3.5
--   2    0.0
-- [2 rows, 2 columns]
function parquet.read_parquet(path, given)
    local name = "io.read_parquet"
    local o = core.options(name, given, { columns = true, fill = true })
    local s = source.open(name, path)
    return s:table(parquet_read.open(s, o.columns), o.fill, parquet_column.make)
end

--- np.io.write_parquet(path, t, {compression=…, row_group_size=1048576}) -> nothing: writes a table as a Parquet file,
-- which np.io.read_parquet, pyarrow, pandas, Polars, DuckDB and Spark read. Numbers keep their dtypes (bf16 becomes
-- f32), texts are strings, dates timestamps in microseconds without a zone; NaN and what is missing is null. An order
-- of categories is not kept. Raises for complex numbers and texts that are not UTF-8. Waits.
--- compression: "snappy" (package libsnappy1v5), "zstd" (package libzstd1), "gzip" or "none"; without it zstd where
-- that is installed, else gzip
--- row_group_size: rows of a group, which are written, and read, together
--- > np.io.write_parquet("t.parquet", np.table({{"city", {"Bern", false}}, {"n", {1, 2}}}))
--- > io.open("t.parquet"):read(4)
-- PAR1
function parquet.write_parquet(path, t, given)
    local name = "io.write_parquet"
    core.check_path(name, path)
    if not tables.is_table(t) then core.bad_argument(name, 2, "t", "a table", t) end
    local o = core.options(name, given, { compression = true, row_group_size = true })
    local compression = o.compression
    if compression == nil then compression = codecs.is_there "zstd" and "zstd" or "gzip" end
    if not COMPRESSIONS[compression] then
        core.bad_argument(name, nil, "compression", '"snappy", "zstd", "gzip" or "none"', o.compression)
    end
    local size = core.integer(name, nil, "row_group_size", o.row_group_size == nil and GROUP or o.row_group_size, 1,
                              2 ^ 31 - 1)
    local pieces = parquet_write.pieces(name, t, compression ~= "none" and compression or nil, size)
    local good, problem = files.write(path, pieces)
    if not good then core.raise(name, "%s", problem) end
end

for _, f in ipairs { parquet.read_parquet, parquet.write_parquet } do jit.off(f) end

return parquet
