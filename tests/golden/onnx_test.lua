--- onnx_test.lua (under tsan with --long): networks that PyTorch exported, and some made by hand, give what onnxruntime
-- gives (onnx.txt and onnx/, make_onnx.py); they are functions as any: jitted once, differentiated, batched, saved,
-- recorded for every size, trained. Calls that do not fit are refused with what and where.
local np = require "neap"
local check = require "tests.lib.check"
local reader = require "tests.lib.golden_reader"

local FOLDER = reader.folder .. "onnx/"

local function load(name)
    return np.io.load_onnx(FOLDER .. name .. ".onnx")
end

local function array(text)
    local golden = reader.array(text)
    return np.array(golden.values, { dtype = golden.dtype }):reshape(golden.shape)
end

local function close(got, want, what, room)
    check.equal({ got.dtype, got.shape }, { want.dtype, want.shape }, what)
    check.ok(np.allclose(got, want, { rtol = room or 2e-6, atol = room or 2e-6 }),
             ("%s: %s for %s"):format(what, tostring(got), tostring(want)))
end

--- Inputs, a table by name and a list, and outputs by name, of a record.
local function case(record)
    local count, inputs, list, outputs = tonumber(record[3]), {}, {}, {}
    for k = 1, count do
        list[k] = array(record[3 + 2 * k])
        inputs[record[2 + 2 * k]] = list[k]
    end
    for k = 4 + 2 * count, #record, 2 do outputs[record[k]] = array(record[k + 1]) end
    return inputs, list, outputs
end

--- Results of a model as a table by name.
local function named(f, results)
    return np.is_array(results) and { [f.outputs[1].name] = results } or results
end

-- How near values are that onnxruntime rounds to bytes on the way.
local ROOM = { ["quantized_lstm.onnx"] = 2e-2 }

local EAGER = { ["collecting.onnx"] = true } -- np.jit refuses it, as the shapes of its results follow from values

for _, record in ipairs(reader.records "onnx") do
    check.test(record[2], function()
        local f, params = np.io.load_onnx(FOLDER .. record[2])
        local inputs, list, outputs = case(record)
        local by_name, by_place = named(f, f(params, inputs)), named(f, f(params, unpack(list)))
        local jitted = not EAGER[record[2]] and named(f, np.jit(f)(params, unpack(list)))
        for name, want in pairs(outputs) do
            close(by_name[name], want, name, ROOM[record[2]])
            check.ok(np.array_equal(by_place[name], by_name[name]))
            check.ok(not jitted or np.array_equal(jitted[name], by_name[name]))
        end
    end)
end

-- ---- A function as any ----------------------------------------------------------------------------------------------

local key = np.random.key(1)
local pictures = np.random.normal(key, { 4, 3, 12, 12 })

check.test("jitted once, weights not copied", function()
    local f, params = load "images"
    f(params, pictures)
    local before = np.debug.counters()
    for _ = 1, 20 do f(params, pictures):wait() end
    local after = np.debug.counters()
    check.equal(after.plans - before.plans, 0)
    check.ok(np.explain(f(params, pictures)) ~= nil)
end)

check.test("derivatives are those of differences", function()
    local f, params = load "images"
    for name, x in pairs(params) do params[name] = x:astype "f64" end
    local x = pictures:astype "f64"
    local function loss(p) return np.sum(np.sin(f(p, x))) end
    local slopes, room = np.grad(loss)(params), 1e-6
    for name, w in pairs(params) do
        local way = np.random.normal(key, w.shape):astype "f64"
        local function moved(step)
            local other = {}
            for k, v in pairs(params) do other[k] = v end
            other[name] = w + way * step
            return loss(other)
        end
        local want = (moved(room) - moved(-room)) / (2 * room)
        check.close(np.sum(slopes[name] * way):item(), want:item(), 1e-5, name)
    end
end)

