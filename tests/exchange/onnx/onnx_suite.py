"""ONNX's own backend test suite (the package onnx, 1.23.2), run by `af.onnx.Backend`.

    python tests/exchange/onnx/onnx_suite.py [PATTERN]

runs the cases whose names the pattern is found in, and prints those that fail with the reason, and how many pass.
"""

from __future__ import annotations

import importlib
import re
import sys
import unittest
import warnings
from collections.abc import Callable, Iterator

from actorflow.exchange.onnx.backend import Backend


def cases() -> Iterator[tuple[str, Callable[[], None]]]:
    """Each case by its name, and what runs it. The large models have their weights by formulas, so that none is fetched."""
    suite = importlib.import_module("onnx.backend.test").BackendTest(Backend, __name__)
    for group in suite.test_cases.values():
        for name in unittest.TestLoader().getTestCaseNames(group):
            if name.endswith("_cpu"):
                yield name.removesuffix("_cpu"), group(name).debug


def failures(pattern: str = "") -> tuple[dict[str, str], int]:
    """The reason for each case that fails, and the number of cases. One that is skipped has failed."""
    found: dict[str, str] = {}
    count = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, run in cases():
            if not re.search(pattern, name):
                continue
            count += 1
            try:
                run()
            except (Exception, unittest.SkipTest) as error:
                found[name] = f"{type(error).__name__}: {error}"
    return found, count


if __name__ == "__main__":
    reasons, number = failures(*sys.argv[1:2])
    for case, reason in reasons.items():
        print(case, " ".join(reason.split())[:300], sep="\t")
    print(f"{number - len(reasons)} of {number} cases pass ({1 - len(reasons) / number:.1%})")
