--- metrics_test.lua: contracts of np.metrics (tests/lib/contracts.lua).
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local of, finish, _, elsewhere, held = require "tests.lib.contracts" "metrics"

local LABELS = "labels have no slope"
local NO_NUMBER = "a number has no axis"
local NEAR = { f64 = "mixed 1e-14", f32 = "mixed 3e-7" }

--- Labels from 0 to `most`.
local function labels(name, most)
    return { name, dtype = "i32", from = 0, to = most }
end

local function classes(name, more)
    local contract = {
        args = { labels("y", 2), labels("p", 2) }, accepts = "i32", shapes = { { { 12 }, { 12 } }, { { 6 }, { 6 } } },
        options = { { average = "macro" }, { average = "none" }, { average = "micro" }, { average = "weighted" },
                    { average = "macro", labels = { 2, 0 } },
                    { average = "macro", labels = { 5, 0 }, zero_division = 1 },
                    { average = "binary", pos_label = 2 } },
        call = function(f, o, y, p) return f(y, p, next(o) and o) end,
        waits = function(o) return o.labels == nil and o.average ~= "binary" end,
        oracle = "classes(metrics." .. name .. ", y, p, o)", gives = "f32", special = false, within = NEAR,
        without = { special = "labels are compared, and nothing else", derivatives = LABELS, numbers = NO_NUMBER,
                    sizes = "labels wait for values, or are given in a table" },
    }
    for key, value in pairs(more or {}) do contract[key] = value end
    of("np.metrics." .. name, contract)
end

local BAD = { { '"micro"', function()
    np.metrics.precision_score(np.zeros(3), np.zeros(3), { average = "mean" })
end }, { "one shape", function() np.metrics.precision_score(np.zeros(3), np.zeros(4)) end } }

classes("precision_score", { refuses = BAD })
classes("recall_score")
classes("f1_score")
classes("accuracy_score", {
    options = { {} }, oracle = "metrics.accuracy_score(y, p)", waits = function() return false end,
    refuses = { { "one axis", function() np.metrics.accuracy_score(np.zeros { 2, 2 }, np.zeros { 2, 2 }) end },
                { "no labels", function() np.metrics.accuracy_score(np.zeros(0), np.zeros(0)) end },
                { "argument 2", function() np.metrics.accuracy_score(np.zeros(3)) end } },
    also = { ["dtypes"] = function()
        local y = np.array({ 1, 2, 3 }, { dtype = "i64" })
        check.equal(np.metrics.accuracy_score(y, y).dtype, "f64")
    end },
})
classes("confusion_matrix", {
    options = { {}, { labels = { 2, 0, 1 } }, { labels = { 0, 7 } } }, gives = "i32",
    oracle = "metrics.confusion_matrix(y, p, labels=o.get('labels'))",
    waits = function(o) return o.labels == nil end,
})

-- ---- Scores ---------------------------------------------------------------------------------------------------------

--- Labels 0 and 1 by turns, so that there are both.
local function two(_, dims)
    local list = {}
    for k = 1, dims[1] do list[k] = k % 2 end
    return np.array(list, { dtype = "i32" })
end

--- Scores among which some are equal.
local function scores(random, dims, dtype)
    local list = {}
    for k = 1, dims[1] do list[k] = random(7) / 8 end
    return np.array(list, { dtype = dtype })
end

local SCORED = {
    args = { { "y", make = two }, { "s", make = scores } }, accepts = "f64 f32", within = NEAR, special = false,
    shapes = { { { 16 }, { 16 } }, { { 3 }, { 3 } } },
    without = { special = "one class alone, and NaN, have a test of their own", derivatives = "ranks have no slope",
                numbers = NO_NUMBER },
}
local function scored(name, more)
    local contract = {}
    for key, value in pairs(SCORED) do contract[key] = value end
    for key, value in pairs(more) do contract[key] = value end
    of("np.metrics." .. name, contract)
end

