--- losses.lua: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: classes along axis 1.
local core = require "neap.core"
local node = require "neap.onnx.node"

local np, like = core.np, node.like
local ops = {}

--- The loss of log probabilities, (batch, classes, …), for labels (batch, …).
local function nll(n, log_p, labels, weight)
    labels = node.cast(labels, "i64")
    local ignored = n.attr.ignore_index
    local counts = np.ones(labels.shape, { dtype = log_p.dtype })
    if ignored ~= nil then
        local absent = np.equal(labels, ignored)
        counts = np.where(absent, like(log_p, 0), counts)
        labels = np.where(absent, 0, labels)
    end
    if weight then counts = np.take(weight, labels) * counts end
    local loss = -np.squeeze(np.take_along_axis(log_p, np.expand_dims(labels, 1), { axis = 1 }), 1) * counts
    local how = n.attr.reduction or "mean"
    if how == "none" then return loss end
    if how == "sum" then return np.sum(loss) end
    if how ~= "mean" then n:fail("the reduction '%s'", how) end
    return np.sum(loss) / np.sum(counts)
end

ops.NegativeLogLikelihoodLoss = { attrs = "ignore_index reduction", least = 2, run = nll }

ops.SoftmaxCrossEntropyLoss = {
    attrs = "ignore_index reduction", least = 2,
    run = function(n, scores, labels, weight)
        local log_p = np.log_softmax(scores, { axis = 1 })
        return nll(n, log_p, labels, weight), log_p
    end,
}

return ops
