"""vmath_polynomials.py: computes the polynomials of lazy/vm/simd/vmath_*.h and writes lazy/vm/simd/vmath_tables.h.

    python3 tools/vmath_polynomials.py > lazy/vm/simd/vmath_tables.h        (needs mpmath)

A table interpolates a function at the Chebyshev nodes of its interval, in 60 digits, which is within a small factor of
the best polynomial; coefficients are then rounded to the table's dtype. Tables of `best` are the polynomials of least
error, by the exchanges of Remez (1934); their coefficients are rounded one after the other, lowest first, and what is
left is fitted anew to what rounding took. The comment of a table gives the largest error of the rounded polynomial,
relative to the `scale` function (what the polynomial's value is a part of), as a power of two. The argument reductions
around the tables are the classic ones of Cody and Waite (1980) and of fdlibm.
"""
import math
import struct
import sys

if "--help" in sys.argv:
    sys.exit(print(__doc__))

from mpmath import mp, mpf

mp.dps = 60


def chebyshev(f, low, high, terms):
    """Coefficients, lowest first, of the polynomial through f at the Chebyshev nodes of [low, high]."""
    low, high = mpf(low), mpf(high)
    nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * terms)) for k in range(terms)]
    nodes = [x if abs(x) > 1e-15 else mpf("1e-15") for x in nodes]  # the functions have holes at 0
    matrix = mp.matrix(terms, terms)
    for row, x in enumerate(nodes):
        for power in range(terms):
            matrix[row, power] = x**power
    return list(mp.lu_solve(matrix, mp.matrix([f(x) for x in nodes])))


def rounded(x, dtype):
    """The nearest number of the dtype."""
    return struct.unpack("<f", struct.pack("<f", float(x)))[0] if dtype == "f32" else float(x)


def literal(x, dtype):
    return float(x).hex() + ("f" if dtype == "f32" else "")


def error(f, coefficients, low, high, scale):
    worst = mpf(0)
    for k in range(2001):
        x = mpf(low) + (mpf(high) - mpf(low)) * (k + mpf("0.37")) / 2002
        value = mp.polyval([mpf(c) for c in reversed(coefficients)], x)
        worst = max(worst, abs((value - f(x)) * scale(x)))
    return mp.log(worst, 2) if worst else mp.mpf(-999)


def exchanged(values, xs, weights, powers):
    """Coefficients of x^power whose largest weighted error from `values` at the points xs is least."""
    n = len(powers)
    at = [round((len(xs) - 1) * (1 - math.cos(math.pi * k / n)) / 2) for k in range(n + 1)]
    for _ in range(30):
        matrix, right = mp.matrix(n + 1, n + 1), mp.matrix(n + 1, 1)
        for row, k in enumerate(at):
            for column, power in enumerate(powers):
                matrix[row, column] = xs[k]**power
            matrix[row, n] = (-1)**row / weights[k]
            right[row] = values[k]
        solved = mp.lu_solve(matrix, right)
        coefficients, level = list(solved)[:n], abs(solved[n])
        terms = {power: c for power, c in zip(powers, coefficients)}
        dense = [terms.get(power, mpf(0)) for power in range(max(powers), -1, -1)]
        errors = [(mp.polyval(dense, x) - v) * w for x, v, w in zip(xs, values, weights)]
        peaks = [0]  # the largest error of each run of one sign
        for k in range(1, len(xs)):
            if (errors[k] > 0) != (errors[peaks[-1]] > 0):
                peaks.append(k)
            elif abs(errors[k]) > abs(errors[peaks[-1]]):
                peaks[-1] = k
        while len(peaks) > n + 1:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        if len(peaks) < n + 1 or max(map(abs, errors)) < level * mpf("1.001"):
            break
        at = peaks
    return coefficients


def best(f, low, high, terms, scale, dtype):
    """Rounded coefficients, lowest first, of the polynomial of least error times scale."""
    low, high, count = mpf(low), mpf(high), 60 * terms
    xs = [low + (high - low) * (1 - mp.cos(mp.pi * (k + mpf("0.5")) / count)) / 2 for k in range(count)]
    values, weights, done = [f(x) for x in xs], [scale(x) for x in xs], []
    for power in range(terms):
        done.append(rounded(exchanged(values, xs, weights, range(power, terms))[0], dtype))
        values = [v - mpf(done[-1]) * x**power for x, v in zip(xs, values)]
    return done


