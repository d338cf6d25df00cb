--- help_test.lua (release build only): help is there for everything public, names the options that the code accepts and
-- no others, and its examples print what they show. tools/examples renews what they show.
--
-- Which options a function accepts is seen where it is called: core.options is told the name and the options. So an
-- example is also what calls each function that has options.
local check = require "tests.lib.check"
local examples = require "tests.lib.examples"
local core = require "neap.core"
local help = require "neap.help_gen"

-- What no example can show: it opens a prompt.
local WITHOUT_EXAMPLE = { ["np.breakpoint"] = true }

-- Prints, while the examples run, the names and options with which core.options is called.
local WATCH = [[
    require("jit").off()
    local core = require "neap.core"
    local getinfo, getlocal, seen = debug.getinfo, debug.getlocal, {}
    debug.sethook(function()
        if getinfo(2, "f").func ~= core.options then return end
        local _, name = getlocal(2, 1)
        local _, known = getlocal(2, 3)
        seen[#seen + 1] = "\2" .. name
        for option in next, known do seen[#seen + 1] = option end
    end, "c")
    function finish()
        debug.sethook()
        io.stderr:write((table.concat(seen, " "):gsub("\2", "\n\2")), "\n")
    end
]]

local problems

--- Notes a problem unless a condition holds: a test tells all of them.
local function want(condition, ...)
    if not condition then problems[#problems + 1] = string.format(...) end
end

local function test(name, f)
    check.test(name, function()
        problems = {}
        f()
        check.ok(#problems == 0, "\n  " .. table.concat(problems, "\n  "))
    end)
end

local by_name = {}
for _, entry in ipairs(help.entries) do
    for _, name in ipairs(entry.names) do by_name[name] = by_name[name] or entry end
end

--- What a function that looks for mistakes (interp/conditions.lua) stands for.
local function plain(f)
    while core.watched[f] do f = core.watched[f] end
    return f
end

--- All public names: of np, its parts, and the methods and fields of arrays that np does not have.
local function public_names()
    local names, late = {}, getmetatable(np).__late
    local function add(name) names[#names + 1] = name end
    local own = {}
    for name in next, np do own[name] = true end
    for _, table_of in ipairs(late) do
        for name in next, table_of do own[name] = true end
    end
    for name in pairs(own) do
        add("np." .. name)
        if type(np[name]) == "table" and name ~= "newaxis" and name ~= "ellipsis" then
            for inner in next, np[name] do
                if type(inner) == "string" and not inner:find "^__" then add("np." .. name .. "." .. inner) end
            end
        end
    end
    for _, table_of in ipairs { core.methods, core.fields } do
        for name in next, table_of do
            if plain(rawget(np, name)) ~= plain(table_of[name]) then add("x." .. name) end
        end
    end
    table.sort(names)
    return names
end

--- The entry of a method that is the same function as np's of that name.
local function same_method(name)
    local last = name:match "^np%.([%w_]+)$"
    return last and rawequal(plain(core.methods[last]), plain(rawget(np, last))) and by_name["x." .. last] or nil
end

local names = public_names()

test("everything public has help", function()
    check.ok(#names > 380, #names)
    for _, name in ipairs(names) do
        local entry = by_name[name] or same_method(name)
        want(entry and entry.text ~= "", name .. ": no annotation tells of it (tools/gen/lib/annotations.lua)")
    end
end)

test("everything that has help is there", function()
    for name in pairs(by_name) do
        local head, rest = name:match "^(%w+)%.(.*)$"
        if head == "np" then
            local value = np
            for key in rest:gmatch "[^%.]+" do value = value ~= nil and value[key] or nil end
            want(value ~= nil, name .. ": help is about what is not there")
        elseif head == "x" and not rest:find "^at%." and rest ~= "index" then
            want(core.methods[rest] or core.fields[rest], name .. ": help is about what is not there")
        end
    end
end)

test("each name stands in an example", function()
    for _, name in ipairs(names) do
        local entry = by_name[name]
        if entry and not entry.part and not WITHOUT_EXAMPLE[name] then
            local last, shown = name:match "[^%.]+$", false
            for _, step in ipairs(entry.example) do
                shown = shown or (step.code .. " "):find("%f[%w_]" .. last .. "%f[^%w_]") ~= nil
            end
            want(shown, name .. ": has no example (--- > CODE, or .example of its op row)")
        end
    end
end)

test("each option has a text", function()
    for _, entry in ipairs(help.entries) do
        for _, option in ipairs(entry.options) do
            want(option.text, ("%s: nothing says what '%s' is"):format(entry.names[1], option.name))
        end
    end
end)

local results, status, err = examples.run(help.entries, WATCH)
local accepted = {}
for name, list in err:gmatch "\2(%S+) ?([^\n]*)" do
    accepted["np." .. name] = accepted["np." .. name] or {}
    for option in list:gmatch "%S+" do accepted["np." .. name][option] = true end
end

check.test("examples print what they show", function()
    check.equal(status, 0, (err:gsub("\2[^\n]*\n", "")))
    local wrong = examples.problems(help.entries, results)
    check.ok(#wrong == 0, "\n  " .. table.concat(wrong, "\n  "))
end)
for _, item in ipairs(examples.without_package(help.entries, results)) do
    check.skip("the example of " .. item.name, "package " .. item.package .. " is not installed")
end

test("options are those that the code accepts", function()
    local count = 0
    for name, options in pairs(accepted) do
        local entry = by_name[name] or by_name[name:sub(4)] or by_name["x." .. name:sub(4):gsub(":", ".")]
        local said = {}
        for _, option in ipairs(entry and entry.options or {}) do said[option.name] = option.option end
        for option in pairs(options) do
            count = count + 1
            want(said[option], ("%s accepts the option '%s', of which help says nothing"):format(name, option))
        end
    end
    check.ok(count > 150, count)
    for _, entry in ipairs(help.entries) do
        for _, option in ipairs(entry.options) do
            local known = option.option and accepted[entry.names[1]]
            if option.option and entry.names[1]:find "^np%." and not WITHOUT_EXAMPLE[entry.names[1]] then
                local any = known and known[option.name]
                for _, name in ipairs(entry.names) do any = any or accepted[name] and accepted[name][option.name] end
                want(any, ("%s: help names the option '%s', which no call in its example accepts"):format(
                    entry.names[1], option.name))
            end
        end
    end
end)

test("definitions for editors have all functions, methods and fields", function()
    local file = assert(io.open((os.getenv "NEAP"):gsub("[^/]*$", "") .. "generated/definitions/neap.lua"))
    local text = file:read "*a"
    file:close()
    check.ok(loadstring(text))
    for _, name in ipairs(names) do
        local pattern = name:gsub("^x%.", "array."):gsub("%p", "%%%0")
        local method = pattern:gsub("^array%%.", "array:")
        want(text:find("\nfunction " .. method .. "%(") or text:find("\n" .. pattern .. " = "), "%s: not defined", name)
    end
    for name in next, core.methods do want(text:find("\nfunction array:" .. name .. "%("), "no method %s", name) end
    for name in text:gmatch "\nfunction array:([%w_]+)" do
        want(core.methods[name] or name == "at", "there is no method %s", name)
    end
end)

check.test("what is wrong is found", function()
    local wrong = { { names = { "wrong" }, file = "f", line = 1, example = {
        { code = "1 + 1", output = { "3" } }, { code = "error 'no'", output = { "error: no" } },
        { code = "{}", output = {} }, { code = "x = 2", output = {} },
        { code = "x, np.ones(2)", output = { "2", "[1. 1.]" } },
    } } }
    local found = examples.problems(wrong, (examples.run(wrong)))
    check.equal(#found, 3)
    check.ok(found[1]:find "prints\n2$", found[1])
    check.ok(found[2]:find "prints\nerror: no$", found[2])
    check.ok(found[3]:find "print its parts", found[3])
end)

check.done()
