--- labels.lua: losses of scores of classes and labels, for np.nn: cross_entropy, nll_loss, and accuracy. Options and
-- what they mean together are PyTorch's.
--
-- A label out of range is an error where labels can be read (bounds.lua). Elsewhere the loss is NaN: a sum that left it
-- out, or took another class, would say nothing.
local core = require "neap.core"
local operands = require "neap.arrays.operands"
local create = require "neap.arrays.create"
local shape = require "neap.arrays.shape"
local bounds = require "neap.nn.bounds"

local np = core.np
local raise, bad_argument, coerce, options = core.raise, core.bad_argument, core.coerce, core.options
local shape_of = core.shape_of

-- ---- Labels ---------------------------------------------------------------------------------------------------------

--- Raises unless labels have the shape (…) of scores x of shape (…, n). `what`: x in errors.
local function check_shape(name, x, labels, what)
    local dims, wanted = shape_of(x), shape_of(labels)
    if table.remove(dims) == nil or not shape.same(dims, wanted) then
        raise(name, "labels must have the shape of %s without its last axis: got %s for %s %s", what,
              core.shape_text(wanted), what, core.shape_text(x))
    end
end

--- The same; and they must be integers.
local function check_labels(name, x, labels, what)
    check_shape(name, x, labels, what)
    local kind = core.dtype_of(labels).kind
    if kind ~= "i" and kind ~= "u" then core.not_integers(name, "labels", core.dtype_of(labels)) end
end

--- Which labels are none of n classes nor `ignored`, the option or false where there is no such option; nil: none is.
local function strays(name, labels, n, ignored)
    return bounds.strays(labels, 0, n - 1, function(label)
        raise(name, "a label is %s, and there are %d classes, from 0%s", label, n,
              ignored == nil and "; {ignore_index=…} leaves out labels of one value" or "")
    end, ignored)
end

-- ---- Losses ---------------------------------------------------------------------------------------------------------

local known = { reduction = true, weight = true, ignore_index = true, label_smoothing = true, axis = true }
local known_of_margin = { reduction = true, weight = true, axis = true, p = true, margin = true }
local known_of_nll = { reduction = true, weight = true, ignore_index = true, axis = true }

--- Scores x with their classes along the last axis, whichever option `axis` says.
local function classes_last(name, x, given, taken)
    local axis, ndim = options(name, given, taken).axis, core.ndim(x)
    local at = axis == nil and ndim - 1 or core.axis(name, axis, ndim)
    return at == ndim - 1 and x or np.moveaxis(x, at, -1)
end

--- The option `weight` as an array of n numbers that meets x; nil without it.
local function weights(name, given, x, n)
    if given == nil then return nil end
    local weight = np.astype(operands.beside(name, 2, given, core.dtype_of(x)), core.dtype_of(x).name)
    if not shape.same(shape_of(weight), { n }) then
        raise(name, "option 'weight' must have one number for each of the %d classes, got shape %s", n,
              core.shape_text(weight))
    end
    return weight
end

--- Checks the options that are numbers.
local function check_options(name, o)
    local ignored, smoothing = o.ignore_index, o.label_smoothing
    if ignored ~= nil then ignored = core.integer(name, nil, "ignore_index", ignored) end
    if smoothing ~= nil and not (type(smoothing) == "number" and smoothing >= 0 and smoothing <= 1) then
        bad_argument(name, nil, "label_smoothing", "a number from 0 to 1", smoothing)
    end
    return ignored, smoothing or 0
end

