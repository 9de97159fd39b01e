"""The edges that partition makes between devices: their keys, their numbers, dead tokens over them, and lossy ones."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import probes
import pytest
from patience import PATIENCE
from probes import Probe, probe
from random_programs import Built, random_program

import actorflow as af
from actorflow import blocking, errors
from actorflow.base.registry import plugins
from actorflow.engine.passes.partition import partition
from actorflow.graph.analysis.frames import with_loops
from actorflow.graph.analysis.prune import prune
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node

__all__ = ["probe"]

TASK = "/job:worker/replica:0/task:{}/device:CPU:0"
CPU = "/job:localhost/replica:0/task:0/device:CPU:"


@pytest.fixture
def graph() -> Iterator[af.Graph]:
    plugins.load_kernels()
    with af.Graph().as_default() as made:
        yield made


def on(index: int) -> Any:
    return af.device(f"/device:CPU:{index}")


def parts_of(
    graph: af.Graph,
    fetches: Sequence[Any],
    feeds: Sequence[af.Tensor] = (),
    name: Any = f"{CPU}{{}}".format,
    **options: Any,
) -> dict[str, Subgraph]:
    """Partition of a graph whose nodes ask for /device:CPU:i, or for none and get the first; `name` gives a device's."""
    whole = prune(
        Subgraph(
            graph.nodes, {t.tensor_id: (t.dtype, t.static_shape) for t in feeds}, tuple(f.tensor_id for f in fetches)
        )
    )
    placed = with_loops(
        whole.with_nodes(replace(n, device=name(int(n.device[-1]) if n.device else 0)) for n in whole.nodes.values())
    )
    return partition(placed, name(0), **options)


def nodes_of(parts: Mapping[str, Subgraph], op: str) -> list[Node]:
    return [n for part in parts.values() for n in part.nodes.values() if n.op == op]


# ---- keys


def test_f48_send_and_recv_say_what_they_carry_and_between_which_devices(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [], name="x")
    a = af.square(x, name="a")
    with on(1):
        b = a + 1.0
    parts = parts_of(graph, [b], [x], TASK.format)
    (send,), (recv,) = nodes_of(parts, "_Send"), nodes_of(parts, "_Recv")
    assert send.device == send.attrs["send_device"] == recv.attrs["send_device"] == TASK.format(0)
    assert recv.device == send.attrs["recv_device"] == recv.attrs["recv_device"] == TASK.format(1)
    assert send.attrs["key"] == recv.attrs["key"] == f"{TASK.format(0)};{TASK.format(1)};a:0"
    assert send.attrs["lossy"] is recv.attrs["lossy"] is False


@pytest.mark.parametrize("number", range(6))
def test_f48_keys_are_one_for_each_edge_and_the_same_each_time(number: int) -> None:
    def keys() -> tuple[list[str], list[str]]:
        built = Built(random_program(number), devices=3)
        parts = parts_of(built.graph, built.results, built.inputs)
        sends, recvs = ([n.attrs["key"] for n in nodes_of(parts, op)] for op in ("_Send", "_Recv"))
        return sends, recvs

    sends, recvs = keys()
    assert len(set(sends)) == len(sends) > 0 and sorted(sends) == sorted(recvs)
    assert keys() == (sends, recvs)


# ---- how many


def test_f49_constants_are_where_they_are_used_and_never_sent(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [], name="x")
    one = af.constant(1.0, name="one")
    with on(1), af.control_dependencies([one.op]):
        b = af.add(x, one, name="b")
    parts = parts_of(graph, [b, one], [x])
    assert not nodes_of(parts, "_Send")
    assert [n.device for n in nodes_of(parts, "Const")] == [f"{CPU}0", f"{CPU}1"]
    assert parts[f"{CPU}0"].fetches == (one.tensor_id,), "it is fetched from its own device"
    parts = parts_of(graph, [b, one], [x], copy_constants=False)
    assert len(nodes_of(parts, "_Send")) == 1 and len(nodes_of(parts, "Const")) == 1


