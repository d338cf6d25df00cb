"""make_library.py: golden values of what arrays.* has by NumPy's names: grids, joins, turns, padding, functions of
elements, windows, polynomials, products and forms of matrices, by NumPy and SciPy (library.txt).

Records:   input <tab> name <tab> array   by which the texts below know it
           group <tab> Lua text <tab> tolerance <tab> = <tab> results…

The text is a list of Lua expressions over np and the inputs; its values are the results. dtypes are neap's.
"""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from records import Writer, text

F, D, I = np.float32, np.float64, np.int32
INPUTS = {
    "a": np.arange(12, dtype=F).reshape(3, 4), "b": np.arange(24, dtype=I).reshape(2, 3, 4),
    "v": np.array([3, -1.5, 2, 0.25], F), "w": np.array([1, 2, 4], F), "i": np.array([2, 0, 5], I),
    "z": np.zeros((0, 3), F), "s": np.array(2.5, F), "m": np.array([[4, 1, 2], [1, 3, 0], [2, 0, 5]], F),
    "q": np.array([[0, 2, 1], [1, 4, 3], [3, 1, 2]], D), "e": np.array([0, -0.0, 1, -1.5, 1e-40, np.inf, -np.inf,
    np.nan,
                                                                      3.4028235e38, 2.5, -7, 1e10], F),
    "n": np.array([-128, -7, -1, 0, 1, 6, 9, 127], np.int8), "u": np.array([0, 1, 12, 18, 255, 254], np.uint8),
    "h": np.array([0, 1, 2.5, 3.5, -0.5, 1234.5678], D), "t": np.array([True, False, True, True, False, False, True,
    True,
                                                                      True]),
}


class Cases:
    def __init__(self, out):
        self.out = out

    def __call__(self, group, lua, *results, tol="exact"):
        self.out.record(group, lua, tol, "=", *(text(np.asarray(r)) for r in results))


def grids(case, a, b, v, w, i, **_):
    g = "grids"
    case(g, "np.logspace(0, 2, 5)", np.logspace(0, 2, 5, dtype=F), tol="ulp 1")
    case(g, "np.logspace(-3, 3, 7, {base=2, endpoint=false, dtype='f64'})", np.logspace(-3, 3, 7, False, 2),
         tol="ulp 2")
    case(g, "np.geomspace(1, 256, 9), np.geomspace(-1000, -1, 4)", np.geomspace(1, 256, 9, dtype=F),
         np.geomspace(-1000, -1, 4, dtype=F), tol="ulp 1")
    case(g, "np.geomspace(2, 3, 1), np.geomspace(2, 3, 0), np.geomspace(1, 8, 3, {endpoint=false})", F([2]), F([]),
         np.geomspace(1, 8, 3, False, dtype=F), tol="ulp 1")
    for axis in (0, 1, -1):
        case(g, f"np.linspace(w, w * 3 + 1, 4, {{axis={axis}}})", np.linspace(w, w * 3 + 1, 4, axis=axis), tol="ulp 2")
    case(g, "np.linspace(w, 9, 3, {endpoint=false}), np.linspace(i, 1, 2)", np.linspace(w, F(9), 3, False),
         np.linspace(i, 1, 2).astype(F), tol="ulp 2")
    case(g, "np.linspace(w, 9, 1), np.linspace(w, 9, 0)", np.linspace(w, F(9), 1), np.linspace(w, F(9), 0))
    case(g, "np.identity(3), np.identity(0, {dtype='i32'})", np.identity(3, F), np.identity(0, I))
    case(g, "np.diagflat(a[0], 1), np.diagflat(w, -2)", np.diagflat(a[0], 1), np.diagflat(w, -2))
    case(g, "np.vander(w), np.vander(w, 2), np.vander(i, 4, {increasing=true})", np.vander(w).astype(F),
         np.vander(w, 2).astype(F), np.vander(i, 4, True).astype(I))
    for indexing in ("xy", "ij"):
        for sparse in (False, True):
            options = f"{{indexing='{indexing}', sparse={str(sparse).lower()}}}"
            case(g, f"np.meshgrid(w, i, v, {options})", *np.meshgrid(w, i, v, indexing=indexing, sparse=sparse))
    case(g, "np.meshgrid(w)", *np.meshgrid(w))
    case(g, "np.indices{2, 3}, np.indices({2}, {dtype='f32'})", np.indices((2, 3), I), np.indices((2,), F))
    case(g, "np.indices({2, 3}, {sparse=true})", *np.indices((2, 3), I, sparse=True))
    case(g, "np.mgrid('1:4, :2'), np.mgrid({0, 6, 2}, 3), np.mgrid'0:1:3j'", np.mgrid[1:4, :2].astype(I),
         np.mgrid[0:6:2, 0:3].astype(I), np.mgrid[0:1:3j].reshape(1, 3).astype(F))
    case(g, "np.ogrid('1:4, :2')", *(x.astype(I) for x in np.ogrid[1:4, :2]))
    case(g, "np.fromfunction(function(x, y) return x - y end, {2, 3})", np.fromfunction(lambda x, y: x - y, (2, 3),
         dtype=F))
    case(g, "np.fromiter({1, 2, 3}, {dtype='i32', count=2})", np.fromiter([1, 2, 3], I, 2))
    for name in ("tril", "triu"):
        for n, k, m in ((3, 0, None), (3, 1, 4), (4, -1, 2), (2, -5, None), (0, 0, 3), (3, 7, 2)):
            got = getattr(np, name + "_indices")(n, k, m)
            case(g, f"np.{name}_indices({n}, {k}{'' if m is None else ', ' + str(m)})", *(x.astype(I) for x in got))
        case(g, f"np.{name}(w), np.{name}(w, 1), np.{name}(z)", getattr(np, name)(w), getattr(np, name)(w, 1),
             getattr(np, name)(INPUTS["z"]))
    case(g, "np.diag_indices(3), np.diag_indices(2, 3)", I([0, 1, 2]), *(np.arange(2, dtype=I),) * 3)
    case(g, "np.unravel_index(i, {2, 3})", *(x.astype(I) for x in np.unravel_index(i, (2, 3))))
    case(g, "np.unravel_index(5, {2, 1, 3})", *(I(x) for x in np.unravel_index(5, (2, 1, 3))))
    case(g, "np.ravel_multi_index({i, i}, {6, 7}), np.ravel_multi_index({i, i}, {3, 2}, {mode='wrap'}), "
         "np.ravel_multi_index({i, i}, {3, 2}, {mode='clip'})", I(np.ravel_multi_index((i, i), (6, 7))),
         I(np.ravel_multi_index((i, i), (3, 2), mode="wrap")), I(np.ravel_multi_index((i, i), (3, 2), mode="clip")))


