--- losses_test.lua: contracts of np.nn's losses and of accuracy (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish = require "tests.lib.contracts" "losses"

local nn = np.nn
local WEIGHTED = { f64 = "scaled 2e-15", f32 = "scaled 1e-6", f16 = "ulp 1", bf16 = "ulp 1" }
local REDUCTIONS = { { reduction = "none" }, {}, { reduction = "sum" } }

--- Special labels of binary_cross_entropy, which lie in [0, 1].
local function LABEL(dtype) return dtype:find "f" and { 0 / 0, 0, 1, 0.5 } or dtype ~= "bool" and { 0, 1 } or nil end

--- The dtype of a loss of complex numbers is that of their size.
local function size_of(dtype)
    local parts = { c64 = "f32", c128 = "f64" }
    return parts[dtype] or (dtype:find "f" and dtype) or np.result_type(dtype, 0.5)
end

local function refuses(f)
    return { { "mean, sum or none", function() f(np.ones(2), np.ones(2), { reduction = "max" }) end } }
end

of("np.nn.mse", {
    args = { "x", "y" }, accepts = "floats ints bool complex", options = REDUCTIONS, gives = size_of,
    oracle = "reduced(np.abs(real(x) - real(y)) ** 2, o)", refuses = refuses(nn.mse),
    within = { f64 = "ulp 8", f32 = "ulp 4", f16 = "ulp 1", bf16 = "ulp 1" },
})
of("np.nn.l1_loss", {
    args = { "x", "y" }, accepts = "floats ints bool complex", options = REDUCTIONS, gives = size_of,
    oracle = "reduced(np.abs(real(x) - real(y)), o)", refuses = refuses(nn.l1_loss),
})
of("np.nn.huber_loss", {
    args = { "x", { "y", grad = false } }, accepts = "floats ints bool complex", gives = size_of,
    options = { { reduction = "none" }, {}, { delta = 0.5, reduction = "none" }, { reduction = "sum" } },
    oracle = "reduced(huber(np.abs(real(x) - real(y)), o.get('delta', 1)), o)", refuses = refuses(nn.huber_loss),
    derivative = "jnp.where(jnp.abs(x - y) <= o.get('delta', 1), (x - y) ** 2 / 2, "
                 .. "o.get('delta', 1) * (jnp.abs(x - y) - o.get('delta', 1) / 2))",
    points = { { 0, 0 }, { { 1, 2 }, { 1, 5 } }, { { 1, -4 }, { 1.1, 4 }, o = { delta = 0.5, reduction = "sum" } } },
})
of("np.nn.binary_cross_entropy", {
    args = { { "x", from = -6, to = 6 }, { "y", from = 0, to = 1, special = LABEL } }, accepts = "floats ints bool",
    options = { { reduction = "none" }, {}, { reduction = "sum" }, { weight = 1.5, pos_weight = 2.5 },
                { pos_weight = 2.5, reduction = "none" } },
    oracle = "binary(x, y, o)", within = WEIGHTED, refuses = refuses(nn.binary_cross_entropy),
    without = { integers = "weights are numbers" },
    derivative = "y * jnp.logaddexp(0, -x) + (1 - y) * jnp.logaddexp(0, x)",
    points = { { 0, 0.5 }, { 40, 1 }, { -40, 0 }, { 1e200, 1 }, { -1e200, 0 } },
    also = { ["np.nn.binary_cross_entropy: a weight for each feature"] = function()
        local x, y = np.array { { 0, 1 }, { -1, 2 } }, np.array { { 1, 0 }, { 1, 1 } }
        local o = { pos_weight = np.array { 2, 3 }, weight = { 1, 0.5 }, reduction = "none" }
        local each = nn.binary_cross_entropy(x, y, { reduction = "none" })
        local want = each * np.array { { 2, 0.5 }, { 2, 1.5 } }
        check.ok(np.allclose(nn.binary_cross_entropy(x, y, o), want), "weights broadcast")
        check.raises(function() nn.binary_cross_entropy(x, y, { pos_weight = "2" }) end, "pos_weight")
    end },
})
of("np.nn.focal_loss", {
    args = { { "x", from = -6, to = 6, special = false }, { "y", from = 0, to = 1, special = false } },
    accepts = "floats ints", within = WEIGHTED, divided = WEIGHTED,
    shapes = { { { 5 }, { 5 } }, { { 2, 3 }, { 2, 3 } }, { {}, {} } },
    options = { { reduction = "none" }, {}, { alpha = 0.25, gamma = 3 }, { gamma = 0, reduction = "sum" } },
    oracle = "focal(x, y, o)", refuses = refuses(nn.focal_loss),
    without = { special = "they are those of np.nn.binary_cross_entropy", integers = "gamma is a number" },
})
of("np.nn.kl_div", {
    args = { { "x", from = -4, to = 0 }, { "y", from = 0.1, to = 1 } }, accepts = "floats ints bool",
    options = REDUCTIONS, within = { f64 = "scaled 1e-15", f32 = "scaled 1e-6", f16 = "ulp 1", bf16 = "ulp 1" },
    oracle = "reduced(np.where(y == 0, 0, y * (np.log(y) - x)), o)",
    refuses = refuses(nn.kl_div),
    derivative = "jnp.where(y == 0, 0, y * (jnp.log(jnp.where(y == 0, 1, y)) - x))",
    points = { { { -1, -2 }, { 0, 0.5 } }, { { -math.huge, -2 }, { 0, 0.5 } } },
})

