--- deblur.lua: sharpens a blurred and noisy image: a linear inverse problem, with two kinds of regularization.
--
--     neap scripts/deblur.lua [options]                                             --help lists the options
--
-- A blur is a product in frequencies. Dividing by it would amplify the noise without bounds, so what is wanted is the
-- image x with the least |blur x - seen|² + strength Σ w |∇x|². Its system of equations is a function of an image,
-- which np.sparse.cg solves without a matrix. With weights w of 1 that is Tikhonov's regularization, which softens
-- edges, too. With w = 1 / |∇x| of the last solution, some times in turn, it is the total variation, which keeps them
-- (Vogel and Oman, 1996, "Iterative methods for total variation denoising").
local np = require "neap"

local options = np.argparse(arg, {
    "Sharpens a blurred and noisy image, by Tikhonov's regularization and by total variation; the image is made up.",
    { "size", 64, "rows and columns of the image", min = 16 },
    { "width", 2, "standard deviation of the blur, in pixels", type = "number", min = 0.1 },
    { "noise", 0.02, "standard deviation of the noise", type = "number", min = 0 },
    { "seed", 0, "of the noise", min = 0 },
    { "plot", nil, "file of a picture (.svg, .png) of the four images" },
})

local n = options.size
local y, x = np.meshgrid(np.arange(n) / n, np.arange(n) / n, { indexing = "ij" })
local disc, bar = np.hypot(x - 0.35, y - 0.4):lt(0.22), x:gt(0.65) * x:lt(0.85) * y:gt(0.2) * y:lt(0.85)
local truth = (disc + 0.6 * bar):astype "f64"

local u, v = np.fft.fftfreq(n):reshape(n, 1), np.fft.rfftfreq(n)
local response = np.exp(-2 * (np.pi * options.width) ^ 2 * (u * u + v * v)) -- of a Gaussian; real, so its own transpose
local function blur(image) return np.fft.irfft2(np.fft.rfft2(image) * response, { s = { n, n } }) end
local function across(image) return np.roll(image, -1, { axis = 1 }) - image end
local function down(image) return np.roll(image, -1, { axis = 0 }) - image end
local function back(image, axis) return np.roll(image, 1, { axis = axis }) - image end

local seen = blur(truth) + options.noise * np.random.normal(np.random.key(options.seed), { n, n }, { dtype = "f64" })
local sharpen = np.jit(function(strength, weights)
    local function system(flat)
        local image = flat:reshape(n, n)
        local smooth = back(weights * across(image), 1) + back(weights * down(image), 0)
        return (blur(blur(image)) + strength * smooth):reshape(-1)
    end
    return (np.sparse.cg(system, blur(seen):reshape(-1), { rtol = 1e-4, maxiter = 500 })):reshape(n, n)
end)

local tikhonov = sharpen(0.02, np.ones({ n, n }, { dtype = "f64" }))
local variation = tikhonov
for _ = 1, 10 do
    variation = sharpen(0.001, 1 / np.sqrt(across(variation) ^ 2 + down(variation) ^ 2 + 1e-4))
end

local images = { { "blurred", seen }, { "Tikhonov", tikhonov }, { "total variation", variation }, { "true", truth } }
for k = 1, 3 do
    np.printf("%-16s off by %.4f\n", images[k][1], np.sqrt(np.mean((images[k][2] - truth) ^ 2)))
end

if options.plot then
    local figure, axes = np.plot.subplots(1, 4, { figsize = { 14, 4 } })
    for k, image in ipairs(images) do
        axes[k]:imshow(image[2], { cmap = "gray", vmin = 0, vmax = 1 }):title(image[1])
    end
    figure:save(options.plot)
end
