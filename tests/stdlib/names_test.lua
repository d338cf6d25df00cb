--- names_test.lua (under tsan with --long): functions by NumPy's names under jit, vmap and grad; what they refuse;
-- printing by options.
local np = require "neap"
local check = require "tests.lib.check"

--- Values of a function of several results as a list.
local function results(f, ...) return { f(...) } end

local x = np.array({ { 1.53, -2.17, 0.27 }, { 3.3, 0.76, -1.24 } }, { dtype = "f64" }) -- off all kinks and jumps
local square = np.array({ { 4, 1, 2 }, { 1, 3, 0.5 }, { 2, 0.5, 5 } }, { dtype = "f64" })

-- Functions of a (…, 2, 3) array that can be traced, and are smooth around x.
local SMOOTH = {
    fmod = function(a) return np.fmod(a, 0.7) end, ldexp = function(a) return np.ldexp(a, 3) end,
    fmax = function(a) return np.fmax(a, 0.1) end, modf = function(a) return (np.modf(a)) end,
    frexp = function(a) return (np.frexp(a)) end,
    lerp = function(a) return np.lerp(a, a * a, 0.3) end, logaddexp2 = function(a) return np.logaddexp2(a, 0.5) end,
    degrees = np.degrees, unwrap = function(a) return np.unwrap(a * 3) end,
    heaviside = function(a) return np.heaviside(a, 0.5) * a end,
    round = function(a) return np.round(a, 1) + a end,
    float_power = function(a) return np.float_power(np.abs(a), 2.5) end,
    polyval = function(a) return np.polyval({ 2, -1, 0.5 }, a) end, poly = function(a) return np.poly(a[0]) end,
    polymul = function(a) return np.polymul(a[0], a[1]) end, polyint = function(a) return np.polyint(a[0], 2) end,
    polyfit = function(a) return np.polyfit(np.array({ 0, 1, 3 }, { dtype = "f64" }), a[0], 1) end,
    vander = function(a) return np.vander(a[0]) end, rot90 = np.rot90, roll = function(a) return np.roll(a, 1) end,
    cross = function(a) return np.cross(a[0], a[1]) end, inner = function(a) return np.inner(a, a) end,
    matvec = function(a) return np.matvec(a, a[0]) end, vecmat = function(a) return np.vecmat(a[{ {}, 0 }], a) end,
    windows = function(a) return np.sliding_window_view(a, { 2, 2 }) ^ 2 end,
    linspace = function(a) return np.linspace(a[0], a[1], 4) end,
    resize = function(a) return np.resize(a, { 2, 4 }) end,
    insert = function(a) return np.insert(a, 1, a[0], { axis = 0 }) end,
    delete_at = function(a) return np.delete_at(a, 1, { axis = 1 }) end,
    along = function(a) return np.apply_along_axis(function(row) return row * row:sum() end, 1, a) end,
    reflect = function(a) return np.pad(a, 2, "reflect") ^ 2 end, edge = function(a) return np.pad(a, 1, "edge") end,
    ramp = function(a) return np.pad(a, 2, "linear_ramp") end, mean = function(a) return np.pad(a, 1, "mean") end,
    einsum = function(a) return np.einsum("ij,kj,kl,il->il", a, a, a, a) end,
    expm = function(a) return np.linalg.expm(square + np.pad(a, { { 0, 1 }, { 0, 0 } }) * 0.1) end,
    lu = function(a) return select(2, np.linalg.lu(square + np.pad(a, { { 0, 1 }, { 0, 0 } }) * 0.1)) end,
    sqrtm = function(a) return np.linalg.sqrtm(square + np.pad(a, { { 0, 1 }, { 0, 0 } }) * 0.1) end,
    tensorsolve = function(a) return np.linalg.tensorsolve(square, a[0]) end,
    block_diag = function(a) return np.linalg.block_diag(a, a[0]) end,
    toeplitz = function(a) return np.linalg.toeplitz(a[0], a[1]) end,
    cho_solve = function(a) return np.linalg.cho_solve(np.linalg.cholesky(square), a[0]) end,
    elu = np.nn.elu, selu = np.nn.selu, celu = np.nn.celu, mish = np.nn.mish, soft_sign = np.nn.soft_sign,
    log_sigmoid = np.nn.log_sigmoid, hard_swish = np.nn.hard_swish, standardize = np.nn.standardize,
    rms_norm = function(a) return np.nn.rms_norm(a) end, huber = function(a) return np.nn.huber_loss(a, 0.2) end,
    bce = function(a) return np.nn.binary_cross_entropy(a, 0.3) end,
    cosine = function(a) return np.nn.cosine_similarity(a[0], a[1]) end,
}

