--- profile_test.lua (release build only): np.profile: what took the time, by op and by line; np.memory.lines: what
-- takes memory.
local check = require "tests.lib.check"
local json = require "neap.files.json"
local process = require "tests.lib.process"
local np = require "neap"

local x = np.random.normal(np.random.key(0), { 200, 200 }):wait()

local function products(y)
    y = y:matmul(x * 2)
    y = np.tanh(y * 0.1) + 1
    return y:sum { axis = 0 }, { total = y:sum() }
end
local PRODUCT, SUM = "profile_test.lua:11", "profile_test.lua:13"

local function row_of(rows, key, name)
    for _, row in ipairs(rows) do
        if row[key] == name then return row end
    end
    local text = {}
    for k, row in ipairs(rows) do text[k] = tostring(row[key]) end
    error(("no row %s among %s"):format(name, table.concat(text, ", ")), 2)
end

check.test("ops and lines: calls, times, shares, bytes", function()
    local report = np.profile(products, x)
    local product = row_of(report.ops, "op", "matmul2")
    check.equal({ product.calls, product.read, product.written }, { 1, 2 * 160000, 160000 }, tostring(report))
    check.equal(row_of(report.lines, "line", PRODUCT).calls >= 1, true)
    check.equal(row_of(report.lines, "line", SUM).time > 0, true, "what is fused has the line of its result")
    for _, rows in ipairs { report.ops, report.lines } do
        local share, time, last = 0, 0, math.huge
        for _, row in ipairs(rows) do
            check.equal(row.time <= last and row.time >= 0, true, "the longest first")
            share, time, last = share + row.share, time + row.time, row.time
        end
        check.equal(math.abs(share - 1) < 1e-9 and math.abs(time - report.computed) < 1e-9, true)
    end
    check.equal(report.wall > 0 and report.computed > 0 and report.threads > 0, true)
    check.equal(report.waited >= 0 and report.waited <= report.wall, true)
    check.equal(report.peak >= 2 * 160000, true)
    check.equal({ report.results.n, report.results[1].shape[1] }, { 2, 200 })
    check.equal(np.array_equal(report.results[1], (products(x))), true)
    local text = tostring(report)
    check.equal(text:match "^took [%d.]+ [µm]*s: computed for " ~= nil, true, text)
    check.equal(text:find("\nmatmul2 ", 1, true) ~= nil and text:find("\n" .. PRODUCT, 1, true) ~= nil, true, text)
end)

