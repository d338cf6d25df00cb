"""special_tables.py: computes the tables of the special functions and writes lazy/vm/simd/vmath_special_tables.h.

    python3 tools/special_tables.py > lazy/vm/simd/vmath_special_tables.h        (needs mpmath)

A table interpolates a function at the Chebyshev nodes of its interval, in 50 digits. Polynomials (`poly`) are in the
variable itself, lowest coefficient first; series (`series`) are Chebyshev's, in the variable mapped to [-1, 1], with
the first coefficient halved. The comment of a table gives the largest error of its rounded coefficients, as a power of
two. The other tables are known series: where they come from stands with each.
"""
import sys

if "--help" in sys.argv:
    sys.exit(print(__doc__))

from mpmath import mp, mpf

mp.dps = 50


def nodes(low, high, n):
    return [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]


def chebyshev(f, low, high, n):
    """The coefficients of the series through f at the Chebyshev nodes."""
    values = [f(x) for x in nodes(mpf(low), mpf(high), n)]
    sums = [sum(v * mp.cos(mp.pi * j * (2 * k + 1) / (2 * n)) for k, v in enumerate(values)) for j in range(n)]
    return [sums[0] / n] + [2 * s / n for s in sums[1:]]


def powers(f, low, high, n):
    xs = nodes(mpf(low), mpf(high), n)
    matrix = mp.matrix(n, n)
    for row, x in enumerate(xs):
        for power in range(n):
            matrix[row, power] = x**power
    return list(mp.lu_solve(matrix, mp.matrix([f(x) for x in xs])))


def write(name, what, coefficients, bits=None):
    print(f"/* {what}{'' if bits is None else f'; error 2^{float(bits):.1f}'} */")
    print(f"static const double vm_{name}_terms[{len(coefficients)}] = {{")
    line = "   "
    for c in coefficients:
        text = " " + float(c).hex() + ","
        if len(line + text) > 118:
            print(line)
            line = "   "
        line += text
    print(line + "\n};\n")


def worst(f, value, low, high):
    low, high = mpf(low), mpf(high)
    xs = [low + (high - low) * (k + mpf("0.37")) / 500 for k in range(499)]
    return mp.log(max(abs(value(x) - f(x)) / abs(f(x)) for x in xs), 2)


def poly(name, what, f, low, high, n):
    c = [mpf(float(c)) for c in powers(f, low, high, n)]
    write(name, what, c, worst(f, lambda x: mp.polyval(c[::-1], x), low, high))


def series(name, what, f, low, high, n):
    c = [mpf(float(c)) for c in chebyshev(f, low, high, n)]

    def value(x):
        t = (2 * x - (mpf(low) + mpf(high))) / (mpf(high) - mpf(low))
        return sum(c[k] * mp.chebyt(k, t) for k in range(n))
    write(name, what, c, worst(f, value, low, high))


def hole(f, at, value):
    """f with its value where it divides by 0."""
    return lambda x: value if abs(x - at) < mpf("1e-20") else f(x)


def constant(name, what, value, parts=1):
    """As a sum of doubles."""
    print(f"/* {what} */")
    for k in range(parts):
        part = mpf(float(value))
        value -= part
        print(f"#define VM_{name}{'' if parts == 1 else '_' + str(k + 1)} {float(part).hex()}")
    print()


def stirling(w):
    """(lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) x as a function of w = 1 / x²."""
    if w < mpf("1e-12"):
        return mpf(1) / 12 - w / 360
    x = 1 / mp.sqrt(w)
    return (mp.loggamma(x) - (x - mpf("0.5")) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x


def psi_rest(w):
    """(log x - 1/(2x) - psi(x)) x² as a function of w = 1 / x²."""
    if w < mpf("1e-12"):
        return mpf(1) / 12 - w / 120
    x = 1 / mp.sqrt(w)
    return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) * x * x


def temme(rows, columns):
    """d[k][n] of the uniform expansion of the incomplete gamma functions (DLMF 8.12.3, 8.12.7): c_k(eta) = sum d[k][n]
    eta^n, c_0 = 1/mu - 1/eta, c_k = c_(k-1)' / eta - d[k-1][1] / mu. mu(eta) solves mu mu' = eta (1 + mu)."""
    n = columns + 2 * rows + 3
    a = [mpf(0), mpf(1)]
    for k in range(2, n + 2):  # the coefficient of eta^k: sum_i a_i (k + 1 - i) a_(k+1-i) = a_(k-1)
        known = sum(a[i] * (k + 1 - i) * a[k + 1 - i] for i in range(2, k))
        a.append((a[k - 1] - known) / (k + 1))
    ratio = a[1:]  # mu / eta; its inverse
    inverse = [mpf(1)]
    for k in range(1, len(ratio)):
        inverse.append(-sum(ratio[i] * inverse[k - i] for i in range(1, k + 1)))
    d = [inverse[1:]]
    for k in range(1, rows):
        before = d[-1]
        d.append([(m + 2) * before[m + 2] - before[1] * d[0][m] for m in range(len(before) - 2)])
    return [c[:columns] for c in d]


