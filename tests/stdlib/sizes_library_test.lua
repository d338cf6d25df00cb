-- sizes_library_test.lua (sanitized with --long): functions of the library in programs with declared sizes
-- (tests/lib/sized_rows.lua).
local check = require "tests.lib.check"
local rows = require "tests.lib.sized_rows"
local np = require "neap"

--- The function of a name, with further arguments behind those that it gets.
local function of(name, ...)
    local f, options = np, { ... }
    for part in name:gmatch "[^.]+" do f = f[part] end
    assert(f, name)
    return function(...)
        local given = { ... }
        for _, option in ipairs(options) do given[#given + 1] = option end
        return f(unpack(given))
    end
end

local function axis0(x) return x.shape[1] end
local function spd(x) return np.matmul(x, x.T) + np.eye(axis0(x)) * axis0(x) end
local function sum_of(f) return function(...) return np.sum(f(...)) end end

rows {
    { "matmul", of "matmul", "n, 3", "3, n" },
    { "matmul of vectors", of "matmul", "n", "n" },
    { "matmul of batches", of "matmul", "n, 2, 3", "3, 4" },
    { "matmul of batches that broadcast", of "matmul", "n, 1, 2, 3", "2, 3, n" },
    { "tensordot", of("tensordot", 1), "2, n", "n, 3" },
    { "tensordot of axes", of("tensordot", { { 0, 1 }, { 1, 0 } }), "2, n, 3", "n, 2" },
    { "dot", of "dot", "n", "n" },
    { "dot of three axes", of "dot", "2, 3, n", "n, 4" },
    { "vdot", of "vdot", "n, 2", "2, n" },
    { "outer", of "outer", "n", "n + 1" },
    { "vecdot", of "vecdot", "n, 3", "3" },
    { "vecdot over n", of "vecdot", "2, n", "n" },
    { "cross", of "cross", "n, 3", "n, 3" },
    { "inner", of "inner", "2, n", "3, n" },
    { "matvec", of "matvec", "n, 2, n", "n" },
    { "vecmat", of "vecmat", "n", "n, 2" },
    { "kron", of "kron", "n, 2", "2, n" },
    { "einsum ij,jk", function(a, b) return np.einsum("ij,jk->ik", a, b) end, "n, 3", "3, n" },
    { "einsum ii", function(a) return np.einsum("ii", a) end, "n, n" },
    { "einsum ii->i", function(a) return np.einsum("ii->i", a) end, "n, n" },
    { "einsum of attention", function(q, k) return np.einsum("bqhd,bkhd->bhqk", q, k) end, "2, n, 2, 3", "2, n, 2, 3" },
    { "einsum of three", function(a, b, c) return np.einsum("ij,jk,kl->il", a, b, c) end, "n, 2", "2, 3", "3, n",
      from = 2 },
    { "einsum of an ellipsis", function(a, b) return np.einsum("...ij,...jk", a, b) end, "n, 2, 3", "n, 3, 2" },
    { "einsum that broadcasts", function(a, b) return np.einsum("bi,bi->b", a, b) end, "n, 3", "1, 3", from = 2 },
    { "einsum of two sizes", function(a, b) return np.einsum("bi,bi->b", a, b) end, "n, 3", "n, 3" },
}

rows {
    { "cholesky", function(x) return np.linalg.cholesky(spd(x)) end, "n, n" },
    { "cholesky upper", function(x) return np.linalg.cholesky(spd(x), { upper = true, symmetrize_input = false }) end,
      "n, n" },
    { "solve", function(x, b) return np.linalg.solve(spd(x), b) end, "n, n", "n" },
    { "solve of batches", function(x, b) return np.linalg.solve(x, b) end, "n, 3, 3", "3, 2" },
    { "solve_triangular", function(x, b) return np.linalg.solve_triangular(spd(x), b, { lower = true }) end, "n, n",
      "n, 2" },
    { "inv", function(x) return np.linalg.inv(spd(x)) end, "n, n" },
    { "inv of batches", of "linalg.inv", "n, 3, 3" },
    { "slogdet", of "linalg.slogdet", "n, n" },
    { "slogdet of complex numbers", of "linalg.slogdet", "c64 n, n" },
    { "det", of "linalg.det", "n, n", from = 4 },
    { "det of batches", of "linalg.det", "n, 3, 3" },
    { "gradient of det", np.grad(of "linalg.det"), "n, n", from = 4 },
    { "gradient of det of batches", np.grad(sum_of(np.linalg.det)), "n, 3, 3" },
    { "qr", of "linalg.qr", "n, 3", from = 3 },
    { "qr of wide ones", of "linalg.qr", "n, n + 2" },
    { "qr of square ones", of "linalg.qr", "n, n" },
    { "qr of batches", of "linalg.qr", "n, 3, 2" },
    { "eigh", function(x) return np.linalg.eigh(spd(x)) end, "n, n" },
    { "eigvalsh", function(x) return np.linalg.eigvalsh(x, { UPLO = "L" }) end, "n, n" },
    { "eig", of "linalg.eig", "n, n" },
    { "eigvals", of "linalg.eigvals", "n, n" },
    { "svd", of("linalg.svd", { full_matrices = false }), "n, 3" },
    { "svd of full matrices", of "linalg.svd", "n, n + 1" },
    { "svdvals", of "linalg.svdvals", "n, 3" },
    { "svdvals of complex numbers", of "linalg.svdvals", "c64 n, 3" },
    { "gradient of svdvals", np.grad(sum_of(np.linalg.svdvals)), "n, 3" },
    { "pinv", of "linalg.pinv", "n, 3" },
    { "pinv of complex numbers", of "linalg.pinv", "c64 n, 3" },
    { "pinv of symmetric ones", of("linalg.pinv", { hermitian = true }), "n, n" },
    { "matrix_rank", of "linalg.matrix_rank", "n, 3" },
    { "lstsq", of "linalg.lstsq", "n, 3", "n" },
    { "lstsq of columns", of "linalg.lstsq", "n, 3", "n, 2" },
    { "lstsq of unknowns", of "linalg.lstsq", "4, n", "4" },
    { "matrix_power", of("linalg.matrix_power", 3), "n, n" },
    { "matrix_power 0", of("linalg.matrix_power", 0), "n, n" },
    { "matrix_power -2", of("linalg.matrix_power", -2), "n, n" },
    { "multi_dot", function(a, b, c) return np.linalg.multi_dot { a, b, c } end, "n, 2", "2, 3", "3, n", from = 2 },
    { "multi_dot of vectors", function(a, b, c) return np.linalg.multi_dot { a, b, c } end, "n", "n, n", "n" },
    { "linalg.outer", of "linalg.outer", "n", "n" },
    { "linalg.diagonal", of("linalg.diagonal", { offset = 1 }), "n, n", from = 2 },
    { "linalg.trace", of "linalg.trace", "n, n" },
    { "lu", of "linalg.lu", "n, n" },
    { "lu of wide ones", of "linalg.lu", "n, n + 2" },
    { "lu of tall ones", of "linalg.lu", "n + 2, n" },
    { "cho_solve", function(x, b) return np.linalg.cho_solve(np.linalg.cholesky(spd(x)), b) end, "n, n", "n, 2" },
    { "tensorsolve", function(x, b) return np.linalg.tensorsolve(x, b) end, "n, 2, 2*n", "n, 2" },
    { "tensorinv", function(x) return np.linalg.tensorinv(x, { ind = 1 }) end, "2*n, n, 2" },
    { "expm", of "linalg.expm", "n, n" },
    { "sqrtm", function(x) return np.linalg.sqrtm(spd(x)) end, "n, n" },
    { "gradient of sqrtm", np.grad(sum_of(function(x) return np.linalg.sqrtm(spd(x)) end)), "n, n" },
    { "logm", function(x) return np.linalg.logm(spd(x)) end, "n, n" },
    { "block_diag", of "linalg.block_diag", "n, 2", "2, n" },
    { "toeplitz", of "linalg.toeplitz", "n" },
    { "toeplitz of two", of "linalg.toeplitz", "n", "n + 1" },
    { "hilbert", function(x) return np.linalg.hilbert(axis0(x)) end, "n" },
    { "vector_norm", of "linalg.vector_norm", "n, 2" },
    { "matrix_norm", of "linalg.matrix_norm", "n, 3" },
    { "matrix_norm nuc", of("linalg.matrix_norm", { ord = "nuc" }), "n, 3" },
    { "matrix_norm 1", of("linalg.matrix_norm", { ord = 1 }), "n, 3" },
    { "matrix_norm 2", of("linalg.matrix_norm", { ord = 2 }), "n, 3" },
    { "norm", of "linalg.norm", "n, 3" },
    { "norm along an axis", of("linalg.norm", { axis = 0, keepdims = true }), "n, 3" },
    { "norm inf", of("linalg.norm", math.huge), "n" },
    { "cond", of "linalg.cond", "n, n" },
    { "cond 1", of("linalg.cond", { p = 1 }), "n, n" },
    { "gradient of solve", np.grad(sum_of(function(x, b) return np.linalg.solve(spd(x), b) end)), "n, n", "n" },
    { "gradient of cholesky", np.grad(sum_of(function(x) return np.linalg.cholesky(spd(x)) end)), "n, n" },
    { "gradient of eigh", np.grad(sum_of(function(x) return (np.linalg.eigh(spd(x))) end)), "n, n" },
    { "gradient of qr", np.grad(function(x) return np.sum((np.linalg.qr(x))) end), "n + 2, n" },
    { "gradient of pinv", np.grad(sum_of(np.linalg.pinv)), "n, 3" },
    { "gradient of lu", np.grad(function(x) local _, l, u = np.linalg.lu(x) return np.sum(l) + np.sum(u) end),
      "n, n" },
}

local function fft_rows()
    local list = {}
    for _, name in ipairs { "fft", "ifft", "rfft", "ihfft" } do
        list[#list + 1] = { "fft." .. name, of("fft." .. name), "n" }
        list[#list + 1] = { "fft." .. name .. " along axis 0", of("fft." .. name, { axis = 0, norm = "ortho" }),
                            "n, 2" }
        list[#list + 1] = { "fft." .. name .. " of n + 3", function(x)
            return np.fft[name](x, { n = axis0(x) + 3 })
        end, "n" }
        list[#list + 1] = { "fft." .. name .. " of 4", of("fft." .. name, { n = 4 }), "n" }
    end
    for _, name in ipairs { "irfft", "hfft" } do
        list[#list + 1] = { "fft." .. name, of("fft." .. name), "c64 n", from = 2 }
        list[#list + 1] = { "fft." .. name .. " of n", function(x) return np.fft[name](x, axis0(x)) end, "n" }
    end
    for _, name in ipairs { "fft2", "ifft2", "fftn", "ifftn", "rfft2", "rfftn" } do
        list[#list + 1] = { "fft." .. name, of("fft." .. name), "n, n + 1" }
        list[#list + 1] = { "fft." .. name .. " with s", function(x)
            return np.fft[name](x, { s = { 2 * axis0(x), 3 } })
        end, "n, 5" }
    end
    for _, name in ipairs { "irfft2", "irfftn" } do
        list[#list + 1] = { "fft." .. name, of("fft." .. name), "c64 n, n + 1" }
    end
    for _, name in ipairs { "fftfreq", "rfftfreq" } do
        list[#list + 1] = { "fft." .. name, function(x) return np.fft[name](axis0(x), 0.1) end, "n" }
    end
    for _, name in ipairs { "fftshift", "ifftshift" } do
        list[#list + 1] = { "fft." .. name, of("fft." .. name), "n, 3" }
    end
    for _, name in ipairs { "hanning", "hamming", "blackman", "bartlett" } do
        list[#list + 1] = { name, function(x) return np[name](axis0(x)) end, "n" }
        list[#list + 1] = { name .. " that repeats", function(x)
            return np[name](axis0(x), { periodic = true, dtype = "f64" })
        end, "n" }
    end
    list[#list + 1] = { "gradient of fft", np.grad(function(x) return np.sum(np.abs(np.fft.rfft(x))) end), "n" }
    return list
end
rows(fft_rows())
rows {
    { "kaiser", function(x) return np.kaiser(axis0(x), 5) end, "n" },
    { "kaiser that repeats", function(x) return np.kaiser(axis0(x), 5, { periodic = true, dtype = "f64" }) end, "n" },
    { "get_window", function(x) return np.signal.get_window("hann", axis0(x)) end, "n" },
    { "get_window boxcar", function(x) return np.signal.get_window("boxcar", axis0(x)) end, "n" },
    { "get_window tukey", function(x) return np.signal.get_window({ "tukey", 0.5 }, axis0(x)) end, "n" },
    { "get_window tukey, symmetric", function(x) return np.signal.get_window({ "tukey", 0.5 }, axis0(x), false) end,
      "n", from = 2 },
    { "detrend", of "signal.detrend", "n" },
    { "detrend along an axis", of("signal.detrend", { axis = 0 }), "n, 3" },
    { "detrend of a level", of("signal.detrend", { type = "constant" }), "n, 3" },
    { "welch", of "signal.welch", "n" },
    { "welch of segments", of("signal.welch", { nperseg = 4 }), "n" },
    { "welch of half", function(x) return np.signal.welch(x, { nperseg = axis0(x) / 2 }) end, "2*n" },
    { "welch of medians", of("signal.welch", { nperseg = 4, average = "median" }), "n", from = 4 },
    { "csd", of("signal.csd", { nperseg = 4 }), "n", "n" },
    { "periodogram", of "signal.periodogram", "n" },
    { "periodogram of 8", of("signal.periodogram", { nfft = 8 }), "n", to = 8 },
    { "spectrogram", of("signal.spectrogram", { nperseg = 4 }), "n" },
    { "spectrogram, phase", of("signal.spectrogram", { nperseg = 4, mode = "phase" }), "n", at = 12, from = 9 },
    { "stft", of("signal.stft", { nperseg = 4 }), "n" },
    { "stft, even", of("signal.stft", { nperseg = 4, boundary = "even", padded = false }), "n", from = 3 },
    { "istft", function(x)
        local _, _, z = np.signal.stft(x, { nperseg = 4 })
        return np.signal.istft(z)
    end, "n", from = 4 },
    { "gradient of welch", np.grad(function(x)
        local _, power = np.signal.welch(x, { nperseg = 4 })
        return np.sum(power)
    end), "n", from = 4 },
}

local function key() return np.random.key(3) end
local function draw(name, ...)
    local more = { ... }
    return function(x) return np.random[name](key(), { axis0(x), 2 }, unpack(more)) end
end
rows {
    { "random.uniform", draw "uniform", "n" }, { "random.normal", draw "normal", "n" },
    { "random.bits", draw "bits", "n" },
    { "random.split", function(x) return np.random.split(key(), axis0(x)) end, "n" },
    { "random.randint", function(x) return np.random.randint(key(), { axis0(x) }, 0, 9) end, "n" },
    { "random.randint below n", function(x) return np.random.randint(key(), { 5 }, 0, axis0(x)) end, "n" },
    { "random.permutation", function(x) return np.random.permutation(key(), axis0(x)) end, "n" },
    { "random.permutation of rows", function(x) return np.random.permutation(key(), x) end, "n, 2" },
    { "random.choice", function(x) return np.random.choice(key(), x, { 4 }) end, "n" },
    { "random.choice of n", function(x) return np.random.choice(key(), axis0(x), { axis0(x) }) end, "n" },
    { "random.choice without replacement", function(x)
        return np.random.choice(key(), x, { axis0(x) }, { replace = false })
    end, "n" },
    { "random.choice by p", function(x)
        return np.random.choice(key(), x, { 4 }, { p = np.ones(axis0(x)) / axis0(x) })
    end, "n" },
    { "random.bernoulli", function(x) return np.random.bernoulli(key(), 0.3, { axis0(x) }) end, "n" },
    { "random.bernoulli by array", function(x) return np.random.bernoulli(key(), np.sigmoid(x)) end, "n" },
    { "random.categorical", function(x) return np.random.categorical(key(), x) end, "3, n" },
    { "random.gumbel", draw "gumbel", "n" }, { "random.exponential", draw "exponential", "n" },
    { "random.laplace", draw "laplace", "n" }, { "random.cauchy", draw "cauchy", "n" },
    { "random.logistic", draw "logistic", "n" },
    { "random.gamma", function(x) return np.random.gamma(key(), 2, { axis0(x) }) end, "n" },
    { "random.gamma by array", function(x) return np.random.gamma(key(), np.exp(x)) end, "n" },
    { "random.beta", function(x) return np.random.beta(key(), 2, 3, { axis0(x) }) end, "n" },
    { "random.dirichlet", function(x) return np.random.dirichlet(key(), np.exp(x)) end, "n" },
    { "random.poisson", function(x) return np.random.poisson(key(), 4, { axis0(x) }) end, "n" },
    { "random.binomial", function(x) return np.random.binomial(key(), 4, 0.5, { axis0(x) }) end, "n" },
    { "random.truncated_normal", function(x) return np.random.truncated_normal(key(), -1, 1, { axis0(x) }) end, "n" },
    { "random.multivariate_normal", function(x)
        return np.random.multivariate_normal(key(), x, np.eye(axis0(x)))
    end, "n" },
    { "random.t", function(x) return np.random.t(key(), 3, { axis0(x) }) end, "n" },
    { "random.f", function(x) return np.random.f(key(), 3, 4, { axis0(x) }) end, "n" },
    { "random.wald", function(x) return np.random.wald(key(), 2, { axis0(x) }) end, "n" },
    { "random.geometric", function(x) return np.random.geometric(key(), 0.4, { axis0(x) }) end, "n" },
    { "random.multinomial", function(x) return np.random.multinomial(key(), 5, np.softmax(x)) end, "n" },
    { "random.triangular", function(x) return np.random.triangular(key(), 0, 1, 2, { axis0(x) }) end, "n" },
    { "random.rademacher", draw "rademacher", "n" },
    { "random.orthogonal", function(x) return np.random.orthogonal(key(), axis0(x)) end, "n" },
    { "random.ball", function(x) return np.random.ball(key(), axis0(x)) end, "n" },
}

rows {
    { "polyval", of "polyval", "n", "3" }, { "polyval at n points", of "polyval", "3", "n" },
    { "polymul", of "polymul", "n", "3" },
    { "polydiv", of "polydiv", "n + 2", "3" },
    { "polyder", of "polyder", "n", from = 2 }, { "polyint", of "polyint", "n" },
    { "polyfit", function(x) return np.polyfit(x, np.sin(x), 2) end, "n", from = 3 },
    { "roots", of "roots", "n", refuses = "value of an array that depends on declared sizes" },
    { "roots without stripping", of("roots", { strip_zeros = false }), "n", from = 2 },
    { "poly", of "poly", "n" },
    { "erf", of "special.erf", "n" }, { "gammaln", function(x) return np.special.gammaln(np.exp(x)) end, "n" },
    { "digamma", function(x) return np.special.digamma(np.exp(x)) end, "n" },
    { "betainc", function(x) return np.special.betainc(2, 3, np.sigmoid(x)) end, "n" },
    { "logsumexp", of "special.logsumexp", "n, 3" },
    { "logsumexp along n", of("special.logsumexp", { axis = 0 }), "n, 3" },
    { "softmax", of("special.softmax", { axis = 0 }), "n, 3" },
    { "zeta", function(x) return np.special.zeta(np.exp(x) + 1.5, 2) end, "n" },
    { "apply_along_axis", function(x) return np.apply_along_axis(np.sum, 0, x) end, "n, 3" },
    { "apply_along_axis of n", function(x) return np.apply_along_axis(np.cumsum, 1, x) end, "3, n" },
    { "apply_over_axes", function(x) return np.apply_over_axes(np.sum, x, { 0, 1 }) end, "n, 3, 2" },
    { "vectorize", function(x) return np.vectorize(function(a) return a * 2 end)(x) end, "n, 3",
      refuses = "value of an array that depends on declared sizes" },
    { "piecewise", function(x) return np.piecewise(x, { x:lt(0), x:ge(0) }, { -1, np.sin }) end, "n" },
    { "astype", function(x) return x:astype "f64" end, "n" },
    { "result_type", function(x) return x + np.zeros(axis0(x), { dtype = np.result_type(x, "f64") }) end, "n" },
    { "bitcast", of("bitcast", "i8"), "n" },
}

local function nn(name, ...) return of("nn." .. name, ...) end

local maps = { "celu", "elu", "gelu", "hard_sigmoid", "hard_swish", "hard_tanh", "leaky_relu", "log_sigmoid", "mish",
               "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softplus", "sparse_plus", "sparse_sigmoid",
               "squareplus", "tanh", "softmax", "log_softmax", "logsumexp", "logmeanexp", "standardize", "flatten" }
local list = {}
for _, name in ipairs(maps) do
    list[#list + 1] = { "nn." .. name, nn(name), "n, 3" }
    list[#list + 1] = { "gradient of nn." .. name, np.grad(sum_of(nn(name))), "3, n" }
end
rows(list)
rows {
    { "nn.glu", nn "glu", "n, 4" }, { "nn.glu of n", nn "glu", "3, 2*n" },
    { "nn.logmeanexp along n", nn("logmeanexp", { axis = 0 }), "n, 3" },
    { "nn.standardize along n", nn("standardize", { axis = 0 }), "n, 3" },
    { "nn.rms_norm", nn "rms_norm", "n, 3", "3" }, { "nn.rms_norm of n", nn "rms_norm", "3, n", "n" },
    { "nn.group_norm", function(x) return np.nn.group_norm(x, 2) end, "n, 5, 4" },
    { "nn.group_norm over n", function(x) return np.nn.group_norm(x, 2) end, "2, n, 2*n" },
    { "nn.l1_loss", nn "l1_loss", "n, 3", "n, 3" }, { "nn.huber_loss", nn "huber_loss", "n", "n" },
    { "nn.mse", nn "mse", "n, 3", "n, 3" }, { "nn.mse, none", nn("mse", { reduction = "none" }), "n, 3", "n, 3" },
    { "nn.binary_cross_entropy", function(x, y) return np.nn.binary_cross_entropy(x, np.sigmoid(y)) end, "n", "n" },
    { "nn.kl_div", function(x, y) return np.nn.kl_div(x, np.softmax(y)) end, "n, 3", "n, 3" },
    { "nn.cosine_similarity", nn "cosine_similarity", "n, 3", "n, 3" },
    { "nn.cosine_similarity that broadcasts", nn "cosine_similarity", "n, 3", "3" },
    { "nn.one_hot", function(x) return np.nn.one_hot(x, 5) end, "i32 n" },
    { "nn.one_hot of n", function(x) return np.nn.one_hot(x, axis0(x) + 5) end, "i32 n" },
    { "nn.cross_entropy", nn "cross_entropy", "n, 5", "i32 n" },
    { "nn.cross_entropy of n classes", nn "cross_entropy", "3, n + 5", "i32 3" },
    { "nn.cross_entropy, weighted", nn("cross_entropy", { ignore_index = 1, label_smoothing = 0.1 }), "n, 5", "i32 n" },
    { "gradient of nn.cross_entropy", np.grad(np.nn.cross_entropy), "n, 5", "i32 n" },
    { "nn.nll_loss", nn "nll_loss", "n, 5", "i32 n" }, { "nn.accuracy", nn "accuracy", "n, 5", "i32 n" },
    { "nn.linear", nn "linear", "n, 3", "3, 2" }, { "nn.linear with a bias", nn "linear", "n, 3", "3, n", "n" },
    { "nn.dot_product_attention", nn "dot_product_attention", "2, n, 2, 3", "2, n, 2, 3", "2, n, 2, 3" },
    { "nn.dot_product_attention of a batch", nn "dot_product_attention", "n, 4, 2, 3", "n, 5, 2, 3", "n, 5, 2, 3" },
    { "nn.dot_product_attention, causal", nn("dot_product_attention", { is_causal = true }), "2, n, 2, 3", "2, n, 2, 3",
      "2, n, 2, 3" },
    { "gradient of nn.dot_product_attention", np.grad(sum_of(nn("dot_product_attention", { is_causal = true }))),
      "2, n, 2, 3", "2, n, 2, 3", "2, n, 2, 3" },
    { "nn.conv", nn "conv", "n, 7, 3", "3, 3, 2" },
    { "nn.conv of length n", nn "conv", "2, n, 3", "3, 3, 2" },
    { "nn.conv of images", nn("conv", { strides = 2 }), "n, 7, 6, 3", "3, 3, 3, 4" },
    { "nn.conv of images of n", nn("conv", { strides = 2, padding = 1 }), "2, n, n + 1, 3", "3, 3, 3, 4" },
    { "nn.conv, valid", nn("conv", { padding = "VALID" }), "2, n, 3", "3, 3, 2", from = 3 },
    { "nn.conv in groups", nn("conv", { groups = 2, kernel_dilation = 2 }), "n, 9, 4", "3, 2, 4" },
    { "nn.conv NCHW", nn("conv", { layout = "NCHW" }), "n, 3, 6, 7", "4, 3, 3, 3" },
    { "nn.conv of integers", nn "conv", "i32 n, 7, 3", "i32 3, 3, 2" },
    { "nn.conv of spread inputs", nn("conv", { input_dilation = 2 }), "2, n, 3", "3, 3, 2" },
    { "gradient of nn.conv", np.grad(sum_of(nn("conv", { strides = 2 })), { argnums = { 1, 2 } }), "n, 7, 6, 3",
      "3, 3, 3, 4" },
    { "gradient of nn.conv of n", np.grad(sum_of(nn("conv", { strides = 2 })), { argnums = { 1, 2 } }), "2, n, 3",
      "3, 3, 4" },
    { "nn.conv_transpose", nn("conv_transpose", { strides = 2 }), "n, 5, 3", "3, 3, 2" },
    { "nn.conv_transpose of n", nn("conv_transpose", { strides = 2 }), "2, n, 3", "3, 3, 2" },
    { "nn.max_pool", nn("max_pool", 2), "n, 6, 6, 3" }, { "nn.max_pool of n", nn("max_pool", 2), "2, 2*n, 3" },
    { "nn.max_pool, same", nn("max_pool", 3, { strides = 2, padding = "SAME" }), "2, n, 3" },
    { "nn.avg_pool", nn("avg_pool", 2), "n, 6, 6, 3" },
    { "nn.avg_pool, same", nn("avg_pool", 3, { strides = 2, padding = "SAME", count_include_pad = false }), "2, n, 3" },
    { "gradient of nn.max_pool", np.grad(sum_of(nn("max_pool", 2))), "n, 6, 3" },
    { "nn.glorot_normal", function(x) return np.nn.glorot_normal(np.random.key(1), { axis0(x), 3 }) end, "n" },
    { "nn.he_uniform", function(x) return np.nn.he_uniform(np.random.key(1), { 3, axis0(x) }) end, "n" },
}

-- Blocks: parameters are made for one size, and apply to all.
local x0, key0 = np.ones { 2, 4 }, np.random.key(5)
local function applied(block, ...)
    local params = block:init(key0, ...)
    return function(...) return block(params, ...) end
end
local dense = np.nn.Dense(4, 3)
local attention = np.nn.MultiHeadAttention(2)
local embedding, norm, batch_norm = np.nn.Embedding(5, 4), np.nn.LayerNorm(), np.nn.BatchNorm()
local convnet = np.nn.Sequential { np.nn.Conv(4, { 3, 3 }), np.nn.relu, np.nn.MaxPool(2), np.nn.flatten,
                                   np.nn.Dense(3) }
local transformer = {
    embed = embedding:init(key0), attend = attention:init(key0, x0), first = norm:init(key0, x0),
    up = np.nn.Dense(4, 8):init(key0), down = np.nn.Dense(8, 4):init(key0), second = norm:init(key0, x0),
}
local up, down = np.nn.Dense(4, 8), np.nn.Dense(8, 4)
local function transform(p, ids)
    local x = embedding(p.embed, ids)
    local n = ids:dim(-1)
    x = x + attention(p.attend, norm(p.first, x), nil, np.tri(n, { dtype = "bool" }))
    x = x + down(p.down, np.nn.gelu(up(p.up, norm(p.second, x))))
    return np.matmul(x, p.embed.table.T)
end
local function loss_of_transformer(p, ids)
    local logits = transform(p, ids)
    local behind, before = ids[{ {}, { 1, ids:dim(-1) } }], logits[{ {}, { 0, ids:dim(-1) - 1 } }]
    return np.nn.cross_entropy(before, behind)
end
local function recurrent(w, xs)
    return np.scan(function(h, x)
        h = np.tanh(np.matmul(h, w) + x)
        return h, h
    end, np.zeros { xs:dim(1), 3 }, xs)
end
local function final(w, xs) return np.sum((recurrent(w, xs))) end

rows {
    { "Dense", applied(dense), "n, 4" }, { "Dense of sequences", applied(dense), "2, n, 4" },
    { "Embedding", applied(embedding), "i32 n, 3" }, { "LayerNorm", applied(norm, x0), "n, 4" },
    { "BatchNorm", function(x)
        return batch_norm(batch_norm:init(key0, x0), x, batch_norm:state(x))
    end, "n, 4" },
    { "Dropout", function(x) return np.nn.Dropout(0.5)({}, x, np.random.key(1)) end, "n, 4" },
    { "MultiHeadAttention", applied(attention, x0), "n, 3, 4" },
    { "MultiHeadAttention of sequences", applied(attention, x0), "2, n, 4" },
    { "Dense:init of n", function(x) return np.nn.Dense(3):init(key0, x) end, "2, n" },
    { "convnet", applied(convnet, np.ones { 1, 6, 6, 2 }), "n, 6, 6, 2" },
    { "transformer of a batch", function(ids) return transform(transformer, ids) end, "i32 n, 4" },
    { "transformer of sequences", function(ids) return transform(transformer, ids) end, "i32 2, n" },
    { "gradient of a transformer of a batch", function(ids)
        return np.value_and_grad(loss_of_transformer)(transformer, ids)
    end, "i32 n, 4" },
    { "gradient of a transformer of sequences", function(ids)
        return np.value_and_grad(loss_of_transformer)(transformer, ids)
    end, "i32 2, n", from = 2 },
    { "recurrent net over n turns", recurrent, "3, 3", "n, 2, 3" },
    { "recurrent net of a batch", recurrent, "3, 3", "4, n, 3" },
    { "gradient of a recurrent net over n turns", np.grad(final), "3, 3", "n, 2, 3" },
    { "gradient of a recurrent net of a batch", np.grad(final), "3, 3", "4, n, 3" },
}

-- Transforms and control flow.
local doubled = np.jit(function(x) return x * 2 + x.shape[1] end)
local scaled = np.jit(function(x, n, power) return np.sum(x / n) ^ power end, { static = 3 })
local doubled_twice = np.trace(function(x) return x * 4 end)(np.ones(3))
local square = np.custom_vjp(function(x) return x * x end):defvjp(function(x) return x * x, x end,
                                                                  function(x, g) return g * x * 2 end)
local root = np.custom_jvp(function(x) return np.sqrt(np.abs(x)) end):defjvp(function(inputs, tangents)
    local y = np.sqrt(np.abs(inputs[1]))
    return y, tangents[1] * 0.5 / y
end)
local function cube(x) return np.sum(x ^ 3) end
rows {
    { "grad", np.grad(cube), "n, 3" }, { "value_and_grad", np.value_and_grad(cube), "n, 3" },
    { "grad of grad", np.grad(function(x) return np.sum(np.grad(cube)(x) ^ 2) end), "n, 3" },
    { "vjp", function(x, y) local _, back = np.vjp(np.sin, x) return back(y) end, "n, 2", "n, 2" },
    { "jvp", function(x, y) return np.jvp(np.sin, { x }, { y }) end, "n, 2", "n, 2" },
    { "linearize", function(x, y) local _, f = np.linearize(np.sin, x) return f(y) end, "n, 2", "n, 2" },
    { "jacobian", np.jacobian(np.sin), "n" }, { "jacfwd", np.jacfwd(np.cumsum), "n" },
    { "jacrev", np.jacrev(np.cumsum), "n" }, { "jacobian of few", np.jacobian(np.sum), "n, 2", from = 1 },
    { "hessian", np.hessian(cube), "n" },
    { "hessian by one of two", np.hessian(function(x, y) return np.sum(np.sin(x * y)) end), "n", "n" },
    { "hessian by both", np.hessian(function(x, y) return np.sum((x * y) ^ 2) end, { argnums = { 1, 2 } }), "n", "n" },
    { "vmap over n", np.vmap(np.dot), "n, 3", "n, 3" },
    { "vmap over an axis", np.vmap(np.sum, { in_axes = 1 }), "3, n" },
    { "vmap of n", np.vmap(np.cumsum), "3, n" },
    { "vmap with out_axes", np.vmap(function(x) return x, np.ones(2) end, { out_axes = { 1, 0 } }), "n, 3" },
    { "vmap of two", function(x, y) return np.vmap(function(a) return np.vmap(function(b)
        return np.dot(a, b) end)(y) end)(x) end, "n, 3", "n + 1, 3" },
    { "vmap by axis_size", function(x)
        return np.vmap(function() return np.sum(x) end, { axis_size = axis0(x) })()
    end, "n" },
    { "vmap with a name", np.vmap(function(x) return np.psum(x, "i") end, { axis_name = "i" }), "n, 3" },
    { "vmap of grad", np.vmap(np.grad(cube)), "n, 3" }, { "grad of vmap", np.grad(function(x)
        return np.sum(np.vmap(cube)(x)) end), "n, 3" },
    { "vmap of solve", np.vmap(np.linalg.solve), "n, 3, 3", "n, 3" },
    { "scan over n", function(x) return np.scan(function(c, v) return c + v, c * v end, np.zeros(3), x) end, "n, 3" },
    { "scan backwards", function(x)
        return np.scan(function(c, v) return c + v, c end, np.zeros(3), x, { reverse = true, unroll = 2 })
    end, "n, 3" },
    { "scan of n", function(x)
        return np.scan(function(c, v) return c + v, c end, np.zeros(x:dim(1)), x)
    end, "3, n" },
    { "scan by length", function(x)
        return np.scan(function(c) return c + x, c end, np.zeros(2), nil, { length = axis0(x) })
    end, "n, 2", refuses = "must keep its shapes" },
    { "scan over n - 1", function(x)
        return np.scan(function(c) return c * 2, c end, x, nil, { length = axis0(x) - 1 })
    end, "n" },
    { "scan over two", function(x, y)
        return np.scan(function(c, v) return c + v.a * v.b, c end, 0, { a = x, b = y })
    end, "n", "n" },
    { "gradient of scan", np.grad(function(x)
        local c, ys = np.scan(function(c, v) return c * v, c + v end, np.ones(3), x)
        return np.sum(c) + np.sum(ys)
    end), "n, 3" },
    { "vmap of scan", np.vmap(function(x) return np.scan(function(c, v) return c + v, c end, 0, x) end), "3, n" },
    { "fori_loop", function(x) return np.fori_loop(0, axis0(x), function(i, c) return c + x[i] end, 0) end, "n" },
    { "fori_loop over n - 1", function(x)
        return np.fori_loop(1, axis0(x), function(i, c) return c * 2 + x[i] - x[i - 1] end, x)
    end, "n" },
    { "gradient of fori_loop", np.grad(function(x)
        return np.fori_loop(0, axis0(x), function(i, c) return c * 0.5 + x[i] ^ 2 end, 0)
    end), "n" },
    { "fori_loop from an array", function(x, k)
        return np.fori_loop(k[0], axis0(x), function(i, c) return c + x[i] end, 0)
    end, "n", "i32 1" },
    { "while_loop", function(x)
        return np.while_loop(function(s) return s[1]:lt(axis0(x)) end, function(s)
            return { s[1] + 1, s[2] + x[s[1]] }
        end, { np.array(0, { dtype = "i32" }), np.array(0) })
    end, "n" },
    { "while_loop of n", function(x)
        return np.while_loop(function(c) return np.sum(c):lt(100) end, function(c) return c * 2 end, np.exp(x))
    end, "n" },
    { "cond", function(x) return np.cond(np.sum(x):gt(0), np.sin, np.cos, x) end, "n" },
    { "switch", function(x, k) return np.switch(k[0], { np.sin, np.cos, np.tan }, x) end, "n, 2", "i32 1" },
    { "gradient of cond", np.grad(function(x) return np.sum(np.cond(np.sum(x):gt(0), np.sin, np.cos, x)) end), "n" },
    { "cond of branches that broadcast", function(x)
        return np.cond(np.sum(x):gt(0), function(v) return np.zeros(axis0(v)) end, np.cos, x)
    end, "n" },
    { "checkpoint", np.grad(np.checkpoint(function(x) return np.sum(np.sin(x) * x) end)), "n, 2" },
    { "custom_vjp", function(x) return square(x) end, "n" },
    { "gradient of custom_vjp", np.grad(function(x) return np.sum(square(x)) end), "n, 2" },
    { "custom_jvp", function(x) return root(x) end, "n" },
    { "gradient of custom_jvp", np.grad(function(x) return np.sum(root(x)) end), "n, 2" },
    { "a jitted function", function(x) return doubled(x) end, "n" },
    { "gradient of a jitted function", np.grad(function(x) return np.sum(doubled(x) * x) end), "n" },
    { "vmap of a jitted function", np.vmap(doubled), "n, 3" },
    { "a jitted function in a loop", function(x)
        return np.scan(function(c, v) return doubled(c), v end, np.zeros(3), x)
    end, "n, 3" },
    { "a jitted function of a size", function(x) return scaled(x, axis0(x), 2) end, "n" },
    { "a block that is staged", function(x) return np.staged(function() return x * 2 end) end, "n" },
    { "a program inside", function(x) return doubled_twice(x) * axis0(x) end, "n", at = 3, from = 3, to = 3 },
    { "a program of another array", function(x) return x * doubled_twice(np.ones(3)):sum() end, "n" },
    { "stop_gradient", np.grad(function(x) return np.sum(np.stop_gradient(x) * x) end), "n" },
}

-- Two sizes.
rows {
    { "matmul of n and m", of "matmul", "n, m", "m, n + m" },
    { "einsum of n and m", function(a, b) return np.einsum("bij,bjk->bik", a, b) end, "2, n, m", "2, m, 3" },
    { "svd of n and m", of("linalg.svd", { full_matrices = false }), "n, m" },
    { "svdvals of n and m", of "linalg.svdvals", "n, m" }, { "pinv of n and m", of "linalg.pinv", "n, m" },
    { "matrix_rank of n and m", of "linalg.matrix_rank", "n, m" },
    { "lstsq of n and m", of "linalg.lstsq", "n, m", "n" },
    { "toeplitz of n and m", of "linalg.toeplitz", "n", "m" }, { "kron of n and m", of "kron", "n", "m" },
    { "solve of n and m", function(x, b) return np.linalg.solve(spd(x), b) end, "n, n", "n, m" },
    { "polymul of n and m", of "polymul", "n", "m" }, { "polyadd of n and n", of "polyadd", "n", "n" },
    { "fft2 of n and m", of "fft.fft2", "n, m" }, { "rfftn of n and m", of "fft.rfftn", "n, m" },
    { "conv of n and m", nn "conv", "m, n, 3", "3, 3, 2" },
    { "conv of images of n and m", nn("conv", { strides = { 2, 1 } }), "2, n, m, 2", "3, 3, 2, 2" },
    { "gradient of conv of n and m", np.grad(sum_of(nn "conv"), { argnums = { 1, 2 } }), "m, n, 2", "3, 2, 2" },
    { "attention of n to m", nn "dot_product_attention", "2, n, 2, 3", "2, m, 2, 3", "2, m, 2, 3" },
    { "gradient of attention of n to m", np.grad(sum_of(nn "dot_product_attention"), { argnums = { 1, 2, 3 } }),
      "2, n, 2, 3", "2, m, 2, 3", "2, m, 2, 3" },
    { "vmap of n and m", np.vmap(np.cumsum), "n, m" },
    { "scan of n and m", function(x) return np.scan(function(c, v) return c + v, c * v end, x[0], x) end, "n, m" },
    { "gradient of scan of n and m", np.grad(function(x)
        return np.sum((np.scan(function(c, v) return c * v + 1 end, x[0], x)))
    end), "n, m" },
    { "jacrev of n by m", np.jacrev(function(x, w) return np.tanh(np.matmul(w, x)) end), "m", "n, m" },
    { "jacfwd of n by m", np.jacfwd(function(x, w) return np.tanh(np.matmul(w, x)) end), "m", "n, m" },
    { "transformer of n and m", function(ids) return transform(transformer, ids) end, "i32 n, m" },
    { "recurrent net of n and m", recurrent, "3, 3", "n, m, 3" },
    { "gradient of a recurrent net of n and m", np.grad(final), "3, 3", "n, m, 3" },
}

-- Special functions and the other distributions.
list = {}
for _, name in ipairs { "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "expit", "factorial", "gamma", "gammaln",
                        "gammasgn", "i0", "i0e", "i1", "i1e", "j0", "j1", "log_ndtr", "logit", "ndtr", "ndtri",
                        "sinc" } do
    list[#list + 1] = { "special." .. name, of("special." .. name), "n, 3" }
end
for _, name in ipairs { "beta", "betaln", "comb", "gammainc", "gammaincc", "kl_div", "rel_entr", "xlog1py", "xlogy" } do
    list[#list + 1] = { "special." .. name, function(x, y)
        return np.special[name](np.exp(x) + 1, np.exp(y))
    end, "n, 3", "3" }
end
for name, parameters in pairs { chisquare = { 3 }, double_sided_maxwell = { 0, 2 }, generalized_normal = { 1.5 },
                                loggamma = { 2 }, lognormal = { 0.5 }, maxwell = {}, pareto = { 2 }, rayleigh = { 2 },
                                weibull_min = { 1, 2 } } do
    list[#list + 1] = { "random." .. name, function(x)
        local given = { key(), unpack(parameters) }
        given[#given + 1] = { axis0(x), 2 }
        return np.random[name](unpack(given))
    end, "n" }
end
rows(list)
rows {
    { "special.polygamma", function(x) return np.special.polygamma(2, np.exp(x)) end, "n" },
    { "special.multigammaln", function(x) return np.special.multigammaln(np.exp(x) + 2, 2) end, "n" },
    { "random.fold_in", function(x) return np.random.fold_in(key(), axis0(x)) end, "n" },
    { "random.stream", function(x) return np.random.stream(3):normal({ axis0(x) }) end, "n",
      refuses = "pass a key as an argument" },
    { "random.uniform between bounds", function(x)
        return np.random.uniform(key(), { axis0(x) }, { minval = -1, maxval = axis0(x) })
    end, "n" },
    { "random.normal of complex numbers", function(x)
        return np.random.normal(key(), { axis0(x) }, { dtype = "c64" })
    end, "n" },
    { "random.normal of halves", function(x) return np.random.normal(key(), { axis0(x) }, { dtype = "f16" }) end, "n" },
    { "random.permutation of lines", function(x)
        return np.random.permutation(key(), x, { axis = 1, independent = true })
    end, "3, n", from = 2 },
    { "broadcast_shapes", function(x) return np.zeros(np.broadcast_shapes(x.shape, { 3, 1 })) end, "n" },
    { "device_put", function(x) return np.device_put(x, "cpu:0") * axis0(x) end, "n" },
    { "softmax of halves", nn "softmax", "f16 n, 3" }, { "matmul of halves", of "matmul", "bf16 n, 3", "bf16 3, n" },
    { "matmul of integers", of "matmul", "i32 n, 3", "i32 3, n" }, { "det of halves", of "linalg.det", "f16 n, 3, 3" },
    { "welch of doubles", of("signal.welch", { nperseg = 4 }), "f64 n" },
    { "gelu of doubles", nn "gelu", "f64 n" },
}
check.done()
