--- misuse.lua: Lua's own messages about values that are no arrays (nil, numbers, texts, tables, functions), with the
-- remedy behind them. Called by slips.lua while the failed code is still on the stack, whose variables are looked at.
local core = require "neap.core"
local aliases = require "neap.core.aliases"
local own = require("neap.core.globals").own
local source = require "neap.core.source"
local suggest = require "neap.core.suggest"

local is_array = core.is_array
local misuse = {}

local LINES_BEFORE = 20 -- in which a variable may have got what io.open gave

-- ---- Names that hide Lua's own --------------------------------------------------------------------------------------

local LIBRARIES = { string = true, table = true, math = true, io = true, os = true, bit = true, coroutine = true,
                    debug = true }

--- np = 3, local table = {…}: a variable of the user's in the place of a library.
function misuse.hidden(message)
    if not message:find("attempt to ", 1, true) then return nil end
    local called = message:match "attempt to call global '([%w_]+)'"
    if called and type(own[called]) == "function" and type(rawget(_G, called)) ~= "nil" then
        local typed = require("neap.interp.strict").is_typing()
        return ("%s; '%s' is a variable of yours here, which hides Lua's: %s"):format(message, called,
            typed and called .. " = nil brings that back" or "another name for it")
    end
    local field = message:match "field '([%w_]+)' %(a nil value%)"
    local name = message:match "attempt to index %a+ '([%w_]+)' %("
    local line, level = source.current()
    if not line then return nil end
    name = name or field and line:match("([%a_][%w_]*)%s*%.%s*" .. field .. "%f[^%w_]")
    if name ~= "np" and not LIBRARIES[name] then return nil end
    local value = source.variable(name, level)
    if value == nil then return nil end
    if name == "np" then
        if rawequal(value, core.np) then return nil end
        return ("%s; 'np' is a variable of yours here: np = require \"neap\" is the library"):format(message)
    end
    if field and type(own[name][field]) == "nil" or rawequal(value, rawget(_G, name)) and type(value) == "table" then
        return nil
    end
    return ("%s; '%s' is a variable of yours here, which hides Lua's: another name for it"):format(message, name)
end

-- ---- Methods and fields ---------------------------------------------------------------------------------------------

-- What methods of texts in other languages are here.
local TRIMMED = '(s:gsub("^%s+", ""):gsub("%s+$", ""))'
local TEXTS = {
    split = 'for part in s:gmatch "[^,]+" do … end', splitlines = 'for line in s:gmatch "[^\\n]+" do … end',
    strip = TRIMMED, trim = TRIMMED, lstrip = '(s:gsub("^%s+", ""))', rstrip = '(s:gsub("%s+$", ""))',
    replace = "(s:gsub(old, new))", startswith = "s:sub(1, #start) == start", endswith = "s:sub(-#tail) == tail",
    startsWith = "s:sub(1, #start) == start", endsWith = "s:sub(-#tail) == tail",
    contains = "s:find(part, 1, true) ~= nil", includes = "s:find(part, 1, true) ~= nil",
    index = "s:find(part, 1, true)", indexOf = "s:find(part, 1, true)", join = "table.concat(t, s)",
    append = "s .. other", concat = "s .. other", push = "s .. other", length = "#s", size = "#s",
    isdigit = 's:find "^%d+$" ~= nil', isalpha = 's:find "^%a+$" ~= nil', count = "select(2, s:gsub(part, part))",
    toUpperCase = "s:upper()", toLowerCase = "s:lower()", uppercase = "s:upper()", lowercase = "s:lower()",
    substring = "s:sub(from, to)", substr = "s:sub(from, to)", slice = "s:sub(from, to)", charAt = "s:sub(k, k)",
    capitalize = '(s:gsub("^%l", string.upper))', encode = "s itself", decode = "s itself",
}

