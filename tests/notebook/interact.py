"""np.interact in notebooks: a front end of few lines takes the messages of widgets, and sends those of a user."""
import os
import queue
import random
import signal
import time

import counted
from clients import WithClients
from kernel import TIMEOUT, WithKernel

VIEW = "application/vnd.jupyter.widget-view+json"


class FrontEnd:
    """The models of a front end, and what their output areas show: as JupyterLab's, by the parents of messages."""

    def __init__(self):
        self.models, self.closed, self.echoes, self.cell = {}, [], [], []

    def take(self, message):
        kind, content = message["msg_type"], message["content"]
        if kind == "comm_open":
            assert message["metadata"]["version"].startswith("2."), message["metadata"]
            assert content["target_name"] == "jupyter.widget"
            self.models[content["comm_id"]] = {"shown": [], "pending": False} | content["data"]["state"]
        elif kind == "comm_msg" and content["data"]["method"] == "update":
            self.models[content["comm_id"]].update(content["data"]["state"])
        elif kind == "comm_msg" and content["data"]["method"] == "echo_update":
            self.echoes.append((content["comm_id"], content["data"]["state"]))
        elif kind == "comm_close":
            self.closed.append(content["comm_id"])
            self.models.pop(content["comm_id"], None)
        elif kind in ("stream", "display_data", "error", "clear_output"):
            self.show(kind, content, message["parent_header"].get("msg_id"))

    def show(self, kind, content, parent):
        area = next((m for m in self.models.values() if m.get("msg_id") == parent and parent), None)
        if not area:
            self.cell.append((kind, content))
        elif kind == "clear_output":
            area["pending"] = content["wait"]
            if not content["wait"]:
                area["shown"] = []
        else:
            if area["pending"]:
                area["shown"], area["pending"] = [], False
            area["shown"].append((kind, content))

    def of(self, name):
        """The ids of the models of a kind."""
        return [key for key, model in self.models.items() if model["_model_name"] == name + "Model"]


class WithWidgets(WithClients):
    def setUp(self):
        self.front = FrontEnd()

    def take_all(self, request):
        for message in self.until_idle(request):
            self.front.take(message)

    def cell(self, code, status="ok"):
        """Runs a cell; its reply."""
        request = self.send(code)
        reply = self.reply_to(request)["content"]
        self.assertEqual(reply["status"], status, reply)
        self.take_all(request)
        return reply

    def message(self, comm, data, kind="comm_msg"):
        """Sends a message of a comm; its id."""
        message = self.kc.session.msg(kind, {"comm_id": comm, "data": data})
        self.kc.shell_channel.send(message)
        return message["header"]["msg_id"]

    def change(self, comm, **state):
        """What a front end does when its user changes a value."""
        self.front.models[comm].update(state)
        request = self.message(comm, {"method": "update", "state": state, "buffer_paths": []})
        self.take_all(request)

    def click(self, comm):
        self.take_all(self.message(comm, {"method": "custom", "content": {"event": "click"}}))

    def shown(self):
        """The text of the output area."""
        (area,) = self.front.of("Output")
        return "".join(c["text"] if kind == "stream" else c["evalue"] if kind == "error" else c["data"]["text/plain"]
                       for kind, c in self.front.models[area]["shown"])


