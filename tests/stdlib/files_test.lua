--- files_test.lua: np.io: what is written is read again, trees keep their form, and nothing half-written replaces a
-- good file. Files of other programs are in tests/golden.
local dtypes = require "tests.lib.dtypes"
local np = require "neap"
local check = require "tests.lib.check"

local folder = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir " .. folder) == 0)
local function path(name) return folder .. "/" .. name end

local function files_in_folder()
    local list = io.popen("ls " .. folder)
    local text = list:read("*a")
    list:close()
    return text
end

check.test("npy", function()
    for _, dtype in ipairs(dtypes.names) do
        local x = (np.arange(24):remainder(2)):astype(dtype):reshape(2, 3, 4)
        np.io.save(path "a.npy", x)
        local y = np.io.load(path "a.npy")
        check.equal({ y.dtype, y.shape, y:totable() }, { dtype, x.shape, x:totable() })
    end
    np.io.save(path "a.npy", np.ones(3, 2).T)
    check.equal(np.io.load(path "a.npy").shape, { 2, 3 })
    for _, dims in ipairs { {}, { 0 }, { 3, 0 } } do
        np.io.save(path "a.npy", np.ones(dims))
        check.equal(np.io.load(path "a.npy").shape, dims)
    end
end)

check.test("npz", function()
    for _, compress in ipairs { false, true } do
        local x = np.random.normal(np.random.key(0), { 100, 7 })
        np.io.savez(path "b.npz", { x = x, ["a b/c"] = np.arange(3) }, { compress = compress })
        local t, names = np.io.load(path "b.npz")
        check.equal(names, { "a b/c", "x" })
        check.ok(np.array_equal(t.x, x))
    end
    check.raises(function() np.io.savez(path "b.npz", { np.ones(1) }) end, "names are strings")
    check.raises(function() np.io.savez(path "b.npz", { x = 3 }) end, "'x' must be an array")
end)

check.test("trees", function()
    local t = { np.ones(2), { w = np.arange(3), ["odd/key:%"] = 1.5 }, name = "text\n\0", flag = true, empty = {},
                deep = { { {} } }, long = "" }
    np.io.save_tree(path "c.npz", t)
    local u = np.io.load_tree(path "c.npz")
    check.equal(np.tree.map(function(x) return np.is_array(x) and x:totable() or x end, u),
                np.tree.map(function(x) return np.is_array(x) and x:totable() or x end, t))
    check.raises(function() np.io.save_tree(path "c.npz", { f = print }) end, "'f' is a function")
    check.raises(function() np.io.save_tree(path "c.npz", 3) end, "argument 2 %(t%)")
end)

check.test("a failed write leaves the old file", function()
    np.io.save(path "d.npy", np.ones(2))
    check.raises(function() np.io.save(path "d.npy", np.debug.fail(np.ones(2))) end, "failed on purpose")
    check.equal(np.io.load(path "d.npy"):totable(), { 1, 1 })
    check.raises(function() np.io.save(path "no/such/folder.npy", np.ones(2)) end, "No such file or directory")
    check.raises(function() np.io.save("/dev/full/x", np.ones(2)) end, "cannot write")
    check.ok(not files_in_folder():find("part", 1, true), files_in_folder())
end)

check.test("errors of reading", function()
    check.raises(function() np.io.load(path "missing.npy") end, "cannot open '.*missing.npy': No such file")
    check.raises(function() np.io.load(folder) end, "cannot read")
    check.raises(function() np.io.load(3) end, "argument 1 %(path%)")
    local file = io.open(path "text", "w")
    file:write("hello")
    file:close()
    check.raises(function() np.io.load(path "text") end, "neither npy, npz nor IDX")
    check.raises(function() np.io.load_tree(path "text") end, "no zip archive")
    check.raises(function() np.io.load_idx(path "text") end, "no IDX file")
end)

--- Damage of any byte of a small archive is found, or changes nothing but names and dates.
check.test("damaged archives never crash", function()
    np.io.savez(path "e.npz", { x = np.arange(40) }, { compress = true })
    local bytes = io.open(path "e.npz", "rb"):read("*a")
    for at = 1, #bytes do
        for _, change in ipairs { "\0", "\255", string.char((bytes:byte(at) + 1) % 256) } do
            local file = io.open(path "f.npz", "wb")
            file:write(bytes:sub(1, at - 1), change, bytes:sub(at + 1))
            file:close()
            local ok, t = pcall(np.io.load, path "f.npz")
            if ok and type(t) == "table" and t.x then check.equal(t.x:totable(), np.arange(40):totable()) end
        end
    end
    for size = 0, #bytes - 1, 3 do
        local file = io.open(path "f.npz", "wb")
        file:write(bytes:sub(1, size))
        file:close()
        check.equal((pcall(np.io.load, path "f.npz")), false)
    end
end)

check.test("checksums", function()
    check.equal(np.io.checksum(np.array({ 49, 50, 51, 52, 53, 54, 55, 56, 57 }, { dtype = "u8" })), "cbf43926")
end)

os.execute("rm -rf " .. folder)
check.done()
