--- elsewhere.lua: what names of NumPy, JAX and PyTorch are called here, for messages about unknown names.
local elsewhere = {}

--- By the path behind np. what to write here.
elsewhere.functions = {
    load = "np.io.load", save = "np.io.save", savez = "np.io.savez", loadz = "np.io.load",
    shape = "the field x.shape", ndim = "the field x.ndim", size = "the field x.size", dtype = "the field x.dtype",
    append = "np.concatenate{x, y}", cat = "np.concatenate{x, y}",
    hstack = "np.concatenate({x, y}, {axis=1})", vstack = "np.concatenate({x, y}, {axis=0})",
    rand = "np.random.uniform(key, {3})", randn = "np.random.normal(key, {3})",
    randint = "np.random.randint(key, …)", randperm = "np.random.permutation(key, n)", manual_seed = "np.random.key(n)",
    mm = "np.matmul(x, y)", bmm = "np.matmul(x, y)",
    inv = "np.linalg.inv", det = "np.linalg.det", norm = "np.linalg.norm", solve = "np.linalg.solve",
    svd = "np.linalg.svd", eigh = "np.linalg.eigh", qr = "np.linalg.qr", cholesky = "np.linalg.cholesky",
    tensor = "np.array{…}", ndarray = "np.array{…}", as_tensor = "np.array{…}", from_numpy = "np.array{…}",
    float = "np.float32", double = "np.float64", half = "np.float16", int = "np.int32", long = "np.int64",
    relu = "np.nn.relu", gelu = "np.nn.gelu", silu = "np.nn.silu",
    numpy = "np itself", no_grad = "np.stop_gradient(x)", backward = "np.grad(f)(x)",
    set_printoptions = "np.printf for other formats", lax = "np itself (np.scan, np.cond, …)",
    unsqueeze = "np.expand_dims", view = "np.reshape", clone = "x itself: arrays never change",
    divmod = "np.floor_divide and np.remainder",
    tolist = "x:totable()", len = "#x", print = "print(x)", None = "np.newaxis",
    ["random.rand"] = "np.random.uniform(key, {3})", ["random.randn"] = "np.random.normal(key, {3})",
    ["random.random"] = "np.random.uniform(key, {3})", ["random.seed"] = "key = np.random.key(seed)",
    ["random.PRNGKey"] = "np.random.key(seed)", ["random.default_rng"] = "np.random.key(seed)",
    ["random.shuffle"] = "np.random.permutation(key, x)",
    ["random.standard_normal"] = "np.random.normal(key, {3})", ["random.gauss"] = "np.random.normal(key, {3})",
    ["linalg.transpose"] = "np.transpose", ["optim.Adam"] = "np.optim.adam{lr=…}", ["optim.SGD"] = "np.optim.sgd{lr=…}",
    ["nn.Linear"] = "np.nn.Dense", ["nn.Module"] = "np.nn.Block",
}

--- By name what to write here for a method or field of an array.
elsewhere.methods = {
    tolist = "x:totable()", numpy = "x itself, or x:totable()", cpu = 'np.device_put(x, "cpu:0")',
    to = 'x:astype("f64"), or np.device_put(x, "cpu:0")', unsqueeze = "x:expand_dims(axis)",
    clone = "x itself: arrays never change", detach = "np.stop_gradient(x)", backward = "np.grad(f)(x)",
    grad = "np.grad(f)(x)",
    requires_grad = "np.grad(f)(x)", mm = "x:matmul(y)", cat = "np.concatenate{x, y}",
    append = "np.concatenate{x, y}", float = 'x:astype("f32")', double = 'x:astype("f64")', int = 'x:astype("i32")',
    long = 'x:astype("i64")', half = 'x:astype("f16")', bool = 'x:astype("bool")', len = "#x", nbytes = "x.size",
    set = "x:at{…}:set(v)", fill = "np.full(shape, v)", get = "x[…]", norm = "np.linalg.norm(x)",
    inv = "np.linalg.inv(x)", det = "np.linalg.det(x)", block_until_ready = "x:wait()",
    cuda = "np.device_put(x, device)",
    itemset = "x:at{…}:set(v)", print = "print(x)", type = "x.dtype", dims = "x.shape", length = "#x",
}

--- By name as elsewhere the dtype here.
elsewhere.dtypes = {
    float = "f32", int = "i32", long = "i64", short = "i16", char = "i8", byte = "u8", uint = "u32", number = "f32",
    integer = "i32",
}

return elsewhere
