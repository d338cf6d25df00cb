--- aliases.lua: what names of NumPy, JAX and PyTorch are called here, for messages about unknown names. Functions
-- that have another name here, or none, are those of tools/gen/names.txt; what has to be written otherwise stands here.
local aliases = {}

--- By the path behind np. what to write here.
aliases.functions = {
    ["linalg.cg"] = "np.sparse.cg(A, b)", ["linalg.gmres"] = "np.sparse.gmres(A, b)",
    ["linalg.bicgstab"] = "np.sparse.bicgstab(A, b)", ["linalg.eigsh"] = "np.sparse.eigsh(A, k)",
    ["effects.barrier"] = "np.effects_barrier()", ["debug.breakpoint"] = "np.breakpoint()",
    ["sparse.linalg"] = "np.sparse.spsolve(A, b), splu, cg, gmres, bicgstab, spsolve_triangular and eigsh",
    ["plot.plot"] = "np.plot.line(x, y)", ["plot.savefig"] = "np.plot.save(path)",
    ["plot.plot_surface"] = "np.plot.surface(x, y, z)", ["plot.pcolormesh"] = "np.plot.imshow(x)",
    ["plot.matshow"] = "np.plot.imshow(x)", ["plot.histplot"] = "np.plot.hist(x)",
    ["plot.spy"] = "np.plot.imshow(x:ne(0))",
    ["plot.hlines"] = "np.plot.line({x1, x2}, {y, y}), or np.plot.axhline(y) from edge to edge",
    ["plot.vlines"] = "np.plot.line({x, x}, {y1, y2}), or np.plot.axvline(x) from edge to edge",
    ["plot.stackplot"] = "np.plot.fill_between(x, y, y + z) for each layer",
    ["plot.stem"] = 'np.plot.bar(x, y, {width=0.05}) with np.plot.line(x, y, "o")',
    ["plot.hist2d"] = "np.plot.imshow(np.histogram2d(x, y))", ["plot.hexbin"] = "np.plot.imshow(np.histogram2d(x, y))",
    ["plot.fill"] = "np.plot.fill_between(x, y1, y2)",
    ["plot.arrow"] = 'np.plot.annotate("", {x, y}, {xytext={x1, y1}})',
    ["plot.set_title"] = "np.plot.title(text)", ["plot.set_xlabel"] = "np.plot.xlabel(text)",
    ["plot.set_ylabel"] = "np.plot.ylabel(text)", ["plot.figtext"] = "np.plot.text(x, y, text)",
    ["plot.gcf"] = "what np.plot.figure() returned", ["plot.gca"] = "what np.plot.subplots() returned second",
    ["plot.clf"] = "np.plot.figure(), which begins a new one", ["plot.close"] = "nothing: figures need not be closed",
    ["plot.cla"] = "np.plot.figure(), which begins a new one", ["plot.ion"] = "np.plot.live{…} for curves that grow",
    ["plot.zoom"] = "np.plot.explore(), which has keys", ["plot.pan"] = "np.plot.explore(), which has keys",
    ["plot.pause"] = "np.plot.live{…} for curves that grow",
    ["plot.tight_layout"] = "nothing: axes have room for texts",
    ["plot.invert_yaxis"] = "np.plot.ylim(high, low)", ["plot.invert_xaxis"] = "np.plot.xlim(high, low)",
    ["plot.tick_params"] = "np.plot.xticks(places, labels)", ["plot.xticklabels"] = "np.plot.xticks(places, labels)",
    ["plot.set_xticklabels"] = "np.plot.xticks(places, labels)",
    ["plot.set_yticklabels"] = "np.plot.yticks(places, labels)", ["plot.set_aspect"] = 'np.plot.axis("equal")',
    ["plot.style"] = "nothing: charts take color, linewidth, …",
    ["plot.rcParams"] = "np.plot.figure{figsize={8, 5}, dpi=100}",
    ["plot.plot_date"] = "np.plot.line(seconds, y) with np.plot.xticks(places, labels)",
    load = "np.io.load", save = "np.io.save", savez = "np.io.savez", loadz = "np.io.load",
    shape = "the field x.shape", ndim = "the field x.ndim", size = "the field x.size", dtype = "the field x.dtype",
    cat = "np.concatenate{x, y}", lib = "np itself (np.sliding_window_view)",
    rand = "np.random.uniform(key, {3})", randn = "np.random.normal(key, {3})", rvs = "np.random: normal(key, {3}), …",
    randint = "np.random.randint(key, …)", randperm = "np.random.permutation(key, n)", manual_seed = "np.random.key(n)",
    mm = "np.matmul(x, y)", bmm = "np.matmul(x, y)",
    inv = "np.linalg.inv", det = "np.linalg.det", norm = "np.linalg.norm", solve = "np.linalg.solve",
    svd = "np.linalg.svd", eigh = "np.linalg.eigh", qr = "np.linalg.qr", cholesky = "np.linalg.cholesky",
    tensor = "np.array{…}", ndarray = "np.array{…}, and np.is_array(x) asks for an array",
    as_tensor = "np.array{…}", from_numpy = "np.array{…}",
    float = "np.float32", double = "np.float64", half = "np.float16", int = "np.int32", long = "np.int64",
    relu = "np.nn.relu", gelu = "np.nn.gelu", silu = "np.nn.silu",
    numpy = "np itself", no_grad = "np.stop_gradient(x)", backward = "np.grad(f)(x)",
    lax = "np itself (np.scan, np.cond, …)",
    unsqueeze = "np.expand_dims", view = "np.reshape", clone = "x itself: arrays never change",
    info = "?x and x.shape", version = "the command neap --version", __version__ = "the command neap --version",
    expm = "np.linalg.expm", block_diag = "np.linalg.block_diag", toeplitz = "np.linalg.toeplitz", lu = "np.linalg.lu",
    elu = "np.nn.elu", glu = "np.nn.glu",
    tree_map = "np.tree.map(f, tree)", ["tree.tree_map"] = "np.tree.map(f, tree)",
    tree_leaves = "np.tree.leaves(tree)", tree_flatten = "np.tree.flatten(tree)", tree_util = "np.tree",
    make_jaxpr = "np.trace(f)(x)", optax = "np.optim", flax = "np.nn", haiku = "np.nn", equinox = "np.nn",
    config = "np.debug, and the options of neap --help",
    sharding = "np.NamedSharding, np.P and np.mesh", autograd = "np.grad(f)(x)", utils = "np.data",
    cuda = 'np.devices("cuda"), np.device_put(x, "cuda:0")', backends = 'np.devices("cuda"); neap doctor tells more',
    ["data.DataLoader"] = "np.data.batches({x, y}, size, {key=key})",
    ["data.TensorDataset"] = "np.data.batches({x, y}, size, {key=key})",
    ["optimize.fsolve"] = "np.optimize.root(f, x0)",
    ["optimize.brentq"] = "np.optimize.root_scalar(f, {bracket={a, b}})",
    ["optimize.bisect"] = "np.optimize.root_scalar(f, {bracket={a, b}, method=\"bisect\"})",
    ["optimize.newton"] = "np.optimize.root_scalar(f, {x0=…})",
    ["optimize.leastsq"] = "np.optimize.least_squares(f, x0)",
    ["optimize.fmin"] = "np.optimize.minimize(f, x0, {method=\"nelder-mead\"})",
    ["optimize.fmin_bfgs"] = "np.optimize.minimize(f, x0)",
    ["optimize.fmin_l_bfgs_b"] = "np.optimize.minimize(f, x0, {bounds={lower, upper}})",
    ["optimize.fminbound"] = "np.optimize.minimize_scalar(f, {bounds={a, b}})",
    ["optimize.fixed_point"] = "np.optimize.root(function(x) return f(x) - x end, x0)",
    ["optimize.approx_fprime"] = "np.grad(f)(x)",
    ["optim.lr_scheduler"] = "a function for lr: np.optim.cosine_decay, exponential_decay, piecewise, warmup",
    ["optim.AdamW"] = "np.optim.adamw{lr=…}", ["optim.RMSprop"] = "np.optim.rmsprop{lr=…}",
    ["nn.xavier_uniform"] = "np.nn.glorot_uniform", ["nn.xavier_uniform_"] = "np.nn.glorot_uniform",
    ["nn.xavier_normal"] = "np.nn.glorot_normal", ["nn.xavier_normal_"] = "np.nn.glorot_normal",
    ["nn.kaiming_uniform"] = "np.nn.he_uniform", ["nn.kaiming_uniform_"] = "np.nn.he_uniform",
    ["nn.kaiming_normal"] = "np.nn.he_normal", ["nn.kaiming_normal_"] = "np.nn.he_normal",
    ["data.random_split"] = "np.random.permutation(key, x), then parts x[{{0, n}}]",
    ["data.ImageFolder"] = "np.data.image_folder(path)", ["data.RandomCrop"] = "np.data.random_crop(key, x, {32, 32})",
    ["data.RandomHorizontalFlip"] = "np.data.random_flip(key, x)",
    ["optim.OneCycleLR"] = "np.optim.one_cycle(peak, steps)", ["optim.MultiSteps"] = "np.optim.accumulate(opt, count)",
    ["optim.PolynomialLR"] = "np.optim.polynomial_decay(lr, steps)", ["optim.GradScaler"] = "np.optim.loss_scale(opt)",
    ["optim.masked"] = "np.optim.freeze(opt, frozen)",
    ["nn.init"] = "np.nn.glorot_uniform, he_normal, …", ["nn.parameter"] = "params = model:init(key)",
    ["nn.Conv1d"] = "np.nn.Conv(inputs, outputs, {3})", ["nn.Conv2d"] = "np.nn.Conv(inputs, outputs, {3, 3})",
    ["nn.Conv3d"] = "np.nn.Conv(inputs, outputs, {3, 3, 3})", ["nn.MaxPool2d"] = "np.nn.MaxPool({2, 2})",
    ["nn.AvgPool2d"] = "np.nn.AvgPool({2, 2})", ["nn.BatchNorm1d"] = "np.nn.BatchNorm",
    ["nn.BatchNorm2d"] = "np.nn.BatchNorm", ["nn.ReLU"] = "np.nn.relu, without a call", ["nn.GELU"] = "np.nn.gelu",
    ["nn.Sigmoid"] = "np.nn.sigmoid, without a call", ["nn.Tanh"] = "np.tanh, without a call",
    ["nn.Softmax"] = "np.nn.softmax", ["nn.Flatten"] = "np.nn.flatten, without a call",
    ["nn.ModuleList"] = "np.nn.Block{layer, …, forward=…}", ["nn.Parameter"] = "np.nn.Block{parameters={…}, …}",
    tolist = "x:totable()", len = "#x", print = "print(x)", None = "np.newaxis",
    ["random.rand"] = "np.random.uniform(key, {3})", ["random.randn"] = "np.random.normal(key, {3})",
    ["random.random"] = "np.random.uniform(key, {3})", ["random.seed"] = "key = np.random.key(seed)",
    ["random.PRNGKey"] = "np.random.key(seed)", ["random.integers"] = "np.random.randint(key, {3}, low, high)",
    ["random.standard_exponential"] = "np.random.exponential(key, {3})",
    ["random.random_sample"] = "np.random.uniform(key, {3})",
    read_csv = "np.io.read_csv(path)", DataFrame = "np.table{name = …}", to_csv = "np.io.write_csv(path, t)",
    read_parquet = "np.io.read_parquet(path)", read_feather = "np.io.read_feather(path)",
    to_parquet = "np.io.write_parquet(path, t)", to_feather = "np.io.write_feather(path, t)",
    imread = "np.io.load_image(path)", imsave = "np.io.save_image(path, x)", imwrite = "np.io.save_image(path, x)",
    savefig = "np.plot.save(path)", show = "np.plot.show()",
    ["random.shuffle"] = "np.random.permutation(key, x)",
    ["random.standard_normal"] = "np.random.normal(key, {3})", ["random.gauss"] = "np.random.normal(key, {3})",
    ["linalg.transpose"] = "np.transpose", ["optim.Adam"] = "np.optim.adam{lr=…}", ["optim.SGD"] = "np.optim.sgd{lr=…}",
    ["nn.Linear"] = "np.nn.Dense", ["nn.Module"] = "np.nn.Block", ["nn.functional"] = "np.nn itself",
    ["nn.CrossEntropyLoss"] = "np.nn.cross_entropy(logits, labels)", ["nn.MSELoss"] = "np.nn.mse(x, y)",
    ["nn.softmax_cross_entropy"] = "np.nn.cross_entropy(logits, labels)",
    ["nn.softmax_cross_entropy_with_integer_labels"] = "np.nn.cross_entropy(logits, labels)",
    np = "np itself: np = require \"neap\"",
    ["nn.BCEWithLogitsLoss"] = "np.nn.binary_cross_entropy(logits, y)",
}

