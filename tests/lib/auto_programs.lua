--- auto_programs.lua: random functions of three arrays of shape (8, 8), made of what has rules on a mesh, and arguments
-- for them that lie in random ways. A seed gives the same in every process.
local np = require "neap"

local P = np.P
local PLACES = {
    P(), P "i", P "j", P(nil, "i"), P(nil, "j"), P("i", "j"), P("j", "i"), P { "i", "j" }, P { "j", "i" },
    P(nil, { "j", "i" }),
}

--- Steps: of two arrays, an axis, and a function that lays one out.
local STEPS = {
    function(x, y) return x + y end,
    function(x, y) return np.maximum(x, y) end,
    function(x, y) return np.where(x:gt(y), x, y * 2) end,
    function(x, y) return x:matmul(y) end,
    function(x) return np.transpose(x) end,
    function(x, y, axis) return x - y:max { axis = axis, keepdims = true } end,
    function(x) return x:reshape(4, 2, 8):sum { axis = 1, keepdims = true } * np.ones { 4, 2, 8 } end,
    function(x, y) return np.concatenate({ x[{ {}, { 0, 4 } }], y[{ {}, { 4, 8 } }] }, { axis = 1 }) end,
    function(x, _, axis) return np.flip(x, { axis = axis }) end,
    function(x, _, axis) return np.cumsum(x, { axis = axis }) end,
    function(x, _, axis) return np.sort(x, { axis = axis }) end,
    function(x) return np.pad(x[{ { 1, 7 } }], { { 1, 1 }, { 0, 0 } }) end,
    function(x, y, axis)
        return np.take(x, np.stop_gradient(y[0]):astype "i32", { axis = axis })
    end,
    function(x, _, _, lay_out) return lay_out(x) end,
}

--- A random function, and its arguments: numbers(k) for k from 1 to 3. mesh: where they lie; nil: they are ordinary,
-- and nothing in the function lies on a mesh either. Returns f, arguments, its text.
return function(seed, numbers, mesh)
    local function draw(n)
        seed = (seed * 16807) % 2147483647
        return seed % n + 1
    end
    local plan, arguments, text = {}, {}, {}
    for k = 1, 5 do
        plan[k] = { draw(#STEPS), draw(2 + k), draw(2 + k), draw(2) - 1, PLACES[draw(#PLACES)] }
        text[k] = ("%d(%d, %d)"):format(unpack(plan[k]))
    end
    for k = 1, 3 do
        local place, ordinary = PLACES[draw(#PLACES)], draw(4) == 1
        arguments[k] = numbers(k)
        if mesh and not ordinary then arguments[k] = np.device_put(arguments[k], mesh, place) end
        text[#text + 1] = ordinary and "ordinary" or tostring(place)
    end
    local function f(...)
        local values = { ... }
        for _, step in ipairs(plan) do
            local result = STEPS[step[1]](values[step[2]], values[step[3]], step[4], function(x)
                return mesh and np.with_sharding_constraint(x, mesh, step[5]) or x
            end):reshape(8, 8)
            -- Whole numbers stay small, so that sums of them are exact.
            values[#values + 1] = result - np.floor(np.stop_gradient(result) / 16) * 16
        end
        return (values[#values] * values[#values] + values[#values - 1]):sum()
    end
    return f, arguments, table.concat(text, " ")
end
