--- np.metrics: how well predictions fit, and how data are split to find out, under the names of scikit-learn.
--
-- Labels are integers, bools or other numbers that are compared. Scores count in f64 and are rounded once: to f32,
-- where all arguments have at most 32 bits, else they are f64.

--- {average}: of which classes: "binary": pos_label alone; "macro": the mean over labels, "weighted": by how often they
-- are true, "micro": of all counts together, "none": each label's own, an array
--- {labels}: the labels of classes, a table or an array; without it those that there are, which waits for values
--- {pos_label}: the label that counts as positive; 1 without it
--- {zero_division}: what stands for a quotient of which both sides are 0; 0 without it
--- {multioutput}: of several columns: "uniform_average": the mean of their scores, "raw_values": each one's own, an
-- array

local core = require "neap.core"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"
local samples = require "neap.stats.samples"
local ranks = require "neap.stats.ranks"

local np, raise, bad_argument = core.np, core.raise, core.bad_argument

local metrics = {}

-- ---- Labels ---------------------------------------------------------------------------------------------------------

--- True and predicted labels of np.metrics.NAME: two arrays of one axis and as many elements.
local function read_labels(name, y_true, y_pred)
    if y_pred == nil then bad_argument(name, 2, "y_pred", "an array", nil) end
    y_true, y_pred = operands.compared(name, 2, y_true, y_pred)
    for k, y in ipairs { y_true, y_pred } do
        if core.ndim(y) ~= 1 then
            raise(name, "argument %d must have one axis, got shape %s", k, core.shape_text(y))
        end
    end
    samples.alike(name, y_true, y_pred)
    if samples.count(y_true, 0) == 0 then raise(name, "there are no labels") end
    return y_true, y_pred
end

--- The name of the dtype of a score of arrays.
local function score_dtype(...)
    local met = np.result_type(...)
    local row = core.dtypes[core.dtype_codes[met]]
    return row.inexact and met or row.real
end

--- The option `labels`, or all labels that there are.
local function labels_of(name, given, y_true, y_pred)
    if given == nil then return np.unique(np.concatenate({ np.ravel(y_true), np.ravel(y_pred) })) end
    local labels = type(given) == "table" and np.array(given) or core.coerce(name, 3, given)
    if core.ndim(labels) ~= 1 or labels.size == 0 then
        bad_argument(name, nil, "labels", "a table or an array of labels", given)
    end
    return labels
end

--- Which elements have which label: (n, labels), as f64.
local function masks(y, labels)
    return np.astype(np.equal(np.expand_dims(y, -1), labels), "f64")
end

--- np.metrics.accuracy_score(y_true, y_pred): which part of the labels is predicted.
--- > np.metrics.accuracy_score(np.array{0, 1, 2, 1}, np.array{0, 1, 1, 1})
-- 0.75
function metrics.accuracy_score(y_true, y_pred, extra)
    if extra ~= nil then core.too_many("metrics.accuracy_score", 2, extra) end
    local dtype
    y_true, y_pred = read_labels("metrics.accuracy_score", y_true, y_pred)
    dtype = score_dtype(y_true, y_pred)
    return np.astype(np.mean(np.astype(np.equal(y_true, y_pred), "f64")), dtype)
end

--- np.metrics.confusion_matrix(y_true, y_pred, {labels=…}): how often which label, a row, is predicted as which, a
-- column: i32 of (labels, labels). Labels that are not among `labels` are left out.
--- > np.metrics.confusion_matrix(np.array{0, 1, 2, 1}, np.array{0, 1, 1, 1}, {labels={0, 1, 2}})
-- [[1 0 0]
--  [0 2 0]
--  [0 1 0]]
function metrics.confusion_matrix(y_true, y_pred, given, extra)
    local name = "metrics.confusion_matrix"
    local o = samples.options(name, given, { labels = true }, extra, 3)
    y_true, y_pred = read_labels(name, y_true, y_pred)
    local labels = labels_of(name, o.labels, y_true, y_pred)
    return np.astype(np.matmul(np.matrix_transpose(masks(y_true, labels)), masks(y_pred, labels)), "i32")
