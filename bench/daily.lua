--- daily.lua: the cases of the group "daily" (bench/cases.lua, which says what a case has): what people do with SciPy
-- and pandas: sparse arrays, filters, images, solvers, splines, statistics, tables.
--
--      require "bench.daily" (add, make)       make: as for bench/library.lua
local np = require "neap"

return function(add_case, make)
    local normal, uniform, integers = make.normal, make.uniform, make.integers
    local inputs, normals = make.inputs, make.normals

    --- A case that SciPy has. Statements of `text` stand before " :: ".
    local function scipy(name, made, f, text, given)
        add_case { group = "daily", name = name, inputs = made, lua = f, scipy = text, drawn = (given or {}).drawn }
    end

    --- The same for pandas. once(x, y, …) gives the call, which waits.
    local function pandas(name, made, once, text)
        add_case { group = "daily", name = name, inputs = made, once = once, pandas = text }
    end

    -- ---- Filters and spectra ----------------------------------------------------------------------------------------

    local signal = np.signal
    local SOS = "s = scipy.signal.butter(8, 0.2, output='sos').astype(np.float32) :: "
    local function sos() return signal.butter(8, 0.2, { output = "sos" }):astype "f32" end
    scipy("sosfilt of order 8, 1e6", normals { 1e6 }, function(x) return (signal.sosfilt(sos(), x)) end,
          SOS .. "scipy.signal.sosfilt(s, x)")
    scipy("sosfilt of order 8, 1000 of 1000", normals { 1000, 1000 },
          function(x) return (signal.sosfilt(sos(), x)) end, SOS .. "scipy.signal.sosfilt(s, x)")
    scipy("sosfiltfilt of order 8, 1e6", normals { 1e6 }, function(x) return signal.sosfiltfilt(sos(), x) end,
          SOS .. "scipy.signal.sosfiltfilt(s, x)")
    scipy("savgol_filter 11, 3, 1e6", normals { 1e6 }, function(x) return signal.savgol_filter(x, 11, 3) end,
          "scipy.signal.savgol_filter(x, 11, 3)")
    scipy("medfilt 5, 1e6", normals { 1e6 }, function(x) return signal.medfilt(x, 5) end, "scipy.signal.medfilt(x, 5)")
    scipy("resample_poly 3 by 2, 1e6", normals { 1e6 }, function(x) return signal.resample_poly(x, 3, 2) end,
          "scipy.signal.resample_poly(x, 3, 2)")
    scipy("hilbert, 2^20", normals { 2 ^ 20 }, function(x) return signal.hilbert(x) end, "scipy.signal.hilbert(x)")
    scipy("welch, 1e6", normals { 1e6 }, function(x) return (select(2, signal.welch(x))) end,
          "scipy.signal.welch(x)[1]")
    scipy("find_peaks by height, 1e6", normals { 1e6 },
          function(x) return (signal.find_peaks(x, { height = 1 })) end, "scipy.signal.find_peaks(x, height=1)[0]")

    -- ---- Images -----------------------------------------------------------------------------------------------------

    --- A function of np.image of an image, which scipy.ndimage has under the same name, in the same order of arguments.
    local function image(name, f, text, made)
        scipy(name .. ", 1000x1000", made or normals { 1000, 1000 }, f, "import scipy.ndimage as nd :: nd." .. text)
    end
    local function spots() return { np.image.gaussian_filter(normal(1000, 1000), 3):gt(0.05):wait() } end
    image("gaussian_filter 3", function(x) return np.image.gaussian_filter(x, 3) end, "gaussian_filter(x, 3)")
    image("median_filter 5", function(x) return np.image.median_filter(x, 5) end, "median_filter(x, 5)")
    image("uniform_filter 9", function(x) return np.image.uniform_filter(x, 9) end, "uniform_filter(x, 9)")
    image("maximum_filter 9", function(x) return np.image.maximum_filter(x, 9) end, "maximum_filter(x, 9)")
    image("sobel", function(x) return np.image.sobel(x) end, "sobel(x)")
    image("binary_dilation", function(x) return np.image.binary_dilation(x, { iterations = 3 }) end,
          "binary_dilation(x, iterations=3)", spots)
    image("label", function(x) return (np.image.label(x)) end, "label(x)[0]", spots)
    image("distance_transform_edt", function(x) return np.image.distance_transform_edt(x) end,
          "distance_transform_edt(x)", spots)
    image("rotate by 30", function(x) return np.image.rotate(x, 30) end, "rotate(x, 30, order=1)")
    image("zoom by 2", function(x) return np.image.zoom(x, 2) end, "zoom(x, 2, order=1)")

    -- ---- Sparse arrays ----------------------------------------------------------------------------------------------

    --- The parts of a square matrix of n rows with ten elements in each, and what it is multiplied by.
    local function parts(n, ...)
        local more = { ... }
        return function()
            return { uniform(10 * n), integers(n, 10 * n), np.arange(0, 10 * n + 1, 10):astype "i32":wait(),
                     normal(n, unpack(more)) }
        end
    end
    local function csr(data, indices, indptr)
        return np.sparse.csr_array { data = data, indices = indices, indptr = indptr,
                                     shape = { #indptr - 1, #indptr - 1 } }
    end
    local CSR = "A = scipy.sparse.csr_array((x, y, z), shape=(len(z) - 1, len(z) - 1)) :: "
    local function sparse(name, made, f, text)
        add_case { group = "daily", name = name, inputs = made, scipy = CSR .. text,
                   once = function(x, y, z, w)
                       local A = csr(x, y, z)
                       return function() f(A, w) end
                   end }
    end
    sparse("csr times vector, 1e6 of 1e5x1e5", parts(1e5), function(A, w) A:dot(w):wait() end, "A @ w")
    sparse("csr times 32 columns, 1e6 of 1e5x1e5", parts(1e5, 32), function(A, w) A:dot(w):wait() end, "A @ w")
    sparse("transposed csr times vector, 1e6 of 1e5x1e5", parts(1e5), function(A, w) A.T:dot(w):wait() end, "A.T @ w")
    sparse("csr times csr, 1e5 of 1e4x1e4", parts(1e4), function(A) A:dot(A).data:wait() end, "(A @ A).data")
    sparse("csr plus its transpose, 1e6 of 1e5x1e5", parts(1e5), function(A) (A + A.T).data:wait() end,
           "(A + A.T).data")
    sparse("csr: sum of rows, 1e6 of 1e5x1e5", parts(1e5), function(A) A:sum{ axis = 1 }:wait() end, "A.sum(axis=1)")

    --- The 5-point Laplacian of n by n points, plus I.
    local LAPLACIAN = "import scipy.sparse.linalg as sl; n = 200; t = scipy.sparse.diags_array([-1, 2.1, -1], " ..
        "offsets=[-1, 0, 1], shape=(n, n)); A = scipy.sparse.kronsum(t, t, format='csr').astype(np.float32) :: "
    local function laplacian(n)
        local t = np.sparse.diags({ -1, 2.1, -1 }, { offsets = { -1, 0, 1 }, shape = { n, n } })
        return np.sparse.kron(np.sparse.eye(n), t) + np.sparse.kron(t, np.sparse.eye(n))
    end
    local A
    scipy("cg of a Laplacian, 40000 points", normals { 40000 }, function(x)
        A = A or laplacian(200)
        return (np.sparse.cg(A, x, { rtol = 1e-4 }))
    end, LAPLACIAN .. "sl.cg(A, x, rtol=1e-4)[0]")

    --- Another matrix in each call, as the factors of one would be found again.
    add_case { group = "daily", name = "spsolve of a Laplacian, 40000 points", inputs = normals { 40000 },
               once = function(x)
                   local B, calls = laplacian(200):astype "f64", 0
                   return function()
                       calls = calls + 1
                       np.sparse.spsolve(B * (1 + calls / 1024), x):wait()
                   end
               end, scipy = LAPLACIAN .. "sl.spsolve(A.astype(np.float64).tocsc(), x)" }

    -- ---- Solvers ----------------------------------------------------------------------------------------------------

    local function rosen(x)
        local head, tail = x[{ { nil, -1 } }], x[{ { 1, nil } }]
        return (100 * (tail - head ^ 2) ^ 2 + (1 - head) ^ 2):sum()
    end
    scipy("minimize of Rosenbrock, 20, bfgs", function() return { np.full(20, 1.2, { dtype = "f64" }):wait() } end,
          function(x) return np.optimize.minimize(rosen, x).x end,
          "from scipy.optimize import rosen, rosen_der, minimize :: minimize(rosen, x, jac=rosen_der).x")
    local function decay(t, a, b, c) return a * np.exp(-b * t) + c end
    scipy("curve_fit of 3 parameters, 1000 points", function()
        local t = np.linspace(0, 4, 1000, { dtype = "f64" })
        return { t:wait(), (decay(t, 2.5, 1.3, 0.5) + 0.1 * normal(1000)):wait() }
    end, function(x, y) return (np.optimize.curve_fit(decay, x, y, { 1, 1, 1 })) end,
          "f = lambda t, a, b, c: a * np.exp(-b * t) + c :: scipy.optimize.curve_fit(f, x, y, [1, 1, 1])[0]")
    scipy("linear_sum_assignment, 500x500", inputs(uniform, 500, 500),
          function(x) return (select(2, np.optimize.linear_sum_assignment(x))) end,
          "scipy.optimize.linear_sum_assignment(x)[1]")
    scipy("quad of exp(-x^2), infinite ends", inputs(np.zeros, 1, { dtype = "f64" }), function(x)
        return (np.integrate.quad(function(t) return np.exp(-t ^ 2) end, -math.huge, math.huge)) + x
    end, "import math :: scipy.integrate.quad(lambda t: math.exp(-t * t), -math.inf, math.inf)[0] + x")
    scipy("root_scalar of a cubic, brentq", inputs(np.zeros, 1, { dtype = "f64" }), function(x)
        local function f(t) return t ^ 3 - 2 * t - 5 end
        return np.optimize.root_scalar(f, { bracket = { x[0] + 2, x[0] + 3 } }).root
    end, "scipy.optimize.root_scalar(lambda t: t ** 3 - 2 * t - 5, bracket=[x[0] + 2, x[0] + 3]).root")
    local function cubic(t) return t ^ 3 - 2 * t - 5 end
    scipy("root_scalar of a cubic, bisect", inputs(np.zeros, 1, { dtype = "f64" }), function(x)
        return np.optimize.root_scalar(cubic, { method = "bisect", bracket = { x[0] + 2, x[0] + 3 } }).root
    end, "scipy.optimize.root_scalar(lambda t: t ** 3 - 2 * t - 5, method='bisect', bracket=[x[0] + 2, x[0] + 3]).root")
    scipy("root_scalar of a cubic, newton", inputs(np.zeros, 1, { dtype = "f64" }), function(x)
        return np.optimize.root_scalar(cubic, { x0 = x[0] + 2 }).root
    end, "scipy.optimize.root_scalar(lambda t: t ** 3 - 2 * t - 5, fprime=lambda t: 3 * t * t - 2, x0=x[0] + 2).root")
    scipy("minimize_scalar of a parabola, brent", inputs(np.zeros, 1, { dtype = "f64" }), function(x)
        return np.optimize.minimize_scalar(function(t) return (t - 2) ^ 2 end, { bracket = { x[0], x[0] + 1 } }).x
    end, "scipy.optimize.minimize_scalar(lambda t: (t - 2) ** 2, bracket=[x[0], x[0] + 1]).x")
    scipy("quad of sin(50 x), 16 parts", inputs(np.zeros, 1, { dtype = "f64" }), function(x)
        return (np.integrate.quad(function(t) return np.sin(t * 50) end, x[0], 3))
    end, "import math :: scipy.integrate.quad(lambda t: math.sin(t * 50), x[0], 3)[0]")
    scipy("solve_ivp of two species, RK45", function() return { np.array({ 10, 5 }, { dtype = "f64" }):wait() } end,
          function(y0)
        local function f(_, y)
            local a, b = y[0], y[1]
            return { 1.5 * a - a * b, a * b - 3 * b }
        end
        local r = np.integrate.solve_ivp(f, { 0, 15 }, y0, { rtol = 1e-6, t_eval = { 15 } })
        return r.y
    end, "f = lambda t, y: [1.5 * y[0] - y[0] * y[1], y[0] * y[1] - 3 * y[1]] :: " ..
          "scipy.integrate.solve_ivp(f, (0, 15), x, rtol=1e-6, t_eval=[15]).y")
    scipy("simpson, 1000 of 1001", normals { 1000, 1001 }, function(x) return np.integrate.simpson(x) end,
          "scipy.integrate.simpson(x)", { drawn = true })

    -- ---- Splines and statistics -------------------------------------------------------------------------------------

    local function curve() return { np.arange(1e4):astype "f64":wait(), normal(1e4), uniform(1e6) * 9999 } end
    scipy("cubic_spline of 1e4 points at 1e6", curve,
          function(x, y, z) return np.interpolate.cubic_spline(x, y)(z) end,
          "scipy.interpolate.CubicSpline(x, y)(z)", { drawn = true })
    scipy("pchip of 1e4 points at 1e6", curve, function(x, y, z) return np.interpolate.pchip(x, y)(z) end,
          "scipy.interpolate.PchipInterpolator(x, y)(z)", { drawn = true })
    scipy("map_coordinates of order 1, 1e6 in 1000x1000",
          function() return { normal(1000, 1000), uniform(2, 1e6) * 999 } end,
          function(x, y) return np.interpolate.map_coordinates(x, y, 1) end,
          "import scipy.ndimage as nd :: nd.map_coordinates(x, y, order=1)", { drawn = true })
    scipy("norm.ppf, 1e6", inputs(uniform, 1e6), function(x) return np.stats.norm.ppf(x) end, "scipy.stats.norm.ppf(x)")
    scipy("gamma.cdf of 2.5, 1e6", inputs(uniform, 1e6), function(x) return np.stats.gamma.cdf(x, 2.5) end,
          "scipy.stats.gamma.cdf(x, 2.5)")
    scipy("ttest_ind, 1e6 and 1e6", normals({ 1e6 }, { 1e6 }),
          function(x, y) return (np.stats.ttest_ind(x, y)) end, "scipy.stats.ttest_ind(x, y).statistic",
          { drawn = true })
    scipy("spearmanr, 1e5", normals({ 1e5 }, { 1e5 }), function(x, y) return (np.stats.spearmanr(x, y)) end,
          "scipy.stats.spearmanr(x, y).statistic", { drawn = true })
    scipy("kneighbors of 3 numbers, 5 of 1e4", normals({ 1e4, 3 }, { 1e4, 3 }),
          function(x, y) return (np.cluster.kneighbors(x, y, 5)) end,
          "scipy.spatial.cKDTree(x).query(y, 5, workers=threads)[0]")

    -- ---- Tables -----------------------------------------------------------------------------------------------------

    local function pairs_of(most, rows) return function() return { integers(most, rows), normal(rows) } end end
    local FRAME = "t = pd.DataFrame(dict(k=x, v=y)) :: "
    local function tabled(call)
        return function(x, y)
            local t = np.table { { "k", x }, { "v", y } }
            return function() call(t) end
        end
    end
    pandas("group: mean and max, 1e6 of 1000", pairs_of(1000, 1e6),
           tabled(function(t) t:group("k", { v = { "mean", "max" } }):column "v_max":wait() end),
           FRAME .. "t.groupby('k').v.agg(['mean', 'max', 'count'])['max'].to_numpy()")
    pandas("group: median, 1e6 of 1000", pairs_of(1000, 1e6),
           tabled(function(t) t:group("k", { v = "median" }):column "v_median":wait() end),
           FRAME .. "t.groupby('k').v.agg(['median', 'count'])['median'].to_numpy()")
    pandas("join, 1e6 with 1e4", pairs_of(1e4, 1e6), function(x, y)
        local t = np.table { { "k", x }, { "v", y } }
        local u = np.table { { "k", np.arange(1e4):astype "i32" }, { "w", normal(1e4) } }
        return function() t:join(u, { on = "k" }):column "w":wait() end
    end, "t = pd.DataFrame(dict(k=x, v=y)); u = pd.DataFrame(dict(k=np.arange(10000, dtype=np.int32), " ..
           "w=y[:10000])) :: t.merge(u, on='k').w.to_numpy()")
    pandas("sort by two columns, 1e6", pairs_of(1000, 1e6),
           tabled(function(t) t:sort { "k", "v" }:column "v":wait() end),
           FRAME .. "t.sort_values(['k', 'v']).v.to_numpy()")
    pandas("rolling mean of 100, 1e6", pairs_of(1000, 1e6), tabled(function(t) t:rolling("v", 100):wait() end),
           FRAME .. "t.v.rolling(100).mean().to_numpy()")
    pandas("rolling median of 100, 1e5", pairs_of(1000, 1e5),
           tabled(function(t) t:rolling("v", 100, { how = "median" }):wait() end),
           FRAME .. "t.v.rolling(100).median().to_numpy()")
    pandas("value_counts, 1e6 of 1000", pairs_of(1000, 1e6),
           tabled(function(t) t:value_counts "k":column "count":wait() end), FRAME .. "t.k.value_counts().to_numpy()")
    local function texts(x)
        local list = {}
        for k, n in ipairs(x:totable()) do list[k] = "item " .. n .. ", Shelf " .. n % 97 end
        return np.table { { "s", list } }
    end
    local TEXTS = "t = pd.Series(['item %d, Shelf %d' % (n, n % 97) for n in x]) :: "
    local function written(name, call, text)
        pandas(name .. ", 1e5", inputs(integers, 1e6, 1e5), function(x)
            local s = texts(x).s
            return function() call(s) end
        end, TEXTS .. text)
    end
    written("texts: lower", function(s) return s:lower() end, "t.str.lower() is None or [0]")
    written("texts: contains", function(s) s:contains("9, Shelf 1", { plain = true }):wait() end,
            "t.str.contains('9, Shelf 1', regex=False).to_numpy()")
    written("texts: match", function(s) return s:match "(%d+)$" end, "t.str.extract(r'(\\d+)$') is None or [0]")
end
