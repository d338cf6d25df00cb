--- init.lua: np.plot: charts, drawn by the program gnuplot (package gnuplot-nox). docs/plot.md tells all with pictures.
--
-- Names and options are matplotlib's, where it has them. A function of np.plot adds to the current figure and returns
-- it; figure:NAME and axes:NAME do the same to a figure and to one of its axes. The files:
--
--     styles   colours, markers, lines, maps            columns  arrays as columns of doubles, thinned
--     figure   figures, axes, what is set of them       text     texts in gnuplot's language
--     looks    options that many charts have            names    texts along axes; categories
--     charts bars boxes violins pies arrows             what each chart takes
--     groups   groups of boxes and violins              ranges   what charts cover
--     layers grids shapes raster                        what each chart is for gnuplot
--     ticks    where axes have ticks                    fonts    characters that no font has
--     dates    axes of dates                            explore  keys that move and zoom
--     share    axes with one range                      facets   axes for the categories of a table
--     script   a figure as gnuplot's input              draw     running gnuplot; files
--     terminal which graphics the terminal has          cells    a figure as characters
--     show     where a figure is shown                  live     curves that grow
--     animate  pictures in a row                        player   those as HTML
--     gif      those as GIF, with a palette             video    those as films, by ffmpeg
--     pixels   PNG as pixels and back                   palette  few colours for many

--- np.plot: charts as figures: np.plot.line(x, y), np.plot.save("a.png"), np.plot.show(). Drawn by gnuplot. Each
-- function adds to the current figure and returns it, so calls chain: np.plot.line(x, y):title("t"):save("a.svg").
-- NaN and infinity leave gaps; of more points than can be seen those are drawn that show the same picture.

--- {hue}: a category for each point or value: texts, whole numbers or booleans. Each category is a chart of its own,
-- with a colour that it keeps in all charts of the figure, and stands in the legend; color is a list of theirs
--- {color}: a name ("red", "tab:blue"), "#1f77b4", "C0" … "C9" of the cycle, "0.5" for gray, or {r, g, b} from 0 to 1;
-- without it the next of the cycle
--- {label}: a text for the legend, which is there when a chart has one; a list of texts for several charts
--- {alpha}: from 0, nothing is seen, to 1
--- {linewidth}: in pixels at 100 dots an inch
--- {linestyle}: "-", "--", ":", "-." or "none"
--- {marker}: "o", ".", "s", "^", "v", "D", "p", "+", "x", "*" or "none"
--- {markersize}: in points
--- {drawstyle}: "default", or "steps-pre", "steps-mid", "steps-post" for stairs
--- {cmap}: a map of colours: viridis, plasma, inferno, magma, cividis, gray, hot, jet, turbo, coolwarm, bwr, RdBu,
-- Blues, Greens, Reds, twilight; with "_r" behind it turned around
--- {vmin}: the value of the map's first colour; the least one without it
--- {vmax}: the value of its last colour; the greatest one without it
--- {edgecolor}: the colour of the edges, as color; none without it
--- {colorbar}: true: a bar that tells the colours beside the axes
--- {figsize}: {width, height} in inches; {6.4, 4.8} without it
--- {dpi}: dots an inch; 100 without it
--- {enhanced}: true: {}, ^, _ and @ in texts have gnuplot's meaning, "x^2"; else all characters are themselves