--- The losses `base` - x[label] of labels, of shape (…), weighted and smoothed; and what the mean divides their sum by:
-- nil: their number.
local function losses(name, x, base, labels, o)
    local n = shape_of(x)[core.ndim(x)]
    local ignored, smoothing = check_options(name, o)
    local out, weight = strays(name, labels, n, ignored), weights(name, o.weight, x, n)
    local chosen = np.equal(np.expand_dims(labels, -1), create.iota(n, core.dtype_codes.i32))
    local function of_label(values) return np.sum(np.where(chosen, values, 0), { axis = -1 }) end

    local loss, counts = base - of_label(x), weight and of_label(weight)
    if weight then loss = loss * counts end
    if smoothing > 0 then
        local of_all = weight and base * np.sum(weight) - np.sum(x * weight, { axis = -1 })
                       or base * n - np.sum(x, { axis = -1 })
        loss = loss * (1 - smoothing) + of_all * smoothing / n
    end
    if ignored then
        local kept = np.not_equal(labels, ignored)
        loss = np.where(kept, loss, 0)
        counts = counts and np.where(kept, counts, 0) or np.astype(kept, core.dtype_of(loss).name)
    end
    if out then loss = np.where(out, 0 / 0, loss) end
    return loss, counts
end

--- The losses of labels that are probabilities of all classes: the sums of -p log softmax(x), weighted and smoothed.
local function losses_of_probabilities(name, x, base, p, o)
    local n = shape_of(x)[core.ndim(x)]
    local ignored, smoothing = check_options(name, o)
    if ignored then raise(name, "option 'ignore_index' is for integer labels; these are probabilities") end
    p = np.astype(p, core.dtype_of(x).name)
    if smoothing > 0 then p = p * (1 - smoothing) + smoothing / n end
    local weight = weights(name, o.weight, x, n)
    local each = (np.expand_dims(base, -1) - x) * p
    return np.sum(weight and each * weight or each, { axis = -1 })
end

