"""Runs the tests of a file as unittest.main does, and adds a line "N passed, N failed, N skipped" to the file that
NEAP_TEST_COUNTS names, from which notebook_test.sh makes its last line."""
import ctypes
import os
import signal
import sys
import unittest

import ports

PR_SET_PDEATHSIG = 1


class Counted(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def end_with_parent():
    """Lets this process end when the one is killed that has started it. Kernels do so by themselves; a child of another
    kind calls this before it begins."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def main(**options):
    end_with_parent()
    ports.stay_low()
    runner = unittest.TextTestRunner(resultclass=Counted, verbosity=options.pop("verbosity", 1))
    result = unittest.main("__main__", testRunner=runner, exit=False, **options).result
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    if "NEAP_TEST_COUNTS" in os.environ:
        with open(os.environ["NEAP_TEST_COUNTS"], "a", encoding="utf-8") as file:
            file.write(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped\n")
    sys.exit(failed > 0)
