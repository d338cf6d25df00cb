--- print_test.lua (not under tsan): prints of arrays that lie on several devices: once for each device, with its
-- coordinates, where they differ; whole, as NumPy shows it, a global one; in the order of the program, and never torn.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

--- What the program prints with 8 devices, where `mesh` is 4×2 and P is np.P; it ends with this status (default 0).
local function output(code, expected)
    local head = "local mesh, P = np.mesh({ 4, 2 }, { 'i', 'j' }), np.P "
    local status, out, err = process.run_neap { "--devices", "8", "-e", head .. code }
    check.equal({ status, err }, { expected or 0, "" })
    return out
end

--- A body over blocks (2, 8) of arange(8·16), eager or jitted.
local function body(code, jitted, expected)
    return output(([[
        local f = np.shard_map(function(x) %s return x end,
                               { mesh = mesh, in_specs = { P("i", "j") }, out_specs = P("i", "j") })
        f = %s and np.jit(f) or f
        f(np.arange(128):reshape(8, 16)):wait()
    ]]):format(code, tostring(jitted)), expected)
end

--- The lines that `line(i, j)` gives for each device, row-major.
local function lines(line)
    local all = {}
    for i = 0, 3 do
        for j = 0, 1 do all[#all + 1] = ("[i=%d, j=%d] %s\n"):format(i, j, line(i, j)) end
    end
    return table.concat(all)
end

--- The first element of a block, and the sum of its first two columns' first row.
local function corner(i, j) return 32 * i + 8 * j end

for _, jitted in ipairs { false, true } do
    local how = jitted and ", jitted" or ""

    check.test("what differs is shown by device" .. how, function()
        check.equal(body('print("x", x[{ { 0, 1 }, { 0, 2 } }], 7)', jitted), lines(function(i, j)
            return ("x\t[[%d %d]]\t7"):format(corner(i, j), corner(i, j) + 1)
        end))
    end)

    check.test("what is equal is shown once" .. how, function()
        local sum = 127 * 128 / 2
        check.equal(body('print("sum", np.psum(x:sum(), { "i", "j" })) print "text"', jitted),
                    ("sum\t%d\ntext\n"):format(sum))
    end)

    check.test("what differs over one axis is shown for each device" .. how, function()
        check.equal(body('print(np.psum(x[{ 0, 0 }], "j"))', jitted),
                    lines(function(i) return tostring(corner(i, 0) + corner(i, 1)) end))
    end)

    check.test("program point first, then coordinates" .. how, function()
        local text = body('print("a", x[{ 0, 0 }]) print "between" print("b", x[{ 0, 0 }])', jitted)
        check.equal(text, lines(function(i, j) return "a\t" .. corner(i, j) end) .. "between\n"
                    .. lines(function(i, j) return "b\t" .. corner(i, j) end))
    end)

    check.test("formats" .. how, function()
        check.equal(body('np.printf("%5d of %d\\n", x[{ 0, 0 }], np.psum(x:sum(), { "i", "j" }))', jitted),
                    lines(function(i, j) return ("%5d of 8128"):format(corner(i, j)) end))
        local call = 'np.debug.print({ ordered = true }, "{:.1f} {}", x[{ 0, 0 }]:astype("f32"), x[{ 0, 1 }])'
        check.equal(body(call, jitted),
                    lines(function(i, j) return ("%.1f %d"):format(corner(i, j), corner(i, j) + 1) end))
    end)

    check.test("a text that does not end its line" .. how, function()
        check.equal(body('io.write("<", x[{ 0, 0 }], ">") print()', jitted),
                    lines(function(i, j) return "<" .. corner(i, j) .. ">" end))
    end)
end

check.test("tostring", function()
    check.equal(body('local text = tostring(x[{ 0, 0 }]) print(text)'),
                lines(function(i, j) return tostring(corner(i, j)) end))
end)

check.test("a loop of prints is not torn", function()
    local expected = {}
    for k = 1, 50 do expected[k] = lines(function(i, j) return ("%d %d"):format(k, corner(i, j) + k) end) end
    check.equal(body('for k = 1, 50 do np.printf("%d %d\\n", k, x[{ 0, 0 }] + k) end'), table.concat(expected))
end)

check.test("a global array is shown whole", function()
    for _, spec in ipairs { 'P("i", "j")', 'P(nil, "i")', 'P({ "j", "i" }, nil)', "P()" } do
        for _, array in ipairs { "np.arange(64):reshape(8, 8)", "np.random.normal(np.random.key(1), { 64, 64 })" } do
            local text = output(([[
                local x = %s
                local y = np.device_put(x, mesh, %s)
                print(y) print(x) print(tostring(y) == tostring(x))
            ]]):format(array, spec))
            local half = (#text - 5) / 2
            check.equal(text:sub(1, half), text:sub(half + 1, 2 * half))
            check.equal(text:sub(-5), "true\n")
        end
    end
end)

check.test("a print changes nothing: no copies, no kernels but those of what it shows", function()
    local out = output [[
        local x = np.device_put(np.ones { 8, 8 }, mesh, P("i", "j")):wait()
        local before = np.debug.counters().launches
        print(x)
        np.effects_barrier()
        print(np.debug.counters().launches - before)
    ]]
    check.equal(out:match "(%d+)\n$", "0")
end)

check.test("a failure stands in the place of the array", function()
    local out = body('print("bad", np.debug.fail(x)) print "after"', false, 1)
    check.equal(select(2, out:gsub("%[i=%d, j=%d%] bad\t<error: [^\n]*debug_fail[^\n]*>\n", "")), 8)
    check.ok(out:find "\nafter\n$", out)
end)

check.test("prints of some examples of a batch that lies on a mesh", function()
    for _, how in ipairs { "np.vmap(f)", "np.jit(np.vmap(f))" } do
        local axes = how == "np.vmap(f)" and "'i'" or "'i', 'j'"
        local out = output(([[
            local function f(v)
                return np.cond(v:sum():gt(12), function(a) np.debug.print("{}", a) return a * 2 end,
                               function(a) return a end, v)
            end
            local x = np.device_put(np.arange(8):reshape(4, 2), mesh, P(%s))
            local y = %s(x)
            np.effects_barrier()
            print(y)
        ]]):format(axes, how))
        check.equal(out, "[6 7]\n[[ 0  1]\n [ 2  3]\n [ 4  5]\n [12 14]]\n", how)
    end
end)

check.done()