--- By name what to write here for a method or field of an array.
aliases.methods = {
    tolist = "x:totable()", numpy = "x itself, or x:totable()", cpu = 'np.device_put(x, "cpu:0")',
    to = 'x:astype("f64"), or np.device_put(x, "cpu:0")', unsqueeze = "x:expand_dims(axis)",
    clone = "x itself: arrays never change", detach = "np.stop_gradient(x)", backward = "np.grad(f)(x)",
    grad = "np.grad(f)(x)",
    requires_grad = "np.grad(f)(x)", mm = "x:matmul(y)", cat = "np.concatenate{x, y}",
    float = 'x:astype("f32")', double = 'x:astype("f64")', int = 'x:astype("i32")',
    long = 'x:astype("i64")', half = 'x:astype("f16")', bool = 'x:astype("bool")', len = "#x",
    set = "x:at{…}:set(v)", fill = "np.full(shape, v)", get = "x[…]", norm = "np.linalg.norm(x)",
    inv = "np.linalg.inv(x)", det = "np.linalg.det(x)", block_until_ready = "x:wait()",
    cuda = "np.device_put(x, device)", expand = "np.broadcast_to(x, {…})", t = "x.T", permute = "x:transpose(1, 0)",
    contiguous = "x itself", is_contiguous = "nothing: layouts do not show", is_cuda = "x.device", iter = "a loop: "
        .. "for k = 0, #x - 1 do local v = x[k] … end", zero_ = "np.zeros_like(x)", fill_ = "np.full(shape, v)",
    normal_ = "np.random.normal(key, {3})", uniform_ = "np.random.uniform(key, {3})",
    itemset = "x:at{…}:set(v)", print = "print(x)", type = "x.dtype", dims = "x.shape", length = "#x",
    to_csv = "np.io.savetxt(path, x)", plot = "np.plot.line(x)", head = 'x"0:5"', tail = 'x"-5:"', first = "x[0]",
    last = "x[-1]", iloc = "x[k]",
    push = "np.append(x, v)", concat = "np.concatenate{x, y}", extend = "np.concatenate{x, y}",
    join = "np.concatenate{x, y}", remove = "np.delete_at(x, k)", reverse = "np.flip(x)", filter = "x[mask]",
    value_counts = "np.unique(x, {return_counts=true})", index = "np.nonzero(x:eq(v))",
    apply = "f(x), or np.vmap(f)(x) row by row", forEach = "a loop: for k = 0, #x - 1 do local v = x[k] … end",
    reduce = "x:sum(), x:prod(), x:max() and their kin", values = "x itself", data = "x itself", A = "x itself",
    sub_ = "x = x - y", mul_ = "x = x * y", div_ = "x = x / y", toList = "x:totable()", to_list = "x:totable()",
    float32 = 'x:astype("f32")', float64 = 'x:astype("f64")', int32 = 'x:astype("i32")', uint8 = 'x:astype("u8")',
    gpu = "np.device_put(x, device)", nelement = "x.size", I = "np.linalg.inv(x)", H = "np.conj(x.T)",
    eig = "np.linalg.eig(x)", strides = "nothing: layouts do not show", flags = "nothing: layouts do not show",
    describe = "x:mean(), x:std(), x:min() and x:max()", shuffle = "np.random.permutation(key, x)",
    sample = "np.random.permutation(key, x)", dump = "np.io.save(path, x)",
    zip = "a loop: for k = 0, #x - 1 do … x[k], y[k] … end",
}