def joins(case, a, b, v, w, i, z, s, **_):
    g = "joins"
    case(g, "np.vstack({w, w}), np.vstack({a, v}), np.vstack({s, s})", np.vstack((w, w)), np.vstack((a, v)),
         np.vstack((s, s)))
    case(g, "np.hstack({w, v}), np.hstack({a, a}), np.hstack({s, w})", np.hstack((w, v)), np.hstack((a, a)),
         np.hstack((s, w)))
    case(g, "np.dstack({w, w}), np.dstack({a, a}), np.dstack({b, b})", np.dstack((w, w)), np.dstack((a, a)),
         np.dstack((b, b)))
    case(g, "np.column_stack({w, w}), np.column_stack({a, w})", np.column_stack((w, w)), np.column_stack((a, w)))
    case(g, "np.concat({a, w, s}, {axis='none'}), np.concat({b, i}, {axis='none'})", np.concatenate((a, w, s), None),
         np.concatenate((b, i), None))
    case(g, "np.block{{a, w:reshape(3, 1)}, {v, s}}, np.block{w, s}, np.block(s), np.block{{{w}}, {{v[{{0, 3}}]}}}",
         np.block([[a, w.reshape(3, 1)], [v, s]]), np.block([w, s]), np.block(s), np.block([[[w]], [[v[:3]]]]))
    case(g, "np.unstack(a)", *a)
    case(g, "np.unstack(b, {axis=-1})", *np.moveaxis(b, -1, 0))
    case(g, "unpack(np.array_split(v, 3))", *np.array_split(v, 3))
    case(g, "unpack(np.array_split(b, 5, {axis=2}))", *np.array_split(b, 5, 2))
    case(g, "unpack(np.array_split(v, {1, 3}))", *np.array_split(v, (1, 3)))
    case(g, "unpack(np.vsplit(a, 3))", *np.vsplit(a, 3))
    case(g, "unpack(np.hsplit(a, 2))", *np.hsplit(a, 2))
    case(g, "unpack(np.dsplit(b, {1, 3}))", *np.dsplit(b, (1, 3)))
    case(g, "np.append(a, w), np.append(a, a, {axis=1})", np.append(a, w), np.append(a, a, 1))
    case(g, "np.insert(v, 1, 9), np.insert(v, -1, w), np.insert(v, {0, 4, 2, 2}, v)", np.insert(v, 1, 9),
         np.insert(v, -1, w), np.insert(v, [0, 4, 2, 2], v))
    case(g, "np.insert(a, 1, w, {axis=1}), np.insert(a, {1}, w:reshape(3, 1), {axis=1}), "
         "np.insert(a, {3, 0}, v, {axis=0})",
         np.insert(a, 1, w, 1), np.insert(a, [1], w.reshape(3, 1), 1), np.insert(a, [3, 0], v, 0))
    case(g, "np.insert(b, 2, 7, {axis=-1}), np.insert(a, 2, 5), "
         "np.insert(b, {1, 1}, 3, {axis=1})", np.insert(b, 2, 7, -1),
         np.insert(a, 2, 5), np.insert(b, [1, 1], 3, 1))
    case(g, "np.delete_at(v, 1), np.delete_at(v, {0, -1, 0}), np.delete_at(a, 1, {axis=0}), "
         "np.delete_at(b, {0, 3}, {axis=-1})",
         np.delete(v, 1), np.delete(v, [0, -1, 0]), np.delete(a, 1, 0), np.delete(b, [0, 3], -1))
    case(g, "np.delete_at(v, v:gt(1)), np.delete_at(a, i:clip(0, 2), {axis=1}), "
         "np.delete_at(a, {})", np.delete(v, v > 1),
         np.delete(a, np.clip(i, 0, 2), 1), np.delete(a, []))
    case(g, "np.resize(w, {2, 4}), np.resize(a, {2, 2}), np.resize(z, {2}), np.resize(a, {0, 2}), np.resize(s, 3)",
         np.resize(w, (2, 4)), np.resize(a, (2, 2)), np.resize(z, 2), np.resize(a, (0, 2)), np.resize(s, 3))
    x, y = F([0, 0, 1, 0, 2, 0]), np.pad(np.ones((1, 2), I), ((1, 2), (0, 3)))
    case(g, "np.trim_zeros(np.array{0,0,1,0,2,0}), np.trim_zeros(np.array{0,0,1,0,2,0}, 'f'), "
         "np.trim_zeros(np.array{0,0,1,0,2,0}, {trim='b'}), np.trim_zeros(np.zeros(3))", np.trim_zeros(x),
         np.trim_zeros(x, "f"), np.trim_zeros(x, "b"), np.trim_zeros(np.zeros(3, F)))
    case(g, "np.trim_zeros(np.pad(np.ones({1, 2}, {dtype='i32'}), {{1, 2}, {0, 3}}))", np.trim_zeros(y))


