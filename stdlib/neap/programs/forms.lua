--- forms.lua: how the arguments of a jitted function are put together, and code for them.
--
-- A *form* is the tree of the arguments with arrays and numbers taken out, which are its *leaves*, in order:
--
--      f({ w = x, n = 3 }, "sum")  ─▶  argument 1: table { n: number 1, w: array 2 }, argument 2: constant "sum"
--
-- Strings, booleans and static values are constants of the form: other ones are another form. Its key is a text. For a
-- form there is generated code, since a general walk over the arguments costs ten times a call of a small program:
-- checking that arguments have the form and passing the leaves to the core; and putting results together. That code
-- calls no function of the user, so LuaJIT may compile it.
local ffi = require "ffi"
local core = require "neap.core"
local trees = require "neap.core.trees"
local capture = require "neap.tracing.capture"
local staging = require "neap.tracing.staging"

local is_array, raise, describe = core.is_array, core.raise, core.describe
local SLOT = staging.SLOT
local type, pairs, tostring = type, pairs, tostring

local forms = {}

local MOST_DIRECT = core.C.NEAP_JIT_DIRECT -- leaves that are arguments of one C call
local MOST_PARAMETERS = 60                 -- of a generated function; more arguments come as a list
local MOST_CAPTURES = 32                   -- a Lua function can have 60 upvalues
local LEAST_LOOP = 8                       -- arrays in a row that are passed by a loop
local LEAST_KEYS = 32                      -- the same with other keys; of more lines LuaJIT soon compiles no trace
local MOST_DEPTH = 100
local CHUNK = debug.getinfo(1, "S").source

-- ---- Analysis -------------------------------------------------------------------------------------------------------

--- A constant in keys: numbers, strings and booleans by value, all else by identity. `identities` numbers the latter.
local function constant_key(value, identities)
    local kind = type(value)
    if kind == "number" then return ("%.17g"):format(value) end
    if kind == "string" then return ("%q"):format(value) end
    if kind == "boolean" or value == nil then return tostring(value) end
    if not identities[value] then
        identities.n = identities.n + 1
        identities[value] = identities.n
    end
    return kind .. identities[value]
end

local analyse