class Controls(WithWidgets):
    def test_all_kinds(self):
        self.cell("print 'before' view = np.interact(function(a, n, kind, on, name) print(a, n, kind, on, name) end,"
                  " {a={0, 10, 0.1}, n={1, 5}, kind={'sin', 'cos'}, on=true, name='text'}) print 'behind'")
        front = self.front
        self.assertEqual([c["text"] for kind, c in front.cell if kind == "stream"], ["before\n", "behind\n"])
        self.assertEqual(self.shown(), "5\t3\tsin\ttrue\ttext\n")
        ((_, display),) = [entry for entry in front.cell if entry[0] == "display_data"]
        box = front.models[display["data"][VIEW]["model_id"]]
        self.assertEqual(box["_model_name"], "VBoxModel")
        self.assertIn("pip install ipywidgets", display["data"]["text/plain"])
        shown = [front.models[child.removeprefix("IPY_MODEL_")] for child in box["children"]]
        self.assertEqual([m["_model_name"] for m in shown],
                         ["FloatSliderModel", "IntSliderModel", "DropdownModel", "CheckboxModel", "TextModel",
                          "OutputModel"])
        self.assertEqual([m.get("description") for m in shown], ["a", "n", "kind", "on", "name", None])
        slider, whole = shown[:2]
        self.assertEqual([slider[k] for k in ("min", "max", "step", "value", "readout_format")], [0, 10, 0.1, 5, ".1f"])
        self.assertEqual([whole[k] for k in ("min", "max", "step", "value", "readout_format")], [1, 5, 1, 3, "d"])
        self.assertEqual(shown[2]["_options_labels"], ["sin", "cos"])
        for model in shown:
            for part in ("layout", "style"):
                if part in model:
                    self.assertIn(model[part].removeprefix("IPY_MODEL_"), front.models)
        self.change(front.of("FloatSlider")[0], value=2.5)
        self.assertEqual(self.shown(), "2.5\t3\tsin\ttrue\ttext\n")
        self.change(front.of("IntSlider")[0], value=4)
        self.change(front.of("Dropdown")[0], index=1)
        self.change(front.of("Checkbox")[0], value=False)
        self.change(front.of("Text")[0], value="é\"")
        self.assertEqual(self.shown(), "2.5\t4\tcos\tfalse\té\"\n")
        self.assertEqual(self.front.echoes[0], (front.of("FloatSlider")[0], {"value": 2.5}))
        self.cell("assert(view.values.kind == 'cos' and view.values.on == false) view:set{a=9.5, kind='sin'}")
        self.assertEqual(self.shown(), "9.5\t4\tsin\tfalse\té\"\n")
        self.assertEqual(front.models[front.of("FloatSlider")[0]]["value"], 9.5)
        self.assertEqual(front.models[front.of("Dropdown")[0]]["index"], 0)
        self.cell("view:close()")
        self.assertEqual(front.models, {})
        self.kc.comm_info()
        self.assertEqual(self.kc.get_shell_msg(timeout=TIMEOUT)["content"]["comms"], {})

    def test_buttons_and_players(self):
        self.cell("view = np.interact(function(all) print(all.t, all.again) end,"
                  " {t=np.widgets.play(0, 9, {interval=50}), again=np.widgets.button{label='new'}})")
        self.assertEqual(self.shown(), "0\t0\n")
        (link,), (play,), (slider,) = (self.front.of(kind) for kind in ("Link", "Play", "IntSlider"))
        self.assertEqual(self.front.models[link]["source"], ["IPY_MODEL_" + play, "value"])
        self.assertEqual(self.front.models[link]["target"], ["IPY_MODEL_" + slider, "value"])
        self.assertEqual(self.front.models[play]["interval"], 50)
        self.change(play, playing=True)
        self.change(play, value=1)
        self.assertEqual(self.shown(), "0\t0\n")  # the front end changes the slider with it
        self.change(slider, value=1)
        self.click(self.front.of("Button")[0])
        self.click(self.front.of("Button")[0])
        self.assertEqual(self.shown(), "1\t2\n")
        self.cell("view:close()")
        self.assertEqual(self.front.models, {})

    def test_manual(self):
        self.cell("view = np.interact(function(a) print(a) end, {a={0, 10}}, {manual=true})")
        self.change(self.front.of("IntSlider")[0], value=7)
        self.assertEqual(self.shown(), "5\n")
        self.click(self.front.of("Button")[0])
        self.assertEqual(self.shown(), "7\n")

    def test_values_and_pictures(self):
        self.cell("view = np.interact(function(n) if n < 3 then return np.arange(n), n end"
                  " np.display{['image/svg+xml']='<svg/>'} end, {n={0, 4}})")
        self.assertEqual(self.shown(), "[0 1]  i32[2]2")
        self.change(self.front.of("IntSlider")[0], value=3)
        (area,) = self.front.of("Output")
        self.assertEqual([c["data"]["image/svg+xml"] for _, c in self.front.models[area]["shown"]], ["<svg/>"])

    def test_no_output(self):
        """What nothing takes the place of goes away, too."""
        self.cell("view = np.interact(function(on) if on then print 'on' end end, {on=true})")
        self.change(self.front.of("Checkbox")[0], value=False)
        self.assertEqual(self.shown(), "")
        self.change(self.front.of("Checkbox")[0], value=True)
        self.assertEqual(self.shown(), "on\n")

    def test_result_is_not_shown_again(self):
        self.cell("np.interact(function(a) print(a) end, {a={0, 10}})")
        self.assertEqual([kind for kind, _ in self.front.cell], ["display_data"])

    def test_front_end_that_is_loaded_anew(self):
        self.cell("view = np.interact(function(a) print(a) end, {a={0, 10}})")
        slider, output = self.front.of("IntSlider")[0], self.front.of("Output")[0]
        self.change(slider, value=8)
        outputs = [{"output_type": "display_data", "data": {"text/plain": "x"}, "metadata": {}}]
        self.change(output, outputs=outputs)
        request = self.message(slider, {"method": "request_state"})
        states = [m["content"]["data"] for m in self.until_idle(request) if m["msg_type"] == "comm_msg"]
        self.assertEqual(states[0]["state"]["value"], 8)
        content = {"comm_id": "c", "target_name": "jupyter.widget.control", "data": {}}
        control = self.kc.session.msg("comm_open", content)
        self.kc.shell_channel.send(control)
        self.assertNotIn("comm_close", [m["msg_type"] for m in self.until_idle(control["header"]["msg_id"])])
        request = self.message("c", {"method": "request_states"})
        (answer,) = [m["content"]["data"] for m in self.until_idle(request) if m["msg_type"] == "comm_msg"]
        self.assertEqual(answer["method"], "update_states")
        self.assertEqual(answer["states"][slider]["model_name"], "IntSliderModel")
        self.assertEqual(answer["states"][slider]["state"]["value"], 8)
        self.assertEqual(answer["states"][output]["state"]["outputs"], outputs)
        self.kc.comm_info(target_name="jupyter.widget")
        comms = self.kc.get_shell_msg(timeout=TIMEOUT)["content"]["comms"]
        self.assertEqual(comms[slider], {"target_name": "jupyter.widget"})
        self.assertNotIn("c", comms)

    def test_front_end_closes(self):
        self.cell("view = np.interact(function(a) print(a) end, {a={0, 10}})")
        (box,), (slider,) = self.front.of("VBox"), self.front.of("IntSlider")
        request = self.message(box, {}, "comm_close")
        self.take_all(request)
        self.assertIn(slider, self.front.closed)
        self.cell("view:set{a=3}")
        self.check_alive()


