--- onnx_nodes_test.lua (under tsan with --long): the tests of the ONNX standard, as Debian's package libonnx-testdata
-- has them: each is a model with inputs and results. neap gives these results, or np.io.load_onnx refuses the model for
-- a reason of the list below.
--
--     NEAP_ONNX_TESTS   a folder of such tests (folders with model.onnx and test_data_set_0) in place of the package's
--
-- Values agree to 1e-5 of them, as few tests as need more room stand here too.
local np = require "neap"
local check = require "tests.lib.check"
local model = require "neap.onnx.model"

local PACKAGE = "/usr/share/libonnx-testdata/data/"
local FOLDERS = { "node", "simple", "pytorch-converted", "pytorch-operator" }

-- What is refused, by what the error says: patterns.
local REFUSED = {
    "has the dtype STRING", "has the dtype U?INT[24]", "has the dtype FLOAT[48]E", "the dtype U?INT[24],",
    "the dtype FLOAT[48]E", "the dtype STRING", "of a kind that np does not have",
    "np has no texts", "np has no sequences", "np.io.load_image reads images",
    "does not know this operator of the domain 'ai.onnx.preview",
    "does not know this operator of the domain 'ai.onnx.ml'",
    "%(RandomUniformLike, ", "%(Bernoulli, ", "%(MelWeightMatrix, ", "draws random numbers",
    "%(RoiAlign, ", "%(LinearAttention, ", "%(CausalConvWithState, ", "%(DeformConv, ",
    "its attribute 'broadcast' is not one that is known",
}

-- Tests that do not apply, by name: their files store bf16 as u16, or broadcast by a rule of before opset 7.
local OTHERS = {
    { "BFLOAT16", "must be bf16, got u16" }, { "BFLOAT16", "must have the shape" }, { "BFLOAT16", "bf16 for u16" },
    { "^test_PReLU_%dd_multiparam$", "do not broadcast" },
}

-- How near values are, relative and absolute; and tests whose expected values are no nearer: windows computed with a
-- π of 3.1415, and numbers of four digits.
local ROOM = { f16 = 2e-3, bf16 = 2e-2, f32 = 1e-5, f64 = 1e-7 }
local ROUGH = { "window", "^test_gridsample_bi", "^test_averagepool_2d_ceil_last_window_starts_on_pad$" }

local function names(folder)
    local list, pipe = {}, assert(io.popen("ls '" .. folder .. "' 2>/dev/null"))
    for line in pipe:lines() do list[#list + 1] = line end
    pipe:close()
    return list
end

local function exists(path)
    local file = io.open(path, "rb")
    return file ~= nil and file:close()
end

local function tensor(path)
    local x, problem = model.read_tensor(path)
    return x or error(problem, 0)
end

local function is_rough(name)
    for _, pattern in ipairs(ROUGH) do
        if name:find(pattern) then return true end
    end
    return false
end

--- Nil, or how what came differs from what is right.
local function difference(got, want, rough)
    if got.dtype ~= want.dtype then return ("got %s for %s"):format(got.dtype, want.dtype) end
    local is, wanted = table.concat(got.shape, ","), table.concat(want.shape, ",")
    if is ~= wanted then return ("got shape (%s) for (%s)"):format(is, wanted) end
    local room = rough and 2e-4 or ROOM[want.dtype] or 0
    if want.size == 0 or np.allclose(got, want, { rtol = room, atol = room, equal_nan = true }) then return nil end
    return ("got %s for %s"):format(tostring(np.ravel(got)):sub(1, 200), tostring(np.ravel(want)):sub(1, 200))
end

local function run(folder, name)
    folder = folder .. "/" .. name
    local f, params = np.io.load_onnx(folder .. "/model.onnx")
    for set = 0, math.huge do
        local data = ("%s/test_data_set_%d/"):format(folder, set)
        if not exists(data .. "output_0.pb") then return end
        local inputs = {}
        for k, info in ipairs(f.inputs) do inputs[info.name] = tensor(data .. ("input_%d.pb"):format(k - 1)) end
        local results = f(params, inputs)
        if np.is_array(results) then results = { [f.outputs[1].name] = results } end
        for k, info in ipairs(f.outputs) do
            local problem = difference(results[info.name], tensor(data .. ("output_%d.pb"):format(k - 1)),
                                       is_rough(name))
            if problem then error(("output '%s': %s"):format(info.name, problem), 0) end
        end
    end
end

--- Whether an error is one that is expected of a test.
local function is_expected(name, problem)
    for _, pattern in ipairs(REFUSED) do
        if problem:find(pattern) and problem:find "onnx_nodes_test.lua:%d+: " then return true end
    end
    for _, pair in ipairs(OTHERS) do
        if name:find(pair[1]) and problem:find(pair[2]) then return true end
    end
    return false
end

local own = os.getenv "NEAP_ONNX_TESTS"
for _, part in ipairs(own and { "" } or FOLDERS) do
    local folder, passed, refused = own or PACKAGE .. part, 0, 0
    if #names(folder) == 0 then
        check.skip("the standard's tests: " .. part,
                   "libonnx-testdata is not installed (tools/setup --checks installs it)")
    else
        check.test("the standard's tests: " .. part, function()
            local wrong = {}
            for _, name in ipairs(names(folder)) do
                local ok, problem = pcall(run, folder, name)
                if ok then
                    passed = passed + 1
                elseif type(problem) == "string" and is_expected(name, problem) then
                    refused = refused + 1
                else
                    wrong[#wrong + 1] = name .. ": " .. tostring(problem)
                end
            end
            check.ok(#wrong == 0, table.concat(wrong, "\n"))
            check.ok(passed > 0)
        end)
        print(("%s: %d pass, %d are refused"):format(part, passed, refused))
    end
end

check.done()
