--- animate_test.lua (release build only): np.plot.animate: GIFs read back by a reader of their own and by Pillow, where
-- that is there; films, by ffmpeg where that is there; the player's page and its script; axes that are alike;
-- terminals; what is refused.
local np = require "neap"
local check = require "tests.lib.check"
local gif = require "tests.lib.gif"
local process = require "tests.lib.process"
local prompts = require "tests.lib.prompts"

local plot = np.plot
local temporary = os.tmpname()

local function has(program)
    return os.execute(("command -v %s >/dev/null"):format(program)) == 0
end

local function needs(program)
    return function(name, f)
        if not has(program) then return check.skip(name, program .. " is not here") end
        check.test(name, f)
    end
end
local drawn = needs "gnuplot"

local function bytes_of(path)
    local file = assert(io.open(path, "rb"))
    local bytes = file:read "*a"
    file:close()
    return bytes
end

--- The bytes of an animation in a format.
local function saved(animation, ending)
    local path = temporary .. "." .. ending
    check.ok(animation:save(path) == animation)
    local bytes = bytes_of(path)
    os.remove(path)
    return bytes
end

--- Squares of one colour on another that move; so many colours as asked for.
local function squares(count, colors)
    local options = { fps = 8, progress = false }
    return plot.animate(function(k)
        local rows = {}
        for y = 0, 11 do
            rows[y + 1] = {}
            for x = 0, 19 do
                local inside = x >= k and x < k + 5 and y >= 3 and y < 8
                rows[y + 1][x + 1] = inside and { 255, 0, 0 } or { (x * 20 + y) % colors, 200, 255 }
            end
        end
        return np.array(rows, { dtype = "u8" })
    end, count, options)
end

-- ---- GIF ------------------------------------------------------------------------------------------------------------

