--- mesh_programs.lua: small programs over a mesh as text, for random tests: their interpreter, and a maker of random
-- ones.
--
-- A *case* is four texts:
--
--     mesh       i=4,j=2                     names and sizes of the axes
--     inputs     f64[8,4] ji,- 17 whole;…    dtype and shape, spec, seed, kind of values (`data` below)
--     program    psum:0,j mul:1,2 …          as below
--     outputs    3 i,-;…                     register and spec of each result
--
-- A spec has for each axis of the array the names of axes of the mesh (one letter each) that divide it, or `-`; `.` is
-- the spec of a 0-d array. Registers count from 0: first the inputs, then one for the result of each instruction. An
-- instruction is `name:operand,…`; operands are registers (the first ones), then numbers, or names of axes of the mesh.
--
-- A body runs with np or with the stand-in of mesh_reference.lua; golden/make_mesh.py has the same interpreter for JAX.
local np = require "neap"
local reference = require "tests.lib.mesh_reference"

local programs = {}

-- ---- Instructions ---------------------------------------------------------------------------------------------------

local function ring(n, shift)
    local perm = {}
    for k = 0, n - 1 do perm[k + 1] = { k, (k + shift) % n } end
    return perm
end

-- By name: how many registers, then the function of np, these and the other operands.
local instructions = {
    add = { 2, function(_, a, b) return a + b end },
    sub = { 2, function(_, a, b) return a - b end },
    mul = { 2, function(_, a, b) return a * b end },
    max = { 2, function(lib, a, b) return lib.maximum(a, b) end },
    neg = { 1, function(_, a) return -a end },
    scale = { 1, function(_, a, k) return a * k end },
    shift = { 1, function(_, a, k) return a + k end },
    sin = { 1, function(lib, a) return lib.sin(a) end },
    sum = { 1, function(_, a, axis) return a:sum { axis = axis } end },
    keep = { 1, function(_, a, axis) return a:sum { axis = axis, keepdims = true } end },
    flip = { 1, function(lib, a, axis) return lib.flip(a, axis) end },
    perm = { 1, function(lib, a, ...) return lib.permute_dims(a, { ... }) end },
    newaxis = { 1, function(lib, a, axis) return lib.expand_dims(a, axis) end },
    cut = { 1, function(_, a, from, to) return a[{ { from, to } }] end },
    cat = { 2, function(lib, a, b, axis) return lib.concatenate({ a, b }, { axis = axis }) end },
    dot = { 2, function(_, a, b) return a:matmul(b) end },
    -- Collectives:
    psum = { 1, function(lib, a, names) return lib.psum(a, names) end },
    pmean = { 1, function(lib, a, names) return lib.pmean(a, names) end },
    pmax = { 1, function(lib, a, names) return lib.pmax(a, names) end },
    pmin = { 1, function(lib, a, names) return lib.pmin(a, names) end },
    gather = { 1, function(lib, a, names, axis, tiled)
        return lib.all_gather(a, names, { axis = axis, tiled = tiled == 1 })
    end },
    scatter = { 1, function(lib, a, names, axis, tiled)
        return lib.psum_scatter(a, names, { scatter_dimension = axis, tiled = tiled == 1 })
    end },
    ring = { 1, function(lib, a, name, shift) return lib.ppermute(a, name, ring(lib.axis_size(name), shift)) end },
    send = { 1, function(lib, a, name, from, to) return lib.ppermute(a, name, { { from, to } }) end },
    shuffle = { 1, function(lib, a, name)
        local perm, n = {}, lib.axis_size(name)
        for k = 1, n do perm[k] = n - k end
        return lib.pshuffle(a, name, perm)
    end },
    swap = { 1, function(lib, a, name, split, concat, tiled)
        return lib.all_to_all(a, name, split, concat, { tiled = tiled == 1 })
    end },
    index = { 1, function(lib, a, names) return a * (lib.axis_index(names) + 1):astype(a.dtype) end },
    -- Control flow and transformations:
    scan = { 1, function(lib, a, names)
        local last, list = lib.scan(function(carry, x)
            carry = carry - x
            return carry, lib.psum(carry, names) + x
        end, a[0] * 0, a)
        return list + last
    end },
    loop = { 1, function(lib, a, name, turns)
        local perm = ring(lib.axis_size(name), 1)
        return lib.fori_loop(0, turns, function(_, carry) return a - lib.ppermute(carry, name, perm) end, a)
    end },
    cond = { 1, function(lib, a, names)
        return (lib.cond(lib.psum(a:sum(), names):gt(0), function(x) return x - lib.psum(x, names) end,
                         function(x) return x * 2 + 1 end, a))
    end },
    pick = { 1, function(lib, a)
        return (lib.cond(a:sum():gt(0), function(x) return x * 3 end, function(x) return 1 - x end, a))
    end },
    check = { 1, function(lib, a, names)
        return (lib.checkpoint(function(x) return x * 2 - lib.psum(x, names) end)(a))
    end },
    jit = { 1, function(lib, a, names) return (lib.jit(function(x) return x - lib.psum(x, names) end)(a)) end },
    vmap = { 1, function(lib, a, names)
        return (lib.vmap(function(row) return lib.psum(row, names) - row * 2 end)(a))
    end },
    grad = { 1, function(lib, a, names)
        return (lib.grad(function(x) return lib.psum((x * x * x):sum(), names) end)(a))
    end },
}

