--- pickle.lua: Python's pickles (protocols 2 to 5) as Lua values, for data: what a pickle asks to be called is looked
-- up in a table of the caller's, and nothing else is ever called. Facts: CPython's Lib/pickletools.py.
--
-- Dicts become tables by key (what is None is left out), lists, tuples and sets tables from 1 (json.null for None),
-- integers numbers, or 64-bit cdata where a number would not be exact. A problem is an error that names the byte.
local bit = require "bit"
local ffi = require "ffi"
local json = require "neap.files.json"

local pickle = {}

local EXACT = 2 ^ 53

-- A machine: { text, at = the next byte, stack, n = how much is on it, marks = values of n, memo, find, load }.

local function fail(m, text, ...)
    error(("byte %d: "):format(m.start or m.at) .. text:format(...), 0)
end

local function push(m, value)
    m.n = m.n + 1
    m.stack[m.n] = value
end

--- The topmost value since the last mark, which leaves the stack.
local function pop(m)
    if m.n <= (m.marks[#m.marks] or 0) then fail(m, "it takes from an empty stack") end
    local value = m.stack[m.n]
    m.stack[m.n], m.n = nil, m.n - 1
    return value
end

local function top(m)
    if m.n <= (m.marks[#m.marks] or 0) then fail(m, "it looks at an empty stack") end
    return m.stack[m.n]
end

--- The values since the last mark, in a table; they and the mark leave the stack.
local function pop_mark(m)
    local from = table.remove(m.marks)
    if not from then fail(m, "it needs a mark that is not there") end
    local list = {}
    for k = from + 1, m.n do
        list[k - from] = m.stack[k]
        m.stack[k] = nil
    end
    m.n = from
    return list
end

-- ---- Bytes ----------------------------------------------------------------------------------------------------------

local function bytes(m, n)
    local from = m.at
    if n > #m.text - from + 1 then fail(m, "it is truncated") end
    m.at = from + n
    return m.text:sub(from, from + n - 1)
end

--- An unsigned number of n bytes, the lowest first.
local function unsigned(m, n)
    local text, value = bytes(m, n), 0
    for k = n, 1, -1 do value = value * 256 + text:byte(k) end
    return value
end

local function line(m)
    local stop = m.text:find("\n", m.at, true)
    if not stop then fail(m, "it is truncated") end
    local text = m.text:sub(m.at, stop - 1)
    m.at = stop + 1
    return text
end

local function double(m)
    local text, box = bytes(m, 8), ffi.new "union { uint8_t bytes[8]; double value; }"
    for k = 0, 7 do box.bytes[k] = text:byte(8 - k) end
    return box.value
end

--- An integer of n bytes in two's complement.
local function long(m, n)
    local text = bytes(m, n)
    local negative = n > 0 and text:byte(n) >= 128
    local rest = text:sub(9)
    if rest ~= (negative and "\255" or "\0"):rep(#rest) or negative and n > 8 and text:byte(8) < 128 then
        fail(m, "an integer of more than 64 bits")
    end
    local value = negative and n < 8 and -1LL or 0LL
    for k = math.min(n, 8), 1, -1 do value = bit.bor(bit.lshift(value, 8), text:byte(k)) end
    if not negative and value < 0 then return ffi.cast("uint64_t", value) end
    local number = tonumber(value)
    return math.abs(number) < EXACT and number or value
end

-- ---- Containers -----------------------------------------------------------------------------------------------------

local function container(m, value)
    if type(value) == "table" and getmetatable(value) == nil then return value end
    fail(m, "it puts something into what holds nothing")
end

local function set_item(m, dict, key, value)
    if type(key) ~= "string" and type(key) ~= "number" or key ~= key then
        fail(m, "a key of a dict is neither a text nor a number")
    end
    if value == json.null then value = nil end
    dict[key] = value
end

local function set_items(m, list)
    local dict = container(m, top(m))
    if #list % 2 ~= 0 then fail(m, "a key without a value") end
    for k = 1, #list, 2 do set_item(m, dict, list[k], list[k + 1]) end
end

local function append(m, list)
    local to = container(m, top(m))
    for k = 1, #list do to[#to + 1] = list[k] end
end

-- ---- What it refers to ----------------------------------------------------------------------------------------------

local function global(m, module, name)
    if type(module) ~= "string" or type(name) ~= "string" then fail(m, "a name that is no text") end
    local value, problem = m.find(module, name)
    if value == nil then fail(m, "%s", problem) end
    return value
end

local function call(m, f, arguments)
    if type(arguments) ~= "table" or getmetatable(arguments) ~= nil then fail(m, "a call without a tuple") end
    local meta = getmetatable(f)
    if type(meta) ~= "table" or not meta.call then fail(m, "it calls what is no function") end
    local value, problem = meta.call(f, arguments)
    if value == nil then fail(m, "%s", problem) end
    return value
end

local function remember(m, place)
    m.memo[place], m.memos = top(m), m.memos + 1
end

local function recall(m, place)
    local value = m.memo[place]
    if value == nil then fail(m, "it recalls what it has not stored") end
    push(m, value)
end

-- ---- Opcodes --------------------------------------------------------------------------------------------------------

local run = {}

run["\128"] = function(m) -- PROTO
    local protocol = unsigned(m, 1)
    if protocol < 2 or protocol > 5 then fail(m, "pickle protocol %d is not one of 2 to 5", protocol) end
end
run["\149"] = function(m) bytes(m, 8) end -- FRAME
run["N"] = function(m) push(m, json.null) end
run["\136"] = function(m) push(m, true) end
run["\137"] = function(m) push(m, false) end
run["K"] = function(m) push(m, unsigned(m, 1)) end
run["M"] = function(m) push(m, unsigned(m, 2)) end
run["J"] = function(m) push(m, bit.tobit(unsigned(m, 4))) end
run["\138"] = function(m) push(m, long(m, unsigned(m, 1))) end
run["\139"] = function(m) push(m, long(m, unsigned(m, 4))) end
run["G"] = function(m) push(m, double(m)) end

-- Texts and bytes.
for code, width in pairs { X = 4, ["\140"] = 1, ["\141"] = 8, B = 4, C = 1, ["\142"] = 8, ["\150"] = 8, T = 4,
                           U = 1 } do
    run[code] = function(m) push(m, bytes(m, unsigned(m, width))) end
end

for _, code in ipairs { "}", "]", ")", "\143" } do
    run[code] = function(m) push(m, {}) end -- an empty dict, list, tuple, set
end
run["("] = function(m) m.marks[#m.marks + 1] = m.n end
for code, width in pairs { ["\133"] = 1, ["\134"] = 2, ["\135"] = 3 } do -- tuples
    run[code] = function(m)
        local list = {}
        for k = width, 1, -1 do list[k] = pop(m) end
        push(m, list)
    end
end
for _, code in ipairs { "t", "l", "\145" } do
    run[code] = function(m) push(m, pop_mark(m)) end -- a tuple, list, frozenset
end
run["d"] = function(m)
    local list = pop_mark(m)
    push(m, {})
    set_items(m, list)
end
run["a"] = function(m)
    local value = pop(m)
    append(m, { value })
end
run["e"] = function(m) append(m, pop_mark(m)) end
run["\144"] = run["e"]
run["s"] = function(m)
    local value, key = pop(m), pop(m)
    set_item(m, container(m, top(m)), key, value)
end
run["u"] = function(m) set_items(m, pop_mark(m)) end

run["0"] = pop
run["1"] = pop_mark
run["2"] = function(m) push(m, top(m)) end
run["q"] = function(m) remember(m, unsigned(m, 1)) end
run["r"] = function(m) remember(m, unsigned(m, 4)) end
run["\148"] = function(m) remember(m, m.memos) end
run["h"] = function(m) recall(m, unsigned(m, 1)) end
run["j"] = function(m) recall(m, unsigned(m, 4)) end

run["c"] = function(m)
    local module = line(m)
    push(m, global(m, module, line(m)))
end
run["\147"] = function(m) -- STACK_GLOBAL
    local name, module = pop(m), pop(m)
    push(m, global(m, module, name))
end
run["R"] = function(m) -- REDUCE
    local arguments = pop(m)
    push(m, call(m, pop(m), arguments))
end
run["\129"] = run["R"] -- NEWOBJ
run["b"] = function(m) -- BUILD: attributes of an object, such as the versions in a state dict
    local state, value = pop(m), top(m)
    local meta = getmetatable(value)
    if type(meta) ~= "table" or not meta.build then
        container(m, value)
        return
    end
    local problem = meta.build(value, state)
    if problem then fail(m, "%s", problem) end
end
run["Q"] = function(m) -- BINPERSID
    local value, problem = m.load(pop(m))
    if value == nil then fail(m, "%s", problem) end
    push(m, value)
end

--- The value of a pickle, which begins the text. `find(module, name)` gives what a name means there, or nil and what
-- is wrong: a value, whose metatable may have `call(value, arguments)`, which gives the result of a call of it, in the
-- same way. What such a call makes may have `build(value, state)`, which takes the state of an object, and returns what
-- is wrong with it. `load(id)` does what find does for persistent ids.
function pickle.read(text, find, load)
    local m = { text = text, at = 1, stack = {}, n = 0, marks = {}, memo = {}, memos = 0, find = find, load = load }
    while true do
        m.start = m.at
        local code = bytes(m, 1)
        if code == "." then return pop(m) end
        local step = run[code]
        if not step then fail(m, "the opcode 0x%02x is none of those that data needs", code:byte()) end
        step(m)
    end
end

return pickle
