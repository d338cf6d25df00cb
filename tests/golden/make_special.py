"""make_special.py: golden values of the special functions (special.txt), by mpmath in 50 digits.

    python3 tests/golden/make_special.py        (needs mpmath, and what records.py needs)

Arguments lie near zeros, poles and the ends of domains, and go to the ends of f64. A tolerance is what the annotation
of the function promises; `rel` with the size of the logarithm of a result is that of the largest in the record. f32
results are f64 ones rounded: half an ulp and the f64 error. Limits and conventions (SciPy's) are written here.

Records:   what <tab> function <tab> which argument, of derivatives, or - <tab> tolerance <tab> argument … <tab> =
           <tab> result
`value` is the function at these arguments; `slope` its derivative with respect to argument n.
"""

import numpy as np
from mpmath import mp, mpf

from records import Writer, number, text

mp.dps = 50
INF, NAN = float("inf"), float("nan")


def lgamma(x):
    return mp.re(mp.loggamma(x))


def erfcinv(q):
    if q > 1:
        return -erfcinv(2 - q)
    if q > mpf("0.01"):
        return mp.erfinv(1 - q)
    y = mp.sqrt(-mp.log(q))
    for _ in range(60):
        step = (mp.log(mp.erfc(y)) - mp.log(q)) * mp.erfc(y) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y += step
        if abs(step) < mpf(10) ** -45:
            break
    return y


def zeta(s, q=mpf(1)):
    """Euler and Maclaurin: mpmath's own loses digits for large q and fails for negative ones."""
    n = 60 + max(0, int(-q)) + int(s)
    x = q + n
    rest, factor = x / (s - 1) + mpf("0.5"), s / x
    for k in range(1, 30):
        rest += mp.bernoulli(2 * k) / mp.factorial(2 * k) * factor
        factor *= (s + 2 * k - 1) * (s + 2 * k) / x**2
    return mp.fsum((q + k)**-s for k in range(n)) + x**-s * rest


def lower(a, x):
    """P by its series, with the digits that 1 - P needs."""
    with mp.workdps(400 if x > 50 else 120):
        term = total = mpf(1)
        k = 1
        while term > total * mpf(10) ** -mp.dps:
            term *= x / (a + k)
            total += term
            k += 1
        return total * mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1))


def upper(a, x):
    with mp.workdps(400 if x > 50 else 120):
        return 1 - lower(a, x)


def betainc(a, b, x):
    with mp.workdps(200):
        return +mp.betainc(a, b, 0, x, regularized=True)


def log_ndtr(x):
    with mp.workdps(60):
        return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2) if x < 5 else mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2)


FUNCTIONS = {
    "erf": mp.erf, "erfc": mp.erfc, "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x), "erfcinv": erfcinv,
    "erfinv": mp.erfinv, "gammaln": lgamma, "gamma": mp.gamma, "digamma": mp.digamma,
    "polygamma": lambda n, x: mp.psi(int(n), x), "zeta": zeta, "beta": mp.beta,
    "betaln": lambda a, b: lgamma(a) + lgamma(b) - lgamma(a + b), "gammainc": lower, "gammaincc": upper,
    "betainc": betainc, "i0": lambda x: mp.besseli(0, x), "i1": lambda x: mp.besseli(1, x),
    "i0e": lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), "i1e": lambda x: mp.besseli(1, x) * mp.exp(-abs(x)),
    "j0": lambda x: mp.besselj(0, x), "j1": lambda x: mp.besselj(1, x),
    "multigammaln": lambda x, d: d * (d - 1) / 4 * mp.log(mp.pi) + sum(lgamma(x - mpf(j) / 2) for j in range(int(d))),
    "factorial": lambda n: mp.gamma(n + 1), "comb": mp.binomial, "xlogy": lambda x, y: x * mp.log(y),
    "xlog1py": lambda x, y: x * mp.log1p(y), "entr": lambda x: -x * mp.log(x),
    "rel_entr": lambda p, q: p * mp.log(p / q), "kl_div": lambda p, q: p * mp.log(p / q) - p + q,
    "logit": lambda x: mp.log(x / (1 - x)), "ndtr": lambda x: mp.erfc(-x / mp.sqrt(2)) / 2,
    "ndtri": lambda p: -mp.sqrt(2) * erfcinv(2 * p), "log_ndtr": log_ndtr,
    "sinc": lambda x: mp.sinc(mp.pi * x),
}

