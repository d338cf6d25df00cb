--- foreign.lua: what Python, MATLAB, Julia, C or JavaScript would have understood: rules for lines that do not parse.
--
-- A rule is { what LuaJIT's message must hold ("" is anything), a pattern for the line, the hint, or what makes one of
-- the captures }. The pattern is for the line without its comment and with its strings emptied; raw: for the line as it
-- stands. A hint is a text with %s, or with %1, %2, …, of the captures. mistakes.lua takes the first rule that fits;
-- a function that returns nil does not fit. What a hint says to write must run: tests/interp/remedies_test.lua.
local core = require "neap.core"
local hints = require "neap.core.hints"
local aliases = require "neap.core.aliases"
local magics = require "neap.interp.magics"

local OPERATORS = { ["+"] = "add", ["*"] = "mul" } -- that a changed part of an array has

local KEYWORDS = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat return then true "
             .. "until while"):gmatch "%a+" do
    KEYWORDS[word] = true
end

local function trim(text) return text:match "^%s*(.-)[%s;]*$" end

-- ---- Makers of hints ------------------------------------------------------------------------------------------------

-- What an index may stand behind: a variable or a field, a call.
local INDEXED = { "([%a_][%w_%.]*)%s*(%b[])", "([%a_][%w_%.:]*%b())%s*(%b[])", "([%a_][%w_%.:]*%b{})%s*(%b[])" }

--- The text of an index in brackets, as an index in text form or in a table.
local function index_hint(code, separator)
    for _, pattern in ipairs(INDEXED) do
        for name, brackets in code:gmatch(pattern) do
            local inside = brackets:sub(2, -2)
            if inside:find(separator, 1, true) and not inside:find "[%[%]\"]" then
                inside = inside:gsub("%f[%w_]end%f[^%w_]", "") -- of MATLAB and Julia
                return name, trim(inside)
            end
        end
    end
    return "x", separator == ":" and "1:2" or "1, 2"
end

--- The value of a variable that a text at the prompt may mean, without running anything.
local function value_of(name)
    local prompt = package.loaded["neap.interp.repl"]
    if prompt then
        local is_local, value = prompt.main.scope:get(name)
        if is_local then return value end
    end
    return rawget(_G, name)
end

local function slice_hint(_, code)
    local name, inside = index_hint(code, ":")
    return hints.part_of_list(name, value_of(name), inside) or ('slices are text: %s"%s"'):format(name, inside)
end

--- Whether the text of an index has to stay a text, x"1:3", and what it is in the braces or quotes of x:at.
local function place_text(inside)
    inside = trim(inside)
    if inside:find ":" or inside:find("...", 1, true) then return ('"%s"'):format(inside) end
    return ("{%s}"):format(inside)
end

--- x[1:3] = 0, m[0, 1] = 5
local function changed_part(name, brackets, value)
    local inside = brackets:sub(2, -2)
    if inside:find "[%[%]{}%(%)\"']" or not (inside:find "[:,]" or inside:find("...", 1, true)) then return nil end
    return ("arrays never change; a changed copy is %s = %s:at%s:set(%s)"):format(name, name, place_text(inside), value)
end

--- for x in data: … of Python.
local function loop_hint(names, what)
    if what:find "^range%s*%(" or what:find "^%-?%d" then return nil end
    if what:find "^i?pairs%s*%b()$" then return ("Lua writes for %s in %s do … end"):format(names, what) end
    local head = "Lua writes for %s in %s(%s) do … end"
    local two = names:find(",", 1, true) and names
    local receiver, method = what:match "^([%w_%.]+)%.(%a+)%(%)$"
    if method == "items" then return head:format(names, "pairs", receiver) end
    if method == "keys" then return head:format(names, "pairs", receiver) end
    if method == "values" then return head:format("_, " .. names, "pairs", receiver) end
    local counted = what:match "^enumerate%((.-)%)$"
    if counted then return head:format(two or "k, " .. names, "ipairs", counted) end
    local a, b = what:match "^zip%(%s*([%w_%.]+)%s*,%s*([%w_%.]+)%s*%)$"
    if a then return ("Lua writes for k = 1, #%s do local %s = %s[k], %s[k] … end"):format(a, names, a, b) end
    if not what:find "^[%a_][%w_%.]*$" or two then return "Lua writes for k, v in ipairs(t) do … end" end
    return (head .. " for a list, for k = 0, #%s - 1 do local %s = %s[k] … end for an array"):format("_, " .. names,
        "ipairs", what, what, names, what)
end

