"""Arrays and stacks that change in place, as TensorFlow 1's graphs keep them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.flow import mutable_arrays as arrays


def run(fetches: Any) -> Any:
    with af.blocking.Session() as session:
        return session.run(fetches)


def test_an_array_changes_in_place() -> None:
    with af.Graph().as_default():
        handle, flow = arrays.array(2, dtype=af.float32, dynamic_size=True)
        flow = arrays.write(handle, 0, [1.0, 2.0], flow)
        flow = arrays.scatter(handle, [2, 1], [[3.0, 4.0], [5.0, 6.0]], flow)
        rows = arrays.gather(handle, [0, 2], flow, dtype=af.float32)
        joined, lengths = arrays.concat(handle, flow, dtype=af.float32)
        slopes, ready = arrays.array_gradient(handle, flow, source="loss")
        ready = arrays.write(slopes, 1, [1.0, 1.0], ready)
        again, ready = arrays.array_gradient(handle, ready, source="loss")
        ready = arrays.write(again, 1, [2.0, 3.0], ready)
        of_rows, _ = arrays.array_gradient_of_rows(handle, flow, [4], source="other")
        parts, begun = arrays.array(2, dtype=af.float32)
        split = arrays.split(parts, [1.0, 2.0, 3.0], af.constant([1, 2], af.int64), begun)
        fetches = {
            "rows": rows,
            "joined": joined,
            "lengths": lengths,
            "size": arrays.size(handle, flow),
            "sums": arrays.read(slopes, 1, ready, dtype=af.float32),
            "zeros": arrays.read(slopes, 0, ready, dtype=af.float32),
            "others": arrays.read(of_rows, 1, flow, dtype=af.float32),
            "part": arrays.read(parts, 1, split, dtype=af.float32),
        }
        with af.control_dependencies([joined]):
            fetches["closed"] = arrays.close(handle)
        found = run(fetches)
    assert found.pop("closed") is None and found.pop("size") == 3
    expected = {
        "rows": [[1, 2], [3, 4]],
        "joined": [1, 2, 5, 6, 3, 4],
        "lengths": [2, 2, 2],
        "sums": [3, 4],
        "zeros": [0, 0],
        "others": [0, 0],
        "part": [2, 3],
    }
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_a_stack_changes_in_place() -> None:
    with af.Graph().as_default():
        handle = arrays.stack(-1, elem_type=af.float32)
        first = arrays.push(handle, 1.0)
        with af.control_dependencies([first]):
            second = arrays.push(handle, 2.0)
        with af.control_dependencies([second]):
            top = arrays.pop(handle, elem_type=af.float32)
        with af.control_dependencies([top]):
            below = arrays.pop(handle, elem_type=af.float32)
            closed = arrays.close_stack(handle)
        assert run([first, second, top, below, closed]) == [1.0, 2.0, 2.0, 1.0, None]


@pytest.mark.parametrize(
    ("fetch", "problem"),
    [
        (lambda h, f: arrays.read(h, 0, f, dtype=af.float32), "not written"),
        (lambda h, f: arrays.read(h, 5, f, dtype=af.float32), "of 2 elements is read"),
        (lambda h, f: arrays.write(h, 2, 1.0, f), "of 2 elements is written"),
        (lambda h, f: arrays.scatter(h, [0], [1.0, 2.0], f), "2 rows are written to 1 places"),
        (lambda h, f: arrays.pop(arrays.stack(1, elem_type=af.float32), elem_type=af.float32), "empty stack"),
    ],
)
def test_what_an_array_or_a_stack_refuses(fetch: Any, problem: str) -> None:
    with af.Graph().as_default():
        handle, flow = arrays.array(2, dtype=af.float32)
        with pytest.raises(InvalidArgumentError, match=problem):
            run(fetch(handle, flow))
