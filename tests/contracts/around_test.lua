--- around_test.lua: contracts of printing against NumPy, and the names around arrays: which tests hold output, effects,
-- pictures, explanations and the prompt's functions.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local process = require "tests.lib.process"
local script = require "neap.plot.script"
local of, finish, _, elsewhere, held = require "tests.lib.contracts" "around"

-- ---- Printing -------------------------------------------------------------------------------------------------------

local TEXT = "it waits for the values that it writes, and gives no array"
local function printing(name, call)
    of(name, {
        args = { "x" }, accepts = "f64 i64 u8 bool c128", call = call, oracle = "printed(x, o)", gives = "text",
        shapes = { { { 7 } }, { { 3, 4 } }, { {} }, { { 0 } }, { { 2, 0 } }, { { 2, 3, 2 } }, { { 40 } } },
        options = { {}, { precision = 3 }, { precision = 17 }, { precision = 0 }, { threshold = 4, edgeitems = 1 },
                    { linewidth = 20 }, { suppress = true, precision = 4 }, { nanstr = "-", infstr = "oo" },
                    { sign = "+" }, { sign = " " } },
        without = { jit = TEXT, programs = TEXT, vmap = TEXT, derivatives = TEXT, numbers = TEXT },
    })
end

printing("np.array2string", function(f, o, x)
    if next(o) then return f(x, o) end
    return f(x)
end)
printing("np.printoptions", function(f, o, x) return f(o, tostring, x) end)
printing("np.set_printoptions", function(f, o, x)
    local before = np.get_printoptions()
    f(o)
    local text = tostring(x)
    f(before)
    return text
end)
held("np.get_printoptions", "numpy.get_printoptions()", {
    values = function()
        local want = { precision = 8, threshold = 1000, edgeitems = 3, linewidth = 75, suppress = false, nanstr = "nan",
                       infstr = "inf", sign = "-" }
        check.equal(np.get_printoptions(), want)
        np.printoptions({ precision = 2, sign = "+" }, function()
            want.precision, want.sign = 2, "+"
            check.equal(np.get_printoptions(), want)
        end)
        check.equal(np.get_printoptions().precision, 8)
    end,
})
elsewhere("np.pprint", "tests/stdlib/names_test.lua", "nested tables as text: \"printing by options\"")
elsewhere("print np.printf", "tests/stdlib/output_test.lua", "what is printed, in which order")

-- ---- Names and facts ------------------------------------------------------------------------------------------------

