--- refusals_test.lua (a release build only test: the sanitizers have an allocator of their own): programs for which the
-- system has no threads, or no memory at some moment. Each gives its right result, or an error and a status that is not
-- 0; none crashes, hangs, or ends without a word.
--
-- Threads are refused from the first, the second, … on. Of the requests for memory, one is refused, or twenty in a row,
-- or all from one on: here some of them, drawn at random, early ones more often, or late ones; with NEAP_TEST_LONG=1
-- each one (of LLVM's, which are many, each tenth). NEAP_TEST_SEED draws others, NEAP_TEST_REFUSALS of each program, or
-- of NEAP_TEST_PROGRAM.
local ffi = require "ffi"
local check = require "tests.lib.check"
local process = require "tests.lib.process"

local LIMIT, BURST, FOR_GOOD, SOON = 200, 20, 2 ^ 40, 0.5
local long = (tonumber(os.getenv("NEAP_TEST_LONG")) or 0) > 0
local wanted = tonumber(os.getenv("NEAP_TEST_REFUSALS")) or 3
local seed = tonumber(os.getenv("NEAP_TEST_SEED")) or 1
local only = os.getenv("NEAP_TEST_PROGRAM")
local injector = process.neap:gsub("[^/]*$", "") .. "tests/oom/plugin/neap_refuse.so"
local plugin = io.open(injector)
if not plugin then
    check.skip("programs that are refused things", injector .. " is not built; tools/test builds it")
    check.done()
end
plugin:close()
local programs = require "tests.lib.short_programs"

-- ---- Runs -----------------------------------------------------------------------------------------------------------

local count_path = process.file(("\0"):rep(16))

--- Runs a program under refusals; returns status, stdout, stderr, and how many requests and threads it asked for.
local function run(program, refusals)
    local file = assert(io.open(count_path, "r+b"))
    file:write(("\0"):rep(16))
    file:close()
    local words = { "env", "XDG_CACHE_HOME=/dev/null/none", "HOME=" .. programs.folder, "REFUSE_COUNT=" .. count_path,
                    "LD_PRELOAD=" .. injector }
    if program.library then words[#words + 1] = "REFUSE_IN=" .. program.library end
    for name, value in pairs(refusals) do words[#words + 1] = name .. "=" .. value end
    local limit = tostring(program.lives and SOON or LIMIT)
    for _, part in ipairs { { "timeout", "-k", "5", limit }, programs.words(program) } do
        for _, word in ipairs(part) do words[#words + 1] = word end
    end
    local status, out, err = process.run(words, program.input)
    local counts = ffi.cast("const int64_t *", ffi.cast("const char *", process.read(count_path)))
    return status, out, err, tonumber(counts[0]), tonumber(counts[1])
end

local function check_run(program, expected, refusals, what)
    local status, out, err = run(program, refusals)
    local problem = programs.fault(program, expected, status, out, err)
    if problem then
        error(("%s, %s: it %s (status %d)\nstdout: %s\nstderr: %s")
              :format(program.name, what, problem, status, out, err), 0)
    end
    return status, out, err
end

local function random()
    seed = (seed * 1103515245 + 12345) % 2 ^ 31
    return seed / 2 ^ 31
end

--- Which requests of so many are refused, `many` of them from there on.
local function places(n, many)
    local list = {}
    if long then
        for k = 1, n, n > 2000 and 10 or 1 do list[#list + 1] = k end
    else
        for k = 1, wanted do
            local at = math.ceil(k % 2 == 0 and random() * n or n ^ random())
            list[k] = many == FOR_GOOD and n + 1 - at or at
        end
    end
    return list
end

for _, program in ipairs(programs.list) do
    local status, expected, err, requests, threads = 0, "", "", 0, 0
    if not only or only == program.name then status, expected, err, requests, threads = run(program, {}) end
    if err:find "^kernel: " then
        check.skip("a kernel that is refused things", err)
    elseif requests > 0 then
        check.test(program.name .. " runs", function()
            check.equal(status, program.lives and 124 or 0)
            check.equal(err, "")
            assert((program.lives or #expected > 0) and requests > 20 and threads > 0)
        end)

        check.test(program.name .. " without threads", function()
            for most = 0, threads do
                local given, out = check_run(program, expected, { REFUSE_THREADS = most }, most .. " threads")
                if not program.lives then check.equal(given, 0) end -- threads of libraries are there or not
                check.equal(out, expected)
            end
        end)

        for _, many in ipairs { 1, BURST, FOR_GOOD } do
            local what = many == FOR_GOOD and "all requests from one on" or ("%d requests"):format(many)
            check.test(("%s, %s without memory"):format(program.name, what), function()
                for _, at in ipairs(places(requests, many)) do
                    check_run(program, expected, { REFUSE_AT = at, REFUSE_MANY = many },
                              ("request %d of %d, %s"):format(at, requests, what))
                end
            end)
        end
    end
end

programs.remove_all()
check.done()