return function(nn, reduced)
    --- {reduction}: "mean", "sum" or "none"
    --- {weight}: an array or a table of n numbers, by which the losses of classes count; the mean divides by their sum
    --- {ignore_index}: labels of this value count as 0, and not for the mean

    local function labelled_loss(name, x, base, labels, given, taken, half)
        local o = options(name, given, taken)
        local loss, counts = losses(name, x, base, labels, o)
        if counts and (o.reduction or "mean") == "mean" then
            return operands.narrow(np.sum(loss) / np.sum(counts), half)
        end
        return reduced(name, loss, given, taken, half)
    end

    --- {axis}: which axis of the scores has the classes; -1 without it, PyTorch's is 1

    --- np.nn.cross_entropy(logits, labels, {reduction="mean", weight=…, ignore_index=…, label_smoothing=0, axis=-1}):
    -- logits of shape (…, n), integer labels of shape (…): the mean over all labels of logsumexp(logits) -
    -- logits[label]. A label that is no class is an error; in a program, where values are not known, its loss is NaN.
    -- Or labels are floats of the shape of logits, probabilities p of the classes: the mean of the sums of -p *
    -- log(softmax(logits)).
    --- label_smoothing: the share of a label that all classes have, each as much
    --- > logits, labels = np.zeros{2, 4}, np.array({0, 3}, {dtype="i32"})
    --- > np.nn.cross_entropy(logits, labels), np.nn.cross_entropy(logits, labels, {reduction="none", ignore_index=3})
    -- 1.3862944
    -- [1.3862944 0.       ]
    function nn.cross_entropy(logits, labels, given)
        local name = "nn.cross_entropy"
        local x, of_labels = coerce(name, 1, logits), coerce(name, 2, labels)
        local half
        local soft = core.dtype_of(of_labels).inexact and core.ndim(of_labels) == core.ndim(x)
        if soft then
            half, x, labels = operands.floats_all(name, nil, 2, logits, labels)
        else
            labels = of_labels
            x, half = operands.floats(name, 1, x)
        end
        x = classes_last(name, x, given, known)
        if soft then labels = classes_last(name, labels, given, known) end
        if soft and not shape.same(shape_of(labels), shape_of(x)) then
            raise(name, "probabilities of classes must have the shape of logits, got %s for logits %s",
                  core.shape_text(labels), core.shape_text(x))
        end
        if not soft then check_labels(name, x, labels, "logits") end
        -- The differences to the largest are exact where it matters: logits[label] itself may be large.
        local off = x - np.stop_gradient(np.max(x, { axis = -1, keepdims = true }))
        local base = np.log(np.sum(np.exp(off), { axis = -1 }))
        if not soft then return labelled_loss(name, off, base, labels, given, known, half) end
        local loss = losses_of_probabilities(name, off, base, labels, options(name, given, known))
        return reduced(name, loss, given, known, half)
    end

    --- np.nn.nll_loss(log_p, labels, {reduction="mean", weight=…, ignore_index=…, axis=-1}): log probabilities (…, n),
    -- integer labels of shape (…): the mean of -log_p[label]. Of logits it is np.nn.cross_entropy, whose labels and
    -- options it has.
    --- > np.nn.nll_loss(np.log(np.array{{0.25, 0.75}}), np.array({1}, {dtype="i32"}))
    -- 0.28768206
    function nn.nll_loss(log_p, labels, given)
        local name = "nn.nll_loss"
        local x, half = operands.floats(name, 1, log_p)
        x = classes_last(name, x, given, known_of_nll)
        labels = coerce(name, 2, labels)
        check_labels(name, x, labels, "log_p")
        return labelled_loss(name, x, 0, labels, given, known_of_nll, half)
    end

    --- np.nn.multi_margin_loss(x, labels, {p=1, margin=1, reduction="mean", weight=…, axis=-1}): scores (…, n), integer
    -- labels of shape (…): the mean of the sums of max(0, margin - x[label] + x[k])^p / n over the other classes k, as
    -- in PyTorch. A label that is no class is an error; in a program, where values are not known, its loss is NaN.
    --- p: the power, a number from 1 up
    --- margin: by how much a label's score is to be above those of the others
    --- weight: an array or a table of n numbers, by which the losses of classes count
    --- > np.nn.multi_margin_loss(np.array{{0.1, 0.2, 0.4, 0.8}}, np.array({3}, {dtype="i32"}))
    -- 0.325
    function nn.multi_margin_loss(x, labels, given)
        local name = "nn.multi_margin_loss"
        local o = options(name, given, known_of_margin)
        local half
        x, half = operands.floats(name, 1, x)
        x = classes_last(name, x, given, known_of_margin)
        labels = coerce(name, 2, labels)
        check_labels(name, x, labels, "x")
        local n = shape_of(x)[core.ndim(x)]
        local p = core.plain(o.p == nil and 1 or o.p)
        local margin = core.plain(o.margin == nil and 1 or o.margin)
        if type(p) ~= "number" or p ~= p or p < 1 then bad_argument(name, nil, "p", "a number from 1 up", o.p) end
        if type(margin) ~= "number" then bad_argument(name, nil, "margin", "a number", o.margin) end
        local out, weight = strays(name, labels, n, false), weights(name, o.weight, x, n)
        local chosen = np.equal(np.expand_dims(labels, -1), create.iota(n, core.dtype_codes.i32))
        local function of_label(values) return np.sum(np.where(chosen, values, 0), { axis = -1, keepdims = true }) end
        local each = np.maximum(margin - of_label(x) + x, 0)
        if p ~= 1 then each = np.pow(each, p) end
        if weight then each = each * of_label(weight) end
        local loss = np.sum(np.where(chosen, 0, each), { axis = -1 }) / n
        if out then loss = np.where(out, 0 / 0, loss) end
        return reduced(name, loss, given, known_of_margin, half)
    end

    --- np.nn.accuracy(logits, labels): the fraction of labels that are the argmax over the last axis of logits; 0-d
    -- f32.
    --- > np.nn.accuracy(np.array{{1, 0}, {1, 0}}, np.array({0, 1}, {dtype="i32"}))
    -- 0.5
    function nn.accuracy(logits, labels)
        logits, labels = coerce("nn.accuracy", 1, logits), coerce("nn.accuracy", 2, labels)
        check_shape("nn.accuracy", logits, labels, "logits")
        return np.mean(np.equal(np.argmax(logits, { axis = -1 }), labels))
    end
end