for name, f in pairs(SMOOTH) do
    check.test(name .. " under jit, vmap and grad", function()
        local want = f(x)
        check.ok(np.allclose(np.jit(f)(x), want, { rtol = 1e-12, atol = 1e-12 }), "jit")
        local both = np.vmap(f)(np.stack { x, x * 1.01 })
        check.ok(np.allclose(both[0], want, { rtol = 1e-12, atol = 1e-12 }), "vmap")
        check.ok(np.allclose(both[1], f(x * 1.01), { rtol = 1e-12, atol = 1e-12 }), "vmap, second example")
        -- The derivative in one direction, against a difference.
        local direction = np.array({ { 0.3, -0.7, 1 }, { 0.2, 0.9, -0.4 } }, { dtype = "f64" })
        local function total(a) return (f(a) * np.cos(np.arange(want.size):reshape(want.shape) + 1)):sum() end
        local got = (np.grad(total)(x) * direction):sum():item()
        local step = 1e-6
        local near = (total(x + direction * step) - total(x - direction * step)):item() / (2 * step)
        check.close(got, near, 1e-6 * math.max(1, math.abs(near)), "gradient")
    end)
end

check.test("arrays have up to 16 axes", function()
    local dims, index = {}, {}
    for k = 1, 16 do dims[k], index[k] = k % 5 == 0 and 2 or 1, {} end
    local y = np.arange(8):reshape(dims)
    check.equal(y.ndim, 16)
    check.equal(y.T.shape[2], 2)
    check.equal((y * 2 + y.T:reshape(dims)):sum():item(), 84)
    index[15] = { -1 } -- beyond the axes whose ends programs follow
    local last = np.jit(function(a) return a[index] * 1 end)
    check.ok(np.array_equal(last(y):ravel(), { 1, 3, 5, 7 }))
    dims[15] = 3
    check.ok(np.array_equal(last(np.arange(12):reshape(dims)):ravel(), { 2, 5, 8, 11 }))
    check.ok(np.array_equal(np.vmap(function(a) return a:sum() end)(np.ones(2, unpack(dims, 2))), { 12, 12 }))
    check.raises(function() return np.expand_dims(y, 0) end, "at most 16 axes")
    check.equal(tostring(y):match "^%[+" , ("["):rep(16))
end)

check.test("what looks like rows is told to be a slice", function()
    check.raises(function() return np.arange(9)[{ 1, 3, 4 }] end,
                 "3 indices for an array of 1 axis; the elements 1, 3, 4")
    check.raises(function() return np.arange(9)[{ { 1, 3, 4, 7 } }] end, "a table of 4.-x:take")
    check.ok(np.array_equal(np.arange(9)["[1, 3, 4]"], { 1, 3, 4 }))
    check.ok(np.array_equal(np.arange(4)["::-1"], { 3, 2, 1, 0 }))
    check.raises(function() return np.arange(4)["1;2"] end, "cannot read")
    check.raises(function() return np.arange(4)["[1, True]"] end, "cannot read")
    check.raises(function() return np.arange(4)["[1"] end, "cannot read")
end)

check.test("arguments that do not fit are named", function()
    local a = np.ones(2, 3)
    for expected, f in pairs {
        ["np.vstack: takes 1 argument, got also"] = function() np.vstack({ a }, 1) end,
        ["np.rot90: unknown option 'axis'"] = function() np.rot90(a, 1, { axis = 0 }) end,
        ["np.fliplr: needs at least 2 axes"] = function() np.fliplr(np.ones(3)) end,
        ["np.hstack: array 2 has shape %(3,%)"] = function() np.hstack { a, np.ones(3) } end,
        ["np.delete: takes 1 argument, and frees it; np.delete_at"] = function() np.delete(np.ones(3), 1) end,
        ["np.insert: place 5 is out of range"] = function() np.insert(np.ones(3), 5, 1) end,
        ["np.delete_at: place %-4 is out of range"] = function() np.delete_at(np.ones(3), -4) end,
        ["np.insert: values of shape %(1, 2%) do not"] = function() np.insert(a, 1, np.ones(2), { axis = 0 }) end,
        ["np.pad: option 'mode' must be one of"] = function() np.pad(a, 1, "mirror") end,
        ["np.pad: axis 0 has no elements"] = function() np.pad(np.zeros(0), 1, "edge") end,
        ["np.block: item%[2%] is nested to another depth"] = function() np.block { a, { a } } end,
        ["np.meshgrid: argument 1 %(array%) must be 1%-d, each array an"] = function() np.meshgrid { a, a } end,
        ["np.meshgrid: option 'indexing' must be"] = function() np.meshgrid(a, { indexing = "yx" }) end,
        ["np.mgrid: cannot read the range"] = function() np.mgrid "5" end,
        ["np.geomspace: start and stop must not be 0"] = function() np.geomspace(-1, 1) end,
        ["np.ravel_multi_index: index 7 is out of range"] = function() np.ravel_multi_index({ 7 }, { 3 }) end,
        ["np.unravel_index: index 6 is out of range"] = function() np.unravel_index(6, { 2, 3 }) end,
        ["np.sliding_window_view: a window of 4"] = function() np.sliding_window_view(a, { 1, 4 }) end,
        ["np.kaiser: argument 2 %(beta%)"] = function() np.kaiser(3) end,
        ["np.polyval: argument 1 must be coefficients"] = function() np.polyval(a, 1) end,
        ["np.packbits: takes bools or integers"] = function() np.packbits(a) end,
        ["np.matvec: shapes of the matrices and vectors"] = function() np.matvec(a, np.ones(2)) end,
        ["np.linalg.lu: argument 1 must be matrices"] = function() np.linalg.lu(a[0]) end,
        ["np.linalg.tensorsolve: shapes"] = function() np.linalg.tensorsolve(a, np.ones(2)) end,
        ["np.nn.glu: axis 1 has an odd extent"] = function() np.nn.glu(a) end,
        ["np.nn.group_norm: needs shape"] = function() np.nn.group_norm(a, 2) end,
        ["np.vectorize: result 1 of the function must be"] = function() np.vectorize(function() return "" end)(1) end,
        ["np.set_printoptions: option 'precision' must be"] = function() np.set_printoptions { precision = 18 } end,
        ["np.set_printoptions: unknown option 'digits'"] = function() np.set_printoptions { digits = 3 } end,
    } do
        check.raises(f, expected)
    end
end)

