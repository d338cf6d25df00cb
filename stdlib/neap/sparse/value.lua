--- value.lua: sparse arrays as values: trees of the arrays in which elements are stored.
--
--      5 0 6        csr   data {5, 6, 7}   indices {0, 2, 1}   indptr {0, 2, 2, 3}          rows, one after another
--      0 0 0        csc   data {5, 7, 6}   indices {0, 2, 0}   indptr {0, 1, 2, 3}          columns, one after another
--      0 7 0        coo   data {5, 6, 7}   row {0, 0, 2}       col {0, 2, 1}                elements in any order
--
-- The Lua table holds nothing but these arrays, so np.jit, np.grad, np.vmap and np.tree take a sparse array for a tree
-- of arrays (core/trees.lua). Format and shape stand in the metatable, the *class*: there is a class for each format
-- and shape, and another class is another form for np.jit. The number of stored elements is the extent of `data`.
-- Functions whose number of elements depends on values are refused where places are not known: for sparse arguments of
-- np.jit.
local core = require "neap.core"
local trees = require "neap.core.trees"

local np = core.np
local is_array, raise = core.is_array, core.raise

local value = {}

-- The arrays of each format, in the order in which messages name them.
local PARTS = { csr = { "data", "indices", "indptr" }, csc = { "data", "indices", "indptr" },
                coo = { "data", "row", "col" } }
value.PARTS = PARTS

local MOST = 2 ^ 31 - 1 -- rows, columns and stored elements
value.MOST = MOST

-- Methods and computed fields by name, to which other files add. Operators, by the name of the metamethod.
local methods, fields, operators = {}, {}, {}
value.methods, value.fields, value.operators = methods, fields, operators

local function index(A, key)
    if type(key) ~= "string" then return value.rows(A, key) end
    if fields[key] then return fields[key](A) end
    if methods[key] then return methods[key] end
    core.fail("%s", require("neap.core.hints").name(trees.class_of(A).name, key, { methods, fields }))
end

local classes = setmetatable({}, { __mode = "v" })

--- The class of a format and shape.
local function class_of(format, rows, columns)
    local text = ("%s_array(%d, %d)"):format(format, rows, columns)
    local class = classes[text]
    if not class then
        class = { __tree = text, format = format, name = format .. "_array", rows = rows, columns = columns }
        for name, f in pairs(operators) do class[name] = f end
        class.__index, class.__describe = index, function() return "a " .. text end
        classes[text] = class
    end
    return class
end

--- Whether a value is a sparse array.
function value.is(x)
    local class = trees.class_of(x)
    return class ~= nil and class.format ~= nil
end

--- Format, rows and columns of a sparse array.
function value.form(A)
    local class = trees.class_of(A)
    return class.format, class.rows, class.columns
end

--- A sparse array of parts that fit, in the order of PARTS.
function value.new(format, rows, columns, ...)
    local A = {}
    for k, name in ipairs(PARTS[format]) do A[name] = (select(k, ...)) end
    return setmetatable(A, class_of(format, rows, columns))
end

--- A with other elements at the same places.
function value.with_data(A, data)
    local copy = {}
    for key, part in next, A do copy[key] = part end
    copy.data = data
    return trees.alike(copy, A)
end

--- Argument `position` of np.name, which must be a sparse array; its format, rows and columns.
function value.check(name, position, A)
    if not value.is(A) then
        local what = is_array(A) and "; np.sparse.csr_array makes one of a dense array" or ""
        raise(name, "argument %d must be a sparse array, got %s%s", position, core.describe(A), what)
    end
    return value.form(A)
end

--- Two numbers of rows and columns, of an option or a field.
function value.check_shape(name, shape)
    if type(shape) ~= "table" or #shape ~= 2 then
        core.bad_argument(name, nil, "shape", "a table of two integers, rows and columns", shape)
    end
    core.list(name, "the shape", shape)
    return core.integer(name, nil, "shape[1]", shape[1], 0, MOST),
        core.integer(name, nil, "shape[2]", shape[2], 0, MOST)
end