local NUMBERS = "numbers need no type here; the dtype of an array is a text such as \"f32\""

--- By name of a variable what Lua has in its place.
aliases.variables = {
    len = "#x is the length of x", range = "for k = 0, n - 1 do … end counts, and np.arange(n) is an array",
    None = "Lua writes nil", null = "Lua writes nil", NULL = "Lua writes nil", undefined = "Lua writes nil",
    True = "Lua writes true", False = "Lua writes false", TRUE = "Lua writes true", FALSE = "Lua writes false",
    int = 'math.floor(x) of a number, x:astype("i32") of an array', float = NUMBERS,
    double = NUMBERS, bool = NUMBERS, complex = NUMBERS,
    str = "tostring(x) is a text", list = "a list is a table, {1, 2, 3}", tuple = "a list is a table, {1, 2, 3}",
    dict = "a table has names too, {a = 1, b = 2}", set = "a set is a table, {a = true}",
    enumerate = "for k, v in ipairs(t) do … end", zip = "for k = 1, #a do … a[k], b[k] … end",
    sorted = "table.sort(t) of a table, np.sort(x) of an array", map = "np.vmap(f) of arrays, a loop for tables",
    sum = "np.sum(x), or x:sum()", abs = "math.abs(x) of a number, np.abs(x) of an array",
    input = "io.read() reads a line", open = "io.open(path), and np.io.load(path) of an array",
    printf = 'np.printf("%g\\n", x)', console = "print(x)",
    isinstance = "type(x) tells a type, and np.is_array(x) asks for an array",
    dir = "Tab completes names, and pairs(t) walks through a table", vars = ":who lists variables",
    who = ":who lists variables", whos = ":who lists variables", timeit = ":bench CODE measures it",
    time = ":time CODE measures it, and os.time() is the time of the day",
    globals = ":who lists variables", locals = ":who lists variables", id = "rawequal(a, b) asks for the same value",
    try = "pcall(f) calls f, and tells an error as its second result",
    raise = "error(message)", throw = "error(message)", exec = "loadstring(text)()", eval = "loadstring(text)()",
    lambda = "function(x) return … end", elif = "Lua writes elseif … then", continue = "goto leads to a ::label::",
    numpy = "np is there already", jnp = "np is there already", jax = "np is there already",
    torch = "np is there already", tf = "np is there already", random = "np.random of arrays, math.random of a number",
    plt = "np.plot draws: np.plot.line(x, y)",
    matplotlib = "np.plot draws: np.plot.line(x, y)",
    plot = "np.plot draws: np.plot.line(x, y)",
    ls = "!ls calls it", pwd = "!pwd calls it", cat = "!cat FILE calls it", clear = "Ctrl-L clears the screen",
    clc = "Ctrl-L clears the screen, and a script leaves it out", disp = "print(x)", println = "print(x)",
    fprintf = 'np.printf("%g\\n", x)',
    size = "x.shape is the shape, and x.size how many elements there are", numel = "x.size", ndims = "x.ndim",
    length = "#x is the length of x", repmat = "np.tile(x, {2, 3})",
    rand = "np.random.uniform(key, {3})", randn = "np.random.normal(key, {3})",
    pd = "np.table has columns, np.io.read_csv(path) reads them", df = "np.io.read_csv(path) reads a table",
    exit = "os.exit() ends a script", quit = "os.exit() ends a script",
    nan = "np.nan, or 0 / 0", NaN = "np.nan, or 0 / 0",
    inf = "np.inf, or math.huge", Inf = "np.inf, or math.huge", pi = "math.pi, or np.pi", Array = "np.array{1, 2, 3}",
    array = "np.array{1, 2, 3}", strlen = "#s is the length of s", sleep = 'os.execute "sleep 1"',
    isempty = "#x == 0", push = "t[#t + 1] = v", append = "t[#t + 1] = v", linspace = "np.linspace(0, 1, 5)",
    round = "math.floor(x + 0.5) of a number, np.round(x) of an array", foreach = "for k, v in pairs(t) do … end",
    fmt = "print(x)", System = "print(x)", std = "np.std(x)", cout = "print(x)", echo = "print(x)", puts = "print(x)",
    super = "Base.method(self, …) calls that of another table", pass = "an empty block needs nothing in it",
    filter = "x[mask] of an array, a loop for tables", ord = "s:byte()", chr = "string.char(n)",
    repr = "tostring(x) is a text", hasattr = "t.name ~= nil", getattr = "t[name]", setattr = "t[name] = v",
    reversed = "for k = #t, 1, -1 do … end of a table, np.flip(x) of an array", bin = 'np.debug.print("{:b}", n)',
    hex = '("%x"):format(n)', callable = 'type(f) == "function"', iter = "ipairs(t) and pairs(t) are iterators",
    In = "Out[3] is what command 3 gave",
    c = "np.array{1, 2, 3} is an array, {1, 2, 3} a table", library = 'require "name" loads a module',
    seq = "np.arange(1, 11), or np.linspace(0, 1, 5)", rep = "np.repeat_(x, n), or np.full({n}, v)",
    head = 'x"0:5" of an array, t:head() of a table', tail = 'x"-5:" of an array, t:tail() of a table',
    nrow = "x.shape[1], or #t of a table", ncol = "x.shape[2]", paste = 'a .. " " .. b joins texts',
    sapply = "np.vmap(f)(x) of an array, a loop for tables", lapply = "np.vmap(f)(x) of an array, a loop for tables",
    ifelse = "np.where(mask, a, b)", which = "np.flatnonzero(mask)", stop = "error(message)", class = "type(x)",
    data_frame = "np.table{name = …}", matrix = "np.array{{1, 2}, {3, 4}}", vec = "x:flatten()",
    func = "function f(x) … end", def = "function f(x) … end", fn = "function f(x) … end",
    this = "a method has self", self = "a method, function t:f(), has it",
}

