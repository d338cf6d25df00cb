"""The debugger's protocol: variables of the session, breakpoints and steps in cells, and what ends a stop."""
import os
import signal
import time

import counted
from kernel import TIMEOUT, start_kernel, WithKernel

FACTOR = 0x5BD1E995


def murmur2(text, seed):
    """The hash by which front ends and kernels name cells, as Austin Appleby defined it for 32 bits."""
    data = text.encode()
    h = seed ^ len(data)
    while len(data) >= 4:
        k = int.from_bytes(data[:4], "little") * FACTOR & 0xFFFFFFFF
        h = (h * FACTOR & 0xFFFFFFFF) ^ ((k ^ k >> 24) * FACTOR & 0xFFFFFFFF)
        data = data[4:]
    if data:
        h = (h ^ int.from_bytes(data, "little")) * FACTOR & 0xFFFFFFFF
    h = (h ^ h >> 13) * FACTOR & 0xFFFFFFFF
    return h ^ h >> 15


class WithDebugger(WithKernel):
    """A kernel, and a front end that debugs."""

    def ask(self, command, **arguments):
        """The reply to a request."""
        session = self.kc.session
        request = session.msg("debug_request", {"type": "request", "seq": 7, "command": command,
                                                "arguments": arguments})
        self.kc.control_channel.send(request)
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            reply = self.kc.get_control_msg(timeout=TIMEOUT)
            if reply["parent_header"].get("msg_id") == request["header"]["msg_id"]:
                self.assertEqual(reply["msg_type"], "debug_reply")
                content = reply["content"]
                self.assertEqual((content["type"], content["request_seq"], content["command"]),
                                 ("response", 7, command))
                return content
        return self.fail("no reply")

    def body(self, command, **arguments):
        """The body of the reply to a request that is granted."""
        reply = self.ask(command, **arguments)
        self.assertTrue(reply["success"], reply)
        return reply["body"]

    def refused(self, command, **arguments):
        reply = self.ask(command, **arguments)
        self.assertFalse(reply["success"], reply)
        return reply["message"]

    def attach(self):
        self.body("initialize")
        self.body("attach")
        self.wait_for_event("initialized")
        self.addCleanup(self.body, "disconnect")

    def wait_for_event(self, name):
        """Waits for an event; returns its body."""
        while True:
            message = self.kc.get_iopub_msg(timeout=TIMEOUT)
            if message["msg_type"] == "debug_event" and message["content"]["event"] == name:
                return message["content"]["body"]

    def listed(self):
        """The variables of the session by name."""
        return {v["name"]: v for v in self.body("inspectVariables")["variables"]}

    def break_at(self, code, *lines):
        """Sets breakpoints in a cell; returns what became of them."""
        path = self.body("dumpCell", code=code)["sourcePath"]
        answer = self.body("setBreakpoints", source={"path": path}, breakpoints=[{"line": n} for n in lines])
        return [(point["verified"], point["line"]) for point in answer["breakpoints"]]

    def stopped_at(self, reason):
        """Waits for a stop; returns the functions on the stack with their lines."""
        self.assertEqual(self.wait_for_event("stopped")["reason"], reason)
        self.frames = self.body("stackTrace", threadId=1)["stackFrames"]
        return [(frame["name"], frame["line"]) for frame in self.frames]

    def inside(self, frame=0):
        """The variables of a function on the stack, by name."""
        scopes = self.body("scopes", frameId=self.frames[frame]["id"])["scopes"]
        self.assertEqual([scope["name"] for scope in scopes], ["Locals", "Globals"])
        found = self.body("variables", variablesReference=scopes[0]["variablesReference"])["variables"]
        return {v["name"]: v["value"] for v in found}

    def go(self, command="continue"):
        self.body(command, threadId=1)