--- np.plot.line(x, y, fmt, {color=…, linestyle="-", linewidth=1.5, marker="none", markersize=6, label=…, alpha=1,
-- drawstyle="default", hue=…}) -> figure: a line through points; y alone stands at 0, 1, …; of two axes it is a line
-- for each column. x and y may be lists of names, or columns of texts. fmt is matplotlib's short form of colour, marker
-- and line: "r--", "o".
--- > x = np.linspace(0, 6, 100)
--- > np.plot.line(x, np.sin(x), "r--", {label="sin", linewidth=2, marker="none", alpha=0.8}):title("A wave")
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.step(x, y, fmt, {where="pre", color=…, linestyle="-", linewidth=1.5, marker="none", markersize=6, label=…,
-- alpha=1, drawstyle="default", hue=…}) -> figure: stairs: where="pre": y[k] holds from x[k-1] to x[k]; "post": from
-- x[k] to x[k+1]; "mid": from the middle before to the middle behind.
--- where: "pre", "post" or "mid"
--- drawstyle: as of np.plot.line; `where` counts
--- > np.plot.step({1, 2, 4}, {where="post"})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.semilogx(x, y, fmt, {color=…, linestyle="-", linewidth=1.5, marker="none", markersize=6, label=…, alpha=1,
-- drawstyle="default", hue=…}), np.plot.semilogy(x, y, fmt, {color=…}), np.plot.loglog(x, y, fmt, {color=…}) ->
-- figure: lines as np.plot.line draws them, on logarithmic axes: x, y, or both. What is not positive is not drawn.
--- > np.plot.semilogx({1, 10, 100}, {1, 2, 3}, {color="k"})
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.semilogy({1, 10, 100}, {color="k"})
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.loglog({1, 10}, {1, 100}, {color="k"})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.scatter(x, y, {s=36, c=…, color=…, cmap="viridis", vmin=…, vmax=…, marker="o", alpha=1, label=…,
-- linewidth=1.5, hue=…}) -> figure: points. x and y may be lists of names, or columns of texts.
--- s: their areas in square points, a number or an array
--- c: values whose colours the map gives, or one colour
--- > np.plot.scatter(np.arange(3), np.arange(3), {c=np.arange(3), s=80})
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.scatter({1, 2, 3}, {4, 6, 5}, {hue={"cat", "dog", "cat"}})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.scatter3d(x, y, z, {s=36, c=…, color=…, cmap="viridis", vmin=…, vmax=…, marker="o", alpha=1, label=…,
-- linewidth=1.5, hue=…}) -> figure: points in three dimensions.
--- s: their areas in square points, a number or an array
--- c: values whose colours the map gives, or one colour
--- > np.plot.scatter3d({1, 2}, {1, 2}, {1, 2}, {c={0, 1}})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.fill_between(x, y1, y2, {color=…, alpha=1, label=…, linewidth=1.5}) -> figure: what is between two lines; y2
-- is 0 without it.
--- > np.plot.fill_between({0, 1, 2}, {1, 2, 3}, 0, {alpha=0.3})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.errorbar(x, y, {yerr=…, xerr=…, fmt=…, capsize=0, color=…, linestyle="-", linewidth=1.5, marker="none",
-- markersize=6, label=…, alpha=1, drawstyle="default"}) -> figure: points with bars for their errors, and a line.
--- yerr: how far the bars go up and down: a number, an array, or two rows, below and above
--- xerr: the same to the left and the right
--- fmt: colour, marker and line in short, such as "o" for no line
--- capsize: the length of the ends of the bars, in points
--- > np.plot.errorbar({1, 2, 3}, {2, 4, 3}, {yerr=0.5, fmt="o", capsize=3})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.bar(x, height, {width=0.8, bottom=0, align="center", color=…, edgecolor=…, label=…, alpha=1,
-- linewidth=1.5, yerr=…, xerr=…, ecolor="k", capsize=0}), np.plot.barh(y, width, {width=0.8}) -> figure: bars that
-- stand, or lie, with bars for errors. x may be a list of names, or a column of texts. Of heights of two axes the bars
-- of a row stand side by side, and label and color are lists; of others color may be a list of one for each bar.
--- width: of the bars, in units of the axis
--- bottom: where they begin; an array to put them on others
--- align: "center": x is their middle; "edge": their left side
--- yerr: how far an error goes up and down from the end of its bar: a number, an array, or two rows, below and above;
-- of heights of two axes a number, or an array of their shape
--- xerr: the same to the left and the right
--- ecolor: the colour of the errors, as color
--- capsize: the length of the ends of the bars of errors, in points
--- > np.plot.bar({"a", "b"}, np.array{{1, 2}, {3, 4}}, {label={"2024", "2025"}, bottom=0})
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.bar({"a", "b"}, {3, 5}, {yerr={0.5, 0.2}, capsize=4, ecolor="red"})
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.barh({"a", "b"}, {1, 2}, {width=0.5, xerr=0.1})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.hist(x, {bins=10, range=…, density=false, weights=…, cumulative=false, histtype="bar", color=…,
-- edgecolor=…, label=…, alpha=1, linewidth=1.5, hue=…}) -> figure: how many elements fall into bins, as np.histogram
-- counts them, but NaN and infinity are left out. Categories (hue) have the same bins, and alpha 0.5 without another.
--- bins: their number, an array of edges, or a rule such as "auto"
--- range: {low, high} of the bins
--- density: true: so that the area is 1
--- weights: what each element counts
--- cumulative: true: all up to here
--- histtype: "bar", "step" for the outline, or "stepfilled"
--- > np.plot.hist(np.random.normal(np.random.key(0), {1000}), {bins=30, density=true})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.boxplot(x, {positions=…, widths=0.5, tick_labels=…, whis=1.5, showfliers=true, orientation="vertical",
-- color="w", label=…, alpha=1, linewidth=1, by=…}) -> figure: a box from the first quartile to the third for each array
-- of a list, each column of a matrix, or each category, with a line at the median. Whiskers reach to the last values
-- that are at most `whis` times the box's height away from it; those beyond are points. NaN and infinity are left out.
--- positions: where the boxes stand; 1, 2, … without it
--- widths: of a box, in units of the axis
--- tick_labels: a text for each box
--- whis: how far the whiskers reach at most, in heights of the box
--- showfliers: false: without the points beyond the whiskers
--- orientation: "vertical" or "horizontal"
--- by: a category for each element of x of one axis: texts, whole numbers or booleans
--- > np.plot.boxplot({{1, 2, 3, 9}, {2, 4, 5}}, {tick_labels={"a", "b"}})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.violinplot(x, {positions=…, widths=0.5, tick_labels=…, showmeans=false, showmedians=false, showextrema=true,
-- points=100, bw_method="scott", orientation="vertical", color=…, label=…, alpha=0.3, linewidth=1.5, by=…}) -> figure:
-- an area for each array of a list, each column of a matrix, or each category: as wide as its values are dense there,
-- the widest place `widths`. The density is that of Gaussian kernels, as scipy.stats.gaussian_kde has it. NaN and
-- infinity are left out.
--- positions: where the violins stand; 1, 2, … without it
--- widths: of a violin, in units of the axis
--- tick_labels: a text for each violin
--- showmeans: true: a line at the mean
--- showmedians: true: a line at the median
--- showextrema: false: without lines at the least and the greatest value, and between them
--- points: places at which the density is computed
--- bw_method: how wide the kernels are, in standard deviations of the values: "scott" (n^(-1/5)), "silverman"
-- ((3n/4)^(-1/5)), or a number
--- orientation: "vertical" or "horizontal"
--- alpha: of the areas; the lines are opaque
--- by: a category for each element of x of one axis: texts, whole numbers or booleans
--- > np.plot.violinplot({2, 3, 7, 4, 9, 8}, {by={"a", "a", "b", "a", "b", "b"}, showmedians=true})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.pie(x, {labels=…, colors=…, explode=…, autopct=…, startangle=0, counterclock=true, radius=1,
-- labeldistance=1.1, pctdistance=0.6, edgecolor=…, linewidth=1.5, alpha=1}) -> figure: a circle in wedges whose angles
-- are the parts of x in their sum. NaN counts as 0; a number below 0 raises when the picture is drawn.
--- labels: a text beside each wedge
--- colors: a colour for each; those of the cycle without it
--- explode: how far each is from the middle, in radii
--- autopct: a format, as string.format's, of per cent that stand in the wedges: "%.1f%%"
--- startangle: where the first begins, in degrees from the right, against the clock
--- counterclock: false: they follow each other with the clock
--- radius: of the circle
--- labeldistance: how far the labels are from the middle, in radii
--- pctdistance: how far the per cent are, in radii
--- > np.plot.pie({3, 5, 2}, {labels={"frogs", "hogs", "newts"}, autopct="%.0f%%", startangle=90})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.quiver(x, y, u, v, {scale=…, angles="uv", scale_units="width", pivot="tail", c=…, color="k",
-- cmap="viridis", vmin=…, vmax=…, colorbar=false, label=…, alpha=1, linewidth=1.5}) -> figure: arrows at x and y with
-- the components u and v. u and v may have two axes; x and y then have their shape, or are the places of columns and
-- rows; quiver(u, v) has those at 0, 1, ….
--- scale: how long a vector is that takes the axes' width (or, with scale_units="xy", a unit); without it such that
-- arrows of the mean length leave each other room (or 1)
--- angles: "uv": equal components are 45 degrees in the picture; "xy": arrows point from (x, y) to (x + u, y + v)
--- scale_units: "width": of the axes; "xy": their units, so that scale=1 ends arrows at (x + u, y + v)
--- pivot: what of an arrow is at (x, y): "tail", "mid" or "tip"
--- c: values whose colours the map gives
--- > np.plot.quiver({0, 1}, {0, 0}, {1, 2}, {1, 0}, {angles="xy", scale_units="xy", scale=1, color="C0"})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.imshow(x, {cmap="viridis", vmin=…, vmax=…, extent=…, origin="upper", aspect="equal", colorbar=false,
-- alpha=1}) -> figure: an array as a picture: (height, width) by a map of colours, (height, width, 3 or 4) as RGB or
-- RGBA: u8, or numbers from 0 to 1. NaN is not drawn.
--- extent: {left, right, bottom, top} of the picture on the axes
--- origin: where row 0 is: "upper" or "lower"
--- aspect: "equal": pixels are squares; "auto": they fill the axes
--- > np.plot.imshow(np.eye(4), {cmap="gray", colorbar=true})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.image(x, {cmap="gray", vmin=…, vmax=…}) -> figure: the pixels of an image, as np.io.load_image gives them,
-- without axes.
--- > np.plot.image(np.zeros({8, 8, 3}, {dtype="u8"}), {vmin=0})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.heatmap(x, {cmap="viridis", vmin=…, vmax=…, annot=false, fmt="%.3g", xticklabels=…, yticklabels=…}) ->
-- figure: a matrix as coloured cells with a bar that tells the colours, as seaborn's.
--- annot: true: the values stand in the cells
--- fmt: their format, as string.format's
--- xticklabels: names of the columns
--- yticklabels: names of the rows
--- > np.plot.heatmap(np.eye(2), {annot=true, fmt="%.1f", xticklabels={"a", "b"}})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.contour(x, y, z, {levels=7, colors=…, cmap="viridis", vmin=…, vmax=…, linewidth=1.5, alpha=1,
-- colorbar=false}), np.plot.contourf(x, y, z, {levels=7}) -> figure: lines of equal height, or the areas between them,
-- of z of two axes; x and y are the places of its columns and rows, 0, 1, … without them.
--- levels: a list of heights, or about how many
--- colors: one colour of all lines; the map's without it
--- > np.plot.contour(np.outer(np.arange(4), np.arange(4)), {levels={1, 2, 4}, colors="k"})
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.contourf(np.outer(np.arange(4), np.arange(4)), {levels=5, colorbar=true})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.surface(x, y, z, {cmap="viridis", vmin=…, vmax=…, elev=30, azim=-60, wireframe=false, color=…, label=…,
-- linewidth=0.5, alpha=1, colorbar=false}) -> figure: z of two axes as a surface above x and y, as matplotlib's
-- plot_surface.
--- elev: degrees above the plane from which one looks
--- azim: degrees around the vertical
--- wireframe: true: lines alone, in `color`
--- > np.plot.surface(np.eye(4), {wireframe=true, elev=45})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.axhline(y, {color="C0", linestyle="-", linewidth=1.5, alpha=1}), np.plot.axvline(x, {color="C0"}) ->
-- figure: a line across the axes. A place may be a name along the axis, here as in axhspan, text and annotate.
--- > np.plot.axhline(0, {color="k", linestyle=":"})
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.axvline(1, {color="k"})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.axhspan(ymin, ymax, {color="C0", alpha=1}), np.plot.axvspan(xmin, xmax, {color="C0"}) -> figure: a band
-- across the axes, behind the charts.
--- > np.plot.axhspan(-1, 1, {color="gray", alpha=0.2})
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.axvspan(2, 3, {color="gold"})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.text(x, y, text, {color="k", ha="left", va="center", fontsize=10, rotation=0}) -> figure: a text in the
-- axes.
--- ha: which end of it is at x: "left", "center" or "right"
--- va: what of it is at y: "bottom", "center" or "top"
--- fontsize: in points
--- rotation: in degrees, against the clock
--- > np.plot.text(0.5, 0.5, "here", {ha="center"})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.annotate(text, xy, {xytext=…, color="k", ha="left", va="center", fontsize=10, rotation=0}) -> figure: a text
-- about the place xy, {x, y}.
--- xytext: {x, y} of the text; an arrow leads from there to xy. Without it the text is at xy
--- ha: which end of the text is there: "left", "center" or "right"
--- va: what of it is there: "bottom", "center" or "top"
--- fontsize: in points
--- rotation: in degrees, against the clock
--- > np.plot.annotate("the peak", {1, 2}, {xytext={1.5, 1.5}, va="top"})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.title(text), np.plot.xlabel(text), np.plot.ylabel(text), np.plot.zlabel(text), np.plot.suptitle(text) ->
-- figure: texts above the axes, at their sides, and above all axes of a figure. Nothing in a text has a meaning, unless
-- the figure is enhanced.
--- > np.plot.title("Loss")
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.xlabel("step")
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.ylabel("nats")
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.zlabel("height")
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.suptitle("Training")
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.xlim(low, high), np.plot.ylim(low, high), np.plot.zlim(low, high) -> figure: the ends of an axis; the
-- greater one first turns it around. nil leaves one to the data. An end may be a text of a date, "2024-03-15".
--- > np.plot.xlim(0, 10)
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.ylim(nil, 5)
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.zlim(0, 1)
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.xscale(scale), np.plot.yscale(scale) -> figure: "log", "linear" or "date": numbers are seconds since 1970,
-- of UTC, and texts of ISO 8601, such as "2024-03-15" or "2024-03-15T12:30:00Z", are dates. An axis whose first texts
-- all are dates has this scale by itself; "linear", set before, makes them names. Widths of bars are days then.
--- > np.plot.xscale("linear")
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.yscale("linear")
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.xticks(places, labels), np.plot.yticks(places, labels) -> figure: where an axis has ticks, and their texts.
--- > np.plot.xticks({1, 2}, {"one", "two"})
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.yticks({0, 1})
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.legend({loc="best"}), np.plot.legend("upper left") -> figure: where the legend is. It is there when a
-- chart has a label, without this too. Texts in the table, {"a", "b"}, are labels of the charts in their order.
--- loc: "best", "upper right", "lower left", "center", …, "outside" or "none"
--- > np.plot.legend{loc="upper left"}
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.colorbar({label=…}) -> figure: a bar that tells the colours, beside the axes.
--- label: a text beside it
--- > np.plot.colorbar{label="height"}
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.grid(on) -> figure: lines at the ticks; false takes them away.
--- > np.plot.grid()
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.axis(what) -> figure: "off": no frame and no ticks; "equal": a unit is as long on both axes; "on", "auto".
--- > np.plot.axis("equal")
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.figure({figsize={6.4, 4.8}, dpi=100, enhanced=false}) -> figure: a new figure, which is current from now on.
-- Without it a chart begins a new one when the current one has been shown. At the prompt a figure is shown as other
-- values are. figure:svg() and figure:png(dpi) are the bytes of its picture.
--- > np.plot.figure{figsize={4, 3}, dpi=50}
-- figure 200x150, save with np.plot.save("name.png")

