--- control_processes_test.lua: loops, branches, programs and batches with collectives between processes: two processes
-- of two devices give the bits of one process of four. Runs itself as these.
local check = require "tests.lib.check"
local np = require "neap"

-- ---- What each process does: a line for each function, eager and jitted -------------------------------------------

local function everything()
    local P = np.P
    local mesh = np.mesh({ 4 }, { "i" })
    local x, ring = np.arange(8, { dtype = "f32" }) + 1, { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 0 } }
    local function over(f, ins, out)
        return np.shard_map(f, { mesh = mesh, in_specs = ins, out_specs = out })
    end
    local function tell(name, ...)
        local parts = {}
        for k = 1, select("#", ...) do
            local numbers = (select(k, ...)):reshape(-1):totable()
            for n = 1, #numbers do numbers[n] = ("%.9g"):format(numbers[n]) end
            parts[k] = table.concat(numbers, " ")
        end
        print(name, unpack(parts))
    end
    local function both(name, f, ...) tell(name, f(...), np.jit(f)(...)) end

    both("scan", over(function(v)
        return (np.scan(function(c, k) return np.tanh(c) + np.psum(v * k, "i") / 8 end, np.zeros { 2 },
                        np.array { 1, 2, 3 }))
    end, { P "i" }, P()), x)
    both("while", over(function(v)
        return np.psum(np.while_loop(function(c) return np.psum(c:sum(), "i"):lt(1000) end,
                                     function(c) return c * 2 + 1 end, v), "i")
    end, { P "i" }, P()), x)
    both("while of each device", over(function(v)
        return np.psum(np.while_loop(function(c) return c:sum():lt(1000) end, function(c) return c * 2 + 1 end, v), "i")
    end, { P "i" }, P()), x)
    both("ring", over(function(v)
        return np.all_gather(np.fori_loop(0, 5, function(k, c) return np.ppermute(c, "i", ring) * 1.5 + k end, v), "i")
    end, { P "i" }, P()), x)
    both("branch", over(function(v)
        return np.psum(np.cond(np.psum(v:sum(), "i"):gt(5), function(a) return a * np.pmax(a, "i") end,
                               function(a) return a end, v), "i")
    end, { P "i" }, P()), x)
    both("branch of each device", over(function(v)
        return np.psum(np.cond(np.axis_index("i"):ge(2), function(a) return a * 10 end, function(a) return a - 1 end,
                               v), "i")
    end, { P "i" }, P()), x)
    local loss = over(function(v, s)
        return (np.scan(function(c, k) return np.tanh(c * s) + np.psum((v * s * k):sum(), "i") / 40 end, s * 0,
                        np.array { 1, 2, 3 }))
    end, { P "i", P() }, P())
    both("gradient", function(s) return np.grad(function(w) return loss(x, w) end)(s) end, np.array(0.15))
    local pulled = over(function(v, s)
        return (np.scan(function(c, k) return np.sin(np.psum(c * s * k, "i")) + v, nil end, v, np.array { 1, 2 }))
    end, { P "i", P() }, P "i")
    both("vjp", function(s)
        local y, pull = np.vjp(pulled, x, s)
        return (y + pull(np.ones(8))):sum() + select(2, pull(y))
    end, np.array(0.15))
    both("linearize", function(s)
        local y, push = np.linearize(function(w) return pulled(x, w) end, s)
        return (y + push(np.array(1)) + push(np.array(2))):sum()
    end, np.array(0.15))
    both("batch", np.vmap(over(function(v)
        return (np.scan(function(c, k) return c + np.psum(v * k, "i") end, np.zeros { 2 }, np.array { 1, 2 }))
    end, { P "i" }, P())), np.stack { x, x * 2, x * 3 })
end

if arg and arg[1] == "run" then
    everything()
    return
end

-- ---- Comparing ----------------------------------------------------------------------------------------------------

local process = require "tests.lib.process"
local mpirun = require "tests.lib.mpirun"
local script = { "tests/mesh/control_processes_test.lua", "run" }
local missing = mpirun.missing()

if missing then
    check.skip("two processes of two devices", missing)
else
    check.test("two processes of two devices", function()
        local status, alone, problem = process.run_neap { "--devices", "4", unpack(script) }
        check.equal(status, 0, problem)
        local status_of_both, together, problem_of_both = mpirun.run(2, { "--devices", "2", unpack(script) })
        check.equal(status_of_both, 0, problem_of_both)
        check.equal(together, alone)
    end)
end
process.cleanup()

check.done()
