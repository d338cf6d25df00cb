--- sections.lua: roots of filters as polynomials, and as sections of second order.
--
-- A filter of high order runs as a row of sections, each of two zeros and two poles. Poles next to the unit circle go
-- with the nearest zeros, so that no section is much louder than another, and come last: the pairing
-- of L. B. Jackson, Digital Filters and Signal Processing, chapter 11, as in scipy.signal.zpk2sos.
local core = require "neap.core"

local complex = core.complex.new

local sections = {}

local function size(x) return math.sqrt(x.re * x.re + x.im * x.im) end
local function is_real(x) return x.im == 0 end
local function is_complex(x) return x.im ~= 0 end
local function any() return true end
local function conjugate(x) return complex(x.re, -x.im) end

--- The real coefficients of the polynomial with these roots, the highest power first.
function sections.polynomial(roots)
    local c = { complex(1, 0) }
    for _, root in ipairs(roots) do
        c[#c + 1] = complex(0, 0)
        for k = #c, 2, -1 do c[k] = c[k] - root * c[k - 1] end
    end
    local real = {}
    for k = 1, #c do real[k] = c[k].re end
    return real
end

--- Of roots in conjugate pairs the roots above the real axis, and then real roots, both in order.
local function halved(roots)
    local above, real = {}, {}
    for _, root in ipairs(roots) do
        if math.abs(root.im) <= 100 * 2 ^ -52 * size(root) then
            real[#real + 1] = complex(root.re, 0)
        elseif root.im > 0 then
            above[#above + 1] = root
        end
    end
    local function before(a, b) return a.re < b.re or a.re == b.re and a.im < b.im end
    table.sort(above, before)
    table.sort(real, before)
    for _, root in ipairs(real) do above[#above + 1] = root end
    return above
end

--- Takes the first of the roots that `fits` for which `far` is least out of a list; nil: none fits.
local function take(list, fits, far)
    local best, least
    for k, root in ipairs(list) do
        local distance = fits(root) and far(root)
        if distance and (not least or distance < least) then best, least = k, distance end
    end
    return best and table.remove(list, best)
end

local function from_circle(root) return math.abs(1 - size(root)) end

local function count_real(list)
    local n = 0
    for _, root in ipairs(list) do n = n + (is_real(root) and 1 or 0) end
    return n
end

--- The two poles and the two zeros of the next section, from the last section on.
local function next_pair(z, p)
    local p1 = take(p, any, from_circle)
    local function from_pole(root) return size(root - p1) end
    if is_real(p1) and count_real(p) == 0 then
        return { p1, complex(0, 0) }, { take(z, is_real, from_pole), complex(0, 0) }
    end
    if #p + 1 == #z and is_complex(p1) and count_real(p) == 1 and count_real(z) == 1 then
        local z1 = take(z, is_complex, from_pole) -- the real zero stays for the real pole
        return { p1, conjugate(p1) }, { z1, conjugate(z1) }
    end
    local p2 = is_real(p1) and take(p, is_real, from_circle) or conjugate(p1)
    local z1 = take(z, any, from_pole)
    return { p1, p2 }, { z1, is_complex(z1) and conjugate(z1) or take(z, is_real, from_pole) }
end

--- The sections of a filter { z, p, k } with as many zeros as poles: a list of rows of six numbers.
function sections.of(f)
    local z, p, rows = { unpack(f.z) }, { unpack(f.p) }, {}
    if #p % 2 == 1 then
        z[#z + 1], p[#p + 1] = complex(0, 0), complex(0, 0)
    end
    local count = #p / 2
    z, p = halved(z), halved(p)
    for row = count, 1, -1 do
        local poles, zeros = next_pair(z, p)
        local b, a = sections.polynomial(zeros), sections.polynomial(poles)
        rows[row] = { b[1], b[2], b[3], a[1], a[2], a[3] }
    end
    for k = 1, 3 do rows[1][k] = rows[1][k] * f.k end
    return rows
end

return sections
