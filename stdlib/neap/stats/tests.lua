--- tests.lua: statistical tests of means, counts and correlations, under the names and with the options of scipy.stats.
--
-- Each gives its statistic, then the p-value: the probability of a statistic at least as far out if what is tested
-- holds. Data lie along `axis`. All counts in f64 and is rounded once. NaN where SciPy has NaN: for too few data, and
-- for data that are all equal, of which no variance tells anything.

--- {axis}: along which axis the data lie, an integer; 0 without it
--- {alternative}: which deviations count: "two-sided", "less" or "greater"

local core = require "neap.core"
local laws = require "neap.stats.continuous"
local operands = require "neap.arrays.operands"
local samples = require "neap.stats.samples"
local ranks = require "neap.stats.ranks"

local np, raise = core.np, core.raise

local stats = {}

--- The p-value of a statistic of a symmetric law with parameters, for an alternative.
local function p_value(alternative, law, statistic, ...)
    if alternative == "less" then return law.cdf(statistic, ...) end
    if alternative == "greater" then return law.sf(statistic, ...) end
    return 2 * law.sf(np.abs(statistic), ...)
end

-- ---- Means ----------------------------------------------------------------------------------------------------------

local MEANS = { axis = true, alternative = true }

--- t and p of a sample against a mean, of f64.
local function one_sample(x, mean, o)
    local n = samples.count(x, o.axis)
    local error = np.sqrt(np.var(x, { axis = o.axis, correction = 1 }) / n)
    local t = (np.mean(x, { axis = o.axis }) - mean) / error
    return t, p_value(o.alternative, laws.t, t, n - 1)
end

--- np.stats.ttest_1samp(x, popmean, {axis=0, alternative="two-sided"}) -> statistic, pvalue: whether the mean of normal
-- numbers is popmean, a number or an array that fits the means: Student's t-test.
--- > np.stats.ttest_1samp(np.array{1, 2, 3, 4}, 2)
-- 0.7745967
-- 0.49502534
function stats.ttest_1samp(x, popmean, given, extra)
    local name = "stats.ttest_1samp"
    local o = samples.options(name, given, MEANS, extra, 3)
    if popmean == nil then core.bad_argument(name, 2, "popmean", "a number or an array", nil) end
    local narrow, list = operands.floats_list(name, "f64", 2, { x, popmean })
    local _, data = samples.read(name, o.axis, { list[1] })
    return samples.results(narrow, one_sample(data[1], list[2], o))
end

--- np.stats.ttest_rel(x, y, {axis=0, alternative="two-sided"}) -> statistic, pvalue: whether the means of pairs of
-- normal numbers are equal: the t-test of their differences.
--- > np.stats.ttest_rel(np.array{1, 2, 3, 5}, np.array{2, 2, 4, 7})
-- -2.4494898
-- 0.09172111
function stats.ttest_rel(x, y, given, extra)
    local name = "stats.ttest_rel"
    local o = samples.options(name, given, MEANS, extra, 3)
    local narrow, list = samples.read(name, o.axis, { x, y })
    if y == nil then core.bad_argument(name, 2, "y", "an array", nil) end
    samples.alike(name, list[1], list[2])
    return samples.results(narrow, one_sample(list[1] - list[2], 0, o))
end

--- np.stats.ttest_ind(x, y, {axis=0, equal_var=true, alternative="two-sided"}) -> statistic, pvalue: whether two
-- samples of normal numbers have one mean: Student's t-test, or Welch's.
--- equal_var: false lets the samples have different variances: Welch's test
--- > np.stats.ttest_ind(np.array{1, 2, 3, 4}, np.array{3, 4, 5, 7})
-- -2.101947
-- 0.08026133
function stats.ttest_ind(x, y, given, extra)
    local name = "stats.ttest_ind"
    local known = { axis = true, alternative = true, equal_var = true }
    local o = samples.options(name, given, known, extra, 3)
    if y == nil then core.bad_argument(name, 2, "y", "an array", nil) end
    local narrow, list = samples.read(name, o.axis, { x, y })
    x, y = list[1], list[2]
    local m, n = samples.count(x, o.axis), samples.count(y, o.axis)
    local df, error
    if o.equal_var == false then
        local over = { axis = o.axis, correction = 1 }
        local part_x, part_y = np.var(x, over) / m, np.var(y, over) / n
        local both = part_x + part_y
        df = both * both / (part_x * part_x / (m - 1) + part_y * part_y / (n - 1))
        df = np.where(np.equal(both, 0), 1, df)
        error = np.sqrt(both)
    else
        local _, off_x = samples.centered(x, o.axis)
        local _, off_y = samples.centered(y, o.axis)
        local squares = np.sum(off_x * off_x, { axis = o.axis }) + np.sum(off_y * off_y, { axis = o.axis })
        df = m + n - 2
        error = np.sqrt(squares / df * (1 / m + 1 / n))
    end
    local t = (np.mean(x, { axis = o.axis }) - np.mean(y, { axis = o.axis })) / error
    return samples.results(narrow, t, p_value(o.alternative, laws.t, t, df))
