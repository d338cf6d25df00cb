--- libraries_test.lua (not under tsan): routines of libraries on GPUs, by the fake driver and libraries that stand in
-- for CUDA's: products, systems of equations and Fourier transforms are those of the CPU but for rounding, in the order
-- of the stream; what no library does, or where there is none, the host does, and np.explain says why.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local with = require "tests.cuda.with_libraries"

local fake, run, output, head = with.fake, with.run, with.output, with.head

-- ---- Products -------------------------------------------------------------------------------------------------------

check.test("products of all dtypes and layouts are those of the CPU", function()
    check.equal(output({ NEAP_FAKE_DELAY = 50 }, { "-e", head .. [[
        local function product(a, b) return a:matmul(b) end
        for _, dtype in ipairs { "f32", "f64", "c64", "c128" } do
            local function r(seed, ...) return random({ ... }, dtype, seed) end
            compare("plain", 1, product, r(1, 3, 4), r(2, 4, 5))
            compare("row", 1, product, r(1, 1, 4), r(2, 4, 5))
            compare("column", 1, product, r(1, 6, 4), r(2, 4, 1))
            compare("one", 1, product, r(1, 1, 7), r(2, 7, 1))
            compare("vectors", 1, product, r(1, 7), r(2, 7))
            compare("batch", 1, product, r(1, 2, 3, 4, 5), r(2, 2, 3, 5, 6))
            compare("shared", 1, product, r(1, 7, 4, 5), r(2, 5, 6))
            compare("table", 3, product, r(1, 3, 1, 4, 5), r(2, 1, 2, 5, 6))
            compare("left", 1, function(a, b) return a:transpose():matmul(b) end, r(1, 4, 3), r(2, 4, 5))
            compare("right", 1, function(a, b) return a:matmul(b:transpose()) end, r(1, 3, 4), r(2, 5, 4))
            compare("both", 1, function(a, b) return b:transpose():matmul(a:transpose()) end, r(1, 3, 4), r(2, 4, 5))
            compare("nothing", 0, product, r(1, 3, 0), r(2, 0, 5))
            compare("empty", 0, product, r(1, 0, 3), r(2, 3, 5))
        end
        local a, b = random({ 8, 9 }, "f32", 3), random({ 9, 4 }, "f32", 4)
        compare("rows", 1, function(a, b) return a"2:7":matmul(b) end, a, b)
        compare("columns", 1, function(a, b) return a":, 3:8":matmul(b"3:8") end, a, b)
        compare("steps", 1, function(a, b) return a"::2, ::2":matmul(b"::2") end, a, b)
        compare("around", 2, function(a, b) return (a * 2 + 1):matmul(b):tanh():matmul(b:transpose()) - 1 end, a, b)
        print "done"]] }), "done\n")
end)

-- A product of halves in front of, behind and between maps, views and casts; `of_halves` counts those that a library
-- multiplied as they are.
local products_of_halves = head .. [[
    local function product(a, b) return a:matmul(b) end
    local function check_all(dtype, as_they_are)
        local function r(seed, ...) return random({ ... }, dtype, seed) end
        local function both(name, times, f, ...)
            of_halves = as_they_are and times or 0
            if type(times) == "table" then times, of_halves = times[1], as_they_are and times[2] or 0 end
            compare(dtype .. ", " .. name, times, f, ...)
            compare(dtype .. ", jitted, " .. name, times, np.jit(f), ...)
        end
        both("plain", 1, product, r(1, 3, 4), r(2, 4, 5))
        both("row", 1, product, r(1, 1, 4), r(2, 4, 5))
        both("column", 1, product, r(1, 6, 4), r(2, 4, 1))
        both("vectors", 1, product, r(1, 7), r(2, 7))
        both("batch", 1, product, r(1, 2, 3, 4, 5), r(2, 2, 3, 5, 6))
        both("shared", 1, product, r(1, 7, 4, 5), r(2, 5, 6))
        both("table", as_they_are and 3 or 1, product, r(1, 3, 1, 4, 5), r(2, 1, 2, 5, 6))
        both("turned", 1, function(a, b) return a:transpose():matmul(b:transpose()) end, r(1, 4, 3), r(2, 5, 4))
        both("parts", 1, function(a, b) return a"2:7, 1:5":matmul(b"3:7") end, r(1, 8, 9), r(2, 9, 4))
        both("steps", { 1, 0 }, function(a, b) return a"::2, ::2":matmul(b"::2") end, r(1, 8, 9), r(2, 9, 4))
        both("as f32", 1, function(a, b)
            return a:astype "f32":transpose():matmul(b:transpose():astype "f32")
        end, r(1, 4, 3), r(2, 5, 4))
        both("around", 2, function(a, b)
            local c = (a * 2 + 1):matmul(b)
            return c:tanh():matmul(b:transpose()) - a
        end, r(1, 3, 4), r(2, 4, 5))
        both("a cast that others read", { 2, 1 }, function(a, b)
            local wide = a:astype "f32"
            return (wide + 1):matmul(np.ones { 4, 1 }) * 0 + wide:matmul(b:astype "f32"):sum()
        end, r(1, 3, 4), r(2, 4, 5))
        both("gradient", 2, function(a, b)
            return np.grad(function(a) return a:matmul(b):astype "f32":sin():sum() end)(a)
        end, r(1, 3, 4), r(2, 4, 5))
        -- A sum in f32, which bf16 would end at 256, and f16 at 2048.
        both("ones", 1, product, r(1, 1, 3000) * 0 + 1, r(2, 3000, 1) * 0 + 1)
    end
]]