check.test("linalg takes NumPy's options and refuses others", function()
    local L = np.linalg
    check.ok(np.allclose(L.pinv(square, { rcond = 1e-3, hermitian = true }), L.inv(square), { rtol = 1e-9 }))
    check.ok(np.allclose(L.pinv(np.diag(np.array { 1, 0.1 }), { rtol = 0.5 }), np.array { { 1, 0 }, { 0, 0 } }))
    check.equal(L.matrix_rank(np.diag(np.array { 1, 0.1, 5 }), { tol = 0.5 }):item(), 2)
    check.ok(np.allclose(L.svd(square, { compute_uv = false }), L.svdvals(square)))
    check.equal(L.trace(np.eye(3), { dtype = "f64" }).dtype, "f64")
    check.equal(L.trace(np.ones({ 2, 2 }, { dtype = "u8" }), { dtype = "u8" }).dtype, "u8")
    for _, name in ipairs { "det", "inv", "slogdet", "svdvals" } do
        check.raises(function() L[name](square, { junk = 1 }) end, "np.linalg." .. name .. ": takes 1 argument")
    end
    check.raises(function() L.solve(square, square, 1) end, "takes 2 arguments")
    check.raises(function() L.pinv(square, { junk = 1 }) end, "unknown option 'junk'")
end)

check.test("printing follows its options", function()
    local y = np.array { 1e-10, 1234.56789, -2 }
    local function text(given) return np.array2string(y, given) end
    check.equal(text { precision = 2, suppress = true }, "[   0.   1234.57   -2.  ]")
    check.equal(text { precision = 3 }, "[ 1.000e-10  1.235e+03 -2.000e+00]")
    check.equal(text {}, tostring(y))
    check.equal(np.array2string(np.array { 1, -1, np.inf, np.nan }, { sign = "+", nanstr = "NA", infstr = "oo" }),
                "[+1. -1. +oo +NA]")
    check.equal(np.array2string(np.array { 1, 2 }, { sign = " " }), "[ 1.  2.]")
    check.equal(np.array2string(np.arange(20), { threshold = 10, edgeitems = 2 }), "[ 0  1 ... 18 19]")
    check.equal(np.array2string(np.arange(2000), { edgeitems = 4 }), "[   0    1    2    3 ... 1996 1997 1998 1999]")
    check.equal(np.array2string(np.arange(6), { linewidth = 8 }), "[0 1 2\n 3 4 5]")
    check.equal(select(2, np.array2string(np.ones(1500), { threshold = math.huge }):gsub("1", "")), 1500)
    local large = np.ones(400, 400) * 2
    check.equal(np.printoptions({ edgeitems = 1, precision = 1 }, tostring, large), "[[2. ... 2.]\n ...\n [2. ... 2.]]")
    check.equal(select(2, np.printoptions({ edgeitems = 5 }, tostring, large + 1):gsub("3", "")), 100)
    check.raises(function() np.printoptions({ precision = 1 }, error, "stop") end, "stop")
    check.equal(np.get_printoptions().precision, 8)
end)

check.test("several results come as several", function()
    check.equal(#results(np.meshgrid, np.ones(2), np.ones(3), np.ones(4)), 3)
    check.equal(#results(np.unstack, np.ones(3, 2)), 3)
    check.equal(#results(np.indices, { 2, 3 }, { sparse = true }), 2)
    check.equal(#results(np.vectorize(function(a) return a, a > 1 end), np.arange(3)), 2)
    check.equal(results(np.vectorize(function(a) return a, a > 1 end), np.arange(3))[2].dtype, "bool")
end)

check.test("print shows shapes, and pprint what is in tables", function()
    local process = require "tests.lib.process"
    local status, out = process.run({ process.neap, "-e", [[
        local np = require "neap"
        local x = np.eye(2)
        print(x.shape, np.zeros(3).shape)
        np.pprint({ w = x, deep = { 1, "a" }, s = x.shape }, 7)
    ]] })
    check.equal(status, 0)
    check.equal(out, "(2, 2)\t(3,)\ndeep\n  [1] = 1\n  [2] = \"a\"\ns = (2, 2)\nw = f32[2,2]\n"
                .. "  [[1. 0.]\n   [0. 1.]]\n7\n")
end)

check.done()
