--- report.lua: rows as a table for the terminal, as Markdown and as JSON, and the facts of the machine.
--
-- Nothing that names a person's machine is written: no host name, no paths.
local report = {}

local function read(path)
    local file = io.open(path)
    if not file then return nil end
    local text = file:read("*a")
    file:close()
    return text
end

local function output_of(command)
    local pipe = io.popen(command .. " 2>/dev/null")
    local text = pipe:read("*a")
    pipe:close()
    return (text:gsub("%s+$", ""))
end

--- What the numbers depend on.
function report.machine()
    local cpu = (read("/proc/cpuinfo") or ""):match("model name%s*:%s*([^\n]+)") or "unknown"
    local memory = (read("/proc/meminfo") or ""):match("MemTotal:%s*(%d+)")
    local cache = (read("/sys/devices/system/cpu/cpu0/cache/index3/size") or ""):match("%S+")
    return {
        cpu = cpu,
        cores = tonumber(output_of("nproc")),
        last_cache = cache,
        memory_gib = memory and math.floor(memory / 1048576 + 0.5),
        system = (read("/etc/os-release") or ""):match('PRETTY_NAME="([^"]+)"'),
        compiler = output_of("cc --version | head -n 1"),
        neap = require("neap")._VERSION,
        date = os.date("!%Y-%m-%d"),
    }
end

--- Times of other systems, in the row's unit: those in a row's own field `peers`, measured beside it, and those written
-- by bench/peers, as lines "row name<TAB>system<TAB>value". Returns {systems = {…}, of = {[row name] = {[system] =
-- value}}} for the rows given; the file may be absent.
function report.read_peers(path, rows)
    local peers, known, seen = { systems = {}, of = {} }, {}, {}
    local function add(name, system, value)
        peers.of[name] = peers.of[name] or {}
        peers.of[name][system] = value
        if not seen[system] then
            seen[system] = true
            table.insert(peers.systems, system)
        end
    end
    for _, row in ipairs(rows) do
        known[row.name] = true
        for system, value in pairs(row.peers or {}) do add(row.name, system, value) end
    end
    table.sort(peers.systems)
    for line in (read(path) or ""):gmatch("[^\n]+") do
        local name, system, value = line:match("^([^\t]+)\t([^\t]+)\t([^\t]+)$")
        if name and known[name] then add(name, system, tonumber(value)) end
    end
    return peers
end

--- Three significant digits, without an exponent.
local function short(value)
    if value == nil then return "" end
    if math.abs(value) >= 100 then return ("%.0f"):format(value) end
    return (("%.3g"):format(value))
end

