--- short_programs.lua: programs for tests in which the system refuses them something: each prints something, and last
-- of all; and what may become of one.
local process = require "tests.lib.process"

local short_programs = {}

--- A folder for files of theirs, which remove_all removes.
short_programs.folder = os.tmpname()
os.remove(short_programs.folder)
assert(os.execute(("mkdir '%s'"):format(short_programs.folder)) == 0)
local folder = short_programs.folder

local csv = process.file("a,b\n1,2.5\n3,4.5\n")

local connection = process.file(('{"transport": "ipc", "ip": "%s/channel", "key": "abcdef", "shell_port": 1, '
    .. '"control_port": 2, "stdin_port": 3, "iopub_port": 4, "hb_port": 5}'):format(folder))

local native = [[
local f = np.jit(function(x) return (np.exp(x) * 0.5 + 1) / (x + 2) - x * 0.25 end)
print(f(np.ones{1000}):sum())]]

--- options: of the command line; input: on stdin; library: whose requests are refused, if not the executable's; lives:
-- it does not end by itself, and has its right result if it is there after a moment.
short_programs.list = {
    { name = "start", code = "print(1)" },
    { name = "jit", code = [[
local step = np.jit(function(w, x) return w - 0.1 * np.grad(function(w) return (x:matmul(w) ^ 2):sum() end)(w) end)
local w = np.ones{4, 1}
for _ = 1, 3 do w = step(w, np.ones{8, 4}) end
print(w:sum())]] },
    { name = "workers", code = "print(np.arange(1e6):sum()) print(np.sort(-np.arange(1e5))[0])" },
    { name = "products",
      code = "print(np.ones{300, 300}:matmul(np.ones{300, 300}):sum()) print(np.linalg.det(np.eye(40)))" },
    { name = "csv", code = ("local t = np.io.read_csv(%q) print(t.b:sum()) print(t)"):format(csv) },
    { name = "figure", code = "np.plot.line(np.arange(10)) print(#np.plot.figure():svg() > 100)" },
    { name = "mesh", options = { "--devices", "4" }, code = [[
local mesh = np.mesh({4}, {"i"})
local f = np.shard_map(function(x) return np.psum(x * 2, "i") end, {mesh=mesh, in_specs=np.P("i"), out_specs=np.P()})
print(f(np.arange(8)))]] },
    { name = "native", options = { "--tier", "native" }, code = native },
    { name = "loop", options = { "--tier", "native" }, code = [[
local table = np.ones{9, 16}
local f = np.jit(function(a, n) return np.scan(function(c, x)
    local e = np.exp(c[1] - c[1]:max())
    local row = np.cond(x:gt(2), function(v) return v:at{0}:set(np.arange(1)[0] * 2.5) end, np.tanh, e / e:sum())
    return { row + np.take(table, c[2], { axis = 0 }), c[2] + 1 }, row:sum()
end, { a, n }, np.arange(5)) end)
local last, ys = f(np.arange(16) * 0.1, np.array(1, {dtype="i32"}))
print(last[1]:sum(), last[2], ys)]] },
    { name = "generator", options = { "--tier", "native" }, code = native, library = "neap_native" },
    { name = "callback", code = [[
local y = np.callback(function(x) return x * 2 end, { result = np.ones{3} })(np.ones{3})
print("before") print(y) io.write("last\n")]] },
    { name = "file", code = ([[
local path = %q .. "/" .. tostring({}):match "0x(%%x+)" .. ".npy"
np.io.save(path, np.arange(5))
print(np.io.load(path))]]):format(folder) },
    { name = "prompt", options = { "-i" }, input = "x = np.arange(4)\nx + 1\nprint(x:sum())\nprint('alive')\n" },
    { name = "timeline", options = { "--trace", folder .. "/trace.json" }, code = "print((np.ones{100} * 2):sum())" },
    { name = "kernel", options = { "kernel", "run", connection }, lives = true },
}

--- The words of a command that runs a program.
function short_programs.words(program)
    local words = { process.neap }
    for _, word in ipairs(program.options or {}) do words[#words + 1] = word end
    if program.code then
        words[#words + 1] = "-e"
        words[#words + 1] = program.code
    end
    return words
end

--- An output without prompts, of which one may be lost.
local function without_prompts(text)
    return (text:gsub("> ", ""))
end

--- What is wrong about how a program has ended that prints `expected`; nil: nothing.
function short_programs.fault(program, expected, status, out, err)
    if status == 124 and program.lives then return nil end
    if status == 134 and program.lives then return nil end -- libzmq ends the process; the kernel has its stderr
    if status >= 124 then return status == 124 and "hangs" or "is ended by signal " .. status - 128 end
    if status == 0 and without_prompts(out) == without_prompts(expected) then return nil end
    if err == "" and not out:find "<error: %S" then return "ends without a word" end
    if status == 0 and program.name ~= "prompt" then return "has lost output, with status 0" end
end

function short_programs.remove_all()
    os.execute(("rm -r '%s'"):format(folder))
    process.cleanup()
end

return short_programs
