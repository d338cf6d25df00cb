--- program_file_test.lua (not under tsan): programs saved and loaded: the same bits, the same text and the same bytes
-- again, of every op, dtype and effect; files that a version of the format once wrote; and what is refused.
local check = require "tests.lib.check"
local core = require "neap.core"
local dtypes = require "tests.lib.dtypes"
local np = require "neap"
local programs = require "tests.lib.programs"
local values = require "tests.lib.values"

local path, again = os.tmpname(), os.tmpname()

local function contents(name)
    local file = assert(io.open(name, "rb"))
    local text = file:read "*a"
    file:close()
    return text
end

--- The bits of the arrays among packed values.
local function bits(...)
    local parts = {}
    for k = 1, select("#", ...) do
        local leaf = select(k, ...)
        if np.is_array(leaf) then
            leaf = leaf.dtype .. " " .. core.shape_text(leaf.shape) .. " " .. tostring(programs.hash(leaf:wait()))
        end
        parts[k] = tostring(leaf)
    end
    return table.concat(parts, "; ")
end

--- Saves and loads a program; the loaded one must be the same.
local function reload(program, callbacks)
    program:save(path)
    local loaded = np.load_program(path, { callbacks = callbacks })
    check.equal(tostring(loaded), tostring(program))
    check.equal(loaded:info().steps, program:info().steps)
    loaded:save(again)
    check.ok(contents(path) == contents(again), "saved again, the file is another one")
    np.debug.verify(loaded)
    return loaded
end

local covered = {}

--- f(...) traced, saved, loaded: the original's bits.
local function same(f, ...)
    local program = np.trace(f)(...)
    for name in tostring(program):gmatch("= ([%w_]+)") do covered[name] = true end
    for _, row in ipairs(program:cost().ops) do covered[row.op] = true end -- also those that the text leaves out
    check.equal(bits(reload(program)(...)), bits(program(...)))
end

-- ---- Every op -------------------------------------------------------------------------------------------------------

for _, row in ipairs(values.rows) do
    if (row.class == "map" or row.class == "reduce") and row.name ~= "astype" then
        check.test("the " .. row.class .. " " .. row.name, function()
            values.each_dtype(row, function(dtype)
                local given = {}
                for k = 1, row.arity do
                    given[k] = values.array(row, { 3, 5 }, row.name == "where" and k == 1 and "bool" or dtype)
                end
                same(function(...) return np[row.name](...) end, unpack(given))
            end)
        end)
    end
end

-- One call that records it, for each op that is neither a map nor a reduction.
local function key_of(x) return np.random.fold_in(np.random.key(3), x[0][0]:astype("u32")) end
local rows = np.array({ 2, 0 }, { dtype = "i32" })
--- A sparse matrix of 3 × 3 with the elements of a row of x.
local function sparse(x)
    return np.sparse.csr_array { data = x[0] + 2, indices = { 0, 1, 2 }, indptr = { 0, 1, 2, 3 }, shape = { 3, 3 } }
