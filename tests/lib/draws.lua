--- draws.lua: what contracts of np.random share (tests/contracts/random_test.lua, distributions_test.lua).
local np = require "neap"
local check = require "tests.lib.check"

local random = np.random
local draws = {}

--- The argument that is a key.
draws.KEY = { "key", dtype = "u32", make = function(draw) return random.key(draw(2 ^ 31)) end }

draws.NO_FLOATS = "nothing in it has a derivative"

--- Why ways do not apply to what takes a key alone, and `more`.
function draws.key_alone(more)
    local reasons = { special = "each pair of words is a key", numbers = "a key is an array",
                      derivatives = draws.NO_FLOATS }
    for way, reason in pairs(more or {}) do reasons[way] = reason end
    return reasons
end

--- f(key, …, shape, options): of a table of options o.shape is the shape.
function draws.call(f, o, ...)
    local arguments, given = { ... }, {}
    for name, value in pairs(o) do given[name] = value end
    given.shape = nil
    if o.shape then arguments[#arguments + 1] = o.shape end
    if next(given) then arguments[#arguments + 1] = given end
    return f(unpack(arguments))
end

draws.NEAR = { f64 = "rel 1e-11", f32 = "rel 3e-5", f16 = "ulp 2", bf16 = "ulp 2" }

local SHAPES = { { shape = { 3 }, dtype = "f64" }, { shape = { 3 } }, { shape = { 2, 3 }, dtype = "f64" },
                 { shape = { 3 }, dtype = "f16" }, { shape = { 3 }, dtype = "bf16" }, { dtype = "f64" },
                 { shape = { 0 }, dtype = "f64" }, { shape = 3, dtype = "f64" }, {} }
draws.SHAPES = SHAPES

local function dtype_of_options(_, o) return o.dtype or "f32" end

--- The contract of a distribution without parameters; `more`: its own fields.
function draws.plain(name, more)
    local contract = { args = { draws.KEY }, accepts = "f64", shapes = { { { 2 } } }, gives = dtype_of_options,
                       within = draws.NEAR, options = SHAPES, call = draws.call, special = false,
                       oracle = ("drawn('%s', key, o, otherwise=())"):format(name), without = draws.key_alone() }
    for field, value in pairs(more or {}) do contract[field] = value end
    return "np.random." .. name, contract
end

--- Numbers are made numbers of the result's dtype, so arrays of f32 and halves count as those of f64 with the same
-- values, and 64-bit integers as numbers.
local function test_parameters(name, parameters, call)
    local function draw(...) return call(random[name], { dtype = "f64" }, random.key(11), ...) end
    for _, dtype in ipairs { "f32", "f16", "bf16" } do
        local narrow, wide, whole, long = {}, {}, {}, {}
        for k, spec in ipairs(parameters) do
            local value = (spec.from or -3) + ((spec.to or 3) - (spec.from or -3)) * (0.3 + 0.1 * k)
            narrow[k] = np.array({ value }, { dtype = dtype })
            wide[k] = narrow[k]:astype "f64"
            whole[k] = math.ceil(value)
            long[k] = whole[k] + 0LL
        end
        check.equal(draw(unpack(narrow)):totable(), draw(unpack(wide)):totable(), dtype)
        if not parameters[1].axis then
            check.equal(draw(unpack(long)):item(), draw(unpack(whole)):item(), "64-bit integers")
        end
    end
end

--- Special values of a parameter: NaN, 0 and the infinity above; integers that are none of its domain.
function draws.specials(dtype)
    return dtype == "f64" and { 0 / 0, math.huge, 0 } or { 0, 1 }
end

--- The contract of a distribution of parameters that broadcast.
function draws.parametric(name, parameters, more)
    local shapes, titles, options = {}, {}, {}
    for k, dims in ipairs { { { 3 }, { 3 }, { 3 } }, { {}, {}, {} }, { { 2, 1 }, { 3 }, {} }, { { 0 }, {}, { 1 } } } do
        shapes[k] = { { 2 }, unpack(dims, 1, #parameters) }
    end
    for k, spec in ipairs(parameters) do titles[k] = spec[1] end
    for k, dtype in ipairs { "f64", "f32", "f16", "bf16" } do options[k] = { dtype = dtype } end
    options[5], options[6] = {}, { dtype = "f64", shape = { 2, 3 } }
    local list = table.concat(titles, ", ")
    local contract = {
        args = { draws.KEY, unpack(parameters) }, accepts = "f64 i32 bool", shapes = shapes, gives = dtype_of_options,
        options = options, within = draws.NEAR, call = draws.call, without = {},
        oracle = ("drawn('%s', key, o, %s, otherwise=both(%s))"):format(name, list, list),
    }
    for field, value in pairs(more or {}) do contract[field] = value end
    contract.also = contract.also or { ["parameters of other dtypes, and 64-bit integers"] = function()
        test_parameters(name, parameters, contract.call)
    end }
    return "np.random." .. name, contract
end

return draws
