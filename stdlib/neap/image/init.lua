--- init.lua: np.image: filters, morphology, regions, distances and warps of images of any number of axes, under the
-- names and with the conventions of scipy.ndimage; colors. docs/image.md.
local image = {}

for _, file in ipairs { "filters", "morphology", "regions", "distance", "warps", "colors" } do
    for name, f in pairs(require("neap.image." .. file)) do image[name] = f end
end

return image
