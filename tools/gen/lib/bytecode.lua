--- bytecode.lua: one text of bytecode for one source.
--
-- string.dump writes the entries of a table that a constructor holds as constants, { a = 1, b = 2 }, in the order of
-- the table's slots, which follows from a number that LuaJIT draws anew in each process. bytecode.ordered(dump) gives
-- the same dump with these entries in the order of their bytes. A loader sets one after the other, in any order.
--
-- The form of a dump is that of LuaJIT's lj_bcdump.h, version 2:
--
--     dump   = "\27LJ" version flags [name: number, bytes], prototypes, a zero    flags: 2, and then no name: stripped
--     prototype = its length: number, flags, parameters, frame, upvalues: bytes; counts of constants with collection,
--              of numbers, of instructions: number; [length of debug information: number [first line, lines: number]];
--              instructions: 4 bytes each; upvalues: 2 bytes each; constants; numbers; debug information
--     constant = tag: number; 0 a child; 1 a table; 2, 3 64 bits as two numbers; 4 complex, as four; from 5 on a string
--              of tag - 5 bytes
--     table  = n of the list, n of the pairs: number; values; pairs of values
--     value  = tag: number; 0 to 2 nil, false, true; 3 a number; 4 an f64 as two numbers; from 5 on a string
--
-- A number is LEB128.
local bit = require "bit"

local bytecode = {}

local STRIPPED = 2

--- A reader of a dump: next(), a number; skip(n), n bytes further; and where it is, `at`.
local function reader(dump)
    local r = { at = 1 }
    function r.skip(n) r.at = r.at + n end
    function r.next()
        local value, scale = 0, 1
        while true do
            local byte = dump:byte(r.at)
            r.at = r.at + 1
            value = value + bit.band(byte, 127) * scale
            if byte < 128 then return value end
            scale = scale * 128
        end
    end
    return r
end

local function skip_value(r)
    local tag = r.next()
    if tag >= 5 then
        r.skip(tag - 5)
    elseif tag == 3 then
        r.next()
    elseif tag == 4 then
        r.next()
        r.next()
    end
end

--- Reads a table of constants; where its pairs begin, and the texts of the pairs in order.
local function ordered_pairs(dump, r)
    local list, n = r.next(), r.next()
    for _ = 1, list do skip_value(r) end
    local from, entries = r.at, {}
    for k = 1, n do
        local start = r.at
        skip_value(r)
        skip_value(r)
        entries[k] = dump:sub(start, r.at - 1)
    end
    table.sort(entries)
    return from, table.concat(entries)
end

--- Reads a prototype, whose end is known, up to its last constant; adds { where, text } of each table's pairs.
local function read_prototype(dump, r, stripped, found)
    local upvalues = dump:byte(r.at + 3)
    r.skip(4)
    local constants = r.next()
    r.next() -- of numbers, which stand behind
    local instructions = r.next()
    if not stripped and r.next() > 0 then
        r.next()
        r.next()
    end
    r.skip(4 * instructions + 2 * upvalues)
    for _ = 1, constants do
        local tag = r.next()
        if tag >= 5 then
            r.skip(tag - 5)
        elseif tag == 1 then
            found[#found + 1] = { ordered_pairs(dump, r) }
        else
            for _ = 1, tag == 4 and 4 or tag > 0 and 2 or 0 do r.next() end
        end
    end
end

--- The dump with the entries of its constant tables in order. Raises if it is of another version.
function bytecode.ordered(dump)
    if dump:sub(1, 4) ~= "\27LJ\2" then error("bytecode of LuaJIT's version 2 was expected", 0) end
    local r, found = reader(dump), {}
    r.skip(4)
    local stripped = bit.band(r.next(), STRIPPED) ~= 0
    if not stripped then r.skip(r.next()) end
    while true do
        local length = r.next()
        if length == 0 then break end
        local behind = r.at + length
        read_prototype(dump, r, stripped, found)
        r.at = behind
    end
    if r.at ~= #dump + 1 then error("bytecode that does not end where it should", 0) end
    local pieces, at = {}, 1
    for _, entry in ipairs(found) do
        local from, text = entry[1], entry[2]
        pieces[#pieces + 1] = dump:sub(at, from - 1)
        pieces[#pieces + 1] = text
        at = from + #text
    end
    pieces[#pieces + 1] = dump:sub(at)
    return table.concat(pieces)
end

return bytecode
