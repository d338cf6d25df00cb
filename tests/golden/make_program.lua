--- make_program.lua: writes tests/golden/program/version2.prog, a program in version 2 of the format
-- (docs/programs.md). version1.prog was written by the same lines.
--
--     build/neap tests/golden/make_program.lua
--
-- The file is written once, and kept as it is: it shows that files of that version can still be read. A new version of
-- the format gets a file of its own.
local np = require "neap"

local shift = np.array { 0.5, -1 }
np.trace(function(params, x, scale)
    local y = (params.w:matmul(x) + params.b) * scale + shift + np.arange(2)
    np.callback(function() end, { name = "note" })(y:sum())
    return { y = y, kind = "affine" }
end)({ w = np.ones { 2, 2 }, b = np.ones(2) }, np.ones(2), 1):save "tests/golden/program/version2.prog"