end
local function image(x) return x:reshape(1, 3, 3, 1) end
local square = np.array { { 4, 1, 0 }, { 1, 3, 1 }, { 0, 1, 2 } }
local cases = {
    astype = function(x) return x:astype("i32"), x:astype("bool"):astype("u8") end,
    check = function(x) return np.debug.check(x, x:gt(-1e9), "an element of {}", x) end,
    conv = function(x) return np.nn.conv(image(x), x:reshape(3, 3, 1, 1)) end,
    conv_input = function(x)
        return np.grad(function(y) return (np.nn.conv(image(y), np.ones { 2, 2, 1, 1 }) ^ 2):sum() end)(x)
    end,
    conv_kernel = function(x)
        return np.grad(function(y) return (np.nn.conv(image(x), y:reshape(3, 3, 1, 1)) ^ 2):sum() end)(x)
    end,
    windows = function(x) return np.nn.max_pool(image(x), 2) end,
    copy = function(x) return np.copy(x) end,
    alias = function(x) return np.grad(function(y) return (y * y):sum() end)(x) end,
    argsort = function(x) return np.argsort(x) end,
    argsort_rows = function(x) return np.unique(x, { axis = 0, size = 2 }) end,
    argtop = function(x) return np.top_k(np.stack { x, x, x, x, x }:reshape(-1), 2) end,
    cummax = function(x) return np.cummax(x, { axis = 1 }), np.cummin(x) end,
    cumprod = function(x) return np.grad(function(y) return np.cumprod(y):sum() end)(x) end,
    cumsum = function(x) return np.cumsum(x, { axis = 0 }), np.grad(function(y) return np.cumsum(y):max() end)(x) end,
    places = function(x) return x + np.nonzero(np.array { 1, 1, 0, 1 }) end,
    searchsorted = function(x) return np.searchsorted(x[0], x), np.searchsorted(x[0], x, { side = "right" }) end,
    nearest = function(x) return np.cluster.kneighbors(x, x + 0.5, 2) end,
    sort = function(x) return np.sort(x, { axis = 0 }) end,
    sparse_product = function(x) return sparse(x):dot(x), sparse(x).T:dot(x) end,
    sparse_sample = function(x) return np.grad(function(y) return (sparse(y):dot(x) ^ 2):sum() end)(x) end,
    sparse_columns = function(x) return (sparse(x) - sparse(x).T):dot(x) end,
    sparse_matmul = function(x) return np.grad(function(y) return sparse(y):dot(sparse(x)).data:sum() end)(x) end,
    sparse_collect = function(x) return (sparse(x) + sparse(x)):dot(x) end,
    sparse_transpose = function(x) return sparse(x):tocsc():dot(x) end,
    sparse_triangular = function(x) return np.sparse.spsolve_triangular(sparse(x), x) end,
    broadcast_to = function(x) return np.broadcast_to(x, { 2, 3, 3 }) + 1 end,
    call = function(x) return np.checkpoint(function(a) return np.sin(a) * a end)(x) end,
    cholesky = function(x) return np.linalg.cholesky(x) end,
    cond = function(x)
        return np.cond(x[0][0]:gt(1), function(a) return a * 2, a end, function(a) return a, a - 1 end, x)
    end,
    bitcast = function(x) return np.bitcast(x, "u32") end,
    concatenate = function(x) return np.concatenate { x, x * 2 } end,
    det = function(x) return np.linalg.det(x) end,
    device_put = function(x) return np.device_put(x, "cpu:0") end,
    dft = function(x) return np.fft.fft(x) end,
    eig = function(x) return np.linalg.eigvals(x) end,
    rdft = function(x) return np.fft.rfft(x) end,
    irdft = function(x) return np.fft.irfft(x, 3) end,
    matrix_function = function(x) return np.linalg.logm(np.eye(3) * 4 + x * 0) end,
    eigh = function(x) return np.linalg.eigh(x) end,
    iota = function(x) return x + np.arange(3) end,
    inv = function(x) return np.linalg.inv(x) end,
    lstsq = function(x) return np.linalg.lstsq(x, x) end,
    lu = function(x) return np.linalg.solve(x, x) end,
    dynamic_slice = function(x) return np.dynamic_slice(x, { x[{ 0, 0 }]:astype "i32", 1 }, { 2, 2 }) end,
    dynamic_update_slice = function(x)
        return np.dynamic_update_slice(x, x[{ { 0, 2 } }], { x[{ 0, 0 }]:astype "i32", 0 })
    end,
    matmul2 = function(x) return x:matmul(x) end,
    pad = function(x) return np.pad(x, 1) end,
    pinv = function(x) return np.linalg.pinv(x) end,
    part = function(x)
        local pair = np.fori_loop(0, 3, function(k, a) return { a[1] * 2 + k, a[2] + 1 } end, { x, x[0] })
        return pair[1], pair[2]
    end,
    put_add = function(x) return x:at { rows }:add(2) end,
    put_mul = function(x) return x:at { rows }:mul(x[{ { 0, 1 } }]) end,
    put_max = function(x) return x:at { rows }:max(2) end,
    put_min = function(x) -- a write that leaves negative places out
        local labels = np.array({ 0, -1, 1, 0, 1, 5 }, { dtype = "i32" })
        return np.segment_min(np.concatenate { x, x }, labels, 2) + x:at { rows }:min(2):sum()
    end,
    counts = function(x) return x + np.bincount(x[0]:astype "i32", { length = 3 }) end,
    put_set = function(x) return x:at { rows }:set(7) end,
    qr = function(x) return np.linalg.qr(x) end,
    random_binomial = function(x) return np.random.binomial(key_of(x), 9, 0.4, { 3 }) + x end,
    random_bits = function(x) return np.random.bits(key_of(x), { 3 }) end,
    random_floats = function(x) return x * np.random.normal(key_of(x), { 3 }) end,
    random_gamma = function(x) return np.random.gamma(key_of(x), np.abs(x) + 0.5) end,
    random_integers = function(x) return np.random.randint(key_of(x), { 3 }, 0, 9) end,
    random_poisson = function(x) return np.random.poisson(key_of(x), np.abs(x) + 0.5) end,
    reshape = function(x) return x:reshape(9) * 2 end,
    scan = function(x) return np.scan(function(c, row) return c + row, c * row end, x[0], x) end,
    slice = function(x) return x "1:, ::-2" + 0 end,
    slide = function(x) return np.convolve(x[0], x[1]) end,
    slogdet = function(x) return np.linalg.slogdet(x) end,
    solve = function(x) return np.linalg.solve(x, x[0]) end,
    svd = function(x) return np.linalg.svd(x) end,
    take = function(x) return x[rows] end,
    threefry = function(x) return key_of(x) end,
    transpose = function(x) return x.T + 0 end,
    triangular_solve = function(x) return np.linalg.solve_triangular(x, x) end,
    while_loop = function(x)
        return np.while_loop(function(a) return a:sum():lt(100) end, function(a) return a * 2 end, x)
    end,
}
local has_klu = require "tests.lib.klu"
if has_klu then
    cases.sparse_solve = function(x) return np.sparse.spsolve(sparse(x), x) end
