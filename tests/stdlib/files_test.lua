--- files_test.lua (sanitized with --long): np.io: what is written is read again, trees keep their form, and nothing
-- half-written replaces a good file. Files of other programs are in tests/golden.
local dtypes = require "tests.lib.dtypes"
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"

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
    check.raises(function() np.io.savez(path "b.npz", { x = {} }) end, "'x' must be an array, got a table; np.io.save_")
    check.raises(function() np.io.save(path "b.npy", { np.ones(1) }) end, "an array %(np.io.save_tree writes a table")
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

-- ---- Archives that lie ----------------------------------------------------------------------------------------------

local function write_text(name, text)
    local file = io.open(path(name), "wb")
    file:write(text)
    file:close()
end

local function bytes_of(value, n)
    local bytes = {}
    for k = 1, n do bytes[k], value = string.char(value % 256), math.floor(value / 256) end
    return table.concat(bytes)
end

--- An archive of one compressed array of 8 MB, in its parts.
local function archive()
    np.io.savez(path "one.npz", { x = np.zeros(2 ^ 20, { dtype = "f64" }) }, { compress = true })
    local text = process.read(path "one.npz")
    local central = text:find("PK\1\2", 1, true)
    local final = text:find("PK\5\6", 1, true)
    return { contents = text:sub(1, central - 1), central = text:sub(central, final - 1), final = text:sub(final) }
end

