--- dtypes.lua: writes the library's table of dtypes from the rows of lazy/dtype/dtype.h.
--
--     luajit dtypes.lua ROOT OUT
--
-- OUT/lua/neap/dtypes_gen.lua   the dtypes in the order of numbers, from 0 up:
--     { name, code, kind, ctype, bits, bytes, digits, npy = "i4", sum = "i32", real = "f32", half = it is a float of 16
--       bits, part = the dtype of the parts of a complex one, else itself; and of integers
--       lowest, highest = the ends of the range, as numbers: of 64 bits the outermost ones inside of it }
-- npy is the name in npy files; what NumPy has no name for is stored there as bytes without a meaning, as JAX does it.
local directory = arg[0]:match("^(.*)/") or "."
package.path = directory .. "/lib/?.lua;" .. package.path
local files = require "files"
local dtypes = require "dtypes"

local root, out = arg[1], arg[2]
if not out then files.fail("usage: dtypes.lua ROOT OUT") end

--- The largest number of so many binary digits, as far as a Lua number has them.
local function largest(digits)
    return 2 ^ digits - 2 ^ math.max(0, digits - 53)
end

local rows = dtypes.read(root)

--- The dtype of the parts of a complex one; others are their own.
local function part_of(row)
    for _, other in ipairs(rows) do
        if row.kind == "c" and other.kind == "f" and 2 * other.bits == row.bits then return other end
    end
    return row
end

local lines, taken = {}, {}
for k, row in ipairs(rows) do
    local part = part_of(row)
    local ctype = part == row and row.type or part.type .. " _Complex"
    local range = ""
    if row.kind == "u" or row.kind == "i" then
        range = (", lowest = %.17g, highest = %.17g"):format(row.kind == "i" and -2 ^ row.digits or 0,
                                                           largest(row.digits))
    end
    local npy = row.kind .. row.bytes
    if taken[npy] then npy = "V" .. row.bytes end
    taken[npy] = true
    lines[k] = ("    [%d] = { name = %q, code = %d, kind = %q, ctype = %q, bits = %d, bytes = %d, digits = %d,\n"
                .. "        npy = %q, sum = %q, real = %q, half = %s, part = %q%s },\n"):format(
        k - 1, row.name, k - 1, row.kind, ctype, row.bits, row.bytes, row.digits, npy, row.sum,
        row.real, row.half, part.name, range)
end
files.write(out .. "/lua/neap/dtypes_gen.lua",
            "--- The dtypes. Generated from the rows of lazy/dtype/dtype.h; do not edit.\nreturn {\n"
            .. table.concat(lines) .. "}\n")
