--- make_mesh.lua: prints random cases (tests/lib/mesh_programs.lua) for make_mesh.py, one a line: mesh, inputs, program
-- and outputs, separated by tabs.
local programs = require "tests.lib.mesh_programs"

local kinds = {
    { count = 110, kind = { dtype = "f64", exact = true, derivatives = true, strict = true } },
    { count = 30, kind = { dtype = "f64", derivatives = true, strict = true } },
    { count = 20, kind = { dtype = "f32", strict = true } },
    { count = 20, kind = { dtype = "i32", exact = true, strict = true } },
}

local seed, used = 40000, {}
for _, group in ipairs(kinds) do
    for _ = 1, group.count do
        seed = seed + 1
        local texts = programs.sample(seed, group.kind, used)
        print(table.concat({ texts.mesh, texts.inputs, texts.program, texts.outputs }, "\t"))
    end
end