end

local AVERAGES = { binary = true, macro = true, micro = true, weighted = true, none = true }
local CLASSES = { average = true, labels = true, pos_label = true, zero_division = true }

--- A score of classes that is a quotient of counts: `parts(hits, predicted, true)` gives its two sides.
local function class_score(name, parts, y_true, y_pred, given, extra)
    name = "metrics." .. name
    local o = samples.options(name, given, CLASSES, extra, 3)
    local average, otherwise = o.average == nil and "binary" or o.average, o.zero_division or 0
    if not AVERAGES[average] then
        bad_argument(name, nil, "average", '"binary", "macro", "micro", "weighted" or "none"', average)
    end
    if type(otherwise) ~= "number" then bad_argument(name, nil, "zero_division", "a number", otherwise) end
    y_true, y_pred = read_labels(name, y_true, y_pred)
    local dtype = score_dtype(y_true, y_pred)
    local binary = { o.pos_label == nil and 1 or o.pos_label }
    local labels = labels_of(name, average == "binary" and binary or o.labels, y_true, y_pred)
    local seen, told = masks(y_true, labels), masks(y_pred, labels)
    local over = average ~= "micro" and { axis = 0 } or nil
    local there = np.sum(seen, over)
    local top, bottom = parts(np.sum(seen * told, over), np.sum(told, over), there)
    local none = np.equal(bottom, 0)
    local score = np.where(none, otherwise, top / np.where(none, 1, bottom))
    if average == "binary" then
        score = np.squeeze(score, 0)
    elseif average == "macro" then
        score = np.mean(score)
    elseif average == "weighted" then
        local total = np.sum(there)
        score = np.where(np.equal(total, 0), otherwise, np.sum(score * there) / np.maximum(total, 1))
    end
    return np.astype(score, dtype)
end

--- np.metrics.precision_score(y_true, y_pred, {average="binary", labels=…, pos_label=1, zero_division=0}): which part
-- of those that are predicted as a class is of it.
--- > np.metrics.precision_score(np.array{0, 1, 1, 0}, np.array{1, 1, 1, 0})
-- 0.6666667
function metrics.precision_score(...)
    return class_score("precision_score", function(hits, predicted) return hits, predicted end, ...)
end

--- np.metrics.recall_score(y_true, y_pred, {average="binary", labels=…, pos_label=1, zero_division=0}): which part of
-- those of a class is predicted as such.
--- > np.metrics.recall_score(np.array{0, 1, 1, 0}, np.array{1, 1, 1, 0}, {average="none", labels={0, 1}})
-- [0.5 1. ]
function metrics.recall_score(...)
    return class_score("recall_score", function(hits, _, there) return hits, there end, ...)
end

--- np.metrics.f1_score(y_true, y_pred, {average="binary", labels=…, pos_label=1, zero_division=0}): the harmonic mean
-- of precision and recall.
--- > np.metrics.f1_score(np.array{0, 1, 1, 0}, np.array{1, 1, 1, 0})
-- 0.8
function metrics.f1_score(...)
    return class_score("f1_score", function(hits, predicted, there) return 2 * hits, predicted + there end, ...)
end

-- ---- Scores of two classes ------------------------------------------------------------------------------------------

--- Which labels are positive, as f64, and the scores, of which the order counts, of one axis; the dtype of the result.
local function read_scores(name, y_true, y_score, pos_label)
    if y_score == nil then bad_argument(name, 2, "y_score", "an array", nil) end
    local narrow, list = samples.ordered(name, 0, { y_score })
    y_true = type(y_true) == "table" and np.array(y_true) or core.coerce(name, 1, y_true)
    if core.ndim(y_true) ~= 1 or core.ndim(list[1]) ~= 1 then
        raise(name, "expected arrays of one axis, got shapes %s and %s", core.shape_text(y_true),
              core.shape_text(list[1]))
    end
    samples.alike(name, y_true, list[1])
    return np.astype(np.equal(y_true, pos_label == nil and 1 or pos_label), "f64"), list[1], narrow
