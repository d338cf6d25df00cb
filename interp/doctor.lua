--- doctor.lua: `neap doctor`, a table of what neap found on this machine, for reports of problems.
local ffi = require "ffi"
local doctor = {}

--- The first match of `pattern` in a file, or `default` if there is none.
local function grep(path, pattern, default)
    local file = io.open(path, "r")
    if not file then return default end
    local text = file:read("*a")
    file:close()
    return text:match(pattern) or default
end

local function exists(path)
    local file = io.open(path, "rb")
    if file then file:close() end
    return file ~= nil
end

local function has_library(name)
    return (pcall(ffi.load, name))
end

local function luajit_text(variant)
    local kind, rest = variant:match("^(%S+) ?(.*)$")
    if kind == "checkhook" then return jit.version .. ", built from " .. rest .. " with hook checks" end
    return jit.version .. ", packaged (" .. rest .. "): Ctrl-C cannot stop a compiled loop without array ops"
end

local function blas_text()
    for _, name in ipairs { "libopenblas.so.0", "libblas.so.3" } do
        if has_library(name) then return name end
    end
    return "none: install libopenblas0-pthread"
end

local function memory_text()
    local total = tonumber(grep("/proc/meminfo", "MemTotal:%s+(%d+)", "0"))
    local free = tonumber(grep("/proc/meminfo", "MemAvailable:%s+(%d+)", "0"))
    return string.format("%.1f GiB, %.1f GiB available", total / 2 ^ 20, free / 2 ^ 20)
end

local function cores_text()
    local here = grep("/proc/self/status", "Cpus_allowed_list:%s+(%S+)", "?")
    return string.format("%d; this process may use %s", tonumber(ffi.C.sysconf(84)), here)
end

local function dataset_text()
    local folder = "/usr/share/datasets/fashion-mnist/" -- where the Debian package puts it
    if exists(folder .. "train-images-idx3-ubyte.gz") then return folder end
    return "not installed (package dataset-fashion-mnist)"
end

--- The path of a program that the shell would find.
local function program(name)
    for folder in (os.getenv("PATH") or ""):gmatch("[^:]+") do
        if exists(folder .. "/" .. name) then return folder .. "/" .. name end
    end
end

--- np.plot draws with it.
local function gnuplot_text()
    local path = program "gnuplot"
    if not path then return "not installed (package gnuplot-nox)" end
    local pipe = io.popen("gnuplot --version 2>/dev/null")
    local version = pipe and pipe:read "*l"
    if pipe then pipe:close() end
    return (version or "gnuplot") .. "; " .. path
end

--- np.optimize.linprog and np.optimize.milp need it.
local function cbc_text()
    local has_both = has_library "libClp.so.1" and has_library "libCbcSolver.so.3"
    return has_both and "libCbcSolver.so.3 with libClp.so.1" or "none: install coinor-libcbc3"
end

--- np.optimize.minimize needs it for constraints.
local function nlopt_text()
    for _, file in ipairs { "libnlopt.so.0", "libnlopt.so.1" } do
        if has_library(file) then return file end
    end
    return "none: install libnlopt0"
end

--- Compressed columns (np.io.read_feather, np.io.read_parquet) need these.
local function codecs_text()
    local there, missing = {}, {}
    for _, pair in ipairs { { "libzstd.so.1", "libzstd1" }, { "liblz4.so.1", "liblz4-1" },
                            { "libsnappy.so.1", "libsnappy1v5" } } do
        if has_library(pair[1]) then there[#there + 1] = pair[1] else missing[#missing + 1] = pair[2] end
    end
    local text = #there > 0 and table.concat(there, ", ") or "none"
    return #missing > 0 and text .. ": install " .. table.concat(missing, ", ") or text
end

local function ffmpeg_text()
    return program "ffmpeg" or "not installed (package ffmpeg)"
end

--- What several processes need.
local function mpi_text(plugin)
    local mpirun = program "mpirun"
    local missing = "install neap-mpi, or libopenmpi-dev before building neap"
    if not plugin then return "none: " .. missing .. "; " .. (mpirun or "no mpirun: install openmpi-bin") end
    return plugin .. "; " .. (mpirun or "no mpirun: install openmpi-bin")
end

--- What makes machine code of kernels, as the core tells it, with the remedy where it is not there.
local function native_text(told)
    if not told:find "^no plugin" then return told end
    return "none: install neap-native, or llvm-19-dev before building neap; " .. told
end

--- Prints the report. `facts` holds what only the executable knows.
function doctor.report(facts)
    ffi.cdef "long sysconf(int name);"
    local rows = {
        { "neap", facts.version .. ", declarations " .. facts.abi },
        { "compiler", facts.compiler },
        { "LuaJIT", luajit_text(facts.luajit) },
        { "line editing", facts.editing },
        { "system", jit.os .. " " .. jit.arch },
        { "processor", grep("/proc/cpuinfo", "model name%s*:%s*([^\n]+)", "unknown") },
        { "instruction set", facts.isa },
        { "native code", native_text(facts.native) },
        { "cores", cores_text() },
        { "workers", facts.workers },
        { "memory", memory_text() },
        { "huge pages", grep("/sys/kernel/mm/transparent_hugepage/enabled", "%[(%w+)%]", "not available") },
        { "BLAS", blas_text() },
        { "convolutions", facts.convolutions },
        { "Fourier", facts.transforms },
        { "sparse systems", facts.sparse_systems },
        { "MPI", mpi_text(facts.mpi) },
        { "zlib", has_library("libz.so.1") and "libz.so.1" or "none: install zlib1g" },
        { "columns' codecs", codecs_text() },
        { "PNG images", facts.png },
        { "JPEG images", facts.jpeg },
        { "linear programs", cbc_text() },
        { "constraints", nlopt_text() },
        { "gnuplot", gnuplot_text() },
        { "ffmpeg", ffmpeg_text() },
        { "ZeroMQ", has_library("libzmq.so.5") and "libzmq.so.5, for neap kernel" or "none: install libzmq5" },
        { "GPUs", facts.gpus },
        { "code for GPUs", native_text(facts.gpu_code) },
        { "their libraries", facts.gpu_libraries or "none: there is no GPU" },
        { "Fashion-MNIST", dataset_text() },
    }
    for _, row in ipairs(rows) do io.write(string.format("%-16s %s\n", row[1], row[2])) end
end

return doctor