local function analyse_table(a, value, node, depth)
    if depth > MOST_DEPTH then raise(a.name, "argument %d is nested more than %d deep", node.position, MOST_DEPTH) end
    node.kind, node.list, node.keys, node.items = "table", #value, {}, {}
    local parts, keys = a.parts, node.keys
    node.class = trees.class_of(value)
    parts[#parts + 1] = node.class and node.class.__tree .. "{" or "{"
    for k = 1, node.list do keys[k] = k end
    local names
    for key in pairs(value) do
        if type(key) == "string" then
            names = names or {}
            names[#names + 1] = key
        elseif type(key) ~= "number" or key < 1 or key > node.list or key % 1 ~= 0 then
            raise(a.name, "argument %d has a key that is neither a string nor in 1..%d: %s", node.position, node.list,
                  describe(key))
        end
    end
    if names then
        table.sort(names)
        for k = 1, #names do keys[#keys + 1] = names[k] end
    end
    for k = 1, #keys do
        local key = keys[k]
        if k > node.list then parts[#parts + 1] = ("%q="):format(key) end
        local item = { position = node.position, parent = node, key = key }
        node.items[k] = item
        analyse(a, value[key], item, depth + 1, depth == 0 and a.is_static[key])
    end
    parts[#parts + 1] = "}"
end

--- Fills in the node of a value. a: { name, parts, leaves, identities, is_static }.
function analyse(a, value, node, depth, is_static)
    local parts = a.parts
    if is_static then
        node.kind, node.value, node.static = "constant", value, true
        parts[#parts + 1] = "=" .. constant_key(value, a.identities)
    elseif is_array(value) or type(value) == "number" and not a.fixes_numbers then
        node.kind = type(value) == "number" and "number" or "array"
        a.leaves[#a.leaves + 1] = value
        a.nodes[#a.leaves] = node
        node.leaf = #a.leaves
        parts[#parts + 1] = node.kind == "number" and "#" or "A"
    elseif trees.is_node(value) then
        analyse_table(a, value, node, depth)
    elseif type(value) == "string" or type(value) == "boolean" or type(value) == "number" or value == nil then
        node.kind, node.value = "constant", value
        parts[#parts + 1] = constant_key(value)
    else
        raise(a.name, "argument %d must hold arrays, numbers, strings and booleans, got %s; list it in {static={…}} if "
              .. "it does not change", node.position, describe(value))
    end
    parts[#parts + 1] = ","
end

-- The packaged LuaJIT's compiled loops over the keys of a table leave some out now and then (tools/luajit-patches, 16);
-- a form without two leaves of a tree was met. What is analysed is recorded next: that takes longer.
jit.off(analyse_table)
jit.off(analyse)

--- The form of packed arguments: { key, n, arguments = nodes, nodes = the node of each leaf }, and the list of leaves.
-- options: name, of the public function; is_static, by position, or by name for the keys of tables that are arguments;
-- is_donated and is_kept, by position; fixes_numbers: all numbers are static; labels: what arguments are called.
function forms.analyse(given, options, identities)
    local a = { name = options.name, parts = {}, leaves = {}, nodes = {}, identities = identities,
                is_static = options.is_static, fixes_numbers = options.fixes_numbers }
    local form = { n = given.n, arguments = {}, nodes = a.nodes }
    for k = 1, given.n do
        local label = options.labels and options.labels[k] or "argument " .. k
        local node = { position = k, label = label, donated = options.is_donated[k], kept = options.is_kept[k] }
        form.arguments[k] = node
        analyse(a, given[k], node, 0, a.is_static[k])
    end
    form.key = table.concat(a.parts)
    return form, a.leaves
end

--- "argument 2.layers[1].w": where a node is.
function forms.path(node)
    local steps = {}
    local at = node
    while at.parent do
        local key = at.key
        table.insert(steps, 1, type(key) == "number" and ("[%d]"):format(key) or "." .. key)
        at = at.parent
    end
    return at.label .. table.concat(steps)
end

-- ---- In words -------------------------------------------------------------------------------------------------------

local text_room = ffi.new("char[256]")

--- What the core knows of an array in a few letters: "f32[2,3]", "number", "f32[2]@1", "f32[8,4]{i,-}".
function forms.array_text(info)
    if info.weak ~= 0 then return "number" end
    local extents = {}
    for k = 1, info.ndim do extents[k] = tostring(tonumber(info.shape[k - 1])) end
    local place = info.committed ~= 0 and "@" .. info.device or ""
    local lies = ""
    if info.sharding ~= 0 then
        core.C.neap_sharding_text(info.sharding, info.ndim, text_room, ffi.sizeof(text_room))
        lies = ffi.string(text_room)
    end
    return core.dtypes[info.dtype].name .. place .. "[" .. table.concat(extents, ",") .. "]" .. lies
end

local function constant_text(value)
    if type(value) == "string" then return ("%q"):format(value) end
    if type(value) == "number" then return ("%.14g"):format(value) end
    return tostring(value)
end

--- A node in words; leaf_text(k) those of leaf k.
local function node_text(node, leaf_text)
    if node.kind == "array" then return leaf_text(node.leaf) end
    if node.kind == "number" then return "number" end
    if node.kind == "constant" then return constant_text(node.value) end
    local parts = {}
    for k, item in ipairs(node.items) do
        local name = type(item.key) == "number" and "" or item.key:match "^[%a_][%w_]*$" or ("[%q]"):format(item.key)
        parts[k] = (name == "" and "" or name .. "=") .. node_text(item, leaf_text)
    end
    return (node.class and node.class.__tree or "") .. "{" .. table.concat(parts, ", ") .. "}"
end

--- The arguments in words: "{b=f32[3], w=f32[2,3]}, number".
function forms.text(form, leaf_text)
    local parts = {}
    for k = 1, form.n do parts[k] = node_text(form.arguments[k], leaf_text) end
    return table.concat(parts, ", ")
end

local kinds = { array = "an array", number = "a number", table = "a table" }

local function kind_text(node)
    return node.kind == "constant" and constant_text(node.value) or node.class and node.class.__tree or kinds[node.kind]
end

local function keys_difference(old, new)
    local had, has = {}, {}
    for _, key in ipairs(old.keys) do had[key] = true end
    for _, key in ipairs(new.keys) do has[key] = true end
    for _, key in ipairs(new.keys) do
        if not had[key] then
            return ("%s has the key %s, which it had not"):format(forms.path(new), constant_text(key))
        end
    end
    for _, key in ipairs(old.keys) do
        if not has[key] then
            return ("%s has no key %s any more"):format(forms.path(new), constant_text(key))
        end
    end
end

local function node_difference(old, new)
    if old.kind ~= new.kind or old.class ~= new.class then
        return ("%s was %s and is %s"):format(forms.path(new), kind_text(old), kind_text(new))
    end
    if old.kind == "constant" and not rawequal(old.value, new.value) then
        return ("%s%s was %s and is %s"):format(new.static and "static " or "", forms.path(new),
                                               constant_text(old.value), constant_text(new.value))
    end
    if old.kind ~= "table" then return nil end
    local problem = keys_difference(old, new)
    for k = 1, #new.items do
        if problem then break end
        problem = node_difference(old.items[k], new.items[k])
    end
    return problem
end

--- What the first difference between two forms is, in words; nil if there is none.
function forms.difference(old, new)
    if old.n ~= new.n then return ("there were %d arguments and are %d"):format(old.n, new.n) end
    for k = 1, new.n do
        local problem = node_difference(old.arguments[k], new.arguments[k])
        if problem then return problem end
    end
end

-- ---- Generated code: calls ------------------------------------------------------------------------------------------

local Writer = {}
Writer.__index = Writer

function Writer:put(format, ...)
    self.lines[#self.lines + 1] = format:format(...)
end

--- The expression of a constant.
function Writer:constant(value)
    local n = self.constants.n + 1
    self.constants.n, self.constants[n] = n, value
    return ("K[%d]"):format(n)
end

function Writer:leaf(node, expression)
    local leaf = node.leaf
    self:put("x = %s", expression)
    self:put(node.kind == "array" and "if not istype(Handle, x) then return miss[1](%s) end"
             or "if type(x) ~= 'number' then return miss[1](%s) end", self.parameters)
    if self.direct then
        self:put("local x%d = x", leaf)
    elseif node.kind == "array" then
        self:put("ids[%d] = x._id", leaf - 1)
    else
        self:put("numbers[%d] = x", leaf - 1)
    end
end

--- Arrays of a table, items `first` to `last`, whose leaves are in a row, too: one loop instead of a line for each.
-- keys: the name of a list of their keys; nil: the arrays are elements 1 to `last` of the table.
function Writer:loop(node, name, first, last, keys)
    self:put("for k = 1, %d do", last - first + 1)
    self:put(keys and "x = %s[%s[k]]" or "x = %s[k]", name, keys)
    self:put("if not istype(Handle, x) then return miss[1](%s) end", self.parameters)
    self:put("ids[k + %d] = x._id", node.items[first].leaf - 2)
    self:put("end")
end

--- The last of the items from `first` on that are arrays one after the other.
local function end_of_arrays(node, first)
    local last = first
    while node.items[last] and node.items[last].kind == "array" do last = last + 1 end
    return last - 1
end

function Writer:node(node, expression)
    if node.kind == "constant" then
        self:put("if not rawequal(%s, %s) then return miss[1](%s) end", expression, self:constant(node.value),
                 self.parameters)
    elseif node.kind ~= "table" then
        self:leaf(node, expression)
    else
        self:tree(node, expression)
    end
end

function Writer:tree(node, expression)
    self.tables = self.tables + 1
    local name = "t" .. self.tables
    if not self.direct then self:put("do") end
    self:put("local %s = %s", name, expression)
    self:put("if type(%s) ~= 'table' or getmetatable(%s) ~= %s then return miss[1](%s) end", name, name,
             node.class and self:constant(node.class) or "nil", self.parameters)
    self:put("n = 0 for _ in pairs(%s) do n = n + 1 end", name)
    self:put("if n ~= %d then return miss[1](%s) end", #node.items, self.parameters)
    self:items(node, name)
    if not self.direct then self:put("end") end
end

--- An item, or a row of arrays; returns the number of the item behind it.
function Writer:item(node, name, first)
    local last = self.direct and 0 or end_of_arrays(node, first)
    local is_list = first == 1 and last == node.list
    if last - first + 1 >= (is_list and LEAST_LOOP or LEAST_KEYS) then
        local keys
        if not is_list then
            keys = {}
            for k = first, last do keys[#keys + 1] = node.items[k].key end
            self:put("do local keys = %s", self:constant(keys))
        end
        self:loop(node, name, first, last, keys and "keys")
        if keys then self:put("end") end
        return last + 1
    end
    local item = node.items[first]
    self:node(item, ("%s[%s]"):format(name, type(item.key) == "number" and item.key or ("%q"):format(item.key)))
    return first + 1
end

function Writer:items(node, name)
    local k = 1
    while node.items[k] do k = self:item(node, name, k) end
end

--- Variables around the function, behind the leaves; what is no array is passed as none.
function Writer:captures(first, places)
    for k, place in ipairs(places) do
        local leaf = first + k
        self:put("x = %s", place.index and "c" .. k
                 or ("rawget(%s, %s)"):format(self:constant(place.environment), self:constant(place.name)))
        if self.direct then
            self:put("if not istype(Handle, x) then x = nil end local x%d = x", leaf)
        else
            self:put("if istype(Handle, x) then ids[%d] = x._id else ids[%d] = 0 end", leaf - 1, leaf - 1)
        end
    end
end

local function count_tables(node)
    if node.kind ~= "table" then return 0 end
    local n = 1
    for _, item in ipairs(node.items) do n = n + count_tables(item) end
    return n
end

local function writer_of(form, leaves)
    local tables, names = 0, {}
    for k = 1, form.n do
        tables = tables + count_tables(form.arguments[k])
        names[k] = "a" .. k
    end
    local few = form.n <= MOST_PARAMETERS
    return setmetatable({ lines = {}, constants = { n = 0 }, tables = 0, parameters = few and table.concat(names, ", ")
                          or "...", direct = few and leaves <= MOST_DIRECT and tables <= 40 }, Writer)
end

local HEAD = "local call, again, form, ids, numbers, Handle, istype, wrap, fills, finish, miss, site, holds, slow, K, "
    .. "type, getmetatable, pairs, rawequal, rawget = ..."

--- The text of the function for a form: see forms.compile.
local function call_code(form, places, donates, guarded)
    local w, n = writer_of(form, #form.nodes + #places), {}
    w:put(HEAD)
    for k = 1, #places do n[k] = "c" .. k end
    if #places > 0 then w:put("local %s", table.concat(n, ", ")) end
    w:put("return function(%s)", w.parameters)
    if guarded then w:put("if not holds[1]() then return slow(%s) end", w.parameters) end
    w:put("local x, n")
    if w.parameters == "..." and form.n > 0 then
        w:put("local t = {...}")
        w:items({ items = form.arguments, list = form.n }, "t")
    else
        for k = 1, form.n do w:node(form.arguments[k], "a" .. k) end
    end
    w:captures(#form.nodes, places)
    if donates then w:put("site()") end
    local passed = { "form" }
    for k = 1, w.direct and #form.nodes + #places or 0 do passed[k + 1] = "x" .. k end
    w:put("n = %s(%s)", w.direct and "call" or "again", table.concat(passed, ", "))
    w:put("if n > 0 then return wrap(n) end")
    w:put("if n < 0 then return fills[-n]() end")
    w:put("return finish(%s)", w.parameters)
    w:put("end")
    return table.concat(w.lines, "\n"), w.constants
end

--- A function that takes arguments of the form and runs what was recorded for them, or nil if there is too much of it
-- for one Lua function. cform: the core's form, whose leaves are those of `form`, then one for each place (capture).
-- use: { fills = results by number of an entry, finish = called with the arguments after what the fast path cannot do,
-- miss = { what is called if the arguments have another form }, site = called before a call that donates, holds = {
-- what tells whether the values around the function are those of the recording }, slow = called if they are not }.
function forms.compile(form, cform, places, donates, use)
    if #places > MOST_CAPTURES then return nil end
    local C = core.C
    local code, constants = call_code(form, places, donates, use.holds ~= nil)
    local chunk = loadstring(code, CHUNK)
    if not chunk then return nil end
    local f = chunk(C.neap_jit_call, C.neap_jit_repeat, cform, C.neap_form_ids(cform), C.neap_form_numbers(cform),
                    core.Handle, ffi.istype, core.wrap, use.fills, use.finish, use.miss, use.site, use.holds, use.slow,
                    constants, type, getmetatable, pairs, rawequal, rawget)
    capture.join(f, places)
    return f
end

-- ---- Generated code: results ----------------------------------------------------------------------------------------

--- The expression for a part of a template.
local function result_code(w, value)
    if rawequal(value, SLOT) then
        w.used = w.used + 1
        return ("wrap(o[%d])"):format(w.used - 1)
    end
    if not trees.is_node(value) then return w:constant(value) end
    local parts = {}
    for _, key in ipairs(trees.keys_of(value, "jit")) do
        parts[#parts + 1] = ("[%s] = %s"):format(w:constant(key), result_code(w, value[key]))
    end
    local text, class = "{ " .. table.concat(parts, ", ") .. " }", trees.class_of(value)
    return class and ("setmetatable(%s, %s)"):format(text, w:constant(class)) or text
end

--- A function that returns results of a template, of which the arrays have the ids in `ids`.
function forms.filler(template, ids)
    local w, parts = setmetatable({ used = 0, constants = { n = 0 } }, Writer), {}
    for k = 1, template.n do parts[k] = result_code(w, template[k]) end
    local code = "local o, wrap, K, setmetatable = ... return function() return " .. table.concat(parts, ", ") .. " end"
    local chunk = loadstring(code, CHUNK)
    if chunk then return chunk(ids, core.wrap, w.constants, setmetatable) end
    return function() -- nested too deep for one expression
        local arrays = {}
        for k = 1, w.used do arrays[k] = core.wrap(ids[k - 1]) end
        return staging.fill_results("jit", template, arrays)
    end
end

return forms