TINY = [5e-324, 1e-310, 2.3e-308, 1e-200, 1e-20, 1e-5]
ROOT = 1.4616321449683623
# Function, tolerance, arguments (a list each). `log E` is rel E (1 + |log result|).
VALUES = [
    ("erfc", "ulp 4", [-30, -5.9, -1, -0.46, -0.44, -1e-300, 0.1, 0.46, 0.89, 1, 2.479, 5.99, 6.01, 10, 26.4, 26.6,
                       27.2]),
    ("erfcx", "ulp 4", [-26.6, -6, -1, -0.4, 1e-300, 0.1, 0.46, 1, 5.99, 6.01, 30, 1e3, 1e150]),
    ("erfcinv", "ulp 4", [5e-324, 1e-310, 1e-300, 1e-100, 1e-16, 1e-14, 0.01, 0.3, 0.499, 0.501, 0.9999999, 1.2, 1.499,
                          1.501, 1.99, 2 - 2.0**-52]),
    ("erfinv", "ulp 4", [-1 + 2.0**-53, -0.999, -0.5, 1e-300, 0.1, 0.9, 1 - 2.0**-53]),
    ("gammaln", "ulp 6", TINY + [0.24, 0.26, 0.74, 0.76, 1 - 2.0**-53, 1 + 2.0**-52, 1.24, 1.26, 1.74, 1.76,
                                 2 - 2.0**-52, 2 + 2.0**-51, 2.24, 2.26, 2.99, 3.01, 7.99, 8.01, 25, 1e5, 1e17, 1e305]),
    ("gammaln", "abs 4e-15", [-1e-300, -1e-5, -0.5, -1.5, -2.457024738220801, -2.7, -3.14, -7.5, -20.25]),
    ("gamma", "ulp 4", [-170.4, -100.5, -20.001, -19.999, -5 + 2.0**-40, -1.5, -1e-5, 1e-300, 0.3, 0.5, 1 + 2.0**-52,
                        1.4999, 2.5001, 7.3, 19.99, 20.01, 100.3, 171.6]),
    ("digamma", "ulp 4", TINY[2:] + [0.5, 1 - 2.0**-53, ROOT, ROOT + 2.0**-52, ROOT - 1e-9, 1.999, 2.001, 7.99, 8.01,
                                     1e5, 1e300]),
    ("digamma", "abs 3e-15", [-0.3, -0.5, -0.504083008264455, -1.573498473162390, -2.6, -5.25, -5.75]),
    ("zeta", "ulp 4", [1 + 2.0**-40, 1.5, 2, 3, 10, 50, 1000], [1, 0.25, 1, 1e-3, 7.5, 700, 1]),
    ("zeta", "ulp 4", [2, 4, 6, 2, 4], [-0.5, -1.25, -3.3, -12.5, -500.75]),
    ("polygamma", "rel 2e-14", [0, 1, 2, 3, 10, 30], [2.5, 0.1, 7, 1e3, 3.3, 5]),
    ("beta", "log 3e-15", [1e-5, 0.5, 3, 19, 25, 300], [2, 0.5, 17, 19.5, 2, 400]),
    ("beta", "log 1e-14", [-0.5, -1.5, 2.5], [0.25, 0.75, -1.25]),
    ("betaln", "abs 4e-15", [0.1, 1, 1, 2.5, 7.9, 0.6674], [0.2, 1, 2, 3, 0.3, 7.47]),
    ("betaln", "ulp 16", [8, 8.5, 1e-10, 3, 1e5, 1e10, 50], [8, 1e6, 1e10, 1e15, 2e5, 1e10, 7]),
    ("gammainc", "log 4e-15", [1e-10, 0.1, 0.5, 1, 3, 5, 15.3, 19.9, 20.1, 50, 200, 1e3, 3, 0.5, 15],
     [1e-10, 1e-5, 0.4, 1.05, 0.01, 5.2, 16.7, 30, 20, 30, 210, 900, 50, 20, 1e-3]),
    ("gammaincc", "log 4e-15", [1e-10, 1e-8, 0.1, 0.5, 1, 3, 5, 15.7, 19.9, 20.1, 50, 200, 1e3, 3, 0.5, 0.75, 1e-3],
     [1e-10, 0.6, 1e-5, 0.4, 1.05, 0.01, 5.2, 18.3, 30, 20, 80, 210, 1100, 50, 20, 1, 0.9]),
    ("betainc", "log 1e-13", [0.1, 0.5, 1, 2, 5, 7.08, 10, 30, 100, 1e3, 1e-5, 3, 8.1, 200, 2],
     [0.2, 0.5, 3, 2, 0.3, 6.32, 12, 5, 200, 1.1e3, 3, 1e-5, 1e-4, 1e3, 3],
     [0.3, 0.01, 0.1, 0.7, 0.9, 0.48, 0.5, 0.7, 0.3, 0.45, 0.2, 0.6, 0.98, 0.05, 1e-300]),
    ("i0", "ulp 5", [-700, -7.99, -1, 1e-300, 0.1, 3.6, 8.01, 20, 713]),
    ("i0e", "ulp 5", [-700, -7.99, -1, 1e-300, 0.1, 3.6, 8.01, 20, 1e300]),
    ("i1", "ulp 5", [-700, -7.99, -1, 1e-300, 0.1, 3.6, 8.01, 20, 713]),
    ("i1e", "ulp 5", [-700, -7.99, -1, 1e-300, 0.1, 3.6, 8.01, 20, 1e300]),
    ("j0", "abs 2e-15", [-3, 1e-300, 0.1, 2.404825557695773, 5, 7.99, 8.01, 50, 1e4, 1e15]),
    ("j1", "abs 2e-15", [-3, 1e-300, 0.1, 3.8317059702075125, 5, 7.99, 8.01, 50, 1e4, 1e15]),
    ("factorial", "ulp 4", [0, 0.5, 3, 18, 60.5, 170]),
    ("comb", "ulp 0", [5, 10, 40, 30, 7], [2, 5, 9, 0, 7]),
    ("comb", "rel 1e-12", [5.5, 10.25, 100], [2.5, 3.5, 50]),
    ("xlogy", "ulp 2", [0.5, 2, -3], [1e-300, 3, 0.1]), ("xlog1py", "ulp 2", [0.5, 2, -3], [1e-300, 3, -0.9]),
    ("entr", "ulp 2", [1e-300, 0.1, 0.9, 5]), ("rel_entr", "rel 1e-15", [0.5, 2, 1e-300], [0.1, 3, 0.5]),
    ("kl_div", "rel 1e-15", [0.5, 2, 0.1], [0.1, 5, 0.5]),
    ("logit", "ulp 4", [1e-300, 0.1, 0.25, 0.499999999, 0.5000001, 0.75, 0.9, 1 - 2.0**-53]),
    ("ndtr", "rel 4e-13", [-37, -10, -1, 0, 1, 8]),
    ("ndtri", "ulp 5", [1e-310, 1e-20, 0.1, 0.4999999, 0.75, 1 - 2.0**-53]),
    ("log_ndtr", "rel 2e-14", [-1e5, -100, -1.001, -0.999, 0, 3, 8]),
    ("sinc", "abs 2e-16", [-2.5, 1e-300, 1e-3, 0.5, 1, 10.25]),
]
SLOPES = [
    ("erfc", 1, "rel 1e-13", [-1, 0, 3]), ("erfcx", 1, "rel 1e-12", [-1, 0.1, 3]),
    ("erfcinv", 1, "rel 1e-13", [0.1, 1.5]),
    ("gammaln", 1, "rel 1e-14", [0.3, 5, -1.5]), ("gamma", 1, "rel 1e-14", [0.3, 5, -1.6]),
    ("digamma", 1, "rel 1e-13", [0.3, 5]), ("polygamma", 2, "rel 1e-13", [2, 3], [0.3, 5]),
    ("zeta", 2, "rel 1e-13", [2.5, 3], [0.3, 5]), ("betaln", 1, "rel 1e-13", [0.3, 9], [2, 30]),
    ("betaln", 2, "rel 1e-13", [0.3, 9], [2, 30]), ("beta", 1, "rel 1e-12", [0.3, 9, 30], [2, 30, 4]),
    ("gammainc", 1, "rel 1e-9", [0.3, 3, 3, 30, 50], [0.5, 2, 7, 28, 60]),
    ("gammainc", 2, "rel 1e-12", [0.3, 3, 30], [0.5, 2, 28]), ("gammaincc", 1, "rel 1e-9", [0.3, 3, 3], [0.5, 2, 7]),
    ("gammaincc", 2, "rel 1e-12", [0.3, 3], [0.5, 2]), ("betainc", 3, "rel 1e-12", [0.3, 3], [2, 5], [0.4, 0.3]),
    ("i0", 1, "rel 1e-13", [0, 2, -9]), ("i1", 1, "rel 1e-13", [0, 2, -9]), ("i0e", 1, "rel 1e-13", [2, -9]),
    ("i1e", 1, "rel 1e-11", [2, -9]), ("j0", 1, "abs 1e-14", [2, -9]), ("j1", 1, "abs 1e-14", [0, 2, -9]),
    ("multigammaln", 1, "rel 1e-13", [3, 5], 2), ("xlogy", 1, "rel 1e-13", [0.5, 2], [3, 4]),
    ("xlogy", 2, "rel 1e-13", [0.5, 2], [3, 4]), ("xlog1py", 2, "rel 1e-13", [0.5, 2], [3, 4]),
    ("entr", 1, "rel 1e-13", [0.1, 3]), ("rel_entr", 1, "rel 1e-13", [0.5, 2], [3, 4]),
    ("rel_entr", 2, "rel 1e-13", [0.5, 2], [3, 4]), ("logit", 1, "rel 1e-13", [0.1, 0.5, 0.9]),
    ("ndtr", 1, "rel 1e-13", [-3, 1]), ("ndtri", 1, "rel 1e-12", [0.01, 0.5, 0.9]),
    ("log_ndtr", 1, "rel 1e-11", [-30, -1.5, 0, 4]), ("sinc", 1, "abs 1e-14", [0.3, 2.5]),
]
# Limits and conventions, as SciPy's.
EDGES = [
    ("erfc", [[-INF, INF, NAN]], [2, 0, NAN]), ("erfcx", [[-INF, INF, NAN]], [INF, 0, NAN]),
    ("erfcinv", [[0, 2, 1, -0.1, 2.1, NAN]], [INF, -INF, 0, NAN, NAN, NAN]),
    ("gammaln", [[0, -1, -2, INF, -INF, NAN, 1, 2]], [INF, INF, INF, INF, INF, NAN, 0, 0]),
    ("gamma", [[0, -0.0, -1, INF, NAN, 1, 19, 180]], [INF, -INF, NAN, INF, NAN, 1, 6402373705728000, INF]),
    ("digamma", [[0, -0.0, -1, INF, NAN]], [-INF, INF, NAN, INF, NAN]),
    ("zeta", [[1, 0.5, 2, 2, 2.5, 2, NAN], [2, 2, 0, -1, -0.5, INF, 1]], [INF, NAN, INF, INF, NAN, 0, NAN]),
    ("gammainc", [[0, 1, 1, -1, 1, INF], [1, 0, INF, 1, -1, 1]], [1, 0, 1, NAN, NAN, 0]),
    ("gammaincc", [[0, 1, 1, -1, 1, INF], [1, 0, INF, 1, -1, 1]], [0, 1, 0, NAN, NAN, 1]),
    ("betainc", [[1, 1, -1, 1, 0, 1], [2, 2, 1, 1, 1, 0], [0, 1, 0.5, 1.5, 0.5, 0.5]], [0, 1, NAN, NAN, 1, 0]),
    ("i0", [[0, INF, -INF, NAN]], [1, INF, INF, NAN]), ("i1", [[0, INF, -INF, NAN]], [0, INF, -INF, NAN]),
    ("i0e", [[0, INF, -INF, NAN]], [1, 0, 0, NAN]), ("j0", [[0, INF, NAN]], [1, 0, NAN]),
    ("j1", [[0, INF, NAN]], [0, 0, NAN]), ("factorial", [[-1, 0, 1, 2, 5, 10]], [0, 1, 1, 2, 120, 3628800]),
    ("comb", [[5, 5, 5, 5], [-1, 6, 0, 5]], [0, 0, 1, 1]),
    ("xlogy", [[0, 0, 0, 1], [0, 3, NAN, 0]], [0, 0, NAN, -INF]),
    ("xlog1py", [[0, 0, 1], [-1, NAN, -1]], [0, NAN, -INF]),
    ("entr", [[0, 1, -1, NAN]], [0, 0, -INF, NAN]), ("rel_entr", [[0, 1, -1, NAN], [1, 0, 1, 1]], [0, INF, INF, NAN]),
    ("kl_div", [[0, 1, -1], [1, 0, 1]], [1, INF, INF]), ("logit", [[0, 1, 0.5, -1, 2]], [-INF, INF, 0, NAN, NAN]),
    ("ndtr", [[-INF, 0, INF, NAN]], [0, 0.5, 1, NAN]), ("ndtri", [[0, 0.5, 1, 2]], [-INF, 0, INF, NAN]),
    ("log_ndtr", [[0, INF, NAN]], [-0.6931471805599453, 0, NAN]), ("sinc", [[0, NAN]], [1, NAN]),
    ("gammasgn", [[-0.5, -1.5, -1, 0, -0.0, 2, NAN]], [-1, 1, NAN, 1, -1, 1, NAN]),
]


