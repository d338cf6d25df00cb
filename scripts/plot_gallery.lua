--- plot_gallery.lua: draws one of each chart of np.plot: the gallery of docs/plot.md.
--
--     neap scripts/plot_gallery.lua [FILE]     FILE: build/gallery.png, or what else np.plot.save writes
local path = arg[1] or "build/gallery.png"
local key = np.random.key(0)
local function normal(seed, shape) return np.random.normal(np.random.key(seed), shape) end

local x = np.linspace(0, 10, 200)
local gx = np.linspace(-3, 3, 60)
local height = np.outer(np.exp(-(gx * gx) / 2), np.sin(gx * 2))

local fig, ax = np.plot.subplots(4, 4, { figsize = { 16, 14 }, dpi = 75 })

ax[1][1]:line(x, np.sin(x), { label = "sin" }):line(x, np.cos(x), "--", { label = "cos" }):grid():title "line"
ax[1][2]:scatter(normal(1, { 300 }), normal(2, { 300 }), { c = normal(3, { 300 }), alpha = 0.7,
         s = np.random.uniform(key, { 300 }) * 120, cmap = "plasma" }):colorbar():title "scatter"
ax[1][3]:bar({ "apples", "pears", "plums" }, np.array { { 3, 4 }, { 5, 1 }, { 2, 6 } },
             { label = { "2024", "2025" } }):title "bar"
ax[1][4]:hist(normal(4, { 5000 }), { bins = 40, alpha = 0.6, label = "a" })
        :hist(normal(5, { 5000 }) * 0.5 + 2, { bins = 40, alpha = 0.6, label = "b" }):title "hist"
ax[2][1]:errorbar(np.arange(1, 9), np.arange(1, 9) ^ 2, { yerr = np.arange(1, 9), fmt = "o-", capsize = 3 })
        :yscale("log"):title "errorbar, log axis"
ax[2][2]:fill_between(x, np.sin(x) - 0.3, np.sin(x) + 0.3, { alpha = 0.3, label = "band" })
        :line(x, np.sin(x), { color = "C0" }):axhline(0, { color = "gray", linestyle = ":" }):title "fill_between"
ax[2][3]:heatmap(np.round(normal(6, { 5, 6 }) * 10) / 10, { annot = true, cmap = "coolwarm" }):title "heatmap"
ax[2][4]:imshow(np.sin(np.outer(gx, gx)), { cmap = "magma", colorbar = true }):title "imshow"
ax[3][1]:contourf(gx, gx, height, { colorbar = true }):contour(gx, gx, height, { colors = "k", linewidth = 0.7 })
        :title "contourf, contour"
ax[3][2]:surface(gx, gx, height):title "surface"
ax[3][3]:step({ 1, 3, 2, 4, 3, 5 }, { where = "mid" }):line({ 1, 3, 2, 4, 3, 5 }, "o", { alpha = 0.5 }):title "step"
local t = np.linspace(0, 20, 300)
ax[3][4]:scatter3d(np.cos(t), np.sin(t), t, { c = t, s = 12 }):title "scatter3d"
ax[4][1]:bar({ "a", "b", "c" }, { 3, 5, 4 }, { yerr = { 0.4, 0.8, 0.3 }, capsize = 4, color = "C2" }):title "bar, yerr"
ax[4][2]:violinplot(normal(7, { 600 }) * (1 + np.arange(600) % 3), { by = np.arange(600) % 3, showmedians = true })
        :title "violinplot"
ax[4][3]:pie({ 3, 5, 2 }, { labels = { "frogs", "hogs", "newts" }, autopct = "%.0f%%", startangle = 90,
                            explode = { 0, 0.1, 0 } }):title "pie"
local qx = np.linspace(-2, 2, 11)
local across, up = np.meshgrid(qx, qx)
ax[4][4]:quiver(qx, qx, -up, across, { c = np.hypot(across, up), pivot = "mid", colorbar = true }):title "quiver"
fig:suptitle "np.plot"
fig:save(path)
print("wrote " .. path)