-- What functions that Lua's libraries do not have are here.
local FUNCTIONS = {
    ["table.unpack"] = "unpack(t)", ["table.pack"] = "{...}", ["table.getn"] = "#t", ["table.length"] = "#t",
    ["table.size"] = "#t", ["table.append"] = "t[#t + 1] = v", ["table.push"] = "t[#t + 1] = v",
    ["table.print"] = "for k, v in pairs(t) do print(k, v) end",
    ["math.round"] = "math.floor(x + 0.5)", ["math.sign"] = "np.sign(x)", ["math.sum"] = "np.sum(x)",
    ["math.mean"] = "np.mean(x)", ["math.tointeger"] = "math.floor(x)", ["math.trunc"] = "math.modf(x)",
    ["math.type"] = "type(x)", ["math.e"] = "math.exp(1)", ["math.inf"] = "math.huge", ["math.nan"] = "0 / 0",
    ["math.PI"] = "math.pi", ["math.rand"] = "math.random()", ["math.factorial"] = "np.special.gamma(n + 1)",
    ["os.getcwd"] = "os.getenv \"PWD\"", ["os.system"] = "os.execute(command)", ["os.sleep"] = "os.execute \"sleep 1\"",
    ["os.listdir"] = 'for name in io.popen("ls"):lines() do … end', ["os.path"] = 'folder .. "/" .. name',
    ["string.split"] = TEXTS.split, ["string.trim"] = TEXTS.strip, ["string.replace"] = TEXTS.replace,
    ["io.print"] = "io.write(text)", ["io.input_line"] = "io.read()",
}

--- s:split(","): a text has no such method.
local function text_method(message, line, level)
    local name = message:match "attempt to call method '([%w_]+)' %(a nil value%)"
    local receiver, at = line:match("([%a_][%w_]*)%s*:%s*()" .. (name or "%z"))
    local is_literal = line:find("[\"']%s*%)?%s*:%s*" .. (name or "%z"))
    if not name or not is_literal and not (at and type(source.variable(receiver,
        level)) == "string") then return nil end
    if TEXTS[name] then return ("here it is %s"):format((TEXTS[name]:gsub("%f[%w_]s%f[^%w_]", receiver or "s"))) end
    local found = suggest.name(name, { own.string })
    return found and ("did you mean %s:%s(…)?"):format(receiver or "s", found)
end

--- s.upper(): a method of a text that is not given the text.
local function dotted_text(message)
    local name = message:match "bad argument #%d to '([%w_]+)'"
    if not name or not own.string[name] then return nil end
    local line, level = source.current()
    if not line then return nil end
    local receiver = line:match("([%a_][%w_]*)%s*%.%s*" .. name .. "%f[^%w_]")
    local is_text = receiver and type(source.variable(receiver, level)) == "string"
    if not is_text and not line:find("[\"']%s*%)%s*%.%s*" .. name) then return nil end
    return ("methods take a colon: %s:%s(…)"):format(is_text and receiver or '("…")', name)
end

--- math.Pi, string.fmt, data.valeu: a table that has no such field, but one of a name like it.
local function missing_field(message, line, level)
    local name = message:match "field '([%a_][%w_]*)' %(a nil value%)"
        or message:match "method '([%a_][%w_]*)' %(a nil "
    if not name then return nil end
    for receiver, mark in line:gmatch("([%a_][%w_]*)%s*([%.:])%s*" .. name .. "%f[^%w_]") do
        local value = source.variable(receiver, level)
        local is_library = LIBRARIES[receiver] and rawequal(value, rawget(_G, receiver))
        local there = is_library and FUNCTIONS[receiver .. "." .. name]
        if there then return "here it is " .. there end
        if type(value) == "table" and rawget(value, name) == nil then
            local found = suggest.name(name, { value })
            if found then return ("did you mean %s%s%s?"):format(receiver, mark, found) end
            local meta = debug.getmetatable(value)
            if mark == ":" and type(meta) == "table" and rawget(meta, name) and rawget(meta, "__index") == nil then
                return ("its metatable has %s, but no __index: Class.__index = Class behind Class = {}"):format(name)
            end
        end
    end
end

--- n:sqrt(), n.shape, n[0] of a number, s[1] = "a" of a text.
local function indexed_number(message, line)
    local name, what = message:match "attempt to index %a+ '([%w_]+)' %(a (%a+) value%)"
    local is_item = name and line:find("%f[%w_]" .. name .. "%s*%[")
    if what == "string" and is_item then
        return ("texts never change: %s = %s:sub(1, k - 1) .. \"…\" .. %s:sub(k + 1)"):format(name, name, name)
    end
    if what ~= "number" then return nil end
    local member = line:match("%f[%w_]" .. name .. "%s*[%.:]%s*([%a_][%w_]*)")
    if not member then return is_item and "a number has no items" or nil end
    if type(rawget(math, member)) == "function" then return ("a number has no methods: math.%s(%s)"):format(member,
        name) end
    if core.methods[member] then return ("a number has no methods: np.%s(%s)"):format(member, name) end
    return core.fields[member] and ("a number has no %s; np.array(%s) is an array"):format(member, name) or nil