--- By name what a module of Python's or Julia's is here.
aliases.modules = {
    numpy = "np is there already, without import", jax = "np.grad, np.jit and np.vmap are there already",
    torch = "np.nn, np.optim and np.grad are there already", tensorflow = "np.nn and np.optim are there already",
    matplotlib = "np.plot draws, and is there already", seaborn = "np.plot draws, and is there already",
    Plots = "np.plot draws, and is there already", pandas = "np.table has columns, and is there already",
    scipy = "np.linalg, np.special and np.signal are there already",
    sklearn = "np.linalg, np.nn and np.optim are there already",
    flax = "np.nn is there already", optax = "np.optim is there already",
    math = "Lua's math is there already, without import", os = "Lua's os is there already, without import",
    sys = "arg has the arguments of a script, os.exit() ends it",
    random = "np.random and math.random are there already",
    time = "os.time() is the time of the day, os.clock() that of the CPU",
    re = "texts have s:match, s:gsub and s:gmatch", LinearAlgebra = "np.linalg is there already",
    Random = "np.random is there already", Statistics = "np.mean, np.std and np.quantile are there already",
}

local SHAPE = "the shape is an argument, as in np.random.normal(key, {3})"
local SCALED = "loc + scale * np.random.normal(key, {3}) has another mean and deviation"

