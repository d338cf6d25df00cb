"""vmath_polynomials.py: computes the polynomials of lazy/vm/simd/vmath_*.h and writes lazy/vm/simd/vmath_tables.h.

    python3 tools/vmath_polynomials.py > lazy/vm/simd/vmath_tables.h        (needs mpmath)

Each table interpolates a function at the Chebyshev nodes of its interval, in 60 digits, which is within a small factor
of the best polynomial; coefficients are then rounded to the table's dtype. The comment of a table gives the largest
error of the rounded polynomial, relative to the `scale` function (what the polynomial's value is a part of), as a power
of two. The argument reductions around the tables are the classic ones of Cody and Waite (1980) and of fdlibm.
"""
import struct

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


def table(name, dtype, what, f, low, high, terms, scale=lambda x: mpf(1)):
    coefficients = [rounded(c, dtype) for c in chebyshev(f, low, high, terms)]
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
split("PIO2_", "f64", "pi / 2", mp.pi / 2, 3)
split("PIO2_", "f32", "pi / 2", mp.pi / 2, 3)
split("LOG2E_", "f64", "1 / log(2)", 1 / LN2, 2)
split("LOG2E_", "f32", "1 / log(2)", 1 / LN2, 2)
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
table("log", "f32", "(log(1 + f) - f + f²/2) / f³", lambda f: (mp.log(1 + f) - f + f**2 / 2) / f**3, *LOG_F, 9,
      lambda f: f**2)
table("asin", "f64", "(asin(x) - x) / x³ in x²", lambda w: (mp.asin(mp.sqrt(w)) - mp.sqrt(w)) / mp.sqrt(w)**3,
      mpf("1e-9"), mpf("0.2503"), 14, lambda w: w)
table("atan", "f64", "(atan(x) - x) / x³ in x²", lambda w: (mp.atan(mp.sqrt(w)) - mp.sqrt(w)) / mp.sqrt(w)**3, *ATAN_W,
      13, lambda w: w)
table("tanh", "f32", "(tanh(x) - x) / x³ in x²", lambda w: (mp.tanh(mp.sqrt(w)) - mp.sqrt(w)) / mp.sqrt(w)**3,
      mpf("1e-9"), mpf("0.37"), 6, lambda w: w)
for dtype, terms, limit in (("f64", 13, mpf("0.91")), ("f32", 7, mpf("0.91"))):
    table("erf", dtype, "erf(x) / x - 1 in x²", lambda w: mp.erf(mp.sqrt(w)) / mp.sqrt(w) - 1, mpf("1e-9"), limit**2,
          terms)
table("erfc", "f64", "(1 + 2x) exp(x²) erfc(x) in (x - 2) / (x + 2), for x from 0.45 to 6.1", erfcx_scaled(2),
      t_of("0.45", 2), t_of("6.1", 2), 19, lambda t: 1)
table("erfc", "f32", "log2(erfc(x)), for x from 0.9 to 4", lambda x: mp.log(mp.erfc(x), 2), mpf("0.9"), mpf("4.0"), 9,
      lambda x: mp.erfc(x))
table("cbrt", "f64", "cube root, for x from 0.7 to 5.7", mp.cbrt, mpf("0.7"), mpf("5.7"), 6)
bits("two_over_pi", "the bits of 2 / pi behind the binary point", lambda: 2 / mp.pi, 20)
print("#endif")
