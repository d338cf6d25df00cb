--- program_file_test.lua (under tsan with --long): hostile program files, drawn at random. Files of random programs are
-- cut, and their bytes are changed, with the checksums as they were (every such file is refused) and made right again,
-- so that the decoders see them. A file is loaded, or refused with one error that names it; the session goes on, and
-- what was loaded is sound.
--
--     NEAP_FUZZ_KEEP      a path: the file that is being tried stands there when the process dies
require "tests.lib.devices"(4, "tests/fuzz/program_file_test.lua")
local bodies = require "tests.lib.sized_bodies"
local check = require "tests.lib.check"
local seeds = require "tests.lib.seeds"
local ffi = require "ffi"
local np = require "neap"
local programs = require "tests.lib.programs"
local zip = require "neap.files.zip"
local seconds, seed = seeds.seconds(4), seeds.first
local keep = os.getenv("NEAP_FUZZ_KEEP")
local path = keep or os.tmpname()
local HEAD, ENTRY = 20, 24

local function random(n)
    seed = (seed * 16807) % 2147483647
    return math.floor(seed / 8) % n + 1
end

local function contents()
    local file = assert(io.open(path, "rb"))
    local text = file:read "*a"
    file:close()
    return text
end

local function store(text)
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
end

local function u32_at(text, at)
    local a, b, c, d = text:byte(at, at + 3)
    return a + 256 * b + 65536 * c + 16777216 * d
end

local function u32(value)
    return string.char(value % 256, math.floor(value / 256) % 256, math.floor(value / 65536) % 256,
                       math.floor(value / 16777216) % 256)
end