scored("roc_auc_score", {
    oracle = "metrics.roc_auc_score(y, s)",
    also = { ["one class"] = function()
        local auc = np.metrics.roc_auc_score(np.ones(3), np.array { 1, 2, 3 }):item()
        check.ok(auc ~= auc, auc)
        auc = np.metrics.roc_auc_score(np.array { 0, 1 }, np.array { 1, 0 / 0 }):item()
        check.ok(auc ~= auc, auc)
    end, ["integers beyond 2^53"] = function()
        local wide = np.array({ 9007199254740992LL, 9007199254740993LL }, { dtype = "i64" })
        check.equal(np.metrics.roc_auc_score(np.array { 0, 1 }, wide):item(), 1)
    end },
    refuses = { { "one axis", function() np.metrics.roc_auc_score(np.ones(3), np.ones { 3, 2 }) end },
                { "one shape", function() np.metrics.roc_auc_score(np.ones(3), np.ones(4)) end } },
})
scored("roc_curve", {
    options = { {}, { drop_intermediate = false }, { pos_label = 0 } }, oracle = "metrics.roc_curve(y, s, **o)",
    waits = function() return true end,
    also = { ["equal infinities are one threshold"] = function()
        local inf = math.huge
        local fpr, tpr, thresholds = np.metrics.roc_curve(np.array { 1, 0, 1, 0 }, np.array { inf, inf, 0, -inf })
        check.equal({ fpr:totable(), tpr:totable(), thresholds:totable() },
                    { { 0, 0.5, 0.5, 1 }, { 0, 0.5, 1, 1 }, { inf, inf, 0, -inf } })
    end, ["integers beyond 2^53"] = function()
        local wide = np.array({ 9007199254740992LL, 9007199254740993LL }, { dtype = "i64" })
        local fpr, tpr = np.metrics.roc_curve(np.array { 0, 1 }, wide)
        check.equal({ fpr:totable(), tpr:totable() }, { { 0, 0, 1 }, { 0, 1, 1 } })
    end },
    refuses = { { "NaN", function() np.metrics.roc_curve(np.array { 0, 1 }, np.array { 0 / 0, 1 }) end },
                { "no scores", function() np.metrics.roc_curve(np.zeros(0), np.zeros(0)) end } },
    without = { special = SCORED.without.special, derivatives = SCORED.without.derivatives, numbers = NO_NUMBER,
                jit = "how many points there are is a value", programs = "how many points there are is a value",
                vmap = "how many points there are is a value" },
})
of("np.metrics.log_loss", {
    args = { { "y", dtype = "i32", from = 0, to = 1 }, { "p", from = 0.2, to = 0.8 } }, accepts = "f64 f32",
    shapes = { { { 9 }, { 9 } }, { { 8 }, { 8, 2 } } }, within = { f64 = "mixed 1e-13", f32 = "mixed 1e-6" },
    oracle = "metrics.log_loss(y, p, labels=[0, 1])", special = false,
    divided = { f64 = "mixed 1e-13", f32 = "mixed 1e-6" }, slope = 1e-5,
    without = { special = "the ends have a test of their own", numbers = NO_NUMBER },
    also = { ["the ends, and no label"] = function()
        local loss = np.metrics.log_loss(np.array { 0, 1 }, np.array({ 0, 0 }, { dtype = "f64" })):item()
        check.close(loss, 52 * math.log(2) / 2, 1e-12)
        loss = np.metrics.log_loss(np.array { 0, 2 }, np.array { 0.5, 0.5 }):item()
        check.ok(loss ~= loss, loss)
    end },
    refuses = { { "expected labels", function() np.metrics.log_loss(np.zeros(3), np.zeros(4)) end } },
})

local function numbers(name, more)
    local contract = {
        args = { "y", "p" }, accepts = "f64 f32 i32", shapes = { { { 6 }, { 6 } }, { { 4, 2 }, { 4, 2 } } },
        options = { {}, { multioutput = "raw_values" } }, oracle = "metrics." .. name .. "(y, p, **o)",
        within = { f64 = "mixed 1e-13", f32 = "mixed 1e-6" }, special = false, slope = 1e-5,
        divided = { f64 = "mixed 1e-13", f32 = "mixed 1e-6" },
        without = { special = "where one element is no number the score is none", numbers = NO_NUMBER },
        refuses = { { "one shape", function() np.metrics[name](np.ones(3), np.ones(4)) end },
                    { '"raw_values"', function()
                        np.metrics[name](np.ones(3), np.ones(3), { multioutput = "mean" })
                    end } },
    }
    for key, value in pairs(more or {}) do contract[key] = value end
    of("np.metrics." .. name, contract)
end

numbers "mean_squared_error"
numbers "mean_absolute_error"
numbers("r2_score", {
    also = { ["equal numbers"] = function()
        check.equal(np.metrics.r2_score(np.ones(3), np.ones(3)):item(), 1)
        check.equal(np.metrics.r2_score(np.ones(3), np.array { 1, 1, 2 }):item(), 0)
        local one = np.metrics.r2_score(np.ones(1), np.ones(1)):item()
        check.ok(one ~= one, one)
    end },
})

-- ---- Splits ---------------------------------------------------------------------------------------------------------

held("np.metrics.train_test_split np.metrics.kfold", "each place is in one part, and in the same of all arrays", {
    ["train_test_split"] = function()
        local x, y = np.arange(10), np.arange(20):reshape { 10, 2 }
        for size, tests in pairs { [0.25] = 3, [0.3] = 3, [4] = 4, [1] = 1 } do
            local a, b, c, d = np.metrics.train_test_split(np.random.key(3), x, y, { test_size = size })
            check.equal(b.size, tests)
            check.equal(np.sort(np.concatenate { a, b }):totable(), x:totable())
            check.equal(c:totable(), y[a]:totable())
            check.equal(d:totable(), y[b]:totable())
        end
        check.equal(select("#", np.metrics.train_test_split(np.random.key(3), x)), 2)
        for _, size in ipairs { 0, 10, -1, 1.5, "x" } do
            check.raises(function() np.metrics.train_test_split(np.random.key(3), x, { test_size = size }) end,
                         "test_size")
        end
        check.raises(function() np.metrics.train_test_split(np.random.key(3), x, np.ones(9)) end, "10 and 9")
        check.raises(function() np.metrics.train_test_split(1, x) end, "key")
    end,
    ["kfold"] = function()
        for _, key in ipairs { false, np.random.key(5) } do
            local all, sizes = {}, {}
            for k, fold in ipairs(np.metrics.kfold(11, 3, { key = key or nil })) do
                all[k], sizes[k] = fold.test, fold.test.size
                check.equal(np.sort(np.concatenate { fold.train, fold.test }):totable(), np.arange(11):totable())
            end
            check.equal(sizes, { 4, 4, 3 }) -- as scikit-learn's KFold
            check.equal(np.sort(np.concatenate(all)):totable(), np.arange(11):totable())
        end
        check.raises(function() np.metrics.kfold(3, 4) end, "argument 2")
        check.raises(function() np.metrics.kfold(3, 1) end, "argument 2")
    end,
})
elsewhere("np.metrics", "tests/contracts/metrics_test.lua", "the table of the functions that this file holds")

finish()
