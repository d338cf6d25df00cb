--- program_test.lua: programs as objects: printed form, inputs and outputs, costs, pictures, use as functions.
local check = require "tests.lib.check"
local np = require "neap"

local release = (os.getenv "NEAP_TEST_BUILD" or "release") == "release"

-- ---- The printed form -----------------------------------------------------------------------------------------------

check.test("inputs and outputs by name, tokens, constants, captures, constructors", function()
    local w, long = np.array { 1, 2.5, -3 }:wait(), np.ones(20):wait()
    local program = np.trace(function(x, params, n)
        print("loss", x:sum())
        io.write("a\tb\"\n")
        np.debug.print("{}", n)
        local y = (x + w) * params.w * n + np.arange(3) - 0.1
        return { y = y, all = long }, (x "::-1"):reshape(1, 3)
    end)(np.ones(3), { w = np.ones(3), b = np.ones { 2, 0 } }, 2)
    local head = "program(x: f32[3], params.b: f32[2,0], params.w: f32[3], n: number) "
        .. "-> (out1.all: f32[20], out1.y: f32[3], out2: f32[1,3]) {\n"
    check.equal(tostring(program), head .. [[
  a: f32[20] = captured
  b: i32[3] = iota[n=3 dtype=i32]
  c: f32[3] = astype[dtype=f32] b
  d: f32[3] = captured [ 1.   2.5 -3. ]
  e: f32[] = sum[axes=0] x
  #1: token = print[ordered] #0 "loss\t" e "\n"
  #2: token = write[ordered] #1 "a\tb\"\n"
  print[unordered] n:"%.14g" "\n"
  f: f32[3] = add x d
  g: f32[3] = multiply f params.w
  h: f32[] = astype[dtype=f32] n
  i: f32[3] = multiply g h
  j: f32[3] = add i c
  k: f32[3] = subtract j 0.1
  l: f32[3] = slice[start=2 step=-1 count=3] x
  m: f32[1,3] = reshape[shape=1,3] l
  return a, k, m
}]])
end)

check.test("control flow has its results on the left", function()
    local function sums(x)
        local total, list, double = np.scan(function(c, part)
            print(c)
            return c + part, { c, c * 2, c - 1, c + part }
        end, 0, x, { reverse = true })
        return list[4], total, double
    end
    check.equal(tostring(np.trace(sums)(np.ones(3))), [[
program(x: f32[3]) -> (out1: f32[3], out2: f32[]) {
  #1, a: f32[], _*3, b: f32[3] = scan[length=3 reverse=1 carries=1 xs=1] #0 0 x {
    (a: f32[], b: f32[]) {
      #1: token = print[ordered] #0 a "\n"
      c: f32[] = add a b
      d: f32[] = multiply a 2
      e: f32[] = subtract a 1
      f: f32[] = add a b
      return c, a, d, e, f
    }
  }
  return b, a
}]])
    check.equal(tostring(np.trace(function(x) return np.cond(x:sum():gt(0), np.sin, np.cos, x) end)(np.ones(2))), [[
program(x: f32[2]) -> (out: f32[2]) {
  a: f32[] = sum[axes=0] x
  b: bool[] = greater a 0
  c: i32[] = astype[dtype=i32] b
  d: f32[2] = cond[operands=1 own=0,0] c x {
    (a: f32[2]) {
      b: f32[2] = cos a
      return b
    }
    (a: f32[2]) {
      b: f32[2] = sin a
      return b
    }
  }
  return d
}]])
end)

check.test("letters that inputs have taken are left out; a text can be cut", function()
    local program = np.trace(function(c, a) return ((a + c) * a):sum() - 1e-300 end)(np.ones(2), np.ones(2))
    check.equal(tostring(program), [[
program(c: f32[2], a: f32[2]) -> (out: f32[]) {
  b: f32[2] = add a c
  d: f32[2] = multiply b a
  e: f32[] = sum[axes=0] d
  f: f32[] = subtract e 0
  return f
}]])
    check.equal(program:text { lines = 4 }, [[
program(c: f32[2], a: f32[2]) -> (out: f32[]) {
  b: f32[2] = add a c
  … 4 more lines …
}]])
    check.equal(program:text { lines = 7 }, tostring(program))
    check.raises(function() return program:text { lines = 2 } end, "must be at least 3")
    check.raises(function() return program:text { width = 2 } end, "unknown option 'width'")
end)

