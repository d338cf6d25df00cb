--- tests_of.lua: which results of calls and operators a function's bytecode tests as conditions (conditions.lua).
--
-- A *result* is what an instruction leaves in a slot. It is *tested* where a later instruction asks whether the slot is
-- true, with no other value written to it in between, and with no jump in between that comes from before the result: so
-- what is tested is the result itself. The value of `a or b` is a if that is true, so testing a there is no mistake,
-- but for one case: nothing else leads to b, so b is dead code.
local util = require "jit.util"

local band, rshift = bit.band, bit.rshift
local funcbc, funck, funcinfo = util.funcbc, util.funck, util.funcinfo

-- LuaJIT 2.1's opcodes in order, as far as they are asked for here; the samples below check that this build has them.
local NAMES = "ISLT ISGE ISLE ISGT ISEQV ISNEV ISEQS ISNES ISEQN ISNEN ISEQP ISNEP ISTC ISFC IST ISF ISTYPE ISNUM MOV "
    .. "NOT UNM LEN ADDVN SUBVN MULVN DIVVN MODVN ADDNV SUBNV MULNV DIVNV MODNV ADDVV SUBVV MULVV DIVVV MODVV POW CAT "
    .. "KSTR KCDATA KSHORT KNUM KPRI KNIL UGET USETV USETS USETN USETP UCLO FNEW TNEW TDUP GGET GSET TGETV TGETS TGETB "
    .. "TGETR TSETV TSETS TSETB TSETM TSETR CALLM CALL CALLMT CALLT ITERC ITERN VARG ISNEXT RETM RET RET0 RET1 FORI "
    .. "JFORI FORL IFORL JFORL ITERL IITERL JITERL LOOP ILOOP JLOOP JMP"
local OP, count = {}, 0
for name in NAMES:gmatch "%S+" do
    OP[name] = count
    count = count + 1
end
local SAMPLES = { { "return x", 1, "GGET" }, { "local t = ... return t.x, 1", 2, "TGETS" },
                  { "local f = ... f() return", 3, "CALL" }, { "local x = ... if x then x() end", 2, "ISF" },
                  { "local x = ... if x then x() end", 3, "JMP" }, { "local x = ... return -x, 1", 2, "UNM" } }

local METAMETHODS = {} -- of an opcode
for name, ops in pairs { __add = "ADDVN ADDNV ADDVV", __sub = "SUBVN SUBNV SUBVV", __mul = "MULVN MULNV MULVV",
                         __div = "DIVVN DIVNV DIVVV", __mod = "MODVN MODNV MODVV", __pow = "POW", __unm = "UNM" } do
    for op in ops:gmatch "%S+" do METAMETHODS[OP[op]] = name end
end

-- How an instruction uses an operand (lj_bc.h).
local NONE, DST, BASE, VAR, RBASE, JUMP = 0, 1, 2, 3, 4, 13

local FAR = 400 -- instructions behind a result that are looked at

--- The instructions of a function by field, and where jumps lead: target → the first instruction that jumps there.
local function decode(f)
    local code = { n = 0, op = {}, a = {}, b = {}, c = {}, d = {}, mode = {}, from = {}, has_tests = false }
    local n = 0
    while true do
        local word, mode = funcbc(f, n + 1)
        if not word then break end
        n = n + 1
        local op = band(word, 0xff)
        code.op[n], code.mode[n] = op, mode
        code.a[n], code.b[n], code.c[n] = band(rshift(word, 8), 0xff), rshift(word, 24), band(rshift(word, 16), 0xff)
        code.d[n] = rshift(word, 16)
        if op >= OP.ISTC and op <= OP.ISF or op == OP.NOT or op == OP.GGET then code.has_tests = true end
        if band(rshift(mode, 7), 15) == JUMP and op ~= OP.LOOP then
            local target = n + 1 + code.d[n] - 0x8000
            code.from[target] = math.min(code.from[target] or n, n)
        end
    end
    code.n = n
    return code
end

local function constant(f, index)
    return funck(f, -index - 1)
end

--- Whether an instruction writes to a slot.
local function writes(code, pc, slot)
    local op, a, use = code.op[pc], code.a[pc], band(code.mode[pc], 7)
    if use == DST then
        return a == slot
    elseif op == OP.KNIL then
        return slot >= a and slot <= code.d[pc]
    elseif use == BASE then
        if op == OP.TSETM or op == OP.RETM or op == OP.CALLMT or op == OP.CALLT then return false end
        return slot >= a
    end
    return false
end

--- Whether an instruction reads a slot.
local function reads(code, pc, slot)
    local op, a, b, c, d, mode = code.op[pc], code.a[pc], code.b[pc], code.c[pc], code.d[pc], code.mode[pc]
    local use_a, use_b, use_c = band(mode, 7), band(rshift(mode, 3), 15), band(rshift(mode, 7), 15)
    if use_a == VAR and a == slot or use_b == VAR and b == slot then return true end
    if use_c == VAR then return (use_b == NONE and d or c) == slot end
    if op == OP.CAT then return slot >= b and slot <= c end
    if op == OP.CALL then return slot == a or slot > a + 1 and slot <= a + c end
    if op == OP.CALLT then return slot == a or slot > a + 1 and slot <= a + d end
    if op == OP.RET or op == OP.RET1 then return slot >= a and slot <= a + d - 2 end
    if op == OP.FORI then return slot >= a and slot <= a + 2 end
    return (op == OP.CALLM or op == OP.CALLMT or op == OP.RETM or op == OP.TSETM) and slot >= a