class Variables(WithDebugger):
    """What the variables pane asks for; no debugger is attached."""

    def test_announced(self):
        reply = self.reply_to(self.kc.kernel_info())["content"]
        self.assertIs(reply["debugger"], True)
        self.assertEqual(reply["supported_features"], ["debugger"])
        spec = self.km.kernel_spec
        self.assertIs(spec.metadata["debugger"], True)
        info = self.body("debugInfo")
        self.assertEqual((info["isStarted"], info["hashMethod"], info["breakpoints"], info["stoppedThreads"],
                          info["richRendering"]), (False, "Murmur2", [], [], True))

    def test_names_types_values(self):
        self.run_cell("local count, text, flag = 3, 'two\\nlines', true\n"
                      "x = np.arange(3)\n"
                      "function twice(a, b) return 2 * a end\n"
                      "empty = {}\n"
                      "z, i, u = 1 - 2i, -5LL, 7ULL")
        found = self.listed()
        for name, kind, value in (("count", "number", "3"), ("text", "string", '"two\\nlines"'),
                                  ("flag", "boolean", "true"), ("x", "array", "i32[3] [0 1 2]"),
                                  ("twice", "function", "function(a, b)"), ("empty", "table", "{}"),
                                  ("z", "number", "1-2i"), ("i", "number", "-5"), ("u", "number", "7")):
            self.assertEqual((found[name]["type"], found[name]["value"], found[name]["variablesReference"]),
                             (kind, value, 0), name)
        self.assertNotIn("np", found)
        self.assertNotIn("print", found)

    def test_nothing_is_computed(self):
        self.run_cell("big = np.zeros{2000, 2000} + 1")
        self.assertEqual(self.listed()["big"]["value"], "f32[2000,2000], not computed yet")
        self.run_cell("bad = np.debug.fail(np.ones(2)) + 1")
        self.assertEqual(self.listed()["bad"]["value"], "f32[2], not computed yet")
        self.run_cell("pcall(tostring, bad)")
        self.assertIn("failed", self.listed()["bad"]["value"])

    def test_tables(self):
        self.run_cell("tree = {w = np.ones(2), list = {10, 20, {30}}, [true] = 1}\n"
                      "tree.self = tree\n"
                      "strict = setmetatable({a = 1}, {__index = error, __pairs = error, __tostring = error,"
                      " __len = error})")
        tree = self.listed()["tree"]
        self.assertGreater(tree["variablesReference"], 0)
        items = self.body("variables", variablesReference=tree["variablesReference"])["variables"]
        inner = {v["name"]: v for v in items}
        self.assertEqual(sorted(inner), ["[true]", "list", "self", "w"])
        self.assertEqual(inner["w"]["value"], "f32[2] [1. 1.]")
        place = inner["list"]["variablesReference"]
        items = self.body("variables", variablesReference=place)["variables"]
        self.assertEqual([(v["name"], v["value"]) for v in items],
                         [("[1]", "10"), ("[2]", "20"), ("[3]", "{30}")])
        part = self.body("variables", variablesReference=place, start=1, count=1)["variables"]
        self.assertEqual([v["name"] for v in part], ["[2]"])
        self.assertEqual(self.listed()["strict"]["value"], "{a = 1}")
        self.assertIn("no variable", self.refused("variables", variablesReference=place))

    def test_rich(self):
        self.run_cell("m = np.ones{2, 2} * 2\nshown = setmetatable({}, {__display = function()"
                      " return {['text/latex'] = '$x$'} end})")
        data = self.body("richInspectVariables", variableName="m")["data"]
        self.assertIn("<table>", data["text/html"])
        self.assertEqual(data["text/plain"].split("  ")[-1], "f32[2,2]")
        self.assertEqual(self.body("richInspectVariables", variableName="shown")["data"]["text/latex"], "$x$")
        self.assertEqual(self.body("richInspectVariables", variableName="nothing of that name")["data"], {})

    def test_odd_requests(self):
        self.assertIn("no command 'fly'", self.refused("fly"))
        self.assertIn("no debugger is attached", self.refused("stackTrace"))
        session = self.kc.session
        for content in ({}, {"command": 3}, {"command": "variables", "arguments": "x"},
                        {"command": "richInspectVariables", "arguments": {"variableName": [1]}}):
            self.kc.control_channel.send(session.msg("debug_request", content))
            self.assertEqual(self.kc.get_control_msg(timeout=TIMEOUT)["msg_type"], "debug_reply")
        self.check_alive()


CODE = """\
local function area(w, h)
    local a = w * h
    return a
end
local total = 0
for k = 1, 3 do
    total = total + area(k, 10)
end
total"""


