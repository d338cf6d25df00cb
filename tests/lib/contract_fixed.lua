--- contract_fixed.lua: functions whose programs do not follow all declared sizes (tests/lib/contract_sizes.lua), and
-- why: what they decide is another program, or a number of results, or is not written for sizes.
local COLLECTIVE = "which member sends to which is a table of numbers"
local MANY = "how many results there are is a number"
local LONGER = "which array is longer is decided"
local REACHES = "whether a last window reaches outside is decided"
local WINDOWS = "the windows that divide an axis are tables of numbers"
local FEW = "few elements have a formula of their own"
local SIDES = "which sides of an image get elements is decided"
local WEIGHTS = "which elements a place is made of is a table of numbers"

return {
    ["np.convolve"] = LONGER,
    ["np.correlate"] = LONGER,
    ["np.cov"] = "one variable makes a result without axes",
    ["np.cross"] = "vectors of two and of three elements have other formulas",
    ["np.data.batches"] = "how many batches there are is a number",
    ["np.histogramdd"] = MANY,
    ["np.image.convolve"] = SIDES,
    ["np.image.correlate"] = SIDES,
    ["np.integrate.cumulative_simpson"] = "fewer than three samples are joined by a line, which is decided",
    ["np.integrate.simpson"] = "even and odd numbers of samples have other formulas",
    ["np.interpolate.akima"] = FEW,
    ["np.interpolate.cubic_spline"] = FEW,
    ["np.interpolate.pchip"] = FEW,
    ["np.linalg.det"] = "small matrices have formulas of their own",
    ["np.linalg.lu"] = "square matrices and others are decided",
    ["np.linalg.qr"] = "whether there are more rows or columns is decided",
    ["np.nn.AvgPool"] = REACHES,
    ["np.nn.Conv"] = "a layer is made for a number of channels",
    ["np.nn.adaptive_avg_pool"] = WINDOWS,
    ["np.nn.adaptive_max_pool"] = WINDOWS,
    ["np.nn.avg_pool"] = REACHES,
    ["np.nn.conv_transpose"] = "whether what is cut away is negative is decided",
    ["np.nn.affine_grid"] = "how many spatial axes there are is a number",
    ["np.nn.interpolate"] = WEIGHTS,
    ["np.nn.onnx_weights"] = "how many directions there are is a number",
    ["np.nn.resize"] = WEIGHTS,
    ["np.nn.rotary_embedding"] = "whether features are left over is decided",
    ["np.polydiv"] = LONGER,
    ["np.ppermute"] = COLLECTIVE,
    ["np.pshuffle"] = COLLECTIVE,
    ["np.random.categorical"] = "whether an extent is that of the shape that is asked for is decided",
    ["np.roots"] = "a polynomial of degree 0 has no roots, which is decided",
    ["np.signal.resample"] = "even and odd numbers of elements have other formulas",
    ["np.squeeze"] = "an axis of one element is dropped, and others are not",
    ["np.stats.chi2_contingency"] = "a table of one degree of freedom is corrected",
    ["np.stats.describe"] = FEW,
    ["np.stats.kendalltau"] = "small samples have an exact distribution",
    ["np.stats.kurtosis"] = FEW,
    ["np.stats.linregress"] = FEW,
    ["np.stats.mannwhitneyu"] = "small samples have an exact distribution",
    ["np.stats.pearsonr"] = FEW,
    ["np.stats.skew"] = FEW,
    ["np.unpack"] = MANY,
    ["np.unstack"] = MANY,
}
