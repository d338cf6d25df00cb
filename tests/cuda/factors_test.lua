--- factors_test.lua (not under tsan): factorizations by libraries on GPUs, and convolutions: by the fake driver and
-- libraries that stand in for CUDA's they are those of the CPU but for rounding, in the order of the stream.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local with = require "tests.cuda.with_libraries"

local output = with.output
local head = with.head .. [[
    local L = np.linalg
    local function shape(batch, ...)
        local out = {}
        for _, extent in ipairs(batch) do out[#out + 1] = extent end
        for _, extent in ipairs { ... } do out[#out + 1] = extent end
        return out
    end
    local function adjoint(a)
        return np.conj(np.swapaxes(a, -1, -2))
    end
    local function positive(shape, dtype, seed)
        local a = random(shape, dtype, seed)
        return a:matmul(adjoint(a)) + np.eye(shape[#shape])
    end
    local DTYPES = { "f32", "f64", "c64", "c128" }
    local STACKS = { {}, { 3 }, { 2, 2 } }
]]

-- ---- Factorizations -------------------------------------------------------------------------------------------------

check.test("Cholesky factors are those of the CPU", function()
    check.equal(output({ NEAP_FAKE_DELAY = 50 }, { "-e", head .. [[
        local function factor(a) return L.cholesky(a) end
        for _, dtype in ipairs(DTYPES) do
            for n, batch in ipairs(STACKS) do compare("factor", nil, factor, positive(shape(batch, 5, 5), dtype, n)) end
            compare("one row", nil, factor, positive({ 1, 1 }, dtype, 3))
        end
        compare("large", nil, factor, positive({ 2, 260, 260 }, "f64", 1))
        compare("many", nil, factor, positive({ 2100, 2, 2 }, "f64", 1))
        compare("gradient", nil, function(a)
            return np.grad(function(x) return (L.cholesky(x) ^ 2 * np.arange(4)):sum() end)(a)
        end, positive({ 4, 4 }, "f64", 1))
        local spoilt = np.where(np.tri(4):astype "bool", positive({ 4, 4 }, "f32", 2), 9)
        compare("lower triangle", nil, function(a) return L.cholesky(a, { symmetrize_input = false }) end, spoilt)
        print "done"]] }), "done\n")
end)

check.test("a matrix that is not positive definite has NaN, and the others of its stack have factors", function()
    local code = [[
        local a = np.stack { np.eye(3) * 4, np.eye(3) - 2, np.eye(3) * 0, np.eye(3) }
        print(np.linalg.cholesky(a))
        print(np.linalg.cholesky(np.ones { 3, 3 } * -1))]]
    local expected = output({}, { "-e", code })
    check.ok(expected:find "nan")
    check.equal(output({ NEAP_FAKE_HOST = 0 }, { "--gpu", "-e", code }), expected)
end)

check.test("QR factors are those of the CPU, with its signs", function()
    check.equal(output({ NEAP_FAKE_DELAY = 50 }, { "-e", head .. [[
        for _, dtype in ipairs(DTYPES) do
            for n, batch in ipairs(STACKS) do
                for _, extents in ipairs { { 4, 4 }, { 6, 3 }, { 3, 5 }, { 1, 4 }, { 4, 1 } } do
                    for _, mode in ipairs { "reduced", "complete" } do
                        local a = random(shape(batch, extents[1], extents[2]), dtype, n)
                        compare("q", nil, function(x) return (L.qr(x, { mode = mode })) end, a)
                        compare("r", nil, function(x) return (select(2, L.qr(x, { mode = mode }))) end, a)
                    end
                end
            end
        end
        compare("zeros", nil, function(x) return (select(2, L.qr(x))) end, np.tri(5, 3))
        print "done"]] }), "done\n")
end)

check.test("eigenvalues are those of the CPU, and vectors are eigenvectors", function()
    check.equal(output({ NEAP_FAKE_DELAY = 50 }, { "-e", head .. [[
        local function again(a)
            local w, v = L.eigh(a)
            return (v * np.expand_dims(w, -2)):matmul(adjoint(v))
        end
        local function grams(a)
            local v = select(2, L.eigh(a))
            return adjoint(v):matmul(v)
        end
        for _, dtype in ipairs(DTYPES) do
            for n, batch in ipairs(STACKS) do
                for _, rows in ipairs { 1, 5, 34 } do
                    local a = random(shape(batch, rows, rows), dtype, n)
                    a = a + adjoint(a)
                    compare("values", nil, function(x) return (L.eigh(x)) end, a)
                    compare("values alone", nil, function(x) return L.eigvalsh(x) end, a)
                    compare("matrix", nil, again, a)
                    compare("unit", nil, grams, a)
                end
            end
        end
        compare("many", nil, again, positive({ 2100, 2, 2 }, "c64", 1))
        compare("gradient", nil, function(a)
            return np.grad(function(x) return (L.eigh(x) ^ 2):sum() end)(a)
        end, positive({ 4, 4 }, "f64", 1))
        print "done"]] }), "done\n")
end)

check.test("singular values are those of the CPU, and vectors give the matrix", function()
    check.equal(output({ NEAP_FAKE_DELAY = 20 }, { "-e", head .. [[
        local function again(full, k)
            return function(x)
                local u, s, vh = L.svd(x, { full_matrices = full })
                u = np.take(u, np.arange(k), { axis = -1 })
                return (u * np.expand_dims(s, -2)):matmul(np.take(vh, np.arange(k), { axis = -2 }))
            end
        end
        local function grams(full, which)
            return function(x)
                local v = (select(which, L.svd(x, { full_matrices = full })))
                if which == 1 then v = adjoint(v) end
                return v:matmul(adjoint(v))
            end
        end
        for _, dtype in ipairs(DTYPES) do
            for n, batch in ipairs(STACKS) do
                for _, extents in ipairs { { 4, 4 }, { 6, 3 }, { 3, 5 }, { 1, 4 }, { 4, 1 } } do
                    local a = random(shape(batch, extents[1], extents[2]), dtype, n)
                    compare("values", nil, function(x) return L.svdvals(x) end, a)
                    for _, full in ipairs { false, true } do
                        compare("matrix", nil, again(full, math.min(extents[1], extents[2])), a)
                        compare("u", nil, grams(full, 1), a)
                        compare("vh", nil, grams(full, 3), a)
                    end
                end
            end
        end
        compare("rank", nil, again(true, 3), np.ones { 5, 3 })
        compare("pinv", nil, function(x) return L.pinv(x) end, random({ 2, 4, 3 }, "f64", 1))
        print "done"]] }), "done\n")
end)

check.test("a matrix with numbers that are not finite has NaN, and the others of its stack have values", function()
    local code = [[
        local nan, inf = 0 / 0, 1 / 0
        local a = np.stack { np.eye(3), np.where(np.eye(3):gt(0), inf, 1), np.where(np.tri(3):gt(0), 1, nan),
                             np.ones { 3, 3 } * LARGE }
        local L = np.linalg
        for _, dtype in ipairs { "f32", "c64" } do
            local x = a:astype(dtype)
            print(np.isnan(L.eigvalsh(x)), np.isnan((select(2, L.eigh(x)))):all { axis = { 1, 2 } })
            print(np.isnan(L.svdvals(x)), np.isnan((L.svd(x))):all { axis = { 1, 2 } })
        end]]
    code = code:gsub("LARGE", with.is_fake and "1e38" or "1e15") -- cuSOLVER squares numbers
    local expected = output({}, { "-e", code })
    check.ok(expected:find "True" and expected:find "False")
    check.equal(output({ NEAP_FAKE_HOST = 0 }, { "--gpu", "-e", code }), expected)
end)

-- ---- Convolutions ---------------------------------------------------------------------------------------------------

check.test("convolutions and their derivatives are those of the CPU", function()
    check.equal(output({ NEAP_FAKE_DELAY = 20 }, { "-e", head .. [[
        local CASES = { -- shapes of images and kernels, options
            { { 2, 6, 7, 3 }, { 3, 2, 3, 4 }, {} }, { { 2, 6, 7, 3 }, { 3, 3, 3, 4 }, { padding = "VALID" } },
            { { 2, 6, 7, 4 }, { 3, 2, 2, 6 }, { groups = 2, strides = 2 } }, { { 3, 9, 2 }, { 4, 2, 5 }, {} },
            { { 1, 9, 8, 1 }, { 3, 3, 1, 2 }, { kernel_dilation = 2, strides = { 2, 1 } } },
            { { 2, 4, 5, 3, 2 }, { 2, 3, 2, 2, 3 }, { strides = { 1, 2, 1 } } },
            { { 2, 5, 6, 2 }, { 2, 2, 2, 3 }, { padding = { { 1, 2 }, { 0, 3 } } } },
            { { 2, 5, 6, 2 }, { 1, 1, 2, 3 }, { padding = { { 1, 1 }, { 2, 2 } } } },
        }
        for _, dtype in ipairs { "f32", "f64" } do
            for k, case in ipairs(CASES) do
                local x, w = random(case[1], dtype, k), random(case[2], dtype, k + 20)
                local function conv(x, w) return np.nn.conv(x, w, case[3]) end
                local function loss(x, w) return (np.sin(conv(x, w)) * 2):sum() end
                local name = dtype .. ", case " .. k
                compare(name, 4, conv, x, w)
                compare(name .. ", images", 8, function(x, w) return np.grad(loss)(x, w) end, x, w)
                compare(name .. ", kernel", 8, function(x, w) return np.grad(loss, { argnums = 2 })(x, w) end, x, w)
            end
        end
        compare("batched", 4, function(x, w)
            return np.vmap(function(w) return np.nn.conv(x"0", w) end)(w)
        end, random({ 2, 2, 5, 4, 2 }, "f32", 1), random({ 3, 2, 3, 2, 3 }, "f32", 2))
        for _, dtype in ipairs { "f16", "bf16" } do -- in a program cuDNN rounds, so halves are as they are
            local x, w = random({ 2, 6, 7, 4 }, dtype, 1), random({ 3, 2, 2, 6 }, dtype, 2)
            local function conv(x, w) return np.nn.conv(x, w, { groups = 2, strides = 2 }) end
            local function loss(x, w) return (conv(x, w):astype "f32":sin() * 2):sum() end
            compare(dtype, 4, conv, x, w)
            of_halves = 1
            compare(dtype .. ", jitted", 4, np.jit(conv), x, w)
            compare(dtype .. ", in the middle", 4, np.jit(function(x, w)
                return (conv(x * 2, w) + 1):tanh()
            end), x, w)
            of_halves = 2
            compare(dtype .. ", images", 8, np.jit(function(x, w) return np.grad(loss)(x, w) end), x, w)
            compare(dtype .. ", kernel", 8, np.jit(function(x, w)
                return np.grad(loss, { argnums = 2 })(x, w)
            end), x, w)
            of_halves = 0
            compare(dtype .. ", not rounded", 4, np.jit(function(x, w)
                return conv(x:astype "f32", w:astype "f32")
            end), x, w)
        end
        for k = 1, 70 do
            compare("many geometries", 4, function(x, w) return np.nn.conv(x, w) end, random({ 1, k, 2, 1 }, "f32", 1),
                    random({ 2, 1, 1, 2 }, "f32", 2))
        end
        print "done"]] }), "done\n")
end)

with.fake_test("a convolution of halves that cuDNN refuses is one of f32", function()
    local code = head .. [[
        local x, w = random({ 2, 6, 7, 4 }, "f16", 1), random({ 3, 2, 4, 6 }, "f16", 2)
        of_halves = 0
        compare("refused", 4, np.jit(function(x, w) return np.nn.conv(x, w) end), x, w)]]
    check.equal(output({ NEAP_FAKE_DNN_HALVES = 0 }, { "-e", code }), "")
    check.equal(output({ NEAP_TENSOR_CORES = 0 }, { "-e", code }), "")
end)

with.fake_test("a convolution that cuDNN does not do, and one without cuDNN, runs on the host", function()
    local code = [[
        local y = np.nn.conv(np.ones { 1, 5, 5, 2 }, np.ones { 3, 3, 2, 1 })
        print((np.explain(y))) print(y:sum())]]
    local out = output({ NEAP_FAKE_HOST = 0 }, { "--gpu", "-e", code })
    check.ok(not out:find("libcudnn", 1, true) and out:find "\n338%.0\n$", out)
    out = output({ NEAP_FAKE_HOST = 0, NEAP_CUDA_LIBRARIES = "/nowhere" }, { "--gpu", "-e", code })
    check.ok(out:find("libcudnn.so.9 is not installed", 1, true) and out:find "\n338%.0\n$", out)
    out = output({ NEAP_TF32 = 1 }, { "--gpu", "-e", code })
    check.ok(out:find "\n338%.0\n$", out)
    out = output({}, { "--gpu", "-e", [[
        print((np.nn.conv(np.ones { 0, 5, 5, 2 }, np.ones { 3, 3, 2, 1 })).shape)
        print(np.grad(function(w) return np.nn.conv(np.ones { 0, 4, 2 }, w):sum() end)(np.ones { 2, 2, 1 }):sum())]] })
    check.ok(out:find "0%.0\n$", out)
end)

-- ---- Failures -------------------------------------------------------------------------------------------------------

with.fake_test("any call of the driver and of libraries may fail", function()
    local code = [[
        local ok, text = pcall(function()
            local x = np.device_put(np.eye(3) * 4 + 1, "cuda:0")
            local q, r = np.linalg.qr(np.linalg.cholesky(x))
            local u, s, vh = np.linalg.svd(q:matmul(r))
            local w = np.linalg.eigvalsh(np.stack { u * s * vh, x })
            local y = np.nn.conv(np.ones { 1, 3, 3, 1 } * w:sum(), x:reshape(3, 3, 1, 1))
            return (y:sum() * 0 + w:sum() * 0 + np.linalg.eigvalsh(x):sum()):item()
        end)
        print(ok and ("%.3f"):format(text) or "FAILED " .. tostring(text))]]
    local expected = output({}, { "-e", code })
    check.equal(expected, "15.000\n")
    local told, right, runs = 0, 0, 0
    for _, how in ipairs { "", ":700" } do
        for n = 1, 330, os.getenv "NEAP_TEST_BUILD" == "release" and 29 or 109 do
            local status, out, err = with.run({ NEAP_FAKE_FAIL = n .. how }, { "-e", code })
            check.equal({ status, err }, { 0, "" }, n .. how .. ": " .. out)
            check.ok(out == expected or out:find "^FAILED .+", n .. how .. ": " .. out)
            runs, told, right = runs + 1, told + (out:find "^FAILED" and 1 or 0), right + (out == expected and 1 or 0)
        end
    end
    check.ok(told >= runs / 6 and right >= 2, told .. " told, " .. right .. " right of " .. runs)
end)

process.cleanup()
check.done()
