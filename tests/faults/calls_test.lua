--- calls_test.lua (release build only): short programs of which the system refuses a call: to open, read, write or
-- rename a file, to map memory, to make a thread, a pipe or a socket … Each gives its right result, or an error and a
-- status that is not 0; none crashes, hangs, ends without a word, or leaves half a file.
--
-- Of the calls of a kind one is refused, or all from one on (but of poll: where that never works nobody can wait). Here
-- some of them, drawn at random (seeded); with NEAP_TEST_LONG each one, up to MOST of a kind. NEAP_TEST_SEED draws
-- others, NEAP_TEST_PROGRAM and NEAP_TEST_CALL are one program, and one kind of calls.
local np = require "neap"
local check = require "tests.lib.check"
local programs = require "tests.lib.short_programs"
local seeds = require "tests.lib.seeds"
local supervised = require "tests.lib.supervised"

local missing = supervised.missing()
if missing then
    check.skip("calls that the system refuses", missing)
    check.done()
end

local LIMIT, SOON, MOST, ALL = 60, 1, 120, 1000000 -- seconds; places of a kind; calls
local DRAWN = 4 -- of each program
local only_program, only_call = os.getenv "NEAP_TEST_PROGRAM", os.getenv "NEAP_TEST_CALL"

-- Kinds of calls, and the numbers of the errors with which they fail.
local ENOENT, EIO, EAGAIN, ENOMEM, EACCES, EMFILE, ENOSPC, ENOLCK, EADDRINUSE = 2, 5, 11, 12, 13, 24, 28, 37, 98
local KINDS = {
    { "open", EMFILE, EACCES }, { "read", EIO }, { "write", ENOSPC, EIO }, { "sync", EIO }, { "rename", EIO },
    { "unlink", EACCES }, { "mkdir", ENOSPC }, { "stat", EIO, ENOENT }, { "seek", EIO }, { "lock", ENOLCK, EIO },
    { "random", EAGAIN }, { "map", ENOMEM }, { "protect", ENOMEM }, { "thread", EAGAIN }, { "socket", EMFILE },
    { "bind", EADDRINUSE }, { "listen", EADDRINUSE }, { "pipe", EMFILE }, { "duplicate", EMFILE },
    { "control", EIO }, { "poll", ENOMEM },
}

local function how_many(kind)
    return kind == "poll" and { 1 } or { 1, ALL }
end

local random = seeds.generator(seeds.first)

--- Runs a program, of which the calls from the at-th on are refused, so many of them.
local function run(program, kind, at, many, code)
    return supervised.run({ refuse = ("%s:%d:%d:%d"):format(kind, at, many, code),
                            seconds = program.lives and SOON or LIMIT }, programs.words(program),
                          { XDG_CACHE_HOME = programs.folder .. "/cache", HOME = programs.folder }, program.input)
end

--- What is wrong with the arrays that lie in the folder; nil: nothing.
local function damage()
    local list = io.popen(("ls '%s'"):format(programs.folder))
    local found
    for name in list:lines() do
        local path = programs.folder .. "/" .. name
        if name:find "%.npy$" then
            local ok, x = pcall(np.io.load, path)
            if not (ok and np.array_equal(x, np.arange(5))) then found = ("leaves %s: %s"):format(name, tostring(x)) end
            os.remove(path)
        end
    end
    list:close()
    return found
end

local function check_run(program, expected, kind, at, many, code)
    local status, out, err, calls = run(program, kind, at, many, code)
    local problem = programs.fault(program, expected, status, out, err)
    local is_mute = kind == "write" and many > 1 and (program.lives or problem == "ends without a word")
    if is_mute then problem = nil end -- stderr is refused, too
    problem = problem or damage()
    if problem then
        error(("%s, %s, call %d, %s refused, error %d: it %s (status %d)\nstdout: %s\nstderr: %s")
              :format(program.name, kind, at, many == 1 and "is" or "and all behind it are", code, problem, status, out,
                      err), 0)
    end
    return calls
end

--- Each call of a kind, one by one, and each from one on.
local function check_all(program, expected, kind)
    for _, many in ipairs(how_many(kind[1])) do
        for error_at = 2, #kind do
            local at, calls = 0, math.huge
            while at < math.min(calls, MOST) do
                at = at + 1
                calls = check_run(program, expected, kind[1], at, many, kind[error_at])
                if calls < at then break end
            end
        end
    end
end

local function check_some(program, expected)
    for _ = 1, DRAWN do
        local kind = KINDS[random(#KINDS)]
        local at = random(2) == 1 and random(6) or random(60)
        local many = how_many(kind[1])
        check_run(program, expected, kind[1], at, many[random(#many)], kind[1 + random(#kind - 1)])
    end
end

for _, program in ipairs(programs.list) do
    local status, expected, err = 0, "", ""
    local wanted = not program.library and (not only_program or only_program == program.name)
    if wanted then status, expected, err = run(program, "open", ALL, 1, EIO) end
    if err:find "^kernel: " then
        check.skip("a kernel that is refused calls", err)
    elseif wanted and seeds.is_long then
        for _, kind in ipairs(KINDS) do
            if not only_call or only_call == kind[1] then
                check.test(("%s, %s"):format(program.name, kind[1]), function()
                    check_all(program, expected, kind)
                end)
            end
        end
    elseif wanted then
        check.test(program.name, function()
            check.equal({ status, err }, { program.lives and 124 or 0, "" })
            check_some(program, expected)
        end)
    end
end

damage()
programs.remove_all()
check.done()
