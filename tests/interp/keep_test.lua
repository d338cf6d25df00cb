--- keep_test.lua (sanitized with --long): what Lua's collector leaves out (tools/luajit-patches, lj_gc_keep) is as
-- whole as what it looks at: objects of every kind are made, changed and dropped at random, between cycles that keep
-- all of that moment, cycles that leave it out, steps, and full collections; each object knows what it must hold, and
-- each that has a finalizer must be finalized once it is dropped.
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local core = require "neap.core"
local ffi = require "ffi"
local funck = require("jit.util").funck

if not process.has_hook_checks() then
    check.skip("kept objects", "a packaged LuaJIT, which keeps nothing")
    check.done()
end

ffi.cdef "typedef struct { int id; double twice; } keep_test_record;"
local Record = ffi.metatype("keep_test_record", { __index = { number = function(r) return r.id end } })
--- How many steps a cycle takes.
local function steps_of_a_cycle()
    collectgarbage()
    collectgarbage()
    local steps = 1
    while not collectgarbage("step", 0) do steps = steps + 1 end
    return steps
end

check.test("a cycle costs little beside what is kept: the library, and then data", function()
    local library = steps_of_a_cycle()
    local data = {}
    for k = 1, 20000 do data[k] = { k } end
    local all = steps_of_a_cycle() - library
    check.ok(library < all / 4, library .. " steps; 20000 tables: " .. all)
    core.keep()
    local rest = steps_of_a_cycle()
    check.ok(rest < all / 4, rest .. " steps; 20000 tables: " .. all)
    check.equal(#data, 20000)
end)

local random = math.random
local SLOTS, ROUNDS = 60, 3000

local serial, finalized, made = 0, 0, 0
local slots, weak, ephemeral = {}, setmetatable({}, { __mode = "v" }), setmetatable({}, { __mode = "k" })

-- Of each kind: how one is made, how it is checked, and how it is changed while it stays valid.
local kinds = {
    table = {
        make = function(id)
            local list = {}
            for k = 1, random(0, 8) do list[k] = "item " .. id * 100 + k end
            return { name = "table " .. id, list = list, sub = { deep = { id = id } } }
        end,
        check = function(o)
            if o.name ~= "table " .. o.id or o.sub.deep.id ~= o.id then return false end
            for k, text in ipairs(o.list) do
                if text ~= "item " .. o.id * 100 + k then return false end
            end
            return true
        end,
        change = function(o)
            local way = random(3)
            if way == 1 then o.sub.deep = { id = o.id, up = { o } } end
            if way == 2 then
                for k = 1, random(20) do o.list[k] = "item " .. o.id * 100 + k end
            end
            if way == 3 then -- all its nodes are made anew
                local copy = {}
                for key, value in pairs(o) do copy[key] = value end
                for key in pairs(copy) do o[key] = nil end
                for key, value in pairs(copy) do o[key] = value end
            end
        end,
    },
    closure = { -- with an upvalue that is never assigned to, and others that are
        make = function(id)
            local text, other = "closure " .. id, { id = id }
            return { f = function(again)
                if again then text, other = "closure " .. id, { id = id, before = other.id } end
                return text, other.id
            end }
        end,
        check = function(o)
            local text, id = o.f()
            return text == "closure " .. o.id and id == o.id
        end,
        change = function(o)
            o.f(true)
            for k = 1, 3 do
                if debug.getupvalue(o.f, k) == "text" then debug.setupvalue(o.f, k, "closure " .. o.id) end
            end
        end,
    },
    coroutine = {
        make = function(id)
            return { next = coroutine.wrap(function()
                local mine = { "coroutine " .. id }
                while true do
                    coroutine.yield(mine[1])
                    mine = { "coroutine " .. id, mine[1] }
                end
            end) }
        end,
        check = function(o) return o.next() == "coroutine " .. o.id end,
        change = function(o) o.next() end,
    },
    record = {
        make = function(id)
            local r = Record(id, 2 * id)
            weak[#weak % 200 + 1] = r
            return { r = r }
        end,
        check = function(o) return o.r.twice == 2 * o.id and o.r:number() == o.id end,
        change = function(o) o.r = Record(o.id, 2 * o.id) end,
    },
    finalized = {
        make = function(id)
            made = made + 1
            return { r = ffi.gc(Record(id, 2 * id), function(r)
                finalized = finalized + 1
                if r.twice ~= 2 * r.id then finalized = -1e9 end
            end) }
        end,
        check = function(o) return o.r.twice == 2 * o.id end,
        change = function(o) o.same = { o.r } end,
    },
    userdata = {
        make = function(id)
            made = made + 1
            local u = newproxy(true)
            local meta = getmetatable(u)
            meta.id, meta.texts = id, { "userdata " .. id }
            meta.__gc = function(dead)
                local of_dead = getmetatable(dead)
                finalized = of_dead.texts[1] == "userdata " .. of_dead.id and finalized + 1 or -1e9
            end
            return { u = u }
        end,
        check = function(o) return getmetatable(o.u).texts[1] == "userdata " .. o.id end,
        change = function(o) getmetatable(o.u).texts = { "userdata " .. o.id } end,
    },
    metatable = {
        make = function(id)
            return { o = setmetatable({}, { __index = function(_, key) return key .. id end, ids = { id } }) }
        end,
        check = function(o) return o.o.key == "key" .. o.id and getmetatable(o.o).ids[1] == o.id end,
        change = function(o)
            local id = o.id
            setmetatable(o.o, { __index = function(_, key) return key .. id end, ids = { id } })
        end,
    },
    prototype = { -- of a function that is made anew: only weakly known beside that
        make = function(id)
            local outer = loadstring("local id = ... return function() return id end")
            ephemeral[funck(outer, -1)] = { "value " .. id }
            return { outer = outer, inner = outer(id) }
        end,
        check = function(o) return o.inner() == o.id and ephemeral[funck(o.outer, -1)][1] == "value " .. o.id end,
        change = function(o) o.inner = o.outer(o.id) end,
    },
    ephemeral = {
        make = function(id)
            local key = { id = id }
            ephemeral[key] = { "value " .. id }
            return { key = key }
        end,
        check = function(o) return ephemeral[o.key][1] == "value " .. o.id and o.key.id == o.id end,
        change = function(o)
            o.key = { id = o.id }
            ephemeral[o.key] = { "value " .. o.id }
        end,
    },
}
local names = {}
for name in pairs(kinds) do names[#names + 1] = name end
table.sort(names)

local function fresh()
    serial = serial + 1
    local name = names[random(#names)]
    local o = kinds[name].make(serial)
    o.id, o.kind = serial, name
    return o
end

local function any() return slots[random(SLOTS)] end

local function change(o)
    local way = random(5)
    if way == 1 then
        o.link = any()
    elseif way == 2 then
        o.links = o.links or {}
        table.insert(o.links, any())
        if #o.links > 5 then table.remove(o.links, 1) end
    elseif way == 3 then
        o.link, o.links = nil, nil
    else
        kinds[o.kind].change(o)
    end
end

local function whole(o, depth)
    if not kinds[o.kind].check(o) then return false end
    if depth == 0 then return true end
    if o.link and not whole(o.link, depth - 1) then return false end
    for _, linked in ipairs(o.links or {}) do
        if not whole(linked, depth - 1) then return false end
    end
    return true
end

local function collect_somehow(often)
    local way = random(often)
    if way == 1 then
        core.keep()
    elseif way <= 6 then
        core.collect()
    elseif way == 7 then
        collectgarbage()
    elseif way <= 12 then
        collectgarbage("step", random(20))
    end
end

for seed, often in ipairs { 12, 20, 60 } do
    check.test("objects of all kinds, where a cycle comes each " .. often / 12 .. " rounds", function()
        math.randomseed(seed)
        serial, finalized, made = 0, 0, 0
        for k = 1, SLOTS do slots[k] = fresh() end
        for round = 1, ROUNDS do
            for _ = 1, random(30) do
                local k = random(SLOTS)
                if random(10) <= 3 then slots[k] = fresh() else change(slots[k]) end
            end
            collect_somehow(often)
            for _ = 1, 5 do check.ok(whole(any(), 3), "round " .. round) end
        end
        for _, r in pairs(weak) do check.ok(r.twice == 2 * r.id) end
        for key, value in pairs(ephemeral) do
            if type(key) == "table" then check.equal(value[1], "value " .. key.id) end
        end
        for k = 1, SLOTS do slots[k] = nil end
        jit.flush() -- traces know prototypes
        for _ = 1, 3 do collectgarbage() end
        check.ok(made > 100)
        check.ok(made - finalized <= 2, finalized .. " of " .. made .. " are finalized")
        check.equal(next(ephemeral), nil)
    end)
end

check.test("a full collection finds what was left out and is dead", function()
    collectgarbage()
    local before, data = collectgarbage "count", {}
    for k = 1, 50000 do data[k] = { k } end
    core.keep()
    check.equal(#data, 50000)
    data = nil -- luacheck: ignore 311
    core.collect()
    check.ok(collectgarbage "count" > before + 1000, "a cycle has looked at what it was to leave out")
    collectgarbage()
    check.ok(collectgarbage "count" < before + 100, collectgarbage "count" .. " KB; " .. before)
end)

check.test("dropped arrays are found by cycles that leave out all else", function()
    local params = { w = np.ones { 300, 300 }, b = np.zeros(300) }
    core.keep()
    local seen = setmetatable({ params.w }, { __mode = "v" })
    params.w = params.w * 2
    core.collect()
    core.collect()
    check.equal(seen[1], nil)
    check.equal(params.w:sum():item(), 180000)
end)

check.done()
