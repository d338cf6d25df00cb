"""What the kernel promises beyond the suite: whose output is whose, in which order; interrupts; lives."""
import json
import os
import queue
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import counted
import zmq
from jupyter_client.manager import KernelManager, start_new_kernel

TIMEOUT = 60  # generous: the machine may be busy


def start_kernel(**options):
    """A kernel and a client, with nothing left to be read: who starts one asks again where an answer is slow."""
    km, kc = start_new_kernel(kernel_name="neap", startup_timeout=TIMEOUT, **options)
    request = kc.kernel_info()
    while kc.get_shell_msg(timeout=TIMEOUT)["parent_header"].get("msg_id") != request:
        pass
    message = None
    while not message or message["parent_header"].get("msg_id") != request \
            or message["content"].get("execution_state") != "idle":
        message = kc.get_iopub_msg(timeout=TIMEOUT)
    return km, kc


def is_running(pid):
    """Whether there is a process of this number, one that has ended and is not waited for left out."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def joined(messages):
    """The messages; text of one stream that came in several pieces is one, as a client shows it."""
    out = []
    for message in messages:
        kind, content = message["msg_type"], message["content"]
        last = out[-1] if out else None
        if last and kind == last["msg_type"] == "stream" and content["name"] == last["content"]["name"]:
            last["content"]["text"] += content["text"]
        else:
            out.append(message)
    return out


class Cell:
    """What one execute_request has led to."""

    def __init__(self, messages, reply):
        self.received = len(messages)
        self.messages = joined(messages)
        self.reply = reply["content"]

    def of(self, kind):
        return [m["content"] for m in self.messages if m["msg_type"] == kind]

    def text(self, name="stdout"):
        return "".join(c["text"] for c in self.of("stream") if c["name"] == name)

    @property
    def kinds(self):
        return [m["msg_type"] for m in self.messages if m["msg_type"] not in ("status", "execute_input")]


class WithKernel(unittest.TestCase):
    """A kernel for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.km, cls.kc = start_kernel()

    @classmethod
    def tearDownClass(cls):
        cls.kc.stop_channels()
        cls.km.shutdown_kernel(now=True)

    def send(self, code, **options):
        return self.kc.execute(code, **options)

    def gate(self):
        """A function, and a command of the shell that ends when it has been called."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "open")
        return lambda: open(path, "w").close(), f"while [ -d {folder} -a ! -e {path} ]; do sleep 0.02; done"

    def reply_to(self, request):
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            try:
                reply = self.kc.get_shell_msg(timeout=TIMEOUT)
            except queue.Empty:
                break
            if reply["parent_header"].get("msg_id") == request:
                return reply
        self.fail("no reply")

    def until_idle(self, request):
        """The messages up to the request's idle; those of others are in self.others."""
        messages, self.others = [], []
        while True:
            message = self.kc.get_iopub_msg(timeout=TIMEOUT)
            if message["parent_header"].get("msg_id") != request:
                self.others.append(message)
                continue
            messages.append(message)
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return messages

    def finish(self, request):
        reply = self.reply_to(request)
        return Cell(self.until_idle(request), reply)

    def run_cell(self, code, **options):
        return self.finish(self.send(code, **options))

    def wait_for_text(self, text):
        """Waits until a stream has printed this."""
        seen = ""
        while text not in seen:
            message = self.kc.get_iopub_msg(timeout=TIMEOUT)
            if message["msg_type"] == "stream":
                seen += message["content"]["text"]

    def by_message(self):
        session = self.kc.session
        self.kc.control_channel.send(session.msg("interrupt_request", {}))
        reply = self.kc.get_control_msg(timeout=TIMEOUT)
        self.assertEqual(reply["msg_type"], "interrupt_reply")

    def check_alive(self):
        self.assertEqual(self.run_cell("1 + 1").of("execute_result")[0]["data"]["text/plain"], "2")


class Install(unittest.TestCase):
    def install(self, folder, *options):
        return subprocess.run([os.environ["NEAP_TEST_NEAP"], "kernel", "install", "--prefix", folder, *options],
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)

    def test_devices(self):
        with tempfile.TemporaryDirectory() as folder:
            for count in ("0", "-1", "2.5", "many", ""):
                done = self.install(folder, "--devices", count)
                self.assertNotEqual(done.returncode, 0, count)
                self.assertIn("--devices wants a", done.stderr)
            self.assertEqual(os.listdir(folder), [])
            self.assertEqual(self.install(folder, "--devices", "3").returncode, 0)
            with open(folder + "/share/jupyter/kernels/neap/kernel.json", encoding="utf-8") as file:
                self.assertEqual(json.load(file)["argv"][1:],
                                 ["--devices", "3", "kernel", "run", "{connection_file}"])


