--- checkpoint_test.lua: np.io.save_checkpoint and np.io.load_checkpoint in one process: what is saved on one mesh is
-- loaded on others, and damage is told.
local np = require "neap"
local check = require "tests.lib.check"

require "tests.lib.devices" (8, "tests/mesh/checkpoint_test.lua")

local P = np.P
local folder = os.tmpname()
os.remove(folder)

local mesh = np.mesh({ 4, 2 }, { "i", "j" })
local flat = np.mesh({ 8 }, { "k" })
local few = np.mesh({ 2 }, { "i" }, { devices = { "cpu:5", "cpu:2" } })

local function read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read "*a"
    file:close()
    return text
end

local function write(path, text)
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
end

local function names(place)
    local pipe = io.popen("ls " .. (place or folder))
    local text = pipe:read "*a"
    pipe:close()
    return text
end

local function random(k, ...)
    return np.random.normal(np.random.fold_in(np.random.key(1), k), { ... })
end

--- A tree with arrays that lie in many ways.
local function make()
    local t = { plain = random(1, 5, 3), number = 1.5, infinite = -math.huge, flag = false, text = "a%20\0\255€",
                empty = {}, [1] = { np.array(7), np.zeros(0, 3), np.zeros(3, 0) } }
    t.rows = np.device_put(random(2, 16, 6), mesh, P("i"))
    t.columns = np.device_put(np.arange(96):reshape(8, 12), mesh, P(nil, "i"))
    t.both = np.device_put(random(3, 8, 4, 2), mesh, P({ "j", "i" }, nil, nil))
    t.swapped = np.device_put(random(4, 8, 4), mesh, P("j", "i"))
    t.same = np.device_put(random(5, 3), mesh, P())
    t.bits = np.device_put(random(6, 16):gt(0), flat, P "k")
    return t
end

local function same(a, b, what)
    check.equal(np.tree.structure(a), np.tree.structure(b))
    np.tree.map(function(x, y)
        if np.is_array(x) then
            check.equal({ y.dtype, y.shape, y:totable() }, { x.dtype, x.shape, x:totable() }, what)
        else
            check.equal(y, x, what)
        end
    end, a, b)
end

local t = make()

check.test("onto one device", function()
    np.io.save_checkpoint(folder, t)
    local u = np.io.load_checkpoint(folder)
    same(t, u)
    check.ok(u.rows.sharding == nil)
end)

check.test("onto other meshes", function()
    local u = np.io.load_checkpoint(folder, { mesh = mesh, specs = {
        rows = P(nil, "j"), columns = P("i", "j"), both = P("i", "j"), swapped = P(), bits = P { "j", "i" } } })
    same(t, u)
    check.ok(u.rows.sharding.spec == P(nil, "j") and u.rows.sharding.mesh == mesh)
    check.ok(u.same.sharding.is_fully_replicated)
    u = np.io.load_checkpoint(folder, { mesh = few, specs = { rows = P "i", both = P(nil, nil, "i") } })
    same(t, u)
    u = np.io.load_checkpoint(folder, { shardings = { rows = t.bits.sharding, both = t.same.sharding } })
    same(t, u)
    local rows = np.device_put(t.rows, flat, P "k") -- a sum's bits depend on how the axis is divided
    check.ok(u.rows.sharding == rows.sharding and u.columns.sharding == nil)
    check.equal((u.rows * 2):sum():item(), (rows * 2):sum():item())
end)

