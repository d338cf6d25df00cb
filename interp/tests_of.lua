--- tests_of.lua: which results of calls and operators a function's bytecode tests as conditions (conditions.lua).
--
-- A *result* is what an instruction leaves in a slot. It is *tested* where a later instruction asks whether the slot is
-- true, with no other value written to it in between, and with no jump in between that comes from before the result: so
-- what is tested is the result itself. The value of `a or b` is a if that is true, so testing a there is no mistake,
-- but for one case: nothing else leads to b, so b is dead code.
--
-- Besides it finds `x.shape[k]` with a constant k below 1, and the names in `x.name` that x might be meant to be
-- given to, as it is in x:name().
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
-- What this chunk consists of, behind its header.
local SAMPLE, SAMPLE_OPS = "local t = ... if t.x then t() end", "VARG TGETS ISF JMP MOV CALL RET0"

local METAMETHODS = {} -- of an opcode
for name, ops in pairs { __add = "ADDVN ADDNV ADDVV", __sub = "SUBVN SUBNV SUBVV", __mul = "MULVN MULNV MULVV",
                         __div = "DIVVN DIVNV DIVVV", __mod = "MODVN MODNV MODVV", __pow = "POW", __unm = "UNM" } do
    for op in ops:gmatch "%S+" do METAMETHODS[OP[op]] = name end
end

-- How an instruction uses an operand (lj_bc.h).
local NONE, DST, BASE, VAR, JUMP = 0, 1, 2, 3, 13

local FAR = 400         -- instructions behind a result that are looked at
local LONGEST_PATH = 20 -- names in the path to a part of a module

local function op_of(word) return band(word, 0xff) end
local function a_of(word) return band(rshift(word, 8), 0xff) end
local function b_of(word) return rshift(word, 24) end
local function c_of(word) return band(rshift(word, 16), 0xff) end
local function d_of(word) return rshift(word, 16) end

local modes = {} -- of an opcode: how its operands are used
local kinds = {} -- of an opcode: what decode does with it; false: nothing

local function kind_of(op, mode)
    modes[op] = mode
    local kind = false
    if op >= OP.ISTC and op <= OP.ISF or op == OP.NOT then
        kind = "test"
    elseif op == OP.GGET then
        kind = "global"
    elseif op == OP.CALL or op == OP.CALLM then
        kind = "call"
    elseif op == OP.TGETB or op == OP.TGETV then
        kind = "index"
    elseif op == OP.TGETS then
        kind = "field"
    elseif op ~= OP.LOOP and band(rshift(mode, 7), 15) == JUMP then
        kind = "jump"
    end
    kinds[op] = kind
    return kind
end

