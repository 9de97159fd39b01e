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
from keras.src.trainers.epoch_iterator import EpochIterator

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor

_Shapes = tuple[tuple[Any, tuple[int, ...]] | None, ...]
_MOST_SHAPES = 1000
"""More combinations of sizes are not remembered."""
_MOST_FUNCTIONS = 64
"""More functions of fixed sizes, but for the number of examples, are not kept."""

LOOKUPS = (Hashing, HashedCrossing, IndexLookup, TextVectorization)
"""The layers that compute in TensorFlow, from values: a step with them can't be traced."""


def needs_values(model: Any) -> bool:
    """Whether a layer of a model computes from values only.

    Args:
        model: a model of Keras.
    """
    return any(isinstance(layer, LOOKUPS) for layer in model._flatten_layers())


def expect_sizes(step: Any, batches: EpochIterator) -> None:
    """Lets a step be traced for batches of any number of examples, unless all that come have the same.

    Args:
        step: a `Step`, or a function that a model has in its place.
        batches: the batches that come.
    """
    try:
        is_smaller_last = batches.data_adapter.has_partial_batch
    except NotImplementedError:  # generators and datasets of Python don't say
        is_smaller_last = None
    if isinstance(step, Step) and is_smaller_last is not False:
        step.comes_in_sizes = True


class Step:
    """A function of a list of batches.

    It is traced for batches of any number of examples where batches of several sizes come, so a smaller last batch costs no
    trace. Other sizes are left open once they differ. Code that reads an open size as a number of Python is traced for each size
    instead.
    """

    def __init__(self, function: Callable[[list[Any]], Any], eager: bool = False) -> None:
        """Wraps a function.

        Args:
            function: gets batches of tensors.
            eager: whether its ops run one by one, as Python calls them.
        """
        self.comes_in_sizes = False
        """Whether batches of several sizes are expected. Else the first trace is for the size of the first batch."""
        self._python = function
        self._eager = eager
        self._open = af.function(function, numbers_are_tensors=False, reduce_retracing=True)
        self._exact = af.function(function, numbers_are_tensors=False)
        self._chosen: dict[_Shapes, af.Function] = {}
        self._opens: dict[_Shapes, bool] = {}
        self._by_sizes: dict[_Shapes, af.Function] = {}

    @property
    def trace_count(self) -> int:
        """How often the function was traced."""
        functions = {id(function): function for function in (self._open, self._exact, *self._by_sizes.values())}
        return sum(int(function.trace_count) for function in functions.values())

    def __call__(self, data: list[Any]) -> Any:
        """The result for some batches."""
        data = _tensors(data)
        if self._eager:
            return self._python(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", af.RetracingWarning)  # batches of all sizes are welcome
            return self._function_for(data)(data)

    async def run(self, data: list[Any]) -> Any:
        """The result for some batches, computed while other coroutines run.

        A step that has begun ends, so a caller that is cancelled leaves all variables as they are between two steps.
        """
        if self._eager:
            await anyio.lowlevel.checkpoint()
            return self(data)
        data = _tensors(data)
        with anyio.CancelScope(shield=True):
            result = await self._function_for(data).run(data)
        await anyio.lowlevel.checkpoint()
        return result

    def _function_for(self, data: list[Any]) -> af.Function:
        """The function that takes some batches: with open sizes if it can be traced so."""
        flat = tree.flatten(data)
        shapes = tuple(None if part is None else (part.dtype, tuple(part.shape)) for part in flat)
        function = self._chosen.get(shapes)
        if function is None:
            if len(self._chosen) >= _MOST_SHAPES:
                self._chosen.clear()
            function = self._chosen[shapes] = self._traced(data, shapes)
        return function

    def _traced(self, data: list[Any], shapes: _Shapes) -> af.Function:
        family = tuple(None if part is None else (part[0], (len(part[1]),)) for part in shapes)
        any_number = tree.map_structure(_of_any_number, data)
        is_new = family not in self._opens
        if self._opens.get(family, True) and _can_trace(
            self._open, any_number if is_new and self.comes_in_sizes else data
        ):
            self._opens[family] = True
            return self._open
        self._opens[family] = False
        sizes = tuple(None if part is None else (part[0], part[1][1:]) for part in shapes)
        if sizes not in self._by_sizes and len(self._by_sizes) < _MOST_FUNCTIONS:
            own = af.function(self._python, numbers_are_tensors=False, reduce_retracing=True)
            self._by_sizes[sizes] = own if not is_new and _can_trace(own, any_number) else self._exact
        return self._by_sizes.get(sizes, self._exact)


def _can_trace(function: af.Function, batches: list[Any]) -> bool:
    """Whether a function can be traced; if it can, it has the trace.

    A function raises whatever it likes for an open size. An error of another cause comes again with the sizes of the batches.
    """
    try:
        function.get_concrete_function(batches)
    except Exception:
        return False
    return True


def _of_any_number(part: Any) -> Any:
    """The specification of tensors like a batch, of any number of examples."""
    if part is None:
        return None
    sizes = tuple(part.shape)
    return af.TensorSpec([None, *sizes[1:]] if sizes else [], part.dtype)


def _tensors(data: list[Any]) -> list[Any]:
    return tree.map_structure(lambda part: None if part is None else convert_to_tensor(part), list(data))