end

--- np.metrics.roc_auc_score(y_true, y_score): the area under the curve of np.metrics.roc_curve: the probability that a
-- positive one, whose label is 1, has a greater score than another; NaN where all are positive or none is.
--- > np.metrics.roc_auc_score(np.array{0, 0, 1, 1}, np.array{0.1, 0.4, 0.35, 0.8})
-- 0.75
function metrics.roc_auc_score(y_true, y_score, extra)
    if extra ~= nil then core.too_many("metrics.roc_auc_score", 2, extra) end
    local positive, score, narrow = read_scores("metrics.roc_auc_score", y_true, y_score)
    local n, m = samples.count(score, 0), np.sum(positive)
    local sum = np.sum(positive * ranks.of(score, "average"))
    return operands.narrow((sum - m * (m + 1) / 2) / (m * (n - m)), narrow)
end

--- np.metrics.roc_curve(y_true, y_score, {pos_label=1, drop_intermediate=true}) -> fpr, tpr, thresholds: which part of
-- the others, and of the positive ones, has a score of at least each threshold, from infinity down; NaN where there are
-- none. Waits for values, as they say how many points there are.
--- drop_intermediate: false keeps points between two others on a straight line
--- > np.metrics.roc_curve(np.array{0, 0, 1, 1}, np.array{0.1, 0.4, 0.35, 0.8})
-- [0.  0.  0.5 0.5 1. ]
-- [0.  0.5 0.5 1.  1. ]
-- [ inf 0.8  0.4  0.35 0.1 ]
function metrics.roc_curve(y_true, y_score, given, extra)
    local name = "metrics.roc_curve"
    local o = samples.options(name, given, { pos_label = true, drop_intermediate = true }, extra, 3)
    local positive, score, narrow = read_scores(name, y_true, y_score, o.pos_label)
    local n = samples.count(score, 0)
    if n == 0 then raise(name, "there are no scores") end
    if np.any(np.isnan(score)):item() then raise(name, "argument 2 (y_score) has elements that are NaN") end
    local order = np.argsort(score, { descending = true })
    local sorted = np.take(score, order)
    local changes = np.not_equal(shape.cut(sorted, 0, 1, n), shape.cut(sorted, 0, 0, n - 1))
    local last = np.concatenate({ changes, np.ones({ 1 }, { dtype = "bool" }) })
    local at = np.nonzero(last)
    local hits = np.take(np.cumsum(np.take(positive, order)), at)
    local others, thresholds = np.astype(at + 1, "f64") - hits, np.astype(np.take(sorted, at), "f64")
    if o.drop_intermediate ~= false and at:dim(0) > 2 then
        local function bends(x) return np.not_equal(np.diff(np.diff(x)), 0) end
        local ends = np.ones({ 1 }, { dtype = "bool" })
        local kept = np.nonzero(np.concatenate({ ends, np.logical_or(bends(hits), bends(others)), ends }))
        hits, others, thresholds = np.take(hits, kept), np.take(others, kept), np.take(thresholds, kept)
    end
    local function curve(counts)
        return np.concatenate({ np.zeros({ 1 }, { dtype = "f64" }), counts }) / counts[-1]
    end
    local start = np.full({ 1 }, np.inf, { dtype = "f64" })
    return samples.results(narrow, curve(others), curve(hits), np.concatenate({ start, thresholds }))
end

