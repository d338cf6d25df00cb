--- arguments_test.lua (release build only): a public function refuses an option that it does not know, by name, and one
-- argument more than its help names.
--
-- The examples of help run with all functions of np wrapped: the first call of each that an example makes is made twice
-- more, with one of these mistakes each, which has to be an error.
local check = require "tests.lib.check"
local examples = require "tests.lib.examples"
local process = require "tests.lib.process"
local help = require "neap.help_gen"

-- What cannot be tried so. Functions of any number of arguments, as "…" says in their signatures, are not asked.
local EXCEPTIONS = {
    ["np.breakpoint"] = "opens a prompt",
    ["np.memory"] = "a table that can be called",
    ["np.reshape"] = "takes the extents as a table or as any number of arguments",
}

-- One function makes all those of an entry in these files: one of them stands for the others.
local FAMILIES = { ["neap/stats/continuous.lua"] = true, ["neap/stats/discrete.lua"] = true,
                   ["neap/stats/fits.lua"] = true, ["neap/stats/vectors.lua"] = true }

-- By name: how many arguments it takes at most, and which of them are options.
local signatures, count = require "neap.arguments_gen", 0
for _ in pairs(signatures) do count = count + 1 end

local function literal(name, known)
    return ("[%q]={arity=%d,options=%s}"):format(name, known.arity, known.options or "false")
end

local list = {}
for name, known in pairs(signatures) do
    if not EXCEPTIONS[name] then list[#list + 1] = literal(name, known) end
end

local WRAP = "local signatures = {" .. table.concat(list, ",") .. "}\n" .. [[
    local busy, report, methods = false, {}, require "neap.core".methods
    local function try(name, what, pattern, f, arguments, n)
        local ok, problem = pcall(f, unpack(arguments, 1, n))
        report[#report + 1] = ("\2%s\t%s\t%s"):format(name, what, ok and "no error" or pattern
            and not tostring(problem):find(pattern, 1, true) and tostring(problem):gsub("\n.*", "") or "good")
    end
    local function copy(list, n)
        local result = {}
        for k = 1, n do result[k] = list[k] end
        return result
    end
    local function wrap(name, f, known)
        local seen
        return function(...)
            if busy or seen then return f(...) end
            seen, busy = true, true
            local given, n = { ... }, select("#", ...)
            if n <= known.arity then
                local more = copy(given, n)
                more[known.arity + 1] = "surplus"
                try(name, "argument", nil, f, more, known.arity + 1)
            end
            if known.options then
                local at = known.options
                local last = given[n]
                if n > 1 and type(last) == "table" and not getmetatable(last) and #last == 0 then at = n end
                local options, more = { no_such_option = 1 }, copy(given, n)
                for key, value in pairs(type(given[at]) == "table" and given[at] or {}) do options[key] = value end
                more[at] = options
                try(name, "option", "no_such_option", f, more, math.max(at, n))
            end
            busy = false
            return f(...)
        end
    end
    for name, known in pairs(signatures) do
        local holder, last = np, nil
        local path = {}
        for part in name:gmatch "[^%.]+" do path[#path + 1] = part end
        for k = 2, #path - 1 do holder = holder[path[k] ] end
        last = path[#path]
        local f = holder[last]
        if type(f) == "function" then
            local wrapped = wrap(name, f, known)
            rawset(holder, last, wrapped)
            if holder == np and methods[last] == f then methods[last] = wrapped end
        end
    end
    function finish()
        io.stderr:write("\n", table.concat(report, "\n"), "\n")
    end
]]

local _, status, err = examples.run(help.entries, WRAP)
local tried, problems = {}, {}
for name, what, outcome in err:gmatch "\2([^\t]+)\t([^\t]+)\t([^\n]*)" do
    tried[name] = true
    if outcome ~= "good" then problems[#problems + 1] = ("%s: %s: %s"):format(name, what, outcome) end
end

check.test("unknown options and further arguments are refused", function()
    check.equal(status, 0, err:sub(1, 2000))
    table.sort(problems)
    check.ok(#problems == 0, "\n  " .. table.concat(problems, "\n  "))
end)

check.test("nearly all functions are tried", function()
    local missing = {}
    for _, entry in ipairs(help.entries) do
        local one = false
        for _, name in ipairs(entry.names) do one = one or tried[name] end
        for _, name in ipairs(FAMILIES[entry.file] and entry.names or {}) do tried[name] = one end
    end
    for name in pairs(signatures) do
        if not tried[name] and not EXCEPTIONS[name] then missing[#missing + 1] = name end
    end
    table.sort(missing)
    check.ok(count > 300, count)
    for name in pairs(EXCEPTIONS) do check.ok(signatures[name] and not tried[name], name .. ": no exception") end
    check.ok(#missing == 0, #missing .. " are not: " .. table.concat(missing, " "))
end)

check.test("in whatever order parts of the library are loaded", function()
    local out = process.output [[
        require "neap.mesh.sharding"
        require "neap.tables"
        local x = np.ones(4)
        print(select(2, pcall(np.with_sharding_constraint, x, nil, nil, "surplus")))
        print(select(2, pcall(np.table, {}, {}, "surplus")))
    ]]
    check.equal(select(2, out:gsub("got also the string \"surplus\"", "")), 2, out)
end)

check.done()