--- np.plot.subplots(rows, cols, {figsize={6.4, 4.8}, dpi=100, enhanced=false, sharex=false, sharey=false}) -> figure,
-- axes: a new figure with a grid of axes: one, a list if there is one row or one column, else a list of rows:
-- ax[2][1]:line(x, y). They count from 1.
--- sharex: true or "all": all axes have one x, its range, scale, ticks and names, and labels below the lowest alone;
-- "col", "row": those of a column, or of a row; false or "none": each its own
--- sharey: the same of y, with labels beside the leftmost
--- > fig, ax = np.plot.subplots(1, 2, {figsize={8, 3}})
--- > ax[1]:line({1, 2})
-- axes 1 of a figure, 1 charts

--- np.plot.facetgrid(t, f, {col=…, row=…, col_wrap=…, sharex=true, sharey=true, height=3, aspect=1, dpi=100}) ->
-- figure: axes for each category of a table's columns: f(axes, part) draws the rows of one into its axes, as seaborn's
-- FacetGrid. A title above tells which they are, unless f gives another.
--- col: the name of the column whose categories stand side by side: texts, whole numbers or booleans
--- row: that of the categories which stand below each other
--- col_wrap: how many stand side by side; the next ones begin a new row
--- sharex: as of np.plot.subplots
--- sharey: as of np.plot.subplots
--- height: of axes with what is around them, in inches
--- aspect: their width in heights
--- > t = np.table{kind={"cat", "dog", "cat"}, size={1, 2, 3}, age={4, 2, 5}}
--- > np.plot.facetgrid(t, function(axes, part) axes:scatter(part.size, part.age) end, {col="kind"})
-- figure 600x300, save with np.plot.save("name.png")