--- Whether values of the places of A are there to be looked at.
function value.known(A)
    for key, part in next, A do
        if key ~= "data" and core.info(part).traced ~= 0 then return false end
    end
    return true
end

--- Raises unless the places of A are known: `what` depends on places.
function value.need_known(name, A, what)
    if not value.known(A) then
        raise(name, "%s depends on where elements are stored, which is not known while tracing; do it before, or make "
              .. "the function read the array from around it instead of taking it as an argument", what)
    end
end

-- ---- Fields ---------------------------------------------------------------------------------------------------------

--- sparse.shape -> table: rows and columns of a sparse array. print shows them.
--- > np.sparse.eye(2, 3).shape[2]
-- 3
function fields.shape(A)
    local _, rows, columns = value.form(A)
    local shape = { rows, columns }
    core.shapes[shape] = true
    return shape
end

--- sparse.ndim -> integer: 2, the number of axes.
--- > np.sparse.eye(2).ndim
-- 2
function fields.ndim() return 2 end

--- sparse.dtype -> string: the dtype of the elements.
--- > np.sparse.eye(2).dtype
-- f32
function fields.dtype(A) return A.data.dtype end

--- sparse.nnz -> integer: how many elements are stored; zeros among them count.
--- > np.sparse.eye(2, 3).nnz
-- 2
function fields.nnz(A) return A.data.size end

--- sparse.format -> string: "csr", "csc" or "coo".
--- > np.sparse.eye(2).format
-- csr
function fields.format(A) return (value.form(A)) end

-- ---- Text -----------------------------------------------------------------------------------------------------------

local SHOWN, EDGE = 12, 5 -- elements that are shown of few, and at each end of many

