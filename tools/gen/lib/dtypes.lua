--- dtypes.lua: reads the dtype rows of lazy/dtype/dtype.h.
--
-- dtypes.read(root) returns the rows in the order of numbers:
--     { id = "F32", name = "f32", kind = "f", type = "float", bits = 32, bytes = 4, digits = 24, lowest, highest,
--       sum = "f32", real = "f32", unsigned = "uint32_t" }
-- lowest and highest are C constants; `unsigned` is the unsigned C type of that width; `half` is set of real dtypes
-- that are stored as bits and computed with as f32.
local files = require "files"
local dtypes = {}

local FORM = "X%((%u%w*), (%l%w*), '(%a)', ([%w_]+), (%d+), (%d+), ([%w_-]+), ([%w_]+), (%u%w*), (%u%w*)%)"

function dtypes.read(root)
    local header, list = files.read(root .. "/lazy/dtype/dtype.h"), {}
    for id, name, kind, ctype, bits, digits, lowest, highest, sum, real in header:gmatch(FORM) do
        list[#list + 1] = {
            id = id, name = name, kind = kind, type = ctype, bits = tonumber(bits), bytes = bits / 8,
            digits = tonumber(digits), lowest = lowest, highest = highest, sum = sum:lower(), real = real:lower(),
            unsigned = ("uint%d_t"):format(bits), half = kind == "f" and ctype:find "^uint" ~= nil,
        }
    end
    local _, rows = header:gsub("\n    X%(", "")
    if #list == 0 or #list ~= rows then files.fail("lazy/dtype/dtype.h: %d of %d rows understood", #list, rows) end
    return list
end

return dtypes