--- np.plot.pairplot(t, {hue=…, vars=…, color=…, height=2.5, aspect=1, bins=10, s=16, alpha=1, dpi=100}) -> figure: for
-- each pair of a table's columns the points of both, and histograms of single columns along the diagonal, as seaborn's.
--- hue: the name of a column of categories
--- vars: the names of the columns to show; without it all of numbers
--- color: of all, or a list of one for each category
--- height: of axes with what is around them, in inches
--- aspect: their width in heights
--- bins: of the histograms, as of np.plot.hist
--- s: the areas of the points in square points
--- > t = np.table{kind={"cat", "dog", "cat"}, size={1, 2, 3}, age={4, 2, 5}}
--- > np.plot.pairplot(t, {hue="kind"})
-- figure 500x500, save with np.plot.save("name.png")

--- np.plot.subplot(rows, cols, number) -> figure: makes one of the current figure's axes current, from 1.
--- > np.plot.figure()
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.subplot(2, 1, 2)
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.twinx() -> axes: makes axes current that share the frame and x of the current ones, and have a y of their
-- own on the right: for a curve of another unit. axes:twinx() returns them. Their charts go on with the colours. The
-- legend has the labels of both.
--- > np.plot.figure():line({1, 2}):ylabel("loss")
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.twinx():line({50, 90}):ylabel("accuracy")
-- axes 2 of a figure, 1 charts

