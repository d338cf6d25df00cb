--- interact_test.lua (not under tsan): np.interact without a notebook (tests/notebook/interact.py has that): what its
-- arguments mean, and what a script without a terminal does.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

-- ---- Without a terminal ---------------------------------------------------------------------------------------------

--- What a script prints that has `seen` called once, with the values of these controls.
local function values(controls)
    local status, out = process.run_neap {
        "-e", "local function f(...) print(...) end local function seen(v) for k, x in pairs(v) do print(k, x) end end "
            .. "np.interact(" .. controls .. ")"
    }
    check.equal(status, 0, controls)
    return out
end

check.test("plain values", function()
    for controls, printed in pairs {
        ["function(a) f(a) end, {a={0, 10}}"] = "5\n",
        ["function(a) f(a) end, {a={0, 1}}"] = "1\n",
        ["function(a) f(a) end, {a={0, 1, 0.25}}"] = "0.5\n",
        ["function(a) f(a) end, {a={0, 10, 3}}"] = "6\n",
        ["function(a) f(a) end, {a={0.5, 1.5}}"] = "1\n",
        ["function(a) f(a) end, {a={0, 10, value=2}}"] = "2\n",
        ["function(a) f(a) end, {a={0, 1, value=0.3}}"] = "0.3\n",
        ["function(a) f(a) end, {a=4}"] = "4\n",
        ["function(a) f(a) end, {a=-2.5}"] = "-2.5\n",
        ["function(a) f(a) end, {a=0}"] = "0\n",
        ["function(a) f(a) end, {a=3LL}"] = "3\n",
        ["function(a) f(a) end, {a=true}"] = "true\n",
        ["function(a) f(a) end, {a='word'}"] = "word\n",
        ["function(a) f(a) end, {a={'sin', 'cos'}}"] = "sin\n",
        ["function(a) f(a) end, {a={1, 2, 3, 4}}"] = "1\n",
        ["function(a) f(a) end, {a={true, false}}"] = "true\n",
        ["function(a) f(a(9)) end, {a={root=math.sqrt, sine=math.sin}}"] = "3\n",
        ["function(a) f(a) end, {a=np.widgets.slider(0, 1, {step=0.1, value=0.2, label='l'})}"] = "0.2\n",
        ["function(a) f(a) end, {a=np.widgets.play(3, 9)}"] = "3\n",
        ["function(a) f(a) end, {a=np.widgets.dropdown({1, 2, 4}, {value=4})}"] = "4\n",
        ["function(a) f(a) end, {a=np.widgets.checkbox(false)}"] = "false\n",
        ["function(a) f(a) end, {a=np.widgets.text('')}"] = "\n",
        ["function(a) f(a) end, {a=np.widgets.button{label='l'}}"] = "0\n",
    } do
        check.equal(values(controls), printed, controls)
    end
end)

check.test("how the function takes its values", function()
    check.equal(values "function(b, a) f(a, b) end, {a=true, b='x'}", "true\tx\n")
    check.equal(values "function(v) f(v.a, v.b) end, {a=true, b='x'}", "true\tx\n")
    check.equal(values "seen, {a=true}", "a\ttrue\n")
    check.equal(values "function(...) f((...).a) end, {a=true}", "true\n")
    check.equal(values "function(v) f(v) end, {v=true}", "true\n")
    check.equal(values "setmetatable({}, {__call=function(_, v) f(v.a) end}), {a=true}", "true\n")
    check.equal(values "np.jit(function(v) return v.a * 2 end), {a={0, 4}}", "4.0\n")
end)

