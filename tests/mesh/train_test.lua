--- train_test.lua (under tsan with --long): the scripts that train on a mesh: their losses depend on the mesh alone,
-- not on which processes hold the devices; between meshes they agree as far as f32 goes; checkpoints go from one mesh
-- to another.
local check = require "tests.lib.check"
local mpirun = require "tests.lib.mpirun"
local process = require "tests.lib.process"

local release = (os.getenv "NEAP_TEST_BUILD" or "release") == "release"
local alone = not release and "it takes too long on this build" or mpirun.missing()
local STEPS, CLOSE = release and 30 or 4, 1e-6
local NETWORK = { "scripts/train_mesh.lua", "--data", "moons", "--hidden", "32", "--log", "1", "--steps",
                  tostring(STEPS) }
local BLOCK = { "scripts/transformer_mesh.lua", "--check", "--steps", release and "4" or "1" }

local function words(devices, script, ...)
    local list = { "--devices", tostring(devices) }
    for _, word in ipairs(script) do list[#list + 1] = word end
    for _, word in ipairs { ... } do list[#list + 1] = word end
    return list
end

--- The losses in what a script printed, as texts.
local function losses_of(status, out, err)
    check.ok(status == 0, ("status %s: %s%s"):format(tostring(status), out, err))
    local list = {}
    for text in out:gmatch "loss%s+([^\n]*)" do list[#list + 1] = text:match "([%d.]+)$" or text end
    return list
end

local function train(devices, script, ...)
    return losses_of(process.run_neap(words(devices, script, ...)))
end

local function close(a, b, what)
    check.equal(#a, #b, what)
    for k = 1, #a do
        local x, y = tonumber(a[k]), tonumber(b[k])
        check.ok(x and y and math.abs(x - y) <= CLOSE * math.abs(x), ("%s: loss %d is %s, not %s"):format(what, k, b[k],
                                                                                                   a[k]))
    end
end

local network, block = train(1, NETWORK), train(8, BLOCK, "--mesh", "2x4")

check.test("the network on several meshes", function()
    check.equal(#network, STEPS)
    check.ok(tonumber(network[#network]) < tonumber(network[1]), "it does not learn")
    for _, mesh in ipairs(release and { "8x1", "4x2", "1x8" } or { "2x4" }) do
        close(network, train(8, NETWORK, "--mesh", mesh), "mesh " .. mesh)
    end
end)

check.test("the transformer's block on several meshes", function()
    close({ block[1] }, { block[2] }, "on one device, and on the mesh")
    for _, mesh in ipairs(release and { "8x1", "4x2", "1x8" } or { "4x2" }) do
        close(block, train(8, BLOCK, "--mesh", mesh), "mesh " .. mesh)
    end
end)

check.test("training goes on from a checkpoint on another mesh", function()
    local folder = os.tmpname()
    os.remove(folder)
    train(8, NETWORK, "--mesh", "4x2", "--save", folder)
    local here = train(8, NETWORK, "--mesh", "4x2", "--load", folder)
    check.ok(tonumber(here[1]) < tonumber(network[1]), "it started anew")
    close(here, train(2, NETWORK, "--mesh", "1x2", "--load", folder), "on another mesh")
    if not alone then
        close(here, losses_of(mpirun.run(2, words(2, NETWORK, "--mesh", "2x2", "--load", folder))), "in two processes")
    end
    os.execute("rm -rf " .. folder)
end)

check.test("the command line", function()
    for _, bad in ipairs { { "--mesh", "3x2" }, { "--mesh", "x" }, { "--batch", "7" }, { "--steps", "-1" },
                           { "--hidden", "5", "--mesh", "1x2" }, { "--nonsense", "1" } } do
        local status, out, err = process.run_neap(words(2, NETWORK, unpack(bad)))
        check.ok(status == 1 or status == 2, out)
        check.ok(err:find("train_mesh: ", 1, true) and not err:find "traceback", err)
    end
    local status, _, err = process.run_neap(words(2, NETWORK, "--data", "/nowhere"))
    check.equal(status, 1)
    check.ok(err:find("there is no file '/nowhere/train-images", 1, true), err)
end)

--- Bit for bit: nine digits tell every f32 from the next.
if alone then
    check.skip("the same in several processes", alone)
else
    check.test("the same in several processes", function()
        local here = train(8, NETWORK, "--mesh", "4x2")
        for ranks, devices in pairs { [4] = 2, [2] = 4 } do
            local there = losses_of(mpirun.run(ranks, words(devices, NETWORK, "--mesh", "4x2")))
            check.equal(there, here, ("%d processes"):format(ranks))
            check.equal(losses_of(mpirun.run(ranks, words(devices, BLOCK, "--mesh", "2x4"))), block)
        end
    end)
end

process.cleanup()
check.done()