check.test("batched, recorded for every size, saved", function()
    local f, params = load "images"
    local want = f(params, pictures)
    local one = np.vmap(function(x) return f(params, np.expand_dims(x, 0))[0] end)
    close(one(pictures), want, "vmap")
    local x, y = pictures[{ { 0, 2 } }], want[{ { 0, 2 } }]
    local program = np.trace(f, { sizes = { {}, { "batch", 3, 12, 12 } } })(params, x)
    close(program(params, pictures), want, "sizes")
    local path = os.tmpname()
    np.trace(f)(params, x):save(path)
    close(np.load_program(path)(params, x), y, "program")
    os.remove(path)
end)

check.test("texts of any batch and length from one program", function()
    local f, params = load "texts"
    local program = np.trace(f, { sizes = { {}, { "b", "n" }, { "b", "n" } } })
    local function inputs(b, n) return np.ones({ b, n }, { dtype = "i64" }), np.ones({ b, n }, { dtype = "i64" }) end
    program = program(params, inputs(2, 7))
    for _, shape in ipairs { { 2, 7 }, { 3, 5 }, { 1, 12 } } do
        close(program(params, inputs(unpack(shape))), f(params, inputs(unpack(shape))), "sizes")
    end
end)

check.test("fine-tuning", function()
    local f, params = load "images"
    local labels = np.array({ 0, 3, 1, 4 }, { dtype = "i32" })
    local function loss(p) return np.nn.cross_entropy(f(p, pictures), labels) end
    local rule = np.optim.adam { lr = 0.02 }
    local state, first = rule:init(params), loss(params):item()
    local step = np.jit(function(p, s) return rule:update(np.grad(loss)(p), s, p) end)
    for _ = 1, 60 do params, state = step(params, state) end
    check.ok(loss(params):item() < first / 4, ("%g of %g"):format(loss(params):item(), first))
end)

check.test("forward mode through loops and branches", function()
    local f, params = load "control"
    local y, dy = np.jvp(function(x) return f(params, x, 1) end, { np.array { 4, 4 } }, { np.ones(2) })
    check.equal({ y:totable(), dy:totable() }, { { 1.5, 1.5 }, { 0.125, 0.125 } })
end)

check.test("constants of a model can be passed as weights", function()
    local f, params = load "control"
    check.equal({ next(params) }, { "one", params.one })
    params.half = np.array(0.25)
    check.equal(f(params, np.array { 8 }, 1):totable(), { 1.5 })
    local slope = np.jvp(function(w) return f({ one = params.one, half = w }, np.array { 8 }, 1) end,
                         { np.array(0.25) }, { np.array(1) })
    check.equal(slope:totable(), { 1.5 })
end)

-- ---- Saving -------------------------------------------------------------------------------------------------------

--- Functions whose programs can be saved, with arguments.
local rows, matrix = np.random.normal(key, { 3, 4 }), np.random.normal(key, { 4, 5 })
local saved = {
    { "dense", function(a, b) return np.softmax(np.nn.relu(a:matmul(b) + 0.1)) end, rows, matrix },
    { "elements", function(a)
        return np.where(a:gt(0), a, 0) * np.mean(a) + np.maximum(a, 0.5) - np.exp(-a) / 3 + np.sqrt(np.abs(a))
    end, rows },
    { "views", function(a)
        return np.concatenate { a, np.pad(a, 1)[{ { 0, 2 }, { 0, 4 } }], np.flip(a), a[{ {}, { 3, nil, -1 } }] }
            :transpose()
    end, rows },
    { "images", function(a, b)
        local o = { layout = "NCHW", strides = { 2, 1 }, padding = { { 1, 0 }, { 2, 1 } } }
        return np.nn.max_pool(np.nn.conv(a, b, o), 2, { layout = "NCHW" })
    end, pictures, np.random.normal(key, { 4, 3, 3, 2 }) },
    { "attention", function(q) return np.nn.dot_product_attention(q, q, q) end, rows:reshape(1, 3, 2, 2) },
    { "norm", function(a) return np.nn.standardize(a) + np.nn.gelu(a) + np.cumsum(a, { axis = 1 }) end, rows },
    { "integers", function(a, i)
        return np.take(a, i, { axis = 1 }) + np.argmax(a, { axis = 1, keepdims = true })
    end, rows, np.array({ 2, 0 }, { dtype = "i32" }) },
}