class Errors(WithWidgets):
    def test_error(self):
        self.cell("view = np.interact(function(a)\n  print(a)\n  local x = a > 7 and np.ones(2) + np.ones(3)\nend,"
                  " {a={0, 10}})")
        slider, output = self.front.of("IntSlider")[0], self.front.of("Output")[0]
        self.change(slider, value=8)
        self.assertRegex(self.shown(), r"^8\n\[\d+\]:3: np\.add")
        (error,) = [c for kind, c in self.front.models[output]["shown"] if kind == "error"]
        self.assertIn("np.ones(2) + np.ones(3)", "\n".join(error["traceback"]))
        self.change(slider, value=2)
        self.assertEqual(self.shown(), "2\n")
        self.check_alive()

    def test_error_of_the_first_call(self):
        self.cell("view = np.interact(function(a) error('no ' .. a) end, {a={0, 10}}) print 'behind'")
        self.assertRegex(self.shown(), r"^\[\d+\]:1: no 5$")
        self.assertEqual([c["text"] for kind, c in self.front.cell if kind == "stream"], ["behind\n"])

    def interrupt_update(self, interrupt):
        self.cell("view = np.interact(function(a) print(a) while a > 7 do end end, {a={0, 10}})")
        slider = self.front.of("IntSlider")[0]
        request = self.message(slider, {"method": "update", "state": {"value": 9}, "buffer_paths": []})
        text = ""
        while "9\n" not in text:  # it runs
            message = self.kc.get_iopub_msg(timeout=TIMEOUT)
            self.front.take(message)
            if message["msg_type"] == "stream":
                text += message["content"]["text"]
        interrupt()
        self.take_all(request)
        self.assertRegex(self.shown(), r"^9\n.*interrupted")
        self.change(slider, value=1)
        self.assertEqual(self.shown(), "1\n")
        self.cell("view:close()")

    def test_interrupts(self):
        for _ in range(3):
            self.interrupt_update(self.km.interrupt_kernel)
            self.interrupt_update(self.by_message)
        self.check_alive()

    def test_interrupts_at_any_moment(self):
        """Wherever an interrupt comes, the next change leads to a call that shows what it should."""
        self.cell("view = np.interact(function(a) print('a', a) return np.array(2 * a) end, {a={0, 1000}})")
        (slider,) = self.front.of("IntSlider")
        draw = random.Random(int(os.environ.get("NEAP_TEST_SEED", 1)))
        for k in range(60):
            request = self.message(slider, {"method": "update", "state": {"value": 2 * k}, "buffer_paths": []})
            time.sleep(draw.uniform(0, 0.006))
            self.km.interrupt_kernel()
            self.take_all(request)
            self.change(slider, value=2 * k + 1)
            if "interrupted" not in self.shown():  # which may have come behind the first call
                self.assertEqual(self.shown(), f"a\t{2 * k + 1}\n{4 * k + 2}.0  f32")
        self.change(slider, value=999)
        self.assertEqual(self.shown(), "a\t999\n1998.0  f32")
        self.check_alive()

    def test_questions_are_refused(self):
        self.cell("view = np.interact(function(on) if not on then np.input '?' end end, {on=true})")
        self.change(self.front.of("Checkbox")[0], value=False)
        self.assertIn("no cell runs that could ask", self.shown())

    def test_arguments(self):
        for code in ("np.interact(3, {a={0, 1}})", "np.interact(print, {})", "np.interact(print, {a={}})",
                     "np.interact(function(a, b) end, {a={0, 1}})", "np.interact(function(a) end, {a=true, b=true})",
                     "np.interact(print, {a={1, 0}})", "np.interact(print, {a={0, 1, 2}})",
                     "np.interact(print, {a={0, 1, value=2}})", "np.interact(print, {a={0, 1, size=2}})",
                     "np.interact(print, {a=np.ones(2)})", "np.interact(print, {true})",
                     "np.interact(print, {a=true}, {manual=1})", "np.widgets.play(0, 1, {interval=0})",
                     "np.widgets.dropdown({}, {})", "np.widgets.dropdown({1, 2}, {value=3})",
                     "np.widgets.slider(0, 0/0)", "np.jit(function(x) np.interact(print, {a=true}) return x end)(1)"):
            error = self.cell("view = " + code, status="error")
            self.assertIn("np.", error["evalue"], code)
        self.assertEqual(self.front.models, {})


