--- fused.lua: chains of maps, and rows that are reduced and mapped again (bench/kernels.lua), in neap, in C and in
-- other systems. bench/compare.lua says how, and what the goals are.
package.path = "./?.lua;" .. package.path
require("bench.compare").group "fused"
os.exit(0)
