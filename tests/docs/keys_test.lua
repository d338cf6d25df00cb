--- keys_test.lua (release build only): no function loses a key of a table. In each example of help a key that nobody
-- knows is put into each table, in turn: be it a list, which is read by position, or a table of options, it must be
-- refused by its name. What the script may name as it likes (trees, columns, definitions) is listed here.
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local help = require "neap.help_gen"

-- Patterns of the text in front of the key, where any key is welcome.
local FREE = {
    "np%.tree%.", "^t = {$", "^w = {$", "params = {$", "opt:update%({$", "avg:update%({", "avg:init{$", -- trees
    "lora:init%(.*{$", "lora:merge%(.*{$", "quantize_weights%({$",
    "np%.data%.batches%({$", "global_norm%({$", "np%.pprint%(", "^print%({$", "np%.io%.save_",
    "np%.nn%.Dropout%(0%.5%)%({$",
    "np%.nn%.Block{$", "^lines = {$", "live:update%(k, {$", "np%.display%({$", "return np%.round%(x%), {$",
    "np%.table{$", "%.rename{$", "%.assign{$", "np%.io%.savez", "^word = {",
    "np%.io%.to_json%(", "np%.io%.from_json%(", "pcall%(",
    "np%.vjp%(.*, {$", "np%.linearize%(.*, {$", -- a last table may be an argument of the function
}

local function is_free(front)
    for _, pattern in ipairs(FREE) do
        if front:find(pattern) then return true end
    end
    return false
end

--- The places behind the opening braces of a line of Lua, outside of its strings.
local function braces(code)
    local places, k = {}, 1
    while k <= #code do
        local c = code:sub(k, k)
        if c == '"' then
            k = code:find('"', k + 1, true) or #code
        elseif c == "{" then
            places[#places + 1] = k
        end
        k = k + 1
    end
    return places
end

-- Runs in the child: each case is the lines in front of an example, and the changed line.
local CHILD = [[
local function run(environment, code)
    local chunk = loadstring("return " .. code, "=example") or assert(loadstring(code, "=example"))
    return pcall(setfenv(chunk, environment))
end
local cases = dofile "cases.lua"
local out = io.open("out.txt", "wb")
for _, case in ipairs(cases) do
    local environment = setmetatable({}, { __index = _G })
    for k = 1, #case - 1 do run(environment, case[k]) end
    local ok, problem = run(environment, case[#case])
    out:write(ok and "silent" or tostring(problem):find("banana", 1, true) and "told" or
              "other: " .. tostring(problem):match "^[^\n]*", "\n")
end
out:close()
]]

local cases, written = {}, {}
for _, entry in ipairs(help.entries) do
    for j, step in ipairs(entry.example) do
        for _, at in ipairs(braces(step.code)) do
            local front, rest = step.code:sub(1, at), step.code:sub(at + 1)
            if not is_free(front) then
                local case, shown = {}, {}
                for k = 1, j - 1 do case[k] = entry.example[k].code end
                case[j] = front .. (rest:find "^%s*}" and "banana=1" or "banana=1, ") .. rest
                for k = 1, j do shown[k] = ("%q"):format(case[k]) end
                cases[#cases + 1] = ("%s:%d: %s: > %s"):format(entry.file, entry.line, entry.names[1], case[j])
                written[#cases] = "{" .. table.concat(shown, ", ") .. "}"
            end
        end
    end
end

check.test(("%d tables of examples"):format(#cases), function()
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder) == 0)
    process.write(folder .. "/cases.lua", "return {\n" .. table.concat(written, ",\n") .. "}\n")
    process.write(folder .. "/keys.lua", CHILD)
    local neap = process.neap:find "^/" and process.neap or io.popen "pwd":read "*l" .. "/" .. process.neap
    process.run { "sh", "-c", ("cd %s && exec %s keys.lua"):format(folder, neap) }
    local problems, k = {}, 0
    for line in io.lines(folder .. "/out.txt") do
        k = k + 1
        if line ~= "told" then problems[#problems + 1] = cases[k] .. "\n      " .. line end
    end
    os.execute("rm -r " .. folder)
    check.equal(k, #cases, "how many ran")
    check.ok(#problems == 0, "\n  " .. table.concat(problems, "\n  "))
end)
check.done()
