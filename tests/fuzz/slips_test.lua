--- slips_test.lua (release build only): slips in correct lines, and in examples of the reference (lines.lua): brackets,
-- quotes, commas and words that are left out or doubled, spellings of other languages, misspelt names, indices, shapes,
-- dtypes, drawn at random. Of each line that fails then there is an answer soon, which names the line and marks a place
-- in it, and nothing of the library's own, of C or its addresses; and of the kinds of slips that are frequent it says
-- what to write.
--
--     NEAP_SLIPS=KIND     only slips of this kind; each message is printed
local check = require "tests.lib.check"
local failing = require "tests.lib.failing"
local lexer = require "neap.core.lexer"
local seeds = require "tests.lib.seeds"
local lines = require "tests.fuzz.lines"

local LIMIT = 0.1  -- seconds of the processor's time for a message
local SHARE = 0.9  -- of the messages about slips of a frequent kind that tell a remedy
local EXAMPLES, SLIPS = 200, 4 -- examples of the reference that a seed draws, and slips in each
local ONLY = os.getenv "NEAP_SLIPS"

-- ---- Slips ----------------------------------------------------------------------------------------------------------

--- The tokens of a line, as texts, blanks among them.
local function tokens_of(line)
    local list, at = {}, 1
    while at <= #line do
        local to, kind = lexer.next(line, at)
        list[#list + 1] = { text = line:sub(at, to), kind = kind }
        at = to + 1
    end
    return list
end

--- The line with one token that fits replaced, one that is drawn; nil: none fits.
local function with_token(line, random, fits, replace)
    local list, places = tokens_of(line), {}
    for k, token in ipairs(list) do
        if fits(token, list, k) then places[#places + 1] = k end
    end
    if not places[1] then return nil end
    local k = places[random(#places)]
    list[k].text = replace(list[k].text, random)
    local texts = {}
    for index, token in ipairs(list) do texts[index] = token.text end
    return table.concat(texts)
end

--- A slip in a token of these texts, or of a kind.
local function of_token(texts, replace)
    local wanted = {}
    for text in texts:gmatch "%S+" do wanted[text] = true end
    return function(line, random)
        return with_token(line, random, function(token)
            return token.kind ~= "string" and (wanted[token.text] or wanted["<" .. token.kind .. ">"])
        end, replace)
    end
end

--- A slip in one of the places where a pattern fits, which is drawn.
local function of_pattern(pattern, replacement)
    return function(line, random)
        local count = select(2, line:gsub(pattern, "%0"))
        if count == 0 then return nil end
        local wanted, at = random(count), 0
        local changed = line:gsub(pattern, function(...)
            at = at + 1
            if at ~= wanted then return nil end
            local captures = { ... }
            return (replacement:gsub("%%(%d)", function(k) return captures[tonumber(k)] end))
        end)
        return changed
    end
end

local function dropped() return "" end
local function doubled(text) return text .. text end
local function misspelt(text, random)
    local at = random(#text - 1)
    local how = random(3)
    if how == 1 then return text:sub(1, at) .. text:sub(at + 2) end
    if how == 2 then return text:sub(1, at) .. text:sub(at, at) .. text:sub(at + 1) end
    return text:sub(1, at - 1) .. text:sub(at + 1, at + 1) .. text:sub(at, at) .. text:sub(at + 2)
end

--- A misspelt name of four letters or more behind this mark.
local function misspelt_behind(mark)
    return function(line, random)
        return with_token(line, random, function(token, list, k)
            return token.kind == "name" and #token.text >= 4 and k > 1 and list[k - 1].text == mark
        end, misspelt)
    end
end

local function quote_slip(replace)
    return function(line, random)
        return with_token(line, random, function(token) return token.text:find "^[\"']" end, replace)
    end
end

-- By name: f(line, random), the line with a slip, or nil. frequent: the messages tell a remedy.
local KINDS = {
    { "a bracket left out", of_token("( ) [ ] { }", dropped), frequent = true },
    { "a bracket doubled", of_token("( ) [ ] { }", doubled) },
    { "a quote left out at the end", quote_slip(function(text) return text:sub(1, -2) end), frequent = true },
    { "a quote left out at the beginning", quote_slip(function(text) return text:sub(2) end) },
    { "a quote doubled", quote_slip(function(text) return text .. text:sub(-1) end), frequent = true },
    { "a comma left out", of_token(",", dropped), frequent = true },
    { "a comma doubled", of_token(",", doubled) },
    { "an end left out", of_token("end", dropped), frequent = true },
    { "an end doubled", of_token("end", function() return "end end" end), frequent = true },
    { "do or then left out", of_token("do then", dropped), frequent = true },
    { "one = for ==", of_token("==", function() return "=" end), frequent = true },
    { "== for =", of_token("=", function() return "==" end) },
    { ". for :", of_token(":", function() return "." end), frequent = true },
    { ": for .", of_token(".", function() return ":" end) },
    { "[] for {}", of_pattern("{([%w%., ]+)}", "[%1]"), frequent = true },
    { "(()) for {}", of_pattern("np%.(%w+){(%d+), (%d+)}", "np.%1((%2, %3))"), frequent = true },
    { "axis=0 without braces", of_pattern("{(axis=%d)}", "(%1)"), frequent = true },
    { "!= for ~=", of_token("~=", function() return "!=" end), frequent = true },
    { "&& for and", of_token("and", function() return "&&" end), frequent = true },
    { "|| for or", of_token("or", function() return "||" end), frequent = true },
    { "! for not", of_token("not", function() return "!" end), frequent = true },
    { "+ for ..", of_token("..", function() return "+" end), frequent = true },
    { "elif", of_token("elseif", function() return "elif" end), frequent = true },
    { "def", of_pattern("^local function (%w+)(%b())", "def %1%2:"), frequent = true },
    { "lambda", of_pattern("function%((%w+)%) return ([^,]-) end", "lambda %1: %2") },
    { "let and var", of_pattern("^local (%w+) =", "let %1 ="), frequent = true },
    { "+=", of_pattern("(%w+) = %1 %+ ([%w%.]+)", "%1 += %2"), frequent = true },
    { "# for --", of_pattern("$", " # a note"), frequent = true },
    { "a slice in brackets", of_pattern('(%w)"([%d:][%d:, ]*)"', "%1[%2]"), frequent = true },
    { "range", of_pattern("for (%w+) = ([%w-]+), ([%w#]+) do", "for %1 in range(%2, %3):"), frequent = true },
    { "a range of Julia's", of_pattern("for (%w+) = ([%w-]+), ([%w#]+) do", "for %1 in %2:%3"), frequent = true },
    { "print without parentheses", of_pattern("^print(%b())$", "print %1 %1") },
    { "len", of_pattern("#(%w+)", "len(%1)"), frequent = true },
    { "parentheses for brackets", of_pattern("(%w)%[(%d)%]", "%1(%2)"), frequent = true },
    { ".*", of_pattern(" %* ", " .* "), frequent = true },
    { "x'", of_pattern("(%w)%.T", "%1'"), frequent = true },
    { "**", of_pattern(" ^ ", " ** "), frequent = true },
    { "a function of np misspelt", misspelt_behind ".", frequent = true },
    { "a method misspelt", misspelt_behind ":", frequent = true },
    { "an option misspelt", of_pattern("{(%w)(%w+)(%w)=", "{%1%2%3%3="), frequent = true },
    { "a variable misspelt", function(line, random)
        return with_token(line, random, function(token, list, k)
            return token.kind == "name" and #token.text >= 4 and not (k > 1 and list[k - 1].text:find "^[%.:]$")
        end, misspelt)
    end },
    { "an index too large", of_pattern("([%w])%[(%d)%]", "%1[9%2]") },
    { "index 0 of a table", of_pattern("%f[%w]t%[1%]", "t[0] + 1") },
    { "another shape", of_pattern("(%d), (%d)}", "%1, %2, 7}") },
    { "another dtype", of_pattern('"[fi]%d%d"', '"real"'), frequent = true },
    { "a text for a number", of_pattern("([^%w\"%.:%%])(%d)%f[^%w%.:]", '%1"%2"') },
    { "nothing for a variable", of_pattern("%((%w+)%)", "(nothing)") },
    { "a word too many", of_pattern("%) ", ") word ") },
    { "import", of_pattern("^", "import numpy as np; "), frequent = true },
    { "a comprehension", of_pattern("{([%w, ]+)}", "[v for v in range(3)]"), frequent = true },
    { "an f-string", of_pattern('([^%w])"(%w+)', '%1f"%2') },
    { "shape[0]", of_pattern("%.shape%[1%]", ".shape[0]"), frequent = true },
    { "is", of_token("==", function() return "is" end), frequent = true },
    { "length", of_pattern("#(%w+)", "%1.length()"), frequent = true },
    { "np:", of_pattern("np%.(%w+)([%({])", "np:%1%2"), frequent = true },
    { "append", of_pattern("t%[#t %+ 1%] = (%w+)", "t.append(%1)"), frequent = true },
    { "a colon behind a key", of_pattern("{(%w+)=([%w\"]+)}", "{%1: %2}"), frequent = true },
    { "a key in quotes", of_pattern("{(%w+) = ([%w%.]+)", '{"%1": %2'), frequent = true },
    { "++", of_pattern("(%w+) = %1 %+ 1", "%1++"), frequent = true },
    { "int", of_pattern("^local (%w+) =", "int %1 ="), frequent = true },
    { "index -1 of a table", of_pattern("([%( ])t%[1%]", "%1t[-1] + 1"), frequent = true },
    { "else if", of_token("elseif", function() return "else if" end), frequent = true },
    { "=>", of_pattern("function%((%w+)%) return ([^,]-) end", "%1 => %2"), frequent = true },
    { "a body in braces", of_pattern("function%((%w+)%) (.-) end", "function(%1) { %2 }"), frequent = true },
    { "// for --", of_pattern("$", " // a note"), frequent = true },
    { ":= for =", of_pattern("^local (%w+) =", "%1 :="), frequent = true },
    { "<- for =", of_pattern("^local (%w+) =", "%1 <-"), frequent = true },
    { "-> for .", of_pattern("(%f[%w]%w+%.%w+)%.(%w+)", "%1->%2"), frequent = true },
    { "a call without parentheses", of_pattern("= (np%.%w+)%((%d+)%)", "= %1 %2"), frequent = true },
    { "a function by =", of_pattern("^local function (%w+)(%b()) return (.-) end", "function %1%2 = %3"),
      frequent = true },
    { "an option without braces", of_pattern("{(%w+=[%w\"]+)}", "%1"), frequent = true },
}

-- ---- What is asked --------------------------------------------------------------------------------------------------

--- Whether a message says more than that something is wrong: what to write, what there is, or what is missing.
local function tells_remedy(message)
    return message:find("; ", 1, true) or message:find("did you mean", 1, true) or message:find(" must be ", 1, true)
        or message:find("(options: ", 1, true) or message:find("(to close ", 1, true)
        or message:find(": elements count", 1, true) or message:find("call it as", 1, true)
        or message:find("methods take a colon", 1, true) or message:find("stand behind a dot", 1, true)
end

--- What is wrong with an answer; nil: nothing.
local function problem_of(message, line, seconds)
    if seconds > LIMIT then return ("it took %.3f s"):format(seconds) end
    if message:find "neap/" or message:find "%.lua:" then return "it names a file of the library's" end
    if message:find "0x%x%x%x%x" or message:find "cdata" or message:find "NEAP_" then return "it speaks of C" end
    local variable = message:match "local '([%w_]+)'" or message:match "upvalue '([%w_]+)'"
    if variable and variable ~= "?" and not line:find(variable, 1, true) and not lines.setup:find(variable, 1,
      true) then
        return ("it names a variable of the library's, %s"):format(variable)
    end
    local number, column, shown = failing.place(message)
    local in_setup = number == 1 and (message:find("local 'v'", 1, true) or line:find '%f[%w_]f"') -- in f
    local is_told = number == 2 or in_setup or message:find("line 2", 1, true)
    if not is_told and not (number == 3 and message:find("near '", 1, true)) then return "it names another line" end
    if column and column > #shown + 1 then return "the mark stands behind the line" end
end

--- Runs a line with a slip. Returns the message, nil: it runs.
local function try(kind, line)
    local text = lines.setup .. "\n" .. line .. "\nlocal after = 2"
    local message, _, seconds = failing.run(text)
    if not message then return nil end
    local problem = problem_of(message, line, seconds)
    if problem then error(("%s: %s\n%s\n%s"):format(kind, problem, line, message), 0) end
    return message
end

check.test("each line is correct", function()
    for _, line in ipairs(lines.list) do
        check.equal(failing.run(lines.setup .. "\n" .. line) or false, false, line)
    end
end)

for _, kind in ipairs(KINDS) do
    local name, slip = kind[1], kind[2]
    if not ONLY or name == ONLY then
        check.test(name, function()
            local asked, told, silent = 0, 0, {}
            for seed in seeds.each(1, 1, #KINDS + 1) do
                local random = seeds.generator(seed)
                for _, line in ipairs(lines.list) do
                    local changed = slip(line, random)
                    local message = changed and changed ~= line and try(name, changed)
                    if message then
                        asked = asked + 1
                        if tells_remedy(message) then told = told + 1 else silent[#silent + 1] = changed .. "\n    "
                          .. message end
                        if ONLY then print(changed, message) end
                    end
                end
            end
            check.ok(asked > 0, "no line has failed")
            local enough = not kind.frequent or told >= SHARE * asked
            check.ok(enough, ("%d of %d messages tell no remedy:\n%s"):format(asked - told, asked,
                                                                             table.concat(silent, "\n")))
        end)
    end
end

-- ---- Examples of the reference -------------------------------------------------------------------------------------

--- A line with a slip of a kind that is drawn; nil where none of some fits.
local function drawn_slip(line, random)
    for _ = 1, 8 do
        local kind = KINDS[random(#KINDS)]
        local changed = kind[2](line, random)
        if changed and changed ~= line then return kind[1], changed end
    end
end

if not ONLY then
    check.test("slips in examples of the reference", function()
        local list, asked = lines.of_pages(), 0
        check.ok(#list > 200, ("%d examples were found"):format(#list))
        for seed in seeds.each(1, 1, #KINDS + 1) do
            local random = seeds.generator(seed)
            for _ = 1, EXAMPLES do
                local line = list[random(#list)]
                if failing.run(lines.setup .. "\n" .. line .. "\nlocal after = 2") == nil then
                    for _ = 1, SLIPS do
                        local kind, changed = drawn_slip(line, random)
                        if changed and try(kind, changed) then asked = asked + 1 end
                    end
                end
            end
        end
        check.ok(asked > EXAMPLES, ("%d slips of examples were answered"):format(asked))
    end)
end

check.done()