print("""\
/* vmath_special_tables.h: tables of the special functions, all for f64. Written by tools/special_tables.py, which tells
 * how they were computed; do not edit. */
#ifndef LAZY_SIMD_VMATH_SPECIAL_TABLES_H
#define LAZY_SIMD_VMATH_SPECIAL_TABLES_H
""")
root = mp.findroot(mp.digamma, mpf("1.4616"))
constant("PSI_ROOT", "the zero of psi beyond 0", root, 3)
constant("PSI_ROOT_LESS_1", "the same less 1", root - 1, 3)
constant("EULER", "Euler's constant", mp.euler)
constant("HALF_LOG_2PI", "log(2 pi) / 2", mp.log(2 * mp.pi) / 2, 2)
constant("SQRT_2PI", "sqrt(2 pi)", mp.sqrt(2 * mp.pi), 2)
poly("lgamma_1", "lgamma(1 + z) / z", hole(lambda z: mp.loggamma(1 + z) / z, 0, -mp.euler), "-0.25", "0.25", 18)
poly("lgamma_mid", "lgamma(1.5 + z)", lambda z: mp.loggamma(mpf("1.5") + z), "-0.25", "0.25", 16)
poly("lgamma_2", "lgamma(2 + z) / z", hole(lambda z: mp.loggamma(2 + z) / z, 0, 1 - mp.euler), "-0.25", "0.25", 15)
poly("lgamma_3", "lgamma(2.625 + z)", lambda z: mp.loggamma(mpf("2.625") + z), "-0.375", "0.375", 16)
poly("stirling", "(lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) x in 1 / x², for x from 8", stirling, 0,
     mpf(1) / 64, 9)
poly("gamma", "(gamma(2 + z) - 1) / z", hole(lambda z: (mp.gamma(2 + z) - 1) / z, 0, 1 - mp.euler), "-0.5", "0.5", 22)
poly("psi", "psi(root + t) / t", hole(lambda t: mp.digamma(root + t) / t, 0, mp.psi(1, root)), 1 - root, 2 - root, 23)
poly("psi_far", "(log x - 1/(2x) - psi(x)) x² in 1 / x², for x from 8", psi_rest, 0, mpf(1) / 64, 9)
write("zeta", "B_2k / (2k)! for k from 1: DLMF 25.11.28", [mp.bernoulli(2 * k) / mp.factorial(2 * k)
                                                         for k in range(1, 15)])
write("odd", "1 / (2k + 3), for log1p(x) - x", [1 / mpf(2 * k + 3) for k in range(18)])
poly("erfcx_far", "sqrt(pi) x exp(x²) erfc(x) in 1 / x², for x from 6",
     lambda w: mp.sqrt(mp.pi) * mp.exp(1 / w) * mp.erfc(1 / mp.sqrt(w)) / mp.sqrt(w) if w > mpf("1e-6")
     else 1 - w / 2 + 3 * w**2 / 4 - 15 * w**3 / 8 + 105 * w**4 / 16 - 945 * w**5 / 32, 0, mpf(1) / 36, 12)
for n in (0, 1):
    what = f"exp(-x) I{n}(x) " + ("(1 + x / 2)² / x" if n else "(1 + x)")
    series(f"i{n}e", what + ", for x up to 8", lambda x: mp.besseli(n, x) * mp.exp(-x) * ((1 + x / 2)**2 / x if n
                                                                                       else 1 + x), 0, 8, 31)
    series(f"i{n}e_far", f"sqrt(x) exp(-x) I{n}(x) in 1 / x, for x from 8",
           lambda u: mp.besseli(n, 1 / u) * mp.exp(-1 / u) / mp.sqrt(u), mpf("1e-30"), mpf("0.125"), 25)
    series(f"j{n}", f"J{n}(x)" + (" / x" if n else "") + " in x², for x up to 8",
           lambda w: mp.besselj(n, mp.sqrt(w)) / mp.sqrt(w)**n if w > mpf("1e-30") else mpf("0.5") ** n, 0, 64, 21)

    def hankel(w, which):
        """P and x Q of J = sqrt(2 / (pi x)) (P cos(chi) - Q sin(chi)), Y = … (P sin(chi) + Q cos(chi))."""
        w = max(w, mpf("1e-8"))
        x = 1 / mp.sqrt(w)
        chi = x - (mpf(n) / 2 + mpf(1) / 4) * mp.pi
        j, y = mp.besselj(n, x), mp.bessely(n, x)
        scale = mp.sqrt(mp.pi * x / 2)
        return scale * (j * mp.cos(chi) + y * mp.sin(chi)) if which == "p" else \
            scale * (y * mp.cos(chi) - j * mp.sin(chi)) * x
    series(f"j{n}_p", "P in 1 / x², for x from 8: DLMF 10.17.3", lambda w: hankel(w, "p"), 0, mpf(1) / 64, 15)
    series(f"j{n}_q", "x Q in 1 / x², for x from 8", lambda w: hankel(w, "q"), 0, mpf(1) / 64, 15)

TEMME_ROWS, TEMME_COLUMNS = 13, 20
print("/* d[k][n]: c_k(eta) = sum of d[k][n] eta^n, DLMF 8.12.7 */")
print(f"enum {{ VM_TEMME_ROWS = {TEMME_ROWS}, VM_TEMME_COLUMNS = {TEMME_COLUMNS} }};")
print("static const double vm_temme[VM_TEMME_ROWS][VM_TEMME_COLUMNS] = {")
for row in temme(TEMME_ROWS, TEMME_COLUMNS):
    line = "    {"
    for k, c in enumerate(row):
        text = float(c).hex() + (", " if k + 1 < len(row) else "},")
        if len(line + text) > 118:
            print(line.rstrip())
            line = "     "
        line += text
    print(line)
print("};\n\n#endif")