--- By name of an option the one that it is here, if the function has that; or the remedy, where none fits.
aliases.options = {
    num_layers = "layers", batch_first = "time_major, which is false unless given",
    dim = "axis", dims = "axis", keepdim = "keepdims", sep = "delimiter", low = "minval", high = "maxval",
    shuffle = "key, a key of np.random: batches in random order", seed = "key, as of np.random.key(seed)",
    lw = "linewidth", ls = "linestyle", ms = "markersize", mec = "edgecolor", c = "color", size = "figsize",
    labels = "tick_labels", learning_rate = "lr", unbiased = "correction", nbins = "bins",
    num = "the number of points is an argument, as in np.linspace(0, 1, 5)",
    shape = SHAPE, loc = SCALED, scale = SCALED, mean = SCALED, std = SCALED, sigma = SCALED, mu = SCALED,
    arrowprops = "an arrow is there where xytext is", arrow = "an arrow is there where xytext is",
    static_argnums = "static, whose positions count from 1", static_argnames = "static, whose positions count from 1",
    donate_argnums = "donate, whose positions count from 1", fmt_string = "fmt", elinewidth = "linewidth",
    index_col = "tables have no index: all columns are alike",
    out = "arrays never change: x = np.add(x, y)", inplace = "arrays never change: x = np.add(x, y)",
    order = "arrays are row-major", copy = "arrays never change, so nobody copies them",
}