--- np.plot.save(path, {dpi=100}), figure:save(path) -> nothing: writes the current figure, or that one, into a file, by
-- the ending of its name: .svg, .png, .pdf or .eps. Waits.
--- dpi: dots an inch of a PNG; the figure's without it
--- > np.plot.figure()
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.line({1, 2, 3})
-- figure 640x480, save with np.plot.save("name.png")
--- > np.plot.save("wave.png", {dpi=50})
--- > np.io.load_image("wave.png").shape[2]
-- 320

--- np.plot.show(figure) -> nothing: shows a figure, the current one without an argument, in order with prints: in the
-- terminal by kitty's graphics, sixel, or characters in colour, in a notebook as a picture, elsewhere as a line of
-- text. The environment's NEAP_GRAPHICS chooses: kitty, sixel, blocks, window or none. Under np.jit it is shown at each
-- call.
--- > np.plot.show(np.plot.line({1, 2}))
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.explore(figure), figure:explore() -> nothing: shows a figure in the terminal, where keys change the view:
-- arrows move it by a fifth, or turn three dimensions, + and - zoom, x and y choose which alone, Tab chooses axes, r or
-- 0 resets; q, Esc, Enter or Ctrl-C end. The figure keeps the last limits, so np.plot.save writes what was seen. Where
-- no terminal shows pictures the figure is shown once, and a line on stderr says so. Raises under np.jit.
--- > np.plot.explore(np.plot.line({1, 2}))
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.live({title=…, xlabel=…, ylabel=…, xscale=…, yscale=…, every=0.5, figsize={6.4, 4.8}, dpi=100}) ->
-- live curves: curves that grow while a program runs: live:update(step, {loss=l}) adds a point to each curve that it
-- names (without a step they are counted) and does not wait; live:close() shows them for the last time and returns the
-- figure, live:figure() gives what there is.
--- title: a text above
--- xlabel: a text below
--- ylabel: a text beside
--- xscale: "log" or "linear"
--- yscale: "log" or "linear"
--- every: seconds between pictures, at least
--- > live = np.plot.live{title="loss"}
--- > for k = 1, 3 do live:update(k, {loss=np.array(1 / k)}) end
--- > live:figure()
-- figure 640x480, save with np.plot.save("name.png")