programs.names = {}
for name in pairs(instructions) do programs.names[#programs.names + 1] = name end
table.sort(programs.names)

-- ---- Texts ----------------------------------------------------------------------------------------------------------

local function split(text, mark)
    local list = {}
    for item in (text .. mark):gmatch("(.-)" .. mark) do list[#list + 1] = item end
    return list
end

--- The names in a text of letters: one is a string, several a table.
local function names_in(text)
    if #text == 1 then return text end
    local list = {}
    for k = 1, #text do list[k] = text:sub(k, k) end
    return list
end

local function spec_of(text)
    if text == "." then return reference.P() end
    local list = split(text, ",")
    for k = 1, #list do list[k] = list[k] ~= "-" and names_in(list[k]) end
    return reference.P(unpack(list))
end

--- Elements of seed s: s becomes s * 16807 mod 2147483647 for each. whole: integers from -2 to 2; real: in [-1, 1],
-- multiples of 2^-20.
local data = {
    whole = function(s) return s % 5 - 2 end,
    real = function(s) return (s % 2097153 - 1048576) / 1048576 end,
}

local function values(shape, dtype, seed, kind)
    local list, size = {}, 1
    for _, n in ipairs(shape) do size = size * n end
    for k = 1, size do
        seed = seed * 16807 % 2147483647
        list[k] = data[kind](seed)
    end
    if size == 0 then return np.zeros(shape, { dtype = dtype }) end
    return np.array(list, { dtype = "f64" }):astype(dtype):reshape(shape)
end

--- { mesh, in_specs, inputs (ordinary arrays), out_specs, outputs (registers), program } of the texts of a case.
function programs.parse(texts)
    local sizes, names = {}, {}
    for name, size in texts.mesh:gmatch("(%a)=(%d+)") do
        names[#names + 1], sizes[#sizes + 1] = name, tonumber(size)
    end
    local case = { mesh = reference.mesh(sizes, names), program = texts.program, in_specs = {}, inputs = {},
                   out_specs = {}, outputs = {} }
    for k, text in ipairs(split(texts.inputs, ";")) do
        local dtype, dims, spec, seed, kind = text:match("^(%w+)%[([%d,]*)%] (%S+) (%d+) (%a+)$")
        local shape = {}
        for n in dims:gmatch("%d+") do shape[#shape + 1] = tonumber(n) end
        case.in_specs[k] = spec_of(spec)
        case.inputs[k] = values(shape, dtype, tonumber(seed), kind)
    end
    for k, text in ipairs(split(texts.outputs, ";")) do
        local register, spec = text:match("^(%d+) (%S+)$")
        case.outputs[k], case.out_specs[k] = tonumber(register), spec_of(spec)
    end
    return case
end

-- ---- Running --------------------------------------------------------------------------------------------------------

--- Runs one instruction on a table of registers (from 0).
local function step(lib, registers, text)
    local name, rest = text:match("^(%a+):(.*)$")
    local known, operands = instructions[name], split(rest, ",")
    for k = 1, #operands do
        local value = tonumber(operands[k]) or names_in(operands[k])
        operands[k] = k <= known[1] and registers[value] or value
    end
    return known[2](lib, unpack(operands))
end

--- The body of a case as a function of np, or of its stand-in, and blocks.
function programs.body(case)
    return function(lib, ...)
        local registers, n = {}, select("#", ...)
        for k = 1, n do registers[k - 1] = select(k, ...) end
        for text in case.program:gmatch("%S+") do
            registers[n] = step(lib, registers, text)
            n = n + 1
        end
        local results = {}
        for k, register in ipairs(case.outputs) do results[k] = registers[register] end
        return unpack(results)
    end
end

--- The function of a case by the reference.
function programs.by_slices(case, check_rep)
    return reference.shard_map(programs.body(case), { mesh = case.mesh, in_specs = case.in_specs,
                                                      out_specs = case.out_specs, check_rep = check_rep })
end

--- np's mesh for a case: of the first of a list of devices, as many as it needs.
function programs.mesh(case, devices)
    devices = { unpack(devices or np.devices(), 1, case.mesh.size) }
    return np.mesh(case.mesh.sizes, case.mesh.names, { devices = devices })
end

--- The function of a case by np.shard_map, on a mesh of np, by default programs.mesh(case).
function programs.by_mesh(case, check_rep, mesh)
    local body = programs.body(case)
    return np.shard_map(function(...) return body(np, ...) end, {
        mesh = mesh or programs.mesh(case), in_specs = reference.real_specs(case.in_specs),
        out_specs = reference.real_specs(case.out_specs), check_rep = check_rep,
    })
end

-- ---- Random cases ---------------------------------------------------------------------------------------------------

local MESHES = { "i=2", "i=3", "i=4", "i=5", "i=6", "i=7", "i=8", "i=1", "i=2,j=2", "i=4,j=2", "i=2,j=4", "i=3,j=2",
                 "i=1,j=4", "i=2,j=1", "i=2,j=2,k=2", "i=2,j=1,k=3" }
local MOST = 128 -- elements of a block

--- A generator of numbers: random(n) is in 1 … n.
function programs.random(seed)
    seed = (seed * 7919 + 12345) % 2147483647
    return function(n)
        seed = seed * 16807 % 2147483647
        return math.floor(seed / 2147483647 * n) + 1
    end
end

local function shuffled(random, list)
    local out = { unpack(list) }
    for k = #out, 2, -1 do
        local other = random(k)
        out[k], out[other] = out[other], out[k]
    end
    return out
end

--- Spec entries of an array with ndim axes: `must` have to stand somewhere, others may (two of three times).
local function random_spec(random, mesh, ndim, must)
    local entries = {}
    for k = 1, ndim do entries[k] = "" end
    for _, name in ipairs(shuffled(random, mesh.names)) do
        if ndim > 0 and (must[name] or random(3) > 1) then
            local at = random(ndim)
            entries[at] = entries[at] .. name
        end
    end
    for k = 1, ndim do entries[k] = entries[k] == "" and "-" or entries[k] end
    return ndim == 0 and "." or table.concat(entries, ",")
end

--- One or more axes of the mesh.
local function random_names(random, mesh)
    local list = shuffled(random, mesh.names)
    return table.concat(list, "", 1, random(3) == 1 and #list or 1)
end

local function one_name(random, mesh) return mesh.names[random(#mesh.names)] end

-- What follows the registers: by instruction a function of random, the mesh and the number of axes of register 1.
local function axis(random, _, ndim) return random(math.max(ndim, 1)) - 1 end
local function names(random, mesh) return random_names(random, mesh) end
local function number(random) return random(5) - 3 end
local rest = {
    scale = { number }, shift = { number }, sum = { axis }, keep = { axis }, flip = { axis },
    newaxis = { function(random, _, ndim) return random(ndim + 1) - 1 end },
    cut = { function() return 0 end, function(random) return random(2) end },
    cat = { axis },
    perm = { function(random, _, ndim)
        local axes = {}
        for k = 1, ndim do axes[k] = k - 1 end
        return table.concat(shuffled(random, axes), ",")
    end },
    psum = { names }, pmean = { names }, pmax = { names }, pmin = { names }, index = { names }, scan = { names },
    check = { names }, jit = { names }, vmap = { names }, grad = { names },
    cond = { function(_, mesh) return table.concat(mesh.names) end },
    gather = { names, axis, function(random) return random(2) - 1 end },
    scatter = { names, axis, function(random) return math.min(random(3), 2) - 1 end },
    ring = { one_name, number }, shuffle = { one_name },
    send = { one_name, function() return 0 end, function(random) return random(2) - 1 end },
    swap = { one_name, axis, axis, function(random) return math.min(random(3), 2) - 1 end },
    loop = { one_name, function(random) return random(3) end },
}

-- Which instructions may be drawn, and how often: everywhere, for floats, without derivatives.
local everywhere = {
    add = 3, sub = 2, mul = 2, neg = 1, scale = 1, shift = 1, sum = 2, keep = 2, flip = 1, perm = 2, newaxis = 1,
    cut = 1, cat = 1, dot = 3, psum = 4, gather = 3, scatter = 4, ring = 3, send = 1, shuffle = 1, swap = 4, index = 2,
    scan = 2, loop = 2, cond = 2, pick = 1, check = 2, jit = 2, vmap = 2,
}
local floats = { grad = 2 }
local inexact = { sin = 2, pmean = 2 }
local without_derivatives = { pmax = 2, pmin = 2, max = 1 }

local function bag_of(...)
    local bag = {}
    for k = 1, select("#", ...) do
        local sorted = {}
        for name in pairs((select(k, ...))) do sorted[#sorted + 1] = name end
        table.sort(sorted)
        for _, name in ipairs(sorted) do
            for _ = 1, (select(k, ...))[name] do bag[#bag + 1] = name end
        end
    end
    return bag
end

local function random_input(random, mesh, kind)
    local shape, size = {}, 1
    for k = 1, math.max(random(4) - 1, 1) do
        local n = random(2) == 1 and mesh.sizes[random(#mesh.sizes)] or random(4)
        if size * n > 32 then n = 1 end
        shape[k], size = n, size * n
    end
    local spec = random_spec(random, mesh, #shape, {})
    local whole = {}
    for k, entry in ipairs(split(spec, ",")) do
        whole[k] = shape[k]
        for name in entry:gmatch("%a") do whole[k] = whole[k] * mesh.shape[name] end
    end
    return ("%s[%s] %s %d %s"):format(kind.dtype, table.concat(whole, ","), spec, random(1000000),
                                      kind.exact and "whole" or "real")
end

--- Draws an instruction for registers 0 … n - 1, runs it by the reference, and returns its text and result; nil if it
-- does not suit its operands.
local function random_step(random, lib, mesh, registers, n, bag)
    local name = bag[random(#bag)]
    local operands = {}
    for k = 1, instructions[name][1] do operands[k] = random(2) == 1 and n - 1 or random(n) - 1 end
    local ndim = #registers[operands[1]].shape
    for _, draw in ipairs(rest[name] or {}) do operands[#operands + 1] = draw(random, mesh, ndim) end
    local text = name .. ":" .. table.concat(operands, ",")
    local ok, result = pcall(step, lib, registers, text)
    if not ok or type(result) == "number" then return nil end
    local size = 1
    for _, extent in ipairs(result.shape) do size = size * extent end
    if size > MOST or #result.shape > 4 or result.dtype ~= registers[operands[1]].dtype then return nil end
    return text, result, name
end

local PRODUCTS = { mul = true, dot = true, grad = true }

--- The texts of a random case: kind is { dtype, exact (integers and what keeps them), derivatives (has them), strict (a
-- result is split over all axes over which its type varies, as JAX wants it) }. `used` counts the instructions by name.
function programs.sample(seed, kind, used)
    local random = programs.random(seed)
    local texts = { mesh = MESHES[random(#MESHES)] }
    local mesh = programs.parse({ mesh = texts.mesh, inputs = "f32[] . 1 whole", outputs = "0 ." }).mesh
    local inputs = {}
    for k = 1, random(3) do inputs[k] = random_input(random, mesh, kind) end
    texts.inputs = table.concat(inputs, ";")
    local is_float = kind.dtype:find "f"
    local bag = bag_of(everywhere, is_float and floats or {}, is_float and not kind.exact and inexact or {},
                       kind.derivatives and {} or without_derivatives)
    local case = programs.parse { mesh = texts.mesh, inputs = texts.inputs, outputs = "0 ." }
    local wanted, out_specs, program, outputs = 2 + random(6), {}, {}, {}

    local function body(lib, ...)
        local registers, n, products = {}, select("#", ...), 0
        for k = 1, n do registers[k - 1] = select(k, ...) end
        for _ = 1, 100 do
            local text, result, name = random_step(random, lib, mesh, registers, n, bag)
            if text and (not PRODUCTS[name] or products < 3) then
                products = products + (PRODUCTS[name] and 1 or 0)
                program[#program + 1], registers[n], n = text, result, n + 1
                used[name] = (used[name] or 0) + 1
                if #program == wanted then break end
            end
        end
        local results = {}
        for k = 1, random(2) do
            local register = k == 1 and n - 1 or random(n) - 1
            local x = registers[register]
            if #x.shape == 0 and next(reference.varies(x)) then
                program[#program + 1] = ("newaxis:%d,0"):format(register)
                register, x = n, lib.expand_dims(x, 0)
                registers[n], n = x, n + 1
            end
            local must = kind.strict and reference.varies(x) or reference.differs(x)
            local spec = random_spec(random, mesh, #x.shape, must)
            outputs[k], out_specs[k], results[k] = ("%d %s"):format(register, spec), spec_of(spec), x
        end
        return unpack(results)
    end

    reference.shard_map(body, { mesh = mesh, in_specs = case.in_specs, out_specs = out_specs })(unpack(case.inputs))
    texts.program, texts.outputs = table.concat(program, " "), table.concat(outputs, ";")
    return texts
end

--- A case in one line, for messages.
function programs.show(texts)
    return ("mesh %s | %s | %s | %s"):format(texts.mesh, texts.inputs, texts.program, texts.outputs)
end

--- The sum of all elements with weights from -5 to 5.
function programs.weigh(results)
    local sum = 0
    for _, y in ipairs(results) do
        local weights = ((np.arange(y.size) * 7) % 11 - 5):astype(y.dtype)
        sum = sum + (y * weights:reshape(y.shape)):sum()
    end
    return sum
end

return programs
