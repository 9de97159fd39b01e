"""Tensors that a session keeps between runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import errors


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as made:
        yield made


def test_a_kept_tensor_is_read_and_forgotten() -> None:
    a, b = af.constant(10), af.constant(5)
    with af.blocking.Session() as session:
        kept = session.run(af.get_session_handle(a * b))
        assert kept.eval() == 50 and kept.dtype is af.int32
        holder, value = af.get_session_tensor(kept.handle, af.int32)
        assert session.run(value * 2, {holder: kept}) == session.run(value * 2, {holder: kept.handle}) == 100
        kept.delete()
        with pytest.raises(errors.InvalidArgumentError, match="no tensor of the handle"):
            kept.eval()


async def test_with_an_asynchronous_session_values_are_awaited() -> None:
    async with af.Session() as session:
        kept, also = await session.run([af.get_session_handle(af.constant([1.0, 2.0])), af.constant(3)])
        assert also == 3
        assert (await kept.eval()).tolist() == [1, 2]
        await kept.delete()
        with pytest.raises(errors.InvalidArgumentError):
            await kept.eval()


@pytest.mark.parametrize("value", [b"text", [b"a", b"bc"], [[1j, 2]], True, np.zeros((0, 3), np.float16)])
def test_of_any_type_and_shape(value: Any) -> None:
    with af.blocking.Session() as session:
        found = session.run(af.get_session_handle(af.constant(value))).eval()
        assert np.array_equal(found, np.asarray(value))


def test_a_value_goes_on_from_run_to_run() -> None:
    x = af.placeholder(af.float32, [])
    with af.blocking.Session() as session:
        kept = session.run(af.get_session_handle(x), {x: 1.0})
        holder, value = af.get_session_tensor(kept.handle, af.float32)
        doubled = af.get_session_handle(value * 2)
        for _ in range(30):
            kept = session.run(doubled, {holder: kept})
        assert kept.eval() == 2.0**30


def test_values_whose_handles_are_gone_are_forgotten_unless_they_were_named() -> None:
    x = af.placeholder(af.int32, [])
    keep = af.get_session_handle(x)
    with af.blocking.Session() as session:
        named = session.run(keep, {x: -1}).get_raw_handle()
        texts = [session.run(keep, {x: n}).handle for n in range(40)]
        holder, value = af.get_session_tensor(named, af.int32)
        assert session.run(value, {holder: named}) == -1
        with pytest.raises(errors.InvalidArgumentError, match="it was deleted"):
            session.run(value, {holder: texts[0]})


def test_another_session_does_not_have_it() -> None:
    keep = af.get_session_handle(af.constant(1))
    with af.blocking.Session() as one, af.blocking.Session() as other:
        kept, _ = one.run(keep), other.run(keep)
        holder, value = af.get_session_tensor(kept.handle, af.int32)
        assert one.run(value, {holder: kept}) == 1
        with pytest.raises(errors.InvalidArgumentError, match="another session's"):
            other.run(value, {holder: kept})


def test_it_stays_on_its_device() -> None:
    with af.blocking.Session(devices={"CPU": 2}) as session:
        with af.device("/cpu:1"):
            a = af.constant(3.0)
        kept = session.run(af.get_session_handle(a))
        assert kept.handle.endswith("CPU:1")
        holder, value = af.get_session_tensor(kept.handle, af.float32)
        assert session.run(value + 1, {holder: kept}) == 4
        assert session.placement(value).endswith("CPU:1")


def test_checkpoints_do_not_hold_it(tmp_path: Path) -> None:
    v = af.Variable(1.0)
    saver = af.train.Saver([v])
    with af.blocking.Session() as session:
        session.run(v.initializer)
        kept = session.run(af.get_session_handle(v.value()))
        path = saver.save(session, str(tmp_path / "model"))
        saver.restore(session, path)
        assert kept.eval() == 1


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="must be of type Tensor"):
        af.get_session_handle(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'nothing' is not the text of a handle"):
        af.get_session_tensor("nothing", af.int32)
    with af.blocking.Session() as session:
        kept = session.run(af.get_session_handle(af.constant(1)))
        holder, value = af.get_session_tensor(kept.handle, af.float32)
        with pytest.raises(errors.InvalidArgumentError, match="int32, not float32"):
            session.run(value, {holder: kept})
