--- profile.lua: np.profile: what took the time, by op and by line of the script.
--
-- It records a timeline (docs/tracing.md) and adds up its events (timeline.lua). A report has
--     ops, lines   lists of { op or line and scope, calls, time in s, share of all, read, written in bytes }
--     wall, computed, waited   in s; threads: how many computed at once, on average
--     peak         of memory, in bytes
--     results      of the function, { n = count, … }
local ffi = require "ffi"
local core = require "neap.core"
local files = require "neap.files"
local flame = require "neap.inspect.flame"
local staging = require "neap.tracing.staging"
local timeline = require "neap.inspect.timeline"
local trees = require "neap.core.trees"

local np, C = core.np, core.C
local raise = core.raise

local profile = {}

local MOST_ROWS = 20 -- of a table that is printed

local Report = {}
Report.__index = Report

-- ---- Texts ----------------------------------------------------------------------------------------------------------

local TIMES, BYTES = { "ns", "µs", "ms", "s" }, { "B", "kB", "MB", "GB", "TB" }

--- Three digits and a unit: "2.05 MB".
local function scaled(value, units)
    local unit = 1
    while unit < #units and value >= 999.5 do value, unit = value / 1000, unit + 1 end
    local digits = (unit == 1 or value >= 99.95) and 0 or value >= 9.995 and 1 or 2
    return ("%%.%df %%s"):format(digits):format(value, units[unit])
end

local function time_text(seconds) return scaled(seconds * 1e9, TIMES) end
local function bytes_text(bytes) return scaled(bytes, BYTES) end

--- How wide a text is: characters, not bytes.
local function width_of(text)
    return #text - select(2, text:gsub("[\128-\191]", ""))
end

--- Rows of texts, the first cell to the left and the others to the right.
local function aligned(rows)
    local widths, lines = {}, {}
    for _, row in ipairs(rows) do
        for k, cell in ipairs(row) do widths[k] = math.max(widths[k] or 0, width_of(cell)) end
    end
    for at, row in ipairs(rows) do
        local cells = {}
        for k, cell in ipairs(row) do
            local space = (" "):rep(widths[k] - width_of(cell))
            cells[k] = k == 1 and cell .. space or space .. cell
        end
        lines[at] = table.concat(cells, "  ")
    end
    return table.concat(lines, "\n")
end

local function line_text(row)
    return row.scope and ("%s (%s)"):format(row.line, row.scope) or row.line
end

