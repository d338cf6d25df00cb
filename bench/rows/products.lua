--- products.lua: the cases of the group "products" of bench/cases.lua; bench/beside.lua says how they are measured.
package.path = "./?.lua;" .. package.path
require("bench.beside").group "products"
os.exit(0)
