--- init.lua: np.integrate: integrals of samples and of functions, and ordinary differential equations, under SciPy's
-- names.
local integrate = require "neap.integrate.samples"
require "neap.integrate.equations" (integrate)
require "neap.integrate.adjoint" (integrate)
require "neap.integrate.noise" (integrate)
require("neap.integrate.quad").define(integrate)
require "neap.integrate.dblquad" (integrate)

return integrate