def table(name, dtype, what, f, low, high, terms, scale=lambda x: mpf(1), fit=None):
    coefficients = fit and fit(f, low, high, terms, scale, dtype)
    coefficients = coefficients or [rounded(c, dtype) for c in chebyshev(f, low, high, terms)]
    bits = error(f, coefficients, low, high, scale)
    print(f"/* {what}; error 2^{float(bits):.1f} */")
    print(f"static const {'float' if dtype == 'f32' else 'double'} vm_{name}_{dtype}_terms[{terms}] = {{")
    line = "   "
    for c in coefficients:
        text = " " + literal(c, dtype) + ","
        if len(line + text) > 118:
            print(line)
            line = "   "
        line += text
    print(line + "\n};\n")


def split(name, dtype, what, value, parts, first_bits=None):
    """A constant as a sum of numbers of the dtype, the first with only first_bits bits if given."""
    print(f"/* {what} */")
    rest = value
    for k in range(parts):
        if k == 0 and first_bits:
            shift = mpf(2) ** (first_bits - 1 - mp.floor(mp.log(rest, 2)))
            part = mp.nint(rest * shift) / shift
        else:
            part = mpf(rounded(rest, dtype))
        rest -= part
        print(f"#define VM_{name}{k + 1}_{dtype.upper()} {literal(part, dtype)}")
    print()


def bits(name, what, value, words):
    """The bits of a number below 1, the first 64 in the first word."""
    with mp.workprec(64 * words + 64):
        whole = int(mp.floor(value() * mpf(2) ** (64 * words)))
    print(f"/* {what} */")
    print(f"static const uint64_t vm_{name}[{words}] = {{")
    texts = [f"0x{whole >> 64 * (words - 1 - k) & (1 << 64) - 1:016x}" for k in range(words)]
    for k in range(0, words, 5):
        print("    " + ", ".join(texts[k:k + 5]) + ",")
    print("};\n")


LN2 = mp.log(2)
HALF_LN2 = LN2 / 2 * mpf("1.01")
QUARTER = mp.pi / 4 * mpf("1.01")
LOG_F = (mp.sqrt(mpf(1) / 2) - 1, mp.sqrt(2) - 1)
LOG_W = (mpf("1e-9"), mpf("0.0296"))
ATAN_W = (mpf("1e-9"), mp.tan(mp.pi / 8) ** 2 * mpf("1.001"))


def erfcx_scaled(k):
    """(1 + 2x) exp(x²) erfc(x) as a function of t = (x - k) / (x + k)."""
    def f(t):
        x = k * (1 + t) / (1 - t)
        return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)
    return f


def erf_inv_ratio(w):
    """erf_inv(x) / x as a function of w = -log(1 - x²)."""
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x


def t_of(x, k):
    return (mpf(x) - k) / (mpf(x) + k)


print("""\
/* vmath_tables.h: polynomials and split constants of the vector math. Written by tools/vmath_polynomials.py, which
 * tells how they were computed; do not edit. Coefficients stand lowest first. */
#ifndef LAZY_SIMD_VMATH_TABLES_H
#define LAZY_SIMD_VMATH_TABLES_H

#include <stdint.h>
""")
split("LN2_", "f64", "log(2); n times the first part is exact for |n| < 2^12", LN2, 2, 40)
split("LN2_", "f32", "log(2); n times the first part is exact for |n| < 2^9", LN2, 2, 15)
split("LN2_HALF_", "f32", "log(2) / 2", LN2 / 2, 1)
split("PIO2_", "f64", "pi / 2", mp.pi / 2, 3)
split("PIO2_", "f32", "pi / 2", mp.pi / 2, 3)
split("LOG2E_", "f64", "1 / log(2)", 1 / LN2, 2)
split("LOG2E_", "f32", "1 / log(2)", 1 / LN2, 2)
split("TWO_LOG2E_", "f32", "2 / log(2)", 2 / LN2, 2)
split("LOG2_4_3_", "f32", "log2(4 / 3); the sum of an exponent and the first part is exact", 2 - mp.log(3, 2), 2, 14)
split("LOG10E_", "f64", "1 / log(10)", 1 / mp.log(10), 2)
split("LOG10E_", "f32", "1 / log(10)", 1 / mp.log(10), 2)
split("LOG10_2_", "f64", "log10(2); n times the first part is exact for |n| < 2^12", mp.log(2, 10), 2, 40)
split("LOG10_2_", "f32", "log10(2); n times the first part is exact for |n| < 2^9", mp.log(2, 10), 2, 15)
split("TWO_THIRDS_", "f64", "2 / 3", mpf(2) / 3, 2)
for dtype, exp_terms, exp2_terms, sin_terms in (("f64", 10, 12, 6), ("f32", 5, 7, 4)):
    table("exp", dtype, "(exp(r) - 1 - r) / r²", lambda r: (mp.exp(r) - 1 - r) / r**2, -HALF_LN2, HALF_LN2, exp_terms,
          lambda r: r**2)
    table("exp2", dtype, "(2^r - 1) / r", lambda r: (mpf(2)**r - 1) / r, mpf("-0.505"), mpf("0.505"), exp2_terms,
          lambda r: r)
    table("sin", dtype, "(sin(r) - r) / r³ in r²", lambda w: (mp.sin(mp.sqrt(w)) - mp.sqrt(w)) / mp.sqrt(w)**3,
          mpf("1e-9"), QUARTER**2, sin_terms, lambda w: w)
    table("cos", dtype, "(cos(r) - 1 + r²/2) / r⁴ in r²", lambda w: (mp.cos(mp.sqrt(w)) - 1 + w / 2) / w**2,
          mpf("1e-9"), QUARTER**2, sin_terms, lambda w: w**2)