def test_f49_an_invariant_of_a_loop_crosses_once(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [1000])

    def body(i: Any, y: Any) -> Any:
        with on(1):
            return i + 1, af.sin(y + x) * af.reduce_sum(x)

    with on(0):
        big = af.tanh(x)
        x = big
        _, y = af.while_loop(lambda i, y: i < 5, body, (0, 0.0 * big))
    trace = af.Trace()
    feed = next(n for n in graph.nodes.values() if n.op == "Placeholder").name + ":0"
    with blocking.Session(graph=graph, devices={"CPU": 2}) as session:
        session.run(y, {feed: np.ones(1000)}, trace=trace)
    counts = Counter(e.node for e in trace.events if e.op == "_Send")
    assert counts.pop(f"{big.op.name}/_0_to_CPU_1/send") == 1
    assert set(counts.values()) >= {6}, "what changes crosses in each iteration, and dead in the last"


def test_f48_a_branch_sends_what_is_chosen_and_no_more(graph: af.Graph) -> None:
    """A Switch is with its data, wherever the branches are."""
    x = af.placeholder(af.float32, [], name="x")
    with on(0):
        a = af.square(x, name="a")
        less = x < 0.0
    with on(1):
        chosen = af.cond(less, lambda: af.negative(a, name="no"), lambda: af.exp(a, name="yes"))
    parts = parts_of(graph, [chosen], [x])
    assert {n.device for n in nodes_of(parts, "Switch") if n.inputs[0] == a.tensor_id} == {f"{CPU}0"}


# ---- dead tokens


@pytest.mark.parametrize("coalesce", [True, False])
@pytest.mark.parametrize("pred", [True, False])
def test_f48_f77_a_branch_on_another_device_runs_only_where_it_is_taken(
    graph: af.Graph, probe: Probe, coalesce: bool, pred: bool
) -> None:
    x, p = af.placeholder(af.float32, []), af.placeholder(af.bool, [])

    def yes() -> Any:
        with on(1):
            first = probes.log(x, tag="yes") * 2.0
        with on(2), af.control_dependencies([first]):
            return probes.log(x, tag="after") + first

    def no() -> Any:
        with on(2):
            inner = probes.log(x, tag="no")
            return af.cond(inner > 0.0, lambda: probes.log(inner, tag="deep") - 1.0, lambda: inner)

    with on(0):
        y = af.cond(p, yes, no)
    with on(1):
        z = y * 10.0
    with blocking.Session(graph=graph, devices={"CPU": 3}, options=af.PlanOptions(coalesce=coalesce)) as session:
        got = session.run(z, {x: 3.0, p: pred}, timeout=PATIENCE)
    assert got == (90.0 if pred else 20.0)
    assert sorted(probe.order) == (["after", "yes"] if pred else ["deep", "no"])


# ---- lossy edges


