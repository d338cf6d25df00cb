--- places_test.lua (not under tsan): what has code for a GPU, or a library, is done there. What a GPU refuses the host
-- does in its place, with the same results, so no test of results sees it; this one reads the plans. With
-- NEAP_TEST_ON=cuda on the GPU of the machine.
local check = require "tests.lib.check"
local with = require "tests.cuda.with_libraries"

if not with.output({}, { "doctor" }):find "\ncode for GPUs +LLVM [%d.]+\n" then
    print "0 passed, 0 failed, 1 skipped: there is no generator of code for GPUs"
    os.exit(0)
end

--- Steps of the plan of an expression that the host does, with the reason, and how many there are in all. The fake
-- driver does on the host only what a GPU would, too.
local function steps_of(expression, environment)
    environment = environment or {}
    environment.NEAP_FAKE_HOST = 0
    local status, out, err = with.run(environment, { "--gpu", "-e", [[
        local key = np.random.key(7)
        local x = np.random.normal(key, { 64, 64 }):wait()
        local long, at = np.random.normal(key, { 70000 }):wait(), np.random.randint(key, { 900 }, 0, 40):wait()
        local text, n = tostring(np.explain(]] .. expression .. [[)), 0
        for line in text:gmatch "[^\n]+" do
            if line:find "cuda:0" or line:find "cpu:0" then n = n + 1 end
            if line:find "cpu:0" then print(line) end
        end
        if n == 0 then print(text) end]] })
    check.equal(status, 0, err)
    return out
end

for name, expression in pairs {
    map = "x * 2 + x:transpose()", copy = "np.copy(x:transpose())", sum = "long:sum()", columns = "x:max { axis = 0 }",
    rows = "np.softmax(x, { axis = 1 })", half = "x:astype 'f16' * 2 + 1", whole = "x:astype 'i64' % 7",
    functions = "np.tanh(x) + np.exp(x:astype 'f64')", gather = "x[at]", sort = "np.sort(long)",
    ["sort of rows"] = "np.argsort(x, { axis = 0 })", cumsum = "long:cumsum()", draw = "np.random.normal(key, { 999 })",
    add = "np.zeros { 40 }:at { at }:add(long[':900'])", set = "np.zeros { 40 }:at { at }:set(long[':900'])",
    search = "np.searchsorted(np.sort(long), x)", loop = "np.fori_loop(0, 9, function(i, c) return c * 0.5 + i end, x)",
} do
    check.test("code: " .. name, function() check.equal(steps_of(expression), "") end)
end

for name, expression in pairs {
    product = "x:matmul(x)", triangle = "np.linalg.solve_triangular(x, x)", solve = "np.linalg.solve(x, x)",
    cholesky = "np.linalg.cholesky(x:matmul(x:transpose()) + np.eye(64) * 99)", svd = "np.linalg.svdvals(x)",
    fft = "np.fft.rfft(x)", convolution = "np.nn.conv(x:reshape(1, 64, 64, 1), np.ones { 3, 3, 1, 1 })",
} do
    check.test("library: " .. name, function() check.equal(steps_of(expression), "") end)
end

with.fake_test("what the host does in place of a GPU is seen", function()
    check.ok(steps_of("np.linalg.det(x)"):find("it is not written for GPUs", 1, true))
    check.ok(steps_of("x + 1", { NEAP_FAKE_CAPABILITY = 61, NEAP_FAKE_PTX = 1 }):find("GPUs from sm_75 on", 1, true))
end)

check.done()