table("log", "f64", "(2 atanh(s) - 2s) / s³ in s²",
      lambda w: (2 * mp.atanh(mp.sqrt(w)) - 2 * mp.sqrt(w)) / mp.sqrt(w)**3, *LOG_W, 8, lambda w: w)
table("log_tail", "f64", "(2 atanh(s) - 2s - 2s³/3) / s⁵ in s²",
      lambda w: (2 * mp.atanh(mp.sqrt(w)) - 2 * mp.sqrt(w) - 2 * mp.sqrt(w)**3 / 3) / mp.sqrt(w)**5, *LOG_W, 8,
      lambda w: w**2)
table("log1p", "f64", "(2 atanh(s) - 2s) / s³ in s², for log1p",
      lambda w: (2 * mp.atanh(mp.sqrt(w)) - 2 * mp.sqrt(w)) / mp.sqrt(w)**3, mpf("1e-9"), mpf("0.0404"), 9, lambda w: w)
for name, base in (("log", 1), ("log2", LN2), ("log10", mp.log(10))):
    table(name, "f32", "(log(1 + f) - f) / f²" + (f" / log({name[3:]})" if name != "log" else ""),
          lambda f: (mp.log(1 + f) - f) / f**2 / base, *LOG_F, 10, lambda f: f * base)
table("log1p", "f32", "(log(1 + f) - f) / f², for log1p", lambda f: (mp.log(1 + f) - f) / f**2, mpf("-0.2501"),
      mpf("0.5001"), 11, lambda f: f)
table("pow_log2", "f32", "(2 atanh(s) - 2s) / s³ / log(2) in s², for pow",
      lambda w: 2 * (mp.atanh(mp.sqrt(w)) - mp.sqrt(w)) / mp.sqrt(w)**3 / LN2, mpf("1e-7"), mpf("0.012"), 4,
      lambda w: w * LN2 / 2, best)
table("pow_exp2", "f32", "(2^r - 1) / r, for pow", lambda r: (mpf(2)**r - 1) / r, mpf("-0.5001"), mpf("0.5001"), 6,
      lambda r: abs(r) / mpf(2)**r, best)
table("pow_log2", "f64", "log2(1 + f) / f, for pow of f32", lambda f: mp.log(1 + f, 2) / f, *LOG_F, 13,
      lambda f: f / mp.log(1 + f, 2))
table("pow_exp2", "f64", "(2^r - 1) / r, for pow of f32", lambda r: (mpf(2)**r - 1) / r, mpf("-0.505"), mpf("0.505"), 6,
      lambda r: r)
for dtype, terms in (("f64", 6), ("f32", 3)):
    table("sinh", dtype, "(sinh(r) - r) / r³ in r²", lambda w: (mp.sinh(mp.sqrt(w)) - mp.sqrt(w)) / mp.sqrt(w)**3,
          mpf("1e-9"), HALF_LN2**2, terms, lambda w: w)
    table("cosh", dtype, "(cosh(r) - 1) / r² in r²", lambda w: (mp.cosh(mp.sqrt(w)) - 1) / w, mpf("1e-9"),
          HALF_LN2**2, terms, lambda w: w)