else
    check.skip("the op sparse_solve", "needs package libklu1")
end
for name, f in pairs(cases) do
    check.test("the op " .. name, function() same(f, square) end)
end

check.test("no op is without its program", function()
    -- What no program holds (marks and elements of sparse products are counted when they are recorded), what only its
    -- own file records, what tests of others need; collectives over the axes of np.vmap, which no file can hold, and
    -- what lies on a mesh (tests/mesh).
    local without = { array = true, constant = true, placeholder = true, callback = true, callback_part = true,
                      debug_sleep = true, debug_hold = true, debug_device = true, debug_fail = true, all_gather = true,
                      all_to_all = true, pmax = true, pmin = true, ppermute = true, psum = true, psum_scatter = true,
                      axis_index = true, bare = true, enter = true, leave = true, exchange = true, pick = true,
                      pvary = true, pcast = true, reshard = true, transfer = true, join = true, marks_nonzero = true,
                      marks_changes = true, sparse_starts = true, sparse_solve = not has_klu,
                      sparse_factor_places = true, sparse_factors = true }
    local missing = {}
    for _, row in ipairs(values.rows) do
        if not covered[row.name] and not without[row.name] then missing[#missing + 1] = row.name end
    end
    check.equal(table.concat(missing, " "), "", "ops without a case above")
end)

-- ---- What programs hold ---------------------------------------------------------------------------------------------

check.test("dtypes, sizes of 0, numbers, weak numbers, captures, constructors", function()
    local w, long = np.array { 0.1, 0.2, 0.3 }:wait(), np.arange(1000) * 2
    local f = function(x, k, name)
        local y = x * k + w + (k * 2 - 1)
        return { y = y, name = name, flag = true, nothing = 0 / 0 }, k, (x + long "5:8"):sum(), w, 3
    end
    local program = np.trace(f)(np.ones(3), 2, "text")
    local loaded = reload(program)
    for _, k in ipairs { 2, 0.1, -1e300, 1e-320 } do
        local x = np.array { 1, -0.0, 1e38 }
        local a, b, c, d = program(x, k, "text")
        local e, g, h, i, three = loaded(x, k, "text")
        check.equal(bits(e.y, g, h, i, e.name, e.flag, three), bits(a.y, b, c, d, "text", true, 3))
        check.ok(e.nothing ~= e.nothing)
    end
    for _, dtype in ipairs(dtypes.names) do
        for _, dims in ipairs { {}, { 0 }, { 2, 0, 3 }, { 4 } } do
            local held = programs.leaf(dtype, 11, dims)
            same(function(x) return np.where(np.equal(x, held), x, held), held end, programs.leaf(dtype, 7, dims))
        end
    end
    same(function(x) return x + 9007199254740992, x - 3 end, programs.leaf("i64", 5, { 3 }))
end)

check.test("constructors of which a part was computed before, inside or since", function()
    local function part() return np.take(np.ones { 3 }, np.argsort(np.arange(3))) end
    local outside = np.arange(3) * 2
    local over, wide = outside + 1, np.broadcast_to(np.reshape(outside, 3, 1), { 3, 4 })
    outside:wait()
    local functions = {
        function(x) return x * over end,
        function(x) return x * np.sum(wide, { axis = 1 }) end,
        function(x)
            local o = part()
            return x * np.reshape(o, 3, 1) * o:sum():item()
        end,
        function(x) return x + np.reshape(outside, 1, 3), np.sqrt(over), part() end,
    }
    local later = np.linspace(0, 1, 3)
    local half = later / 2
    functions[5] = function(x) return x * half, half + 1 end
    for k, f in ipairs(functions) do
        local program = np.trace(f)(np.ones { 3 })
        if k == 5 then later:wait() end
        local loaded = reload(program)
        np.debug.verify(program)
        for i = 1, 2 do
            local x = np.arange(3) / i
            check.equal(bits(loaded(x)), bits(f(x)), "function " .. k)
            check.equal(bits(program(x)), bits(f(x)), "function " .. k)
        end
    end
end)

check.test("a number that meets integers is still checked at each call", function()
    local loaded = reload(np.trace(function(x, k) return x * k end)(np.arange(3), 2))
    check.equal(loaded(np.arange(3), 4):totable(), { 0, 4, 8 })
    check.raises(function() return loaded(np.arange(3), 0.5) end, "0.5 meets an array of integers")
end)

check.test("trees of arguments and results, and their names", function()
    local given = { layers = { { w = np.ones { 2, 2 } }, { w = np.ones { 2, 2 }, b = 3 } }, name = "mlp" }
    local program = np.trace(function(params, x)
        return { loss = (params.layers[1].w + params.layers[2].w * params.layers[2].b):sum(), out = { x, x + 1 } }
    end)(given, np.ones(2))
    local loaded = reload(program)
    check.equal(loaded:list_inputs(), { "params.layers[1].w", "params.layers[2].b", "params.layers[2].w", "x" })
    check.equal(loaded:list_outputs(), { "loss", "out[1]", "out[2]" })
    check.equal(loaded:inputs(), program:inputs())
    check.equal(loaded(given, np.ones(2)).loss:item(), 16)
    given.name = "other"
    check.raises(function() return loaded(given, np.ones(2)) end, 'expected the string "mlp", got the string "other"')
    check.raises(function() return loaded({}, np.ones(2)) end, "argument 1.layers: expected a table, got nothing")
end)

check.test("random programs", function()
    local count = os.getenv "NEAP_TEST_BUILD" == "release" and 60 or 12
    for seed = 1, count do
        local drawn = programs.draw(seed)
        local leaves = drawn.make()
        same(function(...)
            local r = { ... }
            drawn.run(r)
            local results = {}
            for k, n in ipairs(drawn.results) do results[k] = r[n] end
            return unpack(results)
        end, unpack(leaves, 1, #drawn.leaves))
    end
end)

check.test("what a trace recorded and no result needs is read by nobody", function()
    local program = reload(np.trace(function(x)
        local joined, first = np.concatenate { x, x }, np.exp(x[0])
        return np.grad(function(w) return (np.tanh(w) * first):sum() end)(joined)
    end)(np.ones(4)))
    check.equal(program:info().steps, 2) -- the product of the forward pass would have tanh stored
end)

check.test("a loaded program has gradients, is jitted, traced and batched as a function is", function()
    local w = np.array { 2, 3 }:wait()
    local program = np.trace(function(x) return (x * x * w):sum() end)(np.ones(2))
    local loaded, x = reload(program), np.array { 5, 7 }
    check.equal(np.grad(loaded)(x):totable(), { 20, 42 })
    check.equal(np.jit(np.grad(loaded))(x):totable(), { 20, 42 })
    check.equal(np.vmap(loaded)(np.array { { 1, 1 }, { 5, 7 } }):totable(), { 5, 197 })
    check.equal(reload(np.trace(np.grad(loaded))(x))(x):totable(), { 20, 42 })
end)

check.test("rules of a function's own, and exported programs", function()
    local f = np.custom_vjp(function(x) return np.sin(x) end)
    f:defvjp(function(x) return np.sin(x), x end, function(_, ct) return ct * 100 end)
    local loaded = reload(np.trace(function(x) return f(x):sum() end)(np.ones(2)))
    check.equal(np.grad(loaded)(np.ones(2)):totable(), { 100, 100 })
    local exported
    np.deferred(function()
        local x = np.ones(3)
        exported = np.export { inputs = { x = x }, outputs = { y = np.sin(x) * 2 } }
    end)
    loaded = reload(exported)
    check.equal(loaded:list_inputs(), { "x" })
    check.equal(bits(loaded(np.arange(3, { dtype = "f32" }))), bits(exported(np.arange(3, { dtype = "f32" }))))
    check.equal(bits(loaded { x = np.ones(3) }), bits(exported(np.ones(3))))
end)

-- ---- Effects --------------------------------------------------------------------------------------------------------

local executable = os.getenv("NEAP") or "build/neap"

--- What a script prints in a process of its own.
local function output(script)
    local name = os.tmpname()
    local file = assert(io.open(name, "w"))
    file:write(script)
    file:close()
    local pipe = assert(io.popen(("'%s' '%s' 2>&1"):format(executable, name)))
    local text = pipe:read "*a"
    pipe:close()
    os.remove(name)
    return text
end

check.test("prints and callbacks in their order, in a fresh process too", function()
    local seen = {}
    local function note(x, about) seen[#seen + 1] = about.text .. x:item() end
    local function double(x) return { x * 2, 7 } end
    local program = np.trace(function(x, k)
        print("first", x, k)
        np.callback(note, { name = "note" })(x:sum(), { text = "sum " })
        local y = np.callback(double, { name = "double", result = { x, { shape = {}, dtype = "i32" } } })(x)
        np.printf("%.2f %d\n", y[1]:sum(), y[2])
        io.write("written ", y[2], "\n")
        np.callback(note, { name = "note" })(y[2], { text = "int " })
        return y[1]
    end)(np.ones(2), 1)
    local loaded = reload(program, { note = note, double = double })
    check.equal(loaded(np.array { 1, 2 }, 5):totable(), { 2, 4 })
    np.effects_barrier()
    check.equal(seen, { "sum 3", "int 7" })
    check.equal(output(([[
        local p = np.load_program(%q, { callbacks = {
            note = function(x, about) print("note", about.text, x) end,
            double = function(x) print("double", x) return { x * 2, 7 } end } })
        print(p(np.array { 1, 2 }, 5))
    ]]):format(path)), "first\t[1. 2.]\t5\nnote\tsum \t3.0\ndouble\t[1. 2.]\n6.00 7\nwritten 7\n"
        .. "note\tint \t7\n[2. 4.]\n")
end)

check.test("effects inside of loops and branches, in programs inside each other", function()
    local seen = {}
    local function note(x) seen[#seen + 1] = x:item() end
    local program = np.trace(function(x, n)
        local total, all = np.scan(function(carry, row)
            print("row", row)
            carry = np.cond(row:sum():gt(2), function(c)
                np.callback(note, { name = "note" })(c:sum())
                return c + row * n
            end, function(c) return c - 1 end, carry)
            return carry, carry:sum()
        end, x[0], x)
        print("total", total)
        return total, all
    end)(np.ones { 3, 2 }, 2)
    local loaded = reload(program, { note = note })
    local x = np.array { { 1, 2 }, { 0, 1 }, { 5, 6 } }
    local expected = bits(program(x, 3))
    np.effects_barrier()
    local once = seen
    seen = {}
    check.equal(bits(loaded(x, 3)), expected)
    np.effects_barrier()
    check.equal(#seen, 2)
    check.equal(seen, once)
end)

check.test("functions must be given", function()
    local program = np.trace(function(x)
        np.callback(function() end, { name = "one" })(x)
        np.callback(function() end, { name = "two words" })(x)
        np.callback(function() end, { name = "one" })(x)
        return x
    end)(np.ones(2))
    program:save(path)
    local text = check.raises(function() return np.load_program(path) end, "functions that must be given")
    check.ok(text:find([["one", "two words"]], 1, true), text)
    check.raises(function() return np.load_program(path, { callbacks = { one = print } }) end, [["two words"]])
    check.raises(function() return np.load_program(path, { callbacks = { one = 3 } }) end, "a function for one")
    check.raises(function() return np.load_program(path, { callback = {} }) end, "unknown option 'callback'")
    local callees = np.debug.counters().callees
    for _ = 1, 10 do pcall(np.load_program, path) end
    check.equal(np.debug.counters().callees, callees)
end)

check.test("what no file can hold", function()
    local log, lines = np.effects.logger(again), {}
    local kept = np.effects.logger(lines)
    check.raises(function() np.trace(function(x) log("%s", x) end)(np.ones(1)):save(path) end, "log's file")
    check.raises(function() np.trace(function(x) kept("%s", x) end)(np.ones(1)):save(path) end, "Lua table")
    check.raises(function()
        np.trace(function(x) np.callback(print)(x, io.stdout) end)(np.ones(1)):save(path)
    end, "no file can hold")
    local program = np.trace(function(x) return x end)(np.ones(1))
    check.raises(function() program:save(3) end, "argument 1 %(path%) must be a file name")
    check.raises(function() program:save "no/such/folder/p" end, "cannot write 'no/such/folder/p'")
    log:close()
end)

-- ---- Files ----------------------------------------------------------------------------------------------------------

check.test("files that are none", function()
    local function refused(text, pattern)
        local file = assert(io.open(again, "wb"))
        file:write(text)
        file:close()
        check.raises(function() return np.load_program(again) end, "load_program: cannot load '.*" .. pattern)
    end
    np.trace(function(x) return np.sin(x) end)(np.ones(3)):save(path)
    local good = contents(path)
    refused("", "no program of neap")
    check.raises(function() return np.load_program "." end, "load_program: cannot read '%.': Is a directory")
    refused("print 'hello'", "no program of neap")
    refused(good:sub(1, 30), "truncated")
    refused(good:sub(1, #good - 1), "truncated")
    refused(good .. "x", "more behind its end")
    refused(good:sub(1, 8) .. "\5" .. good:sub(10),
            "version 5 of the format, this version of neap reads versions 1 to 4")
    refused(good:sub(1, 20) .. "x" .. good:sub(22), "checksum of its head")
    refused(good:sub(1, #good - 1) .. "x", "checksum of its section 'graph'")
    check.raises(function() return np.load_program "no/such/file" end, "cannot open 'no/such/file'")
    check.raises(function() return np.load_program(7) end, "argument 1 %(path%) must be a file name")
end)

check.test("a file of version 1 of the format stays readable", function()
    -- Written once by tests/golden/make_program.lua; the results were worked out by hand.
    local seen = {}
    local program = np.load_program("tests/golden/program/version1.prog",
                                    { callbacks = { note = function(x) seen[#seen + 1] = x:item() end } })
    check.equal(program:list_inputs(), { "params.b", "params.w", "x", "scale" })
    local result = program({ w = np.array { { 1, 2 }, { 3, 4 } }, b = np.array { 10, 20 } }, np.array { 1, 2 }, 0.5)
    np.effects_barrier()
    check.equal({ result.y:totable(), result.kind }, { { 8, 15.5 }, "affine" })
    check.equal(seen, { 23.5 })
    check.raises(function() return program({ w = np.ones { 2, 3 }, b = np.ones(2) }, np.ones(3), 0.5) end,
                 "params.w: expected f32%[2,2%], got f32%[2,3%]")
end)

check.test("a file of version 2 of the format stays readable", function()
    local program = np.load_program("tests/golden/program/version2.prog", { callbacks = { note = function() end } })
    local params = { w = np.array { { 1, 2 }, { 3, 4 } }, b = np.array { 10, 20 } }
    check.equal(program(params, np.array { 1, 2 }, 0.5).y:totable(), { 8, 15.5 })
    check.equal(program { params = params, x = np.array { 1, 2 }, scale = 0.5 }.y:totable(), { 8, 15.5 })
    -- It holds what older builds knew of other sizes, which is read over.
    check.raises(function() return program(params, np.ones(3), 0.5) end, "x: expected f32%[2%], got f32%[3%]")
end)

check.test("a file of version 3 of the format stays readable, for every declared size", function()
    local program = np.load_program "tests/golden/program/version3.prog"
    local params = { w = np.array { { 1, 2 }, { 3, 4 } } }
    local result = program(params, np.array { { 1, 2 }, { 3, 4 }, { 0, 0 }, { 1, 1 } })
    check.equal({ result.y:totable(), result.mean:totable(), result.kind },
                { { { 15, 18 }, { 31, 42 }, { 1, -2 }, { 9, 10 } }, { 1.25, 1.75 }, "affine" })
    check.raises(function() return program(params, np.ones { 1, 2 }) end,
                 "recorded for n > 1 %(tests.golden.make_program.lua:14%)")
end)

check.test("a file of version 4 of the format stays readable, for every declared size", function()
    local seen = {}
    local program = np.load_program("tests/golden/program/version4.prog",
                                    { callbacks = { note = function(x) seen[#seen + 1] = x:item() end } })
    local result = program({ w = np.array { { 1, 2 }, { 3, 4 } } }, np.array { { 1, 2 }, { 3, 4 } })
    np.effects_barrier()
    check.equal({ result.y:totable(), result.mean:totable(), result.kind },
                { { { 15, 18 }, { 31, 42 } }, { 2, 3 }, "affine" })
    check.equal(result.body:totable(), { { 3, 6 }, { 9, 12 } })
    check.equal(seen, { 10 })
end)

os.remove(path)
os.remove(again)
check.done()
