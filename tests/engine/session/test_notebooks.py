"""Notebooks show graphs, tensors, variables, sessions, clusters and traces; traces and statistics become tables of pandas.

All of it is HTML without scripts, well-formed and escaped, and not larger than a notebook likes.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from types import ModuleType

import anyio
import anyio.lowlevel
import pytest

import actorflow as af
from actorflow.base.reports import markup
from actorflow.engine.runtime.diagnostics.trace import TraceEvent

MOST_BYTES = 50_000


def shown(value: object) -> str:
    """The words that a notebook shows of an object. Its HTML has to be well-formed, small, and without scripts."""
    html: str = value._repr_html_()  # type: ignore[attr-defined]
    assert len(html.encode()) < MOST_BYTES and "<script" not in html
    tree = ET.fromstring(html.replace("&nbsp;", " ").replace("<details open>", '<details open="">'))
    return " ".join(" ".join(tree.itertext()).split())


def test_a_graph_shows_its_ops_scopes_and_variables() -> None:
    graph = af.Graph()
    with graph.as_default():
        af.Variable([1.0, 2.0], name="weights")
        with af.name_scope("net"):
            af.add(1.0, 2.0)
    words = shown(graph)
    for part in ("nodes", "weights:0", "VariableV2", "net/", "picture"):
        assert part in words


def test_a_large_graph_is_counted_and_not_drawn() -> None:
    graph = af.Graph()
    with graph.as_default():
        for number in range(300):
            with af.name_scope(f"scope_{number}"):
                af.constant(1.0)
    words = shown(graph)
    assert "picture" not in words and "and 270 more" in words


def test_a_graph_with_a_loop_is_drawn() -> None:
    graph = af.Graph()
    with graph.as_default():
        af.while_loop(lambda i: i < 3, lambda i: i + 1, [af.constant(0)])
    assert "picture" in shown(graph)


def test_a_tensor_and_a_variable_show_their_line() -> None:
    x = af.placeholder(af.float32, [None, 3], name="x")
    assert "Tensor x:0" in shown(x) and "(?, 3)" in shown(x) and 'name="x"' in shown(x)
    v = af.Variable([1.0], name="v")
    assert "Variable v:0" in shown(v) and "float32" in shown(v)


def test_values_of_eager_tensors_are_shown() -> None:
    with af.eager():
        assert "[[1 2] [3 4]]" in shown(af.constant([[1, 2], [3, 4]]))
        assert "2.5" in shown(af.Variable(2.5))
        assert "<b>" in shown(af.constant("<b>")), "text is escaped"


def test_a_session_shows_its_counts_and_devices() -> None:
    x = af.constant(1.0) + 1.0
    with af.blocking.Session() as session:
        session.run(x)
        words = shown(session)
        assert "state open" in words and "steps 1" in words and "CPU:0" in words
    assert "state closed" in shown(session)


async def test_a_session_shows_what_its_steps_wait_for() -> None:
    queue = af.FIFOQueue(1, [af.float32], name="input")
    take, put = queue.dequeue(), queue.enqueue(1.0)
    async with af.Session() as session:
        async with anyio.create_task_group() as group:
            group.start_soon(session.run, take)
            while "input" not in session.pending():
                await anyio.lowlevel.checkpoint()
            assert "steps in flight" in shown(session) and "input" in shown(session)
            await session.run(put)


async def test_a_local_cluster_shows_its_tasks() -> None:
    async with af.LocalCluster({"worker": 2}, transport="local") as cluster:
        words = shown(cluster)
        assert "/job:worker/task:1" in words and words.count("runs") == 2


def test_a_trace_shows_each_device() -> None:
    trace = af.Trace()
    assert "events 0" in shown(trace)
    for number in range(1000):
        device = f"/job:worker/replica:0/task:{number % 2}/device:CPU:0"
        trace.events.append(TraceEvent(f"n{number}", "Add", device, number, number + 1, number, False, 0, number))
    words = shown(trace)
    assert "events 1,000" in words and "task:0" in words and "task:1" in words and "summary" in words


def test_a_picture_has_each_node_below_what_it_depends_on() -> None:
    tree = ET.fromstring(markup.picture({"a": "a", "b": "b", "c": "a very long name"}, [("a", "b"), ("b", "c")]))
    at = {group.findtext("title"): float(group.find("rect").get("y", "")) for group in tree.iter("g")}  # type: ignore[union-attr]
    assert at["a"] < at["b"] < at["c"]
    assert "…very long name" in "".join(tree.itertext())


def test_bytes_are_told_in_a_unit_that_suits() -> None:
    assert [markup.size(n) for n in (12, 2048, 3 << 20, 5 << 40)] == ["12 bytes", "2.0 KiB", "3.0 MiB", "5,120.0 GiB"]


def test_traces_and_statistics_become_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page on observing runs this with pandas; here the columns are looked at."""
    pandas = ModuleType("pandas")
    pandas.DataFrame = dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    x = af.constant([1.0, 2.0], name="x")
    y = af.reduce_sum(af.py_func(lambda v: v, [x], af.float32), name="y")
    trace = af.Trace()
    with af.blocking.Session() as session:
        session.run(y, trace=trace)
        table = session.statistics().to_pandas()
    columns = trace.to_pandas()
    assert columns["node"][-1] == "y" and columns["op"][-1] == "Sum"
    assert all(b <= e for b, e in zip(columns["begun"], columns["ended"])) and min(columns["begun"]) >= 0
    assert table["device"] == ["/job:localhost/replica:0/task:0/device:CPU:0"] and table["inline"][0] >= 1


def test_tables_without_pandas_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(af.errors.UnimplementedError, match=r"actorflow\[pandas\]"):
        af.Trace().to_pandas()