end

--- np.table.read_csv, np.ones[3], f[1]: a function has no fields.
local function indexed_function(message, line)
    local kind, name = message:match "attempt to index (%a+) '([%w_]+)' %(a function value%)"
    if not name then return nil end
    if kind ~= "field" then
        local index = line:match("%f[%w_]" .. name .. "%s*%[([^%[%]\"']+)%]")
        return index and ("a function is called: %s(%s)"):format(name, index) or nil
    end
    local member = line:match("%." .. name .. "%s*%.%s*([%a_][%w_]*)")
    local there = member and (aliases.functions[member] or aliases.of(member))
    if there then return ("here it is %s"):format(there) end
    local path, inside = line:match("([%a_][%w_%.]*%." .. name .. ")%s*%[(.-)%]")
    return path and ("a function is called: %s{%s}"):format(path, inside) or nil
end

-- ---- Items of tables ------------------------------------------------------------------------------------------------

--- The value of the text of an index, as far as it can be read without running anything; nil: not known.
local function index_value(text, level)
    if tonumber(text) then return tonumber(text) end
    local name, sign, number = text:match "^([%a_][%w_]*)%s*([%+%-])%s*(%d+)$"
    local value = source.variable(name or text, level + 1)
    if not name or type(value) ~= "number" then return not name and value or nil end
    return sign == "+" and value + tonumber(number) or value - tonumber(number)
end

