--- check_test.lua (release build only): np.check: what is right, which difference comes first, and in which words.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

--- The lines that a script prints.
local function said(script)
    local status, out, err = process.run { process.neap, "-e", script }
    check.equal({ status, err }, { 0, "" })
    local lines = {}
    for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line end
    return lines
end

--- Runs calls np.check(…), one a case { arguments, line }, in one process, and compares the lines.
local function cases(list)
    local calls = {}
    for k, case in ipairs(list) do calls[k] = "np.check(" .. case[1] .. ")" end
    local lines = said(table.concat(calls, "\n"))
    for k, case in ipairs(list) do check.equal(lines[k], case[2], calls[k]) end
    check.equal(#lines, #list)
end

check.test("what is right: arrays, numbers, tables, texts, trees", function()
    local right = { "np.arange(3), {0, 1, 2}", "{0, 1, 2}, np.arange(3)", "np.ones(2), np.ones(2)", "3, 3",
                    "np.array(3), 3",
                    "true, true", "np.array{true, false}, {true, false}", "'a', 'a'", "{}, {}", "np.zeros(0), {}",
                    "np.zeros{2, 0}, np.zeros{2, 0}", "np.nan, np.nan", "-np.inf, -np.inf", "2^53 + 0, 2^53",
                    "5LL, 5", "1+2i, 1+2i", "np.array{1i, 2}, {1i, 2}", "np.sin(1), np.sin(np.array(1))",
                    "{w = np.ones(2), b = {x = 'y'}}, {w = {1, 1}, b = {x = 'y'}}",
                    "{np.ones(2), {1, 1, 1}}, {np.ones(2), np.ones(3)}" }
    local list = {}
    for k, arguments in ipairs(right) do list[k] = { arguments, "right" } end
    cases(list)
    cases { { "1, 1, {name = 'one'}", "right: one" } }
end)

check.test("the first difference, in this order: kind, keys, shape, dtype, elements", function()
    cases {
        { "nil, 3", "not yet: the answer is nil" },
        { "(function() end)(), 3", "not yet: the answer is nil" },
        { "print(), 3", "not yet: the answer is nil: print(…) returned nothing" },
        { "('a text'):rep(9), 3",
          'not yet: the answer is a string, "a texta texta texta texta texta texta te" …, expected the number 3' },
        { "nil, 3, {name = 'x'}", "not yet: x is nil" },
        { "print, 3", "not yet: the answer is a function, expected the number 3" },
        { "true, 1", "not yet: the answer is a boolean, expected the number 1" },
        { "'a', 'b'", 'not yet: the answer is the string "a", expected the string "b"' },
        { "1, 'b'", 'not yet: the answer is the number 1, expected the string "b"' },
        { "{1, {2}}, {1, 2}", "not yet: the answer is a table, expected an array of shape (2,)" },
        { "{w = 1}, {1, 2}", "not yet: the answer is a table with names, such as w, expected an array of shape (2,)" },
        { "{np.ones(1):sum(), np.ones(1):sum()}, {1, 1}", "not yet: the answer is a table of arrays (x:item() is the "
          .. "number in one, np.stack(t) an array of all), expected an array of shape (2,)" },
        { "{{np.array(1)}}, {1}, {name = 'x'}", "not yet: x is a table of arrays (x:item() is the number in one, "
          .. "np.stack(t) an array of all), expected an array of shape (1,)" },
        { "1, {w = 1}", "not yet: the answer is the number 1, expected a table" },
        { "{}, {w = 1}", "not yet: the answer has nothing at w" },
        { "{w = 1, b = 2}, {w = 1}", "not yet: the answer has something at b, too" },
        { "np.ones{2, 3}, np.zeros({3, 2}, {dtype = 'i32'})",
          "not yet: the shape of the answer is (2, 3), expected (3, 2)" },
        { "np.ones{1}, 1", "not yet: the shape of the answer is (1,), expected ()" },
        { "np.arange(2), np.zeros(2)", "not yet: the dtype of the answer is i32, expected f32" },
        { "np.array{true}, {1}", "not yet: the dtype of the answer is bool, expected one of numbers" },
        { "np.ones(1), {true}", "not yet: the dtype of the answer is f32, expected bool" },
        { "np.array{1i}, {1}", "not yet: the dtype of the answer is c64, expected a real one" },
        { "3.1, 3", "not yet: the answer is 3.1, expected 3" },
        { "np.array{{1, 2, 3}, {4, 0, 0}}, {{1, 2, 3}, {4, 5, 6}}",
          "not yet: element {1, 1} of the answer is 0, expected 5; 2 of 6 differ" },
        { "np.array{true, true}, {true, false}",
          "not yet: element {1} of the answer is true, expected false; 1 of 2 differ" },
        { "np.array{1i}, {2i}", "not yet: element {0} of the answer is 0+1i, expected 0+2i; 1 of 1 differ" },
        { "{layers = {{w = np.ones(2)}}}, {layers = {{w = {1, 2}}}}",
          "not yet: element {1} of layers[1].w is 1, expected 2; 1 of 2 differ" },
        { "{a = nil, b = {1}}, {b = {2}}, {name = 'p'}",
          "not yet: element {0} of p.b is 1, expected 2; 1 of 1 differ" },
        { "np.nan, 1", "not yet: the answer is nan, expected 1" },
        { "np.inf, -np.inf", "not yet: the answer is inf, expected -inf" },
    }
end)

check.test("integers are equal, floats near, and numbers are told with the digits that differ", function()
    cases {
        { "np.array({2^31 - 1}, {dtype = 'i32'}), {2^31 - 2}",
          "not yet: element {0} of the answer is 2147483647, expected 2147483646; 1 of 1 differ" },
        { "9223372036854775807LL, 9223372036854775806LL",
          "not yet: the answer is 9223372036854775807LL, expected 9223372036854775806LL" },
        { "np.array({1, 2}, {dtype='i32'}), {1, 2.5}",
          "not yet: element {1} of the answer is 2, expected 2.5; 1 of 2 differ" },
        { "1.000001, 1", "right" }, { "1.00002, 1", "not yet: the answer is 1.00002, expected 1" },
        { "1.000001, 1, {rtol = 1e-7}", "not yet: the answer is 1.00000095, expected 1" },
        { "1e-7, 0", "not yet: the answer is 1e-07, expected 0" }, { "1e-7, 0, {atol = 1e-6}", "right" },
        { "1.4, 1, {rtol = 0.5}", "right" },
        { "np.array({1}, {dtype = 'bf16'}), {1.005}", "right" },
        { "np.array({1}, {dtype = 'f16'}), {1.005}, {rtol = 1e-4}",
          "not yet: element {0} of the answer is 1, expected 1.00488; 1 of 1 differ" },
    }
end)

check.test("prints stay in order, and nothing is raised or returned", function()
    local lines = said [[
        print "one" np.check(np.ones(3):cumsum(), {1, 2, 3}) print("three", select("#", np.check(1, 2)))]]
    check.equal(lines, { "one", "right", "not yet: the answer is 1, expected 2", "three\t0" })
end)

check.test("what cannot be compared is refused by name", function()
    local np = require "neap"
    for pattern, f in pairs {
        ["np.check: argument 2 %(expected%) must be an array, .*, got nothing %(nil%)"] = function() np.check(1) end,
        ["np.check: argument 2 %(expected%) must be an array, .*, got a function"] = function() np.check(1, print) end,
        ["got an array of shape %(%), whose value is not known while tracing"] = function()
            np.jit(function(x) np.check(x, 1) return x end)(1)
        end,
        ["np.check: argument 2 %(expected%) must be values that are known"] = function()
            np.vmap(function(x) np.check(1, x) return x end)(np.ones(2))
        end,
        ["option 'rtol' must be a number from 0 up"] = function() np.check(1, 1, { rtol = -1 }) end,
        ["option 'atol' must be a number from 0 up"] = function() np.check(1, 1, { atol = np.nan }) end,
        ["option 'name' must be a text"] = function() np.check(1, 1, { name = 3 }) end,
        ["unknown option 'tolerance'"] = function() np.check(1, 1, { tolerance = 3 }) end,
        ["takes 3 arguments, got also"] = function() np.check(1, 1, {}, 4) end,
        ["item%[2%] has 3 entries, where others have 2"] = function() np.check({ 1 }, { { 1, 1 }, { 1, 1, 1 } }) end,
        ["nested more than %d+ deep"] = function()
            local t = { x = 1 }
            t.t = t
            np.check(t, t)
        end,
    } do check.raises(f, pattern) end
end)

check.done()