def truncated(values: Any) -> Any:
    """float32 with the lower 16 bits cleared."""
    return (np.asarray(values, np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def run(graph: af.Graph, fetches: Any, feeds: Any, devices: int = 2) -> Any:
    with blocking.Session(graph=graph, devices={"CPU": devices}) as session:
        return session.run(fetches, feeds, timeout=PATIENCE)


def test_f90_lossy_sends_bring_the_upper_16_bits_and_only_to_other_devices(graph: af.Graph, seed: int) -> None:
    x = af.placeholder(af.float32, [None])
    with on(0):
        with af.lossy_sends():
            a = x * 3.0
            with af.lossy_sends(False):
                kept = x * 5.0
        near = a + 0.0
    with on(1):
        far = a + 0.0
        exact = kept + 0.0
        scalar = af.identity(a[0])
    values = np.random.default_rng(seed).normal(size=1000).astype(np.float32) * np.float32(1e3)
    near_, far_, exact_, scalar_ = run(graph, [near, far, exact, scalar], {x: values})
    product = values * np.float32(3)
    assert np.array_equal(near_, product) and np.array_equal(exact_, values * np.float32(5))
    assert np.array_equal(far_, truncated(product)) and scalar_ == truncated(product)[0]
    assert np.all(np.abs(far_ - product) < 2.0**-7 * np.abs(product)) and np.any(far_ != product)


def test_f90_what_is_no_float32_is_sent_whole(graph: af.Graph) -> None:
    wide, whole, odd = af.placeholder(af.float64, []), af.placeholder(af.int32, []), af.placeholder(af.float32, [3])
    with on(0), af.lossy_sends():
        sources = [wide * 1.0, whole * 1, odd * 1.0]
    with on(1):
        found = [af.identity(s) for s in sources]
    feeds = {wide: np.pi, whole: 123456789, odd: np.array([np.nan, np.inf, -0.0], np.float32)}
    x, y, z = run(graph, found, feeds)
    assert x == np.pi and y == 123456789
    assert np.isnan(z[0]) and z[1] == np.inf and z[2] == 0 and np.signbit(z[2])


def test_f90_gradients_may_be_lossy_and_a_dead_one_stays_dead(graph: af.Graph) -> None:
    x, p = af.placeholder(af.float32, []), af.placeholder(af.bool, [])
    with on(1):
        y = af.cond(p, lambda: x * x * 0.123456789, lambda: x)
    with af.lossy_sends(), on(1):
        (dx,) = af.gradients(y, x)
    with on(0):
        got = dx * 1.0
    assert run(graph, got, {x: 1.1, p: False}) == 1.0
    full = np.float32(2 * 1.1 * 0.123456789)
    lossy = run(graph, got, {x: 1.1, p: True})
    assert lossy != full and abs(lossy - full) < 2**-6 * full


@pytest.mark.parametrize("lossy", [True, False])
def test_f90_a_whole_session_may_be_lossy(graph: af.Graph, lossy: bool) -> None:
    x = af.placeholder(af.float32, [], name="x")
    a, b = af.square(x), af.cast(x, af.float64)
    with on(1), af.control_dependencies([b.op]):
        c = af.cast(a, af.float64) + b
    parts = parts_of(graph, [c], [x], lossy=lossy)
    for op in ("_Send", "_Recv"):
        found = {n.attrs["key"].rpartition(";")[2]: n.attrs["lossy"] for n in nodes_of(parts, op)}
        assert found == {f"{a.op.name}:0": lossy, f"{b.op.name}:0": False, f"^{b.op.name}": False}


def test_f90_lossy_loops_give_what_python_gives(graph: af.Graph, seed: int) -> None:
    """Each crossing of each iteration is cut, and nothing else."""
    rng = random.Random(seed)
    start, trips = np.float32(rng.uniform(1, 2)), rng.randint(0, 9)

    def body(i: Any, x: Any) -> Any:
        with on(1):
            y = af.sqrt(x) * 1.7
        return i + 1, y

    with on(0), af.lossy_sends():
        n = af.placeholder(af.int32, [])
        _, x = af.while_loop(lambda i, x: i < n, body, (0, start))
    want = start
    for _ in range(trips):
        want = truncated(np.sqrt(truncated(want)) * np.float32(1.7))
    assert run(graph, x, {n: trips}) == want


# ---- what never comes


async def test_f48_a_step_whose_recvs_wait_for_nobody_starves_at_once(
    graph: af.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    from actorflow.transports.local import LocalRendezvous

    monkeypatch.setattr(LocalRendezvous, "send", lambda self, key, token, tag=b"", **options: None)
    x = af.placeholder(af.float32, [])
    with on(0):
        a = af.square(x, name="a")
    with on(1):
        b = a + 1.0
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        with pytest.raises(errors.StarvationError) as caught:
            await session.run(b, {x: 1.0}, timeout=PATIENCE)
    assert f"waits for a:0 from {CPU}0" in str(caught.value)
