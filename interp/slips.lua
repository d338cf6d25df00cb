--- slips.lua: Lua's own messages about arrays, in the words of a user: "got cdata" is "got an array", with the remedy.
--
-- Called by errors.c while the failed code is still on the stack, so what is said of an array is said of one.
local core = require "neap.core"
local shared = require("neap.core.globals").shared
local source = require "neap.core.source"

local is_array = core.is_array
local slips = {}

local FAILED = 4 -- the level of the failed function, as bad_argument sees it; explain and errors.c's are between

--- Whether an argument of the C function that failed is an array. Where that has left the stack and the library raises
-- its error again, as np.grad does, cdata are taken for arrays.
local function had_array()
    if debug.getinfo(FAILED + 1, "f").func == error then return true end
    for index = 1, 20 do
        local name, value = debug.getlocal(FAILED + 1, index)
        if not name then return false end
        if is_array(value) then return true end
    end
    return false
end

local OWN = { max = "maximum", min = "minimum", fmod = "remainder" } -- what functions of math are called in np

local function bad_argument(message)
    local called = message:match "bad argument #%d+ to '([%w_]*)'"
    if not called or not had_array() then return nil end
    local remedy, own = "x:item() is the number in an array of one element", OWN[called] or called
    if rawget(math, called) and rawget(core.np, own) then
        remedy = ("np.%s takes arrays, and %s"):format(own, remedy)
    elseif called == "format" then
        remedy = remedy .. ", and np.printf takes it as it is"
    elseif called == "insert" then
        local call = (source.current() or ""):match "insert%s*%([^,]*,%s*([%a_][%w_%.:]*%b())%s*%)"
        if not call then return nil end
        remedy = ("%s gives several values, of which (%s) is the first"):format(call, call)
    elseif message:find("table expected", 1, true) then
        remedy = "x:totable() gives Lua's tables"
    elseif message:find("string expected", 1, true) then
        remedy = "tostring(x) is the text of an array"
    end
    return (message:gsub("got cdata", "got an array")) .. "; " .. remedy
end

--- x:shape(), x.size(): a field is no function; np.float32(3): nor is a dtype.
local function called_field(message)
    local name = message:match "attempt to call %a+ '([%w_]+)' %(a "
    if name and type(rawget(core.np, name)) == "string" and message:find("(a string value)", 1, true) then
        return ("%s; np.%s is the name of a dtype: x:astype(np.%s), np.array(3, {dtype=np.%s})")
            :format(message, name, name, name)
    end
    if not name or not core.fields[name] then return nil end
    local line, level = source.current()
    if not line then return nil end
    if line:find("[%)}%]]%s*[%.:]%s*" .. name .. "%s*[%({]") then -- np.arange(6):reshape(2, 3).shape()
        return ("%s; '%s' is a field, no method: x.%s"):format(message, name, name)
    end
    for receiver, given in line:gmatch("([%a_][%w_]*)%s*[%.:]%s*" .. name .. "%s*[%({]%s*(.?)") do
        if is_array(source.variable(receiver, level)) then
            local extents = name == "size" and given ~= ")"
                and ("; %s.shape has the extents, %s:dim(0) is one of them"):format(receiver, receiver) or ""
            return ("%s; '%s' is a field, no method: %s.%s%s"):format(message, name, receiver, name, extents)
        end
    end
end

--- f():wait(), where f returns nothing: the one call of the line whose value is indexed.
local function indexed_nothing(message)
    if not message:find "attempt to index a nil value$" then return nil end
    local line, level = source.current()
    local found, count = nil, 0
    for name in (line or ""):gmatch "([%a_][%w_]*)%s*%b()%s*[:%.]%f[%a_]" do found, count = name, count + 1 end
    local value = count == 1 and source.variable(found, level)
    if type(value) ~= "function" or core.is_library(value) then return nil end
    return ("%s; %s(…) gave none: a function gives its value by return"):format(message, found)