check.test("halves are multiplied as they are, and added up in f32", function()
    check.equal(output({ NEAP_FAKE_DELAY = 50 }, { "-e", products_of_halves .. [[
        check_all("f16", true)
        check_all("bf16", true)
        local key = np.random.key(1) -- of numbers that are exact in halves, and their sums in f32
        local a, b = np.random.randint(key, { 3, 4 }, -5, 6), np.random.randint(key, { 4, 5 }, -9, 10)
        for _, dtype in ipairs { "f16", "bf16" } do
            local x, y = a:astype(dtype), b:astype(dtype)
            of_halves = 1
            compare("integers", 1, function(x, y) return x:matmul(y) end, x, y)
            local far = np.device_put(x, "cuda:0"):matmul(np.device_put(y, "cuda:0"))
            print((np.device_put(far, "cpu:0"):astype "i32" - a:matmul(b)):abs():max():item())
        end
        of_halves = 0 -- f16 and bf16 meet in f32
        compare("two sorts", 1, function(a, b) return a:astype "f16":matmul(b:astype "bf16") end,
                random({ 3, 4 }, "f32", 1), random({ 4, 5 }, "f32", 2))
        print "done"]] }), "0\n0\ndone\n")
end)

with.fake_test("halves are multiplied as f32 where they are not for tensor cores", function()
    check.equal(output({ NEAP_TENSOR_CORES = 0 }, { "-e", products_of_halves .. [[
        check_all("f16", false)
        check_all("bf16", false)]] }), "")
    check.equal(output({ NEAP_FAKE_CAPABILITY = 75 }, { "-e", products_of_halves .. [[
        check_all("f16", true)
        check_all("bf16", false)]] }), "")
    local multiply = { "--gpu", "-e", [[
        local x = (np.random.key(1)[0] * 0 + np.ones { 3, 3 }):astype "f16":wait()
        local multiply = np.jit(function(x) return x:matmul(x) end)
        print(multiply(x):sum()) print((np.explain(multiply)))]] }
    local out = output({}, multiply)
    check.ok(out:find "call, of f16" and out:find "^27%.0\n", out)
    out = output({ NEAP_TENSOR_CORES = 0 }, multiply)
    check.ok(not out:find "of f16" and out:find "^27%.0\n", out)
end)

check.test("f32 is not computed in TF32 unless it is asked for", function()
    local code = head .. [[
        local a, b = random({ 20, 30 }, "f32", 1), random({ 30, 20 }, "f32", 2)
        local far = np.device_put(np.device_put(a, "cuda:0"):matmul(np.device_put(b, "cuda:0")), "cpu:0")
        local error = (far - a:matmul(b)):abs():max():item()
        print(error < 1e-5, error > 1e-4 and error < 1e-1)]]
    check.equal(output({}, { "-e", code }), "true\tfalse\n")
    check.equal(output({ NEAP_TF32 = 1 }, { "-e", code }), "false\ttrue\n")
end)

