--- make_program.lua: writes tests/golden/program/version4.prog, a program in version 4 of the format
-- (docs/programs.md), whose sizes are declared. The files of older versions were written by the lines below it.
--
--     build/neap tests/golden/make_program.lua
--
-- The file is written once, and kept as it is: it shows that files of that version can still be read. A new version of
-- the format gets a file of its own.
local np = require "neap"

local shift = np.array { 0.5, -1 }
local mesh = np.mesh({ 1 }, { "i" }, { devices = { np.devices()[1] } })
local mapped = np.shard_map(function(v) return np.psum(v, "i") + v * v.shape[1] + np.axis_index "i" end,
                            { mesh = mesh, in_specs = np.P "i", out_specs = np.P "i" })
local four = np.trace(function(params, x)
    np.callback(function() end, { name = "note" })(x:sum())
    local y = x:matmul(params.w) + shift
    if x.shape[1] > 1 then y = y * 2 end
    return { y = y, mean = x:sum(0) / x.shape[1], kind = "affine", body = mapped(x) }
end, { sizes = { {}, { "n", 2 } } })({ w = np.ones { 2, 2 } }, np.ones { 3, 2 })
four:save "tests/golden/program/version4.prog"

--[[
local program = np.trace(function(params, x)
    print("rows", x:sum())
    local y = np.tanh(x:matmul(params.w) * 0) + x:matmul(params.w) + shift
    if x.shape[1] > 1 then y = y * 2 end
    return { y = y, mean = x:sum(0) / x.shape[1], kind = "affine" }
end, { sizes = { {}, { "n", 2 } } })({ w = np.ones { 2, 2 } }, np.ones { 3, 2 })
program:save "tests/golden/program/version3.prog"

np.trace(function(params, x, scale)
    local y = (params.w:matmul(x) + params.b) * scale + shift + np.arange(2)
    np.callback(function() end, { name = "note" })(y:sum())
    return { y = y, kind = "affine" }
end)({ w = np.ones { 2, 2 }, b = np.ones(2) }, np.ones(2), 1):save "tests/golden/program/version2.prog"
]]