end

--- np.table.group: a method of what the function gives.
local function method_of_table(message)
    local member = (source.current() or ""):match "np%.table%s*[%.:]%s*([%a_][%w_]*)"
    require "neap.inspect.help"
    if not member or not core.help.entry("table." .. member) then return nil end
    return ('%s; t:%s(…) is a method of t = np.table{…}: np.help "table.%s"'):format(message, member, member)
end

--- x.at[0].set(5), np.add.reduce(x): a function has no fields.
local function indexed_function(message)
    local name = message:match "attempt to index %a+ '([%w_]+)' %(a function value%)"
    if name == "at" then return message .. "; a changed copy is x:at{0}:set(5)" end
    if name == "table" then return method_of_table(message) end
    if not name or not core.methods[name] or not rawget(core.np, name) then return nil end
    return ("%s; np.%s(x, …) and x:%s(…) are calls"):format(message, name, name)
end

--- for k in 1, 5 do: a number is no iterator.
local function walked_number(message)
    if not message:find("attempt to call a number value", 1, true) then return nil end
    local line = source.current()
    local bounds = "for%s+([%a_][%w_]*)%s+in%s+([%w_%.%-#]+)%s*,?%s*([%w_%.%-#]*)%s+do%f[%W]"
    local name, first, last = (line or ""):match(bounds)
    if not name then return nil end
    if last == "" then first, last = "1", first end
    return ("%s; for %s = %s, %s do … end counts"):format(message, name, first, last)
end

--- for v in t do: a table is no iterator.
local function walked_table(message)
    local what = message:match "attempt to call an? (%a+) value"
    if what ~= "table" and what ~= "userdata" and what ~= "string" then return nil end
    local line, level = source.current()
    if what == "string" then
        local text = line and line:match "for%s.-%sin%s+([%a_][%w_]*)%s+do%f[%W]"
        return text and ('%s; for c in %s:gmatch "." do … end walks through the characters of a text'):format(message,
            text)
    end
    if what == "table" and line and line:find "for%s.-%sin%s*{.-}%s*do%f[%W]" then
        return message .. "; for k, v in ipairs{…} do … end walks through a list"
    end
    local name = line and line:match "for%s.-%sin%s+([%a_][%w_]*)%s+do%f[%W]"
    if name and what == "userdata" then
        return ("%s; for k = 0, #%s - 1 do local row = %s:row(k) … end walks through a table's rows"):format(message,
            name, name)
    end
    if not name or type(source.variable(name, level)) ~= "table" then return nil end
    return ("%s; for k, v in ipairs(%s) do … end walks through a list, pairs(%s) through any table")
        :format(message, name, name)
end

-- What methods of lists in other languages are here.
local LISTS = { append = "t[#t + 1] = v", push = "t[#t + 1] = v", add = "t[#t + 1] = v", pop = "table.remove(t)",
                extend = "a loop with t[#t + 1] = v", length = "#t", len = "#t", size = "#t",
                keys = "for k, v in pairs(t) do … end", values = "for k, v in pairs(t) do … end",
                items = "for k, v in pairs(t) do … end", join = "table.concat(t, separator)",
                map = "for k, v in ipairs(t) do t[k] = f(v) end", forEach = "for k, v in ipairs(t) do … end",
                each = "for k, v in ipairs(t) do … end", slice = "{unpack(t, from, to)}", copy = "{unpack(t)}",
                clone = "{unpack(t)}", get = "t[key]", has = "t[key] ~= nil", hasOwnProperty = "t[key] ~= nil",
                reverse = "for k = #t, 1, -1 do … end", clear = "t = {}", filter = "a loop with if and t[#t + 1] = v" }

