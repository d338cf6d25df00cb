--- run.lua: runs the groups of rows, each in a process of its own, and reports. Started by bench/run, which documents
-- the options.
--
--      run.lua ──▶ neap --workers W bench/rows/GROUP.lua ──rows──▶ report.lua ──▶ table, JSON, Markdown
--
-- A group's process gets as many workers as the group says: kernels are compared with C on one thread.
package.path = "./?.lua;" .. package.path
local report = require "bench.report"

-- In the order of the report. workers: nil is neap's own choice, one for each core. options: of neap. program: instead
-- of a script; it is given the number of rounds and of workers. optional: there may be no rows. A group may also say
-- why it has none here (measure.skip).
local GROUPS = {
    { name = "recording", workers = 1 },
    { name = "bare", program = "bench/results/bare" },
    { name = "engine", program = "bench/results/engine", workers = 2 },
    { name = "fused", workers = 1 },
    { name = "fused", workers = 2 },
    { name = "reduce", workers = 1 },
    { name = "reduce", workers = 2 },
    { name = "small", workers = 1 },
    { name = "staging", workers = 1 },
    { name = "latency" },
    { name = "mlp" },
    { name = "steps", workers = 1 },
    { name = "steps", workers = 2 },
    { name = "memory" },
    { name = "calls" },
    { name = "daily" },
    { name = "products" },
    { name = "quantized", workers = 1 },
    { name = "updates" },
    { name = "ahead" },
    { name = "input" },
    { name = "mesh", options = "--devices 8" },
    { name = "mesh_mpi", optional = true },
    { name = "prompt" },
    { name = "gpu" },
}

local function fail(...)
    io.stderr:write("bench/run: ", string.format(...), "\n")
    os.exit(1)
end

local function parse(words)
    local options = { repeats = 15, only = "", case = "", results = "bench/results" }
    local k = 1
    local function value()
        k = k + 1
        return words[k] or fail("%s wants a value", words[k - 1])
    end
    while words[k] do
        local word = words[k]
        if word == "--neap" then
            options.neap = value()
        elseif word == "--only" then
            options.only = value()
        elseif word == "--case" then
            options.case = value()
        elseif word == "--repeats" then
            options.repeats = tonumber(value()) or fail("--repeats wants a number")
        elseif word == "--results" then
            options.results = value()
        elseif word == "--quick" then
            options.repeats, options.quick = 3, true
        elseif word == "--cpu" then
            options.cpu = true
        elseif word == "--list" then
            options.list = true
        else
            fail("unknown option '%s'", word)
        end
        k = k + 1
    end
    return options
end

local function quoted(word)
    return "'" .. word:gsub("'", "'\\''") .. "'"
end

--- Runs a group; appends its rows to `rows`, and why it was not run to `skipped`. A group that fails is reported and
-- makes the whole run fail.
local function run_group(group, options, rows, skipped)
    local count = group.workers or options.cpu and 1 or nil
    local workers = count and "--workers " .. count or ""
    -- On one core no thread spins while it waits: that is no work.
    local pinned = options.cpu and "$(command -v taskset >/dev/null && echo taskset -c 0)" or ""
    local command = ("OMP_WAIT_POLICY=passive %s %s %s %s bench/rows/%s.lua %d %s %s %s %d %s"):format(
        pinned, quoted(options.neap), group.options or "", workers, group.name, options.repeats, quoted(options.neap),
        options.quick and "quick" or "full", quoted(options.case), group.workers or 1,
        options.cpu and "cpu" or "wall")
    if group.program then command = ("%s %d %s"):format(quoted(group.program), options.repeats, group.workers or "") end
    io.stderr:write("bench: ", group.name, group.workers == 2 and ", 2 threads" or "", " …\n")
    local pipe = assert(io.popen(command))
    local found = 0
    for line in pipe:lines() do
        local row = assert(loadstring("return " .. line), "unreadable row: " .. line)()
        if row.skipped then
            skipped[#skipped + 1] = ("not run: %s: %s\n"):format(group.name, row.skipped)
        else
            row.group, row.workers = group.name, group.workers
            rows[#rows + 1] = row
        end
        found = found + 1
    end
    pipe:close()
    if found == 0 and not group.optional and options.case == "" then fail("the group '%s' gave no rows", group.name) end
end

local options = parse(arg)
local chosen = {}
for _, group in ipairs(GROUPS) do
    local wanted = options.only == ""
    for pattern in options.only:gmatch "[^,]+" do wanted = wanted or group.name:find(pattern) end
    if wanted then chosen[#chosen + 1] = group end
end
if #chosen == 0 then fail("no group matches '%s'; --list names them", options.only) end
if options.list then
    for _, group in ipairs(chosen) do print(group.name) end
    os.exit(0)
end

assert(os.execute(("mkdir -p '%s'"):format(options.results)) == 0, "bench/run: cannot make the folder of results")
local rows, skipped = {}, {}
for _, group in ipairs(chosen) do run_group(group, options, rows, skipped) end
local peers = report.read_peers("bench/results/peers.tsv", rows)
local facts = report.machine()
facts.repeats = options.repeats
io.write(report.text(rows, peers), table.concat(skipped))
report.write(options.results .. "/latest.json", report.json(facts, rows, peers))
report.write(options.results .. "/latest.md", report.markdown(facts, rows, peers) .. table.concat(skipped))
io.stderr:write("bench: wrote ", options.results, "/latest.json and latest.md\n")