class Outputs(WithKernel):
    def test_order(self):
        cell = self.run_cell(
            "local x = np.arange(4)\n"
            "for k = 1, 3 do\n"
            "    print(k, x * k)\n"
            "    io.stderr:write('e', k, '\\n')\n"
            "    np.display(x + k)\n"
            "end\n"
            "x:sum()"
        )
        self.assertEqual(cell.kinds, ["stream", "stream", "display_data"] * 3 + ["execute_result"])
        streams = cell.of("stream")
        self.assertEqual([c["text"] for c in streams[::2]], ["1\t[0 1 2 3]\n", "2\t[0 2 4 6]\n", "3\t[0 3 6 9]\n"])
        self.assertEqual([c["text"] for c in streams[1::2]], ["e1\n", "e2\n", "e3\n"])
        self.assertEqual([c["data"]["text/plain"] for c in cell.of("display_data")],
                         ["[1 2 3 4]  i32[4]", "[2 3 4 5]  i32[4]", "[3 4 5 6]  i32[4]"])
        self.assertEqual(cell.of("execute_result")[0]["data"]["text/plain"], "6  i32")

    def test_jit_and_callbacks_print_in_order(self):
        cell = self.run_cell(
            "local f = np.jit(function(x) print('in jit', x) np.display(x) return x * 2 end)\n"
            "print 'before' f(np.ones(2)) np.callback(print)(np.zeros(1)) print 'behind'"
        )
        self.assertEqual(cell.text(), "before\nin jit\t[1. 1.]\n[0.]\nbehind\n")
        self.assertEqual(cell.kinds, ["stream", "display_data", "stream"])

    def test_late_output_goes_to_its_cell(self):
        """A print whose value comes when another cell runs already."""
        first = self.send("print(np.callback(function() os.execute 'sleep 1' return 7 end,"
                          " {ordered=false, result={shape={}, dtype='f32'}})()) error 'over'")
        second = self.send("print 'second'")
        self.assertEqual(self.reply_to(first)["content"]["status"], "error")
        self.reply_to(second)
        cell = Cell(self.until_idle(first), {"content": {}})
        self.assertEqual(cell.text(), "7.0\n")
        release, wait = self.gate()
        late = self.run_cell(f"os.execute '({wait}; echo late) &' print 'started'")
        self.assertEqual(late.text(), "started\n")
        release()
        message = self.kc.get_iopub_msg(timeout=TIMEOUT)
        self.assertEqual(message["content"]["text"], "late\n")
        self.assertEqual(message["parent_header"]["msg_id"], late.messages[0]["parent_header"]["msg_id"])

    def test_output_behind_an_interrupt(self):
        """What an interrupted cell leaves behind comes later, and is still the cell's."""
        first = self.send("local x = np.full({700, 700}, 1e-3)\n"
                          "print 'on'\n"
                          "for k = 1, 60 do x = np.matmul(x, x) * 0 + 1e-3 end\n"
                          "print('sum', x:sum())\n"
                          "while true do end")
        self.wait_for_text("on\n")
        self.km.interrupt_kernel()
        self.assertEqual(self.reply_to(first)["content"]["ename"], "Interrupted")
        cell = self.run_cell("print 'next' np.effects_barrier()")
        self.assertEqual(cell.text(), "next\n")
        for message in self.others:
            self.assertEqual(message["parent_header"].get("msg_id"), first)

    def test_5000_outputs(self):
        cell = self.run_cell("for k = 1, 2500 do print(k) np.display(k) end")
        self.assertEqual(cell.text(), "".join(f"{k}\n" for k in range(1, 2501)))
        self.assertEqual([c["data"]["text/plain"] for c in cell.of("display_data")],
                         [str(k) for k in range(1, 2501)])

    def test_much_text(self):
        cell = self.run_cell("for k = 1, 20000 do print(k, ('x'):rep(500)) end")
        self.assertEqual(len(cell.text()), sum(len(str(k)) + 502 for k in range(1, 20001)))
        self.assertLess(cell.received, 5000)

    def test_text_that_is_no_utf8(self):
        self.assertEqual(self.run_cell("io.write('a\\255b\\0c\"\\\\ é€')").text(), "a\ufffdb\0c\"\\ é€")
        self.assertEqual(self.run_cell("('é'):rep(50000)").of("error"), [])
        cell = self.run_cell("io.write(('€'):rep(100000))")
        self.assertEqual(cell.text(), "€" * 100000)

    def test_children(self):
        cell = self.run_cell("print 'a'\n os.execute 'echo b; echo c >&2'\n print 'd'")
        self.assertEqual(cell.text(), "a\nb\nd\n")
        self.assertEqual(cell.text("stderr"), "c\n")
        cell = self.run_cell("print(1)\n local p = io.popen('cat', 'w') p:write 'child\\n' p:close()\n print(2)")
        self.assertEqual(cell.text(), "1\nchild\n2\n")
        cell = self.run_cell("io.stderr:write '1\\n' io.popen('echo child >&2'):close() io.stderr:write '2\\n'")
        self.assertEqual(cell.text("stderr"), "1\nchild\n2\n")

    def test_c_code(self):
        self.run_cell("ffi = require 'ffi' ffi.cdef 'int puts(const char *);'")
        cell = self.run_cell("print('a', np.debug.sleep(np.ones(1), 20)) ffi.C.puts 'b' print 'c' ffi.C.puts 'd'")
        self.assertEqual(cell.text(), "a\t[1.]\nb\nc\nd\n")
        self.assertEqual(self.run_cell("print 'e'").text(), "e\n")