end

--- Whether the instruction before this jump is the condition of the jump.
local function is_conditional(code, pc)
    return pc > 1 and code.op[pc - 1] <= OP.ISF
end

--- Whether what stands in a slot at `pc` is read from there.
local function is_live(code, pc, slot)
    for _ = 1, FAR do
        if pc > code.n then return false end
        local op = code.op[pc]
        if reads(code, pc, slot) then return true end
        if writes(code, pc, slot) or op >= OP.RETM and op <= OP.RET1 then return false end
        pc = op == OP.JMP and not is_conditional(code, pc) and pc + 1 + code.d[pc] - 0x8000 or pc + 1
    end
    return false
end

--- The instruction before `pc` that put the value into a slot; nil if that cannot be told.
local function writer(code, pc, slot)
    for k = pc - 1, 1, -1 do
        if writes(code, k, slot) then return k end
        if code.from[k] and code.from[k] < k then return nil end
    end
end

--- The name of what a call calls, and the code in words; nil: it has none.
local function callee(f, code, pc)
    local at = writer(code, pc, code.a[pc])
    if not at then return nil end
    if code.op[at] == OP.GGET then return nil, constant(f, code.d[at]) end
    if code.op[at] ~= OP.TGETS then return nil end
    local name, object = constant(f, code.c[at]), code.b[at]
    local is_method = code.op[at - 1] == OP.MOV and code.a[at - 1] == code.a[pc] + 2 and code.d[at - 1] == object
    if is_method then return name, ("x:%s(…)"):format(name) end
    return name, ("np.%s(…)"):format(name)
end

--- Whether the test at `pc` of a slot is a mistake if the result is an array: false, true, or "bool": if it holds bools.
local function is_mistake(code, pc, slot)
    local op = code.op[pc]
    if op ~= OP.IST and op ~= OP.ISTC then return true end
    local target = pc + 2 + code.d[pc + 1] - 0x8000
    if op == OP.IST and not is_live(code, target, slot) then return true end
    return not code.from[pc + 2] and "bool"
end

local function is_assert(f, code, pc, slot)
    local op = code.op[pc]
    if op ~= OP.CALL and op ~= OP.CALLM or code.a[pc] + 2 ~= slot then return false end
    local at = writer(code, pc, code.a[pc])
    return at ~= nil and code.op[at] == OP.GGET and constant(f, code.d[at]) == "assert"
end

--- How the result in a slot that instruction `pc` leaves is tested: nil: not; "any" array there is a mistake, or one of
-- "bool"s.
local function tested(f, code, pc, slot, line_of)
    for k = pc + 1, math.min(code.n, pc + FAR) do
        if code.from[k] and code.from[k] < pc then return nil end
        local op, how = code.op[k], false
        if (op >= OP.ISTC and op <= OP.ISF or op == OP.NOT) and code.d[k] == slot then
            how = is_mistake(code, k, slot)
        elseif is_assert(f, code, k, slot) then
            how = true
        end
        if how then
            local direct = how == true and (k == pc + 1 or op == OP.CALL or op == OP.CALLM)
            return direct and line_of(pc) == line_of(k) and "any" or "bool"
        end
        if writes(code, k, slot) then return nil end
    end
end

--- What instruction `pc` leaves as a result: its name, its text and its slot; nil: nothing that is looked at.
local function result_of(f, code, pc)
    local op = code.op[pc]
    if METAMETHODS[op] then return METAMETHODS[op], "the result of an operator", code.a[pc] end
    if op == OP.TGETV or op == OP.TGETB then return "[]", "the element x[k]", code.a[pc] end
    if op ~= OP.CALL and op ~= OP.CALLM and op ~= OP.CALLT and op ~= OP.CALLMT then return nil end
    local name, label = callee(f, code, pc)
    return name, label, code.a[pc]
end

--- Calls note(prototype, line, name, {label, any}) for each result of f's code, and of the functions defined in it, that
-- is tested; not where a line has other results of the same name, which are not.
local function tests_of(f, note)
    local info, code = funcinfo(f), decode(f)
    local found, untested = {}, {}
    local function line_of(pc) return funcinfo(f, pc).currentline end
    for pc = 1, code.has_tests and code.n or 0 do
        local name, label, slot = result_of(f, code, pc)
        if name then
            local line, how = line_of(pc), tested(f, code, pc, slot, line_of)
            local key = line .. name
            if not how then untested[key] = true end
            if how and (not found[key] or how == "bool") then
                found[key] = { line = line, name = name, label = label, any = how == "any" }
            end
        end
    end
    for key, test in pairs(found) do
        if not untested[key] then note(info.proto, test.line, test.name, test) end
    end
    for index = 1, info.children and info.gcconsts or 0 do
        local child = funck(f, -index)
        if type(child) == "proto" then tests_of(child, note) end
    end
end

local known = true
for _, sample in ipairs(SAMPLES) do
    known = known and band(funcbc(loadstring(sample[1]), sample[2]), 0xff) == OP[sample[3]]
end

jit.off(tests_of, true)

return known and tests_of or function() end