table("tan", "f32", "(tan(r) - r) / r³ in r²", lambda w: (mp.tan(mp.sqrt(w)) - mp.sqrt(w)) / mp.sqrt(w)**3,
      mpf("1e-9"), QUARTER**2, 7, lambda w: w, best)
table("asin", "f32", "(asin(x) - x) / x³ in x²", lambda w: (mp.asin(mp.sqrt(w)) - mp.sqrt(w)) / mp.sqrt(w)**3,
      mpf("1e-9"), mpf("0.2503"), 5, lambda w: w, best)
table("atan", "f32", "(atan(x) - x) / x³ in x²", lambda w: (mp.atan(mp.sqrt(w)) - mp.sqrt(w)) / mp.sqrt(w)**3,
      mpf("1e-9"), mpf("1.001"), 9, lambda w: w, best)
table("asin", "f64", "(asin(x) - x) / x³ in x²", lambda w: (mp.asin(mp.sqrt(w)) - mp.sqrt(w)) / mp.sqrt(w)**3,
      mpf("1e-9"), mpf("0.2503"), 14, lambda w: w)
table("atan", "f64", "(atan(x) - x) / x³ in x²", lambda w: (mp.atan(mp.sqrt(w)) - mp.sqrt(w)) / mp.sqrt(w)**3, *ATAN_W,
      13, lambda w: w)
table("tanh", "f32", "(tanh(x) - x) / x³ in x²", lambda w: (mp.tanh(mp.sqrt(w)) - mp.sqrt(w)) / mp.sqrt(w)**3,
      mpf("1e-9"), mpf("0.3137"), 4, lambda w: w * mp.sqrt(w) / mp.tanh(mp.sqrt(w)), best)
table("exp_twice", "f32", "exp(2x), |x| <= log(2) / 4, for tanh", lambda x: mp.exp(2 * x), -HALF_LN2 / 2, HALF_LN2 / 2,
      6)
for dtype, terms, limit in (("f64", 13, mpf("0.91")), ("f32", 7, mpf("0.91"))):
    table("erf", dtype, "erf(x) / x - 1 in x²", lambda w: mp.erf(mp.sqrt(w)) / mp.sqrt(w) - 1, mpf("1e-9"), limit**2,
          terms)
table("erfc", "f64", "(1 + 2x) exp(x²) erfc(x) in (x - 2) / (x + 2), for x from 0.45 to 6.1", erfcx_scaled(2),
      t_of("0.45", 2), t_of("6.1", 2), 19, lambda t: 1)
table("erfc", "f32", "log2(erfc(x)), for x from 0.9 to 4", lambda x: mp.log(mp.erfc(x), 2), mpf("0.9"), mpf("4.0"), 9,
      lambda x: mp.erfc(x))
table("erf_inv_near", "f32", "erf_inv(x) / x in w = -log(1 - x²), for w up to 5", erf_inv_ratio, mpf("1e-9"),
      mpf("5.01"), 11, lambda w: 1 / erf_inv_ratio(w))
table("erf_inv_far", "f32", "erf_inv(x) / x in sqrt(w) - 3, for w from 5 to 16.7", lambda u: erf_inv_ratio((u + 3)**2),
      mpf("-0.765"), mpf("1.09"), 11, lambda u: 1 / erf_inv_ratio((u + 3)**2))
table("erf_inv_near", "f64", "erf_inv(x) / x in w = -log(1 - x²), for w up to 5", erf_inv_ratio, mpf("1e-9"),
      mpf("5.01"), 7, lambda w: 1 / erf_inv_ratio(w))
table("erf_inv_far", "f64", "erf_inv(x) / x in sqrt(w) - 4, for w from 5 to 37", lambda u: erf_inv_ratio((u + 4)**2),
      mpf("-1.765"), mpf("2.09"), 8, lambda u: 1 / erf_inv_ratio((u + 4)**2))
table("cbrt", "f64", "cube root, for x from 0.7 to 5.7", mp.cbrt, mpf("0.7"), mpf("5.7"), 6)
bits("two_over_pi", "the bits of 2 / pi behind the binary point", lambda: 2 / mp.pi, 20)
print("#endif")