--- np.metrics.log_loss(y_true, y_pred): the mean of -log of the probability that was predicted for the true label.
-- y_pred has probabilities of label 1, (n), or of the labels 0, 1, …, (n, labels); they are kept as far from 0 and 1 as
-- the distance from 1 to the next number of their dtype. NaN for labels that are none of these.
--- > np.metrics.log_loss(np.array{0, 1}, np.array{0.1, 0.8})
-- 0.16425203
function metrics.log_loss(y_true, y_pred, extra)
    local name = "metrics.log_loss"
    if extra ~= nil then core.too_many(name, 2, extra) end
    if y_pred == nil then bad_argument(name, 2, "y_pred", "an array", nil) end
    local narrow, list = samples.read(name, 0, { y_pred })
    local p = list[1]
    y_true = type(y_true) == "table" and np.array(y_true) or core.coerce(name, 1, y_true)
    if core.ndim(p) == 1 then p = np.stack({ 1 - p, p }, { axis = 1 }) end
    local n = samples.count(p, 0)
    if core.ndim(p) ~= 2 or core.ndim(y_true) ~= 1 or not core.is_same(samples.count(y_true, 0), n) then
        raise(name, "expected labels (n) and probabilities (n) or (n, labels), got shapes %s and %s",
              core.shape_text(y_true), core.shape_text(list[1]))
    end
    local eps = np.finfo(narrow or "f64").eps
    local chosen = masks(y_true, np.arange(samples.count(p, 1)))
    local known = np.greater(np.sum(chosen, { axis = 1 }), 0)
    local loss = 0 - np.sum(chosen * np.log(np.clip(p, eps, 1 - eps)), { axis = 1 })
    return operands.narrow(np.mean(np.where(known, loss, np.nan)), narrow)
end

-- ---- Scores of numbers ----------------------------------------------------------------------------------------------

--- A score of columns of f64: f(y_true, y_pred) gives one a column.
local function number_score(name, f, y_true, y_pred, given, extra)
    name = "metrics." .. name
    local o = samples.options(name, given, { multioutput = true }, extra, 3)
    local how = o.multioutput == nil and "uniform_average" or o.multioutput
    if how ~= "uniform_average" and how ~= "raw_values" then
        bad_argument(name, nil, "multioutput", '"uniform_average" or "raw_values"', how)
    end
    if y_pred == nil then bad_argument(name, 2, "y_pred", "an array", nil) end
    local narrow, list = samples.read(name, 0, { y_true, y_pred })
    samples.alike(name, list[1], list[2])
    if core.ndim(list[1]) > 2 then
        raise(name, "expected arrays of one or two axes, got shape %s", core.shape_text(list[1]))
    end
    local columns = core.ndim(list[1]) == 1 and { np.expand_dims(list[1], 1), np.expand_dims(list[2], 1) } or list
    local score = f(columns[1], columns[2])
    return operands.narrow(how == "raw_values" and score or np.mean(score), narrow)
end

--- np.metrics.mean_squared_error(y_true, y_pred, {multioutput="uniform_average"}): the mean of squared differences.
--- > np.metrics.mean_squared_error(np.array{1, 2, 3}, np.array{1, 2, 5})
-- 1.3333334
function metrics.mean_squared_error(...)
    return number_score("mean_squared_error", function(a, b) return np.mean(np.square(a - b), { axis = 0 }) end, ...)
end

--- np.metrics.mean_absolute_error(y_true, y_pred, {multioutput="uniform_average"}): the mean size of differences.
--- > np.metrics.mean_absolute_error(np.array{1, 2, 3}, np.array{1, 2, 5})
-- 0.6666667
function metrics.mean_absolute_error(...)
    return number_score("mean_absolute_error", function(a, b) return np.mean(np.abs(a - b), { axis = 0 }) end, ...)
end

