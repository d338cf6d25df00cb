--- make_onnx_saved.lua: writes the programs of tests/lib/onnx_saved.lua as ONNX files, and their inputs, into a folder:
-- NAME.onnx, NAME-INPUT.npy. make_onnx_saved.py runs it.
--
--     build/neap tests/golden/make_onnx_saved.lua FOLDER
local np = require "neap"
local cases = require "tests.lib.onnx_saved"

local folder = arg[1]

for _, case in ipairs(cases) do
    local name, inputs, f = unpack(case)
    local program = np.trace(f)(unpack(inputs))
    np.io.save_onnx(program, ("%s/%s.onnx"):format(folder, name))
    for k, port in ipairs(program:inputs()) do
        np.io.save(("%s/%s-%s.npy"):format(folder, name, port.name), inputs[k])
    end
end