--- np.plot.animate(f, frames, {fps=10, loop=true, dpi=…, progress=true}) -> animation: pictures in a row. f(k), for k =
-- 0 … frames - 1, or f(value, k) for each value of a list or an array of one axis, returns a figure, or an array of
-- pixels (u8, or numbers from 0 to 1) of one size. Charts that f draws begin a new figure. Axes cover in each picture
-- what they cover in any, unless f sets xlim and ylim. f is called at once; pictures are drawn when they are needed.
--
-- animation:save(path) writes a file by its ending: .gif, .html (a page with a player), .mp4 or .webm (by the program
-- ffmpeg), or .png: one file for each picture, path-0.png, path-1.png, …. animation:png(k) is a picture's bytes.
-- animation:show() plays it once in a terminal, and shows it in a notebook, as its value at a cell's end does. The same
-- pictures give the same bytes.
--- fps: pictures a second, from 0.1 to 50
--- loop: false: it ends with its last picture
--- dpi: dots an inch; the figure's without it
--- progress: false: no bar while pictures are made and drawn
--- > x = np.linspace(0, 6, 50)
--- > np.plot.animate(function(k) return np.plot.line(x, np.sin(x + k)) end, 4, {fps=2})
-- animation of 4 pictures 640x480, 2 s, save with animation:save("name.gif")

