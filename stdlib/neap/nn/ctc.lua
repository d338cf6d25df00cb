--- ctc.lua: np.nn.ctc_loss: connectionist temporal classification.
--
-- The labels of an example with blanks around each are 2 n + 1 states; alpha[s] is the log probability of all ways that
-- have come to state s, and np.scan goes over time. What cannot be is -1e30, not -inf, so that no derivative is NaN.
local core = require "neap.core"
local create = require "neap.arrays.create"
local operands = require "neap.arrays.operands"
local shape = require "neap.arrays.shape"
local bounds = require "neap.nn.bounds"

local np = core.np
local raise, coerce, options = core.raise, core.coerce, core.options
local shape_of, shape_text = core.shape_of, core.shape_text

local NAME, NEVER = "nn.ctc_loss", -1e30

--- Lengths by example, i32 (batch,); `most` of each without them.
local function lengths_of(what, value, batch, most)
    if value == nil then return np.full({ batch }, most, { dtype = "i32" }) end
    if type(value) == "table" then value = np.array(value, { dtype = "i32" }) end
    if not core.is_array(value) then core.bad_argument(NAME, nil, what, "an array of integers", value) end
    local kind = core.dtype_of(value).kind
    if kind ~= "i" and kind ~= "u" then
        core.not_integers(NAME, ("option '%s'"):format(what), core.dtype_of(value))
    end
    if not shape.same(shape_of(value), { batch }) then
        raise(NAME, "option '%s' must have one integer for each example, got shape %s", what, shape_text(value))
    end
    bounds.strays(value, 0, most, function(length)
        raise(NAME, "option '%s' has %s, and an example has %d", what, length, most)
    end)
    return np.astype(value, "i32")
end

--- Which examples (batch,) have a label that is no class, or the blank, of those that count; nil: none has.
local function wrong_labels(labels, counts, classes, blank)
    local n = shape_of(labels)[2]
    local place = shape.reshape(create.iota(n, core.dtype_codes.i32), { 1, n })
    local kept = np.less(place, np.expand_dims(counts, -1))
    local strays = bounds.strays(labels, 0, classes - 1, function(label)
        raise(NAME, "a label is %s, and there are %d classes, from 0", label, classes)
    end, nil, kept)
    local blanks = bounds.strays(np.astype(np.equal(labels, blank), "u8"), 0, 0, function()
        raise(NAME, "a label is %d, the blank: labels are other classes; option 'label_lengths' leaves out the last "
              .. "labels of an example", blank)
    end, nil, kept)
    if strays and blanks then strays = np.logical_or(strays, blanks) end
    strays = strays or blanks
    return strays and np.any(strays, { axis = 1 })
end

--- The states of labels (batch, n): classes (batch, 2 n + 1), and whether a state may follow the one before last.
local function states_of(labels, blank)
    local dims = shape_of(labels)
    local batch, n = dims[1], dims[2]
    local blanks = np.full({ batch, n, 1 }, blank, { dtype = "i32" })
    local paired = np.concatenate({ blanks, np.expand_dims(labels, -1) }, { axis = -1 })
    paired = shape.reshape(paired, { batch, 2 * n })
    local states = np.concatenate({ paired, np.full({ batch, 1 }, blank, { dtype = "i32" }) }, { axis = 1 })
    local before = shape.cut(np.pad(states, { { 0, 0 }, { 2, 0 } }, { value = blank }), 1, 0, 2 * n + 1)
    return states, np.logical_and(np.not_equal(states, blank), np.not_equal(states, before))
end

--- alpha moved by k states.
local function moved(alpha, k)
    return np.pad(shape.cut(alpha, 1, 0, shape_of(alpha)[2] - k), { { 0, 0 }, { k, 0 } }, { value = NEVER })
end