--- What a row is judged by, as a list of {name, value, goal}, `better` being "less" or "more".
local function checks_of(row)
    local checks = {}
    for _, check in ipairs(row.checks or {}) do
        checks[#checks + 1] = { name = check.name, value = check.ratio, goal = check.goal, times = "×" }
    end
    if row.goal then
        checks[#checks + 1] = { name = "goal", value = row.ratio or row.value, goal = row.goal, better = row.better,
                                times = row.ratio and "×" or "" }
    end
    if row.most then checks[#checks + 1] = { name = "most", value = row.value, goal = row.most, times = "" } end
    return checks
end

local function holds(check)
    if check.better == "more" then return check.value >= check.goal end
    return check.value <= check.goal
end

--- Whether all that a row is judged by holds; nil without a goal.
local function met(row)
    local checks = checks_of(row)
    if #checks == 0 then return nil end
    for _, check in ipairs(checks) do
        if not holds(check) then return false end
    end
    return true
end

local function goal_text(row)
    local parts = {}
    for k, check in ipairs(checks_of(row)) do
        local name = (check.name == "goal" or check.name == "most") and "" or check.name .. " "
        parts[k] = name .. (check.better == "more" and "≥ " or "≤ ") .. short(check.goal) .. check.times
    end
    return table.concat(parts, ", ")
end

--- "met", or what is missed and by how much.
local function verdict(row)
    local reached, parts = met(row), {}
    if reached == nil then return "" end
    for _, check in ipairs(checks_of(row)) do
        if not holds(check) and row.checks then
            parts[#parts + 1] = ("%s %s%s"):format(check.name, short(check.value), check.times)
        end
    end
    return reached and "met" or "missed" .. (#parts > 0 and ": " .. table.concat(parts, ", ") or "")
end

--- How many rows of each group meet each of their checks: a line for each, with the row that is farthest from it.
local function goals_text(rows)
    local order, totals = {}, {}
    for _, row in ipairs(rows) do
        for _, check in ipairs(row.checks or {}) do
            local key = row.group .. ", " .. check.name
            local total = totals[key]
            if not total then
                total = { met = 0, all = 0, far = 0 }
                totals[key], order[#order + 1] = total, key
            end
            local far = check.ratio / check.goal
            total.all, total.met = total.all + 1, total.met + (far <= 1 and 1 or 0)
            if far > total.far then
                total.far = far
                total.worst = ("%s: %s× of %s×"):format(row.name, short(check.ratio), short(check.goal))
            end
        end
    end
    local lines = {}
    for k, key in ipairs(order) do
        local total = totals[key]
        lines[k] = ("%s: %d of %d met; farthest: %s"):format(key, total.met, total.all, total.worst)
    end
    return #lines > 0 and "\n" .. table.concat(lines, "\n") .. "\n" or ""
end

-- Systems whose times are compared with neap's as a whole; other columns are bounds, or neap itself.
local OTHERS = { numpy = true, scipy = true, pandas = true, numexpr = true, torch = true, ["torch compile"] = true,
                 jax = true, ["jax jit"] = true, ["jax devices"] = true }
local AHEAD, BEHIND = 1.5, 1.1

--- neap's best time in a row by that of the fastest other system, and that system; nil where none was measured.
local function beside(row)
    local fastest
    for system, value in pairs(row.peers or {}) do
        if OTHERS[system] and (not fastest or value < row.peers[fastest]) then fastest = system end
    end
    if fastest then return row.best / row.peers[fastest], fastest end
end

--- How neap compares with the fastest other system: a line for each group and one for all rows; then the rows that are
-- too far behind, the farthest first.
local function others_text(rows)
    local order, groups, behind, all = {}, {}, {}, { name = "all rows", logs = 0, rows = 0, near = 0 }
    for _, row in ipairs(rows) do
        local ratio, system = beside(row)
        if ratio then
            local name = row.group .. (row.workers and (", %d threads"):format(row.workers) or "")
            if not groups[name] then
                groups[name] = { name = name, logs = 0, rows = 0, near = 0 }
                order[#order + 1] = groups[name]
            end
            for _, total in ipairs { groups[name], all } do
                total.logs, total.rows = total.logs - math.log(ratio), total.rows + 1
                total.near = total.near + (ratio <= BEHIND and 1 or 0)
            end
            if ratio > BEHIND then
                local text = ("%s, %s: %s× the time of %s"):format(name, row.name, short(ratio), system)
                behind[#behind + 1] = { ratio, text }
            end
        end
    end
    if all.rows == 0 then return "" end
    order[#order + 1] = all
    local lines = {}
    for k, total in ipairs(order) do
        local text = "%s beside other systems: %s× as fast as the fastest (geometric mean); %d of %d rows within %s×"
        lines[k] = text:format(total.name, short(math.exp(total.logs / total.rows)), total.near, total.rows,
                               short(BEHIND))
    end
    lines[#lines] = lines[#lines] .. ("; goal: %s× and all"):format(short(AHEAD))
    table.sort(behind, function(a, b) return a[1] > b[1] end)
    for _, row in ipairs(behind) do lines[#lines + 1] = row[2] end
    return "\n" .. table.concat(lines, "\n") .. "\n"
end

--- The cells of all rows, the first line being the heads.
local function cells(rows, peers)
    local lines = { { "row", "median", "best", "unit", "reference", "ratio", "goal", "" } }
    for _, system in ipairs(peers.systems) do table.insert(lines[1], system) end
    for _, row in ipairs(rows) do
        local line = { row.name, short(row.value), short(row.best), row.unit, short(row.reference), short(row.ratio),
                       goal_text(row), verdict(row) }
        for _, system in ipairs(peers.systems) do line[#line + 1] = short((peers.of[row.name] or {})[system]) end
        lines[#lines + 1] = line
    end
    return lines
end

--- Columns on the terminal (not bytes).
local function columns(text)
    return select(2, text:gsub("[^\128-\191]", ""))
end

function report.text(rows, peers)
    local lines, widths = cells(rows, peers), {}
    for _, line in ipairs(lines) do
        for k, cell in ipairs(line) do widths[k] = math.max(widths[k] or 0, columns(cell)) end
    end
    local out = {}
    for _, line in ipairs(lines) do
        local padded = {}
        for k, cell in ipairs(line) do
            local pad = (" "):rep(widths[k] - columns(cell))
            padded[k] = k == 1 and cell .. pad or pad .. cell
        end
        out[#out + 1] = (table.concat(padded, "  "):gsub("%s+$", ""))
    end
    return table.concat(out, "\n") .. "\n" .. goals_text(rows) .. others_text(rows)
end

function report.markdown(facts, rows, peers)
    local out = {
        "# neap " .. facts.neap .. ", measured on " .. facts.date, "",
        ("%s, %s cores, last-level cache %s, %s GiB; %s; reference compiled with %s. %d rounds a row."):format(
            facts.cpu, facts.cores or "?", facts.last_cache or "?", facts.memory_gib or "?", facts.system or "?",
            facts.compiler, facts.repeats), "",
    }
    for k, line in ipairs(cells(rows, peers)) do
        out[#out + 1] = "| " .. table.concat(line, " | ") .. " |"
        if k == 1 then out[#out + 1] = "|---" .. ("|--:"):rep(#line - 1) .. "|" end
    end
    return table.concat(out, "\n") .. "\n" .. (goals_text(rows) .. others_text(rows)):gsub("\n(%C)", "\n- %1")
end

-- ---- JSON -----------------------------------------------------------------------------------------------------------

local function encode(value, indent)
    if type(value) == "table" then
        local parts, inner = {}, indent .. "  "
        if #value > 0 then
            for k, item in ipairs(value) do parts[k] = inner .. encode(item, inner) end
            return "[\n" .. table.concat(parts, ",\n") .. "\n" .. indent .. "]"
        end
        local keys = {}
        for key in pairs(value) do keys[#keys + 1] = key end
        table.sort(keys)
        for k, key in ipairs(keys) do parts[k] = ("%s%q: %s"):format(inner, key, encode(value[key], inner)) end
        return "{\n" .. table.concat(parts, ",\n") .. "\n" .. indent .. "}"
    elseif type(value) == "string" then
        local escaped = value:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end)
        return '"' .. escaped .. '"'
    elseif type(value) == "number" then
        return value == value and math.abs(value) < math.huge and ("%.9g"):format(value) or "null"
    end
    return tostring(value)
end

function report.json(facts, rows, peers)
    local list = {}
    for k, row in ipairs(rows) do
        local copy = {}
        for key, value in pairs(row) do copy[key] = value end
        copy.met, copy.peers = met(row), peers.of[row.name]
        list[k] = copy
    end
    return encode({ machine = facts, rows = list }, "") .. "\n"
end

--- Writes a whole file, or fails with its name.
function report.write(path, text)
    local file = assert(io.open(path, "w"))
    file:write(text)
    assert(file:close())
end

return report