local core = require "neap.core"
local arguments = require "neap.arguments_gen"
local draw = require "neap.plot.draw"
local explore = require "neap.plot.explore"
local figures = require "neap.plot.figure"
local files = require "neap.files"
local show = require "neap.plot.show"

local raise, bad_argument = core.raise, core.bad_argument
local plot = {}
local Figure, Axes = figures.Figure, figures.Axes

--- Makes np.plot.NAME, figure:NAME and axes:NAME of a function of axes.
local function define(name, f, is_chart)
    local known = arguments["np.plot." .. name]
    local function check(...)
        local most = known and known.arity
        if most and select("#", ...) > most then core.too_many("plot." .. name, most, (select(most + 1, ...))) end
    end
    local function add(axes, ...)
        if not is_chart then return f(axes, ...) end
        figures.add_chart(axes, f, ...)
        figures.note(axes.figure)
    end
    plot[name] = function(...)
        check(...)
        local figure = figures.current(is_chart)
        add(figure.current, ...)
        return figures.make_current(figure)
    end
    Figure[name] = function(self, ...)
        figures.check_self(self, Figure, "figure", name)
        check(...)
        add(self.current, ...)
        return self
    end
    Axes[name] = function(self, ...)
        figures.check_self(self, Axes, "axes", name)
        check(...)
        add(self, ...)
        return self
    end
    for _, made in ipairs { add, plot[name], Figure[name], Axes[name] } do jit.off(made) end
