--- dtypes.lua: the dtypes by name, for tests that go through all of them: of the list that the build writes from the
-- rows of lazy/dtype/dtype.h. `names` are those whose elements are numbers of Lua; complex ones are in `complex`.
local rows = require "neap.dtypes_gen"

local dtypes = { names = {}, integers = {}, complex = {}, by_name = {} }
for code = 0, #rows do
    local row = rows[code]
    table.insert(row.kind == "c" and dtypes.complex or dtypes.names, row.name)
    dtypes.by_name[row.name] = row
    if row.lowest then table.insert(dtypes.integers, row.name) end
end

return dtypes
