"""Ops in `async with af.eager(threads=1)`: long ones run on a thread, in the order of the program, and give the same bits."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.lowlevel
import numpy as np
import pytest

import actorflow as af
from actorflow import errors
from actorflow.engine.eager import launches
from actorflow.engine.eager.launches import PendingTensor
from actorflow.engine.runtime.diagnostics.costs import INLINE_LIMIT_NS

started, release = threading.Event(), threading.Event()


@af.op("ExampleHeld", shape=lambda c: c.shapes[0], gradient=None)
def held(x: af.TensorLike, *, name: str | None = None) -> af.Tensor:
    """x, once the test lets it go. Nothing is known of its work, so it runs on the thread."""


@af.kernel("ExampleHeld")
def _held(xp: Any, x: Any) -> Any:
    started.set()
    release.wait()
    return x


@pytest.fixture(autouse=True)
def _open(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All ops are put on the thread, though they be short."""
    monkeypatch.setattr(launches, "INLINE_LIMIT_NS", -1.0)
    started.clear()
    release.clear()
    yield
    release.set()


def bits(tensor: Any) -> tuple[str, bytes]:
    return str(tensor.dtype), tensor.numpy().tobytes()


def trained() -> list[Any]:
    """The weights after some steps of Adam, whose ops change variables, and the last loss."""
    draw = np.random.default_rng(3)
    w1, w2 = (af.Variable(draw.normal(size=size).astype(np.float32)) for size in ((8, 16), (16, 3)))
    optimizer = af.train.AdamOptimizer(0.05)
    x, y = draw.normal(size=(32, 8)).astype(np.float32), draw.integers(0, 3, 32)
    for _ in range(5):
        with af.GradientTape() as tape:
            logits = af.nn.relu(af.matmul(x, w1)) @ w2
            loss = af.reduce_mean(af.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, [w1, w2]), [w1, w2]))
        w1.assign_add(w1 * 0.01)
    return [w1.value(), w2.value(), loss]


def test_a_training_on_a_thread_keeps_order_and_bits_f119() -> None:
    async def main() -> list[Any]:
        async with af.eager(threads=1) as scope:
            found = trained()
            assert all(isinstance(tensor, af.Tensor) for tensor in found)
            await scope.wait()
            return [bits(tensor) for tensor in found]

    with af.eager():
        expected = [bits(tensor) for tensor in trained()]
    assert anyio.run(main) == expected


