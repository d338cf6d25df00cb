--- references.lua: references of map rows that do not fit into one Lua expression: name → f(a, b, c, dtype) over Lua
-- numbers, booleans being 0 and 1.
local bit = require "bit"

local references = {}

function references.bitwise_and(a, b) return bit.band(a, b) end
function references.bitwise_or(a, b) return bit.bor(a, b) end
function references.bitwise_xor(a, b) return bit.bxor(a, b) end
function references.bitwise_left_shift(a, b) return a * 2 ^ b end
function references.bitwise_right_shift(a, b) return math.floor(a / 2 ^ b) end
function references.bitwise_invert(a, _, _, dtype) return dtype == "bool" and 1 - a or -a - 1 end

local function gcd(a, b)
    a, b = math.abs(a), math.abs(b)
    while b ~= 0 do a, b = b, a % b end
    return a
end
references.gcd = gcd
function references.lcm(a, b) return a * b == 0 and 0 or math.abs(a * b) / gcd(a, b) end

function references.bitwise_count(a)
    local count = 0
    for k = 0, 30 do count = count + bit.band(bit.rshift(a, k), 1) end
    return count
end

-- Of each dtype of floats: its digits, and the exponent of its smallest number.
local FLOATS = { f64 = { 53, -1074 }, f32 = { 24, -149 }, f16 = { 11, -24 }, bf16 = { 8, -133 } }

--- By the distance to the next float, which is half as long below a power of two.
function references.nextafter(a, b, _, dtype)
    local digits, smallest = unpack(FLOATS[dtype] or FLOATS.f32)
    if a == b or a == 0 then return a == b and b or (b < 0 and -1 or 1) * 2 ^ smallest end
    local fraction, exponent = math.frexp(math.abs(a))
    local grows = (a < b) == (a > 0)
    local unit = 2 ^ math.max(exponent - digits - (fraction == 0.5 and not grows and 1 or 0), smallest)
    return a + (a < b and unit or -unit)
end

function references.where(a, b, c) return a ~= 0 and b or c end

--- Half to even.
function references.round(a)
    local low = math.floor(a)
    if a - low ~= 0.5 then return math.floor(a + 0.5) end
    return low % 2 == 0 and low or low + 1
end

--- The series 2/sqrt(pi) exp(-x^2) sum 2^n x^(2n+1) / (1 3 5 … (2n+1)) near 0, whose terms are positive, so that none
-- cancel; 1 - erfc from the continued fraction of Laplace elsewhere.
function references.erf(x)
    if x < 0 then return -references.erf(-x) end
    if x > 6 then return 1 end
    if x > 2 then
        local fraction = 0
        for k = 120, 1, -1 do fraction = k / 2 / (x + fraction) end
        return 1 - math.exp(-x * x) / math.sqrt(math.pi) / (x + fraction)
    end
    local term, sum, n = x, x, 0
    repeat
        n = n + 1
        term = term * 2 * x * x / (2 * n + 1)
        sum = sum + term
    until term < 1e-18
    return 2 / math.sqrt(math.pi) * math.exp(-x * x) * sum
end

--- The continued fraction of Laplace, but near 0.
function references.erfcx(x)
    if x < 0.45 then return math.exp(x * x) * (1 - references.erf(x)) end
    local fraction = 0
    for k = x < 1 and 1500 or 400, 1, -1 do fraction = k / 2 / (x + fraction) end
    return 1 / math.sqrt(math.pi) / (x + fraction)
end
function references.erfc(x) return math.exp(-x * x) * references.erfcx(x) end

--- By bisection on erf, then by Newton's steps on it, or on erfc for larger values.
function references.erf_inv(y)
    if y < 0 then return -references.erf_inv(-y) end
    local low, high = 0, 7
    for _ = 1, 15 do
        local middle = (low + high) / 2
        if references.erf(middle) < y then low = middle else high = middle end
    end
    for _ = 1, 5 do
        local miss = y < 0.5 and y - references.erf(low) or references.erfc(low) - (1 - y)
        low = low + miss * math.sqrt(math.pi) / 2 * math.exp(low * low)
    end
    return low