--- The instructions of a function, 1 to n; the places of those that test a slot or may call assert, and of those that
-- index or read a field; and where jumps lead: target → the first instruction that jumps there.
local function decode(f)
    local words, from, tests, indices, read, pc, has_assert = {}, {}, {}, {}, {}, 1, false
    local word, mode = funcbc(f, 1)
    while word do
        words[pc] = word
        local op = band(word, 0xff)
        local kind = kinds[op]
        if kind == nil then kind = kind_of(op, mode) end
        if kind == "test" or kind == "call" and has_assert then
            tests[#tests + 1] = pc
        elseif kind == "field" then
            read[#read + 1] = pc
        elseif kind == "index" then
            indices[#indices + 1] = pc
        elseif kind == "jump" then
            local target = pc + 1 + rshift(word, 16) - 0x8000
            from[target] = math.min(from[target] or pc, pc)
        elseif kind == "global" then
            has_assert = has_assert or funck(f, -rshift(word, 16) - 1) == "assert"
        end
        pc = pc + 1
        word, mode = funcbc(f, pc)
    end
    return { n = pc - 1, words = words, from = from, tests = tests, indices = indices, read = read }
end

local function constant(f, index)
    return funck(f, -index - 1)
end

--- Whether an instruction writes to a slot.
local function writes(word, slot)
    local op, a = op_of(word), a_of(word)
    local use = band(modes[op], 7)
    if use == DST then return a == slot end
    if op == OP.KNIL then return slot >= a and slot <= d_of(word) end
    if use ~= BASE or op == OP.TSETM or op == OP.RETM or op == OP.CALLMT or op == OP.CALLT then return false end
    return slot >= a
end

--- Whether an instruction reads a slot.
local function reads(word, slot)
    local op, a, c, d = op_of(word), a_of(word), c_of(word), d_of(word)
    local mode = modes[op]
    local use_b, use_c = band(rshift(mode, 3), 15), band(rshift(mode, 7), 15)
    if band(mode, 7) == VAR and a == slot or use_b == VAR and b_of(word) == slot then return true end
    if use_c == VAR then return (use_b == NONE and d or c) == slot end
    if op == OP.CAT then return slot >= b_of(word) and slot <= c end
    if op == OP.CALL then return slot == a or slot > a + 1 and slot <= a + c end
    if op == OP.CALLT then return slot == a or slot > a + 1 and slot <= a + d end
    if op == OP.RET or op == OP.RET1 then return slot >= a and slot <= a + d - 2 end
    if op == OP.FORI then return slot >= a and slot <= a + 2 end
    return (op == OP.CALLM or op == OP.CALLMT or op == OP.RETM or op == OP.TSETM) and slot >= a
end

local function target_of(word, pc)
    return pc + 1 + d_of(word) - 0x8000
end

--- Whether what stands in a slot at `pc` is read from there.
local function is_live(code, pc, slot)
    for _ = 1, FAR do
        local word = code.words[pc]
        if not word then return false end
        local op = op_of(word)
        if reads(word, slot) then return true end
        if writes(word, slot) or op >= OP.RETM and op <= OP.RET1 then return false end
        local is_always = op == OP.JMP and not (pc > 1 and op_of(code.words[pc - 1]) <= OP.ISF)
        pc = is_always and target_of(word, pc) or pc + 1
    end
    return false
end

--- The instruction whose value a slot holds at `pc`; nil if that cannot be told.
local function writer(code, pc, slot)
    local first = pc -- the first instruction from which a jump leads behind the one that is looked at
    for k = pc - 1, math.max(1, pc - FAR), -1 do
        first = math.min(first, code.from[k + 1] or first)
        if writes(code.words[k], slot) then return first >= k and k or nil end
    end
end

--- The name of what a call calls, and the code in words; nil: it has none. For a global nil and its name.
local function callee(f, code, pc)
    local slot = a_of(code.words[pc])
    local at = writer(code, pc, slot)
    local word = at and code.words[at]
    if not at then return nil end
    if op_of(word) == OP.GGET then return nil, constant(f, d_of(word)) end
    if op_of(word) ~= OP.TGETS then return nil end
    local name, before = constant(f, c_of(word)), code.words[at - 1]
    local is_method = before and op_of(before) == OP.MOV and a_of(before) == slot + 2 and d_of(before) == b_of(word)
    return name, (is_method and "x:%s(…)" or "np.%s(…)"):format(name)
end

--- Whether the test at `pc` of a slot is a mistake if that holds an array: false, true, or "bool": one of bools.
local function is_mistake(f, code, pc, slot)
    local op = op_of(code.words[pc])
    if op == OP.CALL or op == OP.CALLM then return select(2, callee(f, code, pc)) == "assert" end
    if op ~= OP.IST and op ~= OP.ISTC then return true end
    local target = target_of(code.words[pc + 1], pc + 1)
    -- The value of `a or b` stands in the slot at the target: it is read there, or b was written to it just before.
    local is_value = op == OP.ISTC or writes(code.words[target - 1], slot) or is_live(code, target, slot)
    if not is_value then return true end
    return (code.from[pc + 2] or pc) >= pc and "bool"
end

--- What instruction `pc` leaves as a result: its name and its text; nil: nothing that is looked at.
local function result_of(f, code, pc)
    local op = op_of(code.words[pc])
    if METAMETHODS[op] then return METAMETHODS[op], "the result of an operator" end
    if op == OP.TGETV or op == OP.TGETB then return "[]", "the element x[k]" end
    if op ~= OP.CALL and op ~= OP.CALLM and op ~= OP.CALLT and op ~= OP.CALLMT then return nil end
    return callee(f, code, pc)
end

--- The results that f's code tests: by instruction "any", if any array there is a mistake, or "bool", if one of bools.
local function tested(f, code, line_of)
    local results = {}
    for _, pc in ipairs(code.tests) do
        local op = op_of(code.words[pc])
        local is_call = op == OP.CALL or op == OP.CALLM
        local slot = is_call and a_of(code.words[pc]) + 2 or d_of(code.words[pc])
        local at = writer(code, pc, slot)
        if at and result_of(f, code, at) then
            local how = is_mistake(f, code, pc, slot)
            local direct = how == true and (at == pc - 1 or is_call) and line_of(at) == line_of(pc)
            if how then results[at] = (direct or results[at] == "any") and "any" or "bool" end
        end
    end
    return results
end

--- Calls visit(place, k) for each `x.shape[k]` of f's code with a constant k below 1.
local function visit_shapes(f, code, visit)
    for _, pc in ipairs(code.indices) do
        local word, at, key = code.words[pc], pc - 1, nil
        local before = code.words[at] or 0
        if op_of(word) == OP.TGETB then
            key = c_of(word)
        elseif op_of(before) == OP.KSHORT and a_of(before) == c_of(word) then
            key, at = d_of(before), at - 1
            key = key < 0x8000 and key or key - 0x10000
        end
        before = code.words[at] or 0
        local is_field = op_of(before) == OP.TGETS and a_of(before) == b_of(word)
        if is_field and key and key < 1 and constant(f, c_of(before)) == "shape" then visit(at, key) end
    end
end

--- Whether a slot holds np, another table that a global variable has now, or what require has returned, as far as that
-- can be told.
local function is_module(f, code, pc, slot)
    for _ = 1, LONGEST_PATH do
        local at = writer(code, pc, slot)
        local word = at and code.words[at]
        if not at then return false end
        local op = op_of(word)
        if op == OP.GGET then return type(rawget(_G, constant(f, d_of(word)))) == "table" end
        if op == OP.UGET then return util.funcuvname(f, d_of(word)) == "np" end
        if op ~= OP.TGETS then return op == OP.CALL and select(2, callee(f, code, at)) == "require" end
        pc, slot = at, b_of(word)
    end
    return false
end

--- Calls visit(name) for each field `x.name`, not a method `x:name()`, of f's code where x is no module.
local function visit_fields(f, code, is_wanted, visit)
    for _, pc in ipairs(code.read) do
        local word, before = code.words[pc], code.words[pc - 1] or 0
        local slot, holder, name = a_of(word), b_of(word), constant(f, c_of(word))
        local is_method = op_of(before) == OP.MOV and a_of(before) == slot + 2 and d_of(before) == holder
        if is_wanted[name] and not is_method and not is_module(f, code, pc, holder) then visit(name) end
    end
end

--- Calls note(prototype, line, name, {label, any}) for each result of f's code, and of the functions defined in it,
-- that is tested; not where a line has other results of the same name, which are not. `x.shape[0]` has the name
-- ".shape". note_field(name) is called for fields `x.name` that are in `methods`.
local function tests_of(f, note, methods, note_field)
    local info, code = funcinfo(f), decode(f)
    local found, wanted, calls, others = {}, {}, false, false -- by line and name; by name
    local lines = {}
    local function line_of(pc)
        lines[pc] = lines[pc] or funcinfo(f, pc).currentline
        return lines[pc]
    end
    local results = tested(f, code, line_of)
    for pc, how in pairs(results) do
        local line, name, label = line_of(pc), result_of(f, code, pc)
        local key = line .. name
        local any = how == "any" and (not found[key] or found[key].any)
        if label:find "^the " then others = true else calls = true end
        found[key], wanted[name] = { line = line, name = name, label = label, any = any }, true
    end
    for pc = 1, next(found) and code.n or 0 do
        local op = op_of(code.words[pc])
        local is_call = op >= OP.CALLM and op <= OP.CALLT
        if not results[pc] and (is_call and calls or not is_call and others) then
            local name = result_of(f, code, pc)
            if name and wanted[name] then found[line_of(pc) .. name] = nil end
        end
    end
    visit_shapes(f, code, function(pc, key)
        note(info.proto, line_of(pc), ".shape", { label = ("x.shape[%d]"):format(key), key = key })
    end)
    visit_fields(f, code, methods, note_field)
    for _, test in pairs(found) do note(info.proto, test.line, test.name, test) end
    for index = 1, info.children and info.gcconsts or 0 do
        local child = funck(f, -index)
        if type(child) == "proto" then tests_of(child, note, methods, note_field) end
    end
end

local function is_known()
    local sample, pc = loadstring(SAMPLE), 0
    for name in SAMPLE_OPS:gmatch "%S+" do
        pc = pc + 1
        if op_of(funcbc(sample, pc) or 0) ~= OP[name] then return false end
    end
    return true
end

jit.off(tests_of, true)

return is_known() and tests_of or function() end
