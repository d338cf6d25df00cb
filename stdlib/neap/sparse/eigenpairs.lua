--- eigenpairs.lua: eigenvalues and eigenvectors that a search finds, where a derivative or a trace is open.
--
-- The derivative of an eigenvalue is vᴴ dA v, by vectors whose derivatives are NaN.
local core = require "neap.core"
local roots = require "neap.transforms.custom_root"
local staging = require "neap.tracing.staging"

local np = core.np

local eigenpairs = {}

local function conj(x) return core.dtype_of(x).kind == "c" and np.conj(x) or x end

--- What search(A, start) → values, vectors, done gives where a derivative or a trace is open, for the public function
-- `name`. A is a function of vectors, `vector` one of them; o: k, how many pairs, and whether vectors are asked for.
function eigenpairs.staged(name, A, vector, o, search)
    local entry, p = staging.closed(name, A, staging.pack(vector))
    local function with(list)
        return function(x) return (roots.call(name, entry, { x }, list)) end
    end
    local function found(...) return search(with { ... }) end
    local vectors = np.custom_jvp(function(...) return (select(2, found(...))) end)
    vectors:defjvp(function(primals, tangents)
        local v, moved = vectors(unpack(primals)), nil
        for k = 1, #primals do
            local sum = tangents[k] and np.sum(tangents[k]) * core.NAN
            moved = sum and moved and moved + sum or sum or moved
        end
        return v, moved and np.zeros_like(v) + np.astype(moved, v.dtype) or nil
    end)
    local values = np.custom_jvp(function(...)
        local w, _, done = found(...)
        return w, done
    end)
    values:defjvp(function(primals, tangents)
        local w, done = values(unpack(primals))
        local v = vectors(unpack(primals))
        local at, along, places = {}, {}, {}
        for k = 1, #primals do
            if tangents[k] and core.info(primals[k]).weak == 0 then
                places[#places + 1], at[#at + 1], along[#along + 1] = k, primals[k], tangents[k]
            end
        end
        if #at == 0 then return w, done, nil, nil end
        local function products(...)
            local list = core.copy_list(primals)
            for k, place in ipairs(places) do list[place] = (select(k, ...)) end
            local apply, columns = with(list), {}
            for k = 1, o.k do columns[k] = apply(v[{ {}, k - 1 }]) end
            return np.stack(columns, { axis = 1 })
        end
        local _, moved = np.jvp(products, at, along)
        local slopes = np.sum(conj(v) * moved, { axis = 0 })
        return w, done, core.dtype_of(slopes).kind == "c" and np.real(slopes) or slopes, nil
    end)
    local w, done = values(unpack(p))
    return w, o.vectors and vectors(unpack(p)) or nil, done
end
jit.off(eigenpairs.staged)

return eigenpairs