check.test("steps of jitted functions have their own lines; loops, gradients", function()
    local small = np.ones { 40 }:wait()
    local f = np.jit(function(v)
        local a = np.sort(v * 2)
        return np.argsort(a):astype("f32") + a
    end)
    f(small):wait()
    local report = np.profile(f, small)
    check.equal(#report.lines >= 2, true, tostring(report))
    check.equal(row_of(report.ops, "op", "sort").calls, 1)
    check.equal(row_of(report.ops, "op", "argsort").calls, 1)
    local loop = np.profile(function() return (np.fori_loop(0, 10, function(_, c) return c * 0.5 end, small)) end)
    check.equal(row_of(loop.ops, "op", "scan").calls, 1)
    local slope = np.profile(np.grad(function(v) return (v:matmul(x)):sum() end), x)
    check.equal(#slope.ops > 0, true)
end)

check.test("scopes", function()
    local block = np.named_scope("outer", np.named_scope("inner", function(v) return v:matmul(x) end))
    local report = np.profile(block, x)
    local row = row_of(report.lines, "scope", "outer/inner")
    check.equal(row.line:match "^profile_test.lua:%d+$" ~= nil, true, row.line)
    check.equal(tostring(report):find("(outer/inner)", 1, true) ~= nil, true)
    local svg = report:svg()
    check.equal(svg:find("<title>inner: ", 1, true) ~= nil and svg:find("<title>outer: ", 1, true) ~= nil, true)
end)

check.test("the flame graph needs nothing else, and its boxes lie in those above", function()
    local report = np.profile(products, x)
    local svg = report:svg()
    check.equal(svg:match "^<svg xmlns=" ~= nil and svg:match "</svg>\n$" ~= nil, true)
    check.equal(svg:find("script", 1, true) or svg:find("href", 1, true), nil)
    check.equal(select(2, svg:gsub("<g>", "")), select(2, svg:gsub("</g>", "")))
    local levels = {}
    for at, y, width in svg:gmatch '<rect x="([%d.]+)" y="(%d+)" width="([%d.]+)"' do
        levels[tonumber(y)] = (levels[tonumber(y)] or 0) + tonumber(width)
        check.equal(tonumber(at) + tonumber(width) <= 960.01, true)
    end
    for y, width in pairs(levels) do check.equal(width <= 960.01, true, "level at " .. y) end
    local shown = report:__display()
    check.equal(shown["text/html"]:find("<svg", 1, true) ~= nil and shown["text/plain"] == tostring(report), true)
    for _, kind in ipairs { "svg", "txt" } do
        local path = process.file "" .. "." .. kind
        report:save(path)
        check.equal(process.read(path):find("matmul2", 1, true) ~= nil, true, kind)
        os.remove(path)
    end
    check.raises(function() report:save "a.png" end, "must end in .txt or .svg, got \"a.png\"")
end)

check.test("from start to stop, with and without a file", function()
    np.profile.start()
    x:matmul(x):wait()
    local report = np.profile.stop()
    check.equal(row_of(report.ops, "op", "matmul2").calls, 1)
    check.equal(report.results, nil)
    local path = process.file ""
    np.profile.start(path)
    x:matmul(x):wait()
    check.equal(row_of(np.profile.stop().ops, "op", "matmul2").calls, 1)
    check.equal(type(json.read(process.read(path)).traceEvents), "table")
    local empty = (function() np.profile.start() return np.profile.stop() end)()
    check.equal({ #empty.ops, empty.computed }, { 0, 0 })
    check.equal(empty:svg():find("all ops", 1, true) ~= nil, true)
end)

check.test("prints come in order, before the report", function()
    local script = process.file [[
local x = np.ones { 30, 30 }
print("before")
local report = np.profile(function() print("sum", x:sum()) return x:matmul(x) end)
print(tostring(report):match "^took" or report)
]]
    local status, out = process.run_neap { script }
    check.equal({ status, out }, { 0, "before\nsum\t900.0\ntook\n" })
end)

check.test("what fails, and what is refused", function()
    check.raises(function() np.profile(3) end, "np.profile: argument 1 %(f%)")
    check.raises(function() np.profile(function() error("mine", 0) end) end, "^mine$")
    check.raises(function() np.profile(function() return np.debug.fail(x) end) end, "failed on purpose")
    check.equal(#np.profile(products, x).ops > 0, true, "after a failure")
    check.raises(function() np.profile.stop() end, "np.profile.stop: nothing is being recorded")
    check.raises(function() np.profile.start(3) end, "np.profile.start")
    check.raises(function() np.profile.start "/no/such/folder/x.json" end, "np.profile.start: cannot write")
    np.profile.start()
    check.raises(function() np.profile.start() end, "is being recorded already")
    check.raises(function() np.profile(products, x) end, "is being recorded already")
    np.profile.stop()
    check.raises(function() np.jit(function(v) np.profile(products, v) return v end)(x) end,
                 "a gradient, a trace or a batch is open")
end)

check.test("memory by line", function()
    local a = np.random.normal(np.random.key(1), { 300, 100 }):wait()
    local b = (a * 2):wait()
    local view = b[{ { 0, 3 } }]
    local lines = np.memory.lines()
    local found = {}
    for _, row in ipairs(lines) do found[row.line:match "[^/]*$"] = row end
    local info = debug.getinfo(1, "l").currentline
    check.equal(found[("profile_test.lua:%d"):format(info - 6)].bytes >= 120000, true)
    local twice = found[("profile_test.lua:%d"):format(info - 5)]
    check.equal({ twice.bytes, twice.arrays }, { 120000, 1 }, "a view counts with its array")
    check.equal(tostring(lines):match "^line +bytes +arrays\n" ~= nil, true)
    check.equal(view:sum():item() ~= nil and #lines > 1, true)
    local mesh = np.mesh({ 1 }, { "i" })
    local on = np.device_put(np.arange(50000) * 1.5, mesh, np.P "i"):wait()
    local sum = 0
    for _, row in ipairs(np.memory.lines()) do sum = sum + row.bytes end
    check.equal(sum >= 200000 + 240000 and sum <= np.memory().live, true, tostring(np.memory.lines()))
    check.equal(on.shape, { 50000 })
end)

process.cleanup()
check.done()
