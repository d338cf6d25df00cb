--- onnx_saved_test.lua (release build only): programs that np.io.save_onnx writes give in onnxruntime (onnx_saved.txt
-- and onnx_saved/, make_onnx_saved.py) what they give here, and so does np.io.load_onnx of the files. Files of ops
-- alone have the bytes that they had when onnxruntime ran them.
--
-- Where a program is recorded in another way than it was, its file is made again: tests/golden/make.py onnx_saved.
local np = require "neap"
local cases = require "tests.lib.onnx_saved"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local FOLDER = reader.folder .. "onnx_saved/"

local function array(text)
    local golden = reader.array(text)
    return np.array(golden.values, { dtype = golden.dtype }):reshape(golden.shape)
end

local function contents(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read "*a"
    file:close()
    return text
end

local function close(got, want, what)
    check.equal({ got.dtype, got.shape }, { want.dtype, want.shape }, what)
    check.ok(np.allclose(got, want, { rtol = 1e-5, atol = 2e-6, equal_nan = true }),
             ("%s: %s for %s"):format(what, tostring(got), tostring(want)))
end

local golden = {}
for _, record in ipairs(reader.records "onnx_saved") do golden[record[2]] = record end

--- The results of a loaded model as a list in the order of f.outputs.
local function list_of(f, results)
    if np.is_array(results) then return { results } end
    local list = {}
    for k, port in ipairs(f.outputs) do list[k] = results[port.name] end
    return list
end

for _, case in ipairs(cases) do
    local name, inputs, f = unpack(case)
    check.test(name, function()
        local record = golden[name .. ".onnx"]
        local count, given, want = tonumber(record[3]), {}, {}
        for k = 1, count do given[k] = array(record[3 + 2 * k]) end
        for k = 4 + 2 * count, #record, 2 do want[#want + 1] = { record[k], array(record[k + 1]) } end
        local program, path = np.trace(f)(unpack(inputs)), os.tmpname()
        np.io.save_onnx(program, path)
        local bytes = contents(path)
        os.remove(path)
        check.ok(not case.bytes or bytes == contents(FOLDER .. name .. ".onnx"),
                 "the file has other bytes: run tests/golden/make.py onnx_saved")
        local saved, params = np.io.load_onnx(FOLDER .. name .. ".onnx")
        local here, read = np.tree.leaves { program(unpack(given)) }, list_of(saved, saved(params, unpack(given)))
        check.equal({ #here, #read }, { #want, #want })
        for k, pair in ipairs(want) do
            close(here[k], pair[2], pair[1])
            close(read[k], pair[2], pair[1] .. ", loaded")
        end
    end)
end

check.done()
