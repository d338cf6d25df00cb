--- parquet_column.lua: columns of tables of the elements of parquet_read.lua.
local core = require "neap.core"
local buffer = require "neap.arrays.buffer"
local assemble = require "neap.columnar.assemble"
local parquet_read = require "neap.columnar.parquet_read"

local np, codes, dtypes = core.np, core.dtype_codes, core.dtypes
local parquet_column = {}

--- An array of the memory of a block of n elements of a dtype.
local function array_of(name, block, dtype, n)
    if n == 0 then return np.zeros({ 0 }, { dtype = dtype.name }) end
    return buffer.mapped(name, block, 0, dtype, { n })
end

--- The column of a name. fill: the value of rows without one, or nil.
function parquet_column.make(reader, name, fill)
    local s, leaf, n = reader.source, reader.columns[name], reader.rows
    if leaf.kind == "null" then return assemble.nothing(n, fill) end
    parquet_read.column(reader, leaf)
    if leaf.kind == "text" then
        return assemble.texts(leaf.levels, array_of(s.name, leaf.out, dtypes[codes.i32], n), leaf.ordered)
    end
    local stored = leaf.kind == "bool" and dtypes[codes.bool] or leaf.stored
    local x = array_of(s.name, leaf.out, stored, n)
    local mask = leaf.present and array_of(s.name, leaf.present, dtypes[codes.bool], n)
    if leaf.kind == "date" then return assemble.dates(s, name, x, mask, leaf.unit) end
    if leaf.kind == "decimal" then
        x = np.divide(x:astype "f64", np.array(10 ^ leaf.scale, { dtype = "f64" }))
    elseif stored ~= leaf.dtype and leaf.kind == "number" then
        x = x:astype(leaf.dtype.name)
    end
    return assemble.numbers(x, mask, fill)
end

for _, f in ipairs { array_of, parquet_column.make } do jit.off(f) end

return parquet_column
