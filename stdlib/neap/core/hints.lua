--- hints.lua: what messages say of mistakes that are known: the remedy, in the user's words where they can be read.
--
-- Loaded at the first such mistake. Nothing here raises; what cannot be found out is left out of the message.
local core = require "neap.core.binding"
local suggest = require "neap.core.suggest"
local source = require "neap.core.source"
local aliases = require "neap.core.aliases"

local is_array = core.is_array
local hints = {}

-- ---- Keys beside a list ---------------------------------------------------------------------------------------------

--- {2, 3} of a list of numbers and texts, short.
local function list_text(list)
    local texts = {}
    for k = 1, math.min(#list, 6) do
        local plain = type(list[k]) == "number" or type(list[k]) == "string"
        texts[k] = plain and (type(list[k]) == "string" and "%q" or "%.14g"):format(list[k]) or "…"
    end
    return "{" .. table.concat(texts, ", ") .. (#list > 6 and ", …" or "") .. "}"
end

--- What a list has beside its items, `what` being its name in the message; nil: nothing.
function hints.stray(what, list)
    local n, stray = #list, {}
    for key, value in pairs(list) do
        local item = type(key) == "number" and key >= 1 and key <= n and key % 1 == 0
        if not item and not (key == "n" and value == n) then stray[#stray + 1] = key end
    end
    table.sort(stray, function(a, b) return tostring(a) < tostring(b) end)
    local key = stray[1]
    if key == nil then return nil end
    if type(key) == "number" and key > n then
        return ("item %d of %s is nil, and the table goes on behind it"):format(n + 1, what)
    end
    local shown = type(key) == "string" and ("%q"):format(key) or tostring(key)
    if type(key) ~= "string" or not what:find "^the " then
        return ("%s has the key %s beside its items"):format(what, shown)
    end
    local value = type(list[key]) == "string" and ("%q"):format(list[key]) or core.describe(list[key])
    if type(list[key]) == "number" or type(list[key]) == "boolean" then value = tostring(list[key]) end
    return ("%s has the key %s; options come behind it: %s, {%s=%s}"):format(what, shown, list_text(list), key, value)
end

--- What to say of a text that np.array is given: [[1, 2], [3, 4]] is one in Lua.
function hints.text(text)
    local is_list = #text <= source.LONGEST and text:find "^[%d%s%.,eE+%-%[%]]*%d[%d%s%.,eE+%-%[%]]*$"
    local line = is_list and source.current()
    if line and line:find("[[", 1, true) then
        local items = text:gsub("%]%s*,%s*%[", "}, {"):gsub("[%[%]]", "")
        return ("argument 1 (data) is a string: [[…]] is a text in Lua; lists go in braces: np.array{{%s}}")
            :format(items)
    end
    return "argument 1 (data) is a string; np.frombuffer(s, {dtype=\"u8\"}) gives its bytes, tonumber(s) the number "
        .. "that it names, np.table has columns of texts"
end

-- ---- Comparisons ----------------------------------------------------------------------------------------------------

local METHODS = { ["<"] = "lt", ["<="] = "le", [">"] = "gt", [">="] = "ge", ["=="] = "eq", ["~="] = "ne" }
local MIRRORED = { ["<"] = ">", ["<="] = ">=", [">"] = "<", [">="] = "<=", ["=="] = "==", ["~="] = "~=" }
-- Lua calls one function for both: of < and >, with the operands swapped, of == and ~=, as they are.
local WRITTEN = { lt = { "<", ">" }, le = { "<=", ">=" }, eq = { "==", "~=" } }

--- Which of the operators that a metamethod stands for the user's line has; nil if it has both, or cannot be read. One
-- that has neither called a function that compares.
local function written(method)
    local line, found = source.current(), {}
    for operator in (line or ""):gmatch "[<>=~]=?" do found[operator] = true end
    local a, b = WRITTEN[method][1], WRITTEN[method][2]
    if not line or found[a] and found[b] then return nil end
    return found[b] and b or a
end

local function number_text(value)
    return ("%.14g"):format(value)
end

--- The operator of a comparison with its operands in words, an array in front; nil: which it is cannot be found out.
local function comparison_of(method, a, b)
    local operator = written(method)
    if is_array(a) and is_array(b) then return operator, "y" end
    local first, other = is_array(a), is_array(a) and b or a
    if method == "eq" then return operator, number_text(other) end
    local straight = WRITTEN[method][1]
    local in_order = first and straight or MIRRORED[straight] -- as if the array stood on the left
    return in_order, number_text(other), operator or in_order
end

--- What a comparison of a and b by one of Lua's operators, of which at least one is an array, should have been.
function hints.comparison(method, a, b)
    local against = b -- what is no array, if one is none
    if not is_array(a) then against = a end
    if is_array(a) ~= is_array(b) and type(against) ~= "number" then
        return ("an array is compared with %s; it must be an array or a number"):format(core.describe(against))
    end
    local operator, other, shown = comparison_of(method, a, b)
    local traced, single = false, true
    for _, x in ipairs { is_array(a) and a or false, is_array(b) and b or false } do
        if x then
            local known = core.info(x)
            traced, single = traced or known.traced ~= 0, single and tonumber(known.size) == 1
        end
    end
    local calls, operators = {}, operator and { operator } or WRITTEN[method]
    for k, each in ipairs(operators) do calls[k] = ("x:%s(%s)"):format(METHODS[each], other) end
    local name, call = "'" .. (shown or table.concat(operators, "' or '")) .. "'", table.concat(calls, " or ")
    if traced then
        return ("%s compares an array whose value is not known while tracing; use %s, which gives an array, with "
                .. "np.cond or np.where, or list the argument in {static={…}}"):format(name, call)
    end
    if single then
        local value = other == "y" and "y:item()" or other
        return ("%s cannot compare an array; its value can be: x:item() %s %s (%s gives an array)")
            :format(name, operators[1], value, call)
    end
    return ("%s cannot give an array in Lua; use %s for elements, np.array_equal(x, y) for a boolean")
        :format(name, call)
end

-- ---- Names ----------------------------------------------------------------------------------------------------------

--- What stands in the place of rand(3, 4), whose arguments are a shape, with the shape of the user's line.
function hints.with_shape(there, name)
    if name ~= "rand" and name ~= "randn" then return there end
    local shape = (source.current() or ""):match("%f[%w_]" .. name .. "%s*%(%s*([%w_][%w_%s,]-)%s*%)")
    return shape and there:gsub("{3}", "{" .. shape .. "}") or there
end

--- "np has no 'reshap'; …" for a name that a table of the library's does not have. `path` is "np" or "np.random".
function hints.name(path, name, holders)
    local below = path == "np" and "" or path:sub(4) .. "."
    local there = aliases.functions[below .. name] or aliases.of(below .. name) or aliases.functions[name]
    if there then return ("%s has no '%s'; here it is %s"):format(path, name, hints.with_shape(there, name)) end
    local why = aliases.why(below .. name)
    if why then return ("%s has no '%s': %s"):format(path, name, why) end
    if path == "np" and core.dtype_codes[name] then
        return ("np has no '%s': dtypes are texts, as in x:astype(\"%s\")"):format(name, name)
    end
    if path ~= "np" and (rawget(core.np, name) ~= nil or getmetatable(core.np).__late[1][name]) then
        return ("%s has no '%s'; here it is np.%s"):format(path, name, name)
    end
    there = aliases.elsewhere(name)
    if there then return ("%s has no '%s'; here it is %s"):format(path, name, there) end
    return ("%s has no '%s'%s"):format(path, name, suggest.hint(name, holders, path .. "."))
end

--- "; here it is t:sort(by)" for a method of another library's tables, or nothing.
function hints.table_member(name)
    local there = aliases.tables[name]
    return there and ("; here it is %s"):format(there) or ""
end

--- A remedy for an index with texts among its items: one text of all; "" where no text says the same.
function hints.index_text(items)
    local parts, texts = {}, 0
    for k, item in ipairs(items) do
        local is_text = type(item) == "string"
        if not is_text and not (type(item) == "number" and item % 1 == 0) then return "" end
        parts[k], texts = tostring(item), texts + (is_text and 1 or 0)
    end
    return texts == 0 and "" or ('; one text has them all: x"%s"'):format(table.concat(parts, ", "))
end

--- A remedy for an index in text form, "1:3" of Python, of a list or a text; nil: the value is none of these.
function hints.part_of_list(name, value, text)
    local is_list = type(value) == "table" and debug.getmetatable(value) == nil
    if not is_list and type(value) ~= "string" then return nil end
    local from, to = text:match "^%s*(%-?%d*)%s*:%s*(%-?%d*)%s*$"
    local last = tonumber(to)
    from = tonumber(from == "" and "0" or from or nil)
    local is_plain = from and (last or to == "")
    if is_list then
        if not is_plain or from < 0 or last and last < 0 then
            return ("{unpack(%s, from, to)} is a part of a table"):format(name)
        end
        local ends = last and (", %d"):format(last) or ""
        return ("a part of a table is {unpack(%s, %d%s)}: tables count from 1"):format(name, from + 1, ends)
    end
    if not is_plain then return ("%s:sub(from, to) is a part of a text"):format(name) end
    local ends = last and (", %d"):format(last < 0 and last - 1 or last) or ""
    return ("a part of a text is %s:sub(%d%s): characters count from 1"):format(name, from < 0 and from or from + 1,
        ends)
end

--- The same as hints.name of a method or field of an array.
function hints.member(name, methods, fields)
    if name == "_id" then return "expected an array, got their C type" end -- of arrays it is a field
    local text = ("arrays have no field or method '%s'"):format(name)
    local there = aliases.methods[name] or aliases.of(name)
    local changed = not there and name:match "^(.-)_$" -- x:add_(1) of PyTorch
    if changed and methods[changed] then there = ("x = x:%s(…): arrays never change"):format(changed) end
    if there then return ("%s; here it is %s"):format(text, there) end
    local _, level = source.current()
    if level and is_array(source.variable("self", level)) then
        return ("%s; self is an array here: methods are called with a colon, as in model:%s(x)"):format(
            text, (debug.getinfo(level, "n") or {}).name or "forward")
    end
    local found = #name > 1 and suggest.name(name, { methods, fields })
    if not found then return text end
    return ("%s; did you mean %s?"):format(text, methods[found] and "x:" .. found .. "(…)" or "x." .. found)
end

--- What the dtype of this name is called here.
function hints.dtype(name)
    local there = aliases.dtypes[name]
    return there and ("; did you mean %q?"):format(there) or ""
end

-- ---- Arguments ------------------------------------------------------------------------------------------------------

-- Functions that make a function of a function.
local MAKERS = { grad = true, value_and_grad = true, jacobian = true, jacfwd = true, jacrev = true, hessian = true,
                 vmap = true, jit = true, checkpoint = true }

local function is_dtype(value)
    return type(value) == "string" and (aliases.dtypes[value] or value == "bool" or value:find "^[a-z]+%d+$")
end

-- Options that take a number, and a text, where functions of other libraries have them as arguments.
local NUMBERS, TEXTS = { "lr", "ord", "axis", "bins" }, { "on", "ord", "label", "mode" }

--- An options table that the function has, with the value in it if that fits: {dtype="f64"}.
local function example(value, known)
    if known.dtype and is_dtype(value) then return ("{dtype=%q}"):format(aliases.dtypes[value] or value) end
    local kind = type(value)
    for _, option in ipairs(kind == "number" and NUMBERS or kind == "string" and TEXTS or {}) do
        if known[option] then return (kind == "number" and "{%s=%.14g}" or "{%s=%q}"):format(option, value) end
    end
    local names = {}
    for option in pairs(known) do names[#names + 1] = option end
    table.sort(names)
    return ("{%s=…}"):format(known.axis and "axis" or known.dtype and "dtype" or names[1] or "name")
end

--- What np.name, which was given `value` for its options, should have been given.
function hints.options(name, value, known)
    if MAKERS[name] and not is_dtype(value) then
        return ("options must be a table such as %s, got %s; np.%s(f) gives a function: np.%s(f)(x)")
            :format(example(nil, known), core.describe(value), name, name)
    end
    local text = ("options must be a table such as %s, got %s"):format(example(value, known), core.describe(value))
    if type(value) == "number" and name:find "^random%." then return text .. "; the shape is one table: {3, 4}" end
    return name == "array" and text .. "; the elements go into one table: np.array{1, 2, 3}" or text
end

--- What an unknown option of np.name may have meant, behind the list of those that there are.
function hints.option(name, key, known)
    if type(key) == "number" then return ("; options have names, as in %s"):format(example(nil, known)) end
    local there = aliases.options[key]
    if there and known[there] then return "; here it is " .. there end
    if there and there:find " " then return "; " .. there end
    local hint = suggest.hint(key, { known })
    if hint == "" and MAKERS[name] then hint = ("; np.%s(f) gives a function: np.%s(f)(…)"):format(name, name) end
    return hint
end

--- The help of np.name; nil: there is none.
local function entry_of(name)
    for _, entry in ipairs(require("neap.help_gen").entries) do
        if entry.names[1] == "np." .. name then return entry end
    end
end

--- "; options have names: {minval=…, maxval=…}" for one argument more than np.name takes, which is no table; nothing
-- where it has no options.
function hints.surplus(name, extra)
    if type(extra) == "table" then return "" end
    if name == "item" then
        local index = type(extra) == "number" and ("%.14g"):format(extra) or "{…}"
        return ("; the number in an element is x[%s]:item()"):format(index)
    end
    local entry, names = entry_of(name), {}
    for _, option in ipairs(entry and entry.options or names) do
        if option.option then names[#names + 1] = option.name .. "=…" end
    end
    return #names > 0 and ("; options have names: {%s}"):format(table.concat(names, ", ")) or ""
end

--- "; np.random.normal(key, shape, {dtype=…}) is the call": how np.name is called, or nothing.
function hints.signature(name)
    local entry = entry_of(name)
    return entry and ("; %s is the call"):format(entry.signatures[1]) or ""
end

--- "; np.grad(loss)(p) takes the function": for np.name, which was given what a function gives in its place.
function hints.called_function(name, value)
    if not is_array(value) and type(value) ~= "number" then return hints.signature(name) end
    local line = source.current() or ""
    local f, given, behind = line:match("np%." .. name .. "%(%s*([%a_][%w_%.]*)%s*(%b())%s*(.?)")
    if f and behind == ")" then return ("; np.%s(%s)%s takes the function, not its value"):format(name, f, given) end
    if f and behind == "," then return ("; np.%s(%s, …)%s takes the function, not its value"):format(name, f, given) end
    return MAKERS[name] and ("; np.%s(f)(x) takes the function, not its value"):format(name) or hints.signature(name)
end

-- ---- Changed parts --------------------------------------------------------------------------------------------------

local PLAIN_INDEX = "^[%w_%s,%+%-]+$"
local LONGEST_VALUE = 40 -- bytes of what is assigned

--- What to write in place of x[0] = 5, in the names of the user's line.
function hints.changed_part()
    local general = "x:at{…}:set(v) returns a changed copy"
    local line, level = source.current()
    local name, inside, value = (line or ""):match "^%s*([%a_][%w_]*)%s*%[%s*(.-)%s*%]%s*=%s*([^=].-)%s*;?%s*$"
    if not name or #value > LONGEST_VALUE or value:find "[\"']" then return general end
    local items = inside:match "^{(.*)}$" or inside
    if not items:find(PLAIN_INDEX) then return general end
    local index = source.variable(items, level)
    if is_array(index) and core.dtype_of(index).kind == "b" then
        return ("a changed copy is %s = np.where(%s, %s, %s)"):format(name, items, value, name)
    end
    return ("a changed copy is %s = %s:at{%s}:set(%s)"):format(name, name, items, value)
end

--- The field of a variable that is a table of Lua's, or a column of an np.table.
local function field_of(value, name)
    if type(value) == "table" then return rawget(value, name) end
    local meta = type(value) == "userdata" and debug.getmetatable(value)
    local members = type(meta) == "table" and rawget(meta, "__members")
    return members and rawget((members(value)), name)
end

--- "; methods take a colon: x:sum()" if the user's line calls the method `name` of an array by a dot; else nothing.
function hints.dot(name)
    local short = name and name:match "[%w_]+$"
    if not short then return "" end
    local line, level = source.current()
    if not line then return "" end
    for place, receiver, method, rest in line:gmatch "()([%a_][%w_]*)%.([%a_][%w_]*)%s*([%({]?.?)" do
        local alone = place == 1 or not line:sub(place - 1, place - 1):find "[%.:%w_]"
        if alone and core.methods[method] and (method == short or core.methods[method] == core.methods[short])
            and is_array(source.variable(receiver, level)) then
            local call = rest:sub(1, 1) == "{" and "{…}" or rest == "()" and "()" or "(…)"
            return ("; methods take a colon: %s:%s%s"):format(receiver, method, call)
        end
    end
    for receiver, method in line:gmatch "%f[%w_%.:]([%a_][%w_]*)%.([%a_][%w_]*)%s*%(%s*%)" do -- x.flatten()
        if core.methods[method] and is_array(source.variable(receiver, level)) then
            return ("; methods take a colon: %s:%s()"):format(receiver, method)
        end
    end
    for head, field, method in line:gmatch "%f[%w_%.:]([%a_][%w_]*)%.([%a_][%w_]*)%.([%a_][%w_]*)%s*[%({]" do
        if method == short and core.methods[method] and is_array(field_of(source.variable(head, level), field)) then
            return ("; methods take a colon: %s.%s:%s(…)"):format(head, field, method) -- t.price.max()
        end
    end
    if core.methods[short] and line:find("[%)}%]]%." .. short .. "%s*%(") then -- f(x).copy()
        return ("; methods take a colon: …:%s(…)"):format(short)
    end
    return ""
end

--- The name of a variable in brackets in the user's line, if there is just one that is nil: x[name]. Else nil.
function hints.nil_index()
    local line, level = source.current()
    local found
    for name in (line or ""):gmatch "%[%s*([%a_][%w_]*)%s*%]" do
        if name ~= "nil" and source.variable(name, level) == nil then
            if found and found ~= name then return nil end
            found = name
        end
    end
    return found
end

for _, f in pairs(hints) do jit.off(f) end

return hints
