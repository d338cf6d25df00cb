--- pads_test.lua (under tsan with --long): np.pad and np.roll against elements that are looked up one by one: shapes,
-- empty ones, inputs that are views, elements of every width, rows of lengths at which they are copied in another way;
-- and how much is written.
local np = require "neap"
local check = require "tests.lib.check"

--- Where the element of a padded axis of n that has the index i (from 0, of x) comes from; nil: from outside.
local PLACES = {
    constant = function(i, n) return i >= 0 and i < n and i or nil end,
    wrap = function(i, n) return i % n end,
    symmetric = function(i, n)
        i = i % (2 * n)
        return i < n and i or 2 * n - 1 - i
    end,
    reflect = function(i, n)
        if n == 1 then return 0 end
        i = i % (2 * n - 2)
        return i < n and i or 2 * n - 2 - i
    end,
}

--- x padded, by the elements of its indices: take and where alone.
local function padded(x, widths, mode, value)
    for axis, n in ipairs(x.shape) do
        local from, outside = {}, {}
        for k = 1, n + widths[axis][1] + widths[axis][2] do
            local place = PLACES[mode](k - 1 - widths[axis][1], n)
            from[k], outside[k] = place or 0, place == nil
        end
        if n == 0 then
            local dims = x.shape
            dims[axis] = #from
            x = np.broadcast_to(np.astype(np.asarray(value), x.dtype), dims)
        elseif #from > 0 then
            local dims = {}
            for d = 1, x.ndim do dims[d] = d == axis and #from or 1 end
            x = np.take(x, np.array(from, { dtype = "i32" }), { axis = axis - 1 })
            x = np.where(np.array(outside, { dtype = "bool" }):reshape(dims), np.astype(np.asarray(value), x.dtype), x)
        end
    end
    return x
end

local function made(dims, dtype)
    local n = 1
    for _, extent in ipairs(dims) do n = n * extent end
    return np.astype(np.arange(n):reshape(dims) % 101 + 1, dtype):wait()
end

local function same(what, a, b)
    check.test(what, function()
        check.equal(a.dtype, b.dtype)
        check.equal(a.shape, b.shape)
        check.ok(a.size == 0 or np.all(np.equal(a, b)):item(), "elements differ")
    end)
end

local SHAPES = {
    { dims = { 5 }, widths = { { 2, 3 } } },
    { dims = { 3, 4 }, widths = { { 1, 2 }, { 3, 0 } } },
    { dims = { 3, 4 }, widths = { { 0, 0 }, { 2, 1 } } },
    { dims = { 2, 3, 4 }, widths = { { 1, 0 }, { 2, 1 }, { 1, 3 } } },
    { dims = { 3, 2, 3, 2 }, widths = { { 1, 2 }, { 1, 1 }, { 0, 2 }, { 1, 0 } } },
    { dims = { 3, 1 }, widths = { { 1, 7 }, { 4, 2 } } },
    { dims = { 2, 3000 }, widths = { { 1, 1 }, { 7, 2 } } },
    { dims = { 2, 20000 }, widths = { { 0, 1 }, { 1, 0 } } },
}

for _, case in ipairs(SHAPES) do
    local text = table.concat(case.dims, "x")
    for _, mode in ipairs { "constant", "wrap", "symmetric", "reflect" } do
        local x = made(case.dims, "f32")
        same(("pad, %s, %s"):format(mode, text), np.pad(x, case.widths, { mode = mode }),
             padded(x, case.widths, mode, 0))
    end
    local x = made(case.dims, "f32")
    same("a consumer of a pad, " .. text, np.pad(x, case.widths, { value = 3 }) * 2 + 1,
         padded(x, case.widths, "constant", 3) * 2 + 1)
    same("a part of a pad, " .. text, np.flip(np.pad(x, case.widths, { value = 3 }), { axis = -1 }),
         np.flip(padded(x, case.widths, "constant", 3), { axis = -1 }))
end

for _, dims in ipairs { { 0 }, { 0, 3 }, { 2, 0 } } do
    local widths = {}
    for k = 1, #dims do widths[k] = { 1, 2 } end
    same("an empty array padded", np.pad(made(dims, "f32"), widths, { value = 4 }),
         padded(made(dims, "f32"), widths, "constant", 4))
end

for _, dtype in ipairs { "bool", "u8", "i16", "f16", "i32", "f64", "i64", "c64", "c128" } do
    local x = made({ 3, 1100 }, dtype)
    local widths = { { 1, 2 }, { 3, 1 } }
    same("pad of " .. dtype, np.pad(x, widths, { value = 1 }), padded(x, widths, "constant", 1))
    local view = np.flip(x).T
    same("pad of a view of " .. dtype, np.pad(view, widths, "reflect"), padded(np.copy(view), widths, "reflect", 0))
    local place = (np.arange(1100) - 5) % 1100
    same("roll of " .. dtype, np.roll(x, 5, { axis = 1 }), np.take(x, place, { axis = 1 }))
end

do -- around an array only its surroundings are filled, and what is reflected is put together once
    local x = made({ 300, 300 }, "f32")
    for _, mode in ipairs { "constant", "reflect" } do
        local y = np.pad(x, 2, { mode = mode })
        local written = tostring(np.explain(y)):match "writes ([%d.]+ kB)"
        check.test("what is written, " .. mode, function() check.equal(written, "370 kB") end)
    end
end

local grad = np.grad(function(v) return (np.pad(v, { { 1, 2 }, { 2, 1 } }, "reflect") ^ 2):sum() end)
local v = made({ 3, 4 }, "f32")
same("gradient of a reflected pad", grad(v), 2 * v * np.outer(np.array { 2, 3, 1 }, np.array { 1, 2, 3, 1 }))

check.test("gaps between the elements of an axis that has one", function()
    local shape, core = require "neap.arrays.shape", require "neap.core"
    local function apart(x, gaps)
        return shape.pad(x, core.number(0, core.dtype_of(x).code), { 1, 0 }, { 1, 0 }, gaps)
    end
    for _, wide in ipairs { 1, 10, 2 ^ 62 } do
        check.equal(apart(np.array { { 7 } }, { wide, wide }):totable(), { { 0 }, { 7 }, { 0 } })
        check.equal(apart(np.array { { 7, 8 } }, { wide, 1 }):totable(), { { 0, 0, 0 }, { 7, 0, 8 }, { 0, 0, 0 } })
    end
    check.raises(function() apart(np.array { { 7, 8 } }, { 0, 2 ^ 62 }) end, "2^59 elements")
end)

check.done()
