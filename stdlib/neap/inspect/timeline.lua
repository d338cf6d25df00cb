--- timeline.lua: what a timeline's file says, added up: by op, by script line, by both.
--
-- An op that has steps counts as these, and what remains of its time as a row of its own; the code that the compiler's
-- thread makes counts as an op that no line has asked for. docs/tracing.md describes the file.
local json = require "neap.files.json"

local timeline = {}

local BETWEEN, NO_LINE = "between steps", "no line"

--- The events of a file, by kind: slices by thread, each { name, cat, from, to, args }; and those of ops that began in
-- one place and ended in another.
local function read_events(path)
    local slices, begun, others = {}, {}, {}
    local file, problem = io.open(path, "rb")
    if not file then return nil, problem end
    for text in file:lines() do
        local phase = text:match '^{"ph":"(%a)"'
        if phase == "X" or phase == "b" or phase == "e" then
            local e = json.read((text:gsub(",$", "")))
            if phase == "X" then
                slices[e.tid] = slices[e.tid] or {}
                table.insert(slices[e.tid], { name = e.name, cat = e.cat, from = e.ts, to = e.ts + e.dur,
                                              args = e.args or {} })
            elseif phase == "b" then
                begun[e.id] = e
            elseif begun[e.id] then
                local b = begun[e.id]
                others[#others + 1] = { name = b.name, cat = "op", from = b.ts, to = e.ts, args = b.args or {} }
            end
        end
    end
    file:close()
    return slices, others
end

--- Gives each slice of a thread `inner`, the time of the slices directly inside it, and `outer`.
local function nest(list)
    table.sort(list, function(a, b)
        if a.from ~= b.from then return a.from < b.from end
        return a.to > b.to
    end)
    local open = {}
    for _, slice in ipairs(list) do
        while #open > 0 and open[#open].to <= slice.from do open[#open] = nil end
        local outer = open[#open]
        slice.inner, slice.outer = 0, outer
        if outer and slice.cat ~= "share" then outer.inner = outer.inner + slice.to - slice.from end
        open[#open + 1] = slice
    end
end

--- The line of an event, without its folder, and the scope behind it: "demo.lua:3", "outer/inner".
local function place_of(site)
    if not site then return NO_LINE, nil end
    local line, scope = site:match "^(.-) %((.*)%)$"
    return ((line or site):gsub("^.*/", "")), scope
end

local Totals = {}
Totals.__index = Totals

local function row_of(rows, key)
    local row = rows.by[key]
    if not row then
        row = { calls = 0, time = 0, read = 0, written = 0 }
        rows.by[key], rows[#rows + 1] = row, row
    end
    return row
end

local function add_to(row, us, args)
    row.calls, row.time = row.calls + 1, row.time + us * 1e-6
    row.read, row.written = row.read + (args.read or 0), row.written + (args.written or 0)
end

--- Counts something that took so many microseconds, in all tables. name, site: of the op.
function Totals:add(name, site, us, args)
    local line, scope = place_of(site)
    local op, at = row_of(self.ops, name), row_of(self.lines, line .. "\0" .. (scope or ""))
    local both = row_of(self.both, (scope or "") .. "\0" .. line .. "\0" .. name)
    op.op, at.line, at.scope = name, line, scope
    both.op, both.line, both.scope = name, line, scope
    add_to(op, us, args)
    add_to(at, us, args)
    add_to(both, us, args)
    self.computed = self.computed + us * 1e-6
end

--- What a slice counts as. The time of an op is that of its steps and the rest.
function Totals:count(slice)
    local us = slice.to - slice.from
    if slice.cat == "step" then
        local op = slice.outer
        while op and op.cat ~= "op" do op = op.outer end
        if op then op.has_steps = true end
        self:add(slice.name, slice.args.line or op and op.args.line, us, slice.args)
    elseif slice.cat == "wait" then
        self.waited = self.waited + math.max(0, us - slice.inner) * 1e-6
    elseif slice.cat == "share" and not slice.outer then
        self.helped = self.helped + us * 1e-6
    end
end

local function by_time(rows)
    rows.by = nil
    table.sort(rows, function(a, b)
        if a.time ~= b.time then return a.time > b.time end
        return (a.line or "") .. (a.op or "") < (b.line or "") .. (b.op or "")
    end)
    return rows
end

--- The totals of a file: { ops, lines, both = lists of { op, line, scope, calls, time, read, written }, the longest
-- first; computed = s of all ops, helped = s that other threads spent on parts of these, waited = s that threads have
-- waited }; or nil and a message.
function timeline.totals(path)
    local slices, others = read_events(path)
    if not slices then return nil, others end
    local totals = setmetatable({ ops = { by = {} }, lines = { by = {} }, both = { by = {} }, computed = 0, helped = 0,
                                  waited = 0 }, Totals)
    for _, list in pairs(slices) do
        nest(list)
        for _, slice in ipairs(list) do totals:count(slice) end
        for _, slice in ipairs(list) do
            if slice.cat == "op" then
                local us = slice.to - slice.from
                if slice.has_steps then
                    totals:add(BETWEEN, slice.args.line, math.max(0, us - slice.inner), {})
                else
                    totals:add(slice.name, slice.args.line, us, slice.args)
                end
            end
        end
    end
    for _, slice in ipairs(others) do totals:add(slice.name, slice.args.line, slice.to - slice.from, slice.args) end
    by_time(totals.ops)
    by_time(totals.lines)
    by_time(totals.both)
    return totals
end

jit.off(timeline.totals)
jit.off(read_events)

return timeline