check.test("like another tree", function()
    np.io.save_checkpoint(folder, { params = { w = np.arange(12):reshape(4, 3), list = { np.ones(2) }, bias = {} },
                                    epoch = 3, name = "a" })
    local w = np.device_put(np.zeros({ 4, 3 }, { dtype = "i32" }), mesh, P("i"))
    local function load(params, others)
        local like = { params = params }
        for key, value in pairs(others or {}) do like[key] = value end
        return np.io.load_checkpoint(folder, { like = like })
    end
    local got = load({ w = w, list = { np.zeros(2) }, bias = {} }, { epoch = 3, name = "a" })
    check.equal({ got.params.w.sharding == w.sharding, got.params.w:totable()[2][1] }, { true, 3 })
    check.equal({ got.epoch, got.name, got.params.list[1].sharding }, { 3, "a" })
    local function differs(message, ...)
        local given = { ... }
        check.raises(function() load(unpack(given)) end, message)
    end
    differs("has i32 of shape %(4, 3%) at 'params%.w', where option 'like' has i32 of shape %(4, 2%)",
            { w = np.zeros({ 4, 2 }, { dtype = "i32" }), list = { np.zeros(2) }, bias = {} })
    differs("at 'params%.w', where option 'like' has f32 of shape %(4, 3%)",
            { w = np.zeros { 4, 3 }, list = { np.zeros(2) }, bias = {} })
    differs("has f32 of shape %(2,%) at 'params%.list%[1%]', where option 'like' has nothing %(nil%)",
            { w = w, list = {}, bias = {} })
    differs("has nothing %(nil%) at 'params%.list%[2%]', where option 'like' has f32",
            { w = w, list = { np.zeros(2), np.zeros(2) }, bias = {} })
    differs("has a table at 'params%.bias', where option 'like' has the number 1",
            { w = w, list = { np.zeros(2) }, bias = 1 })
    differs("has nothing %(nil%) at 'state', where option 'like' has a table",
            { w = w, list = { np.zeros(2) }, bias = {} }, { state = {} })
    differs("has the number 3 at 'epoch', where option 'like' has the string \"a\"",
            { w = w, list = { np.zeros(2) }, bias = {} }, { epoch = "a" })
    differs("has the number 3 at 'epoch', where option 'like' has the number 4",
            { w = w, list = { np.zeros(2) }, bias = {} }, { epoch = 4 })
    check.raises(function() np.io.load_checkpoint(folder, { like = 3 }) end, "a table of arrays")
    check.raises(function() np.io.load_checkpoint(folder, { like = {}, mesh = mesh }) end, "excludes")
    os.execute("rm -rf " .. folder)
end)

check.test("every block is written once", function()
    local x = np.device_put(np.arange(64):reshape(8, 8), mesh, P "j")
    np.io.save_checkpoint(folder, { x = x })
    local bytes = #read(folder .. "/" .. names():match "data%S+")
    check.equal(bytes, 64 * 4)
    np.io.save_checkpoint(folder, t)
end)

check.test("a save that fails leaves the old checkpoint", function()
    local bad = make()
    bad.rows = np.debug.fail(bad.rows + 1)
    local before = names()
    check.raises(function() np.io.save_checkpoint(folder, bad) end, "failed on purpose")
    check.raises(function() np.io.save_checkpoint(folder, { f = print }) end, "'f' is a function")
    check.equal(names(), before)
    same(t, np.io.load_checkpoint(folder))
    write(folder .. "/data-99-0.bin", "of a process that died")
    same(t, np.io.load_checkpoint(folder))
    np.io.save_checkpoint(folder, { x = np.ones(3) })
    check.equal(np.io.load_checkpoint(folder).x:totable(), { 1, 1, 1 })
    check.ok(not names():find(before:match "data%S+", 1, true), "the old one's file is still there: " .. names())
    np.io.save_checkpoint(folder, t)
end)

--- A process that saves again and again is killed in the middle: the last checkpoint or the one before is there, whole.
check.test("a process that is killed while it saves", function()
    local process = require "tests.lib.process"
    local place = folder .. "-killed"
    local script = process.file([[
        local np = require "neap"
        local mesh = np.mesh({ 8 }, { "k" })
        for k = 1, math.huge do
            local x = np.device_put(np.full({ 4096 }, k), mesh, np.P "k")
            np.io.save_checkpoint(arg[1], { x = x, y = np.full({ 7 }, k), k = k })
            if k == 1 then io.stderr:write "saved\n" end
        end
    ]])
    for _ = 1, 4 do
        local command = [[timeout -s KILL 20 sh -c '%s --devices 8 %s %s 2>&1 >/dev/null & echo $!; wait']]
        local pipe = io.popen(command:format(process.neap, script, place))
        local pid = pipe:read "*l"
        check.equal(pipe:read "*l", "saved")
        process.sleep(0.002 * math.random(1, 20))
        os.execute("kill -9 " .. pid)
        pipe:close()
        local found = np.io.load_checkpoint(place)
        local k = found.k
        check.ok(k >= 1)
        check.equal({ found.x:min():item(), found.x:max():item(), found.y:max():item() }, { k, k, k })
    end
    for _, name in ipairs { "data-99-0.bin", "data-0123456789abc-1.json", "manifest.json.0123456789abcdef.part",
                           "data-0123456789abc-1.bin.0123456789abcdef.part" } do
        write(place .. "/" .. name, "of a process that died")
    end
    write(place .. "/data-notes.txt", "of the user")
    np.io.save_checkpoint(place, { k = 0 })
    check.equal(np.io.load_checkpoint(place).k, 0)
    check.equal((names(place):gsub("%x+%-0%.", "TAG.")), "data-TAG.bin\ndata-notes.txt\nmanifest.json\n")
    os.execute("rm -rf " .. place)
    process.cleanup()
end)

