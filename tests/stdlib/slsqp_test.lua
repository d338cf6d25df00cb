--- slsqp_test.lua (release build only): np.optimize.minimize under constraints, by NLopt: minima of SciPy's,
-- multipliers, derivatives, what is told of problems without a solution, and that nothing of a call stays, however it
-- ends.
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"

check.test("where the library is missing an error names the package", function()
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder) == 0)
    for version = 0, 1 do process.write(folder .. "/libnlopt.so." .. version, "no library") end
    local status, out, err = process.run { "env", "LD_LIBRARY_PATH=" .. folder, process.neap, process.file [[
local ok, problem = pcall(np.optimize.minimize, np.sum, np.ones(2), { method = "slsqp" })
assert(not ok and problem:find("needs the library NLopt, which is not installed (package libnlopt0)", 1, true), problem)
assert(np.optimize.minimize(np.sum, np.ones(2), { bounds = { 0, 1 } }).success)
]] }
    os.execute("rm -r " .. folder)
    check.equal({ status, out, err }, { 0, "", "" })
end)

if not pcall(require("ffi").load, "libnlopt.so.0") and not pcall(require("ffi").load, "libnlopt.so.1") then
    check.skip("constraints", "package libnlopt0 is not installed")
    process.cleanup()
    check.done()
    return
end

local minimize = np.optimize.minimize

local function f64(x) return np.array(x, { dtype = "f64" }) end

--- The largest difference of elements.
local function apart(x, y) return np.max(np.abs(x - y)):item() end

local function rosenbrock(x) return 100 * (x[1] - x[0] ^ 2) ^ 2 + (1 - x[0]) ^ 2 end

local function squares(x) return (x * x):sum() end

-- ---- Minima ---------------------------------------------------------------------------------------------------------

-- Problem 71 of Hock and Schittkowski, "Test examples for nonlinear programming codes" (1981).
local function f71(x) return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2] end
local product_71 = { type = "ineq", fun = function(x) return np.prod(x) - 25 end }
local sphere_71 = { type = "eq", fun = function(x) return squares(x) - 40 end }

-- The minima that scipy.optimize.minimize(method="SLSQP", tol=1e-14) finds, of SciPy 1.17.1.
check.test("minima and multipliers are SciPy's", function()
    local r = minimize(f71, f64 { 1, 5, 5, 1 }, { constraints = { product_71, sphere_71 }, bounds = { 1, 5 } })
    check.equal({ r.success, r.status, r.message }, { true, 0, "converged" })
    check.ok(apart(r.x, f64 { 1, 4.74299967, 3.82114994, 1.3794083 }) < 1e-7, tostring(r.x))
    check.ok(math.abs(r.fun:item() - 17.014017289133697) < 1e-8, tostring(r.fun))
    check.ok(apart(np.stack(r.multipliers), f64 { 0.55229366, -0.16146858 }) < 1e-6, tostring(r.multipliers[2]))
    check.ok(r.maxcv < 1e-8 and r.nfev >= r.nit and r.nit > 2)

    local inner = { type = "ineq", fun = function(x)
        return np.stack { 1 - x[0] - 2 * x[1], 1 - x[0] ^ 2 - x[1], 1 - x[0] ^ 2 + x[1] }
    end }
    local line = { type = "eq", fun = function(x) return 2 * x[0] + x[1] - 1 end }
    r = minimize(rosenbrock, f64 { 0.5, 0 }, { constraints = { inner, line }, bounds = { { 0, -0.5 }, { 1, 2 } } })
    check.ok(r.success and apart(r.x, f64 { 0.41494432, 0.17011137 }) < 1e-7, tostring(r.x))
    check.ok(apart(r.multipliers[1], np.zeros(3)) == 0 and math.abs(r.multipliers[2]:item() + 0.41348238) < 1e-5)

    local limits = { { A = { { 1, 1 } }, ub = 1 }, { fun = function(x) return x[0] * x[1] end, lb = 0.1, ub = 0.2 } }
    r = minimize(rosenbrock, f64 { 0.5, 0 }, { constraints = limits })
    check.ok(r.success and apart(r.x, f64 { 0.5861481, 0.34121069 }) < 1e-7, tostring(r.x))
    check.equal({ r.multipliers[1].shape, r.multipliers[2].shape }, { { 1 }, {} })
end)

