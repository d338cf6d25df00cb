--- library.lua: more cases of the group "calls" (bench/cases.lua, which says what a case has): linear algebra, Fourier
-- transforms, random numbers, sorting, statistics, movements of elements and text files.
--
--      require "bench.library" (add, make)     make: normal, uniform, integers: arrays of so many elements; inputs,
--                                              normals, short: see bench/cases.lua
local np = require "neap"

return function(add_case, make)
    local normal, uniform, integers = make.normal, make.uniform, make.integers
    local inputs, normals, short = make.inputs, make.normals, make.short

    local function add(case)
        case.group = "calls"
        add_case(case)
    end

    --- A function f of np on inputs, which the others have under the same name (or torch: under another), with the same
    -- positional arguments behind the inputs. drawn: not compared.
    local function same(name, f, made, text, given)
        given = given or {}
        local torch = given.torch
        if torch == nil then torch = "torch." .. text end
        add { name = name, inputs = made, lua = f, numpy = "np." .. text, scipy = given.scipy, torch = torch or nil,
              jax = (given.eager and "eager jnp." or "jnp.") .. text, drawn = given.drawn }
    end

    -- ---- Linear algebra ---------------------------------------------------------------------------------------------

    --- A well-conditioned matrix of n by n whose determinant is near 1; and a positive definite one.
    local function square(n) return np.eye(n) + normal(n, n) * (0.5 / math.sqrt(n)) end
    local function definite(n)
        local x = square(n)
        return x:matmul(x.T) + np.eye(n)
    end

    --- A function of np.linalg of one matrix: its first result, waiting for all.
    local function of_matrix(name, matrix, others, rows)
        for _, n in ipairs { 10, 100, 500 } do
            add { name = ("%s, %dx%d"):format(name, (rows or 1) * n, n),
                  inputs = function() return { np.copy(matrix(n)):wait() } end,
                  once = function(x)
                      local f = np.linalg[name]
                      return function() np.wait(f(x)) end
                  end,
                  numpy = "np.linalg." .. (others.numpy or name .. "(x)"), scipy = others.scipy,
                  torch = "torch.linalg." .. (others.torch or name .. "(x)"),
                  jax = "jnp.linalg." .. (others.jax or name .. "(x)") }
        end
    end
    of_matrix("inv", square, { scipy = "scipy.linalg.inv(x)" })
    of_matrix("det", square, { scipy = "scipy.linalg.det(x)" })
    of_matrix("qr", square, { scipy = "scipy.linalg.qr(x)" })
    of_matrix("svd", square, { scipy = "scipy.linalg.svd(x)" })
    of_matrix("eigh", definite, { scipy = "scipy.linalg.eigh(x)" })
    of_matrix("cholesky", definite, { scipy = "scipy.linalg.cholesky(x, lower=True)" })
    for _, n in ipairs { 10, 100, 500 } do
        add { name = ("solve, %dx%d"):format(n, n), inputs = function() return { square(n), normal(n) } end,
              lua = function(x, y) return np.linalg.solve(x, y) end, numpy = "np.linalg.solve(x, y)",
              scipy = "scipy.linalg.solve(x, y)", torch = "torch.linalg.solve(x, y)", jax = "jnp.linalg.solve(x, y)" }
        add { name = ("lstsq, %dx%d"):format(2 * n, n), inputs = normals({ 2 * n, n }, { 2 * n }),
              lua = function(x, y) return (np.linalg.lstsq(x, y)) end, numpy = "np.linalg.lstsq(x, y)[0]",
              scipy = "scipy.linalg.lstsq(x, y)[0]", torch = "torch.linalg.lstsq(x, y[:, None]).solution[:, 0]",
              jax = "jnp.linalg.lstsq(x, y)[0]" }
    end
    add { name = "inv, 1000 of 4x4",
          inputs = function() return { (np.eye(4) + normal(1000, 4, 4) * 0.2):wait() } end,
          lua = function(x) return np.linalg.inv(x) end, numpy = "np.linalg.inv(x)", scipy = "scipy.linalg.inv(x)",
          torch = "torch.linalg.inv(x)", jax = "jnp.linalg.inv(x)" }
    add { name = "solve, 512x512, 512 right sides", inputs = function() return { square(512), normal(512, 512) } end,
          lua = function(x, y) return np.linalg.solve(x, y) end, numpy = "np.linalg.solve(x, y)",
          scipy = "scipy.linalg.solve(x, y)", torch = "torch.linalg.solve(x, y)", jax = "jnp.linalg.solve(x, y)" }
    add { name = "solve, 1000 of 8x8",
          inputs = function() return { (np.eye(8) + normal(1000, 8, 8) * 0.1):wait(), normal(1000, 8, 8) } end,
          lua = function(x, y) return np.linalg.solve(x, y) end, numpy = "np.linalg.solve(x, y)",
          scipy = "scipy.linalg.solve(x, y)", torch = "torch.linalg.solve(x, y)", jax = "jnp.linalg.solve(x, y)" }
    add { name = "cholesky, 1000 of 8x8",
          inputs = function()
              local x = np.eye(8) + normal(1000, 8, 8) * 0.1
              return { (x:matmul(np.swapaxes(x, -1, -2)) + np.eye(8)):wait() }
          end,
          lua = function(x) return np.linalg.cholesky(x) end, numpy = "np.linalg.cholesky(x)",
          scipy = "scipy.linalg.cholesky(x, lower=True)", torch = "torch.linalg.cholesky(x)",
          jax = "jnp.linalg.cholesky(x)" }
    for _, case in ipairs {
        { "einsum ij,jk->ik, 256", "ij,jk->ik", { 256, 256 }, { 256, 256 } },
        { "einsum bij,bkj->bik, 16x64x64", "bij,bkj->bik", { 16, 64, 64 }, { 16, 64, 64 } },
        { "einsum i,ij->j, 1000x1000", "i,ij->j", { 1000 }, { 1000, 1000 } },
        { "einsum ij,ij->i, 1000x1000", "ij,ij->i", { 1000, 1000 }, { 1000, 1000 } },
    } do
        same(case[1], function(x, y) return np.einsum(case[2], x, y) end, normals(case[3], case[4]),
             ("einsum(%q, x, y)"):format(case[2]))
    end

    -- ---- Fourier transforms -----------------------------------------------------------------------------------------

    --- np.fft.name of inputs; text: behind the array in Python.
    local function transform(name, label, made, text)
        text = name .. "(x" .. (text or "")
        add { name = ("fft.%s, %s"):format(name, label), inputs = made, lua = function(x) return np.fft[name](x) end,
              numpy = "np.fft." .. text .. ")", scipy = "scipy.fft." .. text .. ", workers=threads)",
              torch = "torch.fft." .. text .. ")", jax = "jnp.fft." .. text .. ")" }
    end
    local function waves(...)
        local shape = { ... }
        return function() return { np.complex(normal(unpack(shape)), normal(unpack(shape))):wait() } end
    end
    transform("fft", "2^20", waves(2 ^ 20))
    transform("fft", "1024 of 2^10", waves(1024, 2 ^ 10))
    transform("fft", "1000 of 1009", waves(1000, 1009))
    transform("fft", "2^20 of c128", function() return { waves(2 ^ 20)()[1]:astype("c128"):wait() } end)
    transform("fft", "1e5 of 8", waves(1e5, 8))
    transform("rfft", "2^20", normals { 2 ^ 20 })
    transform("rfft", "1024 of 2^10", normals { 1024, 2 ^ 10 })
    transform("irfft", "2^19 + 1", waves(2 ^ 19 + 1))
    transform("fft2", "1024x1024", waves(1024, 1024))
    transform("rfft2", "1024x1024", normals { 1024, 1024 })

    -- ---- Random numbers ---------------------------------------------------------------------------------------------

    local function draw(name, f, numpy, torch, jax)
        add { name = "random " .. name .. ", 1e6", inputs = inputs(np.random.key, 3), lua = f,
              numpy = "rng = np.random.default_rng(3) :: rng." .. numpy, torch = torch, jax = "jax.random." .. jax,
              drawn = true }
    end
    local function half(x) return np.random.bernoulli(x, 0.3, { 1e6 }) end
    draw("bernoulli", half, "random(1000000, np.float32) < 0.3", "torch.rand(1000000) < 0.3",
         "bernoulli(x, 0.3, (1000000,))")
    draw("exponential", function(x) return np.random.exponential(x, { 1e6 }) end,
         "standard_exponential(1000000, np.float32)", "torch.empty(1000000).exponential_()",
         "exponential(x, (1000000,))")
    draw("choice of 1000", function(x) return np.random.choice(x, 1000, { 1e6 }) end, "choice(1000, 1000000)",
         "torch.randint(0, 1000, (1000000,), dtype=torch.int32)", "choice(x, 1000, (1000000,))")
    draw("categorical of 10", function(x) return np.random.categorical(x, np.zeros(10), { shape = { 1e6 } }) end,
         "choice(10, 1000000, p=np.full(10, 0.1))",
         "torch.multinomial(torch.ones(10), 1000000, replacement=True)",
         "categorical(x, jnp.zeros(10), shape=(1000000,))")

    draw("gamma of 2.5", function(x) return np.random.gamma(x, 2.5, { 1e6 }) end,
         "standard_gamma(2.5, 1000000, np.float32)", "torch._standard_gamma(torch.full((1000000,), 2.5))",
         "gamma(x, 2.5, (1000000,))")
    draw("poisson of 4", function(x) return np.random.poisson(x, 4, { 1e6 }) end, "poisson(4, 1000000)",
         "torch.poisson(torch.full((1000000,), 4.0))", "poisson(x, 4, (1000000,))")

    -- ---- Sorting ----------------------------------------------------------------------------------------------------

    add { name = "sort of i32, 1e6", inputs = inputs(integers, 1e9, 1e6), lua = function(x) return np.sort(x) end,
          numpy = "np.sort(x)", torch = "torch.sort(x).values", jax = "jnp.sort(x)" }
    add { name = "argsort, 1000 rows of 1000", inputs = normals { 1000, 1000 },
          lua = function(x) return np.argsort(x) end, numpy = "np.argsort(x)", torch = "torch.argsort(x)",
          jax = "jnp.argsort(x)" }
    add { name = "top 10 of 1000 rows of 1000", inputs = normals { 1000, 1000 },
          lua = function(x) return (np.top_k(x, 10)) end, numpy = "np.sort(np.partition(x, 990)[:, 990:])[:, ::-1]",
          torch = "torch.topk(x, 10).values", jax = "jax.lax.top_k(x, 10)[0]" }
    add { name = "unique, 1e6 different", inputs = normals { 1e6 }, lua = function(x) return np.unique(x) end,
          numpy = "np.unique(x)", torch = "torch.unique(x)", jax = "eager jnp.unique(x)" }
    for _, part in ipairs { "inverse", "index" } do
        local option = "return_" .. part
        add { name = "unique with " .. part .. ", 1e6 of 1000", inputs = inputs(integers, 1000, 1e6),
              lua = function(x) return (select(2, np.unique(x, { [option] = true }))) end,
              numpy = ("np.unique(x, %s=True)[1]"):format(option),
              torch = part == "inverse" and "torch.unique(x, return_inverse=True)[1]" or nil,
              jax = ("eager jnp.unique(x, %s=True)[1]"):format(option), drawn = true }
    end
    add { name = "isin, 1e6 in 10",
          inputs = function() return { integers(1e6, 1e6), integers(1e6, 10) } end,
          lua = function(x, y) return np.isin(x, y) end, numpy = "np.isin(x, y)", torch = "torch.isin(x, y)",
          jax = "jnp.isin(x, y)" }
    add { name = "isin of f32, 1e6 in 1000", inputs = normals({ 1e6 }, { 1e3 }),
          lua = function(x, y) return np.isin(x, y) end, numpy = "np.isin(x, y)", torch = "torch.isin(x, y)",
          jax = "jnp.isin(x, y)" }
    add { name = "isin of f32, 1e6 in 1e6", inputs = normals({ 1e6 }, { 1e6 }),
          lua = function(x, y) return np.isin(x, y) end, numpy = "np.isin(x, y)", torch = "torch.isin(x, y)",
          jax = "jnp.isin(x, y)" }
    add { name = "searchsorted, 1e6 in 1e6", inputs = function() return { np.sort(normal(1e6)), normal(1e6) } end,
          lua = function(x, y) return np.searchsorted(x, y) end, numpy = "np.searchsorted(x, y)",
          torch = "torch.searchsorted(x, y)", jax = "jnp.searchsorted(x, y)" }
    add { name = "searchsorted of sorted values, 1e6 in 1e6",
          inputs = function() return { np.sort(normal(1e6)), np.sort(normal(1e6)) } end,
          lua = function(x, y) return np.searchsorted(x, y) end, numpy = "np.searchsorted(x, y)",
          torch = "torch.searchsorted(x, y)", jax = "jnp.searchsorted(x, y)" }
    add { name = "searchsorted, 1e6 in 100", inputs = function() return { np.sort(normal(100)), normal(1e6) } end,
          lua = function(x, y) return np.searchsorted(x, y) end, numpy = "np.searchsorted(x, y)",
          torch = "torch.searchsorted(x, y)", jax = "jnp.searchsorted(x, y)" }

    -- ---- Statistics -------------------------------------------------------------------------------------------------

    add { name = "digitize, 1e6 in 100", inputs = function() return { normal(1e6), np.linspace(-3, 3, 101) } end,
          lua = function(x, y) return np.digitize(x, y) end, numpy = "np.digitize(x, y)",
          torch = "torch.bucketize(x, y, right=True)", jax = "jnp.digitize(x, y)" }
    add { name = "median over axis 1, 1000x1000", inputs = normals { 1000, 1000 },
          lua = function(x) return np.median(x, { axis = 1 }) end, numpy = "np.median(x, 1)",
          torch = "torch.quantile(x, 0.5, 1)", jax = "jnp.median(x, 1)" }
    add { name = "percentile 90 over axis 0, 1000x1000", inputs = normals { 1000, 1000 },
          lua = function(x) return np.percentile(x, 90, { axis = 0 }) end, numpy = "np.percentile(x, 90, 0)",
          torch = "torch.quantile(x, 0.9, 0)", jax = "jnp.percentile(x, 90, 0)" }
    same("corrcoef, 100 of 10000", function(x) return np.corrcoef(x) end, normals { 100, 10000 }, "corrcoef(x)")
    same("cov, 3 of 1e6", function(x) return np.cov(x) end, normals { 3, 1e6 }, "cov(x)", { drawn = true })
    add { name = "correlate, 1e5 with 100", inputs = normals({ 1e5 }, { 100 }),
          lua = function(x, y) return np.correlate(x, y) end, numpy = "np.correlate(x, y)",
          scipy = "scipy.signal.correlate(x, y, 'valid')",
          torch = "torch.nn.functional.conv1d(x[None, None], y[None, None])[0, 0]", jax = "jnp.correlate(x, y)" }
    add { name = "convolve, 1e3 with 1e3", inputs = normals({ 1e3 }, { 1e3 }),
          lua = function(x, y) return np.convolve(x, y) end, numpy = "np.convolve(x, y)",
          scipy = "scipy.signal.convolve(x, y)", jax = "jnp.convolve(x, y)" }
    local function with_nans(...) return np.where(uniform(...):lt(0.1), 0 / 0, normal(...)):wait() end
    for _, name in ipairs { "nansum", "nanmean", "nanstd", "nanmax", "nanmedian" } do
        local torch = name == "nansum" or name == "nanmean" or name == "nanmedian"
        same(name .. ", 1e6", function(x) return np[name](x) end, inputs(with_nans, 1e6), name .. "(x)",
             { torch = torch and "torch." .. name .. "(x)", drawn = true })
    end
    same("std, 1e6", function(x) return np.std(x) end, normals { 1e6 }, "std(x)")
    same("var over axis 0, 1000x1000", function(x) return np.var(x, { axis = 0 }) end, normals { 1000, 1000 },
         "var(x, 0)")
    same("diff, 1e6", function(x) return np.diff(x) end, normals { 1e6 }, "diff(x)")
    same("gradient, 1e6", function(x) return np.gradient(x) end, normals { 1e6 }, "gradient(x)",
         { torch = "torch.gradient(x)[0]" })
    add { name = "bincount with weights, 1e6 of 1000",
          inputs = function() return { integers(1000, 1e6), normal(1e6) } end,
          lua = function(x, y) return np.bincount(x, { weights = y }) end, numpy = "np.bincount(x, y)",
          torch = "torch.bincount(x, y)", jax = "jnp.bincount(x, y, length=1000)" }
    add { name = "histogram2d, 1e6 in 50x50", inputs = normals({ 1e6 }, { 1e6 }),
          lua = function(x, y) return (np.histogram2d(x, y, 50)) end, numpy = "np.histogram2d(x, y, 50)[0]",
          torch = "torch.histogramdd(torch.stack([x, y], 1), [50, 50]).hist", jax = "jnp.histogram2d(x, y, 50)[0]",
          drawn = true }
    same("interp, 1e6 in 1e4", function(x, y, z) return np.interp(x, y, z) end,
         function() return { normal(1e6), np.sort(normal(1e4)), normal(1e4) } end, "interp(x, y, z)", { torch = false })

    -- ---- Movements --------------------------------------------------------------------------------------------------

    add { name = "pad by 2, 1000x1000", inputs = normals { 1000, 1000 }, lua = function(x) return np.pad(x, 2) end,
          numpy = "np.pad(x, 2)", torch = "torch.nn.functional.pad(x, (2, 2, 2, 2))", jax = "jnp.pad(x, 2)" }
    add { name = "pad by 2, reflected, 1000x1000", inputs = normals { 1000, 1000 },
          lua = function(x) return np.pad(x, 2, { mode = "reflect" }) end, numpy = "np.pad(x, 2, 'reflect')",
          torch = "torch.nn.functional.pad(x[None], (2, 2, 2, 2), 'reflect')[0]", jax = "jnp.pad(x, 2, 'reflect')" }
    same("roll over axis 1, 1000x1000", function(x) return np.roll(x, 7, { axis = 1 }) end, normals { 1000, 1000 },
         "roll(x, 7, 1)")
    same("where, 1e6", function(x, y) return np.where(x:gt(0), x, y) end, normals({ 1e6 }, { 1e6 }),
         "where(x > 0, x, y)")
    add { name = "take of columns, 1000x1000",
          inputs = function() return { normal(1000, 1000), integers(1e3, 1e3) } end,
          lua = function(x, y) return np.take(x, y, { axis = 1 }) end, numpy = "np.take(x, y, 1)",
          torch = "torch.index_select(x, 1, y)", jax = "jnp.take(x, y, 1)" }
    add { name = "take along axis 1, 1000x1000", inputs = function()
              return { normal(1000, 1000), integers(1e3, 1000, 1000) }
          end,
          lua = function(x, y) return np.take_along_axis(x, y, { axis = 1 }) end, numpy = "np.take_along_axis(x, y, 1)",
          torch = "y = y.long() :: torch.take_along_dim(x, y, 1)", jax = "jnp.take_along_axis(x, y, 1)" }
    same("flip, 1e6", function(x) return np.copy(np.flip(x)) end, normals { 1e6 }, "copy(np.flip(x))",
         { torch = "torch.flip(x, (0,))" })
    same("tile, 1000 by 1000", function(x) return np.copy(np.tile(x, 1000)) end, normals { 1000 }, "tile(x, 1000)",
         { torch = "x.repeat(1000)" })
    same("repeat, 1e5 by 10", function(x) return np.copy(np.repeat_(x, 10)) end, normals { 1e5 }, "repeat(x, 10)",
         { torch = "x.repeat_interleave(10)" })
    add { name = "segment_max, 1e6 into 1000",
          inputs = function() return { normal(1e6), integers(1000, 1e6) } end,
          lua = function(x, y) return np.segment_max(x, y, 1000) end,
          numpy = "z = np.full(1000, -np.inf, np.float32); np.maximum.at(z, y, x); z",
          torch = "y = y.long() :: torch.full((1000,), -torch.inf).scatter_reduce_(0, y, x, 'amax')",
          jax = "jax.ops.segment_max(x, y, 1000)" }

    -- ---- Text files -------------------------------------------------------------------------------------------------

    local TEXT = "bench/results/input.csv"
    local columns = {}
    for k = 1, 5 do columns[k] = "c" .. k - 1 end

    --- A file of 1e6 rows of a column of integers and 4 of numbers, and these columns.
    local function table_of(rows)
        local list = { c0 = integers(1e6, rows) }
        for k = 2, 5 do list[columns[k]] = normal(rows) end
        return np.table(list, { columns = columns })
    end
    local READ = ("np.loadtxt(%q, delimiter=',', skiprows=1, dtype=np.float32)"):format(TEXT)
    local TYPES = "dtype={'c%d' % k: np.float32 for k in range(1, 5)}"
    for _, rows in ipairs { 1e4, 1e6 } do
        local function written()
            np.io.write_csv(TEXT, table_of(rows))
            return {}
        end
        add { name = ("read_csv, %s rows of 5"):format(short(rows)), inputs = written,
              once = function()
                  return function() np.io.read_csv(TEXT):column("c4"):wait() end
              end,
              numpy = READ, pandas = ("pd.read_csv(%q)"):format(TEXT) }
        add { name = ("write_csv, %s rows of 5"):format(short(rows)), inputs = written,
              once = function()
                  local rows_of = table_of(rows)
                  return function() np.io.write_csv(TEXT, rows_of) end
              end,
              numpy = ("a = %s :: np.savetxt(%q, a, '%%.9g', ',') or [0]"):format(READ, TEXT .. ".peer"),
              pandas = ("a = pd.read_csv(%q, %s) :: a.to_csv(%q, index=False) or [0]"):format(TEXT, TYPES,
                                                                                             TEXT .. ".peer") }
    end
end
