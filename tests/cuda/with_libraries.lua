--- with_libraries.lua: scripts on GPUs of the fake driver with libraries that stand in for CUDA's, for tests; or, with
-- NEAP_TEST_ON=cuda in the environment, on the GPU of the machine with those that are there.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local with = {}

--- The folder of the fake driver.
with.fake = process.neap:match "^(.*)/[^/]*$" .. "/tests/cuda/fake"

with.is_fake = not os.getenv "NEAP_TEST_ON"

--- Runs neap with the driver and its libraries. Returns its exit status, stdout, stderr.
function with.run(environment, arguments)
    local command = { "env" }
    if with.is_fake then
        command = { "env", "LD_LIBRARY_PATH=" .. with.fake, "NEAP_CUDA_LIBRARIES=" .. with.fake .. "/libraries" }
    end
    for name, value in pairs(environment) do command[#command + 1] = name .. "=" .. value end
    command[#command + 1] = process.neap
    for _, word in ipairs(arguments) do command[#command + 1] = word end
    return process.run(command)
end

function with.output(environment, arguments)
    local status, out, err = with.run(environment, arguments)
    check.equal({ status, err }, { 0, "" }, out)
    return out
end

--- A test that the fake driver alone can pass.
function with.fake_test(name, f)
    if with.is_fake then
        check.test(name, f)
    else
        check.skip(name, "the driver is not the fake one")
    end
end

local counting = with.is_fake and ([[
    local ffi = require "ffi"
    ffi.cdef "uint64_t fake_library_launches(void), fake_library_halves(void);"
    local driver = ffi.load "%s/libcuda.so.1"
    local function launches() return tonumber(driver.fake_library_launches()) end
    local function halves() return tonumber(driver.fake_library_halves()) end
]]):format(with.fake) or "local function launches() end local function halves() end\n"

--- What scripts share: how often a library was asked (nil: nobody knows), and a function that computes on both sides.
with.head = counting .. [[
    local function random(shape, dtype, seed)
        local part = dtype:gsub("c64", "f32"):gsub("c128", "f64")
        local x = np.random.normal(np.random.key(seed), shape):astype(part)
        if part == dtype then return x end
        return np.complex(x, np.random.normal(np.random.key(seed + 100), shape):astype(part))
    end
    local of_halves -- how many of these multiply halves as they are
    -- Compares f on the CPU with f on a GPU, which asks libraries so many times (nil: at least once). Where nobody
    -- counts, the plan must not say that the host does all calls: it would give the right values, too.
    local function compare(name, times, f, ...)
        local on_gpu = {}
        for k = 1, select("#", ...) do on_gpu[k] = np.device_put(select(k, ...), "cuda:0") end
        local expected = f(...):wait()
        local before, multiplied = launches(), halves()
        local got = f(unpack(on_gpu)):wait()
        local asked = before and launches() - before
        if asked and asked ~= (times or math.max(asked, 1)) then print(name, "asked libraries", asked) end
        local steps = not asked and times ~= 0 and tostring(np.explain(f(unpack(on_gpu))))
        local why = steps and not steps:find "call, cuda:0" and steps:match "call, cpu:0 (%b())"
        if why and why ~= "(it is not written for GPUs)" then print(name, "is left to the host", why) end
        if multiplied and halves() - multiplied ~= (of_halves or 0) then
            print(name, "multiplied halves", halves() - multiplied)
        end
        if tostring(got.device) ~= "cuda:0" then print(name, "is on", got.device) end
        got = np.device_put(got, "cpu:0")
        if tostring(got.dtype) ~= tostring(expected.dtype) then print(name, got.dtype, expected.dtype) end
        if expected.size == 0 then return end
        local error = (got - expected):abs():max():item() / (expected:abs():max():item() + 1e-30)
        local most = ({ f16 = 2e-3, bf16 = 1.6e-2, f32 = 1e-5, c64 = 1e-5, f64 = 1e-13, c128 = 1e-13 })[got.dtype]
        if not (error <= most) then print(name, "is wrong by", error) end
    end
]]

return with