class Breakpoints(WithDebugger):
    def test_names_of_cells(self):
        self.attach()
        info = self.body("debugInfo")
        self.assertIs(info["isStarted"], True)
        for code in ("", "a", "ab", "abc", "abcd", "x = 'é'\n" * 20, CODE):
            self.assertEqual(self.body("dumpCell", code=code)["sourcePath"],
                             f"{info['tmpFilePrefix']}{murmur2(code, info['hashSeed'])}{info['tmpFileSuffix']}")
        self.assertEqual(self.body("source", source={"path": self.body("dumpCell", code=CODE)["sourcePath"]}),
                         {"content": CODE})

    def test_lines_with_code(self):
        self.attach()
        self.assertEqual(self.break_at("-- a comment\n\nx = 1\n-- the end", 1, 3, 4),
                         [(True, 3), (True, 3), (False, 4)])
        self.assertEqual(self.break_at("-- a comment\nx = 1\n\nx", 1, 3), [(True, 2), (True, 4)])
        self.assertEqual(self.break_at("", 1), [(False, 1)])
        answer = self.body("setBreakpoints", source={"path": "elsewhere.lua"}, breakpoints=[{"line": 2}])
        self.assertIs(answer["breakpoints"][0]["verified"], False)
        self.assertIn("source.path", self.refused("setBreakpoints"))

    def test_stops_and_goes_on(self):
        self.attach()
        self.assertEqual(self.break_at(CODE, 3), [(True, 3)])
        request = self.send(CODE)
        for k in (1, 2, 3):
            self.assertEqual(self.stopped_at("breakpoint"), [("function 'area'", 3), ("the main chunk", 7)])
            self.assertEqual(self.inside(), {"w": str(k), "h": "10", "a": str(10 * k)})
            self.assertEqual(self.body("debugInfo")["stoppedThreads"], [1])
            self.assertEqual(self.inside(1)["total"], str(sum(range(k)) * 10))
            self.go()
        cell = self.finish(request)
        self.assertEqual(cell.of("execute_result")[0]["data"]["text/plain"], "60")
        self.assertEqual(self.body("debugInfo")["stoppedThreads"], [])
        self.break_at(CODE)
        self.assertEqual(self.run_cell(CODE).of("debug_event"), [])

    def test_first_line_stops_once(self):
        self.attach()
        for code in ("local one = 1\none + 1", "1 + 1", "two = 2\ntwo"):
            self.break_at(code, 1)
            request = self.send(code)
            self.assertEqual(self.stopped_at("breakpoint"), [("the main chunk", 1)])
            self.go()
            self.assertEqual(self.finish(request).reply["status"], "ok")

    def test_functions_of_earlier_cells(self):
        self.attach()
        code = "function shift(v)\n    return v + 1\nend"
        self.break_at(code, 2)
        self.run_cell(code)
        self.run_cell("seen = 0")
        request = self.send("seen = shift(4)")
        self.assertEqual(self.stopped_at("breakpoint")[0], ("function 'shift'", 2))
        self.assertEqual(self.frames[0]["source"]["path"], self.body("dumpCell", code=code)["sourcePath"])
        self.go()
        self.finish(request)
        self.assertEqual(self.listed()["seen"]["value"], "5")

    def test_steps(self):
        self.attach()
        self.break_at(CODE, 5)
        request = self.send(CODE)
        self.assertEqual(self.stopped_at("breakpoint"), [("the main chunk", 5)])
        path = []
        for command in ("next", "next", "stepIn", "next", "stepOut", "next", "stepIn"):
            self.go(command)
            path.append(self.stopped_at("step")[0])
        self.assertEqual(path[:2], [("the main chunk", 6), ("the main chunk", 7)])
        self.assertEqual(path[2:4], [("function 'area'", 2), ("function 'area'", 3)])
        self.assertEqual(path[4][0], "the main chunk")
        self.assertEqual(path[5][0], "the main chunk")
        self.go()
        self.assertEqual(self.finish(request).of("execute_result")[0]["data"]["text/plain"], "60")

    def test_coroutines(self):
        self.attach()
        code = ("local co = coroutine.wrap(function()\n    coroutine.yield(1)\n    return 2\nend)\n"
                "local a = co()\na + co()")
        self.break_at(code, 2)
        request = self.send(code)
        self.assertEqual(self.stopped_at("breakpoint")[0][1], 2)
        self.go("next")
        self.assertEqual(self.stopped_at("step")[0][1], 6)
        self.go("next")
        self.assertEqual(self.finish(request).of("execute_result")[0]["data"]["text/plain"], "3")

    def test_text_before_a_stop_has_come(self):
        self.attach()
        code = "print 'before'\nx = 1\nprint 'behind'"
        self.break_at(code, 2)
        request = self.send(code)
        seen = ""
        while True:
            message = self.kc.get_iopub_msg(timeout=TIMEOUT)
            if message["msg_type"] == "stream":
                seen += message["content"]["text"]
            if message["msg_type"] == "debug_event" and message["content"]["event"] == "stopped":
                break
        self.assertEqual(seen, "before\n")
        self.go()
        self.assertEqual(self.finish(request).text(), "behind\n")

    def test_arrays_of_a_stopped_cell(self):
        self.attach()
        code = "local y = np.arange(3) * 2\nlocal s = y:sum():item()\nlocal t = {y, s}\nt = nil"
        self.break_at(code, 4)
        request = self.send(code)
        self.stopped_at("breakpoint")
        values = self.inside()
        self.assertEqual((values["y"], values["s"]), ("i32[3] [0 2 4]", "6"))
        data = self.body("richInspectVariables", variableName="y", frameId=self.frames[0]["id"])["data"]
        self.assertIn("<table>", data["text/html"])
        self.go()
        self.finish(request)

    def test_other_requests_wait(self):
        self.attach()
        code = "x = 1\nx"
        self.break_at(code, 2)
        first = self.send(code)
        self.stopped_at("breakpoint")
        second = self.send("x + 1")
        info = self.kc.kernel_info()
        self.assertEqual(self.reply_to(info)["content"]["status"], "ok")
        self.go()
        self.assertEqual(self.reply_to(first)["content"]["status"], "ok")
        self.assertEqual(self.finish(second).of("execute_result")[0]["data"]["text/plain"], "2")

    def test_names_fields_and_items_of_a_stopped_cell(self):
        self.attach()
        self.assertIn("no cell is stopped", self.refused("evaluate", expression="x"))
        self.run_cell("outer = 7")
        code = "local t = {rows = {{weight = 3}}, ['a b'] = 2, w = np.ones{2, 3}}\nlocal s = 'text'\ns = nil"
        self.break_at(code, 3)
        request = self.send(code)
        self.stopped_at("breakpoint")
        frame = self.frames[0]["id"]
        for path, result in (("outer", "7"), ("s", '"text"'), (" t.rows[1] . weight ", "3"), ("t['a b']", "2"),
                             ("t.w.shape", "{2, 3}"), ("t.w", "f32[2,3] [[1. 1. 1.] [1. 1. 1.]]"),
                             ("t.no", "nil"), ("unknown", "nil")):
            self.assertEqual(self.body("evaluate", expression=path, frameId=frame)["result"], result, path)
        place = self.body("evaluate", expression="t.rows", frameId=frame)["variablesReference"]
        items = self.body("variables", variablesReference=place)["variables"]
        self.assertEqual([(v["name"], v["value"]) for v in items], [("[1]", "{weight = 3}")])
        for text, result in (("t.w:sum()", "6"), ("1 + 1", "2"), ("t[s] == nil", "true"), ("#t.rows", "1"),
                             ("s .. 'ual'", '"textual"'), ("-t.rows[1].weight ^ 2 // 1", None)):
            if result:
                self.assertEqual(self.body("evaluate", expression=text, frameId=frame)["result"], result, text)
            else:
                self.assertIn("a value is missing", self.refused("evaluate", expression=text, frameId=frame))
        self.assertIn("runs nothing", self.refused("evaluate", expression="f()", frameId=frame))
        self.assertIn("is missing", self.refused("evaluate", expression="", frameId=frame))
        self.go()
        self.finish(request)

    def test_breakpoints_of_a_cell_that_runs(self):
        self.attach()
        code = "go = false\nwhile not go do\n    local waits = true\nend"
        path = self.body("dumpCell", code=code)["sourcePath"]
        request = self.send(code)
        self.body("setBreakpoints", source={"path": path}, breakpoints=[{"line": 3}])
        self.assertEqual(self.stopped_at("breakpoint"), [("the main chunk", 3)])
        self.body("setBreakpoints", source={"path": path}, breakpoints=[])
        self.go()
        self.wait_for_event("continued")
        self.body("pause", threadId=1)
        self.stopped_at("step")
        self.by_message()
        self.assertEqual(self.reply_to(request)["content"]["ename"], "Interrupted")
        self.until_idle(request)


