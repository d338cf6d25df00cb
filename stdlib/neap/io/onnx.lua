--- onnx.lua: np.io.load_onnx: networks from ONNX files (neap/onnx has the format, and what np does for each operator).
local core = require "neap.core"
local model = require "neap.onnx.model"

local onnx = {}

--- np.io.load_onnx(path) -> f, params: the network in an ONNX file as a function, and its weights, a table of arrays by
-- name. f(params, x, …) takes the inputs in their order, or one table of them by name: f(params, {input=x}). One output
-- is an array, several are a table by name. f.inputs and f.outputs are lists of {name=, dtype=, shape=}, f.constants
-- the numbers of the file that are no weights. Derivatives, batches, programs are as of any function. Raises if the
-- file is damaged or has an operator that np.io.load_onnx does not know.
--- > file = io.open("neg.onnx", "wb")
--- > _ = file:write("\8\10B\2\16\20:\23\10\11\10\1x\18\1y\"\3Neg", "Z\3\10\1xb\3\10\1y"), file:close()
--- > f, params = np.io.load_onnx("neg.onnx")
--- > f(params, np.array{1, 2})
-- [-1. -2.]
function onnx.load_onnx(path)
    local loaded, problem = model.load(core.check_path("io.load_onnx", path))
    if not loaded then core.raise("io.load_onnx", "%s", problem) end
    return model.as_function(loaded[1]), loaded[2]
end

jit.off(onnx.load_onnx)

return onnx
