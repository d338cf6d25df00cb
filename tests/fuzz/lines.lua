--- lines.lua: correct lines, which slips_test.lua changes: as a beginner writes them, and the examples of the reference
-- pages. Each runs alone behind `setup`.
local process = require "tests.lib.process"

local lines = {}

lines.setup = [[local x, y, m = np.array{1, 2, 3}, np.array{2, 3, 4}, np.arange(6):reshape(2, 3) ]]
    .. [[local t, s, n, key = {1, 2, 3}, "abc", 3, np.random.key(0) ]]
    .. [[local f = function(v) return (v * v):sum() end]]

lines.list = {}
for line in ([[
print(x)
print(x:sum())
print(x + y)
print(x * 2 + 1)
print(m:sum{axis=0})
print(m:mean{axis=1})
print(np.sum(m, {axis=1}))
print(np.max(m), np.min(m))
print(m.shape[1], m.ndim, m.size)
print(x[0], x[-1])
print(m[{0, 1}])
print(x"0:2")
print(m":, 1")
print(m"0, 1:")
print(m.T)
print(m:reshape(3, 2))
print(m:matmul(m.T))
print(x:matmul(y))
print(np.matmul(m, m.T))
print(np.zeros{2, 3})
print(np.ones{3}, np.ones(3))
print(np.full({2, 2}, 7))
print(np.arange(5))
print(np.arange(0, 10, 2))
print(np.linspace(0, 1, 5))
print(np.eye(3))
print(np.array{{1, 2}, {3, 4}})
print(np.array({1, 2}, {dtype="i32"}))
print(np.zeros({3}, {dtype="f64"}))
print(x:astype("f64"))
print(x:gt(1))
print(x:eq(2):any())
print(np.where(x:gt(1), x, 0))
print(np.concatenate{x, y})
print(np.concatenate({x, y}, {axis=0}))
print(np.stack{x, y})
print(np.sort(x), np.argsort(x))
print(x:argmax(), x:argmin())
print(x:cumsum())
print(np.exp(x), np.log(x))
print(np.sqrt(x), x ^ 2)
print(np.abs(x - 2))
print(np.maximum(x, 2))
print(np.clip(x, 1, 2))
print(np.dot(x, y))
print(np.linalg.norm(x))
print(np.linalg.inv(np.eye(2)))
print(np.linalg.solve(np.eye(3), x))
print(np.linalg.det(np.eye(2)))
print(np.random.normal(key, {3}))
print(np.random.uniform(key, {2, 2}))
print(np.random.randint(key, {3}, 0, 10))
print(np.random.permutation(key, 5))
print(np.grad(f)(x))
print(np.jit(f)(x))
print(np.vmap(function(v) return v:sum() end)(m))
print(np.value_and_grad(f)(x))
print(np.nn.relu(x), np.nn.sigmoid(x))
print(np.nn.softmax(x))
print(np.nn.mse(x, y))
print(np.unique(x), np.flip(x))
print(np.tile(x, {2}), np.repeat_(x, 2))
print(np.expand_dims(x, 0), x:reshape(3, 1))
print(np.squeeze(x:reshape(1, 3)))
print(np.transpose(m), m:transpose())
print(np.std(x), np.var(x), np.median(x))
print(np.array_equal(x, y))
print(np.all(x:gt(0)):item())
print(np.isnan(x):any():item())
print(np.einsum("ij,j->i", m, x))
print(np.outer(x, y))
print(np.diag(x))
print(np.cumsum(m, {axis=0}))
print(np.fft.fft(x).real)
print(x:at{0}:set(5))
print(x:at{1}:add(10))
print(x[0]:item() + 1, x.dtype)
print(x:sum():item() > 3)
print(x.dtype, x.device)
print(#x, #t, #s)
print(x:totable()[1])
print(np.tree.map(function(v) return v * 2 end, {a = x})["a"])
print(np.split(np.arange(6), 2))
print(np.pad(x, 1))
print(np.roll(x, 1))
print(np.take(x, np.array({0, 2}, {dtype="i32"})))
print(np.meshgrid(x, y))
print(np.histogram(x, {bins=2}))
print(np.percentile(x, 50))
print(np.convolve(x, y))
print(np.polyval(x, 2))
print(np.isfinite(x):all():item())
print(np.cos(0), np.sin(0), np.pi)
print(np.round(x / 3, 2))
print(np.floor_divide(x, 2), x % 2)
print(np.logical_and(x:gt(1), x:lt(3)))
print(np.sum(x * y) / #x)
local a = x + y print(a)
local a, b = x:sum(), y:sum() print(a, b)
local total = 0 for k = 0, #x - 1 do total = total + x[k]:item() end print(total)
local total = 0 for k, v in ipairs(t) do total = total + v end print(total)
for k = 1, 3 do print(k, t[k]) end
for k = 1, #t do t[k] = t[k] * 2 end
for k, v in pairs({a = 1, b = 2}) do print(k, v) end
for k, v in ipairs(t) do print(k .. ": " .. v) end
for k = 3, 1, -1 do print(k) end
for v in ("a,b"):gmatch "[^,]+" do print(v) end
for a, b in np.data.batches({x, y}, 2) do print(a, b) end
if n > 2 then print("big") else print("small") end
if n == 3 then print("three") elseif n == 4 then print("four") end
if n ~= 3 and n < 10 then print(n) end
if not s then print("nothing") end
if x:sum():item() > 5 then print("more") end
if n == 3 or n == 4 then print("three or four") end
while n > 0 do n = n - 1 end
repeat n = n - 1 until n < 0
local function square(v) return v * v end print(square(3))
local function add(a, b) return a + b end print(add(1, 2))
local double = function(v) return v * 2 end print(double(x))
local function mean(v) local total = v:sum() return total / #v end print(mean(x))
local function fact(k) if k < 2 then return 1 end return k * fact(k - 1) end print(fact(5))
local loss = function(w) return np.nn.mse(w * x, y) end print(loss(np.array(1.0)))
local step = np.jit(function(w) return w - 0.1 * w end) print(step(x))
local g = np.grad(function(w) return (w * x):sum() end) print(g(y))
local list = {} for k = 1, 3 do list[#list + 1] = k end print(#list)
local point = {x = 1, y = 2} print(point.x + point.y)
local names = {"a", "b"} print(names[1] .. names[2])
local data = {xs = x, ys = y} print(data.xs:sum())
local grid = {{1, 2}, {3, 4}} print(grid[1][2])
local text = "value: " .. n print(text)
local text = ("%d items"):format(#t) print(text)
local text = string.format("%.2f", 3.14159) print(text)
local upper = s:upper() print(upper, s:len())
local part = s:sub(1, 2) print(part)
local found = s:find("b") print(found)
local swapped = s:gsub("a", "b") print(swapped)
local words = table.concat({"a", "b"}, ", ") print(words)
local k, v = next(t) print(k, v)
local ok, problem = pcall(function() error("no") end) print(ok)
local number = tonumber("42") print(number + 1)
local label = tostring(n) .. "!" print(label)
local root = math.sqrt(16) print(root)
local big = math.max(1, 5, 3) print(big)
local low = math.floor(2.7) print(low)
local angle = math.pi / 2 print(math.sin(angle))
table.insert(t, 4) print(#t)
table.remove(t, 1) print(t[1])
table.sort(t, function(a, b) return a > b end) print(t[1])
print(type(x), type(t), type(s))
print("a" .. "b" .. "c")
print("mean", x:mean(), "std", x:std())
print("x has " .. #x .. " elements")
print('single', "double", [=[long]=])
print(1 + 2 * 3 ^ 2 - 4 / 2 % 3)
print((1 + 2) * (3 + 4))
print(n == 3, n ~= 3, n <= 3, n >= 3)
print(not true, true and false, nil or 1)
print(-n, #t - 1, t[#t])
print(select("#", 1, 2, 3))
print(unpack(t))
print(os.time() > 0, os.getenv("HOME") ~= nil)
print(x[{ {0, 2} }], x"[0, 2]")
print(m:max{axis=1}, m:min{axis=0, keepdims=true})
print(np.array{true, false}, np.array({1.5, 2}, {dtype="f64"}))
print(np.mean(x), np.prod(x), np.cumprod(x))
print(np.less(x, y), x:ge(2), x:ne(1))
print(np.random.choice(key, x, {2}))
print(np.bincount(np.array({0, 1, 1}, {dtype="i32"})))
print(np.diff(x), np.gradient(x))
print(np.interp(1.5, x, y))
local shape = x.shape print(shape[1], #shape)
local third = t[3] or 0 print(third)
local both = n > 1 and s ~= "" print(both)
x = x:reshape(3, 1) print(x.shape[2])
x = x * 2 y = y - 1 print(x, y)
t[1] = 10 t[#t + 1] = 11 print(t[1], t[4])
s = s .. "d" print(s)
n = n + 1 print(n)
m = m:astype("f32") / 2 print(m)
local model = np.nn.Dense(3, 2) local params = model:init(key) print(model(params, x))
local model = np.nn.Sequential{np.nn.Dense(3, 4), np.nn.relu, np.nn.Dense(4, 1)} print(model)
local opt = np.optim.sgd{lr=0.1} local state = opt:init(x) print(state ~= nil)
local opt = np.optim.adam{lr=0.01} local p, state = opt:update(x, opt:init(x), x) print(p)
local k1, k2 = np.random.split(key):unpack() print(np.random.normal(k1, {2}))
local xs = np.linspace(0, 1, 11) local ys = xs ^ 2 print(np.trapezoid(ys, xs))
local w, b = np.zeros{3}, np.zeros(1) print((m * w):sum{axis=1} + b)
local mask = x:gt(1) print(x[mask])
local order = np.argsort(y) print(y[order])
local centred = (m - m:mean{axis=0}) / m:std{axis=0} print(centred.shape[1])
local table_of = np.table{name = {"a", "b"}, age = np.array{1, 2}} print(table_of.age:mean())
local carry, outs = np.scan(function(c, v) return c + v, c end, np.array(0.0), x) print(carry)
local rows, columns = m.shape[1], m.shape[2] print(rows * columns)
local values = {} for k = 0, #x - 1 do values[k + 1] = x[k]:item() end print(values[1])
local squares = np.arange(4) ^ 2 print(squares:totable()[4])
local biggest = -math.huge for k, v in ipairs(t) do if v > biggest then biggest = v end end print(biggest)
local counts = {} for letter in s:gmatch "." do counts[letter] = (counts[letter] or 0) + 1 end print(counts.a)
local function describe(v) return ("%d elements of %s"):format(#v, v.dtype) end print(describe(x))
local total = 0 for k = 1, 10 do if k % 2 == 0 then total = total + k end end print(total)
local y2 = np.where(m:lt(3), 0, m) print(y2:sum())
]]):gmatch "[^\n]+" do
    lines.list[#lines.list + 1] = line
end

-- Pages of docs/reference whose examples compute, and words of examples that do more: write, wait, or go on.
local PAGES = "arrays fft image integrate interpolate linalg nn optim optimize random signal sparse special stats "
    .. "tables transforms tree"
local ACTS = { "print", "np%.io", "np%.debug", "np%.plot", "np%.profile", "callback", "io%.", "os%.", "require",
               "pcall", "progress", "%.gz", "/", "text_of", "error", "^for ", "^while " }

local function acts(code)
    for _, word in ipairs(ACTS) do
        if code:find(word) then return true end
    end
    return false
end

--- The examples of one line alone that are expressions, as lines that print them.
function lines.of_pages()
    local list = {}
    for page in PAGES:gmatch "%S+" do
        for block in process.read("docs/reference/" .. page .. ".md"):gmatch "```text\n(.-)\n```" do
            local code = not ("\n" .. block):find "\n>> " and select(2, ("\n" .. block):gsub("\n> ", "")) == 1
                and block:match "^> ([^\n]*)"
            if code and not acts(code) and loadstring("return " .. code) then
                list[#list + 1] = ("print(%s)"):format(code)
            end
        end
    end
    return list
end

return lines