def turns(case, a, b, v, w, z, s, **_):
    g = "turns"
    case(g, "np.fliplr(a), np.flipud(a), np.flipud(v), np.fliplr(b)", np.fliplr(a), np.flipud(a), np.flipud(v),
         np.fliplr(b))
    for k in range(-1, 5):
        case(g, f"np.rot90(a, {k}), np.rot90(b, {k}, {{axes={{2, 1}}}})", np.rot90(a, k), np.rot90(b, k, (2, 1)))
    for axis, start in ((0, 3), (2, 0), (-1, 1), (1, -3), (1, 2)):
        case(g, f"np.rollaxis(b, {axis}, {start})", np.rollaxis(b, axis, start))
    case(g, "np.atleast_3d(s), np.atleast_3d(v), np.atleast_3d(a), np.atleast_3d(b)",
         *(np.atleast_3d(x) for x in (s, v, a, b)))
    windows = np.lib.stride_tricks.sliding_window_view
    case(g, "np.sliding_window_view(v, 2), np.sliding_window_view(a, {2, 3}), "
         "np.sliding_window_view(b, {2, 2}, {axis={1, 1}}), "
         "np.sliding_window_view(b, 4, {axis=-1})", windows(v, 2), windows(a, (2, 3)), windows(b, (2, 2), (1, 1)),
         windows(b, 4, -1))
    case(g, "np.roll(b, {1, -2}, {axis={0, 2}}), np.roll(b, 1, {axis={1, 2}}), np.roll(a, {1, 1}, {axis=1}), "
         "np.roll(a, 5), "
         "np.roll(a, {1, 2}, {axis={1, 1}}), np.roll(z, 1)", np.roll(b, (1, -2), (0, 2)), np.roll(b, 1, (1, 2)),
         np.roll(a, (1, 1), 1), np.roll(a, 5), np.roll(a, (1, 2), (1, 1)), np.roll(z, 1))