-- ---- Of labels ------------------------------------------------------------------------------------------------------

local LABELLED = { { { 2, 3 }, { 2 } }, { { 3 }, {} }, { { 2, 2, 4 }, { 2, 2 } }, { { 0, 3 }, { 0 } } }
local LABELS = { "labels", dtype = "i32", from = 0, to = 2 }
local TABLE = { { "x", table = false }, LABELS } -- a table of logits is refused

--- Further tests of a loss of labels: dtypes of labels, labels out of range, one that is left out.
local function labels_tests(f)
    local x = np.log(np.array{ { 0.25, 0.75 }, { 0.5, 0.5 } })
    local function labels(list, dtype) return np.array(list, { dtype = dtype or "i32" }) end
    return {
        ["labels of any integers"] = function()
            local expected = f(x, labels { 1, 0 }):item()
            for _, dtype in ipairs { "u8", "i8", "i16", "u16", "u32", "i64", "u64" } do
                check.equal(f(x, labels({ 1, 0 }, dtype)):item(), expected, dtype)
            end
        end,
        ["labels out of range"] = function()
            for _, label in ipairs { -1, 2, -100 } do
                check.raises(function() f(x, labels { 0, label }) end, "label")
                check.raises(function() np.grad(function(y) return f(y, labels { 0, label }) end)(x) end, "label")
                local each = np.jit(function(y, l) return f(y, l, { reduction = "none" }) end)(x, labels { 0, label })
                check.ok(each[0]:item() == each[0]:item() and each[1]:item() ~= each[1]:item(), tostring(each))
                local kept = f(x, labels { 0, label }, { ignore_index = label })
                check.equal(kept:item(), f(x[{ { 0, 1 } }], labels { 0 }):item(), "left out")
            end
        end,
        ["a label out of range among many"] = function()
            local many = np.zeros({ 2000 }, { dtype = "i32" }):at { 1500 }:set(7)
            check.raises(function() f(np.zeros { 2000, 3 }, many) end, "a label is 7, and there are 3 classes")
            check.equal(f(np.zeros { 2000, 3 }, many, { reduction = "none", ignore_index = 7 })[1500]:item(), 0)
        end,
        ["all left out"] = function()
            local none = { ignore_index = -100 }
            check.ok(np.isnan(f(x, labels { -100, -100 }, none)):item(), "the mean of nothing")
            check.equal(np.grad(function(y) return f(y, labels { 0, -100 }, none) end)(x)[1]:totable(), { 0, 0 })
        end,
        ["one loss for each label"] = function()
            check.raises(function() f(x, labels { { 0 }, { 1 } }) end, "labels must have the shape")
            check.raises(function() f(x, np.array { 0, 1 }) end, "labels")
            check.raises(function() f(x, labels { 0, 1 }, { weight = np.ones(3) }) end, "weight")
        end,
    }
end

--- f of scores with their classes along the axis of the options.
local function along(f, o, x, labels)
    if o.axis then x = np.moveaxis(x, -1, 0) end
    return f(x, labels, next(o) and o or nil)
end