class Values(WithKernel):
    def data(self, code):
        cell = self.run_cell(code)
        self.assertEqual(cell.reply["status"], "ok", cell.reply)
        return (cell.of("execute_result") or cell.of("display_data"))[-1]["data"]

    def test_arrays(self):
        html = self.data("np.arange(6):reshape{2, 3}")["text/html"]
        self.assertIn(">5</td>", html)
        self.assertIn("i32[2,3]", html)
        big = self.data("np.arange(40000):reshape{200, 200}")
        self.assertIn("⋮", big["text/html"])
        self.assertIn(">39999</td>", big["text/html"])
        self.assertLess(len(big["text/html"]), 20000)
        self.assertIn("(2 more)", self.data("np.zeros{5, 2, 2}")["text/html"])
        self.assertNotIn("text/html", self.data("np.zeros{0, 3}"))
        self.assertIn("true", self.data("np.array{true, false}")["text/html"])
        self.assertIn("nan", self.data("np.array{0/0, 1/0}")["text/html"])
        self.assertIn(">-0</td>", self.data("np.array{-0.0, 1}")["text/html"])
        for dtype in ("f16", "bf16", "f64", "u8", "i64", "u64", "c64"):
            self.assertIn(dtype, self.data(f"np.ones({{2, 2}}, {{dtype='{dtype}'}})")["text/html"])

    def test_trees_and_tables(self):
        html = self.data("{w = np.ones{2, 2}, layers = {{b = np.zeros(3)}}, name = '<b>'}")["text/html"]
        for part in ("layers[1].b", "f32[3]", "&lt;b&gt;"):
            self.assertIn(part, html)
        html = self.data("np.table{a = np.arange(100), b = np.ones(100)}")["text/html"]
        self.assertIn("<th", html)
        self.assertIn("⋮", html)
        self.assertIn("100 rows", html)

    def test_own_display(self):
        code = "setmetatable({}, {__display = function() return {['text/html'] = '<i>own</i>'} end})"
        self.assertEqual(self.data(code)["text/html"], "<i>own</i>")
        wrong = self.run_cell("np.display(setmetatable({}, {__display = function() return 3 end}))")
        self.assertIn("__display must return", wrong.text("stderr"))
        self.check_alive()

    @unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
    def test_figures(self):
        line = "np.plot.line{1, 3, 2}"
        for code in (line, line + " np.plot.show()", "np.display(" + line + ")"):
            self.assertIn("<svg", self.data(code)["image/svg+xml"], code)
        cell = self.run_cell(line + " print 'drawn' local other = np.plot.figure()"
                             " other:bar({1, 2}, {3, 4}) print 'last'")
        self.assertEqual([c["text"] for c in cell.of("stream")], ["drawn\nlast\n"])
        self.assertEqual(cell.kinds, ["stream", "display_data", "display_data"])
        self.assertEqual(self.run_cell(line + " np.plot.show() np.plot.title 't'").kinds, ["display_data"])
        self.assertEqual(self.run_cell(line, silent=True).kinds, [])
        self.assertEqual(self.run_cell(line + " error 'bad'").kinds, ["display_data", "error"])
        self.assertEqual(self.run_cell(line + " error 'bad'", silent=True).kinds, [])
        failed = "np.plot.line(np.debug.fail(np.ones(3))) np.plot.figure() np.plot.line{1} error 'bad'"
        self.assertEqual(self.run_cell(failed).kinds, ["error"])
        self.assertEqual(self.run_cell("print(np.plot.line{1}.axes[1])").text(), "axes 1 of a figure, 1 charts\n")
        traced = "local f = np.jit(function(x) np.plot.line(x) return x end) f(np.ones(3)):wait()"
        self.assertEqual(self.run_cell(traced).kinds, [])
        cell = self.run_cell("live = np.plot.live{every=0} live:update{loss=1} live:update{loss=2} live:close()")
        first, later = cell.of("display_data"), cell.of("update_display_data")
        self.assertEqual(len(first), 1, cell.kinds)
        self.assertGreaterEqual(len(later), 1, cell.kinds)
        self.assertEqual({c["transient"]["display_id"] for c in later}, {first[0]["transient"]["display_id"]})

    def test_pictures_are_base64(self):
        png = self.data("np.display{['image/png'] = '\\137PNG\\r\\n\\26\\n'}")["image/png"]
        self.assertEqual(png, "iVBORw0KGgo=")

    def test_updates(self):
        cell = self.run_cell("np.display('one', {display_id = 'd'}) np.update_display('two', 'd')"
                             " np.clear_output{wait = true}")
        self.assertEqual(cell.kinds, ["display_data", "update_display_data", "clear_output"])
        self.assertEqual([m["transient"] for m in cell.of("display_data") + cell.of("update_display_data")],
                         [{"display_id": "d"}] * 2)
        self.assertEqual(cell.of("clear_output"), [{"wait": True}])

    def test_errors(self):
        cell = self.run_cell("local function f(x)\n  return x + np.ones(3)\nend\nf(np.ones(2))")
        error = cell.of("error")[0]
        self.assertIn("add", error["evalue"])
        self.assertIn("\x1b[", error["traceback"][0])
        self.assertIn("function 'f'", "\n".join(error["traceback"]))
        self.assertEqual(cell.reply["traceback"], error["traceback"])

    def test_long_errors(self):
        error = self.run_cell("error(('x\\n'):rep(20000))").of("error")[0]
        self.assertGreater(len(error["traceback"]), 20000)
        self.check_alive()

    def test_requests_aside(self):
        count = self.run_cell("x_test = 3").reply["execution_count"]
        silent = self.run_cell("x_test = x_test + 1\nx_test", silent=True)
        self.assertEqual(silent.kinds, [])
        self.run_cell("'not kept'", store_history=False)
        cell = self.run_cell("x_test", user_expressions={"twice": "x_test * 2", "bad": "nothing.at.all"})
        self.assertEqual(cell.reply["execution_count"], count + 1)
        self.assertEqual(cell.reply["user_expressions"]["twice"]["data"]["text/plain"], "8")
        self.assertEqual(cell.reply["user_expressions"]["bad"]["status"], "error")
        self.kc.comm_info()
        self.assertEqual(self.kc.get_shell_msg(timeout=TIMEOUT)["content"]["comms"], {})

    def test_positions_count_characters(self):
        request = self.kc.complete("x = 'é€' .. np.linsp", 20)
        content = self.reply_to(request)["content"]
        self.assertEqual((content["matches"], content["cursor_start"], content["cursor_end"]), (["linspace"], 15, 20))
        request = self.kc.inspect("np.zeros({2}, {dtype='f32'})", 14)
        self.assertIn("np.zeros", self.reply_to(request)["content"]["data"]["text/plain"])
        request = self.kc.inspect("no_such_name", 3)
        self.assertFalse(self.reply_to(request)["content"]["found"])
        request = self.kc.is_complete("for k = 1, 2 do\n    if k then")
        self.assertEqual(self.reply_to(request)["content"], {"status": "incomplete", "indent": "        "})

    def test_indent_of_the_next_line(self):
        """As IPython's: that behind the last line that is not blank."""
        for code, indent in {"for k = 1, 2 do": 4, "for k = 1, 2 do\n": 4, "for k = 1, 2 do\n    \n": 4,
                             "\nx = {\n\n": 4, "do\n    while x do\n        y = 1\n": 8,
                             "do\n    if x then y() end\n\n": 4, "x = [[\n": 0, "f(1,\n  2,\n": 2}.items():
            reply = self.reply_to(self.kc.is_complete(code))["content"]
            self.assertEqual(reply, {"status": "incomplete", "indent": " " * indent}, repr(code))

    def test_last_expression(self):
        """A cell shows the values of its last expression, and of no other."""
        for code, shown in {"1\n2\n3": ["3"], "math.max(1, 2)\nmath.max(3, 4)": ["4"], "x_last = 5; x_last; 6": ["6"],
                            "1\nlocal z = 2": [], "1\n2;": [], "1\n2, 3": ["2\n3"],
                            "np.display(1)\n2\n3": ["1", "3"]}.items():
            cell = self.run_cell(code)
            data = [c["data"]["text/plain"] for c in cell.of("display_data") + cell.of("execute_result")]
            self.assertEqual(data, shown, code)
        self.assertEqual(self.run_cell("_").of("execute_result")[0]["data"]["text/plain"], "3")

    def all_at_once(self, *codes, **options):
        """Sends cells to a kernel that stands still, so that they are all there when it goes on; their replies."""
        os.kill(self.km.provisioner.pid, signal.SIGSTOP)
        requests = [self.send(code, **options) for code in codes]
        os.kill(self.km.provisioner.pid, signal.SIGCONT)
        return [self.reply_to(request)["content"] for request in requests]

    def test_error_that_comes_at_once(self):
        """It aborts all that was sent with it, also what takes longer to arrive than the cell to fail."""
        count = self.run_cell("1").reply["execution_count"]
        for k in range(10):
            long = " --" + "x" * (10**6 if k % 2 else 0)
            replies = self.all_at_once("error 'x'", "ran = true" + long, "2" + long, "3" + long)
            self.assertEqual([r["status"] for r in replies], ["error", "aborted", "aborted", "aborted"])
            self.assertEqual(replies[0]["execution_count"], count + k + 1)
            self.assertEqual(replies[1:], [{"status": "aborted"}] * 3)  # as ipykernel: without a number
        self.assertEqual(self.run_cell("rawget(_G, 'ran')").of("execute_result")[0]["data"]["text/plain"], "nil")
        self.assertEqual([r["status"] for r in self.all_at_once("error 'x'", "1", store_history=False)],
                         ["error", "aborted"])
        for options in ({"silent": True}, {"stop_on_error": False}):
            replies = self.all_at_once("error 'x'", "1", "2", **options)
            self.assertEqual([r["status"] for r in replies], ["error", "ok", "ok"], options)

    def test_others_are_answered_behind_an_error(self):
        """What is no cell is not aborted, and a client that sends one cell behind another does not keep its error."""
        os.kill(self.km.provisioner.pid, signal.SIGSTOP)
        failing, info = self.send("error 'x'"), self.kc.kernel_info()
        os.kill(self.km.provisioner.pid, signal.SIGCONT)
        self.assertEqual(self.reply_to(failing)["content"]["status"], "error")
        self.assertEqual(self.reply_to(info)["content"]["status"], "ok")
        failing, sent, answer = self.send("error 'x'"), 0, {}
        end = time.monotonic() + TIMEOUT
        while answer.get("parent_header", {}).get("msg_id") != failing:
            self.assertLess(time.monotonic(), end)
            sent += 1
            self.send("1")
            try:
                answer = self.kc.get_shell_msg(timeout=0.01)
            except queue.Empty:
                pass
        self.assertEqual(answer["content"]["status"], "error")
        for _ in range(sent):
            self.kc.get_shell_msg(timeout=TIMEOUT)
        self.check_alive()

    def test_stop_on_error(self):
        release, wait = self.gate()
        requests = [self.send(code) for code in (f"os.execute '{wait}' error 'first'", "print 'second'", "'third'")]
        time.sleep(0.5)  # until all of them have come
        release()
        replies = [self.reply_to(r)["content"]["status"] for r in requests]
        self.assertEqual(replies, ["error", "aborted", "aborted"])
        requests = [self.send(c, stop_on_error=False) for c in ("os.execute 'sleep 0.2' error 'first'", "print 'x'")]
        self.assertEqual([self.reply_to(r)["content"]["status"] for r in requests], ["error", "ok"])
        for _ in range(20):  # sent as soon as the error is known
            self.assertEqual(self.reply_to(self.send("error 'again'"))["content"]["status"], "error")
            self.assertEqual(self.reply_to(self.send("1"))["content"]["status"], "ok")