class Conditions(WithDebugger):
    """Breakpoints that stop sometimes, and such that write a line instead."""

    CODE = "local sum, x = 0, np.array{0.5}\nfor k = 1, 6 do\n    x = x + 1\n    sum = sum + k\nend\nsum"

    def point_at(self, line, code=CODE, **conditions):
        """Sets one breakpoint; returns what became of it."""
        path = self.body("dumpCell", code=code)["sourcePath"]
        answer = self.body("setBreakpoints", source={"path": path}, breakpoints=[{"line": line, **conditions}])
        return answer["breakpoints"][0]

    def stops(self, name, code=CODE):
        """Runs a cell, and goes on wherever it stops; returns the values of a name there, and the cell."""
        request, values = self.send(code), []
        while True:
            message = self.kc.get_iopub_msg(timeout=TIMEOUT)
            content = message["content"]
            if message["msg_type"] == "debug_event" and content["event"] == "stopped":
                self.assertEqual(content["body"]["reason"], "breakpoint")
                self.description = content["body"].get("description")
                self.frames = self.body("stackTrace", threadId=1)["stackFrames"]
                values.append(self.inside()[name])
                self.go()
            elif message["msg_type"] == "execute_result":
                self.assertEqual(content["data"]["text/plain"], "21")
            elif message["msg_type"] == "stream":
                self.text += content["text"]
            elif message["msg_type"] == "status" and content["execution_state"] == "idle" and \
                    message["parent_header"].get("msg_id") == request:
                return values

    def setUp(self):
        super().setUp()
        self.text = ""

    def test_announced(self):
        found = self.body("initialize")
        for name in ("supportsConditionalBreakpoints", "supportsHitConditionalBreakpoints", "supportsLogPoints"):
            self.assertIs(found[name], True)
        self.body("disconnect")

    def test_conditions(self):
        self.attach()
        for condition, expected in (("k == 3", ["3"]), ("k % 2 == 0 and sum > 1", ["4", "6"]),
                                    ("x > 4", ["4", "5", "6"]), ("not (k ~= 1 and k < 6)", ["1", "6"]),
                                    ("x:max() >= 6.5 or k == -1", ["6"]),
                                    ("x[0] < 2", ["1"]), ("x.shape[1] == k", ["1"]), ("nothing", []),
                                    ("nothing == nil and #'ab' .. k == '25'", ["5"]), ("", list("123456"))):
            self.assertIs(self.point_at(4, condition=condition)["verified"], True, condition)
            self.assertEqual(self.stops("k"), expected, condition)
            self.assertIsNone(self.description if expected else None)

    def test_hits(self):
        self.attach()
        for hits, expected in (("2", ["2"]), ("== 2", ["2"]), (">= 5", ["5", "6"]), ("> 5", ["6"]), ("% 3", ["3", "6"]),
                               ("<2", ["1"]), ("<= 1", ["1"]), ("%0", [])):
            self.point_at(4, hitCondition=hits)
            self.assertEqual(self.stops("k"), expected, hits)
        self.point_at(4, hitCondition="2", condition="k > 2")
        self.assertEqual(self.stops("k"), ["4"])

    def test_messages(self):
        self.attach()
        self.point_at(4, logMessage="k is {k}, x {x:item()} {rows[1]} {nothing}", condition="k < 3")
        self.run_cell("rows = {'one'}")
        self.assertEqual(self.stops("k"), [])
        self.assertEqual(self.text, "k is 1, x 1.5 one nil\nk is 2, x 2.5 one nil\n")

    def test_two_on_a_line(self):
        self.attach()
        path = self.body("dumpCell", code=self.CODE)["sourcePath"]
        self.body("setBreakpoints", source={"path": path},
                  breakpoints=[{"line": 4, "condition": "k == 2"}, {"line": 4, "condition": "k == 5"}])
        self.assertEqual(self.stops("k"), ["2", "5"])

    def test_what_does_not_read(self):
        self.attach()
        for conditions, text in (({"condition": "k = 3"}, "== compares"), ({"condition": "k >"}, "a value is missing"),
                                 ({"condition": "f(k)"}, "functions are not called"), ({"condition": "(" * 900}, "'"),
                                 ({"condition": "k + 1" * 400}, "at most 1000 bytes"),
                                 ({"condition": "'a"}, "no value"),
                                 ({"hitCondition": "often"}, "is none"), ({"hitCondition": "3 >"}, "is none"),
                                 ({"logMessage": "{k +}"}, "{k +}: a value is missing at the end")):
            found = self.point_at(4, **conditions)
            self.assertIs(found["verified"], False, conditions)
            self.assertIn(text, found["message"])
            self.assertEqual(self.stops("k"), [])

    def test_what_fails(self):
        self.attach()
        self.run_cell("guard = setmetatable({}, {__index = error, __eq = error, __lt = error, __len = error})\n"
                      "many = np.ones(3)")
        for condition, text in (("nothing.field", "nil has no fields"), ("many > 3", "an array of shape (3,) is no"),
                                ("guard > 3", "> of a value that is a table"), ("guard.field.more", "nil has"),
                                ("guard:sum()", "only item, sum"), ("x.nothing", "no field 'nothing'"),
                                ("'a' + 1", "arithmetic")):
            self.point_at(5, condition=condition, code=self.CODE)
            self.point_at(4, condition=f"k == 2 and {condition}")
            self.assertEqual(self.stops("k"), ["2"], condition)
            self.assertIn("failed: ", self.description)
            self.assertIn(text, self.description)
        self.point_at(4, condition="#guard == 0 and guard ~= many[0] and k == 2")
        self.assertEqual(self.stops("k"), ["2"])

    def test_traced_arrays(self):
        self.attach()
        code = "np.jit(function(v)\n    local w = v + 1\n    return w * 2\nend)(np.ones{1}):sum():item() + 17"
        self.point_at(3, code=code, condition="w > 1")
        self.assertEqual(self.stops("w", code), ["f32[1], not computed yet"])
        self.assertIn("being traced has no value", self.description)