local function with_final(contents, central, count)
    return contents .. central .. "PK\5\6\0\0\0\0" .. bytes_of(count, 2):rep(2) .. bytes_of(#central, 4)
        .. bytes_of(#contents, 4) .. "\0\0"
end

check.test("files of an archive that overlap", function()
    local parts, central = archive(), {}
    for k = 1, 100 do central[k] = parts.central:gsub("x%.npy", ("x%03d.npy"):format(k)) end
    for k = 1, 100 do central[k] = central[k]:sub(1, 28) .. "\8\0" .. central[k]:sub(31) end
    write_text("bomb.npz", with_final(parts.contents, table.concat(central), 100))
    np.memory.reset_peak()
    local before = np.memory().peak
    check.raises(function() np.io.load(path "bomb.npz") end,
                 "cannot read '.*bomb.npz': 'x%d+.npy' and 'x%d+.npy' in it overlap")
    check.ok(np.memory().peak - before < 1e6, "something was unpacked")
    write_text("one.npz", with_final(parts.contents, parts.central, 1))
    check.equal(np.io.load(path "one.npz").x:sum():item(), 0)
end)

--- Offsets in a header: 6 flags, 8 method, 14 checksum, 18 packed, 22 unpacked; in the directory 2 more.
check.test("a header that the directory contradicts", function()
    local parts = archive()
    local function with_header(changes)
        local contents = parts.contents
        for at, text in pairs(changes) do contents = contents:sub(1, at) .. text .. contents:sub(at + #text + 1) end
        write_text("lie.npz", with_final(contents, parts.central, 1))
        return function() return np.io.load(path "lie.npz").x:sum():item() end
    end
    local lie = "'x.npy' in it: its header and the directory disagree"
    check.raises(with_header { [22] = bytes_of(2 ^ 30, 4) }, lie)
    check.raises(with_header { [18] = bytes_of(17, 4) }, lie)
    check.raises(with_header { [14] = bytes_of(17, 4) }, lie)
    check.raises(with_header { [8] = "\0" }, lie)
    check.raises(with_header { [18] = bytes_of(0, 8) }, lie)
    check.equal(with_header { [6] = "\8", [14] = bytes_of(0, 12) }(), 0) -- sizes come behind the data
    check.raises(with_header { [18] = ("\255"):rep(8) }, lie) -- sizes in a field that is not there
end)

check.test("reading heeds the limit of memory", function()
    process.output(([[
        local np = require "neap"
        local folder, four = %q, {}
        for k = 1, 4 do four["x" .. k] = np.full({ 2 ^ 20 }, k, { dtype = "f64" }) end
        np.io.savez(folder .. "/four.npz", four, { compress = true })
        np.io.savez(folder .. "/plain.npz", four)
        np.io.save_checkpoint(folder .. "/four", four)
    ]]):format(folder))
    local function within(mib, f)
        for _ = 1, 2 do
            collectgarbage()
            np.ones(1):wait() -- gives back what was collected
        end
        np.debug.memory_limit(np.memory().live + mib * 2 ^ 20)
        local ok, result = pcall(f)
        np.debug.memory_limit(0)
        return ok, ok and result.x1:sum():item() + result.x4:sum():item() or result
    end
    local function load_four() return np.io.load(path "four.npz") end
    local function load_plain() return np.io.load(path "plain.npz") end
    local ok, problem = within(20, load_four)
    check.ok(not ok and problem:find("np.io.load: .*out of memory: %d+ bytes wanted"), tostring(problem))
    ok, problem = within(20, load_plain)
    check.ok(not ok and problem:find("np.io.load: cannot read '.*plain.npz': out of memory"), tostring(problem))
    ok, problem = within(6, function() return np.io.load_checkpoint(path "four") end)
    check.ok(not ok and problem:find("np.io.load_checkpoint: .*out of memory"), tostring(problem))
    check.equal({ within(46, load_four) }, { true, 5 * 2 ^ 20 }) -- four arrays, and one unpacked at a time
end)

check.test("checksums", function()
    check.equal(np.io.checksum(np.array({ 49, 50, 51, 52, 53, 54, 55, 56, 57 }, { dtype = "u8" })), "cbf43926")
end)

-- ---- What stands at the path ----------------------------------------------------------------------------------------

local function shell(line, ...)
    local pipe = io.popen(line:format(...))
    local text = pipe:read "*a"
    pipe:close()
    return (text:gsub("\n$", ""))
end

local function facts(name)
    return shell("stat -c '%%F %%a' '%s'", path(name))
end

local x = np.arange(3)

--- All functions that write files, onto a path.
local writers = {
    save = function(place) np.io.save(place, x) end,
    savez = function(place) np.io.savez(place, { x = x }) end,
    save_tree = function(place) np.io.save_tree(place, { x = x }) end,
    program = function(place) np.trace(function(a) return a + 1 end)(x):save(place) end,
}

check.test("symbolic links are followed", function()
    for name, write in pairs(writers) do
        shell("cd '%s' && rm -rf l && mkdir -p l/deep && cd l && echo old >target && ln -s target one "
              .. "&& ln -s ../one deep/two && ln -s '%s/l/new' dangling && ln -s turn turn", folder, folder)
        write(path "l/deep/two")
        check.equal(facts "l/deep/two", "symbolic link 777", name)
        check.equal(facts "l/one", "symbolic link 777", name)
        check.ok(facts "l/target":find "^regular file" and shell("cat '%s'", path "l/target") ~= "old", name)
        write(path "l/dangling")
        check.equal(facts "l/dangling", "symbolic link 777", name)
        check.ok(facts "l/new":find "^regular file", name)
        check.raises(function() write(path "l/turn") end, "cannot write '.*turn': Too many levels of symbolic links")
        check.equal(shell("ls '%s/l'", folder), "dangling\ndeep\nnew\none\ntarget\nturn", name)
    end
    np.io.save(path "l/deep/two", x)
    check.equal(np.io.load(path "l/target"):totable(), { 0, 1, 2 })
end)

check.test("the mode stays", function()
    for _, mode in ipairs { "600", "644", "664", "755" } do
        shell("cd '%s' && echo >m && chmod %s m", folder, mode)
        np.io.save(path "m", x)
        check.equal(facts "m", "regular file " .. mode)
    end
    local save = [[umask 027; '%s' -e 'local np = require "neap" np.io.save("%s", np.ones(2))'; stat -c %%a '%s']]
    check.equal(shell(save, process.neap, path "fresh", path "fresh"), "640")
    if shell "id -u" == "0" then
        shell("chown 1234:5678 '%s'", path "m")
        np.io.save(path "m", x)
        check.equal(shell("stat -c '%%u:%%g %%a' '%s'", path "m"), "1234:5678 755")
    end
end)

--- The node of a device of our own: the system's are never written.
local function make_node(name, minor)
    return shell("mknod '%s' c 1 %d 2>/dev/null && echo x >>'%s' 2>/dev/null; stat -c %%F '%s' 2>/dev/null",
                 path(name), minor, minor == 3 and path(name) or "/dev/null", path(name))
        == "character special file"
end

check.test("devices are written as they are", function()
    if not (make_node("null", 3) and make_node("full", 7)) then
        return check.skip("devices are written as they are", "no device nodes can be made here")
    end
    for name, write in pairs(writers) do
        write(path "null")
        check.equal(facts("null"):match "%a+", "character", name)
        check.raises(function() write(path "full") end, "cannot write '.*full': No space left on device")
        check.equal(facts("full"):match "%a+", "character", name)
    end
    check.ok(not files_in_folder():find("part", 1, true), files_in_folder())
end)

check.test("pipes, open files and folders", function()
    np.io.save(path "p.npy", x)
    for name, write in pairs(writers) do
        write(path "regular")
        shell("cd '%s' && rm -f fifo && mkfifo fifo && (cat fifo >got &)", folder)
        write(path "fifo")
        check.equal(facts("fifo"):match "%a+", "fifo", name)
        check.raises(function() write(folder) end, "cannot write '.*': Is a directory")
    end
    shell("cd '%s' && rm -f fifo && mkfifo fifo", folder)
    local pipe = io.popen(("cat '%s'"):format(path "fifo"))
    np.io.save(path "fifo", x)
    check.equal(pipe:read "*a", io.open(path "p.npy", "rb"):read "*a")
    pipe:close()
    local gone = [[local np = require "neap" print(pcall(np.io.save, "%s", np.ones(2 ^ 20))) print "goes on"]]
    shell("cd '%s' && (head -c 10 fifo >got &)", folder)
    local told = process.output(gone:format(path "fifo"))
    check.ok(told:find "^false\t.*cannot write '.*fifo': Broken pipe\ngoes on\n$", told)
    shell("ln -s /proc/self/fd/1 '%s'", path "stdout")
    local save = [['%s' -e 'local np = require "neap" np.io.save("%s", np.arange(3))' ]]
    for _, to in ipairs { "| cat >'%s'", ">'%s'" } do
        shell(save .. to, process.neap, path "stdout", path "out")
        check.ok(np.array_equal(np.io.load(path "out"), x))
        check.equal(facts "stdout", "symbolic link 777")
    end
end)

-- ---- Writers that were killed ---------------------------------------------------------------------------------------

local function parts()
    return select(2, files_in_folder():gsub("[^\n]*%.part\n", ""))
end

--- A neap that saves 64 MB again and again to the path, killed after some milliseconds.
local function kill_a_save(place, milliseconds)
    local code = ([[local np = require "neap" local x = np.ones(2 ^ 23, { dtype = "f64" }):wait()
                    print "ready" np.effects_barrier() while true do np.io.save(%q, x) end]]):format(place)
    local script = process.file(code)
    local pipe = io.popen(("timeout -s KILL 60 sh -c '%s %s & echo $!; wait' 2>/dev/null"):format(process.neap, script))
    local pid = pipe:read "*l"
    assert(pipe:read "*l" == "ready")
    process.sleep(milliseconds / 1000)
    os.execute("kill -9 " .. pid)
    pipe:close()
end

check.test("what killed writers left goes with the next save", function()
    local tries = 0
    repeat -- until one has left something
        tries = tries + 1
        kill_a_save(path "k.npy", 10 * tries)
    until parts() > 0 or tries == 30
    check.ok(parts() > 0, "no save was killed in the middle")
    np.io.save(path "other.npy", x)
    check.ok(parts() > 0, "a save removed what belongs to another file")
    np.io.save(path "k.npy", x)
    check.equal(parts(), 0)
    check.equal(np.io.load(path "k.npy"):totable(), { 0, 1, 2 })
end)

check.test("a folder is looked through again only when somebody else has changed it", function()
    local files = require "neap.files"
    local names, looks = files.names, 0
    function files.names(...)
        looks = looks + 1
        return names(...)
    end
    local function save()
        looks = 0
        for _ = 1, 5 do np.io.save(path "often.npy", x) end
        return looks
    end
    save()
    local own, dead = save(), path "often.npy.0123456789abcdef.part"
    process.sleep(0.05) -- longer than the clock of a file system ticks
    io.open(dead, "w"):close()
    local others = save()
    files.names = names
    check.equal({ own, others, files.size(dead) }, { 0, 1, nil })
    os.remove(path "often.npy")
end)

check.test("what living writers write stays", function()
    local files = require "neap.files"
    local dead, live = path "k.npy.0123456789abcdef.part", path "k.npy.fedcba9876543210.part"
    local theirs = path "k.npy.old.part"
    for _, name in ipairs { dead, theirs } do io.open(name, "w"):close() end
    local release = files.create(live, { "half" })
    np.io.save(path "k.npy", x)
    check.equal({ files.size(dead), files.size(live), files.size(theirs) }, { nil, 4, 0 })
    release()
    np.io.save(path "k.npy", x)
    check.equal({ files.size(dead), files.size(live), files.size(theirs) }, { nil, nil, 0 })
    os.remove(theirs)
end)

--- In a container the number of the process is the same at each start; the second process finds what the first left.
check.test("names do not repeat with the number of the process", function()
    local program = [[local np = require "neap" np.io.save("%s", np.ones(2)) print "saved"]]
    local first = "k.npy"
    for serial = 1, 3 do
        for number = 1, 8 do io.open(path(("%s.%d-%d.part"):format(first, number, serial)), "w"):close() end
    end
    local out = shell("unshare --pid --fork --kill-child '%s' -e '%s' 2>&1", process.neap, program:format(path(first)))
    if out:find "unshare" then return check.skip("numbers of processes", "no namespace can be made here") end
    check.equal(out, "saved")
end)

os.execute("rm -rf " .. folder)
process.cleanup()
check.done()
