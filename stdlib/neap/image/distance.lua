--- distance.lua: np.image.distance_transform_edt: how far it is to the next place outside of a mask.
--
-- The square of a distance is a sum over the axes, so axes are done in turn: the least of f(q) + (p - q)² over the
-- places q of a line is the lower envelope of parabolas, which is built from left to right and read in the same order.
-- P. F. Felzenszwalb and D. P. Huttenlocher, Theory of Computing 8, 415 (2012). Time is linear in the image, in Lua,
-- which waits for the mask.
local ffi = require "ffi"
local core = require "neap.core"
local windows = require "neap.image.windows"

local np = core.np
local shape_of = core.shape_of

local doubles, indices = ffi.typeof "double[?]", ffi.typeof "int32_t[?]"

--- The room that a line of n places takes.
local function room_for(n)
    return { f = doubles(n), border = doubles(n + 1), top = indices(n) }
end

--- Makes the squares at n places of `all`, `stride` apart from `at` on, those of distances along this line, too; a step
-- is `step` long. Places without any parabola stay infinite.
local function envelope(all, at, n, stride, step, room)
    local f, border, top, count = room.f, room.border, room.top, 0
    for q = 0, n - 1 do
        f[q] = all[at + q * stride]
        if f[q] < math.huge then
            local x = -math.huge
            while count > 0 do -- parabolas that lie above where the new one begins are none of the envelope
                local v = top[count - 1]
                x = ((f[q] - f[v]) / (step * step) + (q - v) * (q + v)) / (2 * (q - v))
                if x > border[count - 1] then break end
                count, x = count - 1, -math.huge
            end
            top[count], border[count], count = q, x, count + 1
        end
    end
    if count == 0 then return end
    border[count] = math.huge
    local k = 0
    for p = 0, n - 1 do
        while border[k + 1] < p do k = k + 1 end
        local apart = (p - top[k]) * step
        all[at + p * stride] = apart * apart + f[top[k]]
    end
end

--- The squares of distances, in place.
local function transform(all, dims, sampling)
    local size = 1
    for _, n in ipairs(dims) do size = size * n end
    local stride = size
    for k, n in ipairs(dims) do
        stride = stride / n
        local room, block = room_for(n), stride * n
        for from = 0, size - 1, block do
            for at = from, from + stride - 1 do envelope(all, at, n, stride, sampling[k], room) end
        end
    end
end

local distance = {}

--- np.image.distance_transform_edt(x, {sampling=1}): for each place where x is not 0 how far the next place is where x
-- is 0, in a straight line; else 0. f32, of f64 and integers of 64 bits f64; infinite where x is nowhere 0. Waits, and
-- raises while tracing.
--- sampling: how far places lie apart, a number or a table of one for each axis
--- > np.round(np.image.distance_transform_edt(np.array{{0, 1, 1}, {1, 1, 1}}), 4)
-- [[0.     1.     2.    ]
--  [1.     1.4142 2.2361]]
function distance.distance_transform_edt(x, given)
    local name = "distance_transform_edt"
    local o = core.options("image." .. name, given, { sampling = true })
    x = windows.image(name, x)
    local dims, dtype = shape_of(x), core.dtype_of(x)
    local sampling = windows.per_axis(name, nil, "sampling", o.sampling == nil and 1 or o.sampling, #dims,
                                      "a number above 0", function(step) return step > 0 and step < math.huge end)
    local mask = np.where(np.not_equal(x, 0), np.array(math.huge, { dtype = "f64" }), 0)
    local from, size = core.data(mask), mask.size
    local result = core.fill(core.dtype_codes.f64, dims, function(out)
        ffi.copy(out, from, size * 8)
        transform(out, dims, sampling)
    end, "double *", "image." .. name)
    local real = dtype.kind == "c" and dtype.part or dtype.real
    return np.astype(np.sqrt(result), real == "f64" and "f64" or "f32")
end

for _, f in ipairs { distance.distance_transform_edt } do jit.off(f) end

return distance
