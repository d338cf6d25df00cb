--- bench_test.lua (release build only): the group "gpu" of bench/run: by the fake driver all its rows are measured,
-- which says nothing of their times; without a GPU it says why it was not run.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local fake = process.neap:match "^(.*)/[^/]*$" .. "/tests/cuda/fake"

--- Runs the group. Returns what it prints, and the text of its JSON.
local function run(environment)
    local folder = os.tmpname()
    os.execute(("rm %s && mkdir %s"):format(folder, folder))
    local command = { "env", "NEAP_BENCH_PYTHON=/nowhere", "LD_LIBRARY_PATH=" .. fake,
                      "NEAP_CUDA_LIBRARIES=" .. fake .. "/libraries" }
    for name, value in pairs(environment) do command[#command + 1] = name .. "=" .. value end
    local words = { process.neap, "bench/run.lua", "--neap", process.neap, "--only", "^gpu$", "--quick", "--results",
                    folder }
    for _, word in ipairs(words) do command[#command + 1] = word end
    local status, out, err = process.run(command)
    local json = status == 0 and process.read(folder .. "/latest.json")
    os.execute("rm -r " .. folder)
    check.equal(status, 0, err)
    return out, json
end

check.test("without a GPU the reason is told", function()
    local out, json = run { NEAP_FAKE_DEVICES = 0 }
    check.ok(out:find("\nnot run: gpu: the NVIDIA driver finds no GPU\n", 1, true), out)
    check.ok(not json:find('"group": "gpu"', 1, true), json)
end)

check.test("all rows are measured", function()
    local out, json = run {}
    for _, name in ipairs {
        "a*x+b on a GPU", "softmax of rows of 512 on a GPU", "Adam on a GPU", "sum on a GPU",
        "product f32, 1 of 32x24 by 24x16", "product f32, 3 of 32x24 by 24x16", "product f64, 1 of 32x24 by 24x16",
        "product f16, 1 of 32x24 by 24x16", "product bf16, 1 of 32x24 by 24x16", "product bf16, 3 of 32x24 by 24x16",
        "first result of a new map", "first result of a new softmax", "a kernel of a cached step of 8",
        "a turn of a scan", "a turn of a fori_loop", "a turn of a while_loop",
        "training step, MLP, tiny", "training step, transformer, tiny", "training step, CNN, tiny",
    } do
        check.ok(out:find("\n" .. name .. "  ", 1, true), name .. " is missing in\n" .. out)
    end
    check.ok(not out:find("not run", 1, true), out)
    check.equal(select(2, json:gsub('"group": "gpu"', "")), 17 + 7 + 5 + 3 + 1 + 3 + 3)
    check.equal(select(2, json:gsub('"ratio": [%d.]+', "")), 17 + 7 + 5)
end)

check.done()