--- np.metrics.r2_score(y_true, y_pred, {multioutput="uniform_average"}): the coefficient of determination: 1 less the
-- sum of squared differences over that of y_true from its mean. Where all of y_true is equal: 1 if y_pred is, too, else
-- 0. NaN for fewer than two elements.
--- > np.metrics.r2_score(np.array{1, 2, 3, 4}, np.array{1, 2, 3, 5})
-- 0.8
function metrics.r2_score(...)
    return number_score("r2_score", function(a, b)
        local left = np.sum(np.square(a - b), { axis = 0 })
        local _, off = samples.centered(a, 0)
        local all = np.sum(off * off, { axis = 0 })
        local flat = np.equal(all, 0)
        local score = np.where(flat, np.where(np.equal(left, 0), 1, 0 * left), 1 - left / np.where(flat, 1, all))
        local more = samples.count(a, 0) - 1
        return score * (more / more) -- 0 / 0 of one element
    end, ...)
end

-- ---- Splits ---------------------------------------------------------------------------------------------------------

--- np.metrics.train_test_split(key, x, y, …, {test_size=0.25}) -> train, test, …: arrays that are divided along axis 0
-- in one random order, which depends on the key alone: of each array first the part to train with, then that to test.
--- test_size: which part is for testing, between 0 and 1, rounded up to whole elements; or how many elements, from 1
--- > np.metrics.train_test_split(np.random.key(0), np.arange(5), {test_size=2})
-- [4 3 2]
-- [0 1]
function metrics.train_test_split(key, ...)
    local name, list, given = "metrics.train_test_split", { ... }, nil
    local count = select("#", ...)
    local last = list[count]
    if type(last) == "table" and getmetatable(last) == nil and last[1] == nil then given, count = last, count - 1 end
    local o = samples.options(name, given, { test_size = true })
    if count < 1 then raise(name, "expected an array or more behind the key") end
    for k = 1, count do
        local x = list[k]
        if not core.is_array(x) or core.ndim(x) == 0 then bad_argument(name, k + 1, "x", "an array with an axis", x) end
        if samples.count(x, 0) ~= samples.count(list[1], 0) then
            raise(name, "arrays of %d and %d elements", samples.count(list[1], 0), samples.count(x, 0))
        end
    end
    local n, size = samples.count(list[1], 0), o.test_size == nil and 0.25 or o.test_size
    local whole = type(size) == "number" and size >= 1 and size == math.floor(size)
    local tests = whole and size or type(size) == "number" and size > 0 and size < 1 and math.ceil(size * n) or 0
    if tests < 1 or tests >= n then
        bad_argument(name, nil, "test_size", ("a part between 0 and 1, or 1 to %d elements"):format(n - 1), size)
    end
    local order, parts = np.random.permutation(key, n), {}
    local test, train = np.take(order, np.arange(tests)), np.take(order, np.arange(tests, n))
    for k = 1, count do
        parts[2 * k - 1], parts[2 * k] = np.take(list[k], train, { axis = 0 }), np.take(list[k], test, { axis = 0 })
    end
    return unpack(parts)
end

--- np.metrics.kfold(n, k, {key=…}) -> list: n places (i32) divided into k parts to test with, one after the other: for
-- each { train, test }, in rising order. The first parts have one more where k does not divide n.
--- key: a key of np.random, by which places are put in random order before
--- > for _, fold in ipairs(np.metrics.kfold(5, 2)) do print(fold.train, fold.test) end
-- [3 4]	[0 1 2]
-- [0 1 2]	[3 4]
function metrics.kfold(n, k, given, extra)
    local name = "metrics.kfold"
    local o = samples.options(name, given, { key = true }, extra, 3)
    n = core.integer(name, 1, "n", n, 2)
    k = core.integer(name, 2, "k", k, 2, n)
    local order, folds, from = o.key and np.random.permutation(o.key, n) or np.arange(n), {}, 0
    for part = 1, k do
        local to = from + math.floor(n / k) + (part <= n % k and 1 or 0)
        local test = np.take(order, np.arange(from, to))
        local train = np.take(order, np.concatenate({ np.arange(from), np.arange(to, n) }))
        folds[part] = { train = np.sort(train), test = np.sort(test) }
        from = to
    end
    return folds
end

core.np.metrics = metrics

return metrics
