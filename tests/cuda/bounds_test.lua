--- bounds_test.lua (release build only): what the code of kernels for GPUs lets memory do. Of each kernel in CASES the
-- fake driver takes PTX, of which ptxas says how many registers it has. So there is a share for each of DEVICES:
--
--     bytes under way  =  multiprocessors * resident groups * threads of a group * bytes of a thread
--     share            =  bytes under way / (latency * bandwidth)
--
-- Below 1 it bounds the part of the bandwidth that a kernel can have (Little's law). A thread's bytes are those that it
-- asks for before it needs the first of them: in a stretch of code without a branch, the loads whose addresses need no
-- other load. Nothing runs on a GPU here, and what computing and barriers take is left out. docs/gpu.md has the table;
-- a share that falls to half of the page's fails. Skipped without a generator of code for GPUs, or without ptxas.
--
--     NEAP=build/neap build/neap tests/cuda/bounds_test.lua table          writes the page's table
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local THREADS, PAGE = 256, "docs/gpu.md"

-- Figures of the makers' data sheets, but for latency: about what a load from memory takes on a busy device.
local DEVICES = { -- gbs: bandwidth in GB/s; ns: latency
    { name = "H100", capability = 90, units = 132, threads = 2048, shared = 228 * 1024, gbs = 3350, ns = 600 },
    { name = "A100", capability = 80, units = 108, threads = 2048, shared = 164 * 1024, gbs = 1555, ns = 500 },
    { name = "T4", capability = 75, units = 40, threads = 1024, shared = 64 * 1024, gbs = 320, ns = 500 },
}

--- Each kernel, of 2^24 elements: what is computed of x (f32), y (f32), m (4096 by 4096), r (rows of 512), h (f16), u
--- (u8).
local CASES = {
    { "`a*x+b`", "x * 2 + 1" },
    { "Adam", "adam(x, y)" },
    { "a polynomial of 8 ops", "polynomial(x)" },
    { "gelu", "np.nn.gelu(x)" },
    { "`where`, `clip`", "np.where(x:gt(y), np.clip(x, 0, 1), y)" },
    { "`a*x+b` of f16", "h * 2 + 1" },
    { "`a*x+b` of u8", "u * 2 + 1" },
    { "transposed copy", "np.copy(m.T)" },
    { "`sum`", "x:sum()" },
    { "`sum((x-y)^2)`", "np.square(x - y):sum()" },
    { "`sum`, axis 0", "m:sum { axis = 0 }" },
    { "`sum`, axis 1", "m:sum { axis = 1 }" },
    { "`max`, axis 1", "m:max { axis = 1 }" },
    { "`argmax`, axis 1", "m:argmax { axis = 1 }" },
    { "variance, axis 1", "m:var { axis = 1 }" },
    { "softmax of rows of 512", "np.nn.softmax(r)" },
    { "layer norm of rows of 512", "np.nn.layer_norm(r)" },
}

-- ---- A process with the fake driver ---------------------------------------------------------------------------------

local CHILD = [[
    local ffi = require "ffi"
    ffi.cdef "uint64_t fake_kernel_groups(void);"
    local driver, folder = ffi.load "libcuda.so.1", os.getenv "XDG_CACHE_HOME" .. "/neap/native"
    local x, y = np.zeros { 2 ^ 24 }:wait(), np.zeros { 2 ^ 24 }:wait()
    local m, r = x:reshape(4096, 4096), x:reshape(-1, 512)
    local h, u = np.zeros({ 2 ^ 24 }, { dtype = "f16" }):wait(), np.zeros({ 2 ^ 24 }, { dtype = "u8" }):wait()
    local function adam(p, g)
        local a, b = p * 0.9 + g * 0.1, p * 0.999 + g * g * 0.001
        return p - a / (np.sqrt(b) + 1e-8) * 0.001
    end
    local function polynomial(p)
        local sum = p
        for k = 1, 8 do sum = sum * p + k end
        return sum
    end
    local function files()
        local found = {}
        local list = io.popen("ls '" .. folder .. "' 2>/dev/null")
        for name in list:lines() do found[name] = true end
        list:close()
        return found
    end
    local before = files()
    local function told(f)
        f():wait()
        for name in pairs(files()) do
            if not before[name] then print(folder .. "/" .. name, tonumber(driver.fake_kernel_groups())) end
            before[name] = true
        end
        print "done"
    end
]]

--- The PTX and the groups of each case, in their order.
local function kernels_for(device, folder)
    local script = { CHILD }
    for _, case in ipairs(CASES) do script[#script + 1] = ("told(function() return %s end)\n"):format(case[2]) end
    local fake = process.neap:match "^(.*)/[^/]*$" .. "/tests/cuda/fake"
    local status, out, problem = process.run {
        "env", "LD_LIBRARY_PATH=" .. fake, "NEAP_FAKE_PTX=1", "NEAP_FAKE_CAPABILITY=" .. device.capability,
        "XDG_CACHE_HOME=" .. folder, process.neap, "--gpu", process.file(table.concat(script)),
    }
    check.equal({ status, problem }, { 0, "" })
    local kernels = {}
    for part in out:gmatch "(.-)done\n" do
        local path, groups = part:match "^(%S+)\t(%d+)\n$"
        check.ok(path, ("%s: one kernel, got %q"):format(CASES[#kernels + 1][1], part))
        local text = process.read(path)
        kernels[#kernels + 1] = { text = text:match "%.version[^%z]*", groups = tonumber(groups) }
    end
    check.equal(#kernels, #CASES)
    return kernels
end

-- ---- What the code says ---------------------------------------------------------------------------------------------

--- The bytes that a thread of the entry "kernel" asks for before it needs the first of them.
local function bytes_of_thread(text)
    local body = text:match "%.entry kernel(.-)\n}"
    local most, sum, behind = 0, 0, {} -- behind: registers that wait for a load
    for line in body:gmatch "[^\n]+" do
        local op = line:gsub("^%s*@!?%%p%d+%s*", "")
        if line:find "^%$" or op:find "^%s*bra" then
            most, sum, behind = math.max(most, sum), 0, {}
        end
        local width, address = op:match "^%s*ld%.global%.(%S+)%s.*%[(%%%a+%d+)"
        local registers = {}
        for register in op:gmatch "%%%a+%d+" do registers[#registers + 1] = register end
        if width then
            local count, bits = width:match "v(%d)" or 1, width:match "%a(%d+)$"
            if not behind[address] then sum = sum + count * bits / 8 end
            for _, register in ipairs(registers) do behind[register] = register ~= address or behind[register] end
        else
            for k = 2, #registers do behind[registers[1]] = behind[registers[1]] or behind[registers[k]] end
        end
    end
    return math.max(most, sum)
end

--- What ptxas says of the entry: registers, bytes of shared memory.
local function assemble(ptxas, text, capability)
    local path = process.file(text)
    local status, _, told = process.run { ptxas, "-v", "-arch=sm_" .. capability, path, "-o", path .. ".cubin" }
    os.remove(path .. ".cubin")
    check.equal(status, 0, told)
    local of_kernel = told:match "entry function 'kernel'(.*)"
    return tonumber(of_kernel:match "Used (%d+) registers"), tonumber(of_kernel:match "(%d+) bytes smem" or 0)
end

local function share_on(device, kernel, registers, shared)
    local by_registers = math.floor(65536 / (math.ceil(registers / 8) * 8 * THREADS))
    local by_memory = math.floor(device.shared / (shared + 1024))
    local resident = math.min(device.threads / THREADS, by_registers, by_memory)
    local groups = math.min(resident * device.units, kernel.groups)
    local under_way = groups * THREADS * bytes_of_thread(kernel.text)
    return under_way / (device.ns * device.gbs), resident
end

--- Of each case: its bytes, registers and resident groups on the first device, and a share for each device.
local function table_of_shares(ptxas)
    local rows, folder = {}, os.tmpname()
    for d, device in ipairs(DEVICES) do
        local kernels = kernels_for(device, folder .. "." .. d)
        for k, kernel in ipairs(kernels) do
            local registers, shared = assemble(ptxas, kernel.text, device.capability)
            local share, resident = share_on(device, kernel, registers, shared)
            rows[k] = rows[k] or { CASES[k][1], bytes_of_thread(kernel.text), registers, resident }
            rows[k][4 + d] = share
        end
        os.execute("rm -r '" .. folder .. "." .. d .. "'")
    end
    os.remove(folder)
    return rows
end

-- ---- The page -------------------------------------------------------------------------------------------------------

--- The shares that the page has, by the kernel's name.
local function shares_of_page()
    local shares = {}
    for line in process.read(PAGE):gmatch "[^\n]+" do
        local name, a, b, c = line:match "^| (.-) | %d+ | %d+ | %d+ | ([%d.]+) | ([%d.]+) | ([%d.]+) |$"
        if name then shares[name] = { tonumber(a), tonumber(b), tonumber(c) } end
    end
    return shares
end

local function find_ptxas()
    for _, path in ipairs { os.getenv "NEAP_PTXAS" or "", "/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas",
                            "/opt/cuda/bin/ptxas" } do
        local file = path ~= "" and io.open(path, "rb")
        if file then
            file:close()
            return path
        end
    end
end

local ptxas = find_ptxas()
local _, doctor = process.run_neap { "doctor" }
if not ptxas or not doctor:find "\ncode for GPUs +LLVM" then
    check.skip("bounds of kernels for GPUs", "ptxas, or a generator of code for GPUs, is not there")
    check.done()
end

if (...) == "table" then
    for _, row in ipairs(table_of_shares(ptxas)) do
        print(("| %s | %d | %d | %d | %.1f | %.1f | %.1f |"):format(unpack(row)))
    end
    process.cleanup()
    os.exit(0)
end

check.test("no share of a kernel falls to half of the page's", function()
    local page = shares_of_page()
    for _, row in ipairs(table_of_shares(ptxas)) do
        local told = page[row[1]]
        check.ok(told, row[1] .. " is in the table of " .. PAGE)
        for d, device in ipairs(DEVICES) do
            check.ok(row[4 + d] > told[d] / 2, ("%s on %s: %.2f, the page says %.2f"):format(row[1], device.name,
                                                                                        row[4 + d], told[d]))
        end
    end
end)

process.cleanup()
check.done()
