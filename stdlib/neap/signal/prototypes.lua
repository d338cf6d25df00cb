--- prototypes.lua: analog lowpass filters of cutoff 1, from which filters are designed: prototypes.butter(N,
-- options) and so on give { z = zeros, p = poles, k = the gain }, lists of complex numbers of Lua.
--
-- Options rp and rs are in decibels. Zeros and poles come in SciPy's order. Sources: A. V. Oppenheim and R. W. Schafer,
-- Discrete-Time Signal Processing, appendix B; S. J. Orfanidis, Lecture Notes on Elliptic Filter Design (2006), whose
-- functions are those of elliptic.lua; W. E. Thomson, "Delay networks having maximally flat frequency characteristics"
-- (1949).
local core = require "neap.core"
local elliptic = require "neap.signal.elliptic"

local complex = core.complex.new

local prototypes = {}

--- f of each of a list.
local function each(list, f)
    local result = {}
    for k = 1, #list do result[k] = f(list[k]) end
    return result
end

--- The real part of the product of f of each of a list.
local function product(list, f)
    local all = complex(1, 0)
    for k = 1, #list do all = all * f(list[k]) end
    return all.re
end

local function negative(root) return -root end
local function conjugate(root) return complex(root.re, -root.im) end
local function size(root) return math.sqrt(root.re * root.re + root.im * root.im) end