class Bars(WithKernel):
    """np.progress: one display for a loop, which changes."""

    def bars(self, code):
        """The texts that the displays of a cell have had, by display_id, and what the cell has printed."""
        cell, found = self.run_cell(code), {}
        for message in cell.messages:
            if message["msg_type"] in ("display_data", "update_display_data"):
                content = message["content"]
                known = content["transient"]["display_id"]
                self.assertEqual(known in found, message["msg_type"] == "update_display_data")
                found.setdefault(known, []).append(content["data"]["text/plain"])
        return list(found.values()), cell

    def test_loop(self):
        found, cell = self.bars("for i in np.progress(4, {mininterval=0}) do print(i) end print('end')")
        self.assertEqual([re.match(r" *\d+%\|", text)[0].strip() for text in found[0]],
                         ["0%|", "25%|", "50%|", "75%|", "100%|", "100%|"])
        self.assertEqual((len(found), cell.text(), cell.text("stderr")), (1, "1\n2\n3\n4\nend\n", ""))

    def test_nested_loops_with_arrays(self):
        found, _ = self.bars("for i in np.progress(2, {desc='outer'}) do "
                             "local bar = np.progress(2, {desc='inner', mininterval=0}) "
                             "for j in bar do bar:set_postfix{loss=np.array(i + j) * 2, on=np.array{true}} end end")
        self.assertEqual(len(found), 1)
        self.assertTrue(any(re.fullmatch(r"outer: +50%.*\ninner: +50%.*, loss=6, on=1\]", text) for text in found[0]))
        self.assertRegex(found[0][-1], r"^outer: 100%[^\n]*$")

    def test_loops_that_are_left(self):
        """The bar of one stays as it was, and is nothing to later cells."""
        for how in ("break", "error 'x'"):
            found, _ = self.bars(f"for i in np.progress(5) do if i == 3 then {how} end end")
            self.assertRegex(found[0][-1], r"^ 40%.*\| 2/5 ")
            found, cell = self.bars("print(1)")
            self.assertEqual((found, cell.text("stderr")), ([], ""))

    def test_bar_of_an_earlier_cell(self):
        """One that is closed in a later cell is shown there."""
        self.bars("bar = np.progress(10) bar:update(4)")
        found, _ = self.bars("bar:close()")
        self.assertRegex(found[0][-1], r"^ 40%.*\| 4/10 ")


