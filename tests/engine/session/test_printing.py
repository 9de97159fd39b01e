"""`print_`: what it prints of tensors, texts and structures, and where."""

from __future__ import annotations

import logging
import sys
from collections import OrderedDict, defaultdict
from typing import Any

import numpy as np
import pytest
from logged import capture_logs

import actorflow as af


def printed(node: af.Operation) -> None:
    with af.blocking.Session(graph=node.graph) as session:
        assert session.run(node) is None


MATRIX = [[1.0, 2.0], [3.5, 4.0]]
SHOWN = "[[1 2]\n [3.5 4]]"


@pytest.mark.parametrize(
    ("given", "options", "wanted"),
    [
        ([MATRIX], {}, f"{SHOWN}\n"),
        (["x:", MATRIX, np.arange(10), "str"], {}, f'x: {SHOWN} [0 1 2 ... 7 8 9] "str"\n'),
        ([np.arange(10)], {"summarize": -1}, "[0 1 2 3 4 5 6 7 8 9]\n"),
        ([np.arange(10), 3], {"summarize": 2, "sep": "|", "end": "<end>"}, "[0 1 ... 8 9]|3<end>"),
        ([True, 2.5], {}, "1 2.5\n"),
        (["one text, without quotes"], {"end": ""}, "one text, without quotes"),
        ([["a", "b"]], {}, '["a" "b"]\n'),
        ([np.zeros((0, 3))], {}, "[]\n"),
    ],
)
def test_what_is_printed(
    given: list[Any], options: dict[str, Any], wanted: str, graph: af.Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [value if isinstance(value, str) and value == "x:" else af.constant(value) for value in given]
    printed(af.print_(*values, **options))
    found = capsys.readouterr()
    assert found.err == wanted and not found.out


def test_structures_and_what_is_no_tensor(graph: af.Graph, capsys: pytest.CaptureFixture[str]) -> None:
    c = af.constant([1, 2])
    printed(af.print_(1, 2.5, "{} {{}}", None, [1, c, "in a list"], {"k": c, "a": (3, c)}, output_stream=sys.stdout))
    assert capsys.readouterr().out == "1 2.5 {} {{}} None [1, [1 2], 'in a list'] {'a': (3, [1 2]), 'k': [1 2]}\n"
    ordered = OrderedDict([("b", af.constant(2)), ("a", (af.constant(1), c))])
    counted = defaultdict(int, {"z": af.constant(26), "y": af.constant(25)})
    printed(af.print_(ordered, counted))
    shown = "OrderedDict([('b', 2), ('a', (1, [1 2]))]) defaultdict(<class 'int'>, {'z': 26, 'y': 25})\n"
    assert (
        capsys.readouterr().err.replace("OrderedDict({'b': 2, 'a': (1, [1 2])})", shown.split(" default")[0]) == shown
    )
    printed(af.print_("sparse", af.SparseTensor([[0, 1]], [2.0], [2, 3])))
    assert capsys.readouterr().err == "sparse SparseTensor(indices=[[0 1]], values=[2], shape=[2 3])\n"


def test_it_is_printed_when_a_step_needs_it(graph: af.Graph, capsys: pytest.CaptureFixture[str]) -> None:
    x = af.placeholder(af.float32, [])
    with af.control_dependencies([af.print_("x is", x)]):
        y = x + 1.0
    with af.blocking.Session(graph=graph) as session:
        for i in range(3):
            session.run(y, {x: i})
        session.run(x + 2.0, {x: 7})
    assert capsys.readouterr().err == "x is 0\nx is 1\nx is 2\n"


@pytest.mark.parametrize("stream", ["log(warning)", logging.warning])
def test_logs(stream: Any, graph: af.Graph) -> None:
    with capture_logs() as logged:
        printed(af.print_("a message", output_stream=stream))
    assert logged == [{"event": "a message", "log_level": "warning"}]


@pytest.mark.parametrize("stream", ["nowhere", "file:///tmp/x", 3, "log(loud)"])
def test_there_is_no_such_stream(stream: Any, graph: af.Graph) -> None:
    with pytest.raises(ValueError, match="is no stream to print to; there are"):
        af.print_("x", output_stream=stream)