check.test("a program of many ops prints, is drawn, counted and freed", function()
    local n = release and 100000 or 5000
    local program = np.trace(function(x)
        for _ = 1, n / 2 do x = np.sin(x) * x end
        return x
    end)(np.ones(4))
    local text = tostring(program)
    check.equal(select(2, text:gsub("\n", "")), n + 2)
    check.equal(select(2, program:text { lines = 50 }:gsub("\n", "")), 49)
    check.ok(#program:dot() < 50000)
    check.ok(program:dot():find(("%d more ops"):format(n - 200), 1, true))
    np.debug.verify(program)
end)

-- ---- Inputs and outputs ---------------------------------------------------------------------------------------------

check.test("what goes in and comes out", function()
    local program = np.trace(function(t, ...)
        local first = ...
        return t.a[1] * first, "text", { t["odd key\n"]:sum() }
    end)({ a = { np.ones(2) }, ["odd key\n"] = np.arange(4) }, 3, np.ones(1))
    check.equal(program:list_inputs(), { "t.a[1]", "t.odd key?", "arg2", "arg3" })
    check.equal(program:list_outputs(), { "out1", "out3[1]" })
    check.equal(program:inputs()[2], { name = "t.odd key?", shape = { 4 }, dtype = "i32" })
    check.equal(program:inputs()[3], { name = "arg2", shape = {}, dtype = "f64", number = true })
    check.equal(program:outputs()[1], { name = "out1", shape = { 2 }, dtype = "f32" })
end)

check.test("arguments that do not fit are named", function()
    local program = np.trace(function(x, p) return x * p.w end)(np.ones(2), { w = 2, how = "fast" })
    local function refuses(pattern, ...)
        local given = { ... }
        check.raises(function() return program(unpack(given)) end, "np.program: " .. pattern)
    end
    check.equal(program(np.ones(2), { w = 3, how = "fast" }):totable(), { 3, 3 })
    refuses("x: expected f32%[2%], got f32%[2,2%]; the number of axes", np.ones { 2, 2 }, { w = 2, how = "fast" })
    refuses("x: expected f32%[2%], got the number 2", 2, { w = 2, how = "fast" })
    refuses("p.w: expected a number, got f32%[2%]", np.ones(2), { w = np.ones(2), how = "fast" })
    refuses('argument 2.how: expected the string "fast", got the string "slow"', np.ones(2), { w = 2, how = "slow" })
    refuses("argument 2.more: expected nothing, got the number 1", np.ones(2), { w = 2, how = "fast", more = 1 })
    refuses("argument 2: expected a table", np.ones(2), "fast")
    refuses("argument 3: expected nothing", np.ones(2), { w = 2, how = "fast" }, np.ones(1))
    refuses("p.w: expected a number, got nothing", np.ones(2), { how = "fast" })
end)

check.test("a program stands where a function may", function()
    local program = np.trace(function(x, y) return (x * y):sum() end)(np.ones(2), np.ones(2))
    local x, y = np.array { 1, 2 }, np.array { 3, 4 }
    check.equal(np.grad(program, { argnums = { 2 } })(x, y):totable(), { 1, 2 })
    check.equal(np.value_and_grad(program)(x, y):item(), 11)
    check.equal(np.jit(program)(x, y):item(), 11)
    check.equal(np.vmap(program)(np.ones { 3, 2 }, np.ones { 3, 2 }):totable(), { 2, 2, 2 })
    check.equal(np.trace(program)(x, y)(x, y):item(), 11)
    check.equal(tostring(np.jit(np.grad(program))(x, y)), "[3. 4.]")
end)

-- ---- Costs and pictures ---------------------------------------------------------------------------------------------

check.test("costs", function()
    local w = np.ones(16, 4):wait()
    local program = np.trace(function(x)
        local y = np.tanh(x:matmul(w))
        return (y * y + 1):sum { axis = 1 }
    end)(np.ones(8, 16))
    local cost = program:cost()
    check.equal(cost.flops, 2 * 8 * 16 * 4 + 3 * 32 + 32)
    check.equal(cost.ops[1], { op = "matmul2", count = 1, flops = 1024 })
    check.equal(#cost.ops, 5)
    check.equal(cost.memory.inputs, 8 * 16 * 4)
    check.equal(cost.memory.captured, 16 * 4 * 4)
    check.equal(cost.memory.outputs, 8 * 4)
    -- The product reads x and w and writes 32 numbers; the rest is one kernel that reads them and writes 8.
    check.equal({ cost.bytes_read, cost.bytes_written }, { 512 + 256 + 128, 128 + 32 })
    check.equal(cost.memory.peak, 512 + 256 + 128 + 32)
    local nothing = np.trace(function(x) return x.T end)(np.ones(2, 3)):cost()
    check.equal({ nothing.flops, #nothing.ops }, { 0, 1 })
end)

check.test("costs of loops and branches", function()
    local function cost(f) return np.trace(f)(np.ones(4)):cost() end
    local function scan(n)
        return cost(function(x)
            return (np.scan(function(c, _) return np.sin(c) * c, c:sum() end, x, np.ones(n)))
        end)
    end
    check.equal(scan(10).flops, 10 * (4 + 4 + 4))
    check.equal(scan(1000).flops, 1000 * (4 + 4 + 4))
    check.equal(scan(10).ops[1], { op = "multiply", count = 10, flops = 40 })
    local branch = cost(function(x)
        return np.cond(x[0]:gt(0), function(a) return a * a * a end, function(a) return a + 1 end, x)
    end)
    check.equal({ branch.flops - cost(function(x) return x[0]:gt(0):astype("i32") end).flops, branch.while_loops },
                { 8, 0 })
    local loop = cost(function(x)
        return np.while_loop(function(a) return a:sum():lt(100) end, function(a) return a * 2 end, x)
    end)
    check.equal({ loop.flops, loop.while_loops }, { 4 + 1 + 4, 1 })
end)

check.test("a picture", function()
    local program = np.trace(function(x)
        local y = x * x * 2
        print("a \"text\"", y)
        np.callback(function() end, { name = "seen" })(y)
        return y
    end)(np.ones(3))
    local picture, lines = program:dot():gsub(', tooltip="[^"]*program_test.lua[^"]*"', "")
    check.ok(lines >= 1)
    check.equal(picture, [[
digraph program {
  node [fontname="Helvetica", fontsize=10, height=0.3];
  edge [arrowsize=0.7, color="#555555", fontsize=9];
  i0 [shape=box, style=filled, fillcolor="#d6e4f5", label="x: f32[3]"];
  va [shape=ellipse, label="a: f32[3] = multiply x x"];
  i0 -> va;
  vb [shape=ellipse, label="b: f32[3] = multiply a 2"];
  va -> vb;
  e3 [shape=box, peripheries=2, label="print"];
  vb -> e3;
  vc [shape=box, peripheries=2, label="c: u8[1] = callback[ordered] seen b"];
  vb -> vc;
  e3 -> vc [style=dashed, label="#1", color="#b05050"];
  o0 [shape=box, style=filled, fillcolor="#cfe8cf", label="out = b: f32[3]"];
  vb -> o0;
}
]])
    check.raises(function() return program:svg(3) end, "argument 1 %(path%) must be a file name")
    local path = os.tmpname()
    local text = program:svg(path)
    local file = assert(io.open(path))
    check.equal(file:read "*a", text)
    file:close()
    os.remove(path)
    check.ok(text:find("<svg", 1, true) and text:find("multiply", 1, true))
end)

check.test("the verifier on demand", function()
    local program = np.trace(function(x) return x + 1 end)(np.ones(2))
    check.equal(np.debug.verify(program), program)
    local f = np.jit(function(x) return x * 2 end)
    f(np.ones(2))
    check.equal(np.debug.verify(f), f)
    check.raises(function() return np.debug.verify(3) end, "must be a program or a jitted function")
end)

check.test("np.trace takes a function, and arguments later", function()
    check.raises(function() return np.trace(function(x) return x end, np.ones(2)) end, "takes a function and options")
end)

check.done()
