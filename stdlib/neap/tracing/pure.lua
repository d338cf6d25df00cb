--- pure.lua: functions whose code and numbers tell all that they compute: local pure = require "neap.tracing.pure".
--
-- What a function of the user's computes now, only recording it tells in general: it may read any table, draw a random
-- number, count its calls. Many a function that a solver gets can do nothing of the kind:
--
--      local c = 2
--      function(x) return np.exp(-x ^ 2) - c end         key: "7(np.exp 2)"
--
-- Its *key* names its prototype, which all closures made at one place of the source share, and the values that it reads
-- from variables around it. Two functions with the same key record the same, of the same arguments, without an effect;
-- so a solver need not run the second one.
--
-- A prototype is pure if its bytecode
--   * assigns nothing around it, makes no closures, and indexes by constant integers and by names of METHODS alone;
--   * reads variables whose values are numbers, booleans, texts, pure functions, functions of np in FUNCTIONS, or, by
--     paths of names (`cfg.lr`, `np.exp`), tables at whose ends there are such values.
-- All else has no key, arrays included: the argument is the one array that such a function knows.
local core = require "neap.core"
local capture = require "neap.tracing.capture"
local util = require "jit.util"

local np = core.np
local band, rshift = bit.band, bit.rshift
local getupvalue, rawget, type = debug.getupvalue, rawget, type

local pure = {}

local MOST_PROTOTYPES = 256 -- more start afresh
local MOST_DEPTH = 8        -- of functions that call others
local MOST_VARIABLES = 60   -- a function of Lua has no more upvalues

-- Functions of np whose results follow from their arguments, and of these the ones that are methods of arrays, too.
local FUNCTIONS = [[abs acos acosh add all any asin asinh atan atan2 atanh cbrt ceil clip cos cosh deg2rad divide dot
    equal erf erfc exp exp2 expm1 floor floor_divide greater greater_equal hypot isfinite isinf isnan less less_equal
    log log10 log1p log2 logical_and logical_not logical_or max maximum mean min minimum multiply negative not_equal
    pow power prod rad2deg reciprocal remainder round sigmoid sign sin sinc sinh sqrt square stack std
    subtract sum tan tanh trunc var where]]
local METHODS = "T eq ne lt le gt ge reshape"

local is_method = {}
for name in (FUNCTIONS .. " " .. METHODS):gmatch "%S+" do is_method[name] = true end

local names -- by function, but for what a script has put in their places
local function name_of(f)
    if not names then
        names = {}
        for name in FUNCTIONS:gmatch "%S+" do
            local own = rawget(np, name)
            if own and core.is_library(own) then names[own] = "np." .. name end
        end
        for name, own in pairs(math) do
            local draws = name == "random" or name == "randomseed"
            local is_lua = type(own) == "function" and debug.getinfo(own, "S").what == "C" -- as it came with Lua
            if is_lua and not draws then names[own] = "math." .. name end
        end
    end
    return names[f]
end

-- ---- Code -----------------------------------------------------------------------------------------------------------

--- The opcode of an instruction of a function.
local function opcode_of(f, position) return band(util.funcbc(f, position), 0xff) end

local GGET = opcode_of(loadstring "return x", 1)
local UGET = opcode_of(loadstring "local a = ... return function() return a end"(), 1)
local TGETS = opcode_of(loadstring "local t = ... return t.x", 2)

local refused = {} -- assignments to what is around a function, and indices that are no constants
do
    local function refuse(text, position) refused[opcode_of(loadstring(text), position)] = true end
    local function refuse_inner(text)
        refused[opcode_of(loadstring("local a = ... return function(x) " .. text .. " end")(), 1)] = true
    end
    refuse("x = 1", 2)
    refuse("local t, k = ... return t[k]", 2)
    refuse_inner "a = 'x'"
    refuse_inner "a = 1"
    refuse_inner "a = nil"
    refuse_inner "a = x"
end

local function operand_a(instruction) return band(rshift(instruction, 8), 0xff) end
local function operand_b(instruction) return rshift(instruction, 24) end
local function operand_c(instruction) return band(rshift(instruction, 16), 0xff) end
local function operand_d(instruction) return rshift(instruction, 16) end

--- The name by which an instruction indexes a register and overwrites it; nil: it does something else.
local function step_of(f, pc, register)
    local instruction = util.funcbc(f, pc)
    if not instruction or band(instruction, 0xff) ~= TGETS then return nil end
    if operand_a(instruction) ~= register or operand_b(instruction) ~= register then return nil end
    return util.funck(f, -operand_c(instruction) - 1)
end