-- What methods of PyTorch's models and optimizers are here.
local TRAINING = { step = "params, state = opt:update(grads, state, params)", parameters = "params = model:init(key)",
                   zero_grad = "nothing: np.grad(f)(params) gives gradients, and none are kept",
                   backward = "np.grad(f)(params)", forward = "model(params, x)",
                   state_dict = "params, the tree that model:init(key) gave", train = "nothing: models keep no mode",
                   eval = "nothing: models keep no mode, and np.nn.Dropout drops where it gets a key",
                   load_state_dict = "params = np.io.load_tree(path)", named_parameters = "np.tree.paths(params)",
                   to = "params = np.tree.map(function(p) return np.device_put(p, device) end, params)" }

--- np.jit(f)({1, 2, 3}), where f calls x:sum(): a table in the place of an array. Where f has left the stack, the line
-- is that of the call.
local function list_for_array(message, line, name, level)
    if not name or not core.methods[name] or not message:find("method '", 1, true) then return nil end
    local receiver = line:match("([%a_][%w_]*)%s*:%s*" .. name .. "%f[^%w_]")
    local value = receiver and source.variable(receiver, level + 1)
    if type(value) == "table" then
        if debug.getmetatable(value) ~= nil then return nil end
        local what = type(value[1]) == "number" and "'%s' is a table: np.array(%s) is an array"
            or is_array(value[1]) and "'%s' is a table of arrays: np.stack(%s) is one array"
        return what and message .. "; " .. what:format(receiver, receiver) or nil
    end
    if not line:find "[%w_%)]%s*%(?%s*{[%d%s,%.{}%-]+}" or line:find "np%.array%s*%(?{" then return nil end
    return message .. "; a table is handed over as its numbers, each by itself; np.array{…} is an array"
end

--- t.sum(): a function of arrays, as a field of a list of numbers.
local function is_function_of_list(message, name, line, level)
    if not name or not core.methods[name] or not message:find("field '", 1, true) then return false end
    local receiver = (line or ""):match("([%a_][%w_]*)%s*%.%s*" .. name .. "%f[^%w_]")
    local value = receiver and source.variable(receiver, level + 1)
    return type(value) == "table" and debug.getmetatable(value) == nil and type(value[1]) == "number"
end

