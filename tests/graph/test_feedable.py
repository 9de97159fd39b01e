"""Limits that a program sets for runs: `prevent_feeding` and `prevent_fetching`; and limits of types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import actorflow as af

WAYS: dict[str, Callable[[af.blocking.Session, Any, Any], Any]] = {
    "a feed": lambda session, a, b: session.run(a * 1.0, {a: 2.0}),
    "a feed by name": lambda session, a, b: session.run(a * 1.0, {"a:0": 2.0}),
    "a callable": lambda session, a, b: session.make_callable(a * 1.0, [a]),
    "a part of a run": lambda session, a, b: session.partial_run_setup([b], [a]),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_tensor_may_not_be_fed(way: str) -> None:
    with af.Graph().as_default() as graph:
        a = af.placeholder_with_default(1.0, [], name="a")
        b = af.add(a, 1.0, name="b")
        graph.prevent_feeding(a)
        assert not graph.is_feedable(a) and graph.is_feedable(b) and graph.is_fetchable(a)
        with af.blocking.Session() as session:
            with pytest.raises(ValueError, match="Tensor a:0 may not be fed"):
                WAYS[way](session, a, b)
            assert session.run(b) == 2.0 and session.run(b * 1.0, {b: 5.0}) == 5.0


@pytest.mark.parametrize("fetch", [lambda b: b, lambda b: b.op, lambda b: "b:0", lambda b: {"deep": [b]}])
def test_an_operation_may_not_be_fetched(fetch: Callable[[Any], Any]) -> None:
    with af.Graph().as_default() as graph:
        b = af.add(af.constant(1.0), 1.0, name="b")
        graph.prevent_fetching(b.op)
        for element in (b, b.op, "b:0", "b"):
            assert not graph.is_fetchable(element)
        assert graph.is_feedable(b)
        with af.blocking.Session() as session:
            with pytest.raises(ValueError, match="'b' has been marked as not fetchable"):
                session.run(fetch(b))
            assert session.run(b * 2.0) == 4.0


LIMITS = {
    "uint8": (0, 255), "uint16": (0, 65535), "uint32": (0, 2**32 - 1), "uint64": (0, 2**64 - 1), "int8": (0, 127),
    "int16": (0, 32767), "int32": (0, 2**31 - 1), "int64": (0, 2**63 - 1), "float16": (0, 1), "bfloat16": (0, 1),
    "float32": (0, 1), "float64": (0, 1), "bool": (False, True),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_the_limits_of_intensities_in_images(name: str) -> None:
    dtype = af.as_dtype(name)
    assert dtype.limits == LIMITS[name] and dtype.is_numpy_compatible and not dtype.is_quantized


@pytest.mark.parametrize("name", ["string", "complex64", "complex128"])
def test_other_types_have_no_limits(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        _ = af.as_dtype(name).limits
