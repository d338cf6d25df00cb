-- environment_test.lua: os.getenv and children beside a thread that sets variables, as MPI's does where it starts.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local plugin = process.neap:gsub("[^/]*$", "") .. "tests/interp/plugin/neap_environment.so"

local BESIDE = [[
    local ffi = require "ffi"
    ffi.cdef "int environment_start(void); int environment_set(void);"
    local plugin = ffi.load(%q)
    assert(plugin.environment_start() == 1)
    local children = 0
    while plugin.environment_set() < 4000 do
        local child = assert(io.popen "echo here")
        assert(child:read "*l" == "here")
        child:close()
        assert(not os.getenv "NEAP_PROBE_NONE" and os.getenv "PATH")
        children = children + 1
    end
    local shell = io.popen "echo $NEAP_PROBE_0, $NEAP_PROBE_3999, $NEAP_PROBE_KNOWN; env | grep -c ^NEAP_PROBE_"
    print(children > 10, os.getenv "NEAP_PROBE_3999", shell:read "*a")
]]

check.test("a thread that sets variables breaks no child", function()
    check.equal({ process.run_neap { "-e", BESIDE:format(plugin) } },
        { 0, "true\ta value\ta value, a value, 3999\n4001\n\n", "" })
end)

check.test("setenv as C has it", function()
    check.equal(process.output [[
        local ffi = require "ffi"
        ffi.cdef "int setenv(const char *, const char *, int); int unsetenv(const char *); int putenv(char *);"
        local C = ffi.C
        print(C.setenv("A_NAME", "one", 0), C.setenv("A_NAME", "two", 0), os.getenv "A_NAME")
        print(C.setenv("A_NAME", "two", 1), C.setenv("A_NAM", "other", 1), os.getenv "A_NAME", os.getenv "A_NAM")
        print(C.setenv("", "x", 1), ffi.errno(), C.setenv("A=B", "x", 1), C.setenv("EMPTY", "", 1), os.getenv "EMPTY")
        print(C.unsetenv "A_NAME", os.getenv "A_NAME", C.setenv("A_NAME", "three", 0), os.getenv "A_NAME")
        local entry = ffi.new("char[?]", 16, "A_NAME=four")
        print(C.putenv(entry), os.getenv "A_NAME", C.putenv(ffi.new("char[?]", 16, "A_NAME")), os.getenv "A_NAME")
    ]], "0\t0\tone\n0\t0\ttwo\tother\n-1\t22\t-1\t0\t\n0\tnil\t0\tthree\n0\tfour\t0\tnil\n")
end)

check.done()