class Many(WithWidgets):
    def send_updates(self, count, comms, key="value"):
        """Sends updates to a kernel that stands still; the ids."""
        os.kill(self.km.provisioner.pid, signal.SIGSTOP)
        requests = [self.message(comms[k % len(comms)], {"method": "update", "state": {key: k}, "buffer_paths": []})
                    for k in range(1, count + 1)]
        os.kill(self.km.provisioner.pid, signal.SIGCONT)
        return requests

    def test_200_at_once(self):
        """Few calls, the last of which has the last values of both."""
        self.cell("calls = 0 view = np.interact(function(a, b) calls = calls + 1 print(a, b) end,"
                  " {a={0, 1000}, b={0, 1000}})")
        a, b = self.front.of("IntSlider")
        for request in self.send_updates(200, [a, b]):
            self.take_all(request)
        self.assertEqual(self.shown(), "200\t199\n")
        calls = self.kc.execute("print(calls)")
        text = "".join(m["content"]["text"] for m in self.until_idle(calls) if m["msg_type"] == "stream")
        self.assertLess(int(text), 40)

    def test_every_click_counts(self):
        self.cell("view = np.interact(function(again) print(again) end, {again=np.widgets.button()})")
        (button,) = self.front.of("Button")
        os.kill(self.km.provisioner.pid, signal.SIGSTOP)
        requests = [self.message(button, {"method": "custom", "content": {"event": "click"}}) for _ in range(30)]
        os.kill(self.km.provisioner.pid, signal.SIGCONT)
        for request in requests:
            self.take_all(request)
        self.assertEqual(self.shown(), "30\n")

    def test_cells_between(self):
        """A cell finds what was changed before it, also where the call is put off."""
        self.cell("view = np.interact(function(a) end, {a={0, 1000}})")
        requests = self.send_updates(20, self.front.of("IntSlider"))
        self.cell("assert(view.values.a == 20)")
        self.assertEqual(len(requests), 20)

    def test_60_a_second(self):
        """A function of 10 ms, with changes at 60 a second: what is shown is never far behind."""
        self.cell("view = np.interact(function(a) local t = np.clock() while np.clock() - t < 0.01 do end print(a) end,"
                  " {a={0, 1000}})")
        (slider,) = self.front.of("IntSlider")
        start = time.monotonic()
        for k in range(1, 61):
            time.sleep(max(0, start + k / 60 - time.monotonic()))
            last = self.message(slider, {"method": "update", "state": {"value": k}, "buffer_paths": []})
        sent = time.monotonic()
        messages = []
        while True:  # up to the last one's idle
            message = self.kc.get_iopub_msg(timeout=TIMEOUT)
            messages.append(message)
            if message["msg_type"] == "status" and message["parent_header"].get("msg_id") == last \
                    and message["content"]["execution_state"] == "idle":
                break
        self.assertLess(time.monotonic() - sent, 1)
        for message in messages:
            self.front.take(message)
        self.assertEqual(self.shown(), "60\n")

    def test_endless_messages(self):
        """Messages that follow on each other without end do not keep the function from being called."""
        self.cell("calls = 0 view = np.interact(function(a) calls = calls + 1 end, {a={0, 100000}})")
        (slider,) = self.front.of("IntSlider")
        end, k = time.monotonic() + 1.5, 0
        while time.monotonic() < end:
            k += 1
            self.message(slider, {"method": "update", "state": {"value": k % 1000}, "buffer_paths": []})
            while True:
                try:
                    self.kc.get_iopub_msg(timeout=0)
                except queue.Empty:
                    break
        self.cell("assert(calls > 5, calls)")


