--- init.lua: np.sparse: matrices that store some elements, the others being 0, and systems of equations, after
-- scipy.sparse and scipy.sparse.linalg.
local sparse = {}
require "neap.sparse.arithmetic"
require "neap.sparse.make" (sparse)
require "neap.sparse.iterations" (sparse)
require "neap.sparse.triangular" (sparse)
require "neap.sparse.direct" (sparse)
require "neap.sparse.eigen" (sparse)
require "neap.sparse.lobpcg" (sparse)

return sparse
