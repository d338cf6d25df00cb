--- product_test.lua: contracts of products of matrices and of what reduces to them, and of np.einsum.
-- (sanitized with --long)
local np = require "neap"
local check = require "tests.lib.check"
local dtypes = require "tests.lib.dtypes"
local of, finish, same = require "tests.lib.contracts" "product"

local NAN, INF = 0 / 0, math.huge

--- Special values of floats; of integers their ends, and of complex numbers none, whose products have NaN in parts.
local function of_floats(list)
    return function(dtype)
        local kind = dtypes.by_name[dtype].kind
        return kind == "f" and list or kind == "c" and { 1i } or nil
    end
end

local SPECIAL = of_floats { NAN, INF, -INF, 7 }
local A, B = { "a", special = SPECIAL }, { "b", special = SPECIAL }
local ALL = "floats ints bool complex"
local NEAR = { f64 = "mixed 3e-14", f32 = "mixed 1e-5", f16 = "mixed 2e-3", bf16 = "mixed 1e-2", c64 = "scaled 1e-6",
               c128 = "scaled 1e-14" }

--- The call with a table behind its arguments only where it is not empty.
local function product(name, spec)
    spec.args = { A, B }
    spec.accepts = spec.accepts or ALL
    spec.gives = spec.gives or "same"
    spec.within = spec.within or NEAR
    spec.divided, spec.vmapped, spec.complex_slopes = NEAR, NEAR, true
    of(name, spec)
end

local ON_MESH = "arrays on a mesh have it: tests/mesh/unreduced_test.lua"

product("np.matmul", {
    unseen = { out_sharding = ON_MESH },
    shapes = { { { 2, 3 }, { 3, 4 } }, { { 2, 2, 3 }, { 3, 2 } }, { { 3 }, { 3 } }, { { 2, 3 }, { 3 } },
               { { 3 }, { 3, 2 } },
               { { 2, 1, 2, 3 }, { 4, 3, 2 } }, { { 2, 0 }, { 0, 3 } }, { { 0, 3 }, { 3, 2 } } },
    oracle = "np.matmul(a, b)",
    refuses = { { "do not fit", function() np.matmul(np.ones { 2, 3 }, np.ones { 2, 3 }) end },
                { "at least 1 axis", function() np.matmul(np.ones(2), 3) end } },
    without = { numbers = "takes no numbers: it needs axes" },
})

product("np.tensordot", {
    unseen = { out_sharding = ON_MESH },
    shapes = { { { 2, 3 }, { 3, 4 } }, { { 4, 2, 3 }, { 3, 2 } }, { { 3 }, { 3 } } },
    call = function(f, o, a, b)
        if o.nonsense then return f(a, b, { nonsense = 1 }) end
        if o.axes then return f(a, b, { axes = o.axes }) end
        if o.pair then return f(a, b, { { -1 }, { 0 } }) end
        return f(a, b, 1)
    end,
    oracle = "np.tensordot(a, b, axes=o.get('axes', 1))",
    options = { {}, { axes = { { -1 }, { 0 } } }, { pair = true }, { axes = 0 } },
})

product("np.dot", {
    unseen = { out_sharding = ON_MESH },
    shapes = { { { 2, 3 }, { 3, 4 } }, { { 3 }, { 3 } }, { {}, { 3 } }, { { 2, 2, 3 }, { 2, 3, 2 } },
               { { 2, 3 }, { 3 } }, { {}, {} } },
    oracle = "np.dot(a, b)",
})

product("np.vdot", {
    shapes = { { { 5 }, { 5 } }, { { 2, 3 }, { 3, 2 } }, { {}, {} }, { { 0 }, { 0 } } }, oracle = "np.vdot(a, b)",
    refuses = { { "different sizes", function() np.vdot(np.ones(2), np.ones(3)) end } },
})

product("np.outer", {
    shapes = { { { 2 }, { 3 } }, { { 2, 2 }, { 3 } }, { {}, { 3 } }, { { 3 }, {} }, { { 0 }, { 2 } } },
    oracle = "np.outer(a, b)",
    also = {
        ["64-bit integers"] = function()
            local u, i = np.array({ 3 }, { dtype = "u64" }), np.array({ 3 }, { dtype = "i64" })
            check.equal(tostring(np.outer(u, 9007199254740993LL)), "[[27021597764222979]]")
            check.equal(np.outer(u, 5LL).dtype .. np.outer(i, 5ULL).dtype .. np.outer(u, { 5ULL }).dtype, "u64i64u64")
        end,
    },
})
product("np.linalg.outer", {
    shapes = { { { 2 }, { 3 } }, { { 4 }, { 1 } }, { { 0 }, { 2 } } }, oracle = "np.outer(a, b)",
    refuses = { { "must be a vector", function() np.linalg.outer(np.ones { 2, 2 }, np.ones(2)) end } },
})

product("np.vecdot", {
    shapes = { { { 2, 3 }, { 2, 3 } }, { { 3, 3 }, { 3 } }, { { 5 }, { 5 } }, { { 0 }, { 0 } } },
    oracle = "np.vecdot(a, b, axis=-1) if b.ndim < a.ndim else np.vecdot(a, b, **o)", options = { {}, { axis = 0 } },
    call = function(f, o, a, b)
        if #b.shape < #a.shape then return f(a, b) end
        return f(a, b, next(o) and o)
    end,
    without = { numbers = "vectors: no number stands for one" },
})