local function crc(text)
    return u32(zip.crc32(ffi.cast("const uint8_t *", text), #text) % 2 ^ 32)
end

-- ---- Files ----------------------------------------------------------------------------------------------------------

--- The sections of a good file: a list of { name (8 bytes), text }.
local function split(text)
    local sections, at = {}, HEAD + 2 * ENTRY + 1
    for k = 1, 2 do
        local entry = HEAD + ENTRY * (k - 1) + 1
        local size = u32_at(text, entry + 8)
        sections[k] = { name = text:sub(entry, entry + 7), text = text:sub(at, at + size - 1) }
        at = at + size
    end
    return sections
end

--- A file of sections, with right checksums.
local function join(sections)
    local entries = ""
    for _, section in ipairs(sections) do
        entries = entries .. section.name .. u32(#section.text) .. u32(0) .. crc(section.text) .. u32(0)
    end
    local head = "\139neap\r\n\026" .. u32(4) .. u32(2)
    return head .. crc(head .. entries) .. entries .. sections[1].text .. sections[2].text
end

local function noise() end

--- Files to begin with: of random programs, one with effects, numbers and a tree, one with loops and branches.
local originals = {}
local function save(program)
    program:save(path)
    originals[#originals + 1] = split(contents())
    check.equal(join(originals[#originals]), contents())
end
for n = 1, 40 do
    local drawn = programs.draw(n)
    local leaves = drawn.make()
    save(np.trace(function(...)
        local r = { ... }
        drawn.run(r)
        local results = {}
        for k, at in ipairs(drawn.results) do results[k] = r[at] end
        return unpack(results)
    end)(unpack(leaves, 1, #drawn.leaves)))
end
save(np.trace(function(t, k)
    print("x", t.x, k)
    local y = np.callback(noise, { name = "f", result = { t.x, { shape = { 2 }, dtype = "i32" } } })(t.x, { k, "text" })
    np.printf("%.3f\n", t.x:sum())
    return { y = y[1] * k, z = y[2] }, "name"
end)({ x = np.ones(3), kind = "a" }, 2))

save(np.trace(function(x, n)
    local total, all = np.scan(function(carry, row)
        print("row", row)
        carry = np.cond(row:sum():gt(2), function(c)
            np.callback(noise, { name = "f" })(c:sum())
            return c + row * n
        end, function(c) return c - 1 end, carry)
        return carry, carry:sum()
    end, x[0], x)
    local more = np.while_loop(function(a) return a:sum():lt(100) end, function(a) return a * 2 + 1 end, total)
    return total, all, more
end)(np.ones { 3, 2 }, 2))

local mesh = np.mesh({ 1 }, { "i" }, { devices = { np.devices()[1] } })
save(np.trace(function(x, w)
    return np.device_put(x:matmul(w), mesh, np.P()) * 2, x:sum(0)
end)(np.device_put(np.ones { 2, 3 }, mesh, np.P "i"), np.ones { 3, 2 }))

save(np.trace(np.shard_map(function(v)
    print("block", v)
    np.callback(noise, { name = "f", coordinates = true })(v)
    return v
end, { mesh = mesh, in_specs = np.P "i", out_specs = np.P "i" }))(np.ones { 2, 3 }))

save(np.trace(function(x)
    local total = np.callback(noise, { name = "f", result = { shape = {}, dtype = "f32" } })(x)
    return np.device_put(x, mesh, np.P "i") * total, x.shape[1] * x:sum()
end, { sizes = { { "n", 3 } } })(np.device_put(np.ones { 2, 3 }, mesh, np.P "i")))

--- Bodies of np.shard_map: what is loaded of them is also run, where types that a file claims would do harm.
local first_body = #originals + 1
local whole, square = np.mesh({ 4 }, { "i" }), np.mesh({ 2, 2 }, { "a", "b" })
local function over(f, ins, out, on, more)
    local o = { mesh = on or whole, in_specs = ins, out_specs = out }
    for key, value in pairs(more or {}) do o[key] = value end
    return np.shard_map(f, o)
end
local rows, held = np.ones { 8, 3 }, np.device_put(np.ones { 8, 3 }, whole, np.P "i")
save(np.trace(over(function(v)
    local all = np.psum_scatter(np.all_gather(v, "i"), "i")
    return np.ppermute(all, "i", { { 0, 1 }, { 1, 2 } }) + np.psum(v, "i") * np.axis_index "i"
end, { np.P "i" }, np.P "i"))(rows))
save(np.trace(over(function(v)
    local all = np.all_to_all(np.all_gather(v, "i"), "i", 0, 0):sum { axis = 0 }
    return all + np.pmax(v, "i"), np.pmean(v:sum(), "i")
end, { np.P "i" }, { np.P "i", np.P() }))(held))
save(np.trace(over(function(v)
    local carry, every = np.scan(function(c, row) return c + np.psum(row, "i"), c * row end, np.zeros(3), v)
    return np.cond(np.psum(v:sum(), "i"):gt(3), function(a) return a + carry end, function(a) return a * 2 end, every)
end, { np.P "i" }, np.P "i"))(rows))
save(np.trace(function(v)
    return over(function(block)
        return over(function(b) return np.psum(b, "b") + b end, { np.P(nil, "b") }, np.P(nil, "b"),
                    square)(np.psum(block, "a"))
    end, { np.P "a" }, np.P "a", square, { axis_names = { "a" } })(v)
end)(np.device_put(np.ones { 4, 2 }, square, np.P("a", "b"))))
save(np.trace(np.grad(function(w)
    return over(function(v, u) return np.psum((v * u):sum(), "i") end, { np.P "i", np.P() }, np.P(), nil,
                { check_rep = false })(held, w)
end))(np.ones(3)))

--- Programs with declared sizes: what is loaded of them is asked for others.
local first_sized = #originals + 1
local function save_sized(sizes, f, ...)
    save(np.trace(f, { sizes = sizes })(...))
end
local weights, inner = np.ones { 3, 2 }, np.trace(function(v) return np.tanh(v) * 2 end)(np.ones(3))
save_sized({ { "n", 3 } }, function(x)
    local half = x[{ { math.floor(x.shape[1] / 2) } }]
    if x.shape[1] > 2 then x = x * 2 end
    return np.nn.softmax(x:matmul(weights)) / x.shape[1], np.concatenate { half, np.ones { x.shape[1], 3 } },
           inner(x[0])
end, np.ones { 5, 3 })
save_sized({ { "n", "m" }, { "2*n + 1" } }, function(x, y)
    local total, all = np.scan(function(c, row) return c + row:sum(), row * c end, 0.0, x)
    print("all", all)
    np.printf("%.3f\n", total)
    return np.vmap(function(row) return row * 2 end)(all), np.grad(function(v) return (v * v):mean() end)(y)
end, np.ones { 3, 2 }, np.ones(7))
save_sized({ { "n" } }, function(x)
    local ok, y = pcall(function() return x:reshape(4) end)
    local _, slope = np.jvp(function(v) return np.sin(v) / v.shape[1] end, { x }, { np.ones_like(x) })
    return np.cond(x:sum():gt(0), function(v) return v + 1 end, function(v) return v * 2 end, ok and y or x) + slope
end, np.ones(5))

for n = 1, 16 do
    local traced, program = pcall(np.trace(bodies.draw(n, true), { sizes = bodies.SIZES }),
                                  unpack(bodies.arguments(2, 2)))
    if traced then save(program) end
end

-- ---- Mutations ------------------------------------------------------------------------------------------------------

-- Bytes that mean something: the ends of ranges, continued numbers, tags.
local TELLING = { 0, 1, 2, 3, 5, 127, 128, 129, 254, 255, ("{"):byte(), ("n"):byte(), ("x"):byte(), ("r"):byte() }
local HUGE = { "\255\255\255\255\255\255\255\255\255\1", "\255\255\255\255\15",
               "\128\128\128\128\128\128\128\128\128\1", "\254\255\255\255\255\255\255\255\255\1",
               "\255\255\255\255", "\0\0\0\128" }

local function change(text)
    local at, how = random(math.max(#text, 1)), random(8)
    local before, after = text:sub(1, at - 1), text:sub(at + 1)
    if how <= 2 then return before .. string.char(TELLING[random(#TELLING)]) .. after end
    if how == 3 then return before .. string.char(random(256) - 1) .. after end
    if how == 4 then return before .. HUGE[random(#HUGE)] .. after end
    if how == 5 then return before end
    if how == 6 then return before .. after end
    if how == 7 then return before .. text:sub(at, at + random(8)) .. text:sub(at) end
    local other = random(math.max(#text, 1))
    return before .. text:sub(other, other + random(6)) .. after
end

local functions = { callbacks = { f = noise, note = noise, twice = bodies.functions.twice } }
local loaded, refused, calls, recorded, runs, ran, asked, played = 0, 0, 0, 0, 0, 0, 0, 0

--- Arguments for a program; nil if they would be large.
local function arguments_of(program)
    local leaves, small = {}, true
    for k, port in ipairs(program:inputs()) do
        local size = 1
        for _, n in ipairs(port.shape) do size = size * n end
        small = small and size < 1e6 and not port.device
        leaves[k] = not small and 0 or port.number and 2 or np.zeros(port.shape, { dtype = port.dtype })
    end
    return small and #leaves > 0 and #leaves <= 50 and leaves or nil
end

--- Runs what was loaded: it gives something, or one error.
local function run(program)
    local leaves = arguments_of(program)
    if not leaves then return end
    runs = runs + 1
    local ok, problem = pcall(function()
        for _, result in ipairs { program(unpack(leaves)) } do
            if np.is_array(result) then result:totable() end
        end
    end)
    ran = ran + (ok and 1 or 0)
    check.ok(ok or not tostring(problem):find("internal", 1, true), tostring(problem))
end

--- Records what was loaded as a part of another program, which may fail as running it may.
local function record(program)
    local leaves = arguments_of(program)
    if not leaves then return end
    local traced = pcall(np.trace(function(...) return program(...) end), unpack(leaves))
    calls, recorded = calls + 1, recorded + (traced and 1 or 0)
end

--- Asks a program with declared sizes for others: it gives something, or one error.
local function ask(program)
    local leaves, small = {}, true
    for k, port in ipairs(program:inputs()) do
        local dims, size = {}, 1
        for axis, n in ipairs(port.shape) do
            local extent = program.declared.list[k] and program.declared.list[k][axis]
            local known = setmetatable({}, { __index = function() return 4 end })
            local ok, other = pcall(function() return type(extent) == "table" and extent.of(known) or n end)
            dims[axis] = ok and other or n
            size = size * dims[axis]
        end
        small = small and size < 1e6 and size >= 0 and not port.device
        leaves[k] = not small and 0 or port.number and 2 or np.zeros(dims, { dtype = port.dtype })
    end
    if not small or #leaves > 50 then return end
    asked = asked + 1
    local ok, problem = pcall(function()
        for _, result in ipairs { program(unpack(leaves)) } do
            if np.is_array(result) then result:totable() end
        end
    end)
    played = played + (ok and 1 or 0)
    check.ok(ok or not tostring(problem):find("internal", 1, true), tostring(problem))
end

--- Tries the file at `path`. Files with wrong checksums must be refused.
local function try(text, must_fail, runs_too)
    store(text)
    local ok, result = pcall(np.load_program, path, functions)
    if ok then
        check.ok(not must_fail, "a file with a wrong checksum was loaded")
        loaded = loaded + 1
        np.debug.verify(result)
        check.ok(#tostring(result) > 0)
        if loaded % 16 == 0 then result:save(path) end
        if loaded % 4 == 0 then record(result) end
        if result.declared then
            ask(result)
        elseif runs_too then
            run(result)
        end
        return
    end
    refused = refused + 1
    check.ok(type(result) == "string" and result:find("np.load_program: cannot load '", 1, true), tostring(result))
end

check.test("damage with wrong checksums is refused", function()
    local text = join(originals[#originals])
    for n = 1, #text, 3 do
        try(text:sub(1, n - 1) .. string.char((text:byte(n) + 1) % 256) .. text:sub(n + 1), true)
        try(text:sub(1, n - 1), true)
    end
end)

check.test("damage with right checksums is refused, or loaded as another program", function()
    local stop, rounds = os.clock() + seconds, 0
    repeat
        local nth = random(2) == 1 and first_body - 3 + random(#originals - first_body + 3) or random(#originals)
        if random(3) == 1 then nth = first_sized - 1 + random(#originals - first_sized + 1) end
        local original = originals[nth]
        local part = random(5) == 1 and 1 or 2
        local sections = { original[1], original[2] }
        local text = original[part].text
        for _ = 1, random(3) do text = change(text) end
        sections[part] = { name = original[part].name, text = text }
        local at = seed
        local ok, problem = pcall(try, join(sections), false, nth >= first_body)
        if not ok then error(("seed %d: %s"):format(at, tostring(problem)), 0) end
        rounds = rounds + 1
    until rounds % 16 == 0 and os.clock() > stop
    check.equal(np.arange(3):sum():item(), 3)
    print(("%d files loaded, %d refused; of %d tried, %d were recorded again; of %d run, %d gave a result"):format(
        loaded, refused, calls, recorded, runs, ran))
    print(("of %d with declared sizes, %d gave a result for others"):format(asked, played))
    check.ok(refused > 0 and ran > 0 and asked > 0)
end)

if not keep then os.remove(path) end
check.done()
