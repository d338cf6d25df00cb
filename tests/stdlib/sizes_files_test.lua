--- sizes_files_test.lua: programs with declared sizes in files: what is loaded, by another process too, gives what the
-- program that was saved gives, bit for bit, for every size, and refuses the same.
--
--     NEAP_TEST_COUNT   how many random programs (12)
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"
local files = require "tests.lib.sized_files"
local np = require "neap"
local process = require "tests.lib.process"
local sized = require "tests.lib.sized_programs"

local path, again = os.tmpname(), os.tmpname()
local count = tonumber(os.getenv("NEAP_TEST_COUNT") or 12)

local loaded, same, text_of = files.loaded, files.same, files.text_of

check.test("random programs", function()
    local saved = 0
    for seed = 1, count do
        local f, what = sized.draw(seed)
        local traced, program = pcall(np.trace(f, { sizes = sized.SIZES }), unpack(sized.arguments(seed, 5, 6)))
        if traced then
            saved = saved + 1
            local back, calls = loaded(program), {}
            for _, n in ipairs { { 5, 6 }, { 2, 3 }, { 7, 4 }, { 1, 9 } } do
                calls[#calls + 1] = sized.arguments(seed, unpack(n))
            end
            local ok, problem = pcall(same, program, back, calls)
            check.ok(ok, ("seed %d, %s: %s"):format(seed, what, tostring(problem)))
        end
    end
    check.ok(saved > count / 4)
end)

check.test("another process loads it", function()
    local w = np.array { { 0.5, 2 }, { 1, -1 }, { 3, 0.25 } }
    local program = np.trace(function(x, k)
        print("rows", x:sum())
        local carry, all = np.scan(function(c, row) return c + row, c * 2 end, np.zeros(3), x)
        return { y = np.tanh(x:matmul(w)) / x.shape[1], g = np.grad(function(v) return (v * v):mean() end)(x),
                 carry = carry * k, all = all, kind = "affine" }
    end, { sizes = { { "n", 3 } } })(np.ones { 5, 3 }, 2)
    program:save(path)
    local function text(n)
        local r = program(np.arange(n * 3.0):reshape(n, 3):astype "f32", 3)
        np.effects_barrier()
        return text_of { r.y, r.g, r.carry, r.all, r.kind }
    end
    local out = process.output(([[
        local np = require "neap"
        local program = np.load_program %q
        for _, n in ipairs { 2, 7 } do
            local r = program(np.arange(n * 3.0):reshape(n, 3):astype "f32", 3)
            for _, key in ipairs { "y", "g", "carry", "all" } do
                np.io.savez(%q .. n .. key, { a = r[key] })
            end
            print(r.kind)
        end
    ]]):format(path, again))
    check.equal(out, "rows\t15.0\naffine\nrows\t210.0\naffine\n")
    for _, n in ipairs { 2, 7 } do
        local parts = {}
        for k, key in ipairs { "y", "g", "carry", "all" } do
            local file = again .. n .. key
            local found = io.open(file, "rb") and file or file .. ".npz"
            parts[k] = np.io.load(found).a
            os.remove(found)
        end
        parts[5] = "affine"
        check.equal(text_of(parts), text(n))
    end
end)

check.test("arrays of all dtypes that were there", function()
    local given, all = {}, { "c64", "c128" }
    for _, name in ipairs(dtypes.names) do all[#all + 1] = name end
    for _, name in ipairs(all) do given[name] = np.array({ 0, 1, 3 }):astype(name):wait() end
    local key, made = np.random.key(7), np.arange(3) * 2 + 1
    local weak, number = np.where(np.array { true, false, true }, 1, 0.5), np.sin(1)
    local program = np.trace(function(x)
        local r = { made = made + x, weak = x:astype "f64" * weak, half = x:astype "f16" * weak,
                    drawn = x + np.random.normal(key, x.shape), number = x * 2.5 + x.shape[1],
                    computed = x:astype "f64" * number }
        for name, array in pairs(given) do r[name] = array + x[0]:astype(name) end
        return r
    end, { sizes = { { "n", 3 } } })(np.ones { 5, 3 })
    same(program, loaded(program), { { np.ones { 2, 3 } }, { np.ones { 5, 3 } }, { np.ones { 1, 3 } } })
end)

check.test("programs inside of it", function()
    local inner = np.trace(function(v)
        return np.cond(v:sum():gt(0), function(a) return a * 2 end, function(a) return a - 1 end, v)
    end)(np.ones(3))
    local jitted = np.jit(function(v) return v * 3 end)
    local program = np.trace(function(x)
        return inner(x[0]) + inner(x[-1]), jitted(x), np.vmap(function(row) return row * row:sum() end)(x)
    end, { sizes = { { "n", 3 } } })(np.ones { 5, 3 })
    same(program, loaded(program), { { np.ones { 2, 3 } }, { -np.ones { 7, 3 } } })
end)

check.test("what its conditions refuse", function()
    local program = np.trace(function(x, y)
        if x.shape[1] > 3 then x = x * 2 end
        return x:sum() + y:sum()
    end, { sizes = { { "n" }, { "2*n + m" } } })(np.ones(5), np.ones(13))
    local back = loaded(program)
    same(program, back, { { np.ones(4), np.ones(9) }, { np.ones(3), np.ones(9) }, { np.ones(4), np.ones(8) },
                          { np.ones { 2, 2 }, np.ones(3) } })
    check.raises(function() back(np.ones(3), np.ones(9)) end, "recorded for n > 3 %(.*sizes_files_test.lua:%d+%)")
    check.equal(tostring(back), tostring(program))
end)

check.test("a call that failed, and was caught", function()
    local program = np.trace(function(x)
        local ok, y = pcall(function() return x:reshape(4) end)
        return ok and y or x + 1
    end, { sizes = { { "n" } } })(np.ones(5))
    same(program, loaded(program), { { np.ones(3) }, { np.ones(4) } })
end)

check.test("callbacks by name", function()
    local seen = {}
    local functions = { note = function(a) seen[#seen + 1] = a.shape[1] end, total = function(a) return a:sum() end }
    local program = np.trace(function(x)
        np.callback(functions.note, { name = "note" })(x)
        local total = np.callback(functions.total, { name = "total", result = { shape = {}, dtype = "f32" } })
        return total(x * 2) / x.shape[1], np.fori_loop(0, x.shape[1], function(_, c) return total(c + x) end, 0.0)
    end, { sizes = { { "n" } } })(np.ones(3))
    program:save(path)
    check.raises(function() np.load_program(path) end, "it calls functions that must be given.*\"total\", \"note\"")
    local back = np.load_program(path, { callbacks = functions })
    back:save(again)
    check.ok(process.read(path) == process.read(again))
    same(program, back, { { np.ones(5) }, { np.arange(2) / 1 }, { np.ones(1) } })
    np.wait_all()
    check.equal(seen, { 5, 5, 2, 2, 1, 1 })
end)

check.test("a callback that the sizes of now alone do not have", function()
    local program = np.trace(function(x)
        local y = np.callback(function(a) return a end, { name = "same", result = { shape = {}, dtype = "f32" } })
        local dropped = y(x:sum())
        return x * 2, pcall(function() return (dropped * x):reshape(3) end) and 1 or 2
    end, { sizes = { { "n" } } })(np.ones(4))
    program:save(path)
    same(program, np.load_program(path, { callbacks = { same = function(a) return a end } }), { { np.ones(5) } })
end)

check.test("what no file can hold", function()
    local log = np.effects.logger(again)
    local function refused(f, pattern)
        local program = np.trace(f, { sizes = { { "n" } } })(np.ones(5))
        check.raises(function() program:save(path) end, "np.program.save: .*" .. pattern)
    end
    refused(function(x) log("%s", x) return x end, "log's file")
    log:close()
end)

check.test("declarations that do not fit the graph", function()
    local program = np.trace(function(x) return x * x.shape[1] end, { sizes = { { "n", 3 } } })(np.ones { 5, 3 })
    local sound = program.declared
    local function refused(change, pattern)
        program.declared = setmetatable(change, { __index = sound })
        program:save(path)
        check.raises(function() np.load_program(path) end, "cannot load '.*" .. pattern)
    end
    refused({ list = { { { text = "n + 5" }, 3 } } }, "size n must be an integer of at least 1")
    refused({ list = { { { text = "n" }, 4 } } }, "axis 1 has 3 elements")
    refused({ list = { { { text = "n" } } } }, "expected 2 extents")
    refused({ list = { { { text = "n +" }, 3 } } }, "expected a name or an integer")
    refused({ list = { { { text = ("n + "):rep(300) .. "1" }, 3 } } }, "longer than 1000")
    refused({ list = {} }, "are no list")
end)

os.remove(path)
os.remove(again)
process.cleanup()
check.done()
