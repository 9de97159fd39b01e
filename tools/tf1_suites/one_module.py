"""Runs the tests of a module and writes a line of JSON for each: `one_module.py MODULE RESULTS`.

It runs under `actorflow tf` and under the Python of TensorFlow 1.15, so it is written for both.
"""

import importlib
import json
import sys
import traceback
import unittest
from typing import Any, Dict, TextIO, Tuple  # noqa: UP035


class Results(unittest.TestResult):
    """Writes each test's state as soon as it ends, so that those of a process that is stopped are not lost."""

    def __init__(self, file: TextIO) -> None:
        super().__init__()
        self.file = file
        self.states: Dict[str, Tuple[str, str]] = {}  # noqa: UP006

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self.states[test.id()] = ("passed", "")

    def stopTest(self, test: Any) -> None:
        super().stopTest(test)
        self.write(test.id(), *self.states.pop(test.id()))

    def write(self, name: str, state: str, cause: str) -> None:
        self.file.write(json.dumps({"test": name, "state": state, "cause": cause}) + "\n")
        self.file.flush()

    def record(self, test: Any, error: Any, state: str) -> None:
        kind, value, trace = error
        text = "".join(traceback.format_exception_only(kind, value)).strip()[:2000]
        print("".join(traceback.format_exception(kind, value, trace)), flush=True)
        if test.id() in self.states:
            self.states[test.id()] = (state, text)
        else:  # the set-up of a class or of the module
            self.write(test.id(), state, text)

    def addError(self, test: Any, err: Any) -> None:
        self.record(test, err, "error")

    def addFailure(self, test: Any, err: Any) -> None:
        self.record(test, err, "failed")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self.record(test, err, "failed")

    def addSkip(self, test: Any, reason: str) -> None:
        self.states[test.id()] = ("skipped", reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self.states[test.id()] = ("passed", "")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.states[test.id()] = ("failed", "unexpected success")


def main(name: str, path: str) -> int:
    """Imports the module, reads no flags, and runs its tests; 1 if it can't be imported."""
    with open(path, "a") as file:
        results = Results(file)
        try:
            module = importlib.import_module(name)
        except Exception as error:
            traceback.print_exc()
            cause = "".join(traceback.format_exception_only(type(error), error)).strip()
            results.write(name, "import", cause[:2000])
            return 1
        from absl import flags

        if not flags.FLAGS.is_parsed():
            flags.FLAGS(sys.argv[:1])
        unittest.defaultTestLoader.loadTestsFromModule(module).run(results)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