check.test("without constraints it finds the minimum, and f32 is near", function()
    local r = minimize(rosenbrock, f64 { -1.2, 1 }, { method = "slsqp" })
    check.ok(r.success and apart(r.x, np.ones(2)) < 1e-6 and #r.multipliers == 0)
    r = minimize(f71, np.array { 1, 5, 5, 1 } / 1, { constraints = { product_71, sphere_71 }, bounds = { 1, 5 } })
    check.ok(r.success and r.x.dtype == "f32" and apart(r.x, np.array { 1, 4.743, 3.82115, 1.37941 }) < 1e-3)
end)

check.test("a large objective, and a start far away, change no minimum", function()
    for _, size in ipairs { 1, 1e3, 1e6, 1e12 } do
        for _, start in ipairs { 1, 1e3, 1e6 } do
            local r = minimize(function(x) return squares(x) * size end, f64 { start, start },
                               { constraints = { A = { { 1, 1 } }, lb = 1 } })
            local what = ("%g from %g: %s"):format(size, start, r.message)
            check.ok(r.success and apart(r.x, f64 { 0.5, 0.5 }) < 1e-6, what)
            check.ok(math.abs(r.fun:item() / size - 0.5) < 1e-6 and r.maxcv < 1e-6, what)
            check.ok(math.abs(r.multipliers[1]:item() / size - 1) < 1e-6, what)
        end
    end
end)

check.test("derivatives of constraints may be given", function()
    local asked = 0
    local half = { type = "ineq", fun = function(x, r) return r - squares(x) end,
                   jac = function(x, r)
        check.equal(r, 2)
        asked = asked + 1
        return -2 * x
    end, args = { 2 } }
    local r = minimize(function(x) return x:sum() end, f64 { 0.1, 0.2 }, { constraints = half })
    check.ok(r.success and asked > 0 and apart(r.x, f64 { -1, -1 }) < 1e-6, tostring(r.x))
    check.ok(math.abs(r.multipliers[1]:item() - 0.5) < 1e-6)
end)

check.test("x may be a tree, and a callback sees each iteration in order", function()
    local seen = {}
    local r = minimize(function(p) return (p.a - 1) ^ 2 + ((p.b - p.a) ^ 2):sum() end,
                       { a = f64(0), b = f64 { 0, 0 } },
                       { constraints = { type = "eq", fun = function(p) return p.b:sum() - 1 end },
                         callback = function(p) seen[#seen + 1] = p end })
    check.ok(r.success and math.abs(r.x.a:item() - 2 / 3) < 1e-6 and apart(r.x.b, f64 { 0.5, 0.5 }) < 1e-6)
    check.equal(#seen, r.nit)
    check.equal(seen[#seen].b:totable(), r.x.b:totable())
end)

-- ---- No minimum -----------------------------------------------------------------------------------------------------

check.test("what has no solution says so", function()
    local function status(constraints, f, o)
        o = o or {}
        o.constraints = constraints
        local r = minimize(f or rosenbrock, f64 { 0.5, 0.1 }, o)
        check.equal(r.success, r.status == 0)
        return r.status, r.maxcv, r
    end
    local code, missed = status { type = "eq", fun = function(x) return x[0] ^ 2 + 1 end }
    check.ok(code == 4 and missed >= 1)
    code, missed = status { { A = { { 1, 0 } }, lb = 2 }, { A = { { 1, 0 } }, ub = 1 } }
    check.ok(code ~= 0 and missed > 0.4)
    check.equal((status({ A = { { 1, 0 } }, lb = 2 }, function(x) return -x:sum() end)), 2)
    local few, _, r = status({ type = "eq", fun = function(x) return squares(x) - 2 end }, nil, { maxiter = 2 })
    check.equal({ few, r.nit, r.message }, { 1, 2, "the largest number of iterations is reached" })
    -- a line search that leaves where f is defined comes back
    check.equal((status({ A = { { 1, 1 } }, ub = 1 }, function(x) return -np.log(x):sum() end)), 0)
end)

-- ---- Derivatives ----------------------------------------------------------------------------------------------------

check.test("solutions and multipliers are differentiable, in all orders", function()
    local function solved(p) -- the point of a disk of size p[2] that is next to (p[0], p[1])
        return minimize(function(x) return squares(x - p[{ { 0, 2 } }]) end, f64 { 0, 0 },
                        { constraints = { type = "ineq", fun = function(x) return p[2] - squares(x) end } })
    end
    local function exact(p)
        local c = p[{ { 0, 2 } }]
        local scale = np.sqrt(squares(c) / p[2])
        return np.concatenate { c / scale, (scale - 1):reshape(1) }
    end
    local function found(p)
        local r = solved(p)
        return np.concatenate { r.x, r.multipliers[1]:reshape(1) }
    end
    local p = f64 { 3, 2, 2 }
    check.ok(apart(found(p), exact(p)) < 1e-6)
    check.ok(apart(np.jacrev(found)(p), np.jacrev(exact)(p)) < 1e-6)
    check.ok(apart(np.jacfwd(found)(p), np.jacrev(exact)(p)) < 1e-6)
    local function last(f) return function(q) return (f(q) * f64 { 1, 2, 3 }):sum() end end
    check.ok(apart(np.hessian(last(found))(p), np.hessian(last(exact))(p)) < 1e-5)
    local inside = f64 { 0.5, 0.25, 2 } -- here the constraint holds nothing
    check.ok(apart(np.jacrev(found)(inside), f64 { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 0 } }) < 1e-6)
end)

check.test("limits, matrices and bounds move what they hold", function()
    local function found(p)
        return minimize(function(x) return squares(x - f64 { 3, 3, 3 }) end, f64 { 0, 0, 0 },
                        { constraints = { A = { { 1, 1, 1 } }, ub = p[0] },
                          bounds = { -9, np.stack { p[1], 9, 9 } } }).x
    end
    -- x[0] is held by its bound, and the others share what is left of the sum
    check.ok(apart(np.jacrev(found)(f64 { 4, 1 }), f64 { { 0, 1 }, { 0.5, -0.5 }, { 0.5, -0.5 } }) < 1e-6)
end)

-- ---- Ends of calls --------------------------------------------------------------------------------------------------

check.test("errors come through with their lines, and nothing of a call stays", function()
    local line = { type = "eq", fun = function(x) return x[0] - 2 end }
    for k = 1, 1500 do -- LuaJIT has room for fewer callbacks
        local ok, problem = pcall(minimize, squares, f64 { 1, 2 }, {
            constraints = line, callback = function() error "enough" end })
        check.ok(not ok and problem:find("slsqp_test.lua:%d+: enough"), tostring(problem))
        if k % 100 == 0 then collectgarbage() end
    end
    local ok, problem = pcall(minimize, squares, f64 { 1, 2 }, {
        constraints = line, callback = function() return np.ones(2) + np.ones(3) end })
    check.ok(not ok and problem:find("slsqp_test.lua:%d+: np.add: shapes"), tostring(problem))
    check.ok(minimize(squares, f64 { 1, 2 }, { constraints = line }).success)
    local inner = minimize(squares, f64 { 1, 2 }, { constraints = line, callback = function()
        check.ok(minimize(rosenbrock, f64 { 0, 0 }, { constraints = line }).success)
    end })
    check.ok(inner.success and apart(inner.x, f64 { 2, 0 }) < 1e-6)
end)

check.test("Ctrl-C ends a search, and the prompt goes on", function()
    local terminal = process.terminal { "-i", process.file [[
function search(o)
    o.constraints = { type = "eq", fun = function(x) return x[0] - 2 end }
    return np.optimize.minimize(function(x) return (x * x):sum() end, np.array({ 1, 2 }, { dtype = "f64" }), o)
end
print 'ready'
]] }
    terminal:expect "ready"
    terminal:send "search { callback = function() print('be' .. 'gins'); while true do end end }\n"
    terminal:expect "begins"
    process.sleep(0.3)
    terminal:send "\3"
    terminal:expect "interrupted"
    terminal:send "print('found' .. search({}).status)\n"
    terminal:expect "found0"
    terminal:send "exit\n"
    check.ok(terminal:finish() ~= nil)
end)

process.cleanup()
check.done()