--- By name what to write here for a method of pandas' tables.
aliases.tables = {
    groupby = "t:group(by, {column = \"mean\"})", group_by = "t:group(by, {column = \"mean\"})",
    sort_values = "t:sort(by)", to_csv = "np.io.write_csv(path, t)", merge = "t:join(other, {on = key})",
    assign = "t:with{column = …}", iloc = "t:take(indices), t:row(k)", loc = "t:filter(mask)",
    query = "t:filter(mask)", to_numpy = "t:to_array()", values = "t:to_array()",
    mean = "t.column:mean()", sum = "t.column:sum()", std = "t.column:std()", min = "t.column:min()",
    max = "t.column:max()", append = "t:concat(other)", info = "t:describe()", len = "#t", dtypes = "t.column.dtype",
    iterrows = "for k = 0, #t - 1 do local row = t:row(k) … end", isnull = "t:isna(name)", aggregate = "t:agg{…}",
    notna = "np.logical_not(t:isna(name))", unique = "t:drop_duplicates(names)",
    nunique = "t:agg{column = \"nunique\"}", median = "t:agg{column = \"median\"}",
        quantile = "t:agg{column = \"90%\"}", pad = "t:ffill(names)",
    to_json = "np.io.write_jsonl(path, t)", to_feather = "np.io.write_feather(path, t)",
    to_parquet = "np.io.write_parquet(path, t)", apply = "t:with{column = …}",
    dt = "t.column.year, t.column:strftime(format)", str = "t.column:lower() and its kin",
    where = "t:filter(mask)", subset = "t:filter(mask)", arrange = "t:sort(by)", order_by = "t:sort(by)",
    mutate = "t:with{column = …}", insert = "t:with{column = …}", astype = 't:with{column = t.column:astype("f32")}',
    copy = "t itself: tables never change", set_index = "t itself: all columns are alike",
    reset_index = "t itself: all columns are alike", summarise = "t:agg{…}", summarize = "t:agg{…}",
    corr = "np.corrcoef(np.stack{t.a, t.b})", plot = "np.plot.line(t.a, t.b)", hist = "np.plot.hist(t.column)",
    boxplot = "np.plot.boxplot(t.a, {by=t.b})", nrow = "#t", ncol = "#t.columns", nrows = "#t", ncols = "#t.columns",
    length = "#t", size = "#t", keys = "t.columns", items = "for k, name in ipairs(t.columns) do … t[name] end",
}

