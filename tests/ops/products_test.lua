--- products_test.lua (sanitized with --long): products of matrices and vectors: bits that docs/numbers.md promises,
-- for layouts in memory, parts of a batch, numbers of workers and instruction sets; integers; convolutions in parts of
-- a batch.
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local function random(seed, dims, dtype)
    return np.random.normal(np.random.key(seed), dims, { dtype = dtype or "f32" })
end
local function same(a, b, what) check.ok(np.array_equal(a, b), what) end

check.test("a product with a vector is the sum of the products", function()
    for _, dtype in ipairs { "f32", "f64" } do
        for _, k in ipairs { 1, 15, 16, 17, 255, 256, 257, 1000, 4097 } do
            for _, m in ipairs { 1, 3, 33, 300 } do
                local a, v = random(k, { m, k }, dtype), random(m, { k }, dtype)
                local what = dtype .. " " .. m .. " x " .. k
                same(a:matmul(v), np.sum(a * v, { axis = -1 }), what)
                same(v:matmul(a.T), np.sum(a * v, { axis = -1 }), what .. ", row by matrix")
                local b = random(k + 1, { k, m }, dtype) -- its columns are the rows
                same(b.T:matmul(v), np.sum(b.T * v, { axis = -1 }), what .. ", transposed")
                same(v:matmul(b), np.sum(b.T * v, { axis = -1 }), what .. ", row by transposed")
            end
        end
        local long = random(5, { 300001 }, dtype)
        same(long:matmul(long), np.sum(long * long), dtype .. " of a long vector")
        local column = random(6, { 600, 2 }, dtype).T[1]
        same(column:matmul(column), np.sum(column * column), dtype .. " of a column")
    end
end)

check.test("every matrix of a batch is as alone, wherever it lies", function()
    local cases = { { 5, 7, 3, 9 }, { 40, 64, 32, 64 }, { 300, 4, 4, 4 }, { 3, 1, 300, 5 }, { 3, 20, 300, 1 } }
    for _, dims in ipairs(cases) do
        local n, m, k, c = unpack(dims)
        local a, b = random(1, { m, n, k }), random(2, { n, c, k }) -- neither lies as a batch of plain matrices
        local together = np.swapaxes(a, 0, 1):matmul(np.swapaxes(b, 1, 2))
        for i = 0, n - 1, math.ceil(n / 4) do
            local alone = np.matmul(np.array(np.take(a, i, { axis = 1 }):totable()), np.array(b[i]:totable()).T)
            same(together[i], alone, table.concat(dims, " ") .. ", matrix " .. i)
        end
    end
end)

check.test("a transposed right side is as a copy of it, whatever is left of its lines and columns", function()
    for _, dtype in ipairs { "f32", "f64" } do
        for _, k in ipairs { 2, 4, 7, 16, 258, 515 } do
            for _, n in ipairs { 2, 3, 4, 5, 7, 15, 16, 17, 19, 31, 32, 33, 38, 130 } do
                local a, b = random(n, { 5, k }, dtype), random(k, { n, k }, dtype)
                same(a:matmul(b.T), a:matmul(np.copy(b.T):wait()), ("%s 5 x %d x %d"):format(dtype, k, n))
            end
        end
    end
end)

check.test("heads of attention are read where they lie", function()
    local q, k = random(1, { 2, 16, 3, 8 }), random(2, { 2, 16, 3, 8 })
    np.wait(q, k)
    local function heads(x) return np.swapaxes(x, 1, 2) end
    local before = np.debug.counters().launches
    local scores = heads(q):matmul(np.swapaxes(heads(k), 2, 3))
    np.wait(scores)
    check.equal(np.debug.counters().launches - before, 1, "launches")
    same(scores, np.einsum("bthd,bshd->bhts", q, k), "einsum")
end)

check.test("integers wrap around, in any layout", function()
    for _, dtype in ipairs { "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64" } do
        for _, dims in ipairs { { 3, 4, 5 }, { 40, 33, 70 }, { 1, 300, 1 }, { 17, 1, 1100 } } do
            local m, k, n = unpack(dims)
            local a = np.random.randint(np.random.key(1), { m, k }, 0, dtype == "bool" and 2 or 120):astype(dtype)
            local b = np.random.randint(np.random.key(2), { k, n }, 0, dtype == "bool" and 2 or 120):astype(dtype)
            local exact = a:astype("f64"):matmul(b:astype("f64"))
            local expected = dtype == "bool" and np.greater(exact, 0) or exact:astype("i64"):astype(dtype)
            same(a:matmul(b), expected, dtype)
            same(np.matmul(a, np.array(b.T:astype("i64"):totable()):astype(dtype).T), expected, dtype .. " transposed")
            same(np.flip(a, { axis = 0 }):matmul(b), np.flip(expected, { axis = 0 }), dtype .. " flipped")
        end
    end
end)

check.test("parts of a batch convolve as one image does", function()
    local nn = np.nn
    for _, batch in ipairs { 1, 5, 7, 16 } do
        local x, w = random(1, { batch, 30, 30, 16 }), random(2, { 3, 3, 16, 32 })
        local function loss(kernel, images) return np.sum(np.sin(nn.conv(images, kernel))) end
        local y, dw = nn.conv(x, w), np.grad(loss)(w, x)
        local sum = np.zeros_like(dw)
        for i = 0, batch - 1 do
            local image = x[{ { i, i + 1 } }]
            check.ok(np.allclose(y[{ { i, i + 1 } }], nn.conv(image, w), { atol = 1e-4 }), "image " .. i)
            sum = sum + np.grad(loss)(w, image)
        end
        check.ok(np.allclose(dw, sum, { rtol = 1e-3, atol = 1e-2 }), "kernel of " .. batch)
    end
end)

check.test("the same bits for any number of workers", function()
    local script = [[
        local function random(seed, ...) return np.random.normal(np.random.key(seed), {...}) end
        local function bits(x) -- a number that changes with any bit, all but surely
            x = x:reshape{x.size}:astype("f64")
            return ("%a %a"):format(np.sum(x):item(), np.sum(x * np.cos(np.arange(x.size))):item())
        end
        local a, b = random(1, 300, 500), random(2, 500, 260)
        print(bits(a:matmul(b)), bits(a.T:matmul(a)), bits(a:matmul(random(3, 500))), bits(random(4, 300):matmul(a)))
        local long = random(5, 400000)
        print(bits(long:matmul(long)), bits(random(6, 50, 64, 33):matmul(random(7, 50, 33, 64))))
        local x, w = random(8, 13, 28, 28, 16), random(9, 3, 3, 16, 32)
        local dw, dx = np.grad(function(w, x) return np.sum(np.sin(np.nn.conv(x, w))) end, {argnums = {1, 2}})(w, x)
        print(bits(np.nn.conv(x, w)), dw and bits(dw), dx and bits(dx))
    ]]
    local first
    for workers = 1, 4 do
        local status, out, err = process.run_neap { "--workers", tostring(workers), "-e", script }
        check.equal({ status, err }, { 0, "" })
        first = first or out
        check.equal(out, first, workers .. " workers")
    end
end)

check.done()
