--- programs.lua: seeded random programs over arrays, for tests that run one program in many ways.
--
--     local program = programs.draw(17)
--     local r = program.make()                 -- r[1] … r[n]: its leaves, arrays with values
--     program.run(r)                           -- records the lines: each fills a further register
--     for _, k in ipairs(program.results) do print(r[k]) end
--     print(program.text)                      -- a script that does all this
--
-- Lines are maps, reductions, views, gathers, scatters, joins, products, sorts, casts, random draws, and what people
-- write with them: softmax, layer norms, gradients. To know dtypes and shapes a program is recorded while it is drawn,
-- which computes only the leaves; program.drawn are the registers of that. What is drawn depends on the seed alone. A
-- new kind of line is one call of `line` below.
local bit = require "bit"
local ffi = require "ffi"
local np = require "neap"
local core = require "neap.core"
local dtypes = require "tests.lib.dtypes"
local values = require "tests.lib.values"

local programs = {}

local LARGEST = 70000 -- elements of a register

-- What dtypes are drawn from: f32 with preference.
local LEAVES = { "f32", "f32" }
for _, name in ipairs(dtypes.names) do LEAVES[#LEAVES + 1] = name end

-- ---- Values ---------------------------------------------------------------------------------------------------------

--- An array with values that depend on dtype, seed and shape: fractions between -4 and 4, small integers.
function programs.leaf(dtype, seed, dims)
    local x = (np.arange(values.size_of(dims), { dtype = "i64" }) * (seed % 1000 * 2 + 7919) + seed) % 65537
    if dtype == "bool" then
        x = np.greater(x % 3, 0)
    elseif values.dtypes[dtype].kind == "int" then
        x = (x % 23 - (values.dtypes[dtype].signed and 11 or 0)):astype(dtype)
    else
        x = x:astype(dtype) / 8192 - 4
    end
    return x:reshape(dims):wait()
end

local PRIME, BASIS = 1099511628211ULL, 14695981039346656037ULL

--- FNV-1a, by words. Which NaN a float is does not count.
local function hash_of(data, size, dtype)
    local h, real = BASIS, dtype.kind == "f"
    if dtype.bytes < 4 then
        local words = ffi.cast(("const uint%d_t *"):format(dtype.bits), data)
        local infinity = 0x8000 - 2 ^ (dtype.digits - 1) -- of halves
        for k = 0, size - 1 do
            local word = words[k]
            if dtype.half and word % 0x8000 > infinity then word = 0x7fff end
            h = bit.bxor(h, 0ULL + word) * PRIME
        end
    elseif dtype.bytes == 4 then
        local words = ffi.cast("const uint32_t *", data)
        for k = 0, size - 1 do
            local word = words[k]
            if real and word % 0x80000000 > 0x7f800000 then word = 0x7fc00000 end
            h = bit.bxor(h, 0ULL + word) * PRIME
        end
    else
        local words = ffi.cast("const uint64_t *", data)
        for k = 0, size - 1 do
            local word = words[k]
            if real and word * 2ULL > 0xffe0000000000000ULL then word = 0x7ff8000000000000ULL end
            h = bit.bxor(h, word) * PRIME
        end
    end
    return h
end

--- A text that is the same for two arrays only if dtype, shape and all bits are (those of a NaN apart). Waits.
function programs.hash(x)
    local bits = core.read(x, hash_of)
    return ("%s %s %s"):format(x.dtype, core.shape_text(x), bit.tohex(bits))
end

-- ---- Drawing --------------------------------------------------------------------------------------------------------

--- The value of a line's text.
local function evaluate(text, r)
    return assert(loadstring("local np, leaf, r = ... return " .. text))(np, programs.leaf, r)
end

local Draw = {}
Draw.__index = Draw

--- An integer from 1 to n.
function Draw:random(n)
    self.state = self.state * 16807 % 2147483647
    return math.floor(self.state / 8) % n + 1
end

function Draw:chance(p)
    return self:random(1000) <= p * 1000
end

function Draw:pick(list)
    return list[self:random(#list)]
end

--- Adds a register.
function Draw:add(list, text)
    list[#list + 1] = text
    local x = evaluate(text, self.r)
    for n in text:gmatch "r%[(%d+)%]" do self.about[tonumber(n)].read = true end
    local dims, kind = x.shape, values.dtypes[x.dtype].kind
    self.r[#self.r + 1] = x
    self.about[#self.r] = { n = #self.r, name = ("r[%d]"):format(#self.r), dims = dims, ndim = #dims,
                            size = values.size_of(dims), dtype = x.dtype, kind = kind }
end

--- A register for which `suits(about)` holds, a late one rather than an early one; nil if there is none.
function Draw:register(suits)
    local found = {}
    for _, about in ipairs(self.about) do
        if not suits or suits(about) then found[#found + 1] = about end
    end
    if #found == 0 then return nil end
    return found[math.max(self:random(#found), self:random(#found))]
end

--- The same of a kind ("real", "int", "bool"), with at least `axes` axes and at most `most` elements, not empty.
function Draw:of(kind, axes, most)
    return self:register(function(a)
        return (not kind or a.kind == kind) and a.ndim >= (axes or 0) and a.size <= (most or LARGEST) and a.size > 0
    end)
end

--- The shape that two shapes broadcast to; nil if they do not, or if it is too large.
local function broadcast(a, b)
    local result, ndim = {}, math.max(#a, #b)
    for k = 1, ndim do
        local m, n = a[#a - ndim + k] or 1, b[#b - ndim + k] or 1
        if m ~= n and m ~= 1 and n ~= 1 then return nil end
        result[k] = m == 1 and n or m
    end
    return values.size_of(result) <= LARGEST and result or nil
end

--- A register that broadcasts with another one, for which `suits` holds.
function Draw:partner(a, suits)
    return self:register(function(b) return broadcast(a.dims, b.dims) and (not suits or suits(b)) end)
end

--- An axis from 0, at times counted from the end.
function Draw:axis(a)
    local axis = self:random(a.ndim) - 1
    return self:chance(0.2) and axis - a.ndim or axis
end

--- Options of a reduction: some axes or all.
function Draw:axes(a, keepdims)
    local list = {}
    for axis = 0, a.ndim - 1 do
        if self:chance(0.5) then list[#list + 1] = axis end
    end
    local parts = {}
    if #list > 0 and self:chance(0.85) then parts[1] = "axis={" .. table.concat(list, ",") .. "}" end
    if keepdims or self:chance(0.4) then parts[#parts + 1] = "keepdims=true" end
    return "{" .. table.concat(parts, ", ") .. "}"
end

local function shape_text(dims)
    return "{" .. table.concat(dims, ",") .. "}"
end

--- A number beside an array of this kind.
function Draw:number(kind)
    return kind == "real" and (self:random(41) - 21) / 8 or self:random(5)
end

-- ---- Lines ----------------------------------------------------------------------------------------------------------

local lines, weights = {}, 0

--- A kind of line: how often it is drawn, and a function that gives its text, or nil if nothing suits it.
local function line(weight, text_of)
    weights = weights + weight
    lines[#lines + 1] = { upto = weights, text_of = text_of }
end

local KINDS = { bool = true, int = true, real = true }
local maps = { {}, {}, {} } -- by arity; of each: name, kinds
for _, row in ipairs(values.rows) do
    if row.class == "map" and #row.attrs == 0 and row.name ~= "where" and row.name ~= "clip"
        and row.name ~= "complex" then
        local types = {}
        for _, kind in ipairs(row.types) do types[kind] = KINDS[kind] end
        table.insert(maps[row.arity], { name = row.name, types = types })
    end
end

local function promoted(a, b)
    local C, codes = core.C, core.dtype_codes
    return values.dtypes[core.dtypes[C.neap_dtype_promote(codes[a.dtype], codes[b.dtype])].name].kind
end

line(14, function(d)
    local a = d:of("real")
    local name = d:pick { "tanh", "exp", "square", "negative", "abs", "sigmoid", "sin", "floor", "erf" }
    return a and ("np.%s(%s)"):format(name, a.name)
end)
line(14, function(d)
    local a = d:register()
    local b = d:partner(a, function(b) return promoted(a, b) ~= "bool" end)
    return b and ("%s %s %s"):format(a.name, d:pick { "+", "-", "*" }, b.name)
end)
line(12, function(d)
    local a = d:of(d:pick { "real", "real", "int" })
    if not a then return nil end
    local n = d:number(a.kind)
    return ("%s %s %s"):format(a.name, d:pick { "+", "-", "*" }, n < 0 and "(" .. n .. ")" or n)
end)
line(6, function(d) -- any map of one operand
    local row, a = d:pick(maps[1]), d:register()
    return row.types[a.kind] and ("np.%s(%s)"):format(row.name, a.name)
end)
line(6, function(d) -- any map of two
    local row, a = d:pick(maps[2]), d:register()
    local b = d:partner(a, function(b) return row.types[promoted(a, b)] end)
    return b and ("np.%s(%s, %s)"):format(row.name, a.name, b.name)
end)
line(3, function(d) -- complex numbers, of two real arrays, as a real one
    local a = d:of("real")
    local b = a and d:partner(a, function(b) return b.kind == "real" and b.size > 0 end)
    if not b then return nil end
    local both = { dims = broadcast(a.dims, b.dims) }
    both.ndim = #both.dims
    local z, w = ("np.complex(%s, %s)"):format(a.name, b.name), ("np.complex(%s, %s)"):format(b.name, a.name)
    return d:pick {
        ("np.abs(%s * 2i - %s)"):format(z, w), ("np.real(%s:conj() / (%s + 9))"):format(z, w),
        ("np.imag((%s * 0.5i):sum%s)"):format(z, d:axes(both)), ("np.exp(%s * 0.125i).real"):format(z),
        ("np.real(np.where(%s:gt(0), %s, %s):prod%s)"):format(a.name, z, w, d:axes(both)),
        ("np.imag(np.sqrt(%s) - %s:mean%s)"):format(z, w, d:axes(both, true)),
    }
end)
line(5, function(d)
    local a = d:register()
    local b = d:partner(a)
    local c = b and d:partner({ dims = broadcast(a.dims, b.dims) })
    if not c then return nil end
    local condition = a.kind == "bool" and a.name or ("np.greater(%s, %d)"):format(a.name, d:random(3) - 1)
    if a.kind == "bool" or d:chance(0.5) then return ("np.where(%s, %s, %s)"):format(condition, b.name, c.name) end
    return ("np.where(%s, %s, %d)"):format(condition, b.name, d:random(2) - 1)
end)
line(3, function(d)
    local a = d:of("real")
    return a and ("np.clip(%s, %g, %g)"):format(a.name, -d:random(8) / 4, d:random(8) / 4)
end)
line(3, function(d)
    local a, dtype = d:register(), d:pick(LEAVES)
    return ("%s:astype(%q)"):format(a.name, dtype)
end)

-- Reductions, and what follows them over the kept axes.
line(8, function(d)
    local a = d:of(d:pick { "real", "real", "int" })
    return a and ("%s:%s%s"):format(a.name, d:pick { "sum", "sum", "max", "min" }, d:axes(a))
end)
line(2, function(d)
    local a = d:of()
    local name = d:pick { "prod", "any", "all" }
    if not a or name == "prod" and a.size > 300 then return nil end
    return ("%s:%s%s"):format(a.name, name, d:axes(a))
end)
line(2, function(d)
    local a = d:of(nil, 1)
    if not a then return nil end
    return ("%s:%s{axis=%d, keepdims=%s}"):format(a.name, d:pick { "argmax", "argmin" }, d:axis(a), d:chance(0.5))
end)
line(3, function(d)
    local a = d:of("real")
    return a and ("%s:%s%s"):format(a.name, d:pick { "mean", "var", "std" }, d:axes(a))
end)
line(4, function(d)
    local a = d:of("real", 1)
    return a and ("np.%s(%s, {axis=%d})"):format(d:pick { "softmax", "log_softmax", "logsumexp" }, a.name, d:axis(a))
end)
line(4, function(d) -- layer norm, and its relatives
    local a = d:of("real", 1)
    if not a then return nil end
    local axes = d:axes(a, true)
    local off = ("(%s - %s:mean%s)"):format(a.name, a.name, axes)
    return d:pick {
        ("%s / np.sqrt(%s:var%s + 1e-5)"):format(off, a.name, axes),
        ("%s * np.rsqrt((%s * %s):mean%s + 1e-5)"):format(a.name, a.name, a.name, axes),
        ("%s / (1 + np.abs(%s):sum%s)"):format(a.name, a.name, axes), off,
        ("np.where(np.equal(%s, %s:max%s), %s, 0)"):format(a.name, a.name, axes, a.name),
        ("(%s - %s:min%s) / (%s:max%s - %s:min%s + 1)"):format(a.name, a.name, axes, a.name, axes, a.name, axes),
        ("((%s - %s:max%s):exp() * %s):sum%s"):format(a.name, a.name, axes, a.name, d:axes(a)),
    }
end)
line(5, function(d) -- more than one thing of the same rows: reductions of reductions, and back
    local a = d:of("real", 1)
    if not a then return nil end
    local axis = d:axis(a)
    local kept, gone = ("{axis=%d, keepdims=true}"):format(axis), ("{axis=%d}"):format(axis)
    local texts = {
        "np.softmax(A, GONE) * np.log_softmax(A, GONE)", "A - np.logsumexp(A, KEPT)", "(A - A:mean KEPT):sum GONE",
        "np.stack({A:mean GONE, A:var GONE, A:max GONE})", "(A:max KEPT - A:min KEPT) * A:sum()",
        "np.concatenate({A, A - A:mean KEPT}, GONE)", "np.softmax(np.softmax(A, GONE) * 3, GONE)",
        "(A / (A:abs():max KEPT + 1)):var GONE", "np.where(A:argmax KEPT:gt(0), A, A:sum KEPT)",
        "(A * A:sum KEPT):max KEPT - A", "np.tanh(A:sum KEPT) + A:mean() * A", "np.cumsum(A:sum KEPT - A, GONE)",
    }
    return (d:pick(texts):gsub("A", a.name):gsub("KEPT", kept):gsub("GONE", gone))
end)
line(3, function(d) -- sums of what two arrays make
    local a = d:of("real")
    local b = a and d:partner(a, function(b) return b.kind == "real" and b.size > 0 end)
    if not b then return nil end
    local both = { dims = broadcast(a.dims, b.dims) }
    both.ndim = #both.dims
    return d:pick { ("(%s * %s):sum%s"), ("np.square(%s - %s):sum%s"), ("np.maximum(%s, %s):max%s"),
                    ("(%s - %s):mean%s") }:format(a.name, b.name, d:axes(both))
end)

-- Views.
line(4, function(d)
    local a = d:register()
    local dims = d:pick { { a.size }, { -1, a.dims[a.ndim] or 1 }, { a.dims[1] or 1, -1 }, { 1, a.size, 1 } }
    if a.size % 2 == 0 and a.size > 0 and d:chance(0.4) then dims = { 2, a.size / 2 } end
    if a.size == 0 then dims = { a.size } end
    return ("%s:reshape%s"):format(a.name, shape_text(dims))
end)
line(4, function(d)
    local a = d:of(nil, 2)
    if not a then return nil end
    local order = {}
    for k = 1, a.ndim do table.insert(order, d:random(k), k - 1) end
    return ("np.permute_dims(%s, %s)"):format(a.name, shape_text(order))
end)
line(5, function(d)
    local a = d:of(nil, 1)
    if not a then return nil end
    local items = {}
    for k = 1, a.ndim do
        local n, at = a.dims[k], d:random(a.dims[k]) - 1
        items[k] = d:pick { "{}", "{}", ("{%d}"):format(at), ("{0,%d}"):format(at + 1),
                            ("{%d,%d,%d}"):format(math.floor(at / 2), n, d:random(3)), "{false,false,-1}",
                            ("{%d,false,%d}"):format(at, -d:random(2)) }
        if d:chance(0.15) then items[k] = tostring(at - (d:chance(0.3) and n or 0)) end
    end
    if d:chance(0.2) then table.insert(items, d:random(#items + 1), "np.newaxis") end
    return ("%s[{%s}]"):format(a.name, table.concat(items, ", "))
end)
line(2, function(d)
    local a = d:of(nil, 1)
    return a and ("np.flip(%s, {axis=%d})"):format(a.name, d:axis(a))
end)
line(3, function(d)
    local a = d:register(function(a) return a.ndim < 4 and a.size <= 600 end)
    if not a then return nil end
    local dims = { unpack(a.dims) }
    for k = 1, #dims do
        if dims[k] == 1 then dims[k] = d:random(5) end
    end
    if #dims < 4 then table.insert(dims, 1, d:random(4)) end
    return ("np.broadcast_to(%s, %s)"):format(a.name, shape_text(dims))
end)
line(2, function(d)
    local a = d:register(function(a) return a.ndim < 5 end)
    return a and ("np.expand_dims(%s, %d)"):format(a.name, d:random(a.ndim + 1) - 1)
end)

-- Gathers and scatters.
--- Indices into an axis of extent n: few or many, repeated, negative and beyond the end.
local function indices(d, n)
    if d:chance(0.3) then
        local list = {}
        for k = 1, d:random(6) do list[k] = d:random(n) - (d:chance(0.3) and n + 1 or 1) end
        return "np.array(" .. shape_text(list) .. ", {dtype='i32'})", #list
    end
    local a = d:chance(0.5) and d:of("int", 0, 300)
    if a then return ("%s:astype('i32'):reshape(-1) %% %d"):format(a.name, n + d:random(2) - 1), a.size end
    local count = d:random(2 * n + 1) % 400 + 1
    return ("np.random.randint(np.random.key(%d), {%d}, %d, %d)"):format(d:random(1000), count, -n, n), count
end
line(5, function(d)
    local a = d:of(nil, 1)
    if not a then return nil end
    local axis = d:axis(a)
    local n = a.dims[axis % a.ndim + 1]
    local index, count = indices(d, n)
    if a.size / n * count > LARGEST then return nil end
    return ("np.take(%s, %s, {axis=%d})"):format(a.name, index, axis)
end)
line(2, function(d)
    local a = d:of(nil, 1, 3000)
    if not a then return nil end
    local axis, order = d:axis(a), d:pick { "np.argsort(%s, {axis=%d})", "%s:argmax{axis=%d, keepdims=true}" }
    return ("np.take_along_axis(%s, %s, {axis=%d})"):format(a.name, order:format(a.name, axis), axis)
end)
line(4, function(d)
    local a = d:of(nil, 1)
    if not a then return nil end
    local how = d:pick { "set", "add", "mul", "min", "max" }
    if a.kind == "bool" then how = "set" end
    local n = a.dims[1]
    local first = ("{%d,%d,%d}"):format(d:random(n) - 1, n, d:random(2))
    if how ~= "mul" and d:chance(0.6) then first = indices(d, n) end
    local value = a.kind == "bool" and "true" or d:number(a.kind)
    local b = d:partner({ dims = { unpack(a.dims, 2) } }, function(b)
        return b.dtype == a.dtype and b.ndim < a.ndim and #broadcast({ unpack(a.dims, 2) }, b.dims) == a.ndim - 1
            and values.size_of(broadcast({ unpack(a.dims, 2) }, b.dims)) == a.size / n
    end)
    if b and d:chance(0.7) then value = b.name end
    return ("%s:at{%s}:%s(%s)"):format(a.name, first, how, value)
end)
line(3, function(d) -- updates of updates, which read the version before
    local a = d:of(d:pick { "real", "real", "int" }, 1)
    if not a then return nil end
    local n = a.dims[1]
    local from = d:random(n) - 1
    local texts = {
        "A:at{I}:set(A[J]):at{{F,N}}:add(A[{{F,N}}])", "A:at{I}:add(A[J]):at{J}:set(A[I])",
        "A:at{I}:set(2):at{I}:add(A[J]) - A", "A:at{{F,N}}:set(A[I]):at{J}:set(3):at{I}:add(1)",
        "A:at{I}:set(A[J]) + A:at{I}:set(A[J]):at{{F,N}}:add(1)",
    }
    local places = { A = a.name, I = d:random(n) - 1, J = d:random(n) - 1, F = from, N = n }
    return (d:pick(texts):gsub("[AIJFN]", places))
end)
line(4, function(d) -- what was recorded before, once more
    return #d.lines > 0 and d:pick(d.lines) or nil
end)

-- Joins.
line(4, function(d)
    local a = d:of(nil, 1, LARGEST / 3)
    if not a then return nil end
    local axis = d:random(a.ndim) - 1
    local b = d:register(function(b)
        if b.ndim ~= a.ndim or b.size > LARGEST / 3 then return false end
        for k = 1, a.ndim do
            if k ~= axis + 1 and a.dims[k] ~= b.dims[k] then return false end
        end
        return true
    end)
    return ("np.concatenate({%s, %s%s}, {axis=%d})"):format(a.name, b.name, d:chance(0.3) and ", " .. a.name or "",
                                                            axis)
end)
line(2, function(d)
    local a = d:of(nil, 0, LARGEST / 3)
    local b = a and d:register(function(b) return table.concat(a.dims, ",") == table.concat(b.dims, ",") end)
    return b and ("np.stack({%s, %s}, {axis=%d})"):format(a.name, b.name, d:random(a.ndim + 1) - 1)
end)
line(3, function(d)
    local a = d:of(nil, 1, LARGEST / 5)
    if not a then return nil end
    local axis = d:axis(a)
    return d:pick {
        ("np.roll(%s, %d, {axis=%d})"):format(a.name, d:random(9) - 5, axis),
        ("np.repeat_(%s, %d, {axis=%d})"):format(a.name, d:random(3), axis),
        ("np.pad(%s, {%d, %d})"):format(a.name, d:random(3) - 1, d:random(3) - 1),
        ("np.cumsum(%s, {axis=%d})"):format(a.name, axis),
    }
end)

-- Whole arrays.
line(3, function(d)
    local a = d:of("real", 1, 6000)
    if not a then return nil end
    if a.ndim == 1 then return ("%s:matmul(%s)"):format(a.name, a.name) end
    if a.size * a.dims[a.ndim - 1] > 1e6 then return nil end
    return ("%s:matmul(np.swapaxes(%s, -1, -2))"):format(a.name, a.name)
end)
line(2, function(d)
    local a = d:of(nil, 1, 6000)
    return a and ("np.%s(%s, {axis=%d})"):format(d:pick { "sort", "argsort" }, a.name, d:axis(a))
end)
line(2, function(d)
    local a = d:of(nil, 0, 6000)
    local draw = d:pick { "uniform", "normal", "bits", "gumbel" }
    return a and ("np.random.%s(np.random.key(%d), %s)"):format(draw, d:random(1000), shape_text(a.dims))
end)

-- Gradients.
line(4, function(d)
    local a = d:of("real", 1)
    local b = a and d:partner(a, function(b) return b.kind == "real" end)
    if not b then return nil end
    local axis = d:axis(a)
    local body = d:pick {
        ("(np.tanh(w) * %s):sum()"):format(b.name), ("(np.softmax(w, {axis=%d}) * %s):mean()"):format(axis, b.name),
        ("np.logsumexp(w * w, {axis=%d}):sum()"):format(axis), ("(w:var{axis=%d} + w:max()):sum()"):format(axis),
        ("np.where(np.greater(w, %s), w * w, w):sum()"):format(b.name),
        ("(np.concatenate({w, np.exp(w)}, {axis=%d}) ^ 2):mean()"):format(axis),
        ("np.take(w, np.array({0, -1, 0}, {dtype='i32'}), {axis=%d}):sum()"):format(axis),
    }
    return ("np.grad(function(w) return %s end)(%s)"):format(body, a.name)
end)

-- ---- Programs -------------------------------------------------------------------------------------------------------

local SHAPES = {
    function(d) -- small, of any rank
        local dims, size = {}, 1
        for k = 1, d:random(4) do
            local n = d:pick { 1, 2, 3, 4, 5, 7, 8, 10, 16, 17 }
            dims[k] = size * n <= 600 and n or 1
            size = size * dims[k]
        end
        return dims
    end,
    function(d) return { d:pick { 200, 255, 256, 257, 700, 1023, 1024, 1025, 3000 } } end,
    function(d) return { d:random(6), d:pick { 10, 33, 64, 100, 256, 257, 300, 512, 700, 1030 } } end,
    function(d) return { d:pick { 10, 64, 257, 512 }, d:random(8) } end,
    function(d) return d:pick { { 60, 1030 }, { 4, 8200 }, { 30000 }, { 130, 512 }, { 3000, 10 },
                                { 2, 17, 700 }, { 3, 8192 }, { 5, 12000 }, { 6, 2, 5000 }, { 8193, 3 } } end,
    function(d) return d:pick { {}, { 0 }, { 3, 0 }, { 1 }, { 1, 1 } } end,
}
local SHAPE_WEIGHTS = { 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 3, 4, 5, 6 }

--- The base shape, some axes of which may be 1 or left out.
local function leaf_shape(d, base)
    local dims = { unpack(base) }
    if d:chance(0.5) then return dims end
    for k = 1, #dims do
        if d:chance(0.3) then dims[k] = 1 end
    end
    for _ = 1, #dims - 1 do
        if d:chance(0.3) then table.remove(dims, 1) end
    end
    return dims
end

local function draw_line(d)
    for _ = 1, 50 do
        local at = d:random(weights)
        for _, kind in ipairs(lines) do
            if at <= kind.upto then
                local text = kind.text_of(d)
                if text then return text end
                break
            end
        end
    end
    error("no line suits the registers")
end

--- The registers that nobody reads, and a few others.
local function results_of(d)
    local results = {}
    for k = #d.leaves + 1, #d.r do
        if not d.about[k].read or d:chance(0.1) then results[#results + 1] = k end
    end
    return results
end

local function text_of(d, results)
    local out = { 'local np = require "neap"', 'local leaf = require("tests.lib.programs").leaf', "local r = {}" }
    local shown = {}
    for k, text in ipairs(d.leaves) do out[#out + 1] = ("r[%d] = %s"):format(k, text) end
    for k, text in ipairs(d.lines) do out[#out + 1] = ("r[%d] = %s"):format(#d.leaves + k, text) end
    for k, n in ipairs(results) do shown[k] = ("r[%d]"):format(n) end
    out[#out + 1] = ("print(%s)"):format(table.concat(shown, ", "))
    return table.concat(out, "\n") .. "\n"
end

--- The program of a seed.
function programs.draw(seed)
    local d = setmetatable({ state = (seed * 48271 + 12345) % 2147483646 + 1, r = {}, about = {}, leaves = {},
                             lines = {} }, Draw)
    for _ = 1, 3 do d:random(2) end
    local base = SHAPES[d:pick(SHAPE_WEIGHTS)](d)
    for _ = 1, 1 + d:random(3) do
        local dtype = d:pick(LEAVES)
        d:add(d.leaves, ("leaf(%q, %d, %s)"):format(dtype, d:random(9999), shape_text(leaf_shape(d, base))))
    end
    for _ = 1, 2 + d:random(16) do
        local text = draw_line(d)
        local ok, problem = pcall(d.add, d, d.lines, text)
        if not ok then error(("seed %d: %s: %s"):format(seed, text, tostring(problem)), 0) end
    end
    local program = { seed = seed, leaves = d.leaves, lines = d.lines, results = results_of(d), drawn = d.r }
    program.text = text_of(d, program.results)

    --- The leaves, in a new table of registers.
    function program.make()
        local r = {}
        for k, text in ipairs(program.leaves) do r[k] = evaluate(text, r) end
        return r
    end

    --- Records the lines; `visit`, if given, is called with each new register.
    function program.run(r, visit)
        for k, text in ipairs(program.lines) do
            local x = evaluate(text, r)
            r[#program.leaves + k] = x
            if visit then visit(x) end
        end
    end
    return program
end

return programs
