"""Series: kernels that are prepared for their constants, several in one call."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.base.registry import plugins
from actorflow.blocking import Session
from actorflow.engine.runtime.codegen.series import _laid_out
from actorflow.engine.runtime.kernel_context import kernel_context
from actorflow.graph.node import TensorId
from actorflow.kernels.native.library import loaded
from actorflow.kernels.onednn import binding, parts, prepared
from actorflow.kernels.shared import series

pytestmark = pytest.mark.skipif(
    not binding.find() or loaded() is None, reason="no oneDNN (pip install 'actorflow[onednn]'), or no library in C"
)
Drawn = Callable[..., Any]


@pytest.fixture(autouse=True)
def kernels() -> Iterator[None]:
    plugins.load_kernels()
    with np.errstate(all="ignore"):
        yield


@pytest.fixture
def draw(seed: int) -> Drawn:
    rng = np.random.default_rng(seed)
    return lambda *shape: rng.standard_normal(shape, np.float32)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The series that are made in the test."""
    found: list[Any] = []
    join = series._Series.__init__

    def joining(self: Any, *given: Any) -> None:
        join(self, *given)
        found.append(self)

    monkeypatch.setattr(series._Series, "__init__", joining)
    return found


def on_threads(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """All work is divided among a number of threads."""
    for module in (parts, prepared, series):
        monkeypatch.setattr(module, "most_threads", lambda: threads)
    monkeypatch.setattr(prepared, "_WORTH_A_PART", 0.0)
    monkeypatch.setattr(series, "threaded", lambda key, work, **_: work(threads))


def network(draw: Drawn, images: int = 1, side: int = 9) -> tuple[af.Graph, af.Tensor, list[af.Tensor]]:
    """Blocks of a network of small convolutions: its input, which is no array in C's order when it gets there, a tensor in the
    middle, and the result."""

    def by_places(x: af.Tensor, inner: int, outer: int) -> af.Tensor:
        return af.nn.bias_add(af.nn.conv2d(x, draw(1, 1, inner, outer) / 4, [1, 1, 1, 1], "SAME"), draw(outer))

    def by_channels(x: af.Tensor, channels: int, stride: int) -> af.Tensor:
        y = af.nn.depthwise_conv2d(x, draw(3, 3, channels, 1), [1, stride, stride, 1], "SAME")
        return af.nn.relu6(af.nn.bias_add(y, draw(channels)))

    with af.Graph().as_default() as graph:
        given = af.placeholder(af.float32, [images, 16, side, side + 1])
        x = af.transpose(given, [0, 2, 3, 1])
        middle = by_channels(af.nn.relu6(by_places(x, 16, 48)), 48, 2)
        narrow = by_places(middle, 48, 24)
        again = by_places(by_channels(af.nn.relu6(by_places(narrow, 24, 72)), 72, 1), 72, 24) + narrow
        result = af.nn.relu(af.nn.conv2d(again, draw(3, 3, 24, 8), [1, 1, 1, 1], "VALID"))
    return graph, given, [middle, result]


def by_numpy(graph: af.Graph, fetches: Any, feeds: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patched:
        patched.setenv("ACTORFLOW_KERNELS", "numpy")
        with Session(graph=graph) as session:
            return session.run(fetches, feeds)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(("images", "side"), [(1, 9), (1, 30), (3, 8)])
def test_a_series_has_the_values_of_its_nodes(
    images: int, side: int, threads: int, draw: Drawn, made: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_threads(monkeypatch, threads)
    monkeypatch.setattr(series._Series, "_each", lambda *_: pytest.fail("C has refused the arrays"))
    graph, x, fetches = network(draw, images, side)
    with Session(graph=graph) as session:
        for _ in range(3):
            feeds = {x: draw(images, 16, side, side + 1)}
            for found, wanted in zip(session.run(fetches, feeds), by_numpy(graph, fetches, feeds, monkeypatch)):
                np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3)
    assert [len(one._steps) for one in made] == [7]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_call_without_buffers_does_one_step_after_the_other(
    threads: int, draw: Drawn, made: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another call has them."""
    on_threads(monkeypatch, threads)
    monkeypatch.setattr(prepared, "threaded", lambda key, work, **_: work(threads))
    graph, x, fetches = network(draw)
    feeds = {x: draw(1, 16, 9, 10)}
    with Session(graph=graph) as session:
        together = session.run(fetches, feeds)
        (one,) = made
        taken = one._work[1].pop()
        apart = session.run(fetches, feeds)
        assert not one._work[1]
        one._work[1].append(taken)
        again = session.run(fetches, feeds)
    for first, second, third in zip(together, apart, again):
        np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(first, third)


def test_nan_goes_through_a_series(draw: Drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, x, fetches = network(draw)
    value = draw(1, 16, 9, 10)
    value[0, 3, 4, 5] = np.nan
    with Session(graph=graph) as session:
        found = session.run(fetches, {x: value})
    for one, wanted in zip(found, by_numpy(graph, fetches, {x: value}, monkeypatch)):
        assert np.isnan(wanted).any()
        np.testing.assert_array_equal(np.isnan(one), np.isnan(wanted))


@pytest.mark.parametrize(
    ("decided", "limit", "asks"), [(1, None, False), (2, None, False), (2, 1, True), (1, 1, False)]
)
def test_decided_calls_need_no_python(
    decided: int, limit: int | None, asks: bool, draw: Drawn, made: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call asks where its session allows fewer threads than are decided."""
    asked: list[int] = []
    on_threads(monkeypatch, 2)
    monkeypatch.setattr("actorflow.kernels.shared.threads.most_threads", lambda: 2)

    def ask(key: Any, work: Callable[[int], None], **_: Any) -> None:
        asked.append(1)
        work(1)

    monkeypatch.setattr(series, "threaded", ask)
    graph, x, fetches = network(draw)
    with Session(graph=graph) as session:
        session.run(fetches, {x: draw(1, 16, 9, 10)})
    (one,) = made
    asked.clear()
    given, *sizes = struct.unpack(f"={len(one._work[0]) // 8}q", one._work[0])
    arrays = [draw(size) for size in sizes]
    one._run(arrays, 1)
    wanted = [array.copy() for array in arrays[given:]]
    struct.pack_into("=q", one._work[-1], 0, decided)
    function = one.function()
    kernel_context(limit).run(lambda: function(*arrays))
    assert len(asked) == asks
    for array, expected in zip(arrays[given:-1], wanted):
        np.testing.assert_allclose(array, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("place", range(1, 5))
def test_a_step_that_is_fed_keeps_what_was_fed(draw: Drawn, made: list[Any], place: int) -> None:
    """A node runs although its output is fed, where another has a control dependency on it."""
    weights = [draw(8, 8) for _ in range(5)]
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [1, 8, 8, 8])
        layers = [x]
        for w in weights:
            with af.control_dependencies(layers[place : place + 1]):
                layers.append(af.nn.conv2d(layers[-1], w[None, None], [1, 1, 1, 1], "SAME"))
    given, fed = draw(1, 8, 8, 8), draw(1, 8, 8, 8)
    with Session(graph=graph) as session:
        got = session.run(layers[1:], {x: given, layers[place]: fed})
    assert made
    value = given
    for at, array in enumerate(got, 1):
        value = fed if at == place else value @ weights[at - 1]
        np.testing.assert_allclose(array, value, rtol=1e-4, atol=1e-3)


def test_arrays_that_do_not_fit_are_left_to_the_nodes(draw: Drawn, made: list[Any]) -> None:
    graph, x, fetches = network(draw)
    with Session(graph=graph) as session:
        session.run(fetches, {x: draw(1, 16, 9, 10)})
    (one,) = made
    sizes = struct.unpack(f"={len(one._work[0]) // 8}q", one._work[0])[1:]
    fitting = [draw(size) for size in sizes]
    native = loaded()
    assert native.call("series", 1, one._work, *fitting) is None
    for at, array in enumerate(fitting):
        for other in (array[:-1].copy(), array.astype(np.float64), array.tolist(), array.astype(">f4")):
            given = [*fitting[:at], other, *fitting[at + 1 :]]
            assert native.call("series", 1, one._work, *given) is NotImplemented
    assert native.call("series", 1, one._work, *fitting[:-1]) is NotImplemented
    locked = fitting[-1].copy()
    locked.flags.writeable = False
    assert native.call("series", 1, one._work, *fitting[:-1], locked) is NotImplemented
    assert len(one._work[1]) == 1, "a call has kept the buffers"


def test_tensors_that_are_needed_at_once_do_not_overlap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for count in range(1, 30):
        firsts, lives = range(count), rng.integers(0, 5, count)
        sizes = rng.integers(1, 200, count).tolist()
        tensors = [(TensorId(f"t{i}", 0), sizes[i], i, int(i + lives[i])) for i in firsts]
        begins, room = _laid_out(tensors)
        assert room <= sum(-(-size // 16) * 16 for size in sizes)
        for name, size, _, _ in tensors:
            assert begins[name] % 16 == 0
            assert begins[name] + size <= room
        for (one, size, _, last), (other, other_size, first, _) in itertools.combinations(tensors, 2):
            if first <= last:
                assert begins[one] + size <= begins[other] or begins[other] + other_size <= begins[one]