--- By name what to write here for a method of pandas' columns of texts.
aliases.texts = {
    value_counts = 't:value_counts("column")', nunique = "#column:unique()", replace = "column:gsub(pattern, by)",
    fillna = "t:fillna{column = v}", isna = "column:isnan()", isnull = "column:isnan()",
    tolist = "column:totable()", astype = "column:to_numeric()", upper_case = "column:upper()",
    str = "the column itself: column:upper()", sort = "t:sort(\"column\")", groupby = 't:group("column")',
}

--- By name as elsewhere the dtype here.
aliases.dtypes = {
    float = "f32", int = "i32", long = "i64", short = "i16", char = "i8", byte = "u8", uint = "u32", number = "f32",
    integer = "i32",
}

--- What to write here for np.PATH of another library, or the name of the same function; nil where neither is known.
function aliases.of(path)
    return aliases.functions[path] or require("neap.peers_gen").functions[path]
end

--- What to write for a name of another library, in whichever of its modules that is: "shuffle" is random.shuffle; nil:
-- unknown. Of several modules the first in the order of the alphabet.
local function of_modules(name)
    local first
    for path in pairs(aliases.functions) do
        if path:match "[%w_]+$" == name and (not first or path < first) then first = path end
    end
    return first and aliases.functions[first]