end

--- np.stats.f_oneway(x, y, …, {axis=0}) -> statistic, pvalue: whether two or more samples of normal numbers of one
-- variance have one mean: the analysis of variance.
--- > np.stats.f_oneway(np.array{1, 2, 3}, np.array{2, 3, 4}, np.array{5, 6, 9})
-- 8.578947
-- 0.01739228
function stats.f_oneway(...)
    local name, list, given = "stats.f_oneway", { ... }, nil
    local count = select("#", ...)
    local last = list[count]
    if type(last) == "table" and getmetatable(last) == nil and last[1] == nil then
        given, list[count], count = last, nil, count - 1
    end
    local o = samples.options(name, given, { axis = true })
    if count < 2 then raise(name, "expected two samples or more, got %d", count) end
    local narrow
    narrow, list = samples.read(name, o.axis, list)
    local total, within, between, means, sizes = 0, 0, 0, {}, {}
    local grand = 0
    for k, x in ipairs(list) do
        local n, mean, off = samples.count(x, o.axis), samples.centered(x, o.axis)
        means[k], sizes[k], total = mean, n, total + n
        grand = grand + means[k] * n
        within = within + np.sum(off * off, { axis = o.axis })
    end
    grand = grand / total
    for k = 1, count do between = between + np.squeeze(np.square(means[k] - grand), o.axis) * sizes[k] end
    local f = between / (count - 1) / (within / (total - count))
    return samples.results(narrow, f, laws.f.sf(f, count - 1, total - count))
end

-- ---- Counts ---------------------------------------------------------------------------------------------------------

--- np.stats.chisquare(f_obs, f_exp, {ddof=0, axis=0, sum_check=true}) -> statistic, pvalue: whether counts are those
-- that are expected, equal ones without f_exp: Pearson's chi-squared test. NaN where the sums of both are not equal, to
-- half of the digits.
--- ddof: what is taken from the degrees of freedom besides 1
--- sum_check: false takes sums that are not equal
--- > np.stats.chisquare(np.array{16, 18, 16, 14, 12, 12})
-- 2.0
-- 0.84914505
function stats.chisquare(f_obs, f_exp, given, extra)
    local name = "stats.chisquare"
    if type(f_exp) == "table" and getmetatable(f_exp) == nil and f_exp[1] == nil then
        f_exp, given, extra = nil, f_exp, given
    end
    local known = { axis = true, ddof = true, sum_check = true }
    local o = samples.options(name, given, known, extra, 3)
    local narrow, list = samples.read(name, o.axis, { f_obs, f_exp })
    local seen, expected = list[1], list[2]
    local along = { axis = o.axis, keepdims = true }
    if expected then
        seen, expected = np.broadcast_arrays(seen, expected)
        if o.sum_check ~= false then
            local sums, others = np.sum(seen, along), np.sum(expected, along)
            local most = math.sqrt(np.finfo(narrow or core.dtype_of(seen).name).eps)
            local off = np.greater(np.abs(sums - others), most * np.minimum(np.abs(sums), np.abs(others)))
            seen = np.where(off, np.nan, seen)
        end
    else
        expected = np.mean(seen, along)
    end
    local statistic = np.sum(np.square(seen - expected) / expected, { axis = o.axis })
    local df = samples.count(seen, o.axis) - 1 - (o.ddof or 0)
    return samples.results(narrow, statistic, laws.chi2.sf(statistic, df))
end

