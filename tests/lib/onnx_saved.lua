--- onnx_saved.lua: functions whose programs np.io.save_onnx writes: { name, inputs, function } each; a case of ops
-- alone is marked `bytes`: its file has the same bytes whenever it is written.
--
-- tests/golden/make_onnx_saved.lua writes the files, on which onnxruntime runs (make_onnx_saved.py).
local np = require "neap"

local nn = np.nn
local inf, nan = math.huge, np.nan

local function f32(...) return np.array({ ... }, { dtype = "f32" }) end
local function i32(...) return np.array({ ... }, { dtype = "i32" }) end
local function i8(...) return np.array({ ... }, { dtype = "i8" }) end

local key = np.random.key(7)
local function normal(...) return np.random.normal(key, { ... }) end
local function uniform(...) return np.random.uniform(key, { ... }) end

local odd = { -inf, -2.5, -1, -0.5, -0.0, 0, 1e-6, 0.5, 1, 2.5, 30, inf, nan }
local beside = { -inf, -2, -0.0, 0, 1.5, inf, nan }
local grid_a, grid_b = np.repeat_(np.array(odd), #beside), np.tile(np.array(beside), #odd)

local cases = {
    { "elements", { np.array(odd), uniform(6) }, function(x, u)
        return {
            negative = -x, abs = np.abs(x), sign = np.sign(np.nan_to_num(x)), square = np.square(x),
            reciprocal = np.reciprocal(x), exp = np.exp(x), expm1 = np.expm1(x), exp2 = np.exp2(x), log = np.log(x),
            log1p = np.log1p(x), log2 = np.log2(x), log10 = np.log10(x), sqrt = np.sqrt(x), rsqrt = np.rsqrt(x),
            cbrt = np.cbrt(x), erf = np.erf(x), sin = np.sin(u), cos = np.cos(u), tan = np.tan(u), asin = np.asin(u),
            acos = np.acos(u), atan = np.atan(x), sinh = np.sinh(u), cosh = np.cosh(u), tanh = np.tanh(x),
            asinh = np.asinh(u), acosh = np.acosh(u + 1), atanh = np.atanh(u), sigmoid = np.sigmoid(x),
            floor = np.floor(x), ceil = np.ceil(x), round = np.rint(x), trunc = np.trunc(x), isnan = np.isnan(x),
            isinf = np.isinf(x), isfinite = np.isfinite(x), signbit = np.signbit(x), clip = np.clip(u, 0.25, 0.5),
            entr = -np.sum(np.xlogy(u, u)),
        }
    end, bytes = true },
    { "pairs", { grid_a, grid_b }, function(a, b)
        return {
            add = a + b, subtract = a - b, multiply = a * b, divide = a / b, maximum = np.maximum(a, b),
            minimum = np.minimum(a, b), fmax = np.fmax(a, b), fmin = np.fmin(a, b), fmod = np.fmod(a, b),
            remainder = np.remainder(a, b), floor_divide = np.floor_divide(a, b), atan2 = np.atan2(a, b),
            hypot = np.hypot(a, b), logaddexp = np.logaddexp(a, b), copysign = np.copysign(a, b),
            xlogy = np.xlogy(a, np.abs(b)), equal = np.equal(a, b),
            not_equal = np.not_equal(a, b), less = np.less(a, b), less_equal = np.less_equal(a, b),
            greater = np.greater(a, b), greater_equal = np.greater_equal(a, b), pow = np.pow(np.abs(b), a),
            where = np.where(a:gt(0), a, 7), reversed = 3 - a,
        }
    end, bytes = true },
    { "integers", { i32(7, -7, 7, -7, 9, -9, 0, -2147483648, 5), i32(2, 2, -2, -2, 3, -3, 5, -1, 0),
                    np.array({ 0, 3, 255, 128 }, { dtype = "u8" }), np.array({ 1, 9, 2, 3 }, { dtype = "u8" }) },
      function(a, b, u, v)
        return {
            floor_divide = np.floor_divide(a, b), remainder = np.remainder(a, b), fmod = np.fmod(a, b),
            maximum = np.maximum(a, b), bits = np.bitwise_xor(np.bitwise_and(a, b), np.bitwise_or(a, 4)),
            invert = np.bitwise_invert(a), half = a / 2,
            cast = a:astype "f32":astype "i32", square = np.square(b),
            sign = np.sign(a), udiv = np.floor_divide(u, v), umod = np.remainder(u, v),
            left = np.bitwise_left_shift(u, v),
            right = np.bitwise_right_shift(u, v),
            minus = -u, sum = np.sum(a), larger = u:gt(v), bool = a:astype "bool",
        }
    end, bytes = true },
    { "bools", { np.array { true, true, false, false }, np.array { true, false, true, false } }, function(p, q)
        return {
            add = p + q, multiply = p * q, maximum = np.maximum(p, q),
            both = np.logical_and(p, q), less = np.less(p, q),
            either = np.logical_or(p, q), one = np.logical_xor(p, q), no = np.logical_not(p), equal = np.equal(p, q),
            not_equal = np.not_equal(p, q), at_least = np.greater_equal(p, q), bits = np.bitwise_and(p, q),
            any = np.any(p), all = np.all(q), max = np.max(p), count = np.sum(p), first = np.argmin(p),
            counts = np.cumsum(q), least = np.minimum(p, q), clip = np.clip(p, q, p),
        }
    end, bytes = true },
    { "reductions", { normal(3, 4, 2), np.array { { 1, nan, 3 }, { nan, nan, nan } } }, function(x, m)
        return {
            sum = np.sum(x, { axis = { 0, 2 } }), kept = np.sum(x, { axis = 1, keepdims = true }), prod = np.prod(x),
            max = np.max(x, { axis = -1 }), min = np.min(x), mean = np.mean(x, { axis = 0 }),
            var = np.var(x, { axis = 1 }),
            std = np.std(x), any = np.any(x:gt(1), { axis = { 0, 1 } }), all = np.all(x:lt(1), { axis = 1 }),
            nanmax = np.nanmax(m, { axis = 1 }), nanmin = np.nanmin(m, { axis = 0 }), argmax = np.argmax(x),
            argmin = np.argmin(x, { axis = 1 }), nonzero = np.count_nonzero(x:gt(0), { axis = 2 }),
            logsumexp = np.logsumexp(x, { axis = { 0, 1 } }), norm = np.linalg.norm(x[0]),
        }
    end, bytes = true },
    { "scans", { normal(3, 4), i32(3, -1, 4, -1, 5) }, function(x, i)
        return {
            sum = np.cumsum(x, { axis = 0 }), back = np.flip(np.cumsum(np.flip(x))), prod = np.cumprod(x, { axis = 1 }),
            max = np.cummax(x, { axis = 1 }), min = np.cummin(i), product = np.cumprod(i),
        }
    end, bytes = true },
    { "orders", { normal(3, 5), i32(3, 1, 3, 0, 1) }, function(x, i)
        local best, places = np.top_k(x, 2)
        return { sorted = np.sort(x), down = np.sort(x, { axis = 0, descending = true }),
                 order = np.argsort(x, { axis = 0 }),
                 stable = np.argsort(i), best = best, places = places, ints = np.sort(i), median = np.median(x) }
    end, bytes = true },
    { "places", { normal(4, 3), i32(2, -1, 2), i32(9, 0, -7), np.array(1, { dtype = "i32" }) },
      function(x, i, far, at)
        return {
            rows = x[i], take = np.take(x, i, { axis = 1 }),
            along = np.take_along_axis(x, np.expand_dims(i, 0), { axis = 0 }),
            set = x:at(i):set(5), add = x:at(i):add(x[{ { 0, 3 } }]), mul = x:at(i):mul(2), max = x:at(far):max(0),
            min = x:at(far):min(0), ignored = x:at(far):add(1), one = x:at { 1, 2 }:set(9), two = x:at { i, 1 }:add(1),
            box = np.dynamic_slice(x, { at, 0 }, { 2, 3 }), late = np.dynamic_slice(x, { at * 9, at * -1 }, { 2, 1 }),
            put = np.dynamic_update_slice(x, x[{ { 0, 2 }, { 0, 2 } }] * 2, { at, at * 7 }),
        }
    end, bytes = true },
    { "views", { normal(2, 3, 4) }, function(x)
        return {
            transpose = np.transpose(x, { 2, 0, 1 }), reshape = np.reshape(x, { 6, 4 }), flip = np.flip(x, 1),
            step = x[{ {}, { 2, nil, -2 } }], join = np.concatenate { x, x * 2 }, pad = np.pad(x, 1),
            crop = x[{ 1, { 1, 3 } }], roll = np.roll(x, 1, { axis = 2 }), tile = np.tile(x[0], { 2, 1 }),
            stack = np.stack { x[0], x[1] }, outer = np.outer(x[0][0], x[1][0]), triu = np.triu(x[0]),
            wide = np.broadcast_to(x[0], { 2, 3, 4 }), eye = np.eye(3) + x[0][0][0],
            eins = np.einsum("ijk,ljk->il", x, x),
        }
    end, bytes = true },
    { "shifts", { i32(5, -5, 1, -1, -2147483648, 2147483647, 7, -7), i32(1, 1, 31, 31, 31, 3, -1, 32),
                  i8(-128, 127, -3, 5), i8(7, 1, 8, 0), np.array({ -5, 5, 1 }, { dtype = "i64" }),
                  np.array({ 1, 63, 40 }, { dtype = "i64" }), np.array({ 255, 0, 18 }, { dtype = "u8" }) },
      function(a, b, c, d, e, f, u)
        return {
            left = np.bitwise_left_shift(a, b), right = np.bitwise_right_shift(a, b),
            left8 = np.bitwise_left_shift(c, d), right8 = np.bitwise_right_shift(c, d),
            left64 = np.bitwise_left_shift(e, f), right64 = np.bitwise_right_shift(e, f),
            by_two = np.bitwise_right_shift(a, 2), count = np.bitwise_count(a), count8 = np.bitwise_count(c),
            count64 = np.bitwise_count(e), bytes = np.bitwise_count(u),
        }
    end, bytes = true },
    { "searches", { np.array { 1, 2, 2, 3, 5, nan }, np.array { { 0, 1, 2.5 }, { 2, 6, nan } }, i32(3, 7, 9),
                    i32(7, 1, 10, 0), np.array { { 1, 3, 4 }, { -1, 0, 0 } }, np.array { { 3, 9 }, { 0, -2 } } },
      function(s, v, a, b, lines, u)
        return {
            left = np.searchsorted(s, v), right = np.searchsorted(s, v, { side = "right" }),
            ints = np.searchsorted(a, b), one = np.searchsorted(a, 8), none = np.searchsorted(a[{ { 0, 0 } }], b),
            lines = np.vmap(function(x, y) return np.searchsorted(x, y) end)(lines, u),
            counts = np.bincount(a, { length = 8 }), place = np.digitize(v, s[{ { 0, 5 } }]),
            bins = (np.histogram(v, { bins = 4, range = { 0, 4 } })),
            each = np.vmap(function(x) return np.bincount(x, { length = 3 }) end)(np.stack { a - 3, a - 7 }),
        }
    end, bytes = true },
    { "quantiles", { np.array { -1, -0.999, -0.5, 0, 0.25, 0.9999, 1, 2, nan }, i32(0, 1, -3, 140, 2, -150, 3, 3, 3) },
      function(x, k) return { erf_inv = np.erf_inv(x), ldexp = np.ldexp(x, k) } end, bytes = true },
    { "draws", { key }, function(k)
        local three = np.random.split(k, 3)
        return {
            keys = three, uniform = np.random.uniform(three[0], { 3, 4 }), normal = np.random.normal(k, { 60 }),
            wide = np.random.exponential(k, { 4 }, { dtype = "f64" }), order = np.random.permutation(k, 6),
            category = np.random.categorical(k, np.arange(5):astype "f32"), bits = np.random.bits(k, { 3 }),
            each = np.vmap(function(q) return np.random.uniform(q, { 2 }) end)(three),
            integers = np.random.randint(k, { 5 }, np.array(-3, { dtype = "i32" }), 9),
            every = np.random.randint(k, { 3 }, -2147483648, 2147483648),
        }
    end, bytes = true },
    { "matrices", { normal(2, 4, 4), normal(2, 4, 3) }, function(a, b)
        local positive = np.matmul(a, np.swapaxes(a, 1, 2)) + np.eye(4)
        local sign, log = np.linalg.slogdet(a)
        local q, r = np.linalg.qr(b)
        local whole, upper = np.linalg.qr(np.swapaxes(b, 1, 2), { mode = "complete" })
        return {
            cholesky = np.linalg.cholesky(positive), none = np.linalg.cholesky(-positive), q = q, r = r, whole = whole,
            upper = upper, tall = (np.linalg.qr(b[0], { mode = "complete" })), solve = np.linalg.solve(a, b),
            inv = np.linalg.inv(a), det = np.linalg.det(a), sign = sign, log = log,
            vector = np.linalg.solve(a[0], b[0][{ {}, 0 }]), lower = np.linalg.solve_triangular(a, b, { lower = true }),
            triangular = np.linalg.solve_triangular(positive, b), swapped = np.linalg.inv(np.flip(np.eye(3), 0) * 2),
            power = np.linalg.matrix_power(a[0], -2),
            slope = np.grad(function(m) return np.linalg.solve(m, b[0]):sum() end)(positive[0]),
        }
    end, bytes = true },
    { "fourier", { normal(2, 8) / 4, normal(5) / 4 }, function(x, five)
        local c, d = np.fft.rfft(x), np.fft.fft(x)
        return {
            size = np.abs(c), real = np.real(d * d), imag = np.imag(d / (d + 2)), back = np.fft.irfft(c * c),
            inverse = np.real(np.fft.ifft(d)), shifted = np.real(np.fft.fftshift(d)), plane = np.abs(np.fft.fft2(x)),
            columns = np.real(np.fft.fft(x, { axis = 0 })), mean = np.imag(d:mean { axis = 1 }),
            cut = np.real(c[{ 1, { 1, 3 } }]),
            product = np.imag(np.matmul(d, np.swapaxes(np.conj(d), 0, 1))),
            wave = np.real(np.exp(np.complex(x, x * 2))),
            odd = np.imag(np.fft.rfft(five)), short = np.fft.irfft(np.fft.rfft(five), { n = 5 }),
            wide = np.real(np.fft.fft(x:astype "f64")), rows = np.real(np.take(d, i32(1, 0), { axis = 1 })),
            chosen = np.real(np.where(np.equal(d, 0), 0, np.reciprocal(d + 3))),
            slope = np.grad(function(v) return np.square(np.abs(np.fft.rfft(v))):sum() end)(x),
            smooth = np.grad(function(v) return np.square(np.fft.irfft(np.fft.rfft(v) / 2)):sum() end)(x),
            frames = np.abs((select(3, np.signal.stft(x, { nperseg = 4 })))),
        }
    end, bytes = true },
    { "slides", { normal(2, 7) }, function(x)
        return { full = np.convolve(x[0], x[1]), same = np.convolve(x[0], x[1][{ { 0, 4 } }], { mode = "same" }),
                 valid = np.correlate(x[0], x[1][{ { 0, 3 } }], { mode = "valid" }),
                 slope = np.grad(function(v) return np.square(np.convolve(v[0], v[1])):sum() end)(x) / 8 }
    end, bytes = true },
    { "slopes", { normal(2, 7, 6, 4) / 8, normal(3, 3, 4, 6) / 8, normal(3, 2, 2, 6) / 8 }, function(x, k, two)
        local function slope(kernel, options)
            return np.grad(function(p) return np.square(nn.conv(p.x, p.k, options)):sum() end) { x = x, k = kernel }
        end
        return { plain = slope(k), strided = slope(k, { strides = 2, padding = 1 }),
                 groups = slope(two, { groups = 2, kernel_dilation = 2 }) }
    end, bytes = true },
    { "branches", { f32(1, -2, 3), np.array(2, { dtype = "i32" }), normal(3) }, function(x, k, b)
        local function double(v) return v * 2 + b end
        local function less(v) return v - 1 end
        local function nothing(v) return v end
        return { cond = np.cond(x:sum():gt(0), double, less, x), other = np.cond(x:sum():gt(9), double, less, x),
                 switch = np.switch(k, { double, less, nothing }, x),
                 low = np.switch(k - 9, { double, less, nothing }, x) }
    end },
    { "loops", { normal(4, 3), f32(0.5, 1, 2) }, function(x, b)
        local sum, sums = np.scan(function(c, v) return c + v * b, c - v end, x[0], x)
        local back, backs = np.scan(function(c, v) return c + v, { c, v * 2 } end, b, x, { reverse = true })
        return { sum = sum, sums = sums, back = back, first = backs[1], second = backs[2],
                 turns = np.fori_loop(0, 5, function(i, v) return v * 2 + i * b end, b),
                 grown = np.while_loop(function(v) return (v + b):sum():lt(100) end,
                                       function(v) return v * 2 + b end, b),
                 nested = np.fori_loop(0, 3, function(i, v)
                     return np.cond(v:sum():gt(4), function() return v - i end, function() return v * 3 end)
                 end, b) }
    end },
}

--- A case of a block that has its weights: captured, they become weights of the file.
local function layer(name, block, x)
    local params = block:init(key, x)
    cases[#cases + 1] = { name, { x }, function(v) return block(params, v) end }
end

local function case(name, inputs, f) cases[#cases + 1] = { name, inputs, f } end

local sequence, picture = normal(2, 5, 6), normal(2, 6, 6, 4)

layer("dense", nn.Sequential { nn.Dense(6, 8), nn.gelu, nn.LayerNorm(), nn.Dropout(0.5), nn.Dense(8, 3) },
      sequence)
layer("lstm", nn.LSTM(6, 4, { layers = 2, bidirectional = true }), sequence)
layer("gru", nn.GRU(6, 4), sequence)
layer("rnn", nn.RNN(6, 4, { reverse = true }), sequence)
layer("attention", nn.MultiHeadAttention(2, { is_causal = true }), sequence)
layer("convolutions", nn.Sequential {
    nn.Conv(4, 8, { 3, 3 }, { strides = 2 }), nn.relu, nn.Conv(8, 8, { 3, 3 }, { groups = 8 }), nn.AvgPool(2),
    nn.flatten, nn.Dense(2) }, picture)
layer("embedding", nn.Embedding(7, 3), np.array({ { 0, 6 }, { 3, 3 } }, { dtype = "i32" }))
case("pictures", { picture, np.random.uniform(key, { 2, 3, 3, 2 }) * 2.4 - 1.2, normal(3, 3, 4, 5) },
      function(x, g, k)
    local max, places = nn.max_pool(x, 2, { return_indices = true })
    return {
        max = max, places = places, avg = nn.avg_pool(x, 3, { strides = 2, padding = 1, count_include_pad = false }),
        adaptive = nn.adaptive_avg_pool(x, { 4, 5 }), widest = nn.adaptive_max_pool(x, { 4, 5 }),
        linear = nn.resize(x, { 2, 9, 4, 4 }, "linear"), cubic = nn.resize(x, { 2, 9, 8, 4 }, "cubic"),
        nearest = nn.interpolate(x, { 9, 3 }), sampled = nn.grid_sample(x, g), shuffled = nn.pixel_shuffle(x, 2),
        transposed = nn.conv_transpose(x, k, { strides = 2 }), patches = nn.unfold(x, 2), lp = nn.lp_pool(x, 2, 3),
        unpooled = nn.max_unpool(max, places, 2), folded = nn.fold(nn.unfold(x, 2), { 6, 6 }, 2),
        instance = nn.instance_norm(x, k[0][0][0][{ { 0, 4 } }], k[0][0][1][{ { 0, 4 } }]),
        group = nn.group_norm(x, 2, np.ones(4), np.zeros(4)), rms = nn.rms_norm(x, np.ones(4)),
    }
end)
case("activations", { normal(3, 4) * 3, i32(3, 0, 2) }, function(x, i)
    return {
        gelu = nn.gelu(x), exact = nn.gelu(x, { approximate = false }), silu = nn.silu(x), softplus = nn.softplus(x),
        elu = nn.elu(x), selu = nn.selu(x), celu = nn.celu(x), leaky = nn.leaky_relu(x), mish = nn.mish(x),
        hard_swish = nn.hard_swish(x), hard_sigmoid = nn.hard_sigmoid(x), log_sigmoid = nn.log_sigmoid(x),
        glu = nn.glu(x), relu6 = nn.relu6(x), soft_sign = nn.soft_sign(x), softmax = np.softmax(x),
        log_softmax = np.log_softmax(x), hot = nn.one_hot(i, 4), loss = nn.cross_entropy(x, i),
        squared = nn.mse(x, x * 2),
        soft_shrink = nn.soft_shrink(x), hard_tanh = nn.hard_tanh(x), prelu = nn.prelu(x, 0.1),
        squareplus = nn.squareplus(x), bce = nn.binary_cross_entropy(x, x:gt(0)),
    }
end)
case("gradient", { normal(6, 3), normal(4, 6), i32(0, 2, 1, 2) }, function(w, x, y)
    return np.grad(function(v) return nn.cross_entropy(np.tanh(x:matmul(v)), y) end)(w)
end)

return cases