local function table_text(title, list, name)
    local rows = { { title, "calls", "time", "share", "read", "written" } }
    for k = 1, math.min(#list, MOST_ROWS) do
        local row = list[k]
        rows[k + 1] = { name(row), tostring(row.calls), time_text(row.time), ("%.1f%%"):format(100 * row.share),
                        bytes_text(row.read), bytes_text(row.written) }
    end
    local more = #list > MOST_ROWS and ("\n… %d more …"):format(#list - MOST_ROWS) or ""
    return aligned(rows) .. more
end

function Report.__tostring(report)
    return ("took %s: computed for %s, on %.1f threads at once; the script waited for %s; memory at its peak: %s\n"
            .. "%s\n%s"):format(
        time_text(report.wall), time_text(report.computed), report.threads, time_text(report.waited),
        bytes_text(report.peak), table_text("op", report.ops, function(row) return row.op end),
        table_text("line", report.lines, line_text))
end

-- ---- Pictures -------------------------------------------------------------------------------------------------------

--- The part of a node that has a name; it gets a row's time.
local function part_of(node, name, row)
    local part = node.by[name]
    if not part then
        part = { name = name, time = 0, calls = 0, by = {} }
        node.by[name], node[#node + 1] = part, part
    end
    part.time, part.calls = part.time + row.time, part.calls + row.calls
    return part
end

local function finish(node, whole)
    node.more = ("%s, %.1f%%, %d calls"):format(time_text(node.time), whole > 0 and 100 * node.time / whole or 0,
                                                node.calls)
    table.sort(node, function(a, b)
        if a.time ~= b.time then return a.time > b.time end
        return a.name < b.name
    end)
    for _, part in ipairs(node) do finish(part, whole) end
end

--- report:svg() -> string: a flame graph as an SVG that needs nothing else: all, its named scopes, their lines, the ops
-- of these, each as wide as the time that it took.
function Report:svg()
    local root = { name = "all ops", time = self.computed, calls = 0, by = {} }
    for _, row in ipairs(self.both) do
        local node = root
        root.calls = root.calls + row.calls
        for scope in (row.scope or ""):gmatch "[^/]+" do node = part_of(node, scope, row) end
        node = part_of(node, row.line, row)
        part_of(node, row.op, row)
    end
    finish(root, self.computed)
    return flame.svg(root)
end

--- report:save(path) -> nothing: writes the tables or the flame graph to a file, as its name ends: .txt or .svg.
function Report:save(path)
    core.check_path("profile", path)
    local kind, text = path:match "%.(%w+)$", nil
    if kind == "txt" then
        text = tostring(self) .. "\n"
    elseif kind == "svg" then
        text = self:svg()
    else
        raise("profile", "the name of the file must end in .txt or .svg, got %q", path)
    end
    local ok, problem = files.write(path, { text })
    if not ok then raise("profile", "%s", problem) end
end

--- In a notebook: the tables, and the flame graph below them.
function Report:__display()
    local text = tostring(self)
    local escaped = text:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" })
    return { ["text/plain"] = text, ["text/html"] = "<pre>" .. escaped .. "</pre>\n" .. self:svg() }
end

-- ---- Recording ------------------------------------------------------------------------------------------------------

local recording -- { path, own = whether the file is ours to remove, began }; nil: none by np.profile

local function begin(name, path)
    if core.recording() then
        raise(name, "a gradient, a trace or a batch is open: nothing runs there that could be timed")
    end
    if recording then raise(name, "a timeline is being recorded already; np.profile.stop() ends it") end
    core.failure(function() return C.neap_poll_everything(core.ctx) end) -- of earlier work, which tells of that itself
    local own = path == nil
    path = path or os.tmpname()
    if C.neap_timeline_start(path) ~= C.NEAP_OK then
        local problem = ffi.string(C.neap_error_text())
        if own then os.remove(path) end
        raise(name, "%s", problem)
    end
    C.neap_memory_reset_peak()
    recording = { path = path, own = own, began = np.clock() }
end

--- Ends the recording. Returns what it was, with `ended`, and what is wrong with its file.
local function finish_recording()
    local of = recording
    recording, of.ended = nil, np.clock()
    of.peak = np.memory().peak
    local status = C.neap_timeline_stop()
    return of, status ~= C.NEAP_OK and ffi.string(C.neap_error_text()) or nil
end

local function give_shares(rows, whole)
    for _, row in ipairs(rows) do row.share = whole > 0 and row.time / whole or 0 end
    return rows
end

local function report_of(name, of, problem)
    local ok, totals, why = pcall(timeline.totals, of.path)
    if of.own then os.remove(of.path) end
    if problem or not ok or not totals then raise(name, "%s", problem or not ok and totals or why) end
    local wall = of.ended - of.began
    return setmetatable({ ops = give_shares(totals.ops, totals.computed), both = totals.both,
                          lines = give_shares(totals.lines, totals.computed), wall = wall,
                          computed = totals.computed, waited = totals.waited, peak = of.peak,
                          threads = wall > 0 and (totals.computed + totals.helped) / wall or 0 }, Report)
end

--- np.profile.start(path) -> nothing: from now on all ops are recorded, for np.profile.stop(). path: a file that gets
-- the timeline, for ui.perfetto.dev; without it there is none left. As jax.profiler.start_trace.
--- > np.profile.start()
--- > np.ones(3):sum():item()
-- 3
--- > #np.profile.stop().lines > 0
-- true
function profile.start(path)
    if path ~= nil then core.check_path("profile.start", path) end
    begin("profile.start", path)
end

--- np.profile.stop() -> report: waits for all that was recorded since np.profile.start, and tells what took the time,
-- as np.profile(f) does. As jax.profiler.stop_trace.
--- > np.profile.start()
--- > #tostring(np.profile.stop()) > 0
-- true
function profile.stop()
    if not recording then raise("profile.stop", "nothing is being recorded; np.profile.start() begins") end
    local ok, problem = pcall(np.wait_all)
    local of, wrong = finish_recording()
    if not ok then
        if of.own then os.remove(of.path) end
        error(problem, 0)
    end
    return report_of("profile.stop", of, wrong)
end

local function wait_for(leaf)
    if core.is_array(leaf) then leaf:wait() end
end

--- np.profile(f, …) -> report: runs f(…) once, with all that it has recorded, and tells what took the time: a table of
-- ops and one of script lines with calls, time, share of the time of all ops, bytes read and written. tostring gives
-- the tables; report.ops and report.lines are lists of { op or line and scope, calls, time, share, read, written }, in
-- seconds and bytes; report.wall, computed, waited in seconds; threads that computed at once; peak of memory in bytes
-- (of all arrays; np.memory.reset_peak is called); results of f, { n = how many, … }; report:svg() a flame graph,
-- report:save(path) a file, .txt or .svg. What f prints comes before. A first run makes plans and native code: run f
-- once before.
--- > report = np.profile(function(x) return (x * 2):sum() end, np.ones(3))
--- > report.results[1], report.ops[1].calls
-- 6.0
-- 1
local function profile_of(_, f, ...)
    local user_function = staging.check_function("profile", f)
    begin("profile")
    local results = staging.pack(pcall(function(...)
        local given = staging.pack(user_function(...))
        for k = 1, given.n do trees.walk("profile", given[k], wait_for) end
        np.wait_all()
        return unpack(given, 1, given.n)
    end, ...))
    if not results[1] then pcall(np.wait_all) end -- its failure is told below
    local of, problem = finish_recording()
    if not results[1] then
        if of.own then os.remove(of.path) end
        error(results[2], 0)
    end
    local report = report_of("profile", of, problem)
    report.results = { n = results.n - 1, unpack(results, 2, results.n) }
    return report
end

for _, f in ipairs { profile_of, profile.start, profile.stop, begin, finish_recording, report_of } do jit.off(f) end

return setmetatable(profile, { __call = profile_of })