of("np.nn.cross_entropy", {
    args = TABLE, accepts = "floats ints bool", shapes = LABELLED,
    options = { {}, { reduction = "none" }, { reduction = "sum" }, { weight = { 0.5, 1, 2 } }, { ignore_index = 1 },
                { label_smoothing = 0.25 }, { label_smoothing = 0.25, weight = { 0.5, 1, 2 }, ignore_index = 2 },
                { label_smoothing = 0.25, weight = { 0.5, 1, 2 }, ignore_index = 2, reduction = "none" },
                { axis = 0 } },
    call = along, oracle = "cross_entropy(x, labels, o)", also = labels_tests(nn.cross_entropy),
    within = { f64 = "scaled 8e-15", f32 = "scaled 4e-6", f16 = "ulp 1", bf16 = "ulp 1" }, -- the sum is near 1
    divided = { f64 = "scaled 8e-15", f32 = "scaled 4e-6", f16 = "ulp 1", bf16 = "ulp 1" },
    without = { numbers = "labels are integers, and a table of logits is refused" },
})
of("np.nn.nll_loss", {
    args = TABLE, accepts = "floats ints bool", shapes = LABELLED,
    options = { {}, { reduction = "none" }, { reduction = "sum" }, { weight = { 0.5, 1, 2 } }, { ignore_index = 1 },
                { weight = { 0.5, 1, 2 }, ignore_index = 2 },
                { weight = { 0.5, 1, 2 }, ignore_index = 2, reduction = "none" }, { axis = 0 } },
    call = along, oracle = "nll_loss(x, labels, o)", also = labels_tests(nn.nll_loss),
    without = { numbers = "labels are integers, and a table of log probabilities is refused" },
})
of("np.nn.multi_margin_loss", {
    args = TABLE, accepts = "floats ints bool", shapes = LABELLED,
    options = { {}, { reduction = "none" }, { reduction = "sum", margin = 0.5 }, { p = 2, weight = { 0.5, 1, 2 } },
                { axis = 0 } },
    call = along, oracle = "multi_margin_loss(x, labels, o)",
    without = { numbers = "labels are integers, and a table of scores is refused" },
    refuses = { { "p", function()
                    nn.multi_margin_loss(np.ones { 1, 2 }, np.zeros({ 1 }, { dtype = "i32" }), { p = -1 })
                end },
                { "a number from 1 up", function()
                    nn.multi_margin_loss(np.ones { 1, 2 }, np.zeros({ 1 }, { dtype = "i32" }), { p = 0.5 })
                end },
                { "a label is 2, and there are 2 classes, from 0$", function()
                    nn.multi_margin_loss(np.ones { 1, 2 }, np.array({ 2 }, { dtype = "i32" }))
                end } },
})
of("np.nn.accuracy", {
    args = TABLE, accepts = "floats ints bool", shapes = { { { 4, 3 }, { 4 } }, { { 3 }, {} }, { { 0, 3 }, { 0 } } },
    oracle = "(np.argmax(x, -1) == labels).mean()", gives = "f32",
    without = { numbers = "labels are integers, and a table of logits is refused",
                derivatives = "it counts: its derivative is 0" },
    refuses = { { "labels must have the shape", function()
        nn.accuracy(np.ones { 2, 3 }, np.zeros({ 2, 1 }, { dtype = "i32" }))
    end } },
})

check.test("np.nn.cross_entropy of probabilities is that of labels, smoothed and weighted", function()
    local key = np.random.key
    local x = np.random.normal(key(0), { 5, 3 }, { dtype = "f64" })
    local labels = np.array({ 0, 2, 1, 1, 0 }, { dtype = "i32" })
    for _, o in ipairs { {}, { label_smoothing = 0.25 }, { label_smoothing = 0.25, weight = { 0.5, 1, 2 } } } do
        o.reduction = "none"
        local got = nn.cross_entropy(x, np.one_hot(labels, 3, { dtype = "f64" }), o)
        local want = nn.cross_entropy(x, labels, o)
        check.ok(np.allclose(got, want, { rtol = 1e-12 }), tostring(got))
    end
    local p = np.softmax(np.random.normal(key(1), { 5, 3 }, { dtype = "f64" }))
    local want = -np.mean(np.sum(p * np.log_softmax(x), { axis = -1 }))
    check.ok(np.allclose(nn.cross_entropy(x, p), want, { rtol = 1e-12 }), "its formula")
    check.ok(np.allclose(nn.cross_entropy(x.T, p.T, { axis = 0 }), want, { rtol = 1e-12 }), "classes first")
    check.raises(function() nn.cross_entropy(x, p, { ignore_index = 1 }) end, "ignore_index")
    check.raises(function() nn.cross_entropy(x, p[{ { 0, 2 } }]) end, "probabilities")
end)

-- ---- Of vectors -----------------------------------------------------------------------------------------------------

-- Squares of f32 and f64 may leave the range, as in PyTorch; those of halves may not.
local function norms(dtype)
    local large = ({ f16 = 65504, bf16 = 1e15, f32 = 1e15, f64 = 1e150 })[dtype]
    return large and { 0 / 0, math.huge, -math.huge, large, -large }
end

