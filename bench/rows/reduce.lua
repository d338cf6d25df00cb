--- reduce.lua: reductions (bench/kernels.lua), in neap, in C and in other systems. bench/compare.lua says how, and what
-- the goals are.
package.path = "./?.lua;" .. package.path
require("bench.compare").group "reduce"
os.exit(0)