product("np.cross", {
    shapes = { { { 3, 3 }, { 3, 3 } }, { { 2, 3, 3 }, { 2, 3, 3 } }, { { 3 }, { 3 } } },
    oracle = "np.cross(a, b, **o)", options = { {}, { axis = 1 } }, accepts = "floats ints complex",
    also = {
        ["vectors of 2 elements"] = function()
            check.equal(np.cross(np.array { 1, 2 }, np.array { 3, 4 }):item(), -2)
            check.equal(tostring(np.cross(np.array { 1, 2 }, np.array { 3, 4, 5 })), "[10. -5. -2.]")
        end,
    },
})

product("np.inner", {
    shapes = { { { 2, 3 }, { 4, 3 } }, { { 2, 2, 3 }, { 3 } }, { {}, { 3 } }, { { 3 }, {} }, { { 3 }, { 3 } } },
    oracle = "np.inner(a, b)",
})

product("np.matvec", {
    shapes = { { { 2, 3 }, { 3 } }, { { 4, 2, 3 }, { 4, 3 } }, { { 2, 3 }, { 4, 3 } }, { { 2, 0 }, { 0 } } },
    oracle = "np.matvec(a, b)",
})
product("np.vecmat", {
    shapes = { { { 2 }, { 2, 3 } }, { { 4, 2 }, { 4, 2, 3 } }, { { 4, 2 }, { 2, 3 } }, { { 0 }, { 0, 2 } } },
    oracle = "np.vecmat(a, b)",
})

product("np.kron", {
    shapes = { { { 2, 2 }, { 2, 3 } }, { { 2 }, { 3 } }, { { 2, 2 }, { 3 } }, { {}, { 3 } }, { { 2 }, {} } },
    oracle = "np.kron(a, b)",
})

product("np.linalg.multi_dot", {
    shapes = { { { 2, 3 }, { 3, 4 } }, { { 3 }, { 3, 2 } }, { { 2, 3 }, { 3 } }, { { 3 }, { 3 } } },
    call = function(f, o, a, b)
        if next(o) then return f({ a, b }, o) end
        return f { a, b }
    end,
    oracle = "np.linalg.multi_dot([a, b])",
    also = {
        ["three of them, numbers and tables"] = function()
            local a = np.array({ { 0.1, 0.2 } }, { dtype = "f64" })
            local got = np.linalg.multi_dot { a, { { 0.3 }, { 0.7 } }, np.array({ { 2, 3 } }, { dtype = "f64" }) }
            check.equal(got.dtype, "f64")
            check.ok(math.abs(got[{ 0, 0 }]:item() - 2 * (0.1 * 0.3 + 0.2 * 0.7)) < 1e-15, "digits")
        end,
    },
})

-- ---- Sums by labels -------------------------------------------------------------------------------------------------

--- np.einsum with the spec among the options.
local function by_spec(f, o, ...)
    if o.nonsense then return f(o.spec, ..., { nonsense = 1 }) end
    return f(o.spec, ...)
end

product("np.einsum", {
    unseen = { out_sharding = ON_MESH },
    shapes = { { { 2, 3 }, { 3, 3 } }, { { 2, 3 }, { 3, 3 } } }, call = by_spec, oracle = "labelled(o['spec'], a, b)",
    options = { { spec = "ij,jk->ik" }, { spec = "ij,jk" }, { spec = "ij,jk->" }, { spec = "ij,kk->ik" },
                { spec = "ij,jj->i" },
                { spec = "...j,jk->...k" }, { spec = "ij,kl->ijkl" }, { spec = "i...,j...->ij" },
                { spec = "i...,...->i" },
                { spec = "ij,...->j" }, { spec = "ij,jk->ki" } },
})
same("np.linalg.matmul", "np.matmul")
same("np.linalg.tensordot", "np.tensordot")
same("np.linalg.vecdot", "np.vecdot")
same("np.linalg.cross", "np.cross")
same("np.linalg.matrix_transpose", "np.matrix_transpose")

local NOT_NUMERIC = "its result is a plan: a table and a text, of shapes alone"
of("np.einsum_path", {
    args = { { "a", special = false }, { "b", special = false }, { "c", special = false } }, accepts = "f64",
    shapes = { { { 9, 8 }, { 8, 7 }, { 7 } }, { { 2, 9 }, { 9, 9 }, { 9 } } },
    call = function(f, _, a, b, c)
        local path, text = f("ij,jk,k->i", a, b, c)
        return np.array(path, { dtype = "i32" }), text
    end,
    oracle = "planned('ij,jk,k->i', a, b, c)", gives = "i32",
    without = { special = NOT_NUMERIC, strided = NOT_NUMERIC, numbers = NOT_NUMERIC, jit = NOT_NUMERIC,
                programs = NOT_NUMERIC,
                vmap = NOT_NUMERIC, mesh = NOT_NUMERIC, derivatives = NOT_NUMERIC,
                refusals = "every argument is an array" },
})

finish()
