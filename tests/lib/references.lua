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

--- By the distance to the next float, which is half as long below a power of two.
function references.nextafter(a, b, _, dtype)
    if a == b or a == 0 then return a == b and b or (b < 0 and -1 or 1) * (dtype == "f64" and 2 ^ -1074 or 2 ^ -149) end
    local fraction, exponent = math.frexp(math.abs(a))
    local grows = (a < b) == (a > 0)
    local unit = 2 ^ (exponent - (dtype == "f64" and 53 or 24) - (fraction == 0.5 and not grows and 1 or 0))
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

--- By bisection.
function references.erf_inv(y)
    local low, high = -7, 7
    for _ = 1, 100 do
        local middle = (low + high) / 2
        if references.erf(middle) < y then low = middle else high = middle end
    end
    return (low + high) / 2
end

return references