--- In the middle of an operation of the library somebody else saves into the folder.
local function interrupted(operation, name, theirs)
    local files = require "neap.files"
    local original = files[name]
    files[name] = function(...)
        files[name] = original
        np.io.save_checkpoint(folder, theirs)
        return original(...)
    end
    local result = operation()
    check.equal(files[name], original, "nothing was interrupted")
    return result
end

check.test("a save while somebody else loads or saves", function()
    local old, new = { x = np.zeros(4) }, { x = np.ones(4) }
    np.io.save_checkpoint(folder, old)
    same(new, interrupted(function() return np.io.load_checkpoint(folder) end, "open", new))
    interrupted(function() np.io.save_checkpoint(folder, old) end, "create", new)
    same(old, np.io.load_checkpoint(folder))
    interrupted(function() np.io.save_checkpoint(folder, new) end, "lock_folder", old)
    same(new, np.io.load_checkpoint(folder))
    check.equal(select(2, names():gsub("\n", "")), 2, names())
    local manifest = read(folder .. "/manifest.json")
    os.remove(folder .. "/" .. names():match "data%S+")
    check.raises(function() np.io.load_checkpoint(folder) end, "cannot open '.*data.*': No such file")
    write(folder .. "/manifest.json", manifest)
    np.io.save_checkpoint(folder, t)
end)

check.test("two processes that save, one that loads", function()
    local process = require "tests.lib.process"
    local place, pipes = folder .. "-shared", {}
    local script = process.file([[
        local np = require "neap"
        local first = tonumber(arg[2])
        for k = first, first + 59 do
            np.io.save_checkpoint(arg[1], { x = np.full({ 4096 }, k), k = k, last = np.full({ 7 }, k) })
            if k == first then io.stderr:write "saved\n" end
        end
    ]])
    for writer = 1, 2 do
        local command = "timeout 300 '%s' '%s' '%s' %d 2>&1 && echo done"
        pipes[writer] = io.popen(command:format(process.neap, script, place, 1000 * writer))
    end
    check.equal(pipes[1]:read "*l", "saved")
    for _ = 1, 200 do
        local found = np.io.load_checkpoint(place)
        local k = found.k
        check.equal({ found.x:min():item(), found.x:max():item(), found.last:max():item() }, { k, k, k })
    end
    for _, pipe in ipairs(pipes) do
        check.equal(pipe:read "*a":match "[^\n]*\n$", "done\n")
        pipe:close()
    end
    check.equal(np.io.load_checkpoint(place).k % 1000, 59)
    check.equal(select(2, names(place):gsub("\n", "")), 2, names(place))
    os.execute("rm -rf " .. place)
    process.cleanup()
end)

check.test("errors name argument and file", function()
    local function fails(options, pattern)
        check.raises(function() np.io.load_checkpoint(folder, options) end, pattern)
    end
    fails({ mesh = mesh, specs = { rows = P("k") } }, "rows.*'k'")
    fails({ mesh = mesh, specs = { plain = P("i") } }, "plain.*5.*'i'")
    fails({ mesh = mesh, specs = { there = P("i") } }, "there")
    fails({ mesh = mesh, specs = { rows = 3 } }, "option 'specs' must be a spec")
    fails({ mesh = 3 }, "mesh")
    fails({ specs = P() }, "needs option 'mesh'")
    fails({ shardings = mesh }, "'shardings' must be a sharding")
    fails({ mesh = mesh, shardings = {} }, "exclude")
    check.raises(function() np.io.load_checkpoint(folder .. "/none") end, "none/manifest.json': No such file")
    check.raises(function() np.io.load_checkpoint(3) end, "argument 1 %(folder%)")
    check.raises(function() np.io.save_checkpoint(folder, 3) end, "argument 2 %(t%)")
    check.raises(function() np.io.save_checkpoint(folder .. "/manifest.json", {}) end, "Not a directory")
    check.raises(function()
        np.shard_map(function(x)
            np.io.save_checkpoint(folder, { x = x })
            return x
        end, { mesh = flat, in_specs = P "k", out_specs = P "k" })(t.bits)
    end, "inside np.shard_map")
    check.raises(function()
        np.jit(function(x)
            np.io.save_checkpoint(folder, { x = x })
            return x
        end)(t.bits)
    end, "a trace")
    same(t, np.io.load_checkpoint(folder))
end)