def pads(case, a, b, v, w, i, t, **_):
    g = "pad"
    for mode in ("constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "minimum", "mean"):
        tol = "ulp 2" if mode in ("linear_ramp", "mean") else "exact"
        case(g, f"np.pad(a, {{2, 1}}, '{mode}'), np.pad(b, {{{{0, 3}}, {{5, 2}}, {{1, 9}}}}, {{mode='{mode}'}})",
             np.pad(a, (2, 1), mode), np.pad(b, ((0, 3), (5, 2), (1, 9)), mode), tol=tol)
        case(g, f"np.pad(np.ones(1), 3, '{mode}'), np.pad(v, 0, '{mode}')", np.pad(np.ones(1, F), 3, mode),
             np.pad(v, 0, mode), tol=tol)
    case(g, "np.pad(a, 1, {value=7}), np.pad(a, 1, {value={7, 8}}), np.pad(a, 1, {constant_values={{1, 2}, {3, 4}}})",
         np.pad(a, 1, constant_values=7), np.pad(a, 1, constant_values=(7, 8)),
         np.pad(a, 1, constant_values=((1, 2), (3, 4))))
    case(g, "np.pad(a, 2, {mode='linear_ramp', end_values={{-1, 5}, {3, 9}}}), "
         "np.pad(i, 3, {mode='linear_ramp', end_values=-4})",
         np.pad(a, 2, "linear_ramp", end_values=((-1, 5), (3, 9))), np.pad(i, 3, "linear_ramp", end_values=-4),
         tol="ulp 2")
    case(g, "np.pad(b, 1, {mode='mean', stat_length=2}), np.pad(v, 2, {mode='maximum', stat_length={1, 3}})",
         np.pad(b, 1, "mean", stat_length=2), np.pad(v, 2, "maximum", stat_length=(1, 3)))
    case(g, "np.pad(t, 2, 'reflect'), np.pad(np.zeros{0, 3}, {{0, 0}, {1, 1}}, 'wrap')", np.pad(t, 2, "reflect"),
         np.pad(np.zeros((0, 3), F), ((0, 0), (1, 1)), "wrap"))


def elements(case, a, v, w, i, e, n, u, h, t, **_):
    g = "elements"
    with np.errstate(all="ignore"):
        pairs = np.meshgrid(e, e, indexing="ij")
        case(g, "np.fmod(e:reshape(12, 1), e)", np.fmod(*pairs))
        case(g, "np.nextafter(e:reshape(12, 1), e)", np.nextafter(*pairs))
        case(g, "np.nextafter(h, 0), np.nextafter(h, np.inf)", np.nextafter(h, 0), np.nextafter(h, np.inf))
        case(g, "np.divmod(h, 0.75)", *np.divmod(h, 0.75))
        case(g, "np.modf(e)", *np.modf(e))
        case(g, "np.spacing(e), np.spacing(h)", np.spacing(e), np.spacing(h))
        case(g, "np.rint(h), np.fix(e)", np.rint(h), np.trunc(e))
        case(g, "np.fmax(e:reshape(12, 1), e), np.fmin(e:reshape(12, 1), e)", np.fmax(*pairs), np.fmin(*pairs),
             tol="zero")
        case(g, "np.heaviside(e, 0.5)", np.heaviside(e, F(0.5)))
        case(g, "np.logaddexp2(e:reshape(12, 1), e)", np.logaddexp2(*(x.astype(D) for x in pairs)).astype(F),
             tol="ulp 4")
        case(g, "np.logaddexp2(h, h - 3)", np.logaddexp2(h, h - 3), tol="ulp 4")
    m, x = np.frexp(e)
    case(g, "np.frexp(e)", m, np.where(np.isfinite(e), x, 0).astype(I))
    m, x = np.frexp(D([5e-324, 1.7e308, -0.5, 1, 2**-1022, 3, 0.1]))
    case(g, "np.frexp(np.array({5e-324, 1.7e308, -0.5, 1, 2^-1022, 3, 0.1}, {dtype='f64'}))", m, x.astype(I))
    shifts = np.array([-300, -149, -140, -127, -3, 0, 4, 127, 128, 250, 300], I)
    with np.errstate(all="ignore"):
        case(g, "np.ldexp(e:reshape(12, 1), "
             "np.array({-300, -149, -140, -127, -3, 0, 4, 127, 128, 250, 300}, {dtype='i32'}))",
             np.ldexp(e[:, None], shifts))
    case(g, "np.float_power(i, 2), np.float_power(2, v)", np.power(i.astype(F), F(2)), np.power(F(2), v), tol="ulp 2")
    case(g, "np.round(h, 2), np.round(h, -2), np.round(v, 1), np.around(i, 3), np.around(i * 15, -1)", np.round(h, 2),
         np.round(h, -2), np.round(v, 1), i, np.round(i * 15, -1), tol="zero")
    case(g, "np.fmod(n:reshape(8, 1), n), np.fmod(u:reshape(6, 1), u)",
         np.where(n == 0, 0, np.fmod(n[:, None], np.where(n == 0, 1, n))).astype(np.int8),
         np.where(u == 0, 0, np.fmod(u[:, None], np.where(u == 0, 1, u))).astype(np.uint8))
    case(g, "np.gcd(n:reshape(8, 1), n), np.lcm(n:reshape(8, 1), n)", np.gcd(n[:, None], n), np.lcm(n[:, None], n))
    case(g, "np.gcd(u:reshape(6, 1), u), np.lcm(i, 4)", np.gcd(u[:, None], u), np.lcm(i, I(4)))
    case(g, "np.bitwise_count(n), np.bitwise_count(u), np.bitwise_count(-i * 1000)", np.bitwise_count(n),
         np.bitwise_count(u), np.bitwise_count(-i * 1000))
    case(g, "np.degrees(v), np.rad2deg(h), np.radians(v), np.deg2rad(i)", np.degrees(v), np.degrees(h), np.radians(v),
         np.radians(i.astype(F)), tol="ulp 2")
    case(g, "np.lerp(v, 10, 0.25), np.lerp(v, 10, 1), np.lerp(v, 10, 0)", v + F(0.25) * (10 - v), np.full(4, 10, F), v,
         tol="ulp 2")
    phase = D([[0, 0.78, 5.49, 6.28, -3], [9, -9, 1, 20, 20.5]])
    lua = "np.array({{0, 0.78, 5.49, 6.28, -3}, {9, -9, 1, 20, 20.5}}, {dtype='f64'})"
    case(g, f"np.unwrap({lua}), np.unwrap({lua}, {{axis=0}}), "
         f"np.unwrap({lua}, {{period=4, discont=3}})", np.unwrap(phase),
         np.unwrap(phase, axis=0), np.unwrap(phase, discont=3, period=4), tol="abs 1e-12")
    case(g, "np.unwrap(i, {period=4}), np.unwrap(np.array({2, 3, 4, 5, 2, 3, 4, 5}, {dtype='i32'}), {period=4})",
         np.unwrap(i, period=4), np.unwrap(I([2, 3, 4, 5, 2, 3, 4, 5]), period=4))
    for order in ("big", "little"):
        o = f"bitorder='{order}'"
        case(g, f"np.packbits(t, {{{o}}}), np.packbits(n, {{{o}}}), "
             f"np.packbits(np.eye(3, {{dtype='u8'}}), {{axis=0, {o}}})",
             np.packbits(t, bitorder=order), np.packbits(n != 0, bitorder=order),
             np.packbits(np.eye(3, dtype=np.uint8), 0, order))
        case(g, f"np.unpackbits(u, {{{o}}}), np.unpackbits(u:reshape(2, 3), {{axis=1, count=-5, {o}}}), "
             f"np.unpackbits(u:reshape(2, 3), {{axis=0, count=18, {o}}})", np.unpackbits(u, bitorder=order),
             np.unpackbits(u.reshape(2, 3), 1, -5, order), np.unpackbits(u.reshape(2, 3), 0, 18, order))


def windows(case, **_):
    for name in ("bartlett", "blackman", "hamming", "hanning"):
        for n in (0, 1, 2, 7, 8):
            want = getattr(np, name)(n)
            case("windows", f"np.{name}({n}), np.{name}({n}, {{dtype='f64'}})", want.astype(F), want, tol="abs 1e-7")
    for n, beta in ((0, 1), (1, 3), (6, 0), (7, 14), (5, 2.5)):
        case("windows", f"np.kaiser({n}, {beta}), "
             f"np.kaiser({n}, {beta}, {{dtype='f64'}})", np.kaiser(n, beta).astype(F),
             np.kaiser(n, beta), tol="ulp 64")
    case("windows", "np.hann(5, {periodic=true}), np.kaiser(4, 3, {periodic=true})", np.hanning(6)[:-1].astype(F),
         np.kaiser(5, 3)[:-1].astype(F), tol="abs 1e-7")


def polynomials(case, a, v, w, i, m, **_):
    g = "polynomials"
    case(g, "np.polyval(w, v), np.polyval({1, 2}, a), np.polyval(i, i), np.polyval(w, 2)", np.polyval(w, v),
         np.polyval(F([1, 2]), a), np.polyval(i, i), F(np.polyval(w, 2)))
    case(g, "np.polyadd(w, v), np.polysub(v, w), np.polymul(w, v), np.polymul(i, i), "
         "np.polymul({2}, w)", np.polyadd(w, v),
         np.polysub(v, w), np.polymul(w, v), np.polymul(i, i), np.polymul(F([2]), w))
    case(g, "np.polyder(v), np.polyder(v, 2), np.polyder(v, 9), np.polyder(i), "
         "np.polyder(v, 0)", np.polyder(v).astype(F),
         np.polyder(v, 2).astype(F), F([]), np.polyder(i).astype(I), v)
    case(g, "np.polyint(v), np.polyint(v, 2, {1, 3}), np.polyint(i, 1, 5)", np.polyint(v).astype(F),
         np.polyint(v, 2, [1, 3]).astype(F), np.polyint(i, 1, 5).astype(F), tol="ulp 2")
    case(g, "np.poly(w), np.poly{}, np.poly(s), np.poly(m)", np.poly(w).astype(F), F([1]), F([1, -2.5]),
         np.poly(m).astype(F), tol="rel 1e-5")
    x, y = D([0, 0.5, 1, 2, 3.5]), D([1, 2, 2.5, 7, 9])
    xs, ys = "np.array({0, 0.5, 1, 2, 3.5}, {dtype='f64'})", "np.array({1, 2, 2.5, 7, 9}, {dtype='f64'})"
    for degree in (0, 1, 2, 4):
        case(g, f"np.polyfit({xs}, {ys}, {degree})", np.polyfit(x, y, degree), tol="scaled 1e-10")
    case(g, f"np.polyfit({xs}, np.stack({{{ys}, {xs}}}, {{axis=1}}), 2), np.polyfit({xs}, {ys}, 1, {{w={ys}}})",
         np.polyfit(x, np.stack((y, x), 1), 2), np.polyfit(x, y, 1, w=y), tol="scaled 1e-10")


def products(case, a, b, v, w, i, m, **_):
    g = "products"
    ab = np.einsum
    case(g, "np.inner(a, v), np.inner(b, i:take({0, 1, 2, 0})), np.inner(w, 3), np.inner(a, a)", np.inner(a, v),
         np.inner(b, I([2, 0, 5, 2])), w * 3, np.inner(a, a))
    case(g, "np.matvec(a, v), np.matvec(b, np.arange(8):reshape(2, 4)), np.vecmat(w, a), "
         "np.vecmat(np.arange(6):reshape(2, 3), b)",
         a @ v, np.matvec(b, np.arange(8, dtype=I).reshape(2, 4)), w @ a, np.vecmat(np.arange(6, dtype=I).reshape(2,
         3), b))
    x, y = F([1, 2]), F([[3, 4], [5, 7]])
    case(g, "np.cross(np.array{1, 2}, np.array{3, 4}), np.cross(np.array{{3, 4}, {5, 7}}, np.array{1, 2}), "
         "np.cross(np.array{1, 2}, w), np.cross(w, np.array{1, 2})", F(-2), F([2, 3]),
         jnp.cross(x, w), jnp.cross(w, x))
    ones, four = np.ones((3, 1), F), np.arange(12, dtype=F).reshape(3, 4)
    case(g, "np.einsum('ij,ij->i', np.ones{3, 1}, a), np.einsum('ij,jk,kl->il', a, a.T, a), "
         "np.einsum('i,j,k->ijk', w, w, w), "
         "np.einsum('ij,jk,kl,l', a, a.T, a, v)", ab("ij,ij->i", np.broadcast_to(ones, (3, 4)), four), a @ a.T @ a,
         ab("i,j,k->ijk", w, w, w), a @ a.T @ a @ v)


def linalg(case, m, q, w, v, **_):
    g = "linalg"
    p, l, u = scipy.linalg.lu(q)
    case(g, "np.linalg.lu(q)", p, l, u, tol="scaled 1e-14")
    case(g, "np.linalg.lu(np.stack{q, q.T})", *(np.stack(x) for x in zip((p, l, u), scipy.linalg.lu(q.T))),
         tol="scaled 1e-14")
    md = m.astype(D)
    case(g, "np.linalg.cho_solve(np.linalg.cholesky(m), w), "
         "np.linalg.cho_solve(np.linalg.cholesky(m).T, w, {lower=false})",
         *(np.linalg.solve(md, w).astype(F),) * 2, tol="scaled 1e-6")
    for scale in (0.01, 0.3, 2, 9):
        case(g, f"np.linalg.expm(q * {scale})", scipy.linalg.expm(q * scale), tol="scaled 1e-11")
    case(g, "np.linalg.expm(m), np.linalg.expm(-m), "
         "np.linalg.expm(np.stack{m, m * 0})", scipy.linalg.expm(md).astype(F),
         scipy.linalg.expm(-md).astype(F), scipy.linalg.expm(np.stack((md, md * 0))).astype(F), tol="scaled 1e-5")
    case(g, "np.linalg.sqrtm(m), np.linalg.sqrtm(np.ones{2, 2})", scipy.linalg.sqrtm(md).real.astype(F),
         np.full((2, 2), 0.5**0.5, F), tol="scaled 1e-6")
    x = np.random.default_rng(1).integers(-4, 5, (2, 3, 6)).astype(D)
    x[0, 0, 0] += 9
    y = np.arange(6, dtype=D).reshape(2, 3)
    lua = f"np.array({{{', '.join(str(int(k)) for k in x.ravel())}}}, {{dtype='f64'}})"
    case(g, f"np.linalg.tensorsolve({lua}:reshape(2, 3, 6), "
         f"np.arange(6):reshape(2, 3):astype'f64')", np.linalg.tensorsolve(x, y),
         tol="scaled 1e-12")
    case(g, f"np.linalg.tensorsolve({lua}:reshape(2, 6, 3), np.arange(6):reshape(2, 3):astype'f64', {{axes=1}})",
         np.linalg.tensorsolve(x.reshape(2, 6, 3), y, axes=(1,)), tol="scaled 1e-12")
    case(g, f"np.linalg.tensorinv({lua}:reshape(2, 3, 6)), np.linalg.tensorinv({lua}:reshape(6, 2, 3), {{ind=1}})",
         np.linalg.tensorinv(x), np.linalg.tensorinv(x.reshape(6, 2, 3), 1), tol="scaled 1e-12")
    case(g, "np.linalg.block_diag(m, w, np.array{{1}, {2}}), np.linalg.block_diag(np.zeros{0, 2}, w)",
         scipy.linalg.block_diag(m, w, F([[1], [2]])), scipy.linalg.block_diag(np.zeros((0, 2), F), w))
    case(g, "np.linalg.toeplitz(w), np.linalg.toeplitz(w, v), np.linalg.toeplitz(v, w)", scipy.linalg.toeplitz(w),
         scipy.linalg.toeplitz(w, v), scipy.linalg.toeplitz(v, w))
    case(g, "np.linalg.hilbert(4)", scipy.linalg.hilbert(4).astype(F))


def applied(case, a, b, v, w, **_):
    g = "applied"
    case(g, "np.apply_along_axis(np.sum, 0, a), np.apply_along_axis(np.sort, 1, a), "
         "np.apply_along_axis(np.cumsum, 1, b)",
         a.sum(0), a, b.cumsum(1).astype(I))
    case(g, "np.apply_along_axis(np.diag, -1, a), "
         "np.apply_along_axis(np.diag, 0, a)", np.apply_along_axis(np.diag, -1, a),
         np.apply_along_axis(np.diag, 0, a))
    case(g, "np.apply_over_axes(np.sum, b, {0, 2}), "
         "np.apply_over_axes(np.max, b, 1)", np.apply_over_axes(np.sum, b, (0, 2)).astype(I),
         b.max(1, keepdims=True))
    case(g, "np.vectorize(function(x, y) return x > y and x - y or x + y end)(a, v)", np.where(a > v, a - v, a + v))


def changed(function, x, *args, **options):
    """What a function of NumPy's makes of a copy of x, which it changes."""
    x = x.copy()
    function(x, *args, **options)
    return x


def places(case, a, b, v, i, e, q, **_):
    g = "places"
    case(g, "b[{np.ix_({1, 0}, {2}, {0, 3})}], a[{np.ix_(np.array{true, false, true}, i % 4)}]",
         b[np.ix_([1, 0], [2], [0, 3])], a[np.ix_([True, False, True], i % 4)])
    for k in (-1, 0, 2):
        case(g, f"np.tril_indices_from(a, {k})", *(x.astype(I) for x in np.tril_indices_from(a, k)))
        case(g, f"np.triu_indices_from(a, {k})", *(x.astype(I) for x in np.triu_indices_from(a, k)))
        case(g, f"np.mask_indices(3, np.triu, {k})", *(x.astype(I) for x in np.mask_indices(3, np.triu, k)))
    case(g, "np.diag_indices_from(q)", *(x.astype(I) for x in np.diag_indices_from(q)))
    case(g, "np.place(a, a % 2, {7, 8, 9}), np.place(i, i:gt(9), {1})", changed(np.place, a, a % 2 != 0, [7, 8, 9]), i)
    case(g, "np.place(b, b:lt(5), v)", changed(np.place, b, b < 5, v.astype(I)))
    case(g, "np.putmask(a, a:gt(4), {7, 8, 9}), np.putmask(b, b % 3, i)", changed(np.putmask, a, a > 4, [7, 8, 9]),
         changed(np.putmask, b, b % 3 != 0, i))
    tall = np.zeros((7, 3), F)
    case(g, "np.fill_diagonal(a, v), np.fill_diagonal(a.T, 9), np.fill_diagonal(np.zeros{2, 2, 2}, {5, 6})",
         changed(np.fill_diagonal, a, v), changed(np.fill_diagonal, a.T.copy(), 9),
         changed(np.fill_diagonal, np.zeros((2, 2, 2), F), [5, 6]))
    case(g, "np.fill_diagonal(np.zeros{7, 3}, 4), np.fill_diagonal(np.zeros{7, 3}, {1, 2}, {wrap=true})",
         changed(np.fill_diagonal, tall, 4), changed(np.fill_diagonal, tall, [1, 2], wrap=True))
    case(g, "np.isposinf(e), np.isneginf(e), np.isposinf(i)", np.isposinf(e), np.isneginf(e), np.isposinf(i))
    for u, v in (([3, 5, 2, -1], [2, 1]), ([1, 2], [1, 2, 3]), ([2, 1, 7, 3, 1], [1, -2, 5])):
        case(g, f"np.polydiv({{{str(u)[1:-1]}}}, {{{str(v)[1:-1]}}})", *np.polydiv(F(u), F(v)), tol="ulp 2")


def networks(case, b, v, m, **_):
    g = "networks"
    qkv = np.random.default_rng(3).normal(0, 1, (2, 5, 4, 3))
    case(g, "np.nn.squareplus(v), np.nn.squareplus(v, 1)", jax.nn.squareplus(v), jax.nn.squareplus(v, 1), tol="ulp 2")
    case(g, "np.nn.sparse_plus(v), np.nn.sparse_sigmoid(v)", jax.nn.sparse_plus(v), jax.nn.sparse_sigmoid(v))
    small = np.array([1e-30, 1e-3, 0.5, 0.7, 3, 50], F)
    case(g, "np.nn.log1mexp(np.array{1e-30, 1e-3, 0.5, 0.7, 3, 50})",
         np.log(-np.expm1(-small.astype(np.longdouble))).astype(F), tol="ulp 4")
    case(g, "np.nn.logmeanexp(m), np.nn.logmeanexp(b, {axis={0, -1}, keepdims=true})",
         np.log(np.mean(np.exp(m.astype(D)))).astype(F),
         np.log(np.mean(np.exp(b.astype(D)), (0, 2), keepdims=True)).astype(F), tol="ulp 4")
    text_of = "np.array({" + ", ".join(f"{float(y):.9g}" for y in F(qkv).ravel()) + "}):reshape(2, 5, 4, 3)"
    query, key, value = F(qkv)[:, :3], F(qkv)[:, :, :2], F(qkv)[:, :, 2:]
    bias, mask = (np.arange(5) % 2 * 0.5).astype(F).reshape(1, 1, 1, 5), np.tri(3, 5, 1).astype(bool)[None, None]
    for options, given in (("", {}), (", {is_causal=true, scale=0.5}", dict(is_causal=True, scale=0.5)),
                           (', {bias=np.arange(5) % 2 * 0.5, mask=np.tri(3, 5, 1, {dtype="bool"})}',
                            dict(bias=bias, mask=mask))):
        case(g, "(function(x) return np.nn.dot_product_attention(x[{{}, {0, 3}}], x[{{}, {}, {0, 2}}], "
                f"x[{{{{}}, {{}}, {{2, 4}}}}]{options}) end)({text_of})",
             jax.nn.dot_product_attention(query, key, value, **given), tol="abs 2e-6")


def make():
    with Writer("library.txt", __doc__) as out:
        for name, array in INPUTS.items():
            out.record("input", name, text(array))
        case = Cases(out)
        for part in (grids, joins, turns, pads, elements, windows, polynomials, products, linalg, applied,
                     places, networks):
            part(case, **INPUTS)


if __name__ == "__main__":
    make()
