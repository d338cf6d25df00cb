--- video.lua: pictures in a row as a film: the program ffmpeg reads PNGs from standard input and writes a temporary
-- file (a pipe cannot be rewound for the head of a film, with lengths and places). With one thread and without dates,
-- the same ffmpeg makes the same bytes of the same pictures.
local ffi = require "ffi"
local core = require "neap.core"
local draw = require "neap.plot.draw"
local files = require "neap.files"

local C = core.C
local video = {}

-- Players want even sizes with yuv420p: odd sizes get a further row or column of white.
local FILTER = "pad=ceil(iw/2)*2:ceil(ih/2)*2:0:0:white,format=yuv420p"
local WORDS = {
    mp4 = { "-c:v", "libx264", "-preset", "medium", "-crf", "18", "-movflags", "faststart", "-f", "mp4" },
    webm = { "-c:v", "libvpx-vp9", "-crf", "24", "-b:v", "0", "-f", "webm" },
}
local ABSENT = "a film is made by the program 'ffmpeg', which is not here: install the package ffmpeg, or save as .gif "
    .. "or .html"

--- Runs ffmpeg; false: there is no ffmpeg.
local function run(name, words, input)
    local output, complaints, status = draw.run(name, words, input)
    if not output and complaints == C.NEAP_E_LIBRARY then return false end
    if not output then core.raise_status(complaints, name) end
    if status ~= 0 then
        core.raise(name, "ffmpeg failed: %s", complaints:match "[^\n]+" or "it ended with status " .. tostring(status))
    end
    return true
end

--- The bytes of a film; nil: there is no ffmpeg. format: "mp4" or "webm"; pngs: a list; fps: pictures a second.
function video.bytes(name, format, pngs, fps)
    local words = { "ffmpeg", "-y", "-hide_banner", "-loglevel", "error", "-f", "image2pipe", "-c:v", "png",
                    "-framerate", ("%.10g"):format(fps), "-i", "pipe:0", "-vf", FILTER, "-threads", "1", "-fflags",
                    "+bitexact", "-flags:v", "+bitexact" }
    for _, word in ipairs(WORDS[format]) do words[#words + 1] = word end
    local path, film, problem = os.tmpname(), nil, nil
    words[#words + 1] = path
    local ok, there = pcall(run, name, words, table.concat(pngs))
    if ok and there then film, problem = files.read(path) end
    os.remove(path)
    if not ok then error(there, 0) end
    if problem then core.raise(name, "%s", problem) end
    return film and ffi.string(film.data, film.size) or nil
end

--- The same, but raises without ffmpeg.
function video.needed(name, format, pngs, fps)
    return video.bytes(name, format, pngs, fps) or core.raise(name, "%s", ABSENT)
end

jit.off(video.bytes)
jit.off(run)

return video