--- How a function reads variables: a list of { global = its name or index = its number, path = names of fields };
-- nil: its code is not pure.
local function reads_of(f)
    local reads, pc = {}, 1
    while true do
        local instruction = util.funcbc(f, pc)
        if not instruction then return reads end
        local opcode, d = band(instruction, 0xff), operand_d(instruction)
        if refused[opcode] then return nil end
        if opcode == TGETS and not is_method[util.funck(f, -operand_c(instruction) - 1)] then return nil end
        if opcode == GGET or opcode == UGET then
            local read, register = { path = {} }, operand_a(instruction)
            if opcode == GGET then read.global = util.funck(f, -d - 1) else read.index = d + 1 end
            local step = step_of(f, pc + 1, register)
            while step do
                pc = pc + 1
                read.path[#read.path + 1] = step
                step = step_of(f, pc + 1, register)
            end
            reads[#reads + 1] = read
        end
        pc = pc + 1
    end
end

-- By prototype: { number, reads = list or nil }; where keep_key has kept one, `key`, and the `values` read for that.
local codes, count, last = {}, 0, 0

local function code_of(f)
    local facts = util.funcinfo(f)
    local proto = facts.proto
    if not proto then return nil end -- a function of C
    local code = codes[proto]
    if code then return code end
    if count >= MOST_PROTOTYPES then codes, count = {}, 0 end
    count, last = count + 1, last + 1
    local plain = not facts.children and facts.upvalues <= MOST_VARIABLES and not core.is_library(f)
    code = { number = last, reads = plain and reads_of(f) or nil }
    codes[proto] = code
    return code
end

-- ---- Keys -----------------------------------------------------------------------------------------------------------

--- The value that a function reads now; nil where a step of the path leads nowhere, or to a metatable's work.
local function value_of(f, read)
    local value, _
    if read.index then _, value = getupvalue(f, read.index) else value = rawget(getfenv(f), read.global) end
    return capture.follow(value, read.path)
end

--- Appends the text of a function to `parts`. Returns whether there is one.
local function add_function(parts, f, depth)
    local name = name_of(f)
    if name then
        parts[#parts + 1] = name
        return true
    end
    local code = depth <= MOST_DEPTH and code_of(f)
    if not code or not code.reads then return false end
    parts[#parts + 1] = code.number
    parts[#parts + 1] = "("
    for k = 1, #code.reads do
        local value = value_of(f, code.reads[k])
        local kind = type(value)
        if kind == "number" then
            parts[#parts + 1] = ("%.17g"):format(value)
        elseif kind == "boolean" then
            parts[#parts + 1] = tostring(value)
        elseif kind == "string" then
            parts[#parts + 1] = ("%q"):format(value)
        elseif kind ~= "function" or not add_function(parts, value, depth + 1) then
            return false
        end
    end
    parts[#parts + 1] = ")"
    return true
end

--- Whether two values give the same text: 0 and -0 do not.
local function is_same(a, b)
    return rawequal(a, b) and (a ~= 0 or 1 / a == 1 / b)
end

--- The key that a function of this code had before, if the function reads the same values; nil: that is not known.
local function key_before(f, code)
    if not code or not code.key then return nil end
    for k = 1, #code.reads do
        if not is_same(value_of(f, code.reads[k]), code.values[k]) then return nil end
    end
    return code.key
end

--- Keeps the key of a function for key_before, unless the function calls others of the user's, which read more.
local function keep_key(f, code, key)
    local values = {}
    for k = 1, #code.reads do
        values[k] = value_of(f, code.reads[k])
        if type(values[k]) == "function" and not name_of(values[k]) then return end
    end
    code.key, code.values = key, values
end

--- The key of a function without further arguments; nil: it has none.
local function key_alone(f)
    if type(f) ~= "function" then return nil end
    local code = code_of(f)
    local key, parts = key_before(f, code), {}
    if key or not add_function(parts, f, 0) then return key end
    key = table.concat(parts, " ")
    if code and code.reads then keep_key(f, code, key) end
    return key
end

--- The key of a function; nil: it has none. args: a list of further arguments, which then must be numbers; nil: none.
function pure.key(f, args)
    local key = key_alone(f)
    if not key or args == nil then return key end
    if type(args) ~= "table" or getmetatable(args) ~= nil then return nil end
    local parts, n = { key }, math.max(#args, tonumber(rawget(args, "n")) or 0)
    for k = 1, n do
        if type(args[k]) ~= "number" then return nil end
        parts[#parts + 1] = ("%.17g"):format(args[k])
    end
    return (table.concat(parts, " "))
end

for _, f in ipairs { reads_of, code_of, value_of, add_function, key_before, keep_key, key_alone, pure.key } do
    jit.off(f)
end

return pure