check.test("a training step with libraries is that of the CPU", function()
    local training = [[
        local key = np.random.key(7)
        local x = np.random.normal(key, {64, 10})
        local y = (x:sum{axis=1, keepdims=true}):tanh()
        local w1, w2 = np.random.normal(np.random.fold_in(key, 1), {10, 32}) * 0.3, np.random.normal(key, {32, 1}) * 0.2
        local step = np.jit(np.value_and_grad(function(w1, w2)
            return ((x:matmul(w1):tanh():matmul(w2) - y)^2):mean()
        end, {argnums={1, 2}}))
        for k = 1, 30 do
            local loss, grads = step(w1, w2)
            w1, w2 = w1 - 0.1 * grads[1], w2 - 0.1 * grads[2]
            if k % 10 == 0 then np.printf("%.4f\n", loss) end
        end
        np.printf("%.3f\n", (w1 * w1):sum())]]
    local expected = output({}, { "-e", training })
    check.ok(#expected > 20)
    check.equal(output({ NEAP_FAKE_DELAY = 100 }, { "--gpu", "-e", training .. " " .. head .. [[
        w1:wait()
        if launches() and launches() < 120 then print(launches(), "launches of libraries") end]] }), expected)
    check.equal(output({}, { "--gpu", "--scheduler", "naive", "-e", training }), expected)
    check.equal(output({ NEAP_FAKE_HOST = 0 }, { "--gpu", "-e", training }), expected)
end)

-- ---- Triangular systems ---------------------------------------------------------------------------------------------

check.test("triangular systems are those of the CPU, and the other triangle is not read", function()
    check.equal(output({ NEAP_FAKE_DELAY = 50 }, { "-e", head .. [[
        local solve = np.linalg.solve_triangular
        for _, dtype in ipairs { "f32", "f64", "c64", "c128" } do
            for n, batch in ipairs { {}, { 3 }, { 2, 2 } } do
                local shape, right = {}, {}
                for k, extent in ipairs(batch) do shape[k], right[k] = extent, extent end
                for _, extent in ipairs { 5, 5 } do shape[#shape + 1] = extent end
                for _, extent in ipairs { 5, 3 } do right[#right + 1] = extent end
                local a = random(shape, dtype, n) + np.eye(5):astype(dtype) * 6
                local b = random(right, dtype, n + 10)
                local spoilt = np.where(np.tri(5):astype "bool", a, 0 / 0)
                for _, lower in ipairs { true, false } do
                    for _, trans in ipairs { true, false } do
                        for _, unit in ipairs { true, false } do
                            local options = { lower = lower, trans = trans, unit_diagonal = unit }
                            compare("solve", 1, function(a, b) return solve(a, b, options) end, a, b)
                        end
                    end
                end
                compare("lower", 1, function(a, b) return solve(a, b, { lower = true }) end, spoilt, b)
            end
        end
        local many = random({ 2500, 2, 2 }, "f32", 1) * 0.1 + np.eye(2)
        local sides = random({ 2500, 2, 1 }, "f32", 2)
        compare("many", 2, function(a, b) return solve(a, b, { lower = true }) end, many, sides)
        print "done"]] }), "done\n")
end)

check.test("systems, inverses and factors are those of the CPU", function()
    check.equal(output({ NEAP_FAKE_DELAY = 50 }, { "-e", head .. [[
        local L = np.linalg
        local function shape(batch, ...)
            local out = {}
            for _, extent in ipairs(batch) do out[#out + 1] = extent end
            for _, extent in ipairs { ... } do out[#out + 1] = extent end
            return out
        end
        for _, dtype in ipairs { "f32", "f64", "c64", "c128" } do
            for n, batch in ipairs { {}, { 3 }, { 2, 2 } } do
                local a, b = random(shape(batch, 5, 5), dtype, n), random(shape(batch, 5, 3), dtype, n + 10)
                compare("solve", nil, function(a, b) return L.solve(a, b) end, a, b)
                b = random(shape(batch, 5, 1), dtype, 9)
                compare("columns", nil, function(a, b) return L.solve(a, b) end, a, b)
                compare("inv", nil, function(a) return L.inv(a) end, a)
                if dtype:find "f" then -- of complex numbers cuBLAS takes other ones for the largest
                    compare("lower", nil, function(a) return (select(2, L.lu(a))) end, a)
                    compare("pivots", nil, function(a) return (L.lu(a)) end, a)
                end
                compare("lu", nil, function(a)
                    local p, l, u = L.lu(a)
                    return p:matmul(l):matmul(u)
                end, a)
                compare("det", nil, function(a) return L.det(a) end, a)
            end
            compare("gradient", nil, function(a)
                return np.grad(function(a) return L.solve(a, np.ones{ 4, 2 }):abs():sum() end)(a)
            end, random({ 4, 4 }, dtype, 3))
        end
        compare("large", nil, function(a) return L.inv(a) end, random({ 2, 260, 260 }, "f64", 1) + np.eye(260) * 40)
        compare("many", nil, function(a) return L.inv(a) end, random({ 2100, 2, 2 }, "f64", 1) + np.eye(2) * 9)
        print "done"]] }), "done\n")
end)

-- ---- Fourier transforms ---------------------------------------------------------------------------------------------

check.test("Fourier transforms along any axis are those of the CPU", function()
    check.equal(output({ NEAP_FAKE_DELAY = 50 }, { "-e", head .. [[
        local fft = np.fft
        for _, dtypes in ipairs { { "f32", "c64" }, { "f64", "c128" } } do
            for _, n in ipairs { 2, 3, 8, 15 } do
                local cases = { { { 4, n }, -1 }, { { n, 3 }, 0 }, { { 3, n, 3 }, 1 }, { { n }, 0 } }
                for _, of in ipairs(cases) do
                    local shape, axis = of[1], of[2]
                    local real, complex = random(shape, dtypes[1], n), random(shape, dtypes[2], n + 1)
                    local o = { axis = axis }
                    compare("fft", nil, function(x) return fft.fft(x, o) end, complex)
                    compare("ifft", nil, function(x) return fft.ifft(x, o) end, complex)
                    compare("rfft", nil, function(x) return fft.rfft(x, o) end, real)
                    compare("irfft", nil, function(x) return fft.irfft(x, o) end, complex)
                    compare("odd", nil, function(x) return fft.irfft(x, { axis = axis, n = 5 }) end, complex)
                end
            end
        end
        compare("one", 0, function(x) return fft.fft(x) end, random({ 3, 1 }, "c64", 1))
        compare("flat", nil, function(x) return fft.rfft(x"1:") end, random({ 11 }, "f32", 1))
        for k = 2, 80 do compare("many lengths", 1, function(x) return fft.fft(x) end, random({ k }, "c64", k)) end
        compare("again", 1, function(x) return fft.fft(x) end, random({ 2 }, "c64", 1))
        print "done"]] }), "done\n")
end)

-- ---- What libraries do not do ---------------------------------------------------------------------------------------

with.fake_test("without a library the host computes, and np.explain says why", function()
    local none = { NEAP_CUDA_LIBRARIES = "/nowhere", NEAP_FAKE_HOST = 0 }
    local product = { "--gpu", "-e",
                      "local x = np.ones{3, 3}; print(np.explain(x:matmul(x))) print(x:matmul(x):sum())" }
    local out = output(none, product)
    check.ok(out:find("libcublas.so.13 is not installed", 1, true) and out:find "\n27%.0\n$", out)
    out = output({ NEAP_FAKE_HOST = 0, NEAP_FAKE_BLAS_STARTS = 0 }, product)
    check.ok(out:find("libcublas.so.13 does not start: CUBLAS_STATUS_NOT_INITIALIZED", 1, true), out)
    check.ok(out:find "\n27%.0\n$", out)
    out = output({ NEAP_FAKE_HOST = 0 }, product)
    check.ok(not out:find("libcublas", 1, true) and out:find "cuda:0" and out:find "\n27%.0\n$", out)
    for code, reason in pairs {
        ["np.linalg.inv(np.eye(3))"] = "libcublas.so.13 is not installed",
        ["np.fft.fft(np.ones(8))"] = "libcufft.so.12 is not installed",
        ["np.eye(3):astype 'i32':matmul(np.eye(3):astype 'i32')"] = "multiply no matrices of integers and bools",
        ["np.linalg.cholesky(np.eye(3))"] = "libcublas.so.13 is not installed",
        ["np.linalg.det(np.eye(3))"] = "it is not written for GPUs",
    } do
        out = output(none, { "--gpu", "-e", "print(np.explain((" .. code .. ")))" })
        check.ok(out:find(reason, 1, true), out)
    end
end)

with.fake_test("a file that is no library, and an old one, are told", function()
    local folder, whole = os.tmpname(), fake:match "^/" and fake or "$PWD/" .. fake
    os.execute(("rm %s && mkdir %s && ln -s %s/libraries/libcufft.so.12 %s/libcublas.so.13"):format(
        folder, folder, whole, folder))
    os.execute(("touch %s/libcufft.so.12"):format(folder))
    local out = output({ NEAP_CUDA_LIBRARIES = folder }, { "doctor" })
    os.execute(("ln -s %s/libraries/libcublas.so.13 %s/libcublas.so.12"):format(whole, folder))
    local older = output({ NEAP_CUDA_LIBRARIES = "/nowhere:" .. folder }, { "doctor" })
    check.ok(older:find("cuBLAS 13.1.2, libcublas.so.12; ", 1, true), older)
    older = output({ NEAP_CUDA_LIBRARIES = fake .. "/libraries", NEAP_FAKE_VERSION = 12080 }, { "doctor" })
    check.ok(older:find("no cuBLAS: libcublas.so.12 is not installed; ", 1, true), older)
    check.ok(older:find("; cuDNN 9.26.0, libcudnn.so.9; ", 1, true), older)
    os.execute("rm -r " .. folder)
    check.ok(out:find("no cuBLAS: libcublas.so.13 has no cublasGetProperty", 1, true), out)
    check.ok(out:find("no cuFFT: libcufft.so.12 cannot be loaded: ", 1, true), out)
end)

with.fake_test("neap doctor names the libraries", function()
    local all = "cuBLAS 13.1.2, libcublas.so.13; cuSOLVER 12.0.4, libcusolver.so.12; cuFFT 12.0.0, libcufft.so.12; "
        .. "cuDNN 9.26.0, libcudnn.so.9; NCCL 2.28.3, libnccl.so.2\n"
    check.ok(output({}, { "doctor" }):find(all, 1, true))
    check.ok(output({ NEAP_FAKE_DEVICES = 0 }, { "doctor" }):find("their libraries +none: there is no GPU\n"))
end)

-- ---- Failures -------------------------------------------------------------------------------------------------------

with.fake_test("any call of the driver and of libraries may fail", function()
    local code = [[
        local ok, text = pcall(function()
            local x = np.device_put(np.arange(12):reshape(3, 4):astype "f32", "cuda:0")
            local y = x:matmul(x:transpose()) + 1
            local z = np.fft.irfft(np.fft.rfft(y, {axis=0}), {axis=0, n=3})
            local one = np.device_put(np.eye(3), "cuda:0")
            return np.linalg.solve_triangular(one, np.linalg.inv(z + one * 9), {lower=true}):sum():item()
        end)
        print(ok and ("%.3f"):format(text) or "FAILED " .. tostring(text))]]
    local expected = output({}, { "-e", code })
    local told, right, runs = 0, 0, 0
    for _, how in ipairs { "", ":700" } do
        for n = 1, 190, os.getenv "NEAP_TEST_BUILD" == "release" and 21 or 47 do
            local status, out, err = run({ NEAP_FAKE_FAIL = n .. how }, { "-e", code })
            check.equal({ status, err }, { 0, "" }, n .. how .. ": " .. out)
            check.ok(out == expected or out:find "^FAILED .+", n .. how .. ": " .. out)
            runs, told, right = runs + 1, told + (out:find "^FAILED" and 1 or 0), right + (out == expected and 1 or 0)
        end
    end
    check.ok(told >= runs / 6 and right >= 2, told .. " told, " .. right .. " right of " .. runs)
end)

process.cleanup()
check.done()