--- for i in range(…): of numbers, names, and lengths of names.
local function range_hint(name, arguments)
    local list = {}
    local inside = ((arguments:match "^%b()" or "(?)"):sub(2, -2):gsub("%f[%w_]len%s*%(%s*([%w_%.]+)%s*%)", "#%1"))
    for argument in (inside .. ","):gmatch "%s*(.-)%s*," do
        if not argument:find "^[#%-]?[%w_%.]+$" then return ("Lua writes for %s = 0, n - 1 do … end"):format(name) end
        list[#list + 1] = argument
    end
    local first, bound, step = unpack(list[2] and list or { "0", list[1] })
    local change = step and step:find "^%-" and 1 or -1
    local last = tonumber(bound) and tostring(tonumber(bound) + change) or bound .. (change > 0 and " + 1" or " - 1")
    return ("Lua writes for %s = %s, %s%s do … end"):format(name, first, last, step and ", " .. step or "")
end

--- x:sum, x:T: what stands behind a colon is called, or is a field.
local function uncalled(receiver, name)
    if core.fields[name] then return ("a field stands behind a dot: %s.%s"):format(receiver, name) end
    return ("a method is called: %s:%s()"):format(receiver, name)
end

--- 1:5, x = 1:5, of MATLAB and Julia.
local function range_of(first, last)
    return ("np.arange(%s, %d) has the numbers from %s to %s"):format(first, last + 1, first, last)
end

--- {a: 1}, {"a b": 1}: a key and its value.
local function key_hint(key, value)
    local plain = key:find "^[%a_][%w_]*$" and not KEYWORDS[key]
    value = value:find "^[%[{(]" and "{…}" or value
    return ("a key is followed by =: {%s = %s}"):format(plain and key or ('["%s"]'):format(key), trim(value))
end

--- x => x * 2, |x| x * 2, @(x) x * 2: a function of an expression, which ends where a bracket closes that it opened.
local function function_hint(parameters, body)
    body = trim(body):gsub("%*%*", "^"):gsub("%.([%*/%^])", "%1")
    local depth = 0
    for at, bracket in body:gmatch "()([%(%)%[%]{},])" do
        if bracket:find "[%(%[{]" then
            depth = depth + 1
        elseif depth == 0 then
            body = body:sub(1, at - 1)
            break
        elseif bracket ~= "," then
            depth = depth - 1
        end
    end
    if body == "" or body:find "^{" then return ("Lua writes function(%s) … end"):format(parameters) end
    return ("Lua writes function(%s) return %s end"):format(parameters, body)
end

--- p->x: a field, as C has it. x->x is a function of Julia's.
local function field_hint(path, name)
    return path ~= name and ("a dot leads to a field: %s.%s"):format(path, name) or nil
end

--- m(1, :), m(1:3): an index of MATLAB's.
local function parentheses_hint(name, inside)
    if KEYWORDS[name] or inside:find "[%(%)%[%]{}\"']" then return nil end
    return ('indices stand in brackets and count from 0, slices are text: %s"%s"'):format(name, trim(inside))
end

local function module_hint(path)
    local name = path:match "^[%a_][%w_]*"
    return aliases.modules[name] or ('Lua writes local %s = require "%s"'):format(path:match "[%w_]+$", path)
end

--- x[0] += 1, of which x may be an array.
local function part_hint(x, at, operator, value)
    local place = place_text(at)
    local read = place:find '^"' and place or ("[%s]"):format(place)
    local how = OPERATORS[operator] and ("%s(%s)"):format(OPERATORS[operator], value)
        or ("set(%s%s %s %s)"):format(x, read, operator, value)
    return ("Lua has no '%s='; for an array %s = %s:at%s:%s"):format(operator, x, x, place, how)
end

--- m:sum(axis=0), x.sum(axis=0), print("a", end=""): an option among arguments.
local function option_hint(name, before, option, code)
    if name == "dict" then return ("a table has names too: {%s}"):format(trim(before .. option)) end
    local of_value = code:find("[%)%]}\"']%s*[:%.]%s*" .. name .. "%s*%(")
    if of_value and not name:find "[%.:]" then name = "…:" .. name end -- f(x):sum(axis=0)
    if name == "print" then
        if option:find "^end" then return 'io.write("a") writes without a line end' end
        return 'print takes no options: table.concat({"a", "b"}, ", ") joins texts'
    end
    if name == "function" then return nil end
    local receiver, method = name:match "^([%a_][%w_]*)%.([%a_][%w_]*)$"
    if receiver and receiver ~= "np" and core.methods[method] then name = receiver .. ":" .. method end
    local _, opened = option:gsub("%(", "")
    local _, closed = option:gsub("%)", "")
    option = option .. (")"):rep(opened - closed) -- of a value that is a call
    option = option:gsub("(=%s*)%(([^()]*,[^()]*)%)", "%1{%2}") -- figsize=(6, 3)
    before = trim(before)
    if before == "" then return ("options go in braces: %s{%s}"):format(name, option) end
    return ("options go in braces: %s(%s, {%s})"):format(name, before:gsub("%s*,$", ""), option)
end

-- Functions of np that take one list, or a shape.
local OF_LISTS = { array = true, asarray = true, zeros = true, ones = true, concatenate = true, stack = true,
                   vstack = true, hstack = true, column_stack = true }

--- [1 2; 3 4]: a matrix of numbers, as MATLAB and Julia have it; [x for x in t]; np.stack([x, y]).
local function list_hint(inside, code)
    if inside:find "%sfor%s+[%a_][%w_]*%s+in%s" then
        return "Lua has no comprehensions: t = {} for k = 1, n do t[k] = … end fills a table, and np.arange(n) * 2 is "
            .. "an array"
    end
    if inside:find "^[%s%d%.,;eE+%-]+$" and inside:find "[%d%.][%s;]+[%d%.%-]" and not inside:find "," then
        local rows = {}
        for row in inside:gmatch "[^;]+" do rows[#rows + 1] = trim(row):gsub("%s+", ", ") end
        if not rows[2] then return ("lists go in braces: np.array{%s}"):format(rows[1]) end
        return ("lists go in braces: np.array{{%s}}"):format(table.concat(rows, "}, {"))
    end
    for name, list in (code or ""):gmatch "%f[%w_]np%.([%w_]+)%(%[([%w_%s,%.%-]+)%]%)" do
        if OF_LISTS[name] and list == inside then
            return ("lists go in braces: np.%s{%s}"):format(name, trim(list))
        end
    end
    return "lists go in braces: {1, 2, 3}, and np.array{1, 2, 3} is an array"
end

--- np.ones 3, np.explain x: a call without parentheses.
local function call_hint(name, value)
    if KEYWORDS[name] or KEYWORDS[value] then return nil end
    return ("a call has parentheses: %s(%s)"):format(name, value)
end

--- np.sin x among other code, which is no `np.pi y = 2`.
local function inner_call_hint(name, value, behind)
    if behind:find "^%s*[%(%[{%.:=,\"']" and not behind:find "^%s*==" then return nil end
    return call_hint(name, value)
end

--- f 3, f x: the same of a variable that has a function.
local function variable_call_hint(name, value)
    return type(value_of(name)) == "function" and call_hint(name, value) or nil
end

--- 5:sqrt()
local function number_hint(number, method)
    local of_math = type(rawget(math, method)) == "function"
    if not of_math and not core.methods[method] then return nil end
    return ("a number has no methods: %s.%s(%s)"):format(of_math and "math" or "np", method, number)
end

--- function f(x) x * 2 end
local function unreturned(value)
    local is_value = value ~= "" and loadstring("return " .. value, "=neap/value") and not value:find "^%s*return"
    return is_value and ("a function gives its value by return: return %s"):format(value) or nil
end

-- What a name behind a colon means in other languages.
local TYPES = { int = true, float = true, str = true, string = true, bool = true, number = true, list = true,
                dict = true, boolean = true, double = true }

local NAME = "([%a_][%w_]*)"
local LOCAL = "Lua writes local %s = …"

-- ---- Rules ----------------------------------------------------------------------------------------------------------

return {
    -- The prompt's and IPython's commands.
    { "near '%'", "^%s*%%%s", "comments begin with -- in Lua" },
    { "near '%'", "^%s*%%+%s*([%a_][%w_]*)%s*(.-)%s*$", magics.hint, raw = true },
    { "'=' expected", "^%s*([%a_]+)%s+(.-)%s*$", magics.without_sign, raw = true },
    { "near '@'", "^%s*@([%a_]+)%s+(.-)%s*$", magics.without_sign, raw = true },
    { "near ':'", "^%s*:(%a+)", magics.colon },
    { "near '!'", "^%s*!%s*(%l.-)%s*$", magics.shell, raw = true },
    { "near '?'", "^%s*%?+%s*([%a_][%w_%.:]*)%s*$", magics.question },
    { "near '?'", "^%s*([%a_][%w_%.:]*)%?+%s*$", magics.question },
    { "near '?'", "%?%s*$", "?NAME, or NAME?, tells of a name, as ?np.sum" },
    { "'=' expected", "^%s*help%s+([%a_][%w_%.]*)%s*$", 'np.help "%s" tells of it' },
    -- Comments.
    { "near '#'", "^%s*#", "comments begin with -- in Lua" },
    { "near '#'", "%s#%s", "comments begin with -- in Lua" },
    { "near '/'", "^%s*//", "comments begin with -- in Lua" },
    { "near '/'", "%s//%s+%a+%s+%a", "comments begin with -- in Lua" },
    { "near '/'", "%f[%w_](%d[%w%.]*)%s+//%s+(%a[%w_]*)%s*$",
      "comments begin with -- in Lua, and math.floor(%1 / %2) is a quotient" },
    { "near '/'", "/%*", "comments begin with --, and those of several lines are --[[ … ]]" },
    -- Statements.
    { "", "^%s*def%s+([%a_][%w_%.]*)%s*(%b())", "Lua writes function %s%s … end" },
    { "", "^%s*import%s+([%a_][%w_%.]*)", module_hint },
    { "", "^%s*from%s+([%a_][%w_%.]*)%s+import", module_hint },
    { "'=' expected", "^%s*using%s+([%a_][%w_%.]*)", module_hint },
    { "'=' expected", "^%s*clear%s+([%a_][%w_]*)%s*;?%s*$", "%s = nil drops a variable" },
    { "'=' expected", "^%s*del%s+([%a_][%w_]*)%s*$", "%s = nil drops a variable" },
    { "'=' expected", "^%s*del%s+([%a_][%w_%.]*)%s*%[%s*(.-)%s*%]%s*$",
      "table.remove(%1, %2) takes an item out of a list, %1[%2] = nil drops a key", raw = true },
    { "'=' expected", "^%s*global%s", "a variable that is not local is global in Lua: leave the line out" },
    { "'=' expected", "^%s*nonlocal%s", "a function sees the variables around it: leave the line out" },
    { "'=' expected", "^%s*with%s+open%s*%(", "Lua writes local f = io.open(path) … f:close()" },
    { "'=' expected", "^%s*assert%s+(.-)%s*$", "assert is a function: assert(%s)", raw = true },
    { "'=' expected", "^%s*raise%f[%W]", "Lua writes error(message)" },
    { "'=' expected", "^%s*throw%f[%W]", "Lua writes error(message)" },
    { "'=' expected", "^%s*switch%f[%W]", "Lua has no switch: if … then … elseif … then … end" },
    { "'=' expected", "^%s*match%s", "Lua has no match: if … then … elseif … then … end" },
    { "'=' expected", "%f[%w_]pass%f[^%w_]", "an empty block needs nothing in it: leave pass out" },
    { "", "^%s*class%s+[%a_]", "Lua has no classes: tables with functions in them" },
    { "'=' expected", "^%s*struct%s+[%a_]", "Lua has no structs: tables with fields in them" },
    { "", "^%s*try%s*:", "Lua writes local ok, problem = pcall(f)" },
    { "'=' expected", "^%s*try%s+[%a_]", "Lua writes local ok, problem = pcall(f)" },
    { "", "^%s*try%s*{?%s*$", "Lua writes local ok, problem = pcall(f)" },
    { "", "^%s*catch%f[%W]", "Lua writes local ok, problem = pcall(f)" },
    { "", "^%s*except%f[%W]", "Lua writes local ok, problem = pcall(f)" },
    { "", "%f[%w_]continue%f[^%w_]", function(_, code)
        if code:find "goto%s+continue" or code:find "::%s*continue" then return nil end
        return "Lua has no continue: goto continue, and ::continue:: before the end of the loop"
    end },
    { "", "%f[%w_]elif%f[^%w_]", "Lua writes elseif … then" },
    { "", "%f[%w_]elsif%f[^%w_]", "Lua writes elseif … then" },
    { "", "^%s*let%s+([%a_][%w_]*)", LOCAL }, { "", "^%s*var%s+([%a_][%w_]*)", LOCAL },
    { "", "^%s*const%s+([%a_][%w_]*)", LOCAL }, { "", "^%s*int%s+([%a_][%w_]*)", LOCAL },
    { "", "^%s*float%s+([%a_][%w_]*)", LOCAL }, { "", "^%s*double%s+([%a_][%w_]*)", LOCAL },
    { "", "^%s*auto%s+([%a_][%w_]*)", LOCAL }, { "", "^%s*string%s+([%a_][%w_]*)%s*=", LOCAL },
    { "near ','", "^%s*print%s*[\"']", "print is a function: print(a, b)" },
    { "near 'f'", "%f[%w_]print%s+f%s*[\"']",
      'print("x is", x) shows values, and ("%%g"):format(n) puts them into a text', raw = true },
    { "'=' expected near '", "[%w_%)]%s+(print)%s+([%a_][%w_%.]*)", call_hint },
    { "", "^%s*print%s+([%a_%d%-].-)%s*$", "print is a function: print(%s)", raw = true },
    { "near '='", "^%s*([%a_][%w_%.]*)%s*:=%s*(.-)%s*;?%s*$", "Lua assigns with =: %1 = %2", raw = true },
    { "near '='", "([%a_][%w_]*)%s*:=", "Lua assigns in a statement of its own: %1 = …" },
    { "near '='", "^%s*local%s+[%a_][%w_]*%s*=[^=,]*,%s*[%a_][%w_]*%s*=",
      "several are declared as in local a, b = 1, 2" },
    { "near '='", "^%s*return%s+([%a_][%w_]*)%s*=", "return gives a value: assign before it" },
    -- Names and types.
    { "near '<'", "^%s*local%s+([%a_][%w_]*)%s*<%s*%a+%s*>%s*=%s*(.-)%s*$", "this Lua has no <const>: local %1 = %2",
      raw = true },
    { "near '-'", "^%s*local%s+([%a_][%w_]*)%-([%a_][%w_]*)%s*=", "a name has letters, digits and _: %1_%2" },
    { "near '='", "^%s*([%a_][%w_]*)%-([%a_][%w_]*)%s*=%s", "a name has letters, digits and _: %1_%2" },
    { "'=' expected", "^%s*([%a_][%w_]*)%-([%a_][%w_]*)%s*=%s", "a name has letters, digits and _: %1_%2" },
    { "near ':'", "^%s*local%s+([%a_][%w_]*)%s*:%s*[%a_][%w_]*%s*=%s*(.-)%s*$", "Lua writes no types: local %1 = %2",
      raw = true },
    { "arguments expected near '='", "^%s*([%a_][%w_]*):([%a_][%w_]*)%s*=%s*(.-)%s*$", function(name, field, value)
        return not TYPES[field] and ("a field stands behind a dot: %s.%s = %s"):format(name, field, value) or nil
    end, raw = true },
    { "arguments expected near '='", "^%s*([%a_][%w_]*)%s*:%s*[%a_][%w_]*%s*=%s*(.-)%s*$",
      "Lua writes no types: %1 = %2", raw = true },
    { "arguments expected near '<eof>'", "^%s*([%a_][%w_]*)%s*:%s+%a[%w_%.]*%s*$", "Lua writes no types: local %s" },
    { "malformed number", "%f[%w_%.](%d+%.?%d*)[jJ]%f[^%w_]", "the imaginary unit is i: %1i" },
    { "malformed number", "%f[%w](%d+_[%d_]*%d)", function(number)
        return "Lua writes " .. number:gsub("_", "")
    end },
    { "syntax error", "%f[%w_%.](%d+%.?%d*)%s*(%b())", "a product has a sign: %1 * %2" },
    { "malformed number", "%f[%w](%d+)([%a_][%w_]*)",
      "a name begins with a letter, %2%1; a product has a sign, %1 * %2" },
    { "malformed number", "%f[%w](%d+%.%d*%.[%d%.]*)", "a number has one point: %s" },
    { "'<name>' expected near 'repeat'", "", "repeat is a word of Lua's: np.repeat_, x:repeat_(…)" },
    { "'<name>' expected near '", "^%s*local%s+([%a_][%w_]*)%s*[=,]", function(word)
        return KEYWORDS[word] and ("%s is a word of Lua's and no name: %s_"):format(word, word) or nil
    end },
    -- Functions.
    { "near '='", "^%s*function%s+([%a_][%w_]*)%s*=%s*([%a_][%w_]*)%s*(%b())",
      "Lua writes function %2%3 … return %1 end" },
    { "near '='", "%f[%w_]function%s*([%w_%.:]*)%s*%([^%(%)]-([%a_][%w_]*)%s*=%s*([^,%)]+)",
      "a parameter has no value of its own: %2 = %2 or %3 in the first line", raw = true },
    { "near ':'", "%f[%w_]function%s*([%w_%.:]*)%s*%([^%(%)]-([%a_][%w_]*)%s*:%s*[%a_]",
      "Lua writes no types: function %1(%2)" },
    { "expected near '*'", "%f[%w_]function%s*([%w_%.:]*)%s*%([^%)]*%*%*",
      "a table has options: function %s(options)" },
    { "expected near '*'", "%f[%w_]function%s*([%w_%.:]*)%s*%([^%)]*%*",
      "further arguments are ...: function %s(...) local args = {...}" },
    { "near '['", "%.%.%.%s*%[%s*(.-)%s*%]", "... is no table: (select(%1, ...)), or local args = {...}" },
    { "near '{'", "%f[%w_]function%s*[%w_%.:]*%s*%b()%s*{", "a body has no braces in Lua: function f(x) … end" },
    { "near ':'", "%f[%w_]function%f[%W].*%)%s*:", "a body follows without a colon: function f(x) … end" },
    { "near '='", "%f[%w_]function%s+([%a_][%w_%.:]*)%s*(%b())%s*=%s*([^=].-)%s*;?%s*$",
      "Lua writes function %1%2 return %3 end", raw = true },
    { "near '='", "^%s*local%s+([%a_][%w_]*)%s*(%b())%s*=%s*([^=].-)%s*;?%s*$",
      "Lua writes local function %1%2 return %3 end", raw = true },
    { "'=' expected", "^%s*fn%s+([%a_][%w_]*)%s*(%b())", "Lua writes function %1%2 … end" },
    { "'=' expected", "^%s*func?%s+([%a_][%w_]*)%s*(%b())", "Lua writes function %1%2 … end" },
    { "near '='", "^%s*([%a_][%w_]*)%(([%w_%s,]*)%)%s*=%s*([^=].-)%s*;?%s*$",
      function(name, parameters, body)
          return ("Lua writes function %s(%s) return %s end"):format(name, parameters, body)
      end, raw = true },
    { "near '='", "%(([%w_%s,]*)%)%s*=>%s*(.-)%s*$", function_hint, raw = true },
    { "near '='", NAME .. "%s*=>%s*(.-)%s*$", function_hint, raw = true },
    { "near '>'", "([%a_][%w_%.]*)%->([%a_][%w_]*)%s*[%(%{]", "a dot leads to a field: %1.%2" },
    { "'=' expected near '-'", "^%s*([%a_][%w_%.]*)%->([%a_][%w_]*)", "a dot leads to a field: %1.%2" },
    { "near '>'", "([%a_][%w_]*%.[%w_%.]*[%w_])%->([%a_][%w_]*)", field_hint },
    { "near '>'", "([%a_][%w_]*)%->([%a_][%w_]*)%s*[%),%];]", field_hint },
    { "near '>'", "^%s*([%a_][%w_]*)%->([%a_][%w_]*)%s*=[^=]", field_hint },
    { "near '>'", "%f[%w_]function%s*([%w_%.:]*)%s*(%b())%s*%->", "Lua writes no types: function %1%2" },
    { "near '-'", "%f[%w_]function%s*([%w_%.:]*)%s*(%b())%s*%->", "Lua writes no types: function %1%2" },
    { "near '>'", "%(([%w_%s,]*)%)%s*%->%s*(.-)%s*$", function_hint, raw = true },
    { "near '>'", NAME .. "%s*%->%s*(.-)%s*$", function_hint, raw = true },
    { "near '@'", "@%(([%w_%s,]*)%)%s*(.-)%s*$", function_hint, raw = true },
    { "near '@'", "^%s*@([%a_][%w_%.]*)%s*$", "a function of a function is called: f = %s(f)" },
    { "near '|'", "[=%(,]%s*|([%w_%s,]*)|%s*(.-)%s*$", function_hint, raw = true },
    { "", "lambda%s+([%a_][%w_, ]*):%s*(.-)%s*$", function_hint, raw = true },
    { "", "%f[%w_]lambda%s*():%s*(.-)%s*$", function(_, body) return function_hint("", body) end, raw = true },
    -- Loops and conditions.
    { "'do' expected", "^%s*for%s+([%a_][%w_%s,]-)%s+in%s+(.-)%s*:%s+[^%s]", loop_hint },
    { "'do' expected", "^%s*for%s+([%a_][%w_]*)%s+in%s+(%-?[%w_%.#]+)%s*:%s*([%w_%.#]+)",
      "Lua writes for %1 = %2, %3 do … end" },
    { "near ':'", "^%s*for%s+([%a_][%w_]*)%s*=%s*([%w_%.#]+)%s*:%s*([%w_%.#]+)%f[^%w_%.#]",
      "Lua writes for %s = %s, %s do … end" },
    { "near ':'", "^%s*for%s+([%a_][%w_]*)%s*=%s*([^:,]-)%s*:%s*([^:]-)%s*$", "Lua writes for %s = %s, %s do … end" },
    { "near 'to'", "^%s*for%s+([%a_][%w_]*)%s*=%s*(.-)%s+to%s+([%w_%.#]+)", "Lua writes for %s = %s, %s do … end" },
    { "", "%sfor%s+([%a_][%w_]*)%s+in%s+range%s*(%b())%s*:", range_hint },
    { "", "^%s*for%s+([%a_][%w_]*)%s+in%s+range%s*(%(.*)$", range_hint },
    { "near ':'", "^%s*for%s+([%a_][%w_]*)%s*=%s*([%w_%.#]+)%s*,%s*([%w_%.#]+)%s*:",
      "Lua writes for %s = %s, %s do … end" },
    { "expected", "^%s*for%s+([%a_][%w_%s,]-)%s+in%s+(.-)%s*:%s*$", loop_hint },
    { "near '('", "^%s*for%s*%(", "Lua writes for k = 1, n do … end" },
    { "near '='", "^%s*if%f[%W].*[^=~<>]=[^=].*%f[%w]then%f[%W]", "Lua compares with ==" },
    { "near '='", "%f[%w]until%f[%W].*[^=~<>]=[^=]", "Lua compares with ==" },
    { "near '=='", "^%s*local%s+([%a_][%w_]*)%s*==%s*(.-)%s*$", "Lua assigns with =: local %1 = %2", raw = true },
    { "unexpected symbol near '", "[=,]%s*%-?%d[%w%.]*%s+(%d[%w%.]*)", "a comma or an operator is missing before %s" },
    { "near '='", "^%s*while%f[%W].*[^=~<>]=[^=].*%f[%w]do%f[%W]", "Lua compares with ==" },
    { "expected near", "[%w_%)%]]%s+is%s+not%s+[%a_]", "Lua writes ~= for is not" },
    { "expected near", "[%w_%)%]]%s+is%s+[%a_]", "Lua writes == for is" },
    { "expected near 'not'", "%snot%s+in%s", "Lua has no in: a loop compares, or t[key] == nil asks for a key" },
    { "expected near 'in'", "%sin%s", "Lua has no in: a loop compares, or t[key] asks for a key" },
    { "near 'if'", "=%s*if%s+(.-)%s+then%s+(.-)%s+else%s+(.-)%s+end", "Lua writes %1 and %2 or %3", raw = true },
    { "'then' expected near 'else'", "([%a_][%w_]*)%s*=%s*([^=]-)%s+if%s+(.-)%s+else%s+(.-)%s*$",
      "Lua writes %1 = %3 and %2 or %4",
      raw = true },
    -- Keys.
    { "near ':'", "{%s*[\"']([^\"']+)[\"']%s*:%s*([^,}]+)", key_hint, raw = true },
    { "near ':'", "{[^}]*,%s*[\"']([^\"']+)[\"']%s*:%s*([^,}]+)", key_hint, raw = true },
    { "'<name>' expected near", "[{,]%s*([%a_][%w_]*)%s*:%s*([^,}]+)", key_hint, raw = true },
    { "arguments expected near", "[{,]%s*([%a_][%w_]*)%s*:%s+([^,}]+)", key_hint, raw = true },
    { "'}' expected (to close", "^%s*[\"']([^\"']+)[\"']%s*:%s*([^,}]+)", key_hint, raw = true },
    { "'<name>' expected near", "^%s*([%a_][%w_]*)%s*:%s*([^,}]+),%s*$", key_hint, raw = true },
    { "arguments expected near ','", "^%s*([%a_][%w_]*)%s*:%s*([^,}]+),%s*$", key_hint, raw = true },
    -- Operators and assignments.
    { "near ':'", "=%s*(%-?%d+)%s*:%s*(%-?%d+)%s*;?%s*$", range_of },
    { "near ':'", "^%s*(%-?%d+)%s*:%s*(%-?%d+)%s*;?%s*$", range_of },
    { "')' expected near ','", "^%s*%(([^()=]*,[^()=]*)%)%s*$", "Lua has no tuples; a list is {%s}", raw = true },
    { "')' expected near ','", "^%s*[%a_][%w_]*%s*=%s*%(([^()=]*,[^()=]*)%)%s*$", "Lua has no tuples; a list is {%s}",
      raw = true },
    { "unexpected symbol near 'end'", "print%s*%(.-,%s*end%s*=", 'io.write("a") writes without a line end' },
    { "unexpected symbol near 'end'", "([%a_][%w_%.]*)%s*[%[%(]%s*end%f[^%w_]", "the last element is %s[-1]" },
    { "'<name>' expected near '*'", "%.%*", "operators are by element, x * y; x:matmul(y) is the product of matrices" },
    { "'<name>' expected near", "%.([/^%+%-])", "operators are by element: x %s y" },
    { "'<name>' expected near '('", "([%a_][%w_]*)%.%(", "functions are by element: np.%s(x)" },
    { "near '\\'", "([%a_][%w_]*)%s*\\%s*([%a_][%w_]*)", "np.linalg.solve(%1, %2) solves equations" },
    { "near ','", "^%s*%(([%w_%s,]*)%)%s*=%s*%(?([^()]-)%)?%s*$", "several are assigned as in %1 = %2" },
    { "near ','", "([%a_][%w_%.]*)%.shape%s*[=~]=%s*%(([^()]*)%)", "np.array_equal(%1.shape, {%2}) compares shapes" },
    { "near '='", "^%s*([%a_][%w_%.]*)%s*([\"'][^\"']*[\"'])%s*=%s*([^=].-)%s*;?%s*$",
      "arrays never change; a changed copy is %1 = %1:at%2:set(%3)", raw = true },
    { "']' expected near", "^%s*([%a_][%w_%.]*)%s*(%b[])%s*=%s*([^=].-)%s*;?%s*$", changed_part, raw = true },
    { "unexpected symbol near ':", "^%s*([%a_][%w_%.]*)%s*(%b[])%s*=%s*([^=].-)%s*;?%s*$", changed_part, raw = true },
    { "", ":at(%b{})%s*=", "arrays never change; a changed copy is x = x:at%s:set(v)" },
    { "", ":at(%b())%s*=", "arrays never change; a changed copy is x = x:at%s:set(v)" },
    { "", "([%a_][%w_%.]*)%s*%[%s*(.-)%s*%]%s*([%+%-%*/%%^])=%s*(.-)%s*;?$", part_hint },
    { "", "([%a_][%w_%.]*)%s*([%+%-%*/%%^])=%s*(.-)%s*;?$", function(x, operator, value)
        value = value:gsub("%s+end%f[^%w_].*$", "") -- of the block around it
        return ("Lua has no '%s=': %s = %s %s %s"):format(operator, x, x, operator, value)
    end },
    { "", "([%a_][%w_%.]*)%s*%.%.=%s*(.-)%s*$", "Lua has no '..=': %1 = %1 .. %2", raw = true },
    { "", "([%a_][%w_%.]*)%s*%+%+", "Lua has no '++': %1 = %1 + 1" },
    { "'=' expected near '<'", "^%s*([%a_][%w_%.]*)%s*<%-%s*(.-)%s*;?%s*$", "Lua assigns with =: %1 = %2", raw = true },
    { "near '='", "^%s*([%a_][%w_]*)%s*=%s*([%a_][%w_]*)%s*=%s*([^=].-)%s*;?%s*$",
      "one is assigned at a time: %2 = %3 %1 = %2",
      raw = true },
    { "", "!=%s*", "Lua writes ~= for !=, and x:ne(y) for the elements of an array" },
    { "near '!'", "!%s*([%a_%(][%w_%.]*)", "Lua writes not for !" },
    { "near '!'", "!", "Lua writes not for !" },
    { "", "([%a_][%w_%.]*)%s*//%s*([%w_%.]+)", "Lua has no '//': %1:floor_divide(%2) of an array, "
        .. "math.floor(%1 / %2) of numbers" },
    { "", "//", "Lua has no '//': x:floor_divide(y) of an array, math.floor(x / y) of numbers" },
    { "", "%*%*", "Lua writes x ^ y for x ** y" },
    { "", "&&", "Lua writes and for &&" },
    { "near '&'", "&", "np.logical_and(x, y) is the and of elements, np.bitwise_and that of bits" },
    { "", "||", "Lua writes or for ||" },
    { "near '+'", "^%s*%+%s*[%w_%(]", "Lua has no sign +: leave it out" },
    { "near '+'", "[=%(,{]%s*%+%s*[%w_%(]", "Lua has no sign +: leave it out" },
    { "near '|'", "|", "np.logical_or(x, y) is the or of elements, np.bitwise_or that of bits" },
    { "near '~'", "~", "np.logical_not(x) is the not of elements, np.bitwise_invert(x) that of bits" },
    { "near '<'", "<<", "bit.lshift(a, b) shifts numbers, np.bitwise_left_shift(x, y) elements" },
    { "near '>'", "<>", "Lua writes ~= for <>, and x:ne(y) for the elements of an array" },
    { "near '>'", "^%s*>>>%s", "Python's prompt, >>>, is no code: leave it out" },
    { "near '>'", ">>", "bit.rshift(a, b) shifts numbers, np.bitwise_right_shift(x, y) elements" },
    { "near '@'", "@", "Lua has no '@': x:matmul(y)" },
    { "near '?'", "%?", "Lua writes c and a or b for c ? a : b, and np.where(c, a, b) for elements" },
    -- Indices, texts and lists.
    { "near '::'", "%[[^%]]*::", slice_hint },
    { "near '::'", "([%a_][%w_%.]*)::([%a_][%w_]*)", "a dot leads to a field: %1.%2" },
    { "'::' expected", "::%s*([%a_][%w_]*)%s*%(", "a method stands behind one colon: x:%s(…)" },
    { "']' expected near ':'", "", slice_hint },
    { "near ':'", "%[%s*:", slice_hint },
    { "near ':'", "([%a_][%w_]*)%(([^%(%)]*:[^%(%)]*)%)", function(name, inside)
        local is_index = not inside:find "[%a_]%s*:" and not inside:find "[%a_]%("
        return is_index and parentheses_hint(name, inside) or nil
    end },
    { "']' expected near ','", "", function(_, code)
        local name, inside = index_hint(code, ",")
        if place_text(inside):find '^"' then return ('slices are text: %s"%s"'):format(name, inside) end
        return ("several indices go in braces: %s[{%s}]"):format(name, inside)
    end },
    { "near '`'", "`", 'a text stands in quotes, "…", and ("%%g"):format(n) puts values into one', raw = true },
    { "near '\"", '"""', "a text of several lines is [[…]]", raw = true },
    { "near ':'", "([\"'][^\"']*[\"'])%s*:%s*%a", "a text stands in parentheses there: (%1)", raw = true },
    { "near ':'", "%f[%w_%.](%d+%.?%d*)%s*:%s*([%a_][%w_]*)%s*%(", number_hint },
    { "near '.'", "([\"'][^\"']*[\"'])%s*%.%s*(%a[%w_]*)", "a text stands in parentheses, its methods behind a colon: "
        .. "(%1):%2(…)", raw = true },
    { "near '['", ":at%s*(%b[])", function(index)
        return ("a changed copy is x:at{%s}:set(v)"):format(index:sub(2, -2))
    end },
    { "near '['", "([\"'][^\"']*[\"'])%s*%[%s*(%d+)%s*%]", function(text, k)
        return ("characters of a text count from 1: (%s):sub(%d, %d)"):format(text, k + 1, k + 1)
    end, raw = true },
    { "near '['", "([\"'][^\"']*[\"'])%s*%[", "a text stands in parentheses there: (%1)", raw = true },
    { "near '['", "%[([^%[%]]*)%]", list_hint },
    { "near '['", "", "lists go in braces: {1, 2, 3}, and np.array{1, 2, 3} is an array" },
    { "near 'for'", "{.-%sfor%s+([%a_][%w_]*)%s+in%s", function(name) return list_hint(" for " .. name .. " in ") end },
    { "near 'for'", "%(.-%sfor%s+([%a_][%w_]*)%s+in%s", function(name) return list_hint(" for " .. name
      .. " in ") end },
    { "'}' expected near '", "{%s*([%d%.%-]+%s+[%d%.%-][%d%.%s%-]*)}", function(inside)
        return ("commas stand between the items: {%s}"):format((trim(inside):gsub("%s+", ", ")))
    end },
    { "')' expected near '='", "np%.random%.([%a_][%w_]*)%(.-size%s*=%s*%(?([%d%s,%w_]*)%)?", function(name, shape)
        shape = trim(shape):gsub(",$", "")
        return ("the shape stands behind the key: np.random.%s(key, {%s})"):format(name, shape)
    end },
    { "')' expected near '='", "([%a_][%w_%.:]*)%(([^%(%)=]*)%f[%w_]([%a_][%w_]*%s*=[^=].-)%)", option_hint,
      raw = true },
    { "')' expected near '='", "([%a_][%w_%.:]*)%((.-)%f[%w_]([%a_][%w_]*%s*=[^=].-)%)", option_hint, raw = true },
    { "expected near '", "([%a_][%w_]*%.[%w_%.]*[%w_])%s+(%-?%d[%w%.]*)", call_hint },
    { "unexpected symbol near '", "=%s*([%a_][%w_]*%.[%w_%.]*[%w_])%s+(%d[%w%.]*)%f[^%w%.]", call_hint },
    { "'=' expected near '", "^%s*([%a_][%w_]*%.[%w_%.]*[%w_])%s+([%a_][%w_%.]*)%s*$", call_hint },
    { "expected near '", "%f[%w_](np%.[%w_%.]*[%w_])%s+([%a_][%w_]*)(.*)$", inner_call_hint },
    { "'=' expected near '", "=%s*([%a_][%w_]*%.[%w_%.]*[%w_])%s+([%a_][%w_%.]*)%s*$", call_hint },
    { "'=' expected near '", "^%s*([%a_][%w_]*)%s+([%w_][%w_%.]*)%s*$", variable_call_hint },
    { "invalid escape sequence", "", "a backslash in a text is written \\\\" },
    { "')' expected near ','", "([%a_][%w_%.:]*)%(%(([^()]*)%)", "shapes and lists go in braces: %1{%2}" },
    { "')' expected near ','", "[=,]%s*%(([^()]*,[^()]*)%)", "shapes and lists go in braces: {%s}" },
    { "function arguments expected", "([%w_%.:]*%b()):([%a_][%w_]*)%s*$", uncalled },
    { "function arguments expected", "([%a_][%w_%.]*):([%a_][%w_]*)%s*$", uncalled },
    { "function arguments expected", "([%a_][%w_%.]*):([%a_][%w_]*)", uncalled },
    -- Blocks.
    { "", "^%s*while%f[%W].-:%s", "Lua writes while … do … end" },
    { "'then' expected near ':'", "^%s*if%f[%W]", "Lua writes if … then … end" },
    { "'then' expected", "^%s*if%f[%W].*{", "Lua writes if … then … end" },
    { "'do' expected", "^%s*while%f[%W].*{", "Lua writes while … do … end" },
    { "near '{'", "^%s*while.*{", "Lua writes while … do … end" },
    { "near '{'", "^%s*for.*{", "Lua writes for k = 1, n do … end" },
    { "", "^%s*if%f[%W].*:%s*$", "Lua writes if … then … end" },
    { "", "^%s*while%f[%W].*:%s*$", "Lua writes while … do … end" },
    { "", "^%s*for%f[%W].*:%s*$", "Lua writes for k = 1, n do … end" },
    { "", "^%s*else%s*:", "Lua writes else without a colon" },
    -- Values that stand alone, and what is closed twice.
    { "'=' expected near '", "%f[%w_]function%s*[%w_%.:]*%s*%b()%s*([^=]-)%s+end%f[^%w_]", unreturned, raw = true },
    { "unexpected symbol near '", "%f[%w_]function%s*[%w_%.:]*%s*%b()%s*([%d%(#\"'-][^=]-)%s+end%f[^%w_]", unreturned,
      raw = true },
    { "syntax error near '", "%f[%w_]function%s*[%w_%.:]*%s*%b()%s*([^=]-)%s+end%f[^%w_]", unreturned, raw = true },
}
