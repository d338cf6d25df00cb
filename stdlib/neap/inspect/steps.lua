--- steps.lua: np.debug.steps: a program line by line, with the value of each line, and its loops and branches turn by
-- turn.
--
--     the core's list of steps ──▶ the program replayed once ──▶ a value for each line
--                                    └ control flow: its programs replayed turn by turn, without effects
--
-- The first replay is a run like any other: its prints and callbacks happen once, in their order, those in bodies too.
-- What is shown of bodies comes from further replays, in which no effect happens.
local ffi = require "ffi"
local core = require "neap.core"
local listing = require "neap.tracing.lines"
local picture = require "neap.files.picture"
local programs = require "neap.programs.program"
local staging = require "neap.tracing.staging"

local np, C, ctx = core.np, core.C, core.ctx
local raise, dtypes = core.raise, core.dtypes

local NAME = "debug.steps"
local FIRST = 6 -- elements of a value that are shown
local TURNS, MOST_LINES = 8, 2000 -- of a loop that are shown, without the option; lines in all, bodies too

local Steps = {}
Steps.__index = Steps

-- ---- The core's part ------------------------------------------------------------------------------------------------

--- The arrays of all steps of a program on these inputs. silent: without its effects.
local function replay(program, inputs, silent, count)
    local n, out = #inputs, ffi.new("int32_t[?]", count + 1)
    local ids = staging.ids_of(inputs, n)
    return core.call_ids(NAME, out, count, function()
        return C.neap_step_values(ctx, program, silent and 1 or 0, n, ids, count, out)
    end)
end

local program_box, free_program = ffi.new("neap_program *[1]"), core.finalizer(C.neap_program_free)

--- The programs that step `number` runs, as its line says.
local function programs_of(program, number, line)
    local list = {}
    for k = 1, line.inputs and #line.inputs or 0 do
        core.call(NAME, function() return C.neap_step_program(program, number - 1, k - 1, program_box) end)
        list[k] = ffi.gc(program_box[0], free_program)
    end
    return list
end

local info_box, name_box = ffi.new("neap_info"), ffi.new("const char *[1]")

--- An array as input k of a program takes it: numbers that are operands of control flow have a dtype in its bodies.
local function fitted(program, k, x)
    core.call(NAME, function() return C.neap_program_port(program, 0, k - 1, info_box, name_box) end)
    if info_box.weak ~= 0 then return x end
    local known = core.info(x)
    if known.weak == 0 and known.dtype == info_box.dtype then return x end
    return np.astype(x, dtypes[info_box.dtype].name)
end

-- ---- Values ---------------------------------------------------------------------------------------------------------

--- The elements of a value in one line, the first ones of many.
local function first_of(x)
    local flat, many = x, x.size > FIRST
    if many then flat = np.take(np.reshape(x, { x.size }), np.arange(FIRST)) end
    local text = tostring(flat):gsub("%s+", " "):gsub("%[ ", "["):gsub(" %]", "]")
    return many and text:gsub("%]$", " …]") or text
end

local function count_of(mask)
    return mask:sum():item()
end

--- What is known of a value: { shape, dtype, text, nans, infs }, with `problem` in place of the last three where it has
-- failed.
local function facts_of(x)
    local facts = { value = x, shape = x.shape, dtype = x.dtype }
    local ok, problem = pcall(function()
        facts.text = first_of(x)
        local real = x.dtype:find "^[fbc]%d" ~= nil -- bf16 too
        facts.nans, facts.infs = real and count_of(np.isnan(x)) or 0, real and count_of(np.isinf(x)) or 0
    end)
    core.check_interrupt()
    if not ok then facts.text, facts.problem = nil, tostring(problem):match "^[^\n]*" end
    return facts
end

-- ---- Bodies ---------------------------------------------------------------------------------------------------------

local steps_of

--- The arguments of a body: those of `reads` that its inputs are; `now`: the carries of a loop, and slices of the xs,
-- by place.
local function arguments_of(program, places, reads, now)
    local arguments = {}
    for k, place in ipairs(places) do
        arguments[k] = fitted(program, k, now[place] or reads[place + 1])
    end
    return arguments
end