--- Whatever is cut off or changed, loading says so with the file's name, or gives what was saved.
check.test("damaged files", function()
    local small = { x = np.device_put(np.arange(16), flat, P "k"), y = np.array { true, false }, n = 2 }
    np.io.save_checkpoint(folder, small)
    os.remove(folder .. "/data-99-0.bin")
    math.randomseed(5)
    for name in names():gmatch "%S+" do
        local path = folder .. "/" .. name
        local text = read(path)
        local function try(damaged, what)
            write(path, damaged)
            local ok, result = pcall(np.io.load_checkpoint, folder, { mesh = few, specs = { x = P "i" } })
            if ok then
                same(small, result, what)
            else
                check.ok(result:find(folder, 1, true) and result:find("io.load_checkpoint", 1, true), result)
            end
            return ok
        end
        for _ = 1, 40 do
            local cut = math.random(0, #text - 1)
            local ok = try(text:sub(1, cut), "cut at " .. cut)
            check.ok(not ok, ("'%s' cut at %d was loaded"):format(name, cut))
            local at = math.random(1, #text)
            local byte = string.char((text:byte(at) + math.random(1, 255)) % 256)
            try(text:sub(1, at - 1) .. byte .. text:sub(at + 1), "changed at " .. at)
        end
        write(path, text)
    end
    same(small, np.io.load_checkpoint(folder))
end)

--- Manifests whose checksum is right, but which lie.
check.test("hostile manifests", function()
    local json, zip, ffi = require "neap.files.json", require "neap.files.zip", require "ffi"
    np.io.save_checkpoint(folder, { x = np.arange(16) })
    local good = json.read(read(folder .. "/manifest.json")).content
    local function fails(pattern, change)
        local m = json.read(json.write(good))
        change(m, m.leaves[1], m.leaves[1].pieces[1])
        local text = json.write(m)
        local crc = zip.crc32(ffi.cast("const uint8_t *", text), #text)
        write(folder .. "/manifest.json", ('{"crc":"%08x",\n"content":%s}\n'):format(crc, text))
        check.raises(function() np.io.load_checkpoint(folder) end, pattern)
    end
    -- Of a later version is what has its number, whatever else it says; nor is it written over.
    fails("manifest.json' has version 2, this neap reads version 1$", function(m)
        m.version, m.files, m.order = 2, 3, 4
    end)
    check.raises(function() np.io.save_checkpoint(folder, { x = np.ones(2) }) end, "version 2, this neap")
    fails("no manifest", function(m) m.format = "x" end)
    fails("byte order", function(m) m.order = "x" end)
    fails("list of files", function(m) m.files[1].name = "../data-1-0.bin" end)
    fails("truncated", function(m) m.files[1].bytes = 2 ^ 40 end)
    fails("outside", function(_, _, piece) piece.offset = 2 ^ 40 end)
    fails("outside", function(_, _, piece) piece.offset = -64 end)
    fails("outside", function(_, _, piece) piece.start[1] = 1 end)
    fails("outside", function(_, _, piece) piece.file = "data-7-7.bin" end)
    fails("elements", function(_, leaf) leaf.shape[1] = 17 end)
    fails("damaged", function(_, leaf) leaf.shape = { 2 ^ 60, 2 ^ 60 } end)
    fails("dtype", function(_, leaf) leaf.dtype = "f33" end)
    fails("does not fit", function(m) m.leaves[2] = json.read(json.write(m.leaves[1])) end)
    fails("does not fit", function(m) m.leaves[1] = { path = "x" } end)
    fails("leaves are damaged", function(m) m.leaves[1] = 3 end)
    fails("overlap", function(_, leaf, piece)
        leaf.shape = { 32 }
        leaf.pieces[2] = piece
    end)
end)

os.execute("rm -rf " .. folder)
check.done()