check.test("programs saved and loaded give the same", function()
    local path = os.tmpname()
    for _, case_ in ipairs(saved) do
        local program = np.trace(case_[2])(unpack(case_, 3))
        np.io.save_onnx(program, path)
        local f, params = np.io.load_onnx(path)
        check.equal(next(params), nil)
        close(f(params, unpack(case_, 3)), program(unpack(case_, 3)), case_[1])
    end
    os.remove(path)
end)

check.test("arguments become weights", function()
    local path = os.tmpname()
    local block = np.nn.Sequential { np.nn.Dense(4, 6), np.nn.relu, np.nn.LayerNorm(), np.nn.Dense(6, 2) }
    local own = block:init(key, rows)
    local program = np.trace(function(params, a) return { y = block(params, a), x = a } end)(own, rows)
    np.io.save_onnx(program, path, { initializers = { params = own } })
    local f, params = np.io.load_onnx(path)
    check.equal({ f.inputs[1].name, f.inputs[1].shape, #f.inputs }, { "a", { 3, 4 }, 1 })
    check.ok(np.array_equal(params["params[1].w"], own[1].w))
    local results = f(params, rows)
    close(results.y, block(own, rows), "y")
    os.remove(path)
end)

check.test("random numbers of a graph are those of a key", function()
    local path = FOLDER .. "drawing.onnx"
    check.raises(function() np.io.load_onnx(path) end,
                 "%(RandomNormalLike, opset 20%): it draws random numbers: give a key, np.io.load_onnx%(path, {key=")
    check.raises(function() np.io.load_onnx(path, { key = 3 }) end, "key.* must be a key")
    local f, params = np.io.load_onnx(path, { key = key })
    local x = np.ones(4000)
    local drawn, again = f(params, x), np.jit(f)(params, x)
    local moments_of = { a = { 1, 2 }, b = { 0, 1 }, c = { 1, 4 / math.sqrt(12) }, d = { 0.5, 1 / math.sqrt(12) },
                         e = { 0.2, 0.4 } }
    for name, moments in pairs(moments_of) do
        check.ok(np.array_equal(drawn[name], again[name]))
        check.close({ np.mean(drawn[name]):item(), np.std(drawn[name]):item() }, moments, 0.15)
    end
    local other = np.io.load_onnx(path, { key = np.random.key(2) })
    check.ok(not np.array_equal(other(params, x).a, drawn.a))
end)

check.test("captured arrays become weights", function()
    local path, w, number = os.tmpname(), np.random.normal(key, { 4, 20 }), np.array(3)
    local program = np.trace(function(a, captured) return a:matmul(w) * number + captured + np.arange(20) end)(rows, 2)
    np.io.save_onnx(program, path)
    local f, params = np.io.load_onnx(path)
    check.equal({ f.inputs[1].name, f.inputs[2].name, f.inputs[2].shape }, { "a", "captured", {} })
    check.ok(np.array_equal(params.captured_2, w))
    close(f(params, rows, 0.5), program(rows, 0.5), "captured")
    os.remove(path)
end)

check.test("numbers for inputs of integers, also of a jitted function", function()
    local path = os.tmpname()
    np.io.save_onnx(np.trace(function(a, n) return a + n end)({ shape = { 4 }, dtype = "i64" },
                                                               { shape = {}, dtype = "i64" }), path)
    local f, params = np.io.load_onnx(path)
    local a = np.arange(4, { dtype = "i64" })
    for _, call in ipairs { f, np.jit(f) } do
        local y = call(params, a, 2)
        check.equal({ y.dtype, y:totable() }, { "i64", { 2, 3, 4, 5 } })
        check.raises(function() call(params, a, np.array(2.5)) end, "the input 'n' must be i64, got f32")
    end
    check.raises(function() np.jit(f)(params, a, 2.5) end, "the input 'n' must be i64, got f32")
    os.remove(path)
end)

check.test("programs that cannot be saved", function()
    local line = ".* %(.*onnx_test.lua:%d+%)$"
    for pattern, f in pairs {
        ["its op 'eigh' has no counterpart in the format: it takes steps" .. line] = function(a)
            return (np.linalg.eigh(a[{ {}, { 0, 3 } }]))
        end,
        ["its op 'lgamma' has no counterpart in the format: the format has no function" .. line] = function(a)
            return np.lgamma(a)
        end,
        ["the line '.*' reads the factors of a matrix" .. line] = function(a) return (select(2, np.linalg.lu(a))) end,
        ["'.*' is complex where the format has no place"] = function(a) return np.fft.rfft(a) end,
        ["its op 'sin' of complex numbers has no counterpart" .. line] = function(a)
            return np.real(np.sin(np.fft.rfft(a)))
        end,
        ["'.*' draws from the normal distribution in f64" .. line] = function(a)
            return a[0] + np.random.normal(key, { 4 }, { dtype = "f64" })
        end,
        ["'.*' draws integers of 64 bits" .. line] = function(a)
            return a[0] + np.random.randint(key, { 4 }, 0, 9, { dtype = "i64" })
        end,
        ["it has an effect, '#1: token = print.*'"] = function(a)
            print(a)
            return a + 1
        end,
    } do
        local program = np.trace(f)(rows)
        check.raises(function() np.io.save_onnx(program, "/nowhere/x.onnx") end, "onnx_test.lua:%d+: np.io.save_onnx: "
                     .. pattern)
    end
    local sized = np.trace(function(a) return a * 2 end, { sizes = { { "n", 4 } } })(rows)
    check.raises(function() np.io.save_onnx(sized, "/nowhere/x.onnx") end, "the program is for every size 'n'")
    check.raises(function() np.io.save_onnx(rows, "/nowhere/x.onnx") end, "argument 1 %(program%) must be a program")
    local program = np.trace(function(a) return a * 2 end)(rows)
    check.raises(function() np.io.save_onnx(program, "/nowhere/x.onnx", { initializers = { b = rows } }) end,
                 "the program has no input 'b'")
    check.raises(function() np.io.save_onnx(program, "/nowhere/x.onnx") end, "cannot write '/nowhere/x.onnx'")
end)

-- ---- Refusals -------------------------------------------------------------------------------------------------------

local HERE = "onnx_test.lua:%d+: the model 'tests/golden/onnx/"

check.test("calls that do not fit", function()
    local f, params = load "texts"
    local ids, mask = np.ones({ 2, 7 }, { dtype = "i64" }), np.ones({ 2, 7 }, { dtype = "i64" })
    for _, refused in ipairs {
        { "it takes 2 inputs %('ids', 'mask'%), got 1", params, ids },
        { "it has no input 'musk'; its inputs: 'ids', 'mask'", params, { ids = ids, musk = mask } },
        { "the input 'mask' is missing", params, { ids = ids } },
        { "the input 'mask' must have the shape %(batch, length%), got %(3,%)", params, ids, np.ones(3) },
        { "the input 'mask' must be i64, got f32", params, ids, np.ones { 2, 7 } },
        { "the input 'ids' must be an array, got the string", params, "x", mask },
        { "argument 1 %(params%) must be the table of weights", ids, mask },
        { "argument 1 %(params%) must have an array for the weight '", {}, ids, mask },
    } do
        check.raises(function() f(unpack(refused, 2)) end, HERE .. "texts.onnx': " .. refused[1])
    end
    local wrong = { surplus = mask }
    for name, x in pairs(params) do wrong[name] = x end
    check.raises(function() f(wrong, ids, mask) end, HERE .. "texts.onnx': argument 1 %(params%) has 'surplus'")
    wrong.surplus, wrong["head.bias"] = nil, np.ones(2)
    check.raises(function() f(wrong, ids, mask) end,
                 HERE .. "texts.onnx': the weight 'head.bias' must have the shape %(3,%), got %(2,%)")
    check.raises(function() f(params, ids, np.ones({ 2, 6 }, { dtype = "i64" })) end, "in node 'node_view_6' %(Reshape")
    check.ok(f(params, np.ones({ 2, 7 }, { dtype = "i32" }), mask), "i32 are i64 too")
end)

check.test("loops and branches whose shapes change", function()
    local nodes = { growing = "node 'grows' %(Loop, opset 20%)", branches = "node 'chooses' %(If, opset 20%)" }
    for name, pattern in pairs(nodes) do
        local f, params = load(name)
        check.raises(function() f(params, np.ones(2)) end, "onnx_test.lua:%d+: .*" .. pattern)
    end
    local f, params = load "collecting"
    check.raises(function() np.jit(f)(params, np.array(3)) end, "not known while the graph is recorded")
end)

check.test("a branch that an input chooses", function()
    local f, params = load "deciding"
    local a = np.arange(4) / 1
    check.equal(f(params, a, np.array(true)):totable(), { 0, 2, 4, 6 })
    check.equal(f(params, a[{ { 0, 3 } }], np.array(false)):totable(), { 0, 1, 2 })
    local chosen = np.jit(f, { static = { 3 } })
    check.equal(chosen(params, a, true):totable(), { 0, 2, 4, 6 })
    check.equal(chosen(params, a[{ { 1, 4 } }], false):totable(), { 1, 2, 3 })
    check.equal(np.jit(f)(params, a[{ { 0, 3 } }], np.array(true)):totable(), { 0, 2, 4 })
    check.raises(function() np.jit(f)(params, a, np.array(true)) end, "np.reshape: .*node 'decides' %(If, opset 20%) "
                 .. "has a condition that is not known .*np.jit%(f, {static=")
end)

local function contents(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read "*a"
    file:close()
    return text
end

local function refused(text, pattern)
    local path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
    check.raises(function() np.io.load_onnx(path) end, "onnx_test.lua:%d+: np.io.load_onnx: cannot read '.*" .. pattern)
    os.remove(path)
end

check.test("files that are no models", function()
    local text = contents(FOLDER .. "control.onnx")
    refused("", "it is empty")
    refused("no model", "")
    refused(text:sub(1, -2), "it is truncated")
    refused((text:gsub("ReduceSum", "ReduceSux")), "%(ReduceSux, opset 20%): np.io.load_onnx does not know this oper")
    refused((text:gsub("keepdims", "keepdimz")), "its attribute 'keepdimz' is not one that is known")
    refused((text:gsub("limit", "limid", 1)), "reads 'limi[td]', which nothing before it writes")
    refused((text:gsub("Greater", "Sigmoid")), "%(Sigmoid, opset 20%): 2 inputs, at most 1 are possible")
    check.raises(function() np.io.load_onnx "/nowhere/x.onnx" end, "onnx_test.lua:%d+: np.io.load_onnx: cannot open")
    check.raises(function() np.io.load_onnx(3) end, "np.io.load_onnx: argument 1 %(path%) must be a file name")
end)

check.test("the page lists the operators", function()
    local list = contents("docs/onnx.md"):match "\n## Operators\n\n(.*)$"
    check.equal((list:gsub("%s+", " ")), table.concat(require "neap.onnx.ops".names(), " ") .. " ")
end)

check.test("external data outside of the model's folder", function()
    local text = contents(FOLDER .. "external.onnx")
    refused((text:gsub("external%.bin", "../../xx.bin", 1)), "")
    refused((text:gsub("external%.bin", "/etc/passwdx")), "has external data in no file beside the model")
    refused((text:gsub("external%.bin", "../passwd.xx")), "has external data outside of the model's folder")
    refused((text:gsub("external%.bin", "nothing.here")), "cannot open")
end)

check.done()