def evaluate(function, arguments, slope=None):
    """The function, or its derivative, at arguments given element by element."""
    results = []
    for point in zip(*arguments):
        point = [mpf(float(v)) for v in point]
        if slope is None:
            results.append(FUNCTIONS[function](*point))
        else:
            def along(t):
                return FUNCTIONS[function](*point[:slope - 1], t, *point[slope:])
            results.append(mp.diff(along, point[slope - 1], h=mpf(10) ** -12))
    return results


def tolerance_of(text_of, results):
    kind, amount = text_of.split()
    if kind != "log":
        return text_of
    return "rel " + number(float(f"{float(amount) * (1 + max(abs(float(mp.log(abs(r)))) for r in results)):.1e}"))


def record(out, what, function, slope, tolerance, arguments, results, kind):
    arguments = [text(np.asarray(a, kind)) if isinstance(a, list) else number(float(a)) for a in arguments]
    out.record(what, function, str(slope or "-"), tolerance, *arguments, "=", text(np.asarray(results, kind)))


def spread(arguments):
    n = max(len(a) for a in arguments if isinstance(a, list))
    return [a if isinstance(a, list) else [a] * n for a in arguments]


def make():
    with Writer("special.txt", __doc__) as out:
        for function, tolerance, *arguments in VALUES:
            results = evaluate(function, spread(arguments))
            record(out, "value", function, None, tolerance_of(tolerance, results), arguments,
                   [float(r) for r in results], np.float64)
            with np.errstate(over="ignore"):
                singles = [[float(np.float32(v)) for v in a] for a in spread(arguments)]
            keep = [k for k, r in enumerate(results) if 1e-30 < abs(r) < 1e30 and
                    all(1e-30 < abs(a[k]) < 1e30 for a in singles)]
            singles = [[a[k] for k in keep] for a in singles]
            if function in ONE_ROUNDING and keep:
                try:
                    results = evaluate(function, singles)
                except (ValueError, ZeroDivisionError):
                    continue
                if all(mp.isfinite(r) for r in results):
                    record(out, "value", function, None, "ulp 0.51", singles, [np.float32(float(r)) for r in results],
                           np.float32)
        for function, slope, tolerance, *arguments in SLOPES:
            results = evaluate(function, spread(arguments), slope)
            record(out, "slope", function, slope, tolerance, arguments, [float(r) for r in results], np.float64)
        for function, arguments, results in EDGES:
            for kind in (np.float32, np.float64):
                record(out, "value", function, None, "ulp 1", arguments, results, kind)


# Rows, whose f32 results are rounded f64 ones. erfinv has arithmetic of its own, and near zeros f64's error shows.
ONE_ROUNDING = {"erfc", "erfcx", "erfcinv", "gammaln", "gamma", "digamma", "zeta", "gammainc", "gammaincc", "betainc",
                "i0", "i0e", "i1", "i1e"}

if __name__ == "__main__":
    make()