def test_a_call_gives_a_tensor_that_is_still_computed_f119(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with af.eager(threads=1) as scope:
            x = held([2.0, 3.0])
            y = x * 2.0  # behind it
            assert type(x) is type(y) is PendingTensor
            assert (y.shape, y.dtype) == ((2,), af.float32)
            while not started.is_set():
                await anyio.lowlevel.checkpoint()  # the loop is free
            release.set()
            assert await y is y
            assert type(y) is not PendingTensor
            np.testing.assert_array_equal(y, [4.0, 6.0])
            assert float(await af.constant(1.0)) == 1.0  # what has its value is awaited at once
            release.clear()
            z = held([2.0, 3.0])
            threading.Timer(0.05, release.set).start()
            with caplog.at_level("WARNING"):
                assert z.numpy().tolist() == [2.0, 3.0]  # waits
                assert z.numpy().tolist() == [2.0, 3.0]
            assert await scope.wait() is None
            assert caplog.text.count("a tensor's value was asked for before it was there") == 1

    anyio.run(main)


def test_long_ops_are_put_on_the_thread_and_short_ones_run_at_once_f119(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "INLINE_LIMIT_NS", INLINE_LIMIT_NS)

    async def main() -> None:
        async with af.eager(threads=1):
            x = af.ones([1000, 1000])
            y = x @ x
            assert type(af.ones([2]) + 1.0) is not PendingTensor
            assert type(y) is PendingTensor
            assert float((await y)[0, 0]) == 1000.0
        with af.eager():
            assert type(x @ x) is not PendingTensor

    anyio.run(main)


def test_a_variable_that_a_thread_changes_is_waited_for_f119() -> None:
    async def main() -> None:
        async with af.eager(threads=1):
            v = af.Variable([1.0])
            double = af.function(lambda: v * 2.0)
            assert (await double.run()).numpy().tolist() == [2.0]
            v.assign_add(held(v))
            seen = v.value()
            after = v.assign_add(seen, read_value=False)
            assert type(seen) is PendingTensor and after is not None
            async with anyio.create_task_group() as group:

                async def call() -> None:
                    assert (await double.run()).numpy().tolist() == [8.0]

                group.start_soon(call)
                while not started.is_set():
                    await anyio.lowlevel.checkpoint()
                release.set()
            assert v.numpy().tolist() == [4.0]
            release.clear()
            v.assign(held(v))
            release.set()
            assert double().numpy().tolist() == [8.0]
            v.assign_sub(held(v))
        assert v.numpy().tolist() == [0.0]

    anyio.run(main)


def test_a_shape_that_values_decide_is_there_with_them_f119() -> None:
    async def main() -> None:
        async with af.eager(threads=1):
            x = held([0.0, 3.0, 0.0, 4.0])
            places = af.where(x > 0.0)
            assert places.known_shape == (None, 1)  # type: ignore[attr-defined]
            sizes = af.reshape(x, af.cast(held([2.0, 2.0]), af.int32))
            release.set()
            assert places.shape == (2, 1) and len(places) == 2
            assert (await sizes).shape == (2, 2)

    anyio.run(main)


def test_an_error_is_raised_where_a_value_is_asked_for_f119() -> None:
    release.set()

    async def main() -> None:
        async with af.eager(threads=1) as scope:
            bad = af.matrix_inverse(held(np.zeros((2, 2))))
            behind = bad + 1.0
            for _ in range(2):
                with pytest.raises(errors.InvalidArgumentError, match="not invertible") as caught:
                    await behind
                assert "test_launches.py" in str(caught.value) and "matrix_inverse" in str(caught.value)
            with pytest.raises(errors.InvalidArgumentError):
                bad.numpy()
            await scope.wait()  # it was told
            af.matrix_inverse(held(np.zeros((2, 2))))
            with pytest.raises(errors.InvalidArgumentError):
                await scope.wait()
        with pytest.raises(errors.InvalidArgumentError, match="not invertible"):
            async with af.eager(threads=1):
                v = af.Variable(np.ones((2, 2)))
                v.assign(af.matrix_inverse(held(np.zeros((2, 2)))))
        assert v.numpy().tolist() == [[1.0, 1.0], [1.0, 1.0]]
        with pytest.raises(ValueError, match="inner sizes"):
            async with af.eager(threads=1):
                af.matmul(held(np.ones((2, 3))), np.ones((2, 3)))  # shapes are known at the call

    anyio.run(main)


def test_threads_that_share_a_block_keep_the_order_of_their_ops_f119(monkeypatch: pytest.MonkeyPatch) -> None:
    """An op is announced to the variable that it changes and put into the queue before another one can be."""
    promised, others = launches.Launch.promised, list[threading.Thread]()

    async def main() -> None:
        async with af.eager(threads=1):
            v = af.Variable([1.0])
            context = contextvars.copy_context()

            def first(self: launches.Launch) -> Any:
                if not others:
                    other = threading.Thread(target=lambda: context.run(lambda: v.assign_add([1.0])))
                    others.append(other)
                    other.start()
                    other.join(0.2)  # without order it ends
                return promised(self)

            monkeypatch.setattr(launches.Launch, "promised", first)
            v.assign_add([1.0])
            others[0].join()
        assert v.numpy().tolist() == [3.0]

    anyio.run(main)


def test_a_block_is_entered_once_and_waits_within_f119() -> None:
    async def main() -> None:
        scope = af.eager(threads=1)
        with pytest.raises(RuntimeError, match="within `async with"):
            await scope.wait()
        async with scope:
            with pytest.raises(RuntimeError, match="entered already"):
                await scope.__aenter__()
        async with scope:
            release.set()
            assert float(await held(1.0)) == 1.0  # again, after its end

    anyio.run(main)


def test_a_block_that_is_left_by_an_error_begins_no_more_ops_f119() -> None:
    async def main() -> None:
        with pytest.raises(KeyError):
            async with af.eager(threads=1):
                v = af.Variable(1.0)
                first = held(2.0)
                later = v.assign(first)
                while not started.is_set():
                    await anyio.lowlevel.checkpoint()
                threading.Timer(0.01, release.set).start()
                raise KeyError
        assert float(first) == 2.0 and float(v) == 1.0
        with pytest.raises(errors.CancelledError, match="left by an error"):
            await later

    anyio.run(main)
