"""A notebook in JupyterLab, as a reader has it: a headless Chromium opens the page, types, presses keys, and looks at
what the page shows. NEAP_LAB_SCREENSHOT names a file for a picture of the page at the end.
"""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

import counted
from playwright.sync_api import sync_playwright

TIMEOUT = 60  # seconds for whatever is waited for: the machine may be busy
CHROMIUM = shutil.which("chromium")
CELLS = {
    "text": "for k = 1, 3 do print(k, np.arange(k)) end",
    "table": "np.table{name={'Ada', 'Grace'}, born={1815, 1906}}",
    "svg": "np.plot.line({1, 4, 9, 16}, {label='squares'}):title('in the page')",
    "png": "np.display{['image/png'] = np.plot.bar({'a', 'b'}, {3, 5}):png(60)}",
    "interact": "np.interact(function(n, name) print('n is', n) np.plot.line(np.arange(n)):title(name) end,"
                " {n={2, 50, value=9}, name='a name'})",
    "error": "np.ones(2) + np.ones(3)",
    "loop": "kept = 'before' print 'runs' while true do end",
    "after": "print('again', kept)",
}
OPTIONS = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0",
           "--LabApp.extension_manager=readonly"]
# The settings by which the page does not ask whether it may fetch news.
NEWS = pathlib.Path("@jupyterlab", "apputils-extension", "notification.jupyterlab-settings")


