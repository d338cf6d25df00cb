--- kernel_command.lua: `neap kernel install`, which tells Jupyter of neap, and `neap kernel run FILE`, which Jupyter
-- calls.
local ffi = require "ffi"
local channels = require "neap.interp.channels"
local json = require "neap.files.json"

local command = {}

local USAGE = [[
usage: neap kernel install [--user | --prefix DIR] [--name NAME] [--display-name TEXT]
                           [--devices N]
       neap kernel run CONNECTION_FILE

install writes a kernelspec, so that Jupyter offers neap:
  --user               for this user (the default): in $JUPYTER_DATA_DIR/kernels, else ~/.local/share/jupyter/kernels
  --prefix DIR         in DIR/share/jupyter/kernels: of a virtual environment, or /usr/local
  --name NAME          the folder of the kernelspec, by which programs call it (default: neap)
  --display-name TEXT  what people see (default: neap)
  --devices N          the kernel computes on N CPU devices, as with neap --devices N (default: 1)
run is what Jupyter calls.
]]

-- A grid of numbers, one of which is selected.
local LOGO = [[
<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64" viewBox="0 0 64 64">
<rect width="64" height="64" rx="10" fill="#1f2a44"/>
<g fill="#8fb8de"><rect x="11" y="11" width="12" height="12"/><rect x="26" y="11" width="12" height="12"/>
<rect x="41" y="11" width="12" height="12"/><rect x="11" y="26" width="12" height="12"/>
<rect x="41" y="26" width="12" height="12"/><rect x="11" y="41" width="12" height="12"/>
<rect x="26" y="41" width="12" height="12"/><rect x="41" y="41" width="12" height="12"/></g>
<rect x="26" y="26" width="12" height="12" fill="#f2a541"/></svg>
]]

ffi.cdef [[
ssize_t readlink(const char *path, char *text, size_t bytes);
int mkdir(const char *path, unsigned mode);
]]

local function fail(format, ...)
    error("kernel: " .. format:format(...), 0)
end

-- ---- install --------------------------------------------------------------------------------------------------------

--- The path of this executable.
local function executable()
    local text = ffi.new "char[4096]"
    local bytes = tonumber(ffi.C.readlink("/proc/self/exe", text, 4096))
    if bytes <= 0 or bytes >= 4096 then fail "the path of the executable is not known" end
    return ffi.string(text, bytes)
end

local function make_folders(path)
    for stop in path:gmatch "()/" do
        if stop > 1 then ffi.C.mkdir(path:sub(1, stop - 1), 493) end -- 0755; a failure shows when a file is written
    end
    ffi.C.mkdir(path, 493)
end

local function write_file(path, text)
    local file, problem = io.open(path, "wb")
    if not file then fail("cannot write %s", problem) end
    local good, why = file:write(text)
    local closed, later = file:close()
    if not good or not closed then fail("cannot write %s: %s", path, why or later) end
end

--- The folder in which Jupyter looks for kernelspecs.
local function kernels_folder(prefix)
    if prefix then return prefix .. "/share/jupyter/kernels" end
    local data, home = os.getenv "JUPYTER_DATA_DIR", os.getenv "HOME"
    if data and data ~= "" then return data .. "/kernels" end
    if not home or home == "" then fail "there is no HOME; say where with --prefix" end
    return home .. "/.local/share/jupyter/kernels"
end

local function read_options(words)
    local values = { ["--name"] = "neap", ["--display-name"] = "neap", ["--devices"] = "1" }
    local k = 1
    while k <= #words do
        local name, value = words[k]:match "^(%-%-[%a-]+)=(.*)$"
        name = name or words[k]
        if name ~= "--user" then
            if name ~= "--prefix" and values[name] == nil then fail("unknown option '%s'\n\n%s", name, USAGE) end
            if not value then k, value = k + 1, words[k + 1] end
            if not value or value == "" then fail("%s wants a value", name) end
        end
        values[name] = value or true
        k = k + 1
    end
    if values["--user"] and values["--prefix"] then fail "--user and --prefix exclude each other" end
    if not values["--name"]:find "^[%w._-]+$" then
        fail("--name wants letters, digits, '.', '_' and '-', not '%s'", values["--name"])
    end
    if not values["--devices"]:find "^[1-9]%d*$" then
        fail("--devices wants a number from 1, not '%s'", values["--devices"])
    end
    return values
end

local function install(words)
    local options = read_options(words)
    local folder = kernels_folder(options["--prefix"]) .. "/" .. options["--name"]
    make_folders(folder)
    write_file(folder .. "/kernel.json", json.write {
        argv = { executable(), "--devices", options["--devices"], "kernel", "run", "{connection_file}" },
        display_name = options["--display-name"],
        language = "lua",
        interrupt_mode = "signal",
        metadata = { debugger = true }, -- front ends offer their debugger where the kernelspec says so
    } .. "\n")
    write_file(folder .. "/logo-svg.svg", LOGO)
    print("installed the kernelspec " .. folder)
    local problem = channels.check()
    if problem then print("but it cannot run yet: " .. problem) end
end

-- ---- run ------------------------------------------------------------------------------------------------------------

--- The file with which Jupyter tells where the channels are.
local function read_connection(path)
    local file, problem = io.open(path, "rb")
    if not file then fail("cannot read %s", problem) end
    local text = file:read "*a"
    file:close()
    local ok, connection = pcall(json.read, text or "")
    if not ok or type(connection) ~= "table" then fail("%s is no connection file: %s", path, tostring(connection)) end
    local scheme = connection.signature_scheme
    if connection.key ~= "" and scheme ~= nil and scheme ~= "hmac-sha256" then
        fail("%s: messages signed by '%s' are not known, only hmac-sha256", path, tostring(scheme))
    end
    if type(connection.key) ~= "string" then fail("%s: key must be a text", path) end
    local endpoints, separator = {}, connection.transport == "ipc" and "-" or ":"
    for k, name in ipairs { "shell", "control", "stdin", "iopub", "hb" } do
        local port = connection[name .. "_port"]
        if type(port) ~= "number" then fail("%s: %s_port must be a number", path, name) end
        endpoints[k] = ("%s://%s%s%d"):format(tostring(connection.transport or "tcp"),
                                             tostring(connection.ip or "127.0.0.1"), separator, port)
    end
    return endpoints, connection.key
end

local function run(words)
    if #words ~= 1 then fail("run wants the name of a connection file\n\n%s", USAGE) end
    local endpoints, key = read_connection(words[1])
    require("neap.interp.kernel_loop").run(endpoints, key)
end

--- Does what the words behind "neap kernel" say.
function command.run(name, ...)
    if name == nil or name == "--help" or name == "-h" then return io.write(USAGE) end
    if name == "install" then return install { ... } end
    if name == "run" then return run { ... } end
    fail("'%s' is none of install and run\n\n%s", name, USAGE)
end

return command