class Errors(WithDebugger):
    """Stopping where an error is raised."""

    CODE = "local function half(n)\n    local k = n\n    return k / nil\nend\nlocal n = 4\nhalf(n)"

    def wanted(self, *filters):
        self.body("setExceptionBreakpoints", filters=list(filters))

    def test_stops_where_it_was_raised(self):
        filters = self.body("initialize")["exceptionBreakpointFilters"]
        self.attach()
        self.assertEqual(self.run_cell(self.CODE).reply["status"], "error")
        self.wanted(filters[0]["filter"])
        for command in ("continue", "next", "stepOut"):
            request = self.send(self.CODE)
            self.assertEqual(self.stopped_at("exception"), [("function 'half'", 3), ("the main chunk", 6)])
            self.assertEqual(self.inside(), {"n": "4", "k": "4"})
            self.assertEqual(self.inside(1)["n"], "4")
            self.go(command)
            cell = self.finish(request)
            self.assertIn("attempt to perform arithmetic on a nil value", cell.reply["evalue"])
        self.assertEqual(self.run_cell("pcall(half)\npcall(error, 'caught')").of("debug_event"), [])
        self.wanted()
        self.assertEqual(self.run_cell(self.CODE).of("debug_event"), [])

    def test_of_the_library_and_what_does_not_parse(self):
        self.attach()
        self.wanted("uncaught")
        request = self.send("local x = np.ones{2}\nlocal y = x + np.ones{3}")
        self.assertEqual(self.stopped_at("exception"), [("the main chunk", 2)])
        self.assertEqual(self.inside(), {"x": "f32[2] [1. 1.]"})
        self.go()
        self.assertIn("do not broadcast", self.finish(request).reply["evalue"])
        self.assertEqual(self.run_cell("x = = 2").of("debug_event"), [])
        self.check_alive()

    def test_what_ends_such_a_stop(self):
        self.attach()
        self.wanted("uncaught")
        for end in (self.km.interrupt_kernel, self.by_message, lambda: self.body("disconnect")):
            request = self.send("error 'oops'")
            self.stopped_at("exception")
            end()
            self.assertIn("oops", self.finish(request).reply["evalue"])
        self.check_alive()
        self.assertEqual(self.run_cell("error 'oops'").of("debug_event"), [])