--- live:push(3): what an object of the library has; nil of one of the user's.
local function methods_of(meta, message)
    local index, names = type(meta) == "table" and rawget(meta, "__index"), {}
    for name, f in next, type(index) == "table" and index or {} do
        if type(f) == "function" and not core.is_library(f) then return nil end
        if type(name) == "string" and not name:find "^_" then names[#names + 1] = name end
    end
    table.sort(names)
    return names[1] and ("%s; it has %s"):format(message, table.concat(names, ", ")) or nil
end

--- t:append(4), t.insert(4): tables have no methods of their own; opt:step().
local function called_nothing(message)
    local name = message:match "attempt to call %a+ '([%w_]+)' %(a [%w]+ value%)"
    local remedy = name and (LISTS[name] or rawget(table, name) and ("table.%s(t, …)"):format(name))
    remedy = remedy and "of a table it is " .. remedy or TRAINING[name] and "here it is " .. TRAINING[name]
    local line, level = source.current()
    local is_list = is_function_of_list(message, name, line, level)
    if is_list and not LISTS[name] then return ("%s; of a table it is np.%s(np.array(t))"):format(message, name) end
    if not remedy then
        local found = list_for_array(message, line or "", name, level) -- no tail call, which would lose a level
        return found
    end
    local receiver = line and line:match("([%a_][%w_]*)%s*[%.:]%s*" .. name .. "%s*[%({\"']")
    local value = receiver and source.variable(receiver, level)
    if type(value) ~= "table" then return nil end
    local meta = debug.getmetatable(value)
    if type(meta) == "table" and rawget(meta, name) then return nil end -- a class without __index (misuse.lua)
    if meta ~= nil and not TRAINING[name] then return methods_of(meta, message) end
    return ("%s; %s"):format(message, remedy)
end

--- len(t), jnp.ones(2), "he said "hi"": a global variable that has no value.
local function missing_global(message)
    local name = message:match "^[^\n]-attempt to [%a ]- global '([%w_]+)' %(a nil value%)$"
    local line = name and source.current()
    if not line then return nil end
    local quote = line:match("([\"'])" .. name .. "%1") or line:match("([\"'])" .. name .. "%f[^%w_]")
    if quote and name ~= "f" then return message .. "; " .. require("neap.interp.mistakes").apostrophe(quote, name) end
    local hint = require("neap.interp.strict").hint(name)
    local of_prompt = hint:find "^; [:!]" or hint:find "^; Ctrl" -- and this is a script
    return hint ~= "" and not of_prompt and message .. hint or nil
end

local function bad_operand(message)
    if message:find("(a table value)", 1, true) then
        return message .. "; np.array(t) is an array of its numbers, and np.tree.map(f, t) takes each array in it"
    elseif message:find("string value", 1, true) then
        local line = source.current()
        if line and line:find "[\"']%s*%%%s*[%a_%(%d]" then
            return message .. '; ("%d"):format(n) puts values into a text, and np.printf those of arrays'
        end
        local repeated = line and line:find("*", 1, true) and " (\"x\"):rep(3) repeats one," or ""
        return ("%s; .. puts texts together,%s and tonumber(text) is a number"):format(message, repeated)
    end
end

--- for k = 1, x do
local function bad_limit(message)
    local line, level = source.current()
    if not line then return nil end
    for bound in ((line:match "for%s+[%a_][%w_]*%s*=%s*(.-)%s+do%f[%W]" or "") .. ","):gmatch "%s*(.-)%s*," do
        local value = bound:find "^[%a_][%w_]*$" and source.variable(bound, level)
        if is_array(value) then
            local what = value.size == 1 and "its number is %s:item()" or "its length is #%s"
            return ("%s; '%s' is an array, "):format(message, bound) .. what:format(bound)
        end
        local receiver, method = bound:match "^([%a_][%w_]*)[:%.]([%a_][%w_]*)"
        local made = receiver == "np" and bound:find "[%)}]$" -- by a function of np
        if made or method and core.methods[method] and is_array(source.variable(receiver, level)) then
            return ("%s; the number in an array is %s:item()"):format(message, bound)
        end
    end
end

local function of_kind(message)
    if message:find("got cdata)", 1, true) then return bad_argument(message) end
    if message:find("invalid value (cdata)", 1, true) then
        return (message:gsub("%(cdata%)", "(an array)")) .. "; tostring(x) is the text of an array"
    end
    if message:find("attempt to call ", 1, true) then
        return called_field(message) or called_nothing(message) or walked_table(message) or walked_number(message)
    end
    if message:find("attempt to index ", 1, true) then return indexed_function(message) or indexed_nothing(message) end
    if message:find("attempt to perform arithmetic", 1, true) then return bad_operand(message) end
    if message:find("'for' ", 1, true) then return bad_limit(message) end
end

--- A message about cdata, a call, an operand, a loop or a variable without a value, and what is to be said in its
-- place; nil: what it says is all.
function slips.explain(message)
    local misuse = require "neap.interp.misuse"
    local missing = message:find("not found:", 1, true) and misuse.module(message)
    if missing then return missing end
    if #message > source.LONGEST then return nil end
    return misuse.hidden(message) or misuse.called(message) or of_kind(message) or misuse.explain(message)
        or missing_global(message)
end

--- Replaces tonumber by one that knows arrays of one element, once.
function slips.install()
    local raw = tonumber
    function shared._G.tonumber(...)
        local x = ...
        if not is_array(x) then return raw(...) end
        if x.size ~= 1 then return nil end -- as of all that is no number
        local value = core.item(x)
        if type(value) == "boolean" then return value and 1 or 0 end
        return value
    end
end

return slips
