--- columns.lua: what all kinds of columns have in common. A column is an array of one axis, or an object around one:
-- its storage, of which rows are chosen, sorted and grouped. Texts (text.lua) store the numbers of their levels.
--
-- A kind of object is a row of the table `kinds`, by its metatable: `storage` takes the array out of a column, `like`
-- puts another one in its place, `none` is the element that says that a row has no value.
local core = require "neap.core"

local np = core.np
local columns = {}

local kinds = {}

--- Adds a kind of column: { storage = f(column) → array, like = f(column, array) → column, sortable = f(column,
-- descending) → array, texts = f(column) → list, none = element }.
function columns.add_kind(metatable, kind) kinds[metatable] = kind end

local function kind_of(column) return kinds[getmetatable(column)] end

--- Whether a value is a column of another kind than an array.
function columns.is_object(value) return kind_of(value) ~= nil end

--- An array to sort a column by, with what is missing at the end.
function columns.sortable(column, descending)
    local kind = kind_of(column)
    return kind and kind.sortable(column, descending) or column
end

--- The rows of a column of texts or dates as a list of strings; false: none.
function columns.texts(column) return kind_of(column).texts(column) end

--- The array behind a column.
function columns.storage(column)
    local kind = kind_of(column)
    return kind and kind.storage(column) or column
end

--- A column of the same kind around another array.
function columns.like(column, array)
    local kind = kind_of(column)
    return kind and kind.like(column, array) or array
end

--- The same kind of column around f(array) of its storage; f chooses or moves rows.
function columns.map(column, f)
    local kind = kind_of(column)
    return kind and kind.like(column, f(kind.storage(column))) or f(column)
end

--- The number of rows of a column.
function columns.length(column) return core.extent(columns.storage(column), 0) end

--- The element of a column's storage that stands for no value; nil: its dtype has none.
function columns.none(column)
    local kind = kind_of(column)
    if kind then return kind.none end
    return core.dtype_of(column).inexact and core.NAN or nil
end

--- Which rows of a column have a value: an array of bool; nil: all.
function columns.present(column)
    local kind = kind_of(column)
    if kind then return np.not_equal(kind.storage(column), kind.none) end
    if core.dtype_of(column).inexact then return np.logical_not(np.isnan(column)) end
    return nil
end

--- A column that can say that a row has no value: integers and bools become f64, in which NaN says so.
function columns.with_holes(column)
    if columns.none(column) ~= nil then return column end
    return column:astype "f64"
end

--- Rows of a column by an array of their places; where that is negative, there is no value.
function columns.take_or_none(column, places)
    column = columns.with_holes(column)
    local none = columns.none(column)
    return columns.map(column, function(x)
        if core.extent(x, 0) == 0 then return np.full({ #places }, none, { dtype = x.dtype }) end
        return np.where(np.less(places, 0), none, np.take(x, np.maximum(places, 0))):astype(x.dtype)
    end)
end

return columns