of("np.nn.cosine_similarity", {
    args = { { "x", special = norms }, { "y", special = norms } }, accepts = "floats ints bool",
    shapes = { { { 2, 3 }, { 2, 3 } }, { { 3 }, { 3 } }, { { 2, 3 }, { 3 } }, { { 2, 3 }, { 2, 1 } },
               { { 1, 3 }, { 3, 1 } }, { { 0, 3 }, { 0, 3 } }, { { 4 }, {} } },
    options = { {}, { axis = 0 }, { epsilon = 2.5 } },
    oracle = "F.cosine_similarity(T(x), T(y), dim=o.get('axis', -1), eps=o.get('epsilon', 1e-8))",
    within = { f64 = "abs 2e-15", f32 = "abs 1e-6", f16 = "ulp 1", bf16 = "ulp 1" },
    divided = { f64 = "abs 2e-15", f32 = "abs 1e-6", f16 = "ulp 1", bf16 = "ulp 1" },
})

-- ---- Of sequences ---------------------------------------------------------------------------------------------------

of("np.nn.ctc_loss", {
    args = { { "x", from = -4, to = 0 }, { "labels", dtype = "i32", from = 1, to = 2 } }, accepts = "floats",
    gives = "same", shapes = { { { 2, 6, 3 }, { 2, 3 } }, { { 1, 5, 3 }, { 1, 2 } } }, special = false,
    options = { {}, { reduction = "none" }, { reduction = "sum", zero_infinity = true }, { cut = true } },
    call = function(f, o, x, labels)
        local given = { reduction = o.reduction, zero_infinity = o.zero_infinity, nonsense = o.nonsense }
        if o.cut then -- the first example is shorter, and blanks are the last class
            local n = x:dim(0)
            given.input_lengths = np.minimum(np.full({ n }, 4, { dtype = "i32" }), x:dim(1))
            given.label_lengths = np.ones({ n }, { dtype = "i32" })
            given.blank, labels = 2, labels - 1
        end
        return f(np.log_softmax(x), labels, next(given) and given or nil)
    end,
    unseen = { input_lengths = "the case `cut`", label_lengths = "the case `cut`", blank = "the case `cut`" },
    oracle = "ctc(x, labels, o)", within = { f64 = "scaled 1e-13", f32 = "scaled 2e-6", f16 = "scaled 2e-3",
                                             bf16 = "scaled 2e-2" },
    divided = { f64 = "scaled 1e-13", f32 = "scaled 2e-6", f16 = "scaled 2e-3", bf16 = "scaled 2e-2" },
    vmapped = { f64 = "scaled 1e-13", f32 = "scaled 2e-6", f16 = "scaled 2e-3", bf16 = "scaled 2e-2" }, slope = 1e-5,
    without = { numbers = "labels are integers", special = "sums of probabilities" },
    refuses = { { "batch, time, classes", function()
                    nn.ctc_loss(np.ones { 2, 3 }, np.ones({ 2, 1 }, { dtype = "i32" }))
                end },
                { "blank", function()
                    nn.ctc_loss(np.ones { 1, 2, 3 }, np.ones({ 1, 1 }, { dtype = "i32" }), { blank = 3 })
                end } },
    also = { ["np.nn.ctc_loss: labels that do not fit"] = function()
        local x, labels = np.log_softmax(np.ones { 1, 2, 3 }), np.array({ { 1, 1 } }, { dtype = "i32" })
        check.equal(nn.ctc_loss(x, labels):item(), math.huge)
        check.equal(nn.ctc_loss(x, labels, { zero_infinity = true }):item(), 0)
        local g = np.grad(function(v) return nn.ctc_loss(v, labels, { zero_infinity = true }) end)(x)
        check.equal(np.sum(np.abs(g)):item(), 0)
    end, ["np.nn.ctc_loss: labels and lengths that cannot be"] = function()
        local x = np.log_softmax(np.random.normal(np.random.key(0), { 2, 5, 3 }))
        local function i32(t) return np.array(t, { dtype = "i32" }) end
        local function loss(labels, lengths, turns)
            return nn.ctc_loss(x, i32(labels), { label_lengths = lengths and i32(lengths), reduction = "none",
                                                 input_lengths = turns and i32(turns) })
        end
        check.raises(function() loss { { 1, 3 }, { 1, 2 } } end, "a label is 3, and there are 3 classes, from 0")
        check.raises(function() loss { { 1, 2 }, { -1, 2 } } end, "a label is %-1")
        check.raises(function() loss { { 1, 0 }, { 1, 2 } } end, "a label is 0, the blank")
        check.raises(function() loss({ { 1, 2 }, { 1, 2 } }, { 3, 1 }) end,
                     "option 'label_lengths' has 3, and an example has 2")
        check.raises(function() loss({ { 1, 2 }, { 1, 2 } }, nil, { 5, 6 }) end,
                     "option 'input_lengths' has 6, and an example has 5")
        check.raises(function() loss({ { 1, 2 }, { 1, 2 } }, nil, { 5, -1 }) end, "has %-1")
        -- What is behind the labels may be anything.
        check.equal(loss({ { 1, 7 }, { 2, -1 } }, { 1, 1 }):totable(), loss({ { 1, 1 }, { 2, 1 } }, { 1, 1 }):totable())
        local jitted = np.jit(function(labels, lengths)
            return nn.ctc_loss(x, labels, { label_lengths = lengths, reduction = "none" })
        end)
        local seen = jitted(i32 { { 1, 3 }, { 1, 9 } }, i32 { 2, 1 }):totable()
        check.ok(seen[1] ~= seen[1] and seen[2] == loss({ { 1, 1 }, { 1, 1 } }, { 2, 1 }):totable()[2])
        -- Without a turn nothing is said, as in PyTorch.
        check.equal(loss({ { 1, 2 }, { 1, 2 } }, { 0, 1 }, { 0, 0 }):totable(), { 0, math.huge })
    end },
})