--- np.stats.chi2_contingency(observed, {correction=true}) -> statistic, pvalue, dof, expected_freq: whether the axes of
-- a table of counts are independent: Pearson's chi-squared test; dof is a number. NaN where a row or a column has no
-- count.
--- correction: false leaves out Yates's correction, by 1/2, which a table of one degree of freedom has
--- > (np.stats.chi2_contingency(np.array{{10, 20}, {20, 20}}))
-- 1.3234375
function stats.chi2_contingency(observed, given, extra)
    local name = "stats.chi2_contingency"
    local o = samples.options(name, given, { correction = true }, extra, 2)
    local narrow, list = samples.read(name, 0, { observed })
    local seen = list[1]
    local dims, total, expected = core.shape_of(seen), np.sum(seen), nil
    local dof = seen.size - 1
    for k = 1, #dims do
        local others = {}
        for j = 1, #dims do
            if j ~= k then others[#others + 1] = j - 1 end
        end
        local margin = #others > 0 and np.sum(seen, { axis = others, keepdims = true }) or seen
        expected = expected and expected * (margin / total) or margin
        dof = dof - (dims[k] - 1)
    end
    local off = np.abs(seen - expected)
    if dof == 1 and o.correction ~= false then off = off - np.minimum(off, 0.5) end
    local statistic = np.sum(off * off / expected)
    local p = dof == 0 and np.ones_like(statistic) or laws.chi2.sf(statistic, dof)
    statistic, p, expected = samples.results(narrow, dof == 0 and statistic * 0 or statistic, p, expected)
    return statistic, p, dof, expected
end

-- ---- Correlations ---------------------------------------------------------------------------------------------------

--- The correlation of x and y along an axis, of f64, and the deviations: y's over x's.
local function correlation(x, y, axis)
    local _, off_x = samples.centered(x, axis)
    local _, off_y = samples.centered(y, axis)
    local over = { axis = axis }
    local size_x, size_y = np.sqrt(np.sum(off_x * off_x, over)), np.sqrt(np.sum(off_y * off_y, over))
    local along = { axis = axis, keepdims = true }
    local product = np.sum(off_x / np.expand_dims(size_x, axis) * (off_y / np.expand_dims(size_y, axis)), over)
    local function is_flat(data) return np.equal(np.max(data, along), np.min(data, along)) end
    local flat = np.squeeze(np.logical_or(is_flat(x), is_flat(y)), axis)
    return np.where(flat, np.nan, np.clip(product, -1, 1)), size_y / size_x
end

--- Two samples of pairs, as samples.read or samples.ordered gives them: the dtype of results, x, y and the number of
-- pairs.
local function pairs_of(name, o, x, y, read)
    if y == nil then core.bad_argument(name, 2, "y", "an array", nil) end
    local narrow, list = (read or samples.read)(name, o.axis, { x, y })
    samples.alike(name, list[1], list[2])
    local n = samples.count(list[1], o.axis)
    if n < 2 then raise(name, "expected two pairs or more, got %d", n) end
    return narrow, list[1], list[2], n
end

--- The p-value of a correlation r of n pairs, by its t.
local function p_of_r(r, n, alternative)
    return p_value(alternative, laws.t, r * np.sqrt((n - 2) / ((1 - r) * (1 + r))), n - 2)
end

--- np.stats.pearsonr(x, y, {axis=0, alternative="two-sided"}) -> statistic, pvalue: the correlation of x and y, and
-- whether it is 0, if the pairs are normal.
--- > np.stats.pearsonr(np.array{1, 2, 3, 4}, np.array{1, 3, 2, 5})
-- 0.83152187
-- 0.16847816
function stats.pearsonr(x, y, given, extra)
    local o = samples.options("stats.pearsonr", given, MEANS, extra, 3)
    local narrow, n
    narrow, x, y, n = pairs_of("stats.pearsonr", o, x, y)
    local r = correlation(x, y, o.axis)
    local p = n == 2 and np.where(np.isnan(r), r, 1) or p_of_r(r, n, o.alternative) -- two pairs always lie on a line
    return samples.results(narrow, r, p)
end

--- np.stats.spearmanr(x, y, {axis=0, alternative="two-sided"}) -> statistic, pvalue: the correlation of the ranks of x
-- and y, and whether it is 0, by Student's t. Without a derivative, as ranks have none.
--- > np.stats.spearmanr(np.array{1, 2, 3, 4}, np.array{1, 9, 4, 16})
-- 0.8
-- 0.2
function stats.spearmanr(x, y, given, extra)
    local o = samples.options("stats.spearmanr", given, MEANS, extra, 3)
    local narrow, n
    narrow, x, y, n = pairs_of("stats.spearmanr", o, x, y, samples.ordered)
    local function ranked(data) return (ranks.of(np.moveaxis(data, o.axis, -1), "average")) end
    local r = correlation(ranked(x), ranked(y), -1)
    return samples.results(narrow, r, p_of_r(r, n, o.alternative))
end

--- np.stats.linregress(x, y, {axis=0, alternative="two-sided"}) -> slope, intercept, rvalue, pvalue, stderr,
-- intercept_stderr: the straight line of y against x by least squares, their correlation, whether the slope is 0, and
-- the standard errors of slope and intercept. NaN where all x are equal.
--- > (np.stats.linregress(np.array{0, 1, 2, 3}, np.array{1, 3, 4, 7}))
-- 1.9
function stats.linregress(x, y, given, extra)
    local name = "stats.linregress"
    local o = samples.options(name, given, MEANS, extra, 3)
    local narrow, n
    narrow, x, y, n = pairs_of(name, o, x, y)
    local over = { axis = o.axis }
    local mean_x, mean_y, var_x = np.mean(x, over), np.mean(y, over), np.var(x, over)
    local flat = np.equal(np.max(y, over), np.min(y, over)) -- a level line, of slope 0
    local r, ratio = correlation(x, y, o.axis)
    local level = np.logical_and(flat, np.isfinite(ratio))
    local slope = np.where(level, 0, r * ratio)
    local error, p
    if n == 2 then -- a line through both
        error, p = 0 * ratio, np.where(level, 1, np.where(np.isnan(r), r, 0))
    else
        error, p = np.sqrt((1 - r) * (1 + r) / (n - 2)) * ratio, p_of_r(r, n, o.alternative)
    end
    return samples.results(narrow, slope, mean_y - slope * mean_x, r, p, error,
                           error * np.sqrt(var_x + np.square(mean_x)))
end

return stats
