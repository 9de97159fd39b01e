"""`Step`: a function of batches that runs as a compiled plan, or op by op."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
from keras.src import tree
from keras.src.layers.preprocessing.hashed_crossing import HashedCrossing
from keras.src.layers.preprocessing.hashing import Hashing
from keras.src.layers.preprocessing.index_lookup import IndexLookup
from keras.src.layers.preprocessing.text_vectorization import TextVectorization

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor

LOOKUPS = (Hashing, HashedCrossing, IndexLookup, TextVectorization)
"""The layers that compute in TensorFlow, from values: a step with them can't be traced."""


def needs_values(model: Any) -> bool:
    """Whether a layer of a model computes from values only.

    Args:
        model: a model of Keras.
    """
    return any(isinstance(layer, LOOKUPS) for layer in model._flatten_layers())


class Step:
    """A function of a list of batches. It is traced for each combination of types and shapes."""

    def __init__(self, function: Callable[[list[Any]], Any], eager: bool = False) -> None:
        """Wraps a function.

        Args:
            function: gets batches of tensors.
            eager: whether its ops run one by one, as Python calls them.
        """
        self._python = function
        self._eager = eager
        self._traced = af.function(function, numbers_are_tensors=False)

    def __call__(self, data: list[Any]) -> Any:
        """The result for some batches."""
        data = _tensors(data)
        if self._eager:
            return self._python(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", af.RetracingWarning)  # batches of all sizes are welcome
            return self._traced(data)

    async def run(self, data: list[Any]) -> Any:
        """The result for some batches, computed while other coroutines run.

        A step that has begun ends, so a caller that is cancelled leaves all variables as they are between two steps.
        """
        if self._eager:
            await anyio.lowlevel.checkpoint()
            return self(data)
        with anyio.CancelScope(shield=True):
            result = await self._traced.run(_tensors(data))
        await anyio.lowlevel.checkpoint()
        return result


def _tensors(data: list[Any]) -> list[Any]:
    return tree.map_structure(lambda part: None if part is None else convert_to_tensor(part), list(data))
