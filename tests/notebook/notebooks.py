"""Runs each notebook of docs/notebooks, as a reader does who runs all cells from the top.

A cell says by its tags what it promises: "picture" an SVG or a bitmap, "table" an HTML table. A notebook says in its
metadata which programs it needs (`neap.needs`), and is skipped where one of them is missing.
"""
import pathlib
import queue
import shutil
import tempfile
import time
import unittest

import counted
import nbclient
import nbformat
from jupyter_client.channels import AsyncZMQSocketChannel

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs" / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
TIMEOUT = 120  # of a cell, seconds: the machine may be busy
SLICE = 1  # seconds

wait_at_once = AsyncZMQSocketChannel.get_msg


async def wait_in_slices(channel, timeout=None):
    """AsyncZMQSocketChannel.get_msg, which may sleep to the end of its timeout while a message lies there."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        left = SLICE if end is None else min(SLICE, max(end - time.monotonic(), 0))
        try:
            return await wait_at_once(channel, timeout=left)
        except queue.Empty:
            if end is not None and time.monotonic() >= end:
                raise


AsyncZMQSocketChannel.get_msg = wait_in_slices
PROMISES = {
    "picture": lambda data: any(mime.startswith("image/") for mime in data),
    "table": lambda data: "<table>" in data.get("text/html", ""),
}


def read(path):
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell):
    return [output.data for output in cell.outputs if output.output_type in ("display_data", "execute_result")]


class Notebooks(unittest.TestCase):
    """What was written: before it runs. The tests that run them are added below, one for each."""

    def test_there_are_some(self):
        self.assertGreaterEqual(len(PATHS), 6)

    def test_form(self):
        for path in PATHS:
            with self.subTest(path.name):
                notebook = read(path)
                nbformat.validate(notebook)
                self.assertEqual((notebook.nbformat, notebook.nbformat_minor), (4, 5))
                self.assertEqual(notebook.metadata.kernelspec.name, "neap")
                self.assertEqual(notebook.metadata.kernelspec.language, "lua")
                self.assertEqual(len({cell.id for cell in notebook.cells}), len(notebook.cells))
                self.assertIn(len(notebook.cells), range(8, 16))
                self.assertRegex(notebook.cells[0].source, r"\A# ")
                self.assertIn("## Exercises", notebook.cells[-1].source)
                promised = set()
                for cell in code_cells(notebook):
                    self.assertEqual(cell.outputs, [], cell.id)
                    self.assertIsNone(cell.execution_count, cell.id)
                    promised.update(cell.metadata.get("tags", []))
                self.assertTrue(promised, "no cell promises a picture or a table")
                self.assertLessEqual(promised, set(PROMISES))

    def test_the_page_lists_them(self):
        page = (FOLDER.parent / "notebooks.md").read_text(encoding="utf-8")
        for path in PATHS:
            self.assertIn(f"](notebooks/{path.name})", page)

    def run_notebook(self, path):
        notebook = read(path)
        for program in notebook.metadata.get("neap", {}).get("needs", []):
            if not shutil.which(program):
                self.skipTest(f"{path.name} needs {program}")
        with tempfile.TemporaryDirectory() as folder:  # for the files that its cells write
            nbclient.NotebookClient(notebook, timeout=TIMEOUT, kernel_name="neap", allow_errors=True,
                                    resources={"metadata": {"path": folder}}).execute()
        values = 0
        for cell in code_cells(notebook):
            name = f"{path.name}, cell {cell.id}:\n{cell.source}\n"
            errors = ["\n".join(output.traceback) for output in cell.outputs if output.output_type == "error"]
            self.assertEqual(errors, [], name + "\n".join(errors))
            complaints = [output.text for output in cell.outputs if output.get("name") == "stderr"]
            self.assertEqual(complaints, [], name)
            values += any(output.output_type == "execute_result" for output in cell.outputs)
            for promise in cell.metadata.get("tags", []):
                self.assertTrue(any(map(PROMISES[promise], shown(cell))), name + f"shows no {promise}")
        self.assertGreater(values, 0, "no cell has shown its value")


def test_of(path):
    def test(self):
        self.run_notebook(path)

    test.__doc__ = f"{path.name} runs, and shows what it promises"
    return test


for path in PATHS:
    setattr(Notebooks, "test_" + path.stem.replace("-", "_"), test_of(path))

if __name__ == "__main__":
    counted.main(verbosity=2)
