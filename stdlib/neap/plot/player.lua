--- player.lua: pictures in a row as HTML: a player with PNGs as texts of base64, a button, a slider, keys. Nothing is
-- fetched. Without scripts the first picture is shown.
local terminal = require "neap.plot.terminal"

local player = {}

-- %s: the number of the player, the first picture, the count of pictures. Tab leads to the player; then keys work.
local BODY = [[
<div class="neap-player" data-neap-player="%s" tabindex="0" style="display:inline-block;max-width:100%%">
<img alt="animation" src="data:image/png;base64,%s" style="display:block;max-width:100%%;image-rendering:%s">
<div style="display:flex;align-items:center;gap:0.5em;font:14px sans-serif">
<button type="button" aria-label="play or pause" style="width:3em">&#9654;</button>
<input type="range" aria-label="picture" min="0" max="%d" value="0" style="flex:1">
<output style="min-width:5em;text-align:right">%s</output>
</div>
</div>
]]

-- Space plays and pauses, arrows step, Home and End go to the ends.
local SCRIPT = [[
<script>
(function () {
  var box = document.querySelector('[data-neap-player="@NUMBER@"]:not([data-ready])');
  if (!box) return;
  box.setAttribute("data-ready", "");
  var pictures = [@PICTURES@], wait = 1000 / @FPS@, loop = @LOOP@;
  var img = box.querySelector("img"), button = box.querySelector("button");
  var slider = box.querySelector("input"), told = box.querySelector("output");
  var last = pictures.length - 1, at = 0, timer = null;
  function show(k) {
    at = Math.max(0, Math.min(last, k));
    img.src = "data:image/png;base64," + pictures[at];
    slider.value = at;
    told.textContent = (at + 1) + " / " + pictures.length;
  }
  function pause() {
    clearInterval(timer);
    timer = null;
    button.innerHTML = "&#9654;";
  }
  function step() {
    if (at < last) show(at + 1);
    else if (loop) show(0);
    else pause();
  }
  function play() {
    if (at === last) show(0);
    timer = setInterval(step, wait);
    button.innerHTML = "&#9208;";
  }
  function turn() { if (timer === null) play(); else pause(); }
  button.onclick = turn;
  slider.oninput = function () { pause(); show(+slider.value); };
  box.onkeydown = function (event) {
    var key = event.key;
    if (key === " ") { if (event.target === button) return; turn(); }
    else if (key === "ArrowRight" || key === "ArrowUp") { pause(); show(at + 1); }
    else if (key === "ArrowLeft" || key === "ArrowDown") { pause(); show(at - 1); }
    else if (key === "Home") { pause(); show(0); }
    else if (key === "End") { pause(); show(last); }
    else return;
    event.preventDefault();
  };
  play();
})();
</script>
]]

local PAGE = [[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
</head>
<body style="text-align:center">
%s</body>
</html>
]]

--- A number that tells players of one page apart; players of the same pictures may share a number.
local function number_of(pngs)
    local sum = 0
    for _, png in ipairs(pngs) do
        sum = (sum * 31 + #png) % 2 ^ 32
        for at = 1, #png, 997 do sum = (sum * 31 + png:byte(at)) % 2 ^ 32 end
    end
    return ("%08x"):format(sum)
end

--- A player as a part of a page. pngs: a list; fps: pictures a second; loop: begin again at the end; sharp: enlarge
-- without blur.
function player.part(pngs, fps, loop, sharp)
    local texts = {}
    for k, png in ipairs(pngs) do texts[k] = terminal.base64(png) end
    local number = number_of(pngs)
    local values = { NUMBER = number, PICTURES = '"' .. table.concat(texts, '",\n"') .. '"',
                     FPS = ("%.10g"):format(fps), LOOP = tostring(loop) }
    local body = BODY:format(number, texts[1], sharp and "pixelated" or "auto", #pngs - 1, "1 / " .. #pngs)
    return body .. SCRIPT:gsub("@(%u+)@", values)
end

--- A page of a player.
function player.page(title, pngs, fps, loop, sharp)
    return PAGE:format(title, player.part(pngs, fps, loop, sharp))
end

--- A film as a part of a page.
function player.film(mp4, loop)
    return ('<video controls autoplay muted%s style="max-width:100%%" src="data:video/mp4;base64,%s"></video>\n')
        :format(loop and " loop" or "", terminal.base64(mp4))
end

return player