check.test("a GIF has the pixels of the pictures, exactly where they have few colours", function()
    local animation = squares(4, 100)
    local film = gif.read(saved(animation, "gif"))
    check.equal({ film.width, film.height, #film.pictures, film.loops }, { 20, 12, 4, 0 })
    check.equal(film.delays, { 13, 12, 13, 12 })
    for k = 0, 3 do
        local rows = animation.pictures[k + 1].image:totable()
        for y = 0, 11 do
            for x = 0, 19 do check.equal(film.pictures[k + 1][y * 20 + x], rows[y + 1][x + 1]) end
        end
    end
end)

check.test("pictures that are alike, of one pixel, of one colour, and one alone", function()
    local flat = np.full({ 3, 5 }, 0.5)
    local film = gif.read(saved(plot.animate(function() return flat end, 3, { loop = false }), "gif"))
    check.equal({ #film.pictures, film.loops }, { 3 })
    check.equal(film.pictures[3][14], { 128, 128, 128 })
    film = gif.read(saved(plot.animate(function(k) return np.full({ 1, 1 }, k, { dtype = "u8" }) end, 2), "gif"))
    check.equal({ film.pictures[1][0], film.pictures[2][0] }, { { 0, 0, 0 }, { 1, 1, 1 } })
    film = gif.read(saved(plot.animate(function() return np.array { { true, false } } end, 1), "gif"))
    check.equal({ film.pictures[1][0], film.pictures[1][1] }, { { 255, 255, 255 }, { 0, 0, 0 } })
end)

check.test("noise fills the table of codes and needs more colours than there are", function()
    local options = { dtype = "f32" }
    local function noise(k) return np.random.uniform(np.random.key(k), { 90, 100, 3 }, options) end
    local animation = plot.animate(noise, 2, { progress = false })
    local bytes = saved(animation, "gif")
    check.equal(saved(animation, "gif"), bytes)
    check.equal(saved(plot.animate(noise, 2), "gif"), bytes)
    local film, worst, sum = gif.read(bytes), 0, 0
    for k = 1, 2 do
        local want = animation.pictures[k].image:reshape(9000, 3):totable()
        for at = 0, 8999 do
            local got = film.pictures[k][at]
            for c = 1, 3 do
                local apart = math.abs(got[c] - want[at + 1][c])
                worst, sum = math.max(worst, apart), sum + apart
            end
        end
    end
    check.ok(worst < 64 and sum / 54000 < 14, ("%d, %.2f"):format(worst, sum / 54000))
end)

check.test("alpha is on white; of many colours those of large areas are exact", function()
    local x = np.array({ { { 10, 20, 30, 255 }, { 10, 20, 30, 0 } } }, { dtype = "u8" })
    local film = gif.read(saved(plot.animate(function() return x end, 1), "gif"))
    check.equal({ film.pictures[1][0], film.pictures[1][1] }, { { 10, 20, 30 }, { 255, 255, 255 } })
    local ramp = np.outer(np.linspace(0, 1, 40), np.linspace(0, 1, 40))
    local image = np.stack({ ramp, ramp:transpose(), ramp * ramp }, { axis = 2 })
    image = np.concatenate({ image, np.ones { 40, 40, 3 } * np.array { 1, 1, 0.2 } }, { axis = 1 })
    film = gif.read(saved(plot.animate(function() return image end, 1), "gif"))
    check.equal(film.pictures[1][79], { 255, 255, 51 })
end)

check.test("Pillow reads the same", function()
    local script = [[
import sys
from PIL import Image
film = Image.open(sys.argv[1])
print(film.size, film.n_frames)
for k in range(film.n_frames):
    film.seek(k)
    print(sum((i + 1) * v for i, v in enumerate(film.convert("RGB").tobytes())) % 1000003)]]
    local path = temporary .. ".gif"
    local animation = squares(5, 100)
    animation:save(path)
    local status, out = process.run { "python3", "-c", script, path }
    os.remove(path)
    if status ~= 0 then return end -- no Python, or no Pillow: the reader above has to do
    local want = { "(20, 12) 5" }
    for k = 1, 5 do
        local sum = 0
        for i, value in ipairs(animation.pictures[k].image:reshape(720):totable()) do sum = sum + i * value end
        want[k + 1] = tostring(sum % 1000003)
    end
    check.equal(out, table.concat(want, "\n") .. "\n")
end)

-- ---- Figures --------------------------------------------------------------------------------------------------------

local x = np.linspace(0, 6, 40)
local function wave(k)
    return plot.line(x, np.sin(x + k) * (k + 1)):title("step " .. k)
end

drawn("axes cover in each picture what they cover in any", function()
    local animation = plot.animate(wave, 3, { dpi = 30 })
    check.equal(tostring(animation), 'animation of 3 pictures 192x144, 0.3 s, save with animation:save("name.gif")')
    for k = 1, 3 do
        local svg = animation.pictures[k].figure:svg()
        check.ok(svg:find ">%s*3<" and svg:find ">%s*[-−]+3<" and svg:find("step " .. k - 1, 1, true), svg)
    end
    animation = plot.animate(function(k) return wave(k):ylim(100, 110 + 90 * k) end, 2, { dpi = 30 })
    check.ok(not animation.pictures[1].figure:svg():find ">%s*200<", "limits that were given hold")
    animation = plot.animate(function(k) return plot.imshow(np.full({ 2, 2 }, k), { colorbar = true }) end, { 1, 9 })
    check.ok(animation.pictures[1].figure:svg():find ">%s*9<", "colours are alike too")
    local fig = plot.figure { dpi = 30 }
    animation = plot.animate(function(k) return fig:line({ k, k + 1 }, { 0, k }) end, np.array { 0, 4 })
    check.equal(#animation.pictures[1].figure.axes[1].layers, 1) -- as it was then
    check.equal(#animation.pictures[2].figure.axes[1].layers, 2)
end)

drawn("what was current stays so", function()
    local before = plot.figure():line { 1, 2 }
    plot.animate(wave, 2)
    check.equal(plot.title "still the one" == before, true)
end)

drawn("PNG files, GIF and page of figures; the same bytes twice", function()
    local animation = plot.animate(wave, 11, { dpi = 20, progress = false })
    animation:save(temporary .. ".png")
    check.equal(bytes_of(temporary .. "-03.png"), animation:png(3))
    check.equal(np.io.load_image(temporary .. "-10.png").shape, { 96, 128, 3 })
    local film = gif.read(saved(animation, "gif"))
    check.equal({ film.width, film.height, #film.pictures }, { 128, 96, 11 })
    check.equal(film.pictures[1][0], { 255, 255, 255 })
    local again = plot.animate(wave, 11, { dpi = 20, progress = false })
    check.equal(saved(again, "gif"), saved(animation, "gif"))
    check.equal(saved(again, "html"), saved(animation, "html"))
end)

-- ---- Pages ----------------------------------------------------------------------------------------------------------

-- A page's script, run by node with as much of a browser as it takes.
local BROWSER = [[
const page = require("fs").readFileSync(process.argv[1], "utf8");
const made = {}, part = name => made[name] = made[name] || { name };
const box = { querySelector: part, setAttribute() {} };
let ticks = 0;
global.document = { querySelector: () => box };
global.setInterval = f => { ticks = f; return 1; };
global.clearInterval = () => { ticks = null; };
eval(page.match(/<script>([^]*)<\/script>/)[1]);
const say = () => console.log(made.output.textContent, made.input.value, ticks ? "plays" : "stands");
const key = name => { box.onkeydown({ key: name, target: box, preventDefault() {} }); say(); };
ticks(); say(); ticks(); ticks(); say();
for (const name of [" ", "ArrowRight", "ArrowLeft", "End", "ArrowRight", "Home", "x", " "]) key(name);
made.input.value = 2; made.input.oninput(); say();
made.button.onclick(); say();
]]

check.test("a page has all that it takes inside", function()
    local html = saved(squares(3, 100), "html")
    check.ok(html:find "^<!DOCTYPE html>" and html:find "</html>\n$")
    check.equal(select(2, html:gsub("iVBORw0KGgo", "")), 4) -- the first one is in the page itself too
    local plain = html:gsub('"[%w+/=]+"', '""')
    check.ok(not plain:find "https?:" and not plain:find "src=\"[^d\"]" and not plain:find "<link", plain)
    check.ok(html:find('aria-label="play or pause"', 1, true) and html:find('type="range"', 1, true))
    local shown = debug.getmetatable(squares(3, 100)).__display(squares(3, 100))
    check.ok(html:find(shown["text/html"], 1, true), "a notebook shows the same player")
    check.equal(shown["text/plain"], tostring(squares(3, 100)))
end)

needs "node"("the player plays, steps and stops", function()
    local path = temporary .. ".html"
    squares(3, 100):save(path)
    local status, out, err = process.run { "node", "-e", BROWSER, path }
    os.remove(path)
    check.equal(status, 0, err)
    check.equal(out, table.concat({ "2 / 3 1 plays", "1 / 3 0 plays", "1 / 3 0 stands", "2 / 3 1 stands",
                                    "1 / 3 0 stands",
                                    "3 / 3 2 stands", "3 / 3 2 stands", "1 / 3 0 stands", "1 / 3 0 stands",
                                    "1 / 3 0 plays", "3 / 3 2 stands", "1 / 3 0 plays" }, "\n") .. "\n")
end)

-- ---- Films ----------------------------------------------------------------------------------------------------------

needs "ffmpeg"("films", function()
    local animation = squares(4, 100)
    local mp4, webm = saved(animation, "mp4"), saved(animation, "webm")
    check.equal(mp4:sub(5, 8), "ftyp")
    check.equal(webm:sub(1, 4), "\26\69\223\163")
    check.equal(saved(animation, "mp4"), mp4)
end)

check.test("without ffmpeg an error names the package", function()
    local code = [[np.plot.animate(function() return np.zeros{2, 2} end, 2):save "x.mp4"]]
    local status, _, err = process.run { "/usr/bin/env", "PATH=/nowhere", process.neap, "-e", code }
    check.equal(status, 1)
    check.ok(err:find("np.plot.animate: a film is made by the program 'ffmpeg', which is not here: install the package "
                      .. "ffmpeg", 1, true), err)
end)

-- ---- Where it is shown ----------------------------------------------------------------------------------------------

local SHOW = [[local a = np.plot.animate(function(k) return np.plot.line{0, k} end, 3, {fps=20})
               print "before" a:show() print "behind"]]

local function run(code, graphics)
    local status, out, err = process.run { "/usr/bin/env", "NEAP_GRAPHICS=" .. graphics, process.neap, "-e", code }
    check.equal(status, 0, err)
    return out
end

drawn("a terminal plays it, each picture in the place of the one before", function()
    check.equal(run(SHOW, "none"), "before\nanimation of 3 pictures 640x480, 0.15 s, save with "
                .. 'animation:save("name.gif")\nbehind\n')
    local out = run(SHOW, "blocks")
    check.ok(out:find "^before\n.*┌──.*behind\n$", out)
    check.equal(select(2, out:gsub("\27%[%d+A\r\27%[J", "")), 2)
    out = run(SHOW, "kitty")
    check.equal(select(2, out:gsub("\27_Ga=T,f=100,q=2,i=8001,p=1,m=1;", "")), 3)
    check.equal(select(2, run(SHOW, "sixel"):gsub("\27P[%d;]*q", "")), 3)
    check.ok(run("np.plot.animate(function(k) return np.eye(8) end, 1):show()", "blocks"):find "\226[\150\160-\163]")
end)

drawn("Ctrl-C ends a long one, and not the session", function()
    local terminal = prompts.start({}, { NEAP_GRAPHICS = "blocks" })
    terminal:expect "> "
    terminal:send "np.plot.animate(function(k) return np.eye(8) * k / 600 end, 600, {fps=0.5})\n"
    terminal:expect "██████"
    terminal:send "\3"
    terminal:expect "> "
    check.ok(prompts.command(terminal, "1 + 1"):find "2")
    terminal:send "\4"
    check.equal(terminal:finish(), 0)
end)

-- ---- What is refused ------------------------------------------------------------------------------------------------

check.test("bad arguments", function()
    local function one() return np.zeros { 2, 2 } end
    local function raises(part, ...)
        local arguments = { ... }
        check.raises(function() plot.animate(unpack(arguments)) end, part)
    end
    raises("argument 1 %(f%) must be a function", 3, 2)
    raises("frames", one, 0)
    raises("frames", one, 1.5)
    raises("frames", one, "x")
    raises("1 to 10000 pictures, got 0", one, {})
    raises("one axis", one, np.ones { 2, 2 })
    raises("fps", one, 2, { fps = 0 })
    raises("fps", one, 2, { fps = 60 })
    raises("dpi", one, 2, { dpi = 1 })
    raises("loop", one, 2, { loop = 1 })
    raises("unknown option", one, 2, { speed = 1 })
    raises("a figure or an array of pixels for each picture, got nothing %(nil%) for picture 0", function() end, 2)
    raises("picture 1 has 3x2", function(k) return np.zeros { 2, 2 + k } end, 2)
    raises("shape", function() return np.zeros { 2 } end, 2)
    raises("from 0 to 1, got 0 to 255", function() return np.array { { 0, 255.0 } } end, 2)
    raises("numbers from 0 to 1", function() return np.array { { 0, np.nan } } end, 2)
    raises("u8, bool, or real numbers", function() return np.array({ { 0, 255 } }, { dtype = "i32" }) end, 2)
    check.raises(function() plot.animate(one, 1):save "x.avi" end, "ends in .gif")
    check.raises(function() plot.animate(one, 1):png(1) end, "k")
    check.raises(function() plot.animate(one, 1).save("x.gif") end, "with a colon")
    check.raises(function()
        np.jit(function(y) plot.animate(function() return plot.line(y) end, 2) return y end)(np.ones(3))
    end, "no values yet")
    check.raises(function()
        np.jit(function(y) plot.animate(function() return y end, 2) return y end)(np.ones { 3, 3 })
    end, "no values yet")
end)

os.execute(("rm -f %s-*.png"):format(temporary))
process.cleanup()
check.done()