end
for _, file in ipairs { "charts", "bars", "boxes", "violins", "pies", "arrows" } do
    for name, f in pairs(require("neap.plot." .. file)) do define(name, f, true) end
end
for name, f in pairs(figures.settings) do define(name, f, false) end

function plot.figure(options)
    return figures.make_current(figures.new("plot.figure", options))
end

plot.live = require "neap.plot.live"
plot.animate = require "neap.plot.animate"
for name, f in pairs(require "neap.plot.facets") do plot[name] = f end

function plot.subplots(rows, columns, options)
    local figure, axes = figures.subplots("plot.subplots", rows, columns, options)
    figures.make_current(figure)
    return figure, axes
end

function plot.subplot(rows, columns, number)
    return figures.make_current(figures.subplot(figures.current(false), rows, columns, number))
end
function Figure:subplot(rows, columns, number)
    return figures.subplot(self, rows, columns, number)
end

local function twin_of_current(figure)
    figure.current = figures.twinx(figure.current)
    return figure.current
end
function plot.twinx()
    return twin_of_current(figures.make_current(figures.current(false)))
end
function Figure:twinx()
    figures.check_self(self, Figure, "figure", "twinx")
    return twin_of_current(self)
end
function Axes:twinx()
    figures.check_self(self, Axes, "axes", "twinx")
    return figures.twinx(self)
end

local function check_dpi(name, dpi)
    if dpi ~= nil and (type(dpi) ~= "number" or not (dpi >= 10 and dpi <= 1200)) then
        bad_argument(name, nil, "dpi", "dots per inch from 10 to 1200", dpi)
    end
end

local function save(figure, path, options)
    local name = "plot.save"
    local o = core.options(name, options, { dpi = true })
    core.check_path(name, path)
    local format = draw.formats[(path:lower():match "%.(%w+)$" or "")]
    if not format then raise(name, "the name of a picture ends in .svg, .png, .pdf or .eps, got '%s'", path) end
    check_dpi(name, o.dpi)
    show.when_ready(figure, function(ready)
        local good, problem = files.write(path, { draw.bytes(name, ready, format, o.dpi) })
        if not good then raise(name, "%s", problem) end
    end)
end

function plot.save(path, options)
    if not figures.has_current() then raise("plot.save", "there is no figure yet") end
    save(figures.current(false), path, options)
end
function Figure:save(path, options)
    figures.check_self(self, Figure, "figure", "save")
    save(self, path, options)
    return self
end

local function display(figure)
    figure.shown = true
    show.when_ready(figure, function(ready) show.now("plot.show", ready) end)
end

--- The figure of an argument: without one the current figure.
local function the_figure(name, figure)
    if figure == nil then
        if not figures.has_current() then raise(name, "there is no figure yet") end
        return figures.current(false)
    end
    if not figures.is_figure(figure) then bad_argument(name, 1, "figure", "a figure", figure) end
    return figure
end

function plot.show(figure)
    display(the_figure("plot.show", figure))
end
function Figure:show()
    figures.check_self(self, Figure, "figure", "show")
    display(self)
end
Figure.__show = display -- at the prompt

function plot.explore(figure)
    explore(the_figure("plot.explore", figure))
end
function Figure:explore()
    figures.check_self(self, Figure, "figure", "explore")
    explore(self)
end

--- In a notebook.
function Figure:__display()
    self.shown = true
    return { ["image/svg+xml"] = self:svg(), ["text/plain"] = tostring(self) }
end

function Figure:svg() return draw.bytes("plot.save", self, "svg") end
function Figure:png(dpi)
    check_dpi("plot.figure", dpi)
    return draw.bytes("plot.save", self, "png", dpi)
end

return plot