--- list[0], list[#list + 1], names[x:argmax()]: an item that is not there.
local function missing_item(message, line, level)
    local is_unnamed = message:find("a nil value", 1, true) and not message:find "' %(a nil value"
    if not is_unnamed and not message:find("field '?' (a nil value)", 1, true) then return nil end
    for name, brackets in line:gmatch "([%a_][%w_]*)%s*(%b[])" do
        local t, inside = source.variable(name, level + 1), brackets:match "^%[%s*(.-)%s*%]$"
        if type(t) == "table" and debug.getmetatable(t) == nil then
            local array = inside:match "^([%a_][%w_]*):[%a_]"
            if is_array(index_value(array or inside, level + 1)) and not inside:find("item", 1, true) then
                return ("a table knows nothing of the values of arrays: %s[%s:item()]"):format(name, inside)
            end
            local key = index_value(inside, level + 1)
            if type(key) == "number" and rawget(t, key) == nil then
                if key == 0 then return ("%s[0] is nil: tables count from 1, to #%s"):format(name, name) end
                if key < 0 then return ("%s[%d] is nil: the last item is %s[#%s]"):format(name, key, name, name) end
                return ("%s[%g] is nil: the table has %d item%s"):format(name, key, #t, #t == 1 and "" or "s")
            end
        end
    end
end

-- ---- Calls and operands ---------------------------------------------------------------------------------------------

-- A function of what is a table of functions.
local SAMPLES = { plot = "line(x, y)", random = "normal(key, {3})", linalg = "solve(a, b)", fft = "fft(x)",
                  tree = "map(f, tree)", special = "erf(x)", signal = "hann(n)", io = "load(path)" }

--- np.plot(x), t(1), 2(x + 1), n(…): a value that is no function.
local function called_value(message, line)
    local kind, name, what = message:match "attempt to call (%a+) '([%w_]+)' %(an? (%a+) value%)"
    if not name then
        if not message:find("attempt to call a number value", 1, true) then return nil end
        local number, behind = line:match "%f[%w_%.](%d+%.?%d*)%s*(%b())"
        return number and ("a product has a sign: %s * %s"):format(number, behind) or nil
    end
    if kind == "field" and what == "table" and type(rawget(core.np, name)) == "table" then
        if not line:find("np%s*%.%s*" .. name .. "%s*[%({\"']") then return nil end
        local sample = SAMPLES[name]
        if sample then return ("it holds functions: np.%s.%s"):format(name, sample) end
        return ('it holds functions, which np.help "np.%s" lists'):format(name)
    end
    local holder = what == "table" and line:match("%f[%w_]np%.([%w_]+)%." .. name .. "%s*[%({\"']")
    local module = holder and rawget(core.np, holder)
    if type(module) == "table" and type(rawget(module, name)) == "table" then
        return ('it holds functions, which np.help "np.%s.%s" lists'):format(holder, name)
    end
    if kind == "field" and what == "number" then
        local path = line:match("([%a_][%w_%.]*%.)" .. name .. "%s*%(")
        return path and ("it is no function: %s%s, without parentheses, is its value"):format(path, name) or nil
    end
    if kind == "field" or kind == "method" then return nil end
    local inside = line:match("%f[%w_]" .. name .. "%s*(%b())") or "(…)"
    if inside:find "^%(%s*%)$" and what ~= "nil" then
        return ("it is no function: %s, without parentheses, is its value"):format(name)
    end
    local text = what == "table" and line:find("%f[%w_]" .. name .. "%s*[\"']")
    if text then return ("{unpack(%s, from, to)} is a part of a table, from 1"):format(name) end
    if what == "number" then return ("a product has a sign: %s * %s"):format(name, inside) end
    local shown = inside == "(…)" and "…" or inside:sub(2, -2)
    return what == "table" and ("an index stands in brackets: %s[%s]"):format(name, shown) or nil
end

--- Of the function at `level`: it is what a local variable of this name gets, and so does not see that.
local function unseen_name(name, level)
    local frame = debug.getinfo(level + 1, "S")
    local line = frame and frame.linedefined > 0 and source.line(frame.source, frame.linedefined)
    if not line or #line > source.LONGEST then return nil end
    return line:find("local%s+" .. name .. "%s*=%s*function")
        and ("local function %s(…) … end sees itself"):format(name)
end

--- A function that calls itself, before its variable is there.
local function own_name(message, level)
    local name = message:match "attempt to call global '([%w_]+)' %(a nil value%)"
    local hint = name and unseen_name(name, level + 1)
    return hint
end

--- The same for the line of the user's code that runs now.
function misuse.own_name(name)
    local line, level = source.current()
    local hint = line and unseen_name(name, level)
    return hint
end

--- f = io.open(path) f:read(): there was no file.
local function no_file(message, line, level)
    local remedy = "io.open gives nil, and why, where it cannot open a file: assert(io.open(path))"
    if line:find "io%.open%s*[%(\"']" and message:find("nil value", 1, true) then return remedy end
    local name = message:match "attempt to index %a+ '([%w_]+)' %(a nil value%)"
    local frame = name and debug.getinfo(level + 1, "Sl")
    for number = (frame and frame.currentline or 0) - 1, math.max(1, (frame and frame.currentline
        or 0) - LINES_BEFORE), -1 do
        local before = source.line(frame.source, number)
        if before and #before < source.LONGEST and before:find("%f[%w_]" .. name
            .. "%s*=%s*io%.open") then return remedy end
    end
end

local function operand(message, line)
    local name, what = message:match "attempt to [%a ]- %a+ '([%w_%?]+)' %(an? (%a+) value%)"
    local act = message:match "attempt to (%a+)"
    if act == "get" and line:find "#%s*%.%.%." then return 'select("#", ...) counts the arguments' end
    if what == "function" and name ~= "?" and (act == "perform" or act == "concatenate") then
        return ("it is a function: %s(…) calls it"):format(name)
    end
    local compared = message:match "attempt to compare (.+)$"
    if compared then
        if compared:find("string", 1, true) and compared:find("number", 1, true) then
            return "tonumber(s) is the number of a text"
        end
        return compared == "two table values" and "tables are compared item by item; np.array_equal(x, y) compares "
            .. "arrays" or nil
    end
    if act == "concatenate" and (what or message):find "table" then
        return 'table.concat(t, ", ") joins the items of a table'
    end
    if act == "concatenate" and (what or message):find "boolean" then return "tostring(b) is its text" end
    return act == "get" and what == "number" and line:find "#" and "a number has no length" or nil
end

-- ---- All ------------------------------------------------------------------------------------------------------------

--- module 'numpy' not found
function misuse.module(message)
    local before, name = message:match "^(.-)module '([%w_%.]+)' not found:"
    local there = name and (name == "np" and 'np is there already; in a module local np = require "neap"'
                            or aliases.modules[name:match "^[%w_]*"])
    return there and ("%smodule '%s' not found; %s"):format(before, name, there) or nil
end

--- np:ones(3): the functions of np and its parts are no methods.
local function called_as_method(path, _, line)
    if line:find("np[%w_%.]*:%s*" .. path:match "[%w_]+$" .. "%f[^%w_]") then
        return true, ("functions of np stand behind a dot: np.%s(…)"):format(path)
    end
end

--- np.arange{0, 5}: a table in the place of the arguments.
local function called_with_table(path, rest, line)
    local is_first = rest:find "^argument 1 .* got a table" or rest:find "got nothing %(nil%)"
        or rest:find "numbers, got 0"
    local items = is_first and line:match("np%." .. path:gsub("%.", "%%.") .. "%s*{([^{}=]*)}")
    if items and core.methods[path] and rest:find "^argument 1 must be an array" and items:find "," then return nil end
    return items and ("the arguments stand in parentheses: np.%s(%s)"):format(path, items) or nil
end

--- "loss: " + x, "3" * x: a text among operands.
local function text_operand(path, rest)
    local text = rest:match 'array or a number, got the string "(.*)"$'
    if not text then return nil end
    if tonumber(text) then return "tonumber(s) is the number of a text" end
    if path == "remainder" then return 'np.printf("%g\\n", x) shows values in a text, also those of arrays' end
    return path == "add" and ".. joins texts: \"a\" .. x" or nil
end

--- np.max(a, b), x:max(y): the larger of two, where np.max is that of one array.
local function larger(path, rest, line)
    if path ~= "max" and path ~= "min" then return nil end
    local is_pair = rest:find "^options must be a table .* got an array" or rest:find "axis .* for an array of 0 axes"
    local surplus = rest:find "^takes %d arguments, got also"
    if not is_pair and not surplus or not line:find("[%.:]" .. path .. "%s*%([^%(%)]*,") and surplus then return nil end
    return ("np.%simum(x, y) is the %ser of two, math.%s(a, b) of numbers"):format(path,
        path == "max" and "larg" or "small", path)
end

local OF_ARRAYS = { concatenate = true, stack = true, vstack = true, hstack = true, column_stack = true, dstack = true }

--- np.hstack(x, y): functions of several arrays, which take one table of them.
local function listed(path, rest)
    if not OF_ARRAYS[path] or not rest:find "^takes %d arguments?, got also" then return nil end
    return ("the arrays go into one table: np.%s{x, y}"):format(path)
end

--- np.nn.Sequential{…, np.nn.relu()}, model:init(0), ~/file
local function other_slip(path, rest, line)
    if rest:find "got nothing %(nil%)" and line:find("np%." .. path:gsub("%.", "%%.") .. "%(%s*%)")
        and path:find "^nn%." then
        return ("a layer without parameters is named, not called: np.%s"):format(path)
    end
    if rest:find("argument 1 (key) must be a key", 1, true) and line:find ":init%s*%(" then
        return "the parameters begin with a key: model:init(np.random.key(0))"
    end
    if rest:find "['%s]~/" and rest:find "No such file" then return '~ is the shell\'s: os.getenv "HOME" .. "/name"' end
    if path == "split" and rest:find "^argument [12]" and line:find "%f[%w_]k[%w_]*[:%.]split%s*%(" then
        return "keys are divided by np.random.split(key, n)"
    end
    if path == "io.loadtxt" and rest:find 'expected a number.*got "[^"]*,' then
        return '{delimiter=",", skiprows=1} reads numbers between commas, np.io.read_csv(path) a table'
    end
end

--- A message of a function of the library's that was called in the way of another language.
function misuse.called(message)
    local place, path, rest = message:match "^(.-)np%.([%w_%.]+): (.*)$"
    local line = path and source.current()
    if not line then return nil end
    local _, instead = called_as_method(path, rest, line)
    if instead then return ("%snp.%s: %s"):format(place, path, instead) end
    local hint = called_with_table(path, rest, line) or text_operand(path, rest) or larger(path, rest, line)
        or listed(path, rest) or other_slip(path, rest, line)
    return hint and ("%s; %s"):format(message, hint) or nil
end

--- The message with a remedy; nil: none is known.
function misuse.explain(message)
    local dotted = dotted_text(message)
    if dotted then return ("%s; %s"):format(message, dotted) end
    if not message:find("attempt to ", 1, true) then return nil end
    local line, level = source.current()
    if not line then return nil end
    local hint = text_method(message, line, level + 1) or missing_item(message, line, level)
        or own_name(message, level) or no_file(message, line, level) or indexed_number(message, line)
        or indexed_function(message, line) or called_value(message, line)
        or missing_field(message, line, level + 1) or operand(message, line)
    return hint and message .. "; " .. hint or nil
end

for _, f in pairs(misuse) do jit.off(f, true) end

return misuse
