--- init.lua: np.interpolate: splines, and values between the points of a grid, after SciPy.
local interpolate = {}
require "neap.interpolate.splines" (interpolate)
require "neap.interpolate.bsplines" (interpolate)
require "neap.interpolate.grids" (interpolate)

return interpolate