prototypes.each, prototypes.product, prototypes.negative = each, product, negative
--- The angles m π / 2N of N poles, m = 1 - N, 3 - N, …, N - 1.
local function angles(N)
    local list = {}
    for m = 1 - N, N - 1, 2 do list[#list + 1] = m * math.pi / (2 * N) end
    return list
end

local function asinh(x) return math.log(x + math.sqrt(x * x + 1)) end

--- 10^(decibels / 10) - 1, with all digits where this is small.
function prototypes.excess(decibels)
    local x = decibels * math.log(10) / 10
    local power = math.exp(x)
    return power == 1 and x or (power - 1) * x / math.log(power) -- W. Kahan's, in which errors of exp and log cancel
end

local excess = prototypes.excess

function prototypes.butter(N)
    return { z = {}, p = each(angles(N), function(t) return complex(-math.cos(t), -math.sin(t)) end), k = 1 }
end

function prototypes.cheby1(N, o)
    local ripple = math.sqrt(excess(o.rp))
    local mu = asinh(1 / ripple) / N
    local p = each(angles(N), function(t)
        return complex(-math.sinh(mu) * math.cos(t), -math.cosh(mu) * math.sin(t))
    end)
    local k = product(p, negative)
    return { z = {}, p = p, k = N % 2 == 0 and k / math.sqrt(1 + ripple * ripple) or k }
end

function prototypes.cheby2(N, o)
    local mu = asinh(math.sqrt(excess(o.rs))) / N
    local z = {}
    for _, t in ipairs(angles(N)) do
        if t ~= 0 then z[#z + 1] = complex(0, 1 / math.sin(t)) end
    end
    local p = each(angles(N), function(t)
        return complex(1, 0) / complex(-math.sinh(mu) * math.cos(t), -math.cosh(mu) * math.sin(t))
    end)
    return { z = z, p = p, k = product(p, negative) / product(z, negative) }
end

--- The conjugates of the complex numbers of a list, behind it.
local function with_conjugates(list)
    for _, root in ipairs({ unpack(list) }) do
        if root.im ~= 0 then list[#list + 1] = conjugate(root) end
    end
    return list
end

--- Zeros and poles are values of sn, of a modulus k that follows from N and from k1, which both losses give.
function prototypes.ellip(N, o)
    local ripple = math.sqrt(excess(o.rp))
    local k1 = ripple / math.sqrt(excess(o.rs))
    local k1p = elliptic.complement(k1)
    local k, kp = elliptic.modulus(elliptic.ratio(k1, k1p) * N)
    local sn = elliptic.sn(k, kp)
    local part = elliptic.inverse_sc(1 / ripple, k1) / (N * elliptic.quarter(k1p)) * math.pi / 2
    local z, p = {}, {}
    for j = 1 - N % 2, N - 1, 2 do
        local t = j * math.pi / (2 * N)
        local pole = sn(complex(math.sin(t) * math.cosh(part), math.cos(t) * math.sinh(part)))
        if j > 0 then z[#z + 1] = complex(0, 1 / (k * sn(math.sin(t)))) end
        p[#p + 1] = complex(-pole.im, -pole.re)
    end
    with_conjugates(z)
    with_conjugates(p)
    local gain = product(p, negative) / product(z, negative)
    return { z = z, p = p, k = N % 2 == 0 and gain / math.sqrt(1 + ripple * ripple) or gain }
end

-- ---- Bessel's polynomials -------------------------------------------------------------------------------------------

--- The reverse Bessel polynomial of degree N at x, and its derivative there.
local function reverse_bessel(N, x)
    local last, value = complex(1, 0), x + 1
    for n = 2, N do last, value = value, value * (2 * n - 1) + x * x * last end
    return value, value - x * last
end

--- The roots of the polynomial to some digits, by O. Aberth's iteration, from a circle around their mean.
local function near_roots(N)
    local roots, radius = {}, 2 * N / math.exp(1)
    for k = 1, N do
        local angle = 2 * math.pi * (k - 0.5) / N + math.pi
        roots[k] = complex(radius * math.cos(angle) - (N + 1) / 2, radius * math.sin(angle))
    end
    for _ = 1, 60 do
        for k, root in ipairs(roots) do
            local value, slope = reverse_bessel(N, root)
            local step, apart = value / slope, complex(0, 0)
            for n, other in ipairs(roots) do
                if n ~= k then apart = apart + 1 / (root - other) end
            end
            roots[k] = root - step / (1 - step * apart)
        end
    end
    return roots
end

--- The x with rows · x = right, by elimination with the largest pivots; writes over both.
local function solved(rows, right)
    local n = #rows
    for k = 1, n do
        local best = k
        for i = k + 1, n do
            if size(rows[i][k]) > size(rows[best][k]) then best = i end
        end
        rows[k], rows[best], right[k], right[best] = rows[best], rows[k], right[best], right[k]
        for i = k + 1, n do
            local factor = rows[i][k] / rows[k][k]
            for j = k, n do rows[i][j] = rows[i][j] - factor * rows[k][j] end
            right[i] = right[i] - factor * right[k]
        end
    end
    for k = n, 1, -1 do
        for j = k + 1, n do right[k] = right[k] - rows[k][j] * right[j] end
        right[k] = right[k] / rows[k][k]
    end
    return right
end

--- The roots with all digits, which values of the polynomial do not give, by Newton's iteration: by its differential
-- equation the sum of 1 / (s[k] - s[j]) over the others is 1 + N / s[k] for each root s[k]. L. Pasquini, "Accurate
-- computation of the zeros of the generalized Bessel polynomials" (2000). The highest come first.
local function bessel_roots(N)
    local s = near_roots(N)
    for _ = 1, 8 do
        local rows, right = {}, {}
        for k = 1, N do
            rows[k], right[k] = {}, -1 - N / s[k]
            local own = N / (s[k] * s[k])
            for j = 1, N do
                if j ~= k then
                    local apart = 1 / (s[k] - s[j])
                    right[k], rows[k][j], own = right[k] + apart, apart * apart, own - apart * apart
                end
            end
            rows[k][k] = own
        end
        for k, step in ipairs(solved(rows, right)) do s[k] = s[k] - step end
    end
    table.sort(s, function(x, y) return x.im > y.im end)
    local roots = {}
    for k = 1, N do roots[k] = (s[k] + conjugate(s[N + 1 - k])) * 0.5 end -- conjugates to the last digit
    return roots
end

--- The angle at which a filter of unit delay passes half the power.
local function half_power(N)
    local none, low, high = reverse_bessel(N, complex(0, 0)), 0, 2 * math.sqrt(N)
    for _ = 1, 60 do
        local middle = (low + high) / 2
        local loss = reverse_bessel(N, complex(0, middle)) / none
        if loss.re ^ 2 + loss.im ^ 2 < 2 then low = middle else high = middle end
    end
    return low
end

function prototypes.bessel(N, o)
    local scale = 1
    if o.norm == "mag" then
        scale = half_power(N)
    elseif o.norm ~= "delay" then
        for n = 1, N do scale = scale * (2 * n - 1) ^ (1 / N) end
    end
    local p = each(bessel_roots(N), function(root) return root * (1 / scale) end)
    return { z = {}, p = p, k = product(p, negative) }
end

return prototypes