def notebook():
    cells = [{"cell_type": "code", "id": name, "metadata": {}, "source": code, "outputs": [], "execution_count": None}
             for name, code in CELLS.items()]
    kernel = {"name": "neap", "display_name": "neap", "language": "lua"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def picture_text(source):
    """The text of a picture's file, which a page has as its address."""
    head, comma, data = source.partition(",")
    if not comma or not head.startswith("data:"):
        return source
    return base64.b64decode(data).decode() if head.endswith("base64") else urllib.parse.unquote(data)


class Server:
    """JupyterLab on a folder, of which nothing stays."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        home = pathlib.Path(self.folder.name)
        (home / "work").mkdir()
        (home / "settings" / NEWS.parent).mkdir(parents=True)
        (home / "settings" / NEWS).write_text('{"fetchNews": "false", "checkForUpdates": false}', encoding="utf-8")
        (home / "work" / "first.ipynb").write_text(json.dumps(notebook()), encoding="utf-8")
        places = {"HOME": home, "JUPYTER_CONFIG_DIR": home / "config", "JUPYTER_DATA_DIR": home / "data",
                  "JUPYTER_RUNTIME_DIR": home / "run", "JUPYTERLAB_SETTINGS_DIR": home / "settings",
                  "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces"}
        environment = {**os.environ, **{name: str(path) for name, path in places.items()}}
        self.log = open(home / "log", "w+", encoding="utf-8")
        self.process = subprocess.Popen([sys.executable, "-m", "jupyterlab", *OPTIONS], cwd=home / "work",
                                        env=environment, stdout=self.log, stderr=subprocess.STDOUT,
                                        preexec_fn=counted.end_with_parent)
        self.runs = home / "run"

    def told(self):
        self.log.seek(0)
        return self.log.read()

    def address(self):
        """Waits until the server says where it is; returns the notebook's address."""
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end and self.process.poll() is None:
            for path in self.runs.glob("jpserver-*.json"):
                try:
                    said = json.loads(path.read_text(encoding="utf-8"))
                except ValueError:  # it is written right now
                    continue
                return f"{said['url']}lab/tree/first.ipynb?token={said['token']}&reset"
            time.sleep(0.1)
        raise AssertionError("JupyterLab does not start:\n" + self.told())

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()


class Lab(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)
        cls.player = sync_playwright().start()
        cls.addClassCleanup(cls.player.stop)
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has none for root
        cls.browser = cls.player.chromium.launch(executable_path=CHROMIUM, args=sandbox, timeout=TIMEOUT * 1000)
        cls.addClassCleanup(cls.browser.close)
        cls.page = cls.browser.new_page(viewport={"width": 1100, "height": 2200})
        cls.page.set_default_timeout(TIMEOUT * 1000)
        cls.page.goto(cls.server.address(), timeout=TIMEOUT * 1000)
        cls.status("Idle")

    @classmethod
    def status(cls, text):
        cls.page.locator(f"#jp-main-statusbar :text('neap | {text}')").wait_for()

    def cell(self, name):
        return self.page.locator(".jp-Notebook .jp-Cell").nth(list(CELLS).index(name))

    def run_cell(self, name):
        """Presses Shift+Enter in a cell; returns where its outputs are shown."""
        cell = self.cell(name)
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        return cell.locator(".jp-Cell-outputArea")

    def finished(self, name):
        """Runs a cell until it has its number."""
        outputs = self.run_cell(name)
        self.cell(name).locator(".jp-InputPrompt", has_text=re.compile(r"\[\d+\]:")).first.wait_for()
        return outputs

    def test_page(self):
        """One test, since a page is opened once: cells, completion, an interrupt, a restart."""
        self.assertEqual(self.finished("text").inner_text().strip(), "1\t[0]\n2\t[0 1]\n3\t[0 1 2]")
        table = self.finished("table").locator("table")
        self.assertIn("Grace", table.inner_text())
        self.check_pictures()
        self.check_interaction()
        error = self.finished("error")
        self.assertIn("np.add", error.inner_text())
        self.assertGreater(error.locator(".ansi-red-fg").count(), 0)
        self.check_completion()
        self.check_interrupt_and_restart()

    def tearDown(self):
        if "NEAP_LAB_SCREENSHOT" in os.environ:
            self.page.screenshot(path=os.environ["NEAP_LAB_SCREENSHOT"])

    def check_pictures(self):
        """A picture has a size in the page only if the browser could draw it."""
        for name in ("svg", "png"):
            picture = self.finished(name).locator("img, svg").first
            picture.wait_for()
            box = picture.bounding_box()
            self.assertGreater(box["width"], 100, name)
            self.assertGreater(box["height"], 100, name)

    def check_interaction(self):
        """A slider that is drawn along by the mouse, and by keys, and a text that is typed: the picture is another."""
        outputs = self.finished("interact")
        output = outputs.locator(".jupyter-widgets-output-area, .jp-OutputArea").last
        output.locator(":text('n is\t9')").wait_for()

        def picture():
            return output.locator("img, svg").first.evaluate("e => e.src || e.outerHTML")

        first = picture()
        slider = outputs.locator(".noUi-handle").first
        box = slider.bounding_box()
        self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.page.mouse.down()
        for step in range(1, 31):
            self.page.mouse.move(box["x"] + box["width"] / 2 + 2 * step, box["y"] + box["height"] / 2)
        self.page.mouse.up()
        readout = outputs.locator(".widget-readout").first
        output.locator(":text('n is\t9')").wait_for(state="detached")
        number = readout.inner_text()
        self.assertGreater(int(number), 15)
        output.locator(f":text('n is\t{number}')").wait_for()
        second = picture()
        self.assertNotEqual(first, second)
        slider.press("ArrowRight")
        output.locator(f":text('n is\t{int(number) + 1}')").wait_for()
        outputs.locator("input[type=text]").fill("another name")
        self.page.wait_for_timeout(100)
        outputs.locator("input[type=text]").press("Enter")
        deadline = time.monotonic() + TIMEOUT
        while "another name" not in picture_text(picture()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        if "NEAP_LAB_SCREENSHOT" in os.environ:
            self.cell("interact").screenshot(path=os.environ["NEAP_LAB_SCREENSHOT"].replace(".png", "-interact.png"))

    def check_completion(self):
        """Tab behind `np.lins` offers one name, which Enter takes; Tab behind `np.io.` lists what there is."""
        editor = self.cell("after").locator(".cm-content")
        editor.click()
        self.page.keyboard.press("Control+End")
        self.page.keyboard.type(" x = np.lins")
        self.page.keyboard.press("Tab")
        self.page.locator(".jp-Completer-item", has_text="linspace").wait_for()
        self.page.keyboard.press("Enter")
        self.page.keyboard.type("(0, 1, 5) np.io.")
        self.page.keyboard.press("Tab")
        self.page.locator(".jp-Completer-item", has_text="read_csv").wait_for()
        self.page.keyboard.press("Escape")
        for _ in "np.io.":
            self.page.keyboard.press("Backspace")
        self.assertIn("x = np.linspace(0, 1, 5)", editor.inner_text())

    def check_interrupt_and_restart(self):
        """A loop is interrupted by the button of the page, what was set stays; a restarted kernel knows nothing."""
        outputs = self.run_cell("loop")
        outputs.locator(":text('runs')").wait_for()
        self.page.locator("[data-command='notebook:interrupt-kernel'], "
                          "[data-jp-item-name='interrupt']").first.click()
        outputs.locator(":text('interrupted')").first.wait_for()
        self.assertIn("again\tbefore", self.finished("after").inner_text())
        self.page.locator("[data-command='notebook:restart-kernel'], [data-jp-item-name='restart']").first.click()
        self.page.locator(".jp-Dialog button", has_text="Restart").click()
        self.status("Idle")
        outputs = self.run_cell("after")
        outputs.locator(":text(\"'kept' has no value\")").wait_for()
        self.cell("after").locator(".jp-InputPrompt", has_text="[1]:").first.wait_for()


if __name__ == "__main__":
    counted.main(verbosity=2)