end
function references.erfcinv(y) return references.erf_inv(1 - y) end

--- The sum over k from 0 of (q + k)^-s: 20 terms, and the rest by the formula of Euler and Maclaurin.
function references.zeta(s, q)
    local sum = 0
    for k = 0, 19 do sum = sum + (q + k) ^ -s end
    local x, bernoulli = q + 20, { 1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66 }
    local rest, factor = x / (s - 1) + 0.5, s / x / 2
    for k, b in ipairs(bernoulli) do
        rest = rest + b * factor
        factor = factor * (s + 2 * k - 1) * (s + 2 * k) / (x * x) / ((2 * k + 1) * (2 * k + 2))
    end
    return sum + x ^ -s * rest
end

local EULER = 0.57721566490153286
local ZETAS = {} -- zeta(k) - 1
for k = 2, 60 do ZETAS[k] = references.zeta(k, 2) end

--- log(1 + z) and the series of lgamma(1 + z) with the coefficients zeta(k) - 1 (DLMF 5.7.3), for |z| up to 1/2.
function references.lgamma(x)
    local shift = 0
    while x > 1.5 do
        x = x - 1
        shift = shift + math.log(x)
    end
    while x < 0.5 do
        shift = shift - math.log(x)
        x = x + 1
    end
    local z = x - 1
    local sum = z * (1 - EULER) - math.log(1 + z)
    for k = 2, 60 do sum = sum + ZETAS[k] * (-z) ^ k / k end
    return sum + shift
end
function references.gamma(x) return math.exp(references.lgamma(x)) end
function references.digamma(x)
    local shift = 0
    while x > 1.5 do
        x = x - 1
        shift = shift + 1 / x
    end
    while x < 0.5 do
        shift = shift - 1 / x
        x = x + 1
    end
    local z = x - 1
    local sum = 1 - EULER - 1 / (1 + z)
    for k = 2, 60 do sum = sum - ZETAS[k] * (-z) ^ (k - 1) end
    return sum + shift
end
function references.betaln(a, b)
    return references.lgamma(a) + references.lgamma(b) - references.lgamma(a + b)
end

--- Sums of positive terms: DLMF 8.7.1 and 8.17.8.
function references.gammainc(a, x)
    local term, sum = 1, 1
    for k = 1, 200 do
        term = term * x / (a + k)
        sum = sum + term
    end
    return sum * math.exp(a * math.log(x) - x - references.lgamma(a + 1))
end
function references.gammaincc(a, x) return 1 - references.gammainc(a, x) end
function references.betainc(a, b, x)
    if x > 0.5 then return 1 - references.betainc(b, a, 1 - x) end
    local term, sum = 1, 1
    for k = 1, 200 do
        term = term * x * (a + b + k - 1) / (a + k)
        sum = sum + term
    end
    return sum * math.exp(a * math.log(x) + b * math.log(1 - x) - references.betaln(a, b)) / a
end

--- The power series of Bessel functions of order n (DLMF 10.2.2, 10.25.2): sign -1 for j, 1 for i.
local function bessel(n, sign, x)
    local term = n == 0 and 1 or x / 2
    local sum = term
    for k = 1, 60 do
        term = term * sign * x * x / 4 / (k * (k + n))
        sum = sum + term
    end
    return sum
end
function references.i0(x) return bessel(0, 1, x) end
function references.i1(x) return bessel(1, 1, x) end
function references.i0e(x) return math.exp(-math.abs(x)) * bessel(0, 1, x) end
function references.i1e(x) return math.exp(-math.abs(x)) * bessel(1, 1, x) end
function references.j0(x) return bessel(0, -1, x) end
function references.j1(x) return bessel(1, -1, x) end

return references