--- The text of a sparse array: format, shape, and elements by places. Waits for the elements.
function operators.__tostring(A)
    local format, rows, columns = value.form(A)
    local head = ("%s_array of shape (%d, %d)"):format(format, rows, columns)
    for _, name in ipairs(PARTS[format]) do
        local part = rawget(A, name)
        if not is_array(part) then return ("%s, whose field '%s' is %s"):format(head, name, core.describe(part)) end
        if core.info(part).traced ~= 0 or core.ndim(part) ~= 1 then
            return ("%s, %s%s (traced)"):format(head, core.dtype_of(A.data).name, core.shape_text(A.data))
        end
    end
    local n = A.data.size
    local lines = { ("%s, %s, %d stored element%s"):format(head, core.dtype_of(A.data).name, n, n == 1 and "" or "s") }
    local B = format == "coo" and A or methods.tocoo(A)
    local function put(first, last)
        if last < first then return end
        local part = { { first, last } }
        local row, col, data = B.row[part]:totable(), B.col[part]:totable(), B.data[part]
        for k = 1, #row do
            lines[#lines + 1] = ("  (%d, %d)  %s"):format(row[k], col[k], tostring(data[k - 1]))
        end
    end
    if n <= SHOWN then
        put(0, n)
    else
        put(0, EDGE)
        lines[#lines + 1] = "  …"
        put(n - EDGE, n)
    end
    return table.concat(lines, "\n")
end

-- ---- Checks of parts ------------------------------------------------------------------------------------------------

--- A part that holds integers, as a 1-d array of i32.
local function places(name, key, part)
    if part == nil then raise(name, "the table has no field '%s'", key) end
    if type(part) == "table" and getmetatable(part) == nil then part = np.array(part, { dtype = "i32" }) end
    if not is_array(part) then core.raise(name, "field '%s' must be an array of integers, got %s", key,
                                          core.describe(part)) end
    local dtype = core.dtype_of(part)
    if dtype.kind ~= "i" and dtype.kind ~= "u" then core.not_integers(name, ("field '%s'"):format(key), dtype) end
    if core.ndim(part) ~= 1 then
        raise(name, "field '%s' must have 1 axis, got shape %s", key, core.shape_text(part))
    end
    if dtype.bytes >= 4 and dtype.name ~= "i32" and core.info(part).traced == 0 and part.size > 0 then
        local greatest = np.max(part):item()
        if tonumber(greatest) > MOST then
            raise(name, "field '%s' has %s; places are at most %d", key, tostring(greatest), MOST)
        end
    end
    return np.astype(part, "i32")
end

--- Raises unless all of an array of places are in 0 … count - 1.
local function check_range(name, key, part, count, what)
    if core.info(part).traced ~= 0 or part.size == 0 then return end
    local least, most = np.min(part), np.max(part)
    np.wait(least, most)
    if least:item() < 0 or most:item() >= count then
        raise(name, "field '%s' has %d; it counts from 0, and there are %d %s", key,
              least:item() < 0 and least:item() or most:item(), count, what)
    end
end

local function check_starts(name, starts, count, stored, what)
    if starts.size ~= count + 1 then
        raise(name, "field 'indptr' must have %d elements for %d %s, got %d", count + 1, count, what, starts.size)
    end
    if core.info(starts).traced ~= 0 then return end
    local first, last = starts[0]:item(), starts[-1]:item()
    if first ~= 0 or last ~= stored then
        raise(name, "field 'indptr' must go from 0 to %d, the number of elements; it goes from %d to %d", stored, first,
              last)
    end
    if np.any(np.less(np.diff(starts), 0)):item() then raise(name, "field 'indptr' must not fall") end
end

--- The elements of a table of parts.
local function elements(name, data, dtype)
    if data == nil then raise(name, "the table has no field 'data'") end
    if type(data) == "table" and getmetatable(data) == nil then data = np.array(data, { dtype = dtype }) end
    if not is_array(data) then raise(name, "field 'data' must be an array, got %s", core.describe(data)) end
    if core.ndim(data) ~= 1 then raise(name, "field 'data' must have 1 axis, got shape %s", core.shape_text(data)) end
    if data.size > MOST then raise(name, "at most %d elements can be stored, got %d", MOST, data.size) end
    return dtype and np.astype(data, dtype) or data
end

--- The rows and columns that places need, where no shape is given.
local function shape_of_places(name, format, first, second)
    local function extent(part)
        if core.info(part).traced ~= 0 then
            raise(name, "the shape is not known while tracing: give it as the field 'shape'")
        end
        return part.size > 0 and np.max(part):item() + 1 or 0
    end
    if format == "coo" then return { extent(first), extent(second) } end
    local lines = math.max(second.size - 1, 0)
    return format == "csr" and { lines, extent(first) } or { extent(first), lines }
end

--- A sparse array of a user's table of parts: { data=…, indices=…, indptr=…, shape=… }, or of row and col.
function value.of_parts(name, format, given, dtype)
    local known = { shape = true }
    for _, key in ipairs(PARTS[format]) do known[key] = true end
    local other -- the first unknown field, whatever the order of pairs is
    for key in pairs(given) do
        if not known[key] and (not other or tostring(key) < other) then other = tostring(key) end
    end
    if other then
        raise(name, "the table has a field '%s'; its fields are %s and shape", other,
              table.concat(PARTS[format], ", "))
    end
    local data = elements(name, given.data, dtype)
    local first, second = places(name, PARTS[format][2], given[PARTS[format][2]]),
        places(name, PARTS[format][3], given[PARTS[format][3]])
    if first.size ~= data.size or format == "coo" and second.size ~= data.size then
        raise(name, "fields 'data' and '%s' must be of one length, got %d and %d",
              first.size ~= data.size and PARTS[format][2] or "col", data.size,
              first.size ~= data.size and first.size or second.size)
    end
    local shape = given.shape
    if shape == nil then shape = shape_of_places(name, format, first, second) end
    local rows, columns = value.check_shape(name, shape)
    if format == "coo" then
        check_range(name, "row", first, rows, "rows")
        check_range(name, "col", second, columns, "columns")
    else
        local by_rows = format == "csr"
        check_starts(name, second, by_rows and rows or columns, data.size, by_rows and "rows" or "columns")
        check_range(name, "indices", first, by_rows and columns or rows, by_rows and "columns" or "rows")
    end
    return value.new(format, rows, columns, data, first, second)
end

for _, f in ipairs { operators.__tostring, value.of_parts } do jit.off(f) end

return value
