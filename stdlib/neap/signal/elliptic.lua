--- elliptic.lua: elliptic integrals and functions of Lua numbers, for elliptic filters.
--
-- A modulus k comes with its complement kp, sqrt(1 - k²), which has digits of its own where k is near 1. Sources: NIST
-- Digital Library of Mathematical Functions, 19.8 (means), 19.36 (Carlson's R_F), 20.9 (nomes) and 22.7 (Landen).
local elliptic = {}

local sqrt, abs = math.sqrt, math.abs

--- The arithmetic-geometric mean of a and b.
local function mean(a, b)
    while abs(a - b) > 1e-15 * a do a, b = (a + b) / 2, sqrt(a * b) end
    return a
end

--- A quarter of the period, K(k).
function elliptic.quarter(kp) return math.pi / 2 / mean(1, kp) end

--- K(k) / K(kp).
function elliptic.ratio(k, kp) return mean(1, k) / mean(1, kp) end

--- The complement of a modulus.
function elliptic.complement(k) return sqrt((1 - k) * (1 + k)) end

--- The modulus of a nome of at most exp(-π), by theta functions.
local function of_nome(q)
    local above, below = 1, 1
    for m = 1, 6 do above, below = above + q ^ (m * (m + 1)), below + 2 * q ^ (m * m) end
    return 4 * sqrt(q) * (above / below) ^ 2
end

--- The modulus, and its complement, whose K(k) / K(kp) is `ratio`.
function elliptic.modulus(ratio)
    if ratio > 1 then
        local kp = of_nome(math.exp(-math.pi * math.min(ratio, 200))) -- 1e-136 is 0 to 1, and not to logarithms
        return elliptic.complement(kp), kp
    end
    local k = of_nome(math.exp(-math.pi / ratio))
    return k, elliptic.complement(k)
end

--- Carlson's integral R_F of positive numbers.
local function carlson(x, y, z)
    while math.max(abs(x - y), abs(y - z), abs(z - x)) > 1e-8 * x do
        local a, b, c = sqrt(x), sqrt(y), sqrt(z)
        local more = a * b + b * c + c * a
        x, y, z = (x + more) / 4, (y + more) / 4, (z + more) / 4
    end
    return 1 / sqrt((x + y + z) / 3)
end

--- The u with sc(u) = x of the modulus whose complement is kp.
function elliptic.inverse_sc(x, kp) return x * carlson(1, 1 + (kp * x) ^ 2, 1 + x * x) end

--- The function that turns the sine of a part of a quarter of a circle into sn of the same part of K(k), for numbers of
-- any kind: Landen's transformation, from a modulus that is 0 to rounding back to k.
function elliptic.sn(k, kp)
    local moduli = {}
    while k > 1e-18 do
        k, kp = (k / (1 + kp)) ^ 2, 2 * sqrt(kp) / (1 + kp)
        moduli[#moduli + 1] = k
    end
    return function(sine)
        for n = #moduli, 1, -1 do sine = sine * (1 + moduli[n]) / (sine * sine * moduli[n] + 1) end
        return sine
    end
end

return elliptic
