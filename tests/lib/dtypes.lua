--- dtypes.lua: the dtypes by name, for tests that go through all of them: of the list that the build writes from the
-- rows of lazy/dtype/dtype.h.
local rows = require "neap.dtypes_gen"

local dtypes = { names = {}, integers = {}, by_name = {} }
for code = 0, #rows do
    local row = rows[code]
    dtypes.names[code + 1], dtypes.by_name[row.name] = row.name, row
    if row.lowest then table.insert(dtypes.integers, row.name) end
end

return dtypes
