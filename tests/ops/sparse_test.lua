--- sparse_test.lua: the ops of pairs of sparse matrices (lazy/ops/sparse_places.c, sparse_pairs.c) on indices and
-- starts that say anything: what they say beyond matrices is left out, and they agree with a loop in Lua.
local check = require "tests.lib.check"
local core = require "neap.core"
local np = require "neap"

local function record(name, attrs, ...)
    for k = 1, #attrs do core.attrs[k - 1] = attrs[k] end
    return core.recordn(core.ids[name], { ... }, select("#", ...), #attrs)
end

local key = np.random.key(1)
local function whole(count, low, high)
    key = np.random.fold_in(key, 1)
    return np.random.randint(key, { count }, low, high)
end

--- The places of `count` elements in rows: { indices, starts }, out of range here and there; rising: starts rise.
local function places(rows, columns, count, rising)
    local starts = whole(rows + 1, -2, count + 3)
    return { whole(count, -2, columns + 2), rising and np.sort(starts) or starts, count = count }
end

--- Calls f(column, number) for the elements of a row.
local function each(matrix, row, columns, f)
    local indices, starts = matrix[1]:totable(), matrix[2]:totable()
    local first = math.min(math.max(starts[row + 1], 0), matrix.count)
    for e = first, math.min(starts[row + 2], matrix.count) - 1 do
        if indices[e + 1] >= 0 and indices[e + 1] < columns then f(indices[e + 1], e) end
    end
end

for _, case in ipairs { { 6, 5, 7, 20 }, { 3, 4, 300, 40 }, { 1, 1, 64, 9 }, { 4, 3, 9000, 30 }, { 2, 2, 1, 0 } } do
    local m, k, n, count = unpack(case)
    for _, rising in ipairs { true, false } do
        local what = ("(%d, %d, %d), %s"):format(m, k, n, rising and "rising" or "any")
        local A, B, C = places(m, k, count, rising), places(k, n, count, rising), places(m, n, count, rising)
        local a, b = whole(count, -4, 5), whole(count, -4, 5)

        check.test("products of " .. what, function()
            local starts, columns, sums = { 0 }, {}, {}
            for row = 0, m - 1 do
                local found, list = {}, {}
                each(A, row, k, function(middle, e)
                    each(B, middle, n, function(column, f)
                        if not found[column] then list[#list + 1] = column end
                        found[column] = (found[column] or 0) + a[e]:item() * b[f]:item()
                    end)
                end)
                table.sort(list)
                for _, column in ipairs(list) do
                    columns[#columns + 1], sums[#sums + 1] = column, found[column]
                end
                starts[row + 2] = #columns
            end
            local got = record("sparse_starts", { n, 1 }, A[1], A[2], B[1], B[2])
            check.equal(np.astype(got, "i32"):totable(), starts)
            got = np.astype(got, "i32")
            local indices = record("sparse_columns", { n, 1, #columns }, A[1], A[2], B[1], B[2], got)
            check.equal(indices:totable(), columns)
            local data = record("sparse_matmul", { n, 2 }, a, b, A[1], A[2], B[1], B[2], indices, got)
            check.equal(data:totable(), sums)
        end)

        check.test("any places of " .. what, function()
            -- Of no meaning, but defined: the second time the same, and columns in range.
            local function all()
                local columns = record("sparse_columns", { n, 0, count }, A[1], A[2], C[1], C[2], A[2])
                local list = { columns, record("sparse_starts", { n, 0 }, A[1], A[2], C[1], C[2]),
                               record("sparse_transpose", { n }, C[1], C[2]),
                               record("sparse_collect", { n }, a, A[1], A[2], b, C[1], C[2], C[1], C[2]) }
                for by = 0, 2 do
                    list[#list + 1] = record("sparse_matmul", { n, by }, a, b, A[1], A[2], B[1], B[2], C[1], C[2])
                end
                for at, x in ipairs(list) do list[at] = np.astype(x, "i32"):totable() end
                return list
            end
            local list = all()
            check.equal(all(), list)
            for _, column in ipairs(list[1]) do check.ok(column >= 0 and column < n) end
            local seen = {}
            for at = n + 1 + count + 1, n + 1 + 2 * count do seen[list[3][at]] = true end
            for e = 0, count - 1 do check.ok(seen[e], "each element has its place") end
        end)
    end
end

check.test("shapes that do not fit", function()
    local A, B = places(3, 4, 5, true), places(4, 6, 7, true)
    local x, y = whole(5, 0, 9), whole(7, 0, 9)
    check.raises(function() record("sparse_starts", { 6, 0 }, A[1], A[2], B[1], B[2]) end, "3 and 4 rows")
    check.raises(function() record("sparse_starts", { -1, 1 }, A[1], A[2], B[1], B[2]) end, "a number of columns")
    check.raises(function() record("sparse_columns", { 6, 1, -1 }, A[1], A[2], B[1], B[2], A[2]) end, "of elements")
    check.raises(function() record("sparse_columns", { 6, 1, 9 }, A[1], A[2], B[1], B[2], B[2]) end, "do not fit")
    local function matmul(by, a, b)
        return function() record("sparse_matmul", { 6, by }, a, b, A[1], A[2], B[1], B[2], A[1], A[2]) end
    end
    check.raises(matmul(2, y, x), "do not fit")
    check.raises(matmul(3, x, y), "which matrix")
    check.raises(matmul(2, x, np.astype(y, "f32")), "of one dtype")
    check.raises(function() record("sparse_collect", { 6 }, x, A[1], A[2], B[1], B[2]) end, "do not fit")
    check.raises(function() record("sparse_collect", { 6 }, x, A[1], A[2], B[1]) end, "one or two matrices")
    check.raises(function() record("sparse_transpose", { 4 }, np.astype(A[1], "i64"), A[2]) end, "dtype i32, got i64")
end)

check.done()