--- The negative log probabilities (batch,) of labels.
local function losses(log_p, labels, of_input, of_labels, blank)
    local states, jumps = states_of(labels, blank)
    local dims, count = shape_of(log_p), shape_of(states)[2]
    local all = np.take_along_axis(log_p, shape.broadcast_to(np.expand_dims(states, 1), { dims[1], dims[2], count }),
                                   { axis = 2 })
    all = np.maximum(np.swapaxes(all, 0, 1), NEVER) -- (time, batch, states)
    local index = shape.reshape(create.iota(count, core.dtype_codes.i32), { 1, count })
    local first = np.where(np.less(index, 2), all[0], NEVER)
    local function turn(carry, part)
        local alpha = carry.alpha
        local sum = np.logaddexp(np.logaddexp(alpha, moved(alpha, 1)), np.where(jumps, moved(alpha, 2), NEVER))
        local new = np.maximum(sum + part, NEVER)
        return { alpha = np.where(np.less(carry.time, np.expand_dims(of_input, -1)), new, alpha),
                 time = carry.time + 1 }, nil
    end
    local last = np.scan(turn, { alpha = first, time = np.ones({}, { dtype = "i32" }) },
                         shape.cut(all, 0, 1, dims[2])).alpha
    local ending = np.expand_dims(of_labels * 2, -1) -- the last blank, or the last label
    local ends = np.logical_or(np.equal(index, ending), np.equal(index, ending - 1))
    return -np.logsumexp(np.where(ends, last, NEVER), { axis = 1 })
end

--- reduced(name, x, options, known, half): the mean, the sum or all of x, by the option `reduction`.
return function(nn, reduced)
    --- {reduction}: "mean", "sum" or "none"

    --- np.nn.ctc_loss(log_p, labels, {input_lengths=…, label_lengths=…, blank=0, zero_infinity=false,
    -- reduction="mean"}): the negative log probability that log probabilities of classes over time, (batch, time,
    -- classes), give integer labels (batch, n), when what is said several times in a row counts once and blanks not at
    -- all (Graves et al., 2006). "mean" divides each by its number of labels first, as PyTorch does, whose log_p is
    -- (time, batch, classes). Labels that do not fit into the time have an infinite loss. A label that is no class, or
    -- the blank, or a length that is longer than what it is of, is an error; in a program, where values are not known,
    -- the loss of such a label is NaN, and such a length counts as the longest. Of logits, take np.log_softmax first.
    --- input_lengths: integers, (batch,): so many turns of each example count
    --- label_lengths: integers, (batch,): so many labels of each example count
    --- blank: the class of no label
    --- zero_infinity: true: infinite losses count as 0, and have no gradient
    --- > np.nn.ctc_loss(np.log(np.full({1, 2, 2}, 0.5)), np.ones({1, 1}, {dtype="i32"}))
    -- 0.2876821
    function nn.ctc_loss(log_p, labels, given)
        local known = { input_lengths = true, label_lengths = true, blank = true, zero_infinity = true,
                        reduction = true }
        local o = options(NAME, given, known)
        local x, half = operands.floats(NAME, 1, log_p)
        labels = coerce(NAME, 2, labels)
        local kind, dims, of_labels = core.dtype_of(labels).kind, shape_of(x), shape_of(labels)
        if kind ~= "i" and kind ~= "u" then core.not_integers(NAME, "labels", core.dtype_of(labels)) end
        if #dims ~= 3 or #of_labels ~= 2 or dims[1] ~= of_labels[1] or dims[2] < 1 then
            raise(NAME, "log_p must have shape (batch, time, classes) and labels (batch, n), got %s and %s",
                  shape_text(x), shape_text(labels))
        end
        local blank = core.integer(NAME, nil, "blank", o.blank == nil and 0 or o.blank, 0, dims[3] - 1)
        local counts = lengths_of("label_lengths", o.label_lengths, dims[1], of_labels[2])
        local wrong = wrong_labels(labels, counts, dims[3], blank)
        local turns = lengths_of("input_lengths", o.input_lengths, dims[1], dims[2])
        local loss = losses(x, np.astype(labels, "i32"), turns, counts, blank)
        if o.input_lengths ~= nil then -- without a turn nothing is said
            loss = np.where(np.greater(turns, 0), loss, np.where(np.greater(counts, 0), math.huge, 0))
        end
        if wrong then loss = np.where(wrong, 0 / 0, loss) end
        loss = np.where(np.greater(loss, 1e29), o.zero_infinity and 0 or math.huge, loss)
        if (o.reduction or "mean") == "mean" then
            loss = loss / np.maximum(np.astype(counts, core.dtype_of(loss).name), 1)
        end
        return reduced(NAME, loss, given, known, half)
    end
end