class Names(WithDebugger):
    """No name of the user's reaches the debugger."""

    def test_names(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib/ruin.lua")
        self.run_cell(f"local ruin, lib = dofile '{path}', np")
        self.attach()
        code = "local t = {w = lib.ones(2)}\nlocal two = 2\ntwo = 3"
        for kind in ("nil", "number", "function", "table"):
            self.run_cell(f"ruin.all '{kind}'")
            self.assertEqual(self.break_at(code, 3), [(True, 3)])
            request = self.send(code)
            self.assertEqual(self.stopped_at("breakpoint"), [("the main chunk", 3)])
            found = self.inside()
            self.assertEqual((sorted(found), found["t"], found["two"]), (["lib", "t", "two"], "{w = f32[2]}", "2"))
            self.go("next")
            self.assertEqual(self.finish(request).reply["status"], "ok")
            self.assertEqual(self.listed()["two"]["value"], "3")
            self.assertIn("f32[2]", self.body("richInspectVariables", variableName="t")["data"]["text/plain"])
            self.assertEqual(self.run_cell("ruin.restore()").reply["status"], "ok")


class Ends(WithDebugger):
    """What ends a stop besides the debugger's buttons."""

    def stop(self, code="local waits = 1\nwaits = 2\nprint 'behind'"):
        self.break_at(code, 2)
        request = self.send(code)
        self.stopped_at("breakpoint")
        return request

    def test_interrupts(self):
        self.attach()
        for interrupt in (self.km.interrupt_kernel, self.by_message):
            request = self.stop()
            interrupt()
            cell = self.finish(request)
            self.assertEqual(cell.reply["ename"], "Interrupted")
            self.assertNotIn("behind", cell.text())
            self.check_alive()

    def test_disconnect(self):
        self.attach()
        request = self.stop()
        self.body("disconnect")
        self.assertEqual(self.finish(request).text(), "behind\n")
        self.assertIs(self.body("debugInfo")["isStarted"], False)
        cell = self.run_cell("local is_on = jit.status()\nis_on")
        self.assertEqual(cell.of("execute_result")[0]["data"]["text/plain"], "true")

    def test_interrupt_of_a_cell_that_runs(self):
        self.attach()
        request = self.send("print 'on' while true do end")
        self.wait_for_text("on\n")
        self.km.interrupt_kernel()
        self.assertEqual(self.finish(request).reply["ename"], "Interrupted")
        request = self.stop()
        self.go()
        self.assertEqual(self.finish(request).text(), "behind\n")

    def test_error_of_a_step(self):
        self.attach()
        request = self.stop("x = 1\nerror 'oops'\nx = 2")
        self.go("next")
        self.assertIn("oops", self.finish(request).reply["evalue"])
        self.check_alive()


class Lives(WithDebugger):
    """Kernels that end while a cell is stopped."""

    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def tearDownClass(cls):
        pass

    def setUp(self):
        self.km, self.kc = start_kernel()
        self.addCleanup(self.km.shutdown_kernel, now=True)
        self.addCleanup(self.kc.stop_channels)
        self.body("initialize")
        code = "local waits = 1\nwaits = 2"
        self.break_at(code, 2)
        self.send(code)
        self.stopped_at("breakpoint")

    def wait_for_end(self):
        process = self.km.provisioner.process
        process.wait(timeout=TIMEOUT)

    def test_shutdown(self):
        self.km.request_shutdown()
        self.wait_for_end()

    def test_terminated(self):
        os.kill(self.km.provisioner.process.pid, signal.SIGTERM)
        self.wait_for_end()

    def test_front_end_gone(self):
        """Another client finds the cell stopped, and lets it go on."""
        self.kc.stop_channels()
        self.kc = self.km.client()
        self.kc.start_channels()
        self.addCleanup(self.kc.stop_channels)
        self.assertEqual(self.body("debugInfo")["stoppedThreads"], [1])
        self.go()
        self.check_alive()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # interrupts are for kernels
    counted.main(verbosity=2)