end

--- The same, or an option of that name.
function aliases.anywhere(name)
    local option = aliases.options[name]
    return of_modules(name) or option and (option:find " " and option or "the option " .. option)
end

--- What to write for a name that np lacks, but one of its modules has: "np.integrate.quad", "np.a.f or np.b.f"; or else
-- another library, or else a module with other capitals; nil: none of these.
function aliases.elsewhere(name)
    local same, other = {}, {}
    for path in pairs(require "neap.arguments_gen") do
        local own = path:match "^np%.[%w_%.]+%.([%w_]+)$"
        if own == name then
            same[#same + 1] = path
        elseif own and own:lower() == name:lower() then
            other[#other + 1] = path
        end
    end
    table.sort(same)
    table.sort(other)
    return same[1] and table.concat(same, " or ") or of_modules(name) or other[1]
end

local SPARSE = "np.sparse.csr_array, csc_array and coo_array are sparse arrays"
local DESIGNS = "np.signal.butter, cheby1, cheby2, ellip, bessel and firwin make filters"
local GLOBAL = "np.optimize finds local minima; np.vmap searches from many starts at once"

--- By path why what SciPy, scikit-learn and their kin have is not here.
local reasons = {
    coo_matrix = SPARSE, csr_matrix = SPARSE, csc_matrix = SPARSE,
    ["signal.firls"] = DESIGNS, ["signal.remez"] = DESIGNS,
    ["optimize.nnls"] = "np.optimize.least_squares takes bounds",
    ["optimize.differential_evolution"] = GLOBAL, ["optimize.basinhopping"] = GLOBAL,
    ["optimize.dual_annealing"] = GLOBAL, ["optimize.shgo"] = GLOBAL, ["optimize.brute"] = GLOBAL,
    ndimage = "np.image has SciPy's filters, regions and warps",
    train_test_split = "order = np.random.permutation(key, n) divides rows: x[order[{ {0, k} }]]",
    sklearn = "np.linalg, np.nn and np.optim are what models are made of",
}

--- Why np.PATH of another library is not here, or nil.
function aliases.why(path)
    return reasons[path] or require("neap.peers_gen").absent[path]
end

return aliases