--- Runs the k-th program of a step; returns its steps.
local function run_body(how, step, k, name, now)
    local program = step.programs[k]
    local arguments = arguments_of(program, step.line.inputs[k], step.reads, now)
    local steps = steps_of(program, arguments, { silent = true, turns = how.turns, left = how.left })
    steps.name = name
    step.bodies[#step.bodies + 1] = steps
    return steps
end

--- The carries behind a turn, by place.
local function carries_of(steps, operands)
    local carries, results = {}, steps[#steps].values
    for k = 1, operands do carries[k - 1] = results[k].value end
    return carries
end

local bodies = {}

function bodies.call(how, step)
    run_body(how, step, 1, "the program that it calls", {})
end

function bodies.branch(how, step)
    local last = #step.line.inputs - 1
    local index = math.max(0, math.min(last, step.reads[1]:item()))
    run_body(how, step, index + 1, ("branch %d of 0 to %d"):format(index, last), {})
end

function bodies.scan(how, step)
    local line, carries = step.line, {}
    for turn = 1, math.min(line.length, how.turns) do
        local now, at = {}, line.reverse ~= 0 and line.length - turn or turn - 1
        for k = 0, line.operands - 1 do now[k] = carries[k] end
        for k = line.operands, line.operands + line.xs - 1 do
            now[k] = np.take(step.reads[k + 1], at, { axis = 0 })
        end
        local steps = run_body(how, step, 1, ("turn %d of %d"):format(turn, line.length), now)
        carries = carries_of(steps, line.operands)
        if how.left.lines <= 0 then break end
    end
    local left = line.length - #step.bodies
    if left > 0 then step.note = ("… %d more turn%s"):format(left, left > 1 and "s" or "") end
end

bodies["while"] = function(how, step)
    local carries = {}
    for turn = 1, how.turns + 1 do
        local test = run_body(how, step, 1, ("turn %d: the condition"):format(turn), carries)
        if not test[#test].values[1].value:item() then return end
        if turn > how.turns or how.left.lines <= 0 then break end
        local steps = run_body(how, step, 2, ("turn %d"):format(turn), carries)
        carries = carries_of(steps, step.line.operands)
    end
    step.note = "… more turns"
end

--- Runs the bodies of a step, and notes why not all of them.
local function run_bodies(how, step)
    if step.line.why ~= "" then
        step.note = "not shown turn by turn: " .. step.line.why
    elseif how.left.lines <= 0 then
        step.note = ("not shown: there are %d lines already"):format(MOST_LINES)
    else
        local ok, problem = pcall(bodies[step.kind], how, step)
        core.check_interrupt()
        if not ok then step.note = "not shown further: " .. tostring(problem):match "^[^\n]*" end
    end
end

-- ---- Programs -------------------------------------------------------------------------------------------------------

--- The steps of a core's program on arrays, before anything is read. What a replay computes of constants that the
-- program has captured changes its lines, so all that lines tell is asked for first.
local function recorded(program, inputs, silent)
    local lines, count = listing.of(NAME, program)
    local steps, at = setmetatable({}, Steps), 0
    for number, line in ipairs(lines) do
        steps[number] = { text = line.text, kind = line.kind, site = line.site ~= "" and line.site or nil, values = {},
                          bodies = {}, line = line, reads = {}, programs = programs_of(program, number, line) }
    end
    local arrays = replay(program, inputs, silent, count)
    for _, step in ipairs(steps) do
        for k = 1, step.line.values do step.values[k] = arrays[at + k] end
        for k = 1, step.line.reads do step.reads[k] = arrays[at + step.line.values + k] end
        at = at + step.line.values + step.line.reads
    end
    return steps
end

--- The steps of a core's program on arrays. how: { silent: without effects, turns: of loops, left = { lines } }.
function steps_of(program, inputs, how)
    local steps = recorded(program, inputs, how.silent)
    how.left.lines = how.left.lines - #steps
    for _, step in ipairs(steps) do
        for k, value in ipairs(step.values) do step.values[k] = facts_of(value) end
        if bodies[step.kind] then run_bodies(how, step) end
        step.line, step.reads, step.programs = nil, nil, nil
    end
    return steps
end

-- ---- As text --------------------------------------------------------------------------------------------------------

--- "[1. 2. 3.]  1 nan", the failure of a value, or several of these.
local function values_text(step)
    local parts = {}
    if step.kind == "return" then return "" end
    for k, facts in ipairs(step.values) do
        local text = facts.problem and "failed: " .. facts.problem or facts.text
        if (facts.nans or 0) > 0 then text = ("%s  %d nan"):format(text, facts.nans) end
        if (facts.infs or 0) > 0 then text = ("%s  %d inf"):format(text, facts.infs) end
        parts[k] = text
    end
    return table.concat(parts, "; ")
end

--- Rows { depth, text, values, site, step }, in the order in which they run; of a heading only the first two.
local function append_rows(rows, steps, depth)
    for _, step in ipairs(steps) do
        rows[#rows + 1] = { depth = depth, text = step.text, values = values_text(step), site = step.site or "",
                            step = step }
        for _, body in ipairs(step.bodies) do
            rows[#rows + 1] = { depth = depth + 1, text = body.name .. ":" }
            append_rows(rows, body, depth + 2)
        end
        if step.note then rows[#rows + 1] = { depth = depth + 1, text = step.note } end
    end
    return rows
end

--- How many characters a text has.
local function width_of(text)
    return select(2, text:gsub("[^\128-\191]", ""))
end

local function padded(text, width)
    return text .. (" "):rep(width - width_of(text))
end

local MOST_WIDTH = { 56, 52 } -- columns behind which a longer text pushes what follows

function Steps:__tostring()
    local rows, widths, lines = append_rows({}, self, 0), { 0, 0 }, {}
    for _, row in ipairs(rows) do
        row.text = ("  "):rep(row.depth) .. row.text
        if row.step then
            widths[1] = math.min(MOST_WIDTH[1], math.max(widths[1], width_of(row.text)))
            widths[2] = math.min(MOST_WIDTH[2], math.max(widths[2], width_of(row.values)))
        end
    end
    for k, row in ipairs(rows) do
        local line = row.text
        if row.step then
            line = padded(line, widths[1]) .. "  " .. padded(row.values, widths[2]) .. "  " .. row.site
        end
        lines[k] = line:gsub("%s+$", "")
    end
    return table.concat(lines, "\n")
end

-- ---- As a page ------------------------------------------------------------------------------------------------------

-- Without scripts the table stands there whole. The buttons, and the arrows while the box has the focus, move a mark
-- over the rows with a value; rows behind the mark are faint.
local PAGE = [[
<div class="neap-steps" data-neap-steps="@NUMBER@" tabindex="0" style="overflow-x:auto">
<div style="display:flex;align-items:center;gap:0.5em;font:14px sans-serif">
<button type="button" aria-label="first step">|&#9664;</button>
<button type="button" aria-label="step back">&#9664;</button>
<button type="button" aria-label="next step">&#9654;</button>
<button type="button" aria-label="last step">&#9654;|</button>
<input type="range" aria-label="step" min="0" max="@LAST@" value="@LAST@" style="flex:1;max-width:24em">
<output>@COUNT@ steps</output>
</div>
<table><thead><tr><th style="text-align:left">step</th><th style="text-align:left">first values</th><th>nan</th>
<th>inf</th><th style="text-align:left">script</th></tr></thead><tbody>
@ROWS@</tbody></table>
</div>
<script>
(function () {
  var box = document.querySelector('[data-neap-steps="@NUMBER@"]:not([data-ready])');
  if (!box) return;
  box.setAttribute("data-ready", "");
  var rows = Array.prototype.slice.call(box.querySelectorAll("tbody tr"));
  var stops = rows.filter(function (row) { return row.hasAttribute("data-stop"); });
  var buttons = box.querySelectorAll("button"), slider = box.querySelector("input");
  var told = box.querySelector("output"), last = stops.length - 1, at = last;
  function show(k) {
    at = Math.max(0, Math.min(last, k));
    var place = rows.indexOf(stops[at]);
    rows.forEach(function (row, j) {
      row.style.opacity = j > place ? 0.3 : 1;
      row.style.outline = j === place ? "2px solid #f2a541" : "";
    });
    slider.value = at;
    told.textContent = (at + 1) + " / " + (last + 1);
  }
  buttons[0].onclick = function () { show(0); };
  buttons[1].onclick = function () { show(at - 1); };
  buttons[2].onclick = function () { show(at + 1); };
  buttons[3].onclick = function () { show(last); };
  slider.oninput = function () { show(+slider.value); };
  box.onkeydown = function (event) {
    var key = event.key;
    if (key === "ArrowRight" || key === "ArrowDown") show(at + 1);
    else if (key === "ArrowLeft" || key === "ArrowUp") show(at - 1);
    else if (key === "Home") show(0);
    else if (key === "End") show(last);
    else return;
    event.preventDefault();
  };
})();
</script>
]]

local function cell(text, style, title)
    return ('<td style="%s"%s>%s</td>'):format(style or "text-align:left", title and ' title="' .. title .. '"' or "",
                                               text)
end

--- The counts of the values of a step, together; "" where nothing is counted.
local function counted(step, what)
    local sum = 0
    for _, facts in ipairs(step.values) do sum = sum + (facts[what] or 0) end
    return sum > 0 and ("<b>%d</b>"):format(sum) or ""
end

local function texts_of(step)
    local parts = {}
    for k, facts in ipairs(step.kind == "return" and {} or step.values) do
        parts[k] = facts.problem and "failed: " .. facts.problem or facts.text
    end
    return picture.escaped(table.concat(parts, "; "))
end

local function html_row(row)
    local indent = ("text-align:left;padding-left:%.1fem"):format(0.5 + 1.5 * row.depth)
    local text = picture.escaped(row.text)
    if not row.step then return '<tr><td colspan="5" style="' .. indent .. ';color:gray">' .. text .. "</td></tr>\n" end
    local site = row.site ~= "" and picture.escaped(picture.told(row.site)) or ""
    return "<tr data-stop>" .. cell("<code>" .. text .. "</code>", indent) .. cell(texts_of(row.step))
        .. cell(counted(row.step, "nans"), "text-align:right") .. cell(counted(row.step, "infs"), "text-align:right")
        .. cell(picture.escaped(row.site), nil, site) .. "</tr>\n"
end

local shown = 0 -- tables so far: a number of its own for each

--- In a notebook: a table that is stepped through.
function Steps:__display()
    local rows, parts, count = append_rows({}, self, 0), {}, 0
    for k, row in ipairs(rows) do
        parts[k] = html_row(row)
        count = count + (row.step and 1 or 0)
    end
    shown = shown + 1
    local values = { NUMBER = ("%d-%d-%d"):format(shown, count, #parts), LAST = tostring(count - 1),
                     COUNT = tostring(count), ROWS = table.concat(parts) }
    return { ["text/html"] = PAGE:gsub("@(%u+)@", values), ["text/plain"] = tostring(self) }
end

-- ---- np.debug.steps -------------------------------------------------------------------------------------------------

local steps = {}

--- What np.debug.steps does.
function steps.stepper(f, given)
    local turns = core.options(NAME, given, { turns = true }).turns
    turns = turns == nil and TURNS or core.integer(NAME, nil, "turns", turns)
    if turns < 0 then raise(NAME, "option 'turns' must be at least 0, got %d", turns) end
    local is_program = getmetatable(f) == programs.Program
    if not is_program then staging.check_function(NAME, f) end
    local function step(...)
        if staging.tracing() then
            raise(NAME, "the function is being traced (by np.jit, np.vmap, np.scan or the like): its arrays have no "
                  .. "values yet")
        end
        local program = is_program and f or np.trace(f)(...)
        local entry, leaves = programs.entry_for(program, ...)
        local inputs = {}
        for k, leaf in ipairs(leaves) do inputs[k] = type(leaf) == "number" and core.number(leaf) or leaf end
        return steps_of(entry.program, inputs, { turns = turns, left = { lines = MOST_LINES } })
    end
    jit.off(step)
    return step
end

for _, f in ipairs { replay, programs_of, fitted, first_of, count_of, facts_of, arguments_of, run_body,
                     carries_of, bodies.call, bodies.branch, bodies.scan, bodies["while"], run_bodies, recorded,
                     steps_of, append_rows, Steps.__tostring, Steps.__display, steps.stepper } do
    jit.off(f, true)
end

return steps