-- ---- Of margins and likelihoods -------------------------------------------------------------------------------------

local SIGN = { "t", dtype = "f64", make = function(random, dims, _)
    local list, size = {}, 1
    for _, n in ipairs(dims) do size = size * n end
    for k = 1, size do list[k] = random(2) * 2 - 3 end
    return np.array(list, { dtype = "f64" }):reshape(dims)
end, grad = false }
local ROWS = { { { 2, 3 }, { 2, 3 }, { 2, 3 } }, { { 4 }, { 4 }, { 4 } } }

--- A contract of a loss that is PyTorch's: arguments by name; `drawn` says how.
local function of_torch(name, args, shapes, options, refused)
    local names = {}
    for k, spec in ipairs(args) do names[k] = spec[1] end
    of("np.nn." .. name, {
        args = args, accepts = "f64", gives = "f64", shapes = shapes, options = options, within = WEIGHTED,
        divided = WEIGHTED, vmapped = WEIGHTED, special = false,
        oracle = ("torch_loss(%q, o, %s)"):format(name, table.concat(names, ", ")), refuses = refused,
        without = { special = "kinks apart it is made of sums and products", numbers = "the test of f16",
                    integers = "options are numbers, not places" },
        also = { ["np.nn." .. name .. " of halves is rounded once"] = function()
            local halves, wide = {}, {}
            for k, dims in ipairs(shapes[1]) do
                local x = np.random.uniform(np.random.key(k), dims, { minval = 0.25, maxval = 1, dtype = "f16" })
                halves[k], wide[k] = x, x:astype "f32"
            end
            local got = nn[name](unpack(halves))
            check.equal({ got.dtype, got:item() }, { "f16", nn[name](unpack(wide)):astype("f16"):item() })
        end },
    })
end

local X, Y, Z = { "x" }, { "y" }, { "z" }
of_torch("margin_ranking_loss", { X, Y, SIGN }, ROWS,
         { {}, { margin = 0.5, reduction = "none" }, { reduction = "sum" } })
of_torch("soft_margin_loss", { X, SIGN }, { { { 2, 3 }, { 2, 3 } }, { { 4 }, { 4 } } }, { {}, { reduction = "none" } })
of_torch("hinge_embedding_loss", { X, SIGN }, { { { 2, 3 }, { 2, 3 } } }, { {}, { margin = 0.5, reduction = "none" } })
of_torch("triplet_margin_loss", { X, Y, Z }, ROWS, { {}, { margin = 2, p = 1, swap = true, reduction = "none" },
                                                    { p = 3, epsilon = 0.01, reduction = "sum" } })
of_torch("cosine_embedding_loss", { X, Y, SIGN }, { { { 2, 3 }, { 2, 3 }, { 2 } } },
         { {}, { margin = 0.25, reduction = "none" } })
of_torch("poisson_nll_loss", { { "x", from = 0.5, to = 2 }, { "y", from = 1.5, to = 5 } }, { { { 2, 3 }, { 2, 3 } } },
         { {}, { log_input = false, full = true, reduction = "none" }, { log_input = false, epsilon = 0.5 } })
of_torch("gaussian_nll_loss", { X, Y, { "z", from = 0.5, to = 2 } }, ROWS,
         { {}, { full = true, epsilon = 0.001, reduction = "none" } })

finish()
