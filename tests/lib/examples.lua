--- examples.lua: runs the examples of help: the lines behind `--- >` in annotations, `.example` of op rows.
--
-- Each example is a script of its own: its lines share their globals, which nobody else sees. Of an expression each
-- value is printed, on a line of its own; a statement prints what it prints. An error is printed as "error: " and its
-- text without the place. All of them run in one process, in a folder of their own, which is removed.
local process = require "tests.lib.process"
local examples = {}

local MARK = "\1example"

-- What runs in the child: examples as { { code, … }, … }; between them and between their lines a mark.
local CHILD = [[
local list = %s
local function show(ok, ...)
    if not ok then print("error: " .. tostring((...)):gsub("^%%S+:%%d+: ", ""):match "^[^\n]*") return end
    for k = 1, select("#", ...) do
        local value = select(k, ...)
        if type(value) == "table" and not (getmetatable(value) or {}).__tostring then
            print("error: an example shows a table: print its parts")
        else
            print(value)
        end
    end
end
for _, lines in ipairs(list) do
    local environment = setmetatable({}, { __index = getfenv(1) })
    for _, code in ipairs(lines) do
        np.effects_barrier()
        print "\1example"
        local chunk = loadstring("return " .. code, "=example") or assert(loadstring(code, "=example"))
        show(pcall(setfenv(chunk, environment)))
        np.effects_barrier()
    end
end
print "\1example"
if finish then finish() end
]]

local function quoted(list)
    local parts = {}
    for k, value in ipairs(list) do
        parts[k] = type(value) == "table" and quoted(value) or ("%q"):format(value)
    end
    return "{" .. table.concat(parts, ",") .. "}"
end

--- Runs the examples of entries (of neap.help_gen) in one process; `around` is Lua text that runs
-- first, and may define a global `finish`, which is called at the end. `how`: { program = what runs the script instead
-- of neap, rewrite = what all code goes through }. Returns for each
-- entry a list of what its lines print, each a list of lines; the status of the process and what it writes on stderr.
function examples.run(entries, around, how)
    local rewrite = how and how.rewrite or function(code) return code end
    local list = {}
    for k, entry in ipairs(entries) do
        list[k] = {}
        for j, step in ipairs(entry.example) do list[k][j] = rewrite(step.code) end
    end
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder) == 0)
    local file = assert(io.open(folder .. "/examples.lua", "wb"))
    file:write(rewrite((around or "") .. "\n" .. CHILD:format(quoted(list))))
    file:close()
    local program = how and how.program or process.neap:find "^/" and process.neap
        or io.popen "pwd":read "*l" .. "/" .. process.neap
    local status, out, err = process.run { "sh", "-c", ("cd %s && exec %s examples.lua"):format(folder, program) }
    os.execute("rm -r " .. folder)
    local results, k, j, now = {}, 1, 0, nil
    for line in out:gmatch "([^\n]*)\n" do
        if line == MARK then
            j = j + 1
            while list[k] and not list[k][j] do k, j = k + 1, 1 end
            now = nil
            if list[k] then
                results[k] = results[k] or {}
                now = {}
                results[k][j] = now
            end
        elseif now then
            now[#now + 1] = line
        end
    end
    return results, status, err
end

local FAILS = { ["np.debug.fail"] = true } -- whose example shows an error

--- The package that an error of an example says is missing; nil for all else.
local function lacking(text)
    return text:match "^error: .*not installed %(package (%S+)%)$"
end

--- { name, package } of each entry whose example needs a package that is not installed: nothing is known of it.
function examples.without_package(entries, results)
    local list = {}
    for k, entry in ipairs(entries) do
        for j = 1, #entry.example do
            local package = lacking(table.concat(results[k] and results[k][j] or {}, "\n"))
            if package then
                list[#list + 1] = { name = entry.names[1], package = package }
                break
            end
        end
    end
    return list
end

--- The problems of entries whose examples print something else than they show, or end with an error.
function examples.problems(entries, results)
    local problems, unknown = {}, {}
    for _, item in ipairs(examples.without_package(entries, results)) do unknown[item.name] = true end
    for k, entry in ipairs(entries) do
        for j, step in ipairs(entry.example) do
            local got = results[k] and results[k][j]
            local text = got and table.concat(got, "\n") or "nothing: it did not run"
            local fails = text:find "^error: " and not FAILS[entry.names[1]]
            if not unknown[entry.names[1]] and (not got or fails or text ~= table.concat(step.output, "\n")) then
                problems[#problems + 1] = ("%s:%d: %s: > %s\n    shows\n%s\n    and prints\n%s"):format(
                    entry.file, entry.line, entry.names[1], step.code, table.concat(step.output, "\n"), text)
            end
        end
    end
    return problems
end

return examples