check.test("a call is told once, with its values", function()
    local status, out, err = process.run_neap {
        "-e", "view = np.interact(function(a, kind) print(a, kind) return np.arange(a), a end, "
            .. "{a={0, 4}, kind={'sin', 'cos'}}) view:set{a=3, kind='cos'} print(view, view.values.a) view:close()"
    }
    check.equal(status, 0)
    check.equal(out, "2\tsin\n[0 1]\n2\n3\tcos\n[0 1 2]\n3\ninteraction: a=3, kind=cos\t3\n")
    check.equal(err, "np.interact: there is neither a notebook nor a terminal to press keys at: the function is called "
                .. "once, with a=2, kind=sin\n")
end)

check.test("errors of the function are the script's", function()
    local status, _, err = process.run_neap { "-e", "np.interact(function(a)\n  error('no ' .. a) end, {a={0, 4}})" }
    check.equal(status, 1)
    check.ok(err:find(":2: no 2", 1, true), err)
end)

check.test("what is refused", function()
    local interact, widgets = np.interact, np.widgets
    local function f(a) return a end
    for message, call in pairs {
        ["argument 1 (f) must be a function, got the number 3"] = function() interact(3, { a = true }) end,
        ["argument 2 (controls) must be a table of controls by name"] = function() interact(f, 3) end,
        ["must have a control"] = function() interact(f, {}) end,
        ["must have a name for each control"] = function() interact(f, { true }) end,
        ["the function has the parameters a, and the controls are a, b"] = function()
            interact(f, { a = true, b = true })
        end,
        ["the control of 'a' must be a range"] = function() interact(f, { a = np.ones(2) }) end,
        ["unknown field 'size'"] = function() interact(f, { a = { 0, 1, size = 2 } }) end,
        ["min must be less than max, got 1 and 0"] = function() interact(f, { a = { 1, 0 } }) end,
        ["option 'step' must be from above 0 to max - min, got 2"] = function() interact(f, { a = { 0, 1, 2 } }) end,
        ["option 'value' must be from min to max, 0 to 1, got 2"] = function()
            interact(f, { a = { 0, 1, value = 2 } })
        end,
        ["option 'manual' must be a boolean"] = function() interact(f, { a = true }, { manual = 1 }) end,
        ["it waits for a user"] = function() np.jit(function(x) interact(f, { a = true }) return x end)(np.ones(1)) end,
        ["argument 2 (max) must be a finite number"] = function() widgets.slider(0, 1 / 0) end,
        ["np.widgets.slider: option 'label' must be a string"] = function() widgets.slider(0, 1, { label = 1 }) end,
        ["option 'interval' must be an integer from 1 up"] = function() widgets.play(0, 1, { interval = 0 }) end,
        ["argument 1 (choices) must be a list"] = function() widgets.dropdown {} end,
        ["got a key that is the number 3"] = function() widgets.dropdown { [3] = 1 } end,
        ["option 'value' must be one of the choices"] = function() widgets.dropdown({ 1, 2 }, { value = 3 }) end,
        ["argument 1 (value) must be a boolean, got the number 1"] = function() widgets.checkbox(1) end,
        ["argument 1 (value) must be a string"] = function() widgets.text() end,
        ["np.widgets.button: unknown option 'name'"] = function() widgets.button { name = "x" } end,
    } do
        check.raises(call, (message:gsub("%p", "%%%0")))
    end
end)

check.test("what a view refuses", function()
    local _, out = process.run_neap { "-e", [[
        local view = np.interact(function(a, on) end, {a={0, 10}, on=true})
        for _, f in ipairs { function() view.set{a=1} end, function() view:set(3) end, function() view:set{b=1} end,
                             function() view:set{a='x'} end, function() view:set{on=1} end } do
            print((select(2, pcall(f)):gsub('^.-np', 'np')))
        end
        view:set{a=99} print(view.values.a)
    ]] }
    check.equal(out, [[
np.interact: call it as view:set(…), with a colon
np.interact: set takes values by name, view:set{a=1}, got the number 3
np.interact: set: there is no control 'b'
np.interact: set: the slider 'a' does not take the string "x"
np.interact: set: the checkbox 'on' does not take the number 1
10
]])
end)

process.cleanup()
check.done()
