--- onnx.lua: np.io.load_onnx and np.io.save_onnx: networks in ONNX files (neap/onnx has the format and the operators).
local core = require "neap.core"
local staging = require "neap.tracing.staging"
local trees = require "neap.core.trees"
local files = require "neap.files"
local model = require "neap.onnx.model"
local save = require "neap.onnx.save"

local C = core.C
local onnx = {}

--- np.io.load_onnx(path, {key=…}) -> f, params: the network in an ONNX file as a function, and its weights, a table of
-- arrays by name. f(params, x, …) takes the inputs in their order, or one table of them by name: f(params, {input=x}).
-- One output is an array, several are a table by name. f.inputs and f.outputs are lists of {name=, dtype=, shape=},
-- f.constants the numbers of the file that are no weights. Derivatives, batches, programs are as of any function.
-- Raises if the file is damaged or has an operator that np.io.load_onnx does not know.
--- key: of random numbers that the graph draws, as np.random.key(0), which are the same at each call; such a graph is
-- refused without one
--- > file = io.open("neg.onnx", "wb")
--- > _ = file:write("\8\10B\2\16\20:\23\10\11\10\1x\18\1y\"\3Neg", "Z\3\10\1xb\3\10\1y"), file:close()
--- > f, params = np.io.load_onnx("neg.onnx")
--- > f(params, np.array{1, 2})
-- [-1. -2.]
function onnx.load_onnx(path, given)
    core.check_path("io.load_onnx", path)
    local key = core.options("io.load_onnx", given, { key = true }).key
    if key ~= nil and not core.is_array(key) then
        core.bad_argument("io.load_onnx", nil, "key", "a key, as np.random.key(0)", key)
    end
    local loaded, problem = model.load(path, key)
    if not loaded then core.raise("io.load_onnx", "%s", problem) end
    return model.as_function(loaded[1]), loaded[2]
end

--- The arrays of nested tables by the names that inputs of programs have: {params = {w = x}} gives "params.w".
local function by_path(name, given)
    local list = {}
    if given == nil then return list end
    if type(given) ~= "table" or getmetatable(given) ~= nil then
        core.bad_argument(name, nil, "initializers", "a table of arrays by the names of inputs", given)
    end
    for key, value in pairs(given) do
        trees.walk(name, value, function(leaf, path)
            if not core.is_array(leaf) then
                core.raise(name, "'%s' must be an array, got %s", path, core.describe(leaf))
            end
            list[path] = leaf
        end, tostring(key))
    end
    return list
end

--- The printed form of a program in which captured arrays are inputs behind all others, with script lines; and these
-- arrays.
local function listed(name, program, ports)
    local given = { n = #ports }
    for k, port in ipairs(ports) do
        local spec = staging.Spec { dtype = core.dtype_codes[port.dtype], shape = port.shape }
        given[k] = not port.number and spec or port.dtype:find "^b?f" and 0.5 or 1
    end
    local entry, captured = staging.closed(name, function(...) return program(...) end, given, nil, true)
    local text = core.text(name, function(to, capacity, bytes)
        return C.neap_program_text(entry.program, -1, to, capacity, bytes)
    end)
    return text, captured
end

--- np.io.save_onnx(program, path, {initializers=…}) -> nothing: writes a program as an ONNX file, opset 20. Arrays
-- that it captured become weights. Raises if it has an op for which the format has no operator (with the op and its
-- script line), sizes by name or effects. Indices out of range, which np.take clips, are errors elsewhere. Waits.
--- initializers: arrays for inputs of the program, which become weights in the file: nested tables by the names of
-- arguments
--- > params = {w = np.ones(2)}
--- > program = np.trace(function(params, x) return np.tanh(x * params.w) end)(params, np.ones(2))
--- > np.io.save_onnx(program, "net.onnx", {initializers={params=params}})
--- > f, params = np.io.load_onnx("net.onnx")
--- > f(params, np.array{0, 1})
-- [0.        0.7615942]
function onnx.save_onnx(program, path, given)
    local name = "io.save_onnx"
    if type(program) ~= "table" or rawget(program, "ports") == nil then
        core.bad_argument(name, 1, "program", "a program, as np.trace makes", program)
    end
    core.check_path(name, path, 2)
    local initializers = by_path(name, core.options(name, given, { initializers = true }).initializers)
    if program.declared then
        core.raise(name, "the program is for every size '%s': trace one for fixed sizes", program.declared.names[1])
    end
    local ports = { inputs = program:inputs(), outputs = program:outputs() }
    local text, captured = listed(name, program, ports.inputs)
    local ok, pieces = pcall(save.bytes, text, ports, initializers, captured)
    if not ok and type(pieces) == "table" and pieces.problem then core.raise(name, "%s", pieces.problem) end
    if not ok then error(pieces, 0) end
    local good, problem = files.write(path, pieces)
    if not good then core.raise(name, "%s", problem) end
end

for _, f in ipairs { onnx.load_onnx, onnx.save_onnx } do jit.off(f) end

return onnx
