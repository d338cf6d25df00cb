--- control_effects_test.lua: prints and callbacks in the bodies of branches and loops: they come in the order of the
-- program, with what is around them, eagerly and jitted.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local output = process.output

--- Runs a script as it is, and with its function f jitted; both must print the same.
local function prints(body, text)
    for _, wrap in ipairs { "return f", "return np.jit(f)" } do
        check.equal(output("local function make() " .. body .. " " .. wrap .. " end local f = make() " .. [[
            print("begin") print("result", f(np.array { 1, 2 })) print("end")
        ]]), "begin\n" .. text .. "end\n", wrap)
    end
end

check.test("prints in a scan", function()
    prints([[
        local function f(x)
            print("before")
            local c = np.scan(function(c, v) print("turn", c) print("slice", v) return c + v, nil end, 0, x)
            print("after", c)
            return c
        end]], "before\nturn\t0.0\nslice\t1.0\nturn\t1.0\nslice\t2.0\nafter\t3.0\nresult\t3.0\n")
end)

check.test("prints in branches, in loops inside each other", function()
    prints([[
        local function f(x)
            return np.fori_loop(0, 2, function(i, c)
                print("outer", i)
                c = np.cond(i:gt(0), function(a) print("yes", a) return a * 2 end,
                            function(a) print("no", a) return a end, c)
                local n = np.while_loop(function(k) return k:lt(2) end, function(k) print("inner", k) return k + 1 end,
                                        np.array(0, { dtype = "i32" }))
                print("n", n)
                return c + n
            end, x)
        end]], "outer\t0\nno\t[1. 2.]\ninner\t0\ninner\t1\nn\t2\nouter\t1\nyes\t[3. 4.]\ninner\t0\ninner\t1\nn\t2\n"
               .. "result\t[ 8. 10.]\n")
end)

check.test("callbacks in bodies, in order with prints", function()
    prints([[
        local spec = { shape = { 2 }, dtype = "f32" }
        local host = np.callback(function(i, x) print("host", i, x) return x + 1 end, { result = spec })
        local tell = np.callback(function(x) print("told", x) end)
        local function f(x)
            local c = np.fori_loop(0, 2, function(i, c)
                print("in", i)
                local d = host(i, c)
                tell(d)
                print("out", d)
                return d * 2
            end, x)
            print("after", c)
            return c
        end]], "in\t0\nhost\t0\t[1. 2.]\ntold\t[2. 3.]\nout\t[2. 3.]\nin\t1\nhost\t1\t[4. 6.]\ntold\t[5. 7.]\n"
               .. "out\t[5. 7.]\nafter\t[10. 14.]\nresult\t[10. 14.]\n")
end)

check.test("a branch without a callback beside one with", function()
    prints([[
        local host = np.callback(function(x) print("host", x) return x end,
                                 { result = { shape = { 2 }, dtype = "f32" } })
        local function f(x)
            local a = np.cond(true, function(v) return v end, host, x)
            return np.cond(false, function(v) return v end, host, a)
        end]], "host\t[1. 2.]\nresult\t[1. 2.]\n")
end)

check.test("prints of what a branch computes from arrays around it, beside a call of a function with a rule", function()
    prints([[
        local around = np.array { 1, 2 }
        local rules = { np.custom_vjp(np.negative):defvjp(function(z) return -z, z end, function(_, ct) return ct end),
                        np.custom_jvp(np.negative):defjvp(function(p, t) return -p[1], t[1] end),
                        np.kernel { args = { "x" }, real = "-x", grad = { "-1" } } }
        local function f(x)
            for _, rule in ipairs(rules) do
                np.cond(np.array(true), function()
                    print("before", around * 2)
                    local y = rule(around)
                    io.write("result ", y, "\n")
                    print("behind", around + 1)
                    return y
                end, function() return around end)
            end
            return np.switch(np.array(2, { dtype = "i32" }), { function() return x[1] end, function()
                np.printf("%g\n", around[0] * 2)
                return np.linalg.det(np.eye(2) * around[1])
            end })
        end]], ("before\t[2. 4.]\nresult [-1. -2.]\nbehind\t[2. 3.]\n"):rep(3) .. "2\nresult\t4.0\n")
end)

check.test("a failure is told in place of the next print, and later effects happen", function()
    local text = output([[
        local y = np.fori_loop(0, 3, function(i, c)
            print("turn", i)
            c = np.debug.fail(c)
            print("value", c)
            return c
        end, np.ones(1))
        print("after")
        print(pcall(y.item, y))
    ]], 1)
    check.ok(text:find "^turn\t0\nvalue\t<error: .*debug_fail: failed on purpose>\nafter\nfalse\t.*on purpose\n$", text)
    text = output([[
        local bad = np.debug.fail(np.ones(1))
        local y = np.fori_loop(0, 3, function(i, c) print("value", c) return c end, bad)
        print("after")
    ]], 1)
    check.ok(text:find "^value\t<error: .*failed on purpose>\nafter\n$", text)
end)

check.test("a failed callback fails the loop; one without results is told", function()
    local text = output [[
        local host = np.callback(function(x) error("no such host", 0) end,
                                 { result = { shape = { 1 }, dtype = "f32" } })
        local y = np.fori_loop(0, 3, function(i, c) print("turn", i) return host(c) end, np.ones(1))
        print(pcall(y.item, y))
    ]]
    check.ok(text:find "^turn\t0\nfalse\t.*no such host", text)
    local status, out, err = process.run_neap { "-e", [[
        local tell = np.callback(function(x) error("no such host", 0) end)
        print(np.fori_loop(0, 2, function(i, c) tell(c) return c + 1 end, np.ones(1)))
    ]] }
    check.equal({ status, out }, { 1, "[3.]\n" })
    check.equal(select(2, err:gsub("callback: no such host\n", "")), 2)
end)

check.test("a gradient does not repeat the effects of a body", function()
    check.equal(output [[
        local function f(x)
            return np.fori_loop(0, 2, function(i, c)
                print("turn", i)
                return np.scan(function(a, b) print("inner", b) return a * b end, c, np.array { 2, 3 }) + 0 * x
            end, x)
        end
        print("gradient", np.grad(f)(np.array(1.0)))
    ]], "turn\t0\ninner\t2.0\ninner\t3.0\nturn\t1\ninner\t2.0\ninner\t3.0\ngradient\t36.0\n")
end)

check.test("kinds with an order of their own, and unordered prints", function()
    check.equal(output [[
        np.effects.order("print", "own")
        np.fori_loop(0, 3, function(i, c) print(i) return c end, np.ones(1))
        print "last"
    ]], "0\n1\n2\nlast\n")
    check.equal(output [[
        np.fori_loop(0, 3, function(i, c) np.debug.print({ ordered = false }, "{}", i) return c end, np.ones(1))
        np.effects_barrier()
        print "last"
    ]], "0\n1\n2\nlast\n")
end)

check.done()