held("np.pi np.e np.euler_gamma np.inf np.nan", "the constants to 17 digits", {
    values = function()
        check.equal({ np.pi, np.e, np.euler_gamma }, { 3.14159265358979324, 2.71828182845904524, 0.577215664901532861 })
        check.equal({ np.inf, np.nan }, { math.huge, 0 / 0 })
    end,
})
held("np.is_array np.isscalar", "numpy.isscalar, but for strings", {
    values = function()
        local rows = { { 1, true }, { -0.5, true }, { true, true }, { false, true }, { 2LL, true }, { 3ULL, true },
                       { 1 + 2i, true }, { "a", false }, { {}, false }, { print, false }, { np.array(1), false } }
        for _, row in ipairs(rows) do check.equal(np.isscalar(row[1]), row[2], tostring(row[1])) end
        check.equal({ np.isscalar(nil), np.is_array(nil) }, { false, false })
        for k, row in ipairs(rows) do check.equal(np.is_array(row[1]), k == #rows) end
    end,
})
held("np._VERSION", "neap --version", {
    values = function()
        local _, out = process.run_neap { "--version" }
        check.ok(out:find(np._VERSION, 1, true), out)
    end,
})
held("np.input", "the lines of standard input", {
    values = function()
        local _, out = process.run_neap({ "-e", [[io.write(np.input("name? "), "|", tostring(np.input()), "|")
            io.write(tostring(np.input("more? ")), "\n")]] }, "Ada\n\n")
        check.equal(out, "name? Ada||more? nil\n")
    end,
    options = function()
        check.raises(function() np.input("x", { password = true }) end, "needs a notebook")
        check.raises(function() np.input("x", { password = 1 }) end, "password")
        check.raises(function() np.input("x", { nonsense = 1 }) end, "nonsense")
    end,
})
elsewhere("np.effects np.debug np.plot", "tests/docs/help_test.lua", "a table of functions, which have help")
elsewhere("np.help", "tests/interp/questions_test.lua", "text for a reader")

-- ---- Effects --------------------------------------------------------------------------------------------------------

elsewhere("np.effects.order np.debug.print", "tests/effects/debug_print_test.lua",
          "the order and form of what is printed")
elsewhere("np.effects.kind", "tests/effects/kinds_test.lua", "kinds of effects and their tokens")
elsewhere("np.effects.logger log.close", "tests/effects/logger_test.lua", "lines in files and tables")
elsewhere("np.callback np.effects_barrier", "tests/effects/callback_test.lua", "calls back into Lua, in order")
elsewhere("np.argparse", "tests/effects/argparse_test.lua", "options of a command line, and what ends a script")
elsewhere("np.progress", "tests/effects/progress_test.lua", "bars and lines while a loop runs")
elsewhere("np.display np.update_display np.clear_output", "tests/interp/html_test.lua", "what cells show")

elsewhere("np.interact np.widgets np.widgets.slider np.widgets.play np.widgets.dropdown np.widgets.checkbox "
          .. "np.widgets.text np.widgets.button", "tests/interp/interact_test.lua", "what a user changes")

-- ---- Looking inside -------------------------------------------------------------------------------------------------

elsewhere("np.explain explanation.dot explanation.svg explanation.save explanation.show", "tests/lazy/explain_test.lua",
          "what ran and will run")
elsewhere("np.profile np.profile.start np.profile.stop report.svg report.save np.memory.lines",
          "tests/stdlib/profile_test.lua", "what took the time, and what takes memory")
elsewhere("np.check", "tests/stdlib/check_test.lua", "the first difference of an answer, in words")
elsewhere("np.breakpoint", "tests/interp/breakpoint_test.lua", "a prompt inside of a program")
elsewhere("np.debug.counters np.debug.fail", "tests/lazy/graph_test.lua", "what the core counts; arrays that fail")
elsewhere("np.debug.limits np.debug.reuse", "tests/lazy/reuse_test.lua", "limits and memory of regions")
elsewhere("np.debug.kernels", "tests/lazy/native_test.lua", "what kernels became")
elsewhere("np.debug.collector", "tests/lazy/collector_test.lua", "when Lua's collector runs")
elsewhere("np.debug.jit_bytes np.debug.jit_limit", "tests/stdlib/jit_test.lua", "how much a cache keeps")
elsewhere("np.debug.memory_limit", "tests/stdlib/handles_test.lua", "what happens when memory runs out")
elsewhere("np.debug.check", "tests/stdlib/debug_check_test.lua", "it changes what fails, and no value")
elsewhere("np.debug.nans", "tests/stdlib/nans_test.lua", "it changes what fails, and no value")
elsewhere("np.transfer_guard", "tests/stdlib/transfer_guard_test.lua", "which copies between memories are refused")
elsewhere("np.debug.jit", "tests/stdlib/disable_jit_test.lua", "a switch: np.disable_jit for all that follows")
elsewhere("np.debug.steps", "tests/stdlib/steps_test.lua", "the values of each line of a program, as a run has them")
elsewhere("np.debug.verify", "tests/lazy/program_test.lua", "whether a program holds together")
elsewhere("np.debug.sleep", "tests/effects/callback_test.lua", "an array that comes late")
elsewhere("np.debug.hold", "tests/lazy/fusion_test.lua", "an array that is not fused")
elsewhere("np.debug.device", "tests/lazy/devices_test.lua", "where an array lies")

-- ---- Pictures -------------------------------------------------------------------------------------------------------

--- What gnuplot is given for a figure of one axes that f draws into.
local function script_of(f)
    np.plot.figure()
    return table.concat(script.of(f(np.plot), 640, 480, 1))
end

held("np.plot.semilogx np.plot.yticks np.plot.subplot", "the same picture by other functions", {
    values = function()
        local x, y = { 1, 10, 100 }, { 3, 1, 2 }
        check.equal(script_of(function(plot) return plot.semilogx(x, y) end),
                    script_of(function(plot) return plot.line(x, y):xscale "log" end))
        local ticks = script_of(function(plot) return plot.line(x, y):yticks({ 1, 3 }, { "one", "three" }) end)
        check.ok(ticks:find 'set ytics[^\n]*"one"[^\n]* 1[^\n]*"three"[^\n]* 3', ticks)
        np.plot.figure()
        np.plot.subplot(1, 2, 1)
        np.plot.line(x, y)
        np.plot.subplot(1, 2, 2)
        local one = np.plot.scatter(y, x)
        local other, axes = np.plot.subplots(1, 2)
        axes[1]:line(x, y)
        axes[2]:scatter(y, x)
        check.equal(table.concat(script.of(one, 640, 480, 1)), table.concat(script.of(other, 640, 480, 1)))
    end,
})
elsewhere([[np.plot.line np.plot.step np.plot.semilogy np.plot.loglog np.plot.scatter np.plot.scatter3d
    np.plot.fill_between np.plot.errorbar np.plot.bar np.plot.barh np.plot.hist np.plot.boxplot np.plot.imshow
    np.plot.axhline np.plot.axvline np.plot.axhspan np.plot.axvspan np.plot.text np.plot.annotate np.plot.title
    np.plot.xlabel np.plot.ylabel np.plot.zlabel np.plot.suptitle np.plot.xlim np.plot.ylim np.plot.zlim np.plot.xscale
    np.plot.yscale np.plot.xticks np.plot.legend np.plot.colorbar np.plot.grid np.plot.axis np.plot.figure
    np.plot.subplots np.plot.twinx np.plot.save figure.save]], "tests/plot/files_test.lua",
          "pictures: colours at their places in files, texts in SVG")
elsewhere("np.plot.image np.plot.heatmap np.plot.contour np.plot.contourf np.plot.surface", "tests/plot/grids_test.lua",
          "pictures of grids: lines and areas of equal height")
elsewhere("np.plot.violinplot np.plot.pie np.plot.quiver", "tests/plot/shapes_test.lua",
          "areas and arrows: SciPy's densities, angles, where arrows end")
elsewhere("np.plot.facetgrid np.plot.pairplot", "tests/plot/facets_test.lua",
          "which rows are in which axes, their ranges")
elsewhere("np.plot.explore figure.explore", "tests/interp/explore_test.lua", "keys of a terminal")
elsewhere("np.plot.show np.plot.live", "tests/plot/show_test.lua", "where a picture is shown")
elsewhere("np.plot.animate", "tests/plot/animate_test.lua", "files and pages of pictures, read back")

finish()
