"""`source_of`: traced functions as a graph of their own, with the values of their variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.sources.functions import FunctionEndpoint, source_of

ONES = np.ones((3, 2), np.float32)


def traced() -> tuple[Any, dict[str, Any]]:
    """A variable, and two functions that read it; the first has a tensor from outside too."""
    with af.eager():
        weight = af.Variable(np.full((2, 2), 2, np.float32))
        shift = af.constant([1.0, 2.0])
        functions = {"shifted": lambda x: x @ weight + shift, "doubled": lambda x: {"y": x @ weight, "twice": 2.0 * x}}
        spec = af.TensorSpec([None, 2], af.float32)
        return weight, {name: af.function(call).get_concrete_function(spec) for name, call in functions.items()}


async def answers(source: Any, session: Any, name: str) -> list[Any]:
    signature = source.signatures[name]
    fetches = [port.tensor for port in signature.outputs.values()]
    return list(await session.run(fetches, {signature.inputs["x"].tensor: ONES}))


async def test_functions_share_their_variables_and_keep_the_values_of_their_moment() -> None:
    weight, functions = traced()
    endpoints = {
        "shifted": FunctionEndpoint(functions["shifted"], ["x"], ["y"]),
        "doubled": FunctionEndpoint(functions["doubled"], ["x"], ["y", "twice"]),
    }
    source = source_of(endpoints)
    with af.eager():
        weight.assign(np.zeros((2, 2), np.float32))  # later than the copy
    assert sum(node.op == "VariableV2" for node in source.graph.nodes.values()) == 1
    async with af.Session(graph=source.graph) as session:
        await source.start(session)
        np.testing.assert_array_equal(await answers(source, session, "shifted"), [ONES * 4 + [1, 2]])
        np.testing.assert_array_equal(sorted(v.sum() for v in await answers(source, session, "doubled")), [12, 24])


async def test_a_function_is_written_as_a_saved_model(tmp_path: Path) -> None:
    _, functions = traced()
    source = source_of({"serving_default": FunctionEndpoint(functions["shifted"], ["x"], ["y"])})
    async with af.Session(graph=source.graph) as session:
        await source.start(session)
        ports = source.signatures["serving_default"]
        tensors = [
            {key: source.graph.get_tensor_by_name(port.tensor) for key, port in side.items()}
            for side in (ports.inputs, ports.outputs)
        ]
        await af.saved_model.simple_save(session, str(tmp_path / "model"), *tensors)
    async with af.load_model(tmp_path / "model") as model:
        np.testing.assert_array_equal((await model.run_async(None, {"x": ONES}))[0], ONES * 4 + [1, 2])


@pytest.mark.parametrize(("inputs", "outputs"), [([], ["y"]), (["x", "z"], ["y"]), (["x"], []), (["x"], ["y", "y"])])
def test_names_are_as_many_as_tensors(inputs: list[str], outputs: list[str]) -> None:
    _, functions = traced()
    with pytest.raises(InvalidArgumentError, match=r"has 1 (inputs|outputs), and the names for them are"):
        FunctionEndpoint(functions["shifted"], inputs, outputs)
