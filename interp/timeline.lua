--- timeline.lua: `:timeline CODE`: what ran while code ran, on which thread, as a picture in a notebook and as
-- characters elsewhere. A row is a thread; time goes from left to right. The engine writes its timeline into a file (as
-- for :trace), which is read here and removed.
local ffi = require "ffi"
local core = require "neap.core"
local commands = require "neap.interp.commands"
local json = require "neap.files.json"
local picture = require "neap.files.picture"
local repl = require "neap.interp.repl"
local tokens = require "neap.interp.tokens"

local C = core.C

local MOST_BOXES, MOST_NAMES = 3000, 8 -- that are drawn, the longest ones; that are listed
local KINDS = { op = true, wait = true, share = true, step = true }

-- ---- Reading --------------------------------------------------------------------------------------------------------

--- The threads' names and order by number, and the events of a file, with times in microseconds.
local function read(path)
    local threads, order, events = {}, {}, {}
    for line in io.lines(path) do
        local ok, event = pcall(json.read, (line:gsub(",%s*$", "")))
        if ok and event.ph == "M" and event.name == "thread_name" then
            threads[event.tid] = event.args.name
        elseif ok and event.ph == "M" and event.name == "thread_sort_index" then
            order[event.tid] = event.args.sort_index
        elseif ok and event.ph == "X" and KINDS[event.cat] then
            events[#events + 1] = event
        end
    end
    return threads, order, events
end

--- The events that are drawn in a row for each thread that has some: the longest ones, earlier ones first.
local function rows_of(threads, order, events)
    local kept, rows, by_tid = core.copy_list(events), {}, {}
    local from, to = math.huge, -math.huge
    table.sort(kept, function(a, b) return a.dur > b.dur end)
    for k = #kept, MOST_BOXES + 1, -1 do kept[k] = nil end
    table.sort(kept, function(a, b)
        if a.ts ~= b.ts then return a.ts < b.ts end
        return a.dur > b.dur
    end)
    for _, event in ipairs(kept) do
        local row = by_tid[event.tid]
        if not row then
            row = { name = threads[event.tid] or "?", order = order[event.tid] or math.huge, tid = event.tid }
            by_tid[event.tid] = row
            rows[#rows + 1] = row
        end
        row[#row + 1] = event
        from, to = math.min(from, event.ts), math.max(to, event.ts + event.dur)
    end
    table.sort(rows, function(a, b)
        if a.order ~= b.order then return a.order < b.order end
        return a.tid < b.tid
    end)
    return rows, from, math.max(to, from + 1e-3)
end

--- Names of ops with how often and how long they ran, the longest first.
local function totals(events)
    local list, by_name = {}, {}
    for _, event in ipairs(events) do
        if event.cat == "op" or event.cat == "wait" then
            local total = by_name[event.name]
            if not total then
                total = { name = event.name, count = 0, time = 0 }
                by_name[event.name], list[#list + 1] = total, total
            end
            total.count, total.time = total.count + 1, total.time + event.dur
        end
    end
    table.sort(list, function(a, b)
        if a.time ~= b.time then return a.time > b.time end
        return a.name < b.name
    end)
    return list
end

local function time_text(microseconds)
    for _, unit in ipairs { { 1e6, "s" }, { 1e3, "ms" } } do
        if microseconds >= unit[1] then return ("%.3g %s"):format(microseconds / unit[1], unit[2]) end
    end
    return ("%.3g µs"):format(microseconds)
end

-- ---- Characters -----------------------------------------------------------------------------------------------------

local CELLS = 60
local MARKS = { op = "█", wait = "░" }

--- A row as characters: the kind that fills most of a cell.
local function cells_of(row, from, to)
    local filled = {}
    for cell = 1, CELLS do filled[cell] = { op = 0, wait = 0 } end
    for _, event in ipairs(row) do
        if MARKS[event.cat] then
            local first = (event.ts - from) / (to - from) * CELLS
            local last = first + event.dur / (to - from) * CELLS
            for cell = math.floor(first), math.min(math.floor(last), CELLS - 1) do
                local part = math.min(last, cell + 1) - math.max(first, cell)
                filled[cell + 1][event.cat] = filled[cell + 1][event.cat] + part
            end
        end
    end
    local cells = {}
    for cell, parts in ipairs(filled) do
        local kind = parts.wait > parts.op and "wait" or "op"
        cells[cell] = parts[kind] >= 0.25 and MARKS[kind] or parts[kind] > 0 and "▏" or "·"
    end
    return table.concat(cells)
end

local function as_text(rows, names, from, to)
    local lines, width = {}, 0
    for _, row in ipairs(rows) do width = math.max(width, #row.name) end
    for _, row in ipairs(rows) do
        lines[#lines + 1] = ("%-" .. width .. "s  %s"):format(row.name, cells_of(row, from, to))
    end
    lines[#lines + 1] = ("%s  %s in all; █ ran, ░ waited"):format((" "):rep(width), time_text(to - from))
    for k = 1, math.min(#names, MOST_NAMES) do
        local time = time_text(names[k].time)
        local free = 9 - select(2, time:gsub("[^\128-\191]", ""))
        lines[#lines + 1] = ("%s%s  %4d ×  %s"):format((" "):rep(free), time, names[k].count, names[k].name)
    end
    if #names > MOST_NAMES then lines[#lines + 1] = ("… %d more"):format(#names - MOST_NAMES) end
    return table.concat(lines, "\n")
end

-- ---- SVG ------------------------------------------------------------------------------------------------------------

local WIDTH, LEFT, RIGHT, HEIGHT, BOX, LETTER = 760, 80, 45, 30, 20, 6.2
local COLORS = { op = "#4682b4", wait = "#f0a030", share = "#9dc3e0", step = "#9dc3e0" }
local INSIDE = { share = true, step = true } -- an op: drawn in its lower half

--- What the pointer over an event tells.
local function tooltip(event, from)
    local lines = { event.name .. (event.cat == "share" and ", a share" or ""),
                    time_text(event.dur) .. ", from " .. time_text(event.ts - from) }
    local about = event.args
    if about.line then lines[#lines + 1] = about.line end
    if about.read then lines[#lines + 1] = ("reads %d B, writes %d B"):format(about.read, about.written or 0) end
    if about.error then lines[#lines + 1] = about.error end
    return picture.escaped(picture.told(table.concat(lines, "\n")))
end

local function draw_event(out, event, top, from, scale)
    local x, w = LEFT + (event.ts - from) * scale, math.max(event.dur * scale, 0.5)
    local inside = INSIDE[event.cat]
    out(('<g><title>%s</title><rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"/>')
        :format(tooltip(event, from), x, inside and top + BOX * 0.6 or top, w, inside and BOX * 0.4 or BOX,
                COLORS[event.cat]))
    if not inside and #event.name * LETTER + 6 < w then
        out(('<text x="%.2f" y="%d" fill="#ffffff">%s</text>'):format(x + 3, top + 11, picture.escaped(event.name)))
    end
    out "</g>"
end

--- A step of 1, 2 or 5 times a power of ten, so that there are about six ticks.
local function tick_step(length)
    local step = 10 ^ math.floor(math.log10(length / 6))
    for _, times in ipairs { 1, 2, 5, 10 } do
        if length / (step * times) <= 6 then return step * times end
    end
end

local function as_svg(rows, from, to)
    local list, scale, bottom = {}, (WIDTH - LEFT - RIGHT) / (to - from), #rows * HEIGHT + 4
    local function out(part) list[#list + 1] = part end
    out(('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" '
         .. 'font-size="11">'):format(WIDTH, bottom + 20, WIDTH, bottom + 20))
    out '<rect width="100%" height="100%" fill="#ffffff"/>'
    local step = tick_step(to - from)
    for k = 0, math.floor((to - from) / step) do
        local x = LEFT + k * step * scale
        out(('<path d="M%.2f 0V%d" stroke="#dddddd"/><text x="%.2f" y="%d" fill="#555555">%s</text>')
            :format(x, bottom, x, bottom + 14, k == 0 and "0" or time_text(k * step)))
    end
    for k, row in ipairs(rows) do
        local top = (k - 1) * HEIGHT + 4
        out(('<text x="2" y="%d">%s</text>'):format(top + 14, picture.escaped(row.name)))
        for _, event in ipairs(row) do draw_event(out, event, top, from, scale) end
    end
    out "</svg>\n"
    return table.concat(list, "\n")
end

-- ---- The command ----------------------------------------------------------------------------------------------------

local function show(path)
    local threads, order, events = read(path)
    if #events == 0 then return print "nothing ran that takes time" end
    local rows, from, to = rows_of(threads, order, events)
    local text = as_text(rows, totals(events), from, to)
    if not core.display then return print(text) end
    local svg = as_svg(rows, from, to)
    np.display { ["text/html"] = '<div style="overflow-x:auto">' .. svg .. "</div>", ["image/svg+xml"] = svg,
                 ["text/plain"] = text } -- JupyterLab takes HTML, in which the pointer works, before an image
end

local function check(status)
    if status ~= C.NEAP_OK then error(":timeline: " .. ffi.string(C.neap_error_text()), 0) end
end

commands.rows.timeline.run = function(rest, session)
    if rest == "" then commands.usage("timeline", "what code?") end
    local command, is_expression = repl.compile(rest, session)
    np.wait_all()
    local path = os.tmpname()
    local function finish(ok, ...)
        session.scope:settle()
        if ok then ok = pcall(np.wait_all) end
        local status = C.neap_timeline_stop()
        if not ok then error((...), 0) end
        check(status)
        if is_expression then repl.display(tokens.ends_quietly(rest), true, ...) end
        show(path)
    end
    local ok, problem = pcall(function()
        check(C.neap_timeline_start(path))
        finish(pcall(command))
    end)
    os.remove(path)
    if not ok then error(problem, 0) end
end

for _, f in ipairs { read, rows_of, show, commands.rows.timeline.run } do jit.off(f, true) end
