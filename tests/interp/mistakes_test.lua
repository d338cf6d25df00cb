--- mistakes_test.lua (sanitized with --long): what a beginner gets wrong, and what is said of it: each mistake in a
-- script and at the prompt.
local check = require "tests.lib.check"
local process = require "tests.lib.process"

-- What all of them find: x f32, i i32, m a matrix of integers, n and loss of one element, mask of bools.
local BEFORE = 'x = np.array{1, 2, 3} y = np.array{2, 3, 4} i = np.arange(3) m = np.ones({2, 3}, {dtype="i32"}) '
    .. 'n = x:sum() loss = np.array(0.5) mask = x:gt(1) count = 0 f = function(v) return (v * v):sum() end;'
local TRUE = " is an array, which as a condition (if, while, until, and, or, not)"
    .. " is always true in Lua, whatever it holds; "

-- Code and what is said of it, behind its place. at_end: the place is the end of the script, and at the prompt the
-- command goes on; line: the place is this line, and at the prompt it is no mistake; warns: on stderr, and the code
-- runs; prompt: what is said there. PLACE is the place in the text.
local MISTAKES = {
    { "x + np.ones{4}", "'=' expected near '+'; a value alone is no statement: print(…) shows it",
      prompt = "np.add: shapes (3,) and (4,) do not broadcast" },
    { "y = x * (3 +)", "unexpected symbol near ')'; a value is missing behind the +" },
    { "f(x, )", "unexpected symbol near ')'; a value is missing behind the ," },
    { "if count == then end", "unexpected symbol near 'then'; a value is missing behind the ==" },
    { "y = count + * 4", "unexpected symbol near '*'; a value is missing behind the +" },
    { "count = 3 count", "'=' expected at the end of the line; an operator is missing before count",
      prompt = "'=' expected at the end of the line; an operator is missing before count, or a semicolon: count = 3; "
      .. "count shows the value" },
    { "local a = 1 a + 2", "'=' expected near '+'; an operator is missing before a" },
    { "for k = 1, 2 do local a = k a end", "'=' expected near 'end'; an operator is missing before a" },
    { "function double(v) v * 2 end", "'=' expected near '*'; a function gives its value by return: return v * 2" },
    { "y = torch.tensor([1])", "unexpected symbol near '['; lists go in braces: {1, 2, 3}, and np.array{1, 2, 3} is an "
      .. "array" },
    { "y = np.array([1, 2.5])", "unexpected symbol near '['; lists go in braces: np.array{1, 2.5}" },
    { "y = f[1]", "attempt to index global 'f' (a function value); a function is called: f(1)" },
    { "np->ones(3)", "'=' expected near '-'; a dot leads to a field: np.ones",
      prompt = "unexpected symbol near '>'; a dot leads to a field: np.ones" },
    { "y = np.ones 3", "unexpected symbol near '3'; a call has parentheses: np.ones(3)" },
    { "y = np.zeros 3 + 1", "unexpected symbol near '3'; a call has parentheses: np.zeros(3)" },
    { "y.z->w = 3", "'=' expected near '-'; a dot leads to a field: y.z.w",
      prompt = "unexpected symbol near '>'; a dot leads to a field: y.z.w" },
    { "t = {1, 2} print(t.sum())", "attempt to call field 'sum' (a nil value); of a table it is np.sum(np.array(t))" },
    { "print(count->w)", "unexpected symbol near '>'; a dot leads to a field: count.w" },
    { "g = x->x^2", "unexpected symbol near '>'; Lua writes function(x) return x^2 end" },
    { "np.max(count, 4)", "np.max: axis 4 is out of range for an array of 0 axes; np.maximum(x, y) is the larger of "
      .. "two, math.max(a, b) of numbers" },
    { "x:min(y)", "np.min: options must be a table such as {axis=…}, got an array of shape (3,); np.minimum(x, y) is "
      .. "the smaller of two, math.min(a, b) of numbers" },
    { "y = np.random.rand(3, 4)", "np.random has no 'rand'; here it is np.random.uniform(key, {3, 4})" },
    { "y = np.arange(6):reshape(2, 3).shape()", "attempt to call field 'shape' (a table value); 'shape' is a field, no "
      .. "method: x.shape" },
    { "for i=1:10 print(i) end", "',' expected near ':'; Lua writes for i = 1, 10 do … end" },
    { "g = @(v) v.^2 + 2.*v", "unexpected symbol near '@'; Lua writes function(v) return v^2 + 2*v end" },
    { "function g(v) = v^2", "unexpected symbol near '='; Lua writes function g(v) return v^2 end" },
    { "local g(v) = v * 2", "syntax error near '='; Lua writes local function g(v) return v * 2 end" },
    { "fn g(v) { v }", "'=' expected near 'g'; Lua writes function g(v) … end" },
    { "func g(v) { v }", "'=' expected near 'g'; Lua writes function g(v) … end" },
    { "count := 3", "'<name>' expected near '='; Lua assigns with =: count = 3" },
    { "if (k := 3) > 2 then end", "'<name>' expected near '='; Lua assigns in a statement of its own: k = …" },
    { "new <- 3", "'=' expected near '<'; Lua assigns with =: new = 3",
      prompt = "the variable 'new' has no value; Lua assigns with =: new = 3" },
    { "g = function(v) return (v * 2):sum(axis=-1) end",
      "')' expected near '='; options go in braces: …:sum{axis=-1}" },
    { "g = function(v) return v:T:sum() end",
      "function arguments expected near ':'; a field stands behind a dot: v.T" },
    { "g = function(v) return np.sin v + v end", "'end' expected near 'v'; a call has parentheses: np.sin(v)" },
    { "print(np.sin x)", "')' expected near 'x'; a call has parentheses: np.sin(x)" },
    { "for k = 1, 2 do print k end", "'=' expected near 'k'; a call has parentheses: print(k)" },
    { "g = function(v, h) (v + h) / (2 * h) end",
      "syntax error near '/'; a function gives its value by return: return (v + h) / (2 * h)" },
    { "print(m.T():sum())", "an array is no function; a field that is one, as x.T, is read without parentheses" },
    { "np.hstack(x, y)", "np.hstack: takes 1 argument, got also an array of shape (3,); the arrays go into one table: "
      .. "np.hstack{x, y}" },
    { "y = x:ge(1) and x:lt(3)", "x:ge(…) is an array, which as a condition (if, while, until, and, or, not) is always "
      .. "true in Lua, whatever it holds; np.logical_and(x, y) is the and of elements; test x:ge(…):all():item() or "
      .. ":any():item(), or let np.where choose by element" },
    { "g = function(v) 1 / (1 + v) end",
      "unexpected symbol near '1'; a function gives its value by return: return 1 / (1 + v)" },
    { "for k = 1, 2 do count += k * 2 end print(count)",
      "'=' expected near '+'; Lua has no '+=': count = count + k * 2" },
    { "print('mean %f' % x)", "np.remainder: argument 1 must be an array or a number, got the string \"mean %f\"; "
      .. "np.printf(\"%g\\n\", x) shows values in a text, also those of arrays" },
    { "print(np.pi())",
      "attempt to call field 'pi' (a number value); it is no function: np.pi, without parentheses, is its value" },
    { "repeat count = 1 until count = 1", "unexpected symbol near '='; Lua compares with ==" },
    { "local g == 5", "unexpected symbol near '=='; Lua assigns with =: local g = 5" },
    { "local g, h = 1 2", "unexpected symbol near '2'; a comma or an operator is missing before 2" },
    { "y = 5 5", "unexpected symbol near '5'; a comma or an operator is missing before 5" },
    { "t:name = 3", "function arguments expected near '='; a field stands behind a dot: t.name = 3" },
    { ">>> count = 3", "unexpected symbol near '>'; Python's prompt, >>>, is no code: leave it out" },
    { "print(`hello`)", "unexpected symbol near '`'; a text stands in quotes, \"…\", and (\"%g\"):format(n) puts "
      .. "values into one" },
    { "del t[1]", "'=' expected near 't'; table.remove(t, 1) takes an item out of a list, t[1] = nil drops a key" },
    { "t = {1, 2} t.map(print)", "attempt to call field 'map' (a nil value); of a table it is "
      .. "for k, v in ipairs(t) do t[k] = f(v) end" },
    { "x.plot()", "arrays have no field or method 'plot'; here it is np.plot.line(x)" },
    { "s = 'abc' for c in s do print(c) end", "attempt to call a string value; for c in s:gmatch \".\" do … end walks "
      .. "through the characters of a text" },
    { "s = 'abc' s[1] = 'j'", "attempt to index global 's' (a string value); texts never change: "
      .. "s = s:sub(1, k - 1) .. \"…\" .. s:sub(k + 1)" },
    { "print(count[0])", "attempt to index global 'count' (a number value); a number has no items" },
    { "count()", "attempt to call global 'count' (a number value); it is no function: count, without parentheses, is "
      .. "its value" },
    { "g = function(v): return v", "unexpected symbol near ':'; a body follows without a colon: function f(x) … end" },
    { "function g(v) -> number return v end", "unexpected symbol near '-'; Lua writes no types: function g(v)" },
    { "k = np.random.key(0) k:split()", "np.split: argument 2 (sections) must be an integer or a table of indices, got "
      .. "nothing (nil); keys are divided by np.random.split(key, n)" },
    { "f x", "'=' expected near 'x'", prompt = "'=' expected near 'x'; a call has parentheses: f(x)" },
    { "m:matmul(m)", "np.matmul: shapes (2, 3) and (2, 3) do not fit: 3 columns meet 2 rows" },
    { "print(x.sum())",
      "np.sum: argument 1 must be an array or a number, got nothing (nil); methods take a colon: "
      .. "x:sum()" },
    { "print(m.sum{axis=0})",
      "np.sum: argument 1 must be an array or a number, got a table; methods take a colon: m:sum{…}" },
    { "x:sum", "function arguments expected near '<eof>'; a method is called: x:sum()", at_end = true },
    { "print(m:sum{axes=0})",
      "np.sum: unknown option 'axes' (options: axis, dtype, initial, keepdims, out_sharding, where); "
      .. "did you mean axis?" },
    { "print(m:sum{dim=0})",
      "np.sum: unknown option 'dim' (options: axis, dtype, initial, keepdims, out_sharding, where); "
      .. "here it is axis" },
    { "print(np.linspace(0, 1, {num=3}))",
      "np.linspace: unknown option 'num' (options: axis, device, dtype, endpoint); "
      .. "the number of points is an argument, as in np.linspace(0, 1, 5)" },
    { "print(np.float32(3))", "attempt to call field 'float32' (a string value); np.float32 is the name of a dtype: "
      .. "x:astype(np.float32), np.array(3, {dtype=np.float32})" },
    { "print(np.f32)", "np has no 'f32': dtypes are texts, as in x:astype(\"f32\")" },
    { "t = np.table{a = {1, 2}, s = {'x', 'y'}} t:where(t.a:gt(1))", "np.table: there is no column 'where'; there are "
      .. "a, s; here it is t:filter(mask)" },
    { "t = np.table{a = {1, 2}, s = {'x', 'y'}} t:filter(t.s == 'x')", "np.table.filter: argument 1 (mask) must be an "
      .. "array of bool, as t.price:eq(3) gives (t.price == 3 is no array), got a boolean" },
    { "t = np.table{a = {1, 2}, s = {'x', 'y'}} t:select('a', 's')", "np.table.select: several names are one list: "
      .. 't:select{"a", "s"}' },
    { "t = np.table{a = {1, 2}, s = {'x', 'y'}} print(t[{'a', 's'}])", "np.table: there is no column a table; there "
      .. "are a, s; t:select{…} takes a list of names" },
    { "t = np.table{a = {1, 2}, s = {'x', 'y'}} print(t.a.max())", "np.max: argument 1 must be an array or a number, "
      .. "got nothing (nil); methods take a colon: t.a:max(…)" },
    { "t = np.table{a = {1, 2}, s = {'x', 'y'}} t:join(t, 'a')", "np.table.join: options must be a table such as "
      .. '{on="a"}, got the string "a"' },
    { "live = np.plot.live{title='loss'} live:push(1, 2)", "attempt to call method 'push' (a nil value); it has close, "
      .. "draw, figure, update" },
    { "y = (1, 2)", "')' expected near ','; Lua has no tuples; a list is {1, 2}" },
    { "t = {1, 2} t.append(3)", "attempt to call field 'append' (a nil value); of a table it is t[#t + 1] = v" },
    { "print(np.mean{1, 2, 3})", "np.mean: argument 1 must be an array or a number, got a table; np.array makes one "
      .. "from a table" },
    { "print(np.table.group)", "attempt to index field 'table' (a function value); t:group(…) is a method of t = "
      .. 'np.table{…}: np.help "table.group"' },
    { "print(np.stats.norm(0, 1))", "attempt to call field 'norm' (a table value); it holds functions, which np.help "
      .. "\"np.stats.norm\" lists" },
    { "np.stats.norm.rvs(3)", "np.stats.norm has no 'rvs'; here it is np.random: normal(key, {3}), …" },
    { "print(np.trace(m))", "np.trace: traces a function; np.linalg.trace(x) sums the diagonal of an array" },
    { 'print(np.array({1, 2}, "bf16"))', "np.array: options must be a table such as {dtype=\"bf16\"}, got the string "
      .. "\"bf16\"; the elements go into one table: np.array{1, 2, 3}" },
    { "print(np.plot.hist(x, 5))", "np.plot.hist: options must be a table such as {bins=5}, got the number 5" },
    { "print(np.plot.colorbar('height'))",
      "np.plot.colorbar: options must be a table such as {label=\"height\"}, got the string \"height\"" },
    { "print(np.take(m, x))", "np.take: indices must be integers, got dtype f32; x:astype(\"i32\") casts" },
    { "print((x * 1i):gt(1))",
      "np.greater: expected bools, integers or floats, got dtype c64; x.real, x.imag and x:abs() are real" },
    { "print(np.random.integers(0, 5))",
      "np.random has no 'integers'; here it is np.random.randint(key, {3}, low, high)" },
    { "print(np.table{a=x, b=x}:group('a'):agg{b='mean'})",
      "np.table.agg: there is no column 'b'; there are a, count; what is asked of each group stands in the call: "
      .. "t:group(\"a\", {b = \"mean\"})" },
    { "print(np.table{a=x, b=x}:group{'a', 'b'}:mean())",
      "np.table: there is no column 'mean'; there are a, b, count; what is asked of each group stands in the call: "
      .. "t:group({\"a\", \"b\"}, {column = \"mean\"})" },
    { "print(np.table{a=x}:groupby('a'))",
      "np.table: there is no column 'groupby'; there are a; here it is t:group(by, {column = \"mean\"})" },
    { "print(m:sum(axis=0))", "')' expected near '='; options go in braces: m:sum{axis=0}" },
    { "print(m:sum{axis=2})", "np.sum: axis 2 is out of range for an array of 2 axes" },
    { "print(x[3])", "array index: index 3 is out of range for axis 0 of extent 3: elements count from 0, to 2" },
    { "print(m[1,2])", "']' expected near ','; several indices go in braces: m[{1,2}]" },
    { "print(x[1:2])", [[']' expected near ':'; slices are text: x"1:2"]] },
    { "print(m[:, 0])", [[unexpected symbol near ':'; slices are text: m":, 0"]] },
    { "x[0] = 1", "arrays are immutable; a changed copy is x = x:at{0}:set(1)" },
    { "m[{0, 1}] = count + 2", "arrays are immutable; a changed copy is m = m:at{0, 1}:set(count + 2)" },
    { "x[x:argmax()] = 2", "arrays are immutable; x:at{…}:set(v) returns a changed copy" },
    { "x:at{0} = 5", "unexpected symbol near '='; arrays never change; a changed copy is x = x:at{0}:set(v)" },
    { "print(x:at{0}.set(5))", "np.at: methods take a colon: x:at{…}:set(v)" },
    { "print(x:at{0}:sett(5))",
      "np.at: a place x:at{…} has the methods set, add, mul, min, max and get, and no 'sett'" },
    { 'print(m[{":", 0}])', "array index: an item must be an integer, a slice {from, to, step}, np.newaxis, "
      .. 'np.ellipsis or an array, got the string ":" (axis 0); one text has them all: x":, 0"' },
    { "print(x[nil])", "array index: the index is nil; a new axis is np.newaxis" },
    { "print(x:size(0))", "attempt to call method 'size' (a number value); 'size' is a field, no method: x.size; "
      .. "x.shape has the extents, x:dim(0) is one of them" },
    { "y = x.at[0].set(5)", "attempt to index field 'at' (a function value); a changed copy is x:at{0}:set(5)" },
    { "y = x:at[0]:set(5)", "function arguments expected near '['; a changed copy is x:at{0}:set(v)" },
    { "y = np.add.reduce(x)",
      "attempt to index field 'add' (a function value); np.add(x, …) and x:add(…) are calls" },
    { "x:add_(1)", "arrays have no field or method 'add_'; here it is x = x:add(…): arrays never change" },
    { "y = np.ones(3).copy()",
      "np.copy: argument 1 must be an array or a number, got nothing (nil); methods take a colon: …:copy(…)" },
    { "y = ~mask", "unexpected symbol near '~'; np.logical_not(x) is the not of elements, np.bitwise_invert(x) that of "
      .. "bits" },
    { "y = 1 << 3", "unexpected symbol near '<'; bit.lshift(a, b) shifts numbers, "
      .. "np.bitwise_left_shift(x, y) elements" },
    { "if count = 5 then print(1) end", "'then' expected near '='; Lua compares with ==" },
    { "y = count is None", "'=' expected near 'None'; Lua writes == for is" },
    { "if count is not None then end", "'then' expected near 'is'; Lua writes ~= for is not" },
    { 'y = "abc".upper()', "unexpected symbol near '.'; a text stands in parentheses, its methods behind a colon: "
      .. '("abc"):upper(…)' },
    { 'print("%d" % count)', "attempt to perform arithmetic on a string value; (\"%d\"):format(n) puts values into a "
      .. "text, and np.printf those of arrays" },
    { "t = {1, 2} for v in t do end", "attempt to call a table value; for k, v in ipairs(t) do … end walks through a "
      .. "list, pairs(t) through any table" },
    { "for k = 0, np.arange(3):max() do end",
      "'for' limit must be a number; the number in an array is np.arange(3):max():item()" },
    { "model = np.nn.Sequential(np.nn.Dense(2, 3), np.nn.relu)",
      "np.nn.Sequential: the layers go into one table: np.nn.Sequential{layer, …}" },
    { "model = np.nn.Sequential(np.nn.Dense(2, 3))",
      "np.nn.Sequential: the layers go into one table: np.nn.Sequential{layer, …}" },
    { "model = np.nn.Dense(2, 3) model:eval()", "attempt to call method 'eval' (a nil value); here it is nothing: "
      .. "models keep no mode, and np.nn.Dropout drops where it gets a key" },
    { "y = np.tree_map(f, {x})", "np has no 'tree_map'; here it is np.tree.map(f, tree)" },
    { "y = np.jit(f, {static_argnums=0})",
      "np.jit: unknown option 'static_argnums' (options: device, donate, in_shardings, keep, out_shardings, "
      .. "sizes, static); static, whose positions count from 1" },
    { "print(x[undefinedname])", "array index: the index is nil ('undefinedname' has no value: is it misspelt?)",
      prompt = "the variable 'undefinedname' has no value" },
    { "print(x[np.array{0,2}])",
      "array index: an index array must have integers or bools, got dtype f32; cast it, as in "
      .. [[k:astype("i32")]] },
    { "print(x.size())", "attempt to call field 'size' (a number value); 'size' is a field, no method: x.size" },
    { "print(x:shape())", "attempt to call method 'shape' (a table value); 'shape' is a field, no method: x.shape" },
    { "print(x:shapee())", "arrays have no field or method 'shapee'; did you mean x.shape?" },
    { "print(np.reshap(x,3))", "np has no 'reshap'; did you mean np.reshape?" },
    { [[np.load("f")]], "np has no 'load'; here it is np.io.load" },
    { "np.quad(f, 0, 1)", "np has no 'quad'; here it is np.integrate.quad" },
    { "np.KMeans(3)", "np has no 'KMeans'; here it is np.cluster.kmeans" },
    { "model = np.Linear(3, 4)", "np has no 'Linear'; here it is np.nn.Dense" },
    { "np.optimize.butter(2, 1)", "np.optimize has no 'butter'; here it is np.signal.butter" },
    { "hist(x)", "attempt to call global 'hist' (a nil value); here it is np.plot.hist",
      prompt = "the variable 'hist' has no value; here it is np.plot.hist" },
    { "y = hist + 1", "attempt to perform arithmetic on global 'hist' (a nil value)",
      prompt = "the variable 'hist' has no value" },
    { "y = c(1, 2)", "attempt to call global 'c' (a nil value); np.array{1, 2, 3} is an array, {1, 2, 3} a table",
      prompt = "the variable 'c' has no value; np.array{1, 2, 3} is an array, {1, 2, 3} a table" },
    { "np.random.rand(3)", "np.random has no 'rand'; here it is np.random.uniform(key, {3})" },
    { "np.random.seed(0)", "np.random has no 'seed'; here it is key = np.random.key(seed)" },
    { "np.cat(x, x)", "np has no 'cat'; here it is np.concatenate{x, y}" },
    { "np.shape(x)", "np has no 'shape'; here it is the field x.shape" },
    { "np.linalg.invert(m)", "np.linalg has no 'invert'; did you mean np.linalg.inv?" },
    { "x:numpy()", "arrays have no field or method 'numpy'; here it is x itself, or x:totable()" },
    { "print(x < 2)",
      "'<' cannot give an array in Lua; use x:lt(2) for elements, np.array_equal(x, y) for a boolean" },
    { "print(x >= 1)",
      "'>=' cannot give an array in Lua; use x:ge(1) for elements, np.array_equal(x, y) for a boolean" },
    { "print(x > 1)",
      "'>' cannot give an array in Lua; use x:gt(1) for elements, np.array_equal(x, y) for a boolean" },
    { "print(x ~= 0)",
      "'~=' cannot give an array in Lua; use x:ne(0) for elements, np.array_equal(x, y) for a boolean" },
    { "print(x == 0)",
      "'==' cannot give an array in Lua; use x:eq(0) for elements, np.array_equal(x, y) for a boolean" },
    { "print(x > y)",
      "'>' cannot give an array in Lua; use x:gt(y) for elements, np.array_equal(x, y) for a boolean" },
    { "print(x:sum() < 7)", "'<' cannot compare an array; its value can be: x:item() < 7 (x:lt(7) gives an array)" },
    { [[if loss:lt(0.1) then print "converged" end]], "x:lt(…)" .. TRUE .. "test its value, x:lt(…):item()" },
    { "local done = loss:lt(0.1); while not done do end", "x:lt(…)" .. TRUE .. "test its value, x:lt(…):item()" },
    { [[if np.zeros(3):any() then print "any" end]], "x:any(…)" .. TRUE .. "test its value, x:any(…):item()" },
    { "assert(y:eq(4))",
      "x:eq(…)" .. TRUE .. "test x:eq(…):all():item() or :any():item(), or let np.where choose by element" },
    { "local equal = y:eq(4); assert(equal)",
      "assert got an array, which is always true in Lua, whatever it holds; assert x:all():item(), or "
      .. "np.array_equal(x, y)" },
    { "print(not x:any())", "x:any(…)" .. TRUE .. "test its value, x:any(…):item()" },
    { "print(x:gt(0) and 1 or 2)",
      "x:gt(…)" .. TRUE .. "test x:gt(…):all():item() or :any():item(), or let np.where choose by element" },
    { "repeat local k = 1 until x:eq(0)",
      "x:eq(…)" .. TRUE .. "test x:eq(…):all():item() or :any():item(), or let np.where choose by element" },
    { "print(x:lt(0) or x:gt(1))",
      "x:lt(…)" .. TRUE .. "np.logical_or(x, y) is the or of elements; test x:lt(…):all():item() or :any():item(), or "
      .. "let np.where choose by element" },
    { [[if mask[1] then print "masked" end]], "the element x[k]" .. TRUE .. "test its value, x:item()" },
    { "np.jit(function(v) if v:sum():gt(0) then return v end return -v end)(x)",
      "x:gt(…)" .. TRUE .. "while tracing its value is not known: np.cond or np.where decide" },
    { "print(i * 2^40)",
      "np.multiply: the number 1099511627776 is not a value of the array's dtype i32, which whole numbers take that "
      .. [[meet it; cast the array first, as in x:astype("f32")]] },
    { "print(i:astype('u8') - 300)",
      "np.subtract: the number 300 is not a value of the array's dtype u8, which whole numbers take that "
      .. [[meet it; cast the array first, as in x:astype("f32")]] },
    { "print(i // 2)",
      "unexpected symbol near '/'; Lua has no '//': i:floor_divide(2) of an array, math.floor(i / 2) "
      .. "of numbers" },
    { [[np.array("hello")]],
      "np.array: argument 1 (data) is a string; np.frombuffer(s, {dtype=\"u8\"}) gives its bytes, tonumber(s) the "
      .. "number that it names, np.table has columns of texts" },
    { "np.array{{1,2},{3}}", "np.array: item[2] has 1 entries, where others have 2" },
    { "np.array{1,nil,3}", "np.array: item[2] is nil, and the table goes on behind it (is a name misspelt?)" },
    { "np.array{1,2,n=3}", [[np.array: the table has the key "n" beside its items 1, 2, …]] },
    { "np.array(1,2,3)",
      "np.array: options must be a table such as {dtype=…}, got the number 2; the elements go into one "
      .. "table: np.array{1, 2, 3}" },
    { [[np.ones({3}, "f64")]], [[np.ones: options must be a table such as {dtype="f64"}, got the string "f64"]] },
    { "np.optim.adam(0.1)", "np.optim.adam: options must be a table such as {lr=0.1}, got the number 0.1" },
    { "np.grad(f, x)",
      "np.grad: options must be a table such as {argnums=…}, got an array of shape (3,); np.grad(f) "
      .. "gives a function: np.grad(f)(x)" },
    { "np.zeros{2,-1}", "np.zeros: a shape is made of integers from 0 to 2^53, got the number -1 at axis 1" },
    { "np.zeros{1e5,1e5,1e5,1e5}", "np.zeros: the result would have more than 2^59 elements" },
    { [[y = x:astype("float")]],
      "np.astype: dtype must be one of bool, u8, u16, u32, u64, i8, i16, i32, i64, f32, f64, f16, bf16, c64, c128, got "
      .. [[the string "float"; did you mean "f32"?]] },
    { "np.float(1)", "np has no 'float'; here it is np.float32" },
    { "y = x:astype(f32)", [[np.astype: argument 2 (dtype) must be a dtype name such as "f32", got nothing (nil)]],
      prompt = "the variable 'f32' has no value; a dtype is a text: \"f32\"" },
    { "y = x:reshape(2,2)", "np.reshape: shape (2, 2) has 4 elements, the array of shape (3,) has 3" },
    { "for k, v in ipairs(x) do end",
      "ipairs takes no array, whose elements count from 0: for k = 0, #x - 1 do local v = x[k] … end "
      .. "walks along axis 0, and x:totable() gives Lua's tables" },
    { "for k, v in pairs(x) do end",
      "pairs takes no array: for k = 0, #x - 1 do local v = x[k] … end walks along axis 0, and "
      .. "x:totable() gives Lua's tables" },
    { "for v in x do end",
      "an array is no function and no iterator: for k = 0, #x - 1 do local v = x[k] … end walks along "
      .. "axis 0, and x:totable() gives Lua's tables" },
    { "for k = 1, x:sum() do end", "'for' limit must be a number; the number in an array is x:sum():item()" },
    { "for k = 1, n do end", "'for' limit must be a number; 'n' is an array, its number is n:item()" },
    { [[string.format("%.2f", x:sum())]],
      "bad argument #2 to 'format' (number expected, got an array); x:item() is the number in an array "
      .. "of one element, and np.printf takes it as it is" },
    { "math.sqrt(x)",
      "bad argument #1 to 'sqrt' (number expected, got an array); np.sqrt takes arrays, and x:item() "
      .. "is the number in an array of one element" },
    { "math.max(x:sum(), 3)",
      "bad argument #1 to 'max' (number expected, got an array); np.maximum takes arrays, and x:item() "
      .. "is the number in an array of one element" },
    { "unpack(x)", "bad argument #1 to 'unpack' (table expected, got an array); x:totable() gives Lua's tables" },
    { "table.concat(x)",
      "bad argument #1 to 'concat' (table expected, got an array); x:totable() gives Lua's tables" },
    { "print(x.sum(0))", "x.sum(…) is not given x; methods take a colon: x:sum(…)" },
    { "y = x.reshape(3, 1)", "x.reshape(…) is not given x; methods take a colon: x:reshape(…)" },
    { "y = np.arange(12).reshape(3, 4)", "x.reshape(…) is not given x; methods take a colon: x:reshape(…)" },
    { "y = x[{0, 2}]", "array index: 2 indices for an array of 1 axis; the elements 0, 2 of an axis are "
      .. 'x"[0, 2]", x[np.array({0, 2}, {dtype="i32"})] or x:take({0, 2}, {axis=…})' },
    { "print(m:mean{'axis'})",
      "np.mean: unknown option '1' (options: axis, dtype, keepdims, where); options have names, as in {axis=…}" },
    { "y = x:T", "function arguments expected near '<eof>'; a field stands behind a dot: x.T", at_end = true },
    { "y = x == 3 && true", "unexpected symbol near '&'; Lua writes and for &&" },
    { "while true: x = 1", "'do' expected near ':'; Lua writes while … do … end" },
    { "if count > 2: print(x)", "'then' expected near ':'; Lua writes if … then … end" },
    { "if count > 2 { print(x) }", "'then' expected near '{'; Lua writes if … then … end" },
    { "y = 7 // 2", "unexpected symbol near '/'; Lua has no '//': x:floor_divide(y) of an array, "
      .. "math.floor(x / y) of numbers" },
    { "y = 1_000", "malformed number near '1_000'; Lua writes 1000" },
    { "y = np.zeros((3,3))", "')' expected near ','; shapes and lists go in braces: np.zeros{3,3}" },
    { "np.repeat(x, 2)", "'<name>' expected near 'repeat'; repeat is a word of Lua's: np.repeat_, x:repeat_(…)" },
    { "t = {} t.append(4)", "attempt to call field 'append' (a nil value); of a table it is t[#t + 1] = v" },
    { "t = {} t:insert(4)", "attempt to call method 'insert' (a nil value); of a table it is table.insert(t, …)" },
    { "t = {} y = t + 1", "attempt to perform arithmetic on global 't' (a table value); np.array(t) is an array of its "
      .. "numbers, and np.tree.map(f, t) takes each array in it" },
    { "y = np.nn.dense(3, 4)", "np.nn.dense: argument 2 (w) must be an array of weights, got the number 4; "
      .. "np.nn.Dense(inputs, outputs) is a layer" },
    { "opt = np.optim.sgd{lr=0.1} opt:step()", "attempt to call method 'step' (a nil value); here it is "
      .. "params, state = opt:update(grads, state, params)" },
    { "model = np.nn.Dense(2, 3) params = model.init(np.random.key(0))",
      "np.nn.Block: call it as block:init(…), with a colon" },
    { "y = np.lin", "np has no 'lin'; did you mean np.linalg?" },
    { "print(x.shape[0])",
      "x.shape[0] is nil: a shape is a Lua table, counted from 1; x:dim(0) is the extent of axis 0" },
    { "print(m.shape[-1])",
      "x.shape[-1] is nil: a shape is a Lua table, counted from 1; x:dim(-1) is the extent of axis -1" },
    { "x:item()", "np.item: the array must have one element, got shape (3,)" },
    { [[print(x * "2")]], [[np.multiply: argument 2 must be an array or a number, got the string "2"]]
      .. "; tonumber(s) is the number of a text" },
    { "print(x + nil)", "np.add: argument 2 must be an array or a number, got nothing (nil)" },
    { "print(x + {1,2,3})",
      "np.add: argument 2 must be an array or a number, got a table; np.array makes one from a table" },
    { "using Plots", "'=' expected near 'Plots'; np.plot draws, and is there already" },
    { "using Tables", "'=' expected near 'Tables'; Lua writes local Tables = require \"Tables\"" },
    { "clear m", "'=' expected near 'm'; m = nil drops a variable" },
    { "y = 1:5", "unexpected symbol near ':'; np.arange(1, 6) has the numbers from 1 to 5" },
    { "for k = 1:n", "',' expected near ':'; Lua writes for k = 1, n do … end" },
    { "y = x[end]", "unexpected symbol near 'end'; the last element is x[-1]" },
    { "y = x(end)", "unexpected symbol near 'end'; the last element is x[-1]" },
    { "y = x[1:end]", "']' expected near ':'; slices are text: x\"1:\"" },
    { "y = x[1:end-1]", "']' expected near ':'; slices are text: x\"1:-1\"" },
    { "y = x .* x", "'<name>' expected near '*'; operators are by element, x * y; x:matmul(y) is the product of "
      .. "matrices" },
    { "y = x .^ 2", "'<name>' expected near '^'; operators are by element: x ^ y" },
    { "y = sin.(x)", "'<name>' expected near '('; functions are by element: np.sin(x)" },
    { "y = m'", "unfinished string near '''; the ' here is never closed; the transpose of x is x.T",
      prompt = "unfinished string near '<eof>'; the ' here is never closed; the transpose of x is x.T" },
    { "y = (m + 1)' * 2", "unfinished string near '' * 2'; the ' here is never closed; the transpose of x is x.T",
      prompt = "unfinished string near '<eof>'; the ' here is never closed; the transpose of x is x.T" },
    { "y = size(m)", "attempt to call global 'size' (a nil value); x.shape is the shape, and x.size how many "
      .. "elements there are", prompt = "the variable 'size' has no value; x.shape is the shape, and x.size how many "
      .. "elements there are" },
    { "y = rand(3)", "attempt to call global 'rand' (a nil value); np.random.uniform(key, {3})",
      prompt = "the variable 'rand' has no value; np.random.uniform(key, {3})" },
    { "disp(m)", "attempt to call global 'disp' (a nil value); print(x)",
      prompt = "the variable 'disp' has no value; print(x)" },
    { "%timeit x:sum()", "unexpected symbol near '%'; the prompt and notebooks have :bench x:sum() for %timeit" },
    { "%%time", "unexpected symbol near '%'; the prompt and notebooks have :time CODE for %time" },
    { "%timeit -n 10 x:sum()", "unexpected symbol near '%'; the prompt and notebooks have :bench CODE for %timeit" },
    { "time x:sum()", "'=' expected near 'x'; the prompt and notebooks have :time x:sum() for %time" },
    { "%cd data", "unexpected symbol near '%'; the prompt and notebooks have :cd data for %cd" },
    { "cd data", "'=' expected near 'data'; the prompt and notebooks have :cd data for %cd" },
    { "%who", "unexpected symbol near '%'; the prompt and notebooks have :who for %who" },
    { "y = who + 1", "attempt to perform arithmetic on global 'who' (a nil value)",
      prompt = "the variable 'who' has no value; :who lists variables" },
    { "%run 'a b.lua'", "unexpected symbol near '%'; the prompt and notebooks have :run 'a b.lua' for %run" },
    { "%matplotlib inline", "unexpected symbol near '%'; np.plot needs no %matplotlib: np.plot.line(x, y) shows its "
      .. "figure where it stands" },
    { "%%html", [[unexpected symbol near '%'; np.display{["text/html"] = …} shows that]] },
    { "%load_ext autoreload", "unexpected symbol near '%'; there is no %load_ext; :help lists the commands of the "
      .. "prompt" },
    { "count = 1\n!ls -l", "unexpected symbol near '!'; !ls -l stands alone, at the prompt; among other code it is "
      .. 'os.execute "ls -l"', line = 2 },
    { "count = 1\n?np.sum", "unexpected symbol near '?'; ?np.sum stands alone, at the prompt; among other code it is "
      .. 'np.help "np.sum"', line = 2 },
    { "count = 1\nnp.sum??", "'=' expected near '?'; ?np.sum stands alone, at the prompt; among other code it is "
      .. 'np.help "np.sum"', line = 2 },
    { "count = 1\n:time x:sum()", "unexpected symbol near ':'; :time is a command of the prompt: it stands alone",
      line = 2 },
    { "np.ones(3)?", "unexpected symbol near '?'; ?NAME, or NAME?, tells of a name, as ?np.sum" },
    { "s = 'don't'", "unfinished string near '''; the ' before t ended the string; write \\' there, or \"…\" around "
      .. "the text", prompt = "unfinished string near '<eof>'; the ' before t ended the string; write \\' there, or "
      .. "\"…\" around the text" },
    { "print('it's fine')", "')' expected near 's'; the ' before s ended the string; write \\' there, or \"…\" around "
      .. "the text" },
    { "print{'it's', 'don't'}", "'}' expected near 's'; the ' before s ended the string; write \\' there, or \"…\" "
      .. "around the text" },
    { 'print "abc', "unfinished string near '\"abc'; the \" here is never closed",
      prompt = "unfinished string near '<eof>'; the \" here is never closed" },
    { "s = a'", "unfinished string near '''; the ' here is never closed; the transpose of x is x.T",
      prompt = "unfinished string near '<eof>'; the ' here is never closed; the transpose of x is x.T" },
    { [[path = "c:\\dir\"]], [[unfinished string near '"c:\dir"'; the " here is never closed: \" is no end; a ]]
      .. [[backslash is written \\]], prompt = [[unfinished string near '<eof>'; the " here is never closed: \" is no ]]
      .. [[end; a backslash is written \\]] },
    { [[path = "c:\dir"]], [[invalid escape sequence near '"c:'; a backslash in a text is written \\]] },
    { 's = "she said "hi" and left"', "attempt to call global 'hi' (a nil value); the \" before hi ended the string; "
      .. "write \\\" there, or '…' around the text", prompt = "the variable 'hi' has no value" },
    { "print(len{1})", "attempt to call global 'len' (a nil value); #x is the length of x",
      prompt = "the variable 'len' has no value; #x is the length of x" },
    { "for k, v in enumerate{1} do end", "attempt to call global 'enumerate' (a nil value); for k, v in ipairs(t) do … "
      .. "end", prompt = "the variable 'enumerate' has no value; for k, v in ipairs(t) do … end" },
    { "prnt(x)", "attempt to call global 'prnt' (a nil value); did you mean print?",
      prompt = "the variable 'prnt' has no value; did you mean print?" },
    { "z = jnp.ones(3)", "attempt to index global 'jnp' (a nil value); here it is np.ones",
      prompt = "the variable 'jnp' has no value; here it is np.ones" },
    { "z = jax.nosuch(3)", "attempt to index global 'jax' (a nil value); np is there already",
      prompt = "the variable 'jax' has no value; np is there already" },
    { "x += 1", "'=' expected near '+'; Lua has no '+=': x = x + 1",
      prompt = "unexpected symbol near '='; Lua has no '+=': x = x + 1" },
    { "x[0] += 1", "'=' expected near '+'; Lua has no '+='; for an array x = x:at{0}:add(1)",
      prompt = "unexpected symbol near '='; Lua has no '+='; for an array x = x:at{0}:add(1)" },
    { "if x != 1 then end",
      "'then' expected near '!'; Lua writes ~= for !=, and x:ne(y) for the elements of an array" },
    { "y = !x", "unexpected symbol near '!'; Lua writes not for !" },
    { "x = [1,2]", "unexpected symbol near '['; lists go in braces: {1, 2, 3}, and np.array{1, 2, 3} is an array" },
    { "def f(x):", "'=' expected near 'f'; Lua writes function f(x) … end" },
    { "print x", "'=' expected near 'x'; print is a function: print(x)" },
    { "y = x ** 2", "unexpected symbol near '*'; Lua writes x ^ y for x ** y" },
    { "y = x @ x", "unexpected symbol near '@'; Lua has no '@': x:matmul(y)" },
    { "y = a && b", "unexpected symbol near '&'; Lua writes and for &&" },
    { "y = c ? a : b",
      "unexpected symbol near '?'; Lua writes c and a or b for c ? a : b, and np.where(c, a, b) for "
      .. "elements" },
    { "y = lambda v: v * 2", "function arguments expected near '*'; Lua writes function(v) return v * 2 end" },
    { "import numpy as np", "'=' expected near 'numpy'; np is there already, without import" },
    { "for j in range(3): print(j)", "'do' expected near ':'; Lua writes for j = 0, 2 do … end" },
    { "while i: print(i)", "'do' expected near ':'; Lua writes while … do … end" },
    { "if (x) { print(1) }", "'then' expected near '<eof>'; Lua writes if … then … end", at_end = true },
    { "let z = 1", "'=' expected near 'z'; Lua writes local z = …" },
    { "z++", "'=' expected near '+'; Lua has no '++': z = z + 1",
      prompt = "unexpected symbol near '+'; Lua has no '++': z = z + 1" },
    { "local d = np.ones(2) d:delete() print(d)", "np.print: the array was deleted" },
    { "local g = np.jit(function(v) return v end, {donate={1}}) local d = np.ones(2) g(d) print(d)",
      "np.print: the array was donated to the jitted function that was called at PLACE" },
    { "np.grad(function(v) return v*2 end)(x)",
      "np.grad: the function must return a 0-d array (reduce it, as with :sum()), got shape (3,)" },
    { "np.grad(f)(i)", "np.grad: argument 1 must hold floats to be differentiated, got dtype i32; x:astype(\"f32\") "
      .. "casts" },
    { "np.grad(f(x))", "np.grad: argument 1 (f) must be a function, got an array of shape (); np.grad(f)(x) takes the "
      .. "function, not its value" },
    { "np.grad(function(v) return v:sum():item() end)(x)",
      "warning: np.grad: the function's value does not depend on its arguments, so the gradient is 0 "
      .. "(what :item() and :totable() read is a constant; floor, round and comparisons have no slope)", warns = true },
    { "np.grad(function(v) return 3 end)(x)",
      "warning: np.grad: the function's value does not depend on its arguments, so the gradient is 0 "
      .. "(what :item() and :totable() read is a constant; floor, round and comparisons have no slope)", warns = true },
    { "np.grad(function(v) v:sum() end)(x)",
      "np.grad: the function must return a 0-d float array, got nothing (nil) (did you forget return?)" },
    { "np.jit(function(v) return v:sum():item() end)(x)",
      "np.item: the value of a traced array is not known while tracing; use np.cond or np.where, or "
      .. "make the argument static" },
    { "np.jit(function(v, n) return np.zeros(n) end)(x, 3)",
      "np.zeros: a shape is made of integers from 0 to 2^53, got an array of shape (), whose value is "
      .. "not known while tracing (is it an argument to list in {static={…}}?) at axis 0" },
    { "np.jit(function(v) last = v end)(x)",
      "np.jit: the function assigned an array to 'last', which is outside of it: return the array "
      .. "instead" },
    { "np.jit(function(v) count = count + 1 return v end)(x)",
      "warning: np.jit: the function assigns a number to the global 'count', which happens while it is "
      .. "traced, not at each call: make it local, return it, or pass it in as an array", warns = true },
    { "state = {n = 0} np.jit(function(v) state.n = state.n + 1 return v end)(x)",
      "warning: np.jit: the function assigns a number to the field 'state.n', which happens while it is traced, not at "
      .. "each call: make it local, return it, or pass it in as an array", warns = true },
    { "np.jit(function(v) return v * math.random() end)(x)",
      "warning: np.jit: math.random is called while the function is recorded, so each call has the same number: pass "
      .. "it in as an argument, or draw with np.random and a key", warns = true },
    { "tick = os.clock np.jit(function(v) return v * tick() end)(x)",
      "warning: np.jit: os.clock is called while the function is recorded, so each call has the same number: pass it "
      .. "in as an argument", warns = true },
    { [[np.device_put(x,"gpu:0")]], "np.device_put: there is no device 'gpu:0' (devices: cpu:0)" },
    { "np.where(x:gt(1), x)", "np.where: takes a condition and two values, or a condition" },
    { "np.concat(x, x)",
      "np.concatenate: argument 1 (arrays) must be a table of arrays, as in np.concatenate{x, y}, got an array of "
      .. "shape (3,)" },
    { "np.vmap(f)(3)",
      "np.vmap: argument 1 is a number, which has no axis of examples: make it an array, or give it "
      .. "false in in_axes" },
    { "np.signal.convolve(x, x)", "np.signal has no 'convolve'; here it is np.convolve" },
    { "np.linalg.grad(f)", "np.linalg has no 'grad'; here it is np.grad" },
    { "np.signal.remez(2, 0.1)",
      "np.signal has no 'remez': np.signal.butter, cheby1, cheby2, ellip, bessel and firwin make filters" },
    { "np.optimize.brentq(f, 0, 1)",
      "np.optimize has no 'brentq'; here it is np.optimize.root_scalar(f, {bracket={a, b}})" },
    { "np.optimize.brute(f)",
      "np.optimize has no 'brute': np.optimize finds local minima; np.vmap searches from many starts at once" },
    { "np.random.uniform(np.random.key(0), {3}, 0, 10)",
      "np.random.uniform: takes 3 arguments, got also the number 10; options have names: "
      .. "{minval=…, maxval=…, dtype=…}" },
    { "np.plot.boxplot({{1, 2}}, {labels={'a'}})",
      "np.plot.boxplot: unknown option 'labels' (options: alpha, by, color, label, linewidth, orientation, positions, "
      .. "showfliers, tick_labels, whis, widths); here it is tick_labels" },
    { "np.nn.mse(x:reshape(-1, 1), x)",
      "warning: np.nn.mse: shapes (3, 1) and (3,) broadcast to 9 differences; x:reshape(y.shape) makes them one",
      warns = true },
    { "y = np.arange(9)[{ {1, 2, 3} }]",
      "warning: np.array index: {1, 2, 3} is a slice, from 1 to 2 in steps of 3: element 1 alone; the elements 1, 2, 3 "
      .. "of an axis are x\"[1, 2, 3]\", x[np.array({1, 2, 3}, {dtype=\"i32\"})] or x:take({1, 2, 3}, {axis=…})",
      warns = true },
    { "np.clip(x, {low=1})", "np.clip: unknown option 'low' (options: max, min)" },
    { [[print("a" .. x .. {x})]],
      "'..' joins the text of an array with a string, a number or an array, got a table; "
      .. "np.concatenate{x, y} joins arrays" },
    { [[print(x < "2")]], [[an array is compared with the string "2"; it must be an array or a number]] },
    { [[print(x"1:2:3:4")]],
      "array index: cannot read \"1:2:3:4\" in \"1:2:3:4\"; items are like 3, 1:5, ::-1, ..., None, [0, 2]" },
}

-- Each mistake is a process: with a sanitizer, which makes starts slow, one of eight is tried.
local STEP = (os.getenv "NEAP_TEST_BUILD" or "release") == "release" and 1 or 8

check.test("each mistake in a script", function()
    for k = 1, #MISTAKES, STEP do
        local mistake = MISTAKES[k]
        local script = process.file(BEFORE .. "\n" .. mistake[1] .. "\n")
        local status, _, err = process.run_neap { script }
        local place = ("%s:%d"):format(script, mistake.at_end and 3 or 1 + (mistake.line or 1))
        local expected = ("%s%s: %s"):format(mistake.warns and "" or "neap: ", place, mistake[2])
        check.equal({ status, err:match "^[^\n]*" }, { mistake.warns and 0 or 1, (expected:gsub("PLACE", place)) },
                    mistake[1])
    end
end)

check.test("each mistake at the prompt", function()
    local lines, typed = { BEFORE }, {}
    for _, mistake in ipairs(MISTAKES) do
        if not mistake.at_end and not mistake.line then
            typed[#typed + 1] = mistake
            lines[#lines + 1] = ("io.stderr:write('case %d\\n')"):format(#typed)
            lines[#lines + 1] = mistake[1]
            lines[#lines + 1] = BEFORE -- what the mistake has changed
        end
    end
    lines[#lines + 1] = "io.stderr:write('case end\\n')\n"
    local _, _, err = process.run_neap({ "-i" }, table.concat(lines, "\n"))
    for k, mistake in ipairs(typed) do
        local said = err:match(("case %d\n(.-)case "):format(k)) or ""
        local place, text = ("\n" .. said):match "\n(%S-:%d+): ([^\n]*)"
        local expected = (mistake.prompt or mistake[2]):gsub("PLACE", place or "")
        check.equal(text, expected, mistake[1])
    end
end)

-- Code of several lines, the line that is told, and what is said of it.
local LINES = {
    { "y = x +", 1, "unexpected symbol near '<eof>'; a value is missing behind the +" },
    { "y = 'a' ..\nlocal z = 2", 1, "unexpected end of the line; a value is missing behind the .." },
    { "y =\n\nif x then end", 1, "unexpected end of the line; a value is missing behind the =" },
    { "for k = 1, 2 do s = k end s", 1, "'=' expected at the end of the line; a value alone is no statement: print(…) "
      .. "shows it" },
    { "t = {}\nfor i in t:\n    print(i)", 2, "'do' expected near ':'; Lua writes for _, i in ipairs(t) do … end for a "
      .. "list, for k = 0, #t - 1 do local i = t[k] … end for an array" },
    { "for k, v in pairs(t):\n    z = v\n", 1, "'do' expected near ':'; Lua writes for k, v in pairs(t) do … end" },
    { "t = {}\nfor i in range(2, n, 3):\n    z = i", 2, "'do' expected near ':'; Lua writes for i = 2, n - 1, 3 do … "
      .. "end" },
    { "try:\n    z = 1\nexcept Exception as e:\n    z = 2", 1, "'=' expected near ':'; Lua writes local ok, problem = "
      .. "pcall(f)" },
    { "t = {}\nwhile t:\n    z = 2", 2, "'do' expected near ':'; Lua writes while … do … end" },
    { "if a then b() end\nif t:\n    print(t)\nprint(3)", 2, "'then' expected near ':'; Lua writes if … then … end" },
    { "for i, s in ipairs(t) do s: upper() s:\n upper() end while s\nprint(s)", 2,
      "'do' expected at the end of the line; Lua writes while … do … end, for … do … end" },
}

check.test("the line of a mistake that LuaJIT meets in a later one", function()
    for _, row in ipairs(LINES) do
        local script = process.file(row[1] .. "\n")
        local _, _, err = process.run_neap { script }
        check.equal(err:match "neap: ([^\n]*)", ("%s:%d: %s"):format(script, row[2], row[3]), row[1])
        _, _, err = process.run_neap { "-e", row[1] }
        check.equal(err:match "neap: ([^\n]*)", ("(command line):%d: %s"):format(row[2], row[3]), row[1])
    end
end)

check.test("no alarm where a condition asks whether there is something, or for a value", function()
    local code = [[
local x, none, flags = np.array{1, 2, 3}, nil, {}
local bag = { any = function() return true end, sum = function() return nil end }
local function find(key) return flags[key] end
if x then print "if" end
while x do print "while" break end
print(x and x:sum() or 0, none and none:sum() or 0, x and x:lt(2) or false, none or x:max())
local mask = flags.mask and flags.mask:gt(0)
if mask then print "wrong" end
flags.mask = x
mask = flags.mask and flags.mask:gt(0)
if mask then print "mask" end
if find "mask" then print(find "mask" or 0) end
if bag:any() and not bag:sum() then print "bag" end
print(x:any(), np.sum(x))
if x:any():item() and np.array_equal(x, x) and not x:isnan():any():item() then print "values" end
if x[1]:item() > 1 and x:sum():item() == 6 and x:sum() ~= nil then print "numbers" end
assert(x, "no x")
local total = x:sum()
if total then print((assert(total, "no total"))) end
local w = assert(find "mask")
for k, flag in pairs { true, false } do if flag then print(k) end end
local table_of = { true }
if table_of[1] then print(np.isfinite(x)) end
local unused = x and x:mean() or 0
local unused_too = x and x:lt(0) or none
local done = x:lt(0):any():item()
if not done then print "done" end
local changed = x:eq(1)
changed = changed:any():item()
if changed then print "changed" end
print(pcall(assert), pcall(assert, nil, "why"), select("#", assert(1, 2, 3)))
print(select(2, pcall(assert, false, {})) ~= nil)
print(tonumber(x:sum()), tonumber(x:any()), tonumber(x), tonumber "7", tonumber("ff", 16), tonumber "x")
print(x.shape[#x.shape - 1] or 1)
local like_an_array = { shape = { [0] = 4 } }
print(like_an_array.shape[0])
print(x.shape[1])
]]
    local script = process.file(code)
    local status, out, err = process.run_neap { script }
    check.equal({ status, err }, { 0, "" })
    check.equal(out, [[
if
while
6.0	0	[ True False False]	3.0
mask
[1. 2. 3.]
bag
True	6.0
values
numbers
6.0
1
[ True  True  True]
done
changed
false	false	3
true
6	1	nil	7	255	nil
1
4
3
]])
end)

check.test("conditions are seen in functions, modules and loaded code", function()
    local module = os.tmpname()
    local name = module:match "([^/]+)$"
    local file = assert(io.open(module .. ".lua", "w"))
    file:write "local M = {}\nfunction M.near(x, y)\n    if (x - y):lt(1):all() then return true end\nend\nreturn M\n"
    file:close()
    local code = ([[
package.path = "%s/?.lua;" .. package.path
local x = np.array{1, 2}
local function tell(f, ...)
    local ok, text = pcall(f, ...)
    print(ok, tostring(text):match "^.-(%%d+: .-) is an array" or text)
end
tell(require("%s").near, x, x)
tell(load "local x = ... return x:any() and 1 or 2", x)
tell(coroutine.wrap(function(v) while v:all() do break end end), x)
tell(np.grad(function(v) return v:gt(0):all() and v:sum() or -v:sum() end), x)
local key = np.random.key(0)
tell(function() if np.random.bernoulli(key, 0.5) then return 1 end end)
tell(function() return not np.isnan(x) end)
tell(function()
    local close = x:lt(2)
    if #x > 1 then
        return close and 1
    end
end)
]]):format(module:match "^(.*)/", name)
    local status, out, err = process.run_neap { process.file(code) }
    os.remove(module)
    os.remove(module .. ".lua")
    check.equal({ status, err }, { 0, "" })
    check.equal(out, [[
false	3: x:all(…)
false	1: x:any(…)
false	9: x:all(…)
false	10: x:all(…)
false	12: np.bernoulli(…)
false	13: np.isnan(…)
false	15: x:lt(…)
]])
end)

check.test("names of other libraries are none here, and what they are called here is there", function()
    local aliases, core = require "neap.core.aliases", require "neap.core"
    local function value_of(path)
        local value = np
        for name in path:gmatch "[^.]+" do value = value[name] end
        return value
    end
    for name, there in pairs(aliases.functions) do
        check.ok(not pcall(value_of, name), name)
        for path in there:gmatch "np%.([%w_.]*[%w_])" do check.ok(value_of(path) ~= nil, there) end
    end
    for name, there in pairs(aliases.methods) do
        check.ok(core.methods[name] == nil and core.fields[name] == nil, name)
        for path in there:gmatch "np%.([%w_.]*[%w_])" do check.ok(value_of(path) ~= nil, there) end
        for method in there:gmatch "x:([%w_]+)" do check.ok(core.methods[method], there) end
        for field in there:gmatch "x%.([%w_]+)" do check.ok(core.fields[field], there) end
    end
    for name, there in pairs(aliases.variables) do
        for path in there:gmatch "np%.([%w_.]*[%w_])" do check.ok(value_of(path) ~= nil, name .. ": " .. there) end
        for method in there:gmatch "x:([%w_]+)" do check.ok(core.methods[method], name .. ": " .. there) end
    end
    for name, there in pairs(aliases.dtypes) do
        check.ok(core.dtype_codes[there] and not core.dtype_codes[name], name)
    end
end)

check.test("what is no variable here, and what there is", function()
    local mistakes = {
        { "len(x)", "the variable 'len' has no value; #x is the length of x" },
        { "None", "the variable 'None' has no value; Lua writes nil" },
        { "x[None]", "the variable 'None' has no value; a new axis is np.newaxis" },
        { "for v in x: print(v)", "'do' expected near ':'; Lua writes for _, v in ipairs(x) do … end for a list, "
          .. "for k = 0, #x - 1 do local v = x[k] … end for an array" },
        { "numbers[1:3]", "']' expected near ':'; a part of a table is {unpack(numbers, 2, 3)}: tables count from 1" },
        { "word[:-1]", "unexpected symbol near ':'; a part of a text is word:sub(1, -2): characters count from 1" },
        { "zeros(3)", "the variable 'zeros' has no value; did you mean np.zeros?" },
        { "sqrt(2)", "the variable 'sqrt' has no value; did you mean np.sqrt, or math.sqrt?" },
        { "plt.plot(x)", "the variable 'plt' has no value; np.plot draws: np.plot.line(x, y)" },
        { '"abc":upper()', "'<eof>' expected near ':'; a text stands in parentheses there: (\"abc\")" },
        { "2**10", "unexpected symbol near '*'; Lua writes x ^ y for x ** y" },
        { "for i in range(3): print(i)", "'do' expected near ':'; Lua writes for i = 0, 2 do … end" },
        { "if (count > 2) { print(x) }", "'then' expected near '<eof>'; Lua writes if … then … end" },
        { '"abc" + 1', "attempt to perform arithmetic on a string value; .. puts texts together, and tonumber(text) is "
          .. "a number" },
    }
    local lines = { BEFORE .. ' numbers = {1, 2, 3}; local word = "abc"' }
    for k, mistake in ipairs(mistakes) do lines[k + 1] = mistake[1] end
    local _, _, err = process.run_neap({ "-i", "--no-startup" }, table.concat(lines, "\n") .. "\n")
    local at = 0
    for place, text in ("\n" .. err):gmatch "\n(%[%d+%]:1): ([^\n]*)" do
        at = at + 1
        check.equal(text, (mistakes[at] or { nil, place })[2])
    end
    check.equal(at, #mistakes)
end)

check.test("a dot is no mistake where the function is given an array, or is np's", function()
    check.equal(process.output [[
        local x, L = np.array{1, 2}, np.linalg
        local sum, lib = x.sum, { sum = function(n) return n + 1 end }
        print(sum(x), x.sum(x), np.sum(3), lib.sum(4), np.max(2), L.norm(x * 0))
        if x:sum():gt(1):item() and x.any(x):item() then print "more" end]],
        "3.0\t3.0\t3.0\t5\t2.0\t0.0\nmore\n")
    check.ok(select(2, pcall(process.output, [[
        local x = np.array{1, 2}
        local y = x.sum(x)
        if x:sum():gt(1) then print(1) end]])):find("x:gt(…) is an array, which as a condition", 1, true), "both")
end)

check.test("near names", function()
    local suggest = require "neap.core.suggest"
    local names = { { reshape = 1, resize = 1, repeat_ = 1, sum = 1, cumsum = 1, inv = 1 } }
    for word, name in pairs { reshap = "reshape", rehsape = "reshape", Sum = "sum", smu = "sum", cumsm = "cumsum",
                              res = "resize", invert = "inv", xyz = false, [1] = false } do
        check.equal(suggest.name(word, names) or false, name, tostring(word))
    end
end)

check.test("a name of Lua's that is given nil at the prompt is Lua's again", function()
    local _, out, err = process.run_neap({ "-i", "--no-startup" },
        "print = 5\nprint(1)\nprint = nil\nprint(2)\ntype = nil\ntype(3)\n")
    local told = "'print' is a variable of yours here, which hides Lua's: print = nil brings that back"
    check.ok(err:find(told, 1, true), err)
    check.equal(out:gsub("> ", ""), "2\n\"number\"\n")
end)

check.test("a formatted string of Python", function()
    local _, _, err = process.run_neap { "--strict", "-e", 'print(f"{count}")' }
    check.ok(err:find("the variable 'f' has no value; (\"%g\"):format(n) puts values into a text", 1, true), err)
    _, _, err = process.run_neap { "--strict", "-e", "print(f(1))" }
    check.ok(err:find "the variable 'f' has no value\n", err)
end)

process.cleanup()
check.done()