class Hostile(WithWidgets):
    def anything(self, draw, depth=0):
        atoms = [None, True, False, 0, -1, 1, 2**63, 1e308, 0.5, "", "x", "\0é", "value", "x" * 3000]
        kind = draw.randrange(8 if depth < 3 else 6)
        if kind < 6:
            return draw.choice(atoms)
        if kind == 6:
            return [self.anything(draw, depth + 1) for _ in range(draw.randrange(4))]
        return {str(draw.choice(atoms)): self.anything(draw, depth + 1) for _ in range(draw.randrange(4))}

    def test_random_messages(self):
        """Messages of any content to comms that are there: values stay those of the controls, and the kernel lives."""
        self.cell("bad = false view = np.interact(function(v) if type(v.a) ~= 'number' or v.a < 0 or v.a > 10"
                  " or v.n % 1 ~= 0 or v.n < 1 or v.n > 5 or not (v.kind == 'sin' or v.kind == 'cos')"
                  " or type(v.on) ~= 'boolean' or type(v.name) ~= 'string' or v.again % 1 ~= 0 then bad = v end end,"
                  " {a={0, 10, 0.1}, n={1, 5}, kind={'sin', 'cos'}, on=true, name='t', again=np.widgets.button(),"
                  " t=np.widgets.play(0, 5)})")
        seed, hours = int(os.environ.get("NEAP_TEST_SEED", 1)), float(os.environ.get("NEAP_TEST_LONG", 0))
        draw, end = random.Random(seed), time.monotonic() + 2 + 3600 * hours
        keys = ["value", "index", "outputs", "playing", "repeat", "msg_id", "_model_name", "children", "layout"]
        comms = list(self.front.models) + ["unknown", None, 3]
        sent = 0
        while time.monotonic() < end:
            state = {key: self.anything(draw) for key in draw.sample(keys, draw.randrange(4))}
            data = {"method": draw.choice(["update", "update", "custom", "request_state", "request_states", 7]),
                    "state": draw.choice([state, state, state, self.anything(draw)]),
                    "content": draw.choice([{"event": "click"}, {"event": self.anything(draw)}, self.anything(draw)])}
            data = draw.choice([data] * 8 + [self.anything(draw)])
            kind = "comm_msg" if draw.randrange(30) else "comm_open"
            message = self.kc.session.msg(kind, {"comm_id": draw.choice(comms), "data": data})
            message["content"]["target_name"] = draw.choice(["jupyter.widget", "jupyter.widget.control", None, {}])
            self.kc.shell_channel.send(message)
            sent += 1
            if sent % 20 == 0:
                self.until_idle(message["header"]["msg_id"])
        self.assertGreater(sent, 100)
        self.cell("assert(not bad) view:close()")
        self.check_alive()


class Missing(WithKernel):
    def test_text_of_a_front_end_without_widgets(self):
        """It shows the text of the display and, as outputs of the cell, what the first call shows."""
        cell = self.run_cell("view = np.interact(function(a) print('a is', a) return np.arange(2) end, {a={0, 10}})")
        texts = [c["data"]["text/plain"] for c in cell.of("display_data")]
        self.assertEqual(len(texts), 2)
        self.assertIn("shows no widgets", texts[0])
        self.assertEqual(texts[1], "[0 1]  i32[2]")
        self.assertEqual(cell.text(), "a is\t5\n")
        self.assertNotIn("clear_output", cell.kinds)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # interrupts are for kernels
    counted.main(verbosity=2)
