--- cases.lua: the cases of the groups "memory", "calls", "daily", "products" and "updates": one table from which neap
-- and the other systems are driven (bench/beside.lua says how).
--
-- group; name; inputs: arrays, which the others read from files, as x, y, z, w in this order. What a call does:
--
--      lua       a function of the inputs: what neap evaluates
--      once      or a function of the inputs that gives a function: the call; it waits for its result itself
--      numpy, scipy, pandas, torch, jax      the same as Python text; a system without one is left out
--
-- Python text is an expression over the inputs and `threads`, how many the system is given, before which statements may
-- stand that run once, " :: " between them; or it defines a function once(), the call. An expression for jax is jitted,
-- unless it begins with "eager ". drawn: results are random, or not the same thing in all systems, so they are not
-- compared. each: how many turns a call makes; its time is for one of them.
local np = require "neap"

local cases = {}
local key = np.random.key(7)
local drawn = 0

local function add(case)
    cases[#cases + 1] = case
end

-- ---- Inputs ---------------------------------------------------------------------------------------------------------

local function next_key()
    drawn = drawn + 1
    return np.random.fold_in(key, drawn)
end

local function normal(...)
    return np.random.normal(next_key(), { ... }):wait()
end

local function uniform(...)
    return np.random.uniform(next_key(), { ... }):wait()
end

local function integers(most, ...)
    return np.random.randint(next_key(), { ... }, 0, most):wait()
end

--- Inputs are made when a group asks for them.
local function inputs(make, ...)
    local given, count = { ... }, select("#", ...)
    return function() return { make(unpack(given, 1, count)) } end
end

local function normals(...)
    local shapes = { ... }
    return function()
        local arrays = {}
        for k, shape in ipairs(shapes) do arrays[k] = normal(unpack(shape)) end
        return arrays
    end
end

local function short(n)
    local exponent = math.floor(math.log10(n) + 0.5)
    return n >= 1000 and n == 10 ^ exponent and "1e" .. exponent or ("%d"):format(n)
end

-- ---- memory: results of megabytes, dropped turn by turn -------------------------------------------------------------

local SIDE = 1024
local WIDE = { SIDE, SIDE }
add { group = "memory", name = "a + b, 1024x1024", inputs = normals(WIDE, WIDE), lua = function(x, y) return x + y end,
      numpy = "x + y", torch = "x + y", jax = "x + y" }
add { group = "memory", name = "a + b, 1e7", inputs = normals({ 1e7 }, { 1e7 }), lua = function(x, y) return x + y end,
      numpy = "x + y", torch = "x + y", jax = "x + y" }
add { group = "memory", name = "outer product, 1024", inputs = normals({ SIDE }, { SIDE }),
      lua = function(x, y) return np.outer(x, y) end, numpy = "np.outer(x, y)", torch = "torch.outer(x, y)",
      jax = "jnp.outer(x, y)" }
add { group = "memory", name = "g[:, None] * b + A, 1024x1024", inputs = normals({ SIDE }, { SIDE }, WIDE),
      lua = function(x, y, z) return x:reshape(SIDE, 1) * y + z end, numpy = "x[:, None] * y + z",
      torch = "x[:, None] * y + z", jax = "x[:, None] * y + z" }
add { group = "memory", name = "concatenate and double, 1024x1024 twice", inputs = normals(WIDE, WIDE),
      lua = function(x, y) return np.concatenate { x, y } * 2 end, numpy = "np.concatenate([x, y]) * np.float32(2)",
      torch = "torch.cat([x, y]) * 2", jax = "jnp.concatenate([x, y]) * 2" }
add { group = "memory", name = "stencil of 5 points, 1024x1024", inputs = normals(WIDE),
      lua = function(x)
          return x"1:-1, :-2" + x"1:-1, 2:" + x":-2, 1:-1" + x"2:, 1:-1" - x"1:-1, 1:-1" * 4
      end,
      numpy = "x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1] - x[1:-1, 1:-1] * np.float32(4)",
      torch = "x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1] - x[1:-1, 1:-1] * 4",
      jax = "x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1] - x[1:-1, 1:-1] * 4" }
add { group = "memory", name = "transposed copy, 1024x1024", inputs = normals(WIDE),
      lua = function(x) return np.copy(x.T) end, numpy = "x.T.copy()", torch = "x.T.contiguous()",
      jax = "x.T" }
add { group = "memory", name = "a.T + b, 1024x1024", inputs = normals(WIDE, WIDE),
      lua = function(x, y) return x.T + y end, numpy = "x.T + y", torch = "x.T + y", jax = "x.T + y" }
add { group = "memory", name = "softmax, 1024 rows of 1024", inputs = normals(WIDE),
      lua = function(x) return np.softmax(x) end,
      numpy = "e = np.exp(x - x.max(-1, keepdims=True)); e / e.sum(-1, keepdims=True)", torch = "torch.softmax(x, -1)",
      jax = "jax.nn.softmax(x, -1)" }
add { group = "memory", name = "layer norm, 1024 rows of 1024", inputs = normals(WIDE),
      lua = function(x)
          local kept = { axis = -1, keepdims = true }
          return (x - x:mean(kept)) / np.sqrt(x:var(kept) + 1e-5)
      end,
      numpy = "(x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + np.float32(1e-5))",
      torch = "torch.nn.functional.layer_norm(x, (1024,))",
      jax = "(x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)" }
add { group = "memory", name = "gradient of gelu, 1024x1024", inputs = normals(WIDE),
      once = function(x)
          local gradient = np.grad(function(a) return np.nn.gelu(a):sum() end)
          return function() return gradient(x):wait() end
      end,
      torch = "x.requires_grad_() :: torch.autograd.grad(torch.nn.functional.gelu(x, approximate='tanh').sum(), x)[0]",
      jax = "jax.grad(lambda a: jax.nn.gelu(a).sum())(x)" }

-- ---- calls ----------------------------------------------------------------------------------------------------------

for _, n in ipairs { 1e3, 1e5, 1e7 } do
    add { group = "calls", name = "cumsum, " .. short(n), inputs = normals { n },
          lua = function(x) return np.cumsum(x) end, numpy = "np.cumsum(x)", torch = "torch.cumsum(x, 0)",
          jax = "jnp.cumsum(x)", drawn = true }
end
for axis = 0, 1 do
    add { group = "calls", name = "cumsum over axis " .. axis .. ", 1000x1000", inputs = normals { 1000, 1000 },
          lua = function(x) return np.cumsum(x, { axis = axis }) end, numpy = "np.cumsum(x, " .. axis .. ")",
          torch = "torch.cumsum(x, " .. axis .. ")", jax = "jnp.cumsum(x, " .. axis .. ")" }
end
add { group = "calls", name = "cumprod, 1e5", inputs = inputs(function() return uniform(1e5) * 0.01 + 0.995 end),
      lua = function(x) return np.cumprod(x) end, numpy = "np.cumprod(x)", torch = "torch.cumprod(x, 0)",
      jax = "jnp.cumprod(x)" }
add { group = "calls", name = "cummax, 1e5", inputs = normals { 1e5 }, lua = function(x) return np.cummax(x) end,
      numpy = "np.maximum.accumulate(x)", torch = "torch.cummax(x, 0).values", jax = "jax.lax.cummax(x)" }
add { group = "calls", name = "x[mask], 1e6", inputs = normals { 1e6 }, lua = function(x) return x[x:gt(0)] end,
      numpy = "x[x > 0]", torch = "x[x > 0]", jax = "eager x[x > 0]" }
add { group = "calls", name = "nonzero, 1e6", inputs = inputs(function() return normal(1e6):gt(0.5) end),
      lua = function(x) return np.nonzero(x)[1] end, numpy = "np.nonzero(x)[0]", torch = "torch.nonzero(x)",
      jax = "eager jnp.nonzero(x)[0]", drawn = true }
for _, n in ipairs { 1e3, 1e5, 1e6 } do
    add { group = "calls", name = "sort, " .. short(n), inputs = normals { n }, lua = function(x) return np.sort(x) end,
          numpy = "np.sort(x)", torch = "torch.sort(x).values", jax = "jnp.sort(x)" }
end
add { group = "calls", name = "sort, 1000 rows of 1000", inputs = normals { 1000, 1000 },
      lua = function(x) return np.sort(x) end, numpy = "np.sort(x)", torch = "torch.sort(x).values",
      jax = "jnp.sort(x)" }
for _, n in ipairs { 1e5, 1e6 } do
    add { group = "calls", name = "argsort, " .. short(n), inputs = normals { n },
          lua = function(x) return np.argsort(x) end, numpy = "np.argsort(x)", torch = "torch.argsort(x)",
          jax = "jnp.argsort(x)" }
end
add { group = "calls", name = "unique, 1e6 of 1000", inputs = inputs(integers, 1000, 1e6),
      lua = function(x) return np.unique(x) end, numpy = "np.unique(x)", torch = "torch.unique(x)",
      jax = "eager jnp.unique(x)", drawn = true }
add { group = "calls", name = "unique with counts, 1e6 of 1000", inputs = inputs(integers, 1000, 1e6),
      lua = function(x) return (select(2, np.unique(x, { return_counts = true }))) end,
      numpy = "np.unique(x, return_counts=True)[1]", torch = "torch.unique(x, return_counts=True)[1]",
      jax = "eager jnp.unique(x, return_counts=True)[1]", drawn = true }
add { group = "calls", name = "isin, 1e6 in 1000",
      inputs = function() return { integers(1e6, 1e6), integers(1e6, 1e3) } end,
      lua = function(x, y) return np.isin(x, y) end, numpy = "np.isin(x, y)", torch = "torch.isin(x, y)",
      jax = "jnp.isin(x, y)" }
add { group = "calls", name = "histogram, 1e6 in 100", inputs = normals { 1e6 },
      lua = function(x) return (np.histogram(x, 100)) end, numpy = "np.histogram(x, 100)[0]",
      torch = "torch.histc(x, 100)", jax = "jnp.histogram(x, 100)[0]", drawn = true }
add { group = "calls", name = "histogram by edges, 1e6 in 100",
      inputs = function() return { normal(1e6), np.linspace(-3, 3, 101) } end,
      lua = function(x, y) return (np.histogram(x, y)) end, numpy = "np.histogram(x, y)[0]",
      torch = "torch.histogram(x, y).hist", jax = "jnp.histogram(x, y)[0]", drawn = true }
add { group = "calls", name = "bincount, 1e6 of 1000", inputs = inputs(integers, 1000, 1e6),
      lua = function(x) return np.bincount(x) end, numpy = "np.bincount(x)", torch = "torch.bincount(x)",
      jax = "jnp.bincount(x, length=1000)", drawn = true }
add { group = "calls", name = "segment_sum, 1e6 into 1000",
      inputs = function() return { normal(1e6), integers(1000, 1e6) } end,
      lua = function(x, y) return np.segment_sum(x, y, 1000) end, numpy = "np.bincount(y, x, 1000)",
      torch = "torch.zeros(1000).index_add_(0, y, x)", jax = "jax.ops.segment_sum(x, y, 1000)" }
local links = "scipy.sparse.csr_array((z, y, np.arange(0, 1e7 + 1, 10, np.int32)), shape=(10**6, 10**6))"
local function of_links(indices, data)
    local starts = np.arange(1e6 + 1) * 10
    return np.sparse.csr_array { data = data, indices = indices, indptr = starts, shape = { 1e6, 1e6 } }
end
add { group = "calls", name = "sparse product, 1e6 rows of 10, a vector",
      inputs = function() return { normal(1e6), integers(1e6, 1e7), normal(1e7) } end,
      once = function(x, y, z)
          local A = of_links(y, z)
          return function() return A:dot(x):wait() end
      end, scipy = "import scipy.sparse :: A = " .. links .. " :: A @ x" }
add { group = "calls", name = "sparse product, 1e6 rows of 10, 8 vectors",
      inputs = function() return { normal(1e6, 8), integers(1e6, 1e7), normal(1e7) } end,
      once = function(x, y, z)
          local A = of_links(y, z)
          return function() return A:dot(x):wait() end
      end, scipy = "import scipy.sparse :: A = " .. links .. " :: A @ x" }
add { group = "calls", name = "median, 1e6", inputs = normals { 1e6 }, lua = function(x) return np.median(x) end,
      numpy = "np.median(x)", torch = "torch.median(x)", jax = "jnp.median(x)", drawn = true }
add { group = "calls", name = "3 quantiles, 1e6", inputs = normals { 1e6 },
      lua = function(x) return np.quantile(x, { 0.25, 0.5, 0.75 }) end, numpy = "np.quantile(x, [0.25, 0.5, 0.75])",
      torch = "torch.quantile(x, torch.tensor([0.25, 0.5, 0.75]))",
      jax = "jnp.quantile(x, jnp.array([0.25, 0.5, 0.75]))" }
add { group = "calls", name = "a // b of i32, 1e5",
      inputs = function() return { integers(1e9, 1e5), integers(1000, 1e5) + 1 } end,
      lua = function(x, y) return np.floor_divide(x, y) end, numpy = "x // y", torch = "x // y", jax = "x // y" }
add { group = "calls", name = "a % 1000 of i32, 1e6", inputs = inputs(integers, 1e9, 1e6),
      lua = function(x) return x % 1000 end, numpy = "x % 1000", torch = "x % 1000", jax = "x % 1000" }
add { group = "calls", name = "nanmean over axis 0, 1000x1000", inputs = normals { 1000, 1000 },
      lua = function(x) return np.nanmean(x, 0) end, numpy = "np.nanmean(x, 0)", torch = "torch.nanmean(x, 0)",
      jax = "jnp.nanmean(x, 0)" }
add { group = "calls", name = "cov, 100 of 10000", inputs = normals { 100, 10000 },
      lua = function(x) return np.cov(x) end, numpy = "np.cov(x)", torch = "torch.cov(x)", jax = "jnp.cov(x)" }
for _, m in ipairs { 9, 1000 } do
    add { group = "calls", name = ("convolve, 1e5 with %d"):format(m), inputs = normals({ 1e5 }, { m }),
          lua = function(x, y) return np.convolve(x, y) end, numpy = "np.convolve(x, y)",
          torch = ("torch.nn.functional.conv1d(x[None, None], y.flip(0)[None, None], padding=%d)[0, 0]"):format(m - 1),
          jax = "jnp.convolve(x, y)" }
end
add { group = "calls", name = "top 10 of 1e6", inputs = normals { 1e6 }, lua = function(x) return (np.top_k(x, 10)) end,
      numpy = "np.sort(np.partition(x, x.size - 10)[-10:])[::-1]", torch = "torch.topk(x, 10).values",
      jax = "jax.lax.top_k(x, 10)[0]" }
add { group = "calls", name = "searchsorted, 1e6 in 1e4",
      inputs = function() return { np.sort(normal(1e4)), normal(1e6) } end,
      lua = function(x, y) return np.searchsorted(x, y) end, numpy = "np.searchsorted(x, y)",
      torch = "torch.searchsorted(x, y)", jax = "jnp.searchsorted(x, y)" }
for _, bins in ipairs { 1e3, 1e6 } do
    add { group = "calls", name = "scatter-add, 1e6 into " .. short(bins),
          inputs = function() return { integers(bins, 1e6), normal(1e6) } end,
          lua = function(x, y) return np.zeros(bins):at { x }:add(y) end,
          numpy = ("z = np.zeros(%d, np.float32); np.add.at(z, x, y); z"):format(bins),
          torch = ("torch.zeros(%d).index_add_(0, x, y)"):format(bins),
          jax = ("jnp.zeros(%d).at[x].add(y)"):format(bins) }
end
add { group = "calls", name = "scatter-add of rows, 1e4 of 64 into 1e4",
      inputs = function() return { integers(1e4, 1e4), normal(1e4, 64) } end,
      lua = function(x, y) return np.zeros(1e4, 64):at { x }:add(y) end,
      numpy = "z = np.zeros((10000, 64), np.float32); np.add.at(z, x, y); z",
      torch = "torch.zeros(10000, 64).index_add_(0, x, y)", jax = "jnp.zeros((10000, 64)).at[x].add(y)" }
add { group = "calls", name = "embedding, 16384 rows of 64 from 1e4",
      inputs = function() return { normal(1e4, 64), integers(1e4, 16384) } end,
      lua = function(x, y) return np.take(x, y, { axis = 0 }) end, numpy = "x[y]", torch = "x[y]", jax = "x[y]" }
add { group = "calls", name = "elements taken, 1e6 of 1e6",
      inputs = function() return { normal(1e6), integers(1e6, 1e6) } end,
      lua = function(x, y) return np.take(x, y) end, numpy = "x[y]", torch = "x[y]", jax = "x[y]" }
add { group = "calls", name = "swapaxes, 8x64x4x32", inputs = normals { 8, 64, 4, 32 },
      lua = function(x) return np.copy(np.swapaxes(x, 1, 2)) end, numpy = "x.swapaxes(1, 2).copy()",
      torch = "x.transpose(1, 2).contiguous()", jax = "x.swapaxes(1, 2)" }
for _, name in ipairs { "sum", "max", "mean", "argmax" } do
    local torch = name == "max" and "amax" or name
    add { group = "calls", name = name .. " over axis 0, 1000x1000", inputs = normals { 1000, 1000 },
          lua = function(x) return np[name](x, { axis = 0 }) end, numpy = "x." .. name .. "(0)",
          torch = "x." .. torch .. "(0)", jax = "x." .. name .. "(0)" }
end
add { group = "calls", name = "argmax, 1e5", inputs = normals { 1e5 }, lua = function(x) return x:argmax() end,
      numpy = "x.argmax()", torch = "x.argmax()", jax = "x.argmax()" }
add { group = "calls", name = "sum, 1e7", inputs = normals { 1e7 }, lua = function(x) return x:sum() end,
      numpy = "x.sum()", torch = "x.sum()", jax = "x.sum()", drawn = true }

for _, draw in ipairs {
    { "uniform", "rng.random(1000000, np.float32)", "torch.rand(1000000)" },
    { "normal", "rng.standard_normal(1000000, np.float32)", "torch.randn(1000000)" },
} do
    add { group = "calls", name = "random " .. draw[1] .. ", 1e6", inputs = inputs(np.random.key, 3),
          lua = function(x) return np.random[draw[1]](x, { 1e6 }) end,
          numpy = "rng = np.random.default_rng(3) :: " .. draw[2], torch = draw[3],
          jax = "jax.random." .. draw[1] .. "(x, (1000000,))", drawn = true }
end
add { group = "calls", name = "random integers, 1e6", inputs = inputs(np.random.key, 3),
      lua = function(x) return np.random.randint(x, { 1e6 }, 0, 1000) end,
      numpy = "rng = np.random.default_rng(3) :: rng.integers(0, 1000, 1000000, np.int32)",
      torch = "torch.randint(0, 1000, (1000000,), dtype=torch.int32)",
      jax = "jax.random.randint(x, (1000000,), 0, 1000)", drawn = true }
add { group = "calls", name = "random permutation, 1e6", inputs = inputs(np.random.key, 3),
      lua = function(x) return np.random.permutation(x, 1e6) end,
      numpy = "rng = np.random.default_rng(3) :: rng.permutation(1000000)", torch = "torch.randperm(1000000)",
      jax = "jax.random.permutation(x, 1000000)", drawn = true }

local function functions(names, make, numpy, torch, jax)
    for name in names:gmatch "%S+" do
        add { group = "calls", name = name .. ", 1e5", inputs = inputs(make, 1e5),
              lua = function(x) return np[name](x) end, numpy = numpy and numpy .. name .. "(x)",
              torch = torch and torch .. name .. "(x)", jax = jax .. name .. "(x)" }
    end
end
functions("exp log1p sin cos tan tanh sinh cosh", uniform, "np.", "torch.", "jnp.")
functions("log sqrt", uniform, "np.", "torch.", "jnp.")
functions("erf", normal, nil, "torch.special.", "jax.lax.")
for _, f in ipairs { "asin acos atan asinh", "atanh" } do
    for name in f:gmatch "%S+" do
        add { group = "calls", name = name .. ", 1e5", inputs = inputs(uniform, 1e5),
              lua = function(x) return np[name](x) end, numpy = "np." .. name:gsub("^a", "arc") .. "(x)",
              torch = "torch." .. name .. "(x)", jax = "jnp." .. name:gsub("^a", "arc") .. "(x)" }
    end
end
add { group = "calls", name = "cbrt, 1e5", inputs = inputs(uniform, 1e5), lua = function(x) return np.cbrt(x) end,
      numpy = "np.cbrt(x)", jax = "jnp.cbrt(x)" }
add { group = "calls", name = "rsqrt, 1e5", inputs = inputs(uniform, 1e5), lua = function(x) return np.rsqrt(x) end,
      torch = "torch.rsqrt(x)", jax = "jax.lax.rsqrt(x)" }
add { group = "calls", name = "erf_inv, 1e5", inputs = inputs(uniform, 1e5),
      lua = function(x) return np.erf_inv(x) end, torch = "torch.erfinv(x)", jax = "jax.lax.erf_inv(x)" }
add { group = "calls", name = "pow, 1e5", inputs = function() return { uniform(1e5), normal(1e5) } end,
      lua = function(x, y) return x ^ y end, numpy = "x ** y", torch = "x ** y", jax = "x ** y", drawn = true }
add { group = "calls", name = "atan2, 1e5", inputs = normals({ 1e5 }, { 1e5 }),
      lua = function(x, y) return np.atan2(x, y) end, numpy = "np.arctan2(x, y)", torch = "torch.atan2(x, y)",
      jax = "jnp.arctan2(x, y)" }

add { group = "calls", name = "distances, w * (x*x+1)^-1.5, 8x500x500", inputs = normals({ 8, 500, 500 }, { 500, 500 }),
      lua = function(x, y) return x * (y * y + 1) ^ -1.5 end, numpy = "x * (y * y + 1) ** np.float32(-1.5)",
      torch = "x * (y * y + 1) ** -1.5", jax = "x * (y * y + 1) ** -1.5" }
add { group = "calls", name = "positional table added, 64x128x256",
      inputs = normals({ 64, 128, 256 }, { 128, 1 }, { 256 }),
      lua = function(x, y, z) return x + np.sin(y * z) end, numpy = "x + np.sin(y * z)", torch = "x + torch.sin(y * z)",
      jax = "x + jnp.sin(y * z)" }
add { group = "calls", name = "Mandelbrot, 50 turns, 256x400",
      inputs = function()
          return { np.copy(np.linspace(-2, 0.5, 400):reshape(1, 400) + np.zeros(256, 1)),
                   np.copy(np.linspace(-1.2, 1.2, 256):reshape(256, 1) + np.zeros(1, 400)) }
      end,
      lua = function(cr, ci)
          local zr, zi, n = np.zeros_like(cr), np.zeros_like(ci), np.zeros_like(cr)
          for _ = 1, 50 do
              local alive = (zr * zr + zi * zi):lt(4)
              zr, zi = np.where(alive, zr * zr - zi * zi + cr, zr), np.where(alive, 2 * zr * zi + ci, zi)
              n = n + alive
          end
          return n
      end,
      numpy = [[
def once():
    zr, zi, n = np.zeros_like(x), np.zeros_like(y), np.zeros_like(x)
    for _ in range(50):
        alive = zr * zr + zi * zi < 4
        zr, zi = np.where(alive, zr * zr - zi * zi + x, zr), np.where(alive, 2 * zr * zi + y, zi)
        n = n + alive
    return n
]],
      torch = [[
def once():
    zr, zi, n = torch.zeros_like(x), torch.zeros_like(y), torch.zeros_like(x)
    for _ in range(50):
        alive = zr * zr + zi * zi < 4
        zr, zi = torch.where(alive, zr * zr - zi * zi + x, zr), torch.where(alive, 2 * zr * zi + y, zi)
        n = n + alive
    return n
]],
      jax = [[
@jax.jit
def turns(x, y):
    zr, zi, n = jnp.zeros_like(x), jnp.zeros_like(y), jnp.zeros_like(x)
    for _ in range(50):
        alive = zr * zr + zi * zi < 4
        zr, zi = jnp.where(alive, zr * zr - zi * zi + x, zr), jnp.where(alive, 2 * zr * zi + y, zi)
        n = n + alive
    return n
def once():
    return turns(x, y)
]] }

local make = { normal = normal, uniform = uniform, integers = integers, inputs = inputs, normals = normals,
               short = short }
require "bench.library"(add, make)
require "bench.daily"(add, make)

-- ---- products -------------------------------------------------------------------------------------------------------

local function product(name, x, y)
    add { group = "products", name = name, inputs = normals(x, y), lua = function(a, b) return a:matmul(b) end,
          numpy = "x @ y", torch = "x @ y", jax = "x @ y" }
end
for _, n in ipairs { 16, 64, 128, 256, 512, 1024 } do
    product(("matmul, %dx%dx%d"):format(n, n, n), { n, n }, { n, n })
end
product("matmul, 64 of 64x64x64", { 64, 64, 64 }, { 64, 64, 64 })
product("matmul, 10000 of 4x4x4", { 10000, 4, 4 }, { 10000, 4, 4 })
product("matmul, 32 of 64x32x64", { 32, 64, 32 }, { 32, 32, 64 })
product("matrix by vector, 1024x1024", { 1024, 1024 }, { 1024 })
product("matrix by vector, 4096x1024", { 4096, 1024 }, { 1024 })
product("vector by matrix, 1024x1024", { 1024 }, { 1024, 1024 })
product("dot, 1e6", { 1e6 }, { 1e6 })
product("matmul, 128x784x256", { 128, 784 }, { 784, 256 })
product("matmul, 64x128x512", { 64, 128 }, { 128, 512 })
product("matmul, 20x512x8192", { 20, 512 }, { 512, 8192 }) -- scores of a vocabulary
product("matmul, 64x512x8192", { 64, 512 }, { 512, 8192 })
add { group = "products", name = "matmul, transposed 784x128x256", inputs = normals({ 128, 784 }, { 128, 256 }),
      lua = function(a, b) return a.T:matmul(b) end, numpy = "x.T @ y", torch = "x.T @ y", jax = "x.T @ y" }

-- Convolutions as residual networks have them: images and weights with channels last, as neap and JAX take them;
-- PyTorch gets both as it takes them. Then: stride, groups.
local CONVOLUTIONS = {
    { "3x3, 64 to 64, 56x56", { 8, 56, 56, 64 }, { 3, 3, 64, 64 }, 1, 1 },
    { "1x1, 256 to 64, 56x56", { 8, 56, 56, 256 }, { 1, 1, 256, 64 }, 1, 1 },
    { "7x7 stride 2, 3 to 64, 224x224", { 2, 224, 224, 3 }, { 7, 7, 3, 64 }, 2, 1 },
    { "3x3 stride 2, 128 to 256, 28x28", { 8, 28, 28, 128 }, { 3, 3, 128, 256 }, 2, 1 },
    { "3x3 in 32 groups, 128, 28x28", { 8, 28, 28, 128 }, { 3, 3, 4, 128 }, 1, 32 },
    { "3x3 depthwise, 96, 56x56", { 8, 56, 56, 96 }, { 3, 3, 1, 96 }, 1, 96 },
    { "3x3, 512 to 512, 7x7, one image", { 1, 7, 7, 512 }, { 3, 3, 512, 512 }, 1, 1 },
    { "3x3, 64 to 64, 2x2", { 32, 2, 2, 64 }, { 3, 3, 64, 64 }, 1, 1 },
    { "1x1 in 4 groups, 272 to 1088, 7x7, one image", { 1, 7, 7, 272 }, { 1, 1, 68, 1088 }, 1, 4 },
}
local CHANNELS_FIRST = "x, y = x.permute(0, 3, 1, 2).contiguous(), y.permute(3, 2, 0, 1).contiguous() :: "
for _, row in ipairs(CONVOLUTIONS) do
    local name, x, w, stride, groups = unpack(row)
    local pad = math.floor(w[1] / 2)
    local function convolve(a, b)
        return np.nn.conv(a, b, { strides = stride, padding = { { pad, pad }, { pad, pad } }, groups = groups })
    end
    local torch = ("torch.nn.functional.conv2d(x, y, stride=%d, padding=%d, groups=%d)"):format(stride, pad, groups)
    local jax = ('jax.lax.conv_general_dilated(x, y, (%d, %d), [(%d, %d)] * 2, feature_group_count=%d, '
        .. 'dimension_numbers=("NHWC", "HWIO", "NHWC"))'):format(stride, stride, pad, pad, groups)
    add { group = "products", name = "convolution " .. name, inputs = normals(x, w), lua = convolve,
          torch = CHANNELS_FIRST .. torch, jax = jax }
    add { group = "products", name = "convolution " .. name .. ", gradients", inputs = normals(x, w),
          once = function(a, b)
              local function sum(c, d) return convolve(c, d):sum() end
              local gradient = np.jit(np.grad(sum, { argnums = { 1, 2 } }))
              return function() np.wait(gradient(a, b)) end
          end,
          torch = CHANNELS_FIRST .. "x.requires_grad_(), y.requires_grad_() :: torch.autograd.grad(" .. torch
              .. ".sum(), (x, y))",
          jax = "jax.grad(lambda x, y: " .. jax .. ".sum(), (0, 1))(x, y)" }
end

do
    local length, channels, taps = 1000, 64, 9
    add { group = "products", name = "convolution of one axis with 9, depthwise, 64, 1000",
          inputs = normals({ 16, length, channels }, { taps, 1, channels }),
          lua = function(x, y) return np.nn.conv(x, y, { padding = { { 4, 4 } }, groups = channels }) end,
          torch = "x, y = x.permute(0, 2, 1).contiguous(), y.permute(2, 1, 0).contiguous() :: "
              .. "torch.nn.functional.conv1d(x, y, padding=4, groups=64)",
          jax = 'jax.lax.conv_general_dilated(x, y, (1,), [(4, 4)], feature_group_count=64, '
              .. 'dimension_numbers=("NHC", "HIO", "NHC"))' }
end

-- ---- updates --------------------------------------------------------------------------------------------------------

local ROWS, WIDTH, TURNS = 100000, 8, 100
add { group = "updates", name = "row set in 100000x8, donated", each = TURNS,
      inputs = normals({ ROWS, WIDTH }, { WIDTH }),
      once = function(b, row)
          b = np.copy(b):wait()
          local set = np.jit(function(t, i, r) return t:at { i }:set(r) end, { donate = { 1 } })
          return function()
              for i = 0, TURNS - 1 do b = set(b, i, row) end
              b:wait()
          end
      end,
      numpy = "def once():\n    for i in range(100):\n        x[i] = y\n    return x",
      torch = "def once():\n    for i in range(100):\n        x[i] = y\n    return x",
      jax = [[
import functools
set = functools.partial(jax.jit, donate_argnums=0)(lambda t, i, r: t.at[i].set(r))
state = [x + 0]
def once():
    for i in range(100):
        state[0] = set(state[0], i, y)
    return state[0]
]], drawn = true }
add { group = "updates", name = "recurrence in a loop, 100000x8, 1000 turns", each = 1000,
      inputs = normals { ROWS, WIDTH },
      once = function(b)
          local run = np.jit(function(t)
              return np.fori_loop(1, 1001, function(i, c) return c:at { i }:set(c[i - 1] * 0.5 + 1) end, t)
          end)
          return function() return run(b):wait() end
      end,
      numpy = [[
def once():
    t = x.copy()
    for i in range(1, 1001):
        t[i] = t[i - 1] * 0.5 + 1
    return t
]],
      torch = [[
def once():
    t = x.clone()
    for i in range(1, 1001):
        t[i] = t[i - 1] * 0.5 + 1
    return t
]],
      jax = "jax.lax.fori_loop(1, 1001, lambda i, t: t.at[i].set(t[i - 1] * 0.5 + 1), x)", drawn = true }
add { group = "updates", name = "300 elements set one by one, 1e4", each = 300, inputs = normals { 1e4 },
      lua = function(x)
          for k = 0, 299 do x = x:at { k }:set(k) end
          return x
      end,
      numpy = "def once():\n    t = x.copy()\n    for k in range(300):\n        t[k] = k\n    return t",
      torch = "def once():\n    t = x.clone()\n    for k in range(300):\n        t[k] = k\n    return t",
      jax = [[
def once():
    t = x
    for k in range(300):
        t = t.at[k].set(k)
    return t
]] }
add { group = "updates", name = "key-value cache, 4 heads, 512x64, a token", each = 64,
      inputs = normals({ 4, 512, 64 }, { 4, 512, 64 }, { 4, 64 }),
      once = function(keys, values, q)
          local step = np.jit(function(k, v, t, x)
              k, v = k:at { {}, t }:set(x), v:at { {}, t }:set(x * 0.5)
              local scores = k:matmul(x:reshape(4, 64, 1)):reshape(4, 512) * 0.125
              local seen = np.where(np.arange(512):le(t), scores, -1e9)
              local y = np.softmax(seen):reshape(4, 1, 512):matmul(v):reshape(4, 64)
              return k, v, y
          end, { donate = { 1, 2 } })
          local k, v = np.copy(keys):wait(), np.copy(values):wait()
          return function()
              local x = q
              for t = 0, 63 do k, v, x = step(k, v, t, x) end
              x:wait()
          end
      end,
      torch = [[
k, v = x.clone(), y.clone()
def once():
    q = z
    for t in range(64):
        k[:, t] = q
        v[:, t] = q * 0.5
        s = (k @ q.reshape(4, 64, 1)).reshape(4, 512) * 0.125
        s = torch.where(torch.arange(512) <= t, s, -1e9)
        q = (torch.softmax(s, -1).reshape(4, 1, 512) @ v).reshape(4, 64)
    return q
]],
      jax = [[
import functools
@functools.partial(jax.jit, donate_argnums=(0, 1))
def step(k, v, t, q):
    k, v = k.at[:, t].set(q), v.at[:, t].set(q * 0.5)
    s = (k @ q.reshape(4, 64, 1)).reshape(4, 512) * 0.125
    s = jnp.where(jnp.arange(512) <= t, s, -1e9)
    return k, v, (jax.nn.softmax(s, -1).reshape(4, 1, 512) @ v).reshape(4, 64)
state = [x + 0, y + 0]
def once():
    q = z
    for t in range(64):
        state[0], state[1], q = step(state[0], state[1], t, q)
    return q
]], drawn = true }

return cases