class TestNames(WithKernel):
    """No name of the user's reaches the kernel: tests/lib/ruin.lua gives them wrong values."""

    KINDS = ["any", "nil", "number", "string", "table", "function", "array", "np.table"]
    CELLS = ["1 + 1", "{1, {2, 'a'}, b = x}", "x", "lib.table{a = {1, 2}}", "local y = x * 2; y:sum()", "_",
             "x:reshape(2, 2)", "nosuchvariable", "x = = 1", "lib.display('one', {display_id = 'd'})",
             "lib.jit(function(v) return v * 2 end)(x)", "?np.arange", "!echo shell"]

    def answers(self):
        """What cells and other requests lead to, without the numbers of cells."""
        found = []
        for code in self.CELLS:
            cell = self.run_cell(code, user_expressions={"sum": "x:sum()"})
            contents = [m["content"] for m in cell.messages if m["msg_type"] not in ("status", "execute_input")]
            found.append([code, cell.kinds, contents, cell.reply])
        for request in (self.kc.complete("lib.linsp"), self.kc.inspect("np.zeros"), self.kc.is_complete("for k = 1"),
                        self.kc.kernel_info(), self.kc.comm_info()):
            found.append(self.reply_to(request)["content"])
        text = json.dumps(found, sort_keys=True)
        return re.sub(r'\[\d+\]:|"execution_count": \d+', "", text).split("], [")

    def test_names(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib/ruin.lua")
        self.run_cell(f"local ruin, lib, x = dofile '{path}', np, np.arange(3)")
        expected = self.answers()
        for code in [f"ruin.all '{kind}'" for kind in self.KINDS] + ["type = 'cat'", "next = 5", "debug = true",
                                                                     "table = np.table{a = {1, 2}}", "math = 90"]:
            self.run_cell(code)
            self.assertEqual(self.answers(), expected, code)
            self.assertEqual(self.run_cell("ruin.restore()").reply["status"], "ok")


class Questions(WithKernel):
    def answer(self, text, password=False, prompt=""):
        question = self.kc.get_stdin_msg(timeout=TIMEOUT)
        self.assertEqual(question["content"], {"prompt": prompt, "password": password})
        self.kc.input(text)

    def test_reading(self):
        request = self.send("print(io.read() .. '!')", allow_stdin=True)
        self.answer("näme")
        self.assertEqual(self.finish(request).text(), "näme!\n")
        request = self.send("print(np.input('secret? ', {password=true}))", allow_stdin=True)
        self.answer("s", True, "secret? ")
        self.assertEqual(self.finish(request).text(), "s\n")
        request = self.send("print(io.read('*n', '*n'))", allow_stdin=True)
        self.answer("3 4.5")
        self.assertEqual(self.finish(request).text(), "3\t4.5\n")
        request = self.send("for line in io.lines() do print(line) if line == 'b' then break end end",
                            allow_stdin=True)
        self.answer("a")
        self.answer("b")
        self.assertEqual(self.finish(request).text(), "a\nb\n")

    def test_commands_at_a_breakpoint_take_no_numbers(self):
        count = self.run_cell("1").reply["execution_count"]
        request = self.send("np.breakpoint();\n'of the cell'", allow_stdin=True)
        for command in ("2 + 3", "_ + 1", "error 'oops'", "function of_breakpoint() error 'inside' end", ":c"):
            self.answer(command, prompt="(breakpoint) ")
        cell = self.finish(request)
        self.assertEqual(cell.reply["execution_count"], count + 1)
        self.assertIn("\n5\n6\n", cell.text())
        self.assertIn(f"[{count + 1}.3]:1: oops", cell.text("stderr"))
        cell = self.run_cell(f"_ == 'of the cell', _ == Out[{count + 1}]")
        self.assertEqual(cell.reply["execution_count"], count + 2)
        self.assertEqual(cell.of("execute_result")[0]["data"]["text/plain"], "true\ntrue")
        self.assertIn(f"[{count + 1}.4]:1: inside", self.run_cell("of_breakpoint()").reply["evalue"])

    def test_breakpoint(self):
        self.run_cell("f = np.jit(function(x) local y = x * 2 np.breakpoint() return y end)")
        for code in "print(f(np.ones(2)))", "local y = np.ones(2) * 2 np.breakpoint() print(y)":
            request = self.send(code, allow_stdin=True)
            for command in "for k = 1, 1 do", "print('more', y) end", "y", "misspelt", ":c":
                prompt = ">> " if command.startswith("print") else "(breakpoint) "
                self.answer(command, prompt=prompt)
            cell = self.finish(request)
            self.assertRegex(cell.text(), r"breakpoint at .*\nmore\t\[2\. 2\.\]\n\[2\. 2\.\]  f32\[2\]\n\[2\. 2\.\]\n$")
            self.assertIn("the variable 'misspelt' has no value", cell.text("stderr"))
        request = self.send("f(np.ones(2)):wait()", allow_stdin=True)
        self.answer(":q", prompt="(breakpoint) ")
        self.assertEqual(self.finish(request).reply["ename"], "Interrupted")
        cell = self.run_cell("np.breakpoint() np.breakpoint() print(f(np.ones(2)))", allow_stdin=False)
        self.assertRegex(cell.text(), r"^breakpoint at [^\n]*\n\[2\. 2\.\]\n$")
        self.assertEqual(cell.text("stderr").count("breakpoints are passed from here on: "), 1)

    def test_no_editor(self):
        self.assertIn("needs a terminal", self.run_cell(":edit").reply["evalue"])

    def test_not_allowed(self):
        cell = self.run_cell("io.read()", allow_stdin=False)
        self.assertIn("allow_stdin", cell.reply["evalue"])

    def test_interrupted(self):
        request = self.send("io.read()", allow_stdin=True)
        self.kc.get_stdin_msg(timeout=TIMEOUT)
        self.km.interrupt_kernel()
        self.assertEqual(self.finish(request).reply["ename"], "Interrupted")
        self.kc.input("too late")
        self.check_alive()


class Interrupts(WithKernel):
    BUSY = {
        "a compiled loop": "print 'on' local n = 0 while true do n = n + 1 end",
        "a loop with arrays": "print 'on' local x = np.ones(10) while true do x = x + 1 end",
        "a callback": "np.callback(function() print 'on' while true do end end)() np.effects_barrier()",
        "a child": "print 'on' os.execute 'sleep 1000'",
        "protected code": "print 'on' while true do pcall(function() while true do end end) end",
        "a loop of prints": "while true do print 'on' end",
    }

    def interrupt(self, how):
        for name, code in self.BUSY.items():
            with self.subTest(name):
                request = self.send(code)
                self.wait_for_text("on\n")
                time.sleep(0.05)
                how()
                cell = self.finish(request)
                self.assertEqual((cell.reply["status"], cell.reply["ename"]), ("error", "Interrupted"))
                self.assertEqual(len(cell.of("error")), 1)
                self.check_alive()

    def test_by_signal(self):
        self.interrupt(self.km.interrupt_kernel)

    def test_by_message(self):
        self.interrupt(self.by_message)

    def test_while_idle(self):
        for how in (self.km.interrupt_kernel, self.by_message):
            how()
            time.sleep(0.1)
            self.check_alive()

    def test_work_that_a_cell_has_left(self):
        """One interrupt says that work goes on, the next one gives it up; the kernel and its variables live. However
        soon behind the cell's end they come, by a signal and by a message."""
        self.run_cell("""
            kept = 5
            loop = np.jit(function(x)
                return np.while_loop(function(s) return s:lt(1e9) end, function(s) return s + 1 end, x)
            end)
        """)
        rng = random.Random(11)
        for how in (self.km.interrupt_kernel, self.by_message) * 15:
            delay = rng.choice([0, rng.uniform(0, 0.001), rng.uniform(0, 0.02)])
            with self.subTest(how=how.__name__, delay=delay):
                self.run_cell("y = loop(np.array(0.0))")
                time.sleep(delay)
                how()
                self.wait_for_text("work goes on")
                how()
                self.wait_for_text("given up")
                self.assertIn("interrupted", self.run_cell("y:item()").reply["evalue"])
        self.assertEqual(self.run_cell("print(kept)").text(), "5\n")

    def test_as_a_cell_begins(self):
        """An interrupt behind a cell's "busy" stops the cell, wherever its beginning has come."""
        rng = random.Random(12)
        for how in (self.km.interrupt_kernel, self.by_message) * 15:
            delay = rng.choice([0, rng.uniform(0, 0.001), rng.uniform(0, 0.02)])
            with self.subTest(how=how.__name__, delay=delay):
                request = self.send("while true do end")
                while self.kc.get_iopub_msg(timeout=TIMEOUT)["parent_header"].get("msg_id") != request:
                    pass
                time.sleep(delay)
                how()
                self.assertEqual(self.finish(request).reply["ename"], "Interrupted")

    def test_heartbeat_during_a_loop(self):
        request = self.send("print 'on' while true do end")
        self.wait_for_text("on\n")
        beat = zmq.Context.instance().socket(zmq.REQ)
        beat.connect(f"tcp://{self.km.ip}:{self.km.hb_port}")
        for text in (b"ping", b"", b"x" * 100000):
            beat.send(text)
            self.assertTrue(beat.poll(TIMEOUT * 1000))
            self.assertEqual(beat.recv(), text)
        beat.close(0)
        self.km.interrupt_kernel()
        self.finish(request)


class Lives(unittest.TestCase):
    """Starting, ending, and kernels whose end is not asked for."""

    def start(self, **options):
        km, kc = start_kernel(**options)
        self.addCleanup(km.shutdown_kernel, now=True)
        self.addCleanup(kc.stop_channels)
        return km, kc

    def test_restart(self):
        km, kc = self.start()
        kc.execute_interactive("x_kept = 1", timeout=TIMEOUT)
        kc.execute("while true do end")  # shutting down stops what runs
        km.restart_kernel()
        kc.wait_for_ready(timeout=TIMEOUT)
        found = []
        kc.execute_interactive("rawget(_G, 'x_kept')", timeout=TIMEOUT, output_hook=found.append)
        texts = [m["content"]["data"]["text/plain"] for m in found if m["msg_type"] == "execute_result"]
        self.assertEqual(texts, ["nil"])

    def test_shutdown(self):
        for code in (None, "while true do end", "os.execute 'sleep 1000'", "pcall(io.read)"):
            with self.subTest(code):
                km, kc = self.start()
                if code:
                    kc.execute(code)
                    time.sleep(0.3)
                kc.control_channel.send(kc.session.msg("shutdown_request", {"restart": False}))
                self.assertEqual(kc.get_control_msg(timeout=TIMEOUT)["content"], {"status": "ok", "restart": False})
                self.assertEqual(km.provisioner.process.wait(TIMEOUT), 0)

    def test_finalizers(self):
        """They run at each end that is in order, and one without end ends nevertheless."""
        ends = {"exit": lambda km, kc: kc.execute("exit"),
                "os.exit(0, true)": lambda km, kc: kc.execute("os.exit(0, true)"),
                "shutdown": lambda km, kc: km.shutdown_kernel(), "restart": lambda km, kc: km.restart_kernel(),
                "restart of a loop": lambda km, kc: (kc.execute("while true do end"), km.restart_kernel())}
        for name, end in ends.items():
            for forever in ("", "while true do end"):
                with self.subTest((name, forever)), tempfile.TemporaryDirectory() as folder:
                    km, kc = self.start()
                    process, path = km.provisioner.process, folder + "/notes"
                    kc.execute_interactive("KEPT = io.open('%s', 'w') KEPT:write 'tail ' OBJECT = newproxy(true) "
                                           "getmetatable(OBJECT).__gc = function() KEPT:write 'gc' KEPT:flush() %s end"
                                           % (path, forever), timeout=TIMEOUT)
                    end(km, kc)
                    process.wait(TIMEOUT)
                    with open(path) as notes:
                        self.assertEqual(notes.read(), "tail gc")

    def test_exit_in_a_cell(self):
        """It is answered, as IPython's exit is, behind all that it has shown."""
        show = "print(np.ones(2)) np.display('shown') "
        cases = {"exit": 0, "quit": 0, "exit()": 0, show + "os.exit(3)": 3, show + "os.exit(false) error 'no'": 1,
                 show + "np.callback(function() os.exit(4) end)(np.debug.sleep(np.ones(1), 50))": 4}
        for code, status in cases.items():
            with self.subTest(code):
                km, kc = self.start()
                request = kc.execute(code)
                reply = kc.get_shell_msg(timeout=TIMEOUT)
                self.assertEqual(reply["parent_header"]["msg_id"], request)
                self.assertEqual(reply["content"], {
                    "status": "ok", "execution_count": 1, "user_expressions": {},
                    "payload": [{"source": "ask_exit", "keepkernel": False}],
                })
                self.assertEqual(km.provisioner.process.wait(TIMEOUT), status)
                shown, state = [], None
                while state != "idle":
                    message = kc.get_iopub_msg(timeout=TIMEOUT)
                    if message["parent_header"].get("msg_id") == request:
                        shown.append(message)
                        state = message["content"].get("execution_state")
                kinds = [message["msg_type"] for message in joined(shown)]
                self.assertEqual(kinds, ["status", "execute_input"] + ["stream", "display_data"] * (show in code)
                                 + ["status"])

    def test_starter_is_killed(self):
        """A kernel ends when the process is gone that has started it, also one that computes."""
        text = ("import sys, time\n"
                "from jupyter_client.manager import start_new_kernel\n"
                "km, kc = start_new_kernel(kernel_name='neap', startup_timeout=60)\n"
                "kc.execute(sys.argv[1])\n"
                "while kc.get_iopub_msg()['msg_type'] != 'stream': pass\n"
                "print(km.provisioner.pid, flush=True)\n"
                "time.sleep(600)\n")
        starters, kernels = [], []
        for code in ("print 'on'", "print 'on' while true do end", "print 'on' os.execute 'sleep 1000'",
                     "print 'on' while true do pcall(function() while true do end end) end"):
            starters.append(subprocess.Popen([sys.executable, "-c", text, code], stdout=subprocess.PIPE, text=True))
            self.addCleanup(starters[-1].stdout.close)
            self.addCleanup(starters[-1].wait)
            self.addCleanup(starters[-1].kill)
            kernels.append(int(starters[-1].stdout.readline()))  # in turn, as two might choose the same free port
        for starter in starters:
            starter.kill()
        end = time.monotonic() + TIMEOUT
        while any(map(is_running, kernels)):
            self.assertLess(time.monotonic(), end, f"these run still: {[pid for pid in kernels if is_running(pid)]}")
            time.sleep(0.1)

    def held_port(self):
        """A manager of a kernel, one of whose ports is held by a socket."""
        km = KernelManager(kernel_name="neap", cache_ports=False)
        km.write_connection_file()
        self.addCleanup(km.cleanup_connection_file)
        held = socket.socket()
        self.addCleanup(held.close)
        held.bind((km.ip, km.stdin_port))
        return km, held

    def test_port_that_becomes_free(self):
        km, held = self.held_port()
        km.start_kernel()
        self.addCleanup(km.shutdown_kernel, now=True)
        time.sleep(0.5)
        self.assertTrue(km.is_alive())
        held.close()
        kc = km.client()
        kc.start_channels()
        self.addCleanup(kc.stop_channels)
        kc.wait_for_ready(timeout=TIMEOUT)

    def test_port_that_stays_taken(self):
        km, _ = self.held_port()
        km.start_kernel(stderr=subprocess.PIPE)
        process = km.provisioner.process
        self.assertEqual(process.wait(TIMEOUT), 1)
        with process.stderr:
            self.assertEqual(process.stderr.read().decode(),
                             "kernel: cannot bind the stdin channel to "
                             f"tcp://{km.ip}:{km.stdin_port}: Address already in use\n")

    def test_exit_behind_a_cell(self):
        """In a callback that comes late: what is printed before it comes out, and nobody gets a second answer."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        km, kc = self.start()
        request = kc.execute("io.stderr:write 'on' "
                             "np.callback(function() print 'late' os.exit(5) end)(np.debug.sleep(np.ones(1), 3000)) "
                             f"io.open('{folder.name}/called', 'w'):close() while true do end")
        text = ""
        while "late\n" not in text:
            message = kc.get_iopub_msg(timeout=TIMEOUT)
            if message["msg_type"] == "stream":
                self.assertEqual(message["parent_header"]["msg_id"], request)
                text += message["content"]["text"]
                if text == "on":
                    deadline = time.time() + TIMEOUT
                    while not os.path.exists(f"{folder.name}/called"):  # a text would wait for the callback
                        self.assertLess(time.time(), deadline)
                        time.sleep(0.01)
                    km.interrupt_kernel()
                    self.assertEqual(kc.get_shell_msg(timeout=TIMEOUT)["content"]["ename"], "Interrupted")
        self.assertEqual(km.provisioner.process.wait(TIMEOUT), 5)

    def test_no_exit(self):
        """A variable of that name, and what is no exit status."""
        _, kc = self.start()
        for code, status in {"local exit = 5": "ok", "exit": "ok", "os.exit 'x'": "error", "1": "ok"}.items():
            kc.execute(code)
            reply = kc.get_shell_msg(timeout=TIMEOUT)["content"]
            self.assertEqual((reply["status"], reply.get("payload", [])), (status, []), code)


class History(unittest.TestCase):
    """What earlier sessions have run, as IPython answers. Each test has a folder for it of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.environment = {**os.environ, "XDG_STATE_HOME": folder.name}
        self.path = folder.name + "/neap/notebook_history"

    def kernel(self):
        """A kernel, and what it answers: history(how, …), execute(code)."""
        km, kc = start_kernel(env=self.environment)
        self.addCleanup(km.shutdown_kernel, now=True)
        self.addCleanup(kc.stop_channels)
        return kc

    def execute(self, kc, *codes, **options):
        for code in codes:
            kc.execute(code, **options)
            self.assertEqual(kc.get_shell_msg(timeout=TIMEOUT)["content"]["status"], "ok")

    def history(self, kc, how="tail", **content):
        kc.history(hist_access_type=how, **{"n": 100, "output": False, **content})
        return [tuple(entry) for entry in kc.get_shell_msg(timeout=TIMEOUT)["content"]["history"]]

    def test_sessions(self):
        first = self.kernel()
        self.execute(first, "a = 1", "'é\\n' .. [[\n]]")
        self.execute(first, "'silent'", silent=True)
        self.execute(first, "'not kept'", store_history=False)
        second = self.kernel()
        self.execute(second, "a = 2")
        self.execute(first, "a = 3")  # beside the second one
        third = self.kernel()
        self.execute(third, "a = 4", "2 * 3")
        before = [(1, 1, "a = 1"), (1, 2, "'é\\n' .. [[\n]]"), (2, 1, "a = 2"), (1, 3, "a = 3")]
        own = [(3, 1, "a = 4"), (3, 2, "2 * 3")]
        self.assertEqual(self.history(third), before + own)
        self.assertEqual(self.history(third, raw=False), before + own)
        self.assertEqual(self.history(third, n=3), [(1, 3, "a = 3")] + own)
        self.assertEqual(self.history(third, "range", session=0, start=1, stop=None), own)
        self.assertEqual(self.history(third, "range", session=-1, start=0, stop=10), [(2, 1, "a = 2")])
        self.assertEqual(self.history(third, "range", session=1, start=2, stop=3), before[1:2])
        self.assertEqual(self.history(third, "range", session=7, start=1, stop=3), [])
        self.assertEqual(self.history(third, "search", pattern="a = ?", n=2), [(1, 3, "a = 3"), (3, 1, "a = 4")])
        self.assertEqual(self.history(third, "search", pattern="*=*[[]*"), [])
        self.assertEqual(self.history(third, output=True, n=3),
                         [(1, 3, ["a = 3", None]), (3, 1, ["a = 4", None]), (3, 2, ["2 * 3", "6"])])
        self.assertEqual(self.history(first), [entry for entry in before if entry[0] == 1])
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)

    def test_blank_cells(self):
        """They count for nothing."""
        kc = self.kernel()
        self.execute(kc, "a = 1", "", "  \n\t\n", "a = 2")
        self.assertEqual(self.history(kc), [(1, 1, "a = 1"), (1, 2, "a = 2")])
        self.execute(kc, " ", store_history=False)
        self.execute(kc, "a = 3")
        self.assertEqual(self.history(kc)[2:], [(1, 3, "a = 3")])

    def test_ranges(self):
        """As slices of Python's lists that have an item 0 in front."""
        kc = self.kernel()
        codes = [f"a = {k}" for k in range(1, 6)]
        self.execute(kc, *codes)
        for start in (*range(-7, 8), None):
            for stop in (*range(-7, 8), None):
                cells = [(1, k, code) for k, code in enumerate(codes, 1)]
                first = 1 if start is None else start if start >= 0 else start + 6
                last = 6 if not stop else stop if stop > 0 else stop + 6
                self.assertEqual(self.history(kc, "range", session=0, start=start, stop=stop),
                                 [cell for cell in cells if first <= cell[1] < last], (start, stop))
        self.assertEqual(self.history(self.kernel(), "range", session=-1, start=-2, stop=None), cells[3:])

    def test_unique(self):
        kc = self.kernel()
        self.execute(kc, "'x'", "'y'", "'x'")
        found = self.history(kc, "search", pattern="'?'", unique=True)
        self.assertEqual(found, [(1, 2, "'y'"), (1, 3, "'x'")])

    def test_odd_files(self):
        os.mkdir(os.path.dirname(self.path))
        with open(self.path, "wb") as file:
            file.write(b'\xff\0\n[]\n{"session":"x"}\n{"session":4,"number":1,"input":"old"}\n{"session":5,"numb')
        self.assertEqual(self.history(self.kernel()), [(4, 1, "old")])
        with open(self.path, "w", encoding="utf-8") as file:
            for number in range(1, 20002):
                file.write(json.dumps({"session": 8, "number": number, "input": f"x = {number}"}) + "\n")
        kc = self.kernel()
        self.assertEqual(self.history(kc, n=2), [(8, 20000, "x = 20000"), (8, 20001, "x = 20001")])
        self.execute(kc, "y = 1")
        with open(self.path, encoding="utf-8") as file:
            lines = file.readlines()
        self.assertEqual(len(lines), 10002)
        self.assertEqual(json.loads(lines[-1]), {"session": 9, "number": 1, "input": "y = 1"})

    def test_no_file(self):
        self.environment["XDG_STATE_HOME"] = "/dev/null/nowhere"
        kc = self.kernel()
        self.execute(kc, "z = 1")
        self.assertEqual(self.history(kc), [(1, 1, "z = 1")])


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # interrupts are for kernels
    counted.main(verbosity=2)
